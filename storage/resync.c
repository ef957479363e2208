#include "storage/resync.h"

#include <inttypes.h>

#include "base/log.h"
#include "base/metrics.h"
#include "base/mutate.h"
#include "cluster/key.h"
#include "cluster/row.h"
#include "storage/apply.h"
#include "storage/books.h"
#include "storage/catalog.h"
#include "storage/config.h"
#include "storage/elect.h"
#include "storage/fill.h"
#include "storage/link.h"
#include "storage/pass.h"
#include "storage/peer.h"
#include "storage/slice.h"
#include "storage/txns.h"

/* Groups at once; the others wait for their turn. */
#define RESYNCS_MAX 4u
#define CALL_US     6000000u
#define PAUSE_US    200000u
#define FULL_US     100000u
#define CATALOG_US  1000000u
#define REACH_US    1000000u
/* Rows removed in one engine transaction. */
#define CLEAR_ROWS 1000u
#define CALLS_MAX  10000u /* of one state */

enum going {
	GOING_DONE,
	GOING_ON,
	GOING_AGAIN /* nothing came of it now: later */
};

/* One turn of one group. */
struct pull {
	struct st_node *node;
	struct st_group *group;
	struct arena *arena;
	uint32_t source;
};

static void
note_incomplete(struct st_group *g, bool incomplete)
{
	struct st_node *n = g->node;

	n->n_incomplete += incomplete ? 1 : -1u;
	metric_set(M_NODE_INCOMPLETE, n->n_incomplete);
	g->incomplete = incomplete;
}

/* ---- asking ---- */

/* The leader, as far as known; else each in turn, which makes one of them
 * stand. */
static uint32_t
whom_to_ask(struct pull *p)
{
	struct st_group *g = p->group;
	struct st_resync *r = &g->resync;
	uint32_t self = p->node->id.member, n = g->n_members;
	uint32_t known = r->hint ? r->hint : g->leader;

	r->hint = 0;
	if (known && known != self && known != r->refused &&
	    st_link_alive(p->node, known))
		return known;
	r->refused = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t m = g->members[r->asked++ % n];

		if (m != self && st_link_alive(p->node, m))
			return m;
	}
	return 0;
}

static const struct cl_resync_page *
ask(struct pull *p, struct arena *a, struct cl_resync_get *m)
{
	struct st_node *n = p->node;
	struct st_group *g = p->group;
	struct st_reply_msg reply;
	const struct cl_resync_page *page;
	struct err *e;

	m->placement = g->gid.placement;
	m->slot = g->gid.slot;
	m->epoch = g->gid.epoch;
	m->bytes = n->conf.resync_page;
	/* Whoever asks does not lead; others need not wait for the lease. */
	m->round = 0;
	if (g->promise.member == n->id.member &&
	    g->state == ST_GROUP_FOLLOWING) {
		m->round = g->promise.round;
		m->incarnation = g->promise.incarnation;
	}
	e = st_member_call(n, a, p->source, CL_MSG_RESYNC_GET, m,
	    world_mono_us(n->world) + CALL_US, &reply);
	if (e || reply.kind != CL_MSG_RESYNC_PAGE) {
		LOG(n->world, LOG_TRACE, "resync", "no_answer",
		    "member=%u why=\"%s\"", p->source,
		    e ? e->message : "an answer to something else");
		return NULL;
	}
	page = reply.msg;
	if (page->reason) {
		g->resync.hint = page->leader;
		g->resync.refused = p->source;
		LOG(n->world, LOG_TRACE, "resync", "refused",
		    "member=%u reason=%u", p->source, page->reason);
		return NULL;
	}
	/* What is the group's is said by the catalog: by one that is as new as
	 * that of the source. What the catalog's own group has is known, and
	 * it may have no leader who could tell news before this copy is
	 * complete. */
	if (g->gid.placement != CL_PLACEMENT_CATALOG &&
	    !st_catalog_wait(
		n, reply.catalog, world_mono_us(n->world) + CATALOG_US))
		return NULL;
	return page;
}

