/* The append pipeline of a node: entries of all its groups go to the engine in
 * batches, each one engine transaction with one flush; what comes while one is
 * under way makes the next.  Append, flush, commit and apply are separate steps
 * of an entry:
 *
 *   appended (group.h) -> in the engine -> flushed -> committed -> applied */
#ifndef STORAGE_LOG_H
#define STORAGE_LOG_H

#include "storage/group.h"

void st_log_start(struct st_node *n);
/* Queues an entry that has its index and bytes. */
void st_log_add(struct st_node *n, struct st_pending *p);
/* The group applied something: its log may be trimmed once that is flushed. */
void st_log_applied(struct st_node *n, struct st_group *g);
/* Lets the fibers see that the node stopped. */
void st_log_wake(struct st_node *n);
/* Drops what may be dropped of every group's log, however little (sweep). */
void st_log_trim_all(struct st_node *n);

#endif
