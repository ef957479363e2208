/* Log entries and their encoding.  Format 1 (golden vectors in t/entry_test.c;
 * once released it never changes meaning):
 *
 *   format 1 | kind 1 | round 8 | member 4 | incarnation 4 | index 8 | stamp 8
 *   proposal: session 16 | sequence | answered | outcome 1 | count |
 *             { kind 1 | key | value }
 *   schema:   table 4 | version 4
 *   forget:   floor 8 | count | { key | stamp 8 }
 *   prepare:  txn 22 | part | age 8 | coordinator's ballot 16 | group that
 *             decides 10 | deadline 8 | count | { key to share } | count |
 *             { kind 1 | key | value }
 *   decide:   txn 22 | outcome 1 | deadline 8 | 1, session 16, sequence,
 *             answered, outcome 1; or 0 | count | { group 10 } | count |
 *             { kind 1 | key | value }
 *   resolve:  txn 22 | outcome 1 | deadline 8
 *   settled:  count | { txn 22 }
 *
 * little-endian; counts and sequences are varints, keys and values have a
 * varint length; groups and transactions are as in keys (ids.h).  A row's value
 * carries the entry's stamp already; one that is prepared gets that of the
 * entry by which it is resolved. */
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
	ST_ENTRY_FORGET = 4,   /* drops tombstones, raises the floor */
	/* Of transactions over several groups (CONSENSUS 5). */
	ST_ENTRY_PREPARE = 5, /* a part: holds locks, changes no row */
	ST_ENTRY_DECIDE = 6,  /* the first one of a transaction counts */
	ST_ENTRY_RESOLVE = 7, /* what became of it: writes the rows, or not */
	ST_ENTRY_SETTLED = 8  /* every participant has resolved these */
};

static inline bool
st_entry_of_txn(enum st_entry_kind kind)
{
	return kind >= ST_ENTRY_PREPARE;
}

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

	struct st_txn txn; /* prepare, decide, resolve */
	uint8_t outcome;   /* CL_COMMIT or CL_ABORT */
	cl_stamp deadline; /* of its Prepares */
	uint32_t part;     /* prepare */
	cl_stamp age;
	struct st_ballot coordinator;
	struct st_gid decides;
	const struct str *shared; /* keys of conditions */
	uint32_t n_shared;
	bool with_op; /* decide: `op` is the operation's result */
	const struct st_gid *participants;
	uint32_t n_participants;
	const struct st_txn *txns; /* settled */
	uint32_t n_txns;
};

/* Puts the entry's stamp into every row value it carries. */
void st_entry_encode(struct buf *b, const struct st_entry *e);
/* Lists live in `a`, byte fields are views into `bytes`. XX001 on malformed
 * bytes, 0A000 on a format or kind of the future. */
struct err *st_entry_decode(
    struct arena *a, struct str bytes, struct st_entry *e);

#endif