/* Keeps to the rate, which all groups of this node share. */
static void
throttle(struct st_node *n, size_t bytes)
{
	uint64_t now = world_mono_us(n->world);
	uint64_t until = n->resync_free_us > now ? n->resync_free_us : now;

	n->resync_free_us =
	    until + (uint64_t)bytes * 1000000 / (n->conf.resync_rate + 1);
	while (n->state <= ST_NODE_SERVING && world_mono_us(n->world) < until)
		cond_wait(&n->wakeup, until);
}

static bool
is_over(const struct st_node *n)
{
	return n->state > ST_NODE_SERVING;
}

/* A writing job of the group, with the newest catalog if it asks for one;
 * false: the node stops. */
static bool
run_write(struct pull *p, void (*job)(struct kv *kv, void *arg), void *arg,
    const struct cl_catalog **catalog, enum engine_result *r)
{
	struct st_node *n = p->node;

	for (;;) {
		if (catalog)
			*catalog = st_catalog_pin(n, p->arena);
		*r = engine_run(n->engine, st_group_lane(p->group->gid),
		    ENGINE_WRITE, job, arg);
		if (*r != ENGINE_FULL)
			return true;
		if (is_over(n))
			return false;
		fiber_sleep(n->world, world_mono_us(n->world) + FULL_US);
	}
}

/* ---- the state ---- */

struct piece {
	struct piece *next;
	struct str key, value;
};

struct state {
	struct arena *arena; /* a root */
	struct st_gid gid;
	const struct cl_catalog *catalog;
	struct st_group_record record;
	struct piece *pieces;
	struct piece **tail;
};

static bool
take_pieces(struct state *s, const struct cl_resync_page *page)
{
	for (uint32_t i = 0; i < page->n_rows; i++) {
		const struct cl_row *r = &page->rows[i];
		struct piece *x = NEW(s->arena, struct piece);
		bool session = r->key.len == 17 && r->key.p[0] == 'S';
		bool schema =
		    r->key.len == 5 && r->key.p[0] == 'V' && r->value.len == 4;

		if (!session && !schema && !st_txns_owns(r->key))
			return false;
		x->key = arena_str(s->arena, r->key);
		x->value = arena_str(s->arena, r->value);
		*s->tail = x;
		s->tail = &x->next;
	}
	s->record = (struct st_group_record){
	    .ballot = {page->round, page->member, page->incarnation},
	    .applied = page->index,
	    .stamp = page->stamp,
	    .floor = page->floor,
	    .catalog_version = page->catalog};
	return true;
}

/* All of it, as of one index. */
static bool
fetch_state(struct pull *p, struct state *s)
{
	struct cl_resync_get m = {
	    .what = CL_RESYNC_STATE, .applied = p->group->last};

	s->tail = &s->pieces;
	for (uint32_t i = 0; i < CALLS_MAX; i++) {
		struct arena *a = arena_new(p->arena, "state page");
		const struct cl_resync_page *page = ask(p, a, &m);
		bool ok = page && (!m.index || page->index == m.index) &&
			  take_pieces(s, page) && (page->done || page->n_rows);

		if (ok && !page->done) {
			m.index = page->index;
			m.after = arena_str(
			    s->arena, page->rows[page->n_rows - 1].key);
		} else {
			bool done = ok && page->done;

			arena_free(a);
			return done;
		}
		arena_free(a);
	}
	return false;
}

static void
del_letter(struct kv *kv, struct state *s, char letter)
{
	struct buf from;

	buf_init(&from, s->arena);
	buf_u8(&from, (uint8_t)letter);
	st_gid_put(&from, s->gid);
	kv_del_range(kv, KV_META, buf_view(&from),
	    cl_key_after_prefix(s->arena, buf_view(&from)));
}

/* From here on the books are those of the rows that are installed. */
static void
del_counts(struct kv *kv, struct state *s)
{
	uint32_t table;
	size_t at = 0;

	while (st_slice_each(s->catalog, s->gid, &at, &table)) {
		struct buf key;

		buf_init(&key, s->arena);
		st_key_count(&key, table, s->gid.slot);
		kv_del(kv, KV_META, buf_view(&key));
	}
}

