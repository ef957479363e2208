/* Changing rows so that what is kept about them stays right: counters and
 * digests per table and slot ('C'), the index of tombstones ('T'), and local
 * indexes (index.h).  All within one engine transaction; used by whoever writes
 * rows (apply.c, resync.c), on an engine thread. */
#ifndef STORAGE_BOOKS_H
#define STORAGE_BOOKS_H

#include "base/engine.h"
#include "storage/index.h"

/* Of a table in a slot. Equal content has equal digests, in whatever order it
 * came to be. Format 2, without a format byte. */
struct st_count {
	int64_t rows; /* live ones */
	int64_t bytes;
	uint64_t digest; /* sum over all rows, tombstones included */
};
bool st_count_get(struct str bytes, struct st_count *c);
void st_count_put(struct buf *b, const struct st_count *c);

/* What one row adds to the digest. */
uint64_t st_row_digest(struct str key, uint8_t flags, cl_stamp stamp);

struct st_delta {
	uint32_t table;
	struct st_count n;
	struct st_indexes indexes;
};

struct st_books {
	struct kv *kv;
	struct arena *arena;
	const struct cl_catalog *catalog;
	struct st_gid gid;
	struct st_delta *deltas;
	uint32_t n, cap;
};

/* The catalog says which indexes there are: the node's newest when the job was
 * handed in. */
void st_books_open(struct st_books *b, struct kv *kv, struct arena *a,
    const struct cl_catalog *c, struct st_gid gid);
/* Writes a row, live or tombstone, whose value has its stamp. */
void st_books_put(struct st_books *b, struct str key, struct str value);
void st_books_delete(struct st_books *b, struct str key, cl_stamp stamp);
/* Removes the row without a trace. The key is not a view into the engine. */
void st_books_drop(struct st_books *b, struct str key);
/* Writes the counters. */
void st_books_close(struct st_books *b);

#endif
