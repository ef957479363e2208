/* What the files of the binder share, and the bound forms that the planner
 * reads.
 *
 * A query computes over a *base row*: one array of values that the relations of
 * FROM fill in, each at the positions handed out when a column was first
 * referred to.  So a scan reads only the columns that somebody asked for, and
 * joins need no renumbering.  A grouped query then computes over the *group
 * row*: the GROUP BY values, then the aggregates. */
#ifndef SQL_BIND_INT_H
#define SQL_BIND_INT_H

#include "expr/func.h"
#include "sql/sql.h"

/* How deep queries may stand in each other: each level takes stack. */
#define SQL_QUERY_DEPTH_MAX 32
#define SQL_RELS_MAX        64

/* Aggregate k stands in expressions as column SQL_AGG_COL + k until grouping is
 * settled. */
#define SQL_AGG_COL 0x40000000u

struct sql_query;

enum sql_rel_kind {
	SQL_REL_TABLE,
	SQL_REL_VIRTUAL,
	SQL_REL_QUERY,
	SQL_REL_SERIES,  /* generate_series() */
	SQL_REL_EXCLUDED /* of ON CONFLICT: filled in by the executor */
};

struct sql_rel_col {
	const char *name;
	uint32_t type;
	int32_t typmod;
	uint32_t id;  /* column id, in tables */
	uint32_t pos; /* 1 + position in the base row; 0 = not asked for */
	bool merged;  /* USING: only visible with the relation's name */
	bool mixed;   /* open table: values of several types, read as text */
};

struct sql_rel {
	enum sql_rel_kind kind;
	const char *name;   /* what it is called here */
	const char *schema; /* may qualify the name; NULL when aliased */
	bool aliased;
	const struct cl_table *table;
	const struct sql_virtual *virtual;
	struct sql_query *query;
	struct expr *series[3]; /* start, stop, step or NULL */
	uint32_t n_cols;
	struct sql_rel_col *cols;
	uint32_t n_used; /* columns asked for, in order of asking */
	uint32_t *used;  /* their indexes in cols */
	uint32_t used_cap;
};

/* A column of JOIN ... USING: one name for two. */
struct sql_merged {
	const char *name;
	struct expr *expr;
};

enum sql_join_kind { SQL_FROM_REL, SQL_FROM_INNER, SQL_FROM_LEFT };

/* The tree of joins. */
struct sql_join_node {
	enum sql_join_kind kind;
	struct sql_rel *rel;
	struct sql_join_node *left, *right;
	struct expr *on; /* over the base row; NULL: none */
};

struct sql_agg_call {
	const struct ex_agg *agg;
	struct expr **args;
	uint32_t n_args;
	bool distinct;
	struct expr *filter;
	int position;
};

struct sql_out {
	struct expr *expr; /* over the base row, or the group row */
	const char *name;
	uint32_t table; /* of a plain column, for RowDescription */
	int16_t attnum;
	int position;
};

struct sql_sort_key {
	uint32_t out; /* index of a target */
	bool desc;
	bool nulls_first;
	int position;
};

/* A query inside an expression that does not depend on the row: it runs once,
 * when the statement starts, and its value becomes parameter `param`. */
enum sql_sub_kind { SQL_SUB_SCALAR, SQL_SUB_EXISTS, SQL_SUB_IN };
struct sql_sub {
	enum sql_sub_kind kind;
	struct sql_query *query;
	uint32_t param;
};

struct sql_query {
	enum sql_select_kind kind; /* PLAIN, VALUES, UNION */
	uint32_t n_rels;
	struct sql_rel **rels;
	struct sql_join_node *from; /* NULL: one row without columns */
	uint32_t width;             /* of the base row */
	struct expr *where;
	bool grouped;
	uint32_t n_groups;
	struct expr **groups;
	uint32_t n_aggs;
	struct sql_agg_call *aggs;
	struct expr *having; /* over the group row */
	uint32_t n_outs;     /* with those that only sort */
	struct sql_out *outs;
	uint32_t n_visible;
	bool distinct;
	uint32_t n_sort;
	struct sql_sort_key *sort;
	struct expr *limit, *offset; /* int8; NULL: none */
	uint32_t n_rows;             /* VALUES */
	struct expr ***rows;
	struct sql_query *left, *right; /* UNION */
	bool all;
};

/* column = expression, of SET and of INSERT. */
struct sql_set_col {
	uint32_t index; /* in table->columns */
	struct expr *expr;
};

enum sql_conflict_do { SQL_DO_ERROR, SQL_DO_NOTHING, SQL_DO_UPDATE };

/* Data changes. The base row of UPDATE, DELETE and RETURNING is the table's
 * columns in table order; DO UPDATE has the excluded row behind it. */
