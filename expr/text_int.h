/* Characters of UTF-8 text, for the text functions.  Text from clients is
 * well-formed; bytes from a node are read as safely: a stray byte counts as one
 * character and nothing reads past the end. */
#ifndef EXPR_TEXT_INT_H
#define EXPR_TEXT_INT_H

#include "base/buf.h"

/* Bytes of the character that s (not empty) begins with. */
static inline size_t
ex_char_len(struct str s)
{
	uint8_t c = (uint8_t)s.p[0];
	size_t len = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;

	return len < s.len ? len : s.len;
}

/* Characters in s. */
size_t ex_char_count(struct str s);
/* Byte offset of character n, counted from 0; s.len when there are fewer. */
size_t ex_char_offset(struct str s, size_t n);
/* Code point of the first character; 0 for none or bytes that are no UTF-8. */
uint32_t ex_char_first(struct str s);
/* Appends a code point. */
void ex_char_put(struct buf *b, uint32_t c);
/* Byte offset of the first `part` at or after `from`; SIZE_MAX if none. */
size_t ex_find(struct str s, struct str part, size_t from);

static inline char
ex_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

static inline char
ex_upper(char c)
{
	return c >= 'a' && c <= 'z' ? (char)(c - 32) : c;
}

#endif
