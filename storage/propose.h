/* One proposal, from its frame to its answer (CONSENSUS 3). */
#ifndef STORAGE_PROPOSE_H
#define STORAGE_PROPOSE_H

#include "storage/elect.h"
#include "storage/group.h"

/* In a fiber. `catalog` is the version the sender has seen. An error means that
 * the message itself is wrong, and that nothing was proposed; everything else
 * is in *out (whose rows live in `a`). The message must stay until the
 * return. */
struct err *st_propose(struct st_node *n, struct arena *a,
    const struct cl_propose *m, uint64_t catalog, struct cl_proposed *out);

/* Fills in operation id, send and deadline of a proposal of this node's own. */
void st_propose_own(struct st_node *n, struct arena *a, struct cl_propose *m);

/* Appends an entry that is no proposal (schema, forget, empty) and waits until
 * it is applied. False when the group could not take it now, or lost it. */
bool st_propose_entry(struct st_group *g, const struct st_entry *e);
/* Only appends it: what st_pending_wait waits for, or NULL. */
struct st_pending *st_propose_begin(
    struct st_group *g, const struct st_entry *e);

#endif
