/* Evaluation by an explicit stack.
 *
 * A tree may nest deeper than a fiber's stack could follow, so eval keeps one
 * frame per node under way in memory of its own: a first piece on the C stack,
 * enough for what people write, and more from the arena.  Each kind of node has
 * a step function: told what has been computed so far, it says which argument
 * it needs next and where the value goes, or that it is done. */
#include "expr/expr.h"

#include "expr/expr_int.h"

#define STACK_LOCAL 1024 /* about ten frames */
#define STACK_MORE  8192

struct frame {
	struct frame *up;
	const struct expr *e;
	struct val *out; /* where the node's value goes */
	uint8_t *was_at; /* the stack before this frame */
	uint8_t *was_end;
	uint32_t next; /* next argument to ask for */
	bool null;     /* AND, OR, IN: met a NULL */
	bool final;    /* the value asked for last is the node's value */
	struct val args[];
};

struct machine {
	const struct ex_ctx *ctx;
	struct frame *top;
	uint8_t *at, *end; /* free part of the stack */
	uint8_t *spare;    /* a piece left behind, of STACK_MORE bytes */
	int depth;
};

/* What a step asks for: the argument whose value goes to *slot; slot NULL when
 * the node's value is there. */
struct want {
	uint32_t arg;
	struct val *slot;
};

/* ---- leaves ---- */

static struct err *
leaf_value(const struct ex_ctx *ctx, const struct expr *e,
    const struct val *from, struct val *out)
{
	*out = *from;
	if (out->type != e->type && !out->null)
		return ERR(ctx->arena, ERRCODE_INTERNAL_ERROR,
		    "value has type %u where the expression says %u", out->type,
		    e->type);
	out->type = e->type;
	return NULL;
}

static bool
is_leaf(const struct expr *e)
{
	return e->node <= EX_PARAM;
}

static struct err *
leaf(const struct ex_ctx *ctx, const struct expr *e, struct val *out)
{
	switch (e->node) {
	case EX_CONST:
		*out = e->u.con;
		return NULL;
	case EX_COLUMN:
		if (e->u.col >= ctx->n_row)
			return ERR(ctx->arena, ERRCODE_INTERNAL_ERROR,
			    "row of %u columns has no column %u", ctx->n_row,
			    e->u.col);
		return leaf_value(ctx, e, &ctx->row[e->u.col], out);
	case EX_PARAM:
		if (e->u.param == 0 || e->u.param > ctx->n_params)
			return ERR(ctx->arena, ERRCODE_UNDEFINED_PARAMETER,
			    "no value found for parameter %u", e->u.param);
		return leaf_value(ctx, e, &ctx->params[e->u.param - 1], out);
	default:
		UNREACHABLE();
	}
}

/* ---- the stack ---- */

/* How many argument values a node keeps at a time. */
static uint32_t
frame_args(const struct expr *e)
{
	switch (e->node) {
	case EX_CALL:
		return e->n_args;
	case EX_IN:
	case EX_DISTINCT:
	case EX_NOT_DISTINCT:
	case EX_NULLIF:
	case EX_GREATEST:
	case EX_LEAST:
		return 2;
	default:
		return 1;
	}
}

static void
stack_more(struct machine *m, size_t need)
{
	if (need <= STACK_MORE) {
		if (!m->spare)
			m->spare = arena_alloc_raw(m->ctx->arena, STACK_MORE);
		m->at = m->spare;
		m->end = m->at + STACK_MORE;
		m->spare = NULL;
		return;
	}
	m->at = arena_alloc_raw(m->ctx->arena, need);
	m->end = m->at + need;
}

static struct err *
push(struct machine *m, const struct expr *e, struct val *out)
{
	size_t need = sizeof(struct frame) + frame_args(e) * sizeof(struct val);
	uint8_t *was_at = m->at, *was_end = m->end;
	struct frame *f;

	if (++m->depth > EX_DEPTH_BIND_MAX)
		return ex_too_deep(m->ctx->arena);
	if ((size_t)(m->end - m->at) < need)
		stack_more(m, need);
	f = (struct frame *)(void *)m->at;
	m->at += need;
	f->up = m->top;
	f->e = e;
	f->out = out;
	f->was_at = was_at;
	f->was_end = was_end;
	f->next = 0;
	f->null = false;
	f->final = false;
	m->top = f;
	return NULL;
}