/* Of the rows that are here none counts any more: all that are installed bring
 * their entries, so an index is as whole as the copy when that is complete. */
static void
clear_indexes(struct kv *kv, struct state *s)
{
	const struct st_index_record whole = {.state = ST_INDEX_WHOLE};
	const struct cl_index *def;
	uint32_t table;
	size_t at = 0;

	while (st_slice_each(s->catalog, s->gid, &at, &table)) {
		size_t i = 0;

		while ((def = cl_index_each(s->catalog, table, &i)) != NULL) {
			st_index_forget(kv, s->arena, def->id, s->gid.slot);
			if (def->state != CL_INDEX_FAILED)
				st_index_write(
				    kv, s->arena, def->id, s->gid.slot, &whole);
		}
	}
}

static void
put_group(struct kv *kv, struct state *s)
{
	const struct st_pass pass = {
	    .ballot = s->record.ballot, .begun = s->record.applied};
	struct buf key, value;

	buf_init(&key, s->arena);
	buf_init(&value, s->arena);
	st_key_group(&key, s->gid);
	st_group_record_put(&value, &s->record);
	kv_put(kv, KV_META, buf_view(&key), buf_view(&value));
	key.len = value.len = 0;
	st_key_pass(&key, s->gid);
	st_pass_put(&value, &pass);
	kv_put(kv, KV_META, buf_view(&key), buf_view(&value));
}

/* Everything that is not rows, at once. */
static void
adopt_job(struct kv *kv, void *arg)
{
	struct state *s = arg;
	struct buf key, from;

	for (const char *letter = "DESVY"; *letter; letter++)
		del_letter(kv, s, *letter);
	del_counts(kv, s);
	if (!mutate("index_resync_kept"))
		clear_indexes(kv, s);
	for (const struct piece *x = s->pieces; x && !kv_failed(kv);
	     x = x->next) {
		buf_init(&key, s->arena);
		buf_u8(&key, x->key.p[0]);
		st_gid_put(&key, s->gid);
		buf_str(&key, str_skip(x->key, 1));
		kv_put(kv, KV_META, buf_view(&key), x->value);
	}
	buf_init(&from, s->arena);
	st_gid_put(&from, s->gid);
	kv_del_range(kv, KV_LOG, buf_view(&from),
	    cl_key_after_prefix(s->arena, buf_view(&from)));
	put_group(kv, s);
}

/* The group in memory, as it would be loaded now. */
static struct err *
adopt_memory(struct st_group *g, const struct state *s)
{
	cl_stamp window = CL_STAMP_OF_MS(g->node->conf.retry_window_us / 1000);

	st_group_reset(g, &s->record);
	g->results = st_results_new(g->state_arena, window);
	for (const struct piece *x = s->pieces; x; x = x->next) {
		struct cur k = cur_of(str_skip(x->key, 1));
		struct cur v = cur_of(x->value);

		if (x->key.p[0] == 'V')
			st_group_set_schema(g, cur_be32(&k), cur_le32(&v));
		else if (st_txns_owns(x->key))
			TRY(st_txns_load(
			    s->arena, st_group_txns(g), x->key, x->value));
		else
			TRY(st_results_load(s->arena, g->results,
			    (const uint8_t *)x->key.p + 1, x->value));
	}
	st_results_loaded(g->results, g->applied);
	if (g->txns)
		st_txns_loaded(g->txns, g->applied);
	return NULL;
}

static void
observe_reset(const struct st_group *g)
{
	const struct st_observer *o = g->node->conf.observer;

	if (o && o->reset)
		o->reset(
		    o->arg, &(struct st_observed){.member = g->node->id.member,
				.placement = g->gid.placement,
				.slot = g->gid.slot,
				.epoch = g->gid.epoch,
				.round = g->applied_ballot.round,
				.ballot_member = g->applied_ballot.member,
				.incarnation = g->applied_ballot.incarnation,
				.index = g->applied});
}

