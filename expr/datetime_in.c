/* Reading dates, times and timestamps: what each field of the text means, given
 * the fields before it. The grammar is PostgreSQL's: loose, but a number whose
 * role DateStyle does not settle is refused rather than guessed. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>

#include "expr/datetime_text.h"

enum {
	HAVE_YEAR = 1 << 0,
	HAVE_MONTH = 1 << 1,
	HAVE_DAY = 1 << 2,
	HAVE_YEARDAY = 1 << 3,
	HAVE_TIME = 1 << 4,
	HAVE_ZONE = 1 << 5,
	HAVE_DST = 1 << 6,
	HAVE_AMPM = 1 << 7,
	HAVE_ADBC = 1 << 8,
	HAVE_WEEKDAY = 1 << 9,
	HAVE_DATE = HAVE_YEAR | HAVE_MONTH | HAVE_DAY
};

enum meridian { HOURS_24, HOURS_AM, HOURS_PM };
/* What the word before makes of the next number. */
enum pending { PEND_NONE, PEND_JULIAN, PEND_TIME };

struct reader {
	struct arena *arena;
	const struct ex_env *env;
	bool time_only;
	unsigned have;
	struct dt_tm tm;
	enum dt_kind kind;
	int year_day;
	bool two_digit_year, text_month, julian, bc;
	enum meridian meridian;
	enum pending pending;
	struct dt_zone zone; /* when HAVE_ZONE */
	struct err *err;     /* a refusal with a text of its own */
};

static size_t
len_before(struct str s, char c)
{
	const char *p = memchr(s.p, c, s.len);

	return p ? (size_t)(p - s.p) : s.len;
}

static int
digits_at(struct str s, size_t from, size_t n)
{
	int v = 0;

	for (size_t i = from; i < from + n; i++) {
		if (!isdigit((unsigned char)s.p[i]))
			return -1;
		if (v > INT32_MAX / 10 - 1)
			return INT32_MAX; /* no year */
		v = v * 10 + (s.p[i] - '0');
	}
	return v;
}

/* ---- numbers ---- */

/* Digits run together: yyyymmdd, yymmdd, hhmmss, hhmm; a fraction belongs to
 * the seconds. */
static enum dt_fail
run_together(struct reader *r, struct str s, unsigned have, unsigned *got)
{
	size_t n = len_before(s, '.');
	bool fraction = n < s.len;

	if (fraction && !dt_fraction(str_skip(s, n), &r->tm.us))
		return DT_BAD;
	if (!fraction && (have & HAVE_DATE) != HAVE_DATE) {
		if (n >= 6) {
			*got = HAVE_DATE;
			r->tm.ymd.day = digits_at(s, n - 2, 2);
			r->tm.ymd.month = digits_at(s, n - 4, 2);
			r->tm.ymd.year = digits_at(s, 0, n - 4);
			r->two_digit_year = n == 6;
			return DT_OK;
		}
	}
	if (have & HAVE_TIME)
		return DT_BAD;
	if (n != 6 && (n != 4 || fraction))
		return DT_BAD;
	*got = HAVE_TIME;
	r->tm.hour = digits_at(s, 0, 2);
	r->tm.min = digits_at(s, 2, 2);
	r->tm.sec = n == 6 ? digits_at(s, 4, 2) : 0;
	return DT_OK;
}

/* Which of year, month and day the next number is. 0: none. */
static unsigned
role_of(const struct reader *r, size_t digits, unsigned have)
{
	enum ex_dateorder order = r->env->dateorder;

	switch (have & HAVE_DATE) {
	case 0:
		if (digits >= 3 || order == EX_YMD)
			return HAVE_YEAR;
		return order == EX_DMY ? HAVE_DAY : HAVE_MONTH;
	case HAVE_YEAR:
		return HAVE_MONTH;
	case HAVE_MONTH:
		/* Beside a month's name: a year where it cannot be a day. */
		if (r->text_month && (digits >= 3 || order == EX_YMD))
			return HAVE_YEAR;
		return HAVE_DAY;
	case HAVE_YEAR | HAVE_MONTH:
		return HAVE_DAY;
	case HAVE_DAY:
		return HAVE_MONTH;
	case HAVE_MONTH | HAVE_DAY:
		return HAVE_YEAR;
	default:
		return 0;
	}
}

