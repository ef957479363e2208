/* Expressions: from trees as parsed to typed trees.
 *
 * Arguments are bound before the node that has them, by an explicit stack, so
 * that depth costs no C stack; each kind of node then has one function that
 * makes the typed node out of its bound arguments. */
#include "sql/bind_int.h"

struct bframe {
	struct bframe *up;
	const struct sql_expr *e;
	struct expr **args;
	uint32_t n;
	uint32_t next;
};

struct bstack {
	struct bframe *top;
	struct bframe *spare;
	int depth;
};

/* ---- constants ---- */

static struct expr *
constant(struct sql_bind *b, struct val v, int position)
{
	struct expr *e = ex_const(b->arena, v);

	e->position = position;
	return e;
}

static struct err *
bind_number(struct sql_bind *b, const struct sql_expr *e, struct expr **out)
{
	struct val v;

	if (e->kind == SQL_E_INT) {
		bool small =
		    e->u.integer >= INT32_MIN && e->u.integer <= INT32_MAX;

		v = val_int(small ? EX_INT4 : EX_INT8, e->u.integer);
	} else {
		struct err *r = ex_in(
		    b->arena, b->env->ex, EX_NUMERIC, -1, str_c(e->u.text), &v);

		if (r)
			return err_at(r, e->position);
	}
	*out = constant(b, v, e->position);
	return NULL;
}

static struct err *
bind_leaf(struct sql_ectx *c, const struct sql_expr *e, struct expr **out)
{
	struct sql_bind *b = c->b;

	switch (e->kind) {
	case SQL_E_NULL:
		*out = constant(b, val_null(EX_UNKNOWN), e->position);
		return NULL;
	case SQL_E_BOOL:
		*out = constant(b, val_bool(e->u.boolean), e->position);
		return NULL;
	case SQL_E_INT:
	case SQL_E_NUMERIC:
		return bind_number(b, e, out);
	case SQL_E_STRING:
		*out = constant(
		    b, val_str(EX_UNKNOWN, str_c(e->u.text)), e->position);
		return NULL;
	case SQL_E_BITS:
		return sql_unsupported_at(b->arena, e->position, "bit strings");
	case SQL_E_PARAM:
		return sql_param_ref(b, e, out);
	case SQL_E_COLUMN:
		if (e->u.column.star)
			return sql_unsupported_at(b->arena, e->position,
			    "row expansions by \"*\" outside a target list");
		return sql_scope_column(c, e, out);
	case SQL_E_VALUE_FUNC:
		return sql_bind_value_func(b, e, out);
	case SQL_E_DEFAULT:
		return err_at(ERR(b->arena, ERRCODE_SYNTAX_ERROR,
				  "DEFAULT is not allowed in this context"),
		    e->position);
	default:
		return NULL;
	}
}

/* ---- operators ---- */

static bool
is_mixed(const struct sql_ectx *c, const struct expr *e)
{
	const struct sql_rel *r;
	const struct sql_rel_col *col;

	return e->node == EX_COLUMN && c->scope && e->u.col < SQL_AGG_COL &&
	       sql_query_column(c->scope->query, e->u.col, &r, &col) &&
	       col->mixed;
}

/* A column of several types is text, and compares with anything as text. */
static struct err *
mixed_as_text(struct sql_ectx *c, struct expr **args)
{
	for (int i = 0; i < 2; i++)
		if (is_mixed(c, args[i]) && args[1 - i]->type != EX_UNKNOWN)
			return sql_coerce(c->b, args[1 - i], EX_TEXT, -1,
			    EX_EXPLICIT, &args[1 - i]);
	return NULL;
}

struct err *
sql_bind_op(struct sql_ectx *c, const struct sql_expr *at, const char *op,
    struct expr *const *given, uint32_t n, struct expr **out)
{
	struct sql_bind *b = c->b;
	struct expr **args = NEW_N(b->arena, struct expr *, 2);
	const struct ex_func *f;
	struct err *r;

