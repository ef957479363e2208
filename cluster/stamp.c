#include "cluster/stamp.h"

/* The candidate that cl_clock_next would issue. */
static cl_stamp
clock_candidate(const struct cl_clock *c, uint64_t wall_ms, cl_stamp floor)
{
	cl_stamp above = c->last > floor ? c->last : floor;
	cl_stamp wall = CL_STAMP_OF_MS(wall_ms);

	if (above == UINT64_MAX)
		return above;
	return wall > above ? wall : above + 1;
}

void
cl_clock_init(struct cl_clock *c, cl_stamp bound_on_disk)
{
	c->last = c->bound = bound_on_disk;
}

enum cl_clock_state
cl_clock_why(const struct cl_clock *c, uint64_t wall_ms, cl_stamp floor)
{
	cl_stamp s = clock_candidate(c, wall_ms, floor);

	/* Skew first: no flush of a bound helps against it. */
	if (s == UINT64_MAX || CL_STAMP_MS(s) > wall_ms + CL_MAX_CLOCK_SKEW_MS)
		return CL_CLOCK_SKEW;
	return s > c->bound ? CL_CLOCK_BOUND : CL_CLOCK_OK;
}

cl_stamp
cl_clock_next(struct cl_clock *c, uint64_t wall_ms, cl_stamp floor)
{
	cl_stamp s = clock_candidate(c, wall_ms, floor);

	if (cl_clock_why(c, wall_ms, floor) != CL_CLOCK_OK)
		return 0;
	ASSERT(s > c->last && s > floor && s <= c->bound);
	c->last = s;
	return s;
}

bool
cl_clock_observe(struct cl_clock *c, cl_stamp other, uint64_t wall_ms)
{
	if (CL_STAMP_MS(other) > wall_ms + CL_MAX_CLOCK_SKEW_MS)
		return false;
	if (other > c->last)
		c->last = other;
	return true;
}

/* Measured from the wall clock alone: no stamp runs more than the skew ahead of
 * it, and a bound measured from the last stamp would climb by CL_STAMP_AHEAD_MS
 * with every restart (the last stamp then is the old bound). */
cl_stamp
cl_clock_want_bound(const struct cl_clock *c, uint64_t wall_ms)
{
	_Static_assert(CL_STAMP_AHEAD_MS / 2 > CL_MAX_CLOCK_SKEW_MS,
	    "a bound that is not due must not stop the clock");
	if (CL_STAMP_MS(c->bound) >= wall_ms + CL_STAMP_AHEAD_MS / 2)
		return 0;
	return CL_STAMP_OF_MS(wall_ms + CL_STAMP_AHEAD_MS);
}

void
cl_clock_flushed(struct cl_clock *c, cl_stamp bound)
{
	if (bound > c->bound)
		c->bound = bound;
}