static enum dt_fail
take_role(struct reader *r, int v, size_t digits, unsigned have, unsigned *got)
{
	unsigned role = role_of(r, digits, have);

	if (!role)
		return DT_BAD;
	*got = role;
	if (role == HAVE_DAY && r->text_month && (have & HAVE_YEAR) &&
	    digits >= 3 && r->two_digit_year) {
		/* dd-mon-yyyy in YMD order: what looked like the year was the
		 * day. */
		r->tm.ymd.day = (int)r->tm.ymd.year;
		r->tm.ymd.year = v;
		r->two_digit_year = false;
		return DT_OK;
	}
	if (role == HAVE_YEAR) {
		r->tm.ymd.year = v;
		r->two_digit_year = digits <= 2;
	} else if (role == HAVE_MONTH) {
		r->tm.ymd.month = v;
	} else {
		r->tm.ymd.day = v;
	}
	return DT_OK;
}

static enum dt_fail
take_number(struct reader *r, struct str s, unsigned have, unsigned *got)
{
	struct str rest = s;
	bool range;
	int v;

	*got = 0;
	if (!dt_number(&rest, &v, &range))
		return range ? DT_FIELD : DT_BAD;
	if (rest.len && rest.p[0] == '.') {
		if (s.len - rest.len > 2)
			return run_together(r, s, have | HAVE_DATE, got);
		if (!dt_fraction(rest, &r->tm.us))
			return DT_BAD;
	} else if (rest.len) {
		return DT_BAD;
	}
	if (s.len == 3 && (have & HAVE_DATE) == HAVE_YEAR && v >= 1 &&
	    v <= 366) {
		*got = HAVE_YEARDAY | HAVE_MONTH | HAVE_DAY;
		r->year_day = v;
		return DT_OK;
	}
	if ((have & HAVE_DATE) == HAVE_DATE)
		return run_together(r, s, have, got);
	return take_role(r, v, s.len, have, got);
}

/* ---- dates ---- */

#define PARTS_MAX 25

/* Runs of digits and runs of letters. */
static bool
split_date(struct str s, struct str *parts, size_t *n)
{
	*n = 0;
	while (s.len) {
		size_t len = 0;

		while (s.len && !isalnum((unsigned char)s.p[0]))
			s = str_skip(s, 1);
		if (!s.len || *n == PARTS_MAX)
			return false;
		if (isdigit((unsigned char)s.p[0]))
			while (len < s.len && isdigit((unsigned char)s.p[len]))
				len++;
		else
			while (len < s.len && isalpha((unsigned char)s.p[len]))
				len++;
		parts[(*n)++] = str_of(s.p, len);
		s = str_skip(s, len);
		if (s.len && !isalnum((unsigned char)s.p[0]) && s.len == 1)
			return true;
	}
	return true;
}

static enum dt_fail
take_date(struct reader *r, struct str s, unsigned *got)
{
	struct str parts[PARTS_MAX];
	unsigned have = r->have, one;
	size_t n;

	if (!split_date(s, parts, &n))
		return DT_BAD;
	/* The month's name first: it settles what the numbers are. */
	for (size_t i = 0; i < n; i++) {
		int month;

		if (!isalpha((unsigned char)parts[i].p[0]))
			continue;
		month = dt_month_of(parts[i]);
		if (!month || (have & HAVE_MONTH))
			return DT_BAD;
		have |= HAVE_MONTH;
		r->tm.ymd.month = month;
		r->text_month = true;
		parts[i].len = 0;
	}
	for (size_t i = 0; i < n; i++) {
		enum dt_fail f;

		if (!parts[i].len)
			continue;
		f = take_number(r, parts[i], have, &one);
		if (f)
			return f;
		if (have & one)
			return DT_BAD;
		have |= one;
	}
	*got = have & ~r->have;
	/* Only a zone may stand before it. */
	if ((have & ~(unsigned)(HAVE_YEARDAY | HAVE_ZONE)) != HAVE_DATE)
		return DT_BAD;
	return DT_OK;
}

