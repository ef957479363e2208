/* PostgreSQL's grammar, behind a wall: text in, our trees out.  The only file
 * behind it is pgparse.c; nothing of the parser library or the server headers
 * comes through. */
#ifndef SQL_PGPARSE_H
#define SQL_PGPARSE_H

#include "sql/ast.h"
#include "sql/text.h"

/* An option whose value was lifted out of the text before parsing: `value`
 * (kind LIST) replaces the one of the option named at byte `offset` of the
 * text. */
struct sql_lifted {
	size_t offset;
	struct sql_option value;
};

struct sql_pg_input {
	const struct sql_text *text; /* what positions are counted in */
	const char *sql; /* what is parsed: the text, or a piece of it, with
			  * parts of it replaced byte by byte */
	size_t base;     /* where in the text that piece starts */
	const struct sql_lifted *lifted;
	size_t n_lifted;
	size_t used_lifted; /* out: how many found their option */
};

/* Syntax errors have SQLSTATE, hint and position as PostgreSQL's. Deeper trees
 * than SQL_DEPTH_MAX are 54001, $n out of range 42601 or 54023; what is not
 * modelled is a statement of its own kind and no error here.
 *
 * The library keeps state per thread: call it from long-lived threads only. It
 * never switches fibers. */
struct err *sql_pg_parse(struct arena *a, struct sql_pg_input *in,
    struct sql_stmt **stmts, size_t *n);

/* Whether an identifier in lower case must be quoted because the grammar gives
 * the word a meaning. */
bool sql_pg_needs_quotes(const char *word);

#endif
