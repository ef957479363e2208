#include "base/world_real.h"

#include <signal.h>
#include <unistd.h>

#include "base/fiber.h"
#include "base/metrics.h"
#include "regress/lib/cu.h"

static struct world *w;

static void
stop_ev(void *arg)
{
	(void)arg;
	world_real_stop(w);
}

static void
clocks_and_random_move(void)
{
	uint64_t a, b;

	w = world_real_new("clock", NULL);
	a = world_mono_us(w);
	usleep(2000);
	CHECK(world_mono_us(w) >= a + 2000);
	CHECK(world_wall_us(w) > UINT64_C(1600000000000000));
	a = world_random_u64(w);
	b = world_random_u64(w);
	CHECK(a != b);
	CHECK(w->sched != NULL);
	world_real_free(w);
}

static void
a_timer_fires_in_time(void)
{
	struct timer t = {0};
	uint64_t start;

	w = world_real_new("timer", NULL);
	start = world_mono_us(w);
	timer_set(w, &t, start + 20000, stop_ev, NULL);
	world_real_run(w);
	CHECK(world_mono_us(w) >= start + 20000);
	CHECK(world_mono_us(w) < start + 2000000);
	world_real_free(w);
}

static void
count_ev(void *arg)
{
	++*(int *)arg;
}

/* The system's timer is only brought forward, and rings for those too that were
 * cleared meanwhile. */
static void
timers_after_a_cleared_one_fire_in_time(void)
{
	struct timer never = {0}, first = {0}, last = {0};
	int n_never = 0, n_first = 0;
	uint64_t start;

	w = world_real_new("timer", NULL);
	start = world_mono_us(w);
	timer_set(w, &last, start + 60000, stop_ev, NULL);
	timer_set(w, &never, start + 10000, count_ev, &n_never);
	timer_set(w, &first, start + 30000, count_ev, &n_first);
	timer_clear(w, &never);
	world_real_run(w);
	CHECK(world_mono_us(w) >= start + 60000);
	CHECK(world_mono_us(w) < start + 2000000);
	CHECK(n_never == 0);
	CHECK(n_first == 1);
	world_real_free(w);
}

#define THREADS 4
#define CALLS   2000

struct caller {
	void *thread;
	int next; /* what the loop expects */
	bool in_order;
};

static struct caller callers[THREADS];
static int calls_left;

struct numbered {
	struct caller *from;
	int n;
};

static struct numbered numbered[THREADS][CALLS];

static void
called_ev(void *arg)
{
	struct numbered *x = arg;

	x->from->in_order &= x->from->next++ == x->n;
	if (--calls_left == 0)
		world_real_stop(w);
}

static void
caller_main(void *arg)
{
	struct caller *c = arg;
	int k = (int)(c - callers);

	for (int i = 0; i < CALLS; i++) {
		numbered[k][i] = (struct numbered){c, i};
		world_real_call(w, called_ev, &numbered[k][i]);
		metric_inc(M_LOG_LINES_DROPPED);
	}
}

static void
calls_of_other_threads_arrive_in_order(void)
{
	uint64_t before = metric_total(M_LOG_LINES_DROPPED);

	w = world_real_new("calls", NULL);
	calls_left = THREADS * CALLS;
	for (int i = 0; i < THREADS; i++) {
		callers[i] = (struct caller){.in_order = true};
		world_real_thread(
		    "caller", caller_main, &callers[i], &callers[i].thread);
	}
	world_real_run(w);
	for (int i = 0; i < THREADS; i++) {
		world_real_join(callers[i].thread);
		CHECK(callers[i].in_order);
		CHECK(callers[i].next == CALLS);
	}
	/* Counters outlive their threads. */
	CHECK(metric_total(M_LOG_LINES_DROPPED) == before + THREADS * CALLS);
	world_real_free(w);
}

static int got_signal;

static void
signal_ev(void *arg, int sig)
{
	(void)arg;
	got_signal = sig;
	world_real_stop(w);
}

static void
raise_ev(void *arg)
{
	(void)arg;
	raise(SIGTERM);
}

static void
signals_run_on_the_loop(void)
{
	w = world_real_new("signal", NULL);
	world_real_on_signal(w, signal_ev, NULL);
	world_post(w, raise_ev, NULL);
	world_real_run(w);
	CHECK(got_signal == SIGTERM);
	CHECK(signal(SIGPIPE, SIG_IGN) == SIG_IGN);
	world_real_free(w);
}

static void
pinger(void *arg)
{
	int *n = arg;

	for (int i = 0; i < 100000; i++) {
		fiber_yield(w);
		++*n;
	}
	if (*n == 200000)
		world_real_stop(w);
}

static void
fibers_take_turns_on_a_real_loop(void)
{
	int n = 0;

	w = world_real_new("fibers", NULL);
	fiber_spawn(w, "a", FIBER_STACK_NODE, pinger, &n);
	fiber_spawn(w, "b", FIBER_STACK_NODE, pinger, &n);
	world_real_run(w);
	CHECK(n == 200000);
	world_real_free(w);
}

CU_MAIN("world_real", {"clocks_and_random_move", clocks_and_random_move},
    {"a_timer_fires_in_time", a_timer_fires_in_time},
    {"timers_after_a_cleared_one_fire_in_time",
	timers_after_a_cleared_one_fire_in_time},
    {"calls_of_other_threads_arrive_in_order",
	calls_of_other_threads_arrive_in_order},
    {"signals_run_on_the_loop", signals_run_on_the_loop},
    {"fibers_take_turns_on_a_real_loop", fibers_take_turns_on_a_real_loop})
