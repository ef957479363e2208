#include "sql/text.h"

#define STEP 64u

static bool
is_start(char c)
{
	return ((unsigned char)c & 0xc0) != 0x80;
}

static bool
is_ascii(struct str s)
{
	for (size_t i = 0; i < s.len; i++)
		if ((unsigned char)s.p[i] >= 0x80)
			return false;
	return true;
}

void
sql_text_init(struct sql_text *t, struct arena *a, struct str text)
{
	uint32_t chars = 0;
	uint32_t *marks;

	t->text = str_of(arena_cstr(a, text), text.len);
	t->marks = NULL;
	if (is_ascii(text))
		return;
	marks = arena_alloc_raw(a, (text.len / STEP + 1) * sizeof *marks);
	for (size_t i = 0; i < text.len; i++) {
		if (i % STEP == 0)
			marks[i / STEP] = chars;
		chars += is_start(text.p[i]);
	}
	if (text.len % STEP == 0)
		marks[text.len / STEP] = chars;
	t->marks = marks;
}

int
sql_text_position(const struct sql_text *t, size_t offset)
{
	size_t chars;

	if (offset > t->text.len)
		offset = t->text.len;
	if (!t->marks)
		return (int)offset + 1;
	chars = t->marks[offset / STEP];
	for (size_t i = offset - offset % STEP; i < offset; i++)
		chars += is_start(t->text.p[i]);
	return (int)chars + 1;
}

size_t
sql_text_offset(struct str s, size_t n)
{
	size_t i = 0;

	for (; i < s.len; i++)
		if (is_start(s.p[i]) && n-- == 0)
			return i;
	return i;
}
