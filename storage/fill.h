/* Filling in local indexes: a fiber per node goes, for each index that the
 * catalog knows, over the slots that this member has a copy of, and puts the
 * entries of rows that were there before, in slices.  A slice is a job of the
 * group's lane, and its progress changes with it (index.h).
 *
 * A slot's turn comes when the copy is complete and the group has applied the
 * schema version of the index: from there on, whoever leads it, every writer
 * knows the index, and has seen to it that its rows have keys. */
#ifndef STORAGE_FILL_H
#define STORAGE_FILL_H

#include "storage/group.h"
#include "storage/index.h"

void st_fill_init(struct st_node *n);
void st_fill_start(struct st_node *n);
/* There may be something to fill in: news of the catalog, of a group's schema,
 * of a copy that is complete now. */
void st_fill_wake(struct st_node *n);
/* In a fiber: until some slot was filled in, or failed, here; false at the
 * deadline. */
bool st_fill_wait(struct st_node *n, uint64_t deadline_us);

/* Reads the records of an index: states[slot] for n slots. *text, in `a`, is
 * why the first of those that failed did. */
void st_fill_states(struct st_node *n, struct arena *a, uint32_t index,
    enum st_index_state *states, uint32_t n_slots, struct str *text);
/* Its entries in a slot are not those of the rows: makes them anew. */
void st_fill_again(struct st_group *g, uint32_t index);

#endif
