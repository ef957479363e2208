/* CREATE INDEX: columns, expressions and predicate against a table. */
#include "sql/bind_int.h"

struct indexing {
	struct sql_bind b;
	struct sql_scope scope;
	const struct cl_table *t;
	struct cl_index *out;
	struct cl_index_column *columns;
	uint32_t *inputs;
	struct str *names; /* what each column lends to the index's name */
};

/* ---- expressions ---- */

/* Counts the columns an expression looks at: as the index has them. */
static struct err *
input_of(struct expr *e, void *arg, struct expr **out)
{
	struct indexing *x = arg;
	uint32_t id, i = 0;

	*out = NULL;
	if (e->node != EX_COLUMN)
		return NULL;
	id = x->t->columns[e->u.col].id;
	while (i < x->out->n_inputs && x->inputs[i] != id)
		i++;
	if (i == x->out->n_inputs)
		x->inputs[x->out->n_inputs++] = id;
	*out = arena_dup(x->b.arena, e, sizeof *e);
	(*out)->u.col = i;
	return NULL;
}

static bool
is_mutable(const struct expr *e, void *arg)
{
	(void)arg;
	return e->node == EX_CALL && e->u.func->volatility != EX_IMMUTABLE;
}

/* e as bytes; `what` is "index expression" or "index predicate". */
static struct err *
encode(struct indexing *x, struct expr *e, const char *what, struct str *out)
{
	struct sql_rewrite how = {.before = input_of, .arg = x};
	struct ex_ctx ctx = {.arena = x->b.arena, .env = x->b.env->ex};
	struct buf bytes;

	if (sql_expr_any(e, is_mutable, NULL))
		return ERR(x->b.arena, ERRCODE_INVALID_OBJECT_DEFINITION,
		    "functions in %s must be marked IMMUTABLE", what);
	/* Folded as those of queries are, which are compared with it. */
	TRY(sql_expr_rewrite(x->b.arena, ex_fold(&ctx, e), &how, &e));
	if (!ex_can_travel(e))
		return err_hint(ERR(x->b.arena, ERRCODE_STATEMENT_TOO_COMPLEX,
				    "%s is too complex", what),
		    "It may nest %d deep.", EX_DEPTH_MAX);
	buf_init(&bytes, x->b.arena);
	ex_encode(&bytes, e);
	*out = buf_view(&bytes);
	return NULL;
}

static struct err *
bind(struct indexing *x, const struct sql_expr *tree, const char *what,
    struct expr **out)
{
	struct sql_ectx c = {.b = &x->b,
	    .scope = &x->scope,
	    .clause = arena_printf(x->b.arena, "%ss", what)};

	if (x->t->open)
		return sql_unsupported_at(x->b.arena, tree->position,
		    arena_printf(x->b.arena, "%s of open tables", c.clause));
	TRY(sql_bind_expr(&c, tree, out));
	if (x->b.n_subs)
		return err_at(ERR(x->b.arena, ERRCODE_FEATURE_NOT_SUPPORTED,
				  "cannot use subquery in %s", what),
		    tree->position);
	return NULL;
}

/* ---- columns ---- */

static struct err *
no_column(struct indexing *x, const struct sql_index_elem *el)
{
	struct err *e = ERR(x->b.arena, ERRCODE_UNDEFINED_COLUMN,
	    "column \"%s\" does not exist", el->column);

	if (x->t->open)
		err_hint(e,
		    "A column of an open table exists once a row has had a "
		    "value in it.");
	return e;
}

static struct err *
refuse_options(struct indexing *x, const struct sql_index_elem *el)
{
	const char *collation = el->collation ? el->collation->name : "C";

	if (el->opclass)
		return sql_unsupported_at(
		    x->b.arena, el->opclass->position, "operator classes");
	if (strcmp(collation, "C") != 0 && strcmp(collation, "POSIX") != 0 &&
	    strcmp(collation, "default") != 0)
		return sql_unsupported_at(x->b.arena, el->collation->position,
		    "collations other than \"C\"");
	return NULL;
}

static struct err *
check_type(struct indexing *x, uint32_t type)
{
	struct arena *a = x->b.arena;

	/* A column of an open table that nobody has written has none yet. */
	if (x->t->open || (ex_type(type) && ex_type(type)->key_enc))
		return NULL;
	return err_hint(ERR(a, ERRCODE_UNDEFINED_OBJECT,
			    "data type %s has no default operator class for "
			    "access method \"btree\"",
			    ex_type_format(a, type, -1)),
	    "You must specify an operator class for the index or define a "
	    "default operator class for the data type.");
}

