#include "storage/catalog.h"

#include <inttypes.h>

#include "base/log.h"
#include "cluster/key.h"
#include "storage/fill.h"
#include "storage/join.h"
#include "storage/link.h"

#define PAGE_BYTES  (2u << 20)
#define WAIT_MAX_US 30000000u

static void
unref_ev(void *arg)
{
	cl_catalog_unref(arg);
}

static void
drop_ev(void *arg)
{
	struct st_catalog_state *c = arg;

	cl_catalog_unref(c->snap);
	c->snap = NULL;
}

void
st_catalog_init(struct st_node *n)
{
	n->catalog.snap = cl_catalog_new();
	cond_init(&n->catalog.changed, n->world);
	arena_cleanup(n->arena, drop_ev, &n->catalog);
}

struct cl_catalog *
st_catalog_pin(struct st_node *n, struct arena *a)
{
	struct cl_catalog *c = cl_catalog_ref(n->catalog.snap);

	arena_cleanup(a, unref_ev, c);
	return c;
}

static uint64_t
slots_version(const struct cl_catalog *c)
{
	const struct cl_object *o;
	uint64_t max = 0;
	size_t at = 0;

	while ((o = cl_each(c, CL_PLACEMENT, &at)))
		if (o->version > max)
			max = o->version;
	return max;
}

/* Takes over the reference. */
static void
set(struct st_node *n, struct cl_catalog *c)
{
	ASSERT(cl_catalog_version(c) >= cl_catalog_version(n->catalog.snap));
	cl_catalog_unref(n->catalog.snap);
	n->catalog.snap = c;
	n->catalog.slots_version = slots_version(c);
	LOG(n->world, LOG_TRACE, "catalog", "version", "version=%" PRIu64,
	    cl_catalog_version(c));
	cond_broadcast(&n->catalog.changed);
	cond_broadcast(&n->wakeup);
	st_fill_wake(n);
}

bool
st_catalog_is_member(const struct st_node *n, struct st_gid gid)
{
	const struct cl_placement *p =
	    cl_catalog_placement(n->catalog.snap, gid.placement);

	if (!n->id.known)
		return false;
	/* Who votes in the catalog's group is said by its own log; a copy may
	 * be ahead of what this node knows of the catalog. */
	if (gid.placement == CL_PLACEMENT_CATALOG)
		return n->catalog.holds && gid.epoch == 1 && gid.slot == 0;
	if (!p || gid.slot >= p->n_slots ||
	    p->slots[gid.slot].epoch != gid.epoch)
		return false;
	for (uint32_t i = 0; i < p->slots[gid.slot].n; i++)
		if (p->slots[gid.slot].members[i] == n->id.member)
			return true;
	return false;
}

void
st_catalog_learn(struct st_node *n)
{
	n->catalog.holds = true;
}

