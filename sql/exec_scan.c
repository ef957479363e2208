/* Rows of a table: by keys, or by one or more ranges of keys. */
#include "expr/table.h"
#include "sql/exec_int.h"

struct scan {
	struct sql_node node;
	const struct sql_rel *rel;
	struct sql_scan_req req;
	struct sql_reach access;
	struct expr *residual; /* what the source does not test; or NULL */
	struct val *flat;      /* the base row */
	uint32_t width;
	uint32_t *pos; /* of each column asked for */
	bool identity; /* they are the base row, in order */
	uint32_t next; /* key or range */
	struct sql_scan *open;
	/* a batch of points */
	struct sql_row *rows;
	bool *found;
	uint32_t n_rows, at;
	struct sql_row cur;
};

static struct err *scan_next(struct sql_node *n, struct val **row);

static struct scan *
scan_of(const struct sql_node *n)
{
	ASSERT(sql_is_scan(n));
	return (struct scan *)(uintptr_t)n;
}

bool
sql_is_scan(const struct sql_node *n)
{
	return n->next == scan_next;
}

const struct sql_row *
sql_scan_row(const struct sql_node *n)
{
	return &scan_of(n)->cur;
}

/* ---- points ---- */

static struct err *
points_fetch(struct scan *s)
{
	struct sql_exec *x = s->node.x;
	struct arena *a = s->node.scratch;
	uint32_t left = s->access.n_keys - s->next, n = left;
	const struct str *keys;

	if (n > SQL_GET_BATCH)
		n = SQL_GET_BATCH;
	arena_reset(a);
	/* Keys stand in key order; backwards they are taken from the end. */
	keys = &s->access.keys[s->req.reverse ? left - n : s->next];
	s->rows = NEW_N(a, struct sql_row, n);
	s->found = NEW_N(a, bool, n);
	s->n_rows = n;
	s->at = 0;
	s->next += n;
	return x->src->ops->get(x->src, a, &s->req, keys, n, s->rows, s->found);
}

static struct err *
points_next(struct scan *s, bool *more)
{
	for (;;) {
		uint32_t i;

		if (s->at == s->n_rows) {
			*more = s->next < s->access.n_keys;
			if (!*more)
				return NULL;
			TRY(points_fetch(s));
		}
		i = s->req.reverse ? s->n_rows - 1 - s->at : s->at;
		s->at++;
		if (!s->found[i])
			continue;
		s->cur = s->rows[i];
		*more = true;
		return NULL;
	}
}

/* ---- ranges ---- */

static struct err *
range_open(struct scan *s)
{
	struct sql_exec *x = s->node.x;
	uint32_t n = s->access.n_ranges;
	const struct sql_range *r =
	    &s->access.ranges[s->req.reverse ? n - 1 - s->next : s->next];

	s->next++;
	s->req.start = r->start;
	s->req.end = r->end;
	return x->src->ops->scan_open(x->src, x->arena, &s->req, &s->open);
}

static struct err *
ranges_next(struct scan *s, bool *more)
{
	const struct sql_source_ops *ops = s->node.x->src->ops;

	for (;;) {
		if (!s->open) {
			*more = s->next < s->access.n_ranges;
			if (!*more)
				return NULL;
			TRY(range_open(s));
		}
		arena_reset(s->node.scratch);
		TRY(ops->scan_next(s->open, s->node.scratch, &s->cur, more));
		if (*more)
			return NULL;
		ops->scan_close(s->open);
		s->open = NULL;
	}
}

/* ---- the node ---- */

static struct val *
place(struct scan *s)
{
	if (s->identity)
		return s->cur.vals;
	for (uint32_t i = 0; i < s->req.n_columns; i++)
		s->flat[s->pos[i]] = s->cur.vals[i];
	return s->flat;
}

static struct err *
scan_next(struct sql_node *n, struct val **row)
{
	struct scan *s = scan_of(n);
	bool more = false, pass = true;

	*row = NULL;
	if (s->access.empty)
		return NULL;
	for (;;) {
		struct val *vals;

		TRY(sql_tick(n->x));
		TRY(s->access.points ? points_next(s, &more)
				     : ranges_next(s, &more));
		if (!more)
			return NULL;
		vals = place(s);
		if (s->residual) {
			struct ex_ctx ctx =
			    sql_ctx(n->x, n->scratch, vals, s->width);

			TRY(ex_test(&ctx, s->residual, &pass));
		}
		if (!pass)
			continue;
		/* A row without columns still is a row. */
		*row = vals ? vals : s->flat;
		return NULL;
	}
}

