/* Arithmetic, casts, constructors and zones of dates and times.  Infinite dates
 * and timestamps stay what they are under arithmetic. */
#include "expr/datetime_int.h"
#include "expr/interval_int.h"

#include <math.h>

struct dt_zone
ex_zone(const struct ex_ctx *ctx)
{
	return dt_zone_env(ctx->env ? ctx->env : &ex_env_default);
}

static struct err *
overflow(const struct ex_ctx *ctx, const char *what)
{
	return ERR(ctx->arena, ERRCODE_DATETIME_FIELD_OVERFLOW,
	    "%s out of range", what);
}

struct err *
ex_ts_check(const struct ex_ctx *ctx, int64_t us)
{
	return dt_ts_ok(us) ? NULL : overflow(ctx, "timestamp");
}

static bool
date_finite(int64_t days)
{
	return days != EX_DATE_MIN && days != EX_DATE_MAX;
}

static struct err *
set_date(const struct ex_ctx *ctx, int64_t days, struct val *out)
{
	if (!dt_date_ok(days))
		return overflow(ctx, "date");
	ex_set_int(out, days);
	return NULL;
}

/* ---- date ---- */

BODY(date_plus)
{
	UNUSED(n);
	if (!date_finite(args[0].u.i)) {
		ex_set_int(out, args[0].u.i);
		return NULL;
	}
	return set_date(ctx, args[0].u.i + args[1].u.i, out);
}

BODY(int_plus_date)
{
	struct val swapped[2] = {args[1], args[0]};

	return date_plus(ctx, swapped, n, out);
}

BODY(date_minus)
{
	UNUSED(n);
	if (!date_finite(args[0].u.i)) {
		ex_set_int(out, args[0].u.i);
		return NULL;
	}
	return set_date(ctx, args[0].u.i - args[1].u.i, out);
}

BODY(date_diff)
{
	UNUSED(n);
	if (!date_finite(args[0].u.i) || !date_finite(args[1].u.i))
		return ERR(ctx->arena, ERRCODE_DATETIME_FIELD_OVERFLOW,
		    "cannot subtract infinite dates");
	ex_set_int(out, args[0].u.i - args[1].u.i);
	return NULL;
}

BODY(date_timestamp)
{
	UNUSED(n);
	out->null = false;
	return dt_date_to_ts(ctx->arena, (int32_t)args[0].u.i, &out->u.i);
}

BODY(date_timestamptz)
{
	struct dt_zone z = ex_zone(ctx);
	int64_t local;

	UNUSED(n);
	TRY(dt_date_to_ts(ctx->arena, (int32_t)args[0].u.i, &local));
	out->null = false;
	return dt_ts_to_tstz(ctx->arena, &z, local, &out->u.i);
}

/* date + time, time + date */
static struct err *
date_and_time(
    const struct ex_ctx *ctx, int64_t date, int64_t time, struct val *out)
{
	int64_t us;

	TRY(dt_date_to_ts(ctx->arena, (int32_t)date, &us));
	if (dt_ts_finite(us)) {
		us += time;
		TRY(ex_ts_check(ctx, us));
	}
	ex_set_int(out, us);
	return NULL;
}

BODY(date_time)
{
	UNUSED(n);
	return date_and_time(ctx, args[0].u.i, args[1].u.i, out);
}

BODY(time_date)
{
	UNUSED(n);
	return date_and_time(ctx, args[1].u.i, args[0].u.i, out);
}

BODY(date_time_tz)
{
	struct dt_zone z = ex_zone(ctx);
	struct val local = val_null(EX_TIMESTAMP);

	UNUSED(n);
	TRY(date_and_time(ctx, args[0].u.i, args[1].u.i, &local));
	out->null = false;
	return dt_ts_to_tstz(ctx->arena, &z, local.u.i, &out->u.i);
}

/* ---- timestamps and intervals ---- */

/* Months first (the day is held within the month), then days, of the local
 * clock. */
