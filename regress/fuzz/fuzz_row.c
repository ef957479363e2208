/* Rows and keys. The first byte says how the rest is read. */
#include "base/err.h"
#include "cluster/key.h"
#include "cluster/row.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
read_row(struct arena *a, struct str bytes)
{
	struct cl_row_head h;
	struct cl_row_cur it;
	struct cl_row_col col;
	struct buf b;

	if (!cl_row_head(bytes, &h)) {
		ASSERT(!cl_row_open(bytes, &it));
		return;
	}
	ASSERT(cl_row_open(bytes, &it));
	buf_init(&b, a);
	cl_row_begin(&b, h.flags);
	cl_row_set_stamp(b.p, h.stamp);
	while (cl_row_next(&it, &col))
		cl_row_col(&b, col.id, col.tag, col.v);
	ASSERT(!cl_row_ok(&it) || str_eq(buf_view(&b), bytes));
}

/* One column of the kind that `kind` picks, read and written again. */
static bool
column(struct cur *c, unsigned kind, struct cl_key_order o, struct buf *b)
{
	struct cl_key_head h;
	struct cl_num num;
	struct str s;
	uint64_t lo;
	int64_t i;
	double d;
	bool flag;

	if (!cl_key_read_head(c, o, &h))
		return false;
	if (h.null) {
		cl_key_null(b, o);
		return true;
	}
	switch (kind % 6) {
	case 0:
		if (!cl_key_read_bool(c, o, &flag))
			return false;
		cl_key_bool(b, h.tag, o, flag);
		return true;
	case 1:
		if (!cl_key_read_int(c, o, &i))
			return false;
		cl_key_int(b, h.tag, o, i);
		return true;
	case 2:
		if (!cl_key_read_double(c, o, &d))
			return false;
		cl_key_double(b, h.tag, o, d);
		return true;
	case 3:
		if (!cl_key_read_bytes(c, o, b->arena, &s))
			return false;
		cl_key_bytes(b, h.tag, o, s);
		return true;
	case 4:
		if (!cl_key_read_int128(c, o, &i, &lo))
			return false;
		cl_key_int128(b, h.tag, o, i, lo);
		return true;
	default:
		if (!cl_key_read_num(c, o, b->arena, &num))
			return false;
		cl_key_num(b, h.tag, o, &num);
		return true;
	}
}

static void
read_key(struct arena *a, unsigned how, struct str bytes)
{
	struct cl_key_order o = {how & 1, how & 2};
	struct cur c = cur_of(bytes);
	unsigned kind = how >> 2;
	struct buf b;

	buf_init(&b, a);
	while (c.left && column(&c, kind++, o, &b))
		continue;
	ASSERT(!cur_done(&c) || str_eq(buf_view(&b), bytes));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *a = arena_new(NULL, "fuzz");

	if (size && data[0] & 0x80)
		read_row(a, str_of(data + 1, size - 1));
	else if (size)
		read_key(a, data[0], str_of(data + 1, size - 1));
	arena_free(a);
	return 0;
}
