/* Making and changing json and jsonb.  A function that makes a jsonb puts text
 * together and lets the type's input make it canonical. */
#include "expr/func_int.h"
#include "expr/json_int.h"

static const struct ex_env *
env_of(const struct ex_ctx *ctx)
{
	return ctx->env ? ctx->env : &ex_env_default;
}

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

static bool
is_container(struct str v)
{
	enum json_kind k = json_kind(v);

	return k == JSON_OBJECT || k == JSON_ARRAY;
}

/* The text in b as out's type. */
static struct err *
give_json(const struct ex_ctx *ctx, struct buf *b, struct val *out)
{
	TRY(ex_room(ctx, b->len));
	if (out->type == EX_JSONB)
		return ex_in(
		    ctx->arena, env_of(ctx), EX_JSONB, -1, buf_view(b), out);
	ex_set_str(out, buf_view(b));
	return NULL;
}

/* ---- changing jsonb ---- */

/* The members of v without its brackets. */
static struct str
inside(struct str v)
{
	v = json_trim(v);
	return v.len < 2 ? STR_NONE : json_trim(str_of(v.p + 1, v.len - 2));
}

static void
join(struct buf *b, struct str x, struct str y)
{
	buf_str(b, x);
	if (x.len && y.len)
		buf_str(b, STR(", "));
	buf_str(b, y);
}

BODY(jsonb_concat)
{
	struct str x = args[0].u.s, y = args[1].u.s;
	bool objects =
	    json_kind(x) == JSON_OBJECT && json_kind(y) == JSON_OBJECT;
	struct buf b;

	UNUSED(n);
	buf_init(&b, ctx->arena);
	buf_u8(&b, objects ? '{' : '[');
	if (objects)
		join(&b, inside(x), inside(y));
	else
		join(&b, json_kind(x) == JSON_ARRAY ? inside(x) : x,
		    json_kind(y) == JSON_ARRAY ? inside(y) : y);
	buf_u8(&b, objects ? '}' : ']');
	return give_json(ctx, &b, out);
}

static void
put_member(
    struct buf *b, const struct json_iter *it, struct str key, struct str val)
{
	if (b->len && b->p[b->len - 1] != '{' && b->p[b->len - 1] != '[')
		buf_str(b, STR(", "));
	if (it->object) {
		buf_str(b, key);
		buf_str(b, STR(": "));
	}
	buf_str(b, val);
}

/* Whether this member is the one that `step` names. */
static struct err *
is_step(const struct ex_ctx *ctx, const struct json_iter *it, struct str key,
    int64_t at, struct str step, bool *out)
{
	struct str text;
	int64_t i;

	if (it->object) {
		if (!json_unquote(ctx->arena, key, &text))
			return malformed(ctx);
		*out = str_eq(text, step);
		return NULL;
	}
	*out = json_path_index(step, &i) && i == at;
	return NULL;
}

/* jsonb - text: the key, or string elements equal to it. */
BODY(jsonb_delete_key)
{
	struct str v = args[0].u.s, key, val, text;
	struct json_iter it = json_iter(v);
	struct buf b;

	UNUSED(n);
	if (!is_container(v))
		return invalid(ctx, "cannot delete from scalar");
	buf_init(&b, ctx->arena);
	buf_u8(&b, it.object ? '{' : '[');
	while (json_next(&it, &key, &val)) {
		struct str s = it.object ? key : val;

		if (json_kind(s) == JSON_STRING) {
			if (!json_unquote(ctx->arena, s, &text))
				return malformed(ctx);
			if (str_eq(text, args[1].u.s))
				continue;
		}
		put_member(&b, &it, key, val);
	}
	buf_u8(&b, it.object ? '}' : ']');
	return give_json(ctx, &b, out);
}

static int64_t
array_length(struct str v)
{
	struct json_iter it = json_iter(v);
	struct str key, val;
	int64_t count = 0;

	while (json_next(&it, &key, &val))
		count++;
	return count;
}

BODY(jsonb_delete_index)
{
	struct str v = args[0].u.s, key, val;
	struct json_iter it = json_iter(v);
	int64_t i = args[1].u.i, at = 0;
	struct buf b;

	UNUSED(n);
	if (it.object)
		return invalid(
		    ctx, "cannot delete from object using integer index");
	if (!is_container(v))
		return invalid(ctx, "cannot delete from scalar");
	if (i < 0)
		i += array_length(v);
	buf_init(&b, ctx->arena);
	buf_u8(&b, '[');
	while (json_next(&it, &key, &val))
		if (at++ != i)
			put_member(&b, &it, key, val);
	buf_u8(&b, ']');
	return give_json(ctx, &b, out);
}

/* What jsonb_set and #- do at the end of the path. */
struct change {
	struct json_path path;
	struct str value; /* NULL p: delete */
	bool create;
};

#define PATH_DEPTH_MAX 100

static struct err *changed(const struct ex_ctx *ctx, struct str v,
    const struct change *c, uint32_t level, struct buf *b);

