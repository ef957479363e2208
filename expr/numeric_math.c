/* Roots, logarithms and powers.
 *
 * exp and ln work in binary fixed point: a value v is the integer v * 2^prec,
 * with at least GUARD bits more than the result shows.  The display scales are
 * PostgreSQL's: about 16 significant digits, counted in its base 10000. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "expr/numeric_int.h"

#define SIG_DIGITS_MIN 16
#define GUARD          96
#define POWER_EXACT    400000 /* bits of an exact integer power */

static unsigned long
bits_of_digits(double digits)
{
	return digits <= 0 ? 0 : (unsigned long)(digits * 3.3219281) + 1;
}

static int
clamp_display(long scale, const struct num *n)
{
	if (scale < n->scale)
		scale = n->scale;
	if (scale < 0)
		scale = 0;
	return scale > NUM_DISPLAY_MAX ? NUM_DISPLAY_MAX : (int)scale;
}

static struct err *
give_special(struct arena *a, struct num *n, enum num_cls cls, struct str *out)
{
	num_fini(n);
	*out = num_special(a, cls);
	return NULL;
}

/* ---- square root ---- */

struct err *
num_sqrt(struct arena *a, struct str x, struct str *out)
{
	struct num n;
	int scale;
	mpz_t f;

	*out = STR_NONE;
	if (num_sign(x) < 0)
		return ERR(a, ERRCODE_INVALID_ARGUMENT_FOR_POWER_FUNCTION,
		    "cannot take square root of a negative number");
	num_load(&n, x);
	if (n.cls != NUM_FINITE)
		return give_special(a, &n, n.cls, out);
	scale =
	    clamp_display(SIG_DIGITS_MIN - (num_head(&n).weight * 2 + 1), &n);
	/* sqrt(m * 10^(2(scale+1) - s)) has one digit more than shown: its
	 * floor decides the rounding, since no root ends in exactly 5. */
	mpz_init(f);
	num_pow10(f, (unsigned long)(2 * (scale + 1) - n.scale));
	mpz_mul(n.m, n.m, f);
	mpz_sqrt(n.m, n.m);
	mpz_clear(f);
	n.scale = scale + 1;
	num_rescale(&n, scale, NUM_HALF_AWAY);
	return num_store(a, &n, out);
}

/* ---- fixed point ---- */

/* v = x * 2^prec */
static void
to_fixed(mpz_t v, const struct num *x, unsigned long prec)
{
	mpz_t f;

	mpz_init(f);
	num_pow10(f, (unsigned long)x->scale);
	mpz_mul_2exp(v, x->m, prec);
	num_quot(v, v, f, NUM_HALF_AWAY);
	mpz_clear(f);
}

/* n = v / 2^prec, to scale places. */
static void
of_fixed(struct num *n, const mpz_t v, unsigned long prec, int scale)
{
	mpz_t one;

	mpz_init(one);
	num_pow10(one, (unsigned long)scale);
	mpz_mul(n->m, v, one);
	mpz_set_ui(one, 1);
	mpz_mul_2exp(one, one, prec);
	num_quot(n->m, n->m, one, NUM_HALF_AWAY);
	mpz_clear(one);
	n->cls = NUM_FINITE;
	n->scale = scale;
}

/* sum = 2 * atanh(y) for |y| well below 1, fixed point. */
static void
fixed_atanh2(mpz_t sum, const mpz_t y, unsigned long prec)
{
	mpz_t term, sq, part;

	mpz_inits(term, sq, part, NULL);
	mpz_set(term, y);
	mpz_set(sum, y);
	mpz_mul(sq, y, y);
	mpz_fdiv_q_2exp(sq, sq, prec);
	for (unsigned long k = 3; mpz_sgn(term); k += 2) {
		mpz_mul(term, term, sq);
		mpz_tdiv_q_2exp(term, term, prec);
		mpz_tdiv_q_ui(part, term, k);
		mpz_add(sum, sum, part);
	}
	mpz_mul_2exp(sum, sum, 1);
	mpz_clears(term, sq, part, NULL);
}

