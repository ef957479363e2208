/* What conditions say of the columns of a key: values, bounds, NULL. */
#include "sql/plan_int.h"

const char *
sql_op_name(const struct ex_func *f)
{
	const struct ex_op *op;

	if (f->n_args != 2)
		return NULL;
	for (size_t i = 0; (op = ex_op_at(i)) != NULL; i++)
		if (op->func == f->id && op->left)
			return op->name;
	return NULL;
}

/* ---- recognising columns ---- */

const struct expr *
sql_behind_cast(const struct expr *e)
{
	const struct ex_func *f;

	if (e->n_args != 1)
		return NULL;
	if (e->node == EX_TYPMOD && e->typmod < 0)
		return e->args[0];
	if (e->node == EX_CALL &&
	    ex_find_cast(e->args[0]->type, e->type, EX_IMPLICIT, &f) &&
	    f == e->u.func)
		return e->args[0];
	return NULL;
}

bool
sql_key_is(
    const struct sql_key *k, const struct sql_key_col *c, const struct expr *e)
{
	if (!c->col)
		return c->tree && ex_equal(c->tree, e);
	if (e->node != EX_COLUMN)
		return false;
	for (uint32_t i = 0; i < k->rel->n_cols; i++)
		if (k->rel->cols[i].pos == e->u.col + 1 &&
		    k->rel->cols[i].id == c->col->id)
			return true;
	return false;
}

static struct sql_key_col *
key_col(const struct sql_key *k, const struct expr *e)
{
	const struct expr *inner = sql_behind_cast(e);

	for (uint32_t i = 0; i < k->n; i++)
		if (sql_key_is(k, &k->cols[i], e) ||
		    (inner && sql_key_is(k, &k->cols[i], inner)))
			return &k->cols[i];
	return NULL;
}

/* Values of several types, as they were stored. */
static bool
is_open(const struct sql_key *k, const struct sql_key_col *c)
{
	return k->t->open && c->col && !(c->col->flags & CL_COL_HIDDEN);
}

/* ---- equality ---- */

/* The values of a column that equal one of vs. False: cannot tell. */
static bool
eq_values(struct sql_key *k, struct sql_key_col *c, const struct val *vs,
    uint32_t n, bool any, struct val *eq, uint32_t *n_eq)
{
	*n_eq = 0;
	for (uint32_t i = 0; i < n; i++) {
		enum sql_fit f;

		if (vs[i].null)
			continue;
		if (is_open(k, c)) {
			*n_eq +=
			    sql_probes(k->x, c->col, vs[i], any, &eq[*n_eq]);
			continue;
		}
		f = sql_fit(k->x, vs[i], c->type, &eq[*n_eq]);
		if (f == SQL_FIT_UNKNOWN)
			return false;
		*n_eq += f == SQL_FIT_EXACT;
	}
	return true;
}

static void
note_eq(struct sql_key *k, struct sql_key_col *c, const struct val *vs,
    uint32_t n, struct sql_conj *conj)
{
	bool any = k->index && is_open(k, c) && c->col->flags & CL_COL_MIXED;
	uint32_t per = is_open(k, c) ? SQL_PROBES_MAX : 1, n_eq;
	struct val *eq;

	if (n > SQL_POINTS_MAX)
		return;
	eq = NEW_N(k->x->arena, struct val, n * per + 1);
	if (!eq_values(k, c, vs, n, any, eq, &n_eq))
		return;
	/* Two conditions on one column: the shorter list leads, the other
	 * stays a filter. */
	if (c->has_eq && c->n_eq <= n_eq)
		return;
	if (n_eq == 0)
		k->empty = true;
	c->has_eq = true;
	c->eq = eq;
	c->n_eq = n_eq;
	c->eq_conj = conj;
	c->eq_loose = any;
}

static bool
note_in(struct sql_key *k, struct sql_conj *conj)
{
	const struct expr *e = conj->e;
	struct sql_key_col *c;
	struct val *vs;

	if (e->node != EX_IN || !(c = key_col(k, e->args[0])))
		return false;
	vs = NEW_N(k->x->arena, struct val, e->n_args);
	for (uint32_t i = 1; i < e->n_args; i++) {
		if (e->args[i]->node != EX_CONST)
			return false;
		vs[i - 1] = e->args[i]->u.con;
	}
	note_eq(k, c, vs, e->n_args - 1, conj);
	return true;
}

