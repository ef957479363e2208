/* The ordered map inside the engine in memory: a skip list whose nodes can be
 * taken out and put back, which is how its transactions are undone. */
#ifndef REGRESS_SIM_MEM_MAP_H
#define REGRESS_SIM_MEM_MAP_H

#include "base/arena.h"

#define MEM_MAP_LEVELS 20

struct mem_node {
	struct str key;
	struct str val;
	int levels;
	struct mem_node *next[];
};

/* Memory that is used again, by powers of two. */
struct mem_pool {
	struct arena *arena;
	void *spare[32];
};

struct mem_map {
	struct mem_pool *pool;
	struct mem_node *head; /* before the first; no key */
	uint64_t random;
	uint64_t changes; /* of the set of keys: cursors notice */
	size_t count;
};

void *mem_pool_get(struct mem_pool *p, size_t n);
void mem_pool_put(struct mem_pool *p, const void *mem, size_t n);
struct str mem_pool_str(struct mem_pool *p, struct str s);

void mem_map_init(struct mem_map *m, struct mem_pool *p, uint64_t seed);
/* The node with that key, or NULL. */
struct mem_node *mem_map_find(const struct mem_map *m, struct str key);
/* First node >= key, > key; last node < key. NULL if none. */
struct mem_node *mem_map_from(const struct mem_map *m, struct str key);
struct mem_node *mem_map_above(const struct mem_map *m, struct str key);
struct mem_node *mem_map_below(const struct mem_map *m, struct str key);
/* A node with copies of both, not linked. */
struct mem_node *mem_node_new(
    struct mem_map *m, struct str key, struct str val);
void mem_node_free(struct mem_map *m, struct mem_node *n);
/* No node of that key may be linked. */
void mem_map_link(struct mem_map *m, struct mem_node *n);
void mem_map_unlink(struct mem_map *m, struct mem_node *n);

#endif
