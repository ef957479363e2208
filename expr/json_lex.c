#include "expr/json_lex.h"

#include <ctype.h>
#include <stdio.h>

#include "expr/text_int.h"

static struct err *
bad(struct js_lex *l, const char *fmt, struct str what)
{
	char *text = arena_cstr(l->arena, what);
	struct err *e = ERR(l->arena, ERRCODE_INVALID_TEXT_REPRESENTATION,
	    "invalid input syntax for type json");

	/* fmt is a literal with at most one %s. */
	for (const char *p = fmt; *p; p++)
		if (p[0] == '%' && p[1] == 's')
			return err_detail(
			    e, "%.*s%s%s", (int)(p - fmt), fmt, text, p + 2);
	return err_detail(e, "%s", fmt);
}

static struct err *
bad_token(struct js_lex *l)
{
	l->token.len = l->at - (size_t)(l->token.p - l->text.p);
	return bad(l, "Token \"%s\" is invalid.", l->token);
}

static bool
more(const struct js_lex *l)
{
	return l->at < l->text.len;
}

static char
here(const struct js_lex *l)
{
	return more(l) ? l->text.p[l->at] : '\0';
}

static bool
word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || (c & 0x80);
}

/* ---- numbers and words ---- */

static bool
digits(struct js_lex *l)
{
	size_t from = l->at;

	while (isdigit((unsigned char)here(l)))
		l->at++;
	return l->at > from;
}

static struct err *
lex_number(struct js_lex *l)
{
	bool ok = true;

	if (here(l) == '-')
		l->at++;
	if (here(l) == '0')
		l->at++;
	else
		ok = digits(l);
	/* After a mistake the rest still counts as the bad token's. */
	if (here(l) == '.') {
		l->at++;
		ok &= digits(l);
	}
	if (here(l) == 'e' || here(l) == 'E') {
		l->at++;
		if (here(l) == '+' || here(l) == '-')
			l->at++;
		ok &= digits(l);
	}
	/* Letters that follow at once belong to the bad token. */
	for (; more(l) && word_char(here(l)); l->at++)
		ok = false;
	l->tok = JS_NUMBER;
	return ok ? NULL : bad_token(l);
}

static struct err *
lex_word(struct js_lex *l)
{
	size_t from = l->at;
	struct str w;

	while (more(l) && word_char(here(l)))
		l->at++;
	if (l->at == from) {
		l->at++;
		return bad_token(l);
	}
	w = str_of(l->text.p + from, l->at - from);
	if (str_eq(w, STR("true")))
		l->tok = JS_TRUE;
	else if (str_eq(w, STR("false")))
		l->tok = JS_FALSE;
	else if (str_eq(w, STR("null")))
		l->tok = JS_NULL;
	else
		return bad_token(l);
	return NULL;
}

/* ---- strings ---- */

struct string {
	struct buf out;
	uint32_t high; /* a surrogate that waits for its other half; 0 = none */
};

static struct err *
lone_low(struct js_lex *l)
{
	return bad(
	    l, "Unicode low surrogate must follow a high surrogate.", STR_NONE);
}

static struct err *
take_code(struct js_lex *l, struct string *s, uint32_t c)
{
	if (!l->decode)
		return NULL;
	if (c == 0)
		return err_detail(
		    ERR(l->arena, ERRCODE_UNTRANSLATABLE_CHARACTER,
			"unsupported Unicode escape sequence"),
		    "\\u0000 cannot be converted to text.");
	if (c >= 0xd800 && c <= 0xdbff) {
		if (s->high)
			return bad(l,
			    "Unicode high surrogate must not follow a high "
			    "surrogate.",
			    STR_NONE);
		s->high = c;
		return NULL;
	}
	if (c >= 0xdc00 && c <= 0xdfff) {
		if (!s->high)
			return lone_low(l);
		ex_char_put(
		    &s->out, 0x10000 + ((s->high & 0x3ff) << 10) + (c & 0x3ff));
		s->high = 0;
		return NULL;
	}
	if (s->high)
		return lone_low(l);
	ex_char_put(&s->out, c);
	return NULL;
}

