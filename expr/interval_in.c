/* Reading intervals: '1 day 02:03:04', '1-2 3 4:05', '3 months ago', ISO 8601.
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>

#include "expr/interval_text.h"

/* ---- sums ---- */

static bool
add_fraction_us(struct iv_sum *s, double f, int64_t unit_us)
{
	double us = f * (double)unit_us;
	int64_t whole = (int64_t)us;

	us -= (double)whole;
	if (us > 0.5)
		whole++;
	else if (us < -0.5)
		whole--;
	return !__builtin_add_overflow(s->us, whole, &s->us);
}

bool
iv_add_us(struct iv_sum *s, int64_t v, double f, int64_t unit_us)
{
	int64_t us;

	return !__builtin_mul_overflow(v, unit_us, &us) &&
	       !__builtin_add_overflow(s->us, us, &s->us) &&
	       add_fraction_us(s, f, unit_us);
}

bool
iv_add_days(struct iv_sum *s, int64_t v, double f, int32_t unit_days)
{
	int64_t days;
	double extra = f * unit_days;
	int32_t whole = (int32_t)extra;

	if (__builtin_mul_overflow(v, unit_days, &days) ||
	    __builtin_add_overflow(s->days, days, &s->days) ||
	    __builtin_add_overflow(s->days, whole, &s->days))
		return false;
	return add_fraction_us(s, extra - whole, DT_DAY);
}

bool
iv_add_months(struct iv_sum *s, int64_t v, double f)
{
	return !__builtin_add_overflow(s->months, v, &s->months) &&
	       iv_add_days(s, 0, f, 30);
}

bool
iv_add_years(struct iv_sum *s, int64_t v, double f, int32_t unit_years)
{
	int64_t years;
	int32_t months = (int32_t)rint(f * unit_years * 12);

	return !__builtin_mul_overflow(v, unit_years, &years) &&
	       !__builtin_add_overflow(s->years, years, &s->years) &&
	       !__builtin_add_overflow(s->months, months, &s->months);
}

/* ---- units ---- */

enum unit {
	U_NONE,
	U_AGO, /* "5 ago": no number may stand there */
	U_US,
	U_MS,
	U_SECOND,
	U_MINUTE,
	U_HOUR,
	U_DAY,
	U_WEEK,
	U_MONTH,
	U_YEAR,
	U_DECADE,
	U_CENTURY,
	U_MILLENNIUM
};

static const struct {
	struct str word;
	enum unit unit;
} units[] = {
    {STR("us"), U_US},
    {STR("usec"), U_US},
    {STR("usecs"), U_US},
    {STR("usecond"), U_US},
    {STR("useconds"), U_US},
    {STR("microsecond"), U_US},
    {STR("microseconds"), U_US},
    {STR("microsecon"), U_US},
    {STR("ms"), U_MS},
    {STR("msec"), U_MS},
    {STR("msecs"), U_MS},
    {STR("msecond"), U_MS},
    {STR("mseconds"), U_MS},
    {STR("millisecon"), U_MS},
    {STR("millisecond"), U_MS},
    {STR("milliseconds"), U_MS},
    {STR("s"), U_SECOND},
    {STR("sec"), U_SECOND},
    {STR("secs"), U_SECOND},
    {STR("second"), U_SECOND},
    {STR("seconds"), U_SECOND},
    {STR("m"), U_MINUTE},
    {STR("min"), U_MINUTE},
    {STR("mins"), U_MINUTE},
    {STR("minute"), U_MINUTE},
    {STR("minutes"), U_MINUTE},
    {STR("h"), U_HOUR},
    {STR("hr"), U_HOUR},
    {STR("hrs"), U_HOUR},
    {STR("hour"), U_HOUR},
    {STR("hours"), U_HOUR},
    {STR("d"), U_DAY},
    {STR("day"), U_DAY},
    {STR("days"), U_DAY},
    {STR("w"), U_WEEK},
    {STR("week"), U_WEEK},
    {STR("weeks"), U_WEEK},
    {STR("mon"), U_MONTH},
    {STR("mons"), U_MONTH},
    {STR("month"), U_MONTH},
    {STR("months"), U_MONTH},
    {STR("y"), U_YEAR},
    {STR("yr"), U_YEAR},
    {STR("yrs"), U_YEAR},
    {STR("year"), U_YEAR},
    {STR("years"), U_YEAR},
    {STR("dec"), U_DECADE},
    {STR("decs"), U_DECADE},
    {STR("decade"), U_DECADE},
    {STR("decades"), U_DECADE},
    {STR("c"), U_CENTURY},
    {STR("cent"), U_CENTURY},
    {STR("century"), U_CENTURY},
    {STR("centuries"), U_CENTURY},
    {STR("mil"), U_MILLENNIUM},
    {STR("mils"), U_MILLENNIUM},
    {STR("millennia"), U_MILLENNIUM},
    {STR("millennium"), U_MILLENNIUM},
};

