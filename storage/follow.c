#include "storage/follow.h"

#include <inttypes.h>

#include "base/log.h"
#include "base/mutate.h"
#include "storage/catalog.h"
#include "storage/elect.h"
#include "storage/resync.h"

#define WAIT_US 1000000u

/* One group's part of a frame on its way. */
struct part {
	const struct cl_append_head *head;
	const struct cl_append_entry *entries;
	struct st_group *group;
	struct st_ballot ballot;
	struct cl_append_ack *ack;
	uint64_t upto; /* to be flushed before it is acknowledged; 0: nothing */
};

static void
answer(struct part *p, enum cl_append_result result, uint64_t last)
{
	const struct st_group *g = p->group;

	p->ack->result = (uint8_t)result;
	p->ack->last = last;
	p->ack->confirm = p->head->confirm;
	if (!g)
		return;
	p->ack->round = g->promise.round;
	p->ack->member = g->promise.member;
	p->ack->incarnation = g->promise.incarnation;
	p->ack->applied = g->applied;
}

/* The ballot of an entry that is here and not known to be committed. */
static const struct st_ballot *
ballot_at(const struct st_group *g, uint64_t index)
{
	return index == g->applied ? &g->applied_ballot
				   : &st_group_pending(g, index)->entry.ballot;
}

/* Does this log have the leader's entry `prev`? What is committed here is in
 * every leader's log. */
static bool
has_prev(const struct st_group *g, const struct cl_append_head *h)
{
	struct st_ballot b = {
	    h->prev_round, h->prev_member, h->prev_incarnation};

	if (h->prev <= g->committed)
		return true;
	return h->prev <= g->last &&
	       st_ballot_cmp(ballot_at(g, h->prev), &b) == 0;
}

/* Entries of an older leader that the present one does not have go; they may
 * still be on their way to disk. */
static bool
cut_from(struct part *p, uint64_t index)
{
	struct st_group *g = p->group;

	while (g->flushed < g->last) {
		cond_wait_hard(&g->changed);
		if (st_ballot_cmp(&g->promise, &p->ballot) != 0 ||
		    g->resync.deaf || index <= g->committed)
			return false;
	}
	if (index <= g->last)
		st_group_cut(g, index);
	return true;
}

static struct err *
take_entry(
    struct part *p, struct arena *a, struct str bytes, uint64_t index, bool *ok)
{
	struct st_group *g = p->group;
	struct st_entry e;

	*ok = true;
	if (index <= g->committed)
		return NULL;
	if (index <= g->last) {
		TRY(st_entry_decode(a, bytes, &e));
		if (st_ballot_cmp(ballot_at(g, index), &e.ballot) == 0)
			return NULL;
		*ok = cut_from(p, index);
		/* A wait: all may be different, and the leader sends again. */
		if (!*ok || g->last + 1 != index) {
			*ok = false;
			return NULL;
		}
	}
	return st_group_take(g, a, bytes);
}

/* What the leader says of its commit index holds for what is known to be its
 * log. */
static void
take_commit(struct part *p)
{
	struct st_group *g = p->group;
	uint64_t index = p->head->commit;

	if (p->upto > g->matched)
		g->matched = p->upto;
	if (index > g->matched)
		index = g->matched;
	if (index > g->committed) {
		g->committed = index;
		st_group_committed(g);
	}
	if (p->head->keep > g->keep)
		g->keep = p->head->keep;
}

static struct err *
take_entries(struct part *p, struct arena *a)
{
	struct st_group *g = p->group;
	const struct cl_append_head *h = p->head;

	if (!has_prev(g, h)) {
		answer(p, CL_APPEND_GAP,
		    h->prev > g->last ? g->last : g->committed);
		return NULL;
	}
	for (uint32_t i = 0; i < h->count; i++) {
		bool ok;

		TRY(take_entry(
		    p, a, p->entries[i].bytes, h->prev + 1 + i, &ok));
		if (!ok) {
			answer(p, CL_APPEND_REFUSED, 0);
			return NULL;
		}
	}
	p->upto = h->prev + h->count;
	take_commit(p);
	answer(p, CL_APPEND_OK, p->upto);
	return NULL;
}

