/* text, varchar, bpchar, name, "char", unknown; void and record, which are
 * never stored. */
#include "expr/type_impl.h"

#define NAME_MAX_LEN 63

/* Bytes of the first `chars` characters of well-formed text. */
static size_t
bytes_of_chars(struct str s, size_t chars)
{
	size_t n = 0;

	while (n < s.len && chars--) {
		n++;
		while (n < s.len && (s.p[n] & 0xc0) == 0x80)
			n++;
	}
	return n;
}

static struct str
strip_blanks(struct str s)
{
	while (s.len && s.p[s.len - 1] == ' ')
		s.len--;
	return s;
}

/* Cuts to `max` characters: blanks always, others only when the cast is
 * explicit. */
static struct err *
cut(struct arena *a, struct str *s, int32_t max, bool is_explicit,
    const char *type)
{
	size_t keep = bytes_of_chars(*s, (size_t)max);

	if (keep == s->len)
		return NULL;
	if (!is_explicit && strip_blanks(str_skip(*s, keep)).len)
		return ERR(a, ERRCODE_STRING_DATA_RIGHT_TRUNCATION,
		    "value too long for type %s(%d)", type, max);
	s->len = keep;
	return NULL;
}

static struct err *
varchar_typmod(struct arena *a, struct val v, int32_t typmod, bool is_explicit,
    struct val *out)
{
	*out = v;
	if (typmod < 5)
		return NULL;
	return cut(a, &out->u.s, typmod - 4, is_explicit, "character varying");
}

static struct err *
bpchar_typmod(struct arena *a, struct val v, int32_t typmod, bool is_explicit,
    struct val *out)
{
	size_t chars, want = (size_t)typmod - 4;
	char *p;

	*out = v;
	if (typmod < 5)
		return NULL;
	TRY(cut(a, &out->u.s, typmod - 4, is_explicit, "character"));
	chars = str_utf8_len(out->u.s);
	if (chars >= want)
		return NULL;
	p = arena_alloc_raw(a, out->u.s.len + want - chars);
	if (out->u.s.len)
		memcpy(p, out->u.s.p, out->u.s.len);
	memset(p + out->u.s.len, ' ', want - chars);
	out->u.s = str_of(p, out->u.s.len + want - chars);
	return NULL;
}

/* ---- in ---- */

static struct err *
plain(struct arena *a, uint32_t type, struct str text, struct val *out)
{
	TRY(ex_check_utf8(a, text));
	*out = val_str(type, arena_str(a, text));
	return NULL;
}

static struct err *
text_in(struct arena *a, const struct ex_env *env, struct str text,
    int32_t typmod, struct val *out)
{
	(void)env;
	(void)typmod;
	return plain(a, EX_TEXT, text, out);
}

static struct err *
varchar_in(struct arena *a, const struct ex_env *env, struct str text,
    int32_t typmod, struct val *out)
{
	(void)env;
	TRY(plain(a, EX_VARCHAR, text, out));
	return varchar_typmod(a, *out, typmod, true, out);
}

static struct err *
bpchar_in(struct arena *a, const struct ex_env *env, struct str text,
    int32_t typmod, struct val *out)
{
	(void)env;
	TRY(plain(a, EX_BPCHAR, text, out));
	return bpchar_typmod(a, *out, typmod, true, out);
}

static struct err *
unknown_in(struct arena *a, const struct ex_env *env, struct str text,
    int32_t typmod, struct val *out)
{
	(void)env;
	(void)typmod;
	return plain(a, EX_UNKNOWN, text, out);
}

/* Names are cut to 63 bytes, at a character. */
static struct err *
name_in(struct arena *a, const struct ex_env *env, struct str text,
    int32_t typmod, struct val *out)
{
	(void)env;
	(void)typmod;
	TRY(plain(a, EX_NAME, text, out));
	if (out->u.s.len > NAME_MAX_LEN) {
		out->u.s.len = NAME_MAX_LEN;
		while (
		    out->u.s.len && (out->u.s.p[out->u.s.len] & 0xc0) == 0x80)
			out->u.s.len--;
	}
	return NULL;
}

static bool
is_octal(char c)
{
	return c >= '0' && c <= '7';
}

