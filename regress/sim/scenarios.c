#include <inttypes.h>
#include <stdlib.h>

#include "regress/sim/rows.h"
#include "regress/sim/scenarios.h"

#define SECOND 1000000ull

/* ---- durable ---- */

#define DURABLE_US   (8 * SECOND)
#define DURABLE_KEYS 24

static void
durable_work(struct client *c)
{
	static const enum reg_kind kinds[] = {REG_INSERT, REG_INSERT,
	    REG_INSERT, REG_UPDATE, REG_UPDATE, REG_UPDATE, REG_UPSERT,
	    REG_DELETE, REG_READ};

	rows_do(c, kinds[rng_below(&c->rng, sizeof kinds / sizeof *kinds)],
	    rows_key(c, DURABLE_US, DURABLE_KEYS));
}

static void
durable_check(struct client *c)
{
	rows_check(c, DURABLE_US, DURABLE_KEYS);
}

static const struct scenario durable = {
    .name = "durable",
    .claim = "acknowledged writes survive crashes and power loss",
    .clients = 6,
    .faults = CHAOS_NODE_POWER | CHAOS_NODE_KILL,
    .faults_not = CHAOS_APART,
    .think_us = 40000,
    .setup = rows_make_table,
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

	rows_do(c, kinds[rng_below(&c->rng, sizeof kinds / sizeof *kinds)],
	    rows_key(c, REGISTER_US, REGISTER_KEYS));
}

static void
register_check(struct client *c)
{
	rows_check(c, REGISTER_US, REGISTER_KEYS);
}

static const struct scenario reg = {
    .name = "register",
    .claim = "reads and writes of a row are linearizable",
    .clients = 5,
    .faults_not = CHAOS_APART,
    .think_us = 40000,
    .setup = rows_make_table,
    .work = register_work,
    .check = register_check,
};

static const struct scenario clocks = {
    .name = "clocks",
    .claim = "rows stay linearizable whatever the clocks do",
    .clients = 5,
    .faults = CHAOS_JUMP | CHAOS_SKEW | CHAOS_DRIFT,
    .faults_not = CHAOS_DISK_FULL | CHAOS_DISK_STALL | CHAOS_GATEWAY_CLOCK |
		  CHAOS_WILD_DRIFT,
    .think_us = 40000,
    .setup = rows_make_table,
    .work = register_work,
    .check = register_check,
};

static const struct scenario disk = {
    .name = "disk",
    .claim = "a full, slow or failing disk loses nothing acknowledged",
    .clients = 5,
    .faults =
	CHAOS_DISK_FULL | CHAOS_DISK_STALL | CHAOS_DISK_ERROR | CHAOS_DISK_SLOW,
    .faults_not = CHAOS_JUMP | CHAOS_GATEWAY_CLOCK | CHAOS_WILD_DRIFT,
    .think_us = 40000,
    .setup = rows_make_table,
    .work = durable_work,
    .check = durable_check,
};

/* ---- scans ---- */

#define SCAN_US   (4 * SECOND)
#define SCAN_KEYS 40ull
#define SCAN_PAD  1500

static void
scan_setup(struct client *c)
{
	char *pad = arena_alloc(c->arena, SCAN_PAD + 1);
	struct sim_pg_result r;

	memset(pad, 'x', SCAN_PAD);
	(void)client_insist(c, &r,
	    "CREATE TABLE t (k bigint PRIMARY KEY, v bigint, "
	    "pad text DEFAULT '%s')",
	    pad);
}

/* Keys from .. to - 1 in any of the ways to ask for them. */
static const char *
scan_sql(struct client *c, uint64_t from, uint64_t to, bool *ordered)
{
	struct buf b;

	*ordered = rng_below(&c->rng, 2);
	buf_init(&b, c->arena);
	buf_printf(&b, "SELECT k, v, pad FROM t WHERE ");
	if (rng_below(&c->rng, 3)) {
		buf_printf(&b, "k >= %" PRIu64 " AND k < %" PRIu64, from, to);
	} else {
		buf_printf(&b, "k IN (%" PRIu64, from);
		for (uint64_t k = from + 1; k < to; k++)
			buf_printf(&b, ", %" PRIu64, k);
		buf_printf(&b, ")");
	}
	if (*ordered)
		buf_printf(&b, " ORDER BY k");
	return buf_cstr(&b);
}