static void
scan_close(struct sql_node *n)
{
	struct scan *s = scan_of(n);

	if (s->open)
		n->x->src->ops->scan_close(s->open);
	s->open = NULL;
}

/* ---- making one ---- */

static struct err *
localise_node(struct expr *e, void *arg, struct expr **out)
{
	const struct scan *s = arg;

	*out = NULL;
	if (e->node != EX_COLUMN)
		return NULL;
	*out = arena_dup(s->node.x->arena, e, sizeof *e);
	for (uint32_t i = 0; i < s->req.n_columns; i++)
		if (s->pos[i] == e->u.col)
			(*out)->u.col = i;
	return NULL;
}

/* e over the columns asked for instead of the base row. */
static struct expr *
localise(struct scan *s, struct expr *e)
{
	struct sql_rewrite how = {.before = localise_node, .arg = s};
	struct err *r = sql_expr_rewrite(s->node.x->arena, e, &how, &e);

	ASSERT(!r); /* nothing in it can fail */
	return e;
}

static void
set_columns(struct scan *s, bool alone)
{
	struct arena *a = s->node.x->arena;
	const struct sql_rel *r = s->rel;
	uint32_t *ids = NEW_N(a, uint32_t, r->n_used + 1);

	s->pos = NEW_N(a, uint32_t, r->n_used + 1);
	s->identity = alone && s->width == r->n_used;
	for (uint32_t i = 0; i < r->n_used; i++) {
		ids[i] = r->cols[r->used[i]].id;
		s->pos[i] = r->cols[r->used[i]].pos - 1;
		s->identity = s->identity && s->pos[i] == i;
	}
	s->req.columns = ids;
	s->req.n_columns = r->n_used;
}

static void
set_title(struct scan *s)
{
	struct arena *a = s->node.x->arena;
	const struct cl_table *t = s->rel->table;
	const char *alias =
	    s->rel->aliased ? arena_printf(a, " %s", s->rel->name) : "";
	struct str key = s->access.index ? s->access.index->name : t->pkey_name;
	bool keyed = s->access.index || s->access.points || s->req.ordered ||
		     s->access.n_index_cond > 0;

	if (s->access.empty)
		s->node.title = "Result";
	else if (keyed && key.len)
		s->node.title =
		    arena_printf(a, "Index Scan %susing %.*s on %.*s%s",
			s->req.reverse ? "Backward " : "", STR_FMT(key),
			STR_FMT(t->name), alias);
	else
		s->node.title = arena_printf(
		    a, "Seq Scan on %.*s%s", STR_FMT(t->name), alias);
}

static void
explain(struct scan *s, const struct sql_query *q, struct expr *filter)
{
	struct sql_exec *x = s->node.x;

	set_title(s);
	if (!x->plan->explain)
		return;
	if (s->access.empty) {
		sql_node_prop(&s->node, "One-Time Filter", "false");
		return;
	}
	if (s->access.n_index_cond)
		sql_node_prop(&s->node, "Index Cond",
		    sql_expr_text(x->arena, q,
			sql_join_and(
			    x, s->access.index_cond, s->access.n_index_cond),
			false));
	if (filter)
		sql_node_prop(&s->node, "Filter",
		    sql_expr_text(x->arena, q, filter, false));
}

/* The conditions that the access leaves over: the source tests those that can
 * travel, unless it is asked for single keys. */
