/* Snapshots of the catalog: two sorted arrays of pointers to objects that
 * snapshots share.  Objects of one cl_catalog_apply live and die together in a
 * batch, so a whole catalog is one arena and not thousands. */
#include "cluster/catalog.h"

#include <stdlib.h>

#include "cluster/msg.h"

#define CATALOG_MAGIC 0x43544c47u
/* Deleted objects remembered, newest first; who is further behind fetches a
 * whole snapshot. */
#define DELETED_MAX 1024u

struct batch {
	struct arena *arena;
	size_t refs; /* from the arrays of snapshots */
};

struct entry {
	struct batch *batch;
	struct cl_object o;
	/* Its name, when it is found by one. */
	bool named;
	uint32_t parent;
	struct str name;
};

struct cl_catalog {
	uint32_t magic;
	size_t refs;
	struct arena *arena;
	uint64_t version;
	uint64_t floor;
	size_t n;
	struct entry **entries; /* by (kind, id), deleted ones included */
	size_t n_deleted;
	size_t n_names;
	struct entry **names; /* live, named; by (kind, parent, name) */
};

/* ---- order ---- */

static int
id_cmp(const struct cl_object *a, enum cl_kind kind, uint32_t id)
{
	if (a->kind != kind)
		return a->kind < kind ? -1 : 1;
	return a->id < id ? -1 : a->id > id;
}

static int
name_cmp(
    const struct entry *e, enum cl_kind kind, uint32_t parent, struct str name)
{
	enum cl_kind x = cl_name_kind(e->o.kind), y = cl_name_kind(kind);

	if (x != y)
		return x < y ? -1 : 1;
	if (e->parent != parent)
		return e->parent < parent ? -1 : 1;
	return str_cmp(e->name, name);
}

static int
entry_cmp(const struct entry *a, const struct entry *b)
{
	return id_cmp(&a->o, b->o.kind, b->o.id);
}

static int
entry_name_cmp(const struct entry *a, const struct entry *b)
{
	return name_cmp(a, b->o.kind, b->parent, b->name);
}

static int
entry_sort(const void *x, const void *y)
{
	return entry_cmp(*(struct entry *const *)x, *(struct entry *const *)y);
}

static int
entry_name_sort(const void *x, const void *y)
{
	return entry_name_cmp(
	    *(struct entry *const *)x, *(struct entry *const *)y);
}

/* First entry not below (kind, id); may be n. */
static size_t
search(struct entry *const *v, size_t n, enum cl_kind kind, uint32_t id)
{
	size_t lo = 0;

	while (lo < n) {
		size_t mid = lo + (n - lo) / 2;

		if (id_cmp(&v[mid]->o, kind, id) < 0)
			lo = mid + 1;
		else
			n = mid;
	}
	return lo;
}

static struct entry *
search_exact(struct entry *const *v, size_t n, enum cl_kind kind, uint32_t id)
{
	size_t at = search(v, n, kind, id);

	return at < n && !id_cmp(&v[at]->o, kind, id) ? v[at] : NULL;
}

/* ---- lifetime ---- */

static struct cl_catalog *
snapshot_new(size_t n_max)
{
	struct arena *a = arena_new(NULL, "catalog");
	struct cl_catalog *c = NEW(a, struct cl_catalog);

	c->magic = CATALOG_MAGIC;
	c->refs = 1;
	c->arena = a;
	c->entries = NEW_N(a, struct entry *, n_max + 1);
	c->names = NEW_N(a, struct entry *, n_max + 1);
	return c;
}

struct cl_catalog *
cl_catalog_new(void)
{
	return snapshot_new(0);
}

struct cl_catalog *
cl_catalog_ref(struct cl_catalog *c)
{
	ASSERT(c->magic == CATALOG_MAGIC && c->refs);
	c->refs++;
	return c;
}

void
cl_catalog_unref(struct cl_catalog *c)
{
	if (!c)
		return;
	ASSERT(c->magic == CATALOG_MAGIC && c->refs);
	if (--c->refs)
		return;
	for (size_t i = 0; i < c->n; i++) {
		struct batch *b = c->entries[i]->batch;

		if (!--b->refs)
			arena_free(b->arena);
	}
	c->magic = 0;
	arena_free(c->arena);
}

uint64_t
cl_catalog_version(const struct cl_catalog *c)
{
	return c->version;
}

uint64_t
cl_catalog_floor(const struct cl_catalog *c)
{
	return c->floor;
}

size_t
cl_catalog_count(const struct cl_catalog *c)
{
	return c->n;
}

/* ---- apply ---- */

static void
add_entry(struct cl_catalog *c, struct entry *e)
{
	c->entries[c->n++] = e;
	c->n_deleted += e->o.deleted;
	e->batch->refs++;
}

