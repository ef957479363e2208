/* bytea, text encodings of bytes, digests. */
#include <openssl/evp.h>

#include "expr/func_int.h"
#include "expr/text_int.h"

/* Bytes start .. start + count - 1, counted from 1. */
BODY(bytea_substr)
{
	struct str s = args[0].u.s;
	int64_t from = args[1].u.i, to = (int64_t)s.len + 1;

	if (n > 2) {
		if (args[2].u.i < 0)
			return ERR(ctx->arena, ERRCODE_SUBSTRING_ERROR,
			    "negative substring length not allowed");
		if (from + args[2].u.i < to)
			to = from + args[2].u.i;
	}
	if (from < 1)
		from = 1;
	ex_set_str(out, STR(""));
	if (to > from)
		out->u.s = str_of(s.p + from - 1, (size_t)(to - from));
	return NULL;
}

BODY(bytea_position)
{
	size_t at = ex_find(args[0].u.s, args[1].u.s, 0);

	UNUSED(ctx);
	UNUSED(n);
	ex_set_int(out, at == SIZE_MAX ? 0 : (int64_t)at + 1);
	return NULL;
}

static struct err *
check_index(const struct ex_ctx *ctx, int64_t i, int64_t len)
{
	if (i >= 0 && i < len)
		return NULL;
	return ERR(ctx->arena, ERRCODE_ARRAY_SUBSCRIPT_ERROR,
	    "index %lld out of valid range, 0..%lld", (long long)i,
	    (long long)len - 1);
}

BODY(get_byte)
{
	struct str s = args[0].u.s;

	UNUSED(n);
	TRY(check_index(ctx, args[1].u.i, (int64_t)s.len));
	ex_set_int(out, (uint8_t)s.p[args[1].u.i]);
	return NULL;
}

BODY(set_byte)
{
	struct str s = args[0].u.s;
	char *p;

	UNUSED(n);
	TRY(check_index(ctx, args[1].u.i, (int64_t)s.len));
	p = arena_dup(ctx->arena, s.p, s.len);
	p[args[1].u.i] = (char)(args[2].u.i & 0xff);
	ex_set_str(out, str_of(p, s.len));
	return NULL;
}

BODY(get_bit)
{
	struct str s = args[0].u.s;
	int64_t i = args[1].u.i;

	UNUSED(n);
	TRY(check_index(ctx, i, (int64_t)s.len * 8));
	ex_set_int(out, (uint8_t)s.p[i / 8] >> (i % 8) & 1);
	return NULL;
}

BODY(set_bit)
{
	struct str s = args[0].u.s;
	int64_t i = args[1].u.i;
	char *p;

	UNUSED(n);
	TRY(check_index(ctx, i, (int64_t)s.len * 8));
	if (args[2].u.i != 0 && args[2].u.i != 1)
		return ERR(ctx->arena, ERRCODE_INVALID_PARAMETER_VALUE,
		    "new bit must be 0 or 1");
	p = arena_dup(ctx->arena, s.p, s.len);
	p[i / 8] =
	    (char)((p[i / 8] & ~(1 << i % 8)) | (int)(args[2].u.i << i % 8));
	ex_set_str(out, str_of(p, s.len));
	return NULL;
}

BODY(bit_count)
{
	int64_t bits = 0;

	UNUSED(ctx);
	UNUSED(n);
	for (size_t i = 0; i < args[0].u.s.len; i++)
		bits += __builtin_popcount((uint8_t)args[0].u.s.p[i]);
	ex_set_int(out, bits);
	return NULL;
}

static struct str
trim_bytes(struct str s, struct str set, bool left, bool right)
{
	while (left && s.len && set.len && memchr(set.p, s.p[0], set.len))
		s = str_skip(s, 1);
	while (
	    right && s.len && set.len && memchr(set.p, s.p[s.len - 1], set.len))
		s.len--;
	return s;
}

