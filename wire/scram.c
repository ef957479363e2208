#include "wire/scram.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>

#include "base/buf.h"

#define KEY SHA256_DIGEST_LENGTH

struct wire_scram {
	struct arena *arena;
	bool doomed; /* no verifier: fails whatever the client proves */
	uint32_t iterations;
	struct str salt64;
	uint8_t stored_key[KEY];
	uint8_t server_key[KEY];
	struct str nonce; /* client's and ours */
	struct str our_nonce;
	struct str first_bare; /* client-first-message-bare */
	struct str server_first;
	struct str gs2; /* client's gs2-header */
};

static struct str
base64(struct arena *a, const void *p, size_t n)
{
	char *out = arena_alloc(a, (n + 2) / 3 * 4 + 1);
	int len = EVP_EncodeBlock((unsigned char *)out, p, (int)n);

	return str_of(out, (size_t)len);
}

/* Exactly `want` bytes, or false. */
static bool
unbase64(struct str s, uint8_t *out, size_t want)
{
	uint8_t tmp[96];
	size_t pad = 0;
	int n;

	if (s.len % 4 || s.len > 128 || !s.len)
		return false;
	while (pad < 2 && s.p[s.len - 1 - pad] == '=')
		pad++;
	n = EVP_DecodeBlock(tmp, (const unsigned char *)s.p, (int)s.len);
	if (n < 0 || (size_t)n - pad != want)
		return false;
	memcpy(out, tmp, want);
	return true;
}

static bool
hmac(const uint8_t *key, struct str data, uint8_t out[KEY])
{
	unsigned len = KEY;

	return HMAC(EVP_sha256(), key, KEY, (const uint8_t *)data.p, data.len,
		   out, &len) != NULL;
}

/* Up to `end`, which is skipped; false when it does not come. */
static bool
take_until(struct str *rest, char end, struct str *out)
{
	const char *at = rest->len ? memchr(rest->p, end, rest->len) : NULL;

	if (!at)
		return false;
	*out = str_of(rest->p, (size_t)(at - rest->p));
	*rest = str_skip(*rest, out->len + 1);
	return true;
}

static bool
derive(struct str password, const uint8_t *salt, size_t n_salt, int iterations,
    uint8_t stored[KEY], uint8_t server[KEY])
{
	uint8_t salted[KEY], client[KEY];
	bool ok =
	    PKCS5_PBKDF2_HMAC(password.p, (int)password.len, salt, (int)n_salt,
		iterations, EVP_sha256(), KEY, salted) == 1 &&
	    hmac(salted, STR("Client Key"), client) &&
	    hmac(salted, STR("Server Key"), server);

	if (ok)
		SHA256(client, KEY, stored);
	OPENSSL_cleanse(salted, KEY);
	OPENSSL_cleanse(client, KEY);
	return ok;
}

char *
wire_scram_verifier(
    struct arena *a, struct str password, const uint8_t salt[WIRE_SCRAM_SALT])
{
	uint8_t stored[KEY], server[KEY];
	struct str salt64, stored64, server64;

	if (password.len > 4096 || !derive(password, salt, WIRE_SCRAM_SALT,
				       WIRE_SCRAM_ITERATIONS, stored, server))
		return NULL;
	salt64 = base64(a, salt, WIRE_SCRAM_SALT);
	stored64 = base64(a, stored, KEY);
	server64 = base64(a, server, KEY);
	return arena_printf(a, "SCRAM-SHA-256$%d:%.*s$%.*s:%.*s",
	    WIRE_SCRAM_ITERATIONS, STR_FMT(salt64), STR_FMT(stored64),
	    STR_FMT(server64));
}

struct verifier {
	uint64_t iterations;
	struct str salt64;
	uint8_t stored[KEY];
	uint8_t server[KEY];
};

static bool
parse_verifier(struct str s, struct verifier *v)
{
	struct str scheme, iterations, stored;

	return take_until(&s, '$', &scheme) &&
	       str_eq(scheme, STR("SCRAM-SHA-256")) &&
	       take_until(&s, ':', &iterations) &&
	       str_u64(iterations, &v->iterations) && v->iterations > 0 &&
	       v->iterations <= 10000000 && take_until(&s, '$', &v->salt64) &&
	       v->salt64.len && take_until(&s, ':', &stored) &&
	       unbase64(stored, v->stored, KEY) && unbase64(s, v->server, KEY);
}

bool
wire_scram_is_verifier(struct str s)
{
	struct verifier v;

	return parse_verifier(s, &v);
}

struct wire_scram *
wire_scram_new(struct arena *a, struct str verifier, struct str mock,
    const uint8_t nonce[WIRE_SCRAM_NONCE])
{
	struct wire_scram *s = NEW(a, struct wire_scram);
	struct verifier v;

	s->arena = a;
	s->our_nonce = base64(a, nonce, WIRE_SCRAM_NONCE);
	if (parse_verifier(verifier, &v)) {
		s->iterations = (uint32_t)v.iterations;
		s->salt64 = arena_str(a, v.salt64);
		memcpy(s->stored_key, v.stored, KEY);
		memcpy(s->server_key, v.server, KEY);
	} else {
		uint8_t salt[KEY];

		SHA256((const uint8_t *)mock.p, mock.len, salt);
		s->doomed = true;
		s->iterations = WIRE_SCRAM_ITERATIONS;
		s->salt64 = base64(a, salt, WIRE_SCRAM_SALT);
	}
	return s;
}

