#include "expr/t/type_case.h"
#include "regress/lib/cu.h"

static const struct type_case texts[] = {
#include "expr/t/type_timestamp_cases.def"
};

static void
texts_wire_rows_and_keys_are_postgresql_s(void)
{
	CHECK(case_run(texts, sizeof(texts) / sizeof(texts[0])) == 0);
}

static void
keys_sort_as_values(void)
{
	struct arena *a = arena_new(NULL, "test");
	struct val v[60];
	size_t n = 0;

	for (; n < 60; n++)
		v[n] = val_int(EX_TIMESTAMP, (int64_t)case_random() >> 8);
	v[0].u.i = INT64_MIN;
	v[1].u.i = INT64_MAX;
	MUST(n <= sizeof(v) / sizeof(v[0]));
	CHECK(case_keys(v, n) == 0);
	arena_free(a);
}

static const char *
text_of(struct arena *a, const char *set, const char *type, const char *text)
{
	struct ex_env env;
	struct err *e;
	struct val v;
	struct buf b;

	case_env(&env, a, set);
	e = case_in(a, &env, type, str_c(text), &v);
	if (e)
		return e->message;
	buf_init(&b, a);
	ex_out(&b, &env, v);
	return buf_cstr(&b);
}

/* The session is at 2024-02-29 12:34:56.789 UTC. */
static void
words_for_now_follow_the_session_s_zone(void)
{
	struct arena *a = arena_new(NULL, "test");

	CHECK_STR(
	    text_of(a, "", "timestamptz", "now"), "2024-02-29 12:34:56.789+00");
	CHECK_STR(text_of(a, "timezone=Asia/Tokyo", "timestamp", "now"),
	    "2024-02-29 21:34:56.789");
	CHECK_STR(text_of(a, "timezone=Pacific/Auckland", "date", "today"),
	    "2024-03-01");
	CHECK_STR(text_of(a, "", "date", "tomorrow"), "2024-03-01");
	CHECK_STR(text_of(a, "", "timestamp", "yesterday 04:05"),
	    "2024-02-28 04:05:00");
	CHECK_STR(
	    text_of(a, "timezone=America/New_York", "timestamptz", "today"),
	    "2024-02-29 00:00:00-05");
	CHECK_STR(text_of(a, "timezone=America/New_York", "time", "now"),
	    "07:34:56.789");
	arena_free(a);
}

CU_MAIN("type_timestamp",
    {"texts_wire_rows_and_keys_are_postgresql_s",
	texts_wire_rows_and_keys_are_postgresql_s},
    {"keys_sort_as_values", keys_sort_as_values},
    {"words_for_now_follow_the_session_s_zone",
	words_for_now_follow_the_session_s_zone})
