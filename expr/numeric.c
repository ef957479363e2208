#include "expr/numeric.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "expr/numeric_int.h"

#define HEAD_FINITE 4u

/* ---- the packed form ---- */

void
num_init(struct num *n)
{
	n->cls = NUM_FINITE;
	n->scale = 0;
	mpz_init(n->m);
}

void
num_fini(struct num *n)
{
	mpz_clear(n->m);
}

static bool
unpack(struct str x, enum num_cls *cls, int *scale, bool *neg, struct str *mag)
{
	struct cur c = cur_of(x);
	uint64_t head = cur_varint(&c);

	if (!cur_ok(&c))
		return false;
	*mag = str_of(c.p, c.left);
	*scale = 0;
	*neg = false;
	if (head <= 2) {
		*cls = head == 0   ? NUM_NAN
		       : head == 1 ? NUM_NEGINF
				   : NUM_POSINF;
		return !mag->len;
	}
	if (head < HEAD_FINITE || head > HEAD_FINITE + 2 * NUM_SCALE_MAX + 1)
		return false;
	*cls = NUM_FINITE;
	*scale = (int)((head - HEAD_FINITE) / 2);
	*neg = (head - HEAD_FINITE) & 1;
	return true;
}

bool
num_check(struct str x)
{
	enum num_cls cls;
	struct str mag;
	struct num n;
	bool neg, ok;
	int scale;

	if (!unpack(x, &cls, &scale, &neg, &mag))
		return false;
	if (!mag.len)
		return !neg;
	/* 131072 + 16383 digits take fewer than 61,250 bytes. */
	if (!mag.p[mag.len - 1] || mag.len > 61250)
		return false;
	if (mag.len <= 8)
		return true;
	num_load(&n, x);
	ok = num_digits(n.m) - n.scale <= NUM_INT_DIGITS;
	num_fini(&n);
	return ok;
}

void
num_load(struct num *n, struct str x)
{
	struct str mag;
	bool neg;

	num_init(n);
	if (!unpack(x, &n->cls, &n->scale, &neg, &mag))
		UNREACHABLE();
	if (!mag.len)
		return;
	mpz_import(n->m, mag.len, -1, 1, 0, 0, mag.p);
	if (neg)
		mpz_neg(n->m, n->m);
}

struct str
num_special(struct arena *a, enum num_cls cls)
{
	uint8_t head = cls == NUM_NAN ? 0 : cls == NUM_NEGINF ? 1 : 2;

	ASSERT(cls != NUM_FINITE);
	return str_of(arena_dup(a, &head, 1), 1);
}

struct str
num_pack(struct arena *a, const struct num *n)
{
	size_t bytes = (mpz_sizeinbase(n->m, 2) + 7) / 8;
	struct buf b;
	size_t got;
	void *p;

	if (n->cls != NUM_FINITE)
		return num_special(a, n->cls);
	buf_init(&b, a);
	buf_reserve(&b, bytes + 4);
	buf_varint(
	    &b, HEAD_FINITE + 2 * (uint64_t)n->scale + (mpz_sgn(n->m) < 0));
	if (mpz_sgn(n->m)) {
		p = buf_reserve(&b, bytes);
		mpz_export(p, &got, -1, 1, 0, 0, n->m);
		ASSERT(got == bytes);
		b.len += bytes;
	}
	return buf_view(&b);
}

struct err *
num_overflow(struct arena *a)
{
	return ERR(a, ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
	    "value overflows numeric format");
}

struct err *
num_store(struct arena *a, struct num *n, struct str *out)
{
	bool fits = n->cls != NUM_FINITE ||
		    (n->scale <= NUM_SCALE_MAX &&
			(mpz_size(n->m) <= 1 ||
			    num_digits(n->m) - n->scale <= NUM_INT_DIGITS));

	*out = STR_NONE;
	if (fits)
		*out = num_pack(a, n);
	num_fini(n);
	return fits ? NULL : num_overflow(a);
}

/* ---- decimal helpers ---- */

void
num_pow10(mpz_t out, unsigned long n)
{
	mpz_ui_pow_ui(out, 10, n);
}

