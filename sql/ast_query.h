/* Trees of queries and data changes. */
#ifndef SQL_AST_QUERY_H
#define SQL_AST_QUERY_H

#include "sql/ast_expr.h"

struct sql_stmt;

/* [AS] name [(column, ...)]; name NULL when there is none. */
struct sql_alias {
	const char *name;
	const char **columns;
	uint32_t n_columns;
};

/* One entry of a target list, or of RETURNING. */
struct sql_target {
	struct sql_expr *expr;
	const char *alias; /* NULL: sql_figure_colname */
	int position;
};

struct sql_targets {
	struct sql_target *items;
	uint32_t n;
};

enum sql_from_kind {
	SQL_FROM_TABLE,
	SQL_FROM_SUBQUERY,
	SQL_FROM_FUNCTION,
	SQL_FROM_JOIN
};

enum sql_join { SQL_JOIN_INNER, SQL_JOIN_LEFT, SQL_JOIN_RIGHT, SQL_JOIN_FULL };

struct sql_from {
	enum sql_from_kind kind;
	int position;
	struct sql_alias alias;
	bool lateral;
	union {
		struct {
			struct sql_name name;
			bool only;
		} table;
		struct sql_select *subquery;
		struct {
			struct sql_expr *call; /* or a value function */
			bool ordinality;
		} function;
		struct {
			enum sql_join join; /* CROSS: inner, no condition */
			struct sql_from *left;
			struct sql_from *right;
			bool natural;
			const char **using_columns;
			uint32_t n_using;
			const char *using_alias;
			struct sql_expr *on; /* NULL: none */
		} join;
	} u;
};

struct sql_cte {
	const char *name;
	int position;
	const char **columns;
	uint32_t n_columns;
	struct sql_stmt *query; /* SELECT, INSERT, UPDATE or DELETE */
};

struct sql_with {
	bool recursive;
	struct sql_cte *items;
	uint32_t n;
};

enum sql_lock_strength {
	SQL_LOCK_KEY_SHARE,
	SQL_LOCK_SHARE,
	SQL_LOCK_NO_KEY_UPDATE,
	SQL_LOCK_UPDATE
};
enum sql_lock_wait { SQL_LOCK_BLOCK, SQL_LOCK_SKIP, SQL_LOCK_NOWAIT };

struct sql_locking {
	enum sql_lock_strength strength;
	enum sql_lock_wait wait;
	struct sql_names of; /* none: all */
};

enum sql_select_kind {
	SQL_SELECT_PLAIN,
	SQL_SELECT_VALUES,
	SQL_SELECT_UNION,
	SQL_SELECT_INTERSECT,
	SQL_SELECT_EXCEPT
};

/* ORDER BY, LIMIT, WITH and locking belong to every kind; `left` and `right` to
 * the set operations, `values` to VALUES, the rest to the plain kind. */
struct sql_select {
	enum sql_select_kind kind;
	int position;          /* of the first target or value, where known */
	struct sql_with *with; /* or NULL */

	bool distinct;
	struct sql_exprs distinct_on;
	struct sql_targets targets;
	struct sql_from **from;
	uint32_t n_from;
	struct sql_expr *where;
	struct sql_exprs group;
	bool group_distinct;
	struct sql_expr *having;

	struct sql_exprs *values; /* rows */
	uint32_t n_values;

	struct sql_select *left;
	struct sql_select *right;
	bool all;

	struct sql_orders order;
	struct sql_expr *limit; /* NULL: none (LIMIT ALL too) */
	struct sql_expr *offset;
	bool with_ties;
	struct sql_locking *locking;
	uint32_t n_locking;
};

struct sql_column_name {
	const char *name;
	int position;
};

/* column = expr of SET; DEFAULT is SQL_E_DEFAULT.  (a, b) = (x, y) arrives as
 * two of them. */
struct sql_assign {
	const char *column;
	int position;
	struct sql_expr *expr;
};

struct sql_assigns {
	struct sql_assign *items;
	uint32_t n;
};

struct sql_index_elem {
	const char *column; /* or NULL: */
	struct sql_expr *expr;
	const struct sql_name *collation; /* or NULL */
	const struct sql_name *opclass;   /* or NULL */
	bool desc;
	enum sql_sort_nulls nulls;
	int position;
};

enum sql_conflict {
	SQL_CONFLICT_NONE,
	SQL_CONFLICT_NOTHING,
	SQL_CONFLICT_UPDATE
};

struct sql_on_conflict {
	enum sql_conflict action;
	int position;
	struct sql_index_elem *target; /* ON CONFLICT (a, b) */
	uint32_t n_target;
	struct sql_expr *target_where;
	const char *constraint; /* ON CONSTRAINT, or NULL */
	struct sql_assigns set;
	struct sql_expr *where;
};

enum sql_overriding {
	SQL_OVERRIDING_NONE,
	SQL_OVERRIDING_USER,
	SQL_OVERRIDING_SYSTEM
};

struct sql_insert {
	struct sql_with *with;
	struct sql_name table;
	const char *alias;
	struct sql_column_name *columns; /* none given: all */
	uint32_t n_columns;
	struct sql_select *source; /* NULL: DEFAULT VALUES */
	enum sql_overriding overriding;
	struct sql_on_conflict conflict;
	struct sql_targets returning;
};

struct sql_update {
	struct sql_with *with;
	struct sql_name table;
	const char *alias;
	bool only;
	struct sql_assigns set;
	struct sql_from **from;
	uint32_t n_from;
	struct sql_expr *where;
	const char *current_of; /* WHERE CURRENT OF cursor, or NULL */
	struct sql_targets returning;
};

struct sql_delete {
	struct sql_with *with;
	struct sql_name table;
	const char *alias;
	bool only;
	struct sql_from **from; /* USING */
	uint32_t n_from;
	struct sql_expr *where;
	const char *current_of;
	struct sql_targets returning;
};

#endif
