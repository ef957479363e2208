#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "expr/t/type_case.h"
#include "regress/lib/cu.h"

static const struct type_case texts[] = {
#include "expr/t/type_float_cases.def"
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
		v[n] = val_double(
		    EX_FLOAT8, ldexp((double)(int64_t)case_random(),
				   (int)(case_random() % 400) - 200));
	v[0].u.d = -INFINITY;
	v[1].u.d = INFINITY;
	v[2].u.d = NAN;
	v[3].u.d = 0.0;
	v[4].u.d = -0.0;
	v[5].u.d = DBL_TRUE_MIN;
	v[6].u.d = -DBL_MAX;
	MUST(n <= sizeof(v) / sizeof(v[0]));
	CHECK(case_keys(v, n) == 0);
	arena_free(a);
}

/* Significant digits of a number's text. */
static size_t
digits_of(const char *text)
{
	size_t n = 0, zeros = 0;

	for (const char *p = text; *p && *p != 'e'; p++) {
		if (*p < '0' || *p > '9' || (*p == '0' && !n))
			continue;
		zeros = *p == '0' ? zeros + 1 : 0;
		n++;
	}
	return n - zeros;
}

/* Of any bits: text reads back as the same number, and no shorter text does
 * (but for ties between neighbours, which only large integers meet). */
static void
output_is_the_shortest_that_round_trips(void)
{
	for (int i = 0; i < 20000; i++) {
		struct arena *a = arena_new(NULL, "test");
		uint64_t bits = case_random();
		char shorter[64];
		size_t digits;
		struct buf b;
		double d;

		memcpy(&d, &bits, sizeof(d));
		buf_init(&b, a);
		ex_out(&b, &ex_env_default, val_double(EX_FLOAT8, d));
		digits = digits_of(buf_cstr(&b));
		if (isfinite(d)) {
			CHECK(strtod(buf_cstr(&b), NULL) == d);
			CHECK(digits <= 17);
		}
		if (isfinite(d) && digits > 1 &&
		    !(fabs(d) > 0x1p53 && fabs(d) < 1e25)) {
			snprintf(shorter, sizeof(shorter), "%.*e",
			    (int)digits - 2, d);
			CHECK(strtod(shorter, NULL) != d);
		}
		arena_free(a);
	}
}

CU_MAIN("type_float",
    {"texts_wire_rows_and_keys_are_postgresql_s",
	texts_wire_rows_and_keys_are_postgresql_s},
    {"keys_sort_as_values", keys_sort_as_values},
    {"output_is_the_shortest_that_round_trips",
	output_is_the_shortest_that_round_trips})
