/* to_char and to_number of numbers: patterns of 9 0 . , D G S MI PL SG PR L TH
 * FM EEEE RN. */
#include <float.h>
#include <math.h>
#include <stdio.h>

#include "expr/func_int.h"
#include "expr/numeric.h"
#include "expr/text_int.h"
#include "expr/tochar_int.h"

enum token_kind {
	T_TEXT,
	T_9,
	T_0,
	T_POINT,
	T_COMMA,
	T_SIGN,  /* S */
	T_MINUS, /* MI */
	T_PLUS,  /* PL */
	T_SG,
	T_PR,
	T_CURRENCY,
	T_TH_UPPER,
	T_TH_LOWER,
	T_ROMAN_UPPER,
	T_ROMAN_LOWER,
	T_EEEE,
	T_FM,
	T_V,
	T_NOTHING /* known words without effect */
};

struct token {
	enum token_kind kind;
	struct str text;
};

struct pattern {
	struct token *token;
	size_t n;
	int pre, post;  /* digits before and after the point */
	int zero_start; /* first place that shows leading zeros; -1 none */
	int post_zeros; /* digits of the fraction that a 0 demands */
	bool fill, point, sign_pre, sign_post, has_sign, bracket;
	bool mi_pl;    /* MI, PL or SG */
	bool own_sign; /* MI or SG: the number needs no other */
	bool scientific, roman;
};

static const struct {
	const char *word;
	enum token_kind kind;
} words[] = {
    {"EEEE", T_EEEE},
    {"eeee", T_EEEE},
    {"FM", T_FM},
    {"fm", T_FM},
    {"MI", T_MINUS},
    {"mi", T_MINUS},
    {"PL", T_PLUS},
    {"pl", T_PLUS},
    {"PR", T_PR},
    {"pr", T_PR},
    {"RN", T_ROMAN_UPPER},
    {"rn", T_ROMAN_LOWER},
    {"SG", T_SG},
    {"sg", T_SG},
    {"TH", T_TH_UPPER},
    {"th", T_TH_LOWER},
    {"SP", T_NOTHING},
    {"sp", T_NOTHING},
    {"B", T_NOTHING},
    {"b", T_NOTHING},
    {"C", T_NOTHING},
    {"c", T_NOTHING},
    {"9", T_9},
    {"0", T_0},
    {".", T_POINT},
    {"D", T_POINT},
    {"d", T_POINT},
    {",", T_COMMA},
    {"G", T_COMMA},
    {"g", T_COMMA},
    {"S", T_SIGN},
    {"s", T_SIGN},
    {"L", T_CURRENCY},
    {"l", T_CURRENCY},
    {"V", T_V},
    {"v", T_V},
};

/* The token that s begins with; returns its length in the pattern. */
static size_t
next_token(struct arena *a, struct str s, struct token *t)
{
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		struct str w = str_c(words[i].word);

		if (str_has_prefix(s, w)) {
			*t = (struct token){words[i].kind, w};
			return w.len;
		}
	}
	t->kind = T_TEXT;
	if (s.p[0] == '"')
		return ex_quoted(a, s, &t->text);
	t->text = str_of(s.p, ex_char_len(s));
	return t->text.len;
}

static struct err *
bad_pattern(const struct ex_ctx *ctx, const char *what)
{
	return ERR(ctx->arena, ERRCODE_SYNTAX_ERROR, "%s", what);
}

static struct err *
count_digit(const struct ex_ctx *ctx, struct pattern *p, bool zero)
{
	if (p->bracket)
		return bad_pattern(ctx, "\"9\" must be ahead of \"PR\"");
	if (p->point) {
		p->post++;
		if (zero)
			p->post_zeros = p->post;
		return NULL;
	}
	if (zero && p->zero_start < 0)
		p->zero_start = p->pre;
	p->pre++;
	return NULL;
}

