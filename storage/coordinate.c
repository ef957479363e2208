/* One transaction from its message to its answer:
 *
 *   locks of the own part, in memory
 *     -> Prepare to every other group, side by side
 *     -> all prepared: own conditions -> Decide{commit}, with the own writes
 *        one is false:                   Decide{abort}, with the result
 *        else:                           Decide{abort}, and again or refused
 *     -> answer -> Resolve to every other group, in the background
 *
 * It decides in the ballot in which it began, or not at all: who comes after
 * finds what the log says, and gives up what it says nothing of. */
#include "storage/coordinate.h"

#include "base/metrics.h"
#include "base/mutate.h"
#include "storage/catalog.h"
#include "storage/clock.h"
#include "storage/decide.h"
#include "storage/elect.h"
#include "storage/prepare.h"
#include "storage/propose.h"
#include "storage/propose_int.h"
#include "storage/reach.h"
#include "storage/settle.h"
#include "storage/txns.h"

#define PREPARE_US     6000000u
#define AGAIN_US       4000u /* the pause after the first try, at most */
#define AGAIN_MAX_US   200000u
#define RESULT_WAIT_US 1000u

/* What one group beside the own one is asked to prepare. */
struct part {
	struct commit *commit;
	struct cl_prepare m;
	uint32_t first_cond; /* among all */
	struct st_reached r;
};

struct commit {
	struct list link; /* group.commits */
	struct st_node *node;
	struct arena *arena;
	const struct cl_commit *m;
	struct cl_propose own; /* the own part */
	struct st_prop p;
	struct part *parts; /* the others */
	struct st_gid *gids;
	uint32_t n;
	cl_stamp age;

	/* Of the present try. */
	struct st_txn txn;
	cl_stamp deadline;
	uint32_t running; /* fibers */
	struct cond ended;
};

enum try_end {
	TRY_ANSWERED, /* the answer is set */
	TRY_AGAIN,    /* nothing was done: once more, under a new id */
	TRY_REFUSED /* nothing was done, and nothing will: the answer is set */
};

/* ---- the message ---- */

static struct err *
malformed(struct arena *a, const char *what)
{
	return ERR(
	    a, ERRCODE_PROTOCOL_VIOLATION, "malformed transaction: %s", what);
}

static struct err *
check_part(struct commit *c, struct part *p)
{
	struct cl_propose as = c->own;

	as.slot = p->m.slot;
	as.conds = p->m.conds;
	as.n_conds = p->m.n_conds;
	as.writes = p->m.writes;
	as.n_writes = p->m.n_writes;
	TRY(st_prop_message(c->arena, &as));
	return st_part_check(c->arena, &p->m);
}

static void
take_part(struct commit *c, uint32_t i, uint32_t cond, uint32_t write)
{
	const struct cl_part_head *h = &c->m->parts[i];
	struct part *p;

	if (i == 0) {
		c->own.placement = h->placement;
		c->own.slot = h->slot;
		c->own.epoch = h->epoch;
		c->own.conds = c->m->conds;
		c->own.n_conds = h->conds;
		c->own.writes = c->m->writes;
		c->own.n_writes = h->writes;
		return;
	}
	p = &c->parts[i - 1];
	p->commit = c;
	p->first_cond = cond;
	p->m.placement = h->placement;
	p->m.slot = h->slot;
	p->m.epoch = h->epoch;
	p->m.part = i;
	p->m.conds = c->m->conds + cond;
	p->m.n_conds = h->conds;
	p->m.writes = c->m->writes + write;
	p->m.n_writes = h->writes;
	c->gids[i - 1] = (struct st_gid){h->placement, h->slot, h->epoch};
}

static bool
comes_twice(const struct cl_commit *m, uint32_t i)
{
	for (uint32_t k = 0; k < i; k++)
		if (m->parts[k].placement == m->parts[i].placement &&
		    m->parts[k].slot == m->parts[i].slot)
			return true;
	return false;
}

