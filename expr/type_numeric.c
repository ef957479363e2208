#include "expr/numeric_int.h"
#include "expr/type_impl.h"

static struct err *
numeric_in(struct arena *a, const struct ex_env *env, struct str text,
    int32_t typmod, struct val *out)
{
	struct str s;

	(void)env;
	TRY(num_parse(a, text, &s));
	TRY(num_typmod(a, s, typmod, &s));
	*out = val_str(EX_NUMERIC, s);
	return NULL;
}

static void
numeric_out(struct buf *b, const struct ex_env *env, struct val v)
{
	(void)env;
	num_text(b, v.u.s);
}

/* ---- the wire: groups of four decimal digits ---- */

enum {
	WIRE_POS = 0,
	WIRE_NEG = 0x4000,
	WIRE_NAN = 0xc000,
	WIRE_PINF = 0xd000,
	WIRE_NINF = 0xf000,
	WIRE_SCALE = 0x3fff
};

static struct err *
bad_wire(struct arena *a, const char *what)
{
	return ERR(a, ERRCODE_INVALID_BINARY_REPRESENTATION,
	    "invalid %s in external \"numeric\" value", what);
}

/* n = groups * 10000^(weight - count + 1), cut to scale. */
static void
of_groups(struct num *n, int weight, int count, int scale)
{
	int exp = weight - count + 1;
	mpz_t f;

	if (exp < 0) {
		n->scale = -4 * exp;
	} else {
		mpz_init(f);
		num_pow10(f, 4 * (unsigned long)exp);
		mpz_mul(n->m, n->m, f);
		mpz_clear(f);
	}
	num_rescale(n, scale, NUM_TRUNC);
}

static struct err *
recv_finite(
    struct arena *a, struct cur *c, struct num *n, int count, int weight)
{
	uint16_t sign = cur_be16(c), scale = cur_be16(c);

	if (!cur_ok(c))
		return ex_recv_end(a, c);
	if (sign == WIRE_NAN || sign == WIRE_PINF || sign == WIRE_NINF) {
		n->cls = sign == WIRE_NAN    ? NUM_NAN
			 : sign == WIRE_PINF ? NUM_POSINF
					     : NUM_NEGINF;
	} else if (sign != WIRE_POS && sign != WIRE_NEG) {
		return bad_wire(a, "sign");
	}
	if (scale & ~WIRE_SCALE)
		return bad_wire(a, "scale");
	for (int i = 0; i < count; i++) {
		uint16_t d = cur_be16(c);

		if (d >= 10000)
			return bad_wire(a, "digit");
		mpz_mul_ui(n->m, n->m, 10000);
		mpz_add_ui(n->m, n->m, d);
	}
	if (!cur_done(c))
		return ex_recv_end(a, c);
	if (n->cls != NUM_FINITE)
		return NULL;
	of_groups(n, weight, count, scale);
	if (sign == WIRE_NEG)
		mpz_neg(n->m, n->m);
	return NULL;
}

static struct err *
numeric_recv(struct arena *a, struct str bytes, int32_t typmod, struct val *out)
{
	struct cur c = cur_of(bytes);
	uint16_t count = cur_be16(&c);
	int weight = (int16_t)cur_be16(&c);
	struct err *e;
	struct num n;
	struct str s;

	if (cur_ok(&c) && count > 131072 / 4 + 16383)
		return bad_wire(a, "length");
	num_init(&n);
	e = recv_finite(a, &c, &n, count, weight);
	if (e) {
		num_fini(&n);
		return e;
	}
	TRY(num_coerce(a, &n, typmod, &s));
	*out = val_str(EX_NUMERIC, s);
	return NULL;
}

/* Low groups first into the arena; returns how many. */
static size_t
to_groups(struct arena *a, struct num *n, uint16_t **groups)
{
	size_t max = (size_t)num_digits(n->m) / 4 + 2, count = 0;
	uint16_t *g = NEW_N(a, uint16_t, max);
	char *text = arena_alloc_raw(a, max * 4 + 2);
	size_t len;

	mpz_get_str(text, 10, n->m);
	len = strlen(text);
	while (len && mpz_sgn(n->m)) {
		size_t take = len < 4 ? len : 4;
		unsigned v = 0;

		for (size_t i = len - take; i < len; i++)
			v = v * 10 + (unsigned)(text[i] - '0');
		g[count++] = (uint16_t)v;
		len -= take;
	}
	*groups = g;
	return count;
}

static void
numeric_send(struct buf *b, struct val v)
{
	size_t count, skip = 0;
	uint16_t sign = WIRE_POS, scale;
	uint16_t *g;
	struct num n;
	int weight;

	num_load(&n, v.u.s);
	if (n.cls != NUM_FINITE) {
		sign = n.cls == NUM_NAN      ? WIRE_NAN
		       : n.cls == NUM_POSINF ? WIRE_PINF
					     : WIRE_NINF;
		num_fini(&n);
		buf_be32(b, 0);
		buf_be16(b, sign);
		/* PostgreSQL shows a bit of the class here; so do we. */
		buf_be16(b, sign == WIRE_NAN ? 0 : 0x20);
		return;
	}
	scale = (uint16_t)n.scale;
	if (mpz_sgn(n.m) < 0)
		sign = WIRE_NEG;
	mpz_abs(n.m, n.m);
	/* The point falls between two groups. */
	num_rescale(&n, (n.scale + 3) / 4 * 4, NUM_TRUNC);
	count = to_groups(b->arena, &n, &g);
	weight = count ? (int)count - 1 - n.scale / 4 : 0;
	num_fini(&n);
	while (skip < count && !g[skip])
		skip++;
	buf_be16(b, (uint16_t)(count - skip));
	buf_be16(b, (uint16_t)weight);
	buf_be16(b, sign);
	buf_be16(b, scale);
	while (count > skip)
		buf_be16(b, g[--count]);
}

/* ---- order, keys, rows ---- */

static int
numeric_cmp(struct val x, struct val y)
{
	return num_cmp(x.u.s, y.u.s);
}

static struct err *
numeric_typmod(struct arena *a, struct val v, int32_t typmod, bool is_explicit,
    struct val *out)
{
	(void)is_explicit;
	*out = v;
	return num_typmod(a, v.u.s, typmod, &out->u.s);
}

static void
numeric_key_enc(
    struct buf *b, enum cl_tag tag, struct cl_key_order o, struct val v)
{
	struct cl_num n;

	num_to_key(b->arena, v.u.s, &n);
	cl_key_num(b, tag, o, &n);
}

static bool
numeric_key_dec(
    struct cur *c, struct cl_key_order o, struct arena *a, struct val *v)
{
	struct cl_num n;

	return cl_key_read_num(c, o, a, &n) && num_of_key(a, &n, &v->u.s);
}

static bool
numeric_row_dec(struct arena *a, struct str bytes, struct val *v)
{
	return num_check(bytes) && ex_row_dec_bytes(a, bytes, v);
}

const struct ex_type ex_type_def_numeric = {
    .oid = EX_NUMERIC,
    .name = "numeric",
    .sql_name = "numeric",
    .len = -1,
    .category = 'N',
    .array = 1231,
    .tag = CL_TAG_NUMERIC,
    .in = numeric_in,
    .out = numeric_out,
    .recv = numeric_recv,
    .send = numeric_send,
    .cmp = numeric_cmp,
    .apply_typmod = numeric_typmod,
    .key_enc = numeric_key_enc,
    .key_dec = numeric_key_dec,
    .key_exact = false, /* the scale */
    .row_enc = ex_row_enc_bytes,
    .row_dec = numeric_row_dec,
};
