/* Putting text together: concatenation of any values, format(), quoting. */
#include "expr/func_int.h"
#include "expr/text_int.h"

static const struct ex_env *
env_of(const struct ex_ctx *ctx)
{
	return ctx->env ? ctx->env : &ex_env_default;
}

static void
put(const struct ex_ctx *ctx, struct buf *b, struct val v)
{
	if (!v.null)
		ex_out(b, env_of(ctx), v);
}

/* text || anything, anything || text. */
BODY(any_cat)
{
	struct buf b;

	UNUSED(n);
	buf_init(&b, ctx->arena);
	put(ctx, &b, args[0]);
	put(ctx, &b, args[1]);
	TRY(ex_room(ctx, b.len));
	ex_set_str(out, buf_view(&b));
	return NULL;
}

BODY(concat)
{
	struct buf b;

	buf_init(&b, ctx->arena);
	for (uint32_t i = 0; i < n; i++) {
		put(ctx, &b, args[i]);
		TRY(ex_room(ctx, b.len));
	}
	ex_set_str(out, buf_view(&b));
	return NULL;
}

BODY(concat_ws)
{
	bool first = true;
	struct buf b;

	if (args[0].null)
		return NULL;
	buf_init(&b, ctx->arena);
	for (uint32_t i = 1; i < n; i++) {
		if (args[i].null)
			continue;
		if (!first)
			buf_str(&b, args[0].u.s);
		first = false;
		put(ctx, &b, args[i]);
		TRY(ex_room(ctx, b.len));
	}
	ex_set_str(out, buf_view(&b));
	return NULL;
}

/* ---- quoting ---- */

/* Key words that quote_ident must quote: all but the unreserved. */
#define KEYWORD(w) w,
static const char *const keywords[] = {
#include "expr/keywords.def"
};
#undef KEYWORD
#define N_KEYWORDS (sizeof keywords / sizeof *keywords)

static bool
is_keyword(struct str s)
{
	for (size_t i = 0; i < N_KEYWORDS; i++)
		if (str_eq(s, str_c(keywords[i])))
			return true;
	return false;
}

static bool
is_plain_ident(struct str s)
{
	if (!s.len || (s.p[0] >= '0' && s.p[0] <= '9'))
		return false;
	for (size_t i = 0; i < s.len; i++) {
		char c = s.p[i];

		if (!((c >= 'a' && c <= 'z') || c == '_' ||
			(c >= '0' && c <= '9')))
			return false;
	}
	return !is_keyword(s);
}

void
ex_put_ident(struct buf *b, struct str s)
{
	if (is_plain_ident(s)) {
		buf_str(b, s);
		return;
	}
	buf_u8(b, '"');
	for (size_t i = 0; i < s.len; i++) {
		if (s.p[i] == '"')
			buf_u8(b, '"');
		buf_u8(b, (uint8_t)s.p[i]);
	}
	buf_u8(b, '"');
}

static void
put_literal(struct buf *b, struct str s)
{
	if (s.len && memchr(s.p, '\\', s.len))
		buf_u8(b, 'E');
	buf_u8(b, '\'');
	for (size_t i = 0; i < s.len; i++) {
		if (s.p[i] == '\'' || s.p[i] == '\\')
			buf_u8(b, (uint8_t)s.p[i]);
		buf_u8(b, (uint8_t)s.p[i]);
	}
	buf_u8(b, '\'');
}

static struct str
text_of(const struct ex_ctx *ctx, struct val v)
{
	struct buf b;

	buf_init(&b, ctx->arena);
	put(ctx, &b, v);
	return buf_view(&b);
}

BODY(quote_ident)
{
	struct buf b;

	UNUSED(n);
	buf_init(&b, ctx->arena);
	ex_put_ident(&b, args[0].u.s);
	TRY(ex_room(ctx, b.len));
	ex_set_str(out, buf_view(&b));
	return NULL;
}

BODY(quote_literal)
{
	struct buf b;

	UNUSED(n);
	buf_init(&b, ctx->arena);
	put_literal(&b, text_of(ctx, args[0]));
	TRY(ex_room(ctx, b.len));
	ex_set_str(out, buf_view(&b));
	return NULL;
}

