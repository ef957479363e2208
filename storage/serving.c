#include "storage/serving.h"

#include "base/metrics.h"
#include "base/mutate.h"
#include "storage/lease.h"
#include "storage/link.h"
#include "storage/replicate.h"

static void
name_leader(struct st_serving *s, struct st_gid gid, uint32_t leader)
{
	if (s->n_elsewhere == CL_SLOTS_MAX)
		return;
	s->elsewhere[s->n_elsewhere++] =
	    (struct cl_group_at){gid.placement, gid.slot, gid.epoch, leader};
}

static bool
begin_any(struct st_serving *s, uint64_t catalog)
{
	for (size_t i = 0; i < s->n; i++) {
		struct st_group *g = st_group_open(
		    s->node, s->gids[i], catalog, s->deadline_us, &s->why);

		if (g && !st_group_complete(g)) {
			s->why = CL_REFUSE_LEADER;
			g = NULL;
		}
		if (!g)
			return false;
		s->groups[i] = g;
	}
	s->why = CL_REFUSE_NONE;
	return true;
}

static bool
begin_led(struct st_serving *s, uint64_t catalog)
{
	struct st_refusal *who = NEW_N(s->arena, struct st_refusal, s->n + 1);

	if (!st_groups_lead(
		s->node, s->gids, s->n, catalog, s->deadline_us, who)) {
		s->elsewhere =
		    NEW_N(s->arena, struct cl_group_at, CL_SLOTS_MAX);
		for (size_t i = 0; i < s->n; i++) {
			if (!who[i].why)
				continue;
			if (!s->why)
				s->why = who[i].why;
			if (who[i].leader)
				name_leader(s, s->gids[i], who[i].leader);
		}
		return false;
	}
	for (size_t i = 0; i < s->n; i++) {
		s->groups[i] = st_group_find(
		    s->node, s->gids[i].placement, s->gids[i].slot);
		s->ballots[i] = s->groups[i]->ballot;
	}
	return true;
}

bool
st_serving_begin(struct st_serving *s, uint64_t catalog)
{
	bool ok;

	s->groups = NEW_N(s->arena, struct st_group *, s->n + 1);
	s->ballots = NEW_N(s->arena, struct st_ballot, s->n + 1);
	s->why = CL_REFUSE_NONE;
	s->n_elsewhere = 0;
	ok = s->consistency == CL_ONE ? begin_any(s, catalog)
				      : begin_led(s, catalog);
	if (ok && mutate("lease_unchecked_after") && s->consistency != CL_ONE)
		ok = st_groups_confirm(
		    s->groups, s->ballots, s->n, s->deadline_us);
	if (!ok && !s->why)
		s->why = CL_REFUSE_LEADER;
	if (!ok)
		metric_inc(M_NODE_REFUSED);
	return ok;
}

static bool
end_all(struct st_serving *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (!st_replicate_all(
			s->groups[i], s->groups[i]->applied, s->deadline_us))
			return false;
	return true;
}

static bool
end_any(const struct st_serving *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (!st_group_loaded(s->groups[i]) ||
		    !st_group_complete(s->groups[i]))
			return false;
	return true;
}

bool
st_serving_end(struct st_serving *s)
{
	bool ok;

	if (s->consistency == CL_ONE)
		ok = end_any(s);
	else if (mutate("lease_unchecked_after"))
		ok = true;
	else
		ok = st_groups_confirm(
		    s->groups, s->ballots, s->n, s->deadline_us);
	if (ok && s->consistency == CL_ALL)
		ok = end_all(s);
	if (!ok) {
		s->why = CL_REFUSE_LEADER;
		metric_inc(M_NODE_REFUSED);
	}
	return ok;
}
