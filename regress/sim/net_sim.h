/* The network between simulated hosts.  Connections are as TCP makes them: in
 * order, at most once, and ended in ways that leave both sides with different
 * ideas of what arrived.
 *
 * Addresses are "host:port" with the name of a host. */
#ifndef REGRESS_SIM_NET_SIM_H
#define REGRESS_SIM_NET_SIM_H

#include "regress/sim/world_sim.h"

struct sim_net_conf {
	uint64_t latency_us;     /* mean of one way */
	uint64_t latency_min_us; /* at least */
	uint32_t slow_ppm;       /* frames that take a hundred times as long */
	uint32_t reset_ppm;      /* frames whose connection breaks after they
				  * arrived: before any answer */
	uint32_t lost_ppm;       /* frames that are lost, with the connection */
	uint32_t stall_ppm;      /* frames at which a connection stands still */
	uint64_t stall_us;       /* for how long, in the mean */
	uint32_t half_open_ppm;  /* connects that arrive and are not answered */
	uint32_t connect_lost_ppm; /* connects that do not arrive */
};

struct sim_net_counts {
	uint64_t frames, connects, refused, timed_out;
	uint64_t resets, lost, stalls, half_open, broken;
	uint64_t hour_late; /* frames that arrived an hour after they left */
};

void sim_net_conf(struct sim *s, const struct sim_net_conf *c);
void sim_net_conf_get(const struct sim *s, struct sim_net_conf *c);
/* Nothing passes from one host to the other: connections stand still, and die
 * when it lasts. */
void sim_net_block(struct sim_host *from, struct sim_host *to, bool blocked);
void sim_net_heal(struct sim *s); /* undoes every block */
/* A random connection breaks, or stands still for so long. */
void sim_net_break_one(struct sim *s, struct rng *r);
void sim_net_stall_one(struct sim *s, struct rng *r, uint64_t stall_us);
/* Every connection of which which(arg, host, other) says true stands still in
 * the direction that leaves the host. */
void sim_net_stall_where(struct sim *s, uint64_t stall_us,
    bool (*which)(void *arg, struct sim_host *from, struct sim_host *to),
    void *arg);
/* Is told, with a few others, of every frame when it has been sent, in the
 * middle of the sender's turn: it may kill, block and stall. */
void sim_net_tap(struct sim *s,
    void (*fn)(void *arg, struct sim_host *from, struct sim_host *to,
	struct str frame),
    void *arg);
/* Is asked of every frame that is to arrive; while it says false the frame
 * waits, and those behind it. */
void sim_net_gate(struct sim *s,
    bool (*fn)(void *arg, struct sim_host *from, struct sim_host *to,
	struct str frame),
    void *arg);
void sim_net_counts(const struct sim *s, struct sim_net_counts *c);

#endif
