#include "cluster/stamp.h"

#include "cluster/t/vec.h"

#define WALL 1000000u

static struct cl_clock
clock_at(uint64_t wall_ms)
{
	struct cl_clock c;

	cl_clock_init(&c, 0);
	cl_clock_flushed(&c, cl_clock_want_bound(&c, wall_ms));
	return c;
}

static void
stamps_rise_above_floor_and_last(void)
{
	struct cl_clock c = clock_at(WALL);
	cl_stamp a = cl_clock_next(&c, WALL, 0);
	cl_stamp b = cl_clock_next(&c, WALL, 0);
	cl_stamp floor = CL_STAMP_OF_MS(WALL + 100) + 7;

	CHECK(a == CL_STAMP_OF_MS(WALL));
	CHECK(b == a + 1);
	CHECK(cl_clock_next(&c, WALL, floor) == floor + 1);
	CHECK(cl_clock_next(&c, WALL - 5000, 0) == 0);
	CHECK(cl_clock_next(&c, WALL + 1, 0) == floor + 2);
	CHECK(CL_STAMP_MS(cl_clock_next(&c, WALL + 200, 0)) == WALL + 200);
}

static void
nothing_is_issued_above_the_flushed_bound(void)
{
	struct cl_clock c;
	cl_stamp want;

	cl_clock_init(&c, 0);
	CHECK(cl_clock_next(&c, WALL, 0) == 0);
	CHECK(cl_clock_why(&c, WALL, 0) == CL_CLOCK_BOUND);
	want = cl_clock_want_bound(&c, WALL);
	CHECK(want == CL_STAMP_OF_MS(WALL + CL_STAMP_AHEAD_MS));
	cl_clock_flushed(&c, want);
	CHECK(cl_clock_why(&c, WALL, 0) == CL_CLOCK_OK);
	CHECK(cl_clock_next(&c, WALL + CL_STAMP_AHEAD_MS, 0) == want);
	CHECK(cl_clock_next(&c, WALL + CL_STAMP_AHEAD_MS, 0) == 0);
	/* An older flush that completes late does not lower it. */
	cl_clock_flushed(&c, want - 5);
	CHECK(c.bound == want);
}

static void
a_new_bound_is_wanted_when_half_is_used(void)
{
	struct cl_clock c = clock_at(WALL);

	CHECK(cl_clock_want_bound(&c, WALL) == 0);
	CHECK(cl_clock_want_bound(&c, WALL + CL_STAMP_AHEAD_MS / 2) == 0);
	CHECK(cl_clock_want_bound(&c, WALL + CL_STAMP_AHEAD_MS / 2 + 1) ==
	      CL_STAMP_OF_MS(
		  WALL + CL_STAMP_AHEAD_MS / 2 + 1 + CL_STAMP_AHEAD_MS));
	CHECK(cl_clock_want_bound(&c, WALL - 100000) == 0);
}

static void
running_ahead_of_the_clock_is_refused(void)
{
	struct cl_clock c = clock_at(WALL);
	cl_stamp edge = CL_STAMP_OF_MS(WALL + CL_MAX_CLOCK_SKEW_MS);

	CHECK(cl_clock_why(&c, WALL, edge) == CL_CLOCK_OK);
	CHECK(cl_clock_why(&c, WALL, edge | 0xffff) == CL_CLOCK_SKEW);
	CHECK(cl_clock_next(&c, WALL, edge | 0xffff) == 0);
	CHECK(cl_clock_why(&c, WALL, UINT64_MAX) == CL_CLOCK_SKEW);
	CHECK(cl_clock_next(&c, WALL, UINT64_MAX) == 0);
	CHECK(c.last == 0);
}

static void
a_stamp_from_too_far_ahead_is_not_observed(void)
{
	struct cl_clock c = clock_at(WALL);
	cl_stamp ok = CL_STAMP_OF_MS(WALL + CL_MAX_CLOCK_SKEW_MS) | 0xffff;

	CHECK(!cl_clock_observe(&c, ok + 1, WALL));
	CHECK(c.last == 0);
	CHECK(cl_clock_observe(&c, ok - 9, WALL));
	CHECK(c.last == ok - 9);
	CHECK(cl_clock_observe(&c, 1, WALL));
	CHECK(c.last == ok - 9);
	CHECK(cl_clock_next(&c, WALL, 0) == ok - 8);
}

/* Crashes that lose everything but the flushed bound, clocks that jump. */
static void
restarts_and_jumps_never_repeat_a_stamp(void)
{
	uint64_t wall = WALL;
	cl_stamp on_disk = 0, highest = 0;
	struct cl_clock c;
	int issued = 0;

	cl_clock_init(&c, 0);
	for (int i = 0; i < 200000; i++) {
		cl_stamp s, want;

		wall += vec_below(20);
		if (vec_below(1000) == 0)
			wall -= vec_below(2000);
		if (vec_below(1000) == 0)
			wall += vec_below(10000);
		if (vec_below(300) == 0)
			cl_clock_init(&c, on_disk);
		want = cl_clock_want_bound(&c, wall);
		if (want && vec_below(10)) {
			if (want > on_disk)
				on_disk = want;
			if (vec_below(20) == 0)
				cl_clock_init(&c, on_disk);
			else
				cl_clock_flushed(&c, want);
		}
		s = cl_clock_next(&c, wall, 0);
		if (!s) {
			CHECK(cl_clock_why(&c, wall, 0) != CL_CLOCK_OK);
			/* No standstill: the bound is wanted when it stops
			 * the clock. */
			CHECK(cl_clock_why(&c, wall, 0) == CL_CLOCK_SKEW ||
			      cl_clock_want_bound(&c, wall));
			continue;
		}
		issued++;
		MUST(s > highest);
		MUST(s <= on_disk);
		MUST(CL_STAMP_MS(s) <= wall + CL_MAX_CLOCK_SKEW_MS);
		highest = s;
	}
	CHECK(issued > 1000);
}

/* A crash loop must not push the bound ahead with each start. */
static void
restarts_do_not_push_the_bound_ahead(void)
{
	struct cl_clock c = clock_at(WALL);
	cl_stamp bound = c.bound;

	for (unsigned i = 0; i < 100; i++) {
		cl_stamp want;

		cl_clock_init(&c, bound);
		want = cl_clock_want_bound(&c, WALL + i);
		if (want)
			cl_clock_flushed(&c, want);
		bound = c.bound;
	}
	CHECK(CL_STAMP_MS(bound) <= WALL + 100 + CL_STAMP_AHEAD_MS);
}

CU_MAIN("stamp",
    {"stamps_rise_above_floor_and_last", stamps_rise_above_floor_and_last},
    {"nothing_is_issued_above_the_flushed_bound",
	nothing_is_issued_above_the_flushed_bound},
    {"a_new_bound_is_wanted_when_half_is_used",
	a_new_bound_is_wanted_when_half_is_used},
    {"running_ahead_of_the_clock_is_refused",
	running_ahead_of_the_clock_is_refused},
    {"a_stamp_from_too_far_ahead_is_not_observed",
	a_stamp_from_too_far_ahead_is_not_observed},
    {"restarts_and_jumps_never_repeat_a_stamp",
	restarts_and_jumps_never_repeat_a_stamp},
    {"restarts_do_not_push_the_bound_ahead",
	restarts_do_not_push_the_bound_ahead})
