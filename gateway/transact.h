/* A write set of several groups as one operation, from its first send to its
 * outcome (CONSENSUS 3.5, 5): what propose.h is for one group.  The group of
 * the first part coordinates, on every send the same. */
#ifndef GATEWAY_TRANSACT_H
#define GATEWAY_TRANSACT_H

#include "gateway/propose.h"

/* What it does in one group; each group once. */
struct gw_transact_part {
	uint32_t placement;
	uint16_t slot;
	struct cl_cond *conds;
	uint32_t n_conds;
	struct cl_write *writes;
	uint32_t n_writes;
};

struct gw_transact {
	/* By the caller. */
	const struct gw_transact_part *parts;
	uint32_t n_parts;
	cl_stamp age; /* when its transaction began, or 0: now */
	/* What an unknown outcome is called: NULL = a statement's. */
	const char *unknown_sqlstate;

	enum gw_action outcome; /* GW_END_APPLIED .. GW_END_LOST */
	/* With GW_END_APPLIED, GW_END_FALSE; `failed` counts the conditions of
	 * all parts. */
	const struct cl_proposed *answer;
	struct err *err; /* with the others */
};

/* Whether it fits one frame; `a` is for its message. */
bool gw_transact_fits(struct arena *a, const struct gw_transact *c);
/* In a fiber: carries it out to its end, as a new operation. It fails, 54000,
 * when it is larger than one frame. After a cancel, sends that left are still
 * followed for a short while. */
void gw_transact_run(struct gw_stmt *s, struct arena *a, struct gw_transact *c);

#endif
