/* Becoming and staying a member: forming a cluster, joining one, following its
 * catalog, keeping the own entry in it up to date. */
#ifndef STORAGE_JOIN_H
#define STORAGE_JOIN_H

#include "storage/node_int.h"

/* In the start fiber, for a directory without identity. */
struct err *st_form(struct st_node *n, struct arena *a);
struct err *st_join(struct st_node *n, struct arena *a);

/* The founder: opens the catalog group, and writes the first catalog if that
 * was not done yet. */
struct err *st_catalog_found(struct st_node *n, struct arena *a);
/* In a fiber: on success the snapshot has all that was decided before the call;
 * otherwise 57P03, with the address of the catalog's leader as DETAIL if it is
 * known. may_ask: other nodes are asked if this one does not lead it. */
struct err *st_catalog_fresh(struct st_node *n, struct arena *a, bool may_ask);
/* A background fiber that keeps the snapshot new. */
void st_follow_start(struct st_node *n);
/* In a fiber: changes this member's object if address, zone, alias or level are
 * no longer what it says. */
struct err *st_member_refresh(struct st_node *n, struct arena *a);

/* JOIN at the catalog's leader; others answer an error whose DETAIL is the
 * leader's address. */
struct err *st_join_serve(struct st_node *n, struct arena *a,
    const struct cl_join *m, struct cl_joined *out);

/* What others connect to. */
struct str st_own_addr(const struct st_node *n);

#endif
