#include "storage/engine_wt.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <wiredtiger.h>

#include "base/fiber.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/world_real.h"
#include "storage/datadir.h"
#include "storage/kv.h"
#include "storage/salvage.h"
#include "storage/wal_check.h"

#define ENGINE_MAGIC  0x454e5754u
#define THREADS_MAX   16
#define DISK_CHECK_US 1000000u
#define DONE_BATCH    64
#define INLINE_MAX    8 /* light writes in one turn of the loop */
#define TABLE_OPTIONS                                                          \
	"key_format=u,value_format=u,checksum=on,leaf_page_max=16KB"

static const char *const uris[KV_FILES] = {
    [KV_ROWS] = "file:rows.wt",
    [KV_INDEX] = "file:index.wt",
    [KV_LOG] = "file:log.wt",
    [KV_META] = "file:meta.wt",
};

struct engine_wt;

/* A session with its cursors: belongs to one thread. Reading and writing have
 * cursors of their own, so that a value just read survives a write. */
struct wt_cur {
	struct kv_cur cur;
	struct wt_kv *kv;
	enum kv_file file;
	WT_CURSOR *c;
	struct wt_cur *next;
};

struct wt_kv {
	struct kv kv;
	struct engine_wt *engine;
	struct arena *arena;
	WT_SESSION *session;
	WT_CURSOR *reader[KV_FILES];
	WT_CURSOR *writer[KV_FILES];
	struct wt_cur *idle[KV_FILES];
	struct wt_cur *used;
	uint32_t n_used;
};

/* A wait for the flush barrier. */
struct flush {
	struct list link;
	struct flush *next_spare;
	void (*done)(void *arg);
	void *arg;
};

struct worker {
	struct engine_wt *engine;
	void *thread;
	pthread_cond_t wake;
	struct list queue;    /* under engine->lock */
	struct list incoming; /* the loop's: not yet handed over */
	struct wt_kv kv;
};

struct engine_wt {
	struct engine base;
	uint32_t magic;
	/* Both the handler and its place are WiredTiger's contract. */
	struct event_handler {
		WT_EVENT_HANDLER h;
		struct engine_wt *engine;
	} handler;
	struct arena *arena;
	WT_CONNECTION *conn;
	struct engine_config conf;
	char *dir;
	int lock_fd;
	bool opening;
	_Atomic bool alarm; /* WiredTiger spoke of corruption while opening */

	pthread_mutex_t lock;
	bool stop;          /* under lock, as all down to `waking` */
	struct list shared; /* jobs of ENGINE_LANE_ANY */
	struct list flushes;
	struct list durables; /* jobs that run where the flush is made */
	struct list done_jobs;
	struct list done_flushes;
	bool waking; /* a wake-up of the loop is under way */
	pthread_cond_t flush_wake;
	void *flusher;

	/* The loop's. */
	struct worker *workers;
	int n_workers;
	struct list in_shared; /* collected in this loop turn */
	struct list in_flushes;
	struct list in_durables;
	struct list in_inline; /* run on the loop itself */
	bool posted;
	bool posted_inline;
	struct wt_kv loop_kv;
	struct flush *spare_flush;
	size_t outstanding;
	size_t away;       /* jobs of the workers: handed over, or to be */
	unsigned n_inline; /* light writes in in_inline */
	struct timer disk_timer;
	uint64_t reserve;
	bool writable; /* below the guard nothing new is accepted */
	bool full;     /* below half of it not even what was accepted */
};

static void
die(struct engine_wt *e, const char *what, int r)
{
	LOG(NULL, LOG_ERROR, "engine", "panic", "what=%s error=\"%s\" dir=%s",
	    what, wiredtiger_strerror(r), e->dir);
	_exit(ENGINE_WT_EXIT);
}

/* True when the call did its work; a conflict makes the job run again, and
 * everything else is the end. */
static bool
fine(struct wt_kv *kv, const char *what, int r)
{
	if (r == 0)
		return true;
	if (r != WT_ROLLBACK)
		die(kv->engine, what, r);
	kv->kv.failed = true;
	return false;
}

static struct wt_kv *
wt_kv(struct kv *kv)
{
	return CONTAINER(kv, struct wt_kv, kv);
}

