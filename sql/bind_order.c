/* ORDER BY: output names, ordinals, expressions. */
#include "sql/bind_int.h"

static struct err *
order_name(struct sql_bind *b, const struct sql_query *q, const char *name,
    int position, uint32_t *out)
{
	*out = UINT32_MAX;
	for (uint32_t i = 0; i < q->n_visible; i++) {
		if (strcmp(q->outs[i].name, name) != 0)
			continue;
		if (*out != UINT32_MAX &&
		    !ex_equal(q->outs[*out].expr, q->outs[i].expr))
			return err_at(ERR(b->arena, ERRCODE_AMBIGUOUS_COLUMN,
					  "ORDER BY \"%s\" is ambiguous", name),
			    position);
		if (*out == UINT32_MAX)
			*out = i;
	}
	return NULL;
}

static struct err *
order_ordinal(struct sql_bind *b, const struct sql_query *q,
    const struct sql_expr *e, uint32_t *out)
{
	if (e->kind != SQL_E_INT)
		return err_at(ERR(b->arena, ERRCODE_SYNTAX_ERROR,
				  "non-integer constant in ORDER BY"),
		    e->position);
	if (e->u.integer < 1 || e->u.integer > q->n_visible)
		return err_at(ERR(b->arena, ERRCODE_INVALID_COLUMN_REFERENCE,
				  "ORDER BY position %lld is not in select "
				  "list",
				  (long long)e->u.integer),
		    e->position);
	*out = (uint32_t)e->u.integer - 1;
	return NULL;
}

/* The target that computes e; a new one, not shown, when there is none. */
static struct err *
order_target(struct sql_ectx *c, struct sql_query *q, const struct sql_expr *e,
    uint32_t *out)
{
	struct sql_ectx order = *c;
	struct sql_out *more;
	struct expr *x;

	order.clause = "ORDER BY";
	TRY(sql_bind_expr(&order, e, &x));
	for (uint32_t i = 0; i < q->n_outs; i++)
		if (ex_equal(q->outs[i].expr, x)) {
			*out = i;
			return NULL;
		}
	if (q->distinct)
		return err_at(ERR(c->b->arena, ERRCODE_INVALID_COLUMN_REFERENCE,
				  "for SELECT DISTINCT, ORDER BY expressions "
				  "must appear in select list"),
		    e->position);
	TRY(sql_settle_text(c->b, x, &x));
	more = NEW_N(c->b->arena, struct sql_out, q->n_outs + 1);
	if (q->n_outs)
		memcpy(more, q->outs, q->n_outs * sizeof *more);
	more[q->n_outs] = (struct sql_out){
	    .expr = x, .name = "?sort?", .position = e->position};
	q->outs = more;
	*out = q->n_outs++;
	return NULL;
}

static struct err *
order_item(struct sql_ectx *c, struct sql_query *q, const struct sql_expr *e,
    uint32_t *out)
{
	struct err *r;

	*out = UINT32_MAX;
	if (e->kind <= SQL_E_BITS)
		return order_ordinal(c->b, q, e, out);
	if (e->kind == SQL_E_COLUMN && e->u.column.n == 1 && !e->u.column.star)
		TRY(order_name(
		    c->b, q, e->u.column.parts[0], e->position, out));
	if (*out != UINT32_MAX)
		return NULL;
	if (q->kind == SQL_SELECT_UNION) {
		r = ERR(c->b->arena, ERRCODE_FEATURE_NOT_SUPPORTED,
		    "invalid UNION/INTERSECT/EXCEPT ORDER BY clause");
		err_detail(r, "Only result column names can be used, not "
			      "expressions or functions.");
		err_hint(r, "Add the expression/function to every SELECT, or "
			    "move the UNION into a FROM clause.");
		return err_at(r, sql_expr_position(e));
	}
	return order_target(c, q, e, out);
}

struct err *
sql_bind_order(
    struct sql_ectx *c, struct sql_query *q, const struct sql_orders *order)
{
	if (order->n == 0)
		return NULL;
	q->sort = NEW_N(c->b->arena, struct sql_sort_key, order->n);
	for (uint32_t i = 0; i < order->n; i++) {
		const struct sql_order *o = &order->items[i];
		struct sql_sort_key *k = &q->sort[q->n_sort];

		TRY(order_item(c, q, o->expr, &k->out));
		k->position = sql_expr_position(o->expr);
		k->desc = o->desc;
		k->nulls_first = o->nulls == SQL_NULLS_DEFAULT
				     ? o->desc
				     : o->nulls == SQL_NULLS_FIRST;
		q->n_sort++;
	}
	return NULL;
}
