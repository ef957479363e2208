#include "regress/sim/world_sim.h"

#include <inttypes.h>
#include <stdarg.h>
#include <xxhash.h>

#include "base/log.h"
#include "regress/sim/sim_int.h"

/* The wall clocks begin on 2026-01-01. */
#define EPOCH_US 1767225600000000u
/* A scheduler that wants to run now does so after at most this, mostly. */
#define TURN_MAX_US      20u
#define TURN_LATE_PPM    1000u
#define TURN_LATE_MAX_US 20000u

/* ---- events ---- */

static bool
earlier(const struct sim_event *a, const struct sim_event *b)
{
	return a->when != b->when ? a->when < b->when : a->serial < b->serial;
}

static void
heap_push(struct sim *s, struct sim_event e)
{
	size_t at;

	if (s->n_heap + 2 > s->cap_heap) {
		size_t cap = s->cap_heap ? s->cap_heap * 2 : 1024;

		s->heap = arena_grow(s->arena, s->heap,
		    s->cap_heap * sizeof *s->heap, cap * sizeof *s->heap);
		s->cap_heap = cap;
	}
	at = ++s->n_heap;
	while (at > 1 && earlier(&e, &s->heap[at / 2])) {
		s->heap[at] = s->heap[at / 2];
		at /= 2;
	}
	s->heap[at] = e;
}

static struct sim_event
heap_pop(struct sim *s)
{
	struct sim_event top = s->heap[1], last = s->heap[s->n_heap--];
	size_t at = 1;

	for (;;) {
		size_t kid = at * 2;

		if (kid > s->n_heap)
			break;
		if (kid < s->n_heap &&
		    earlier(&s->heap[kid + 1], &s->heap[kid]))
			kid++;
		if (!earlier(&s->heap[kid], &last))
			break;
		s->heap[at] = s->heap[kid];
		at = kid;
	}
	s->heap[at] = last;
	return top;
}

void
sim_at(struct sim *s, uint64_t when_us, void (*fn)(void *arg), void *arg)
{
	if (when_us < s->now)
		when_us = s->now;
	heap_push(s, (struct sim_event){when_us, ++s->serial, fn, arg});
}

void
sim_run(struct sim *s, uint64_t until_us, const bool *stop)
{
	ASSERT(!s->current);
	while (s->n_heap > 0 && s->heap[1].when <= until_us) {
		struct sim_event e = heap_pop(s);

		ASSERT(e.when >= s->now);
		s->now = e.when;
		s->n_events++;
		e.fn(e.arg);
		ASSERT(!s->current);
		if (stop && *stop)
			return;
	}
	s->now = until_us;
}

/* ---- hash and trace ---- */

void
sim_fold(struct sim *s, const struct sim_host *h, struct str what)
{
	uint64_t v[4] = {s->hash, s->now, h ? h->index + 1 : 0,
	    XXH3_64bits(what.p ? what.p : "", what.len)};

	s->hash = XXH3_64bits(v, sizeof v);
}

void
sim_note(struct sim *s, const char *what, struct str bytes)
{
	sim_fold(s, s->current, str_c(what));
	sim_fold(s, s->current, bytes);
}

static void
log_line(void *arg, const char *line, size_t len)
{
	struct sim *s = arg;

	if (s->trace)
		fprintf(s->trace, "%12.6f %-10s | %.*s", (double)s->now / 1e6,
		    s->current ? s->current->opts.name : "-", (int)len, line);
}

void
sim_trace_to(struct sim *s, FILE *f)
{
	s->trace = f;
	log_set_level(f ? LOG_TRACE : LOG_ERROR);
}

bool
sim_tracing(const struct sim *s)
{
	return s->trace != NULL;
}

void
sim_trace(struct sim *s, const char *who, const char *fmt, ...)
{
	va_list ap;

	if (!s->trace)
		return;
	fprintf(s->trace, "%12.6f %-10s ", (double)s->now / 1e6, who);
	va_start(ap, fmt);
	vfprintf(s->trace, fmt, ap);
	va_end(ap);
	fputc('\n', s->trace);
}

void
sim_trace_frames(
    struct sim *s, const char *(*fn)(struct arena *a, struct str frame))
{
	s->describe = fn;
}

const char *
sim_describe(const struct sim *s, struct arena *a, struct str frame)
{
	if (s->describe)
		return s->describe(a, frame);
	return arena_printf(a, "of %zu bytes", frame.len);
}

/* ---- the operations of a world ---- */

struct sim_host *
sim_host_of(struct world *w)
{
	struct sim_host *h = CONTAINER(w, struct sim_host, world);

	ASSERT(h->magic == SIM_HOST_MAGIC);
	return h;
}

static uint64_t
mono_of(const struct sim_host *h, uint64_t now)
{
	uint64_t gone = now - h->mono_at;
	int64_t extra = (int64_t)gone / 1000 * h->drift_ppm / 1000;

	return h->mono_base + gone + (uint64_t)extra;
}

