#include "expr/interval_text.h"
#include "expr/type_impl.h"

/* Cuts us to whole units. */
static int64_t
whole(int64_t us, int64_t unit)
{
	return us / unit * unit;
}

/* Adjusts fields and precision to an interval typmod (range << 16 |
 * precision). */
static struct err *
apply_typmod(struct arena *a, struct ex_interval iv, int32_t typmod,
    struct ex_interval *out)
{
	int32_t range = (typmod >> 16) & IV_FULL;
	int32_t precision = typmod & IV_PRECISION_FULL;

	*out = iv;
	if (typmod < 0)
		return NULL;
	if (range != IV_FULL) {
		/* Fields below the range's last are dropped. */
		if (range == IV_YEAR)
			out->months = iv.months / 12 * 12;
		if (!(range & ~(IV_YEAR | IV_MONTH)))
			out->days = 0;
		if (!(range & (IV_HOUR | IV_MINUTE | IV_SECOND)))
			out->us = 0;
		else if (!(range & (IV_MINUTE | IV_SECOND)))
			out->us = whole(iv.us, DT_HOUR);
		else if (!(range & IV_SECOND))
			out->us = whole(iv.us, DT_MIN);
	}
	if (precision != IV_PRECISION_FULL) {
		if (precision > 6)
			return ERR(a, ERRCODE_INVALID_PARAMETER_VALUE,
			    "interval(%d) precision must be between 0 and 6",
			    precision);
		out->us = dt_round(out->us, precision);
	}
	return NULL;
}

static struct err *
interval_typmod(struct arena *a, struct val v, int32_t typmod, bool is_explicit,
    struct val *out)
{
	(void)is_explicit;
	*out = v;
	return apply_typmod(a, v.u.iv, typmod, &out->u.iv);
}

static struct err *
interval_in(struct arena *a, const struct ex_env *env, struct str text,
    int32_t typmod, struct val *out)
{
	int32_t range = typmod < 0 ? IV_FULL : (typmod >> 16) & IV_FULL;

	*out = (struct val){.type = EX_INTERVAL};
	TRY(iv_read(a, env, text, range, &out->u.iv));
	return interval_typmod(a, *out, typmod, true, out);
}

static void
interval_out(struct buf *b, const struct ex_env *env, struct val v)
{
	iv_write(b, env->intervalstyle, v.u.iv);
}

static struct err *
interval_recv(
    struct arena *a, struct str bytes, int32_t typmod, struct val *out)
{
	struct cur c = cur_of(bytes);

	*out = (struct val){.type = EX_INTERVAL};
	out->u.iv.us = (int64_t)cur_be64(&c);
	out->u.iv.days = (int32_t)cur_be32(&c);
	out->u.iv.months = (int32_t)cur_be32(&c);
	TRY(ex_recv_end(a, &c));
	return interval_typmod(a, *out, typmod, false, out);
}

static void
interval_send(struct buf *b, struct val v)
{
	buf_be64(b, (uint64_t)v.u.iv.us);
	buf_be32(b, (uint32_t)v.u.iv.days);
	buf_be32(b, (uint32_t)v.u.iv.months);
}

static int
interval_cmp(struct val x, struct val y)
{
	__int128 p = dt_interval_span(x.u.iv), q = dt_interval_span(y.u.iv);

	return p < q ? -1 : p > q;
}

static void
interval_key_enc(
    struct buf *b, enum cl_tag tag, struct cl_key_order o, struct val v)
{
	__int128 span = dt_interval_span(v.u.iv);

	cl_key_int128(b, tag, o, (int64_t)(span >> 64), (uint64_t)span);
}

/* Some interval of that span: which one it was, the row knows. */
static bool
interval_key_dec(
    struct cur *c, struct cl_key_order o, struct arena *a, struct val *v)
{
	__int128 span, days, us;
	uint64_t lo;
	int64_t hi;

	(void)a;
	if (!cl_key_read_int128(c, o, &hi, &lo))
		return false;
	span = (__int128)(((unsigned __int128)(uint64_t)hi << 64) | lo);
	days = span / DT_DAY;
	v->u.iv.months = 0;
	if (days / 30 > INT32_MAX || days / 30 < INT32_MIN)
		v->u.iv.months = days < 0 ? INT32_MIN : INT32_MAX;
	else if (days > INT32_MAX || days < INT32_MIN)
		v->u.iv.months = (int32_t)(days / 30);
	days -= (__int128)v->u.iv.months * 30;
	if (days > INT32_MAX || days < INT32_MIN)
		days = days < 0 ? INT32_MIN : INT32_MAX;
	v->u.iv.days = (int32_t)days;
	us = span - ((__int128)v->u.iv.months * 30 + days) * DT_DAY;
	v->u.iv.us = (int64_t)us;
	return us >= INT64_MIN && us <= INT64_MAX;
}

static void
interval_row_enc(struct buf *b, struct val v)
{
	buf_varint(b, ex_zigzag(v.u.iv.us));
	buf_varint(b, ex_zigzag(v.u.iv.days));
	buf_varint(b, ex_zigzag(v.u.iv.months));
}

static bool
interval_row_dec(struct arena *a, struct str bytes, struct val *v)
{
	struct cur c = cur_of(bytes);
	int64_t us = ex_unzigzag(cur_varint(&c));
	int64_t days = ex_unzigzag(cur_varint(&c));
	int64_t months = ex_unzigzag(cur_varint(&c));

	(void)a;
	if (!cur_done(&c) || days < INT32_MIN || days > INT32_MAX ||
	    months < INT32_MIN || months > INT32_MAX)
		return false;
	v->u.iv = (struct ex_interval){us, (int32_t)days, (int32_t)months};
	return true;
}

const struct ex_type ex_type_def_interval = {
    .oid = EX_INTERVAL,
    .name = "interval",
    .sql_name = "interval",
    .len = 16,
    .category = 'T',
    .preferred = true,
    .array = 1187,
    .tag = CL_TAG_INTERVAL,
    .in = interval_in,
    .out = interval_out,
    .recv = interval_recv,
    .send = interval_send,
    .cmp = interval_cmp,
    .apply_typmod = interval_typmod,
    .key_enc = interval_key_enc,
    .key_dec = interval_key_dec,
    .key_exact = false, /* a day and 24 hours are equal */
    .row_enc = interval_row_enc,
    .row_dec = interval_row_dec,
};
