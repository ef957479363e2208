/* The extended protocol: Parse, Bind, Describe, Execute, Close, Flush, Sync.
 * After an error everything up to Sync is skipped. */
#include "gateway/session_int.h"

static struct err *
no_statement(struct gw_session *s, struct str name)
{
	if (!name.len)
		return ERR(s->msg_arena, ERRCODE_INVALID_SQL_STATEMENT_NAME,
		    "unnamed prepared statement does not exist");
	return ERR(s->msg_arena, ERRCODE_INVALID_SQL_STATEMENT_NAME,
	    "prepared statement \"%.*s\" does not exist", STR_FMT(name));
}

static struct err *
find_statement(struct gw_session *s, struct str name, struct gw_statement **out)
{
	*out = name.len ? map_get(s->statements, name) : s->unnamed;
	return *out ? NULL : no_statement(s, name);
}

static struct err *
find_portal(struct gw_session *s, struct str name, struct gw_portal **out)
{
	*out = name.len ? map_get(s->portals, name) : s->unnamed_portal;
	return *out ? NULL
		    : ERR(s->msg_arena, ERRCODE_INVALID_CURSOR_NAME,
			  "portal \"%.*s\" does not exist", STR_FMT(name));
}

static struct err *
check_name_free(struct gw_session *s, struct str name)
{
	if (!name.len)
		return NULL;
	if (map_get(s->statements, name))
		return ERR(s->msg_arena, ERRCODE_DUPLICATE_PREPARED_STATEMENT,
		    "prepared statement \"%.*s\" already exists",
		    STR_FMT(name));
	if (map_count(s->statements) >= GW_STATEMENTS_MAX)
		return ERR(s->msg_arena, ERRCODE_OUT_OF_MEMORY,
		    "too many prepared statements in one session");
	return NULL;
}

static struct err *
parse_into(
    struct gw_session *s, struct gw_statement *st, const struct wire_parse *m)
{
	struct sql_stmt *stmts;
	size_t n;

	TRY(sql_parse(st->arena, arena_str(st->arena, m->query), &stmts, &n));
	if (n > 1)
		return ERR(s->msg_arena, ERRCODE_SYNTAX_ERROR,
		    "cannot insert multiple commands into a prepared "
		    "statement");
	st->stmt = n ? &stmts[0] : NULL;
	st->given =
	    arena_dup(st->arena, m->types, (m->n_types + 1) * sizeof *m->types);
	st->n_given = m->n_types;
	if (st->stmt)
		TRY(gw_txn_allow(s, s->msg_arena, st->stmt));
	return gw_statement_plan(s, st, s->msg_arena);
}

static struct err *
do_parse(struct gw_session *s, struct str body)
{
	struct gw_statement *st;
	struct wire_parse m;
	struct err *e;

	TRY(wire_parse_read(s->msg_arena, body, &m));
	TRY(check_name_free(s, m.name));
	if (!m.name.len) {
		gw_statement_unref(s->unnamed);
		s->unnamed = NULL;
	}
	st = gw_statement_new(s);
	e = parse_into(s, st, &m);
	if (e) {
		e = err_copy(s->msg_arena, e);
		gw_statement_unref(st);
		return e;
	}
	if (m.name.len)
		map_put(s->statements, m.name, st);
	else
		s->unnamed = st;
	wire_parse_complete(&s->out);
	return NULL;
}

static struct err *
bind_param(
    struct gw_portal *p, uint32_t i, uint32_t type, const struct wire_bind *m)
{
	const struct wire_value *v = &m->params[i];
	struct err *e;

