/* PREPARE, EXECUTE, DEALLOCATE, and the cursors of SQL: DECLARE, FETCH, MOVE,
 * CLOSE. Prepared statements and portals share their names with the protocol's,
 * as in PostgreSQL. */
#include "gateway/session_int.h"

void
gw_session_deallocate_all(struct gw_session *s)
{
	struct str name;
	void *value;
	size_t at = 0;

	while (map_next(s->statements, &at, &name, &value)) {
		map_del(s->statements, name);
		gw_statement_unref(value);
		at = 0;
	}
}

/* Type OIDs of PREPARE name (types). */
static struct err *
given_types(struct gw_portal *p, const struct sql_prepare_stmt *ps,
    struct gw_statement *st)
{
	st->n_given = ps->n_types;
	st->given = NEW_N(st->arena, uint32_t, ps->n_types + 1);
	for (uint32_t i = 0; i < ps->n_types; i++) {
		const struct sql_typename *tn = &ps->types[i];
		const struct ex_type *t =
		    tn->dims ? NULL : ex_type_by_name(str_c(tn->name.name));

		if (!t)
			return err_at(
			    ERR(p->arena, ERRCODE_UNDEFINED_OBJECT,
				"type \"%s\" does not exist", tn->name.name),
			    tn->name.position);
		st->given[i] = t->oid;
	}
	return NULL;
}

/* The tree belongs to the query it stood in: the statement is parsed again from
 * its own text into its own arena. */
static struct err *
reparse(struct gw_portal *p, struct gw_statement *st)
{
	struct sql_stmt *stmts;
	size_t n;

	TRY(sql_parse(
	    st->arena, arena_str(st->arena, p->st->stmt->text), &stmts, &n));
	ASSERT(n == 1 && stmts[0].kind == p->st->stmt->kind);
	st->stmt = &stmts[0];
	if (stmts[0].kind == SQL_STMT_PREPARE) {
		/* Parameters were counted over the whole of it. */
		stmts[0].u.prepare.stmt->n_params = stmts[0].n_params;
		st->stmt = stmts[0].u.prepare.stmt;
	}
	return NULL;
}

static struct err *
prepare(struct gw_session *s, struct gw_portal *p)
{
	const struct sql_prepare_stmt *ps = &p->st->stmt->u.prepare;
	struct str name = str_c(ps->name);
	struct gw_statement *st;
	struct err *e;

	if (map_get(s->statements, name))
		return ERR(p->arena, ERRCODE_DUPLICATE_PREPARED_STATEMENT,
		    "prepared statement \"%s\" already exists", ps->name);
	if (map_count(s->statements) >= GW_STATEMENTS_MAX)
		return ERR(p->arena, ERRCODE_OUT_OF_MEMORY,
		    "too many prepared statements in one session");
	st = gw_statement_new(s);
	st->by_sql = true;
	e = given_types(p, ps, st);
	if (!e)
		e = reparse(p, st);
	if (!e)
		e = gw_statement_plan(s, st, p->arena);
	if (e) {
		e = err_copy(p->arena, e);
		gw_statement_unref(st);
		return e;
	}
	map_put(s->statements, name, st);
	return NULL;
}

static struct err *
execute_params(
    struct gw_portal *p, const struct sql_execute *ex, struct gw_portal *in)
{
	const struct sql_prepared *pr = in->plan->prepared;

	if (ex->args.n != pr->n_params)
		return err_detail(
		    ERR(p->arena, ERRCODE_SYNTAX_ERROR,
			"wrong number of parameters for prepared statement "
			"\"%s\"",
			ex->name),
		    "Expected %u parameters but got %u.", pr->n_params,
		    ex->args.n);
	in->n_params = pr->n_params;
	in->params = NEW_N(in->arena, struct val, pr->n_params + 1);
	for (uint32_t i = 0; i < pr->n_params; i++)
		TRY(sql_eval_alone(in->arena, &p->env, ex->args.items[i],
		    pr->params[i], -1, &in->params[i]));
	return NULL;
}

static struct err *
execute(struct gw_session *s, struct gw_portal *p)
{
	const struct sql_execute *ex = &p->st->stmt->u.execute;
	struct gw_statement *st = map_get(s->statements, str_c(ex->name));

	if (!st)
		return ERR(p->arena, ERRCODE_INVALID_SQL_STATEMENT_NAME,
		    "prepared statement \"%s\" does not exist", ex->name);
	if (!st->stmt)
		return NULL;
	TRY(gw_txn_allow(s, p->arena, st->stmt));
	TRY(gw_statement_plan(s, st, p->arena));
	p->inner = gw_portal_new(s, st);
	p->owns_inner = true;
	TRY(execute_params(p, ex, p->inner));
	return gw_portal_open(s, p->inner);
}

static struct err *
deallocate(struct gw_session *s, struct gw_portal *p)
{
	const char *name = p->st->stmt->u.deallocate.name;
	struct gw_statement *st;

	if (!name) {
		gw_session_deallocate_all(s);
		p->tag = arena_strdup(p->arena, "DEALLOCATE ALL");
		return NULL;
	}
	st = map_del(s->statements, str_c(name));
	if (!st)
		return ERR(p->arena, ERRCODE_INVALID_SQL_STATEMENT_NAME,
		    "prepared statement \"%s\" does not exist", name);
	gw_statement_unref(st);
	return NULL;
}

struct err *
gw_util_prepared(struct gw_session *s, struct gw_portal *p)
{
	switch (p->st->stmt->kind) {
	case SQL_STMT_PREPARE:
		return prepare(s, p);
	case SQL_STMT_EXECUTE:
		return execute(s, p);
	default:
		return deallocate(s, p);
	}
}

