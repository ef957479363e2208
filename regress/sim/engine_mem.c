#include "regress/sim/engine_mem.h"

#include <xxhash.h>

#include "base/map.h"
#include "regress/sim/mem_map.h"
#include "storage/kv.h"

#define ENGINE_MAGIC 0x454e4d4du

/* One change of a transaction, with what it takes to undo it. */
struct undo {
	struct undo *before; /* the change before it */
	enum { INSERTED, REPLACED, DELETED } kind;
	enum kv_file file;
	struct mem_node *node; /* DELETED: out of the map, kept here */
	struct str val;        /* REPLACED: the old value */
};

struct txn {
	struct list link; /* disk.unflushed */
	uint64_t number;
	struct undo *last;
};

struct engine_mem_disk {
	struct arena *arena;
	struct mem_pool pool;
	struct mem_map files[KV_FILES];
	struct list unflushed; /* in order of commit */
	uint64_t committed;    /* number of the last one */
	size_t n_unflushed;
};

struct mem_cur {
	struct kv_cur cur;
	struct mem_kv *kv;
	enum kv_file file;
	struct mem_node *node; /* while the map has not changed */
	uint64_t changes;
	struct str key;
	struct mem_cur *next;
};

struct mem_kv {
	struct kv kv;
	struct engine_mem_disk *disk;
	struct undo *last;
	struct mem_cur *cursors;
	uint32_t n_cursors;
};

/* Jobs of one lane, one after the other; a lane without order has one job. */
struct lane {
	struct list jobs;
	struct timer timer;
	struct engine_mem *engine;
	uint64_t id;
	bool busy;
	bool once;
	struct lane *spare;
};

struct flush {
	struct list link;
	void (*done)(void *arg);
	void *arg;
	struct flush *spare;
};

struct engine_mem {
	struct engine base;
	uint32_t magic;
	struct arena *arena;
	struct engine_mem_disk *disk;
	struct engine_mem_hooks hooks;
	struct map *lanes;
	struct lane *spare_lane;
	struct flush *spare_flush;
	struct list waiting; /* flushes not begun */
	struct list flushing;
	struct timer flush_timer;
	uint64_t flush_to;
	bool flush_busy;
	size_t outstanding;
};

/* ---- changes and their undoing ---- */

static struct mem_kv *
mem_kv(struct kv *kv)
{
	return CONTAINER(kv, struct mem_kv, kv);
}

static struct mem_cur *
mem_cur(struct kv_cur *c)
{
	return CONTAINER(c, struct mem_cur, cur);
}

static struct undo *
add_undo(struct mem_kv *kv, enum kv_file f, struct mem_node *n)
{
	struct undo *u = mem_pool_get(&kv->disk->pool, sizeof *u);

	*u = (struct undo){.before = kv->last, .file = f, .node = n};
	kv->last = u;
	return u;
}

static void
take_back(struct engine_mem_disk *d, struct undo *u)
{
	while (u) {
		struct undo *before = u->before;
		struct mem_map *m = &d->files[u->file];

		switch (u->kind) {
		case INSERTED:
			mem_map_unlink(m, u->node);
			mem_node_free(m, u->node);
			break;
		case REPLACED:
			mem_pool_put(
			    &d->pool, u->node->val.p, u->node->val.len);
			u->node->val = u->val;
			break;
		case DELETED:
			mem_map_link(m, u->node);
			break;
		}
		mem_pool_put(&d->pool, u, sizeof *u);
		u = before;
	}
}

/* It is flushed: what it replaced is of no use any more. */
static void
forget(struct engine_mem_disk *d, struct undo *u)
{
	while (u) {
		struct undo *before = u->before;

		if (u->kind == REPLACED)
			mem_pool_put(&d->pool, u->val.p, u->val.len);
		else if (u->kind == DELETED)
			mem_node_free(&d->files[u->file], u->node);
		mem_pool_put(&d->pool, u, sizeof *u);
		u = before;
	}
}

/* ---- inside a job ---- */

static bool
op_get(struct kv *base, enum kv_file f, struct str key, struct str *val)
{
	struct mem_kv *kv = mem_kv(base);
	const struct mem_node *n = mem_map_find(&kv->disk->files[f], key);

	if (base->failed || !n)
		return false;
	*val = n->val;
	return true;
}

static void
op_put(struct kv *base, enum kv_file f, struct str key, struct str val)
{
	struct mem_kv *kv = mem_kv(base);
	struct mem_map *m = &kv->disk->files[f];
	struct mem_node *n = mem_map_find(m, key);
	struct undo *u;

	if (base->failed)
		return;
	if (!n) {
		n = mem_node_new(m, key, val);
		mem_map_link(m, n);
		add_undo(kv, f, n)->kind = INSERTED;
		return;
	}
	u = add_undo(kv, f, n);
	u->kind = REPLACED;
	u->val = n->val;
	n->val = mem_pool_str(&kv->disk->pool, val);
}

