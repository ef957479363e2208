/* The other members as this node sees them: are they alive, what is there to
 * send to them, and what their heartbeats said.  What leases mean is in
 * lease.h.
 *
 * One heartbeat per node pair and beat, on a connection of its own, carries
 * leases and the commit indexes of groups with news (CONSENSUS 1, 4): an idle
 * group costs no message. */
#ifndef STORAGE_LINK_H
#define STORAGE_LINK_H

#include "storage/group.h"

#define ST_LINK_MAGIC 0x53544c4bu

struct st_link {
	uint32_t magic;
	struct st_node *node;
	uint32_t member;
	struct list link;         /* node.links */
	bool running;             /* its fibers */
	uint64_t heard_us;        /* it answered a heartbeat, or sent one */
	uint64_t since_us;        /* when the first heartbeat went to it */
	uint64_t answered_us;     /* it answered one */
	uint32_t incarnation;     /* of its process; 0: not known */
	uint32_t met_incarnation; /* the newest ever met: life.h */
	uint8_t met_life[ST_LIFE];

	/* To send (replicate.c). */
	struct list dirty; /* struct st_progress */
	struct list news;
	struct cond work;
	uint32_t frames; /* under way */
	uint64_t pause_until_us;
	uint64_t pause_us;

	/* Leases that it grants. */
	uint64_t grant_sent_us; /* when the heartbeat left that it answered */
	uint64_t grant_until_us;
	uint64_t lost_seen;

	/* Leases given to it. */
	uint64_t given_until_us;
	uint32_t given_incarnation;
	/* Groups in which this node left its ballot for another, until it says
	 * that it knows; numbered. */
	struct st_lost {
		struct st_gid gid;
		struct st_ballot ballot;
		uint64_t number;
	} * lost;
	uint32_t n_lost, cap_lost;
	uint64_t lost_number;
};

/* Heartbeats and senders to all members of the catalog, those to come
 * included. */
void st_links_start(struct st_node *n);
void st_links_wake(struct st_node *n);
/* In the drain fiber, with no group led any more: tells the others, so that
 * they need not wait for leases to end. */
void st_links_leave(struct st_node *n);
struct st_link *st_link_get(struct st_node *n, uint32_t member);
/* "" when the catalog does not know it. */
struct str st_link_addr(const struct st_node *n, uint32_t member);
/* Heard of within a few beats? */
bool st_link_alive(struct st_node *n, uint32_t member);
/* Has a majority answered the leader's heartbeats of late? */
bool st_group_heard(const struct st_group *g);
/* Its process, as an answer of it says: a new one has forgotten what it
 * acknowledged. */
void st_link_incarnation(struct st_link *l, uint32_t incarnation);

struct err *st_beat_serve(struct st_node *n, struct arena *a, uint32_t from,
    const struct cl_beat *m, struct cl_beaten *out);

#endif
