/* A group at this member: one Raft log with the rows of one slot of one
 * placement (CONSENSUS 1).
 *
 *              load             asked to lead         a majority's votes
 *   CLOSED ---> LOADING ---> FOLLOWING <---> CAMPAIGNING ---> ELECTED
 *      ^           |            ^  ^                             |
 *      +-----------+            |  +-----------------------------+
 *        damaged                |     a higher ballot            | own first
 *                               +----------- LEADING <-----------+ entry
 * applied
 *
 * A group serves exact reads and proposals only while LEADING.  Its entries
 * pass append, flush, commit and apply one after the other; with one member the
 * own flush is a majority.  A group is loaded by the first message for it and
 * costs nothing before; an idle one costs no message.
 *
 * Here: the log in memory and the way of an entry.  load.c reads a group from
 * disk, elect.c changes who leads, replicate.c sends entries, follow.c takes
 * them, link.c knows the other members. */
#ifndef STORAGE_GROUP_H
#define STORAGE_GROUP_H

#include "storage/entry.h"
#include "storage/locks.h"
#include "storage/log.h"
#include "storage/node_int.h"
#include "storage/raft.h"
#include "storage/results.h"

#define ST_GROUP_MAGIC   0x53544752u
#define ST_PROPOSALS_MAX 8192u /* queued or under way in one group */

enum st_group_state {
	ST_GROUP_CLOSED,
	ST_GROUP_LOADING,
	ST_GROUP_FOLLOWING,
	ST_GROUP_CAMPAIGNING,
	ST_GROUP_ELECTED,
	ST_GROUP_LEADING
};

enum st_fate {
	ST_UNDER_WAY,
	ST_APPLIED,
	ST_LOST /* this member lost the group before it was applied: it may
		 * still happen */
};

/* An entry that is in the log and not applied yet. Counted references: the
 * pipeline's, the log's while it is written, its proposer's. */
struct st_pending {
	struct st_log_item item;
	struct arena *arena; /* its own */
	uint32_t refs;
	struct st_group *group;
	struct st_entry entry;
	struct str bytes;
	enum st_fate fate;
	struct cond waiter;
};
void st_pending_unref(struct st_pending *p);

struct st_schema {
	uint32_t table;
	uint32_t version;
};

/* What the leader knows of another member (Raft's nextIndex and matchIndex). */
struct st_progress {
	struct st_group *group;
	struct st_link *link;
	uint32_t member;
	bool learner;     /* of the catalog group: gets entries, has no vote */
	bool probing;     /* one frame at a time, until its log matches */
	bool probe_out;   /* that frame is under way */
	bool resyncing;   /* stores entries, but its copy is incomplete */
	uint64_t next;    /* to send */
	uint64_t match;   /* flushed there */
	uint64_t applied; /* there, as last heard */
	uint64_t commit;  /* last told */
	uint64_t behind;  /* a committed index that it has not applied, ... */
	uint64_t behind_us; /* ... committed then; 0: it lacks none */
	uint64_t acked_us; /* when it was known to have acknowledged the ballot;
			    * 0: not yet */
	uint64_t confirm;  /* latest round that it confirmed */
	uint64_t confirm_sent; /* latest round that was sent */
	struct list dirty;     /* link.dirty: there is something to send */
	struct list news;      /* link.news: the commit index moved */
};

/* A copy that is made equal to the group's again (resync.h). */
struct st_resync {
	struct list link; /* node.resyncs */
	bool damaged;     /* it differs from the others: answers no read, does
			   * not lead; its log is right */
	bool begun;       /* the pass is on disk */
	bool again;       /* entries between copy and log are gone: once more */
	bool deaf;        /* its log is about to be replaced */
	bool running;
	struct st_place place; /* begun: nothing above it was acknowledged */
	uint64_t behind;       /* the leader has no entries up to here */
	uint32_t asked;   /* how many members, to ask another one each time */
	uint32_t hint;    /* who leads, as another member said; 0: nobody did */
	uint32_t refused; /* who did not give, last */
	uint64_t rows, bytes; /* moved to or from this copy, ever */
};

struct st_group {
	uint32_t magic;
	enum st_group_state state;
	struct st_node *node;
	struct arena *arena; /* of the loaded group; NULL while closed */
	struct st_gid gid;
	struct cond changed; /* state, leader, or what confirms a leader */

	/* Members of this group, in order of preference to lead. */
	uint32_t members[CL_COPIES_MAX];
	uint32_t n_members;
	bool born;         /* it has state of its own here, be it empty */
	bool incomplete;   /* a resync is under way: rows are not the group's */
	bool released;     /* who owns the promise says it leads no more */
	uint64_t again_us; /* no campaign before, whoever asks */
	struct st_heard {
		uint32_t member;
		struct st_ballot promise;
	} heard[CL_COPIES_MAX]; /* what others answered to candidates here */
	struct st_resync resync;

	struct st_ballot promise; /* voted for or acknowledged; goes to disk
				   * before an answer that relies on it */
	uint64_t promises;        /* how often it changed */
	uint64_t promised;        /* the change that is on disk */
	struct st_ballot ballot;  /* in which this member leads */
	uint64_t rounds_seen;     /* no lower round can win */
	uint32_t leader;          /* of the promise's ballot; 0: not known */