static void
delete_node(struct mem_kv *kv, enum kv_file f, struct mem_node *n)
{
	mem_map_unlink(&kv->disk->files[f], n);
	add_undo(kv, f, n)->kind = DELETED;
}

static void
op_del(struct kv *base, enum kv_file f, struct str key)
{
	struct mem_kv *kv = mem_kv(base);
	struct mem_node *n = mem_map_find(&kv->disk->files[f], key);

	if (n && !base->failed)
		delete_node(kv, f, n);
}

static void
op_del_range(struct kv *base, enum kv_file f, struct str from, struct str to)
{
	struct mem_kv *kv = mem_kv(base);
	struct mem_node *n;

	while (!base->failed && (n = mem_map_from(&kv->disk->files[f], from)) &&
	       str_cmp(n->key, to) < 0)
		delete_node(kv, f, n);
}

static struct kv_cur *
op_open(struct kv *base, enum kv_file f)
{
	struct mem_kv *kv = mem_kv(base);
	struct mem_cur *c = mem_pool_get(&kv->disk->pool, sizeof *c);

	ASSERT(kv->n_cursors < KV_CURSORS_MAX);
	*c = (struct mem_cur){
	    .cur.ops = base->ops, .kv = kv, .file = f, .next = kv->cursors};
	kv->cursors = c;
	kv->n_cursors++;
	return &c->cur;
}

static bool
stand_on(struct mem_cur *c, struct mem_node *n, struct str *k, struct str *v)
{
	struct engine_mem_disk *d = c->kv->disk;
	struct str old = c->key;

	if (c->kv->kv.failed || !n)
		return false;
	c->key = mem_pool_str(&d->pool, n->key);
	mem_pool_put(&d->pool, old.p, old.len);
	c->node = n;
	c->changes = d->files[c->file].changes;
	*k = c->key;
	*v = n->val;
	return true;
}

static bool
op_seek(struct kv_cur *base, struct str key, struct str *k, struct str *v)
{
	struct mem_cur *c = mem_cur(base);

	return stand_on(
	    c, mem_map_from(&c->kv->disk->files[c->file], key), k, v);
}

static bool
op_seek_before(
    struct kv_cur *base, struct str key, struct str *k, struct str *v)
{
	struct mem_cur *c = mem_cur(base);

	return stand_on(
	    c, mem_map_below(&c->kv->disk->files[c->file], key), k, v);
}

static bool
op_next(struct kv_cur *base, struct str *k, struct str *v)
{
	struct mem_cur *c = mem_cur(base);
	struct mem_map *m = &c->kv->disk->files[c->file];

	return stand_on(c,
	    c->node && c->changes == m->changes ? c->node->next[0]
						: mem_map_above(m, c->key),
	    k, v);
}

static void
op_close(struct kv_cur *base)
{
	struct mem_cur *c = mem_cur(base), **at = &c->kv->cursors;
	struct mem_pool *pool = &c->kv->disk->pool;

	while (*at && *at != c)
		at = &(*at)->next;
	ASSERT(*at == c);
	*at = c->next;
	c->kv->n_cursors--;
	mem_pool_put(pool, c->key.p, c->key.len);
	mem_pool_put(pool, c, sizeof *c);
}

