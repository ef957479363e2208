/* Proposals that arrive when the gateway has long sent another one, answers
 * that arrive when nobody waits, leaders that do not know that they lead no
 * more, and leaders that die when their clocks ran ahead: what was reported
 * false or done stays so. */
#include "cluster/msg.h"
#include "regress/sim/rows.h"
#include "regress/sim/scenarios.h"

#define SECOND    1000000ull
#define MS        1000ull
#define PERIOD_US (3 * SECOND)
/* Of a period; the last one is for those that are left alone. */
#define KEYS 3
/* Of proposals and their answers, so many in thousand are meddled with, one at
 * a time. */
#define MEDDLE_PERMILLE 40
/* Of operations. */
#define ALONE_ONE_IN 60
/* Until a gateway holds a silent connection for dead, and longer. */
#define HOLD_MIN_US (1600 * MS)
#define HOLD_MAX_US (5 * SECOND)
/* Until another leads, and more. */
#define ALONE_MIN_US (4 * SECOND)
/* Further than a node may be ahead, for so long that the next leader still is
 * behind. */
#define AHEAD_US  (3 * SECOND)
#define HURRY_US  (300 * MS)
#define BURIED_US (2 * SECOND)

struct late {
	struct run *run;
	struct rng rng;
	uint64_t until_us; /* the last one is over */
	struct sim_host *from, *to;
	struct fleet_node *alone; /* cut off, but from one gateway */
	struct fleet_gateway *friend;
	uint64_t alone_until_us;
	uint64_t key; /* that was inserted there just before */
	struct fleet_node *told[SIM_GATEWAYS_MAX]; /* who answered it last */
	struct fleet_node *hurried;
};

/* ---- what is done to them ---- */

static bool
is_held(void *arg, struct sim_host *from, struct sim_host *to)
{
	const struct late *l = arg;

	return from == l->from && to == l->to;
}

/* The frame, and what follows it on its connection. */
static void
hold(struct late *l, struct sim_host *from, struct sim_host *to)
{
	l->from = from;
	l->to = to;
	sim_net_stall_where(
	    l->run->sim, l->until_us - sim_now(l->run->sim), is_held, l);
}

static void
cut(const struct late *l, bool on)
{
	const struct fleet *f = l->run->fleet;

	for (uint32_t i = 0; i < f->conf.nodes + f->conf.gateways; i++) {
		struct sim_host *o = i < f->conf.nodes
					 ? f->nodes[i].host
					 : f->gateways[i - f->conf.nodes].host;

		if (o == l->alone->host || o == l->friend->host)
			continue;
		sim_net_block(l->alone->host, o, on);
		sim_net_block(o, l->alone->host, on);
	}
}

static void
mend_ev(void *arg)
{
	cut(arg, false);
}

/* Only one gateway goes on asking it; all others find the next leader. */
static void
isolate(struct late *l, struct fleet_node *n, struct fleet_gateway *friend)
{
	struct sim *s = l->run->sim;

	l->alone = n;
	l->friend = friend;
	l->alone_until_us = l->until_us =
	    sim_now(s) + rng_between(&l->rng, ALONE_MIN_US, HOLD_MAX_US);
	sim_trace(s, sim_host_name(n->host), "late: is cut off");
	cut(l, true);
	sim_at(s, l->until_us, mend_ev, l);
}

static void
die_ev(void *arg)
{
	struct late *l = arg;

	fleet_crash_node(l->hurried, false, BURIED_US);
	sim_clock_skew(l->hurried->host, 0);
}

static void
hurry(struct late *l, struct fleet_node *n)
{
	struct sim *s = l->run->sim;

	l->hurried = n;
	sim_clock_skew(n->host, (int64_t)AHEAD_US);
	sim_at(s, sim_now(s) + HURRY_US, die_ev, l);
}

static void
meddle(struct late *l, struct fleet_node *n, struct fleet_gateway *g,
    bool is_answer)
{
	uint64_t us = rng_between(&l->rng, HOLD_MIN_US, HOLD_MAX_US);
	bool hurries = rng_below(&l->rng, 4) == 0;

	l->until_us = sim_now(l->run->sim) + us;
	sim_trace(l->run->sim, sim_host_name(n->host), "late: %s",
	    hurries     ? "its clock runs ahead"
	    : is_answer ? "its answer is held back"
			: "what it is sent is held back");
	if (hurries)
		hurry(l, n);
	else if (is_answer)
		hold(l, n->host, g->host);
	else
		hold(l, g->host, n->host);
}

