/* LIKE, regular expressions, SIMILAR TO. */
#include "expr/func_int.h"
#include "expr/regex.h"
#include "expr/text_int.h"

/* ---- LIKE ---- */

enum like { LIKE_YES, LIKE_NO, LIKE_BAD_ESCAPE };

static size_t
char_len(struct str s, bool bytes)
{
	return bytes ? 1 : ex_char_len(s);
}

static bool
same_byte(char x, char y, bool fold)
{
	return x == y || (fold && ex_lower(x) == ex_lower(y));
}

/* One pattern position that is not '%': takes what it stands for off both, or
 * fails. Characters of several bytes need no decoding: they are the same when
 * their bytes are. */
static enum like
like_one(struct str *s, struct str *p, bool fold, bool bytes)
{
	if (p->p[0] == '_') {
		*s = str_skip(*s, char_len(*s, bytes));
		*p = str_skip(*p, 1);
		return LIKE_YES;
	}
	if (p->p[0] == '\\') {
		*p = str_skip(*p, 1);
		if (!p->len)
			return LIKE_BAD_ESCAPE;
	}
	if (!same_byte(s->p[0], p->p[0], fold))
		return LIKE_NO;
	*s = str_skip(*s, 1);
	*p = str_skip(*p, 1);
	return LIKE_YES;
}

#define LIKE_STEPS 65536 /* between two looks at the clock */

/* After '%' everything that follows may start at any later place; only the
 * last '%' needs to be tried again, so the work is at most |s| * |p|. */
static struct err *
like(
    const struct ex_ctx *ctx, const struct val *args, bool fold, enum like *out)
{
	struct str s = args[0].u.s, p = args[1].u.s;
	struct str retry_s = STR_NONE, retry_p = STR_NONE;
	bool retry = false, bytes = args[0].type == EX_BYTEA;
	struct ex_work work = {0};

	for (uint32_t steps = 1;; steps++) {
		enum like r = LIKE_NO;

		if (steps % LIKE_STEPS == 0)
			TRY(ex_work_check(ctx, &work, "LIKE"));

		if (p.len && p.p[0] == '%') {
			p = str_skip(p, 1);
			*out = LIKE_YES;
			if (!p.len)
				return NULL;
			retry = true;
			retry_s = s;
			retry_p = p;
			continue;
		}
		*out = LIKE_YES;
		if (!p.len && !s.len)
			return NULL;
		if (p.len && s.len)
			r = like_one(&s, &p, fold, bytes);
		if (r == LIKE_YES)
			continue;
		*out = r;
		if (r == LIKE_BAD_ESCAPE || !retry || !retry_s.len)
			return NULL;
		retry_s = str_skip(retry_s, char_len(retry_s, bytes));
		s = retry_s;
		p = retry_p;
	}
}

static struct err *
do_like(const struct ex_ctx *ctx, const struct val *args, bool fold,
    bool negate, struct val *out)
{
	enum like r;

	TRY(like(ctx, args, fold, &r));
	if (r == LIKE_BAD_ESCAPE)
		return ERR(ctx->arena, ERRCODE_INVALID_ESCAPE_SEQUENCE,
		    "LIKE pattern must not end with escape character");
	ex_set_bool(out, (r == LIKE_YES) != negate);
	return NULL;
}

BODY(text_like)
{
	UNUSED(n);
	return do_like(ctx, args, false, false, out);
}

BODY(text_not_like)
{
	UNUSED(n);
	return do_like(ctx, args, false, true, out);
}

BODY(text_ilike)
{
	UNUSED(n);
	return do_like(ctx, args, true, false, out);
}

BODY(text_not_ilike)
{
	UNUSED(n);
	return do_like(ctx, args, true, true, out);
}

static struct err *
one_char(const struct ex_ctx *ctx, struct str esc)
{
	if (esc.len && ex_char_len(esc) != esc.len)
		return err_hint(ERR(ctx->arena, ERRCODE_INVALID_ESCAPE_SEQUENCE,
				    "invalid escape string"),
		    "Escape string must be empty or one character.");
	return NULL;
}

/* LIKE ... ESCAPE e: the pattern with e replaced by a backslash. */
BODY(text_like_escape)
{
	struct str p = args[0].u.s, esc = args[1].u.s;
	bool after = false;
	struct buf b;

	UNUSED(n);
	TRY(one_char(ctx, esc));
	buf_init(&b, ctx->arena);
	for (; p.len; p = str_skip(p, ex_char_len(p))) {
		struct str c = str_of(p.p, ex_char_len(p));

		if (str_eq(esc, STR("\\"))) {
			buf_str(&b, c);
		} else if (str_eq(c, esc) && !after) {
			buf_u8(&b, '\\');
			after = true;
			continue;
		} else {
			if (c.p[0] == '\\' && !after)
				buf_u8(&b, '\\');
			buf_str(&b, c);
		}
		after = false;
	}
	ex_set_str(out, buf_view(&b));
	return NULL;
}

