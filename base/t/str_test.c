#include "base/str.h"

#include "regress/lib/cu.h"

static void
order_is_memcmp_with_prefixes_first(void)
{
	CHECK(str_cmp(STR("a"), STR("ab")) < 0);
	CHECK(str_cmp(STR("ab"), STR("b")) < 0);
	CHECK(str_cmp(STR("\xff"), STR("a")) > 0);
	CHECK(str_cmp(STR_NONE, STR("")) == 0);
	CHECK(str_cmp(STR("x"), STR("x")) == 0);
	CHECK(str_has_prefix(STR("abc"), STR("ab")));
	CHECK(!str_has_prefix(STR("a"), STR("ab")));
	CHECK(str_skip(STR("abc"), 9).len == 0);
}

static void
only_ascii_letters_fold(void)
{
	CHECK(str_ieq(STR("SeLect"), STR("sElecT")));
	CHECK(!str_ieq(STR("a"), STR("ab")));
	CHECK(!str_ieq(STR("["), STR("{")));
	CHECK(!str_ieq(STR("\xc4"), STR("\xe4")));
}

static bool
u64(const char *s, uint64_t want)
{
	uint64_t v;

	return str_u64(str_c(s), &v) && v == want;
}

static bool
i64(const char *s, int64_t want)
{
	int64_t v;

	return str_i64(str_c(s), &v) && v == want;
}

static void
numbers_are_exact_or_refused(void)
{
	uint64_t u;
	int64_t i;

	CHECK(u64("0", 0));
	CHECK(u64("007", 7));
	CHECK(u64("18446744073709551615", UINT64_MAX));
	CHECK(!str_u64(STR("18446744073709551616"), &u));
	CHECK(!str_u64(STR("99999999999999999999"), &u));
	CHECK(!str_u64(STR(""), &u));
	CHECK(!str_u64(STR("-1"), &u));
	CHECK(!str_u64(STR(" 1"), &u));
	CHECK(!str_u64(STR("1\0"), &u));
	CHECK(i64("-9223372036854775808", INT64_MIN));
	CHECK(i64("9223372036854775807", INT64_MAX));
	CHECK(!str_i64(STR("9223372036854775808"), &i));
	CHECK(!str_i64(STR("-9223372036854775809"), &i));
	CHECK(!str_i64(STR("-"), &i));
	CHECK(!str_i64(STR("--1"), &i));
}

/* Decodes by the definition, without ranges. */
static bool
slow_utf8(const unsigned char *p, size_t n)
{
	static const uint32_t least[5] = {0, 1, 0x80, 0x800, 0x10000};

	while (n > 0) {
		size_t len = p[0] < 0x80       ? 1
			     : p[0] >> 5 == 6  ? 2
			     : p[0] >> 4 == 14 ? 3
			     : p[0] >> 3 == 30 ? 4
					       : 0;
		uint32_t c;

		if (len == 0 || len > n)
			return false;
		c = len == 1 ? p[0] : p[0] & (0x7fu >> len);
		for (size_t i = 1; i < len; i++) {
			if (p[i] >> 6 != 2)
				return false;
			c = c << 6 | (p[i] & 0x3f);
		}
		if (c < least[len] || c > 0x10ffff ||
		    (c >= 0xd800 && c <= 0xdfff))
			return false;
		p += len;
		n -= len;
	}
	return true;
}

static void
utf8_agrees_with_the_definition(void)
{
	/* All leads, and what stands around every border. */
	static const unsigned char tails[] = {
	    0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xff};
	unsigned char b[4];
	size_t wrong = 0;

	for (unsigned lead = 0; lead < 256; lead++)
		for (size_t x = 0; x < sizeof tails; x++)
			for (size_t y = 0; y < sizeof tails; y++)
				for (size_t z = 0; z < sizeof tails; z++) {
					b[0] = (unsigned char)lead;
					b[1] = tails[x];
					b[2] = tails[y];
					b[3] = tails[z];
					for (size_t n = 0; n <= 4; n++)
						wrong += str_utf8(str_of(b, n),
							     NULL) !=
							 slow_utf8(b, n);
				}
	CHECK(wrong == 0);
}

static void
the_first_bad_byte_is_told(void)
{
	size_t bad = 99;

	CHECK(!str_utf8(STR("abcdefghijkl\0mnopqrst"), &bad) && bad == 12);
	CHECK(!str_utf8(STR("abc\xc3\xa4\xff"), &bad) && bad == 5);
	CHECK(!str_utf8(STR("abc\xc3"), &bad) && bad == 3);
	CHECK(str_utf8(STR("stra\xc3\x9f"
			   "e \xe2\x82\xac \xf0\x9f\x98\x80"),
	    &bad));
	CHECK(str_utf8_len(STR("\xc3\x9f\xe2\x82\xac\xf0\x9f\x98\x80x")) == 4);
	CHECK(str_utf8_len(STR_NONE) == 0);
}

CU_MAIN("str",
    {"order_is_memcmp_with_prefixes_first",
	order_is_memcmp_with_prefixes_first},
    {"only_ascii_letters_fold", only_ascii_letters_fold},
    {"numbers_are_exact_or_refused", numbers_are_exact_or_refused},
    {"utf8_agrees_with_the_definition", utf8_agrees_with_the_definition},
    {"the_first_bad_byte_is_told", the_first_bad_byte_is_told})