/* ln 2 = 18 atanh(1/26) - 2 atanh(1/4801) + 8 atanh(1/8749) */
static void
fixed_ln2(mpz_t out, unsigned long prec)
{
	static const struct {
		long factor;
		unsigned long inverse;
	} parts[] = {{9, 26}, {-1, 4801}, {4, 8749}};
	mpz_t y, t;

	mpz_inits(y, t, NULL);
	mpz_set_ui(out, 0);
	for (size_t i = 0; i < 3; i++) {
		mpz_set_ui(y, 1);
		mpz_mul_2exp(y, y, prec);
		mpz_tdiv_q_ui(y, y, parts[i].inverse);
		fixed_atanh2(t, y, prec);
		mpz_mul_si(t, t, parts[i].factor);
		mpz_add(out, out, t);
	}
	mpz_clears(y, t, NULL);
}

/* out = ln(x) * 2^prec for x > 0. */
static void
fixed_ln(mpz_t out, const struct num *x, unsigned long prec)
{
	unsigned long work = prec + 64;
	mpz_t v, one, t;
	long shift;

	mpz_inits(v, one, t, NULL);
	/* Small values keep their leading bits. */
	shift = (long)(bits_of_digits(x->scale) + work);
	to_fixed(v, x, (unsigned long)shift);
	/* x = v * 2^-shift = f * 2^e with f in [0.75, 1.5) */
	shift = (long)mpz_sizeinbase(v, 2) - shift;
	if (mpz_tstbit(v, mpz_sizeinbase(v, 2) - 2) == 0)
		shift--;
	{
		long drop = (long)bits_of_digits(x->scale) + shift;

		if (drop >= 0)
			mpz_fdiv_q_2exp(v, v, (unsigned long)drop);
		else
			mpz_mul_2exp(v, v, (unsigned long)-drop);
	}
	/* 2 atanh((f - 1) / (f + 1)) */
	mpz_set_ui(one, 1);
	mpz_mul_2exp(one, one, work);
	mpz_add(t, v, one);
	mpz_sub(v, v, one);
	mpz_mul_2exp(v, v, work);
	mpz_tdiv_q(v, v, t);
	fixed_atanh2(out, v, work);
	if (shift) {
		fixed_ln2(t, work);
		mpz_mul_si(t, t, shift);
		mpz_add(out, out, t);
	}
	mpz_fdiv_q_2exp(out, out, 64);
	mpz_clears(v, one, t, NULL);
}

/* v = exp(v); halved 2^k-fold first, then squared k times. */
static void
fixed_exp(mpz_t v, unsigned long prec)
{
	long mag = (long)mpz_sizeinbase(v, 2) - (long)prec;
	unsigned long k = mag + 16 > 0 ? (unsigned long)mag + 16 : 0;
	mpz_t sum, term;

	mpz_inits(sum, term, NULL);
	mpz_fdiv_q_2exp(v, v, k);
	mpz_set_ui(sum, 1);
	mpz_mul_2exp(sum, sum, prec);
	mpz_set(term, sum);
	for (unsigned long i = 1; mpz_sgn(term); i++) {
		mpz_mul(term, term, v);
		mpz_tdiv_q_2exp(term, term, prec);
		mpz_tdiv_q_ui(term, term, i);
		mpz_add(sum, sum, term);
	}
	for (; k; k--) {
		mpz_mul(sum, sum, sum);
		mpz_fdiv_q_2exp(sum, sum, prec);
	}
	mpz_set(v, sum);
	mpz_clears(sum, term, NULL);
}

/* ---- scales ---- */

/* About the decimal weight of ln(x): how many digits it has before the point,
 * as PostgreSQL estimates it. */
