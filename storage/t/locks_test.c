/* Key locks: order, sharing, and a random walk against a slow model. */
#include "storage/locks.h"

#include <stdlib.h>

#include "regress/lib/cu.h"

static int granted;

static void
granted_ev(struct st_lock_req *req)
{
	CHECK(req->n_blocked == 0);
	granted++;
}

static bool
take(struct st_locks *l, struct arena *a, struct st_lock_req *r,
    const char *shared, const char *exclusive)
{
	struct st_lock_want *w = NEW_N(a, struct st_lock_want, 16);
	uint32_t n = 0;

	for (; *shared; shared++)
		w[n++].key = str_of(shared, 1);
	for (; *exclusive; exclusive++) {
		w[n].exclusive = true;
		w[n++].key = str_of(exclusive, 1);
	}
	*r = (struct st_lock_req){.granted = granted_ev};
	st_lock_req_init(r, w, n);
	r->granted = granted_ev;
	return st_locks_acquire(l, r);
}

static void
shared_locks_do_not_wait_for_each_other(void)
{
	struct arena *a = arena_new(NULL, "locks");
	struct st_locks l;
	struct st_lock_req r[4];

	st_locks_init(&l, a);
	granted = 0;
	CHECK(take(&l, a, &r[0], "k", ""));
	CHECK(take(&l, a, &r[1], "k", ""));
	CHECK(!take(&l, a, &r[2], "", "k"));
	/* First come, first served: not past the one that waits. */
	CHECK(!take(&l, a, &r[3], "k", ""));
	st_locks_release(&l, &r[0]);
	CHECK(granted == 0);
	st_locks_release(&l, &r[1]);
	CHECK(granted == 1 && r[2].n_blocked == 0 && r[3].n_blocked == 1);
	st_locks_release(&l, &r[2]);
	CHECK(granted == 2 && r[3].n_blocked == 0);
	st_locks_release(&l, &r[3]);
	CHECK(l.n_wants == 0 && l.n_reqs == 0);
	arena_free(a);
}

static void
one_key_twice_is_one_lock_the_exclusive_one(void)
{
	struct arena *a = arena_new(NULL, "locks");
	struct st_locks l;
	struct st_lock_req r[2];

	st_locks_init(&l, a);
	CHECK(take(&l, a, &r[0], "kk", "k"));
	CHECK(r[0].n == 1 && r[0].wants[0].exclusive);
	CHECK(!take(&l, a, &r[1], "k", ""));
	st_locks_release(&l, &r[0]);
	CHECK(r[1].n_blocked == 0);
	st_locks_release(&l, &r[1]);
	arena_free(a);
}

static void
who_gives_up_its_place_lets_others_pass(void)
{
	struct arena *a = arena_new(NULL, "locks");
	struct st_locks l;
	struct st_lock_req r[3];

	st_locks_init(&l, a);
	granted = 0;
	CHECK(take(&l, a, &r[0], "a", ""));
	CHECK(!take(&l, a, &r[1], "", "ab"));
	CHECK(!take(&l, a, &r[2], "ab", ""));
	st_locks_release(&l, &r[1]);
	CHECK(granted == 1 && r[2].n_blocked == 0);
	st_locks_release(&l, &r[1]); /* twice is nothing */
	st_locks_release(&l, &r[0]);
	st_locks_release(&l, &r[2]);
	CHECK(l.n_wants == 0);
	arena_free(a);
}

static enum st_locked
take_aged(struct st_locks *l, struct arena *a, struct st_lock_req *r,
    uint64_t age, const char *exclusive)
{
	struct st_lock_want *w = NEW_N(a, struct st_lock_want, 16);
	uint32_t n = 0;

	for (; *exclusive; exclusive++) {
		w[n].exclusive = true;
		w[n++].key = str_of(exclusive, 1);
	}
	*r = (struct st_lock_req){.granted = granted_ev, .age = age};
	st_lock_req_init(r, w, n);
	return st_locks_acquire_aged(l, r);
}

static void
a_transaction_waits_for_younger_ones_only(void)
{
	struct arena *a = arena_new(NULL, "locks");
	struct st_locks l;
	struct st_lock_req r[5];

	st_locks_init(&l, a);
	granted = 0;
	CHECK(take_aged(&l, a, &r[0], 20, "a") == ST_LOCKS_GRANTED);
	CHECK(take_aged(&l, a, &r[1], 30, "ab") == ST_LOCKS_BUSY);
	CHECK(take_aged(&l, a, &r[1], 20, "a") == ST_LOCKS_BUSY);
	CHECK(take_aged(&l, a, &r[1], 10, "a") == ST_LOCKS_WAITS);
	/* Also of those in the queue. */
	CHECK(take_aged(&l, a, &r[2], 15, "a") == ST_LOCKS_BUSY);
	CHECK(take_aged(&l, a, &r[2], 5, "a") == ST_LOCKS_WAITS);
	/* Who is in none may always wait. */
	CHECK(!take(&l, a, &r[3], "", "a"));
	/* Any age will do where nothing is in the way. */
	CHECK(take_aged(&l, a, &r[4], 99, "z") == ST_LOCKS_GRANTED);
	st_locks_release(&l, &r[0]);
	CHECK(granted == 1 && r[1].n_blocked == 0);
	st_locks_release(&l, &r[1]);
	CHECK(granted == 2 && r[2].n_blocked == 0);
	st_locks_release(&l, &r[2]);
	CHECK(granted == 3 && r[3].n_blocked == 0);
	st_locks_release(&l, &r[3]);
	st_locks_release(&l, &r[4]);
	CHECK(l.n_wants == 0 && l.n_reqs == 0);
	arena_free(a);
}