static struct err *
add_months_days(const struct ex_ctx *ctx, int64_t local, struct ex_interval iv,
    int64_t *out)
{
	struct dt_tm tm = dt_split(local);
	int64_t in_day =
	    local - dt_days(tm.ymd.year, tm.ymd.month, tm.ymd.day) * DT_DAY;
	int64_t months = tm.ymd.year * 12 + tm.ymd.month - 1 + iv.months, days;
	int64_t year = months / 12 - (months % 12 < 0);
	int month = (int)(months - year * 12) + 1, last;

	if (iv.months) {
		last = dt_month_days(year, month);
		tm.ymd.year = year;
		tm.ymd.month = month;
		if (tm.ymd.day > last)
			tm.ymd.day = last;
	}
	days = dt_days(tm.ymd.year, tm.ymd.month, tm.ymd.day) + iv.days;
	if (days < DT_TS_MIN / DT_DAY || days > DT_TS_END / DT_DAY)
		return overflow(ctx, "timestamp");
	*out = days * DT_DAY + in_day;
	return ex_ts_check(ctx, *out);
}

static struct err *
add_us(const struct ex_ctx *ctx, int64_t us, int64_t more, struct val *out)
{
	int64_t r;

	if (__builtin_add_overflow(us, more, &r))
		return overflow(ctx, "timestamp");
	TRY(ex_ts_check(ctx, r));
	ex_set_int(out, r);
	return NULL;
}

static struct err *
ts_add(const struct ex_ctx *ctx, int64_t us, struct ex_interval iv,
    struct val *out)
{
	if (!dt_ts_finite(us)) {
		ex_set_int(out, us);
		return NULL;
	}
	if (iv.months || iv.days)
		TRY(add_months_days(ctx, us, iv, &us));
	return add_us(ctx, us, iv.us, out);
}

/* Months and days move the local clock of the session's zone; the rest is
 * elapsed time. */
static struct err *
tstz_add(const struct ex_ctx *ctx, int64_t us, struct ex_interval iv,
    struct val *out)
{
	struct dt_zone z;
	int64_t local;

	if (!dt_ts_finite(us)) {
		ex_set_int(out, us);
		return NULL;
	}
	if (iv.months || iv.days) {
		z = ex_zone(ctx);
		TRY(add_months_days(ctx, dt_to_local(&z, us), iv, &local));
		us = dt_to_utc(&z, local);
	}
	return add_us(ctx, us, iv.us, out);
}

static struct err *
negated(
    const struct ex_ctx *ctx, struct ex_interval iv, struct ex_interval *out)
{
	return ex_interval_sub(
	    ctx->arena, (struct ex_interval){0, 0, 0}, iv, out);
}

BODY(ts_plus)
{
	UNUSED(n);
	return ts_add(ctx, args[0].u.i, args[1].u.iv, out);
}

BODY(ts_minus)
{
	struct ex_interval iv;

	UNUSED(n);
	TRY(negated(ctx, args[1].u.iv, &iv));
	return ts_add(ctx, args[0].u.i, iv, out);
}

BODY(tstz_plus)
{
	UNUSED(n);
	return tstz_add(ctx, args[0].u.i, args[1].u.iv, out);
}

BODY(tstz_minus)
{
	struct ex_interval iv;

	UNUSED(n);
	TRY(negated(ctx, args[1].u.iv, &iv));
	return tstz_add(ctx, args[0].u.i, iv, out);
}

BODY(date_plus_interval)
{
	int64_t us;

	UNUSED(n);
	TRY(dt_date_to_ts(ctx->arena, (int32_t)args[0].u.i, &us));
	return ts_add(ctx, us, args[1].u.iv, out);
}

BODY(date_minus_interval)
{
	struct ex_interval iv;
	int64_t us;

	UNUSED(n);
	TRY(negated(ctx, args[1].u.iv, &iv));
	TRY(dt_date_to_ts(ctx->arena, (int32_t)args[0].u.i, &us));
	return ts_add(ctx, us, iv, out);
}

