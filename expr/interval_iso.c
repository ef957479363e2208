/* ISO 8601 durations: by unit letters (P1Y2MT3H), or as a date and a time
 * (P0001-02-03T04:05:06, P00010203T040506). */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>

#include "expr/interval_text.h"

struct iso {
	struct str s;
	struct iv_sum *sum;
	int64_t v;
	double f;
	size_t width; /* digits before the point */
};

/* [-]digits[.digits] */
static enum dt_fail
number(struct iso *r)
{
	char text[64];
	size_t n = 0, digits;
	double v, whole;

	if (n < r->s.len && r->s.p[n] == '-')
		n++;
	for (digits = n; n < r->s.len && isdigit((unsigned char)r->s.p[n]);)
		n++;
	r->width = n - digits;
	digits = r->width;
	if (n < r->s.len && r->s.p[n] == '.') {
		n++;
		while (n < r->s.len && isdigit((unsigned char)r->s.p[n])) {
			n++;
			digits++;
		}
	}
	if (!digits || n >= sizeof(text))
		return DT_BAD;
	memcpy(text, r->s.p, n);
	text[n] = '\0';
	v = strtod(text, NULL);
	if (v < -1.0e15 || v > 1.0e15)
		return DT_FIELD;
	whole = v < 0 ? ceil(v) : floor(v);
	r->v = (int64_t)whole;
	r->f = v - whole;
	r->s = str_skip(r->s, n);
	return DT_OK;
}

static char
next(struct iso *r)
{
	char c = r->s.len ? r->s.p[0] : '\0';

	r->s = str_skip(r->s, 1);
	return c;
}

static enum dt_fail
ok(bool added)
{
	return added ? DT_OK : DT_FIELD;
}

static enum dt_fail
date_unit(struct iso *r, char unit)
{
	switch (unit) {
	case 'Y':
		return ok(iv_add_years(r->sum, r->v, r->f, 1));
	case 'M':
		return ok(iv_add_months(r->sum, r->v, r->f));
	case 'W':
		return ok(iv_add_days(r->sum, r->v, r->f, 7));
	case 'D':
		return ok(iv_add_days(r->sum, r->v, r->f, 1));
	default:
		return DT_BAD;
	}
}

static enum dt_fail
time_unit(struct iso *r, char unit)
{
	switch (unit) {
	case 'H':
		return ok(iv_add_us(r->sum, r->v, r->f, DT_HOUR));
	case 'M':
		return ok(iv_add_us(r->sum, r->v, r->f, DT_MIN));
	case 'S':
		return ok(iv_add_us(r->sum, r->v, r->f, DT_SEC));
	default:
		return DT_BAD;
	}
}

/* The rest of yyyy-mm-dd, whose year is read and `delim` behind it. *end: what
 * came after: 'T' or NUL. */
static enum dt_fail
alternative_date(struct iso *r, char delim, char *end)
{
	enum dt_fail bad = date_unit(r, 'Y');

	*end = delim;
	if (bad || delim == '\0' || delim == 'T')
		return bad;
	bad = number(r);
	if (!bad)
		bad = date_unit(r, 'M');
	if (bad)
		return bad;
	*end = next(r);
	if (*end == '\0' || *end == 'T')
		return DT_OK;
	if (*end != '-')
		return DT_BAD;
	bad = number(r);
	if (!bad)
		bad = date_unit(r, 'D');
	if (bad)
		return bad;
	*end = next(r);
	return *end == '\0' || *end == 'T' ? DT_OK : DT_BAD;
}

/* The rest of hh:mm:ss, whose hour is read and `delim` behind it. */
static enum dt_fail
alternative_time(struct iso *r, char delim)
{
	enum dt_fail bad = time_unit(r, 'H');

	if (bad || delim == '\0')
		return bad;
	bad = number(r);
	if (!bad)
		bad = time_unit(r, 'M');
	if (bad)
		return bad;
	delim = next(r);
	if (delim == '\0')
		return DT_OK;
	if (delim != ':')
		return DT_BAD;
	bad = number(r);
	if (!bad)
		bad = time_unit(r, 'S');
	if (bad)
		return bad;
	return next(r) == '\0' ? DT_OK : DT_BAD;
}

static enum dt_fail
basic_date(struct iso *r)
{
	int64_t v = r->v;

	return ok(iv_add_years(r->sum, v / 10000, 0, 1) &&
		  iv_add_months(r->sum, v / 100 % 100, 0) &&
		  iv_add_days(r->sum, v % 100, r->f, 1));
}

static enum dt_fail
basic_time(struct iso *r)
{
	int64_t v = r->v;

	return ok(iv_add_us(r->sum, v / 10000, 0, DT_HOUR) &&
		  iv_add_us(r->sum, v / 100 % 100, 0, DT_MIN) &&
		  iv_add_us(r->sum, v % 100, r->f, DT_SEC));
}

static enum dt_fail
time_part(struct iso *r)
{
	bool first = true;

	while (r->s.len) {
		enum dt_fail bad = number(r);
		char unit;

		if (bad)
			return bad;
		unit = next(r);
		if (unit == '\0' && first && r->width == 6)
			return basic_time(r);
		if (unit == '\0' || unit == ':')
			return first ? alternative_time(r, unit) : DT_BAD;
		bad = time_unit(r, unit);
		if (bad)
			return bad;
		first = false;
	}
	return DT_OK;
}

enum dt_fail
iv_read_iso(struct str text, struct iv_sum *sum)
{
	struct iso r = {.s = text, .sum = sum};
	bool first = true;

	if (text.len < 2 || text.p[0] != 'P')
		return DT_BAD;
	r.s = str_skip(text, 1);
	while (r.s.len) {
		enum dt_fail bad;
		char unit;

		if (r.s.p[0] == 'T') {
			r.s = str_skip(r.s, 1);
			return time_part(&r);
		}
		bad = number(&r);
		if (bad)
			return bad;
		unit = next(&r);
		if (unit == '\0' || unit == 'T' || unit == '-') {
			if (!first)
				return DT_BAD;
			if (unit != '-' && r.width == 8)
				bad = basic_date(&r);
			else
				bad = alternative_date(&r, unit, &unit);
			if (bad || unit == '\0')
				return bad;
			return time_part(&r);
		}
		bad = date_unit(&r, unit);
		if (bad)
			return bad;
		first = false;
	}
	return DT_OK;
}
