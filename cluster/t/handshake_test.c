#include "cluster/handshake.h"

#include "cluster/t/vec.h"

static void
a_proof_fits_one_side_one_key_and_two_nonces(void)
{
	uint8_t a[CL_NONCE] = {1}, b[CL_NONCE] = {2}, proof[CL_PROOF];
	struct str key = STR("0123456789abcdef0123456789abcdef");

	cl_proof(key, 's', a, b, proof);
	CHECK(cl_proof_ok(key, 's', a, b, str_of(proof, CL_PROOF)));
	CHECK(!cl_proof_ok(key, 'c', a, b, str_of(proof, CL_PROOF)));
	CHECK(!cl_proof_ok(key, 's', b, a, str_of(proof, CL_PROOF)));
	CHECK(!cl_proof_ok(STR("another key of the right length."), 's', a, b,
	    str_of(proof, CL_PROOF)));
	CHECK(!cl_proof_ok(key, 's', a, b, str_of(proof, CL_PROOF - 1)));
	proof[31] ^= 1;
	CHECK(!cl_proof_ok(key, 's', a, b, str_of(proof, CL_PROOF)));
}

static void
a_proof_is_what_it_was(void)
{
	uint8_t a[CL_NONCE] = {1}, b[CL_NONCE] = {2}, proof[CL_PROOF];

	(void)vec_arena();
	cl_proof(STR("0123456789abcdef0123456789abcdef"), 'c', a, b, proof);
	CHECK_STR(vec_hex(str_of(proof, CL_PROOF)),
	    "69970d28deba2dd952ff0e4368a73c76"
	    "aca7193e9ed73ed827639146bf59788c");
}

static struct err *
parse(const char *text, struct str *key)
{
	return cl_cluster_key_parse(vec_arena(), "f", str_c(text), key);
}

static void
a_key_is_hexadecimal_and_long_enough(void)
{
	static const char digits[] = "00112233445566778899AABBCCDDEEFF"
				     "00112233445566778899aabbccddeeff";
	struct str key;

	CHECK(!parse(digits, &key));
	CHECK(key.len == CL_KEY_MIN && (uint8_t)key.p[10] == 0xaa);
	CHECK(!parse("00112233445566778899aabbccddeeff\r\n"
		     " 0011223344556677 8899aabbccddeeff\n",
	    &key));
	CHECK(key.len == CL_KEY_MIN);
	for (size_t n = 0; n < sizeof digits - 1; n++)
		CHECK(cl_cluster_key_parse(
			  vec_arena(), "f", str_of(digits, n), &key) &&
		      !key.len);
	CHECK(parse("g0112233445566778899aabbccddeeff"
		    "00112233445566778899aabbccddeeff",
		  &key) != NULL);
	CHECK(cl_cluster_key_parse(vec_arena(), "f",
		  str_of(digits, sizeof digits), &key) != NULL);
}

CU_MAIN("handshake",
    {"a_proof_fits_one_side_one_key_and_two_nonces",
	a_proof_fits_one_side_one_key_and_two_nonces},
    {"a_proof_is_what_it_was", a_proof_is_what_it_was},
    {"a_key_is_hexadecimal_and_long_enough",
	a_key_is_hexadecimal_and_long_enough})
