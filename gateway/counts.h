/* Rows and bytes of tables, as the nodes count them. */
#ifndef GATEWAY_COUNTS_H
#define GATEWAY_COUNTS_H

#include "gateway/stmt.h"

struct gw_table_count {
	uint32_t table;
	uint64_t rows;
	uint64_t bytes;
};

/* Of every table, each row once, from the members that answer in time; *missing
 * is how many do not. In `a`. */
struct err *gw_counts(struct gw_stmt *s, struct arena *a,
    struct gw_table_count **counts, uint32_t *n, uint32_t *missing);

/* What one copy has when the copies that these members hold of the placement
 * have `sum` together: exact where all copies are equal and all were heard. */
uint64_t gw_counts_once(const struct cl_placement *p, const uint32_t *heard,
    uint32_t n_heard, uint64_t sum);

#endif
