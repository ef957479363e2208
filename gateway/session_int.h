/* Sessions from the inside: shared by the session_*.c files. */
#ifndef GATEWAY_SESSION_INT_H
#define GATEWAY_SESSION_INT_H

#include "base/fiber.h"
#include "base/map.h"
#include "gateway/overlay_source.h"
#include "gateway/session.h"
#include "gateway/settings.h"
#include "gateway/source.h"
#include "gateway/worker.h"
#include "sql/sql.h"
#include "wire/msg.h"

#define GW_SESSION_MAGIC 0x5e5510aeu

/* What output is gathered before it goes to the stream. */
#define GW_OUT_CHUNK (32u * 1024)
/* Named statements and portals a session may keep. */
#define GW_STATEMENTS_MAX 10000u
#define GW_PORTALS_MAX    1000u
#define GW_SAVEPOINTS_MAX 1000u

/*  IDLE --BEGIN--> BLOCK --error--> FAILED
 *   ^----COMMIT, ROLLBACK----'         |
 *   ^----COMMIT (as ROLLBACK), ROLLBACK'   ROLLBACK TO: back to BLOCK */
enum gw_txn { GW_TXN_IDLE = 'I', GW_TXN_BLOCK = 'T', GW_TXN_FAILED = 'E' };

/* A statement bound against one catalog: shared by the statement and the
 * portals that run it. */
struct gw_plan {
	struct arena *arena;
	uint32_t refs;
	struct cl_catalog *catalog;
	uint64_t path_version; /* of the session's search_path */
	struct sql_prepared *prepared;
	const struct sql_column_out *columns; /* NULL: returns no rows */
	uint32_t n_columns;
};

/* A prepared statement: kept by its name, by portals, or by a simple query. */
struct gw_statement {
	struct arena *arena;
	uint32_t refs;
	const struct sql_stmt *stmt; /* NULL: an empty query */
	uint32_t *given;             /* parameter types the client named */
	uint32_t n_given;
	struct gw_plan *plan; /* NULL before the first gw_statement_plan */
	bool by_sql;          /* PREPARE, not Parse */
	bool no_params;       /* of a simple query */
	int64_t prepared_us;
};

/* Rows that a utility made all at once. */
struct gw_rows {
	struct arena *arena;
	uint32_t n_columns;
	struct val **rows;
	size_t n, cap;
};

struct gw_portal {
	struct arena *arena;
	struct gw_session *session;
	struct gw_statement *st;
	struct gw_plan *plan; /* NULL: an empty query */
	struct ex_env ex;
	uint32_t path[16];
	struct sql_env env;
	struct gw_stmt stmt;
	struct sql_source *source;
	struct val *params;
	uint32_t n_params;
	uint16_t *formats; /* result formats as bound */
	uint32_t n_formats;
	/* Where rows come from: one of these, or none. */
	struct sql_cursor *cursor;
	struct gw_rows *rows;
	struct gw_portal *inner; /* EXECUTE: its own; FETCH: the cursor's */
	bool owns_inner;
	bool inner_limited; /* FETCH: at most inner_left more rows */
	uint64_t inner_left;
	size_t row_at;
	uint64_t sent; /* rows sent so far */
	bool untold;   /* of a simple query: columns come before the rows */
	bool opened;
	bool done;
	char *tag;      /* when done */
	bool kept;      /* it reads what a transaction has not committed */
	bool hold;      /* DECLARE ... WITH HOLD: outlives its transaction */
	bool is_cursor; /* made by DECLARE */
};

struct gw_savepoint {
	struct list link;
	char name[64];
	uint64_t writes; /* of the transaction, when it was set */
	struct gw_overlay_mark mark;
};

struct gw_session {
	uint32_t magic;
	struct gw_worker *w;
	struct world *world;
	struct stream *stream;
	struct fiber *fiber;
	struct arena *arena;
	struct arena *msg_arena; /* the message being handled */
	struct arena *out_arena;
	struct buf out;
	bool broken; /* the connection is gone */

