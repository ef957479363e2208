#include "storage/index.h"

#include "base/mutate.h"
#include "cluster/key.h"
#include "cluster/msg.h"
#include "cluster/row.h"

/* ---- records ---- */

void
st_index_value_put(struct buf *b, size_t columns)
{
	buf_u8(b, ST_INDEX_FORMAT);
	buf_varint(b, columns);
}

bool
st_index_value_get(struct str key, struct str value, size_t *columns)
{
	struct cur c = cur_of(value);
	unsigned format = cur_u8(&c);

	*columns = cur_varint(&c);
	return cur_done(&c) && format == ST_INDEX_FORMAT &&
	       key.len >= CL_KEY_PREFIX && *columns <= key.len - CL_KEY_PREFIX;
}

void
st_index_record_put(struct buf *b, const struct st_index_record *r)
{
	buf_u8(b, ST_INDEX_FORMAT);
	buf_u8(b, (uint8_t)r->state);
	buf_lenstr(b, r->upto);
	buf_lenstr(b, r->text);
}

bool
st_index_record_get(struct str bytes, struct st_index_record *r)
{
	struct cur c = cur_of(bytes);
	unsigned format = cur_u8(&c), state = cur_u8(&c);

	*r = (struct st_index_record){.state = ST_INDEX_NONE};
	if (format != ST_INDEX_FORMAT || state < ST_INDEX_CLEAR ||
	    state > ST_INDEX_FAILED)
		return false;
	r->state = (enum st_index_state)state;
	r->upto = cur_lenstr(&c);
	r->text = cur_lenstr(&c);
	return cur_done(&c);
}

void
st_index_read(struct kv *kv, struct arena *a, uint32_t index, uint16_t slot,
    struct st_index_record *r)
{
	struct buf key;
	struct str v;

	*r = (struct st_index_record){.state = ST_INDEX_NONE};
	buf_init(&key, a);
	st_key_index(&key, index, slot);
	if (!kv_get(kv, KV_META, buf_view(&key), &v) ||
	    !st_index_record_get(arena_str(a, v), r))
		*r = (struct st_index_record){.state = ST_INDEX_NONE};
}

void
st_index_write(struct kv *kv, struct arena *a, uint32_t index, uint16_t slot,
    const struct st_index_record *r)
{
	struct buf key, value;

	buf_init(&key, a);
	buf_init(&value, a);
	st_key_index(&key, index, slot);
	st_index_record_put(&value, r);
	kv_put(kv, KV_META, buf_view(&key), buf_view(&value));
}

/* ---- keeping ---- */

static void
open_one(struct st_indexes *x, const struct cl_table *t,
    const struct cl_index *def, struct st_index *out)
{
	*out = (struct st_index){.def = def};
	out->broken = ex_index_open(x->arena, t, def, &out->keys);
}

void
st_indexes_open(struct st_indexes *x, struct arena *a,
    const struct cl_catalog *c, uint32_t table, uint16_t slot)
{
	const struct cl_index *def;
	const struct cl_table *t;
	size_t at = 0;
	uint32_t cap = 0;

	*x = (struct st_indexes){.arena = a, .slot = slot};
	while ((def = cl_index_each(c, table, &at)) != NULL) {
		t = cl_catalog_table(c, table);
		if (!t || def->state == CL_INDEX_FAILED)
			continue;
		if (x->n == cap) {
			cap = cap ? cap * 2 : 4;
			x->list = arena_grow(a, x->list, x->n * sizeof *x->list,
			    cap * sizeof *x->list);
		}
		open_one(x, t, def, &x->list[x->n++]);
	}
	if (x->n)
		x->row = arena_new(a, "index row");
}

/* The whole key of a row in an index; empty when it has none. */
static struct err *
entry_of(struct st_indexes *x, const struct st_index *i, struct str key,
    struct str value, struct str *out, size_t *columns)
{
	struct str pk = str_skip(key, CL_KEY_PREFIX);
	struct buf b;
	bool has;

	*out = STR_NONE;
	if (!value.len)
		return NULL;
	if (i->broken)
		return i->broken;
	buf_init(&b, x->row);
	cl_key_prefix(&b, i->def->id, x->slot);
	TRY(ex_index_row_key(x->row, i->keys, pk, value, &b, &has));
	if (!has)
		return NULL;
	*out = buf_view(&b);
	*columns = b.len - CL_KEY_PREFIX - pk.len;
	return NULL;
}

static void
put_entry(struct st_indexes *x, struct kv *kv, struct str entry, size_t columns)
{
	struct buf b;

	buf_init(&b, x->row);
	st_index_value_put(&b, columns);
	kv_put(kv, KV_INDEX, entry, buf_view(&b));
}

