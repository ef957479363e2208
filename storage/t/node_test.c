/* A node with groups of one member, called directly: what it promises about
 * proposals, reads, crashes and housekeeping. In memory unless said. */
#include <stdio.h>
#include <stdlib.h>

#include "regress/lib/cu.h"
#include "storage/group.h"
#include "storage/results.h"
#include "storage/sweep.h"
#include "storage/t/node_rig.h"

#define SLOTS 8

static void
with_node(enum rig_kind kind, void (*fn)(struct rig *r))
{
	struct node_rig nr;

	nr_start(&nr, kind, SLOTS);
	rig_run(&nr.r, fn);
	nr_stop(&nr);
}

static void
crash(struct node_rig *nr, uint64_t seed, void (*fn)(struct rig *r))
{
	rig_crash(&nr->r, seed);
	rig_run(&nr->r, fn);
}

/* ---- writing and reading ---- */

static void
basics(struct rig *r)
{
	struct node_rig *nr = nr_of(r);
	const struct cl_table *t;
	struct cl_proposed out;

	nr_node(nr);
	t = nr_table(nr, "t");
	CHECK(nr_get(nr, t, 1) == NULL);
	CHECK(NR_DO(nr, .table = t, .id = 1, .v = "one") == CL_APPLIED);
	CHECK_STR(nr_get(nr, t, 1), "one");
	nr_do(nr, &(struct nr_op){.table = t, .id = 1, .v = "uno"}, &out);
	CHECK(out.outcome == CL_APPLIED);
	CHECK(nr_stamp(nr, t, 1) == out.stamp);
	CHECK_STR(nr_get(nr, t, 1), "uno");
	CHECK(NR_DO(nr, .table = t, .id = 1) == CL_APPLIED);
	CHECK(nr_get(nr, t, 1) == NULL);
	nr_node_stop(nr);
}

static void
a_row_is_written_read_and_deleted(void)
{
	with_node(RIG_MEM, basics);
	with_node(RIG_WT, basics);
	with_node(RIG_WT_INLINE, basics);
}

static void
conditions(struct rig *r)
{
	struct node_rig *nr = nr_of(r);
	const struct cl_table *t;
	struct cl_proposed out;
	cl_stamp s;

	nr_node(nr);
	t = nr_table(nr, "t");
	CHECK(NR_DO(nr, .table = t, .id = 1, .v = "a",
		  .cond = CL_COND_ABSENT) == CL_APPLIED);
	s = nr_stamp(nr, t, 1);
	/* False comes with the row as it is. */
	nr_do(nr,
	    &(struct nr_op){
		.table = t, .id = 1, .v = "b", .cond = CL_COND_ABSENT},
	    &out);
	CHECK(out.outcome == CL_FALSE && out.failed == 0 && out.n_rows == 1);
	CHECK(out.rows[0].value.len > 0);
	CHECK_STR(nr_get(nr, t, 1), "a");
	CHECK(NR_DO(nr, .table = t, .id = 1, .v = "c", .cond = CL_COND_STAMP,
		  .arg = s + 1) == CL_FALSE);
	CHECK(NR_DO(nr, .table = t, .id = 1, .v = "c", .cond = CL_COND_STAMP,
		  .arg = s) == CL_APPLIED);
	CHECK(NR_DO(nr, .table = t, .id = 1, .v = "d", .cond = CL_COND_STAMP,
		  .arg = s) == CL_FALSE);
	CHECK(NR_DO(nr, .table = t, .id = 2, .v = "x",
		  .cond = CL_COND_PRESENT) == CL_FALSE);
	/* A tombstone is absent. */
	NR_DO(nr, .table = t, .id = 1);
	nr_do(nr,
	    &(struct nr_op){
		.table = t, .id = 1, .v = "y", .cond = CL_COND_PRESENT},
	    &out);
	CHECK(out.outcome == CL_FALSE && out.rows[0].value.len == 0);
	CHECK(NR_DO(nr, .table = t, .id = 1, .v = "z",
		  .cond = CL_COND_ABSENT) == CL_APPLIED);
	nr_node_stop(nr);
}

static void
a_false_condition_changes_nothing_and_tells_the_row(void)
{
	with_node(RIG_MEM, conditions);
}

/* ---- repeated sends ---- */

