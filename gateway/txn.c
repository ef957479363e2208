/* Transaction blocks as a client sees them.
 *
 * BEGIN ATOMIC keeps what its statements write in an overlay until COMMIT,
 * which applies all of it or nothing; an error in it leaves it as it was, and
 * open.
 *
 * In a plain block a statement is applied when it runs: the block groups
 * statements for the client's state machine, but ROLLBACK undoes nothing. That
 * is said by a WARNING once per session before the first write of a block, and
 * by another whenever a ROLLBACK would have had something to undo. */
#include "gateway/commit.h"
#include "gateway/session_int.h"

#include <stdio.h>

static struct err *
refused(struct gw_portal *p, const char *what)
{
	return ERR(p->arena, ERRCODE_FEATURE_NOT_SUPPORTED,
	    "%s is not supported yet", what);
}

static void
warn(struct gw_session *s, struct gw_portal *p, const char *sqlstate,
    const char *message)
{
	struct err *e =
	    ERR(p ? p->arena : s->msg_arena, sqlstate, "%s", message);

	e->severity = ERR_WARNING;
	gw_session_notice(s, e);
}

void
gw_txn_warn(struct gw_session *s)
{
	struct err *e;

	if (s->txn != GW_TXN_BLOCK || s->overlay || s->warned_txn)
		return;
	s->warned_txn = true;
	e = err_detail(ERR(s->msg_arena, ERRCODE_WARNING,
			   "transaction blocks are not atomic yet"),
	    "Each statement is applied as it runs; ROLLBACK does not undo "
	    "it.");
	e->severity = ERR_WARNING;
	gw_session_notice(s, e);
}

void
gw_txn_wrote(struct gw_session *s)
{
	if (s->txn != GW_TXN_IDLE)
		s->txn_writes++;
}

void
gw_txn_failed(struct gw_session *s)
{
	if (s->txn == GW_TXN_BLOCK && !s->atomic)
		s->txn = GW_TXN_FAILED;
}

static bool
ends_block(const struct sql_stmt *stmt)
{
	if (stmt->kind != SQL_STMT_TRANSACTION)
		return false;
	return stmt->u.txn.kind == SQL_TXN_COMMIT ||
	       stmt->u.txn.kind == SQL_TXN_ROLLBACK ||
	       stmt->u.txn.kind == SQL_TXN_ROLLBACK_TO;
}

struct err *
gw_txn_allow(struct gw_session *s, struct arena *a, const struct sql_stmt *stmt)
{
	if (s->txn != GW_TXN_FAILED || ends_block(stmt))
		return NULL;
	return ERR(a, ERRCODE_IN_FAILED_SQL_TRANSACTION,
	    "current transaction is aborted, commands ignored until end of "
	    "transaction block");
}

/* ---- what is kept until COMMIT ---- */

/* Which transactions keep their writes. Plain blocks do not yet: their COMMIT
 * could not be atomic over several groups. */
static bool
keeps_writes(const struct sql_transaction *t)
{
	return t->atomic;
}

static struct err *
keep_writes(
    struct gw_session *s, struct gw_portal *p, const struct sql_transaction *t)
{
	struct gw_overlay *o =
	    gw_overlay_new(s->arena, world_random_u64(s->world));
	struct gw_pins *pins = NULL;
	struct err *e = NULL;

	if (t->n_pins)
		e = gw_pins_new(gw_overlay_arena(o), &p->env, t, &pins);
	if (e) {
		e = err_copy(p->arena, e);
		gw_overlay_unref(o);
		return e;
	}
	s->overlay = o;
	s->pins = pins;
	s->atomic = t->atomic;
	return NULL;
}

/* A held cursor goes on reading what was committed; after ROLLBACK nothing
 * that was opened in the transaction stays. */
static void
end_writes(struct gw_session *s, bool committed)
{
	struct str name;
	void *value;
	size_t at = 0;

	if (!s->overlay)
		return;
	while (map_next(s->portals, &at, &name, &value)) {
		struct gw_portal *p = value;

		p->hold = p->hold && (committed || !p->kept);
		p->kept = false;
	}
	gw_overlay_unref(s->overlay);
	s->overlay = NULL;
	s->pins = NULL;
	s->atomic = false;
}

/* "plain": not in the ATOMIC forms, where the last writer wins. */
static bool
validates(const struct gw_session *s, const struct gw_derived *d)
{
	if (strcmp(d->validate_writes, "plain") == 0)
		return !s->atomic;
	return strcmp(d->validate_writes, "on") == 0;
}

