/* to_date and to_timestamp: text by a pattern. */
#include <stdio.h>

#include "expr/datetime_int.h"
#include "expr/text_int.h"
#include "expr/tochar_int.h"

struct scan {
	const struct ex_ctx *ctx;
	struct str input, s;
	int64_t year, month, day, hour, min, sec, us;
	int64_t yearday, julian, iso_year, iso_week, iso_day, seconds_of_day;
	int64_t zone_hour, zone_min;
	int zone_sign; /* 0: none given */
	bool clock12, pm, has_am, bc, has_year, has_iso, has_seconds_of_day;
};

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool
is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool
is_separator(char c)
{
	char l = ex_lower(c);

	return c > ' ' && c < 0x7f && !is_digit(c) && !(l >= 'a' && l <= 'z');
}

static void
skip_spaces(struct scan *k)
{
	while (k->s.len && is_space(k->s.p[0]))
		k->s = str_skip(k->s, 1);
}

/* The word that the error shows: what is left up to a blank, at most len. */
static struct err *
bad_value(
    struct scan *k, const struct dch_token *t, size_t len, const char *detail)
{
	size_t n = 0;

	while (n < k->s.len && n < len && !is_space(k->s.p[n]))
		n++;
	return err_detail(ERR(k->ctx->arena, ERRCODE_INVALID_DATETIME_FORMAT,
			      "invalid value \"%.*s\" for \"%.*s\"", (int)n,
			      k->s.p ? k->s.p : "", STR_FMT(t->text)),
	    "%s", detail);
}

/* Whether the pattern goes on with something that is no digit, so that this
 * field may take as many digits as there are. */
static bool
ends_open(const struct dch_pattern *p, size_t at)
{
	const struct dch_token *next = &p->token[at + 1];

	if (p->token[at].fill || p->token[at].th || at + 1 >= p->n)
		return true;
	switch (next->kind) {
	case DCH_TEXT:
		return !(next->text.len && is_digit(next->text.p[0]));
	case DCH_AD:
	case DCH_AD_DOTS:
	case DCH_AM:
	case DCH_AM_DOTS:
	case DCH_DAY:
	case DCH_DY:
	case DCH_MON:
	case DCH_MONTH:
	case DCH_RM:
	case DCH_TZ:
		return true;
	default:
		return false;
	}
}

/* A number of at most `width` digits; *len (may be NULL) is how many there
 * were. Nothing left is no error: the field keeps its default. */
static struct err *
number(struct scan *k, const struct dch_pattern *p, size_t at, size_t width,
    int64_t *out)
{
	size_t n = 0;
	int64_t v = 0;
	bool negative = false;

	skip_spaces(k);
	if (ends_open(p, at))
		width = 10;
	if (k->s.len > 1 && (k->s.p[0] == '-' || k->s.p[0] == '+') &&
	    is_digit(k->s.p[1]) && ends_open(p, at)) {
		negative = k->s.p[0] == '-';
		k->s = str_skip(k->s, 1);
	}
	while (n < k->s.len && n < width && is_digit(k->s.p[n]))
		v = v * 10 + (k->s.p[n++] - '0');
	if (!n)
		return k->s.len ? bad_value(k, &p->token[at],
				      ends_open(p, at) ? SIZE_MAX : width,
				      "Value must be an integer.")
				: NULL;
	if (v > INT32_MAX)
		return bad_value(k, &p->token[at], SIZE_MAX,
		    "Value must be in the range -2147483648 to 2147483647.");
	k->s = str_skip(k->s, n);
	*out = negative ? -v : v;
	if (p->token[at].th && k->s.len >= 2)
		k->s = str_skip(k->s, 2);
	return NULL;
}

static size_t
digits_ahead(struct str s)
{
	size_t n = 0;

	while (n < s.len && is_digit(s.p[n]))
		n++;
	return n;
}

