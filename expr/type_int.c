/* int2, int4, int8 and oid; regclass, an oid that is written as a name. */
#include <ctype.h>

#include "expr/type_impl.h"

struct width {
	uint32_t type;
	const char *name;
	int64_t min, max;
};
static const struct width w2 = {EX_INT2, "smallint", INT16_MIN, INT16_MAX};
static const struct width w4 = {EX_INT4, "integer", INT32_MIN, INT32_MAX};
static const struct width w8 = {EX_INT8, "bigint", INT64_MIN, INT64_MAX};
static const struct width wo = {EX_OID, "oid", 0, UINT32_MAX};
static const struct width wr = {EX_REGCLASS, "regclass", 0, UINT32_MAX};

/* As PostgreSQL, an overflow is told before garbage behind it is seen. */
static struct err *
int_in(struct arena *a, const struct width *w, struct str text, struct val *out)
{
	struct str t = text;
	bool neg = false;
	int64_t v = 0;

	while (t.len && isspace((unsigned char)t.p[0]))
		t = str_skip(t, 1);
	if (t.len && (t.p[0] == '-' || t.p[0] == '+')) {
		neg = t.p[0] == '-';
		t = str_skip(t, 1);
	}
	if (!t.len || !isdigit((unsigned char)t.p[0]))
		return ex_bad_text(a, w->name, text);
	for (; t.len && isdigit((unsigned char)t.p[0]); t = str_skip(t, 1)) {
		int d = t.p[0] - '0';

		/* Downwards, for the sake of the smallest value. */
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_sub_overflow(v, d, &v) ||
		    v < (neg ? w->min : -w->max))
			return ex_bad_range(a, w->name, text);
	}
	while (t.len && isspace((unsigned char)t.p[0]))
		t = str_skip(t, 1);
	if (t.len)
		return ex_bad_text(a, w->name, text);
	*out = val_int(w->type, neg ? v : -v);
	return NULL;
}

static struct err *
int2_in(struct arena *a, const struct ex_env *env, struct str text,
    int32_t typmod, struct val *out)
{
	(void)env;
	(void)typmod;
	return int_in(a, &w2, text, out);
}

static struct err *
int4_in(struct arena *a, const struct ex_env *env, struct str text,
    int32_t typmod, struct val *out)
{
	(void)env;
	(void)typmod;
	return int_in(a, &w4, text, out);
}

static struct err *
int8_in(struct arena *a, const struct ex_env *env, struct str text,
    int32_t typmod, struct val *out)
{
	(void)env;
	(void)typmod;
	return int_in(a, &w8, text, out);
}

/* A negative one wraps, as strtoul has it: '-1' is 4294967295. */
static struct err *
oid_in_as(
    struct arena *a, const struct width *w, struct str text, struct val *out)
{
	struct str t = ex_trim(text);
	struct width wide = {w->type, w->name, INT32_MIN, UINT32_MAX};

	TRY(int_in(a, &wide, text, out));
	if (t.p[0] == '-' && out->u.i < 0)
		out->u.i = (int64_t)(uint32_t)out->u.i;
	return NULL;
}

static struct err *
oid_in(struct arena *a, const struct ex_env *env, struct str text,
    int32_t typmod, struct val *out)
{
	(void)env;
	(void)typmod;
	return oid_in_as(a, &wo, text, out);
}

static struct err *
regclass_in(struct arena *a, const struct ex_env *env, struct str text,
    int32_t typmod, struct val *out)
{
	struct str t = ex_trim(text);
	uint32_t id = 0;

	(void)typmod;
	if (!env->relation_id || (t.len && isdigit((unsigned char)t.p[0])))
		return oid_in_as(a, &wr, text, out);
	if (str_eq(t, STR("-"))) {
		*out = val_int(EX_REGCLASS, 0);
		return NULL;
	}
	TRY(env->relation_id(env->arg, a, text, &id));
	*out = val_int(EX_REGCLASS, id);
	return NULL;
}

static void
int_out(struct buf *b, const struct ex_env *env, struct val v)
{
	uint64_t m = v.u.i < 0 ? -(uint64_t)v.u.i : (uint64_t)v.u.i;
	char text[24];
	size_t at = sizeof(text);

	(void)env;
	do {
		text[--at] = (char)('0' + m % 10);
		m /= 10;
	} while (m);
	if (v.u.i < 0)
		text[--at] = '-';
	buf_put(b, text + at, sizeof(text) - at);
}

/* What is gone has only its number left. */
static void
regclass_out(struct buf *b, const struct ex_env *env, struct val v)
{
	struct str name = STR_NONE;

	if (env->relation_name && !v.u.i)
		name = STR("-");
	else if (env->relation_name)
		name = env->relation_name(env->arg, b->arena, (uint32_t)v.u.i);
	if (name.len)
		buf_str(b, name);
	else
		int_out(b, env, v);
}

