/* Utilities: statements that sql/ only parses. Each kind has one handler, which
 * leaves a tag, rows, or an inner portal behind. */
#include "gateway/session_int.h"

static struct err *
unsupported(struct gw_portal *p)
{
	return err_copy(p->arena, p->st->stmt->u.unsupported.error);
}

static struct err *
not_yet(struct gw_session *s, struct gw_portal *p)
{
	(void)s;
	return ERR(p->arena, ERRCODE_FEATURE_NOT_SUPPORTED,
	    "%s is not supported yet", sql_tag(p->st->stmt));
}

/* Nothing to vacuum, no statistics to gather, no buffers to write: the engine
 * does it by itself. The tables named must exist, though. */
static struct err *
no_op(struct gw_session *s, struct gw_portal *p)
{
	(void)s;
	(void)p;
	return NULL;
}

static struct err *
use(struct gw_session *s, struct gw_portal *p)
{
	struct str name = str_c(p->st->stmt->u.use);
	const struct cl_object *o =
	    cl_find_name(p->plan->catalog, CL_DATABASE, 0, name);

	if (!o)
		return ERR(p->arena, ERRCODE_INVALID_CATALOG_NAME,
		    "database \"%.*s\" does not exist", STR_FMT(name));
	s->database = o->id;
	s->database_name = arena_str(s->arena, name);
	s->path_version++;
	return NULL;
}

static struct err *
discard(struct gw_session *s, struct gw_portal *p)
{
	enum sql_discard what = p->st->stmt->u.discard;

	if (what == SQL_DISCARD_SEQUENCES)
		gw_session_sequences_discard(s);
	if (what != SQL_DISCARD_ALL)
		return NULL;
	if (s->txn != GW_TXN_IDLE)
		return ERR(p->arena, ERRCODE_ACTIVE_SQL_TRANSACTION,
		    "DISCARD ALL cannot run inside a transaction block");
	gw_session_drop_portals(s, p, true);
	gw_session_deallocate_all(s);
	gw_session_sequences_discard(s);
	gw_settings_reset_all(s->settings);
	s->path_version++;
	return NULL;
}

typedef struct err *handler(struct gw_session *s, struct gw_portal *p);

static handler *const handlers[] = {
    [SQL_STMT_CREATE_TABLE] = gw_util_table,
    [SQL_STMT_CREATE_INDEX] = gw_util_index,
    [SQL_STMT_CREATE_DATABASE] = gw_util_object,
    [SQL_STMT_CREATE_SCHEMA] = gw_util_object,
    [SQL_STMT_CREATE_ROLE] = gw_util_role,
    [SQL_STMT_CREATE_SEQUENCE] = gw_util_sequence,
    [SQL_STMT_ALTER_SEQUENCE] = gw_util_sequence,
    [SQL_STMT_ALTER_ROLE] = gw_util_role,
    [SQL_STMT_ALTER_ROLE_SET] = not_yet,
    [SQL_STMT_ALTER_DATABASE_SET] = not_yet,
    [SQL_STMT_ALTER_TABLE] = not_yet,
    [SQL_STMT_RENAME] = gw_util_rename,
    [SQL_STMT_DROP] = gw_util_object,
    [SQL_STMT_TRUNCATE] = not_yet,
    [SQL_STMT_COMMENT] = not_yet,
    [SQL_STMT_SET] = gw_util_set,
    [SQL_STMT_SHOW] = gw_util_show,
    [SQL_STMT_TRANSACTION] = gw_txn_statement,
    [SQL_STMT_COPY] = gw_util_copy,
    [SQL_STMT_PREPARE] = gw_util_prepared,
    [SQL_STMT_EXECUTE] = gw_util_prepared,
    [SQL_STMT_DEALLOCATE] = gw_util_prepared,
    [SQL_STMT_DECLARE] = gw_util_cursor,
    [SQL_STMT_FETCH] = gw_util_cursor,
    [SQL_STMT_CLOSE] = gw_util_cursor,
    [SQL_STMT_DISCARD] = discard,
    [SQL_STMT_LOCK] = not_yet,
    [SQL_STMT_VACUUM] = no_op,
    [SQL_STMT_LISTEN] = not_yet,
    [SQL_STMT_UNLISTEN] = no_op,
    [SQL_STMT_NOTIFY] = not_yet,
    [SQL_STMT_CHECKPOINT] = no_op,
    [SQL_STMT_USE] = use,
    [SQL_STMT_SHOW_LIST] = gw_util_list,
    [SQL_STMT_DESCRIBE] = gw_util_list,
    [SQL_STMT_REPAIR_CLUSTER] = gw_util_repair,
    [SQL_STMT_RECLAIM] = not_yet,
    [SQL_STMT_ALTER_CLUSTER] = not_yet,
    [SQL_STMT_ALTER_NODE] = not_yet,
};

