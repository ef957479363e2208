/* SELECT, VALUES and UNION. */
#include "sql/bind_int.h"

/* ---- targets ---- */

static void
plain_column(const struct sql_query *q, struct sql_out *o)
{
	const struct sql_rel *r;
	const struct sql_rel_col *col;

	if (o->expr->node != EX_COLUMN || o->expr->u.col >= SQL_AGG_COL ||
	    !sql_query_column(q, o->expr->u.col, &r, &col) ||
	    r->kind != SQL_REL_TABLE)
		return;
	o->table = r->table->id;
	o->attnum = (int16_t)col->id;
}

struct err *
sql_bind_targets(struct sql_ectx *c, const struct sql_targets *t,
    struct sql_out **outs, uint32_t *n)
{
	uint32_t cap = 0;

	*outs = NULL;
	*n = 0;
	for (uint32_t i = 0; i < t->n; i++) {
		const struct sql_target *x = &t->items[i];
		struct sql_out o = {.position = x->expr->position};

		if (x->expr->kind == SQL_E_COLUMN && x->expr->u.column.star) {
			TRY(sql_scope_star(c, x->expr, outs, n, &cap));
		} else {
			TRY(sql_bind_expr(c, x->expr, &o.expr));
			o.name =
			    x->alias ? x->alias : sql_figure_colname(x->expr);
			plain_column(c->scope->query, &o);
			*outs = sql_more(
			    c->b->arena, *outs, *n, &cap, sizeof **outs);
			(*outs)[(*n)++] = o;
		}
		if (*n > SQL_COLUMNS_OUT_MAX)
			return ERR(c->b->arena, ERRCODE_TOO_MANY_COLUMNS,
			    "target lists can have at most %u entries",
			    SQL_COLUMNS_OUT_MAX);
	}
	return NULL;
}

static struct err *
settle_outs(struct sql_bind *b, struct sql_query *q, bool keep_unknown)
{
	for (uint32_t i = 0; i < q->n_outs; i++)
		if (!keep_unknown || i >= q->n_visible)
			TRY(sql_settle_text(
			    b, q->outs[i].expr, &q->outs[i].expr));
	return NULL;
}

/* ---- LIMIT ---- */

static struct err *
bind_count(struct sql_bind *b, const struct sql_expr *e, const char *clause,
    struct expr **out)
{
	struct sql_ectx c = {.b = b,
	    .clause = clause,
	    .no_columns = arena_printf(
		b->arena, "argument of %s must not contain variables", clause),
	    .no_columns_state = ERRCODE_INVALID_COLUMN_REFERENCE};
	const struct ex_func *f;

	TRY(sql_bind_expr(&c, e, out));
	if ((*out)->type != EX_UNKNOWN &&
	    !ex_find_cast((*out)->type, EX_INT8, EX_ASSIGNMENT, &f) &&
	    (*out)->type != EX_INT8)
		return err_at(
		    ERR(b->arena, ERRCODE_DATATYPE_MISMATCH,
			"argument of %s must be type bigint, not type %s",
			clause, ex_type_format(b->arena, (*out)->type, -1)),
		    sql_leftmost(*out));
	return sql_coerce(b, *out, EX_INT8, -1, EX_ASSIGNMENT, out);
}

static struct err *
bind_limit(struct sql_bind *b, const struct sql_select *s, struct sql_query *q)
{
	if (s->with_ties)
		return sql_unsupported_at(b->arena, 0, "WITH TIES clauses");
	if (s->offset)
		TRY(bind_count(b, s->offset, "OFFSET", &q->offset));
	if (s->limit)
		TRY(bind_count(b, s->limit, "LIMIT", &q->limit));
	return NULL;
}

/* ---- the plain kind ---- */

static struct err *
check_outs(struct sql_bind *b, const struct sql_query *q)
{
	for (uint32_t i = 0; q->distinct && i < q->n_visible; i++) {
		uint32_t type = q->outs[i].expr->type;

		if (!sql_can_sort(type))
			return err_at(
			    ERR(b->arena, ERRCODE_UNDEFINED_FUNCTION,
				"could not identify an equality operator for "
				"type %s",
				ex_type_format(b->arena, type, -1)),
			    q->outs[i].position);
	}
	for (uint32_t i = 0; i < q->n_sort; i++) {
		const struct sql_out *o = &q->outs[q->sort[i].out];
		struct err *e;

		if (sql_can_sort(o->expr->type))
			continue;
		e = ERR(b->arena, ERRCODE_UNDEFINED_FUNCTION,
		    "could not identify an ordering operator for type %s",
		    ex_type_format(b->arena, o->expr->type, -1));
		err_hint(e, "Use an explicit ordering operator or modify the "
			    "query.");
		return err_at(e, q->sort[i].position);
	}
	return NULL;
}

