/* Scrub (CONSENSUS 6): at one log index, members compare digests of each table
 * in a slot.  On a timer, by the groups' leaders; and by REPAIR CLUSTER, which
 * reads all rows, too, to see if the digests kept are theirs. */
#ifndef STORAGE_SCRUB_H
#define STORAGE_SCRUB_H

#include "storage/group.h"

/* What one copy is, for the judge: pure. */
struct st_opinion {
	uint64_t sum; /* over its digests */
	bool wrong;   /* its rows are not what its digests say */
	bool odd;     /* out: to be made anew */
};
/* The first is the leader's, which decides between equal numbers. What most of
 * those that are not wrong agree on is the truth. Returns how many are odd; 0,
 * too, when all are wrong. */
uint32_t st_scrub_judge(struct st_opinion *o, size_t n);

void st_scrub_start(struct st_node *n);

/* In fibers. */
struct err *st_digest_serve(struct st_node *n, struct arena *a,
    const struct cl_digest_get *m, uint64_t catalog, struct cl_digests *out);
void st_resync_ask_serve(struct st_node *n, const struct cl_resync_ask *m);
struct err *st_repair_serve(struct st_node *n, struct arena *a,
    const struct cl_repair *m, uint64_t catalog, uint64_t deadline_us,
    struct cl_repaired *out);

#endif
