/* GROUP BY, and what may stand beside it. */
#include "sql/bind_int.h"

/* A bare name; NULL when e is none. */
static const char *
bare_name(const struct sql_expr *e)
{
	return e->kind == SQL_E_COLUMN && e->u.column.n == 1 &&
		       !e->u.column.star
		   ? e->u.column.parts[0]
		   : NULL;
}

static struct err *
group_ordinal(struct sql_bind *b, const struct sql_query *q,
    const struct sql_expr *e, struct expr **out)
{
	if (e->kind != SQL_E_INT)
		return err_at(ERR(b->arena, ERRCODE_SYNTAX_ERROR,
				  "non-integer constant in GROUP BY"),
		    e->position);
	if (e->u.integer < 1 || e->u.integer > q->n_visible)
		return err_at(ERR(b->arena, ERRCODE_INVALID_COLUMN_REFERENCE,
				  "GROUP BY position %lld is not in select "
				  "list",
				  (long long)e->u.integer),
		    e->position);
	*out = q->outs[e->u.integer - 1].expr;
	return NULL;
}

/* An output name that is no column of FROM; *out NULL when there is none. */
static struct err *
group_alias(struct sql_ectx *c, const struct sql_query *q, const char *name,
    int position, struct expr **out)
{
	*out = NULL;
	if (sql_scope_has(c->scope, name))
		return NULL;
	for (uint32_t i = 0; i < q->n_visible; i++) {
		if (strcmp(q->outs[i].name, name) != 0)
			continue;
		if (*out && !ex_equal(*out, q->outs[i].expr))
			return err_at(ERR(c->b->arena, ERRCODE_AMBIGUOUS_COLUMN,
					  "GROUP BY \"%s\" is ambiguous", name),
			    position);
		*out = q->outs[i].expr;
	}
	return NULL;
}

static bool
is_constant(const struct sql_expr *e)
{
	return e->kind <= SQL_E_BITS;
}

static bool
agg_position(const struct expr *e, void *arg)
{
	int *position = arg;

	if (e->node != EX_COLUMN || e->u.col < SQL_AGG_COL)
		return false;
	*position = e->position;
	return true;
}

static struct err *
bind_item(struct sql_ectx *c, struct sql_query *q, const struct sql_expr *e,
    struct expr **out)
{
	const char *name = bare_name(e);
	struct sql_ectx group = *c;
	int position = 0;

	*out = NULL;
	group.aggs = false;
	group.clause = "GROUP BY";
	if (is_constant(e))
		TRY(group_ordinal(c->b, q, e, out));
	else if (name)
		TRY(group_alias(c, q, name, e->position, out));
	if (!*out)
		TRY(sql_bind_expr(&group, e, out));
	if (sql_expr_any(*out, agg_position, &position))
		return err_at(ERR(c->b->arena, ERRCODE_GROUPING_ERROR,
				  "aggregate functions are not allowed in "
				  "GROUP BY"),
		    position);
	TRY(sql_settle_text(c->b, *out, out));
	if (!sql_can_sort((*out)->type))
		return err_at(
		    ERR(c->b->arena, ERRCODE_UNDEFINED_FUNCTION,
			"could not identify an equality operator "
			"for type %s",
			ex_type_format(c->b->arena, (*out)->type, -1)),
		    e->position);
	return NULL;
}

struct err *
sql_bind_group(
    struct sql_ectx *c, struct sql_query *q, const struct sql_exprs *group)
{
	if (group->n == 0)
		return NULL;
	q->grouped = true;
	q->groups = NEW_N(c->b->arena, struct expr *, group->n);
	for (uint32_t i = 0; i < group->n; i++) {
		struct expr *e;
		uint32_t k = 0;

		TRY(bind_item(c, q, group->items[i], &e));
		while (k < q->n_groups && !ex_equal(q->groups[k], e))
			k++;
		if (k == q->n_groups)
			q->groups[q->n_groups++] = e;
	}
	return NULL;
}

/* ---- settling ---- */

