#include "regress/sim/drive.h"

#include <inttypes.h>
#include <stdarg.h>

#include "regress/sim/replicas.h"

#define SECOND 1000000ull
#define POLL   50000ull
/* Bounds of the phases. */
#define FORM_US  (60 * SECOND)
#define SETUP_US (60 * SECOND)
#define HEAL_US  (150 * SECOND)
#define CHECK_US (240 * SECOND)
#define EQUAL_US (60 * SECOND)
/* Beyond the age of tombstones: rounds of sweeps, each a little. */
#define SWEEPS   10u
#define SWEEP_US (2 * SECOND)
/* What a client waits for: longer than any statement may take. */
#define CONNECT_US   (5 * SECOND)
#define STATEMENT_US (45 * SECOND)
#define INSIST_US    (60 * SECOND)

/* ---- failures ---- */

void
run_fail(struct run *r, const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	text = arena_vprintf(sim_arena(r->sim), fmt, ap);
	va_end(ap);
	r->n_failures++;
	sim_trace(r->sim, "run", "FAILURE: %s", text);
	/* The first tell enough. */
	if (r->n_failures <= 5)
		buf_printf(&r->failures, "%.3f: %s\n",
		    (double)sim_now(r->sim) / 1e6, text);
}

/* ---- clients ---- */

bool
str_number(struct str s, uint64_t *out)
{
	*out = 0;
	return s.p && str_u64(s, out);
}

uint64_t
client_value(struct client *c)
{
	return (uint64_t)c->index * 1000000 + ++c->sequence;
}

void
client_sleep(struct client *c, uint64_t us)
{
	(void)fiber_sleep(c->world, world_mono_us(c->world) + us);
}

void
client_leave(struct client *c)
{
	if (c->pg)
		sim_pg_close(c->pg);
	c->pg = NULL;
}

bool
client_connect(struct client *c)
{
	struct fleet *f = c->run->fleet;
	const struct fleet_gateway *g;
	const char *why;

	if (c->pg)
		return true;
	c->gateway = c->by_gateway
			 ? c->by_gateway - 1
			 : (uint32_t)rng_below(&c->rng, f->conf.gateways);
	g = &f->gateways[c->gateway];
	c->doing = "connecting";
	c->pg = sim_pg_connect(c->world, g->addr, "postgres", "postgres",
	    world_mono_us(c->world) + CONNECT_US, &why);
	c->gateway_boot = sim_host_boots(g->host);
	c->connects += c->pg != NULL;
	if (c->pg)
		return true;
	sim_trace(c->run->sim, sim_host_name(c->host),
	    "no connection to %s: %s", g->addr, why);
	client_sleep(c, rng_between(&c->rng, 10000, 300000));
	return false;
}

static void
trace_result(struct client *c, const char *sql, const struct sim_pg_result *r)
{
	static const char *const status[] = {"ok", "error", "unknown"};

	if (!sim_tracing(c->run->sim))
		return;
	sim_trace(c->run->sim, sim_host_name(c->host), "%s --> %s %s %s %s",
	    sql, status[r->status], r->tag ? r->tag : "", r->sqlstate,
	    r->message && r->status != SIM_PG_OK ? r->message : "");
	for (uint32_t i = 0; i < r->n_rows * r->n_cols && i < 20; i++)
		sim_trace(c->run->sim, sim_host_name(c->host), "  %.*s",
		    STR_FMT(r->values[i]));
}

static bool
query(struct client *c, struct sim_pg_result *r, uint64_t *started,
    const char *sql)
{
	struct sim *s = c->run->sim;

	*r = (struct sim_pg_result){.status = SIM_PG_ERROR};
	*started = 0;
	if (!client_connect(c))
		return false;
	*started = sim_now(s);
	c->doing = sql;
	sim_trace(s, sim_host_name(c->host), "%s", sql);
	sim_pg_query(c->pg, c->arena,
	    world_mono_us(c->world) +
		(c->patience_us ? c->patience_us : STATEMENT_US),
	    r, sql);
	c->doing = NULL;
	trace_result(c, sql, r);
	sim_note(s, r->sqlstate, str_c(r->tag));
	if (!r->connected)
		client_leave(c);
	switch (r->status) {
	case SIM_PG_OK:
		c->run->acked++;
		break;
	case SIM_PG_ERROR:
		c->run->refused++;
		break;
	case SIM_PG_UNKNOWN:
		c->run->unknown++;
		break;
	}
	return true;
}