static struct err *
take_message(struct commit *c)
{
	const struct cl_commit *m = c->m;
	uint64_t conds = 0, writes = 0;

	if (!m->n_parts)
		return malformed(c->arena, "no part");
	c->own = (struct cl_propose){.session = m->session,
	    .sequence = m->sequence,
	    .send = m->send,
	    .deadline = m->deadline,
	    .answered = m->answered};
	c->n = m->n_parts - 1;
	c->parts = NEW_N(c->arena, struct part, m->n_parts);
	c->gids = NEW_N(c->arena, struct st_gid, m->n_parts);
	for (uint32_t i = 0; i < m->n_parts; i++) {
		const struct cl_part_head *h = &m->parts[i];

		if (h->conds > m->n_conds - conds ||
		    h->writes > m->n_writes - writes)
			return malformed(c->arena, "parts without an end");
		if (h->placement == CL_PLACEMENT_CATALOG)
			return malformed(c->arena, "the catalog has no part");
		if (comes_twice(m, i))
			return malformed(c->arena, "two parts of one group");
		take_part(c, i, (uint32_t)conds, (uint32_t)writes);
		conds += h->conds;
		writes += h->writes;
	}
	if (conds != m->n_conds || writes != m->n_writes)
		return malformed(c->arena, "more than its parts");
	TRY(st_prop_message(c->arena, &c->own));
	for (uint32_t i = 0; i < c->n; i++)
		TRY(check_part(c, &c->parts[i]));
	return NULL;
}

/* ---- preparing ---- */

static void
prepare_fiber(void *arg)
{
	struct part *p = arg;
	struct commit *c = p->commit;
	struct st_node *n = c->node;
	uint64_t until = world_mono_us(n->world) + PREPARE_US;

	if (c->p.deadline_us < until)
		until = c->p.deadline_us;
	if (!st_reach(n, c->arena, c->gids[p->m.part - 1], CL_MSG_PREPARE,
		&p->m, until, &p->r) ||
	    p->r.kind != CL_MSG_PROPOSED)
		p->r.kind = 0;
	if (--c->running == 0)
		cond_signal(&c->ended);
}

static void
prepare_all(struct commit *c)
{
	struct st_txn *t = &c->txn;

	c->running = c->n;
	for (uint32_t i = 0; i < c->n; i++) {
		struct cl_prepare *m = &c->parts[i].m;

		m->txn_placement = t->gid.placement;
		m->txn_slot = t->gid.slot;
		m->txn_epoch = t->gid.epoch;
		m->txn_stamp = t->stamp;
		m->txn_member = t->member;
		m->age = c->age;
		m->round = c->p.ballot.round;
		m->member = c->p.ballot.member;
		m->incarnation = c->p.ballot.incarnation;
		m->deadline = c->deadline;
		fiber_spawn(c->node->world, "prepare", FIBER_STACK_NODE,
		    prepare_fiber, &c->parts[i]);
	}
	while (c->running)
		cond_wait_hard(&c->ended);
}

/* What keeps it from being committed now may be gone soon; or is for whoever
 * sent it to know. */
static bool
is_for_sender(enum cl_refusal why)
{
	return why == CL_REFUSE_CATALOG || why == CL_REFUSE_DROPPED ||
	       why == CL_REFUSE_FULL;
}

/* ---- the decision ---- */

enum what { DECIDE_COMMIT, DECIDE_FALSE, DECIDE_ABORT };

/* Stamps of the entry are within all deadlines. */
static bool
in_time(const struct commit *c, cl_stamp stamp)
{
	return stamp <= c->deadline && stamp <= c->m->deadline;
}

static struct st_pending *
append(struct commit *c, enum what what, cl_stamp stamp)
{
	struct st_group *g = c->p.group;
	struct st_entry e = {.kind = ST_ENTRY_DECIDE,
	    .stamp = stamp,
	    .txn = c->txn,
	    .outcome = what == DECIDE_COMMIT ? CL_COMMIT : CL_ABORT,
	    .deadline = c->deadline,
	    .with_op = true};
	struct st_pending *pending;

	memcpy(e.op.session, c->m->session.p, sizeof e.op.session);
	e.op.sequence = c->m->sequence;
	e.op.answered = c->m->answered;
	e.op.outcome = what == DECIDE_COMMIT ? CL_APPLIED : CL_FALSE;
	if (what == DECIDE_COMMIT) {
		e.participants = c->gids;
		e.n_participants = c->n;
		e.writes = c->own.writes;
		e.n_writes = mutate("own_writes_apart") ? 0 : c->own.n_writes;
	}
	pending = st_group_append(g, &e);
	if (!mutate("result_not_kept"))
		st_results_begin(g->results, &e.op, pending->entry.index,
		    pending->entry.stamp);
	return pending;
}