struct sql_change {
	const struct cl_table *table;
	struct sql_query *query; /* INSERT: the source of rows; UPDATE, DELETE:
				  * FROM and WHERE, no targets */
	/* INSERT: which column each value of the source goes to. */
	uint32_t n_targets;
	uint32_t *targets; /* indexes in table->columns; UINT32_MAX: nowhere */
	struct expr **values;   /* over the source's row; NULL: as it comes */
	struct expr **defaults; /* by table column; NULL: none */
	enum sql_conflict_do conflict;
	uint32_t n_set;
	struct sql_set_col *set; /* UPDATE, DO UPDATE */
	bool key_set;            /* SET touches the primary key */
	struct expr *where;      /* DO UPDATE ... WHERE */
	uint32_t n_returning;
	struct sql_out *returning;
};

struct sql_plan {
	enum sql_stmt_kind kind; /* SELECT, INSERT, UPDATE, DELETE */
	struct sql_query *query;
	struct sql_change *change;
	uint32_t n_params;
	uint32_t n_subs; /* their parameters follow the client's */
	struct sql_sub *subs;
	bool explain;
	bool analyze;
	bool costs;
	bool verbose;
};

/* ---- the state of binding one statement ---- */

struct sql_param {
	uint32_t type; /* 0: not known yet */
};

/* WITH: the queries that a name in FROM may mean, innermost first. */
struct sql_ctes {
	const struct sql_ctes *up;
	const struct sql_cte *items;
	uint32_t n; /* of a list being defined: those before this one */
};

struct sql_bind {
	struct arena *arena;
	const struct sql_env *env;
	uint32_t n_params;
	struct sql_param *params;
	int query_depth;
	const struct sql_ctes *ctes;
	bool keep_unknown; /* of the next query bound: a branch of UNION */
	uint32_t n_subs, subs_cap;
	struct sql_sub *subs;
	uint32_t n_new, new_cap;
	struct sql_new_column *new_columns;
};

struct sql_scope {
	struct sql_scope *outer;
	struct sql_query *query; /* whose rels are seen */
	uint32_t n_merged;
	struct sql_merged *merged;
	uint32_t first; /* rels before this one are not seen (JOIN ... ON) */
};

/* Where an expression stands. */
struct sql_ectx {
	struct sql_bind *b;
	struct sql_scope *scope; /* NULL: no columns at all */
	const char *clause;      /* "WHERE", for messages */
	bool aggs;               /* aggregates are allowed */
	/* Column references are errors: message and SQLSTATE, or NULL. */
	const char *no_columns;
	const char *no_columns_state;
};

/* ---- scope.c ---- */
struct err *sql_scope_column(
    struct sql_ectx *c, const struct sql_expr *e, struct expr **out);
struct expr *sql_rel_expr(struct sql_bind *b, struct sql_query *q,
    struct sql_rel *r, uint32_t col, int position);
/* Whether an unqualified name is a column here (GROUP BY asks). */
bool sql_scope_has(const struct sql_scope *s, const char *name);
/* The relation and column behind a position of the base row. */
bool sql_query_column(const struct sql_query *q, uint32_t pos,
    const struct sql_rel **rel, const struct sql_rel_col **col);
/* The star of a target list: relations named by e, or all. */
struct err *sql_scope_star(struct sql_ectx *c, const struct sql_expr *e,
    struct sql_out **outs, uint32_t *n, uint32_t *cap);

/* ---- from.c ---- */
struct err *sql_bind_from(struct sql_bind *b, struct sql_scope *scope,
    struct sql_from *const *from, uint32_t n);
/* Names of a WITH clause (NULL: none) come into sight; the caller puts b->ctes
 * back when they go. */
struct err *sql_with_open(struct sql_bind *b, const struct sql_with *with);
struct sql_rel *sql_rel_table(
    struct sql_bind *b, const struct cl_table *t, const char *alias);
struct err *sql_rel_add(
    struct sql_bind *b, struct sql_query *q, struct sql_rel *r, int position);

/* ---- params.c ---- */
struct err *sql_param_ref(
    struct sql_bind *b, const struct sql_expr *e, struct expr **out);
/* As ex_coerce, and it settles the type of a parameter that has none. */
struct err *sql_coerce(struct sql_bind *b, struct expr *e, uint32_t type,
    int32_t typmod, enum ex_coercion c, struct expr **out);
/* A boolean for `what` ("WHERE"): 42804 with PostgreSQL's text. */
struct err *sql_coerce_bool(
    struct sql_bind *b, struct expr *e, const char *what, struct expr **out);
/* Output of unknown type is text. */
struct err *sql_settle_text(
    struct sql_bind *b, struct expr *e, struct expr **out);