static void
repeats(struct rig *r)
{
	struct node_rig *nr = nr_of(r);
	const struct cl_table *t;
	struct cl_proposed a, b;

	nr_node(nr);
	t = nr_table(nr, "t");
	nr_do(nr,
	    &(struct nr_op){.table = t,
		.id = 1,
		.v = "a",
		.cond = CL_COND_ABSENT,
		.sequence = 100},
	    &a);
	CHECK(a.outcome == CL_APPLIED);
	/* The second send would find its own row; it gets the first's answer.
	 */
	nr_do(nr,
	    &(struct nr_op){.table = t,
		.id = 1,
		.v = "a",
		.cond = CL_COND_ABSENT,
		.sequence = 100,
		.send = 2},
	    &b);
	CHECK(b.outcome == CL_APPLIED && b.index == a.index &&
	      b.stamp == a.stamp);
	/* False on a repeated send is an entry: an earlier copy is too late. */
	nr_do(nr,
	    &(struct nr_op){.table = t,
		.id = 1,
		.v = "b",
		.cond = CL_COND_ABSENT,
		.sequence = 101,
		.send = 2},
	    &a);
	CHECK(a.outcome == CL_FALSE && a.index > b.index);
	NR_DO(nr, .table = t, .id = 1);
	nr_do(nr,
	    &(struct nr_op){.table = t,
		.id = 1,
		.v = "b",
		.cond = CL_COND_ABSENT,
		.sequence = 101},
	    &b);
	CHECK(b.outcome == CL_FALSE && b.index == a.index);
	CHECK(nr_get(nr, t, 1) == NULL);
	/* What the session said it needs no answer to is refused. */
	NR_DO(nr, .table = t, .id = 1, .v = "c", .sequence = 102,
	    .answered = 102);
	nr_do(nr,
	    &(struct nr_op){
		.table = t, .id = 1, .v = "d", .sequence = 100, .send = 3},
	    &b);
	CHECK(b.outcome == CL_REFUSED && b.reason == CL_REFUSE_ANSWERED);
	CHECK_STR(nr_get(nr, t, 1), "c");
	/* What was applied stays so when the table is gone; anything new is
	 * refused. */
	nr_drop_table(nr, t->id);
	nr_do(nr,
	    &(struct nr_op){
		.table = t, .id = 1, .v = "c", .sequence = 102, .send = 2},
	    &b);
	CHECK(b.outcome == CL_APPLIED);
	nr_do(nr,
	    &(struct nr_op){
		.table = t, .id = 1, .v = "c", .sequence = 103, .send = 2},
	    &b);
	CHECK(b.outcome == CL_REFUSED && b.reason == CL_REFUSE_DROPPED);
	nr_node_stop(nr);
}

static void
a_repeated_send_gets_the_first_answer(void)
{
	with_node(RIG_MEM, repeats);
}

static struct cl_proposed before_crash;

static void
write_then_die(struct rig *r)
{
	struct node_rig *nr = nr_of(r);
	const struct cl_table *t;

	nr_node(nr);
	t = nr_table(nr, "t");
	nr_do(nr,
	    &(struct nr_op){.table = t,
		.id = 1,
		.v = "a",
		.cond = CL_COND_ABSENT,
		.sequence = 500},
	    &before_crash);
	CHECK(before_crash.outcome == CL_APPLIED);
}

static const struct cl_table *
table_again(struct node_rig *nr, const char *name)
{
	const struct cl_object *o;

	o = cl_find_name(
	    nr->node->catalog.snap, CL_TABLE, CL_SCHEMA_PUBLIC, str_c(name));
	MUST(o != NULL);
	return &o->u.table;
}

static void
repeat_after_crash(struct rig *r)
{
	struct node_rig *nr = nr_of(r);
	const struct cl_table *t;
	struct cl_proposed out;

	nr_node(nr);
	t = table_again(nr, "t");
	CHECK_STR(nr_get(nr, t, 1), "a");
	nr_do(nr,
	    &(struct nr_op){.table = t,
		.id = 1,
		.v = "a",
		.cond = CL_COND_ABSENT,
		.sequence = 500,
		.send = 2},
	    &out);
	CHECK(out.outcome == CL_APPLIED && out.index == before_crash.index &&
	      out.stamp == before_crash.stamp);
}

static void
results_and_rows_survive_a_crash_at_once(void)
{
	for (uint64_t seed = 1; seed < 30; seed++) {
		struct node_rig nr;

		nr_start(&nr, RIG_MEM, SLOTS);
		rig_run(&nr.r, write_then_die);
		crash(&nr, seed, repeat_after_crash);
		nr_stop(&nr);
	}
}

/* ---- crashes ---- */

#define ROUNDS 40

static int acked[ROUNDS];
static uint64_t last_stamp;

