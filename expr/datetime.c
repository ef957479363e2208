/* The calendar, and conversions between the date and time types. */
#include "expr/datetime.h"

const char *const dt_month_name[12] = {"January", "February", "March", "April",
    "May", "June", "July", "August", "September", "October", "November",
    "December"};
const char *const dt_day_name[7] = {"Sunday", "Monday", "Tuesday", "Wednesday",
    "Thursday", "Friday", "Saturday"};

/* Days from 0000-03-01 to 2000-01-01; years here begin in March, so that the
 * leap day is the last. */
#define MARCH_TO_2000 730425
#define ERA_DAYS      146097 /* of 400 years */

static int64_t
floor_div(int64_t x, int64_t y)
{
	return x / y - (x % y < 0);
}

bool
dt_leap(int64_t year)
{
	return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

int
dt_month_days(int64_t year, int month)
{
	static const int8_t days[12] = {
	    31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

	ASSERT(month >= 1 && month <= 12);
	return days[month - 1] + (month == 2 && dt_leap(year));
}

int64_t
dt_days(int64_t year, int month, int day)
{
	int64_t y = year - (month <= 2);
	int64_t era = floor_div(y, 400), in_era = y - era * 400;
	int64_t m = (month + 9) % 12; /* March is 0 */
	int64_t in_year = (153 * m + 2) / 5 + day - 1;

	return era * ERA_DAYS + in_era * 365 + in_era / 4 - in_era / 100 +
	       in_year - MARCH_TO_2000;
}

struct dt_ymd
dt_ymd(int64_t days)
{
	int64_t z = days + MARCH_TO_2000;
	int64_t era = floor_div(z, ERA_DAYS), d = z - era * ERA_DAYS;
	int64_t y = (d - d / 1460 + d / 36524 - d / 146096) / 365;
	int64_t in_year = d - (365 * y + y / 4 - y / 100);
	int64_t m = (5 * in_year + 2) / 153;
	struct dt_ymd r;

	r.day = (int)(in_year - (153 * m + 2) / 5) + 1;
	r.month = (int)(m < 10 ? m + 3 : m - 9);
	r.year = y + era * 400 + (r.month <= 2);
	return r;
}

int
dt_weekday(int64_t days)
{
	/* 2000-01-01 was a Saturday. */
	return (int)(((days + 6) % 7 + 7) % 7);
}

int
dt_yearday(int64_t days)
{
	return (int)(days - dt_days(dt_ymd(days).year, 1, 1)) + 1;
}

int64_t
dt_iso_week_start(int64_t iso_year, int week)
{
	/* The week of January 4 is the first. */
	int64_t jan4 = dt_days(iso_year, 1, 4);

	return jan4 - (dt_weekday(jan4) + 6) % 7 + 7 * ((int64_t)week - 1);
}

int
dt_iso_week(int64_t days, int64_t *iso_year)
{
	int64_t year = dt_ymd(days).year;

	if (days >= dt_iso_week_start(year + 1, 1))
		year++;
	else if (days < dt_iso_week_start(year, 1))
		year--;
	*iso_year = year;
	return (int)((days - dt_iso_week_start(year, 1)) / 7) + 1;
}

int64_t
dt_floor_days(int64_t us, int64_t *in_day)
{
	int64_t days = floor_div(us, DT_DAY);

	*in_day = us - days * DT_DAY;
	return days;
}

struct dt_tm
dt_split(int64_t local_us)
{
	struct dt_tm tm = {0};
	int64_t t;

	tm.ymd = dt_ymd(dt_floor_days(local_us, &t));
	tm.hour = (int)(t / DT_HOUR);
	tm.min = (int)(t / DT_MIN % 60);
	tm.sec = (int)(t / DT_SEC % 60);
	tm.us = (int)(t % DT_SEC);
	return tm;
}

int64_t
dt_join(const struct dt_tm *tm)
{
	int64_t days = dt_days(tm->ymd.year, tm->ymd.month, tm->ymd.day), us;

	if (__builtin_mul_overflow(days, DT_DAY, &us) ||
	    __builtin_add_overflow(us,
		tm->hour * DT_HOUR + tm->min * DT_MIN + tm->sec * DT_SEC +
		    tm->us,
		&us))
		return days < 0 ? INT64_MIN + 1 : INT64_MAX - 1;
	return us;
}

int
dt_month_of(struct str s)
{
	if (s.len < 3)
		return 0;
	for (int i = 0; i < 12; i++) {
		struct str name = str_c(dt_month_name[i]);

		if (str_ieq(s, name) || str_ieq(s, str_of(name.p, 3)))
			return i + 1;
	}
	return str_ieq(s, STR("sept")) ? 9 : 0;
}

int64_t
dt_round(int64_t us, int p)
{
	static const int64_t unit[] = {1000000, 100000, 10000, 1000, 100, 10};
	int64_t u;

	if (p < 0 || p >= 6)
		return us;
	u = unit[p];
	if (us >= 0)
		return (us + u / 2) / u * u;
	return -((-us + u / 2) / u * u);
}

/* ---- conversions ---- */

static struct err *
ts_range(struct arena *a)
{
	return ERR(
	    a, ERRCODE_DATETIME_FIELD_OVERFLOW, "timestamp out of range");
}

struct err *
dt_date_to_ts(struct arena *a, int32_t days, int64_t *local_us)
{
	*local_us = days == EX_DATE_MIN ? DT_TS_NEGINF : DT_TS_INF;
	if (days == EX_DATE_MIN || days == EX_DATE_MAX)
		return NULL;
	*local_us = 0;
	if (days >= DT_TS_END / DT_DAY)
		return ERR(a, ERRCODE_DATETIME_FIELD_OVERFLOW,
		    "date out of range for timestamp");
	*local_us = days * DT_DAY;
	return NULL;
}

int32_t
dt_ts_to_date(int64_t local_us)
{
	int64_t in_day;

	if (local_us == DT_TS_NEGINF)
		return EX_DATE_MIN;
	if (local_us == DT_TS_INF)
		return EX_DATE_MAX;
	return (int32_t)dt_floor_days(local_us, &in_day);
}

struct err *
dt_ts_to_tstz(
    struct arena *a, const struct dt_zone *z, int64_t local_us, int64_t *utc_us)
{
	*utc_us = local_us;
	if (!dt_ts_finite(local_us))
		return NULL;
	*utc_us = dt_to_utc(z, local_us);
	return dt_ts_ok(*utc_us) ? NULL : ts_range(a);
}

struct err *
dt_tstz_to_ts(
    struct arena *a, const struct dt_zone *z, int64_t utc_us, int64_t *local_us)
{
	*local_us = utc_us;
	if (!dt_ts_finite(utc_us))
		return NULL;
	*local_us = dt_to_local(z, utc_us);
	return dt_ts_ok(*local_us) ? NULL : ts_range(a);
}

__int128
dt_interval_span(struct ex_interval iv)
{
	return (__int128)iv.us + ((__int128)iv.months * 30 + iv.days) * DT_DAY;
}
