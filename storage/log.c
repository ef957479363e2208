#include "storage/log.h"

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

struct batch {
	struct arena *arena;
	struct st_pending **pending;
	struct str *keys;
	uint32_t n;
	struct trim trims[TRIMS_MAX];
	uint32_t n_trims;
};

/* Runs on an engine thread. */
static void
append_job(struct kv *kv, void *arg)
{
	const struct batch *b = arg;

	for (uint32_t i = 0; i < b->n; i++)
		kv_put(kv, KV_LOG, b->keys[i], b->pending[i]->bytes);
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

static void
take_entries(struct st_log *l, struct batch *b)
{
	size_t bytes = 0;

	b->pending = NEW_N(b->arena, struct st_pending *, BATCH_ENTRIES);
	b->keys = NEW_N(b->arena, struct str, BATCH_ENTRIES);
	while (!list_empty(&l->queue) && b->n < BATCH_ENTRIES &&
	       bytes < BATCH_BYTES) {
		struct st_pending *p =
		    LIST_ENTRY(list_pop(&l->queue), struct st_pending, step);

		bytes += p->bytes.len;
		b->keys[b->n] =
		    log_key(b->arena, p->group->gid, p->entry.index);
		b->pending[b->n++] = p;
	}
}

static void
take_trims(struct st_log *l, struct batch *b)
{
	while (!list_empty(&l->trims) && b->n_trims < TRIMS_MAX) {
		struct st_group *g =
		    LIST_ENTRY(list_pop(&l->trims), struct st_group, trim_link);
		struct trim *t = &b->trims[b->n_trims++];

		ASSERT(g->durable >= g->trimmed && g->durable <= g->applied);
		t->from = log_key(b->arena, g->gid, g->trimmed + 1);
		t->to = log_key(b->arena, g->gid, g->durable + 1);
		g->trimmed = g->durable;
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
	if (g->durable - g->trimmed < at_least || list_linked(&g->trim_link))
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
		if (mutate("ack_before_flush"))
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
run_batch(struct st_node *n)
{
	struct st_scratch *s = st_scratch_new(n, "append");
	struct batch b = {.arena = s->arena};
	struct list groups;

	list_init(&groups);
	take_entries(&n->log, &b);
	take_trims(&n->log, &b);
	note_applied(&n->log, &groups);
	n->log.busy = true;
	append_and_flush(n, &b);
	n->log.busy = false;
	metric_add(M_NODE_ENTRIES, b.n);
	for (uint32_t i = 0; i < b.n; i++)
		st_group_flushed(
		    b.pending[i]->group, b.pending[i]->entry.index);
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
st_log_add(struct st_node *n, struct st_pending *p)
{
	list_push(&n->log.queue, &p->step);
	cond_signal(&n->log.more);
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
