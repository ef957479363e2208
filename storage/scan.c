/* Scans: pages over the slots asked for.  A page is made of slices, each a
 * short engine transaction that seeks to where the one before it ended; nothing
 * is kept between pages but what the resume key says. */
#include "base/metrics.h"
#include "cluster/row.h"
#include "expr/expr.h"
#include "expr/table.h"
#include "storage/catalog.h"
#include "storage/read.h"
#include "storage/serving.h"

#define PAGE_BYTES_DEFAULT (256u << 10)
#define PAGE_BYTES_MIN     1024u
#define PAGE_BYTES_MAX     (768u << 10) /* and one row: still one frame */
#define SLICE_ROWS         1000u
#define SLICE_US           10000u
/* A page that finds nothing ends after this, so that its sender can look up. */
#define PAGE_ROWS     200000u
#define PAGE_US       200000u
#define RESUME_FORMAT 1

/* Where a scan stands: everything before it is done. */
struct position {
	uint64_t returned; /* rows, over all pages: for the limit */
	uint32_t slot;     /* index in the list of slots */
	bool begun;        /* key is the last one seen, in that slot */
	struct str key;    /* primary-key bytes */
};

struct wanted {
	uint32_t *ids;
	uint32_t *types; /* what the filter takes each for; 0 = not used */
	uint32_t n;
	uint64_t bits[CL_COLUMNS_MAX / 64 + 1]; /* ids to return */
};

struct scan {
	struct st_node *node;
	struct arena *arena; /* the request's */
	struct arena *job;   /* a root: an engine thread's during a slice */
	struct arena *row;   /* its child, emptied for each row */
	const struct cl_scan *m;
	const struct cl_table *table; /* NULL: a system table */
	struct expr *filter;
	struct wanted wanted;
	uint32_t bytes_max;

	/* Of the page; a slice that is run again starts from `at` and the
	 * counts that it found. */
	struct position at;
	struct cl_row *rows;
	uint32_t n_rows, cap_rows;
	uint64_t bytes;
	uint64_t count, scanned;
	bool end, full;
	bool mismatch; /* a value is not of the type the filter expects */
	struct err *err;
};

/* ---- one row ---- */

static bool
is_wanted(const struct wanted *w, uint32_t id)
{
	return id <= CL_COLUMNS_MAX && (w->bits[id / 64] >> (id % 64) & 1);
}

static struct str
project(struct scan *s, struct str value)
{
	struct cl_row_cur it;
	struct cl_row_col col;
	struct buf b;

	if (!(s->m->flags & CL_SCAN_SOME) || !cl_row_open(value, &it))
		return arena_str(s->job, value);
	buf_init(&b, s->job);
	buf_put(&b, value.p, CL_ROW_HEADER);
	while (cl_row_next(&it, &col))
		if (is_wanted(&s->wanted, col.id))
			cl_row_col(&b, col.id, col.tag, col.v);
	return buf_view(&b);
}

static int64_t
mono_clock(void *arg)
{
	struct st_node *n = arg;

	return (int64_t)world_mono_us(n->world);
}

static struct err *
passes(struct scan *s, struct str pk, struct str value, bool *yes)
{
	struct val *vals;
	struct ex_ctx ctx = {.arena = s->row};
	struct ex_env env;

	*yes = true;
	if (!s->filter)
		return NULL;
	env = ex_env_default;
	env.mono_us = mono_clock;
	env.arg = s->node;
	ctx.env = &env;
	vals = NEW_N(s->row, struct val, s->wanted.n + 1);
	TRY(ex_table_read(
	    s->row, s->table, pk, value, s->wanted.ids, s->wanted.n, vals));
	for (uint32_t i = 0; i < s->wanted.n; i++)
		if (s->wanted.types[i] && !vals[i].null &&
		    vals[i].type != s->wanted.types[i]) {
			s->mismatch = true;
			*yes = false;
			return NULL;
		}
	ctx.row = vals;
	ctx.n_row = s->wanted.n;
	return ex_test(&ctx, s->filter, yes);
}

