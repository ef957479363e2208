/* Who this node is: written once when it forms or joins a cluster, with an
 * incarnation that rises at every start. */
#ifndef STORAGE_IDENTITY_H
#define STORAGE_IDENTITY_H

#include "storage/node_int.h"

/* In a fiber. Leaves n->id.known false for a new directory. XX001 when it is
 * malformed, 0A000 when it is of a later format. */
struct err *st_identity_load(struct st_node *n, struct arena *a);
/* n->id, durable on return. 53100 when the disk is full. */
struct err *st_identity_save(struct st_node *n, struct arena *a);

/* The addresses of the catalog's members, kept for the next start. */
struct str st_addrs_load(struct st_node *n);
void st_addrs_save(struct st_node *n, struct str addrs);

/* Format 1, golden vector in t/identity_test.c. */
void st_identity_put(struct buf *b, const struct st_identity *id);
bool st_identity_get(struct str bytes, struct st_identity *id);

#endif
