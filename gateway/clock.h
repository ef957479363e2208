/* Cluster time as a gateway knows it: the highest stamp seen on a frame plus
 * its own monotonic time since (CONSENSUS 3).  A gateway issues no stamps; it
 * only states deadlines.  Pure functions of values. */
#ifndef GATEWAY_CLOCK_H
#define GATEWAY_CLOCK_H

#include "cluster/stamp.h"

struct gw_clock {
	cl_stamp stamp;   /* highest seen; 0 = none yet */
	uint64_t seen_us; /* monotonic time when it was */
};

/* Takes note of a stamp that a frame brought. Never goes back. */
void gw_clock_observe(struct gw_clock *c, cl_stamp s, uint64_t mono_us);
/* Now, in cluster time; 0 before the first stamp was seen. */
cl_stamp gw_clock_now(const struct gw_clock *c, uint64_t mono_us);
/* The stamp `after_us` from now, never more than GW_DEADLINE_MAX_US away: what
 * groups accept as a deadline (half the retry window less the skew). */
#define GW_DEADLINE_MAX_US (299u * 1000000u)
cl_stamp gw_clock_deadline(
    const struct gw_clock *c, uint64_t mono_us, uint64_t after_us);

#endif
