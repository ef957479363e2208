/* Questions about trees. */
#include "sql/ast.h"

/* Equality recurses into every argument but the first, which it loops on:
 * chains of operators, calls and NOTs are deep there.  What is deeper than this
 * elsewhere counts as different. */
#define EQUAL_DEPTH_MAX 256

static bool
text_equal(const char *x, const char *y)
{
	return x == y || (x && y && strcmp(x, y) == 0);
}

static bool
name_equal(const struct sql_name *x, const struct sql_name *y)
{
	return text_equal(x->catalog, y->catalog) &&
	       text_equal(x->schema, y->schema) && text_equal(x->name, y->name);
}

static bool
op_equal(struct sql_op x, struct sql_op y)
{
	return text_equal(x.schema, y.schema) && text_equal(x.name, y.name);
}

static bool
typename_equal(const struct sql_typename *x, const struct sql_typename *y)
{
	if (!name_equal(&x->name, &y->name) || x->n_mods != y->n_mods ||
	    x->dims != y->dims || x->setof != y->setof ||
	    x->of_column != y->of_column)
		return false;
	return !x->n_mods ||
	       memcmp(x->mods, y->mods, x->n_mods * sizeof *x->mods) == 0;
}

static bool
column_equal(const struct sql_expr *x, const struct sql_expr *y)
{
	if (x->u.column.n != y->u.column.n ||
	    x->u.column.star != y->u.column.star)
		return false;
	for (uint32_t i = 0; i < x->u.column.n; i++)
		if (strcmp(x->u.column.parts[i], y->u.column.parts[i]) != 0)
			return false;
	return true;
}

static bool equal(
    const struct sql_expr *x, const struct sql_expr *y, int depth);

static bool
call_equal(const struct sql_call *x, const struct sql_call *y, int depth)
{
	if (!name_equal(&x->name, &y->name) || x->star != y->star ||
	    x->distinct != y->distinct || x->variadic != y->variadic ||
	    x->order.n != y->order.n)
		return false;
	for (uint32_t i = 0; i < x->order.n; i++) {
		const struct sql_order *p = &x->order.items[i];
		const struct sql_order *q = &y->order.items[i];

		if (p->desc != q->desc || p->nulls != q->nulls ||
		    !equal(p->expr, q->expr, depth + 1))
			return false;
	}
	return equal(x->filter, y->filter, depth + 1);
}

/* What the node itself says, arguments apart. */
static bool
node_equal(const struct sql_expr *x, const struct sql_expr *y, int depth)
{
	if (x->kind != y->kind || x->n_args != y->n_args)
		return false;
	switch (x->kind) {
	case SQL_E_BOOL:
		return x->u.boolean == y->u.boolean;
	case SQL_E_INT:
		return x->u.integer == y->u.integer;
	case SQL_E_NUMERIC:
	case SQL_E_STRING:
	case SQL_E_BITS:
	case SQL_E_FIELD:
		return text_equal(x->u.text, y->u.text);
	case SQL_E_PARAM:
		return x->u.param == y->u.param;
	case SQL_E_COLUMN:
		return column_equal(x, y);
	case SQL_E_VALUE_FUNC:
		return x->u.value_func.func == y->u.value_func.func &&
		       x->u.value_func.precision == y->u.value_func.precision;
	case SQL_E_OP:
	case SQL_E_ANY:
	case SQL_E_ALL:
		return op_equal(x->u.op, y->u.op);
	case SQL_E_IS:
		return x->u.is == y->u.is;
	case SQL_E_DISTINCT:
	case SQL_E_BETWEEN:
	case SQL_E_BETWEEN_SYMMETRIC:
	case SQL_E_IN:
		return x->u.negated == y->u.negated;
	case SQL_E_CASE:
		return x->u.cases.operand == y->u.cases.operand &&
		       x->u.cases.other == y->u.cases.other;
	case SQL_E_CALL:
		return call_equal(x->u.call, y->u.call, depth);
	case SQL_E_CAST:
		return typename_equal(x->u.type, y->u.type);
	case SQL_E_COLLATE:
		return name_equal(x->u.collation, y->u.collation);
	case SQL_E_SUBQUERY:
	case SQL_E_ARRAY_SUBQUERY:
	case SQL_E_EXISTS:
	case SQL_E_IN_SUBQUERY:
	case SQL_E_ANY_SUBQUERY:
	case SQL_E_ALL_SUBQUERY:
		return false; /* and x is not y */
	default:
		return true;
	}
}

static bool
equal(const struct sql_expr *x, const struct sql_expr *y, int depth)
{
	if (depth > EQUAL_DEPTH_MAX)
		return false;
	for (;;) {
		if (x == y)
			return true;
		if (!x || !y || !node_equal(x, y, depth))
			return false;
		for (uint32_t i = 1; i < x->n_args; i++)
			if (!equal(x->args[i], y->args[i], depth + 1))
				return false;
		if (!x->n_args)
			return true;
		x = x->args[0];
		y = y->args[0];
	}
}

bool
sql_expr_equal(const struct sql_expr *x, const struct sql_expr *y)
{
	return equal(x, y, 0);
}

int
sql_expr_position(const struct sql_expr *e)
{
	int at = 0;

	/* Only what stands before its operator or type can start earlier. */
	for (; e; e = e->n_args ? e->args[0] : NULL)
		if (e->position && (!at || e->position < at))
			at = e->position;
	return at;
}

/* ---- names of result columns ---- */

