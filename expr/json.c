#include "expr/json_int.h"

#include "expr/text_int.h"

static bool
is_blank(char c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static struct str
skip_blanks(struct str s)
{
	while (s.len && is_blank(s.p[0]))
		s = str_skip(s, 1);
	return s;
}

struct str
json_trim(struct str v)
{
	v = skip_blanks(v);
	while (v.len && is_blank(v.p[v.len - 1]))
		v.len--;
	return v;
}

enum json_kind
json_kind(struct str v)
{
	v = skip_blanks(v);
	if (!v.len)
		return JSON_BAD;
	switch (v.p[0]) {
	case '{':
		return JSON_OBJECT;
	case '[':
		return JSON_ARRAY;
	case '"':
		return JSON_STRING;
	case 't':
	case 'f':
		return JSON_BOOL;
	case 'n':
		return JSON_NULL;
	default:
		return JSON_NUMBER;
	}
}

/* Length of the string that s begins with, quotes included; 0 if it has no
 * end. */
static size_t
string_len(struct str s)
{
	for (size_t i = 1; i < s.len; i++) {
		if (s.p[i] == '"')
			return i + 1;
		if (s.p[i] == '\\')
			i++;
	}
	return 0;
}

/* Length of the value that s begins with, by counting brackets: nesting costs
 * no stack. 0 when malformed. */
static size_t
value_len(struct str s)
{
	size_t depth = 0, i = 0;

	while (i < s.len) {
		char c = s.p[i];
		size_t len = 1;

		if (c == '"') {
			len = string_len(str_skip(s, i));
			if (!len)
				return 0;
			if (!depth)
				return i + len;
		} else if (c == '{' || c == '[') {
			depth++;
		} else if (c == '}' || c == ']') {
			if (!depth)
				return i;
			if (--depth == 0)
				return i + 1;
		} else if (!depth && (c == ',' || c == ':')) {
			return i;
		}
		i += len;
	}
	return depth ? 0 : i;
}

struct json_iter
json_iter(struct str v)
{
	enum json_kind k = json_kind(v);
	struct json_iter it = {STR_NONE, k == JSON_OBJECT, false};

	if (k == JSON_OBJECT || k == JSON_ARRAY)
		it.rest = skip_blanks(str_skip(skip_blanks(v), 1));
	return it;
}

static bool
take(struct json_iter *it, struct str *out)
{
	size_t len = value_len(it->rest);

	*out = json_trim(str_of(it->rest.p, len));
	it->rest = skip_blanks(str_skip(it->rest, len));
	it->bad |= !out->len;
	return !it->bad;
}

bool
json_next(struct json_iter *it, struct str *key, struct str *val)
{
	if (!it->rest.len || it->bad || it->rest.p[0] == '}' ||
	    it->rest.p[0] == ']')
		return false;
	if (it->object) {
		if (!take(it, key) || key->p[0] != '"' || !it->rest.len ||
		    it->rest.p[0] != ':') {
			it->bad = true;
			return false;
		}
		it->rest = skip_blanks(str_skip(it->rest, 1));
	}
	if (!take(it, val))
		return false;
	if (it->rest.len && it->rest.p[0] == ',')
		it->rest = skip_blanks(str_skip(it->rest, 1));
	return true;
}

static bool
hex4(struct str s, uint32_t *out)
{
	*out = 0;
	if (s.len < 4)
		return false;
	for (size_t i = 0; i < 4; i++) {
		char c = ex_lower(s.p[i]);
		uint32_t d = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
			     : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
						    : 16;

		if (d > 15)
			return false;
		*out = *out << 4 | d;
	}
	return true;
}

/* The code point after "\u"; a pair of surrogates is one. Returns the bytes
 * taken; 0 when malformed. */
static size_t
escaped_char(struct str s, uint32_t *c)
{
	uint32_t low;

	if (!hex4(s, c))
		return 0;
	if (*c < 0xd800 || *c > 0xdfff)
		return *c ? 4 : 0;
	if (*c > 0xdbff || s.len < 10 || s.p[4] != '\\' || s.p[5] != 'u' ||
	    !hex4(str_skip(s, 6), &low) || low < 0xdc00 || low > 0xdfff)
		return 0;
	*c = 0x10000 + ((*c - 0xd800) << 10) + (low - 0xdc00);
	return 10;
}

static size_t
put_escaped(struct buf *b, struct str s)
{
	static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
	const char *at;
	uint32_t c;
	size_t len;

	if (!s.len)
		return 0;
	if (s.p[0] == 'u') {
		len = escaped_char(str_skip(s, 1), &c);
		if (len)
			ex_char_put(b, c);
		return len ? len + 1 : 0;
	}
	at = s.p[0] ? strchr(from, s.p[0]) : NULL;
	buf_u8(b, (uint8_t)(at ? to[at - from] : s.p[0]));
	return 1;
}

bool
json_unquote(struct arena *a, struct str raw, struct str *out)
{
	struct str s = json_trim(raw);
	struct buf b;

	if (s.len < 2 || s.p[0] != '"' || s.p[s.len - 1] != '"')
		return false;
	s = str_of(s.p + 1, s.len - 2);
	*out = s;
	if (!s.len || !memchr(s.p, '\\', s.len))
		return true;
	buf_init(&b, a);
	while (s.len) {
		size_t len = 1;

		if (s.p[0] != '\\') {
			buf_u8(&b, (uint8_t)s.p[0]);
		} else {
			s = str_skip(s, 1);
			len = put_escaped(&b, s);
			if (!len)
				return false;
		}
		s = str_skip(s, len);
	}
	*out = buf_view(&b);
	return true;
}

void
json_quote(struct buf *b, struct str text)
{
	static const char from[] = "\b\f\n\r\t\"\\", to[] = "bfnrt\"\\";

	buf_u8(b, '"');
	for (size_t i = 0; i < text.len; i++) {
		char c = text.p[i];
		const char *at = c ? strchr(from, c) : NULL;

		if (at) {
			buf_u8(b, '\\');
			buf_u8(b, (uint8_t)to[at - from]);
		} else if ((uint8_t)c < 0x20) {
			buf_printf(b, "\\u%04x", (uint8_t)c);
		} else {
			buf_u8(b, (uint8_t)c);
		}
	}
	buf_u8(b, '"');
}