static int
ln_weight(struct arena *a, struct str x)
{
	struct str one = num_of_i64(a, 1);
	struct num_head h;
	double digits, ln;
	struct num n;
	int weight;

	if (num_cmp(x, num_of_scaled(a, 9, 1)) >= 0 &&
	    num_cmp(x, num_of_scaled(a, 11, 1)) <= 0) {
		/* ln(1 + d) is about d. */
		struct num o;

		num_load(&n, x);
		num_load(&o, one);
		num_rescale(&o, n.scale, NUM_TRUNC);
		mpz_sub(n.m, n.m, o.m);
		h = num_head(&n);
		num_fini(&n);
		num_fini(&o);
		return h.n ? h.weight * 4 + (int)log10(h.d[0]) : 0;
	}
	num_load(&n, x);
	h = num_head(&n);
	num_fini(&n);
	if (!h.n)
		return 0;
	digits = h.d[0];
	weight = h.weight * 4;
	if (h.n > 1) {
		digits = digits * 10000 + h.d[1];
		weight -= 4;
	}
	ln = log(digits) + weight * 2.302585092994046;
	return (int)log10(fabs(ln));
}

/* ---- exp, ln, log ---- */

struct err *
num_exp(struct arena *a, struct str x, struct str *out)
{
	double val = num_approx(x), weight;
	unsigned long prec;
	struct num n;
	int scale;
	mpz_t v;

	*out = STR_NONE;
	num_load(&n, x);
	if (n.cls == NUM_NEGINF) {
		num_fini(&n);
		*out = num_of_i64(a, 0);
		return NULL;
	}
	if (n.cls != NUM_FINITE)
		return give_special(a, &n, n.cls, out);
	weight = val * 0.434294481903252;
	weight = fmax(-2 * NUM_DISPLAY_MAX, fmin(2 * NUM_DISPLAY_MAX, weight));
	scale = clamp_display(SIG_DIGITS_MIN - (int)weight, &n);
	if (fabs(val) >= 6 * NUM_DISPLAY_MAX) {
		mpz_set_ui(n.m, 0);
		n.scale = scale;
		if (val < 0)
			return num_store(a, &n, out);
		num_fini(&n);
		return num_overflow(a);
	}
	prec = bits_of_digits(scale + fabs(val) * 0.5) + GUARD;
	mpz_init(v);
	to_fixed(v, &n, prec);
	fixed_exp(v, prec);
	of_fixed(&n, v, prec, scale);
	mpz_clear(v);
	return num_store(a, &n, out);
}

static struct err *
check_log(struct arena *a, struct str x)
{
	int sign = num_sign(x);

	if (sign > 0)
		return NULL;
	return ERR(a, ERRCODE_INVALID_ARGUMENT_FOR_LOG, "%s",
	    sign ? "cannot take logarithm of a negative number"
		 : "cannot take logarithm of zero");
}

struct err *
num_ln(struct arena *a, struct str x, struct str *out)
{
	unsigned long prec;
	struct num n;
	int scale;
	mpz_t v;

	*out = STR_NONE;
	TRY(check_log(a, x));
	num_load(&n, x);
	if (n.cls != NUM_FINITE)
		return give_special(a, &n, n.cls, out);
	scale = clamp_display(SIG_DIGITS_MIN - ln_weight(a, x), &n);
	prec = bits_of_digits(scale) + GUARD;
	mpz_init(v);
	fixed_ln(v, &n, prec);
	of_fixed(&n, v, prec, scale);
	mpz_clear(v);
	return num_store(a, &n, out);
}

static struct err *
log_special(struct arena *a, struct num *b, struct num *n, struct str *out)
{
	bool nan = b->cls == NUM_NAN || n->cls == NUM_NAN ||
		   (b->cls != NUM_FINITE && n->cls != NUM_FINITE);
	bool base_inf = b->cls != NUM_FINITE;

	num_fini(b);
	/* log(inf, x) = 0, log(b, inf) = inf */
	if (nan || !base_inf)
		return give_special(a, n, nan ? NUM_NAN : NUM_POSINF, out);
	num_fini(n);
	*out = num_of_i64(a, 0);
	return NULL;
}

