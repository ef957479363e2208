/* Constants as values of a key column's type.
 *
 * A constant takes part only when it means the same as a value of the column's
 * own type: `intcol = 5.5` has no such value, and nothing matches. */
#include "sql/plan_int.h"

static bool
is_int(uint32_t t)
{
	return t == EX_INT2 || t == EX_INT4 || t == EX_INT8 || t == EX_OID;
}

static bool
is_number(uint32_t t)
{
	return is_int(t) || t == EX_NUMERIC || t == EX_FLOAT4 || t == EX_FLOAT8;
}

static bool
is_text(uint32_t t)
{
	return t == EX_TEXT || t == EX_VARCHAR || t == EX_NAME;
}

static bool
is_moment(uint32_t t)
{
	return t == EX_DATE || t == EX_TIMESTAMP || t == EX_TIMESTAMPTZ;
}

/* Pairs of types whose comparison is that of the values, so that going there
 * and back again tells whether a value fits. int8 against floats is not: many
 * integers are one float. */
static bool
may_convert(uint32_t from, uint32_t to)
{
	if (is_moment(from) && is_moment(to))
		return true;
	if (!is_number(from) || !is_number(to))
		return false;
	if (from == EX_FLOAT4 || from == EX_FLOAT8)
		return to != EX_INT8 && to != EX_NUMERIC;
	if (to == EX_FLOAT4 || to == EX_FLOAT8)
		return from == EX_INT2 || from == EX_INT4;
	return true;
}

static bool
convert(struct sql_exec *x, struct val v, uint32_t to, struct val *out)
{
	struct ex_ctx ctx = sql_ctx(x, x->arena, NULL, 0);
	struct expr *e;

	if (ex_coerce(x->arena, x->env->ex, ex_const(x->arena, v), to, -1,
		EX_EXPLICIT, &e))
		return false;
	return !ex_eval(&ctx, e, out) && !out->null;
}

enum sql_fit
sql_fit(struct sql_exec *x, struct val v, uint32_t type, struct val *out)
{
	const struct ex_type *t = ex_type(v.type);
	struct val back;
	int c;

	*out = v;
	if (v.type == type)
		return SQL_FIT_EXACT;
	if (is_text(v.type) && is_text(type)) {
		out->type = type;
		return type == EX_NAME ? SQL_FIT_UNKNOWN : SQL_FIT_EXACT;
	}
	if (!may_convert(v.type, type))
		return SQL_FIT_UNKNOWN;
	if (!convert(x, v, type, out))
		return SQL_FIT_NONE;
	if (!convert(x, *out, v.type, &back))
		return SQL_FIT_UNKNOWN;
	c = t->cmp(back, v);
	return c == 0 ? SQL_FIT_EXACT : c < 0 ? SQL_FIT_BELOW : SQL_FIT_ABOVE;
}

/* ---- open tables ---- */

static void
probe(struct sql_exec *x, struct val v, uint32_t type, struct val *eq,
    uint32_t *n)
{
	struct val out, back;

	if (v.type == type) {
		eq[(*n)++] = v;
		return;
	}
	if (!convert(x, v, type, &out) || !convert(x, out, v.type, &back) ||
	    ex_type(v.type)->cmp(v, back) != 0)
		return;
	eq[(*n)++] = out;
}

/* One value of each type that this text can be read as. */
static uint32_t
probe_text(struct sql_exec *x, struct val v, struct val *eq)
{
	uint32_t n = 0;

	v.type = EX_TEXT;
	for (unsigned tag = CL_TAG_BOOL; tag <= CL_TAG_MAX; tag++) {
		uint32_t type = ex_type_of_tag((enum cl_tag)tag);

		if (type == EX_TEXT)
			eq[n++] = v;
		else if (type && ex_type(type)->key_enc &&
			 !ex_in(x->arena, &ex_env_default, type, -1, v.u.s,
			     &eq[n]))
			n++;
	}
	return n;
}

uint32_t
sql_probes(struct sql_exec *x, const struct cl_column *col, struct val v,
    bool any, struct val *eq)
{
	static const uint32_t numbers[] = {
	    EX_INT8, EX_FLOAT4, EX_FLOAT8, EX_NUMERIC};
	struct val num;
	uint32_t n = 0;

	if (any && is_text(v.type))
		return probe_text(x, v, eq);
	if (is_text(v.type)) {
		v.type = EX_TEXT;
		eq[n++] = v;
		/* The text of a column of several types may stand for a
		 * number. */
		if (!(col->flags & CL_COL_MIXED) ||
		    ex_in(x->arena, x->env->ex, EX_NUMERIC, -1, v.u.s, &num))
			return n;
		v = num;
	}
	if (!is_number(v.type)) {
		eq[n++] = v;
		return n;
	}
	if (is_int(v.type))
		v.type = EX_INT8;
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		probe(x, v, numbers[i], eq, &n);
	return n;
}

/* ---- what others ask ---- */

/* As a condition binds it: a literal of no type takes the column's, in open
 * tables if it looks like one. */
static struct err *
typed(struct sql_exec *x, const struct cl_table *t, const struct cl_column *col,
    struct val *v)
{
	bool any =
	    t->open && (col->flags & CL_COL_MIXED || col->type == EX_UNKNOWN);
	struct ex_ctx ctx = sql_ctx(x, x->arena, NULL, 0);
	struct expr *e;

	if (v->type != EX_UNKNOWN)
		return NULL;
	if (t->open &&
	    (any || ex_coerce(x->arena, x->env->ex, ex_const(x->arena, *v),
			col->type, -1, EX_IMPLICIT, &e))) {
		v->type = EX_TEXT;
		return NULL;
	}
	TRY(ex_coerce(x->arena, x->env->ex, ex_const(x->arena, *v), col->type,
	    -1, EX_IMPLICIT, &e));
	return ex_eval(&ctx, e, v);
}

/* How v is stored in an open table. */
static struct val
stored(struct val v)
{
	if (is_int(v.type))
		v.type = EX_INT8;
	else if (is_text(v.type))
		v.type = EX_TEXT;
	return v;
}

/* A column of several types is compared as text. */
static struct val
as_text(struct sql_exec *x, const struct cl_column *col, struct val v)
{
	struct buf b;

	if (!(col->flags & CL_COL_MIXED) || is_text(v.type))
		return v;
	buf_init(&b, x->arena);
	ex_out(&b, x->env->ex, v);
	return val_str(EX_TEXT, buf_view(&b));
}

struct err *
sql_key_values(struct arena *a, const struct sql_env *env,
    const struct cl_table *t, struct sql_key_value *kv)
{
	struct sql_exec x = {.arena = a, .env = env};
	struct val v = kv->given, own, eq[SQL_PROBES_MAX];
	uint32_t n;

	kv->n = 0;
	TRY(typed(&x, t, kv->column, &v));
	if (!t->open) {
		kv->n = !v.null && sql_fit(&x, v, kv->column->type,
				       &kv->vals[0]) == SQL_FIT_EXACT;
		return NULL;
	}
	own = stored(v);
	n = sql_probes(&x, kv->column, as_text(&x, kv->column, v), false, eq);
	kv->vals[kv->n++] = own;
	for (uint32_t i = 0; i < n; i++)
		if (eq[i].type != own.type)
			kv->vals[kv->n++] = eq[i];
	ASSERT(kv->n <= SQL_KEY_VALUES_MAX);
	return NULL;
}
