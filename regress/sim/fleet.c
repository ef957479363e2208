#include "regress/sim/fleet.h"

#include "base/buf.h"
#include "base/mutate.h"
#include "base/stream.h"
#include "cluster/msg.h"
#include "gateway/worker.h"
#include "regress/sim/invariants.h"
#include "regress/sim/tunnel.h"
#include "storage/config.h"
#include "storage/lease.h"
#include "storage/link.h"
#include "storage/node.h"

#define NODE_PORT    7433
#define GATEWAY_PORT 5433
/* What a supervisor waits before it starts a program again. */
#define DOWN_MIN_US 100000u
#define DOWN_MAX_US 3000000u

static const char cluster_key[32] = "a key of thirty-two bytes, known";

/* ---- disks ---- */

static uint64_t
delay_ev(void *arg, enum engine_mem_step step, uint64_t lane)
{
	struct fleet_node *n = arg;
	struct fleet_disk *d = &n->disk;
	uint64_t now = sim_now(n->fleet->sim), us;

	(void)lane;
	us = rng_exp(&d->rng, step == ENGINE_MEM_FLUSH ? 1500 : 30);
	us *= d->slow;
	if (d->stall_until > now && step != ENGINE_MEM_DONE)
		us += d->stall_until - now;
	return us;
}

static bool
conflict_ev(void *arg)
{
	struct fleet_disk *d = &((struct fleet_node *)arg)->disk;

	return rng_ppm(&d->rng, d->conflict_ppm);
}

static enum engine_mem_space
space_ev(void *arg)
{
	struct fleet_node *n = arg;
	uint64_t now = sim_now(n->fleet->sim);

	if (n->disk.full_until > now)
		return ENGINE_MEM_FULL;
	return n->disk.low_until > now ? ENGINE_MEM_LOW : ENGINE_MEM_ROOM;
}

static bool
io_error_ev(void *arg)
{
	struct fleet_disk *d = &((struct fleet_node *)arg)->disk;
	bool fails = d->io_error;

	d->io_error = false;
	return fails;
}

static void
died_ev(void *arg)
{
	struct fleet_node *n = arg;

	sim_trace(n->fleet->sim, sim_host_name(n->host), "flush failed");
	sim_kill(n->host);
}

static struct err *
open_engine(void *arg, struct world *w, struct arena *a,
    const struct engine_config *conf, struct engine **out)
{
	struct fleet_node *n = arg;
	struct engine_mem_hooks hooks = {
	    .arg = n,
	    .delay_us = delay_ev,
	    .conflict = conflict_ev,
	    .space = space_ev,
	    .io_error = io_error_ev,
	    .died = died_ev,
	};

	(void)conf;
	return engine_mem_open(w, a, n->disk.disk, &hooks, out);
}

/* ---- what nodes tell of their groups ---- */

static bool
is_watched(
    struct fleet_node *n, const struct st_observed *o, struct inv_event *e)
{
	if (!n->fleet->invariants)
		return false;
	*e = (struct inv_event){.member = o->member,
	    .boot = sim_host_boots(n->host),
	    .gid = {o->placement, o->slot, o->epoch},
	    .ballot = {o->round, o->ballot_member, o->incarnation},
	    .index = o->index,
	    .entry = o->entry};
	return true;
}

static void
elected_ev(void *arg, const struct st_observed *o)
{
	struct fleet_node *n = arg;
	struct inv_event e;

	if (is_watched(n, o, &e))
		invariants_elected(n->fleet->invariants, &e);
	if (n->fleet->elected)
		n->fleet->elected(n->fleet->elected_arg, n->index, o);
}

static void
applied_ev(void *arg, const struct st_observed *o)
{
	struct fleet_node *n = arg;
	struct inv_event e;

	if (is_watched(n, o, &e))
		invariants_applied(n->fleet->invariants, &e);
}

static void
reset_ev(void *arg, const struct st_observed *o)
{
	struct fleet_node *n = arg;
	struct inv_event e;

	if (is_watched(n, o, &e))
		invariants_reset(n->fleet->invariants, &e);
}

/* ---- nodes ---- */

static void
ready_ev(void *arg)
{
	((struct fleet_node *)arg)->ready = true;
}