static uint64_t
random_delay(void *arg, enum engine_mem_step step, uint64_t lane)
{
	struct rig *r = arg;
	uint64_t most = step == ENGINE_MEM_FLUSH ? 4000 : 500;

	(void)lane;
	return world_random_below(r->world, most);
}

struct writer {
	struct node_rig *nr;
	const struct cl_table *t;
	int from;
};

static void
writer_fiber(void *arg)
{
	const struct writer *w = arg;

	for (int i = w->from; i < ROUNDS; i += 4) {
		struct cl_proposed out;
		char v[16];

		snprintf(v, sizeof v, "%d", i);
		nr_do(w->nr,
		    &(struct nr_op){.table = w->t, .id = i % 8, .v = v}, &out);
		if (out.outcome != CL_APPLIED)
			continue;
		acked[i] = 1;
		if (out.stamp > last_stamp)
			last_stamp = out.stamp;
	}
}

/* Ends in the middle of everything. */
static void
write_a_while(struct rig *r)
{
	struct node_rig *nr = nr_of(r);
	struct writer *w = NEW_N(r->arena, struct writer, 4);
	const struct cl_table *t;

	nr_node(nr);
	t = nr_table(nr, "t");
	for (int i = 0; i < 4; i++) {
		w[i] = (struct writer){nr, t, i};
		fiber_spawn(r->world, "writer", FIBER_STACK_GATEWAY,
		    writer_fiber, &w[i]);
	}
	rig_sleep(r, 2000 + world_random_below(r->world, 60000));
}

static void
look_for_lost(struct rig *r)
{
	struct node_rig *nr = nr_of(r);
	const struct cl_table *t;
	uint64_t rows, bytes, found = 0;

	nr_node(nr);
	t = table_again(nr, "t");
	for (int id = 0; id < 8; id++) {
		const char *v = nr_get(nr, t, id);
		int newest = -1;

		for (int i = id; i < ROUNDS; i += 8)
			if (acked[i])
				newest = i;
		found += v != NULL;
		CHECK(newest < 0 || (v && atoi(v) >= newest));
		/* Stamps never come again. */
		if (newest >= 0)
			CHECK(nr_stamp(nr, t, id) > 0);
	}
	CHECK(nr_counts(nr, t->id, &rows, &bytes) == (found > 0));
	CHECK(rows == found);
	NR_DO(nr, .table = t, .id = 0, .v = "new");
	CHECK(nr_stamp(nr, t, 0) > last_stamp);
}

static void
nothing_acknowledged_is_lost_in_a_crash(void)
{
	for (uint64_t seed = 1; seed < 60; seed++) {
		struct node_rig nr;

		memset(acked, 0, sizeof acked);
		last_stamp = 0;
		nr_start(&nr, RIG_MEM, SLOTS);
		nr.r.random += seed;
		nr.r.hooks.arg = &nr.r;
		nr.r.hooks.delay_us = random_delay;
		rig_run(&nr.r, write_a_while);
		crash(&nr, seed, look_for_lost);
		nr_stop(&nr);
	}
}

/* ---- locks ---- */

static int winners, finished;

static void
insert_fiber(void *arg)
{
	const struct writer *w = arg;

	winners += NR_DO(w->nr, .table = w->t, .id = 5, .v = "x",
		       .cond = CL_COND_ABSENT) == CL_APPLIED;
	finished++;
}

static void
increment_fiber(void *arg)
{
	const struct writer *w = arg;

	for (int i = 0; i < 20; i++)
		for (;;) {
			cl_stamp s = nr_stamp(w->nr, w->t, 6);
			char v[16];

			snprintf(v, sizeof v, "%d",
			    atoi(nr_get(w->nr, w->t, 6)) + 1);
			if (nr_stamp(w->nr, w->t, 6) != s)
				continue;
			if (NR_DO(w->nr, .table = w->t, .id = 6, .v = v,
				.cond = CL_COND_STAMP, .arg = s) == CL_APPLIED)
				break;
		}
	finished++;
}

static void
races(struct rig *r)
{
	struct node_rig *nr = nr_of(r);
	struct writer w = {.nr = nr};

	nr_node(nr);
	w.t = nr_table(nr, "t");
	winners = finished = 0;
	for (int i = 0; i < 20; i++)
		fiber_spawn(
		    r->world, "insert", FIBER_STACK_GATEWAY, insert_fiber, &w);
	while (finished < 20)
		rig_sleep(r, 1000);
	CHECK(winners == 1);
	NR_DO(nr, .table = w.t, .id = 6, .v = "0");
	finished = 0;
	for (int i = 0; i < 5; i++)
		fiber_spawn(r->world, "increment", FIBER_STACK_GATEWAY,
		    increment_fiber, &w);
	while (finished < 5)
		rig_sleep(r, 1000);
	CHECK_STR(nr_get(nr, w.t, 6), "100");
	nr_node_stop(nr);
}

