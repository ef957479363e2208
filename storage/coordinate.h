/* COMMIT at its coordinator: the leader of the group of the first part
 * (CONSENSUS 5). */
#ifndef STORAGE_COORDINATE_H
#define STORAGE_COORDINATE_H

#include "storage/group.h"

/* In a fiber. `catalog` is the version the sender has seen. As st_propose does:
 * an error means that the message itself is wrong. The message must stay until
 * the return. */
struct err *st_commit(struct st_node *n, struct arena *a,
    const struct cl_commit *m, uint64_t catalog, struct cl_proposed *out);

#endif
