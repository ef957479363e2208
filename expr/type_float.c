#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "expr/type_impl.h"

/* ---- text in ---- */

static struct err *
float_in(struct arena *a, uint32_t type, struct str text, struct val *out)
{
	const char *name = type == EX_FLOAT4 ? "real" : "double precision";
	char *copy = arena_cstr(a, text), *p = copy, *end;
	double v;

	while (isspace((unsigned char)*p))
		p++;
	errno = 0;
	v = type == EX_FLOAT4 ? (double)strtof(p, &end) : strtod(p, &end);
	if (end == p)
		return ex_bad_text(a, name, text);
	if (errno == ERANGE && (v == 0 || isinf(v)))
		return ERR(a, ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
		    "\"%.*s\" is out of range for type %s", (int)(end - p), p,
		    name);
	while (isspace((unsigned char)*end))
		end++;
	if (end != copy + text.len)
		return ex_bad_text(a, name, text);
	*out = val_double(type, v);
	return NULL;
}

static struct err *
float4_in(struct arena *a, const struct ex_env *env, struct str text,
    int32_t typmod, struct val *out)
{
	(void)env;
	(void)typmod;
	return float_in(a, EX_FLOAT4, text, out);
}

static struct err *
float8_in(struct arena *a, const struct ex_env *env, struct str text,
    int32_t typmod, struct val *out)
{
	(void)env;
	(void)typmod;
	return float_in(a, EX_FLOAT8, text, out);
}

/* ---- text out ---- */

/* "d.ddde+xx" exactly in the middle between two neighbours of `bits` bits: such
 * text reads back by the rule for ties alone, and is not used.  10^k has to be
 * cancelled by the digits or stay within the bits, so k is small. */
static bool
is_tie(const char *text, int bits)
{
	int exp = atoi(strchr(text, 'e') + 1);
	unsigned __int128 odd = 0;

	for (const char *p = text; *p != 'e'; p++) {
		if (*p == '.')
			continue;
		odd = odd * 10 + (unsigned)(*p - '0');
		exp -= p > text;
	}
	for (; odd % 10 == 0 && odd; exp++)
		odd /= 10;
	for (; exp < 0 && odd % 5 == 0; exp++)
		odd /= 5;
	while (odd % 2 == 0 && odd)
		odd /= 2;
	for (; exp > 0 && odd >> bits == 0; exp--)
		odd *= 5;
	return exp == 0 && odd >> bits == 1;
}

/* Whether text stands for v; compared as the type itself. */
static bool
same(uint32_t type, const char *text, double v)
{
	if (type == EX_FLOAT4)
		return strtof(text, NULL) == (float)v &&
		       !is_tie(text, FLT_MANT_DIG);
	return strtod(text, NULL) == v && !is_tie(text, DBL_MANT_DIG);
}

/* At a power of two the gap below is half the one above, so the nearest decimal
 * of n digits may miss while its upper neighbour hits. */
static bool
neighbour(uint32_t type, char *text, double v)
{
	char *e = strchr(text, 'e'), *p = e - 1;
	char saved[64];

	strcpy(saved, text);
	while (p > text && (*p == '9' || *p == '.')) {
		if (*p == '9')
			*p = '0';
		p--;
	}
	if (*p != '9') {
		++*p;
		if (same(type, text, v))
			return true;
	}
	strcpy(text, saved);
	return false;
}

/* The shortest digits that read back as v > 0, as "d.ddde+xx". Any decimal of
 * DIG digits survives the trip through a normal number, so shorter ones need no
 * search: they show as zeros at the end. */
static void
shortest(uint32_t type, double v, char *text, size_t size)
{
	bool small = type == EX_FLOAT4;
	int max = small ? 9 : 17;
	int n = small ? FLT_DIG : DBL_DIG;
	bool power2;
	int e;

	if (v < (small ? (double)FLT_MIN : DBL_MIN))
		n = 1;
	power2 = frexp(v, &e) == 0.5;
	for (; n < max; n++) {
		snprintf(text, size, "%.*e", n - 1, v);
		if (same(type, text, v) || (power2 && neighbour(type, text, v)))
			return;
	}
	snprintf(text, size, "%.*e", max - 1, v);
}

/* "d.ddde+xx" to PostgreSQL's layout: plain from 1e-4 up to `wide` digits. */
static void
lay_out(struct buf *b, char *text, int wide)
{
	char digits[32];
	size_t n = 0;
	int exp = atoi(strchr(text, 'e') + 1);

	for (char *p = text; *p != 'e'; p++)
		if (*p != '.')
			digits[n++] = *p;
	while (n > 1 && digits[n - 1] == '0')
		n--;
	if (exp < -4 || exp >= wide) {
		buf_u8(b, (uint8_t)digits[0]);
		if (n > 1)
			buf_u8(b, '.');
		buf_put(b, digits + 1, n - 1);
		buf_printf(b, "e%c%02d", exp < 0 ? '-' : '+', abs(exp));
		return;
	}
	if (exp < 0) {
		buf_str(b, STR("0."));
		for (int i = -1; i > exp; i--)
			buf_u8(b, '0');
		buf_put(b, digits, n);
		return;
	}
	for (size_t i = 0; i < n || (int)i <= exp; i++) {
		if ((int)i == exp + 1)
			buf_u8(b, '.');
		buf_u8(b, i < n ? (uint8_t)digits[i] : '0');
	}
}

