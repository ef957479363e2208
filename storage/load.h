/* A group from disk. */
#ifndef STORAGE_LOAD_H
#define STORAGE_LOAD_H

#include "storage/group.h"

/* In a fiber: CLOSED -> LOADING -> FOLLOWING, or back to CLOSED when it is
 * damaged (which is logged). */
void st_group_load(struct st_group *g);

#endif
