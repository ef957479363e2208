/* Names of groups and terms, and the keys of what a node keeps beside rows.
 *
 *   KV_LOG   group (10 bytes) index (8, big-endian)  -> entry (entry.h)
 *   KV_META  one letter, then:
 *     I                          -> identity
 *     B                          -> clock bound
 *     A                          -> addresses of the catalog's members
 *     L                          -> longest lease ever granted (clock.h)
 *     N member                   -> its newest process (life.h)
 *     P group                    -> ballot voted for, or acknowledged
 *     G group                    -> state of the group: applied, stamp, floor
 *     S group session (16)       -> kept results (results.h)
 *     D group transaction (22)   -> its decision (txns.h)
 *     E group transaction        -> it was resolved here: until when to know
 *     V group table (4)          -> schema version
 *     Y group transaction part (4) -> a prepared part: its entry
 *     T group stamp (8) row key  -> nothing: a tombstone to drop one day
 *     R group                    -> the copy is incomplete: how far (pass.h)
 *     C table (4) slot (2)       -> rows, bytes and digest (books.h)
 *     X index (4) slot (2)       -> how far the index is filled in (index.h)
 *   KV_INDEX as in cluster/README.md: local indexes (index.h)
 */
#ifndef STORAGE_IDS_H
#define STORAGE_IDS_H

#include "base/buf.h"
#include "base/world.h"
#include "cluster/stamp.h"

struct st_gid {
	uint32_t placement;
	uint16_t slot;
	uint32_t epoch;
};

/* Raft's term, unique per group: compared as a whole, in this order. */
struct st_ballot {
	uint64_t round;
	uint32_t member;
	uint32_t incarnation;
};

int st_ballot_cmp(const struct st_ballot *a, const struct st_ballot *b);
void st_ballot_put(struct buf *b, const struct st_ballot *v);
struct st_ballot st_ballot_get(struct cur *c);

/* A transaction over several groups: the group that decides, and a stamp that
 * the member which began it issued for it alone, since no node issues one
 * twice (CONSENSUS 5). */
struct st_txn {
	struct st_gid gid;
	cl_stamp stamp;
	uint32_t member;
};

#define ST_TXN_LEN 22
void st_txn_put(struct buf *b, const struct st_txn *t);
struct st_txn st_txn_get(struct cur *c);
bool st_txn_eq(const struct st_txn *a, const struct st_txn *b);

#define ST_GID_LEN 10
void st_gid_put(struct buf *b, struct st_gid g);
bool st_gid_get(struct cur *c, struct st_gid *g);
bool st_gid_eq(struct st_gid a, struct st_gid b);

void st_key_log(struct buf *b, struct st_gid g, uint64_t index);
void st_key_group(struct buf *b, struct st_gid g);
void st_key_promise(struct buf *b, struct st_gid g);
/* Its record. Format 1. */
void st_promise_put(struct buf *b, const struct st_ballot *v);
bool st_promise_get(struct str bytes, struct st_ballot *v);
void st_key_session(struct buf *b, struct st_gid g, const uint8_t *session);
void st_key_schema(struct buf *b, struct st_gid g, uint32_t table);
/* `key` empty: the prefix of all with that stamp. */
void st_key_tombstone(
    struct buf *b, struct st_gid g, cl_stamp s, struct str key);
void st_key_pass(struct buf *b, struct st_gid g);
void st_key_decision(struct buf *b, struct st_gid g, const struct st_txn *t);
void st_key_resolved(struct buf *b, struct st_gid g, const struct st_txn *t);
void st_key_part(
    struct buf *b, struct st_gid g, const struct st_txn *t, uint32_t part);
void st_key_count(struct buf *b, uint32_t table, uint16_t slot);
void st_key_index(struct buf *b, uint32_t index, uint16_t slot);

#endif