/* A member on the path: replaced, dropped, or gone into. */
static struct err *
change_member(const struct ex_ctx *ctx, const struct json_iter *it,
    struct str key, struct str val, const struct change *c, uint32_t level,
    struct buf *b)
{
	struct buf inner;

	if (level + 1 < c->path.n) {
		buf_init(&inner, ctx->arena);
		TRY(changed(ctx, val, c, level + 1, &inner));
		put_member(b, it, key, buf_view(&inner));
	} else if (c->value.p) {
		put_member(b, it, key, c->value);
	}
	return NULL;
}

/* A member that was not there, when it is to be made. */
static void
add_member(struct arena *a, const struct json_iter *it, const struct change *c,
    uint32_t level, struct buf *b)
{
	struct buf key;

	buf_init(&key, a);
	json_quote(&key, c->path.step[level]);
	put_member(b, it, buf_view(&key), c->value);
}

static struct err *
bad_step(const struct ex_ctx *ctx, const struct change *c, uint32_t level)
{
	return ERR(ctx->arena, ERRCODE_INVALID_TEXT_REPRESENTATION,
	    "path element at position %u is not an integer: \"%.*s\"",
	    level + 1, STR_FMT(c->path.step[level]));
}

/* Counts from the end become counts from the start; below it is the start. */
static struct err *
array_step(const struct ex_ctx *ctx, struct str v, const struct change *c,
    uint32_t level, struct str *step, bool *before)
{
	int64_t i;

	if (!json_path_index(*step, &i))
		return bad_step(ctx, c, level);
	if (i < 0)
		i += array_length(v);
	*before = i < 0;
	*step = str_c(arena_printf(ctx->arena, "%lld", (long long)i));
	return NULL;
}

static struct err *
changed(const struct ex_ctx *ctx, struct str v, const struct change *c,
    uint32_t level, struct buf *b)
{
	struct json_iter it = json_iter(v);
	struct str key, val, step = c->path.step[level];
	bool found = false, here = false, before = false;
	bool may_add = c->create && c->value.p && level + 1 == c->path.n;
	int64_t at = 0;

	if (!is_container(v)) {
		buf_str(b, v);
		return NULL;
	}
	if (!it.object)
		TRY(array_step(ctx, v, c, level, &step, &before));
	buf_u8(b, it.object ? '{' : '[');
	if (before && may_add) {
		add_member(ctx->arena, &it, c, level, b);
		found = true;
	}
	while (json_next(&it, &key, &val)) {
		TRY(is_step(ctx, &it, key, at++, step, &here));
		if (here)
			TRY(change_member(ctx, &it, key, val, c, level, b));
		else
			put_member(b, &it, key, val);
		found |= here;
	}
	if (!found && may_add)
		add_member(ctx->arena, &it, c, level, b);
	buf_u8(b, it.object ? '}' : ']');
	return it.bad ? malformed(ctx) : NULL;
}

static struct err *
change_top(
    const struct ex_ctx *ctx, struct str v, struct change *c, struct val *out)
{
	struct buf b;

	if (!is_container(v))
		return invalid(ctx, c->value.p
					? "cannot set path in scalar"
					: "cannot delete path in scalar");
	if (c->path.n > PATH_DEPTH_MAX)
		return ERR(ctx->arena, ERRCODE_STATEMENT_TOO_COMPLEX,
		    "stack depth limit exceeded");
	if (c->path.n == 0) {
		ex_set_str(out, v);
		return NULL;
	}
	buf_init(&b, ctx->arena);
	TRY(changed(ctx, v, c, 0, &b));
	return give_json(ctx, &b, out);
}

BODY(jsonb_set)
{
	struct change c = {
	    .value = args[2].u.s, .create = n < 4 || args[3].u.b};

	TRY(json_path_parse(ctx->arena, args[1].u.s, &c.path));
	return change_top(ctx, args[0].u.s, &c, out);
}

BODY(jsonb_delete_path)
{
	struct change c = {.value = STR_NONE};

	UNUSED(n);
	TRY(json_path_parse(ctx->arena, args[1].u.s, &c.path));
	return change_top(ctx, args[0].u.s, &c, out);
}

/* ---- SQL values to json ---- */

/* Moments as ISO 8601 whatever DateStyle is. */
static void
put_moment(const struct ex_ctx *ctx, struct buf *b, struct val v)
{
	struct ex_env env = *env_of(ctx);
	size_t at = b->len;
	uint8_t *blank;

	env.datestyle = EX_ISO;
	ex_out(b, &env, v);
	blank = memchr(b->p + at, ' ', b->len - at);
	if (blank && v.type != EX_DATE)
		*blank = 'T';
	/* +02 is written +02:00 here. */
	if (v.type == EX_TIMESTAMPTZ && b->len - at > 3 &&
	    (b->p[b->len - 3] == '+' || b->p[b->len - 3] == '-'))
		buf_str(b, STR(":00"));
}

static bool
is_number(struct str s)
{
	return s.len && s.p[s.len - 1] >= '0' && s.p[s.len - 1] <= '9';
}

