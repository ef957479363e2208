#include "storage/group.h"

#include <inttypes.h>

#include "base/log.h"
#include "base/metrics.h"
#include "base/mutate.h"
#include "storage/apply.h"
#include "storage/catalog.h"
#include "storage/config.h"
#include "storage/replicate.h"
#include "storage/txns.h"

#define RING_MIN 8u

uint64_t
st_group_lane(struct st_gid gid)
{
	return ((uint64_t)gid.placement << 16 | gid.slot) + 1;
}

/* ---- states ---- */

static const char *const state_names[] = {
    "closed", "loading", "following", "campaigning", "elected", "leading"};

void
st_group_move(struct st_group *g, enum st_group_state to)
{
	static const bool allowed[6][6] = {
	    [ST_GROUP_CLOSED] = {[ST_GROUP_LOADING] = true},
	    [ST_GROUP_LOADING] =
		{[ST_GROUP_FOLLOWING] = true, [ST_GROUP_CLOSED] = true},
	    [ST_GROUP_FOLLOWING] = {[ST_GROUP_CAMPAIGNING] = true},
	    [ST_GROUP_CAMPAIGNING] =
		{[ST_GROUP_FOLLOWING] = true, [ST_GROUP_ELECTED] = true},
	    [ST_GROUP_ELECTED] =
		{[ST_GROUP_FOLLOWING] = true, [ST_GROUP_LEADING] = true},
	    [ST_GROUP_LEADING] = {[ST_GROUP_FOLLOWING] = true},
	};

	ASSERT(allowed[g->state][to]);
	LOG(g->node->world, LOG_TRACE, "group", "state",
	    "placement=%u slot=%u epoch=%u from=%s to=%s round=%" PRIu64
	    " last=%" PRIu64,
	    g->gid.placement, g->gid.slot, g->gid.epoch, state_names[g->state],
	    state_names[to], g->promise.round, g->last);
	if (to == ST_GROUP_LEADING)
		g->node->n_leading++;
	else if (g->state == ST_GROUP_LEADING)
		g->node->n_leading--;
	metric_set(M_NODE_GROUPS_LEADING, g->node->n_leading);
	g->state = to;
	cond_broadcast(&g->changed);
}

bool
st_group_loaded(const struct st_group *g)
{
	return g->state >= ST_GROUP_FOLLOWING;
}

bool
st_group_is_leader(const struct st_group *g)
{
	return g->state >= ST_GROUP_ELECTED;
}

bool
st_group_leads(const struct st_group *g, const struct st_ballot *b)
{
	return g->state == ST_GROUP_LEADING &&
	       st_ballot_cmp(&g->ballot, b) == 0;
}

uint32_t
st_group_rank(const struct st_group *g, uint32_t member)
{
	uint32_t i = 0;

	while (i < g->n_members && g->members[i] != member)
		i++;
	return i;
}

struct st_place
st_group_log(const struct st_group *g)
{
	return (struct st_place){g->last_ballot, g->last};
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

struct st_group *
st_group_make(struct st_node *n, struct st_gid gid)
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
	cond_init(&g->settled, n->world);
	list_init(&g->commits);
	map_put(n->groups, map_key(gid.placement, gid.slot, bytes), g);
	return g;
}

/* ---- entries that are not applied yet ---- */

void
st_pending_unref(struct st_pending *p)
{
	ASSERT(p->refs > 0);
	if (--p->refs == 0)
		arena_free(p->arena);
}

struct st_pending *
st_group_pending(const struct st_group *g, uint64_t index)
{
	ASSERT(index > g->applied && index <= g->last);
	return g->ring[index & (g->ring_size - 1)];
}

static void
grow_ring(struct st_group *g)
{
	uint32_t size = g->ring_size ? g->ring_size * 2 : RING_MIN;
	struct arena *a = g->state_arena ? g->state_arena : g->arena;
	struct st_pending **ring = NEW_N(a, struct st_pending *, size);

	for (uint64_t i = g->applied + 1; i <= g->last; i++)
		ring[i & (size - 1)] = st_group_pending(g, i);
	g->ring = ring;
	g->ring_size = size;
}

/* The entry is the group's newest from here on; `write` = it has yet to go to
 * disk. */
