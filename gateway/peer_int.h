/* Links: the inside of peer.c, peer_link.c, and their tests. */
#ifndef GATEWAY_PEER_INT_H
#define GATEWAY_PEER_INT_H

#include "base/list.h"
#include "base/map.h"
#include "cluster/handshake.h"
#include "gateway/peer.h"

/*        +-------------------- backoff over ------------------+
 *        v                                                    |
 *      IDLE -> CONNECTING -> GREETING -> PROVING -> UP -> BACKOFF
 *                                           |        ^
 *                                           +-> PROBING (after a failure)
 *
 * and from every state with a connection to BACKOFF when it breaks.  BACKOFF is
 * the open breaker: requests fail at once. After a failure the link is half
 * open until a PING was answered: requests wait, unsent, so that a node which
 * greets and then says nothing leaves no unknown outcomes behind. */
enum gw_link_state {
	GW_LINK_IDLE,
	GW_LINK_CONNECTING,
	GW_LINK_GREETING,
	GW_LINK_PROVING,
	GW_LINK_PROBING,
	GW_LINK_UP,
	GW_LINK_BACKOFF,
	GW_LINK_STATES
};

#define GW_LINK_MAGIC   0x6c6e6b31u
#define GW_LINK_BUCKETS 64u

struct gw_link {
	uint32_t magic;
	struct gw_peer *peer;
	enum gw_link_state state;
	struct net_conn *conn;
	unsigned failures; /* in a row */
	struct timer timer;
	uint8_t nonce[CL_NONCE];
	uint64_t next_request;
	uint64_t ping_request; /* 0: none outstanding */
	uint64_t heard_us;     /* last frame, or when waiting began */
	uint32_t inflight;
	uint32_t n_waiting;
	struct list sent[GW_LINK_BUCKETS]; /* by request id */
	struct list waiting;
	char why[160];
};

enum gw_lane { GW_LANE_SHORT, GW_LANE_BULK, GW_LANES };

struct gw_peer {
	struct gw_peers *all;
	const char *addr;
	uint32_t expect;      /* member that must answer; 0: anybody */
	uint32_t member;      /* who answered last */
	struct gw_peer *next; /* at the same address: one who lost its disk,
			       * and who came after it */
	struct gw_link links[GW_LANES];
};

struct gw_peers {
	struct world *world;
	struct arena *arena;
	struct arena *in;  /* the frame being read */
	struct arena *out; /* the frame being written */
	struct gw_peer_conf conf;
	struct map *by_addr;
	struct gw_clock clock;
	uint32_t id; /* of this gateway worker, random */
	uint8_t cluster[16];
	bool cluster_known; /* from the first node that proved itself */
	uint64_t catalog;
	void (*on_catalog)(void *arg, uint64_t version);
	void *on_catalog_arg;
};

/* Is this step of the graph above allowed? */
bool gw_link_may(enum gw_link_state from, enum gw_link_state to);
/* Wait before attempt `failures` + 1, jitter in 0..999 thousandths: between
 * half of the full step and the full step. */
uint64_t gw_backoff_us(
    const struct gw_peer_conf *c, unsigned failures, unsigned jitter);

void gw_link_init(struct gw_link *l, struct gw_peer *p);
/* Connects if idle. */
void gw_link_want(struct gw_link *l);
void gw_link_break(struct gw_link *l, const char *why);
void gw_link_close(struct gw_link *l);
/* Sends what waits, as far as the limits allow. */
void gw_link_pump(struct gw_link *l);
/* Watches for silence from now on. */
void gw_link_watch(struct gw_link *l);
void gw_link_send(
    struct gw_link *l, uint16_t kind, uint64_t request, const void *msg);

/* The reply to a sent request arrived. */
void gw_call_answer(struct gw_link *l, const struct cl_frame *f);
/* Ends all requests of a link: sent ones GW_UNKNOWN, waiting ones
 * GW_NOT_SENT. */
void gw_call_end_all(struct gw_link *l, const char *why);

#endif
