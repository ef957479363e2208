#include "storage/elect.h"

#include <inttypes.h>

#include "base/log.h"
#include "base/metrics.h"
#include "base/mutate.h"
#include "storage/catalog.h"
#include "storage/clock.h"
#include "storage/config.h"
#include "storage/lease.h"
#include "storage/link.h"
#include "storage/load.h"
#include "storage/peer.h"
#include "storage/replicate.h"
#include "storage/txns.h"

/* How long a request waits for a catalog that its sender has seen. */
#define CATALOG_WAIT_US 1000000u
#define VOTE_CALL_US    500000u
/* Who is not first in the order gives those before it this long each. */
#define RANK_US 150000u
/* A request waits no longer than this for a leader: its sender has others to
 * ask. */
#define LEAD_WAIT_US 2000000u
/* How often to look whether a majority is there again. */
#define ALIVE_CHECK_US 50000u
/* Between two campaigns; half of it is random. */
#define AGAIN_US 60000u

/* ---- opening ---- */

/* Waits for a newer catalog; false when it did not come in time. */
static bool
newer_catalog(struct st_node *n, uint64_t catalog, uint64_t deadline_us)
{
	uint64_t until = world_mono_us(n->world) + CATALOG_WAIT_US;

	if (cl_catalog_version(n->catalog.snap) >= catalog)
		return false;
	return st_catalog_wait(
	    n, catalog, until < deadline_us ? until : deadline_us);
}

static bool
may_serve(const struct st_node *n, struct st_gid gid, enum cl_refusal *why)
{
	if (n->state == ST_NODE_SERVING)
		return true;
	if (n->state == ST_NODE_STARTING) {
		*why = CL_REFUSE_LEADER;
		return gid.placement == CL_PLACEMENT_CATALOG;
	}
	*why = CL_REFUSE_STOPPING;
	return false;
}

struct st_group *
st_group_open(struct st_node *n, struct st_gid gid, uint64_t catalog,
    uint64_t deadline_us, enum cl_refusal *why)
{
	struct st_group *g;

	*why = CL_REFUSE_EPOCH;
	while (!st_catalog_is_member(n, gid))
		if (!newer_catalog(n, catalog, deadline_us))
			return NULL;
	g = st_group_make(n, gid);
	while (g->state == ST_GROUP_LOADING)
		if (cond_wait(&g->changed, deadline_us) != WAKE_EVENT)
			break;
	if (g->state == ST_GROUP_CLOSED)
		st_group_load(g);
	*why = CL_REFUSE_LEADER;
	return st_group_loaded(g) ? g : NULL;
}

/* ---- ballots ---- */

void
st_group_promise(struct st_group *g, const struct st_ballot *b)
{
	struct st_ballot was = g->promise;

	ASSERT(st_ballot_cmp(b, &g->promise) > 0);
	g->promise = *b;
	g->released = false;
	g->leader = 0;
	g->matched = g->committed;
	if (b->round > g->rounds_seen)
		g->rounds_seen = b->round;
	st_lease_lost(g, &was, b);
	if (b->member != g->node->id.member)
		st_group_step_down(g);
	st_log_promise(g);
	cond_broadcast(&g->changed);
}

void
st_higher_ballot(struct st_group *g, const struct st_ballot *b)
{
	if (b->round > g->rounds_seen)
		g->rounds_seen = b->round;
	if (g->state >= ST_GROUP_CAMPAIGNING &&
	    st_ballot_cmp(b, &g->promise) > 0)
		st_group_step_down(g);
}

void
st_group_released(struct st_group *g)
{
	g->released = true;
	if (g->leader != g->promise.member)
		return;
	g->leader = 0;
	cond_broadcast(&g->changed);
}

/* ---- a campaign ---- */

struct campaign {
	struct st_group *group;
	struct st_node *node;
	struct arena *arena;
	struct cl_vote msg;
	uint32_t refs; /* its own and the askers' */
	uint32_t votes, asked, answered;
	uint32_t voters[CL_COPIES_MAX];
	uint64_t voted_us[CL_COPIES_MAX];
	struct cond news;
};