static struct wt_cur *
wt_cur(struct kv_cur *c)
{
	return CONTAINER(c, struct wt_cur, cur);
}

static void
set_key(WT_CURSOR *c, struct str key)
{
	WT_ITEM item = {.data = key.p, .size = key.len};

	c->set_key(c, &item);
}

static void
get_key(WT_CURSOR *c, struct str *key)
{
	WT_ITEM item = {0};

	(void)c->get_key(c, &item);
	*key = str_of(item.data, item.size);
}

static void
get_value(WT_CURSOR *c, struct str *val)
{
	WT_ITEM item = {0};

	(void)c->get_value(c, &item);
	*val = str_of(item.data, item.size);
}

/* ---- inside a job ---- */

static bool
op_get(struct kv *base, enum kv_file f, struct str key, struct str *val)
{
	struct wt_kv *kv = wt_kv(base);
	WT_CURSOR *c = kv->reader[f];
	int r;

	if (base->failed)
		return false;
	set_key(c, key);
	r = c->search(c);
	if (r == WT_NOTFOUND || !fine(kv, "search", r))
		return false;
	get_value(c, val);
	return true;
}

static void
op_put(struct kv *base, enum kv_file f, struct str key, struct str val)
{
	struct wt_kv *kv = wt_kv(base);
	WT_CURSOR *c = kv->writer[f];
	WT_ITEM item = {.data = val.p, .size = val.len};

	if (base->failed)
		return;
	set_key(c, key);
	c->set_value(c, &item);
	fine(kv, "insert", c->insert(c));
}

static void
op_del(struct kv *base, enum kv_file f, struct str key)
{
	struct wt_kv *kv = wt_kv(base);
	WT_CURSOR *c = kv->writer[f];
	int r;

	if (base->failed)
		return;
	set_key(c, key);
	r = c->remove(c);
	if (r != WT_NOTFOUND)
		fine(kv, "remove", r);
}

static struct kv_cur *
op_open(struct kv *base, enum kv_file f)
{
	struct wt_kv *kv = wt_kv(base);
	struct wt_cur *c = kv->idle[f];

	ASSERT(kv->n_used < KV_CURSORS_MAX);
	if (c) {
		kv->idle[f] = c->next;
	} else {
		int r;

		c = NEW(kv->arena, struct wt_cur);
		c->kv = kv;
		c->file = f;
		c->cur.ops = base->ops;
		r = kv->session->open_cursor(
		    kv->session, uris[f], NULL, NULL, &c->c);
		if (r != 0)
			die(kv->engine, "open cursor", r);
	}
	c->next = kv->used;
	kv->used = c;
	kv->n_used++;
	return &c->cur;
}

static bool
found(struct wt_cur *c, const char *what, int r, struct str *k, struct str *v)
{
	if (r == WT_NOTFOUND || !fine(c->kv, what, r))
		return false;
	get_key(c->c, k);
	get_value(c->c, v);
	return true;
}

static bool
op_next(struct kv_cur *base, struct str *k, struct str *v)
{
	struct wt_cur *c = wt_cur(base);

	if (c->kv->kv.failed)
		return false;
	return found(c, "next", c->c->next(c->c), k, v);
}

static bool
op_seek(struct kv_cur *base, struct str key, struct str *k, struct str *v)
{
	struct wt_cur *c = wt_cur(base);
	int exact = 0, r;

	if (c->kv->kv.failed)
		return false;
	if (key.len == 0) {
		fine(c->kv, "reset", c->c->reset(c->c));
		return op_next(base, k, v);
	}
	set_key(c->c, key);
	r = c->c->search_near(c->c, &exact);
	if (r == 0 && exact < 0)
		r = c->c->next(c->c);
	return found(c, "seek", r, k, v);
}

static bool
op_seek_before(
    struct kv_cur *base, struct str key, struct str *k, struct str *v)
{
	struct wt_cur *c = wt_cur(base);
	int exact = 0, r;

	if (c->kv->kv.failed || key.len == 0)
		return false;
	set_key(c->c, key);
	r = c->c->search_near(c->c, &exact);
	if (r == 0 && exact >= 0)
		r = c->c->prev(c->c);
	return found(c, "seek before", r, k, v);
}