/* The common type of n expressions, to which each is coerced. */
struct err *sql_common(struct sql_bind *b, struct expr **es, uint32_t n,
    const char *context, uint32_t *type);
struct err *sql_params_settle(struct sql_bind *b);

/* ---- bind_expr.c, bind_call.c ---- */
struct err *sql_bind_expr(
    struct sql_ectx *c, const struct sql_expr *e, struct expr **out);
/* Aggregates, functions: args are bound. */
struct err *sql_bind_call(struct sql_ectx *c, const struct sql_expr *e,
    struct expr **args, uint32_t n, struct expr **out);
struct err *sql_bind_op(struct sql_ectx *c, const struct sql_expr *at,
    const char *op, struct expr *const *args, uint32_t n, struct expr **out);
struct err *sql_bind_value_func(
    struct sql_bind *b, const struct sql_expr *e, struct expr **out);

/* ---- bound.c ---- */
/* Calls fn for each node, parents first; true stops and comes back. */
bool sql_expr_any(const struct expr *e,
    bool (*fn)(const struct expr *e, void *arg), void *arg);
/* The leftmost position in e: where PostgreSQL points for the whole of it. */
int sql_leftmost(const struct expr *e);
/* How to rewrite a tree; either may be NULL. The tree itself stays: what
 * changes is copied. */
struct sql_rewrite {
	/* *out: e's replacement, which is not looked into; NULL: look. */
	struct err *(*before)(struct expr *e, void *arg, struct expr **out);
	/* The node with its arguments rewritten; returns what stands there. */
	struct expr *(*after)(struct expr *e, void *arg);
	void *arg;
};
struct err *sql_expr_rewrite(struct arena *a, struct expr *e,
    const struct sql_rewrite *how, struct expr **out);

/* ---- bind_select.c, bind_group.c, bind_order.c ---- */
struct err *sql_bind_select(struct sql_bind *b, struct sql_scope *outer,
    const struct sql_select *s, struct sql_query **out);
struct err *sql_bind_targets(struct sql_ectx *c, const struct sql_targets *t,
    struct sql_out **outs, uint32_t *n);
struct err *sql_bind_group(
    struct sql_ectx *c, struct sql_query *q, const struct sql_exprs *group);
/* Rewrites outs and HAVING to the group row; 42803. */
struct err *sql_settle_group(struct sql_bind *b, struct sql_query *q);
struct err *sql_bind_order(
    struct sql_ectx *c, struct sql_query *q, const struct sql_orders *order);
struct err *sql_bind_sub(struct sql_ectx *c, const struct sql_expr *e,
    struct expr *left, struct expr **out);

/* ---- bind_insert.c, bind_update.c, bind_table.c ---- */
struct err *sql_bind_insert(
    struct sql_bind *b, const struct sql_insert *s, struct sql_change **out);
struct err *sql_bind_update(
    struct sql_bind *b, const struct sql_update *s, struct sql_change **out);
struct err *sql_bind_delete(
    struct sql_bind *b, const struct sql_delete *s, struct sql_change **out);
/* SET of UPDATE and DO UPDATE. */
struct err *sql_bind_set(
    struct sql_ectx *c, struct sql_change *ch, const struct sql_assigns *set);
struct err *sql_bind_returning(struct sql_bind *b, struct sql_change *ch,
    const char *alias, const struct sql_targets *t);
/* A query whose base row is the table's columns, all of them, in order. */
struct err *sql_query_of_table(struct sql_bind *b, const struct cl_table *t,
    const char *alias, struct sql_query **out);
/* e as the value of a column, in assignment; open tables keep its type. */
struct err *sql_assign(struct sql_bind *b, const struct cl_table *t,
    uint32_t index, struct expr *e, struct expr **out);
/* A column that an open table does not have yet; *e is settled. */
struct err *sql_assign_new(struct sql_bind *b, const struct cl_table *t,
    const char *name, struct expr **e);
/* 428C9 with the detail that names the column. */
struct err *sql_always_error(struct arena *a, const struct cl_column *col,
    const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* The default of a column, or NULL. */
struct err *sql_bind_default(struct sql_bind *b, const struct cl_table *t,
    uint32_t index, struct expr **out);

/* ---- small things ---- */
bool sql_column_visible(const struct cl_column *c);
/* Whether GROUP BY, DISTINCT and ORDER BY can work on the type. */
bool sql_can_sort(uint32_t type);
/* 0A000 "<features> are not supported". */
struct err *sql_unsupported_at(
    struct arena *a, int position, const char *features);
/* Room for one more in an array of `size` bytes each. */
void *sql_more(
    struct arena *a, void *p, uint32_t n, uint32_t *cap, size_t size);

#endif