/* ---- cursors ---- */

/* DECLARE's query is a tree of its own kind: it becomes a SELECT. */
static const struct sql_stmt *
cursor_query(struct gw_statement *st)
{
	const struct sql_declare *d = &st->stmt->u.declare;
	struct sql_stmt *q = NEW(st->arena, struct sql_stmt);

	*q = *st->stmt;
	q->kind = SQL_STMT_SELECT;
	q->u.select = d->query;
	return q;
}

static struct err *
check_declare(
    struct gw_session *s, struct gw_portal *p, const struct sql_declare *d)
{
	if (s->txn == GW_TXN_IDLE && !d->hold)
		return ERR(p->arena, ERRCODE_NO_ACTIVE_SQL_TRANSACTION,
		    "DECLARE CURSOR can only be used in transaction blocks");
	if (d->scroll)
		return ERR(p->arena, ERRCODE_FEATURE_NOT_SUPPORTED,
		    "SCROLL cursors are not supported yet");
	if (d->binary)
		return ERR(p->arena, ERRCODE_FEATURE_NOT_SUPPORTED,
		    "BINARY cursors are not supported yet");
	if (map_get(s->portals, str_c(d->name)))
		return ERR(p->arena, ERRCODE_DUPLICATE_CURSOR,
		    "cursor \"%s\" already exists", d->name);
	if (map_count(s->portals) >= GW_PORTALS_MAX)
		return ERR(p->arena, ERRCODE_OUT_OF_MEMORY,
		    "too many portals in one session");
	return NULL;
}

static struct err *
declare(struct gw_session *s, struct gw_portal *p)
{
	const struct sql_declare *d = &p->st->stmt->u.declare;
	struct gw_statement *st;
	struct gw_portal *c = NULL;
	struct err *e;

	TRY(check_declare(s, p, d));
	st = gw_statement_new(s);
	e = reparse(p, st);
	if (!e) {
		st->stmt = cursor_query(st);
		e = gw_statement_plan(s, st, p->arena);
	}
	if (!e) {
		c = gw_portal_new(s, st);
		c->hold = d->hold;
		c->is_cursor = true;
		e = gw_portal_open(s, c);
	}
	if (e) {
		e = err_copy(p->arena, e);
		gw_portal_free(c);
	} else {
		map_put(s->portals, str_c(d->name), c);
	}
	gw_statement_unref(st);
	return e;
}

static struct err *
no_cursor(struct gw_portal *p, const char *name)
{
	return ERR(p->arena, ERRCODE_INVALID_CURSOR_NAME,
	    "cursor \"%s\" does not exist", name);
}

/* MOVE: the rows are fetched and dropped. */
static struct err *
move(struct gw_portal *p)
{
	struct arena *row = arena_new(p->arena, "row");
	uint64_t n = 0;

	for (;; n++) {
		struct val *vals = NULL;
		struct err *e = NULL;

		arena_reset(row);
		if (!p->inner_limited || n < p->inner_left)
			e = gw_portal_next(p->inner, row, &vals);
		if (e)
			return err_copy(p->arena, e);
		if (!vals)
			break;
	}
	p->inner = NULL;
	p->tag = arena_printf(p->arena, "MOVE %llu", (unsigned long long)n);
	return NULL;
}

static struct err *
fetch(struct gw_session *s, struct gw_portal *p)
{
	const struct sql_fetch *f = &p->st->stmt->u.fetch;
	struct gw_portal *c = map_get(s->portals, str_c(f->cursor));

	if (!c)
		return no_cursor(p, f->cursor);
	if ((f->dir != SQL_FETCH_FORWARD && f->dir != SQL_FETCH_RELATIVE) ||
	    f->count < 0 || (f->dir == SQL_FETCH_RELATIVE && f->count != 1))
		return err_hint(
		    ERR(p->arena, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
			"cursor can only scan forward"),
		    "Scrollable cursors are not supported yet.");
	p->inner = c;
	p->inner_limited = f->count != SQL_FETCH_ALL;
	p->inner_left = (uint64_t)f->count;
	gw_session_begin(s, c);
	if (f->move)
		return move(p);
	return NULL;
}

static struct err *
close_cursor(struct gw_session *s, struct gw_portal *p)
{
	const char *name = p->st->stmt->u.close.cursor;
	struct gw_portal *c;

	if (!name) {
		gw_session_drop_portals(s, p, true);
		p->tag = arena_strdup(p->arena, "CLOSE CURSOR ALL");
		return NULL;
	}
	c = map_get(s->portals, str_c(name));
	if (!c || c == p)
		return no_cursor(p, name);
	map_del(s->portals, str_c(name));
	gw_portal_free(c);
	return NULL;
}

struct err *
gw_util_cursor(struct gw_session *s, struct gw_portal *p)
{
	switch (p->st->stmt->kind) {
	case SQL_STMT_DECLARE:
		return declare(s, p);
	case SQL_STMT_FETCH:
		return fetch(s, p);
	default:
		return close_cursor(s, p);
	}
}

struct gw_statement *
gw_util_behind(struct gw_session *s, const struct sql_stmt *stmt)
{
	struct gw_portal *c;

	if (stmt->kind == SQL_STMT_EXECUTE)
		return map_get(s->statements, str_c(stmt->u.execute.name));
	c = map_get(s->portals, str_c(stmt->u.fetch.cursor));
	return c ? c->st : NULL;
}
