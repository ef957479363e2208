/* numeric: glue between values and numeric.h. */
#include "expr/func_int.h"
#include "expr/numeric.h"

#define BINARY(fname, op)                                                      \
	BODY(fname)                                                            \
	{                                                                      \
		UNUSED(n);                                                     \
		out->null = false;                                             \
		return op(ctx->arena, args[0].u.s, args[1].u.s, &out->u.s);    \
	}
#define UNARY(fname, op)                                                       \
	BODY(fname)                                                            \
	{                                                                      \
		UNUSED(n);                                                     \
		out->null = false;                                             \
		return op(ctx->arena, args[0].u.s, &out->u.s);                 \
	}
#define TOTAL(fname, expression)                                               \
	BODY(fname)                                                            \
	{                                                                      \
		UNUSED(n);                                                     \
		ex_set_str(out, expression);                                   \
		return NULL;                                                   \
	}
BINARY(numeric_add, num_add)
BINARY(numeric_sub, num_sub)
BINARY(numeric_mul, num_mul)
BINARY(numeric_div, num_div)
BINARY(numeric_div_trunc, num_div_trunc)
BINARY(numeric_mod, num_mod)
BINARY(numeric_power, num_power)
BINARY(numeric_log, num_log)
UNARY(numeric_ceil, num_ceil)
UNARY(numeric_floor, num_floor)
UNARY(numeric_sqrt, num_sqrt)
UNARY(numeric_exp, num_exp)
UNARY(numeric_ln, num_ln)
TOTAL(numeric_neg, num_neg(ctx->arena, args[0].u.s))
TOTAL(numeric_abs, num_abs(ctx->arena, args[0].u.s))
TOTAL(numeric_trim_scale, num_trim_scale(ctx->arena, args[0].u.s))
TOTAL(int_numeric, num_of_i64(ctx->arena, args[0].u.i))
TOTAL(float4_numeric, num_of_real(ctx->arena, args[0].u.d))
TOTAL(float8_numeric, num_of_double(ctx->arena, args[0].u.d))

BODY(numeric_keep)
{
	UNUSED(ctx);
	UNUSED(n);
	*out = args[0];
	return NULL;
}

BODY(numeric_log10)
{
	UNUSED(n);
	out->null = false;
	return num_log(
	    ctx->arena, num_of_i64(ctx->arena, 10), args[0].u.s, &out->u.s);
}

BODY(numeric_round)
{
	UNUSED(n);
	out->null = false;
	return num_round(ctx->arena, args[0].u.s, 0, &out->u.s);
}

BODY(numeric_trunc)
{
	UNUSED(n);
	out->null = false;
	return num_trunc(ctx->arena, args[0].u.s, 0, &out->u.s);
}

/* Beyond these scales nothing changes. */
static int
clamp_scale(int64_t scale)
{
	if (scale > NUM_SCALE_MAX)
		return NUM_SCALE_MAX;
	return scale < -NUM_INT_DIGITS ? -NUM_INT_DIGITS : (int)scale;
}

BODY(numeric_round_to)
{
	UNUSED(n);
	out->null = false;
	return num_round(
	    ctx->arena, args[0].u.s, clamp_scale(args[1].u.i), &out->u.s);
}

BODY(numeric_trunc_to)
{
	UNUSED(n);
	out->null = false;
	return num_trunc(
	    ctx->arena, args[0].u.s, clamp_scale(args[1].u.i), &out->u.s);
}

BODY(numeric_sign)
{
	struct str x = args[0].u.s;

	UNUSED(n);
	ex_set_str(
	    out, num_is_nan(x) ? x : num_of_i64(ctx->arena, num_sign(x)));
	return NULL;
}

BODY(numeric_scale)
{
	int s = num_scale(args[0].u.s);

	UNUSED(n);
	UNUSED(ctx);
	if (s >= 0)
		ex_set_int(out, s);
	return NULL;
}

BODY(numeric_min_scale)
{
	int s = num_scale(num_trim_scale(ctx->arena, args[0].u.s));

	UNUSED(n);
	if (s >= 0)
		ex_set_int(out, s);
	return NULL;
}

