#include "storage/fill.h"

#include "base/log.h"
#include "base/metrics.h"
#include "base/mutate.h"
#include "cluster/key.h"
#include "cluster/row.h"
#include "storage/catalog.h"
#include "storage/elect.h"

#define SLICE_ROWS 500u
#define OPEN_US    1000000u
#define FULL_US    100000u

/* What is known of an index here: which slots need not be looked at. */
struct st_seen {
	uint8_t *done; /* by slot: filled in, or failed */
	uint32_t n_slots;
	bool whole; /* all slots that this member had at ... */
	uint64_t slots_version;
};

void
st_fill_init(struct st_node *n)
{
	n->fill.seen = map_new(n->arena);
	cond_init(&n->fill.wake, n->world);
	cond_init(&n->fill.done, n->world);
}

void
st_fill_wake(struct st_node *n)
{
	n->fill.wanted = true;
	cond_signal(&n->fill.wake);
}

bool
st_fill_wait(struct st_node *n, uint64_t deadline_us)
{
	return cond_wait(&n->fill.done, deadline_us) == WAKE_EVENT;
}

/* ---- records ---- */

struct states_job {
	struct arena *arena; /* a root */
	uint32_t index;
	enum st_index_state *states;
	uint32_t n;
	struct str text;
};

static void
states_job(struct kv *kv, void *arg)
{
	struct states_job *j = arg;
	struct kv_cur *c = kv_open(kv, KV_META);
	struct buf from;
	struct str k, v;
	bool more;

	memset(j->states, 0, j->n * sizeof *j->states);
	j->text = STR_NONE;
	buf_init(&from, j->arena);
	st_key_index(&from, j->index, 0);
	from.len -= 2; /* of all slots */
	for (more = kv_seek(c, buf_view(&from), &k, &v);
	     more && str_has_prefix(k, buf_view(&from));
	     more = kv_next(c, &k, &v)) {
		struct cur at = cur_of(str_skip(k, from.len));
		struct st_index_record r;
		uint16_t slot = cur_be16(&at);

		if (!cur_done(&at) || slot >= j->n ||
		    !st_index_record_get(v, &r))
			continue;
		j->states[slot] = r.state;
		if (r.state == ST_INDEX_FAILED && !j->text.len)
			j->text = arena_str(j->arena, r.text);
	}
	kv_close(c);
}

void
st_fill_states(struct st_node *n, struct arena *a, uint32_t index,
    enum st_index_state *states, uint32_t n_slots, struct str *text)
{
	struct st_scratch *s = st_scratch_new(n, "index states");
	struct states_job j = {.arena = s->arena, .index = index, .n = n_slots};

	j.states = NEW_N(s->arena, enum st_index_state, n_slots + 1);
	engine_run(n->engine, ENGINE_LANE_ANY, ENGINE_READ, states_job, &j);
	memcpy(states, j.states, n_slots * sizeof *states);
	*text = arena_str(a, j.text);
	st_scratch_free(s);
}

static struct st_seen *
seen_of(struct st_node *n, uint32_t index, uint32_t n_slots)
{
	struct st_seen *s = map_get(n->fill.seen, MAP_KEY(&index));
	enum st_index_state *states;
	struct arena *a;
	struct str text;

	if (s && s->n_slots == n_slots)
		return s;
	a = arena_new(n->arena, "seen");
	states = NEW_N(a, enum st_index_state, n_slots + 1);
	st_fill_states(n, a, index, states, n_slots, &text);
	s = NEW(n->arena, struct st_seen);
	s->done = NEW_N(n->arena, uint8_t, n_slots + 1);
	s->n_slots = n_slots;
	for (uint32_t i = 0; i < n_slots; i++)
		s->done[i] = states[i] >= ST_INDEX_WHOLE;
	map_put(n->fill.seen, MAP_KEY(&index), s);
	arena_free(a);
	return s;
}

/* ---- a slice ---- */

struct slice {
	struct arena *arena; /* a root */
	const struct cl_catalog *catalog;
	struct st_gid gid;
	uint32_t table, index;
	size_t bytes_max;         /* of rows: as many as a page of a resync */
	struct st_index_record r; /* as it is afterwards */
	uint32_t rows;
};

