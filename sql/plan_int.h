/* What the files that look for the access to a table share.
 *
 * A key is what rows are ordered by: the primary key, or the columns of an
 * index.  Conditions are noted against each key there is; of the keys that they
 * bound, one is chosen, and becomes points or ranges. */
#ifndef SQL_PLAN_INT_H
#define SQL_PLAN_INT_H

#include "sql/exec_int.h"

/* A column of a key and what is known of it. */
struct sql_key_col {
	const struct cl_column *col; /* NULL: an expression */
	const struct expr *tree;     /* that, over the base row; NULL: the query
				      * cannot have it */
	uint32_t type;
	struct cl_key_order order;
	bool nullable;
	bool has_eq;
	struct val *eq; /* NULL is one: IS NULL */
	uint32_t n_eq;
	struct sql_conj *eq_conj;
	bool eq_loose; /* finds more than it should: remains a filter */
	bool has_lo, has_hi, lo_incl, hi_incl;
	struct val lo, hi;
	struct sql_conj *lo_conj, *hi_conj;
};

struct sql_key {
	struct sql_exec *x;
	const struct sql_rel *rel;
	const struct cl_table *t;
	const struct cl_index *index; /* NULL: the primary key */
	uint32_t n;                   /* columns that may be bound; ... */
	uint32_t n_all;               /* ... rows stand in the order of all */
	struct sql_key_col *cols;
	bool empty;                /* nothing can match */
	struct sql_conj **implied; /* that a partial index answers alone */
	uint32_t n_implied;
};

/* ---- plan_fit.c ---- */
enum sql_fit {
	SQL_FIT_EXACT,
	SQL_FIT_BELOW, /* *out is the nearest value, below v */
	SQL_FIT_ABOVE, /* the same, above */
	SQL_FIT_NONE,  /* the type has no value near v */
	SQL_FIT_UNKNOWN
};
/* v as a value of that type. */
enum sql_fit sql_fit(
    struct sql_exec *x, struct val v, uint32_t type, struct val *out);
/* Every encoding under which a value equal to v may have been stored in a
 * column of an open table; at most SQL_PROBES_MAX. `any`: of what reads as the
 * text v, since the column holds values of several types. */
#define SQL_PROBES_MAX 32
uint32_t sql_probes(struct sql_exec *x, const struct cl_column *col,
    struct val v, bool any, struct val *eq);

/* ---- plan_cond.c ---- */
/* What a condition says of a key. */
void sql_key_note(struct sql_key *k, struct sql_conj *conj);
/* Whether e is that column of the key. */
bool sql_key_is(
    const struct sql_key *k, const struct sql_key_col *c, const struct expr *e);
/* The argument of a cast that keeps the order of values; NULL for other
 * expressions. */
const struct expr *sql_behind_cast(const struct expr *e);

/* ---- plan_imply.c ---- */
/* Whether `want` is true wherever all the conditions are; false: not seen. */
bool sql_implied(struct sql_exec *x, const struct expr *want,
    const struct sql_conj *conjs, uint32_t n);

/* ---- plan_key.c ---- */
/* How good an access the key is: more is better, 0 is all rows. */
uint32_t sql_key_rank(const struct sql_key *k);
/* Leading columns of one value each. */
uint32_t sql_key_pinned(const struct sql_key *k);
void sql_key_reach(struct sql_key *k, struct sql_reach *out);

#endif