/* A fraction of a second of any number of digits, of which `width` count. */
static struct err *
fraction(struct scan *k, const struct dch_pattern *p, size_t at, int width)
{
	size_t n;
	int64_t v = 0;

	skip_spaces(k);
	n = digits_ahead(k->s);
	if (!n)
		return bad_value(
		    k, &p->token[at], SIZE_MAX, "Value must be an integer.");
	if (n > (size_t)width && !ends_open(p, at))
		n = (size_t)width;
	for (size_t i = 0; i < 6; i++)
		v = v * 10 + (i < n ? k->s.p[i] - '0' : 0);
	k->s = str_skip(k->s, n);
	k->us = v;
	return NULL;
}

static bool
prefix(struct str s, const char *word, size_t len)
{
	return s.len >= len && str_ieq(str_of(s.p, len), str_of(word, len));
}

/* One of `n` names in any case, whole or by three letters; its index. */
static struct err *
name(struct scan *k, const struct dch_token *t, const char *const *names, int n,
    int64_t *out)
{
	bool whole = t->kind == DCH_MONTH || t->kind == DCH_DAY;
	size_t word = 0;

	skip_spaces(k);
	for (int i = 0; i < n; i++) {
		size_t len = whole ? strlen(names[i]) : 3;

		if (!prefix(k->s, names[i], len))
			continue;
		*out = i;
		k->s = str_skip(k->s, len);
		return NULL;
	}
	while (word < k->s.len && !is_space(k->s.p[word]))
		word++;
	return bad_value(k, t, word,
	    "The given value did not match any of the allowed values for "
	    "this field.");
}

/* "am", "p.m.", "BC"...: first of the two that is there. */
static struct err *
either(struct scan *k, const struct dch_token *t, const char *no,
    const char *yes, bool *out)
{
	skip_spaces(k);
	if (prefix(k->s, yes, strlen(yes)))
		*out = true;
	else if (prefix(k->s, no, strlen(no)))
		*out = false;
	else
		return bad_value(k, t, strlen(no),
		    "The given value did not match any of the allowed values "
		    "for this field.");
	k->s = str_skip(k->s, strlen(no));
	return NULL;
}

/* Years of fewer than four digits are of 1970 .. 2069. */
static int64_t
full_year(int64_t y)
{
	if (y < 70)
		return y + 2000;
	if (y < 100)
		return y + 1900;
	if (y < 520)
		return y + 2000;
	return y < 1000 ? y + 1000 : y;
}

static struct err *
year(struct scan *k, const struct dch_pattern *p, size_t at)
{
	const struct dch_token *t = &p->token[at];
	int64_t y = 0, thousands = 0;
	size_t len;
	bool iso = t->kind == DCH_IYYY;

	skip_spaces(k);
	len = digits_ahead(k->s);
	if (t->kind == DCH_Y_YYY) {
		if (sscanf(arena_cstr(k->ctx->arena, k->s), "%lld,%03lld",
			(long long *)&thousands, (long long *)&y) < 2)
			return ERR(k->ctx->arena,
			    ERRCODE_INVALID_DATETIME_FORMAT,
			    "invalid input string for \"Y,YYY\"");
		k->s = str_skip(k->s, len + 4);
		y += thousands * 1000;
	} else {
		TRY(number(k, p, at, (size_t)t->width, &y));
		if (t->width < 4 && len < 4)
			y = full_year(y);
	}
	if (iso) {
		k->iso_year = y;
		k->has_iso = true;
	} else {
		k->year = y;
		k->has_year = true;
	}
	return NULL;
}

static struct err *
zone(struct scan *k, const struct dch_pattern *p, size_t at)
{
	skip_spaces(k);
	if (k->s.len && strchr("+-", k->s.p[0])) {
		k->zone_sign = k->s.p[0] == '-' ? -1 : 1;
		k->s = str_skip(k->s, 1);
	} else {
		k->zone_sign = 1;
	}
	return number(k, p, at, 2, &k->zone_hour);
}

