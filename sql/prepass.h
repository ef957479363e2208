/* The project's own syntax, for text that PostgreSQL's grammar refused.
 *
 * Statements that are all our own (USE, RECLAIM, ...) are parsed here by token.
 * In the others the parts that are ours are lifted out (`nodes = ['a']`) or
 * blanked (BEGIN ATOMIC, GLOBAL), byte for byte, and the grammar parses the
 * rest; so positions stay those of the client's text. */
#ifndef SQL_PREPASS_H
#define SQL_PREPASS_H

#include "sql/ast.h"
#include "sql/lex.h"
#include "sql/text.h"

/* `refusal` is what the grammar said of the whole text: it is what the client
 * gets when nothing here is ours. */
struct err *sql_prepass(struct arena *a, const struct sql_text *t,
    struct err *refusal, struct sql_stmt **stmts, size_t *n);

/* Parses one statement by token, into s; *ours false (and no error) when it is
 * not one of those. `text` is the whole text, [start, end) the statement
 * without its semicolon; `semicolon` says whether one follows, at `end`. */
struct sql_piece {
	const struct sql_text *text;
	size_t start;
	size_t last; /* where its last token ends */
	size_t end;
	bool semicolon;
};
/* The grammar's "syntax error at or near", for a token of the piece. */
struct err *sql_piece_error(
    struct arena *a, const struct sql_piece *p, struct sql_token t);
struct err *sql_own_parse(
    struct arena *a, const struct sql_piece *p, struct sql_stmt *s, bool *ours);

#endif
