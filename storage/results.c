#include "storage/results.h"

#include <stdlib.h>

#define FORMAT      1
#define BUCKETS_MIN 16u

struct result {
	struct st_result res;
	struct list link;
};

struct session {
	uint8_t id[16];
	uint64_t answered; /* as of the applied entries */
	cl_stamp last;     /* stamp of the last applied entry of it */
	uint32_t n;
	bool touched;
	bool gone;
	struct list results; /* by index */
	struct list chain;   /* in its bucket */
	struct list age;     /* in results.by_age, oldest `last` first */
	struct list touch;
};

struct st_results {
	struct arena *arena;
	cl_stamp window;
	uint64_t applied; /* index */
	struct list *buckets;
	size_t n_buckets;
	size_t n_sessions;
	struct list by_age;
	struct list touched;
	struct list spare_sessions; /* by chain */
	struct list spare_results;
};

static struct list *
new_buckets(struct arena *a, size_t n)
{
	struct list *b = NEW_N(a, struct list, n);

	for (size_t i = 0; i < n; i++)
		list_init(&b[i]);
	return b;
}

struct st_results *
st_results_new(struct arena *a, cl_stamp retry_window)
{
	struct st_results *r = NEW(a, struct st_results);

	r->arena = a;
	r->window = retry_window;
	r->n_buckets = BUCKETS_MIN;
	r->buckets = new_buckets(a, r->n_buckets);
	list_init(&r->by_age);
	list_init(&r->touched);
	list_init(&r->spare_sessions);
	list_init(&r->spare_results);
	return r;
}

/* Session ids are random: any eight bytes are a hash. */
static struct list *
bucket_of(const struct st_results *r, const uint8_t *id)
{
	uint64_t h;

	memcpy(&h, id, sizeof h);
	return &r->buckets[h & (r->n_buckets - 1)];
}

static struct session *
find(const struct st_results *r, const uint8_t *id)
{
	const struct list *bucket = bucket_of(r, id);

	LIST_FOREACH(at, bucket)
	{
		struct session *s = LIST_ENTRY(at, struct session, chain);

		if (memcmp(s->id, id, sizeof s->id) == 0)
			return s;
	}
	return NULL;
}

static void
grow(struct st_results *r)
{
	struct list *old = r->buckets;
	size_t n = r->n_buckets;
	struct list *at;

	r->n_buckets = n * 2;
	r->buckets = new_buckets(r->arena, r->n_buckets);
	for (size_t i = 0; i < n; i++)
		while ((at = list_pop(&old[i]))) {
			struct session *s =
			    LIST_ENTRY(at, struct session, chain);

			list_push(bucket_of(r, s->id), &s->chain);
		}
}

static struct session *
add(struct st_results *r, const uint8_t *id)
{
	struct list *spare = list_pop(&r->spare_sessions);
	struct session *s = spare ? LIST_ENTRY(spare, struct session, chain)
				  : NEW(r->arena, struct session);

	memset(s, 0, sizeof *s);
	memcpy(s->id, id, sizeof s->id);
	list_init(&s->results);
	if (r->n_sessions >= r->n_buckets * 2)
		grow(r);
	list_push(bucket_of(r, id), &s->chain);
	list_push(&r->by_age, &s->age);
	r->n_sessions++;
	return s;
}

static void
touch(struct st_results *r, struct session *s)
{
	if (s->touched)
		return;
	s->touched = true;
	list_push(&r->touched, &s->touch);
}

static void
drop_result(struct st_results *r, struct session *s, struct result *x)
{
	list_del(&x->link);
	list_push(&r->spare_results, &x->link);
	s->n--;
}

static struct result *
add_result(struct st_results *r, struct session *s, const struct st_result *res)
{
	struct list *spare = list_pop(&r->spare_results);
	struct result *x = spare ? LIST_ENTRY(spare, struct result, link)
				 : NEW(r->arena, struct result);

	x->res = *res;
	x->link = (struct list){NULL, NULL};
	list_push(&s->results, &x->link);
	s->n++;
	return x;
}

