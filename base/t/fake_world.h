/* A world for unit tests: time stands still until the test moves it. */
#ifndef BASE_T_FAKE_WORLD_H
#define BASE_T_FAKE_WORLD_H

#include "base/fiber.h"
#include "base/world.h"

struct fake_world {
	struct world w;
	uint64_t now_us;
	uint64_t armed_us; /* the scheduler's last wish */
	uint64_t random;
};

static uint64_t
fake_mono(struct world *w)
{
	return CONTAINER(w, struct fake_world, w)->now_us;
}

static void
fake_random(struct world *w, void *p, size_t n)
{
	struct fake_world *f = CONTAINER(w, struct fake_world, w);
	uint8_t *to = p;

	for (size_t i = 0; i < n; i++) {
		f->random =
		    f->random * 6364136223846793005u + 1442695040888963407u;
		to[i] = (uint8_t)(f->random >> 56);
	}
}

static void
fake_arm(struct world *w, uint64_t when_us)
{
	CONTAINER(w, struct fake_world, w)->armed_us = when_us;
}

static const struct world_ops fake_ops = {
    .mono_us = fake_mono,
    .wall_us = fake_mono,
    .random = fake_random,
    .arm = fake_arm,
};

static inline void
fake_start(struct fake_world *f)
{
	*f = (struct fake_world){
	    .w = {.ops = &fake_ops, .name = "fake"},
	    .now_us = 1000,
	    .armed_us = WORLD_FOREVER,
	};
	f->w.arena = arena_new(NULL, "fake world");
	sched_new(&f->w);
}

static inline void
fake_stop(struct fake_world *f)
{
	arena_free(f->w.arena);
}

/* Runs what is wanted now, and no timer that is not yet due. */
static inline void
fake_run(struct fake_world *f)
{
	while (f->armed_us <= f->now_us) {
		f->armed_us = WORLD_FOREVER;
		sched_run(f->w.sched);
	}
}

static inline void
fake_run_until(struct fake_world *f, uint64_t when_us)
{
	fake_run(f);
	while (f->armed_us <= when_us) {
		f->now_us = f->armed_us;
		fake_run(f);
	}
	f->now_us = when_us;
}

#endif
