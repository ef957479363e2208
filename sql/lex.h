/* Tokens of SQL text, as far as the pre-pass needs to tell them apart: where
 * words, quoted things and brackets are.  Agrees with PostgreSQL's lexer (with
 * standard_conforming_strings on) on where each of them ends. */
#ifndef SQL_LEX_H
#define SQL_LEX_H

#include "base/arena.h"

enum sql_token_kind {
	SQL_TOK_END,
	SQL_TOK_WORD,    /* an unquoted identifier or keyword */
	SQL_TOK_QUOTED,  /* "identifier", U&"..." too */
	SQL_TOK_STRING,  /* 'plain' */
	SQL_TOK_LITERAL, /* E'', U&'', B'', X'', N'', $$...$$ */
	SQL_TOK_NUMBER,
	SQL_TOK_PARAM, /* $1 */
	SQL_TOK_CHAR,  /* anything else, one byte at a time */
	SQL_TOK_BROKEN /* something that does not end; up to the end */
};

struct sql_token {
	enum sql_token_kind kind;
	size_t start; /* byte offsets */
	size_t end;
};

struct sql_lexer {
	struct str text;
	size_t at;
};

/* The next token, comments and blanks skipped; SQL_TOK_END at the end, with
 * start and end at the length. */
struct sql_token sql_lex_next(struct sql_lexer *x);

/* The word, case aside. Never true of something quoted. */
bool sql_token_is_word(struct str text, struct sql_token t, const char *word);
bool sql_token_is_char(struct str text, struct sql_token t, char c);
/* The identifier that a WORD or QUOTED token (no U&"...") means: folded to
 * lower case or unquoted, and cut to 63 bytes as PostgreSQL does. */
char *sql_token_name(struct arena *a, struct str text, struct sql_token t);
/* What a STRING token means. */
char *sql_token_string(struct arena *a, struct str text, struct sql_token t);

#endif
