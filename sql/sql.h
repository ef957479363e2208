/* SQL: statement text in, rows out, over a table source.
 *
 *   text --sql_parse--> struct sql_stmt (ast.h) --sql_prepare--> struct
 *   sql_prepared --sql_open--> struct sql_cursor --sql_next--> rows
 *
 * Queries and data changes (SELECT, VALUES, INSERT, UPDATE, DELETE, EXPLAIN)
 * run here; every other statement is a *utility*: it is parsed here and carried
 * out by the gateway, which finds its tree in sql_prepared.stmt. */
#ifndef SQL_SQL_H
#define SQL_SQL_H

#include "sql/ast.h"
#include "sql/source.h"
#include "sql/virtual.h"

/* Limits a client cannot raise. */
/* A raw parse tree takes some fifty times its text for a moment. */
#define SQL_TEXT_MAX        (4u << 20)
#define SQL_PARAMS_MAX      65535u
#define SQL_COLUMNS_OUT_MAX 1664u

struct sql_env {
	const struct cl_catalog *catalog;
	uint32_t database;
	const uint32_t *path; /* schema ids, in order of search */
	uint32_t n_path;
	const struct sql_virtual *const *virtuals; /* may be NULL */
	uint32_t n_virtuals;
	const struct ex_env *ex;
	size_t row_max;    /* row_size_max */
	bool no_params;    /* a simple query: $1 does not exist */
	bool no_indexes;   /* rows are reached by primary key alone */
	size_t memory_max; /* of one statement's sorts and groups; 0: 256 MiB */
	size_t batch_bytes; /* rows that are inserted together; 0: 8 MiB */
	void (*notice)(void *arg, struct err *e); /* WARNING, NOTICE */
	void *notice_arg;
};

/* Statements of a string, in order; none for an empty one. Text must be valid
 * UTF-8 without NUL (22021 otherwise). Syntax errors: 42601 with position. */
struct err *sql_parse(
    struct arena *a, struct str text, struct sql_stmt **stmts, size_t *n);

struct sql_column_out {
	const char *name;
	uint32_t type;
	int32_t typmod;
	uint32_t table; /* for plain columns of a table, else 0 */
	int16_t attnum;
};

/* A column that a write to an open table brings along. */
struct sql_new_column {
	const struct cl_table *table;
	const char *name;
	uint32_t type;
};

struct sql_plan;

struct sql_prepared {
	const struct sql_stmt *stmt;
	bool utility;
	uint64_t catalog; /* version it was bound against */
	const char *tag;  /* "SELECT", "INSERT 0", "CREATE TABLE", ... */
	uint32_t n_params;
	uint32_t *params; /* type OIDs, inferred where the client gave none */
	uint32_t n_columns;
	struct sql_column_out
	    *columns; /* 0 columns and !returns_rows: NoData */
	bool returns_rows;
	bool writes; /* refused in a read-only transaction */
	/* Open tables: to be registered by the gateway before sql_open, after
	 * which the statement is prepared again. */
	uint32_t n_new;
	struct sql_new_column *new_columns;
	struct sql_plan *plan;
};

/* `given` are the client's parameter types (0 = infer). The prepared statement
 * lives in `a`, which must also hold stmt. For utilities that return rows
 * (SHOW, SHOW TABLES, DESCRIBE, EXPLAIN) the columns are filled in. */
struct err *sql_prepare(struct arena *a, const struct sql_env *env,
    const struct sql_stmt *stmt, const uint32_t *given, uint32_t n_given,
    struct sql_prepared **out);

struct sql_cursor;

/* `a` must outlive the cursor. */
struct err *sql_open(struct arena *a, const struct sql_env *env,
    const struct sql_prepared *p, const struct val *params, uint32_t n,
    struct sql_source *src, struct sql_cursor **out);
/* The next result row (n_columns values); *vals NULL at the end. The values
 * live in `row` or in the cursor, until the next call on it; the caller resets
 * `row` between rows. Changes are carried out, all of them, at the first
 * call. Errors live in the arena given to sql_open. */
struct err *sql_next(
    struct sql_cursor *c, struct arena *row, struct val **vals);
/* Rows returned or changed so far, for the command tag. */
uint64_t sql_rows(const struct sql_cursor *c);
void sql_close(struct sql_cursor *c);

/* ---- names, for utilities ---- */
/* The OID and typmod of a type as written; 42704, 0A000 for arrays. */
struct err *sql_type_resolve(struct arena *a, const struct sql_typename *t,
    uint32_t *type, int32_t *typmod);
