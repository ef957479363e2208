#include "storage/locks.h"

#include <stdlib.h>

#include <xxhash.h>

#define BUCKETS_MIN 16u

static struct list *
new_buckets(struct arena *a, uint32_t n)
{
	struct list *b = NEW_N(a, struct list, n);

	for (uint32_t i = 0; i < n; i++)
		list_init(&b[i]);
	return b;
}

void
st_locks_init(struct st_locks *l, struct arena *a)
{
	*l = (struct st_locks){.arena = a, .n_buckets = BUCKETS_MIN};
	l->buckets = new_buckets(a, l->n_buckets);
}

static struct list *
bucket_of(struct st_locks *l, uint64_t hash)
{
	return &l->buckets[hash & (l->n_buckets - 1)];
}

/* Keeps the order of arrival within each new bucket, since an old one is walked
 * front to back and never merged with another. */
static void
grow(struct st_locks *l)
{
	struct list *old = l->buckets;
	uint32_t n = l->n_buckets;
	struct list *at;

	l->n_buckets = n * 2;
	l->buckets = new_buckets(l->arena, l->n_buckets);
	for (uint32_t i = 0; i < n; i++)
		while ((at = list_pop(&old[i]))) {
			struct st_lock_want *w =
			    LIST_ENTRY(at, struct st_lock_want, link);

			list_push(bucket_of(l, w->hash), &w->link);
		}
}

static int
by_key(const void *x, const void *y)
{
	const struct st_lock_want *a = x, *b = y;

	return str_cmp(a->key, b->key);
}

void
st_lock_req_init(
    struct st_lock_req *req, struct st_lock_want *wants, uint32_t n)
{
	uint32_t kept = 0;

	if (n > 1)
		qsort(wants, n, sizeof *wants, by_key);
	for (uint32_t i = 0; i < n; i++) {
		if (kept && str_eq(wants[kept - 1].key, wants[i].key)) {
			wants[kept - 1].exclusive |= wants[i].exclusive;
			continue;
		}
		wants[kept] = wants[i];
		wants[kept].hash =
		    XXH3_64bits(wants[i].key.p, wants[i].key.len);
		wants[kept].blocked = false;
		wants[kept].link = (struct list){NULL, NULL};
		wants[kept].req = req;
		kept++;
	}
	req->wants = wants;
	req->n = kept;
	req->n_blocked = 0;
	req->queued = false;
}

static bool
same_key(const struct st_lock_want *a, const struct st_lock_want *b)
{
	return a->hash == b->hash && str_eq(a->key, b->key);
}

static bool
conflicts_with_earlier(const struct list *bucket, const struct st_lock_want *w)
{
	LIST_FOREACH(at, bucket)
	{
		const struct st_lock_want *x =
		    LIST_ENTRY(at, struct st_lock_want, link);

		if (same_key(x, w) && (x->exclusive || w->exclusive))
			return true;
	}
	return false;
}

bool
st_locks_acquire(struct st_locks *l, struct st_lock_req *req)
{
	ASSERT(!req->queued);
	while (l->n_wants + req->n > l->n_buckets * 2)
		grow(l);
	req->queued = true;
	req->n_blocked = 0;
	for (uint32_t i = 0; i < req->n; i++) {
		struct st_lock_want *w = &req->wants[i];
		struct list *bucket = bucket_of(l, w->hash);

		w->blocked = conflicts_with_earlier(bucket, w);
		req->n_blocked += w->blocked;
		list_push(bucket, &w->link);
	}
	l->n_wants += req->n;
	l->n_reqs++;
	return req->n_blocked == 0;
}

/* A transaction does not wait for who waits and is in no transaction: through
 * that one it might wait for an older transaction. */
static bool
is_passed(const struct st_lock_want *x)
{
	return !x->req->age && x->req->n_blocked;
}

static bool
conflict(const struct st_lock_want *a, const struct st_lock_want *b)
{
	return same_key(a, b) && (a->exclusive || b->exclusive);
}

/* Would the request wait, and is there a transaction before it that is not
 * younger? */