/* Nothing of it may take back what this log has acknowledged, or applied. */
static bool
may_adopt(const struct st_group *g, const struct state *s)
{
	struct st_place there = {s->record.ballot, s->record.applied};

	return g->state == ST_GROUP_FOLLOWING && s->record.applied &&
	       s->record.applied >= g->applied &&
	       st_log_covers(there, st_group_log(g));
}

/* Are the records readable? Before anything is changed. */
static bool
is_sound(struct st_node *n, const struct state *s)
{
	struct arena *a = arena_new(n->arena, "check state");
	struct st_results *r = st_results_new(a, 1);
	struct st_locks locks;
	struct st_txns *t = st_txns_new(a, &locks, 1);
	bool ok = true;

	for (const struct piece *x = s->pieces; x && ok; x = x->next)
		if (x->key.p[0] == 'S')
			ok = !st_results_load(
			    a, r, (const uint8_t *)x->key.p + 1, x->value);
		else if (st_txns_owns(x->key))
			ok = !st_txns_load(a, t, x->key, x->value);
	arena_free(a);
	return ok;
}

static bool
adopt(struct pull *p, struct state *s)
{
	struct st_group *g = p->group;
	enum engine_result r;
	struct err *e;
	bool ok;

	st_group_hold(g);
	/* What is on its way to disk must not come after. */
	while (g->flushed < g->last)
		cond_wait_hard(&g->changed);
	ok = may_adopt(g, s) && run_write(p, adopt_job, s, &s->catalog, &r);
	if (ok) {
		engine_sync(p->node->engine);
		if (!g->incomplete)
			note_incomplete(g, true);
		g->resync.begun = true;
		g->resync.again = false;
		g->resync.place =
		    (struct st_place){s->record.ballot, s->record.applied};
		e = adopt_memory(g, s);
		ASSERT(!e); /* is_sound */
		/* What was promised may be less than what is adopted. */
		if (g->gid.placement == CL_PLACEMENT_CATALOG)
			st_config_load(g);
		observe_reset(g);
		LOG(p->node->world, LOG_INFO, "resync", "begun",
		    "placement=%u slot=%u index=%" PRIu64 " from=%u",
		    g->gid.placement, g->gid.slot, g->applied, p->source);
	}
	st_group_release(g);
	return ok;
}

static enum going
take_state(struct pull *p)
{
	struct st_group *g = p->group;
	struct st_scratch *scratch = st_scratch_new(p->node, "state");
	struct state s = {.arena = scratch->arena, .gid = g->gid};
	bool ok;

	if (g->state != ST_GROUP_FOLLOWING) {
		st_scratch_free(scratch);
		return GOING_AGAIN;
	}
	/* Meanwhile the log does not grow, or no state would ever cover it. */
	g->resync.deaf = true;
	ok = fetch_state(p, &s) && is_sound(p->node, &s);
	if (mutate("resync_rows_only")) {
		s.pieces = NULL;
		s.record.floor = 0;
	}
	ok = ok && adopt(p, &s);
	g->resync.deaf = false;
	cond_broadcast(&g->changed);
	st_scratch_free(scratch);
	return ok ? GOING_ON : GOING_AGAIN;
}

/* ---- rows ---- */

enum { INSTALL_OK, INSTALL_OLD, INSTALL_CROWDED, INSTALL_UNKNOWN };

struct install {
	struct arena *arena; /* a root */
	struct st_gid gid;
	const struct cl_catalog *catalog;
	const struct cl_resync_page *page;
	struct str after;
	int result;
	uint32_t cleared;
};

/* Removes rows of this copy in the page's range, up to a number: while it is
 * not installed nobody asks for them, and entries pass it by.  They are in no
 * books. */
