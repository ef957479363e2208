#include "storage/facts.h"

#include "base/metrics.h"
#include "storage/group.h"
#include "storage/link.h"
#include "storage/read.h"

#define PAGE_GROUPS 1024u

/* Entries that are committed and, as far as heard, not applied there. Of one
 * that was not heard of since this member leads, no more is known than what
 * every member has. */
static uint64_t
lag_of(const struct st_progress *p)
{
	const struct st_group *g = p->group;
	uint64_t has = p->applied ? p->applied : g->keep;

	return has < g->committed ? g->committed - has : 0;
}

static uint64_t
lag_us_of(const struct st_progress *p)
{
	uint64_t now = world_mono_us(p->group->node->world);

	return p->behind_us && lag_of(p) ? now - p->behind_us : 0;
}

static void
raise_to(uint64_t *v, uint64_t to)
{
	if (to > *v)
		*v = to;
}

static const struct st_group *
next_group(const struct st_node *n, size_t *at)
{
	void *v;

	if (!map_next(n->groups, at, NULL, &v))
		return NULL;
	return TAKE(struct st_group, v, ST_GROUP_MAGIC);
}

/* ---- members ---- */

static uint64_t
heard_us(const struct st_node *n, uint32_t member)
{
	LIST_FOREACH(at, &n->links)
	{
		const struct st_link *l = LIST_ENTRY(at, struct st_link, link);

		if (l->member == member && l->heard_us)
			return world_mono_us(n->world) - l->heard_us;
	}
	return UINT64_MAX;
}

static void
add_follower(
    struct cl_member_seen *list, uint32_t count, const struct st_progress *p)
{
	for (uint32_t i = 0; i < count; i++) {
		struct cl_member_seen *m = &list[i];

		if (m->member != p->member)
			continue;
		m->follows++;
		m->incomplete += p->resyncing;
		raise_to(&m->lag, lag_of(p));
		raise_to(&m->lag_us, lag_us_of(p));
	}
}

void
st_facts_others(const struct st_node *n, struct arena *a,
    struct cl_member_seen **out, uint32_t *count)
{
	const struct cl_object *o;
	const struct st_group *g;
	size_t at = 0;

	*count = 0;
	while (cl_each(n->catalog.snap, CL_MEMBER, &at))
		++*count;
	*out = NEW_N(a, struct cl_member_seen, *count + 1);
	at = *count = 0;
	while (*count < CL_OBJECTS_MAX &&
	       (o = cl_each(n->catalog.snap, CL_MEMBER, &at)))
		if (o->id != n->id.member)
			(*out)[(*count)++] = (struct cl_member_seen){
			    .member = o->id, .heard_us = heard_us(n, o->id)};
	at = 0;
	while ((g = next_group(n, &at)))
		for (uint32_t i = 0; i < g->n_peers; i++)
			add_follower(*out, *count, &g->peers[i]);
}

static bool
has_copy(const struct cl_slot_map *s, uint32_t member)
{
	for (unsigned i = 0; i < s->n; i++) {
		if (s->members[i] == member)
			return true;
	}
	return false;
}

uint32_t
st_facts_held(const struct st_node *n)
{
	const struct cl_object *o;
	uint32_t held = 0;
	size_t at = 0;

	while ((o = cl_each(n->catalog.snap, CL_PLACEMENT, &at)))
		for (uint32_t i = 0; i < o->u.placement.n_slots; i++)
			held +=
			    has_copy(&o->u.placement.slots[i], n->id.member);
	return held;
}

struct err *
st_facts_member(struct st_node *n, struct arena *a, struct cl_member_info *out)
{
	const struct cl_cluster *c;
	struct cl_counts counts = {.n_tables = 0};

	*out = (struct cl_member_info){.serving = 0};
	TRY(st_counts(n, a, 0, &counts));
	for (uint32_t i = 0; i < counts.n_tables; i++) {
		out->rows += counts.tables[i].rows;
		out->bytes += counts.tables[i].bytes;
	}
	c = cl_catalog_cluster(n->catalog.snap);
	out->serving = n->state == ST_NODE_SERVING;
	out->level = c ? c->level : 0;
	out->held = st_facts_held(n);
	out->leading = n->n_leading;
	out->incomplete = n->n_incomplete;
	st_facts_others(n, a, &out->others, &out->n_others);
	return NULL;
}

/* ---- groups ---- */

static struct cl_group_info
info_of(const struct st_group *g)
{
	struct cl_group_info i = {.placement = g->gid.placement,
	    .slot = g->gid.slot,
	    .epoch = g->gid.epoch,
	    .round = g->ballot.round,
	    .last = g->last,
	    .commit = g->committed,
	    .applied = g->applied,
	    .least = g->committed};

	for (uint32_t k = 0; k < g->n_peers; k++) {
		const struct st_progress *p = &g->peers[k];

		i.incomplete += p->resyncing;
		if (g->committed - lag_of(p) < i.least)
			i.least = g->committed - lag_of(p);
		raise_to(&i.lag_us, lag_us_of(p));
	}
	return i;
}

void
st_facts_groups(struct st_node *n, struct arena *a,
    const struct cl_groups_get *from, struct cl_groups *out)
{
	const struct cl_object *o;
	size_t at = 0;

	*out = (struct cl_groups){
	    .groups = NEW_N(a, struct cl_group_info, PAGE_GROUPS)};
	while ((o = cl_each(n->catalog.snap, CL_PLACEMENT, &at))) {
		uint32_t slot = o->id == from->placement ? from->slot : 0;

		for (;
		     o->id >= from->placement && slot < o->u.placement.n_slots;
		     slot++) {
			const struct st_group *g =
			    st_group_find(n, o->id, (uint16_t)slot);

			if (!g || !st_group_is_leader(g))
				continue;
			if (out->n_groups == PAGE_GROUPS) {
				out->more = 1;
				out->next_placement = o->id;
				out->next_slot = (uint16_t)slot;
				return;
			}
			out->groups[out->n_groups++] = info_of(g);
		}
	}
}

/* ---- metrics ---- */

void
st_facts_measure(struct st_node *n)
{
	struct arena *a = arena_new(n->arena, "measure");
	struct cl_member_seen *others;
	uint32_t count, alive = 1;
	uint64_t age_us = 0;

	st_facts_others(n, a, &others, &count);
	for (uint32_t i = 0; i < count; i++) {
		const struct cl_member_seen *m = &others[i];

		alive += st_link_alive(n, m->member);
		raise_to(&age_us, m->lag_us);
		metric_set_member(M_NODE_LAG, m->member, (int64_t)m->lag);
		metric_set_member(
		    M_NODE_LAG_TIME, m->member, (int64_t)(m->lag_us / 1000));
	}
	metric_set(M_NODE_MEMBERS_ALIVE, alive);
	metric_set(M_NODE_GROUP_AGE, (int64_t)(age_us / 1000));
	metric_set(M_NODE_GROUPS_HELD, st_facts_held(n));
	arena_free(a);
}
