/* jsonb: canonical text (keys sorted by length, then bytes; the last of equal
 * keys wins; numbers as numeric writes them; ": " and ", "), its order and its
 * key. */
#ifndef EXPR_JSONB_H
#define EXPR_JSONB_H

#include "cluster/key.h"
#include "expr/val.h"

struct err *jsonb_parse(struct arena *a, struct str text, struct str *out);
/* PostgreSQL's order, over canonical texts. */
int jsonb_cmp(struct str x, struct str y);
/* Bytes whose memcmp order is jsonb_cmp's; 1 and 1.0 have the same. */
void jsonb_to_key(struct buf *b, struct str x);
bool jsonb_of_key(struct arena *a, struct str key, struct str *out);

#endif