/* In a build with mutations: what the Decide entry should have brought. */
static void
write_apart(struct commit *c)
{
	struct st_entry e = {.kind = ST_ENTRY_PROPOSAL,
	    .writes = c->own.writes,
	    .n_writes = c->own.n_writes};

	/* Time for something to come between. */
	fiber_sleep(
	    c->node->world, world_mono_us(c->node->world) + 10 * AGAIN_US);
	st_propose_own(c->node, c->arena, &c->own);
	memcpy(e.op.session, c->own.session.p, sizeof e.op.session);
	e.op.sequence = 1;
	e.op.outcome = CL_APPLIED;
	(void)st_propose_entry(c->p.group, &e);
}

static bool
is_decided(const struct commit *c)
{
	const struct st_group *g = c->p.group;
	const struct st_tx *x = g->txns ? st_txns_find(g->txns, &c->txn) : NULL;

	return x && x->decision && !mutate("txn_second_decide");
}

/* An earlier send's result, right before the append. One that the session has
 * no need of any more does not stop what runs. */
static enum st_result_state
look_up(const struct commit *c)
{
	struct st_result r;

	return st_results_find(c->p.group->results,
	    (const uint8_t *)c->m->session.p, c->m->sequence, &r);
}

/* Everything that may have changed. NONE with *stamp 0: it waited; look
 * again. */
static enum cl_refusal
look(struct commit *c, cl_stamp *stamp)
{
	enum cl_refusal why;

	*stamp = 0;
	if (mutate("decide_any_ballot") &&
	    c->p.group->state == ST_GROUP_LEADING)
		c->p.ballot = c->p.group->ballot;
	why = st_prop_now(&c->p);
	if (why)
		return why;
	switch (look_up(c)) {
	case ST_RESULT_PENDING:
		fiber_sleep(c->node->world,
		    world_mono_us(c->node->world) + RESULT_WAIT_US);
		return CL_REFUSE_NONE;
	case ST_RESULT_KEPT:
	case ST_RESULT_CROWDED:
		return CL_REFUSE_BUSY;
	case ST_RESULT_NONE:
	case ST_RESULT_ANSWERED:
		break;
	}
	if (is_decided(c))
		return CL_REFUSE_BUSY;
	why = st_prop_stamp(&c->p, stamp);
	if (!why && *stamp && !st_prop_schemas(&c->p, stamp))
		*stamp = 0;
	if (!why && *stamp && !in_time(c, *stamp))
		why = CL_REFUSE_DEADLINE;
	return why;
}

/* Decide with the operation's result: under the own locks, nothing waits
 * between the last look and the append. A refusal: it was not appended. */
static enum cl_refusal
decide(struct commit *c, enum what what, struct st_pending **pending)
{
	enum cl_refusal why;
	cl_stamp stamp;

	do
		why = look(c, &stamp);
	while (!why && !stamp);
	if (!why)
		*pending = append(c, what, stamp);
	return why;
}

static void
wait_decided(struct commit *c, enum what what, struct st_pending *pending)
{
	struct cl_proposed *out = c->p.out;

	out->stamp = pending->entry.stamp;
	out->index = pending->entry.index;
	if (what == DECIDE_COMMIT && mutate("resolve_before_decide"))
		st_settle_tell(c->p.group, &c->txn);
	if (st_pending_wait(pending) != ST_APPLIED) {
		/* Another leads now, and its log says what became of it. */
		out->outcome = CL_UNKNOWN;
		out->leader = c->p.group->leader;
		out->n_rows = 0;
		metric_inc(M_NODE_UNKNOWN);
		return;
	}
	out->outcome = what == DECIDE_COMMIT ? CL_APPLIED : CL_FALSE;
	if (what != DECIDE_COMMIT)
		return;
	if (mutate("own_writes_apart"))
		write_apart(c);
	metric_inc(M_NODE_TXN_COMMITTED);
	st_settle_tell(c->p.group, &c->txn);
}

/* Nothing of it will be: by an entry, and the participants are told. */
static void
give_up(struct commit *c)
{
	struct st_group *g = c->p.group;

	if (st_decide_abort(g, &c->p.ballot, &c->txn, c->deadline))
		st_settle_tell_abort(
		    c->node, &c->txn, c->deadline, c->gids, c->n);
}

/* ---- one try ---- */

/* A false condition of a participant, if there is one: its rows are the
 * answer's. */
