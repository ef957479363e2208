/* What world_sim.c and net_sim.c share. */
#ifndef REGRESS_SIM_SIM_INT_H
#define REGRESS_SIM_SIM_INT_H

#include "base/net.h"
#include "regress/sim/net_sim.h"
#include "regress/sim/world_sim.h"

#define SIM_HOSTS_MAX  64
#define SIM_HOST_MAGIC 0x53484f53u
#define SIM_TAPS_MAX   4

enum sim_doom { DOOM_NONE, DOOM_KILL, DOOM_POWER };

struct sim_host {
	uint32_t magic;
	uint32_t index;
	struct sim *sim;
	struct sim_host_opts opts;
	struct world world; /* while up */
	bool up;            /* has a process */
	bool powered;
	enum sim_doom doom; /* a kill from inside waits for the way out */
	uint32_t boots;
	uint64_t paused_until;
	struct rng rng; /* of the present process */
	/* The wish of its scheduler; UINT64_MAX = none. */
	uint64_t armed_at;
	/* Monotonic time is mono_base at virtual time mono_at. */
	uint64_t mono_at;
	uint64_t mono_base;
	int32_t drift_ppm;
	int64_t skew_us;
};

struct sim_event {
	uint64_t when;
	uint64_t serial; /* orders what happens at one time */
	void (*fn)(void *arg);
	void *arg;
};

struct sim {
	struct arena *arena;
	uint64_t seed;
	uint64_t now;
	uint64_t serial;
	uint64_t hash;
	uint64_t n_events;
	struct sim_event *heap; /* heap[1] is next */
	size_t n_heap, cap_heap;
	struct sim_host *hosts[SIM_HOSTS_MAX];
	uint32_t n_hosts;
	struct sim_host *current; /* whose code runs now */
	struct rng order;         /* delays of the schedulers */
	FILE *trace;
	const char *(*describe)(struct arena *a, struct str frame);

	/* the network */
	struct rng net_rng;
	struct sim_net_conf net;
	struct sim_net_counts counts;
	struct list links;
	struct list listeners;
	uint64_t next_link;
	struct {
		void (*fn)(void *arg, struct sim_host *from,
		    struct sim_host *to, struct str frame);
		void *arg;
	} taps[SIM_TAPS_MAX];
	uint32_t n_taps;
	bool (*gate)(void *arg, struct sim_host *from, struct sim_host *to,
	    struct str frame);
	void *gate_arg;
	/* Since when frames from one host to another are stopped; 0 = not. */
	uint64_t blocked[SIM_HOSTS_MAX][SIM_HOSTS_MAX];
};

/* Around every piece of code of a process. */
void sim_enter(struct sim_host *h);
void sim_leave(struct sim_host *h);
/* Folds an event of a host into the hash. */
void sim_fold(struct sim *s, const struct sim_host *h, struct str what);

const char *sim_describe(
    const struct sim *s, struct arena *a, struct str frame);

/* The host's process or machine has gone, or is back: what its connections
 * make of it. */
void sim_net_killed(struct sim_host *h);
void sim_net_powered_off(struct sim_host *h);
void sim_net_powered_on(struct sim_host *h);

/* Operations of struct world_ops. */
struct err *sim_net_connect(struct world *w, struct arena *a, const char *addr,
    const struct net_events *ev, void *owner, struct net_conn **out);
struct err *sim_net_listen(struct world *w, struct arena *a, const char *addr,
    void (*accept_ev)(void *owner, struct net_conn *c), void *owner,
    struct net_listener **out);
void sim_net_unlisten(struct net_listener *l);
void sim_net_adopt(
    struct net_conn *c, const struct net_events *ev, void *owner);
void sim_net_send(struct net_conn *c, struct str frame);
size_t sim_net_backlog(const struct net_conn *c);
void sim_net_pause(struct net_conn *c, bool paused);
void sim_net_close(struct net_conn *c);
const char *sim_net_peer(const struct net_conn *c);

#endif
