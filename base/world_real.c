#include "base/world_real.h"

#include <errno.h>
#include <event2/event.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fiber.h"
#include "base/metrics.h"
#include "base/real_int.h"

struct call {
	void (*fn)(void *arg);
	void *arg;
};

struct calls {
	struct call *v;
	size_t n;
	size_t cap;
};

/* ---- clocks and the loop ---- */

static uint64_t
real_mono(struct world *w)
{
	(void)w;
	return clock_mono_us();
}

static uint64_t
real_wall(struct world *w)
{
	(void)w;
	return clock_wall_us();
}

static void
real_random(struct world *w, void *p, size_t n)
{
	(void)w;
	clock_random(p, n);
}

struct real_world {
	struct world w;
	uint32_t magic;
	struct event_base *base;
	struct event *tick;
	bool ticking;
	/* A timer of our own: libevent's takes a system call in every turn, and
	 * its clock stands still while the machine sleeps. */
	int alarm_fd;
	struct event *alarm_ev;
	uint64_t alarm_us; /* when it rings; WORLD_FOREVER = not set */
	struct event *call_ev;
	struct event *signals[2];
	void (*signal_fn)(void *arg, int sig);
	void *signal_arg;
	struct world_ops ops;
	int call_fd;
	/* What other threads want run here; `inbox` and its arena belong to
	 * the lock, `batch` to the loop. */
	pthread_mutex_t lock;
	struct arena *call_arena;
	struct calls inbox;
	struct calls batch;
	struct lookups lookups;
};

static struct real_world *
real(struct world *w)
{
	struct real_world *r = CONTAINER(w, struct real_world, w);

	ASSERT(r->magic == REAL_WORLD_MAGIC);
	return r;
}

/* Only ever brought forward: one that rings early does no harm, and most of
 * what is waited for comes before its deadline. */
static void
set_alarm(struct real_world *r, uint64_t when_us)
{
	struct itimerspec at = {
	    .it_value = {.tv_sec = (time_t)(when_us / 1000000),
		.tv_nsec = (long)(when_us % 1000000) * 1000}};

	if (when_us >= r->alarm_us)
		return;
	r->alarm_us = when_us;
	ASSERT(timerfd_settime(r->alarm_fd, TFD_TIMER_ABSTIME, &at, NULL) == 0);
}

static void
real_arm(struct world *w, uint64_t when_us)
{
	struct real_world *r = real(w);
	struct timeval now = {0, 0};

	if (when_us != 0)
		set_alarm(r, when_us);
	else if (!r->ticking)
		event_active(r->tick, EV_TIMEOUT, 0);
	else
		/* What a turn left over waits for the sockets: an event made
		 * active by itself would run again before the loop looks at
		 * them. */
		event_add(r->tick, &now);
}

static void
tick_ev(evutil_socket_t fd, short what, void *arg)
{
	struct real_world *r = TAKE(struct real_world, arg, REAL_WORLD_MAGIC);
	uint64_t start_us = clock_mono_us();

	(void)fd, (void)what;
	r->ticking = true;
	sched_run(r->w.sched);
	r->ticking = false;
	metric_time(M_LOOP_TURN, clock_mono_us() - start_us);
}

static void
alarm_ev(evutil_socket_t fd, short what, void *arg)
{
	struct real_world *r = TAKE(struct real_world, arg, REAL_WORLD_MAGIC);
	uint64_t n;

	/* It may have been set anew since it rang. */
	if (read(fd, &n, sizeof n) != sizeof n)
		return;
	r->alarm_us = WORLD_FOREVER;
	tick_ev(-1, what, arg);
}

/* ---- calls from other threads ---- */

/* A post of the scheduler, so that these take turns with everything else. */
static void
run_batch(void *arg)
{
	struct real_world *r = TAKE(struct real_world, arg, REAL_WORLD_MAGIC);
	struct calls swap;

	pthread_mutex_lock(&r->lock);
	swap = r->batch;
	r->batch = r->inbox;
	r->inbox = swap;
	r->inbox.n = 0;
	pthread_mutex_unlock(&r->lock);
	for (size_t i = 0; i < r->batch.n; i++)
		r->batch.v[i].fn(r->batch.v[i].arg);
	r->batch.n = 0;
}

static void
call_ev(evutil_socket_t fd, short what, void *arg)
{
	struct real_world *r = TAKE(struct real_world, arg, REAL_WORLD_MAGIC);
	uint64_t n;

	(void)what;
	if (read(fd, &n, sizeof n) != sizeof n)
		return;
	world_post(&r->w, run_batch, r);
}

void
world_real_call(struct world *w, void (*fn)(void *arg), void *arg)
{
	struct real_world *r = real(w);
	struct calls *in = &r->inbox;
	uint64_t one = 1;
	bool first;

	pthread_mutex_lock(&r->lock);
	if (in->n == in->cap) {
		size_t cap = in->cap ? in->cap * 2 : 64;

		in->v = arena_grow(r->call_arena, in->v,
		    in->cap * sizeof *in->v, cap * sizeof *in->v);
		in->cap = cap;
	}
	first = in->n == 0;
	in->v[in->n++] = (struct call){fn, arg};
	/* Inside the lock, so that a world that was drained and freed has no
	 * late writer to its descriptor. */
	if (first)
		while (
		    write(r->call_fd, &one, sizeof one) < 0 && errno == EINTR)
			continue;
	pthread_mutex_unlock(&r->lock);
}