struct err *
num_log(struct arena *a, struct str base, struct str x, struct str *out)
{
	int wb, wx, scale;
	struct num b, n;
	unsigned long prec;
	mpz_t lb, lx;

	*out = STR_NONE;
	if (!num_is_nan(base) && !num_is_nan(x)) {
		TRY(check_log(a, base));
		TRY(check_log(a, x));
	}
	num_load(&b, base);
	num_load(&n, x);
	if (b.cls != NUM_FINITE || n.cls != NUM_FINITE)
		return log_special(a, &b, &n, out);
	wb = ln_weight(a, base);
	wx = ln_weight(a, x);
	scale = clamp_display(SIG_DIGITS_MIN - (wx - wb), &b);
	scale = clamp_display(scale, &n);
	prec = bits_of_digits(scale + 2 * abs(wb) + abs(wx)) + GUARD;
	mpz_inits(lb, lx, NULL);
	fixed_ln(lb, &b, prec);
	fixed_ln(lx, &n, prec);
	num_fini(&b);
	if (mpz_sgn(lb)) {
		mpz_mul_2exp(lx, lx, prec);
		num_quot(lx, lx, lb, NUM_HALF_AWAY);
		of_fixed(&n, lx, prec, scale);
	}
	scale = mpz_sgn(lb);
	mpz_clears(lb, lx, NULL);
	if (!scale) {
		num_fini(&n);
		return ERR(a, ERRCODE_DIVISION_BY_ZERO, "division by zero");
	}
	return num_store(a, &n, out);
}

/* ---- power ---- */

static bool
is_integer(const struct num *n)
{
	struct num t;
	bool same;

	if (n->cls != NUM_FINITE)
		return n->cls != NUM_NAN;
	num_init(&t);
	mpz_set(t.m, n->m);
	t.scale = n->scale;
	num_rescale(&t, 0, NUM_TRUNC);
	num_rescale(&t, n->scale, NUM_TRUNC);
	same = mpz_cmp(t.m, n->m) == 0;
	num_fini(&t);
	return same;
}

/* n is an integer. */
static bool
is_odd(const struct num *n)
{
	struct num t;
	bool odd;

	num_init(&t);
	mpz_set(t.m, n->m);
	t.scale = n->scale;
	num_rescale(&t, 0, NUM_TRUNC);
	odd = mpz_odd_p(t.m);
	num_fini(&t);
	return odd;
}

/* n = base^exp by logarithms; the sign comes from the caller. */
static void
power_by_ln(
    struct num *n, struct num *base, const mpz_t exp, int exp_scale, int scale)
{
	unsigned long prec;
	double weight;
	mpz_t v, f;

	mpz_abs(base->m, base->m);
	/* The result has at most 131072 digits before the point. */
	weight = (double)mpz_sizeinbase(exp, 10) + 8;
	prec = bits_of_digits(scale + weight) + GUARD;
	mpz_inits(v, f, NULL);
	num_pow10(f, (unsigned long)exp_scale);
	for (int pass = 0;; pass++) {
		double digits;

		fixed_ln(v, base, prec);
		mpz_mul(v, v, exp);
		num_quot(v, v, f, NUM_HALF_AWAY);
		if (pass)
			break;
		/* Now that its size is known: enough for the integer part. */
		mpz_fdiv_q_2exp(v, v, prec);
		digits = fmax(0, mpz_get_d(v) * 0.4343) + 2;
		prec += bits_of_digits(digits) + 64;
	}
	fixed_exp(v, prec);
	of_fixed(n, v, prec, scale);
	mpz_clears(v, f, NULL);
}

/* n = base^e exactly, then rounded; false when that is too large. */
static bool
power_exact(struct num *n, const struct num *base, long e, int scale)
{
	unsigned long u = e < 0 ? (unsigned long)-e : (unsigned long)e;
	mpz_t p, f;

	if ((double)mpz_sizeinbase(base->m, 2) * (double)u > POWER_EXACT ||
	    (double)base->scale * (double)u > POWER_EXACT)
		return false;
	mpz_inits(p, f, NULL);
	mpz_pow_ui(p, base->m, u);
	if (e >= 0) {
		mpz_set(n->m, p);
		n->scale = base->scale * (int)u;
		num_rescale(n, scale, NUM_HALF_AWAY);
	} else {
		num_pow10(
		    f, (unsigned long)base->scale * u + (unsigned long)scale);
		num_quot(n->m, f, p, NUM_HALF_AWAY);
		n->scale = scale;
	}
	mpz_clears(p, f, NULL);
	return true;
}

