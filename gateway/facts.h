/* What the nodes say about themselves: for SHOW CLUSTER and the status page. */
#ifndef GATEWAY_FACTS_H
#define GATEWAY_FACTS_H

#include "cluster/msg.h"
#include "gateway/worker.h"

struct gw_member_fact {
	uint32_t member;
	bool up;         /* answered in time */
	const char *why; /* if not */
	struct str json; /* its own status (STATUS); empty if not up */
};
/* Asks all members of the catalog, side by side, in a fiber; *out in order of
 * ids. Who does not answer by then is not up. */
void gw_facts_members(struct gw_worker *w, struct arena *a,
    uint64_t deadline_us, struct gw_member_fact **out, uint32_t *n);

/* Keeps asking all members, for who must not wait (the status page). */
struct gw_probe;
struct gw_probe *gw_probe_start(struct gw_worker *w);
void gw_probe_stop(struct gw_probe *p);
/* NULL: not asked yet. */
const struct gw_member_fact *gw_probe_member(
    const struct gw_probe *p, uint32_t member);

#endif
