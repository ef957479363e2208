/* real and double precision. */
#include "expr/func_int.h"

#include <errno.h>
#include <float.h>
#include <math.h>

static struct err *
overflow(const struct ex_ctx *ctx)
{
	return ERR(ctx->arena, ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
	    "value out of range: overflow");
}

static struct err *
underflow(const struct ex_ctx *ctx)
{
	return ERR(ctx->arena, ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
	    "value out of range: underflow");
}

static struct err *
bad_input(const struct ex_ctx *ctx)
{
	return ERR(ctx->arena, ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
	    "input is out of range");
}

/* Rounds to the result's type; an infinite result of finite operands has
 * overflowed. may_be_zero: no underflow to report. */
static struct err *
give(const struct ex_ctx *ctx, double v, bool finite_in, bool may_be_zero,
    struct val *out)
{
	double r = out->type == EX_FLOAT4 ? (double)(float)v : v;

	if (isinf(r) && finite_in)
		return overflow(ctx);
	if (r == 0 && !may_be_zero)
		return underflow(ctx);
	ex_set_double(out, r);
	return NULL;
}

static bool
both_finite(const struct val *args)
{
	return !isinf(args[0].u.d) && !isinf(args[1].u.d);
}

BODY(float_add)
{
	UNUSED(n);
	return give(
	    ctx, args[0].u.d + args[1].u.d, both_finite(args), true, out);
}

BODY(float_sub)
{
	UNUSED(n);
	return give(
	    ctx, args[0].u.d - args[1].u.d, both_finite(args), true, out);
}

BODY(float_mul)
{
	double x = args[0].u.d, y = args[1].u.d;

	UNUSED(n);
	return give(ctx, x * y, both_finite(args), x == 0 || y == 0, out);
}

BODY(float_div)
{
	double x = args[0].u.d, y = args[1].u.d;

	UNUSED(n);
	if (y == 0 && !isnan(x))
		return ERR(
		    ctx->arena, ERRCODE_DIVISION_BY_ZERO, "division by zero");
	return give(ctx, x / y, !isinf(x), x == 0 || isinf(y), out);
}

BODY(float_neg)
{
	UNUSED(ctx);
	UNUSED(n);
	ex_set_double(out, -args[0].u.d);
	return NULL;
}

BODY(float_keep)
{
	UNUSED(ctx);
	UNUSED(n);
	ex_set_double(out, args[0].u.d);
	return NULL;
}

BODY(float_abs)
{
	UNUSED(ctx);
	UNUSED(n);
	ex_set_double(out, fabs(args[0].u.d));
	return NULL;
}

/* Between real and double precision. */
BODY(float_cast)
{
	double x = args[0].u.d;

	UNUSED(n);
	return give(ctx, x, !isinf(x), x == 0, out);
}

BODY(int_float)
{
	UNUSED(n);
	UNUSED(ctx);
	ex_set_double(out, out->type == EX_FLOAT4 ? (double)(float)args[0].u.i
						  : (double)args[0].u.i);
	return NULL;
}

BODY(float_int)
{
	double x = rint(args[0].u.d), lo, hi;
	const char *name;

	UNUSED(n);
	switch (out->type) {
	case EX_INT2:
		lo = INT16_MIN, hi = (double)INT16_MAX + 1, name = "smallint";
		break;
	case EX_INT4:
		lo = INT32_MIN, hi = (double)INT32_MAX + 1, name = "integer";
		break;
	default:
		lo = -0x1p63, hi = 0x1p63, name = "bigint";
		break;
	}
	if (!(x >= lo && x < hi))
		return ERR(ctx->arena, ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
		    "%s out of range", name);
	ex_set_int(out, (int64_t)x);
	return NULL;
}

/* Functions of one argument with nothing to check. */
#define PLAIN(fname, expression)                                               \
	BODY(fname)                                                            \
	{                                                                      \
		double x = args[0].u.d;                                        \
                                                                               \
		UNUSED(ctx);                                                   \
		UNUSED(n);                                                     \
		ex_set_double(out, expression);                                \
		return NULL;                                                   \
	}
