/* What a node knows of itself, of the members that follow it and of the groups
 * that it leads: for SHOW CLUSTER, skaidb.groups, the status page, metrics. */
#ifndef STORAGE_FACTS_H
#define STORAGE_FACTS_H

#include "cluster/msg.h"
#include "storage/node_int.h"

/* The other members, by id, as this one sees them. */
void st_facts_others(const struct st_node *n, struct arena *a,
    struct cl_member_seen **out, uint32_t *count);
/* Groups of which this member has a copy, by the catalog. */
uint32_t st_facts_held(const struct st_node *n);

struct err *st_facts_member(
    struct st_node *n, struct arena *a, struct cl_member_info *out);
/* A page. */
void st_facts_groups(struct st_node *n, struct arena *a,
    const struct cl_groups_get *from, struct cl_groups *out);

/* Sets the gauges. */
void st_facts_measure(struct st_node *n);

#endif
