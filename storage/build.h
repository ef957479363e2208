/* Building indexes: the leader of the catalog's group asks the leaders of all
 * slots of a table until each has filled in its copy, and makes the index
 * public, or failed.  It keeps nothing that another could not find out: who
 * leads the catalog next goes on.
 *
 * Leaders, not majorities: a copy that is not filled in answers no scan by the
 * index, so who becomes leader before it is costs its readers a pause and never
 * rows; while waiting for more copies would let a member that is away, or slow,
 * hold up a build.  Followers fill in at the same time, by themselves. */
#ifndef STORAGE_BUILD_H
#define STORAGE_BUILD_H

#include "storage/group.h"

void st_build_start(struct st_node *n);

/* INDEX_BUILD: lets the groups led here know of the index, and waits a little
 * until it is filled in. */
void st_build_serve(struct st_node *n, struct arena *a,
    const struct cl_index_build *m, uint64_t catalog, uint64_t deadline_us,
    struct cl_index_built *out);

#endif
