#include "regress/sim/takeover.h"

#include "cluster/msg.h"
#include "regress/sim/net_sim.h"

#define SECOND 1000000u
#define MS     1000u

/* A frame of that kind, sent by a node; of a member's only the first after it
 * asked for votes, if so. */
struct step {
	uint16_t kind;
	bool of_candidate;
	const char *name;
};

static const struct step steps[] = {
    {CL_MSG_VOTE, false, "asks for a vote"},
    {CL_MSG_VOTED, false, "answers a candidate"},
    {CL_MSG_APPEND, true, "begins its term"},
    {CL_MSG_APPEND, true, "begins its term"},
    {CL_MSG_APPEND, false, "appends"},
    {CL_MSG_APPENDED, false, "acknowledges"},
    {CL_MSG_BEAT, false, "beats"},
    {CL_MSG_BEATEN, false, "grants"},
    {CL_MSG_PROPOSED, false, "answers a proposal"},
    {CL_MSG_ROWS, false, "answers a read"},
    {CL_MSG_CATALOG, false, "tells the catalog"},
    {CL_MSG_RESYNC_GET, false, "asks for a page"},
    {CL_MSG_RESYNC_PAGE, false, "sends a page"},
};

/* Of transactions: only where there are some, or it would wait for ever. */
static const struct step txn_steps[] = {
    {CL_MSG_PREPARE, false, "asks to prepare"},
    {CL_MSG_PROPOSED, false, "answers that it has prepared, or more"},
    {CL_MSG_RESOLVE, false, "tells an outcome"},
    {CL_MSG_RESOLVED, false, "has resolved"},
    {CL_MSG_OUTCOME_GET, false, "asks for an outcome"},
    {CL_MSG_OUTCOME, false, "answers what was decided"},
    {CL_MSG_APPEND, false, "appends"},
    {CL_MSG_APPENDED, false, "acknowledges"},
};

struct takeover {
	struct fleet *fleet;
	struct sim *sim;
	struct rng *rng;
	uint64_t *strikes;
	const struct step *step; /* NULL: not armed */
	const struct sim_host *candidate;
};

/* ---- what happens to the victim ---- */

/* Bits: which way nothing passes, and for which gateways, too. */
#define OUT        1u
#define IN         2u
#define GATEWAY(i) (4u << (i))

struct mend {
	struct takeover *takeover;
	struct sim_host *host;
	unsigned how;
};

static void
cut_pair(struct sim_host *h, struct sim_host *o, unsigned how, bool on)
{
	if (o == h)
		return;
	if (how & OUT)
		sim_net_block(h, o, on);
	if (how & IN)
		sim_net_block(o, h, on);
}

static void
cut(const struct mend *m, bool on)
{
	const struct fleet *f = m->takeover->fleet;

	for (uint32_t i = 0; i < f->conf.nodes; i++)
		cut_pair(m->host, f->nodes[i].host, m->how, on);
	for (uint32_t i = 0; i < f->conf.gateways; i++)
		if (m->how & GATEWAY(i))
			cut_pair(m->host, f->gateways[i].host, m->how, on);
}

static void
mend_ev(void *arg)
{
	cut(arg, false);
}

/* From all nodes, and from some of the gateways: others may go on asking it. */
static void
cut_off(struct takeover *t, struct sim_host *h, unsigned ways)
{
	struct mend *m = NEW(sim_arena(t->sim), struct mend);
	unsigned gateways =
	    (unsigned)rng_below(t->rng, GATEWAY(SIM_GATEWAYS_MAX) / GATEWAY(0));

	*m = (struct mend){t, h, ways | gateways * GATEWAY(0)};
	cut(m, true);
	sim_at(
	    t->sim, sim_now(t->sim) + rng_exp(t->rng, 2 * SECOND), mend_ev, m);
}

static void
strike(struct takeover *t, struct fleet_node *n)
{
	uint64_t down = 20 * MS + rng_exp(t->rng, SECOND);

	switch (rng_below(t->rng, 6)) {
	case 0:
		fleet_crash_node(n, false, down);
		break;
	case 1:
		fleet_crash_node(n, true, down);
		break;
	case 2:
		cut_off(t, n->host, OUT | IN);
		break;
	case 3:
		cut_off(t, n->host, OUT);
		break;
	case 4:
		cut_off(t, n->host, IN);
		break;
	default:
		sim_pause(n->host, sim_now(t->sim) + rng_between(t->rng,
							 500 * MS, 5 * SECOND));
		break;
	}
}

/* A moment later: what it was about to do next may be done. */
struct blow {
	struct takeover *takeover;
	struct fleet_node *node;
};

static void
blow_ev(void *arg)
{
	struct blow *b = arg;

	strike(b->takeover, b->node);
}

static void
strike_later(struct takeover *t, struct fleet_node *n)
{
	struct blow *b = NEW(sim_arena(t->sim), struct blow);

	*b = (struct blow){t, n};
	sim_at(t->sim, sim_now(t->sim) + rng_below(t->rng, 3 * MS), blow_ev, b);
}

/* ---- the watch ---- */

static struct fleet_node *
node_at(struct takeover *t, const struct sim_host *h)
{
	for (uint32_t i = 0; i < t->fleet->conf.nodes; i++)
		if (t->fleet->nodes[i].host == h)
			return &t->fleet->nodes[i];
	return NULL;
}

static bool
is_taken(struct takeover *t, const struct sim_host *from, struct str frame)
{
	struct cur c = cur_of(frame);
	uint16_t kind;

	(void)cur_le32(&c);
	kind = cur_le16(&c);
	if (t->step->of_candidate && kind == CL_MSG_VOTE)
		t->candidate = from;
	return kind == t->step->kind &&
	       (!t->step->of_candidate || t->candidate == from);
}

static void
tap_ev(void *arg, struct sim_host *from, struct sim_host *to, struct str frame)
{
	struct takeover *t = arg;
	struct fleet_node *n, *other;

	if (!t->step || !(n = node_at(t, from)) || !is_taken(t, from, frame))
		return;
	sim_trace(
	    t->sim, sim_host_name(from), "takeover: it %s", t->step->name);
	(*t->strikes)++;
	t->step = NULL;
	t->candidate = NULL;
	other = node_at(t, to);
	if (other && rng_below(t->rng, 4) == 0)
		strike_later(t, other);
	else if (rng_below(t->rng, 2))
		strike_later(t, n);
	else
		strike(t, n);
}

void
takeover_arm(struct takeover *t)
{
	t->candidate = NULL;
	if (t->fleet->conf.transactions && rng_below(t->rng, 3))
		t->step = &txn_steps[rng_below(
		    t->rng, sizeof txn_steps / sizeof *txn_steps)];
	else
		t->step =
		    &steps[rng_below(t->rng, sizeof steps / sizeof *steps)];
}

void
takeover_disarm(struct takeover *t)
{
	t->step = NULL;
}

struct takeover *
takeover_new(struct fleet *f, struct rng *rng, uint64_t *strikes)
{
	struct takeover *t = NEW(sim_arena(f->sim), struct takeover);

	*t = (struct takeover){
	    .fleet = f, .sim = f->sim, .rng = rng, .strikes = strikes};
	sim_net_tap(f->sim, tap_ev, t);
	return t;
}
