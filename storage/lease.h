/* Leases: until when a leader may answer reads alone, and until when those who
 * granted that vote for nobody else (CONSENSUS 4, doc/replication.md).  The
 * figures come with heartbeats and stand in struct st_link; what is decided by
 * them is in raft.h.  Without a valid lease a majority confirms the leader. */
#ifndef STORAGE_LEASE_H
#define STORAGE_LEASE_H

#include "storage/link.h"

/* Reads how long a lease was ever granted, so that a restarted node keeps from
 * voting that long; flushed before the first grant. In the start fiber. */
void st_lease_open(struct st_node *n);

/* Until when (monotonic) this node may vote for nobody but the owner of that
 * ballot; 0: it may. */
uint64_t st_lease_given(struct st_node *n, const struct st_ballot *b);
/* This node went from ballot `was` of another member to `now`. */
void st_lease_lost(struct st_group *g, const struct st_ballot *was,
    const struct st_ballot *now);
/* The losses that the sender of a heartbeat has yet to hear of; a list that
 * does not fit grants nothing. */
void st_lease_list_lost(struct st_link *l, struct arena *a,
    const struct cl_beat *m, struct cl_beaten *out);

/* Does the leader's lease on the group hold now? */
bool st_lease_ok(const struct st_group *g);
/* Has a majority confirmed the leader in that round, or a later one? */
bool st_group_confirmed(const struct st_group *g, uint64_t round);
/* In a fiber: after reads, is this member still the leader, by its lease or by
 * a majority that says so? False: not, or not known by the deadline. */
bool st_group_confirm(
    struct st_group *g, const struct st_ballot *b, uint64_t deadline_us);
/* The same for many; all their rounds are under way together. */
bool st_groups_confirm(struct st_group *const *groups,
    const struct st_ballot *ballots, size_t count, uint64_t deadline_us);

#endif
