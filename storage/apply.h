/* Applying entries: the one engine transaction that changes rows, counters,
 * results, and the applied index together. */
#ifndef STORAGE_APPLY_H
#define STORAGE_APPLY_H

#include "storage/group.h"

/* The persisted state of a group ('G'). Format 2. */
struct st_group_record {
	struct st_ballot ballot; /* of the applied entry */
	uint64_t applied;
	cl_stamp stamp; /* of the applied entry */
	cl_stamp floor;
	uint64_t catalog_version;
};
void st_group_record_put(struct buf *b, const struct st_group_record *r);
bool st_group_record_get(struct str bytes, struct st_group_record *r);

/* In the group's apply fiber: applies entries up to `upto` (or a part of them)
 * and returns the new applied index. Nothing of it happens when
 * the disk is full: then it returns the old one. */
uint64_t st_apply(struct st_group *g, uint64_t upto);

#endif
