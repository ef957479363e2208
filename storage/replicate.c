#include "storage/replicate.h"

#include <inttypes.h>

#include "base/log.h"
#include "base/metrics.h"
#include "storage/elect.h"
#include "storage/peer.h"

#define FRAME_BYTES  (1u << 20)
#define FRAME_HEADS  512u
#define FRAME_COUNT  4096u /* entries */
#define FRAMES_MAX   16u   /* under way to one member */
#define READ_ENTRIES 256u  /* from disk at once */
#define CALL_US      2000000u
#define PAUSE_MIN_US 50000u
#define PAUSE_MAX_US 1000000u

/* ---- who gets what ---- */

static void
mark(struct st_progress *p)
{
	if (!list_linked(&p->dirty))
		list_push(&p->link->dirty, &p->dirty);
	cond_signal(&p->link->work);
}

static void
add_peer(struct st_group *g, uint32_t member, bool learner)
{
	struct st_progress *p = &g->peers[g->n_peers++];

	ASSERT(g->n_peers <= CL_COPIES_MAX);
	*p = (struct st_progress){.group = g,
	    .link = st_link_get(g->node, member),
	    .member = member,
	    .learner = learner,
	    .probing = true,
	    .next = g->last + 1};
}

struct st_progress *
st_replicate_peer(struct st_group *g, uint32_t member)
{
	for (uint32_t i = 0; i < g->n_peers; i++)
		if (g->peers[i].member == member)
			return &g->peers[i];
	return NULL;
}

void
st_replicate_members(struct st_group *g)
{
	for (uint32_t i = 0; i < g->n_members; i++) {
		struct st_progress *p;

		if (g->members[i] == g->node->id.member)
			continue;
		p = st_replicate_peer(g, g->members[i]);
		if (p)
			p->learner = false;
		else
			add_peer(g, g->members[i], false);
	}
}

void
st_replicate_start(struct st_group *g)
{
	g->n_peers = 0;
	g->all_applied = 0;
	g->sample_index = 0;
	g->quiet_us = 0;
	g->confirm = 0;
	g->want_all = 0;
	st_replicate_members(g);
}

void
st_replicate_stop(struct st_group *g)
{
	for (uint32_t i = 0; i < g->n_peers; i++) {
		list_del(&g->peers[i].dirty);
		list_del(&g->peers[i].news);
	}
	g->n_peers = 0;
}

void
st_replicate_wake(struct st_group *g)
{
	for (uint32_t i = 0; i < g->n_peers; i++)
		mark(&g->peers[i]);
}

bool
st_replicate_learner(struct st_group *g, uint32_t member)
{
	struct st_progress *p = st_replicate_peer(g, member);

	if (!p) {
		add_peer(g, member, true);
		mark(&g->peers[g->n_peers - 1]);
		return false;
	}
	return !p->resyncing && p->match >= g->committed;
}

/* ---- commit ---- */

/* How long a member lacks what is committed: measured for one index after the
 * other, so that one who keeps up is never long behind. */
static void
note_behind(struct st_progress *p)
{
	const struct st_group *g = p->group;

	if (p->behind_us && p->applied < p->behind)
		return;
	p->behind = g->committed;
	p->behind_us =
	    p->applied < p->behind ? world_mono_us(g->node->world) : 0;
}

static void
tell_commit(struct st_group *g)
{
	for (uint32_t i = 0; i < g->n_peers; i++) {
		note_behind(&g->peers[i]);
		if (!list_linked(&g->peers[i].news))
			list_push(&g->peers[i].link->news, &g->peers[i].news);
	}
}

static void
commit_to(struct st_group *g, uint64_t committed)
{
	ASSERT(committed <= g->last && g->applied <= committed);
	if (committed == g->committed)
		return;
	g->committed = committed;
	tell_commit(g);
	st_group_committed(g);
}

void
st_replicate_matched(struct st_group *g)
{
	uint64_t match[CL_COPIES_MAX], committed;
	size_t n = 0;

	for (uint32_t i = 0; i < g->n_members; i++) {
		const struct st_progress *p;

		if (g->members[i] == g->node->id.member) {
			match[n++] = g->flushed;
			continue;
		}
		p = st_replicate_peer(g, g->members[i]);
		match[n++] = p && !p->resyncing ? p->match : 0;
	}
	if (!n)
		return;
	committed = st_commit_index(
	    g->committed, st_majority_index(match, n), g->term_start);
	commit_to(g, committed);
}

