/* Inside of the scheduler: sched.c has timers, posts and the run loop, fiber.c
 * the fibers and what they wait on. */
#ifndef BASE_SCHED_INT_H
#define BASE_SCHED_INT_H

#include "base/coro.h"
#include "base/fiber.h"

#define SCHED_MAGIC 0x53434844u
#define FIBER_MAGIC 0x46494252u

/* Stacks kept for the next fiber, per size: to map and unmap one costs more
 * than what most fibers do. Few of their pages are ever touched. */
#define STACK_POOL_BYTES (64u << 20)
#define STACK_SIZES      2

enum fiber_state {
	FIBER_READY,   /* on sched.ready */
	FIBER_RUNNING, /* at most one */
	FIBER_WAITING  /* for cond, timer, or cancel */
};

/* Lives at the top of its own stack. */
struct fiber {
	uint32_t magic;
	enum fiber_state state;
	struct coro coro;
	struct sched *sched;
	const char *name;
	char *low; /* its mapping */
	size_t size;
	uint64_t uses;    /* of this stack */
	struct list all;  /* on sched.fibers, or in the pool */
	struct list link; /* on sched.ready, or on cond.waiters */
	struct timer timer;
	enum wake wake;
	bool cancelled;
	bool deaf; /* this wait ignores cancel */
};

struct post {
	void (*fn)(void *arg);
	void *arg;
};

struct sched {
	uint32_t magic;
	struct world *world;
	struct arena *arena;
	struct timer **heap; /* heap[1] is the next due */
	size_t timers;
	size_t heap_cap;
	struct post *posts; /* ring */
	size_t post_at;
	size_t post_count;
	size_t post_cap; /* a power of two */
	struct list ready;
	struct list fibers;
	size_t fiber_count;
	struct list pool[STACK_SIZES];
	size_t pool_count[STACK_SIZES];
	uint64_t armed_us; /* what the world was asked for */
	bool running;
};

/* Runs the fiber until it waits or ends. */
void fiber_resume(struct fiber *f);
/* Unmaps every stack, live or pooled. */
void fiber_unmap_all(struct sched *s);

#endif
