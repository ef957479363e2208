/* Order-preserving key encoding: memcmp order of the bytes is SQL order of the
 * values.  Format 1; golden vectors in t/key_test.c: once released it never
 * changes meaning.
 *
 * A column is a marker byte and a body.  The marker orders NULL against values
 * and carries, in open tables, the type tag; DESC complements every byte of the
 * body (and keeps the marker's meaning for NULLS FIRST/LAST).
 *
 *   row key    table id (4, big-endian) slot (2) primary key columns
 *   index key  index id (4) slot (2) index columns, primary key columns
 *
 * Declared tables: equal SQL values have equal keys: all integer widths share
 * one encoding, numeric is without its scale, -0 = 0, char(n) without trailing
 * blanks (the caller strips them). */
#ifndef CLUSTER_KEY_H
#define CLUSTER_KEY_H

#include "base/buf.h"

/* How one column is ordered. */
struct cl_key_order {
	bool desc;
	bool nulls_first;
};
/* PostgreSQL's defaults: ASC NULLS LAST, DESC NULLS FIRST. */
#define CL_KEY_ASC  ((struct cl_key_order){false, false})
#define CL_KEY_DESC ((struct cl_key_order){true, true})

/* Type tags of open tables' key columns, also used in rows (row.h). Numbers
 * never change. */
enum cl_tag {
	CL_TAG_NONE = 0, /* declared tables: the column's type is known */
	CL_TAG_BOOL = 1,
	CL_TAG_INT = 2, /* any integer width */
	CL_TAG_REAL = 3,
	CL_TAG_DOUBLE = 4,
	CL_TAG_NUMERIC = 5,
	CL_TAG_TEXT = 6, /* text, varchar, name */
	CL_TAG_BPCHAR = 7,
	CL_TAG_BYTEA = 8,
	CL_TAG_UUID = 9,
	CL_TAG_DATE = 10,
	CL_TAG_TIME = 11,
	CL_TAG_TIMESTAMP = 12,
	CL_TAG_TIMESTAMPTZ = 13,
	CL_TAG_INTERVAL = 14,
	CL_TAG_JSON = 15,
	CL_TAG_JSONB = 16,
	CL_TAG_TIMETZ = 17,
	CL_TAG_MAX = 31
};

/* Each appends one column. */
void cl_key_null(struct buf *b, struct cl_key_order o);
void cl_key_bool(struct buf *b, enum cl_tag t, struct cl_key_order o, bool v);
void cl_key_int(struct buf *b, enum cl_tag t, struct cl_key_order o, int64_t v);
/* NaN sorts above all, as PostgreSQL has it; -0 is 0. */
void cl_key_double(
    struct buf *b, enum cl_tag t, struct cl_key_order o, double v);
/* Any bytes of any length; a prefix sorts first. */
void cl_key_bytes(
    struct buf *b, enum cl_tag t, struct cl_key_order o, struct str v);
/* 128-bit two's complement (interval's comparison value). */
void cl_key_int128(struct buf *b, enum cl_tag t, struct cl_key_order o,
    int64_t hi, uint64_t lo);

/* numeric: value = sign * 0.d1d2d3... * 10^exp, digits '0'..'9' without
 * leading or trailing zeros. */
enum cl_num_class { CL_NUM_NEG_INF, CL_NUM_FINITE, CL_NUM_POS_INF, CL_NUM_NAN };
struct cl_num {
	enum cl_num_class cls;
	int sign; /* -1, 0, 1 */
	int32_t exp;
	struct str digits;
};
void cl_key_num(struct buf *b, enum cl_tag t, struct cl_key_order o,
    const struct cl_num *v);

/* Reading back, column by column; the caller knows order and kind. All false
 * on malformed bytes. *null set, value untouched for NULL. */
struct cl_key_head {
	bool null;
	enum cl_tag tag;
};
bool cl_key_read_head(
    struct cur *c, struct cl_key_order o, struct cl_key_head *h);
bool cl_key_read_bool(struct cur *c, struct cl_key_order o, bool *v);
bool cl_key_read_int(struct cur *c, struct cl_key_order o, int64_t *v);
bool cl_key_read_double(struct cur *c, struct cl_key_order o, double *v);
bool cl_key_read_bytes(
    struct cur *c, struct cl_key_order o, struct arena *a, struct str *v);
bool cl_key_read_int128(
    struct cur *c, struct cl_key_order o, int64_t *hi, uint64_t *lo);
bool cl_key_read_num(
    struct cur *c, struct cl_key_order o, struct arena *a, struct cl_num *v);

/* Row and index key prefix. */
#define CL_KEY_PREFIX 6
void cl_key_prefix(struct buf *b, uint32_t table, uint16_t slot);
bool cl_key_split(
    struct str key, uint32_t *table, uint16_t *slot, struct str *rest);
/* The smallest key above every key that starts with `prefix`; empty when there
 * is none (all 0xff). */
struct str cl_key_after_prefix(struct arena *a, struct str prefix);

#endif