/* Every member has applied up to `least`: the stamp that goes with it, by the
 * last index of which it was noted. */
static void
note_all_applied(struct st_group *g, uint64_t least)
{
	if (g->sample_index && least >= g->sample_index) {
		g->all_applied = g->sample_stamp;
		g->sample_index = 0;
	}
	if (!g->sample_index) {
		g->sample_index = g->applied;
		g->sample_stamp = g->applied_stamp;
	}
	/* The newest one needs no other to follow it. */
	if (least >= g->sample_index)
		g->all_applied = g->sample_stamp;
}

void
st_replicate_applied_here(struct st_group *g)
{
	uint64_t least = g->applied;

	for (uint32_t i = 0; i < g->n_peers; i++)
		if (g->peers[i].applied < least)
			least = g->peers[i].applied;
	note_all_applied(g, least);
}

void
st_replicate_applied(
    struct st_group *g, struct st_progress *p, uint64_t applied)
{
	if (applied <= p->applied)
		return;
	p->applied = applied;
	note_behind(p);
	st_replicate_applied_here(g);
	cond_broadcast(&g->changed);
}

void
st_replicate_lags(struct st_group *g, uint32_t member, uint64_t applied)
{
	struct st_progress *p = st_replicate_peer(g, member);

	if (!p || applied >= p->applied)
		return;
	p->applied = applied;
	p->probing = true;
	mark(p);
}

bool
st_replicate_all(struct st_group *g, uint64_t index, uint64_t deadline_us)
{
	struct st_ballot b = g->ballot;

	for (;;) {
		bool all = true;

		if (!st_group_leads(g, &b))
			return false;
		for (uint32_t i = 0; i < g->n_peers; i++) {
			struct st_progress *p = &g->peers[i];

			if (p->learner || p->applied >= index)
				continue;
			all = false;
			if (g->want_all < index)
				mark(p);
		}
		if (all)
			return true;
		if (g->want_all < index)
			g->want_all = index;
		if (cond_wait(&g->changed, deadline_us) != WAKE_EVENT)
			return false;
	}
}

void
st_replicate_voted(struct st_group *g, uint32_t member, uint64_t when_us)
{
	struct st_progress *p = st_replicate_peer(g, member);

	if (p && !p->acked_us)
		p->acked_us = when_us;
}

/* ---- frames ---- */

/* A group's part of a frame, to be found again when the answer comes. */
struct part {
	struct st_group *group;
	struct st_ballot ballot;
	uint64_t prev;
	uint64_t upto;
	uint64_t confirm;
};

struct frame {
	struct arena *arena;
	struct st_link *link;
	struct cl_append msg;
	uint32_t cap_entries;
	struct part *parts;
	size_t bytes;
};

/* Entries that are applied here, and so only on disk. */
struct fetch {
	struct arena *arena; /* a root */
	struct st_gid gid;
	uint64_t from;
	uint32_t max;
	struct str *bytes;
	uint32_t n;
};

static void
fetch_job(struct kv *kv, void *arg)
{
	struct fetch *f = arg;
	struct kv_cur *c = kv_open(kv, KV_LOG);
	struct buf from;
	struct str k, v;
	size_t bytes = 0;
	bool more;

	f->n = 0;
	buf_init(&from, f->arena);
	st_key_log(&from, f->gid, f->from);
	more = kv_seek(c, buf_view(&from), &k, &v);
	/* At least one behind the entry before the first to send, be that one
	 * as large as it may. */
	while (more && f->n < f->max && (f->n < 2 || bytes < FRAME_BYTES / 2)) {
		struct cur at = cur_of(k);
		struct st_gid gid;

		if (!st_gid_get(&at, &gid) || !st_gid_eq(gid, f->gid) ||
		    cur_be64(&at) != f->from + f->n)
			break;
		bytes += v.len;
		f->bytes[f->n++] = arena_str(f->arena, v);
		more = kv_next(c, &k, &v);
	}
	kv_close(c);
}

static void
add_entry(struct frame *f, struct cl_append_head *h, struct str bytes)
{
	if (f->msg.n_entries == f->cap_entries) {
		uint32_t cap = f->cap_entries ? f->cap_entries * 2 : 16;

		f->msg.entries = arena_grow(f->arena, f->msg.entries,
		    f->cap_entries * sizeof *f->msg.entries,
		    cap * sizeof *f->msg.entries);
		f->cap_entries = cap;
	}
	f->msg.entries[f->msg.n_entries++].bytes = bytes;
	f->bytes += bytes.len + 8;
	h->count++;
}