#define SWAPPED(fname, body)                                                   \
	BODY(fname)                                                            \
	{                                                                      \
		struct val swapped[2] = {args[1], args[0]};                    \
                                                                               \
		return body(ctx, swapped, n, out);                             \
	}
SWAPPED(interval_plus_ts, ts_plus)
SWAPPED(interval_plus_tstz, tstz_plus)
SWAPPED(interval_plus_date, date_plus_interval)

BODY(ts_diff)
{
	int64_t x = args[0].u.i, y = args[1].u.i, us;
	struct ex_interval iv = {0, 0, 0};

	UNUSED(n);
	if (!dt_ts_finite(x) || !dt_ts_finite(y))
		return ERR(ctx->arena, ERRCODE_DATETIME_FIELD_OVERFLOW,
		    "cannot subtract infinite timestamps");
	if (__builtin_sub_overflow(x, y, &us))
		return overflow(ctx, "interval");
	iv.days = (int32_t)(us / DT_DAY);
	iv.us = us % DT_DAY;
	ex_set_interval(out, iv);
	return NULL;
}

/* ---- time ---- */

static struct err *
time_add(int64_t time, int64_t us, struct val *out)
{
	int64_t in_day;

	us = us % DT_DAY + time;
	(void)dt_floor_days(us, &in_day);
	ex_set_int(out, in_day);
	return NULL;
}

BODY(time_plus)
{
	UNUSED(ctx);
	UNUSED(n);
	return time_add(args[0].u.i, args[1].u.iv.us, out);
}

BODY(time_minus)
{
	UNUSED(ctx);
	UNUSED(n);
	return time_add(args[0].u.i, -(args[1].u.iv.us % DT_DAY), out);
}
SWAPPED(interval_plus_time, time_plus)

BODY(time_diff)
{
	UNUSED(ctx);
	UNUSED(n);
	ex_set_interval(
	    out, (struct ex_interval){args[0].u.i - args[1].u.i, 0, 0});
	return NULL;
}

BODY(time_interval)
{
	UNUSED(ctx);
	UNUSED(n);
	ex_set_interval(out, (struct ex_interval){args[0].u.i, 0, 0});
	return NULL;
}

BODY(interval_time)
{
	UNUSED(ctx);
	UNUSED(n);
	return time_add(0, args[0].u.iv.us, out);
}

BODY(ts_time)
{
	int64_t us = args[0].u.i, in_day;

	UNUSED(n);
	if (!dt_ts_finite(us))
		return NULL;
	if (args[0].type == EX_TIMESTAMPTZ) {
		struct dt_zone z = ex_zone(ctx);

		us = dt_to_local(&z, us);
	}
	(void)dt_floor_days(us, &in_day);
	ex_set_int(out, in_day);
	return NULL;
}

/* ---- casts between timestamps and dates ---- */

BODY(ts_date)
{
	UNUSED(ctx);
	UNUSED(n);
	ex_set_int(out, dt_ts_to_date(args[0].u.i));
	return NULL;
}

BODY(tstz_date)
{
	struct dt_zone z = ex_zone(ctx);
	int64_t local;

	UNUSED(n);
	TRY(dt_tstz_to_ts(ctx->arena, &z, args[0].u.i, &local));
	ex_set_int(out, dt_ts_to_date(local));
	return NULL;
}

BODY(ts_tstz)
{
	struct dt_zone z = ex_zone(ctx);

	UNUSED(n);
	out->null = false;
	return dt_ts_to_tstz(ctx->arena, &z, args[0].u.i, &out->u.i);
}

BODY(tstz_ts)
{
	struct dt_zone z = ex_zone(ctx);

	UNUSED(n);
	out->null = false;
	return dt_tstz_to_ts(ctx->arena, &z, args[0].u.i, &out->u.i);
}

