/* What must hold inside the groups of a simulated cluster at every step
 * (CONSENSUS 7, I1 and the order of I3), told by observers in the nodes and
 * kept outside of them, so that no crash forgets it.
 *
 *  - A ballot has one leader, and a member's ballots only rise.
 *  - An index has one entry, whoever applies it, of a ballot that was elected;
 *    ballots and stamps rise along a log.
 *  - A member applies index after index; only a crash takes it back, and only a
 *    resync lets it skip, to what others have applied.
 *  - Who is elected has everything that was applied before (leader
 *    completeness).
 *  - An operation id is in a log once.
 *  - A transaction is committed in the ballot in which it was begun, and
 * resolved as its first decision says, which was applied before (I4). */
#ifndef REGRESS_SIM_INVARIANTS_H
#define REGRESS_SIM_INVARIANTS_H

#include "storage/ids.h"

struct invariants;

struct inv_event {
	uint32_t member;
	uint32_t boot; /* of its machine's process */
	struct st_gid gid;
	struct st_ballot ballot;
	uint64_t index;
	struct str entry; /* of an applied one */
};

/* Lives in `a`; fail(arg, text) is told of each violation. */
struct invariants *invariants_new(
    struct arena *a, void (*fail)(void *arg, const char *text), void *arg);
/* Its log reached `index` when it was elected. */
void invariants_elected(struct invariants *v, const struct inv_event *e);
void invariants_applied(struct invariants *v, const struct inv_event *e);
/* Its copy was replaced by one as of `index`. */
void invariants_reset(struct invariants *v, const struct inv_event *e);

struct inv_counts {
	uint64_t groups, elections, entries, resyncs;
};
void invariants_counts(const struct invariants *v, struct inv_counts *c);

#endif
