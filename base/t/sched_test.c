#include "base/sched_int.h"

#include "base/buf.h"
#include "base/t/fake_world.h"
#include "regress/lib/cu.h"

static struct fake_world fw;
static struct world *const w = &fw.w;

struct tick {
	struct timer timer;
	uint64_t asked_us;
	uint64_t *last_us;
	int *fired;
	bool late;
};

static void
tick_ev(void *arg)
{
	struct tick *t = arg;

	/* Never early, and never before one that was due earlier. */
	t->late = fw.now_us >= t->asked_us && t->asked_us >= *t->last_us;
	*t->last_us = t->asked_us;
	++*t->fired;
}

#define TICKS 500

static void
timers_fire_in_order_of_time(void)
{
	static struct tick t[TICKS];
	uint64_t last_us = 0;
	int fired = 0, kept = 0, ok = 0;

	fake_start(&fw);
	fw.random = cu_seed();
	memset(t, 0, sizeof t);
	for (int i = 0; i < TICKS; i++) {
		t[i].last_us = &last_us;
		t[i].fired = &fired;
		/* Twice: setting again moves it. */
		for (int again = 0; again < 2; again++) {
			t[i].asked_us = 2000 + world_random_below(w, 5000);
			timer_set(
			    w, &t[i].timer, t[i].asked_us, tick_ev, &t[i]);
		}
	}
	for (int i = 0; i < TICKS; i += 3)
		timer_clear(w, &t[i].timer);
	fake_run_until(&fw, 10000);
	for (int i = 0; i < TICKS; i++) {
		kept += i % 3 != 0;
		ok += i % 3 != 0 && t[i].late;
		CHECK(t[i].timer.heap_at == 0);
	}
	CHECK(fired == kept);
	CHECK(ok == kept);
	fake_stop(&fw);
}

static void
the_world_is_asked_for_the_earliest(void)
{
	struct tick a = {.asked_us = 5000}, b = {.asked_us = 3000};
	uint64_t last_us = 0;
	int fired = 0;

	fake_start(&fw);
	a.last_us = b.last_us = &last_us;
	a.fired = b.fired = &fired;
	timer_set(w, &a.timer, 5000, tick_ev, &a);
	CHECK(fw.armed_us == 5000);
	timer_set(w, &b.timer, 3000, tick_ev, &b);
	CHECK(fw.armed_us == 3000);
	fake_run_until(&fw, 3000);
	CHECK(fired == 1);
	CHECK(fw.armed_us == 5000);
	timer_clear(w, &a.timer);
	timer_clear(w, &a.timer);
	fake_run_until(&fw, 6000);
	CHECK(fired == 1);
	fake_stop(&fw);
}

static struct buf trace;
static char one[] = "1", two[] = "2", three[] = "3", posted[] = "posted";

static void
say(void *arg)
{
	buf_printf(&trace, "%s ", (const char *)arg);
}

static void
say_and_post(void *arg)
{
	say(arg);
	world_post(w, say, posted);
}

static void
posts_keep_their_order(void)
{
	fake_start(&fw);
	buf_init(&trace, w->arena);
	world_post(w, say_and_post, one);
	world_post(w, say, two);
	world_post(w, say, three);
	CHECK_STR(buf_cstr(&trace), "");
	fake_run(&fw);
	CHECK_STR(buf_cstr(&trace), "1 2 3 posted ");
	fake_stop(&fw);
}

static int counter;

static void
in_order(void *arg)
{
	if (counter == (int)(intptr_t)arg)
		counter++;
}

static void
many_posts_grow_the_ring(void)
{
	fake_start(&fw);
	counter = 0;
	/* An offset, so that growing has to unwrap. */
	for (int i = 0; i < 10; i++)
		world_post(w, in_order, (void *)(intptr_t)i);
	fake_run(&fw);
	for (int i = 10; i < 3000; i++)
		world_post(w, in_order, (void *)(intptr_t)i);
	fake_run(&fw);
	CHECK(counter == 3000);
	fake_stop(&fw);
}

static void
random_below_stays_below(void)
{
	bool seen[7] = {false};

	fake_start(&fw);
	for (int i = 0; i < 1000; i++) {
		uint64_t v = world_random_below(w, 7);

		MUST(v < 7);
		seen[v] = true;
	}
	for (int i = 0; i < 7; i++)
		CHECK(seen[i]);
	CHECK(world_random_below(w, 1) == 0);
	fake_stop(&fw);
}

CU_MAIN("sched", {"timers_fire_in_order_of_time", timers_fire_in_order_of_time},
    {"the_world_is_asked_for_the_earliest",
	the_world_is_asked_for_the_earliest},
    {"posts_keep_their_order", posts_keep_their_order},
    {"many_posts_grow_the_ring", many_posts_grow_the_ring},
    {"random_below_stays_below", random_below_stays_below})
