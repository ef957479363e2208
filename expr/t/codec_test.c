#include "expr/expr.h"

#include <stdio.h>

#include "expr/t/calc.h"
#include "regress/lib/cu.h"

static const char *
hex(struct str s)
{
	struct buf b;

	buf_init(&b, calc_arena());
	for (size_t i = 0; i < s.len; i++)
		buf_printf(&b, "%02x", (uint8_t)s.p[i]);
	return buf_cstr(&b);
}

static struct str
encoded(const struct expr *e)
{
	struct buf b;

	buf_init(&b, calc_arena());
	ex_encode(&b, e);
	return buf_view(&b);
}

static struct str
unhex(const char *s)
{
	struct buf b;
	unsigned byte;

	buf_init(&b, calc_arena());
	for (; *s; s += 2) {
		MUST(sscanf(s, "%2x", &byte) == 1);
		buf_u8(&b, (uint8_t)byte);
	}
	return buf_view(&b);
}

static struct expr *
call(const char *name, struct expr *x, struct expr *y)
{
	struct expr **args = NEW_N(calc_arena(), struct expr *, 2), *out;

	args[0] = x;
	args[1] = y;
	MUST(!calc_bind(name, args, y ? 2 : 1, &out));
	return out;
}

static struct expr *
col(uint32_t i, uint32_t type)
{
	return ex_column(calc_arena(), i, type, -1);
}

static struct expr *
op(enum ex_node kind, uint32_t type, struct expr *x, struct expr *y)
{
	struct expr **args = NEW_N(calc_arena(), struct expr *, 2);

	args[0] = x;
	args[1] = y;
	return ex_op(calc_arena(), kind, type, args, y ? 2 : 1);
}

/* Every kind of node and a constant of every type. */
static struct expr *
sample(int i)
{
	static const char *const consts[] = {"bool:t", "int2:-7", "int4:300",
	    "int8:-9000000000", "float4:1.5", "float8:-2.25", "numeric:-12.50",
	    "text:h\xc3\xa9", "varchar:v", "bpchar:b ", "bytea:\\x00ff",
	    "uuid:a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "date:2020-02-29",
	    "time:10:11:12.5", "timestamp:2020-02-29 10:11:12",
	    "timestamptz:1969-12-31 00:00+00", "interval:1 year 2 days 3.5 s",
	    "json:{\"a\": 1}", "jsonb:{\"a\": 1}", "name:n", "oid:4000000000",
	    "int4:NULL"};
	int n = sizeof consts / sizeof *consts;
	struct expr *b = col(2, EX_BOOL), *t;

	if (i < n)
		return calc_arg(consts[i]);
	switch (i - n) {
	case 0:
		return call("=", col(0, EX_INT8), calc_arg("int4:5"));
	case 1:
		return op(EX_AND, EX_BOOL, b, op(EX_NOT, EX_BOOL, b, NULL));
	case 2:
		return op(EX_OR, EX_BOOL, op(EX_IS_NULL, EX_BOOL, b, NULL),
		    op(EX_IS_NOT_NULL, EX_BOOL, b, NULL));
	case 3:
		return op(EX_CASE, EX_INT4, b, col(1, EX_INT4));
	case 4:
		return op(
		    EX_COALESCE, EX_INT4, col(1, EX_INT4), calc_arg("int4:0"));
	case 5:
		return op(EX_IN, EX_BOOL, col(3, EX_TEXT), calc_arg("text:x"));
	case 6:
		return op(EX_OR, EX_BOOL, op(EX_IS_TRUE, EX_BOOL, b, NULL),
		    op(EX_IS_NOT_TRUE, EX_BOOL, b, NULL));
	case 7:
		return op(EX_OR, EX_BOOL, op(EX_IS_FALSE, EX_BOOL, b, NULL),
		    op(EX_IS_NOT_FALSE, EX_BOOL, b, NULL));
	case 8:
		return op(EX_DISTINCT, EX_BOOL, b, b);
	case 9:
		return op(EX_NOT_DISTINCT, EX_BOOL, b, b);
	case 10:
		return op(
		    EX_NULLIF, EX_TEXT, col(3, EX_TEXT), calc_arg("text:"));
	case 11:
		t = op(EX_TYPMOD, EX_VARCHAR, col(3, EX_TEXT), NULL);
		t->typmod = 14;
		t->u.explicit_cast = true;
		return t;
	case 12:
		return op(
		    EX_GREATEST, EX_INT4, col(1, EX_INT4), calc_arg("int4:0"));
	case 13:
		return op(
		    EX_LEAST, EX_INT4, col(1, EX_INT4), calc_arg("int4:0"));
	case 14:
		return call("lower", col(3, EX_TEXT), NULL);
	default:
		return NULL;
	}
}

