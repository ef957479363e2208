/* Scans: one feed per leading node over the slots that it leads, pages pulled
 * one ahead of the reader, merged by key, be it the rows' or an index'.  A node
 * keeps nothing between pages, so a feed survives a restarted node; when slots
 * have moved or are led by others, or the node is away, what a feed had left is
 * shared out anew. */
#include "gateway/access.h"
#include "gateway/source_int.h"

#include "base/fiber.h"
#include "base/metrics.h"
#include "cluster/key.h"
#include "expr/table.h"
#include "gateway/propose.h"
#include "gateway/trace.h"
#include "gateway/worker.h"

struct page {
	struct arena *arena; /* NULL: no page */
	const struct cl_page *in;
	uint32_t at; /* next row */
};

struct feed {
	struct sql_scan *scan;
	uint32_t leader;
	struct cl_scan msg;
	struct cl_scan_more more;
	struct cl_scan_index by_index;
	struct buf resume;
	bool resumed;    /* pages came: ask for more with the resume key */
	struct buf last; /* row key of the last row that came */
	struct page cur, ahead;
	struct gw_call call;
	struct arena *call_arena; /* with a call under way */
	struct gw_peer *peer;     /* that it goes to */
	uint64_t sent_us;
	bool done;   /* no more pages to ask for */
	bool queued; /* in the heap */
	bool failed; /* since its last page: look again whom to ask */
	bool others; /* some slot has other members */
	bool missed; /* no node served it so far, and one was asked */
	uint64_t retry_us;
	uint64_t count;
};

/* Where a slot's part of the scan goes. */
struct whom {
	struct gw_aim aim;
	bool paused; /* not before the feed's retry_us */
};

struct sql_scan {
	struct gw_source *src;
	struct arena *arena;
	const struct sql_scan_req *what;
	struct str filter; /* encoded; empty once nodes could not take it */
	bool local_filter;
	struct whom *whom; /* by slot */
	uint32_t n_whom;
	struct feed **feeds;
	size_t n, cap;
	struct feed **heap; /* feeds with a row, the first one on top */
	size_t n_heap;
	uint64_t emitted;
	/* Feeds without a row at hand that are not over, when last looked. */
	size_t waiting;
	bool look; /* something changed since */
	struct cond wake;
	const char *why;
};

/* ---- keys ---- */

/* What rows are in the order of: the primary key, or the key in the index, at
 * the end of which that is. */
static struct str
row_order(const struct sql_scan *sc, struct str key)
{
	struct str rest = str_skip(key, CL_KEY_PREFIX);

	if (sc->what->index)
		rest.len -= 2;
	return rest;
}

static struct str
row_pk(const struct sql_scan *sc, struct str key)
{
	struct str order = row_order(sc, key);
	struct cur c = cur_of(str_skip(key, CL_KEY_PREFIX + order.len));

	return sc->what->index ? str_skip(order, order.len - cur_be16(&c))
			       : order;
}

/* Bytes from a node: a key of what is scanned. */
static bool
row_key_sound(const struct sql_scan *sc, struct str key, uint16_t *slot)
{
	const struct cl_index *index = sc->what->index;
	struct str rest;
	uint32_t id;
	struct cur c;

	if (!cl_key_split(key, &id, slot, &rest) ||
	    id != (index ? index->id : sc->what->table->id))
		return false;
	if (!index)
		return true;
	if (rest.len < 2)
		return false;
	c = cur_of(str_skip(rest, rest.len - 2));
	return cur_be16(&c) <= rest.len - 2;
}

/* ---- feeds ---- */

/* Says which arena a call's answer goes to, to that arena's cleanup. */
struct call_home {
	struct feed *feed;
	struct arena *arena;
};

/* A scan whose arena goes unclosed must not leave a call behind. By the time a
 * page is dropped the feed's call has another home. */
static void
call_cleanup(void *arg)
{
	struct call_home *home = arg;

	if (home->feed->call_arena == home->arena)
		gw_call_abandon(&home->feed->call, NULL);
}

