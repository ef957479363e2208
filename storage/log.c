#include "storage/group.h"

#include "base/metrics.h"
#include "base/mutate.h"

#define BATCH_BYTES   (1u << 20)
#define BATCH_ENTRIES 1024u
#define TRIMS_MAX     64u
/* A log is trimmed when this many applied entries are in it. */
#define TRIM_AT       256u
#define FULL_PAUSE_US 100000u

struct trim {
	struct str from, to;
};

/* One change of the log or of a promise, as the engine makes it. */
struct step {
	enum st_log_kind kind;
	struct str key, value; /* of a cut: the first key, and the one behind */
};

struct batch {
	struct arena *arena;
	struct st_log_item **items;
	struct step *steps;
	uint32_t n;
	struct trim trims[TRIMS_MAX];
	uint32_t n_trims;
};

/* Runs on an engine thread. */
static void
append_job(struct kv *kv, void *arg)
{
	const struct batch *b = arg;

	for (uint32_t i = 0; i < b->n; i++) {
		const struct step *s = &b->steps[i];

		if (s->kind == ST_LOG_CUT)
			kv_del_range(kv, KV_LOG, s->key, s->value);
		else
			kv_put(kv, s->kind == ST_LOG_ENTRY ? KV_LOG : KV_META,
			    s->key, s->value);
	}
	for (uint32_t i = 0; i < b->n_trims; i++)
		kv_del_range(kv, KV_LOG, b->trims[i].from, b->trims[i].to);
}

static struct str
log_key(struct arena *a, struct st_gid gid, uint64_t index)
{
	struct buf b;

	buf_init(&b, a);
	st_key_log(&b, gid, index);
	return buf_view(&b);
}

static size_t
make_step(struct arena *a, struct st_log_item *item, struct step *s)
{
	struct st_gid gid = item->group->gid;
	struct buf key, value;

	s->kind = item->kind;
	switch (item->kind) {
	case ST_LOG_ENTRY:
		s->key = log_key(a, gid, item->index);
		s->value = CONTAINER(item, struct st_pending, item)->bytes;
		break;
	case ST_LOG_CUT:
		s->key = log_key(a, gid, item->index);
		s->value = log_key(a, gid, UINT64_MAX);
		break;
	case ST_LOG_PROMISE:
		buf_init(&key, a);
		st_key_promise(&key, gid);
		buf_init(&value, a);
		st_promise_put(&value, &item->ballot);
		s->key = buf_view(&key);
		s->value = buf_view(&value);
		break;
	}
	return s->value.len;
}

static void
take_items(struct st_log *l, struct batch *b)
{
	size_t bytes = 0;

	b->items = NEW_N(b->arena, struct st_log_item *, BATCH_ENTRIES);
	b->steps = NEW_N(b->arena, struct step, BATCH_ENTRIES);
	while (!list_empty(&l->queue) && b->n < BATCH_ENTRIES &&
	       bytes < BATCH_BYTES) {
		struct st_log_item *item =
		    LIST_ENTRY(list_pop(&l->queue), struct st_log_item, link);

		bytes += make_step(b->arena, item, &b->steps[b->n]);
		b->items[b->n++] = item;
	}
}

/* When there is too much log: all that is applied, but for the last entry,
 * and what a member that is resynced has to catch up with; the latter only
 * while that is not too much, too. */
static uint64_t
beyond(const struct st_group *g)
{
	const struct st_node *n = g->node;
	uint64_t to = g->durable ? g->durable - 1 : 0;

	if (!st_group_is_leader(g) || n->log.bytes / 2 > n->conf.log_retention)
		return to;
	for (uint32_t i = 0; i < g->n_peers; i++) {
		const struct st_progress *p = &g->peers[i];

		if (p->resyncing && p->next >= 2 && p->next - 2 < to)
			to = p->next - 2;
	}
	return to;
}

/* How much of a group's log nobody needs any more: what is applied and flushed
 * here and flushed at every member, but for the last of these, whose ballot a
 * member may be asked about.  When logs take more than they may, only what is
 * not applied here is kept: who is behind gets a resync (CONSENSUS 1). */
static uint64_t
trim_to(const struct st_group *g)
{
	const struct st_node *n = g->node;
	uint64_t keep = g->keep;

	if (g->n_members <= 1 && !g->n_peers)
		return g->durable;
	if (n->log.bytes > n->conf.log_retention)
		return beyond(g);
	if (st_group_is_leader(g)) {
		keep = g->last;
		for (uint32_t i = 0; i < g->n_peers; i++)
			if (g->peers[i].match < keep)
				keep = g->peers[i].match;
	}
	if (keep)
		keep--;
	return keep < g->durable ? keep : g->durable;
}

static void
drop_log_bytes(struct st_group *g, uint64_t entries)
{
	uint64_t all = g->last - g->trimmed, bytes;

	bytes = entries >= all ? g->log_bytes : g->log_bytes / all * entries;
	g->log_bytes -= bytes;
	g->node->log.bytes -= bytes;
}

static void
take_trims(struct st_log *l, struct batch *b)
{
	while (!list_empty(&l->trims) && b->n_trims < TRIMS_MAX) {
		struct st_group *g =
		    LIST_ENTRY(list_pop(&l->trims), struct st_group, trim_link);
		struct trim *t;
		uint64_t to = trim_to(g);

		if (!st_group_loaded(g) || to <= g->trimmed)
			continue;
		ASSERT(to <= g->durable && g->durable <= g->applied);
		t = &b->trims[b->n_trims++];
		t->from = log_key(b->arena, g->gid, g->trimmed + 1);
		t->to = log_key(b->arena, g->gid, to + 1);
		drop_log_bytes(g, to - g->trimmed);
		g->trimmed = to;
	}
}

