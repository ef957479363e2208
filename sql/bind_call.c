/* Calls of functions and aggregates. */
#include "sql/bind_int.h"

static const uint32_t *
types_of(struct sql_bind *b, struct expr *const *args, uint32_t n)
{
	uint32_t *types = NEW_N(b->arena, uint32_t, n ? n : 1);

	for (uint32_t i = 0; i < n; i++)
		types[i] = args[i]->type;
	return types;
}

/* ---- aggregates ---- */

static bool
same_agg(const struct sql_agg_call *x, const struct sql_agg_call *y)
{
	if (x->agg != y->agg || x->n_args != y->n_args ||
	    x->distinct != y->distinct || !x->filter != !y->filter ||
	    (x->filter && !ex_equal(x->filter, y->filter)))
		return false;
	for (uint32_t i = 0; i < x->n_args; i++)
		if (!ex_equal(x->args[i], y->args[i]))
			return false;
	return true;
}

/* The aggregate as a column to be, equal calls sharing one. */
static struct expr *
agg_column(struct sql_ectx *c, const struct sql_agg_call *call)
{
	struct sql_query *q = c->scope->query;
	struct sql_agg_call *more;
	struct expr *e;
	uint32_t k = 0;

	while (k < q->n_aggs && !same_agg(&q->aggs[k], call))
		k++;
	if (k == q->n_aggs) {
		more = NEW_N(c->b->arena, struct sql_agg_call, k + 1);
		if (k)
			memcpy(more, q->aggs, k * sizeof *more);
		more[k] = *call;
		q->aggs = more;
		q->n_aggs++;
	}
	q->grouped = true;
	e = ex_column(c->b->arena, SQL_AGG_COL + k, call->agg->ret, -1);
	e->position = call->position;
	return e;
}

static bool
find_nested(const struct expr *e, void *arg)
{
	int *position = arg;

	if (e->node != EX_COLUMN || e->u.col < SQL_AGG_COL)
		return false;
	*position = e->position;
	return true;
}

static struct err *
agg_allowed(struct sql_ectx *c, const struct sql_expr *e,
    struct expr *const *args, uint32_t n)
{
	int inner = 0;

	if (!c->aggs)
		return err_at(
		    ERR(c->b->arena, ERRCODE_GROUPING_ERROR,
			"aggregate functions are not allowed in %s", c->clause),
		    e->position);
	for (uint32_t i = 0; i < n; i++)
		if (sql_expr_any(args[i], find_nested, &inner))
			return err_at(
			    ERR(c->b->arena, ERRCODE_GROUPING_ERROR,
				"aggregate function calls cannot be nested"),
			    inner);
	return NULL;
}

static struct err *
agg_filter(struct sql_ectx *c, const struct sql_expr *e, struct expr **out)
{
	struct sql_ectx inner = *c;

	inner.aggs = false;
	inner.clause = "FILTER";
	TRY(sql_bind_expr(&inner, e, out));
	return sql_coerce_bool(c->b, *out, "FILTER", out);
}

static struct err *
agg_distinct(struct sql_ectx *c, const struct sql_agg_call *call)
{
	uint32_t type;

	if (call->n_args == 0)
		return err_at(ERR(c->b->arena, ERRCODE_UNDEFINED_FUNCTION,
				  "DISTINCT specified without arguments"),
		    call->position);
	type = call->args[0]->type;
	if (!sql_can_sort(type))
		return err_at(ERR(c->b->arena, ERRCODE_UNDEFINED_FUNCTION,
				  "could not identify an equality operator "
				  "for type %s",
				  ex_type_format(c->b->arena, type, -1)),
		    call->position);
	return NULL;
}

static struct err *
bind_agg(struct sql_ectx *c, const struct sql_expr *e, const struct ex_agg *agg,
    struct expr **args, uint32_t n, struct expr **out)
{
	const struct sql_call *call = e->u.call;
	struct sql_agg_call a = {.agg = agg,
	    .args = args,
	    .n_args = n,
	    .distinct = call->distinct,
	    .position = e->position};

	TRY(agg_allowed(c, e, args, n));
	/* Only string_agg depends on the order of its input. */
	if (call->order.n && agg->kind == EX_AGG_STRING_AGG)
		return sql_unsupported_at(
		    c->b->arena, e->position, "ORDER BY clauses of aggregates");
	for (uint32_t i = 0; i < n; i++) {
		uint32_t want = i == 0 ? agg->arg : EX_TEXT;

		if (want == EX_ANY || want == 0)
			TRY(sql_settle_text(c->b, args[i], &args[i]));
		else
			TRY(sql_coerce(
			    c->b, args[i], want, -1, EX_IMPLICIT, &args[i]));
	}
	if (call->filter)
		TRY(agg_filter(c, call->filter, &a.filter));
	if (a.distinct)
		TRY(agg_distinct(c, &a));
	*out = agg_column(c, &a);
	return NULL;
}

/* ---- functions ---- */

static struct err *
not_an_agg(struct sql_ectx *c, const struct sql_expr *e)
{
	const struct sql_call *call = e->u.call;
	const char *what = call->star       ? NULL
			   : call->distinct ? "DISTINCT"
			   : call->order.n  ? "ORDER BY"
			   : call->filter   ? "FILTER"
					    : NULL;
	struct arena *a = c->b->arena;

	if (call->star)
		return err_at(ERR(a, ERRCODE_WRONG_OBJECT_TYPE,
				  "%s(*) specified, but %s is not an aggregate "
				  "function",
				  call->name.name, call->name.name),
		    e->position);
	if (what)
		return err_at(ERR(a, ERRCODE_WRONG_OBJECT_TYPE,
				  "%s specified, but %s is not an aggregate "
				  "function",
				  what, call->name.name),
		    e->position);
	return NULL;
}

