/* Portals: a bound statement and how far its result has been sent. */
#include "gateway/access.h"
#include "gateway/ddl.h"
#include "gateway/session_int.h"

struct gw_portal *
gw_portal_new(struct gw_session *s, struct gw_statement *st)
{
	struct arena *a = arena_new(s->arena, "portal");
	struct gw_portal *p = NEW(a, struct gw_portal);

	p->arena = a;
	p->session = s;
	p->st = st;
	st->refs++;
	p->plan = gw_plan_ref(st->plan);
	return p;
}

void
gw_portal_free(struct gw_portal *p)
{
	if (!p)
		return;
	if (p->cursor)
		sql_close(p->cursor);
	if (p->owns_inner)
		gw_portal_free(p->inner);
	gw_plan_unref(p->plan);
	gw_statement_unref(p->st);
	arena_free(p->arena);
}

void
gw_session_drop_portals(
    struct gw_session *s, const struct gw_portal *keep, bool all)
{
	struct str name;
	void *value;
	size_t at = 0;

	while (map_next(s->portals, &at, &name, &value)) {
		struct gw_portal *p = value;

		if (p == keep || (p->hold && !all))
			continue;
		map_del(s->portals, name);
		gw_portal_free(p);
		at = 0;
	}
	if (s->unnamed_portal != keep) {
		gw_portal_free(s->unnamed_portal);
		s->unnamed_portal = NULL;
	}
}

struct gw_rows *
gw_rows_new(struct arena *a, uint32_t n_columns)
{
	struct gw_rows *r = NEW(a, struct gw_rows);

	r->arena = a;
	r->n_columns = n_columns;
	return r;
}

struct val *
gw_rows_add(struct gw_rows *r)
{
	if (r->n == r->cap) {
		size_t cap = r->cap ? r->cap * 2 : 16;

		r->rows = arena_grow(r->arena, r->rows,
		    r->cap * sizeof *r->rows, cap * sizeof *r->rows);
		r->cap = cap;
	}
	r->rows[r->n] = NEW_N(r->arena, struct val, r->n_columns);
	return r->rows[r->n++];
}

/* ---- starting ---- */

/* Takes over the statement's newest plan. */
static struct err *
renew_plan(struct gw_session *s, struct gw_portal *p)
{
	struct gw_plan *old = p->plan;

	TRY(gw_statement_plan(s, p->st, p->arena));
	p->plan = gw_plan_ref(p->st->plan);
	p->stmt.catalog = p->plan->catalog;
	gw_plan_unref(old);
	return NULL;
}

static struct err *
may_register(
    struct gw_session *s, struct gw_portal *p, const struct cl_table *t)
{
	struct gw_pinned *pinned;

	TRY(gw_may_use(&p->stmt, p->arena, t));
	if (!s->pins)
		return NULL;
	gw_session_env(s, p->plan->catalog, &p->ex, p->path, &p->env);
	return gw_pins_table(s->pins, p->arena, &p->env, t, &pinned);
}

/* Columns that a write to an open table brings along are in the catalog before
 * the write is; the statement is then bound anew. */
static struct err *
register_columns(struct gw_session *s, struct gw_portal *p)
{
	for (int tries = 0; p->plan->prepared->n_new; tries++) {
		const struct sql_prepared *pr = p->plan->prepared;

		if (tries == 8)
			return ERR(p->arena, ERRCODE_SERIALIZATION_FAILURE,
			    "columns of the table are being changed by "
			    "others");
		for (uint32_t i = 0; i < pr->n_new; i++)
			TRY(may_register(s, p, pr->new_columns[i].table));
		TRY(gw_ddl_register(
		    &p->stmt, p->arena, pr->new_columns, pr->n_new));
		TRY(renew_plan(s, p));
	}
	return NULL;
}

static struct err *
check_read_only(struct gw_session *s, struct gw_portal *p)
{
	const char *verb = sql_tag(p->st->stmt);

	const struct gw_derived *d = gw_settings_derived(s->settings);
	bool read_only =
	    s->txn == GW_TXN_IDLE ? d->default_read_only : d->read_only;

	if (!read_only ||
	    !(p->plan->prepared->writes || gw_utility_writes(p->st->stmt)))
		return NULL;
	return ERR(p->arena, ERRCODE_READ_ONLY_SQL_TRANSACTION,
	    "cannot execute %s in a read-only transaction",
	    strcmp(verb, "INSERT 0") == 0 ? "INSERT" : verb);
}

/* Utilities look names up themselves, before they change anything. */
static struct err *
run_utility(struct gw_session *s, struct gw_portal *p)
{
	struct err *e = gw_utility(s, p);

	if (!e)
		return NULL;
	TRY(gw_session_missing(
	    s, p->arena, e, cl_catalog_version(p->plan->catalog)));
	if (p->owns_inner)
		gw_portal_free(p->inner);
	p->inner = NULL;
	p->owns_inner = false;
	TRY(renew_plan(s, p));
	gw_session_env(s, p->plan->catalog, &p->ex, p->path, &p->env);
	return gw_utility(s, p);
}

struct err *
gw_portal_open(struct gw_session *s, struct gw_portal *p)
{
	const struct sql_prepared *pr;

	TRY(renew_plan(s, p));
	TRY(check_read_only(s, p));
	TRY(gw_txn_may_run(s, p->arena, p->st->stmt));
	gw_session_begin(s, p);
	TRY(register_columns(s, p));
	pr = p->plan->prepared;
	gw_session_env(s, p->plan->catalog, &p->ex, p->path, &p->env);
	p->opened = true;
	if (pr->utility)
		return run_utility(s, p);
	if (pr->writes)
		gw_txn_warn(s);
	p->source = gw_txn_source(s, p);
	return sql_open(p->arena, &p->env, pr, p->params, p->n_params,
	    p->source, &p->cursor);
}

