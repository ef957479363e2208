/* Simple queries: a string of statements, each run to its end. */
#include "gateway/session_int.h"

static struct err *
run_one(struct gw_session *s, struct gw_statement *st)
{
	struct gw_portal *p;
	struct err *e;
	bool more;

	TRY(gw_txn_allow(s, s->msg_arena, st->stmt));
	TRY(gw_statement_plan(s, st, s->msg_arena));
	p = gw_portal_new(s, st);
	p->untold = true;
	e = gw_portal_run(s, p, 0, &more);
	if (e)
		e = err_copy(s->msg_arena, e);
	else
		wire_command_complete(&s->out, p->tag);
	gw_portal_free(p);
	return e;
}

/* Every statement of the string has been parsed before the first one runs, so a
 * syntax error anywhere stops all, as in PostgreSQL. */
static struct err *
run_all(struct gw_session *s, struct str text)
{
	struct arena *trees = arena_new(s->arena, "query");
	struct sql_stmt *stmts;
	size_t n;
	struct err *e = sql_parse(trees, text, &stmts, &n);

	if (!e && n == 0)
		wire_empty_query(&s->out);
	for (size_t i = 0; !e && i < n; i++) {
		struct gw_statement *st = gw_statement_new(s);

		st->stmt = &stmts[i];
		st->no_params = stmts[i].kind != SQL_STMT_PREPARE;
		e = run_one(s, st);
		gw_statement_unref(st);
		gw_session_report(s);
	}
	if (e)
		e = err_copy(s->msg_arena, e);
	arena_free(trees);
	return e;
}

void
gw_session_query(struct gw_session *s, struct str body)
{
	struct str text;
	struct err *e = wire_query_read(s->msg_arena, body, &text);

	/* A simple query ends the unnamed portal and statement. */
	gw_portal_free(s->unnamed_portal);
	s->unnamed_portal = NULL;
	gw_statement_unref(s->unnamed);
	s->unnamed = NULL;
	if (!e)
		e = run_all(s, text);
	if (e) {
		gw_session_error(s, e);
		gw_txn_failed(s);
	}
	gw_session_ready(s);
}
