#include "gateway/worker.h"

#include <stdio.h>

#include "base/metrics.h"
#include "base/stream.h"
#include "cluster/handshake.h"
#include "gateway/sequence.h"
#include "gateway/session.h"

#define WORKER_MAGIC 0x776f726bu
/* A source silent for longer: the worker is not ready. */
#define READY_AGE_US (30u * 1000000u)

void
gw_conf_defaults(struct gw_conf *c)
{
	*c = (struct gw_conf){
	    .statement_timeout_us = 30u * 1000000u,
	    .answer_us = 2u * 1000000u,
	    .row_size_max = 1u << 20,
	    .sessions_max = 1000,
	    .session_memory = 512u << 20,
	    .trust_local = true,
	    .page_bytes = 256u << 10,
	    .insert_batch = 8u << 20,
	    .proposal_bytes = 1u << 20,
	    .read_points = 512,
	    .draws_max = 10000,
	};
	gw_peer_conf_defaults(&c->peer);
}

/* Derived from the cluster key, which it does not give away. */
static void
secret_make(struct gw_worker *w)
{
	static const uint8_t label[CL_NONCE] = "skaidb gateway secret";
	static const uint8_t none[CL_NONCE];
	uint8_t proof[CL_PROOF];

	cl_proof(w->conf->peer.key, 'm', label, none, proof);
	for (int i = 0; i < 16; i++)
		(void)snprintf(w->secret + 2 * i, 3, "%02x", proof[i]);
}

struct gw_worker *
gw_worker_new(
    struct world *w, const struct gw_conf *conf, uint32_t index, uint32_t count)
{
	struct gw_worker *k = NEW(w->arena, struct gw_worker);

	ASSERT(count > 0 && index < count);
	/* A row, its condition and the rest of its proposal fit one frame. */
	ASSERT(
	    conf->row_size_max + conf->proposal_bytes + 4 * (size_t)CL_KEY_MAX <
	    CL_BODY_MAX);
	k->magic = WORKER_MAGIC;
	k->world = w;
	k->conf = conf;
	k->index = index;
	k->count = count;
	list_init(&k->cancels);
	secret_make(k);
	k->peers = gw_peers_new(w, &conf->peer);
	k->leaders = gw_leaders_new(w->arena);
	k->catalog = gw_catalog_start(w, k->peers, k->leaders, conf->seeds);
	k->sequences = gw_sequences_new(k);
	return k;
}

void
gw_worker_stop(struct gw_worker *w)
{
	w->stopping = true;
	gw_sequences_stop(w->sequences);
	gw_catalog_stop(w->catalog);
	gw_peers_close(w->peers);
}

bool
gw_worker_ready(const struct gw_worker *w)
{
	return !w->stopping && gw_catalog_version(w->catalog) > 0 &&
	       gw_catalog_age_us(w->catalog) < READY_AGE_US;
}

/* ---- sessions ---- */

void
gw_worker_serve(struct gw_worker *w, struct stream *s)
{
	w->sessions++;
	metric_move(M_GW_SESSIONS, 1);
	metric_inc(M_GW_SESSIONS_TOTAL);
	gw_session_serve(w, s);
}

void
gw_worker_left(struct gw_worker *w)
{
	ASSERT(w->sessions > 0);
	w->sessions--;
	metric_move(M_GW_SESSIONS, -1);
	if (w->stopping && !w->sessions && w->drained)
		w->drained(w);
}

struct err *
gw_worker_admit(struct gw_worker *w, struct arena *a, uint64_t deadline_us)
{
	if (w->stopping)
		return ERR(a, ERRCODE_CANNOT_CONNECT_NOW,
		    "the database system is shutting down");
	if (w->sessions > w->conf->sessions_max)
		return ERR(a, ERRCODE_TOO_MANY_CONNECTIONS,
		    "sorry, too many clients already");
	if (gw_catalog_wait(w->catalog, 1, deadline_us))
		return NULL;
	return err_detail(ERR(a, ERRCODE_CANNOT_CONNECT_NOW,
			      "the database system is starting up"),
	    "The gateway has not reached a node of its cluster yet.");
}

struct world *
gw_worker_world(const struct gw_worker *w)
{
	return w->world;
}

size_t
gw_worker_session_memory(const struct gw_worker *w)
{
	return w->conf->session_memory;
}

bool
gw_worker_stopping(const struct gw_worker *w)
{
	return w->stopping;
}

struct str
gw_worker_secret(const struct gw_worker *w)
{
	return str_c(w->secret);
}

const struct cl_catalog *
gw_worker_catalog(const struct gw_worker *w)
{
	return gw_catalog_now(w->catalog);
}

bool
gw_worker_trusts(const struct gw_worker *w, const struct stream *s)
{
	return w->conf->trust_local && stream_peer_is_local(s);
}

/* ---- cancel requests ---- */

struct gw_cancel {
	struct list link;
	struct arena *arena;
	struct fiber *fiber;
	uint32_t pid, secret;
	bool busy;
};

static struct gw_cancel *
cancel_find(struct gw_worker *w, uint32_t pid)
{
	LIST_FOREACH(n, &w->cancels)
	{
		struct gw_cancel *c = LIST_ENTRY(n, struct gw_cancel, link);

		if (c->pid == pid)
			return c;
	}
	return NULL;
}

struct gw_cancel *
gw_cancel_add(
    struct gw_worker *w, struct fiber *f, uint32_t *pid, uint32_t *secret)
{
	struct arena *a = arena_new(w->world->arena, "cancel");
	struct gw_cancel *c = NEW(a, struct gw_cancel);

	c->arena = a;
	c->fiber = f;
	/* Positive as an int32, since clients print it; says whose it is. */
	do {
		uint32_t turn = ++w->n_pids % (INT32_MAX / w->count);

		c->pid = turn * w->count + w->index;
	} while (!c->pid || cancel_find(w, c->pid));
	world_random(w->world, &c->secret, sizeof c->secret);
	list_push(&w->cancels, &c->link);
	*pid = c->pid;
	*secret = c->secret;
	return c;
}

void
gw_cancel_remove(struct gw_worker *w, struct gw_cancel *c)
{
	(void)w;
	list_del(&c->link);
	arena_free(c->arena);
}

void
gw_cancel_busy(struct gw_cancel *c, bool busy)
{
	c->busy = busy;
}

void
gw_cancel_here(struct gw_worker *w, uint32_t pid, uint32_t secret)
{
	struct gw_cancel *c = cancel_find(w, pid);

	if (!c || c->secret != secret)
		return;
	metric_inc(M_GW_CANCELS);
	fiber_cancel(c->fiber);
}

void
gw_cancel_request(struct gw_worker *w, uint32_t pid, uint32_t secret)
{
	if (pid % w->count == w->index)
		gw_cancel_here(w, pid, secret);
	else if (w->forward_cancel)
		w->forward_cancel(w, pid, secret);
}

/* ---- stopping ---- */

static void
cancel_some(struct gw_worker *w, bool busy_too)
{
	LIST_FOREACH(n, &w->cancels)
	{
		struct gw_cancel *c = LIST_ENTRY(n, struct gw_cancel, link);

		if (busy_too || !c->busy)
			fiber_cancel(c->fiber);
	}
}

void
gw_worker_drain(struct gw_worker *w)
{
	w->stopping = true;
	cancel_some(w, false);
	if (!w->sessions && w->drained)
		w->drained(w);
}

void
gw_worker_cancel_all(struct gw_worker *w)
{
	cancel_some(w, true);
}
