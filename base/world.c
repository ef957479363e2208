#include "base/world.h"

uint64_t
world_random_u64(struct world *w)
{
	uint64_t v;

	world_random(w, &v, sizeof v);
	return v;
}

uint64_t
world_random_below(struct world *w, uint64_t below)
{
	uint64_t skip, v;

	ASSERT(below > 0);
	/* The first 2^64 mod below values would make the small ones likelier.
	 */
	skip = (0 - below) % below;
	do
		v = world_random_u64(w);
	while (v < skip);
	return v % below;
}
