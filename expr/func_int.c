/* smallint, integer, bigint and oid. */
#include "expr/func_int.h"

struct err *
ex_room(const struct ex_ctx *ctx, size_t len)
{
	if (len > EX_VALUE_MAX)
		return ERR(ctx->arena, ERRCODE_PROGRAM_LIMIT_EXCEEDED,
		    "requested length too large");
	return arena_check(ctx->arena);
}

static struct err *
out_of_range(const struct ex_ctx *ctx, uint32_t type)
{
	const char *name = type == EX_INT2   ? "smallint"
			   : type == EX_INT4 ? "integer"
			   : type == EX_OID  ? "OID"
					     : "bigint";

	return ERR(ctx->arena, ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
	    "%s out of range", name);
}

static struct err *
by_zero(const struct ex_ctx *ctx)
{
	return ERR(ctx->arena, ERRCODE_DIVISION_BY_ZERO, "division by zero");
}

static bool
fits(uint32_t type, int64_t v)
{
	switch (type) {
	case EX_INT2:
		return v >= INT16_MIN && v <= INT16_MAX;
	case EX_INT4:
		return v >= INT32_MIN && v <= INT32_MAX;
	case EX_OID:
		return v >= 0 && v <= UINT32_MAX;
	default:
		return true;
	}
}

/* out->type is the result's type, which decides the range. */
static struct err *
give(const struct ex_ctx *ctx, int64_t v, bool overflow, struct val *out)
{
	if (overflow || !fits(out->type, v))
		return out_of_range(ctx, out->type);
	ex_set_int(out, v);
	return NULL;
}

BODY(int_add)
{
	int64_t v;
	bool o = __builtin_add_overflow(args[0].u.i, args[1].u.i, &v);

	UNUSED(n);
	return give(ctx, v, o, out);
}

BODY(int_sub)
{
	int64_t v;
	bool o = __builtin_sub_overflow(args[0].u.i, args[1].u.i, &v);

	UNUSED(n);
	return give(ctx, v, o, out);
}

BODY(int_mul)
{
	int64_t v;
	bool o = __builtin_mul_overflow(args[0].u.i, args[1].u.i, &v);

	UNUSED(n);
	return give(ctx, v, o, out);
}

BODY(int_div)
{
	int64_t x = args[0].u.i, y = args[1].u.i, v;
	bool o;

	UNUSED(n);
	if (y == 0)
		return by_zero(ctx);
	if (y == -1) {
		o = __builtin_sub_overflow((int64_t)0, x, &v);
		return give(ctx, v, o, out);
	}
	return give(ctx, x / y, false, out);
}

BODY(int_mod)
{
	int64_t x = args[0].u.i, y = args[1].u.i;

	UNUSED(n);
	if (y == 0)
		return by_zero(ctx);
	ex_set_int(out, y == -1 ? 0 : x % y);
	return NULL;
}

BODY(int_neg)
{
	int64_t v;
	bool o = __builtin_sub_overflow((int64_t)0, args[0].u.i, &v);

	UNUSED(n);
	return give(ctx, v, o, out);
}

BODY(int_plus)
{
	UNUSED(ctx);
	UNUSED(n);
	*out = args[0];
	return NULL;
}

BODY(int_abs)
{
	if (args[0].u.i < 0)
		return int_neg(ctx, args, n, out);
	return int_plus(ctx, args, n, out);
}

BODY(int_and)
{
	UNUSED(ctx);
	UNUSED(n);
	ex_set_int(out, args[0].u.i & args[1].u.i);
	return NULL;
}

BODY(int_or)
{
	UNUSED(ctx);
	UNUSED(n);
	ex_set_int(out, args[0].u.i | args[1].u.i);
	return NULL;
}

BODY(int_xor)
{
	UNUSED(ctx);
	UNUSED(n);
	ex_set_int(out, args[0].u.i ^ args[1].u.i);
	return NULL;
}

