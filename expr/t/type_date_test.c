#include "expr/t/type_case.h"
#include "regress/lib/cu.h"

static const struct type_case texts[] = {
#include "expr/t/type_date_cases.def"
};

static void
texts_wire_rows_and_keys_are_postgresql_s(void)
{
	CHECK(case_run(texts, sizeof(texts) / sizeof(texts[0])) == 0);
}

CU_MAIN("type_date", {"texts_wire_rows_and_keys_are_postgresql_s",
			 texts_wire_rows_and_keys_are_postgresql_s})