static void
pop(struct machine *m)
{
	struct frame *f = m->top;

	if (f->was_end != m->end && m->end - (uint8_t *)f == STACK_MORE)
		m->spare = (uint8_t *)f;
	m->at = f->was_at;
	m->end = f->was_end;
	m->top = f->up;
	m->depth--;
}

/* ---- steps ---- */

static void
ask(struct frame *f, struct val *slot, struct want *w)
{
	w->arg = f->next++;
	w->slot = slot;
}

static struct err *
step_call(const struct ex_ctx *ctx, struct frame *f, struct want *w)
{
	const struct expr *e = f->e;
	const struct ex_func *fn = e->u.func;

	if (f->next < e->n_args) {
		ask(f, &f->args[f->next], w);
		return NULL;
	}
	*f->out = val_null(e->type);
	if (fn->strict)
		for (uint32_t i = 0; i < e->n_args; i++)
			if (f->args[i].null)
				return NULL;
	TRY(fn->fn(ctx, f->args, e->n_args, f->out));
	f->out->type = e->type;
	return NULL;
}

/* AND and OR: `decides` is the value that settles it at once. */
static void
step_logic(struct frame *f, bool decides, struct want *w)
{
	if (f->next > 0) {
		if (f->args[0].null) {
			f->null = true;
		} else if (f->args[0].u.b == decides) {
			*f->out = val_bool(decides);
			return;
		}
	}
	if (f->next < f->e->n_args)
		ask(f, &f->args[0], w);
	else if (f->null)
		*f->out = val_null(EX_BOOL);
	else
		*f->out = val_bool(!decides);
}

static void
step_test(struct frame *f, struct want *w)
{
	struct val *v = &f->args[0];

	if (f->next == 0) {
		ask(f, v, w);
		return;
	}
	switch (f->e->node) {
	case EX_NOT:
		*f->out = v->null ? *v : val_bool(!v->u.b);
		break;
	case EX_IS_NULL:
		*f->out = val_bool(v->null);
		break;
	case EX_IS_NOT_NULL:
		*f->out = val_bool(!v->null);
		break;
	case EX_IS_TRUE:
		*f->out = val_bool(!v->null && v->u.b);
		break;
	case EX_IS_NOT_TRUE:
		*f->out = val_bool(v->null || !v->u.b);
		break;
	case EX_IS_FALSE:
		*f->out = val_bool(!v->null && !v->u.b);
		break;
	case EX_IS_NOT_FALSE:
		*f->out = val_bool(v->null || v->u.b);
		break;
	default:
		UNREACHABLE();
	}
}

static void
step_case(struct frame *f, struct want *w)
{
	uint32_t n = f->e->n_args;

	if (f->final)
		return;
	if (f->next > 0) { /* args[0] is the value of a WHEN */
		if (f->args[0].null || !f->args[0].u.b)
			f->next++; /* its THEN */
		else
			f->final = true;
	}
	if (f->next >= n) {
		*f->out = val_null(f->e->type);
		return;
	}
	if (f->next + 1 == n)
		f->final = true; /* ELSE, or the last THEN */
	ask(f, f->final ? f->out : &f->args[0], w);
}

static void
step_coalesce(struct frame *f, struct want *w)
{
	if (f->next > 0 && !f->out->null)
		return;
	if (f->next < f->e->n_args)
		ask(f, f->out, w);
}

static struct err *
no_order(const struct ex_ctx *ctx, uint32_t type)
{
	return ERR(ctx->arena, ERRCODE_UNDEFINED_FUNCTION,
	    "could not identify an equality operator for type %s",
	    ex_type_format(ctx->arena, type, -1));
}

static struct err *
step_in(const struct ex_ctx *ctx, struct frame *f, struct want *w)
{
	struct val *x = &f->args[0], *y = &f->args[1];

	if (f->next == 1) {
		if (x->null) {
			*f->out = val_null(EX_BOOL);
			return NULL;
		}
		if (!ex_has_order(x->type))
			return no_order(ctx, x->type);
	}
	if (f->next > 1) {
		if (y->null) {
			f->null = true;
		} else if (ex_cmp(*x, *y) == 0) {
			*f->out = val_bool(true);
			return NULL;
		}
	}
	if (f->next < f->e->n_args)
		ask(f, f->next == 0 ? x : y, w);
	else
		*f->out = f->null ? val_null(EX_BOOL) : val_bool(false);
	return NULL;
}

