/* Trees of names, types and expressions, as parsed: nothing is resolved.
 *
 * Everything lives in the arena given to sql_parse and is read-only after it.
 * A position is that of the first character, 1-based and in characters of the
 * whole text given to sql_parse, as the protocol's field P wants it; 0 is
 * unknown.  Texts are NUL-terminated valid UTF-8. */
#ifndef SQL_AST_EXPR_H
#define SQL_AST_EXPR_H

#include "base/err.h"

struct sql_select;
struct sql_expr;

/* [[catalog.]schema.]name of a table, function, type, collation ...; the first
 * two may be NULL. */
struct sql_name {
	const char *catalog;
	const char *schema;
	const char *name;
	int position;
};

struct sql_names {
	struct sql_name *items;
	uint32_t n;
};

struct sql_exprs {
	struct sql_expr **items;
	uint32_t n;
};

/* A type as written. SQL's spellings come as pg_catalog names: "integer" is
 * pg_catalog.int4, "character varying" pg_catalog.varchar; char without length
 * has mods {1}. */
struct sql_typename {
	struct sql_name name;
	/* varchar(3): {3}; numeric(10,2): {10, 2}; interval: the mask of its
	 * fields (PostgreSQL's INTERVAL_MASK, 0x7fff = all), then precision. */
	const int32_t *mods;
	uint32_t n_mods;
	uint32_t dims; /* array dimensions written: integer[][] has 2 */
	bool setof;
	bool of_column; /* t.c%TYPE: name is the column */
};

enum sql_sort_nulls {
	SQL_NULLS_DEFAULT, /* last when ascending, first when descending */
	SQL_NULLS_FIRST,
	SQL_NULLS_LAST
};

struct sql_order {
	struct sql_expr *expr;
	bool desc;
	enum sql_sort_nulls nulls;
	int position;
};

struct sql_orders {
	struct sql_order *items;
	uint32_t n;
};

enum sql_is {
	SQL_IS_NULL,
	SQL_IS_NOT_NULL,
	SQL_IS_TRUE,
	SQL_IS_NOT_TRUE,
	SQL_IS_FALSE,
	SQL_IS_NOT_FALSE,
	SQL_IS_UNKNOWN,
	SQL_IS_NOT_UNKNOWN
};

enum sql_value_func {
	SQL_CURRENT_DATE,
	SQL_CURRENT_TIME,
	SQL_CURRENT_TIMESTAMP,
	SQL_LOCALTIME,
	SQL_LOCALTIMESTAMP,
	SQL_CURRENT_ROLE,
	SQL_CURRENT_USER,
	SQL_USER,
	SQL_SESSION_USER,
	SQL_CURRENT_CATALOG,
	SQL_CURRENT_SCHEMA
};

enum sql_expr_kind {
	/* constants */
	SQL_E_NULL,
	SQL_E_BOOL,    /* u.boolean */
	SQL_E_INT,     /* u.integer: int4 if it fits, else int8 */
	SQL_E_NUMERIC, /* u.text, as written: 1.50, 1e10, 99999999999999999999
			*/
	SQL_E_STRING,  /* u.text, decoded; its type is still unknown */
	SQL_E_BITS,    /* u.text: b0101 or xff */
	/* names */
	SQL_E_PARAM,   /* u.param, from 1 */
	SQL_E_COLUMN,  /* u.column; a star only where a target list allows it */
	SQL_E_DEFAULT, /* the word DEFAULT, in VALUES and SET */
	SQL_E_VALUE_FUNC, /* u.value_func */
	/* with args */
	SQL_E_OP,       /* u.op; [left,] right. LIKE is ~~, ILIKE ~~*, NOT LIKE
			 * !~~, NOT ILIKE !~~*, SIMILAR TO ~ with a call of
			 * pg_catalog.similar_to_escape */
	SQL_E_AND,      /* 2 or more */
	SQL_E_OR,       /* 2 or more */
	SQL_E_NOT,      /* 1 */
	SQL_E_IS,       /* 1; u.is */
	SQL_E_DISTINCT, /* left, right: IS [NOT] DISTINCT FROM; u.negated */
	SQL_E_BETWEEN,  /* x, low, high; u.negated */
	SQL_E_BETWEEN_SYMMETRIC, /* the same */
	SQL_E_IN,                /* x, item...: 1 item or more; u.negated */
	SQL_E_CASE, /* [operand,] when, then, ..., [else]: u.cases */
	SQL_E_COALESCE,
	SQL_E_GREATEST,
	SQL_E_LEAST,
	SQL_E_NULLIF,  /* left, right */
	SQL_E_ROW,     /* 0 or more */
	SQL_E_ARRAY,   /* 0 or more; an inner ARRAY is a dimension */
	SQL_E_CALL,    /* arguments; u.call */
	SQL_E_CAST,    /* 1; u.type */
	SQL_E_COLLATE, /* 1; u.collation */
	SQL_E_FIELD,   /* 1; u.text, NULL for (x).* */
	SQL_E_INDEX,   /* x, subscript */
	SQL_E_SLICE,   /* x, lower, upper; SQL_E_NULL where left out */
	SQL_E_ANY,     /* left, array; u.op */
	SQL_E_ALL,     /* the same */
	/* with a query */
	SQL_E_SUBQUERY,       /* u.query.select, scalar */
	SQL_E_ARRAY_SUBQUERY, /* ARRAY(SELECT ...) */
	SQL_E_EXISTS,
	SQL_E_IN_SUBQUERY,  /* left (a ROW for several columns); NOT IN has a
			     * SQL_E_NOT around */
	SQL_E_ANY_SUBQUERY, /* left; u.query.op */
	SQL_E_ALL_SUBQUERY
};

/* An operator as written; schema only for OPERATOR(schema.op). */
struct sql_op {
	const char *schema;
	const char *name;
};

struct sql_call {
	struct sql_name name;
	bool star; /* count(*) */
	bool distinct;
	bool variadic;           /* VARIADIC before the last argument */
	struct sql_orders order; /* inside the parentheses */
	struct sql_expr *filter; /* FILTER (WHERE ...), or NULL */
};

struct sql_expr {
	enum sql_expr_kind kind;
	int position;
	struct sql_expr **args;
	uint32_t n_args;
	union {
		bool boolean;
		bool negated;
		int64_t integer;
		const char *text;
		uint32_t param;
		enum sql_is is;
		struct sql_op op;
		const struct sql_call *call;
		const struct sql_typename *type;
		const struct sql_name *collation;
		struct {
			const char **parts; /* [[[db.]schema.]table.]column */
			uint32_t n;         /* without the star */
			bool star;
		} column;
		struct {
			bool operand; /* args[0] is what is compared */
			bool other;   /* the last argument is ELSE's */
		} cases;
		struct {
			enum sql_value_func func;
			int32_t precision; /* -1: none */
		} value_func;
		struct {
			struct sql_op op;
			struct sql_select *select;
		} query;
	} u;
};

/* Same tree, positions apart. NULL equals only NULL. Expressions with queries
 * in them are never equal to any but themselves. */
bool sql_expr_equal(const struct sql_expr *x, const struct sql_expr *y);

/* Where the whole expression starts, for errors about all of it (an operator's
 * own position is that of the operator); 0 if unknown. */
int sql_expr_position(const struct sql_expr *e);

/* The name of a result column without an alias, by PostgreSQL's rule: the
 * column's, the function's, the type's of a cast, "case", ... or "?column?". */
const char *sql_figure_colname(const struct sql_expr *e);

#endif
