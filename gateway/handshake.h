/* The two proofs of a node connection: each side shows that it knows the
 * cluster key by an HMAC-SHA-256 over both nonces, the gateway's first. */
#ifndef GATEWAY_HANDSHAKE_H
#define GATEWAY_HANDSHAKE_H

#include "base/str.h"

#define GW_NONCE 32
#define GW_PROOF 32

/* side is 's' for the node that welcomes, 'c' for who said hello. */
void gw_proof(struct str key, char side, struct str hello_nonce,
    struct str welcome_nonce, uint8_t out[GW_PROOF]);
/* In constant time. */
bool gw_proof_equal(const uint8_t mine[GW_PROOF], struct str theirs);

#endif
