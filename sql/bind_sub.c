/* Queries inside expressions, as far as they do not depend on the row: each
 * runs once, and its result becomes a parameter. */
#include "sql/bind_int.h"

static struct expr *
sub_param(struct sql_bind *b, const struct sql_sub *sub, uint32_t type,
    int32_t typmod, int position)
{
	struct expr *e = NEW(b->arena, struct expr);

	b->subs = sql_more(
	    b->arena, b->subs, b->n_subs, &b->subs_cap, sizeof *b->subs);
	b->subs[b->n_subs] = *sub;
	b->n_subs++;
	b->subs[b->n_subs - 1].param = b->n_params + b->n_subs;
	e->node = EX_PARAM;
	e->u.param = b->n_params + b->n_subs;
	e->type = type;
	e->typmod = typmod;
	e->position = position;
	return e;
}

static struct err *
one_column(
    struct sql_bind *b, const struct sql_query *q, int position, bool scalar)
{
	if (q->n_visible == 1)
		return NULL;
	return err_at(ERR(b->arena, ERRCODE_SYNTAX_ERROR, "%s",
			  scalar ? "subquery must return only one column"
				 : "subquery has too many columns"),
	    position);
}

/* x IN (SELECT ...): an IN whose list is a parameter that stands for many; see
 * sql_fold. */
static struct err *
bind_in_query(struct sql_ectx *c, const struct sql_expr *e, struct sql_query *q,
    struct expr *left, struct expr **out)
{
	struct sql_bind *b = c->b;
	struct sql_sub sub = {.kind = SQL_SUB_IN, .query = q};
	struct expr *pair[2] = {left, NULL}, *eq;
	struct expr **args = NEW_N(b->arena, struct expr *, 2);
	uint32_t type;

	TRY(one_column(b, q, e->position, false));
	pair[1] = q->outs[0].expr;
	/* For its error, when the two cannot be compared. */
	TRY(sql_bind_op(c, e, "=", pair, 2, &eq));
	TRY(sql_common(b, pair, 2, "IN", &type));
	q->outs[0].expr = pair[1];
	args[0] = pair[0];
	args[1] = sub_param(b, &sub, type, -1, e->position);
	*out = ex_op(b->arena, EX_IN, EX_BOOL, args, 2);
	(*out)->position = e->position;
	return NULL;
}

static bool
is_op(const struct sql_expr *e, const char *op)
{
	return strcmp(e->u.query.op.name, op) == 0;
}

static struct err *
bind_any_query(struct sql_ectx *c, const struct sql_expr *e,
    struct sql_query *q, struct expr *left, struct expr **out)
{
	bool any = e->kind == SQL_E_ANY_SUBQUERY;
	struct expr **args = NEW(c->b->arena, struct expr *);

	if (!is_op(e, any ? "=" : "<>"))
		return sql_unsupported_at(c->b->arena, e->position,
		    "ANY and ALL of a subquery other than = ANY and <> ALL");
	TRY(bind_in_query(c, e, q, left, &args[0]));
	*out = any ? args[0] : ex_op(c->b->arena, EX_NOT, EX_BOOL, args, 1);
	return NULL;
}

struct err *
sql_bind_sub(struct sql_ectx *c, const struct sql_expr *e, struct expr *left,
    struct expr **out)
{
	struct sql_bind *b = c->b;
	struct sql_sub sub = {.kind = SQL_SUB_SCALAR};

	TRY(sql_bind_select(b, c->scope, e->u.query.select, &sub.query));
	switch (e->kind) {
	case SQL_E_EXISTS:
		sub.kind = SQL_SUB_EXISTS;
		*out = sub_param(b, &sub, EX_BOOL, -1, e->position);
		return NULL;
	case SQL_E_SUBQUERY:
		TRY(one_column(b, sub.query, e->position, true));
		*out = sub_param(b, &sub, sub.query->outs[0].expr->type,
		    sub.query->outs[0].expr->typmod, e->position);
		return NULL;
	case SQL_E_IN_SUBQUERY:
		return bind_in_query(c, e, sub.query, left, out);
	default:
		return bind_any_query(c, e, sub.query, left, out);
	}
}
