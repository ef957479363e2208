/* Rows that come from no table, and what happens to single rows on their way:
 * series, subqueries, VALUES, UNION ALL, filters, projections. */
#include "sql/exec_int.h"

/* ---- generate_series ---- */

struct series {
	struct sql_node node;
	const struct sql_rel *rel;
	struct val *flat;
	int64_t at, stop, step;
	bool begun, done;
};

static struct err *
series_begin(struct series *s)
{
	struct sql_exec *x = s->node.x;
	struct ex_ctx ctx = sql_ctx(x, x->arena, NULL, 0);
	struct val v[3] = {
	    val_null(EX_INT8), val_null(EX_INT8), val_int(EX_INT8, 1)};

	for (int i = 0; i < 3; i++)
		if (s->rel->series[i])
			TRY(ex_eval(&ctx, s->rel->series[i], &v[i]));
	s->begun = true;
	s->done = v[0].null || v[1].null || v[2].null;
	s->at = v[0].u.i;
	s->stop = v[1].u.i;
	s->step = v[2].u.i;
	if (!s->done && s->step == 0)
		return ERR(x->arena, ERRCODE_INVALID_PARAMETER_VALUE,
		    "step size cannot equal zero");
	return NULL;
}

static struct err *
series_next(struct sql_node *n, struct val **row)
{
	struct series *s = (struct series *)(void *)n;
	const struct sql_rel_col *col = &s->rel->cols[0];

	*row = NULL;
	TRY(sql_tick(n->x));
	if (!s->begun)
		TRY(series_begin(s));
	if (s->done || (s->step > 0 ? s->at > s->stop : s->at < s->stop))
		return NULL;
	if (col->pos)
		s->flat[col->pos - 1] = val_int(col->type, s->at);
	if (__builtin_add_overflow(s->at, s->step, &s->at))
		s->done = true;
	*row = s->flat;
	return NULL;
}

struct err *
sql_series_node(struct sql_exec *x, const struct sql_rel *r, struct val *flat,
    struct sql_node **out)
{
	struct series *s = sql_node_new(x, sizeof *s, NULL, series_next);

	s->node.title =
	    strcmp(r->name, "generate_series") == 0
		? "Function Scan on generate_series"
		: arena_printf(
		      x->arena, "Function Scan on generate_series %s", r->name);
	s->rel = r;
	s->flat = flat;
	*out = &s->node;
	return NULL;
}

/* ---- a subquery in FROM ---- */

struct subquery {
	struct sql_node node;
	const struct sql_rel *rel;
	struct val *flat;
};

static struct err *
subquery_next(struct sql_node *n, struct val **row)
{
	struct subquery *s = (struct subquery *)(void *)n;
	struct val *vals;

	TRY(sql_pull(n->left, &vals));
	*row = NULL;
	if (!vals)
		return NULL;
	for (uint32_t i = 0; i < s->rel->n_used; i++) {
		uint32_t col = s->rel->used[i];

		s->flat[s->rel->cols[col].pos - 1] = vals[col];
	}
	*row = s->flat;
	return NULL;
}

struct err *
sql_subquery_node(struct sql_exec *x, const struct sql_rel *r, struct val *flat,
    struct sql_node **out)
{
	struct subquery *s = sql_node_new(x, sizeof *s,
	    arena_printf(x->arena, "Subquery Scan on %s", r->name),
	    subquery_next);

	s->rel = r;
	s->flat = flat;
	*out = &s->node;
	return sql_plan_query(x, r->query, &s->node.left);
}

/* ---- VALUES, and one row of nothing ---- */

struct values {
	struct sql_node node;
	const struct sql_query *query;
	uint32_t at;
	struct val *row;
};

static struct err *
values_next(struct sql_node *n, struct val **row)
{
	struct values *v = (struct values *)(void *)n;
	struct ex_ctx ctx = sql_ctx(n->x, n->scratch, NULL, 0);
	struct expr **es;

	*row = NULL;
	if (v->at == v->query->n_rows)
		return NULL;
	arena_reset(n->scratch);
	es = v->query->rows[v->at++];
	for (uint32_t i = 0; i < v->query->width; i++)
		/* Folding is only needed for lists of subqueries. */
		TRY(ex_eval(&ctx,
		    n->x->plan->n_subs ? sql_fold(n->x, es[i]) : es[i],
		    &v->row[i]));
	*row = v->row;
	return NULL;
}