PLAIN(float_ceil, ceil(x))
PLAIN(float_floor, floor(x))
PLAIN(float_round, rint(x))
PLAIN(float_trunc, trunc(x))
PLAIN(float_sign, x > 0 ? 1 : x < 0 ? -1 : 0)
PLAIN(float_cbrt, cbrt(x))
PLAIN(float_atan, atan(x))
PLAIN(float_sinh, sinh(x))
PLAIN(float_tanh, tanh(x))
PLAIN(float_cosh, cosh(x))
PLAIN(float_asinh, asinh(x))

BODY(float_sqrt)
{
	UNUSED(n);
	if (args[0].u.d < 0)
		return ERR(ctx->arena,
		    ERRCODE_INVALID_ARGUMENT_FOR_POWER_FUNCTION,
		    "cannot take square root of a negative number");
	ex_set_double(out, sqrt(args[0].u.d));
	return NULL;
}

/* Where the arguments are outside POSIX's, PostgreSQL's errors. */
BODY(float_power)
{
	double x = args[0].u.d, y = args[1].u.d, r;

	UNUSED(n);
	if (x == 0 && y < 0)
		return ERR(ctx->arena,
		    ERRCODE_INVALID_ARGUMENT_FOR_POWER_FUNCTION,
		    "zero raised to a negative power is undefined");
	if (x < 0 && isfinite(y) && floor(y) != y)
		return ERR(ctx->arena,
		    ERRCODE_INVALID_ARGUMENT_FOR_POWER_FUNCTION,
		    "a negative number raised to a non-integer power yields a "
		    "complex result");
	r = pow(x, y);
	return give(ctx, r, both_finite(args),
	    x == 0 || !both_finite(args) || isnan(r), out);
}

BODY(float_exp)
{
	double x = args[0].u.d;

	UNUSED(n);
	return give(ctx, exp(x), !isinf(x), isinf(x) || isnan(x), out);
}

static struct err *
log_domain(const struct ex_ctx *ctx, double x)
{
	if (x == 0)
		return ERR(ctx->arena, ERRCODE_INVALID_ARGUMENT_FOR_LOG,
		    "cannot take logarithm of zero");
	if (x < 0)
		return ERR(ctx->arena, ERRCODE_INVALID_ARGUMENT_FOR_LOG,
		    "cannot take logarithm of a negative number");
	return NULL;
}

BODY(float_ln)
{
	UNUSED(n);
	TRY(log_domain(ctx, args[0].u.d));
	ex_set_double(out, log(args[0].u.d));
	return NULL;
}

BODY(float_log10)
{
	UNUSED(n);
	TRY(log_domain(ctx, args[0].u.d));
	ex_set_double(out, log10(args[0].u.d));
	return NULL;
}

/* ---- trigonometry ---- */

#define PERIODIC(fname, expression)                                            \
	BODY(fname)                                                            \
	{                                                                      \
		double x = args[0].u.d, r;                                     \
                                                                               \
		UNUSED(n);                                                     \
		if (isinf(x))                                                  \
			return bad_input(ctx);                                 \
		r = expression;                                                \
		ex_set_double(out, r);                                         \
		return NULL;                                                   \
	}
PERIODIC(float_sin, sin(x))
PERIODIC(float_cos, cos(x))
PERIODIC(float_tan, tan(x))
PERIODIC(float_cot, 1.0 / tan(x))

BODY(float_asin)
{
	UNUSED(n);
	if (fabs(args[0].u.d) > 1)
		return bad_input(ctx);
	ex_set_double(out, asin(args[0].u.d));
	return NULL;
}

BODY(float_acos)
{
	UNUSED(n);
	if (fabs(args[0].u.d) > 1)
		return bad_input(ctx);
	ex_set_double(out, acos(args[0].u.d));
	return NULL;
}

BODY(float_acosh)
{
	UNUSED(n);
	if (args[0].u.d < 1)
		return bad_input(ctx);
	ex_set_double(out, acosh(args[0].u.d));
	return NULL;
}

BODY(float_atanh)
{
	UNUSED(n);
	if (fabs(args[0].u.d) > 1)
		return bad_input(ctx);
	ex_set_double(out, atanh(args[0].u.d));
	return NULL;
}

BODY(float_atan2)
{
	UNUSED(n);
	UNUSED(ctx);
	ex_set_double(out, atan2(args[0].u.d, args[1].u.d));
	return NULL;
}