static void
page_drop(struct page *p)
{
	arena_free(p->arena);
	*p = (struct page){0};
}

static void
buf_set(struct buf *b, struct str s)
{
	b->len = 0;
	buf_put(b, s.p, s.len);
}

static uint8_t
scan_flags(const struct sql_scan *sc)
{
	uint8_t flags = 0;

	if (sc->what->count_only && !sc->local_filter)
		return CL_SCAN_COUNT | CL_SCAN_SOME;
	flags |= CL_SCAN_SOME;
	if (sc->what->ordered)
		flags |= CL_SCAN_ORDERED;
	if (sc->what->reverse)
		flags |= CL_SCAN_REVERSE;
	return flags;
}

static void
scan_add(struct sql_scan *sc, struct feed *st)
{
	if (sc->n == sc->cap) {
		size_t cap = sc->cap ? 2 * sc->cap : 8;

		sc->feeds = arena_grow(sc->arena, sc->feeds,
		    sc->cap * sizeof *sc->feeds, cap * sizeof *sc->feeds);
		sc->heap = arena_grow(sc->arena, sc->heap,
		    sc->cap * sizeof *sc->heap, cap * sizeof *sc->heap);
		sc->cap = cap;
	}
	sc->feeds[sc->n++] = st;
}

static struct feed *
feed_new(struct sql_scan *sc, uint32_t leader, struct str start, struct str end)
{
	const struct sql_scan_req *what = sc->what;
	struct feed *st = NEW(sc->arena, struct feed);

	st->scan = sc;
	st->leader = leader;
	buf_init(&st->resume, sc->arena);
	buf_init(&st->last, sc->arena);
	st->msg.placement = what->table->placement;
	st->msg.table = what->table->id;
	st->msg.consistency = (uint8_t)sc->src->stmt->consistency;
	st->msg.slots = NEW_N(sc->arena, struct cl_slot_ref, sc->n_whom);
	st->msg.start = start;
	st->msg.end = end;
	st->msg.flags = scan_flags(sc);
	st->msg.filter = sc->local_filter ? STR_NONE : sc->filter;
	st->msg.limit = sc->local_filter ? 0 : what->limit;
	st->msg.bytes = (uint32_t)sc->src->stmt->worker->conf->page_bytes;
	st->msg.columns =
	    NEW_N(sc->arena, struct cl_column_ref, what->n_columns + 1);
	st->msg.n_columns = what->n_columns;
	for (uint32_t i = 0; i < what->n_columns; i++)
		st->msg.columns[i].id = what->columns[i];
	scan_add(sc, st);
	return st;
}

static bool
scan_route(const struct sql_scan *sc, uint16_t slot, struct gw_route *to)
{
	return gw_route_slot(gw_catalog_now(sc->src->stmt->worker->catalog),
	    sc->what->table->placement, slot, to);
}

/* Who is to be asked for a slot now; 0, with *to empty, when the catalog does
 * not know. */
static uint32_t
scan_whom(struct sql_scan *sc, uint16_t slot, struct gw_route *to)
{
	*to = (struct gw_route){.epoch = 0};
	if (!scan_route(sc, slot, to))
		return 0;
	return gw_aim_at(
	    &sc->whom[slot].aim, sc->src->stmt->worker->leaders, to);
}

/* A feed that may take more slots that `leader` serves. */
static struct feed *
feed_open(const struct sql_scan *sc, size_t first, uint32_t leader, bool paused)
{
	for (size_t i = first; i < sc->n; i++) {
		struct feed *st = sc->feeds[i];

		if (st->leader == leader && st->failed == paused)
			return st;
	}
	return NULL;
}

/* Shares slots out to the nodes that serve them now; feeds from the first-th
 * on are open for more slots. */
static void
share_slot(struct sql_scan *sc, size_t first, uint16_t slot, struct str start,
    struct str end)
{
	struct gw_route to;
	/* Unknown: a feed of its own that asks again. */
	uint32_t leader = scan_whom(sc, slot, &to);
	struct whom *whom = &sc->whom[slot];
	struct feed *st = feed_open(sc, first, leader, whom->paused);

