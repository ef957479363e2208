/* What a running statement carries through the cluster side: its deadlines,
 * its cancel flag, its catalog, and the client session's operation ids. */
#ifndef GATEWAY_STMT_H
#define GATEWAY_STMT_H

#include "base/err.h"
#include "cluster/catalog.h"
#include "cluster/msg.h"

struct gw_trace;
struct gw_worker;

/* Of one client session; gw_ops_init gives it its never reused id. */
struct gw_ops {
	uint8_t session[16];
	uint64_t sequence; /* the last one used */
	bool warned;       /* said that groups are written one by one */
	/* Hidden keys: a random block, for up to GW_HIDDEN_BLOCK rows of one
	 * statement. */
	uint64_t block;
	uint32_t block_used;
	void (*notice)(void *arg, struct err *e); /* NULL: nobody listens */
	void *notice_arg;
};
#define GW_HIDDEN_BLOCK 1000u

struct gw_stmt {
	struct gw_worker *worker;
	struct gw_ops *ops;
	/* What it was planned against; held by the caller until its end. */
	const struct cl_catalog *catalog;
	/* Monotonic. Until when the cluster must have done what it was asked
	 * last: never WORLD_FOREVER, never after end_us. */
	uint64_t deadline_us;
	uint64_t end_us; /* of the whole statement; WORLD_FOREVER: no limit */
	const bool *cancel; /* set by who cancels (who also cancels the
			     * fiber); may be NULL */
	size_t row_max;     /* row_size_max */
	uint32_t as_role;   /* whose rights count; 0: no check (superusers,
			     * internal work) */

	enum cl_consistency consistency; /* of its reads */
	struct gw_trace *trace;          /* NULL: nobody wants to know */

	uint64_t yield_us; /* when long computing lets others run again */

	/* Out. */
	bool stale; /* ended because the catalog moved on: prepare it again
		     * if nothing was applied */
	uint64_t applied; /* rows surely written so far */
};

void gw_ops_init(struct gw_ops *ops, struct gw_worker *w);
/* Fills everything but row_max and cancel (reads are CL_QUORUM, without a
 * trace), and starts a new hidden-key block. `timeout_us` bounds the whole
 * statement, 0 = not at all. */
void gw_stmt_begin(struct gw_stmt *s, struct gw_worker *w, struct gw_ops *ops,
    const struct cl_catalog *catalog, uint64_t timeout_us);
/* The statement has got ahead: rows were written, a page came, the client took
 * or sent something. What comes next has all the time again that the gateway
 * allows, within the statement's own. */
void gw_stmt_progress(struct gw_stmt *s);

/* 57014 once it was cancelled or its deadline has passed, else NULL. */
struct err *gw_stmt_check(struct gw_stmt *s, struct arena *a);
/* The same, for long loops: also lets the worker's other fibers and sockets
 * have a turn when it is time. */
struct err *gw_stmt_breathe(struct gw_stmt *s, struct arena *a);
bool gw_stmt_cancelled(const struct gw_stmt *s);
/* 57P03 saying why the group or node could not be reached in time; 57014 when
 * the user cancelled, or that time was statement_timeout. */
struct err *gw_stmt_unreached(
    struct gw_stmt *s, struct arena *a, const char *why);
/* What went wrong at a node, as a sentence for a DETAIL, in `a`. Member 0: at
 * none. */
const char *gw_stmt_at_node(struct arena *a, uint32_t member, const char *why);
/* Waits before try number n (from 1) of something refused: false, at once, at
 * the deadline or when cancelled. */
bool gw_stmt_backoff(struct gw_stmt *s, unsigned n);
/* When try n+1 may start, for who waits by itself. */
uint64_t gw_stmt_retry_at(struct gw_stmt *s, unsigned n);

#endif
