/* INSERT. */
#include "sql/bind_int.h"

/* A column named in the statement; col NULL: an open table's new one. */
struct named {
	const char *name;
	int position;
	const struct cl_column *col;
};

static struct err *
insert_columns(struct sql_bind *b, const struct cl_table *t,
    const struct sql_insert *s, struct named **out, uint32_t *n)
{
	*n = 0;
	*out = NEW_N(b->arena, struct named,
	    (s->n_columns ? s->n_columns : t->n_columns) + 1);
	for (uint32_t i = 0; s->n_columns == 0 && i < t->n_columns; i++)
		if (sql_column_visible(&t->columns[i]))
			(*out)[(*n)++] = (struct named){
			    .name = arena_cstr(b->arena, t->columns[i].name),
			    .col = &t->columns[i]};
	for (uint32_t i = 0; i < s->n_columns; i++) {
		const struct sql_column_name *c = &s->columns[i];
		struct named x = {
		    c->name, c->position, cl_table_column(t, str_c(c->name))};

		if (!x.col && !t->open)
			return err_at(
			    ERR(b->arena, ERRCODE_UNDEFINED_COLUMN,
				"column \"%s\" of relation \"%.*s\" does not "
				"exist",
				c->name, STR_FMT(t->name)),
			    c->position);
		for (uint32_t k = 0; k < *n; k++)
			if (strcmp((*out)[k].name, c->name) == 0)
				return err_at(
				    ERR(b->arena, ERRCODE_DUPLICATE_COLUMN,
					"column \"%s\" specified more than "
					"once",
					c->name),
				    c->position);
		(*out)[(*n)++] = x;
	}
	return NULL;
}

static struct err *
count_matches(struct sql_bind *b, const struct sql_insert *s,
    const struct named *cols, uint32_t n_cols, uint32_t n, int excess_position)
{
	if (n > n_cols)
		return err_at(
		    ERR(b->arena, ERRCODE_SYNTAX_ERROR,
			"INSERT has more expressions than target columns"),
		    excess_position);
	if (s->n_columns && n < n_cols)
		return err_at(
		    ERR(b->arena, ERRCODE_SYNTAX_ERROR,
			"INSERT has more target columns than expressions"),
		    cols[n].position);
	return NULL;
}

#define IS_IDENTITY (CL_COL_ALWAYS | CL_COL_IDENTITY)

/* A value that the statement gives a column: only OVERRIDING lets it have its
 * way where the column is always generated. */
static struct err *
check_always(struct sql_bind *b, const struct cl_column *col,
    enum sql_overriding overriding)
{
	if (!col || !(col->flags & CL_COL_ALWAYS) ||
	    overriding != SQL_OVERRIDING_NONE)
		return NULL;
	return err_hint(sql_always_error(b->arena, col,
			    "cannot insert a non-DEFAULT value into column "
			    "\"%.*s\"",
			    STR_FMT(col->name)),
	    "Use OVERRIDING SYSTEM VALUE to override.");
}

/* OVERRIDING USER VALUE: what is given is computed and left aside. */
static bool
is_ignored(const struct sql_insert *s, const struct cl_column *col)
{
	return col && col->flags & IS_IDENTITY &&
	       s->overriding == SQL_OVERRIDING_USER;
}

/* A value on its way into a column; e NULL: DEFAULT. */
static struct err *
insert_value(struct sql_bind *b, struct sql_change *ch, const struct named *col,
    struct expr *e, struct expr **out)
{
	const struct cl_table *t = ch->table;

	*out = e;
	if (e && !col->col)
		return sql_assign_new(b, t, col->name, out);
	if (e)
		return sql_assign(
		    b, t, (uint32_t)(col->col - t->columns), e, out);
	*out = col->col ? ch->defaults[col->col - t->columns] : NULL;
	if (!*out)
		*out = ex_const(
		    b->arena, val_null(col->col ? col->col->type : EX_TEXT));
	return NULL;
}

/* All values of a row are bound before the first is coerced: a parameter that
 * stands in two columns of different types is an error. */
static struct err *
insert_row(struct sql_ectx *c, struct sql_change *ch,
    const struct sql_insert *s, const struct named *cols,
    const struct sql_exprs *row, struct expr **out)
{
	for (uint32_t i = 0; i < row->n; i++) {
		if (row->items[i]->kind == SQL_E_DEFAULT)
			continue;
		TRY(check_always(c->b, cols[i].col, s->overriding));
		TRY(sql_bind_expr(c, row->items[i], &out[i]));
	}
	for (uint32_t i = 0; i < row->n; i++)
		if (is_ignored(s, cols[i].col))
			out[i] = NULL;
	for (uint32_t i = 0; i < row->n; i++)
		TRY(insert_value(c->b, ch, &cols[i], out[i], &out[i]));
	return NULL;
}

