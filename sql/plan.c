/* From bound queries to trees of nodes. */
#include "sql/exec_int.h"

/* ---- conditions ---- */

struct expr *
sql_join_and(struct sql_exec *x, struct expr *const *es, uint32_t n)
{
	struct expr **args;

	if (n == 0)
		return NULL;
	if (n == 1)
		return es[0];
	args = arena_dup(x->arena, es, n * sizeof *es);
	return ex_op(x->arena, EX_AND, EX_BOOL, args, n);
}

struct rels_arg {
	const struct sql_query *q;
	uint64_t mask;
};

static bool
add_rel(const struct expr *e, void *arg)
{
	struct rels_arg *r = arg;
	uint32_t i = 0, k;

	if (e->node != EX_COLUMN)
		return false;
	for (; i < r->q->n_rels; i++)
		for (k = 0; k < r->q->rels[i]->n_cols; k++)
			if (r->q->rels[i]->cols[k].pos == e->u.col + 1)
				r->mask |= UINT64_C(1) << i;
	return false;
}

static uint64_t
rels_of(const struct sql_query *q, const struct expr *e)
{
	struct rels_arg r = {q, 0};

	sql_expr_any(e, add_rel, &r);
	return r.mask;
}

void
sql_split_and(struct sql_exec *x, const struct sql_query *q, struct expr *e,
    struct sql_conjs *out)
{
	if (e->node == EX_AND) {
		for (uint32_t i = 0; i < e->n_args; i++)
			sql_split_and(x, q, e->args[i], out);
		return;
	}
	out->items = sql_more(
	    x->arena, out->items, out->n, &out->cap, sizeof *out->items);
	out->items[out->n++] = (struct sql_conj){e, rels_of(q, e), false};
}

/* ---- FROM ---- */

struct from {
	struct sql_exec *x;
	const struct sql_query *q;
	struct val *flat;
};

static struct err *plan_from(struct from *f, const struct sql_join_node *j,
    struct sql_conjs *conjs, struct sql_node **out);

static uint64_t
mask_of(const struct sql_query *q, const struct sql_join_node *j)
{
	if (j->kind != SQL_FROM_REL)
		return mask_of(q, j->left) | mask_of(q, j->right);
	for (uint32_t i = 0; i < q->n_rels; i++)
		if (q->rels[i] == j->rel)
			return UINT64_C(1) << i;
	UNREACHABLE();
}

/* What is left of the conditions that look at nothing but `mask`. */
static struct expr *
take_all(struct from *f, struct sql_conjs *conjs, uint64_t mask)
{
	struct expr **es = NEW_N(f->x->arena, struct expr *, conjs->n + 1);
	uint32_t n = 0;

	for (uint32_t i = 0; i < conjs->n; i++)
		if (!conjs->items[i].taken && !(conjs->items[i].rels & ~mask)) {
			es[n++] = conjs->items[i].e;
			conjs->items[i].taken = true;
		}
	return sql_join_and(f->x, es, n);
}

static struct err *
plan_rel(struct from *f, struct sql_rel *r, uint64_t mask,
    struct sql_conjs *conjs, struct sql_node **out)
{
	struct expr *cond;

	switch (r->kind) {
	case SQL_REL_TABLE:
		return sql_scan_node(f->x, f->q, r, conjs, f->flat, out);
	case SQL_REL_QUERY:
		TRY(sql_subquery_node(f->x, r, f->flat, out));
		break;
	case SQL_REL_VIRTUAL:
		TRY(sql_virtual_node(f->x, r, f->flat, out));
		break;
	case SQL_REL_SERIES:
		TRY(sql_series_node(f->x, r, f->flat, out));
		break;
	default:
		UNREACHABLE();
	}
	cond = take_all(f, conjs, mask);
	if (cond)
		*out = sql_filter_node(f->x, f->q, *out, cond, f->q->width);
	return NULL;
}

static bool
int_family(uint32_t t)
{
	return t == EX_INT2 || t == EX_INT4 || t == EX_INT8;
}

