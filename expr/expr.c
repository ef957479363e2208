#include "expr/expr.h"

#include "expr/expr_int.h"

static struct expr *
node_new(struct arena *a, enum ex_node node, uint32_t type)
{
	struct expr *e = NEW(a, struct expr);

	e->node = node;
	e->type = type;
	e->typmod = -1;
	return e;
}

struct expr *
ex_const(struct arena *a, struct val v)
{
	struct expr *e = node_new(a, EX_CONST, v.type);

	e->u.con = v;
	return e;
}

struct expr *
ex_column(struct arena *a, uint32_t col, uint32_t type, int32_t typmod)
{
	struct expr *e = node_new(a, EX_COLUMN, type);

	e->u.col = col;
	e->typmod = typmod;
	return e;
}

struct expr *
ex_call(
    struct arena *a, const struct ex_func *f, struct expr **args, uint32_t n)
{
	struct expr *e = node_new(a, EX_CALL, f->ret);

	ASSERT(n == 0 || args);
	e->u.func = f;
	e->args = args;
	e->n_args = n;
	return e;
}

struct expr *
ex_op(struct arena *a, enum ex_node node, uint32_t type, struct expr **args,
    uint32_t n)
{
	struct expr *e = node_new(a, node, type);

	ASSERT(node > EX_CALL && n > 0 && args);
	e->args = args;
	e->n_args = n;
	return e;
}

bool
ex_has_order(uint32_t type)
{
	const struct ex_type *t = ex_type(type);

	return t && t->cmp;
}

int
ex_cmp(struct val x, struct val y)
{
	const struct ex_type *t = ex_type(x.type);

	ASSERT(t && t->cmp && !x.null && !y.null);
	return t->cmp(x, y);
}

struct err *
ex_too_deep(struct arena *a)
{
	return err_hint(
	    ERR(a, ERRCODE_STATEMENT_TOO_COMPLEX, "stack depth limit exceeded"),
	    "Expressions may nest %d deep.", EX_DEPTH_BIND_MAX);
}

/* ---- equality ---- */

static bool
const_equal(struct val x, struct val y)
{
	const struct ex_type *t = ex_type(x.type);

	if (x.type != y.type || x.null != y.null)
		return false;
	if (x.null)
		return true;
	/* Not by SQL order: 1.0 and 1.00 are equal there but print apart. */
	switch (x.type) {
	case EX_BOOL:
		return x.u.b == y.u.b;
	case EX_FLOAT4:
	case EX_FLOAT8:
		return memcmp(&x.u.d, &y.u.d, sizeof x.u.d) == 0;
	case EX_INTERVAL:
		return x.u.iv.us == y.u.iv.us && x.u.iv.days == y.u.iv.days &&
		       x.u.iv.months == y.u.iv.months;
	default:
		break;
	}
	/* "char" is one byte of text. */
	if (t && t->len > 0 && t->len <= 8 && x.type != EX_CHAR)
		return x.u.i == y.u.i;
	return str_eq(x.u.s, y.u.s);
}

static bool
payload_equal(const struct expr *x, const struct expr *y)
{
	switch (x->node) {
	case EX_CONST:
		return const_equal(x->u.con, y->u.con);
	case EX_COLUMN:
		return x->u.col == y->u.col;
	case EX_PARAM:
		return x->u.param == y->u.param;
	case EX_CALL:
		return x->u.func == y->u.func;
	case EX_TYPMOD:
		return x->u.explicit_cast == y->u.explicit_cast;
	default:
		return true;
	}
}

static bool
equal_at(const struct expr *x, const struct expr *y, int depth)
{
	if (x == y)
		return true;
	if (depth > EX_DEPTH_MAX || x->node != y->node || x->type != y->type ||
	    x->typmod != y->typmod || x->n_args != y->n_args ||
	    !payload_equal(x, y))
		return false;
	for (uint32_t i = 0; i < x->n_args; i++)
		if (!equal_at(x->args[i], y->args[i], depth + 1))
			return false;
	return true;
}

bool
ex_equal(const struct expr *x, const struct expr *y)
{
	return equal_at(x, y, 1);
}

/* ---- well-typed nodes ---- */

static bool
args_are(const struct expr *e, uint32_t type)
{
	for (uint32_t i = 0; i < e->n_args; i++)
		if (e->args[i]->type != type)
			return false;
	return true;
}

