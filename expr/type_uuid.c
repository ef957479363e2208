#include "expr/type_impl.h"

#define UUID_LEN 16

/* 32 digits, braces around them or not, a hyphen after any four. */
static bool
parse(struct str t, uint8_t *out)
{
	bool braces = t.len && t.p[0] == '{';

	if (braces)
		t = str_skip(t, 1);
	for (int i = 0; i < UUID_LEN; i++) {
		int high = t.len ? str_hex_digit(t.p[0]) : -1;
		int low = t.len > 1 ? str_hex_digit(t.p[1]) : -1;

		if (high < 0 || low < 0)
			return false;
		out[i] = (uint8_t)(high << 4 | low);
		t = str_skip(t, 2);
		if (t.len && t.p[0] == '-' && i % 2 == 1 && i < UUID_LEN - 1)
			t = str_skip(t, 1);
	}
	if (braces && (!t.len || t.p[0] != '}'))
		return false;
	return t.len == (braces ? 1 : 0);
}

static struct err *
uuid_in(struct arena *a, const struct ex_env *env, struct str text,
    int32_t typmod, struct val *out)
{
	uint8_t bytes[UUID_LEN];

	(void)env;
	(void)typmod;
	if (!parse(text, bytes))
		return ex_bad_text(a, "uuid", text);
	*out =
	    val_str(EX_UUID, str_of(arena_dup(a, bytes, UUID_LEN), UUID_LEN));
	return NULL;
}

static void
uuid_out(struct buf *b, const struct ex_env *env, struct val v)
{
	(void)env;
	for (int i = 0; i < UUID_LEN; i++) {
		uint8_t c = (uint8_t)v.u.s.p[i];

		if (i == 4 || i == 6 || i == 8 || i == 10)
			buf_u8(b, '-');
		buf_u8(b, (uint8_t) "0123456789abcdef"[c >> 4]);
		buf_u8(b, (uint8_t) "0123456789abcdef"[c & 15]);
	}
}

static struct err *
uuid_recv(struct arena *a, struct str bytes, int32_t typmod, struct val *out)
{
	struct cur c = cur_of(bytes);
	struct str s = cur_bytes(&c, UUID_LEN);

	(void)typmod;
	TRY(ex_recv_end(a, &c));
	*out = val_str(EX_UUID, arena_str(a, s));
	return NULL;
}

static bool
uuid_key_dec(
    struct cur *c, struct cl_key_order o, struct arena *a, struct val *v)
{
	return ex_key_dec_bytes(c, o, a, v) && v->u.s.len == UUID_LEN;
}

static bool
uuid_row_dec(struct arena *a, struct str bytes, struct val *v)
{
	return bytes.len == UUID_LEN && ex_row_dec_bytes(a, bytes, v);
}

const struct ex_type ex_type_def_uuid = {
    .oid = EX_UUID,
    .name = "uuid",
    .sql_name = "uuid",
    .len = UUID_LEN,
    .category = 'U',
    .array = 2951,
    .tag = CL_TAG_UUID,
    .in = uuid_in,
    .out = uuid_out,
    .recv = uuid_recv,
    .send = ex_send_bytes,
    .cmp = ex_cmp_bytes,
    .key_enc = ex_key_enc_bytes,
    .key_dec = uuid_key_dec,
    .key_exact = true,
    .row_enc = ex_row_enc_bytes,
    .row_dec = uuid_row_dec,
};