static struct err *
time_token(struct scan *k, const struct dch_pattern *p, size_t at)
{
	const struct dch_token *t = &p->token[at];

	switch (t->kind) {
	case DCH_HH12:
		k->clock12 = true;
		return number(k, p, at, 2, &k->hour);
	case DCH_HH24:
		return number(k, p, at, 2, &k->hour);
	case DCH_MI:
		return number(k, p, at, 2, &k->min);
	case DCH_SS:
		return number(k, p, at, 2, &k->sec);
	case DCH_MS:
		return fraction(k, p, at, 3);
	case DCH_US:
		return fraction(k, p, at, 6);
	case DCH_FF:
		return fraction(k, p, at, t->width);
	case DCH_SSSS:
		k->has_seconds_of_day = true;
		return number(k, p, at, 5, &k->seconds_of_day);
	case DCH_AM:
	case DCH_AM_DOTS:
		k->clock12 = k->has_am = true;
		return t->kind == DCH_AM ? either(k, t, "am", "pm", &k->pm)
					 : either(k, t, "a.m.", "p.m.", &k->pm);
	case DCH_TZH:
		return zone(k, p, at);
	case DCH_TZM:
		return number(k, p, at, 2, &k->zone_min);
	default:
		return ERR(k->ctx->arena, ERRCODE_FEATURE_NOT_SUPPORTED,
		    "formatting field \"%.*s\" is only supported in to_char",
		    STR_FMT(t->text));
	}
}

static struct err *
date_token(struct scan *k, const struct dch_pattern *p, size_t at)
{
	const struct dch_token *t = &p->token[at];
	int64_t ignored;

	switch (t->kind) {
	case DCH_YYYY:
	case DCH_Y_YYY:
	case DCH_IYYY:
		return year(k, p, at);
	case DCH_MONTH:
	case DCH_MON:
		TRY(name(k, t, dt_month_name, 12, &k->month));
		k->month++;
		return NULL;
	case DCH_DAY:
	case DCH_DY:
		return name(k, t, dt_day_name, 7, &ignored);
	case DCH_MM:
		return number(k, p, at, 2, &k->month);
	case DCH_DD:
		return number(k, p, at, 2, &k->day);
	case DCH_DDD:
		return number(k, p, at, 3, &k->yearday);
	case DCH_J:
		return number(k, p, at, 7, &k->julian);
	case DCH_IW:
		return number(k, p, at, 2, &k->iso_week);
	case DCH_ID:
		return number(k, p, at, 1, &k->iso_day);
	case DCH_D:
	case DCH_Q:
		return number(k, p, at, 1, &ignored);
	case DCH_AD:
		return either(k, t, "ad", "bc", &k->bc);
	case DCH_AD_DOTS:
		return either(k, t, "a.d.", "b.c.", &k->bc);
	case DCH_CC:
	case DCH_W:
	case DCH_WW:
	case DCH_IDDD:
	case DCH_RM:
		return ERR(k->ctx->arena, ERRCODE_FEATURE_NOT_SUPPORTED,
		    "\"%.*s\" is not supported in patterns of to_date and "
		    "to_timestamp",
		    STR_FMT(t->text));
	default:
		return time_token(k, p, at);
	}
}

/* A blank or separator of the pattern stands for any of the text's, or for
 * none; other literal text for as many characters. */
static void
literal(struct scan *k, struct str text)
{
	while (text.len) {
		char c = text.p[0];
		bool loose = is_space(c) || is_separator(c);

		if (loose) {
			skip_spaces(k);
			if (k->s.len && is_separator(k->s.p[0]) &&
			    !(k->s.p[0] == '-' && k->s.len > 1 && c != '-' &&
				is_space(c)))
				k->s = str_skip(k->s, 1);
		} else if (k->s.len) {
			k->s = str_skip(k->s, ex_char_len(k->s));
		}
		text = str_skip(text, ex_char_len(text));
	}
	skip_spaces(k);
}

static struct err *
out_of_range(struct scan *k)
{
	return ERR(k->ctx->arena, ERRCODE_DATETIME_FIELD_OVERFLOW,
	    "date/time field value out of range: \"%.*s\"", STR_FMT(k->input));
}

