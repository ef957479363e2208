/* The one translation unit that sees PostgreSQL's server headers.  It is long,
 * so its text lives in parts, each included once, below, and nowhere else:
 *
 *   pgparse_conv.inc   the conversion's context, names, lists, types, options
 *   pgparse_expr.inc   expressions
 *   pgparse_query.inc  SELECT, INSERT, UPDATE, DELETE
 *   pgparse_ddl.inc    CREATE, ALTER, DROP
 *   pgparse_stmt.inc   everything else, and which statement goes where
 *
 * The raw tree is converted without recursion: what is to be converted is a
 * task on a list of our own, so that a tree as deep as the limit takes no more
 * C stack (a gateway's fibers have little) than a flat one. */
#include "sql/pgparse.h"
#include "sql/lex.h"
#include "sql/parse.h"
#include "sql/sql.h"

#include <ctype.h>
#include <limits.h>

/* The server headers define ERRCODE_ names as numbers: keep ours. */
static const char SYNTAX_ERROR[] = ERRCODE_SYNTAX_ERROR;
static const char NOT_SUPPORTED[] = ERRCODE_FEATURE_NOT_SUPPORTED;
static const char TOO_COMPLEX[] = ERRCODE_STATEMENT_TOO_COMPLEX;
static const char BAD_CHARACTER[] = ERRCODE_CHARACTER_NOT_IN_REPERTOIRE;
static const char BAD_ESCAPE[] = ERRCODE_INVALID_ESCAPE_SEQUENCE;
static const char BAD_VALUE[] = ERRCODE_INVALID_PARAMETER_VALUE;
static const char NO_PARAMETER[] = ERRCODE_UNDEFINED_PARAMETER;

#include <postgres.h>

#include <common/keywords.h>
#include <nodes/nodes.h>
#include <nodes/parsenodes.h>
#include <nodes/pg_list.h>
#include <nodes/primnodes.h>
#include <nodes/value.h>

#if PG_VERSION_NUM / 10000 != 15
#error "libpg_query 15 needs the server headers of PostgreSQL 15"
#endif

/* Not from pg_query.h, which redefines what postgres.h defines. */
typedef struct {
	char *message;
	char *funcname;
	char *filename;
	int lineno;
	int cursorpos;
	char *context;
} PgQueryError;

typedef struct {
	List *tree;
	char *stderr_buffer;
	PgQueryError *error;
} PgQueryInternalParsetreeAndError;

extern PgQueryInternalParsetreeAndError pg_query_raw_parse(const char *input);
extern MemoryContext pg_query_enter_memory_context(void);
extern void pg_query_exit_memory_context(MemoryContext ctx);
extern void pg_query_free_error(PgQueryError *error);

#include "sql/pgparse_conv.inc"
#include "sql/pgparse_ddl.inc"
#include "sql/pgparse_expr.inc"
#include "sql/pgparse_query.inc"
#include "sql/pgparse_stmt.inc"

/* The library reports text and position only; what PostgreSQL's own report
 * says besides is looked up by the words of the message. */
static const struct known_error {
	const char *words; /* somewhere in the message */
	const char *sqlstate;
	const char *hint;
} known_errors[] = {
    {"not yet implemented", NOT_SUPPORTED, NULL},
    {"not implemented", NOT_SUPPORTED, NULL},
    {"memory exhausted", TOO_COMPLEX, NULL},
    {"invalid byte sequence", BAD_CHARACTER, NULL},
    {"invalid Unicode escape value", SYNTAX_ERROR, NULL},
    {"invalid Unicode escape character", SYNTAX_ERROR, NULL},
    {"unsafe use of string constant with Unicode escapes", NOT_SUPPORTED,
	"String constants with Unicode escapes cannot be used when "
	"standard_conforming_strings is off."},
    {"cannot be marked", NOT_SUPPORTED, NULL},
    {"WITH CHECK OPTION not supported", NOT_SUPPORTED, NULL},
    {"current database cannot be changed", NOT_SUPPORTED, NULL},
    {"aggregates cannot", NOT_SUPPORTED, NULL},
    {"precision for type float", BAD_VALUE, NULL},
    {"column number must be in range", BAD_VALUE, NULL},
    {"VALUES in FROM must have an alias", SYNTAX_ERROR,
	"For example, FROM (VALUES ...) [AS] foo."},
    {"subquery in FROM must have an alias", SYNTAX_ERROR,
	"For example, FROM (SELECT ...) [AS] foo."},
};

