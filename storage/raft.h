/* What is decided in a group, as pure functions of values: votes, matching of
 * logs, commits, leases (CONSENSUS 1 and 4; Ongaro, "Consensus: Bridging Theory
 * and Practice", 2014).  No state, no clock, no waiting. */
#ifndef STORAGE_RAFT_H
#define STORAGE_RAFT_H

#include "cluster/token.h"
#include "storage/ids.h"

/* A place in a log: its newest entry. */
struct st_place {
	struct st_ballot ballot;
	uint64_t index;
};

/* Is the log that ends at `a` at least as up to date as the one that ends at
 * `b` (Raft 5.4.1)? */
bool st_log_covers(struct st_place a, struct st_place b);

/* Highest index that a majority of `match` has reached; n at most
 * CL_COPIES_MAX. */
uint64_t st_majority_index(const uint64_t *match, size_t n);
/* May the log up to the majority's index be committed? Only with an entry of
 * the own term (Raft 5.4.2). */
uint64_t st_commit_index(
    uint64_t committed, uint64_t majority, uint64_t term_start);

/* What a voter knows when it is asked (CONSENSUS 1, 4). */
struct st_vote_asked {
	struct st_ballot ballot; /* the candidate's */
	struct st_place log;     /* the candidate's */
};
struct st_voter {
	struct st_ballot promise; /* voted for, or acknowledged, last */
	struct st_place log;
	bool pausing;  /* restarted within a lease period */
	bool granting; /* a lease to the promise's owner still runs */
};
bool st_vote_ok(const struct st_voter *v, const struct st_vote_asked *ask);

/* Does a majority's grant hold at `now`? The leader's own is the first.
 * A grant answers a heartbeat sent at `sent`, and counts when that was after
 * the member had acknowledged the leader's ballot. */
struct st_grant {
	uint64_t sent;  /* 0: none */
	uint64_t until; /* by the leader's clock, margin taken off */
	uint64_t
	    acked; /* when the leader knew of the acknowledgement; 0: not */
};
bool st_lease_holds(const struct st_grant *grants, size_t n, uint64_t now);
/* How long a lease of `lease` lasts for who holds it, from the moment it sent
 * its heartbeat: clocks may differ by the drift margin. */
uint64_t st_lease_span(uint64_t lease);

#endif
