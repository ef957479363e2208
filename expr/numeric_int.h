/* Inside numeric: the unpacked form. */
#ifndef EXPR_NUMERIC_INT_H
#define EXPR_NUMERIC_INT_H

#include <gmp.h>

#include "expr/numeric.h"

enum num_cls { NUM_NAN, NUM_NEGINF, NUM_POSINF, NUM_FINITE };

/* m / 10^scale.  num_load and num_init pair with num_fini or num_store. */
struct num {
	enum num_cls cls;
	int scale;
	mpz_t m;
};

void num_init(struct num *n);
void num_load(struct num *n, struct str x);
void num_fini(struct num *n);
/* Packs and ends n; 22003 when it is beyond the limits. */
struct err *num_store(struct arena *a, struct num *n, struct str *out);
/* Packs without ending and without limits. */
struct str num_pack(struct arena *a, const struct num *n);
struct str num_special(struct arena *a, enum num_cls cls);
struct err *num_overflow(struct arena *a) MUST_USE;
/* Applies a typmod (-1: none), packs and ends n. */
struct err *num_coerce(
    struct arena *a, struct num *n, int32_t typmod, struct str *out);

void num_pow10(mpz_t out, unsigned long n);
/* Decimal digits of |m|; 0 for 0. Exact. */
long num_digits(const mpz_t m);
enum num_round_mode { NUM_HALF_AWAY, NUM_TRUNC, NUM_FLOOR, NUM_CEIL };
/* To `scale` digits after the point (may be negative); n->scale becomes
 * max(scale, 0). */
void num_rescale(struct num *n, long scale, enum num_round_mode mode);
/* q = x / y, rounded half away from zero or cut. */
void num_quot(mpz_t q, const mpz_t x, const mpz_t y, enum num_round_mode mode);

/* Where a value sits in base 10000, which is what PostgreSQL's scale rules
 * count in: value = d0.d1d2... * 10000^weight; all 0 for zero. */
struct num_head {
	int n; /* how many of d are significant, at most 5 */
	int weight;
	int d[5];
};
struct num_head num_head(const struct num *n);

#endif
