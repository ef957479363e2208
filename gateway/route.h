/* Where a row lives, by the catalog's slot map.  Pure functions. */
#ifndef GATEWAY_ROUTE_H
#define GATEWAY_ROUTE_H

#include "cluster/catalog.h"

/* One group: its members, and the one that leads as long as nothing else was
 * heard (leaders.h). */
struct gw_route {
	uint32_t placement;
	uint16_t slot;
	uint32_t epoch;
	uint32_t leader;         /* members[0] */
	const uint32_t *members; /* of the catalog's snapshot: good until the
				  * next wait */
	uint32_t n;
	uint32_t n_slots; /* of the placement */
};

/* False: the catalog knows no such group. */
bool gw_route_slot(const struct cl_catalog *c, uint32_t placement,
    uint16_t slot, struct gw_route *out);
/* The group of a row by its primary-key bytes. */
bool gw_route_row(const struct cl_catalog *c, const struct cl_table *t,
    struct str pk, struct gw_route *out);

/* How many leading key columns decide where a row lies; 0: none that a user
 * knows, it has a hidden key. */
uint32_t gw_route_columns(const struct cl_table *t);

#endif
