/* Rows and bytes of tables, as the nodes count them. */
#ifndef GATEWAY_COUNTS_H
#define GATEWAY_COUNTS_H

#include "gateway/stmt.h"

struct gw_table_count {
	uint32_t table;
	uint64_t rows;
	uint64_t bytes;
};

/* Of every table, summed over the members that answer in time; *missing is how
 * many do not. In `a`. */
struct err *gw_counts(struct gw_stmt *s, struct arena *a,
    struct gw_table_count **counts, uint32_t *n, uint32_t *missing);

#endif
