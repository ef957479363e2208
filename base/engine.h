/* The ordered key-value engine behind a node, with its flush barrier.
 *
 * Work goes in as jobs: a function over a struct kv that runs as one engine
 * transaction on an engine thread (in the simulator: at a later virtual time)
 * and completes later on the loop.  Jobs of one lane run in order; a node uses
 * the group as lane; jobs of ENGINE_LANE_ANY have no order.  A job may be run
 * again from its start after an engine conflict, so it begins by resetting what
 * it fills in, and touches nothing but its argument and the kv.
 *
 * A completed job is visible to later jobs but not durable: engine_sync
 * returns after everything whose job completed before the call is on disk.
 * Committed jobs survive a crash in order: never the later without the
 * earlier.
 *
 * An engine that cannot write ends the process (ENGINE_FULL is the exception:
 * the disk-space guard refuses writing jobs ahead of need). */
#ifndef BASE_ENGINE_H
#define BASE_ENGINE_H

#include "base/world.h"

enum kv_file { KV_ROWS, KV_INDEX, KV_LOG, KV_META, KV_FILES };

enum engine_result {
	ENGINE_OK,
	ENGINE_ABORT, /* the job called kv_abort: nothing changed */
	ENGINE_FULL   /* refused: disk space below the guard */
};

enum engine_kind { ENGINE_READ, ENGINE_WRITE };

struct engine_config {
	const char *dir;
	uint64_t cache_bytes;
	uint64_t log_file_bytes;
	uint64_t checkpoint_log_bytes;
	int threads;           /* engine threads; 0 = run inline on the loop */
	bool inline_reads;     /* reads of ENGINE_LANE_ANY run on the loop */
	bool inline_writes;    /* light jobs of an idle engine, too */
	uint64_t disk_reserve; /* bytes kept free; 0 = computed */
};

struct kv;     /* one engine transaction; valid inside a job */
struct kv_cur; /* a cursor of it */

/* ---- inside a job ---- */
/* On true *val is valid until the next kv_get of this job on that file, or its
 * end. */
bool kv_get(struct kv *kv, enum kv_file f, struct str key, struct str *val);
void kv_put(struct kv *kv, enum kv_file f, struct str key, struct str val);
void kv_del(struct kv *kv, enum kv_file f, struct str key);
/* Removes from <= key < to. */
void kv_del_range(
    struct kv *kv, enum kv_file f, struct str from, struct str to);
/* Cursors: at most KV_CURSORS_MAX per job; closed at its end. */
#define KV_CURSORS_MAX 4096
struct kv_cur *kv_open(struct kv *kv, enum kv_file f);
/* First key >= key; last key < key. On true *k, *v are valid until the cursor
 * moves. */
bool kv_seek(struct kv_cur *c, struct str key, struct str *k, struct str *v);
bool kv_seek_before(
    struct kv_cur *c, struct str key, struct str *k, struct str *v);
bool kv_next(struct kv_cur *c, struct str *k, struct str *v);
void kv_close(struct kv_cur *c);
/* The job's changes are dropped; done gets ENGINE_ABORT. */
void kv_abort(struct kv *kv);
/* True once an engine conflict happened: leave soon, the job is run again. */
bool kv_failed(const struct kv *kv);

/* ---- outside ---- */
#define ENGINE_LANE_ANY 0u

struct engine_job {
	struct list link;
	uint64_t lane;
	enum engine_kind kind;
	void (*run)(struct kv *kv, void *arg);
	void (*done)(void *arg, enum engine_result r);
	void *arg;
	/* Complete only after a flush that covers the job: the engine may run
	 * it where it flushes, and flush for many at once. All jobs of a lane,
	 * or none. */
	bool durable;
	/* A handful of operations by key: handing it to another thread and back
	 * may take longer than running it. */
	bool light;
	enum engine_result result; /* the engine's */
};

struct engine_ops {
	void (*submit)(struct engine *e, struct engine_job *job);
	void (*flush)(struct engine *e, void (*done)(void *arg), void *arg);
	/* Stops taking jobs, finishes those taken, closes cleanly. */
	void (*close)(struct engine *e);
	bool (*writable)(const struct engine *e);
	uint64_t (*disk_bytes)(const struct engine *e);
};

struct engine {
	const struct engine_ops *ops;
	struct world *world;
};

struct err *engine_open(struct world *w, struct arena *a,
    const struct engine_config *conf, struct engine **out);
/* The job struct is the caller's until done. */
void engine_submit(struct engine *e, struct engine_job *job);
void engine_flush(struct engine *e, void (*done)(void *arg), void *arg);
void engine_close(struct engine *e);
/* False below the disk-space guard. */
bool engine_writable(const struct engine *e);

/* In a fiber: submit and wait. Not cancellable (short by contract). */
enum engine_result engine_run(struct engine *e, uint64_t lane,
    enum engine_kind kind, void (*run)(struct kv *kv, void *arg), void *arg);
/* The same for a writing job that is light (see struct engine_job). */
enum engine_result engine_run_light(struct engine *e, uint64_t lane,
    void (*run)(struct kv *kv, void *arg), void *arg);
/* In a fiber: a writing job that is durable on return. */
enum engine_result engine_run_durable(struct engine *e, uint64_t lane,
    void (*run)(struct kv *kv, void *arg), void *arg);
/* In a fiber: the flush barrier. */
void engine_sync(struct engine *e);

#endif
