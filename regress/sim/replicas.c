#include "regress/sim/replicas.h"

#include <inttypes.h>
#include <xxhash.h>

#include "cluster/catalog.h"
#include "cluster/key.h"
#include "cluster/row.h"
#include "storage/index.h"
#include "storage/node.h"

/* ---- the catalog, as the disks have it ---- */

/* Objects of two kinds, each from the disk that has it newest: a node that was
 * removed or is behind must not decide. */
struct view {
	struct arena *arena;
	struct cl_object *objects;
	size_t n, cap;
};

/* NULL: there is none. */
static struct cl_object *
object_find(const struct view *v, enum cl_kind kind, uint32_t id)
{
	for (size_t i = 0; i < v->n; i++)
		if (v->objects[i].kind == kind && v->objects[i].id == id)
			return v->objects[i].stamp && !v->objects[i].deleted
				   ? &v->objects[i]
				   : NULL;
	return NULL;
}

static struct cl_object *
object_of(struct view *v, enum cl_kind kind, uint32_t id)
{
	for (size_t i = 0; i < v->n; i++)
		if (v->objects[i].kind == kind && v->objects[i].id == id)
			return &v->objects[i];
	if (v->n == v->cap) {
		size_t cap = v->cap ? 2 * v->cap : 16;

		v->objects = arena_grow(v->arena, v->objects,
		    v->cap * sizeof *v->objects, cap * sizeof *v->objects);
		v->cap = cap;
	}
	v->objects[v->n] = (struct cl_object){.kind = kind, .id = id};
	return &v->objects[v->n++];
}

static bool
take_object(void *arg, struct str key, struct str val)
{
	struct view *v = arg;
	struct cl_object o = {.id = 0}, *known;
	struct cl_row_head h;
	enum cl_kind kind;
	struct err *e;
	uint32_t id;

	if (!cl_object_key_read(key, &kind, &id))
		return false; /* the next table begins */
	if ((kind != CL_PLACEMENT && kind != CL_TABLE && kind != CL_INDEX) ||
	    !cl_row_head(val, &h))
		return true;
	known = object_of(v, kind, id);
	if (known->stamp >= h.stamp)
		return true;
	if (h.flags & CL_ROW_TOMBSTONE) {
		known->stamp = h.stamp;
		known->deleted = true;
		return true;
	}
	e = cl_object_row_read(
	    v->arena, arena_str(v->arena, key), arena_str(v->arena, val), &o);
	ASSERT(!e);
	*known = o;
	known->kind = kind;
	known->id = id;
	known->stamp = h.stamp;
	return true;
}

/* ---- one copy of one slot of one table ---- */

struct digest {
	struct str prefix;
	uint64_t rows, hash;
};

static bool
take_row(void *arg, struct str key, struct str val)
{
	struct digest *d = arg;

	if (!str_has_prefix(key, d->prefix))
		return false;
	d->rows++;
	d->hash = XXH3_64bits_withSeed(key.p, key.len, d->hash);
	d->hash = XXH3_64bits_withSeed(val.p, val.len, d->hash);
	return true;
}

static void
digest_slot(struct digest *d, const struct fleet_node *n, struct arena *a,
    uint32_t table, uint16_t slot)
{
	struct buf prefix;

	buf_init(&prefix, a);
	cl_key_prefix(&prefix, table, slot);
	*d = (struct digest){.prefix = buf_view(&prefix)};
	engine_mem_each(n->disk.disk, KV_ROWS, d->prefix, take_row, d);
}

static const struct fleet_node *
node_of(const struct fleet *f, uint32_t member)
{
	for (uint32_t i = 0; i < f->conf.nodes; i++)
		if (f->nodes[i].node &&
		    st_node_member(f->nodes[i].node) == member)
			return &f->nodes[i];
	return NULL;
}

/* In the catalog's group, by what is known so far. */
static bool
votes(const struct fleet *f, const struct view *v, const struct fleet_node *n)
{
	const struct cl_object *o =
	    object_find(v, CL_PLACEMENT, CL_PLACEMENT_CATALOG);
	const struct cl_slot_map *map = o ? o->u.placement.slots : NULL;

	for (unsigned i = 0; o && i < map->n; i++)
		if (node_of(f, map->members[i]) == n)
			return true;
	return false;
}