/* What was applied before the flush began is durable when it ends. */
static void
note_applied(struct st_log *l, struct list *flushing)
{
	struct list *at;

	while ((at = list_pop(&l->applied))) {
		struct st_group *g =
		    LIST_ENTRY(at, struct st_group, applied_link);

		g->durable_next = g->applied;
		list_push(flushing, &g->applied_link);
	}
}

static void
want_trim(struct st_node *n, struct st_group *g, uint64_t at_least)
{
	uint64_t to = trim_to(g);

	if (to < g->trimmed + at_least || list_linked(&g->trim_link))
		return;
	list_push(&n->log.trims, &g->trim_link);
	cond_signal(&n->log.more);
}

static void
applied_are_durable(struct st_node *n, struct list *flushing)
{
	struct list *at;

	while ((at = list_pop(flushing))) {
		struct st_group *g =
		    LIST_ENTRY(at, struct st_group, applied_link);

		g->durable = g->durable_next;
		/* It was applied again meanwhile. */
		if (g->applied > g->durable)
			list_push(&n->log.applied, &g->applied_link);
		want_trim(n, g, TRIM_AT);
	}
}

/* Appends and flushes are one request of the engine, which makes one flush for
 * all that it is given; they stay two steps: an entry counts as flushed, and
 * may be committed, only after it. */
static void
append_and_flush(struct st_node *n, struct batch *b)
{
	enum engine_result r;

	/* An entry has its index: it cannot be given back. The guard stops new
	 * proposals long before, so this waits for space. */
	for (;;) {
		if (mutate("ack_before_flush") || mutate("append_unflushed"))
			r = engine_run(n->engine, ST_LANE_LOG, ENGINE_WRITE,
			    append_job, b);
		else
			r = engine_run_durable(
			    n->engine, ST_LANE_LOG, append_job, b);
		if (r != ENGINE_FULL)
			return;
		fiber_sleep(n->world, world_mono_us(n->world) + FULL_PAUSE_US);
	}
}

static void
flushed(struct st_log_item *item)
{
	struct st_group *g = item->group;

	switch (item->kind) {
	case ST_LOG_ENTRY:
		/* Cut off meanwhile, it is no entry of the group any more. */
		if (item->index <= g->last)
			st_group_flushed(g, item->index);
		st_pending_unref(CONTAINER(item, struct st_pending, item));
		break;
	case ST_LOG_PROMISE:
		g->promised = item->index;
		cond_broadcast(&g->changed);
		arena_free(item->arena);
		break;
	case ST_LOG_CUT:
		arena_free(item->arena);
		break;
	}
}

static void
run_batch(struct st_node *n)
{
	struct st_scratch *s = st_scratch_new(n, "append");
	struct batch b = {.arena = s->arena};
	struct list groups;

	list_init(&groups);
	take_items(&n->log, &b);
	take_trims(&n->log, &b);
	note_applied(&n->log, &groups);
	n->log.busy = true;
	append_and_flush(n, &b);
	n->log.busy = false;
	metric_add(M_NODE_ENTRIES, b.n);
	metric_inc(M_NODE_FLUSHES);
	for (uint32_t i = 0; i < b.n; i++)
		flushed(b.items[i]);
	applied_are_durable(n, &groups);
	st_scratch_free(s);
}

static void
log_fiber(void *arg)
{
	struct st_node *n = TAKE(struct st_node, arg, ST_NODE_MAGIC);
	struct st_log *l = &n->log;

	while (n->state < ST_NODE_STOPPED) {
		if (list_empty(&l->queue) && list_empty(&l->trims))
			cond_wait_hard(&l->more);
		else
			run_batch(n);
	}
	st_background_end(n);
}

void
st_log_start(struct st_node *n)
{
	st_background(n, "log", log_fiber);
}

void
st_log_add(struct st_node *n, struct st_log_item *item)
{
	list_push(&n->log.queue, &item->link);
	cond_signal(&n->log.more);
}

static void
add(struct st_group *g, enum st_log_kind kind, uint64_t index)
{
	struct arena *a = arena_new(g->node->arena, "log item");
	struct st_log_item *item = NEW(a, struct st_log_item);

	item->kind = kind;
	item->group = g;
	item->arena = a;
	item->index = index;
	item->ballot = g->promise;
	st_log_add(g->node, item);
}

void
st_log_cut(struct st_group *g, uint64_t from)
{
	add(g, ST_LOG_CUT, from);
}

void
st_log_promise(struct st_group *g)
{
	g->promises++;
	if (mutate("vote_unflushed"))
		g->promised = g->promises;
	add(g, ST_LOG_PROMISE, g->promises);
}

void
st_log_promised(struct st_group *g)
{
	uint64_t number = g->promises;

	while (g->promised < number)
		cond_wait_hard(&g->changed);
}

void
st_log_applied(struct st_node *n, struct st_group *g)
{
	if (!list_linked(&g->applied_link))
		list_push(&n->log.applied, &g->applied_link);
}

void
st_log_wake(struct st_node *n)
{
	cond_broadcast(&n->log.more);
}

void
st_log_trim_all(struct st_node *n)
{
	struct list groups;
	size_t at = 0;
	void *v;

	list_init(&groups);
	if (!list_empty(&n->log.applied)) {
		note_applied(&n->log, &groups);
		engine_sync(n->engine);
		applied_are_durable(n, &groups);
	}
	while (map_next(n->groups, &at, NULL, &v))
		want_trim(n, TAKE(struct st_group, v, ST_GROUP_MAGIC), 1);
}