/* ---- birth and death ---- */

static const struct world_ops real_ops = {
    .mono_us = real_mono,
    .wall_us = real_wall,
    .random = real_random,
    .arm = real_arm,
    .net_connect = real_net_connect,
    .net_listen = real_net_listen,
    .net_unlisten = real_net_unlisten,
    .net_adopt = real_net_adopt,
    .net_send = real_net_send,
    .net_backlog = real_net_backlog,
    .net_pause = real_net_pause,
    .net_close = real_net_close,
    .net_peer = real_net_peer,
};

static struct event_base *
base_new(void)
{
	struct event_config *conf = event_config_new();
	struct event_base *base;

	ASSERT(conf);
	/* One thread per loop: no locks. */
	event_config_set_flag(conf, EVENT_BASE_FLAG_NOLOCK);
	base = event_base_new_with_config(conf);
	event_config_free(conf);
	ASSERT(base);
	return base;
}

static struct event *
watch(struct real_world *r, int fd, event_callback_fn fn)
{
	struct event *ev = event_new(r->base, fd, EV_READ | EV_PERSIST, fn, r);

	ASSERT(ev && event_add(ev, NULL) == 0);
	return ev;
}

struct world *
world_real_new(const char *name,
    struct err *(*open_engine)(struct world *w, struct arena *a,
	const struct engine_config *conf, struct engine **out))
{
	struct arena *a = arena_new(NULL, "world");
	struct real_world *r = NEW(a, struct real_world);

	/* A peer that left is an error of one write. */
	signal(SIGPIPE, SIG_IGN);
	r->magic = REAL_WORLD_MAGIC;
	r->ops = real_ops;
	r->ops.engine_open = open_engine;
	r->w.ops = &r->ops;
	r->w.arena = a;
	r->w.name = arena_strdup(a, name);
	r->base = base_new();
	r->tick = event_new(r->base, -1, 0, tick_ev, r);
	r->call_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	r->alarm_fd =
	    timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
	r->alarm_us = WORLD_FOREVER;
	ASSERT(r->tick && r->call_fd >= 0 && r->alarm_fd >= 0);
	r->call_ev = watch(r, r->call_fd, call_ev);
	r->alarm_ev = watch(r, r->alarm_fd, alarm_ev);
	ASSERT(pthread_mutex_init(&r->lock, NULL) == 0);
	r->call_arena = arena_new(NULL, "calls");
	list_init(&r->lookups.running);
	r->lookups.arena = arena_new(NULL, "lookups");
	sched_new(&r->w);
	return &r->w;
}

void
world_real_run(struct world *w)
{
	struct real_world *r = real(w);

	ASSERT(event_base_loop(r->base, EVLOOP_NO_EXIT_ON_EMPTY) >= 0);
}

void
world_real_stop(struct world *w)
{
	event_base_loopbreak(real(w)->base);
}

void
world_real_free(struct world *w)
{
	struct real_world *r = real(w);
	struct event_base *base = r->base;
	struct event *tick = r->tick, *alarm = r->alarm_ev;
	int alarm_fd = r->alarm_fd;
	struct arena *calls = r->call_arena, *lookups = r->lookups.arena;

	addr_lookups_join(&r->lookups);
	for (int i = 0; i < 2; i++)
		if (r->signals[i])
			event_free(r->signals[i]);
	event_free(r->call_ev);
	close(r->call_fd);
	pthread_mutex_destroy(&r->lock);
	/* Sockets, streams and fibers go by their cleanups, which may still
	 * want the tick. */
	arena_free(w->arena);
	arena_free(lookups);
	arena_free(calls);
	event_free(tick);
	event_free(alarm);
	close(alarm_fd);
	event_base_free(base);
}

struct lookups *
real_lookups(struct world *w)
{
	return &real(w)->lookups;
}

struct event_base *
world_real_base(struct world *w)
{
	return real(w)->base;
}

/* ---- signals ---- */

static void
signal_ev(evutil_socket_t sig, short what, void *arg)
{
	struct real_world *r = TAKE(struct real_world, arg, REAL_WORLD_MAGIC);

	(void)what;
	r->signal_fn(r->signal_arg, (int)sig);
}

void
world_real_on_signal(struct world *w, void (*fn)(void *arg, int sig), void *arg)
{
	static const int sigs[2] = {SIGTERM, SIGINT};
	struct real_world *r = real(w);

	r->signal_fn = fn;
	r->signal_arg = arg;
	for (int i = 0; i < 2; i++) {
		ASSERT(!r->signals[i]);
		r->signals[i] = evsignal_new(r->base, sigs[i], signal_ev, r);
		ASSERT(r->signals[i] && event_add(r->signals[i], NULL) == 0);
	}
}
