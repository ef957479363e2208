#include "base/str.h"

static unsigned char
fold(char c)
{
	unsigned char u = (unsigned char)c;

	return (unsigned char)(u >= 'A' && u <= 'Z' ? u + 32 : u);
}

bool
str_ieq(struct str a, struct str b)
{
	if (a.len != b.len)
		return false;
	for (size_t i = 0; i < a.len; i++)
		if (fold(a.p[i]) != fold(b.p[i]))
			return false;
	return true;
}

int
str_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

bool
str_u64(struct str s, uint64_t *out)
{
	uint64_t v = 0;

	*out = 0;
	if (s.len == 0)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		unsigned d = (unsigned)(unsigned char)s.p[i] - '0';

		if (d > 9 || v > (UINT64_MAX - d) / 10)
			return false;
		v = v * 10 + d;
	}
	*out = v;
	return true;
}

bool
str_i64(struct str s, int64_t *out)
{
	bool neg = s.len > 0 && s.p[0] == '-';
	uint64_t max = (uint64_t)INT64_MAX + neg;
	uint64_t v;

	*out = 0;
	if (!str_u64(neg ? str_skip(s, 1) : s, &v) || v > max)
		return false;
	*out = neg ? (int64_t)(0 - v) : (int64_t)v;
	return true;
}

/* Bytes of the well-formed character at p, 0 when there is none. The first
 * continuation byte has a narrower range after E0, ED, F0 and F4: that rules
 * out long forms, surrogates and what lies above U+10FFFF. */
static size_t
utf8_char(const unsigned char *p, size_t left)
{
	unsigned char lo = 0x80, hi = 0xbf;
	size_t n;

	if (p[0] < 0x80)
		return p[0] != 0;
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return 0;
	n = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	if (left < n)
		return 0;
	if (p[0] == 0xe0)
		lo = 0xa0;
	else if (p[0] == 0xed)
		hi = 0x9f;
	else if (p[0] == 0xf0)
		lo = 0x90;
	else if (p[0] == 0xf4)
		hi = 0x8f;
	if (p[1] < lo || p[1] > hi)
		return 0;
	for (size_t i = 2; i < n; i++)
		if (p[i] < 0x80 || p[i] > 0xbf)
			return 0;
	return n;
}

/* True when all 8 bytes are ASCII and none is zero. */
static bool
plain8(const char *p)
{
	const uint64_t high = 0x8080808080808080u, ones = 0x0101010101010101u;
	uint64_t v;

	memcpy(&v, p, sizeof v);
	return !((v | (v - ones)) & high);
}

bool
str_utf8(struct str s, size_t *bad)
{
	size_t i = 0;

	while (i < s.len) {
		size_t n;

		if (s.len - i >= 8 && plain8(s.p + i)) {
			i += 8;
			continue;
		}
		n = utf8_char((const unsigned char *)s.p + i, s.len - i);
		if (n == 0) {
			if (bad)
				*bad = i;
			return false;
		}
		i += n;
	}
	return true;
}

size_t
str_utf8_len(struct str s)
{
	size_t n = 0;

	for (size_t i = 0; i < s.len; i++)
		n += ((unsigned char)s.p[i] & 0xc0) != 0x80;
	return n;
}
