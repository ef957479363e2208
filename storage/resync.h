/* Making this member's copy of a group equal to the group's again (CONSENSUS
 * 6). */
#ifndef STORAGE_RESYNC_H
#define STORAGE_RESYNC_H

#include "storage/group.h"

/* The leader no longer has the entries that this copy lacks: starts a resync in
 * the background, unless one is under way. */
void st_resync_want(struct st_group *g);

#endif
