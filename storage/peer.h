/* Calls to other nodes: two connections per address, one for heartbeats and
 * votes, so that bulk never delays a lease, and one for the rest; made when
 * first needed and again after they broke.  A call is sent once; when its
 * connection breaks, its outcome is an error that says so. */
#ifndef STORAGE_PEER_H
#define STORAGE_PEER_H

#include "storage/node_int.h"

struct st_reply_msg {
	uint16_t kind;
	uint64_t catalog;
	uint32_t incarnation; /* of the process that answered */
	void *msg;
};

/* In a fiber: connects if need be, sends, waits for the answer. A FAIL comes
 * back as an error with its SQLSTATE, message, detail and hint; no connection
 * is 08006; the deadline 57014, after which a connection that brought
 * nothing since is made anew. */
struct err *st_peer_call(struct st_node *n, struct arena *a, struct str addr,
    enum cl_msg_kind kind, const void *msg, uint64_t deadline_us,
    struct st_reply_msg *out);
/* The same to a member, at the address that the catalog has: also 08006 when
 * another member answers there. */
struct err *st_member_call(struct st_node *n, struct arena *a, uint32_t member,
    enum cl_msg_kind kind, const void *msg, uint64_t deadline_us,
    struct st_reply_msg *out);
/* All connections end; calls under way fail. */
void st_peers_close(struct st_node *n);

#endif