/* A leader's ballot as high as any seen here: this member follows it. */
static bool
acknowledge(struct part *p, uint32_t from)
{
	struct st_group *g = p->group;

	if (st_ballot_cmp(&p->ballot, &g->promise) < 0) {
		answer(p, CL_APPEND_BALLOT, 0);
		return false;
	}
	if (st_ballot_cmp(&p->ballot, &g->promise) > 0)
		st_group_promise(g, &p->ballot);
	if (g->state >= ST_GROUP_CAMPAIGNING)
		st_group_step_down(g);
	if (g->leader != from) {
		g->leader = from;
		cond_broadcast(&g->changed);
	}
	return true;
}

/* The leader has no entries up to `prev` any more, and believes that this log
 * ends before it. What is committed here is in its log, so that it may be
 * wrong by now. */
static struct err *
take_behind(struct part *p)
{
	struct st_group *g = p->group;

	if (g->committed > p->head->prev) {
		p->upto = g->committed;
		take_commit(p);
		answer(p, CL_APPEND_OK, p->upto);
		return NULL;
	}
	st_resync_want(g, p->head->prev);
	answer(p, CL_APPEND_RESYNC, g->last);
	return NULL;
}

static struct err *
begin_part(struct st_node *n, struct arena *a, uint32_t from, struct part *p,
    uint64_t catalog)
{
	const struct cl_append_head *h = p->head;
	struct st_gid gid = {h->placement, h->slot, h->epoch};
	enum cl_refusal why;
	struct st_group *g;

	if (from != h->member)
		return ERR(a, ERRCODE_PROTOCOL_VIOLATION,
		    "entries of another member's term");
	p->ballot = (struct st_ballot){h->round, h->member, h->incarnation};
	/* A learner of the catalog does not know that it is one. */
	if (gid.placement == CL_PLACEMENT_CATALOG)
		st_catalog_learn(n);
	g = n->state <= ST_NODE_SERVING
		? st_group_open(
		      n, gid, catalog, world_mono_us(n->world) + WAIT_US, &why)
		: NULL;
	if (!g) {
		answer(p, CL_APPEND_REFUSED, 0);
		return NULL;
	}
	p->group = g;
	if (!acknowledge(p, from))
		return NULL;
	if (g->resync.deaf) {
		answer(p, CL_APPEND_RESYNC, g->last);
		return NULL;
	}
	return h->behind ? take_behind(p) : take_entries(p, a);
}

/* Waits until what it promises is on disk. */
static void
end_part(struct part *p, uint64_t deadline_us)
{
	struct st_group *g = p->group;

	if (!g || p->ack->result != CL_APPEND_OK)
		return;
	if (g->promised < g->promises)
		st_log_promised(g);
	while (g->flushed < p->upto && !mutate("append_unflushed")) {
		if (st_ballot_cmp(&g->promise, &p->ballot) != 0)
			break;
		cond_wait_hard(&g->changed);
	}
	while (p->head->applied && g->applied < p->head->applied)
		if (cond_wait(&g->changed, deadline_us) != WAKE_EVENT)
			break;
	/* Another leader came meanwhile, and may have cut off what this one
	 * sent. */
	if (st_ballot_cmp(&g->promise, &p->ballot) != 0)
		answer(p, CL_APPEND_BALLOT, 0);
	else if (g->incomplete && !mutate("ack_while_resync"))
		answer(p, CL_APPEND_RESYNC, g->last);
	else
		answer(p, CL_APPEND_OK, p->upto);
}

struct err *
st_append_serve(struct st_node *n, struct arena *a, uint32_t from,
    const struct cl_append *m, uint64_t catalog, struct cl_appended *out)
{
	struct part *parts = NEW_N(a, struct part, m->n_groups + 1);
	uint64_t deadline = world_mono_us(n->world) + WAIT_US;
	uint32_t at = 0;

	out->acks = NEW_N(a, struct cl_append_ack, m->n_groups + 1);
	out->n_acks = m->n_groups;
	for (uint32_t i = 0; i < m->n_groups; i++) {
		struct part *p = &parts[i];

		p->head = &m->groups[i];
		p->entries = m->entries + at;
		p->ack = &out->acks[i];
		if (p->head->count > m->n_entries - at)
			return ERR(a, ERRCODE_PROTOCOL_VIOLATION,
			    "malformed append: entries are missing");
		at += p->head->count;
		TRY(begin_part(n, a, from, p, catalog));
	}
	for (uint32_t i = 0; i < m->n_groups; i++)
		end_part(&parts[i], deadline);
	return NULL;
}
