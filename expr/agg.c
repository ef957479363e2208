/* Aggregates: state machines over values, with PostgreSQL's result types. */
#include "expr/func_int.h"
#include "expr/interval_int.h"
#include "expr/numeric.h"
#include "expr/resolve_int.h"

#define AGG(kind, name, arg, ret)                                              \
	{                                                                      \
		kind, name, arg, ret                                           \
	}
#define MIN_MAX(type)                                                          \
	AGG(EX_AGG_MIN, "min", type, type), AGG(EX_AGG_MAX, "max", type, type)

static const struct ex_agg aggs[] = {
    AGG(EX_AGG_COUNT_STAR, "count", 0, EX_INT8),
    AGG(EX_AGG_COUNT, "count", EX_ANY, EX_INT8),
    AGG(EX_AGG_SUM, "sum", EX_INT2, EX_INT8),
    AGG(EX_AGG_SUM, "sum", EX_INT4, EX_INT8),
    AGG(EX_AGG_SUM, "sum", EX_INT8, EX_NUMERIC),
    AGG(EX_AGG_SUM, "sum", EX_FLOAT4, EX_FLOAT4),
    AGG(EX_AGG_SUM, "sum", EX_FLOAT8, EX_FLOAT8),
    AGG(EX_AGG_SUM, "sum", EX_NUMERIC, EX_NUMERIC),
    AGG(EX_AGG_SUM, "sum", EX_INTERVAL, EX_INTERVAL),
    AGG(EX_AGG_AVG, "avg", EX_INT2, EX_NUMERIC),
    AGG(EX_AGG_AVG, "avg", EX_INT4, EX_NUMERIC),
    AGG(EX_AGG_AVG, "avg", EX_INT8, EX_NUMERIC),
    AGG(EX_AGG_AVG, "avg", EX_FLOAT4, EX_FLOAT8),
    AGG(EX_AGG_AVG, "avg", EX_FLOAT8, EX_FLOAT8),
    AGG(EX_AGG_AVG, "avg", EX_NUMERIC, EX_NUMERIC),
    AGG(EX_AGG_AVG, "avg", EX_INTERVAL, EX_INTERVAL),
    MIN_MAX(EX_INT2),
    MIN_MAX(EX_INT4),
    MIN_MAX(EX_INT8),
    MIN_MAX(EX_OID),
    MIN_MAX(EX_FLOAT4),
    MIN_MAX(EX_FLOAT8),
    MIN_MAX(EX_NUMERIC),
    MIN_MAX(EX_TEXT),
    MIN_MAX(EX_BPCHAR),
    MIN_MAX(EX_DATE),
    MIN_MAX(EX_TIME),
    MIN_MAX(EX_TIMESTAMP),
    MIN_MAX(EX_TIMESTAMPTZ),
    MIN_MAX(EX_INTERVAL),
    AGG(EX_AGG_BOOL_AND, "bool_and", EX_BOOL, EX_BOOL),
    AGG(EX_AGG_BOOL_AND, "every", EX_BOOL, EX_BOOL),
    AGG(EX_AGG_BOOL_OR, "bool_or", EX_BOOL, EX_BOOL),
    AGG(EX_AGG_STRING_AGG, "string_agg", EX_TEXT, EX_TEXT),
    AGG(EX_AGG_STRING_AGG, "string_agg", EX_BYTEA, EX_BYTEA),
};
#define N_AGGS (sizeof aggs / sizeof *aggs)

struct ex_agg_state {
	const struct ex_agg *agg;
	struct arena *arena;
	int64_t count; /* values that were not NULL; rows for count(*) */
	__int128 ints;
	double real;
	struct num_sum *num;
	struct ex_interval iv;
	struct val best;  /* min, max, bool_and, bool_or */
	struct buf bytes; /* of best, or of string_agg */
};

const struct ex_agg *
ex_agg(uint32_t kind, uint32_t arg)
{
	for (size_t i = 0; i < N_AGGS; i++)
		if ((uint32_t)aggs[i].kind == kind &&
		    (aggs[i].arg == arg || aggs[i].arg == EX_ANY))
			return &aggs[i];
	return NULL;
}

