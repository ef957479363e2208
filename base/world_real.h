/* The real world: one libevent loop per thread, the system's clocks and random
 * numbers, bufferevents for frames. */
#ifndef BASE_WORLD_REAL_H
#define BASE_WORLD_REAL_H

#include "base/world.h"

struct event_base;

/* `open_engine` is how this program opens its engine (storage/engine_wt.h), or
 * NULL where there is none. The world lives in its own root arena. */
struct world *world_real_new(const char *name,
    struct err *(*open_engine)(struct world *w, struct arena *a,
	const struct engine_config *conf, struct engine **out));
/* Runs until world_real_stop. */
void world_real_run(struct world *w);
/* From the loop's own thread. */
void world_real_stop(struct world *w);
/* From any thread: runs fn(arg) on w's loop, in order per caller. The only
 * function here that another thread may call. */
void world_real_call(struct world *w, void (*fn)(void *arg), void *arg);
void world_real_free(struct world *w);
/* SIGTERM/SIGINT run fn(arg) on this loop; one world per process. (SIGPIPE is
 * ignored from the first world_real_new on.) */
void world_real_on_signal(
    struct world *w, void (*fn)(void *arg, int sig), void *arg);
/* For http.c, which uses evhttp directly. */
struct event_base *world_real_base(struct world *w);
/* Starts a thread; the name shows in ps. Never fails (ends the process). */
void world_real_thread(
    const char *name, void (*fn)(void *arg), void *arg, void **handle);
void world_real_join(void *handle);

#endif