/* timezone(zone, x): AT TIME ZONE. */
static struct err *
zone_of(const struct ex_ctx *ctx, struct val v, struct dt_zone *z)
{
	struct ex_interval iv = v.u.iv;
	struct buf b;

	if (v.type == EX_TEXT)
		return dt_zone_find(ctx->arena, v.u.s, z);
	if (iv.months || iv.days) {
		buf_init(&b, ctx->arena);
		ex_out(&b, ctx->env ? ctx->env : &ex_env_default, v);
		return ERR(ctx->arena, ERRCODE_INVALID_PARAMETER_VALUE,
		    "interval time zone \"%s\" must not include months or days",
		    buf_cstr(&b));
	}
	if (iv.us < -DT_DAY * 7 || iv.us > DT_DAY * 7)
		return overflow(ctx, "interval");
	*z = dt_zone_fixed((int32_t)(iv.us / DT_SEC));
	return NULL;
}

BODY(ts_at_zone)
{
	struct dt_zone z;

	UNUSED(n);
	TRY(zone_of(ctx, args[0], &z));
	out->null = false;
	return dt_ts_to_tstz(ctx->arena, &z, args[1].u.i, &out->u.i);
}

BODY(tstz_at_zone)
{
	struct dt_zone z;

	UNUSED(n);
	TRY(zone_of(ctx, args[0], &z));
	out->null = false;
	return dt_tstz_to_ts(ctx->arena, &z, args[1].u.i, &out->u.i);
}

/* ---- intervals ---- */

BODY(interval_plus)
{
	UNUSED(n);
	out->null = false;
	return ex_interval_add(
	    ctx->arena, args[0].u.iv, args[1].u.iv, &out->u.iv);
}

BODY(interval_minus)
{
	UNUSED(n);
	out->null = false;
	return ex_interval_sub(
	    ctx->arena, args[0].u.iv, args[1].u.iv, &out->u.iv);
}

BODY(interval_negate)
{
	UNUSED(n);
	out->null = false;
	return negated(ctx, args[0].u.iv, &out->u.iv);
}

BODY(interval_times)
{
	UNUSED(n);
	out->null = false;
	return ex_interval_mul(
	    ctx->arena, args[0].u.iv, args[1].u.d, &out->u.iv);
}
SWAPPED(times_interval, interval_times)

BODY(interval_by)
{
	UNUSED(n);
	out->null = false;
	return ex_interval_div(
	    ctx->arena, args[0].u.iv, args[1].u.d, &out->u.iv);
}

/* Moves whole days out of the time, or whole months out of the days, and makes
 * the signs agree. */
static struct err *
carry_hours(const struct ex_ctx *ctx, struct ex_interval *iv)
{
	int64_t days = iv->us / DT_DAY;

	iv->us -= days * DT_DAY;
	if (__builtin_add_overflow(iv->days, days, &iv->days))
		return overflow(ctx, "interval");
	if (iv->days > 0 && iv->us < 0) {
		iv->us += DT_DAY;
		iv->days--;
	} else if (iv->days < 0 && iv->us > 0) {
		iv->us -= DT_DAY;
		iv->days++;
	}
	return NULL;
}

static struct err *
carry_days(const struct ex_ctx *ctx, struct ex_interval *iv)
{
	int32_t months = iv->days / 30;

	iv->days -= months * 30;
	if (__builtin_add_overflow(iv->months, months, &iv->months))
		return overflow(ctx, "interval");
	if (iv->months > 0 && iv->days < 0) {
		iv->days += 30;
		iv->months--;
	} else if (iv->months < 0 && iv->days > 0) {
		iv->days -= 30;
		iv->months++;
	}
	return NULL;
}

BODY(justify_hours)
{
	UNUSED(n);
	ex_set_interval(out, args[0].u.iv);
	return carry_hours(ctx, &out->u.iv);
}

BODY(justify_days)
{
	UNUSED(n);
	ex_set_interval(out, args[0].u.iv);
	return carry_days(ctx, &out->u.iv);
}

