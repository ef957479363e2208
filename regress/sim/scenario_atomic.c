/* Transactions over one partition: all or nothing, seen at once, and of several
 * that insert one key one.  Each writes a row of its own into two tables, and
 * tries to be the one that has the moment. */
#include <inttypes.h>

#include "base/map.h"
#include "regress/sim/scenarios.h"

#define SECOND     1000000ull
#define MOMENT     (SECOND / 2)
#define PARTITIONS 3

enum end { APPLIED = 1, UNKNOWN, NOT_APPLIED };

struct txn {
	uint64_t id;
	unsigned partition;
	uint64_t moment; /* UINT64_MAX: not asked for */
	enum end end;
	bool there[2]; /* found in the end, by table */
	bool has_moment;
};

struct atomic {
	struct map *by_id;
	struct txn *last; /* some that was acknowledged */
};

static struct atomic *
atomic_of(struct run *r)
{
	if (!r->state) {
		struct atomic *a = NEW(sim_arena(r->sim), struct atomic);

		a->by_id = map_new(sim_arena(r->sim));
		r->state = a;
	}
	return r->state;
}

static void
atomic_setup(struct client *c)
{
	static const char *const tables[] = {"l (p int, id bigint",
	    "r (p int, id bigint", "m (p int, id bigint, owner bigint"};
	struct sim_pg_result r;

	(void)atomic_of(c->run);
	for (int i = 0; i < 3; i++)
		if (!client_insist(c, &r,
			"CREATE TABLE IF NOT EXISTS %s, PRIMARY KEY (p, id)) "
			"WITH (distribute_by = (p))",
			tables[i]))
			return;
}

/* One statement of a transaction on the connection that it began on; false when
 * that is gone, or it failed. */
static bool
step(struct client *c, uint64_t connection, const char *sql)
{
	struct sim_pg_result r;
	uint64_t started;

	if (!c->pg || c->connects != connection ||
	    !client_query(c, &r, &started, "%s", sql))
		return false;
	if (strcmp(r.sqlstate, "23505") != 0)
		client_expect_fair(c, &r);
	return r.status == SIM_PG_OK;
}

static bool
write_rows(struct client *c, const struct txn *t, uint64_t connection)
{
	for (const char *table = "lr"; *table; table++)
		if (!step(c, connection,
			arena_printf(c->arena,
			    "INSERT INTO %c VALUES (%u, %" PRIu64 ")", *table,
			    t->partition, t->id)))
			return false;
	if (t->moment == UINT64_MAX)
		return true;
	return step(c, connection,
	    arena_printf(c->arena,
		"INSERT INTO m VALUES (%u, %" PRIu64 ", %" PRIu64 ")",
		t->partition, t->moment, t->id));
}

/* What COMMIT said. */
static enum end
commit(struct client *c, uint64_t connection)
{
	struct sim_pg_result r;
	uint64_t started;

	if (!c->pg || c->connects != connection ||
	    !client_query(c, &r, &started, "COMMIT"))
		return NOT_APPLIED;
	if (strcmp(r.sqlstate, "23505") != 0)
		client_expect_fair(c, &r);
	if (r.status == SIM_PG_OK)
		return APPLIED;
	return r.status == SIM_PG_ERROR ? NOT_APPLIED : UNKNOWN;
}

static void
one_txn(struct client *c)
{
	struct atomic *a = atomic_of(c->run);
	struct txn *t = NEW(sim_arena(c->run->sim), struct txn);
	bool wrote;

	t->id = client_value(c);
	t->partition = (unsigned)rng_below(&c->rng, PARTITIONS);
	t->moment =
	    rng_below(&c->rng, 2) ? run_now(c->run) / MOMENT : UINT64_MAX;
	t->end = NOT_APPLIED;
	map_put(a->by_id, MAP_KEY(&t->id), t);
	if (!client_connect(c))
		return;
	wrote = step(c, c->connects,
		    arena_printf(c->arena, "BEGIN ATOMIC PARTITION (p = %u)",
			t->partition)) &&
		write_rows(c, t, c->connects);
	if (wrote && rng_below(&c->rng, 10))
		t->end = commit(c, c->connects);
	if (t->end == APPLIED)
		a->last = t;
	/* Whatever may be open goes with its session. */
	else if (!step(c, c->connects, "ROLLBACK"))
		client_leave(c);
}

/* What was acknowledged is seen, in both tables. */
static void
look(struct client *c)
{
	const struct txn *t = atomic_of(c->run)->last;
	struct sim_pg_result r;
	uint64_t started, n;

	if (!t)
		return;
	for (const char *table = "lr"; *table; table++) {
		if (!client_query(c, &r, &started,
			"SELECT count(*) FROM %c WHERE p = %u AND id = "
			"%" PRIu64,
			*table, t->partition, t->id))
			return;
		client_expect_fair(c, &r);
		if (r.status != SIM_PG_OK)
			return;
		if (!str_number(sim_pg_value(&r, 0, 0), &n) || n != 1)
			run_fail(c->run,
			    "transaction %" PRIu64 " was acknowledged, and is "
			    "not in table %c",
			    t->id, *table);
	}
}

static void
atomic_work(struct client *c)
{
	if (rng_below(&c->rng, 4))
		one_txn(c);
	else
		look(c);
}

static struct txn *
txn_named(
    struct client *c, const struct sim_pg_result *r, uint32_t row, uint32_t col)
{
	struct str text = sim_pg_value(r, row, col);
	struct txn *t = NULL;
	uint64_t id;

	if (str_number(text, &id))
		t = map_get(atomic_of(c->run)->by_id, MAP_KEY(&id));
	if (!t)
		run_fail(
		    c->run, "a row of no transaction: %.*s", STR_FMT(text));
	return t;
}

static void
check_one(struct client *c, const struct txn *t)
{
	if (t->there[0] != t->there[1])
		run_fail(
		    c->run, "half of transaction %" PRIu64 " is there", t->id);
	if (t->end == APPLIED && !t->there[0])
		run_fail(c->run,
		    "transaction %" PRIu64 " was acknowledged and is gone",
		    t->id);
	if (t->end == NOT_APPLIED && t->there[0])
		run_fail(c->run,
		    "transaction %" PRIu64 " was not applied, and is there",
		    t->id);
	if (t->there[0] && (t->moment != UINT64_MAX) != t->has_moment)
		run_fail(c->run,
		    "transaction %" PRIu64 " is there, and another has its "
		    "moment",
		    t->id);
}

static void
atomic_check(struct client *c)
{
	struct atomic *a = atomic_of(c->run);
	struct sim_pg_result r;
	struct str key;
	size_t at = 0;
	void *v;

	for (uint32_t k = 0; k < 3; k++) {
		if (!client_insist(c, &r, "SELECT %s FROM %c",
			k < 2 ? "id" : "owner", "lrm"[k]))
			return;
		for (uint32_t i = 0; i < r.n_rows; i++) {
			struct txn *t = txn_named(c, &r, i, 0);

			if (t && k < 2)
				t->there[k] = true;
			else if (t)
				t->has_moment = true;
		}
	}
	while (map_next(a->by_id, &at, &key, &v))
		check_one(c, v);
}

const struct scenario scenario_atomic = {
    .name = "atomic",
    .claim = "a transaction over a partition is applied as a whole, or not",
    .clients = 5,
    .faults_not = CHAOS_APART,
    .think_us = 40000,
    .setup = atomic_setup,
    .work = atomic_work,
    .check = atomic_check,
};
