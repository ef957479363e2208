#include "base/buf.h"

struct cur
cur_of(struct str s)
{
	return (struct cur){(const uint8_t *)s.p, s.len, false};
}

bool
cur_ok(const struct cur *c)
{
	return !c->bad;
}

bool
cur_done(const struct cur *c)
{
	return !c->bad && c->left == 0;
}

/* The one place that moves the cursor: n bytes, or NULL and bad for ever. */
static const uint8_t *
take(struct cur *c, size_t n)
{
	const uint8_t *p = c->p;

	if (c->bad || n > c->left) {
		c->bad = true;
		c->left = 0;
		return NULL;
	}
	if (n > 0)
		c->p += n;
	c->left -= n;
	return p;
}

static uint64_t
take_le(struct cur *c, size_t n)
{
	const uint8_t *p = take(c, n);
	uint64_t v = 0;

	for (size_t i = 0; p && i < n; i++)
		v |= (uint64_t)p[i] << (8 * i);
	return v;
}

static uint64_t
take_be(struct cur *c, size_t n)
{
	const uint8_t *p = take(c, n);
	uint64_t v = 0;

	for (size_t i = 0; p && i < n; i++)
		v = v << 8 | p[i];
	return v;
}

uint8_t
cur_u8(struct cur *c)
{
	return (uint8_t)take_le(c, 1);
}

uint16_t
cur_le16(struct cur *c)
{
	return (uint16_t)take_le(c, 2);
}

uint32_t
cur_le32(struct cur *c)
{
	return (uint32_t)take_le(c, 4);
}

uint64_t
cur_le64(struct cur *c)
{
	return take_le(c, 8);
}

uint16_t
cur_be16(struct cur *c)
{
	return (uint16_t)take_be(c, 2);
}

uint32_t
cur_be32(struct cur *c)
{
	return (uint32_t)take_be(c, 4);
}

uint64_t
cur_be64(struct cur *c)
{
	return take_be(c, 8);
}

static uint64_t
fail(struct cur *c)
{
	c->bad = true;
	c->left = 0;
	return 0;
}

uint64_t
cur_varint(struct cur *c)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint64_t byte = cur_u8(c);

		if (c->bad)
			return 0;
		/* The tenth byte has room for one bit; a last byte of zero
		 * would be a longer form of a shorter number. */
		if (shift == 63 && byte > 1)
			return fail(c);
		v |= (byte & 0x7f) << shift;
		if (byte < 0x80)
			return byte == 0 && shift > 0 ? fail(c) : v;
	}
	return fail(c);
}

struct str
cur_bytes(struct cur *c, size_t n)
{
	const uint8_t *p = take(c, n);

	return c->bad ? STR_NONE : str_of(p, n);
}

struct str
cur_lenstr(struct cur *c)
{
	uint64_t n = cur_varint(c);

	if (n > c->left) {
		fail(c);
		return STR_NONE;
	}
	return cur_bytes(c, (size_t)n);
}

struct str
cur_cstr(struct cur *c)
{
	const uint8_t *nul = NULL;
	struct str s;

	if (!c->bad && c->left > 0)
		nul = memchr(c->p, 0, c->left);
	if (!nul) {
		fail(c);
		return STR_NONE;
	}
	s = cur_bytes(c, (size_t)(nul - c->p));
	take(c, 1);
	return s;
}
