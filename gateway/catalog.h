/* One worker's copy of the catalog: fetched from any node of a seed list, then
 * followed by long polls, from the catalog group's leader when it is known and
 * answers, else from its other members, the other nodes and the seeds. */
#ifndef GATEWAY_CATALOG_H
#define GATEWAY_CATALOG_H

#include "gateway/leaders.h"
#include "gateway/peer.h"

struct gw_catalog;

/* Starts following, in a fiber of its own. `seeds` are addresses separated by
 * commas or blanks (at least one). */
struct gw_catalog *gw_catalog_start(struct world *w, struct gw_peers *peers,
    struct gw_leaders *leaders, const char *seeds);
/* The fiber ends on its next step; snapshots stay good. */
void gw_catalog_stop(struct gw_catalog *c);

/* The present snapshot, version 0 before the first fetch. Borrowed: ref it to
 * keep it across a wait. */
struct cl_catalog *gw_catalog_now(const struct gw_catalog *c);
uint64_t gw_catalog_version(const struct gw_catalog *c);
/* Waits, in a fiber, until the snapshot is at `version` or later: false at the
 * deadline or when cancelled. */
bool gw_catalog_wait(
    struct gw_catalog *c, uint64_t version, uint64_t deadline_us);
/* Asks whoever leads the catalog's group how new the catalog is, and waits
 * until the snapshot is as new as that: true when it is. For who is about to
 * say that something does not exist, which another gateway may just have made.
 * In a fiber. */
bool gw_catalog_confirm(struct gw_catalog *c, uint64_t deadline_us);
/* A node refused something for what it knows and we do not: asks again now,
 * another node if need be. */
void gw_catalog_refresh(struct gw_catalog *c);
/* Microseconds since a node last answered a poll; UINT64_MAX: never. */
uint64_t gw_catalog_age_us(const struct gw_catalog *c);
/* Who is asked, for status pages; NULL before the first. */
const struct gw_peer *gw_catalog_source(const struct gw_catalog *c);

/* The member that leads the catalog group as far as known, 0 before the first
 * snapshot. */
uint32_t gw_catalog_leader(const struct gw_catalog *c);

#endif
