/* to_char of timestamps and intervals. */
#include "expr/datetime_int.h"
#include "expr/text_int.h"
#include "expr/tochar_int.h"

struct fields {
	int64_t year; /* of an interval, or astronomical */
	int64_t hour;
	int month, day, min, sec, us;
	int64_t days; /* since 2000 */
	int yearday;
	bool interval;
	bool zoned;
	int32_t offset;
	char zone[16];
};

static int64_t
shown_year(const struct fields *f, int64_t year)
{
	return f->interval || year > 0 ? year : -(year - 1);
}

/* A number with its ordinal suffix. */
static void
put_number(struct buf *b, const struct dch_token *t, int width, int64_t v)
{
	static const char *const suffix[] = {"th", "st", "nd", "rd"};
	int64_t m = v < 0 ? -v : v;
	int64_t last = m % 10;

	if (t->fill)
		width = 0;
	else if (v < 0)
		width++;
	buf_printf(b, "%0*lld", width, (long long)v);
	if (!t->th)
		return;
	if (last > 3 || (m / 10 % 10 == 1))
		last = 0;
	for (const char *c = suffix[last]; *c; c++)
		buf_u8(b, (uint8_t)(t->th == 'T' ? ex_upper(*c) : *c));
}

/* Letters of a name in the case of its keyword, padded. */
static void
put_name(struct buf *b, const struct dch_token *t, const char *name, size_t len,
    size_t width)
{
	for (size_t i = 0; i < len; i++) {
		char c = name[i];

		if (t->letters == DCH_UPPER)
			c = ex_upper(c);
		else if (t->letters == DCH_LOWER)
			c = ex_lower(c);
		buf_u8(b, (uint8_t)c);
	}
	for (; len < width && !t->fill; len++)
		buf_u8(b, ' ');
}

static void
put_word(struct buf *b, const struct dch_token *t, const char *word)
{
	put_name(b, t, word, strlen(word), 0);
}

static void
put_fraction(struct buf *b, const struct dch_token *t, int us, int digits)
{
	struct dch_token plain = *t;

	for (int i = digits; i < 6; i++)
		us /= 10;
	plain.fill = false;
	put_number(b, &plain, digits, us);
}

static void
put_month_name(struct buf *b, const struct dch_token *t, const struct fields *f)
{
	static const char *const roman[] = {"I", "II", "III", "IV", "V", "VI",
	    "VII", "VIII", "IX", "X", "XI", "XII"};
	int m = f->month;
	const char *name;

	if (f->interval && m == 0 && f->year == 0)
		return;
	m = ((m - 1) % 12 + 12) % 12;
	name = dt_month_name[m];
	if (t->kind == DCH_MONTH)
		put_name(b, t, name, strlen(name), 9);
	else if (t->kind == DCH_MON)
		put_name(b, t, name, 3, 0);
	else
		put_name(b, t, roman[m], strlen(roman[m]), 4);
}

static void
put_year(struct buf *b, const struct dch_token *t, const struct fields *f)
{
	static const int64_t modulo[] = {1, 10, 100, 1000};
	int64_t year = f->year;

	if (t->kind == DCH_IYYY && !f->interval)
		(void)dt_iso_week(f->days, &year);
	year = shown_year(f, year);
	if (t->kind == DCH_Y_YYY) {
		buf_printf(b, "%lld,%03lld", (long long)(year / 1000),
		    (long long)(year % 1000));
		return;
	}
	put_number(
	    b, t, t->width, t->width == 4 ? year : year % modulo[t->width]);
}

static void
put_zone(struct buf *b, const struct dch_token *t, const struct fields *f)
{
	int32_t off = f->offset < 0 ? -f->offset : f->offset;
	char sign = f->offset < 0 ? '-' : '+';

	switch (t->kind) {
	case DCH_TZ:
		if (f->zoned)
			put_name(b, t, f->zone, strlen(f->zone), 0);
		return;
	case DCH_TZH:
		buf_printf(b, "%c%02d", sign, off / 3600);
		return;
	case DCH_TZM:
		buf_printf(b, "%02d", off / 60 % 60);
		return;
	default:
		buf_printf(b, "%c%0*d", sign, t->fill ? 0 : 2, off / 3600);
		if (off / 60 % 60)
			buf_printf(b, ":%02d", off / 60 % 60);
		return;
	}
}

