/* Bound expressions: trees over numeric type and function ids, evaluated by
 * gateways and nodes alike.
 *
 * The codec (format 1, golden vectors) is versioned, depth- and size-limited;
 * type and function ids never change meaning; a node that does not know an id
 * says so (0A000) and the gateway evaluates.  Only immutable functions travel:
 * the gateway folds now(), TimeZone and parameters first (ex_fold). */
#ifndef EXPR_EXPR_H
#define EXPR_EXPR_H

#include "expr/type.h"

#define EX_DEPTH_MAX      500 /* of what travels; a statement: EX_DEPTH_BIND_MAX */
#define EX_DEPTH_BIND_MAX 2000
#define EX_NODES_MAX      65536 /* of what travels */

enum ex_node { /* numbers travel */
	EX_CONST = 1,
	EX_COLUMN = 2, /* col: position in the row handed to eval */
	EX_PARAM = 3,  /* never travels */
	EX_CALL = 4,   /* function id over args */
	EX_AND = 5,
	EX_OR = 6,
	EX_NOT = 7,
	EX_IS_NULL = 8,
	EX_IS_NOT_NULL = 9,
	EX_CASE = 10, /* args: when, then, ..., [else if odd] */
	EX_COALESCE = 11,
	EX_IN = 12, /* args: x, list...: x = any of them */
	EX_IS_TRUE = 13,
	EX_IS_NOT_TRUE = 14,
	EX_IS_FALSE = 15,
	EX_IS_NOT_FALSE = 16,
	EX_DISTINCT = 17, /* IS DISTINCT FROM */
	EX_NOT_DISTINCT = 18,
	EX_NULLIF = 19,
	EX_TYPMOD = 20, /* args[0] coerced to typmod; explicit_cast */
	EX_GREATEST = 21,
	EX_LEAST = 22
};

struct ex_func;

struct expr {
	enum ex_node node;
	uint32_t type;
	int32_t typmod;
	int position; /* 1-based character in the query; 0 = none */
	union {
		struct val con;
		uint32_t col;
		uint32_t param; /* from 1 */
		const struct ex_func *func;
		bool explicit_cast;
	} u;
	uint32_t n_args;
	struct expr **args;
};

struct ex_ctx {
	struct arena *arena; /* results and errors */
	const struct ex_env *env;
	const struct val *row;
	uint32_t n_row;
	const struct val *params;
	uint32_t n_params;
};

/* A call whose work may grow with the square of its arguments asks now and
 * then; 54001 when it took EX_WORK_MAX_US. Zero at the start of the call. */
#define EX_WORK_MAX_US 2000000
struct ex_work {
	int64_t since_us;
	bool begun;
};
struct err *ex_work_check(
    const struct ex_ctx *ctx, struct ex_work *w, const char *what);

/* Evaluation.  Takes bounded C stack whatever the depth of e. Errors carry no
 * position, as PostgreSQL's at run time do not (ex_coerce's of a literal do).
 * 54001 beyond EX_DEPTH_BIND_MAX. A column or parameter whose value has
 * another type than the node says is XX000. */
struct err *ex_eval(
    const struct ex_ctx *ctx, const struct expr *e, struct val *out);
/* A condition: NULL counts as false. */
struct err *ex_test(const struct ex_ctx *ctx, const struct expr *e, bool *out);
/* Replaces parameters, stable functions and constant subtrees by constants.
 * Volatile calls stay. A subtree whose evaluation fails is left as it is (it
 * fails when and if it runs). e itself is not changed, so a prepared statement
 * can be folded again; unchanged parts are shared with the result. */
struct expr *ex_fold(const struct ex_ctx *ctx, struct expr *e);
/* True when e holds nothing but columns, constants and immutable calls, within
 * EX_DEPTH_MAX and EX_NODES_MAX. */
bool ex_can_travel(const struct expr *e);

/* Only what can travel. */
void ex_encode(struct buf *b, const struct expr *e);
/* Safe on any bytes: what comes back is well-typed and passes ex_can_travel.
 * 0A000 names an id that this build does not know, 08P01 anything else. */
struct err *ex_decode(struct arena *a, struct str bytes, struct expr **out);

/* Constructors: position 0, typmod -1; args arrays are kept, not copied. */
struct expr *ex_const(struct arena *a, struct val v);
struct expr *ex_column(
    struct arena *a, uint32_t col, uint32_t type, int32_t typmod);
struct expr *ex_call(
    struct arena *a, const struct ex_func *f, struct expr **args, uint32_t n);
struct expr *ex_op(struct arena *a, enum ex_node node, uint32_t type,
    struct expr **args, uint32_t n);
/* The same tree (1.0 and 1.00 differ). Trees nested deeper than EX_DEPTH_MAX
 * are equal only to themselves. */
bool ex_equal(const struct expr *x, const struct expr *y);

#endif
