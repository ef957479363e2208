/* Runs: their memory, folding, and the node that is pulled. */
#include "sql/exec_int.h"

#define TICKS 256

void *
sql_node_new(struct sql_exec *x, size_t size, const char *title,
    struct err *(*next)(struct sql_node *n, struct val **row))
{
	struct sql_node *n = arena_alloc(x->arena, size);

	ASSERT(size >= sizeof *n);
	n->next = next;
	n->x = x;
	n->title = title;
	n->scratch = arena_new(x->arena, "row");
	n->older = x->nodes;
	x->nodes = n;
	return n;
}

struct err *
sql_pull(struct sql_node *n, struct val **row)
{
	*row = NULL;
	TRY(n->next(n, row));
	n->rows += *row != NULL;
	return NULL;
}

void
sql_node_prop(struct sql_node *n, const char *name, const char *text)
{
	struct sql_prop **at = &n->props;

	while (*at)
		at = &(*at)->next;
	*at = NEW(n->x->arena, struct sql_prop);
	(*at)->name = name;
	(*at)->text = text;
}

struct ex_ctx
sql_ctx(const struct sql_exec *x, struct arena *a, const struct val *row,
    uint32_t n)
{
	return (struct ex_ctx){
	    .arena = a,
	    .env = x->env->ex,
	    .row = row,
	    .n_row = n,
	    .params = x->params,
	    .n_params = x->n_params,
	};
}

/* ---- folding ---- */

/* The sub whose list stands in this IN; NULL: an ordinary one. */
static const struct sql_sub_list *
in_list(const struct sql_exec *x, const struct expr *e)
{
	uint32_t k;

	if (e->node != EX_IN || e->n_args != 2 ||
	    e->args[1]->node != EX_PARAM ||
	    e->args[1]->u.param <= x->plan->n_params)
		return NULL;
	k = e->args[1]->u.param - x->plan->n_params - 1;
	return x->plan->subs[k].kind == SQL_SUB_IN ? &x->lists[k] : NULL;
}

static struct expr *
fill_list(
    struct sql_exec *x, const struct expr *e, const struct sql_sub_list *list)
{
	struct expr *in = arena_dup(x->arena, e, sizeof *e);

	if (list->n == 0)
		return ex_const(x->arena, val_bool(false));
	in->n_args = list->n + 1;
	in->args = NEW_N(x->arena, struct expr *, in->n_args);
	in->args[0] = e->args[0];
	memcpy(&in->args[1], list->items, list->n * sizeof *list->items);
	return in;
}

static struct expr *
fill_node(struct expr *e, void *arg)
{
	struct sql_exec *x = arg;
	const struct sql_sub_list *list = in_list(x, e);

	return list ? fill_list(x, e, list) : e;
}

static struct expr *
fill_lists(struct sql_exec *x, struct expr *e)
{
	struct sql_rewrite how = {.after = fill_node, .arg = x};
	struct err *r = sql_expr_rewrite(x->arena, e, &how, &e);

	ASSERT(!r); /* nothing in it can fail */
	return e;
}

struct expr *
sql_fold(struct sql_exec *x, struct expr *e)
{
	struct ex_ctx ctx = sql_ctx(x, x->arena, NULL, 0);

	if (e->node == EX_COLUMN || e->node == EX_CONST)
		return e;
	if (x->explain && x->plan->n_subs)
		return e;
	if (x->plan->n_subs)
		e = fill_lists(x, e);
	return ex_fold(&ctx, e);
}

/* ---- limits ---- */

struct err *
sql_tick(struct sql_exec *x)
{
	if (++x->ticks % TICKS || !x->src || !x->src->ops->check)
		return NULL;
	return x->src->ops->check(x->src, x->arena);
}

struct err *
sql_work_check(struct sql_exec *x)
{
	struct err *e = arena_check(x->work);

	if (!e)
		return NULL;
	return err_hint(e,
	    "A sort, grouping or join of this statement needs more memory "
	    "than one statement may use. Narrow it, or use LIMIT.");
}

/* ---- rows ---- */

struct err *
sql_eval_all(const struct ex_ctx *ctx, struct expr *const *es, uint32_t n,
    struct val *vals)
{
	for (uint32_t i = 0; i < n; i++)
		TRY(ex_eval(ctx, es[i], &vals[i]));
	return NULL;
}

