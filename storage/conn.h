/* Connections that gateways and other nodes made to this one.
 *
 *            HELLO             PROVE, right
 *   GREETED -------> WELCOMED -------------> OPEN ---> CLOSED
 *      |                |                               ^
 *      +----------------+-------------------------------+
 *          anything else, silence, or the peer went away
 *
 * Each request runs in a fiber of its own and is answered in any order; a
 * connection with too many of them under way is not read from.  It stays, as
 * memory, until its last request ended. */
#ifndef STORAGE_CONN_H
#define STORAGE_CONN_H

#include "storage/node_int.h"

struct st_conn;

/* One request in its fiber. */
struct st_request {
	struct st_conn *conn;
	struct st_node *node;
	struct arena *arena;
	struct cl_frame frame; /* body: a copy in the arena */
	uint64_t deadline_us;
};

void st_conn_accept_ev(void *owner, struct net_conn *c);
/* Encodes and sends an answer; dropped when the connection is gone. */
void st_reply(struct st_request *r, enum cl_msg_kind kind, const void *msg);
void st_reply_err(struct st_request *r, const struct err *e);
/* The member at the other end; 0: it is none. */
uint32_t st_request_member(const struct st_request *r);
/* The request was malformed: logs it and closes the connection. */
void st_conn_malformed(struct st_request *r, const char *why);
/* Stops reading requests on all connections (drain), or closes them all. */
void st_conns_pause(struct st_node *n);
void st_conns_close(struct st_node *n);

/* serve.c: runs the request and answers it. */
void st_serve(struct st_request *r);

/* The bytes of a whole frame around a message, in `a`. */
struct str st_frame(struct st_node *n, struct arena *a, uint64_t request,
    uint8_t flags, enum cl_msg_kind kind, const void *msg);

#endif