static void
add_row(struct scan *s, struct str key, struct str value)
{
	struct cl_row *r;

	if (s->n_rows == s->cap_rows) {
		uint32_t cap = s->cap_rows ? s->cap_rows * 2 : 64;

		s->rows = arena_grow(s->job, s->rows,
		    s->cap_rows * sizeof *s->rows, cap * sizeof *s->rows);
		s->cap_rows = cap;
	}
	r = &s->rows[s->n_rows++];
	r->key = arena_str(s->job, key);
	r->value = project(s, value);
	s->bytes += r->key.len + r->value.len + 8;
}

/* Takes one row in; s->end, s->full, s->err or s->mismatch end the page. */
static void
take_row(struct scan *s, struct str key, struct str value)
{
	struct cl_row_head h;
	bool yes = false;

	s->scanned++;
	if (!cl_row_head(value, &h)) {
		s->err = ERR(s->job, ERRCODE_DATA_CORRUPTED,
		    "a row of table %u is malformed", s->m->table);
		return;
	}
	if (h.flags & CL_ROW_TOMBSTONE)
		return;
	if (s->filter) {
		arena_reset(s->row);
		s->err = passes(s, str_skip(key, CL_KEY_PREFIX), value, &yes);
		if (s->err)
			s->err = err_copy(s->job, s->err);
		if (!yes || s->err)
			return;
	}
	s->at.returned++;
	if (s->m->flags & CL_SCAN_COUNT)
		s->count++;
	else
		add_row(s, key, value);
	if (s->m->limit && s->at.returned >= s->m->limit)
		s->end = true;
	if (s->bytes >= s->bytes_max || s->n_rows >= CL_PAGE_ROWS_MAX)
		s->full = true;
}

static bool
page_ends(const struct scan *s)
{
	return s->end || s->full || s->err || s->mismatch;
}

/* ---- the slots' ranges ---- */

/* One slot's range, with a cursor on its next row. */
struct range {
	struct kv_cur *cur;
	uint32_t slot; /* index */
	struct str lo, hi;
	struct str key, value;
	struct buf spare; /* room for a key */
	bool live;
};

static struct str
range_key(struct scan *s, uint32_t slot, struct str pk)
{
	struct buf b;

	buf_init(&b, s->row);
	cl_key_prefix(&b, s->m->table, s->m->slots[slot].slot);
	buf_str(&b, pk);
	return buf_view(&b);
}

/* The smallest key above `key`. */
static struct str
just_after(struct scan *s, struct str key)
{
	struct buf b;

	buf_init(&b, s->row);
	buf_str(&b, key);
	buf_u8(&b, 0);
	return buf_view(&b);
}

/* Bounds of what is left of a slot; `from` (may be NULL) is the last key seen,
 * `taken` whether this slot had it. */
static void
set_bounds(struct scan *s, struct range *r, const struct str *from, bool taken)
{
	struct str seen;

	r->lo = range_key(s, r->slot, s->m->start);
	r->hi = s->m->end.len ? range_key(s, r->slot, s->m->end)
			      : cl_key_after_prefix(
				    s->row, range_key(s, r->slot, STR_NONE));
	if (!from)
		return;
	seen = range_key(s, r->slot, *from);
	if (s->m->flags & CL_SCAN_REVERSE) {
		if (!taken)
			seen = just_after(s, seen);
		if (str_cmp(seen, r->hi) < 0)
			r->hi = seen;
	} else {
		if (taken)
			seen = just_after(s, seen);
		if (str_cmp(seen, r->lo) > 0)
			r->lo = seen;
	}
}

static void
check_bounds(const struct scan *s, struct range *r)
{
	if (!r->live)
		return;
	r->live = s->m->flags & CL_SCAN_REVERSE ? str_cmp(r->key, r->lo) >= 0
						: str_cmp(r->key, r->hi) < 0;
}

