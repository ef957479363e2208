#include <stdlib.h>

#include "expr/numeric.h"
#include "expr/t/type_case.h"
#include "regress/lib/cu.h"

static const struct type_case texts[] = {
#include "expr/t/type_numeric_cases.def"
};

static void
texts_wire_rows_and_keys_are_postgresql_s(void)
{
	CHECK(case_run(texts, sizeof(texts) / sizeof(texts[0])) == 0);
}

enum op {
	OP_add,
	OP_sub,
	OP_mul,
	OP_div,
	OP_dt,
	OP_mod,
	OP_round,
	OP_trunc,
	OP_floor,
	OP_ceil,
	OP_sqrt,
	OP_exp,
	OP_ln,
	OP_log,
	OP_power
};
struct op_case {
	enum op op;
	const char *x, *y, *out, *sqlstate, *message;
};
static const struct op_case ops[] = {
#define OP(op, x, y, out) {OP_##op, x, y, out, NULL, NULL},
#define OP_BAD(op, x, y, sqlstate, message)                                    \
	{OP_##op, x, y, NULL, sqlstate, message},
#include "expr/t/numeric_ops.def"
};

static struct err *
compute(struct arena *a, const struct op_case *c, struct str *r)
{
	struct str x, y = STR_NONE;
	int n = c->op == OP_round || c->op == OP_trunc ? atoi(c->y) : 0;

	TRY(num_parse(a, str_c(c->x), &x));
	if (c->y[0])
		TRY(num_parse(a, str_c(c->y), &y));
	switch (c->op) {
	case OP_add:
		return num_add(a, x, y, r);
	case OP_sub:
		return num_sub(a, x, y, r);
	case OP_mul:
		return num_mul(a, x, y, r);
	case OP_div:
		return num_div(a, x, y, r);
	case OP_dt:
		return num_div_trunc(a, x, y, r);
	case OP_mod:
		return num_mod(a, x, y, r);
	case OP_round:
		return num_round(a, x, n, r);
	case OP_trunc:
		return num_trunc(a, x, n, r);
	case OP_floor:
		return num_floor(a, x, r);
	case OP_ceil:
		return num_ceil(a, x, r);
	case OP_sqrt:
		return num_sqrt(a, x, r);
	case OP_exp:
		return num_exp(a, x, r);
	case OP_ln:
		return num_ln(a, x, r);
	case OP_log:
		return num_log(a, x, y, r);
	case OP_power:
		break;
	}
	return num_power(a, x, y, r);
}

static void
arithmetic_is_postgresql_s(void)
{
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		struct arena *a = arena_new(NULL, "test");
		const struct op_case *c = &ops[i];
		struct str r = STR_NONE;
		struct err *e = compute(a, c, &r);
		struct buf b;

		if (c->out) {
			MUST(!e);
			buf_init(&b, a);
			num_text(&b, r);
			CHECK_STR(buf_cstr(&b), c->out);
			CHECK(num_check(r));
		} else {
			MUST(e != NULL);
			CHECK_STR(e->sqlstate, c->sqlstate);
			CHECK_STR(e->message, c->message);
		}
		arena_free(a);
	}
}

static const struct {
	const char *text, *bytes;
	size_t len;
} golden[] = {
    {"0", "\x04", 1},
    {"0.00", "\x08", 1},
    {"1", "\x04\x01", 2},
    {"-1", "\x05\x01", 2},
    {"12.34", "\x08\xd2\x04", 3},
    {"-12.34", "\x09\xd2\x04", 3},
    {"1e30", "\x04\x00\x00\x00\x40\xea\xed\x74\x46\xd0\x9c\x2c\x9f\x0c", 14},
    {"NaN", "\x00", 1},
    {"-Infinity", "\x01", 1},
    {"Infinity", "\x02", 1},
};

static void
packed_forms_never_change(void)
{
	struct arena *a = arena_new(NULL, "test");
	struct str x;

	for (size_t i = 0; i < sizeof(golden) / sizeof(golden[0]); i++) {
		MUST(!num_parse(a, str_c(golden[i].text), &x));
		CHECK(str_eq(x, str_of(golden[i].bytes, golden[i].len)));
	}
	arena_free(a);
}

static void
malformed_forms_are_refused(void)
{
	CHECK(!num_check(STR_NONE));
	CHECK(!num_check(STR("\x03")));             /* no such class */
	CHECK(!num_check(STR("\x05")));             /* minus zero */
	CHECK(!num_check(STR("\x04\x01\x00")));     /* a high zero byte */
	CHECK(!num_check(STR("\x00\x01")));         /* NaN with digits */
	CHECK(!num_check(STR("\x84\x80\x02\x01"))); /* scale 16384 */
	CHECK(num_check(STR("\x82\x80\x02\x01")));  /* scale 16383 */
}

