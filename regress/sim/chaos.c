#include "regress/sim/chaos.h"

#include "regress/sim/takeover.h"

#define SECOND 1000000u
#define MS     1000u
#define HOUR   (3600ull * SECOND)

struct chaos {
	struct fleet *fleet;
	struct sim *sim;
	struct chaos_opts opts;
	struct rng rng;
	unsigned on;
	uint64_t calm;             /* 1 to 4 */
	uint64_t mean_us[CHAOS_N]; /* between two of a kind */
	uint64_t counts[CHAOS_N];
	struct takeover *takeover;
	uint32_t disks_left;
	uint64_t slept_us;
	bool slept;
	bool healed;
};

struct strike {
	struct chaos *chaos;
	enum chaos_kind kind;
	bool begun;
};

static const char *const names[] = {
#define X(NAME, name) #name,
    CHAOS_KINDS
#undef X
};

const char *
chaos_name(enum chaos_kind k)
{
	return names[k];
}

bool
chaos_is_on(const struct chaos *c, enum chaos_kind k)
{
	return c->on & 1u << k;
}

uint64_t
chaos_slept_us(const struct chaos *c)
{
	return c->slept_us;
}

uint64_t
chaos_count(const struct chaos *c, enum chaos_kind k)
{
	return c->counts[k];
}

/* ---- victims ---- */

static struct fleet_node *
some_node(struct chaos *c)
{
	return &c->fleet->nodes[rng_below(&c->rng, c->fleet->conf.nodes)];
}

static struct fleet_gateway *
some_gateway(struct chaos *c)
{
	return &c->fleet->gateways[rng_below(&c->rng, c->fleet->conf.gateways)];
}

/* Nodes, then gateways. */
static struct sim_host *
host_at(struct chaos *c, uint32_t i)
{
	uint32_t nodes = c->fleet->conf.nodes;

	return i < nodes ? c->fleet->nodes[i].host
			 : c->fleet->gateways[i - nodes].host;
}

static uint32_t
n_hosts(const struct chaos *c)
{
	return c->fleet->conf.nodes + c->fleet->conf.gateways;
}

static struct sim_host *
some_host(struct chaos *c)
{
	return host_at(c, (uint32_t)rng_below(&c->rng, n_hosts(c)));
}

/* ---- faults that end by themselves ---- */

struct cut {
	struct chaos *chaos;
	uint32_t n;
	struct sim_host *pair[256][2];
};

static void
mend_ev(void *arg)
{
	struct cut *cut = arg;

	for (uint32_t i = 0; i < cut->n; i++)
		sim_net_block(cut->pair[i][0], cut->pair[i][1], false);
}

static void
cut_add(struct cut *cut, struct sim_host *from, struct sim_host *to)
{
	sim_net_block(from, to, true);
	cut->pair[cut->n][0] = from;
	cut->pair[cut->n][1] = to;
	cut->n++;
}

static void
cut_for(struct cut *cut, uint64_t us)
{
	struct sim *s = cut->chaos->sim;

	sim_at(s, sim_now(s) + us, mend_ev, cut);
}

static void
partition(struct chaos *c)
{
	struct cut *cut = NEW(sim_arena(c->sim), struct cut);
	uint64_t sides = rng_u64(&c->rng);

	cut->chaos = c;
	for (uint32_t i = 0; i < n_hosts(c); i++)
		for (uint32_t j = 0; j < n_hosts(c); j++)
			if ((sides >> i & 1) && !(sides >> j & 1)) {
				cut_add(cut, host_at(c, i), host_at(c, j));
				cut_add(cut, host_at(c, j), host_at(c, i));
			}
	cut_for(cut, rng_exp(&c->rng, 4 * SECOND));
}

static void
one_way(struct chaos *c)
{
	struct cut *cut = NEW(sim_arena(c->sim), struct cut);
	struct sim_host *from = some_host(c), *to = some_host(c);

	cut->chaos = c;
	if (from != to)
		cut_add(cut, from, to);
	cut_for(cut, rng_exp(&c->rng, 6 * SECOND));
}

/* Any host may reach some and not others, for about as long as a lease. */
static void
weave(struct chaos *c)
{
	for (uint32_t i = 0; i < n_hosts(c); i++)
		for (uint32_t j = 0; j < n_hosts(c); j++) {
			bool nodes = i < c->fleet->conf.nodes &&
				     j < c->fleet->conf.nodes;
			struct cut *cut;

			if (i == j || rng_below(&c->rng, 10) >= (nodes ? 4 : 2))
				continue;
			cut = NEW(sim_arena(c->sim), struct cut);
			cut->chaos = c;
			cut_add(cut, host_at(c, i), host_at(c, j));
			cut_for(cut, rng_exp(&c->rng, 1200 * MS));
		}
}

