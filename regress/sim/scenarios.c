#include <inttypes.h>
#include <stdlib.h>

#include "regress/sim/run.h"

#define SECOND 1000000ull

/* Faults that belong to scenarios of their own, because they make everything
 * else wait. */
#define APART (CHAOS_JUMP | CHAOS_DISK_FULL | CHAOS_DISK_STALL)

/* ---- rows of (k, v) ---- */

static void
make_table(struct client *c)
{
	struct sim_pg_result r;

	(void)client_insist(
	    c, &r, "CREATE TABLE t (k bigint PRIMARY KEY, v bigint)");
}

/* Keys change with time, so that each has a history of few operations. */
static uint64_t
key_of_period(struct client *c, uint64_t period_us, uint64_t keys)
{
	return sim_now(c->run->sim) / period_us * keys +
	       rng_below(&c->rng, keys);
}

static void
check_rows(struct client *c, uint64_t period_us, uint64_t keys)
{
	uint64_t n = (sim_now(c->run->sim) / period_us + 1) * keys;
	const char *why;

	client_read_back(c, "t", n);
	/* What is late must not come after the last word. */
	client_sleep(c, 5 * SECOND);
	client_read_back(c, "t", n);
	why = history_check(&c->run->history);
	if (why)
		run_fail(c->run, "%s", why);
}

static void
do_one(struct client *c, enum reg_kind kind, uint64_t key)
{
	client_do(
	    c, &(struct client_op){.table = "t", .kind = kind, .key = key});
}

/* ---- durable ---- */

#define DURABLE_US   (8 * SECOND)
#define DURABLE_KEYS 24

static void
durable_work(struct client *c)
{
	static const enum reg_kind kinds[] = {REG_INSERT, REG_INSERT,
	    REG_INSERT, REG_UPDATE, REG_UPDATE, REG_UPDATE, REG_UPSERT,
	    REG_DELETE, REG_READ};

	do_one(c, kinds[rng_below(&c->rng, sizeof kinds / sizeof *kinds)],
	    key_of_period(c, DURABLE_US, DURABLE_KEYS));
}

static void
durable_check(struct client *c)
{
	check_rows(c, DURABLE_US, DURABLE_KEYS);
}

static const struct scenario durable = {
    .name = "durable",
    .claim = "acknowledged writes survive crashes and power loss",
    .clients = 6,
    .faults = CHAOS_NODE_POWER | CHAOS_NODE_KILL,
    .faults_not = APART,
    .think_us = 40000,
    .setup = make_table,
    .work = durable_work,
    .check = durable_check,
};

/* ---- register: reads are exact ---- */

#define REGISTER_US   (2 * SECOND)
#define REGISTER_KEYS 2

static void
register_work(struct client *c)
{
	static const enum reg_kind kinds[] = {REG_INSERT, REG_UPDATE,
	    REG_UPDATE, REG_READ, REG_READ, REG_READ, REG_DELETE, REG_UPSERT};

	do_one(c, kinds[rng_below(&c->rng, sizeof kinds / sizeof *kinds)],
	    key_of_period(c, REGISTER_US, REGISTER_KEYS));
}

static void
register_check(struct client *c)
{
	check_rows(c, REGISTER_US, REGISTER_KEYS);
}

static const struct scenario reg = {
    .name = "register",
    .claim = "reads and writes of a row are linearizable",
    .clients = 5,
    .faults_not = APART,
    .think_us = 40000,
    .setup = make_table,
    .work = register_work,
    .check = register_check,
};

static const struct scenario clocks = {
    .name = "clocks",
    .claim = "rows stay linearizable whatever the clocks do",
    .clients = 5,
    .faults = CHAOS_JUMP | CHAOS_SKEW | CHAOS_DRIFT,
    .faults_not = CHAOS_DISK_FULL | CHAOS_DISK_STALL,
    .think_us = 40000,
    .setup = make_table,
    .work = register_work,
    .check = register_check,
};

static const struct scenario disk = {
    .name = "disk",
    .claim = "a full, slow or failing disk loses nothing acknowledged",
    .clients = 5,
    .faults =
	CHAOS_DISK_FULL | CHAOS_DISK_STALL | CHAOS_DISK_ERROR | CHAOS_DISK_SLOW,
    .faults_not = CHAOS_JUMP,
    .think_us = 40000,
    .setup = make_table,
    .work = durable_work,
    .check = durable_check,
};

