/* HTTP of a node: GET /healthz, /readyz, /metrics, /status. Real world only. */
#ifndef STORAGE_HTTP_H
#define STORAGE_HTTP_H

#include "storage/node.h"

/* Serves on `addr` ("host:port") from the world's loop, until the process
 * ends. `a` only for the error. */
struct err *st_http_start(
    struct world *w, struct arena *a, const char *addr, struct st_node *n);

#endif
