/* Statement text: the grammar, the pre-pass, and expressions back to text. What
 * parses has texts and positions inside what was given, and its expressions
 * parse to themselves. */
#include "sql/parse.h"
#include "sql/sql.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Those without queries in them, whose text stands for them. */
static void
round_trip(struct arena *a, const struct sql_expr *e)
{
	char *text = sql_deparse(a, e);
	char *sql;
	struct sql_stmt *s;
	size_t n;

	ASSERT(sql_figure_colname(e));
	if (!sql_expr_equal(e, e) || strstr(text, "(SELECT ...)"))
		return;
	sql = arena_printf(a, "SELECT %s", text);
	/* Parentheses nest deeper than what they came from. */
	struct err *err = sql_parse(a, str_c(sql), &s, &n);

	if (err && err_is(err, ERRCODE_STATEMENT_TOO_COMPLEX))
		return;
	ASSERT(!err && n == 1 && s->kind == SQL_STMT_SELECT);
	ASSERT(sql_expr_equal(e, s->u.select->targets.items[0].expr));
}

static void
check_stmt(struct arena *a, const struct sql_stmt *s, struct str text)
{
	ASSERT(sql_tag(s));
	ASSERT(s->text.len <= text.len);
	ASSERT(s->position >= 0 && (size_t)s->position <= text.len + 1);
	if (s->kind == SQL_STMT_UNSUPPORTED)
		ASSERT(s->u.unsupported.feature && s->u.unsupported.error);
	if (s->kind != SQL_STMT_SELECT)
		return;
	for (uint32_t i = 0; i < s->u.select->targets.n; i++)
		round_trip(a, s->u.select->targets.items[i].expr);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *a = arena_new(NULL, "fuzz");
	struct str text = str_of(data, size);
	struct sql_stmt *s;
	struct err *e;
	size_t n;

	e = sql_parse(a, text, &s, &n);
	if (e)
		ASSERT(e->position >= 0 && (size_t)e->position <= text.len + 1);
	for (size_t i = 0; !e && i < n; i++)
		check_stmt(a, &s[i], text);
	arena_free(a);
	return 0;
}
