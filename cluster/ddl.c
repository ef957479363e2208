#include "cluster/ddl.h"

#include "base/map.h"
#include "cluster/row.h"

struct cl_ddl {
	struct arena *arena;
	const struct cl_catalog *catalog;
	struct map *conds;   /* key -> struct cl_cond */
	struct map *writes;  /* key -> struct cl_write */
	struct map *objects; /* object key -> struct cl_object, as written */
	struct cl_counter counter;
	bool counted;          /* the counter is among the writes */
	const char *exhausted; /* what there are no more ids of */
};

static void
release(void *catalog)
{
	cl_catalog_unref(catalog);
}

struct cl_ddl *
cl_ddl_new(struct arena *a, struct cl_catalog *c)
{
	struct cl_ddl *d = NEW(a, struct cl_ddl);

	d->arena = a;
	d->catalog = cl_catalog_ref(c);
	arena_cleanup(a, release, c);
	d->conds = map_new(a);
	d->writes = map_new(a);
	d->objects = map_new(a);
	return d;
}

/* ---- conditions and writes ---- */

static struct str
object_key(struct cl_ddl *d, enum cl_kind kind, uint32_t id)
{
	struct buf b;

	buf_init(&b, d->arena);
	cl_object_key(&b, kind, id);
	return buf_view(&b);
}

static struct str
name_key(struct cl_ddl *d, enum cl_kind kind, uint32_t parent, struct str name)
{
	struct buf b;

	buf_init(&b, d->arena);
	cl_name_key(&b, kind, parent, name);
	return buf_view(&b);
}

/* A key that this change already writes is covered by the condition that came
 * with the first write. */
static void
add_cond(struct cl_ddl *d, enum cl_cond_kind kind, struct str key, cl_stamp s)
{
	struct cl_cond *c;

	if (map_get(d->conds, key) || map_get(d->writes, key))
		return;
	c = NEW(d->arena, struct cl_cond);
	*c = (struct cl_cond){(uint8_t)kind, key, s};
	map_put(d->conds, key, c);
}

static void
add_write(
    struct cl_ddl *d, enum cl_write_kind kind, struct str key, struct str value)
{
	struct cl_write *w = NEW(d->arena, struct cl_write);

	*w = (struct cl_write){(uint8_t)kind, key, value};
	map_put(d->writes, key, w);
}

/* What this change itself brought in was never there. */
static void
delete_key(struct cl_ddl *d, struct str key)
{
	const struct cl_cond *c = map_get(d->conds, key);

	map_del(d->objects, key);
	if (c && c->kind == CL_COND_ABSENT) {
		map_del(d->conds, key);
		map_del(d->writes, key);
		return;
	}
	add_write(d, CL_WRITE_DELETE, key, STR_NONE);
}

static void
put_object(struct cl_ddl *d, struct str key, const struct cl_object *o)
{
	struct cl_object *copy = NEW(d->arena, struct cl_object);
	struct cl_object_change change;
	struct buf b;
	struct err *e;

	cl_change_of(d->arena, o, &change);
	e = cl_change_object(d->arena, &change, copy);
	ASSERT(!e);
	map_put(d->objects, key, copy);
	buf_init(&b, d->arena);
	cl_object_row(&b, copy);
	add_write(d, CL_WRITE_PUT, key, buf_view(&b));
}

static void
put_name(struct cl_ddl *d, const struct cl_object *o)
{
	uint32_t parent;
	struct str name, key;
	struct buf b;

	if (!cl_object_name(o, &parent, &name))
		return;
	key = name_key(d, o->kind, parent, name);
	add_cond(d, CL_COND_ABSENT, key, 0);
	buf_init(&b, d->arena);
	cl_name_row(&b, o->id);
	add_write(d, CL_WRITE_PUT, key, buf_view(&b));
}

static void
delete_name(struct cl_ddl *d, const struct cl_object *o)
{
	uint32_t parent;
	struct str name;

	if (cl_object_name(o, &parent, &name))
		delete_key(d, name_key(d, o->kind, parent, name));
}

static bool
same_name(const struct cl_object *a, const struct cl_object *b)
{
	uint32_t pa, pb;
	struct str na, nb;

	(void)cl_object_name(a, &pa, &na);
	(void)cl_object_name(b, &pb, &nb);
	return pa == pb && str_eq(na, nb);
}

/* As this change has it so far, else as the snapshot has it. */
static const struct cl_object *
current(struct cl_ddl *d, struct str key, enum cl_kind kind, uint32_t id)
{
	const struct cl_object *o = map_get(d->objects, key);

	if (!o)
		o = cl_find(d->catalog, kind, id);
	ASSERT(o);
	return o;
}

/* ---- the statements ---- */