static void
op_close(struct kv_cur *base)
{
	struct wt_cur *c = wt_cur(base), **at = &c->kv->used;

	while (*at && *at != c)
		at = &(*at)->next;
	ASSERT(*at == c);
	*at = c->next;
	c->kv->n_used--;
	c->next = c->kv->idle[c->file];
	c->kv->idle[c->file] = c;
	(void)c->c->reset(c->c);
}

static void
op_del_range(struct kv *base, enum kv_file f, struct str from, struct str to)
{
	struct wt_kv *kv = wt_kv(base);
	struct wt_cur *first = wt_cur(op_open(base, f));
	struct wt_cur *last = wt_cur(op_open(base, f));
	struct str k, v;

	/* truncate takes both ends inclusive. */
	if (op_seek(&first->cur, from, &k, &v) && str_cmp(k, to) < 0 &&
	    op_seek_before(&last->cur, to, &k, &v) && str_cmp(k, from) >= 0)
		fine(kv, "truncate",
		    kv->session->truncate(
			kv->session, NULL, first->c, last->c, NULL));
	op_close(&last->cur);
	op_close(&first->cur);
}

static const struct kv_ops wt_ops = {
    .get = op_get,
    .put = op_put,
    .del = op_del,
    .del_range = op_del_range,
    .open = op_open,
    .seek = op_seek,
    .seek_before = op_seek_before,
    .next = op_next,
    .close = op_close,
};

/* ---- running a job ---- */

static void
kv_setup(struct engine_wt *e, struct wt_kv *kv, struct arena *a)
{
	int r;

	kv->kv.ops = &wt_ops;
	kv->engine = e;
	kv->arena = a;
	r = e->conn->open_session(
	    e->conn, NULL, "isolation=snapshot", &kv->session);
	if (r != 0)
		die(e, "open session", r);
	for (int f = 0; f < KV_FILES; f++) {
		r = kv->session->open_cursor(
		    kv->session, uris[f], NULL, NULL, &kv->reader[f]);
		if (r == 0)
			r = kv->session->open_cursor(
			    kv->session, uris[f], NULL, NULL, &kv->writer[f]);
		if (r != 0)
			die(e, "open cursor", r);
	}
}

static void
close_cursors(struct wt_kv *kv)
{
	while (kv->used)
		op_close(&kv->used->cur);
}

/* One attempt; false = an engine conflict, run it again. */
static bool
attempt(struct wt_kv *kv, const struct engine_job *job)
{
	WT_SESSION *s = kv->session;
	int r = s->begin_transaction(s, NULL);

	if (r != 0)
		die(kv->engine, "begin", r);
	kv->kv.failed = kv->kv.aborted = false;
	job->run(&kv->kv, job->arg);
	close_cursors(kv);
	/* Commit's own verdict is worthless after a conflict: it says 0 when
	 * nothing was written. */
	if (kv->kv.failed || kv->kv.aborted || job->kind == ENGINE_READ) {
		r = s->rollback_transaction(s, NULL);
		if (r != 0)
			die(kv->engine, "rollback", r);
		return !kv->kv.failed || kv->kv.aborted;
	}
	r = s->commit_transaction(s, "sync=off");
	if (r == WT_ROLLBACK) {
		r = s->rollback_transaction(s, NULL);
		if (r != 0)
			die(kv->engine, "rollback", r);
		return false;
	}
	if (r != 0)
		die(kv->engine, "commit", r);
	return true;
}

static void
run_job(struct wt_kv *kv, struct engine_job *job)
{
	metric_inc(M_ENGINE_JOBS);
	for (unsigned n = 0; !attempt(kv, job); n++) {
		metric_inc(M_ENGINE_RETRIES);
		/* The cache may need a moment to make room. */
		if (n > 10)
			usleep(1000);
	}
	job->result = kv->kv.aborted ? ENGINE_ABORT : ENGINE_OK;
}

static void
flush_now(struct engine_wt *e, WT_SESSION *s)
{
	uint64_t from = world_mono_us(e->base.world);
	int r = s->log_flush(s, "sync=on");

	if (r != 0)
		die(e, "flush", r);
	metric_inc(M_ENGINE_FLUSHES);
	metric_time(M_ENGINE_FLUSH_TIME, world_mono_us(e->base.world) - from);
}

/* ---- back to the loop ---- */

