/* Reading json and jsonb.  Both are text in memory, jsonb in canonical form. */
#include "expr/func_int.h"
#include "expr/json_int.h"
#include "expr/numeric.h"

static struct err *
malformed(const struct ex_ctx *ctx)
{
	return ERR(ctx->arena, ERRCODE_DATA_CORRUPTED, "malformed JSON value");
}

static struct err *
invalid(const struct ex_ctx *ctx, const char *what)
{
	return ERR(ctx->arena, ERRCODE_INVALID_PARAMETER_VALUE, "%s", what);
}

/* ---- finding a part ---- */

/* Value of a key of an object, the last of equal ones; NULL p if none. */
static struct err *
member(const struct ex_ctx *ctx, struct str v, struct str name, struct str *out)
{
	struct json_iter it = json_iter(v);
	struct str key, val, text;

	*out = STR_NONE;
	if (!it.object)
		return NULL;
	while (json_next(&it, &key, &val)) {
		if (!json_unquote(ctx->arena, key, &text))
			return malformed(ctx);
		if (str_eq(text, name))
			*out = val;
	}
	return it.bad ? malformed(ctx) : NULL;
}

/* Element i of an array, from the end when negative; NULL p if none. */
static struct err *
element(const struct ex_ctx *ctx, struct str v, int64_t i, struct str *out)
{
	struct json_iter it = json_iter(v);
	struct str key, val;

	*out = STR_NONE;
	if (json_kind(v) != JSON_ARRAY)
		return NULL;
	if (i < 0) {
		int64_t count = 0;

		while (json_next(&it, &key, &val))
			count++;
		i += count;
		it = json_iter(v);
	}
	while (i >= 0 && json_next(&it, &key, &val)) {
		if (i-- == 0)
			*out = val;
	}
	return it.bad ? malformed(ctx) : NULL;
}

/* A part as json (raw), or as text: strings without quotes, null as NULL. */
static struct err *
give_part(const struct ex_ctx *ctx, struct str part, struct val *out)
{
	if (!part.p)
		return NULL;
	out->null = false;
	out->u.s = part;
	if (out->type != EX_TEXT)
		return NULL;
	if (json_kind(part) == JSON_NULL)
		out->null = true;
	else if (json_kind(part) == JSON_STRING &&
		 !json_unquote(ctx->arena, part, &out->u.s))
		return malformed(ctx);
	return NULL;
}

BODY(json_field)
{
	struct str part;

	UNUSED(n);
	TRY(member(ctx, args[0].u.s, args[1].u.s, &part));
	return give_part(ctx, part, out);
}

/* PostgreSQL keeps a jsonb scalar as an array of one, and here it shows. */
static bool
is_scalar_element(const struct val *v, int64_t i)
{
	enum json_kind k = json_kind(v->u.s);

	return v->type == EX_JSONB && k != JSON_ARRAY && k != JSON_OBJECT &&
	       (i == 0 || i == -1);
}

BODY(json_element)
{
	struct str part = args[0].u.s;

	UNUSED(n);
	if (!is_scalar_element(&args[0], args[1].u.i))
		TRY(element(ctx, args[0].u.s, args[1].u.i, &part));
	return give_part(ctx, part, out);
}

/* ---- paths ---- */

static struct err *
follow(const struct ex_ctx *ctx, struct str v, struct str step, struct str *out)
{
	int64_t i;

	*out = STR_NONE;
	if (json_kind(v) == JSON_OBJECT)
		return member(ctx, v, step, out);
	if (json_path_index(step, &i))
		return element(ctx, v, i, out);
	return NULL;
}

BODY(json_path)
{
	struct str v = args[0].u.s;
	struct json_path path;

	UNUSED(n);
	TRY(json_path_parse(ctx->arena, args[1].u.s, &path));
	for (uint32_t i = 0; i < path.n && v.p; i++)
		TRY(follow(ctx, v, path.step[i], &v));
	return give_part(ctx, v, out);
}

/* ---- facts ---- */

BODY(json_typeof)
{
	static const char *const names[] = {
	    NULL, "object", "array", "string", "number", "boolean", "null"};
	enum json_kind k = json_kind(args[0].u.s);

	UNUSED(n);
	if (k == JSON_BAD)
		return malformed(ctx);
	ex_set_str(out, str_c(names[k]));
	return NULL;
}

BODY(json_array_length)
{
	struct json_iter it = json_iter(args[0].u.s);
	enum json_kind k = json_kind(args[0].u.s);
	struct str key, val;
	int64_t count = 0;

	UNUSED(n);
	if (k == JSON_OBJECT)
		return invalid(ctx, "cannot get array length of a non-array");
	if (k != JSON_ARRAY)
		return invalid(ctx, "cannot get array length of a scalar");
	while (json_next(&it, &key, &val))
		count++;
	ex_set_int(out, count);
	return it.bad ? malformed(ctx) : NULL;
}