/* Or it might wait, through that one, for an older transaction. */
static void
a_transaction_does_not_wait_for_a_waiting_proposal(void)
{
	struct arena *a = arena_new(NULL, "locks");
	struct st_locks l;
	struct st_lock_req r[4];

	st_locks_init(&l, a);
	granted = 0;
	CHECK(take_aged(&l, a, &r[0], 10, "a") == ST_LOCKS_GRANTED);
	CHECK(!take(&l, a, &r[1], "", "ab"));
	CHECK(take_aged(&l, a, &r[2], 20, "b") == ST_LOCKS_GRANTED);
	/* For one that goes on it does. */
	CHECK(take(&l, a, &r[3], "", "c"));
	st_locks_release(&l, &r[0]);
	CHECK(granted == 0 && r[1].n_blocked == 1);
	st_locks_release(&l, &r[2]);
	CHECK(granted == 1 && r[1].n_blocked == 0);
	CHECK(take_aged(&l, a, &r[0], 30, "c") == ST_LOCKS_WAITS);
	st_locks_release(&l, &r[3]);
	CHECK(granted == 2 && r[0].n_blocked == 0);
	st_locks_release(&l, &r[0]);
	st_locks_release(&l, &r[1]);
	CHECK(l.n_wants == 0 && l.n_reqs == 0);
	arena_free(a);
}

static void
locks_are_handed_over_in_their_places(void)
{
	struct arena *a = arena_new(NULL, "locks");
	struct st_locks l;
	struct st_lock_req r[2], to;
	struct st_lock_want *w = NEW_N(a, struct st_lock_want, 2);

	st_locks_init(&l, a);
	granted = 0;
	CHECK(take(&l, a, &r[0], "s", "x"));
	CHECK(!take(&l, a, &r[1], "", "x"));
	to = (struct st_lock_req){.granted = granted_ev, .prepared = true};
	w[0].key = STR("s");
	w[1].key = STR("x");
	w[1].exclusive = true;
	st_lock_req_init(&to, w, 2);
	CHECK(st_locks_prepared(&l, STR("x")) == NULL);
	st_locks_hand_over(&l, &r[0], &to);
	CHECK(st_locks_prepared(&l, STR("x")) == &to);
	CHECK(st_locks_prepared(&l, STR("s")) == NULL);
	st_locks_release(&l, &r[0]); /* has nothing any more */
	CHECK(granted == 0);
	st_locks_release(&l, &to);
	CHECK(granted == 1);
	st_locks_release(&l, &r[1]);
	CHECK(l.n_wants == 0 && l.n_reqs == 0);
	arena_free(a);
}

/* The model: a request may go when no earlier one has a conflicting key. */
struct model {
	struct st_lock_req req;
	bool live;
	uint8_t keys[4], exclusive[4];
	int n, order;
};

static bool
model_may_go(const struct model *all, int n, const struct model *m)
{
	for (int i = 0; i < n; i++) {
		const struct model *o = &all[i];

		if (!o->live || o->order >= m->order)
			continue;
		for (int x = 0; x < m->n; x++)
			for (int y = 0; y < o->n; y++)
				if (m->keys[x] == o->keys[y] &&
				    (m->exclusive[x] || o->exclusive[y]))
					return false;
	}
	return true;
}

#define REQS 40

static void
a_random_walk_agrees_with_the_model(void)
{
	static struct model all[REQS];
	static const char names[] = "abcdefghij";
	struct arena *a = arena_new(NULL, "locks");
	struct st_locks l;
	int order = 0;

	srand((unsigned)cu_seed());
	st_locks_init(&l, a);
	memset(all, 0, sizeof all);
	for (int step = 0; step < 20000; step++) {
		struct model *m = &all[rand() % REQS];
		struct st_lock_want *w;

		if (m->live) {
			m->live = false;
			st_locks_release(&l, &m->req);
		} else {
			m->live = true;
			m->order = order++;
			m->n = 1 + rand() % 4;
			w = NEW_N(a, struct st_lock_want, 4);
			for (int i = 0; i < m->n; i++) {
				m->keys[i] = (uint8_t)(rand() % 10);
				m->exclusive[i] = (uint8_t)(rand() % 2);
				w[i].key = str_of(&names[m->keys[i]], 1);
				w[i].exclusive = m->exclusive[i];
			}
			st_lock_req_init(&m->req, w, (uint32_t)m->n);
			m->req.granted = granted_ev;
			st_locks_acquire(&l, &m->req);
		}
		for (int i = 0; i < REQS; i++)
			CHECK(!all[i].live ||
			      (all[i].req.n_blocked == 0) ==
				  model_may_go(all, REQS, &all[i]));
	}
	arena_free(a);
}

CU_MAIN("locks",
    {"shared_locks_do_not_wait_for_each_other",
	shared_locks_do_not_wait_for_each_other},
    {"one_key_twice_is_one_lock_the_exclusive_one",
	one_key_twice_is_one_lock_the_exclusive_one},
    {"who_gives_up_its_place_lets_others_pass",
	who_gives_up_its_place_lets_others_pass},
    {"a_transaction_waits_for_younger_ones_only",
	a_transaction_waits_for_younger_ones_only},
    {"a_transaction_does_not_wait_for_a_waiting_proposal",
	a_transaction_does_not_wait_for_a_waiting_proposal},
    {"locks_are_handed_over_in_their_places",
	locks_are_handed_over_in_their_places},
    {"a_random_walk_agrees_with_the_model",
	a_random_walk_agrees_with_the_model})
