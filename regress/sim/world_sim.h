/* The simulated world: one thread, one queue of events in virtual time, one
 * seed.  A *process* is a struct world with its own arena, scheduler, clocks
 * and random stream, on a *host* that outlives it; crashing is freeing the
 * arena, and booting again starts anew.  Frames travel over a network whose
 * faults are in net_sim.h.
 *
 * Everything that happens is folded into one hash, in order: two runs of a
 * seed are the same run when their hashes are equal. */
#ifndef REGRESS_SIM_WORLD_SIM_H
#define REGRESS_SIM_WORLD_SIM_H

#include <stdio.h>

#include "base/fiber.h"
#include "base/world.h"
#include "regress/sim/rng.h"

struct sim;
struct sim_host;

struct sim *sim_new(uint64_t seed);
/* Crashes all processes and frees everything. */
void sim_free(struct sim *s);

uint64_t sim_seed(const struct sim *s);
/* Virtual microseconds since the beginning. */
uint64_t sim_now(const struct sim *s);
/* What a wall clock shows that is right. */
uint64_t sim_wall_us(const struct sim *s);
uint64_t sim_hash(const struct sim *s);
uint64_t sim_events(const struct sim *s);
struct arena *sim_arena(struct sim *s);
/* A random stream of its own for a part of the simulation. */
struct rng sim_rng(const struct sim *s, const char *part);

/* Runs fn(arg) at a virtual time; it survives every crash. */
void sim_at(struct sim *s, uint64_t when_us, void (*fn)(void *arg), void *arg);
/* Runs all events up to that time, or until *stop; time is then `until_us`
 * unless stopped. */
void sim_run(struct sim *s, uint64_t until_us, const bool *stop);

/* ---- trace ---- */
/* Lines with virtual times; NULL (the default) = none. Log lines of processes
 * go there too. */
void sim_trace_to(struct sim *s, FILE *f);
bool sim_tracing(const struct sim *s);
void sim_trace(struct sim *s, const char *who, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* How frames are shown: a text in `a`. NULL = their length only. */
void sim_trace_frames(
    struct sim *s, const char *(*fn)(struct arena *a, struct str frame));
/* What happened becomes part of the run's hash. */
void sim_note(struct sim *s, const char *what, struct str bytes);

/* ---- hosts and their processes ---- */

struct sim_host_opts {
	const char *name; /* kept; also the first part of its addresses */
	/* Builds the process in its fresh world. Runs at each boot. */
	void (*boot)(void *arg, struct world *w);
	/* The process is about to vanish: its memory is still there. */
	void (*gone)(void *arg);
	void *arg;
	struct err *(*engine_open)(void *arg, struct world *w, struct arena *a,
	    const struct engine_config *conf, struct engine **out);
};

struct sim_host *sim_host_new(struct sim *s, const struct sim_host_opts *o);
const char *sim_host_name(const struct sim_host *h);
struct sim *sim_host_sim(struct sim_host *h);
struct sim_host *sim_host_of(struct world *w);
/* NULL while it has no process. */
struct world *sim_host_world(struct sim_host *h);
bool sim_host_up(const struct sim_host *h);
/* How often it was booted. */
uint32_t sim_host_boots(const struct sim_host *h);

void sim_boot(struct sim_host *h);
/* Kills the process; peers hear of it soon. Also from inside the process, which
 * then runs no further than its next wait, and sends nothing more. */
void sim_kill(struct sim_host *h);
/* The same with the machine: peers hear nothing until it is on again, or until
 * their own patience ends. */
void sim_power_off(struct sim_host *h);
/* Nothing of the process runs until then; 0 wakes it. */
void sim_pause(struct sim_host *h, uint64_t until_us);
/* All that are up. */
void sim_pause_all(struct sim *s, uint64_t until_us);

/* A fiber in its present process, soon; nothing if that ends first. From
 * anywhere. */
void sim_spawn(
    struct sim_host *h, const char *name, void (*fn)(void *arg), void *arg);

/* Its clocks: how fast the monotonic one runs, in parts per million of too
 * much, and how far the wall clock is ahead. */
void sim_clock_drift(struct sim_host *h, int32_t ppm);
void sim_clock_skew(struct sim_host *h, int64_t ahead_us);

#endif