struct skewed {
	struct sim_host *host;
};

static void
clock_right_ev(void *arg)
{
	struct skewed *s = arg;

	sim_clock_skew(s->host, 0);
}

/* Ahead only as far as can be waited for: a node whose stamps ran ahead serves
 * again when the clocks have caught up, and not before. */
static void
jump(struct chaos *c)
{
	static const uint64_t ahead[] = {1 * SECOND, 5 * SECOND, 40 * SECOND};
	static const uint64_t behind[] = {
	    1 * SECOND, 60 * SECOND, 3600ull * SECOND};
	struct skewed *s = NEW(sim_arena(c->sim), struct skewed);
	bool back = rng_below(&c->rng, 2);
	uint64_t most = (back ? behind : ahead)[rng_below(&c->rng, 3)];
	int64_t us = (int64_t)rng_below(&c->rng, most);

	s->host = some_host(c);
	sim_clock_skew(s->host, back ? -us : us);
	sim_at(c->sim, sim_now(c->sim) + rng_exp(&c->rng, 5 * SECOND),
	    clock_right_ev, s);
}

static void
fast_again_ev(void *arg)
{
	((struct fleet_node *)arg)->disk.slow = 1;
}

static void
disk_slow(struct chaos *c)
{
	struct fleet_node *n = some_node(c);

	n->disk.slow = (uint32_t)rng_between(&c->rng, 5, 100);
	sim_at(c->sim, sim_now(c->sim) + rng_exp(&c->rng, 5 * SECOND),
	    fast_again_ev, n);
}

static void
disk_full(struct chaos *c)
{
	struct fleet_disk *d = &some_node(c)->disk;
	uint64_t now = sim_now(c->sim);

	d->low_until = now + rng_exp(&c->rng, 5 * SECOND);
	if (rng_below(&c->rng, 2))
		d->full_until =
		    now + rng_below(&c->rng, d->low_until - now + 1);
}

static void
gateway_clock(struct chaos *c)
{
	struct skewed *s = NEW(sim_arena(c->sim), struct skewed);
	int64_t us = (int64_t)rng_below(&c->rng, HOUR);

	s->host = some_gateway(c)->host;
	sim_clock_skew(s->host, rng_below(&c->rng, 2) ? -us : us);
	sim_at(c->sim, sim_now(c->sim) + rng_exp(&c->rng, 20 * SECOND),
	    clock_right_ev, s);
}

/* ---- an hour ---- */

/* Frames from anybody to a node. */
static bool
is_to_node(void *arg, struct sim_host *from, struct sim_host *to)
{
	struct chaos *c = arg;

	(void)from;
	if (rng_below(&c->rng, 3))
		return false;
	for (uint32_t i = 0; i < c->fleet->conf.nodes; i++)
		if (c->fleet->nodes[i].host == to)
			return true;
	return false;
}

static void
awake_ev(void *arg)
{
	struct chaos *c = arg;

	c->slept_us += HOUR;
	c->opts.until_us += HOUR;
}

static void
asleep_ev(void *arg)
{
	struct chaos *c = arg;
	uint64_t until = sim_now(c->sim) + HOUR;

	if (c->healed || sim_now(c->sim) > c->opts.until_us)
		return;
	c->counts[CHAOS_K_HOUR]++;
	sim_trace(c->sim, "chaos", "an hour passes");
	/* Before anybody wakes. */
	sim_at(c->sim, until - 1, awake_ev, c);
	fleet_sleep(c->fleet, until);
}

/* Connections stand still; what is under way in them arrives after an hour in
 * which all clocks went on, and nothing else happened. */
static void
hour(struct chaos *c)
{
	uint64_t before = rng_below(&c->rng, 3 * SECOND);

	if (c->slept)
		return;
	c->slept = true;
	sim_net_stall_where(c->sim,
	    before + HOUR + rng_below(&c->rng, 10 * SECOND), is_to_node, c);
	sim_at(c->sim, sim_now(c->sim) + before, asleep_ev, c);
}

/* ---- the faults ---- */

static uint64_t
down_time(struct chaos *c)
{
	return 20 * MS + rng_exp(&c->rng, SECOND);
}

/* Mostly short; now and then longer than any lease or connect. */
static uint64_t
pause_time(struct chaos *c)
{
	if (rng_below(&c->rng, 5))
		return rng_between(&c->rng, 10 * MS, 2 * SECOND);
	return rng_between(&c->rng, 2 * SECOND, 35 * SECOND);
}