	uint64_t term_start; /* index of this term's first entry */
	uint64_t last;       /* index of the newest entry */
	struct st_ballot last_ballot;
	cl_stamp last_stamp;
	uint64_t flushed;
	uint64_t
	    matched; /* follower: the leader's log up to here is this one */
	uint64_t committed;
	uint64_t applied;
	struct st_ballot applied_ballot;
	uint64_t durable;   /* applied and flushed */
	uint64_t trimmed;   /* entries up to it are gone */
	uint64_t keep;      /* every member has the entries up to here */
	uint64_t log_bytes; /* of entries since trimmed, about */
	cl_stamp applied_stamp;
	cl_stamp floor;
	uint64_t catalog_version; /* last entry that changed the catalog */
	/* Every member has applied past entries of this stamp; and the next
	 * pair that will say so. */
	cl_stamp all_applied;
	uint64_t sample_index;
	cl_stamp sample_stamp;

	/* Entries applied + 1 .. last, a ring by index. */
	struct st_pending **ring;
	uint32_t ring_size; /* a power of two */
	bool applying;
	uint32_t holds;   /* nothing is applied meanwhile */
	uint64_t stop_at; /* nothing above it is applied; 0: no bound */
	struct arena *state_arena; /* of results, schemas and ring, when they
				    * came by a resync */
	struct st_locks locks;
	struct st_results *results;
	struct st_txns *txns; /* NULL: no transaction over several groups since
			       * it was loaded, nor any trace of one */
	struct cond settled;  /* prepared keys went; a transaction ended here */
	struct list commits;  /* that this leader coordinates: coordinate.c */
	struct st_schema *schemas; /* as of the applied entries */
	uint32_t n_schemas;
	uint32_t cap_schemas;
	uint32_t n_schemas_ahead; /* in entries not applied yet */
	uint32_t n_proposals;

	struct st_progress peers[CL_COPIES_MAX];
	uint32_t n_peers;  /* of the others, learners included */
	uint64_t confirm;  /* rounds asked for */
	uint64_t want_all; /* every member is to apply up to here */
	uint64_t
	    quiet_us; /* leader with work: since when no majority answers */

	struct list applied_link; /* log.applied */
	struct list trim_link;    /* log.trims */
	uint64_t durable_next;    /* what the flush under way makes durable */
};

uint64_t st_group_lane(struct st_gid gid);
struct st_group *st_group_find(
    struct st_node *n, uint32_t placement, uint16_t slot);
struct st_group *st_group_make(struct st_node *n, struct st_gid gid);
void st_group_move(struct st_group *g, enum st_group_state to);
/* In memory: not CLOSED, not LOADING. */
bool st_group_loaded(const struct st_group *g);
/* This member leads it, be it not serving yet. */
bool st_group_is_leader(const struct st_group *g);
/* After a wait: still leading in that ballot? */
bool st_group_leads(const struct st_group *g, const struct st_ballot *b);
/* Rank in the order of members; n_members when it is none. */
uint32_t st_group_rank(const struct st_group *g, uint32_t member);
struct st_place st_group_log(const struct st_group *g);

/* Gives the entry its index and ballot, and starts it on its way; the caller
 * has a reference and waits with st_pending_wait, or drops it. The stamp is
 * set, above g->last_stamp. Does not wait. */
struct st_pending *st_group_append(
    struct st_group *g, const struct st_entry *e);
/* A follower's: an entry as its leader sent it, behind the newest here. */
struct err *st_group_take(
    struct st_group *g, struct arena *a, struct str bytes);
/* The same for one that was read from this member's own disk. */
struct err *st_group_restore(
    struct st_group *g, struct arena *a, struct str bytes);
/* Entries from `from` on are not the group's: forgets them. None of them is
 * committed, and all are written. */
void st_group_cut(struct st_group *g, uint64_t from);
/* In a fiber, deaf to cancel: its fate. Drops the reference. */
enum st_fate st_pending_wait(struct st_pending *p);
/* One that is in the log and not applied. */
struct st_pending *st_group_pending(const struct st_group *g, uint64_t index);

/* The log pipeline says: entries up to `index` are flushed here. */
void st_group_flushed(struct st_group *g, uint64_t index);
/* The commit index may have moved: applies what it allows. */
void st_group_committed(struct st_group *g);
/* The node knows the newest catalog since its start: what waited for that is
 * applied. */
void st_groups_committed(struct st_node *n);
/* In a fiber: lets what is being applied end, and nothing begin until
 * st_group_release. */
void st_group_hold(struct st_group *g);
void st_group_release(struct st_group *g);
/* Held, and with all of its log written: everything in memory that is not the
 * promise becomes what a record of the group says; entries are gone. */
struct st_group_record;
void st_group_reset(struct st_group *g, const struct st_group_record *r);
/* May the copy be read, or lead? */
bool st_group_complete(const struct st_group *g);
/* A leader, or who was about to be one, is none any more. Its proposers are
 * told that they do not know. */
void st_group_step_down(struct st_group *g);

/* The schema version that the group's newest entry knows of; 0 = none. */
uint32_t st_group_schema(const struct st_group *g, uint32_t table);
/* The same of the entries that are applied. */
uint32_t st_group_applied_schema(const struct st_group *g, uint32_t table);
void st_group_set_schema(struct st_group *g, uint32_t table, uint32_t version);

/* Its transactions, made if it had none. */
struct st_txns *st_group_txns(struct st_group *g);

/* Every group is idle: nothing appended is unapplied. */
bool st_groups_idle(const struct st_node *n);
void st_groups_close(struct st_node *n);

#endif