static void
put_time(struct buf *b, const struct dch_token *t, const struct fields *f)
{
	int64_t h = f->hour;

	switch (t->kind) {
	case DCH_HH12:
		put_number(b, t, 2, h % 12 == 0 ? 12 : h % 12);
		return;
	case DCH_HH24:
		put_number(b, t, 2, h);
		return;
	case DCH_MI:
		put_number(b, t, 2, f->min);
		return;
	case DCH_SS:
		put_number(b, t, 2, f->sec);
		return;
	case DCH_MS:
		put_fraction(b, t, f->us, 3);
		return;
	case DCH_US:
		put_fraction(b, t, f->us, 6);
		return;
	case DCH_FF:
		put_fraction(b, t, f->us, t->width);
		return;
	case DCH_SSSS: {
		struct dch_token plain = *t;

		plain.fill = true;
		put_number(b, &plain, 0, h * 3600 + f->min * 60 + f->sec);
		return;
	}
	case DCH_AM:
		put_word(b, t, h % 24 >= 12 ? "pm" : "am");
		return;
	default:
		put_word(b, t, h % 24 >= 12 ? "p.m." : "a.m.");
		return;
	}
}

static void
put_day(struct buf *b, const struct dch_token *t, const struct fields *f)
{
	int dow = dt_weekday(f->days);
	int64_t iso_year, n;

	switch (t->kind) {
	case DCH_DAY:
		put_name(b, t, dt_day_name[dow], strlen(dt_day_name[dow]), 9);
		return;
	case DCH_DY:
		put_name(b, t, dt_day_name[dow], 3, 0);
		return;
	case DCH_D:
		put_number(b, t, 0, dow + 1);
		return;
	case DCH_ID:
		put_number(b, t, 0, dow ? dow : 7);
		return;
	case DCH_IW:
		put_number(b, t, 2, dt_iso_week(f->days, &iso_year));
		return;
	case DCH_IDDD:
		(void)dt_iso_week(f->days, &iso_year);
		n = f->days - dt_iso_week_start(iso_year, 1) + 1;
		put_number(b, t, 3, n);
		return;
	default:
		return;
	}
}

static void
put_date(struct buf *b, const struct dch_token *t, const struct fields *f)
{
	switch (t->kind) {
	case DCH_MM:
		put_number(b, t, 2, f->month);
		return;
	case DCH_DD:
		put_number(b, t, 2, f->day);
		return;
	case DCH_DDD:
		put_number(b, t, 3, f->yearday);
		return;
	case DCH_WW:
		put_number(b, t, 2, (f->yearday - 1) / 7 + 1);
		return;
	case DCH_W:
		put_number(b, t, 0, (f->day - 1) / 7 + 1);
		return;
	case DCH_Q:
		if (f->month)
			put_number(b, t, 0, (f->month - 1) / 3 + 1);
		return;
	case DCH_CC:
		put_number(b, t, 2,
		    f->interval ? f->year / 100 : ex_year_group(f->year, 100));
		return;
	case DCH_J:
		put_number(b, t, 0, f->days + 2451545);
		return;
	case DCH_AD:
		put_word(b, t, f->year > 0 ? "ad" : "bc");
		return;
	case DCH_AD_DOTS:
		put_word(b, t, f->year > 0 ? "a.d." : "b.c.");
		return;
	default:
		put_day(b, t, f);
		return;
	}
}

/* What an interval has no answer to. */
static bool
needs_calendar(enum dch k)
{
	switch (k) {
	case DCH_AD:
	case DCH_AD_DOTS:
	case DCH_D:
	case DCH_DAY:
	case DCH_DY:
	case DCH_ID:
	case DCH_IDDD:
	case DCH_IW:
	case DCH_OF:
	case DCH_TZ:
	case DCH_TZH:
	case DCH_TZM:
		return true;
	default:
		return false;
	}
}

