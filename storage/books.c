#include "storage/books.h"

#include <xxhash.h>

#include "cluster/row.h"

bool
st_count_get(struct str bytes, struct st_count *n)
{
	struct cur c = cur_of(bytes);

	n->rows = (int64_t)cur_le64(&c);
	n->bytes = (int64_t)cur_le64(&c);
	n->digest = cur_le64(&c);
	return cur_done(&c);
}

void
st_count_put(struct buf *b, const struct st_count *n)
{
	buf_le64(b, (uint64_t)n->rows);
	buf_le64(b, (uint64_t)n->bytes);
	buf_le64(b, n->digest);
}

uint64_t
st_row_digest(struct str key, uint8_t flags, cl_stamp stamp)
{
	uint8_t rest[9] = {flags};

	for (int i = 0; i < 8; i++)
		rest[1 + i] = (uint8_t)(stamp >> (8 * i));
	return XXH3_64bits_withSeed(
	    rest, sizeof rest, XXH3_64bits(key.p, key.len));
}

void
st_books_open(struct st_books *b, struct kv *kv, struct arena *a,
    const struct cl_catalog *c, struct st_gid gid)
{
	*b = (struct st_books){.kv = kv, .arena = a, .catalog = c, .gid = gid};
}

static struct st_delta *
delta_of(struct st_books *b, struct str key)
{
	struct st_delta *d;
	uint32_t table;
	uint16_t slot;
	struct str rest;

	if (!cl_key_split(key, &table, &slot, &rest) || slot != b->gid.slot)
		return NULL; /* refused long before */
	for (uint32_t i = 0; i < b->n; i++)
		if (b->deltas[i].table == table)
			return &b->deltas[i];
	if (b->n == b->cap) {
		uint32_t cap = b->cap ? b->cap * 2 : 4;

		b->deltas = arena_grow(b->arena, b->deltas,
		    b->cap * sizeof *b->deltas, cap * sizeof *b->deltas);
		b->cap = cap;
	}
	d = &b->deltas[b->n++];
	*d = (struct st_delta){.table = table};
	st_indexes_open(&d->indexes, b->arena, b->catalog, table, slot);
	return d;
}

static void
tombstone_key(struct st_books *b, struct buf *k, cl_stamp s, struct str key)
{
	buf_init(k, b->arena);
	st_key_tombstone(k, b->gid, s, key);
}

/* Takes the old row, live or tombstone, out of the books; is there one? *live
 * is it as long as no other row is read, empty for a tombstone. */
static bool
take_out(
    struct st_books *b, struct str key, struct st_count *n, struct str *live)
{
	struct cl_row_head h;
	struct str old;
	struct buf k;

	*live = STR_NONE;
	if (!kv_get(b->kv, KV_ROWS, key, &old))
		return false;
	if (!cl_row_head(old, &h))
		return true;
	n->digest -= st_row_digest(key, h.flags, h.stamp);
	if (h.flags & CL_ROW_TOMBSTONE) {
		tombstone_key(b, &k, h.stamp, key);
		kv_del(b->kv, KV_META, buf_view(&k));
		return true;
	}
	n->rows--;
	n->bytes -= (int64_t)(key.len + old.len);
	*live = old;
	return true;
}

void
st_books_put(struct st_books *b, struct str key, struct str value)
{
	struct st_delta *d = delta_of(b, key);
	struct cl_row_head h;
	struct str was;
	struct buf k;
	bool dead;

	if (!d || !cl_row_head(value, &h))
		return;
	dead = h.flags & CL_ROW_TOMBSTONE;
	take_out(b, key, &d->n, &was);
	st_indexes_change(
	    &d->indexes, b->kv, key, was, dead ? STR_NONE : value);
	kv_put(b->kv, KV_ROWS, key, value);
	d->n.digest += st_row_digest(key, h.flags, h.stamp);
	if (dead) {
		tombstone_key(b, &k, h.stamp, key);
		kv_put(b->kv, KV_META, buf_view(&k), STR_NONE);
		return;
	}
	d->n.rows++;
	d->n.bytes += (int64_t)(key.len + value.len);
}

void
st_books_delete(struct st_books *b, struct str key, cl_stamp stamp)
{
	struct buf row;

	buf_init(&row, b->arena);
	cl_row_begin(&row, CL_ROW_TOMBSTONE);
	cl_row_set_stamp(row.p, stamp);
	st_books_put(b, key, buf_view(&row));
}

void
st_books_drop(struct st_books *b, struct str key)
{
	struct st_delta *d = delta_of(b, key);
	struct str was;

	if (!d || !take_out(b, key, &d->n, &was))
		return;
	st_indexes_change(&d->indexes, b->kv, key, was, STR_NONE);
	kv_del(b->kv, KV_ROWS, key);
}

void
st_books_close(struct st_books *b)
{
	for (uint32_t i = 0; i < b->n && !kv_failed(b->kv); i++) {
		const struct st_count *d = &b->deltas[i].n;
		struct st_count n = {0, 0, 0};
		struct buf key, value;
		struct str old;

		if (!d->rows && !d->bytes && !d->digest)
			continue;
		buf_init(&key, b->arena);
		buf_init(&value, b->arena);
		st_key_count(&key, b->deltas[i].table, b->gid.slot);
		if (kv_get(b->kv, KV_META, buf_view(&key), &old))
			st_count_get(old, &n);
		n.rows += d->rows;
		n.bytes += d->bytes;
		n.digest += d->digest;
		st_count_put(&value, &n);
		kv_put(b->kv, KV_META, buf_view(&key), buf_view(&value));
	}
}