BODY(quote_nullable)
{
	if (args[0].null) {
		ex_set_str(out, STR("NULL"));
		return NULL;
	}
	return quote_literal(ctx, args, n, out);
}

/* ---- format ---- */

struct spec {
	int64_t arg; /* position; 0 = the next */
	int64_t width;
	int64_t width_arg; /* -1 none, 0 the next, else position */
	bool minus;
	char conversion;
};

static struct err *
unterminated(const struct ex_ctx *ctx)
{
	return err_hint(ERR(ctx->arena, ERRCODE_INVALID_PARAMETER_VALUE,
			    "unterminated format() type specifier"),
	    "For a single \"%%\" use \"%%%%\".");
}

/* Digits at the front; false when there are none. */
static struct err *
get_number(const struct ex_ctx *ctx, struct str *s, bool *found, int64_t *out)
{
	*found = false;
	*out = 0;
	while (s->len && s->p[0] >= '0' && s->p[0] <= '9') {
		*out = *out * 10 + (s->p[0] - '0');
		*found = true;
		if (*out > INT32_MAX)
			return ERR(ctx->arena,
			    ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
			    "number is out of range");
		*s = str_skip(*s, 1);
	}
	return s->len || !*found ? NULL : unterminated(ctx);
}

static struct err *
zero_argument(const struct ex_ctx *ctx)
{
	return ERR(ctx->arena, ERRCODE_INVALID_PARAMETER_VALUE,
	    "format specifies argument 0, but arguments are numbered from 1");
}

/* The "*" or "*n$" or digits of a width. */
static struct err *
get_width(const struct ex_ctx *ctx, struct str *s, struct spec *k)
{
	bool found;
	int64_t v;

	if (!s->len || s->p[0] != '*') {
		TRY(get_number(ctx, s, &found, &v));
		if (found)
			k->width = v;
		return NULL;
	}
	*s = str_skip(*s, 1);
	TRY(get_number(ctx, s, &found, &v));
	k->width_arg = 0;
	if (!found)
		return NULL;
	if (s->p[0] != '$')
		return ERR(ctx->arena, ERRCODE_INVALID_PARAMETER_VALUE,
		    "width argument position must be ended by \"$\"");
	if (v == 0)
		return zero_argument(ctx);
	k->width_arg = v;
	*s = str_skip(*s, 1);
	return NULL;
}

/* What follows a '%'. */
static struct err *
get_spec(const struct ex_ctx *ctx, struct str *s, struct spec *k)
{
	struct str start = *s;
	bool found;
	int64_t v;

	*k = (struct spec){.width_arg = -1};
	TRY(get_number(ctx, s, &found, &v));
	if (found && s->p[0] == '$') {
		if (v == 0)
			return zero_argument(ctx);
		k->arg = v;
		*s = str_skip(*s, 1);
	} else if (found) {
		*s = start;
	}
	while (s->len && s->p[0] == '-') {
		k->minus = true;
		*s = str_skip(*s, 1);
	}
	TRY(get_width(ctx, s, k));
	if (!s->len)
		return unterminated(ctx);
	k->conversion = s->p[0];
	if (!strchr("sIL", k->conversion))
		return err_hint(
		    ERR(ctx->arena, ERRCODE_INVALID_PARAMETER_VALUE,
			"unrecognized format() type specifier \"%.*s\"",
			(int)ex_char_len(*s), s->p),
		    "For a single \"%%\" use \"%%%%\".");
	*s = str_skip(*s, 1);
	return NULL;
}

static struct err *
too_few(const struct ex_ctx *ctx)
{
	return ERR(ctx->arena, ERRCODE_INVALID_PARAMETER_VALUE,
	    "too few arguments for format()");
}