static struct err *
bind_column(struct indexing *x, const struct sql_index_elem *el,
    struct cl_index_column *out)
{
	const struct cl_column *col = NULL;
	struct expr *e;

	if (el->column) {
		col = cl_table_column(x->t, str_c(el->column));
		if (!col)
			return no_column(x, el);
	} else {
		TRY(bind(x, el->expr, "index expression", &e));
		TRY(sql_settle_text(&x->b, e, &e));
		/* In parentheses a column still is one. */
		if (e->node == EX_COLUMN)
			col = &x->t->columns[e->u.col];
	}
	if (col) {
		out->column = col->id;
		out->type = col->type;
	} else {
		out->type = e->type;
		TRY(encode(x, e, "index expression", &out->expr));
		out->expr_sql = str_c(sql_deparse(x->b.arena, el->expr));
	}
	TRY(refuse_options(x, el));
	out->desc = el->desc;
	out->nulls_first = el->nulls == SQL_NULLS_DEFAULT
			       ? el->desc
			       : el->nulls == SQL_NULLS_FIRST;
	return check_type(x, out->type);
}

/* The column's name, or what a query would call the expression; with a number
 * when another has it. */
static struct str
name_of(struct indexing *x, const struct sql_index_elem *el, uint32_t i)
{
	const char *name = el->column ? el->column : NULL;
	struct str out;

	if (!name)
		name = sql_figure_colname(el->expr);
	if (strcmp(name, "?column?") == 0)
		name = "expr";
	out = str_c(name);
	for (uint32_t k = 0, n = 1; k < i; k++) {
		if (!str_eq(x->names[k], out))
			continue;
		out = str_c(arena_printf(
		    x->b.arena, "%.*s%u", (int)strnlen(name, 63), name, n++));
		k = UINT32_MAX; /* from the first */
	}
	return out;
}

static struct err *
bind_where(struct indexing *x, const struct sql_expr *where)
{
	struct expr *e;

	if (!where)
		return NULL;
	TRY(bind(x, where, "index predicate", &e));
	TRY(sql_coerce_bool(&x->b, e, "WHERE", &e));
	TRY(encode(x, e, "index predicate", &x->out->where));
	x->out->where_sql = str_c(sql_deparse(x->b.arena, where));
	return NULL;
}

struct err *
sql_bind_index(struct arena *a, const struct sql_env *env,
    const struct cl_table *t, const struct sql_create_index *ci,
    struct cl_index *out, struct str **names)
{
	struct indexing x = {.b = {.arena = a, .env = env}, .t = t, .out = out};

	if (ci->n_columns > CL_INDEX_COLUMNS_MAX)
		return ERR(a, ERRCODE_TOO_MANY_COLUMNS,
		    "cannot use more than %d columns in an index",
		    CL_INDEX_COLUMNS_MAX);
	x.columns = NEW_N(a, struct cl_index_column, ci->n_columns);
	x.inputs = NEW_N(a, uint32_t, t->n_columns + 1);
	*names = x.names = NEW_N(a, struct str, ci->n_columns);
	TRY(sql_query_of_table(&x.b, t, NULL, &x.scope.query));
	out->table = t->id;
	out->schema = t->schema;
	out->columns = x.columns;
	out->inputs = x.inputs;
	out->n_inputs = 0;
	TRY(bind_where(&x, ci->where));
	for (uint32_t i = 0; i < ci->n_columns; i++) {
		TRY(bind_column(&x, &ci->columns[i], &x.columns[i]));
		x.names[i] = name_of(&x, &ci->columns[i], i);
	}
	out->n_columns = ci->n_columns;
	return NULL;
}

/* ---- as text ---- */

static void
put_column(
    struct buf *b, const struct cl_table *t, const struct cl_index_column *c)
{
	const struct cl_column *col = cl_table_column_id(t, c->column);

	if (c->column)
		buf_str(b, col ? col->name : STR("?"));
	else
		buf_str(b, c->expr_sql);
	if (c->desc)
		buf_str(b, STR(" DESC"));
	if (c->nulls_first != c->desc)
		buf_str(b,
		    c->nulls_first ? STR(" NULLS FIRST") : STR(" NULLS LAST"));
}

struct str
sql_index_columns(
    struct arena *a, const struct cl_table *t, const struct cl_index *index)
{
	struct buf b;

	buf_init(&b, a);
	for (uint32_t i = 0; i < index->n_columns; i++) {
		buf_str(&b, i ? STR(", ") : STR(""));
		put_column(&b, t, &index->columns[i]);
	}
	return buf_view(&b);
}