static struct err *
note(const struct ex_ctx *ctx, struct pattern *p, enum token_kind k)
{
	switch (k) {
	case T_9:
	case T_0:
		return count_digit(ctx, p, k == T_0);
	case T_POINT:
		if (p->point)
			return bad_pattern(ctx, "multiple decimal points");
		p->point = true;
		return NULL;
	case T_SIGN:
		if (p->has_sign)
			return bad_pattern(ctx, "cannot use \"S\" twice");
		if (p->bracket || p->mi_pl)
			return bad_pattern(ctx,
			    "cannot use \"S\" and \"PL\"/\"MI\"/\"SG\"/\"PR\" "
			    "together");
		p->has_sign = true;
		if (p->pre || p->point)
			p->sign_post = true;
		else
			p->sign_pre = true;
		return NULL;
	case T_MINUS:
	case T_PLUS:
	case T_SG:
		if (p->has_sign)
			return bad_pattern(ctx,
			    k == T_SG ? "cannot use \"S\" and \"SG\" together"
			    : k == T_PLUS
				? "cannot use \"S\" and \"PL\" together"
				: "cannot use \"S\" and \"MI\" together");
		p->mi_pl = true;
		p->own_sign |= k != T_PLUS;
		return NULL;
	case T_PR:
		if (p->has_sign || p->mi_pl)
			return bad_pattern(ctx,
			    "cannot use \"PR\" and \"S\"/\"PL\"/\"MI\"/\"SG\" "
			    "together");
		p->bracket = true;
		return NULL;
	case T_FM:
		p->fill = true;
		return NULL;
	case T_EEEE:
		p->scientific = true;
		return NULL;
	case T_ROMAN_UPPER:
	case T_ROMAN_LOWER:
		p->roman = true;
		return NULL;
	case T_V:
		return ERR(ctx->arena, ERRCODE_FEATURE_NOT_SUPPORTED,
		    "\"V\" in number patterns is not supported");
	default:
		return NULL;
	}
}

#define PATTERN_MAX 1024

static struct err *
parse(const struct ex_ctx *ctx, struct str s, struct pattern *p)
{
	*p = (struct pattern){.zero_start = -1};
	if (s.len > PATTERN_MAX)
		return ERR(ctx->arena, ERRCODE_PROGRAM_LIMIT_EXCEEDED,
		    "number pattern is longer than %d bytes", PATTERN_MAX);
	p->token = NEW_N(ctx->arena, struct token, s.len + 1);
	while (s.len) {
		struct token *t = &p->token[p->n++];
		size_t len = next_token(ctx->arena, s, t);

		TRY(note(ctx, p, t->kind));
		s = str_skip(s, len);
	}
	if (p->scientific && (p->fill || p->has_sign || p->bracket || p->mi_pl))
		return bad_pattern(
		    ctx, "\"EEEE\" is incompatible with other formats");
	return NULL;
}

/* ---- the number's digits ---- */

struct digits {
	bool negative;
	struct str whole; /* without leading zeros: empty for 0 */
	struct str frac;  /* post digits */
	bool overflow;    /* more digits than places: shown as # */
};

static void
split(
    struct arena *a, struct str text, const struct pattern *p, struct digits *d)
{
	const char *point;

	*d = (struct digits){0};
	if (text.len && text.p[0] == '-') {
		d->negative = true;
		text = str_skip(text, 1);
	}
	point = text.len ? memchr(text.p, '.', text.len) : NULL;
	d->whole = point ? str_of(text.p, (size_t)(point - text.p)) : text;
	d->frac = point ? str_skip(text, d->whole.len + 1) : STR_NONE;
	while (d->whole.len && d->whole.p[0] == '0')
		d->whole = str_skip(d->whole, 1);
	if (d->whole.len > (size_t)p->pre ||
	    (d->whole.len && (d->whole.p[0] < '0' || d->whole.p[0] > '9'))) {
		char *hash = arena_alloc(a, (size_t)(p->pre + p->post + 1));

		memset(hash, '#', (size_t)(p->pre + p->post));
		d->overflow = true;
		d->whole = str_of(hash, (size_t)p->pre);
		d->frac = str_of(hash + p->pre, (size_t)p->post);
	}
}

static struct str
float_text(const struct ex_ctx *ctx, double v, int sig, int post)
{
	char *whole = arena_printf(ctx->arena, "%.0f", fabs(v));
	int len = (int)strlen(whole);

	if (len >= sig)
		post = 0;
	else if (len + post > sig)
		post = sig - len;
	return str_c(arena_printf(ctx->arena, "%.*f", post, v));
}

/* v rounded to the pattern's places, as text. */
static struct err *
number_text(const struct ex_ctx *ctx, struct val v, int post, struct str *out)
{
	struct str x;
	struct buf b;

	buf_init(&b, ctx->arena);
	switch (v.type) {
	case EX_NUMERIC:
		TRY(num_round(ctx->arena, v.u.s, post, &x));
		num_text(&b, x);
		break;
	case EX_FLOAT4:
	case EX_FLOAT8:
		*out = float_text(
		    ctx, v.u.d, v.type == EX_FLOAT4 ? FLT_DIG : DBL_DIG, post);
		return NULL;
	default:
		buf_printf(&b, "%lld", (long long)v.u.i);
		break;
	}
	*out = buf_view(&b);
	return NULL;
}

/* ---- rendering ---- */

struct render {
	struct buf *b;
	const struct pattern *p;
	struct digits d;
	int place;       /* digits of the pattern passed so far */
	size_t frac_at;  /* digits of the fraction shown */
	size_t frac_len; /* to show: fewer in fill mode */
	bool past_point, digit_seen, sign_done;
};

