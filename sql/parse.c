#include "sql/parse.h"
#include "sql/pgparse.h"
#include "sql/prepass.h"
#include "sql/sql.h"

/* 22021 as PostgreSQL words it. */
static struct err *
bad_encoding(struct arena *a, struct str text, size_t bad)
{
	unsigned char lead = (unsigned char)text.p[bad];
	size_t n = lead >= 0xf8   ? 1
		   : lead >= 0xf0 ? 4
		   : lead >= 0xe0 ? 3
		   : lead >= 0xc0 ? 2
				  : 1;
	struct buf b;

	buf_init(&b, a);
	for (size_t i = bad; i < bad + n && i < text.len; i++)
		buf_printf(&b, " 0x%02x", (unsigned char)text.p[i]);
	return ERR(a, ERRCODE_CHARACTER_NOT_IN_REPERTOIRE,
	    "invalid byte sequence for encoding \"UTF8\":%s", buf_cstr(&b));
}

struct err *
sql_parse(struct arena *a, struct str text, struct sql_stmt **stmts, size_t *n)
{
	struct sql_text t;
	struct sql_pg_input in = {.text = &t};
	struct err *e;
	size_t bad;

	*stmts = NULL;
	*n = 0;
	if (text.len > SQL_TEXT_MAX)
		return ERR(a, ERRCODE_PROGRAM_LIMIT_EXCEEDED,
		    "statement text is longer than %u bytes", SQL_TEXT_MAX);
	if (!str_utf8(text, &bad))
		return bad_encoding(a, text, bad);
	sql_text_init(&t, a, text);
	in.sql = t.text.p;
	e = sql_pg_parse(a, &in, stmts, n);
	/* Only what the grammar refuses is looked at for our own syntax: plain
	 * SQL pays nothing and keeps its meaning. */
	return e && err_is(e, ERRCODE_SYNTAX_ERROR)
		   ? sql_prepass(a, &t, e, stmts, n)
		   : e;
}

struct err *
sql_parser_selftest(struct arena *a)
{
	/* One of each kind of node that most statements are made of. */
	static const struct {
		const char *sql;
		const char *shape;
	} cases[] = {
	    {"SELECT a + 1, 'x'::text, f($1) FROM t WHERE b IS NULL",
		"(a + 1)|'x'::text|f($1)|"},
	    {"SELECT CASE WHEN x AND NOT y THEN 1.5 END, b IN (1, 2)",
		"CASE WHEN (x AND (NOT y)) THEN 1.5 END|(b IN (1, 2))|"},
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct sql_stmt *s;
		struct buf b;
		size_t n;

		TRY(sql_parse(a, str_c(cases[i].sql), &s, &n));
		buf_init(&b, a);
		for (uint32_t j = 0; n == 1 && s->kind == SQL_STMT_SELECT &&
				     j < s->u.select->targets.n;
		     j++)
			buf_printf(&b, "%s|",
			    sql_deparse(a, s->u.select->targets.items[j].expr));
		if (strcmp(buf_cstr(&b), cases[i].shape) != 0)
			return ERR(a, ERRCODE_INTERNAL_ERROR,
			    "the parser library is not the one this program "
			    "was built for");
	}
	return NULL;
}