static void
races_on_a_key_have_one_winner(void)
{
	struct node_rig nr;

	with_node(RIG_WT, races);
	nr_start(&nr, RIG_MEM, SLOTS);
	nr.r.hooks.arg = &nr.r;
	nr.r.hooks.delay_us = random_delay;
	rig_run(&nr.r, races);
	nr_stop(&nr);
}

/* ---- refusals ---- */

static enum engine_mem_space space;

static enum engine_mem_space
space_hook(void *arg)
{
	(void)arg;
	return space;
}

static void
refusals(struct rig *r)
{
	struct node_rig *nr = nr_of(r);
	const struct cl_table *t;
	struct cl_proposed out;
	struct cl_table other;

	nr_node(nr);
	t = nr_table(nr, "t");
	nr_do(nr, &(struct nr_op){.table = t, .id = 1, .v = "a", .epoch = 9},
	    &out);
	CHECK(out.outcome == CL_REFUSED && out.reason == CL_REFUSE_EPOCH);
	nr_do(nr,
	    &(struct nr_op){.table = t, .id = 1, .v = "a", .deadline_ms = -50},
	    &out);
	CHECK(out.outcome == CL_REFUSED && out.reason == CL_REFUSE_DEADLINE);
	nr_do(nr,
	    &(struct nr_op){
		.table = t, .id = 1, .v = "a", .deadline_ms = 400000},
	    &out);
	CHECK(out.outcome == CL_REFUSED && out.reason == CL_REFUSE_DEADLINE);
	other = *t;
	other.id = 9000000;
	nr_do(nr, &(struct nr_op){.table = &other, .id = 1, .v = "a"}, &out);
	CHECK(out.outcome == CL_REFUSED && out.reason == CL_REFUSE_CATALOG);
	other.id = CL_ID_FIRST - 1;
	nr_do(nr, &(struct nr_op){.table = &other, .id = 1, .v = "a"}, &out);
	CHECK(out.outcome == CL_REFUSED && out.reason == CL_REFUSE_DROPPED);
	nr_do(nr,
	    &(struct nr_op){.table = t,
		.id = 1,
		.v = "a",
		.cond = CL_COND_SCHEMA,
		.arg = 2},
	    &out);
	CHECK(out.outcome == CL_REFUSED && out.reason == CL_REFUSE_CATALOG);
	CHECK(NR_DO(nr, .table = t, .id = 1, .v = "a", .cond = CL_COND_SCHEMA,
		  .arg = 1) == CL_APPLIED);
	space = ENGINE_MEM_LOW;
	nr_do(nr, &(struct nr_op){.table = t, .id = 1, .v = "b"}, &out);
	CHECK(out.outcome == CL_REFUSED && out.reason == CL_REFUSE_FULL);
	CHECK_STR(nr_get(nr, t, 1), "a");
	space = ENGINE_MEM_ROOM;
	/* The clock fell behind what the group has seen. */
	r->wall_offset_us -= 5000000;
	nr_do(nr, &(struct nr_op){.table = t, .id = 1, .v = "b"}, &out);
	CHECK(out.outcome == CL_REFUSED && out.reason == CL_REFUSE_CLOCK);
	r->wall_offset_us += 5000000;
	CHECK(NR_DO(nr, .table = t, .id = 1, .v = "b") == CL_APPLIED);
	nr_node_stop(nr);
	nr_do(nr, &(struct nr_op){.table = t, .id = 1, .v = "c"}, &out);
	CHECK(out.outcome == CL_REFUSED && out.reason == CL_REFUSE_STOPPING);
}

static void
a_refusal_says_why_and_proposes_nothing(void)
{
	struct node_rig nr;

	space = ENGINE_MEM_ROOM;
	nr_start(&nr, RIG_MEM, SLOTS);
	nr.r.hooks.space = space_hook;
	rig_run(&nr.r, refusals);
	nr.r.engine = NULL;
	nr_stop(&nr);
}

