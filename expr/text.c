#include "expr/text_int.h"

size_t
ex_char_count(struct str s)
{
	size_t n = 0;

	for (; s.len; n++)
		s = str_skip(s, ex_char_len(s));
	return n;
}

size_t
ex_char_offset(struct str s, size_t n)
{
	struct str rest = s;

	while (n-- > 0 && rest.len)
		rest = str_skip(rest, ex_char_len(rest));
	return s.len - rest.len;
}

uint32_t
ex_char_first(struct str s)
{
	static const uint8_t mask[5] = {0, 0x7f, 0x1f, 0x0f, 0x07};
	size_t len;
	uint32_t c;

	if (!s.len)
		return 0;
	len = ex_char_len(s);
	c = (uint8_t)s.p[0] & mask[len];
	for (size_t i = 1; i < len; i++)
		c = c << 6 | ((uint8_t)s.p[i] & 0x3f);
	return c;
}

void
ex_char_put(struct buf *b, uint32_t c)
{
	if (c < 0x80) {
		buf_u8(b, (uint8_t)c);
		return;
	}
	if (c < 0x800) {
		buf_u8(b, (uint8_t)(0xc0 | c >> 6));
	} else if (c < 0x10000) {
		buf_u8(b, (uint8_t)(0xe0 | c >> 12));
		buf_u8(b, (uint8_t)(0x80 | (c >> 6 & 0x3f)));
	} else {
		buf_u8(b, (uint8_t)(0xf0 | c >> 18));
		buf_u8(b, (uint8_t)(0x80 | (c >> 12 & 0x3f)));
		buf_u8(b, (uint8_t)(0x80 | (c >> 6 & 0x3f)));
	}
	buf_u8(b, (uint8_t)(0x80 | (c & 0x3f)));
}

size_t
ex_find(struct str s, struct str part, size_t from)
{
	const char *hit;

	if (from > s.len)
		return SIZE_MAX;
	if (!part.len)
		return from;
	hit = s.len - from < part.len
		  ? NULL
		  : memmem(s.p + from, s.len - from, part.p, part.len);
	return hit ? (size_t)(hit - s.p) : SIZE_MAX;
}
