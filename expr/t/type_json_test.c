#include "expr/json_lex.h"
#include "expr/t/type_case.h"
#include "regress/lib/cu.h"

static const struct type_case texts[] = {
#include "expr/t/type_json_cases.def"
};

static void
texts_wire_rows_and_keys_are_postgresql_s(void)
{
	CHECK(case_run(texts, sizeof(texts) / sizeof(texts[0])) == 0);
}

static const struct case_rank ranks[] = {
#include "expr/t/jsonb_order.def"
};

static void
order_is_postgresql_s_and_keys_have_it(void)
{
	CHECK(
	    case_order(EX_JSONB, ranks, sizeof(ranks) / sizeof(ranks[0])) == 0);
}

static struct str
nested(struct arena *a, int depth)
{
	struct buf b;

	buf_init(&b, a);
	for (int i = 0; i < depth; i++)
		buf_u8(&b, '[');
	for (int i = 0; i < depth; i++)
		buf_u8(&b, ']');
	return buf_view(&b);
}

static void
deep_nesting_is_an_error_not_a_crash(void)
{
	struct arena *a = arena_new(NULL, "test");
	struct err *e;
	struct val v;

	CHECK(!ex_in(
	    a, &ex_env_default, EX_JSONB, -1, nested(a, JS_DEPTH_MAX), &v));
	CHECK(str_eq(v.u.s, nested(a, JS_DEPTH_MAX)));
	e = ex_in(
	    a, &ex_env_default, EX_JSON, -1, nested(a, JS_DEPTH_MAX + 1), &v);
	MUST(e != NULL);
	CHECK_STR(e->sqlstate, "54001");
	arena_free(a);
}

static void
another_jsonb_version_is_refused(void)
{
	struct arena *a = arena_new(NULL, "test");
	struct val v;
	struct err *e = ex_recv(a, EX_JSONB, -1, STR("\0021"), &v);

	MUST(e != NULL);
	CHECK_STR(e->message, "unsupported jsonb version number 2");
	arena_free(a);
}

static void
keys_of_garbage_are_refused(void)
{
	struct arena *a = arena_new(NULL, "test");

	for (int i = 0; i < 20000; i++) {
		struct str s = case_bytes(a, case_random() % 12, 8);
		struct cur c = cur_of(s);
		struct val v;

		/* Must neither crash nor read beyond; what it says does not
		 * matter. */
		(void)ex_key_get(&c, CL_KEY_ASC, a, EX_JSONB, &v);
	}
	arena_free(a);
}

CU_MAIN("type_json",
    {"texts_wire_rows_and_keys_are_postgresql_s",
	texts_wire_rows_and_keys_are_postgresql_s},
    {"order_is_postgresql_s_and_keys_have_it",
	order_is_postgresql_s_and_keys_have_it},
    {"deep_nesting_is_an_error_not_a_crash",
	deep_nesting_is_an_error_not_a_crash},
    {"another_jsonb_version_is_refused", another_jsonb_version_is_refused},
    {"keys_of_garbage_are_refused", keys_of_garbage_are_refused})