static bool
is_grouped_column(const struct sql_query *q, uint32_t pos)
{
	for (uint32_t i = 0; i < q->n_groups; i++)
		if (q->groups[i]->node == EX_COLUMN &&
		    q->groups[i]->u.col == pos)
			return true;
	return false;
}

/* Whether the primary key of r is among the groups: then every other column of
 * r has one value per group. */
static bool
depends_on_key(const struct sql_query *q, const struct sql_rel *r)
{
	if (r->kind != SQL_REL_TABLE || r->table->n_pkey == 0)
		return false;
	for (uint32_t i = 0; i < r->table->n_pkey; i++) {
		uint32_t k = 0;

		while (k < r->n_cols && r->cols[k].id != r->table->pkey[i])
			k++;
		if (k == r->n_cols || !r->cols[k].pos ||
		    !is_grouped_column(q, r->cols[k].pos - 1))
			return false;
	}
	return true;
}

static struct err *
not_grouped(struct sql_bind *b, const struct sql_rel *r,
    const struct sql_rel_col *col, int position)
{
	return err_at(ERR(b->arena, ERRCODE_GROUPING_ERROR,
			  "column \"%s.%s\" must appear in the GROUP BY clause "
			  "or be used in an aggregate function",
			  r->name, col->name),
	    position);
}

/* A column that is no group of its own becomes one when it may stand here. */
static struct err *
group_column(struct sql_bind *b, struct sql_query *q, const struct expr *e)
{
	const struct sql_rel *r;
	const struct sql_rel_col *col;
	struct expr **more;

	if (!sql_query_column(q, e->u.col, &r, &col))
		return ERR(
		    b->arena, ERRCODE_INTERNAL_ERROR, "column of no relation");
	if (!depends_on_key(q, r))
		return not_grouped(b, r, col, e->position);
	more = NEW_N(b->arena, struct expr *, q->n_groups + 1);
	if (q->n_groups)
		memcpy(more, q->groups, q->n_groups * sizeof *more);
	more[q->n_groups] = ex_column(b->arena, e->u.col, e->type, e->typmod);
	q->groups = more;
	q->n_groups++;
	return NULL;
}

static struct expr *
at_group_row(struct sql_bind *b, uint32_t col, const struct expr *e)
{
	struct expr *c = ex_column(b->arena, col, e->type, e->typmod);

	c->position = e->position;
	return c;
}

struct settling {
	struct sql_bind *b;
	struct sql_query *q;
};

/* e over the group row: aggregates first, then groups. */
static struct err *
settle_node(struct expr *e, void *arg, struct expr **out)
{
	struct sql_bind *b = ((struct settling *)arg)->b;
	struct sql_query *q = ((struct settling *)arg)->q;

	*out = NULL;
	if (e->node == EX_COLUMN && e->u.col >= SQL_AGG_COL) {
		*out = at_group_row(b, e->u.col - SQL_AGG_COL, e);
		return NULL;
	}
	for (uint32_t i = 0; i < q->n_groups; i++)
		if (ex_equal(q->groups[i], e)) {
			*out = at_group_row(b, q->n_aggs + i, e);
			return NULL;
		}
	if (e->node != EX_COLUMN)
		return NULL;
	TRY(group_column(b, q, e));
	*out = at_group_row(b, q->n_aggs + q->n_groups - 1, e);
	return NULL;
}

static struct err *
settle(
    struct sql_bind *b, struct sql_query *q, struct expr *e, struct expr **out)
{
	struct settling s = {b, q};
	struct sql_rewrite how = {.before = settle_node, .arg = &s};

	return sql_expr_rewrite(b->arena, e, &how, out);
}

struct err *
sql_settle_group(struct sql_bind *b, struct sql_query *q)
{
	for (uint32_t i = 0; i < q->n_outs; i++)
		TRY(settle(b, q, q->outs[i].expr, &q->outs[i].expr));
	if (q->having)
		TRY(settle(b, q, q->having, &q->having));
	return NULL;
}