static enum dt_fail
take_julian(struct reader *r, struct str s, unsigned *got)
{
	char *text = arena_cstr(r->arena, s), *end;
	double v = strtod(text, &end), day = floor(v);
	int64_t us;

	if (*end || v < 0)
		return DT_BAD;
	if (v > INT32_MAX)
		return DT_FIELD;
	*got = HAVE_DATE;
	r->julian = true;
	r->tm.ymd = dt_ymd((int64_t)day - 2451545);
	if (memchr(s.p, '.', s.len)) {
		us = (int64_t)((v - day) * (double)DT_DAY);
		r->tm.hour = (int)(us / DT_HOUR);
		r->tm.min = (int)(us / DT_MIN % 60);
		r->tm.sec = (int)(us / DT_SEC % 60);
		r->tm.us = (int)(us % DT_SEC);
		*got |= HAVE_TIME;
	}
	return DT_OK;
}

/* ---- zones ---- */

static enum dt_fail
take_offset(struct reader *r, struct str s, unsigned *got)
{
	int32_t east;
	enum dt_fail f = dt_offset(s, &east);

	if (f)
		return f;
	*got |= HAVE_ZONE;
	r->zone = dt_zone_fixed(east);
	return DT_OK;
}

static enum dt_fail
take_zone_name(struct reader *r, struct str s, unsigned *got)
{
	if (!dt_zone_named(s, &r->zone)) {
		r->err = ERR(r->arena, ERRCODE_INVALID_PARAMETER_VALUE,
		    "time zone \"%.*s\" not recognized", STR_FMT(s));
		return DT_BAD;
	}
	*got = HAVE_ZONE;
	return DT_OK;
}

/* hhmmss-zz where a date is already there (or not wanted). */
static enum dt_fail
time_with_offset(struct reader *r, struct str s, unsigned *got)
{
	size_t n = len_before(s, '-');
	enum dt_fail f;

	if ((r->have & HAVE_TIME) || n == s.len)
		return DT_BAD;
	f = run_together(r, str_of(s.p, n), r->have | HAVE_DATE, got);
	return f ? f : take_offset(r, str_skip(s, n), got);
}

/* ---- words ---- */

static void
set_date(struct reader *r, int64_t days)
{
	r->tm.ymd = dt_ymd(days);
}

/* now, today...: in the session's zone. */
static bool
take_reserved(struct reader *r, struct str s, unsigned *got)
{
	struct dt_zone z = dt_zone_env(r->env);
	int64_t now = r->env->now_us, t;
	int64_t today = dt_floor_days(dt_to_local(&z, now), &t);

	*got = HAVE_DATE;
	if (str_eq(s, STR("today"))) {
		set_date(r, today);
	} else if (str_eq(s, STR("tomorrow"))) {
		set_date(r, today + 1);
	} else if (str_eq(s, STR("yesterday"))) {
		set_date(r, today - 1);
	} else if (str_eq(s, STR("now"))) {
		r->tm = dt_split(dt_to_local(&z, now));
		r->zone = dt_zone_fixed(dt_zone_offset(&z, now, NULL));
		*got = HAVE_DATE | HAVE_TIME | HAVE_ZONE;
	} else if (str_eq(s, STR("allballs"))) {
		r->tm.hour = r->tm.min = r->tm.sec = r->tm.us = 0;
		r->zone = dt_zone_fixed(0);
		*got = HAVE_TIME | HAVE_ZONE;
	} else {
		return false;
	}
	return true;
}