/* n = base^e in binary floating point with bits to spare: exponents go up to
 * 2^31, each multiplication loses less than a bit. `digits`: of the result
 * before its point. */
static void
power_float(
    struct num *n, const struct num *base, long e, double digits, int scale)
{
	unsigned long u = e < 0 ? (unsigned long)-e : (unsigned long)e;
	unsigned long prec = bits_of_digits(fmax(digits, 0) + scale) + GUARD;
	mpf_t v, f;
	mpz_t ten;

	mpz_init(ten);
	mpf_init2(v, prec);
	mpf_init2(f, prec);
	num_pow10(ten, (unsigned long)base->scale);
	mpf_set_z(v, base->m);
	mpf_set_z(f, ten);
	mpf_div(v, v, f);
	mpf_pow_ui(v, v, u);
	if (e < 0)
		mpf_ui_div(v, 1, v);
	/* One digit more than shown, then rounded. */
	num_pow10(ten, (unsigned long)scale + 1);
	mpf_set_z(f, ten);
	mpf_mul(v, v, f);
	mpz_set_f(n->m, v);
	n->scale = scale + 1;
	num_rescale(n, scale, NUM_HALF_AWAY);
	mpf_clear(v);
	mpf_clear(f);
	mpz_clear(ten);
}

static struct err *
give_zero(struct arena *a, struct num *n, int scale, struct str *out)
{
	mpz_set_ui(n->m, 0);
	n->cls = NUM_FINITE;
	n->scale = scale;
	return num_store(a, n, out);
}

/* log10 of |base|, from its first 16 digits or so. */
static double
log10_of(const struct num *base)
{
	struct num_head h = num_head(base);
	double f = h.d[0];
	int p = h.weight * 4;

	for (int i = 1; i < h.n && i * 4 < 16; i++) {
		f = f * 10000 + h.d[i];
		p -= 4;
	}
	return log10(f) + p;
}

static struct err *
power_int(struct arena *a, struct num *base, long e, struct str *out)
{
	double f = mpz_sgn(base->m) ? (double)e * log10_of(base) : 0;
	struct num n;
	int scale;

	if (f > NUM_INT_DIGITS)
		return num_overflow(a);
	num_init(&n);
	/* As PostgreSQL 15 has it: not by the size of the result. */
	scale = clamp_display(SIG_DIGITS_MIN, base);
	if ((!mpz_sgn(base->m) && e != 0) || f + 1 < -scale)
		return give_zero(a, &n, scale, out);
	if (!power_exact(&n, base, e, scale))
		power_float(&n, base, e, f, scale);
	return num_store(a, &n, out);
}

/* e * ln(base), from ln(base) to about eight digits: what the result's scale
 * is chosen by. */
static double
ln_of_power(struct arena *a, const struct num *base, const struct num *e)
{
	int scale = 8 - ln_weight(a, num_pack(a, base));
	unsigned long prec;
	struct num n;
	double v;
	mpz_t ln;

	if (scale < 0)
		scale = 0;
	if (scale > NUM_SCALE_MAX)
		scale = NUM_SCALE_MAX;
	prec = bits_of_digits(scale) + GUARD;
	num_init(&n);
	mpz_init(ln);
	fixed_ln(ln, base, prec);
	of_fixed(&n, ln, prec, scale);
	mpz_mul(n.m, n.m, e->m);
	n.scale += e->scale;
	num_rescale(&n, scale, NUM_HALF_AWAY);
	v = num_approx(num_pack(a, &n));
	mpz_clear(ln);
	num_fini(&n);
	return v;
}

/* base > 0 and any finite exponent. */
static struct err *
power_real(struct arena *a, struct num *base, struct num *e, struct str *out)
{
	double approx = ln_of_power(a, base, e);
	struct num n;
	int scale;

	if (fabs(approx) > 2 * NUM_DISPLAY_MAX * 3.01) {
		if (approx > 0)
			return num_overflow(a);
		num_init(&n);
		return give_zero(a, &n, NUM_DISPLAY_MAX, out);
	}
	scale = SIG_DIGITS_MIN - (int)(approx * 0.434294481903252);
	scale = clamp_display(clamp_display(scale, base), e);
	num_init(&n);
	power_by_ln(&n, base, e->m, e->scale, scale);
	return num_store(a, &n, out);
}

