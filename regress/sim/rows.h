/* Rows (k, v) of a table t, whose histories are checked key by key: what most
 * scenarios work on. */
#ifndef REGRESS_SIM_ROWS_H
#define REGRESS_SIM_ROWS_H

#include "regress/sim/drive.h"

void rows_make_table(struct client *c);
/* A key: they change with time, so that each has a history of few
 * operations. */
uint64_t rows_key(struct client *c, uint64_t period_us, uint64_t keys);
void rows_do(struct client *c, enum reg_kind kind, uint64_t key);
/* Reads all back, twice, and checks the history. */
void rows_check(struct client *c, uint64_t period_us, uint64_t keys);

#endif