static void
malformed(struct rig *r)
{
	struct node_rig *nr = nr_of(r);
	struct cl_proposed out;
	struct cl_write w = {.kind = CL_WRITE_PUT, .key = STR("short")};
	uint8_t session[16] = {1};
	struct cl_propose m = {.placement = 1,
	    .epoch = 1,
	    .session = str_of(session, 16),
	    .sequence = 1,
	    .send = 1,
	    .writes = &w,
	    .n_writes = 1};
	struct err *e;
	uint16_t slot;

	nr_node(nr);
	w.key = STR("abc");
	e = st_propose(nr->node, r->arena, &m, 0, &out);
	CHECK(e && err_is(e, ERRCODE_PROTOCOL_VIOLATION));
	w.key = nr_key(nr, nr_table(nr, "t"), 1, &slot);
	m.slot = slot;
	w.value = STR("no row");
	e = st_propose(nr->node, r->arena, &m, 0, &out);
	CHECK(e && err_is(e, ERRCODE_PROTOCOL_VIOLATION));
	m.slot = (uint16_t)(slot + 1);
	e = st_propose(nr->node, r->arena, &m, 0, &out);
	CHECK(e && err_is(e, ERRCODE_PROTOCOL_VIOLATION));
	m.slot = slot;
	m.session = STR("short");
	e = st_propose(nr->node, r->arena, &m, 0, &out);
	CHECK(e && err_is(e, ERRCODE_PROTOCOL_VIOLATION));
	nr_node_stop(nr);
}

static void
a_malformed_proposal_is_an_error(void)
{
	with_node(RIG_MEM, malformed);
}

/* ---- housekeeping ---- */

static size_t
log_entries(struct node_rig *nr)
{
	size_t at = 0, n = 0;
	void *v;

	while (map_next(nr->node->groups, &at, NULL, &v)) {
		const struct st_group *g = v;

		n += g->last - g->trimmed;
	}
	return n;
}

static void
housekeeping(struct rig *r)
{
	struct node_rig *nr = nr_of(r);
	const struct cl_table *t;
	struct st_group *g;
	uint64_t rows, bytes, last;
	uint16_t slot;

	nr_node(nr);
	t = nr_table(nr, "t");
	for (int i = 0; i < 50; i++)
		NR_DO(nr, .table = t, .id = i, .v = "x");
	CHECK(nr_counts(nr, t->id, &rows, &bytes) && rows == 50);
	for (int i = 0; i < 20; i++)
		NR_DO(nr, .table = t, .id = i);
	/* Deleting nothing leaves a tombstone, too. */
	NR_DO(nr, .table = t, .id = 1000);
	nr_counts(nr, t->id, &rows, &bytes);
	CHECK(rows == 30);
	nr_key(nr, t, 3, &slot);
	g = st_group_find(nr->node, CL_PLACEMENT_DEFAULT, slot);
	MUST(g != NULL);
	CHECK(g->floor == 0);
	NR_DO(nr, .table = t, .id = 4, .v = "again");
	rig_sleep(r, 70000000);
	st_sweep(nr->node);
	CHECK(g->floor > 0);
	CHECK(log_entries(nr) == 0);
	CHECK_STR(nr_get(nr, t, 4), "again");
	nr_counts(nr, t->id, &rows, &bytes);
	CHECK(rows == 31);
	/* An idle group: one more entry after the retry window, then none. */
	CHECK(st_results_sessions(g->results) == 1);
	rig_sleep(r, 700000000);
	CHECK(st_results_sessions(g->results) == 0);
	last = g->last;
	rig_sleep(r, 1400000000);
	CHECK(g->last == last);
	nr_drop_table(nr, t->id);
	rig_sleep(r, 20000000);
	CHECK(!nr_counts(nr, t->id, &rows, &bytes));
	nr_node_stop(nr);
}

static void
housekeeping_goes_through_the_log_and_ends(void)
{
	with_node(RIG_MEM, housekeeping);
}

CU_MAIN("node",
    {"a_row_is_written_read_and_deleted", a_row_is_written_read_and_deleted},
    {"a_false_condition_changes_nothing_and_tells_the_row",
	a_false_condition_changes_nothing_and_tells_the_row},
    {"a_repeated_send_gets_the_first_answer",
	a_repeated_send_gets_the_first_answer},
    {"results_and_rows_survive_a_crash_at_once",
	results_and_rows_survive_a_crash_at_once},
    {"nothing_acknowledged_is_lost_in_a_crash",
	nothing_acknowledged_is_lost_in_a_crash},
    {"races_on_a_key_have_one_winner", races_on_a_key_have_one_winner},
    {"a_refusal_says_why_and_proposes_nothing",
	a_refusal_says_why_and_proposes_nothing},
    {"a_malformed_proposal_is_an_error", a_malformed_proposal_is_an_error},
    {"housekeeping_goes_through_the_log_and_ends",
	housekeeping_goes_through_the_log_and_ends})