/* Whether a string is a key of the object, or an element of the array. */
static struct err *
has(const struct ex_ctx *ctx, struct str v, struct str name, bool *out)
{
	struct json_iter it = json_iter(v);
	struct str key, val, text;

	*out = false;
	if (json_kind(v) == JSON_STRING) {
		if (!json_unquote(ctx->arena, v, &text))
			return malformed(ctx);
		*out = str_eq(text, name);
		return NULL;
	}
	while (!*out && json_next(&it, &key, &val)) {
		struct str s = it.object ? key : val;

		if (json_kind(s) != JSON_STRING)
			continue;
		if (!json_unquote(ctx->arena, s, &text))
			return malformed(ctx);
		*out = str_eq(text, name);
	}
	return it.bad ? malformed(ctx) : NULL;
}

BODY(jsonb_exists)
{
	bool found;

	UNUSED(n);
	TRY(has(ctx, args[0].u.s, args[1].u.s, &found));
	ex_set_bool(out, found);
	return NULL;
}

/* ---- containment ---- */

#define CONTAINS_DEPTH_MAX 64 /* recursion on a node's fiber */

static bool
same_scalar(struct str x, struct str y)
{
	struct val a = val_str(EX_JSONB, x), b = val_str(EX_JSONB, y);

	return json_kind(x) == json_kind(y) && ex_cmp(a, b) == 0;
}

static bool
is_container(struct str v)
{
	enum json_kind k = json_kind(v);

	return k == JSON_OBJECT || k == JSON_ARRAY;
}

static struct err *contains(
    const struct ex_ctx *ctx, struct str x, struct str y, int depth, bool *out);

static struct err *
object_contains(
    const struct ex_ctx *ctx, struct str x, struct str y, int depth, bool *out)
{
	struct json_iter it = json_iter(y);
	struct str key, val, name, mine;

	*out = true;
	while (*out && json_next(&it, &key, &val)) {
		if (!json_unquote(ctx->arena, key, &name))
			return malformed(ctx);
		TRY(member(ctx, x, name, &mine));
		*out = false;
		if (mine.p)
			TRY(contains(ctx, mine, val, depth, out));
	}
	return it.bad ? malformed(ctx) : NULL;
}

/* Some element of array x contains (or, for scalars, equals) v. */
static struct err *
element_contains(
    const struct ex_ctx *ctx, struct str x, struct str v, int depth, bool *out)
{
	struct json_iter it = json_iter(x);
	struct str key, mine;

	*out = false;
	while (!*out && json_next(&it, &key, &mine)) {
		if (is_container(v) != is_container(mine))
			continue;
		TRY(contains(ctx, mine, v, depth, out));
	}
	return it.bad ? malformed(ctx) : NULL;
}

static struct err *
array_contains(
    const struct ex_ctx *ctx, struct str x, struct str y, int depth, bool *out)
{
	struct json_iter it = json_iter(y);
	struct str key, val;

	*out = true;
	while (*out && json_next(&it, &key, &val))
		TRY(element_contains(ctx, x, val, depth, out));
	return it.bad ? malformed(ctx) : NULL;
}

static struct err *
contains(
    const struct ex_ctx *ctx, struct str x, struct str y, int depth, bool *out)
{
	*out = false;
	if (depth > CONTAINS_DEPTH_MAX)
		return ERR(ctx->arena, ERRCODE_STATEMENT_TOO_COMPLEX,
		    "stack depth limit exceeded");
	if (json_kind(x) == JSON_OBJECT && json_kind(y) == JSON_OBJECT)
		return object_contains(ctx, x, y, depth + 1, out);
	if (json_kind(x) == JSON_ARRAY && json_kind(y) == JSON_ARRAY)
		return array_contains(ctx, x, y, depth + 1, out);
	if (!is_container(x) && !is_container(y))
		*out = same_scalar(x, y);
	return NULL;
}

/* At the top an array also contains a bare scalar. */
static struct err *
contains_top(
    const struct ex_ctx *ctx, struct str x, struct str y, struct val *out)
{
	bool yes;

	if (json_kind(x) == JSON_ARRAY && !is_container(y))
		TRY(element_contains(ctx, x, y, 0, &yes));
	else
		TRY(contains(ctx, x, y, 0, &yes));
	ex_set_bool(out, yes);
	return NULL;
}

BODY(jsonb_contains)
{
	UNUSED(n);
	return contains_top(ctx, args[0].u.s, args[1].u.s, out);
}

BODY(jsonb_contained)
{
	UNUSED(n);
	return contains_top(ctx, args[1].u.s, args[0].u.s, out);
}

/* ---- jsonb to SQL scalars ---- */

static struct err *
cannot_cast(const struct ex_ctx *ctx, struct str v, const struct val *out)
{
	static const char *const what[] = {
	    "value", "object", "array", "string", "numeric", "boolean", "null"};

	return ERR(ctx->arena, ERRCODE_INVALID_PARAMETER_VALUE,
	    "cannot cast jsonb %s to type %s", what[json_kind(v)],
	    ex_type_format(ctx->arena, out->type, -1));
}

