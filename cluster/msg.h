/* Frames and messages between gateways and nodes.  Format 2:
 *
 *   length 4 | kind 2 | format 1 | flags 1 | request 8 | catalog 8 | slots 8 |
 *   stamp 8 | body | checksum 8 (XXH3 of all before it)
 *
 * little-endian.  `catalog` and `slots` are the sender's catalog and slot-map
 * versions, `stamp` its clock.  Messages are described in msg.def. */
#ifndef CLUSTER_MSG_H
#define CLUSTER_MSG_H

#include "base/buf.h"
#include "base/err.h"
#include "base/net.h"
#include "cluster/stamp.h"
#include "cluster/token.h"

#define CL_FORMAT        2
#define CL_FRAME_HEADER  40
#define CL_FRAME_TRAILER 8
#define CL_FEATURE_LEVEL 1

#define CL_KEY_MAX       8192u
#define CL_VALUE_MAX     (3u << 20)
#define CL_ENTRY_MAX     (NET_FRAME_MAX - (64u << 10)) /* of a group's log */
#define CL_TEXT_MAX      8192u
#define CL_NAME_MAX      255u
#define CL_EXPR_MAX      (1u << 20)
#define CL_OBJECTS_MAX   4096u
#define CL_CONDS_MAX     65536u
#define CL_PARTS_MAX     4096u /* groups of one transaction */
#define CL_WRITES_MAX    65536u
#define CL_POINTS_MAX    65536u
#define CL_PROJECT_MAX   1664u
#define CL_PAGE_ROWS_MAX 65536u

#define CL_FLAG_REPLY 1u
#define CL_FLAGS      1u /* all of them; others are refused */

enum cl_peer_role {
	CL_PEER_MEMBER = 1,
	CL_PEER_GATEWAY = 2,
	CL_PEER_JOINER = 3
};

enum cl_cond_kind {
	CL_COND_ABSENT = 1,
	CL_COND_PRESENT = 2,
	CL_COND_STAMP = 3, /* the key's live row has this stamp */
	CL_COND_SCHEMA = 4 /* table at this schema version */
};

enum cl_write_kind { CL_WRITE_PUT = 1, CL_WRITE_DELETE = 2 };

enum cl_outcome {
	CL_APPLIED = 1,
	CL_FALSE = 2,   /* a condition is false; nothing was done */
	CL_REFUSED = 3, /* this send was not proposed; says nothing of others */
	CL_UNKNOWN = 4  /* proposed, but the member lost the group meanwhile */
};

/* What became of a transaction (CONSENSUS 5). */
enum cl_decision {
	CL_UNDECIDED = 0, /* not yet: ask again */
	CL_COMMIT = 1,
	CL_ABORT = 2
};

/* Which copies a read asks (CONSENSUS 4). */
enum cl_consistency {
	CL_QUORUM = 0, /* the leader, exactly */
	CL_ONE = 1,    /* any member, may be behind */
	CL_ALL = 2     /* as QUORUM, and every member has applied it */
};

#define CL_BEAT_LEAVES UINT64_MAX /* beat.deaf_us */

enum cl_append_result {
	CL_APPEND_OK = 1,
	CL_APPEND_GAP = 2,     /* the entry before is not here: go back */
	CL_APPEND_BALLOT = 3,  /* a higher ballot is known here */
	CL_APPEND_REFUSED = 4, /* no such group here (yet), or not now */
	CL_APPEND_RESYNC = 5   /* stored, but this copy is incomplete */
};

enum cl_resync_what {
	CL_RESYNC_STATE = 1, /* results, schemas, ...: all that is not rows */
	CL_RESYNC_ROWS = 2
};

