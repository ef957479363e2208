/* Rules of a node that only a clock that jumps, or a crash between two steps,
 * can tell from their absence. regress/sim/mutants lists what each finds. */
#include <stdio.h>

#include "cluster/row.h"
#include "regress/lib/cu.h"
#include "storage/apply.h"
#include "storage/clock.h"
#include "storage/t/node_rig.h"

#define SLOTS 2
#define MS    1000u
#define SEEDS 20

static void
with_node(struct node_rig *nr, void (*fn)(struct rig *r))
{
	nr_start(nr, RIG_MEM, SLOTS);
	rig_run(&nr->r, fn);
	nr_stop(nr);
}

/* ---- deadlines ---- */

static uint64_t
slow_flush(void *arg, enum engine_mem_step step, uint64_t lane)
{
	(void)arg;
	(void)lane;
	return step == ENGINE_MEM_FLUSH ? 50 * MS : 0;
}

struct writer {
	struct node_rig *nr;
	const struct cl_table *t;
	const char *v;
	int64_t deadline_ms;
	struct cl_proposed out;
	bool done;
};

static void
writer_fiber(void *arg)
{
	struct writer *w = arg;

	nr_do(w->nr,
	    &(struct nr_op){.table = w->t,
		.id = 1,
		.v = w->v,
		.deadline_ms = w->deadline_ms},
	    &w->out);
	w->done = true;
}

/* The second write waits for the first one's lock, which by the monotonic clock
 * is soon over; by the stamps its deadline passes meanwhile. */
static void
queued(struct rig *r)
{
	struct node_rig *nr = nr_of(r);
	struct writer a = {.nr = nr, .v = "first", .deadline_ms = 10000};
	struct writer b = {.nr = nr, .v = "second", .deadline_ms = 1000};

	nr_node(nr);
	a.t = b.t = nr_table(nr, "t");
	/* By now the group has a leader. */
	NR_DO(nr, .table = a.t, .id = 1, .v = "none");
	fiber_spawn(r->world, "first", FIBER_STACK_GATEWAY, writer_fiber, &a);
	fiber_spawn(r->world, "second", FIBER_STACK_GATEWAY, writer_fiber, &b);
	rig_sleep(r, 10 * MS);
	CHECK(!a.done && !b.done);
	r->wall_offset_us += 2000 * MS;
	while (!a.done || !b.done)
		rig_sleep(r, MS);
	CHECK(a.out.outcome == CL_APPLIED);
	CHECK(b.out.outcome == CL_REFUSED);
	CHECK(b.out.reason == CL_REFUSE_DEADLINE);
	CHECK_STR(nr_get(nr, a.t, 1), "first");
	nr_node_stop(nr);
}

static void
a_deadline_that_passes_in_the_queue_is_noticed(void)
{
	struct node_rig nr;

	nr_start(&nr, RIG_MEM, SLOTS);
	nr.r.hooks.delay_us = slow_flush;
	rig_run(&nr.r, queued);
	nr_stop(&nr);
}

/* A gateway whose time runs ahead: a copy of its message is under way for
 * longer than the result is kept. */
static void
far_ahead(struct rig *r)
{
	struct node_rig *nr = nr_of(r);
	const struct cl_table *t;
	struct nr_op op = {.id = 1,
	    .v = "once",
	    .cond = CL_COND_ABSENT,
	    .sequence = 100,
	    .deadline_ms = 3600000};

	nr->conf.retry_window_us = 20000 * MS;
	nr_node(nr);
	t = nr_table(nr, "t");
	op.table = t;
	nr_do(nr, &op, NULL);
	NR_DO(nr, .table = t, .id = 1);
	rig_sleep(r, 60000 * MS);
	NR_DO(nr, .table = t, .id = 2, .v = "x");
	op.deadline_ms -= 60000;
	nr_do(nr, &op, NULL);
	CHECK(nr_get(nr, t, 1) == NULL);
	nr_node_stop(nr);
}

static void
a_copy_that_outlives_its_result_changes_nothing(void)
{
	struct node_rig nr;

	with_node(&nr, far_ahead);
}

/* Nor does one that comes before a later send was found false. */
static void
late_copy(struct rig *r)
{
	struct node_rig *nr = nr_of(r);
	const struct cl_table *t;
	struct nr_op op = {.id = 1,
	    .v = "new",
	    .cond = CL_COND_ABSENT,
	    .sequence = 100,
	    .send = 2};

	nr_node(nr);
	op.table = t = nr_table(nr, "t");
	NR_DO(nr, .table = t, .id = 1, .v = "old");
	CHECK(nr_do(nr, &op, NULL) == CL_FALSE);
	NR_DO(nr, .table = t, .id = 1);
	op.send = 1;
	CHECK(nr_do(nr, &op, NULL) == CL_FALSE);
	CHECK(nr_get(nr, t, 1) == NULL);
	nr_node_stop(nr);
}