static void
clear_job(struct kv *kv, void *arg)
{
	struct install *x = arg;
	struct st_slice s;
	struct str k, v;
	bool more;

	x->cleared = 0;
	st_slice_open(&s, kv, x->arena, x->catalog, x->gid);
	more = st_slice_seek(&s, x->after, &k, &v);
	while (more && x->cleared < CLEAR_ROWS && !kv_failed(kv)) {
		struct cl_row_head h;
		struct str key;
		struct buf b;

		if (x->page->upto.len && str_cmp(k, x->page->upto) > 0)
			break;
		key = arena_str(x->arena, k);
		if (cl_row_head(v, &h) && (h.flags & CL_ROW_TOMBSTONE)) {
			buf_init(&b, x->arena);
			st_key_tombstone(&b, x->gid, h.stamp, key);
			kv_del(kv, KV_META, buf_view(&b));
		}
		kv_del(kv, KV_ROWS, key);
		x->cleared++;
		more = st_slice_next(&s, &k, &v);
	}
	x->result = s.unknown ? INSTALL_UNKNOWN : INSTALL_OK;
	st_slice_close(&s);
}

static bool
read_pass(
    struct kv *kv, struct arena *a, struct st_gid gid, struct st_pass *out)
{
	struct buf key;
	struct str v;

	buf_init(&key, a);
	st_key_pass(&key, gid);
	return kv_get(kv, KV_META, buf_view(&key), &v) &&
	       st_pass_get(arena_str(a, v), out);
}

static uint64_t
read_applied(struct kv *kv, struct arena *a, struct st_gid gid)
{
	struct st_group_record r = {.applied = 0};
	struct buf key;
	struct str v;

	buf_init(&key, a);
	st_key_group(&key, gid);
	if (kv_get(kv, KV_META, buf_view(&key), &v))
		st_group_record_get(v, &r);
	return r.applied;
}

static void
put_rows(struct kv *kv, struct install *x)
{
	struct st_books b;
	uint32_t table, last = 0;
	uint16_t slot;
	struct str rest;
	bool ours = false;

	st_books_open(&b, kv, x->arena, x->catalog, x->gid);
	for (uint32_t i = 0; i < x->page->n_rows && !kv_failed(kv); i++) {
		const struct cl_row *r = &x->page->rows[i];

		cl_key_split(r->key, &table, &slot, &rest);
		if (table != last)
			ours = st_slice_has(x->catalog, x->gid, table);
		last = table;
		/* A table that is dropped here already is swept here. */
		if (ours)
			st_books_put(&b, r->key, r->value);
	}
	st_books_close(&b);
}

/* A page and the place up to which there are pages, at once: whole, or not. */
static void
install_job(struct kv *kv, void *arg)
{
	struct install *x = arg;
	uint64_t applied = read_applied(kv, x->arena, x->gid);
	struct st_pass pass;
	struct buf key, value;
	struct str upto;

	x->result = INSTALL_OLD;
	if (!read_pass(kv, x->arena, x->gid, &pass) ||
	    !str_eq(st_pass_end(&pass), x->after) ||
	    (applied > x->page->index && !mutate("resync_page_any_index"))) {
		kv_abort(kv);
		return;
	}
	upto = x->page->done ? ST_PASS_END : x->page->upto;
	if (!st_pass_add(&pass, upto, x->page->index, applied)) {
		x->result = INSTALL_CROWDED;
		kv_abort(kv);
		return;
	}
	put_rows(kv, x);
	buf_init(&key, x->arena);
	buf_init(&value, x->arena);
	st_key_pass(&key, x->gid);
	st_pass_put(&value, &pass);
	kv_put(kv, KV_META, buf_view(&key), buf_view(&value));
	x->result = INSTALL_OK;
}

/* Bytes from a socket: rows of this slot, in order, in the page's range. */
static bool
is_page(const struct cl_resync_page *page, struct st_gid gid, struct str after)
{
	struct str last = after, rest;
	struct cl_row_head h;
	uint32_t table;
	uint16_t slot;

	for (uint32_t i = 0; i < page->n_rows; i++) {
		const struct cl_row *r = &page->rows[i];

		if (!cl_key_split(r->key, &table, &slot, &rest) ||
		    slot != gid.slot || str_cmp(r->key, last) <= 0 ||
		    !cl_row_head(r->value, &h))
			return false;
		last = r->key;
	}
	return page->done || (page->n_rows && str_cmp(page->upto, last) >= 0 &&
				 str_cmp(page->upto, ST_PASS_END) < 0);
}

