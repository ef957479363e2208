/* Hash map from byte strings to pointers; iteration is in insertion order, so
 * that a simulated run never depends on addresses.  Memory comes from the
 * arena; deleting leaves a hole that a later growth compacts. */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include "base/arena.h"

struct map;

struct map *map_new(struct arena *a);
/* NULL when absent. */
void *map_get(const struct map *m, struct str key);
/* Adds or replaces; the key is copied. value is not NULL. */
void map_put(struct map *m, struct str key, void *value);
/* Returns the value that was there, or NULL. */
void *map_del(struct map *m, struct str key);
size_t map_count(const struct map *m);
/* *at starts at 0; false at the end.  Do not add while iterating. */
bool map_next(const struct map *m, size_t *at, struct str *key, void **value);

/* Keys of fixed structs without padding. */
#define MAP_KEY(ptr) str_of((ptr), sizeof *(ptr))

#endif