	if (!st) {
		st = feed_new(sc, leader, start, end);
		if (whom->paused) {
			st->failed = true;
			st->retry_us = gw_stmt_retry_at(
			    sc->src->stmt, gw_aim_pace(&whom->aim));
		}
	}
	whom->paused = false;
	st->missed |= whom->aim.tried || whom->aim.rounds;
	st->others |= to.n > 1;
	st->msg.slots[st->msg.n_slots++] = (struct cl_slot_ref){slot, to.epoch};
}

/* True when the slots are to be asked for elsewhere than the feed does. */
static bool
feed_moved(const struct feed *st)
{
	struct gw_route to;

	for (uint32_t i = 0; i < st->msg.n_slots; i++) {
		uint32_t leader =
		    scan_whom(st->scan, st->msg.slots[i].slot, &to);

		if (leader && (leader != st->leader ||
				  to.epoch != st->msg.slots[i].epoch))
			return true;
	}
	return false;
}

/* The smallest key above `key`. */
static struct str
key_next(struct arena *a, struct str key)
{
	struct buf b;

	buf_init(&b, a);
	buf_str(&b, key);
	buf_u8(&b, 0);
	return buf_view(&b);
}

/* What an unordered feed, which goes slot by slot, has left: the slot of its
 * last row from there on, and the slots after it. */
static void
share_rest_by_slot(struct feed *st, uint16_t at, struct str last)
{
	struct sql_scan *sc = st->scan;
	size_t first;
	uint32_t i = 0;

	while (i < st->msg.n_slots && st->msg.slots[i].slot != at)
		i++;
	ASSERT(i < st->msg.n_slots);
	share_slot(sc, sc->n, at, key_next(sc->arena, last), st->msg.end);
	first = sc->n;
	for (i++; i < st->msg.n_slots; i++)
		share_slot(sc, first, st->msg.slots[i].slot, st->msg.start,
		    st->msg.end);
}

/* Ends this feed's asking; its pages at hand stay good. */
static void
feed_reroute(struct feed *st)
{
	struct sql_scan *sc = st->scan;
	struct str start = st->msg.start, end = st->msg.end, last;
	uint16_t slot;
	size_t first = sc->n;

	st->done = true;
	st->count = 0;
	if (st->last.len) {
		ASSERT(row_key_sound(sc, buf_view(&st->last), &slot));
		last = row_order(sc, buf_view(&st->last));
		if (!sc->what->ordered) {
			share_rest_by_slot(st, slot, last);
			return;
		}
		if (sc->what->reverse)
			end = arena_str(sc->arena, last);
		else
			start = key_next(sc->arena, last);
	}
	for (uint32_t i = 0; i < st->msg.n_slots; i++)
		share_slot(sc, first, st->msg.slots[i].slot, start, end);
}

/* ---- pages ---- */

/* Sends for the next page: the first, or the one behind the resume key. */
static void
feed_begin(struct feed *st, struct gw_peer *peer)
{
	const struct cl_index *index = st->scan->what->index;
	struct str resume = st->resumed ? buf_view(&st->resume) : STR_NONE;
	struct buf scan;

	if (!index && !st->resumed) {
		gw_call_begin(peer, &st->call, CL_MSG_SCAN, &st->msg);
		return;
	}
	buf_init(&scan, st->call_arena);
	cl_msg_encode(&scan, CL_MSG_SCAN, &st->msg);
	if (index) {
		st->by_index =
		    (struct cl_scan_index){index->id, resume, buf_view(&scan)};
		gw_call_begin(
		    peer, &st->call, CL_MSG_SCAN_INDEX, &st->by_index);
		return;
	}
	st->more = (struct cl_scan_more){resume, buf_view(&scan)};
	gw_call_begin(peer, &st->call, CL_MSG_SCAN_MORE, &st->more);
}