/* A table by the session's search path; `a.b` is schema.table, or table b of
 * database a when there is no schema a. 42P01 with position; 42809 for virtual
 * tables, which are read by queries only. */
struct err *sql_find_table(struct arena *a, const struct sql_env *env,
    const struct sql_name *name, const struct cl_table **out);
/* The same for what is to be changed: 42809 for a sequence. */
struct err *sql_find_target(struct arena *a, const struct sql_env *env,
    const struct sql_name *name, const struct cl_table **out);
/* A table, a sequence or an index. */
struct err *sql_find_relation(struct arena *a, const struct sql_env *env,
    const struct sql_name *name, const struct cl_object **out);
/* A name as nextval() and regclass read it: a.b, "A".b; 42602. */
struct err *sql_name_read(
    struct arena *a, struct str text, struct sql_name *out);

/* The virtual table of that name; NULL: none. They are found by their schema's
 * name only. */
const struct sql_virtual *sql_find_virtual(
    const struct sql_env *env, const struct sql_name *name);

/* 23505 on the primary key, for a row of values by table column. */
struct err *sql_duplicate_error(struct arena *a, const struct sql_env *env,
    const struct cl_table *t, const struct val *vals);
/* The values that a condition `column = given` on a key column finds: none when
 * no value of its type equals it; in an open table each encoding of an equal
 * value, first the one that `given` itself is stored with. */
#define SQL_KEY_VALUES_MAX 6
struct sql_key_value {
	const struct cl_column *column;
	struct val given; /* of unknown type: a literal without one */
	uint32_t n;
	struct val vals[SQL_KEY_VALUES_MAX];
};
struct err *sql_key_values(struct arena *a, const struct sql_env *env,
    const struct cl_table *t, struct sql_key_value *kv);

/* ---- for COPY, which has no tree of its own ---- */
/* Columns of a COPY: ids by the names given (or all visible ones). */
struct err *sql_copy_columns(struct arena *a, const struct cl_table *t,
    const struct sql_copy *copy, uint32_t **ids, uint32_t *n);
/* An inserter that takes rows of values for those columns: defaults, NOT NULL,
 * typmods, hidden keys; writes in batches. */
struct sql_inserter;
struct err *sql_insert_begin(struct arena *a, const struct sql_env *env,
    const struct cl_table *t, const uint32_t *ids, uint32_t n,
    struct sql_source *src, struct sql_inserter **out);
struct err *sql_insert_row(struct sql_inserter *in, const struct val *vals);
struct err *sql_insert_end(struct sql_inserter *in, uint64_t *rows);

/* Binds and evaluates an expression that stands alone (a DEFAULT, an argument
 * of SET or of a placement option) to a value of `type`. */
struct err *sql_eval_alone(struct arena *a, const struct sql_env *env,
    const struct sql_expr *e, uint32_t type, int32_t typmod, struct val *out);
/* The value of a constant with the type it has by itself; a string has none
 * (EX_UNKNOWN). */
struct err *sql_eval_literal(struct arena *a, const struct sql_env *env,
    const struct sql_expr *e, struct val *out);
/* SQL text of an expression tree, normalised, for the catalog. */
char *sql_deparse(struct arena *a, const struct sql_expr *e);

/* ---- indexes ---- */
/* Fills in what CREATE INDEX says of a table's index: schema, table, columns,
 * inputs, predicate; *names: what each column lends to the index's name.
 * PostgreSQL's errors: 42703, 42704, 42P17, 42804 ... */
struct err *sql_bind_index(struct arena *a, const struct sql_env *env,
    const struct cl_table *t, const struct sql_create_index *ci,
    struct cl_index *out, struct str **names);
/* "a, lower(b) DESC": what it is ordered by. */
struct str sql_index_columns(
    struct arena *a, const struct cl_table *t, const struct cl_index *index);

/* ---- defaults that draw from sequences ---- */
/* A copy of e in which constant arguments of nextval() and its like name their
 * sequences by id: what the catalog keeps. 42P01 with position. */
struct sql_pinned {
	struct sql_expr *expr;
	uint32_t *ids; /* of the tables or sequences named */
	uint32_t n;
};
struct err *sql_pin_sequences(struct arena *a, const struct sql_env *env,
    const struct sql_expr *e, struct sql_pinned *out);
/* Text of a default that draws from this sequence. */
char *sql_default_sequence(struct arena *a, uint32_t id);
/* Whether a default, as the catalog keeps it, names this sequence. */
bool sql_default_needs(struct str text, uint32_t id);
/* A default as people see it, names in place of ids. */
struct str sql_default_shown(
    struct arena *a, const struct sql_env *env, struct str text);

#endif
