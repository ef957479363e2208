/* Log entries and their encoding.  Format 1 (golden vectors in t/entry_test.c;
 * once released it never changes meaning):
 *
 *   format 1 | kind 1 | round 8 | member 4 | incarnation 4 | index 8 | stamp 8
 *   proposal: session 16 | sequence | answered | outcome 1 | count |
 *             { kind 1 | key | value }
 *   schema:   table 4 | version 4
 *   forget:   floor 8 | count | { key | stamp 8 }
 *
 * little-endian; counts and sequences are varints, keys and values have a
 * varint length.  A row's value carries the entry's stamp already. */
#ifndef STORAGE_ENTRY_H
#define STORAGE_ENTRY_H

#include "cluster/msg.h"
#include "storage/ids.h"

#define ST_ENTRY_FORMAT 1

enum st_entry_kind {           /* on disk */
	ST_ENTRY_EMPTY = 1,    /* a leader's first; or one that only brings a
				* stamp, for results to be forgotten by */
	ST_ENTRY_PROPOSAL = 2, /* a gateway's operation with its outcome */
	ST_ENTRY_SCHEMA = 3,   /* table at this schema version from here on */
	ST_ENTRY_FORGET = 4    /* drops tombstones, raises the floor */
};

struct st_op {
	uint8_t session[16];
	uint64_t sequence;
	uint64_t answered; /* sequences below need no answer */
	uint8_t outcome;   /* CL_APPLIED or CL_FALSE */
};

struct st_forget {
	struct str key;
	cl_stamp stamp;
};

struct st_entry {
	enum st_entry_kind kind;
	struct st_ballot ballot;
	uint64_t index;
	cl_stamp stamp;
	struct st_op op; /* proposal */
	const struct cl_write *writes;
	uint32_t n_writes;
	uint32_t table; /* schema */
	uint32_t version;
	cl_stamp floor; /* forget */
	const struct st_forget *forget;
	uint32_t n_forget;
};

/* Puts the entry's stamp into every row value it carries. */
void st_entry_encode(struct buf *b, const struct st_entry *e);
/* Lists live in `a`, byte fields are views into `bytes`. XX001 on malformed
 * bytes, 0A000 on a format or kind of the future. */
struct err *st_entry_decode(
    struct arena *a, struct str bytes, struct st_entry *e);

#endif
