#include "base/sched_int.h"

/* Callbacks and fiber steps in one sched_run before sockets get their turn. */
#define RUN_BUDGET 512
/* The same in time: fibers that compute, and yield now and then, must not keep
 * the loop from its sockets. */
#define RUN_TIME_US 2000u

/* ---- the heap of timers ---- */

static void
heap_put(struct sched *s, size_t at, struct timer *t)
{
	s->heap[at] = t;
	t->heap_at = at;
}

static void
heap_up(struct sched *s, size_t at)
{
	struct timer *t = s->heap[at];

	while (at > 1 && s->heap[at / 2]->when_us > t->when_us) {
		heap_put(s, at, s->heap[at / 2]);
		at /= 2;
	}
	heap_put(s, at, t);
}

static void
heap_down(struct sched *s, size_t at)
{
	struct timer *t = s->heap[at];

	for (;;) {
		size_t kid = at * 2;

		if (kid > s->timers)
			break;
		if (kid < s->timers &&
		    s->heap[kid + 1]->when_us < s->heap[kid]->when_us)
			kid++;
		if (s->heap[kid]->when_us >= t->when_us)
			break;
		heap_put(s, at, s->heap[kid]);
		at = kid;
	}
	heap_put(s, at, t);
}

static void
heap_add(struct sched *s, struct timer *t)
{
	if (s->timers + 2 > s->heap_cap) {
		size_t cap = s->heap_cap ? s->heap_cap * 2 : 16;

		s->heap = arena_grow(s->arena, s->heap,
		    s->heap_cap * sizeof *s->heap, cap * sizeof *s->heap);
		s->heap_cap = cap;
	}
	heap_put(s, ++s->timers, t);
	heap_up(s, s->timers);
}

static void
heap_del(struct sched *s, struct timer *t)
{
	size_t at = t->heap_at;
	struct timer *last = s->heap[s->timers--];

	ASSERT(s->heap[at] == t);
	t->heap_at = 0;
	if (last == t)
		return;
	heap_put(s, at, last);
	heap_up(s, at);
	heap_down(s, last->heap_at);
}

/* ---- what the world is asked for ---- */

static void
arm(struct sched *s, uint64_t when_us)
{
	if (s->running || when_us >= s->armed_us)
		return;
	s->armed_us = when_us;
	s->world->ops->arm(s->world, when_us);
}

void
sched_kick(struct sched *s)
{
	arm(s, 0);
}

void
timer_set(struct world *w, struct timer *t, uint64_t when_us,
    void (*fn)(void *arg), void *arg)
{
	struct sched *s = w->sched;

	ASSERT(fn);
	if (t->heap_at)
		heap_del(s, t);
	t->when_us = when_us;
	t->fn = fn;
	t->arg = arg;
	heap_add(s, t);
	/* 0 has a meaning of its own. */
	arm(s, when_us ? when_us : 1);
}

void
timer_clear(struct world *w, struct timer *t)
{
	if (t->heap_at)
		heap_del(w->sched, t);
}

/* ---- posted calls ---- */

static void
post_grow(struct sched *s)
{
	size_t cap = s->post_cap ? s->post_cap * 2 : 16;
	struct post *p = arena_alloc_raw(s->arena, cap * sizeof *p);

	for (size_t i = 0; i < s->post_count; i++)
		p[i] = s->posts[(s->post_at + i) & (s->post_cap - 1)];
	s->posts = p;
	s->post_at = 0;
	s->post_cap = cap;
}

void
world_post(struct world *w, void (*fn)(void *arg), void *arg)
{
	struct sched *s = w->sched;

	ASSERT(fn);
	if (s->post_count == s->post_cap)
		post_grow(s);
	s->posts[(s->post_at + s->post_count++) & (s->post_cap - 1)] =
	    (struct post){fn, arg};
	sched_kick(s);
}

/* ---- the run loop ---- */

static void
destroy_ev(void *arg)
{
	struct sched *s = arg;

	ASSERT(!s->running);
	fiber_unmap_all(s);
	s->magic = 0;
	s->world->sched = NULL;
}

struct sched *
sched_new(struct world *w)
{
	struct arena *a = arena_new(w->arena, "scheduler");
	struct sched *s = NEW(a, struct sched);

	s->magic = SCHED_MAGIC;
	s->world = w;
	s->arena = a;
	list_init(&s->ready);
	list_init(&s->fibers);
	for (int i = 0; i < STACK_SIZES; i++)
		list_init(&s->pool[i]);
	s->armed_us = WORLD_FOREVER;
	/* So that freeing the world's arena is enough. */
	arena_cleanup(a, destroy_ev, s);
	w->sched = s;
	return s;
}

void
sched_destroy(struct sched *s)
{
	ASSERT(s->magic == SCHED_MAGIC);
	arena_free(s->arena);
}

static size_t
run_timers(struct sched *s, size_t budget)
{
	uint64_t now_us;
	size_t n = 0;

	if (s->timers == 0)
		return 0;
	now_us = world_mono_us(s->world);
	while (s->timers > 0 && s->heap[1]->when_us <= now_us && n < budget) {
		struct timer *t = s->heap[1];

		heap_del(s, t);
		t->fn(t->arg);
		n++;
	}
	return n;
}

/* Those that are there now; what they post waits for the next round. */
static size_t
run_posts(struct sched *s, size_t budget)
{
	size_t left = s->post_count < budget ? s->post_count : budget;
	size_t n = left;

	for (; left > 0; left--) {
		struct post p = s->posts[s->post_at];

		s->post_at = (s->post_at + 1) & (s->post_cap - 1);
		s->post_count--;
		p.fn(p.arg);
	}
	return n;
}

static size_t
run_fibers(struct sched *s, size_t budget)
{
	/* A fiber leaves the list only by being run, so this is the end. */
	struct list *last = s->ready.prev, *l = NULL;
	size_t n = 0;

	while (n < budget && l != last && (l = list_pop(&s->ready))) {
		fiber_resume(LIST_ENTRY(l, struct fiber, link));
		n++;
	}
	return n;
}

void
sched_run(struct sched *s)
{
	size_t left = RUN_BUDGET;
	uint64_t want_us = WORLD_FOREVER;
	uint64_t end_us = world_mono_us(s->world) + RUN_TIME_US;

	ASSERT(s->magic == SCHED_MAGIC && !s->running && !fiber_self());
	s->running = true;
	s->armed_us = WORLD_FOREVER;
	while (left > 0) {
		size_t before = left;

		left -= run_timers(s, left);
		left -= run_posts(s, left);
		left -= run_fibers(s, left);
		if (left == before || world_mono_us(s->world) >= end_us)
			break;
	}
	s->running = false;
	if (s->post_count > 0 || !list_empty(&s->ready))
		want_us = 0;
	else if (s->timers > 0)
		want_us = s->heap[1]->when_us ? s->heap[1]->when_us : 1;
	arm(s, want_us);
}
