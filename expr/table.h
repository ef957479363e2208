/* Rows of a table as values: the one place that knows which column lives in the
 * key, which in the row value, and how.  Shared by gateways (writing, reading)
 * and nodes (filters). */
#ifndef EXPR_TABLE_H
#define EXPR_TABLE_H

#include "cluster/catalog.h"
#include "expr/type.h"

/* Primary-key bytes (no table prefix) of `pk` values, one per key column in key
 * order, already of the column types (declared) or of any type (open). 23502
 * on NULL; 54000 above CL_KEY_MAX. */
struct err *ex_table_key(struct arena *a, const struct cl_table *t,
    const struct val *pk, struct buf *out);
/* Bytes of the first n key columns only: bounds of a prefix range. */
void ex_table_key_prefix(struct buf *out, const struct cl_table *t,
    const struct val *pk, uint32_t n);
/* The part of a primary key that decides its slot (distribute_by prefix, or
 * all of it; the random block of a hidden key). */
struct str ex_table_placement_key(const struct cl_table *t, struct str pk);
uint16_t ex_table_slot(const struct cl_table *t, uint32_t slots, struct str pk);
/* The whole row key: prefix and pk. */
void ex_table_row_key(
    struct buf *out, const struct cl_table *t, uint16_t slot, struct str pk);

/* Row value from values by position in t->columns; NULLs and exact key columns
 * are left out. 54000 naming column and limit above row_max bytes. */
struct err *ex_table_row(struct arena *a, const struct cl_table *t,
    const struct val *vals, size_t row_max, struct buf *out);

/* The values of `ids` (column ids) out of a row: vals[i] for ids[i]; missing
 * ones NULL. Every value has its column's type: a CL_COL_MIXED column is text,
 * and a value stored with another type than the column's (the catalog is
 * behind, or the type was altered) is converted, 40001 when that is impossible.
 * XX001 on malformed bytes. The values point into key, value or `a`. */
struct err *ex_table_read(struct arena *a, const struct cl_table *t,
    struct str pk, struct str value, const uint32_t *ids, uint32_t n,
    struct val *vals);
/* The same with values as they were stored, of whatever type. */
struct err *ex_table_read_stored(struct arena *a, const struct cl_table *t,
    struct str pk, struct str value, const uint32_t *ids, uint32_t n,
    struct val *vals);

#endif
