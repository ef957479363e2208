/* The HTTP pages of a program: GET /healthz (the process answers), /readyz (it
 * can serve), /metrics and /status.  Real world only. */
#ifndef BASE_HTTP_H
#define BASE_HTTP_H

#include "base/buf.h"
#include "base/world.h"

struct http_pages {
	bool (*ready)(void *arg);
	/* One JSON object, fields only ever added; no secrets, no client data
	 * in it. */
	void (*status)(void *arg, struct buf *out);
	void *arg;
};

/* Serves on `addr` ("host:port") from the world's loop, until the world ends.
 * `pages` is copied; `a` is only for the error. */
struct err *http_serve(struct world *w, struct arena *a, const char *addr,
    const struct http_pages *pages);

#endif
