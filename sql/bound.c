/* Walking and rewriting bound expressions.  Trees may be deeper than a fiber's
 * stack could follow, so both keep their place in memory of their own. */
#include "sql/bind_int.h"

#define LOCAL_DEPTH 32

/* ---- looking ---- */

struct look {
	const struct expr *e;
	uint32_t next;
};

bool
sql_expr_any(const struct expr *e, bool (*fn)(const struct expr *e, void *arg),
    void *arg)
{
	struct look local[LOCAL_DEPTH], *stack = local;
	struct arena *more = NULL;
	uint32_t depth = 0, cap = LOCAL_DEPTH;
	bool found = fn(e, arg);

	local[0] = (struct look){e, 0};
	for (depth = 1; !found && depth > 0;) {
		struct look *top = &stack[depth - 1];
		const struct expr *x;

		if (top->next == top->e->n_args) {
			depth--;
			continue;
		}
		x = top->e->args[top->next++];
		found = fn(x, arg);
		if (x->n_args == 0)
			continue;
		if (depth == cap) {
			struct look *grown;

			if (!more)
				more = arena_new(NULL, "walk");
			cap *= 2;
			grown = NEW_N(more, struct look, cap);
			memcpy(grown, stack, depth * sizeof *grown);
			stack = grown;
		}
		stack[depth++] = (struct look){x, 0};
	}
	arena_free(more);
	return found;
}

static bool
note_left(const struct expr *e, void *arg)
{
	int *at = arg;

	if (e->position && (!*at || e->position < *at))
		*at = e->position;
	return false;
}

int
sql_leftmost(const struct expr *e)
{
	int at = 0;

	sql_expr_any(e, note_left, &at);
	return at;
}

/* ---- rewriting ---- */

struct rewrite {
	struct rewrite *up;
	struct expr *e;
	struct expr *own; /* a copy, once something in it changed */
	uint32_t next;
};

struct rewriter {
	struct arena *arena;
	const struct sql_rewrite *how;
	struct rewrite *top, *spare;
};

static void
push(struct rewriter *r, struct expr *e)
{
	struct rewrite *f = r->spare;

	if (f)
		r->spare = f->up;
	else
		f = NEW(r->arena, struct rewrite);
	*f = (struct rewrite){.up = r->top, .e = e};
	r->top = f;
}

static void
replace_arg(struct rewriter *r, struct rewrite *f, struct expr *x)
{
	uint32_t i = f->next++;

	if (x == f->e->args[i])
		return;
	if (!f->own) {
		f->own = arena_dup(r->arena, f->e, sizeof *f->e);
		f->own->args = arena_dup(
		    r->arena, f->e->args, f->e->n_args * sizeof *f->e->args);
	}
	f->own->args[i] = x;
}

/* What is done before a node's arguments; *out NULL: go on with them. */
static struct err *
enter(struct rewriter *r, struct expr *e, struct expr **out)
{
	*out = NULL;
	if (r->how->before)
		TRY(r->how->before(e, r->how->arg, out));
	if (!*out && e->n_args == 0)
		*out = e;
	return NULL;
}

static struct expr *
leave(struct rewriter *r)
{
	struct rewrite *f = r->top;
	struct expr *done = f->own ? f->own : f->e;

	if (r->how->after)
		done = r->how->after(done, r->how->arg);
	r->top = f->up;
	f->up = r->spare;
	r->spare = f;
	return done;
}

struct err *
sql_expr_rewrite(struct arena *a, struct expr *e, const struct sql_rewrite *how,
    struct expr **out)
{
	struct rewriter r = {.arena = a, .how = how};

	TRY(enter(&r, e, out));
	if (*out)
		return NULL;
	push(&r, e);
	while (r.top) {
		struct rewrite *f = r.top;
		struct expr *x;

		if (f->next == f->e->n_args) {
			x = leave(&r);
			if (r.top)
				replace_arg(&r, r.top, x);
			else
				*out = x;
			continue;
		}
		TRY(enter(&r, f->e->args[f->next], &x));
		if (x)
			replace_arg(&r, f, x);
		else
			push(&r, f->e->args[f->next]);
	}
	return NULL;
}
