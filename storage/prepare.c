#include "storage/prepare.h"

#include "base/metrics.h"
#include "base/mutate.h"
#include "storage/catalog.h"
#include "storage/elect.h"
#include "storage/lease.h"
#include "storage/propose_int.h"
#include "storage/reach.h"
#include "storage/settle.h"
#include "storage/txns.h"

struct prepare {
	struct st_prop p;
	struct cl_propose as; /* the part as a proposal of this group */
	const struct cl_prepare *m;
	struct st_txn txn;
};

struct err *
st_part_check(struct arena *a, const struct cl_prepare *m)
{
	size_t bytes = 128;

	for (uint32_t i = 0; i < m->n_conds; i++)
		bytes += m->conds[i].key.len + 16;
	for (uint32_t i = 0; i < m->n_writes; i++)
		bytes += m->writes[i].key.len + m->writes[i].value.len + 16;
	return bytes <= ST_PART_MAX
		   ? NULL
		   : ERR(a, ERRCODE_PROGRAM_LIMIT_EXCEEDED,
			 "a transaction changes too much in one slot: %zu "
			 "bytes",
			 bytes);
}

/* Until an entry before is applied; false: the group was lost first. */
static bool
wait_applied(struct prepare *x, uint64_t index)
{
	struct st_group *g = x->p.group;

	while (st_group_leads(g, &x->p.ballot) && g->applied < index)
		if (cond_wait(&g->changed, x->p.deadline_us) != WAKE_EVENT)
			break;
	return g->applied >= index && st_group_leads(g, &x->p.ballot);
}

/* What the log says of it already: true, and it is answered. A resolved one is
 * over, whatever this copy of the message says. */
static bool
is_known(struct prepare *x)
{
	struct st_group *g = x->p.group;
	const struct st_tx *tx =
	    g->txns ? st_txns_find(g->txns, &x->txn) : NULL;
	const struct st_part *part;
	uint64_t index;

	if (!tx)
		return false;
	if (tx->resolved && !mutate("resolved_forgotten")) {
		st_prop_refuse(&x->p, CL_REFUSE_ANSWERED);
		return true;
	}
	part = st_txns_part(g->txns, &x->txn, x->m->part);
	if (!part)
		return false;
	index = part->e.index;
	if (wait_applied(x, index)) {
		x->p.out->outcome = CL_APPLIED;
		x->p.out->index = index;
	} else {
		x->p.out->outcome = CL_UNKNOWN;
	}
	return true;
}

static enum cl_refusal
late(enum cl_refusal why)
{
	return why == CL_REFUSE_DEADLINE && mutate("prepare_deadline_unchecked")
		   ? CL_REFUSE_NONE
		   : why;
}

static struct st_pending *
append(struct prepare *x, cl_stamp stamp)
{
	const struct cl_prepare *m = x->m;
	struct st_group *g = x->p.group;
	struct str *shared = NEW_N(x->p.arena, struct str, m->n_conds + 1);
	struct st_entry e = {.kind = ST_ENTRY_PREPARE,
	    .stamp = stamp,
	    .txn = x->txn,
	    .part = m->part,
	    .age = m->age,
	    .coordinator = {m->round, m->member, m->incarnation},
	    .decides = x->txn.gid,
	    .deadline = m->deadline,
	    .shared = shared,
	    .writes = m->writes,
	    .n_writes = m->n_writes};
	struct st_pending *pending;

	for (uint32_t i = 0; i < m->n_conds; i++)
		if (m->conds[i].kind != CL_COND_SCHEMA &&
		    !mutate("prepare_unconditioned"))
			shared[e.n_shared++] = m->conds[i].key;
	pending = st_group_append(g, &e);
	st_txns_hold(
	    st_txns_part(g->txns, &x->txn, m->part), &g->locks, &x->p.locks);
	if (mutate("txn_locks_at_apply"))
		st_locks_release(&g->locks, &x->p.locks);
	metric_inc(M_NODE_PREPARED);
	return pending;
}

static void
wait(struct prepare *x, struct st_pending *pending)
{
	struct st_group *g = x->p.group;
	struct st_part *part;

	x->p.out->stamp = pending->entry.stamp;
	x->p.out->index = pending->entry.index;
	x->p.out->outcome = CL_APPLIED;
	if (st_pending_wait(pending) != ST_APPLIED) {
		x->p.out->outcome = CL_UNKNOWN;
		return;
	}
	part = mutate("txn_locks_at_apply") && st_group_is_leader(g)
		   ? st_txns_part(g->txns, &x->txn, x->m->part)
		   : NULL;
	if (part && !part->locks.queued)
		(void)st_locks_acquire(&g->locks, &part->locks);
}

