/* What a group knows of transactions over several groups (CONSENSUS 5): parts
 * that are prepared here, decisions that this group made, and transactions that
 * were resolved here, so that a late Prepare is told from a new one.
 *
 * State of the group: changed only by applying entries, the same on every
 * member; persisted by the caller in the engine transaction of the apply.  In
 * between what is appended and not applied is known at the leader, which looks
 * here right before each append.
 *
 *   part       none --Prepare--> prepared --Resolve--> none
 *   decision   none --Decide--> made --Settled--> settled --by stamp--> none
 *   resolved   none --Resolve--> known --stamp above deadline--> none
 *
 * At the leader prepared parts hold their keys in the group's locks, from the
 * append until Resolve is applied.  No fiber, no clock. */
#ifndef STORAGE_TXNS_H
#define STORAGE_TXNS_H

#include "base/list.h"
#include "storage/entry.h"
#include "storage/locks.h"

struct st_txns;

/* A part of a transaction that is prepared here. */
struct st_part {
	struct list link; /* of all, in the order of their entries */
	struct list mate; /* of its transaction */
	struct arena *arena;
	struct st_entry e; /* the Prepare */
	struct str bytes;  /* it, as it is kept */
	uint64_t gone;     /* the entry by which it is resolved; 0: none */
	uint64_t since_us; /* by the caller: when somebody waited first */
	struct st_lock_req locks;
};

/* A transaction that this group decided. */
struct st_decision {
	struct list link; /* of all, by stamp */
	struct arena *arena;
	struct st_txn id;
	uint64_t index; /* of the entry */
	cl_stamp stamp;
	uint8_t outcome;
	cl_stamp deadline;
	bool settled;
	struct st_gid *participants;
	uint32_t n_participants;
	/* The leader's memory. */
	bool *told;    /* who has resolved it, as far as heard */
	bool *telling; /* who is being told */
	uint64_t told_us;
};

/* One transaction, all that is known of it. */
struct st_tx {
	struct st_txn id;
	struct list chain; /* in its bucket */
	struct list parts; /* st_part.mate */
	struct st_decision *decision;
	uint64_t resolved; /* index of the first Resolve; 0: none */
	cl_stamp until;    /* resolved: when to forget that */
	struct list known; /* resolved: of all */
	bool asking;       /* a fiber asks what became of it */
};

struct st_txns *st_txns_new(
    struct arena *parent, struct st_locks *locks, cl_stamp retention);
/* No locks are held. */
void st_txns_free(struct st_txns *t);

struct st_tx *st_txns_find(const struct st_txns *t, const struct st_txn *id);
/* One that is prepared, or will be when its entry is applied. */
struct st_part *st_txns_part(
    const struct st_txns *t, const struct st_txn *id, uint32_t part);
/* All parts (st_part.link), and decisions, oldest first. */
const struct list *st_txns_parts(const struct st_txns *t);
/* A decision after `d` (NULL: the first) that is not settled: committed, and
 * not known to be resolved everywhere. *id is its transaction. */
struct st_decision *st_txns_unsettled(
    const struct st_txns *t, struct st_decision *d, struct st_txn *id);
/* A prepared write in [from, to); NULL: none. */
struct st_part *st_txns_in_range(
    const struct st_txns *t, struct str from, struct str to);

/* A fiber asks what became of it, or does so no more. */
void st_txns_asking(struct st_txns *t, const struct st_txn *id, bool asking);

/* At the leader, right after the append of an entry of a transaction. */
void st_txns_begin(struct st_txns *t, const struct st_entry *e);
/* The part that was just begun takes over the places of `from` in the locks. */
void st_txns_hold(
    struct st_part *p, struct st_locks *l, struct st_lock_req *from);

/* What one entry does, beside what it does to this structure. */
struct st_effect {
	bool counts; /* the operation's result and own writes of a Decide do */
	/* Rows to write, with the entry's stamp: of a commit. */
	struct cl_write *writes;
	uint32_t n_writes;
	/* Records to write or delete, by key of KV_META. */
	struct st_meta_op {
		struct str key, value;
		bool del;
	} * ops;
	uint32_t n_ops, cap_ops;
};
/* At apply, before the engine transaction, of every entry in log order; memory
 * of the effect in `a`. `gid` is the group. */
void st_txns_take(struct st_txns *t, struct arena *a, struct st_gid gid,
    const struct st_entry *e, struct st_effect *out);
/* After it: entries up to `index` are applied. True when parts went, whose keys
 * are free now. */
bool st_txns_applied(struct st_txns *t, uint64_t index);
/* Is that entry applied? */
bool st_txns_is_applied(const struct st_txns *t, uint64_t index);

/* This member is to lead, and has applied all that it has: prepared parts lock
 * their keys. */
void st_txns_lock(struct st_txns *t);
/* It leads no more: what was only appended is forgotten, nothing is locked. */
void st_txns_abandon(struct st_txns *t);

/* At open: records by their key without the group; the applied index at the
 * end. */
struct err *st_txns_load(
    struct arena *a, struct st_txns *t, struct str key, struct str value);
void st_txns_loaded(struct st_txns *t, uint64_t applied);
/* Is it a key of these records? */
bool st_txns_owns(struct str key);

/* When something can be forgotten, by an entry of this stamp; 0: nothing. */
cl_stamp st_txns_next_forget(const struct st_txns *t);

#endif
