/* Members are away until the log they need is gone, pages are small, and now
 * and then a row changes on a disk by itself: in the end all copies are equal,
 * and what was damaged was found. */
#include <inttypes.h>

#include "base/metrics.h"
#include "cluster/catalog.h"
#include "cluster/row.h"
#include "regress/sim/acks.h"
#include "regress/sim/replicas.h"
#include "regress/sim/rows.h"
#include "regress/sim/scenarios.h"

#define SECOND   1000000ull
#define STEP_US  (2 * SECOND)
#define KEYS     24
#define REPAIR_S 90u
#define ROWS     1500 /* of the table that is written all over */

struct resync {
	bool damaging;    /* in this run */
	uint64_t damages; /* so far */
};

static struct resync *
resync_of(struct run *r)
{
	if (!r->state)
		r->state = NEW(sim_arena(r->sim), struct resync);
	return r->state;
}

static const char *
many_rows(struct client *c)
{
	struct buf b;

	buf_init(&b, c->arena);
	buf_printf(&b, "INSERT INTO u (k, n) VALUES (0, 0)");
	for (unsigned i = 1; i < ROWS; i++)
		buf_printf(&b, ", (%u, 0)", i);
	buf_printf(&b, " ON CONFLICT (k) DO UPDATE SET n = 0");
	return buf_cstr(&b);
}

static void
setup(struct client *c)
{
	struct sim_pg_result r;

	resync_of(c->run)->damaging = rng_below(&c->rng, 2);
	acks_watch(c->run);
	rows_make_table(c);
	if (client_insist(
		c, &r, "CREATE TABLE u (k bigint PRIMARY KEY, n bigint)"))
		(void)client_insist(c, &r, "%s", many_rows(c));
}

/* ---- damage ---- */

struct victim {
	struct rng *rng;
	struct arena *arena;
	struct str key;
	uint64_t seen;
};

/* Any live row of a table of users, each as likely. */
static bool
pick_row(void *arg, struct str key, struct str val)
{
	struct victim *v = arg;
	struct cl_row_head h;

	if (cl_row_head(val, &h) && !(h.flags & CL_ROW_TOMBSTONE) &&
	    rng_below(v->rng, ++v->seen) == 0)
		v->key = arena_str(v->arena, key);
	return true;
}

/* One bit of a row's stamp, on one disk. */
static bool
damage(struct client *c)
{
	struct fleet *f = c->run->fleet;
	struct fleet_node *n = &f->nodes[rng_below(&c->rng, f->conf.nodes)];
	struct victim v = {.rng = &c->rng, .arena = c->arena};
	struct buf from;

	buf_init(&from, c->arena);
	buf_be32(&from, CL_ID_FIRST);
	engine_mem_each(n->disk.disk, KV_ROWS, buf_view(&from), pick_row, &v);
	if (!v.key.len)
		return false;
	sim_trace(c->run->sim, sim_host_name(n->host), "a row is damaged");
	engine_mem_damage(n->disk.disk, KV_ROWS, v.key, 3);
	resync_of(c->run)->damages++;
	return true;
}

struct repaired {
	uint64_t checked, skipped, different, rows, bytes;
};

static bool
take_repaired(
    struct client *c, const struct sim_pg_result *r, struct repaired *out)
{
	uint64_t *to[] = {&out->checked, &out->skipped, &out->different,
	    &out->rows, &out->bytes};

	if (r->status != SIM_PG_OK)
		return false;
	if (r->n_rows != 1 || r->n_cols != 5) {
		run_fail(c->run, "REPAIR CLUSTER gives no row of five");
		return false;
	}
	for (uint32_t i = 0; i < 5; i++)
		if (!str_number(sim_pg_value(r, 0, i), to[i]))
			return false;
	sim_trace(c->run->sim, "run",
	    "repaired: checked=%" PRIu64 " skipped=%" PRIu64
	    " different=%" PRIu64 " rows=%" PRIu64,
	    out->checked, out->skipped, out->different, out->rows);
	return true;
}

/* ---- work ---- */