/* VALUES: each value is coerced in its row, DEFAULT included. */
static struct err *
insert_values(struct sql_ectx *c, struct sql_change *ch,
    const struct sql_insert *s, const struct named *cols, uint32_t n_cols)
{
	const struct sql_select *v = s->source;
	struct sql_query *q = NEW(c->b->arena, struct sql_query);
	uint32_t n = v->values[0].n;

	q->kind = SQL_SELECT_VALUES;
	q->n_rows = v->n_values;
	q->n_visible = q->width = n;
	q->rows = NEW_N(c->b->arena, struct expr **, q->n_rows);
	for (uint32_t r = 0; r < q->n_rows; r++) {
		const struct sql_exprs *row = &v->values[r];

		if (row->n != n)
			return err_at(
			    ERR(c->b->arena, ERRCODE_SYNTAX_ERROR,
				"VALUES lists must all be the same length"),
			    row->n ? row->items[0]->position : 0);
		TRY(count_matches(c->b, s, cols, n_cols, n,
		    n > n_cols ? row->items[n_cols]->position : 0));
		q->rows[r] = NEW_N(c->b->arena, struct expr *, n + 1);
		TRY(insert_row(c, ch, s, cols, row, q->rows[r]));
	}
	ch->query = q;
	ch->n_targets = n;
	return NULL;
}

/* Any other query: its row is computed first and coerced after. */
static struct err *
insert_query(struct sql_bind *b, struct sql_change *ch,
    const struct sql_insert *s, const struct named *cols, uint32_t n_cols)
{
	const struct cl_table *t = ch->table;
	struct sql_query *q;

	b->keep_unknown = true;
	TRY(sql_bind_select(b, NULL, s->source, &q));
	TRY(count_matches(b, s, cols, n_cols, q->n_visible,
	    q->n_visible > n_cols ? q->outs[n_cols].position : 0));
	ch->query = q;
	ch->n_targets = q->n_visible;
	ch->values = NEW_N(b->arena, struct expr *, q->n_visible + 1);
	for (uint32_t i = 0; i < q->n_visible; i++) {
		struct sql_out *o = &q->outs[i];
		uint32_t index = (uint32_t)(cols[i].col - t->columns);

		TRY(check_always(b, cols[i].col, s->overriding));
		if (o->expr->type == EX_UNKNOWN)
			TRY(cols[i].col
				? sql_assign(b, t, index, o->expr, &o->expr)
				: sql_settle_text(b, o->expr, &o->expr));
		ch->values[i] =
		    ex_column(b->arena, i, o->expr->type, o->expr->typmod);
		ch->values[i]->position = o->position;
		TRY(cols[i].col
			? sql_assign(b, t, index, ch->values[i], &ch->values[i])
			: sql_assign_new(b, t, cols[i].name, &ch->values[i]));
		if (is_ignored(s, cols[i].col))
			ch->targets[i] = UINT32_MAX;
	}
	return NULL;
}

static bool
is_plain_values(const struct sql_select *s)
{
	return s->kind == SQL_SELECT_VALUES && !s->with && !s->order.n &&
	       !s->limit && !s->offset && !s->n_locking;
}

static struct err *
insert_source(
    struct sql_bind *b, struct sql_change *ch, const struct sql_insert *s)
{
	struct sql_query *none = NEW(b->arena, struct sql_query);
	struct sql_scope scope = {.query = none};
	struct sql_ectx c = {.b = b, .scope = &scope, .clause = "VALUES"};
	struct named *cols;
	uint32_t n_cols;

	TRY(insert_columns(b, ch->table, s, &cols, &n_cols));
	ch->targets = NEW_N(b->arena, uint32_t, n_cols + 1);
	for (uint32_t i = 0; i < n_cols; i++)
		ch->targets[i] =
		    cols[i].col ? (uint32_t)(cols[i].col - ch->table->columns)
				: UINT32_MAX;
	if (!s->source) {
		ch->query = none;
		none->kind = SQL_SELECT_VALUES;
		none->n_rows = 1;
		none->rows = NEW(b->arena, struct expr **);
		return NULL;
	}
	if (is_plain_values(s->source))
		return insert_values(&c, ch, s, cols, n_cols);
	return insert_query(b, ch, s, cols, n_cols);
}

/* ---- ON CONFLICT ---- */

static bool
target_has(const struct sql_on_conflict *oc, struct str column)
{
	for (uint32_t i = 0; i < oc->n_target; i++)
		if (oc->target[i].column &&
		    str_eq(str_c(oc->target[i].column), column))
			return true;
	return false;
}

/* The error of a column that is not there. */
static struct err *
target_missing(struct sql_bind *b, const struct cl_table *t, const char *name,
    int position)
{
	const char *parts[1] = {name};
	struct sql_expr e = {.kind = SQL_E_COLUMN, .position = position};
	struct sql_scope scope = {0};
	struct sql_ectx c = {.b = b, .scope = &scope};
	struct expr *out;

	TRY(sql_query_of_table(b, t, NULL, &scope.query));
	e.u.column.parts = parts;
	e.u.column.n = 1;
	return sql_scope_column(&c, &e, &out);
}

