#include "base/fiber.h"

#include <stdatomic.h>

#include "base/metrics.h"
#include "base/sched_int.h"

static _Thread_local struct fiber *current;
static _Atomic size_t stack_high;

static int
size_class(size_t size)
{
	ASSERT(size == FIBER_STACK_NODE || size == FIBER_STACK_GATEWAY);
	return size == FIBER_STACK_GATEWAY;
}

/* ---- birth and death ---- */

static struct fiber *
map_fiber(size_t size)
{
	size_t head = (sizeof(struct fiber) + 63) & ~(size_t)63;
	char *low = coro_stack_map(size);
	struct fiber *f = (struct fiber *)(void *)(low + size - head);

	f->low = low;
	f->size = size;
	coro_init(&f->coro, low, size - head);
	return f;
}

static void
note_high(struct fiber *f)
{
	size_t high = coro_stack_touched(f->low, f->size);
	size_t seen = atomic_load(&stack_high);

	while (high > seen &&
	       !atomic_compare_exchange_weak(&stack_high, &seen, high))
		continue;
	metric_peak(M_FIBER_STACK_HIGH, high);
}

static void
unmap_fiber(struct fiber *f)
{
	coro_fini(&f->coro);
	f->magic = 0;
	coro_stack_unmap(f->low, f->size);
}

struct fiber *
fiber_spawn(struct world *w, const char *name, size_t stack,
    void (*fn)(void *arg), void *arg)
{
	struct sched *s = w->sched;
	int k = size_class(stack);
	struct list *l = list_pop(&s->pool[k]);
	struct fiber *f;

	if (l) {
		f = LIST_ENTRY(l, struct fiber, all);
		s->pool_count[k]--;
	} else {
		f = map_fiber(stack);
	}
	f->magic = FIBER_MAGIC;
	f->sched = s;
	f->name = name;
	f->uses++;
	f->cancelled = f->deaf = false;
	coro_set(&f->coro, fn, arg);
	list_push(&s->fibers, &f->all);
	s->fiber_count++;
	metric_move(M_FIBERS, 1);
	f->state = FIBER_READY;
	list_push(&s->ready, &f->link);
	sched_kick(s);
	return f;
}

static void
retire(struct fiber *f)
{
	struct sched *s = f->sched;
	int k = size_class(f->size);

	ASSERT(!f->timer.heap_at && !list_linked(&f->link));
	f->magic = 0;
	list_del(&f->all);
	s->fiber_count--;
	metric_move(M_FIBERS, -1);
	/* A stack is looked at after its 1st, 2nd, 4th, 8th, ... use. */
	if ((f->uses & (f->uses - 1)) == 0)
		note_high(f);
	if (s->pool_count[k] < STACK_POOL_BYTES / f->size) {
		list_push(&s->pool[k], &f->all);
		s->pool_count[k]++;
	} else {
		unmap_fiber(f);
	}
}

void
fiber_unmap_all(struct sched *s)
{
	struct list *l;

	metric_move(M_FIBERS, -(int64_t)s->fiber_count);
	s->fiber_count = 0;
	while ((l = list_pop(&s->fibers)))
		unmap_fiber(LIST_ENTRY(l, struct fiber, all));
	for (int k = 0; k < STACK_SIZES; k++) {
		while ((l = list_pop(&s->pool[k])))
			unmap_fiber(LIST_ENTRY(l, struct fiber, all));
		s->pool_count[k] = 0;
	}
}

void
fiber_resume(struct fiber *f)
{
	ASSERT(f->magic == FIBER_MAGIC && f->state == FIBER_READY);
	f->state = FIBER_RUNNING;
	current = f;
	coro_enter(&f->coro);
	current = NULL;
	if (f->coro.done)
		retire(f);
}

struct fiber *
fiber_self(void)
{
	return current;
}

/* ---- waiting ---- */

static void
make_ready(struct fiber *f, enum wake why)
{
	ASSERT(f->magic == FIBER_MAGIC && f->state == FIBER_WAITING);
	list_del(&f->link);
	timer_clear(f->sched->world, &f->timer);
	f->wake = why;
	f->state = FIBER_READY;
	list_push(&f->sched->ready, &f->link);
	sched_kick(f->sched);
}

static void
deadline_ev(void *arg)
{
	make_ready(TAKE(struct fiber, arg, FIBER_MAGIC), WAKE_DEADLINE);
}

/* Waits on a cond's list, or with NULL only for time and cancel. */
static enum wake
wait_on(struct list *waiters, uint64_t deadline_us, bool deaf)
{
	struct fiber *f = current;
	struct world *w;

	ASSERT(f && f->magic == FIBER_MAGIC && f->state == FIBER_RUNNING);
	w = f->sched->world;
	if (f->cancelled && !deaf)
		return WAKE_CANCEL;
	if (deadline_us != WORLD_FOREVER) {
		if (world_mono_us(w) >= deadline_us)
			return WAKE_DEADLINE;
		timer_set(w, &f->timer, deadline_us, deadline_ev, f);
	}
	f->deaf = deaf;
	f->state = FIBER_WAITING;
	if (waiters)
		list_push(waiters, &f->link);
	coro_leave(&f->coro);
	return f->wake;
}

void
cond_init(struct cond *c, struct world *w)
{
	c->world = w;
	list_init(&c->waiters);
}

enum wake
cond_wait(struct cond *c, uint64_t deadline_us)
{
	ASSERT(current && current->sched == c->world->sched);
	return wait_on(&c->waiters, deadline_us, false);
}

void
cond_wait_hard(struct cond *c)
{
	ASSERT(current && current->sched == c->world->sched);
	wait_on(&c->waiters, WORLD_FOREVER, true);
}

void
cond_signal(struct cond *c)
{
	if (!list_empty(&c->waiters))
		make_ready(LIST_ENTRY(c->waiters.next, struct fiber, link),
		    WAKE_EVENT);
}

void
cond_broadcast(struct cond *c)
{
	while (!list_empty(&c->waiters))
		cond_signal(c);
}

enum wake
fiber_sleep(struct world *w, uint64_t until_us)
{
	ASSERT(current && current->sched == w->sched);
	return wait_on(NULL, until_us, false);
}

void
fiber_yield(struct world *w)
{
	struct fiber *f = current;

	ASSERT(f && f->sched == w->sched && f->state == FIBER_RUNNING);
	f->state = FIBER_READY;
	list_push(&f->sched->ready, &f->link);
	coro_leave(&f->coro);
}

void
fiber_cancel(struct fiber *f)
{
	ASSERT(f->magic == FIBER_MAGIC);
	f->cancelled = true;
	if (f->state == FIBER_WAITING && !f->deaf)
		make_ready(f, WAKE_CANCEL);
}

void
fiber_uncancel(struct fiber *f)
{
	ASSERT(f->magic == FIBER_MAGIC);
	f->cancelled = false;
}

bool
fiber_cancelled(const struct fiber *f)
{
	ASSERT(f->magic == FIBER_MAGIC);
	return f->cancelled;
}

size_t
fiber_count(const struct sched *s)
{
	return s->fiber_count;
}

size_t
fiber_stack_high(void)
{
	return atomic_load(&stack_high);
}