	ASSERT(n == 1 || n == 2);
	memcpy(args, given, n * sizeof *args);
	if (n == 2)
		TRY(mixed_as_text(c, args));
	r = ex_find_op(b->arena, str_c(op), n == 2 ? args[0]->type : 0,
	    args[n - 1]->type, &f);
	if (r)
		return err_at(r, at->position);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t want = ex_func_arg(f, i);

		if (want != EX_ANY)
			TRY(sql_coerce(
			    b, args[i], want, -1, EX_IMPLICIT, &args[i]));
		else
			TRY(sql_settle_text(b, args[i], &args[i]));
	}
	*out = ex_call(b->arena, f, args, n);
	(*out)->position = at->position;
	return NULL;
}

static struct err *
bind_operator(struct sql_ectx *c, const struct sql_expr *e, struct expr **args,
    uint32_t n, struct expr **out)
{
	const struct sql_op *op = &e->u.op;

	if (op->schema && strcmp(op->schema, "pg_catalog") != 0)
		return err_at(
		    ERR(c->b->arena, ERRCODE_UNDEFINED_FUNCTION,
			"operator does not exist: %s.%s", op->schema, op->name),
		    e->position);
	return sql_bind_op(c, e, op->name, args, n, out);
}

static struct expr *
typed(struct sql_bind *b, enum ex_node node, uint32_t type, struct expr **args,
    uint32_t n, int position)
{
	struct expr *e = ex_op(b->arena, node, type, args, n);

	e->position = position;
	return e;
}

static struct err *
bind_logic(struct sql_ectx *c, const struct sql_expr *e, struct expr **args,
    uint32_t n, struct expr **out)
{
	enum ex_node node = e->kind == SQL_E_AND  ? EX_AND
			    : e->kind == SQL_E_OR ? EX_OR
						  : EX_NOT;
	const char *what = e->kind == SQL_E_AND  ? "AND"
			   : e->kind == SQL_E_OR ? "OR"
						 : "NOT";

	for (uint32_t i = 0; i < n; i++)
		TRY(sql_coerce_bool(c->b, args[i], what, &args[i]));
	*out = typed(c->b, node, EX_BOOL, args, n, e->position);
	return NULL;
}

static struct err *
bind_is(struct sql_ectx *c, const struct sql_expr *e, struct expr **args,
    uint32_t n, struct expr **out)
{
	static const struct {
		enum ex_node node;
		const char *what; /* NULL: takes any type */
	} kinds[] = {
	    [SQL_IS_NULL] = {EX_IS_NULL, NULL},
	    [SQL_IS_NOT_NULL] = {EX_IS_NOT_NULL, NULL},
	    [SQL_IS_TRUE] = {EX_IS_TRUE, "IS TRUE"},
	    [SQL_IS_NOT_TRUE] = {EX_IS_NOT_TRUE, "IS NOT TRUE"},
	    [SQL_IS_FALSE] = {EX_IS_FALSE, "IS FALSE"},
	    [SQL_IS_NOT_FALSE] = {EX_IS_NOT_FALSE, "IS NOT FALSE"},
	    [SQL_IS_UNKNOWN] = {EX_IS_NULL, "IS UNKNOWN"},
	    [SQL_IS_NOT_UNKNOWN] = {EX_IS_NOT_NULL, "IS NOT UNKNOWN"},
	};

	if (kinds[e->u.is].what)
		TRY(sql_coerce_bool(
		    c->b, args[0], kinds[e->u.is].what, &args[0]));
	*out = typed(c->b, kinds[e->u.is].node, EX_BOOL, args, n, e->position);
	return NULL;
}

static struct expr *
negate(struct sql_bind *b, struct expr *e)
{
	struct expr **args = NEW(b->arena, struct expr *);

	args[0] = e;
	return typed(b, EX_NOT, EX_BOOL, args, 1, e->position);
}