struct val *
sql_row_copy(struct arena *a, const struct val *row, uint32_t n)
{
	struct val *copy = NEW_N(a, struct val, n ? n : 1);

	for (uint32_t i = 0; i < n; i++)
		copy[i] = val_copy(a, row[i]);
	return copy;
}

/* All integer widths have one form, so that joins may mix them. */
void
sql_hash_key(struct buf *b, const struct val *vals, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		ex_key_put(b, CL_TAG_NONE, CL_KEY_ASC, vals[i]);
}

/* ---- subqueries ---- */

static struct err *
run_scalar(struct sql_exec *x, struct sql_node *n, struct val *out)
{
	struct val *row;

	TRY(sql_pull(n, &row));
	if (!row)
		return NULL;
	*out = val_copy(x->arena, row[0]);
	TRY(sql_pull(n, &row));
	if (row)
		return ERR(x->arena, ERRCODE_CARDINALITY_VIOLATION,
		    "more than one row returned by a subquery used as an "
		    "expression");
	return NULL;
}

static struct err *
run_list(struct sql_exec *x, struct sql_node *n, struct sql_sub_list *list)
{
	uint32_t cap = 0;
	struct val *row;

	for (;;) {
		TRY(sql_pull(n, &row));
		if (!row)
			return NULL;
		list->items = sql_more(
		    x->work, list->items, list->n, &cap, sizeof *list->items);
		list->items[list->n++] =
		    ex_const(x->work, val_copy(x->work, row[0]));
		TRY(sql_work_check(x));
	}
}

static struct err *
run_sub(struct sql_exec *x, uint32_t i)
{
	const struct sql_sub *s = &x->plan->subs[i];
	struct val *value = &x->params[s->param - 1];
	struct sql_node *n;
	struct val *row;

	TRY(sql_plan_query(x, s->query, &n));
	switch (s->kind) {
	case SQL_SUB_SCALAR:
		return run_scalar(x, n, value);
	case SQL_SUB_EXISTS:
		TRY(sql_pull(n, &row));
		*value = val_bool(row != NULL);
		return NULL;
	case SQL_SUB_IN:
		return run_list(x, n, &x->lists[i]);
	}
	UNREACHABLE();
}

static uint32_t
sub_type(const struct sql_sub *s)
{
	return s->kind == SQL_SUB_EXISTS ? EX_BOOL
					 : s->query->outs[0].expr->type;
}

/* Inner ones come first, so each finds the values it needs. */
struct err *
sql_run_subs(struct sql_exec *x)
{
	const struct sql_plan *p = x->plan;

	for (uint32_t i = 0; i < p->n_subs; i++)
		x->params[p->subs[i].param - 1] =
		    val_null(sub_type(&p->subs[i]));
	for (uint32_t i = 0; i < p->n_subs && !x->explain; i++)
		TRY(run_sub(x, i));
	return NULL;
}

/* ---- a run ---- */

struct err *
sql_exec_new(struct arena *a, const struct sql_env *env,
    const struct sql_plan *plan, const struct val *params,
    struct sql_source *src, struct sql_exec **out)
{
	struct arena *arena = arena_new(a, "statement");
	struct sql_exec *x = NEW(arena, struct sql_exec);

	*out = x;
	x->arena = arena;
	x->work = arena_new(arena, "statement memory");
	arena_limit(
	    x->work, env->memory_max ? env->memory_max : SQL_MEMORY_DEFAULT);
	x->env = env;
	x->plan = plan;
	x->src = src;
	x->n_params = plan->n_params + plan->n_subs;
	x->params = NEW_N(arena, struct val, x->n_params + 1);
	if (plan->n_params)
		memcpy(x->params, params, plan->n_params * sizeof *params);
	x->lists = NEW_N(arena, struct sql_sub_list, plan->n_subs + 1);
	return NULL;
}

void
sql_exec_close(struct sql_exec *x)
{
	for (struct sql_node *n = x->nodes; n; n = n->older)
		if (n->close)
			n->close(n);
	x->nodes = NULL;
	arena_free(x->arena);
}
