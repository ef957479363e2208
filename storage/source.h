/* Resync at the member that gives (CONSENSUS 6): all of a group that is not
 * rows, as of one index, and its rows in pages. */
#ifndef STORAGE_SOURCE_H
#define STORAGE_SOURCE_H

#include "storage/group.h"

/* In a fiber; only what a leader has applied is given. A refusal is in *out, an
 * error says that the message is wrong. */
struct err *st_source_serve(struct st_node *n, struct arena *a, uint32_t from,
    const struct cl_resync_get *m, uint64_t catalog,
    struct cl_resync_page *out);
/* Forgets states that nobody came back for. */
void st_source_sweep(struct st_node *n);

#endif