bool
client_query(struct client *c, struct sim_pg_result *r, uint64_t *started,
    const char *fmt, ...)
{
	va_list ap;
	char *sql;

	va_start(ap, fmt);
	sql = arena_vprintf(c->arena, fmt, ap);
	va_end(ap);
	return query(c, r, started, sql);
}

bool
client_insist(struct client *c, struct sim_pg_result *r, const char *fmt, ...)
{
	uint64_t until = world_mono_us(c->world) + INSIST_US, started;
	const char *last = "no connection";
	va_list ap;
	char *sql;

	va_start(ap, fmt);
	sql = arena_vprintf(c->arena, fmt, ap);
	va_end(ap);
	do {
		if (query(c, r, &started, sql)) {
			if (r->status == SIM_PG_OK)
				return true;
			last = arena_printf(c->arena, "%s %s", r->sqlstate,
			    r->message ? r->message : "");
		}
		client_sleep(c, 200000);
	} while (world_mono_us(c->world) < until);
	run_fail(c->run, "without faults this did not succeed in %u s: %s: %s",
	    (unsigned)(INSIST_US / SECOND), sql, last);
	return false;
}

/* ---- operations that the history knows ---- */

/* What a client may be told under faults, having done nothing wrong. */
static bool
is_fair(const char *sqlstate)
{
	static const char *const fair[] = {
	    "57P03", "57P01", "57014", "40001", "40P01", "53", "08", NULL};

	for (int i = 0; fair[i]; i++)
		if (strncmp(sqlstate, fair[i], strlen(fair[i])) == 0)
			return true;
	return false;
}

void
client_expect_fair(struct client *c, const struct sim_pg_result *r)
{
	if (r->status == SIM_PG_ERROR && !is_fair(r->sqlstate))
		run_fail(c->run, "unexpected error %s: %s", r->sqlstate,
		    r->message ? r->message : "");
}

static const char *
sql_of(struct client *c, const struct client_op *op, uint64_t value)
{
	switch (op->kind) {
	case REG_READ:
		return arena_printf(c->arena,
		    "SELECT v FROM %s WHERE k = %" PRIu64, op->table, op->key);
	case REG_INSERT:
		return arena_printf(c->arena,
		    "INSERT INTO %s (k, v) VALUES (%" PRIu64 ", %" PRIu64 ")",
		    op->table, op->key, value);
	case REG_UPDATE:
		return arena_printf(c->arena,
		    "UPDATE %s SET v = %" PRIu64 " WHERE k = %" PRIu64,
		    op->table, value, op->key);
	case REG_DELETE:
		return arena_printf(c->arena,
		    "DELETE FROM %s WHERE k = %" PRIu64, op->table, op->key);
	case REG_UPSERT:
		return arena_printf(c->arena,
		    "INSERT INTO %s (k, v) VALUES (%" PRIu64 ", %" PRIu64
		    ") ON CONFLICT (k) DO UPDATE SET v = excluded.v",
		    op->table, op->key, value);
	}
	UNREACHABLE();
}

/* What the answer says of the operation; false: nothing happened. */
static bool
judge(struct client *c, const struct sim_pg_result *r, struct reg_op *op)
{
	switch (r->status) {
	case SIM_PG_UNKNOWN:
		op->unknown = true;
		return op->kind != REG_READ;
	case SIM_PG_ERROR:
		if (op->kind == REG_INSERT &&
		    strcmp(r->sqlstate, ERRCODE_UNIQUE_VIOLATION) == 0)
			return true;
		client_expect_fair(c, r);
		return false;
	case SIM_PG_OK:
		break;
	}
	if (op->kind != REG_READ) {
		op->changed = r->count == 1;
		return true;
	}
	if (r->n_rows > 1)
		run_fail(c->run, "key %" PRIu64 " was read %u times", op->key,
		    r->n_rows);
	if (r->n_rows > 0)
		(void)str_number(sim_pg_value(r, 0, 0), &op->seen);
	return true;
}

void
client_do(struct client *c, const struct client_op *what)
{
	struct reg_op op = {.kind = what->kind,
	    .client = c->index,
	    .key = what->key,
	    .value = client_value(c),
	    .stale = what->stale};
	struct sim_pg_result r;

	if (!query(c, &r, &op.start, sql_of(c, what, op.value)))
		return;
	op.end = sim_now(c->run->sim);
	if (judge(c, &r, &op))
		history_add(&c->run->history, &op);
}

