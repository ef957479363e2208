/* Decisions, and what follows from them (CONSENSUS 5): at the group that
 * decides, questions for an outcome; at a participant, Resolve. */
#ifndef STORAGE_DECIDE_H
#define STORAGE_DECIDE_H

#include "storage/group.h"

/* In a fiber: answered from applied Decide entries. With none, the transaction
 * is given up by an entry if nobody can decide it otherwise any more. */
void st_outcome_serve(struct st_node *n, const struct cl_outcome_get *m,
    uint64_t catalog, struct cl_told *out);
/* In a fiber: what was decided is an entry here, and applied. */
void st_resolve_serve(struct st_node *n, const struct cl_resolve *m,
    uint64_t catalog, struct cl_resolved *out);

/* In a fiber, at the leader, of one that nobody commits any more: appends
 * Decide{abort}, unless there is a decision, and waits until that is applied.
 * False: the group was lost first. */
bool st_decide_abort(struct st_group *g, const struct st_ballot *b,
    const struct st_txn *txn, cl_stamp deadline);

#endif
