#include "storage/sweep.h"

#include "base/log.h"
#include "base/metrics.h"
#include "cluster/key.h"
#include "storage/catalog.h"
#include "storage/elect.h"
#include "storage/log.h"
#include "storage/propose.h"
#include "storage/settle.h"

#define SLICE_ROWS   1000u
#define LEAD_WAIT_US 5000000u

/* ---- tombstones ---- */

/* What one group has to drop, as an engine job finds it. */
struct stones {
	struct arena *arena; /* a root */
	struct str from;     /* look from this key on */
	cl_stamp before;     /* only older ones */
	struct st_gid gid;
	struct st_forget *list;
	uint32_t n;
	bool any; /* some group has tombstones at or behind `from` */
};

static bool
read_stone(struct str k, struct st_gid *gid, struct st_forget *f)
{
	struct cur c = cur_of(k);

	if (cur_u8(&c) != 'T' || !st_gid_get(&c, gid))
		return false;
	f->stamp = cur_be64(&c);
	f->key = cur_bytes(&c, c.left);
	return cur_ok(&c);
}

static void
stones_job(struct kv *kv, void *arg)
{
	struct stones *s = arg;
	struct kv_cur *c = kv_open(kv, KV_META);
	struct str k, v;
	bool more = kv_seek(c, s->from, &k, &v);

	s->n = 0;
	s->any = false;
	while (more && s->n < SLICE_ROWS) {
		struct st_forget f;
		struct st_gid gid;

		if (!read_stone(k, &gid, &f))
			break;
		if (!s->any)
			s->gid = gid;
		s->any = true;
		if (!st_gid_eq(gid, s->gid) || f.stamp >= s->before)
			break;
		f.key = arena_str(s->arena, f.key);
		s->list[s->n++] = f;
		more = kv_next(c, &k, &v);
	}
	kv_close(c);
}

static bool
all_have_applied(const struct st_group *g, const struct st_forget *f)
{
	return g->n_members == 1 || f->stamp <= g->all_applied;
}

static bool
forget(struct st_node *n, const struct stones *s)
{
	struct st_entry e = {.kind = ST_ENTRY_FORGET, .forget = s->list};
	uint64_t until = world_mono_us(n->world) + LEAD_WAIT_US;
	enum cl_refusal no;
	struct st_refusal why;
	struct st_group *g = st_group_open(n, s->gid, 0, until, &no);

	/* The leader does it, or who should become that. */
	if (!g || !st_group_turn(g))
		return false;
	g = st_group_lead(n, s->gid, 0, until, &why);
	if (!g)
		return false;
	/* A tombstone stays until every member has applied past it: one that
	 * has not might bring back what was deleted. */
	while (e.n_forget < s->n && (all_have_applied(g, &s->list[e.n_forget])))
		e.n_forget++;
	if (!e.n_forget)
		return false;
	e.floor = s->list[e.n_forget - 1].stamp;
	return st_propose_entry(g, &e) && e.n_forget == s->n;
}

static struct str
stones_of(struct arena *a, struct st_gid gid)
{
	struct buf b;

	buf_init(&b, a);
	buf_u8(&b, 'T');
	st_gid_put(&b, gid);
	return buf_view(&b);
}

static void
drop_tombstones(struct st_node *n, struct arena *a)
{
	cl_stamp age = CL_STAMP_OF_MS(n->conf.tombstone_age_us / 1000);
	cl_stamp now = st_now(n);
	struct str from = STR("T");

	if (now <= age)
		return;
	while (n->state == ST_NODE_SERVING) {
		struct st_scratch *scratch = st_scratch_new(n, "tombstones");
		struct stones s = {
		    .arena = scratch->arena, .from = from, .before = now - age};
		bool more;

		s.list = NEW_N(s.arena, struct st_forget, SLICE_ROWS);
		engine_run(
		    n->engine, ENGINE_LANE_ANY, ENGINE_READ, stones_job, &s);
		/* A full slice: the same group again, else the next one. */
		more = s.n && forget(n, &s) && s.n == SLICE_ROWS;
		if (!more && s.any)
			from = cl_key_after_prefix(a, stones_of(a, s.gid));
		st_scratch_free(scratch);
		if (!s.any)
			return;
	}
}

/* ---- results ---- */

/* A group with traffic forgets by its entries; an idle one gets one entry, a
 * retry window after its last. */
