#include "base/fiber.h"

#include <stdlib.h>

#include "base/metrics.h"
#include "base/t/fake_world.h"
#include "regress/lib/cu.h"

static struct fake_world fw;
static struct world *const w = &fw.w;
static struct buf trace;
static char name_a[] = "a", name_b[] = "b";

static void
begin(void)
{
	fake_start(&fw);
	buf_init(&trace, w->arena);
}

static const char *
traced(void)
{
	return buf_cstr(&trace);
}

/* ---- running ---- */

static void
note_ev(void *arg)
{
	buf_printf(&trace, "%s ", (const char *)arg);
}

static void
spawn_is_later(void)
{
	begin();
	fiber_spawn(w, "a", FIBER_STACK_NODE, note_ev, name_a);
	fiber_spawn(w, "b", FIBER_STACK_GATEWAY, note_ev, name_b);
	CHECK_STR(traced(), "");
	CHECK(fw.armed_us == 0);
	CHECK(fiber_count(w->sched) == 2);
	fake_run(&fw);
	CHECK_STR(traced(), "a b ");
	CHECK(fiber_count(w->sched) == 0);
	CHECK(fiber_self() == NULL);
	fake_stop(&fw);
}

static void
yielder(void *arg)
{
	for (int i = 0; i < 3; i++) {
		note_ev(arg);
		fiber_yield(w);
	}
}

static void
yield_takes_turns(void)
{
	begin();
	fiber_spawn(w, "a", FIBER_STACK_NODE, yielder, name_a);
	fiber_spawn(w, "b", FIBER_STACK_NODE, yielder, name_b);
	fake_run(&fw);
	CHECK_STR(traced(), "a b a b a b ");
	fake_stop(&fw);
}

static void
endless(void *arg)
{
	size_t *n = arg;

	for (;;) {
		++*n;
		fiber_yield(w);
	}
}

static void
a_busy_fiber_leaves_the_loop_its_turn(void)
{
	size_t n = 0;

	begin();
	fiber_spawn(w, "busy", FIBER_STACK_NODE, endless, &n);
	fw.armed_us = WORLD_FOREVER;
	sched_run(w->sched);
	CHECK(n > 0 && n < 100000);
	CHECK(fw.armed_us == 0);
	fake_stop(&fw);
}

static size_t
recurse(size_t depth)
{
	volatile char pad[512];
	size_t below;

	pad[depth & 511] = 1;
	below = depth == 0 ? 0 : recurse(depth - 1);
	/* Read after the call, so that each frame has to stay. */
	return below + (size_t)pad[depth & 511];
}

static void
deep(void *arg)
{
	*(size_t *)arg = recurse(40);
}

static void
stack_use_is_measured(void)
{
	size_t got = 0;

	begin();
	fiber_spawn(w, "deep", FIBER_STACK_GATEWAY, deep, &got);
	fake_run(&fw);
	CHECK(got == 41);
	CHECK(fiber_stack_high() >= 40 * 512);
	CHECK(fiber_stack_high() <= FIBER_STACK_GATEWAY);
	CHECK(metric_total(M_FIBER_STACK_HIGH) == fiber_stack_high());
	fake_stop(&fw);
}

static void
note_stack(void *arg)
{

	*(uintptr_t *)arg = (uintptr_t)__builtin_frame_address(0);
}

static void
stacks_are_used_again(void)
{
	uintptr_t first = 0, second = 0;

	begin();
	fiber_spawn(w, "one", FIBER_STACK_NODE, note_stack, &first);
	fake_run(&fw);
	fiber_spawn(w, "two", FIBER_STACK_NODE, note_stack, &second);
	fake_run(&fw);
	CHECK(first != 0 && first == second);
	fake_stop(&fw);
}

static void
count_up(void *arg)
{
	++*(int *)arg;
}

