/* extract, date_part, date_trunc: fields of dates and times. */
#include <math.h>

#include "expr/datetime_int.h"
#include "expr/numeric.h"
#include "expr/text_int.h"

/* ---- names of units ---- */

static const struct {
	const char *name;
	enum ex_unit unit;
} unit_names[] = {
    {"us", EX_UNIT_US},
    {"usec", EX_UNIT_US},
    {"usecs", EX_UNIT_US},
    {"usecond", EX_UNIT_US},
    {"useconds", EX_UNIT_US},
    {"microsecond", EX_UNIT_US},
    {"microseconds", EX_UNIT_US},
    {"ms", EX_UNIT_MS},
    {"msec", EX_UNIT_MS},
    {"msecs", EX_UNIT_MS},
    {"msecond", EX_UNIT_MS},
    {"mseconds", EX_UNIT_MS},
    {"millisecond", EX_UNIT_MS},
    {"milliseconds", EX_UNIT_MS},
    {"s", EX_UNIT_SECOND},
    {"sec", EX_UNIT_SECOND},
    {"secs", EX_UNIT_SECOND},
    {"second", EX_UNIT_SECOND},
    {"seconds", EX_UNIT_SECOND},
    {"m", EX_UNIT_MINUTE},
    {"min", EX_UNIT_MINUTE},
    {"mins", EX_UNIT_MINUTE},
    {"minute", EX_UNIT_MINUTE},
    {"minutes", EX_UNIT_MINUTE},
    {"h", EX_UNIT_HOUR},
    {"hr", EX_UNIT_HOUR},
    {"hrs", EX_UNIT_HOUR},
    {"hour", EX_UNIT_HOUR},
    {"hours", EX_UNIT_HOUR},
    {"d", EX_UNIT_DAY},
    {"day", EX_UNIT_DAY},
    {"days", EX_UNIT_DAY},
    {"w", EX_UNIT_WEEK},
    {"week", EX_UNIT_WEEK},
    {"weeks", EX_UNIT_WEEK},
    {"mon", EX_UNIT_MONTH},
    {"mons", EX_UNIT_MONTH},
    {"month", EX_UNIT_MONTH},
    {"months", EX_UNIT_MONTH},
    {"qtr", EX_UNIT_QUARTER},
    {"quarter", EX_UNIT_QUARTER},
    {"y", EX_UNIT_YEAR},
    {"yr", EX_UNIT_YEAR},
    {"yrs", EX_UNIT_YEAR},
    {"year", EX_UNIT_YEAR},
    {"years", EX_UNIT_YEAR},
    {"dec", EX_UNIT_DECADE},
    {"decs", EX_UNIT_DECADE},
    {"decade", EX_UNIT_DECADE},
    {"decades", EX_UNIT_DECADE},
    {"c", EX_UNIT_CENTURY},
    {"cent", EX_UNIT_CENTURY},
    {"century", EX_UNIT_CENTURY},
    {"centuries", EX_UNIT_CENTURY},
    {"mil", EX_UNIT_MILLENNIUM},
    {"mils", EX_UNIT_MILLENNIUM},
    {"millennium", EX_UNIT_MILLENNIUM},
    {"millennia", EX_UNIT_MILLENNIUM},
    {"epoch", EX_UNIT_EPOCH},
    {"dow", EX_UNIT_DOW},
    {"isodow", EX_UNIT_ISODOW},
    {"doy", EX_UNIT_DOY},
    {"isoyear", EX_UNIT_ISOYEAR},
    {"j", EX_UNIT_JULIAN},
    {"jd", EX_UNIT_JULIAN},
    {"julian", EX_UNIT_JULIAN},
    {"timezone", EX_UNIT_TZ},
    {"timezone_h", EX_UNIT_TZ_HOUR},
    {"timezone_hour", EX_UNIT_TZ_HOUR},
    {"timezone_m", EX_UNIT_TZ_MINUTE},
    {"timezone_minute", EX_UNIT_TZ_MINUTE},
};