static void
forget_results(struct st_node *n, struct arena *a)
{
	cl_stamp window = CL_STAMP_OF_MS(n->conf.retry_window_us / 1000);
	struct st_entry empty = {.kind = ST_ENTRY_EMPTY};
	struct st_group **all =
	    NEW_N(a, struct st_group *, map_count(n->groups) + 1);
	size_t count = 0, at = 0;
	void *v;

	/* Groups may be added while an entry is under way. */
	while (map_next(n->groups, &at, NULL, &v))
		all[count++] = TAKE(struct st_group, v, ST_GROUP_MAGIC);
	for (size_t i = 0; i < count; i++) {
		struct st_group *g = all[i];

		if (g->state != ST_GROUP_LEADING || g->applied != g->last ||
		    !st_results_sessions(g->results) ||
		    g->last_stamp + window > st_now(n))
			continue;
		st_propose_entry(g, &empty);
	}
}

/* ---- dropped tables and indexes ---- */

/* What is kept under ids of one kind of thing, in one file. */
struct leavings {
	enum kv_file file;
	char letter; /* of the keys; 0: they begin with the id */
	bool (*is_dropped)(const struct cl_catalog *c, uint32_t id);
	char record; /* of KV_META, kept per thing and slot: goes with it; or 0
		      */
};

struct purge {
	struct arena *arena; /* a root */
	const struct cl_catalog *catalog;
	const struct leavings *what;
	uint32_t next_id; /* ids below it that are not there are dropped */
	struct str from;
	struct str next; /* where to go on */
	bool done;
	uint32_t removed;
};

static bool
table_dropped(const struct cl_catalog *c, uint32_t id)
{
	uint32_t placement;

	return !cl_catalog_rows_of(c, id, &placement);
}

/* One that failed is kept up to date no more, and read by nobody. */
static bool
index_dropped(const struct cl_catalog *c, uint32_t id)
{
	const struct cl_index *x = cl_catalog_index(c, id);

	return !x || x->state == CL_INDEX_FAILED ||
	       !cl_catalog_table(c, x->table);
}

static const struct leavings leavings[] = {
    {KV_ROWS, 0, table_dropped, 'C'},
    {KV_INDEX, 0, index_dropped, 'X'},
    /* Of an index without entries. */
    {KV_META, 'X', index_dropped, 0},
};

static bool
is_dropped(const struct purge *p, uint32_t id)
{
	return id >= CL_ID_FIRST && id < p->next_id &&
	       p->what->is_dropped(p->catalog, id);
}

static struct str
id_prefix(struct arena *a, char letter, uint32_t id)
{
	struct buf b;

	buf_init(&b, a);
	if (letter)
		buf_u8(&b, (uint8_t)letter);
	buf_be32(&b, id);
	return buf_view(&b);
}

/* The id that a key begins with; false behind the last such key. */
static bool
id_of(const struct leavings *what, struct str k, uint32_t *id)
{
	struct cur c = cur_of(k);

	if (what->letter && cur_u8(&c) != (uint8_t)what->letter)
		return false;
	*id = cur_be32(&c);
	return cur_ok(&c);
}

/* One slice: either skips what exists, or removes some of what does not. */
static void
purge_job(struct kv *kv, void *arg)
{
	struct purge *p = arg;
	const struct leavings *what = p->what;
	struct kv_cur *c = kv_open(kv, what->file);
	struct str k, v;
	bool more = kv_seek(c, p->from, &k, &v);
	uint32_t looked = 0, last = 0, id = 0;

	p->removed = 0;
	p->done = false;
	while (more && looked++ < SLICE_ROWS) {
		if (!id_of(what, k, &id) || id == UINT32_MAX) {
			more = false;
			break;
		}
		if (!is_dropped(p, id)) {
			p->next = id_prefix(p->arena, what->letter, id + 1);
			more = kv_seek(c, p->next, &k, &v);
			continue;
		}
		p->next = arena_str(p->arena, k);
		kv_del(kv, what->file, p->next);
		if (what->record && id != last)
			kv_del_range(kv, KV_META,
			    id_prefix(p->arena, what->record, id),
			    id_prefix(p->arena, what->record, id + 1));
		last = id;
		p->removed++;
		more = kv_next(c, &k, &v);
	}
	p->done = !more;
	kv_close(c);
}

static void
purge_kind(
    struct st_node *n, const struct cl_catalog *c, const struct leavings *what)
{
	const struct cl_object *counter = cl_find(c, CL_COUNTER, 0);
	struct arena *a = arena_new(n->arena, "purge");
	struct str from = id_prefix(a, what->letter, 1);
	bool done = !counter;

