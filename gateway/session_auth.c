/* From the first packet of a connection to its first ReadyForQuery. */
#include "gateway/session_int.h"
#include "wire/scram.h"

/* A client that connects and says nothing holds a session no longer. */
#define STARTUP_TIMEOUT_US (60 * UINT64_C(1000000))
/* How long a client waits for a gateway that has just started. */
#define CATALOG_WAIT_US (10 * UINT64_C(1000000))
/* How long the catalog's leader is waited for. */
#define NEWS_US (UINT64_C(1000000))
/* SSLRequest and GSSENCRequest, each answered once. */
#define REQUESTS_MAX 4

static void
fatal(struct gw_session *s, struct err *e)
{
	e->severity = ERR_FATAL;
	gw_session_error(s, e);
	gw_session_flush(s);
}

/* Skips encryption requests (answered N) until a real packet comes. */
static bool
first_packet(struct gw_session *s, uint64_t deadline, struct wire_startup *p)
{
	for (int i = 0; i < REQUESTS_MAX; i++) {
		struct str body;
		struct err *e;

		if (gw_session_read_packet(s, deadline, &body, &e) !=
		    GW_READ_OK)
			return false;
		if (!e)
			e = wire_startup_read(s->msg_arena, body, p);
		if (e) {
			fatal(s, e);
			return false;
		}
		if (p->protocol != WIRE_SSL_REQUEST &&
		    p->protocol != WIRE_GSSENC_REQUEST)
			return true;
		/* What follows the request unasked could have been put there by
		 * somebody in between: nothing may be buffered. */
		if (stream_buffered(s->stream)) {
			fatal(s, ERR(s->msg_arena, ERRCODE_PROTOCOL_VIOLATION,
				     "received unencrypted data after an "
				     "encryption request"));
			return false;
		}
		buf_u8(&s->out, 'N');
		gw_session_flush(s);
	}
	return false;
}

static bool
read_password(struct gw_session *s, uint64_t deadline, struct str *body)
{
	uint8_t type;
	struct err *e;

	gw_session_flush(s);
	if (gw_session_read(s, deadline, &type, body, &e) != GW_READ_OK)
		return false;
	if (!e && type == WIRE_PASSWORD)
		return true;
	if (!e)
		e = ERR(s->msg_arena, ERRCODE_PROTOCOL_VIOLATION,
		    "expected password response, got message type %u", type);
	fatal(s, e);
	return false;
}

static struct err *
wrong_password(struct gw_session *s)
{
	return ERR(s->msg_arena, ERRCODE_INVALID_PASSWORD,
	    "password authentication failed for user \"%.*s\"",
	    STR_FMT(s->user));
}

static bool
scram(struct gw_session *s, uint64_t deadline, const struct cl_role *role)
{
	struct arena *a = arena_new(s->arena, "scram");
	struct wire_scram *x;
	struct str body, mechanism, data, reply;
	uint8_t nonce[WIRE_SCRAM_NONCE];
	struct buf mock;
	struct err *e = NULL;
	bool ok = false;

	world_random(s->world, nonce, sizeof nonce);
	buf_init(&mock, a);
	buf_str(&mock, gw_worker_secret(s->w));
	buf_str(&mock, s->user);
	x = wire_scram_new(
	    a, role ? role->verifier : STR_NONE, buf_view(&mock), nonce);
	wire_auth_sasl(&s->out);
	if (!read_password(s, deadline, &body))
		goto out;
	TRY_TO(fail, e, wire_sasl_first_read(a, body, &mechanism, &data));
	if (!str_eq(mechanism, STR("SCRAM-SHA-256"))) {
		e = ERR(a, ERRCODE_PROTOCOL_VIOLATION,
		    "client selected an invalid SASL authentication "
		    "mechanism");
		goto fail;
	}
	TRY_TO(fail, e, wire_scram_first(x, data, &reply));
	wire_auth_sasl_continue(&s->out, reply);
	if (!read_password(s, deadline, &body))
		goto out;
	TRY_TO(fail, e, wire_scram_final(x, body, &reply, &ok));
	if (ok)
		wire_auth_sasl_final(&s->out, reply);
	else
		e = wrong_password(s);
fail:
	if (e) {
		ok = false;
		fatal(s, e);
	}
out:
	arena_free(a);
	return ok;
}

/* Whether this client may be this role: trusted on loopback, by password
 * elsewhere. */
static bool
authenticate(struct gw_session *s, uint64_t deadline)
{
	const struct cl_catalog *c = gw_worker_catalog(s->w);
	const struct cl_object *o = cl_find_name(c, CL_ROLE, 0, s->user);
	const struct cl_role *role = o ? &o->u.role : NULL;
	struct cl_role copy = {0};

	if (role) {
		copy = *role;
		copy.verifier = arena_str(s->arena, role->verifier);
	}
	if (!gw_worker_trusts(s->w, s->stream) &&
	    !scram(s, deadline, role ? &copy : NULL))
		return false;
	if (!role) {
		fatal(s,
		    ERR(s->arena, ERRCODE_INVALID_AUTHORIZATION_SPECIFICATION,
			"role \"%.*s\" does not exist", STR_FMT(s->user)));
		return false;
	}
	if (!copy.login) {
		fatal(s,
		    ERR(s->arena, ERRCODE_INVALID_AUTHORIZATION_SPECIFICATION,
			"role \"%.*s\" is not permitted to log in",
			STR_FMT(s->user)));
		return false;
	}
	s->role = copy.id;
	s->superuser = copy.superuser;
	return true;
}