static void
range_first(const struct scan *s, struct range *r)
{
	r->live = s->m->flags & CL_SCAN_REVERSE
		      ? kv_seek_before(r->cur, r->hi, &r->key, &r->value)
		      : kv_seek(r->cur, r->lo, &r->key, &r->value);
	check_bounds(s, r);
}

static void
range_next(const struct scan *s, struct range *r)
{
	if (!(s->m->flags & CL_SCAN_REVERSE)) {
		r->live = kv_next(r->cur, &r->key, &r->value);
	} else {
		/* The cursor's own key does not survive its move. */
		r->spare.len = 0;
		buf_str(&r->spare, r->key);
		r->live = kv_seek_before(
		    r->cur, buf_view(&r->spare), &r->key, &r->value);
	}
	check_bounds(s, r);
}

/* ---- slices ---- */

struct slice {
	struct scan *scan;
	struct arena *arena; /* of bounds and ranges: child of the job's */
	struct scan before;  /* to start again from */
	bool finished;       /* nothing is left in any slot */
	uint64_t until_us;
	uint64_t rows_max;
};

static bool
slice_ends(const struct slice *sl, uint64_t looked)
{
	if (looked >= sl->rows_max)
		return true;
	return looked % 64 == 63 &&
	       world_mono_us(sl->scan->node->world) >= sl->until_us;
}

static void
stand_at(struct scan *s, uint32_t slot, struct str key)
{
	s->at.slot = slot;
	s->at.begun = true;
	s->at.key = arena_str(s->job, str_skip(key, CL_KEY_PREFIX));
}

/* Slot by slot, in the order they were asked for. */
static void
slice_by_slot(struct kv *kv, struct slice *sl)
{
	struct scan *s = sl->scan;
	uint64_t looked = 0;

	for (uint32_t i = s->at.slot; i < s->m->n_slots; i++) {
		bool resumed = s->at.begun && i == s->at.slot;
		struct range r = {.slot = i, .cur = kv_open(kv, KV_ROWS)};

		set_bounds(s, &r, resumed ? &s->at.key : NULL, true);
		buf_init(&r.spare, sl->arena);
		r.lo = arena_str(sl->arena, r.lo);
		r.hi = arena_str(sl->arena, r.hi);
		for (range_first(s, &r); r.live; range_next(s, &r)) {
			take_row(s, r.key, r.value);
			looked++;
			if (page_ends(s) || slice_ends(sl, looked)) {
				stand_at(s, i, r.key);
				kv_close(r.cur);
				return;
			}
		}
		kv_close(r.cur);
		if (kv_failed(kv))
			return;
		s->at.slot = i + 1;
		s->at.begun = false;
	}
	sl->finished = true;
}

/* Heap order: the next row by primary key, then slot. */
static bool
range_before(const struct scan *s, const struct range *a, const struct range *b)
{
	int r = str_cmp(
	    str_skip(a->key, CL_KEY_PREFIX), str_skip(b->key, CL_KEY_PREFIX));

	if (r == 0)
		r = a->slot < b->slot ? -1 : 1;
	return s->m->flags & CL_SCAN_REVERSE ? r > 0 : r < 0;
}

static void
sift_down(const struct scan *s, struct range **heap, uint32_t n, uint32_t at)
{
	for (;;) {
		uint32_t kid = at * 2 + 1;
		struct range *r = heap[at];

		if (kid >= n)
			return;
		if (kid + 1 < n && range_before(s, heap[kid + 1], heap[kid]))
			kid++;
		if (!range_before(s, heap[kid], r))
			return;
		heap[at] = heap[kid];
		heap[kid] = r;
		at = kid;
	}
}

