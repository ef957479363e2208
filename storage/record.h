/* Small records of a node's own, one per key of KV_META (ids.h lists them):
 * identity, addresses, the longest lease, processes that were met. */
#ifndef STORAGE_RECORD_H
#define STORAGE_RECORD_H

#include "storage/node_int.h"

/* In a fiber. False: there is none. *out is a copy in `a`. */
bool st_record_get(
    struct st_node *n, struct str key, struct arena *a, struct str *out);
/* In a fiber. On disk when it returns ENGINE_OK; ENGINE_FULL: not written. */
enum engine_result st_record_put(
    struct st_node *n, struct str key, struct str value);

#endif