static bool
clear(struct pull *p, struct install *x)
{
	enum engine_result r;

	do
		if (!run_write(p, clear_job, x, &x->catalog, &r) ||
		    is_over(p->node))
			return false;
	while (x->cleared && x->result == INSTALL_OK);
	return x->result == INSTALL_OK;
}

static void
note_page(struct pull *p, const struct cl_resync_page *page)
{
	struct st_resync *r = &p->group->resync;
	size_t bytes = 0;

	for (uint32_t i = 0; i < page->n_rows; i++)
		bytes += page->rows[i].key.len + page->rows[i].value.len;
	r->rows += page->n_rows;
	r->bytes += bytes;
	metric_add(M_NODE_RESYNC_ROWS, page->n_rows);
	metric_add(M_NODE_RESYNC_BYTES, bytes);
	throttle(p->node, bytes);
}

/* Until more is applied, which lets ranges be told apart no longer. */
static void
wait_applied(struct st_group *g)
{
	cond_wait(&g->changed, world_mono_us(g->node->world) + REACH_US);
}

static enum going
install(struct pull *p, struct install *x)
{
	enum engine_result r;

	if (!is_page(x->page, x->gid, x->after)) {
		LOG(p->node->world, LOG_ERROR, "resync", "malformed_page",
		    "placement=%u slot=%u from=%u", x->gid.placement,
		    x->gid.slot, p->source);
		return GOING_AGAIN;
	}
	if (!clear(p, x) || !run_write(p, install_job, x, &x->catalog, &r))
		return GOING_AGAIN;
	return GOING_ON;
}

/* One page behind `after`. Nothing is applied from before it is asked for until
 * it is installed, so that it is not too old when it comes. */
static enum going
take_page(struct pull *p, struct st_scratch *s, struct str after)
{
	struct st_group *g = p->group;
	struct cl_resync_get m = {.what = CL_RESYNC_ROWS, .after = after};
	struct install x = {.arena = s->arena,
	    .gid = g->gid,
	    .after = after,
	    .result = INSTALL_OLD};
	enum going going = GOING_AGAIN;

	if (!mutate("resync_page_any_index"))
		st_group_hold(g);
	m.applied = g->applied;
	x.page = ask(p, p->arena, &m);
	/* Time for entries to come between, which is seldom in so short a
	 * while. */
	if (mutate("resync_page_any_index"))
		wait_applied(g);
	if (x.page)
		going = install(p, &x);
	if (!mutate("resync_page_any_index"))
		st_group_release(g);
	if (going != GOING_ON)
		return going;
	if (x.result == INSTALL_OK)
		note_page(p, x.page);
	else if (x.result == INSTALL_CROWDED)
		wait_applied(g);
	else
		return GOING_AGAIN;
	return GOING_ON;
}

/* ---- the end ---- */

struct finish {
	struct arena *arena; /* a root */
	struct st_gid gid;
	struct st_pass pass;
	struct str after;
	bool there, ended;
};

static void
look_job(struct kv *kv, void *arg)
{
	struct finish *f = arg;

	f->there = read_pass(kv, f->arena, f->gid, &f->pass);
}

static void
finish_job(struct kv *kv, void *arg)
{
	struct finish *f = arg;
	struct st_pass pass;
	struct buf key;

	f->ended = read_pass(kv, f->arena, f->gid, &pass) &&
		   str_eq(st_pass_end(&pass), ST_PASS_END) &&
		   read_applied(kv, f->arena, f->gid) >= st_pass_index(&pass);
	if (!f->ended)
		return;
	buf_init(&key, f->arena);
	st_key_pass(&key, f->gid);
	kv_del(kv, KV_META, buf_view(&key));
}

