/* One node at a time dies, and nothing else happens: a majority of every group
 * lives all the time, so every statement succeeds, soon, and nobody is told
 * that an outcome is unknown (CONSENSUS 3: asked again at the next leader). */
#include <inttypes.h>

#include "regress/sim/rows.h"
#include "regress/sim/scenarios.h"

#define SECOND 1000000ull
/* A lease, an election, a clock bound that runs ahead, and what a gateway waits
 * before it asks somebody else. */
#define LIMIT_US (6 * SECOND)

struct failover {
	uint64_t acked, worst_us;
};

static struct failover *
failover_of(struct run *r)
{
	if (!r->state)
		r->state = NEW(sim_arena(r->sim), struct failover);
	return r->state;
}

static void
setup(struct client *c)
{
	struct sim_pg_result r;

	(void)failover_of(c->run);
	if (client_insist(
		c, &r, "CREATE TABLE f (k bigint PRIMARY KEY, n bigint)"))
		(void)client_insist(c, &r,
		    "INSERT INTO f (k, n) VALUES (0, 0), (1, 0), (2, 0), "
		    "(3, 0), (4, 0), (5, 0), (6, 0), (7, 0)");
}

static void
crash_ev(void *arg)
{
	struct fleet_node *n = arg;
	struct sim *s = n->fleet->sim;

	fleet_crash_node(
	    n, n->index % 2, 2 * SECOND + sim_now(s) % (3 * SECOND));
}

/* The next one dies only when the last one is well again. */
static void
destroy(struct client *c)
{
	struct fleet *f = c->run->fleet;
	struct fleet_node *n = &f->nodes[rng_below(&c->rng, f->conf.nodes)];

	client_sleep(c, 3 * SECOND + rng_below(&c->rng, 4 * SECOND));
	if (c->run->phase != RUN_WORK)
		return;
	sim_at(f->sim, sim_now(f->sim), crash_ev, n);
	do
		client_sleep(c, SECOND / 2);
	while (!fleet_ready(f));
}

static void
work(struct client *c)
{
	struct failover *s = failover_of(c->run);
	struct sim_pg_result r;
	uint64_t started, took;

	if (c->index == 1) {
		destroy(c);
		return;
	}
	if (!client_query(c, &r, &started,
		"UPDATE f SET n = n + 1 WHERE k = %" PRIu64,
		rng_below(&c->rng, 8)))
		return;
	took = sim_now(c->run->sim) - started;
	if (took > s->worst_us)
		s->worst_us = took;
	if (r.status != SIM_PG_OK || r.count != 1)
		run_fail(c->run,
		    "with a majority alive a statement ends with %s: %s",
		    r.sqlstate, r.message ? r.message : "");
	else if (took > LIMIT_US)
		run_fail(
		    c->run, "a statement took %.3f s", (double)took / SECOND);
	s->acked += r.status == SIM_PG_OK;
}

static void
check(struct client *c)
{
	struct failover *s = failover_of(c->run);
	struct sim_pg_result r;
	uint64_t sum = 0, n;

	if (!client_insist(c, &r, "SELECT n FROM f"))
		return;
	for (uint32_t i = 0; i < r.n_rows; i++) {
		(void)str_number(sim_pg_value(&r, i, 0), &n);
		sum += n;
	}
	if (sum != s->acked)
		run_fail(c->run,
		    "the sum is %" PRIu64 ", acknowledged were %" PRIu64, sum,
		    s->acked);
	sim_trace(c->run->sim, "run", "the slowest statement took %.3f s",
	    (double)s->worst_us / SECOND);
}

const struct scenario scenario_failover = {
    .name = "failover",
    .claim = "while a majority lives every statement succeeds, soon",
    .clients = 5,
    .faults_not = CHAOS_ALL,
    .think_us = 30000,
    .replication = 3,
    .setup = setup,
    .work = work,
    .check = check,
};