/* "Month", "hrs"...; EX_UNIT_NONE if it is none. */
static enum ex_unit
unit_of(struct str name)
{
	for (size_t i = 0; i < sizeof unit_names / sizeof *unit_names; i++)
		if (str_ieq(name, str_c(unit_names[i].name)))
			return unit_names[i].unit;
	return EX_UNIT_NONE;
}

static struct err *
unit_error(const struct ex_ctx *ctx, struct str name, uint32_t type, bool known)
{
	char *lower = arena_cstr(ctx->arena, name);

	for (char *p = lower; *p; p++)
		*p = ex_lower(*p);
	if (known)
		return ERR(ctx->arena, ERRCODE_FEATURE_NOT_SUPPORTED,
		    "unit \"%s\" not supported for type %s", lower,
		    ex_type_format(ctx->arena, type, -1));
	return ERR(ctx->arena, ERRCODE_INVALID_PARAMETER_VALUE,
	    "unit \"%s\" not recognized for type %s", lower,
	    ex_type_format(ctx->arena, type, -1));
}

/* 22023 'unit "x" not recognized for type t', 0A000 'not supported'. */
static struct err *
unit_unknown(const struct ex_ctx *ctx, struct str name, uint32_t type)
{
	return unit_error(ctx, name, type, false);
}

static struct err *
unit_unsupported(const struct ex_ctx *ctx, struct str name, uint32_t type)
{
	return unit_error(ctx, name, type, true);
}

/* ---- results: numeric for extract, double for date_part ---- */

/* mag / 10^scale */
static struct err *
give(const struct ex_ctx *ctx, int64_t mag, int scale, struct val *out)
{
	static const double power[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6};

	ASSERT(scale >= 0 && scale <= 6);
	if (out->type == EX_FLOAT8)
		ex_set_double(out, (double)mag / power[scale]);
	else
		ex_set_str(out, num_of_scaled(ctx->arena, mag, scale));
	return NULL;
}

static struct err *
give_infinite(const struct ex_ctx *ctx, bool negative, struct val *out)
{
	out->null = false;
	if (out->type == EX_FLOAT8) {
		out->u.d = negative ? -(double)INFINITY : (double)INFINITY;
		return NULL;
	}
	return num_parse(ctx->arena,
	    negative ? STR("-Infinity") : STR("Infinity"), &out->u.s);
}

/* Of infinite dates and timestamps: fields that only grow are infinite, those
 * that come round are NULL. */
static struct err *
infinite_field(
    const struct ex_ctx *ctx, enum ex_unit u, bool negative, struct val *out)
{
	switch (u) {
	case EX_UNIT_YEAR:
	case EX_UNIT_DECADE:
	case EX_UNIT_CENTURY:
	case EX_UNIT_MILLENNIUM:
	case EX_UNIT_JULIAN:
	case EX_UNIT_ISOYEAR:
	case EX_UNIT_EPOCH:
		return give_infinite(ctx, negative, out);
	default:
		return NULL;
	}
}

/* ---- fields of a date ---- */

#define JULIAN_2000 2451545

static int64_t
no_year_zero(int64_t year)
{
	return year > 0 ? year : year - 1;
}

static int64_t
decade(int64_t year)
{
	return year >= 0 ? year / 10 : -((8 - (year - 1)) / 10);
}