static void
more_fibers_than_the_pool_keeps(void)
{
	int n = 0;

	begin();
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 200; i++)
			fiber_spawn(w, "n", FIBER_STACK_NODE, count_up, &n);
		CHECK(fiber_count(w->sched) == 200);
		fake_run(&fw);
	}
	CHECK(n == 600);
	CHECK((int64_t)metric_total(M_FIBERS) == 0);
	fake_stop(&fw);
}

/* ---- the three ends of a wait ---- */

struct waiting {
	struct cond cond;
	uint64_t deadline_us;
	int waits;
	bool hard;
};

static void
waiter(void *arg)
{
	static const char *const names[] = {"event", "deadline", "cancel"};
	struct waiting *x = arg;

	for (int i = 0; i < x->waits; i++) {
		if (x->hard) {
			cond_wait_hard(&x->cond);
			buf_printf(&trace, "hard ");
		} else {
			buf_printf(&trace, "%s ",
			    names[cond_wait(&x->cond, x->deadline_us)]);
		}
	}
}

static struct fiber *
start_waiter(struct waiting *x, uint64_t deadline_us, int waits)
{
	struct fiber *f;

	cond_init(&x->cond, w);
	x->deadline_us = deadline_us;
	x->waits = waits;
	x->hard = false;
	f = fiber_spawn(w, "waiter", FIBER_STACK_NODE, waiter, x);
	fake_run(&fw);
	return f;
}

static void
a_wait_ends_by_its_event(void)
{
	struct waiting x;

	begin();
	start_waiter(&x, 5000, 1);
	cond_signal(&x.cond);
	CHECK_STR(traced(), ""); /* later, never inside the call */
	fake_run_until(&fw, 10000);
	CHECK_STR(traced(), "event ");
	fake_stop(&fw);
}

static void
a_wait_ends_by_its_deadline(void)
{
	struct waiting x;

	begin();
	start_waiter(&x, 5000, 1);
	fake_run_until(&fw, 4999);
	CHECK_STR(traced(), "");
	fake_run_until(&fw, 5000);
	CHECK_STR(traced(), "deadline ");
	cond_signal(&x.cond); /* nobody there */
	fake_stop(&fw);
}

static void
a_wait_ends_by_cancel(void)
{
	struct waiting x;
	struct fiber *f;

	begin();
	f = start_waiter(&x, WORLD_FOREVER, 2);
	fiber_cancel(f);
	fake_run(&fw);
	/* It sticks. */
	CHECK_STR(traced(), "cancel cancel ");
	fake_stop(&fw);
}

static void
uncancel_lets_it_wait_again(void)
{
	struct waiting x;
	struct fiber *f;

	begin();
	f = start_waiter(&x, WORLD_FOREVER, 2);
	fiber_cancel(f);
	CHECK(fiber_cancelled(f));
	fiber_uncancel(f);
	fake_run(&fw);
	CHECK_STR(traced(), "cancel ");
	cond_signal(&x.cond);
	fake_run(&fw);
	CHECK_STR(traced(), "cancel event ");
	fake_stop(&fw);
}

static void
a_signal_before_cancel_is_not_lost(void)
{
	struct waiting x;
	struct fiber *f;

	begin();
	f = start_waiter(&x, WORLD_FOREVER, 2);
	cond_signal(&x.cond);
	fiber_cancel(f);
	fake_run(&fw);
	CHECK_STR(traced(), "event cancel ");
	fake_stop(&fw);
}

static void
an_event_at_the_deadline_counts_once(void)
{
	struct waiting x;

	begin();
	start_waiter(&x, 5000, 1);
	fw.now_us = 5000;
	cond_signal(&x.cond);
	fake_run(&fw);
	CHECK_STR(traced(), "event ");
	fake_stop(&fw);
}

static void
a_past_deadline_does_not_wait(void)
{
	struct waiting x;

	begin();
	start_waiter(&x, 999, 1);
	CHECK_STR(traced(), "deadline ");
	fake_stop(&fw);
}