static const struct kv_ops mem_ops = {
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

/* ---- jobs ---- */

static void
attempt(struct mem_kv *kv, struct engine_mem *e, const struct engine_job *job)
{
	*kv = (struct mem_kv){.kv.ops = &mem_ops, .disk = e->disk};
	job->run(&kv->kv, job->arg);
	while (kv->cursors)
		op_close(&kv->cursors->cur);
}

static void
commit(struct engine_mem *e, struct mem_kv *kv)
{
	struct engine_mem_disk *d = e->disk;
	struct txn *t;

	if (!kv->last)
		return;
	t = mem_pool_get(&d->pool, sizeof *t);
	*t = (struct txn){.number = ++d->committed, .last = kv->last};
	list_push(&d->unflushed, &t->link);
	d->n_unflushed++;
}

static void
run_job(struct engine_mem *e, struct engine_job *job)
{
	const struct engine_mem_hooks *h = &e->hooks;
	struct mem_kv kv;

	job->result = ENGINE_OK;
	if (job->kind == ENGINE_WRITE && h->space &&
	    h->space(h->arg) == ENGINE_MEM_FULL) {
		job->result = ENGINE_FULL;
		return;
	}
	if (h->conflict && h->conflict(h->arg)) {
		attempt(&kv, e, job);
		take_back(e->disk, kv.last);
	}
	attempt(&kv, e, job);
	ASSERT(job->kind == ENGINE_WRITE || !kv.last);
	if (kv.kv.aborted) {
		take_back(e->disk, kv.last);
		job->result = ENGINE_ABORT;
		return;
	}
	commit(e, &kv);
}

static uint64_t
after(struct engine_mem *e, enum engine_mem_step step, uint64_t lane)
{
	uint64_t delay =
	    e->hooks.delay_us ? e->hooks.delay_us(e->hooks.arg, step, lane) : 0;

	return world_mono_us(e->base.world) + delay;
}

static void run_ev(void *arg);
static void mem_flush(struct engine *base, void (*done)(void *arg), void *arg);

static void
lane_next(struct lane *l)
{
	struct engine_mem *e = l->engine;

	l->busy = !list_empty(&l->jobs);
	if (l->busy) {
		timer_set(e->base.world, &l->timer,
		    after(e, ENGINE_MEM_RUN, l->id), run_ev, l);
	} else if (l->once) {
		l->spare = e->spare_lane;
		e->spare_lane = l;
	}
}

static void
done_ev(void *arg)
{
	struct lane *l = arg;
	struct list *at = list_pop(&l->jobs);
	struct engine_job *job;

	ASSERT(at);
	job = LIST_ENTRY(at, struct engine_job, link);
	l->engine->outstanding--;
	lane_next(l);
	job->done(job->arg, job->result);
}

static void
run_ev(void *arg)
{
	struct lane *l = arg;
	struct engine_mem *e = l->engine;

	const struct engine_job *job =
	    LIST_ENTRY(l->jobs.next, struct engine_job, link);

	ASSERT(e->magic == ENGINE_MAGIC);
	run_job(e, LIST_ENTRY(l->jobs.next, struct engine_job, link));
	if (job->durable) {
		mem_flush(&e->base, done_ev, l);
		return;
	}
	timer_set(e->base.world, &l->timer, after(e, ENGINE_MEM_DONE, l->id),
	    done_ev, l);
}

static struct lane *
lane_of(struct engine_mem *e, uint64_t id)
{
	struct lane *l = NULL;

	if (id == ENGINE_LANE_ANY) {
		l = e->spare_lane;
		if (l)
			e->spare_lane = l->spare;
	} else {
		l = map_get(e->lanes, MAP_KEY(&id));
	}
	if (l)
		return l;
	l = NEW(e->arena, struct lane);
	list_init(&l->jobs);
	l->engine = e;
	l->id = id;
	l->once = id == ENGINE_LANE_ANY;
	if (!l->once)
		map_put(e->lanes, MAP_KEY(&id), l);
	return l;
}

static struct engine_mem *
engine_mem(const struct engine *base)
{
	struct engine_mem *e =
	    CONTAINER((uintptr_t)base, struct engine_mem, base);

	ASSERT(e->magic == ENGINE_MAGIC);
	return e;
}

static void
mem_submit(struct engine *base, struct engine_job *job)
{
	struct engine_mem *e = engine_mem(base);
	struct lane *l = lane_of(e, job->lane);

	e->outstanding++;
	list_push(&l->jobs, &job->link);
	if (!l->busy)
		lane_next(l);
}

/* ---- flushes ---- */

static void flush_next(struct engine_mem *e);

static void
flushed_ev(void *arg)
{
	struct engine_mem *e = arg;
	struct engine_mem_disk *d = e->disk;
	struct list done, *at;

	if (e->hooks.io_error && e->hooks.io_error(e->hooks.arg)) {
		e->hooks.died(e->hooks.arg);
		return;
	}
	while (!list_empty(&d->unflushed)) {
		struct txn *t = LIST_ENTRY(d->unflushed.next, struct txn, link);

		if (t->number > e->flush_to)
			break;
		list_del(&t->link);
		d->n_unflushed--;
		forget(d, t->last);
		mem_pool_put(&d->pool, t, sizeof *t);
	}
	list_init(&done);
	while ((at = list_pop(&e->flushing)))
		list_push(&done, at);
	e->flush_busy = false;
	flush_next(e);
	while ((at = list_pop(&done))) {
		struct flush *f = LIST_ENTRY(at, struct flush, link);
		struct flush copy = *f;

		f->spare = e->spare_flush;
		e->spare_flush = f;
		e->outstanding--;
		copy.done(copy.arg);
	}
}

static void
flush_next(struct engine_mem *e)
{
	struct list *at;

	if (e->flush_busy || list_empty(&e->waiting))
		return;
	e->flush_busy = true;
	while ((at = list_pop(&e->waiting)))
		list_push(&e->flushing, at);
	e->flush_to = e->disk->committed;
	timer_set(e->base.world, &e->flush_timer, after(e, ENGINE_MEM_FLUSH, 0),
	    flushed_ev, e);
}

static void
mem_flush(struct engine *base, void (*done)(void *arg), void *arg)
{
	struct engine_mem *e = engine_mem(base);
	struct flush *f = e->spare_flush;

	if (f)
		e->spare_flush = f->spare;
	else
		f = NEW(e->arena, struct flush);
	*f = (struct flush){.done = done, .arg = arg};
	e->outstanding++;
	list_push(&e->waiting, &f->link);
	flush_next(e);
}

/* ---- the rest ---- */

static bool
mem_writable(const struct engine *base)
{
	const struct engine_mem *e = engine_mem(base);

	return !e->hooks.space ||
	       e->hooks.space(e->hooks.arg) == ENGINE_MEM_ROOM;
}

static uint64_t
mem_disk_bytes(const struct engine *base)
{
	return arena_bytes(engine_mem(base)->disk->arena);
}

static void
mem_close(struct engine *base)
{
	struct engine_mem *e = engine_mem(base);

	ASSERT(e->outstanding == 0);
	e->magic = 0;
}

static const struct engine_ops mem_engine_ops = {
    .submit = mem_submit,
    .flush = mem_flush,
    .close = mem_close,
    .writable = mem_writable,
    .disk_bytes = mem_disk_bytes,
};

struct engine_mem_disk *
engine_mem_disk_new(struct arena *a)
{
	struct arena *own = arena_new(a, "disk");
	struct engine_mem_disk *d = NEW(own, struct engine_mem_disk);

	d->arena = own;
	d->pool.arena = own;
	for (int f = 0; f < KV_FILES; f++)
		mem_map_init(&d->files[f], &d->pool,
		    0x9e3779b97f4a7c15u * (uint64_t)(f + 1));
	list_init(&d->unflushed);
	return d;
}

struct err *
engine_mem_open(struct world *w, struct arena *a, struct engine_mem_disk *disk,
    const struct engine_mem_hooks *hooks, struct engine **out)
{
	struct arena *own = arena_new(w->arena, "engine");
	struct engine_mem *e = NEW(own, struct engine_mem);

	(void)a;
	e->base.ops = &mem_engine_ops;
	e->base.world = w;
	e->magic = ENGINE_MAGIC;
	e->arena = own;
	e->disk = disk;
	if (hooks)
		e->hooks = *hooks;
	e->lanes = map_new(own);
	list_init(&e->waiting);
	list_init(&e->flushing);
	*out = &e->base;
	return NULL;
}

size_t
engine_mem_crash(struct engine_mem_disk *d, uint64_t seed)
{
	uint64_t x = seed * 0x9e3779b97f4a7c15u;
	size_t keep, lost = 0;

	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9u;
	x ^= x >> 32;
	keep = (size_t)(x % (d->n_unflushed + 1));
	while (d->n_unflushed > keep) {
		struct txn *t = LIST_ENTRY(d->unflushed.prev, struct txn, link);

		list_del(&t->link);
		d->n_unflushed--;
		lost++;
		take_back(d, t->last);
		mem_pool_put(&d->pool, t, sizeof *t);
	}
	/* What is left came through: it is on disk now. */
	while (!list_empty(&d->unflushed)) {
		struct txn *t = LIST_ENTRY(d->unflushed.next, struct txn, link);

		list_del(&t->link);
		forget(d, t->last);
		mem_pool_put(&d->pool, t, sizeof *t);
	}
	d->n_unflushed = 0;
	return lost;
}

size_t
engine_mem_unflushed(const struct engine_mem_disk *d)
{
	return d->n_unflushed;
}

void
engine_mem_each(const struct engine_mem_disk *d, enum kv_file f,
    struct str from, bool (*fn)(void *arg, struct str key, struct str val),
    void *arg)
{
	const struct mem_node *n = mem_map_from(&d->files[f], from);

	while (n && fn(arg, n->key, n->val))
		n = n->next[0];
}

void
engine_mem_add(
    struct engine_mem_disk *d, enum kv_file f, struct str key, struct str val)
{
	ASSERT(!mem_map_find(&d->files[f], key));
	mem_map_link(&d->files[f], mem_node_new(&d->files[f], key, val));
}

void
engine_mem_damage(
    struct engine_mem_disk *d, enum kv_file f, struct str key, size_t at)
{
	const struct mem_node *n = mem_map_find(&d->files[f], key);
	uint8_t *val;

	ASSERT(n && at < n->val.len);
	memcpy(&val, &n->val.p, sizeof val);
	val[at] ^= 1;
}

uint64_t
engine_mem_digest(const struct engine_mem_disk *d)
{
	XXH64_hash_t h = 0;

	for (int f = 0; f < KV_FILES; f++)
		for (const struct mem_node *n = d->files[f].head->next[0]; n;
		     n = n->next[0]) {
			h = XXH3_64bits_withSeed(n->key.p, n->key.len, h + 1);
			h = XXH3_64bits_withSeed(n->val.p, n->val.len, h);
		}
	return h;
}
