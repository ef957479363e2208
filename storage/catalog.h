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

/* The catalog group was loaded: its rows become the snapshot, unless a newer
 * one is known. */
struct err *st_catalog_rebuild(
    struct st_node *n, struct arena *a, struct st_group *g);
/* Entries of the catalog group up to `upto` were applied, and are still
 * pending. */
void st_catalog_applied(struct st_node *n, struct st_group *g, uint64_t upto);
/* This node has a copy of the catalog group, or is about to get one. */
void st_catalog_learn(struct st_node *n);
/* In the start fiber: finds out whether it has one. */
void st_catalog_held(struct st_node *n);
/* Objects from a page of another node. */
struct err *st_catalog_adopt(struct st_node *n, struct arena *a,
    uint64_t version, bool full, const struct cl_object_change *objects,
    size_t n_objects);

/* CATALOG_GET: with a wait any node answers from its snapshot, and holds the
 * answer until there is news; without one the answer is exact: only the leader
 * gives it to a member, any node asks the leader for others. */
struct err *st_catalog_get(struct st_node *n, struct arena *a,
    const struct cl_catalog_get *m, bool member, struct cl_catalog_page *out);

/* Where the catalog's members are reached, by comma, in `a`: the leader first
 * if it is known; "" when none is known. */
struct str st_catalog_addrs(struct st_node *n, struct arena *a);

#endif
