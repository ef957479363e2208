/* Pieces of the key encoding shared by key.c and key_num.c. */
#ifndef CLUSTER_KEY_INT_H
#define CLUSTER_KEY_INT_H

#include "base/err.h"
#include "cluster/key.h"

/* The marker of a value. */
void cl_key_mark(struct buf *b, enum cl_tag t, struct cl_key_order o);
/* Bytes of a body, complemented when desc. */
void cl_key_body(struct buf *b, bool desc, const uint8_t *p, size_t n);
uint8_t cl_key_body_u8(struct cur *c, bool desc);
/* An integer without marker: 1 to 9 bytes, in the order of the values. */
void cl_key_int_body(struct buf *b, bool desc, int64_t v);
bool cl_key_read_int_body(struct cur *c, bool desc, int64_t *v);
/* Spoils the cursor; false, for returning. */
bool cl_key_bad(struct cur *c);

#endif