struct asker {
	struct campaign *campaign;
	uint32_t member;
};

static void
campaign_unref(struct campaign *c)
{
	if (--c->refs == 0)
		arena_free(c->arena);
}

/* What a member promised only rises: one that promised a higher ballot than one
 * of its own leads in that one no more. */
static void
note_promise(struct st_group *g, uint32_t member, const struct st_ballot *b)
{
	for (uint32_t i = 0; i < CL_COPIES_MAX; i++) {
		struct st_heard *h = &g->heard[i];

		if (h->member && h->member != member)
			continue;
		if (!h->member || st_ballot_cmp(b, &h->promise) > 0)
			h->promise = *b;
		h->member = member;
		return;
	}
}

static void
list_promises(struct campaign *c)
{
	const struct st_group *g = c->group;

	c->msg.promises = NEW_N(c->arena, struct cl_promise, CL_COPIES_MAX);
	for (uint32_t i = 0; i < CL_COPIES_MAX && g->heard[i].member; i++)
		c->msg.promises[c->msg.n_promises++] =
		    (struct cl_promise){g->heard[i].member,
			g->heard[i].promise.round, g->heard[i].promise.member,
			g->heard[i].promise.incarnation};
}

/* The lease binds to the owner of the ballot that was promised, but not if the
 * owner has promised a higher one since: it leads in that one no more, and who
 * waits for it may stand. */
static void
hear_promises(struct st_group *g, const struct cl_vote *m)
{
	for (uint32_t i = 0; i < m->n_promises; i++) {
		const struct cl_promise *x = &m->promises[i];
		struct st_ballot b = {x->round, x->member, x->incarnation};

		if (x->by == g->promise.member &&
		    st_ballot_cmp(&b, &g->promise) > 0)
			st_group_released(g);
	}
}

static void
note_vote(struct campaign *c, uint32_t member, const struct cl_voted *v)
{
	struct st_ballot its = {v->round, v->member, v->incarnation};

	note_promise(c->group, member, &its);
	if (v->granted) {
		c->voted_us[c->votes] = world_mono_us(c->node->world);
		c->voters[c->votes++] = member;
	} else if (its.round > c->group->rounds_seen) {
		c->group->rounds_seen = its.round;
	}
}

static void
ask_fiber(void *arg)
{
	struct asker *k = arg;
	struct campaign *c = k->campaign;
	struct st_node *n = c->node;
	struct arena *a = arena_new(c->arena, "vote");
	struct st_reply_msg reply;
	struct err *e = st_member_call(n, a, k->member, CL_MSG_VOTE, &c->msg,
	    world_mono_us(n->world) + VOTE_CALL_US, &reply);

	if (!e && reply.kind == CL_MSG_VOTED) {
		st_link_incarnation(
		    st_link_get(n, k->member), reply.incarnation);
		note_vote(c, k->member, reply.msg);
	}
	c->answered++;
	cond_broadcast(&c->news);
	arena_free(a);
	campaign_unref(c);
	st_background_end(n);
}

static struct campaign *
ask_all(struct st_group *g)
{
	struct st_node *n = g->node;
	struct arena *a = arena_new(n->arena, "campaign");
	struct campaign *c = NEW(a, struct campaign);

	c->group = g;
	c->node = n;
	c->arena = a;
	c->refs = 1;
	cond_init(&c->news, n->world);
	c->msg = (struct cl_vote){.placement = g->gid.placement,
	    .slot = g->gid.slot,
	    .epoch = g->gid.epoch,
	    .round = g->promise.round,
	    .member = g->promise.member,
	    .incarnation = g->promise.incarnation,
	    .last = g->last,
	    .last_round = g->last_ballot.round,
	    .last_member = g->last_ballot.member,
	    .last_incarnation = g->last_ballot.incarnation};
	list_promises(c);
	for (uint32_t i = 0; i < g->n_members; i++) {
		struct asker *k;

		if (g->members[i] == n->id.member)
			continue;
		k = NEW(a, struct asker);
		*k = (struct asker){c, g->members[i]};
		c->asked++;
		c->refs++;
		n->n_fibers++;
		fiber_spawn(n->world, "vote", FIBER_STACK_NODE, ask_fiber, k);
	}
	return c;
}

