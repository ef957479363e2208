/* Two worlds for tests of this folder, behind one face: virtual time with the
 * engine in memory, and the real loop with WiredTiger in a directory of its
 * own.  A test body runs in a fiber of the rig. */
#ifndef STORAGE_T_RIG_H
#define STORAGE_T_RIG_H

#include "base/engine.h"
#include "base/fiber.h"
#include "regress/sim/engine_mem.h"

enum rig_kind { RIG_MEM, RIG_WT, RIG_WT_INLINE };

struct rig {
	enum rig_kind kind;
	struct arena *arena;
	struct world *world;
	struct engine *engine;
	struct engine_config conf;
	char dir[64];
	/* In memory. */
	uint64_t now_us;
	uint64_t wall_offset_us;
	uint64_t armed_us;
	uint64_t random;
	struct world fake;
	struct engine_mem_disk *disk;
	struct engine_mem_hooks hooks;
	/* The body. */
	void (*fn)(struct rig *r);
	bool done;
};

void rig_start(struct rig *r, enum rig_kind kind);
/* Opens (again) the rig's engine. */
void rig_open(struct rig *r);
void rig_close(struct rig *r);
/* In memory: the process dies, and comes back with its disk. */
void rig_crash(struct rig *r, uint64_t seed);
void rig_stop(struct rig *r);
/* Runs fn(r) in a fiber until it returns. */
void rig_run(struct rig *r, void (*fn)(struct rig *r));
/* In the fiber: lets time pass. */
void rig_sleep(struct rig *r, uint64_t us);

#endif
