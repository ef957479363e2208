#include "sql/lex.h"

#define NAME_MAX_BYTES 63u

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool
is_word_start(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
	       (unsigned char)c >= 0x80;
}

static bool
is_word(char c)
{
	return is_word_start(c) || is_digit(c) || c == '$';
}

static bool
is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* The byte n further on; 0 past the end. */
static char
peek(const struct sql_lexer *x, size_t n)
{
	return n < x->text.len - x->at ? x->text.p[x->at + n] : 0;
}

/* False when the comment does not end. */
static bool
skip_comment(struct sql_lexer *x)
{
	size_t depth = 1;

	for (x->at += 2; x->at < x->text.len && depth;) {
		if (peek(x, 0) == '*' && peek(x, 1) == '/') {
			depth--;
			x->at += 2;
		} else if (peek(x, 0) == '/' && peek(x, 1) == '*') {
			depth++;
			x->at += 2;
		} else {
			x->at++;
		}
	}
	return depth == 0;
}

static bool
skip_blanks(struct sql_lexer *x)
{
	for (;;) {
		if (is_blank(peek(x, 0))) {
			x->at++;
		} else if (peek(x, 0) == '-' && peek(x, 1) == '-') {
			while (x->at < x->text.len && peek(x, 0) != '\n' &&
			       peek(x, 0) != '\r')
				x->at++;
		} else if (peek(x, 0) == '/' && peek(x, 1) == '*') {
			if (!skip_comment(x))
				return false;
		} else {
			return true;
		}
	}
}

/* From the opening quote on; a doubled quote is one inside. */
static bool
skip_quoted(struct sql_lexer *x, char quote, bool backslash)
{
	for (x->at++; x->at < x->text.len; x->at++) {
		char c = peek(x, 0);

		if (backslash && c == '\\') {
			x->at++;
		} else if (c == quote) {
			x->at++;
			if (peek(x, 0) != quote)
				return true;
		}
	}
	x->at = x->text.len;
	return false;
}

static enum sql_token_kind
quoted(
    struct sql_lexer *x, char quote, bool backslash, enum sql_token_kind kind)
{
	return skip_quoted(x, quote, backslash) ? kind : SQL_TOK_BROKEN;
}

/* $tag$ ... $tag$; false when what is here is no such tag. */
static bool
dollar_tag(const struct sql_lexer *x, size_t *len)
{
	size_t n = 1;

	if (is_word_start(peek(x, 1)))
		for (n = 2; is_word(peek(x, n)) && peek(x, n) != '$';)
			n++;
	*len = n + 1;
	return peek(x, n) == '$';
}

static enum sql_token_kind
dollar(struct sql_lexer *x)
{
	struct str rest;
	size_t len;

	if (is_digit(peek(x, 1))) {
		for (x->at++; is_digit(peek(x, 0));)
			x->at++;
		return SQL_TOK_PARAM;
	}
	if (!dollar_tag(x, &len)) {
		x->at++;
		return SQL_TOK_CHAR;
	}
	rest = str_skip(x->text, x->at + len);
	const char *end =
	    rest.len ? memmem(rest.p, rest.len, x->text.p + x->at, len) : NULL;
	if (!end) {
		x->at = x->text.len;
		return SQL_TOK_BROKEN;
	}
	x->at = (size_t)(end - x->text.p) + len;
	return SQL_TOK_LITERAL;
}

static enum sql_token_kind
number(struct sql_lexer *x)
{
	while (is_digit(peek(x, 0)))
		x->at++;
	if (peek(x, 0) == '.' && peek(x, 1) != '.') {
		for (x->at++; is_digit(peek(x, 0));)
			x->at++;
	}
	if ((peek(x, 0) | 0x20) == 'e') {
		size_t sign = peek(x, 1) == '+' || peek(x, 1) == '-';

		if (is_digit(peek(x, 1 + sign)))
			for (x->at += 1 + sign; is_digit(peek(x, 0));)
				x->at++;
	}
	return SQL_TOK_NUMBER;
}

/* A word, or the prefix of a string. */
static enum sql_token_kind
word(struct sql_lexer *x)
{
	char c = peek(x, 0) | 0x20;

	if (peek(x, 1) == '\'' &&
	    (c == 'e' || c == 'b' || c == 'x' || c == 'n')) {
		x->at++;
		return quoted(x, '\'', c == 'e', SQL_TOK_LITERAL);
	}
	if (c == 'u' && peek(x, 1) == '&' &&
	    (peek(x, 2) == '\'' || peek(x, 2) == '"')) {
		x->at += 2;
		return quoted(x, peek(x, 0), false,
		    peek(x, 0) == '"' ? SQL_TOK_QUOTED : SQL_TOK_LITERAL);
	}
	while (is_word(peek(x, 0)))
		x->at++;
	return SQL_TOK_WORD;
}

struct sql_token
sql_lex_next(struct sql_lexer *x)
{
	struct sql_token t = {.kind = SQL_TOK_BROKEN, .start = x->at};
	bool ok = skip_blanks(x);
	char c = peek(x, 0);

	if (!ok) {
		t.end = x->at;
		return t;
	}
	t.start = x->at;
	if (x->at == x->text.len)
		t.kind = SQL_TOK_END;
	else if (is_word_start(c))
		t.kind = word(x);
	else if (c == '\'')
		t.kind = quoted(x, c, false, SQL_TOK_STRING);
	else if (c == '"')
		t.kind = quoted(x, c, false, SQL_TOK_QUOTED);
	else if (c == '$')
		t.kind = dollar(x);
	else if (is_digit(c) || (c == '.' && is_digit(peek(x, 1))))
		t.kind = number(x);
	else {
		t.kind = SQL_TOK_CHAR;
		x->at++;
	}
	t.end = x->at;
	return t;
}

bool
sql_token_is_word(struct str text, struct sql_token t, const char *word_)
{
	return t.kind == SQL_TOK_WORD &&
	       str_ieq(str_of(text.p + t.start, t.end - t.start), str_c(word_));
}

bool
sql_token_is_char(struct str text, struct sql_token t, char c)
{
	return t.kind == SQL_TOK_CHAR && text.p[t.start] == c;
}

/* What is between the quotes, which come doubled inside. */
static char *
unquote(struct arena *a, struct str s)
{
	char quote = s.p[0];
	char *out = arena_alloc(a, s.len);
	size_t n = 0;

	for (size_t i = 1; i + 1 < s.len; i++) {
		out[n++] = s.p[i];
		if (s.p[i] == quote)
			i++;
	}
	out[n] = 0;
	return out;
}

char *
sql_token_string(struct arena *a, struct str text, struct sql_token t)
{
	return unquote(a, str_of(text.p + t.start, t.end - t.start));
}

char *
sql_token_name(struct arena *a, struct str text, struct sql_token t)
{
	struct str raw = str_of(text.p + t.start, t.end - t.start);
	char *name;
	size_t n;

	if (t.kind == SQL_TOK_QUOTED) {
		name = unquote(a, raw);
	} else {
		name = arena_cstr(a, raw);
		for (char *p = name; *p; p++)
			if (*p >= 'A' && *p <= 'Z')
				*p = (char)(*p | 0x20);
	}
	n = strlen(name);
	if (n > NAME_MAX_BYTES) {
		/* Never in the middle of a character. */
		for (n = NAME_MAX_BYTES;
		     ((unsigned char)name[n] & 0xc0) == 0x80;)
			n--;
		name[n] = 0;
	}
	return name;
}
