/* Writing intervals in the four IntervalStyles. */
#include <stdlib.h>

#include "expr/interval_text.h"

/* Fields with one sign per group, as they are shown. */
struct shown {
	long long year, month, day, hour;
	long long min, sec, us;
};

static struct shown
show(struct ex_interval iv)
{
	return (struct shown){
	    .year = iv.months / 12,
	    .month = iv.months % 12,
	    .day = iv.days,
	    .hour = iv.us / DT_HOUR,
	    .min = iv.us / DT_MIN % 60,
	    .sec = iv.us / DT_SEC % 60,
	    .us = iv.us % DT_SEC,
	};
}

static bool
has_time(const struct shown *s)
{
	return s->hour || s->min || s->sec || s->us;
}

static bool
time_negative(const struct shown *s)
{
	return s->hour < 0 || s->min < 0 || s->sec < 0 || s->us < 0;
}

static void
put_clock(struct buf *b, const struct shown *s, int hour_width)
{
	buf_printf(
	    b, "%0*lld:%02lld:", hour_width, llabs(s->hour), llabs(s->min));
	dt_put_seconds(b, llabs(s->sec), llabs(s->us), 2);
}

/* ---- postgres: 1 year 2 mons -3 days +04:05:06 ---- */

static void
postgres_part(
    struct buf *b, long long v, const char *unit, bool *zero, bool *before)
{
	if (!v)
		return;
	buf_printf(b, "%s%s%lld %s%s", *zero ? "" : " ",
	    *before && v > 0 ? "+" : "", v, unit, v != 1 ? "s" : "");
	*before = v < 0;
	*zero = false;
}

static void
put_postgres(struct buf *b, const struct shown *s)
{
	bool zero = true, before = false;

	postgres_part(b, s->year, "year", &zero, &before);
	postgres_part(b, s->month, "mon", &zero, &before);
	postgres_part(b, s->day, "day", &zero, &before);
	if (!zero && !has_time(s))
		return;
	buf_printf(b, "%s%s", zero ? "" : " ",
	    time_negative(s) ? "-"
	    : before         ? "+"
			     : "");
	put_clock(b, s, 2);
}

/* ---- postgres_verbose: @ 1 year 2 mons ago ---- */

static void
verbose_part(
    struct buf *b, long long v, const char *unit, bool *zero, bool *before)
{
	if (!v)
		return;
	if (*zero) {
		*before = v < 0;
		v = llabs(v);
	} else if (*before) {
		v = -v;
	}
	buf_printf(b, " %lld %s%s", v, unit, v == 1 ? "" : "s");
	*zero = false;
}

static void
put_verbose(struct buf *b, const struct shown *s)
{
	bool zero = true, before = false;
	bool neg = s->sec < 0 || (s->sec == 0 && s->us < 0);

	buf_u8(b, '@');
	verbose_part(b, s->year, "year", &zero, &before);
	verbose_part(b, s->month, "mon", &zero, &before);
	verbose_part(b, s->day, "day", &zero, &before);
	verbose_part(b, s->hour, "hour", &zero, &before);
	verbose_part(b, s->min, "min", &zero, &before);
	if (s->sec || s->us) {
		buf_u8(b, ' ');
		if (neg && zero)
			before = true;
		else if (neg != before)
			buf_u8(b, '-');
		dt_put_seconds(b, llabs(s->sec), llabs(s->us), 1);
		buf_printf(b, " sec%s", llabs(s->sec) != 1 || s->us ? "s" : "");
		zero = false;
	}
	if (zero)
		buf_str(b, STR(" 0"));
	if (before)
		buf_str(b, STR(" ago"));
}

/* ---- iso_8601: P1Y2M3DT4H5M6S ---- */

static void
iso_part(struct buf *b, long long v, char unit)
{
	if (v)
		buf_printf(b, "%lld%c", v, unit);
}

static void
put_iso(struct buf *b, const struct shown *s)
{
	if (!s->year && !s->month && !s->day && !has_time(s)) {
		buf_str(b, STR("PT0S"));
		return;
	}
	buf_u8(b, 'P');
	iso_part(b, s->year, 'Y');
	iso_part(b, s->month, 'M');
	iso_part(b, s->day, 'D');
	if (!has_time(s))
		return;
	buf_u8(b, 'T');
	iso_part(b, s->hour, 'H');
	iso_part(b, s->min, 'M');
	if (s->sec || s->us) {
		if (s->sec < 0 || s->us < 0)
			buf_u8(b, '-');
		dt_put_seconds(b, llabs(s->sec), llabs(s->us), 1);
		buf_u8(b, 'S');
	}
}

/* ---- sql_standard: 1-2, 3 4:05:06, or all with signs ---- */

static void
put_sql(struct buf *b, const struct shown *s)
{
	bool negative =
	    s->year < 0 || s->month < 0 || s->day < 0 || time_negative(s);
	bool positive = s->year > 0 || s->month > 0 || s->day > 0 ||
			s->hour > 0 || s->min > 0 || s->sec > 0 || s->us > 0;
	bool months = s->year || s->month, day_time = s->day || has_time(s);

	if (!negative && !positive) {
		buf_u8(b, '0');
		return;
	}
	if ((negative && positive) || (months && day_time)) {
		buf_printf(b, "%c%lld-%lld %c%lld %c",
		    s->year < 0 || s->month < 0 ? '-' : '+', llabs(s->year),
		    llabs(s->month), s->day < 0 ? '-' : '+', llabs(s->day),
		    time_negative(s) ? '-' : '+');
		put_clock(b, s, 1);
		return;
	}
	if (negative)
		buf_u8(b, '-');
	if (months) {
		buf_printf(b, "%lld-%lld", llabs(s->year), llabs(s->month));
		return;
	}
	if (s->day)
		buf_printf(b, "%lld ", llabs(s->day));
	put_clock(b, s, 1);
}

void
iv_write(struct buf *b, enum ex_intervalstyle style, struct ex_interval iv)
{
	struct shown s = show(iv);

	switch (style) {
	case EX_IV_POSTGRES:
		put_postgres(b, &s);
		break;
	case EX_IV_VERBOSE:
		put_verbose(b, &s);
		break;
	case EX_IV_SQL:
		put_sql(b, &s);
		break;
	case EX_IV_ISO:
		put_iso(b, &s);
		break;
	}
}