/* Two operands made comparable: the operator must exist, and says so. */
static struct err *
comparable(struct sql_ectx *c, const struct sql_expr *e, struct expr **args)
{
	struct expr *eq;

	TRY(mixed_as_text(c, args));
	TRY(sql_bind_op(c, e, "=", args, 2, &eq));
	if (eq->args[0]->type == eq->args[1]->type) {
		args[0] = eq->args[0];
		args[1] = eq->args[1];
		return NULL;
	}
	return sql_common(c->b, args, 2, "=", &(uint32_t){0});
}

static struct err *
bind_distinct(struct sql_ectx *c, const struct sql_expr *e, struct expr **args,
    uint32_t n, struct expr **out)
{
	/* IS [NOT] DISTINCT FROM NULL is a test that any type takes. */
	for (int i = 0; i < 2; i++) {
		struct expr *x = args[i];

		if (x->node != EX_CONST || x->type != EX_UNKNOWN ||
		    !x->u.con.null)
			continue;
		*out = typed(c->b, e->u.negated ? EX_IS_NULL : EX_IS_NOT_NULL,
		    EX_BOOL, &args[1 - i], 1, e->position);
		return NULL;
	}
	TRY(comparable(c, e, args));
	*out = typed(c->b, e->u.negated ? EX_NOT_DISTINCT : EX_DISTINCT,
	    EX_BOOL, args, n, e->position);
	return NULL;
}

static struct err *
bind_nullif(struct sql_ectx *c, const struct sql_expr *e, struct expr **args,
    uint32_t n, struct expr **out)
{
	TRY(comparable(c, e, args));
	*out = typed(c->b, EX_NULLIF, args[0]->type, args, n, e->position);
	return NULL;
}

/* low <= x and x <= high, or its negation. */
static struct err *
between(struct sql_ectx *c, const struct sql_expr *e,
    struct expr *const args[3], bool negated, struct expr **out)
{
	struct expr **parts = NEW_N(c->b->arena, struct expr *, 2);
	struct expr *low[2] = {args[0], args[1]};
	struct expr *high[2] = {args[0], args[2]};

	TRY(sql_bind_op(c, e, negated ? "<" : ">=", low, 2, &parts[0]));
	TRY(sql_bind_op(c, e, negated ? ">" : "<=", high, 2, &parts[1]));
	*out = typed(
	    c->b, negated ? EX_OR : EX_AND, EX_BOOL, parts, 2, e->position);
	return NULL;
}

static struct err *
bind_between(struct sql_ectx *c, const struct sql_expr *e, struct expr **args,
    uint32_t n, struct expr **out)
{
	struct expr *swapped[3] = {args[0], args[2], args[1]};
	struct expr **parts;

	(void)n;
	if (e->kind == SQL_E_BETWEEN)
		return between(c, e, args, e->u.negated, out);
	parts = NEW_N(c->b->arena, struct expr *, 2);
	TRY(between(c, e, args, e->u.negated, &parts[0]));
	TRY(between(c, e, swapped, e->u.negated, &parts[1]));
	*out = typed(c->b, e->u.negated ? EX_AND : EX_OR, EX_BOOL, parts, 2,
	    e->position);
	return NULL;
}

/* Items that have no common type with x: each is compared by its own
 * operator. */
static struct err *
bind_in_each(struct sql_ectx *c, const struct sql_expr *e, struct expr **args,
    uint32_t n, bool negated, struct expr **out)
{
	struct expr **parts = NEW_N(c->b->arena, struct expr *, n - 1);

	for (uint32_t i = 1; i < n; i++) {
		struct expr *pair[2] = {args[0], args[i]};

		TRY(sql_bind_op(
		    c, e, negated ? "<>" : "=", pair, 2, &parts[i - 1]));
	}
	*out = n == 2 ? parts[0]
		      : typed(c->b, negated ? EX_AND : EX_OR, EX_BOOL, parts,
			    n - 1, e->position);
	return NULL;
}