/* ---- regular expressions ---- */

static struct err *
do_match(const struct ex_ctx *ctx, const struct val *args, int flags,
    bool negate, struct val *out)
{
	struct ex_regex *re;
	struct ex_match m = {0};
	bool found;

	TRY(ex_regex_get(ctx->arena, args[1].u.s, flags, &re));
	TRY(ex_regex_match(ctx, re, args[0].u.s, 0, &found, &m));
	ex_set_bool(out, found != negate);
	return NULL;
}

BODY(regex_eq)
{
	UNUSED(n);
	return do_match(ctx, args, 0, false, out);
}

BODY(regex_ne)
{
	UNUSED(n);
	return do_match(ctx, args, 0, true, out);
}

BODY(regex_ieq)
{
	UNUSED(n);
	return do_match(ctx, args, EX_REGEX_ICASE, false, out);
}

BODY(regex_ine)
{
	UNUSED(n);
	return do_match(ctx, args, EX_REGEX_ICASE, true, out);
}

BODY(regexp_like)
{
	int flags = 0;

	if (n > 2)
		TRY(ex_regex_flags(ctx->arena, args[2].u.s, false, &flags));
	return do_match(ctx, args, flags, false, out);
}

/* substring(s from pattern), regexp_substr: the first group, or without groups
 * the whole. */
static struct err *
do_substr(const struct ex_ctx *ctx, const struct val *args, bool group,
    struct val *out)
{
	struct str s = args[0].u.s;
	struct ex_regex *re;
	struct ex_match m = {0};
	bool found;
	size_t g;

	TRY(ex_regex_get(ctx->arena, args[1].u.s, 0, &re));
	TRY(ex_regex_match(ctx, re, s, 0, &found, &m));
	if (!found)
		return NULL;
	g = group && m.n_groups > 0;
	if (m.group[g].from != SIZE_MAX)
		ex_set_str(out, str_of(s.p + m.group[g].from,
				    m.group[g].to - m.group[g].from));
	return NULL;
}

BODY(text_regex_substr)
{
	UNUSED(n);
	return do_substr(ctx, args, true, out);
}

BODY(regexp_substr)
{
	UNUSED(n);
	return do_substr(ctx, args, false, out);
}

/* Where to look on after a match that ended at `to`: past one character when
 * it was empty. */
static size_t
step_over(struct str s, const struct ex_match *m)
{
	size_t to = m->group[0].to;

	if (to > m->group[0].from)
		return to;
	return to < s.len ? to + ex_char_len(str_skip(s, to)) : s.len + 1;
}

BODY(regexp_count)
{
	struct str s = args[0].u.s;
	struct ex_regex *re;
	struct ex_match m = {0};
	int64_t count = 0;
	size_t at = 0;
	bool found = true;

	UNUSED(n);
	TRY(ex_regex_get(ctx->arena, args[1].u.s, 0, &re));
	while (at <= s.len) {
		TRY(ex_regex_match(ctx, re, s, at, &found, &m));
		if (!found)
			break;
		count++;
		at = step_over(s, &m);
	}
	ex_set_int(out, count);
	return NULL;
}

BODY(regexp_instr)
{
	struct str s = args[0].u.s;
	struct ex_regex *re;
	struct ex_match m = {0};
	bool found;

	UNUSED(n);
	TRY(ex_regex_get(ctx->arena, args[1].u.s, 0, &re));
	TRY(ex_regex_match(ctx, re, s, 0, &found, &m));
	ex_set_int(out,
	    found ? 1 + (int64_t)ex_char_count(str_of(s.p, m.group[0].from))
		  : 0);
	return NULL;
}

/* \1 .. \9 are groups, \& the whole match, \\ a backslash. */
static void
put_replacement(
    struct buf *b, struct str s, struct str to, const struct ex_match *m)
{
	for (size_t i = 0; i < to.len; i++) {
		char c = to.p[i];
		size_t g;

		if (c != '\\' || i + 1 == to.len) {
			buf_u8(b, (uint8_t)c);
			continue;
		}
		c = to.p[++i];
		if (c == '&') {
			g = 0;
		} else if (c >= '1' && c <= '9') {
			g = (size_t)(c - '0');
		} else {
			if (c != '\\')
				buf_u8(b, '\\');
			buf_u8(b, (uint8_t)c);
			continue;
		}
		if (m->group[g].from != SIZE_MAX)
			buf_put(b, s.p + m->group[g].from,
			    m->group[g].to - m->group[g].from);
	}
}

struct replacing {
	struct str s, to;
	size_t start;  /* byte to look from */
	int64_t which; /* which match; 0 all */
};

