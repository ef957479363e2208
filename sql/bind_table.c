/* Values on their way into columns: assignment, defaults, SET, RETURNING. */
#include "sql/bind_int.h"

#include <stdarg.h>

struct err *
sql_query_of_table(struct sql_bind *b, const struct cl_table *t,
    const char *alias, struct sql_query **out)
{
	struct sql_query *q = NEW(b->arena, struct sql_query);
	struct sql_rel *r = sql_rel_table(b, t, alias);
	uint32_t k = 0;

	q->kind = SQL_SELECT_PLAIN;
	q->width = t->n_columns;
	TRY(sql_rel_add(b, q, r, 0));
	r->used = NEW_N(b->arena, uint32_t, r->n_cols + 1);
	for (uint32_t i = 0; i < t->n_columns; i++)
		if (sql_column_visible(&t->columns[i])) {
			r->used[k] = k;
			r->cols[k++].pos = i + 1;
		}
	r->n_used = r->used_cap = k;
	q->from = NEW(b->arena, struct sql_join_node);
	q->from->kind = SQL_FROM_REL;
	q->from->rel = r;
	*out = q;
	return NULL;
}

/* ---- open tables ---- */

static bool
is_null_const(const struct expr *e)
{
	return e->node == EX_CONST && e->u.con.null;
}

static void
note_new(struct sql_bind *b, const struct cl_table *t, const char *name,
    uint32_t type)
{
	for (uint32_t i = 0; i < b->n_new; i++)
		if (b->new_columns[i].type == type &&
		    strcmp(b->new_columns[i].name, name) == 0)
			return;
	b->new_columns = sql_more(b->arena, b->new_columns, b->n_new,
	    &b->new_cap, sizeof *b->new_columns);
	b->new_columns[b->n_new++] = (struct sql_new_column){t, name, type};
}

/* The type that a value keeps in an open table: integers widen, strings are
 * text. */
static uint32_t
open_type(uint32_t type)
{
	switch (type) {
	case EX_INT2:
	case EX_INT4:
	case EX_OID:
	case EX_REGCLASS:
		return EX_INT8;
	case EX_VARCHAR:
	case EX_NAME:
	case EX_CHAR:
	case EX_UNKNOWN:
		return EX_TEXT;
	default:
		return type;
	}
}

struct err *
sql_assign_new(struct sql_bind *b, const struct cl_table *t, const char *name,
    struct expr **e)
{
	/* A NULL needs no column to be read as NULL. */
	if (is_null_const(*e))
		return NULL;
	TRY(sql_coerce(b, *e, open_type((*e)->type), -1, EX_ASSIGNMENT, e));
	note_new(b, t, name, (*e)->type);
	return NULL;
}

static struct err *
assign_open(struct sql_bind *b, const struct cl_table *t,
    const struct cl_column *col, struct expr *e, struct expr **out)
{
	bool mixed = col->flags & CL_COL_MIXED;
	/* A key column that nobody wrote yet has no type of its own. */
	uint32_t type = mixed || col->type == EX_UNKNOWN ? EX_TEXT : col->type;

	*out = e;
	if (is_null_const(e)) {
		*out = ex_const(b->arena, val_null(EX_TEXT));
		return NULL;
	}
	/* A literal or parameter without a type takes the column's, unless the
	 * literal does not look like one. */
	if (e->type == EX_UNKNOWN && ex_type(type) &&
	    (e->node == EX_PARAM || !ex_coerce(b->arena, b->env->ex, e, type,
					-1, EX_ASSIGNMENT, out)))
		TRY(sql_coerce(b, e, type, -1, EX_ASSIGNMENT, out));
	else
		TRY(sql_coerce(
		    b, e, open_type(e->type), -1, EX_ASSIGNMENT, out));
	if (!mixed && (*out)->type != col->type)
		note_new(b, t, arena_cstr(b->arena, col->name), (*out)->type);
	return NULL;
}

/* ---- assignment ---- */

struct err *
sql_assign(struct sql_bind *b, const struct cl_table *t, uint32_t index,
    struct expr *e, struct expr **out)
{
	const struct cl_column *col = &t->columns[index];
	const struct ex_func *f;
	struct err *r;

	if (t->open && !(col->flags & CL_COL_HIDDEN))
		return assign_open(b, t, col, e, out);
	if (e->type == EX_UNKNOWN || e->type == col->type ||
	    ex_find_cast(e->type, col->type, EX_ASSIGNMENT, &f))
		return sql_coerce(
		    b, e, col->type, col->typmod, EX_ASSIGNMENT, out);
	r = ERR(b->arena, ERRCODE_DATATYPE_MISMATCH,
	    "column \"%.*s\" is of type %s but expression is of type %s",
	    STR_FMT(col->name), ex_type_format(b->arena, col->type, -1),
	    ex_type_format(b->arena, e->type, -1));
	err_hint(r, "You will need to rewrite or cast the expression.");
	return err_at(r, sql_leftmost(e));
}