static bool
take_false(struct commit *c)
{
	for (uint32_t i = 0; i < c->n; i++) {
		const struct part *p = &c->parts[i];
		const struct cl_proposed *a = p->r.msg;

		if (!p->r.kind || a->outcome != CL_FALSE)
			continue;
		c->p.out->failed = p->first_cond + a->failed;
		c->p.out->rows = a->rows;
		c->p.out->n_rows = a->n_rows;
		return true;
	}
	return false;
}

static bool
all_prepared(const struct commit *c)
{
	for (uint32_t i = 0; i < c->n; i++) {
		const struct cl_proposed *a = c->parts[i].r.msg;

		if (!c->parts[i].r.kind || a->outcome != CL_APPLIED)
			return false;
	}
	return true;
}

/* The worst reason of those that did not prepare. */
static enum cl_refusal
why_not(const struct commit *c)
{
	for (uint32_t i = 0; i < c->n; i++) {
		const struct cl_proposed *a = c->parts[i].r.msg;

		if (c->parts[i].r.kind && a->outcome == CL_REFUSED &&
		    is_for_sender((enum cl_refusal)a->reason))
			return (enum cl_refusal)a->reason;
	}
	return CL_REFUSE_NONE;
}

static enum try_end
refuse(struct commit *c, enum cl_refusal why)
{
	c->p.out->n_rows = 0;
	c->p.out->leader = 0;
	st_prop_refuse(&c->p, why);
	return TRY_REFUSED;
}

static enum try_end
conclude(struct commit *c)
{
	struct st_pending *pending = NULL;
	enum what what = DECIDE_ABORT;
	enum cl_refusal why = why_not(c);

	if (take_false(c))
		what = DECIDE_FALSE;
	else if (all_prepared(c))
		/* Under the own locks, which are held since before. */
		what = st_prop_conditions(&c->p) ? DECIDE_COMMIT : DECIDE_FALSE;
	if (what != DECIDE_ABORT)
		why = decide(c, what, &pending);
	if (!pending) {
		give_up(c);
		c->p.out->n_rows = 0;
		return why && why != CL_REFUSE_BUSY ? refuse(c, why)
						    : TRY_AGAIN;
	}
	wait_decided(c, what, pending);
	if (c->p.out->outcome == CL_FALSE)
		st_settle_tell_abort(
		    c->node, &c->txn, c->deadline, c->gids, c->n);
	return TRY_ANSWERED;
}

/* The id, from a stamp that nobody else gets. */
static enum cl_refusal
begin(struct commit *c)
{
	struct st_node *n = c->node;
	cl_stamp after = CL_STAMP_OF_MS(n->conf.txn_abort_after_us / 1000);
	enum cl_clock_state why;
	cl_stamp stamp;

	while (!(stamp = st_clock_next(n, c->p.group->last_stamp, &why))) {
		if (why == CL_CLOCK_SKEW)
			return CL_REFUSE_CLOCK;
		st_clock_wait(n);
		if (n->state > ST_NODE_SERVING)
			return CL_REFUSE_STOPPING;
	}
	c->txn = (struct st_txn){c->p.group->gid, stamp, n->id.member};
	c->deadline = stamp + after;
	if (c->deadline > c->m->deadline)
		c->deadline = c->m->deadline;
	metric_inc(M_NODE_TXNS);
	return CL_REFUSE_NONE;
}

static enum try_end
try_once(struct commit *c)
{
	enum cl_refusal why = begin(c);
	enum try_end end;

	if (!why)
		why = st_prop_now(&c->p);
	if (!why)
		why = st_prop_deadline(&c->p, st_now(c->node));
	if (why)
		return refuse(c, why);
	switch (st_prop_lock(&c->p)) {
	case ST_LOCKS_GRANTED:
		prepare_all(c);
		end = conclude(c);
		break;
	case ST_LOCKS_BUSY:
		metric_inc(M_NODE_TXN_BUSY);
		st_settle_old(c->p.group);
		end = TRY_AGAIN;
		break;
	default:
		end = refuse(c, CL_REFUSE_DEADLINE);
		break;
	}
	st_locks_release(&c->p.group->locks, &c->p.locks);
	return end;
}

/* ---- one operation ---- */

/* The same operation, from an earlier send. */
static bool
is_running(const struct commit *c)
{
	LIST_FOREACH(at, &c->p.group->commits)
	{
		const struct commit *x = LIST_ENTRY(at, struct commit, link);

		if (x->m->sequence == c->m->sequence &&
		    str_eq(x->m->session, c->m->session))
			return true;
	}
	return false;
}

