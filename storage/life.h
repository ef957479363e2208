/* Which process of each member was met last, kept on disk: a member that comes
 * as an earlier one has an older copy of its data directory, lacks what it
 * acknowledged since, and may not come back under its id (CONSENSUS 1).
 *
 * A process is known by its incarnation, raised on disk at each start, and by a
 * random number: a directory that was put back comes with an incarnation that
 * was used before. */
#ifndef STORAGE_LIFE_H
#define STORAGE_LIFE_H

#include "storage/node_int.h"

/* In the start fiber: what was met before. */
void st_lives_load(struct st_node *n);
/* 55000 when that process cannot be; NULL also for who was never met. */
struct err *st_life_check(struct st_node *n, struct arena *a, uint32_t member,
    uint32_t incarnation, struct str life);
/* It proved that it knows the cluster key. Does not wait. */
void st_life_met(
    struct st_node *n, uint32_t member, uint32_t incarnation, struct str life);
/* Another member says that of this node. It stops, or does not start. */
void st_life_refused(struct st_node *n, const char *why);

/* Format 1, golden vector in t/group_test.c. */
void st_life_put(struct buf *b, uint32_t incarnation, struct str life);
bool st_life_get(struct str bytes, uint32_t *incarnation, uint8_t *life);

#endif
