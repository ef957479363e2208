#include "gateway/commit.h"

#include "base/map.h"
#include "base/mutate.h"
#include "expr/table.h"
#include "gateway/route.h"
#include "gateway/source.h"
#include "gateway/transact.h"
#include "gateway/worker.h"

/* ---- sharing out ---- */

/* A part while it is gathered. */
struct group {
	uint32_t placement;
	uint16_t slot;
	const struct gw_change **changes;
	uint32_t n, cap;
	uint32_t n_tables; /* changes come by table */
};

struct sharing {
	struct gw_stmt *stmt;
	struct arena *arena;
	struct map *by_key;
	struct group **groups;
	size_t n, cap;
	struct err *err;
};

static struct group *
group_of(struct sharing *sh, const struct gw_route *to)
{
	struct {
		uint32_t placement, slot;
	} key = {to->placement, to->slot};
	struct group *g = map_get(sh->by_key, MAP_KEY(&key));

	if (g)
		return g;
	g = NEW(sh->arena, struct group);
	g->placement = to->placement;
	g->slot = to->slot;
	map_put(sh->by_key, MAP_KEY(&key), g);
	if (sh->n == sh->cap) {
		size_t cap = sh->cap ? 2 * sh->cap : 8;

		sh->groups = arena_grow(sh->arena, sh->groups,
		    sh->cap * sizeof *sh->groups, cap * sizeof *sh->groups);
		sh->cap = cap;
	}
	sh->groups[sh->n++] = g;
	return g;
}

static void
share_ev(void *arg, const struct gw_change *c)
{
	struct sharing *sh = arg;
	const struct cl_catalog *now =
	    gw_catalog_now(sh->stmt->worker->catalog);
	const struct cl_table *t = cl_catalog_table(now, c->table->t->id);
	struct gw_route to;
	struct group *g;

	if (sh->err)
		return;
	/* Where it lies now; of a dropped one, which nodes will say, where it
	 * lay. */
	if (!gw_route_row(now, t ? t : c->table->t, c->key, &to)) {
		sh->err = gw_stmt_unreached(sh->stmt, sh->arena,
		    "The catalog knows no group for a row.");
		return;
	}
	g = group_of(sh, &to);
	if (g->n == g->cap) {
		uint32_t cap = g->cap ? 2 * g->cap : 8;

		g->changes = arena_grow(sh->arena, g->changes,
		    g->cap * sizeof *g->changes, cap * sizeof *g->changes);
		g->cap = cap;
	}
	g->n_tables += !g->n || g->changes[g->n - 1]->table != c->table;
	g->changes[g->n++] = c;
}

static struct str
row_key(struct arena *a, const struct group *g, const struct gw_change *c)
{
	struct buf b;

	buf_init(&b, a);
	ex_table_row_key(&b, c->table->t, g->slot, c->key);
	return buf_view(&b);
}

static void
part_schemas(struct arena *a, const struct group *g, struct gw_commit_part *p)
{
	for (uint32_t i = 0; i < g->n; i++) {
		const struct gw_overlay_table *t = g->changes[i]->table;
		struct buf b;

		if (i && g->changes[i - 1]->table == t)
			continue;
		buf_init(&b, a);
		buf_be32(&b, t->t->id);
		p->msg.conds[p->msg.n_conds++] = (struct cl_cond){
		    CL_COND_SCHEMA, buf_view(&b), t->t->version};
	}
	p->n_schemas = p->msg.n_conds;
}

static void
part_change(struct gw_commit_part *p, const struct gw_change *c, struct str key)
{
	struct cl_propose *m = &p->msg;
	enum cl_cond_kind kind =
	    c->cond == GW_IF_ABSENT ? CL_COND_ABSENT : CL_COND_STAMP;
	bool asks = c->cond != GW_IF_ANY;

	if (c->cond == GW_IF_ABSENT && mutate("insert_condition_forgotten"))
		asks = false;
	if (asks) {
		p->asked[m->n_conds - p->n_schemas] = c;
		m->conds[m->n_conds++] =
		    (struct cl_cond){(uint8_t)kind, key, c->stamp};
	}
	m->writes[m->n_writes++] = (struct cl_write){
	    c->value.len ? CL_WRITE_PUT : CL_WRITE_DELETE, key, c->value};
}