static bool
still_candidate(const struct st_group *g, const struct st_ballot *b)
{
	return g->state == ST_GROUP_CAMPAIGNING &&
	       st_ballot_cmp(&g->promise, b) == 0;
}

static void
observe_elected(const struct st_group *g)
{
	const struct st_observer *o = g->node->conf.observer;

	if (o && o->elected)
		o->elected(
		    o->arg, &(struct st_observed){.member = g->node->id.member,
				.placement = g->gid.placement,
				.slot = g->gid.slot,
				.epoch = g->gid.epoch,
				.round = g->ballot.round,
				.ballot_member = g->ballot.member,
				.incarnation = g->ballot.incarnation,
				.index = g->last});
}

/* The term's first entry: it is empty, and once it is applied so is everything
 * before it (CONSENSUS 1). */
static bool
start_term(struct st_group *g)
{
	struct st_node *n = g->node;
	struct st_ballot ballot = g->ballot;
	struct st_entry e = {.kind = ST_ENTRY_EMPTY};
	enum cl_clock_state why;

	for (;;) {
		if (g->state != ST_GROUP_ELECTED ||
		    st_ballot_cmp(&g->ballot, &ballot) != 0)
			return false;
		e.stamp = st_clock_next(n, g->last_stamp, &why);
		if (e.stamp)
			break;
		if (why == CL_CLOCK_SKEW) {
			LOG(n->world, LOG_WARN, "group", "clock_behind",
			    "slot=%u last_stamp_ms=%" PRIu64, g->gid.slot,
			    CL_STAMP_MS(g->last_stamp));
			return false;
		}
		st_clock_wait(n);
		if (n->state > ST_NODE_SERVING)
			return false;
	}
	ASSERT(g->term_start == g->last + 1);
	if (mutate("serve_before_own_entry")) {
		st_pending_unref(st_group_append(g, &e));
		return true;
	}
	return st_pending_wait(st_group_append(g, &e)) == ST_APPLIED &&
	       g->state == ST_GROUP_ELECTED &&
	       st_ballot_cmp(&g->ballot, &ballot) == 0;
}

/* With a majority's votes. */
static void
take_office(struct st_group *g, const struct campaign *c)
{
	g->ballot = g->promise;
	g->leader = g->node->id.member;
	/* From now on, not only once that entry has its stamp: members may
	 * acknowledge older ones before. */
	g->term_start = g->last + 1;
	st_group_move(g, ST_GROUP_ELECTED);
	st_replicate_start(g);
	for (uint32_t i = 0; c && i < c->votes; i++)
		st_replicate_voted(g, c->voters[i], c->voted_us[i]);
	metric_inc(M_NODE_ELECTIONS);
	observe_elected(g);
	LOG(g->node->world, LOG_TRACE, "group", "elected",
	    "placement=%u slot=%u round=%" PRIu64 " last=%" PRIu64,
	    g->gid.placement, g->gid.slot, g->ballot.round, g->last);
	if (start_term(g)) {
		/* Locks belong to the log, not to who led before. */
		if (g->txns && !mutate("txn_locks_not_rebuilt"))
			st_txns_lock(g->txns);
		st_group_move(g, ST_GROUP_LEADING);
		/* Old answers must not be due to us for ever. */
		if (g->gid.placement == CL_PLACEMENT_CATALOG)
			cond_broadcast(&g->node->catalog.changed);
	} else {
		st_group_step_down(g);
	}
}

