/* Writes: a statement's rows gathered by group, one proposal per group (or per
 * bounded part of one), all side by side.  A proposal with a false condition
 * does nothing at all: its rows whose condition held are proposed again without
 * the others, so that in the end each row has its own result. */
#include "gateway/access.h"
#include "gateway/source_int.h"

#include "base/map.h"
#include "expr/table.h"
#include "gateway/propose.h"
#include "gateway/route.h"
#include "gateway/worker.h"

/* One proposal's worth of rows of one group. */
struct part {
	uint32_t placement;
	uint16_t slot;
	struct sql_write **rows;
	struct str *keys; /* whole row keys */
	struct str *values;
	uint32_t n, cap;
	size_t bytes;
};

struct writing {
	struct gw_source *src;
	struct arena *arena; /* of the errors */
	struct arena *own;   /* of everything else */
	struct arena *row;   /* of one row, while it is added */
	struct part **parts;
	size_t n, cap;
	struct map *open;  /* group -> its last part */
	struct map *taken; /* row keys in this call that may come twice */
};

static void *
grown(struct arena *a, void *p, size_t n, size_t *cap, size_t size)
{
	size_t old = *cap;

	if (n < old)
		return p;
	*cap = old ? 2 * old : 8;
	return arena_grow(a, p, old * size, *cap * size);
}

/* ---- gathering ---- */

static struct part *
part_new(struct writing *wr, uint32_t placement, uint16_t slot)
{
	struct part *p = NEW(wr->own, struct part);

	p->placement = placement;
	p->slot = slot;
	wr->parts =
	    grown(wr->own, wr->parts, wr->n, &wr->cap, sizeof *wr->parts);
	wr->parts[wr->n++] = p;
	return p;
}

/* The part of the group that has room for a row of `bytes`. */
static struct part *
part_for(struct writing *wr, const struct gw_route *to, size_t bytes)
{
	struct {
		uint32_t placement, slot;
	} group = {to->placement, to->slot};
	struct part *p = map_get(wr->open, MAP_KEY(&group));
	size_t max = wr->src->stmt->worker->conf->proposal_bytes;

	if (p && p->bytes + bytes <= max && p->n < CL_CONDS_MAX / 2)
		return p;
	p = part_new(wr, to->placement, to->slot);
	map_put(wr->open, MAP_KEY(&group), p);
	return p;
}

static void
part_add(struct writing *wr, struct part *p, struct sql_write *w,
    struct str key, struct str value)
{
	if (p->n == p->cap) {
		uint32_t cap = p->cap ? 2 * p->cap : 4;

		p->rows = arena_grow(wr->own, p->rows, p->cap * sizeof *p->rows,
		    cap * sizeof *p->rows);
		p->keys = arena_grow(wr->own, p->keys, p->cap * sizeof *p->keys,
		    cap * sizeof *p->keys);
		p->values = arena_grow(wr->own, p->values,
		    p->cap * sizeof *p->values, cap * sizeof *p->values);
		p->cap = cap;
	}
	p->rows[p->n] = w;
	p->keys[p->n] = key;
	p->values[p->n++] = value;
	/* Key twice: in the condition and in the write. */
	p->bytes += 2 * key.len + value.len + 64;
}

struct err *
gw_source_encode(struct gw_source *src, struct arena *a,
    const struct sql_write *w, struct str *value)
{
	size_t key = CL_KEY_PREFIX + w->key.len;
	struct buf b;

	*value = STR_NONE;
	if (key > CL_KEY_MAX)
		return ERR(a, ERRCODE_PROGRAM_LIMIT_EXCEEDED,
		    "a key of %zu bytes is larger than %u", key, CL_KEY_MAX);
	if (w->kind == SQL_DELETE)
		return NULL;
	buf_init(&b, a);
	TRY(ex_table_row(a, w->table, w->vals, src->stmt->row_max, &b));
	*value = buf_view(&b);
	return NULL;
}