static void
a_hard_wait_is_deaf_to_cancel(void)
{
	struct waiting x = {.hard = true, .waits = 1};
	struct fiber *f;

	begin();
	cond_init(&x.cond, w);
	f = fiber_spawn(w, "hard", FIBER_STACK_NODE, waiter, &x);
	fake_run(&fw);
	fiber_cancel(f);
	fake_run(&fw);
	CHECK_STR(traced(), "");
	cond_signal(&x.cond);
	fake_run(&fw);
	CHECK_STR(traced(), "hard ");
	fake_stop(&fw);
}

struct named {
	struct cond *cond;
	const char *name;
};

static void
named_waiter(void *arg)
{
	struct named *x = arg;

	cond_wait(x->cond, WORLD_FOREVER);
	buf_printf(&trace, "%s ", x->name);
}

static void
signals_wake_the_longest_waiter(void)
{
	struct cond c;
	struct named x[3] = {{&c, "a"}, {&c, "b"}, {&c, "c"}};

	begin();
	cond_init(&c, w);
	for (int i = 0; i < 3; i++)
		fiber_spawn(w, "n", FIBER_STACK_NODE, named_waiter, &x[i]);
	fake_run(&fw);
	cond_signal(&c);
	fake_run(&fw);
	CHECK_STR(traced(), "a ");
	cond_broadcast(&c);
	fake_run(&fw);
	CHECK_STR(traced(), "a b c ");
	fake_stop(&fw);
}

static void
sleeper(void *arg)
{
	(void)arg;
	buf_printf(&trace, "%d ", (int)fiber_sleep(w, 3000));
	buf_printf(&trace, "%d ", (int)fiber_sleep(w, 9000));
}

static void
sleep_ends_by_time_or_cancel(void)
{
	struct fiber *f;

	begin();
	f = fiber_spawn(w, "s", FIBER_STACK_NODE, sleeper, NULL);
	fake_run_until(&fw, 3000);
	CHECK_STR(traced(), "1 ");
	fiber_cancel(f);
	fake_run(&fw);
	CHECK_STR(traced(), "1 2 ");
	CHECK(fw.now_us == 3000);
	fake_stop(&fw);
}

static void
a_crash_unmaps_waiting_fibers(void)
{
	struct waiting x;

	begin();
	start_waiter(&x, 5000, 1);
	CHECK(fiber_count(w->sched) == 1);
	sched_destroy(w->sched);
	CHECK(w->sched == NULL);
	CHECK((int64_t)metric_total(M_FIBERS) == 0);
	fake_stop(&fw);
}

CU_MAIN("fiber", {"spawn_is_later", spawn_is_later},
    {"yield_takes_turns", yield_takes_turns},
    {"a_busy_fiber_leaves_the_loop_its_turn",
	a_busy_fiber_leaves_the_loop_its_turn},
    {"stack_use_is_measured", stack_use_is_measured},
    {"stacks_are_used_again", stacks_are_used_again},
    {"more_fibers_than_the_pool_keeps", more_fibers_than_the_pool_keeps},
    {"a_wait_ends_by_its_event", a_wait_ends_by_its_event},
    {"a_wait_ends_by_its_deadline", a_wait_ends_by_its_deadline},
    {"a_wait_ends_by_cancel", a_wait_ends_by_cancel},
    {"uncancel_lets_it_wait_again", uncancel_lets_it_wait_again},
    {"a_signal_before_cancel_is_not_lost", a_signal_before_cancel_is_not_lost},
    {"an_event_at_the_deadline_counts_once",
	an_event_at_the_deadline_counts_once},
    {"a_past_deadline_does_not_wait", a_past_deadline_does_not_wait},
    {"a_hard_wait_is_deaf_to_cancel", a_hard_wait_is_deaf_to_cancel},
    {"signals_wake_the_longest_waiter", signals_wake_the_longest_waiter},
    {"sleep_ends_by_time_or_cancel", sleep_ends_by_time_or_cancel},
    {"a_crash_unmaps_waiting_fibers", a_crash_unmaps_waiting_fibers})