/* The first byte; "\ooo" stands for one that is not ASCII. */
static struct err *
char_in(struct arena *a, const struct ex_env *env, struct str text,
    int32_t typmod, struct val *out)
{
	uint8_t c = text.len ? (uint8_t)text.p[0] : 0;

	(void)env;
	(void)typmod;
	if (text.len == 4 && c == '\\' && is_octal(text.p[1]) &&
	    is_octal(text.p[2]) && is_octal(text.p[3]))
		c = (uint8_t)(((text.p[1] - '0') << 6) |
			      ((text.p[2] - '0') << 3) | (text.p[3] - '0'));
	*out = val_str(EX_CHAR, str_of(arena_dup(a, &c, 1), c ? 1 : 0));
	return NULL;
}

static void
char_out(struct buf *b, const struct ex_env *env, struct val v)
{
	uint8_t c = v.u.s.len ? (uint8_t)v.u.s.p[0] : 0;

	(void)env;
	if (c & 0x80)
		buf_printf(b, "\\%03o", (unsigned)c);
	else if (c)
		buf_u8(b, c);
}

/* ---- wire ---- */

static struct err *
text_recv(struct arena *a, struct str bytes, int32_t typmod, struct val *out)
{
	(void)typmod;
	return plain(a, EX_TEXT, bytes, out);
}

static struct err *
varchar_recv(struct arena *a, struct str bytes, int32_t typmod, struct val *out)
{
	TRY(plain(a, EX_VARCHAR, bytes, out));
	return varchar_typmod(a, *out, typmod, false, out);
}

static struct err *
bpchar_recv(struct arena *a, struct str bytes, int32_t typmod, struct val *out)
{
	TRY(plain(a, EX_BPCHAR, bytes, out));
	return bpchar_typmod(a, *out, typmod, false, out);
}

static struct err *
unknown_recv(struct arena *a, struct str bytes, int32_t typmod, struct val *out)
{
	(void)typmod;
	return plain(a, EX_UNKNOWN, bytes, out);
}

static struct err *
name_recv(struct arena *a, struct str bytes, int32_t typmod, struct val *out)
{
	(void)typmod;
	TRY(plain(a, EX_NAME, bytes, out));
	if (bytes.len <= NAME_MAX_LEN)
		return NULL;
	return err_detail(ERR(a, ERRCODE_NAME_TOO_LONG, "identifier too long"),
	    "Identifier must be less than %d characters.", NAME_MAX_LEN + 1);
}

static struct err *
char_recv(struct arena *a, struct str bytes, int32_t typmod, struct val *out)
{
	struct cur c = cur_of(bytes);
	uint8_t v = cur_u8(&c);

	(void)typmod;
	*out = val_str(EX_CHAR, str_of(arena_dup(a, &v, 1), v ? 1 : 0));
	return ex_recv_end(a, &c);
}

static void
char_send(struct buf *b, struct val v)
{
	buf_u8(b, v.u.s.len ? (uint8_t)v.u.s.p[0] : 0);
}

/* ---- order and rows ---- */

static int
bpchar_cmp(struct val x, struct val y)
{
	return str_cmp(strip_blanks(x.u.s), strip_blanks(y.u.s));
}

static void
bpchar_key_enc(
    struct buf *b, enum cl_tag tag, struct cl_key_order o, struct val v)
{
	cl_key_bytes(b, tag, o, strip_blanks(v.u.s));
}

static bool
text_row_dec(struct arena *a, struct str bytes, struct val *v)
{
	return str_utf8(bytes, NULL) && ex_row_dec_bytes(a, bytes, v);
}

static bool
text_key_dec(
    struct cur *c, struct cl_key_order o, struct arena *a, struct val *v)
{
	return ex_key_dec_bytes(c, o, a, v) && str_utf8(v->u.s, NULL);
}

static bool
char_row_dec(struct arena *a, struct str bytes, struct val *v)
{
	return bytes.len <= 1 && ex_row_dec_bytes(a, bytes, v);
}

static bool
char_key_dec(
    struct cur *c, struct cl_key_order o, struct arena *a, struct val *v)
{
	return ex_key_dec_bytes(c, o, a, v) && v->u.s.len <= 1;
}

#define TEXT_COMMON                                                            \
	.out = ex_out_bytes, .send = ex_send_bytes, .row_enc = ex_row_enc_bytes
#define TEXT_STORED                                                            \
	.tag = CL_TAG_TEXT, .cmp = ex_cmp_bytes, .key_enc = ex_key_enc_bytes,  \
	.key_dec = text_key_dec, .key_exact = true, .row_dec = text_row_dec

const struct ex_type ex_type_def_text = {
    .oid = EX_TEXT,
    .name = "text",
    .sql_name = "text",
    .len = -1,
    .category = 'S',
    .preferred = true,
    .array = 1009,
    .in = text_in,
    .recv = text_recv,
    TEXT_COMMON,
    TEXT_STORED,
};