static bool
scan_back(struct client *c, const char *table, uint64_t n_keys)
{
	uint64_t start = sim_now(c->run->sim), end, key, v;
	uint64_t *seen = NEW_N(c->arena, uint64_t, n_keys + 1);
	struct sim_pg_result r;

	if (!client_insist(c, &r, "SELECT k, v FROM %s", table))
		return false;
	end = sim_now(c->run->sim);
	for (uint32_t i = 0; i < r.n_rows; i++) {
		if (!str_number(sim_pg_value(&r, i, 0), &key) ||
		    !str_number(sim_pg_value(&r, i, 1), &v) || key >= n_keys ||
		    seen[key]) {
			run_fail(c->run,
			    "a scan gave a row twice or a strange "
			    "one: key %.*s",
			    STR_FMT(sim_pg_value(&r, i, 0)));
			continue;
		}
		seen[key] = v;
	}
	for (key = 0; key < n_keys; key++)
		history_add(&c->run->history, &(struct reg_op){.kind = REG_READ,
						  .client = c->index,
						  .key = key,
						  .start = start,
						  .end = end,
						  .seen = seen[key]});
	return true;
}

void
client_read_back(struct client *c, const char *table, uint64_t n_keys)
{
	uint64_t misses = 0;

	if (!scan_back(c, table, n_keys))
		return;
	for (uint64_t key = 0; key < n_keys && misses < 20; key++) {
		size_t before = c->run->history.n;

		arena_reset(c->arena);
		client_do(c, &(struct client_op){
				 .table = table, .kind = REG_READ, .key = key});
		misses += c->run->history.n == before;
	}
	if (misses >= 20)
		run_fail(c->run, "without faults, reads by key keep failing");
}

/* ---- fibers of clients ---- */

static void
work_fiber(void *arg)
{
	struct client *c = arg;
	struct run *r = c->run;

	while (r->phase == RUN_WORK) {
		arena_reset(c->arena);
		/* Now and then by another gateway. */
		if (rng_below(&c->rng, 50) == 0)
			client_leave(c);
		r->opts.scenario->work(c);
		client_sleep(c, rng_exp(&c->rng, r->opts.scenario->think_us));
	}
	client_leave(c);
	c->finished = true;
}

static void
setup_fiber(void *arg)
{
	struct client *c = arg;

	c->run->opts.scenario->setup(c);
	client_leave(c);
	c->finished = c->run->stop = true;
}

static void
check_fiber(void *arg)
{
	struct client *c = arg;

	c->run->opts.scenario->check(c);
	client_leave(c);
	c->finished = c->run->stop = true;
}

static void
boot_client(void *arg, struct world *w)
{
	struct client *c = arg;
	void (*fn)(void *) = c->run->phase == RUN_SETUP  ? setup_fiber
			     : c->run->phase == RUN_WORK ? work_fiber
							 : check_fiber;

	c->world = w;
	c->arena = arena_new(w->arena, "operation");
	fiber_spawn(w, "client", FIBER_STACK_GATEWAY, fn, c);
}

static struct client *
add_client(struct run *r)
{
	struct client *c = &r->clients[r->n_clients];
	struct arena *a = sim_arena(r->sim);
	struct sim_host_opts o = {.boot = boot_client, .arg = c};

	ASSERT(r->n_clients < RUN_CLIENTS_MAX);
	c->run = r;
	c->index = r->n_clients++;
	o.name = arena_printf(a, "client-%u", c->index);
	c->rng = sim_rng(r->sim, o.name);
	c->host = sim_host_new(r->sim, &o);
	sim_boot(c->host);
	return c;
}

/* ---- phases ---- */

static void
enter(struct run *r, enum run_phase p)
{
	static const char *const names[] = {
	    "setup", "work", "heal", "check", "settle", "over"};

	r->phase = p;
	r->stop = false;
	sim_trace(r->sim, "run", "phase %s", names[p]);
}

/* Runs until done(r), false when that takes longer than allowed. */
static bool
run_until(struct run *r, bool (*done)(const struct run *r), uint64_t limit_us)
{
	uint64_t until = sim_now(r->sim) + limit_us;

	while (!done(r)) {
		if (sim_now(r->sim) >= until)
			return false;
		sim_run(r->sim, sim_now(r->sim) + POLL, &r->stop);
	}
	return true;
}

static bool
is_formed(const struct run *r)
{
	return fleet_ready(r->fleet);
}

static bool
is_stopped(const struct run *r)
{
	return r->stop;
}

static bool
is_healed(const struct run *r)
{
	for (uint32_t i = 0; i < r->n_clients; i++)
		if (!r->clients[i].finished)
			return false;
	return fleet_ready(r->fleet);
}