static void
add_pending(struct st_group *g, struct st_pending *p, bool write)
{
	const struct st_entry *e = &p->entry;

	ASSERT(e->index == g->last + 1);
	if (g->last - g->applied + 1 >= g->ring_size)
		grow_ring(g);
	g->ring[e->index & (g->ring_size - 1)] = p;
	g->last = e->index;
	g->last_ballot = e->ballot;
	g->last_stamp = e->stamp;
	g->born = true;
	g->log_bytes += p->bytes.len;
	g->node->log.bytes += p->bytes.len;
	g->n_schemas_ahead += e->kind == ST_ENTRY_SCHEMA;
	p->refs++; /* the ring's */
	if (!write)
		return;
	st_config_appended(g, e);
	p->refs++;
	p->item = (struct st_log_item){
	    .kind = ST_LOG_ENTRY, .group = g, .index = e->index};
	st_log_add(g->node, &p->item);
}

static struct st_pending *
new_pending(struct st_group *g)
{
	struct arena *a = arena_new(g->arena, "entry");
	struct st_pending *p = NEW(a, struct st_pending);

	p->arena = a;
	p->group = g;
	cond_init(&p->waiter, g->node->world);
	return p;
}

struct st_pending *
st_group_append(struct st_group *g, const struct st_entry *entry)
{
	struct st_pending *p = new_pending(g);
	struct st_entry e = *entry;
	struct buf b;
	struct err *err;

	ASSERT(st_group_is_leader(g));
	ASSERT(e.stamp > g->last_stamp || mutate("stamp_below_group"));
	e.index = g->last + 1;
	e.ballot = g->ballot;
	buf_init(&b, p->arena);
	st_entry_encode(&b, &e);
	p->bytes = buf_view(&b);
	/* What is applied is what the log says, not what was handed in. */
	err = st_entry_decode(p->arena, p->bytes, &p->entry);
	ASSERT(!err);
	p->refs = 1;
	add_pending(g, p, true);
	if (st_entry_of_txn(e.kind))
		st_txns_begin(st_group_txns(g), &p->entry);
	st_replicate_wake(g);
	return p;
}

static struct err *
take(struct st_group *g, struct arena *a, struct str bytes, bool write)
{
	struct st_pending *p = new_pending(g);
	struct err *e;

	p->bytes = arena_str(p->arena, bytes);
	e = st_entry_decode(p->arena, p->bytes, &p->entry);
	if (e || p->entry.index != g->last + 1) {
		e = e ? err_copy(a, e)
		      : ERR(a, ERRCODE_PROTOCOL_VIOLATION,
			    "an entry that does not follow");
		arena_free(p->arena);
		return e;
	}
	add_pending(g, p, write);
	return NULL;
}

struct err *
st_group_take(struct st_group *g, struct arena *a, struct str bytes)
{
	return take(g, a, bytes, true);
}

struct err *
st_group_restore(struct st_group *g, struct arena *a, struct str bytes)
{
	return take(g, a, bytes, false);
}

static void
end_pending(struct st_pending *p, enum st_fate fate)
{
	if (p->fate == ST_UNDER_WAY) {
		p->fate = fate;
		cond_broadcast(&p->waiter);
	}
}

/* The place of the newest entry that is left. */
static void
step_back(struct st_group *g, uint64_t last)
{
	const struct st_entry *e;

	g->last = last;
	g->last_ballot = g->applied_ballot;
	g->last_stamp = g->applied_stamp;
	if (last == g->applied)
		return;
	e = &st_group_pending(g, last)->entry;
	g->last_ballot = e->ballot;
	g->last_stamp = e->stamp;
}

void
st_group_cut(struct st_group *g, uint64_t from)
{
	uint64_t last = g->last;

	ASSERT(from > g->committed && from > g->applied && from <= last);
	ASSERT(g->flushed == last);
	LOG(g->node->world, LOG_TRACE, "group", "cut",
	    "placement=%u slot=%u from=%" PRIu64 " last=%" PRIu64,
	    g->gid.placement, g->gid.slot, from, last);
	for (uint64_t i = last; i >= from; i--) {
		struct st_pending *p = st_group_pending(g, i);

		end_pending(p, ST_LOST);
		g->n_schemas_ahead -= p->entry.kind == ST_ENTRY_SCHEMA;
		g->log_bytes -= p->bytes.len;
		g->node->log.bytes -= p->bytes.len;
		step_back(g, i - 1);
		st_pending_unref(p);
	}
	g->flushed = g->last;
	if (g->matched > g->last)
		g->matched = g->last;
	st_log_cut(g, from);
	st_config_cut(g);
}

enum st_fate
st_pending_wait(struct st_pending *p)
{
	enum st_fate fate;

	while (p->fate == ST_UNDER_WAY)
		cond_wait_hard(&p->waiter);
	fate = p->fate;
	st_pending_unref(p);
	return fate;
}

