/* numeric in keys: a class byte; for finite values other than zero the exponent
 * and the digits, two to a byte, complemented when the value is negative. */
#include "cluster/key.h"

#include "cluster/key_int.h"

enum num_class { /* in the order of the values; on disk */
	NUM_NEG_INF = 0x10,
	NUM_NEG = 0x20,
	NUM_ZERO = 0x30,
	NUM_POS = 0x40,
	NUM_POS_INF = 0x50,
	NUM_NAN = 0x60
};

/* A pair of digits is 1 + its value, so that the end sorts below all pairs. */
#define NUM_END  0x00
#define NUM_PAIR 1

static bool
num_canonical(const struct cl_num *v)
{
	size_t n = v->digits.len;

	if (v->cls != CL_NUM_FINITE)
		return true;
	if (!v->sign)
		return !n;
	for (size_t i = 0; i < n; i++)
		if (v->digits.p[i] < '0' || v->digits.p[i] > '9')
			return false;
	return n && v->digits.p[0] != '0' && v->digits.p[n - 1] != '0';
}

static uint8_t
num_class_of(const struct cl_num *v)
{
	switch (v->cls) {
	case CL_NUM_NEG_INF:
		return NUM_NEG_INF;
	case CL_NUM_POS_INF:
		return NUM_POS_INF;
	case CL_NUM_NAN:
		return NUM_NAN;
	case CL_NUM_FINITE:
		return v->sign < 0 ? NUM_NEG : v->sign ? NUM_POS : NUM_ZERO;
	}
	UNREACHABLE();
}

static void
num_put_digits(struct buf *b, bool flip, struct str digits)
{
	uint8_t end = NUM_END;

	for (size_t i = 0; i < digits.len; i += 2) {
		int hi = digits.p[i] - '0';
		int lo = i + 1 < digits.len ? digits.p[i + 1] - '0' : 0;
		uint8_t pair = (uint8_t)(NUM_PAIR + hi * 10 + lo);

		cl_key_body(b, flip, &pair, 1);
	}
	cl_key_body(b, flip, &end, 1);
}

void
cl_key_num(
    struct buf *b, enum cl_tag t, struct cl_key_order o, const struct cl_num *v)
{
	uint8_t class = num_class_of(v);
	bool flip = o.desc != (class == NUM_NEG);

	ASSERT(num_canonical(v));
	cl_key_mark(b, t, o);
	cl_key_body(b, o.desc, &class, 1);
	if (class != NUM_NEG && class != NUM_POS)
		return;
	cl_key_int_body(b, flip, v->exp);
	num_put_digits(b, flip, v->digits);
}

/* Pairs before the end mark; false when there is none. */
static bool
num_measure(struct cur c, bool flip, size_t *pairs)
{
	for (*pairs = 0; cur_ok(&c); (*pairs)++)
		if (cl_key_body_u8(&c, flip) == NUM_END)
			return cur_ok(&c);
	return false;
}

static bool
num_read_digits(struct cur *c, bool flip, struct arena *a, struct str *out)
{
	size_t pairs, n = 0;
	char *p;

	if (!num_measure(*c, flip, &pairs) || !pairs)
		return cl_key_bad(c);
	p = arena_alloc_raw(a, pairs * 2);
	for (size_t i = 0; i < pairs; i++) {
		int pair = cl_key_body_u8(c, flip) - NUM_PAIR;

		if (pair > 99)
			return cl_key_bad(c);
		p[n++] = (char)('0' + pair / 10);
		p[n++] = (char)('0' + pair % 10);
	}
	(void)cur_u8(c); /* the end mark */
	if (p[n - 1] == '0')
		n--;
	*out = str_of(p, n);
	return true;
}

static bool
num_read_finite(struct cur *c, bool flip, struct arena *a, struct cl_num *v)
{
	int64_t exp;

	if (!cl_key_read_int_body(c, flip, &exp) || exp < INT32_MIN ||
	    exp > INT32_MAX)
		return cl_key_bad(c);
	v->exp = (int32_t)exp;
	if (!num_read_digits(c, flip, a, &v->digits))
		return false;
	return num_canonical(v) ? true : cl_key_bad(c);
}

bool
cl_key_read_num(
    struct cur *c, struct cl_key_order o, struct arena *a, struct cl_num *v)
{
	uint8_t class = cl_key_body_u8(c, o.desc);

	*v = (struct cl_num){CL_NUM_FINITE, 0, 0, STR_NONE};
	if (!cur_ok(c))
		return false;
	switch (class) {
	case NUM_NEG_INF:
		v->cls = CL_NUM_NEG_INF;
		return true;
	case NUM_POS_INF:
		v->cls = CL_NUM_POS_INF;
		return true;
	case NUM_NAN:
		v->cls = CL_NUM_NAN;
		return true;
	case NUM_ZERO:
		return true;
	case NUM_NEG:
	case NUM_POS:
		v->sign = class == NUM_NEG ? -1 : 1;
		return num_read_finite(c, o.desc != (v->sign < 0), a, v);
	default:
		return cl_key_bad(c);
	}
}
