/* The catalog at a node: a snapshot, rebuilt from applied rows by the leader of
 * the catalog group, followed by everybody else.
 *
 * Snapshots are immutable; code that keeps something of one over a wait pins
 * it. */
#ifndef STORAGE_CATALOG_H
#define STORAGE_CATALOG_H

#include "storage/group.h"

void st_catalog_init(struct st_node *n);

/* The present snapshot, kept alive until `a` is freed. */
struct cl_catalog *st_catalog_pin(struct st_node *n, struct arena *a);
/* Is this node a member of that group, by what it knows? */
bool st_catalog_is_member(const struct st_node *n, struct st_gid gid);
/* In a fiber: until the version is at least `version`; false at the deadline,
 * or when the node stops. */
bool st_catalog_wait(struct st_node *n, uint64_t version, uint64_t deadline_us);

/* The catalog group opened: its rows become the snapshot. In its fiber. */
bool st_catalog_rebuild(struct st_node *n, struct st_group *g);
/* Entries of the catalog group were applied and are still in its pipeline. */
void st_catalog_applied(struct st_node *n, struct st_group *g);
/* Objects from a page of another node. */
struct err *st_catalog_adopt(struct st_node *n, struct arena *a,
    uint64_t version, bool full, const struct cl_object_change *objects,
    size_t n_objects);

/* CATALOG_GET: any member answers from its snapshot. Holds the answer until
 * there is news, if asked to. */
struct err *st_catalog_get(struct st_node *n, struct arena *a,
    const struct cl_catalog_get *m, struct cl_catalog_page *out);

/* Where the catalog's first member is reached: "" when not known. */
struct str st_catalog_leader_addr(const struct st_node *n);

#endif
