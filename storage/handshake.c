#include "storage/handshake.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

void
st_proof(struct str key, char side, const uint8_t *caller_nonce,
    const uint8_t *listener_nonce, uint8_t *out)
{
	uint8_t text[1 + 2 * ST_NONCE];
	unsigned len = 0;

	ASSERT(key.len > 0 && key.len <= 1u << 20);
	text[0] = (uint8_t)side;
	memcpy(text + 1, caller_nonce, ST_NONCE);
	memcpy(text + 1 + ST_NONCE, listener_nonce, ST_NONCE);
	if (!HMAC(EVP_sha256(), key.p, (int)key.len, text, sizeof text, out,
		&len))
		UNREACHABLE();
	ASSERT(len == ST_PROOF);
}

bool
st_proof_ok(struct str key, char side, const uint8_t *caller_nonce,
    const uint8_t *listener_nonce, struct str proof)
{
	uint8_t mine[ST_PROOF];

	if (proof.len != ST_PROOF)
		return false;
	st_proof(key, side, caller_nonce, listener_nonce, mine);
	return CRYPTO_memcmp(mine, proof.p, ST_PROOF) == 0;
}
