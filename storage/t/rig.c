#include "storage/t/rig.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/world_real.h"
#include "regress/lib/cu.h"
#include "storage/engine_wt.h"

static struct rig *
rig_of(struct world *w)
{
	return CONTAINER(w, struct rig, fake);
}

static uint64_t
fake_mono(struct world *w)
{
	return rig_of(w)->now_us;
}

static uint64_t
fake_wall(struct world *w)
{
	return rig_of(w)->now_us + rig_of(w)->wall_offset_us;
}

static void
fake_random(struct world *w, void *p, size_t n)
{
	struct rig *r = rig_of(w);
	uint8_t *to = p;

	for (size_t i = 0; i < n; i++) {
		r->random =
		    r->random * 6364136223846793005u + 1442695040888963407u;
		to[i] = (uint8_t)(r->random >> 56);
	}
}

static void
fake_arm(struct world *w, uint64_t when_us)
{
	rig_of(w)->armed_us = when_us;
}

/* Nodes in memory are called directly; nobody connects. */
static struct err *
fake_listen(struct world *w, struct arena *a, const char *addr,
    void (*accept_ev)(void *owner, struct net_conn *c), void *owner,
    struct net_listener **out)
{
	(void)a;
	(void)addr;
	(void)accept_ev;
	(void)owner;
	*out = arena_alloc(w->arena, 1);
	return NULL;
}

static void
fake_unlisten(struct net_listener *l)
{
	(void)l;
}

static struct err *
fake_engine(struct world *w, struct arena *a, const struct engine_config *conf,
    struct engine **out)
{
	struct rig *r = rig_of(w);

	(void)conf;
	return engine_mem_open(w, a, r->disk, &r->hooks, out);
}

static const struct world_ops fake_ops = {
    .mono_us = fake_mono,
    .wall_us = fake_wall,
    .random = fake_random,
    .arm = fake_arm,
    .net_listen = fake_listen,
    .net_unlisten = fake_unlisten,
    .engine_open = fake_engine,
};

static void
fake_world(struct rig *r)
{
	r->fake = (struct world){.ops = &fake_ops, .name = "rig"};
	r->fake.arena = arena_new(NULL, "rig world");
	r->armed_us = WORLD_FOREVER;
	r->world = &r->fake;
	sched_new(r->world);
}

void
rig_start(struct rig *r, enum rig_kind kind)
{
	*r = (struct rig){.kind = kind, .now_us = 1000000, .random = cu_seed()};
	log_set_level(getenv("SKAIDB_TRACE") ? LOG_TRACE : LOG_ERROR);
	r->wall_offset_us = 1700000000000000u;
	r->arena = arena_new(NULL, "rig");
	r->conf = (struct engine_config){.cache_bytes = 32u << 20,
	    .log_file_bytes = 2u << 20,
	    .checkpoint_log_bytes = 8u << 20,
	    .disk_reserve = 1u << 20,
	    .inline_writes = true,
	    .threads = kind == RIG_WT_INLINE ? 0 : 2};
	if (kind == RIG_MEM) {
		r->disk = engine_mem_disk_new(r->arena);
		fake_world(r);
		return;
	}
	snprintf(r->dir, sizeof r->dir, "/tmp/skaidb-rig-XXXXXX");
	MUST(mkdtemp(r->dir) != NULL);
	r->conf.dir = r->dir;
	r->world = world_real_new("rig", engine_wt_open);
}

void
rig_open(struct rig *r)
{
	struct err *e = engine_open(r->world, r->arena, &r->conf, &r->engine);

	if (e)
		fprintf(stderr, "%s\n", e->message);
	MUST(e == NULL);
}

void
rig_close(struct rig *r)
{
	engine_close(r->engine);
	r->engine = NULL;
}

void
rig_crash(struct rig *r, uint64_t seed)
{
	MUST(r->kind == RIG_MEM);
	arena_free(r->fake.arena);
	engine_mem_crash(r->disk, seed);
	r->engine = NULL;
	fake_world(r);
}

static int
remove_ev(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

void
rig_stop(struct rig *r)
{
	if (r->engine)
		rig_close(r);
	if (r->kind == RIG_MEM)
		arena_free(r->fake.arena);
	else
		world_real_free(r->world);
	if (r->dir[0])
		nftw(r->dir, remove_ev, 16, FTW_DEPTH | FTW_PHYS);
	arena_free(r->arena);
}

static void
body(void *arg)
{
	struct rig *r = arg;

	r->fn(r);
	r->done = true;
	if (r->kind != RIG_MEM)
		world_real_stop(r->world);
}

void
rig_run(struct rig *r, void (*fn)(struct rig *r))
{
	r->fn = fn;
	r->done = false;
	fiber_spawn(r->world, "test", FIBER_STACK_GATEWAY, body, r);
	if (r->kind != RIG_MEM) {
		world_real_run(r->world);
		return;
	}
	while (!r->done) {
		/* Nothing left to do: the body waits for ever. */
		MUST(r->armed_us != WORLD_FOREVER);
		if (r->armed_us > r->now_us)
			r->now_us = r->armed_us;
		r->armed_us = WORLD_FOREVER;
		sched_run(r->world->sched);
	}
}

void
rig_sleep(struct rig *r, uint64_t us)
{
	fiber_sleep(r->world, world_mono_us(r->world) + us);
}
