/* The client's text, and where its bytes are in characters: positions in errors
 * count characters, everything inside counts bytes. */
#ifndef SQL_TEXT_H
#define SQL_TEXT_H

#include "base/arena.h"

struct sql_text {
	struct str text;       /* NUL-terminated, valid UTF-8 */
	const uint32_t *marks; /* characters before each 64th byte; NULL when
				* all of it is ASCII */
};

/* Copies text; it must be valid UTF-8. */
void sql_text_init(struct sql_text *t, struct arena *a, struct str text);
/* 1-based character of the byte at `offset` (at most the length). */
int sql_text_position(const struct sql_text *t, size_t offset);
/* Byte offset of the 0-based character `n` of s; its length if there are not
 * so many.  s may be other than valid UTF-8: a continuation byte is one that
 * looks like it. */
size_t sql_text_offset(struct str s, size_t n);

#endif