static enum unit
unit_of(struct str s)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (str_eq(s, units[i].word))
			return units[i].unit;
	return U_NONE;
}

static bool
add_unit(struct iv_sum *s, enum unit u, int64_t v, double f)
{
	switch (u) {
	case U_NONE:
	case U_AGO:
		break;
	case U_US:
		return iv_add_us(s, v, f, 1);
	case U_MS:
		return iv_add_us(s, v, f, 1000);
	case U_SECOND:
		return iv_add_us(s, v, f, DT_SEC);
	case U_MINUTE:
		return iv_add_us(s, v, f, DT_MIN);
	case U_HOUR:
		return iv_add_us(s, v, f, DT_HOUR);
	case U_DAY:
		return iv_add_days(s, v, f, 1);
	case U_WEEK:
		return iv_add_days(s, v, f, 7);
	case U_MONTH:
		return iv_add_months(s, v, f);
	case U_YEAR:
		return iv_add_years(s, v, f, 1);
	case U_DECADE:
		return iv_add_years(s, v, f, 10);
	case U_CENTURY:
		return iv_add_years(s, v, f, 100);
	case U_MILLENNIUM:
		return iv_add_years(s, v, f, 1000);
	}
	return false;
}

/* What a number without a unit counts in, at the right end of the text. */
static enum unit
unit_of_range(int32_t range)
{
	if (range == IV_FULL || (range & IV_SECOND))
		return U_SECOND;
	if (range & IV_MINUTE)
		return U_MINUTE;
	if (range & IV_HOUR)
		return U_HOUR;
	if (range & IV_DAY)
		return U_DAY;
	if (range & IV_MONTH)
		return U_MONTH;
	return range & IV_YEAR ? U_YEAR : U_SECOND;
}

/* ---- fields, from right to left ---- */

struct reader {
	struct iv_sum sum;
	int32_t range;
	enum unit unit; /* of the next number to the left */
	unsigned seen;  /* 1 << unit */
	bool ago;
};

#define SEEN_TIME                                                              \
	(1u << U_HOUR | 1u << U_MINUTE | 1u << U_SECOND | 1u << U_MS |         \
	    1u << U_US)

static enum dt_fail
mark(struct reader *r, unsigned what)
{
	if (r->seen & what)
		return DT_BAD;
	r->seen |= what;
	return DT_OK;
}

static enum dt_fail
take_clock(struct reader *r, struct str s, bool neg)
{
	struct dt_tm tm = {0};
	enum dt_fail bad;
	int64_t hour, us;

	bad = dt_clock(s, &hour, &tm);
	if (bad)
		return bad;
	/* In MINUTE TO SECOND two numbers are minutes and seconds. */
	if (r->range == (IV_MINUTE | IV_SECOND) && hour <= 59 && !tm.us &&
	    memchr(s.p, ':', s.len) == (const void *)memrchr(s.p, ':', s.len) &&
	    !memchr(s.p, '.', s.len)) {
		tm.sec = tm.min;
		tm.min = (int)hour;
		hour = 0;
	}
	if (__builtin_mul_overflow(hour, DT_HOUR, &us) ||
	    __builtin_add_overflow(
		us, tm.min * DT_MIN + tm.sec * DT_SEC + tm.us, &us))
		return DT_FIELD;
	if (!iv_add_us(&r->sum, neg ? -us : us, 0, 1))
		return DT_FIELD;
	r->unit = U_DAY;
	return mark(r, SEEN_TIME);
}

static bool
read_i64(struct str *s, int64_t *out)
{
	size_t n = 0;
	bool neg = false;
	int64_t v = 0;

	*out = 0;
	if (s->len && (s->p[0] == '-' || s->p[0] == '+'))
		neg = s->p[n++] == '-';
	for (; n < s->len && isdigit((unsigned char)s->p[n]); n++)
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_sub_overflow(v, s->p[n] - '0', &v))
			return false;
	*s = str_skip(*s, n);
	return neg || !__builtin_sub_overflow(0, v, &v) ? (*out = v, true)
							: false;
}

/* years-months */
static enum dt_fail
take_year_month(struct reader *r, struct str rest, int64_t years, bool neg)
{
	int months;
	bool range;

	rest = str_skip(rest, 1);
	months = 0;
	if (rest.len && !dt_number(&rest, &months, &range))
		return range ? DT_FIELD : DT_BAD;
	if (months < 0 || months > 11)
		return DT_FIELD;
	if (rest.len)
		return DT_BAD;
	if (neg)
		months = -months;
	if (__builtin_mul_overflow(years, 12, &years) ||
	    __builtin_add_overflow(years, months, &years) ||
	    !iv_add_months(&r->sum, years, 0))
		return DT_FIELD;
	r->unit = U_MONTH;
	return mark(r, 1u << U_MONTH);
}

