/* Several clients, at several gateways, make the table of the present moment:
 * one of them succeeds, the others hear that it exists, and it is the one that
 * it says it is for ever after. */
#include <inttypes.h>

#include "regress/sim/rows.h"
#include "regress/sim/scenarios.h"

#define SECOND   1000000ull
#define ROUND_US (1500000ull)
#define ROUNDS   400u

struct round {
	uint32_t winner;  /* client + 1 whose CREATE succeeded; 0 = none */
	uint32_t maybe;   /* how many do not know whether theirs did */
	bool exists;      /* somebody was told so */
	uint64_t acked;   /* rows inserted, and acknowledged */
	uint64_t unknown; /* perhaps */
};

struct race {
	struct round rounds[ROUNDS];
	uint32_t done[RUN_CLIENTS_MAX]; /* its last round, + 1 */
};

static struct race *
race_of(struct run *r)
{
	if (!r->state)
		r->state = NEW(sim_arena(r->sim), struct race);
	return r->state;
}

static void
setup(struct client *c)
{
	(void)race_of(c->run);
}

static void
create(struct client *c, uint32_t at)
{
	struct round *d = &race_of(c->run)->rounds[at];
	struct sim_pg_result r;
	uint64_t started;

	if (!client_query(c, &r, &started,
		"CREATE TABLE r%u (k bigint PRIMARY KEY, "
		"made_by bigint DEFAULT %u)",
		at, c->index + 1))
		return;
	race_of(c->run)->done[c->index] = at + 1;
	if (r.status == SIM_PG_UNKNOWN) {
		d->maybe++;
	} else if (r.status == SIM_PG_OK) {
		if (d->winner)
			run_fail(c->run,
			    "table r%u was made by client-%u and client-%u", at,
			    d->winner - 1, c->index);
		d->winner = c->index + 1;
	} else if (strcmp(r.sqlstate, ERRCODE_DUPLICATE_TABLE) == 0) {
		d->exists = true;
	} else {
		client_expect_fair(c, &r);
	}
}

static void
insert(struct client *c, uint32_t at)
{
	struct round *d = &race_of(c->run)->rounds[at];
	struct sim_pg_result r;
	uint64_t started, by;

	if (!client_query(c, &r, &started,
		"INSERT INTO r%u (k) VALUES (%" PRIu64 ") RETURNING made_by",
		at, client_value(c)))
		return;
	d->unknown += r.status == SIM_PG_UNKNOWN;
	d->acked += r.status == SIM_PG_OK;
	if (r.status == SIM_PG_ERROR &&
	    strcmp(r.sqlstate, ERRCODE_UNDEFINED_TABLE) != 0)
		client_expect_fair(c, &r);
	if (r.status != SIM_PG_OK)
		return;
	if (!str_number(sim_pg_value(&r, 0, 0), &by) ||
	    (d->winner && by != d->winner))
		run_fail(c->run,
		    "table r%u is that of client-%.*s, not of client-%u", at,
		    STR_FMT(sim_pg_value(&r, 0, 0)), d->winner);
}

static void
work(struct client *c)
{
	uint32_t at = (uint32_t)(run_now(c->run) / ROUND_US) % ROUNDS;

	if (race_of(c->run)->done[c->index] != at + 1)
		create(c, at);
	else
		insert(c, at - (uint32_t)rng_below(&c->rng, at < 3 ? 1 : 3));
}

/* A table that anybody was told of is there, with all its rows. */
static void
check_round(struct client *c, uint32_t at)
{
	const struct round *d = &race_of(c->run)->rounds[at];
	struct sim_pg_result r;

	if (!d->winner && !d->exists && !d->acked)
		return;
	if (!client_insist(c, &r, "SELECT k, made_by FROM r%u", at))
		return;
	if (r.n_rows < d->acked || r.n_rows > d->acked + d->unknown)
		run_fail(c->run,
		    "table r%u has %u rows: %" PRIu64
		    " were acknowledged, %" PRIu64 " are unknown",
		    at, r.n_rows, d->acked, d->unknown);
	if (!d->winner && !d->maybe)
		run_fail(c->run, "nobody made table r%u, and it is there", at);
}

static void
check(struct client *c)
{
	for (uint32_t at = 0; at < ROUNDS; at++) {
		arena_reset(c->arena);
		check_round(c, at);
	}
}

const struct scenario scenario_ddl_race = {
    .name = "ddl_race",
    .claim = "of concurrent statements that make a table one succeeds",
    .clients = 5,
    .faults_not = CHAOS_APART,
    .think_us = 60000,
    .setup = setup,
    .work = work,
    .check = check,
};
