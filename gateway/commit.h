/* COMMIT of a transaction's write set. */
#ifndef GATEWAY_COMMIT_H
#define GATEWAY_COMMIT_H

#include "gateway/overlay.h"
#include "gateway/propose.h"
#include "sql/sql.h"

/* What one group is to do: its conditions and writes, by placement and slot. */
struct gw_commit_part {
	struct cl_propose msg; /* placement, slot, conds, writes */
	/* Of the row conditions, in their order; those of schemas come first.
	 */
	const struct gw_change **asked;
	uint32_t n_schemas;
};
struct gw_commit {
	struct gw_commit_part *parts; /* by placement and slot */
	size_t n;
};

/* Shares the write set out over the groups that the newest catalog names, in
 * `a`. 57P03 when it knows none for a row. */
struct err *gw_commit_parts(struct gw_stmt *s, struct arena *a,
    struct gw_overlay_view v, struct gw_commit *out);

/* Carries the parts out, all or nothing. *open: nothing was sent, and the
 * transaction may go on. Errors: 0A000 for several groups, 54000 for more than
 * fits one proposal; 23505 or 40001 when a condition is false, 40001 when it
 * surely was not applied for want of a leader, 08007 when nobody knows. */
struct err *gw_commit_run(struct gw_stmt *s, struct arena *a,
    const struct sql_env *env, const struct gw_commit *c, bool *open);

#endif