static void
float_out(struct buf *b, const struct ex_env *env, struct val v)
{
	bool small = v.type == EX_FLOAT4;
	double d = v.u.d;
	char text[64];
	int digits;

	if (isnan(d)) {
		buf_str(b, STR("NaN"));
		return;
	}
	if (env->extra_float_digits <= 0 && !isinf(d)) {
		digits = (small ? FLT_DIG : DBL_DIG) + env->extra_float_digits;
		buf_printf(b, "%.*g", digits < 1 ? 1 : digits, d);
		return;
	}
	if (signbit(d)) {
		buf_u8(b, '-');
		d = -d;
	}
	if (isinf(d)) {
		buf_str(b, STR("Infinity"));
	} else if (d == 0) {
		buf_u8(b, '0');
	} else {
		shortest(v.type, d, text, sizeof(text));
		lay_out(b, text, small ? FLT_DIG : DBL_DIG);
	}
}

/* ---- bytes ---- */

static double
of_bits32(uint32_t bits)
{
	float f;

	memcpy(&f, &bits, sizeof(f));
	return (double)f;
}

static uint32_t
bits32(double d)
{
	float f = (float)d;
	uint32_t bits;

	memcpy(&bits, &f, sizeof(bits));
	return bits;
}

static double
of_bits64(uint64_t bits)
{
	double d;

	memcpy(&d, &bits, sizeof(d));
	return d;
}

static uint64_t
bits64(double d)
{
	uint64_t bits;

	memcpy(&bits, &d, sizeof(bits));
	return bits;
}

static struct err *
float4_recv(struct arena *a, struct str bytes, int32_t typmod, struct val *out)
{
	struct cur c = cur_of(bytes);

	(void)typmod;
	*out = val_double(EX_FLOAT4, of_bits32(cur_be32(&c)));
	return ex_recv_end(a, &c);
}

static struct err *
float8_recv(struct arena *a, struct str bytes, int32_t typmod, struct val *out)
{
	struct cur c = cur_of(bytes);

	(void)typmod;
	*out = val_double(EX_FLOAT8, of_bits64(cur_be64(&c)));
	return ex_recv_end(a, &c);
}

static void
float4_send(struct buf *b, struct val v)
{
	buf_be32(b, bits32(v.u.d));
}

static void
float8_send(struct buf *b, struct val v)
{
	buf_be64(b, bits64(v.u.d));
}

static void
float4_row_enc(struct buf *b, struct val v)
{
	buf_le32(b, bits32(v.u.d));
}

static void
float8_row_enc(struct buf *b, struct val v)
{
	buf_le64(b, bits64(v.u.d));
}

static bool
float4_row_dec(struct arena *a, struct str bytes, struct val *v)
{
	struct cur c = cur_of(bytes);

	(void)a;
	v->u.d = of_bits32(cur_le32(&c));
	return cur_done(&c);
}

static bool
float8_row_dec(struct arena *a, struct str bytes, struct val *v)
{
	struct cur c = cur_of(bytes);

	(void)a;
	v->u.d = of_bits64(cur_le64(&c));
	return cur_done(&c);
}

/* ---- order ---- */

/* NaN equals itself and is above all. */
static int
float_cmp(struct val x, struct val y)
{
	if (isnan(x.u.d) || isnan(y.u.d))
		return (isnan(x.u.d) != 0) - (isnan(y.u.d) != 0);
	return x.u.d < y.u.d ? -1 : x.u.d > y.u.d;
}

static void
float_key_enc(
    struct buf *b, enum cl_tag tag, struct cl_key_order o, struct val v)
{
	cl_key_double(b, tag, o, v.u.d);
}

static bool
float_key_dec(
    struct cur *c, struct cl_key_order o, struct arena *a, struct val *v)
{
	(void)a;
	return cl_key_read_double(c, o, &v->u.d);
}

/* The key forgets the sign of zero and the payload of NaN. */
#define FLOAT_COMMON                                                           \
	.category = 'N', .out = float_out, .cmp = float_cmp,                   \
	.key_enc = float_key_enc, .key_dec = float_key_dec, .key_exact = false

const struct ex_type ex_type_def_float4 = {
    .oid = EX_FLOAT4,
    .name = "float4",
    .sql_name = "real",
    .len = 4,
    .array = 1021,
    .tag = CL_TAG_REAL,
    .in = float4_in,
    .recv = float4_recv,
    .send = float4_send,
    .row_enc = float4_row_enc,
    .row_dec = float4_row_dec,
    FLOAT_COMMON,
};

const struct ex_type ex_type_def_float8 = {
    .oid = EX_FLOAT8,
    .name = "float8",
    .sql_name = "double precision",
    .len = 8,
    .preferred = true,
    .array = 1022,
    .tag = CL_TAG_DOUBLE,
    .in = float8_in,
    .recv = float8_recv,
    .send = float8_send,
    .row_enc = float8_row_enc,
    .row_dec = float8_row_dec,
    FLOAT_COMMON,
};
