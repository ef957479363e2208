/* The groups that a read asks, before and after it: led here and, when the read
 * is over, confirmed to be; or for CONSISTENCY ONE only held here (CONSENSUS
 * 4). Reads are checked after they were made: what was read before the check
 * was the leader's at that moment. */
#ifndef STORAGE_SERVING_H
#define STORAGE_SERVING_H

#include "storage/elect.h"

struct st_serving {
	struct st_node *node;
	struct arena *arena;
	enum cl_consistency consistency;
	const struct st_gid *gids;
	size_t n;
	uint64_t deadline_us;
	/* Filled by begin. */
	struct st_group **groups;
	struct st_ballot *ballots;
	/* Why not: the reason, and who leads those that others lead. */
	enum cl_refusal why;
	struct cl_group_at *elsewhere;
	uint32_t n_elsewhere;
};

/* In a fiber: true when all of them may be read here. */
bool st_serving_begin(struct st_serving *s, uint64_t catalog);
/* In a fiber: true when what was read since is an answer. */
bool st_serving_end(struct st_serving *s);

#endif