long
num_digits(const mpz_t m)
{
	size_t n = mpz_sizeinbase(m, 10);
	mpz_t p;

	if (!mpz_sgn(m))
		return 0;
	/* mpz_sizeinbase may be one too many. */
	mpz_init(p);
	num_pow10(p, n - 1);
	if (mpz_cmpabs(m, p) < 0)
		n--;
	mpz_clear(p);
	return (long)n;
}

void
num_quot(mpz_t q, const mpz_t x, const mpz_t y, enum num_round_mode mode)
{
	/* q may be x, and the quotient 0: its sign is that of x / y. */
	bool neg = (mpz_sgn(x) < 0) != (mpz_sgn(y) < 0);
	mpz_t r;

	switch (mode) {
	case NUM_TRUNC:
		mpz_tdiv_q(q, x, y);
		return;
	case NUM_FLOOR:
		mpz_fdiv_q(q, x, y);
		return;
	case NUM_CEIL:
		mpz_cdiv_q(q, x, y);
		return;
	case NUM_HALF_AWAY:
		break;
	}
	mpz_init(r);
	mpz_tdiv_qr(q, r, x, y);
	mpz_mul_2exp(r, r, 1);
	if (mpz_cmpabs(r, y) >= 0) {
		if (neg)
			mpz_sub_ui(q, q, 1);
		else
			mpz_add_ui(q, q, 1);
	}
	mpz_clear(r);
}

static void
drop_digits(struct num *n, long drop, enum num_round_mode mode)
{
	mpz_t p;

	/* Far beyond the last digit: no need to build the power. */
	if (drop > (long)mpz_sizeinbase(n->m, 10) + 1) {
		int sign = mpz_sgn(n->m);

		mpz_set_si(n->m, mode == NUM_FLOOR && sign < 0  ? -1
				 : mode == NUM_CEIL && sign > 0 ? 1
								: 0);
		return;
	}
	mpz_init(p);
	num_pow10(p, (unsigned long)drop);
	num_quot(n->m, n->m, p, mode);
	mpz_clear(p);
}

static void
add_digits(struct num *n, long add)
{
	mpz_t p;

	if (!add || !mpz_sgn(n->m))
		return;
	mpz_init(p);
	num_pow10(p, (unsigned long)add);
	mpz_mul(n->m, n->m, p);
	mpz_clear(p);
}

void
num_rescale(struct num *n, long scale, enum num_round_mode mode)
{
	if (n->cls != NUM_FINITE)
		return;
	if (scale < n->scale)
		drop_digits(n, n->scale - scale, mode);
	else
		add_digits(n, scale - n->scale);
	if (scale < 0) {
		add_digits(n, -scale);
		scale = 0;
	}
	n->scale = (int)scale;
}

struct num_head
num_head(const struct num *n)
{
	struct num_head h = {0};
	long digits = num_digits(n->m), exp, lead, take;
	unsigned long v;
	mpz_t top;
	int i;

	if (!digits)
		return h;
	/* value = 0.d1d2.. * 10^exp */
	exp = digits - n->scale;
	h.weight = (int)((exp - 1 >= 0 ? exp - 1 : exp - 4) / 4);
	lead = exp - 4L * h.weight; /* digits in the first group: 1..4 */
	take = lead + 16;
	mpz_init(top);
	if (digits > take) {
		num_pow10(top, (unsigned long)(digits - take));
		mpz_tdiv_q(top, n->m, top);
	} else {
		num_pow10(top, (unsigned long)(take - digits));
		mpz_mul(top, n->m, top);
	}
	mpz_abs(top, top);
	for (i = 4; i >= 0; i--) {
		v = mpz_tdiv_q_ui(top, top, 10000);
		h.d[i] = (int)v;
		if (v && h.n == 0)
			h.n = i + 1;
	}
	mpz_clear(top);
	return h;
}

/* ---- text ---- */

/* A decimal number as found in text, before it is one. */
struct scan {
	struct str digits; /* with at most one '.' */
	bool neg;
	long scale; /* may be negative */
};

