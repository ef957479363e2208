/* Getting transactions over with (CONSENSUS 5): who meets a prepared write
 * waits and, after a short pause, asks the group that decides; who decided
 * tells the participants.  The sweeper of any member does both for what was
 * left lying. All of it goes by fibers of their own, and by entries: nothing is
 * decided here. */
#ifndef STORAGE_SETTLE_H
#define STORAGE_SETTLE_H

#include "storage/serving.h"

/* Somebody who waits for a prepared key looks after it this often. */
#define ST_SETTLE_PAUSE_US 50000u

/* Asks what became of the parts that have been here for a pause or more. */
void st_settle_old(struct st_group *g);
/* The group has decided, and the entry is applied: tells the participants that
 * are not known to know. */
void st_settle_tell(struct st_group *g, const struct st_txn *txn);
/* An abort, to those that may have prepared: nobody waits for it. */
void st_settle_tell_abort(struct st_node *n, const struct st_txn *txn,
    cl_stamp deadline, const struct st_gid *gids, uint32_t count);

/* Has any of the groups of a read seen a transaction? */
bool st_settle_needed(const struct st_serving *on);
/* In a fiber, before a read of groups that are led here: until no prepared
 * write is on any of the keys. False: not before the deadline. */
bool st_settle_points(
    struct st_serving *on, const struct cl_point *points, uint32_t n);
/* The same for key ranges [from, to), one of each group. */
struct st_key_range {
	struct str from, to;
};
bool st_settle_ranges(struct st_serving *on, const struct st_key_range *ranges);

/* One round, in a fiber: what was left lying in the groups led here. */
void st_settle_sweep(struct st_node *n);

#endif
