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

/* One node under way: its own copy once an argument has changed. */
struct fold_frame {
	struct expr *e;
	struct expr *own;
	uint32_t next;
};

struct fold_stack {
	struct arena *arena;
	struct fold_frame *frame;
	size_t n, cap;
};

static void
push(struct fold_stack *s, struct expr *e)
{
	if (s->n == s->cap) {
		size_t old = s->cap * sizeof *s->frame;

		s->cap = s->cap ? 2 * s->cap : 16;
		s->frame = arena_grow(
		    s->arena, s->frame, old, s->cap * sizeof *s->frame);
	}
	s->frame[s->n++] = (struct fold_frame){e, NULL, 0};
}

static void
replace_arg(const struct ex_ctx *ctx, struct fold_frame *f, struct expr *x)
{
	uint32_t i = f->next - 1;

	if (x == f->e->args[i])
		return;
	if (!f->own)
		f->own = with_own_args(ctx, f->e);
	f->own->args[i] = x;
}

/* Arguments first, on a stack of its own: a tree may nest deeper than a fiber's
 * stack goes. */
struct expr *
ex_fold(const struct ex_ctx *ctx, struct expr *e)
{
	struct fold_stack s = {.arena = ctx->arena};

	push(&s, e);
	for (;;) {
		struct fold_frame *f = &s.frame[s.n - 1];

		if (f->next < f->e->n_args && s.n < EX_DEPTH_BIND_MAX) {
			push(&s, f->e->args[f->next++]);
			continue;
		}
		e = simplify(ctx, f->own ? f->own : f->e);
		if (--s.n == 0)
			return e;
		replace_arg(ctx, &s.frame[s.n - 1], e);
	}
}
