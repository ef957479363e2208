/* Typed values in keys: the order of the bytes is the order of the values, and
 * what a key can give back is equal to what went in. The first bytes pick type
 * and order, the rest are two values in their binary form. */
#include "base/err.h"
#include "expr/type.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int
sign(int x)
{
	return (x > 0) - (x < 0);
}

/* The key of v alone, read back. */
static struct str
key_of(struct arena *a, const struct ex_type *t, enum cl_tag tag,
    struct cl_key_order o, struct val v)
{
	struct buf b;
	struct cur c;
	struct val back;

	buf_init(&b, a);
	ex_key_put(&b, tag, o, v);
	c = cur_of(buf_view(&b));
	ASSERT(ex_key_get(&c, o, a, tag ? 0 : t->oid, &back));
	ASSERT(cur_done(&c));
	ASSERT(!back.null);
	if (!tag)
		ASSERT(t->cmp(v, back) == 0);
	return buf_view(&b);
}

/* The value's row form gives the value back. */
static void
row_form(struct arena *a, const struct ex_type *t, struct val v)
{
	struct buf b;
	struct val back = {.type = t->oid};

	buf_init(&b, a);
	t->row_enc(&b, v);
	ASSERT(t->row_dec(a, buf_view(&b), &back));
	ASSERT(!t->cmp || t->cmp(v, back) == 0);
}

static void
pair(struct arena *a, const struct ex_type *t, uint8_t how, struct str x,
    struct str y)
{
	struct cl_key_order o = {how & 1, how & 2};
	enum cl_tag tag = how & 4 ? t->tag : CL_TAG_NONE;
	struct val vx, vy;
	struct str kx, ky;

	if (ex_recv(a, t->oid, -1, x, &vx) || ex_recv(a, t->oid, -1, y, &vy))
		return;
	row_form(a, t, vx);
	row_form(a, t, vy);
	if (!t->cmp || !t->key_enc)
		return;
	kx = key_of(a, t, tag, o, vx);
	ky = key_of(a, t, tag, o, vy);
	ASSERT(
	    sign(str_cmp(kx, ky)) == sign(t->cmp(vx, vy)) * (o.desc ? -1 : 1));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *a = arena_new(NULL, "fuzz");
	const struct ex_type *t;
	struct str rest;
	size_t n = 0, cut;

	while (ex_type_at(n))
		n++;
	if (size >= 3) {
		t = ex_type_at(data[0] % n);
		if (data[1] & 4) /* an open table keeps what its tag says */
			t = ex_type(ex_type_of_tag(t->tag));
		rest = str_of(data + 3, size - 3);
		cut = rest.len * data[2] / 256;
		if (t && t->recv && t->row_enc)
			pair(a, t, data[1], str_of(rest.p, cut),
			    str_skip(rest, cut));
	}
	arena_free(a);
	return 0;
}