static bool
take_forever(struct reader *r, struct str s, unsigned *got)
{
	static const struct {
		struct str word;
		enum dt_kind kind;
	} words[] = {
	    {STR("epoch"), DT_K_EPOCH},
	    {STR("infinity"), DT_K_INF},

	    {STR("-infinity"), DT_K_NEG_INF},
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!str_eq(s, words[i].word))
			continue;
		r->kind = words[i].kind;
		*got = HAVE_DATE | HAVE_TIME | HAVE_ZONE;
		return true;
	}
	return false;
}

static bool
is_weekday(struct str s)
{
	static const struct str extra[] = {
	    STR("tues"), STR("weds"), STR("thur"), STR("thurs")};

	for (int i = 0; i < 7; i++) {
		struct str name = str_c(dt_day_name[i]);

		if (str_ieq(s, name) || str_ieq(s, str_of(name.p, 3)))
			return true;
	}
	for (size_t i = 0; i < sizeof(extra) / sizeof(extra[0]); i++)
		if (str_eq(s, extra[i]))
			return true;
	return false;
}

static enum dt_fail
take_month(struct reader *r, int month, unsigned *got)
{
	*got = HAVE_MONTH;
	/* A number taken for the month was the day. */
	if ((r->have & HAVE_MONTH) && !r->text_month && !(r->have & HAVE_DAY) &&
	    r->tm.ymd.month >= 1 && r->tm.ymd.month <= 31) {
		r->tm.ymd.day = r->tm.ymd.month;
		*got = HAVE_DAY;
	}
	r->text_month = true;
	r->tm.ymd.month = month;
	return DT_OK;
}

/* Words that only set a flag. False: not one of them. */
static bool
take_flag(struct reader *r, struct str s, unsigned *got)
{
	*got = 0;
	if (str_eq(s, STR("at")) || str_eq(s, STR("on")))
		return true;
	if (str_eq(s, STR("am")) || str_eq(s, STR("pm"))) {
		r->meridian = s.p[0] == 'a' ? HOURS_AM : HOURS_PM;
		*got = HAVE_AMPM;
	} else if (str_eq(s, STR("ad")) || str_eq(s, STR("bc"))) {
		r->bc = s.p[0] == 'b';
		*got = HAVE_ADBC;
	} else if (str_eq(s, STR("j")) || str_eq(s, STR("jd")) ||
		   str_eq(s, STR("julian"))) {
		r->pending = PEND_JULIAN;
	} else if (str_eq(s, STR("dst"))) {
		*got = HAVE_DST;
	} else if (is_weekday(s)) {
		*got = HAVE_WEEKDAY;
	} else {
		return false;
	}
	return true;
}

static enum dt_fail
take_word(struct reader *r, const struct dt_field *f,
    const struct dt_field *next, unsigned *got)
{
	const struct dt_abbrev *ab = dt_abbrev_find(f->s);
	int month = dt_month_of(f->s);

	*got = 0;
	if (ab) {
		r->zone = dt_zone_fixed(ab->minutes * 60);
		*got = HAVE_ZONE;
		return DT_OK;
	}
	if (month)
		return take_month(r, month, got);
	if (str_eq(f->s, STR("t"))) {
		/* Between date and time. */
		if (!r->time_only && (r->have & HAVE_DATE) != HAVE_DATE)
			return DT_BAD;
		if (!next ||
		    (next->kind != DT_F_NUMBER && next->kind != DT_F_TIME &&
			next->kind != DT_F_DATE))
			return DT_BAD;
		r->pending = PEND_TIME;
		return DT_OK;
	}
	if (take_flag(r, f->s, got) || take_reserved(r, f->s, got) ||
	    take_forever(r, f->s, got))
		return DT_OK;
	*got = HAVE_ZONE;
	return dt_zone_named(f->s, &r->zone) ? DT_OK : DT_BAD;
}

