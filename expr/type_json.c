#include "expr/json_lex.h"
#include "expr/jsonb.h"
#include "expr/numeric.h"
#include "expr/type_impl.h"

#define JSONB_VERSION 1 /* of the wire form */

/* json keeps its text; it is only checked. */
static struct err *
check_json(struct arena *a, struct str text, struct val *out)
{
	static const struct js_sink nothing;

	TRY(ex_check_utf8(a, text));
	TRY(js_parse(a, text, false, &nothing));
	*out = val_str(EX_JSON, arena_str(a, text));
	return NULL;
}

static struct err *
json_in(struct arena *a, const struct ex_env *env, struct str text,
    int32_t typmod, struct val *out)
{
	(void)env;
	(void)typmod;
	return check_json(a, text, out);
}

static struct err *
json_recv(struct arena *a, struct str bytes, int32_t typmod, struct val *out)
{
	(void)typmod;
	return check_json(a, bytes, out);
}

static struct err *
jsonb_in(struct arena *a, const struct ex_env *env, struct str text,
    int32_t typmod, struct val *out)
{
	struct str s;

	(void)env;
	(void)typmod;
	TRY(ex_check_utf8(a, text));
	TRY(jsonb_parse(a, text, &s));
	*out = val_str(EX_JSONB, s);
	return NULL;
}

static struct err *
jsonb_recv(struct arena *a, struct str bytes, int32_t typmod, struct val *out)
{
	struct cur c = cur_of(bytes);
	uint8_t version = cur_u8(&c);

	if (!cur_ok(&c))
		return ex_recv_end(a, &c);
	if (version != JSONB_VERSION)
		return ERR(a, ERRCODE_INVALID_BINARY_REPRESENTATION,
		    "unsupported jsonb version number %d", version);
	return jsonb_in(a, NULL, cur_bytes(&c, c.left), typmod, out);
}

static void
jsonb_send(struct buf *b, struct val v)
{
	buf_u8(b, JSONB_VERSION);
	buf_str(b, v.u.s);
}

static int
jsonb_val_cmp(struct val x, struct val y)
{
	return jsonb_cmp(x.u.s, y.u.s);
}

static void
jsonb_key_enc(
    struct buf *b, enum cl_tag tag, struct cl_key_order o, struct val v)
{
	struct buf key;

	buf_init(&key, b->arena);
	jsonb_to_key(&key, v.u.s);
	cl_key_bytes(b, tag, o, buf_view(&key));
}

static bool
jsonb_key_dec(
    struct cur *c, struct cl_key_order o, struct arena *a, struct val *v)
{
	struct str key;

	return cl_key_read_bytes(c, o, a, &key) &&
	       jsonb_of_key(a, key, &v->u.s);
}

/* Rows hold text that was checked when it was written, and rows are
 * checksummed: only its outside is looked at here. */
static bool
json_row_dec(struct arena *a, struct str bytes, struct val *v)
{
	return bytes.len && str_utf8(bytes, NULL) &&
	       ex_row_dec_bytes(a, bytes, v);
}

/* Numbers as numeric writes them: no exponent, within its limits. */
static struct err *
check_number(void *arg, enum js_tok tok, struct str s)
{
	if (tok != JS_NUMBER ||
	    (s.len <= NUM_INT_DIGITS + NUM_SCALE_MAX + 2 &&
		!memchr(s.p, 'e', s.len) && !memchr(s.p, 'E', s.len)))
		return NULL;
	return ERR(arg, ERRCODE_DATA_CORRUPTED, "malformed jsonb");
}

/* What walks canonical text relies on its form. */
static bool
jsonb_row_dec(struct arena *a, struct str bytes, struct val *v)
{
	struct js_sink nothing = {.scalar = check_number, .arg = a};

	return str_utf8(bytes, NULL) && !js_parse(a, bytes, false, &nothing) &&
	       ex_row_dec_bytes(a, bytes, v);
}

const struct ex_type ex_type_def_json = {
    .oid = EX_JSON,
    .name = "json",
    .sql_name = "json",
    .len = -1,
    .category = 'U',
    .array = 199,
    .tag = CL_TAG_JSON,
    .in = json_in,
    .out = ex_out_bytes,
    .recv = json_recv,
    .send = ex_send_bytes,
    .row_enc = ex_row_enc_bytes,
    .row_dec = json_row_dec,
};

const struct ex_type ex_type_def_jsonb = {
    .oid = EX_JSONB,
    .name = "jsonb",
    .sql_name = "jsonb",
    .len = -1,
    .category = 'U',
    .array = 3807,
    .tag = CL_TAG_JSONB,
    .in = jsonb_in,
    .out = ex_out_bytes,
    .recv = jsonb_recv,
    .send = jsonb_send,
    .cmp = jsonb_val_cmp,
    .key_enc = jsonb_key_enc,
    .key_dec = jsonb_key_dec,
    .key_exact = false, /* scales of numbers */
    .row_enc = ex_row_enc_bytes,
    .row_dec = jsonb_row_dec,
};