static void
failed_ev(void *arg, const struct err *e)
{
	struct fleet_node *n = arg;

	sim_trace(n->fleet->sim, sim_host_name(n->host), "did not start: %s",
	    e->message);
	n->failed_starts++;
	n->fleet->refused_starts++;
	sim_kill(n->host);
}

static void
stopped_ev(void *arg)
{
	struct fleet_node *n = arg;

	sim_trace(n->fleet->sim, sim_host_name(n->host), "stopped");
	sim_kill(n->host);
}

static bool
keep_identity(void *arg, struct str key, struct str val)
{
	if (str_eq(key, STR("I")))
		engine_mem_add(arg, KV_META, key, val);
	return false;
}

/* The new disk is empty. Who breaks the rule leaves the member's name on it. */
static void
replace_disk(struct fleet_node *n)
{
	struct engine_mem_disk *old = n->disk.disk;

	n->wipe = false;
	n->wiped++;
	n->fleet->disks_lost++;
	sim_trace(n->fleet->sim, sim_host_name(n->host), "lost its disk");
	n->disk.disk = engine_mem_disk_new(sim_arena(n->fleet->sim));
	if (mutate("vote_after_disk_loss"))
		engine_mem_each(
		    old, KV_META, STR("I"), keep_identity, n->disk.disk);
}

static void
set_up_disk(struct fleet_node *n)
{
	if (sim_host_boots(n->host) == 1)
		return;
	n->fleet->lost_txns +=
	    engine_mem_crash(n->disk.disk, rng_u64(&n->disk.rng));
	if (n->wipe)
		replace_disk(n);
}

static void
boot_node(void *arg, struct world *w)
{
	struct fleet_node *n = arg;
	struct st_events ev = {.ready = ready_ev,
	    .failed = failed_ev,
	    .stopped = stopped_ev,
	    .arg = n};
	struct st_conf c;
	struct err *e;

	set_up_disk(n);
	st_conf_defaults(&c);
	c.dir = sim_host_name(n->host);
	c.listen = n->addr;
	c.key = str_of(cluster_key, sizeof cluster_key);
	c.slots = n->fleet->conf.slots;
	c.replication = n->fleet->conf.replication;
	c.tombstone_age_us = n->fleet->conf.tombstone_age_us;
	c.sweep_interval_us = n->fleet->conf.sweep_interval_us;
	c.leader_lease_us = n->fleet->conf.leader_lease_us;
	c.beat_us = n->fleet->conf.beat_us;
	c.log_retention = n->fleet->conf.log_retention;
	c.resync_page = (uint32_t)n->fleet->conf.page_bytes;
	if (n->fleet->conf.txn_abort_after_us)
		c.txn_abort_after_us = n->fleet->conf.txn_abort_after_us;
	if (n->fleet->conf.txn_retention_us)
		c.txn_retention_us = n->fleet->conf.txn_retention_us;
	if (n->fleet->conf.scrub_us)
		c.scrub_interval_us = n->fleet->conf.scrub_us;
	if (n->fleet->conf.resync_rate)
		c.resync_rate = n->fleet->conf.resync_rate;
	c.observer = n->observer;
	c.init_if_empty = n->index == 0 && n->wiped == 0;
	c.join = c.init_if_empty ? "" : n->others;
	n->ready = false;
	n->node = NULL;
	e = st_node_start(w, w->arena, &c, &ev, &n->node);
	if (e)
		failed_ev(n, e);
}

struct boot {
	struct fleet *fleet;
	struct sim_host *host;
};

static void
boot_ev(void *arg)
{
	struct boot *b = arg;
	struct fleet *f = b->fleet;

	if (sim_now(f->sim) < f->asleep_until)
		sim_at(f->sim, f->asleep_until, boot_ev, b);
	else if (!sim_host_up(b->host))
		sim_boot(b->host);
}

/* The supervisor. */
static void
boot_later(struct fleet *f, struct sim_host *h, uint64_t *down_us)
{
	struct boot *b = NEW(sim_arena(f->sim), struct boot);
	uint64_t us = *down_us;

	if (us == 0)
		us = rng_between(&f->rng, DOWN_MIN_US, DOWN_MAX_US);
	*down_us = 0;
	*b = (struct boot){f, h};
	sim_at(f->sim, sim_now(f->sim) + us, boot_ev, b);
}