/* l = r of one type, each over one side: fit for hashing. */
static bool
is_equi(const struct from *f, const struct expr *e, uint64_t left,
    uint64_t right, struct expr **l, struct expr **r)
{
	const char *op = e->node == EX_CALL && e->n_args == 2
			     ? sql_op_name(e->u.func)
			     : NULL;
	uint64_t m0, m1;
	uint32_t t0, t1;

	if (!op || strcmp(op, "=") != 0)
		return false;
	t0 = e->args[0]->type;
	t1 = e->args[1]->type;
	if (t0 != t1 && !(int_family(t0) && int_family(t1)))
		return false;
	m0 = rels_of(f->q, e->args[0]);
	m1 = rels_of(f->q, e->args[1]);
	if (!m0 || !m1)
		return false;
	if (!(m0 & ~left) && !(m1 & ~right)) {
		*l = e->args[0];
		*r = e->args[1];
		return true;
	}
	*l = e->args[1];
	*r = e->args[0];
	return !(m1 & ~left) && !(m0 & ~right);
}

static void
join_keys(struct from *f, struct sql_conjs *conjs, uint64_t left,
    uint64_t right, struct sql_join_spec *s)
{
	s->left_keys = NEW_N(f->x->arena, struct expr *, conjs->n + 1);
	s->right_keys = NEW_N(f->x->arena, struct expr *, conjs->n + 1);
	for (uint32_t i = 0; i < conjs->n; i++) {
		struct sql_conj *c = &conjs->items[i];

		if (c->taken || (c->rels & ~(left | right)) ||
		    !is_equi(f, c->e, left, right, &s->left_keys[s->n_keys],
			&s->right_keys[s->n_keys]))
			continue;
		c->taken = true;
		s->n_keys++;
	}
	s->cond = take_all(f, conjs, left | right);
}

static void
join_columns(struct from *f, uint64_t right, struct sql_join_spec *s)
{
	uint32_t *cols = NEW_N(f->x->arena, uint32_t, f->q->width + 1);

	for (uint32_t i = 0; i < f->q->n_rels; i++) {
		const struct sql_rel *r = f->q->rels[i];

		for (uint32_t k = 0; (right >> i & 1) && k < r->n_used; k++)
			cols[s->n_right_cols++] = r->cols[r->used[k]].pos - 1;
	}
	s->right_cols = cols;
}

static struct err *
plan_join(struct from *f, const struct sql_join_node *j,
    struct sql_conjs *conjs, struct sql_node **out)
{
	uint64_t left = mask_of(f->q, j->left), right = mask_of(f->q, j->right);
	struct sql_join_spec spec = {.left_join = j->kind == SQL_FROM_LEFT,
	    .flat = f->flat,
	    .width = f->q->width};
	struct sql_conjs own = {0}, *on = spec.left_join ? &own : conjs;
	struct sql_node *l, *r;
	struct expr *above;

	/* What an inner join demands may be tested anywhere below; what an
	 * outer one demands, only on its right side. */
	if (j->on)
		sql_split_and(f->x, f->q, sql_fold(f->x, j->on), on);
	TRY(plan_from(f, j->left, conjs, &l));
	TRY(plan_from(f, j->right, on, &r));
	join_keys(f, on, left, right, &spec);
	join_columns(f, right, &spec);
	*out = sql_joined_node(f->x, f->q, l, r, &spec);
	if (!spec.left_join)
		return NULL;
	above = take_all(f, conjs, left | right);
	if (above)
		*out = sql_filter_node(f->x, f->q, *out, above, f->q->width);
	return NULL;
}

/* The nullable side of an outer join must not see the conditions of WHERE:
 * they would find rows that match nothing where there is nothing to match. */
static struct err *
plan_from(struct from *f, const struct sql_join_node *j,
    struct sql_conjs *conjs, struct sql_node **out)
{
	if (j->kind == SQL_FROM_REL)
		return plan_rel(f, j->rel, mask_of(f->q, j), conjs, out);
	return plan_join(f, j, conjs, out);
}

/* ---- LIMIT ---- */

struct window {
	uint64_t skip, count;
	bool limited;
};

static struct err *
count_of(struct sql_exec *x, struct expr *e, const char *what,
    const char *sqlstate, struct val *out)
{
	struct ex_ctx ctx = sql_ctx(x, x->arena, NULL, 0);

	TRY(ex_eval(&ctx, sql_fold(x, e), out));
	if (!out->null && out->u.i < 0)
		return ERR(x->arena, sqlstate, "%s must not be negative", what);
	return NULL;
}

