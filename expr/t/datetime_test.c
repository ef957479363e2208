#include "expr/datetime.h"
#include "regress/lib/cu.h"

/* As extract() of PostgreSQL 15 has them; years here are astronomical. */
static const struct {
	int64_t year;
	int month, day;
	int64_t days;
	int weekday, yearday, week;
	int64_t iso_year;
} calendar[] = {
    {-43, 3, 15, -746117, 5, 74, 11, -43},
    {1999, 12, 31, -1, 5, 365, 52, 1999},
    {2000, 1, 1, 0, 6, 1, 52, 1999},
    {2000, 2, 29, 59, 2, 60, 9, 2000},
    {2004, 12, 31, 1826, 5, 366, 53, 2004},
    {2005, 1, 1, 1827, 6, 1, 53, 2004},
    {2005, 1, 2, 1828, 0, 2, 53, 2004},
    {2008, 12, 29, 3285, 1, 364, 1, 2009},
    {2010, 1, 3, 3655, 0, 3, 53, 2009},
    {2024, 12, 30, 9130, 1, 365, 1, 2025},
    {1900, 3, 1, -36465, 4, 60, 9, 1900},
    {0, 1, 1, -730485, 6, 1, 52, -1},
    {-4713, 11, 24, -2451545, 1, 328, 48, -4713},
    {12345, 6, 7, 3778591, 4, 158, 23, 12345},
};

static void
the_calendar_is_postgresql_s(void)
{
	for (size_t i = 0; i < sizeof(calendar) / sizeof(calendar[0]); i++) {
		int64_t days = dt_days(
		    calendar[i].year, calendar[i].month, calendar[i].day);
		struct dt_ymd d = dt_ymd(days);
		int64_t iso_year;

		CHECK(days == calendar[i].days);
		CHECK(d.year == calendar[i].year);
		CHECK(d.month == calendar[i].month);
		CHECK(d.day == calendar[i].day);
		CHECK(dt_weekday(days) == calendar[i].weekday);
		CHECK(dt_yearday(days) == calendar[i].yearday);
		CHECK(dt_iso_week(days, &iso_year) == calendar[i].week);
		CHECK(iso_year == calendar[i].iso_year);
	}
}

static void
days_and_dates_are_inverse(void)
{
	int64_t step = 9973;

	for (int64_t days = DT_DATE_MIN; days < DT_DATE_END; days += step) {
		struct dt_ymd d = dt_ymd(days);

		if (dt_days(d.year, d.month, d.day) != days) {
			CHECK(dt_days(d.year, d.month, d.day) == days);
			return;
		}
		if (days > 4000000)
			step = 999983;
	}
	CHECK(dt_days(5874898, 1, 1) == DT_DATE_END);
	CHECK(dt_days(294277, 1, 1) * DT_DAY == DT_TS_END);
}

static int64_t
local(int64_t y, int m, int d, int hour, int min)
{
	return dt_days(y, m, d) * DT_DAY + hour * DT_HOUR + min * DT_MIN;
}

static struct dt_zone
zone(struct arena *a, const char *name)
{
	struct dt_zone z;

	MUST(!dt_zone_find(a, str_c(name), &z));
	return z;
}

static void
gaps_take_the_offset_before_overlaps_the_one_after(void)
{
	struct arena *a = arena_new(NULL, "test");
	struct dt_zone z = zone(a, "europe/PARIS");

	CHECK(dt_to_utc(&z, local(2024, 3, 31, 2, 30)) ==
	      local(2024, 3, 31, 1, 30));
	CHECK(dt_to_utc(&z, local(2024, 3, 31, 1, 59)) ==
	      local(2024, 3, 31, 0, 59));
	CHECK(dt_to_utc(&z, local(2024, 10, 27, 2, 30)) ==
	      local(2024, 10, 27, 1, 30));
	CHECK(dt_to_utc(&z, local(2024, 10, 27, 1, 59)) ==
	      local(2024, 10, 26, 23, 59));
	arena_free(a);
	dt_zones_fini();
}