/* ---- insert races ---- */

#define RACE_US 300000ull

static void
race_work(struct client *c)
{
	uint64_t key = sim_now(c->run->sim) / RACE_US;

	do_one(c, rng_below(&c->rng, 5) ? REG_INSERT : REG_READ, key);
	/* Together at the next key. */
	client_sleep(c, RACE_US - sim_now(c->run->sim) % RACE_US +
			    rng_below(&c->rng, 2000));
}

/* The history's check knows it already; this says it in fewer words. */
static void
race_winners(struct run *r)
{
	uint64_t *won = NULL, n = 0;

	for (size_t i = 0; i < r->history.n; i++)
		if (r->history.ops[i].key >= n)
			n = r->history.ops[i].key + 1;
	won = NEW_N(sim_arena(r->sim), uint64_t, n + 1);
	for (size_t i = 0; i < r->history.n; i++) {
		const struct reg_op *op = &r->history.ops[i];

		if (op->kind != REG_INSERT || op->unknown || !op->changed)
			continue;
		if (won[op->key])
			run_fail(
			    r, "key %" PRIu64 " was inserted twice", op->key);
		won[op->key] = op->value;
	}
}

static void
race_check(struct client *c)
{
	race_winners(c->run);
	check_rows(c, RACE_US, 1);
}

static const struct scenario race = {
    .name = "insert_race",
    .claim = "of racing inserts of one key exactly one succeeds",
    .clients = 6,
    .faults_not = APART,
    .think_us = 100,
    .setup = make_table,
    .work = race_work,
    .check = race_check,
};

/* ---- counter ---- */

#define COUNTERS 3

struct counter {
	uint64_t acked, sent; /* increments */
	uint64_t read_value;  /* the highest of these */
};

struct counters {
	struct counter c[COUNTERS];
};

static struct counters *
counters_of(struct run *r)
{
	if (!r->state)
		r->state = NEW(sim_arena(r->sim), struct counters);
	return r->state;
}

static void
counter_setup(struct client *c)
{
	struct sim_pg_result r;

	if (!client_insist(
		c, &r, "CREATE TABLE c (k bigint PRIMARY KEY, n bigint)"))
		return;
	for (int i = 0; i < COUNTERS; i++)
		if (!client_insist(c, &r,
			"INSERT INTO c (k, n) VALUES (%d, 0) "
			"ON CONFLICT (k) DO UPDATE SET n = 0",
			i))
			return;
}

/* A read that began after another had ended sees no less, at least what was
 * acknowledged before, and at most what was sent. */
static void
counter_read(struct client *c, int key)
{
	struct counter *k = &counters_of(c->run)->c[key];
	uint64_t acked = k->acked, floor = k->read_value, started, n;
	struct sim_pg_result r;

	if (!client_query(
		c, &r, &started, "SELECT n FROM c WHERE k = %d", key) ||
	    r.status != SIM_PG_OK)
		return;
	if (r.n_rows != 1 || !str_number(sim_pg_value(&r, 0, 0), &n)) {
		run_fail(c->run, "counter %d is not there", key);
		return;
	}
	if (n < acked || n < floor || n > k->sent)
		run_fail(c->run,
		    "counter %d reads %" PRIu64 ": acknowledged before %" PRIu64
		    ", read before %" PRIu64 ", sent %" PRIu64,
		    key, n, acked, floor, k->sent);
	if (n > k->read_value)
		k->read_value = n;
}

static void
counter_work(struct client *c)
{
	int key = (int)rng_below(&c->rng, COUNTERS);
	struct counter *k = &counters_of(c->run)->c[key];
	struct sim_pg_result r;
	uint64_t started;

	if (rng_below(&c->rng, 3) == 0) {
		counter_read(c, key);
		return;
	}
	/* Before it is sent: it may be seen before it is answered. */
	k->sent++;
	if (!client_query(
		c, &r, &started, "UPDATE c SET n = n + 1 WHERE k = %d", key) ||
	    r.status == SIM_PG_ERROR) {
		k->sent--;
		return;
	}
	if (r.status == SIM_PG_OK && r.count != 1)
		run_fail(c->run, "counter %d was not found: %s", key, r.tag);
	k->acked += r.status == SIM_PG_OK;
}

