/* Frame connections between nodes and gateways.
 *
 * A frame is a byte string whose first four bytes are its whole length, little
 * endian; the transport checks only that (NET_FRAME_MIN .. NET_FRAME_MAX) and
 * hands frames over whole.  A send is delivered at most once and in order on
 * its connection; nothing is replayed.  Addresses: "host:port", "[v6]:port",
 * or "unix:/path". */
#ifndef BASE_NET_H
#define BASE_NET_H

#include "base/world.h"

#define NET_FRAME_MIN 16u
#define NET_FRAME_MAX (4u << 20)

/* A sender that sees net_backlog above this waits for `drained`. */
#define NET_BACKLOG_HIGH (4u << 20)

struct net_events {
	void (*opened)(void *owner);                  /* connect only */
	void (*frame)(void *owner, struct str frame); /* valid in the call */
	/* Once, also for a failed connect; not after net_close. The handle is
	 * dead after the call returns. */
	void (*closed)(void *owner, const char *why);
	/* The backlog went below half of the high mark after net_backlog had
	 * been above it. May be NULL. */
	void (*drained)(void *owner);
};

/* `a` only for the error. */
struct err *net_connect(struct world *w, struct arena *a, const char *addr,
    const struct net_events *ev, void *owner, struct net_conn **out);
struct err *net_listen(struct world *w, struct arena *a, const char *addr,
    void (*accept_ev)(void *owner, struct net_conn *c), void *owner,
    struct net_listener **out);
void net_unlisten(struct world *w, struct net_listener *l);
/* Called inside accept_ev: who handles the new connection. */
void net_adopt(struct world *w, struct net_conn *c, const struct net_events *ev,
    void *owner);
/* Copies the frame. */
void net_send(struct world *w, struct net_conn *c, struct str frame);
/* Bytes not yet given to the system. */
size_t net_backlog(struct world *w, const struct net_conn *c);
/* Stops and resumes reading (back-pressure). */
void net_pause(struct world *w, struct net_conn *c, bool paused);
void net_close(struct world *w, struct net_conn *c);
const char *net_peer(struct world *w, const struct net_conn *c);

#endif