BODY(justify_interval)
{
	struct ex_interval iv = args[0].u.iv;
	int64_t days = iv.us / DT_DAY;

	UNUSED(n);
	iv.us -= days * DT_DAY;
	if (__builtin_add_overflow(iv.days, days, &iv.days))
		return overflow(ctx, "interval");
	if (__builtin_add_overflow(iv.months, iv.days / 30, &iv.months))
		return overflow(ctx, "interval");
	iv.days %= 30;
	if (iv.months > 0 && (iv.days < 0 || (iv.days == 0 && iv.us < 0))) {
		iv.days += 30;
		iv.months--;
	} else if (iv.months < 0 &&
		   (iv.days > 0 || (iv.days == 0 && iv.us > 0))) {
		iv.days -= 30;
		iv.months++;
	}
	if (iv.days > 0 && iv.us < 0) {
		iv.us += DT_DAY;
		iv.days--;
	} else if (iv.days < 0 && iv.us > 0) {
		iv.us -= DT_DAY;
		iv.days++;
	}
	ex_set_interval(out, iv);
	return NULL;
}

/* ---- age ---- */

/* Field by field difference, borrowing days from the month before. */
static struct ex_interval
symbolic_diff(int64_t x, int64_t y)
{
	bool less = x < y;
	struct dt_tm hi = dt_split(less ? y : x), lo = dt_split(less ? x : y);
	int64_t months =
	    (hi.ymd.year - lo.ymd.year) * 12 + hi.ymd.month - lo.ymd.month;
	int64_t days = hi.ymd.day - lo.ymd.day;
	int64_t us = (hi.hour - lo.hour) * DT_HOUR +
		     (hi.min - lo.min) * DT_MIN + (hi.sec - lo.sec) * DT_SEC +
		     (hi.us - lo.us);

	if (us < 0) {
		us += DT_DAY;
		days--;
	}
	while (days < 0) {
		days += dt_month_days(lo.ymd.year, lo.ymd.month);
		months--;
	}
	if (less)
		return (struct ex_interval){
		    -us, (int32_t)-days, (int32_t)-months};
	return (struct ex_interval){us, (int32_t)days, (int32_t)months};
}

static struct err *
age(const struct ex_ctx *ctx, int64_t x, int64_t y, struct val *out)
{
	if (!dt_ts_finite(x) || !dt_ts_finite(y))
		return overflow(ctx, "interval");
	ex_set_interval(out, symbolic_diff(x, y));
	return NULL;
}

BODY(ts_age)
{
	UNUSED(n);
	return age(ctx, args[0].u.i, args[1].u.i, out);
}

BODY(tstz_age)
{
	struct dt_zone z = ex_zone(ctx);
	int64_t x = args[0].u.i, y = args[1].u.i;

	UNUSED(n);
	return age(ctx, dt_ts_finite(x) ? dt_to_local(&z, x) : x,
	    dt_ts_finite(y) ? dt_to_local(&z, y) : y, out);
}

/* Midnight of today in the session's zone, as local microseconds. */
static int64_t
today(const struct ex_ctx *ctx)
{
	const struct ex_env *env = ctx->env ? ctx->env : &ex_env_default;
	struct dt_zone z = ex_zone(ctx);
	int64_t in_day;

	return dt_floor_days(dt_to_local(&z, env->now_us), &in_day) * DT_DAY;
}

BODY(ts_age_today)
{
	UNUSED(n);
	return age(ctx, today(ctx), args[0].u.i, out);
}

BODY(tstz_age_today)
{
	struct dt_zone z = ex_zone(ctx);
	int64_t x = args[0].u.i;

	UNUSED(n);
	return age(
	    ctx, today(ctx), dt_ts_finite(x) ? dt_to_local(&z, x) : x, out);
}

/* ---- constructors ---- */

