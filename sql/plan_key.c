/* How to reach rows by their primary key.
 *
 * Of the conditions joined by AND, those that compare a key column with a
 * constant bound the keys: all columns pinned by = or IN are points; a pinned
 * prefix, with or without a range on the next column, is one or more ranges.
 * A constant takes part only when it means the same as a value of the column's
 * own type: `intcol = 5.5` has no such value, and nothing matches. */
#include <stdlib.h>

#include "expr/table.h"
#include "sql/exec_int.h"

/* What is known of one key column. */
struct key_col {
	const struct cl_column *col;
	bool has_eq;
	bool eq_probes; /* several encodings of one value (open tables) */
	struct val *eq;
	uint32_t n_eq;
	struct sql_conj *eq_conj;
	bool has_lo, has_hi, lo_incl, hi_incl;
	struct val lo, hi;
	struct sql_conj *lo_conj, *hi_conj;
};

struct keys {
	struct sql_exec *x;
	const struct sql_rel *rel;
	const struct cl_table *t;
	uint32_t n;
	struct key_col *cols;
	bool empty;
};

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

/* ---- constants as values of the column's type ---- */

enum fit {
	FIT_EXACT,
	FIT_BELOW, /* *out is the nearest value, below v */
	FIT_ABOVE, /* the same, above */
	FIT_NONE,  /* the type has no value near v */
	FIT_UNKNOWN
};

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

static enum fit
fit(struct sql_exec *x, struct val v, uint32_t type, struct val *out)
{
	const struct ex_type *t = ex_type(v.type);
	struct val back;
	int c;

	*out = v;
	if (v.type == type)
		return FIT_EXACT;
	if (is_text(v.type) && is_text(type)) {
		out->type = type;
		return type == EX_NAME ? FIT_UNKNOWN : FIT_EXACT;
	}
	if (!may_convert(v.type, type))
		return FIT_UNKNOWN;
	if (!convert(x, v, type, out))
		return FIT_NONE;
	if (!convert(x, *out, v.type, &back))
		return FIT_UNKNOWN;
	c = t->cmp(back, v);
	return c == 0 ? FIT_EXACT : c < 0 ? FIT_BELOW : FIT_ABOVE;
}

/* ---- recognising conditions ---- */

/* The column behind casts that keep the order of values. */
static const struct expr *
bare_column(const struct expr *e)
{
	const struct ex_func *f;

	if (e->node == EX_COLUMN)
		return e;
	if (e->n_args != 1 || e->args[0]->node != EX_COLUMN)
		return NULL;
	if (e->node == EX_TYPMOD && e->typmod < 0)
		return e->args[0];
	if (e->node == EX_CALL &&
	    ex_find_cast(e->args[0]->type, e->type, EX_IMPLICIT, &f) &&
	    f == e->u.func)
		return e->args[0];
	return NULL;
}

static struct key_col *
key_col(const struct keys *k, const struct expr *e)
{
	const struct expr *c = bare_column(e);

	if (!c)
		return NULL;
	for (uint32_t i = 0; i < k->rel->n_cols; i++) {
		if (k->rel->cols[i].pos != c->u.col + 1)
			continue;
		for (uint32_t j = 0; j < k->n; j++)
			if (k->cols[j].col->id == k->rel->cols[i].id)
				return &k->cols[j];
	}
	return NULL;
}

/* ---- open tables ---- */

static void
probe(struct keys *k, struct val v, uint32_t type, struct val *eq, uint32_t *n)
{
	struct val out, back;

	if (v.type == type) {
		eq[(*n)++] = v;
		return;
	}
	if (!convert(k->x, v, type, &out) ||
	    !convert(k->x, out, v.type, &back) ||
	    ex_type(v.type)->cmp(v, back) != 0)
		return;
	eq[(*n)++] = out;
}

/* Every encoding under which a value equal to v may have been stored. */
static void
probe_all(struct keys *k, const struct cl_column *col, struct val v,
    struct val *eq, uint32_t *n)
{
	static const uint32_t numbers[] = {
	    EX_INT8, EX_FLOAT4, EX_FLOAT8, EX_NUMERIC};
	struct val num;

	if (is_text(v.type)) {
		v.type = EX_TEXT;
		eq[(*n)++] = v;
		/* The text of a column of several types may stand for a
		 * number. */
		if (!(col->flags & CL_COL_MIXED) ||
		    ex_in(k->x->arena, k->x->env->ex, EX_NUMERIC, -1, v.u.s,
			&num))
			return;
		v = num;
	}
	if (!is_number(v.type)) {
		eq[(*n)++] = v;
		return;
	}
	if (is_int(v.type))
		v.type = EX_INT8;
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		probe(k, v, numbers[i], eq, n);
}

#define PROBES_MAX (SQL_KEY_VALUES_MAX - 1)

/* ---- equality ---- */

