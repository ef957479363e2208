#include "base/buf.h"

#include <stdlib.h>

#include "regress/lib/cu.h"

static struct arena *a;
static struct buf b;

static void
begin(void)
{
	a = arena_new(NULL, "t");
	buf_init(&b, a);
}

static void
end(void)
{
	arena_free(a);
}

static void
what_is_put_is_read_back(void)
{
	struct cur c;

	begin();
	buf_u8(&b, 0xfe);
	buf_le16(&b, 0x1234);
	buf_le32(&b, 0x12345678);
	buf_le64(&b, 0x123456789abcdef0);
	buf_be16(&b, 0x1234);
	buf_be32(&b, 0x12345678);
	buf_be64(&b, 0x123456789abcdef0);
	buf_varint(&b, 300);
	buf_lenstr(&b, STR("hello"));
	buf_put(&b, "zero\0", 5);
	CHECK(b.p[1] == 0x34 && b.p[2] == 0x12);
	CHECK(b.p[15] == 0x12 && b.p[16] == 0x34);

	c = cur_of(buf_view(&b));
	CHECK(cur_u8(&c) == 0xfe);
	CHECK(cur_le16(&c) == 0x1234);
	CHECK(cur_le32(&c) == 0x12345678);
	CHECK(cur_le64(&c) == 0x123456789abcdef0);
	CHECK(cur_be16(&c) == 0x1234);
	CHECK(cur_be32(&c) == 0x12345678);
	CHECK(cur_be64(&c) == 0x123456789abcdef0);
	CHECK(cur_varint(&c) == 300);
	CHECK(str_eq(cur_lenstr(&c), STR("hello")));
	CHECK(!cur_done(&c));
	CHECK(str_eq(cur_cstr(&c), STR("zero")));
	CHECK(cur_done(&c));
	end();
}

static void
text_is_appended(void)
{
	begin();
	for (int i = 0; i < 1000; i++)
		buf_printf(&b, "%d,", i % 10);
	CHECK(b.len == 2000);
	CHECK(strncmp(buf_cstr(&b), "0,1,2,3,4,5,6,7,8,9,0,", 22) == 0);
	CHECK(b.len == 2000);
	buf_str(&b, STR_NONE);
	buf_put(&b, NULL, 0);
	CHECK(b.len == 2000);
	end();
	begin();
	CHECK_STR(buf_cstr(&b), "");
	end();
}

static void
varints_are_minimal_and_bounded(void)
{
	uint64_t v = 1;

	begin();
	for (int bit = 0; bit < 64; bit++, v <<= 1)
		for (int d = -1; d <= 1; d++) {
			struct cur c;

			b.len = 0;
			buf_varint(&b, v + (uint64_t)d);
			c = cur_of(buf_view(&b));
			CHECK(cur_varint(&c) == v + (uint64_t)d);
			CHECK(cur_done(&c));
			CHECK(b.len <= 10);
		}
	end();
}

static bool
varint_ok(const char *bytes, size_t n)
{
	struct cur c = cur_of(str_of(bytes, n));

	cur_varint(&c);
	return cur_done(&c);
}

static void
bad_varints_are_refused(void)
{
	CHECK(varint_ok("\x00", 1));
	CHECK(!varint_ok("", 0));
	CHECK(!varint_ok("\x80", 1));
	CHECK(!varint_ok("\x80\x00", 2));
	CHECK(!varint_ok("\xff\x80\x00", 3));
	CHECK(varint_ok("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10));
	CHECK(!varint_ok("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10));
	CHECK(!varint_ok("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81\x00", 11));
	CHECK(!varint_ok("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 11));
}

/* Any read at any place of every short input stays inside it, and after a
 * failure everything is zero. The input is a block of exactly its size, so
 * that the address checker sees the first byte too many. */
static void
read_any(struct cur *c, int how)
{
	bool was_bad = c->bad;
	size_t left = c->left;
	uint64_t v = 0;
	struct str s = STR_NONE;

	switch (how) {
	case 0:
		v = cur_u8(c);
		break;
	case 1:
		v = cur_le16(c);
		break;
	case 2:
		v = cur_be32(c);
		break;
	case 3:
		v = cur_le64(c);
		break;
	case 4:
		v = cur_varint(c);
		break;
	case 5:
		s = cur_bytes(c, 3);
		break;
	case 6:
		s = cur_lenstr(c);
		break;
	default:
		s = cur_cstr(c);
		break;
	}
	MUST(c->left <= left);
	MUST(s.len <= left);
	for (size_t i = 0; i < s.len; i++)
		v |= (unsigned char)s.p[i] & 0;
	if (c->bad) {
		MUST(v == 0 && s.len == 0 && s.p == NULL && c->left == 0);
	}
	MUST(!was_bad || c->bad);
}

static void
no_read_leaves_its_input(void)
{
	static const uint8_t bytes[] = {0, 1, 2, 3, 0x7f, 0x80, 0xff};
	const size_t k = sizeof bytes;

	for (size_t n = 0; n <= 4; n++) {
		size_t inputs = 1;

		for (size_t i = 0; i < n; i++)
			inputs *= k;
		for (size_t x = 0; x < inputs; x++) {
			uint8_t *in = malloc(n ? n : 1);

			for (size_t i = 0, rest = x; i < n; i++, rest /= k)
				in[i] = bytes[rest % k];
			for (int how = 0; how < 64; how++) {
				struct cur c = cur_of(str_of(in, n));

				read_any(&c, how % 8);
				read_any(&c, how / 8);
				read_any(&c, how % 8);
			}
			free(in);
		}
	}
}

static void
huge_lengths_are_refused(void)
{
	struct cur c = cur_of(STR("abc"));

	CHECK(cur_bytes(&c, SIZE_MAX).p == NULL);
	CHECK(!cur_ok(&c));
	CHECK(cur_bytes(&c, 0).p == NULL);
	CHECK(!cur_done(&c));
	c = cur_of(STR_NONE);
	CHECK(cur_bytes(&c, 0).len == 0);
	CHECK(cur_done(&c));
	/* varint 2^64 - 1, then nothing like it */
	c = cur_of(STR("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01xyz"));
	CHECK(cur_lenstr(&c).p == NULL);
	CHECK(!cur_ok(&c));
}

CU_MAIN("buf", {"what_is_put_is_read_back", what_is_put_is_read_back},
    {"text_is_appended", text_is_appended},
    {"varints_are_minimal_and_bounded", varints_are_minimal_and_bounded},
    {"bad_varints_are_refused", bad_varints_are_refused},
    {"no_read_leaves_its_input", no_read_leaves_its_input},
    {"huge_lengths_are_refused", huge_lengths_are_refused})