static bool
set_up(struct run *r)
{
	fleet_boot(r->fleet);
	if (!run_until(r, is_formed, FORM_US)) {
		run_fail(r, "the cluster did not form");
		return false;
	}
	(void)add_client(r);
	if (!run_until(r, is_stopped, SETUP_US))
		run_fail(r, "setup takes too long: %s",
		    r->clients[0].doing ? r->clients[0].doing : "");
	return r->n_failures == 0;
}

uint64_t
run_now(const struct run *r)
{
	return sim_now(r->sim) - (r->chaos ? chaos_slept_us(r->chaos) : 0);
}

static void
work(struct run *r)
{
	uint64_t until = sim_now(r->sim) + r->opts.seconds * SECOND;
	const struct scenario *s = r->opts.scenario;
	struct chaos_opts o = {.always = s->faults,
	    .never = r->opts.no_faults ? (unsigned)CHAOS_ALL : s->faults_not,
	    .until_us = until,
	    .wild = s->strained};

	enter(r, RUN_WORK);
	r->chaos = chaos_start(r->fleet, &o);
	for (uint32_t i = 0; i < s->clients; i++)
		(void)add_client(r);
	while (run_now(r) < until || r->fleet->asleep_until > sim_now(r->sim))
		sim_run(r->sim,
		    r->fleet->asleep_until > sim_now(r->sim)
			? r->fleet->asleep_until
			: until + chaos_slept_us(r->chaos),
		    NULL);
}

static void
heal(struct run *r)
{
	enter(r, RUN_HEAL);
	chaos_heal(r->chaos);
	if (run_until(r, is_healed, HEAL_US))
		return;
	for (uint32_t i = 0; i < r->n_clients; i++)
		if (!r->clients[i].finished)
			run_fail(r,
			    "client-%u has no end after all faults "
			    "ended: %s",
			    i,
			    r->clients[i].doing ? r->clients[i].doing
						: "(between operations)");
	for (uint32_t i = 0; i < r->fleet->conf.nodes; i++)
		if (!r->fleet->nodes[i].ready)
			run_fail(r,
			    "node-%u does not serve after all faults "
			    "ended",
			    i + 1);
}

/* ---- the end ---- */

static bool
is_equal(const struct run *r)
{
	struct arena *a = arena_new(sim_arena(r->sim), "replicas");
	bool equal = !replicas_differ(r->fleet, a);

	arena_free(a);
	return equal;
}

/* Those that are old enough, by a clock that was set right. */
static uint64_t
old_tombstones(const struct run *r, uint64_t slack_us)
{
	uint64_t age = r->fleet->conf.tombstone_age_us + slack_us;
	uint64_t now = sim_wall_us(r->sim);

	return replicas_tombstones(
	    r->fleet, CL_STAMP_OF_MS((now - age) / 1000));
}

static bool
is_swept(const struct run *r)
{
	return old_tombstones(r, 0) == 0;
}

static void
settle(struct run *r)
{
	uint64_t sweeps =
	    SWEEPS * (r->fleet->conf.sweep_interval_us + SWEEP_US);

	enter(r, RUN_SETTLE);
	if (!run_until(r, is_equal, EQUAL_US)) {
		run_fail(r, "copies differ at the end: %s",
		    replicas_differ(r->fleet, sim_arena(r->sim)));
		return;
	}
	/* A member that is gone for good never applies past them. */
	if (r->fleet->disks_lost > 0)
		return;
	if (!run_until(r, is_swept, r->fleet->conf.tombstone_age_us + sweeps) &&
	    old_tombstones(r, sweeps) > 0)
		run_fail(r, "%" PRIu64 " tombstones are never dropped",
		    old_tombstones(r, sweeps));
}

void
run_go(struct run *r, struct run_result *out)
{
	if (set_up(r)) {
		work(r);
		heal(r);
		enter(r, RUN_CHECK);
		(void)add_client(r);
		if (run_until(r, is_stopped, CHECK_US))
			settle(r);
		else
			run_fail(r, "checks take too long");
	}
	enter(r, RUN_OVER);
	*out = (struct run_result){.hash = sim_hash(r->sim),
	    .events = sim_events(r->sim),
	    .virtual_us = sim_now(r->sim),
	    .acked = r->acked,
	    .unknown = r->unknown,
	    .refused = r->refused,
	    .failures = buf_cstr(&r->failures),
	    .n_failures = r->n_failures};
}