/* Removes some entries, in the order of their keys. */
static void
clear_some(struct kv *kv, struct slice *s)
{
	struct kv_cur *c = kv_open(kv, KV_INDEX);
	struct buf prefix, from;
	struct str k, v;
	bool more;
	uint32_t n = 0;

	buf_init(&prefix, s->arena);
	cl_key_prefix(&prefix, s->index, s->gid.slot);
	buf_init(&from, s->arena);
	buf_str(&from, buf_view(&prefix));
	buf_str(&from, s->r.upto);
	for (more = kv_seek(c, buf_view(&from), &k, &v);
	     more && str_has_prefix(k, buf_view(&prefix)) && n < SLICE_ROWS;
	     more = kv_next(c, &k, &v), n++) {
		struct str key = arena_str(s->arena, k);

		s->r.upto = str_skip(key, CL_KEY_PREFIX);
		kv_del(kv, KV_INDEX, key);
	}
	more = more && str_has_prefix(k, buf_view(&prefix));
	kv_close(c);
	if (!more)
		s->r = (struct st_index_record){.state = ST_INDEX_FILL};
}

/* Puts the entry of one row; false when it cannot have one. */
static bool
fill_row(struct kv *kv, struct slice *s, struct st_indexes *x,
    const struct st_index *i, struct str key, struct str value)
{
	struct cl_row_head h;
	struct err *e;

	if (!cl_row_head(value, &h) || (h.flags & CL_ROW_TOMBSTONE))
		return true;
	e = st_index_add(x, i, kv, key, value);
	if (!e)
		return true;
	s->r = (struct st_index_record){
	    .state = ST_INDEX_FAILED, .text = st_index_failure(s->arena, e)};
	return false;
}

static void
fill_some(struct kv *kv, struct slice *s, struct st_indexes *x,
    const struct st_index *i)
{
	struct kv_cur *c = kv_open(kv, KV_ROWS);
	struct buf prefix, from;
	struct str k, v, last = STR_NONE;
	size_t bytes = 0;
	bool more;

	buf_init(&prefix, s->arena);
	cl_key_prefix(&prefix, s->table, s->gid.slot);
	buf_init(&from, s->arena);
	buf_str(&from, buf_view(&prefix));
	buf_str(&from, s->r.upto);
	if (s->r.upto.len)
		buf_u8(&from, 0); /* behind it */
	more = kv_seek(c, buf_view(&from), &k, &v);
	while (more && str_has_prefix(k, buf_view(&prefix)) &&
	       s->rows < SLICE_ROWS && bytes < s->bytes_max) {
		if (!fill_row(kv, s, x, i, k, v)) {
			kv_close(c);
			return;
		}
		s->rows++;
		bytes += k.len + v.len;
		from.len = 0;
		buf_str(&from, k);
		last = buf_view(&from);
		more = kv_next(c, &k, &v);
	}
	if (!more || !str_has_prefix(k, buf_view(&prefix)))
		s->r = (struct st_index_record){.state = ST_INDEX_WHOLE};
	else
		s->r = (struct st_index_record){.state = ST_INDEX_FILL,
		    .upto = str_skip(last, CL_KEY_PREFIX)};
	kv_close(c);
}

static void
slice_job(struct kv *kv, void *arg)
{
	struct slice *s = arg;
	struct st_indexes x;

	s->rows = 0;
	st_index_read(kv, s->arena, s->index, s->gid.slot, &s->r);
	if (s->r.state >= ST_INDEX_WHOLE)
		return;
	st_indexes_open(&x, s->arena, s->catalog, s->table, s->gid.slot);
	for (uint32_t i = 0; i < x.n; i++) {
		if (x.list[i].def->id != s->index)
			continue;
		if (s->r.state == ST_INDEX_CLEAR)
			clear_some(kv, s);
		else
			fill_some(kv, s, &x, &x.list[i]);
		st_index_write(kv, s->arena, s->index, s->gid.slot, &s->r);
	}
}

/* ---- a slot ---- */

/* By what is known now, since a wait may have changed all of it. */
static bool
may_fill(const struct st_group *g, uint32_t index)
{
	const struct st_node *n = g->node;
	const struct cl_index *def = cl_catalog_index(n->catalog.snap, index);

	return n->state == ST_NODE_SERVING && def &&
	       def->state != CL_INDEX_FAILED && st_group_complete(g) &&
	       (st_group_applied_schema(g, def->table) >= def->version ||
		   mutate("index_fill_unfenced"));
}

static void
note_end(struct st_group *g, const struct slice *s)
{
	struct st_node *n = g->node;

	if (s->r.state == ST_INDEX_FAILED)
		LOG(n->world, LOG_WARN, "index", "failed",
		    "index=%u placement=%u slot=%u why=\"%.*s\"", s->index,
		    g->gid.placement, g->gid.slot, STR_FMT(s->r.text));
	else
		LOG(n->world, LOG_TRACE, "index", "filled",
		    "index=%u placement=%u slot=%u", s->index, g->gid.placement,
		    g->gid.slot);
	cond_broadcast(&n->fill.done);
}