static void
counter_check(struct client *c)
{
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < COUNTERS; i++) {
			struct sim_pg_result r;

			arena_reset(c->arena);
			if (!client_insist(c, &r, "SELECT n FROM c"))
				return;
			counter_read(c, i);
		}
		client_sleep(c, 5 * SECOND);
	}
}

static const struct scenario counter = {
    .name = "counter",
    .claim = "increments happen once each, or not at all",
    .clients = 5,
    .faults_not = APART,
    .think_us = 40000,
    .setup = counter_setup,
    .work = counter_work,
    .check = counter_check,
};

/* ---- tables that are dropped and made again ---- */

struct ddl_row {
	uint64_t value;
	uint64_t start, end; /* end 0: unknown */
};

/* A life of the table: from the start of CREATE to its end, and of DROP. */
struct ddl_life {
	uint64_t create_start, create_end;
	uint64_t drop_start, drop_end;
};

struct ddl {
	struct ddl_life *lives;
	size_t n_lives, cap_lives;
	struct ddl_row *rows;
	size_t n_rows, cap_rows;
	bool exists; /* as far as known */
};

static struct ddl *
ddl_of(struct run *r)
{
	if (!r->state)
		r->state = NEW(sim_arena(r->sim), struct ddl);
	return r->state;
}

static void
ddl_setup(struct client *c)
{
	(void)ddl_of(c->run);
}

static struct ddl_life *
ddl_new_life(struct client *c)
{
	struct ddl *d = ddl_of(c->run);

	if (d->n_lives == d->cap_lives) {
		size_t cap = d->cap_lives ? 2 * d->cap_lives : 64;

		d->lives = arena_grow(sim_arena(c->run->sim), d->lives,
		    d->cap_lives * sizeof *d->lives, cap * sizeof *d->lives);
		d->cap_lives = cap;
	}
	d->lives[d->n_lives] = (struct ddl_life){0, 0, 0, 0};
	return &d->lives[d->n_lives++];
}

/* Until it is done: "does not exist" after an unknown DROP is as good, and so
 * is "exists" after an unknown CREATE. */
static bool
ddl_until(struct client *c, const char *sql, const char *as_good,
    uint64_t *start, uint64_t *end)
{
	*start = 0;
	while (c->run->phase == RUN_WORK || c->run->phase == RUN_CHECK) {
		struct sim_pg_result r;
		uint64_t started;

		if (client_query(c, &r, &started, "%s", sql)) {
			if (!*start)
				*start = started;
			*end = sim_now(c->run->sim);
			if (r.status == SIM_PG_OK ||
			    strcmp(r.sqlstate, as_good) == 0)
				return true;
		}
		client_sleep(c, 50000);
	}
	return false;
}

/* One client makes and drops the table, again and again. */
static void
ddl_change(struct client *c)
{
	struct ddl *d = ddl_of(c->run);
	uint64_t start, end;
	struct ddl_life *l;

	if (d->n_lives && !d->lives[d->n_lives - 1].drop_end) {
		size_t at = d->n_lives - 1;

		d->lives[at].drop_start = sim_now(c->run->sim);
		if (!ddl_until(c, "DROP TABLE d", ERRCODE_UNDEFINED_TABLE,
			&start, &end))
			return;
		d->lives[at].drop_end = end;
	}
	l = ddl_new_life(c);
	l->create_start = sim_now(c->run->sim);
	if (!ddl_until(c, "CREATE TABLE d (k bigint PRIMARY KEY, v bigint)",
		ERRCODE_DUPLICATE_TABLE, &start, &end))
		return;
	d->lives[d->n_lives - 1].create_end = end;
	client_sleep(c, rng_exp(&c->rng, SECOND));
}

static void
ddl_insert(struct client *c)
{
	struct ddl *d = ddl_of(c->run);
	uint64_t v = client_value(c), started;
	struct sim_pg_result r;
	struct ddl_row *row;

	if (!client_query(c, &r, &started,
		"INSERT INTO d (k, v) VALUES (%" PRIu64 ", %" PRIu64 ")", v,
		v) ||
	    r.status == SIM_PG_ERROR)
		return;
	if (d->n_rows == d->cap_rows) {
		size_t cap = d->cap_rows ? 2 * d->cap_rows : 1024;

		d->rows = arena_grow(sim_arena(c->run->sim), d->rows,
		    d->cap_rows * sizeof *d->rows, cap * sizeof *d->rows);
		d->cap_rows = cap;
	}
	row = &d->rows[d->n_rows++];
	*row = (struct ddl_row){.value = v, .start = started};
	if (r.status == SIM_PG_OK)
		row->end = sim_now(c->run->sim);
}

