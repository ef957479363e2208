/* What the tests of this folder share: golden vectors as hex, random values,
 * and hostile input. */
#ifndef CLUSTER_T_VEC_H
#define CLUSTER_T_VEC_H

#include "base/buf.h"
#include "regress/lib/cu.h"

/* An arena for the running case; emptied by vec_arena of the next. */
struct arena *vec_arena(void);

char *vec_hex(struct str s);
struct str vec_unhex(const char *hex);
/* The buffer holds exactly these bytes (blanks in `hex` are for readers). */
void vec_is(const struct buf *b, const char *hex, const char *file, int line);
#define GOLDEN(b, hex) vec_is((b), (hex), __FILE__, __LINE__)

/* Random numbers from cu_seed. */
uint64_t vec_u64(void);
uint64_t vec_below(uint64_t n);
/* Of any magnitude, so that small and edge values are common. */
int64_t vec_i64(void);
/* At most max bytes; zeros, 0x01 and 0xff are common. */
struct str vec_bytes(size_t max);

/* Calls fn with every truncation of s, and with many copies in which bits were
 * flipped, bytes replaced, or pieces repeated. fn must survive. */
void vec_hostile(struct str s, void (*fn)(struct str bytes));

#endif