/* True when there is nothing left to do in it. */
static bool
one_slice(struct st_group *g, uint32_t table, uint32_t index)
{
	struct st_node *n = g->node;
	struct st_scratch *scratch = st_scratch_new(n, "fill");
	struct slice s = {.arena = scratch->arena,
	    .catalog = st_catalog_pin(n, scratch->arena),
	    .gid = g->gid,
	    .table = table,
	    .index = index,
	    .bytes_max = n->conf.resync_page};
	uint64_t lane = mutate("index_fill_out_of_lane")
			    ? ST_LANE_META
			    : st_group_lane(g->gid);
	enum engine_result r =
	    engine_run(n->engine, lane, ENGINE_WRITE, slice_job, &s);
	bool ended = r == ENGINE_OK && s.r.state >= ST_INDEX_WHOLE;

	if (r == ENGINE_OK)
		metric_add(M_NODE_INDEX_ROWS, s.rows);
	if (ended)
		note_end(g, &s);
	st_scratch_free(scratch);
	if (r != ENGINE_OK)
		fiber_sleep(n->world, world_mono_us(n->world) + FULL_US);
	return ended;
}

static bool
fill_slot(struct st_node *n, struct st_gid gid, uint32_t table, uint32_t index)
{
	enum cl_refusal why;
	struct st_group *g =
	    st_group_open(n, gid, 0, world_mono_us(n->world) + OPEN_US, &why);
	bool ended = false;

	while (g && !ended && may_fill(g, index))
		ended = one_slice(g, table, index);
	return ended;
}

/* ---- all of them ---- */

static void
fill_index(
    struct st_node *n, const struct cl_catalog *c, const struct cl_index *def)
{
	const struct cl_table *t = cl_catalog_table(c, def->table);
	const struct cl_placement *p =
	    t ? cl_catalog_placement(c, t->placement) : NULL;
	uint64_t slots_version = n->catalog.slots_version;
	struct st_seen *s;
	bool whole = true;

	if (!p || !p->n_slots)
		return;
	s = seen_of(n, def->id, p->n_slots);
	if (s->whole && s->slots_version == slots_version)
		return;
	for (uint32_t i = 0; i < p->n_slots; i++) {
		struct st_gid gid = {p->id, (uint16_t)i, p->slots[i].epoch};

		if (n->state != ST_NODE_SERVING)
			return;
		if (s->done[i] || !st_catalog_is_member(n, gid))
			continue;
		s->done[i] = fill_slot(n, gid, t->id, def->id);
		whole &= s->done[i];
	}
	s->whole = whole;
	s->slots_version = slots_version;
}

static void
fill_all(struct st_node *n)
{
	struct arena *a = arena_new(n->arena, "fill");
	const struct cl_catalog *c = st_catalog_pin(n, a);
	const struct cl_object *o;
	size_t at = 0;

	while ((o = cl_each(c, CL_INDEX, &at)) && n->state == ST_NODE_SERVING)
		if (o->u.index.state != CL_INDEX_FAILED)
			fill_index(n, c, &o->u.index);
	arena_free(a);
}

static void
filler(void *arg)
{
	struct st_node *n = TAKE(struct st_node, arg, ST_NODE_MAGIC);

	while (n->state <= ST_NODE_SERVING) {
		if (!n->fill.wanted) {
			cond_wait(&n->fill.wake, WORLD_FOREVER);
			continue;
		}
		n->fill.wanted = false;
		fill_all(n);
	}
	st_background_end(n);
}

void
st_fill_start(struct st_node *n)
{
	n->fill.wanted = true;
	st_background(n, "fill", filler);
}

/* ---- anew ---- */

struct again {
	struct arena *arena;
	uint32_t index;
	uint16_t slot;
};

static void
again_job(struct kv *kv, void *arg)
{
	struct again *x = arg;
	const struct st_index_record r = {.state = ST_INDEX_CLEAR};

	st_index_write(kv, x->arena, x->index, x->slot, &r);
}

void
st_fill_again(struct st_group *g, uint32_t index)
{
	struct st_node *n = g->node;
	struct st_scratch *scratch = st_scratch_new(n, "fill again");
	struct again x = {scratch->arena, index, g->gid.slot};
	struct st_seen *s = map_get(n->fill.seen, MAP_KEY(&index));

	engine_run(
	    n->engine, st_group_lane(g->gid), ENGINE_WRITE, again_job, &x);
	if (s && g->gid.slot < s->n_slots) {
		s->done[g->gid.slot] = 0;
		s->whole = false;
	}
	st_fill_wake(n);
	st_scratch_free(scratch);
}