#define PI_180 0.0174532925199432957692

BODY(float_degrees)
{
	double x = args[0].u.d;

	UNUSED(n);
	return give(ctx, x / PI_180, !isinf(x), true, out);
}

BODY(float_radians)
{
	UNUSED(n);
	UNUSED(ctx);
	ex_set_double(out, args[0].u.d * PI_180);
	return NULL;
}

BODY(float_pi)
{
	UNUSED(ctx);
	UNUSED(args);
	UNUSED(n);
	ex_set_double(out, M_PI);
	return NULL;
}

/* Scaled so that 30 and 60 degrees are exact; with the operations in this order
 * the other results are PostgreSQL's to the last bit. x: 0 to 90. */
static double sin_quadrant(double x);

static double
cos_quadrant(double x)
{
	double part = 1 - cos(60 * PI_180);

	if (x > 60)
		return sin_quadrant(90 - x);
	return 1 - (1 - cos(x * PI_180)) / part / 2;
}

static double
sin_quadrant(double x)
{
	if (x > 30)
		return cos_quadrant(90 - x);
	return sin(x * PI_180) / sin(30 * PI_180) / 2;
}

static double
sin_degrees(double x)
{
	double sign = 1;

	x = fmod(x, 360);
	if (x < 0) {
		x = -x;
		sign = -sign;
	}
	if (x > 180) {
		x = 360 - x;
		sign = -sign;
	}
	if (x > 90)
		x = 180 - x;
	return sign * sin_quadrant(x);
}

static double
cos_degrees(double x)
{
	double sign = 1;

	x = fabs(fmod(x, 360));
	if (x > 180)
		x = 360 - x;
	if (x > 90) {
		x = 180 - x;
		sign = -sign;
	}
	return sign * cos_quadrant(x);
}

BODY(float_sind)
{
	UNUSED(n);
	if (isinf(args[0].u.d))
		return bad_input(ctx);
	ex_set_double(out, sin_degrees(args[0].u.d));
	return NULL;
}

BODY(float_cosd)
{
	UNUSED(n);
	if (isinf(args[0].u.d))
		return bad_input(ctx);
	ex_set_double(out, cos_degrees(args[0].u.d));
	return NULL;
}

BODY(float_width_bucket)
{
	double x = args[0].u.d, lo = args[1].u.d, hi = args[2].u.d;
	int64_t count = args[3].u.i, r;

	UNUSED(n);
	if (count <= 0)
		return ERR(ctx->arena,
		    ERRCODE_INVALID_ARGUMENT_FOR_WIDTH_BUCKET,
		    "count must be greater than zero");
	if (isnan(x) || isnan(lo) || isnan(hi))
		return ERR(ctx->arena,
		    ERRCODE_INVALID_ARGUMENT_FOR_WIDTH_BUCKET,
		    "operand, lower bound, and upper bound cannot be NaN");
	if (isinf(lo) || isinf(hi))
		return ERR(ctx->arena,
		    ERRCODE_INVALID_ARGUMENT_FOR_WIDTH_BUCKET,
		    "lower and upper bounds must be finite");
	if (lo == hi)
		return ERR(ctx->arena,
		    ERRCODE_INVALID_ARGUMENT_FOR_WIDTH_BUCKET,
		    "lower bound cannot equal upper bound");
	if (lo < hi)
		r = x < lo ? 0
		    : x >= hi
			? count + 1
			: (int64_t)((double)count * (x - lo) / (hi - lo)) + 1;
	else
		r = x > lo ? 0
		    : x <= hi
			? count + 1
			: (int64_t)((double)count * (lo - x) / (lo - hi)) + 1;
	if (r > INT32_MAX)
		return ERR(ctx->arena, ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
		    "integer out of range");
	ex_set_int(out, r);
	return NULL;
}

#define F4 EX_FLOAT4
#define F8 EX_FLOAT8
/* An operator over the four pairs of widths. */
#define PAIRS(body, i44, n44, i88, n88, i48, n48, i84, n84)                    \
	FN(i44, n44, body, F4, F4, F4), FN(i88, n88, body, F8, F8, F8),        \
	    FN(i48, n48, body, F8, F4, F8), FN(i84, n84, body, F8, F8, F4)