/* False: no field of a date. */
static bool
date_field(enum ex_unit u, int64_t days, int64_t *out)
{
	struct dt_ymd d = dt_ymd(days);
	int64_t iso_year;

	switch (u) {
	case EX_UNIT_DAY:
		*out = d.day;
		return true;
	case EX_UNIT_MONTH:
		*out = d.month;
		return true;
	case EX_UNIT_QUARTER:
		*out = (d.month - 1) / 3 + 1;
		return true;
	case EX_UNIT_WEEK:
		*out = dt_iso_week(days, &iso_year);
		return true;
	case EX_UNIT_YEAR:
		*out = no_year_zero(d.year);
		return true;
	case EX_UNIT_DECADE:
		*out = decade(d.year);
		return true;
	case EX_UNIT_CENTURY:
		*out = ex_year_group(d.year, 100);
		return true;
	case EX_UNIT_MILLENNIUM:
		*out = ex_year_group(d.year, 1000);
		return true;
	case EX_UNIT_JULIAN:
		*out = days + JULIAN_2000;
		return true;
	case EX_UNIT_ISOYEAR:
		(void)dt_iso_week(days, &iso_year);
		*out = no_year_zero(iso_year);
		return true;
	case EX_UNIT_DOW:
		*out = dt_weekday(days);
		return true;
	case EX_UNIT_ISODOW:
		*out = dt_weekday(days) ? dt_weekday(days) : 7;
		return true;
	case EX_UNIT_DOY:
		*out = dt_yearday(days);
		return true;
	default:
		return false;
	}
}

BODY(extract_date)
{
	enum ex_unit u = unit_of(args[0].u.s);
	int64_t days = args[1].u.i, v;

	UNUSED(n);
	if (u == EX_UNIT_NONE)
		return unit_unknown(ctx, args[0].u.s, EX_DATE);
	if (!date_field(u, 0, &v) && u != EX_UNIT_EPOCH)
		return unit_unsupported(ctx, args[0].u.s, EX_DATE);
	if (days == EX_DATE_MIN || days == EX_DATE_MAX)
		return infinite_field(ctx, u, days < 0, out);
	if (u == EX_UNIT_EPOCH)
		v = (days + DT_UNIX_DAYS) * 86400;
	else
		(void)date_field(u, days, &v);
	return give(ctx, v, 0, out);
}

/* ---- fields of a time of day ---- */

static bool
time_field(enum ex_unit u, int64_t us, int64_t *mag, int *scale)
{
	*scale = 0;
	switch (u) {
	case EX_UNIT_US:
		*mag = us % DT_MIN;
		return true;
	case EX_UNIT_MS:
		*mag = us % DT_MIN;
		*scale = 3;
		return true;
	case EX_UNIT_SECOND:
		*mag = us % DT_MIN;
		*scale = 6;
		return true;
	case EX_UNIT_MINUTE:
		*mag = us / DT_MIN % 60;
		return true;
	case EX_UNIT_HOUR:
		*mag = us / DT_HOUR;
		return true;
	default:
		return false;
	}
}

BODY(extract_time)
{
	enum ex_unit u = unit_of(args[0].u.s);
	int64_t mag;
	int scale;

	UNUSED(n);
	if (u == EX_UNIT_NONE)
		return unit_unknown(ctx, args[0].u.s, EX_TIME);
	if (u == EX_UNIT_EPOCH)
		return give(ctx, args[1].u.i, 6, out);
	if (!time_field(u, args[1].u.i, &mag, &scale))
		return unit_unsupported(ctx, args[0].u.s, EX_TIME);
	return give(ctx, mag, scale, out);
}

/* ---- fields of a timestamp ---- */

/* Days and the fraction of a day. */
static struct err *
julian(const struct ex_ctx *ctx, int64_t days, int64_t in_day, struct val *out)
{
	struct arena *a = ctx->arena;
	struct str part;

	if (out->type == EX_FLOAT8) {
		ex_set_double(out, (double)(days + JULIAN_2000) +
				       (double)in_day / (double)DT_DAY);
		return NULL;
	}
	out->null = false;
	TRY(num_div(a, num_of_i64(a, in_day), num_of_i64(a, DT_DAY), &part));
	return num_add(a, num_of_i64(a, days + JULIAN_2000), part, &out->u.s);
}

static struct err *
epoch(const struct ex_ctx *ctx, int64_t us, struct val *out)
{
	struct arena *a = ctx->arena;
	int64_t mag;
	struct str whole;

	if (!__builtin_add_overflow(us, DT_UNIX_DAYS * DT_DAY, &mag))
		return give(ctx, mag, 6, out);
	if (out->type == EX_FLOAT8) {
		ex_set_double(out, (double)us / 1e6 + DT_UNIX_DAYS * 86400.0);
		return NULL;
	}
	out->null = false;
	whole = num_of_i64(a, DT_UNIX_DAYS * INT64_C(86400));
	return num_add(a, num_of_scaled(a, us, 6), whole, &out->u.s);
}

