/* Where a row lives, by the catalog's slot map.  Pure functions. */
#ifndef GATEWAY_ROUTE_H
#define GATEWAY_ROUTE_H

#include "cluster/catalog.h"

/* One group, and the member that should lead it. */
struct gw_route {
	uint32_t placement;
	uint16_t slot;
	uint32_t epoch;
	uint32_t leader;
};

/* False: the catalog knows no such group. */
bool gw_route_slot(const struct cl_catalog *c, uint32_t placement,
    uint16_t slot, struct gw_route *out);
/* The group of a row by its primary-key bytes. */
bool gw_route_row(const struct cl_catalog *c, const struct cl_table *t,
    struct str pk, struct gw_route *out);

#endif