static const struct ex_func funcs[] = {
    PAIRS(float_add, 204, "float4pl", 218, "float8pl", 281, "float48pl", 285,
	"float84pl"),
    PAIRS(float_sub, 205, "float4mi", 219, "float8mi", 282, "float48mi", 286,
	"float84mi"),
    PAIRS(float_mul, 202, "float4mul", 216, "float8mul", 279, "float48mul", 283,
	"float84mul"),
    PAIRS(float_div, 203, "float4div", 217, "float8div", 280, "float48div", 284,
	"float84div"),
    FN(206, "float4um", float_neg, F4, F4),
    FN(220, "float8um", float_neg, F8, F8),
    FN(1913, "float4up", float_keep, F4, F4),
    FN(1914, "float8up", float_keep, F8, F8),
    FN(207, "float4abs", float_abs, F4, F4),
    FN(221, "float8abs", float_abs, F8, F8),
    FN(230, "dsqrt", float_sqrt, F8, F8),
    FN(231, "dcbrt", float_cbrt, F8, F8),
    FN(232, "dpow", float_power, F8, F8, F8),
    FN(1601, "acos", float_acos, F8, F8),
    FN(2466, "acosh", float_acosh, F8, F8),
    FN(1600, "asin", float_asin, F8, F8),
    FN(2465, "asinh", float_asinh, F8, F8),
    FN(1602, "atan", float_atan, F8, F8),
    FN(2467, "atanh", float_atanh, F8, F8),
    FN(1345, "cbrt", float_cbrt, F8, F8),
    FN(2308, "ceil", float_ceil, F8, F8),
    FN(2320, "ceiling", float_ceil, F8, F8),
    FN(1605, "cos", float_cos, F8, F8),
    FN(2736, "cosd", float_cosd, F8, F8),
    FN(2463, "cosh", float_cosh, F8, F8),
    FN(1607, "cot", float_cot, F8, F8),
    FN(1608, "degrees", float_degrees, F8, F8),
    FN(1347, "exp", float_exp, F8, F8),
    FN(2309, "floor", float_floor, F8, F8),
    FN(1341, "ln", float_ln, F8, F8),
    FN(1340, "log", float_log10, F8, F8),
    FN(1194, "log10", float_log10, F8, F8),
    FN(1609, "radians", float_radians, F8, F8),
    FN(1342, "round", float_round, F8, F8),
    FN(2310, "sign", float_sign, F8, F8),
    FN(1604, "sin", float_sin, F8, F8),
    FN(2735, "sind", float_sind, F8, F8),
    FN(2462, "sinh", float_sinh, F8, F8),
    FN(1344, "sqrt", float_sqrt, F8, F8),
    FN(1606, "tan", float_tan, F8, F8),
    FN(2464, "tanh", float_tanh, F8, F8),
    FN(1343, "trunc", float_trunc, F8, F8),
    FN(233, "dexp", float_exp, F8, F8),
    FN(1368, "power", float_power, F8, F8, F8),
    FN(1346, "pow", float_power, F8, F8, F8),
    FN(1603, "atan2", float_atan2, F8, F8, F8),
    FN(1394, "abs", float_abs, F4, F4),
    FN(1395, "abs", float_abs, F8, F8),
    FN(1610, "pi", float_pi, F8),
    FN(320, "width_bucket", float_width_bucket, EX_INT4, F8, F8, F8, EX_INT4),
    FN(311, "float8", float_cast, F8, F4),
    FN(312, "float4", float_cast, F4, F8),
    FN(236, "float4", int_float, F4, EX_INT2),
    FN(318, "float4", int_float, F4, EX_INT4),
    FN(652, "float4", int_float, F4, EX_INT8),
    FN(235, "float8", int_float, F8, EX_INT2),
    FN(316, "float8", int_float, F8, EX_INT4),
    FN(482, "float8", int_float, F8, EX_INT8),
    FN(238, "int2", float_int, EX_INT2, F4),
    FN(237, "int2", float_int, EX_INT2, F8),
    FN(319, "int4", float_int, EX_INT4, F4),
    FN(317, "int4", float_int, EX_INT4, F8),
    FN(653, "int8", float_int, EX_INT8, F4),
    FN(483, "int8", float_int, EX_INT8, F8),
};
EX_FUNCS(ex_funcs_float);