const struct ex_type ex_type_def_varchar = {
    .oid = EX_VARCHAR,
    .name = "varchar",
    .sql_name = "character varying",
    .len = -1,
    .category = 'S',
    .array = 1015,
    .in = varchar_in,
    .recv = varchar_recv,
    .apply_typmod = varchar_typmod,
    TEXT_COMMON,
    TEXT_STORED,
};

const struct ex_type ex_type_def_name = {
    .oid = EX_NAME,
    .name = "name",
    .sql_name = "name",
    .len = 64,
    .category = 'S',
    .array = 1003,
    .in = name_in,
    .recv = name_recv,
    TEXT_COMMON,
    TEXT_STORED,
};

const struct ex_type ex_type_def_bpchar = {
    .oid = EX_BPCHAR,
    .name = "bpchar",
    .sql_name = "character",
    .len = -1,
    .category = 'S',
    .array = 1014,
    .tag = CL_TAG_BPCHAR,
    .in = bpchar_in,
    .recv = bpchar_recv,
    .cmp = bpchar_cmp,
    .apply_typmod = bpchar_typmod,
    .key_enc = bpchar_key_enc,
    .key_dec = text_key_dec,
    .key_exact = false, /* the blanks */
    .row_dec = text_row_dec,
    TEXT_COMMON,
};

const struct ex_type ex_type_def_char = {
    .oid = EX_CHAR,
    .name = "char",
    .sql_name = "\"char\"",
    .len = 1,
    .category = 'Z',
    .array = 1002,
    .tag = CL_TAG_TEXT,
    .in = char_in,
    .out = char_out,
    .recv = char_recv,
    .send = char_send,
    .cmp = ex_cmp_bytes,
    .key_enc = ex_key_enc_bytes,
    .key_dec = char_key_dec,
    .key_exact = true,
    .row_enc = ex_row_enc_bytes,
    .row_dec = char_row_dec,
};

const struct ex_type ex_type_def_unknown = {
    .oid = EX_UNKNOWN,
    .name = "unknown",
    .sql_name = "unknown",
    .len = -2,
    .category = 'X',
    .in = unknown_in,
    .recv = unknown_recv,
    .cmp = ex_cmp_bytes,
    .row_dec = text_row_dec,
    TEXT_COMMON,
};

/* ---- pseudo-types ---- */

static struct err *
pseudo_in(struct arena *a, const char *name)
{
	return ERR(a, ERRCODE_FEATURE_NOT_SUPPORTED,
	    "cannot accept a value of type %s", name);
}

static struct err *
void_in(struct arena *a, const struct ex_env *env, struct str text,
    int32_t typmod, struct val *out)
{
	(void)env;
	(void)text;
	(void)typmod;
	(void)a;
	*out = (struct val){.type = EX_VOID};
	return NULL;
}

static struct err *
void_recv(struct arena *a, struct str bytes, int32_t typmod, struct val *out)
{
	(void)a;
	(void)bytes;
	(void)typmod;
	*out = (struct val){.type = EX_VOID};
	return NULL;
}

static void
void_out(struct buf *b, const struct ex_env *env, struct val v)
{
	(void)b;
	(void)env;
	(void)v;
}

static void
void_send(struct buf *b, struct val v)
{
	(void)b;
	(void)v;
}

static struct err *
record_in(struct arena *a, const struct ex_env *env, struct str text,
    int32_t typmod, struct val *out)
{
	(void)env;
	(void)text;
	(void)typmod;
	(void)out;
	return pseudo_in(a, "record");
}

static struct err *
record_recv(struct arena *a, struct str bytes, int32_t typmod, struct val *out)
{
	(void)bytes;
	(void)typmod;
	(void)out;
	return pseudo_in(a, "record");
}

const struct ex_type ex_type_def_void = {
    .oid = EX_VOID,
    .name = "void",
    .sql_name = "void",
    .len = 4,
    .category = 'P',
    .in = void_in,
    .out = void_out,
    .recv = void_recv,
    .send = void_send,
};

const struct ex_type ex_type_def_record = {
    .oid = EX_RECORD,
    .name = "record",
    .sql_name = "record",
    .len = -1,
    .category = 'P',
    .array = 2287,
    .in = record_in,
    .recv = record_recv,
    .out = ex_out_bytes,
    .send = ex_send_bytes,
};
