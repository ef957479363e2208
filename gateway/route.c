#include "gateway/route.h"

#include "expr/table.h"

bool
gw_route_slot(const struct cl_catalog *c, uint32_t placement, uint16_t slot,
    struct gw_route *out)
{
	const struct cl_placement *p = cl_catalog_placement(c, placement);

	if (!p || slot >= p->n_slots || !p->slots[slot].n)
		return false;
	*out = (struct gw_route){.placement = placement,
	    .slot = slot,
	    .epoch = p->slots[slot].epoch,
	    .leader = p->slots[slot].members[0],
	    .members = p->slots[slot].members,
	    .n = p->slots[slot].n,
	    .n_slots = p->n_slots};
	return true;
}

bool
gw_route_row(const struct cl_catalog *c, const struct cl_table *t,
    struct str pk, struct gw_route *out)
{
	const struct cl_cluster *cluster = cl_catalog_cluster(c);

	return cluster && gw_route_slot(c, t->placement,
			      ex_table_slot(t, cluster->slots, pk), out);
}

uint32_t
gw_route_columns(const struct cl_table *t)
{
	const struct cl_column *first =
	    t->n_pkey ? cl_table_column_id(t, t->pkey[0]) : NULL;

	if (!first || first->flags & CL_COL_HIDDEN)
		return 0;
	return t->n_distribute ? t->n_distribute : t->n_pkey;
}
