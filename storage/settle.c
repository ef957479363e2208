#include "storage/settle.h"

#include "base/metrics.h"
#include "base/mutate.h"
#include "storage/decide.h"
#include "storage/propose.h"
#include "storage/reach.h"
#include "storage/txns.h"

#define CALL_US      5000000u
#define SWEEP_AGE_US 1000000u
/* In one go; what is left comes next time. */
#define ASKS_MAX    64u
#define TELLS_MAX   256u
#define SETTLED_MAX 1024u
#define MUTANT_AGE  3000000u

/* ---- asking ---- */

struct ask {
	struct st_node *node;
	struct arena *arena;
	struct st_gid gid; /* where it is prepared */
	struct st_txn txn;
	struct cl_outcome_get m;
};

/* Still prepared? If not, it was resolved while the question was under way:
 * what the answer says may be about a decision that is forgotten. */
static bool
is_prepared(const struct ask *q)
{
	const struct st_group *g =
	    st_group_find(q->node, q->gid.placement, q->gid.slot);
	const struct st_tx *x =
	    g && g->txns ? st_txns_find(g->txns, &q->txn) : NULL;

	return x && !x->resolved && !list_empty(&x->parts);
}

static void
resolve(struct ask *q, uint8_t outcome)
{
	struct cl_resolve m = {.placement = q->gid.placement,
	    .slot = q->gid.slot,
	    .epoch = q->gid.epoch,
	    .txn_placement = q->m.txn_placement,
	    .txn_slot = q->m.txn_slot,
	    .txn_epoch = q->m.txn_epoch,
	    .txn_stamp = q->m.txn_stamp,
	    .txn_member = q->m.txn_member,
	    .outcome = outcome,
	    .deadline = q->m.deadline};
	struct cl_resolved out;

	st_resolve_serve(q->node, &m, 0, &out);
}

static void
ask_fiber(void *arg)
{
	struct ask *q = arg;
	struct st_node *n = q->node;
	uint64_t until = world_mono_us(n->world) + CALL_US;
	const struct cl_told *told;
	struct st_reached r;
	struct st_group *g;

	metric_inc(M_NODE_TXN_ASKED);
	if (st_reach(n, q->arena, q->txn.gid, CL_MSG_OUTCOME_GET, &q->m, until,
		&r) &&
	    r.kind == CL_MSG_OUTCOME) {
		told = r.msg;
		if (!told->reason && is_prepared(q) &&
		    (told->outcome == CL_COMMIT || told->outcome == CL_ABORT))
			resolve(q, told->outcome);
	}
	g = st_group_find(n, q->gid.placement, q->gid.slot);
	if (g && g->txns)
		st_txns_asking(g->txns, &q->txn, false);
	arena_free(q->arena);
	st_background_end(n);
}

static void
ask(struct st_group *g, const struct st_part *p)
{
	struct st_node *n = g->node;
	const struct st_entry *e = &p->e;
	struct st_tx *x = st_txns_find(g->txns, &e->txn);
	struct arena *a;
	struct ask *q;

	if (x->asking || x->resolved || n->state > ST_NODE_SERVING)
		return;
	st_txns_asking(g->txns, &e->txn, true);
	a = arena_new(n->arena, "ask");
	q = NEW(a, struct ask);
	*q = (struct ask){.node = n, .arena = a, .gid = g->gid, .txn = e->txn};
	q->m = (struct cl_outcome_get){.txn_placement = e->txn.gid.placement,
	    .txn_slot = e->txn.gid.slot,
	    .txn_epoch = e->txn.gid.epoch,
	    .txn_stamp = e->txn.stamp,
	    .txn_member = e->txn.member,
	    .round = e->coordinator.round,
	    .member = e->coordinator.member,
	    .incarnation = e->coordinator.incarnation,
	    .deadline = e->deadline};
	n->n_fibers++;
	fiber_spawn(n->world, "ask outcome", FIBER_STACK_NODE, ask_fiber, q);
}

/* In a build with mutations: decided by the clock of whoever waits. */
static void
give_up_alone(struct st_group *g, const struct st_part *p)
{
	struct st_entry e = {.kind = ST_ENTRY_RESOLVE,
	    .txn = p->e.txn,
	    .outcome = CL_ABORT,
	    .deadline = p->e.deadline};

	(void)st_propose_entry(g, &e);
}