/* What is known of the catalog says whose disks have it: another may keep what
 * was dropped, and forgotten by all others, long ago. */
static void
view_read(struct view *v, const struct fleet *f, struct arena *a)
{
	struct view all = {.arena = a};
	struct buf from;

	*v = (struct view){.arena = a};
	buf_init(&from, a);
	cl_key_prefix(&from, CL_TABLE_OBJECTS, 0);
	for (uint32_t i = 0; i < f->conf.nodes; i++)
		engine_mem_each(f->nodes[i].disk.disk, KV_ROWS, buf_view(&from),
		    take_object, &all);
	for (uint32_t i = 0; i < f->conf.nodes; i++)
		if (votes(f, &all, &f->nodes[i]))
			engine_mem_each(f->nodes[i].disk.disk, KV_ROWS,
			    buf_view(&from), take_object, v);
}

struct slot {
	uint32_t table;
	uint16_t slot;
	const struct cl_slot_map *map;
};

static const char *
slot_differs(const struct fleet *f, struct arena *a, const struct slot *s)
{
	const struct fleet_node *first = NULL;
	struct digest d0 = {.rows = 0}, d;

	for (unsigned i = 0; i < s->map->n; i++) {
		const struct fleet_node *n = node_of(f, s->map->members[i]);

		if (!n)
			continue; /* its disk was lost */
		if (!first) {
			first = n;
			digest_slot(&d0, n, a, s->table, s->slot);
			continue;
		}
		digest_slot(&d, n, a, s->table, s->slot);
		if (d.rows != d0.rows || d.hash != d0.hash)
			return arena_printf(a,
			    "table %u, slot %u: node-%u has %" PRIu64
			    " rows and tombstones, node-%u has %" PRIu64 "%s",
			    s->table, s->slot, first->index + 1, d0.rows,
			    n->index + 1, d.rows,
			    d.rows == d0.rows ? ", different ones" : "");
	}
	return NULL;
}

/* What of a group is not rows: kept results, schema versions. */
static void
digest_state(struct digest *d, const struct fleet_node *n, struct arena *a,
    struct st_gid gid)
{
	static const char letters[] = {'S', 'V'};

	*d = (struct digest){.rows = 0};
	for (size_t i = 0; i < sizeof letters; i++) {
		struct buf prefix;

		buf_init(&prefix, a);
		buf_u8(&prefix, (uint8_t)letters[i]);
		st_gid_put(&prefix, gid);
		d->prefix = buf_view(&prefix);
		engine_mem_each(n->disk.disk, KV_META, d->prefix, take_row, d);
	}
}

static const char *
state_differs(const struct fleet *f, struct arena *a, struct st_gid gid,
    const struct cl_slot_map *map)
{
	const struct fleet_node *first = NULL;
	struct digest d0 = {.rows = 0}, d;

	for (unsigned i = 0; i < map->n; i++) {
		const struct fleet_node *n = node_of(f, map->members[i]);

		if (!n)
			continue;
		digest_state(first ? &d : &d0, n, a, gid);
		if (first && (d.rows != d0.rows || d.hash != d0.hash))
			return arena_printf(a,
			    "placement %u, slot %u: results and schema "
			    "versions of node-%u and node-%u differ",
			    gid.placement, gid.slot, first->index + 1,
			    n->index + 1);
		first = first ? first : n;
	}
	return NULL;
}

static const char *
states_differ(const struct fleet *f, struct arena *a, const struct cl_object *o)
{
	const struct cl_placement *p = &o->u.placement;

	for (uint32_t i = 0; !o->deleted && i < p->n_slots; i++) {
		const char *why = state_differs(f, a,
		    (struct st_gid){o->id, (uint16_t)i, p->slots[i].epoch},
		    &p->slots[i]);

		if (why)
			return why;
	}
	return NULL;
}