static void
node_gone(void *arg)
{
	struct fleet_node *n = arg;

	n->ready = false;
	n->node = NULL;
	boot_later(n->fleet, n->host, &n->down_us);
}

/* ---- gateways ---- */

static void
client_ev(void *owner, struct stream *s)
{
	struct fleet_gateway *g = owner;

	gw_worker_serve(g->worker, s);
}

static void
boot_gateway(void *arg, struct world *w)
{
	struct fleet_gateway *g = arg;
	struct gw_conf *c = NEW(w->arena, struct gw_conf);
	struct err *e;

	gw_conf_defaults(c);
	c->seeds = g->fleet->seeds;
	c->page_bytes = g->fleet->conf.page_bytes;
	c->peer.key = str_of(cluster_key, sizeof cluster_key);
	g->worker = gw_worker_new(w, c, 0, 1);
	e = sim_tunnel_listen(w, w->arena, g->addr, client_ev, g);
	ASSERT(!e);
}

static void
gateway_gone(void *arg)
{
	struct fleet_gateway *g = arg;

	g->worker = NULL;
	boot_later(g->fleet, g->host, &g->down_us);
}

/* ---- the whole ---- */

static const char *
describe(struct arena *a, struct str bytes)
{
	struct cl_frame f;
	struct buf b;
	void *msg;

	buf_init(&b, a);
	if (cl_frame_read(a, bytes, &f) ||
	    cl_msg_decode(a, f.kind, f.body, &msg))
		return arena_printf(a, "of %zu bytes", bytes.len);
	buf_printf(&b, "%llu%s ", (unsigned long long)f.request,
	    f.flags & CL_FLAG_REPLY ? " reply" : "");
	cl_msg_print(&b, f.kind, msg);
	return buf_cstr(&b);
}

static void
make_node(struct fleet *f, uint32_t i)
{
	struct arena *a = sim_arena(f->sim);
	struct fleet_node *n = &f->nodes[i];
	struct sim_host_opts o = {.name = arena_printf(a, "node-%u", i + 1),
	    .boot = boot_node,
	    .gone = node_gone,
	    .arg = n,
	    .engine_open = open_engine};

	n->fleet = f;
	n->index = i;
	n->addr = arena_printf(a, "%s:%d", o.name, NODE_PORT);
	n->disk.disk = engine_mem_disk_new(a);
	n->disk.rng = sim_rng(f->sim, o.name);
	n->disk.slow = 1;
	n->disk.conflict_ppm = 2000;
	n->observer = NEW(a, struct st_observer);
	*n->observer = (struct st_observer){.elected = elected_ev,
	    .applied = applied_ev,
	    .reset = reset_ev,
	    .arg = n};
	n->host = sim_host_new(f->sim, &o);
}

static void
make_gateway(struct fleet *f, uint32_t i)
{
	struct arena *a = sim_arena(f->sim);
	struct fleet_gateway *g = &f->gateways[i];
	struct sim_host_opts o = {.name = arena_printf(a, "gateway-%u", i + 1),
	    .boot = boot_gateway,
	    .gone = gateway_gone,
	    .arg = g};

	g->fleet = f;
	g->index = i;
	g->addr = arena_printf(a, "%s:%d", o.name, GATEWAY_PORT);
	g->host = sim_host_new(f->sim, &o);
}

static const char *
others_of(struct fleet *f, uint32_t self)
{
	struct buf b;

	buf_init(&b, sim_arena(f->sim));
	for (uint32_t i = 0; i < f->conf.nodes; i++)
		if (i != self)
			buf_printf(
			    &b, "%s%s", b.len ? "," : "", f->nodes[i].addr);
	return buf_cstr(&b);
}