static struct err *
call_func(struct sql_bind *b, const struct ex_func *f, struct expr **args,
    uint32_t n, int position, struct expr **out)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t want = ex_func_arg(f, i);

		if (want == EX_ANY)
			TRY(sql_settle_text(b, args[i], &args[i]));
		else
			TRY(sql_coerce(
			    b, args[i], want, -1, EX_IMPLICIT, &args[i]));
	}
	*out = ex_call(b->arena, f, args, n);
	(*out)->position = position;
	return NULL;
}

/* Our own functions are called by their full name only, and kept by it. */
static bool
is_ours(const struct sql_name *n)
{
	return n->schema && strcmp(n->schema, "skaidb") == 0;
}

static struct err *
bind_func(struct sql_ectx *c, const struct sql_expr *e, struct expr **args,
    uint32_t n, struct expr **out)
{
	struct sql_bind *b = c->b;
	const uint32_t *types = types_of(b, args, n);
	const struct sql_name *called = &e->u.call->name;
	struct str name = str_c(
	    is_ours(called) ? arena_printf(b->arena, "skaidb.%s", called->name)
			    : called->name);
	const struct ex_func *f;
	struct err *r = ex_find_func(b->arena, name, types, n, &f);
	uint32_t type;

	if (r && n == 1 && ex_func_is_cast(name, types[0], &type))
		return sql_coerce(b, args[0], type, -1, EX_EXPLICIT, out);
	if (r && str_eq(name, STR("generate_series")))
		return sql_unsupported_at(b->arena, e->position,
		    "set-returning functions outside FROM");
	if (r)
		return err_at(r, e->position);
	TRY(not_an_agg(c, e));
	return call_func(b, f, args, n, e->position, out);
}

struct err *
sql_bind_call(struct sql_ectx *c, const struct sql_expr *e, struct expr **args,
    uint32_t n, struct expr **out)
{
	const struct sql_call *call = e->u.call;
	struct arena *a = c->b->arena;
	const struct ex_agg *agg;
	struct err *r;

	if (is_ours(&call->name) && !call->variadic)
		return bind_func(c, e, args, n, out);
	if (call->name.schema && strcmp(call->name.schema, "pg_catalog") != 0 &&
	    !cl_find_name(c->b->env->catalog, CL_SCHEMA, c->b->env->database,
		str_c(call->name.schema)))
		return err_at(
		    ERR(a, ERRCODE_INVALID_SCHEMA_NAME,
			"schema \"%s\" does not exist", call->name.schema),
		    e->position);
	if (call->name.schema && strcmp(call->name.schema, "pg_catalog") != 0)
		return err_at(ERR(a, ERRCODE_UNDEFINED_FUNCTION,
				  "function %s.%s does not exist",
				  call->name.schema, call->name.name),
		    e->position);
	if (call->variadic)
		return sql_unsupported_at(a, e->position, "VARIADIC arrays");
	r = ex_find_agg(a, str_c(call->name.name), types_of(c->b, args, n), n,
	    call->star, &agg);
	if (r)
		return err_at(r, e->position);
	if (agg)
		return bind_agg(c, e, agg, args, n, out);
	return bind_func(c, e, args, n, out);
}

/* ---- CURRENT_DATE and its like ---- */

static struct err *
call_named(
    struct sql_bind *b, const char *name, int position, struct expr **out)
{
	const struct ex_func *f;
	struct err *r = ex_find_func(b->arena, str_c(name), NULL, 0, &f);

	if (r)
		return err_at(r, position);
	return call_func(b, f, NULL, 0, position, out);
}

struct err *
sql_bind_value_func(
    struct sql_bind *b, const struct sql_expr *e, struct expr **out)
{
	static const struct {
		const char *func;
		uint32_t type; /* 0: the function's */
	} kinds[] = {
	    [SQL_CURRENT_DATE] = {"now", EX_DATE},
	    [SQL_CURRENT_TIME] = {NULL, 0},
	    [SQL_CURRENT_TIMESTAMP] = {"now", EX_TIMESTAMPTZ},
	    [SQL_LOCALTIME] = {"now", EX_TIME},
	    [SQL_LOCALTIMESTAMP] = {"now", EX_TIMESTAMP},
	    [SQL_CURRENT_ROLE] = {"current_user", 0},
	    [SQL_CURRENT_USER] = {"current_user", 0},
	    [SQL_USER] = {"current_user", 0},
	    [SQL_SESSION_USER] = {"session_user", 0},
	    [SQL_CURRENT_CATALOG] = {"current_database", 0},
	    [SQL_CURRENT_SCHEMA] = {"current_schema", 0},
	};
	enum sql_value_func k = e->u.value_func.func;

	if (!kinds[k].func)
		return sql_unsupported_at(b->arena, e->position,
		    "values of type time with time zone");
	TRY(call_named(b, kinds[k].func, e->position, out));
	if (!kinds[k].type)
		return NULL;
	return sql_coerce(b, *out, kinds[k].type, e->u.value_func.precision,
	    EX_EXPLICIT, out);
}
