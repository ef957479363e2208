#include <math.h>

#include "cluster/t/vec.h"
#include "cluster/token.h"

#define SLOTS       256
#define MEMBERS_MAX 32

struct owners {
	size_t n;
	uint32_t id[CL_COPIES_MAX];
};

static struct cl_ring_member members[MEMBERS_MAX];
/* Where slots are, and where they are after a change. */
static struct owners o[SLOTS], after[SLOTS];

/* Members 1..n; zones "a", "b", ... round robin when there are any. */
static struct cl_ring *
ring_of(size_t n, unsigned zones)
{
	static const char *const names[] = {"a", "b", "c", "d", "e"};

	for (uint32_t i = 0; i < n; i++)
		members[i] = (struct cl_ring_member){i + 1,
		    zones ? str_c(names[i % zones]) : STR_NONE, CL_VNODES};
	return cl_ring_new(vec_arena(), members, n);
}

static void
place(const struct cl_ring *r, size_t copies, struct owners *out)
{
	for (uint16_t s = 0; s < SLOTS; s++)
		out[s].n = cl_ring_slot(r, s, SLOTS, copies, out[s].id);
}

static bool
holds(const struct owners *of, uint32_t id)
{
	for (size_t i = 0; i < of->n; i++)
		if (of->id[i] == id)
			return true;
	return false;
}

static void
each_slot_has_distinct_members(void)
{

	for (size_t n = 1; n <= 7; n++) {
		for (size_t copies = 0; copies <= 5; copies++) {
			place(ring_of(n, 0), copies, o);
			for (int s = 0; s < SLOTS; s++) {
				CHECK(o[s].n == (copies < n ? copies : n));
				for (size_t i = 0; i < o[s].n; i++)
					for (size_t j = 0; j < i; j++)
						CHECK(o[s].id[i] != o[s].id[j]);
			}
		}
	}
}

static void
members_lead_and_hold_their_share(void)
{
	static const size_t sizes[] = {2, 3, 4, 5, 8, 16};

	for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
		size_t n = sizes[k], copies = n < 3 ? n : 3;
		unsigned leads[MEMBERS_MAX + 1] = {0};
		unsigned holding[MEMBERS_MAX + 1] = {0};
		double share = (double)SLOTS / (double)n;

		place(ring_of(n, 0), copies, o);
		for (int s = 0; s < SLOTS; s++) {
			leads[o[s].id[0]]++;
			for (size_t i = 0; i < copies; i++)
				holding[o[s].id[i]]++;
		}
		for (size_t m = 1; m <= n; m++) {
			/* As good as throwing dice: within three standard
			 * deviations. */
			CHECK(fabs(leads[m] - share) < 3 * sqrt(share));
			CHECK(fabs(holding[m] - share * (double)copies) <
			      3 * sqrt(share * (double)copies));
		}
	}
}

static void
a_joining_member_takes_only_its_share(void)
{
	for (size_t n = 1; n <= 12; n++) {
		unsigned changed = 0;

		place(ring_of(n, 0), 1, o);
		place(ring_of(n + 1, 0), 1, after);
		for (int s = 0; s < SLOTS; s++) {
			if (o[s].id[0] == after[s].id[0])
				continue;
			changed++;
			/* Nothing moves between the old members. */
			CHECK(after[s].id[0] == n + 1);
		}
		CHECK(changed * (n + 1) > SLOTS / 2);
		CHECK(changed * (n + 1) < SLOTS * 3 / 2);
	}
}

static void
a_joining_member_replaces_one_copy_at_most(void)
{
	for (size_t n = 3; n <= 9; n++) {

		place(ring_of(n, 0), 3, o);
		place(ring_of(n + 1, 0), 3, after);
		for (int s = 0; s < SLOTS; s++) {
			unsigned fresh = 0;

			for (int i = 0; i < 3; i++)
				fresh += !holds(&o[s], after[s].id[i]);
			CHECK(fresh == holds(&after[s], (uint32_t)n + 1));
		}
	}
}

static unsigned
zone_of(uint32_t id, unsigned zones)
{
	return (id - 1) % zones;
}

static void
copies_spread_over_zones_evenly(void)
{
	for (unsigned zones = 1; zones <= 4; zones++) {
		for (size_t copies = 1; copies <= 6; copies++) {

			place(ring_of(12, zones), copies, o);
			for (int s = 0; s < SLOTS; s++) {
				unsigned n[4] = {0};
				size_t most = (copies + zones - 1) / zones;

				for (size_t i = 0; i < o[s].n; i++)
					n[zone_of(o[s].id[i], zones)]++;
				for (unsigned z = 0; z < zones; z++)
					CHECK(n[z] <= most);
				CHECK(o[s].n == copies);
			}
		}
	}
}

static void
a_full_zone_does_not_stop_the_rest(void)
{

	/* One member in zone b, three in a: the fourth copy must be in a. */
	(void)ring_of(4, 0);
	for (int i = 0; i < 4; i++)
		members[i].zone = i ? STR("a") : STR("b");
	place(cl_ring_new(vec_arena(), members, 4), 4, o);
	for (int s = 0; s < SLOTS; s++) {
		CHECK(o[s].n == 4);
		CHECK(o[s].id[0] == 1 || o[s].id[1] == 1);
	}
}

static void
the_order_of_members_does_not_matter(void)
{
	struct cl_ring_member turned[9];

	place(ring_of(9, 3), 3, o);
	for (int i = 0; i < 9; i++)
		turned[i] = members[8 - i];
	place(cl_ring_new(vec_arena(), turned, 9), 3, after);
	for (int s = 0; s < SLOTS; s++)
		for (int i = 0; i < 3; i++)
			CHECK(o[s].id[i] == after[s].id[i]);
}

static void
members_without_vnodes_hold_nothing(void)
{

	(void)ring_of(3, 0);
	members[1].vnodes = 0;
	place(cl_ring_new(vec_arena(), members, 3), 3, o);
	for (int s = 0; s < SLOTS; s++)
		CHECK(o[s].n == 2 && !holds(&o[s], 2));
	place(cl_ring_new(vec_arena(), members, 0), 3, o);
	CHECK(o[0].n == 0);
}

/* Placement is what every node computes: it must never change by itself. */
static void
ring_has_its_vectors(void)
{
	static const uint32_t want[] = {2, 3, 5, 5, 2, 1, 1, 3, 2, 4, 1, 3};

	place(ring_of(5, 0), 3, o);
	for (size_t i = 0; i < sizeof want / sizeof *want; i++)
		CHECK(o[i / 3].id[i % 3] == want[i]);
}

CU_MAIN("ring",
    {"each_slot_has_distinct_members", each_slot_has_distinct_members},
    {"members_lead_and_hold_their_share", members_lead_and_hold_their_share},
    {"a_joining_member_takes_only_its_share",
	a_joining_member_takes_only_its_share},
    {"a_joining_member_replaces_one_copy_at_most",
	a_joining_member_replaces_one_copy_at_most},
    {"copies_spread_over_zones_evenly", copies_spread_over_zones_evenly},
    {"a_full_zone_does_not_stop_the_rest", a_full_zone_does_not_stop_the_rest},
    {"the_order_of_members_does_not_matter",
	the_order_of_members_does_not_matter},
    {"members_without_vnodes_hold_nothing",
	members_without_vnodes_hold_nothing},
    {"ring_has_its_vectors", ring_has_its_vectors})