/* ---- the way of an entry ---- */

static void
observe_applied(struct st_group *g, const struct st_pending *p)
{
	const struct st_observer *o = g->node->conf.observer;

	if (!o || !o->applied)
		return;
	o->applied(o->arg, &(struct st_observed){.member = g->node->id.member,
			       .placement = g->gid.placement,
			       .slot = g->gid.slot,
			       .epoch = g->gid.epoch,
			       .round = p->entry.ballot.round,
			       .ballot_member = p->entry.ballot.member,
			       .incarnation = p->entry.ballot.incarnation,
			       .index = p->entry.index,
			       .entry = p->bytes});
}

/* Entries up to `to` are applied: who waits for them goes on. */
static void
retire(struct st_group *g, uint64_t to)
{
	while (g->applied < to) {
		struct st_pending *p = st_group_pending(g, g->applied + 1);

		observe_applied(g, p);
		g->n_schemas_ahead -= p->entry.kind == ST_ENTRY_SCHEMA;
		g->applied_ballot = p->entry.ballot;
		g->applied++;
		end_pending(p, ST_APPLIED);
		st_pending_unref(p);
	}
}

/* What may be applied now: committed, and written here too. Which indexes rows
 * have is said by the catalog, so none of a table's before the newest that an
 * earlier process here knew (index.h) is known again. */
static uint64_t
may_apply(const struct st_group *g)
{
	uint64_t index = g->committed < g->flushed ? g->committed : g->flushed;

	if (g->holds ||
	    (g->gid.placement != CL_PLACEMENT_CATALOG &&
		!g->node->catalog.followed && !mutate("index_catalog_behind")))
		return g->applied;
	return g->stop_at && g->stop_at < index ? g->stop_at : index;
}

/* Follows the commit index; ends when nothing is left to apply. */
static void
apply_fiber(void *arg)
{
	struct st_group *g = TAKE(struct st_group, arg, ST_GROUP_MAGIC);

	while (g->applied < may_apply(g)) {
		uint64_t applied = st_apply(g, may_apply(g));

		if (applied == g->applied)
			break; /* the node stopped */
		st_results_applied(g->results, applied);
		if (g->txns && st_txns_applied(g->txns, applied))
			cond_broadcast(&g->settled);
		st_log_applied(g->node, g);
		/* The catalog is news before its proposer hears of it. */
		if (g->gid.placement == CL_PLACEMENT_CATALOG && !g->incomplete)
			st_catalog_applied(g->node, g, applied);
		retire(g, applied);
		if (st_group_is_leader(g))
			st_replicate_applied_here(g);
		cond_broadcast(&g->changed);
	}
	g->applying = false;
	cond_broadcast(&g->changed);
}

void
st_group_committed(struct st_group *g)
{
	if (g->applying || g->applied >= may_apply(g))
		return;
	g->applying = true;
	fiber_spawn(g->node->world, "apply", FIBER_STACK_NODE, apply_fiber, g);
}

void
st_group_flushed(struct st_group *g, uint64_t index)
{
	if (index <= g->flushed)
		return;
	ASSERT(index <= g->last);
	g->flushed = index;
	if (st_group_is_leader(g))
		st_replicate_matched(g);
	else
		cond_broadcast(&g->changed);
	st_group_committed(g);
}

void
st_group_step_down(struct st_group *g)
{
	if (g->state < ST_GROUP_CAMPAIGNING)
		return;
	if (st_group_is_leader(g)) {
		LOG(g->node->world, LOG_INFO, "group", "step_down",
		    "placement=%u slot=%u round=%" PRIu64, g->gid.placement,
		    g->gid.slot, g->ballot.round);
		metric_inc(M_NODE_STEP_DOWNS);
		for (uint64_t i = g->applied + 1; i <= g->last; i++)
			end_pending(st_group_pending(g, i), ST_LOST);
		st_results_abandon(g->results);
		if (g->txns)
			st_txns_abandon(g->txns);
		cond_broadcast(&g->settled);
		st_replicate_stop(g);
		g->matched = g->committed;
	}
	st_group_move(g, ST_GROUP_FOLLOWING);
}

/* ---- copies that are replaced ---- */

void
st_group_hold(struct st_group *g)
{
	g->holds++;
	while (g->applying)
		cond_wait_hard(&g->changed);
}

void
st_group_release(struct st_group *g)
{
	ASSERT(g->holds > 0);
	if (--g->holds == 0)
		st_group_committed(g);
}