/* A false condition is said only by who leads. */
static void
answer_false(struct prepare *x)
{
	struct st_prop *p = &x->p;

	if (st_group_confirm(p->group, &p->ballot, p->deadline_us)) {
		p->out->outcome = CL_FALSE;
		return;
	}
	p->out->n_rows = 0;
	st_prop_refuse(p, CL_REFUSE_LEADER);
}

/* Its locks are held. Between the last look and the append nothing waits. */
static void
run_locked(struct prepare *x)
{
	struct st_prop *p = &x->p;
	cl_stamp stamp = 0;

	if (!st_prop_conditions(p)) {
		answer_false(x);
		return;
	}
	for (;;) {
		enum cl_refusal why = st_prop_now(p);

		if (!why && is_known(x))
			return;
		if (!why)
			why = late(st_prop_stamp(p, &stamp));
		if (why) {
			st_prop_refuse(p, why);
			return;
		}
		if (stamp && st_prop_schemas(p, &stamp) &&
		    (stamp <= x->m->deadline ||
			mutate("prepare_deadline_unchecked")))
			break;
	}
	wait(x, append(x, stamp));
}

static void
run(struct prepare *x)
{
	struct st_prop *p = &x->p;
	enum cl_refusal why = st_prop_now(p);

	if (!why)
		why = late(st_prop_deadline(p, st_now(p->node)));
	if (!why && p->group->n_proposals >= ST_PROPOSALS_MAX)
		why = CL_REFUSE_BUSY;
	if (why) {
		st_prop_refuse(p, why);
		return;
	}
	if (is_known(x))
		return;
	p->group->n_proposals++;
	switch (st_prop_lock(p)) {
	case ST_LOCKS_GRANTED:
		run_locked(x);
		break;
	case ST_LOCKS_WAITS:
		st_prop_refuse(p, CL_REFUSE_DEADLINE);
		break;
	case ST_LOCKS_BUSY:
		/* Who is in the way may have been forgotten by its own. */
		metric_inc(M_NODE_TXN_BUSY);
		st_settle_old(p->group);
		st_prop_refuse(p, CL_REFUSE_BUSY);
		break;
	}
	st_locks_release(&p->group->locks, &p->locks);
	p->group->n_proposals--;
}

static void
as_proposal(struct prepare *x)
{
	static const uint8_t none[16];
	const struct cl_prepare *m = x->m;

	x->as = (struct cl_propose){.placement = m->placement,
	    .slot = m->slot,
	    .epoch = m->epoch,
	    .session = str_of(none, sizeof none),
	    .send = 1,
	    .deadline = m->deadline,
	    .conds = m->conds,
	    .n_conds = m->n_conds,
	    .writes = m->writes,
	    .n_writes = m->n_writes};
	if (mutate("prepare_unconditioned"))
		x->as.n_conds = 0;
}

struct err *
st_prepare_serve(struct st_node *n, struct arena *a, const struct cl_prepare *m,
    uint64_t catalog, struct cl_proposed *out)
{
	struct prepare x = {.m = m, .txn = ST_MSG_TXN(m)};
	struct st_prop *p = &x.p;
	struct st_gid gid = {m->placement, m->slot, m->epoch};
	struct st_refusal why;

	memset(out, 0, sizeof *out);
	as_proposal(&x);
	*p = (struct st_prop){.node = n,
	    .arena = a,
	    .m = &x.as,
	    .out = out,
	    .deadline_us = st_mono_of(n, m->deadline),
	    .age = m->age};
	if (!m->age || m->placement == CL_PLACEMENT_CATALOG ||
	    st_gid_eq(gid, x.txn.gid))
		return ERR(a, ERRCODE_PROTOCOL_VIOLATION,
		    "malformed part of a transaction");
	TRY(st_prop_message(a, &x.as));
	TRY(st_part_check(a, m));
	cond_init(&p->granted, n->world);
	why.why = late(st_prop_deadline(p, st_now(n)));
	if (why.why) {
		st_prop_refuse(p, why.why);
		return NULL;
	}
	p->group = st_group_lead(n, gid, catalog, p->deadline_us, &why);
	if (!p->group) {
		out->leader = why.leader;
		st_prop_refuse(p, why.why);
		return NULL;
	}
	if (st_prop_tables(p) == CL_REFUSE_CATALOG)
		st_catalog_wait(n, catalog, p->deadline_us);
	p->ballot = p->group->ballot;
	run(&x);
	return NULL;
}