/* ---- fields ---- */

static enum dt_fail
number_field(struct reader *r, const struct dt_field *f, unsigned *got)
{
	size_t before = len_before(f->s, '.');
	bool point = before < f->s.len;
	unsigned have = r->have;

	if (r->pending == PEND_JULIAN) {
		r->pending = PEND_NONE;
		return take_julian(r, f->s, got);
	}
	if (r->pending == PEND_TIME) {
		r->pending = PEND_NONE;
		return run_together(r, f->s, have | HAVE_DATE, got);
	}
	if (r->time_only) {
		have |= HAVE_DATE;
		if (point && before <= 2)
			return DT_BAD;
	}
	if (point && !(have & HAVE_DATE))
		return take_date(r, f->s, got);
	if (point && before > 2)
		return run_together(r, f->s, have, got);
	if (f->s.len >= 6 && (!(have & HAVE_DATE) || !(have & HAVE_TIME)))
		return run_together(r, f->s, have, got);
	return take_number(r, f->s, have, got);
}

static enum dt_fail
date_field(
    struct reader *r, const struct dt_field *f, bool date_first, unsigned *got)
{
	bool full =
	    (r->have & (HAVE_MONTH | HAVE_DAY)) == (HAVE_MONTH | HAVE_DAY);

	if (r->pending == PEND_JULIAN)
		return take_julian(r, f->s, got);
	if (!full && r->pending == PEND_NONE && (!r->time_only || date_first))
		return take_date(r, f->s, got);
	if (r->pending != PEND_NONE || isdigit((unsigned char)f->s.p[0])) {
		r->pending = PEND_NONE;
		return time_with_offset(r, f->s, got);
	}
	return take_zone_name(r, f->s, got);
}

static enum dt_fail
time_field(struct reader *r, const struct dt_field *f, unsigned *got)
{
	enum dt_fail bad;
	int64_t hour;

	r->pending = PEND_NONE;
	*got = HAVE_TIME;
	bad = dt_clock(f->s, &hour, &r->tm);
	if (bad)
		return bad;
	if (hour > 24)
		return DT_FIELD;
	r->tm.hour = (int)hour;
	return DT_OK;
}

static enum dt_fail
take_field(struct reader *r, const struct dt_field *f, size_t i, size_t n)
{
	unsigned got = 0;
	enum dt_fail bad = DT_BAD;
	/* A time may follow a date, which is then dropped. */
	bool date_first =
	    i == 0 && n >= 2 &&
	    (f[n - 1].kind == DT_F_DATE || f[1].kind == DT_F_TIME);

	switch (f[i].kind) {
	case DT_F_DATE:
		bad = date_field(r, &f[i], date_first, &got);
		break;
	case DT_F_TIME:
		bad = time_field(r, &f[i], &got);
		break;
	case DT_F_ZONE:
		bad = take_offset(r, f[i].s, &got);
		break;
	case DT_F_NUMBER:
		bad = number_field(r, &f[i], &got);
		break;
	case DT_F_WORD:
	case DT_F_SPECIAL:
		bad = take_word(r, &f[i], i + 1 < n ? &f[i + 1] : NULL, &got);
		break;
	}
	if (bad)
		return bad;
	if (r->have & got)
		return DT_BAD;
	r->have |= got;
	return DT_OK;
}

/* ---- the whole ---- */

static enum dt_fail
check_year(struct reader *r)
{
	int64_t *year = &r->tm.ymd.year;

	if (!(r->have & HAVE_YEAR) || r->julian)
		return DT_OK;
	if (r->two_digit_year && !r->bc) {
		if (*year < 0)
			return DT_FIELD;
		*year += *year < 70 ? 2000 : *year < 100 ? 1900 : 0;
		return DT_OK;
	}
	/* There is no year zero. */
	if (*year <= 0)
		return DT_FIELD;
	if (r->bc)
		*year = -(*year - 1);
	return DT_OK;
}

