#include "sql/parse.h"
#include "sql/pgparse.h"
#include "sql/sql.h"

/* 22021 as PostgreSQL words it. */
static struct err *
bad_encoding(struct arena *a, struct str text, size_t bad)
{
	unsigned char lead = (unsigned char)text.p[bad];
	size_t n = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
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
	return e;
}
