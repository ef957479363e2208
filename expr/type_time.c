/* time without time zone: 00:00:00 to 24:00:00. */
#include "expr/datetime_text.h"
#include "expr/type_impl.h"

static struct err *
time_typmod(struct arena *a, struct val v, int32_t typmod, bool is_explicit,
    struct val *out)
{
	(void)a;
	(void)is_explicit;
	*out = v;
	out->u.i = dt_round(v.u.i, typmod);
	return NULL;
}

static struct err *
time_in(struct arena *a, const struct ex_env *env, struct str text,
    int32_t typmod, struct val *out)
{
	struct dt_parsed p;

	TRY(dt_parse(a, env, text, DT_T_TIME, &p));
	*out = val_int(EX_TIME, p.tm.hour * DT_HOUR + p.tm.min * DT_MIN +
				    p.tm.sec * DT_SEC + p.tm.us);
	return time_typmod(a, *out, typmod, true, out);
}

static void
time_out(struct buf *b, const struct ex_env *env, struct val v)
{
	(void)env;
	dt_put_time(b, v.u.i);
}

static bool
valid(int64_t us)
{
	return us >= 0 && us <= DT_DAY;
}

static struct err *
time_recv(struct arena *a, struct str bytes, int32_t typmod, struct val *out)
{
	struct cur c = cur_of(bytes);
	int64_t us = (int64_t)cur_be64(&c);

	TRY(ex_recv_end(a, &c));
	if (!valid(us))
		return ERR(
		    a, ERRCODE_DATETIME_FIELD_OVERFLOW, "time out of range");
	*out = val_int(EX_TIME, us);
	return time_typmod(a, *out, typmod, false, out);
}

static void
time_row_enc(struct buf *b, struct val v)
{
	buf_varint(b, (uint64_t)v.u.i);
}

static bool
time_row_dec(struct arena *a, struct str bytes, struct val *v)
{
	struct cur c = cur_of(bytes);

	(void)a;
	v->u.i = (int64_t)cur_varint(&c);
	return cur_done(&c) && valid(v->u.i);
}

static bool
time_key_dec(
    struct cur *c, struct cl_key_order o, struct arena *a, struct val *v)
{
	return ex_key_dec_int(c, o, a, v) && valid(v->u.i);
}

const struct ex_type ex_type_def_time = {
    .oid = EX_TIME,
    .name = "time",
    .sql_name = "time without time zone",
    .len = 8,
    .category = 'D',
    .array = 1183,
    .tag = CL_TAG_TIME,
    .in = time_in,
    .out = time_out,
    .recv = time_recv,
    .send = ex_send_be64,
    .cmp = ex_cmp_int,
    .apply_typmod = time_typmod,
    .key_enc = ex_key_enc_int,
    .key_dec = time_key_dec,
    .key_exact = true,
    .row_enc = time_row_enc,
    .row_dec = time_row_dec,
};