/* One attempt. The group is FOLLOWING before, and LEADING, or not, after. */
static void
campaign(struct st_group *g)
{
	struct st_node *n = g->node;
	struct st_ballot b = {
	    g->rounds_seen + 1, n->id.member, n->id.incarnation};
	uint64_t until = world_mono_us(n->world) + VOTE_CALL_US;
	struct campaign *c;

	if (g->promise.round > g->rounds_seen)
		b.round = g->promise.round + 1;
	st_group_move(g, ST_GROUP_CAMPAIGNING);
	metric_inc(M_NODE_CAMPAIGNS);
	st_group_promise(g, &b);
	st_log_promised(g);
	if (!still_candidate(g, &b))
		return;
	c = ask_all(g);
	while (still_candidate(g, &b) && (c->votes + 1) * 2 <= g->n_members &&
	       c->answered < c->asked)
		if (cond_wait(&c->news, until) == WAKE_DEADLINE)
			break;
	if (still_candidate(g, &b)) {
		if ((c->votes + 1) * 2 > g->n_members)
			take_office(g, c);
		else
			st_group_step_down(g);
	}
	campaign_unref(c);
}

/* ---- votes ---- */

/* Is this member bound to vote for others than who asks? By a lease that it
 * gave to another, or by one that it holds itself. */
static bool
is_bound(struct st_group *g, const struct st_ballot *ask)
{
	bool owner = ask->member == g->promise.member &&
		     ask->incarnation == g->promise.incarnation;

	if (!owner && !g->released && st_lease_given(g->node, &g->promise))
		return true;
	return st_group_is_leader(g) && st_lease_ok(g) &&
	       !mutate("lease_self_vote");
}

static bool
is_pausing(const struct st_group *g)
{
	return g->n_members > 1 &&
	       world_mono_us(g->node->world) < g->node->vote_after_us;
}

/* What a candidate's log is held against. An incomplete copy has acknowledged
 * nothing since its state was adopted, so that nobody has counted on what came
 * after; held against that, a complete copy could be kept from leading for
 * ever. */
static struct st_place
acknowledged_log(const struct st_group *g)
{
	return g->incomplete ? g->resync.place : st_group_log(g);
}

struct err *
st_vote_serve(struct st_node *n, struct arena *a, uint32_t from,
    const struct cl_vote *m, struct cl_voted *out)
{
	struct st_gid gid = {m->placement, m->slot, m->epoch};
	struct st_vote_asked ask = {
	    .ballot = {m->round, m->member, m->incarnation},
	    .log = {
		{m->last_round, m->last_member, m->last_incarnation}, m->last}};
	enum cl_refusal why;
	struct st_group *g;
	struct st_voter v;

	memset(out, 0, sizeof *out);
	if (from != m->member)
		return ERR(a, ERRCODE_PROTOCOL_VIOLATION,
		    "a vote asked for by another");
	g = st_group_open(
	    n, gid, 0, world_mono_us(n->world) + VOTE_CALL_US, &why);
	if (!g || n->state > ST_NODE_SERVING)
		return NULL;
	hear_promises(g, m);
	if (ask.ballot.round > g->rounds_seen)
		g->rounds_seen = ask.ballot.round;
	/* Who stands for a higher ballot leads in none any more. */
	if (g->leader == from && st_ballot_cmp(&ask.ballot, &g->promise) > 0) {
		g->leader = 0;
		cond_broadcast(&g->changed);
	}
	v = (struct st_voter){.promise = g->promise,
	    .log = acknowledged_log(g),
	    .pausing = is_pausing(g),
	    .granting = is_bound(g, &ask.ballot)};
	if (st_ballot_cmp(&g->promise, &ask.ballot) == 0) {
		/* The same question again. */
		out->granted = g->state == ST_GROUP_FOLLOWING;
	} else if (st_vote_ok(&v, &ask)) {
		out->granted = 1;
		st_group_promise(g, &ask.ballot);
	} else if (mutate("lease_hearsay")) {
		st_link_get(n, g->promise.member)->given_until_us = 0;
	}
	if (out->granted)
		st_log_promised(g);
	/* A yes stands only while nothing higher was promised meanwhile. */
	if (st_ballot_cmp(&g->promise, &ask.ballot) != 0)
		out->granted = 0;
	out->round = g->promise.round;
	out->member = g->promise.member;
	out->incarnation = g->promise.incarnation;
	return NULL;
}