/* The day that the fields name. */
static struct err *
find_day(struct scan *k, int64_t *days)
{
	int64_t y = k->has_year ? (k->bc ? 1 - k->year : k->year) : 0;

	if (k->has_year && k->year < 0)
		y = k->year + 1; /* -44 is 44 BC */
	if (k->julian) {
		*days = k->julian - 2451545;
	} else if (k->has_iso && k->iso_week) {
		if (k->iso_week > 53 || k->iso_day > 7)
			return out_of_range(k);
		*days = dt_iso_week_start(k->iso_year, (int)k->iso_week) +
			(k->iso_day ? k->iso_day - 1 : 0);
	} else if (k->yearday) {
		if (k->yearday < 1 || k->yearday > 365 + dt_leap(y))
			return out_of_range(k);
		*days = dt_days(y, 1, 1) + k->yearday - 1;
	} else {
		if (k->month < 1 || k->month > 12 || k->day < 1 ||
		    k->day > dt_month_days(y, (int)k->month))
			return out_of_range(k);
		*days = dt_days(y, (int)k->month, (int)k->day);
	}
	return dt_date_ok(*days) ? NULL : out_of_range(k);
}

static struct err *
find_time(struct scan *k, int64_t *us)
{
	if (k->has_seconds_of_day) {
		k->hour = k->seconds_of_day / 3600;
		k->min = k->seconds_of_day / 60 % 60;
		k->sec = k->seconds_of_day % 60;
	}
	if (k->clock12) {
		if (k->hour < 1 || k->hour > 12)
			return err_hint(
			    ERR(k->ctx->arena, ERRCODE_INVALID_DATETIME_FORMAT,
				"hour \"%d\" is invalid for the 12-hour clock",
				(int)k->hour),
			    "Use the 24-hour clock, or give an hour between "
			    "1 and 12.");
		if (k->pm && k->hour < 12)
			k->hour += 12;
		else if (!k->pm && k->hour == 12)
			k->hour = 0;
	}
	if (k->hour < 0 || k->hour > 23 || k->min < 0 || k->min > 59 ||
	    k->sec < 0 || k->sec > 59)
		return out_of_range(k);
	*us = k->hour * DT_HOUR + k->min * DT_MIN + k->sec * DT_SEC + k->us;
	return NULL;
}

static struct err *
scan(struct scan *k, struct str pattern, int64_t *days, int64_t *us)
{
	struct dch_pattern p;

	k->month = k->day = 1;
	TRY(ex_dch_parse(k->ctx, pattern, &p));
	for (size_t i = 0; i < p.n && k->s.len; i++) {
		if (p.token[i].kind == DCH_TEXT)
			literal(k, p.token[i].text);
		else
			TRY(date_token(k, &p, i));
	}
	TRY(find_day(k, days));
	return find_time(k, us);
}

BODY(to_date)
{
	struct scan k = {.ctx = ctx, .input = args[0].u.s, .s = args[0].u.s};
	int64_t days, us;

	UNUSED(n);
	TRY(scan(&k, args[1].u.s, &days, &us));
	ex_set_int(out, days);
	return NULL;
}

BODY(text_to_timestamp)
{
	struct scan k = {.ctx = ctx, .input = args[0].u.s, .s = args[0].u.s};
	struct dt_zone z = ex_zone(ctx);
	int64_t days, us;

	UNUSED(n);
	TRY(scan(&k, args[1].u.s, &days, &us));
	if (days < DT_TS_MIN / DT_DAY || days >= DT_TS_END / DT_DAY)
		return out_of_range(&k);
	if (k.zone_sign)
		z = dt_zone_fixed(
		    (int32_t)(k.zone_sign *
			      (k.zone_hour * 3600 + k.zone_min * 60)));
	out->null = false;
	return dt_ts_to_tstz(ctx->arena, &z, days * DT_DAY + us, &out->u.i);
}

static const struct ex_func funcs[] = {
    FN_STABLE(1780, "to_date", to_date, EX_DATE, EX_TEXT, EX_TEXT),
    FN_STABLE(1778, "to_timestamp", text_to_timestamp, EX_TIMESTAMPTZ, EX_TEXT,
	EX_TEXT),
};
EX_FUNCS(ex_funcs_totime);