static struct err *
int2_recv(struct arena *a, struct str bytes, int32_t typmod, struct val *out)
{
	struct cur c = cur_of(bytes);

	(void)typmod;
	*out = val_int(EX_INT2, (int16_t)cur_be16(&c));
	return ex_recv_end(a, &c);
}

static struct err *
int4_recv(struct arena *a, struct str bytes, int32_t typmod, struct val *out)
{
	struct cur c = cur_of(bytes);

	(void)typmod;
	*out = val_int(EX_INT4, (int32_t)cur_be32(&c));
	return ex_recv_end(a, &c);
}

static struct err *
int8_recv(struct arena *a, struct str bytes, int32_t typmod, struct val *out)
{
	struct cur c = cur_of(bytes);

	(void)typmod;
	*out = val_int(EX_INT8, (int64_t)cur_be64(&c));
	return ex_recv_end(a, &c);
}

static struct err *
oid_recv(struct arena *a, struct str bytes, int32_t typmod, struct val *out)
{
	struct cur c = cur_of(bytes);

	(void)typmod;
	*out = val_int(EX_OID, cur_be32(&c));
	return ex_recv_end(a, &c);
}

static struct err *
regclass_recv(
    struct arena *a, struct str bytes, int32_t typmod, struct val *out)
{
	TRY(oid_recv(a, bytes, typmod, out));
	out->type = EX_REGCLASS;
	return NULL;
}

static void
int2_send(struct buf *b, struct val v)
{
	buf_be16(b, (uint16_t)v.u.i);
}

static void
int4_send(struct buf *b, struct val v)
{
	buf_be32(b, (uint32_t)v.u.i);
}

/* ---- rows and keys: one form for all widths ---- */

static bool
in_range(uint32_t type, int64_t v)
{
	const struct width *w = type == EX_INT2   ? &w2
				: type == EX_INT4 ? &w4
				: type == EX_INT8 ? &w8
						  : &wo;

	return v >= w->min && v <= w->max;
}

static void
int_row_enc(struct buf *b, struct val v)
{
	buf_varint(b, ex_zigzag(v.u.i));
}

static bool
int_row_dec(struct arena *a, struct str bytes, struct val *v)
{
	struct cur c = cur_of(bytes);

	(void)a;
	v->u.i = ex_unzigzag(cur_varint(&c));
	return cur_done(&c) && in_range(v->type, v->u.i);
}

static bool
int_key_dec(
    struct cur *c, struct cl_key_order o, struct arena *a, struct val *v)
{
	return ex_key_dec_int(c, o, a, v) && in_range(v->type, v->u.i);
}

#define INT_COMMON                                                             \
	.category = 'N', .tag = CL_TAG_INT, .cmp = ex_cmp_int,                 \
	.key_enc = ex_key_enc_int, .key_dec = int_key_dec, .key_exact = true,  \
	.row_enc = int_row_enc, .row_dec = int_row_dec

const struct ex_type ex_type_def_int2 = {
    .oid = EX_INT2,
    .name = "int2",
    .sql_name = "smallint",
    .len = 2,
    .array = 1005,
    .in = int2_in,
    .recv = int2_recv,
    .send = int2_send,
    .out = int_out,
    INT_COMMON,
};

const struct ex_type ex_type_def_int4 = {
    .oid = EX_INT4,
    .name = "int4",
    .sql_name = "integer",
    .len = 4,
    .array = 1007,
    .in = int4_in,
    .recv = int4_recv,
    .send = int4_send,
    .out = int_out,
    INT_COMMON,
};

const struct ex_type ex_type_def_int8 = {
    .oid = EX_INT8,
    .name = "int8",
    .sql_name = "bigint",
    .len = 8,
    .array = 1016,
    .in = int8_in,
    .recv = int8_recv,
    .send = ex_send_be64,
    .out = int_out,
    INT_COMMON,
};

const struct ex_type ex_type_def_oid = {
    .oid = EX_OID,
    .name = "oid",
    .sql_name = "oid",
    .len = 4,
    .preferred = true,
    .array = 1028,
    .in = oid_in,
    .recv = oid_recv,
    .send = int4_send,
    .out = int_out,
    INT_COMMON,
};

const struct ex_type ex_type_def_regclass = {
    .oid = EX_REGCLASS,
    .name = "regclass",
    .sql_name = "regclass",
    .len = 4,
    .array = 2210,
    .in = regclass_in,
    .recv = regclass_recv,
    .send = int4_send,
    .out = regclass_out,
    INT_COMMON,
};