/* x IS NULL finds what equals NULL among keys; a primary key has none. */
static bool
note_null(struct sql_key *k, struct sql_conj *conj)
{
	struct sql_key_col *c;

	if (conj->e->node != EX_IS_NULL)
		return false;
	c = key_col(k, conj->e->args[0]);
	if (!c || !c->nullable || c->has_eq)
		return true;
	c->has_eq = true;
	c->eq = NEW(k->x->arena, struct val);
	*c->eq = val_null(c->type);
	c->n_eq = 1;
	c->eq_conj = conj;
	return true;
}

/* A condition that is a column, or the contrary of one. */
static bool
note_bool(struct sql_key *k, struct sql_conj *conj)
{
	const struct expr *e = conj->e;
	bool is = true;
	struct sql_key_col *c = key_col(k, e);
	struct val v;

	if (!c && (e->node == EX_NOT || e->node == EX_IS_FALSE ||
		      e->node == EX_IS_TRUE)) {
		is = e->node == EX_IS_TRUE;
		c = key_col(k, e->args[0]);
	}
	if (!c || c->type != EX_BOOL || k->t->open)
		return false;
	v = val_bool(is);
	note_eq(k, c, &v, 1, conj);
	return true;
}

/* ---- ranges ---- */

static void
note_bound(struct sql_key *k, struct sql_key_col *c, const char *op,
    struct val v, struct sql_conj *conj)
{
	bool lower = op[0] == '>', incl = op[1] == '=';
	struct val out;

	if (k->t->open)
		return; /* keys of several types are not in SQL's order */
	switch (sql_fit(k->x, v, c->type, &out)) {
	case SQL_FIT_EXACT:
		break;
	case SQL_FIT_BELOW: /* c > v is c > out; c < v is c <= out */
		incl = !lower;
		break;
	case SQL_FIT_ABOVE: /* c > v is c >= out; c < v is c < out */
		incl = lower;
		break;
	default:
		return;
	}
	if (lower && !c->has_lo) {
		c->has_lo = true;
		c->lo = out;
		c->lo_incl = incl;
		c->lo_conj = conj;
	} else if (!lower && !c->has_hi) {
		c->has_hi = true;
		c->hi = out;
		c->hi_incl = incl;
		c->hi_conj = conj;
	}
}

static const char *
swapped(const char *op)
{
	return op[0] == '<'   ? (op[1] == '=' ? ">=" : ">")
	       : op[0] == '>' ? (op[1] == '=' ? "<=" : "<")
			      : op;
}

static bool
is_comparison(const char *op)
{
	return op &&
	       (!strcmp(op, "=") || !strcmp(op, "<") || !strcmp(op, "<=") ||
		   !strcmp(op, ">") || !strcmp(op, ">="));
}

static void
note_call(struct sql_key *k, struct sql_conj *conj)
{
	const struct expr *e = conj->e, *con = NULL;
	struct sql_key_col *c = NULL;
	const char *op;

	if (e->node != EX_CALL || e->n_args != 2)
		return;
	if (e->args[1]->node == EX_CONST)
		c = key_col(k, (con = e->args[1], e->args[0]));
	else if (e->args[0]->node == EX_CONST)
		c = key_col(k, (con = e->args[0], e->args[1]));
	if (!c)
		return;
	op = sql_op_name(e->u.func);
	if (!is_comparison(op))
		return;
	if (con->u.con.null) {
		k->empty = true; /* never true */
		return;
	}
	if (con == e->args[0])
		op = swapped(op);
	if (op[0] == '=')
		note_eq(k, c, &con->u.con, 1, conj);
	else
		note_bound(k, c, op, con->u.con, conj);
}

void
sql_key_note(struct sql_key *k, struct sql_conj *conj)
{
	const struct expr *e = conj->e;

	if (e->node == EX_CONST) {
		if (e->u.con.null || !e->u.con.u.b)
			k->empty = true;
		return;
	}
	if (!note_in(k, conj) && !note_null(k, conj) && !note_bool(k, conj))
		note_call(k, conj);
}
