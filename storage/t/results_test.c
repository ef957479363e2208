/* Kept results: repeated sends, watermarks, forgetting, persistence. */
#include "storage/results.h"

#include "regress/lib/cu.h"

#define WINDOW 1000u

static struct arena *arena;
static struct st_results *results;
static uint64_t next_index;

static void
start(void)
{
	arena = arena_new(NULL, "results");
	results = st_results_new(arena, WINDOW);
	next_index = 1;
}

static struct st_entry
entry(uint8_t session, uint64_t sequence, uint64_t answered, cl_stamp stamp)
{
	struct st_entry e = {
	    .kind = ST_ENTRY_PROPOSAL, .index = next_index++, .stamp = stamp};

	memset(e.op.session, session, 16);
	e.op.sequence = sequence;
	e.op.answered = answered;
	e.op.outcome = CL_APPLIED;
	return e;
}

static enum st_result_state
find(uint8_t session, uint64_t sequence)
{
	struct st_result r;
	uint8_t id[16];

	memset(id, session, 16);
	return st_results_find(results, id, sequence, &r);
}

/* Records that an apply wrote, newest per session. */
static struct str records[256];
static bool gone[256];

static void
collect(void)
{
	uint8_t id[16];
	struct buf b;
	bool is_gone;

	buf_init(&b, arena);
	while (st_results_take(results, id, &is_gone, &b)) {
		records[id[0]] = buf_view(&b);
		gone[id[0]] = is_gone;
		buf_init(&b, arena);
	}
}

static void
run(struct st_entry e)
{
	if (e.kind == ST_ENTRY_PROPOSAL)
		st_results_begin(results, &e.op, e.index, e.stamp);
	st_results_apply(results, &e);
	collect();
	st_results_applied(results, e.index);
}

static void
a_result_is_pending_until_it_is_applied(void)
{
	struct st_entry e;

	start();
	e = entry(1, 10, 0, 5);
	CHECK(find(1, 10) == ST_RESULT_NONE);
	st_results_begin(results, &e.op, e.index, e.stamp);
	CHECK(find(1, 10) == ST_RESULT_PENDING);
	st_results_apply(results, &e);
	CHECK(find(1, 10) == ST_RESULT_PENDING);
	st_results_applied(results, e.index);
	CHECK(find(1, 10) == ST_RESULT_KEPT);
	CHECK(find(2, 10) == ST_RESULT_NONE);
	arena_free(arena);
}

static void
below_the_watermark_is_answered(void)
{
	start();
	run(entry(1, 10, 0, 5));
	run(entry(1, 11, 11, 6));
	CHECK(find(1, 10) == ST_RESULT_ANSWERED);
	CHECK(find(1, 11) == ST_RESULT_KEPT);
	CHECK(find(1, 3) == ST_RESULT_ANSWERED);
	/* It never falls. */
	run(entry(1, 12, 2, 7));
	CHECK(find(1, 10) == ST_RESULT_ANSWERED);
	arena_free(arena);
}

static void
an_entry_a_window_later_forgets(void)
{
	struct st_entry tick = {.kind = ST_ENTRY_EMPTY};

	start();
	run(entry(1, 1, 0, 10));
	run(entry(2, 1, 0, 500));
	tick.index = next_index++;
	tick.stamp = 10 + WINDOW - 1;
	run(tick);
	CHECK(find(1, 1) == ST_RESULT_KEPT);
	tick.index = next_index++;
	tick.stamp = 10 + WINDOW;
	run(tick);
	CHECK(find(1, 1) == ST_RESULT_NONE && gone[1]);
	CHECK(find(2, 1) == ST_RESULT_KEPT && !gone[2]);
	CHECK(st_results_sessions(results) == 1);
	CHECK(st_results_oldest(results) == 500);
	arena_free(arena);
}

static void
forgetting_leaves_what_is_under_way(void)
{
	struct st_entry later, tick = {.kind = ST_ENTRY_EMPTY};

	start();
	run(entry(1, 1, 0, 10));
	tick.index = next_index++;
	tick.stamp = 5000;
	later = entry(1, 2, 0, 5001);
	st_results_begin(results, &later.op, later.index, later.stamp);
	run(tick);
	CHECK(find(1, 1) == ST_RESULT_NONE && gone[1]);
	CHECK(find(1, 2) == ST_RESULT_PENDING);
	st_results_apply(results, &later);
	collect();
	st_results_applied(results, later.index);
	CHECK(find(1, 2) == ST_RESULT_KEPT && !gone[1]);
	arena_free(arena);
}

static void
records_bring_everything_back(void)
{
	struct st_results *before;
	struct st_result r;
	uint8_t id[16];

	start();
	for (uint8_t s = 1; s < 100; s++)
		for (uint64_t q = 5; q < 10; q++)
			run(entry(s, q, 6, 1000u + s * 10u + q));
	before = results;
	results = st_results_new(arena, WINDOW);
	for (uint8_t s = 99; s > 0; s--) {
		memset(id, s, 16);
		CHECK(!st_results_load(arena, results, id, records[s]));
	}
	st_results_loaded(results, next_index - 1);
	CHECK(st_results_sessions(results) == 99);
	CHECK(st_results_oldest(results) == st_results_oldest(before));
	CHECK(find(50, 5) == ST_RESULT_ANSWERED);
	CHECK(find(50, 6) == ST_RESULT_KEPT);
	memset(id, 50, 16);
	CHECK(st_results_find(results, id, 9, &r) == ST_RESULT_KEPT);
	CHECK(r.outcome == CL_APPLIED && r.stamp == 1509);
	/* Damaged ones are refused. */
	for (size_t n = 0; n < records[50].len; n++) {
		memset(id, 200, 16);
		results = st_results_new(arena, WINDOW);
		CHECK(st_results_load(arena, results, id,
			  str_of(records[50].p, n)) != NULL);
	}
	arena_free(arena);
}

static void
a_session_cannot_pile_up_results(void)
{
	start();
	for (uint64_t q = 0; q < ST_RESULTS_MAX; q++)
		run(entry(1, q, 0, 10 + q / 100));
	CHECK(find(1, ST_RESULTS_MAX) == ST_RESULT_CROWDED);
	CHECK(find(1, 7) == ST_RESULT_KEPT);
	CHECK(find(2, 7) == ST_RESULT_NONE);
	arena_free(arena);
}

CU_MAIN("results",
    {"a_result_is_pending_until_it_is_applied",
	a_result_is_pending_until_it_is_applied},
    {"below_the_watermark_is_answered", below_the_watermark_is_answered},
    {"an_entry_a_window_later_forgets", an_entry_a_window_later_forgets},
    {"forgetting_leaves_what_is_under_way",
	forgetting_leaves_what_is_under_way},
    {"records_bring_everything_back", records_bring_everything_back},
    {"a_session_cannot_pile_up_results", a_session_cannot_pile_up_results})