BODY(int_not)
{
	UNUSED(ctx);
	UNUSED(n);
	ex_set_int(out, ~args[0].u.i);
	return NULL;
}

/* Shifts as the hardware PostgreSQL runs on does them: the count wraps, at 32
 * for smallint and integer, at 64 for bigint. */
static int64_t
shift_left(uint32_t type, int64_t v, int64_t by)
{
	if (type == EX_INT8)
		return (int64_t)((uint64_t)v << (by & 63));
	v = (int32_t)((uint32_t)v << (by & 31));
	return type == EX_INT2 ? (int16_t)v : v;
}

BODY(int_shl)
{
	UNUSED(ctx);
	UNUSED(n);
	ex_set_int(out, shift_left(out->type, args[0].u.i, args[1].u.i));
	return NULL;
}

BODY(int_shr)
{
	int64_t mask = out->type == EX_INT8 ? 63 : 31;

	UNUSED(ctx);
	UNUSED(n);
	ex_set_int(out, args[0].u.i >> (args[1].u.i & mask));
	return NULL;
}

/* Widening and narrowing. */
BODY(int_cast)
{
	UNUSED(n);
	return give(ctx, args[0].u.i, false, out);
}

static uint64_t
magnitude(int64_t v)
{
	return v < 0 ? -(uint64_t)v : (uint64_t)v;
}

static uint64_t
gcd(uint64_t x, uint64_t y)
{
	while (y) {
		uint64_t r = x % y;

		x = y;
		y = r;
	}
	return x;
}

BODY(int_gcd)
{
	uint64_t g = gcd(magnitude(args[0].u.i), magnitude(args[1].u.i));

	UNUSED(n);
	return give(ctx, (int64_t)g, g > INT64_MAX, out);
}

BODY(int_lcm)
{
	uint64_t x = magnitude(args[0].u.i), y = magnitude(args[1].u.i), v;
	bool o;

	UNUSED(n);
	if (x == 0 || y == 0) {
		ex_set_int(out, 0);
		return NULL;
	}
	o = __builtin_mul_overflow(x / gcd(x, y), y, &v);
	return give(ctx, (int64_t)v, o || v > INT64_MAX, out);
}

/* op over (l, r) giving ret, for every pair of widths. */
#define MIXED(body, i22, n22, i44, n44, i88, n88, i24, n24, i42, n42, i28,     \
    n28, i82, n82, i48, n48, i84, n84)                                         \
	FN(i22, n22, body, EX_INT2, EX_INT2, EX_INT2),                         \
	    FN(i44, n44, body, EX_INT4, EX_INT4, EX_INT4),                     \
	    FN(i88, n88, body, EX_INT8, EX_INT8, EX_INT8),                     \
	    FN(i24, n24, body, EX_INT4, EX_INT2, EX_INT4),                     \
	    FN(i42, n42, body, EX_INT4, EX_INT4, EX_INT2),                     \
	    FN(i28, n28, body, EX_INT8, EX_INT2, EX_INT8),                     \
	    FN(i82, n82, body, EX_INT8, EX_INT8, EX_INT2),                     \
	    FN(i48, n48, body, EX_INT8, EX_INT4, EX_INT8),                     \
	    FN(i84, n84, body, EX_INT8, EX_INT8, EX_INT4)
#define WIDTHS(body, i2, n2, i4, n4, i8, n8)                                   \
	FN(i2, n2, body, EX_INT2, EX_INT2, EX_INT2),                           \
	    FN(i4, n4, body, EX_INT4, EX_INT4, EX_INT4),                       \
	    FN(i8, n8, body, EX_INT8, EX_INT8, EX_INT8)
#define UNARY(body, i2, n2, i4, n4, i8, n8)                                    \
	FN(i2, n2, body, EX_INT2, EX_INT2),                                    \
	    FN(i4, n4, body, EX_INT4, EX_INT4),                                \
	    FN(i8, n8, body, EX_INT8, EX_INT8)