/* The catalog's copy becomes this node's catalog again, unless that is newer
 * already. */
static bool
adopt_catalog(struct st_group *g)
{
	struct arena *a = arena_new(g->node->arena, "catalog");
	struct err *e = st_catalog_rebuild(g->node, a, g);

	if (e)
		LOG(g->node->world, LOG_ERROR, "resync", "catalog",
		    "why=\"%s\"", e->message);
	else
		st_config_load(g);
	arena_free(a);
	return !e;
}

/* All rows are there, and are those of one index. It is on disk before
 * anything is acknowledged. */
static bool
finish(struct pull *p, struct finish *f)
{
	struct st_group *g = p->group;
	enum engine_result r;
	bool ok;

	st_group_hold(g);
	ok = run_write(p, finish_job, f, NULL, &r) && f->ended;
	if (ok) {
		engine_sync(p->node->engine);
		if (g->gid.placement == CL_PLACEMENT_CATALOG)
			adopt_catalog(g);
		g->resync.begun = g->resync.damaged = false;
		g->resync.again = false;
		note_incomplete(g, false);
		cond_broadcast(&g->changed);
		st_fill_wake(p->node);
		metric_inc(M_NODE_RESYNCS_ENDED);
		LOG(p->node->world, LOG_INFO, "resync", "ended",
		    "placement=%u slot=%u index=%" PRIu64 " rows=%" PRIu64,
		    g->gid.placement, g->gid.slot, g->applied, g->resync.rows);
	}
	st_group_release(g);
	return ok;
}

static enum going
take_rows(struct pull *p)
{
	struct st_group *g = p->group;
	struct st_scratch *s = st_scratch_new(p->node, "resync");
	struct finish f = {.arena = s->arena, .gid = g->gid};
	enum going going = GOING_ON;

	engine_run(
	    p->node->engine, st_group_lane(g->gid), ENGINE_READ, look_job, &f);
	ASSERT(f.there);
	if (!str_eq(st_pass_end(&f.pass), ST_PASS_END))
		going = take_page(p, s, st_pass_end(&f.pass));
	else if (g->applied < st_pass_index(&f.pass))
		wait_applied(g);
	else if (finish(p, &f))
		going = GOING_DONE;
	st_scratch_free(s);
	return going;
}

/* ---- turns ---- */

static bool
needs_state(const struct st_group *g)
{
	return !g->resync.begun || g->resync.again;
}

static enum going
step(struct st_group *g)
{
	struct st_node *n = g->node;
	struct pull p = {.node = n, .group = g};
	enum going going;

	/* Another leader had the entries after all. */
	if (!g->resync.begun && !g->resync.damaged &&
	    g->committed > g->resync.behind)
		return GOING_DONE;
	p.source = whom_to_ask(&p);
	if (!p.source)
		return GOING_AGAIN;
	p.arena = arena_new(n->arena, "resync");
	going = needs_state(g) ? take_state(&p) : take_rows(&p);
	arena_free(p.arena);
	return going;
}

/* Which indexes the rows here have is known only with the newest catalog since
 * the start (index.h). */
static bool
may_step(const struct st_group *g)
{
	return g->gid.placement == CL_PLACEMENT_CATALOG ||
	       g->node->catalog.followed;
}

/* The catalog's copy first: the others may have to wait for it. */
static void
put_in_queue(struct st_group *g)
{
	struct list *queue = &g->node->resyncs;

	list_push(
	    g->gid.placement == CL_PLACEMENT_CATALOG ? queue->next : queue,
	    &g->resync.link);
}

static void
worker(void *arg)
{
	struct st_node *n = TAKE(struct st_node, arg, ST_NODE_MAGIC);
	struct list *at;

	while (n->state <= ST_NODE_SERVING && (at = list_pop(&n->resyncs))) {
		struct st_group *g =
		    LIST_ENTRY(at, struct st_group, resync.link);
		enum going going = GOING_ON;

		g->resync.running = true;
		while (going == GOING_ON && n->state <= ST_NODE_SERVING)
			going = may_step(g) ? step(g) : GOING_AGAIN;
		g->resync.running = false;
		if (going == GOING_DONE)
			continue;
		put_in_queue(g);
		cond_wait(&n->wakeup, world_mono_us(n->world) + PAUSE_US);
	}
	n->n_resyncs--;
	st_background_end(n);
}

