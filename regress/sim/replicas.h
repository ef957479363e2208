/* What the copies of a simulated cluster hold, read from its disks: for the
 * end of a run, when every member of a group must have the same rows
 * (CONSENSUS 7, I7). */
#ifndef REGRESS_SIM_REPLICAS_H
#define REGRESS_SIM_REPLICAS_H

#include "cluster/stamp.h"
#include "regress/sim/fleet.h"

/* NULL when all copies of each slot of each table are equal, rows, stamps and
 * tombstones; else a text of the first difference, in `a`. A member whose disk
 * was lost is not asked. */
const char *replicas_differ(const struct fleet *f, struct arena *a);
/* Tombstones with stamps below `before`, in copies of groups' members. */
uint64_t replicas_tombstones(const struct fleet *f, cl_stamp before);

#endif
