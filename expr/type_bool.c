#include "expr/type_impl.h"

/* Any unambiguous beginning of these words; "o" alone is not. */
static const struct {
	struct str word;
	size_t min;
	bool value;
} words[] = {
    {STR("true"), 1, true},
    {STR("false"), 1, false},
    {STR("yes"), 1, true},
    {STR("no"), 1, false},
    {STR("on"), 2, true},
    {STR("off"), 2, false},
    {STR("1"), 1, true},
    {STR("0"), 1, false},
};

static struct err *
bool_in(struct arena *a, const struct ex_env *env, struct str text,
    int32_t typmod, struct val *out)
{
	struct str t = ex_trim(text);

	(void)env;
	(void)typmod;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		struct str w = words[i].word;

		if (t.len < words[i].min || t.len > w.len)
			continue;
		if (str_ieq(t, str_of(w.p, t.len))) {
			*out = val_bool(words[i].value);
			return NULL;
		}
	}
	return ex_bad_text(a, "boolean", text);
}

static void
bool_out(struct buf *b, const struct ex_env *env, struct val v)
{
	(void)env;
	buf_u8(b, v.u.b ? 't' : 'f');
}

static struct err *
bool_recv(struct arena *a, struct str bytes, int32_t typmod, struct val *out)
{
	struct cur c = cur_of(bytes);

	(void)typmod;
	*out = val_bool(cur_u8(&c) != 0);
	return ex_recv_end(a, &c);
}

static void
bool_send(struct buf *b, struct val v)
{
	buf_u8(b, v.u.b);
}

static int
bool_cmp(struct val x, struct val y)
{
	return (int)x.u.b - (int)y.u.b;
}

static void
bool_key_enc(
    struct buf *b, enum cl_tag tag, struct cl_key_order o, struct val v)
{
	cl_key_bool(b, tag, o, v.u.b);
}

static bool
bool_key_dec(
    struct cur *c, struct cl_key_order o, struct arena *a, struct val *v)
{
	(void)a;
	return cl_key_read_bool(c, o, &v->u.b);
}

static bool
bool_row_dec(struct arena *a, struct str bytes, struct val *v)
{
	(void)a;
	if (bytes.len != 1 || (uint8_t)bytes.p[0] > 1)
		return false;
	v->u.b = bytes.p[0] != 0;
	return true;
}

const struct ex_type ex_type_def_bool = {
    .oid = EX_BOOL,
    .name = "bool",
    .sql_name = "boolean",
    .len = 1,
    .category = 'B',
    .preferred = true,
    .array = 1000,
    .tag = CL_TAG_BOOL,
    .in = bool_in,
    .out = bool_out,
    .recv = bool_recv,
    .send = bool_send,
    .cmp = bool_cmp,
    .key_enc = bool_key_enc,
    .key_dec = bool_key_dec,
    .key_exact = true,
    .row_enc = bool_send,
    .row_dec = bool_row_dec,
};