static struct result *
find_result(const struct session *s, uint64_t sequence)
{
	/* Repeats are of late operations. */
	for (struct list *at = s->results.prev; at != &s->results;
	     at = at->prev) {
		struct result *x = LIST_ENTRY(at, struct result, link);

		if (x->res.sequence == sequence)
			return x;
	}
	return NULL;
}

enum st_result_state
st_results_find(const struct st_results *r, const uint8_t *session,
    uint64_t sequence, struct st_result *out)
{
	const struct session *s = find(r, session);
	const struct result *x;

	memset(out, 0, sizeof *out);
	if (!s)
		return ST_RESULT_NONE;
	if (sequence < s->answered)
		return ST_RESULT_ANSWERED;
	x = find_result(s, sequence);
	if (!x)
		return s->n < ST_RESULTS_MAX ? ST_RESULT_NONE
					     : ST_RESULT_CROWDED;
	*out = x->res;
	return x->res.index <= r->applied ? ST_RESULT_KEPT : ST_RESULT_PENDING;
}

void
st_results_begin(struct st_results *r, const struct st_op *op, uint64_t index,
    cl_stamp stamp)
{
	struct session *s = find(r, op->session);

	ASSERT(index > r->applied);
	if (!s)
		s = add(r, op->session);
	ASSERT(!find_result(s, op->sequence));
	add_result(
	    r, s, &(struct st_result){op->sequence, index, stamp, op->outcome});
}

/* Forgets what is applied of a session. What is under way stays, as it would at
 * a member that has not seen it yet. */
static void
forget(struct st_results *r, struct session *s)
{
	LIST_FOREACH_SAFE(at, &s->results)
	{
		struct result *x = LIST_ENTRY(at, struct result, link);

		if (x->res.stamp <= s->last)
			drop_result(r, s, x);
	}
	s->answered = 0;
	s->last = 0;
	touch(r, s);
	list_del(&s->age);
	if (s->n) {
		list_push(&r->by_age, &s->age);
		return;
	}
	list_del(&s->chain);
	r->n_sessions--;
	s->gone = true;
}

static void
expire(struct st_results *r, cl_stamp stamp)
{
	LIST_FOREACH_SAFE(at, &r->by_age)
	{
		struct session *s = LIST_ENTRY(at, struct session, age);

		if (!s->last)
			continue; /* only begun */
		if (s->last + r->window > stamp)
			break;
		forget(r, s);
	}
}

/* Drops results that the session, or the window, no longer needs. */
static void
prune(struct st_results *r, struct session *s, cl_stamp stamp)
{
	LIST_FOREACH_SAFE(at, &s->results)
	{
		struct result *x = LIST_ENTRY(at, struct result, link);

		if (x->res.sequence < s->answered ||
		    x->res.stamp + r->window <= stamp)
			drop_result(r, s, x);
	}
}

void
st_results_apply(struct st_results *r, const struct st_entry *e)
{
	struct session *s;

	expire(r, e->stamp);
	if (e->kind != ST_ENTRY_PROPOSAL && !e->with_op)
		return;
	s = find(r, e->op.session);
	if (!s)
		s = add(r, e->op.session);
	if (!find_result(s, e->op.sequence))
		add_result(r, s,
		    &(struct st_result){
			e->op.sequence, e->index, e->stamp, e->op.outcome});
	if (e->op.answered > s->answered)
		s->answered = e->op.answered;
	s->last = e->stamp;
	list_del(&s->age);
	list_push(&r->by_age, &s->age);
	prune(r, s, e->stamp);
	touch(r, s);
}

/* Only what is applied is written: what is begun is in the log. */
static void
encode(const struct session *s, struct buf *b)
{
	uint32_t n = 0;

	LIST_FOREACH(at, &s->results)
	n += LIST_ENTRY(at, struct result, link)->res.stamp <= s->last;
	buf_u8(b, FORMAT);
	buf_varint(b, s->answered);
	buf_le64(b, s->last);
	buf_varint(b, n);
	LIST_FOREACH(at, &s->results)
	{
		const struct st_result *x =
		    &LIST_ENTRY(at, struct result, link)->res;

		if (x->stamp > s->last)
			continue;
		buf_varint(b, x->sequence);
		buf_varint(b, x->index);
		buf_le64(b, x->stamp);
		buf_u8(b, x->outcome);
	}
}