static struct err *
make_days(const struct ex_ctx *ctx, const struct val *args, int64_t *days)
{
	int64_t year = args[0].u.i, month = args[1].u.i, day = args[2].u.i;
	int64_t astronomical = year < 0 ? year + 1 : year;

	if (year == 0 || month < 1 || month > 12 || day < 1 || year > 5874898 ||
	    year < -4714 || day > dt_month_days(astronomical, (int)month))
		return ERR(ctx->arena, ERRCODE_DATETIME_FIELD_OVERFLOW,
		    "date field value out of range: %d-%02d-%02d", (int)year,
		    (int)month, (int)day);
	*days = dt_days(astronomical, (int)month, (int)day);
	if (!dt_date_ok(*days))
		return ERR(ctx->arena, ERRCODE_DATETIME_FIELD_OVERFLOW,
		    "date out of range: %d-%02d-%02d", (int)year, (int)month,
		    (int)day);
	return NULL;
}

static struct err *
make_us(const struct ex_ctx *ctx, const struct val *args, int64_t *us)
{
	int64_t hour = args[0].u.i, min = args[1].u.i;
	double sec = args[2].u.d;
	bool ok = hour >= 0 && min >= 0 && min < 60 && sec >= 0 && sec <= 60 &&
		  (hour < 24 || (hour == 24 && min == 0 && sec == 0));

	if (!ok)
		return ERR(ctx->arena, ERRCODE_DATETIME_FIELD_OVERFLOW,
		    "time field value out of range: %d:%02d:%02g", (int)hour,
		    (int)min, sec);
	*us = hour * DT_HOUR + min * DT_MIN + (int64_t)rint(sec * 1e6);
	return NULL;
}

BODY(make_date)
{
	UNUSED(n);
	out->null = false;
	return make_days(ctx, args, &out->u.i);
}

BODY(make_time)
{
	UNUSED(n);
	out->null = false;
	return make_us(ctx, args, &out->u.i);
}

static struct err *
make_local(const struct ex_ctx *ctx, const struct val *args, int64_t *local)
{
	int64_t days, us;

	TRY(make_days(ctx, args, &days));
	TRY(make_us(ctx, args + 3, &us));
	if (days > DT_TS_END / DT_DAY || !dt_ts_ok(days * DT_DAY + us))
		return overflow(ctx, "timestamp");
	*local = days * DT_DAY + us;
	return NULL;
}

BODY(make_timestamp)
{
	UNUSED(n);
	out->null = false;
	return make_local(ctx, args, &out->u.i);
}

BODY(make_timestamptz)
{
	struct dt_zone z;
	int64_t local;

	if (n > 6)
		TRY(dt_zone_find(ctx->arena, args[6].u.s, &z));
	else
		z = ex_zone(ctx);
	TRY(make_local(ctx, args, &local));
	out->null = false;
	return dt_ts_to_tstz(ctx->arena, &z, local, &out->u.i);
}

/* years, months, weeks, days, hours, mins, secs; what is left out is 0. */
BODY(make_interval)
{
	int64_t v[6] = {0};
	double secs = n > 6 ? args[6].u.d : 0;
	int64_t months, days;
	struct ex_interval iv;

	for (uint32_t i = 0; i < n && i < 6; i++)
		v[i] = args[i].u.i;
	months = v[0] * 12 + v[1];
	days = v[2] * 7 + v[3];
	secs = rint(secs * 1e6);
	if (months != (int32_t)months || days != (int32_t)days ||
	    !(fabs(secs) < 0x1p62))
		return overflow(ctx, "interval");
	iv.months = (int32_t)months;
	iv.days = (int32_t)days;
	if (__builtin_add_overflow(
		v[4] * DT_HOUR + v[5] * DT_MIN, (int64_t)secs, &iv.us))
		return overflow(ctx, "interval");
	ex_set_interval(out, iv);
	return NULL;
}