/* Digits, points and exponents in every mix. */
static struct str
some_numeric(struct arena *a, size_t i)
{
	static const char *const fixed[] = {"NaN", "Infinity", "-Infinity", "0",
	    "0.00", "1", "1.0", "10", "0.1", "-1", "-1.00", "99", "100", "99.9",
	    "1e131071", "-1e131071", "1e-16383", "9.99e131071"};
	struct str x;
	char *text;

	if (i < sizeof(fixed) / sizeof(fixed[0]))
		text = arena_strdup(a, fixed[i]);
	else
		text = arena_printf(a, "%lld.%06ue%d",
		    (long long)((int64_t)case_random() >> (case_random() % 64)),
		    (unsigned)(case_random() % 1000000),
		    (int)(case_random() % 40) - 20);
	MUST(!num_parse(a, str_c(text), &x));
	return x;
}

static void
keys_sort_as_values(void)
{
	struct arena *a = arena_new(NULL, "test");
	struct val v[80];
	size_t n = 0;

	for (; n < 80; n++)
		v[n] = val_str(EX_NUMERIC, some_numeric(a, n));
	MUST(n <= sizeof(v) / sizeof(v[0]));
	CHECK(case_keys(v, n) == 0);
	arena_free(a);
}

static void
sums_are_exact(void)
{
	struct arena *a = arena_new(NULL, "test");
	struct num_sum *s = num_sum_new(a);
	struct str x, sum = num_of_i64(a, 0), got;

	for (size_t i = 0; i < 200; i++) {
		x = some_numeric(a, 100 + i);
		num_sum_add(s, x);
		MUST(!num_add(a, sum, x, &sum));
	}
	MUST(!num_sum_get(a, s, &got));
	CHECK(str_eq(got, sum));
	arena_free(a);
}

static struct err *
to_int(struct arena *a, const char *text, uint32_t type, int64_t *out)
{
	struct str x;

	TRY(num_parse(a, str_c(text), &x));
	return num_to_int(a, x, type, out);
}

static void
integers_round_and_are_checked(void)
{
	struct arena *a = arena_new(NULL, "test");
	int64_t v;

	CHECK(!to_int(a, "2.5", EX_INT4, &v) && v == 3);
	CHECK(!to_int(a, "-2.5", EX_INT4, &v) && v == -3);
	CHECK(!to_int(a, "-9223372036854775808.4", EX_INT8, &v) &&
	      v == INT64_MIN);
	CHECK_STR(to_int(a, "9223372036854775807.5", EX_INT8, &v)->message,
	    "bigint out of range");
	CHECK_STR(to_int(a, "32767.5", EX_INT2, &v)->message,
	    "smallint out of range");
	CHECK_STR(to_int(a, "2147483648", EX_INT4, &v)->sqlstate, "22003");
	CHECK_STR(to_int(a, "NaN", EX_INT4, &v)->message,
	    "cannot convert NaN to integer");
	CHECK_STR(to_int(a, "-inf", EX_INT8, &v)->message,
	    "cannot convert infinity to bigint");
	CHECK_STR(to_int(a, "inf", EX_INT8, &v)->sqlstate, "0A000");
	arena_free(a);
}

static const struct {
	const char *bytes;
	size_t len;
	const char *sqlstate, *message;
} bad_wire[] = {
    {"\0\1\0\0\0\1\0\0\0\1", 10, "22P03",
	"invalid sign in external \"numeric\" value"},
    {"\0\1\0\0\0\0\x40\0\0\1", 10, "22P03",
	"invalid scale in external \"numeric\" value"},
    {"\0\1\0\0\0\0\0\0\x27\x10", 10, "22P03",
	"invalid digit in external \"numeric\" value"},
    {"\0\1\0\0\0\0\0\0", 8, "08P01", "insufficient data left in message"},
    {"\0\0\0\0", 4, "08P01", "insufficient data left in message"},
    {"\0\0\0\0\0\0\0\0\0", 9, "22P03", "incorrect binary data format"},
};

static void
malformed_wire_forms_are_refused(void)
{
	struct arena *a = arena_new(NULL, "test");

	for (size_t i = 0; i < sizeof(bad_wire) / sizeof(bad_wire[0]); i++) {
		struct val v;
		struct err *e = ex_recv(a, EX_NUMERIC, -1,
		    str_of(bad_wire[i].bytes, bad_wire[i].len), &v);

		MUST(e != NULL);
		CHECK_STR(e->sqlstate, bad_wire[i].sqlstate);
		CHECK_STR(e->message, bad_wire[i].message);
	}
	arena_free(a);
}

CU_MAIN("type_numeric",
    {"texts_wire_rows_and_keys_are_postgresql_s",
	texts_wire_rows_and_keys_are_postgresql_s},
    {"arithmetic_is_postgresql_s", arithmetic_is_postgresql_s},
    {"packed_forms_never_change", packed_forms_never_change},
    {"malformed_forms_are_refused", malformed_forms_are_refused},
    {"keys_sort_as_values", keys_sort_as_values},
    {"sums_are_exact", sums_are_exact},
    {"integers_round_and_are_checked", integers_round_and_are_checked},
    {"malformed_wire_forms_are_refused", malformed_wire_forms_are_refused})
