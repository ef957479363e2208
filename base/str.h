/* String views: bytes with a length, owned by somebody else. */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct str {
	const char *p;
	size_t len;
};

#define STR(literal) ((struct str){"" literal, sizeof(literal) - 1})
#define STR_NONE     ((struct str){NULL, 0})
/* For printf("%.*s", STR_FMT(s)). */
#define STR_FMT(s) (int)(s).len, (s).p ? (s).p : ""

static inline struct str
str_of(const void *p, size_t len)
{
	return (struct str){(const char *)p, len};
}

static inline struct str
str_c(const char *s)
{
	return (struct str){s, s ? strlen(s) : 0};
}

static inline bool
str_eq(struct str a, struct str b)
{
	return a.len == b.len && (!a.len || memcmp(a.p, b.p, a.len) == 0);
}

/* memcmp order, a prefix first: the order of keys. */
static inline int
str_cmp(struct str a, struct str b)
{
	size_t n = a.len < b.len ? a.len : b.len;
	int r = n ? memcmp(a.p, b.p, n) : 0;

	if (r)
		return r < 0 ? -1 : 1;
	return a.len < b.len ? -1 : a.len > b.len;
}

static inline bool
str_has_prefix(struct str s, struct str prefix)
{
	return s.len >= prefix.len &&
	       (!prefix.len || memcmp(s.p, prefix.p, prefix.len) == 0);
}

/* From offset `n` (at most the length) on. */
static inline struct str
str_skip(struct str s, size_t n)
{
	if (n > s.len)
		n = s.len;
	return (struct str){s.p + n, s.len - n};
}

bool str_ieq(struct str a, struct str b); /* ASCII case folded */
/* The value of a hexadecimal digit; -1 for another character. */
int str_hex_digit(char c);
/* Decimal without sign or blanks; false on anything else or overflow. */
bool str_u64(struct str s, uint64_t *out);
bool str_i64(struct str s, int64_t *out);
/* NULL-free well-formed UTF-8 (no surrogates, shortest form). On false *bad
 * (may be NULL) is the offset of the first bad byte. */
bool str_utf8(struct str s, size_t *bad);
/* Number of UTF-8 characters in well-formed text. */
size_t str_utf8_len(struct str s);

#endif
