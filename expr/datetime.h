/* Calendar and time zones: what dates, times, timestamps and their functions
 * share.  The calendar is the proleptic Gregorian one.  Years are astronomical:
 * 0 is 1 BC, -1 is 2 BC.  All day numbers count from 2000-01-01, all times are
 * microseconds; `local` microseconds are those of a wall clock read as if it
 * were UTC. */
#ifndef EXPR_DATETIME_H
#define EXPR_DATETIME_H

#include "expr/type.h"

#define DT_SEC  INT64_C(1000000)
#define DT_MIN  INT64_C(60000000)
#define DT_HOUR INT64_C(3600000000)
#define DT_DAY  INT64_C(86400000000)

#define DT_UNIX_DAYS 10957 /* 2000-01-01 in days since 1970-01-01 */
/* Timestamps: 4714-11-24 BC up to, not including, 294277-01-01. */
#define DT_TS_MIN    INT64_C(-211813488000000000)
#define DT_TS_END    INT64_C(9223371331200000000)
#define DT_TS_NEGINF INT64_MIN
#define DT_TS_INF    INT64_MAX
/* Dates: 4714-11-24 BC up to, not including, 5874898-01-01. */
#define DT_DATE_MIN (-2451545)
#define DT_DATE_END 2145031949

static inline bool
dt_ts_finite(int64_t us)
{
	return us != DT_TS_NEGINF && us != DT_TS_INF;
}

static inline bool
dt_ts_ok(int64_t us)
{
	return us >= DT_TS_MIN && us < DT_TS_END;
}

static inline bool
dt_date_ok(int64_t days)
{
	return days >= DT_DATE_MIN && days < DT_DATE_END;
}

/* ---- calendar ---- */
struct dt_ymd {
	int64_t year; /* astronomical */
	int month;    /* 1..12 */
	int day;      /* 1..31 */
};
struct dt_tm {
	struct dt_ymd ymd;
	int hour, min, sec;
	int us;
	int32_t offset; /* seconds east of UTC; 0 without zone */
};

bool dt_leap(int64_t year);
int dt_month_days(int64_t year, int month);
/* Day number of a date; the date may be any in range of int64 arithmetic. */
int64_t dt_days(int64_t year, int month, int day);
struct dt_ymd dt_ymd(int64_t days);
int dt_weekday(int64_t days); /* 0 Sunday .. 6 */
int dt_yearday(int64_t days); /* 1..366 */
/* ISO 8601 week (1..53) and the year it belongs to (astronomical). */
int dt_iso_week(int64_t days, int64_t *iso_year);
/* Day number of the Monday of an ISO week. */
int64_t dt_iso_week_start(int64_t iso_year, int week);
/* Splits local microseconds (offset 0), and back. */
struct dt_tm dt_split(int64_t local_us);
int64_t dt_join(const struct dt_tm *tm);
/* Floor division and remainder by a day. */
int64_t dt_floor_days(int64_t us, int64_t *in_day);
/* 1..12 for "jan"/"january" in lower case, else 0; names begin upper case. */
int dt_month_of(struct str s);
extern const char *const dt_month_name[12]; /* "January" */
extern const char *const dt_day_name[7];    /* "Sunday" */
/* Rounds half away from zero to p (0..6) digits of seconds; p < 0: as is. */
int64_t dt_round(int64_t us, int p);

/* ---- zones ----
 * A zone is a fixed offset or an IANA zone read through ICU.  IANA zones come
 * from a cache of this thread; a struct dt_zone is good until the thread has
 * looked up DT_ZONE_CACHE others: use it within one evaluation. */
#define DT_ZONE_CACHE 64
struct dt_zone {
	int32_t offset; /* when iana is NULL */
	struct dt_iana *iana;
	char abbrev[8]; /* fixed zones with a name of their own */
};
/* IANA names in any case, abbreviations ("EST", "cest"), POSIX forms
 * ("UTC+3": three hours WEST). 22023 'time zone "x" not recognized'. */
struct err *dt_zone_find(struct arena *a, struct str name, struct dt_zone *out);
/* As SET TimeZone reads it: a bare number ("+02", "-3.5") is hours EAST. */
struct err *dt_zone_set(struct arena *a, struct str name, struct dt_zone *out);
struct dt_zone dt_zone_fixed(int32_t seconds_east);
/* The session's; UTC if env's name is not known. */
struct dt_zone dt_zone_env(const struct ex_env *env);
/* Seconds east of UTC at a moment. *dst may be NULL. */
int32_t dt_zone_offset(const struct dt_zone *z, int64_t utc_us, bool *dst);
/* Local to UTC: in the gap of spring the offset before holds, in the overlap
 * of autumn the one after. */
int64_t dt_to_utc(const struct dt_zone *z, int64_t local_us);
int64_t dt_to_local(const struct dt_zone *z, int64_t utc_us);
/* "CET", or "+03" where there is no name. At least 16 bytes. */
void dt_zone_abbrev(const struct dt_zone *z, int64_t utc_us, char *out);
/* Canonical spelling ("Europe/Paris"), for SHOW; false when unknown. */
bool dt_zone_canonical(struct arena *a, struct str name, struct str *out);
/* Closes this thread's cached zones; before the thread ends. */
void dt_zones_fini(void);

/* ---- conversions with PostgreSQL's range errors (22008), infinity kept ----
 */
struct err *dt_date_to_ts(struct arena *a, int32_t days, int64_t *local_us);
int32_t dt_ts_to_date(int64_t local_us);
/* timestamp <-> timestamptz in a zone. */
struct err *dt_ts_to_tstz(struct arena *a, const struct dt_zone *z,
    int64_t local_us, int64_t *utc_us);
struct err *dt_tstz_to_ts(struct arena *a, const struct dt_zone *z,
    int64_t utc_us, int64_t *local_us);

/* ---- intervals ---- */
/* What intervals compare by: months of 30 days, days of 24 hours; in us. */
__int128 dt_interval_span(struct ex_interval iv);

#endif
