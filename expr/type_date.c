#include "expr/datetime_text.h"
#include "expr/type_impl.h"

static struct err *
out_of_range(struct arena *a, struct str text)
{
	return ERR(a, ERRCODE_DATETIME_FIELD_OVERFLOW,
	    "date out of range: \"%.*s\"", STR_FMT(text));
}

static struct err *
date_in(struct arena *a, const struct ex_env *env, struct str text,
    int32_t typmod, struct val *out)
{
	struct dt_parsed p;
	int64_t days = 0;

	(void)typmod;
	TRY(dt_parse(a, env, text, DT_T_DATE, &p));
	switch (p.kind) {
	case DT_K_VALUE:
		days = dt_days(p.tm.ymd.year, p.tm.ymd.month, p.tm.ymd.day);
		if (!dt_date_ok(days))
			return out_of_range(a, text);
		break;
	case DT_K_EPOCH:
		days = -DT_UNIX_DAYS;
		break;
	case DT_K_INF:
		days = EX_DATE_MAX;
		break;
	case DT_K_NEG_INF:
		days = EX_DATE_MIN;
		break;
	}
	*out = val_int(EX_DATE, days);
	return NULL;
}

static void
date_out(struct buf *b, const struct ex_env *env, struct val v)
{
	if (v.u.i == EX_DATE_MIN)
		buf_str(b, STR("-infinity"));
	else if (v.u.i == EX_DATE_MAX)
		buf_str(b, STR("infinity"));
	else
		dt_put_date(b, env, v.u.i);
}

static bool
valid(int64_t days)
{
	return dt_date_ok(days) || days == EX_DATE_MIN || days == EX_DATE_MAX;
}

static struct err *
date_recv(struct arena *a, struct str bytes, int32_t typmod, struct val *out)
{
	struct cur c = cur_of(bytes);
	int32_t days = (int32_t)cur_be32(&c);

	(void)typmod;
	TRY(ex_recv_end(a, &c));
	if (!valid(days))
		return ERR(
		    a, ERRCODE_DATETIME_FIELD_OVERFLOW, "date out of range");
	*out = val_int(EX_DATE, days);
	return NULL;
}

static void
date_send(struct buf *b, struct val v)
{
	buf_be32(b, (uint32_t)v.u.i);
}

static void
date_row_enc(struct buf *b, struct val v)
{
	buf_varint(b, ex_zigzag(v.u.i));
}

static bool
date_row_dec(struct arena *a, struct str bytes, struct val *v)
{
	struct cur c = cur_of(bytes);

	(void)a;
	v->u.i = ex_unzigzag(cur_varint(&c));
	return cur_done(&c) && valid(v->u.i);
}

static bool
date_key_dec(
    struct cur *c, struct cl_key_order o, struct arena *a, struct val *v)
{
	return ex_key_dec_int(c, o, a, v) && valid(v->u.i);
}

const struct ex_type ex_type_def_date = {
    .oid = EX_DATE,
    .name = "date",
    .sql_name = "date",
    .len = 4,
    .category = 'D',
    .array = 1182,
    .tag = CL_TAG_DATE,
    .in = date_in,
    .out = date_out,
    .recv = date_recv,
    .send = date_send,
    .cmp = ex_cmp_int,
    .key_enc = ex_key_enc_int,
    .key_dec = date_key_dec,
    .key_exact = true,
    .row_enc = date_row_enc,
    .row_dec = date_row_dec,
};