enum cl_refusal {
	CL_REFUSE_NONE = 0,
	CL_REFUSE_EPOCH = 1,   /* another epoch, or no such group here */
	CL_REFUSE_LEADER = 2,  /* not the leader, or not ready to serve */
	CL_REFUSE_CATALOG = 3, /* the sender's catalog is too old */
	CL_REFUSE_DEADLINE = 4,
	CL_REFUSE_CLOCK = 5,
	CL_REFUSE_FULL = 6, /* disk space */
	CL_REFUSE_BUSY = 7, /* a queue is at its limit */
	CL_REFUSE_STOPPING = 8,
	CL_REFUSE_ANSWERED = 9, /* the session said it needs no answer */
	CL_REFUSE_DROPPED = 10, /* the table is gone */
	CL_REFUSE_INDEX = 11    /* the index is not filled in here yet */
};

enum cl_index_progress {
	CL_INDEX_SLOT_ELSEWHERE = 0, /* not led here, or not serving */
	CL_INDEX_SLOT_BUILDING = 1,
	CL_INDEX_SLOT_BUILT = 2,
	CL_INDEX_SLOT_FAILED = 3
};

#define CL_SCAN_ORDERED 1u /* by primary key over all slots asked for */
#define CL_SCAN_REVERSE 2u
#define CL_SCAN_COUNT   4u /* only count rows that pass the filter */
#define CL_SCAN_SOME    8u /* `columns` lists what is wanted; without it all */

struct cl_frame {
	uint16_t kind;
	uint8_t flags;
	uint64_t request;
	uint64_t catalog;
	uint64_t slots;
	cl_stamp stamp;
	struct str body;
};

/* Checks length, format, flags, checksum (08P01). The body is a view into the
 * frame. */
struct err *cl_frame_read(
    struct arena *a, struct str bytes, struct cl_frame *f);
/* Two steps around the body: begin writes the header into an empty buffer, end
 * patches the length and appends the checksum. The whole frame is asserted to
 * be within NET_FRAME_MAX: see CL_BODY_MAX and cl_msg_size. */
#define CL_BODY_MAX (NET_FRAME_MAX - CL_FRAME_HEADER - CL_FRAME_TRAILER)
void cl_frame_begin(struct buf *b, const struct cl_frame *f);
void cl_frame_end(struct buf *b);

/* ---- structs from the table ---- */
#define U8(f)         uint8_t f;
#define U16(f)        uint16_t f;
#define U32(f)        uint32_t f;
#define U64(f)        uint64_t f;
#define BYTES(f, max) struct str f;
#define LIST(f, rec, max)                                                      \
	struct cl_##rec *f;                                                    \
	uint32_t n_##f;
#define RECORD(name, fields)                                                   \
	struct cl_##name {                                                     \
		fields                                                         \
	};
#define MSG(num, NAME, name, fields)                                           \
	struct cl_##name {                                                     \
		fields                                                         \
	};
#include "cluster/msg.def"
#undef RECORD
#undef MSG
#undef U8
#undef U16
#undef U32
#undef U64
#undef BYTES
#undef LIST

enum cl_msg_kind {
#define RECORD(name, fields)
#define MSG(num, NAME, name, fields) CL_MSG_##NAME = num,
#include "cluster/msg.def"
#undef RECORD
#undef MSG
};

/* Encodes the struct of that kind (struct cl_propose for CL_MSG_PROPOSE...) as
 * a body. Asserts the limits: the caller keeps within them. */
void cl_msg_encode(struct buf *b, enum cl_msg_kind kind, const void *msg);
/* Decodes into a new struct in `a`; byte fields are views into `body`. Unknown
 * kinds, excess and trailing bytes are errors (08P01). */
struct err *cl_msg_decode(
    struct arena *a, uint16_t kind, struct str body, void **msg);
const char *cl_msg_name(uint16_t kind); /* "PROPOSE"; NULL if unknown */
/* One readable line, for traces. */
void cl_msg_print(struct buf *b, uint16_t kind, const void *msg);
/* Body size of an encoded message, for splitting before a frame overflows. */
size_t cl_msg_size(enum cl_msg_kind kind, const void *msg);

#endif