static struct err *
replace(const struct ex_ctx *ctx, struct ex_regex *re,
    const struct replacing *r, struct val *out)
{
	size_t at = r->start, kept = 0;
	int64_t nth = 0;
	struct ex_match m = {0};
	struct buf b;
	bool found;

	buf_init(&b, ctx->arena);
	while (at <= r->s.len) {
		TRY(ex_regex_match(ctx, re, r->s, at, &found, &m));
		if (!found)
			break;
		nth++;
		if (r->which == 0 || nth == r->which) {
			TRY(ex_room(ctx, b.len + r->s.len));
			buf_put(&b, r->s.p + kept, m.group[0].from - kept);
			put_replacement(&b, r->s, r->to, &m);
			kept = m.group[0].to;
		}
		if (r->which && nth >= r->which)
			break;
		at = step_over(r->s, &m);
	}
	buf_str(&b, str_skip(r->s, kept));
	ex_set_str(out, buf_view(&b));
	return NULL;
}

/* (s, pattern, to [, flags]) */
BODY(regexp_replace)
{
	struct replacing r = {args[0].u.s, args[2].u.s, 0, 1};
	struct ex_regex *re;
	int flags = 0;

	if (n > 3) {
		struct str f = args[3].u.s;

		if (f.len && f.p[0] >= '0' && f.p[0] <= '9')
			return err_hint(
			    ERR(ctx->arena, ERRCODE_INVALID_PARAMETER_VALUE,
				"invalid regular expression option: \"%.*s\"",
				1, f.p),
			    "If you meant to use regexp_replace() with a "
			    "start parameter, cast the fourth argument to "
			    "integer explicitly.");
		TRY(ex_regex_flags(ctx->arena, f, true, &flags));
	}
	if (flags & EX_REGEX_GLOBAL)
		r.which = 0;
	TRY(ex_regex_get(ctx->arena, args[1].u.s, flags, &re));
	return replace(ctx, re, &r, out);
}

/* (s, pattern, to, start [, n [, flags]]) */
BODY(regexp_replace_from)
{
	struct replacing r = {args[0].u.s, args[2].u.s, 0, 1};
	struct ex_regex *re;
	int flags = 0;

	if (args[3].u.i <= 0)
		return ERR(ctx->arena, ERRCODE_INVALID_PARAMETER_VALUE,
		    "invalid value for parameter \"%s\": %d", "start",
		    (int)args[3].u.i);
	if (n > 4)
		r.which = args[4].u.i;
	if (r.which < 0)
		return ERR(ctx->arena, ERRCODE_INVALID_PARAMETER_VALUE,
		    "invalid value for parameter \"%s\": %d", "n",
		    (int)r.which);
	if (n > 5)
		TRY(ex_regex_flags(ctx->arena, args[5].u.s, true, &flags));
	if (n < 5 && (flags & EX_REGEX_GLOBAL))
		r.which = 0;
	r.start = ex_char_offset(r.s, (size_t)args[3].u.i - 1);
	TRY(ex_regex_get(ctx->arena, args[1].u.s, flags, &re));
	return replace(ctx, re, &r, out);
}

/* ---- SIMILAR TO ---- */

/* A bracket expression is copied as it is; backslashes in it are doubled. */
static struct str
similar_brackets(struct buf *b, struct str p)
{
	bool first = true;

	buf_u8(b, '[');
	if (p.len && p.p[0] == '^') {
		buf_u8(b, '^');
		p = str_skip(p, 1);
	}
	while (p.len) {
		char c = p.p[0];

		p = str_skip(p, 1);
		if (c == '\\')
			buf_u8(b, '\\');
		buf_u8(b, (uint8_t)c);
		if (c == ']' && !first)
			break;
		first = false;
	}
	return p;
}

static void
similar_char(struct buf *b, char c)
{
	switch (c) {
	case '%':
		buf_str(b, STR(".*"));
		break;
	case '_':
		buf_u8(b, '.');
		break;
	case '(':
		buf_str(b, STR("(?:"));
		break;
	case '\\':
	case '.':
	case '^':
	case '$':
		buf_u8(b, '\\');
		buf_u8(b, (uint8_t)c);
		break;
	default:
		buf_u8(b, (uint8_t)c);
		break;
	}
}

/* The regular expression that a SIMILAR TO pattern stands for. */
BODY(similar_escape)
{
	struct str p = args[0].u.s, esc = n > 1 ? args[1].u.s : STR("\\");
	struct buf b;

	TRY(one_char(ctx, esc));
	buf_init(&b, ctx->arena);
	buf_str(&b, STR("^(?:"));
	while (p.len) {
		struct str c = str_of(p.p, ex_char_len(p));

		p = str_skip(p, c.len);
		if (esc.len && str_eq(c, esc) && p.len) {
			buf_u8(&b, '\\');
			buf_put(&b, p.p, ex_char_len(p));
			p = str_skip(p, ex_char_len(p));
		} else if (c.p[0] == '[') {
			p = similar_brackets(&b, p);
		} else if (c.len > 1) {
			buf_str(&b, c);
		} else {
			similar_char(&b, c.p[0]);
		}
	}
	buf_str(&b, STR(")$"));
	ex_set_str(out, buf_view(&b));
	return NULL;
}

