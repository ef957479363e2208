/* A part of a transaction, from its message to its prepared entry (CONSENSUS
 * 5). */
#ifndef STORAGE_PREPARE_H
#define STORAGE_PREPARE_H

#include "storage/group.h"

/* A part's conditions and writes together: what is prepared is one record, and
 * fits one frame with others. */
#define ST_PART_MAX (CL_VALUE_MAX - (64u << 10))
struct err *st_part_check(struct arena *a, const struct cl_prepare *m);

/* In a fiber: `catalog` is the version the sender has seen. APPLIED says that
 * it is prepared. */
struct err *st_prepare_serve(struct st_node *n, struct arena *a,
    const struct cl_prepare *m, uint64_t catalog, struct cl_proposed *out);

#endif
