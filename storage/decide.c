#include "storage/decide.h"

#include "base/metrics.h"
#include "base/mutate.h"
#include "storage/clock.h"
#include "storage/elect.h"
#include "storage/propose.h"
#include "storage/reach.h"
#include "storage/txns.h"

#define WAIT_US 2000000u

static const struct st_decision *
decision_of(const struct st_group *g, const struct st_txn *txn)
{
	const struct st_tx *x = g->txns ? st_txns_find(g->txns, txn) : NULL;

	return x ? x->decision : NULL;
}

/* ---- at the group that decides ---- */

/* Somebody else's is appended: until it is applied. */
static bool
wait_decided(struct st_group *g, const struct st_ballot *b, uint64_t index)
{
	while (st_group_leads(g, b) && !st_txns_is_applied(g->txns, index))
		cond_wait_hard(&g->changed);
	return st_group_leads(g, b);
}

bool
st_decide_abort(struct st_group *g, const struct st_ballot *b,
    const struct st_txn *txn, cl_stamp deadline)
{
	struct st_entry e = {.kind = ST_ENTRY_DECIDE,
	    .txn = *txn,
	    .outcome = CL_ABORT,
	    .deadline = deadline};
	const struct st_decision *d;
	enum cl_clock_state why;

	for (;;) {
		if (!st_group_leads(g, b) || g->node->state > ST_NODE_SERVING)
			return false;
		d = decision_of(g, txn);
		if (d)
			return wait_decided(g, b, d->index);
		e.stamp = st_clock_next(g->node, g->last_stamp, &why);
		if (e.stamp)
			break;
		if (why == CL_CLOCK_SKEW)
			return false;
		st_clock_wait(g->node);
	}
	metric_inc(M_NODE_TXN_ABORTED);
	return st_pending_wait(st_group_append(g, &e)) == ST_APPLIED;
}

/* May the coordinator still decide it? Only in the ballot in which it was
 * begun, and not after the deadline. */
static bool
may_commit(const struct st_group *g, const struct cl_outcome_get *m)
{
	struct st_ballot begun = {m->round, m->member, m->incarnation};

	return st_ballot_cmp(&begun, &g->ballot) == 0 &&
	       st_now(g->node) <= m->deadline;
}

static void
answer(struct st_group *g, const struct cl_outcome_get *m, uint64_t until,
    struct cl_told *out)
{
	struct st_ballot ballot = g->ballot;
	struct st_txn txn = ST_MSG_TXN(m);

	for (;;) {
		const struct st_decision *d = decision_of(g, &txn);

		if (!st_group_leads(g, &ballot)) {
			out->reason = CL_REFUSE_LEADER;
			return;
		}
		if (d && (st_txns_is_applied(g->txns, d->index) ||
			     mutate("decision_unapplied"))) {
			out->outcome = d->outcome;
			return;
		}
		if (!d && may_commit(g, m)) {
			out->outcome = CL_UNDECIDED;
			return;
		}
		if (!d && mutate("undecided_is_abort")) {
			out->outcome = CL_ABORT;
			return;
		}
		if (!(d ? cond_wait(&g->changed, until) == WAKE_EVENT
			: st_decide_abort(g, &ballot, &txn, m->deadline))) {
			out->reason = CL_REFUSE_BUSY;
			return;
		}
	}
}

void
st_outcome_serve(struct st_node *n, const struct cl_outcome_get *m,
    uint64_t catalog, struct cl_told *out)
{
	uint64_t until = world_mono_us(n->world) + WAIT_US;
	struct st_refusal why;
	struct st_group *g;

	memset(out, 0, sizeof *out);
	g = st_group_lead(n, ST_MSG_TXN(m).gid, catalog, until, &why);
	if (!g) {
		out->reason = (uint8_t)why.why;
		out->leader = why.leader;
		return;
	}
	answer(g, m, until, out);
}

/* ---- at a participant ---- */

static bool
wait_applied(struct st_group *g, const struct st_ballot *b, uint64_t index,
    uint64_t until)
{
	while (st_group_leads(g, b) && g->applied < index)
		if (cond_wait(&g->changed, until) != WAKE_EVENT)
			break;
	return st_group_leads(g, b) && g->applied >= index;
}

static bool
resolve(struct st_group *g, const struct cl_resolve *m, uint64_t until)
{
	struct st_ballot ballot = g->ballot;
	struct st_entry e = {.kind = ST_ENTRY_RESOLVE,
	    .txn = ST_MSG_TXN(m),
	    .outcome = m->outcome,
	    .deadline = m->deadline};
	const struct st_tx *x = g->txns ? st_txns_find(g->txns, &e.txn) : NULL;

	if (x && x->resolved)
		return wait_applied(g, &ballot, x->resolved, until);
	return st_propose_entry(g, &e);
}

void
st_resolve_serve(struct st_node *n, const struct cl_resolve *m,
    uint64_t catalog, struct cl_resolved *out)
{
	struct st_gid gid = {m->placement, m->slot, m->epoch};
	uint64_t until = world_mono_us(n->world) + WAIT_US;
	struct st_refusal why;
	struct st_group *g;

	memset(out, 0, sizeof *out);
	g = st_group_lead(n, gid, catalog, until, &why);
	if (!g) {
		out->reason = (uint8_t)why.why;
		out->leader = why.leader;
		return;
	}
	if (!resolve(g, m, until))
		out->reason = CL_REFUSE_LEADER;
}