static struct err *
write_add(struct writing *wr, struct sql_write *w)
{
	struct gw_stmt *stmt = wr->src->stmt;
	const struct cl_catalog *now = gw_catalog_now(stmt->worker->catalog);
	struct gw_route to;
	struct str value;
	struct buf key;
	struct err *e;

	if (!gw_route_row(now, w->table, w->key, &to))
		return gw_stmt_unreached(
		    stmt, wr->arena, "The catalog knows no group for a row.");
	arena_reset(wr->row);
	buf_init(&key, wr->row);
	ex_table_row_key(&key, w->table, to.slot, w->key);
	/* The same key again in this statement: the first one has it. */
	if (wr->taken && !w->distinct) {
		if (map_get(wr->taken, buf_view(&key)) &&
		    w->kind == SQL_INSERT) {
			w->result = SQL_WRITE_EXISTS;
			return NULL;
		}
		map_put(wr->taken, buf_view(&key), w);
	}
	e = gw_source_encode(wr->src, wr->row, w, &value);
	if (e)
		return err_copy(wr->arena, e);
	part_add(wr, part_for(wr, &to, 2 * key.len + value.len + 64), w,
	    arena_str(wr->own, buf_view(&key)), arena_str(wr->own, value));
	return NULL;
}

/* ---- proposing ---- */

static void
propose_row(struct cl_propose *m, const struct part *p, uint32_t i)
{
	const struct sql_write *w = p->rows[i];
	struct cl_cond c = {.key = p->keys[i]};

	if (w->kind == SQL_INSERT) {
		c.kind = CL_COND_ABSENT;
	} else if (w->kind != SQL_UPSERT) {
		c.kind = CL_COND_STAMP;
		c.arg = w->stamp;
	}
	if (c.kind)
		m->conds[m->n_conds++] = c;
	m->writes[m->n_writes++] = (struct cl_write){
	    w->kind == SQL_DELETE ? CL_WRITE_DELETE : CL_WRITE_PUT, p->keys[i],
	    p->values[i]};
}

static void
propose_schema(struct cl_propose *m, struct arena *a, const struct cl_table *t)
{
	struct buf b;

	buf_init(&b, a);
	buf_be32(&b, t->id);
	m->conds[m->n_conds++] =
	    (struct cl_cond){CL_COND_SCHEMA, buf_view(&b), t->version};
}

/* Rows of one table stand together, or nearly. A sequence's has no version. */
static bool
begins_table(const struct part *p, uint32_t i)
{
	return p->rows[i]->table->version &&
	       (!i || p->rows[i]->table != p->rows[i - 1]->table);
}

static void
propose_part(struct arena *a, const struct part *p, struct gw_proposal *out)
{
	struct cl_propose *m = &out->msg;
	uint32_t tables = 0;

	*out = (struct gw_proposal){0};
	m->placement = p->placement;
	m->slot = p->slot;
	for (uint32_t i = 0; i < p->n; i++)
		tables += begins_table(p, i);
	m->conds = NEW_N(a, struct cl_cond, (size_t)p->n + tables);
	m->writes = NEW_N(a, struct cl_write, p->n);
	for (uint32_t i = 0; i < p->n; i++) {
		if (begins_table(p, i))
			propose_schema(m, a, p->rows[i]->table);
		propose_row(m, p, i);
	}
}

/* ---- results ---- */

static enum sql_write_result
result_false(const struct sql_write *w)
{
	return w->kind == SQL_INSERT ? SQL_WRITE_EXISTS : SQL_WRITE_CHANGED;
}

/* Which one was false is not told with the kept result of an earlier send: each
 * row on its own then. */
static void
part_split(struct writing *wr, struct part *p)
{
	for (uint32_t i = 1; i < p->n; i++) {
		struct part *one = part_new(wr, p->placement, p->slot);

		part_add(wr, one, p->rows[i], p->keys[i], p->values[i]);
	}
	p->n = 1;
}

/* Marks rows whose condition was false, and keeps the others for another
 * round. */
static struct err *
part_false(struct writing *wr, struct part *p, const struct cl_proposed *answer)
{
	struct map *bad = map_new(wr->own);
	uint32_t left = 0;

	if (!answer->n_rows && p->n > 1) {
		part_split(wr, p);
		return NULL;
	}
	for (uint32_t i = 0; i < answer->n_rows; i++)
		map_put(bad, answer->rows[i].key, p);
	for (uint32_t i = 0; i < p->n; i++) {
		if (!answer->n_rows || map_get(bad, p->keys[i])) {
			p->rows[i]->result = result_false(p->rows[i]);
			continue;
		}
		p->rows[left] = p->rows[i];
		p->keys[left] = p->keys[i];
		p->values[left++] = p->values[i];
	}
	if (left == p->n)
		return ERR(wr->arena, ERRCODE_PROTOCOL_VIOLATION,
		    "a node refused a write without saying which row");
	p->n = left;
	return NULL;
}

