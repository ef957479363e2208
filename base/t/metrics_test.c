#include "base/metrics.h"

#include <stdio.h>

#include "base/world_real.h"
#include "regress/lib/cu.h"

static void
counters_add_up(void)
{
	uint64_t before = metric_total(M_NET_FRAMES_IN);

	metric_inc(M_NET_FRAMES_IN);
	metric_add(M_NET_FRAMES_IN, 41);
	CHECK(metric_total(M_NET_FRAMES_IN) == before + 42);
}

static void
other_thread(void *arg)
{
	(void)arg;
	metric_add(M_NET_FRAMES_OUT, 5);
	metric_move(M_FIBERS, 3);
	metric_peak(M_FIBER_STACK_HIGH, 777777);
}

static void
an_ended_thread_leaves_counts_but_no_gauges(void)
{
	uint64_t out = metric_total(M_NET_FRAMES_OUT);
	void *thread;

	world_real_thread("other", other_thread, NULL, &thread);
	world_real_join(thread);
	CHECK(metric_total(M_NET_FRAMES_OUT) == out + 5);
	CHECK((int64_t)metric_total(M_FIBERS) == 0);
	CHECK(metric_total(M_FIBER_STACK_HIGH) == 777777);
	metric_peak(M_FIBER_STACK_HIGH, 5);
	CHECK(metric_total(M_FIBER_STACK_HIGH) == 777777);
}

static void
gauges_move_both_ways(void)
{
	metric_set(M_FIBERS, -3);
	metric_move(M_FIBERS, 5);
	metric_move(M_FIBERS, -1);
	CHECK(metric_total(M_FIBERS) == 1);
	metric_set(M_FIBERS, 0);
}

static bool
has(const char *text, const char *line)
{
	bool found = strstr(text, line) != NULL;

	if (!found)
		printf("lacks: %s\n", line);
	return found;
}

static void
the_text_is_prometheus(void)
{
	struct arena *a = arena_new(NULL, "t");
	const char *text;
	struct buf b;

	metric_add(M_NET_FRAMES_IN, 3);
	metric_set(M_FIBERS, -2);
	metric_time(M_LOOP_TURN, 0);
	metric_time(M_LOOP_TURN, 1);
	metric_time(M_LOOP_TURN, 2);
	metric_time(M_LOOP_TURN, 3);
	metric_time(M_LOOP_TURN, UINT64_C(1) << 40);
	buf_init(&b, a);
	metrics_print(&b);
	metric_set(M_FIBERS, 0);
	text = buf_cstr(&b);
	CHECK(has(text, "# HELP skaidb_net_frames_in_total Node frames"));
	CHECK(has(text, "# TYPE skaidb_net_frames_in_total counter\n"
			"skaidb_net_frames_in_total 3\n"));
	CHECK(has(text, "# TYPE skaidb_fibers gauge\nskaidb_fibers -2\n"));
	CHECK(
	    has(text, "# TYPE skaidb_loop_turn_seconds histogram\n"
		      "skaidb_loop_turn_seconds_bucket{le=\"0.000001\"} 2\n"
		      "skaidb_loop_turn_seconds_bucket{le=\"0.000002\"} 3\n"
		      "skaidb_loop_turn_seconds_bucket{le=\"0.000004\"} 4\n"));
	CHECK(has(text, "_bucket{le=\"67.108864\"} 4\n"
			"skaidb_loop_turn_seconds_bucket{le=\"+Inf\"} 5\n"
			"skaidb_loop_turn_seconds_sum 1099511.627782\n"
			"skaidb_loop_turn_seconds_count 5\n"));
	arena_free(a);
}

static void
members_have_a_line_each(void)
{
	struct arena *a = arena_new(NULL, "t");
	const char *text;
	struct buf b;

	metric_set_member(M_NODE_LAG, 3, 7);
	metric_set_member(M_NODE_LAG, 2, 5);
	metric_set_member(M_NODE_LAG, 3, 0);
	buf_init(&b, a);
	metrics_print(&b);
	text = buf_cstr(&b);
	CHECK(has(text, "# TYPE skaidb_node_member_lag_entries gauge\n"
			"skaidb_node_member_lag_entries{member=\"3\"} 0\n"
			"skaidb_node_member_lag_entries{member=\"2\"} 5\n"));
	arena_free(a);
}

/* The first needs counters at zero. */
CU_MAIN("metrics", {"the_text_is_prometheus", the_text_is_prometheus},
    {"counters_add_up", counters_add_up},
    {"an_ended_thread_leaves_counts_but_no_gauges",
	an_ended_thread_leaves_counts_but_no_gauges},
    {"gauges_move_both_ways", gauges_move_both_ways},
    {"members_have_a_line_each", members_have_a_line_each})
