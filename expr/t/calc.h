/* Calls by name with literal arguments, so that tests need no parser.
 *
 * calc("+", "int4:2", "int4:3") is "5": arguments are type:text, "unknown:x" an
 * untyped literal, "type:NULL" a NULL. A name that starts with a letter is a
 * function ("cast:int4" a cast), else an operator, prefix with one argument.
 * What fails is "!SQLSTATE message"; NULL is "NULL". The result's type, when it
 * is asked for with a trailing ", as type" in tables, is calc_type(). */
#ifndef EXPR_T_CALC_H
#define EXPR_T_CALC_H

#include "expr/func.h"

#define CALC_ARGS_MAX 12

/* Freed by calc_fini; NULL ends the arguments. */
const char *calc_v(const char *name, const char *const *args);
#define calc(name, ...) calc_v((name), (const char *const[]){__VA_ARGS__, NULL})
/* pg type of the last result. */
const char *calc_type(void);
struct arena *calc_arena(void);
void calc_fini(void);

/* An expression out of "type:text". */
struct expr *calc_arg(const char *arg);
/* A call as the binder makes it: resolved, arguments coerced. */
struct err *calc_bind(
    const char *name, struct expr **args, uint32_t n, struct expr **out);

#endif