/* Seconds since 1970. */
BODY(to_timestamp)
{
	double s = args[0].u.d, us;

	UNUSED(n);
	if (isnan(s))
		return ERR(ctx->arena, ERRCODE_DATETIME_FIELD_OVERFLOW,
		    "timestamp cannot be NaN");
	if (isinf(s)) {
		ex_set_int(out, s < 0 ? DT_TS_NEGINF : DT_TS_INF);
		return NULL;
	}
	us = rint((s - DT_UNIX_DAYS * 86400.0) * 1e6);
	if (!(us >= (double)DT_TS_MIN && us < (double)DT_TS_END))
		return ERR(ctx->arena, ERRCODE_DATETIME_FIELD_OVERFLOW,
		    "timestamp out of range: \"%g\"", s);
	ex_set_int(out, (int64_t)us);
	return NULL;
}

/* ---- facts ---- */

BODY(date_isfinite)
{
	UNUSED(ctx);
	UNUSED(n);
	ex_set_bool(out, date_finite(args[0].u.i));
	return NULL;
}

BODY(ts_isfinite)
{
	UNUSED(ctx);
	UNUSED(n);
	ex_set_bool(out, dt_ts_finite(args[0].u.i));
	return NULL;
}

BODY(interval_isfinite)
{
	UNUSED(ctx);
	UNUSED(args);
	UNUSED(n);
	ex_set_bool(out, true);
	return NULL;
}

/* ---- what the SQL keywords say ---- */

BODY(current_date)
{
	UNUSED(args);
	UNUSED(n);
	ex_set_int(out, today(ctx) / DT_DAY);
	return NULL;
}

static int64_t
local_now(const struct ex_ctx *ctx)
{
	struct dt_zone z = ex_zone(ctx);

	return dt_to_local(&z, (ctx->env ? ctx->env : &ex_env_default)->now_us);
}

BODY(localtimestamp)
{
	UNUSED(args);
	UNUSED(n);
	ex_set_int(out, local_now(ctx));
	return NULL;
}

BODY(localtime_now)
{
	UNUSED(args);
	UNUSED(n);
	return time_add(0, local_now(ctx), out);
}

BODY(current_timestamp)
{
	UNUSED(args);
	UNUSED(n);
	ex_set_int(out, (ctx->env ? ctx->env : &ex_env_default)->now_us);
	return NULL;
}

#define D   EX_DATE
#define T   EX_TIME
#define TS  EX_TIMESTAMP
#define TZ  EX_TIMESTAMPTZ
#define IV  EX_INTERVAL
#define I4  EX_INT4
#define F8  EX_FLOAT8
#define TXT EX_TEXT

