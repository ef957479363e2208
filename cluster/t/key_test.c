#include "cluster/key.h"

#include <float.h>
#include <math.h>

#include "cluster/t/vec.h"

static const struct cl_key_order orders[] = {
    {false, false}, {false, true}, {true, false}, {true, true}};

#define ASC  CL_KEY_ASC
#define DESC CL_KEY_DESC

static struct buf
fresh(void)
{
	struct buf b;

	buf_init(&b, vec_arena());
	return b;
}

#define GOLDEN_KEY(call, hex)                                                  \
	do {                                                                   \
		struct buf b = fresh();                                        \
		call;                                                          \
		GOLDEN(&b, hex);                                               \
	} while (0)

static void
null_has_its_vectors(void)
{
	GOLDEN_KEY(cl_key_null(&b, orders[0]), "f0");
	GOLDEN_KEY(cl_key_null(&b, orders[1]), "10");
	GOLDEN_KEY(cl_key_null(&b, orders[2]), "f0");
	GOLDEN_KEY(cl_key_null(&b, orders[3]), "10");
}

static void
bool_has_its_vectors(void)
{
	GOLDEN_KEY(cl_key_bool(&b, CL_TAG_NONE, ASC, false), "40 00");
	GOLDEN_KEY(cl_key_bool(&b, CL_TAG_NONE, ASC, true), "40 01");
	GOLDEN_KEY(cl_key_bool(&b, CL_TAG_BOOL, ASC, true), "41 01");
	GOLDEN_KEY(cl_key_bool(&b, CL_TAG_NONE, DESC, false), "5f ff");
	GOLDEN_KEY(cl_key_bool(&b, CL_TAG_BOOL, DESC, true), "5e fe");
}

static void
int_has_its_vectors(void)
{
	static const struct {
		int64_t v;
		const char *asc, *desc;
	} v[] = {
	    {0, "40 80", "5f 7f"},
	    {1, "40 8101", "5f 7efe"},
	    {255, "40 81ff", "5f 7e00"},
	    {256, "40 820100", "5f 7dfeff"},
	    {1000000, "40 830f4240", "5f 7cf0bdbf"},
	    {INT64_MAX, "40 887fffffffffffffff", "5f 778000000000000000"},
	    {-1, "40 7f", "5f 80"},
	    {-2, "40 7efe", "5f 8101"},
	    {-256, "40 7e00", "5f 81ff"},
	    {-257, "40 7dfeff", "5f 820100"},
	    {INT64_MIN, "40 778000000000000000", "5f 887fffffffffffffff"},
	};

	for (size_t i = 0; i < sizeof v / sizeof v[0]; i++) {
		GOLDEN_KEY(cl_key_int(&b, CL_TAG_NONE, ASC, v[i].v), v[i].asc);
		GOLDEN_KEY(
		    cl_key_int(&b, CL_TAG_NONE, DESC, v[i].v), v[i].desc);
	}
	GOLDEN_KEY(cl_key_int(&b, CL_TAG_INT, ASC, 7), "42 8107");
	GOLDEN_KEY(cl_key_int(&b, CL_TAG_INT, DESC, 7), "5d 7ef8");
}

static void
double_has_its_vectors(void)
{
	static const struct {
		double v;
		const char *asc, *desc;
	} v[] = {
	    {0.0, "40 8000000000000000", "5f 7fffffffffffffff"},
	    {-0.0, "40 8000000000000000", "5f 7fffffffffffffff"},
	    {1.0, "40 bff0000000000000", "5f 400fffffffffffff"},
	    {-1.5, "40 4007ffffffffffff", "5f bff8000000000000"},
	    {INFINITY, "40 fff0000000000000", "5f 000fffffffffffff"},
	    {-INFINITY, "40 000fffffffffffff", "5f fff0000000000000"},
	    {NAN, "40 fff8000000000000", "5f 0007ffffffffffff"},
	    {-NAN, "40 fff8000000000000", "5f 0007ffffffffffff"},
	};

	for (size_t i = 0; i < sizeof v / sizeof v[0]; i++) {
		GOLDEN_KEY(
		    cl_key_double(&b, CL_TAG_NONE, ASC, v[i].v), v[i].asc);
		GOLDEN_KEY(
		    cl_key_double(&b, CL_TAG_NONE, DESC, v[i].v), v[i].desc);
	}
	GOLDEN_KEY(
	    cl_key_double(&b, CL_TAG_DOUBLE, ASC, 2), "44 c000000000000000");
}

