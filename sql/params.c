/* Types of parameters, and coercions that may settle them. */
#include "sql/bind_int.h"

struct err *
sql_param_ref(struct sql_bind *b, const struct sql_expr *e, struct expr **out)
{
	uint32_t n = e->u.param;
	struct sql_param *p;
	struct expr *x;

	if (n == 0 || n > b->n_params)
		return err_at(ERR(b->arena, ERRCODE_UNDEFINED_PARAMETER,
				  "there is no parameter $%u", n),
		    e->position);
	p = &b->params[n - 1];
	x = NEW(b->arena, struct expr);
	x->node = EX_PARAM;
	x->u.param = n;
	x->type = p->type ? p->type : EX_UNKNOWN;
	x->typmod = -1;
	x->position = e->position;
	*out = x;
	return NULL;
}

/* The node is private to its place in the tree, so it may be changed. */
static struct err *
settle_param(struct sql_bind *b, struct expr *e, uint32_t type)
{
	struct sql_param *p = &b->params[e->u.param - 1];

	if (!p->type) {
		p->type = type;
	} else if (p->type != type) {
		struct err *r = ERR(b->arena, ERRCODE_AMBIGUOUS_PARAMETER,
		    "inconsistent types deduced for parameter $%u", e->u.param);

		err_detail(r, "%s versus %s",
		    ex_type_format(b->arena, p->type, -1),
		    ex_type_format(b->arena, type, -1));
		return err_at(r, e->position);
	}
	e->type = type;
	return NULL;
}

struct err *
sql_coerce(struct sql_bind *b, struct expr *e, uint32_t type, int32_t typmod,
    enum ex_coercion c, struct expr **out)
{
	struct err *r;

	if (e->node == EX_PARAM && e->type == EX_UNKNOWN &&
	    e->u.param <= b->n_params && type != EX_UNKNOWN && type != EX_ANY)
		TRY(settle_param(b, e, type));
	r = ex_coerce(b->arena, b->env->ex, e, type, typmod, c, out);
	return r ? err_at(r, e->position) : NULL;
}

struct err *
sql_coerce_bool(
    struct sql_bind *b, struct expr *e, const char *what, struct expr **out)
{
	if (e->type == EX_BOOL || e->type == EX_UNKNOWN)
		return sql_coerce(b, e, EX_BOOL, -1, EX_IMPLICIT, out);
	return err_at(ERR(b->arena, ERRCODE_DATATYPE_MISMATCH,
			  "argument of %s must be type boolean, not type %s",
			  what, ex_type_format(b->arena, e->type, -1)),
	    sql_leftmost(e));
}

struct err *
sql_settle_text(struct sql_bind *b, struct expr *e, struct expr **out)
{
	*out = e;
	if (e->type != EX_UNKNOWN)
		return NULL;
	return sql_coerce(b, e, EX_TEXT, -1, EX_IMPLICIT, out);
}

struct err *
sql_common(struct sql_bind *b, struct expr **es, uint32_t n,
    const char *context, uint32_t *type)
{
	uint32_t *types = NEW_N(b->arena, uint32_t, n);
	struct err *r;

	*type = EX_TEXT;
	for (uint32_t i = 0; i < n; i++)
		types[i] = es[i]->type;
	r = ex_common_type(b->arena, types, n, context, type);
	if (r) {
		/* PostgreSQL points at the first that does not fit. */
		for (uint32_t i = 1; i < n; i++) {
			uint32_t t;

			if (ex_common_type(b->arena, types, i + 1, context, &t))
				return err_at(r, sql_leftmost(es[i]));
		}
		return r;
	}
	for (uint32_t i = 0; i < n; i++)
		TRY(sql_coerce(b, es[i], *type, -1, EX_IMPLICIT, &es[i]));
	return NULL;
}

struct err *
sql_params_settle(struct sql_bind *b)
{
	for (uint32_t i = 0; i < b->n_params; i++) {
		if (b->params[i].type)
			continue;
		/* PostgreSQL gives no position here. */
		return ERR(b->arena, ERRCODE_INDETERMINATE_DATATYPE,
		    "could not determine data type of parameter $%u", i + 1);
	}
	return NULL;
}