bool
ex_agg_exists(struct str name)
{
	for (size_t i = 0; i < N_AGGS; i++)
		if (str_eq(str_c(aggs[i].name), name))
			return true;
	return false;
}

static uint32_t
n_args(const struct ex_agg *g)
{
	return g->kind == EX_AGG_COUNT_STAR   ? 0
	       : g->kind == EX_AGG_STRING_AGG ? 2
					      : 1;
}

static struct err *
wrong_star(struct arena *a, struct str name, bool star)
{
	if (star)
		return err_hint(
		    ERR(a, ERRCODE_UNDEFINED_FUNCTION,
			"function %.*s() does not exist", STR_FMT(name)),
		    "No function matches the given name and argument types. "
		    "You might need to add explicit type casts.");
	return ERR(a, ERRCODE_WRONG_OBJECT_TYPE,
	    "%.*s(*) must be used to call a parameterless aggregate function",
	    STR_FMT(name));
}

struct err *
ex_find_agg(struct arena *a, struct str name, const uint32_t *types, uint32_t n,
    bool star, const struct ex_agg **out)
{
	bool is_count = str_eq(name, STR("count"));
	struct ex_candidates c;

	*out = NULL;
	if (!ex_agg_exists(name))
		return NULL;
	if (star && is_count) {
		*out = &aggs[0];
		return NULL;
	}
	if (star || (n == 0 && is_count))
		return wrong_star(a, name, star);
	ex_candidates_init(&c, a, n);
	for (size_t i = 0; i < N_AGGS; i++) {
		uint32_t *t;

		if (!str_eq(str_c(aggs[i].name), name) || n_args(&aggs[i]) != n)
			continue;
		t = ex_candidate_add(&c, &aggs[i]);
		for (uint32_t k = 0; k < n; k++)
			t[k] = aggs[i].arg;
	}
	switch (ex_resolve(&c, types)) {
	case EX_RESOLVED:
		*out = c.best;
		return NULL;
	case EX_AMBIGUOUS:
		return ex_func_ambiguous(a, name, types, n);
	case EX_NO_MATCH:
		break;
	}
	return ex_func_missing(a, name, types, n);
}

struct ex_agg_state *
ex_agg_new(struct arena *a, const struct ex_agg *g)
{
	struct ex_agg_state *s = NEW(a, struct ex_agg_state);

	s->agg = g;
	s->arena = a;
	s->best = val_null(g->ret);
	buf_init(&s->bytes, a);
	if (g->arg == EX_NUMERIC &&
	    (g->kind == EX_AGG_SUM || g->kind == EX_AGG_AVG))
		s->num = num_sum_new(a);
	return s;
}

/* ---- adding ---- */

static bool
is_by_ref(uint32_t type)
{
	const struct ex_type *t = ex_type(type);

	return t && (t->len < 0 || t->len > 16 || type == EX_UUID);
}

/* Keeps a copy of v, in the same bytes as the value kept before. */
static void
keep(struct ex_agg_state *s, struct val v)
{
	s->best = v;
	if (!is_by_ref(v.type))
		return;
	s->bytes.len = 0;
	buf_str(&s->bytes, v.u.s);
	s->best.u.s = buf_view(&s->bytes);
}

static struct err *
overflow(struct arena *errs)
{
	return ERR(errs, ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
	    "value out of range: overflow");
}

static struct err *
add_sum(struct arena *errs, struct ex_agg_state *s, struct val v)
{
	double r;

	switch (s->agg->arg) {
	case EX_NUMERIC:
		num_sum_add(s->num, v.u.s);
		return NULL;
	case EX_INTERVAL:
		return ex_interval_add(errs, s->iv, v.u.iv, &s->iv);
	case EX_FLOAT4:
	case EX_FLOAT8:
		r = s->real + v.u.d;
		if (s->agg->kind == EX_AGG_SUM && s->agg->arg == EX_FLOAT4)
			r = (double)(float)r;
		if (__builtin_isinf(r) && !__builtin_isinf(v.u.d) &&
		    !__builtin_isinf(s->real))
			return overflow(errs);
		s->real = r;
		return NULL;
	default:
		s->ints += v.u.i;
		return NULL;
	}
}

