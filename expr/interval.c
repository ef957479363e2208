#include "expr/interval_int.h"

#include <math.h>

#define DAYS_PER_MONTH 30

static struct err *
out_of_range(struct arena *a)
{
	return ERR(a, ERRCODE_DATETIME_FIELD_OVERFLOW, "interval out of range");
}

struct err *
ex_interval_add(struct arena *a, struct ex_interval x, struct ex_interval y,
    struct ex_interval *out)
{
	struct ex_interval r;

	if (__builtin_add_overflow(x.us, y.us, &r.us) ||
	    __builtin_add_overflow(x.days, y.days, &r.days) ||
	    __builtin_add_overflow(x.months, y.months, &r.months))
		return out_of_range(a);
	*out = r;
	return NULL;
}

struct err *
ex_interval_sub(struct arena *a, struct ex_interval x, struct ex_interval y,
    struct ex_interval *out)
{
	struct ex_interval r;

	if (__builtin_sub_overflow(x.us, y.us, &r.us) ||
	    __builtin_sub_overflow(x.days, y.days, &r.days) ||
	    __builtin_sub_overflow(x.months, y.months, &r.months))
		return out_of_range(a);
	*out = r;
	return NULL;
}

/* Hides the noise of binary fractions beyond a microsecond. */
static double
to_us(double x)
{
	return rint(x * 1e6) / 1e6;
}

/* x scaled to `months`, `days` and `us` with fractions: they go down a field,
 * days and time together so that 23:59:59.999999.. becomes a day. */
static struct err *
scaled(struct arena *a, double months, double days, double us,
    struct ex_interval *out)
{
	double month_rest, day_rest, seconds;
	struct ex_interval r;

	if (!(fabs(months) <= INT32_MAX) || !(fabs(days) <= INT32_MAX))
		return out_of_range(a);
	r.months = (int32_t)months;
	r.days = (int32_t)days;
	month_rest = to_us((months - r.months) * DAYS_PER_MONTH);
	seconds = (days - r.days + month_rest - (int32_t)month_rest) * 86400.0;
	seconds = to_us(seconds);
	if (fabs(seconds) >= 86400.0) {
		double whole = trunc(seconds / 86400.0);

		r.days += (int32_t)whole;
		seconds -= whole * 86400.0;
	}
	day_rest = r.days + trunc(month_rest);
	if (fabs(day_rest) > INT32_MAX)
		return out_of_range(a);
	r.days = (int32_t)day_rest;
	us = rint(us + seconds * 1e6);
	if (!(us >= -0x1p63 && us < 0x1p63))
		return out_of_range(a);
	r.us = (int64_t)us;
	*out = r;
	return NULL;
}

struct err *
ex_interval_mul(
    struct arena *a, struct ex_interval x, double by, struct ex_interval *out)
{
	return scaled(a, x.months * by, x.days * by, (double)x.us * by, out);
}

struct err *
ex_interval_div(
    struct arena *a, struct ex_interval x, double by, struct ex_interval *out)
{
	if (by == 0)
		return ERR(a, ERRCODE_DIVISION_BY_ZERO, "division by zero");
	return scaled(a, x.months / by, x.days / by, (double)x.us / by, out);
}