/* An error to return wins over none, and not knowing over everything. */
static struct err *
worse(struct err *a, struct err *b)
{
	if (!a || (b && err_is(b, ERRCODE_STATEMENT_COMPLETION_UNKNOWN)))
		return b ? b : a;
	return a;
}

static struct err *
part_result(struct writing *wr, struct part *p, const struct gw_proposal *done)
{
	uint32_t n = p->n;

	if (done->outcome == GW_END_FALSE)
		return part_false(wr, p, done->answer);
	p->n = 0;
	if (done->outcome != GW_END_APPLIED)
		return done->err;
	for (uint32_t i = 0; i < n; i++)
		p->rows[i]->result = SQL_WRITE_DONE;
	wr->src->stmt->applied += n;
	gw_stmt_progress(wr->src->stmt);
	return NULL;
}

/* One round: proposes what every part has left. */
static struct err *
write_round(struct writing *wr)
{
	struct arena *a = arena_new(wr->own, "proposals");
	size_t n = wr->n; /* a split adds to the end */
	struct gw_proposal *ps = NEW_N(a, struct gw_proposal, n);
	struct err *e = NULL;

	for (size_t i = 0; i < n; i++)
		propose_part(a, wr->parts[i], &ps[i]);
	gw_propose_run(wr->src->stmt, a, ps, n);
	for (size_t i = 0; i < n; i++)
		e = worse(e, part_result(wr, wr->parts[i], &ps[i]));
	if (e)
		e = err_copy(wr->arena, e);
	arena_free(a);
	return e;
}

static void
parts_drop_done(struct writing *wr)
{
	size_t left = 0;

	for (size_t i = 0; i < wr->n; i++) {
		if (wr->parts[i]->n)
			wr->parts[left++] = wr->parts[i];
	}
	wr->n = left;
}

/* Once per session: this statement is not one atomic step yet. */
static void
warn_groups(struct writing *wr)
{
	struct gw_ops *ops = wr->src->stmt->ops;
	struct err *e;

	if (wr->n < 2 || ops->warned || !ops->notice)
		return;
	ops->warned = true;
	e = err_detail(ERR(wr->own, ERRCODE_WARNING,
			   "the rows of this statement are applied group by "
			   "group"),
	    "If it fails half way, some of its rows stay written. Said once "
	    "per session.");
	e->severity = ERR_WARNING;
	ops->notice(ops->notice_arg, e);
}

/* What was done before the error stays: say so. */
static struct err *
partly(struct writing *wr, struct err *e, uint64_t before)
{
	uint64_t done = wr->src->stmt->applied - before;

	if (!e || !done || e->detail)
		return e;
	return err_detail(e, "%llu rows of the statement were written before.",
	    (unsigned long long)done);
}

struct err *
gw_source_write(
    struct sql_source *s, struct arena *a, struct sql_write *w, size_t n)
{
	struct gw_source *src = gw_source_of(s);
	struct arena *own = arena_new(a, "writing");
	struct writing wr = {.src = src, .arena = a, .own = own};
	uint64_t before = src->stmt->applied;
	struct err *e = NULL;

	wr.open = map_new(own);
	wr.row = arena_new(own, "row");
	if (n > 1)
		wr.taken = map_new(own);
	TRY_TO(out, e, gw_stmt_check(src->stmt, a));
	for (size_t i = 0; i < n; i++)
		TRY_TO(out, e, gw_may_use(src->stmt, a, w[i].table));
	for (size_t i = 0; i < n; i++)
		TRY_TO(out, e, write_add(&wr, &w[i]));
	warn_groups(&wr);
	while (wr.n && !e) {
		e = write_round(&wr);
		parts_drop_done(&wr);
	}
out:
	e = partly(&wr, e, before);
	arena_free(own);
	return e;
}
