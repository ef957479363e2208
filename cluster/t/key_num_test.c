#include "cluster/key.h"
#include "cluster/t/vec.h"

static const struct cl_key_order orders[] = {
    {false, false}, {false, true}, {true, false}, {true, true}};

static struct cl_num
num(int sign, int32_t exp, const char *digits)
{
	return (struct cl_num){CL_NUM_FINITE, sign, exp, str_c(digits)};
}

static void
golden(struct cl_num v, const char *asc, const char *desc)
{
	struct buf b;

	buf_init(&b, vec_arena());
	cl_key_num(&b, CL_TAG_NONE, CL_KEY_ASC, &v);
	GOLDEN(&b, asc);
	buf_init(&b, vec_arena());
	cl_key_num(&b, CL_TAG_NONE, CL_KEY_DESC, &v);
	GOLDEN(&b, desc);
}

static void
numeric_has_its_vectors(void)
{
	struct cl_num v = {CL_NUM_NAN, 0, 0, STR_NONE};

	golden(v, "40 60", "5f 9f");
	v.cls = CL_NUM_POS_INF;
	golden(v, "40 50", "5f af");
	v.cls = CL_NUM_NEG_INF;
	golden(v, "40 10", "5f ef");
	golden(num(0, 0, ""), "40 30", "5f cf");
	/* 1 = 0.1 * 10^1: exponent 1, pair 10 */
	golden(num(1, 1, "1"), "40 40 8101 0b 00", "5f bf 7efe f4 ff");
	/* 12.345: pairs 12 34 50 */
	golden(
	    num(1, 2, "12345"), "40 40 8102 0d2333 00", "5f bf 7efd f2dccc ff");
	golden(num(-1, 2, "12345"), "40 20 7efd f2dccc ff",
	    "5f df 8102 0d2333 00");
	/* 0.0099: exponent -2, pair 99 */
	golden(num(1, -2, "99"), "40 40 7efe 64 00", "5f bf 8101 9b ff");
}

/* ---- an independent order: digits laid out around the point ---- */

#define SPAN 40 /* digits left and right of the point */

static void
lay_out(const struct cl_num *v, char *out)
{
	memset(out, '0', 2 * SPAN);
	for (size_t i = 0; i < v->digits.len; i++)
		out[SPAN - v->exp + (int)i] = v->digits.p[i];
}

static int
num_rank(const struct cl_num *v)
{
	switch (v->cls) {
	case CL_NUM_NEG_INF:
		return -2;
	case CL_NUM_POS_INF:
		return 2;
	case CL_NUM_NAN:
		return 3;
	default:
		return v->sign;
	}
}

static int
num_cmp(const struct cl_num *a, const struct cl_num *b)
{
	char x[2 * SPAN], y[2 * SPAN];
	int ra = num_rank(a), rb = num_rank(b), r;

	if (ra != rb)
		return ra < rb ? -1 : 1;
	if (a->cls != CL_NUM_FINITE || !a->sign)
		return 0;
	lay_out(a, x);
	lay_out(b, y);
	r = memcmp(x, y, sizeof x);
	r = (r > 0) - (r < 0);
	return a->sign < 0 ? -r : r;
}

static struct cl_num
random_num(struct arena *a)
{
	struct cl_num v = num(0, 0, "");
	size_t n = 1 + (size_t)vec_below(8);
	char *d = arena_alloc(a, n);

	switch (vec_below(20)) {
	case 0:
		v.cls = CL_NUM_NAN;
		return v;
	case 1:
		v.cls = CL_NUM_POS_INF;
		return v;
	case 2:
		v.cls = CL_NUM_NEG_INF;
		return v;
	case 3:
		return v;
	}
	v.sign = vec_below(2) ? 1 : -1;
	v.exp = (int32_t)vec_below(vec_below(2) ? 5 : 50) - 10;
	if (v.exp > SPAN)
		v.exp = SPAN;
	for (size_t i = 0; i < n; i++)
		d[i] = (char)('0' + vec_below(vec_below(2) ? 2 : 10));
	d[0] = (char)('1' + vec_below(9));
	if (d[n - 1] == '0')
		d[n - 1] = '1';
	v.digits = str_of(d, n);
	return v;
}

static void
numerics_keep_their_order(void)
{
	for (int i = 0; i < 100000; i++) {
		struct cl_key_order o = orders[vec_below(4)];
		struct arena *a = vec_arena();
		struct cl_num u = random_num(a), v = random_num(a), back;
		struct cl_key_head h;
		struct buf x, y;
		struct cur c;
		int r;

		if (vec_below(3) == 0 && u.digits.len && v.digits.len) {
			v.sign = u.sign;
			v.exp = u.exp;
			if (vec_below(2))
				v.digits.p = u.digits.p;
			if (v.digits.len > u.digits.len)
				v.digits.len = u.digits.len;
			while (v.digits.p[v.digits.len - 1] == '0')
				v.digits.len--;
		}
		r = num_cmp(&u, &v);
		buf_init(&x, a);
		buf_init(&y, a);
		cl_key_num(&x, CL_TAG_NONE, o, &u);
		cl_key_num(&y, CL_TAG_NONE, o, &v);
		MUST(str_cmp(buf_view(&x), buf_view(&y)) == (o.desc ? -r : r));
		c = cur_of(buf_view(&x));
		MUST(cl_key_read_head(&c, o, &h) && !h.null);
		MUST(cl_key_read_num(&c, o, a, &back) && cur_done(&c));
		MUST(back.cls == u.cls && back.sign == u.sign);
		MUST(back.exp == u.exp && str_eq(back.digits, u.digits));
	}
}

static void
exponents_of_any_size_survive(void)
{
	static const int32_t exps[] = {
	    INT32_MIN, -131072, -1, 0, 1, 131072, INT32_MAX};

	for (size_t i = 0; i < sizeof exps / sizeof *exps; i++) {
		struct cl_num v = num(-1, exps[i], "7"), back;
		struct arena *a = vec_arena();
		struct cl_key_head h;
		struct buf b;
		struct cur c;

		buf_init(&b, a);
		cl_key_num(&b, CL_TAG_NUMERIC, CL_KEY_DESC, &v);
		c = cur_of(buf_view(&b));
		CHECK(cl_key_read_head(&c, CL_KEY_DESC, &h));
		CHECK(h.tag == CL_TAG_NUMERIC);
		CHECK(cl_key_read_num(&c, CL_KEY_DESC, a, &back));
		CHECK(back.exp == exps[i] && cur_done(&c));
	}
}

static void
a_numeric_has_one_encoding(void)
{
	static const char *const bad[] = {"", "00", "70", "40", "40 81",
	    "40 8101", "40 8101 00", "40 8101 0b", "40 8101 0b 01 00",
	    "40 8101 02 00", "40 8101 65 00", "40 8101 ff 00",
	    "40 84ffffffff 0b 00", "20 8101 0b 00"};
	struct arena *a = vec_arena();
	struct cl_num v;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct cur c = cur_of(vec_unhex(bad[i]));

		CHECK(!cl_key_read_num(&c, CL_KEY_ASC, a, &v));
		CHECK(!cur_ok(&c));
	}
}

CU_MAIN("key_num", {"numeric_has_its_vectors", numeric_has_its_vectors},
    {"numerics_keep_their_order", numerics_keep_their_order},
    {"exponents_of_any_size_survive", exponents_of_any_size_survive},
    {"a_numeric_has_one_encoding", a_numeric_has_one_encoding})
