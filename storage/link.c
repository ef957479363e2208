#include "storage/link.h"

#include <inttypes.h>

#include "base/log.h"
#include "base/metrics.h"
#include "base/mutate.h"
#include "storage/catalog.h"
#include "storage/elect.h"
#include "storage/facts.h"
#include "storage/lease.h"
#include "storage/peer.h"
#include "storage/replicate.h"

#define BEAT_CALL_US 500000u
/* A member that was not heard of for so many beats is not counted on. */
#define ALIVE_BEATS 4u
/* A leader with work that hears from no majority for this long leaves those who
 * wait to ask elsewhere. */
#define QUIET_US 2000000u
/* And one that hears from no majority for this long takes no new work. */
#define SILENT_US 1000000u
/* A node that stops waits so long for the others to know. */
#define LEAVE_US       200000u
#define LEAVE_CHECK_US 2000u
/* A sender of heartbeats that had no answer for this long is not followed. */
#define DEAF_US 1500000u
/* Between two looks at what the gauges show. */
#define MEASURE_US 1000000u

struct st_link *
st_link_get(struct st_node *n, uint32_t member)
{
	struct st_link *l;

	LIST_FOREACH(at, &n->links)
	{
		l = LIST_ENTRY(at, struct st_link, link);
		if (l->member == member)
			return l;
	}
	l = NEW(n->arena, struct st_link);
	l->magic = ST_LINK_MAGIC;
	l->node = n;
	l->member = member;
	list_init(&l->dirty);
	list_init(&l->news);
	cond_init(&l->work, n->world);
	list_push(&n->links, &l->link);
	return l;
}

struct str
st_link_addr(const struct st_node *n, uint32_t member)
{
	const struct cl_object *o = cl_find(n->catalog.snap, CL_MEMBER, member);

	return o ? o->u.member.addr : STR("");
}

bool
st_link_alive(struct st_node *n, uint32_t member)
{
	const struct st_link *l = st_link_get(n, member);

	return l->heard_us && world_mono_us(n->world) <
				  l->heard_us + ALIVE_BEATS * n->conf.beat_us;
}

static void
heard(struct st_link *l)
{
	l->heard_us = world_mono_us(l->node->world);
	if (l->pause_until_us) {
		l->pause_until_us = 0;
		cond_signal(&l->work);
	}
}

/* ---- groups led here, one after the other ---- */

static struct st_group *
next_led(const struct st_node *n, size_t *at)
{
	void *v;

	while (map_next(n->groups, at, NULL, &v)) {
		struct st_group *g = TAKE(struct st_group, v, ST_GROUP_MAGIC);

		if (st_group_is_leader(g))
			return g;
	}
	return NULL;
}

void
st_link_incarnation(struct st_link *l, uint32_t incarnation)
{
	struct st_group *g;
	size_t at = 0;

	if (incarnation <= l->incarnation)
		return;
	l->incarnation = incarnation;
	l->grant_sent_us = l->grant_until_us = 0;
	l->lost_seen = 0;
	while ((g = next_led(l->node, &at))) {
		struct st_progress *p = st_replicate_peer(g, l->member);

		if (!p)
			continue;
		p->acked_us = 0;
		/* It may have lost what it had applied, and what it knew to be
		 * committed: it is told, be the group idle or not. */
		p->applied = 0;
		p->probing = true;
	}
}

/* The leader's commit index, as far as this log is known to be its: in that
 * very ballot, since the same leader may have been deposed and elected again,
 * with other entries behind what this member took from it before. */
static void
take_commit(struct st_node *n, uint32_t from, uint32_t incarnation,
    const struct cl_group_index *c, struct cl_group_index *applied)
{
	struct st_group *g = st_group_find(n, c->placement, c->slot);
	uint64_t index;

	*applied = *c;
	applied->index = 0;
	if (!g || !st_group_loaded(g) || g->gid.epoch != c->epoch ||
	    g->state != ST_GROUP_FOLLOWING || g->promise.member != from ||
	    g->promise.incarnation != incarnation ||
	    (g->promise.round != c->round && !mutate("commit_any_ballot")))
		return;
	index = c->index < g->matched ? c->index : g->matched;
	if (index > g->committed) {
		g->committed = index;
		st_group_committed(g);
	}
	applied->index = g->applied;
}

/* It stepped down everywhere and will lead nothing again: no lease binds to it,
 * and whoever is asked next may stand at once. */
static void
take_leave(struct st_link *l, uint32_t incarnation)
{
	struct st_node *n = l->node;
	size_t at = 0;
	void *v;

	if (l->given_incarnation == incarnation)
		l->given_until_us = 0;
	l->heard_us = 0;
	while (map_next(n->groups, &at, NULL, &v)) {
		struct st_group *g = TAKE(struct st_group, v, ST_GROUP_MAGIC);

		if (g->leader != l->member)
			continue;
		g->leader = 0;
		cond_broadcast(&g->changed);
	}
}