/* A role or database that another gateway has just made: see
 * gw_session_missing. Who may log in is decided by what is known then. */
static void
ask_for_news(struct gw_session *s)
{
	const struct cl_catalog *c = gw_worker_catalog(s->w);

	if (!cl_find_name(c, CL_ROLE, 0, s->user) ||
	    !cl_find_name(c, CL_DATABASE, 0, s->database_name))
		(void)gw_catalog_confirm(
		    s->w->catalog, world_mono_us(s->world) + NEWS_US);
}

static bool
choose_database(struct gw_session *s)
{
	const struct cl_object *o = cl_find_name(
	    gw_worker_catalog(s->w), CL_DATABASE, 0, s->database_name);

	if (o) {
		s->database = o->id;
		return true;
	}
	fatal(s,
	    ERR(s->arena, ERRCODE_INVALID_CATALOG_NAME,
		"database \"%.*s\" does not exist", STR_FMT(s->database_name)));
	return false;
}

static struct err *
apply_settings(struct gw_session *s, const struct wire_param_pair *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct arena *a = s->arena;

		if (str_eq(p[i].name, STR("options"))) {
			struct wire_param_pair *inner;
			size_t k;

			TRY(wire_options_read(a, p[i].value, &inner, &k));
			for (size_t j = 0; j < k; j++)
				TRY(gw_setting_set(s->settings, a,
				    arena_cstr(a, inner[j].name),
				    arena_cstr(a, inner[j].value),
				    GW_SET_DEFAULT));
		} else if (!str_eq(p[i].name, STR("replication"))) {
			TRY(gw_setting_set(s->settings, a,
			    arena_cstr(a, p[i].name), arena_cstr(a, p[i].value),
			    GW_SET_DEFAULT));
		} else {
			return ERR(a, ERRCODE_FEATURE_NOT_SUPPORTED,
			    "replication connections are not supported");
		}
	}
	return NULL;
}

/* The message arena is reset by each read: what is needed later is copied. */
static void
keep(struct gw_session *s, struct wire_startup *p)
{
	struct arena *a = s->arena;

	s->user = arena_str(a, p->user);
	s->database_name = arena_str(a, p->database);
	p->params =
	    arena_dup(a, p->params, (p->n_params + 1) * sizeof *p->params);
	for (size_t i = 0; i < p->n_params; i++) {
		p->params[i].name = arena_str(a, p->params[i].name);
		p->params[i].value = arena_str(a, p->params[i].value);
	}
}

static bool
utf8_packet(struct gw_session *s, const struct wire_startup *p)
{
	if (str_utf8(p->user, NULL) && str_utf8(p->database, NULL))
		return true;
	fatal(s, ERR(s->arena, ERRCODE_CHARACTER_NOT_IN_REPERTOIRE,
		     "invalid byte sequence for encoding \"UTF8\" in startup "
		     "packet"));
	return false;
}

/* Catalog known, room for one more, not stopping. */
static bool
admit(struct gw_session *s, uint64_t deadline)
{
	struct err *e = gw_worker_admit(s->w, s->arena, deadline);

	if (e)
		fatal(s, e);
	return !e;
}

bool
gw_session_startup(struct gw_session *s)
{
	uint64_t deadline = world_mono_us(s->world) + STARTUP_TIMEOUT_US;
	struct wire_startup p;
	struct err *e;

	if (!first_packet(s, deadline, &p))
		return false;
	if (p.protocol == WIRE_CANCEL_REQUEST) {
		gw_cancel_request(s->w, p.cancel_pid, p.cancel_secret);
		return false;
	}
	if (!utf8_packet(s, &p))
		return false;
	keep(s, &p);
	if (p.protocol != WIRE_PROTOCOL_3 || p.n_unknown)
		wire_negotiate(&s->out, 0, p.unknown, p.n_unknown);
	if (!admit(s, world_mono_us(s->world) + CATALOG_WAIT_US))
		return false;
	ask_for_news(s);
	if (!authenticate(s, deadline) || !choose_database(s))
		return false;
	s->settings = gw_settings_new(
	    s->arena, &(struct gw_settings_facts){s->user, s->superuser});
	e = apply_settings(s, p.params, p.n_params);
	if (e) {
		fatal(s, e);
		return false;
	}
	s->cancel = gw_cancel_add(s->w, s->fiber, &s->pid, &s->secret);
	wire_auth_ok(&s->out);
	gw_session_report(s);
	wire_backend_key(&s->out, s->pid, s->secret);
	gw_session_ready(s);
	return !s->broken;
}
