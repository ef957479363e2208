/* Virtual tables about the cluster: skaidb.groups. */
#ifndef GATEWAY_VIRTUAL_H
#define GATEWAY_VIRTUAL_H

#include "sql/virtual.h"

extern const struct sql_virtual *const gw_virtuals[];
extern const uint32_t gw_n_virtuals;

#endif
