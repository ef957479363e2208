#include "gateway/facts.h"

#include <stdlib.h>

#include "base/fiber.h"

#define PROBE_EVERY_US  5000000u
#define PROBE_ANSWER_US 2000000u
#define INFO_ANSWER_US  1000000u

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

uint64_t
gw_facts_deadline(const struct gw_stmt *s)
{
	uint64_t until = world_mono_us(s->worker->world) + INFO_ANSWER_US;

	return until < s->deadline_us ? until : s->deadline_us;
}

void
gw_facts_infos(struct gw_worker *w, struct arena *a, uint64_t deadline_us,
    struct gw_member_info **out, uint32_t *n)
{
	struct cl_member_get get = {.unused = 0};
	struct question q = {
	    CL_MSG_MEMBER_GET, CL_MSG_MEMBER_INFO, &get, deadline_us};
	struct asked *all = ask_members(w, a, &q, n);

	*out = NEW_N(a, struct gw_member_info, *n + 1);
	for (uint32_t i = 0; i < *n; i++)
		(*out)[i] = (struct gw_member_info){all[i].member,
		    answered(&all[i], &q) ? all[i].call.reply : NULL};
}

static void
add_seen(struct cl_member_seen *sum, const struct cl_member_seen *m)
{
	if (m->member != sum->member)
		return;
	if (m->heard_us < sum->heard_us)
		sum->heard_us = m->heard_us;
	sum->follows += m->follows;
	sum->incomplete += m->incomplete;
	if (m->lag > sum->lag)
		sum->lag = m->lag;
	if (m->lag_us > sum->lag_us)
		sum->lag_us = m->lag_us;
}

void
gw_facts_seen(const struct gw_member_info *infos, uint32_t n, uint32_t member,
    struct cl_member_seen *out)
{
	*out =
	    (struct cl_member_seen){.member = member, .heard_us = UINT64_MAX};
	for (uint32_t i = 0; i < n; i++) {
		const struct cl_member_info *info = infos[i].info;

		/* Who answers was heard just now. */
		if (info && infos[i].member == member)
			out->heard_us = 0;
		for (uint32_t k = 0; info && k < info->n_others; k++)
			add_seen(out, &info->others[k]);
	}
}

/* ---- groups ---- */

/* Asks one member for the groups that it leads, page by page. */
struct pages {
	uint32_t member;
	struct gw_call call;
	struct cl_groups_get from;
	bool more;
};

static void
ask_page(
    struct gw_worker *w, struct arena *a, struct cond *wake, struct pages *p)
{
	struct gw_peer *peer =
	    gw_peers_member(w->peers, gw_catalog_now(w->catalog), p->member);

	p->call = (struct gw_call){.arena = a, .wake = wake};
	if (peer)
		gw_call_begin(peer, &p->call, CL_MSG_GROUPS_GET, &p->from);
	p->more = peer != NULL; /* no member any more */
}

static void
take_page(struct gw_group_facts *facts, struct arena *a, struct pages *p)
{
	const struct cl_groups *g = p->call.reply;

	p->more = false;
	if (p->call.result != GW_OK || p->call.reply_kind != CL_MSG_GROUPS)
		return;
	if (facts->n + g->n_groups > facts->cap) {
		uint32_t cap = (facts->n + g->n_groups) * 2;

		facts->items = arena_grow(a, facts->items,
		    facts->cap * sizeof *facts->items,
		    cap * sizeof *facts->items);
		facts->cap = cap;
	}
	for (uint32_t i = 0; i < g->n_groups; i++)
		facts->items[facts->n++] =
		    (struct gw_group_fact){p->member, g->groups[i]};
	p->more = g->more;
	p->from = (struct cl_groups_get){g->next_placement, g->next_slot};
}

/* By group; of two that say that they lead it, first the one with the higher
 * ballot: the other has not heard of it. */
static int
by_group(const void *x, const void *y)
{
	const struct gw_group_fact *a = x, *b = y;

	if (a->info.placement != b->info.placement)
		return a->info.placement < b->info.placement ? -1 : 1;
	if (a->info.slot != b->info.slot)
		return a->info.slot < b->info.slot ? -1 : 1;
	if (a->info.epoch != b->info.epoch)
		return a->info.epoch > b->info.epoch ? -1 : 1;
	if (a->info.round != b->info.round)
		return a->info.round > b->info.round ? -1 : 1;
	return (a->leader < b->leader) - (a->leader > b->leader);
}

static bool
same_group(const struct gw_group_fact *x, uint32_t placement, uint16_t slot)
{
	return x->info.placement == placement && x->info.slot == slot;
}

static void
order(struct gw_group_facts *facts)
{
	uint32_t n = 0;

	if (facts->n)
		qsort(facts->items, facts->n, sizeof *facts->items, by_group);
	for (uint32_t i = 0; i < facts->n; i++) {
		const struct gw_group_fact *f = &facts->items[i];

		if (!n || !same_group(&facts->items[n - 1], f->info.placement,
			      f->info.slot))
			facts->items[n++] = *f;
	}
	facts->n = n;
}

void
gw_facts_groups(struct gw_worker *w, struct arena *a, uint64_t deadline_us,
    struct gw_group_facts *out)
{
	const struct cl_catalog *c = gw_catalog_now(w->catalog);
	const struct cl_object *o;
	struct pages *all;
	struct cond wake;
	uint32_t n = 0;
	size_t at = 0;
	bool more = true;

	*out = (struct gw_group_facts){.n = 0};
	while (cl_each(c, CL_MEMBER, &at))
		n++;
	all = NEW_N(a, struct pages, n + 1);
	cond_init(&wake, w->world);
	at = n = 0;
	while ((o = cl_each(c, CL_MEMBER, &at)))
		all[n++] = (struct pages){.member = o->id, .more = true};
	while (more) {
		more = false;
		for (uint32_t i = 0; i < n; i++)
			if (all[i].more)
				ask_page(w, a, &wake, &all[i]);
		for (uint32_t i = 0; i < n; i++) {
			if (!all[i].more)
				continue;
			(void)gw_call_wait(&all[i].call, deadline_us);
			take_page(out, a, &all[i]);
			more = more || all[i].more;
		}
	}
	order(out);
}

const struct gw_group_fact *
gw_facts_group(
    const struct gw_group_facts *facts, uint32_t placement, uint16_t slot)
{
	uint32_t from = 0, to = facts->n;

	while (from < to) {
		uint32_t mid = from + (to - from) / 2;
		const struct gw_group_fact *f = &facts->items[mid];

		if (same_group(f, placement, slot))
			return f;
		if (f->info.placement < placement ||
		    (f->info.placement == placement && f->info.slot < slot))
			from = mid + 1;
		else
			to = mid;
	}
	return NULL;
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