BODY(jsonb_bool)
{
	UNUSED(n);
	if (json_kind(args[0].u.s) != JSON_BOOL)
		return cannot_cast(ctx, args[0].u.s, out);
	ex_set_bool(out, json_trim(args[0].u.s).p[0] == 't');
	return NULL;
}

BODY(jsonb_number)
{
	struct str v = json_trim(args[0].u.s), x;

	UNUSED(n);
	if (json_kind(v) != JSON_NUMBER)
		return cannot_cast(ctx, v, out);
	TRY(num_parse(ctx->arena, v, &x));
	out->null = false;
	if (out->type == EX_NUMERIC) {
		out->u.s = x;
		return NULL;
	}
	if (out->type == EX_FLOAT4 || out->type == EX_FLOAT8)
		return num_to_double(ctx->arena, x, out->type, &out->u.d);
	return num_to_int(ctx->arena, x, out->type, &out->u.i);
}

/* ---- printing ---- */

static void
indent(struct buf *b, int depth)
{
	buf_u8(b, '\n');
	for (int i = 0; i < depth; i++)
		buf_str(b, STR("    "));
}

/* Over the canonical text, byte by byte: nesting costs no stack. */
BODY(jsonb_pretty)
{
	struct str s = args[0].u.s;
	bool in_string = false;
	int depth = 0;
	struct buf b;

	UNUSED(n);
	buf_init(&b, ctx->arena);
	for (size_t i = 0; i < s.len; i++) {
		char c = s.p[i];
		bool opens = !in_string && (c == '{' || c == '[');
		bool closes = !in_string && (c == '}' || c == ']');

		if (c == '"')
			in_string = !in_string;
		if (closes)
			indent(&b, --depth);
		buf_u8(&b, (uint8_t)c);
		if (in_string && c == '\\' && i + 1 < s.len)
			buf_u8(&b, (uint8_t)s.p[++i]);
		if (opens && s.p[i + 1] != '}' && s.p[i + 1] != ']')
			indent(&b, depth + 1);
		depth += opens;
		if (!in_string && c == ',') {
			indent(&b, depth);
			while (i + 1 < s.len && s.p[i + 1] == ' ')
				i++;
		}
		if (b.len > EX_VALUE_MAX)
			break;
	}
	TRY(ex_room(ctx, b.len));
	ex_set_str(out, buf_view(&b));
	return NULL;
}

#define J   EX_JSON
#define JB  EX_JSONB
#define TXT EX_TEXT
#define I4  EX_INT4

static const struct ex_func funcs[] = {
    FN(3949, "json_array_element", json_element, J, J, I4),
    FN(3947, "json_object_field", json_field, J, J, TXT),
    FN(3215, "jsonb_array_element", json_element, JB, JB, I4),
    FN(3478, "jsonb_object_field", json_field, JB, JB, TXT),
    FN(3950, "json_array_element_text", json_element, TXT, J, I4),
    FN(3948, "json_object_field_text", json_field, TXT, J, TXT),
    FN(3216, "jsonb_array_element_text", json_element, TXT, JB, I4),
    FN(3214, "jsonb_object_field_text", json_field, TXT, JB, TXT),
    FN(4050, "jsonb_contained", jsonb_contained, EX_BOOL, JB, JB),
    FN(4047, "jsonb_exists", jsonb_exists, EX_BOOL, JB, TXT),
    FN(4046, "jsonb_contains", jsonb_contains, EX_BOOL, JB, JB),
    FN(1000001, "skaidb_json_extract_path", json_path, J, J, TXT),
    FN(1000002, "skaidb_json_extract_path_text", json_path, TXT, J, TXT),
    FN(1000003, "skaidb_jsonb_extract_path", json_path, JB, JB, TXT),
    FN(1000004, "skaidb_jsonb_extract_path_text", json_path, TXT, JB, TXT),
    FN(3968, "json_typeof", json_typeof, TXT, J),
    FN(3210, "jsonb_typeof", json_typeof, TXT, JB),
    FN(3956, "json_array_length", json_array_length, I4, J),
    FN(3207, "jsonb_array_length", json_array_length, I4, JB),
    FN(3306, "jsonb_pretty", jsonb_pretty, TXT, JB),
    FN(3556, "bool", jsonb_bool, EX_BOOL, JB),
    FN(3449, "numeric", jsonb_number, EX_NUMERIC, JB),
    FN(3450, "int2", jsonb_number, EX_INT2, JB),
    FN(3451, "int4", jsonb_number, EX_INT4, JB),
    FN(3452, "int8", jsonb_number, EX_INT8, JB),
    FN(3453, "float4", jsonb_number, EX_FLOAT4, JB),
    FN(2580, "float8", jsonb_number, EX_FLOAT8, JB),
};
EX_FUNCS(ex_funcs_json);