/* ---- sending ---- */

static struct err *
put_value(struct gw_session *s, struct gw_portal *p, struct arena *row,
    struct val v, uint16_t format)
{
	size_t at;

	if (v.null) {
		wire_field_null(&s->out);
		return NULL;
	}
	if (format && !(ex_type(v.type) && ex_type(v.type)->send))
		return ERR(row, ERRCODE_UNDEFINED_FUNCTION,
		    "no binary output function available for type %s",
		    ex_type_format(row, v.type, -1));
	at = wire_field_begin(&s->out);
	if (format)
		ex_send(&s->out, v);
	else
		ex_out(&s->out, &p->ex, v);
	wire_field_end(&s->out, at);
	return NULL;
}

static struct err *
send_row(struct gw_session *s, struct gw_portal *p, struct arena *row,
    const struct val *vals)
{
	uint32_t n = p->plan->n_columns;
	size_t start = s->out.len, at = wire_begin(&s->out, 'D');

	buf_be16(&s->out, (uint16_t)n);
	for (uint32_t i = 0; i < n; i++) {
		struct err *e = put_value(s, p, row, vals[i],
		    wire_format_of(p->formats, p->n_formats, i));

		if (e) {
			s->out.len = start;
			return e;
		}
	}
	wire_end(&s->out, at);
	p->sent++;
	return gw_session_push(s, row);
}

static struct err *
inner_next(struct gw_portal *p, struct arena *row, struct val **vals)
{
	if (p->inner_limited && !p->inner_left)
		return NULL;
	TRY(gw_portal_next(p->inner, row, vals));
	if (*vals && p->inner_limited)
		p->inner_left--;
	return NULL;
}

struct err *
gw_portal_next(struct gw_portal *p, struct arena *row, struct val **vals)
{
	*vals = NULL;
	if (p->done)
		return NULL;
	if (p->inner)
		return inner_next(p, row, vals);
	if (p->cursor)
		return sql_next(p->cursor, row, vals);
	if (p->rows && p->row_at < p->rows->n)
		*vals = p->rows->rows[p->row_at++];
	return NULL;
}

static void
finish(struct gw_session *s, struct gw_portal *p)
{
	const struct sql_prepared *pr = p->plan->prepared;

	p->done = true;
	if (p->cursor) {
		uint64_t n = sql_rows(p->cursor);

		if (pr->writes && n)
			gw_txn_wrote(s);
		if (p->st->stmt->kind == SQL_STMT_EXPLAIN)
			p->tag = arena_strdup(p->arena, "EXPLAIN");
		else
			p->tag = arena_printf(p->arena, "%s %llu", pr->tag,
			    (unsigned long long)n);
		sql_close(p->cursor);
		p->cursor = NULL;
	} else if (p->owns_inner) {
		finish(s, p->inner);
		p->tag = arena_strdup(p->arena, p->inner->tag);
	} else if (p->inner) {
		p->tag = arena_printf(p->arena, "%s %llu", sql_tag(p->st->stmt),
		    (unsigned long long)p->sent);
	} else if (!p->tag) {
		p->tag = arena_strdup(p->arena, sql_tag(p->st->stmt));
	}
}

/* As late as can be: until then the statement may be planned anew. */
static void
tell_columns(struct gw_session *s, struct gw_portal *p)
{
	if (p->untold && p->plan->columns)
		gw_session_describe_rows(s, p->plan, NULL, 0);
	p->untold = false;
}

static struct err *
run_rows(
    struct gw_session *s, struct gw_portal *p, uint64_t max_rows, bool *more)
{
	struct arena *row = arena_new(p->arena, "row");
	struct err *e = NULL;

	for (uint64_t n = 0;; n++) {
		struct val *vals;

		if (max_rows && n == max_rows) {
			*more = true;
			break;
		}
		arena_reset(row);
		TRY_TO(out, e, gw_portal_next(p, row, &vals));
		tell_columns(s, p);
		if (!vals) {
			finish(s, p);
			break;
		}
		TRY_TO(out, e, send_row(s, p, row, vals));
	}
out:
	if (e)
		e = err_copy(p->arena, e);
	arena_free(row);
	return e;
}

/* Most statements that fail because the catalog moved have applied nothing:
 * they are bound again and run from the start, which the client cannot tell
 * from having sent them a little later. */
static bool
may_retry(const struct gw_portal *p, int tries)
{
	return p->plan && p->stmt.stale && !p->stmt.applied && !p->sent &&
	       tries < 8 && !p->plan->prepared->utility;
}

static struct err *
run(struct gw_session *s, struct gw_portal *p, uint64_t max_rows, bool *more)
{
	struct gw_txn_mark before = gw_txn_mark(s);

	for (int tries = 0;; tries++) {
		struct err *e = NULL;

		if (!p->opened)
			e = gw_portal_open(s, p);
		else
			gw_session_begin(s, p);
		/* EXECUTE: what it runs has a deadline of its own. */
		if (!e && p->owns_inner)
			gw_session_begin(s, p->inner);
		if (!e)
			e = run_rows(s, p, max_rows, more);
		if (e)
			gw_txn_cut(s, &before);
		if (!e || !may_retry(p, tries))
			return e;
		if (p->cursor)
			sql_close(p->cursor);
		p->cursor = NULL;
		p->opened = false;
	}
}

struct err *
gw_portal_run(
    struct gw_session *s, struct gw_portal *p, uint64_t max_rows, bool *more)
{
	struct err *e;

	*more = false;
	if (!p->st->stmt || p->done)
		return NULL;
	e = run(s, p, max_rows, more);
	gw_session_end(s);
	return e;
}