static void
crash_ev(void *arg)
{
	struct fleet_node *n = arg;
	struct sim *s = n->fleet->sim;

	if (sim_host_up(n->host))
		fleet_crash_node(
		    n, sim_now(s) % 2, SECOND + sim_now(s) % (5 * SECOND));
}

static void
disturb(struct client *c)
{
	struct fleet *f = c->run->fleet;
	struct fleet_node *n = &f->nodes[rng_below(&c->rng, f->conf.nodes)];
	struct sim_pg_result r;
	struct repaired out;
	uint64_t started;

	client_sleep(c, SECOND / 2 + rng_below(&c->rng, 4 * SECOND));
	if (c->run->phase != RUN_WORK)
		return;
	switch (rng_below(&c->rng, 4)) {
	case 0:
		/* One at a time: of three copies two tell the truth. */
		if (!resync_of(c->run)->damaging ||
		    resync_of(c->run)->damages > 0 || !damage(c))
			return;
		break;
	case 1:
		break;
	default:
		sim_at(f->sim, sim_now(f->sim), crash_ev, n);
		return;
	}
	if (client_query(c, &r, &started, "REPAIR CLUSTER"))
		(void)take_repaired(c, &r, &out);
}

/* Anywhere, so that pages under way are of rows that change. Their values are
 * what the copies are compared by. */
static void
write_anywhere(struct client *c)
{
	struct sim_pg_result r;
	uint64_t started;

	if (client_query(c, &r, &started,
		"UPDATE u SET n = n + 1 WHERE k = %" PRIu64,
		rng_below(&c->rng, ROWS)))
		client_expect_fair(c, &r);
}

static void
work(struct client *c)
{
	static const enum reg_kind kinds[] = {REG_INSERT, REG_INSERT,
	    REG_UPDATE, REG_UPDATE, REG_READ, REG_DELETE, REG_UPSERT};

	if (c->index == 1)
		disturb(c);
	else if (c->index > 3)
		write_anywhere(c);
	else
		rows_do(c,
		    kinds[rng_below(&c->rng, sizeof kinds / sizeof *kinds)],
		    rows_key(c, STEP_US, KEYS));
}

/* ---- checks ---- */

/* Until all groups could be looked at; adds up. */
static bool
repair(struct client *c, struct repaired *sum)
{
	uint64_t until = run_now(c->run) + REPAIR_S * SECOND;

	memset(sum, 0, sizeof *sum);
	while (run_now(c->run) < until) {
		struct repaired out;
		struct sim_pg_result r;

		if (!client_insist(c, &r, "REPAIR CLUSTER") ||
		    !take_repaired(c, &r, &out))
			return false;
		sum->different += out.different;
		sum->rows += out.rows;
		if (!out.skipped && !out.different)
			return true;
		client_sleep(c, SECOND);
	}
	run_fail(c->run, "REPAIR CLUSTER does not come to an end");
	return false;
}

static void
check(struct client *c)
{
	struct resync *x = resync_of(c->run);
	struct repaired out;

	if (!repair(c, &out))
		return;
	if (!x->damages && metric_total(M_NODE_SCRUB_DIFFERENCES))
		run_fail(c->run, "copies differ though nothing was damaged");
	/* Now for sure: one row of one copy. */
	if (damage(c) && repair(c, &out) && (out.different != 1 || !out.rows))
		run_fail(c->run,
		    "a damaged row, and %" PRIu64 " copies differ, %" PRIu64
		    " rows were moved",
		    out.different, out.rows);
	rows_check(c, STEP_US, KEYS);
}

const struct scenario scenario_resync = {
    .name = "resync",
    .claim = "copies that were left behind, or damaged, become equal",
    .clients = 9,
    .faults = CHAOS_TAKEOVER | CHAOS_NODE_KILL,
    .faults_not = CHAOS_APART | CHAOS_DISK_LOSS | CHAOS_HOUR,
    .think_us = 10000,
    .replication = 3,
    .log_retention = 2048,
    .resync_rate = 100000,
    .scrub_us = 5 * SECOND,
    .setup = setup,
    .work = work,
    .check = check,
};