static void
drop_pending(struct st_group *g)
{
	for (uint64_t i = g->applied + 1; i <= g->last; i++) {
		struct st_pending *p = st_group_pending(g, i);

		end_pending(p, ST_LOST);
		st_pending_unref(p);
	}
	g->n_schemas_ahead = 0;
	g->node->log.bytes -= g->log_bytes;
	g->log_bytes = 0;
}

void
st_group_reset(struct st_group *g, const struct st_group_record *r)
{
	ASSERT(g->holds && !g->applying && g->flushed == g->last);
	ASSERT(r->applied >= g->applied && g->state == ST_GROUP_FOLLOWING);
	drop_pending(g);
	g->last = g->flushed = g->committed = g->applied = r->applied;
	g->durable = g->trimmed = g->matched = r->applied;
	g->last_ballot = g->applied_ballot = r->ballot;
	g->last_stamp = g->applied_stamp = r->stamp;
	g->floor = r->floor;
	g->catalog_version = r->catalog_version;
	st_txns_free(g->txns);
	g->txns = NULL;
	arena_free(g->state_arena);
	g->state_arena = arena_new(g->arena, "state");
	g->ring = NULL;
	g->ring_size = 0;
	g->schemas = NULL;
	g->n_schemas = g->cap_schemas = 0;
	g->results = NULL;
}

bool
st_group_complete(const struct st_group *g)
{
	return !g->incomplete && !g->resync.damaged;
}

/* ---- schema versions ---- */

void
st_group_set_schema(struct st_group *g, uint32_t table, uint32_t version)
{
	for (uint32_t i = 0; i < g->n_schemas; i++)
		if (g->schemas[i].table == table) {
			g->schemas[i].version = version;
			return;
		}
	if (g->n_schemas == g->cap_schemas) {
		uint32_t cap = g->cap_schemas ? g->cap_schemas * 2 : 8;
		struct arena *a = g->state_arena ? g->state_arena : g->arena;

		g->schemas = arena_grow(a, g->schemas,
		    g->cap_schemas * sizeof *g->schemas,
		    cap * sizeof *g->schemas);
		g->cap_schemas = cap;
	}
	g->schemas[g->n_schemas++] = (struct st_schema){table, version};
}

uint32_t
st_group_applied_schema(const struct st_group *g, uint32_t table)
{
	for (uint32_t i = 0; i < g->n_schemas; i++)
		if (g->schemas[i].table == table)
			return g->schemas[i].version;
	return 0;
}

uint32_t
st_group_schema(const struct st_group *g, uint32_t table)
{
	uint32_t version = st_group_applied_schema(g, table);

	for (uint64_t i = g->applied + 1; g->n_schemas_ahead && i <= g->last;
	     i++) {
		const struct st_entry *e = &st_group_pending(g, i)->entry;

		if (e->kind == ST_ENTRY_SCHEMA && e->table == table)
			version = e->version;
	}
	return version;
}

/* ---- transactions ---- */

struct st_txns *
st_group_txns(struct st_group *g)
{
	const struct st_conf *c = &g->node->conf;

	if (!g->txns) {
		g->txns =
		    st_txns_new(g->state_arena ? g->state_arena : g->arena,
			&g->locks, CL_STAMP_OF_MS(c->txn_retention_us / 1000));
		st_txns_loaded(g->txns, g->applied);
	}
	return g->txns;
}

/* ---- all of them ---- */

void
st_groups_committed(struct st_node *n)
{
	size_t at = 0;
	void *v;

	while (map_next(n->groups, &at, NULL, &v)) {
		struct st_group *g = TAKE(struct st_group, v, ST_GROUP_MAGIC);

		if (st_group_loaded(g))
			st_group_committed(g);
	}
}

bool
st_groups_idle(const struct st_node *n)
{
	size_t at = 0;
	void *v;

	while (map_next(n->groups, &at, NULL, &v)) {
		const struct st_group *g =
		    TAKE(struct st_group, v, ST_GROUP_MAGIC);

		if (g->applying || g->state == ST_GROUP_LOADING ||
		    g->state == ST_GROUP_CAMPAIGNING ||
		    g->state == ST_GROUP_ELECTED)
			return false;
		if (g->state == ST_GROUP_LEADING && g->applied < g->last)
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

	while (map_next(n->groups, &at, NULL, &v))
		st_group_step_down(TAKE(struct st_group, v, ST_GROUP_MAGIC));
}