/* E'\u12' and U&'\12' are refused with the same words and yet differently. */
static const struct known_error *
unicode_escape(const char *sql, size_t at)
{
	static const struct known_error in_e = {
	    "", BAD_ESCAPE, "Unicode escapes must be \\uXXXX or \\UXXXXXXXX."};
	static const struct known_error in_u = {
	    "", SYNTAX_ERROR, "Unicode escapes must be \\XXXX or \\+XXXXXX."};
	struct sql_lexer x = {str_c(sql), 0};
	struct sql_token t;

	do
		t = sql_lex_next(&x);
	while (t.kind != SQL_TOK_END && t.end <= at);
	return sql[t.start] == 'U' || sql[t.start] == 'u' ? &in_u : &in_e;
}

static const struct known_error *
known_error(const char *sql, const char *message, size_t at)
{
	if (strcmp(message, "invalid Unicode escape") == 0)
		return unicode_escape(sql, at);
	for (size_t i = 0; i < lengthof(known_errors); i++)
		if (strstr(message, known_errors[i].words))
			return &known_errors[i];
	return NULL;
}

static struct err *
syntax_error(
    struct arena *a, const struct sql_pg_input *in, const PgQueryError *pe)
{
	/* Its position counts characters of what it parsed. */
	size_t at = pe->cursorpos > 0 ? sql_text_offset(str_c(in->sql),
					    (size_t)pe->cursorpos - 1)
				      : 0;
	const struct known_error *k = known_error(in->sql, pe->message, at);
	const char *message = pe->message;
	struct err *e;

	if (k && k->sqlstate == TOO_COMPLEX)
		message = "stack depth limit exceeded";
	e = ERR(a, k ? k->sqlstate : SYNTAX_ERROR, "%s", message);
	if (k && k->hint)
		err_hint(e, "%s", k->hint);
	if (pe->cursorpos > 0)
		err_at(e, sql_text_position(in->text, in->base + at));
	return e;
}

/* ---- the run ---- */

static void
run_tasks(struct conv *c)
{
	struct task t;

	while (c->n_tasks && !c->err) {
		t = c->tasks[--c->n_tasks];
		c->depth = t.depth;
		if (t.depth > SQL_DEPTH_MAX) {
			c->err = ERR(c->arena, TOO_COMPLEX,
			    "stack depth limit exceeded");
			err_hint(c->err, "Expressions may be %u levels deep.",
			    SQL_DEPTH_MAX);
			return;
		}
		if (c->n_done++ % 256 == 0)
			c->err = arena_check(c->arena);
		switch (t.kind) {
		case TASK_EXPR:
			convert_expr(c, t.node, t.out);
			break;
		case TASK_SELECT:
			convert_select(c, t.node, t.out);
			break;
		case TASK_FROM:
			convert_from(c, t.node, t.out);
			break;
		case TASK_STMT:
			convert_stmt(c, t.node, t.out);
			break;
		}
	}
}

/* One statement; a refusal becomes its kind. */
static struct err *
convert_one(struct conv *c, const RawStmt *raw, struct sql_stmt *s)
{
	struct str text = statement_text(c, raw);

	c->err = NULL;
	c->feature = NULL;
	c->n_tasks = 0;
	c->n_params = 0;
	c->depth = 0;
	defer(c, TASK_STMT, raw->stmt, s);
	run_tasks(c);
	if (c->err && !c->feature)
		return c->err;
	if (c->err) {
		s->kind = SQL_STMT_UNSUPPORTED;
		s->u.unsupported.feature = c->feature;
		s->u.unsupported.error = c->err;
	}
	s->text = text;
	s->position = sql_text_position(
	    c->in->text, (size_t)(text.p - c->in->text->text.p));
	s->n_params = c->n_params;
	return NULL;
}

static struct err *
convert_all(struct conv *c, const List *raw, struct sql_stmt **stmts, size_t *n)
{
	const ListCell *lc;

	*stmts = NEW_N(c->arena, struct sql_stmt, (size_t)list_length(raw));
	*n = 0;
	foreach (lc, raw) {
		TRY(convert_one(c, lfirst_node(RawStmt, lc), *stmts + *n));
		++*n;
	}
	return NULL;
}

struct err *
sql_pg_parse(struct arena *a, struct sql_pg_input *in, struct sql_stmt **stmts,
    size_t *n)
{
	struct conv c = {.arena = a, .in = in};
	MemoryContext ctx = pg_query_enter_memory_context();
	PgQueryInternalParsetreeAndError r = pg_query_raw_parse(in->sql);
	struct err *e;

	*stmts = NULL;
	*n = 0;
	c.scratch = arena_new(a, "parse");
	if (r.error) {
		e = syntax_error(a, in, r.error);
		pg_query_free_error(r.error);
	} else {
		e = convert_all(&c, r.tree, stmts, n);
	}
	arena_free(c.scratch);
	free(r.stderr_buffer);
	pg_query_exit_memory_context(ctx);
	return e;
}

bool
sql_pg_needs_quotes(const char *word)
{
	int k = ScanKeywordLookup(word, &ScanKeywords);

	return k >= 0 && ScanKeywordCategories[k] != UNRESERVED_KEYWORD;
}
