#include "expr/type_impl.h"

static struct err *
bad_hex(struct arena *a, struct str at)
{
	size_t n = 1;

	while (n < at.len && (at.p[n] & 0xc0) == 0x80)
		n++;
	return ERR(a, ERRCODE_INVALID_PARAMETER_VALUE,
	    "invalid hexadecimal digit: \"%.*s\"", (int)n, at.p);
}

/* Pairs of digits, white space between them. */
static struct err *
hex_in(struct arena *a, struct str t, struct buf *b)
{
	while (t.len) {
		int hi, lo;

		if (t.p[0] == ' ' || t.p[0] == '\n' || t.p[0] == '\t' ||
		    t.p[0] == '\r') {
			t = str_skip(t, 1);
			continue;
		}
		hi = str_hex_digit(t.p[0]);
		if (hi < 0)
			return bad_hex(a, t);
		t = str_skip(t, 1);
		if (!t.len)
			return ERR(a, ERRCODE_INVALID_PARAMETER_VALUE,
			    "invalid hexadecimal data: odd number of digits");
		lo = str_hex_digit(t.p[0]);
		if (lo < 0)
			return bad_hex(a, t);
		t = str_skip(t, 1);
		buf_u8(b, (uint8_t)(hi << 4 | lo));
	}
	return NULL;
}

static bool
octal3(struct str t, uint8_t *out)
{
	if (t.len < 4 || t.p[1] < '0' || t.p[1] > '3' || t.p[2] < '0' ||
	    t.p[2] > '7' || t.p[3] < '0' || t.p[3] > '7')
		return false;
	*out = (uint8_t)((t.p[1] - '0') << 6 | (t.p[2] - '0') << 3 |
			 (t.p[3] - '0'));
	return true;
}

static struct err *
escape_in(struct arena *a, struct str t, struct buf *b)
{
	uint8_t c;

	while (t.len) {
		if (t.p[0] != '\\') {
			buf_u8(b, (uint8_t)t.p[0]);
			t = str_skip(t, 1);
		} else if (octal3(t, &c)) {
			buf_u8(b, c);
			t = str_skip(t, 4);
		} else if (t.len >= 2 && t.p[1] == '\\') {
			buf_u8(b, '\\');
			t = str_skip(t, 2);
		} else {
			return ERR(a, ERRCODE_INVALID_TEXT_REPRESENTATION,
			    "invalid input syntax for type bytea");
		}
	}
	return NULL;
}

static struct err *
bytea_in(struct arena *a, const struct ex_env *env, struct str text,
    int32_t typmod, struct val *out)
{
	struct buf b;

	(void)env;
	(void)typmod;
	buf_init(&b, a);
	buf_reserve(&b, text.len / 2 + 1);
	if (str_has_prefix(text, STR("\\x")))
		TRY(hex_in(a, str_skip(text, 2), &b));
	else
		TRY(escape_in(a, text, &b));
	*out = val_str(EX_BYTEA, buf_view(&b));
	return NULL;
}

static void
bytea_out(struct buf *b, const struct ex_env *env, struct val v)
{
	static const char digits[] = "0123456789abcdef";
	struct str s = v.u.s;

	if (!env->bytea_escape) {
		char *p = buf_reserve(b, 2 * s.len + 2);

		*p++ = '\\';
		*p++ = 'x';
		for (size_t i = 0; i < s.len; i++) {
			*p++ = digits[(uint8_t)s.p[i] >> 4];
			*p++ = digits[s.p[i] & 15];
		}
		b->len += 2 * s.len + 2;
		return;
	}
	for (size_t i = 0; i < s.len; i++) {
		uint8_t c = (uint8_t)s.p[i];

		if (c == '\\')
			buf_str(b, STR("\\\\"));
		else if (c < 0x20 || c > 0x7e)
			buf_printf(b, "\\%03o", (unsigned)c);
		else
			buf_u8(b, c);
	}
}

static struct err *
bytea_recv(struct arena *a, struct str bytes, int32_t typmod, struct val *out)
{
	(void)typmod;
	*out = val_str(EX_BYTEA, arena_str(a, bytes));
	return NULL;
}

const struct ex_type ex_type_def_bytea = {
    .oid = EX_BYTEA,
    .name = "bytea",
    .sql_name = "bytea",
    .len = -1,
    .category = 'U',
    .array = 1001,
    .tag = CL_TAG_BYTEA,
    .in = bytea_in,
    .out = bytea_out,
    .recv = bytea_recv,
    .send = ex_send_bytes,
    .cmp = ex_cmp_bytes,
    .key_enc = ex_key_enc_bytes,
    .key_dec = ex_key_dec_bytes,
    .key_exact = true,
    .row_enc = ex_row_enc_bytes,
    .row_dec = ex_row_dec_bytes,
};
