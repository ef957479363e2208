/* From text to fields, and the small readers that dates and intervals share. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>

#include "expr/datetime_text.h"

struct err *
dt_fail_err(struct arena *a, enum dt_fail f, const char *type, struct str text)
{
	struct err *e;

	switch (f) {
	case DT_FIELD:
	case DT_FIELD_ORDER:
		e = ERR(a, ERRCODE_DATETIME_FIELD_OVERFLOW,
		    "date/time field value out of range: \"%.*s\"",
		    STR_FMT(text));
		if (f == DT_FIELD_ORDER)
			err_hint(e,
			    "Perhaps you need a different \"datestyle\" "
			    "setting.");
		return e;
	case DT_ZONE_RANGE:
		return ERR(a, ERRCODE_INVALID_TIME_ZONE_DISPLACEMENT_VALUE,
		    "time zone displacement out of range: \"%.*s\"",
		    STR_FMT(text));
	case DT_INTERVAL_RANGE:
		return ERR(a, ERRCODE_INTERVAL_FIELD_OVERFLOW,
		    "interval field value out of range: \"%.*s\"",
		    STR_FMT(text));
	case DT_OK:
	case DT_BAD:
		break;
	}
	return ERR(a, ERRCODE_INVALID_DATETIME_FORMAT,
	    "invalid input syntax for type %s: \"%.*s\"", type, STR_FMT(text));
}

/* ---- fields ---- */

static bool
digit(struct str s, size_t i)
{
	return i < s.len && isdigit((unsigned char)s.p[i]);
}

static bool
alpha(struct str s, size_t i)
{
	return i < s.len && isalpha((unsigned char)s.p[i]);
}

static bool
one_of(struct str s, size_t i, const char *set)
{
	return i < s.len && s.p[i] && strchr(set, s.p[i]) != NULL;
}

/* Starts with a digit: a time, a date (whose month may be a word), or a plain
 * number. */
static size_t
field_of_digits(struct str s, enum dt_field_kind *kind)
{
	size_t n = 0;
	char delim;

	*kind = DT_F_NUMBER;
	while (digit(s, n))
		n++;
	if (one_of(s, n, ":")) {
		*kind = DT_F_TIME;
		while (digit(s, n) || one_of(s, n, ":."))
			n++;
		return n;
	}
	if (!one_of(s, n, "-/."))
		return n;
	delim = s.p[n++];
	if (!digit(s, n)) {
		*kind = DT_F_DATE;
		while (digit(s, n) || alpha(s, n) ||
		       (n < s.len && s.p[n] == delim))
			n++;
		return n;
	}
	*kind = delim == '.' ? DT_F_NUMBER : DT_F_DATE;
	while (digit(s, n))
		n++;
	if (n < s.len && s.p[n] == delim) {
		*kind = DT_F_DATE;
		while (digit(s, n) || (n < s.len && s.p[n] == delim))
			n++;
	}
	return n;
}

/* Words that stand alone even when a digit follows at once. */
static bool
is_core_word(struct str s)
{
	static const struct str words[] = {STR("j"), STR("jd"), STR("julian"),
	    STR("t"), STR("ad"), STR("bc"), STR("am"), STR("pm"), STR("at"),
	    STR("on"), STR("dst"), STR("now"), STR("today"), STR("tomorrow"),
	    STR("yesterday"), STR("epoch"), STR("y"), STR("m"), STR("d"),
	    STR("h"), STR("s"), STR("mm")};

	if (dt_month_of(s))
		return true;
	for (int i = 0; i < 7; i++)
		if (str_ieq(s, str_of(dt_day_name[i], 3)))
			return true;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (str_ieq(s, words[i]))
			return true;
	return false;
}

/* A word; with punctuation inside it is a date ("jan-02-2024") or a zone
 * ("america/new_york"). */
static size_t
field_of_letters(struct str s, enum dt_field_kind *kind)
{
	size_t n = 0;

	*kind = DT_F_WORD;
	while (alpha(s, n))
		n++;
	if (one_of(s, n, "-/.") || ((one_of(s, n, "+") || digit(s, n)) &&
				       !is_core_word(str_of(s.p, n)))) {
		*kind = DT_F_DATE;
		while (alpha(s, n) || digit(s, n) || one_of(s, n, "+-/_.:"))
			n++;
	}
	return n;
}

static void
lower_copy(struct arena *a, struct dt_field *f)
{
	char *p = arena_alloc_raw(a, f->s.len + 1);

	for (size_t i = 0; i < f->s.len; i++)
		p[i] = (char)tolower((unsigned char)f->s.p[i]);
	p[f->s.len] = '\0';
	f->s.p = p;
}

/* '+' or '-', blanks, then digits or a word: joined without the blanks. */
static bool
field_of_sign(struct arena *a, struct str *s, struct dt_field *f)
{
	size_t n = 0;
	char *p;
	char sign = s->p[0];

	*s = str_skip(*s, 1);
	while (s->len && isspace((unsigned char)s->p[0]))
		*s = str_skip(*s, 1);
	if (digit(*s, 0)) {
		f->kind = DT_F_ZONE;
		while (digit(*s, n) || one_of(*s, n, ":.-"))
			n++;
	} else if (alpha(*s, 0)) {
		f->kind = DT_F_SPECIAL;
		while (alpha(*s, n))
			n++;
	} else {
		return false;
	}
	p = arena_alloc_raw(a, n + 1);
	p[0] = sign;
	memcpy(p + 1, s->p, n);
	f->s = str_of(p, n + 1);
	*s = str_skip(*s, n);
	lower_copy(a, f);
	return true;
}

