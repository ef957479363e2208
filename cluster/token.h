/* Tokens, slots, the ring (DESIGN 4).  Pure functions. */
#ifndef CLUSTER_TOKEN_H
#define CLUSTER_TOKEN_H

#include "base/arena.h"
#include "base/str.h"

#define CL_SLOTS_MAX 4096
#define CL_VNODES    256

/* XXH3 (seed 0) of the encoded placement key: the primary key columns or their
 * distribute_by prefix, without table id and slot. */
uint64_t cl_token(struct str placement_key);
/* Top bits; slots is a power of two up to CL_SLOTS_MAX. */
uint16_t cl_slot(uint64_t token, uint32_t slots);

struct cl_ring_member {
	uint32_t id;
	struct str zone; /* empty: none */
	uint32_t vnodes;
};

/* The members that should hold `slot`, in order of preference to lead: the
 * first `copies` distinct ones clockwise, distinct zones preferred. At most
 * CL_COPIES_MAX; n_out is min(copies, members). Order of `members` does not
 * matter. */
#define CL_COPIES_MAX 16
struct cl_ring;
struct cl_ring *cl_ring_new(
    struct arena *a, const struct cl_ring_member *members, size_t n);
size_t cl_ring_slot(const struct cl_ring *r, uint16_t slot, uint32_t slots,
    size_t copies, uint32_t *out);

#endif
