#include "base/buf.h"

#include <stdio.h>

#include "base/err.h"

#define BUF_FIRST 64

void
buf_init(struct buf *b, struct arena *a)
{
	*b = (struct buf){.arena = a};
}

void *
buf_reserve(struct buf *b, size_t n)
{
	size_t cap = b->cap;

	if (n <= cap - b->len && b->p)
		return b->p + b->len;
	ASSERT(n <= SIZE_MAX / 4 && b->len <= SIZE_MAX / 4);
	if (cap == 0)
		cap = BUF_FIRST;
	while (cap - b->len < n)
		cap *= 2;
	b->p = arena_grow(b->arena, b->p, b->cap, cap);
	b->cap = cap;
	return b->p + b->len;
}

void
buf_put(struct buf *b, const void *p, size_t n)
{
	void *to = buf_reserve(b, n);

	if (n > 0)
		memcpy(to, p, n);
	b->len += n;
}

void
buf_str(struct buf *b, struct str s)
{
	buf_put(b, s.p, s.len);
}

__attribute__((format(printf, 2, 0))) static void
buf_vprintf(struct buf *b, const char *fmt, va_list ap)
{
	va_list again;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	ASSERT(n >= 0);
	buf_reserve(b, (size_t)n + 1);
	vsnprintf((char *)b->p + b->len, (size_t)n + 1, fmt, again);
	va_end(again);
	b->len += (size_t)n;
}

void
buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(b, fmt, ap);
	va_end(ap);
}

static void
put_le(struct buf *b, uint64_t v, size_t n)
{
	uint8_t *p = buf_reserve(b, n);

	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)(v >> (8 * i));
	b->len += n;
}

static void
put_be(struct buf *b, uint64_t v, size_t n)
{
	uint8_t *p = buf_reserve(b, n);

	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)(v >> (8 * (n - 1 - i)));
	b->len += n;
}

void
buf_u8(struct buf *b, uint8_t v)
{
	put_le(b, v, 1);
}

void
buf_le16(struct buf *b, uint16_t v)
{
	put_le(b, v, 2);
}

void
buf_le32(struct buf *b, uint32_t v)
{
	put_le(b, v, 4);
}

void
buf_le64(struct buf *b, uint64_t v)
{
	put_le(b, v, 8);
}

void
buf_be16(struct buf *b, uint16_t v)
{
	put_be(b, v, 2);
}

void
buf_be32(struct buf *b, uint32_t v)
{
	put_be(b, v, 4);
}

void
buf_be64(struct buf *b, uint64_t v)
{
	put_be(b, v, 8);
}

void
buf_varint(struct buf *b, uint64_t v)
{
	uint8_t *p = buf_reserve(b, 10);
	size_t n = 0;

	while (v >= 0x80) {
		p[n++] = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	p[n++] = (uint8_t)v;
	b->len += n;
}

void
buf_lenstr(struct buf *b, struct str s)
{
	buf_varint(b, s.len);
	buf_str(b, s);
}

struct str
buf_view(const struct buf *b)
{
	return str_of(b->p, b->len);
}

char *
buf_cstr(struct buf *b)
{
	*(uint8_t *)buf_reserve(b, 1) = 0;
	return (char *)b->p;
}