static void
splice(struct list *to, struct list *from)
{
	if (list_empty(from))
		return;
	from->next->prev = to->prev;
	to->prev->next = from->next;
	from->prev->next = to;
	to->prev = from->prev;
	list_init(from);
}

static void
report_all(struct engine_wt *e, struct list *jobs, struct list *flushes)
{
	struct list *l;

	while ((l = list_pop(jobs))) {
		struct engine_job *job = LIST_ENTRY(l, struct engine_job, link);

		e->outstanding--;
		job->done(job->arg, job->result);
	}
	while ((l = list_pop(flushes))) {
		struct flush *f = LIST_ENTRY(l, struct flush, link);
		void (*done)(void *) = f->done;
		void *arg = f->arg;

		e->outstanding--;
		f->next_spare = e->spare_flush;
		e->spare_flush = f;
		done(arg);
	}
}

static void
completed_ev(void *arg)
{
	struct engine_wt *e = TAKE(struct engine_wt, arg, ENGINE_MAGIC);
	struct list jobs, flushes;

	list_init(&jobs);
	list_init(&flushes);
	pthread_mutex_lock(&e->lock);
	e->waking = false;
	splice(&jobs, &e->done_jobs);
	splice(&flushes, &e->done_flushes);
	pthread_mutex_unlock(&e->lock);
	LIST_FOREACH(at, &jobs)
	if (!LIST_ENTRY(at, struct engine_job, link)->durable)
		e->away--;
	report_all(e, &jobs, &flushes);
}

/* Called on an engine thread: hands results over with one wake-up however many
 * there are. */
static void
hand_back(struct engine_wt *e, struct list *jobs, struct list *flushes)
{
	bool wake;

	pthread_mutex_lock(&e->lock);
	if (jobs)
		splice(&e->done_jobs, jobs);
	if (flushes)
		splice(&e->done_flushes, flushes);
	wake = !e->waking;
	e->waking = true;
	pthread_mutex_unlock(&e->lock);
	if (wake)
		world_real_call(e->base.world, completed_ev, e);
}

/* ---- the threads ---- */

/* Waits for work: all of the worker's own, else one job without order. */
static bool
take(struct worker *w, struct list *batch)
{
	struct engine_wt *e = w->engine;
	struct list *one;

	pthread_mutex_lock(&e->lock);
	while (!e->stop && list_empty(&w->queue) && list_empty(&e->shared))
		pthread_cond_wait(&w->wake, &e->lock);
	splice(batch, &w->queue);
	if (list_empty(batch) && (one = list_pop(&e->shared)))
		list_push(batch, one);
	pthread_mutex_unlock(&e->lock);
	return !list_empty(batch);
}

static void
worker_main(void *arg)
{
	struct worker *w = arg;
	struct arena *arena = arena_new(NULL, "engine thread");
	struct list batch, done;
	struct list *l;
	unsigned n = 0;

	list_init(&batch);
	list_init(&done);
	kv_setup(w->engine, &w->kv, arena);
	while (take(w, &batch)) {
		while ((l = list_pop(&batch))) {
			struct engine_job *job =
			    LIST_ENTRY(l, struct engine_job, link);

			run_job(&w->kv, job);
			list_push(&done, &job->link);
			if (++n % DONE_BATCH == 0)
				hand_back(w->engine, &done, NULL);
		}
		if (!list_empty(&done))
			hand_back(w->engine, &done, NULL);
	}
	(void)w->kv.session->close(w->kv.session, NULL);
	arena_free(arena);
}

/* Waits for flushes, and jobs that want one. */
static bool
take_flushes(struct engine_wt *e, struct list *jobs, struct list *flushes)
{
	pthread_mutex_lock(&e->lock);
	while (!e->stop && list_empty(&e->flushes) && list_empty(&e->durables))
		pthread_cond_wait(&e->flush_wake, &e->lock);
	splice(jobs, &e->durables);
	splice(flushes, &e->flushes);
	pthread_mutex_unlock(&e->lock);
	return !list_empty(jobs) || !list_empty(flushes);
}

static void
run_all(struct wt_kv *kv, struct list *jobs)
{
	LIST_FOREACH(at, jobs)
	{
		struct engine_job *job =
		    LIST_ENTRY(at, struct engine_job, link);

		if (job->result != ENGINE_FULL)
			run_job(kv, job);
	}
}

