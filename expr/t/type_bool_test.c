#include "expr/t/type_case.h"
#include "regress/lib/cu.h"

static const struct type_case texts[] = {
#include "expr/t/type_bool_cases.def"
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

	v[n++] = val_bool(false);
	v[n++] = val_bool(true);
	CHECK(case_keys(v, n) == 0);
	n = 0;
	for (; n < 60; n++)
		v[n] = val_str(EX_BYTEA, case_bytes(a, n % 5, 3));
	CHECK(case_keys(v, n) == 0);
	for (n = 0; n < 20; n++)
		v[n] = val_str(EX_UUID, case_bytes(a, 16, 256));
	MUST(n <= sizeof(v) / sizeof(v[0]));
	CHECK(case_keys(v, n) == 0);
	arena_free(a);
}

CU_MAIN("type_bool",
    {"texts_wire_rows_and_keys_are_postgresql_s",
	texts_wire_rows_and_keys_are_postgresql_s},
    {"keys_sort_as_values", keys_sort_as_values})
