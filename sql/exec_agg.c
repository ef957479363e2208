/* GROUP BY and aggregates, by hashing. */
#include "base/map.h"
#include "sql/exec_int.h"

struct group {
	struct val *vals; /* of the GROUP BY expressions */
	struct ex_agg_state **states;
	struct map **seen; /* of DISTINCT aggregates */
};

struct agg {
	struct sql_node node;
	const struct sql_query *query;
	struct expr **groups;
	struct sql_agg_call *calls; /* with folded arguments */
	struct map *map;            /* key bytes -> struct group */
	struct group *only;         /* without GROUP BY */
	struct val *vals;           /* of the present row's groups */
	struct val *row;
	size_t at;
	bool built, done;
};

static struct group *
group_new(struct agg *g)
{
	const struct sql_query *q = g->query;
	struct arena *a = g->node.x->work;
	struct group *r = NEW(a, struct group);

	r->states = NEW_N(a, struct ex_agg_state *, q->n_aggs + 1);
	r->seen = NEW_N(a, struct map *, q->n_aggs + 1);
	for (uint32_t i = 0; i < q->n_aggs; i++) {
		r->states[i] = ex_agg_new(a, q->aggs[i].agg);
		if (q->aggs[i].distinct)
			r->seen[i] = map_new(a);
	}
	return r;
}

static struct err *
group_of(struct agg *g, const struct ex_ctx *ctx, struct group **out)
{
	uint32_t n = g->query->n_groups;
	struct arena *work = g->node.x->work;
	struct buf key;

	if (!g->map) {
		*out = g->only;
		return NULL;
	}
	TRY(sql_eval_all(ctx, g->groups, n, g->vals));
	buf_init(&key, ctx->arena);
	sql_hash_key(&key, g->vals, n);
	*out = map_get(g->map, buf_view(&key));
	if (*out)
		return NULL;
	*out = group_new(g);
	(*out)->vals = sql_row_copy(work, g->vals, n);
	map_put(g->map, buf_view(&key), *out);
	return sql_work_check(g->node.x);
}

/* Whether a DISTINCT aggregate has had these arguments. NULLs never count. */
static bool
seen_before(struct group *r, uint32_t i, const struct val *args, uint32_t n,
    struct arena *scratch)
{
	struct buf key;

	if (args[0].null)
		return true;
	buf_init(&key, scratch);
	sql_hash_key(&key, args, n);
	if (map_get(r->seen[i], buf_view(&key)))
		return true;
	map_put(r->seen[i], buf_view(&key), r);
	return false;
}

static struct err *
add_row(struct agg *g, struct group *r, const struct ex_ctx *ctx)
{
	struct val args[EX_ARGS_MAX];

	for (uint32_t i = 0; i < g->query->n_aggs; i++) {
		const struct sql_agg_call *c = &g->calls[i];
		bool pass = true;

		if (c->filter)
			TRY(ex_test(ctx, c->filter, &pass));
		if (!pass)
			continue;
		ASSERT(c->n_args <= EX_ARGS_MAX);
		TRY(sql_eval_all(ctx, c->args, c->n_args, args));
		if (r->seen[i] &&
		    seen_before(r, i, args, c->n_args, ctx->arena))
			continue;
		TRY(ex_agg_add(ctx->arena, r->states[i], args, c->n_args));
	}
	return NULL;
}

static struct err *
build(struct agg *g)
{
	struct sql_node *n = &g->node;
	struct val *in;

	g->built = true;
	if (g->query->n_groups)
		g->map = map_new(n->x->work);
	else
		g->only = group_new(g);
	for (;;) {
		struct ex_ctx ctx;
		struct group *r;

		arena_reset(n->scratch);
		TRY(sql_pull(n->left, &in));
		if (!in)
			return NULL;
		ctx = sql_ctx(n->x, n->scratch, in, g->query->width);
		TRY(group_of(g, &ctx, &r));
		TRY(add_row(g, r, &ctx));
		TRY(sql_tick(n->x));
		/* string_agg and DISTINCT grow within a group. */
		if (n->x->ticks % 64 == 0)
			TRY(sql_work_check(n->x));
	}
}

static struct err *
agg_next(struct sql_node *n, struct val **row)
{
	struct agg *g = (struct agg *)(void *)n;
	const struct sql_query *q = g->query;
	struct group *r;
	void *value = NULL;
	struct str key;

	*row = NULL;
	if (!g->built)
		TRY(build(g));
	if (g->map) {
		if (!map_next(g->map, &g->at, &key, &value))
			return NULL;
		r = value;
	} else if (g->done) {
		return NULL;
	} else {
		r = g->only;
	}
	g->done = true;
	arena_reset(n->scratch);
	for (uint32_t i = 0; i < q->n_aggs; i++)
		TRY(ex_agg_result(n->scratch, r->states[i], &g->row[i]));
	for (uint32_t i = 0; i < q->n_groups; i++)
		g->row[q->n_aggs + i] = r->vals[i];
	*row = g->row;
	return NULL;
}

static void
fold_calls(struct agg *g)
{
	struct sql_exec *x = g->node.x;
	const struct sql_query *q = g->query;

	g->groups = NEW_N(x->arena, struct expr *, q->n_groups + 1);
	for (uint32_t i = 0; i < q->n_groups; i++)
		g->groups[i] = sql_fold(x, q->groups[i]);
	g->calls = NEW_N(x->arena, struct sql_agg_call, q->n_aggs + 1);
	for (uint32_t i = 0; i < q->n_aggs; i++) {
		struct sql_agg_call *c = &g->calls[i];

		*c = q->aggs[i];
		c->args = NEW_N(x->arena, struct expr *, c->n_args + 1);
		for (uint32_t k = 0; k < c->n_args; k++)
			c->args[k] = sql_fold(x, q->aggs[i].args[k]);
		if (c->filter)
			c->filter = sql_fold(x, c->filter);
	}
}

static void
explain(struct agg *g)
{
	struct sql_exec *x = g->node.x;
	const struct sql_query *q = g->query;
	struct buf b;

	if (!x->plan->explain || q->n_groups == 0)
		return;
	buf_init(&b, x->arena);
	for (uint32_t i = 0; i < q->n_groups; i++)
		buf_printf(&b, "%s%s", i ? ", " : "",
		    sql_expr_text(x->arena, q, q->groups[i], false));
	sql_node_prop(&g->node, "Group Key", buf_cstr(&b));
}

struct sql_node *
sql_agg_node(
    struct sql_exec *x, const struct sql_query *q, struct sql_node *child)
{
	struct agg *g = sql_node_new(x, sizeof *g,
	    q->n_groups ? "HashAggregate" : "Aggregate", agg_next);

	g->query = q;
	g->node.left = child;
	g->vals = NEW_N(x->arena, struct val, q->n_groups + 1);
	g->row = NEW_N(x->arena, struct val, q->n_aggs + q->n_groups + 1);
	fold_calls(g);
	explain(g);
	return &g->node;
}