static void
flusher_main(void *arg)
{
	struct engine_wt *e = arg;
	struct arena *arena = arena_new(NULL, "flush thread");
	struct list jobs, flushes;
	struct wt_kv kv = {.engine = e};

	list_init(&jobs);
	list_init(&flushes);
	kv_setup(e, &kv, arena);
	while (take_flushes(e, &jobs, &flushes)) {
		run_all(&kv, &jobs);
		flush_now(e, kv.session);
		hand_back(e, &jobs, &flushes);
	}
	(void)kv.session->close(kv.session, NULL);
	arena_free(arena);
}

/* ---- from the loop ---- */

static bool
wants_flush(const struct list *jobs)
{
	LIST_FOREACH(at, jobs)
	if (LIST_ENTRY(at, struct engine_job, link)->durable)
		return true;
	return false;
}

static void
inline_ev(void *arg)
{
	struct engine_wt *e = TAKE(struct engine_wt, arg, ENGINE_MAGIC);
	struct list jobs, flushes;

	e->posted_inline = false;
	list_init(&jobs);
	list_init(&flushes);
	splice(&jobs, &e->in_inline);
	e->n_inline = 0;
	if (e->n_workers == 0)
		splice(&flushes, &e->in_flushes);
	run_all(&e->loop_kv, &jobs);
	if (!list_empty(&flushes) || wants_flush(&jobs))
		flush_now(e, e->loop_kv.session);
	report_all(e, &jobs, &flushes);
}

/* What one loop turn collected goes over with one lock. Who waits is woken
 * after it: else it would wait again, for the lock. */
static void
hand_over(struct engine_wt *e)
{
	bool shared = !list_empty(&e->in_shared), flush;
	uint32_t wake = 0;

	pthread_mutex_lock(&e->lock);
	for (int i = 0; i < e->n_workers; i++) {
		struct worker *w = &e->workers[i];

		if (shared || !list_empty(&w->incoming))
			wake |= 1u << i;
		splice(&w->queue, &w->incoming);
	}
	splice(&e->shared, &e->in_shared);
	flush = !list_empty(&e->in_flushes) || !list_empty(&e->in_durables);
	splice(&e->flushes, &e->in_flushes);
	splice(&e->durables, &e->in_durables);
	pthread_mutex_unlock(&e->lock);
	if (flush)
		pthread_cond_signal(&e->flush_wake);
	for (int i = 0; i < e->n_workers; i++)
		if (wake & 1u << i)
			pthread_cond_signal(&e->workers[i].wake);
}

static void
hand_over_ev(void *arg)
{
	struct engine_wt *e = TAKE(struct engine_wt, arg, ENGINE_MAGIC);

	/* What a worker gets may follow, in its lane, a light job that waits to
	 * run here: that one's turn has been posted, and comes first. No more
	 * of them are kept meanwhile, so that this waits once. */
	if (e->away > 0 && e->n_inline > 0) {
		world_post(e->base.world, hand_over_ev, e);
		return;
	}
	e->posted = false;
	hand_over(e);
}

static void
post(struct engine_wt *e, bool inline_work)
{
	bool *posted = inline_work ? &e->posted_inline : &e->posted;

	if (*posted)
		return;
	*posted = true;
	world_post(e->base.world, inline_work ? inline_ev : hand_over_ev, e);
}

static struct engine_wt *
engine_wt(const struct engine *base)
{
	struct engine_wt *e =
	    CONTAINER((uintptr_t)base, struct engine_wt, base);

	ASSERT(e->magic == ENGINE_MAGIC);
	return e;
}

/* On the loop's thread? Never what asks for a flush, or would overtake its
 * lane. A light write runs here while the workers have nothing to do: the way
 * to one and back takes longer than the write. When more come in one turn, it
 * is the loop that has no time to lose, and the workers get all until they are
 * done; their wake-ups are shared. */
static bool
runs_inline(const struct engine_wt *e, const struct engine_job *job)
{
	if (job->result == ENGINE_FULL || e->n_workers == 0)
		return true;
	if (job->light && !job->durable)
		return e->conf.inline_writes && e->away == 0 &&
		       e->n_inline < INLINE_MAX;
	return job->lane == ENGINE_LANE_ANY && job->kind == ENGINE_READ &&
	       e->conf.inline_reads;
}