static void
bytes_have_their_vectors(void)
{
	GOLDEN_KEY(cl_key_bytes(&b, CL_TAG_NONE, ASC, STR("")), "40 0001");
	GOLDEN_KEY(
	    cl_key_bytes(&b, CL_TAG_NONE, ASC, STR("ab")), "40 6162 0001");
	GOLDEN_KEY(
	    cl_key_bytes(&b, CL_TAG_NONE, ASC, STR("\0")), "40 00ff 0001");
	GOLDEN_KEY(cl_key_bytes(&b, CL_TAG_NONE, ASC, STR("a\0\0\xff")),
	    "40 61 00ff 00ff ff 0001");
	GOLDEN_KEY(cl_key_bytes(&b, CL_TAG_NONE, DESC, STR("")), "5f fffe");
	GOLDEN_KEY(cl_key_bytes(&b, CL_TAG_NONE, DESC, STR("a\0\xff")),
	    "5f 9e ff00 00 fffe");
	GOLDEN_KEY(cl_key_bytes(&b, CL_TAG_TEXT, ASC, STR("a")), "46 61 0001");
}

static void
int128_has_its_vectors(void)
{
	GOLDEN_KEY(cl_key_int128(&b, CL_TAG_NONE, ASC, 0, 1),
	    "40 8000000000000000 0000000000000001");
	GOLDEN_KEY(cl_key_int128(&b, CL_TAG_NONE, ASC, -1, UINT64_MAX),
	    "40 7fffffffffffffff ffffffffffffffff");
	GOLDEN_KEY(cl_key_int128(&b, CL_TAG_NONE, DESC, 0, 1),
	    "5f 7fffffffffffffff fffffffffffffffe");
	GOLDEN_KEY(cl_key_int128(&b, CL_TAG_INTERVAL, ASC, 1, 2),
	    "4e 8000000000000001 0000000000000002");
}

static void
prefix_has_its_vector(void)
{
	uint32_t table;
	uint16_t slot;
	struct str rest;
	struct buf b = fresh();

	cl_key_prefix(&b, 16384, 0x0203);
	cl_key_int(&b, CL_TAG_NONE, ASC, 5);
	GOLDEN(&b, "00004000 0203 40 8105");
	CHECK(cl_key_split(buf_view(&b), &table, &slot, &rest));
	CHECK(table == 16384 && slot == 0x0203);
	CHECK(str_eq(rest, vec_unhex("40 8105")));
	CHECK(!cl_key_split(str_of(b.p, 5), &table, &slot, &rest));
}

/* ---- order and round trip ---- */

static int
sign(int v)
{
	return (v > 0) - (v < 0);
}

/* The keys' order is r, turned round for desc. */
static void
same_order(const struct buf *x, const struct buf *y, int r, bool desc)
{
	MUST(str_cmp(buf_view(x), buf_view(y)) == (desc ? -r : r));
}

static bool
read_head(struct cur *c, struct cl_key_order o)
{
	struct cl_key_head h;

	return cl_key_read_head(c, o, &h) && !h.null && h.tag == CL_TAG_NONE;
}

static void
ints_keep_their_order(void)
{
	for (int i = 0; i < 100000; i++) {
		struct cl_key_order o = orders[vec_below(4)];
		struct buf x = fresh(), y;
		int64_t a = vec_i64(), b = vec_i64(), back;
		struct cur c;

		if (vec_below(8) == 0 && a < INT64_MAX)
			b = a + 1;
		buf_init(&y, x.arena);
		cl_key_int(&x, CL_TAG_NONE, o, a);
		cl_key_int(&y, CL_TAG_NONE, o, b);
		same_order(&x, &y, (a > b) - (a < b), o.desc);
		c = cur_of(buf_view(&x));
		MUST(read_head(&c, o) && cl_key_read_int(&c, o, &back));
		MUST(cur_done(&c) && back == a);
	}
}