/* The values of a column that equal one of vs. False: cannot tell. */
static bool
eq_values(struct keys *k, struct key_col *c, const struct val *vs, uint32_t n,
    struct val *eq, uint32_t *n_eq)
{
	*n_eq = 0;
	for (uint32_t i = 0; i < n; i++) {
		enum fit f;

		if (vs[i].null)
			continue;
		if (k->t->open && !(c->col->flags & CL_COL_HIDDEN)) {
			probe_all(k, c->col, vs[i], eq, n_eq);
			continue;
		}
		f = fit(k->x, vs[i], c->col->type, &eq[*n_eq]);
		if (f == FIT_UNKNOWN)
			return false;
		*n_eq += f == FIT_EXACT;
	}
	return true;
}

static void
note_eq(struct keys *k, struct key_col *c, const struct val *vs, uint32_t n,
    struct sql_conj *conj)
{
	uint32_t per = k->t->open ? PROBES_MAX : 1, n_eq;
	struct val *eq;

	if (n > SQL_POINTS_MAX)
		return;
	eq = NEW_N(k->x->arena, struct val, n * per + 1);
	if (!eq_values(k, c, vs, n, eq, &n_eq))
		return;
	/* Two conditions on one column: the shorter list leads, the other
	 * stays a filter. */
	if (c->has_eq && c->n_eq <= n_eq)
		return;
	if (n_eq == 0)
		k->empty = true;
	c->has_eq = true;
	c->eq_probes = k->t->open;
	c->eq = eq;
	c->n_eq = n_eq;
	c->eq_conj = conj;
}