static struct err *
gcd(const struct ex_ctx *ctx, struct str x, struct str y, struct str *out)
{
	int scale = num_scale(x) > num_scale(y) ? num_scale(x) : num_scale(y);

	if (scale < 0 || num_is_nan(x) || num_is_nan(y) || num_is_inf(x) ||
	    num_is_inf(y))
		return num_parse(ctx->arena, STR("NaN"), out);
	while (num_sign(y) != 0) {
		struct str r;

		TRY(num_mod(ctx->arena, x, y, &r));
		x = y;
		y = r;
		TRY(arena_check(ctx->arena));
	}
	return num_round(ctx->arena, num_abs(ctx->arena, x), scale, out);
}

BODY(numeric_gcd)
{
	UNUSED(n);
	out->null = false;
	return gcd(ctx, args[0].u.s, args[1].u.s, &out->u.s);
}

BODY(numeric_lcm)
{
	struct str x = args[0].u.s, y = args[1].u.s, g, q, r;
	int scale = num_scale(x) > num_scale(y) ? num_scale(x) : num_scale(y);

	UNUSED(n);
	out->null = false;
	TRY(gcd(ctx, x, y, &g));
	if (num_is_nan(g) || num_sign(g) == 0) {
		out->u.s = g;
		return NULL;
	}
	TRY(num_div_trunc(ctx->arena, x, g, &q));
	TRY(num_mul(ctx->arena, q, y, &r));
	return num_round(ctx->arena, num_abs(ctx->arena, r), scale, &out->u.s);
}

#define FACTORIAL_MAX 32177 /* beyond it numeric overflows */

BODY(numeric_factorial)
{
	int64_t k = args[0].u.i;

	UNUSED(n);
	if (k < 0)
		return ERR(ctx->arena, ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
		    "factorial of a negative number is undefined");
	if (k > FACTORIAL_MAX)
		return ERR(ctx->arena, ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
		    "value overflows numeric format");
	out->null = false;
	return num_factorial(ctx->arena, (uint32_t)k, &out->u.s);
}

BODY(numeric_int)
{
	UNUSED(n);
	out->null = false;
	return num_to_int(ctx->arena, args[0].u.s, out->type, &out->u.i);
}

BODY(numeric_float)
{
	UNUSED(n);
	out->null = false;
	return num_to_double(ctx->arena, args[0].u.s, out->type, &out->u.d);
}

static struct err *
bucket_error(const struct ex_ctx *ctx, const char *what)
{
	return ERR(
	    ctx->arena, ERRCODE_INVALID_ARGUMENT_FOR_WIDTH_BUCKET, "%s", what);
}

BODY(numeric_width_bucket)
{
	struct arena *a = ctx->arena;
	struct str x = args[0].u.s, lo = args[1].u.s, hi = args[2].u.s, p, q;
	int64_t r;
	bool up;

	UNUSED(n);
	if (args[3].u.i <= 0)
		return bucket_error(ctx, "count must be greater than zero");
	if (num_is_nan(x) || num_is_nan(lo) || num_is_nan(hi))
		return bucket_error(
		    ctx, "operand, lower bound, and upper bound cannot be NaN");
	if (num_is_inf(lo) || num_is_inf(hi))
		return bucket_error(
		    ctx, "lower and upper bounds must be finite");
	if (num_cmp(lo, hi) == 0)
		return bucket_error(
		    ctx, "lower bound cannot equal upper bound");
	up = num_cmp(lo, hi) < 0;
	if (up ? num_cmp(x, lo) < 0 : num_cmp(x, lo) > 0) {
		ex_set_int(out, 0);
		return NULL;
	}
	r = args[3].u.i;
	if (up ? num_cmp(x, hi) < 0 : num_cmp(x, hi) > 0) {
		TRY(num_sub(a, x, lo, &p));
		TRY(num_mul(a, p, num_of_i64(a, r), &p));
		TRY(num_sub(a, hi, lo, &q));
		TRY(num_div_trunc(a, p, q, &p));
		TRY(num_to_int(a, p, EX_INT8, &r));
	}
	if (r >= INT32_MAX)
		return ERR(a, ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
		    "integer out of range");
	ex_set_int(out, r + 1);
	return NULL;
}

