#include "cluster/row.h"

#include "cluster/t/vec.h"

static struct buf
sample(void)
{
	struct buf b;

	buf_init(&b, vec_arena());
	cl_row_begin(&b, 0);
	cl_row_col(&b, 1, CL_TAG_INT, STR("\x05\x00"));
	cl_row_col(&b, 3, CL_TAG_TEXT, STR("abc"));
	cl_row_col(&b, 300, CL_TAG_BYTEA, STR(""));
	cl_row_set_stamp(b.p, 0x0102030405060708);
	return b;
}

static void
row_has_its_vector(void)
{
	struct buf b = sample();

	GOLDEN(&b, "01 00 0807060504030201"
		   "01 02 02 0500"
		   "03 06 03 616263"
		   "ac02 08 00");
}

static void
tombstone_has_its_vector(void)
{
	struct buf b;
	struct cl_row_head h;

	buf_init(&b, vec_arena());
	cl_row_begin(&b, CL_ROW_TOMBSTONE);
	cl_row_set_stamp(b.p, 9);
	GOLDEN(&b, "01 01 0900000000000000");
	CHECK(cl_row_head(buf_view(&b), &h));
	CHECK(h.flags == CL_ROW_TOMBSTONE && h.stamp == 9);
}

static void
columns_come_back_in_order(void)
{
	struct buf b = sample();
	struct cl_row_head h;
	struct cl_row_cur it;
	struct cl_row_col c;

	CHECK(cl_row_head(buf_view(&b), &h));
	CHECK(h.stamp == 0x0102030405060708 && !h.flags);
	MUST(cl_row_open(buf_view(&b), &it));
	MUST(cl_row_next(&it, &c));
	CHECK(c.id == 1 && c.tag == CL_TAG_INT && c.v.len == 2);
	MUST(cl_row_next(&it, &c));
	CHECK(c.id == 3 && c.tag == CL_TAG_TEXT);
	CHECK(str_eq(c.v, STR("abc")));
	MUST(cl_row_next(&it, &c));
	CHECK(c.id == 300 && c.tag == CL_TAG_BYTEA && !c.v.len);
	CHECK(!cl_row_next(&it, &c));
	CHECK(cl_row_ok(&it));
}

static bool
readable(struct str row)
{
	struct cl_row_cur it;
	struct cl_row_col c;

	if (!cl_row_open(row, &it))
		return false;
	while (cl_row_next(&it, &c))
		CHECK(c.id && c.tag <= CL_TAG_MAX && c.v.len <= row.len);
	return cl_row_ok(&it);
}

static void
malformed_rows_are_refused(void)
{
	static const char *const bad[] = {"", "01", "01 00 00000000000000",
	    "02 00 0000000000000000", "00 00 0000000000000000",
	    "01 02 0000000000000000",
	    /* a tombstone with a column */
	    "01 01 0000000000000000 01 02 00",
	    /* id 0; not rising; the same; beyond 32 bits; long form */
	    "01 00 0000000000000000 00 02 00",
	    "01 00 0000000000000000 02 02 00 01 02 00",
	    "01 00 0000000000000000 02 02 00 02 02 00",
	    "01 00 0000000000000000 8080808010 02 00",
	    "01 00 0000000000000000 8100 02 00",
	    /* tag 32; length beyond the end; no length */
	    "01 00 0000000000000000 01 20 00",
	    "01 00 0000000000000000 01 02 01", "01 00 0000000000000000 01 02"};

	(void)vec_arena();
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		CHECK(!readable(vec_unhex(bad[i])));
	CHECK(readable(vec_unhex("01 00 0000000000000000")));
	CHECK(readable(vec_unhex("01 00 0000000000000000 01 1f 00")));
}

static void
read_anything(struct str bytes)
{
	struct cl_row_head h;

	(void)cl_row_head(bytes, &h);
	(void)readable(bytes);
}

static void
hostile_rows_are_refused_without_harm(void)
{
	struct buf b = sample();

	vec_hostile(buf_view(&b), read_anything);
}

CU_MAIN("row", {"row_has_its_vector", row_has_its_vector},
    {"tombstone_has_its_vector", tombstone_has_its_vector},
    {"columns_come_back_in_order", columns_come_back_in_order},
    {"malformed_rows_are_refused", malformed_rows_are_refused},
    {"hostile_rows_are_refused_without_harm",
	hostile_rows_are_refused_without_harm})