static void
disk_loss(struct chaos *c)
{
	struct fleet_node *n = some_node(c);

	/* Of a member at most: one that lost its disk is a new one, and holds
	 * nothing. */
	if (c->disks_left == 0 || n->wiped > 0 || n->wipe ||
	    !fleet_catalog_is_grown(c->fleet))
		return;
	c->disks_left--;
	c->counts[CHAOS_K_DISK_LOSS]++;
	fleet_lose_disk(n, down_time(c));
}

static void
all_power(struct chaos *c)
{
	for (uint32_t i = 0; i < c->fleet->conf.nodes; i++)
		fleet_crash_node(&c->fleet->nodes[i], true, down_time(c));
	for (uint32_t i = 0; i < c->fleet->conf.gateways; i++)
		fleet_crash_gateway(&c->fleet->gateways[i], true, down_time(c));
}

static void
hit(struct chaos *c, enum chaos_kind k)
{
	struct rng *r = &c->rng;

	switch (k) {
	case CHAOS_K_BREAK:
		sim_net_break_one(c->sim, r);
		break;
	case CHAOS_K_CLOG:
		sim_net_stall_one(c->sim, r, rng_exp(r, 3 * SECOND));
		break;
	case CHAOS_K_LATE:
		sim_net_stall_one(c->sim, r, rng_exp(r, 90 * SECOND));
		break;
	case CHAOS_K_PARTITION:
		partition(c);
		break;
	case CHAOS_K_ONE_WAY:
		one_way(c);
		break;
	case CHAOS_K_NODE_KILL:
		fleet_crash_node(some_node(c), false, down_time(c));
		break;
	case CHAOS_K_NODE_POWER:
		fleet_crash_node(some_node(c), true, down_time(c));
		break;
	case CHAOS_K_ALL_POWER:
		all_power(c);
		break;
	case CHAOS_K_GATEWAY_KILL:
		fleet_crash_gateway(
		    some_gateway(c), rng_below(r, 4) == 0, down_time(c));
		break;
	case CHAOS_K_RESTART:
		fleet_restart_node(some_node(c));
		break;
	case CHAOS_K_PAUSE:
		sim_pause(some_host(c), sim_now(c->sim) + pause_time(c));
		break;
	case CHAOS_K_DRIFT:
		sim_clock_drift(
		    some_host(c), (int32_t)rng_below(r, 1001) - 500);
		break;
	case CHAOS_K_SKEW:
		sim_clock_skew(some_host(c),
		    (int64_t)rng_below(r, 480 * MS) - 240 * (int64_t)MS);
		break;
	case CHAOS_K_JUMP:
		jump(c);
		break;
	case CHAOS_K_DISK_FULL:
		disk_full(c);
		break;
	case CHAOS_K_DISK_STALL:
		some_node(c)->disk.stall_until =
		    sim_now(c->sim) + rng_exp(r, 3 * SECOND);
		break;
	case CHAOS_K_DISK_SLOW:
		disk_slow(c);
		break;
	case CHAOS_K_DISK_ERROR:
		some_node(c)->disk.io_error = true;
		break;
	case CHAOS_K_DISK_LOSS:
		disk_loss(c);
		break;
	case CHAOS_K_LEASE_PAUSE:
		sim_pause(some_node(c)->host,
		    sim_now(c->sim) + rng_between(r, 500 * MS, 5 * SECOND));
		break;
	case CHAOS_K_TAKEOVER:
		takeover_arm(c->takeover);
		break;
	case CHAOS_K_HOUR:
		hour(c);
		break;
	case CHAOS_K_GATEWAY_CLOCK:
		gateway_clock(c);
		break;
	case CHAOS_K_WEAVE:
		weave(c);
		break;
	case CHAOS_K_WILD_DRIFT:
		sim_clock_drift(
		    some_node(c)->host, (int32_t)rng_below(r, 90001) - 45000);
		break;
	case CHAOS_K_LATENCY:
	case CHAOS_K_RESET:
	case CHAOS_K_CONNECT:
	case CHAOS_K_CONFLICT:
	case CHAOS_N:
		break;
	}
}

/* Kinds that do not strike each time they are asked to. */
static bool
counts_itself(enum chaos_kind k)
{
	return k == CHAOS_K_DISK_LOSS || k == CHAOS_K_HOUR ||
	       k == CHAOS_K_TAKEOVER;
}

