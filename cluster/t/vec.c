#include "cluster/t/vec.h"

#include <stdio.h>

static struct arena *arena;
static uint64_t state;

struct arena *
vec_arena(void)
{
	if (arena)
		arena_reset(arena);
	else
		arena = arena_new(NULL, "test");
	return arena;
}

char *
vec_hex(struct str s)
{
	struct buf b;

	buf_init(&b, arena);
	for (size_t i = 0; i < s.len; i++)
		buf_printf(&b, "%02x", (uint8_t)s.p[i]);
	return buf_cstr(&b);
}

static int
nibble(char c)
{
	return c <= '9' ? c - '0' : c - 'a' + 10;
}

struct str
vec_unhex(const char *hex)
{
	struct buf b;

	buf_init(&b, arena);
	for (; *hex; hex++) {
		if (*hex == ' ')
			continue;
		buf_u8(&b, (uint8_t)(nibble(hex[0]) << 4 | nibble(hex[1])));
		hex++;
	}
	return buf_view(&b);
}

void
vec_is(const struct buf *b, const char *hex, const char *file, int line)
{
	bool same = str_eq(buf_view(b), vec_unhex(hex));

	if (!same)
		printf("%s:%d: is %s\n", file, line, vec_hex(buf_view(b)));
	CU_assertImplementation(same, (unsigned)line, hex, file, "", CU_FALSE);
}

/* splitmix64 */
uint64_t
vec_u64(void)
{
	uint64_t z;

	if (!state)
		state = cu_seed() | 1;
	z = state += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

uint64_t
vec_below(uint64_t n)
{
	return vec_u64() % n;
}

int64_t
vec_i64(void)
{
	uint64_t v = vec_u64() >> vec_below(64);

	/* Around powers of two, where encodings change length. */
	if (vec_below(4) == 0)
		v = (1ULL << vec_below(64)) + vec_below(3) - 1;
	return (int64_t)(vec_below(2) ? v : ~v);
}

struct str
vec_bytes(size_t max)
{
	static const uint8_t edge[] = {0, 0, 1, 0xfe, 0xff, 0xff};
	size_t n = (size_t)vec_below(max + 1);
	char *p = arena_alloc_raw(arena, n ? n : 1);

	for (size_t i = 0; i < n; i++)
		p[i] = (char)(vec_below(2) ? vec_u64()
					   : edge[vec_below(sizeof edge)]);
	return str_of(p, n);
}

static void
damage(uint8_t *p, size_t n)
{
	size_t at = (size_t)vec_below(n), len = (size_t)vec_below(n - at) + 1;

	switch (vec_below(4)) {
	case 0:
		p[at] ^= (uint8_t)(1u << vec_below(8));
		break;
	case 1:
		p[at] = (uint8_t)vec_u64();
		break;
	case 2:
		p[at] = vec_below(2) ? 0xff : 0;
		break;
	default:
		memmove(p + at, p + vec_below(n - len + 1), len);
	}
}

void
vec_hostile(struct str s, void (*fn)(struct str bytes))
{
	for (size_t n = 0; n <= s.len; n++) {
		/* A copy that ends where the bytes end: a checker sees every
		 * read beyond. */
		fn(str_of(arena_dup(arena, s.p, n), n));
	}
	for (int i = 0; s.len && i < 3000; i++) {
		uint8_t *p = arena_dup(arena, s.p, s.len);
		uint64_t times = 1 + vec_below(3);

		while (times--)
			damage(p, s.len);
		fn(str_of(p, s.len));
	}
}
