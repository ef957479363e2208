/* HTTP of a gateway: GET /healthz, /readyz, /metrics, /status.  Real world
 * only. */
#ifndef GATEWAY_HTTP_H
#define GATEWAY_HTTP_H

#include "base/buf.h"
#include "base/err.h"

struct gw_server;
struct world;

/* Serves on `addr` ("host:port") from the world's loop until the process ends.
 * `a` only for the error. */
struct err *gw_http_start(
    struct world *w, struct arena *a, const char *addr, struct gw_server *s);

/* The status page: one JSON object, fields only ever added. Secrets and client
 * data are not in it. */
void gw_status_json(const struct gw_server *s, struct buf *out);

#endif
