/* A client's session: one fiber from the startup packet to the end. */
#ifndef GATEWAY_SESSION_H
#define GATEWAY_SESSION_H

#include "base/stream.h"

struct gw_worker;

/* Serves the connection in a fiber of its own, which closes the stream and
 * says gw_worker_left at its end. */
void gw_session_serve(struct gw_worker *w, struct stream *s);

#endif