	if (v->null) {
		p->params[i] = val_null(type);
		return NULL;
	}
	if (wire_format_of(m->formats, m->n_formats, i)) {
		e = ex_recv(p->arena, type, -1, v->bytes, &p->params[i]);
		if (err_is(e, ERRCODE_INVALID_BINARY_REPRESENTATION))
			e->message = arena_printf(p->arena,
			    "%s in bind parameter %u", e->message, i + 1);
	} else {
		size_t bad;

		if (!str_utf8(v->bytes, &bad))
			return ERR(p->arena,
			    ERRCODE_CHARACTER_NOT_IN_REPERTOIRE,
			    "invalid byte sequence for encoding \"UTF8\": "
			    "0x%02x",
			    (uint8_t)v->bytes.p[bad]);
		e = ex_in(p->arena, &p->ex, type, -1, v->bytes, &p->params[i]);
	}
	/* What the value points to is in the message: it goes with it. */
	if (!e)
		p->params[i] = val_copy(p->arena, p->params[i]);
	return e;
}

static struct err *
bind_into(struct gw_session *s, struct gw_portal *p, const struct wire_bind *m)
{
	const struct sql_prepared *pr = p->plan ? p->plan->prepared : NULL;
	uint32_t want = pr ? pr->n_params : 0;
	uint32_t n = p->plan ? p->plan->n_columns : 0;

	if (m->n_params != want)
		return ERR(s->msg_arena, ERRCODE_PROTOCOL_VIOLATION,
		    "bind message supplies %u parameters, but prepared "
		    "statement \"%.*s\" requires %u",
		    m->n_params, STR_FMT(m->statement), want);
	p->ex = gw_settings_derived(s->settings)->ex;
	p->params = NEW_N(p->arena, struct val, want + 1);
	p->n_params = want;
	for (uint32_t i = 0; i < want; i++)
		TRY(bind_param(p, i, pr->params[i], m));
	p->formats = arena_dup(
	    p->arena, m->results, (m->n_results + 1) * sizeof *m->results);
	p->n_formats = m->n_results;
	if (m->n_results > 1 && m->n_results != n)
		return ERR(s->msg_arena, ERRCODE_PROTOCOL_VIOLATION,
		    "bind message has %u result formats but query has %u "
		    "columns",
		    m->n_results, n);
	return NULL;
}

static struct err *
do_bind(struct gw_session *s, struct str body)
{
	struct gw_statement *st;
	struct gw_portal *p;
	struct wire_bind m;
	struct err *e;

	TRY(wire_bind_read(s->msg_arena, body, &m));
	TRY(find_statement(s, m.statement, &st));
	if (st->stmt)
		TRY(gw_txn_allow(s, s->msg_arena, st->stmt));
	TRY(gw_statement_plan(s, st, s->msg_arena));
	if (m.portal.len && map_get(s->portals, m.portal))
		return ERR(s->msg_arena, ERRCODE_DUPLICATE_CURSOR,
		    "cursor \"%.*s\" already exists", STR_FMT(m.portal));
	if (m.portal.len && map_count(s->portals) >= GW_PORTALS_MAX)
		return ERR(s->msg_arena, ERRCODE_OUT_OF_MEMORY,
		    "too many portals in one session");
	if (!m.portal.len) {
		gw_portal_free(s->unnamed_portal);
		s->unnamed_portal = NULL;
	}
	p = gw_portal_new(s, st);
	e = bind_into(s, p, &m);
	if (e) {
		e = err_copy(s->msg_arena, e);
		gw_portal_free(p);
		return e;
	}
	if (m.portal.len)
		map_put(s->portals, m.portal, p);
	else
		s->unnamed_portal = p;
	wire_bind_complete(&s->out);
	return NULL;
}

static struct err *
do_describe(struct gw_session *s, struct str body)
{
	struct wire_target t;
	struct gw_statement *st;
	struct gw_portal *p;

	TRY(wire_target_read(s->msg_arena, body, &t));
	if (t.kind == 'P') {
		TRY(find_portal(s, t.name, &p));
		if (p->st->stmt)
			TRY(gw_txn_allow(s, s->msg_arena, p->st->stmt));
		gw_session_describe_rows(s, p->plan, p->formats, p->n_formats);
		return NULL;
	}
	TRY(find_statement(s, t.name, &st));
	if (st->stmt)
		TRY(gw_txn_allow(s, s->msg_arena, st->stmt));
	TRY(gw_statement_plan(s, st, s->msg_arena));
	wire_parameter_description(&s->out,
	    st->stmt ? st->plan->prepared->params : NULL,
	    st->stmt ? st->plan->prepared->n_params : 0);
	gw_session_describe_rows(s, st->plan, NULL, 0);
	return NULL;
}

