/* What the files of storage/ share about a node.  Owner of everything here is
 * the node's loop; engine jobs see only what is handed to them. */
#ifndef STORAGE_NODE_INT_H
#define STORAGE_NODE_INT_H

#include "base/engine.h"
#include "base/fiber.h"
#include "base/map.h"
#include "base/net.h"
#include "cluster/catalog.h"
#include "cluster/msg.h"
#include "storage/ids.h"
#include "storage/node.h"

#define ST_NODE_MAGIC 0x53544e44u
#define ST_LIFE       16u /* bytes of a process' random number */

/* Lanes of the engine (base/engine.h). A group's is its placement and slot,
 * above zero. */
#define ST_LANE_LOG  UINT64_MAX
#define ST_LANE_META (UINT64_MAX - 1)

enum st_node_state {
	ST_NODE_STARTING, /* identity, forming or joining, first catalog */
	ST_NODE_SERVING,
	ST_NODE_DRAINING, /* no new requests */
	ST_NODE_STOPPED,
	ST_NODE_FAILED /* could not start */
};

struct st_identity {
	bool known;
	uint8_t cluster[16];
	uint32_t member;
	uint32_t incarnation; /* raised at each start, before anything else */
	bool founder;         /* holds the catalog group from the beginning */
};

struct st_clock {
	struct cl_clock c;
	struct cond want; /* a bound is needed, or soon */
	struct cond flushed;
};

/* The append pipeline, one for all groups: see log.h. */
struct st_log {
	struct list queue;   /* items: to be written */
	bool busy;           /* a batch is being appended and flushed */
	struct list applied; /* groups applied since the last flush */
	struct list trims;   /* groups with entries to drop */
	struct cond more;    /* queue or trims */
	uint64_t bytes;      /* of entries that are kept, about */
};

struct st_catalog_state {
	struct cl_catalog *snap; /* never NULL once started */
	uint64_t slots_version;  /* highest version of a placement */
	struct cond changed;
	struct str addrs; /* of the catalog's members, by comma: kept */
	bool followed;    /* what was the newest after the start is known */
	bool holds;       /* a copy of the catalog group is here */
};

/* Filling in indexes: fill.h. */
struct st_fill {
	struct cond wake; /* of the fiber */
	struct cond done; /* a slot was filled in, or failed */
	bool wanted;      /* something may be to do */
	struct map *seen; /* by index */
};

struct st_node {
	uint32_t magic;
	enum st_node_state state;
	struct world *world;
	struct arena *arena;
	struct st_conf conf;
	struct st_events events;
	struct engine *engine;
	struct st_identity id;
	bool introduced; /* the identity of this very process is on disk */
	uint8_t life[ST_LIFE]; /* of this process */
	const char *outdated; /* why it may not be a member any more, or NULL */
	struct st_clock clock;
	struct st_log log;
	struct map *groups; /* by placement and slot */
	uint32_t n_leading;
	struct list links;      /* to the other members: link.h */
	uint64_t vote_after_us; /* restarted: neither votes nor campaigns
				 * before (CONSENSUS 4) */
	struct st_catalog_state catalog;
	struct st_fill fill;

	struct list listeners;
	struct list conns;
	uint32_t n_conns;
	size_t n_requests;  /* fibers that serve one */
	size_t n_fibers;    /* background ones */
	struct cond idle;   /* one of the two fell to 0 */
	struct cond wakeup; /* the state changed, or a sweep is wanted */
	struct list peers;
	struct list resyncs; /* groups that wait for one: resync.c */
	uint32_t n_resyncs;  /* workers */
	uint32_t n_incomplete;
	uint64_t resync_free_us; /* when the next page may be fetched */
	struct list sources;     /* source.c */
	bool scrubbing;
	struct list scratches;
	uint64_t next_request;
	uint64_t purge_version; /* of the catalog, by which rows were purged */
	bool purge_again;
	struct err *failure;
};

/* An arena that an engine thread may use while its owner waits: a root, since
 * an arena's parents belong to the loop.  Freed with the world. */
struct st_scratch {
	struct list link;
	struct arena *arena;
};
struct st_scratch *st_scratch_new(struct st_node *n, const char *name);
void st_scratch_free(struct st_scratch *s);

/* A fiber that ends when the node stops: fn(n) calls st_background_end last,
 * and looks at n->state after each wait. */
void st_background(struct st_node *n, const char *name, void (*fn)(void *n));
void st_background_end(struct st_node *n);

/* Moves to `to` if the graph (node.c) allows it. */
void st_node_move(struct st_node *n, enum st_node_state to);

static inline uint64_t
st_wall_ms(const struct st_node *n)
{
	return world_wall_us(n->world) / 1000;
}

/* A stamp for frames: the node's idea of cluster time. Not an issued one. */
cl_stamp st_now(const struct st_node *n);

/* The monotonic time at which cluster time will be `deadline`. */
uint64_t st_mono_of(const struct st_node *n, cl_stamp deadline);

#endif