static void
feed_ask(struct feed *st)
{
	struct sql_scan *sc = st->scan;
	struct gw_worker *w = sc->src->stmt->worker;
	struct gw_peer *peer =
	    gw_peers_member(w->peers, gw_catalog_now(w->catalog), st->leader);
	bool lost = peer && st->others && gw_peer_lost(peer, CL_MSG_SCAN);
	struct call_home *home;

	st->call_arena = arena_new(sc->arena, "page");
	home = NEW(st->call_arena, struct call_home);
	*home = (struct call_home){st, st->call_arena};
	arena_cleanup(st->call_arena, call_cleanup, home);
	st->call = (struct gw_call){.arena = st->call_arena, .wake = &sc->wake};
	st->peer = peer;
	st->sent_us = world_mono_us(w->world);
	if (!peer || lost) {
		st->call.kind = CL_MSG_SCAN;
		st->call.state = GW_CALL_DONE;
		st->call.result = GW_NOT_SENT;
		st->call.why = lost ? "cannot be reached"
				    : "the catalog knows no node for the slot";
		return;
	}
	feed_begin(st, peer);
}

/* Keeps one page ahead of the reader. */
static void
feed_pull(struct feed *st)
{
	struct world *w = st->scan->src->stmt->worker->world;

	if (st->done || st->call_arena || st->ahead.arena ||
	    world_mono_us(w) < st->retry_us)
		return;
	if (st->failed && feed_moved(st))
		feed_reroute(st);
	else
		feed_ask(st);
}

/* The call is over and brought nothing: asks again at that time. */
static void
feed_retry(struct feed *st, const char *why, uint64_t retry_us)
{
	struct sql_scan *sc = st->scan;

	sc->why = gw_stmt_at_node(sc->arena, st->leader, why);
	st->failed = st->missed = true;
	st->retry_us = retry_us;
	gw_catalog_refresh(sc->src->stmt->worker->catalog);
	arena_free(st->call_arena);
	st->call_arena = NULL;
}

/* Another member may answer: one that is asked because it leads does not, when
 * it has yet to fill in the index. */
static bool
reason_elsewhere(const struct feed *st)
{
	const struct cl_page *in = st->call.reply;
	enum cl_refusal reason = (enum cl_refusal)in->reason;

	return gw_source_elsewhere(reason) ||
	       (reason == CL_REFUSE_INDEX && st->msg.consistency == CL_ONE);
}

/* What the end of a call says about slot i: false, when that one is to be asked
 * for after a pause. */
static bool
slot_missed(struct feed *st, uint32_t i, bool listed)
{
	struct sql_scan *sc = st->scan;
	struct gw_leaders *l = sc->src->stmt->worker->leaders;
	const struct cl_page *in = st->call.reply;
	uint16_t slot = st->msg.slots[i].slot;
	struct gw_aim *aim = &sc->whom[slot].aim;
	struct gw_route to;
	uint32_t hint;

	if (!scan_route(sc, slot, &to)) {
		aim->rounds++;
		return false;
	}
	if (st->call.result != GW_OK)
		return gw_aim_missed(aim, l, &to,
		    !st->peer || gw_peer_lost(st->peer, CL_MSG_SCAN));
	if (!reason_elsewhere(st)) {
		gw_aim_wait(aim);
		return false;
	}
	if (gw_source_hint(in->elsewhere, in->n_elsewhere, &to, &hint) ||
	    !listed)
		return gw_aim_refused(aim, l, &to, hint);
	/* Others in the request are led elsewhere, this one is not. */
	return true;
}

/* The refusal names slots of this feed. */
static bool
feed_listed(const struct feed *st)
{
	const struct cl_page *in = st->call.reply;
	struct gw_route to;
	uint32_t hint;

	if (st->call.result != GW_OK)
		return false;
	for (uint32_t i = 0; i < st->msg.n_slots; i++) {
		if (scan_route(st->scan, st->msg.slots[i].slot, &to) &&
		    gw_source_hint(in->elsewhere, in->n_elsewhere, &to, &hint))
			return true;
	}
	return false;
}

/* The node did not serve the feed: other nodes may, some of its slots at once
 * and some after a pause. */
