/* What scenarios share, and those with a file of their own. */
#ifndef REGRESS_SIM_SCENARIOS_H
#define REGRESS_SIM_SCENARIOS_H

#include "regress/sim/drive.h"

/* Faults that belong to scenarios of their own, because they make everything
 * else wait. */
#define CHAOS_APART                                                            \
	(CHAOS_JUMP | CHAOS_DISK_FULL | CHAOS_DISK_STALL |                     \
	    CHAOS_GATEWAY_CLOCK | CHAOS_WILD_DRIFT)

extern const struct scenario scenario_atomic;
extern const struct scenario scenario_bank;
extern const struct scenario scenario_bank_takeover;
extern const struct scenario scenario_consistency;
extern const struct scenario scenario_ddl_race;
extern const struct scenario scenario_failover;
extern const struct scenario scenario_sequence;
extern const struct scenario scenario_gateway_clocks;
extern const struct scenario scenario_index;
extern const struct scenario scenario_late;
extern const struct scenario scenario_lease;
extern const struct scenario scenario_reinsert;
extern const struct scenario scenario_resync;
extern const struct scenario scenario_stale;
extern const struct scenario scenario_takeover;

/* Counters in a table c: increments happen once each, or not at all. */
void counter_setup(struct client *c);
void counter_work(struct client *c);
void counter_look(struct client *c); /* only reads */
void counter_check(struct client *c);

#endif