/* The sign that no token stands for, right before the first digit. */
static void
anchor_sign(struct render *r)
{
	const struct pattern *p = r->p;

	if (r->sign_done)
		return;
	r->sign_done = true;
	if (p->sign_post || p->own_sign)
		return;
	if (p->sign_pre)
		buf_u8(r->b, r->d.negative ? '-' : '+');
	else if (p->bracket && (r->d.negative || !p->fill))
		buf_u8(r->b, r->d.negative ? '<' : ' ');
	else if (!p->bracket && r->d.negative)
		buf_u8(r->b, '-');
	else if (!p->bracket && !p->fill)
		buf_u8(r->b, ' ');
}

static void
put_digit(struct render *r, char c)
{
	anchor_sign(r);
	buf_u8(r->b, (uint8_t)c);
	r->digit_seen = true;
}

static void
put_place(struct render *r)
{
	const struct pattern *p = r->p;
	int blanks = p->pre - (int)r->d.whole.len, at = r->place++;

	if (r->past_point) {
		if (r->frac_at < r->frac_len)
			put_digit(r, r->frac_at < r->d.frac.len
					 ? r->d.frac.p[r->frac_at]
					 : '0');
		r->frac_at++;
	} else if (at >= blanks) {
		put_digit(r, r->d.whole.p[at - blanks]);
	} else if (p->zero_start >= 0 && at >= p->zero_start) {
		put_digit(r, '0');
	} else if (at == p->pre - 1 &&
		   (p->post == 0 || (p->fill && r->frac_len == 0))) {
		put_digit(r, '0'); /* the only digit of zero */
	} else if (!p->fill) {
		buf_u8(r->b, ' ');
	}
}

static const char *
ordinal(const struct digits *d, bool upper)
{
	size_t n = d->whole.len;
	char last = n ? d->whole.p[n - 1] : '0';
	bool teen = n > 1 && d->whole.p[n - 2] == '1';

	if (!teen && last == '1')
		return upper ? "ST" : "st";
	if (!teen && last == '2')
		return upper ? "ND" : "nd";
	if (!teen && last == '3')
		return upper ? "RD" : "rd";
	return upper ? "TH" : "th";
}

static void
put_token(struct render *r, const struct token *t)
{
	const struct pattern *p = r->p;
	bool neg = r->d.negative;

	switch (t->kind) {
	case T_9:
	case T_0:
		put_place(r);
		break;
	case T_POINT:
		anchor_sign(r);
		buf_u8(r->b, '.');
		r->past_point = true;
		break;
	case T_COMMA:
		if (r->digit_seen)
			buf_u8(r->b, ',');
		else if (!p->fill)
			buf_u8(r->b, ' ');
		break;
	case T_MINUS:
		if (neg || !p->fill)
			buf_u8(r->b, neg ? '-' : ' ');
		break;
	case T_PLUS:
		if (!neg || !p->fill)
			buf_u8(r->b, neg ? ' ' : '+');
		break;
	case T_SG:
		buf_u8(r->b, neg ? '-' : '+');
		break;
	case T_SIGN:
		if (p->sign_post)
			buf_u8(r->b, neg ? '-' : '+');
		break;
	case T_PR:
		if (neg || !p->fill)
			buf_u8(r->b, neg ? '>' : ' ');
		break;
	case T_CURRENCY:
		buf_u8(r->b, ' ');
		break;
	case T_TH_UPPER:
	case T_TH_LOWER:
		if (!neg && !p->point && !r->d.overflow)
			buf_str(
			    r->b, str_c(ordinal(&r->d, t->kind == T_TH_UPPER)));
		break;
	case T_TEXT:
		buf_str(r->b, t->text);
		break;
	default:
		break;
	}
}

/* In fill mode zeros at the end of the fraction go, but for those that a 0 in
 * the pattern demands. */
static size_t
fraction_shown(const struct pattern *p, const struct digits *d)
{
	size_t n = (size_t)p->post;

	if (!p->fill)
		return n;
	while (n > (size_t)p->post_zeros &&
	       (n > d->frac.len || d->frac.p[n - 1] == '0'))
		n--;
	return n;
}

static void
render(const struct ex_ctx *ctx, const struct pattern *p, struct str text,
    struct buf *b)
{
	struct render r = {.b = b, .p = p};

	split(ctx->arena, text, p, &r.d);
	r.frac_len = fraction_shown(p, &r.d);
	for (size_t i = 0; i < p->n; i++)
		put_token(&r, &p->token[i]);
}

