/* A worker: everything that sessions need from the thread they run on.  A
 * gateway has several; they share nothing, and nothing here is global.  In the
 * simulator a gateway is one worker in one simulated process. */
#ifndef GATEWAY_WORKER_H
#define GATEWAY_WORKER_H

#include "gateway/catalog.h"
#include "gateway/leaders.h"
#include "gateway/peer.h"

struct stream;

struct gw_conf {
	const char *seeds; /* addresses of nodes, separated by commas */
	struct gw_peer_conf peer;
	uint64_t statement_timeout_us; /* storage.statement_timeout_secs: how
					* long without progress */
	uint64_t answer_us; /* how long a send may stay without an answer before
			     * the next one; doubles */
	size_t row_size_max;
	uint32_t sessions_max; /* of one worker */
	size_t session_memory; /* cap of a session's arena */
	bool trust_local;      /* no password on loopback and unix sockets */
	size_t page_bytes;     /* of one scan page of one node */
	size_t insert_batch;   /* rows that COPY and INSERT gather */
	size_t proposal_bytes; /* above which a group's rows are split */
	uint32_t read_points;  /* keys of one READ */
	uint32_t draws_max;    /* statements waiting for one sequence */
};
/* Fills everything but seeds and the cluster key. */
void gw_conf_defaults(struct gw_conf *c);

struct gw_worker {
	uint32_t magic;
	struct world *world;
	const struct gw_conf *conf;
	struct gw_peers *peers;
	struct gw_leaders *leaders;
	struct gw_catalog *catalog;
	struct gw_sequences *sequences;
	uint32_t index, count; /* which of how many */
	uint32_t n_pids;       /* handed out so far */
	struct list cancels;   /* struct gw_cancel */
	uint32_t sessions;     /* connections being served */
	bool stopping;         /* take no new work; sessions end */
	char secret[33];       /* see gw_worker_secret */

	/* Brings a cancel request to the worker that owns the pid: set by who
	 * made the workers; NULL when this one is alone. */
	void (*forward_cancel)(
	    struct gw_worker *w, uint32_t pid, uint32_t secret);
	void *forward_arg;
	/* The last session of a stopping worker ended. */
	void (*drained)(struct gw_worker *w);
	/* What this program was started with, for SHOW; may be NULL. */
	const struct conf *settings;
};

/* `conf` must outlive the worker. Starts following the catalog. */
struct gw_worker *gw_worker_new(struct world *w, const struct gw_conf *conf,
    uint32_t index, uint32_t count);
/* Ends background fibers and closes all links. */
void gw_worker_stop(struct gw_worker *w);
/* Has a catalog, and heard of its source lately. */
bool gw_worker_ready(const struct gw_worker *w);

/* ---- for sessions ---- */

/* Serves a client connection, by gw_session_serve, whose fiber says
 * gw_worker_left at its end. */
void gw_worker_serve(struct gw_worker *w, struct stream *s);
void gw_worker_left(struct gw_worker *w);
/* Waits until the catalog is known: 57P03 when that takes too long or the
 * gateway stops, 53300 when it has too many sessions. */
struct err *gw_worker_admit(
    struct gw_worker *w, struct arena *a, uint64_t deadline_us);
struct world *gw_worker_world(const struct gw_worker *w);
/* Cap of a session's arena, in bytes. */
size_t gw_worker_session_memory(const struct gw_worker *w);
/* Sessions end: between statements, with 57P01. */
bool gw_worker_stopping(const struct gw_worker *w);
/* Text that only this cluster knows, the same in all its gateways: for the
 * salt of roles that do not exist. */
struct str gw_worker_secret(const struct gw_worker *w);
/* Borrowed: ref it to keep it across a wait. */
const struct cl_catalog *gw_worker_catalog(const struct gw_worker *w);
/* This client needs no password: on loopback or a unix socket, where the
 * gateway was told to trust these. */
bool gw_worker_trusts(const struct gw_worker *w, const struct stream *s);

/* ---- cancel requests ---- */

struct gw_cancel;
/* The session run by `f` can be cancelled under the pid and secret given out
 * here, until it is removed. */
struct gw_cancel *gw_cancel_add(
    struct gw_worker *w, struct fiber *f, uint32_t *pid, uint32_t *secret);
void gw_cancel_remove(struct gw_worker *w, struct gw_cancel *c);
/* A statement runs (from its first message to its end): a stopping worker lets
 * it. Not busy, it wakes the session, which finds gw_worker_stopping. */
void gw_cancel_busy(struct gw_cancel *c, bool busy);
/* From a CancelRequest, of any worker: finds the session and cancels its
 * fiber; a wrong secret does nothing. */
void gw_cancel_request(struct gw_worker *w, uint32_t pid, uint32_t secret);
/* The same for a pid of this worker. */
void gw_cancel_here(struct gw_worker *w, uint32_t pid, uint32_t secret);

/* ---- stopping ---- */

/* Idle sessions end now, others after their statement. */
void gw_worker_drain(struct gw_worker *w);
/* Cancels what still runs. */
void gw_worker_cancel_all(struct gw_worker *w);

#endif