struct err *
gw_utility(struct gw_session *s, struct gw_portal *p)
{
	enum sql_stmt_kind kind = p->st->stmt->kind;

	if (kind == SQL_STMT_UNSUPPORTED)
		return unsupported(p);
	ASSERT(kind < sizeof handlers / sizeof *handlers && handlers[kind]);
	return handlers[kind](s, p);
}

bool
gw_utility_writes(const struct sql_stmt *stmt)
{
	switch (stmt->kind) {
	case SQL_STMT_CREATE_TABLE:
	case SQL_STMT_CREATE_INDEX:
	case SQL_STMT_CREATE_DATABASE:
	case SQL_STMT_CREATE_SCHEMA:
	case SQL_STMT_CREATE_ROLE:
	case SQL_STMT_CREATE_SEQUENCE:
	case SQL_STMT_ALTER_SEQUENCE:
	case SQL_STMT_ALTER_ROLE:
	case SQL_STMT_ALTER_TABLE:
	case SQL_STMT_RENAME:
	case SQL_STMT_DROP:
	case SQL_STMT_TRUNCATE:
	case SQL_STMT_COMMENT:
	case SQL_STMT_ALTER_CLUSTER:
	case SQL_STMT_ALTER_NODE:
		return true;
	case SQL_STMT_COPY:
		return stmt->u.copy.from;
	default:
		return false;
	}
}

/* ---- columns ---- */

static const struct sql_column_out show_all[] = {
    {"name", EX_TEXT, -1, 0, 0},
    {"setting", EX_TEXT, -1, 0, 0},
    {"description", EX_TEXT, -1, 0, 0},
};

static const struct sql_column_out *
show_columns(
    struct gw_session *s, const char *name, struct arena *a, uint32_t *n)
{
	struct sql_column_out *c;
	const char *spelt;

	if (strcmp(name, "all") == 0) {
		*n = 3;
		return show_all;
	}
	spelt = gw_setting_name(s->settings, name);
	c = NEW(a, struct sql_column_out);
	*c = (struct sql_column_out){
	    arena_strdup(a, spelt ? spelt : name), EX_TEXT, -1, 0, 0};
	*n = 1;
	return c;
}

/* The columns of the statement behind EXECUTE or FETCH; none when it is
 * missing, which running it will say. */
static const struct sql_column_out *
columns_behind(struct gw_session *s, const struct sql_stmt *stmt,
    struct arena *a, uint32_t *n)
{
	struct gw_statement *st = gw_util_behind(s, stmt);
	struct sql_column_out *c;

	if (!st || gw_statement_plan(s, st, a) || !st->plan ||
	    !st->plan->columns)
		return NULL;
	*n = st->plan->n_columns;
	c = NEW_N(a, struct sql_column_out, *n + 1);
	for (uint32_t i = 0; i < *n; i++) {
		c[i] = st->plan->columns[i];
		c[i].name = arena_strdup(a, c[i].name);
	}
	return c;
}

const struct sql_column_out *
gw_utility_columns(struct gw_session *s, const struct sql_stmt *stmt,
    struct arena *a, uint32_t *n)
{
	*n = 0;
	switch (stmt->kind) {
	case SQL_STMT_SHOW:
		return show_columns(s, stmt->u.show.name, a, n);
	case SQL_STMT_SHOW_LIST:
	case SQL_STMT_DESCRIBE:
		return gw_list_columns(stmt, n);
	case SQL_STMT_REPAIR_CLUSTER:
		return gw_repair_columns(n);
	case SQL_STMT_EXECUTE:
		return columns_behind(s, stmt, a, n);
	case SQL_STMT_FETCH:
		return stmt->u.fetch.move ? NULL
					  : columns_behind(s, stmt, a, n);
	default:
		return NULL;
	}
}
