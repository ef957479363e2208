/* The rows of a group: those of the tables with its placement, in its slot.
 * In the file of rows they lie between rows of other groups. */
#ifndef STORAGE_SLICE_H
#define STORAGE_SLICE_H

#include "base/engine.h"
#include "cluster/catalog.h"
#include "storage/ids.h"

enum st_owner {
	ST_OWNER_UNKNOWN, /* made after this catalog */
	ST_OWNER_GONE,    /* dropped: its rows are swept */
	ST_OWNER_KNOWN
};

/* Which placement's groups hold the rows under this table id? */
enum st_owner st_slice_owner(
    const struct cl_catalog *c, uint32_t table, uint32_t *placement);
/* Is it a table of that group? */
bool st_slice_has(
    const struct cl_catalog *c, struct st_gid gid, uint32_t table);

/* The tables of a group that the catalog has, one by one; *at from 0. */
bool st_slice_each(
    const struct cl_catalog *c, struct st_gid gid, size_t *at, uint32_t *table);

/* Inside a job: walks the rows of a group in the order of their keys. */
struct st_slice {
	struct kv_cur *cur;
	struct arena *arena;
	const struct cl_catalog *catalog;
	struct st_gid gid;
	uint32_t table; /* the last one found to be the group's */
	bool unknown;   /* ended at a table that the catalog does not know: what
			 * is there may be the group's or not */
};
void st_slice_open(struct st_slice *s, struct kv *kv, struct arena *a,
    const struct cl_catalog *c, struct st_gid gid);
/* The first row behind a key; empty: the very first. */
bool st_slice_seek(
    struct st_slice *s, struct str after, struct str *k, struct str *v);
bool st_slice_next(struct st_slice *s, struct str *k, struct str *v);
void st_slice_close(struct st_slice *s);

#endif