/* A copy is the decoding of the encoding: it shares no byte. */
static void
copy_object(struct entry *e, const struct cl_object *o)
{
	struct cl_object_change change;
	struct err *err;

	cl_change_of(e->batch->arena, o, &change);
	err = cl_change_object(e->batch->arena, &change, &e->o);
	ASSERT(!err);
	e->named = cl_object_name(&e->o, &e->parent, &e->name);
}

/* Copies, sorted, the last of each (kind, id); *n_out of them. */
static struct entry **
batch_of(const struct cl_object *const *objects, size_t n, size_t *n_out)
{
	struct arena *a = arena_new(NULL, "catalog objects");
	struct batch *b = NEW(a, struct batch);
	struct entry *e = NEW_N(a, struct entry, n + 1);
	struct entry **v = NEW_N(a, struct entry *, n + 1);
	size_t k = 0;

	b->arena = a;
	for (size_t i = 0; i < n; i++) {
		e[i].batch = b;
		copy_object(&e[i], objects[i]);
		v[i] = &e[i];
	}
	if (n)
		qsort(v, n, sizeof(struct entry *), entry_sort);
	for (size_t i = 0; i < n; i++) {
		if (!k || entry_cmp(v[k - 1], v[i]))
			v[k++] = v[i];
		else if (v[i] > v[k - 1]) /* later in `objects` */
			v[k - 1] = v[i];
	}
	*n_out = k;
	return v;
}

static void
merge_entries(struct cl_catalog *c, const struct cl_catalog *base,
    struct entry **v, size_t n)
{
	size_t i = 0, j = 0;

	while (i < base->n || j < n) {
		int r = i == base->n ? 1
			: j == n     ? -1
				     : entry_cmp(base->entries[i], v[j]);

		add_entry(c, r < 0 ? base->entries[i] : v[j]);
		i += r <= 0;
		j += r >= 0;
	}
}

/* The base's names without those of changed objects, and the new ones. */
static void
merge_names(struct cl_catalog *c, const struct cl_catalog *base,
    struct entry **v, size_t n)
{
	struct entry **fresh = NEW_N(c->arena, struct entry *, n + 1);
	size_t k = 0, j = 0;

	for (size_t i = 0; i < n; i++)
		if (v[i]->named)
			fresh[k++] = v[i];
	if (k)
		qsort(fresh, k, sizeof(struct entry *), entry_name_sort);
	for (size_t i = 0; i < base->n_names; i++) {
		struct entry *e = base->names[i];

		if (search_exact(v, n, e->o.kind, e->o.id))
			continue;
		while (j < k && entry_name_cmp(fresh[j], e) < 0)
			c->names[c->n_names++] = fresh[j++];
		c->names[c->n_names++] = e;
	}
	while (j < k)
		c->names[c->n_names++] = fresh[j++];
}

static int
version_sort(const void *x, const void *y)
{
	uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;

	return a < b ? -1 : a > b;
}

/* Forgets the older half of the deleted objects when there are too many, and
 * raises the floor to the newest one forgotten. */
static void
forget_deleted(struct cl_catalog *c)
{
	uint64_t *versions;
	size_t k = 0, kept = 0;

	if (c->n_deleted <= DELETED_MAX)
		return;
	versions = NEW_N(c->arena, uint64_t, c->n_deleted);
	for (size_t i = 0; i < c->n; i++)
		if (c->entries[i]->o.deleted)
			versions[k++] = c->entries[i]->o.version;
	qsort(versions, k, sizeof *versions, version_sort);
	if (versions[k / 2] > c->floor)
		c->floor = versions[k / 2];
	c->n_deleted = 0;
	for (size_t i = 0; i < c->n; i++) {
		struct entry *e = c->entries[i];

		if (e->o.deleted && e->o.version <= c->floor) {
			ASSERT(e->batch->refs);
			if (!--e->batch->refs)
				arena_free(e->batch->arena);
			continue;
		}
		c->n_deleted += e->o.deleted;
		c->entries[kept++] = e;
	}
	c->n = kept;
}

struct cl_catalog *
cl_catalog_apply(const struct cl_catalog *base, uint64_t version,
    const struct cl_object *const *objects, size_t n)
{
	struct cl_catalog *c = snapshot_new(base->n + n);
	struct entry **v;
	size_t k;

	ASSERT(version >= base->version);
	c->version = version;
	c->floor = base->version ? base->floor : version;
	if (!n) {
		merge_entries(c, base, NULL, 0);
		merge_names(c, base, NULL, 0);
		return c;
	}
	v = batch_of(objects, n, &k);
	merge_entries(c, base, v, k);
	merge_names(c, base, v, k);
	forget_deleted(c);
	return c;
}

size_t
cl_catalog_changes(const struct cl_catalog *c, uint64_t since,
    const struct cl_object **out, size_t max)
{
	size_t k = 0;

	for (size_t i = 0; i < c->n && k < max; i++)
		if (c->entries[i]->o.version > since)
			out[k++] = &c->entries[i]->o;
	return k;
}

