/* The four operations, rounding, and sums. */
#include "expr/numeric_int.h"

#define SIG_DIGITS_MIN 16 /* of a quotient */

static bool
both_finite(const struct num *x, const struct num *y)
{
	return x->cls == NUM_FINITE && y->cls == NUM_FINITE;
}

static int
sign_of(const struct num *n)
{
	return n->cls == NUM_FINITE   ? mpz_sgn(n->m)
	       : n->cls == NUM_NEGINF ? -1
				      : 1;
}

static enum num_cls
inf_of(int sign)
{
	return sign < 0 ? NUM_NEGINF : NUM_POSINF;
}

/* Ends both operands; the result is a special value. */
static struct err *
give_special(struct arena *a, struct num *x, struct num *y, enum num_cls cls,
    struct str *out)
{
	num_fini(x);
	num_fini(y);
	*out = num_special(a, cls);
	return NULL;
}

struct str
num_neg(struct arena *a, struct str x)
{
	struct str out;
	struct num n;

	num_load(&n, x);
	if (n.cls == NUM_POSINF)
		n.cls = NUM_NEGINF;
	else if (n.cls == NUM_NEGINF)
		n.cls = NUM_POSINF;
	mpz_neg(n.m, n.m);
	out = num_pack(a, &n);
	num_fini(&n);
	return out;
}

struct str
num_abs(struct arena *a, struct str x)
{
	return num_sign(x) < 0 ? num_neg(a, x) : x;
}

static void
align(struct num *x, struct num *y)
{
	if (x->scale < y->scale)
		num_rescale(x, y->scale, NUM_TRUNC);
	else
		num_rescale(y, x->scale, NUM_TRUNC);
}

static struct err *
add_signed(struct arena *a, struct num *p, struct num *q, struct str *out)
{
	if (!both_finite(p, q)) {
		enum num_cls cls = p->cls == NUM_FINITE   ? q->cls
				   : q->cls == NUM_FINITE ? p->cls
				   : p->cls == q->cls     ? p->cls
							  : NUM_NAN;
		return give_special(a, p, q, cls, out);
	}
	align(p, q);
	mpz_add(p->m, p->m, q->m);
	num_fini(q);
	return num_store(a, p, out);
}

struct err *
num_add(struct arena *a, struct str x, struct str y, struct str *out)
{
	struct num p, q;

	num_load(&p, x);
	num_load(&q, y);
	return add_signed(a, &p, &q, out);
}

struct err *
num_sub(struct arena *a, struct str x, struct str y, struct str *out)
{
	struct num p, q;

	num_load(&p, x);
	num_load(&q, y);
	mpz_neg(q.m, q.m);
	if (q.cls == NUM_POSINF || q.cls == NUM_NEGINF)
		q.cls = inf_of(-sign_of(&q));
	return add_signed(a, &p, &q, out);
}

struct err *
num_mul(struct arena *a, struct str x, struct str y, struct str *out)
{
	struct num p, q;
	int sign;

	num_load(&p, x);
	num_load(&q, y);
	if (!both_finite(&p, &q)) {
		sign = sign_of(&p) * sign_of(&q);
		return give_special(a, &p, &q,
		    p.cls == NUM_NAN || q.cls == NUM_NAN || !sign
			? NUM_NAN
			: inf_of(sign),
		    out);
	}
	mpz_mul(p.m, p.m, q.m);
	p.scale += q.scale;
	if (p.scale > NUM_SCALE_MAX)
		num_rescale(&p, NUM_SCALE_MAX, NUM_HALF_AWAY);
	num_fini(&q);
	return num_store(a, &p, out);
}

static struct err *
zero_divide(struct arena *a, struct num *x, struct num *y)
{
	num_fini(x);
	num_fini(y);
	return ERR(a, ERRCODE_DIVISION_BY_ZERO, "division by zero");
}

/* x / y where one of them is not finite. */
static struct err *
div_special(struct arena *a, struct num *p, struct num *q, struct str *out)
{
	if (p->cls == NUM_NAN || q->cls == NUM_NAN)
		return give_special(a, p, q, NUM_NAN, out);
	if (p->cls != NUM_FINITE) {
		if (q->cls != NUM_FINITE)
			return give_special(a, p, q, NUM_NAN, out);
		if (!mpz_sgn(q->m))
			return zero_divide(a, p, q);
		return give_special(
		    a, p, q, inf_of(sign_of(p) * sign_of(q)), out);
	}
	num_fini(p);
	num_fini(q);
	*out = num_of_i64(a, 0);
	return NULL;
}

/* The scale of a quotient: at least 16 significant digits and no fewer places
 * than either operand, counted in groups of four as PostgreSQL does. */
static int
div_scale(const struct num *x, const struct num *y)
{
	struct num_head hx = num_head(x), hy = num_head(y);
	int weight = hx.weight - hy.weight;
	int scale;

	if (hx.d[0] <= hy.d[0])
		weight--;
	scale = SIG_DIGITS_MIN - weight * 4;
	if (scale < x->scale)
		scale = x->scale;
	if (scale < y->scale)
		scale = y->scale;
	if (scale < 0)
		scale = 0;
	return scale > NUM_DISPLAY_MAX ? NUM_DISPLAY_MAX : scale;
}

