/* The fault that waits for a step of the protocol between nodes, seen in the
 * frames they send, and strikes whoever takes it: so that a leader dies, or is
 * cut off, or stands still, between any two of them. */
#ifndef REGRESS_SIM_TAKEOVER_H
#define REGRESS_SIM_TAKEOVER_H

#include "regress/sim/fleet.h"

struct takeover;

/* Counts its strikes. */
struct takeover *takeover_new(
    struct fleet *f, struct rng *rng, uint64_t *strikes);
/* The next time that some step, drawn now, is taken. */
void takeover_arm(struct takeover *t);
void takeover_disarm(struct takeover *t);

#endif
