#include "expr/t/calc.h"

#include <stdio.h>

#include "regress/lib/cu.h"

/* The aggregate over the values, "type:text" with NULL at the end. */
static const char *
agg(const char *name, const char *const *values)
{
	struct arena *a = calc_arena();
	struct expr *first = calc_arg(values[0]), *cast;
	uint32_t types[2] = {first->type, EX_TEXT};
	uint32_t n = strcmp(name, "string_agg") == 0 ? 2 : 1;
	const struct ex_agg *g;
	struct ex_agg_state *s;
	struct ex_ctx ctx = {.arena = a, .env = &ex_env_default};
	struct val v[2] = {0}, r;
	struct err *err;
	struct buf b;

	err = ex_find_agg(a, str_c(name), types, n, false, &g);
	if (err)
		return arena_printf(a, "!%s %s", err->sqlstate, err->message);
	MUST(g != NULL);
	s = ex_agg_new(a, g);
	v[1] = val_str(EX_TEXT, STR(", "));
	for (size_t i = 0; values[i]; i++) {
		MUST(!ex_coerce(a, &ex_env_default, calc_arg(values[i]), g->arg,
		    -1, EX_IMPLICIT, &cast));
		MUST(!ex_eval(&ctx, cast, &v[0]));
		err = ex_agg_add(a, s, v, n);
		if (err)
			return arena_printf(
			    a, "!%s %s", err->sqlstate, err->message);
	}
	err = ex_agg_result(a, s, &r);
	if (err)
		return arena_printf(a, "!%s %s", err->sqlstate, err->message);
	CHECK(r.type == g->ret);
	if (r.null)
		return "NULL";
	buf_init(&b, a);
	buf_printf(&b, "%s:", ex_type(r.type)->name);
	ex_out(&b, &ex_env_default, r);
	return buf_cstr(&b);
}
#define AGG(name, ...) agg((name), (const char *const[]){__VA_ARGS__, NULL})

static void
sums_have_postgresql_types(void)
{
	CHECK_STR(AGG("sum", "int4:2147483647", "int4:1"), "int8:2147483648");
	CHECK_STR(AGG("sum", "int2:1", "int2:NULL"), "int8:1");
	CHECK_STR(AGG("sum", "int8:9223372036854775807", "int8:1"),
	    "numeric:9223372036854775808");
	CHECK_STR(AGG("sum", "numeric:1.10", "numeric:2.205"), "numeric:3.305");
	CHECK_STR(AGG("sum", "float8:1.5", "float8:2"), "float8:3.5");
	CHECK_STR(AGG("sum", "float4:1.5", "float4:2"), "float4:3.5");
	CHECK_STR(AGG("sum", "float8:1e308", "float8:1e308"),
	    "!22003 value out of range: overflow");
	CHECK_STR(AGG("sum", "interval:1 day", "interval:1 month"),
	    "interval:1 mon 1 day");
	CHECK_STR(AGG("sum", "int4:NULL"), "NULL");
	calc_fini();
}

static void
averages_have_postgresql_scales(void)
{
	CHECK_STR(AGG("avg", "int4:1", "int4:2"), "numeric:1.5000000000000000");
	CHECK_STR(AGG("avg", "int8:1", "int8:2", "int8:2"),
	    "numeric:1.6666666666666667");
	CHECK_STR(AGG("avg", "int4:100000", "int4:200001"),
	    "numeric:150000.500000000000");
	CHECK_STR(AGG("avg", "numeric:1.5", "numeric:NULL", "numeric:2"),
	    "numeric:1.7500000000000000");
	CHECK_STR(AGG("avg", "float4:1", "float4:2"), "float8:1.5");
	CHECK_STR(AGG("avg", "interval:1 day", "interval:2 days"),
	    "interval:1 day 12:00:00");
	CHECK_STR(AGG("avg", "int4:NULL"), "NULL");
	calc_fini();
}

