/* The registry, the NULL-aware wrappers, and what type families share. */
#include "expr/type.h"

#include <ctype.h>

#include "expr/datetime.h"
#include "expr/type_impl.h"

const struct ex_env ex_env_default = {
    .timezone = "UTC",
    .extra_float_digits = 1,
};

/* ---- registry ---- */

static const struct ex_type *const types[] = {
    &ex_type_def_bool,
    &ex_type_def_bytea,
    &ex_type_def_char,
    &ex_type_def_name,
    &ex_type_def_int8,
    &ex_type_def_int2,
    &ex_type_def_int4,
    &ex_type_def_text,
    &ex_type_def_oid,
    &ex_type_def_json,
    &ex_type_def_float4,
    &ex_type_def_float8,
    &ex_type_def_unknown,
    &ex_type_def_bpchar,
    &ex_type_def_varchar,
    &ex_type_def_date,
    &ex_type_def_time,
    &ex_type_def_timestamp,
    &ex_type_def_timestamptz,
    &ex_type_def_interval,
    &ex_type_def_numeric,
    &ex_type_def_regclass,
    &ex_type_def_record,
    &ex_type_def_void,
    &ex_type_def_uuid,
    &ex_type_def_jsonb,
};
#define TYPES (sizeof(types) / sizeof(types[0]))

/* SQL spellings beyond pg_type.typname and format_type's. */
static const struct {
	struct str name;
	const struct ex_type *type;
} aliases[] = {
    {STR("int"), &ex_type_def_int4},
    {STR("dec"), &ex_type_def_numeric},
    {STR("decimal"), &ex_type_def_numeric},
    {STR("float"), &ex_type_def_float8},
    {STR("char"), &ex_type_def_bpchar},
    {STR("timestamp"), &ex_type_def_timestamp},
    {STR("time"), &ex_type_def_time},
    {STR("char varying"), &ex_type_def_varchar},
};

const struct ex_type *
ex_type_at(size_t n)
{
	return n < TYPES ? types[n] : NULL;
}

const struct ex_type *
ex_type(uint32_t oid)
{
	/* By OID: the table is in rising order. */
	size_t lo = 0, hi = TYPES;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (types[mid]->oid == oid)
			return types[mid];
		if (types[mid]->oid < oid)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

const struct ex_type *
ex_type_by_name(struct str name)
{
	for (size_t i = 0; i < TYPES; i++)
		if (types[i] != &ex_type_def_char &&
		    (str_eq(name, str_c(types[i]->name)) ||
			str_eq(name, str_c(types[i]->sql_name))))
			return types[i];
	for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++)
		if (str_eq(name, aliases[i].name))
			return aliases[i].type;
	return str_eq(name, STR("\"char\"")) ? &ex_type_def_char : NULL;
}

uint32_t
ex_type_of_tag(enum cl_tag tag)
{
	static const uint32_t of[] = {
	    [CL_TAG_BOOL] = EX_BOOL,
	    [CL_TAG_INT] = EX_INT8,
	    [CL_TAG_REAL] = EX_FLOAT4,
	    [CL_TAG_DOUBLE] = EX_FLOAT8,
	    [CL_TAG_NUMERIC] = EX_NUMERIC,
	    [CL_TAG_TEXT] = EX_TEXT,
	    [CL_TAG_BPCHAR] = EX_BPCHAR,
	    [CL_TAG_BYTEA] = EX_BYTEA,
	    [CL_TAG_UUID] = EX_UUID,
	    [CL_TAG_DATE] = EX_DATE,
	    [CL_TAG_TIME] = EX_TIME,
	    [CL_TAG_TIMESTAMP] = EX_TIMESTAMP,
	    [CL_TAG_TIMESTAMPTZ] = EX_TIMESTAMPTZ,
	    [CL_TAG_INTERVAL] = EX_INTERVAL,
	    [CL_TAG_JSON] = EX_JSON,
	    [CL_TAG_JSONB] = EX_JSONB,
	};

	return (size_t)tag < sizeof(of) / sizeof(of[0]) ? of[tag] : 0;
}

/* ---- wrappers ---- */

struct err *
ex_in(struct arena *a, const struct ex_env *env, uint32_t type, int32_t typmod,
    struct str text, struct val *out)
{
	const struct ex_type *t = ex_type(type);

	*out = val_null(type);
	ASSERT(t);
	return t->in(a, env, text, typmod, out);
}

void
ex_out(struct buf *b, const struct ex_env *env, struct val v)
{
	const struct ex_type *t = ex_type(v.type);

	ASSERT(t);
	if (!v.null)
		t->out(b, env, v);
}

struct err *
ex_recv(struct arena *a, uint32_t type, int32_t typmod, struct str bytes,
    struct val *out)
{
	const struct ex_type *t = ex_type(type);

	*out = val_null(type);
	ASSERT(t);
	return t->recv(a, bytes, typmod, out);
}

void
ex_send(struct buf *b, struct val v)
{
	const struct ex_type *t = ex_type(v.type);

	ASSERT(t);
	if (!v.null)
		t->send(b, v);
}