static struct err *
width_from(const struct ex_ctx *ctx, struct val v, struct spec *k)
{
	struct val w;

	k->width = 0;
	if (v.null)
		return NULL;
	if (v.type == EX_INT4 || v.type == EX_INT2)
		k->width = v.u.i;
	else {
		TRY(ex_in(
		    ctx->arena, env_of(ctx), EX_INT4, -1, text_of(ctx, v), &w));
		k->width = w.u.i;
	}
	if (k->width < 0) {
		k->minus = true;
		k->width = -k->width;
	}
	return NULL;
}

static struct err *
put_formatted(
    const struct ex_ctx *ctx, struct buf *b, const struct spec *k, struct val v)
{
	struct buf piece;
	size_t have, missing = 0;

	buf_init(&piece, ctx->arena);
	if (v.null) {
		if (k->conversion == 'I')
			return ERR(ctx->arena, ERRCODE_NULL_VALUE_NOT_ALLOWED,
			    "null values cannot be formatted as an SQL "
			    "identifier");
		if (k->conversion == 'L')
			buf_str(&piece, STR("NULL"));
	} else if (k->conversion == 'I') {
		ex_put_ident(&piece, text_of(ctx, v));
	} else if (k->conversion == 'L') {
		put_literal(&piece, text_of(ctx, v));
	} else {
		put(ctx, &piece, v);
	}
	have = ex_char_count(buf_view(&piece));
	if (k->width > (int64_t)have)
		missing = (size_t)k->width - have;
	TRY(ex_room(ctx, b->len + piece.len + missing));
	if (!k->minus)
		memset(buf_reserve(b, missing), ' ', missing),
		    b->len += missing;
	buf_str(b, buf_view(&piece));
	if (k->minus)
		memset(buf_reserve(b, missing), ' ', missing),
		    b->len += missing;
	return NULL;
}

BODY(format)
{
	struct str s = args[0].u.s;
	int64_t next = 1;
	struct spec k;
	struct buf b;

	if (args[0].null)
		return NULL;
	buf_init(&b, ctx->arena);
	while (s.len) {
		char c = s.p[0];

		s = str_skip(s, 1);
		if (c != '%') {
			buf_u8(&b, (uint8_t)c);
			continue;
		}
		if (!s.len)
			return unterminated(ctx);
		if (s.p[0] == '%') {
			buf_u8(&b, '%');
			s = str_skip(s, 1);
			continue;
		}
		TRY(get_spec(ctx, &s, &k));
		if (k.width_arg >= 0) {
			int64_t at = k.width_arg ? k.width_arg : next++;

			if (at >= n)
				return too_few(ctx);
			TRY(width_from(ctx, args[at], &k));
			next = at + 1;
		}
		if (!k.arg)
			k.arg = next;
		next = k.arg + 1;
		if (k.arg >= n)
			return too_few(ctx);
		TRY(put_formatted(ctx, &b, &k, args[k.arg]));
	}
	ex_set_str(out, buf_view(&b));
	return NULL;
}

#define TXT EX_TEXT

static const struct ex_func funcs[] = {
    FN_STABLE(2003, "textanycat", any_cat, TXT, TXT, EX_ANY),
    FN_STABLE(2004, "anytextcat", any_cat, TXT, EX_ANY, TXT),
    FN_VARIADIC(3058, "concat", concat, EX_STABLE, TXT, EX_ANY),
    FN_VARIADIC(3059, "concat_ws", concat_ws, EX_STABLE, TXT, TXT, EX_ANY),
    FN_NULLS(3540, "format", format, EX_STABLE, TXT, TXT),
    FN_VARIADIC(3539, "format", format, EX_STABLE, TXT, TXT, EX_ANY),
    FN(1282, "quote_ident", quote_ident, TXT, TXT),
    FN(1283, "quote_literal", quote_literal, TXT, TXT),
    FN_STABLE(1285, "quote_literal", quote_literal, TXT, EX_ANY),
    FN_NULLS(1289, "quote_nullable", quote_nullable, EX_IMMUTABLE, TXT, TXT),
    FN_NULLS(1290, "quote_nullable", quote_nullable, EX_STABLE, TXT, EX_ANY),
};
EX_FUNCS(ex_funcs_format);