static uint32_t
open_ranges(struct kv *kv, struct slice *sl, struct range **heap)
{
	struct scan *s = sl->scan;
	bool reverse = s->m->flags & CL_SCAN_REVERSE;
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->m->n_slots && !kv_failed(kv); i++) {
		struct range *r = NEW(sl->arena, struct range);
		/* Of equal keys the slots before the present one had theirs. */
		bool taken = reverse ? i >= s->at.slot : i <= s->at.slot;

		r->slot = i;
		r->cur = kv_open(kv, KV_ROWS);
		set_bounds(s, r, s->at.begun ? &s->at.key : NULL, taken);
		buf_init(&r->spare, sl->arena);
		r->lo = arena_str(sl->arena, r->lo);
		r->hi = arena_str(sl->arena, r->hi);
		range_first(s, r);
		if (r->live)
			heap[n++] = r;
		else
			kv_close(r->cur);
	}
	for (uint32_t i = n / 2; i-- > 0;)
		sift_down(s, heap, n, i);
	return n;
}

static void
slice_ordered(struct kv *kv, struct slice *sl)
{
	struct scan *s = sl->scan;
	struct range **heap =
	    NEW_N(sl->arena, struct range *, s->m->n_slots + 1);
	uint32_t n = open_ranges(kv, sl, heap);
	uint64_t looked = 0;

	while (n && !kv_failed(kv)) {
		struct range *r = heap[0];

		take_row(s, r->key, r->value);
		looked++;
		if (page_ends(s) || slice_ends(sl, looked)) {
			stand_at(s, r->slot, r->key);
			return;
		}
		range_next(s, r);
		if (!r->live)
			heap[0] = heap[--n];
		if (n)
			sift_down(s, heap, n, 0);
	}
	sl->finished = !kv_failed(kv);
}

/* Runs on an engine thread; begins by undoing an earlier attempt. */
static void
slice_job(struct kv *kv, void *arg)
{
	struct slice *sl = arg;
	struct scan *s = sl->scan;
	struct cl_row *rows = s->rows; /* may have grown and moved */
	uint32_t cap = s->cap_rows;

	*s = sl->before;
	s->rows = rows;
	s->cap_rows = cap;
	sl->finished = false;
	arena_reset(sl->arena);
	arena_reset(s->row);
	if (s->m->flags & CL_SCAN_ORDERED)
		slice_ordered(kv, sl);
	else
		slice_by_slot(kv, sl);
}

/* ---- a page ---- */

static struct err *
malformed(struct arena *a, const char *what)
{
	return ERR(a, ERRCODE_PROTOCOL_VIOLATION, "malformed scan: %s", what);
}

static struct err *
read_resume(struct scan *s, struct str resume)
{
	struct cur c = cur_of(resume);
	unsigned format;

	if (!resume.len)
		return NULL;
	format = cur_u8(&c);
	s->at.begun = cur_u8(&c) != 0;
	s->at.returned = cur_varint(&c);
	s->at.slot = (uint32_t)cur_varint(&c);
	s->at.key = cur_bytes(&c, c.left);
	if (!cur_ok(&c) || format != RESUME_FORMAT ||
	    s->at.slot >= s->m->n_slots)
		return malformed(s->arena, "a resume key of no page");
	return NULL;
}

static struct err *
write_resume(struct scan *s, struct cl_page *out)
{
	struct buf b;

	buf_init(&b, s->arena);
	buf_u8(&b, RESUME_FORMAT);
	buf_u8(&b, s->at.begun);
	buf_varint(&b, s->at.returned);
	buf_varint(&b, s->at.slot);
	buf_str(&b, s->at.key);
	out->resume = buf_view(&b);
	if (b.len > CL_KEY_MAX)
		return ERR(s->arena, ERRCODE_PROGRAM_LIMIT_EXCEEDED,
		    "a key of %zu bytes is too long to scan from",
		    s->at.key.len);
	return NULL;
}

