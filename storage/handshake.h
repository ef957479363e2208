/* The proofs of a node connection: each side shows that it knows the cluster
 * key by an HMAC-SHA-256 over a letter and both nonces, the caller's first. */
#ifndef STORAGE_HANDSHAKE_H
#define STORAGE_HANDSHAKE_H

#include "base/err.h"

#define ST_NONCE 32
#define ST_PROOF 32

/* `side` is 's' for who listens, 'c' for who connects. */
void st_proof(struct str key, char side, const uint8_t *caller_nonce,
    const uint8_t *listener_nonce, uint8_t *out);
/* In constant time. */
bool st_proof_ok(struct str key, char side, const uint8_t *caller_nonce,
    const uint8_t *listener_nonce, struct str proof);

#endif
