#include "base/map.h"

#include <xxhash.h>

#include "base/err.h"

/* Entries sit in an array in the order they came; `index` is an open-addressed
 * table of 1-based places in it.  A deleted entry leaves a hole (value NULL)
 * that its index slot keeps pointing at, until the array is full: then the
 * holes are squeezed out, in the same memory when they are half of it.  Key
 * bytes of deleted entries are used again, so that a map with a bounded number
 * of keys has bounded memory however long it lives. */

#define FIRST_CAP   8
#define KEY_CLASSES 48

struct entry {
	struct str key;
	void *value; /* NULL is a hole */
	uint64_t hash;
};

struct spare {
	struct spare *next;
};

struct map {
	struct arena *arena;
	struct entry *entries;
	uint32_t *index; /* 2 * cap slots, a power of two */
	size_t cap;
	size_t used; /* entries with holes */
	size_t live;
	struct spare *spare[KEY_CLASSES];
};

/* Sizes 16, 32, 64, ... */
static unsigned
key_class(size_t len)
{
	unsigned k = 0;

	while (((size_t)16 << k) < len)
		k++;
	ASSERT(k < KEY_CLASSES);
	return k;
}

static struct str
key_copy(struct map *m, struct str key)
{
	unsigned k = key_class(key.len);
	void *p = m->spare[k];

	if (p)
		m->spare[k] = m->spare[k]->next;
	else
		p = arena_alloc_raw(m->arena, (size_t)16 << k);
	if (key.len > 0)
		memcpy(p, key.p, key.len);
	return str_of(p, key.len);
}

static void
key_spare(struct map *m, struct str key)
{
	unsigned k = key_class(key.len);
	/* The bytes are ours: key_copy made them. */
	struct spare *s = (struct spare *)(uintptr_t)key.p;

	s->next = m->spare[k];
	m->spare[k] = s;
}

struct map *
map_new(struct arena *a)
{
	struct map *m = NEW(a, struct map);

	m->arena = a;
	return m;
}

static struct entry *
find(const struct map *m, struct str key, uint64_t hash)
{
	size_t mask = 2 * m->cap - 1;

	if (m->cap == 0)
		return NULL;
	for (size_t i = hash & mask; m->index[i]; i = (i + 1) & mask) {
		struct entry *e = &m->entries[m->index[i] - 1];

		if (e->value && e->hash == hash && str_eq(e->key, key))
			return e;
	}
	return NULL;
}

static void
index_add(struct map *m, size_t place)
{
	size_t mask = 2 * m->cap - 1;
	size_t i = m->entries[place].hash & mask;

	while (m->index[i])
		i = (i + 1) & mask;
	m->index[i] = (uint32_t)place + 1;
}

/* Room for one more: squeezes the holes out, in a bigger array when more than
 * half of the present one is live. */
static void
make_room(struct map *m)
{
	struct entry *from = m->entries;
	size_t n = 0;

	if (m->used < m->cap)
		return;
	if (m->live * 2 >= m->cap) {
		m->cap = m->cap ? m->cap * 2 : FIRST_CAP;
		ASSERT(m->cap <= UINT32_MAX / 2);
		m->entries =
		    arena_alloc_raw(m->arena, m->cap * sizeof *m->entries);
		m->index =
		    arena_alloc_raw(m->arena, 2 * m->cap * sizeof *m->index);
	}
	memset(m->index, 0, 2 * m->cap * sizeof *m->index);
	for (size_t i = 0; i < m->used; i++)
		if (from[i].value) {
			m->entries[n] = from[i];
			index_add(m, n++);
		}
	ASSERT(n == m->live);
	m->used = n;
}

void *
map_get(const struct map *m, struct str key)
{
	struct entry *e = find(m, key, XXH3_64bits(key.p, key.len));

	return e ? e->value : NULL;
}

void
map_put(struct map *m, struct str key, void *value)
{
	uint64_t hash = XXH3_64bits(key.p, key.len);
	struct entry *e = find(m, key, hash);

	ASSERT(value);
	if (e) {
		e->value = value;
		return;
	}
	make_room(m);
	m->entries[m->used] = (struct entry){key_copy(m, key), value, hash};
	index_add(m, m->used);
	m->used++;
	m->live++;
}

void *
map_del(struct map *m, struct str key)
{
	struct entry *e = find(m, key, XXH3_64bits(key.p, key.len));
	void *value;

	if (!e)
		return NULL;
	value = e->value;
	e->value = NULL;
	key_spare(m, e->key);
	m->live--;
	return value;
}

size_t
map_count(const struct map *m)
{
	return m->live;
}

bool
map_next(const struct map *m, size_t *at, struct str *key, void **value)
{
	while (*at < m->used) {
		const struct entry *e = &m->entries[(*at)++];

		if (!e->value)
			continue;
		if (key)
			*key = e->key;
		if (value)
			*value = e->value;
		return true;
	}
	return false;
}
