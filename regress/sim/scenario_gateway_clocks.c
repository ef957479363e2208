/* Gateways state deadlines; those whose wall clocks are wrong by up to an hour
 * must not be believed more than others. */
#include "regress/sim/rows.h"
#include "regress/sim/scenarios.h"

#define SECOND 1000000ull
#define KEYS   2

static void
work(struct client *c)
{
	static const enum reg_kind kinds[] = {REG_INSERT, REG_UPDATE,
	    REG_UPDATE, REG_UPSERT, REG_READ, REG_READ, REG_DELETE};

	rows_do(c, kinds[rng_below(&c->rng, sizeof kinds / sizeof *kinds)],
	    rows_key(c, 2 * SECOND, KEYS));
}

static void
check(struct client *c)
{
	rows_check(c, 2 * SECOND, KEYS);
}

const struct scenario scenario_gateway_clocks = {
    .name = "gateway_clocks",
    .claim = "gateways' clocks decide nothing, an hour off or not",
    .clients = 5,
    .faults = CHAOS_GATEWAY_CLOCK | CHAOS_CLOG | CHAOS_LATE | CHAOS_HOUR,
    .faults_not =
	CHAOS_JUMP | CHAOS_DISK_FULL | CHAOS_DISK_STALL | CHAOS_WILD_DRIFT,
    .think_us = 40000,
    .setup = rows_make_table,
    .work = work,
    .check = check,
};