static void
wt_submit(struct engine *base, struct engine_job *job)
{
	struct engine_wt *e = engine_wt(base);
	uint64_t mixed = job->lane * 0x9e3779b97f4a7c15u;

	ASSERT(!e->stop);
	e->outstanding++;
	job->result = ENGINE_OK;
	if (job->kind == ENGINE_WRITE && e->full)
		job->result = ENGINE_FULL;
	if (runs_inline(e, job)) {
		e->n_inline += job->light;
		list_push(&e->in_inline, &job->link);
		post(e, true);
		return;
	}
	e->away += !job->durable;
	if (job->durable)
		list_push(&e->in_durables, &job->link);
	else if (job->lane == ENGINE_LANE_ANY)
		list_push(&e->in_shared, &job->link);
	else
		list_push(&e->workers[(mixed >> 32) % (unsigned)e->n_workers]
			       .incoming,
		    &job->link);
	post(e, false);
}

static void
wt_flush(struct engine *base, void (*done)(void *arg), void *arg)
{
	struct engine_wt *e = engine_wt(base);
	struct flush *f = e->spare_flush;

	ASSERT(!e->stop);
	if (f)
		e->spare_flush = f->next_spare;
	else
		f = NEW(e->arena, struct flush);
	f->done = done;
	f->arg = arg;
	e->outstanding++;
	list_push(&e->in_flushes, &f->link);
	post(e, e->n_workers == 0);
}

static bool
wt_writable(const struct engine *base)
{
	return engine_wt(base)->writable;
}

static uint64_t
wt_disk_bytes(const struct engine *base)
{
	const struct engine_wt *e = engine_wt(base);

	return st_dir_bytes(e->dir);
}

/* ---- disk space ---- */

uint64_t
engine_wt_reserve(const struct engine_config *conf, uint64_t total)
{
	uint64_t need = conf->cache_bytes + 4 * conf->log_file_bytes +
			conf->checkpoint_log_bytes;

	if (conf->disk_reserve)
		return conf->disk_reserve;
	return need > total / 20 ? need : total / 20;
}

static void
check_disk(struct engine_wt *e)
{
	struct statvfs fs;
	uint64_t unused;
	bool ok;

	if (statvfs(e->dir, &fs) != 0)
		return;
	unused = (uint64_t)fs.f_bavail * fs.f_frsize;
	e->reserve =
	    engine_wt_reserve(&e->conf, (uint64_t)fs.f_blocks * fs.f_frsize);
	metric_set(M_ENGINE_DISK_FREE, (int64_t)unused);
	/* A little more is asked for coming back than for staying. */
	ok = e->writable ? unused >= e->reserve
			 : unused >= e->reserve + e->reserve / 10;
	e->full = unused < e->reserve / 2;
	if (ok == e->writable)
		return;
	e->writable = ok;
	LOG(e->base.world, ok ? LOG_INFO : LOG_ERROR, "engine",
	    ok ? "disk_space_back" : "disk_full",
	    "free=%" PRIu64 " reserve=%" PRIu64 " dir=%s", unused, e->reserve,
	    e->dir);
}

static void
disk_ev(void *arg)
{
	struct engine_wt *e = TAKE(struct engine_wt, arg, ENGINE_MAGIC);

	check_disk(e);
	timer_set(e->base.world, &e->disk_timer,
	    world_mono_us(e->base.world) + DISK_CHECK_US, disk_ev, e);
}

/* Recovery writes too, and what it cannot write it destroys. */
static struct err *
refuse_full_disk(struct engine_wt *e, struct arena *a)
{
	e->writable = true;
	check_disk(e);
	if (!e->full)
		return NULL;
	return err_hint(ERR(a, ERRCODE_DISK_FULL,
			    "not enough free disk space to open data directory "
			    "\"%s\": %" PRIu64 " bytes are kept in reserve",
			    e->dir, e->reserve),
	    "Free some space, or lower storage.disk_reserve.");
}

/* ---- opening and closing ---- */

