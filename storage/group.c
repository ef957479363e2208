#include "storage/group.h"

#include <inttypes.h>

#include "base/log.h"
#include "base/metrics.h"
#include "storage/apply.h"
#include "storage/catalog.h"
#include "storage/clock.h"
#include "storage/log.h"

/* How long a request waits for a catalog that its sender has seen. */
#define CATALOG_WAIT_US 1000000u

uint64_t
st_group_lane(struct st_gid gid)
{
	return ((uint64_t)gid.placement << 16 | gid.slot) + 1;
}

uint64_t
st_majority_index(const uint64_t *match, size_t n)
{
	uint64_t sorted[CL_COPIES_MAX];

	ASSERT(n > 0 && n <= CL_COPIES_MAX);
	for (size_t i = 0; i < n; i++) {
		size_t at = i;

		for (; at > 0 && sorted[at - 1] < match[i]; at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = match[i];
	}
	return sorted[n / 2];
}

uint64_t
st_commit_index(uint64_t committed, uint64_t majority, uint64_t term_start)
{
	return majority >= term_start && majority > committed ? majority
							      : committed;
}

/* ---- states ---- */

static void
move(struct st_group *g, enum st_group_state to)
{
	static const bool allowed[3][3] = {
	    [ST_GROUP_CLOSED] = {[ST_GROUP_OPENING] = true},
	    [ST_GROUP_OPENING] =
		{[ST_GROUP_LEADING] = true, [ST_GROUP_CLOSED] = true},
	    [ST_GROUP_LEADING] = {[ST_GROUP_CLOSED] = true},
	};

	ASSERT(allowed[g->state][to]);
	LOG(g->node->world, LOG_TRACE, "group", "state",
	    "placement=%u slot=%u epoch=%u from=%d to=%d round=%" PRIu64
	    " last=%" PRIu64,
	    g->gid.placement, g->gid.slot, g->gid.epoch, (int)g->state, (int)to,
	    g->ballot.round, g->last);
	if (to == ST_GROUP_LEADING) {
		ASSERT(g->applied >= g->term_start && g->term_start > 0);
		g->node->n_leading++;
	} else if (g->state == ST_GROUP_LEADING) {
		g->node->n_leading--;
	}
	metric_set(M_NODE_GROUPS_LEADING, g->node->n_leading);
	g->state = to;
	cond_broadcast(&g->changed);
}

static struct str
map_key(uint32_t placement, uint16_t slot, uint8_t *bytes)
{
	for (int i = 0; i < 4; i++)
		bytes[i] = (uint8_t)(placement >> (8 * i));
	bytes[4] = (uint8_t)slot;
	bytes[5] = (uint8_t)(slot >> 8);
	return str_of(bytes, 6);
}

struct st_group *
st_group_find(struct st_node *n, uint32_t placement, uint16_t slot)
{
	uint8_t bytes[6];

	return map_get(n->groups, map_key(placement, slot, bytes));
}

static struct st_group *
find_or_make(struct st_node *n, struct st_gid gid)
{
	struct st_group *g = st_group_find(n, gid.placement, gid.slot);
	uint8_t bytes[6];

	if (g)
		return g;
	g = NEW(n->arena, struct st_group);
	g->magic = ST_GROUP_MAGIC;
	g->node = n;
	g->gid = gid;
	cond_init(&g->changed, n->world);
	list_init(&g->pipeline);
	map_put(n->groups, map_key(gid.placement, gid.slot, bytes), g);
	return g;
}

/* ---- the way of an entry ---- */

/* Follows the commit index; ends when nothing is left to apply. */
static void
apply_fiber(void *arg)
{
	struct st_group *g = TAKE(struct st_group, arg, ST_GROUP_MAGIC);

	while (g->applied < g->committed) {
		uint64_t applied = st_apply(g, g->committed);

		if (applied == g->applied)
			break; /* the node stopped */
		g->applied = applied;
		st_results_applied(g->results, applied);
		st_log_applied(g->node, g);
		/* The catalog is news before its proposer hears of it. What a
		 * group applies while it opens has nothing to be added to yet:
		 * the whole is read once that is over. */
		if (g->gid.placement == CL_PLACEMENT_CATALOG &&
		    g->state == ST_GROUP_LEADING)
			st_catalog_applied(g->node, g);
		while (!list_empty(&g->pipeline)) {
			struct st_pending *p = LIST_ENTRY(
			    g->pipeline.next, struct st_pending, link);

			if (p->entry.index > applied)
				break;
			list_del(&p->link);
			p->done = true;
			cond_broadcast(&p->waiter);
		}
	}
	g->applying = false;
}

void
st_group_flushed(struct st_group *g, uint64_t index)
{
	uint64_t match[1];

	ASSERT(index > g->flushed && index <= g->last);
	g->flushed = index;
	match[0] = g->flushed;
	g->committed = st_commit_index(
	    g->committed, st_majority_index(match, 1), g->term_start);
	ASSERT(g->committed <= g->last && g->applied <= g->committed);
	if (g->applying || g->applied == g->committed)
		return;
	g->applying = true;
	fiber_spawn(g->node->world, "apply", FIBER_STACK_NODE, apply_fiber, g);
}

static void
set_schema(struct st_group *g, uint32_t table, uint32_t version)
{
	for (uint32_t i = 0; i < g->n_schemas; i++)
		if (g->schemas[i].table == table) {
			g->schemas[i].version = version;
			return;
		}
	if (g->n_schemas == g->cap_schemas) {
		uint32_t cap = g->cap_schemas ? g->cap_schemas * 2 : 8;

		g->schemas = arena_grow(g->arena, g->schemas,
		    g->cap_schemas * sizeof *g->schemas,
		    cap * sizeof *g->schemas);
		g->cap_schemas = cap;
	}
	g->schemas[g->n_schemas++] = (struct st_schema){table, version};
}

uint32_t
st_group_schema(const struct st_group *g, uint32_t table)
{
	for (uint32_t i = 0; i < g->n_schemas; i++)
		if (g->schemas[i].table == table)
			return g->schemas[i].version;
	return 0;
}

/* What later entries must know of one that is not applied yet. */
static void
note_entry(struct st_group *g, const struct st_entry *e)
{
	ASSERT(e->index == g->last + 1 && e->stamp > g->last_stamp);
	g->last = e->index;
	g->last_stamp = e->stamp;
	if (e->kind == ST_ENTRY_SCHEMA)
		set_schema(g, e->table, e->version);
}

void
st_group_append(struct st_group *g, struct arena *a, struct st_pending *p)
{
	struct st_entry *e = &p->entry;
	struct buf b;
	struct err *err;

	ASSERT(g->state != ST_GROUP_CLOSED && e->stamp > g->last_stamp);
	e->index = g->last + 1;
	e->ballot = g->ballot;
	buf_init(&b, a);
	st_entry_encode(&b, e);
	p->bytes = buf_view(&b);
	/* What is applied is what the log says, not what was handed in. */
	err = st_entry_decode(a, p->bytes, e);
	ASSERT(!err);
	p->group = g;
	p->done = false;
	cond_init(&p->waiter, g->node->world);
	note_entry(g, e);
	list_push(&g->pipeline, &p->link);
	st_log_add(g->node, p);
}

void
st_pending_wait(struct st_pending *p)
{
	while (!p->done)
		cond_wait_hard(&p->waiter);
}

bool
st_group_leads(const struct st_group *g, const struct st_ballot *b)
{
	return g->state == ST_GROUP_LEADING &&
	       st_ballot_cmp(&g->ballot, b) == 0;
}

/* ---- opening ---- */

struct piece {
	struct piece *next;
	struct str key, value;
};

/* What an engine job reads of a group, as bytes in a scratch arena. */
struct load {
	struct arena *arena;
	struct st_gid gid;
	struct str record;
	struct piece *sessions, *schemas, *entries;
	uint64_t first; /* index of the oldest entry kept; 0 = none */
};

static void
load_prefix(struct kv *kv, struct load *l, enum kv_file f, struct str prefix,
    struct str from, struct piece **out)
{
	struct kv_cur *c = kv_open(kv, f);
	struct str k, v;
	bool more = kv_seek(c, from, &k, &v);

	*out = NULL;
	while (more && str_has_prefix(k, prefix)) {
		struct piece *p = NEW(l->arena, struct piece);

		p->key = arena_str(l->arena, k);
		p->value = arena_str(l->arena, v);
		*out = p;
		out = &p->next;
		more = kv_next(c, &k, &v);
	}
	kv_close(c);
}

static void
load_meta(struct kv *kv, struct load *l, char letter, struct piece **out)
{
	struct buf b;

	buf_init(&b, l->arena);
	buf_u8(&b, (uint8_t)letter);
	st_gid_put(&b, l->gid);
	load_prefix(kv, l, KV_META, buf_view(&b), buf_view(&b), out);
}

static void
load_log(struct kv *kv, struct load *l, uint64_t applied)
{
	struct buf prefix, from;
	struct kv_cur *c;
	struct str k, v;

	buf_init(&prefix, l->arena);
	st_gid_put(&prefix, l->gid);
	buf_init(&from, l->arena);
	st_key_log(&from, l->gid, applied + 1);
	load_prefix(
	    kv, l, KV_LOG, buf_view(&prefix), buf_view(&from), &l->entries);
	c = kv_open(kv, KV_LOG);
	l->first = 0;
	if (kv_seek(c, buf_view(&prefix), &k, &v) &&
	    str_has_prefix(k, buf_view(&prefix))) {
		struct cur at = cur_of(str_skip(k, ST_GID_LEN));

		l->first = cur_be64(&at);
	}
	kv_close(c);
}

static void
load_job(struct kv *kv, void *arg)
{
	struct load *l = arg;
	struct st_group_record r = {.applied = 0};
	struct buf key;
	struct str v;

	buf_init(&key, l->arena);
	st_key_group(&key, l->gid);
	l->record = STR_NONE;
	if (kv_get(kv, KV_META, buf_view(&key), &v)) {
		l->record = arena_str(l->arena, v);
		st_group_record_get(l->record, &r);
	}
	load_meta(kv, l, 'S', &l->sessions);
	load_meta(kv, l, 'V', &l->schemas);
	load_log(kv, l, r.applied);
}

static struct err *
take_sessions(struct st_group *g, struct arena *a, const struct load *l)
{
	cl_stamp window = CL_STAMP_OF_MS(g->node->conf.retry_window_us / 1000);

	g->results = st_results_new(g->arena, window);
	for (const struct piece *p = l->sessions; p; p = p->next) {
		struct str id = str_skip(p->key, 1 + ST_GID_LEN);

		if (id.len != 16)
			return ERR(a, ERRCODE_DATA_CORRUPTED,
			    "a record of kept results is malformed");
		TRY(st_results_load(
		    a, g->results, (const uint8_t *)id.p, p->value));
	}
	st_results_loaded(g->results, g->applied);
	return NULL;
}

static struct err *
take_schemas(struct st_group *g, struct arena *a, const struct load *l)
{
	for (const struct piece *p = l->schemas; p; p = p->next) {
		struct cur k = cur_of(str_skip(p->key, 1 + ST_GID_LEN));
		struct cur v = cur_of(p->value);
		uint32_t table = cur_be32(&k), version = cur_le32(&v);

		if (!cur_done(&k) || !cur_done(&v))
			return ERR(a, ERRCODE_DATA_CORRUPTED,
			    "a record of a schema version is malformed");
		set_schema(g, table, version);
	}
	return NULL;
}

/* Entries that were appended before the stop but not applied: they come back
 * into the pipeline and commit with the first entry of the new term. */
static struct err *
take_entries(struct st_group *g, struct arena *a, const struct load *l)
{
	for (const struct piece *x = l->entries; x; x = x->next) {
		struct st_pending *p = NEW(g->arena, struct st_pending);

		p->bytes = arena_str(g->arena, x->value);
		TRY(st_entry_decode(g->arena, p->bytes, &p->entry));
		if (p->entry.index != g->last + 1 ||
		    p->entry.stamp <= g->last_stamp)
			return ERR(a, ERRCODE_DATA_CORRUPTED,
			    "the log of slot %u has a gap after entry %" PRIu64,
			    g->gid.slot, g->last);
		p->group = g;
		cond_init(&p->waiter, g->node->world);
		note_entry(g, &p->entry);
		list_push(&g->pipeline, &p->link);
	}
	return NULL;
}

static struct err *
load_group(struct st_group *g, struct arena *a)
{
	struct load l = {.arena = a, .gid = g->gid};
	struct st_group_record r = {.applied = 0};

	engine_run(
	    g->node->engine, st_group_lane(g->gid), ENGINE_READ, load_job, &l);
	if (l.record.len && !st_group_record_get(l.record, &r))
		return ERR(a, ERRCODE_DATA_CORRUPTED,
		    "the state record of slot %u is malformed", g->gid.slot);
	g->ballot = r.ballot;
	g->last = g->committed = g->applied = g->durable = r.applied;
	g->last_stamp = g->applied_stamp = r.stamp;
	g->floor = r.floor;
	g->catalog_version = r.catalog_version;
	g->trimmed = l.first ? l.first - 1 : r.applied;
	g->n_schemas = g->cap_schemas = 0;
	g->schemas = NULL;
	TRY(take_sessions(g, a, &l));
	TRY(take_schemas(g, a, &l));
	TRY(take_entries(g, a, &l));
	g->flushed = g->last;
	return NULL;
}

struct vote {
	struct str key, record;
};

static void
vote_job(struct kv *kv, void *arg)
{
	const struct vote *v = arg;

	kv_put(kv, KV_META, v->key, v->record);
}

/* A new ballot, on disk before anything is done in it. With more members this
 * is where they are asked for theirs. */
static bool
campaign(struct st_group *g, struct arena *a)
{
	struct st_node *n = g->node;
	struct st_ballot next = {
	    g->ballot.round + 1, n->id.member, n->id.incarnation};
	struct st_group_record r = {
	    next, g->applied, g->applied_stamp, g->floor, g->catalog_version};
	struct buf key, record;
	struct vote v;

	buf_init(&key, a);
	st_key_group(&key, g->gid);
	buf_init(&record, a);
	st_group_record_put(&record, &r);
	v = (struct vote){buf_view(&key), buf_view(&record)};
	if (engine_run(n->engine, st_group_lane(g->gid), ENGINE_WRITE, vote_job,
		&v) != ENGINE_OK)
		return false;
	engine_sync(n->engine);
	ASSERT(st_ballot_cmp(&g->ballot, &next) < 0);
	g->ballot = next;
	return true;
}

/* The term's first entry: it is empty, and once it is applied so is everything
 * before it. */
static bool
start_term(struct st_group *g)
{
	struct st_node *n = g->node;
	struct st_pending *p = NEW(g->arena, struct st_pending);
	enum cl_clock_state why;

	for (;;) {
		p->entry.stamp = st_clock_next(n, g->last_stamp, &why);
		if (p->entry.stamp)
			break;
		if (why == CL_CLOCK_SKEW) {
			LOG(n->world, LOG_WARN, "group", "clock_behind",
			    "slot=%u last_stamp_ms=%" PRIu64, g->gid.slot,
			    CL_STAMP_MS(g->last_stamp));
			return false;
		}
		st_clock_wait(n);
		if (n->state > ST_NODE_SERVING)
			return false;
	}
	p->entry.kind = ST_ENTRY_EMPTY;
	g->term_start = g->last + 1;
	st_group_append(g, g->arena, p);
	st_pending_wait(p);
	return true;
}

static bool
open_group(struct st_group *g, struct arena *a)
{
	struct err *e = load_group(g, a);

	if (e) {
		LOG(g->node->world, LOG_ERROR, "group", "damaged",
		    "placement=%u slot=%u error=\"%s\"", g->gid.placement,
		    g->gid.slot, e->message);
		return false;
	}
	return campaign(g, a) && start_term(g);
}

static void
open_it(struct st_group *g)
{
	struct st_scratch *s = st_scratch_new(g->node, "open group");
	bool ok;

	move(g, ST_GROUP_OPENING);
	g->arena = arena_new(g->node->arena, "group");
	st_locks_init(&g->locks, g->arena);
	list_init(&g->pipeline);
	ok = open_group(g, s->arena);
	if (ok && g->gid.placement == CL_PLACEMENT_CATALOG)
		ok = st_catalog_rebuild(g->node, g);
	st_scratch_free(s);
	if (ok) {
		move(g, ST_GROUP_LEADING);
		return;
	}
	list_init(&g->pipeline);
	arena_free(g->arena);
	g->arena = NULL;
	move(g, ST_GROUP_CLOSED);
}

/* ---- who asks for it ---- */

/* Waits for a newer catalog; false when it did not come in time. */
static bool
newer_catalog(struct st_node *n, uint64_t catalog, uint64_t deadline_us)
{
	uint64_t until = world_mono_us(n->world) + CATALOG_WAIT_US;

	if (cl_catalog_version(n->catalog.snap) >= catalog)
		return false;
	return st_catalog_wait(
	    n, catalog, until < deadline_us ? until : deadline_us);
}

static bool
may_serve(const struct st_node *n, struct st_gid gid, enum cl_refusal *why)
{
	if (n->state == ST_NODE_SERVING)
		return true;
	if (n->state == ST_NODE_STARTING) {
		*why = CL_REFUSE_LEADER;
		return gid.placement == CL_PLACEMENT_CATALOG && n->id.founder;
	}
	*why = CL_REFUSE_STOPPING;
	return false;
}

struct st_group *
st_group_lead(struct st_node *n, struct st_gid gid, uint64_t catalog,
    uint64_t deadline_us, enum cl_refusal *why)
{
	bool tried = false;

	*why = CL_REFUSE_NONE;
	for (;;) {
		struct st_group *g;

		if (!may_serve(n, gid, why))
			return NULL;
		if (!st_catalog_is_member(n, gid)) {
			if (newer_catalog(n, catalog, deadline_us))
				continue;
			*why = CL_REFUSE_EPOCH;
			return NULL;
		}
		g = find_or_make(n, gid);
		if (g->state == ST_GROUP_LEADING)
			return g;
		*why = CL_REFUSE_LEADER;
		if (g->state == ST_GROUP_CLOSED) {
			if (tried)
				return NULL;
			tried = true;
			open_it(g);
		} else if (cond_wait(&g->changed, deadline_us) != WAKE_EVENT) {
			return NULL;
		}
	}
}

/* Fibers that open groups side by side, and what they need. */
#define OPENERS_MAX 64u

struct openers {
	struct st_node *node;
	const struct st_gid *gids;
	size_t count, next;
	uint64_t catalog, deadline_us;
	uint32_t running;
	struct cond ended;
};

static void
opener(void *arg)
{
	struct openers *o = arg;
	enum cl_refusal why;

	while (o->next < o->count)
		st_group_lead(o->node, o->gids[o->next++], o->catalog,
		    o->deadline_us, &why);
	o->running--;
	cond_signal(&o->ended);
}

bool
st_groups_lead(struct st_node *n, const struct st_gid *gids, size_t count,
    uint64_t catalog, uint64_t deadline_us, enum cl_refusal *why)
{
	struct openers o = {.node = n,
	    .gids = gids,
	    .count = count,
	    .catalog = catalog,
	    .deadline_us = deadline_us};
	size_t closed = 0;

	cond_init(&o.ended, n->world);
	for (size_t i = 0; i < count; i++) {
		const struct st_group *g =
		    st_group_find(n, gids[i].placement, gids[i].slot);

		closed += !g || g->state != ST_GROUP_LEADING;
	}
	for (size_t i = 0; closed > 1 && i < closed && i < OPENERS_MAX; i++) {
		o.running++;
		fiber_spawn(
		    n->world, "open group", FIBER_STACK_NODE, opener, &o);
	}
	while (o.running)
		cond_wait_hard(&o.ended);
	/* What did not open says why, once more and one by one. */
	for (size_t i = 0; i < count; i++)
		if (!st_group_lead(n, gids[i], catalog, deadline_us, why))
			return false;
	return true;
}

bool
st_groups_idle(const struct st_node *n)
{
	size_t at = 0;
	void *v;

	while (map_next(n->groups, &at, NULL, &v)) {
		const struct st_group *g =
		    TAKE(struct st_group, v, ST_GROUP_MAGIC);

		if (g->applying || g->state == ST_GROUP_OPENING ||
		    !list_empty(&g->pipeline))
			return false;
	}
	return list_empty(&n->log.queue) && list_empty(&n->log.trims) &&
	       !n->log.busy;
}

void
st_groups_close(struct st_node *n)
{
	size_t at = 0;
	void *v;

	while (map_next(n->groups, &at, NULL, &v)) {
		struct st_group *g = TAKE(struct st_group, v, ST_GROUP_MAGIC);

		if (g->state == ST_GROUP_LEADING)
			move(g, ST_GROUP_CLOSED);
	}
}