static void
feed_missed(struct feed *st, const char *why)
{
	struct sql_scan *sc = st->scan;
	struct gw_stmt *stmt = sc->src->stmt;
	uint64_t now = world_mono_us(stmt->worker->world);
	bool listed = feed_listed(st);
	uint32_t paused = 0;
	unsigned pace = 1;

	for (uint32_t i = 0; i < st->msg.n_slots; i++) {
		struct whom *whom = &sc->whom[st->msg.slots[i].slot];

		whom->paused = !slot_missed(st, i, listed);
		if (whom->paused && gw_aim_pace(&whom->aim) > pace)
			pace = gw_aim_pace(&whom->aim);
		paused += whom->paused;
	}
	if (paused == st->msg.n_slots) {
		for (uint32_t i = 0; i < st->msg.n_slots; i++)
			sc->whom[st->msg.slots[i].slot].paused = false;
		feed_retry(st, why, gw_stmt_retry_at(stmt, pace));
		return;
	}
	feed_retry(st, why, now);
	feed_reroute(st);
}

/* The node answered for these slots. */
static void
feed_served(struct feed *st)
{
	struct sql_scan *sc = st->scan;
	struct gw_leaders *l = sc->src->stmt->worker->leaders;
	struct gw_route to;

	for (uint32_t i = 0; i < st->msg.n_slots; i++) {
		uint16_t slot = st->msg.slots[i].slot;

		if (scan_route(sc, slot, &to))
			gw_aim_served(&sc->whom[slot].aim, l, &to);
	}
}

/* A node does not know a function of the filter: filter here. Nothing of this
 * feed has been read yet, since every page would have failed. */
static struct err *
feed_failed(struct feed *st)
{
	struct sql_scan *sc = st->scan;
	struct err *e = gw_source_failure(sc->arena, st->call.failure);

	if (!st->msg.filter.len || !err_is(e, ERRCODE_FEATURE_NOT_SUPPORTED))
		return e;
	sc->local_filter = true;
	st->msg.filter = STR_NONE;
	st->msg.limit = 0;
	st->msg.flags = scan_flags(sc);
	feed_retry(st, "a node could not evaluate the filter",
	    gw_stmt_retry_at(sc->src->stmt, 1));
	return NULL;
}

/* Is this the slot of a row that the feed asked for? */
static bool
feed_has(const struct feed *st, uint16_t slot)
{
	for (uint32_t i = 0; i < st->msg.n_slots; i++) {
		if (st->msg.slots[i].slot == slot)
			return true;
	}
	return false;
}

static struct err *
page_check(const struct feed *st, struct arena *a, const struct cl_page *in)
{
	for (uint32_t i = 0; i < in->n_rows; i++) {
		uint16_t slot;

		if (!row_key_sound(st->scan, in->rows[i].key, &slot) ||
		    (i + 1 == in->n_rows && !feed_has(st, slot)))
			return ERR(a, ERRCODE_PROTOCOL_VIOLATION,
			    "a node sent a row that was not asked for");
	}
	if (!in->done && !in->resume.len)
		return ERR(a, ERRCODE_PROTOCOL_VIOLATION,
		    "a node sent a page that cannot be continued");
	return NULL;
}

static struct err *
feed_take(struct feed *st, const struct cl_page *in)
{
	struct page page = {st->call_arena, in, 0};

	TRY(page_check(st, st->scan->arena, in));
	metric_inc(M_GW_PAGES);
	gw_stmt_progress(st->scan->src->stmt);
	if (st->failed || !st->resumed)
		feed_served(st);
	st->call_arena = NULL;
	st->failed = st->missed = false;
	st->count += in->count;
	st->done = in->done;
	st->resumed = true;
	buf_set(&st->resume, in->resume);
	if (in->n_rows)
		buf_set(&st->last, in->rows[in->n_rows - 1].key);
	if (!in->n_rows)
		page_drop(&page);
	else if (st->cur.arena)
		st->ahead = page;
	else
		st->cur = page;
	return NULL;
}