static bool
has_room(const struct frame *f)
{
	return f->bytes < FRAME_BYTES && f->msg.n_entries < FRAME_COUNT &&
	       f->msg.n_groups < FRAME_HEADS;
}

/* The entry before the first to send: its ballot. False: it is only on disk, or
 * the first to send is the log's first and that is. */
static bool
prev_in_memory(
    const struct st_group *g, uint64_t prev, struct cl_append_head *h)
{
	struct st_ballot b = {0};

	if (prev > g->applied)
		b = st_group_pending(g, prev)->entry.ballot;
	else if (prev == g->applied)
		b = g->applied_ballot;
	else
		return false; /* and so is what follows */
	h->prev = prev;
	h->prev_round = b.round;
	h->prev_member = b.member;
	h->prev_incarnation = b.incarnation;
	return true;
}

/* From disk: entry `prev` and what follows; false when the group changed
 * meanwhile, or the entries are gone. */
static bool
fill_from_disk(struct frame *f, struct st_progress *p, struct cl_append_head *h)
{
	struct st_group *g = p->group;
	struct st_ballot ballot = g->ballot;
	uint64_t next = p->next, applied = g->applied;
	struct st_scratch *s = st_scratch_new(g->node, "fetch");
	struct fetch job = {.arena = s->arena, .gid = g->gid, .from = next - 1};
	struct st_entry e;
	uint32_t member = p->member;
	bool ok;

	if (!job.from)
		job.from = 1;
	job.max = READ_ENTRIES;
	job.bytes = NEW_N(s->arena, struct str, job.max);
	engine_run(
	    g->node->engine, ENGINE_LANE_ANY, ENGINE_READ, fetch_job, &job);
	ok = st_group_is_leader(g) && st_ballot_cmp(&g->ballot, &ballot) == 0 &&
	     st_replicate_peer(g, member) == p && p->next == next && job.n > 0;
	if (ok && next > 1) {
		ok = !st_entry_decode(s->arena, job.bytes[0], &e);
		h->prev = next - 1;
		h->prev_round = e.ballot.round;
		h->prev_member = e.ballot.member;
		h->prev_incarnation = e.ballot.incarnation;
	}
	for (uint32_t i = next > 1; ok && i < job.n; i++) {
		if (job.from + i > applied || !has_room(f))
			break;
		add_entry(f, h, arena_str(f->arena, job.bytes[i]));
		p->next = job.from + i + 1;
	}
	st_scratch_free(s);
	return ok;
}

/* Pieces of it are views into entries: to be encoded before the next wait. */
static void
fill_from_memory(
    struct frame *f, struct st_progress *p, struct cl_append_head *h)
{
	struct st_group *g = p->group;

	while (p->next > g->applied && p->next <= g->last && has_room(f)) {
		struct str b = st_group_pending(g, p->next)->bytes;

		add_entry(f, h, arena_str(f->arena, b));
		p->next++;
	}
}

static void
head_of(struct st_progress *p, struct cl_append_head *h)
{
	const struct st_group *g = p->group;

	*h = (struct cl_append_head){.placement = g->gid.placement,
	    .slot = g->gid.slot,
	    .epoch = g->gid.epoch,
	    .round = g->ballot.round,
	    .member = g->ballot.member,
	    .incarnation = g->ballot.incarnation};
}

/* What every head says besides entries. */
static void
finish_head(struct frame *f, struct st_progress *p, struct cl_append_head *h)
{
	struct st_group *g = p->group;
	struct part *part = &f->parts[f->msg.n_groups];

	h->commit = g->committed;
	h->keep = g->last;
	for (uint32_t i = 0; i < g->n_peers; i++)
		if (g->peers[i].match < h->keep)
			h->keep = g->peers[i].match;
	h->confirm = g->confirm;
	h->applied = p->applied < g->want_all ? g->want_all : 0;
	p->confirm_sent = g->confirm;
	p->commit = g->committed;
	p->probe_out = true;
	list_del(&p->news);
	*part = (struct part){
	    g, g->ballot, h->prev, h->prev + h->count + h->behind, g->confirm};
	f->msg.groups[f->msg.n_groups++] = *h;
	f->bytes += sizeof *h;
	if (p->next <= g->last && !p->probing)
		mark(p);
}

