/* Faults during a run, drawn from its seed: which kinds are on at all (about
 * half of those allowed), how often each comes, and when. */
#ifndef REGRESS_SIM_CHAOS_H
#define REGRESS_SIM_CHAOS_H

#include "regress/sim/fleet.h"
#include "regress/sim/net_sim.h"

#define CHAOS_KINDS                                                            \
	X(LATENCY, latency)     /* slow frames now and then */                 \
	X(RESET, reset)         /* connections break at frames */              \
	X(BREAK, break)         /* some connection breaks */                   \
	X(CLOG, clog)           /* some connection stalls for seconds */       \
	X(LATE, late)           /* some connection stalls for minutes */       \
	X(CONNECT, connect)     /* connects get lost or are half open */       \
	X(PARTITION, partition) /* two groups of hosts */                      \
	X(ONE_WAY, one_way)     /* one host does not reach another */          \
	X(NODE_KILL, node_kill)                                                \
	X(NODE_POWER, node_power)                                              \
	X(ALL_POWER, all_power) /* every machine at once */                    \
	X(GATEWAY_KILL, gateway_kill)                                          \
	X(RESTART, restart) /* a node, the clean way */                        \
	X(PAUSE, pause)     /* a process stands still */                       \
	X(DRIFT, drift)     /* monotonic clocks */                             \
	X(SKEW, skew)       /* wall clocks, within the allowed */              \
	X(JUMP, jump)       /* wall clocks, far beyond it */                   \
	X(DISK_FULL, disk_full)                                                \
	X(DISK_STALL, disk_stall)                                              \
	X(DISK_SLOW, disk_slow)                                                \
	X(DISK_ERROR, disk_error)   /* a flush fails, and the process ends */  \
	X(CONFLICT, conflict)       /* engine conflicts */                     \
	X(DISK_LOSS, disk_loss)     /* a node comes back without its data */   \
	X(LEASE_PAUSE, lease_pause) /* a node stands still over a lease */     \
	X(TAKEOVER, takeover)       /* a node is struck at a protocol step */  \
	X(HOUR, hour)               /* messages stay under way for an hour */  \
	X(GATEWAY_CLOCK, gateway_clock) /* gateways' wall clocks, far off */   \
	X(WEAVE, weave) /* some pairs of hosts, each for a while of its own */ \
	X(WILD_DRIFT, wild_drift) /* monotonic clocks, as far as allowed */

enum chaos_kind {
#define X(NAME, name) CHAOS_K_##NAME,
	CHAOS_KINDS
#undef X
	    CHAOS_N
};
enum {
#define X(NAME, name) CHAOS_##NAME = 1 << CHAOS_K_##NAME,
	CHAOS_KINDS
#undef X
	    CHAOS_ALL = (1 << CHAOS_N) - 1
};

struct chaos;

struct chaos_opts {
	unsigned always, never; /* bits of kinds */
	uint64_t until_us;      /* no new faults after that */
	bool wild;              /* as many as a seed may have */
};

/* Begins now. */
struct chaos *chaos_start(struct fleet *f, const struct chaos_opts *o);
/* Ends all faults; what is down comes up by itself. */
void chaos_heal(struct chaos *c);
const char *chaos_name(enum chaos_kind k);
bool chaos_is_on(const struct chaos *c, enum chaos_kind k);
/* Virtual time in which all processes stood still together. */
uint64_t chaos_slept_us(const struct chaos *c);
/* How often it struck. */
uint64_t chaos_count(const struct chaos *c, enum chaos_kind k);

#endif