bool
dt_fields(struct arena *a, struct str s, struct dt_field *f, size_t *n)
{
	*n = 0;
	while (s.len) {
		unsigned char c = (unsigned char)s.p[0];
		struct dt_field *at = &f[*n];
		size_t len;

		if (isspace(c)) {
			s = str_skip(s, 1);
			continue;
		}
		if (*n == DT_FIELDS_MAX)
			return false;
		if (c == '+' || c == '-') {
			if (!field_of_sign(a, &s, at))
				return false;
			++*n;
			continue;
		}
		if (isdigit(c)) {
			len = field_of_digits(s, &at->kind);
		} else if (c == '.') {
			at->kind = DT_F_NUMBER;
			for (len = 1; digit(s, len); len++)
				continue;
		} else if (isalpha(c)) {
			len = field_of_letters(s, &at->kind);
		} else if (ispunct(c)) {
			s = str_skip(s, 1);
			continue;
		} else {
			return false;
		}
		at->s = str_of(s.p, len);
		lower_copy(a, at);
		s = str_skip(s, len);
		++*n;
	}
	return true;
}

/* ---- small readers ---- */

bool
dt_number(struct str *s, int *out, bool *range)
{
	bool neg = false;
	int64_t v = 0;
	size_t n = 0;

	*out = 0;
	*range = false;
	if (s->len && (s->p[0] == '-' || s->p[0] == '+'))
		neg = s->p[n++] == '-';
	if (!digit(*s, n))
		return false;
	for (; digit(*s, n); n++) {
		v = v * 10 + (s->p[n] - '0');
		if (v > INT64_C(1) << 40)
			v = INT64_C(1) << 40;
	}
	if (neg)
		v = -v;
	*s = str_skip(*s, n);
	*range = v < INT32_MIN || v > INT32_MAX;
	if (*range)
		return false;
	*out = (int)v;
	return true;
}

bool
dt_fraction(struct str s, int *us)
{
	char text[64];
	size_t n = s.len < sizeof(text) - 1 ? s.len : sizeof(text) - 1;

	*us = 0;
	if (!s.len || s.p[0] != '.')
		return false;
	for (size_t i = 1; i < s.len; i++)
		if (!digit(s, i))
			return false;
	if (s.len == 1)
		return true;
	memcpy(text, s.p, n);
	text[n] = '\0';
	*us = (int)rint(strtod(text, NULL) * 1e6);
	return true;
}

enum dt_fail
dt_offset(struct str s, int32_t *east)
{
	bool neg = s.len && s.p[0] == '-', range;
	int hour, min = 0, sec = 0;
	size_t digits;

	*east = 0;
	if (!s.len || (s.p[0] != '+' && s.p[0] != '-'))
		return DT_BAD;
	s = str_skip(s, 1);
	for (digits = 0; digit(s, digits);)
		digits++;
	if (!dt_number(&s, &hour, &range))
		return range ? DT_ZONE_RANGE : DT_BAD;
	if (s.len && s.p[0] == ':') {
		s = str_skip(s, 1);
		if (!dt_number(&s, &min, &range))
			return range ? DT_ZONE_RANGE : DT_BAD;
		if (s.len && s.p[0] == ':') {
			s = str_skip(s, 1);
			if (!dt_number(&s, &sec, &range))
				return range ? DT_ZONE_RANGE : DT_BAD;
		}
	} else if (!s.len && digits > 2) {
		min = hour % 100;
		hour /= 100;
	}
	if (hour < 0 || hour > 15 || min < 0 || min > 59 || sec < 0 || sec > 59)
		return DT_ZONE_RANGE;
	if (s.len)
		return DT_BAD;
	*east = hour * 3600 + min * 60 + sec;
	if (neg)
		*east = -*east;
	return DT_OK;
}

/* The two numbers after the hour; `parts` counts what was there. */
static enum dt_fail
clock_rest(struct str s, int64_t *hour, struct dt_tm *tm)
{
	bool range;

	if (!dt_number(&s, &tm->min, &range))
		return range ? DT_FIELD : DT_BAD;
	tm->sec = 0;
	tm->us = 0;
	if (!s.len)
		return DT_OK;
	if (s.p[0] == '.') {
		/* mm:ss.f */
		if (*hour > INT32_MAX)
			return DT_FIELD;
		tm->sec = tm->min;
		tm->min = (int)*hour;
		*hour = 0;
		return dt_fraction(s, &tm->us) ? DT_OK : DT_BAD;
	}
	if (s.p[0] != ':')
		return DT_BAD;
	s = str_skip(s, 1);
	if (!dt_number(&s, &tm->sec, &range))
		return range ? DT_FIELD : DT_BAD;
	if (s.len && !dt_fraction(s, &tm->us))
		return DT_BAD;
	return DT_OK;
}

enum dt_fail
dt_clock(struct str s, int64_t *hour, struct dt_tm *tm)
{
	enum dt_fail f;
	size_t n = 0;

	*hour = 0;
	for (; digit(s, n); n++)
		if (__builtin_mul_overflow(*hour, 10, hour) ||
		    __builtin_add_overflow(*hour, s.p[n] - '0', hour))
			return DT_FIELD;
	if (!n || n == s.len || s.p[n] != ':')
		return DT_BAD;
	f = clock_rest(str_skip(s, n + 1), hour, tm);
	if (f)
		return f;
	if (tm->min < 0 || tm->min > 59 || tm->sec < 0 || tm->sec > 60)
		return DT_FIELD;
	return DT_OK;
}