/* Seconds east of UTC, when there is a zone. */
static bool
zone_field(enum ex_unit u, int32_t offset, int64_t *out)
{
	switch (u) {
	case EX_UNIT_TZ:
		*out = offset;
		return true;
	case EX_UNIT_TZ_HOUR:
		*out = offset / 3600;
		return true;
	case EX_UNIT_TZ_MINUTE:
		*out = offset / 60 % 60;
		return true;
	default:
		return false;
	}
}

struct moment {
	int64_t us;    /* as stored; the epoch is counted from it */
	int64_t local; /* wall clock */
	int32_t offset;
	uint32_t type;
};

static struct err *
moment_field(const struct ex_ctx *ctx, struct str name, const struct moment *m,
    struct val *out)
{
	enum ex_unit u = unit_of(name);
	bool finite = dt_ts_finite(m->us);
	int64_t in_day, v;
	int64_t days = dt_floor_days(finite ? m->local : 0, &in_day);
	int scale = 0;

	if (u == EX_UNIT_NONE)
		return unit_unknown(ctx, name, m->type);
	if (u >= EX_UNIT_TZ && m->type == EX_TIMESTAMP)
		return unit_unsupported(ctx, name, m->type);
	if (!finite)
		return infinite_field(ctx, u, m->us < 0, out);
	if (u == EX_UNIT_EPOCH)
		return epoch(ctx, m->us, out);
	if (u == EX_UNIT_JULIAN)
		return julian(ctx, days, in_day, out);
	if (zone_field(u, m->offset, &v) || time_field(u, in_day, &v, &scale) ||
	    date_field(u, days, &v))
		return give(ctx, v, scale, out);
	return unit_unsupported(ctx, name, m->type);
}

BODY(extract_ts)
{
	struct moment m = {args[1].u.i, args[1].u.i, 0, EX_TIMESTAMP};

	UNUSED(n);
	return moment_field(ctx, args[0].u.s, &m, out);
}

BODY(extract_tstz)
{
	struct moment m = {args[1].u.i, args[1].u.i, 0, EX_TIMESTAMPTZ};
	struct dt_zone z = ex_zone(ctx);

	UNUSED(n);
	if (dt_ts_finite(m.us)) {
		m.offset = dt_zone_offset(&z, m.us, NULL);
		m.local = dt_to_local(&z, m.us);
	}
	return moment_field(ctx, args[0].u.s, &m, out);
}

/* date_part of a date goes by way of timestamp, so it has hours too. */
BODY(part_date)
{
	struct moment m = {0, 0, 0, EX_TIMESTAMP};

	UNUSED(n);
	TRY(dt_date_to_ts(ctx->arena, (int32_t)args[1].u.i, &m.us));
	m.local = m.us;
	return moment_field(ctx, args[0].u.s, &m, out);
}

/* ---- fields of an interval ---- */

/* Years of 365.25 days, months of 30. */
static struct err *
interval_epoch(const struct ex_ctx *ctx, struct ex_interval iv, struct val *out)
{
	int64_t quarter_days = INT64_C(1461) * (iv.months / 12) +
			       INT64_C(120) * (iv.months % 12) +
			       INT64_C(4) * iv.days;
	int64_t us;
	struct arena *a = ctx->arena;

	if (!__builtin_mul_overflow(quarter_days, DT_DAY / 4, &us) &&
	    !__builtin_add_overflow(us, iv.us, &us))
		return give(ctx, us, 6, out);
	if (out->type == EX_FLOAT8) {
		ex_set_double(
		    out, (double)quarter_days * 21600.0 + (double)iv.us / 1e6);
		return NULL;
	}
	out->null = false;
	return num_add(a, num_of_i64(a, quarter_days * 21600),
	    num_of_scaled(a, iv.us, 6), &out->u.s);
}