/* Mostly three copies; at most as many as there are nodes. */
static void
set_replication(struct run *r, struct rng *shape, struct fleet_conf *fc)
{
	static const uint32_t some[] = {1, 1, 2, 2, 3, 3, 3, 3, 3, 3, 5, 5};
	uint32_t copies = some[rng_below(shape, sizeof some / sizeof *some)];

	if (r->opts.scenario->replication)
		copies = r->opts.scenario->replication;
	if (r->opts.replication)
		copies = r->opts.replication;
	fc->nodes = (uint32_t)rng_between(shape, copies, copies < 5 ? 5 : 6);
	if (r->opts.nodes)
		fc->nodes = r->opts.nodes;
	fc->replication = copies < fc->nodes ? copies : fc->nodes;
	fc->leader_lease_us = rng_below(shape, 5) ? 600000 : 0;
	fc->beat_us = 100000;
	if (r->opts.scenario->strained) {
		fc->leader_lease_us = rng_between(shape, 600000, 3000000);
		fc->beat_us = rng_between(shape, 15000, 50000);
	}
	if (r->opts.lease_ms != UINT32_MAX)
		fc->leader_lease_us = r->opts.lease_ms * 1000ull;
}

static void
set_shape(struct run *r, struct fleet_conf *fc)
{
	struct rng shape = sim_rng(r->sim, "shape");
	uint64_t age = r->opts.scenario->tombstone_age_us;

	set_replication(r, &shape, fc);
	fc->gateways = (uint32_t)rng_between(&shape, 1, 3);
	if (r->opts.scenario->strained)
		fc->gateways = 3;
	if (r->opts.scenario->gateways)
		fc->gateways = r->opts.scenario->gateways;
	fc->slots = 1u << rng_between(&shape, 0, 5);
	fc->page_bytes = (size_t)1024 << rng_between(&shape, 0, 8);
	fc->tombstone_age_us = rng_exp(&shape, age ? age : 10 * SECOND);
	fc->sweep_interval_us = 50000 + rng_exp(&shape, SECOND);
	/* Seldom enough for members that were away a little, often not. */
	fc->log_retention = (uint64_t)1024 << rng_between(&shape, 1, 14);
	if (r->opts.scenario->log_retention)
		fc->log_retention = r->opts.scenario->log_retention;
	fc->transactions = false;
	fc->txn_abort_after_us = fc->txn_retention_us = 0;
	fc->scrub_us = r->opts.scenario->scrub_us;
	fc->resync_rate = r->opts.scenario->resync_rate;
	if (r->opts.gateways)
		fc->gateways = r->opts.gateways;
	if (r->opts.scenario->shape)
		r->opts.scenario->shape(fc);
}

static void
invariant_ev(void *arg, const char *text)
{
	run_fail(arg, "%s", text);
}

/* Shapes and faults are the seed's. */
struct run *
run_new(const struct run_opts *o)
{
	struct sim *s = sim_new(o->seed);
	struct run *r = NEW(sim_arena(s), struct run);
	struct fleet_conf fc;

	r->sim = s;
	r->opts = *o;
	sim_trace_to(s, o->trace);
	set_shape(r, &fc);
	r->fleet = fleet_new(s, &fc);
	r->invariants = invariants_new(sim_arena(s), invariant_ev, r);
	r->fleet->invariants = r->invariants;
	history_init(&r->history, sim_arena(s));
	buf_init(&r->failures, sim_arena(s));
	return r;
}

void
run_print_faults(const struct run *r, FILE *f)
{
	struct sim_net_counts n;
	struct inv_counts c;

	sim_net_counts(r->sim, &n);
	invariants_counts(r->invariants, &c);
	fprintf(f, "faults:");
	for (int k = 0; r->chaos && k < CHAOS_N; k++)
		if (chaos_count(r->chaos, (enum chaos_kind)k))
			fprintf(f, " %s=%" PRIu64,
			    chaos_name((enum chaos_kind)k),
			    chaos_count(r->chaos, (enum chaos_kind)k));
	fprintf(f,
	    " | net: frames=%" PRIu64 " connects=%" PRIu64 " refused=%" PRIu64
	    " timed_out=%" PRIu64 " resets=%" PRIu64 " lost=%" PRIu64
	    " stalls=%" PRIu64 " half_open=%" PRIu64 " hour_late=%" PRIu64,
	    n.frames, n.connects, n.refused, n.timed_out, n.resets, n.lost,
	    n.stalls, n.half_open, n.hour_late);
	fprintf(f,
	    " | disk: lost_txns=%" PRIu64 " refused_starts=%" PRIu64 "\n",
	    r->fleet->lost_txns, r->fleet->refused_starts);
	fprintf(f,
	    "groups: n=%" PRIu64 " elections=%" PRIu64 " entries=%" PRIu64
	    " resyncs=%" PRIu64 "\n",
	    c.groups, c.elections, c.entries, c.resyncs);
}

void
run_free(struct run *r)
{
	sim_free(r->sim);
}