static void
part_of(struct arena *a, const struct group *g, struct gw_commit_part *p)
{
	p->msg.placement = g->placement;
	p->msg.slot = g->slot;
	p->msg.conds = NEW_N(a, struct cl_cond, (size_t)g->n + g->n_tables);
	p->msg.writes = NEW_N(a, struct cl_write, g->n);
	p->asked = NEW_N(a, const struct gw_change *, g->n);
	part_schemas(a, g, p);
	for (uint32_t i = 0; i < g->n; i++)
		part_change(p, g->changes[i], row_key(a, g, g->changes[i]));
}

struct err *
gw_commit_parts(struct gw_stmt *s, struct arena *a, struct gw_overlay_view v,
    struct gw_commit *out)
{
	struct sharing sh = {.stmt = s, .arena = a, .by_key = map_new(a)};

	*out = (struct gw_commit){0};
	gw_overlay_each(v, share_ev, &sh);
	TRY(sh.err);
	out->parts = NEW_N(a, struct gw_commit_part, sh.n + 1);
	for (; out->n < sh.n; out->n++)
		part_of(a, sh.groups[out->n], &out->parts[out->n]);
	return NULL;
}

/* ---- what may be sent ---- */

/* Each may have a condition and a write; as many as of any other statement. */
#define ROWS_MAX (CL_CONDS_MAX / 2)

/* The entry, as nodes count it, and the message. */
static bool
fits(const struct cl_propose *m)
{
	size_t entry = 64;

	for (uint32_t i = 0; i < m->n_writes; i++)
		entry += m->writes[i].key.len + m->writes[i].value.len + 16;
	/* The operation id is filled in later. */
	return m->n_conds <= CL_CONDS_MAX && m->n_writes <= ROWS_MAX &&
	       entry <= CL_ENTRY_MAX &&
	       cl_msg_size(CL_MSG_PROPOSE, m) + 16 <= CL_BODY_MAX;
}

static struct err *
too_large(struct arena *a)
{
	return err_hint(
	    err_detail(ERR(a, ERRCODE_PROGRAM_LIMIT_EXCEEDED,
			   "the transaction's writes are too many for one "
			   "COMMIT"),
		"They are sent as one message, and those of one group are one "
		"entry of its log: %u bytes and %u rows at most.",
		CL_ENTRY_MAX, ROWS_MAX),
	    "The transaction is still open: ROLLBACK TO a savepoint, or "
	    "ROLLBACK and write less at once.");
}

/* ---- what came of it ---- */

#define NOTHING_HINT "Nothing was applied; run the transaction again."

/* The key columns of the row that an INSERT would have made. */
static struct err *
duplicate(struct arena *a, const struct sql_env *env, const struct gw_change *c)
{
	const struct cl_table *t = c->table->t;
	struct val *vals = NEW_N(a, struct val, t->n_columns + 1);
	uint32_t *ids = NEW_N(a, uint32_t, t->n_columns + 1);

	for (uint32_t i = 0; i < t->n_columns; i++)
		ids[i] = t->columns[i].id;
	TRY(ex_table_read(a, t, c->key, c->value, ids, t->n_columns, vals));
	return err_hint(sql_duplicate_error(a, env, t, vals), NOTHING_HINT);
}

static struct err *
changed(struct arena *a)
{
	return err_hint(
	    ERR(a, ERRCODE_SERIALIZATION_FAILURE,
		"could not serialize access due to concurrent update"),
	    NOTHING_HINT);
}

/* The kept result of an earlier send does not say which condition was false:
 * the first key of an INSERT that is taken now. */
static const struct gw_change *
find_taken(struct gw_stmt *s, struct arena *a, const struct gw_commit_part *p)
{
	struct sql_source *src = gw_source_new(a, s);
	uint32_t n = p->msg.n_conds - p->n_schemas;

	for (uint32_t i = 0; i < n; i++) {
		const struct gw_change *c = p->asked[i];
		struct sql_scan_req what = {.table = c->table->t};
		struct sql_row row;
		bool found;

		if (c->cond != GW_IF_ABSENT)
			continue;
		/* That it is not to be had now is not the error to give. */
		if (src->ops->get(src, a, &what, &c->key, 1, &row, &found))
			return NULL;
		if (found)
			return c;
	}
	return NULL;
}

/* Rows come in the order of the conditions; *row: the next one of them. */
static const struct gw_change *
first_taken(const struct gw_commit_part *p, const struct cl_proposed *answer,
    uint32_t *row)
{
	for (uint32_t i = p->n_schemas;
	     i < p->msg.n_conds && *row < answer->n_rows; i++) {
		if (!str_eq(p->msg.conds[i].key, answer->rows[*row].key))
			continue;
		if (p->msg.conds[i].kind == CL_COND_ABSENT)
			return p->asked[i - p->n_schemas];
		++*row;
	}
	return NULL;
}