/* Each column of the target must exist, and together they must be the primary
 * key: the only unique thing there is. */
static struct err *
conflict_target(struct sql_bind *b, const struct cl_table *t,
    const struct sql_on_conflict *oc)
{
	bool match = !oc->target_where;

	for (uint32_t i = 0; i < oc->n_target; i++) {
		const struct sql_index_elem *x = &oc->target[i];
		const struct cl_column *col =
		    x->column ? cl_table_column(t, str_c(x->column)) : NULL;
		bool key = false;

		if (x->column && !col)
			return target_missing(b, t, x->column, oc->position);
		for (uint32_t k = 0; col && k < t->n_pkey; k++)
			key = key || t->pkey[k] == col->id;
		match = match && key;
	}
	for (uint32_t k = 0; k < t->n_pkey; k++) {
		const struct cl_column *col = cl_table_column_id(t, t->pkey[k]);

		match = match && col && target_has(oc, col->name);
	}
	if (!match)
		return ERR(b->arena, ERRCODE_INVALID_COLUMN_REFERENCE,
		    "there is no unique or exclusion constraint matching the "
		    "ON CONFLICT specification");
	return NULL;
}

static struct err *
conflict_update(
    struct sql_bind *b, struct sql_change *ch, const struct sql_insert *s)
{
	struct sql_rel *excluded = sql_rel_table(b, ch->table, "excluded");
	struct sql_scope scope = {0};
	struct sql_ectx c = {.b = b, .scope = &scope, .clause = "UPDATE"};
	struct sql_query *q;
	uint32_t k = 0, n = ch->table->n_columns;

	TRY(sql_query_of_table(b, ch->table, s->alias, &q));
	excluded->kind = SQL_REL_EXCLUDED;
	for (uint32_t i = 0; i < n; i++)
		if (sql_column_visible(&ch->table->columns[i]))
			excluded->cols[k++].pos = n + i + 1;
	TRY(sql_rel_add(b, q, excluded, s->conflict.position));
	q->width = 2 * n;
	scope.query = q;
	TRY(sql_bind_set(&c, ch, &s->conflict.set));
	if (!s->conflict.where)
		return NULL;
	c.clause = "WHERE";
	TRY(sql_bind_expr(&c, s->conflict.where, &ch->where));
	return sql_coerce_bool(b, ch->where, "WHERE", &ch->where);
}

static struct err *
bind_conflict(
    struct sql_bind *b, struct sql_change *ch, const struct sql_insert *s)
{
	const struct sql_on_conflict *oc = &s->conflict;
	const struct cl_table *t = ch->table;

	if (oc->action == SQL_CONFLICT_NONE)
		return NULL;
	if (oc->constraint && !str_eq(t->pkey_name, str_c(oc->constraint)))
		return ERR(b->arena, ERRCODE_UNDEFINED_OBJECT,
		    "constraint \"%s\" for table \"%.*s\" does not exist",
		    oc->constraint, STR_FMT(t->name));
	if (oc->n_target)
		TRY(conflict_target(b, t, oc));
	if (oc->action == SQL_CONFLICT_NOTHING) {
		ch->conflict = SQL_DO_NOTHING;
		return NULL;
	}
	if (!oc->n_target && !oc->constraint)
		return err_at(
		    err_hint(ERR(b->arena, ERRCODE_SYNTAX_ERROR,
				 "ON CONFLICT DO UPDATE requires inference "
				 "specification or constraint name"),
			"For example, ON CONFLICT (column_name)."),
		    oc->position);
	ch->conflict = SQL_DO_UPDATE;
	return conflict_update(b, ch, s);
}

/* ---- the whole ---- */

static struct err *
bind_insert(
    struct sql_bind *b, const struct sql_insert *s, struct sql_change *ch)
{
	TRY(sql_find_target(b->arena, b->env, &s->table, &ch->table));
	ch->defaults = NEW_N(b->arena, struct expr *, ch->table->n_columns + 1);
	for (uint32_t i = 0; i < ch->table->n_columns; i++)
		if (sql_column_visible(&ch->table->columns[i]))
			TRY(sql_bind_default(
			    b, ch->table, i, &ch->defaults[i]));
	TRY(insert_source(b, ch, s));
	TRY(bind_conflict(b, ch, s));
	return sql_bind_returning(b, ch, s->alias, &s->returning);
}

struct err *
sql_bind_insert(
    struct sql_bind *b, const struct sql_insert *s, struct sql_change **out)
{
	*out = NEW(b->arena, struct sql_change);
	TRY(sql_with_open(b, s->with));
	return bind_insert(b, s, *out);
}
