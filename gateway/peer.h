/* Connections from one worker to the nodes: two links per node (short requests
 * and bulk), each with its handshake, request ids, pipelining, limit of
 * requests in flight, and a circuit breaker for a node that accepts but does
 * not answer.
 *
 * A request is delivered at most once: when its link breaks it ends as
 * GW_UNKNOWN and is never replayed here.  Whether to send it again is decided
 * by who knows what it means (propose.h, source.c). */
#ifndef GATEWAY_PEER_H
#define GATEWAY_PEER_H

#include "base/fiber.h"
#include "cluster/catalog.h"
#include "cluster/msg.h"
#include "gateway/clock.h"

enum gw_result {
	GW_OK,       /* answered: reply_kind, reply */
	GW_NOT_SENT, /* surely not delivered: why */
	GW_UNKNOWN,  /* sent, no answer: may have been carried out */
	GW_FAILED    /* answered by FAIL: failure */
};

struct gw_peer_conf {
	struct str key;      /* the cluster key */
	uint64_t greet_us;   /* connect and handshake, each */
	uint64_t ping_us;    /* silence, with requests waiting, before PING */
	uint64_t silence_us; /* silence that breaks the link */
	uint64_t backoff_min_us;
	uint64_t backoff_max_us;
	uint32_t inflight_max; /* requests sent and unanswered, per link */
	uint32_t waiting_max;  /* requests waiting for that, per link */
	size_t backlog_max;    /* unsent bytes above which requests wait */
};
void gw_peer_conf_defaults(struct gw_peer_conf *c);

struct gw_peer;
struct gw_peers;

/* The peers of one worker, in the world's arena. */
struct gw_peers *gw_peers_new(struct world *w, const struct gw_peer_conf *conf);
/* Closes all links; requests end, peers stay. */
void gw_peers_close(struct gw_peers *ps);
/* The peer at an address, made if new; it connects when first used. `member`
 * is who must answer there (0: anybody, a seed address). */
struct gw_peer *gw_peers_at(
    struct gw_peers *ps, struct str addr, uint32_t member);
/* The peer of a member of the catalog; NULL when it has no such member. */
struct gw_peer *gw_peers_member(
    struct gw_peers *ps, const struct cl_catalog *c, uint32_t member);

struct gw_clock *gw_peers_clock(struct gw_peers *ps);
/* Catalog version to state on frames. */
void gw_peers_set_catalog(struct gw_peers *ps, uint64_t version);
/* Called, on the loop, with the catalog version of each frame that arrives. */
void gw_peers_on_catalog(
    struct gw_peers *ps, void (*fn)(void *arg, uint64_t version), void *arg);

const char *gw_peer_addr(const struct gw_peer *p);
uint32_t gw_peer_member(const struct gw_peer *p); /* 0: never greeted */
/* "up", "connecting", "backoff" or "idle": the link for short requests. */
const char *gw_peer_state(const struct gw_peer *p);
/* Why it is not up, or NULL. */
const char *gw_peer_why(const struct gw_peer *p);
/* The link for requests of this kind failed and is not up again: who can ask
 * another node does. Sees to it that a new connection is tried. */
bool gw_peer_lost(struct gw_peer *p, uint16_t kind);

/* One request. The caller zeroes it, sets arena and wake, and keeps it, and
 * the message, in place until it is done or abandoned. */
enum gw_call_state { GW_CALL_NEW, GW_CALL_WAITING, GW_CALL_SENT, GW_CALL_DONE };
struct gw_call {
	struct arena *arena; /* where the reply goes */
	struct cond *wake;   /* broadcast when done; may be shared */

	/* Set by the peer. */
	enum gw_call_state state;
	enum gw_result result;
	uint16_t reply_kind;
	void *reply;
	const struct cl_fail *failure;
	const char *why;
	struct list link;
	struct gw_link *on;
	uint64_t request;
	uint16_t kind;
	const void *msg;
};

/* Starts a request. It may be done on return (GW_NOT_SENT while the peer backs
 * off). */
void gw_call_begin(
    struct gw_peer *p, struct gw_call *c, uint16_t kind, const void *msg);
/* Waits for it; at the deadline, or when the fiber is cancelled, abandons
 * it. */
enum gw_result gw_call_wait(struct gw_call *c, uint64_t deadline_us);
/* Forgets it: done, as GW_NOT_SENT or GW_UNKNOWN; a late reply is dropped.
 * Nothing happens to a call that is new or done. */
void gw_call_abandon(struct gw_call *c, const char *why);

struct gw_call_opts {
	uint16_t kind;
	const void *msg;
	uint16_t expect; /* kind of the reply */
	uint64_t deadline_us;
	struct arena *arena;
};
/* Begin and wait. On GW_OK *reply is the decoded message; otherwise *why says
 * what happened, in words that fit a DETAIL. */
enum gw_result gw_call(struct gw_peer *p, const struct gw_call_opts *o,
    void **reply, const char **why);

#endif