static struct err *
end_false(struct gw_stmt *s, struct arena *a, const struct sql_env *env,
    const struct gw_commit *commit, const struct cl_proposed *answer)
{
	const struct gw_change *c = NULL;
	uint32_t row = 0;

	for (size_t i = 0; i < commit->n && !c; i++)
		c = answer->n_rows
			? first_taken(&commit->parts[i], answer, &row)
			: find_taken(s, a, &commit->parts[i]);
	return c ? duplicate(a, env, c) : changed(a);
}

/* Surely not applied, and worth another try. */
static struct err *
retry(struct arena *a, const char *why, const char *detail)
{
	struct err *e =
	    ERR(a, ERRCODE_SERIALIZATION_FAILURE, "could not commit: %s", why);

	if (detail)
		err_detail(e, "%s", detail);
	return err_hint(e, NOTHING_HINT);
}

/* Surely not applied. What only the user can mend keeps its name, and so does
 * what the user asked for. */
static struct err *
end_failed(struct arena *a, const struct err *e)
{
	if (err_is(e, ERRCODE_CANNOT_CONNECT_NOW))
		return retry(a, e->message, e->detail);
	if (err_is(e, ERRCODE_SERIALIZATION_FAILURE))
		return retry(a,
		    "a table was changed since the transaction wrote to it",
		    NULL);
	return err_hint(err_copy(a, e), "Nothing was applied.");
}

static struct err *
end_lost(struct arena *a, const struct err *e)
{
	struct err *out = ERR(a, ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN,
	    "the outcome of COMMIT is unknown");

	if (e->detail)
		err_detail(out, "%s", e->detail);
	return err_hint(out,
	    "All of the transaction may have been applied, or nothing: look "
	    "before running it again.");
}

/* ---- carrying it out ---- */

/* How an operation ended: of one group, or of several. */
struct end {
	enum gw_action outcome;
	const struct cl_proposed *answer;
	const struct err *err;
};

static struct end
run_one(struct gw_stmt *s, struct arena *a, const struct gw_commit_part *part)
{
	struct gw_proposal p = {.msg = part->msg};

	gw_propose_run(s, a, &p, 1);
	return (struct end){p.outcome, p.answer, p.err};
}

static struct end
run_several(struct gw_stmt *s, struct arena *a, struct gw_transact *t)
{
	gw_transact_run(s, a, t);
	return (struct end){t->outcome, t->answer, t->err};
}

static struct gw_transact
transact_of(struct arena *a, const struct gw_commit *c)
{
	struct gw_transact_part *parts =
	    NEW_N(a, struct gw_transact_part, c->n);

	for (size_t i = 0; i < c->n; i++) {
		const struct cl_propose *m = &c->parts[i].msg;

		parts[i] = (struct gw_transact_part){m->placement, m->slot,
		    m->conds, m->n_conds, m->writes, m->n_writes};
	}
	return (struct gw_transact){.parts = parts,
	    .n_parts = (uint32_t)c->n,
	    .unknown_sqlstate = ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN};
}

static bool
all_fit(struct arena *a, const struct gw_commit *c)
{
	struct gw_transact t;

	for (size_t i = 0; i < c->n; i++)
		if (!fits(&c->parts[i].msg))
			return false;
	if (c->n == 1)
		return true;
	t = transact_of(a, c);
	return gw_transact_fits(a, &t);
}

struct err *
gw_commit_run(struct gw_stmt *s, struct arena *a, const struct sql_env *env,
    const struct gw_commit *c, bool *open)
{
	struct gw_transact t;
	struct end end;

	*open = true;
	if (c->n == 0)
		return NULL;
	if (!all_fit(a, c))
		return too_large(a);
	*open = false;
	t = transact_of(a, c);
	end = c->n == 1 ? run_one(s, a, &c->parts[0]) : run_several(s, a, &t);
	switch (end.outcome) {
	case GW_END_APPLIED:
		for (size_t i = 0; i < c->n; i++)
			s->applied += c->parts[i].msg.n_writes;
		return NULL;
	case GW_END_FALSE:
		return end_false(s, a, env, c, end.answer);
	case GW_END_STALE:
	case GW_END_FAILED:
		return end_failed(a, end.err);
	case GW_END_LOST:
		return end_lost(a, end.err);
	case GW_DO_SEND:
	case GW_DO_PAUSE:
		break;
	}
	UNREACHABLE();
}