static struct err *
bind_where(struct sql_ectx *c, const struct sql_expr *e, struct expr **out)
{
	struct sql_ectx where = *c;

	where.clause = "WHERE";
	where.aggs = false;
	TRY(sql_bind_expr(&where, e, out));
	return sql_coerce_bool(c->b, *out, "WHERE", out);
}

static struct err *
bind_having(struct sql_ectx *c, struct sql_query *q, const struct sql_expr *e)
{
	q->grouped = true;
	TRY(sql_bind_expr(c, e, &q->having));
	return sql_coerce_bool(c->b, q->having, "HAVING", &q->having);
}

static struct err *
refuse_clauses(struct sql_bind *b, const struct sql_select *s)
{
	if (s->distinct_on.n)
		return sql_unsupported_at(b->arena,
		    s->distinct_on.items[0]->position, "DISTINCT ON clauses");
	if (s->n_locking)
		return sql_unsupported_at(
		    b->arena, 0, "row locking clauses (FOR UPDATE, FOR SHARE)");
	return NULL;
}

static struct err *
bind_plain(struct sql_bind *b, struct sql_scope *outer,
    const struct sql_select *s, struct sql_query *q, bool keep_unknown)
{
	struct sql_scope scope = {.outer = outer, .query = q};
	struct sql_ectx c = {
	    .b = b, .scope = &scope, .clause = "SELECT", .aggs = true};

	TRY(refuse_clauses(b, s));
	TRY(sql_bind_from(b, &scope, s->from, s->n_from));
	TRY(sql_bind_targets(&c, &s->targets, &q->outs, &q->n_outs));
	q->n_visible = q->n_outs;
	q->distinct = s->distinct;
	if (s->where)
		TRY(bind_where(&c, s->where, &q->where));
	if (s->having)
		TRY(bind_having(&c, q, s->having));
	TRY(sql_bind_order(&c, q, &s->order));
	TRY(sql_bind_group(&c, q, &s->group));
	TRY(bind_limit(b, s, q));
	TRY(settle_outs(b, q, keep_unknown));
	if (q->grouped)
		TRY(sql_settle_group(b, q));
	return check_outs(b, q);
}

/* ---- VALUES ---- */

static struct err *
values_out(
    struct sql_bind *b, struct sql_query *q, uint32_t i, struct expr **column)
{
	uint32_t type;

	TRY(sql_common(b, column, q->n_rows, "VALUES", &type));
	for (uint32_t r = 0; r < q->n_rows; r++)
		q->rows[r][i] = column[r];
	q->outs[i] = (struct sql_out){
	    .expr = ex_column(b->arena, i, type, -1),
	    .name = arena_printf(b->arena, "column%u", i + 1),
	};
	return NULL;
}

static struct err *
values_row(struct sql_ectx *c, const struct sql_exprs *row, uint32_t n,
    struct expr ***out)
{
	if (row->n != n)
		return err_at(ERR(c->b->arena, ERRCODE_SYNTAX_ERROR,
				  "VALUES lists must all be the same length"),
		    row->n ? row->items[0]->position : 0);
	*out = NEW_N(c->b->arena, struct expr *, n);
	for (uint32_t i = 0; i < n; i++)
		TRY(sql_bind_expr(c, row->items[i], &(*out)[i]));
	return NULL;
}