static void
utc_comes_back_through_local_time(void)
{
	static const char *const names[] = {"Europe/Paris", "Asia/Kolkata",
	    "America/New_York", "Australia/Lord_Howe", "Pacific/Apia",
	    "Africa/Casablanca", "EST", "UTC+3"};
	struct arena *a = arena_new(NULL, "test");

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct dt_zone z = zone(a, names[i]);
		int lost = 0;

		for (int64_t t = local(1990, 1, 1, 0, 7);
		     t < local(2030, 1, 1, 0, 0); t += 7 * DT_HOUR) {
			int64_t l = dt_to_local(&z, t);

			/* Only the earlier reading of an overlap is lost. */
			lost += dt_to_utc(&z, l) != t;
			CHECK(dt_to_local(&z, dt_to_utc(&z, l)) == l);
		}
		CHECK(lost < 30);
	}
	arena_free(a);
	dt_zones_fini();
}

static void
names_are_found_in_any_case_and_others_refused(void)
{
	struct arena *a = arena_new(NULL, "test");
	struct dt_zone z;
	struct err *e;
	struct str s;

	CHECK(dt_zone_canonical(a, STR("america/new_york"), &s));
	CHECK(str_eq(s, STR("America/New_York")));
	e = dt_zone_find(a, STR("Mars/Olympus"), &z);
	MUST(e != NULL);
	CHECK_STR(e->sqlstate, "22023");
	CHECK_STR(e->message, "time zone \"Mars/Olympus\" not recognized");
	/* ICU's own three-letter zones are not zones here. */
	CHECK(dt_zone_find(a, STR("AGT"), &z) != NULL);
	z = zone(a, "est");
	CHECK(dt_zone_offset(&z, 0, NULL) == -5 * 3600);
	/* POSIX counts westwards, SET TimeZone eastwards. */
	z = zone(a, "UTC+3");
	CHECK(dt_zone_offset(&z, 0, NULL) == -3 * 3600);
	MUST(!dt_zone_set(a, STR("+3.5"), &z));
	CHECK(dt_zone_offset(&z, 0, NULL) == 12600);
	MUST(!dt_zone_set(a, STR("<+02>-02"), &z));
	CHECK(dt_zone_offset(&z, 0, NULL) == 7200);
	arena_free(a);
	dt_zones_fini();
}

static void
more_zones_than_the_cache_holds_still_work(void)
{
	struct arena *a = arena_new(NULL, "test");

	static const char *const areas[] = {"Africa/Abidjan", "Africa/Accra",
	    "Africa/Cairo", "Africa/Lagos", "America/Bogota", "America/Chicago",
	    "America/Denver", "America/Lima", "America/Phoenix", "Asia/Baku",
	    "Asia/Dhaka", "Asia/Hong_Kong", "Asia/Manila", "Asia/Seoul",
	    "Asia/Tokyo", "Europe/Berlin", "Europe/Lisbon", "Europe/Oslo",
	    "Europe/Rome", "Europe/Vienna"};
	struct dt_zone z;

	for (int round = 0; round < 3; round++) {
		for (int i = -14; i <= 12; i++) {
			z = zone(a, arena_printf(a, "Etc/GMT%+d", i));
			CHECK(dt_zone_offset(&z, 0, NULL) == -i * 3600);
		}
		for (int i = -12; i <= 14; i++)
			for (size_t k = 0; k < 20; k++) {
				z = zone(a, areas[k]);
				CHECK(dt_zone_offset(&z, 0, NULL) != 77);
			}
		z = zone(a, "Asia/Tokyo");
		CHECK(dt_zone_offset(&z, 0, NULL) == 9 * 3600);
	}
	arena_free(a);
	dt_zones_fini();
}

static void
rounding_is_half_away_from_zero(void)
{
	CHECK(dt_round(1500000, 0) == 2000000);
	CHECK(dt_round(-1500000, 0) == -2000000);
	CHECK(dt_round(1499999, 0) == 1000000);
	CHECK(dt_round(123455, 5) == 123460);
	CHECK(dt_round(123456, 6) == 123456);
	CHECK(dt_round(123456, -1) == 123456);
}

CU_MAIN("datetime",
    {"the_calendar_is_postgresql_s", the_calendar_is_postgresql_s},
    {"days_and_dates_are_inverse", days_and_dates_are_inverse},
    {"gaps_take_the_offset_before_overlaps_the_one_after",
	gaps_take_the_offset_before_overlaps_the_one_after},
    {"utc_comes_back_through_local_time", utc_comes_back_through_local_time},
    {"names_are_found_in_any_case_and_others_refused",
	names_are_found_in_any_case_and_others_refused},
    {"more_zones_than_the_cache_holds_still_work",
	more_zones_than_the_cache_holds_still_work},
    {"rounding_is_half_away_from_zero", rounding_is_half_away_from_zero})
