#include "gateway/counts.h"

#include "regress/lib/cu.h"

static void
each_row_counts_once_however_many_copies_it_has(void)
{
	struct cl_slot_map slots[4] = {{.n = 3, .members = {1, 2, 3}},
	    {.n = 3, .members = {2, 3, 1}}, {.n = 3, .members = {3, 1, 2}},
	    {.n = 3, .members = {1, 3, 2}}};
	struct cl_placement p = {.n_slots = 4, .slots = slots};
	static const uint32_t all[] = {1, 2, 3}, two[] = {3, 1}, none[] = {9};

	CHECK(gw_counts_once(&p, all, 3, 300) == 100);
	CHECK(gw_counts_once(&p, two, 2, 200) == 100);
	CHECK(gw_counts_once(&p, two, 1, 100) == 100);
	CHECK(gw_counts_once(&p, none, 1, 0) == 0);
	for (int i = 0; i < 4; i++)
		slots[i].n = 1;
	CHECK(gw_counts_once(&p, all, 3, 100) == 100);
	/* One slot of four lost a member that is not heard of. */
	slots[0].n = slots[1].n = slots[2].n = 2;
	CHECK(gw_counts_once(&p, all, 3, 175) == 100);
}

CU_MAIN("counts", {"each_row_counts_once_however_many_copies_it_has",
		      each_row_counts_once_however_many_copies_it_has})
