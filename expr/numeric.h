/* numeric: exact decimals with a display scale, NaN and infinities.
 *
 * Packed form, in values and in rows (golden vectors; never changes meaning):
 * a varint head and a magnitude.
 *
 *   head  0 = NaN, 1 = -Infinity, 2 = +Infinity (no magnitude),
 *         else 4 + 2 * dscale + (1 if negative)
 *   magnitude  little-endian bytes without a high zero byte; the value is
 *              magnitude / 10^dscale; zero has none and is not negative
 *
 * One value with one display scale has exactly one packed form.  At most
 * NUM_INT_DIGITS digits before the point and NUM_SCALE_MAX after it.
 *
 * Every function takes well-formed packed forms (what num_check accepts) and
 * allocates results and errors in `a`.  Overflow is 22003 "value overflows
 * numeric format". */
#ifndef EXPR_NUMERIC_H
#define EXPR_NUMERIC_H

#include "cluster/key.h"
#include "expr/val.h"

#define NUM_SCALE_MAX   16383
#define NUM_INT_DIGITS  131072
#define NUM_DISPLAY_MAX 1000 /* scale of quotients, roots, powers; typmods */

/* ---- in and out ---- */
bool num_check(struct str x);
/* Text as PostgreSQL's numeric_in; 22P02, 22003. */
struct err *num_parse(struct arena *a, struct str text, struct str *out);
void num_text(struct buf *b, struct str x);
struct str num_of_i64(struct arena *a, int64_t v);
struct str num_of_i128(struct arena *a, __int128 v);
/* `mag` / 10^scale with a sign of its own: 12.34 is (1234, 2). */
struct str num_of_scaled(struct arena *a, int64_t mag, int scale);
/* As casts do: to 15 (double) or 6 (real) significant digits. */
struct str num_of_double(struct arena *a, double v);
struct str num_of_real(struct arena *a, double v);
/* Rounds half away from zero; type is EX_INT2, EX_INT4 or EX_INT8. 22003
 * "integer out of range"; 0A000 for NaN and infinities. */
struct err *num_to_int(
    struct arena *a, struct str x, uint32_t type, int64_t *out);
/* 22003 when x is beyond the type's range; type is EX_FLOAT4 or EX_FLOAT8. */
struct err *num_to_double(
    struct arena *a, struct str x, uint32_t type, double *out);
/* For estimates: never fails, +-inf beyond the range. */
double num_approx(struct str x);

/* ---- facts ---- */
bool num_is_nan(struct str x);
bool num_is_inf(struct str x);
/* -1, 0, 1; NaN counts as 1. */
int num_sign(struct str x);
/* Display scale; -1 for NaN and infinities. */
int num_scale(struct str x);
/* NaN equals itself and sorts above all. */
int num_cmp(struct str x, struct str y);

/* ---- arithmetic: PostgreSQL's result scales ---- */
struct str num_neg(struct arena *a, struct str x);
struct str num_abs(struct arena *a, struct str x);
struct err *num_add(
    struct arena *a, struct str x, struct str y, struct str *out);
struct err *num_sub(
    struct arena *a, struct str x, struct str y, struct str *out);
struct err *num_mul(
    struct arena *a, struct str x, struct str y, struct str *out);
/* 22012 when y is zero, for the next three. */
struct err *num_div(
    struct arena *a, struct str x, struct str y, struct str *out);
struct err *num_div_trunc(struct arena *a, struct str x, struct str y,
    struct str *out); /* div(x, y) */
struct err *num_mod(
    struct arena *a, struct str x, struct str y, struct str *out);
/* scale may be negative (round(1234, -2) is 1200). */
struct err *num_round(
    struct arena *a, struct str x, int scale, struct str *out);
struct err *num_trunc(
    struct arena *a, struct str x, int scale, struct str *out);
struct err *num_floor(struct arena *a, struct str x, struct str *out);
struct err *num_ceil(struct arena *a, struct str x, struct str *out);
/* Drops zeros at the end of the fraction. */
struct str num_trim_scale(struct arena *a, struct str x);
struct err *num_sqrt(struct arena *a, struct str x, struct str *out);
struct err *num_exp(struct arena *a, struct str x, struct str *out);
struct err *num_ln(struct arena *a, struct str x, struct str *out);
struct err *num_log(
    struct arena *a, struct str base, struct str x, struct str *out);
struct err *num_power(
    struct arena *a, struct str x, struct str y, struct str *out);
struct err *num_factorial(struct arena *a, uint32_t n, struct str *out);
/* numeric(p,s): rounds to the scale; 22003 "numeric field overflow". typmod as
 * in pg_attribute; -1 changes nothing. */
struct err *num_typmod(
    struct arena *a, struct str x, int32_t typmod, struct str *out);

/* ---- sums that leave no garbage: sum() and avg() ---- */
struct num_sum;
struct num_sum *num_sum_new(struct arena *a);
void num_sum_add(struct num_sum *s, struct str x);
/* The sum so far, in a. */
struct err *num_sum_get(
    struct arena *a, const struct num_sum *s, struct str *out);

/* ---- keys ---- */
/* The parts of x for cl_key_num; digits live in a. */
void num_to_key(struct arena *a, struct str x, struct cl_num *out);
/* Back, with the smallest scale that holds the value; false beyond the
 * limits. */
bool num_of_key(struct arena *a, const struct cl_num *n, struct str *out);

#endif