/* Until it may run: true. A leader runs an operation once at a time, and what a
 * send before it came to is its answer. */
static bool
may_run(struct commit *c)
{
	bool again = true;

	while (again || is_running(c)) {
		enum cl_refusal why = st_prop_now(&c->p);

		if ((why == CL_REFUSE_DROPPED || why == CL_REFUSE_CATALOG) &&
		    c->m->send > 1 && !is_running(c) &&
		    st_prop_result(&c->p, &again))
			return false;
		if (!why)
			why = st_prop_deadline(&c->p, st_now(c->node));
		if (!why && c->p.group->n_proposals >= ST_PROPOSALS_MAX)
			why = CL_REFUSE_BUSY;
		if (why) {
			(void)refuse(c, why);
			return false;
		}
		if (is_running(c)) {
			again = true;
			if (cond_wait(&c->p.group->settled, c->p.deadline_us) ==
			    WAKE_EVENT)
				continue;
			(void)refuse(c, CL_REFUSE_DEADLINE);
			return false;
		}
		if (st_prop_result(&c->p, &again))
			return false;
		if (again)
			fiber_sleep(c->node->world,
			    world_mono_us(c->node->world) + RESULT_WAIT_US);
	}
	return true;
}

/* Between two tries, longer each time; false: it would be too late. */
static bool
pause(struct commit *c, uint32_t tries)
{
	struct world *w = c->node->world;
	uint64_t most = (uint64_t)AGAIN_US << (tries < 6 ? tries : 6);
	uint64_t until;

	if (most > AGAIN_MAX_US)
		most = AGAIN_MAX_US;
	until = world_mono_us(w) + 1000 + world_random_below(w, most);
	return until < c->p.deadline_us && fiber_sleep(w, until) != WAKE_CANCEL;
}

static void
run(struct commit *c)
{
	struct st_group *g = c->p.group;
	enum try_end end = TRY_AGAIN;

	if (!may_run(c))
		return;
	list_push(&g->commits, &c->link);
	g->n_proposals++;
	for (uint32_t tries = 0; end == TRY_AGAIN; tries++) {
		if (tries && !pause(c, tries)) {
			(void)refuse(c, CL_REFUSE_BUSY);
			break;
		}
		end = try_once(c);
		/* What stopped it may be the result of an earlier send. */
		if (end == TRY_AGAIN && look_up(c) == ST_RESULT_KEPT) {
			bool again;

			(void)st_prop_result(&c->p, &again);
			break;
		}
	}
	g->n_proposals--;
	list_del(&c->link);
	cond_broadcast(&g->settled);
}

static struct err *
coordinate(struct commit *c, uint64_t catalog)
{
	struct st_node *n = c->node;
	struct st_gid gid = {c->own.placement, c->own.slot, c->own.epoch};
	uint64_t from = world_mono_us(n->world);
	struct st_refusal why;

	why.why = st_prop_deadline(&c->p, st_now(n));
	if (why.why) {
		st_prop_refuse(&c->p, why.why);
		return NULL;
	}
	c->p.group = st_group_lead(n, gid, catalog, c->p.deadline_us, &why);
	if (!c->p.group) {
		c->p.out->leader = why.leader;
		st_prop_refuse(&c->p, why.why);
		return NULL;
	}
	if (st_prop_tables(&c->p) == CL_REFUSE_CATALOG)
		st_catalog_wait(n, catalog, c->p.deadline_us);
	c->p.ballot = c->p.group->ballot;
	run(c);
	metric_time(M_NODE_PROPOSE_TIME, world_mono_us(n->world) - from);
	return NULL;
}

struct err *
st_commit(struct st_node *n, struct arena *a, const struct cl_commit *m,
    uint64_t catalog, struct cl_proposed *out)
{
	struct commit *c = NEW(a, struct commit);

	memset(out, 0, sizeof *out);
	c->node = n;
	c->arena = a;
	c->m = m;
	c->age = m->age ? m->age : st_now(n);
	TRY(take_message(c));
	/* One group: its entry is all there is to it. */
	if (!c->n)
		return st_propose(n, a, &c->own, catalog, out);
	c->p = (struct st_prop){.node = n,
	    .arena = a,
	    .m = &c->own,
	    .out = out,
	    .deadline_us = st_mono_of(n, m->deadline),
	    .age = c->age};
	cond_init(&c->p.granted, n->world);
	cond_init(&c->ended, n->world);
	return coordinate(c, catalog);
}