static bool
scan_exponent(struct str *t, long *exp)
{
	bool neg = false;
	long v = 0;
	size_t n = 0;

	*exp = 0;
	while (n < t->len && isspace((unsigned char)t->p[n]))
		n++;
	if (n < t->len && (t->p[n] == '+' || t->p[n] == '-'))
		neg = t->p[n++] == '-';
	if (n == t->len || !isdigit((unsigned char)t->p[n]))
		return false;
	for (; n < t->len && isdigit((unsigned char)t->p[n]); n++)
		if (v < INT32_MAX)
			v = v * 10 + (t->p[n] - '0');
	*exp = neg ? -v : v;
	*t = str_skip(*t, n);
	return true;
}

static bool
scan_number(struct str t, struct scan *s)
{
	size_t n = 0, point = SIZE_MAX;
	long exp = 0;

	*s = (struct scan){0};
	if (t.len && (t.p[0] == '+' || t.p[0] == '-')) {
		s->neg = t.p[0] == '-';
		t = str_skip(t, 1);
	}
	if (t.len && t.p[0] == '.' &&
	    (t.len < 2 || !isdigit((unsigned char)t.p[1])))
		return false;
	if (!t.len || (t.p[0] != '.' && !isdigit((unsigned char)t.p[0])))
		return false;
	for (; n < t.len; n++) {
		if (t.p[n] == '.' && point == SIZE_MAX)
			point = n;
		else if (!isdigit((unsigned char)t.p[n]))
			break;
	}
	s->digits = str_of(t.p, n);
	if (point != SIZE_MAX)
		s->scale = (long)(n - point - 1);
	t = str_skip(t, n);
	if (t.len && (t.p[0] == 'e' || t.p[0] == 'E')) {
		t = str_skip(t, 1);
		if (!scan_exponent(&t, &exp))
			return false;
		s->scale -= exp;
	}
	while (t.len && isspace((unsigned char)t.p[0]))
		t = str_skip(t, 1);
	return !t.len;
}

/* What the digits are worth; false when more than the limits allow. */
static bool
scan_value(struct arena *a, const struct scan *s, struct num *n)
{
	char *copy = arena_alloc_raw(a, s->digits.len + 1);
	size_t len = 0;

	num_init(n);
	for (size_t i = 0; i < s->digits.len; i++)
		if (s->digits.p[i] != '.' && (len || s->digits.p[i] != '0'))
			copy[len++] = s->digits.p[i];
	copy[len] = '\0';
	if (len && (long)len - s->scale > NUM_INT_DIGITS)
		return false;
	if (len)
		mpz_set_str(n->m, copy, 10);
	if (s->neg)
		mpz_neg(n->m, n->m);
	if (s->scale < 0)
		add_digits(n, -s->scale);
	n->scale = s->scale < 0           ? 0
		   : s->scale > INT32_MAX ? INT32_MAX
					  : (int)s->scale;
	return true;
}

static bool
scan_special(struct str t, enum num_cls *cls)
{
	static const struct {
		struct str name;
		enum num_cls cls;
	} names[] = {
	    {STR("nan"), NUM_NAN},
	    {STR("infinity"), NUM_POSINF},
	    {STR("+infinity"), NUM_POSINF},
	    {STR("-infinity"), NUM_NEGINF},
	    {STR("inf"), NUM_POSINF},
	    {STR("+inf"), NUM_POSINF},
	    {STR("-inf"), NUM_NEGINF},
	};

	while (t.len && isspace((unsigned char)t.p[t.len - 1]))
		t.len--;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (str_ieq(t, names[i].name)) {
			*cls = names[i].cls;
			return true;
		}
	return false;
}

struct err *
num_parse(struct arena *a, struct str text, struct str *out)
{
	struct str t = text;
	enum num_cls cls;
	struct scan s;
	struct num n;

	*out = STR_NONE;
	while (t.len && isspace((unsigned char)t.p[0]))
		t = str_skip(t, 1);
	if (scan_special(t, &cls)) {
		*out = num_special(a, cls);
		return NULL;
	}
	if (!scan_number(t, &s))
		return ERR(a, ERRCODE_INVALID_TEXT_REPRESENTATION,
		    "invalid input syntax for type numeric: \"%.*s\"",
		    STR_FMT(text));
	if (!scan_value(a, &s, &n)) {
		num_fini(&n);
		return num_overflow(a);
	}
	return num_store(a, &n, out);
}

