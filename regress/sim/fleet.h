/* A simulated cluster: nodes with disks that outlive them, gateways, and a
 * supervisor that starts again what died. */
#ifndef REGRESS_SIM_FLEET_H
#define REGRESS_SIM_FLEET_H

#include "regress/sim/engine_mem.h"
#include "regress/sim/world_sim.h"

#define SIM_NODES_MAX    9
#define SIM_GATEWAYS_MAX 4

struct fleet;
struct gw_conf;
struct gw_worker;
struct invariants;
struct st_node;
struct st_observed;
struct st_observer;

struct fleet_conf {
	uint32_t nodes, gateways;
	uint32_t slots;
	uint32_t replication;
	uint64_t leader_lease_us; /* 0 = none */
	uint64_t beat_us;
	uint64_t log_retention; /* bytes, for members that are behind */
	size_t page_bytes;      /* of one page of a scan, or of a resync */
	uint64_t tombstone_age_us;
	uint64_t sweep_interval_us;
	bool transactions;           /* there are some over several groups */
	uint64_t txn_abort_after_us; /* 0 = as usual */
	uint64_t txn_retention_us;   /* 0 = as usual */
	uint64_t scrub_us;           /* 0 = as usual */
	uint64_t resync_rate;        /* 0 = as usual */
};

/* Of one node's disk; times are virtual. */
struct fleet_disk {
	struct engine_mem_disk *disk;
	uint64_t full_until;  /* writes are refused */
	uint64_t low_until;   /* not writable, but accepted work is done */
	uint64_t stall_until; /* nothing completes */
	bool io_error;        /* the next flush fails */
	uint32_t slow;        /* times slower than usual */
	uint32_t conflict_ppm;
	struct rng rng;
};

struct fleet_node {
	struct fleet *fleet;
	struct st_observer *observer;
	uint32_t index;
	const char *addr;
	struct sim_host *host;
	struct st_node *node; /* of the present process */
	bool ready;
	uint32_t failed_starts;
	bool wipe;          /* the next boot finds an empty disk */
	uint32_t wiped;     /* so often; the first node is then no founder */
	const char *others; /* addresses of all other nodes */
	uint64_t down_us;   /* how long the next death lasts; 0 = random */
	struct fleet_disk disk;
};

struct fleet_gateway {
	struct fleet *fleet;
	uint32_t index;
	const char *addr;
	struct sim_host *host;
	struct gw_worker *worker;
	uint64_t down_us;
};

struct fleet {
	struct sim *sim;
	struct fleet_conf conf;
	struct invariants *invariants; /* told of what groups do, if there */
	struct fleet_node nodes[SIM_NODES_MAX];
	struct fleet_gateway gateways[SIM_GATEWAYS_MAX];
	/* Is told of elections, in the middle of a turn; NULL = nobody. */
	void (*elected)(void *arg, uint32_t node, const struct st_observed *o);
	void *elected_arg;
	const char *seeds; /* addresses of all nodes */
	struct rng rng;
	uint64_t asleep_until; /* nothing is booted before */
	uint64_t lost_txns;    /* committed, not flushed, and gone in a crash */
	uint64_t refused_starts;
	uint32_t disks_lost;
};

/* Lives in the simulation's arena. */
struct fleet *fleet_new(struct sim *s, const struct fleet_conf *conf);
/* Switches everything on: node 1 forms the cluster, the others join it. */
void fleet_boot(struct fleet *f);
/* Kills it, or cuts its power; the supervisor starts it again after `down_us`
 * (0: some random short time). */
void fleet_crash_node(struct fleet_node *n, bool power, uint64_t down_us);
void fleet_crash_gateway(struct fleet_gateway *g, bool power, uint64_t down_us);
/* It dies and loses its disk: what comes back joins as a new member. */
void fleet_lose_disk(struct fleet_node *n, uint64_t down_us);
/* How many disks may be lost, over a run, so that every group keeps a majority
 * of its members. */
uint32_t fleet_disks_to_lose(const struct fleet *f);
/* The catalog's group has all the voters that it can get, by its leader: with
 * fewer the loss of one disk may be that of the catalog's majority. */
bool fleet_catalog_is_grown(const struct fleet *f);
/* Every process stands still until then, clients too; none is started. */
void fleet_sleep(struct fleet *f, uint64_t until_us);
/* The clean way: it drains, ends and comes again. */
void fleet_restart_node(struct fleet_node *n);
/* Disks work, clocks are right, nobody is paused. */
void fleet_heal(struct fleet *f);
bool fleet_ready(const struct fleet *f);

#endif
