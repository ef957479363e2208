/* A storage node inside a world: what the programs skaidb-storage and skaidb,
 * and the simulator, start and stop.  Nothing here is global: several nodes
 * live in one process when each has a world of its own.
 *
 * Everything a node owns hangs from the world's arena; freeing that arena is a
 * crash. */
#ifndef STORAGE_NODE_H
#define STORAGE_NODE_H

#include "base/buf.h"
#include "base/conf.h"
#include "base/err.h"
#include "base/world.h"

#define ST_KEY_MIN 32u /* bytes of the cluster key */

struct st_node;

/* Strings must outlive the node. st_conf_defaults fills every field; zero is
 * not a usable configuration. */
struct st_conf {
	const char *dir;       /* data directory; the simulator: any name */
	const char *listen;    /* addresses of net.h, separated by commas */
	const char *advertise; /* what others connect to; "" = first listen */
	const char *alias;     /* "" = skai<member id> */
	const char *zone;      /* "" = none */
	struct str key;        /* cluster key, ST_KEY_MIN bytes or more */

	/* An empty directory forms a cluster (init) or joins one (join, seed
	 * addresses separated by commas); a used one ignores join but refuses
	 * init, unless init_if_empty says "form unless that was done". */
	bool init;
	bool init_if_empty;
	const char *join;
	uint32_t slots; /* of a cluster being formed */
	uint32_t replication;
	const char *bootstrap_user; /* also a role and database of a cluster
				     * being formed; "" = none */

	uint64_t cache_bytes;
	uint64_t log_file_bytes;
	uint64_t checkpoint_log_bytes;
	uint64_t disk_reserve; /* 0 = computed */
	int engine_threads;
	bool inline_reads;
	bool inline_writes;

	uint64_t statement_timeout_us; /* upper bound of a request's work */
	uint64_t retry_window_us;
	uint64_t tombstone_age_us;
	uint64_t txn_abort_after_us; /* then an undecided transaction is none */
	uint64_t txn_retention_us;   /* at least so long a decision is kept */
	uint64_t sweep_interval_us;  /* pause between housekeeping rounds */
	uint32_t requests_max;       /* in flight per connection */
	uint32_t connections_max;
	uint64_t drain_us; /* longest wait for requests at stop */

	uint64_t leader_lease_us;   /* 0: no leases, majorities confirm reads */
	uint64_t beat_us;           /* between two heartbeats of a node pair */
	uint64_t log_retention;     /* bytes of log kept for members behind */
	uint64_t resync_rate;       /* bytes per second that a node fetches */
	uint32_t resync_page;       /* bytes of rows at once */
	uint64_t scrub_interval_us; /* 0 = never by itself */

	const struct st_observer *observer; /* NULL outside tests */
};

/* What tests watch a node's groups by. Called on the loop; they must not call
 * back. */
struct st_observed {
	uint32_t member; /* whose copy */
	uint32_t placement;
	uint16_t slot;
	uint32_t epoch;
	uint64_t round; /* ballot: the leader's, or the entry's */
	uint32_t ballot_member;
	uint32_t incarnation;
	uint64_t index;
	struct str entry; /* its bytes, when applied */
};
struct st_observer {
	/* The member leads: its ballot, and the last index of its log. */
	void (*elected)(void *arg, const struct st_observed *o);
	/* An entry was applied. */
	void (*applied)(void *arg, const struct st_observed *o);
	/* The copy was replaced: it is that of `index`. */
	void (*reset)(void *arg, const struct st_observed *o);
	void *arg;
};

void st_conf_defaults(struct st_conf *c);

/* The settings of skaidb-storage, ended by a NULL name; st_conf_read takes
 * them from a loaded conf. The cluster key is left to st_keyfile_load. */
extern const struct conf_item st_conf_items[];
void st_conf_read(const struct conf *c, struct st_conf *out);

/* All run on the loop, each at most once, ready before failed or stopped; any
 * may be NULL. */
struct st_events {
	void (*ready)(void *arg);                       /* serves */
	void (*failed)(void *arg, const struct err *e); /* cannot start */
	void (*stopped)(void *arg);                     /* engine closed */
	void *arg;
};

/* Opens the engine and listens, then becomes ready later: after reading its
 * identity, forming or joining, and fetching the catalog. `a` only for the
 * error. */
struct err *st_node_start(struct world *w, struct arena *a,
    const struct st_conf *conf, const struct st_events *ev,
    struct st_node **out);
/* Drains: refuses new requests, finishes those in flight (at most drain_us),
 * flushes, closes the engine, then events.stopped. Idempotent. */
void st_node_stop(struct st_node *n);

bool st_node_ready(const struct st_node *n);
/* One JSON object: version, member, cluster, catalog, groups, tables... Fields
 * are only ever added. */
void st_node_status(struct st_node *n, struct buf *json);
/* 0 before forming or joining. */
uint32_t st_node_member(const struct st_node *n);
uint64_t st_node_catalog_version(const struct st_node *n);

#endif