static struct err *
malformed(struct wire_scram *s, const char *detail)
{
	return err_detail(ERR(s->arena, ERRCODE_PROTOCOL_VIOLATION,
			      "malformed SCRAM message"),
	    "%s", detail);
}

/* gs2-header: "n,," or "y,,"; an authorization identity is not used. */
static struct err *
read_gs2(struct wire_scram *s, struct str in, struct str *bare)
{
	struct str rest = in, flag, authzid;

	if (!take_until(&rest, ',', &flag) || !take_until(&rest, ',', &authzid))
		return malformed(s, "The message has no GS2 header.");
	if (str_has_prefix(flag, STR("p=")))
		return malformed(s,
		    "The client selected SCRAM-SHA-256 without channel "
		    "binding, but the SCRAM message includes channel binding "
		    "data.");
	if (!str_eq(flag, STR("n")) && !str_eq(flag, STR("y")))
		return malformed(s, "Unexpected channel-binding flag.");
	if (authzid.len)
		return ERR(s->arena, ERRCODE_FEATURE_NOT_SUPPORTED,
		    "client uses authorization identity, but it is not "
		    "supported");
	s->gs2 = arena_str(s->arena, str_of(in.p, in.len - rest.len));
	*bare = rest;
	return NULL;
}

struct err *
wire_scram_first(struct wire_scram *s, struct str in, struct str *out)
{
	struct str bare, rest, name, nonce;

	*out = STR_NONE;
	TRY(read_gs2(s, in, &bare));
	s->first_bare = arena_str(s->arena, bare);
	rest = bare;
	if (str_has_prefix(rest, STR("m=")))
		return ERR(s->arena, ERRCODE_FEATURE_NOT_SUPPORTED,
		    "client requires an unsupported SCRAM extension");
	/* The name is that of the startup packet: this one is ignored, as
	 * PostgreSQL does. */
	if (!take_until(&rest, ',', &name) ||
	    !str_has_prefix(name, STR("n=")) ||
	    !str_has_prefix(rest, STR("r=")))
		return malformed(s, "Attribute expected: user name or nonce.");
	nonce = str_skip(rest, 2);
	if (memchr(nonce.p, ',', nonce.len))
		nonce.len =
		    (size_t)((const char *)memchr(nonce.p, ',', nonce.len) -
			     nonce.p);
	if (!nonce.len)
		return malformed(s, "The nonce is empty.");
	s->nonce = str_c(arena_printf(
	    s->arena, "%.*s%.*s", STR_FMT(nonce), STR_FMT(s->our_nonce)));
	s->server_first = str_c(arena_printf(s->arena, "r=%.*s,s=%.*s,i=%u",
	    STR_FMT(s->nonce), STR_FMT(s->salt64), s->iterations));
	*out = s->server_first;
	return NULL;
}

/* The proof holds when H(ClientKey) is StoredKey, ClientKey being the proof
 * xored with ClientSignature. */
static bool
verify(const struct wire_scram *s, struct str auth, const uint8_t proof[KEY])
{
	uint8_t sig[KEY], client[KEY], hash[KEY];

	if (!hmac(s->stored_key, auth, sig))
		return false;
	for (size_t i = 0; i < KEY; i++)
		client[i] = proof[i] ^ sig[i];
	SHA256(client, KEY, hash);
	OPENSSL_cleanse(client, KEY);
	return CRYPTO_memcmp(hash, s->stored_key, KEY) == 0;
}

struct err *
wire_scram_final(struct wire_scram *s, struct str in, struct str *out, bool *ok)
{
	struct str rest = in, binding, nonce, auth, without = in;
	struct str expected = base64(s->arena, s->gs2.p, s->gs2.len);
	uint8_t proof[KEY], sig[KEY];

	*out = STR_NONE;
	*ok = false;
	ASSERT(s->server_first.len);
	if (!take_until(&rest, ',', &binding) ||
	    !str_has_prefix(binding, STR("c=")) ||
	    !take_until(&rest, ',', &nonce) ||
	    !str_has_prefix(nonce, STR("r=")))
		return malformed(s, "Attribute expected: channel binding.");
	if (!str_eq(str_skip(binding, 2), expected))
		return malformed(s, "Unexpected channel-binding attribute.");
	if (!str_eq(str_skip(nonce, 2), s->nonce))
		return malformed(s, "The nonce does not match.");
	/* Extensions may stand before the proof, which is last. */
	while (!str_has_prefix(rest, STR("p="))) {
		struct str skipped;

		if (!take_until(&rest, ',', &skipped))
			return malformed(s, "The proof is missing.");
	}
	without.len = (size_t)(rest.p - in.p) - 1;
	if (!unbase64(str_skip(rest, 2), proof, KEY))
		return malformed(s, "The proof is malformed.");
	auth = str_c(
	    arena_printf(s->arena, "%.*s,%.*s,%.*s", STR_FMT(s->first_bare),
		STR_FMT(s->server_first), STR_FMT(without)));
	*ok = verify(s, auth, proof) && !s->doomed;
	if (*ok && hmac(s->server_key, auth, sig)) {
		struct str sig64 = base64(s->arena, sig, KEY);

		*out = str_c(arena_printf(s->arena, "v=%.*s", STR_FMT(sig64)));
	}
	return NULL;
}