/* PostgreSQL's: NaN equals NaN and is above all. */
static int
double_cmp(double a, double b)
{
	if (isnan(a) || isnan(b))
		return isnan(a) - isnan(b);
	return (a > b) - (a < b);
}

static double
random_double(void)
{
	static const double edge[] = {0.0, -0.0, 1.0, -1.0, DBL_MAX, -DBL_MAX,
	    DBL_MIN, -DBL_MIN, DBL_TRUE_MIN, -DBL_TRUE_MIN, INFINITY, -INFINITY,
	    NAN, -NAN};
	uint64_t bits = vec_u64();
	double v;

	if (vec_below(3) == 0)
		return edge[vec_below(sizeof edge / sizeof edge[0])];
	if (vec_below(2))
		return (double)vec_i64() / 256;
	memcpy(&v, &bits, sizeof v);
	return v;
}

static void
doubles_keep_their_order(void)
{
	for (int i = 0; i < 100000; i++) {
		struct cl_key_order o = orders[vec_below(4)];
		struct buf x = fresh(), y;
		double a = random_double(), b = random_double(), back;
		struct cur c;

		buf_init(&y, x.arena);
		cl_key_double(&x, CL_TAG_NONE, o, a);
		cl_key_double(&y, CL_TAG_NONE, o, b);
		same_order(&x, &y, double_cmp(a, b), o.desc);
		c = cur_of(buf_view(&x));
		MUST(read_head(&c, o) && cl_key_read_double(&c, o, &back));
		MUST(cur_done(&c) && double_cmp(back, a) == 0);
	}
}

static void
bytes_keep_their_order(void)
{
	for (int i = 0; i < 100000; i++) {
		struct cl_key_order o = orders[vec_below(4)];
		struct buf x = fresh(), y;
		struct str a = vec_bytes(6), b = vec_bytes(6), back;
		struct cur c;

		if (vec_below(3) == 0)
			b = str_of(a.p, (size_t)vec_below(a.len + 1));
		buf_init(&y, x.arena);
		cl_key_bytes(&x, CL_TAG_NONE, o, a);
		cl_key_bytes(&y, CL_TAG_NONE, o, b);
		same_order(&x, &y, str_cmp(a, b), o.desc);
		c = cur_of(buf_view(&x));
		MUST(read_head(&c, o));
		MUST(cl_key_read_bytes(&c, o, x.arena, &back));
		MUST(cur_done(&c) && str_eq(back, a));
	}
}

static void
int128s_keep_their_order(void)
{
	__extension__ const __int128 two64 = (__int128)1 << 64;

	for (int i = 0; i < 100000; i++) {
		struct cl_key_order o = orders[vec_below(4)];
		struct buf x = fresh(), y;
		int64_t ahi = vec_i64(), bhi = vec_below(2) ? ahi : vec_i64();
		uint64_t alo = (uint64_t)vec_i64(), blo = (uint64_t)vec_i64();
		__extension__ __int128 a = (__int128)ahi * two64 + alo;
		__extension__ __int128 b = (__int128)bhi * two64 + blo;
		uint64_t lo;
		int64_t hi;
		struct cur c;

		buf_init(&y, x.arena);
		cl_key_int128(&x, CL_TAG_NONE, o, ahi, alo);
		cl_key_int128(&y, CL_TAG_NONE, o, bhi, blo);
		same_order(&x, &y, (a > b) - (a < b), o.desc);
		c = cur_of(buf_view(&x));
		MUST(read_head(&c, o) && cl_key_read_int128(&c, o, &hi, &lo));
		MUST(cur_done(&c) && hi == ahi && lo == alo);
	}
}

/* ---- several columns ---- */

struct column {
	bool null;
	bool text; /* else int */
	int64_t v;
	struct str s;
};

static struct column
random_column(bool text)
{
	struct column c = {.null = vec_below(4) == 0, .text = text};

	c.v = (int64_t)vec_below(5) - 2;
	c.s = vec_bytes(2);
	return c;
}

static void
put_column(struct buf *b, struct cl_key_order o, const struct column *c)
{
	if (c->null)
		cl_key_null(b, o);
	else if (c->text)
		cl_key_bytes(b, CL_TAG_NONE, o, c->s);
	else
		cl_key_int(b, CL_TAG_NONE, o, c->v);
}