static const struct ex_func funcs[] = {
    MIXED(int_add, 176, "int2pl", 177, "int4pl", 463, "int8pl", 178, "int24pl",
	179, "int42pl", 841, "int28pl", 837, "int82pl", 1278, "int48pl", 1274,
	"int84pl"),
    MIXED(int_sub, 180, "int2mi", 181, "int4mi", 464, "int8mi", 182, "int24mi",
	183, "int42mi", 942, "int28mi", 838, "int82mi", 1279, "int48mi", 1275,
	"int84mi"),
    MIXED(int_mul, 152, "int2mul", 141, "int4mul", 465, "int8mul", 170,
	"int24mul", 171, "int42mul", 943, "int28mul", 839, "int82mul", 1280,
	"int48mul", 1276, "int84mul"),
    MIXED(int_div, 153, "int2div", 154, "int4div", 466, "int8div", 172,
	"int24div", 173, "int42div", 948, "int28div", 840, "int82div", 1281,
	"int48div", 1277, "int84div"),
    WIDTHS(int_mod, 155, "int2mod", 156, "int4mod", 945, "int8mod"),
    WIDTHS(int_and, 1892, "int2and", 1898, "int4and", 1904, "int8and"),
    WIDTHS(int_or, 1893, "int2or", 1899, "int4or", 1905, "int8or"),
    WIDTHS(int_xor, 1894, "int2xor", 1900, "int4xor", 1906, "int8xor"),
    WIDTHS(int_mod, 940, "mod", 941, "mod", 947, "mod"),
    UNARY(int_neg, 213, "int2um", 212, "int4um", 462, "int8um"),
    UNARY(int_plus, 1911, "int2up", 1912, "int4up", 1910, "int8up"),
    UNARY(int_not, 1895, "int2not", 1901, "int4not", 1907, "int8not"),
    UNARY(int_abs, 1253, "int2abs", 1251, "int4abs", 1230, "int8abs"),
    UNARY(int_abs, 1398, "abs", 1397, "abs", 1396, "abs"),
    FN(1896, "int2shl", int_shl, EX_INT2, EX_INT2, EX_INT4),
    FN(1902, "int4shl", int_shl, EX_INT4, EX_INT4, EX_INT4),
    FN(1908, "int8shl", int_shl, EX_INT8, EX_INT8, EX_INT4),
    FN(1897, "int2shr", int_shr, EX_INT2, EX_INT2, EX_INT4),
    FN(1903, "int4shr", int_shr, EX_INT4, EX_INT4, EX_INT4),
    FN(1909, "int8shr", int_shr, EX_INT8, EX_INT8, EX_INT4),
    FN(314, "int2", int_cast, EX_INT2, EX_INT4),
    FN(714, "int2", int_cast, EX_INT2, EX_INT8),
    FN(313, "int4", int_cast, EX_INT4, EX_INT2),
    FN(480, "int4", int_cast, EX_INT4, EX_INT8),
    FN(754, "int8", int_cast, EX_INT8, EX_INT2),
    FN(481, "int8", int_cast, EX_INT8, EX_INT4),
    FN(1287, "oid", int_cast, EX_OID, EX_INT8),
    FN(1288, "int8", int_cast, EX_INT8, EX_OID),
    FN(1000103, "oid", int_cast, EX_OID, EX_INT2),
    FN(5044, "gcd", int_gcd, EX_INT4, EX_INT4, EX_INT4),
    FN(5045, "gcd", int_gcd, EX_INT8, EX_INT8, EX_INT8),
    FN(5046, "lcm", int_lcm, EX_INT4, EX_INT4, EX_INT4),
    FN(5047, "lcm", int_lcm, EX_INT8, EX_INT8, EX_INT8),
};
EX_FUNCS(ex_funcs_int);