struct fleet *
fleet_new(struct sim *s, const struct fleet_conf *conf)
{
	struct arena *a = sim_arena(s);
	struct fleet *f = NEW(a, struct fleet);
	struct buf seeds;

	ASSERT(conf->nodes >= 1 && conf->nodes <= SIM_NODES_MAX);
	ASSERT(conf->gateways >= 1 && conf->gateways <= SIM_GATEWAYS_MAX);
	f->sim = s;
	f->conf = *conf;
	f->rng = sim_rng(s, "fleet");
	buf_init(&seeds, a);
	for (uint32_t i = 0; i < conf->nodes; i++) {
		make_node(f, i);
		buf_printf(&seeds, "%s%s", i ? "," : "", f->nodes[i].addr);
	}
	f->seeds = buf_cstr(&seeds);
	for (uint32_t i = 0; i < conf->nodes; i++)
		f->nodes[i].others = others_of(f, i);
	for (uint32_t i = 0; i < conf->gateways; i++)
		make_gateway(f, i);
	sim_trace_frames(s, describe);
	return f;
}

void
fleet_boot(struct fleet *f)
{
	for (uint32_t i = 0; i < f->conf.nodes; i++)
		sim_boot(f->nodes[i].host);
	for (uint32_t i = 0; i < f->conf.gateways; i++)
		sim_boot(f->gateways[i].host);
}

static void
crash(struct sim_host *h, bool power)
{
	if (power)
		sim_power_off(h);
	else
		sim_kill(h);
}

void
fleet_crash_node(struct fleet_node *n, bool power, uint64_t down_us)
{
	if (!sim_host_up(n->host))
		return;
	n->down_us = down_us;
	crash(n->host, power);
}

void
fleet_crash_gateway(struct fleet_gateway *g, bool power, uint64_t down_us)
{
	if (!sim_host_up(g->host))
		return;
	g->down_us = down_us;
	crash(g->host, power);
}

void
fleet_lose_disk(struct fleet_node *n, uint64_t down_us)
{
	if (!sim_host_up(n->host))
		return;
	n->wipe = true;
	fleet_crash_node(n, true, down_us);
}

/* The catalog has up to five voters. */
uint32_t
fleet_disks_to_lose(const struct fleet *f)
{
	uint32_t voters = f->conf.nodes < 5 ? f->conf.nodes : 5;
	uint32_t least =
	    voters < f->conf.replication ? voters : f->conf.replication;

	return (least - 1) / 2;
}

bool
fleet_catalog_is_grown(const struct fleet *f)
{
	uint32_t voters = f->conf.nodes < ST_CATALOG_VOTERS_MAX
			      ? f->conf.nodes
			      : ST_CATALOG_VOTERS_MAX;

	for (uint32_t i = 0; i < f->conf.nodes; i++) {
		struct st_node *n = f->nodes[i].node;
		const struct st_group *g =
		    n ? st_group_find(n, CL_PLACEMENT_CATALOG, 0) : NULL;

		if (g && g->state == ST_GROUP_LEADING && st_lease_ok(g) &&
		    g->applied == g->last)
			return g->n_members >= voters;
	}
	return false;
}

void
fleet_sleep(struct fleet *f, uint64_t until_us)
{
	f->asleep_until = until_us;
	sim_pause_all(f->sim, until_us);
}

/* As a signal handler does it. */
static void
stop_ev(void *arg)
{
	st_node_stop(arg);
}

void
fleet_restart_node(struct fleet_node *n)
{
	if (sim_host_up(n->host) && n->node)
		world_post(sim_host_world(n->host), stop_ev, n->node);
}

void
fleet_heal(struct fleet *f)
{
	for (uint32_t i = 0; i < f->conf.nodes; i++) {
		struct fleet_node *n = &f->nodes[i];

		n->disk.full_until = n->disk.low_until = 0;
		n->disk.stall_until = 0;
		n->disk.io_error = false;
		n->disk.slow = 1;
		sim_clock_skew(n->host, 0);
		sim_clock_drift(n->host, 0);
		sim_pause(n->host, 0);
	}
	for (uint32_t i = 0; i < f->conf.gateways; i++) {
		sim_clock_skew(f->gateways[i].host, 0);
		sim_clock_drift(f->gateways[i].host, 0);
		sim_pause(f->gateways[i].host, 0);
	}
}

bool
fleet_ready(const struct fleet *f)
{
	for (uint32_t i = 0; i < f->conf.nodes; i++)
		if (!f->nodes[i].ready)
			return false;
	for (uint32_t i = 0; i < f->conf.gateways; i++)
		if (!f->gateways[i].worker ||
		    !gw_worker_ready(f->gateways[i].worker))
			return false;
	return true;
}
