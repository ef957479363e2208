/* Housekeeping: one fiber that, every sweep_interval, drops old tombstones,
 * lets idle groups forget results, removes rows of dropped tables, and trims
 * logs.  Whatever members must agree on goes through an entry. */
#ifndef STORAGE_SWEEP_H
#define STORAGE_SWEEP_H

#include "storage/node_int.h"

void st_sweep_start(struct st_node *n);
/* One round, in a fiber. */
void st_sweep(struct st_node *n);

#endif
