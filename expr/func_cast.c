/* Conversions through the text form, and the casts that have functions. Those
 * between numbers are beside their arithmetic. */
#include "expr/cast_int.h"
#include "expr/func_int.h"

BODY(cast_out)
{
	struct buf b;

	UNUSED(n);
	buf_init(&b, ctx->arena);
	ex_out(&b, ctx->env ? ctx->env : &ex_env_default, args[0]);
	ex_set_str(out, buf_view(&b));
	return NULL;
}

/* out->type, the function's result type, says what to read. */
BODY(cast_in)
{
	const struct ex_type *from = ex_type(args[0].type);

	UNUSED(n);
	if (!from || (from->category != 'S' && args[0].type != EX_JSON &&
			 args[0].type != EX_JSONB))
		return ERR(ctx->arena, ERRCODE_CANNOT_COERCE,
		    "cannot cast type %s to %s",
		    ex_type_format(ctx->arena, args[0].type, -1),
		    ex_type_format(ctx->arena, out->type, -1));
	return ex_in(ctx->arena, ctx->env ? ctx->env : &ex_env_default,
	    out->type, -1, args[0].u.s, out);
}

BODY(cast_keep)
{
	UNUSED(ctx);
	UNUSED(n);
	*out = args[0];
	return NULL;
}

BODY(bpchar_text)
{
	struct str s = args[0].u.s;

	UNUSED(ctx);
	UNUSED(n);
	while (s.len && s.p[s.len - 1] == ' ')
		s.len--;
	ex_set_str(out, s);
	return NULL;
}

#define NAME_MAX_LEN 63

BODY(text_name)
{
	struct str s = args[0].u.s;

	UNUSED(ctx);
	UNUSED(n);
	if (s.len > NAME_MAX_LEN) {
		s.len = NAME_MAX_LEN;
		/* Not in the middle of a character. */
		while (s.len && ((uint8_t)s.p[s.len] & 0xc0) == 0x80)
			s.len--;
	}
	while (args[0].type == EX_BPCHAR && s.len && s.p[s.len - 1] == ' ')
		s.len--;
	ex_set_str(out, s);
	return NULL;
}

BODY(bool_text)
{
	UNUSED(ctx);
	UNUSED(n);
	ex_set_str(out, args[0].u.b ? STR("true") : STR("false"));
	return NULL;
}

BODY(int_bool)
{
	UNUSED(ctx);
	UNUSED(n);
	ex_set_bool(out, args[0].u.i != 0);
	return NULL;
}

BODY(bool_int)
{
	UNUSED(ctx);
	UNUSED(n);
	ex_set_int(out, args[0].u.b);
	return NULL;
}

/* "char" is one byte, or none. */
BODY(text_char)
{
	struct str s = args[0].u.s;

	UNUSED(ctx);
	UNUSED(n);
	ex_set_str(out, str_of(s.p, s.len ? 1 : 0));
	return NULL;
}

BODY(char_int)
{
	UNUSED(ctx);
	UNUSED(n);
	ex_set_int(out, args[0].u.s.len ? (signed char)args[0].u.s.p[0] : 0);
	return NULL;
}

BODY(int_char)
{
	int64_t i = args[0].u.i;
	char *p = arena_alloc(ctx->arena, 1);

	UNUSED(n);
	if (i < INT8_MIN || i > INT8_MAX)
		return ERR(ctx->arena, ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
		    "\"char\" out of range");
	*p = (char)i;
	ex_set_str(out, str_of(p, i != 0));
	return NULL;
}

#define OUT_TO(t, tname)                                                       \
	FN(EX_FN_OUT + (t), "skaidb_out_" tname, cast_out, t, EX_ANY),         \
	    FN_STABLE(EX_FN_OUT_STABLE + (t), "skaidb_out_stable_" tname,      \
		cast_out, t, EX_ANY)
#define IN_TO(t, tname)                                                        \
	FN(EX_FN_IN + (t), "skaidb_in_" tname, cast_in, t, EX_ANY)
#define IN_TO_STABLE(t, tname)                                                 \
	FN_STABLE(EX_FN_IN + (t), "skaidb_in_" tname, cast_in, t, EX_ANY)

static const struct ex_func funcs[] = {
    OUT_TO(EX_TEXT, "text"),
    OUT_TO(EX_VARCHAR, "varchar"),
    OUT_TO(EX_BPCHAR, "bpchar"),
    OUT_TO(EX_NAME, "name"),
    IN_TO(EX_BOOL, "bool"),
    IN_TO(EX_BYTEA, "bytea"),
    IN_TO(EX_INT2, "int2"),
    IN_TO(EX_INT4, "int4"),
    IN_TO(EX_INT8, "int8"),
    IN_TO(EX_OID, "oid"),
    IN_TO(EX_FLOAT4, "float4"),
    IN_TO(EX_FLOAT8, "float8"),
    IN_TO(EX_NUMERIC, "numeric"),
    IN_TO(EX_UUID, "uuid"),
    IN_TO(EX_JSON, "json"),
    IN_TO(EX_JSONB, "jsonb"),
    IN_TO_STABLE(EX_DATE, "date"),
    IN_TO_STABLE(EX_TIME, "time"),
    IN_TO_STABLE(EX_TIMESTAMP, "timestamp"),
    IN_TO_STABLE(EX_TIMESTAMPTZ, "timestamptz"),
    IN_TO_STABLE(EX_INTERVAL, "interval"),
    IN_TO(EX_CHAR, "char"),
    FN(946, "text", cast_out, EX_TEXT, EX_CHAR),
    FN(1000106, "varchar", cast_out, EX_VARCHAR, EX_CHAR),
    FN(860, "bpchar", cast_out, EX_BPCHAR, EX_CHAR),
    FN(944, "char", text_char, EX_CHAR, EX_TEXT),
    FN(1000107, "char", text_char, EX_CHAR, EX_VARCHAR),
    FN(1000108, "char", text_char, EX_CHAR, EX_BPCHAR),
    FN(77, "int4", char_int, EX_INT4, EX_CHAR),
    FN(78, "char", int_char, EX_CHAR, EX_INT4),
    FN(401, "text", bpchar_text, EX_TEXT, EX_BPCHAR),
    FN(1000100, "varchar", bpchar_text, EX_VARCHAR, EX_BPCHAR),
    FN(406, "text", cast_keep, EX_TEXT, EX_NAME),
    FN(1401, "varchar", cast_keep, EX_VARCHAR, EX_NAME),
    FN(408, "bpchar", cast_keep, EX_BPCHAR, EX_NAME),
    FN(407, "name", text_name, EX_NAME, EX_TEXT),
    FN(1400, "name", text_name, EX_NAME, EX_VARCHAR),
    FN(409, "name", text_name, EX_NAME, EX_BPCHAR),
    FN(2971, "text", bool_text, EX_TEXT, EX_BOOL),
    FN(1000101, "varchar", bool_text, EX_VARCHAR, EX_BOOL),
    FN(1000102, "bpchar", bool_text, EX_BPCHAR, EX_BOOL),
    FN(2557, "bool", int_bool, EX_BOOL, EX_INT4),
    FN(2558, "int4", bool_int, EX_INT4, EX_BOOL),
};
EX_FUNCS(ex_funcs_cast);