static const char *
check_call(const struct expr *e)
{
	const struct ex_func *f = e->u.func;
	uint32_t least = (uint32_t)(f->n_args - f->n_opt);

	if (f->variadic && least > 0)
		least--;
	if (e->n_args < least || (!f->variadic && e->n_args > f->n_args))
		return "wrong number of arguments";
	if (e->type != f->ret)
		return "wrong result type of a function";
	for (uint32_t i = 0; i < e->n_args; i++) {
		uint32_t want = ex_func_arg(f, i);

		if (want != EX_ANY && want != e->args[i]->type)
			return "wrong argument type of a function";
	}
	return NULL;
}

static const char *
check_case(const struct expr *e)
{
	for (uint32_t i = 0; i < e->n_args; i++) {
		bool is_when = i % 2 == 0 && i + 1 < e->n_args;

		if (e->args[i]->type != (is_when ? EX_BOOL : e->type))
			return "wrong type in CASE";
	}
	return e->n_args ? NULL : "CASE without arguments";
}

/* All arguments of one type that has an order (or, for GREATEST and the like,
 * that is also the result). */
static const char *
check_compare(const struct expr *e, uint32_t n_min, uint32_t n_max, bool same)
{
	if (e->n_args < n_min || e->n_args > n_max)
		return "wrong number of arguments";
	if (!args_are(e, e->args[0]->type))
		return "compares values of different types";
	if (!ex_has_order(e->args[0]->type))
		return "compares values of a type without order";
	if (e->type != (same ? e->args[0]->type : EX_BOOL))
		return "wrong result type";
	return NULL;
}

static const char *
check_typmod(const struct expr *e)
{
	const struct ex_func *f = NULL;

	if (e->n_args != 1)
		return "wrong number of arguments";
	if (e->args[0]->type == e->type)
		return NULL;
	if (!ex_find_cast(e->args[0]->type, e->type, EX_EXPLICIT, &f) || f)
		return "relabels a type that is not binary compatible";
	return NULL;
}

static const char *
check_bools(const struct expr *e, uint32_t n_max)
{
	if (e->n_args == 0 || e->n_args > n_max)
		return "wrong number of arguments";
	return e->type == EX_BOOL && args_are(e, EX_BOOL)
		   ? NULL
		   : "a condition is not boolean";
}

const char *
ex_check_node(const struct expr *e)
{
	switch (e->node) {
	case EX_CONST:
		return e->u.con.type == e->type ? NULL
						: "constant of a wrong type";
	case EX_COLUMN:
	case EX_PARAM:
		return NULL;
	case EX_CALL:
		return check_call(e);
	case EX_AND:
	case EX_OR:
		return check_bools(e, UINT32_MAX);
	case EX_NOT:
	case EX_IS_TRUE:
	case EX_IS_NOT_TRUE:
	case EX_IS_FALSE:
	case EX_IS_NOT_FALSE:
		return check_bools(e, 1);
	case EX_IS_NULL:
	case EX_IS_NOT_NULL:
		return e->n_args == 1 && e->type == EX_BOOL
			   ? NULL
			   : "malformed IS NULL";
	case EX_CASE:
		return check_case(e);
	case EX_COALESCE:
		return e->n_args && args_are(e, e->type) ? NULL
							 : "malformed COALESCE";
	case EX_IN:
		return check_compare(e, 2, UINT32_MAX, false);
	case EX_DISTINCT:
	case EX_NOT_DISTINCT:
		return check_compare(e, 2, 2, false);
	case EX_NULLIF:
		return check_compare(e, 2, 2, true);
	case EX_GREATEST:
	case EX_LEAST:
		return check_compare(e, 1, UINT32_MAX, true);
	case EX_TYPMOD:
		return check_typmod(e);
	}
	return "unknown kind of node";
}

static bool
travels(const struct expr *e, int depth, uint32_t *n_nodes)
{
	if (depth > EX_DEPTH_MAX || ++*n_nodes > EX_NODES_MAX ||
	    e->node == EX_PARAM || !ex_type(e->type))
		return false;
	/* void and record are in no row. */
	if (e->node == EX_CONST && !e->u.con.null && !ex_type(e->type)->row_enc)
		return false;
	if (e->node == EX_CALL && e->u.func->volatility != EX_IMMUTABLE)
		return false;
	if (ex_check_node(e))
		return false;
	for (uint32_t i = 0; i < e->n_args; i++)
		if (!travels(e->args[i], depth + 1, n_nodes))
			return false;
	return true;
}

bool
ex_can_travel(const struct expr *e)
{
	uint32_t n_nodes = 0;

	return travels(e, 1, &n_nodes);
}