static void
feed_trace(const struct feed *st)
{
	struct gw_span span = {.call = &st->call,
	    .begun_us = st->sent_us,
	    .node = st->leader,
	    .placement = st->msg.placement,
	    .slot = st->msg.slots[0].slot,
	    .n_slots = st->msg.n_slots};

	gw_trace_add(st->scan->src->stmt->trace, &span);
}

/* 40001, and the statement is stale, when the table or the index is not what
 * the statement was planned with. */
static struct err *
scan_fresh(struct sql_scan *sc)
{
	const struct cl_index *index = sc->what->index, *now;

	TRY(gw_source_fresh(sc->src, sc->arena, sc->what->table));
	if (!index)
		return NULL;
	now = cl_catalog_index(
	    gw_catalog_now(sc->src->stmt->worker->catalog), index->id);
	return now && now->state == CL_INDEX_PUBLIC
		   ? NULL
		   : gw_source_stale(sc->src, sc->arena);
}

/* A refusal of the page. */
static struct err *
feed_refused(struct feed *st, enum cl_refusal reason)
{
	struct sql_scan *sc = st->scan;

	if (reason == CL_REFUSE_DROPPED) {
		sc->src->stmt->stale = true;
		return ERR(sc->arena, ERRCODE_UNDEFINED_TABLE,
		    "the table was dropped while the statement ran");
	}
	if (reason == CL_REFUSE_CATALOG)
		TRY(scan_fresh(sc));
	metric_inc(M_GW_REFUSED);
	feed_missed(st, gw_refusal_text(reason));
	return NULL;
}

/* Takes note of what arrived. */
static struct err *
feed_poll(struct feed *st)
{
	const struct cl_page *in = st->call.reply;

	if (!st->call_arena || st->call.state != GW_CALL_DONE)
		return NULL;
	feed_trace(st);
	if (st->call.result == GW_FAILED)
		return feed_failed(st);
	if (st->call.result == GW_OK && st->call.reply_kind != CL_MSG_PAGE) {
		st->call.result = GW_UNKNOWN;
		st->call.why = "answered with another kind";
	}
	if (st->call.result != GW_OK) {
		feed_missed(st, st->call.why);
		return NULL;
	}
	if (in->reason)
		return feed_refused(st, (enum cl_refusal)in->reason);
	return feed_take(st, in);
}

/* ---- the heap ---- */

static struct str
feed_key(const struct feed *st)
{
	return row_order(st->scan, st->cur.in->rows[st->cur.at].key);
}

static bool
before(const struct sql_scan *sc, const struct feed *x, const struct feed *y)
{
	int r;

	if (!sc->what->ordered)
		return false;
	r = str_cmp(feed_key(x), feed_key(y));
	return sc->what->reverse ? r > 0 : r < 0;
}

static void
heap_down(struct sql_scan *sc, size_t i)
{
	for (;;) {
		size_t k = 2 * i + 1;
		struct feed *st = sc->heap[i];

		if (k + 1 < sc->n_heap &&
		    before(sc, sc->heap[k + 1], sc->heap[k]))
			k++;
		if (k >= sc->n_heap || !before(sc, sc->heap[k], st))
			return;
		sc->heap[i] = sc->heap[k];
		sc->heap[k] = st;
		i = k;
	}
}

static void
heap_push(struct sql_scan *sc, struct feed *st)
{
	size_t i = sc->n_heap++;

	sc->heap[i] = st;
	st->queued = true;
	while (i && before(sc, st, sc->heap[(i - 1) / 2])) {
		sc->heap[i] = sc->heap[(i - 1) / 2];
		i = (i - 1) / 2;
		sc->heap[i] = st;
	}
}

static void
heap_pop(struct sql_scan *sc)
{
	sc->heap[0]->queued = false;
	sc->heap[0] = sc->heap[--sc->n_heap];
	if (sc->n_heap)
		heap_down(sc, 0);
}

/* The row on top was given out. */
static void
feed_advance(struct feed *st)
{
	struct sql_scan *sc = st->scan;

	ASSERT(sc->heap[0] == st);
	if (++st->cur.at == st->cur.in->n_rows) {
		page_drop(&st->cur);
		st->cur = st->ahead;
		st->ahead = (struct page){0};
		sc->look = true;
	}
	if (st->cur.arena)
		heap_down(sc, 0);
	else
		heap_pop(sc);
}

