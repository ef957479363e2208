/* Counters that are read far more often than written, at gateways that do not
 * know of each other's leaders, while nodes lose sight of each other for about
 * as long as a lease: whoever reads sees all that was acknowledged before. */
#include "regress/sim/rows.h"
#include "regress/sim/scenarios.h"

static void
work(struct client *c)
{
	/* Some write, the others only read. */
	if (c->index % 4 == 1)
		counter_work(c);
	else
		counter_look(c);
}

const struct scenario scenario_lease = {
    .name = "lease",
    .claim = "who lost the lead answers no read",
    .clients = 8,
    .faults = CHAOS_WEAVE | CHAOS_WILD_DRIFT | CHAOS_TAKEOVER |
	      CHAOS_LEASE_PAUSE | CHAOS_NODE_KILL,
    .faults_not =
	CHAOS_JUMP | CHAOS_DISK_FULL | CHAOS_DISK_STALL | CHAOS_GATEWAY_CLOCK,
    .think_us = 6000,
    .replication = 3,
    .strained = true,
    .setup = counter_setup,
    .work = work,
    .check = counter_check,
};