static void
put_roman(struct buf *b, const struct pattern *p, struct str text)
{
	static const struct {
		int value;
		const char *digits;
	} table[] = {{1000, "M"}, {900, "CM"}, {500, "D"}, {400, "CD"},
	    {100, "C"}, {90, "XC"}, {50, "L"}, {40, "XL"}, {10, "X"}, {9, "IX"},
	    {5, "V"}, {4, "IV"}, {1, "I"}};
	char roman[16] = "";
	int64_t v;
	bool lower = false;

	for (size_t i = 0; i < p->n; i++)
		lower |= p->token[i].kind == T_ROMAN_LOWER;
	if (!str_i64(text, &v) || v < 1 || v > 3999) {
		buf_str(b, STR("###############"));
		return;
	}
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		for (; v >= table[i].value; v -= table[i].value)
			strcat(roman, table[i].digits);
	for (char *c = roman; lower && *c; c++)
		*c = ex_lower(*c);
	buf_printf(b, p->fill ? "%s" : "%15s", roman);
}

static void
put_scientific(struct buf *b, const struct pattern *p, struct val v)
{
	double d = v.type == EX_NUMERIC ? num_approx(v.u.s)
		   : v.type == EX_FLOAT8 || v.type == EX_FLOAT4 ? v.u.d
								: (double)v.u.i;

	buf_printf(b, "%s%.*e", d < 0 ? "" : " ", p->post, d);
}

BODY(to_char)
{
	struct pattern p;
	struct str text;
	struct buf b;

	UNUSED(n);
	TRY(parse(ctx, args[1].u.s, &p));
	buf_init(&b, ctx->arena);
	if (p.scientific) {
		put_scientific(&b, &p, args[0]);
	} else {
		TRY(number_text(ctx, args[0], p.post, &text));
		if (p.roman)
			put_roman(&b, &p, text);
		else
			render(ctx, &p, text, &b);
	}
	ex_set_str(out, buf_view(&b));
	return NULL;
}

/* ---- to_number ---- */

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Takes what the pattern's next token stands for off the text. */
static void
take(const struct token *t, struct str *s, struct buf *b, bool *negative)
{
	switch (t->kind) {
	case T_9:
	case T_0:
		while (s->len && s->p[0] == ' ')
			*s = str_skip(*s, 1);
		if (s->len &&
		    (s->p[0] == '-' || s->p[0] == '+' || s->p[0] == '<')) {
			*negative |= s->p[0] != '+';
			*s = str_skip(*s, 1);
		}
		if (s->len && is_digit(s->p[0])) {
			buf_u8(b, (uint8_t)s->p[0]);
			*s = str_skip(*s, 1);
		}
		return;
	case T_POINT:
		if (s->len && s->p[0] == '.') {
			buf_u8(b, '.');
			*s = str_skip(*s, 1);
		}
		return;
	case T_COMMA:
		if (s->len && s->p[0] == ',')
			*s = str_skip(*s, 1);
		return;
	case T_SIGN:
	case T_MINUS:
	case T_PLUS:
	case T_SG:
	case T_PR:
		if (s->len && strchr("+- <>", s->p[0])) {
			*negative |= s->p[0] == '-' || s->p[0] == '<';
			*s = str_skip(*s, 1);
		}
		return;
	case T_FM:
	case T_NOTHING:
		return;
	default:
		if (s->len && !is_digit(s->p[0]))
			*s = str_skip(*s, ex_char_len(*s));
		return;
	}
}

BODY(to_number)
{
	struct str s = args[0].u.s;
	bool negative = false;
	struct pattern p;
	struct buf b;

	UNUSED(n);
	TRY(parse(ctx, args[1].u.s, &p));
	if (p.scientific || p.roman)
		return ERR(ctx->arena, ERRCODE_FEATURE_NOT_SUPPORTED,
		    "\"%s\" not supported for input",
		    p.scientific ? "EEEE" : "RN");
	buf_init(&b, ctx->arena);
	buf_u8(&b, ' ');
	for (size_t i = 0; i < p.n; i++)
		take(&p.token[i], &s, &b, &negative);
	if (negative)
		b.p[0] = '-';
	out->null = false;
	return num_parse(ctx->arena, buf_view(&b), &out->u.s);
}

#define TXT EX_TEXT

static const struct ex_func funcs[] = {
    FN_STABLE(1773, "to_char", to_char, TXT, EX_INT4, TXT),
    FN_STABLE(1774, "to_char", to_char, TXT, EX_INT8, TXT),
    FN_STABLE(1772, "to_char", to_char, TXT, EX_NUMERIC, TXT),
    FN_STABLE(1775, "to_char", to_char, TXT, EX_FLOAT4, TXT),
    FN_STABLE(1776, "to_char", to_char, TXT, EX_FLOAT8, TXT),
    FN_STABLE(1777, "to_number", to_number, EX_NUMERIC, TXT, TXT),
};
EX_FUNCS(ex_funcs_tochar_num);