BODY(bytea_btrim)
{
	UNUSED(ctx);
	UNUSED(n);
	ex_set_str(out, trim_bytes(args[0].u.s, args[1].u.s, true, true));
	return NULL;
}

BODY(bytea_ltrim)
{
	UNUSED(ctx);
	UNUSED(n);
	ex_set_str(out, trim_bytes(args[0].u.s, args[1].u.s, true, false));
	return NULL;
}

BODY(bytea_rtrim)
{
	UNUSED(ctx);
	UNUSED(n);
	ex_set_str(out, trim_bytes(args[0].u.s, args[1].u.s, false, true));
	return NULL;
}

/* ---- encode, decode ---- */

static const char hex_digits[] = "0123456789abcdef";
static const char base64_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void
put_hex(struct buf *b, struct str s)
{
	for (size_t i = 0; i < s.len; i++) {
		buf_u8(b, (uint8_t)hex_digits[(uint8_t)s.p[i] >> 4]);
		buf_u8(b, (uint8_t)hex_digits[s.p[i] & 15]);
	}
}

#define BASE64_LINE 76

static void
put_base64(struct buf *b, struct str s)
{
	size_t column = 0;

	for (size_t i = 0; i < s.len; i += 3) {
		uint32_t v = (uint32_t)(uint8_t)s.p[i] << 16;
		size_t left = s.len - i;

		if (left > 1)
			v |= (uint32_t)(uint8_t)s.p[i + 1] << 8;
		if (left > 2)
			v |= (uint8_t)s.p[i + 2];
		if (column == BASE64_LINE) {
			buf_u8(b, '\n');
			column = 0;
		}
		buf_u8(b, (uint8_t)base64_digits[v >> 18]);
		buf_u8(b, (uint8_t)base64_digits[v >> 12 & 63]);
		buf_u8(b, left > 1 ? (uint8_t)base64_digits[v >> 6 & 63] : '=');
		buf_u8(b, left > 2 ? (uint8_t)base64_digits[v & 63] : '=');
		column += 4;
	}
	if (column == BASE64_LINE)
		buf_u8(b, '\n');
}

static void
put_escape(struct buf *b, struct str s)
{
	for (size_t i = 0; i < s.len; i++) {
		uint8_t c = (uint8_t)s.p[i];

		if (c == 0 || c >= 0x80)
			buf_printf(b, "\\%03o", c);
		else if (c == '\\')
			buf_str(b, STR("\\\\"));
		else
			buf_u8(b, c);
	}
}

static struct err *
unknown_encoding(const struct ex_ctx *ctx, struct str name)
{
	return ERR(ctx->arena, ERRCODE_INVALID_PARAMETER_VALUE,
	    "unrecognized encoding: \"%.*s\"", STR_FMT(name));
}

BODY(encode)
{
	struct str s = args[0].u.s, how = args[1].u.s;
	struct buf b;

	UNUSED(n);
	TRY(ex_room(ctx, s.len * 4));
	buf_init(&b, ctx->arena);
	if (str_ieq(how, STR("hex")))
		put_hex(&b, s);
	else if (str_ieq(how, STR("base64")))
		put_base64(&b, s);
	else if (str_ieq(how, STR("escape")))
		put_escape(&b, s);
	else
		return unknown_encoding(ctx, how);
	ex_set_str(out, buf_view(&b));
	return NULL;
}