	struct gw_settings *settings;
	uint64_t path_version;    /* raised when search_path or USE changes */
	struct gw_cancel *cancel; /* NULL before authentication */
	uint32_t pid, secret;
	bool running;           /* a statement: a cancel is for it */
	struct gw_stmt *stmt;   /* that statement's; NULL between two */
	struct gw_trace *trace; /* NULL before it was first wanted */
	uint64_t statements_run;
	struct map *sequences;  /* id -> what this session was given of it */
	uint32_t last_sequence; /* lastval()'s; 0: none yet */
	struct gw_ops ops;      /* operation ids */
	uint32_t role;
	struct str user;
	bool superuser;
	uint32_t database;
	struct str database_name;
	enum gw_txn txn;
	int64_t txn_start_us;
	uint64_t txn_writes; /* statements that wrote in this block */
	/* A transaction that keeps its writes until COMMIT; else NULL. */
	struct gw_overlay *overlay;
	struct gw_pins *pins; /* BEGIN ATOMIC PARTITION; lives with it */
	bool atomic;          /* BEGIN ATOMIC: an error leaves it open */
	struct list savepoints;
	struct list free_savepoints;
	uint32_t n_savepoints;
	bool warned_txn; /* once per session */

	bool skip_to_sync;
	struct map *statements;
	struct map *portals;
	struct gw_statement *unnamed;
	struct gw_portal *unnamed_portal;
};

/* ---- session_io.c ---- */
enum gw_read { GW_READ_OK, GW_READ_GONE, GW_READ_IDLE, GW_READ_STOP };
/* The next message in s->msg_arena. An *err means a protocol violation that
 * ends the session. */
enum gw_read gw_session_read(struct gw_session *s, uint64_t deadline_us,
    uint8_t *type, struct str *body, struct err **e);
/* The packet without type that opens a connection. */
enum gw_read gw_session_read_packet(struct gw_session *s, uint64_t deadline_us,
    struct str *body, struct err **e);
/* Hands gathered output to the stream; waits for a slow client. */
void gw_session_flush(struct gw_session *s);
/* The same once GW_OUT_CHUNK has gathered: 57014 or 08006 when the client went
 * away or cancelled while it had to be waited for. What the client took is
 * progress of the statement. */
struct err *gw_session_push(struct gw_session *s, struct arena *a);
void gw_session_error(struct gw_session *s, const struct err *e);
void gw_session_notice(void *session, struct err *e); /* sql_env.notice */
/* ParameterStatus for what changed. */
void gw_session_report(struct gw_session *s);
void gw_session_ready(struct gw_session *s);

/* ---- session_auth.c ---- */
/* From the first packet to the first ReadyForQuery; false ends the session. */
bool gw_session_startup(struct gw_session *s);

/* ---- session_stmt.c ---- */
/* A statement with one reference, its text parsed into its own arena. */
struct gw_statement *gw_statement_new(struct gw_session *s);
void gw_statement_unref(struct gw_statement *st);
/* st->plan bound against the newest catalog, anew when that has changed. Does
 * nothing for an empty query. */
struct err *gw_statement_plan(
    struct gw_session *s, struct gw_statement *st, struct arena *a);
/* e said, by a catalog of that version, that something does not exist: NULL
 * when there is a newer one, so that it is worth another try; else the error to
 * give, which is e unless the catalog could not be asked. */
struct err *gw_session_missing(
    struct gw_session *s, struct arena *a, struct err *e, uint64_t version);
struct gw_plan *gw_plan_ref(struct gw_plan *p);
void gw_plan_unref(struct gw_plan *p);
void gw_session_env(struct gw_session *s, const struct cl_catalog *c,
    struct ex_env *ex, uint32_t path[16], struct sql_env *env);
/* RowDescription or NoData. plan may be NULL. */
void gw_session_describe_rows(struct gw_session *s, const struct gw_plan *plan,
    const uint16_t *formats, uint32_t n);

/* ---- session_sequence.c: what ex_env asks for; arg is the session ---- */
struct err *gw_session_sequence(
    void *arg, struct arena *a, struct ex_sequence *call);
struct err *gw_session_relation_id(
    void *arg, struct arena *a, struct str name, uint32_t *id);
struct str gw_session_relation_name(void *arg, struct arena *a, uint32_t id);
struct err *gw_session_serial(void *arg, struct arena *a, struct str table,
    struct str column, struct str *name);
/* ---- session_placement.c ---- */
struct err *gw_session_placement(
    void *arg, struct arena *a, struct ex_placement *p);

/* ---- session_sequence.c ---- */
/* Values drawn ahead, of one sequence; and all that is known of any. */
void gw_session_sequence_forget(struct gw_session *s, uint32_t id);
void gw_session_sequences_discard(struct gw_session *s);

/* ---- portal.c ---- */
struct gw_portal *gw_portal_new(struct gw_session *s, struct gw_statement *st);
void gw_portal_free(struct gw_portal *p);
/* Runs for at most max_rows rows (0: all), writing DataRows; *more when it
 * stopped at the limit. */