/* ---- look-ups ---- */

const struct cl_object *
cl_find(const struct cl_catalog *c, enum cl_kind kind, uint32_t id)
{
	const struct entry *e = search_exact(c->entries, c->n, kind, id);

	return e && !e->o.deleted ? &e->o : NULL;
}

static const struct cl_object *
find_name(const struct cl_catalog *c, enum cl_kind kind, uint32_t parent,
    struct str name)
{
	size_t lo = 0, hi = c->n_names;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int r = name_cmp(c->names[mid], kind, parent, name);

		if (!r)
			return &c->names[mid]->o;
		if (r < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

const struct cl_object *
cl_find_name(const struct cl_catalog *c, enum cl_kind kind, uint32_t parent,
    struct str name)
{
	const struct cl_object *o = find_name(c, kind, parent, name);

	return o && o->kind == kind ? o : NULL;
}

const struct cl_object *
cl_find_relation(const struct cl_catalog *c, uint32_t schema, struct str name)
{
	return find_name(c, CL_TABLE, schema, name);
}

/* *at is one more than the place to look at next; 0 before the first. */
const struct cl_object *
cl_each(const struct cl_catalog *c, enum cl_kind kind, size_t *at)
{
	if (!*at)
		*at = search(c->entries, c->n, kind, 0) + 1;
	for (size_t i = *at - 1; i < c->n; i++) {
		const struct cl_object *o = &c->entries[i]->o;

		*at = i + 2;
		if (o->kind != kind)
			break;
		if (!o->deleted)
			return o;
	}
	*at = c->n + 1;
	return NULL;
}

const struct cl_cluster *
cl_catalog_cluster(const struct cl_catalog *c)
{
	const struct cl_object *o = cl_find(c, CL_CLUSTER, 0);

	return o ? &o->u.cluster : NULL;
}

const struct cl_table *
cl_catalog_table(const struct cl_catalog *c, uint32_t id)
{
	const struct cl_object *o = cl_find(c, CL_TABLE, id);

	return o ? &o->u.table : NULL;
}

const struct cl_sequence *
cl_catalog_sequence(const struct cl_catalog *c, uint32_t id)
{
	const struct cl_object *o = cl_find(c, CL_SEQUENCE, id);

	return o ? &o->u.sequence : NULL;
}

const struct cl_index *
cl_catalog_index(const struct cl_catalog *c, uint32_t id)
{
	const struct cl_object *o = cl_find(c, CL_INDEX, id);

	return o ? &o->u.index : NULL;
}

const struct cl_index *
cl_index_each(const struct cl_catalog *c, uint32_t table, size_t *at)
{
	const struct cl_object *o;

	while ((o = cl_each(c, CL_INDEX, at)) != NULL)
		if (o->u.index.table == table)
			return &o->u.index;
	return NULL;
}

bool
cl_catalog_rows_of(const struct cl_catalog *c, uint32_t id, uint32_t *placement)
{
	const struct cl_table *t = cl_catalog_table(c, id);

	*placement = t ? t->placement : CL_PLACEMENT_DEFAULT;
	return t || cl_catalog_sequence(c, id);
}

/* The lowest id above `after` of a kind; UINT32_MAX: none. */
static uint32_t
id_after(const struct cl_catalog *c, enum cl_kind kind, uint32_t after)
{
	if (after == UINT32_MAX)
		return UINT32_MAX;
	for (size_t i = search(c->entries, c->n, kind, after + 1);
	     i < c->n && c->entries[i]->o.kind == kind; i++)
		if (!c->entries[i]->o.deleted)
			return c->entries[i]->o.id;
	return UINT32_MAX;
}

bool
cl_catalog_rows_next(
    const struct cl_catalog *c, uint32_t *id, uint32_t *placement)
{
	uint32_t table = id_after(c, CL_TABLE, *id);
	uint32_t sequence = id_after(c, CL_SEQUENCE, *id);

	*id = table < sequence ? table : sequence;
	return cl_catalog_rows_of(c, *id, placement);
}

const struct cl_placement *
cl_catalog_placement(const struct cl_catalog *c, uint32_t id)
{
	const struct cl_object *o = cl_find(c, CL_PLACEMENT, id);

	return o ? &o->u.placement : NULL;
}

const struct cl_column *
cl_table_column(const struct cl_table *t, struct str name)
{
	for (uint32_t i = 0; i < t->n_columns; i++) {
		const struct cl_column *k = &t->columns[i];

		if (!(k->flags & (CL_COL_DROPPED | CL_COL_HIDDEN)) &&
		    str_eq(k->name, name))
			return k;
	}
	return NULL;
}

const struct cl_column *
cl_table_column_id(const struct cl_table *t, uint32_t id)
{
	uint32_t lo = 0, hi = t->n_columns;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (t->columns[mid].id == id)
			return &t->columns[mid];
		if (t->columns[mid].id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}