static void
add_group(struct frame *f, struct st_progress *p)
{
	struct st_group *g = p->group;
	struct cl_append_head h;

	if (p->probing && p->probe_out)
		return; /* its answer says how to go on */
	head_of(p, &h);
	/* The entry before the first to send is gone, too, unless it is the
	 * newest applied one, whose ballot is known. */
	if (g->trimmed && p->next <= g->trimmed + 1 && p->next <= g->applied) {
		h.behind = 1;
		h.prev = g->trimmed;
		finish_head(f, p, &h);
		return;
	}
	if (!prev_in_memory(g, p->next - 1, &h) && !fill_from_disk(f, p, &h)) {
		/* Trimmed or changed meanwhile: once more. */
		if (st_group_is_leader(g) &&
		    st_replicate_peer(g, p->member) == p)
			mark(p);
		return;
	}
	fill_from_memory(f, p, &h);
	finish_head(f, p, &h);
}

/* ---- answers ---- */

static void
on_ok(struct st_group *g, struct st_progress *p, const struct cl_append_ack *a)
{
	uint64_t last = a->last < g->last ? a->last : g->last;

	p->probing = false;
	p->resyncing = false;
	if (p->next <= last)
		p->next = last + 1;
	if (last > p->match) {
		p->match = last;
		if (!p->learner)
			st_replicate_matched(g);
	}
}

/* Its log lacks the entry before: go back to where it says. It has what it
 * acknowledged, unless it was damaged, which no answer may make us forget.  It
 * names what it knows to be committed, which may be long ago after a restart:
 * before its copy counts as behind, the oldest entry that is left is tried. */
static void
on_gap(const struct st_group *g, struct st_progress *p, const struct part *part,
    const struct cl_append_ack *a)
{
	uint64_t next = a->last + 1;
	uint64_t oldest = g->trimmed ? g->trimmed + 2 : 1;

	if (next <= p->match)
		next = p->match + 1;
	if (next < oldest && part->prev >= oldest && oldest <= g->last)
		next = oldest;
	if (next < p->next)
		p->next = next;
	p->probing = true;
}

static void
on_resync(
    struct st_group *g, struct st_progress *p, const struct cl_append_ack *a)
{
	p->resyncing = true;
	p->probing = true;
	p->match = 0;
	p->next = a->last < g->last ? a->last + 1 : g->last + 1;
}

void
st_replicate_resync(struct st_group *g, uint32_t member, uint64_t index)
{
	struct st_progress *p = st_replicate_peer(g, member);

	if (!p)
		return;
	p->resyncing = true;
	p->probing = true;
	p->match = 0;
	p->next = index + 1;
}

static bool
is_of(const struct cl_append_ack *a, const struct st_ballot *b)
{
	struct st_ballot its = {a->round, a->member, a->incarnation};

	return st_ballot_cmp(&its, b) == 0;
}

static void
take_ack(struct st_link *l, const struct part *part,
    const struct cl_append_ack *a, uint32_t incarnation)
{
	struct st_group *g = part->group;
	struct st_progress *p;
	struct st_ballot its = {a->round, a->member, a->incarnation};

	if (!st_group_is_leader(g) ||
	    st_ballot_cmp(&g->ballot, &part->ballot) != 0)
		return;
	if (st_ballot_cmp(&its, &g->ballot) > 0) {
		st_higher_ballot(g, &its);
		return;
	}
	p = st_replicate_peer(g, l->member);
	if (!p)
		return;
	p->probe_out = false;
	/* Acknowledged, by the process that is there now: see
	 * st_link_incarnation. */
	if (is_of(a, &g->ballot) && incarnation == l->incarnation &&
	    !p->acked_us)
		p->acked_us = world_mono_us(g->node->world);
	if (is_of(a, &g->ballot) && a->confirm > p->confirm) {
		p->confirm = a->confirm;
		cond_broadcast(&g->changed);
	}
	switch (a->result) {
	case CL_APPEND_OK:
		on_ok(g, p, a);
		st_replicate_applied(g, p, a->applied);
		break;
	case CL_APPEND_GAP:
		on_gap(g, p, part, a);
		break;
	case CL_APPEND_RESYNC:
		on_resync(g, p, a);
		/* What it has applied was committed, even if this leader has
		 * not learnt that yet. */
		if (a->applied > g->committed && a->applied <= g->last)
			commit_to(g, a->applied);
		/* It took what was sent: more of it. Else with the next
		 * beat. */
		if (a->last < part->upto || p->next > g->last)
			return;
		break;
	default:
		p->probing = true;
		return;
	}
	if (!st_group_is_leader(g))
		return;
	if (p->next <= g->last || p->confirm_sent < g->confirm ||
	    p->applied < g->want_all)
		mark(p);
	else if (p->applied < g->committed && !list_linked(&p->news))
		/* Beats ask until it has applied what it was told. */
		list_push(&p->link->news, &p->news);
}