static struct err *
note_column(struct scan *s, const struct expr *e)
{
	struct wanted *w = &s->wanted;

	if (e->u.col >= w->n)
		return malformed(
		    s->arena, "the filter names an unknown column");
	if (w->types[e->u.col] && w->types[e->u.col] != e->type)
		return malformed(
		    s->arena, "the filter gives a column two types");
	w->types[e->u.col] = e->type;
	return NULL;
}

/* Which value the filter takes for which type. Not recursive: a request's stack
 * is small, and a filter may be deep. */
static struct err *
note_columns(struct scan *s, const struct expr *root)
{
	const struct expr **todo = NULL;
	size_t n = 0, cap = 0;

	for (const struct expr *e = root; e; e = n ? todo[--n] : NULL) {
		if (e->node == EX_PARAM)
			return malformed(
			    s->arena, "the filter has a parameter");
		if (e->node == EX_COLUMN)
			TRY(note_column(s, e));
		if (n + e->n_args > cap) {
			size_t more = cap * 2 + e->n_args;

			todo = arena_grow(s->arena, todo, cap * sizeof *todo,
			    more * sizeof *todo);
			cap = more;
		}
		for (uint32_t i = 0; i < e->n_args; i++)
			if (e->args[i])
				todo[n++] = e->args[i];
	}
	return NULL;
}

static struct err *
read_columns(struct scan *s, enum cl_refusal *why)
{
	struct wanted *w = &s->wanted;

	w->n = s->m->n_columns;
	w->ids = NEW_N(s->arena, uint32_t, w->n + 1);
	w->types = NEW_N(s->arena, uint32_t, w->n + 1);
	for (uint32_t i = 0; i < w->n; i++) {
		uint32_t id = s->m->columns[i].id;

		if (id > CL_COLUMNS_MAX)
			return malformed(s->arena, "a column id");
		w->ids[i] = id;
		w->bits[id / 64] |= 1ull << (id % 64);
		if (s->table && !cl_table_column_id(s->table, id))
			*why = CL_REFUSE_CATALOG;
	}
	return NULL;
}

static struct err *
read_message(struct scan *s, enum cl_refusal *why)
{
	const struct cl_scan *m = s->m;

	*why = CL_REFUSE_NONE;
	s->bytes_max = m->bytes ? m->bytes : PAGE_BYTES_DEFAULT;
	if (s->bytes_max < PAGE_BYTES_MIN)
		s->bytes_max = PAGE_BYTES_MIN;
	if (s->bytes_max > PAGE_BYTES_MAX)
		s->bytes_max = PAGE_BYTES_MAX;
	TRY(read_columns(s, why));
	if (!m->filter.len || *why)
		return NULL;
	if (!s->table)
		return ERR(s->arena, ERRCODE_FEATURE_NOT_SUPPORTED,
		    "filters on system tables are not supported");
	TRY(ex_decode(s->arena, m->filter, &s->filter));
	return note_columns(s, s->filter);
}

/* The table as this node knows it; a refusal when it does not, or no more. */
static enum cl_refusal
find_table(struct scan *s, uint64_t catalog, uint64_t deadline_us)
{
	const struct cl_catalog *c;
	const struct cl_object *counter;

	if (s->m->placement == CL_PLACEMENT_CATALOG)
		return s->m->table == CL_TABLE_OBJECTS ||
			       s->m->table == CL_TABLE_NAMES
			   ? CL_REFUSE_NONE
			   : CL_REFUSE_CATALOG;
	st_catalog_wait(s->node, catalog, deadline_us);
	c = st_catalog_pin(s->node, s->arena);
	s->table = cl_catalog_table(c, s->m->table);
	if (s->table)
		return s->table->placement == s->m->placement
			   ? CL_REFUSE_NONE
			   : CL_REFUSE_CATALOG;
	counter = cl_find(c, CL_COUNTER, 0);
	return counter && s->m->table < counter->u.counter.next_id
		   ? CL_REFUSE_DROPPED
		   : CL_REFUSE_CATALOG;
}