static struct err *
lex_unicode(struct js_lex *l, struct string *s)
{
	uint32_t c = 0;

	for (int i = 0; i < 4; i++, l->at++) {
		char h = here(l);

		if (!more(l)) {
			return bad_token(l);
		}
		if (!isxdigit((unsigned char)h))
			return bad(l,
			    "\"\\u\" must be followed by four hexadecimal "
			    "digits.",
			    STR_NONE);
		c = c * 16 +
		    (uint32_t)(isdigit((unsigned char)h)
				   ? h - '0'
				   : tolower((unsigned char)h) - 'a' + 10);
	}
	return take_code(l, s, c);
}

static struct err *
lex_escape(struct js_lex *l, struct string *s)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *at;
	size_t n = 1;

	l->at++;
	if (!more(l))
		return bad_token(l);
	if (here(l) == 'u') {
		l->at++;
		return lex_unicode(l, s);
	}
	if (l->decode && s->high)
		return lone_low(l);
	at = here(l) ? strchr(from, here(l)) : NULL;
	if (!at) {
		while (l->at + n < l->text.len &&
		       (l->text.p[l->at + n] & 0xc0) == 0x80)
			n++;
		return bad(l, "Escape sequence \"\\%s\" is invalid.",
		    str_of(l->text.p + l->at, n));
	}
	if (l->decode)
		buf_u8(&s->out, (uint8_t)to[at - from]);
	l->at++;
	return NULL;
}

static struct err *
lex_string(struct js_lex *l)
{
	struct string s = {.high = 0};

	buf_init(&s.out, l->arena);
	l->tok = JS_STRING;
	l->at++;
	while (more(l) && here(l) != '"') {
		unsigned char c = (unsigned char)here(l);
		char hex[8];

		if (c < 0x20) {
			snprintf(hex, sizeof(hex), "0x%02x", (unsigned)c);
			return bad(l,
			    "Character with value %s must be escaped.",
			    str_c(hex));
		}
		if (c == '\\') {
			TRY(lex_escape(l, &s));
			continue;
		}
		if (l->decode) {
			if (s.high)
				return lone_low(l);
			buf_u8(&s.out, c);
		}
		l->at++;
	}
	if (!more(l))
		return bad_token(l);
	if (l->decode && s.high)
		return lone_low(l);
	l->at++;
	l->value = buf_view(&s.out);
	return NULL;
}

/* ---- tokens ---- */

/* Moves to the next token. */
static struct err *
next(struct js_lex *l)
{
	static const char marks[] = "{}[],:";
	const char *mark;
	struct err *e = NULL;
	char c;

	while (more(l) && strchr(" \t\n\r", here(l)) && here(l))
		l->at++;
	l->token = str_of(l->text.p + l->at, 0);
	if (!more(l)) {
		l->tok = JS_END;
		return NULL;
	}
	c = here(l);
	mark = c ? strchr(marks, c) : NULL;
	if (mark) {
		l->tok = (enum js_tok)(JS_LBRACE + (mark - marks));
		l->at++;
	} else if (c == '"') {
		e = lex_string(l);
	} else if (c == '-' || isdigit((unsigned char)c)) {
		e = lex_number(l);
	} else {
		e = lex_word(l);
	}
	if (!e)
		l->token.len = l->at - (size_t)(l->token.p - l->text.p);
	return e;
}

/* ---- the parser ---- */

static struct err *
expected(struct js_lex *l, const char *fmt)
{
	if (l->tok == JS_END)
		return bad(l, "The input string ended unexpectedly.", STR_NONE);
	return bad(l, fmt, l->token);
}

struct parser {
	struct js_lex lex;
	const struct js_sink *sink;
	struct buf stack; /* '{' or '[' for each open container */
};