static struct err *
put_token(const struct ex_ctx *ctx, struct buf *b, const struct dch_token *t,
    const struct fields *f)
{
	if (f->interval && needs_calendar(t->kind))
		return err_hint(
		    ERR(ctx->arena, ERRCODE_INVALID_DATETIME_FORMAT,
			"invalid format specification for an interval value"),
		    "Intervals are not tied to specific calendar dates.");
	switch (t->kind) {
	case DCH_TEXT:
		buf_str(b, t->text);
		return NULL;
	case DCH_AM:
	case DCH_AM_DOTS:
	case DCH_FF:
	case DCH_HH12:
	case DCH_HH24:
	case DCH_MI:
	case DCH_MS:
	case DCH_SS:
	case DCH_SSSS:
	case DCH_US:
		put_time(b, t, f);
		return NULL;
	case DCH_MON:
	case DCH_MONTH:
	case DCH_RM:
		put_month_name(b, t, f);
		return NULL;
	case DCH_IYYY:
	case DCH_YYYY:
	case DCH_Y_YYY:
		put_year(b, t, f);
		return NULL;
	case DCH_OF:
	case DCH_TZ:
	case DCH_TZH:
	case DCH_TZM:
		put_zone(b, t, f);
		return NULL;
	default:
		put_date(b, t, f);
		return NULL;
	}
}

static struct err *
print(const struct ex_ctx *ctx, struct str pattern, const struct fields *f,
    struct val *out)
{
	struct dch_pattern p;
	struct buf b;

	TRY(ex_dch_parse(ctx, pattern, &p));
	if (!p.n)
		return NULL; /* an empty pattern gives NULL */
	buf_init(&b, ctx->arena);
	for (size_t i = 0; i < p.n; i++)
		TRY(put_token(ctx, &b, &p.token[i], f));
	ex_set_str(out, buf_view(&b));
	return NULL;
}

static void
from_local(int64_t local, struct fields *f)
{
	struct dt_tm tm = dt_split(local);

	f->year = tm.ymd.year;
	f->month = tm.ymd.month;
	f->day = tm.ymd.day;
	f->hour = tm.hour;
	f->min = tm.min;
	f->sec = tm.sec;
	f->us = tm.us;
	f->days = dt_days(tm.ymd.year, tm.ymd.month, tm.ymd.day);
	f->yearday = dt_yearday(f->days);
}

BODY(ts_to_char)
{
	int64_t us = args[0].u.i;
	struct fields f = {0};

	UNUSED(n);
	if (!dt_ts_finite(us))
		return NULL;
	if (args[0].type == EX_TIMESTAMPTZ) {
		struct dt_zone z = ex_zone(ctx);

		f.zoned = true;
		f.offset = dt_zone_offset(&z, us, NULL);
		dt_zone_abbrev(&z, us, f.zone);
		us = dt_to_local(&z, us);
	}
	from_local(us, &f);
	return print(ctx, args[1].u.s, &f, out);
}

BODY(interval_to_char)
{
	struct ex_interval iv = args[0].u.iv;
	struct fields f = {.interval = true};
	int64_t us = iv.us;

	UNUSED(n);
	f.year = iv.months / 12;
	f.month = iv.months % 12;
	f.day = iv.days;
	f.hour = us / DT_HOUR;
	f.min = (int)(us / DT_MIN % 60);
	f.sec = (int)(us / DT_SEC % 60);
	f.us = (int)(us % DT_SEC);
	f.yearday = (int)((int64_t)iv.months * 30 + iv.days);
	return print(ctx, args[1].u.s, &f, out);
}

static const struct ex_func funcs[] = {
    FN_STABLE(1770, "to_char", ts_to_char, EX_TEXT, EX_TIMESTAMPTZ, EX_TEXT),
    FN_STABLE(2049, "to_char", ts_to_char, EX_TEXT, EX_TIMESTAMP, EX_TEXT),
    FN_STABLE(1768, "to_char", interval_to_char, EX_TEXT, EX_INTERVAL, EX_TEXT),
};
EX_FUNCS(ex_funcs_tochar_time);
