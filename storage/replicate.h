/* The leader's side of the log: entries go to the other members, pipelined, in
 * frames shared by all groups led here; their answers move the commit index
 * (CONSENSUS 1). */
#ifndef STORAGE_REPLICATE_H
#define STORAGE_REPLICATE_H

#include "storage/group.h"
#include "storage/link.h"

/* The group was elected: nothing is known of the others. */
void st_replicate_start(struct st_group *g);
/* It is no leader any more. */
void st_replicate_stop(struct st_group *g);
/* Voters changed. */
void st_replicate_members(struct st_group *g);
/* Sends entries to one that has no vote yet; true once it has all that is
 * committed. */
bool st_replicate_learner(struct st_group *g, uint32_t member);
/* There is something to send to all of them. */
void st_replicate_wake(struct st_group *g);
/* Own or others' logs grew: moves the commit index. */
void st_replicate_matched(struct st_group *g);
struct st_progress *st_replicate_peer(struct st_group *g, uint32_t member);
/* Its vote was an acknowledgement of the ballot. */
void st_replicate_voted(struct st_group *g, uint32_t member, uint64_t when_us);
/* This member, which leads, has applied more; the others may have before it. */
void st_replicate_applied_here(struct st_group *g);
/* What a member has applied, as it says in an answer. */
void st_replicate_applied(
    struct st_group *g, struct st_progress *p, uint64_t applied);
/* It says that it has applied less than it had: it is told again. */
void st_replicate_lags(struct st_group *g, uint32_t member, uint64_t applied);
/* In a fiber: until every member has applied up to `index`. */
bool st_replicate_all(struct st_group *g, uint64_t index, uint64_t deadline_us);

/* The member is given the group's state as of an index: entries behind it are
 * kept for it, and it does not count until it says that it is complete. */
void st_replicate_resync(struct st_group *g, uint32_t member, uint64_t index);
/* Asks those whose copy is incomplete how far they are. */
void st_replicate_nudge(struct st_link *l);

/* A fiber per link. */
void st_replicate_sender(void *link);

#endif