/* ---- who asks for it ---- */

/* Members before this one that are alive. */
static uint32_t
alive_before(struct st_group *g)
{
	uint32_t alive = 0;

	for (uint32_t i = 0; i < g->n_members; i++) {
		if (g->members[i] == g->node->id.member)
			break;
		alive += st_link_alive(g->node, g->members[i]);
	}
	return alive;
}

/* The first of them, to name. */
static uint32_t
first_alive(struct st_group *g)
{
	for (uint32_t i = 0; i < g->n_members; i++)
		if (g->members[i] == g->node->id.member ||
		    st_link_alive(g->node, g->members[i]))
			return g->members[i];
	return 0;
}

bool
st_group_turn(struct st_group *g)
{
	if (!st_group_complete(g))
		return false;
	if (g->leader)
		return g->leader == g->node->id.member ||
		       !st_link_alive(g->node, g->leader);
	return alive_before(g) == 0;
}

static bool
known_leader(struct st_group *g)
{
	return g->leader && g->leader != g->node->id.member &&
	       st_link_alive(g->node, g->leader);
}

/* Votes of those that are not heard of are not waited for: a campaign without a
 * chance would only raise the ballot, and end the office of who leads the
 * others once they are back. */
static bool
majority_alive(struct st_group *g)
{
	uint32_t alive = 1;

	for (uint32_t i = 0; i < g->n_members; i++)
		alive += g->members[i] != g->node->id.member &&
			 st_link_alive(g->node, g->members[i]);
	return alive * 2 > g->n_members;
}

bool
st_group_headless(struct st_group *g)
{
	return g->state == ST_GROUP_FOLLOWING && g->born &&
	       st_group_complete(g) && !known_leader(g) &&
	       st_group_rank(g, g->node->id.member) < g->n_members &&
	       majority_alive(g);
}

/* Until when this member may not stand: leases, its own restart, its rank. */
static uint64_t
not_before(struct st_group *g, uint64_t asked_us)
{
	struct st_node *n = g->node;
	uint64_t at = 0, rank = asked_us + alive_before(g) * RANK_US;

	if (!mutate("lease_self_vote") && !g->released)
		at = st_lease_given(n, &g->promise);
	if (g->n_members > 1 && n->vote_after_us > at)
		at = n->vote_after_us;
	if (g->n_members > 1 && alive_before(g) && rank > at)
		at = rank;
	return at;
}

static uint64_t
random_pause(struct st_node *n)
{
	return world_mono_us(n->world) + AGAIN_US / 2 +
	       world_random_below(n->world, AGAIN_US);
}

/* Waits, or campaigns; true when it is worth another look. */
static bool
stand(struct st_group *g, uint64_t asked_us, uint64_t until)
{
	struct st_node *n = g->node;
	uint64_t now = world_mono_us(n->world), at = not_before(g, asked_us);

	if (g->again_us > at)
		at = g->again_us;
	if (at <= now && !majority_alive(g))
		at = now + ALIVE_CHECK_US;
	if (at <= now) {
		campaign(g);
		g->again_us = random_pause(n);
		return true;
	}
	if (at > until)
		return false;
	cond_wait(&g->changed, at);
	return !fiber_cancelled(fiber_self());
}

static struct st_group *
refuse(struct st_refusal *out, enum cl_refusal why, uint32_t leader)
{
	*out = (struct st_refusal){why, leader};
	return NULL;
}