static int
column_cmp(
    struct cl_key_order o, const struct column *a, const struct column *b)
{
	int r;

	if (a->null || b->null) {
		r = a->null - b->null;
		return o.nulls_first ? -r : r;
	}
	r = a->text ? str_cmp(a->s, b->s) : (a->v > b->v) - (a->v < b->v);
	return o.desc ? -r : r;
}

static void
columns_order_one_after_the_other_with_nulls_where_asked(void)
{
	for (int i = 0; i < 100000; i++) {
		struct buf x = fresh(), y;
		int r = 0;

		buf_init(&y, x.arena);
		for (int k = 0; k < 3; k++) {
			struct cl_key_order o = orders[vec_below(4)];
			struct column a = random_column(k != 1);
			struct column b = random_column(k != 1);

			put_column(&x, o, &a);
			put_column(&y, o, &b);
			if (!r)
				r = column_cmp(o, &a, &b);
		}
		MUST(sign(str_cmp(buf_view(&x), buf_view(&y))) == r);
	}
}

static void
tags_come_back_and_reverse_with_desc(void)
{
	for (int t = 0; t <= CL_TAG_MAX; t++) {
		for (int k = 0; k < 4; k++) {
			struct buf b = fresh();
			struct cl_key_head h;
			struct cur c;

			cl_key_bool(&b, (enum cl_tag)t, orders[k], true);
			c = cur_of(buf_view(&b));
			CHECK(cl_key_read_head(&c, orders[k], &h));
			CHECK(!h.null && h.tag == (enum cl_tag)t);
			CHECK(b.p[0] ==
			      (orders[k].desc ? 0x40 + 31 - t : 0x40 + t));
		}
	}
}

static void
a_null_of_the_other_order_is_malformed(void)
{
	struct buf b = fresh();
	struct cl_key_head h;
	struct cur c;

	cl_key_null(&b, ASC);
	c = cur_of(buf_view(&b));
	CHECK(cl_key_read_head(&c, ASC, &h) && h.null);
	c = cur_of(buf_view(&b));
	CHECK(!cl_key_read_head(&c, DESC, &h));
	CHECK(!cur_ok(&c));
}

static void
a_value_has_one_encoding(void)
{
	static const char *const bad_ints[] = {"", "89010000000000000000",
	    "8100", "820001", "880000000000000001", "888000000000000000",
	    "7eff", "7dff00", "77ffffffffffffffff", "777fffffffffffffff",
	    "76ffffffffffffffff00", "8201", "ff", "00"};
	static const char *const bad_doubles[] = {"7fffffffffffffff",
	    "fff8000000000001", "fff0000000000001", "0007ffffffffffff",
	    "80000000000000"};
	static const char *const bad_bytes[] = {
	    "", "61", "00", "0000", "0002", "6100", "6100fe"};
	struct arena *a = vec_arena();
	struct str s;
	struct cur c;
	int64_t i;
	double d;
	bool flag;

	for (size_t k = 0; k < sizeof bad_ints / sizeof *bad_ints; k++) {
		c = cur_of(vec_unhex(bad_ints[k]));
		CHECK(!cl_key_read_int(&c, ASC, &i) && !cur_ok(&c));
	}
	for (size_t k = 0; k < sizeof bad_doubles / sizeof *bad_doubles; k++) {
		c = cur_of(vec_unhex(bad_doubles[k]));
		CHECK(!cl_key_read_double(&c, ASC, &d) && !cur_ok(&c));
	}
	for (size_t k = 0; k < sizeof bad_bytes / sizeof *bad_bytes; k++) {
		c = cur_of(vec_unhex(bad_bytes[k]));
		CHECK(!cl_key_read_bytes(&c, ASC, a, &s) && !cur_ok(&c));
	}
	c = cur_of(vec_unhex("02"));
	CHECK(!cl_key_read_bool(&c, ASC, &flag) && !cur_ok(&c));
}

