/* The append pipeline of a node: what its groups append, cut off or promise
 * goes to the engine in batches, each one engine transaction with one flush;
 * what comes while one is under way makes the next.  Append, flush, commit and
 * apply are separate steps of an entry:
 *
 *   appended (group.h) -> in the engine -> flushed -> committed -> applied */
#ifndef STORAGE_LOG_H
#define STORAGE_LOG_H

#include "base/list.h"
#include "storage/ids.h"

struct st_group;
struct st_node;

enum st_log_kind {
	ST_LOG_ENTRY,  /* inside a struct st_pending */
	ST_LOG_CUT,    /* entries from `index` on are gone */
	ST_LOG_PROMISE /* the group's promise is now `ballot` */
};

struct st_log_item {
	struct list link; /* log.queue */
	enum st_log_kind kind;
	struct st_group *group;
	struct arena *arena; /* of a cut or a promise: its own */
	uint64_t index;      /* of the entry; a promise's number */
	struct st_ballot ballot;
};

void st_log_start(struct st_node *n);
/* Queues an entry that has its index and bytes; takes over a reference. */
void st_log_add(struct st_node *n, struct st_log_item *item);
void st_log_cut(struct st_group *g, uint64_t from);
/* Queues the group's present promise; st_log_promised waits for it. */
void st_log_promise(struct st_group *g);
/* In a fiber: until the promise that the group has now is on disk. */
void st_log_promised(struct st_group *g);
/* The group applied something: its log may be trimmed once that is flushed. */
void st_log_applied(struct st_node *n, struct st_group *g);
/* Lets the fibers see that the node stopped. */
void st_log_wake(struct st_node *n);
/* Drops what may be dropped of every group's log, however little (sweep). */
void st_log_trim_all(struct st_node *n);

#endif