/* p = p / q to `scale` places. */
static void
div_to(struct num *p, const struct num *q, int scale, enum num_round_mode mode)
{
	int shift = scale + q->scale - p->scale;
	mpz_t f;

	mpz_init(f);
	num_pow10(f, (unsigned long)(shift < 0 ? -shift : shift));
	if (shift >= 0) {
		mpz_mul(p->m, p->m, f);
		num_quot(p->m, p->m, q->m, mode);
	} else {
		mpz_mul(f, f, q->m);
		num_quot(p->m, p->m, f, mode);
	}
	mpz_clear(f);
	p->scale = scale;
}

static struct err *
divide(struct arena *a, struct str x, struct str y, bool whole, struct str *out)
{
	struct num p, q;

	*out = STR_NONE;
	num_load(&p, x);
	num_load(&q, y);
	if (!both_finite(&p, &q))
		return div_special(a, &p, &q, out);
	if (!mpz_sgn(q.m))
		return zero_divide(a, &p, &q);
	if (whole)
		div_to(&p, &q, 0, NUM_TRUNC);
	else
		div_to(&p, &q, div_scale(&p, &q), NUM_HALF_AWAY);
	num_fini(&q);
	return num_store(a, &p, out);
}

struct err *
num_div(struct arena *a, struct str x, struct str y, struct str *out)
{
	return divide(a, x, y, false, out);
}

struct err *
num_div_trunc(struct arena *a, struct str x, struct str y, struct str *out)
{
	return divide(a, x, y, true, out);
}

struct err *
num_mod(struct arena *a, struct str x, struct str y, struct str *out)
{
	struct num p, q;

	*out = STR_NONE;
	num_load(&p, x);
	num_load(&q, y);
	if (q.cls == NUM_FINITE && p.cls != NUM_NAN && !mpz_sgn(q.m))
		return zero_divide(a, &p, &q);
	if (p.cls != NUM_FINITE || q.cls == NUM_NAN)
		return give_special(a, &p, &q, NUM_NAN, out);
	if (q.cls == NUM_FINITE) {
		align(&p, &q);
		mpz_tdiv_r(p.m, p.m, q.m);
	}
	num_fini(&q);
	return num_store(a, &p, out);
}

/* ---- rounding ---- */

static struct err *
rescaled(struct arena *a, struct str x, long scale, enum num_round_mode mode,
    struct str *out)
{
	struct num n;

	num_load(&n, x);
	num_rescale(&n, scale, mode);
	return num_store(a, &n, out);
}

static long
clamp_scale(int scale)
{
	const int max = 2 * NUM_DISPLAY_MAX;

	return scale < -max ? -max : scale > max ? max : scale;
}

struct err *
num_round(struct arena *a, struct str x, int scale, struct str *out)
{
	return rescaled(a, x, clamp_scale(scale), NUM_HALF_AWAY, out);
}

struct err *
num_trunc(struct arena *a, struct str x, int scale, struct str *out)
{
	return rescaled(a, x, clamp_scale(scale), NUM_TRUNC, out);
}

struct err *
num_floor(struct arena *a, struct str x, struct str *out)
{
	return rescaled(a, x, 0, NUM_FLOOR, out);
}

struct err *
num_ceil(struct arena *a, struct str x, struct str *out)
{
	return rescaled(a, x, 0, NUM_CEIL, out);
}

struct str
num_trim_scale(struct arena *a, struct str x)
{
	struct str out;
	struct num n;

	num_load(&n, x);
	while (
	    n.cls == NUM_FINITE && n.scale > 0 && mpz_divisible_ui_p(n.m, 10)) {
		mpz_divexact_ui(n.m, n.m, 10);
		n.scale--;
	}
	out = num_pack(a, &n);
	num_fini(&n);
	return out;
}

/* ---- sums ---- */

struct num_sum {
	struct num n;
	bool nan, pos_inf, neg_inf;
};

static void
sum_fini(void *arg)
{
	struct num_sum *s = arg;

	num_fini(&s->n);
}

struct num_sum *
num_sum_new(struct arena *a)
{
	struct num_sum *s = NEW(a, struct num_sum);

	num_init(&s->n);
	arena_cleanup(a, sum_fini, s);
	return s;
}

void
num_sum_add(struct num_sum *s, struct str x)
{
	struct num n;

	num_load(&n, x);
	switch (n.cls) {
	case NUM_NAN:
		s->nan = true;
		break;
	case NUM_POSINF:
		s->pos_inf = true;
		break;
	case NUM_NEGINF:
		s->neg_inf = true;
		break;
	case NUM_FINITE:
		align(&s->n, &n);
		mpz_add(s->n.m, s->n.m, n.m);
		break;
	}
	num_fini(&n);
}

struct err *
num_sum_get(struct arena *a, const struct num_sum *s, struct str *out)
{
	struct num n;

	num_init(&n);
	if (s->nan || (s->pos_inf && s->neg_inf))
		n.cls = NUM_NAN;
	else if (s->pos_inf || s->neg_inf)
		n.cls = s->pos_inf ? NUM_POSINF : NUM_NEGINF;
	n.scale = s->n.scale;
	mpz_set(n.m, s->n.m);
	return num_store(a, &n, out);
}
