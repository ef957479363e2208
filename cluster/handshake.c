#include "cluster/handshake.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

void
cl_proof(struct str key, char side, const uint8_t caller_nonce[CL_NONCE],
    const uint8_t listener_nonce[CL_NONCE], uint8_t out[CL_PROOF])
{
	uint8_t text[1 + 2 * CL_NONCE];
	unsigned len = 0;

	ASSERT(key.len > 0 && key.len <= 1u << 20);
	text[0] = (uint8_t)side;
	memcpy(text + 1, caller_nonce, CL_NONCE);
	memcpy(text + 1 + CL_NONCE, listener_nonce, CL_NONCE);
	if (!HMAC(EVP_sha256(), key.p, (int)key.len, text, sizeof text, out,
		&len))
		UNREACHABLE();
	ASSERT(len == CL_PROOF);
}

bool
cl_proof_ok(struct str key, char side, const uint8_t caller_nonce[CL_NONCE],
    const uint8_t listener_nonce[CL_NONCE], struct str proof)
{
	uint8_t mine[CL_PROOF];

	if (proof.len != CL_PROOF)
		return false;
	cl_proof(key, side, caller_nonce, listener_nonce, mine);
	return CRYPTO_memcmp(mine, proof.p, CL_PROOF) == 0;
}

/* False: something else than whole bytes in hexadecimal. */
static bool
decode(struct buf *out, struct str text)
{
	while (text.len) {
		int high = str_hex_digit(text.p[0]), low;

		if (strchr(" \t\r\n", text.p[0]) && text.p[0]) {
			text = str_skip(text, 1);
			continue;
		}
		low = text.len > 1 ? str_hex_digit(text.p[1]) : -1;
		if (high < 0 || low < 0)
			return false;
		buf_u8(out, (uint8_t)(high << 4 | low));
		text = str_skip(text, 2);
	}
	return true;
}

struct err *
cl_cluster_key_parse(
    struct arena *a, const char *path, struct str text, struct str *key)
{
	struct buf b;

	*key = STR_NONE;
	buf_init(&b, a);
	if (!decode(&b, text) || b.len < CL_KEY_MIN)
		return ERR(a, ERRCODE_CONFIG_FILE_ERROR,
		    "the cluster key file \"%s\" must have at least %d "
		    "hexadecimal digits and nothing else",
		    path, 2 * CL_KEY_MIN);
	*key = buf_view(&b);
	return NULL;
}