static bool
is_space(char c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static struct err *
get_hex(const struct ex_ctx *ctx, struct str s, struct buf *b)
{
	int high = -1;

	for (size_t i = 0; i < s.len; i++) {
		int v = str_hex_digit(s.p[i]);

		if (high < 0 && is_space(s.p[i]))
			continue;
		if (v < 0)
			return ERR(ctx->arena, ERRCODE_INVALID_PARAMETER_VALUE,
			    "invalid hexadecimal digit: \"%.*s\"",
			    (int)ex_char_len(str_skip(s, i)), s.p + i);
		if (high < 0) {
			high = v;
			continue;
		}
		buf_u8(b, (uint8_t)(high << 4 | v));
		high = -1;
	}
	if (high >= 0)
		return ERR(ctx->arena, ERRCODE_INVALID_PARAMETER_VALUE,
		    "invalid hexadecimal data: odd number of digits");
	return NULL;
}

static struct err *
bad_base64_end(const struct ex_ctx *ctx)
{
	return err_hint(ERR(ctx->arena, ERRCODE_INVALID_PARAMETER_VALUE,
			    "invalid base64 end sequence"),
	    "Input data is missing padding, is truncated, or is otherwise "
	    "corrupted.");
}

static struct err *
get_base64(const struct ex_ctx *ctx, struct str s, struct buf *b)
{
	uint32_t v = 0;
	int have = 0, bytes = 3; /* fewer after a '=' */

	for (size_t i = 0; i < s.len; i++) {
		char c = s.p[i];
		const char *at = c ? strchr(base64_digits, c) : NULL;

		if (is_space(c))
			continue;
		if (c == '=' && bytes == 3) {
			if (have < 2)
				return ERR(ctx->arena,
				    ERRCODE_INVALID_PARAMETER_VALUE,
				    "unexpected \"=\" while decoding base64 "
				    "sequence");
			bytes = have - 1;
		} else if (!at && c != '=') {
			return ERR(ctx->arena, ERRCODE_INVALID_PARAMETER_VALUE,
			    "invalid symbol \"%.*s\" found while decoding "
			    "base64 sequence",
			    (int)ex_char_len(str_skip(s, i)), s.p + i);
		}
		v = v << 6 | (at ? (uint32_t)(at - base64_digits) : 0);
		if (++have < 4)
			continue;
		for (int k = 0; k < bytes; k++)
			buf_u8(b, (uint8_t)(v >> (16 - 8 * k)));
		v = 0;
		have = 0;
	}
	return have ? bad_base64_end(ctx) : NULL;
}

static bool
is_octal(struct str s)
{
	return s.len >= 4 && s.p[1] >= '0' && s.p[1] <= '3' && s.p[2] >= '0' &&
	       s.p[2] <= '7' && s.p[3] >= '0' && s.p[3] <= '7';
}

static struct err *
get_escape(const struct ex_ctx *ctx, struct str s, struct buf *b)
{
	while (s.len) {
		size_t len = 1;

		if (s.p[0] != '\\') {
			buf_u8(b, (uint8_t)s.p[0]);
		} else if (is_octal(s)) {
			buf_u8(
			    b, (uint8_t)((s.p[1] - '0') << 6 |
					 (s.p[2] - '0') << 3 | (s.p[3] - '0')));
			len = 4;
		} else if (s.len > 1 && s.p[1] == '\\') {
			buf_u8(b, '\\');
			len = 2;
		} else {
			return ERR(ctx->arena,
			    ERRCODE_INVALID_TEXT_REPRESENTATION,
			    "invalid input syntax for type %s", "bytea");
		}
		s = str_skip(s, len);
	}
	return NULL;
}

BODY(decode)
{
	struct str s = args[0].u.s, how = args[1].u.s;
	struct buf b;

	UNUSED(n);
	TRY(ex_room(ctx, s.len));
	buf_init(&b, ctx->arena);
	if (str_ieq(how, STR("hex")))
		TRY(get_hex(ctx, s, &b));
	else if (str_ieq(how, STR("base64")))
		TRY(get_base64(ctx, s, &b));
	else if (str_ieq(how, STR("escape")))
		TRY(get_escape(ctx, s, &b));
	else
		return unknown_encoding(ctx, how);
	ex_set_str(out, buf_view(&b));
	return NULL;
}

/* ---- digests ---- */

static struct err *
digest(
    const struct ex_ctx *ctx, const EVP_MD *md, struct str s, struct str *out)
{
	unsigned char *p = arena_alloc(ctx->arena, EVP_MAX_MD_SIZE);
	unsigned len = 0;

	if (EVP_Digest(s.len ? s.p : "", s.len, p, &len, md, NULL) != 1)
		return ERR(ctx->arena, ERRCODE_INTERNAL_ERROR,
		    "could not compute %s hash", EVP_MD_get0_name(md));
	*out = str_of(p, len);
	return NULL;
}

BODY(md5)
{
	struct str d;
	struct buf b;

	UNUSED(n);
	TRY(digest(ctx, EVP_md5(), args[0].u.s, &d));
	buf_init(&b, ctx->arena);
	put_hex(&b, d);
	ex_set_str(out, buf_view(&b));
	return NULL;
}

#define DIGEST(fname, md)                                                      \
	BODY(fname)                                                            \
	{                                                                      \
		UNUSED(n);                                                     \
		out->null = false;                                             \
		return digest(ctx, md(), args[0].u.s, &out->u.s);              \
	}
DIGEST(sha224, EVP_sha224)
DIGEST(sha256, EVP_sha256)
DIGEST(sha384, EVP_sha384)
DIGEST(sha512, EVP_sha512)

/* convert_from and convert_to know the one encoding there is. */
BODY(convert_utf8)
{
	struct str enc = args[1].u.s;
	size_t bad;

	UNUSED(n);
	if (!str_ieq(enc, STR("utf8")) && !str_ieq(enc, STR("utf-8")) &&
	    !str_ieq(enc, STR("unicode")))
		return ERR(ctx->arena, ERRCODE_FEATURE_NOT_SUPPORTED,
		    "conversion with encoding \"%.*s\" is not supported",
		    STR_FMT(enc));
	if (out->type == EX_TEXT && !str_utf8(args[0].u.s, &bad))
		return ERR(ctx->arena, ERRCODE_CHARACTER_NOT_IN_REPERTOIRE,
		    "invalid byte sequence for encoding \"UTF8\": 0x%02x",
		    (uint8_t)args[0].u.s.p[bad]);
	ex_set_str(out, args[0].u.s);
	return NULL;
}

#define BYT EX_BYTEA
#define I4  EX_INT4
#define I8  EX_INT8

static const struct ex_func funcs[] = {
    FN(2012, "substring", bytea_substr, BYT, BYT, I4, I4),
    FN(2013, "substring", bytea_substr, BYT, BYT, I4),
    FN(2085, "substr", bytea_substr, BYT, BYT, I4, I4),
    FN(2086, "substr", bytea_substr, BYT, BYT, I4),
    FN(2014, "position", bytea_position, I4, BYT, BYT),
    FN(721, "get_byte", get_byte, I4, BYT, I4),
    FN(722, "set_byte", set_byte, BYT, BYT, I4, I4),
    FN(723, "get_bit", get_bit, I4, BYT, I8),
    FN(724, "set_bit", set_bit, BYT, BYT, I8, I4),
    FN(6163, "bit_count", bit_count, I8, BYT),
    FN(2015, "btrim", bytea_btrim, BYT, BYT, BYT),
    FN(6195, "ltrim", bytea_ltrim, BYT, BYT, BYT),
    FN(6196, "rtrim", bytea_rtrim, BYT, BYT, BYT),
    FN(1946, "encode", encode, EX_TEXT, BYT, EX_TEXT),
    FN(1947, "decode", decode, BYT, EX_TEXT, EX_TEXT),
    FN(2311, "md5", md5, EX_TEXT, EX_TEXT),
    FN(2321, "md5", md5, EX_TEXT, BYT),
    FN(3419, "sha224", sha224, BYT, BYT),
    FN(3420, "sha256", sha256, BYT, BYT),
    FN(3421, "sha384", sha384, BYT, BYT),
    FN(3422, "sha512", sha512, BYT, BYT),
    FN(1714, "convert_from", convert_utf8, EX_TEXT, BYT, EX_NAME),
    FN(1717, "convert_to", convert_utf8, BYT, EX_TEXT, EX_NAME),
};
EX_FUNCS(ex_funcs_bytea);