void
num_text(struct buf *b, struct str x)
{
	size_t len, cut;
	struct num n;
	char *p;

	num_load(&n, x);
	if (n.cls != NUM_FINITE) {
		buf_str(b, n.cls == NUM_NAN      ? STR("NaN")
			   : n.cls == NUM_POSINF ? STR("Infinity")
						 : STR("-Infinity"));
		num_fini(&n);
		return;
	}
	if (mpz_sgn(n.m) < 0) {
		buf_u8(b, '-');
		mpz_neg(n.m, n.m);
	}
	/* Room for the digits, zeros before them, a point and a NUL. */
	p = buf_reserve(b, mpz_sizeinbase(n.m, 10) + (size_t)n.scale + 4);
	mpz_get_str(p, 10, n.m);
	len = strlen(p);
	if (len <= (size_t)n.scale) {
		size_t pad = (size_t)n.scale + 1 - len;

		memmove(p + pad, p, len);
		memset(p, '0', pad);
		len += pad;
	}
	if (n.scale) {
		cut = len - (size_t)n.scale;
		memmove(p + cut + 1, p + cut, (size_t)n.scale);
		p[cut] = '.';
		len++;
	}
	b->len += len;
	num_fini(&n);
}

/* ---- from and to other numbers ---- */

struct str
num_of_scaled(struct arena *a, int64_t mag, int scale)
{
	uint64_t m = mag < 0 ? -(uint64_t)mag : (uint64_t)mag;
	uint8_t bytes[16];
	struct buf b;
	size_t n = 0;

	ASSERT(scale >= 0 && scale <= NUM_SCALE_MAX);
	for (; m; m >>= 8)
		bytes[n++] = (uint8_t)m;
	buf_init(&b, a);
	buf_reserve(&b, n + 3);
	buf_varint(&b, HEAD_FINITE + 2 * (uint64_t)scale + (mag < 0));
	buf_put(&b, bytes, n);
	return buf_view(&b);
}

struct str
num_of_i64(struct arena *a, int64_t v)
{
	return num_of_scaled(a, v, 0);
}

struct str
num_of_i128(struct arena *a, __int128 v)
{
	unsigned __int128 m =
	    v < 0 ? -(unsigned __int128)v : (unsigned __int128)v;
	struct buf b;

	buf_init(&b, a);
	buf_reserve(&b, 18);
	buf_u8(&b, (uint8_t)(HEAD_FINITE + (v < 0)));
	for (; m; m >>= 8)
		buf_u8(&b, (uint8_t)m);
	return buf_view(&b);
}

static struct str
of_digits(struct arena *a, double v, int digits)
{
	struct err *e;
	char text[64];
	struct str out;

	if (isnan(v))
		return num_special(a, NUM_NAN);
	if (isinf(v))
		return num_special(a, v < 0 ? NUM_NEGINF : NUM_POSINF);
	snprintf(text, sizeof(text), "%.*g", digits, v);
	e = num_parse(a, str_c(text), &out);
	ASSERT(!e); /* doubles are well within the limits */
	return out;
}

struct str
num_of_double(struct arena *a, double v)
{
	return of_digits(a, v, 15);
}

struct str
num_of_real(struct arena *a, double v)
{
	return of_digits(a, v, 6);
}

static const char *
int_name(uint32_t type)
{
	return type == EX_INT2   ? "smallint"
	       : type == EX_INT4 ? "integer"
				 : "bigint";
}

