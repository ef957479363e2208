/* What the tests of the front half share: a text, its trees or its refusal. */
#ifndef SQL_T_PARSE_CASE_H
#define SQL_T_PARSE_CASE_H

#include <stdio.h>

#include "regress/lib/cu.h"
#include "sql/parse.h"
#include "sql/sql.h"

static struct arena *arena; /* of the running test's texts */

static inline void
fresh(void)
{
	arena_free(arena);
	arena = arena_new(NULL, "test");
}

/* All statements of a text that must parse. */
static inline struct sql_stmt *
parsed(const char *sql, size_t want)
{
	struct sql_stmt *s;
	struct err *e;
	size_t n;

	fresh();
	e = sql_parse(arena, str_c(sql), &s, &n);
	if (e || n != want)
		fprintf(stderr, "%s: %s\n", sql, e ? e->message : "count");
	MUST(!e && n == want);
	return s;
}

/* The only statement of a text, of that kind. */
static inline struct sql_stmt *
one(const char *sql, enum sql_stmt_kind kind)
{
	struct sql_stmt *s = parsed(sql, 1);

	if (s->kind != kind)
		fprintf(stderr, "%s: kind %d\n", sql, (int)s->kind);
	MUST(s->kind == kind);
	return s;
}

/* The refusal of a text that must not parse. */
static inline struct err *
refused(struct str sql)
{
	struct sql_stmt *s;
	struct err *e;
	size_t n;

	fresh();
	e = sql_parse(arena, sql, &s, &n);
	MUST(e != NULL);
	CHECK(s == NULL || n == 0);
	return e;
}

static inline void
check_refused(
    const char *sql, const char *sqlstate, int position, const char *message)
{
	struct err *e = refused(str_c(sql));

	if (!err_is(e, sqlstate) || e->position != position ||
	    strcmp(e->message, message) != 0)
		fprintf(stderr, "%s:\n  %s %d %s\n", sql, e->sqlstate,
		    e->position, e->message);
	CHECK_STR(e->sqlstate, sqlstate);
	CHECK(e->position == position);
	CHECK_STR(e->message, message);
}

/* The first expression of SELECT's list. */
static inline const struct sql_expr *
target(const char *sql)
{
	return one(sql, SQL_STMT_SELECT)->u.select->targets.items[0].expr;
}

#endif