struct st_group *
st_group_lead(struct st_node *n, struct st_gid gid, uint64_t catalog,
    uint64_t deadline_us, struct st_refusal *out)
{
	uint64_t asked = world_mono_us(n->world);
	uint64_t until = asked + LEAD_WAIT_US;

	*out = (struct st_refusal){CL_REFUSE_NONE, 0};
	if (deadline_us < until)
		until = deadline_us;
	for (;;) {
		enum cl_refusal why;
		struct st_group *g;

		if (!may_serve(n, gid, &why))
			return refuse(out, why, 0);
		g = st_group_open(n, gid, catalog, until, &why);
		if (!g)
			return refuse(out, why, 0);
		if (!may_serve(n, gid, &why))
			return refuse(out, why, 0);
		/* Cut off from the others, it could only wait: they are asked.
		 */
		if (g->state == ST_GROUP_LEADING)
			return st_group_heard(g)
				   ? g
				   : refuse(out, CL_REFUSE_LEADER, 0);
		if (known_leader(g))
			return refuse(out, CL_REFUSE_LEADER, g->leader);
		if (!st_group_complete(g) || g->resync.deaf ||
		    st_group_rank(g, n->id.member) == g->n_members)
			return refuse(out, CL_REFUSE_LEADER, 0);
		if (world_mono_us(n->world) >= until)
			return refuse(out, CL_REFUSE_LEADER, 0);
		if (g->state != ST_GROUP_FOLLOWING) {
			if (cond_wait(&g->changed, until) == WAKE_CANCEL)
				return refuse(out, CL_REFUSE_LEADER, 0);
			continue;
		}
		if (!stand(g, asked, until))
			return refuse(out, CL_REFUSE_LEADER, first_alive(g));
	}
}

/* Fibers that open groups side by side, and what they need. */
#define OPENERS_MAX 64u

struct openers {
	struct st_node *node;
	const struct st_gid *gids;
	struct st_refusal *who;
	size_t count, next;
	uint64_t catalog, deadline_us;
	uint32_t running;
	struct cond ended;
};

static bool
leads_now(struct st_node *n, struct st_gid gid)
{
	const struct st_group *g = st_group_find(n, gid.placement, gid.slot);

	return g && g->state == ST_GROUP_LEADING && g->gid.epoch == gid.epoch &&
	       st_group_heard(g) && n->state <= ST_NODE_SERVING;
}

static void
opener(void *arg)
{
	struct openers *o = arg;

	while (o->next < o->count) {
		size_t i = o->next++;

		if (!leads_now(o->node, o->gids[i]))
			st_group_lead(o->node, o->gids[i], o->catalog,
			    o->deadline_us, &o->who[i]);
	}
	o->running--;
	cond_signal(&o->ended);
}

bool
st_groups_lead(struct st_node *n, const struct st_gid *gids, size_t count,
    uint64_t catalog, uint64_t deadline_us, struct st_refusal *who)
{
	struct openers o = {.node = n,
	    .gids = gids,
	    .who = who,
	    .count = count,
	    .catalog = catalog,
	    .deadline_us = deadline_us};
	size_t closed = 0;
	bool all = true;

	cond_init(&o.ended, n->world);
	for (size_t i = 0; i < count; i++) {
		who[i] = (struct st_refusal){CL_REFUSE_NONE, 0};
		closed += !leads_now(n, gids[i]);
	}
	if (!closed)
		return true;
	for (size_t i = 0; closed > 1 && i < closed && i < OPENERS_MAX; i++) {
		o.running++;
		fiber_spawn(
		    n->world, "open group", FIBER_STACK_NODE, opener, &o);
	}
	if (closed == 1) {
		o.running = 1;
		opener(&o);
	}
	while (o.running)
		cond_wait_hard(&o.ended);
	/* One may have been lost while another was opened. */
	for (size_t i = 0; i < count; i++) {
		if (leads_now(n, gids[i]))
			continue;
		all = false;
		if (!who[i].why)
			who[i].why = CL_REFUSE_LEADER;
	}
	return all;
}
