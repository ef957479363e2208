/* What the files of the planner and the executor share.
 *
 * A statement is planned each time it runs, with its parameters known: folding
 * and looking at keys costs microseconds, and the plan fits the values.  The
 * plan is a tree of nodes that are pulled; each node owns the memory of the row
 * it returned last, which stays valid until it is pulled again. */
#ifndef SQL_EXEC_INT_H
#define SQL_EXEC_INT_H

#include "sql/bind_int.h"

#define SQL_MEMORY_DEFAULT (256u << 20)
#define SQL_POINTS_MAX     65536u /* keys of one statement */
#define SQL_RANGES_MAX     1024u  /* ranges of one scan */
#define SQL_GET_BATCH      256u   /* keys per call of the source */
#define SQL_WRITE_BATCH    1000u  /* rows per call of the source */
#define SQL_WRITE_BYTES    (1u << 20)
#define SQL_INSERT_BATCH   50000u /* the same of INSERT and COPY */
#define SQL_INSERT_BYTES   (8u << 20)
#define SQL_RETRY_MAX      32 /* of a row that others keep changing */

struct sql_sub_list {
	struct expr **items;
	uint32_t n;
};

/* One run of a statement. */
struct sql_exec {
	struct arena *arena; /* of the run */
	struct arena *work;  /* sorts, groups, joins: limited */
	const struct sql_env *env;
	const struct sql_plan *plan;
	struct sql_source *src;
	struct val *params; /* the client's, then one per sub */
	uint32_t n_params;
	struct sql_sub_list *lists; /* of IN subqueries */
	uint32_t ticks;
	bool explain;           /* plan only: subqueries do not run */
	struct sql_node *nodes; /* all, newest first, for closing */
};

/* A line of EXPLAIN under a node: "Filter: (a > 1)". */
struct sql_prop {
	const char *name;
	const char *text;
	struct sql_prop *next;
};

struct sql_node {
	struct err *(*next)(struct sql_node *n, struct val **row);
	void (*close)(struct sql_node *n); /* may be NULL */
	struct sql_exec *x;
	struct arena *scratch; /* of the row returned last */
	struct sql_node *left, *right;
	struct sql_node *older; /* in x->nodes */
	const char *title;
	struct sql_prop *props;
	const struct sql_query *query; /* for column names in EXPLAIN */
	uint64_t rows;                 /* returned: EXPLAIN ANALYZE */
	const uint64_t *changed;       /* rows changed; NULL: not a change */
};

/* ---- exec.c ---- */
/* A node of `size` bytes, which start with a struct sql_node. */
void *sql_node_new(struct sql_exec *x, size_t size, const char *title,
    struct err *(*next)(struct sql_node *n, struct val **row));
struct err *sql_pull(struct sql_node *n, struct val **row);
void sql_node_prop(struct sql_node *n, const char *name, const char *text);
struct ex_ctx sql_ctx(const struct sql_exec *x, struct arena *a,
    const struct val *row, uint32_t n);
/* e for this run: parameters, subqueries and stable functions as constants. */
struct expr *sql_fold(struct sql_exec *x, struct expr *e);
/* Cancel and deadline, looked at every so many calls. */
struct err *sql_tick(struct sql_exec *x);
/* The limit of x->work: 53200 with a hint. */
struct err *sql_work_check(struct sql_exec *x);
/* Evaluates n expressions into vals. */
struct err *sql_eval_all(const struct ex_ctx *ctx, struct expr *const *es,
    uint32_t n, struct val *vals);
struct val *sql_row_copy(struct arena *a, const struct val *row, uint32_t n);
/* Appends bytes in which equal rows are equal: keys of hash tables. */
void sql_hash_key(struct buf *b, const struct val *vals, uint32_t n);
/* Runs the subqueries of the plan. */
struct err *sql_run_subs(struct sql_exec *x);
/* Starts a run; ends it. */
struct err *sql_exec_new(struct arena *a, const struct sql_env *env,
    const struct sql_plan *plan, const struct val *params,
    struct sql_source *src, struct sql_exec **out);
void sql_exec_close(struct sql_exec *x);

/* ---- plan.c ---- */
/* Conditions joined by AND; `taken` ones are somebody's already. */
struct sql_conj {
	struct expr *e;
	uint64_t rels; /* which relations of the query it looks at */
	bool taken;
};
struct sql_conjs {
	struct sql_conj *items;
	uint32_t n, cap;
};
struct err *sql_plan_query(
    struct sql_exec *x, const struct sql_query *q, struct sql_node **out);