struct sql_source *
gw_txn_source(struct gw_session *s, struct gw_portal *p)
{
	const struct gw_derived *d = gw_settings_derived(s->settings);
	struct gw_overlay_rules rules = {.pins = s->pins,
	    .validate = validates(s, d),
	    .bytes_max = d->transaction_bytes};

	if (!s->overlay)
		return gw_source_new(p->arena, &p->stmt);
	p->kept = true;
	/* The overlay is in the order of primary keys. */
	p->env.no_indexes = gw_overlay_bytes(s->overlay) > 0;
	return gw_overlay_source_new(
	    p->arena, &p->stmt, s->overlay, &rules, &p->env);
}

struct err *
gw_txn_may_run(
    struct gw_session *s, struct arena *a, const struct sql_stmt *stmt)
{
	bool changes = stmt->kind == SQL_STMT_USE ||
		       (stmt->kind != SQL_STMT_COPY && gw_utility_writes(stmt));

	if (!s->atomic || !changes)
		return NULL;
	return ERR(a, ERRCODE_ACTIVE_SQL_TRANSACTION,
	    "%s cannot run inside BEGIN ATOMIC", sql_tag(stmt));
}

struct gw_txn_mark
gw_txn_mark(struct gw_session *s)
{
	struct gw_txn_mark m = {.overlay = s->overlay};

	if (!s->overlay)
		return m;
	if (!s->n_savepoints)
		gw_overlay_tidy(s->overlay);
	m.mark = gw_overlay_mark(s->overlay);
	return m;
}

void
gw_txn_cut(struct gw_session *s, const struct gw_txn_mark *m)
{
	/* The statement may have been the end of it. */
	if (m->overlay && m->overlay == s->overlay)
		gw_overlay_cut(s->overlay, m->mark);
}

/* *open: nothing was done, and the transaction may go on. */
static struct err *
commit_writes(struct gw_session *s, struct gw_portal *p, bool *open)
{
	struct gw_commit c;

	*open = true;
	if (!s->overlay)
		return NULL;
	TRY(gw_commit_parts(
	    &p->stmt, p->arena, gw_overlay_now(s->overlay), &c));
	return gw_commit_run(&p->stmt, p->arena, &p->env, &c, open);
}

/* ---- savepoints ---- */

static void
drop_savepoints_from(struct gw_session *s, struct list *from)
{
	while (from != &s->savepoints) {
		struct list *next = from->next;

		list_del(from);
		list_push(&s->free_savepoints, from);
		s->n_savepoints--;
		from = next;
	}
}

static struct gw_savepoint *
find_savepoint(struct gw_session *s, const char *name)
{
	for (struct list *n = s->savepoints.prev; n != &s->savepoints;
	     n = n->prev) {
		struct gw_savepoint *sp =
		    LIST_ENTRY(n, struct gw_savepoint, link);

		if (strcmp(sp->name, name) == 0)
			return sp;
	}
	return NULL;
}

static struct err *
need_block(struct gw_session *s, struct gw_portal *p, const char *verb)
{
	if (s->txn != GW_TXN_IDLE)
		return NULL;
	return ERR(p->arena, ERRCODE_NO_ACTIVE_SQL_TRANSACTION,
	    "%s can only be used in transaction blocks", verb);
}

static struct err *
savepoint(struct gw_session *s, struct gw_portal *p, const char *name)
{
	struct gw_savepoint *sp;
	struct list *n;

	TRY(need_block(s, p, "SAVEPOINT"));
	if (s->n_savepoints >= GW_SAVEPOINTS_MAX)
		return ERR(p->arena, ERRCODE_PROGRAM_LIMIT_EXCEEDED,
		    "too many savepoints in one transaction");
	n = list_pop(&s->free_savepoints);
	sp = n ? LIST_ENTRY(n, struct gw_savepoint, link)
	       : NEW(s->arena, struct gw_savepoint);
	/* The grammar cuts identifiers to 63 bytes. */
	snprintf(sp->name, sizeof sp->name, "%s", name);
	sp->writes = s->txn_writes;
	if (s->overlay)
		sp->mark = gw_overlay_mark(s->overlay);
	list_push(&s->savepoints, &sp->link);
	s->n_savepoints++;
	return NULL;
}

static struct err *
to_savepoint(
    struct gw_session *s, struct gw_portal *p, const char *name, bool rollback)
{
	struct gw_savepoint *sp;

