#include "storage/clock.h"

#include "base/log.h"
#include "base/mutate.h"

#define START_PAUSE_US 20000u

struct bound_job {
	cl_stamp bound;
};

static void
read_bound(struct kv *kv, void *arg)
{
	struct bound_job *j = arg;
	struct str v;

	j->bound = 0;
	if (kv_get(kv, KV_META, STR("B"), &v)) {
		struct cur c = cur_of(v);

		j->bound = cur_le64(&c);
	}
}

static void
write_bound(struct kv *kv, void *arg)
{
	const struct bound_job *j = arg;
	uint8_t b[8];

	for (int i = 0; i < 8; i++)
		b[i] = (uint8_t)(j->bound >> (8 * i));
	kv_put(kv, KV_META, STR("B"), str_of(b, sizeof b));
}

static void
flush_bound(struct st_node *n, cl_stamp bound)
{
	struct bound_job j = {bound};

	/* A full disk must not stop the clock for ever: the guard lets go when
	 * there is space again. */
	while (engine_run(n->engine, ST_LANE_META, ENGINE_WRITE, write_bound,
		   &j) == ENGINE_FULL)
		fiber_sleep(n->world, world_mono_us(n->world) + 100000);
	if (!mutate("clock_bound_unflushed"))
		engine_sync(n->engine);
	cl_clock_flushed(&n->clock.c, bound);
	cond_broadcast(&n->clock.flushed);
}

static void
keep_ahead(void *arg)
{
	struct st_node *n = TAKE(struct st_node, arg, ST_NODE_MAGIC);

	while (n->state < ST_NODE_STOPPED) {
		cl_stamp bound =
		    cl_clock_want_bound(&n->clock.c, st_wall_ms(n));

		if (bound)
			flush_bound(n, bound);
		cond_wait_hard(&n->clock.want);
	}
	st_background_end(n);
}

/* After a crash the bound lies ahead of the clock: stamps below it may have
 * been issued, and those above it would run too far ahead, so time must pass.
 */
static void
wait_for_bound(struct st_node *n)
{
	uint64_t wall_ms = st_wall_ms(n);

	if (cl_clock_why(&n->clock.c, wall_ms, 0) == CL_CLOCK_SKEW)
		LOG(n->world, LOG_INFO, "clock", "wait", "ahead_ms=%llu",
		    (unsigned long long)(CL_STAMP_MS(n->clock.c.last) -
					 wall_ms));
	while (n->state == ST_NODE_STARTING &&
	       cl_clock_why(&n->clock.c, st_wall_ms(n), 0) == CL_CLOCK_SKEW)
		fiber_sleep(n->world, world_mono_us(n->world) + START_PAUSE_US);
}

void
st_clock_start(struct st_node *n)
{
	struct bound_job j = {0};
	cl_stamp bound;

	engine_run(n->engine, ST_LANE_META, ENGINE_READ, read_bound, &j);
	cl_clock_init(&n->clock.c, j.bound);
	wait_for_bound(n);
	bound = cl_clock_want_bound(&n->clock.c, st_wall_ms(n));
	if (bound)
		flush_bound(n, bound);
	st_background(n, "clock", keep_ahead);
}

void
st_clock_stop(struct st_node *n)
{
	struct bound_job j = {n->clock.c.last};

	if (j.bound)
		engine_run(
		    n->engine, ST_LANE_META, ENGINE_WRITE, write_bound, &j);
}

cl_stamp
st_clock_next(struct st_node *n, cl_stamp floor, enum cl_clock_state *why)
{
	uint64_t wall_ms = st_wall_ms(n);
	cl_stamp s;

	if (mutate("stamp_below_group"))
		floor = 0;
	*why = cl_clock_why(&n->clock.c, wall_ms, floor);
	s = *why == CL_CLOCK_OK ? cl_clock_next(&n->clock.c, wall_ms, floor)
				: 0;
	if (*why == CL_CLOCK_BOUND || cl_clock_want_bound(&n->clock.c, wall_ms))
		cond_signal(&n->clock.want);
	return s;
}

void
st_clock_wait(struct st_node *n)
{
	cond_signal(&n->clock.want);
	cond_wait(&n->clock.flushed, world_mono_us(n->world) + 100000);
}

void
st_clock_observe(struct st_node *n, cl_stamp s)
{
	if (!cl_clock_observe(&n->clock.c, s, st_wall_ms(n)))
		LOG(n->world, LOG_WARN, "clock", "stamp_ahead",
		    "stamp_ms=%llu wall_ms=%llu",
		    (unsigned long long)CL_STAMP_MS(s),
		    (unsigned long long)st_wall_ms(n));
}