struct err *
sql_bind_default(struct sql_bind *b, const struct cl_table *t, uint32_t index,
    struct expr **out)
{
	const struct cl_column *col = &t->columns[index];
	struct sql_ectx c = {.b = b,
	    .clause = "DEFAULT expressions",
	    .no_columns = "cannot use column reference in DEFAULT expression",
	    .no_columns_state = ERRCODE_FEATURE_NOT_SUPPORTED};
	struct sql_stmt *stmts;
	const struct sql_select *s;
	struct expr *e;
	size_t n;

	*out = NULL;
	if (col->default_sql.len == 0)
		return NULL;
	TRY(sql_parse(b->arena,
	    str_c(arena_printf(
		b->arena, "SELECT %.*s", STR_FMT(col->default_sql))),
	    &stmts, &n));
	s = n == 1 && stmts[0].kind == SQL_STMT_SELECT ? stmts[0].u.select
						       : NULL;
	if (!s || s->targets.n != 1)
		return ERR(b->arena, ERRCODE_DATA_CORRUPTED,
		    "malformed default of column \"%.*s\"", STR_FMT(col->name));
	TRY(sql_bind_expr(&c, s->targets.items[0].expr, &e));
	return sql_assign(b, t, index, e, out);
}

/* ---- SET ---- */

struct err *
sql_always_error(
    struct arena *a, const struct cl_column *col, const char *fmt, ...)
{
	char *text;
	va_list ap;

	va_start(ap, fmt);
	text = arena_vprintf(a, fmt, ap);
	va_end(ap);
	return err_detail(ERR(a, ERRCODE_GENERATED_ALWAYS, "%s", text),
	    "Column \"%.*s\" is an identity column defined as GENERATED "
	    "ALWAYS.",
	    STR_FMT(col->name));
}

static struct err *
no_such_column(struct sql_bind *b, const struct cl_table *t, const char *name,
    int position)
{
	return err_at(ERR(b->arena, ERRCODE_UNDEFINED_COLUMN,
			  "column \"%s\" of relation \"%.*s\" does not exist",
			  name, STR_FMT(t->name)),
	    position);
}

static bool
in_key(const struct cl_table *t, uint32_t id)
{
	for (uint32_t i = 0; i < t->n_pkey; i++)
		if (t->pkey[i] == id)
			return true;
	return false;
}

static struct err *
set_value(struct sql_ectx *c, const struct cl_table *t, uint32_t index,
    const struct sql_expr *e, struct expr **out)
{
	struct sql_bind *b = c->b;

	if (e->kind == SQL_E_DEFAULT) {
		TRY(sql_bind_default(b, t, index, out));
		if (!*out)
			*out = ex_const(
			    b->arena, val_null(t->columns[index].type));
		return NULL;
	}
	if (t->columns[index].flags & CL_COL_ALWAYS)
		return sql_always_error(b->arena, &t->columns[index],
		    "column \"%.*s\" can only be updated to DEFAULT",
		    STR_FMT(t->columns[index].name));
	TRY(sql_bind_expr(c, e, out));
	return sql_assign(b, t, index, *out, out);
}

static struct err *
set_new(
    struct sql_ectx *c, const struct cl_table *t, const struct sql_assign *a)
{
	struct expr *e;

	if (a->expr->kind == SQL_E_DEFAULT)
		return NULL;
	TRY(sql_bind_expr(c, a->expr, &e));
	return sql_assign_new(c->b, t, a->column, &e);
}

struct err *
sql_bind_set(
    struct sql_ectx *c, struct sql_change *ch, const struct sql_assigns *set)
{
	const struct cl_table *t = ch->table;

	ch->set = NEW_N(c->b->arena, struct sql_set_col, set->n);
	for (uint32_t i = 0; i < set->n; i++) {
		const struct sql_assign *a = &set->items[i];
		const struct cl_column *col =
		    cl_table_column(t, str_c(a->column));
		struct sql_set_col *s = &ch->set[ch->n_set];

		if (!col) {
			if (!t->open)
				return no_such_column(
				    c->b, t, a->column, a->position);
			TRY(set_new(c, t, a));
			continue;
		}
		s->index = (uint32_t)(col - t->columns);
		for (uint32_t k = 0; k < ch->n_set; k++)
			if (ch->set[k].index == s->index)
				return ERR(c->b->arena, ERRCODE_SYNTAX_ERROR,
				    "multiple assignments to same column "
				    "\"%s\"",
				    a->column);
		TRY(set_value(c, t, s->index, a->expr, &s->expr));
		ch->key_set = ch->key_set || in_key(t, col->id);
		ch->n_set++;
	}
	return NULL;
}

/* ---- RETURNING ---- */

struct err *
sql_bind_returning(struct sql_bind *b, struct sql_change *ch, const char *alias,
    const struct sql_targets *t)
{
	struct sql_query *q;
	struct sql_scope scope = {0};
	struct sql_ectx c = {.b = b, .scope = &scope, .clause = "RETURNING"};

	if (t->n == 0)
		return NULL;
	TRY(sql_query_of_table(b, ch->table, alias, &q));
	scope.query = q;
	TRY(sql_bind_targets(&c, t, &ch->returning, &ch->n_returning));
	for (uint32_t i = 0; i < ch->n_returning; i++)
		TRY(sql_settle_text(
		    b, ch->returning[i].expr, &ch->returning[i].expr));
	return NULL;
}