/* IS [NOT] DISTINCT FROM and NULLIF. */
static struct err *
step_same(const struct ex_ctx *ctx, struct frame *f, struct want *w)
{
	struct val *x = &f->args[0], *y = &f->args[1];
	bool same;

	if (f->next < 2) {
		ask(f, f->next == 0 ? x : y, w);
		return NULL;
	}
	if (x->null || y->null) {
		same = x->null && y->null;
	} else {
		if (!ex_has_order(x->type))
			return no_order(ctx, x->type);
		same = ex_cmp(*x, *y) == 0;
	}
	if (f->e->node == EX_NULLIF)
		*f->out = same ? val_null(x->type) : *x;
	else
		*f->out = val_bool(same == (f->e->node == EX_NOT_DISTINCT));
	return NULL;
}

/* GREATEST and LEAST ignore NULLs. */
static struct err *
step_extreme(const struct ex_ctx *ctx, struct frame *f, struct want *w)
{
	struct val *best = &f->args[0], *v = &f->args[1];

	if (f->next == 0) {
		if (!ex_has_order(f->e->type))
			return no_order(ctx, f->e->type);
		*best = val_null(f->e->type);
	} else if (!v->null) {
		int c = best->null ? 0 : ex_cmp(*v, *best);

		if (best->null || (f->e->node == EX_GREATEST ? c > 0 : c < 0))
			*best = *v;
	}
	if (f->next < f->e->n_args)
		ask(f, v, w);
	else
		*f->out = *best;
	return NULL;
}

static struct err *
step_typmod(const struct ex_ctx *ctx, struct frame *f, struct want *w)
{
	const struct expr *e = f->e;
	const struct ex_type *t = ex_type(e->type);
	struct val v;

	if (f->next == 0) {
		ask(f, &f->args[0], w);
		return NULL;
	}
	v = f->args[0];
	v.type = e->type;
	*f->out = v;
	if (v.null || e->typmod < 0 || !t || !t->apply_typmod)
		return NULL;
	return t->apply_typmod(
	    ctx->arena, v, e->typmod, e->u.explicit_cast, f->out);
}

static struct err *
step(const struct ex_ctx *ctx, struct frame *f, struct want *w)
{
	switch (f->e->node) {
	case EX_CALL:
		return step_call(ctx, f, w);
	case EX_AND:
		step_logic(f, false, w);
		return NULL;
	case EX_OR:
		step_logic(f, true, w);
		return NULL;
	case EX_CASE:
		step_case(f, w);
		return NULL;
	case EX_COALESCE:
		step_coalesce(f, w);
		return NULL;
	case EX_IN:
		return step_in(ctx, f, w);
	case EX_DISTINCT:
	case EX_NOT_DISTINCT:
	case EX_NULLIF:
		return step_same(ctx, f, w);
	case EX_GREATEST:
	case EX_LEAST:
		return step_extreme(ctx, f, w);
	case EX_TYPMOD:
		return step_typmod(ctx, f, w);
	default:
		step_test(f, w);
		return NULL;
	}
}

/* Runs the newest frame until it is done or an argument needs a frame of its
 * own. */
static struct err *
run_top(struct machine *m)
{
	struct frame *f = m->top;

	for (;;) {
		struct want w = {0, NULL};
		const struct expr *arg;

		TRY(step(m->ctx, f, &w));
		if (!w.slot) {
			pop(m);
			return NULL;
		}
		ASSERT(w.arg < f->e->n_args);
		arg = f->e->args[w.arg];
		if (!is_leaf(arg))
			return push(m, arg, w.slot);
		TRY(leaf(m->ctx, arg, w.slot));
	}
}

struct err *
ex_eval(const struct ex_ctx *ctx, const struct expr *e, struct val *out)
{
	_Alignas(16) uint8_t local[STACK_LOCAL];
	struct machine m = {
	    .ctx = ctx, .at = local, .end = local + sizeof local};

	*out = val_null(e->type);
	if (is_leaf(e))
		return leaf(ctx, e, out);
	TRY(push(&m, e, out));
	while (m.top)
		TRY(run_top(&m));
	return NULL;
}

struct err *
ex_test(const struct ex_ctx *ctx, const struct expr *e, bool *out)
{
	struct val v;

	*out = false;
	TRY(ex_eval(ctx, e, &v));
	ASSERT(v.type == EX_BOOL);
	*out = !v.null && v.u.b;
	return NULL;
}
