#include "expr/t/type_case.h"
#include "regress/lib/cu.h"

static const struct type_case texts[] = {
#include "expr/t/type_interval_cases.def"
};

static void
texts_wire_rows_and_keys_are_postgresql_s(void)
{
	CHECK(case_run(texts, sizeof(texts) / sizeof(texts[0])) == 0);
}

static const struct case_rank ranks[] = {
#include "expr/t/interval_order.def"
};

static void
order_is_postgresql_s_and_keys_have_it(void)
{
	CHECK(case_order(
		  EX_INTERVAL, ranks, sizeof(ranks) / sizeof(ranks[0])) == 0);
}

/* INTERVAL '...' DAY TO MINUTE and the like. */
static const struct {
	const char *text;
	int32_t typmod;
	const char *out;
} fields[] = {
    {"1", 327679, "1 year"},
    {"1-2", 458751, "1 year 2 mons"},
    {"1 day 2:03:04", 201916415, "1 day 02:03:00"},
    {"1:02", 402718719, "00:01:02"},
    {"400 days 5:06:07.891", 67174399, "400 days 05:00:00"},
    {"1 year 2 months 3 days", 327679, "1 year"},
    {"10", 134283263, "00:10:00"},
    {"5", 67698687, "05:00:00"},
    {"1 2", 67698687, "1 day 02:00:00"},
    {"1:2:3.456", 469762049, "01:02:03.5"},
    {"13 months", 196607, "1 year 1 mon"},
    {"1 2:3", 470351871, "1 day 02:03:00"},
};

static void
fields_of_a_typmod_give_units_and_cut(void)
{
	struct arena *a = arena_new(NULL, "test");

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		struct val v;
		struct buf b;

		buf_init(&b, a);
		MUST(!ex_in(a, &ex_env_default, EX_INTERVAL, fields[i].typmod,
		    str_c(fields[i].text), &v));
		ex_out(&b, &ex_env_default, v);
		CHECK_STR(buf_cstr(&b), fields[i].out);
	}
	arena_free(a);
}

CU_MAIN("type_interval",
    {"texts_wire_rows_and_keys_are_postgresql_s",
	texts_wire_rows_and_keys_are_postgresql_s},
    {"order_is_postgresql_s_and_keys_have_it",
	order_is_postgresql_s_and_keys_have_it},
    {"fields_of_a_typmod_give_units_and_cut",
	fields_of_a_typmod_give_units_and_cut})
