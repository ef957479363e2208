/* Interval arithmetic that functions and aggregates share. 22008 "interval out
 * of range". */
#ifndef EXPR_INTERVAL_INT_H
#define EXPR_INTERVAL_INT_H

#include "expr/val.h"

struct err *ex_interval_add(struct arena *a, struct ex_interval x,
    struct ex_interval y, struct ex_interval *out);
struct err *ex_interval_sub(struct arena *a, struct ex_interval x,
    struct ex_interval y, struct ex_interval *out);
/* Fractions of months go to days of 30, fractions of days to time. */
struct err *ex_interval_mul(
    struct arena *a, struct ex_interval x, double by, struct ex_interval *out);
struct err *ex_interval_div(
    struct arena *a, struct ex_interval x, double by, struct ex_interval *out);

#endif