static struct err *
find_window(struct sql_exec *x, const struct sql_query *q, struct window *w)
{
	struct val v;

	*w = (struct window){0, UINT64_MAX, q->offset || q->limit};
	if (q->offset) {
		TRY(count_of(x, q->offset, "OFFSET",
		    ERRCODE_INVALID_ROW_COUNT_IN_RESULT_OFFSET_CLAUSE, &v));
		w->skip = v.null ? 0 : (uint64_t)v.u.i;
	}
	if (q->limit) {
		TRY(count_of(x, q->limit, "LIMIT",
		    ERRCODE_INVALID_ROW_COUNT_IN_LIMIT_CLAUSE, &v));
		w->count = v.null ? UINT64_MAX : (uint64_t)v.u.i;
	}
	return NULL;
}

/* How many rows below the window are wanted; 0: no bound. */
static uint64_t
wanted(const struct window *w)
{
	uint64_t n;

	if (!w->limited || w->count == UINT64_MAX ||
	    __builtin_add_overflow(w->skip, w->count, &n))
		return 0;
	return n;
}

/* ---- queries ---- */

static bool
only_counts(const struct sql_query *q)
{
	if (!q->grouped || q->n_groups || q->n_aggs != 1)
		return false;
	return q->aggs[0].agg->kind == EX_AGG_COUNT_STAR && !q->aggs[0].filter;
}

/* FROM and WHERE. `fresh` conditions need no relation: they come last. */
static struct err *
plan_base(struct sql_exec *x, const struct sql_query *q, struct sql_node **out)
{
	struct from f = {x, q, NEW_N(x->arena, struct val, q->width + 1)};
	struct sql_conjs conjs = {0};
	struct expr *rest;

	if (q->where)
		sql_split_and(x, q, sql_fold(x, q->where), &conjs);
	if (q->from)
		TRY(plan_from(&f, q->from, &conjs, out));
	else
		*out = sql_once_node(x);
	rest = take_all(&f, &conjs, UINT64_MAX);
	if (rest)
		*out = sql_filter_node(x, q, *out, rest, q->width);
	return NULL;
}

static void
plan_group(struct sql_exec *x, const struct sql_query *q, struct sql_node **n)
{
	struct sql_node *count = NULL;

	if (only_counts(q) && sql_is_scan(*n))
		count = sql_count_node(*n);
	*n = count ? count : sql_agg_node(x, q, *n);
	if (q->having)
		*n = sql_filter_node(
		    x, q, *n, sql_fold(x, q->having), q->n_aggs + q->n_groups);
}

static struct err *
plan_rows(struct sql_exec *x, const struct sql_query *q, struct sql_node **n)
{
	struct sql_node *left, *right;

	switch (q->kind) {
	case SQL_SELECT_VALUES:
		*n = sql_values_node(x, q);
		return NULL;
	case SQL_SELECT_UNION:
		TRY(sql_plan_query(x, q->left, &left));
		TRY(sql_plan_query(x, q->right, &right));
		*n = sql_append_node(x, left, right);
		return NULL;
	default:
		return plan_base(x, q, n);
	}
}

/* Whether the outputs are the rows as they come. */
static bool
passes_through(const struct sql_query *q)
{
	if (q->kind == SQL_SELECT_PLAIN || q->n_outs != q->width)
		return false;
	for (uint32_t i = 0; i < q->n_outs; i++)
		if (q->outs[i].expr->node != EX_COLUMN ||
		    q->outs[i].expr->u.col != i)
			return false;
	return true;
}

struct err *
sql_plan_query(
    struct sql_exec *x, const struct sql_query *q, struct sql_node **out)
{
	struct sql_node *n, *scan;
	struct window w;
	bool sorted = q->n_sort == 0;

	TRY(find_window(x, q, &w));
	TRY(plan_rows(x, q, &n));
	scan = sql_is_scan(n) && !q->grouped ? n : NULL;
	if (!sorted && scan && q->n_rels == 1)
		sorted = sql_scan_order(scan, q);
	if (scan && sorted && !q->distinct)
		sql_scan_limit(scan, wanted(&w));
	if (q->grouped)
		plan_group(x, q, &n);
	if (!passes_through(q))
		n = sql_project_node(
		    x, q, n, q->grouped ? q->n_aggs + q->n_groups : q->width);
	if (q->distinct)
		n = sql_distinct_node(x, q, n);
	if (!sorted)
		n = sql_sort_node(x, q, n, wanted(&w));
	if (w.limited)
		n = sql_limit_node(x, n, w.skip, w.count);
	n->query = q;
	*out = n;
	return NULL;
}