static struct err *
open_container(struct parser *p, bool object)
{
	if (p->stack.len >= JS_DEPTH_MAX)
		return err_detail(
		    ERR(p->lex.arena, ERRCODE_STATEMENT_TOO_COMPLEX,
			"stack depth limit exceeded"),
		    "JSON nests deeper than %d levels.", JS_DEPTH_MAX);
	buf_u8(&p->stack, object ? '{' : '[');
	if (p->sink->open)
		p->sink->open(p->sink->arg, object);
	return next(&p->lex);
}

static struct err *
close_container(struct parser *p)
{
	p->stack.len--;
	if (p->sink->close)
		p->sink->close(p->sink->arg);
	return next(&p->lex);
}

/* "key": */
static struct err *
take_key(struct parser *p, const char *otherwise)
{
	struct js_lex *l = &p->lex;

	if (l->tok != JS_STRING)
		return expected(l, otherwise);
	if (p->sink->key)
		p->sink->key(p->sink->arg, l->decode ? l->value : l->token);
	TRY(next(l));
	if (l->tok != JS_COLON)
		return expected(l, "Expected \":\", but found \"%s\".");
	return next(l);
}

static struct err *
take_scalar(struct parser *p)
{
	struct js_lex *l = &p->lex;

	if (l->tok < JS_STRING)
		return expected(l, "Expected JSON value, but found \"%s\".");
	if (p->sink->scalar)
		TRY(p->sink->scalar(p->sink->arg, l->tok,
		    l->decode && l->tok == JS_STRING ? l->value : l->token));
	return next(l);
}

/* After a value: closes what ends here. *again: another value follows. */
static struct err *
after_value(struct parser *p, bool *again)
{
	struct js_lex *l = &p->lex;

	*again = false;
	while (p->stack.len) {
		bool object = p->stack.p[p->stack.len - 1] == '{';

		if (l->tok == JS_COMMA) {
			TRY(next(l));
			if (object)
				TRY(take_key(
				    p, "Expected string, but found \"%s\"."));
			*again = true;
			return NULL;
		}
		if (l->tok != (object ? JS_RBRACE : JS_RBRACKET))
			return expected(
			    l, object ? "Expected \",\" or \"}\", but found "
					"\"%s\"."
				      : "Expected \",\" or \"]\", but found "
					"\"%s\".");
		TRY(close_container(p));
	}
	return NULL;
}

/* A value up to where its first scalar, or its end, is: *whole says that no
 * member follows. */
static struct err *
begin_value(struct parser *p, bool *whole)
{
	struct js_lex *l = &p->lex;
	bool object = l->tok == JS_LBRACE;

	*whole = true;
	if (!object && l->tok != JS_LBRACKET)
		return take_scalar(p);
	TRY(open_container(p, object));
	if (l->tok == (object ? JS_RBRACE : JS_RBRACKET))
		return close_container(p);
	*whole = false;
	if (object)
		return take_key(
		    p, "Expected string or \"}\", but found \"%s\".");
	return NULL;
}

struct err *
js_parse(
    struct arena *a, struct str text, bool decode, const struct js_sink *sink)
{
	struct parser p = {
	    .lex = {.arena = a, .text = text, .decode = decode},
	    .sink = sink,
	};
	bool again = true, whole;

	buf_init(&p.stack, a);
	TRY(next(&p.lex));
	while (again) {
		TRY(begin_value(&p, &whole));
		if (whole)
			TRY(after_value(&p, &again));
	}
	if (p.lex.tok != JS_END)
		return expected(
		    &p.lex, "Expected end of input, but found \"%s\".");
	return NULL;
}

/* ---- quoting ---- */

void
js_quote(struct buf *b, struct str s)
{
	static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";

	buf_u8(b, '"');
	for (size_t i = 0; i < s.len; i++) {
		char c = s.p[i];
		const char *at = c ? strchr(from, c) : NULL;

		if (at) {
			buf_u8(b, '\\');
			buf_u8(b, (uint8_t)to[at - from]);
		} else if ((unsigned char)c < 0x20) {
			buf_printf(b, "\\u%04x", (unsigned)c);
		} else {
			buf_u8(b, (uint8_t)c);
		}
	}
	buf_u8(b, '"');
}