#define NUM EX_NUMERIC

static const struct ex_func funcs[] = {
    FN(1724, "numeric_add", numeric_add, NUM, NUM, NUM),
    FN(1725, "numeric_sub", numeric_sub, NUM, NUM, NUM),
    FN(1726, "numeric_mul", numeric_mul, NUM, NUM, NUM),
    FN(1727, "numeric_div", numeric_div, NUM, NUM, NUM),
    FN(1729, "numeric_mod", numeric_mod, NUM, NUM, NUM),
    FN(1739, "numeric_power", numeric_power, NUM, NUM, NUM),
    FN(1915, "numeric_uplus", numeric_keep, NUM, NUM),
    FN(1771, "numeric_uminus", numeric_neg, NUM, NUM),
    FN(1704, "numeric_abs", numeric_abs, NUM, NUM),
    FN(1705, "abs", numeric_abs, NUM, NUM),
    FN(1711, "ceil", numeric_ceil, NUM, NUM),
    FN(2167, "ceiling", numeric_ceil, NUM, NUM),
    FN(1712, "floor", numeric_floor, NUM, NUM),
    FN(1730, "sqrt", numeric_sqrt, NUM, NUM),
    FN(1731, "numeric_sqrt", numeric_sqrt, NUM, NUM),
    FN(1732, "exp", numeric_exp, NUM, NUM),
    FN(1733, "numeric_exp", numeric_exp, NUM, NUM),
    FN(1734, "ln", numeric_ln, NUM, NUM),
    FN(1735, "numeric_ln", numeric_ln, NUM, NUM),
    FN(1741, "log", numeric_log10, NUM, NUM),
    FN(1481, "log10", numeric_log10, NUM, NUM),
    FN(1708, "round", numeric_round, NUM, NUM),
    FN(1710, "trunc", numeric_trunc, NUM, NUM),
    FN(1706, "sign", numeric_sign, NUM, NUM),
    FN(5043, "trim_scale", numeric_trim_scale, NUM, NUM),
    FN(1728, "mod", numeric_mod, NUM, NUM, NUM),
    FN(2169, "power", numeric_power, NUM, NUM, NUM),
    FN(1738, "pow", numeric_power, NUM, NUM, NUM),
    FN(1736, "log", numeric_log, NUM, NUM, NUM),
    FN(1737, "numeric_log", numeric_log, NUM, NUM, NUM),
    FN(1973, "div", numeric_div_trunc, NUM, NUM, NUM),
    FN(1980, "numeric_div_trunc", numeric_div_trunc, NUM, NUM, NUM),
    FN(5048, "gcd", numeric_gcd, NUM, NUM, NUM),
    FN(5049, "lcm", numeric_lcm, NUM, NUM, NUM),
    FN(1707, "round", numeric_round_to, NUM, NUM, EX_INT4),
    FN(1709, "trunc", numeric_trunc_to, NUM, NUM, EX_INT4),
    FN(3281, "scale", numeric_scale, EX_INT4, NUM),
    FN(5042, "min_scale", numeric_min_scale, EX_INT4, NUM),
    FN(1376, "factorial", numeric_factorial, NUM, EX_INT8),
    FN(2170, "width_bucket", numeric_width_bucket, EX_INT4, NUM, NUM, NUM,
	EX_INT4),
    FN(1782, "numeric", int_numeric, NUM, EX_INT2),
    FN(1740, "numeric", int_numeric, NUM, EX_INT4),
    FN(1781, "numeric", int_numeric, NUM, EX_INT8),
    FN(1742, "numeric", float4_numeric, NUM, EX_FLOAT4),
    FN(1743, "numeric", float8_numeric, NUM, EX_FLOAT8),
    FN(1783, "int2", numeric_int, EX_INT2, NUM),
    FN(1744, "int4", numeric_int, EX_INT4, NUM),
    FN(1779, "int8", numeric_int, EX_INT8, NUM),
    FN(1745, "float4", numeric_float, EX_FLOAT4, NUM),
    FN(1746, "float8", numeric_float, EX_FLOAT8, NUM),
};
EX_FUNCS(ex_funcs_numeric);
