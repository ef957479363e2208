/* The ring: each member has points from its id, a slot begins at its lowest
 * token, and its members are met by walking clockwise from there. */
#include <stdlib.h>
#include <xxhash.h>

#include "base/err.h"
#include "cluster/token.h"

struct ring_point {
	uint64_t token;
	uint32_t member; /* index into ids, zones */
};

struct cl_ring {
	size_t n; /* members */
	uint32_t *ids;
	uint32_t *zones; /* zone number; without a zone: a number of its own */
	size_t n_points;
	struct ring_point *points;
	/* Scratch of cl_ring_slot: members in clockwise order, and which of
	 * them were met or chosen. */
	uint32_t *order;
	uint8_t *met;
	uint32_t *zone_load;
};

static uint64_t
ring_token(uint32_t id, uint32_t vnode)
{
	uint8_t key[8];

	for (unsigned i = 0; i < 4; i++) {
		key[i] = (uint8_t)(id >> 8 * i);
		key[4 + i] = (uint8_t)(vnode >> 8 * i);
	}
	return XXH3_64bits(key, sizeof key);
}

static int
ring_member_cmp(const void *x, const void *y)
{
	const struct cl_ring_member *a = x, *b = y;

	return a->id < b->id ? -1 : a->id > b->id;
}

static int
ring_point_cmp(const void *x, const void *y)
{
	const struct ring_point *a = x, *b = y;

	if (a->token != b->token)
		return a->token < b->token ? -1 : 1;
	return a->member < b->member ? -1 : a->member > b->member;
}

static void
ring_add_zones(struct cl_ring *r, const struct cl_ring_member *m)
{
	for (uint32_t i = 0; i < r->n; i++) {
		r->zones[i] = i;
		for (uint32_t j = 0; j < i && m[i].zone.len; j++) {
			if (str_eq(m[i].zone, m[j].zone)) {
				r->zones[i] = j;
				break;
			}
		}
	}
}

static void
ring_add_points(struct cl_ring *r, const struct cl_ring_member *m)
{
	size_t k = 0;

	for (uint32_t i = 0; i < r->n; i++)
		for (uint32_t v = 0; v < m[i].vnodes; v++)
			r->points[k++] =
			    (struct ring_point){ring_token(m[i].id, v), i};
	if (k)
		qsort(r->points, k, sizeof *r->points, ring_point_cmp);
	r->n_points = k;
}

struct cl_ring *
cl_ring_new(struct arena *a, const struct cl_ring_member *members, size_t n)
{
	struct cl_ring *r = NEW(a, struct cl_ring);
	struct cl_ring_member *m = NEW_N(a, struct cl_ring_member, n ? n : 1);
	size_t points = 0;

	for (size_t i = 0; i < n; i++) {
		if (!members[i].vnodes)
			continue;
		m[r->n++] = members[i];
		points += members[i].vnodes;
	}
	if (r->n)
		qsort(m, r->n, sizeof *m, ring_member_cmp);
	r->ids = NEW_N(a, uint32_t, r->n + 1);
	r->zones = NEW_N(a, uint32_t, r->n + 1);
	r->order = NEW_N(a, uint32_t, r->n + 1);
	r->met = NEW_N(a, uint8_t, r->n + 1);
	r->zone_load = NEW_N(a, uint32_t, r->n + 1);
	r->points = NEW_N(a, struct ring_point, points + 1);
	for (size_t i = 0; i < r->n; i++) {
		ASSERT(!i || m[i].id != m[i - 1].id);
		r->ids[i] = m[i].id;
	}
	ring_add_zones(r, m);
	ring_add_points(r, m);
	return r;
}

/* The first point at or after the token; may be n_points, which wraps. */
static size_t
ring_search(const struct cl_ring *r, uint64_t token)
{
	size_t lo = 0, hi = r->n_points;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (r->points[mid].token < token)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Fills r->order with all members, each where it is first met. */
static void
ring_walk(const struct cl_ring *r, uint64_t token)
{
	size_t at = ring_search(r, token);
	size_t found = 0;

	memset(r->met, 0, r->n);
	for (size_t i = 0; i < r->n_points && found < r->n; i++) {
		uint32_t m = r->points[(at + i) % r->n_points].member;

		if (!r->met[m]) {
			r->met[m] = 1;
			r->order[found++] = m;
		}
	}
	ASSERT(found == r->n);
}

/* Rounds over the clockwise order: in round k only zones that hold fewer than k
 * copies take one, so copies spread over zones as evenly as they can (five over
 * three zones are 2, 2, 1: no zone holds a majority). */
size_t
cl_ring_slot(const struct cl_ring *r, uint16_t slot, uint32_t slots,
    size_t copies, uint32_t *out)
{
	size_t got = 0;

	ASSERT(slots && slots <= CL_SLOTS_MAX && !(slots & (slots - 1)));
	ASSERT(slot < slots && copies <= CL_COPIES_MAX);
	if (copies > r->n)
		copies = r->n;
	if (!copies)
		return 0;
	ring_walk(r, (UINT64_MAX / slots + 1) * slot);
	memset(r->met, 0, r->n);
	memset(r->zone_load, 0, r->n * sizeof *r->zone_load);
	for (uint32_t round = 1; got < copies; round++) {
		for (size_t i = 0; i < r->n && got < copies; i++) {
			uint32_t m = r->order[i];

			if (r->met[m] || r->zone_load[r->zones[m]] >= round)
				continue;
			r->met[m] = 1;
			r->zone_load[r->zones[m]]++;
			out[got++] = r->ids[m];
		}
	}
	return got;
}