static uint64_t
op_mono(struct world *w)
{
	struct sim_host *h = sim_host_of(w);

	return mono_of(h, h->sim->now);
}

static uint64_t
op_wall(struct world *w)
{
	struct sim_host *h = sim_host_of(w);

	return EPOCH_US + h->sim->now + (uint64_t)h->skew_us;
}

static void
op_random(struct world *w, void *p, size_t n)
{
	rng_fill(&sim_host_of(w)->rng, p, n);
}

static void
turn_ev(void *arg)
{
	struct sim_host *h = arg;
	struct sim *s = h->sim;

	/* An older wish, or one of a process that is gone. */
	if (!h->up || s->now != h->armed_at)
		return;
	if (h->paused_until > s->now) {
		h->armed_at = h->paused_until;
		sim_at(s, h->armed_at, turn_ev, h);
		return;
	}
	h->armed_at = UINT64_MAX;
	sim_fold(s, h, STR("turn"));
	sim_enter(h);
	sched_run(h->world.sched);
	sim_leave(h);
}

static uint64_t
turn_delay(struct sim *s)
{
	if (rng_ppm(&s->order, TURN_LATE_PPM))
		return rng_between(&s->order, 1, TURN_LATE_MAX_US);
	return rng_between(&s->order, 1, TURN_MAX_US);
}

static void
op_arm(struct world *w, uint64_t when_us)
{
	struct sim_host *h = sim_host_of(w);
	struct sim *s = h->sim;
	uint64_t mono = mono_of(h, s->now);
	uint64_t at = s->now + turn_delay(s);

	if (when_us == WORLD_FOREVER)
		return;
	if (when_us > mono) {
		uint64_t wait = when_us - mono;
		int64_t extra = (int64_t)(wait / 1000) * -h->drift_ppm / 1000;

		/* Too early does no harm: the scheduler asks again. */
		at += wait + (uint64_t)extra;
	}
	if (h->armed_at <= at)
		return;
	h->armed_at = at;
	sim_at(s, at, turn_ev, h);
}

static struct err *
op_engine_open(struct world *w, struct arena *a,
    const struct engine_config *conf, struct engine **out)
{
	struct sim_host *h = sim_host_of(w);

	if (!h->opts.engine_open)
		return ERR(a, ERRCODE_FEATURE_NOT_SUPPORTED,
		    "this host has no storage engine");
	return h->opts.engine_open(h->opts.arg, w, a, conf, out);
}

static const struct world_ops sim_ops = {
    .mono_us = op_mono,
    .wall_us = op_wall,
    .random = op_random,
    .arm = op_arm,
    .net_connect = sim_net_connect,
    .net_listen = sim_net_listen,
    .net_unlisten = sim_net_unlisten,
    .net_adopt = sim_net_adopt,
    .net_send = sim_net_send,
    .net_backlog = sim_net_backlog,
    .net_pause = sim_net_pause,
    .net_close = sim_net_close,
    .net_peer = sim_net_peer,
    .engine_open = op_engine_open,
};

/* ---- hosts ---- */

struct sim_host *
sim_host_new(struct sim *s, const struct sim_host_opts *o)
{
	struct sim_host *h = NEW(s->arena, struct sim_host);

	ASSERT(s->n_hosts < SIM_HOSTS_MAX && o->name && o->boot);
	h->magic = SIM_HOST_MAGIC;
	h->index = s->n_hosts;
	h->sim = s;
	h->opts = *o;
	h->powered = true;
	h->armed_at = UINT64_MAX;
	s->hosts[s->n_hosts++] = h;
	return h;
}

const char *
sim_host_name(const struct sim_host *h)
{
	return h->opts.name;
}

struct sim *
sim_host_sim(struct sim_host *h)
{
	return h->sim;
}

struct world *
sim_host_world(struct sim_host *h)
{
	return h->up ? &h->world : NULL;
}

bool
sim_host_up(const struct sim_host *h)
{
	return h->up;
}

uint32_t
sim_host_boots(const struct sim_host *h)
{
	return h->boots;
}

void
sim_boot(struct sim_host *h)
{
	struct sim *s = h->sim;

	ASSERT(!h->up && !s->current);
	h->boots++;
	h->rng = rng_of(s->seed, ((uint64_t)h->index << 32) + h->boots);
	if (h->boots == 1 || !h->powered) {
		/* A machine counts from when it was switched on. */
		h->mono_at = s->now;
		h->mono_base = rng_between(&h->rng, 1000000, 3600000000u);
	}
	if (!h->powered)
		sim_net_powered_on(h);
	h->powered = true;
	h->up = true;
	h->doom = DOOM_NONE;
	h->paused_until = 0;
	h->armed_at = UINT64_MAX;
	h->world = (struct world){.ops = &sim_ops, .name = h->opts.name};
	h->world.arena = arena_new(NULL, h->opts.name);
	sim_trace(s, h->opts.name, "boot %u", h->boots);
	sim_fold(s, h, STR("boot"));
	sim_enter(h);
	sched_new(&h->world);
	h->opts.boot(h->opts.arg, &h->world);
	sim_leave(h);
}

