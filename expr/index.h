/* Keys of secondary indexes: the one place that knows what an index has of a
 * row.  Gateways compute a key to refuse a row that has none, nodes to keep the
 * index, and planners the bounds of its ranges.
 *
 * A key here is the columns of the index, then the bytes of the primary key;
 * cl_key_prefix (index id, slot) goes before them. In an open table a column
 * has the value as it was stored, with its tag, as in a primary key. */
#ifndef EXPR_INDEX_H
#define EXPR_INDEX_H

#include "cluster/catalog.h"
#include "expr/expr.h"

/* Of columns and primary key together: with what travels around it, a key stays
 * within CL_KEY_MAX. */
#define EX_INDEX_KEY_MAX 8128u

/* An index made ready to compute keys; read-only, for any number of rows. */
struct ex_index;

/* Decodes its trees and finds its columns. Lives in `a`; table and index must
 * outlive it. XX001 when they do not belong together, or the trees are
 * malformed; 0A000 names a function that this build does not know. */
struct err *ex_index_open(struct arena *a, const struct cl_table *t,
    const struct cl_index *index, struct ex_index **out);

/* The key of a row given as values by position in table->columns, of the
 * columns' types (open tables: of any) and its primary key; appended to out.
 * *in false, and nothing appended: the index leaves the row out. Fails as an
 * expression or the predicate does, and with 54000 above EX_INDEX_KEY_MAX. */
struct err *ex_index_key(struct arena *a, const struct ex_index *x,
    const struct val *vals, struct str pk, struct buf *out, bool *in);
/* The same of a stored row. */
struct err *ex_index_row_key(struct arena *a, const struct ex_index *x,
    struct str pk, struct str row, struct buf *out, bool *in);

/* Appends the i-th column alone: bounds of a range are made of these. The value
 * has the column's type (open tables: any). */
void ex_index_put(struct buf *out, const struct cl_table *t,
    const struct cl_index *index, uint32_t i, struct val v);
/* The primary key at the end of a key without its prefix; a view into it.
 * Values on the way are read into `scratch`. False on malformed bytes. */
bool ex_index_pk(struct arena *scratch, const struct cl_table *t,
    const struct cl_index *index, struct str key, struct str *pk);

#endif
