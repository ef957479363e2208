/* Requests to whoever leads a group, from a node: of a coordinator to
 * participants, and of participants to the group that decides (CONSENSUS 5).
 * Each may be sent again: what it does, it does once. */
#ifndef STORAGE_REACH_H
#define STORAGE_REACH_H

#include "storage/node_int.h"

/* The transaction that a message names. */
#define ST_MSG_TXN(m)                                                          \
	((struct st_txn){{(m)->txn_placement, (m)->txn_slot, (m)->txn_epoch},  \
	    (m)->txn_stamp, (m)->txn_member})

struct st_reached {
	uint16_t kind; /* of the answer; 0: there is none, and `why` */
	const void *msg;
	enum cl_refusal why;
};

/* In a fiber: PREPARE, RESOLVE or OUTCOME_GET to the leader of that very group,
 * which is looked for until the deadline; this member may be it. True: an
 * answer of the leader, be it a refusal; *out lives in `a`. */
bool st_reach(struct st_node *n, struct arena *a, struct st_gid gid,
    enum cl_msg_kind kind, const void *msg, uint64_t deadline_us,
    struct st_reached *out);

#endif