struct err *
num_to_int(struct arena *a, struct str x, uint32_t type, int64_t *out)
{
	int64_t min = type == EX_INT2   ? INT16_MIN
		      : type == EX_INT4 ? INT32_MIN
					: INT64_MIN;
	struct num n;
	bool fits;

	*out = 0;
	num_load(&n, x);
	if (n.cls != NUM_FINITE) {
		num_fini(&n);
		return ERR(a, ERRCODE_FEATURE_NOT_SUPPORTED,
		    "cannot convert %s to %s",
		    n.cls == NUM_NAN ? "NaN" : "infinity", int_name(type));
	}
	num_rescale(&n, 0, NUM_HALF_AWAY);
	fits = mpz_fits_slong_p(n.m);
	if (fits)
		*out = mpz_get_si(n.m);
	num_fini(&n);
	/* The largest is -(min + 1). */
	if (!fits || *out < min || *out > -(min + 1)) {
		*out = 0;
		return ERR(a, ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
		    "%s out of range", int_name(type));
	}
	return NULL;
}

struct err *
num_to_double(struct arena *a, struct str x, uint32_t type, double *out)
{
	struct buf b;
	char *text;

	buf_init(&b, a);
	num_text(&b, x);
	text = buf_cstr(&b);
	errno = 0;
	*out =
	    type == EX_FLOAT4 ? (double)strtof(text, NULL) : strtod(text, NULL);
	if (errno == ERANGE && (*out == 0 || isinf(*out))) {
		*out = 0;
		return ERR(a, ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
		    "\"%s\" is out of range for type %s", text,
		    type == EX_FLOAT4 ? "real" : "double precision");
	}
	return NULL;
}

double
num_approx(struct str x)
{
	struct num_head h;
	struct num n;
	double v = 0;

	num_load(&n, x);
	if (n.cls != NUM_FINITE) {
		num_fini(&n);
		return n.cls == NUM_NAN      ? (double)NAN
		       : n.cls == NUM_POSINF ? HUGE_VAL
					     : -HUGE_VAL;
	}
	h = num_head(&n);
	for (int i = 0; i < h.n; i++)
		v += h.d[i] * pow(10000, h.weight - i);
	if (mpz_sgn(n.m) < 0)
		v = -v;
	num_fini(&n);
	return v;
}

/* ---- facts ---- */

bool
num_is_nan(struct str x)
{
	return x.len == 1 && x.p[0] == 0;
}

bool
num_is_inf(struct str x)
{
	return x.len == 1 && (x.p[0] == 1 || x.p[0] == 2);
}

int
num_sign(struct str x)
{
	enum num_cls cls;
	struct str mag;
	int scale;
	bool neg;

	if (!unpack(x, &cls, &scale, &neg, &mag))
		UNREACHABLE();
	if (cls != NUM_FINITE)
		return cls == NUM_NEGINF ? -1 : 1;
	return !mag.len ? 0 : neg ? -1 : 1;
}

int
num_scale(struct str x)
{
	enum num_cls cls;
	struct str mag;
	int scale;
	bool neg;

	if (!unpack(x, &cls, &scale, &neg, &mag))
		UNREACHABLE();
	return cls == NUM_FINITE ? scale : -1;
}

/* -Infinity < finite < Infinity < NaN */
static int
class_rank(enum num_cls cls)
{
	switch (cls) {
	case NUM_NEGINF:
		return 0;
	case NUM_FINITE:
		return 1;
	case NUM_POSINF:
		return 2;
	case NUM_NAN:
		break;
	}
	return 3;
}

int
num_cmp(struct str x, struct str y)
{
	struct num p, q;
	int r;

	if (str_eq(x, y))
		return 0;
	num_load(&p, x);
	num_load(&q, y);
	if (p.cls != NUM_FINITE || q.cls != NUM_FINITE) {
		r = class_rank(p.cls) - class_rank(q.cls);
	} else if (mpz_sgn(p.m) != mpz_sgn(q.m)) {
		r = mpz_sgn(p.m) - mpz_sgn(q.m);
	} else {
		if (p.scale < q.scale)
			add_digits(&p, q.scale - p.scale);
		else
			add_digits(&q, p.scale - q.scale);
		r = mpz_cmp(p.m, q.m);
	}
	num_fini(&p);
	num_fini(&q);
	return r < 0 ? -1 : r > 0;
}