static int
on_error(WT_EVENT_HANDLER *h, WT_SESSION *s, int error, const char *message)
{
	struct event_handler *eh = CONTAINER(h, struct event_handler, h);

	(void)s;
	LOG(NULL, LOG_ERROR, "engine", "error", "code=%d message=\"%s\"", error,
	    message);
	if (error == WT_PANIC || strstr(message, "checksum error"))
		_exit(ENGINE_WT_EXIT);
	(void)eh;
	return 0;
}

static int
on_message(WT_EVENT_HANDLER *h, WT_SESSION *s, const char *message)
{
	struct event_handler *eh = CONTAINER(h, struct event_handler, h);

	(void)s;
	if (strstr(message, "corrupted") || strstr(message, "salvage:")) {
		atomic_store(&eh->engine->alarm, true);
		LOG(NULL, LOG_ERROR, "engine", "damage", "message=\"%s\"",
		    message);
	} else {
		LOG(NULL, LOG_INFO, "engine", "message", "text=\"%s\"",
		    message);
	}
	return 0;
}

/* The engine starts to write changed pages at 5 % of the cache by default. Keys
 * are hashes over many groups, so that every write changes other pages, each of
 * which then reached the disk for almost every change. Checkpoints write a page
 * once for all of its changes, and come after a bounded number of these. */
#define EVICTION                                                               \
	"eviction_dirty_target=40,eviction_dirty_trigger=60,"                  \
	"eviction=(threads_min=1,threads_max=2)"

static int
try_open(struct engine_wt *e, struct arena *a, const char *more)
{
	const struct engine_config *c = &e->conf;
	const char *config = arena_printf(a,
	    "create,config_base=false,use_environment=false,"
	    "cache_size=%" PRIu64 ",session_max=%d,"
	    "log=(enabled=true,file_max=%" PRIu64 "),"
	    "transaction_sync=(enabled=true,method=fsync),"
	    "checkpoint=(wait=60,log_size=%" PRIu64 ")," EVICTION "%s",
	    c->cache_bytes, THREADS_MAX + 32, c->log_file_bytes,
	    c->checkpoint_log_bytes, more);

	return wiredtiger_open(e->dir, &e->handler.h, config, &e->conn);
}

static struct err *
wt_err(struct engine_wt *e, struct arena *a, const char *what, int r)
{
	return ERR(a, r == ENOSPC ? ERRCODE_DISK_FULL : ERRCODE_IO_ERROR,
	    "could not %s in data directory \"%s\": %s", what, e->dir,
	    wiredtiger_strerror(r));
}

static struct err *
verify_all(struct engine_wt *e, struct arena *a)
{
	WT_SESSION *s;
	int r = e->conn->open_session(e->conn, NULL, NULL, &s);

	for (int f = 0; r == 0 && f < KV_FILES; f++) {
		r = s->verify(s, uris[f], NULL);
		if (r == ENOENT)
			r = 0; /* not made yet */
		if (r != 0)
			break;
	}
	return r == 0 ? NULL : wt_err(e, a, "verify files", r);
}

/* A normal outcome of a power loss, once the log check has passed: the engine's
 * own files are put aside, and it is asked to repair them. */
static struct err *
open_by_salvage(struct engine_wt *e, struct arena *a)
{
	int r;

	LOG(e->base.world, LOG_WARN, "engine", "salvage", "dir=%s", e->dir);
	TRY(st_salvage_keep(a, e->dir));
	r = try_open(e, a, ",salvage=true");
	if (r != 0)
		return wt_err(e, a, "salvage the log", r);
	TRY(verify_all(e, a));
	atomic_store(&e->alarm, false);
	LOG(e->base.world, LOG_WARN, "engine", "salvaged", "dir=%s", e->dir);
	return NULL;
}

static struct err *
create_files(struct engine_wt *e, struct arena *a)
{
	WT_SESSION *s;
	int r = e->conn->open_session(e->conn, NULL, NULL, &s);

	for (int f = 0; r == 0 && f < KV_FILES; f++)
		r = s->create(s, uris[f], TABLE_OPTIONS);
	/* So that the files' existence does not hang on the log alone. */
	if (r == 0)
		r = s->checkpoint(s, NULL);
	if (r == 0)
		r = s->close(s, NULL);
	return r == 0 ? NULL : wt_err(e, a, "create files", r);
}

