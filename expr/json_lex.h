/* JSON text: tokens, a parser without recursion, quoting.  Errors are
 * PostgreSQL's: 22P02 "invalid input syntax for type json" and a detail. */
#ifndef EXPR_JSON_LEX_H
#define EXPR_JSON_LEX_H

#include "base/buf.h"
#include "base/err.h"

#define JS_DEPTH_MAX 6000

enum js_tok {
	JS_END,
	JS_LBRACE,
	JS_RBRACE,
	JS_LBRACKET,
	JS_RBRACKET,
	JS_COMMA,
	JS_COLON,
	JS_STRING,
	JS_NUMBER,
	JS_TRUE,
	JS_FALSE,
	JS_NULL
};

struct js_lex {
	struct arena *arena;
	struct str text;
	size_t at; /* behind the token */
	enum js_tok tok;
	struct str token; /* as written */
	bool decode;      /* strings are decoded, and their escapes checked */
	struct str value; /* of a string, if so; in the arena */
};

/* What a parse reports, in order of the text. Any may be NULL. */
struct js_sink {
	void (*open)(void *arg, bool object);
	void (*close)(void *arg);
	/* Decoded where the parse decodes, else as written. */
	void (*key)(void *arg, struct str key);
	struct err *(*scalar)(void *arg, enum js_tok tok, struct str value);
	void *arg;
};
/* Parses one whole value; depth is limited (54001). */
struct err *js_parse(
    struct arena *a, struct str text, bool decode, const struct js_sink *sink);

/* The string in quotes, escaped as PostgreSQL does. */
void js_quote(struct buf *b, struct str s);

#endif