static enum dt_fail
check_date(struct reader *r)
{
	struct dt_ymd *d = &r->tm.ymd;
	enum dt_fail bad = check_year(r);

	if (bad)
		return bad;
	if (r->have & HAVE_YEARDAY)
		*d = dt_ymd(dt_days(d->year, 1, 1) + r->year_day - 1);
	if ((r->have & HAVE_MONTH) && (d->month < 1 || d->month > 12))
		return DT_FIELD_ORDER;
	if ((r->have & HAVE_DAY) && (d->day < 1 || d->day > 31))
		return DT_FIELD_ORDER;
	if ((r->have & HAVE_DATE) == HAVE_DATE &&
	    d->day > dt_month_days(d->year, d->month))
		return DT_FIELD;
	return DT_OK;
}

static enum dt_fail
check_time(struct reader *r)
{
	struct dt_tm *t = &r->tm;

	if (r->meridian != HOURS_24 && t->hour > 12)
		return DT_FIELD;
	if (r->meridian == HOURS_AM && t->hour == 12)
		t->hour = 0;
	else if (r->meridian == HOURS_PM && t->hour != 12)
		t->hour += 12;
	if (t->hour < 0 || t->min < 0 || t->sec < 0 || t->min > 59 ||
	    t->sec > 60)
		return DT_FIELD;
	if (t->hour * DT_HOUR + t->min * DT_MIN + t->sec * DT_SEC + t->us >
	    DT_DAY)
		return DT_FIELD;
	return DT_OK;
}

static enum dt_fail
finish(struct reader *r, struct dt_parsed *out)
{
	enum dt_fail bad;

	out->kind = r->kind;
	if (r->kind != DT_K_VALUE)
		return r->time_only ? DT_BAD : DT_OK;
	bad = check_date(r);
	if (!bad)
		bad = check_time(r);
	if (bad)
		return bad;
	if (r->time_only ? !(r->have & HAVE_TIME)
			 : (r->have & HAVE_DATE) != HAVE_DATE)
		return DT_BAD;
	/* A named zone's offset depends on the date. */
	if (r->time_only && (r->have & HAVE_ZONE) && r->zone.iana &&
	    (r->have & HAVE_DATE) != HAVE_DATE)
		return DT_BAD;
	out->tm = r->tm;
	out->has_zone = (r->have & HAVE_ZONE) != 0;
	if (out->has_zone) {
		out->zone = r->zone;
		if (r->have & HAVE_DST)
			out->zone.offset += 3600;
	} else {
		if (r->have & HAVE_DST)
			return DT_BAD;
		out->zone = dt_zone_env(r->env);
	}
	return DT_OK;
}

static enum dt_fail
read_all(struct reader *r, struct str text, struct dt_parsed *out)
{
	struct dt_field f[DT_FIELDS_MAX];
	size_t n;

	if (!dt_fields(r->arena, text, f, &n) || !n)
		return DT_BAD;
	for (size_t i = 0; i < n; i++) {
		enum dt_fail bad = take_field(r, f, i, n);

		if (bad)
			return bad;
	}
	return finish(r, out);
}

struct err *
dt_parse(struct arena *a, const struct ex_env *env, struct str text,
    enum dt_target target, struct dt_parsed *out)
{
	static const char *const names[] = {
	    "date", "time", "timestamp", "timestamp with time zone"};
	struct reader r = {
	    .arena = a, .env = env, .time_only = target == DT_T_TIME};
	enum dt_fail bad;

	memset(out, 0, sizeof(*out));
	bad = read_all(&r, text, out);
	if (r.err)
		return r.err;
	return bad ? dt_fail_err(a, bad, names[target], text) : NULL;
}
