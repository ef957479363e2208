/* timestamp and timestamptz: microseconds since 2000-01-01, the latter in UTC.
 */
#include "expr/datetime_text.h"
#include "expr/type_impl.h"

static struct err *
ts_typmod(struct arena *a, struct val v, int32_t typmod, bool is_explicit,
    struct val *out)
{
	(void)a;
	(void)is_explicit;
	*out = v;
	if (dt_ts_finite(v.u.i))
		out->u.i = dt_round(v.u.i, typmod);
	return NULL;
}

static struct err *
ts_in(
    struct arena *a, const struct ex_env *env, struct str text, struct val *out)
{
	bool zoned = out->type == EX_TIMESTAMPTZ;
	struct dt_parsed p;
	int64_t us = 0;

	TRY(dt_parse(
	    a, env, text, zoned ? DT_T_TIMESTAMPTZ : DT_T_TIMESTAMP, &p));
	switch (p.kind) {
	case DT_K_VALUE:
		us = dt_join(&p.tm);
		if (zoned)
			us = dt_to_utc(&p.zone, us);
		if (!dt_ts_ok(us))
			return ERR(a, ERRCODE_DATETIME_FIELD_OVERFLOW,
			    "timestamp out of range: \"%.*s\"", STR_FMT(text));
		break;
	case DT_K_EPOCH:
		us = -DT_UNIX_DAYS * DT_DAY;
		break;
	case DT_K_INF:
		us = DT_TS_INF;
		break;
	case DT_K_NEG_INF:
		us = DT_TS_NEGINF;
		break;
	}
	out->u.i = us;
	out->null = false;
	return NULL;
}

static struct err *
timestamp_in(struct arena *a, const struct ex_env *env, struct str text,
    int32_t typmod, struct val *out)
{
	out->type = EX_TIMESTAMP;
	TRY(ts_in(a, env, text, out));
	return ts_typmod(a, *out, typmod, true, out);
}

static struct err *
timestamptz_in(struct arena *a, const struct ex_env *env, struct str text,
    int32_t typmod, struct val *out)
{
	out->type = EX_TIMESTAMPTZ;
	TRY(ts_in(a, env, text, out));
	return ts_typmod(a, *out, typmod, true, out);
}

static void
ts_out(struct buf *b, const struct ex_env *env, struct val v)
{
	struct dt_zone z;

	if (v.u.i == DT_TS_NEGINF) {
		buf_str(b, STR("-infinity"));
	} else if (v.u.i == DT_TS_INF) {
		buf_str(b, STR("infinity"));
	} else if (v.type == EX_TIMESTAMPTZ) {
		z = dt_zone_env(env);
		dt_put_timestamp(b, env, v.u.i, &z);
	} else {
		dt_put_timestamp(b, env, v.u.i, NULL);
	}
}

static bool
valid(int64_t us)
{
	return dt_ts_ok(us) || !dt_ts_finite(us);
}

static struct err *
ts_recv(struct arena *a, uint32_t type, struct str bytes, int32_t typmod,
    struct val *out)
{
	struct cur c = cur_of(bytes);
	int64_t us = (int64_t)cur_be64(&c);

	TRY(ex_recv_end(a, &c));
	if (!valid(us))
		return ERR(a, ERRCODE_DATETIME_FIELD_OVERFLOW,
		    "timestamp out of range");
	*out = val_int(type, us);
	return ts_typmod(a, *out, typmod, false, out);
}

static struct err *
timestamp_recv(
    struct arena *a, struct str bytes, int32_t typmod, struct val *out)
{
	return ts_recv(a, EX_TIMESTAMP, bytes, typmod, out);
}

static struct err *
timestamptz_recv(
    struct arena *a, struct str bytes, int32_t typmod, struct val *out)
{
	return ts_recv(a, EX_TIMESTAMPTZ, bytes, typmod, out);
}

static void
ts_row_enc(struct buf *b, struct val v)
{
	buf_le64(b, (uint64_t)v.u.i);
}

static bool
ts_row_dec(struct arena *a, struct str bytes, struct val *v)
{
	struct cur c = cur_of(bytes);

	(void)a;
	v->u.i = (int64_t)cur_le64(&c);
	return cur_done(&c) && valid(v->u.i);
}

static bool
ts_key_dec(struct cur *c, struct cl_key_order o, struct arena *a, struct val *v)
{
	return ex_key_dec_int(c, o, a, v) && valid(v->u.i);
}

#define TS_COMMON                                                              \
	.len = 8, .category = 'D', .out = ts_out, .send = ex_send_be64,        \
	.cmp = ex_cmp_int, .apply_typmod = ts_typmod,                          \
	.key_enc = ex_key_enc_int, .key_dec = ts_key_dec, .key_exact = true,   \
	.row_enc = ts_row_enc, .row_dec = ts_row_dec

const struct ex_type ex_type_def_timestamp = {
    .oid = EX_TIMESTAMP,
    .name = "timestamp",
    .sql_name = "timestamp without time zone",
    .array = 1115,
    .tag = CL_TAG_TIMESTAMP,
    .in = timestamp_in,
    .recv = timestamp_recv,
    TS_COMMON,
};

const struct ex_type ex_type_def_timestamptz = {
    .oid = EX_TIMESTAMPTZ,
    .name = "timestamptz",
    .sql_name = "timestamp with time zone",
    .preferred = true,
    .array = 1185,
    .tag = CL_TAG_TIMESTAMPTZ,
    .in = timestamptz_in,
    .recv = timestamptz_recv,
    TS_COMMON,
};