static bool
note_in(struct keys *k, struct sql_conj *conj)
{
	const struct expr *e = conj->e;
	struct key_col *c;
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

/* ---- ranges ---- */

static void
note_bound(struct keys *k, struct key_col *c, const char *op, struct val v,
    struct sql_conj *conj)
{
	bool lower = op[0] == '>', incl = op[1] == '=';
	struct val out;

	if (k->t->open)
		return; /* keys of several types are not in SQL's order */
	switch (fit(k->x, v, c->col->type, &out)) {
	case FIT_EXACT:
		break;
	case FIT_BELOW: /* c > v is c > out; c < v is c <= out */
		incl = !lower;
		break;
	case FIT_ABOVE: /* c > v is c >= out; c < v is c < out */
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
note_call(struct keys *k, struct sql_conj *conj)
{
	const struct expr *e = conj->e, *con = NULL;
	struct key_col *c = NULL;
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

static void
note(struct keys *k, struct sql_conj *conj)
{
	const struct expr *e = conj->e;

	if (e->node == EX_CONST) {
		if (e->u.con.null || !e->u.con.u.b)
			k->empty = true;
		return;
	}
	if (!note_in(k, conj))
		note_call(k, conj);
}

/* ---- from columns to keys ---- */

static int
by_bytes(const void *x, const void *y)
{
	return str_cmp(*(const struct str *)x, *(const struct str *)y);
}

/* Combination i of the values of the first n columns, encoded. */
static struct str
combination(struct keys *k, uint32_t n, uint64_t i)
{
	struct val pk[CL_KEY_COLUMNS_MAX];
	struct buf b;

	for (uint32_t c = n; c-- > 0;) {
		pk[c] = k->cols[c].eq[i % k->cols[c].n_eq];
		i /= k->cols[c].n_eq;
	}
	buf_init(&b, k->x->arena);
	ex_table_key_prefix(&b, k->t, pk, n);
	return buf_view(&b);
}

/* All combinations, in key order, each once. */
static struct str *
combinations(struct keys *k, uint32_t n, uint64_t count, uint32_t *n_out)
{
	struct str *keys = NEW_N(k->x->arena, struct str, count + 1);
	uint32_t kept = 0;

	for (uint64_t i = 0; i < count; i++)
		keys[i] = combination(k, n, i);
	if (count)
		qsort(keys, count, sizeof *keys, by_bytes);
	for (uint64_t i = 0; i < count; i++)
		if (kept == 0 || !str_eq(keys[kept - 1], keys[i]))
			keys[kept++] = keys[i];
	*n_out = kept;
	return keys;
}

/* `prefix`, then v for the next column. */
static struct str
with_column(struct keys *k, struct str prefix, struct val v)
{
	struct buf b;

	buf_init(&b, k->x->arena);
	buf_str(&b, prefix);
	ex_key_put(&b, CL_TAG_NONE, CL_KEY_ASC, v);
	return buf_view(&b);
}

static struct sql_range
range_of(struct keys *k, struct str prefix, uint32_t col)
{
	struct arena *a = k->x->arena;
	struct sql_range r = {
	    prefix, prefix.len ? cl_key_after_prefix(a, prefix) : STR_NONE};
	const struct key_col *c = col < k->n ? &k->cols[col] : NULL;

	if (c && c->has_lo) {
		r.start = with_column(k, prefix, c->lo);
		if (!c->lo_incl)
			r.start = cl_key_after_prefix(a, r.start);
	}
	if (c && c->has_hi) {
		r.end = with_column(k, prefix, c->hi);
		if (c->hi_incl)
			r.end = cl_key_after_prefix(a, r.end);
	}
	return r;
}

static void
take(struct sql_reach *out, struct sql_conj *conj)
{
	if (!conj || conj->taken)
		return;
	conj->taken = true;
	out->index_cond[out->n_index_cond++] = conj->e;
}

static void
make_ranges(struct keys *k, uint32_t n, uint64_t count, struct sql_reach *out)
{
	struct str *prefixes = combinations(k, n, count, &out->n_ranges);
	uint32_t kept = 0;

	out->n_pinned = count == 1 ? n : 0;
	out->ranges = NEW_N(k->x->arena, struct sql_range, out->n_ranges + 1);
	for (uint32_t i = 0; i < out->n_ranges; i++) {
		struct sql_range r = range_of(k, prefixes[i], n);

		if (r.end.len == 0 || str_cmp(r.start, r.end) < 0)
			out->ranges[kept++] = r;
	}
	out->n_ranges = kept;
	for (uint32_t i = 0; i < n; i++)
		take(out, k->cols[i].eq_conj);
	if (n < k->n) {
		take(out, k->cols[n].lo_conj);
		take(out, k->cols[n].hi_conj);
	}
}

static void
make_access(struct keys *k, struct sql_reach *out)
{
	uint64_t count = 1;
	uint32_t n = 0;

	while (n < k->n && k->cols[n].has_eq &&
	       count * k->cols[n].n_eq <= SQL_POINTS_MAX) {
		count *= k->cols[n].n_eq;
		n++;
	}
	if (n > 0 && n == k->n) {
		out->points = true;
		out->n_pinned = n;
		out->keys = combinations(k, n, count, &out->n_keys);
		for (uint32_t i = 0; i < n; i++)
			take(out, k->cols[i].eq_conj);
		return;
	}
	while (count > SQL_RANGES_MAX)
		count /= k->cols[--n].n_eq;
	make_ranges(k, n, count, out);
}

struct err *
sql_plan_access(struct sql_exec *x, const struct sql_rel *r,
    struct sql_conj *conjs, uint32_t n, struct sql_reach *out)
{
	struct keys k = {.x = x, .rel = r, .t = r->table};

	memset(out, 0, sizeof *out);
	k.n = r->table->n_pkey;
	ASSERT(k.n <= CL_KEY_COLUMNS_MAX);
	k.cols = NEW_N(x->arena, struct key_col, k.n + 1);
	for (uint32_t i = 0; i < k.n; i++) {
		k.cols[i].col = cl_table_column_id(r->table, r->table->pkey[i]);
		ASSERT(k.cols[i].col != NULL);
	}
	out->index_cond = NEW_N(x->arena, struct expr *, n + 1);
	for (uint32_t i = 0; i < n; i++)
		note(&k, &conjs[i]);
	if (k.empty) {
		out->empty = true;
		return NULL;
	}
	make_access(&k, out);
	return NULL;
}

/* ---- what others ask ---- */

struct err *
sql_tell_reach(struct sql_exec *x, const struct sql_rel *r,
    const struct sql_conj *conjs, uint32_t n)
{
	struct sql_bounds what = {.table = r->table};
	struct sql_conj *own;
	struct sql_reach reach;

	if (!x->src || !x->src->ops->reach)
		return NULL;
	/* Conditions get marked, and these are the access's. */
	own = arena_dup(x->arena, conjs, (n + 1) * sizeof *own);
	TRY(sql_plan_access(x, r, own, n, &reach));
	if (!reach.empty && reach.points) {
		what.keys = reach.keys;
		what.n_keys = reach.n_keys;
	} else if (!reach.empty) {
		what.ranges = reach.ranges;
		what.n_ranges = reach.n_ranges;
	}
	return x->src->ops->reach(x->src, x->arena, &what);
}

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
	struct keys k = {.x = &x, .t = t};
	struct key_col c = {.col = kv->column};
	struct val v = kv->given, own, probed, eq[PROBES_MAX];
	uint32_t n;

	kv->n = 0;
	TRY(typed(&x, t, kv->column, &v));
	own = stored(v);
	probed = t->open ? as_text(&x, kv->column, v) : v;
	if (!eq_values(&k, &c, &probed, 1, eq, &n))
		return NULL;
	if (t->open)
		kv->vals[kv->n++] = own;
	for (uint32_t i = 0; i < n; i++)
		if (!t->open || eq[i].type != own.type)
			kv->vals[kv->n++] = eq[i];
	return NULL;
}