/* Each key is read at some instant of the scan. */
static void
scan_note(struct client *c, const struct sim_pg_result *r, uint64_t start,
    uint64_t from, bool ordered)
{
	uint64_t seen[SCAN_KEYS] = {0}, last = 0, k, v;

	for (uint32_t i = 0; i < r->n_rows; i++) {
		if (!str_number(sim_pg_value(r, i, 0), &k) ||
		    !str_number(sim_pg_value(r, i, 1), &v) || k < from ||
		    k - from >= SCAN_KEYS || seen[k - from] ||
		    (ordered && i > 0 && k <= last) ||
		    sim_pg_value(r, i, 2).len != SCAN_PAD) {
			run_fail(c->run,
			    "a scan from %" PRIu64 " gave a row twice, out of "
			    "order, out of range or damaged: key %.*s",
			    from, STR_FMT(sim_pg_value(r, i, 0)));
			return;
		}
		seen[k - from] = v;
		last = k;
	}
	for (k = 0; k < SCAN_KEYS; k++)
		history_add(&c->run->history, &(struct reg_op){.kind = REG_READ,
						  .client = c->index,
						  .key = from + k,
						  .start = start,
						  .end = sim_now(c->run->sim),
						  .seen = seen[k]});
}

static void
scan_work(struct client *c)
{
	static const enum reg_kind kinds[] = {REG_INSERT, REG_INSERT,
	    REG_INSERT, REG_UPDATE, REG_UPSERT, REG_DELETE};
	uint64_t from = run_now(c->run) / SCAN_US * SCAN_KEYS, start;
	struct sim_pg_result r;
	bool ordered;

	if (rng_below(&c->rng, 6)) {
		rows_do(c,
		    kinds[rng_below(&c->rng, sizeof kinds / sizeof *kinds)],
		    rows_key(c, SCAN_US, SCAN_KEYS));
		return;
	}
	if (!client_query(c, &r, &start, "%s",
		scan_sql(c, from, from + SCAN_KEYS, &ordered)))
		return;
	if (r.status == SIM_PG_OK)
		scan_note(c, &r, start, from, ordered);
	client_expect_fair(c, &r);
}

static void
scan_check(struct client *c)
{
	rows_check(c, SCAN_US, SCAN_KEYS);
}

static const struct scenario scan = {
    .name = "scan",
    .claim = "a scan reads each key of its range once, exactly",
    .clients = 6,
    .faults_not = CHAOS_APART,
    .think_us = 40000,
    .setup = scan_setup,
    .work = scan_work,
    .check = scan_check,
};

/* ---- insert races ---- */

#define RACE_US 300000ull

static void
race_work(struct client *c)
{
	uint64_t key = run_now(c->run) / RACE_US;

	rows_do(c, rng_below(&c->rng, 5) ? REG_INSERT : REG_READ, key);
	/* Together at the next key. */
	client_sleep(
	    c, RACE_US - run_now(c->run) % RACE_US + rng_below(&c->rng, 2000));
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
	rows_check(c, RACE_US, 1);
}

static const struct scenario race = {
    .name = "insert_race",
    .claim = "of racing inserts of one key exactly one succeeds",
    .clients = 6,
    .faults_not = CHAOS_APART,
    .think_us = 100,
    .setup = rows_make_table,
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

void
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

void
counter_look(struct client *c)
{
	counter_read(c, (int)rng_below(&c->rng, COUNTERS));
}

void
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

void
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
    .faults_not = CHAOS_APART,
    .think_us = 40000,
    .setup = counter_setup,
    .work = counter_work,
    .check = counter_check,
};

/* ---- tables that are dropped and made again ---- */

/* Each table of the name has a default of its own, its generation, so that
 * every row and every answer tells which one it belongs to.  A gateway that has
 * not heard of a change yet may still serve the table before; but no answer
 * mixes two, none goes back at one gateway, and nothing acknowledged in a
 * generation is missing in it. */

struct ddl_row {
	uint64_t value;
	uint64_t generation; /* 0: the outcome is unknown */
	uint64_t end;
};