void
st_replicate_nudge(struct st_link *l)
{
	struct st_node *n = l->node;
	size_t at = 0;
	void *v;

	while (map_next(n->groups, &at, NULL, &v)) {
		struct st_group *g = TAKE(struct st_group, v, ST_GROUP_MAGIC);
		struct st_progress *p;

		if (!st_group_is_leader(g))
			continue;
		p = st_replicate_peer(g, l->member);
		if (p && (p->resyncing || (p->probing && !p->probe_out)))
			mark(p);
	}
}

/* What was in a frame without an answer may have arrived or not. */
static void
frame_lost(struct frame *f)
{
	struct st_link *l = f->link;

	for (uint32_t i = 0; i < f->msg.n_groups; i++) {
		struct st_group *g = f->parts[i].group;
		struct st_progress *p;

		if (!st_group_is_leader(g) ||
		    st_ballot_cmp(&g->ballot, &f->parts[i].ballot) != 0)
			continue;
		p = st_replicate_peer(g, l->member);
		if (!p)
			continue;
		p->probing = true;
		p->probe_out = false;
		if (p->next > p->match + 1)
			p->next = p->match + 1;
		mark(p);
	}
	l->pause_us = l->pause_us ? l->pause_us * 2 : PAUSE_MIN_US;
	if (l->pause_us > PAUSE_MAX_US)
		l->pause_us = PAUSE_MAX_US;
	l->pause_until_us = world_mono_us(l->node->world) + l->pause_us;
}

static void
call_fiber(void *arg)
{
	struct frame *f = arg;
	struct st_link *l = f->link;
	struct st_node *n = l->node;
	struct st_reply_msg reply;
	struct err *e = st_member_call(n, f->arena, l->member, CL_MSG_APPEND,
	    &f->msg, world_mono_us(n->world) + CALL_US, &reply);
	const struct cl_appended *out = reply.msg;

	if (e || reply.kind != CL_MSG_APPENDED ||
	    out->n_acks != f->msg.n_groups) {
		LOG(n->world, LOG_TRACE, "replicate", "lost",
		    "member=%u why=\"%s\"", l->member,
		    e ? e->message : "an answer to something else");
		frame_lost(f);
	} else {
		l->pause_us = 0;
		st_link_incarnation(l, reply.incarnation);
		for (uint32_t i = 0; i < out->n_acks; i++)
			take_ack(
			    l, &f->parts[i], &out->acks[i], reply.incarnation);
	}
	l->frames--;
	cond_signal(&l->work);
	arena_free(f->arena);
	st_background_end(n);
}

/* ---- the sender ---- */

static void
send_frame(struct st_link *l)
{
	struct st_node *n = l->node;
	struct arena *a = arena_new(n->arena, "append");
	struct frame *f = NEW(a, struct frame);
	uint32_t heads = 0;

	LIST_FOREACH(at, &l->dirty)
	if (++heads == FRAME_HEADS)
		break;
	f->arena = a;
	f->link = l;
	f->parts = NEW_N(a, struct part, heads);
	f->msg.groups = NEW_N(a, struct cl_append_head, heads);
	/* Each that waits now once: one that comes back waits for the next. */
	while (!list_empty(&l->dirty) && has_room(f) && heads-- > 0)
		add_group(f,
		    LIST_ENTRY(list_pop(&l->dirty), struct st_progress, dirty));
	if (!f->msg.n_groups) {
		arena_free(a);
		return;
	}
	metric_inc(M_NODE_APPENDS);
	metric_add(M_NODE_APPENDED_ENTRIES, f->msg.n_entries);
	l->frames++;
	n->n_fibers++;
	fiber_spawn(n->world, "append", FIBER_STACK_NODE, call_fiber, f);
}

void
st_replicate_sender(void *link)
{
	struct st_link *l = TAKE(struct st_link, link, ST_LINK_MAGIC);
	struct st_node *n = l->node;

	while (n->state < ST_NODE_STOPPED) {
		uint64_t now = world_mono_us(n->world);

		if (l->pause_until_us > now)
			cond_wait(&l->work, l->pause_until_us);
		else if (list_empty(&l->dirty) || l->frames >= FRAMES_MAX)
			cond_wait_hard(&l->work);
		else
			send_frame(l);
	}
	st_background_end(n);
}
