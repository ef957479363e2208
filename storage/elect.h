/* Who leads a group: campaigns, votes, and what a request for the group finds
 * (CONSENSUS 1, 4; Raft 5.2).  Nothing ticks: a group elects a leader when a
 * request, a sweep or a move needs one. */
#ifndef STORAGE_ELECT_H
#define STORAGE_ELECT_H

#include "storage/group.h"

/* Why a group is not led here, and by whom, as far as known (0: not). */
struct st_refusal {
	enum cl_refusal why;
	uint32_t leader;
};

/* In a fiber: the group, loaded; NULL with the reason when this node is no
 * member. Waits a little for a catalog that the sender has seen (`catalog`) and
 * this node not yet. */
struct st_group *st_group_open(struct st_node *n, struct st_gid gid,
    uint64_t catalog, uint64_t deadline_us, enum cl_refusal *why);
/* In a fiber: the group, led by this member and serving; campaigns if no other
 * leads it and it is this one's turn. */
struct st_group *st_group_lead(struct st_node *n, struct st_gid gid,
    uint64_t catalog, uint64_t deadline_us, struct st_refusal *why);
/* The same for many at once: they are opened side by side, sharing their
 * flushes. True when all serve; else who[i] says for each. */
bool st_groups_lead(struct st_node *n, const struct st_gid *gids, size_t count,
    uint64_t catalog, uint64_t deadline_us, struct st_refusal *who);

/* The member's turn to lead it when nobody does? (For housekeeping.) */
bool st_group_turn(struct st_group *g);

/* Nobody is known to lead it, and enough members are there to elect one. */
bool st_group_headless(struct st_group *g);

/* Who owns the ballot that was promised here leads in it no more, as it says
 * itself: its lease binds nobody, and somebody else may lead. */
void st_group_released(struct st_group *g);
/* Another has a higher ballot: this one leads no more. */
void st_higher_ballot(struct st_group *g, const struct st_ballot *b);
/* Votes for, or acknowledges, another's ballot, which is on disk when
 * st_log_promised returns. */
void st_group_promise(struct st_group *g, const struct st_ballot *b);

struct err *st_vote_serve(struct st_node *n, struct arena *a, uint32_t from,
    const struct cl_vote *m, struct cl_voted *out);

#endif
