/* The table source: what the executor reads from and writes to, without
 * knowing where it is.  The gateway implements it over the cluster; tests over
 * memory.  Calls may wait (they run in fibers); every one may fail. */
#ifndef SQL_SOURCE_H
#define SQL_SOURCE_H

#include "cluster/catalog.h"
#include "expr/expr.h"

/* A row as the executor sees it: values by position in the columns asked for.
 */
struct sql_row {
	struct str key; /* primary-key bytes */
	cl_stamp stamp;
	struct val *vals;
};

struct sql_scan_req {
	const struct cl_table *table;
	/* NULL: by primary key. Otherwise start, end and order are of its keys
	 * (its columns, then the primary key), and rows that it leaves out are
	 * not found. */
	const struct cl_index *index;
	const uint32_t *columns; /* ids wanted, in this order */
	uint32_t n_columns;
	struct str start; /* key bytes, inclusive; empty = from first */
	struct str end;   /* exclusive; empty = to the last */
	const struct expr *filter; /* over the positions of `columns`; NULL, or
				    * one for which ex_can_travel */
	uint64_t limit;            /* 0 = none; a promise not to want more */
	bool ordered;              /* by key */
	bool reverse;
	bool count_only; /* rows have no values; one row per match is not
			  * sent: see scan_count */
	bool fresh;      /* get: with what the statement itself has written */
};

/* A range of primary keys, as in sql_scan_req; and all that a statement may
 * reach of a table: keys and ranges. A table that it only inserts into has
 * none. */
struct sql_range {
	struct str start, end;
};
struct sql_bounds {
	const struct cl_table *table;
	const struct str *keys;
	uint32_t n_keys;
	const struct sql_range *ranges;
	uint32_t n_ranges;
};

enum sql_write_kind {
	SQL_INSERT, /* the key must be absent */
	SQL_UPDATE, /* the row must still have `stamp` */
	SQL_DELETE, /* the same */
	SQL_UPSERT  /* no condition */
};

enum sql_write_result {
	SQL_WRITE_DONE,
	SQL_WRITE_EXISTS, /* INSERT: the key is taken */
	SQL_WRITE_CHANGED /* UPDATE, DELETE: the row changed or is gone */
};

struct sql_write {
	enum sql_write_kind kind;
	const struct cl_table *table;
	struct str key;         /* primary-key bytes */
	const struct val *vals; /* by position in table->columns; not DELETE */
	cl_stamp stamp;
	bool upsert;   /* INSERT: a row that is there would be updated */
	bool distinct; /* surely the only one of its call with that key */
	enum sql_write_result result; /* out */
};

struct sql_scan;
struct sql_source;

struct sql_source_ops {
	/* Rows by key, in the order of keys; found[i] says whether. */
	struct err *(*get)(struct sql_source *s, struct arena *a,
	    const struct sql_scan_req *what, const struct str *keys, size_t n,
	    struct sql_row *rows, bool *found);
	struct err *(*scan_open)(struct sql_source *s, struct arena *a,
	    const struct sql_scan_req *what, struct sql_scan **out);
	/* The next row in `a`; *more false at the end. */
	struct err *(*scan_next)(struct sql_scan *sc, struct arena *a,
	    struct sql_row *row, bool *more);
	void (*scan_close)(struct sql_scan *sc);
	/* How many rows match (count_only). */
	struct err *(*scan_count)(struct sql_source *s, struct arena *a,
	    const struct sql_scan_req *what, uint64_t *count);
	/* Carries out the writes; each gets its result. An error means that
	 * some may have been done (what is known is said by its SQLSTATE). */
	struct err *(*write)(struct sql_source *s, struct arena *a,
	    struct sql_write *w, size_t n);
	/* Fills the hidden key of a table without a primary key, for the i-th
	 * row of a statement. */
	void (*hidden_key)(struct sql_source *s, const struct cl_table *t,
	    uint64_t *block, uint32_t *counter);
	/* May be NULL. Told while the statement is planned, once per mention of
	 * a table and before anything is read of it for the result or written;
	 * an error refuses the statement. */
	struct err *(*reach)(struct sql_source *s, struct arena *a,
	    const struct sql_bounds *what);
	/* 57014 when the statement was cancelled or its deadline passed; the
	 * executor asks now and then in long loops. */
	struct err *(*check)(struct sql_source *s, struct arena *a);
};

struct sql_source {
	const struct sql_source_ops *ops;
};

#endif