static const struct ex_func funcs[] = {
    FN(1141, "date_pli", date_plus, D, D, I4),
    FN(2550, "integer_pl_date", int_plus_date, D, I4, D),
    FN(1142, "date_mii", date_minus, D, D, I4),
    FN(1140, "date_mi", date_diff, I4, D, D),
    FN(1272, "datetime_pl", date_time, TS, D, T),
    FN(1296, "timedate_pl", time_date, TS, T, D),
    FN(2071, "date_pl_interval", date_plus_interval, TS, D, IV),
    FN(2072, "date_mi_interval", date_minus_interval, TS, D, IV),
    FN(2032, "timestamp_pl_interval", ts_plus, TS, TS, IV),
    FN(2033, "timestamp_mi_interval", ts_minus, TS, TS, IV),
    FN_STABLE(1189, "timestamptz_pl_interval", tstz_plus, TZ, TZ, IV),
    FN_STABLE(1190, "timestamptz_mi_interval", tstz_minus, TZ, TZ, IV),
    FN(2548, "interval_pl_timestamp", interval_plus_ts, TS, IV, TS),
    FN_STABLE(2549, "interval_pl_timestamptz", interval_plus_tstz, TZ, IV, TZ),
    FN(2546, "interval_pl_date", interval_plus_date, TS, IV, D),
    FN(1848, "interval_pl_time", interval_plus_time, T, IV, T),
    FN(2031, "timestamp_mi", ts_diff, IV, TS, TS),
    FN(1188, "timestamptz_mi", ts_diff, IV, TZ, TZ),
    FN(1747, "time_pl_interval", time_plus, T, T, IV),
    FN(1748, "time_mi_interval", time_minus, T, T, IV),
    FN(1690, "time_mi_time", time_diff, IV, T, T),
    FN(1169, "interval_pl", interval_plus, IV, IV, IV),
    FN(1170, "interval_mi", interval_minus, IV, IV, IV),
    FN(1168, "interval_um", interval_negate, IV, IV),
    FN(1618, "interval_mul", interval_times, IV, IV, F8),
    FN(1624, "mul_d_interval", times_interval, IV, F8, IV),
    FN(1326, "interval_div", interval_by, IV, IV, F8),
    FN(2024, "timestamp", date_timestamp, TS, D),
    FN_STABLE(1174, "timestamptz", date_timestamptz, TZ, D),
    FN(2029, "date", ts_date, D, TS),
    FN_STABLE(1178, "date", tstz_date, D, TZ),
    FN_STABLE(2027, "timestamp", tstz_ts, TS, TZ),
    FN_STABLE(2028, "timestamptz", ts_tstz, TZ, TS),
    FN(1316, "time", ts_time, T, TS),
    FN_STABLE(2019, "time", ts_time, T, TZ),
    FN(1419, "time", interval_time, T, IV),
    FN(1370, "interval", time_interval, IV, T),
    FN(2025, "timestamp", date_time, TS, D, T),
    FN_STABLE(1176, "timestamptz", date_time_tz, TZ, D, T),
    FN(2058, "age", ts_age, IV, TS, TS),
    FN_STABLE(1199, "age", tstz_age, IV, TZ, TZ),
    FN_STABLE(2059, "age", ts_age_today, IV, TS),
    FN_STABLE(1386, "age", tstz_age_today, IV, TZ),
    FN(1295, "justify_days", justify_days, IV, IV),
    FN(1175, "justify_hours", justify_hours, IV, IV),
    FN(2711, "justify_interval", justify_interval, IV, IV),
    FN(3846, "make_date", make_date, D, I4, I4, I4),
    FN(3847, "make_time", make_time, T, I4, I4, F8),
    FN(3461, "make_timestamp", make_timestamp, TS, I4, I4, I4, I4, I4, F8),
    FN_STABLE(
	3462, "make_timestamptz", make_timestamptz, TZ, I4, I4, I4, I4, I4, F8),
    FN_STABLE(3463, "make_timestamptz", make_timestamptz, TZ, I4, I4, I4, I4,
	I4, F8, TXT),
    FN(1158, "to_timestamp", to_timestamp, TZ, F8),
    FN(1373, "isfinite", date_isfinite, EX_BOOL, D),
    FN(2048, "isfinite", ts_isfinite, EX_BOOL, TS),
    FN(1389, "isfinite", ts_isfinite, EX_BOOL, TZ),
    FN(1390, "isfinite", interval_isfinite, EX_BOOL, IV),
    FN(2069, "timezone", ts_at_zone, TZ, TXT, TS),
    FN(1159, "timezone", tstz_at_zone, TS, TXT, TZ),
    FN(2070, "timezone", ts_at_zone, TZ, IV, TS),
    FN(1026, "timezone", tstz_at_zone, TS, IV, TZ),
    FN_OPT(3464, "make_interval", make_interval, 7, IV, I4, I4, I4, I4, I4, I4,
	F8),
    FN_STABLE(1000300, "current_date", current_date, D),
    FN_STABLE(1000301, "localtimestamp", localtimestamp, TS),
    FN_STABLE(1000302, "localtime", localtime_now, T),
    FN_STABLE(1000303, "current_timestamp", current_timestamp, TZ),
};
EX_FUNCS(ex_funcs_datetime);
