#include "expr/t/type_case.h"
#include "regress/lib/cu.h"

static const struct type_case texts[] = {
#include "expr/t/type_int_cases.def"
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
	struct val v[100];
	size_t n = 0;

	for (; n < 100; n++)
		v[n] = val_int(
		    EX_INT8, (int64_t)case_random() >> (case_random() % 64));
	v[0].u.i = INT64_MIN;
	v[1].u.i = INT64_MAX;
	v[2].u.i = 0;
	v[3].u.i = -1;
	MUST(n <= sizeof(v) / sizeof(v[0]));
	CHECK(case_keys(v, n) == 0);
	arena_free(a);
}

static void
widths_share_one_key(void)
{
	struct arena *a = arena_new(NULL, "test");
	struct buf p, q;

	buf_init(&p, a);
	buf_init(&q, a);
	ex_key_put(&p, CL_TAG_NONE, CL_KEY_ASC, val_int(EX_INT2, -77));
	ex_key_put(&q, CL_TAG_NONE, CL_KEY_ASC, val_int(EX_INT8, -77));
	CHECK(str_eq(buf_view(&p), buf_view(&q)));
	arena_free(a);
}

static void
rows_refuse_what_the_width_cannot_hold(void)
{
	struct arena *a = arena_new(NULL, "test");
	struct val v = val_int(EX_INT2, 0);
	struct buf row;

	buf_init(&row, a);
	ex_type(EX_INT8)->row_enc(&row, val_int(EX_INT8, 32768));
	CHECK(!ex_type(EX_INT2)->row_dec(a, buf_view(&row), &v));
	arena_free(a);
}

CU_MAIN("type_int",
    {"texts_wire_rows_and_keys_are_postgresql_s",
	texts_wire_rows_and_keys_are_postgresql_s},
    {"keys_sort_as_values", keys_sort_as_values},
    {"widths_share_one_key", widths_share_one_key},
    {"rows_refuse_what_the_width_cannot_hold",
	rows_refuse_what_the_width_cannot_hold})