static struct err *
add_text(struct arena *errs, struct ex_agg_state *s, const struct val *args)
{
	struct ex_ctx ctx = {.arena = errs};

	TRY(ex_room(&ctx, s->bytes.len + args[0].u.s.len));
	TRY(arena_check(s->arena));
	if (s->count > 1 && !args[1].null)
		buf_str(&s->bytes, args[1].u.s);
	buf_str(&s->bytes, args[0].u.s);
	return NULL;
}

struct err *
ex_agg_add(struct arena *errs, struct ex_agg_state *s, const struct val *args,
    uint32_t n)
{
	enum ex_agg_kind kind = s->agg->kind;

	ASSERT(n == n_args(s->agg));
	if (kind != EX_AGG_COUNT_STAR && args[0].null)
		return NULL;
	s->count++;
	switch (kind) {
	case EX_AGG_COUNT_STAR:
	case EX_AGG_COUNT:
		return NULL;
	case EX_AGG_SUM:
	case EX_AGG_AVG:
		return add_sum(errs, s, args[0]);
	case EX_AGG_MIN:
	case EX_AGG_MAX:
		if (s->best.null ||
		    (kind == EX_AGG_MIN ? ex_cmp(args[0], s->best) < 0
					: ex_cmp(args[0], s->best) > 0))
			keep(s, args[0]);
		return NULL;
	case EX_AGG_BOOL_AND:
		s->best =
		    val_bool((s->best.null || s->best.u.b) && args[0].u.b);
		return NULL;
	case EX_AGG_BOOL_OR:
		s->best =
		    val_bool((!s->best.null && s->best.u.b) || args[0].u.b);
		return NULL;
	case EX_AGG_STRING_AGG:
		return add_text(errs, s, args);
	}
	UNREACHABLE();
}

/* ---- results ---- */

static struct err *
sum_result(struct arena *a, struct ex_agg_state *s, struct val *out)
{
	switch (s->agg->arg) {
	case EX_NUMERIC:
		return num_sum_get(a, s->num, &out->u.s);
	case EX_INTERVAL:
		out->u.iv = s->iv;
		return NULL;
	case EX_FLOAT4:
	case EX_FLOAT8:
		out->u.d = s->real;
		return NULL;
	case EX_INT8:
		out->u.s = num_of_i128(a, s->ints);
		return NULL;
	default:
		if (s->ints > INT64_MAX || s->ints < INT64_MIN)
			return ERR(a, ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
			    "bigint out of range");
		out->u.i = (int64_t)s->ints;
		return NULL;
	}
}

static struct err *
avg_result(struct arena *a, struct ex_agg_state *s, struct val *out)
{
	struct str sum;

	switch (s->agg->arg) {
	case EX_INTERVAL:
		return ex_interval_div(a, s->iv, (double)s->count, &out->u.iv);
	case EX_FLOAT4:
	case EX_FLOAT8:
		out->u.d = s->real / (double)s->count;
		return NULL;
	case EX_NUMERIC:
		TRY(num_sum_get(a, s->num, &sum));
		break;
	default:
		sum = num_of_i128(a, s->ints);
		break;
	}
	return num_div(a, sum, num_of_i64(a, s->count), &out->u.s);
}

struct err *
ex_agg_result(struct arena *a, struct ex_agg_state *s, struct val *out)
{
	*out = val_null(s->agg->ret);
	switch (s->agg->kind) {
	case EX_AGG_COUNT_STAR:
	case EX_AGG_COUNT:
		ex_set_int(out, s->count);
		return NULL;
	case EX_AGG_MIN:
	case EX_AGG_MAX:
	case EX_AGG_BOOL_AND:
	case EX_AGG_BOOL_OR:
		*out = val_copy(a, s->best);
		return NULL;
	default:
		break;
	}
	if (s->count == 0)
		return NULL;
	out->null = false;
	if (s->agg->kind == EX_AGG_SUM)
		return sum_result(a, s, out);
	if (s->agg->kind == EX_AGG_AVG)
		return avg_result(a, s, out);
	out->u.s = arena_str(a, buf_view(&s->bytes));
	return NULL;
}
