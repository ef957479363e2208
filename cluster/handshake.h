/* The proofs of a connection between members: each side shows that it knows the
 * cluster key by an HMAC-SHA-256 over a letter and both nonces, the caller's
 * first.  And the key as text. */
#ifndef CLUSTER_HANDSHAKE_H
#define CLUSTER_HANDSHAKE_H

#include "base/buf.h"
#include "base/err.h"

#define CL_NONCE   32
#define CL_PROOF   32
#define CL_KEY_MIN 32 /* bytes of a cluster key */

/* `side` is 's' for who listens, 'c' for who connects. */
void cl_proof(struct str key, char side, const uint8_t caller_nonce[CL_NONCE],
    const uint8_t listener_nonce[CL_NONCE], uint8_t out[CL_PROOF]);
/* In constant time. */
bool cl_proof_ok(struct str key, char side,
    const uint8_t caller_nonce[CL_NONCE],
    const uint8_t listener_nonce[CL_NONCE], struct str proof);

/* Reads a key: hexadecimal digits, with blanks and line ends between bytes.
 * `path` is where it came from, for the error. */
struct err *cl_cluster_key_parse(
    struct arena *a, const char *path, struct str text, struct str *key);

#endif
