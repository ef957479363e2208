/* Text: cutting, padding, searching, case.  Case mapping follows the default
 * collation C: ASCII only, as PostgreSQL's does there. */
#include "expr/func_int.h"
#include "expr/text_int.h"

BODY(text_length)
{
	UNUSED(ctx);
	UNUSED(n);
	ex_set_int(out, (int64_t)ex_char_count(args[0].u.s));
	return NULL;
}

/* char(n): blanks at the end do not count. */
BODY(bpchar_length)
{
	struct str s = args[0].u.s;

	UNUSED(ctx);
	UNUSED(n);
	while (s.len && s.p[s.len - 1] == ' ')
		s.len--;
	ex_set_int(out, (int64_t)ex_char_count(s));
	return NULL;
}

BODY(text_octets)
{
	UNUSED(ctx);
	UNUSED(n);
	ex_set_int(out, (int64_t)args[0].u.s.len);
	return NULL;
}

BODY(text_bits)
{
	UNUSED(ctx);
	UNUSED(n);
	ex_set_int(out, (int64_t)args[0].u.s.len * 8);
	return NULL;
}

BODY(text_cat)
{
	struct str x = args[0].u.s, y = args[1].u.s;
	char *p;

	UNUSED(n);
	TRY(ex_room(ctx, x.len + y.len));
	p = arena_alloc_raw(ctx->arena, x.len + y.len + 1);
	if (x.len)
		memcpy(p, x.p, x.len);
	if (y.len)
		memcpy(p + x.len, y.p, y.len);
	ex_set_str(out, str_of(p, x.len + y.len));
	return NULL;
}

static struct err *
map_case(
    const struct ex_ctx *ctx, struct str s, char (*to)(char), struct val *out)
{
	char *p;

	TRY(ex_room(ctx, s.len));
	p = arena_alloc_raw(ctx->arena, s.len + 1);
	for (size_t i = 0; i < s.len; i++)
		p[i] = to(s.p[i]);
	ex_set_str(out, str_of(p, s.len));
	return NULL;
}

BODY(text_lower)
{
	UNUSED(n);
	return map_case(ctx, args[0].u.s, ex_lower, out);
}

BODY(text_upper)
{
	UNUSED(n);
	return map_case(ctx, args[0].u.s, ex_upper, out);
}