static void
ask_old(struct st_group *g, uint64_t age_us)
{
	uint64_t now = world_mono_us(g->node->world);
	uint32_t asked = 0;

	LIST_FOREACH_SAFE(at, st_txns_parts(g->txns))
	{
		struct st_part *p = LIST_ENTRY(at, struct st_part, link);

		if (!p->since_us)
			p->since_us = now;
		if (p->gone || now - p->since_us < age_us ||
		    !st_txns_is_applied(g->txns, p->e.index))
			continue;
		if (mutate("txn_local_timeout") &&
		    now - p->since_us > MUTANT_AGE) {
			give_up_alone(g, p);
			return;
		}
		ask(g, p);
		if (++asked == ASKS_MAX)
			return;
	}
}

void
st_settle_old(struct st_group *g)
{
	if (g->txns && g->state == ST_GROUP_LEADING)
		ask_old(g, ST_SETTLE_PAUSE_US);
}

/* ---- telling ---- */

struct tell {
	struct st_node *node;
	struct arena *arena;
	struct st_txn txn;
	struct st_gid to;
	uint32_t number; /* of the participant; UINT32_MAX: of no decision */
	struct cl_resolve m;
};

static struct st_decision *
decision_of(struct st_node *n, const struct st_txn *txn)
{
	const struct st_group *g =
	    st_group_find(n, txn->gid.placement, txn->gid.slot);
	const struct st_tx *x =
	    g && g->txns ? st_txns_find(g->txns, txn) : NULL;

	return x ? x->decision : NULL;
}

static void
tell_fiber(void *arg)
{
	struct tell *t = arg;
	struct st_node *n = t->node;
	uint64_t until = world_mono_us(n->world) + CALL_US;
	struct st_decision *d;
	struct st_reached r;
	bool done =
	    st_reach(n, t->arena, t->to, CL_MSG_RESOLVE, &t->m, until, &r) &&
	    r.kind == CL_MSG_RESOLVED && !r.why;

	d = t->number == UINT32_MAX ? NULL : decision_of(n, &t->txn);
	if (d && t->number < d->n_participants) {
		d->telling[t->number] = false;
		d->told[t->number] |= done;
	}
	arena_free(t->arena);
	st_background_end(n);
}

static void
tell(struct st_node *n, const struct st_txn *txn, uint8_t outcome,
    cl_stamp deadline, struct st_gid to, uint32_t number)
{
	struct arena *a = arena_new(n->arena, "tell");
	struct tell *t = NEW(a, struct tell);

	*t = (struct tell){n, a, *txn, to, number,
	    {.placement = to.placement,
		.slot = to.slot,
		.epoch = to.epoch,
		.txn_placement = txn->gid.placement,
		.txn_slot = txn->gid.slot,
		.txn_epoch = txn->gid.epoch,
		.txn_stamp = txn->stamp,
		.txn_member = txn->member,
		.outcome = outcome,
		.deadline = deadline}};
	n->n_fibers++;
	fiber_spawn(n->world, "tell outcome", FIBER_STACK_NODE, tell_fiber, t);
}

static uint32_t
tell_all(struct st_group *g, const struct st_txn *txn, struct st_decision *d)
{
	uint32_t n = 0;

	if (g->node->state > ST_NODE_SERVING)
		return 0;
	d->told_us = world_mono_us(g->node->world);
	for (uint32_t i = 0; i < d->n_participants; i++) {
		if (d->told[i] || d->telling[i])
			continue;
		d->telling[i] = true;
		tell(g->node, txn, d->outcome, d->deadline, d->participants[i],
		    i);
		n++;
	}
	return n;
}

void
st_settle_tell(struct st_group *g, const struct st_txn *txn)
{
	struct st_decision *d = decision_of(g->node, txn);

	if (d)
		(void)tell_all(g, txn, d);
}

void
st_settle_tell_abort(struct st_node *n, const struct st_txn *txn,
    cl_stamp deadline, const struct st_gid *gids, uint32_t count)
{
	for (uint32_t i = 0; i < count && n->state <= ST_NODE_SERVING; i++)
		tell(n, txn, CL_ABORT, deadline, gids[i], UINT32_MAX);
}

/* ---- readers ---- */

struct look {
	struct st_serving *on;
	const struct cl_point *points;
	uint32_t n_points;
	const struct st_key_range *ranges;
};

/* The group in which a prepared write is in the way of the read. */
static struct st_group *
in_the_way(const struct look *l)
{
	const struct st_serving *on = l->on;

	for (uint32_t i = 0; i < l->n_points; i++)
		if (on->groups[i]->txns &&
		    st_locks_prepared(&on->groups[i]->locks, l->points[i].key))
			return on->groups[i];
	for (size_t i = 0; l->ranges && i < on->n; i++)
		if (on->groups[i]->txns &&
		    st_txns_in_range(on->groups[i]->txns, l->ranges[i].from,
			l->ranges[i].to))
			return on->groups[i];
	return NULL;
}