static struct err *
bind_values(struct sql_bind *b, struct sql_scope *outer,
    const struct sql_select *s, struct sql_query *q)
{
	struct sql_query *none = NEW(b->arena, struct sql_query);
	struct sql_scope scope = {.outer = outer, .query = none}, own = {0};
	struct sql_ectx c = {.b = b, .scope = &scope, .clause = "VALUES"};
	uint32_t n = s->values[0].n;
	struct expr **column = NEW_N(b->arena, struct expr *, s->n_values);

	q->n_rows = s->n_values;
	q->rows = NEW_N(b->arena, struct expr **, s->n_values);
	q->n_outs = q->n_visible = q->width = n;
	q->outs = NEW_N(b->arena, struct sql_out, n + 1);
	for (uint32_t r = 0; r < s->n_values; r++)
		TRY(values_row(&c, &s->values[r], n, &q->rows[r]));
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t r = 0; r < s->n_values; r++)
			column[r] = q->rows[r][i];
		TRY(values_out(b, q, i, column));
	}
	own.query = q;
	c.scope = &own;
	TRY(sql_bind_order(&c, q, &s->order));
	TRY(bind_limit(b, s, q));
	return check_outs(b, q);
}

/* ---- UNION ---- */

static struct err *
bind_branch(struct sql_bind *b, struct sql_scope *outer,
    const struct sql_select *s, struct sql_query **out)
{
	b->keep_unknown = true;
	return sql_bind_select(b, outer, s, out);
}

static struct err *
union_outs(struct sql_bind *b, struct sql_query *q)
{
	uint32_t n = q->left->n_visible, type;

	q->n_outs = q->n_visible = q->width = n;
	q->outs = NEW_N(b->arena, struct sql_out, n + 1);
	for (uint32_t i = 0; i < n; i++) {
		struct expr *pair[2] = {
		    q->left->outs[i].expr, q->right->outs[i].expr};

		TRY(sql_common(b, pair, 2, "UNION", &type));
		q->left->outs[i].expr = pair[0];
		q->right->outs[i].expr = pair[1];
		q->outs[i].name = q->left->outs[i].name;
		q->outs[i].expr = ex_column(b->arena, i, type,
		    pair[0]->typmod == pair[1]->typmod ? pair[0]->typmod : -1);
	}
	return NULL;
}

static struct err *
bind_union(struct sql_bind *b, struct sql_scope *outer,
    const struct sql_select *s, struct sql_query *q)
{
	struct sql_scope scope = {.query = q};
	struct sql_ectx c = {.b = b, .scope = &scope, .clause = "ORDER BY"};

	if (s->kind != SQL_SELECT_UNION)
		return sql_unsupported_at(b->arena, 0,
		    s->kind == SQL_SELECT_EXCEPT ? "EXCEPT queries"
						 : "INTERSECT queries");
	if (s->n_locking)
		return refuse_clauses(b, s);
	TRY(bind_branch(b, outer, s->left, &q->left));
	TRY(bind_branch(b, outer, s->right, &q->right));
	if (q->left->n_visible != q->right->n_visible)
		return err_at(ERR(b->arena, ERRCODE_SYNTAX_ERROR,
				  "each UNION query must have the same number "
				  "of columns"),
		    q->right->n_visible ? q->right->outs[0].position : 0);
	TRY(union_outs(b, q));
	q->all = s->all;
	q->distinct = !s->all;
	TRY(sql_bind_order(&c, q, &s->order));
	TRY(bind_limit(b, s, q));
	return check_outs(b, q);
}

/* ---- every kind ---- */

static struct err *
bind_kind(struct sql_bind *b, struct sql_scope *outer,
    const struct sql_select *s, struct sql_query *q)
{
	bool keep_unknown = b->keep_unknown;

	b->keep_unknown = false;
	q->kind = s->kind;
	switch (s->kind) {
	case SQL_SELECT_PLAIN:
		return bind_plain(b, outer, s, q, keep_unknown);
	case SQL_SELECT_VALUES:
		return bind_values(b, outer, s, q);
	default:
		return bind_union(b, outer, s, q);
	}
}

struct err *
sql_bind_select(struct sql_bind *b, struct sql_scope *outer,
    const struct sql_select *s, struct sql_query **out)
{
	const struct sql_ctes *saved = b->ctes;
	struct err *e;

	*out = NEW(b->arena, struct sql_query);
	if (b->query_depth >= SQL_QUERY_DEPTH_MAX)
		return err_at(
		    err_hint(ERR(b->arena, ERRCODE_STATEMENT_TOO_COMPLEX,
				 "stack depth limit exceeded"),
			"Queries may nest %d deep.", SQL_QUERY_DEPTH_MAX),
		    s->position);
	TRY(sql_with_open(b, s->with));
	b->query_depth++;
	e = bind_kind(b, outer, s, *out);
	b->query_depth--;
	b->ctes = saved;
	return e;
}