static void
put_value(const struct ex_ctx *ctx, struct buf *b, struct val v)
{
	struct buf text;

	if (v.null) {
		buf_str(b, STR("null"));
		return;
	}
	buf_init(&text, ctx->arena);
	switch (v.type) {
	case EX_BOOL:
		buf_str(b, v.u.b ? STR("true") : STR("false"));
		return;
	case EX_JSON:
	case EX_JSONB:
		buf_str(b, v.u.s);
		return;
	case EX_DATE:
	case EX_TIMESTAMP:
	case EX_TIMESTAMPTZ:
		put_moment(ctx, &text, v);
		json_quote(b, buf_view(&text));
		return;
	case EX_INT2:
	case EX_INT4:
	case EX_INT8:
	case EX_FLOAT4:
	case EX_FLOAT8:
	case EX_NUMERIC:
		ex_out(&text, env_of(ctx), v);
		if (is_number(buf_view(&text))) {
			buf_str(b, buf_view(&text));
			return;
		}
		json_quote(b, buf_view(&text)); /* NaN, Infinity */
		return;
	default:
		ex_out(&text, env_of(ctx), v);
		json_quote(b, buf_view(&text));
		return;
	}
}

BODY(to_json)
{
	struct buf b;

	UNUSED(n);
	buf_init(&b, ctx->arena);
	put_value(ctx, &b, args[0]);
	return give_json(ctx, &b, out);
}

BODY(build_array)
{
	struct buf b;

	buf_init(&b, ctx->arena);
	buf_u8(&b, '[');
	for (uint32_t i = 0; i < n; i++) {
		if (i)
			buf_str(&b, STR(", "));
		put_value(ctx, &b, args[i]);
		TRY(ex_room(ctx, b.len));
	}
	buf_u8(&b, ']');
	return give_json(ctx, &b, out);
}

static struct err *
null_key(const struct ex_ctx *ctx, uint32_t i, bool jsonb)
{
	if (jsonb)
		return ERR(ctx->arena, ERRCODE_INVALID_PARAMETER_VALUE,
		    "argument %u: key must not be null", i + 1);
	return err_hint(ERR(ctx->arena, ERRCODE_INVALID_PARAMETER_VALUE,
			    "argument %u cannot be null", i + 1),
	    "Object keys should be text.");
}

BODY(build_object)
{
	bool jsonb = out->type == EX_JSONB;
	struct buf b, key;

	if (n % 2)
		return err_hint(
		    invalid(
			ctx, "argument list must have even number of elements"),
		    "The arguments of %s() must consist of alternating keys "
		    "and values.",
		    jsonb ? "jsonb_build_object" : "json_build_object");
	buf_init(&b, ctx->arena);
	buf_u8(&b, '{');
	for (uint32_t i = 0; i < n; i += 2) {
		if (args[i].null)
			return null_key(ctx, i, jsonb);
		buf_init(&key, ctx->arena);
		ex_out(&key, env_of(ctx), args[i]);
		if (args[i].type == EX_BOOL) /* as casts to text have it */
			key.len = 0,
			buf_str(&key, args[i].u.b ? STR("true") : STR("false"));
		buf_str(&b, i ? STR(", ") : STR(""));
		json_quote(&b, buf_view(&key));
		buf_str(&b, STR(" : "));
		put_value(ctx, &b, args[i + 1]);
		TRY(ex_room(ctx, b.len));
	}
	buf_u8(&b, '}');
	return give_json(ctx, &b, out);
}

#define J   EX_JSON
#define JB  EX_JSONB
#define TXT EX_TEXT
#define I4  EX_INT4

static const struct ex_func funcs[] = {
    FN(3303, "jsonb_delete", jsonb_delete_index, JB, JB, I4),
    FN(3302, "jsonb_delete", jsonb_delete_key, JB, JB, TXT),
    FN(3301, "jsonb_concat", jsonb_concat, JB, JB, JB),
    FN(1000005, "skaidb_jsonb_delete_path", jsonb_delete_path, JB, JB, TXT),
    FN_OPT(1000006, "jsonb_set", jsonb_set, 1, JB, JB, TXT, JB, EX_BOOL),
    FN_STABLE(3176, "to_json", to_json, J, EX_ANY),
    FN_STABLE(3787, "to_jsonb", to_json, JB, EX_ANY),
    FN_VARIADIC(3198, "json_build_array", build_array, EX_STABLE, J, EX_ANY),
    FN_VARIADIC(3271, "jsonb_build_array", build_array, EX_STABLE, JB, EX_ANY),
    FN_VARIADIC(3200, "json_build_object", build_object, EX_STABLE, J, EX_ANY),
    FN_VARIADIC(
	3273, "jsonb_build_object", build_object, EX_STABLE, JB, EX_ANY),
    FN_STABLE(3199, "json_build_array", build_array, J),
    FN_STABLE(3272, "jsonb_build_array", build_array, JB),
    FN_STABLE(3201, "json_build_object", build_object, J),
    FN_STABLE(3274, "jsonb_build_object", build_object, JB),
};
EX_FUNCS(ex_funcs_json_make);