void sql_split_and(struct sql_exec *x, const struct sql_query *q,
    struct expr *e, struct sql_conjs *out);
struct expr *sql_join_and(
    struct sql_exec *x, struct expr *const *es, uint32_t n);

/* ---- plan_index.c ---- */
/* How to reach the rows of a table. */
struct sql_key; /* plan_int.h */
struct sql_reach {
	const struct sql_key *key;
	const struct cl_index *index; /* NULL: by the primary key */
	bool empty;                   /* nothing can match */
	bool points;                  /* keys, in key order */
	uint32_t n_keys;
	struct str *keys;
	uint32_t n_ranges; /* in key order; without points */
	struct sql_range *ranges;
	uint32_t n_pinned;        /* leading key columns of one value each */
	struct expr **index_cond; /* for EXPLAIN */
	uint32_t n_index_cond;
};
/* Marks the conditions that the access alone satisfies as taken. */
struct err *sql_plan_access(struct sql_exec *x, const struct sql_query *q,
    const struct sql_rel *r, struct sql_conj *conjs, uint32_t n,
    struct sql_reach *out);
/* Whether rows in the order of the key, the first n_pinned columns of which
 * have one value each, are in the order that q sorts by; *reverse: read
 * backwards. */
bool sql_key_order(const struct sql_key *k, uint32_t n_pinned,
    const struct sql_query *q, bool *reverse);
/* Tells the source what the conditions leave of the table, by primary key:
 * whatever the access is going to be. */
struct err *sql_tell_reach(struct sql_exec *x, const struct sql_rel *r,
    const struct sql_conj *conjs, uint32_t n);
/* The comparison a call is: "=", "<", ...; NULL for other functions. */
const char *sql_op_name(const struct ex_func *f);

/* ---- exec_scan.c ---- */
/* Rows of a table at their positions of `flat` (the base row). Takes the
 * conditions that look at nothing else. */
struct err *sql_scan_node(struct sql_exec *x, const struct sql_query *q,
    struct sql_rel *r, struct sql_conjs *conjs, struct val *flat,
    struct sql_node **out);
/* The rows come in the order of q's sort keys: no sort is needed. */
bool sql_scan_order(struct sql_node *n, const struct sql_query *q);
/* Nobody wants more than `limit` rows. */
void sql_scan_limit(struct sql_node *n, uint64_t limit);
bool sql_is_scan(const struct sql_node *n);
/* A node that counts the rows of this scan; NULL when it has to see them. */
struct sql_node *sql_count_node(struct sql_node *scan);
/* Key and stamp of the row returned last. */
const struct sql_row *sql_scan_row(const struct sql_node *n);
/* The index that it reads by; NULL: the primary key. */
const struct cl_index *sql_scan_index(const struct sql_node *n);

/* ---- exec_virtual.c, exec_rel.c, exec_join.c ---- */
struct err *sql_series_node(struct sql_exec *x, const struct sql_rel *r,
    struct val *flat, struct sql_node **out);
struct err *sql_virtual_node(struct sql_exec *x, const struct sql_rel *r,
    struct val *flat, struct sql_node **out);
struct err *sql_subquery_node(struct sql_exec *x, const struct sql_rel *r,
    struct val *flat, struct sql_node **out);
struct sql_node *sql_values_node(struct sql_exec *x, const struct sql_query *q);
struct sql_node *sql_once_node(struct sql_exec *x);
struct sql_node *sql_append_node(
    struct sql_exec *x, struct sql_node *left, struct sql_node *right);
struct sql_node *sql_filter_node(struct sql_exec *x, const struct sql_query *q,
    struct sql_node *child, struct expr *cond, uint32_t width);
struct sql_node *sql_project_node(struct sql_exec *x, const struct sql_query *q,
    struct sql_node *child, uint32_t width);
/* `right_cols` are the positions that the right side fills in. */
struct sql_join_spec {
	bool left_join;
	uint32_t n_keys;
	struct expr **left_keys, **right_keys; /* equal, pairwise */
	struct expr *cond;                     /* or NULL */
	const uint32_t *right_cols;
	uint32_t n_right_cols;
	struct val *flat;
	uint32_t width;
};
struct sql_node *sql_joined_node(struct sql_exec *x, const struct sql_query *q,
    struct sql_node *left, struct sql_node *right,
    const struct sql_join_spec *spec);

/* ---- exec_agg.c, exec_sort.c ---- */
struct sql_node *sql_agg_node(
    struct sql_exec *x, const struct sql_query *q, struct sql_node *child);
struct sql_node *sql_distinct_node(
    struct sql_exec *x, const struct sql_query *q, struct sql_node *child);