static void
strike_ev(void *arg)
{
	struct strike *k = arg;
	struct chaos *c = k->chaos;
	uint64_t now = sim_now(c->sim);

	if (now < c->fleet->asleep_until) {
		sim_at(c->sim, c->fleet->asleep_until, strike_ev, k);
		return;
	}
	if (c->healed || now > c->opts.until_us)
		return;
	if (k->begun) {
		c->counts[k->kind] += !counts_itself(k->kind);
		sim_trace(c->sim, "chaos", "%s", names[k->kind]);
		hit(c, k->kind);
	}
	k->begun = true;
	sim_at(
	    c->sim, now + rng_exp(&c->rng, c->mean_us[k->kind]), strike_ev, k);
}

/* ---- beginning and end ---- */

/* Kinds that are a property of the network or the disks for the whole time. */
static void
set_rates(struct chaos *c)
{
	struct sim_net_conf n;
	struct rng *r = &c->rng;

	sim_net_conf_get(c->sim, &n);
	n.latency_us = rng_between(r, 200, 3000);
	if (chaos_is_on(c, CHAOS_K_LATENCY))
		n.slow_ppm = (uint32_t)rng_between(r, 100, 20000);
	if (chaos_is_on(c, CHAOS_K_RESET)) {
		n.reset_ppm = (uint32_t)rng_below(r, 3000);
		n.lost_ppm = (uint32_t)rng_below(r, 3000);
		n.stall_ppm = (uint32_t)rng_below(r, 3000);
		n.stall_us = 500 * MS;
	}
	if (chaos_is_on(c, CHAOS_K_CONNECT)) {
		n.half_open_ppm = (uint32_t)rng_below(r, 100000);
		n.connect_lost_ppm = (uint32_t)rng_below(r, 200000);
	}
	sim_net_conf(c->sim, &n);
	if (chaos_is_on(c, CHAOS_K_CONFLICT))
		for (uint32_t i = 0; i < c->fleet->conf.nodes; i++)
			c->fleet->nodes[i].disk.conflict_ppm =
			    (uint32_t)rng_below(r, 200000);
}

/* What takes longer to get over comes less often.  A calm seed has a quarter
 * of the faults of a wild one. */
static uint64_t
mean_of(struct chaos *c, enum chaos_kind k)
{
	uint64_t us = rng_between(&c->rng, 4 * SECOND, 20 * SECOND);

	switch (k) {
	case CHAOS_K_TAKEOVER:
	case CHAOS_K_WEAVE:
		return us / 8 * c->calm;
	case CHAOS_K_ALL_POWER:
	case CHAOS_K_LATE:
	case CHAOS_K_HOUR:
		return 4 * us * c->calm;
	case CHAOS_K_PAUSE:
	case CHAOS_K_PARTITION:
	case CHAOS_K_DISK_FULL:
	case CHAOS_K_DISK_STALL:
	case CHAOS_K_DISK_ERROR:
	case CHAOS_K_DISK_LOSS:
	case CHAOS_K_JUMP:
		return 2 * us * c->calm;
	default:
		return us * c->calm;
	}
}

struct chaos *
chaos_start(struct fleet *f, const struct chaos_opts *o)
{
	struct arena *a = sim_arena(f->sim);
	struct chaos *c = NEW(a, struct chaos);

	c->fleet = f;
	c->sim = f->sim;
	c->opts = *o;
	c->rng = sim_rng(f->sim, "chaos");
	c->on = ((unsigned)rng_u64(&c->rng) | o->always) & ~o->never &
		(unsigned)CHAOS_ALL;
	c->calm = o->wild ? 1 : rng_between(&c->rng, 1, 4);
	c->disks_left = fleet_disks_to_lose(f);
	c->takeover = takeover_new(f, &c->rng, &c->counts[CHAOS_K_TAKEOVER]);
	set_rates(c);
	for (int k = 0; k < CHAOS_N; k++) {
		struct strike *s;

		c->mean_us[k] = mean_of(c, (enum chaos_kind)k);
		if (!chaos_is_on(c, (enum chaos_kind)k))
			continue;
		sim_trace(c->sim, "chaos", "%s is on", names[k]);
		s = NEW(a, struct strike);
		s->chaos = c;
		s->kind = (enum chaos_kind)k;
		strike_ev(s);
	}
	return c;
}

void
chaos_heal(struct chaos *c)
{
	struct sim_net_conf n = {.latency_us = 1000, .latency_min_us = 50};

	sim_trace(c->sim, "chaos", "heal");
	c->healed = true;
	takeover_disarm(c->takeover);
	sim_net_conf(c->sim, &n);
	sim_net_heal(c->sim);
	fleet_heal(c->fleet);
}
