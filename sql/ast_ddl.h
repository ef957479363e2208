/* Trees of statements that change the catalog. */
#ifndef SQL_AST_DDL_H
#define SQL_AST_DDL_H

#include "sql/ast_query.h"

/* name = value in WITH (...), SET (...), COPY, EXPLAIN, VACUUM, roles. */
enum sql_option_kind {
	SQL_OPT_NONE,   /* the bare name; PASSWORD NULL */
	SQL_OPT_BOOL,   /* integer: 0 or 1 (role options) */
	SQL_OPT_INT,    /* integer */
	SQL_OPT_NUMBER, /* text, as written */
	SQL_OPT_STRING, /* text; also true, false, on */
	SQL_OPT_IDENT,  /* text, a bare word */
	SQL_OPT_STAR,   /* FORCE_QUOTE * */
	SQL_OPT_LIST    /* (a, 'b', 3) or ['a', ...]: expressions */
};

struct sql_option {
	const char *space; /* toast.x: "toast"; else NULL */
	const char *name;  /* lower case unless quoted */
	enum sql_option_kind kind;
	int position;
	int64_t integer;
	const char *text;
	struct sql_exprs list;
};

struct sql_options {
	struct sql_option *items;
	uint32_t n;
};

/* The option of that name (no space), or NULL. */
const struct sql_option *sql_option_find(
    const struct sql_options *o, const char *name);
/* Booleans as PostgreSQL reads them: no value, true, on, 1, ...; 42601. */
struct err *sql_option_bool(
    struct arena *a, const struct sql_option *o, bool *out);
/* 42601 when it is no integer. */
struct err *sql_option_int(
    struct arena *a, const struct sql_option *o, int64_t *out);
/* Any scalar as text (a string, word, number); 42601 when there is none. */
struct err *sql_option_text(
    struct arena *a, const struct sql_option *o, const char **out);
/* An item of a list option as a name: a, or 'a'; NULL for anything else. */
const char *sql_option_word(const struct sql_expr *e);

enum sql_constraint_kind {
	SQL_CON_NULL,
	SQL_CON_NOT_NULL,
	SQL_CON_DEFAULT,   /* expr */
	SQL_CON_GENERATED, /* expr: GENERATED ALWAYS AS (expr) STORED */
	SQL_CON_IDENTITY,  /* always, options */
	SQL_CON_CHECK,     /* expr */
	SQL_CON_PRIMARY_KEY,
	SQL_CON_UNIQUE,
	SQL_CON_FOREIGN_KEY,
	SQL_CON_EXCLUDE
};

enum sql_fk_action {
	SQL_FK_NO_ACTION,
	SQL_FK_RESTRICT,
	SQL_FK_CASCADE,
	SQL_FK_SET_NULL,
	SQL_FK_SET_DEFAULT
};
enum sql_fk_match { SQL_FK_SIMPLE, SQL_FK_FULL, SQL_FK_PARTIAL };

struct sql_constraint {
	enum sql_constraint_kind kind;
	const char *name; /* or NULL */
	int position;
	struct sql_expr *expr;
	bool always; /* identity: ALWAYS, else BY DEFAULT */
	bool no_inherit;
	bool not_valid;
	bool deferrable;
	bool deferred;
	bool nulls_not_distinct;
	/* PRIMARY KEY, UNIQUE, FOREIGN KEY of a table; a column's own has
	 * none. */
	const char **columns;
	uint32_t n_columns;
	const char **including;
	uint32_t n_including;
	const char *using_index; /* ADD ... USING INDEX i */
	struct sql_options options;
	/* FOREIGN KEY */
	struct sql_name ref_table;
	const char **ref_columns;
	uint32_t n_ref_columns;
	enum sql_fk_match match;
	enum sql_fk_action on_delete;
	enum sql_fk_action on_update;
	const char **delete_columns; /* ON DELETE SET NULL (a, b) */
	uint32_t n_delete_columns;
};

struct sql_constraints {
	struct sql_constraint *items;
	uint32_t n;
};

struct sql_column_def {
	const char *name;
	int position;
	struct sql_typename *type; /* NULL only in PARTITION OF, never here */
	const struct sql_name *collation;
	const char *storage;     /* STORAGE x, or NULL */
	const char *compression; /* COMPRESSION x, or NULL */
	struct sql_constraints constraints;
};

struct sql_create_table {
	struct sql_name table;
	bool if_not_exists;
	bool open; /* no column list: see DESIGN's open tables */
	struct sql_column_def *columns;
	uint32_t n_columns;
	struct sql_constraints constraints;
	struct sql_options options;
	/* Parsed so that the refusal can name them: */
	bool temporary;
	bool unlogged;
	bool like;     /* LIKE other */
	bool inherits; /* INHERITS (...) */
	bool partition_by;
	bool partition_of;
	bool of_type;
	bool on_commit;            /* ON COMMIT DROP, DELETE ROWS */
	const char *access_method; /* USING x, or NULL */
	const char *tablespace;
};

