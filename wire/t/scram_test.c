#include "wire/scram.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>

#include "regress/lib/cu.h"

static const uint8_t salt[WIRE_SCRAM_SALT] = "0123456789abcdef";
static const uint8_t nonce[WIRE_SCRAM_NONCE] = "server nonce 18 b";

/* What a client sends last for this password, computed by the client's own
 * side of RFC 5802. */
static struct str
client_final(struct arena *a, const char *password, struct str server_first,
    const char *first_bare)
{
	uint8_t salted[32], key[32], stored[32], sig[32];
	const char *comma = memchr(server_first.p, ',', server_first.len);
	struct str r = str_of(server_first.p, (size_t)(comma - server_first.p));
	char *without = arena_printf(a, "c=biws,%.*s", STR_FMT(r));
	char *auth = arena_printf(
	    a, "%s,%.*s,%s", first_bare, STR_FMT(server_first), without);
	char proof[64];
	unsigned len = 32;

	PKCS5_PBKDF2_HMAC(password, (int)strlen(password), salt, sizeof salt,
	    WIRE_SCRAM_ITERATIONS, EVP_sha256(), 32, salted);
	HMAC(EVP_sha256(), salted, 32, (const uint8_t *)"Client Key", 10, key,
	    &len);
	SHA256(key, 32, stored);
	HMAC(EVP_sha256(), stored, 32, (const uint8_t *)auth, strlen(auth), sig,
	    &len);
	for (int i = 0; i < 32; i++)
		key[i] ^= sig[i];
	EVP_EncodeBlock((unsigned char *)proof, key, 32);
	return str_c(arena_printf(a, "%s,p=%s", without, proof));
}

static bool
exchange(struct arena *a, struct str verifier, const char *password,
    struct str *last)
{
	struct wire_scram *s =
	    wire_scram_new(a, verifier, STR("secret ann"), nonce);
	struct str first;
	bool ok = false;

	MUST(wire_scram_first(s, STR("n,,n=,r=clientnonce"), &first) == NULL);
	MUST(wire_scram_final(s,
		 client_final(a, password, first, "n=,r=clientnonce"), last,
		 &ok) == NULL);
	return ok;
}

static void
only_the_right_password_gets_in(void)
{
	struct arena *a = arena_new(NULL, "test");
	struct str v = str_c(wire_scram_verifier(a, STR("pencil"), salt));
	struct str last;

	CHECK(wire_scram_is_verifier(v));
	CHECK(exchange(a, v, "pencil", &last));
	CHECK(str_has_prefix(last, STR("v=")));
	CHECK(!exchange(a, v, "pencils", &last));
	CHECK(last.len == 0);
	arena_free(a);
}

static void
an_unknown_role_runs_the_same_course_and_fails(void)
{
	struct arena *a = arena_new(NULL, "test");
	struct wire_scram *x =
	    wire_scram_new(a, STR(""), STR("secret ann"), nonce);
	struct wire_scram *y =
	    wire_scram_new(a, STR(""), STR("secret ann"), nonce);
	struct str fx, fy, last;

	CHECK(wire_scram_first(x, STR("n,,n=,r=q"), &fx) == NULL);
	CHECK(wire_scram_first(y, STR("n,,n=,r=q"), &fy) == NULL);
	/* The salt is stable, so probing twice tells nothing. */
	CHECK(str_eq(fx, fy));
	CHECK(!exchange(a, STR(""), "", &last));
	arena_free(a);
}

static void
malformed_messages_are_protocol_violations(void)
{
	static const char *const bad[] = {"", "n", "n,", "n,,",
	    "n,,n=", "n,,n=,", "n,,n=,r=", "p=tls,,n=,r=x", "z,,n=,r=x",
	    "n,,x=,r=y"};
	struct arena *a = arena_new(NULL, "test");

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct wire_scram *s =
		    wire_scram_new(a, STR(""), STR("m"), nonce);
		struct str out;

		CHECK(err_is(wire_scram_first(s, str_c(bad[i]), &out),
		    ERRCODE_PROTOCOL_VIOLATION));
	}
	arena_free(a);
}

static void
every_cut_of_the_last_message_is_refused(void)
{
	struct arena *a = arena_new(NULL, "test");
	struct str v = str_c(wire_scram_verifier(a, STR("pencil"), salt));
	struct wire_scram *s = wire_scram_new(a, v, STR("m"), nonce);
	struct str first, whole, out;
	bool ok;

	MUST(wire_scram_first(s, STR("n,,n=,r=cn"), &first) == NULL);
	whole = client_final(a, "pencil", first, "n=,r=cn");
	for (size_t n = 0; n < whole.len; n++) {
		char *p = arena_dup(a, whole.p, n ? n : 1);

		CHECK(wire_scram_final(s, str_of(p, n), &out, &ok) || !ok);
	}
	arena_free(a);
}

CU_MAIN("wire/scram",
    {"only_the_right_password_gets_in", only_the_right_password_gets_in},
    {"an_unknown_role_runs_the_same_course_and_fails",
	an_unknown_role_runs_the_same_course_and_fails},
    {"malformed_messages_are_protocol_violations",
	malformed_messages_are_protocol_violations},
    {"every_cut_of_the_last_message_is_refused",
	every_cut_of_the_last_message_is_refused})