static void
set_filters(struct scan *s, const struct sql_query *q, struct sql_conj *mine,
    uint32_t n)
{
	struct sql_exec *x = s->node.x;
	struct expr **push = NEW_N(x->arena, struct expr *, n + 1);
	struct expr **keep = NEW_N(x->arena, struct expr *, n + 1);
	struct expr **all = NEW_N(x->arena, struct expr *, n + 1);
	uint32_t n_push = 0, n_keep = 0, n_all = 0;
	struct expr *filter;

	for (uint32_t i = 0; i < n; i++) {
		if (mine[i].taken)
			continue;
		all[n_all++] = mine[i].e;
		if (!s->access.points && ex_can_travel(mine[i].e))
			push[n_push++] = localise(s, mine[i].e);
		else
			keep[n_keep++] = mine[i].e;
	}
	filter = sql_join_and(x, push, n_push);
	if (filter && !ex_can_travel(filter)) {
		/* Each can, all together are too much. */
		filter = NULL;
		memcpy(keep, all, n_all * sizeof *all);
		n_keep = n_all;
	}
	s->req.filter = filter;
	s->residual = sql_join_and(x, keep, n_keep);
	explain(s, q, sql_join_and(x, all, n_all));
}

static uint64_t
rel_mask(const struct sql_query *q, const struct sql_rel *r)
{
	for (uint32_t i = 0; i < q->n_rels; i++)
		if (q->rels[i] == r)
			return UINT64_C(1) << i;
	UNREACHABLE();
}

struct err *
sql_scan_node(struct sql_exec *x, const struct sql_query *q, struct sql_rel *r,
    struct sql_conjs *conjs, struct val *flat, struct sql_node **out)
{
	struct scan *s = sql_node_new(x, sizeof *s, "Seq Scan", scan_next);
	struct sql_conj *mine = NEW_N(x->arena, struct sql_conj, conjs->n + 1);
	uint64_t mask = rel_mask(q, r);
	uint32_t n = 0;

	s->node.close = scan_close;
	s->rel = r;
	s->flat = flat;
	s->width = q->width;
	s->req.table = r->table;
	set_columns(s, q->n_rels == 1);
	for (uint32_t i = 0; i < conjs->n; i++)
		if (!conjs->items[i].taken && !(conjs->items[i].rels & ~mask)) {
			mine[n++] = conjs->items[i];
			conjs->items[i].taken = true;
		}
	TRY(sql_tell_reach(x, r, mine, n));
	TRY(sql_plan_access(x, q, r, mine, n, &s->access));
	s->req.index = s->access.index;
	set_filters(s, q, mine, n);
	*out = &s->node;
	return NULL;
}

/* ---- what the planner asks of it ---- */

bool
sql_scan_order(struct sql_node *n, const struct sql_query *q)
{
	struct scan *s = scan_of(n);
	bool reverse;

	if (s->access.empty || (s->access.points && s->access.n_keys <= 1))
		return true;
	if (!sql_key_order(s->access.key, s->access.n_pinned, q, &reverse))
		return false;
	s->req.ordered = true;
	s->req.reverse = reverse;
	set_title(s);
	return true;
}

const struct cl_index *
sql_scan_index(const struct sql_node *n)
{
	return scan_of(n)->access.index;
}

void
sql_scan_limit(struct sql_node *n, uint64_t limit)
{
	struct scan *s = scan_of(n);

	if (!s->residual && !s->access.points)
		s->req.limit = limit;
}

/* ---- counting ---- */

struct count {
	struct sql_node node;
	struct scan *scan;
	struct val result;
	bool done;
};

static struct err *
count_next(struct sql_node *n, struct val **row)
{
	struct count *c = (struct count *)(void *)n;
	struct scan *s = c->scan;
	uint64_t total = 0;

	*row = NULL;
	if (c->done)
		return NULL;
	c->done = true;
	for (uint32_t i = 0; !s->access.empty && i < s->access.n_ranges; i++) {
		uint64_t part = 0;

		arena_reset(n->scratch);
		s->req.start = s->access.ranges[i].start;
		s->req.end = s->access.ranges[i].end;
		s->req.count_only = true;
		TRY(n->x->src->ops->scan_count(
		    n->x->src, n->scratch, &s->req, &part));
		total += part;
	}
	c->result = val_int(EX_INT8, (int64_t)total);
	*row = &c->result;
	return NULL;
}

struct sql_node *
sql_count_node(struct sql_node *scan)
{
	struct scan *s = scan_of(scan);
	struct count *c;

	if (s->residual || s->access.points)
		return NULL;
	c = sql_node_new(scan->x, sizeof *c, "Aggregate", count_next);
	c->scan = s;
	c->node.left = scan;
	return &c->node;
}
