/* Reads by key and scans: applied rows of groups that this node leads, checked
 * again after the read (CONSENSUS 4). */
#ifndef STORAGE_READ_H
#define STORAGE_READ_H

#include "storage/elect.h"
#include "storage/group.h"

/* In a fiber. Rows come in the order of the points; when they would not fit one
 * frame only the first ones come, and the sender asks for the rest. */
struct err *st_read(struct st_node *n, struct arena *a, const struct cl_read *m,
    uint64_t catalog, uint64_t deadline_us, struct cl_rows *out);

/* A page is asked for. `resume` is empty for the first one. */
struct st_scan_ask {
	struct st_node *node;
	struct arena *arena; /* of the request: the page's, too */
	const struct cl_scan *m;
	struct str resume;
	uint64_t catalog;
	uint64_t deadline_us;
};
struct err *st_scan(const struct st_scan_ask *ask, struct cl_page *out);
/* The same by an index: bounds, order and resume key are of its keys. */
struct err *st_scan_index(
    const struct st_scan_ask *ask, uint32_t index, struct cl_page *out);

/* COUNTS_GET: what the counters of this member say. */
struct err *st_counts(
    struct st_node *n, struct arena *a, uint32_t table, struct cl_counts *out);

#endif
