/* Keys that are deleted and inserted again and again, while their tombstones
 * are dropped almost at once. */
#include "regress/sim/rows.h"
#include "regress/sim/scenarios.h"

#define SECOND 1000000ull
#define KEYS   3

static void
work(struct client *c)
{
	static const enum reg_kind kinds[] = {REG_INSERT, REG_INSERT,
	    REG_INSERT, REG_DELETE, REG_DELETE, REG_DELETE, REG_READ,
	    REG_UPDATE};

	rows_do(c, kinds[rng_below(&c->rng, sizeof kinds / sizeof *kinds)],
	    rows_key(c, 3 * SECOND, KEYS));
}

static void
check(struct client *c)
{
	rows_check(c, 3 * SECOND, KEYS);
}

const struct scenario scenario_reinsert = {
    .name = "reinsert",
    .claim = "what is deleted stays so until it is inserted again",
    .clients = 5,
    .faults_not = CHAOS_APART,
    .think_us = 30000,
    .tombstone_age_us = SECOND / 2,
    .setup = rows_make_table,
    .work = work,
    .check = check,
};