static const char *const golden[] = {
#include "expr/t/codec_golden.def"
};

static void
bytes_never_change(void)
{
	struct expr *e;
	int i = 0;

	for (; (e = sample(i)); i++) {
		const char *got = hex(encoded(e));
		bool ok = i < (int)(sizeof golden / sizeof *golden) &&
			  strcmp(got, golden[i]) == 0;

		if (!ok)
			fprintf(stderr, "    \"%s\",\n", got);
		CHECK(ok);
	}
	CHECK(i == (int)(sizeof golden / sizeof *golden));
	calc_fini();
}

static void
what_is_decoded_is_what_was_encoded(void)
{
	struct expr *e, *back;

	for (int i = 0; (e = sample(i)); i++) {
		CHECK(ex_can_travel(e));
		MUST(!ex_decode(calc_arena(), encoded(e), &back));
		CHECK(ex_equal(e, back));
	}
	calc_fini();
}

static const char *
refusal(const char *bytes)
{
	struct expr *e;
	struct err *err = ex_decode(calc_arena(), unhex(bytes), &e);

	CHECK(e == NULL);
	return err ? arena_printf(
			 calc_arena(), "%s %s", err->sqlstate, err->message)
		   : "";
}

static void
unknown_ids_are_named(void)
{
	CHECK_STR(refusal("0201170002"),
	    "0A000 expression format 2 is not known here");
	CHECK_STR(refusal("01170000"),
	    "0A000 expression node kind 23 is not known here");
	CHECK_STR(refusal("01030000"),
	    "0A000 expression node kind 3 is not known here");
	CHECK_STR(refusal("0102ffff030000"),
	    "0A000 expression type 65535 is not known here");
	CHECK_STR(refusal("01041700ffff0300"),
	    "0A000 expression function 65535 is not known here");
	calc_fini();
}

static void
ill_typed_trees_are_refused(void)
{
	struct ex_ctx ctx = {.arena = calc_arena(), .env = &ex_env_default};
	struct expr *e, *bad;
	struct val v;

	/* int4pl over a text column: would read a pointer as a number. */
	bad = call("+", col(0, EX_INT4), calc_arg("int4:1"));
	bad->args[0] = col(0, EX_TEXT);
	CHECK(!ex_can_travel(bad));
	CHECK(err_is(ex_decode(calc_arena(), encoded(bad), &e),
	    ERRCODE_PROTOCOL_VIOLATION));
	bad = op(EX_NOT, EX_BOOL, col(0, EX_INT4), NULL);
	CHECK(ex_decode(calc_arena(), encoded(bad), &e) != NULL);
	bad = op(EX_IN, EX_BOOL, col(0, EX_INT4), calc_arg("text:a"));
	CHECK(ex_decode(calc_arena(), encoded(bad), &e) != NULL);
	bad = op(EX_IN, EX_BOOL, col(0, EX_JSON), calc_arg("json:1"));
	CHECK(ex_decode(calc_arena(), encoded(bad), &e) != NULL);
	bad = op(EX_TYPMOD, EX_TEXT, col(0, EX_INT4), NULL);
	CHECK(ex_decode(calc_arena(), encoded(bad), &e) != NULL);
	bad = op(EX_CASE, EX_TEXT, col(0, EX_BOOL), calc_arg("int4:1"));
	CHECK(ex_decode(calc_arena(), encoded(bad), &e) != NULL);
	bad = op(EX_COALESCE, EX_TEXT, calc_arg("int4:1"), NULL);
	CHECK(ex_decode(calc_arena(), encoded(bad), &e) != NULL);
	/* now(): id 1299, type 1184. */
	CHECK_STR(refusal("0104a00900930a00"),
	    "08P01 malformed expression: function is not immutable");
	MUST(!ex_decode(calc_arena(), encoded(col(7, EX_INT4)), &e));
	CHECK(err_is(ex_eval(&ctx, e, &v), ERRCODE_INTERNAL_ERROR));
	calc_fini();
}