static void
after_prefix_is_the_least_key_above_all_with_the_prefix(void)
{
	struct arena *a = vec_arena();

	CHECK(str_eq(cl_key_after_prefix(a, STR("ab")), STR("ac")));
	CHECK(str_eq(cl_key_after_prefix(a, STR("a\xff\xff")), STR("b")));
	CHECK(cl_key_after_prefix(a, STR("\xff\xff")).len == 0);
	CHECK(cl_key_after_prefix(a, STR("")).len == 0);
	for (int i = 0; i < 20000; i++) {
		struct str p, k, end;

		a = vec_arena();
		p = vec_bytes(4);
		k = vec_bytes(6);
		end = cl_key_after_prefix(a, p);
		if (!p.len || !end.len)
			continue;
		MUST(str_cmp(p, end) < 0);
		/* k starts with p, or lies outside [p, end) */
		MUST(str_has_prefix(k, p) ==
		     (str_cmp(k, p) >= 0 && str_cmp(k, end) < 0));
	}
}

/* ---- hostile ---- */

static void
read_anything(struct str bytes)
{
	struct arena *a = arena_new(NULL, "hostile");

	for (int k = 0; k < 4; k++) {
		for (int kind = 0; kind < 6; kind++) {
			struct cur c = cur_of(bytes);
			struct cl_key_head h;
			struct cl_num num;
			struct str s;
			int64_t i;
			uint64_t u;
			double d;
			bool b;

			while (cl_key_read_head(&c, orders[k], &h)) {
				bool ok =
				    h.null ||
				    (kind == 0 ? cl_key_read_bool(
						     &c, orders[k], &b)
					: kind == 1
					    ? cl_key_read_int(&c, orders[k], &i)
					: kind == 2 ? cl_key_read_double(
							  &c, orders[k], &d)
					: kind == 3 ? cl_key_read_bytes(
							  &c, orders[k], a, &s)
					: kind == 4 ? cl_key_read_int128(
							  &c, orders[k], &i, &u)
						    : cl_key_read_num(&c,
							  orders[k], a, &num));
				CHECK(ok == cur_ok(&c));
			}
			CHECK(!cur_ok(&c));
		}
	}
	arena_free(a);
}

static void
hostile_keys_are_refused_without_harm(void)
{
	struct cl_num num = {CL_NUM_FINITE, -1, 3, STR("12345")};
	struct buf b = fresh();

	for (int k = 0; k < 4; k++) {
		cl_key_int(&b, CL_TAG_INT, orders[k], 70000);
		cl_key_bytes(&b, CL_TAG_TEXT, orders[k], STR("a\0b"));
		cl_key_null(&b, orders[k]);
		cl_key_num(&b, CL_TAG_NUMERIC, orders[k], &num);
		cl_key_double(&b, CL_TAG_DOUBLE, orders[k], 1.5);
		cl_key_int128(&b, CL_TAG_INTERVAL, orders[k], -1, 5);
		cl_key_bool(&b, CL_TAG_BOOL, orders[k], true);
	}
	vec_hostile(buf_view(&b), read_anything);
}

CU_MAIN("key", {"null_has_its_vectors", null_has_its_vectors},
    {"bool_has_its_vectors", bool_has_its_vectors},
    {"int_has_its_vectors", int_has_its_vectors},
    {"double_has_its_vectors", double_has_its_vectors},
    {"bytes_have_their_vectors", bytes_have_their_vectors},
    {"int128_has_its_vectors", int128_has_its_vectors},
    {"prefix_has_its_vector", prefix_has_its_vector},
    {"ints_keep_their_order", ints_keep_their_order},
    {"doubles_keep_their_order", doubles_keep_their_order},
    {"bytes_keep_their_order", bytes_keep_their_order},
    {"int128s_keep_their_order", int128s_keep_their_order},
    {"columns_order_one_after_the_other_with_nulls_where_asked",
	columns_order_one_after_the_other_with_nulls_where_asked},
    {"tags_come_back_and_reverse_with_desc",
	tags_come_back_and_reverse_with_desc},
    {"a_null_of_the_other_order_is_malformed",
	a_null_of_the_other_order_is_malformed},
    {"a_value_has_one_encoding", a_value_has_one_encoding},
    {"after_prefix_is_the_least_key_above_all_with_the_prefix",
	after_prefix_is_the_least_key_above_all_with_the_prefix},
    {"hostile_keys_are_refused_without_harm",
	hostile_keys_are_refused_without_harm})