static void
held_job(struct kv *kv, void *arg)
{
	bool *held = arg;
	uint8_t key[1 + ST_GID_LEN] = {'G', 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
	struct str v;

	*held = kv_get(kv, KV_META, str_of(key, sizeof key), &v);
	key[0] = 'P';
	*held |= kv_get(kv, KV_META, str_of(key, sizeof key), &v);
}

void
st_catalog_held(struct st_node *n)
{
	bool held = false;

	engine_run(n->engine, ST_LANE_META, ENGINE_READ, held_job, &held);
	n->catalog.holds = held || n->id.founder;
}

bool
st_catalog_wait(struct st_node *n, uint64_t version, uint64_t deadline_us)
{
	while (cl_catalog_version(n->catalog.snap) < version) {
		if (n->state > ST_NODE_SERVING)
			return false;
		if (cond_wait(&n->catalog.changed, deadline_us) != WAKE_EVENT)
			return cl_catalog_version(n->catalog.snap) >= version;
	}
	return true;
}

/* ---- from rows ---- */

struct piece {
	struct piece *next;
	struct str key, value;
};

struct rows_job {
	struct arena *arena;
	struct piece *rows;
	size_t n;
};

static void
rows_job(struct kv *kv, void *arg)
{
	struct rows_job *j = arg;
	struct piece **tail = &j->rows;
	struct buf prefix;
	struct kv_cur *c;
	struct str k, v;
	bool more;

	j->rows = NULL;
	j->n = 0;
	buf_init(&prefix, j->arena);
	cl_key_prefix(&prefix, CL_TABLE_OBJECTS, 0);
	c = kv_open(kv, KV_ROWS);
	more = kv_seek(c, buf_view(&prefix), &k, &v);
	while (more && str_has_prefix(k, buf_view(&prefix))) {
		struct piece *p = NEW(j->arena, struct piece);

		p->key = arena_str(j->arena, k);
		p->value = arena_str(j->arena, v);
		*tail = p;
		tail = &p->next;
		j->n++;
		more = kv_next(c, &k, &v);
	}
	kv_close(c);
}

static struct err *
objects_of_rows(struct arena *a, const struct rows_job *j, uint64_t version,
    const struct cl_object **objects, size_t *n)
{
	*n = 0;
	for (const struct piece *p = j->rows; p; p = p->next) {
		struct cl_object *o = NEW(a, struct cl_object);

		TRY(cl_object_row_read(a, p->key, p->value, o));
		/* Only the newest change's number is kept on disk; who has an
		 * older snapshot gets a whole one. */
		o->version = version;
		if (!o->deleted)
			objects[(*n)++] = o;
	}
	return NULL;
}

struct err *
st_catalog_rebuild(struct st_node *n, struct arena *a, struct st_group *g)
{
	struct st_scratch *s;
	struct rows_job j;
	const struct cl_object **objects;
	struct cl_catalog *none;
	struct err *e;
	size_t count;

	if (g->catalog_version <= cl_catalog_version(n->catalog.snap))
		return NULL;
	s = st_scratch_new(n, "catalog");
	j = (struct rows_job){.arena = s->arena};
	engine_run(n->engine, ENGINE_LANE_ANY, ENGINE_READ, rows_job, &j);
	objects = NEW_N(s->arena, const struct cl_object *, j.n + 1);
	e = objects_of_rows(s->arena, &j, g->catalog_version, objects, &count);
	if (!e && g->catalog_version > cl_catalog_version(n->catalog.snap)) {
		none = cl_catalog_new();
		set(n,
		    cl_catalog_apply(none, g->catalog_version, objects, count));
		cl_catalog_unref(none);
	}
	e = e ? err_copy(a, e) : NULL;
	st_scratch_free(s);
	return e;
}

static struct err *
apply_entry(struct st_node *n, struct arena *a, const struct st_entry *e)
{
	const struct cl_object **objects =
	    NEW_N(a, const struct cl_object *, e->n_writes + 1);
	size_t count = 0;

	for (uint32_t i = 0; i < e->n_writes; i++) {
		const struct cl_write *w = &e->writes[i];
		struct cl_object *o = NEW(a, struct cl_object);
		enum cl_kind kind;
		uint32_t id;

		if (!cl_object_key_read(w->key, &kind, &id))
			continue;
		if (w->kind == CL_WRITE_DELETE)
			*o = (struct cl_object){.kind = kind,
			    .id = id,
			    .stamp = e->stamp,
			    .deleted = true};
		else
			TRY(cl_object_row_read(a, w->key, w->value, o));
		o->version = e->index;
		objects[count++] = o;
	}
	if (count)
		set(n, cl_catalog_apply(
			   n->catalog.snap, e->index, objects, count));
	return NULL;
}

void
st_catalog_applied(struct st_node *n, struct st_group *g, uint64_t upto)
{
	struct arena *a = arena_new(n->arena, "catalog");

	for (uint64_t i = g->applied + 1; i <= upto; i++) {
		const struct st_entry *e = &st_group_pending(g, i)->entry;
		struct err *err;

		if (e->kind != ST_ENTRY_PROPOSAL ||
		    e->op.outcome != CL_APPLIED ||
		    e->index <= cl_catalog_version(n->catalog.snap))
			continue;
		err = apply_entry(n, a, e);
		/* Proposals to the catalog are checked before they are
		 * appended. */
		if (err)
			LOG(n->world, LOG_ERROR, "catalog", "malformed",
			    "index=%" PRIu64 " error=\"%s\"", e->index,
			    err->message);
	}
	arena_free(a);
}

/* ---- between nodes ---- */

struct err *
st_catalog_adopt(struct st_node *n, struct arena *a, uint64_t version,
    bool full, const struct cl_object_change *changes, size_t n_changes)
{
	const struct cl_object **objects =
	    NEW_N(a, const struct cl_object *, n_changes + 1);
	struct cl_catalog *base;

	for (size_t i = 0; i < n_changes; i++) {
		struct cl_object *o = NEW(a, struct cl_object);

		TRY(cl_change_object(a, &changes[i], o));
		objects[i] = o;
	}
	/* By another way this node knows more already. */
	if (version <= cl_catalog_version(n->catalog.snap))
		return NULL;
	base = full ? cl_catalog_new() : cl_catalog_ref(n->catalog.snap);
	set(n, cl_catalog_apply(base, version, objects, n_changes));
	cl_catalog_unref(base);
	return NULL;
}

static bool
is_after(const struct cl_object *o, uint8_t kind, uint32_t id)
{
	return (unsigned)o->kind > kind ||
	       ((unsigned)o->kind == kind && o->id > id);
}

/* One page of the snapshot's objects above `since`, behind (kind, id). */
static void
fill_page(struct arena *a, const struct cl_catalog *c, uint64_t since,
    const struct cl_catalog_get *m, struct cl_catalog_page *out)
{
	size_t all = cl_catalog_count(c), bytes = 0;
	const struct cl_object **objects =
	    NEW_N(a, const struct cl_object *, all + 1);
	bool first = m->version != out->version;

	all = cl_catalog_changes(c, since, objects, all);
	out->objects = NEW_N(a, struct cl_object_change, CL_OBJECTS_MAX);
	for (size_t i = 0; i < all; i++) {
		struct cl_object_change *change;

		if ((out->full && objects[i]->deleted) ||
		    (!first &&
			!is_after(objects[i], m->after_kind, m->after_id)))
			continue;
		if (out->n_objects == CL_OBJECTS_MAX || bytes >= PAGE_BYTES) {
			out->more = 1;
			return;
		}
		change = &out->objects[out->n_objects];
		cl_change_of(a, objects[i], change);
		/* A page is one frame, whatever it holds. */
		if (out->n_objects &&
		    bytes + change->body.len > NET_FRAME_MAX / 2) {
			out->more = 1;
			return;
		}
		bytes += change->body.len + 32;
		out->n_objects++;
	}
}

struct err *
st_catalog_get(struct st_node *n, struct arena *a,
    const struct cl_catalog_get *m, bool member, struct cl_catalog_page *out)
{
	uint64_t wait = m->wait_us < WAIT_MAX_US ? m->wait_us : WAIT_MAX_US;
	const struct cl_catalog *c;
	uint64_t since = m->since;

	memset(out, 0, sizeof *out);
	if (wait)
		st_catalog_wait(
		    n, m->since + 1, world_mono_us(n->world) + wait);
	else if (!m->version)
		TRY(st_catalog_fresh(n, a, !member));
	c = st_catalog_pin(n, a);
	out->version = cl_catalog_version(c);
	if (out->version == 0)
		return ERR(a, ERRCODE_CANNOT_CONNECT_NOW,
		    "this node does not know the catalog yet");
	if (since >= out->version)
		return NULL;
	out->full = since == 0 || since < cl_catalog_floor(c);
	fill_page(a, c, out->full ? 0 : since, m, out);
	return NULL;
}

struct str
st_catalog_addrs(struct st_node *n, struct arena *a)
{
	const struct cl_placement *p =
	    cl_catalog_placement(n->catalog.snap, CL_PLACEMENT_CATALOG);
	const struct st_group *g = st_group_find(n, CL_PLACEMENT_CATALOG, 0);
	uint32_t leader = g && st_group_loaded(g) ? g->leader : 0;
	struct buf b;

	buf_init(&b, a);
	if (leader && leader != n->id.member)
		buf_str(&b, st_link_addr(n, leader));
	for (uint32_t i = 0; p && p->n_slots && i < p->slots[0].n; i++) {
		uint32_t member = p->slots[0].members[i];
		struct str addr = st_link_addr(n, member);

		if (member == n->id.member || member == leader || !addr.len)
			continue;
		if (b.len)
			buf_u8(&b, ',');
		buf_str(&b, addr);
	}
	return buf_view(&b);
}