static struct err *
bind_in_list(struct sql_ectx *c, const struct sql_expr *e, struct expr **args,
    uint32_t n, bool negated, struct expr **out)
{
	uint32_t *types = NEW_N(c->b->arena, uint32_t, n), type;
	struct expr *eq;

	for (uint32_t i = 0; i < n; i++) {
		if (i > 0 && is_mixed(c, args[0]) &&
		    args[i]->type != EX_UNKNOWN)
			TRY(sql_coerce(
			    c->b, args[i], EX_TEXT, -1, EX_EXPLICIT, &args[i]));
		types[i] = args[i]->type;
	}
	if (n == 2 || ex_common_type(c->b->arena, types, n, "IN", &type))
		return bind_in_each(c, e, args, n, negated, out);
	for (uint32_t i = 0; i < n; i++)
		TRY(sql_coerce(c->b, args[i], type, -1, EX_IMPLICIT, &args[i]));
	/* For its error, when values of the type cannot be compared. */
	TRY(sql_bind_op(c, e, negated ? "<>" : "=", args, 2, &eq));
	*out = typed(c->b, EX_IN, EX_BOOL, args, n, e->position);
	if (negated)
		*out = negate(c->b, *out);
	return NULL;
}

static struct err *
bind_in(struct sql_ectx *c, const struct sql_expr *e, struct expr **args,
    uint32_t n, struct expr **out)
{
	return bind_in_list(c, e, args, n, e->u.negated, out);
}

/* x = ANY (ARRAY[...]) and x <> ALL (ARRAY[...]): arrays are no type yet, but
 * these are lists. */
static struct err *
bind_any(struct sql_ectx *c, const struct sql_expr *e, struct expr **args,
    uint32_t n, struct expr **out)
{
	bool any = e->kind == SQL_E_ANY;

	if (n < 2 || e->args[1]->kind != SQL_E_ARRAY ||
	    strcmp(e->u.op.name, any ? "=" : "<>") != 0)
		return sql_unsupported_at(c->b->arena, e->position, "arrays");
	return bind_in_list(c, e, args, n, !any, out);
}

/* ---- CASE and its like ---- */

static struct err *
case_when(struct sql_ectx *c, const struct sql_expr *e, struct expr *operand,
    struct expr *when, struct expr **out)
{
	struct expr *pair[2] = {operand, when};
	struct sql_expr at = {.position = when->position};

	if (!operand)
		return sql_coerce_bool(c->b, when, "CASE/WHEN", out);
	if (!at.position)
		at.position = e->position;
	TRY(sql_bind_op(c, &at, "=", pair, 2, out));
	return sql_coerce_bool(c->b, *out, "CASE/WHEN", out);
}

static struct err *
bind_case(struct sql_ectx *c, const struct sql_expr *e, struct expr **args,
    uint32_t n, struct expr **out)
{
	struct sql_bind *b = c->b;
	uint32_t first = e->u.cases.operand ? 1 : 0;
	uint32_t m = n - first, n_whens = m / 2, k = 0, type;
	struct expr *operand = first ? args[0] : NULL;
	struct expr **results = NEW_N(b->arena, struct expr *, n_whens + 1);

	if (operand)
		TRY(sql_settle_text(b, operand, &operand));
	args += first;
	/* ELSE decides first, as in PostgreSQL. */
	results[k++] = e->u.cases.other
			   ? args[m - 1]
			   : constant(b, val_null(EX_UNKNOWN), e->position);
	for (uint32_t i = 0; i < n_whens; i++) {
		TRY(case_when(c, e, operand, args[2 * i], &args[2 * i]));
		results[k++] = args[2 * i + 1];
	}
	TRY(sql_common(b, results, k, "CASE", &type));
	for (uint32_t i = 0; i < n_whens; i++)
		args[2 * i + 1] = results[i + 1];
	if (e->u.cases.other)
		args[m - 1] = results[0];
	*out = typed(b, EX_CASE, type, args, m, e->position);
	return NULL;
}

