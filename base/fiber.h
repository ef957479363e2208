/* Fibers: stackful coroutines scheduled by a world's loop.
 *
 * Code that waits runs in a fiber and reads as straight-line code; a wait has
 * three ends: the event, the deadline, the cancel.  Fibers of one world run on
 * its thread, one at a time, and switch only inside the calls below.  Nothing
 * that was read before a wait may be trusted after it.
 *
 * Libraries that call back (libpg_query, OpenSSL, ICU) are leaves: no fiber
 * waits inside a callback of theirs. */
#ifndef BASE_FIBER_H
#define BASE_FIBER_H

#include "base/world.h"

#define FIBER_STACK_NODE    (64 * 1024)
#define FIBER_STACK_GATEWAY (256 * 1024)

enum wake { WAKE_EVENT, WAKE_DEADLINE, WAKE_CANCEL };

/* What fibers wait on. Owned by whoever embeds it; zero-initialised by
 * cond_init. */
struct cond {
	struct world *world;
	struct list waiters;
};

/* The scheduler of a world: made by the world's constructor. */
struct sched *sched_new(struct world *w);
/* Runs due timers, posted calls and ready fibers until none is left or a
 * budget is spent; then calls ops->arm for the rest. */
void sched_run(struct sched *s);
/* Something became ready outside sched_run. */
void sched_kick(struct sched *s);
/* Unmaps the stacks of all fibers without running them (a simulated crash). */
void sched_destroy(struct sched *s);

/* Starts fn(arg) on a later step. The fiber frees itself when fn returns; a
 * handle is valid until then. stack is one of FIBER_STACK_*. */
struct fiber *fiber_spawn(struct world *w, const char *name, size_t stack,
    void (*fn)(void *arg), void *arg);
struct fiber *fiber_self(void); /* NULL outside fibers */
/* Makes the present wait, or the next one, return WAKE_CANCEL. Sticky until
 * fiber_uncancel. */
void fiber_cancel(struct fiber *f);
void fiber_uncancel(struct fiber *f);
bool fiber_cancelled(const struct fiber *f);

void cond_init(struct cond *c, struct world *w);
/* Waits for a signal. Spurious WAKE_EVENT is possible: test your predicate in
 * a loop. deadline_us is monotonic, WORLD_FOREVER for none. */
enum wake cond_wait(struct cond *c, uint64_t deadline_us);
/* As cond_wait, deaf to cancel: for short waits whose memory is on this stack
 * (an engine job). */
void cond_wait_hard(struct cond *c);
void cond_signal(struct cond *c); /* wakes the longest waiter */
void cond_broadcast(struct cond *c);
/* WAKE_DEADLINE or WAKE_CANCEL. */
enum wake fiber_sleep(struct world *w, uint64_t until_us);
/* Lets others run. */
void fiber_yield(struct world *w);

/* Fibers now alive, and the deepest stack use seen, in bytes. */
size_t fiber_count(const struct sched *s);
size_t fiber_stack_high(void);

#endif
