/* One simulated run: a cluster, clients with a workload, faults, a healing, and
 * the checks of what clients were told against what is there.
 *
 *   SETUP ---> WORK ---> HEAL ---> CHECK ---> SETTLE ---> OVER
 *
 * SETUP forms the cluster and makes the tables, without faults.  In WORK
 * clients work while faults come and go.  HEAL ends all faults and waits,
 * bounded, until every client has an answer.  CHECK reads everything back.  In
 * SETTLE the copies become equal, and what may be forgotten is.  In each phase
 * a bound of virtual time that passes is a failure. */
#ifndef REGRESS_SIM_DRIVE_H
#define REGRESS_SIM_DRIVE_H

#include "base/buf.h"
#include "regress/sim/chaos.h"
#include "regress/sim/fleet.h"
#include "regress/sim/history.h"
#include "regress/sim/invariants.h"
#include "regress/sim/pg.h"

#define RUN_CLIENTS_MAX 16

enum run_phase {
	RUN_SETUP,
	RUN_WORK,
	RUN_HEAL,
	RUN_CHECK,
	RUN_SETTLE,
	RUN_OVER
};

struct run;
struct client;

struct scenario {
	const char *name;
	const char *claim;
	uint32_t clients;
	unsigned faults;      /* CHAOS_ bits that are always on */
	unsigned faults_not;  /* that never are */
	uint64_t think_us;    /* mean pause between operations */
	uint32_t replication; /* 0 = by the seed */
	uint32_t gateways;    /* 0 = by the seed */
	/* What must be so whatever the seed says; NULL = nothing. */
	void (*shape)(struct fleet_conf *f);
	/* Leases are much longer than what tells the dead, faults are many, and
	 * there are three gateways. */
	bool strained;
	uint64_t tombstone_age_us; /* in the mean; 0 = 10 s */
	uint64_t log_retention;    /* 0 = by the seed */
	uint64_t scrub_us;         /* between two; 0 = an hour */
	uint64_t resync_rate;      /* bytes per second; 0 = as usual */
	/* All run in fibers of a client. The first makes tables, and is run
	 * by one of them before WORK. */
	void (*setup)(struct client *c);
	void (*work)(struct client *c); /* one operation */
	/* Reads back and checks; run by one client. */
	void (*check)(struct client *c);
};

struct run_opts {
	const struct scenario *scenario;
	uint64_t seed;
	uint32_t seconds;         /* of WORK */
	uint32_t nodes, gateways; /* 0 = by the seed */
	uint32_t replication;     /* 0 = by the scenario, or the seed */
	uint32_t lease_ms;        /* UINT32_MAX = by the seed */
	bool no_faults;
	FILE *trace;
};

struct client {
	struct run *run;
	uint32_t index;
	struct sim_host *host;
	struct world *world;
	struct rng rng;
	struct sim_pg *pg; /* NULL while not connected */
	uint32_t gateway;  /* that it is or was connected to */
	uint32_t gateway_boot;
	uint32_t by_gateway;  /* the only one it uses, from 1; 0 = any */
	uint64_t patience_us; /* for a statement; 0 = as long as any takes */
	uint64_t connects;    /* so far */
	struct arena *arena;  /* of the present operation */
	uint64_t sequence;
	bool finished;
	const char *doing;
};

struct run {
	struct run_opts opts;
	struct sim *sim;
	struct fleet *fleet;
	struct chaos *chaos;
	struct invariants *invariants;
	enum run_phase phase;
	struct client clients[RUN_CLIENTS_MAX];
	uint32_t n_clients;
	struct history history;
	void *state;    /* the scenario's */
	void *sessions; /* bank.c: of gateways, used by clients */
	uint64_t acked, unknown, refused;
	bool stop; /* of the present phase */
	struct buf failures;
	uint32_t n_failures;
};

struct run_result {
	uint64_t hash, events, virtual_us;
	uint64_t acked, unknown, refused;
	const char *failures; /* "" = none; lives until run_free */
	uint32_t n_failures;
};

struct run *run_new(const struct run_opts *o);
void run_go(struct run *r, struct run_result *out);
/* Virtual time without the hours that all slept through. */
uint64_t run_now(const struct run *r);
/* Two lines: faults by kind, and what the groups did. */
void run_print_faults(const struct run *r, FILE *f);
void run_free(struct run *r);

void run_fail(struct run *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- for scenarios, in a client's fiber ---- */

/* To a random gateway, if it is not. */
bool client_connect(struct client *c);
/* Runs a statement, connecting first if need be. False: it was not sent. The
 * result lives in c->arena, until the next operation. *started is when it was
 * sent. */
bool client_query(struct client *c, struct sim_pg_result *r, uint64_t *started,
    const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* The same again and again until it succeeds, for setup and check; false, and
 * the run has failed, when that takes too long. */
bool client_insist(struct client *c, struct sim_pg_result *r, const char *fmt,
    ...) __attribute__((format(printf, 3, 4)));
/* A value that nobody else writes. */
uint64_t client_value(struct client *c);
/* Fails the run unless the error is one that faults explain. */
void client_expect_fair(struct client *c, const struct sim_pg_result *r);
/* Closes the connection, if there is one. */
void client_leave(struct client *c);
void client_sleep(struct client *c, uint64_t us);
/* Writes and reads of rows (k, v) of a table, recorded in the history. */
struct client_op {
	const char *table;
	enum reg_kind kind;
	uint64_t key;
	bool stale; /* a read that may be behind */
};
void client_do(struct client *c, const struct client_op *op);
/* Reads all rows of (k, v), by a scan and by key, into the history; every key
 * below n_keys. */
void client_read_back(struct client *c, const char *table, uint64_t n_keys);
bool str_number(struct str s, uint64_t *out);

extern const struct scenario *const scenarios[];
const struct scenario *scenario_named(const char *name);

#endif
