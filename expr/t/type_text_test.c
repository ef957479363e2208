#include "expr/t/type_case.h"
#include "regress/lib/cu.h"

static const struct type_case texts[] = {
#include "expr/t/type_text_cases.def"
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
		v[n] = val_str(EX_TEXT, case_bytes(a, n % 5, 3));
	CHECK(case_keys(v, n) == 0);
	for (n = 0; n < 40; n++)
		v[n] = val_str(EX_BPCHAR, n % 2   ? STR("a  ")
					  : n % 3 ? STR("a")
						  : STR(" a "));
	MUST(n <= sizeof(v) / sizeof(v[0]));
	CHECK(case_keys(v, n) == 0);
	arena_free(a);
}

static void
ill_formed_utf8_is_named(void)
{
	struct arena *a = arena_new(NULL, "test");
	struct val v;
	struct err *e;

	e = ex_in(a, &ex_env_default, EX_TEXT, -1, STR("a\xe2\x28\xa1"), &v);
	MUST(e != NULL);
	CHECK_STR(e->sqlstate, "22021");
	CHECK_STR(e->message,
	    "invalid byte sequence for encoding \"UTF8\": 0xe2 0x28 0xa1");
	e = ex_recv(a, EX_VARCHAR, -1, STR("a\0b"), &v);
	MUST(e != NULL);
	CHECK_STR(
	    e->message, "invalid byte sequence for encoding \"UTF8\": 0x00");
	arena_free(a);
}

static struct err *
assign(struct arena *a, uint32_t type, const char *text, int32_t typmod)
{
	struct val v = val_str(type, str_c(text));

	return ex_type(type)->apply_typmod(a, v, typmod, false, &v);
}

static void
assignment_refuses_where_a_cast_cuts(void)
{
	struct arena *a = arena_new(NULL, "test");
	struct err *e = assign(a, EX_VARCHAR, "abcd", 7);

	MUST(e != NULL);
	CHECK_STR(e->sqlstate, "22001");
	CHECK_STR(e->message, "value too long for type character varying(3)");
	e = assign(a, EX_BPCHAR, "abcd", 7);
	MUST(e != NULL);
	CHECK_STR(e->message, "value too long for type character(3)");
	CHECK(!assign(a, EX_VARCHAR, "abc   ", 7));
	CHECK(!assign(a, EX_BPCHAR, "abc   ", 7));
	arena_free(a);
}

CU_MAIN("type_text",
    {"texts_wire_rows_and_keys_are_postgresql_s",
	texts_wire_rows_and_keys_are_postgresql_s},
    {"keys_sort_as_values", keys_sort_as_values},
    {"ill_formed_utf8_is_named", ill_formed_utf8_is_named},
    {"assignment_refuses_where_a_cast_cuts",
	assignment_refuses_where_a_cast_cuts})