static bool
interval_field(enum ex_unit u, struct ex_interval iv, int64_t *out)
{
	int32_t years = iv.months / 12, months = iv.months % 12;

	switch (u) {
	case EX_UNIT_DAY:
		*out = iv.days;
		return true;
	case EX_UNIT_MONTH:
		*out = months;
		return true;
	case EX_UNIT_QUARTER:
		*out = months / 3 + 1;
		return true;
	case EX_UNIT_YEAR:
		*out = years;
		return true;
	case EX_UNIT_DECADE:
		*out = years / 10;
		return true;
	case EX_UNIT_CENTURY:
		*out = years / 100;
		return true;
	case EX_UNIT_MILLENNIUM:
		*out = years / 1000;
		return true;
	default:
		return false;
	}
}

BODY(extract_interval)
{
	enum ex_unit u = unit_of(args[0].u.s);
	struct ex_interval iv = args[1].u.iv;
	int64_t v;
	int scale = 0;

	UNUSED(n);
	if (u == EX_UNIT_NONE)
		return unit_unknown(ctx, args[0].u.s, EX_INTERVAL);
	if (u == EX_UNIT_EPOCH)
		return interval_epoch(ctx, iv, out);
	if (interval_field(u, iv, &v) || time_field(u, iv.us, &v, &scale))
		return give(ctx, v, scale, out);
	return unit_unsupported(ctx, args[0].u.s, EX_INTERVAL);
}

/* ---- date_trunc ---- */

/* Microseconds of the units below a day; 0 for the others. */
static int64_t
unit_us(enum ex_unit u)
{
	switch (u) {
	case EX_UNIT_US:
		return 1;
	case EX_UNIT_MS:
		return 1000;
	case EX_UNIT_SECOND:
		return DT_SEC;
	case EX_UNIT_MINUTE:
		return DT_MIN;
	case EX_UNIT_HOUR:
		return DT_HOUR;
	case EX_UNIT_DAY:
		return DT_DAY;
	default:
		return 0;
	}
}

/* First year of the century or millennium. */
static int64_t
group_start(int64_t year, int64_t span)
{
	if (year > 0)
		return (year + span - 1) / span * span - (span - 1);
	return -((span - 1 - (year - 1)) / span) * span + 1;
}

/* False: the unit is none to cut at. */
static bool
trunc_local(enum ex_unit u, int64_t local, int64_t *out)
{
	int64_t in_day, days = dt_floor_days(local, &in_day);
	struct dt_ymd d = dt_ymd(days);
	int month = 1;

	if (unit_us(u)) {
		*out = days * DT_DAY + (in_day - in_day % unit_us(u));
		return true;
	}
	switch (u) {
	case EX_UNIT_WEEK:
		days -= (dt_weekday(days) + 6) % 7; /* to Monday */
		*out = days * DT_DAY;
		return true;
	case EX_UNIT_MONTH:
		month = d.month;
		break;
	case EX_UNIT_QUARTER:
		month = (d.month - 1) / 3 * 3 + 1;
		break;
	case EX_UNIT_YEAR:
		break;
	case EX_UNIT_DECADE:
		d.year = decade(d.year) * 10;
		break;
	case EX_UNIT_CENTURY:
		d.year = group_start(d.year, 100);
		break;
	case EX_UNIT_MILLENNIUM:
		d.year = group_start(d.year, 1000);
		break;
	default:
		return false;
	}
	*out = dt_days(d.year, month, 1) * DT_DAY;
	return true;
}

