/* Handing out the slots of a placement. */
#include "cluster/catalog.h"

/* All members of the cluster, on one ring. */
static struct cl_ring *
ring_of(struct arena *a, const struct cl_catalog *c)
{
	const struct cl_object *o;
	struct cl_ring_member *m = NULL;
	size_t n = 0, at = 0;

	while (cl_each(c, CL_MEMBER, &at))
		n++;
	m = NEW_N(a, struct cl_ring_member, n + 1);
	n = at = 0;
	while ((o = cl_each(c, CL_MEMBER, &at)))
		m[n++] =
		    (struct cl_ring_member){o->id, o->u.member.zone, CL_VNODES};
	return cl_ring_new(a, m, n);
}

static void
assign_pins(const struct cl_placement *p, struct cl_slot_map *slots)
{
	ASSERT(p->n_pins && p->n_pins <= CL_COPIES_MAX);
	for (uint32_t s = 0; s < p->n_slots; s++) {
		slots[s].epoch = 1;
		slots[s].n = (uint8_t)p->n_pins;
		for (uint32_t i = 0; i < p->n_pins; i++)
			slots[s].members[i] = p->pins[(s + i) % p->n_pins];
	}
}

struct lead {
	uint32_t member;
	uint32_t n; /* slots it leads */
};

static struct lead *
lead_of(struct lead *leads, size_t *n, uint32_t member)
{
	for (size_t i = 0; i < *n; i++)
		if (leads[i].member == member)
			return &leads[i];
	leads[*n] = (struct lead){member, 0};
	return &leads[(*n)++];
}

/* Lets the first of a slot's other members that leads at least two fewer lead
 * it instead; false when there is none. */
static bool
hand_over(struct cl_slot_map *s, struct lead *leads, size_t *n_leads)
{
	struct lead *now = lead_of(leads, n_leads, s->members[0]);

	for (unsigned i = 1; i < s->n; i++) {
		struct lead *l = lead_of(leads, n_leads, s->members[i]);

		if (l->n + 2 > now->n)
			continue;
		now->n--;
		l->n++;
		s->members[i] = s->members[0];
		s->members[0] = l->member;
		return true;
	}
	return false;
}

/* The ring's order makes leaders that differ by a tenth or so.  Handing over
 * only what is too much keeps most slots as the ring has them, so that a later
 * assignment after a join differs little. */
static void
balance_leaders(
    struct arena *a, struct cl_slot_map *slots, uint32_t n, size_t members)
{
	struct lead *leads = NEW_N(a, struct lead, members + 1);
	size_t n_leads = 0;
	bool moved = true;

	for (uint32_t s = 0; s < n; s++)
		for (unsigned i = 0; i < slots[s].n; i++)
			lead_of(leads, &n_leads, slots[s].members[i])->n += !i;
	/* Each hand-over lowers the sum of squares: this ends. */
	while (moved) {
		moved = false;
		for (uint32_t s = 0; s < n; s++)
			moved |= hand_over(&slots[s], leads, &n_leads);
	}
}

static void
assign_ring(struct arena *a, const struct cl_catalog *c,
    const struct cl_placement *p, struct cl_slot_map *slots)
{
	const struct cl_cluster *cluster = cl_catalog_cluster(c);
	struct cl_ring *ring = ring_of(a, c);
	size_t copies =
	    p->kind == CL_PLACE_CLUSTER ? cluster->replication : p->replication;
	size_t members = 0, at = 0;

	ASSERT(copies && copies <= CL_COPIES_MAX);
	while (cl_each(c, CL_MEMBER, &at))
		members++;
	for (uint32_t s = 0; s < p->n_slots; s++) {
		slots[s].epoch = 1;
		slots[s].n = (uint8_t)cl_ring_slot(
		    ring, (uint16_t)s, p->n_slots, copies, slots[s].members);
		ASSERT(slots[s].n);
	}
	balance_leaders(a, slots, p->n_slots, members);
}

void
cl_placement_assign(
    struct arena *a, const struct cl_catalog *c, struct cl_placement *p)
{
	const struct cl_cluster *cluster = cl_catalog_cluster(c);
	struct cl_slot_map *slots;

	ASSERT(cluster);
	p->n_slots = p->id == CL_PLACEMENT_CATALOG ? 1 : cluster->slots;
	slots = NEW_N(a, struct cl_slot_map, p->n_slots);
	if (p->kind == CL_PLACE_PINS)
		assign_pins(p, slots);
	else
		assign_ring(a, c, p, slots);
	p->slots = slots;
}