static bool
still_led(const struct st_serving *on)
{
	for (size_t i = 0; i < on->n; i++)
		if (!st_group_leads(on->groups[i], &on->ballots[i]))
			return false;
	return true;
}

static bool
wait_until_free(const struct look *l)
{
	struct st_serving *on = l->on;
	struct world *w = on->node->world;
	struct st_group *g;

	if (mutate("read_past_prepared"))
		return true;
	while ((g = in_the_way(l))) {
		uint64_t now = world_mono_us(w);
		uint64_t look = now + ST_SETTLE_PAUSE_US;
		enum wake why;

		if (!still_led(on) || now >= on->deadline_us) {
			on->why = CL_REFUSE_LEADER;
			return false;
		}
		metric_inc(M_NODE_TXN_WAITS);
		why = cond_wait(&g->settled,
		    look < on->deadline_us ? look : on->deadline_us);
		if (why == WAKE_CANCEL) {
			on->why = CL_REFUSE_STOPPING;
			return false;
		}
		if (why == WAKE_DEADLINE)
			st_settle_old(g);
	}
	return true;
}

bool
st_settle_needed(const struct st_serving *on)
{
	if (on->consistency == CL_ONE)
		return false;
	for (size_t i = 0; i < on->n; i++)
		if (on->groups[i]->txns)
			return true;
	return false;
}

bool
st_settle_points(
    struct st_serving *on, const struct cl_point *points, uint32_t n)
{
	struct look l = {.on = on, .points = points, .n_points = n};

	return !st_settle_needed(on) || wait_until_free(&l);
}

bool
st_settle_ranges(struct st_serving *on, const struct st_key_range *ranges)
{
	struct look l = {.on = on, .ranges = ranges};

	return !st_settle_needed(on) || wait_until_free(&l);
}

/* ---- the sweeper ---- */

static bool
all_told(const struct st_decision *d)
{
	for (uint32_t i = 0; i < d->n_participants; i++)
		if (!d->told[i])
			return false;
	return true;
}

/* Decisions that everybody knows may be forgotten one day; the others are told
 * again. */
static void
sweep_decisions(struct st_group *g, struct arena *a)
{
	struct st_txn *txns = NEW_N(a, struct st_txn, SETTLED_MAX), id;
	struct st_entry e = {.kind = ST_ENTRY_SETTLED, .txns = txns};
	uint64_t now = world_mono_us(g->node->world);
	struct st_decision *d = NULL;
	uint32_t told = 0;

	while ((d = st_txns_unsettled(g->txns, d, &id))) {
		if (!st_txns_is_applied(g->txns, d->index))
			continue;
		if (!all_told(d)) {
			if (now - d->told_us >= SWEEP_AGE_US &&
			    told < TELLS_MAX)
				told += tell_all(g, &id, d);
			continue;
		}
		txns[e.n_txns++] = id;
		if (e.n_txns == SETTLED_MAX)
			break;
	}
	if (e.n_txns)
		(void)st_propose_entry(g, &e);
}

/* An idle group's entry, by whose stamp things are forgotten. */
static void
sweep_old(struct st_group *g)
{
	struct st_entry e = {.kind = ST_ENTRY_EMPTY};
	cl_stamp next = st_txns_next_forget(g->txns);

	if (next && next < st_now(g->node) && g->applied == g->last)
		(void)st_propose_entry(g, &e);
}

void
st_settle_sweep(struct st_node *n)
{
	struct arena *a = arena_new(n->arena, "settle");
	struct st_group **all =
	    NEW_N(a, struct st_group *, map_count(n->groups) + 1);
	size_t count = 0, at = 0;
	void *v;

	/* Groups may be added while an entry is under way. */
	while (map_next(n->groups, &at, NULL, &v))
		all[count++] = TAKE(struct st_group, v, ST_GROUP_MAGIC);
	for (size_t i = 0; i < count; i++) {
		struct st_group *g = all[i];

		if (g->txns && g->state == ST_GROUP_LEADING)
			ask_old(g, SWEEP_AGE_US);
		if (g->txns && g->state == ST_GROUP_LEADING)
			sweep_decisions(g, a);
		if (g->txns && g->state == ST_GROUP_LEADING)
			sweep_old(g);
	}
	arena_free(a);
}