	while (!done && n->state == ST_NODE_SERVING) {
		struct st_scratch *s = st_scratch_new(n, "purge");
		struct purge p = {.arena = s->arena,
		    .catalog = c,
		    .what = what,
		    .next_id = counter->u.counter.next_id,
		    .from = from};

		/* It makes room, but needs some first: with a full disk it
		 * waits for the next round. */
		done = engine_run(n->engine, ST_LANE_META, ENGINE_WRITE,
			   purge_job, &p) != ENGINE_OK ||
		       p.done;
		metric_add(M_NODE_PURGED, p.removed);
		if (!done)
			from = arena_str(a, p.next);
		st_scratch_free(s);
	}
	arena_free(a);
}

static void
purge_dropped(struct st_node *n, struct arena *a)
{
	const struct cl_catalog *c = st_catalog_pin(n, a);

	for (size_t i = 0; i < sizeof leavings / sizeof *leavings; i++)
		purge_kind(n, c, &leavings[i]);
}

/* ---- groups that nobody leads ---- */

/* Until a group has a leader its copies may differ: one has applied what
 * another has yet to hear of.  So one with any state gets a leader before a
 * request asks for it, some seconds after it lost the last; from then on it
 * costs nothing again. */
#define HEADS_MAX 64u /* elected side by side: they share flushes */

static void
elect_some(
    struct st_node *n, struct arena *a, struct st_gid *gids, size_t count)
{
	struct st_refusal *who = NEW_N(a, struct st_refusal, count + 1);

	if (count)
		st_groups_lead(n, gids, count, 0,
		    world_mono_us(n->world) + LEAD_WAIT_US, who);
}

/* One that is not loaded is, for the next round: its leader, if there is one,
 * has news for it meanwhile. */
static bool
is_headless(struct st_node *n, struct st_gid gid)
{
	struct st_group *g = st_group_find(n, gid.placement, gid.slot);
	enum cl_refusal why;

	if (g && st_group_loaded(g))
		return st_group_headless(g);
	if (st_catalog_is_member(n, gid))
		st_group_open(
		    n, gid, 0, world_mono_us(n->world) + LEAD_WAIT_US, &why);
	return false;
}

static void
elect_headless(struct st_node *n, struct arena *a)
{
	const struct cl_catalog *c = st_catalog_pin(n, a);
	struct st_gid *gids = NEW_N(a, struct st_gid, HEADS_MAX);
	const struct cl_object *o;
	size_t at = 0, count = 0;

	while ((o = cl_each(c, CL_PLACEMENT, &at))) {
		const struct cl_placement *p = &o->u.placement;

		for (uint32_t s = 0; s < p->n_slots; s++) {
			struct st_gid gid = {
			    p->id, (uint16_t)s, p->slots[s].epoch};

			if (n->state != ST_NODE_SERVING)
				return;
			if (p->slots[s].n > 1 && is_headless(n, gid))
				gids[count++] = gid;
			if (count == HEADS_MAX) {
				elect_some(n, a, gids, count);
				count = 0;
			}
		}
	}
	elect_some(n, a, gids, count);
}

/* ---- the fiber ---- */

void
st_sweep(struct st_node *n)
{
	struct arena *a = arena_new(n->arena, "sweep");

	drop_tombstones(n, a);
	forget_results(n, a);
	st_settle_sweep(n);
	/* After a change twice: what was under way when the table went may have
	 * been applied after the first pass. */
	if (n->purge_version != cl_catalog_version(n->catalog.snap)) {
		n->purge_version = cl_catalog_version(n->catalog.snap);
		n->purge_again = true;
		purge_dropped(n, a);
	} else if (n->purge_again) {
		n->purge_again = false;
		purge_dropped(n, a);
	}
	st_log_trim_all(n);
	elect_headless(n, a);
	arena_free(a);
}

static void
sweeper(void *arg)
{
	struct st_node *n = TAKE(struct st_node, arg, ST_NODE_MAGIC);

	while (n->state <= ST_NODE_SERVING) {
		uint64_t next =
		    world_mono_us(n->world) + n->conf.sweep_interval_us;

		if (n->state == ST_NODE_SERVING)
			st_sweep(n);
		while (n->state <= ST_NODE_SERVING &&
		       cond_wait(&n->wakeup, next) == WAKE_EVENT)
			continue;
	}
	st_background_end(n);
}

void
st_sweep_start(struct st_node *n)
{
	st_background(n, "sweep", sweeper);
}