	TRY(need_block(
	    s, p, rollback ? "ROLLBACK TO SAVEPOINT" : "RELEASE SAVEPOINT"));
	sp = find_savepoint(s, name);
	if (!sp)
		return ERR(p->arena, ERRCODE_INVALID_SAVEPOINT_SPECIFICATION,
		    "savepoint \"%s\" does not exist", name);
	if (!rollback) {
		drop_savepoints_from(s, &sp->link);
		return NULL;
	}
	drop_savepoints_from(s, sp->link.next);
	if (s->overlay)
		gw_overlay_cut(s->overlay, sp->mark);
	else if (s->txn_writes > sp->writes)
		warn(s, p, ERRCODE_WARNING,
		    "ROLLBACK TO SAVEPOINT does not undo what was written "
		    "since the savepoint");
	s->txn = GW_TXN_BLOCK;
	return NULL;
}

/* ---- blocks ---- */

static const char *const isolation_names[] = {
    [SQL_READ_UNCOMMITTED] = "read uncommitted",
    [SQL_READ_COMMITTED] = "read committed",
    [SQL_REPEATABLE_READ] = "repeatable read",
    [SQL_SERIALIZABLE] = "serializable",
};

static struct err *
apply_modes(
    struct gw_session *s, struct gw_portal *p, const struct sql_txn_modes *m)
{
	struct arena *a = p->arena;

	if (m->isolation != SQL_ISOLATION_DEFAULT)
		TRY(gw_setting_set(s->settings, a, "transaction_isolation",
		    isolation_names[m->isolation], GW_SET_LOCAL));
	if (m->access != SQL_ACCESS_DEFAULT)
		TRY(gw_setting_set(s->settings, a, "transaction_read_only",
		    m->access == SQL_READ_ONLY ? "on" : "off", GW_SET_LOCAL));
	if (m->deferrable || m->not_deferrable)
		TRY(gw_setting_set(s->settings, a, "transaction_deferrable",
		    m->deferrable ? "on" : "off", GW_SET_LOCAL));
	return NULL;
}

/* Whoever asked for it: the block itself, or the session's default. */
static void
warn_isolation(struct gw_session *s, struct gw_portal *p)
{
	const char *level =
	    gw_setting_get(s->settings, "transaction_isolation");

	if (strcmp(level, isolation_names[SQL_REPEATABLE_READ]) == 0 ||
	    strcmp(level, isolation_names[SQL_SERIALIZABLE]) == 0)
		warn(s, p, ERRCODE_WARNING,
		    "this isolation level is not provided yet: statements run "
		    "as READ COMMITTED");
}

