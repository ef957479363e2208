/* The world seam: everything that is not a pure function of its arguments.
 *
 * Time, timers, random numbers, frame connections, and the storage engine come
 * from a struct world that is passed down, never global.  There are two kinds:
 * the real one (world_real.h: libevent, clock_gettime, getrandom, WiredTiger)
 * and the simulated one (regress/sim), where one seed gives one exact run.
 *
 * One world serves one thread (in the simulator: one simulated process), has
 * one scheduler of fibers, and one arena that everything of that thread or
 * process hangs from: a simulated crash is freeing that arena.
 *
 * Completion is always later: no call here runs a callback or resumes a fiber
 * before it returns. */
#ifndef BASE_WORLD_H
#define BASE_WORLD_H

#include "base/err.h"
#include "base/list.h"

struct engine;
struct engine_config;
struct fiber;
struct net_conn;
struct net_events;
struct net_listener;
struct sched;
struct world;

struct world_ops {
	/* Microseconds; counts suspended time; only differences mean
	 * anything. */
	uint64_t (*mono_us)(struct world *w);
	/* Microseconds since 1970; may jump. */
	uint64_t (*wall_us)(struct world *w);
	void (*random)(struct world *w, void *p, size_t n);
	/* The scheduler wants sched_run() at this monotonic time (replaces
	 * the earlier wish). 0 = as soon as possible. Called on the world's
	 * own thread only. An early sched_run does no harm. */
	void (*arm)(struct world *w, uint64_t when_us);

	/* Frame connections: see net.h for the contract. */
	struct err *(*net_connect)(struct world *w, struct arena *a,
	    const char *addr, const struct net_events *ev, void *owner,
	    struct net_conn **out);
	struct err *(*net_listen)(struct world *w, struct arena *a,
	    const char *addr,
	    void (*accept_ev)(void *owner, struct net_conn *c), void *owner,
	    struct net_listener **out);
	void (*net_unlisten)(struct net_listener *l);
	void (*net_adopt)(
	    struct net_conn *c, const struct net_events *ev, void *owner);
	void (*net_send)(struct net_conn *c, struct str frame);
	size_t (*net_backlog)(const struct net_conn *c);
	void (*net_pause)(struct net_conn *c, bool paused);
	void (*net_close)(struct net_conn *c);
	const char *(*net_peer)(const struct net_conn *c);

	/* See engine.h. */
	struct err *(*engine_open)(struct world *w, struct arena *a,
	    const struct engine_config *conf, struct engine **out);
};

struct world {
	const struct world_ops *ops;
	struct arena *arena;
	struct sched *sched; /* fiber.h */
	const char *name;    /* in log lines: "node-1", "gateway-1/2" */
};

#define WORLD_FOREVER UINT64_MAX

static inline uint64_t
world_mono_us(struct world *w)
{
	return w->ops->mono_us(w);
}

static inline uint64_t
world_wall_us(struct world *w)
{
	return w->ops->wall_us(w);
}

static inline void
world_random(struct world *w, void *p, size_t n)
{
	w->ops->random(w, p, n);
}

uint64_t world_random_u64(struct world *w);
/* Uniform in 0 .. below - 1; below > 0. */
uint64_t world_random_below(struct world *w, uint64_t below);

/* Timers: fn runs on the loop, not in a fiber, at or after when_us. The struct
 * is the caller's and zeroed before first use. */
struct timer {
	uint64_t when_us;
	void (*fn)(void *arg);
	void *arg;
	size_t heap_at; /* 1-based place in the heap; 0 = not armed */
};

void timer_set(struct world *w, struct timer *t, uint64_t when_us,
    void (*fn)(void *arg), void *arg);
void timer_clear(struct world *w, struct timer *t);

/* Runs fn(arg) on a later step of this world's loop, in order of posting. */
void world_post(struct world *w, void (*fn)(void *arg), void *arg);

#endif