static const char *
table_differs(const struct fleet *f, struct view *v, struct arena *a,
    uint32_t table, uint32_t placement)
{
	const struct cl_object *o = object_of(v, CL_PLACEMENT, placement);
	const struct cl_placement *p = &o->u.placement;

	if (o->deleted || o->stamp == 0)
		return NULL;
	for (uint32_t i = 0; i < p->n_slots; i++) {
		struct slot s = {table, (uint16_t)i, &p->slots[i]};
		const char *why = slot_differs(f, a, &s);

		if (why)
			return why;
	}
	return NULL;
}

/* ---- indexes: of each copy by itself ---- */

/* Entries as a sum of their digests: of an index' own, and of those that its
 * rows say it should have. */
struct entries {
	struct arena *arena;
	struct str prefix;
	const struct ex_index *keys;
	uint32_t index;
	uint16_t slot;
	uint64_t n, sum;
};

static void
add_entry(struct entries *x, struct str key)
{
	x->n++;
	x->sum += XXH3_64bits(key.p, key.len);
}

static bool
take_entry(void *arg, struct str key, struct str val)
{
	struct entries *x = arg;
	size_t columns;

	if (!str_has_prefix(key, x->prefix))
		return false;
	if (st_index_value_get(key, val, &columns))
		add_entry(x, key);
	return true;
}

static bool
take_indexed(void *arg, struct str key, struct str val)
{
	struct entries *x = arg;
	struct cl_row_head h;
	struct buf b;
	bool in;

	if (!str_has_prefix(key, x->prefix))
		return false;
	if (!cl_row_head(val, &h) || (h.flags & CL_ROW_TOMBSTONE))
		return true;
	buf_init(&b, x->arena);
	cl_key_prefix(&b, x->index, x->slot);
	if (!ex_index_row_key(x->arena, x->keys, str_skip(key, CL_KEY_PREFIX),
		val, &b, &in) &&
	    in)
		add_entry(x, buf_view(&b));
	return true;
}

struct record {
	struct str key;
	struct st_index_record r;
};

static bool
take_record(void *arg, struct str key, struct str val)
{
	struct record *x = arg;

	if (str_eq(key, x->key))
		st_index_record_get(val, &x->r);
	return false;
}

static const char *
entries_wrong(const struct fleet_node *n, struct arena *a,
    const struct cl_index *def, const struct ex_index *keys, uint16_t slot)
{
	struct entries is = {.arena = a, .index = def->id, .slot = slot};
	struct entries should = is;
	struct record at = {.r.state = ST_INDEX_NONE};
	struct buf b[3];

	for (int i = 0; i < 3; i++)
		buf_init(&b[i], a);
	cl_key_prefix(&b[0], def->id, slot);
	is.prefix = buf_view(&b[0]);
	engine_mem_each(n->disk.disk, KV_INDEX, is.prefix, take_entry, &is);
	cl_key_prefix(&b[1], def->table, slot);
	should.prefix = buf_view(&b[1]);
	should.keys = keys;
	engine_mem_each(
	    n->disk.disk, KV_ROWS, should.prefix, take_indexed, &should);
	st_key_index(&b[2], def->id, slot);
	at.key = buf_view(&b[2]);
	engine_mem_each(n->disk.disk, KV_META, at.key, take_record, &at);
	if (is.n == should.n && is.sum == should.sum &&
	    at.r.state == ST_INDEX_WHOLE)
		return NULL;
	return arena_printf(a,
	    "index %u, slot %u: node-%u has %" PRIu64 " entries%s, its rows "
	    "%" PRIu64 ", the index is in state %u",
	    def->id, slot, n->index + 1, is.n,
	    is.n == should.n && is.sum != should.sum ? ", different ones" : "",
	    should.n, (unsigned)at.r.state);
}