struct err *
st_beat_serve(struct st_node *n, struct arena *a, uint32_t from,
    const struct cl_beat *m, struct cl_beaten *out)
{
	struct st_link *l = st_link_get(n, from);
	uint64_t until = world_mono_us(n->world) + n->conf.leader_lease_us;

	*out = (struct cl_beaten){
	    .sent = m->sent, .incarnation = n->id.incarnation};
	out->applied = NEW_N(a, struct cl_group_index, m->n_commits + 1);
	if (m->incarnation < l->given_incarnation)
		return NULL; /* of a process that is no more */
	if (m->deaf_us == CL_BEAT_LEAVES) {
		take_leave(l, m->incarnation);
		return NULL;
	}
	/* One that hears nothing of this node (a partition one way) gets no
	 * lease out of it, and cannot lead it. */
	if (m->deaf_us > DEAF_US) {
		st_lease_list_lost(l, a, m, out);
		return NULL;
	}
	heard(l);
	out->granted = n->conf.leader_lease_us > 0;
	if (out->granted && until > l->given_until_us)
		l->given_until_us = until;
	if (m->incarnation > l->given_incarnation) {
		l->given_incarnation = m->incarnation;
		l->given_until_us = until;
	}
	st_lease_list_lost(l, a, m, out);
	for (uint32_t i = 0; i < m->n_commits; i++)
		take_commit(n, from, m->incarnation, &m->commits[i],
		    &out->applied[out->n_applied++]);
	return NULL;
}

/* ---- heartbeats ---- */

static void
take_lost(struct st_node *n, const struct cl_beaten *m)
{
	for (uint32_t i = 0; i < m->n_lost; i++) {
		const struct cl_group_ballot *x = &m->lost[i];
		struct st_group *g = st_group_find(n, x->placement, x->slot);
		struct st_ballot b = {x->round, x->member, x->incarnation};

		if (g && g->gid.epoch == x->epoch && st_group_loaded(g) &&
		    !mutate("lease_deaf"))
			st_higher_ballot(g, &b);
	}
}

static void
take_applied(struct st_link *l, const struct cl_beaten *m)
{
	for (uint32_t i = 0; i < m->n_applied; i++) {
		const struct cl_group_index *x = &m->applied[i];
		struct st_group *g =
		    st_group_find(l->node, x->placement, x->slot);
		struct st_progress *p;

		if (!g || g->gid.epoch != x->epoch || !st_group_is_leader(g) ||
		    g->ballot.round != x->round)
			continue;
		p = st_replicate_peer(g, l->member);
		if (p && x->index <= g->applied)
			st_replicate_applied(g, p, x->index);
		/* It does not follow, as a new process that has not loaded the
		 * group: it hears of it with the nudge after this beat. */
		if (p && x->index == 0)
			p->probing = true;
	}
}

static void
take_beaten(struct st_link *l, const struct cl_beaten *m)
{
	struct st_node *n = l->node;
	uint64_t from = m->sent;

	if (m->incarnation < l->incarnation)
		return;
	heard(l);
	l->answered_us = world_mono_us(n->world);
	st_link_incarnation(l, m->incarnation);
	take_lost(n, m);
	l->lost_seen = m->lost_number;
	take_applied(l, m);
	if (mutate("lease_from_answer"))
		from = world_mono_us(n->world);
	if (m->granted && m->sent > l->grant_sent_us) {
		l->grant_sent_us = m->sent;
		l->grant_until_us =
		    from + st_lease_span(n->conf.leader_lease_us);
	}
}

/* Commit indexes that the member has not been told. Those that are told stay
 * until it has applied them. */
static void
list_news(struct st_link *l, struct arena *a, struct cl_beat *m)
{
	uint32_t n = 0;
	struct list *at;

	LIST_FOREACH(x, &l->news)
	n++;
	m->commits = NEW_N(a, struct cl_group_index, n + 1);
	while (n-- > 0 && m->n_commits < CL_SLOTS_MAX &&
	       (at = list_pop(&l->news))) {
		struct st_progress *p =
		    LIST_ENTRY(at, struct st_progress, news);
		const struct st_group *g = p->group;

		p->commit = g->committed;
		if (p->applied < g->committed)
			list_push(&l->news, &p->news);
		m->commits[m->n_commits++] =
		    (struct cl_group_index){g->gid.placement, g->gid.slot,
			g->gid.epoch, g->ballot.round, g->committed};
	}
}

static void
beat_once(struct st_link *l)
{
	struct st_node *n = l->node;
	struct arena *a = arena_new(n->arena, "beat");
	struct cl_beat m = {.incarnation = n->id.incarnation,
	    .sent = world_mono_us(n->world),
	    .lost_of = l->incarnation,
	    .lost_seen = l->lost_seen};
	struct st_reply_msg reply;
	struct err *e;

	if (!l->since_us)
		l->since_us = m.sent;
	m.deaf_us = m.sent - (l->answered_us ? l->answered_us : l->since_us);
	list_news(l, a, &m);
	e = st_member_call(
	    n, a, l->member, CL_MSG_BEAT, &m, m.sent + BEAT_CALL_US, &reply);
	metric_inc(M_NODE_BEATS);
	if (!e && reply.kind == CL_MSG_BEATEN)
		take_beaten(l, reply.msg);
	else
		metric_inc(M_NODE_BEATS_LOST);
	/* Members whose copy is being mended are asked how far they are. */
	if (!e)
		st_replicate_nudge(l);
	arena_free(a);
}

