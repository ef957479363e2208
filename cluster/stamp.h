/* Stamps: hybrid logical time, 48 bits of milliseconds since 1970 and a 16-bit
 * counter (CONSENSUS 2).  Stamps of one node never repeat, across restarts
 * too: none is issued above a bound that is on disk. */
#ifndef CLUSTER_STAMP_H
#define CLUSTER_STAMP_H

#include "base/err.h"

typedef uint64_t cl_stamp;

#define CL_STAMP_MS(s)       ((s) >> 16)
#define CL_STAMP_OF_MS(ms)   ((uint64_t)(ms) << 16)
#define CL_MAX_CLOCK_SKEW_MS 500
/* How far ahead of the clock the flushed bound is set. */
#define CL_STAMP_AHEAD_MS 1200

struct cl_clock {
	cl_stamp last;  /* highest issued or observed */
	cl_stamp bound; /* on disk: nothing above it may be issued */
};

/* After a start: nothing at or below the bound read from disk is issued again.
 */
void cl_clock_init(struct cl_clock *c, cl_stamp bound_on_disk);
/* The next stamp, above `floor` (the group's highest) and everything issued or
 * observed. 0 = would pass the bound (flush a new one first) or run more than
 * the allowed skew ahead of wall_ms: see cl_clock_why. */
cl_stamp cl_clock_next(struct cl_clock *c, uint64_t wall_ms, cl_stamp floor);
enum cl_clock_state { CL_CLOCK_OK, CL_CLOCK_BOUND, CL_CLOCK_SKEW };
enum cl_clock_state cl_clock_why(
    const struct cl_clock *c, uint64_t wall_ms, cl_stamp floor);
/* Takes note of another's stamp; false (and no note) when it is more than the
 * allowed skew ahead of wall_ms. */
bool cl_clock_observe(struct cl_clock *c, cl_stamp other, uint64_t wall_ms);
/* The bound to flush now, or 0 when the present one is far enough ahead. */
cl_stamp cl_clock_want_bound(const struct cl_clock *c, uint64_t wall_ms);
void cl_clock_flushed(struct cl_clock *c, cl_stamp bound);

#endif