struct ddl {
	uint64_t generation; /* of the last CREATE */
	bool stands;         /* it was done, and no DROP was sent since */
	struct ddl_row *rows;
	size_t n_rows, cap_rows;
	/* Highest generation seen at a gateway's present process. */
	uint64_t seen[SIM_GATEWAYS_MAX];
	uint32_t boot[SIM_GATEWAYS_MAX];
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

/* Until it is done: "does not exist" after an unknown DROP is as good, and so
 * is "exists" after an unknown CREATE. */
static bool
ddl_until(struct client *c, const char *sql, const char *as_good)
{
	do {
		struct sim_pg_result r;
		uint64_t started;

		if (client_query(c, &r, &started, "%s", sql)) {
			if (r.status == SIM_PG_OK ||
			    strcmp(r.sqlstate, as_good) == 0)
				return true;
			client_expect_fair(c, &r);
		}
		client_sleep(c, 50000);
	} while (c->run->phase == RUN_WORK || c->run->phase == RUN_CHECK);
	return false;
}

static bool
ddl_make_anew(struct client *c)
{
	struct ddl *d = ddl_of(c->run);
	const char *create = arena_printf(c->arena,
	    "CREATE TABLE d (k bigint PRIMARY KEY, v bigint, "
	    "g bigint DEFAULT %" PRIu64 ")",
	    d->generation + 1);

	d->stands = false;
	if (!ddl_until(c, "DROP TABLE d", ERRCODE_UNDEFINED_TABLE))
		return false;
	d->generation++;
	if (!ddl_until(c, create, ERRCODE_DUPLICATE_TABLE))
		return false;
	d->stands = true;
	return true;
}

/* An answer of that generation came from the gateway of this client. */
static void
ddl_saw(struct client *c, uint64_t generation)
{
	struct ddl *d = ddl_of(c->run);
	uint64_t *seen = &d->seen[c->gateway];

	if (generation == 0 || generation > d->generation)
		run_fail(
		    c->run, "generation %" PRIu64 " is not known", generation);
	if (!c->pg || d->boot[c->gateway] > c->gateway_boot)
		return;
	if (d->boot[c->gateway] < c->gateway_boot) {
		d->boot[c->gateway] = c->gateway_boot;
		*seen = 0;
	}
	if (generation > *seen)
		*seen = generation;
}

/* Asked before a statement is sent. */
static uint64_t
ddl_floor(struct client *c)
{
	const struct ddl *d = ddl_of(c->run);

	return c->pg && d->boot[c->gateway] == c->gateway_boot
		   ? d->seen[c->gateway]
		   : 0;
}

static void
ddl_check_floor(struct client *c, uint64_t floor, uint64_t generation)
{
	if (generation < floor)
		run_fail(c->run,
		    "gateway-%u went back from generation %" PRIu64
		    " to %" PRIu64,
		    c->gateway + 1, floor, generation);
	ddl_saw(c, generation);
}

static void
ddl_insert(struct client *c)
{
	struct ddl *d = ddl_of(c->run);
	uint64_t v = client_value(c), floor, started;
	struct ddl_row row = {.value = v};
	struct sim_pg_result r;

	if (!client_connect(c))
		return;
	floor = ddl_floor(c);
	if (!client_query(c, &r, &started,
		"INSERT INTO d (k, v) VALUES (%" PRIu64 ", %" PRIu64
		") RETURNING g",
		v, v))
		return;
	if (r.status == SIM_PG_ERROR) {
		if (strcmp(r.sqlstate, ERRCODE_UNDEFINED_TABLE) != 0)
			client_expect_fair(c, &r);
		return;
	}
	if (r.status == SIM_PG_OK) {
		if (r.n_rows != 1 ||
		    !str_number(sim_pg_value(&r, 0, 0), &row.generation)) {
			run_fail(c->run, "INSERT ... RETURNING gave %u rows",
			    r.n_rows);
			return;
		}
		row.end = sim_now(c->run->sim);
		if (started)
			ddl_check_floor(c, floor, row.generation);
	}
	if (d->n_rows == d->cap_rows) {
		size_t cap = d->cap_rows ? 2 * d->cap_rows : 1024;

		d->rows = arena_grow(sim_arena(c->run->sim), d->rows,
		    d->cap_rows * sizeof *d->rows, cap * sizeof *d->rows);
		d->cap_rows = cap;
	}
	d->rows[d->n_rows++] = row;
}

static int
by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* All of one generation, and all that was acknowledged in it before. */
static void
ddl_compare(struct client *c, const struct sim_pg_result *r, uint64_t start)
{
	struct ddl *d = ddl_of(c->run);
	uint64_t *seen = NEW_N(c->arena, uint64_t, r->n_rows + 1);
	uint64_t generation = 0, g;

	for (uint32_t i = 0; i < r->n_rows; i++) {
		(void)str_number(sim_pg_value(r, i, 0), &seen[i]);
		(void)str_number(sim_pg_value(r, i, 1), &g);
		if (generation && g != generation)
			run_fail(c->run,
			    "one answer has rows of generations %" PRIu64
			    " and %" PRIu64,
			    g, generation);
		generation = g;
	}
	qsort(seen, r->n_rows, sizeof *seen, by_number);
	for (size_t i = 0; i < d->n_rows && generation; i++) {
		const struct ddl_row *row = &d->rows[i];
		bool found = bsearch(&row->value, seen, r->n_rows, sizeof *seen,
				 by_number) != NULL;

		if (found && row->generation && row->generation != generation)
			run_fail(c->run,
			    "row %" PRIu64 " of generation %" PRIu64
			    " is seen in %" PRIu64,
			    row->value, row->generation, generation);
		if (!found && row->generation == generation && row->end < start)
			run_fail(c->run,
			    "row %" PRIu64 " was acknowledged in generation "
			    "%" PRIu64 " and is not seen",
			    row->value, generation);
	}
}

static void
ddl_scan(struct client *c)
{
	uint64_t floor, started, g;
	struct sim_pg_result r;

	if (!client_connect(c))
		return;
	floor = ddl_floor(c);
	if (!client_query(c, &r, &started, "SELECT v, g FROM d"))
		return;
	if (r.status == SIM_PG_ERROR &&
	    strcmp(r.sqlstate, ERRCODE_UNDEFINED_TABLE) != 0)
		client_expect_fair(c, &r);
	if (r.status != SIM_PG_OK)
		return;
	ddl_compare(c, &r, started);
	if (r.n_rows && str_number(sim_pg_value(&r, 0, 1), &g))
		ddl_check_floor(c, floor, g);
}

static void
ddl_work(struct client *c)
{
	if (c->index == 1) {
		if (ddl_make_anew(c))
			client_sleep(c, rng_exp(&c->rng, SECOND));
	} else if (rng_below(&c->rng, 8)) {
		ddl_insert(c);
	} else {
		ddl_scan(c);
	}
}

/* In peace, and a while after, everybody sees the last one. */
static void
ddl_check(struct client *c)
{
	struct ddl *d = ddl_of(c->run);
	struct sim_pg_result r;

	client_sleep(c, 5 * SECOND);
	ddl_scan(c);
	if (!ddl_make_anew(c))
		return;
	client_sleep(c, 5 * SECOND);
	for (int i = 0; i < 10; i++) {
		arena_reset(c->arena);
		if (!client_insist(c, &r, "SELECT v, g FROM d"))
			return;
		if (r.n_rows != (uint32_t)i)
			run_fail(c->run, "the new table has %u rows, not %d",
			    r.n_rows, i);
		ddl_insert(c);
		client_leave(c); /* the next one may be of another gateway */
	}
	ddl_scan(c);
	if (d->rows[d->n_rows - 1].generation != d->generation)
		run_fail(c->run, "the last table is not the last one");
}

static const struct scenario ddl = {
    .name = "ddl",
    .claim = "rows of a dropped table never appear in its successor",
    .clients = 5,
    .faults_not = CHAOS_APART,
    .think_us = 40000,
    .setup = ddl_setup,
    .work = ddl_work,
    .check = ddl_check,
};

/* ---- all of them ---- */

const struct scenario *const scenarios[] = {&durable, &counter, &race, &reg,
    &scan, &ddl, &clocks, &disk, &scenario_ddl_race, &scenario_failover,
    &scenario_takeover, &scenario_lease, &scenario_consistency,
    &scenario_reinsert, &scenario_resync, &scenario_gateway_clocks,
    &scenario_sequence, &scenario_late, &scenario_stale, &scenario_index,
    &scenario_atomic, &scenario_bank, &scenario_bank_takeover, NULL};

const struct scenario *
scenario_named(const char *name)
{
	for (int i = 0; scenarios[i]; i++)
		if (strcmp(scenarios[i]->name, name) == 0)
			return scenarios[i];
	return NULL;
}