static enum dt_fail
take_number(struct reader *r, struct str s)
{
	bool neg = s.p[0] == '-';
	struct str rest = s;
	double fraction = 0;
	enum unit u;
	int64_t v;

	if (r->unit == U_NONE)
		r->unit = unit_of_range(r->range);
	if (r->unit == U_AGO)
		return DT_BAD;
	if (!isdigit((unsigned char)s.p[0]) && s.p[0] != '.' && s.p[0] != '+' &&
	    s.p[0] != '-')
		return DT_BAD;
	if (!read_i64(&rest, &v))
		return DT_FIELD;
	if (rest.len && rest.p[0] == '-')
		return take_year_month(r, rest, v, neg);
	if (rest.len && rest.p[0] == '.') {
		int us;

		if (!dt_fraction(rest, &us))
			return DT_BAD;
		/* s is NUL-terminated. */
		fraction = rest.len > 1 ? strtod(rest.p, NULL) : 0;
		if (neg)
			fraction = -fraction;
	} else if (rest.len) {
		return DT_BAD;
	}
	u = r->unit;
	if (!add_unit(&r->sum, u, v, fraction))
		return DT_FIELD;
	if (u == U_HOUR)
		r->unit = U_DAY;
	if (u == U_SECOND && fraction != 0)
		return mark(r, 1u << U_SECOND | 1u << U_MS | 1u << U_US);
	return mark(r, 1u << u);
}

static enum dt_fail
take_field(struct reader *r, const struct dt_field *f)
{
	switch (f->kind) {
	case DT_F_TIME:
		return take_clock(r, f->s, false);
	case DT_F_ZONE:
		if (memchr(f->s.p, ':', f->s.len) &&
		    !take_clock(r, str_skip(f->s, 1), f->s.p[0] == '-'))
			return DT_OK;
		return take_number(r, f->s);
	case DT_F_DATE:
	case DT_F_NUMBER:
		return take_number(r, f->s);
	case DT_F_WORD:
	case DT_F_SPECIAL:
		break;
	}
	if (str_eq(f->s, STR("ago"))) {
		r->ago = true;
		r->unit = U_AGO;
		return DT_OK;
	}
	r->unit = unit_of(f->s);
	return r->unit == U_NONE ? DT_BAD : DT_OK;
}

static bool
negate(struct iv_sum *s)
{
	return !__builtin_sub_overflow(0, s->us, &s->us) &&
	       !__builtin_sub_overflow(0, s->days, &s->days) &&
	       !__builtin_sub_overflow(0, s->months, &s->months) &&
	       !__builtin_sub_overflow(0, s->years, &s->years);
}

/* The SQL standard's leading minus holds for all fields. */
static void
spread_minus(struct iv_sum *s, const struct dt_field *f, size_t n)
{
	if (f[0].s.p[0] != '-')
		return;
	for (size_t i = 1; i < n; i++)
		if (f[i].s.p[0] == '-' || f[i].s.p[0] == '+')
			return;
	if (s->us > 0)
		s->us = -s->us;
	if (s->days > 0)
		s->days = -s->days;
	if (s->months > 0)
		s->months = -s->months;
	if (s->years > 0)
		s->years = -s->years;
}

static enum dt_fail
read_fields(struct arena *a, const struct ex_env *env, struct str text,
    int32_t range, struct iv_sum *out)
{
	struct reader r = {.range = range};
	struct dt_field f[DT_FIELDS_MAX];
	enum dt_fail bad;
	size_t n;

	if (!dt_fields(a, text, f, &n) || !n)
		return DT_BAD;
	for (size_t i = n; i > 0; i--) {
		bad = take_field(&r, &f[i - 1]);
		if (bad)
			return bad;
	}
	if (!r.seen)
		return DT_BAD;
	if (env->intervalstyle == EX_IV_SQL)
		spread_minus(&r.sum, f, n);
	if (r.ago && !negate(&r.sum))
		return DT_FIELD;
	*out = r.sum;
	return DT_OK;
}

struct err *
iv_read(struct arena *a, const struct ex_env *env, struct str text,
    int32_t range, struct ex_interval *out)
{
	struct iv_sum s = {0};
	enum dt_fail bad = read_fields(a, env, text, range, &s);
	int32_t months;

	memset(out, 0, sizeof(*out));
	if (bad == DT_BAD) {
		memset(&s, 0, sizeof(s));
		bad = iv_read_iso(text, &s);
	}
	if (bad == DT_FIELD || bad == DT_FIELD_ORDER)
		bad = DT_INTERVAL_RANGE;
	if (bad)
		return dt_fail_err(a, bad, "interval", text);
	if (__builtin_mul_overflow(s.years, 12, &months) ||
	    __builtin_add_overflow(months, s.months, &months))
		return ERR(a, ERRCODE_DATETIME_FIELD_OVERFLOW,
		    "interval out of range");
	*out = (struct ex_interval){s.us, s.days, months};
	return NULL;
}
