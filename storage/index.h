/* Local secondary indexes at this member: entries that it derives from its own
 * rows, in the transaction that changes a row, and a record per index and slot
 * that says how far the index is filled in.  Inside engine jobs.
 *
 *   KV_INDEX  index (4) slot (2), columns, primary key
 *                          -> format 1 | length of the columns (varint)
 *
 * What holds at every moment, whatever an index' state: a row that the record
 * covers has its entries, and an entry has its row.  Every writer of rows keeps
 * this, with a catalog that knows at least what that of any job of the group's
 * lane before it knew; so a row that is written after the first slice of a
 * fill-in is in the index, and one that was written before is found by it. */
#ifndef STORAGE_INDEX_H
#define STORAGE_INDEX_H

#include "base/engine.h"
#include "cluster/catalog.h"
#include "expr/index.h"
#include "storage/ids.h"

#define ST_INDEX_FORMAT 1

/* ---- entries ---- */

void st_index_value_put(struct buf *b, size_t columns);
/* How long the columns of an entry are, which begin behind the prefix; false
 * when it is malformed. */
bool st_index_value_get(struct str key, struct str value, size_t *columns);

/* ---- how far ---- */

enum st_index_state {        /* on disk */
	ST_INDEX_NONE = 0,   /* no record: nothing was filled in */
	ST_INDEX_CLEAR = 1,  /* entries are being removed, up to `upto` so far:
			      * columns and primary key */
	ST_INDEX_FILL = 2,   /* rows up to the primary key `upto` are in it */
	ST_INDEX_WHOLE = 3,  /* all are */
	ST_INDEX_FAILED = 4, /* a row has no key in it: `text` says why */
};

/* Format 1: format, state, upto (text), text (text). */
struct st_index_record {
	enum st_index_state state;
	struct str upto;
	struct str text;
};
void st_index_record_put(struct buf *b, const struct st_index_record *r);
/* Views into the bytes. */
bool st_index_record_get(struct str bytes, struct st_index_record *r);

/* In a job: the record, in `a`; a malformed one is none. */
void st_index_read(struct kv *kv, struct arena *a, uint32_t index,
    uint16_t slot, struct st_index_record *r);
void st_index_write(struct kv *kv, struct arena *a, uint32_t index,
    uint16_t slot, const struct st_index_record *r);

/* ---- keeping ---- */

struct st_index {
	const struct cl_index *def;
	struct ex_index *keys; /* NULL: no row can have one, */
	struct err *broken;    /* because of this */
};

/* The indexes of one table that are kept, in one slot. */
struct st_indexes {
	struct arena *arena; /* a job's */
	struct arena *row;   /* of one row: emptied for each */
	uint16_t slot;
	uint32_t n;
	struct st_index *list;
};

/* Those that the catalog knows, but for failed ones. n 0, at no cost, for a
 * table without. */
void st_indexes_open(struct st_indexes *x, struct arena *a,
    const struct cl_catalog *c, uint32_t table, uint16_t slot);
/* A row changes: `was` and `is` are its values, empty when there is none (a
 * tombstone is none). Keys as in KV_ROWS, of which `was` may be a view: nothing
 * here touches that file. A row that has no key in an index makes the index
 * failed here. */
void st_indexes_change(struct st_indexes *x, struct kv *kv, struct str key,
    struct str was, struct str is);
/* What is kept of such an error: its SQLSTATE, a blank, its message. */
struct str st_index_failure(struct arena *a, const struct err *e);
/* Puts the entry of a row that is there; the error when it has no key. */
struct err *st_index_add(struct st_indexes *x, const struct st_index *i,
    struct kv *kv, struct str key, struct str value);

/* Are the entries of an index, if it is whole, those of the rows? Reads all of
 * both. */
bool st_index_right(struct kv *kv, struct arena *a, const struct cl_catalog *c,
    const struct cl_index *def, uint16_t slot);
/* All entries of an index in a slot, and its record: removed. */
void st_index_forget(
    struct kv *kv, struct arena *a, uint32_t index, uint16_t slot);

#endif
