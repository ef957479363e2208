/* Statement trees: what sql_parse makes and everybody else reads.
 *
 * Read in this order: ast_expr.h (names, types, expressions), ast_query.h
 * (SELECT, INSERT, UPDATE, DELETE), ast_ddl.h (CREATE, ALTER, DROP ...), then
 * the rest here.  What the grammar knows and these trees do not model arrives
 * as SQL_STMT_UNSUPPORTED with the feature's name: never silently dropped. */
#ifndef SQL_AST_H
#define SQL_AST_H

#include "sql/ast_ddl.h"

enum sql_stmt_kind {
	/* run by sql_open */
	SQL_STMT_SELECT, /* VALUES and TABLE t too */
	SQL_STMT_INSERT,
	SQL_STMT_UPDATE,
	SQL_STMT_DELETE,
	SQL_STMT_EXPLAIN,
	/* utilities */
	SQL_STMT_CREATE_TABLE,
	SQL_STMT_CREATE_INDEX,
	SQL_STMT_CREATE_DATABASE,
	SQL_STMT_CREATE_SCHEMA,
	SQL_STMT_CREATE_ROLE,
	SQL_STMT_CREATE_SEQUENCE,
	SQL_STMT_ALTER_SEQUENCE,
	SQL_STMT_ALTER_ROLE,
	SQL_STMT_ALTER_ROLE_SET, /* ALTER ROLE r SET x = y */
	SQL_STMT_ALTER_DATABASE_SET,
	SQL_STMT_ALTER_TABLE,
	SQL_STMT_RENAME,
	SQL_STMT_DROP,
	SQL_STMT_TRUNCATE,
	SQL_STMT_COMMENT,
	SQL_STMT_SET, /* RESET too */
	SQL_STMT_SHOW,
	SQL_STMT_TRANSACTION,
	SQL_STMT_COPY,
	SQL_STMT_PREPARE,
	SQL_STMT_EXECUTE,
	SQL_STMT_DEALLOCATE,
	SQL_STMT_DECLARE,
	SQL_STMT_FETCH, /* MOVE too */
	SQL_STMT_CLOSE,
	SQL_STMT_DISCARD,
	SQL_STMT_LOCK,
	SQL_STMT_VACUUM, /* ANALYZE too */
	SQL_STMT_LISTEN,
	SQL_STMT_UNLISTEN,
	SQL_STMT_NOTIFY,
	SQL_STMT_CHECKPOINT,
	/* the project's own */
	SQL_STMT_USE,
	SQL_STMT_SHOW_LIST, /* SHOW TABLES, INDEXES, CLUSTER, DATABASES */
	SQL_STMT_DESCRIBE,
	SQL_STMT_REPAIR_CLUSTER,
	SQL_STMT_RECLAIM,
	SQL_STMT_ALTER_CLUSTER,
	SQL_STMT_ALTER_NODE,
	/* everything else */
	SQL_STMT_UNSUPPORTED
};

struct sql_explain {
	struct sql_options options; /* analyze, verbose, costs, format ... */
	struct sql_stmt *stmt;
};

enum sql_set_kind {
	SQL_SET_VALUE,   /* args */
	SQL_SET_DEFAULT, /* TO DEFAULT */
	SQL_SET_CURRENT, /* FROM CURRENT */
	SQL_SET_RESET,
	SQL_SET_RESET_ALL,
	SQL_SET_TRANSACTION,         /* modes; is_local */
	SQL_SET_SESSION_TRANSACTION, /* SESSION CHARACTERISTICS: modes */
	SQL_SET_SNAPSHOT             /* args: one string */
};

enum sql_isolation {
	SQL_ISOLATION_DEFAULT, /* none was named */
	SQL_READ_UNCOMMITTED,
	SQL_READ_COMMITTED,
	SQL_REPEATABLE_READ,
	SQL_SERIALIZABLE
};
enum sql_access { SQL_ACCESS_DEFAULT, SQL_READ_WRITE, SQL_READ_ONLY };

struct sql_txn_modes {
	enum sql_isolation isolation;
	enum sql_access access;
	bool deferrable; /* DEFERRABLE was said */
	bool not_deferrable;
};

/* Names in lower case unless quoted; SET TIME ZONE x is "timezone", SET
 * CONSISTENCY x is "skaidb.consistency" with a string in lower case, SET
 * SESSION AUTHORIZATION x "session_authorization", SET ROLE x "role", SET NAMES
 * x "client_encoding", SET SCHEMA x "search_path". */
struct sql_set {
	enum sql_set_kind kind;
	const char *name;
	bool is_local;
	/* INT, NUMERIC, STRING (a bare word too), BOOL, or a CAST of a string
	 * to interval (SET TIME ZONE INTERVAL ...). */
	struct sql_exprs args;
	struct sql_txn_modes modes;
};

/* ALTER ROLE/DATABASE name ... SET: `set` is the assignment. */
struct sql_alter_set {
	const char *role;     /* NULL: ALL, or ALTER DATABASE */
	const char *database; /* NULL: every database */
	struct sql_set set;
};

struct sql_show {
	const char *name; /* as for SET; "all" */
};

enum sql_txn_kind {
	SQL_TXN_BEGIN,
	SQL_TXN_START,
	SQL_TXN_COMMIT,
	SQL_TXN_ROLLBACK,
	SQL_TXN_SAVEPOINT,   /* name */
	SQL_TXN_RELEASE,     /* name */
	SQL_TXN_ROLLBACK_TO, /* name */
	SQL_TXN_PREPARE,     /* gid */
	SQL_TXN_COMMIT_PREPARED,
	SQL_TXN_ROLLBACK_PREPARED
};