/* ---- numeric(p,s) ---- */

static struct err *
field_overflow(struct arena *a, int precision, int scale)
{
	int room = precision - scale;

	return err_detail(ERR(a, ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
			      "numeric field overflow"),
	    "A field with precision %d, scale %d must round to an absolute "
	    "value less than %s%d.",
	    precision, scale, room ? "10^" : "", room ? room : 1);
}

struct err *
num_coerce(struct arena *a, struct num *n, int32_t typmod, struct str *out)
{
	int precision = ((typmod - 4) >> 16) & 0xffff;
	int scale = (((typmod - 4) & 0x7ff) ^ 1024) - 1024;

	if (typmod < 4)
		return num_store(a, n, out);
	*out = STR_NONE;
	if (n->cls == NUM_POSINF || n->cls == NUM_NEGINF) {
		num_fini(n);
		return err_detail(ERR(a, ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
				      "numeric field overflow"),
		    "A field with precision %d, scale %d cannot hold an "
		    "infinite value.",
		    precision, scale);
	}
	num_rescale(n, scale, NUM_HALF_AWAY);
	if (n->cls == NUM_FINITE && mpz_sgn(n->m) &&
	    num_digits(n->m) - n->scale > precision - scale) {
		num_fini(n);
		return field_overflow(a, precision, scale);
	}
	return num_store(a, n, out);
}

struct err *
num_typmod(struct arena *a, struct str x, int32_t typmod, struct str *out)
{
	struct num n;

	num_load(&n, x);
	return num_coerce(a, &n, typmod, out);
}

/* ---- keys ---- */

void
num_to_key(struct arena *a, struct str x, struct cl_num *out)
{
	struct num n;
	char *text;
	size_t len;

	*out = (struct cl_num){.cls = CL_NUM_FINITE};
	num_load(&n, x);
	if (n.cls != NUM_FINITE) {
		out->cls = n.cls == NUM_NAN      ? CL_NUM_NAN
			   : n.cls == NUM_POSINF ? CL_NUM_POS_INF
						 : CL_NUM_NEG_INF;
	} else if (mpz_sgn(n.m)) {
		out->sign = mpz_sgn(n.m);
		mpz_abs(n.m, n.m);
		text = arena_alloc_raw(a, mpz_sizeinbase(n.m, 10) + 2);
		mpz_get_str(text, 10, n.m);
		len = strlen(text);
		out->exp = (int32_t)((long)len - n.scale);
		while (text[len - 1] == '0')
			len--;
		out->digits = str_of(text, len);
	}
	num_fini(&n);
}

static bool
key_digits_ok(const struct cl_num *k)
{
	if (!k->digits.len || k->digits.p[0] == '0' ||
	    k->digits.p[k->digits.len - 1] == '0')
		return false;
	for (size_t i = 0; i < k->digits.len; i++)
		if (!isdigit((unsigned char)k->digits.p[i]))
			return false;
	return k->digits.len <= NUM_INT_DIGITS + NUM_SCALE_MAX &&
	       k->exp <= NUM_INT_DIGITS && k->exp > -NUM_SCALE_MAX &&
	       (long)k->digits.len - k->exp <= NUM_SCALE_MAX;
}

bool
num_of_key(struct arena *a, const struct cl_num *k, struct str *out)
{
	struct scan s = {.digits = k->digits, .neg = k->sign < 0};
	struct num n;
	bool ok;

	*out = STR_NONE;
	if (k->cls != CL_NUM_FINITE) {
		*out = num_special(a, k->cls == CL_NUM_NAN       ? NUM_NAN
				      : k->cls == CL_NUM_POS_INF ? NUM_POSINF
								 : NUM_NEGINF);
		return true;
	}
	if (!k->sign) {
		*out = num_of_i64(a, 0);
		return true;
	}
	if (!key_digits_ok(k))
		return false;
	s.scale = (long)k->digits.len - k->exp;
	ok = scan_value(a, &s, &n);
	if (ok)
		*out = num_pack(a, &n);
	num_fini(&n);
	return ok;
}
