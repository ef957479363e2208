#include "storage/lease.h"

#include "base/metrics.h"
#include "base/mutate.h"
#include "storage/record.h"
#include "storage/replicate.h"

/* ---- the granter ---- */

uint64_t
st_lease_given(struct st_node *n, const struct st_ballot *b)
{
	const struct st_link *l;

	if (!b->member || b->member == n->id.member ||
	    mutate("lease_any_owner"))
		return 0;
	l = st_link_get(n, b->member);
	if (l->given_incarnation != b->incarnation ||
	    l->given_until_us <= world_mono_us(n->world))
		return 0;
	return l->given_until_us;
}

void
st_lease_lost(struct st_group *g, const struct st_ballot *was,
    const struct st_ballot *now)
{
	struct st_link *l;
	struct st_lost *x = NULL;

	if (!was->member || was->member == g->node->id.member ||
	    was->member == now->member)
		return;
	l = st_link_get(g->node, was->member);
	for (uint32_t i = 0; i < l->n_lost && !x; i++)
		if (st_gid_eq(l->lost[i].gid, g->gid))
			x = &l->lost[i];
	if (!x) {
		if (l->n_lost == l->cap_lost) {
			uint32_t cap = l->cap_lost ? l->cap_lost * 2 : 8;

			l->lost = arena_grow(g->node->arena, l->lost,
			    l->cap_lost * sizeof *l->lost,
			    cap * sizeof *l->lost);
			l->cap_lost = cap;
		}
		x = &l->lost[l->n_lost++];
	}
	*x = (struct st_lost){g->gid, *now, ++l->lost_number};
}

void
st_lease_list_lost(struct st_link *l, struct arena *a, const struct cl_beat *m,
    struct cl_beaten *out)
{
	uint32_t left = 0;
	/* What it knows of an earlier process of this node says nothing of the
	 * losses of this one, which are numbered anew. */
	uint64_t seen =
	    m->lost_of == l->node->id.incarnation ? m->lost_seen : 0;

	for (uint32_t i = 0; i < l->n_lost; i++)
		if (l->lost[i].number > seen)
			l->lost[left++] = l->lost[i];
	l->n_lost = left;
	out->lost_number = l->lost_number;
	out->lost = NEW_N(a, struct cl_group_ballot, left + 1);
	for (uint32_t i = 0; i < left && i < CL_SLOTS_MAX; i++)
		out->lost[out->n_lost++] = (struct cl_group_ballot){
		    l->lost[i].gid.placement, l->lost[i].gid.slot,
		    l->lost[i].gid.epoch, l->lost[i].ballot.round,
		    l->lost[i].ballot.member, l->lost[i].ballot.incarnation};
	/* A list that does not fit grants nothing. */
	if (out->n_lost < left)
		out->granted = 0;
}

/* ---- the leader ---- */

bool
st_lease_ok(const struct st_group *g)
{
	struct st_grant grants[CL_COPIES_MAX];
	size_t n = 0;

	if (!st_group_is_leader(g))
		return false;
	for (uint32_t i = 0; i < g->n_peers; i++) {
		const struct st_progress *p = &g->peers[i];

		if (!p->learner)
			grants[n++] = (struct st_grant){p->link->grant_sent_us,
			    p->link->grant_until_us, p->acked_us};
	}
	return st_lease_holds(grants, n, world_mono_us(g->node->world));
}

bool
st_group_confirmed(const struct st_group *g, uint64_t round)
{
	uint32_t n = 1;

	for (uint32_t i = 0; i < g->n_peers; i++)
		n += !g->peers[i].learner && g->peers[i].confirm >= round;
	return n * 2 > g->n_members;
}

bool
st_groups_confirm(struct st_group *const *groups,
    const struct st_ballot *ballots, size_t count, uint64_t deadline_us)
{
	bool all = true;

	for (size_t i = 0; i < count; i++) {
		struct st_group *g = groups[i];

		if (!st_group_leads(g, &ballots[i]))
			return false;
		if (st_lease_ok(g) || g->n_members == 1)
			continue;
		all = false;
		g->confirm++;
		st_replicate_wake(g);
	}
	if (all)
		return true;
	metric_inc(M_NODE_CONFIRMS);
	for (size_t i = 0; i < count; i++) {
		struct st_group *g = groups[i];
		uint64_t round = g->confirm;

		while (!st_group_confirmed(g, round)) {
			if (!st_group_leads(g, &ballots[i]))
				return false;
			if (st_lease_ok(g))
				break;
			if (cond_wait(&g->changed, deadline_us) != WAKE_EVENT)
				return false;
		}
		if (!st_group_leads(g, &ballots[i]))
			return false;
	}
	return true;
}

bool
st_group_confirm(
    struct st_group *g, const struct st_ballot *b, uint64_t deadline_us)
{
	return st_groups_confirm(&g, b, 1, deadline_us);
}

/* ---- start ---- */

#define FULL_PAUSE_US 100000u

void
st_lease_open(struct st_node *n)
{
	struct arena *a = arena_new(n->arena, "lease");
	uint64_t longest = 0;
	struct str v;
	struct buf b;

	if (st_record_get(n, STR("L"), a, &v)) {
		struct cur c = cur_of(v);

		longest = cur_le64(&c);
	}
	n->vote_after_us = world_mono_us(n->world) + longest;
	if (mutate("vote_after_restart"))
		n->vote_after_us = 0;
	buf_init(&b, a);
	buf_le64(&b, n->conf.leader_lease_us);
	while (longest < n->conf.leader_lease_us &&
	       st_record_put(n, STR("L"), buf_view(&b)) == ENGINE_FULL)
		fiber_sleep(n->world, world_mono_us(n->world) + FULL_PAUSE_US);
	arena_free(a);
}