static struct expr *
nested(int depth)
{
	struct expr *e = col(0, EX_BOOL);

	for (int i = 1; i < depth; i++)
		e = op(EX_NOT, EX_BOOL, e, NULL);
	return e;
}

/* One NOT more than may travel. */
static struct str
too_deep(void)
{
	struct buf b;

	buf_init(&b, calc_arena());
	buf_u8(&b, 1);
	for (int i = 0; i < EX_DEPTH_MAX; i++)
		buf_put(&b, "\x07\x10\x00\x01", 4);
	buf_put(&b, "\x02\x10\x00\x00", 4);
	return buf_view(&b);
}

static void
depth_and_size_are_limited(void)
{
	struct expr *e;

	MUST(!ex_decode(calc_arena(), encoded(nested(EX_DEPTH_MAX)), &e));
	CHECK(err_is(ex_decode(calc_arena(), too_deep(), &e),
	    ERRCODE_PROTOCOL_VIOLATION));
	/* A count beyond the bytes left allocates nothing. */
	CHECK_STR(refusal("01051000ffffffff0f"),
	    "08P01 malformed expression: bad number of arguments");
	CHECK_STR(refusal("01"), "08P01 malformed expression: bad node");
	CHECK_STR(refusal(""), "0A000 expression format 0 is not known here");
	CHECK_STR(refusal("010217000000"),
	    "08P01 malformed expression: bytes left over");
	CHECK_STR(refusal("010517000000"),
	    "08P01 malformed expression: wrong number of arguments");
	calc_fini();
}

static uint64_t
next(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

/* Cut, flipped and spliced samples: an error or a tree that can be run. */
static void
hostile_bytes_are_survived(void)
{
	uint64_t seed = cu_seed() | 1;
	struct val row[8];

	for (int i = 0; i < 8; i++)
		row[i] = val_null(EX_TEXT);
	for (int round = 0; round < 20000; round++) {
		struct expr *e = sample((int)(next(&seed) % 37)), *back;
		struct ex_ctx ctx = {.arena = calc_arena(),
		    .env = &ex_env_default,
		    .row = row,
		    .n_row = 8};
		struct str s = encoded(e);
		char *p = arena_dup(calc_arena(), s.p, s.len);
		size_t len = s.len;
		struct val v;

		for (uint64_t k = next(&seed) % 4; k > 0; k--)
			p[next(&seed) % len] = (char)next(&seed);
		if (next(&seed) % 4 == 0)
			len = next(&seed) % (len + 1);
		if (!ex_decode(calc_arena(), str_of(p, len), &back)) {
			CHECK(ex_can_travel(back));
			(void)!ex_eval(&ctx, back, &v);
			CHECK(str_eq(encoded(back), encoded(back)));
		}
		calc_fini();
	}
}

CU_MAIN("codec", {"bytes_never_change", bytes_never_change},
    {"what_is_decoded_is_what_was_encoded",
	what_is_decoded_is_what_was_encoded},
    {"unknown_ids_are_named", unknown_ids_are_named},
    {"ill_typed_trees_are_refused", ill_typed_trees_are_refused},
    {"depth_and_size_are_limited", depth_and_size_are_limited},
    {"hostile_bytes_are_survived", hostile_bytes_are_survived})