struct str
st_index_failure(struct arena *a, const struct err *e)
{
	return str_c(arena_printf(a, "%s %s", e->sqlstate, e->message));
}

/* From now on nobody reads it here, and the driver hears why. */
static void
fail(struct st_indexes *x, struct kv *kv, const struct st_index *i,
    const struct err *e)
{
	const struct st_index_record r = {
	    .state = ST_INDEX_FAILED, .text = st_index_failure(x->row, e)};

	st_index_write(kv, x->row, i->def->id, x->slot, &r);
}

static void
change_one(struct st_indexes *x, const struct st_index *i, struct kv *kv,
    struct str key, struct str was, struct str is)
{
	struct str old, new;
	size_t columns = 0;
	/* What had no key has no entry: it failed when it came. */
	struct err *none = entry_of(x, i, key, was, &old, &columns);
	struct err *e;

	if (none)
		old = STR_NONE;
	e = entry_of(x, i, key, is, &new, &columns);
	if (e)
		fail(x, kv, i, e);
	if (old.len && new.len && str_eq(old, new))
		return;
	if (old.len && !mutate("index_old_key_kept"))
		kv_del(kv, KV_INDEX, old);
	if (new.len)
		put_entry(x, kv, new, columns);
}

void
st_indexes_change(struct st_indexes *x, struct kv *kv, struct str key,
    struct str was, struct str is)
{
	for (uint32_t i = 0; i < x->n && !kv_failed(kv); i++) {
		arena_reset(x->row);
		change_one(x, &x->list[i], kv, key, was, is);
	}
}

struct err *
st_index_add(struct st_indexes *x, const struct st_index *i, struct kv *kv,
    struct str key, struct str value)
{
	struct str entry;
	size_t columns;

	arena_reset(x->row);
	TRY(entry_of(x, i, key, value, &entry, &columns));
	if (entry.len)
		put_entry(x, kv, entry, columns);
	return NULL;
}

/* ---- looking ---- */

struct look {
	struct kv *kv;
	struct st_indexes indexes;
	const struct st_index *i;
	uint64_t entries; /* that rows have */
	bool missing;
};

static void
look_at_row(struct look *l, struct str key, struct str value)
{
	struct str entry, v;
	struct cl_row_head h;
	size_t columns, found;

	if (!cl_row_head(value, &h) || (h.flags & CL_ROW_TOMBSTONE))
		return;
	arena_reset(l->indexes.row);
	/* A whole index has a key for each of its rows. */
	if (entry_of(&l->indexes, l->i, key, value, &entry, &columns)) {
		l->missing = true;
		return;
	}
	if (!entry.len)
		return;
	l->entries++;
	l->missing |= !kv_get(l->kv, KV_INDEX, entry, &v) ||
		      !st_index_value_get(entry, v, &found) || found != columns;
}

/* How many records of a file have the prefix; each is looked at. */
static uint64_t
each_of(struct look *l, enum kv_file f, struct str prefix)
{
	struct kv_cur *c = kv_open(l->kv, f);
	struct str k, v;
	uint64_t n = 0;
	bool more;

	for (more = kv_seek(c, prefix, &k, &v);
	     more && str_has_prefix(k, prefix); more = kv_next(c, &k, &v)) {
		n++;
		if (f == KV_ROWS)
			look_at_row(l, k, v);
	}
	kv_close(c);
	return n;
}

bool
st_index_right(struct kv *kv, struct arena *a, const struct cl_catalog *c,
    const struct cl_index *def, uint16_t slot)
{
	struct look l = {.kv = kv};
	struct st_index_record r;
	struct buf rows, entries;

	st_index_read(kv, a, def->id, slot, &r);
	if (r.state != ST_INDEX_WHOLE)
		return true;
	st_indexes_open(&l.indexes, a, c, def->table, slot);
	for (uint32_t i = 0; i < l.indexes.n; i++)
		if (l.indexes.list[i].def->id == def->id)
			l.i = &l.indexes.list[i];
	if (!l.i)
		return true; /* it failed, and goes */
	buf_init(&rows, a);
	cl_key_prefix(&rows, def->table, slot);
	each_of(&l, KV_ROWS, buf_view(&rows));
	buf_init(&entries, a);
	cl_key_prefix(&entries, def->id, slot);
	return each_of(&l, KV_INDEX, buf_view(&entries)) == l.entries &&
	       !l.missing;
}

void
st_index_forget(struct kv *kv, struct arena *a, uint32_t index, uint16_t slot)
{
	struct buf b;

	buf_init(&b, a);
	cl_key_prefix(&b, index, slot);
	kv_del_range(
	    kv, KV_INDEX, buf_view(&b), cl_key_after_prefix(a, buf_view(&b)));
	b.len = 0;
	st_key_index(&b, index, slot);
	kv_del(kv, KV_META, buf_view(&b));
}