static struct err *
bind_choice(struct sql_ectx *c, const struct sql_expr *e, struct expr **args,
    uint32_t n, struct expr **out)
{
	enum ex_node node = e->kind == SQL_E_COALESCE   ? EX_COALESCE
			    : e->kind == SQL_E_GREATEST ? EX_GREATEST
							: EX_LEAST;
	const char *what = e->kind == SQL_E_COALESCE   ? "COALESCE"
			   : e->kind == SQL_E_GREATEST ? "GREATEST"
						       : "LEAST";
	uint32_t type;

	TRY(sql_common(c->b, args, n, what, &type));
	if (node != EX_COALESCE && !sql_can_sort(type))
		return err_at(ERR(c->b->arena, ERRCODE_UNDEFINED_FUNCTION,
				  "could not identify a comparison function "
				  "for type %s",
				  ex_type_format(c->b->arena, type, -1)),
		    e->position);
	*out = typed(c->b, node, type, args, n, e->position);
	return NULL;
}

/* ---- casts ---- */

static struct err *
bind_cast(struct sql_ectx *c, const struct sql_expr *e, struct expr **args,
    uint32_t n, struct expr **out)
{
	uint32_t type;
	int32_t typmod;
	struct err *r;

	(void)n;
	TRY(sql_type_resolve(c->b->arena, e->u.type, &type, &typmod));
	r = sql_coerce(c->b, args[0], type, typmod, EX_EXPLICIT, out);
	if (r) {
		/* What fails is the literal; what is refused is the cast. */
		if (err_is(r, ERRCODE_CANNOT_COERCE))
			r->position = e->position;
		return r;
	}
	return NULL;
}

static struct err *
bind_collate(struct sql_ectx *c, const struct sql_expr *e, struct expr **args,
    uint32_t n, struct expr **out)
{
	const struct sql_name *name = e->u.collation;
	struct arena *a = c->b->arena;

	(void)n;
	TRY(sql_settle_text(c->b, args[0], out));
	if (ex_type((*out)->type)->category != 'S')
		return err_at(ERR(a, ERRCODE_DATATYPE_MISMATCH,
				  "collations are not supported by type %s",
				  ex_type_format(a, (*out)->type, -1)),
		    e->position);
	if (strcmp(name->name, "C") == 0 || strcmp(name->name, "POSIX") == 0 ||
	    strcmp(name->name, "default") == 0 ||
	    strcmp(name->name, "ucs_basic") == 0)
		return NULL;
	return err_at(ERR(a, ERRCODE_UNDEFINED_OBJECT,
			  "collation \"%s\" for encoding \"UTF8\" does not "
			  "exist",
			  name->name),
	    e->position);
}

/* ---- the rest ---- */

static struct err *
refuse(struct sql_ectx *c, const struct sql_expr *e, struct expr **args,
    uint32_t n, struct expr **out)
{
	const char *what = "expressions of this kind";

	(void)args;
	(void)n;
	(void)out;
	switch (e->kind) {
	case SQL_E_ROW:
		what = "row constructors";
		break;
	case SQL_E_ARRAY:
	case SQL_E_ARRAY_SUBQUERY:
	case SQL_E_INDEX:
	case SQL_E_SLICE:
		what = "arrays";
		break;
	case SQL_E_FIELD:
		what = "composite values";
		break;
	default:
		break;
	}
	return sql_unsupported_at(c->b->arena, e->position, what);
}

static struct err *
bind_query(struct sql_ectx *c, const struct sql_expr *e, struct expr **args,
    uint32_t n, struct expr **out)
{
	return sql_bind_sub(c, e, n ? args[0] : NULL, out);
}

typedef struct err *combine_fn(struct sql_ectx *c, const struct sql_expr *e,
    struct expr **args, uint32_t n, struct expr **out);