static void
extremes_work_for_ordered_types(void)
{
	CHECK_STR(AGG("min", "int4:3", "int4:NULL", "int4:1"), "int4:1");
	CHECK_STR(AGG("max", "text:abc", "text:b", "text:NULL"), "text:b");
	CHECK_STR(AGG("max", "varchar:abc", "varchar:b"), "text:b");
	CHECK_STR(
	    AGG("min", "date:2020-01-01", "date:-infinity"), "date:-infinity");
	CHECK_STR(AGG("max", "float8:1", "float8:NaN"), "float8:NaN");
	CHECK_STR(
	    AGG("max", "numeric:1", "numeric:1e10"), "numeric:10000000000");
	CHECK_STR(AGG("max", "bool:t"),
	    "!42883 function max(boolean) does not exist");
	CHECK_STR(
	    AGG("sum", "text:t"), "!42883 function sum(text) does not exist");
	CHECK_STR(AGG("sum", "unknown:1"),
	    "!42725 function sum(unknown) is not unique");
	calc_fini();
}

static void
counts_and_bools_and_strings(void)
{
	CHECK_STR(AGG("count", "int4:3", "int4:NULL", "int4:1"), "int8:2");
	CHECK_STR(AGG("count", "json:3"), "int8:1");
	CHECK_STR(AGG("bool_and", "bool:t", "bool:NULL"), "bool:t");
	CHECK_STR(AGG("every", "bool:t", "bool:f"), "bool:f");
	CHECK_STR(AGG("bool_or", "bool:f", "bool:t"), "bool:t");
	CHECK_STR(AGG("bool_or", "bool:NULL"), "NULL");
	CHECK_STR(
	    AGG("string_agg", "text:a", "text:NULL", "text:b"), "text:a, b");
	CHECK_STR(AGG("string_agg", "text:NULL"), "NULL");
	calc_fini();
}

static void
star_is_for_count_only(void)
{
	const struct ex_agg *g;
	struct ex_agg_state *s;
	struct val r;

	MUST(!ex_find_agg(calc_arena(), STR("count"), NULL, 0, true, &g));
	MUST(g && g->kind == EX_AGG_COUNT_STAR);
	s = ex_agg_new(calc_arena(), g);
	MUST(!ex_agg_add(calc_arena(), s, NULL, 0));
	MUST(!ex_agg_result(calc_arena(), s, &r));
	CHECK(r.u.i == 1);
	CHECK(
	    err_is(ex_find_agg(calc_arena(), STR("count"), NULL, 0, false, &g),
		ERRCODE_WRONG_OBJECT_TYPE));
	MUST(!ex_find_agg(calc_arena(), STR("lower"), NULL, 0, false, &g));
	CHECK(g == NULL);
	CHECK(ex_agg(EX_AGG_SUM, EX_INT8)->ret == EX_NUMERIC);
	CHECK(ex_agg(EX_AGG_SUM, EX_TEXT) == NULL);
	CHECK(ex_agg(99, EX_INT8) == NULL);
	calc_fini();
}

/* Values added may die at once: states hold copies. */
static void
states_keep_copies(void)
{
	const struct ex_agg *g = ex_agg(EX_AGG_MAX, EX_TEXT);
	struct ex_agg_state *s = ex_agg_new(calc_arena(), g);
	char bytes[4] = "zzz";
	struct val v = val_str(EX_TEXT, str_of(bytes, 3)), r;

	MUST(!ex_agg_add(calc_arena(), s, &v, 1));
	memcpy(bytes, "aaa", 3);
	MUST(!ex_agg_add(calc_arena(), s, &v, 1));
	MUST(!ex_agg_result(calc_arena(), s, &r));
	CHECK(str_eq(r.u.s, STR("zzz")));
	calc_fini();
}

CU_MAIN("agg", {"sums_have_postgresql_types", sums_have_postgresql_types},
    {"averages_have_postgresql_scales", averages_have_postgresql_scales},
    {"extremes_work_for_ordered_types", extremes_work_for_ordered_types},
    {"counts_and_bools_and_strings", counts_and_bools_and_strings},
    {"star_is_for_count_only", star_is_for_count_only},
    {"states_keep_copies", states_keep_copies})