/* The properties that new transactions start with. */
static struct err *
apply_defaults(struct gw_session *s, struct arena *a)
{
	static const char *const names[] = {
	    "isolation", "read_only", "deferrable"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		TRY(gw_setting_set(s->settings, a,
		    arena_printf(a, "transaction_%s", names[i]),
		    gw_setting_get(s->settings,
			arena_printf(a, "default_transaction_%s", names[i])),
		    GW_SET_LOCAL));
	return NULL;
}

/* A transaction that is under way does not become another kind of one. */
static struct err *
check_atomic(
    struct gw_session *s, struct gw_portal *p, const struct sql_transaction *t)
{
	if (!t->atomic || s->txn == GW_TXN_IDLE)
		return NULL;
	return ERR(p->arena, ERRCODE_ACTIVE_SQL_TRANSACTION,
	    "BEGIN ATOMIC cannot run inside a transaction block");
}

static struct err *
begin(
    struct gw_session *s, struct gw_portal *p, const struct sql_transaction *t)
{
	const struct sql_txn_modes *m = &t->modes;

	TRY(check_atomic(s, p, t));
	if (s->txn != GW_TXN_IDLE) {
		warn(s, p, ERRCODE_ACTIVE_SQL_TRANSACTION,
		    "there is already a transaction in progress");
		TRY(apply_modes(s, p, m));
		warn_isolation(s, p);
		return NULL;
	}
	if (keeps_writes(t))
		TRY(keep_writes(s, p, t));
	gw_settings_txn_begin(s->settings);
	TRY(apply_defaults(s, p->arena));
	TRY(apply_modes(s, p, m));
	warn_isolation(s, p);
	s->txn = GW_TXN_BLOCK;
	s->txn_start_us = p->ex.statement_us;
	s->txn_writes = 0;
	return NULL;
}

/* Portals that a client opened end with the transaction; the one that runs this
 * very statement frees itself. */
static void
end_block(struct gw_session *s, const struct gw_portal *p, bool committed)
{
	end_writes(s, committed);
	gw_session_drop_portals(s, p, false);
	drop_savepoints_from(s, s->savepoints.next);
	gw_settings_txn_end(s->settings, committed);
	s->txn = GW_TXN_IDLE;
}

static struct err *
check_chain(
    struct gw_session *s, struct gw_portal *p, const struct sql_transaction *t)
{
	if (!t->chain)
		return NULL;
	TRY(need_block(s, p,
	    t->kind == SQL_TXN_COMMIT ? "COMMIT AND CHAIN"
				      : "ROLLBACK AND CHAIN"));
	return s->atomic ? refused(p, "AND CHAIN after BEGIN ATOMIC") : NULL;
}

static struct err *
finish(
    struct gw_session *s, struct gw_portal *p, const struct sql_transaction *t)
{
	bool commit = t->kind == SQL_TXN_COMMIT && s->txn != GW_TXN_FAILED;
	bool failed = s->txn == GW_TXN_FAILED, open = true;
	struct err *e = NULL;

	TRY(check_chain(s, p, t));
	if (s->txn == GW_TXN_IDLE) {
		warn(s, p, ERRCODE_NO_ACTIVE_SQL_TRANSACTION,
		    "there is no transaction in progress");
		return NULL;
	}
	if (commit)
		e = commit_writes(s, p, &open);
	if (e && open)
		return e;
	if (!commit && s->txn_writes && !s->overlay)
		warn(s, p, ERRCODE_WARNING,
		    "ROLLBACK does not undo what this transaction has "
		    "written");
	if (failed && t->kind == SQL_TXN_COMMIT)
		p->tag = arena_strdup(p->arena, "ROLLBACK");
	end_block(s, p, commit && !e);
	TRY(e);
	return t->chain ? begin(s, p, t) : NULL;
}

struct err *
gw_txn_statement(struct gw_session *s, struct gw_portal *p)
{
	const struct sql_transaction *t = &p->st->stmt->u.txn;

	switch (t->kind) {
	case SQL_TXN_BEGIN:
	case SQL_TXN_START:
		return begin(s, p, t);
	case SQL_TXN_COMMIT:
	case SQL_TXN_ROLLBACK:
		return finish(s, p, t);
	case SQL_TXN_SAVEPOINT:
		return savepoint(s, p, t->name);
	case SQL_TXN_RELEASE:
		return to_savepoint(s, p, t->name, false);
	case SQL_TXN_ROLLBACK_TO:
		return to_savepoint(s, p, t->name, true);
	case SQL_TXN_PREPARE:
		return refused(p, "PREPARE TRANSACTION");
	case SQL_TXN_COMMIT_PREPARED:
		return refused(p, "COMMIT PREPARED");
	case SQL_TXN_ROLLBACK_PREPARED:
		return refused(p, "ROLLBACK PREPARED");
	}
	UNREACHABLE();
}

/* SET TRANSACTION and SET SESSION CHARACTERISTICS. */
struct err *
gw_txn_set(struct gw_session *s, struct gw_portal *p)
{
	const struct sql_set *set = &p->st->stmt->u.set;
	const struct sql_txn_modes *m = &set->modes;
	struct arena *a = p->arena;

	if (set->kind == SQL_SET_TRANSACTION) {
		if (s->txn == GW_TXN_IDLE) {
			warn(s, p, ERRCODE_NO_ACTIVE_SQL_TRANSACTION,
			    "SET TRANSACTION can only be used in transaction "
			    "blocks");
			return NULL;
		}
		TRY(apply_modes(s, p, m));
		warn_isolation(s, p);
		return NULL;
	}
	if (m->isolation != SQL_ISOLATION_DEFAULT)
		TRY(gw_setting_set(s->settings, a,
		    "default_transaction_isolation",
		    isolation_names[m->isolation], GW_SET_SESSION));
	if (m->access != SQL_ACCESS_DEFAULT)
		TRY(gw_setting_set(s->settings, a,
		    "default_transaction_read_only",
		    m->access == SQL_READ_ONLY ? "on" : "off", GW_SET_SESSION));
	if (m->deferrable || m->not_deferrable)
		TRY(gw_setting_set(s->settings, a,
		    "default_transaction_deferrable",
		    m->deferrable ? "on" : "off", GW_SET_SESSION));
	return NULL;
}
