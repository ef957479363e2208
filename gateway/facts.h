/* What the nodes say about themselves: for SHOW CLUSTER, skaidb.groups and the
 * status page. */
#ifndef GATEWAY_FACTS_H
#define GATEWAY_FACTS_H

#include "cluster/msg.h"
#include "gateway/stmt.h"
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

/* How long a statement waits for what members say: a second at most, and no
 * longer than it may take. */
uint64_t gw_facts_deadline(const struct gw_stmt *s);

/* The same with what they know of those that follow them. */
struct gw_member_info {
	uint32_t member;
	const struct cl_member_info *info; /* NULL: it does not answer */
};
void gw_facts_infos(struct gw_worker *w, struct arena *a, uint64_t deadline_us,
    struct gw_member_info **out, uint32_t *n);
/* What all of them together say of a member: the farthest behind that a leader
 * knows it to be, and when it was heard of last. */
void gw_facts_seen(const struct gw_member_info *infos, uint32_t n,
    uint32_t member, struct cl_member_seen *out);

/* All groups that somebody leads, by (placement, slot). */
struct gw_group_fact {
	uint32_t leader;
	struct cl_group_info info;
};
struct gw_group_facts {
	struct gw_group_fact *items;
	uint32_t n, cap;
};
void gw_facts_groups(struct gw_worker *w, struct arena *a, uint64_t deadline_us,
    struct gw_group_facts *out);
/* NULL: nobody leads it, or who does was not heard. */
const struct gw_group_fact *gw_facts_group(
    const struct gw_group_facts *facts, uint32_t placement, uint16_t slot);

/* Keeps asking all members, for who must not wait (the status page). */
struct gw_probe;
struct gw_probe *gw_probe_start(struct gw_worker *w);
void gw_probe_stop(struct gw_probe *p);
/* NULL: not asked yet. */
const struct gw_member_fact *gw_probe_member(
    const struct gw_probe *p, uint32_t member);

#endif