bool
st_results_take(
    struct st_results *r, uint8_t *session, bool *gone, struct buf *record)
{
	struct list *at = list_pop(&r->touched);
	const struct session *now;
	struct session *s;

	if (!at)
		return false;
	s = LIST_ENTRY(at, struct session, touch);
	s->touched = false;
	memcpy(session, s->id, sizeof s->id);
	/* It may have come back under the same id meanwhile. */
	now = find(r, s->id);
	*gone = !now || !now->last;
	if (!*gone)
		encode(now, record);
	if (s->gone)
		list_push(&r->spare_sessions, &s->chain);
	return true;
}

void
st_results_applied(struct st_results *r, uint64_t index)
{
	ASSERT(index >= r->applied);
	r->applied = index;
}

void
st_results_abandon(struct st_results *r)
{
	LIST_FOREACH_SAFE(at, &r->by_age)
	{
		struct session *s = LIST_ENTRY(at, struct session, age);

		LIST_FOREACH_SAFE(x, &s->results)
		{
			struct result *res = LIST_ENTRY(x, struct result, link);

			/* An applied one, or one being applied, has moved
			 * `last`. */
			if (res->res.stamp > s->last)
				drop_result(r, s, res);
		}
		if (s->n || s->last || s->touched)
			continue;
		list_del(&s->age);
		list_del(&s->chain);
		r->n_sessions--;
		list_push(&r->spare_sessions, &s->chain);
	}
}

static bool
load(struct st_results *r, struct session *s, struct cur *c)
{
	uint64_t n;

	s->answered = cur_varint(c);
	s->last = cur_le64(c);
	n = cur_varint(c);
	for (uint64_t i = 0; i < n && cur_ok(c); i++) {
		struct st_result x;

		x.sequence = cur_varint(c);
		x.index = cur_varint(c);
		x.stamp = cur_le64(c);
		x.outcome = cur_u8(c);
		if (cur_ok(c))
			add_result(r, s, &x);
	}
	return cur_done(c);
}

struct err *
st_results_load(struct arena *a, struct st_results *r, const uint8_t *session,
    struct str record)
{
	struct cur c = cur_of(record);
	unsigned format = cur_u8(&c);
	struct session *s;

	if (!cur_ok(&c) || format != FORMAT || find(r, session))
		return ERR(a, ERRCODE_DATA_CORRUPTED,
		    "a record of kept results is malformed");
	s = add(r, session);
	if (!load(r, s, &c))
		return ERR(a, ERRCODE_DATA_CORRUPTED,
		    "a record of kept results is malformed");
	return NULL;
}

static int
by_last(const void *x, const void *y)
{
	const struct session *a = *(struct session *const *)x;
	const struct session *b = *(struct session *const *)y;

	return a->last < b->last ? -1 : a->last > b->last;
}

void
st_results_loaded(struct st_results *r, uint64_t applied)
{
	struct arena *scratch = arena_new(NULL, "results");
	struct session **all = NEW_N(scratch, struct session *, r->n_sessions);
	struct list *at;
	size_t n = 0;

	while ((at = list_pop(&r->by_age)))
		all[n++] = LIST_ENTRY(at, struct session, age);
	if (n)
		qsort(all, n, sizeof(struct session *), by_last);
	for (size_t i = 0; i < n; i++)
		list_push(&r->by_age, &all[i]->age);
	arena_free(scratch);
	r->applied = applied;
}

size_t
st_results_sessions(const struct st_results *r)
{
	return r->n_sessions;
}

cl_stamp
st_results_oldest(const struct st_results *r)
{
	LIST_FOREACH(at, &r->by_age)
	{
		const struct session *s = LIST_ENTRY(at, struct session, age);

		if (s->last)
			return s->last;
	}
	return 0;
}
