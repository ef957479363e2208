#include "expr/expr_int.h"

static bool
all_const(const struct expr *e)
{
	for (uint32_t i = 0; i < e->n_args; i++)
		if (e->args[i]->node != EX_CONST)
			return false;
	return true;
}

static struct expr *
constant(const struct ex_ctx *ctx, const struct expr *e, struct val v)
{
	struct expr *c = ex_const(ctx->arena, v);

	c->typmod = e->typmod;
	c->position = e->position;
	return c;
}

/* e as it is when it fails: it fails when and if it runs. */
static struct expr *
try_eval(const struct ex_ctx *ctx, struct expr *e)
{
	struct val v;

	if (ex_eval(ctx, e, &v))
		return e;
	return constant(ctx, e, v);
}

/* Takes constants that decide nothing out of AND and OR; a deciding one takes
 * over.  NULL constants stay. */
static struct expr *
fold_logic(const struct ex_ctx *ctx, struct expr *e)
{
	bool decides = e->node == EX_OR;
	uint32_t n = 0;
	struct expr **kept = NEW_N(ctx->arena, struct expr *, e->n_args);
	struct expr *r;

	for (uint32_t i = 0; i < e->n_args; i++) {
		struct expr *x = e->args[i];

		if (x->node != EX_CONST || x->u.con.null)
			kept[n++] = x;
		else if (x->u.con.u.b == decides)
			return constant(ctx, e, val_bool(decides));
	}
	if (n == e->n_args)
		return e;
	if (n == 0)
		return constant(ctx, e, val_bool(!decides));
	if (n == 1)
		return kept[0];
	r = NEW(ctx->arena, struct expr);
	*r = *e;
	r->args = kept;
	r->n_args = n;
	return r;
}

static struct expr *
simplify(const struct ex_ctx *ctx, struct expr *e)
{
	if (e->node == EX_PARAM)
		return try_eval(ctx, e);
	if (e->node == EX_CONST || e->node == EX_COLUMN)
		return e;
	if (e->node == EX_AND || e->node == EX_OR)
		e = fold_logic(ctx, e);
	if (e->node == EX_CALL && e->u.func->volatility == EX_VOLATILE)
		return e;
	return e->n_args == 0 && e->node != EX_CALL ? e
	       : all_const(e)                       ? try_eval(ctx, e)
						    : e;
}

/* A copy of e with argument i replaced and args its own. */
static struct expr *
with_own_args(const struct ex_ctx *ctx, const struct expr *e)
{
	struct expr *copy = NEW(ctx->arena, struct expr);

	*copy = *e;
	copy->args =
	    arena_dup(ctx->arena, e->args, e->n_args * sizeof(struct expr *));
	return copy;
}

/* The recursion keeps nothing but pointers and counters in its frame. */
static struct expr *
fold_at(const struct ex_ctx *ctx, struct expr *e, int depth)
{
	struct expr *own = NULL;

	if (depth > EX_DEPTH_BIND_MAX)
		return e;
	for (uint32_t i = 0; i < e->n_args; i++) {
		struct expr *x = fold_at(ctx, e->args[i], depth + 1);

		if (x == e->args[i])
			continue;
		if (!own)
			own = with_own_args(ctx, e);
		own->args[i] = x;
	}
	return simplify(ctx, own ? own : e);
}

struct expr *
ex_fold(const struct ex_ctx *ctx, struct expr *e)
{
	return fold_at(ctx, e, 1);
}
