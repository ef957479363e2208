#include "regress/sim/mem_map.h"

#include "base/err.h"

static int
size_class(size_t n)
{
	int k = 4;

	while (((size_t)1 << k) < n)
		k++;
	ASSERT(k < 32);
	return k;
}

void *
mem_pool_get(struct mem_pool *p, size_t n)
{
	int k = size_class(n);
	void *mem = p->spare[k];

	if (!mem)
		return arena_alloc_raw(p->arena, (size_t)1 << k);
	memcpy(&p->spare[k], mem, sizeof(void *));
	return mem;
}

void
mem_pool_put(struct mem_pool *p, const void *mem, size_t n)
{
	int k = size_class(n);
	void *own = (void *)(uintptr_t)mem;

	if (!mem)
		return;
	memcpy(own, &p->spare[k], sizeof(void *));
	p->spare[k] = own;
}

struct str
mem_pool_str(struct mem_pool *p, struct str s)
{
	void *mem;

	if (!s.len)
		return STR_NONE;
	mem = mem_pool_get(p, s.len);
	memcpy(mem, s.p, s.len);
	return str_of(mem, s.len);
}

static size_t
node_size(int levels)
{
	return sizeof(struct mem_node) +
	       (size_t)levels * sizeof(struct mem_node *);
}

void
mem_map_init(struct mem_map *m, struct mem_pool *p, uint64_t seed)
{
	*m = (struct mem_map){.pool = p, .random = seed | 1};
	m->head = mem_pool_get(p, node_size(MEM_MAP_LEVELS));
	memset(m->head, 0, node_size(MEM_MAP_LEVELS));
	m->head->levels = MEM_MAP_LEVELS;
}

/* The last node before `key` on each level. */
static struct mem_node *
descend(const struct mem_map *m, struct str key, bool or_equal,
    struct mem_node **path)
{
	struct mem_node *n = m->head;

	for (int l = MEM_MAP_LEVELS - 1; l >= 0; l--) {
		while (n->next[l]) {
			int r = str_cmp(n->next[l]->key, key);

			if (r > 0 || (r == 0 && !or_equal))
				break;
			n = n->next[l];
		}
		if (path)
			path[l] = n;
	}
	return n;
}

struct mem_node *
mem_map_from(const struct mem_map *m, struct str key)
{
	return descend(m, key, false, NULL)->next[0];
}

struct mem_node *
mem_map_above(const struct mem_map *m, struct str key)
{
	return descend(m, key, true, NULL)->next[0];
}

struct mem_node *
mem_map_below(const struct mem_map *m, struct str key)
{
	struct mem_node *n = descend(m, key, false, NULL);

	return n == m->head ? NULL : n;
}

struct mem_node *
mem_map_find(const struct mem_map *m, struct str key)
{
	struct mem_node *n = mem_map_from(m, key);

	return n && str_eq(n->key, key) ? n : NULL;
}

static int
draw_levels(struct mem_map *m)
{
	int levels = 1;

	m->random ^= m->random << 13;
	m->random ^= m->random >> 7;
	m->random ^= m->random << 17;
	for (uint64_t bits = m->random; (bits & 3) == 0; bits >>= 2)
		if (++levels == MEM_MAP_LEVELS)
			break;
	return levels;
}

struct mem_node *
mem_node_new(struct mem_map *m, struct str key, struct str val)
{
	int levels = draw_levels(m);
	struct mem_node *n = mem_pool_get(m->pool, node_size(levels));

	memset(n, 0, node_size(levels));
	n->levels = levels;
	n->key = mem_pool_str(m->pool, key);
	n->val = mem_pool_str(m->pool, val);
	return n;
}

void
mem_node_free(struct mem_map *m, struct mem_node *n)
{
	mem_pool_put(m->pool, n->key.p, n->key.len);
	mem_pool_put(m->pool, n->val.p, n->val.len);
	mem_pool_put(m->pool, n, node_size(n->levels));
}

void
mem_map_link(struct mem_map *m, struct mem_node *n)
{
	struct mem_node *path[MEM_MAP_LEVELS];

	descend(m, n->key, false, path);
	ASSERT(!path[0]->next[0] || !str_eq(path[0]->next[0]->key, n->key));
	for (int l = 0; l < n->levels; l++) {
		n->next[l] = path[l]->next[l];
		path[l]->next[l] = n;
	}
	m->changes++;
	m->count++;
}

void
mem_map_unlink(struct mem_map *m, struct mem_node *n)
{
	struct mem_node *path[MEM_MAP_LEVELS];

	descend(m, n->key, false, path);
	for (int l = 0; l < n->levels; l++) {
		ASSERT(path[l]->next[l] == n);
		path[l]->next[l] = n->next[l];
	}
	m->changes++;
	m->count--;
}