static bool
must_die(struct st_locks *l, const struct st_lock_req *req)
{
	bool waits = false, older = false;

	for (uint32_t i = 0; i < req->n; i++) {
		const struct st_lock_want *w = &req->wants[i];
		const struct list *bucket = bucket_of(l, w->hash);

		LIST_FOREACH(at, bucket)
		{
			const struct st_lock_want *x =
			    LIST_ENTRY(at, struct st_lock_want, link);

			if (!same_key(x, w) || is_passed(x))
				continue;
			waits |= conflict(x, w);
			older |= x->req->age && x->req->age <= req->age;
		}
	}
	return waits && older;
}

/* Puts the want behind all but those that are passed over. Behind the first of
 * those nobody is granted exclusively, and no transaction waits. */
static void
push_passing(struct st_locks *l, struct st_lock_want *w)
{
	struct list *bucket = bucket_of(l, w->hash), passed, *at;

	list_init(&passed);
	LIST_FOREACH_SAFE(p, bucket)
	{
		struct st_lock_want *x =
		    LIST_ENTRY(p, struct st_lock_want, link);

		if (!same_key(x, w) || !is_passed(x))
			continue;
		list_del(p);
		list_push(&passed, p);
	}
	w->blocked = conflicts_with_earlier(bucket, w);
	w->req->n_blocked += w->blocked;
	list_push(bucket, &w->link);
	while ((at = list_pop(&passed))) {
		struct st_lock_want *x =
		    LIST_ENTRY(at, struct st_lock_want, link);

		if (!x->blocked && conflict(x, w)) {
			x->blocked = true;
			x->req->n_blocked++;
		}
		list_push(bucket, at);
	}
}

enum st_locked
st_locks_acquire_aged(struct st_locks *l, struct st_lock_req *req)
{
	ASSERT(!req->queued && req->age);
	while (l->n_wants + req->n > l->n_buckets * 2)
		grow(l);
	req->n_blocked = 0;
	if (must_die(l, req))
		return ST_LOCKS_BUSY;
	req->queued = true;
	for (uint32_t i = 0; i < req->n; i++)
		push_passing(l, &req->wants[i]);
	l->n_wants += req->n;
	l->n_reqs++;
	return req->n_blocked ? ST_LOCKS_WAITS : ST_LOCKS_GRANTED;
}

void
st_locks_hand_over(
    struct st_locks *l, struct st_lock_req *from, struct st_lock_req *to)
{
	(void)l;
	ASSERT(from->queued && !from->n_blocked && !to->queued);
	ASSERT(from->n == to->n);
	for (uint32_t i = 0; i < from->n; i++) {
		ASSERT(same_key(&from->wants[i], &to->wants[i]));
		to->wants[i].blocked = false;
		list_push(&from->wants[i].link, &to->wants[i].link);
		list_del(&from->wants[i].link);
	}
	from->queued = false;
	to->queued = true;
	to->n_blocked = 0;
}

struct st_lock_req *
st_locks_prepared(struct st_locks *l, struct str key)
{
	struct st_lock_want want = {
	    .key = key, .hash = XXH3_64bits(key.p, key.len)};
	const struct list *bucket = bucket_of(l, want.hash);

	LIST_FOREACH(at, bucket)
	{
		struct st_lock_want *x =
		    LIST_ENTRY(at, struct st_lock_want, link);

		if (x->req->prepared && x->exclusive && same_key(x, &want))
			return x->req;
	}
	return NULL;
}

/* Walks the queue of one key and frees who no longer has a conflict ahead. */
static void
unblock(struct list *bucket, const struct st_lock_want *gone)
{
	bool any = false, exclusive = false;

	LIST_FOREACH(at, bucket)
	{
		struct st_lock_want *w =
		    LIST_ENTRY(at, struct st_lock_want, link);
		bool blocked;

		if (!same_key(w, gone))
			continue;
		blocked = w->exclusive ? any : exclusive;
		any = true;
		exclusive |= w->exclusive;
		if (!w->blocked || blocked)
			continue;
		w->blocked = false;
		ASSERT(w->req->n_blocked > 0);
		if (--w->req->n_blocked == 0)
			w->req->granted(w->req);
	}
}

void
st_locks_release(struct st_locks *l, struct st_lock_req *req)
{
	if (!req->queued)
		return;
	req->queued = false;
	for (uint32_t i = 0; i < req->n; i++)
		list_del(&req->wants[i].link);
	for (uint32_t i = 0; i < req->n; i++)
		unblock(bucket_of(l, req->wants[i].hash), &req->wants[i]);
	l->n_wants -= req->n;
	l->n_reqs--;
}