#define TXT EX_TEXT
#define YES EX_BOOL
#define I4  EX_INT4

static const struct ex_func funcs[] = {
    FN(1631, "bpcharlike", text_like, YES, EX_BPCHAR, EX_TEXT),
    FN(2005, "bytealike", text_like, YES, EX_BYTEA, EX_BYTEA),
    FN(858, "namelike", text_like, YES, EX_NAME, EX_TEXT),
    FN(850, "textlike", text_like, YES, EX_TEXT, EX_TEXT),
    FN(1632, "bpcharnlike", text_not_like, YES, EX_BPCHAR, EX_TEXT),
    FN(2006, "byteanlike", text_not_like, YES, EX_BYTEA, EX_BYTEA),
    FN(859, "namenlike", text_not_like, YES, EX_NAME, EX_TEXT),
    FN(851, "textnlike", text_not_like, YES, EX_TEXT, EX_TEXT),
    FN(1660, "bpchariclike", text_ilike, YES, EX_BPCHAR, EX_TEXT),
    FN(1635, "nameiclike", text_ilike, YES, EX_NAME, EX_TEXT),
    FN(1633, "texticlike", text_ilike, YES, EX_TEXT, EX_TEXT),
    FN(1661, "bpcharicnlike", text_not_ilike, YES, EX_BPCHAR, EX_TEXT),
    FN(1636, "nameicnlike", text_not_ilike, YES, EX_NAME, EX_TEXT),
    FN(1634, "texticnlike", text_not_ilike, YES, EX_TEXT, EX_TEXT),
    FN(1658, "bpcharregexeq", regex_eq, YES, EX_BPCHAR, EX_TEXT),
    FN(79, "nameregexeq", regex_eq, YES, EX_NAME, EX_TEXT),
    FN(1254, "textregexeq", regex_eq, YES, EX_TEXT, EX_TEXT),
    FN(1659, "bpcharregexne", regex_ne, YES, EX_BPCHAR, EX_TEXT),
    FN(1252, "nameregexne", regex_ne, YES, EX_NAME, EX_TEXT),
    FN(1256, "textregexne", regex_ne, YES, EX_TEXT, EX_TEXT),
    FN(1656, "bpcharicregexeq", regex_ieq, YES, EX_BPCHAR, EX_TEXT),
    FN(1240, "nameicregexeq", regex_ieq, YES, EX_NAME, EX_TEXT),
    FN(1238, "texticregexeq", regex_ieq, YES, EX_TEXT, EX_TEXT),
    FN(1657, "bpcharicregexne", regex_ine, YES, EX_BPCHAR, EX_TEXT),
    FN(1241, "nameicregexne", regex_ine, YES, EX_NAME, EX_TEXT),
    FN(1239, "texticregexne", regex_ine, YES, EX_TEXT, EX_TEXT),
    FN(1569, "like", text_like, YES, TXT, TXT),
    FN(1570, "notlike", text_not_like, YES, TXT, TXT),
    FN(1637, "like_escape", text_like_escape, TXT, TXT, TXT),
    FN(6263, "regexp_like", regexp_like, YES, TXT, TXT),
    FN(6264, "regexp_like", regexp_like, YES, TXT, TXT, TXT),
    FN(2073, "substring", text_regex_substr, TXT, TXT, TXT),
    FN(6265, "regexp_substr", regexp_substr, TXT, TXT, TXT),
    FN(6254, "regexp_count", regexp_count, I4, TXT, TXT),
    FN(6257, "regexp_instr", regexp_instr, I4, TXT, TXT),
    FN(2284, "regexp_replace", regexp_replace, TXT, TXT, TXT, TXT),
    FN(2285, "regexp_replace", regexp_replace, TXT, TXT, TXT, TXT, TXT),
    FN(6253, "regexp_replace", regexp_replace_from, TXT, TXT, TXT, TXT, I4),
    FN(6252, "regexp_replace", regexp_replace_from, TXT, TXT, TXT, TXT, I4, I4),
    FN(6251, "regexp_replace", regexp_replace_from, TXT, TXT, TXT, TXT, I4, I4,
	TXT),
    FN(1986, "similar_to_escape", similar_escape, TXT, TXT, TXT),
    FN(1987, "similar_to_escape", similar_escape, TXT, TXT),
};
EX_FUNCS(ex_funcs_match);
