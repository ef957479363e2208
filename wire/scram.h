/* SCRAM-SHA-256, the server's side (RFC 5802, 7677), without channel binding.
 *
 * A verifier is what the catalog keeps instead of a password:
 *   SCRAM-SHA-256$<iterations>:<salt>$<StoredKey>:<ServerKey>   (base64)
 * Random bytes are handed in, so that a run can be replayed. */
#ifndef WIRE_SCRAM_H
#define WIRE_SCRAM_H

#include "base/err.h"

#define WIRE_SCRAM_ITERATIONS 4096
#define WIRE_SCRAM_SALT       16
#define WIRE_SCRAM_NONCE      18

/* The verifier of a password; NULL when the crypto library fails. */
char *wire_scram_verifier(
    struct arena *a, struct str password, const uint8_t salt[WIRE_SCRAM_SALT]);
/* Whether the text already is a well-formed verifier. */
bool wire_scram_is_verifier(struct str s);

struct wire_scram;

/* An exchange in `a`. With an empty verifier (no such role, no password) it
 * runs the same course and fails at the end, so that names cannot be probed;
 * the salt is then made from `mock`, which must be secret and constant per
 * cluster and role. */
struct wire_scram *wire_scram_new(struct arena *a, struct str verifier,
    struct str mock, const uint8_t nonce[WIRE_SCRAM_NONCE]);
/* client-first-message in, server-first-message out. 08P01 on malformed
 * ones. */
struct err *wire_scram_first(
    struct wire_scram *s, struct str in, struct str *out);
/* client-final-message in, server-final-message out; *ok says whether the
 * proof was right. */
struct err *wire_scram_final(
    struct wire_scram *s, struct str in, struct str *out, bool *ok);

#endif
