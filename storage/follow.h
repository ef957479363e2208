/* The follower's side of the log: entries of a leader are taken, checked
 * against this member's log, and acknowledged once they are on disk (Raft 5.3;
 * CONSENSUS 1). */
#ifndef STORAGE_FOLLOW_H
#define STORAGE_FOLLOW_H

#include "storage/group.h"

/* In a fiber. `catalog` is the version the sender has seen. */
struct err *st_append_serve(struct st_node *n, struct arena *a, uint32_t from,
    const struct cl_append *m, uint64_t catalog, struct cl_appended *out);

#endif
