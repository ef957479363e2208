/* Locks on keys of one group: a pure structure, no fiber and no clock.
 *
 * A request takes all its keys at once, in one place of the queue of each;
 * queues are first come, first served, shared requests do not wait for each
 * other.  Since all places are taken in one step there is no deadlock among
 * requests.
 *
 * Requests of transactions have an age, and places in several groups, so that
 * they could wait for each other in a circle.  One waits only for younger ones
 * (wait-die, CONSENSUS 5), and never for a request without an age that waits
 * itself: it goes in front of that one.
 *
 * The structure holds no memory of its own but its hash table: a request's
 * wants are the caller's and stay until st_locks_release. */
#ifndef STORAGE_LOCKS_H
#define STORAGE_LOCKS_H

#include "base/arena.h"
#include "base/list.h"

struct st_lock_req;

struct st_lock_want {
	struct str key;
	bool exclusive;
	/* The structure's own. */
	bool blocked;
	uint64_t hash;
	struct list link;
	struct st_lock_req *req;
};

struct st_lock_req {
	struct st_lock_want *wants;
	uint32_t n;
	uint32_t n_blocked; /* 0 = granted */
	bool queued;
	bool prepared; /* held by the log: readers wait for it too */
	uint64_t age;  /* of its transaction, the older the less; 0: none */
	/* Called by st_locks_release of another when this one is granted. */
	void (*granted)(struct st_lock_req *req);
	void *owner;
};

struct st_locks {
	struct arena *arena;
	struct list *buckets;
	uint32_t n_buckets; /* a power of two */
	uint32_t n_wants;
	uint32_t n_reqs;
};

void st_locks_init(struct st_locks *l, struct arena *a);

/* Sorts wants by key and merges equal keys (exclusive wins); n may shrink. */
void st_lock_req_init(
    struct st_lock_req *req, struct st_lock_want *wants, uint32_t n);
/* Queues the request; true when it is granted at once. */
bool st_locks_acquire(struct st_locks *l, struct st_lock_req *req);
/* The same for a transaction's; ST_LOCKS_BUSY: it would have to wait for one
 * that is not younger, and is not queued. */
enum st_locked { ST_LOCKS_GRANTED, ST_LOCKS_WAITS, ST_LOCKS_BUSY };
enum st_locked st_locks_acquire_aged(
    struct st_locks *l, struct st_lock_req *req);
/* `to` takes the places of `from`, which is granted and wants the same. */
void st_locks_hand_over(
    struct st_locks *l, struct st_lock_req *from, struct st_lock_req *to);
/* Whose prepared write is on the key; NULL: none. */
struct st_lock_req *st_locks_prepared(struct st_locks *l, struct str key);
/* Gives up what the request holds, or its place in the queues, and grants
 * those behind it. Nothing happens when it is not queued. */
void st_locks_release(struct st_locks *l, struct st_lock_req *req);

#endif