/* The life in which all of start .. end lies, or -1. */
static int64_t
ddl_life_at(const struct ddl *d, uint64_t start, uint64_t end)
{
	for (size_t i = d->n_lives; i-- > 0;) {
		const struct ddl_life *l = &d->lives[i];

		if (l->create_end && start > l->create_end &&
		    (!l->drop_start || end < l->drop_start))
			return (int64_t)i;
	}
	return -1;
}

static int
by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* A read within one life sees every row acknowledged within it before, and none
 * acknowledged before its predecessor was to be dropped.  (Between the two a
 * CREATE whose outcome was unknown may have made the table early.) */
static void
ddl_compare(struct client *c, const struct sim_pg_result *r, uint64_t start)
{
	struct ddl *d = ddl_of(c->run);
	int64_t at = ddl_life_at(d, start, sim_now(c->run->sim));
	uint64_t *seen = NEW_N(c->arena, uint64_t, r->n_rows + 1);
	const struct ddl_life *l;

	if (at < 0)
		return;
	l = &d->lives[at];
	for (uint32_t i = 0; i < r->n_rows; i++)
		(void)str_number(sim_pg_value(r, i, 0), &seen[i]);
	qsort(seen, r->n_rows, sizeof *seen, by_value);
	for (size_t i = 0; i < d->n_rows; i++) {
		const struct ddl_row *row = &d->rows[i];
		bool found = bsearch(&row->value, seen, r->n_rows, sizeof *seen,
				 by_value) != NULL;

		if (found && at > 0 && row->end &&
		    row->end < d->lives[at - 1].drop_start)
			run_fail(c->run,
			    "row %" PRIu64 " of a dropped table is seen in its "
			    "successor",
			    row->value);
		if (!found && row->end && row->start > l->create_end &&
		    row->end < start)
			run_fail(c->run,
			    "row %" PRIu64 " was acknowledged and is not seen",
			    row->value);
	}
}

static void
ddl_scan(struct client *c)
{
	struct sim_pg_result r;
	uint64_t started;

	if (client_query(c, &r, &started, "SELECT v FROM d") &&
	    r.status == SIM_PG_OK)
		ddl_compare(c, &r, started);
}

static void
ddl_work(struct client *c)
{
	if (c->index == 1)
		ddl_change(c);
	else if (rng_below(&c->rng, 8))
		ddl_insert(c);
	else
		ddl_scan(c);
}

static void
ddl_check(struct client *c)
{
	struct ddl *d = ddl_of(c->run);
	struct ddl_life *l = d->n_lives ? &d->lives[d->n_lives - 1] : NULL;
	uint64_t start, end;

	/* The last change may have been broken off. */
	if (l && l->create_end && !l->drop_start) {
		ddl_scan(c);
		client_sleep(c, 5 * SECOND);
		ddl_scan(c);
	}
	if (l && l->create_end) {
		l->drop_start = sim_now(c->run->sim);
		if (ddl_until(c, "DROP TABLE d", ERRCODE_UNDEFINED_TABLE,
			&start, &end))
			l->drop_end = end;
	}
	l = ddl_new_life(c);
	l->create_start = sim_now(c->run->sim);
	if (!ddl_until(c, "CREATE TABLE d (k bigint PRIMARY KEY, v bigint)",
		ERRCODE_DUPLICATE_TABLE, &start, &end))
		return;
	l->create_end = end;
	client_sleep(c, SECOND);
	ddl_scan(c);
}

static const struct scenario ddl = {
    .name = "ddl",
    .claim = "rows of a dropped table never appear in its successor",
    .clients = 5,
    .faults_not = APART,
    .think_us = 40000,
    .setup = ddl_setup,
    .work = ddl_work,
    .check = ddl_check,
};

/* ---- all of them ---- */

const struct scenario *const scenarios[] = {
    &durable, &counter, &race, &reg, &ddl, &clocks, &disk, NULL};

const struct scenario *
scenario_named(const char *name)
{
	for (int i = 0; scenarios[i]; i++)
		if (strcmp(scenarios[i]->name, name) == 0)
			return scenarios[i];
	return NULL;
}
