/* Byte streams between simulated processes: a client's connection to a gateway.
 * The bytes travel in frames of the simulated network, with all its faults, and
 * come out of a stream pair in each process. */
#ifndef REGRESS_SIM_TUNNEL_H
#define REGRESS_SIM_TUNNEL_H

#include "base/stream.h"

/* accept_ev owns the stream. Until the process ends. */
struct err *sim_tunnel_listen(struct world *w, struct arena *a,
    const char *addr, void (*accept_ev)(void *owner, struct stream *s),
    void *owner);
/* Never fails: the stream ends at once when nobody can be reached. The caller
 * closes it. */
struct stream *sim_tunnel_connect(struct world *w, const char *addr);

#endif