struct sql_node *
sql_values_node(struct sql_exec *x, const struct sql_query *q)
{
	struct values *v = sql_node_new(x, sizeof *v,
	    q->n_rows == 1 ? "Result" : "Values Scan on \"*VALUES*\"",
	    values_next);

	v->query = q;
	v->row = NEW_N(x->arena, struct val, q->width + 1);
	return &v->node;
}

static struct err *
once_next(struct sql_node *n, struct val **row)
{
	struct values *v = (struct values *)(void *)n;

	*row = v->at++ ? NULL : v->row;
	return NULL;
}

struct sql_node *
sql_once_node(struct sql_exec *x)
{
	struct values *v = sql_node_new(x, sizeof *v, "Result", once_next);

	v->row = NEW(x->arena, struct val);
	return &v->node;
}

/* ---- UNION ALL ---- */

static struct err *
append_next(struct sql_node *n, struct val **row)
{
	*row = NULL;
	if (n->left) {
		TRY(sql_pull(n->left, row));
		if (*row)
			return NULL;
		n->left = NULL;
	}
	return sql_pull(n->right, row);
}

struct sql_node *
sql_append_node(
    struct sql_exec *x, struct sql_node *left, struct sql_node *right)
{
	struct sql_node *n = sql_node_new(x, sizeof *n, "Append", append_next);

	n->left = left;
	n->right = right;
	return n;
}

/* ---- filter ---- */

struct filter {
	struct sql_node node;
	struct expr *cond;
	uint32_t width;
};

static struct err *
filter_next(struct sql_node *n, struct val **row)
{
	struct filter *f = (struct filter *)(void *)n;

	for (;;) {
		struct ex_ctx ctx;
		bool pass;

		arena_reset(n->scratch);
		TRY(sql_pull(n->left, row));
		if (!*row)
			return NULL;
		ctx = sql_ctx(n->x, n->scratch, *row, f->width);
		TRY(ex_test(&ctx, f->cond, &pass));
		if (pass)
			return NULL;
	}
}

struct sql_node *
sql_filter_node(struct sql_exec *x, const struct sql_query *q,
    struct sql_node *child, struct expr *cond, uint32_t width)
{
	struct filter *f = sql_node_new(x, sizeof *f, NULL, filter_next);

	f->cond = cond;
	f->width = width;
	f->node.left = child;
	/* EXPLAIN shows the condition under the node that it filters. */
	if (x->plan->explain)
		sql_node_prop(child, "Filter",
		    sql_expr_text(x->arena, q, cond,
			q->grouped && child->title &&
			    strstr(child->title, "Aggregate")));
	return &f->node;
}

/* ---- projection ---- */

struct project {
	struct sql_node node;
	struct expr **es;
	uint32_t n, width;
	struct val *row;
};

static struct err *
project_next(struct sql_node *n, struct val **row)
{
	struct project *p = (struct project *)(void *)n;
	struct ex_ctx ctx;
	struct val *in;

	*row = NULL;
	TRY(sql_pull(n->left, &in));
	if (!in)
		return NULL;
	arena_reset(n->scratch);
	ctx = sql_ctx(n->x, n->scratch, in, p->width);
	TRY(sql_eval_all(&ctx, p->es, p->n, p->row));
	*row = p->row;
	return NULL;
}

struct sql_node *
sql_project_node(struct sql_exec *x, const struct sql_query *q,
    struct sql_node *child, uint32_t width)
{
	struct project *p = sql_node_new(x, sizeof *p, NULL, project_next);

	p->n = q->n_outs;
	p->width = width;
	p->row = NEW_N(x->arena, struct val, q->n_outs + 1);
	p->es = NEW_N(x->arena, struct expr *, q->n_outs + 1);
	for (uint32_t i = 0; i < q->n_outs; i++)
		p->es[i] = sql_fold(x, q->outs[i].expr);
	p->node.left = child;
	return &p->node;
}