static void
what_was_reported_false_is_never_applied(void)
{
	struct node_rig nr;

	with_node(&nr, late_copy);
}

/* ---- stamps ---- */

static cl_stamp highest;

static void
issue(struct rig *r)
{
	struct node_rig *nr = nr_of(r);
	enum cl_clock_state why;

	nr_node(nr);
	for (int i = 0; i < 300; i++) {
		cl_stamp s = st_clock_next(nr->node, 0, &why);

		if (s > highest)
			highest = s;
		rig_sleep(r, 10 * MS);
	}
	MUST(highest > 0);
}

static void
issue_more(struct rig *r)
{
	struct node_rig *nr = nr_of(r);
	enum cl_clock_state why;

	nr_node(nr);
	CHECK(st_clock_next(nr->node, 0, &why) > highest);
}

/* Whatever became of what they were issued for, and though the wall clock went
 * back meanwhile. */
static void
no_stamp_is_issued_again_after_a_crash(void)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct node_rig nr;

		highest = 0;
		nr_start(&nr, RIG_MEM, SLOTS);
		rig_run(&nr.r, issue);
		rig_crash(&nr.r, seed);
		nr.r.wall_offset_us -= 5000 * MS;
		rig_run(&nr.r, issue_more);
		nr_stop(&nr);
	}
}

/* ---- rows and the applied index ---- */

static uint64_t
random_delay(void *arg, enum engine_mem_step step, uint64_t lane)
{
	struct rig *r = arg;

	(void)lane;
	return world_random_below(
	    r->world, step == ENGINE_MEM_FLUSH ? 4000 : 500);
}

static void
write_on(void *arg)
{
	struct writer *w = arg;

	for (int i = 0;; i++) {
		char v[16];

		snprintf(v, sizeof v, "%d", i);
		nr_do(w->nr,
		    &(struct nr_op){.table = w->t, .id = i % 4, .v = v},
		    &w->out);
	}
}

/* Ends in the middle of it. */
static void
write_a_while(struct rig *r)
{
	struct node_rig *nr = nr_of(r);
	struct writer *w = NEW(r->arena, struct writer);

	nr_node(nr);
	*w = (struct writer){.nr = nr, .t = nr_table(nr, "t")};
	fiber_spawn(r->world, "writer", FIBER_STACK_GATEWAY, write_on, w);
	rig_sleep(r, 30 * MS + world_random_below(r->world, 20 * MS));
}

struct look {
	struct rig *r;
	uint32_t rows, ahead;
};

struct record {
	struct str key;
	struct st_group_record r;
};

static bool
record_ev(void *arg, struct str key, struct str val)
{
	struct record *out = arg;

	if (str_eq(key, out->key))
		MUST(st_group_record_get(val, &out->r));
	return false;
}

static bool
row_ev(void *arg, struct str key, struct str val)
{
	struct look *l = arg;
	struct st_gid gid = {.placement = CL_PLACEMENT_DEFAULT, .epoch = 1};
	struct record g = {.key = STR_NONE};
	struct cl_row_head h;
	uint32_t table;
	struct str rest;
	struct buf b;

	MUST(cl_key_split(key, &table, &gid.slot, &rest));
	if (table < CL_ID_FIRST)
		return true;
	MUST(cl_row_head(val, &h));
	buf_init(&b, l->r->arena);
	st_key_group(&b, gid);
	g.key = buf_view(&b);
	engine_mem_each(l->r->disk, KV_META, g.key, record_ev, &g);
	l->rows++;
	l->ahead += h.stamp > g.r.stamp;
	return true;
}

static void
a_crash_leaves_rows_and_the_applied_index_together(void)
{
	uint32_t rows = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct node_rig nr;
		struct look l = {.r = &nr.r};

		nr_start(&nr, RIG_MEM, SLOTS);
		nr.r.random += seed;
		nr.r.hooks.arg = &nr.r;
		nr.r.hooks.delay_us = random_delay;
		rig_run(&nr.r, write_a_while);
		rig_crash(&nr.r, seed);
		engine_mem_each(nr.r.disk, KV_ROWS, STR_NONE, row_ev, &l);
		CHECK(l.ahead == 0);
		rows += l.rows;
		nr_stop(&nr);
	}
	CHECK(rows > SEEDS);
}

CU_MAIN("rules",
    {"a_deadline_that_passes_in_the_queue_is_noticed",
	a_deadline_that_passes_in_the_queue_is_noticed},
    {"a_copy_that_outlives_its_result_changes_nothing",
	a_copy_that_outlives_its_result_changes_nothing},
    {"what_was_reported_false_is_never_applied",
	what_was_reported_false_is_never_applied},
    {"no_stamp_is_issued_again_after_a_crash",
	no_stamp_is_issued_again_after_a_crash},
    {"a_crash_leaves_rows_and_the_applied_index_together",
	a_crash_leaves_rows_and_the_applied_index_together})
