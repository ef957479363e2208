/* Values of sequences.  A sequence's value is a row of the default placement
 * (cluster/README.md), which every draw moves on by a compare-and-set: nothing
 * that two gateways do at once, and nothing that gets lost, makes a value come
 * twice.  Draws of one worker that come while one is under way share the next
 * proposal.  A draw whose outcome is unknown is made again: a gap at most. */
#ifndef GATEWAY_SEQUENCE_H
#define GATEWAY_SEQUENCE_H

#include "gateway/stmt.h"

struct gw_sequences;

/* Of one worker. */
struct gw_sequences *gw_sequences_new(struct gw_worker *w);
/* Draws under way end on their next step. */
void gw_sequences_stop(struct gw_sequences *all);

/* Values first, first + increment, ... last are the caller's alone. */
struct gw_draw {
	int64_t first, last, increment;
};
/* At least one value and at most `want`, as many as there are before the limit.
 * 2200H at the limit, 42P01 when the sequence is gone, 53400 when too many wait
 * for it, else as a statement ends. In a fiber. */
struct err *gw_sequence_draw(struct gw_stmt *s, struct arena *a, uint32_t id,
    uint64_t want, struct gw_draw *out);

/* Where it stands: the last value drawn, or, not called, the next one. */
struct gw_seq_value {
	int64_t last;
	bool called;
};
struct err *gw_sequence_get(
    struct gw_stmt *s, struct arena *a, uint32_t id, struct gw_seq_value *out);
/* Sets it, whatever it is. 40003 when the outcome is unknown. */
struct err *gw_sequence_set(
    struct gw_stmt *s, struct arena *a, uint32_t id, struct gw_seq_value to);

/* ---- deciding: a pure function ---- */

/* Takes up to `want` values by the sequence's rules: false, and *v stays, at
 * the limit of one that does not cycle. */
bool gw_sequence_take(const struct cl_sequence *q, struct gw_seq_value *v,
    uint64_t want, struct gw_draw *out);

#endif