/* ---- the scan ---- */

/* Takes in what arrived and asks for more. */
static struct err *
scan_turn(struct sql_scan *sc)
{
	sc->waiting = 0;
	sc->look = false;
	/* Rerouting adds feeds to the end. */
	for (size_t i = 0; i < sc->n; i++) {
		struct feed *st = sc->feeds[i];

		TRY(feed_poll(st));
		feed_pull(st);
		if (st->cur.arena && !st->queued)
			heap_push(sc, st);
		if (!st->cur.arena && !st->done)
			sc->waiting++;
	}
	return NULL;
}

static uint64_t
scan_next_turn(const struct sql_scan *sc)
{
	uint64_t next = sc->src->stmt->deadline_us;

	for (size_t i = 0; i < sc->n; i++) {
		const struct feed *st = sc->feeds[i];

		/* It may have been over when it began. */
		if (st->call_arena && st->call.state == GW_CALL_DONE)
			return 0;
		if (!st->done && !st->call_arena && !st->ahead.arena &&
		    st->retry_us < next)
			next = st->retry_us;
	}
	return next;
}

/* Why the scan cannot go on at its deadline. */
static struct err *
scan_late(struct sql_scan *sc, struct arena *a)
{
	for (size_t i = 0; i < sc->n && sc->why; i++) {
		const struct feed *st = sc->feeds[i];

		if (!st->done && st->missed)
			return gw_stmt_unreached(sc->src->stmt, a, sc->why);
	}
	return gw_stmt_check(sc->src->stmt, a);
}

static struct err *
scan_wait(struct sql_scan *sc, struct arena *a)
{
	struct gw_stmt *stmt = sc->src->stmt;

	if (gw_stmt_cancelled(stmt))
		return gw_stmt_check(stmt, a);
	if (cond_wait(&sc->wake, scan_next_turn(sc)) == WAKE_CANCEL)
		return gw_stmt_check(stmt, a);
	if (world_mono_us(stmt->worker->world) >= stmt->deadline_us)
		return scan_late(sc, a);
	return NULL;
}

/* With consistency ONE any member answers: scans are spread over them. */
static void
scan_aim(struct sql_scan *sc, uint32_t n_slots)
{
	struct gw_stmt *stmt = sc->src->stmt;
	uint32_t spread;

	sc->whom = NEW_N(sc->arena, struct whom, n_slots);
	sc->n_whom = n_slots;
	if (stmt->consistency != CL_ONE)
		return;
	spread = (uint32_t)world_random_below(stmt->worker->world, 1u << 16);
	for (uint32_t i = 0; i < n_slots; i++)
		sc->whom[i].aim =
		    (struct gw_aim){.any = true, .spread = spread};
}

static struct err *
scan_new(struct gw_source *src, struct arena *a,
    const struct sql_scan_req *what, struct sql_scan **out)
{
	const struct cl_catalog *now =
	    gw_catalog_now(src->stmt->worker->catalog);
	const struct cl_placement *p =
	    cl_catalog_placement(now, what->table->placement);
	struct arena *own = arena_new(a, "scan");
	struct sql_scan *sc = NEW(own, struct sql_scan);
	struct buf filter;

	*out = sc;
	sc->src = src;
	sc->arena = own;
	sc->what = what;
	sc->look = true;
	cond_init(&sc->wake, src->stmt->worker->world);
	if (what->filter) {
		buf_init(&filter, own);
		ex_encode(&filter, what->filter);
		sc->filter = buf_view(&filter);
		sc->local_filter = sc->filter.len > CL_EXPR_MAX / 2;
	}
	if (!p)
		return gw_stmt_unreached(src->stmt, a,
		    "The catalog has no placement of the table yet.");
	scan_aim(sc, p->n_slots);
	for (uint32_t slot = 0; slot < p->n_slots; slot++)
		share_slot(sc, 0, (uint16_t)slot, what->start, what->end);
	return NULL;
}

