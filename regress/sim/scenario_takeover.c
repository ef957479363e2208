/* Leaders are killed, cut off and paused again and again, at every step of the
 * protocol; rows stay linearizable and counters exact. */
#include "regress/sim/rows.h"
#include "regress/sim/scenarios.h"

#define SECOND 1000000ull
#define KEYS   2

static void
setup(struct client *c)
{
	rows_make_table(c);
	counter_setup(c);
}

static void
work(struct client *c)
{
	static const enum reg_kind kinds[] = {REG_INSERT, REG_UPDATE,
	    REG_UPDATE, REG_READ, REG_READ, REG_READ, REG_DELETE, REG_UPSERT};

	if (c->index % 2)
		counter_work(c);
	else
		rows_do(c,
		    kinds[rng_below(&c->rng, sizeof kinds / sizeof *kinds)],
		    rows_key(c, 2 * SECOND, KEYS));
}

static void
check(struct client *c)
{
	counter_check(c);
	rows_check(c, 2 * SECOND, KEYS);
}

const struct scenario scenario_takeover = {
    .name = "takeover",
    .claim = "whoever leads, and however often that changes, one truth",
    .clients = 6,
    .faults = CHAOS_TAKEOVER | CHAOS_LEASE_PAUSE | CHAOS_NODE_KILL |
	      CHAOS_PARTITION | CHAOS_ONE_WAY,
    .faults_not = CHAOS_APART,
    .think_us = 30000,
    .replication = 3,
    .setup = setup,
    .work = work,
    .check = check,
};
