#include "storage/config.h"

#include "base/log.h"
#include "cluster/ddl.h"
#include "storage/catalog.h"
#include "storage/link.h"
#include "storage/propose.h"
#include "storage/replicate.h"

const struct st_gid st_catalog_gid = {CL_PLACEMENT_CATALOG, 0, 1};

static void
set_members(struct st_group *g, const struct cl_slot_map *m)
{
	g->n_members = m->n;
	for (uint32_t i = 0; i < m->n; i++)
		g->members[i] = m->members[i];
}

static void
members_of_snapshot(struct st_group *g)
{
	const struct st_node *n = g->node;
	const struct cl_placement *p =
	    cl_catalog_placement(n->catalog.snap, g->gid.placement);

	if (p && g->gid.slot < p->n_slots) {
		set_members(g, &p->slots[g->gid.slot]);
		return;
	}
	/* Before there is a catalog to say so, the founder holds it. */
	g->n_members = n->id.founder;
	g->members[0] = n->id.member;
}

/* The new voters, when the entry changes them. */
static bool
read_change(struct arena *a, const struct st_entry *e, struct cl_object *o)
{
	if (e->kind != ST_ENTRY_PROPOSAL || e->op.outcome != CL_APPLIED)
		return false;
	for (uint32_t i = 0; i < e->n_writes; i++) {
		const struct cl_write *w = &e->writes[i];
		enum cl_kind kind;
		uint32_t id;

		if (w->kind != CL_WRITE_PUT ||
		    !cl_object_key_read(w->key, &kind, &id) ||
		    kind != CL_PLACEMENT || id != CL_PLACEMENT_CATALOG)
			continue;
		/* What does not decode was refused before it was appended. */
		return cl_object_row_read(a, w->key, w->value, o) == NULL &&
		       o->u.placement.n_slots == 1;
	}
	return false;
}

void
st_config_appended(struct st_group *g, const struct st_entry *e)
{
	struct arena *a;
	struct cl_object o;

	if (g->gid.placement != CL_PLACEMENT_CATALOG)
		return;
	a = arena_new(g->node->arena, "config");
	if (read_change(a, e, &o)) {
		set_members(g, &o.u.placement.slots[0]);
		LOG(g->node->world, LOG_INFO, "catalog", "voters",
		    "n=%u newest=%u", g->n_members,
		    g->members[g->n_members - 1]);
		if (st_group_is_leader(g))
			st_replicate_members(g);
	}
	arena_free(a);
}

void
st_config_cut(struct st_group *g)
{
	if (g->gid.placement == CL_PLACEMENT_CATALOG)
		st_config_load(g);
}

void
st_config_load(struct st_group *g)
{
	members_of_snapshot(g);
	if (g->gid.placement != CL_PLACEMENT_CATALOG)
		return;
	for (uint64_t i = g->applied + 1; i <= g->last; i++)
		st_config_appended(g, &st_group_pending(g, i)->entry);
}

/* ---- growing ---- */

/* The lowest member that has no vote and is there. */
static uint32_t
next_voter(struct st_node *n, const struct st_group *g)
{
	const struct cl_object *o;
	size_t at = 0;

	while ((o = cl_each(n->catalog.snap, CL_MEMBER, &at)))
		if (st_group_rank(g, o->id) == g->n_members &&
		    st_link_alive(n, o->id))
			return o->id;
	return 0;
}

static void
propose_voter(struct st_node *n, struct arena *a, uint32_t member)
{
	struct cl_catalog *c = st_catalog_pin(n, a);
	const struct cl_object *now =
	    cl_find(c, CL_PLACEMENT, CL_PLACEMENT_CATALOG);
	struct cl_ddl *d = cl_ddl_new(a, c);
	struct cl_slot_map slot = now->u.placement.slots[0];
	uint32_t *pins = NEW_N(a, uint32_t, slot.n + 1u);
	struct cl_propose m = {.placement = CL_PLACEMENT_CATALOG, .epoch = 1};
	struct cl_proposed out;
	struct cl_object o = *now;
	struct err *e;
	uint32_t at;

	/* Pins are sorted, members in the order of their coming. */
	memcpy(pins, now->u.placement.pins, slot.n * sizeof *pins);
	for (at = slot.n; at > 0 && pins[at - 1] > member; at--)
		pins[at] = pins[at - 1];
	pins[at] = member;
	slot.members[slot.n++] = member;
	o.u.placement.n_pins = slot.n;
	o.u.placement.pins = pins;
	o.u.placement.slots = &slot;
	cl_ddl_replace(d, &o);
	e = cl_ddl_propose(d, &m);
	if (!e) {
		st_propose_own(n, a, &m);
		e = st_propose(n, a, &m, 0, &out);
	}
	if (e)
		LOG(n->world, LOG_WARN, "catalog", "voter_failed",
		    "member=%u why=\"%s\"", member, e->message);
}

void
st_config_grow(struct st_node *n)
{
	struct st_group *g = st_group_find(n, CL_PLACEMENT_CATALOG, 0);
	struct arena *a;
	uint32_t member;

	if (!g || g->state != ST_GROUP_LEADING ||
	    g->n_members >= ST_CATALOG_VOTERS_MAX ||
	    !cl_catalog_placement(n->catalog.snap, CL_PLACEMENT_CATALOG))
		return;
	/* One at a time: the change before must be applied. */
	if (g->applied < g->last)
		return;
	member = next_voter(n, g);
	if (!member || !st_replicate_learner(g, member))
		return;
	a = arena_new(n->arena, "voter");
	propose_voter(n, a, member);
	arena_free(a);
}
