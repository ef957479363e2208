#include "gateway/facts.h"

#include "base/fiber.h"

#define PROBE_EVERY_US  5000000u
#define PROBE_ANSWER_US 2000000u

/* One question to all members. */
struct question {
	uint16_t kind, expect;
	const void *msg;
	uint64_t deadline_us;
};

struct asked {
	uint32_t member;
	struct gw_call call;
};

/* The calls are done when it returns. */
static struct asked *
ask_members(
    struct gw_worker *w, struct arena *a, const struct question *q, uint32_t *n)
{
	const struct cl_catalog *c = gw_catalog_now(w->catalog);
	const struct cl_object *o;
	struct asked *all;
	struct cond wake;
	size_t at = 0;

	*n = 0;
	while (cl_each(c, CL_MEMBER, &at))
		++*n;
	all = NEW_N(a, struct asked, *n + 1);
	cond_init(&wake, w->world);
	at = *n = 0;
	while ((o = cl_each(c, CL_MEMBER, &at))) {
		struct asked *s = &all[(*n)++];

		s->member = o->id;
		s->call = (struct gw_call){.arena = a, .wake = &wake};
		gw_call_begin(gw_peers_member(w->peers, c, o->id), &s->call,
		    q->kind, q->msg);
	}
	for (uint32_t i = 0; i < *n; i++)
		(void)gw_call_wait(&all[i].call, q->deadline_us);
	return all;
}

static bool
answered(const struct asked *s, const struct question *q)
{
	return s->call.result == GW_OK && s->call.reply_kind == q->expect;
}

void
gw_facts_members(struct gw_worker *w, struct arena *a, uint64_t deadline_us,
    struct gw_member_fact **out, uint32_t *n)
{
	struct cl_status_get get = {.unused = 0};
	struct question q = {
	    CL_MSG_STATUS_GET, CL_MSG_STATUS, &get, deadline_us};
	struct asked *all = ask_members(w, a, &q, n);

	*out = NEW_N(a, struct gw_member_fact, *n + 1);
	for (uint32_t i = 0; i < *n; i++) {
		const struct cl_status *st = all[i].call.reply;
		struct gw_member_fact *f = &(*out)[i];

		f->member = all[i].member;
		f->up = answered(&all[i], &q);
		if (f->up)
			f->json = st->json;
		else
			f->why =
			    all[i].call.why ? all[i].call.why : "no answer";
	}
}

/* ---- the probe ---- */

#define PROBE_MAGIC 0x70726f62u

struct gw_probe {
	uint32_t magic;
	struct gw_worker *worker;
	struct cond wake;
	bool stop;
	struct arena *arena; /* of the facts; replaced with them */
	struct gw_member_fact *facts;
	uint32_t n;
};

static void
probe_once(struct gw_probe *p)
{
	struct world *w = p->worker->world;
	struct arena *a = arena_new(w->arena, "probe");
	struct gw_member_fact *facts;
	uint32_t n;

	gw_facts_members(
	    p->worker, a, world_mono_us(w) + PROBE_ANSWER_US, &facts, &n);
	arena_free(p->arena);
	p->arena = a;
	p->facts = facts;
	p->n = n;
}

static void
probe_fiber(void *arg)
{
	struct gw_probe *p = TAKE(struct gw_probe, arg, PROBE_MAGIC);
	struct world *w = p->worker->world;

	while (
	    !p->stop && gw_catalog_wait(p->worker->catalog, 1, WORLD_FOREVER)) {
		uint64_t until = world_mono_us(w) + PROBE_EVERY_US;

		probe_once(p);
		while (!p->stop && cond_wait(&p->wake, until) == WAKE_EVENT)
			;
	}
}

struct gw_probe *
gw_probe_start(struct gw_worker *w)
{
	struct gw_probe *p = NEW(w->world->arena, struct gw_probe);

	p->magic = PROBE_MAGIC;
	p->worker = w;
	cond_init(&p->wake, w->world);
	(void)fiber_spawn(
	    w->world, "probe", FIBER_STACK_GATEWAY, probe_fiber, p);
	return p;
}

void
gw_probe_stop(struct gw_probe *p)
{
	p->stop = true;
	cond_broadcast(&p->wake);
}

const struct gw_member_fact *
gw_probe_member(const struct gw_probe *p, uint32_t member)
{
	for (uint32_t i = 0; i < p->n; i++) {
		if (p->facts[i].member == member)
			return &p->facts[i];
	}
	return NULL;
}