/* A portal that came to its end: a query has no more rows, anything else is not
 * done twice. */
static struct err *
run_again(struct gw_session *s, struct gw_portal *p, struct str name)
{
	if (!p->plan->prepared->utility && !p->plan->prepared->writes) {
		wire_command_complete(&s->out,
		    arena_printf(s->msg_arena, "%s 0", p->plan->prepared->tag));
		return NULL;
	}
	return ERR(s->msg_arena, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
	    "portal \"%.*s\" cannot be run", STR_FMT(name));
}

static struct err *
do_execute(struct gw_session *s, struct str body)
{
	struct wire_execute m;
	struct gw_portal *p;
	bool more;

	TRY(wire_execute_read(s->msg_arena, body, &m));
	TRY(find_portal(s, m.portal, &p));
	if (!p->st->stmt) {
		wire_empty_query(&s->out);
		return NULL;
	}
	TRY(gw_txn_allow(s, s->msg_arena, p->st->stmt));
	if (p->done)
		return run_again(s, p, m.portal);
	TRY(gw_portal_run(s, p, m.max_rows, &more));
	if (more)
		wire_portal_suspended(&s->out);
	else
		wire_command_complete(&s->out, p->tag);
	return NULL;
}

static struct err *
do_close(struct gw_session *s, struct str body)
{
	struct wire_target t;

	TRY(wire_target_read(s->msg_arena, body, &t));
	if (t.kind == 'P' && t.name.len) {
		gw_portal_free(map_del(s->portals, t.name));
	} else if (t.kind == 'P') {
		gw_portal_free(s->unnamed_portal);
		s->unnamed_portal = NULL;
	} else if (t.name.len) {
		gw_statement_unref(map_del(s->statements, t.name));
	} else {
		gw_statement_unref(s->unnamed);
		s->unnamed = NULL;
	}
	wire_close_complete(&s->out);
	return NULL;
}

static void
do_sync(struct gw_session *s)
{
	s->skip_to_sync = false;
	/* Outside a block the implicit transaction ends here, and with it the
	 * portals. */
	if (s->txn == GW_TXN_IDLE)
		gw_session_drop_portals(s, NULL, false);
	gw_session_ready(s);
}

static struct err *
step(struct gw_session *s, uint8_t type, struct str body)
{
	switch (type) {
	case WIRE_PARSE:
		return do_parse(s, body);
	case WIRE_BIND:
		return do_bind(s, body);
	case WIRE_DESCRIBE:
		return do_describe(s, body);
	case WIRE_EXECUTE:
		return do_execute(s, body);
	case WIRE_CLOSE:
		return do_close(s, body);
	case WIRE_FLUSH:
		return NULL;
	case WIRE_FUNCTION_CALL:
		return ERR(s->msg_arena, ERRCODE_FEATURE_NOT_SUPPORTED,
		    "the function call protocol is not supported");
	default:
		return ERR(s->msg_arena, ERRCODE_PROTOCOL_VIOLATION,
		    "unexpected message type 0x%02X", type);
	}
}

void
gw_session_extended(struct gw_session *s, uint8_t type, struct str body)
{
	struct err *e;

	if (type == WIRE_SYNC) {
		do_sync(s);
		return;
	}
	if (s->skip_to_sync)
		return;
	e = step(s, type, body);
	if (!e)
		return;
	gw_session_error(s, e);
	gw_txn_failed(s);
	s->skip_to_sync = true;
	/* A function call has its own end; the others wait for Sync. */
	if (type == WIRE_FUNCTION_CALL)
		do_sync(s);
}