static struct err *
trunc_moment(const struct ex_ctx *ctx, struct str unit, struct val v,
    const struct dt_zone *z, struct val *out)
{
	enum ex_unit u = unit_of(unit);
	bool finite = dt_ts_finite(v.u.i);
	int64_t local = finite ? v.u.i : 0;

	if (z && finite)
		local = dt_to_local(z, local);
	if (!trunc_local(u, local, &local))
		return unit_unknown(ctx, unit, v.type);
	ex_set_int(out, v.u.i);
	if (!finite)
		return NULL;
	/* Below an hour a zone's changes do not matter, and cutting keeps the
	 * side of an overlap. */
	if (z && u < EX_UNIT_HOUR) {
		int64_t in_unit;

		(void)dt_floor_days(v.u.i, &in_unit);
		local = v.u.i - in_unit % unit_us(u);
	} else if (z) {
		local = dt_to_utc(z, local);
	}
	TRY(ex_ts_check(ctx, local));
	ex_set_int(out, local);
	return NULL;
}

BODY(trunc_ts)
{
	UNUSED(n);
	return trunc_moment(ctx, args[0].u.s, args[1], NULL, out);
}

BODY(trunc_tstz)
{
	struct dt_zone z;

	if (n > 2)
		TRY(dt_zone_find(ctx->arena, args[2].u.s, &z));
	else
		z = ex_zone(ctx);
	return trunc_moment(ctx, args[0].u.s, args[1], &z, out);
}

BODY(trunc_interval)
{
	enum ex_unit u = unit_of(args[0].u.s);
	struct ex_interval iv = args[1].u.iv;
	int32_t months;

	UNUSED(n);
	switch (u) {
	case EX_UNIT_WEEK:
		return err_detail(
		    unit_unsupported(ctx, args[0].u.s, EX_INTERVAL),
		    "Months usually have fractional weeks.");
	case EX_UNIT_MONTH:
		months = 1;
		break;
	case EX_UNIT_QUARTER:
		months = 3;
		break;
	case EX_UNIT_YEAR:
		months = 12;
		break;
	case EX_UNIT_DECADE:
		months = 120;
		break;
	case EX_UNIT_CENTURY:
		months = 1200;
		break;
	case EX_UNIT_MILLENNIUM:
		months = 12000;
		break;
	default:
		months = 0;
		break;
	}
	if (months) {
		iv.months -= iv.months % months;
		iv.days = 0;
		iv.us = 0;
	} else if (u == EX_UNIT_DAY) {
		iv.us = 0;
	} else if (unit_us(u)) {
		iv.us -= iv.us % unit_us(u);
	} else {
		return unit_unknown(ctx, args[0].u.s, EX_INTERVAL);
	}
	ex_set_interval(out, iv);
	return NULL;
}

#define TXT EX_TEXT
#define NUM EX_NUMERIC
#define F8  EX_FLOAT8

static const struct ex_func funcs[] = {
    FN(6199, "extract", extract_date, NUM, TXT, EX_DATE),
    FN(6200, "extract", extract_time, NUM, TXT, EX_TIME),
    FN(6202, "extract", extract_ts, NUM, TXT, EX_TIMESTAMP),
    FN_STABLE(6203, "extract", extract_tstz, NUM, TXT, EX_TIMESTAMPTZ),
    FN(6204, "extract", extract_interval, NUM, TXT, EX_INTERVAL),
    FN(1384, "date_part", part_date, F8, TXT, EX_DATE),
    FN(1385, "date_part", extract_time, F8, TXT, EX_TIME),
    FN(2021, "date_part", extract_ts, F8, TXT, EX_TIMESTAMP),
    FN_STABLE(1171, "date_part", extract_tstz, F8, TXT, EX_TIMESTAMPTZ),
    FN(1172, "date_part", extract_interval, F8, TXT, EX_INTERVAL),
    FN(2020, "date_trunc", trunc_ts, EX_TIMESTAMP, TXT, EX_TIMESTAMP),
    FN_STABLE(
	1217, "date_trunc", trunc_tstz, EX_TIMESTAMPTZ, TXT, EX_TIMESTAMPTZ),
    FN_STABLE(1284, "date_trunc", trunc_tstz, EX_TIMESTAMPTZ, TXT,
	EX_TIMESTAMPTZ, TXT),
    FN(1218, "date_trunc", trunc_interval, EX_INTERVAL, TXT, EX_INTERVAL),
};
EX_FUNCS(ex_funcs_extract);
