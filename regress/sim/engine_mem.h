/* base/engine.h in memory, for the simulator and unit tests: the same contract
 * as the engine on WiredTiger, in virtual time, with the faults of a disk.
 *
 * The disk outlives the engine: a crash is freeing the world, then
 * engine_mem_crash, then engine_mem_open in a new one. */
#ifndef REGRESS_SIM_ENGINE_MEM_H
#define REGRESS_SIM_ENGINE_MEM_H

#include "base/engine.h"

struct engine_mem_disk;

enum engine_mem_step {
	ENGINE_MEM_RUN,  /* from submit (or the lane's job before) to its run */
	ENGINE_MEM_DONE, /* from the run to its completion */
	ENGINE_MEM_FLUSH
};

enum engine_mem_space { ENGINE_MEM_ROOM, ENGINE_MEM_LOW, ENGINE_MEM_FULL };

/* What the test decides; every hook may be NULL (no delay, no fault). */
struct engine_mem_hooks {
	void *arg;
	uint64_t (*delay_us)(
	    void *arg, enum engine_mem_step step, uint64_t lane);
	/* The job is run twice, its first run being undone. */
	bool (*conflict)(void *arg);
	/* LOW: not writable, jobs still run. FULL: they are refused, too. */
	enum engine_mem_space (*space)(void *arg);
	/* True: this flush fails. The process must die of it: `died` is called
	 * and the flush never completes. */
	bool (*io_error)(void *arg);
	void (*died)(void *arg);
};

/* Lives in `a`. */
struct engine_mem_disk *engine_mem_disk_new(struct arena *a);

/* The engine lives in the world's arena; hooks are copied and may be NULL. */
struct err *engine_mem_open(struct world *w, struct arena *a,
    struct engine_mem_disk *disk, const struct engine_mem_hooks *hooks,
    struct engine **out);

/* After the engine is gone: of what was not flushed a random prefix, in order
 * of commit, stays. Returns how many transactions were lost. */
size_t engine_mem_crash(struct engine_mem_disk *disk, uint64_t seed);

/* Transactions committed but not flushed. */
size_t engine_mem_unflushed(const struct engine_mem_disk *disk);
/* What is there now, flushed or not: all records from a key on, in order, until
 * the function says false. Views: nothing may run meanwhile. */
void engine_mem_each(const struct engine_mem_disk *disk, enum kv_file f,
    struct str from, bool (*fn)(void *arg, struct str key, struct str val),
    void *arg);
/* A record of a disk that nobody uses now, as if it had been flushed; the key
 * must not be there. */
void engine_mem_add(struct engine_mem_disk *disk, enum kv_file f,
    struct str key, struct str val);
/* Changes one byte of a record's value, behind everybody's back. */
void engine_mem_damage(
    struct engine_mem_disk *disk, enum kv_file f, struct str key, size_t at);
/* A number that is the same for equal content of all files. */
uint64_t engine_mem_digest(const struct engine_mem_disk *disk);

#endif
