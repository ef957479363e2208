#include "cluster/token.h"

#include "cluster/key.h"
#include "cluster/t/vec.h"

static void
token_has_its_vectors(void)
{
	struct buf b;

	CHECK(cl_token(STR("")) == 0x2d06800538d394c2);
	buf_init(&b, vec_arena());
	cl_key_int(&b, CL_TAG_NONE, CL_KEY_ASC, 1);
	CHECK(cl_token(buf_view(&b)) == 0xe73556a03e6bfb1a);
	cl_key_bytes(&b, CL_TAG_NONE, CL_KEY_ASC, STR("abc"));
	CHECK(cl_token(buf_view(&b)) == 0x655e909d479fe5ad);
}

static void
a_slot_is_the_tokens_top_bits(void)
{
	CHECK(cl_slot(UINT64_MAX, 1) == 0);
	CHECK(cl_slot(0, 256) == 0);
	CHECK(cl_slot(UINT64_MAX, 256) == 255);
	CHECK(cl_slot(0x0123456789abcdef, 256) == 0x01);
	CHECK(cl_slot(0x0123456789abcdef, 4096) == 0x012);
	CHECK(cl_slot(0x8000000000000000, 2) == 1);
	for (int i = 0; i < 10000; i++) {
		uint64_t t = vec_u64();

		MUST(cl_slot(t, 4096) == t >> 52);
		MUST(cl_slot(t, 256) == t >> 56);
	}
}

static void
keys_spread_evenly_over_slots(void)
{
	unsigned n[256] = {0};

	for (int i = 0; i < 256 * 400; i++) {
		struct buf b;

		buf_init(&b, vec_arena());
		cl_key_int(&b, CL_TAG_NONE, CL_KEY_ASC, i);
		n[cl_slot(cl_token(buf_view(&b)), 256)]++;
	}
	/* 400 each, standard deviation 20 */
	for (int s = 0; s < 256; s++)
		CHECK(n[s] > 300 && n[s] < 500);
}

CU_MAIN("token", {"token_has_its_vectors", token_has_its_vectors},
    {"a_slot_is_the_tokens_top_bits", a_slot_is_the_tokens_top_bits},
    {"keys_spread_evenly_over_slots", keys_spread_evenly_over_slots})
