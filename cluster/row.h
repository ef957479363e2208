/* Row values.  Format 1 (golden vectors in t/row_test.c):
 *
 *   format (1) flags (1) stamp (8, little-endian) columns...
 *   column: id (varint, rising) tag (1) length (varint) bytes
 *
 * A column that is NULL, or missing, is not written.  The stamp sits at a fixed
 * place, since the leader fills it in when the entry gets its stamp. */
#ifndef CLUSTER_ROW_H
#define CLUSTER_ROW_H

#include "base/buf.h"
#include "cluster/key.h"
#include "cluster/stamp.h"

#define CL_ROW_FORMAT    1
#define CL_ROW_HEADER    10
#define CL_ROW_TOMBSTONE 1u /* flag: deleted; no columns */

struct cl_row_head {
	uint8_t flags;
	cl_stamp stamp;
};

/* Begins a row with stamp 0; then columns by rising id. */
void cl_row_begin(struct buf *b, uint8_t flags);
void cl_row_col(struct buf *b, uint32_t id, enum cl_tag tag, struct str v);
void cl_row_set_stamp(void *row, cl_stamp s);
/* False: too short, unknown format or flags. */
bool cl_row_head(struct str row, struct cl_row_head *h);

struct cl_row_cur {
	struct cur c;
	uint32_t last_id;
};
struct cl_row_col {
	uint32_t id;
	enum cl_tag tag;
	struct str v;
};
bool cl_row_open(struct str row, struct cl_row_cur *it);
/* False at the end or on malformed bytes: tell with cl_row_ok. */
bool cl_row_next(struct cl_row_cur *it, struct cl_row_col *col);
bool cl_row_ok(const struct cl_row_cur *it);

#endif
