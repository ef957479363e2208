/* Sequences: whatever happens to gateways, nodes and messages, no value is
 * given out twice.  Values come by nextval(), by a cache, and as the key of
 * rows, where a second one would be a duplicate key. */
#include <inttypes.h>

#include "base/map.h"
#include "regress/sim/scenarios.h"

#define SECOND 1000000ull

enum which { DRAWN, CACHED, SERIAL, N_SEQUENCES };

static const char *const names[] = {"s", "cached", "q_id_seq"};

struct sequences {
	struct map *given[N_SEQUENCES]; /* value -> something */
	/* Keys of rows whose INSERT was acknowledged. */
	uint64_t *rows;
	size_t n_rows, cap_rows;
};

static struct sequences *
sequences_of(struct run *r)
{
	struct sequences *s = r->state;

	if (s)
		return s;
	r->state = s = NEW(sim_arena(r->sim), struct sequences);
	for (int i = 0; i < N_SEQUENCES; i++)
		s->given[i] = map_new(sim_arena(r->sim));
	return s;
}

static void
sequence_setup(struct client *c)
{
	struct sim_pg_result r;

	(void)sequences_of(c->run);
	if (client_insist(c, &r, "CREATE SEQUENCE IF NOT EXISTS s") &&
	    client_insist(c, &r,
		"CREATE SEQUENCE IF NOT EXISTS cached INCREMENT 3 CACHE 7"))
		(void)client_insist(c, &r,
		    "CREATE TABLE IF NOT EXISTS q "
		    "(id bigserial PRIMARY KEY, v bigint)");
}

/* A value that somebody was told. */
static bool
given(struct client *c, enum which w, struct str text, uint64_t *value)
{
	struct sequences *s = sequences_of(c->run);

	if (!str_number(text, value)) {
		run_fail(c->run, "sequence %s gave \"%.*s\"", names[w],
		    STR_FMT(text));
		return false;
	}
	if (map_get(s->given[w], MAP_KEY(value)))
		run_fail(c->run,
		    "sequence %s gave %" PRIu64 " twice, the second time to "
		    "client %u by gateway-%u",
		    names[w], *value, c->index, c->gateway + 1);
	map_put(s->given[w], MAP_KEY(value), s);
	return true;
}

static void
draw(struct client *c, enum which w, const char *sql)
{
	struct sim_pg_result r;
	uint64_t started, value;

	if (!client_query(c, &r, &started, "%s", sql))
		return;
	for (uint32_t i = 0; r.status == SIM_PG_OK && i < r.n_rows; i++)
		for (uint32_t k = 0; k < r.n_cols; k++)
			(void)given(c, w, sim_pg_value(&r, i, k), &value);
	client_expect_fair(c, &r);
}

static void
insert(struct client *c, unsigned n)
{
	struct sequences *s = sequences_of(c->run);
	struct sim_pg_result r;
	uint64_t started, value;

	if (!client_query(c, &r, &started,
		"INSERT INTO q (v) SELECT i FROM generate_series(1, %u) i "
		"RETURNING id",
		n))
		return;
	/* A duplicate key is nothing that a fault explains. */
	client_expect_fair(c, &r);
	if (r.status != SIM_PG_OK)
		return;
	if (r.n_rows != n)
		run_fail(c->run, "%u rows inserted instead of %u", r.n_rows, n);
	for (uint32_t i = 0; i < r.n_rows; i++) {
		if (!given(c, SERIAL, sim_pg_value(&r, i, 0), &value))
			return;
		if (s->n_rows == s->cap_rows) {
			size_t cap = s->cap_rows ? 2 * s->cap_rows : 1024;

			s->rows = arena_grow(sim_arena(c->run->sim), s->rows,
			    s->cap_rows * sizeof *s->rows,
			    cap * sizeof *s->rows);
			s->cap_rows = cap;
		}
		s->rows[s->n_rows++] = value;
	}
}

static void
sequence_work(struct client *c)
{
	switch (rng_below(&c->rng, 8)) {
	case 0:
	case 1:
	case 2:
		draw(c, DRAWN, "SELECT nextval('s')");
		break;
	case 3:
		draw(c, DRAWN,
		    "SELECT nextval('s'::regclass) FROM generate_series(1, 4)");
		break;
	case 4:
		draw(c, CACHED, "SELECT nextval('cached'), nextval('cached')");
		break;
	case 5:
		draw(c, SERIAL, "SELECT nextval('q_id_seq')");
		break;
	case 6:
		insert(c, 1);
		break;
	default:
		insert(c, 1 + (unsigned)rng_below(&c->rng, 5));
		break;
	}
	/* What is left of a cache goes with its session. */
	if (rng_below(&c->rng, 10) == 0)
		client_leave(c);
}

/* Each row that was acknowledged is there. */
static bool
rows_are_there(struct client *c)
{
	struct sequences *s = sequences_of(c->run);
	struct map *there = map_new(c->arena);
	struct sim_pg_result r;
	uint64_t value;

	if (!client_insist(c, &r, "SELECT id FROM q"))
		return false;
	for (uint32_t i = 0; i < r.n_rows; i++)
		if (str_number(sim_pg_value(&r, i, 0), &value))
			map_put(there, MAP_KEY(&value), s);
	for (size_t i = 0; i < s->n_rows; i++)
		if (!map_get(there, MAP_KEY(&s->rows[i])))
			run_fail(
			    c->run, "row %" PRIu64 " of q is lost", s->rows[i]);
	return true;
}

static void
sequence_check(struct client *c)
{
	struct sim_pg_result r;
	uint64_t value;

	if (!rows_are_there(c))
		return;
	/* What is late must not come after the last word. */
	client_sleep(c, 5 * SECOND);
	for (int i = 0; i < 20; i++) {
		arena_reset(c->arena);
		if (!client_insist(c, &r, "SELECT nextval('s')") ||
		    !given(c, DRAWN, sim_pg_value(&r, 0, 0), &value))
			return;
		insert(c, 3);
		client_leave(c); /* the next one may be of another gateway */
	}
	if (map_count(sequences_of(c->run)->given[DRAWN]) < 40)
		run_fail(c->run, "hardly any value was drawn");
}

const struct scenario scenario_sequence = {
    .name = "sequence",
    .claim = "no value of a sequence is given out twice",
    .clients = 6,
    .faults_not = CHAOS_APART,
    .think_us = 30000,
    .setup = sequence_setup,
    .work = sequence_work,
    .check = sequence_check,
};
