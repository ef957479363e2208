#include "cluster/catalog.h"
#include "cluster/t/vec.h"

#define SLOTS 256

/* A cluster of members 1..n. */
static struct cl_catalog *
cluster_of(uint32_t n, uint32_t replication)
{
	struct cl_object o[33];
	const struct cl_object *v[33];
	struct cl_catalog *none = cl_catalog_new(), *c;

	ASSERT(n < 33);
	memset(o, 0, sizeof o);
	o[0].kind = CL_CLUSTER;
	o[0].u.cluster.slots = SLOTS;
	o[0].u.cluster.replication = replication;
	v[0] = &o[0];
	for (uint32_t i = 1; i <= n; i++) {
		o[i].kind = CL_MEMBER;
		o[i].id = i;
		v[i] = &o[i];
	}
	c = cl_catalog_apply(none, 1, v, n + 1);
	cl_catalog_unref(none);
	return c;
}

static const struct cl_placement by_cluster = {
    .id = 1, .kind = CL_PLACE_CLUSTER};

static struct cl_placement
by_number(uint32_t copies)
{
	return (struct cl_placement){
	    .id = 2, .kind = CL_PLACE_REPLICATION, .replication = copies};
}

/* Assigned in the arena of the running case. */
static struct cl_placement
assigned(struct cl_placement p, uint32_t members, uint32_t replication)
{
	struct cl_catalog *c = cluster_of(members, replication);

	cl_placement_assign(vec_arena(), c, &p);
	cl_catalog_unref(c);
	return p;
}

static void
slots_are_handed_out_in_the_placements_number_of_copies(void)
{
	struct cl_placement p = assigned(by_cluster, 5, 3);

	MUST(p.n_slots == SLOTS);
	for (uint32_t s = 0; s < SLOTS; s++)
		CHECK(p.slots[s].n == 3 && p.slots[s].epoch == 1);
	p = assigned(by_number(2), 5, 3);
	for (uint32_t s = 0; s < SLOTS; s++)
		CHECK(p.slots[s].n == 2);
	/* More copies than members: all of them. */
	p = assigned(by_number(9), 5, 3);
	for (uint32_t s = 0; s < SLOTS; s++)
		CHECK(p.slots[s].n == 5);
	p = assigned(by_cluster, 1, 3);
	for (uint32_t s = 0; s < SLOTS; s++)
		CHECK(p.slots[s].n == 1 && p.slots[s].members[0] == 1);
}

static void
leaders_are_as_many_as_fair(void)
{
	for (uint32_t n = 2; n <= 12; n++) {
		struct cl_placement p = assigned(by_cluster, n, 3);
		unsigned leads[33] = {0};

		for (uint32_t s = 0; s < SLOTS; s++)
			leads[p.slots[s].members[0]]++;
		for (uint32_t m = 1; m <= n; m++) {
			CHECK(leads[m] >= SLOTS / n - 1);
			CHECK(leads[m] <= SLOTS / n + 2);
		}
	}
}

static void
balancing_keeps_the_rings_copies_and_most_of_its_leaders(void)
{
	struct cl_ring_member m[5];
	struct cl_placement p = assigned(by_cluster, 5, 3);
	struct arena *a = arena_new(NULL, "ring");
	struct cl_ring *r;
	unsigned moved = 0;

	for (uint32_t i = 0; i < 5; i++)
		m[i] = (struct cl_ring_member){i + 1, STR_NONE, CL_VNODES};
	r = cl_ring_new(a, m, 5);
	for (uint16_t s = 0; s < SLOTS; s++) {
		uint32_t ring[CL_COPIES_MAX], sum = 0;

		MUST(cl_ring_slot(r, s, SLOTS, 3, ring) == 3);
		for (unsigned i = 0; i < 3; i++)
			sum += 1u << ring[i];
		for (unsigned i = 0; i < 3; i++)
			sum -= 1u << p.slots[s].members[i];
		CHECK(sum == 0);
		moved += ring[0] != p.slots[s].members[0];
	}
	CHECK(moved < SLOTS / 8);
	arena_free(a);
}

static void
pins_are_rotated_by_slot(void)
{
	static const uint32_t pins[] = {2, 5, 9};
	struct cl_placement p = assigned(
	    (struct cl_placement){
		.id = 3, .kind = CL_PLACE_PINS, .n_pins = 3, .pins = pins},
	    1, 1);

	MUST(p.n_slots == SLOTS);
	for (uint32_t s = 0; s < SLOTS; s++) {
		CHECK(p.slots[s].n == 3 && p.slots[s].epoch == 1);
		for (uint32_t i = 0; i < 3; i++)
			CHECK(p.slots[s].members[i] == pins[(s + i) % 3]);
	}
}

static void
the_catalogs_placement_has_one_slot(void)
{
	static const uint32_t pins[] = {4};
	struct cl_placement p =
	    assigned((struct cl_placement){.id = CL_PLACEMENT_CATALOG,
			 .kind = CL_PLACE_PINS,
			 .n_pins = 1,
			 .pins = pins},
		1, 1);

	CHECK(p.n_slots == 1 && p.slots[0].n == 1);
	CHECK(p.slots[0].members[0] == 4);
}

CU_MAIN("placement",
    {"slots_are_handed_out_in_the_placements_number_of_copies",
	slots_are_handed_out_in_the_placements_number_of_copies},
    {"leaders_are_as_many_as_fair", leaders_are_as_many_as_fair},
    {"balancing_keeps_the_rings_copies_and_most_of_its_leaders",
	balancing_keeps_the_rings_copies_and_most_of_its_leaders},
    {"pins_are_rotated_by_slot", pins_are_rotated_by_slot},
    {"the_catalogs_placement_has_one_slot",
	the_catalogs_placement_has_one_slot})