static combine_fn *
combine(enum sql_expr_kind kind)
{
	switch (kind) {
	case SQL_E_OP:
		return bind_operator;
	case SQL_E_AND:
	case SQL_E_OR:
	case SQL_E_NOT:
		return bind_logic;
	case SQL_E_IS:
		return bind_is;
	case SQL_E_DISTINCT:
		return bind_distinct;
	case SQL_E_BETWEEN:
	case SQL_E_BETWEEN_SYMMETRIC:
		return bind_between;
	case SQL_E_IN:
		return bind_in;
	case SQL_E_ANY:
	case SQL_E_ALL:
		return bind_any;
	case SQL_E_CASE:
		return bind_case;
	case SQL_E_COALESCE:
	case SQL_E_GREATEST:
	case SQL_E_LEAST:
		return bind_choice;
	case SQL_E_NULLIF:
		return bind_nullif;
	case SQL_E_CALL:
		return sql_bind_call;
	case SQL_E_CAST:
		return bind_cast;
	case SQL_E_COLLATE:
		return bind_collate;
	case SQL_E_SUBQUERY:
	case SQL_E_EXISTS:
	case SQL_E_IN_SUBQUERY:
	case SQL_E_ANY_SUBQUERY:
	case SQL_E_ALL_SUBQUERY:
		return bind_query;
	default:
		return refuse;
	}
}

/* ---- the walk ---- */

static bool
is_leaf(enum sql_expr_kind kind)
{
	return kind <= SQL_E_VALUE_FUNC;
}

/* The items of ANY (ARRAY[...]) count as the node's own. */
static const struct sql_expr *
list_array(const struct sql_expr *e)
{
	if ((e->kind == SQL_E_ANY || e->kind == SQL_E_ALL) && e->n_args == 2 &&
	    e->args[1]->kind == SQL_E_ARRAY)
		return e->args[1];
	return NULL;
}

static uint32_t
n_children(const struct sql_expr *e)
{
	const struct sql_expr *array = list_array(e);

	if (combine(e->kind) == refuse)
		return 0;
	return array ? 1 + array->n_args : e->n_args;
}

static const struct sql_expr *
child(const struct sql_expr *e, uint32_t i)
{
	const struct sql_expr *array = list_array(e);

	return array && i > 0 ? array->args[i - 1] : e->args[i];
}

static struct err *
push(struct sql_ectx *c, struct bstack *s, const struct sql_expr *e)
{
	struct bframe *f = s->spare;

	if (++s->depth > EX_DEPTH_BIND_MAX)
		return err_hint(ERR(c->b->arena, ERRCODE_STATEMENT_TOO_COMPLEX,
				    "stack depth limit exceeded"),
		    "Expressions may nest %d deep.", EX_DEPTH_BIND_MAX);
	if (f)
		s->spare = f->up;
	else
		f = NEW(c->b->arena, struct bframe);
	f->up = s->top;
	f->e = e;
	f->n = n_children(e);
	f->next = 0;
	f->args = NEW_N(c->b->arena, struct expr *, f->n ? f->n : 1);
	s->top = f;
	return NULL;
}

/* Binds the newest frame's arguments up to one that needs its own frame; when
 * there is none, the node itself: *out, which is NULL otherwise. */
static struct err *
run_top(struct sql_ectx *c, struct bstack *s, struct expr **out)
{
	struct bframe *f = s->top;

	*out = NULL;
	for (; f->next < f->n; f->next++) {
		const struct sql_expr *x = child(f->e, f->next);

		if (!is_leaf(x->kind))
			return push(c, s, x);
		TRY(bind_leaf(c, x, &f->args[f->next]));
	}
	TRY(combine(f->e->kind)(c, f->e, f->args, f->n, out));
	s->top = f->up;
	s->depth--;
	f->up = s->spare;
	s->spare = f;
	return NULL;
}

struct err *
sql_bind_expr(struct sql_ectx *c, const struct sql_expr *e, struct expr **out)
{
	struct bstack s = {NULL, NULL, 0};

	*out = NULL;
	if (is_leaf(e->kind))
		return bind_leaf(c, e, out);
	TRY(push(c, &s, e));
	while (s.top) {
		struct expr *done;

		TRY(run_top(c, &s, &done));
		if (!done)
			continue;
		if (s.top)
			s.top->args[s.top->next++] = done;
		else
			*out = done;
	}
	return NULL;
}
