/* One group's proposal, from its first send to its outcome (CONSENSUS 3.5).
 * The decisions are the pure function gw_propose_step; gw_propose_run is the
 * fiber that waits between them, for many groups at once. */
#ifndef GATEWAY_PROPOSE_H
#define GATEWAY_PROPOSE_H

#include "gateway/leaders.h"
#include "gateway/peer.h"
#include "gateway/stmt.h"

/* ---- deciding ---- */

/* What is known of an operation's sends: each that left either was surely not
 * proposed (refused), or has an unknown fate. */
struct gw_op {
	uint32_t sends;   /* that left; the next one is number sends + 1 */
	uint32_t refused; /* of these, surely not proposed */
};

enum gw_event_kind {
	GW_EVENT_START,    /* nothing happened yet, or the pause is over */
	GW_EVENT_NOT_SENT, /* the send did not leave */
	GW_EVENT_LOST,     /* it left, and its answer never comes */
	GW_EVENT_UNKNOWN, /* it was proposed, and its fate is not known there */
	GW_EVENT_APPLIED,
	GW_EVENT_FALSE,
	GW_EVENT_REFUSED,  /* reason */
	GW_EVENT_FAIL,     /* proposed says whether it may have been */
	GW_EVENT_DEADLINE, /* while pausing: no send is out */
	GW_EVENT_CANCEL    /* while pausing: no send is out */
};

struct gw_event {
	enum gw_event_kind kind;
	enum cl_refusal reason;
	bool proposed;
	bool stale; /* the newest catalog no longer has the table at the version
		     * the proposal names */
};

enum gw_action {
	GW_DO_SEND,     /* now, with number sends + 1: tell by gw_op_sent */
	GW_DO_PAUSE,    /* until it is worth another send, maybe not at all;
			 * then GW_EVENT_START */
	GW_END_APPLIED, /* the rest are ends */
	GW_END_FALSE,
	GW_END_FAILED, /* surely not applied */
	GW_END_STALE,  /* surely not applied, and never will be as it is */
	GW_END_LOST    /* nobody here knows: 40003 */
};

enum gw_action gw_propose_step(struct gw_op *op, const struct gw_event *ev);
/* A send left (or was handed to the link, whose GW_NOT_SENT takes it back). */
void gw_op_sent(struct gw_op *op);
const char *gw_refusal_text(enum cl_refusal r);

/* ---- running ---- */

struct gw_proposal {
	/* Group, conditions and writes, by the caller; the epoch follows the
	 * slot map, the operation id and deadline are filled in. */
	struct cl_propose msg;
	/* NULL, or what is sent in its place: a transaction of several groups,
	 * of which msg has the first one and all conditions. */
	struct cl_commit *commit;
	const char *unknown_sqlstate; /* NULL: a statement's */
	enum gw_action outcome;       /* GW_END_APPLIED .. GW_END_LOST */
	const struct cl_proposed
	    *answer;     /* with GW_END_APPLIED, GW_END_FALSE */
	struct err *err; /* with the others */

	/* While it runs. */
	struct gw_op op;
	struct gw_aim aim; /* at which member of the group */
	struct gw_peer *peer;
	struct gw_call *call;    /* of the last send */
	struct gw_call *earlier; /* only what a mutation still listens to */
	uint64_t sent_us;
	enum gw_action doing;
	uint64_t until_us; /* end of the pause, or of waiting for the answer */
	const char *why;   /* the last thing that went wrong */
	const char *sqlstate, *fail_hint;
};

/* Carries out n proposals side by side, in the calling fiber, to their ends;
 * each is a new operation. Conditions and writes must be within one frame.
 * After a cancel, sends that left are still followed for a short while. */
void gw_propose_run(
    struct gw_stmt *s, struct arena *a, struct gw_proposal *ps, size_t n);

#endif