static const char *
index_wrong(const struct fleet *f, const struct view *v, struct arena *a,
    const struct cl_index *def)
{
	const struct cl_object *t = object_find(v, CL_TABLE, def->table);
	const struct cl_object *o =
	    t ? object_find(v, CL_PLACEMENT, t->u.table.placement) : NULL;
	const struct cl_placement *p = o ? &o->u.placement : NULL;
	struct ex_index *keys;
	const char *why = NULL;

	if (!p || def->state == CL_INDEX_FAILED ||
	    ex_index_open(a, &t->u.table, def, &keys))
		return NULL;
	for (uint32_t i = 0; i < p->n_slots && !why; i++)
		for (uint32_t m = 0; m < p->slots[i].n && !why; m++) {
			const struct fleet_node *n =
			    node_of(f, p->slots[i].members[m]);

			if (n)
				why =
				    entries_wrong(n, a, def, keys, (uint16_t)i);
		}
	return why;
}

struct leftover {
	const struct view *view;
	uint32_t index;
};

static bool
take_leftover(void *arg, struct str key, struct str val)
{
	struct leftover *x = arg;
	uint32_t index;
	uint16_t slot;
	struct str rest;

	(void)val;
	if (cl_key_split(key, &index, &slot, &rest) &&
	    !object_find(x->view, CL_INDEX, index))
		x->index = index;
	return !x->index;
}

static const char *
indexes_wrong(const struct fleet *f, const struct view *v, struct arena *a)
{
	const char *why = NULL;

	for (size_t i = 0; i < v->n && !why; i++) {
		const struct cl_object *o = &v->objects[i];

		if (o->kind == CL_INDEX && o->stamp && !o->deleted)
			why = index_wrong(f, v, a, &o->u.index);
	}
	for (uint32_t i = 0; i < f->conf.nodes && !why; i++) {
		struct leftover x = {.view = v};

		engine_mem_each(f->nodes[i].disk.disk, KV_INDEX, STR_NONE,
		    take_leftover, &x);
		if (x.index)
			why = arena_printf(a,
			    "node-%u has entries of index %u, which is "
			    "dropped",
			    i + 1, x.index);
	}
	return why;
}

const char *
replicas_differ(const struct fleet *f, struct arena *a)
{
	const char *why;
	struct view v;
	size_t n;

	view_read(&v, f, a);
	why = table_differs(f, &v, a, CL_TABLE_OBJECTS, CL_PLACEMENT_CATALOG);
	if (!why)
		why = table_differs(
		    f, &v, a, CL_TABLE_NAMES, CL_PLACEMENT_CATALOG);
	n = v.n;
	for (size_t i = 0; i < n && !why; i++)
		if (v.objects[i].kind == CL_TABLE && !v.objects[i].deleted)
			why = table_differs(f, &v, a, v.objects[i].id,
			    v.objects[i].u.table.placement);
	for (size_t i = 0; i < n && !why; i++)
		if (v.objects[i].kind == CL_PLACEMENT && v.objects[i].stamp)
			why = states_differ(f, a, &v.objects[i]);
	return why ? why : indexes_wrong(f, &v, a);
}

/* ---- tombstones ---- */

struct stones {
	cl_stamp before;
	bool votes; /* the node, in the catalog's group */
	uint64_t n;
};

static bool
take_stone(void *arg, struct str key, struct str val)
{
	struct stones *s = arg;
	struct cl_row_head h;
	uint32_t table;
	uint16_t slot;
	struct str rest;

	if (!cl_key_split(key, &table, &slot, &rest) ||
	    (table < CL_ID_FIRST && !s->votes))
		return true;
	s->n += cl_row_head(val, &h) && (h.flags & CL_ROW_TOMBSTONE) &&
		h.stamp < s->before;
	return true;
}

/* A node that was to become a voter of the catalog when its leader died, and
 * whose place another got, keeps its copy: it is no member, and nobody asks
 * it. */
uint64_t
replicas_tombstones(const struct fleet *f, cl_stamp before)
{
	struct arena *a = arena_new(NULL, "tombstones");
	struct stones s = {.before = before};
	struct view v;

	view_read(&v, f, a);
	for (uint32_t i = 0; i < f->conf.nodes; i++) {
		s.votes = votes(f, &v, &f->nodes[i]);
		engine_mem_each(
		    f->nodes[i].disk.disk, KV_ROWS, STR_NONE, take_stone, &s);
	}
	arena_free(a);
	return s.n;
}