static void
leave_fiber(void *arg)
{
	struct st_link *l = TAKE(struct st_link, arg, ST_LINK_MAGIC);
	struct st_node *n = l->node;
	struct arena *a = arena_new(n->arena, "leave");
	struct cl_beat m = {.incarnation = n->id.incarnation,
	    .sent = world_mono_us(n->world),
	    .deaf_us = CL_BEAT_LEAVES};
	struct st_reply_msg reply;

	/* Who does not hear it finds out by itself. */
	st_member_call(
	    n, a, l->member, CL_MSG_BEAT, &m, m.sent + LEAVE_US, &reply);
	arena_free(a);
	st_background_end(n);
}

void
st_links_leave(struct st_node *n)
{
	uint64_t until = world_mono_us(n->world) + LEAVE_US;
	size_t before = n->n_fibers;

	LIST_FOREACH(at, &n->links)
	{
		struct st_link *l = LIST_ENTRY(at, struct st_link, link);

		if (!l->running || !st_link_alive(n, l->member))
			continue;
		n->n_fibers++;
		fiber_spawn(
		    n->world, "leave", FIBER_STACK_NODE, leave_fiber, l);
	}
	while (n->n_fibers > before && world_mono_us(n->world) < until)
		fiber_sleep(n->world, world_mono_us(n->world) + LEAVE_CHECK_US);
}

static void
beat_fiber(void *arg)
{
	struct st_link *l = TAKE(struct st_link, arg, ST_LINK_MAGIC);
	struct st_node *n = l->node;

	while (n->state < ST_NODE_DRAINING) {
		uint64_t next = world_mono_us(n->world) + n->conf.beat_us;

		if (st_link_addr(n, l->member).len)
			beat_once(l);
		fiber_sleep(n->world, next);
	}
	st_background_end(n);
}

static bool
answers(const struct st_link *l, uint64_t now)
{
	return l->answered_us &&
	       now < l->answered_us + ALIVE_BEATS * l->node->conf.beat_us;
}

bool
st_group_heard(const struct st_group *g)
{
	uint64_t now = world_mono_us(g->node->world);
	uint32_t n = 1;

	for (uint32_t i = 0; i < g->n_peers; i++) {
		const struct st_link *l = g->peers[i].link;
		uint64_t last = l->answered_us ? l->answered_us : l->since_us;

		/* Who was not asked yet may be there. */
		n += !g->peers[i].learner && (!last || now < last + SILENT_US);
	}
	return n * 2 > g->n_members;
}

/* A leader with work under way that no majority answers. */
static void
check_quiet(struct st_node *n)
{
	uint64_t now = world_mono_us(n->world);
	struct st_group *g;
	size_t at = 0;

	while ((g = next_led(n, &at))) {
		uint32_t alive = 1;

		if (g->applied == g->last &&
		    st_group_confirmed(g, g->confirm)) {
			g->quiet_us = 0;
			continue;
		}
		for (uint32_t i = 0; i < g->n_peers; i++)
			alive += !g->peers[i].learner &&
				 answers(g->peers[i].link, now);
		if (alive * 2 > g->n_members)
			g->quiet_us = 0;
		else if (!g->quiet_us)
			g->quiet_us = now;
		else if (now - g->quiet_us > QUIET_US)
			st_group_step_down(g);
	}
}

static void
start_link(struct st_link *l)
{
	struct st_node *n = l->node;

	if (l->running)
		return;
	l->running = true;
	n->n_fibers += 2;
	fiber_spawn(n->world, "beat", FIBER_STACK_NODE, beat_fiber, l);
	fiber_spawn(
	    n->world, "sender", FIBER_STACK_NODE, st_replicate_sender, l);
}

/* New members get a link; leaders that nobody hears are looked after. */
static void
links_fiber(void *arg)
{
	struct st_node *n = TAKE(struct st_node, arg, ST_NODE_MAGIC);
	uint64_t measured = 0;

	while (n->state < ST_NODE_DRAINING) {
		uint64_t now = world_mono_us(n->world);
		const struct cl_object *o;
		size_t at = 0;

		while ((o = cl_each(n->catalog.snap, CL_MEMBER, &at)))
			if (o->id != n->id.member)
				start_link(st_link_get(n, o->id));
		check_quiet(n);
		if (now - measured >= MEASURE_US) {
			st_facts_measure(n);
			measured = now;
		}
		cond_wait(&n->catalog.changed,
		    world_mono_us(n->world) + n->conf.beat_us);
	}
	st_background_end(n);
}

void
st_links_start(struct st_node *n)
{
	st_background(n, "links", links_fiber);
}

void
st_links_wake(struct st_node *n)
{
	LIST_FOREACH(at, &n->links)
	cond_broadcast(&LIST_ENTRY(at, struct st_link, link)->work);
}
