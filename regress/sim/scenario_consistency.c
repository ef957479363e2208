/* Reads of each consistency: QUORUM and ALL are exact, ONE may be behind but
 * never shows what was not written. */
#include "regress/sim/rows.h"
#include "regress/sim/scenarios.h"

#define SECOND 1000000ull
#define KEYS   2

enum level { ONE, QUORUM, ALL };

/* Of each client's present connection. */
struct levels {
	uint64_t connects[RUN_CLIENTS_MAX];
	enum level level[RUN_CLIENTS_MAX];
};

static void
setup(struct client *c)
{
	if (!c->run->state)
		c->run->state = NEW(sim_arena(c->run->sim), struct levels);
	rows_make_table(c);
}

/* A session keeps its consistency for a while. False: not now. */
static bool
set_level(struct client *c, enum level want)
{
	static const char *const names[] = {"one", "quorum", "all"};
	struct levels *l = c->run->state;
	struct sim_pg_result r;
	uint64_t started;

	if (!client_connect(c))
		return false;
	if (l->connects[c->index] == c->connects && l->level[c->index] == want)
		return true;
	if (!client_query(c, &r, &started, "SET skaidb.consistency = '%s'",
		names[want]) ||
	    r.status != SIM_PG_OK || !c->pg)
		return false;
	l->connects[c->index] = c->connects;
	l->level[c->index] = want;
	return true;
}

static void
work(struct client *c)
{
	static const enum reg_kind kinds[] = {
	    REG_INSERT, REG_UPDATE, REG_UPDATE, REG_UPSERT, REG_DELETE};
	uint64_t key = rows_key(c, 2 * SECOND, KEYS);
	enum level level = (enum level)(c->index % 3);

	if (rng_below(&c->rng, 10) == 0)
		level = (enum level)rng_below(&c->rng, 3);
	if (!set_level(c, level))
		return;
	if (rng_below(&c->rng, 2) && level != ALL) {
		rows_do(c,
		    kinds[rng_below(&c->rng, sizeof kinds / sizeof *kinds)],
		    key);
		return;
	}
	client_do(c, &(struct client_op){.table = "t",
			 .kind = REG_READ,
			 .key = key,
			 .stale = level == ONE});
}

static void
check(struct client *c)
{
	rows_check(c, 2 * SECOND, KEYS);
}

const struct scenario scenario_consistency = {
    .name = "consistency",
    .claim = "QUORUM and ALL read exactly, ONE what was written once",
    .clients = 6,
    .faults_not = CHAOS_APART,
    .think_us = 30000,
    .setup = setup,
    .work = work,
    .check = check,
};
