/* Who leads which group, as far as one worker has heard, and whom a request
 * asks after whom.  The catalog says who may lead; who does changes without it,
 * and is learnt from answers.  Nothing here waits or knows the time. */
#ifndef GATEWAY_LEADERS_H
#define GATEWAY_LEADERS_H

#include "gateway/route.h"

struct gw_leaders;

/* In `a`; grows to one entry per slot of the placements that are asked for. */
struct gw_leaders *gw_leaders_new(struct arena *a);
/* Who leads the group: as last heard, else its first member. */
uint32_t gw_leaders_find(const struct gw_leaders *l, const struct gw_route *r);
/* `member` leads, or is the one to try next; one that is not of the group is
 * not taken. True when that is news. */
bool gw_leaders_learn(
    struct gw_leaders *l, const struct gw_route *r, uint32_t member);
/* Forgets placements that the catalog no longer has. */
void gw_leaders_trim(struct gw_leaders *l, const struct cl_catalog *c);

/* One request's way through a group's members, zeroed before the first send. A
 * round asks each member once at most, so that members which point at each
 * other end it instead of spinning. */
struct gw_aim {
	bool any;        /* every member may answer, not only the leader */
	uint32_t spread; /* with any: which one first */
	uint32_t asked;  /* the last one */
	unsigned rounds; /* without an answer: paces the pauses between them */

	uint64_t tried; /* in this round, by place in the group */
	uint32_t epoch; /* what `tried` is about */
	uint32_t next;  /* 0: as the table says */
	uint32_t hint;  /* the last one of this round */
};

/* Whom to ask now. Asking again without news in between changes nothing. */
uint32_t gw_aim_at(
    struct gw_aim *aim, const struct gw_leaders *l, const struct gw_route *r);
/* News of who was asked; true: go on at once, false: after a pause. */

/* It does not lead; `hint` does, as far as it knows (0: it does not know). */
bool gw_aim_refused(struct gw_aim *aim, struct gw_leaders *l,
    const struct gw_route *r, uint32_t hint);
/* It could not be reached, or did not answer; `gone`: nobody can reach it. */
bool gw_aim_missed(struct gw_aim *aim, struct gw_leaders *l,
    const struct gw_route *r, bool gone);
/* It is the right one, but cannot serve now. Always after a pause. */
void gw_aim_wait(struct gw_aim *aim);
/* It served. */
void gw_aim_served(
    struct gw_aim *aim, struct gw_leaders *l, const struct gw_route *r);
/* The number to give to gw_stmt_retry_at: a group that elects a leader is asked
 * often for a while, then as rarely as anything else. */
unsigned gw_aim_pace(const struct gw_aim *aim);

#endif