struct err *gw_portal_run(
    struct gw_session *s, struct gw_portal *p, uint64_t max_rows, bool *more);
/* Binds and starts it, without rows yet; and its next row, *vals NULL at the
 * end. */
struct err *gw_portal_open(struct gw_session *s, struct gw_portal *p);
struct err *gw_portal_next(
    struct gw_portal *p, struct arena *row, struct val **vals);
/* Closes every portal but `keep` (may be NULL); held cursors only if `all`. */
void gw_session_drop_portals(
    struct gw_session *s, const struct gw_portal *keep, bool all);

/* ---- session_query.c, session_ext.c ---- */
void gw_session_query(struct gw_session *s, struct str body);
void gw_session_extended(struct gw_session *s, uint8_t type, struct str body);
/* A statement begins: deadline and cancel; and ends. */
void gw_session_begin(struct gw_session *s, struct gw_portal *p);
void gw_session_end(struct gw_session *s);

/* ---- txn.c ---- */
struct err *gw_txn_statement(struct gw_session *s, struct gw_portal *p);
/* SET TRANSACTION, SET SESSION CHARACTERISTICS. */
struct err *gw_txn_set(struct gw_session *s, struct gw_portal *p);
/* 25P02 unless this statement may run in a failed block. */
struct err *gw_txn_allow(
    struct gw_session *s, struct arena *a, const struct sql_stmt *stmt);
void gw_txn_failed(struct gw_session *s);
/* Refuses what may not run in this transaction, before it does anything. */
struct err *gw_txn_may_run(
    struct gw_session *s, struct arena *a, const struct sql_stmt *stmt);
/* Where a statement reads and writes. */
struct sql_source *gw_txn_source(struct gw_session *s, struct gw_portal *p);
/* The write set before a statement, and back to it when the statement failed.
 */
struct gw_txn_mark {
	struct gw_overlay *overlay; /* NULL: none is kept */
	struct gw_overlay_mark mark;
};
struct gw_txn_mark gw_txn_mark(struct gw_session *s);
void gw_txn_cut(struct gw_session *s, const struct gw_txn_mark *m);
/* Before the first write of a block: says once per session what blocks do not
 * do yet. */
void gw_txn_warn(struct gw_session *s);
/* A statement that wrote is done. */
void gw_txn_wrote(struct gw_session *s);

/* ---- util*.c: each runs one utility and sets p->tag or p->rows ---- */
struct err *gw_utility(struct gw_session *s, struct gw_portal *p);
struct err *gw_util_table(struct gw_session *s, struct gw_portal *p);
struct err *gw_util_object(struct gw_session *s, struct gw_portal *p);
struct err *gw_util_role(struct gw_session *s, struct gw_portal *p);
struct err *gw_util_sequence(struct gw_session *s, struct gw_portal *p);
struct err *gw_util_index(struct gw_session *s, struct gw_portal *p);
struct err *gw_util_rename_index(struct gw_session *s, struct gw_portal *p);
struct err *gw_util_rename(struct gw_session *s, struct gw_portal *p);
struct err *gw_util_set(struct gw_session *s, struct gw_portal *p);
struct err *gw_util_show(struct gw_session *s, struct gw_portal *p);
struct err *gw_util_list(struct gw_session *s, struct gw_portal *p);
struct err *gw_util_repair(struct gw_session *s, struct gw_portal *p);
const struct sql_column_out *gw_repair_columns(uint32_t *n);
const struct sql_column_out *gw_list_columns(
    const struct sql_stmt *stmt, uint32_t *n);
struct err *gw_util_prepared(struct gw_session *s, struct gw_portal *p);
struct err *gw_util_cursor(struct gw_session *s, struct gw_portal *p);
/* The statement whose rows EXECUTE or FETCH gives, or NULL. */
struct gw_statement *gw_util_behind(
    struct gw_session *s, const struct sql_stmt *stmt);
void gw_session_deallocate_all(struct gw_session *s);
struct err *gw_util_copy(struct gw_session *s, struct gw_portal *p);

/* Refused in a read-only transaction. */
bool gw_utility_writes(const struct sql_stmt *stmt);
/* Columns of utilities that return rows; NULL for the others. */
const struct sql_column_out *gw_utility_columns(struct gw_session *s,
    const struct sql_stmt *stmt, struct arena *a, uint32_t *n);
struct gw_rows *gw_rows_new(struct arena *a, uint32_t n_columns);
struct val *gw_rows_add(struct gw_rows *r);

#endif
