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

/* One page. `resume` is empty for the first one. */
struct err *st_scan(struct st_node *n, struct arena *a, const struct cl_scan *m,
    struct str resume, uint64_t catalog, uint64_t deadline_us,
    struct cl_page *out);

/* COUNTS_GET: what the counters of this member say. */
struct err *st_counts(
    struct st_node *n, struct arena *a, uint32_t table, struct cl_counts *out);

#endif
