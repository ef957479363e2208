/* Functions, operators, casts and aggregates: const tables, one line each.  A
 * new function is a new line and its C body; ids are never reused. */
#ifndef EXPR_FUNC_H
#define EXPR_FUNC_H

#include "expr/expr.h"

enum ex_volatility { EX_IMMUTABLE, EX_STABLE, EX_VOLATILE };

#define EX_ARGS_MAX 8
/* Pseudo-type of an argument that takes any type as it is; an unknown literal
 * becomes text. */
#define EX_ANY 2276u

struct ex_func {
	uint32_t id;      /* travels; never reused: pg_proc's OID where
			   * PostgreSQL has the function, else from 1000000 */
	const char *name; /* lower case */
	uint32_t ret;
	uint8_t n_args;
	bool variadic; /* the last argument may repeat */
	bool strict;   /* NULL in, NULL out: fn never sees one */
	enum ex_volatility volatility;
	uint32_t args[EX_ARGS_MAX];
	/* *out comes in as NULL of type ret; the type is set again after. */
	struct err *(*fn)(const struct ex_ctx *ctx, const struct val *args,
	    uint32_t n, struct val *out);
	uint8_t n_opt; /* trailing arguments that a call may leave out */
};

const struct ex_func *ex_func(uint32_t id);
/* The n-th function, for pg_proc; NULL past the end. */
const struct ex_func *ex_func_at(size_t n);
/* Declared type of argument i of a call, variadic ones included: what the
 * binder coerces the argument to (EX_ANY: leave it). */
uint32_t ex_func_arg(const struct ex_func *f, uint32_t i);

/* A name as quote_ident() writes it. */
void ex_put_ident(struct buf *b, struct str s);
/* The sequence that e draws one value of whenever it is evaluated: a call of
 * nextval() with a constant, perhaps with something done to it. 0: no such
 * thing, or not so simple. */
uint32_t ex_draws(const struct expr *e);

/* Overload resolution by PostgreSQL's rules (exact, then implicit casts and
 * preferred types; unknown literals last). types may hold EX_UNKNOWN. On
 * success *out; 42883 (with PostgreSQL's message and hint) or 42725. */
struct err *ex_find_func(struct arena *a, struct str name,
    const uint32_t *types, uint32_t n, const struct ex_func **out);
/* Whether name(x) is a cast in function notation, as int4('1') is: *type is
 * what to coerce x to (EX_EXPLICIT). Ask before ex_find_func. */
bool ex_func_is_cast(struct str name, uint32_t arg, uint32_t *type);
/* Operators "+", "=", "||", "->>", "~~"(LIKE)...; for a prefix operator left
 * is 0. 42883 "operator does not exist: integer + boolean". */
struct err *ex_find_op(struct arena *a, struct str op, uint32_t left,
    uint32_t right, const struct ex_func **out);
/* The n-th operator, for pg_operator; false past the end. */
struct ex_op {
	const char *name;
	uint32_t left, right; /* left 0: prefix */
	uint32_t func;
};
const struct ex_op *ex_op_at(size_t n);

enum ex_coercion { EX_IMPLICIT, EX_ASSIGNMENT, EX_EXPLICIT };
/* Whether and how `from` becomes `to`: *func NULL when the bytes stay the same
 * (binary compatible). False: no such cast in that context. */
bool ex_find_cast(uint32_t from, uint32_t to, enum ex_coercion c,
    const struct ex_func **func);
/* Wraps e so that it has type and typmod; unknown constants are parsed with
 * the type's input. 42846/42804 where impossible. */
struct err *ex_coerce(struct arena *a, const struct ex_env *env, struct expr *e,
    uint32_t type, int32_t typmod, enum ex_coercion c, struct expr **out);
/* The common type of several (UNION, CASE, IN, VALUES); 42804. */
struct err *ex_common_type(struct arena *a, const uint32_t *types, uint32_t n,
    const char *context, uint32_t *out);

/* ---- aggregates ---- */
enum ex_agg_kind { /* numbers travel */
	EX_AGG_COUNT_STAR = 1,
	EX_AGG_COUNT = 2,
	EX_AGG_SUM = 3,
	EX_AGG_MIN = 4,
	EX_AGG_MAX = 5,
	EX_AGG_AVG = 6,
	EX_AGG_BOOL_AND = 7,
	EX_AGG_BOOL_OR = 8,
	EX_AGG_STRING_AGG = 9
};
struct ex_agg {
	enum ex_agg_kind kind;
	const char *name;
	uint32_t arg; /* after implicit cast; 0 for count(*) */
	uint32_t ret;
};
/* The aggregate that travels as these two numbers; NULL if unknown. */
const struct ex_agg *ex_agg(uint32_t kind, uint32_t arg);
struct ex_agg_state;
/* NULL and no error when the name is no aggregate at all. */
struct err *ex_find_agg(struct arena *a, struct str name, const uint32_t *types,
    uint32_t n, bool star, const struct ex_agg **out);
/* State lives in `a`, which must outlive it; values added are copied. */
struct ex_agg_state *ex_agg_new(struct arena *a, const struct ex_agg *g);
struct err *ex_agg_add(struct arena *errs, struct ex_agg_state *s,
    const struct val *args, uint32_t n);
struct err *ex_agg_result(
    struct arena *a, struct ex_agg_state *s, struct val *out);

#endif