static bool
is_alnum(char c)
{
	c = ex_lower(c);
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

BODY(text_initcap)
{
	struct str s = args[0].u.s;
	bool in_word = false;
	char *p;

	UNUSED(n);
	TRY(ex_room(ctx, s.len));
	p = arena_alloc_raw(ctx->arena, s.len + 1);
	for (size_t i = 0; i < s.len; i++) {
		p[i] = in_word ? ex_lower(s.p[i]) : ex_upper(s.p[i]);
		in_word = is_alnum(s.p[i]);
	}
	ex_set_str(out, str_of(p, s.len));
	return NULL;
}

/* ---- parts ---- */

/* Characters start .. start + count - 1, counted from 1; start may be below 1,
 * and then eats into count. */
static struct err *
substring(const struct ex_ctx *ctx, struct str s, int64_t start,
    const int64_t *count, struct val *out)
{
	int64_t end = INT64_MAX;
	size_t from, len;

	if (count) {
		if (*count < 0)
			return ERR(ctx->arena, ERRCODE_SUBSTRING_ERROR,
			    "negative substring length not allowed");
		end = start + *count; /* both are integers: no overflow */
	}
	if (start < 1)
		start = 1;
	if (end <= start) {
		ex_set_str(out, STR(""));
		return NULL;
	}
	from = ex_char_offset(s, (size_t)start - 1);
	s = str_skip(s, from);
	len =
	    end == INT64_MAX ? s.len : ex_char_offset(s, (size_t)(end - start));
	ex_set_str(out, str_of(s.p, len));
	return NULL;
}

BODY(text_substr)
{
	return substring(
	    ctx, args[0].u.s, args[1].u.i, n > 2 ? &args[2].u.i : NULL, out);
}

BODY(text_left)
{
	struct str s = args[0].u.s;
	int64_t k = args[1].u.i;

	UNUSED(ctx);
	UNUSED(n);
	if (k < 0)
		k += (int64_t)ex_char_count(s);
	ex_set_str(out, str_of(s.p, k <= 0 ? 0 : ex_char_offset(s, (size_t)k)));
	return NULL;
}

BODY(text_right)
{
	struct str s = args[0].u.s;
	int64_t k = args[1].u.i;

	UNUSED(ctx);
	UNUSED(n);
	k = k < 0 ? -k : (int64_t)ex_char_count(s) - k;
	ex_set_str(out, str_skip(s, k <= 0 ? 0 : ex_char_offset(s, (size_t)k)));
	return NULL;
}

BODY(text_strpos)
{
	size_t at = ex_find(args[0].u.s, args[1].u.s, 0);

	UNUSED(ctx);
	UNUSED(n);
	ex_set_int(out, at == SIZE_MAX ? 0
				       : 1 + (int64_t)ex_char_count(
						 str_of(args[0].u.s.p, at)));
	return NULL;
}

BODY(text_starts_with)
{
	UNUSED(ctx);
	UNUSED(n);
	ex_set_bool(out, str_has_prefix(args[0].u.s, args[1].u.s));
	return NULL;
}

static size_t
count_parts(struct str s, struct str sep)
{
	size_t parts = 1, at = 0;

	while ((at = ex_find(s, sep, at)) != SIZE_MAX) {
		parts++;
		at += sep.len;
	}
	return parts;
}

BODY(text_split_part)
{
	struct str s = args[0].u.s, sep = args[1].u.s;
	int64_t k = args[2].u.i;

	UNUSED(n);
	if (k == 0)
		return ERR(ctx->arena, ERRCODE_INVALID_PARAMETER_VALUE,
		    "field position must not be zero");
	ex_set_str(out, STR(""));
	if (!s.len)
		return NULL;
	if (!sep.len) {
		if (k == 1 || k == -1)
			out->u.s = s;
		return NULL;
	}
	if (k < 0)
		k += (int64_t)count_parts(s, sep) + 1;
	for (; k > 0; k--) {
		size_t at = ex_find(s, sep, 0);

		if (k == 1)
			out->u.s = at == SIZE_MAX ? s : str_of(s.p, at);
		if (at == SIZE_MAX)
			break;
		s = str_skip(s, at + sep.len);
	}
	return NULL;
}

/* ---- trimming ---- */

/* The characters of a text and where in it they are, from 0. */
struct char_set {
	struct str s;
	size_t ascii[128]; /* place + 1; 0: not there */
	struct ex_work work;
};

static struct char_set
char_set(struct str s)
{
	struct char_set set = {.s = s};

	for (size_t i = 0; s.len; i++) {
		uint8_t c = (uint8_t)s.p[0];

		if (c < 128 && !set.ascii[c])
			set.ascii[c] = i + 1;
		s = str_skip(s, ex_char_len(s));
	}
	return set;
}

#define SET_LONG 1024 /* bytes that are looked through without a clock */

/* Where c is; SIZE_MAX: nowhere. */
static struct err *
set_find(
    const struct ex_ctx *ctx, struct char_set *set, struct str c, size_t *out)
{
	struct str s = set->s;

	*out = SIZE_MAX;
	if (c.len == 1 && (uint8_t)c.p[0] < 128) {
		*out = set->ascii[(uint8_t)c.p[0]] - 1;
		return NULL;
	}
	for (size_t i = 0; s.len; i++) {
		struct str x = str_of(s.p, ex_char_len(s));

		if (str_eq(x, c)) {
			*out = i;
			return NULL;
		}
		s = str_skip(s, x.len);
	}
	return set->s.len > SET_LONG
		   ? ex_work_check(ctx, &set->work, "search of characters")
		   : NULL;
}

static struct err *
trim_left(const struct ex_ctx *ctx, struct str *s, struct char_set *set)
{
	while (s->len) {
		struct str c = str_of(s->p, ex_char_len(*s));
		size_t at;

		TRY(set_find(ctx, set, c, &at));
		if (at == SIZE_MAX)
			break;
		*s = str_skip(*s, c.len);
	}
	return NULL;
}

static struct err *
trim_right(const struct ex_ctx *ctx, struct str *s, struct char_set *set)
{
	while (s->len) {
		size_t start = s->len - 1, at;

		while (start && s->len - start < 4 &&
		       ((uint8_t)s->p[start] & 0xc0) == 0x80)
			start--;
		TRY(set_find(ctx, set, str_skip(*s, start), &at));
		if (at == SIZE_MAX)
			break;
		s->len = start;
	}
	return NULL;
}

static struct err *
trim(const struct ex_ctx *ctx, const struct val *args, uint32_t n,
    bool sides[2], struct val *out)
{
	struct char_set set = char_set(n > 1 ? args[1].u.s : STR(" "));
	struct str s = args[0].u.s;

	if (sides[0])
		TRY(trim_left(ctx, &s, &set));
	if (sides[1])
		TRY(trim_right(ctx, &s, &set));
	ex_set_str(out, s);
	return NULL;
}

BODY(text_ltrim)
{
	return trim(ctx, args, n, (bool[2]){true, false}, out);
}

BODY(text_rtrim)
{
	return trim(ctx, args, n, (bool[2]){false, true}, out);
}

BODY(text_btrim)
{
	return trim(ctx, args, n, (bool[2]){true, true}, out);
}

/* ---- padding and repeating ---- */

/* `chars` characters of fill, repeated from its start. */
static void
put_fill(struct buf *b, struct str fill, size_t chars)
{
	struct str rest = fill;

	for (; chars; chars--) {
		size_t len = ex_char_len(rest);

		buf_put(b, rest.p, len);
		rest = str_skip(rest, len);
		if (!rest.len)
			rest = fill;
	}
}

static struct err *
pad(const struct ex_ctx *ctx, const struct val *args, uint32_t n, bool left,
    struct val *out)
{
	struct str s = args[0].u.s, fill = n > 2 ? args[2].u.s : STR(" ");
	size_t want = args[1].u.i < 0 ? 0 : (size_t)args[1].u.i;
	size_t have = ex_char_count(s), missing;
	struct buf b;

	if (have >= want || !fill.len) {
		ex_set_str(out, str_of(s.p, ex_char_offset(s, want)));
		return NULL;
	}
	missing = want - have;
	TRY(ex_room(ctx, s.len + missing * (fill.len < 4 ? fill.len : 4)));
	buf_init(&b, ctx->arena);
	if (left)
		put_fill(&b, fill, missing);
	buf_str(&b, s);
	if (!left)
		put_fill(&b, fill, missing);
	ex_set_str(out, buf_view(&b));
	return NULL;
}

BODY(text_lpad)
{
	return pad(ctx, args, n, true, out);
}

BODY(text_rpad)
{
	return pad(ctx, args, n, false, out);
}

BODY(text_repeat)
{
	struct str s = args[0].u.s;
	size_t times = args[1].u.i < 0 ? 0 : (size_t)args[1].u.i, len;
	char *p;

	UNUSED(n);
	if (!s.len)
		times = 0;
	if (__builtin_mul_overflow(s.len, times, &len))
		len = SIZE_MAX;
	TRY(ex_room(ctx, len));
	p = arena_alloc_raw(ctx->arena, len + 1);
	for (size_t i = 0; i < times; i++)
		memcpy(p + i * s.len, s.p, s.len);
	ex_set_str(out, str_of(p, len));
	return NULL;
}

BODY(text_reverse)
{
	struct str s = args[0].u.s;
	char *p;
	size_t at = s.len;

	UNUSED(n);
	TRY(ex_room(ctx, s.len));
	p = arena_alloc_raw(ctx->arena, s.len + 1);
	ex_set_str(out, str_of(p, s.len));
	while (s.len) {
		size_t len = ex_char_len(s);

		at -= len;
		memcpy(p + at, s.p, len);
		s = str_skip(s, len);
	}
	return NULL;
}

/* ---- replacing ---- */

BODY(text_replace)
{
	struct str s = args[0].u.s, from = args[1].u.s, to = args[2].u.s;
	struct buf b;
	size_t at;

	UNUSED(n);
	ex_set_str(out, s);
	if (!from.len || ex_find(s, from, 0) == SIZE_MAX)
		return NULL;
	buf_init(&b, ctx->arena);
	while ((at = ex_find(s, from, 0)) != SIZE_MAX) {
		TRY(ex_room(ctx, b.len + s.len + to.len));
		buf_put(&b, s.p, at);
		buf_str(&b, to);
		s = str_skip(s, at + from.len);
	}
	buf_str(&b, s);
	out->u.s = buf_view(&b);
	return NULL;
}

BODY(text_translate)
{
	struct str s = args[0].u.s, to = args[2].u.s;
	struct char_set from = char_set(args[1].u.s);
	struct buf b;

	UNUSED(n);
	buf_init(&b, ctx->arena);
	while (s.len) {
		struct str c = str_of(s.p, ex_char_len(s));
		size_t i;

		TRY(set_find(ctx, &from, c, &i));
		if (i == SIZE_MAX) {
			buf_str(&b, c);
		} else {
			struct str t;

			if (i > SET_LONG)
				TRY(ex_work_check(
				    ctx, &from.work, "search of characters"));
			t = str_skip(to, ex_char_offset(to, i));
			if (t.len)
				buf_put(&b, t.p, ex_char_len(t));
		}
		s = str_skip(s, c.len);
	}
	TRY(ex_room(ctx, b.len));
	ex_set_str(out, buf_view(&b));
	return NULL;
}

BODY(text_overlay)
{
	struct str s = args[0].u.s, new = args[1].u.s;
	int64_t from = args[2].u.i, after;
	int64_t len = n > 3 ? args[3].u.i : (int64_t)ex_char_count(new);
	struct val head, tail;
	int64_t head_len = from - 1;
	struct buf b;

	if (from <= 0)
		return ERR(ctx->arena, ERRCODE_SUBSTRING_ERROR,
		    "negative substring length not allowed");
	after = from + len;
	if (after > INT32_MAX || after < INT32_MIN)
		return ERR(ctx->arena, ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
		    "integer out of range");
	TRY(substring(ctx, s, 1, &head_len, &head));
	TRY(substring(ctx, s, after, NULL, &tail));
	TRY(ex_room(ctx, head.u.s.len + new.len + tail.u.s.len));
	buf_init(&b, ctx->arena);
	buf_str(&b, head.u.s);
	buf_str(&b, new);
	buf_str(&b, tail.u.s);
	ex_set_str(out, buf_view(&b));
	return NULL;
}

/* ---- code points and numbers ---- */

BODY(text_ascii)
{
	UNUSED(ctx);
	UNUSED(n);
	ex_set_int(out, ex_char_first(args[0].u.s));
	return NULL;
}

BODY(text_chr)
{
	int64_t c = args[0].u.i;
	struct buf b;

	UNUSED(n);
	if (c < 0)
		return ERR(ctx->arena, ERRCODE_INVALID_PARAMETER_VALUE,
		    "character number must be positive");
	if (c == 0)
		return ERR(ctx->arena, ERRCODE_PROGRAM_LIMIT_EXCEEDED,
		    "null character not permitted");
	if (c > 0x10ffff)
		return ERR(ctx->arena, ERRCODE_PROGRAM_LIMIT_EXCEEDED,
		    "requested character too large for encoding: %u",
		    (unsigned)c);
	if (c >= 0xd800 && c <= 0xdfff)
		return ERR(ctx->arena, ERRCODE_PROGRAM_LIMIT_EXCEEDED,
		    "requested character not valid for encoding: %u",
		    (unsigned)c);
	buf_init(&b, ctx->arena);
	ex_char_put(&b, (uint32_t)c);
	ex_set_str(out, buf_view(&b));
	return NULL;
}

BODY(text_to_hex)
{
	uint64_t v = args[0].type == EX_INT4 ? (uint32_t)args[0].u.i
					     : (uint64_t)args[0].u.i;

	UNUSED(n);
	ex_set_str(out,
	    str_c(arena_printf(ctx->arena, "%llx", (unsigned long long)v)));
	return NULL;
}

#define TXT EX_TEXT
#define I4  EX_INT4

static const struct ex_func funcs[] = {
    FN(1317, "length", text_length, I4, TXT),
    FN(1257, "textlen", text_length, I4, TXT),
    FN(1381, "char_length", text_length, I4, TXT),
    FN(1369, "character_length", text_length, I4, TXT),
    FN(1318, "length", bpchar_length, I4, EX_BPCHAR),
    FN(1372, "char_length", bpchar_length, I4, EX_BPCHAR),
    FN(1367, "character_length", bpchar_length, I4, EX_BPCHAR),
    FN(1374, "octet_length", text_octets, I4, TXT),
    FN(1375, "octet_length", text_octets, I4, EX_BPCHAR),
    FN(720, "octet_length", text_octets, I4, EX_BYTEA),
    FN(2010, "length", text_octets, I4, EX_BYTEA),
    FN(1811, "bit_length", text_bits, I4, TXT),
    FN(1810, "bit_length", text_bits, I4, EX_BYTEA),
    FN(1258, "textcat", text_cat, TXT, TXT, TXT),
    FN(2011, "byteacat", text_cat, EX_BYTEA, EX_BYTEA, EX_BYTEA),
    FN(870, "lower", text_lower, TXT, TXT),
    FN(871, "upper", text_upper, TXT, TXT),
    FN(872, "initcap", text_initcap, TXT, TXT),
    FN(936, "substring", text_substr, TXT, TXT, I4, I4),
    FN(937, "substring", text_substr, TXT, TXT, I4),
    FN(877, "substr", text_substr, TXT, TXT, I4, I4),
    FN(883, "substr", text_substr, TXT, TXT, I4),
    FN(3060, "left", text_left, TXT, TXT, I4),
    FN(3061, "right", text_right, TXT, TXT, I4),
    FN(849, "position", text_strpos, I4, TXT, TXT),
    FN(868, "strpos", text_strpos, I4, TXT, TXT),
    FN(3696, "starts_with", text_starts_with, EX_BOOL, TXT, TXT),
    FN(2088, "split_part", text_split_part, TXT, TXT, TXT, I4),
    FN(881, "ltrim", text_ltrim, TXT, TXT),
    FN(875, "ltrim", text_ltrim, TXT, TXT, TXT),
    FN(882, "rtrim", text_rtrim, TXT, TXT),
    FN(876, "rtrim", text_rtrim, TXT, TXT, TXT),
    FN(885, "btrim", text_btrim, TXT, TXT),
    FN(884, "btrim", text_btrim, TXT, TXT, TXT),
    FN(879, "lpad", text_lpad, TXT, TXT, I4),
    FN(873, "lpad", text_lpad, TXT, TXT, I4, TXT),
    FN(880, "rpad", text_rpad, TXT, TXT, I4),
    FN(874, "rpad", text_rpad, TXT, TXT, I4, TXT),
    FN(1622, "repeat", text_repeat, TXT, TXT, I4),
    FN(3062, "reverse", text_reverse, TXT, TXT),
    FN(2087, "replace", text_replace, TXT, TXT, TXT, TXT),
    FN(878, "translate", text_translate, TXT, TXT, TXT, TXT),
    FN(1404, "overlay", text_overlay, TXT, TXT, TXT, I4, I4),
    FN(1405, "overlay", text_overlay, TXT, TXT, TXT, I4),
    FN(1620, "ascii", text_ascii, I4, TXT),
    FN(1621, "chr", text_chr, TXT, I4),
    FN(2089, "to_hex", text_to_hex, TXT, I4),
    FN(2090, "to_hex", text_to_hex, TXT, EX_INT8),
};
EX_FUNCS(ex_funcs_text);
