/* Stamps of a node: cl_clock with its bound flushed ahead (CONSENSUS 2), so
 * that a restart never repeats one. */
#ifndef STORAGE_CLOCK_H
#define STORAGE_CLOCK_H

#include "storage/node_int.h"

/* In the start fiber: reads the bound from disk, waits until the clock may
 * issue stamps above it (up to CL_STAMP_AHEAD_MS after a crash), flushes a new
 * one, starts the fiber that keeps it ahead. */
void st_clock_start(struct st_node *n);
/* No stamp is issued any more: the last one becomes the bound, so that the next
 * start need not wait. To be flushed by the caller. */
void st_clock_stop(struct st_node *n);
/* The next stamp above `floor`; 0 with *why = CL_CLOCK_BOUND: wait, then try
 * again; CL_CLOCK_SKEW: refuse. */
cl_stamp st_clock_next(
    struct st_node *n, cl_stamp floor, enum cl_clock_state *why);
/* In a fiber: until a new bound is on disk (or the node stops). */
void st_clock_wait(struct st_node *n);
/* Another's stamp from a frame. */
void st_clock_observe(struct st_node *n, cl_stamp s);

#endif
