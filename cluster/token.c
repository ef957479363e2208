#include "cluster/token.h"

#include <xxhash.h>

#include "base/err.h"

uint64_t
cl_token(struct str placement_key)
{
	return XXH3_64bits(placement_key.p, placement_key.len);
}

uint16_t
cl_slot(uint64_t token, uint32_t slots)
{
	ASSERT(slots && slots <= CL_SLOTS_MAX && !(slots & (slots - 1)));
	/* Multiplying takes the top bits, also the none of one slot. */
	return (uint16_t)(((token >> 32) * slots) >> 32);
}