static void
enqueue(struct st_group *g)
{
	struct st_node *n = g->node;

	if (g->resync.running || list_linked(&g->resync.link) ||
	    n->state > ST_NODE_SERVING)
		return;
	put_in_queue(g);
	if (n->n_resyncs == RESYNCS_MAX)
		return;
	n->n_resyncs++;
	st_background(n, "resync", worker);
}

void
st_resync_want(struct st_group *g, uint64_t behind)
{
	if (g->resync.begun) {
		g->resync.again = true;
	} else {
		g->resync.behind = behind;
		if (!g->resync.running && !list_linked(&g->resync.link)) {
			metric_inc(M_NODE_RESYNCS);
			LOG(g->node->world, LOG_INFO, "resync", "wanted",
			    "placement=%u slot=%u applied=%" PRIu64
			    " behind=%" PRIu64,
			    g->gid.placement, g->gid.slot, g->applied, behind);
		}
	}
	enqueue(g);
}

void
st_resync_damaged(struct st_group *g)
{
	if (!st_group_complete(g))
		return;
	g->resync.damaged = true;
	metric_inc(M_NODE_RESYNCS);
	LOG(g->node->world, LOG_ERROR, "resync", "damaged",
	    "placement=%u slot=%u applied=%" PRIu64, g->gid.placement,
	    g->gid.slot, g->applied);
	st_group_step_down(g);
	cond_broadcast(&g->changed);
	enqueue(g);
}

void
st_resync_resume(struct st_group *g)
{
	note_incomplete(g, true);
	g->resync.begun = true;
	LOG(g->node->world, LOG_INFO, "resync", "resumed",
	    "placement=%u slot=%u applied=%" PRIu64, g->gid.placement,
	    g->gid.slot, g->applied);
	/* It may have been cut short before anybody saw it begin. */
	observe_reset(g);
	enqueue(g);
}

/* ---- after a start ---- */

struct unfinished {
	struct arena *arena; /* a root */
	struct st_gid *gids;
	size_t n, cap;
};

static void
unfinished_job(struct kv *kv, void *arg)
{
	struct unfinished *u = arg;
	struct kv_cur *c = kv_open(kv, KV_META);
	struct str k, v;
	bool more = kv_seek(c, STR("R"), &k, &v);

	u->n = 0;
	while (more && k.len == 1 + ST_GID_LEN && k.p[0] == 'R') {
		struct cur at = cur_of(str_skip(k, 1));

		if (u->n == u->cap) {
			size_t cap = u->cap ? u->cap * 2 : 16;

			u->gids = arena_grow(u->arena, u->gids,
			    u->cap * sizeof *u->gids, cap * sizeof *u->gids);
			u->cap = cap;
		}
		st_gid_get(&at, &u->gids[u->n++]);
		more = kv_next(c, &k, &v);
	}
	kv_close(c);
}

static void
start_fiber(void *arg)
{
	struct st_node *n = TAKE(struct st_node, arg, ST_NODE_MAGIC);
	struct st_scratch *s = st_scratch_new(n, "unfinished");
	struct unfinished u = {.arena = s->arena};
	enum cl_refusal why;

	engine_run(n->engine, ENGINE_LANE_ANY, ENGINE_READ, unfinished_job, &u);
	/* Loading a group goes on with its resync. */
	for (size_t i = 0; i < u.n && !is_over(n); i++)
		st_group_open(
		    n, u.gids[i], 0, world_mono_us(n->world) + CALL_US, &why);
	st_scratch_free(s);
	st_background_end(n);
}

void
st_resync_start(struct st_node *n)
{
	st_background(n, "resync start", start_fiber);
}