enum sql_object {
	SQL_OBJ_TABLE,
	SQL_OBJ_INDEX,
	SQL_OBJ_SCHEMA,
	SQL_OBJ_DATABASE,
	SQL_OBJ_ROLE,
	SQL_OBJ_COLUMN,
	SQL_OBJ_CONSTRAINT,
	SQL_OBJ_VIEW,
	SQL_OBJ_MATERIALIZED_VIEW,
	SQL_OBJ_SEQUENCE,
	SQL_OBJ_TYPE,
	SQL_OBJ_DOMAIN,
	SQL_OBJ_FUNCTION,
	SQL_OBJ_EXTENSION,
	SQL_OBJ_OTHER
};

struct sql_drop {
	enum sql_object object;
	const char *other; /* SQL_OBJ_OTHER: "FOREIGN TABLE", ... */
	struct sql_names names;
	bool if_exists;
	bool cascade;
	bool concurrently;
	bool force; /* DROP DATABASE WITH (FORCE) */
};

enum sql_alter_kind {
	SQL_ALTER_ADD_COLUMN,      /* column, if_exists = IF NOT EXISTS */
	SQL_ALTER_DROP_COLUMN,     /* name, cascade, if_exists */
	SQL_ALTER_COLUMN_TYPE,     /* column (name, type, collation), expr =
				    * USING */
	SQL_ALTER_SET_DEFAULT,     /* name, expr */
	SQL_ALTER_DROP_DEFAULT,    /* name */
	SQL_ALTER_SET_NOT_NULL,    /* name */
	SQL_ALTER_DROP_NOT_NULL,   /* name */
	SQL_ALTER_ADD_CONSTRAINT,  /* constraint */
	SQL_ALTER_DROP_CONSTRAINT, /* name, cascade, if_exists */
	SQL_ALTER_VALIDATE,        /* name */
	SQL_ALTER_SET_OPTIONS,     /* options */
	SQL_ALTER_RESET_OPTIONS,   /* options, without values */
	SQL_ALTER_OWNER,           /* name */
	SQL_ALTER_OTHER            /* name: the feature, "CLUSTER ON" */
};

struct sql_alter_cmd {
	enum sql_alter_kind kind;
	int position;
	const char *name;
	bool if_exists;
	bool cascade;
	struct sql_column_def *column;
	struct sql_constraint *constraint;
	struct sql_expr *expr;
	struct sql_options options;
};

struct sql_alter_table {
	enum sql_object object; /* TABLE, INDEX, VIEW, SEQUENCE, ... */
	struct sql_name table;
	bool if_exists;
	struct sql_alter_cmd *cmds;
	uint32_t n_cmds;
};

/* ALTER ... RENAME of a table, column, constraint, index, schema, database,
 * role. */
struct sql_rename {
	enum sql_object object;
	struct sql_name name; /* of the object, or the table that holds it */
	const char *part;     /* column or constraint, else NULL */
	const char *to;
	bool if_exists;
};

struct sql_create_index {
	const char *name; /* NULL: to be chosen */
	struct sql_name table;
	bool unique;
	bool global; /* CREATE GLOBAL INDEX */
	bool concurrently;
	bool if_not_exists;
	bool only;
	bool nulls_not_distinct;
	const char *method; /* "btree" when none was given */
	struct sql_index_elem *columns;
	uint32_t n_columns;
	struct sql_index_elem *including;
	uint32_t n_including;
	struct sql_expr *where;
	struct sql_options options;
	const char *tablespace;
};

struct sql_create_database {
	const char *name;
	struct sql_options options; /* owner, encoding, template, ... */
};

struct sql_create_schema {
	const char *name; /* NULL: AUTHORIZATION's */
	const char *owner;
	bool if_not_exists;
	uint32_t n_elements; /* statements inside, which are refused */
};

enum sql_role_word { SQL_ROLE, SQL_ROLE_USER, SQL_ROLE_GROUP };

/* CREATE and ALTER. Options by PostgreSQL's inner names: superuser, createdb,
 * createrole, inherit, canlogin, isreplication, bypassrls (BOOL), password
 * (STRING or NONE), connectionlimit (INT), validUntil (STRING), rolemembers,
 * addroleto, adminmembers (LIST of strings). */
struct sql_role {
	enum sql_role_word word;
	const char *name; /* "current_user", ... keep their words in lower case
			   * and set special */
	bool special;
	struct sql_options options;
};

struct sql_comment {
	enum sql_object object;
	struct sql_name name;
	const char *part; /* column or constraint */
	const char *text; /* NULL removes it */
};

/* CREATE and ALTER. Options by PostgreSQL's inner names: as (IDENT), increment,
 * minvalue, maxvalue, start, restart, cache (INT, NUMBER; NONE where there is
 * no value), cycle (BOOL), owned_by, sequence_name (LIST of strings). */
struct sql_sequence {
	struct sql_name name;
	bool if_exists; /* CREATE: IF NOT EXISTS */
	bool temporary;
	struct sql_options options;
};

struct sql_truncate {
	struct sql_names tables;
	bool restart;
	bool cascade;
};

#endif
