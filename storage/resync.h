/* Making this member's copy of a group equal to the group's again (CONSENSUS
 * 6), at the member that takes; source.h is the one that gives.
 *
 *                 behind the leader's log, or found to differ
 *   COMPLETE ----------------------------------------------> WANTED
 *      ^                                                       | state adopted
 *      |            all rows installed                         v
 *      +-------------------------------------------------- INCOMPLETE
 *                                   the log has a gap again:   | ^  state
 *                                                              +-+  adopted
 *
 * INCOMPLETE is on disk ('R', pass.h), and goes on after a restart. Such a copy
 * stores entries and applies of them what belongs to the rows that it has; it
 * acknowledges none, does not lead and answers no read, but votes. */
#ifndef STORAGE_RESYNC_H
#define STORAGE_RESYNC_H

#include "storage/group.h"

/* The leader has no entries up to `behind` any more, and this copy lacks some:
 * starts a resync in the background, unless one is under way. */
void st_resync_want(struct st_group *g, uint64_t behind);
/* This copy differs from the others: it answers and leads no more until it has
 * been made anew. */
void st_resync_damaged(struct st_group *g);
/* The group was loaded, and is incomplete. */
void st_resync_resume(struct st_group *g);
/* Goes on with what a stop or a crash has cut short. */
void st_resync_start(struct st_node *n);

#endif