struct err *
gw_scan_open(struct sql_source *s, struct arena *a,
    const struct sql_scan_req *what, struct sql_scan **out)
{
	struct err *e;

	*out = NULL;
	TRY(gw_may_use(gw_source_of(s)->stmt, a, what->table));
	e = scan_new(gw_source_of(s), a, what, out);
	if (e) {
		gw_scan_close(*out);
		*out = NULL;
	}
	return e;
}

void
gw_scan_close(struct sql_scan *sc)
{
	arena_free(sc->arena);
}

/* Gives out the row on top, whose page goes on living only until the next. */
static struct err *
scan_emit(
    struct sql_scan *sc, struct arena *a, struct sql_row *row, bool *found)
{
	struct feed *st = sc->heap[0];
	const struct cl_row *in = &st->cur.in->rows[st->cur.at];
	struct gw_row_in copy = {sc->what, arena_str(a, row_pk(sc, in->key)),
	    arena_str(a, in->value),
	    sc->local_filter ? sc->what->filter : NULL};

	TRY(gw_source_row(sc->src, a, &copy, row, found));
	if (*found)
		sc->emitted++;
	feed_advance(st);
	return NULL;
}

struct err *
gw_scan_next(
    struct sql_scan *sc, struct arena *a, struct sql_row *row, bool *more)
{
	uint64_t limit = sc->what->limit;

	*more = false;
	while (!*more && !(limit && sc->emitted >= limit)) {
		struct err *e = NULL;

		if (sc->look || sc->waiting)
			e = scan_turn(sc);
		if (!e && !sc->n_heap && !sc->waiting)
			return NULL;
		if (!e && sc->n_heap && !(sc->what->ordered && sc->waiting))
			e = scan_emit(sc, a, row, more);
		else if (!e)
			e = scan_wait(sc, a);
		/* The scan's memory goes before the error is read. */
		if (e)
			return err_copy(a, e);
	}
	return NULL;
}

/* ---- counting ---- */

static struct err *
count_rows(struct sql_scan *sc, struct arena *a, uint64_t *count)
{
	for (;;) {
		struct arena *row_arena = arena_new(sc->arena, "row");
		struct sql_row row;
		bool more = false;
		struct err *e = gw_scan_next(sc, row_arena, &row, &more);

		if (e)
			e = err_copy(a, e);
		arena_free(row_arena);
		if (e || !more)
			return e;
		++*count;
	}
}

/* Sums what the nodes count. *local when one cannot evaluate the filter. */
static struct err *
count_sum(struct sql_scan *sc, struct arena *a, uint64_t *count, bool *local)
{
	*local = false;
	for (;;) {
		TRY(scan_turn(sc));
		*local = sc->local_filter;
		if (*local || !sc->waiting)
			break;
		TRY(scan_wait(sc, a));
	}
	for (size_t i = 0; i < sc->n; i++)
		*count += sc->feeds[i]->count;
	return NULL;
}

struct err *
gw_scan_count(struct sql_source *s, struct arena *a,
    const struct sql_scan_req *what, uint64_t *count)
{
	struct sql_scan_req req = *what;
	struct sql_scan *sc;
	struct err *e;
	bool local;

	*count = 0;
	req.count_only = true;
	req.ordered = req.reverse = false;
	TRY(gw_scan_open(s, a, &req, &sc));
	local = sc->local_filter;
	if (!local)
		e = count_sum(sc, a, count, &local);
	else
		e = NULL;
	if (e)
		e = err_copy(a, e);
	gw_scan_close(sc);
	if (e || !local)
		return e;
	/* Rows come here, and are counted here. */
	*count = 0;
	req.count_only = false;
	TRY(gw_scan_open(s, a, &req, &sc));
	sc->local_filter = true;
	for (size_t i = 0; i < sc->n; i++) {
		sc->feeds[i]->msg.filter = STR_NONE;
		sc->feeds[i]->msg.limit = 0;
	}
	e = count_rows(sc, a, count);
	gw_scan_close(sc);
	return e;
}
