/* Writing dates and times in the four DateStyles. */
#include <stdlib.h>

#include "expr/datetime_text.h"

/* Years BC count from 1. */
static int64_t
shown_year(int64_t year)
{
	return year > 0 ? year : 1 - year;
}

static void
put_bc(struct buf *b, int64_t year)
{
	if (year <= 0)
		buf_str(b, STR(" BC"));
}

void
dt_put_seconds(struct buf *b, int64_t sec, int64_t us, int width)
{
	buf_printf(b, "%0*lld", width, (long long)sec);
	if (!us)
		return;
	buf_printf(b, ".%06lld", (long long)us);
	while (b->p[b->len - 1] == '0')
		b->len--;
}

static void
put_ymd(struct buf *b, const struct ex_env *env, const struct dt_ymd *d)
{
	long long year = (long long)shown_year(d->year);
	bool dmy = env->dateorder == EX_DMY;
	int first = dmy ? d->day : d->month, second = dmy ? d->month : d->day;

	switch (env->datestyle) {
	case EX_ISO:
		buf_printf(b, "%04lld-%02d-%02d", year, d->month, d->day);
		break;
	case EX_SQL:
		buf_printf(b, "%02d/%02d/%04lld", first, second, year);
		break;
	case EX_GERMAN:
		buf_printf(b, "%02d.%02d.%04lld", d->day, d->month, year);
		break;
	case EX_POSTGRES:
		buf_printf(b, "%02d-%02d-%04lld", first, second, year);
		break;
	}
}

void
dt_put_date(struct buf *b, const struct ex_env *env, int64_t days)
{
	struct dt_ymd d = dt_ymd(days);

	put_ymd(b, env, &d);
	put_bc(b, d.year);
}

void
dt_put_time(struct buf *b, int64_t us)
{
	buf_printf(
	    b, "%02d:%02d:", (int)(us / DT_HOUR), (int)(us / DT_MIN % 60));
	dt_put_seconds(b, us / DT_SEC % 60, us % DT_SEC, 2);
}

static void
put_offset(struct buf *b, int32_t east)
{
	int32_t s = abs(east);

	buf_printf(b, "%c%02d", east < 0 ? '-' : '+', s / 3600);
	if (s % 3600)
		buf_printf(b, ":%02d", s / 60 % 60);
	if (s % 60)
		buf_printf(b, ":%02d", s % 60);
}

static void
put_zone(struct buf *b, const struct ex_env *env, int64_t utc_us,
    const struct dt_zone *zone)
{
	char abbrev[16];

	if (env->datestyle == EX_ISO) {
		put_offset(b, dt_zone_offset(zone, utc_us, NULL));
		return;
	}
	dt_zone_abbrev(zone, utc_us, abbrev);
	buf_printf(b, " %s", abbrev);
}

void
dt_put_timestamp(struct buf *b, const struct ex_env *env, int64_t us,
    const struct dt_zone *zone)
{
	int64_t local = zone ? dt_to_local(zone, us) : us, in_day;
	int64_t days = dt_floor_days(local, &in_day);
	struct dt_ymd d = dt_ymd(days);
	bool words = env->datestyle == EX_POSTGRES;

	if (words) {
		const char *month = dt_month_name[d.month - 1];

		buf_printf(b, "%.3s ", dt_day_name[dt_weekday(days)]);
		if (env->dateorder == EX_DMY)
			buf_printf(b, "%02d %.3s ", d.day, month);
		else
			buf_printf(b, "%.3s %02d ", month, d.day);
	} else {
		put_ymd(b, env, &d);
		buf_u8(b, ' ');
	}
	dt_put_time(b, in_day);
	if (words)
		buf_printf(b, " %04lld", (long long)shown_year(d.year));
	if (zone)
		put_zone(b, env, us, zone);
	put_bc(b, d.year);
}