static struct fleet_node *
node_at(struct fleet *f, const struct sim_host *a, const struct sim_host *b)
{
	for (uint32_t i = 0; i < f->conf.nodes; i++)
		if (f->nodes[i].host == a || f->nodes[i].host == b)
			return &f->nodes[i];
	return NULL;
}

static struct fleet_gateway *
gateway_at(struct fleet *f, const struct sim_host *a, const struct sim_host *b)
{
	for (uint32_t i = 0; i < f->conf.gateways; i++)
		if (f->gateways[i].host == a || f->gateways[i].host == b)
			return &f->gateways[i];
	return NULL;
}

static void
tap_ev(void *arg, struct sim_host *from, struct sim_host *to, struct str frame)
{
	struct late *l = arg;
	struct fleet *f = l->run->fleet;
	struct fleet_node *n = node_at(f, from, to);
	struct fleet_gateway *g = gateway_at(f, from, to);
	struct cur c = cur_of(frame);
	uint16_t kind;

	(void)cur_le32(&c);
	kind = cur_le16(&c);
	if (!n || !g || (kind != CL_MSG_PROPOSE && kind != CL_MSG_PROPOSED))
		return;
	if (kind == CL_MSG_PROPOSED)
		l->told[g->index] = n;
	if (l->run->phase != RUN_WORK || sim_now(l->run->sim) < l->until_us ||
	    rng_below(&l->rng, 1000) >= MEDDLE_PERMILLE)
		return;
	meddle(l, n, g, kind == CL_MSG_PROPOSED);
}

/* ---- the scenario ---- */

static void
setup(struct client *c)
{
	struct late *l = NEW(sim_arena(c->run->sim), struct late);

	l->run = c->run;
	l->rng = sim_rng(c->run->sim, "late");
	c->run->state = l;
	sim_net_tap(c->run->sim, tap_ev, l);
	rows_make_table(c);
}

/* A row is inserted, and whoever led then is left alone with this client's
 * gateway. */
static void
leave_alone(struct client *c)
{
	struct late *l = c->run->state;
	const struct history *h = &c->run->history;
	uint64_t key = run_now(c->run) / PERIOD_US * KEYS + KEYS - 1;
	size_t before = h->n;

	rows_do(c, REG_INSERT, key);
	if (h->n == before || !h->ops[h->n - 1].changed ||
	    h->ops[h->n - 1].unknown || !c->pg || !l->told[c->gateway] ||
	    c->run->phase != RUN_WORK || sim_now(c->run->sim) < l->until_us)
		return;
	l->key = key;
	isolate(l, l->told[c->gateway], &c->run->fleet->gateways[c->gateway]);
}

/* The others delete it; here it is not there any more, then. */
static void
work_alone(struct client *c)
{
	const struct late *l = c->run->state;

	client_sleep(c, rng_below(&c->rng, 200 * MS));
	if (!client_connect(c))
		return;
	if (c->gateway == l->friend->index)
		rows_do(c, REG_INSERT, l->key);
	else
		rows_do(
		    c, rng_below(&c->rng, 2) ? REG_DELETE : REG_READ, l->key);
}

static void
work(struct client *c)
{
	static const enum reg_kind kinds[] = {REG_INSERT, REG_INSERT,
	    REG_INSERT, REG_DELETE, REG_DELETE, REG_READ, REG_UPDATE};
	const struct late *l = c->run->state;

	if (sim_now(c->run->sim) < l->alone_until_us)
		work_alone(c);
	else if (rng_below(&c->rng, ALONE_ONE_IN) == 0)
		leave_alone(c);
	else
		rows_do(c,
		    kinds[rng_below(&c->rng, sizeof kinds / sizeof *kinds)],
		    run_now(c->run) / PERIOD_US * KEYS +
			rng_below(&c->rng, KEYS - 1));
}

static void
check(struct client *c)
{
	rows_check(c, PERIOD_US, KEYS);
}

const struct scenario scenario_late = {
    .name = "late",
    .claim = "what comes late changes no answer that was given",
    .clients = 6,
    .faults_not = CHAOS_APART | CHAOS_TAKEOVER | CHAOS_HOUR | CHAOS_LATE |
		  CHAOS_WEAVE | CHAOS_ALL_POWER | CHAOS_DISK_LOSS |
		  CHAOS_PARTITION | CHAOS_PAUSE,
    .think_us = 30000,
    .replication = 3,
    .gateways = 3,
    .setup = setup,
    .work = work,
    .check = check,
};
