/* A group at this member: one Raft log with the rows of one slot of one
 * placement (CONSENSUS 1).
 *
 *            open                    first own entry applied
 *   CLOSED ---------> OPENING ------------------------------> LEADING
 *      ^                 |                                       |
 *      +-----------------+---------------------------------------+
 *                              node stops, or lost
 *
 * A group serves only while LEADING.  Its entries pass append, flush, commit
 * and apply one after the other; with one member the own flush is a majority.
 * A group is opened by the first request for it and costs nothing before. */
#ifndef STORAGE_GROUP_H
#define STORAGE_GROUP_H

#include "storage/entry.h"
#include "storage/locks.h"
#include "storage/node_int.h"
#include "storage/results.h"

#define ST_GROUP_MAGIC   0x53544752u
#define ST_PROPOSALS_MAX 8192u /* queued or under way in one group */

enum st_group_state { ST_GROUP_CLOSED, ST_GROUP_OPENING, ST_GROUP_LEADING };

/* An entry on its way. Belongs to who appended it, who must wait until `done`;
 * the pipeline holds it until then. */
struct st_pending {
	struct list link; /* group.pipeline, by index */
	struct list step; /* log.queue */
	struct st_group *group;
	struct st_entry entry;
	struct str bytes;
	bool done; /* applied */
	struct cond waiter;
};

struct st_schema {
	uint32_t table;
	uint32_t version;
};

struct st_group {
	uint32_t magic;
	enum st_group_state state;
	struct st_node *node;
	struct arena *arena; /* of the open group; NULL while closed */
	struct st_gid gid;
	struct cond changed; /* state */

	struct st_ballot ballot; /* voted for, on disk */
	uint64_t term_start;     /* index of this term's first entry */
	uint64_t last;           /* index of the newest entry */
	cl_stamp last_stamp;
	uint64_t flushed;
	uint64_t committed;
	uint64_t applied;
	uint64_t durable; /* applied and flushed */
	uint64_t trimmed; /* entries up to it are gone */
	cl_stamp applied_stamp;
	cl_stamp floor;
	uint64_t catalog_version; /* last entry that changed the catalog */

	struct list pipeline;
	bool applying;
	struct st_locks locks;
	struct st_results *results;
	struct st_schema *schemas;
	uint32_t n_schemas;
	uint32_t cap_schemas;
	uint32_t n_proposals;

	struct list applied_link; /* log.applied */
	struct list trim_link;    /* log.trims */
	uint64_t durable_next;    /* what the flush under way makes durable */
};

/* In a fiber: the group, open and serving; NULL with the reason to refuse.
 * Waits for the opening, and a little for a catalog that the sender has seen
 * (`catalog`) and this node not yet. */
struct st_group *st_group_lead(struct st_node *n, struct st_gid gid,
    uint64_t catalog, uint64_t deadline_us, enum cl_refusal *why);
/* The same for many at once: closed ones open side by side, sharing their
 * flushes. True when all serve. */
bool st_groups_lead(struct st_node *n, const struct st_gid *gids, size_t count,
    uint64_t catalog, uint64_t deadline_us, enum cl_refusal *why);
/* After a wait: still leading in that ballot? (With several members this is
 * where a lease, or a majority, is asked.) */
bool st_group_leads(const struct st_group *g, const struct st_ballot *b);

/* Gives the entry its index and ballot, and starts it on its way; p lives until
 * p->done. The stamp is set, above g->last_stamp. Does not wait. */
void st_group_append(struct st_group *g, struct arena *a, struct st_pending *p);
/* In a fiber, deaf to cancel: until it is applied. */
void st_pending_wait(struct st_pending *p);

/* The log pipeline says: entries up to `index` are flushed here. */
void st_group_flushed(struct st_group *g, uint64_t index);

/* The schema version that the group's newest entry knows of; 0 = none. */
uint32_t st_group_schema(const struct st_group *g, uint32_t table);

uint64_t st_group_lane(struct st_gid gid);
struct st_group *st_group_find(
    struct st_node *n, uint32_t placement, uint16_t slot);
/* Every group is idle: nothing appended is unapplied. */
bool st_groups_idle(const struct st_node *n);
void st_groups_close(struct st_node *n);

/* Highest index that a majority of `match` has reached; n at most
 * CL_COPIES_MAX. Pure. */
uint64_t st_majority_index(const uint64_t *match, size_t n);
/* May the log up to the majority's index be committed? Only with an entry of
 * the own term (Raft 5.4.2). Pure. */
uint64_t st_commit_index(
    uint64_t committed, uint64_t majority, uint64_t term_start);

#endif