void
cl_ddl_require(struct cl_ddl *d, enum cl_kind kind, uint32_t id)
{
	struct str key = object_key(d, kind, id);

	add_cond(d, CL_COND_STAMP, key, current(d, key, kind, id)->stamp);
}

void
cl_ddl_create(struct cl_ddl *d, const struct cl_object *o)
{
	struct str key = object_key(d, o->kind, o->id);

	ASSERT(!cl_find(d->catalog, o->kind, o->id));
	add_cond(d, CL_COND_ABSENT, key, 0);
	put_object(d, key, o);
	put_name(d, o);
}

void
cl_ddl_replace(struct cl_ddl *d, const struct cl_object *o)
{
	struct str key = object_key(d, o->kind, o->id);
	const struct cl_object *old = current(d, key, o->kind, o->id);
	bool renamed = !same_name(old, o);

	add_cond(d, CL_COND_STAMP, key, old->stamp);
	if (renamed)
		delete_name(d, old);
	put_object(d, key, o);
	if (renamed)
		put_name(d, o);
}

void
cl_ddl_drop(struct cl_ddl *d, enum cl_kind kind, uint32_t id)
{
	struct str key = object_key(d, kind, id);
	const struct cl_object *old = current(d, key, kind, id);

	if (kind == CL_DATABASE || kind == CL_SCHEMA || kind == CL_ROLE ||
	    kind == CL_SEQUENCE)
		cl_ddl_require(d, CL_COUNTER, 0);
	add_cond(d, CL_COND_STAMP, key, old->stamp);
	delete_key(d, key);
	delete_name(d, old);
}

/* ---- ids ---- */

static struct cl_counter *
counter(struct cl_ddl *d)
{
	if (!d->counted) {
		const struct cl_object *o = cl_find(d->catalog, CL_COUNTER, 0);

		ASSERT(o);
		d->counter = o->u.counter;
		d->counted = true;
		cl_ddl_require(d, CL_COUNTER, 0);
	}
	return &d->counter;
}

static uint32_t
take_ids(struct cl_ddl *d, uint32_t *next, uint32_t n, const char *what)
{
	uint32_t first = *next;

	if (n > UINT32_MAX - first) {
		d->exhausted = what;
		return 0;
	}
	*next = first + n;
	return first;
}

uint32_t
cl_ddl_ids(struct cl_ddl *d, uint32_t n)
{
	return take_ids(d, &counter(d)->next_id, n, "object");
}

uint32_t
cl_ddl_member_id(struct cl_ddl *d)
{
	return take_ids(d, &counter(d)->next_member, 1, "member");
}

uint32_t
cl_ddl_placement_id(struct cl_ddl *d)
{
	return take_ids(d, &counter(d)->next_placement, 1, "placement");
}

/* ---- the proposal ---- */

static void
put_counter(struct cl_ddl *d)
{
	struct cl_object o = {.kind = CL_COUNTER};

	if (!d->counted)
		return;
	o.u.counter = d->counter;
	put_object(d, object_key(d, CL_COUNTER, 0), &o);
}

/* Epoch of the catalog group; 1 in a snapshot that does not say. */
static uint32_t
catalog_epoch(const struct cl_catalog *c)
{
	const struct cl_placement *p =
	    cl_catalog_placement(c, CL_PLACEMENT_CATALOG);

	return p && p->n_slots ? p->slots[0].epoch : 1;
}

struct err *
cl_ddl_propose(struct cl_ddl *d, struct cl_propose *p)
{
	struct str key;
	size_t at = 0;
	void *v;

	if (d->exhausted)
		return ERR(d->arena, ERRCODE_PROGRAM_LIMIT_EXCEEDED,
		    "the cluster has no %s ids left", d->exhausted);
	put_counter(d);
	p->placement = CL_PLACEMENT_CATALOG;
	p->slot = 0;
	p->epoch = catalog_epoch(d->catalog);
	p->n_conds = p->n_writes = 0;
	p->conds = NEW_N(d->arena, struct cl_cond, map_count(d->conds) + 1);
	p->writes = NEW_N(d->arena, struct cl_write, map_count(d->writes) + 1);
	while (map_next(d->conds, &at, &key, &v))
		p->conds[p->n_conds++] = *(struct cl_cond *)v;
	at = 0;
	while (map_next(d->writes, &at, &key, &v)) {
		struct cl_write *w = &p->writes[p->n_writes++];

		*w = *(struct cl_write *)v;
		if (w->value.len > CL_VALUE_MAX || w->key.len > CL_KEY_MAX)
			return ERR(d->arena, ERRCODE_PROGRAM_LIMIT_EXCEEDED,
			    "a catalog object of %zu bytes is larger than %u",
			    w->value.len, CL_VALUE_MAX);
	}
	return NULL;
}
