#include "gateway/handshake.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/err.h"

void
gw_proof(struct str key, char side, struct str hello_nonce,
    struct str welcome_nonce, uint8_t out[GW_PROOF])
{
	uint8_t text[1 + 2 * GW_NONCE];
	unsigned n = 0;

	ASSERT(hello_nonce.len == GW_NONCE);
	ASSERT(welcome_nonce.len == GW_NONCE);
	text[0] = (uint8_t)side;
	memcpy(text + 1, hello_nonce.p, GW_NONCE);
	memcpy(text + 1 + GW_NONCE, welcome_nonce.p, GW_NONCE);
	ASSERT(HMAC(EVP_sha256(), key.len ? key.p : "", (int)key.len, text,
	    sizeof text, out, &n));
	ASSERT(n == GW_PROOF);
}

bool
gw_proof_equal(const uint8_t mine[GW_PROOF], struct str theirs)
{
	return theirs.len == GW_PROOF &&
	       CRYPTO_memcmp(mine, theirs.p, GW_PROOF) == 0;
}
