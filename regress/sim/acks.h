/* Watches what members acknowledge: a copy that is being made anew says of no
 * entry that it has it (CONSENSUS 6). */
#ifndef REGRESS_SIM_ACKS_H
#define REGRESS_SIM_ACKS_H

#include "regress/sim/drive.h"

/* For the whole run, which an acknowledgement too early fails. */
void acks_watch(struct run *r);

#endif