/* Slices until the page is full, the scan at its end, or time is up. */
static void
run_slices(struct scan *s, bool *finished)
{
	struct st_node *n = s->node;
	struct slice sl = {.scan = s, .arena = arena_new(s->job, "slice")};
	uint64_t from = world_mono_us(n->world);

	do {
		sl.before = *s;
		sl.until_us = world_mono_us(n->world) + SLICE_US;
		sl.rows_max = SLICE_ROWS;
		engine_run(
		    n->engine, ENGINE_LANE_ANY, ENGINE_READ, slice_job, &sl);
	} while (!sl.finished && !page_ends(s) && s->scanned < PAGE_ROWS &&
		 world_mono_us(n->world) - from < PAGE_US);
	*finished = sl.finished || s->end;
}

static struct err *
give_page(struct scan *s, bool finished, struct cl_page *out)
{
	if (s->err)
		return err_copy(s->arena, s->err);
	if (s->mismatch) {
		out->reason = CL_REFUSE_CATALOG;
		return NULL;
	}
	out->count = s->count;
	out->scanned = s->scanned;
	out->n_rows = s->n_rows;
	out->rows = NEW_N(s->arena, struct cl_row, s->n_rows + 1);
	for (uint32_t i = 0; i < s->n_rows; i++)
		out->rows[i] =
		    (struct cl_row){arena_str(s->arena, s->rows[i].key),
			arena_str(s->arena, s->rows[i].value)};
	out->done = finished;
	return finished ? NULL : write_resume(s, out);
}

static struct err *
scan_page(struct scan *s, struct st_serving *on, struct cl_page *out)
{
	struct st_scratch *scratch = st_scratch_new(s->node, "scan");
	struct err *e = NULL;
	bool finished = false;

	s->job = scratch->arena;
	s->row = arena_new(s->job, "row");
	run_slices(s, &finished);
	metric_add(M_NODE_ROWS_SCANNED, s->scanned);
	if (!st_serving_end(on))
		out->reason = (uint8_t)on->why;
	/* Dropped meanwhile: its rows are being swept, and a page without them
	 * would be an answer. */
	if (s->table && !cl_catalog_table(s->node->catalog.snap, s->m->table))
		out->reason = CL_REFUSE_DROPPED;
	if (!out->reason)
		e = give_page(s, finished, out);
	st_scratch_free(scratch);
	return e;
}

struct err *
st_scan(struct st_node *n, struct arena *a, const struct cl_scan *m,
    struct str resume, uint64_t catalog, uint64_t deadline_us,
    struct cl_page *out)
{
	struct scan *s = NEW(a, struct scan);
	struct st_gid *gids = NEW_N(a, struct st_gid, m->n_slots + 1);
	struct st_serving on = {.node = n,
	    .arena = a,
	    .consistency = m->consistency,
	    .gids = gids,
	    .n = m->n_slots,
	    .deadline_us = deadline_us};
	enum cl_refusal why;

	memset(out, 0, sizeof *out);
	s->node = n;
	s->arena = a;
	s->m = m;
	for (uint32_t i = 0; i < m->n_slots; i++)
		gids[i] = (struct st_gid){
		    m->placement, m->slots[i].slot, m->slots[i].epoch};
	if (m->consistency > CL_ALL)
		return malformed(a, "unknown consistency");
	TRY(read_resume(s, resume));
	if (!m->n_slots) {
		out->done = 1;
		return NULL;
	}
	if (!st_serving_begin(&on, catalog)) {
		out->reason = (uint8_t)on.why;
		out->elsewhere = on.elsewhere;
		out->n_elsewhere = on.n_elsewhere;
		return NULL;
	}
	why = find_table(s, catalog, deadline_us);
	if (!why)
		TRY(read_message(s, &why));
	if (why) {
		out->reason = (uint8_t)why;
		metric_inc(M_NODE_REFUSED);
		return NULL;
	}
	return scan_page(s, &on, out);
}