void
ex_key_put(struct buf *b, enum cl_tag tag, struct cl_key_order o, struct val v)
{
	const struct ex_type *t = ex_type(v.type);

	if (v.null) {
		cl_key_null(b, o);
		return;
	}
	ASSERT(t && t->key_enc);
	t->key_enc(b, tag, o, v);
}

bool
ex_key_get(struct cur *c, struct cl_key_order o, struct arena *a, uint32_t type,
    struct val *v)
{
	const struct ex_type *t;
	struct cl_key_head head;

	*v = val_null(type);
	if (!cl_key_read_head(c, o, &head))
		return false;
	if (head.null)
		return true;
	if ((head.tag == CL_TAG_NONE) != (type != 0))
		return false;
	t = ex_type(type ? type : ex_type_of_tag(head.tag));
	if (!t || !t->key_dec)
		return false;
	v->type = t->oid;
	v->null = false;
	return t->key_dec(c, o, a, v);
}

/* ---- shared by the families ---- */

struct err *
ex_bad_text(struct arena *a, const char *type, struct str text)
{
	return ERR(a, ERRCODE_INVALID_TEXT_REPRESENTATION,
	    "invalid input syntax for type %s: \"%.*s\"", type, STR_FMT(text));
}

struct err *
ex_bad_range(struct arena *a, const char *type, struct str text)
{
	return ERR(a, ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
	    "value \"%.*s\" is out of range for type %s", STR_FMT(text), type);
}

struct err *
ex_recv_end(struct arena *a, const struct cur *c)
{
	if (!cur_ok(c))
		return ERR(a, ERRCODE_PROTOCOL_VIOLATION,
		    "insufficient data left in message");
	if (!cur_done(c))
		return ERR(a, ERRCODE_INVALID_BINARY_REPRESENTATION,
		    "incorrect binary data format");
	return NULL;
}

static size_t
utf8_claimed_len(unsigned char c)
{
	return c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf8 ? 4 : 1;
}

struct err *
ex_check_utf8(struct arena *a, struct str s)
{
	struct buf b;
	size_t bad, n;

	if (str_utf8(s, &bad))
		return NULL;
	n = utf8_claimed_len((unsigned char)s.p[bad]);
	buf_init(&b, a);
	for (size_t i = bad; i < s.len && i < bad + n; i++)
		buf_printf(&b, "%s0x%02x", i > bad ? " " : "",
		    (unsigned)(unsigned char)s.p[i]);
	return ERR(a, ERRCODE_CHARACTER_NOT_IN_REPERTOIRE,
	    "invalid byte sequence for encoding \"UTF8\": %s", buf_cstr(&b));
}

struct str
ex_trim(struct str s)
{
	while (s.len && isspace((unsigned char)s.p[0]))
		s = str_skip(s, 1);
	while (s.len && isspace((unsigned char)s.p[s.len - 1]))
		s.len--;
	return s;
}

uint64_t
ex_zigzag(int64_t v)
{
	return ((uint64_t)v << 1) ^ (v < 0 ? UINT64_MAX : 0);
}

int64_t
ex_unzigzag(uint64_t v)
{
	return (int64_t)((v >> 1) ^ (v & 1 ? UINT64_MAX : 0));
}

int
ex_cmp_bytes(struct val x, struct val y)
{
	return str_cmp(x.u.s, y.u.s);
}

void
ex_key_enc_bytes(
    struct buf *b, enum cl_tag tag, struct cl_key_order o, struct val v)
{
	cl_key_bytes(b, tag, o, v.u.s);
}

bool
ex_key_dec_bytes(
    struct cur *c, struct cl_key_order o, struct arena *a, struct val *v)
{
	return cl_key_read_bytes(c, o, a, &v->u.s);
}

void
ex_row_enc_bytes(struct buf *b, struct val v)
{
	buf_str(b, v.u.s);
}

bool
ex_row_dec_bytes(struct arena *a, struct str bytes, struct val *v)
{
	v->u.s = arena_str(a, bytes);
	return true;
}

void
ex_send_bytes(struct buf *b, struct val v)
{
	buf_str(b, v.u.s);
}

void
ex_out_bytes(struct buf *b, const struct ex_env *env, struct val v)
{
	(void)env;
	buf_str(b, v.u.s);
}

int
ex_cmp_int(struct val x, struct val y)
{
	return x.u.i < y.u.i ? -1 : x.u.i > y.u.i;
}

void
ex_key_enc_int(
    struct buf *b, enum cl_tag tag, struct cl_key_order o, struct val v)
{
	cl_key_int(b, tag, o, v.u.i);
}

bool
ex_key_dec_int(
    struct cur *c, struct cl_key_order o, struct arena *a, struct val *v)
{
	(void)a;
	return cl_key_read_int(c, o, &v->u.i);
}

void
ex_send_be64(struct buf *b, struct val v)
{
	buf_be64(b, (uint64_t)v.u.i);
}