struct sql_pin {
	const char *column;
	int position;
	struct sql_expr *value; /* a constant or a parameter, maybe cast */
};

struct sql_transaction {
	enum sql_txn_kind kind;
	struct sql_txn_modes modes;
	bool chain; /* AND CHAIN */
	const char *name;
	const char *gid;
	bool atomic;          /* BEGIN ATOMIC */
	struct sql_pin *pins; /* PARTITION (...) */
	uint32_t n_pins;
};

struct sql_copy {
	bool from; /* else TO */
	bool is_program;
	const char *file;      /* NULL: STDIN or STDOUT */
	struct sql_name table; /* name NULL when there is a query */
	struct sql_column_name *columns;
	uint32_t n_columns;
	struct sql_stmt *query;     /* or NULL */
	struct sql_options options; /* old spellings too: format, delimiter */
	struct sql_expr *where;
};

struct sql_prepare_stmt {
	const char *name;
	struct sql_typename *types;
	uint32_t n_types;
	struct sql_stmt *stmt;
};

struct sql_execute {
	const char *name;
	struct sql_exprs args;
};

struct sql_deallocate {
	const char *name; /* NULL: ALL */
};

struct sql_declare {
	const char *name;
	struct sql_select *query;
	bool binary;
	bool scroll;
	bool no_scroll;
	bool insensitive;
	bool hold;
};

enum sql_fetch_dir {
	SQL_FETCH_FORWARD,
	SQL_FETCH_BACKWARD,
	SQL_FETCH_ABSOLUTE,
	SQL_FETCH_RELATIVE
};
#define SQL_FETCH_ALL INT64_MAX

struct sql_fetch {
	const char *cursor;
	enum sql_fetch_dir dir;
	int64_t count; /* may be negative; SQL_FETCH_ALL */
	bool move;
};

struct sql_close {
	const char *cursor; /* NULL: ALL */
};

enum sql_discard {
	SQL_DISCARD_ALL,
	SQL_DISCARD_PLANS,
	SQL_DISCARD_SEQUENCES,
	SQL_DISCARD_TEMP
};

struct sql_lock {
	struct sql_names tables;
	int mode; /* 1 ACCESS SHARE ... 8 ACCESS EXCLUSIVE */
	bool nowait;
};

struct sql_vacuum {
	bool analyze_only; /* ANALYZE */
	struct sql_options options;
	struct sql_names tables; /* none: all */
};

struct sql_notify {
	const char *channel; /* UNLISTEN *: NULL */
	const char *payload; /* or NULL */
};

enum sql_show_list {
	SQL_SHOW_TABLES,
	SQL_SHOW_INDEXES,
	SQL_SHOW_CLUSTER,
	SQL_SHOW_DATABASES
};

enum sql_cluster_action {
	SQL_CLUSTER_ADD_NODE,     /* ref = alias or NULL, address */
	SQL_CLUSTER_REMOVE_NODE,  /* ref */
	SQL_CLUSTER_SET,          /* options */
	SQL_CLUSTER_FEATURE_LEVEL /* level */
};

struct sql_alter_cluster {
	enum sql_cluster_action action;
	const char *ref; /* alias or member id */
	int ref_position;
	const char *address;
	int address_position;
	uint32_t level;
	struct sql_options options;
};

struct sql_alter_node {
	const char *ref;
	int ref_position;
	const char *alias;
	int alias_position;
};

struct sql_unsupported {
	const char *feature; /* "MERGE", "CREATE VIEW", "window functions" */
	struct err *error;   /* 0A000, with position where known */
};

struct sql_stmt {
	enum sql_stmt_kind kind;
	int position;      /* of its first token, where known */
	struct str text;   /* its part of the whole text, trimmed */
	uint32_t n_params; /* the highest $n in it */
	union {
		struct sql_select *select;
		struct sql_insert *insert;
		struct sql_update *update;
		struct sql_delete *del;
		struct sql_explain explain;
		struct sql_create_table *create_table;
		struct sql_create_index *create_index;
		struct sql_create_database create_database;
		struct sql_create_schema create_schema;
		struct sql_role role; /* CREATE and ALTER */
		struct sql_sequence sequence;
		struct sql_alter_set alter_set;
		struct sql_alter_table alter_table;
		struct sql_rename rename;
		struct sql_drop drop;
		struct sql_truncate truncate;
		struct sql_comment comment;
		struct sql_set set;
		struct sql_show show;
		struct sql_transaction txn;
		struct sql_copy copy;
		struct sql_prepare_stmt prepare;
		struct sql_execute execute;
		struct sql_deallocate deallocate;
		struct sql_declare declare;
		struct sql_fetch fetch;
		struct sql_close close;
		enum sql_discard discard;
		struct sql_lock lock;
		struct sql_vacuum vacuum;
		struct sql_notify notify; /* LISTEN, UNLISTEN too */
		const char *use;          /* database */
		enum sql_show_list show_list;
		struct sql_name describe;
		struct sql_name reclaim; /* name NULL: everything */
		struct sql_alter_cluster alter_cluster;
		struct sql_alter_node alter_node;
		struct sql_unsupported unsupported;
	} u;
};

/* The command tag without counts: "SELECT", "INSERT 0", "CREATE TABLE",
 * "ROLLBACK", ... as PostgreSQL's. */
const char *sql_tag(const struct sql_stmt *s);

#endif