static struct err *
open_engine(struct engine_wt *e, struct arena *a)
{
	int r;

	TRY(refuse_full_disk(e, a));
	TRY(st_wal_check(a, e->dir));
	r = try_open(e, a, "");
	if (r == WT_TRY_SALVAGE)
		TRY(open_by_salvage(e, a));
	else if (r != 0)
		return wt_err(e, a, "open the engine", r);
	if (atomic_load(&e->alarm))
		return ERR(a, ERRCODE_DATA_CORRUPTED,
		    "the engine reports damage in data directory \"%s\"",
		    e->dir);
	return create_files(e, a);
}

static void
start_threads(struct engine_wt *e)
{
	int n = e->conf.threads < THREADS_MAX ? e->conf.threads : THREADS_MAX;

	kv_setup(e, &e->loop_kv, e->arena);
	if (n <= 0)
		return;
	e->workers = NEW_N(e->arena, struct worker, (size_t)n);
	e->n_workers = n;
	for (int i = 0; i < n; i++) {
		struct worker *w = &e->workers[i];

		w->engine = e;
		list_init(&w->queue);
		list_init(&w->incoming);
		pthread_cond_init(&w->wake, NULL);
		world_real_thread("skaidb-engine", worker_main, w, &w->thread);
	}
	pthread_cond_init(&e->flush_wake, NULL);
	world_real_thread("skaidb-flush", flusher_main, e, &e->flusher);
}

static void
stop_threads(struct engine_wt *e)
{
	pthread_mutex_lock(&e->lock);
	e->stop = true;
	for (int i = 0; i < e->n_workers; i++)
		pthread_cond_signal(&e->workers[i].wake);
	if (e->n_workers)
		pthread_cond_signal(&e->flush_wake);
	pthread_mutex_unlock(&e->lock);
	for (int i = 0; i < e->n_workers; i++)
		world_real_join(e->workers[i].thread);
	if (e->n_workers)
		world_real_join(e->flusher);
}

static void
wt_close(struct engine *base)
{
	struct engine_wt *e = engine_wt(base);
	int r;

	ASSERT(e->outstanding == 0);
	timer_clear(e->base.world, &e->disk_timer);
	flush_now(e, e->loop_kv.session);
	stop_threads(e);
	r = e->conn->close(e->conn, NULL);
	if (r != 0)
		die(e, "close", r);
	st_datadir_close(e->lock_fd);
	e->magic = 0;
}

static const struct engine_ops wt_engine_ops = {
    .submit = wt_submit,
    .flush = wt_flush,
    .close = wt_close,
    .writable = wt_writable,
    .disk_bytes = wt_disk_bytes,
};

static struct engine_wt *
new_engine(struct world *w, const struct engine_config *conf)
{
	struct engine_wt *e = NEW(w->arena, struct engine_wt);

	e->base.ops = &wt_engine_ops;
	e->base.world = w;
	e->magic = ENGINE_MAGIC;
	e->handler.h.handle_error = on_error;
	e->handler.h.handle_message = on_message;
	e->handler.engine = e;
	e->arena = arena_new(w->arena, "engine");
	e->conf = *conf;
	e->dir = arena_strdup(e->arena, conf->dir);
	e->conf.dir = e->dir;
	e->lock_fd = -1;
	pthread_mutex_init(&e->lock, NULL);
	list_init(&e->shared);
	list_init(&e->flushes);
	list_init(&e->durables);
	list_init(&e->in_durables);
	list_init(&e->done_jobs);
	list_init(&e->done_flushes);
	list_init(&e->in_shared);
	list_init(&e->in_flushes);
	list_init(&e->in_inline);
	return e;
}

struct err *
engine_wt_open(struct world *w, struct arena *a,
    const struct engine_config *conf, struct engine **out)
{
	struct engine_wt *e = new_engine(w, conf);
	struct err *err;

	*out = NULL;
	TRY(st_datadir_open(a, e->dir, &e->lock_fd));
	err = open_engine(e, a);
	if (err) {
		if (e->conn)
			(void)e->conn->close(e->conn, NULL);
		st_datadir_close(e->lock_fd);
		e->magic = 0;
		return err;
	}
	start_threads(e);
	disk_ev(e);
	*out = &e->base;
	return NULL;
}
