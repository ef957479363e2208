/* Results of a group's operations, by session and sequence, so that a repeated
 * send gets the first one's answer (CONSENSUS 3).
 *
 * State of the group: changed only by applying entries, the same on every
 * member; persisted by the caller in the engine transaction of the apply.  In
 * between an operation that is appended but not applied is known, too: a
 * repeated send waits for it instead of being appended again.
 *
 * A pure structure: no fiber, no clock. */
#ifndef STORAGE_RESULTS_H
#define STORAGE_RESULTS_H

#include "base/buf.h"
#include "base/list.h"
#include "storage/entry.h"

#define ST_RESULTS_MAX                                                         \
	4096u /* kept per session; beyond, it must say what it                 \
	       * needs no answer to */

struct st_results;

enum st_result_state {
	ST_RESULT_NONE,    /* never seen, or forgotten */
	ST_RESULT_PENDING, /* appended, not yet applied */
	ST_RESULT_KEPT,
	ST_RESULT_ANSWERED, /* the session said it needs no answer */
	ST_RESULT_CROWDED   /* never seen, and the session has too many */
};

struct st_result {
	uint64_t sequence;
	uint64_t index;
	cl_stamp stamp;
	uint8_t outcome;
};

struct st_results *st_results_new(struct arena *a, cl_stamp retry_window);

enum st_result_state st_results_find(const struct st_results *r,
    const uint8_t *session, uint64_t sequence, struct st_result *out);

/* At append. The operation must not be there. */
void st_results_begin(struct st_results *r, const struct st_op *op,
    uint64_t index, cl_stamp stamp);

/* At apply, before the engine transaction, in log order: the operation's
 * result, the session's watermark, and forgetting what is older than the retry
 * window.  Sessions touched collect until st_results_take. */
void st_results_apply(struct st_results *r, const struct st_entry *e);
/* The touched sessions one by one: the record to write under its key, or
 * gone = delete it. False at the end. The record is appended to `record`. */
bool st_results_take(
    struct st_results *r, uint8_t *session, bool *gone, struct buf *record);
/* After the engine transaction: results of entries up to `index` may be
 * given. */
void st_results_applied(struct st_results *r, uint64_t index);

/* What was begun and is not applied is forgotten: this member does not lead any
 * more, and its entries may never be. */
void st_results_abandon(struct st_results *r);

/* At open: one persisted record. */
struct err *st_results_load(struct arena *a, struct st_results *r,
    const uint8_t *session, struct str record);

/* After the last record: the applied index they belong to. */
void st_results_loaded(struct st_results *r, uint64_t applied);

/* Sessions kept, and the stamp of the oldest one's last entry (0 = none): from
 * a retry window later on an entry forgets it. */
size_t st_results_sessions(const struct st_results *r);
cl_stamp st_results_oldest(const struct st_results *r);

#endif