static void
end(struct sim_host *h, enum sim_doom how)
{
	struct sim *s = h->sim;

	sim_trace(s, h->opts.name, how == DOOM_POWER ? "power off" : "killed");
	sim_fold(s, h, how == DOOM_POWER ? STR("power off") : STR("killed"));
	if (how == DOOM_POWER) {
		h->powered = false;
		sim_net_powered_off(h);
	} else {
		sim_net_killed(h);
	}
	if (h->opts.gone)
		h->opts.gone(h->opts.arg);
	h->up = false;
	h->doom = DOOM_NONE;
	arena_free(h->world.arena);
	h->world.arena = NULL;
}

static void
doom(struct sim_host *h, enum sim_doom how)
{
	if (!h->up || h->doom != DOOM_NONE)
		return;
	if (h->sim->current == h)
		h->doom = how;
	else
		end(h, how);
}

void
sim_kill(struct sim_host *h)
{
	doom(h, DOOM_KILL);
}

void
sim_power_off(struct sim_host *h)
{
	if (!h->up && h->powered) {
		h->powered = false;
		sim_net_powered_off(h);
	}
	doom(h, DOOM_POWER);
}

void
sim_pause(struct sim_host *h, uint64_t until_us)
{
	sim_trace(
	    h->sim, h->opts.name, "paused until %.6f", (double)until_us / 1e6);
	h->paused_until = until_us;
	if (until_us > h->sim->now || !h->up)
		return;
	/* It may have been asleep. */
	h->armed_at = h->sim->now + 1;
	sim_at(h->sim, h->armed_at, turn_ev, h);
}

void
sim_pause_all(struct sim *s, uint64_t until_us)
{
	for (uint32_t i = 0; i < s->n_hosts; i++)
		if (s->hosts[i]->up)
			sim_pause(s->hosts[i], until_us);
}

void
sim_enter(struct sim_host *h)
{
	ASSERT(h->up && !h->sim->current);
	h->sim->current = h;
}

void
sim_leave(struct sim_host *h)
{
	ASSERT(h->sim->current == h);
	h->sim->current = NULL;
	if (h->doom != DOOM_NONE)
		end(h, h->doom);
}

/* Time goes on from where the clock stands. */
void
sim_clock_drift(struct sim_host *h, int32_t ppm)
{
	struct sim *s = h->sim;

	h->mono_base = mono_of(h, s->now);
	h->mono_at = s->now;
	h->drift_ppm = ppm;
}

void
sim_clock_skew(struct sim_host *h, int64_t ahead_us)
{
	sim_trace(h->sim, h->opts.name, "wall clock %+" PRId64 " us", ahead_us);
	h->skew_us = ahead_us;
}

/* ---- the whole ---- */

struct sim *
sim_new(uint64_t seed)
{
	struct arena *a = arena_new(NULL, "simulation");
	struct sim *s = NEW(a, struct sim);

	s->arena = a;
	s->seed = seed;
	s->now = 1000000;
	s->order = sim_rng(s, "order");
	s->net_rng = sim_rng(s, "net");
	s->net.latency_us = 1000;
	s->net.latency_min_us = 50;
	list_init(&s->links);
	list_init(&s->listeners);
	log_set_sink(log_line, s);
	log_set_rate(0);
	log_set_level(LOG_ERROR);
	return s;
}

void
sim_free(struct sim *s)
{
	for (uint32_t i = 0; i < s->n_hosts; i++)
		sim_kill(s->hosts[i]);
	log_set_sink(NULL, NULL);
	arena_free(s->arena);
}

uint64_t
sim_seed(const struct sim *s)
{
	return s->seed;
}

uint64_t
sim_now(const struct sim *s)
{
	return s->now;
}

uint64_t
sim_wall_us(const struct sim *s)
{
	return EPOCH_US + s->now;
}

uint64_t
sim_hash(const struct sim *s)
{
	return s->hash;
}

uint64_t
sim_events(const struct sim *s)
{
	return s->n_events;
}

struct arena *
sim_arena(struct sim *s)
{
	return s->arena;
}

struct rng
sim_rng(const struct sim *s, const char *part)
{
	return rng_of(s->seed, XXH3_64bits(part, strlen(part)));
}

struct spawn {
	struct sim_host *host;
	uint32_t boots;
	const char *name;
	void (*fn)(void *arg);
	void *arg;
};

static void
spawn_ev(void *arg)
{
	const struct spawn *p = arg;
	struct sim_host *h = p->host;

	if (!h->up || h->boots != p->boots)
		return;
	sim_enter(h);
	fiber_spawn(&h->world, p->name, FIBER_STACK_GATEWAY, p->fn, p->arg);
	sim_leave(h);
}

void
sim_spawn(
    struct sim_host *h, const char *name, void (*fn)(void *arg), void *arg)
{
	struct spawn *p = NEW(h->sim->arena, struct spawn);

	*p = (struct spawn){h, h->boots, name, fn, arg};
	sim_at(h->sim, h->sim->now, spawn_ev, p);
}