static const char *const value_func_names[] = {
    [SQL_CURRENT_DATE] = "current_date",
    [SQL_CURRENT_TIME] = "current_time",
    [SQL_CURRENT_TIMESTAMP] = "current_timestamp",
    [SQL_LOCALTIME] = "localtime",
    [SQL_LOCALTIMESTAMP] = "localtimestamp",
    [SQL_CURRENT_ROLE] = "current_role",
    [SQL_CURRENT_USER] = "current_user",
    [SQL_USER] = "user",
    [SQL_SESSION_USER] = "session_user",
    [SQL_CURRENT_CATALOG] = "current_catalog",
    [SQL_CURRENT_SCHEMA] = "current_schema",
};

/* The name of a scalar subquery's column; NULL when only the binder knows. */
static const char *
subquery_name(const struct sql_select *s, const struct sql_expr **next)
{
	while (s->left)
		s = s->left;
	if (s->kind == SQL_SELECT_VALUES)
		return "column1";
	if (!s->targets.n)
		return NULL;
	if (s->targets.items[0].alias)
		return s->targets.items[0].alias;
	*next = s->targets.items[0].expr;
	return NULL;
}

/* Names that do not depend on what is inside; NULL for the others. */
static const char *
own_name(const struct sql_expr *e)
{
	switch (e->kind) {
	case SQL_E_COLUMN:
		return e->u.column.n && !e->u.column.star
			   ? e->u.column.parts[e->u.column.n - 1]
			   : NULL;
	case SQL_E_FIELD:
		return e->u.text;
	case SQL_E_CALL:
		return e->u.call->name.name;
	case SQL_E_VALUE_FUNC:
		return value_func_names[e->u.value_func.func];
	case SQL_E_NULLIF:
		return "nullif";
	case SQL_E_COALESCE:
		return "coalesce";
	case SQL_E_GREATEST:
		return "greatest";
	case SQL_E_LEAST:
		return "least";
	case SQL_E_ROW:
		return "row";
	case SQL_E_ARRAY:
	case SQL_E_ARRAY_SUBQUERY:
		return "array";
	case SQL_E_EXISTS:
		return "exists";
	default:
		return NULL;
	}
}

const char *
sql_figure_colname(const struct sql_expr *e)
{
	/* What a cast or CASE is called unless something inside has a better
	 * name; the outermost of them wins. */
	const char *weak = NULL;

	while (e) {
		const struct sql_expr *next = NULL;
		const char *name = own_name(e);

		if (name)
			return name;
		if (e->kind == SQL_E_CAST) {
			next = e->args[0];
			weak = weak ? weak : e->u.type->name.name;
		} else if (e->kind == SQL_E_CASE) {
			next = e->u.cases.other ? e->args[e->n_args - 1] : NULL;
			weak = weak ? weak : "case";
		} else if (e->kind == SQL_E_COLLATE || e->kind == SQL_E_INDEX ||
			   e->kind == SQL_E_SLICE) {
			next = e->args[0];
		} else if (e->kind == SQL_E_SUBQUERY) {
			name = subquery_name(e->u.query.select, &next);
			if (name)
				return name;
			/* Its column has a name of its own, whatever is
			 * around it. */
			weak = NULL;
		}
		e = next;
	}
	return weak ? weak : "?column?";
}

/* ---- options ---- */

const struct sql_option *
sql_option_find(const struct sql_options *o, const char *name)
{
	for (uint32_t i = 0; i < o->n; i++)
		if (!o->items[i].space && strcmp(o->items[i].name, name) == 0)
			return &o->items[i];
	return NULL;
}

struct err *
sql_option_bool(struct arena *a, const struct sql_option *o, bool *out)
{
	static const struct {
		const char *word;
		bool value;
	} words[] = {
	    {"true", true}, {"on", true}, {"false", false}, {"off", false}};
	struct str text = str_c(o->text);

	*out = o->kind == SQL_OPT_NONE;
	switch (o->kind) {
	case SQL_OPT_NONE:
		return NULL;
	case SQL_OPT_BOOL:
	case SQL_OPT_INT:
		*out = o->integer == 1;
		if (o->integer == 0 || o->integer == 1)
			return NULL;
		break;
	case SQL_OPT_STRING:
	case SQL_OPT_IDENT:
		for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
			if (str_ieq(text, str_c(words[i].word))) {
				*out = words[i].value;
				return NULL;
			}
		}
		break;
	default:
		break;
	}
	return err_at(ERR(a, ERRCODE_SYNTAX_ERROR,
			  "%s requires a Boolean value", o->name),
	    o->position);
}

struct err *
sql_option_int(struct arena *a, const struct sql_option *o, int64_t *out)
{
	*out = o->integer;
	if (o->kind == SQL_OPT_INT)
		return NULL;
	if ((o->kind == SQL_OPT_STRING || o->kind == SQL_OPT_NUMBER) &&
	    str_i64(str_c(o->text), out))
		return NULL;
	return err_at(ERR(a, ERRCODE_SYNTAX_ERROR,
			  "%s requires an integer value", o->name),
	    o->position);
}

struct err *
sql_option_text(struct arena *a, const struct sql_option *o, const char **out)
{
	*out = o->text;
	switch (o->kind) {
	case SQL_OPT_INT:
		*out = arena_printf(a, "%lld", (long long)o->integer);
		return NULL;
	case SQL_OPT_BOOL:
		*out = o->integer ? "true" : "false";
		return NULL;
	case SQL_OPT_NUMBER:
	case SQL_OPT_STRING:
	case SQL_OPT_IDENT:
		return NULL;
	default:
		return err_at(ERR(a, ERRCODE_SYNTAX_ERROR,
				  "%s requires a parameter", o->name),
		    o->position);
	}
}

const char *
sql_option_word(const struct sql_expr *e)
{
	if (e->kind == SQL_E_STRING)
		return e->u.text;
	if (e->kind == SQL_E_COLUMN && e->u.column.n == 1)
		return e->u.column.parts[0];
	return NULL;
}