static struct err *
power_finite(struct arena *a, struct num *x, struct num *y, struct str *out)
{
	struct num t;
	long e;

	if (is_integer(y)) {
		num_init(&t);
		mpz_set(t.m, y->m);
		t.scale = y->scale;
		num_rescale(&t, 0, NUM_TRUNC);
		e = mpz_fits_sint_p(t.m) ? mpz_get_si(t.m) : LONG_MAX;
		num_fini(&t);
		if (e != LONG_MAX)
			return power_int(a, x, e, out);
	}
	if (!mpz_sgn(x->m)) {
		num_init(&t);
		return give_zero(a, &t, SIG_DIGITS_MIN, out);
	}
	if (mpz_sgn(x->m) < 0) {
		struct str r;

		if (!is_integer(y))
			return ERR(a,
			    ERRCODE_INVALID_ARGUMENT_FOR_POWER_FUNCTION,
			    "a negative number raised to a non-integer power "
			    "yields a complex result");
		e = is_odd(y);
		mpz_neg(x->m, x->m);
		TRY(power_real(a, x, y, &r));
		*out = e ? num_neg(a, r) : r;
		return NULL;
	}
	return power_real(a, x, y, out);
}

/* At least one of the two is not finite. */
static enum num_cls
power_special(struct num *x, struct num *y, struct str one, struct str px,
    struct str *finite, struct arena *a)
{
	int sx = num_sign(px);
	bool big;

	*finite = STR_NONE;
	if (x->cls == NUM_NAN || y->cls == NUM_NAN) {
		if ((y->cls == NUM_FINITE && !mpz_sgn(y->m)) ||
		    (x->cls == NUM_FINITE && num_cmp(px, one) == 0))
			*finite = one;
		return NUM_NAN;
	}
	if (y->cls == NUM_FINITE) {
		/* x is infinite */
		if (!mpz_sgn(y->m))
			*finite = one;
		else if (mpz_sgn(y->m) < 0)
			*finite = num_of_i64(a, 0);
		if (sx < 0 && is_odd(y))
			return NUM_NEGINF;
		return NUM_POSINF;
	}
	if (num_cmp(num_abs(a, px), one) == 0) {
		*finite = one;
		return NUM_POSINF;
	}
	big = num_cmp(num_abs(a, px), one) > 0;
	if (!sx || big != (y->cls == NUM_POSINF))
		*finite = num_of_i64(a, 0);
	return NUM_POSINF;
}

struct err *
num_power(struct arena *a, struct str x, struct str y, struct str *out)
{
	struct err *e = NULL;
	struct num p, q;

	*out = STR_NONE;
	if (!num_sign(x) && num_sign(y) < 0)
		return ERR(a, ERRCODE_INVALID_ARGUMENT_FOR_POWER_FUNCTION,
		    "zero raised to a negative power is undefined");
	num_load(&p, x);
	num_load(&q, y);
	if (p.cls == NUM_FINITE && q.cls == NUM_FINITE) {
		e = power_finite(a, &p, &q, out);
	} else if (p.cls == NUM_NEGINF && !is_integer(&q) &&
		   q.cls == NUM_FINITE) {
		e = ERR(a, ERRCODE_INVALID_ARGUMENT_FOR_POWER_FUNCTION,
		    "a negative number raised to a non-integer power yields a "
		    "complex result");
	} else {
		struct str finite;
		enum num_cls cls =
		    power_special(&p, &q, num_of_i64(a, 1), x, &finite, a);

		*out = finite.len ? finite : num_special(a, cls);
	}
	num_fini(&p);
	num_fini(&q);
	return e;
}

struct err *
num_factorial(struct arena *a, uint32_t n, struct str *out)
{
	struct num r;

	*out = STR_NONE;
	num_init(&r);
	mpz_fac_ui(r.m, n);
	return num_store(a, &r, out);
}
