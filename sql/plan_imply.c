/* Whether conditions that hold imply another one: the predicate of a partial
 * index.  Simple proofs only: the same condition is there; a comparison says
 * that what it compares is not NULL, or bounds it more narrowly; a column that
 * equals a constant makes the rest constant. */
#include "sql/plan_int.h"

/* ---- not NULL ---- */

/* Whether a true conj means that x is not NULL: it compares x. */
static bool
is_strict_in(const struct expr *conj, const struct expr *x)
{
	uint32_t n = conj->node == EX_IN ? 1 : conj->n_args;

	if (conj->node != EX_IN &&
	    (conj->node != EX_CALL || !sql_op_name(conj->u.func) ||
		conj->type != EX_BOOL || !conj->u.func->strict))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		const struct expr *inner = sql_behind_cast(conj->args[i]);

		if (ex_equal(conj->args[i], x) || (inner && ex_equal(inner, x)))
			return true;
	}
	return false;
}

/* ---- bounds ---- */

/* x op constant. */
struct bound {
	const struct expr *x;
	struct val v;
	bool lower, upper; /* "=" is both */
	bool incl;
};

static bool
read_bound(const struct expr *e, struct bound *b)
{
	const char *op = e->node == EX_CALL && e->n_args == 2
			     ? sql_op_name(e->u.func)
			     : NULL;

	if (!op || !strchr("<>=", op[0]) || strcmp(op, "<>") == 0 ||
	    (op[1] && strcmp(op + 1, "=") != 0))
		return false;
	if (e->args[1]->node != EX_CONST || e->args[1]->u.con.null ||
	    e->args[0]->type != e->args[1]->type ||
	    !ex_type(e->args[1]->type)->cmp)
		return false;
	*b = (struct bound){.x = e->args[0],
	    .v = e->args[1]->u.con,
	    .lower = op[0] != '<',
	    .upper = op[0] != '>',
	    .incl = op[0] == '=' || op[1] == '='};
	return true;
}

/* x > 5 holds wherever x > 7 does. */
static bool
is_narrower(const struct expr *have, const struct expr *want)
{
	struct bound h, w;
	int c;

	if (!read_bound(have, &h) || !read_bound(want, &w) ||
	    h.v.type != w.v.type || (w.lower && w.upper) || !ex_equal(h.x, w.x))
		return false;
	c = ex_type(h.v.type)->cmp(h.v, w.v);
	if (w.lower ? !h.lower : !h.upper)
		return false;
	return (w.lower ? c > 0 : c < 0) || (c == 0 && (w.incl || !h.incl));
}

/* ---- one value ---- */

/* Types whose equal values cannot be told apart by any function. */
static bool
is_identity(uint32_t type)
{
	return type == EX_INT2 || type == EX_INT4 || type == EX_INT8 ||
	       type == EX_TEXT || type == EX_BOOL || type == EX_DATE ||
	       type == EX_TIMESTAMP || type == EX_TIMESTAMPTZ ||
	       type == EX_UUID;
}

struct given {
	const struct expr *x; /* equals v */
	const struct expr *v;
};

static struct err *
put_value(struct expr *e, void *arg, struct expr **out)
{
	const struct given *g = arg;

	*out = ex_equal(e, g->x) ? (struct expr *)(uintptr_t)g->v : NULL;
	return NULL;
}

/* `want` is true of the value that `have` says something has. */
static bool
is_true_of(struct sql_exec *x, const struct expr *have, const struct expr *want)
{
	struct given g = {NULL, NULL};
	struct sql_rewrite how = {.before = put_value, .arg = &g};
	struct expr *e = (struct expr *)(uintptr_t)want;
	struct bound b;

	if (!read_bound(have, &b) || !b.lower || !b.upper ||
	    !is_identity(b.v.type))
		return false;
	g = (struct given){b.x, have->args[1]};
	if (sql_expr_rewrite(x->arena, e, &how, &e))
		return false;
	e = sql_fold(x, e);
	return e->node == EX_CONST && !e->u.con.null && e->u.con.u.b;
}

bool
sql_implied(struct sql_exec *x, const struct expr *want,
    const struct sql_conj *conjs, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct expr *have = conjs[i].e;

		if (ex_equal(have, want) || is_narrower(have, want) ||
		    is_true_of(x, have, want))
			return true;
		if (want->node == EX_IS_NOT_NULL &&
		    is_strict_in(have, want->args[0]))
			return true;
	}
	return false;
}