/* `top` rows are wanted; 0: all. */
struct sql_node *sql_sort_node(struct sql_exec *x, const struct sql_query *q,
    struct sql_node *child, uint64_t top);
struct sql_node *sql_limit_node(
    struct sql_exec *x, struct sql_node *child, uint64_t skip, uint64_t count);

/* ---- exec_change.c, exec_insert.c, exec_update.c ---- */
/* A list of rows kept until the statement returns them. */
struct sql_kept {
	struct val **rows;
	uint32_t n, cap, at;
};
struct sql_returning {
	uint32_t n;
	struct expr **es; /* folded */
	struct sql_kept kept;
};
void sql_returning_init(
    struct sql_returning *r, struct sql_exec *x, const struct sql_change *ch);
struct err *sql_keep_returning(struct sql_exec *x, struct sql_returning *r,
    uint32_t width, struct arena *scratch, const struct val *row);
/* 54000 above row_size_max, naming the largest column. */
struct err *sql_check_size(struct sql_exec *x, const struct cl_table *t,
    const struct val *vals, struct arena *scratch, size_t *estimate);
/* 23502 with the failing row. */
struct err *sql_check_not_null(
    struct sql_exec *x, const struct cl_table *t, const struct val *vals);
/* The key bytes of a row of values by table column. */
struct err *sql_row_key(struct sql_exec *x, const struct cl_table *t,
    const struct val *vals, struct arena *a, struct str *out);
/* The indexes of a table, for which a row must have keys before it is written;
 * all zero at first. */
struct sql_indexes {
	struct ex_index **items;
	uint32_t n;
	bool open;
	struct arena *scratch;
};
/* `key`: the row's primary key. Fails as an index's expression does, and with
 * 54000 when a key is too long. */
struct err *sql_check_indexes(struct sql_exec *x, struct sql_indexes *ix,
    const struct cl_table *t, const struct val *vals, struct str key);
/* Whether an index looks at one of the columns that SET changes. */
bool sql_index_is_set(
    const struct cl_index *index, const struct sql_change *ch);
struct err *sql_lost_race(struct arena *a);
/* One row by key, whole, by table column; *found false: gone. */
struct err *sql_get_whole(struct sql_exec *x, const struct cl_table *t,
    struct str key, struct arena *a, struct val *vals, cl_stamp *stamp,
    bool *found);
struct err *sql_insert_node(
    struct sql_exec *x, const struct sql_change *ch, struct sql_node **out);
struct err *sql_update_node(struct sql_exec *x, const struct sql_change *ch,
    bool is_delete, struct sql_node **out);
/* Rows on their way into a table, in batches. */
struct sql_batch {
	struct sql_exec *x;
	const struct sql_change *ch; /* conflict, set, where, returning */
	const struct cl_table *table;
	struct arena *arena; /* of the batch */
	struct sql_write *writes;
	uint32_t n, cap;
	size_t bytes_max; /* of the arena, before it is written */
	struct map *keys; /* of this batch; DO UPDATE: of the statement */
	struct arena *keys_arena;
	uint32_t n_all; /* rows begun, for hidden keys */
	uint64_t done;
	struct expr *where; /* DO UPDATE's, folded */
	struct expr **set;
	struct sql_returning returning;
	struct sql_indexes indexes;
	/* Rows that wait for values of sequences, so that all of them are drawn
	 * at once. By table column; NULL: none waits. */
	struct expr **late;
	struct arena *late_arena;
	struct val **waiting;
	uint32_t n_waiting, waiting_cap;
};
void sql_batch_init(
    struct sql_batch *b, struct sql_exec *x, const struct sql_change *ch);
/* Defaults, by table column, that draw from a sequence are computed when a
 * batch is full, and other volatile ones with them: takes them out of
 * `defaults`. Before the first row. */
void sql_batch_defaults(struct sql_batch *b, struct expr **defaults);
/* vals by table column; copied. */
struct err *sql_batch_add(struct sql_batch *b, const struct val *vals);
struct err *sql_batch_flush(struct sql_batch *b);

/* ---- explain.c, explain_expr.c ---- */
/* A bound expression as EXPLAIN shows it; names come from q. `grouped`: over
 * the group row. */
const char *sql_expr_text(struct arena *a, const struct sql_query *q,
    const struct expr *e, bool grouped);
struct err *sql_explain_node(struct sql_exec *x, struct sql_node **out);
/* The plan's tree without running it. */
struct err *sql_plan_root(struct sql_exec *x, struct sql_node **out);

#endif
