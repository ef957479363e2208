/* The steps of one group's operation, as propose.c goes them: shared with what
 * prepares a part of a transaction, and with its coordinator (CONSENSUS 3, 5).
 * All are asked of a group that this member leads. */
#ifndef STORAGE_PROPOSE_INT_H
#define STORAGE_PROPOSE_INT_H

#include "storage/group.h"

/* One operation, or the part of one that is this group's. */
struct st_prop {
	struct st_node *node;
	struct arena *arena;
	const struct cl_propose *m;
	struct cl_proposed *out;
	uint64_t deadline_us;
	struct st_group *group;
	struct st_ballot ballot;
	cl_stamp age; /* of its transaction; 0: in none */
	struct st_lock_req locks;
	struct cond granted;
};

/* Is the message well-formed? */
struct err *st_prop_message(struct arena *a, const struct cl_propose *m);
/* Sets the answer. */
void st_prop_refuse(struct st_prop *p, enum cl_refusal why);
/* Do the tables belong to this group? */
enum cl_refusal st_prop_tables(const struct st_prop *p);
/* Everything that may have changed while it waited. */
enum cl_refusal st_prop_now(const struct st_prop *p);
/* Is `now`, or an entry's stamp, within its deadline? */
enum cl_refusal st_prop_deadline(const struct st_prop *p, cl_stamp now);
/* In a fiber: takes its locks. WAITS: its deadline came; BUSY: it would have
 * waited for an older transaction. Whatever is answered, the caller releases
 * them. */
enum st_locked st_prop_lock(struct st_prop *p);
/* In a fiber: true when all conditions hold; else the answer has the rows. */
bool st_prop_conditions(struct st_prop *p);
/* A stamp for the append, or a refusal; *stamp 0 and none: it waited, and
 * everything is to be looked at again. */
enum cl_refusal st_prop_stamp(struct st_prop *p, cl_stamp *stamp);
/* The schema versions that the group has not heard of come first. No wait.
 * False: *stamp is gone, look at everything again. */
bool st_prop_schemas(struct st_prop *p, cl_stamp *stamp);
/* An earlier send's result: true when it decides, and is the answer. *again: it
 * is under way. */
bool st_prop_result(struct st_prop *p, bool *again);

#endif
