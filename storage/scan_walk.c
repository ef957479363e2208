/* Slices: short engine transactions, each of which seeks to where the one
 * before it ended. */
#include "storage/scan_int.h"

#include "base/mutate.h"
#include "cluster/key.h"

bool
st_scan_page_ends(const struct st_scan *s)
{
	return s->end || s->full || s->err || s->mismatch || s->unready;
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

static enum kv_file
file_of(const struct st_scan *s)
{
	return s->index ? KV_INDEX : KV_ROWS;
}

static struct str
range_key(struct st_scan *s, uint32_t slot, struct str rest)
{
	struct buf b;

	buf_init(&b, s->row);
	cl_key_prefix(
	    &b, s->index ? s->index->id : s->m->table, s->m->slots[slot].slot);
	buf_str(&b, rest);
	return buf_view(&b);
}

/* Is the index filled in here, in that slot, as of this transaction? An answer
 * may not lack rows. */
static bool
is_ready(struct st_scan *s, struct kv *kv, uint32_t slot)
{
	struct st_index_record r;

	if (!s->index || mutate("index_served_incomplete"))
		return true;
	st_index_read(kv, s->row, s->index->id, s->m->slots[slot].slot, &r);
	if (r.state == ST_INDEX_FAILED)
		s->err = err_hint(
		    ERR(s->job, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
			"index \"%.*s\" cannot be used: %.*s",
			STR_FMT(s->index->name), STR_FMT(r.text)),
		    "Drop the index and create it again.");
	else if (r.state != ST_INDEX_WHOLE)
		s->unready = true;
	return r.state == ST_INDEX_WHOLE;
}

/* The smallest key above `key`. */
static struct str
just_after(struct st_scan *s, struct str key)
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
set_bounds(
    struct st_scan *s, struct range *r, const struct str *from, bool taken)
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
check_bounds(const struct st_scan *s, struct range *r)
{
	if (!r->live)
		return;
	r->live = s->m->flags & CL_SCAN_REVERSE ? str_cmp(r->key, r->lo) >= 0
						: str_cmp(r->key, r->hi) < 0;
}

static void
range_first(const struct st_scan *s, struct range *r)
{
	r->live = s->m->flags & CL_SCAN_REVERSE
		      ? kv_seek_before(r->cur, r->hi, &r->key, &r->value)
		      : kv_seek(r->cur, r->lo, &r->key, &r->value);
	check_bounds(s, r);
}

static void
range_next(const struct st_scan *s, struct range *r)
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

static bool
slice_ends(const struct st_scan_slice *sl, uint64_t looked)
{
	if (looked >= sl->rows_max)
		return true;
	return looked % 64 == 63 &&
	       world_mono_us(sl->scan->node->world) >= sl->until_us;
}

static void
stand_at(struct st_scan *s, uint32_t slot, struct str key)
{
	s->at.slot = slot;
	s->at.begun = true;
	s->at.key = arena_str(s->job, str_skip(key, CL_KEY_PREFIX));
}

/* Slot by slot, in the order they were asked for. */
static void
slice_by_slot(struct kv *kv, struct st_scan_slice *sl)
{
	struct st_scan *s = sl->scan;
	uint64_t looked = 0;

	for (uint32_t i = s->at.slot; i < s->m->n_slots; i++) {
		bool resumed = s->at.begun && i == s->at.slot;
		struct range r = {.slot = i};

		if (!is_ready(s, kv, i))
			return;
		r.cur = kv_open(kv, file_of(s));
		set_bounds(s, &r, resumed ? &s->at.key : NULL, true);
		buf_init(&r.spare, sl->arena);
		r.lo = arena_str(sl->arena, r.lo);
		r.hi = arena_str(sl->arena, r.hi);
		for (range_first(s, &r); r.live; range_next(s, &r)) {
			st_scan_take(s, kv, r.key, r.value);
			looked++;
			if (st_scan_page_ends(s) || slice_ends(sl, looked)) {
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
range_before(
    const struct st_scan *s, const struct range *a, const struct range *b)
{
	int r = str_cmp(
	    str_skip(a->key, CL_KEY_PREFIX), str_skip(b->key, CL_KEY_PREFIX));

	if (r == 0)
		r = a->slot < b->slot ? -1 : 1;
	return s->m->flags & CL_SCAN_REVERSE ? r > 0 : r < 0;
}

static void
sift_down(const struct st_scan *s, struct range **heap, uint32_t n, uint32_t at)
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
open_ranges(struct kv *kv, struct st_scan_slice *sl, struct range **heap)
{
	struct st_scan *s = sl->scan;
	bool reverse = s->m->flags & CL_SCAN_REVERSE;
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->m->n_slots && !kv_failed(kv); i++) {
		struct range *r = NEW(sl->arena, struct range);
		/* Of equal keys the slots before the present one had theirs. */
		bool taken = reverse ? i >= s->at.slot : i <= s->at.slot;

		if (!is_ready(s, kv, i))
			return 0;
		r->slot = i;
		r->cur = kv_open(kv, file_of(s));
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
slice_ordered(struct kv *kv, struct st_scan_slice *sl)
{
	struct st_scan *s = sl->scan;
	struct range **heap =
	    NEW_N(sl->arena, struct range *, s->m->n_slots + 1);
	uint32_t n = open_ranges(kv, sl, heap);
	uint64_t looked = 0;

	while (n && !kv_failed(kv)) {
		struct range *r = heap[0];

		st_scan_take(s, kv, r->key, r->value);
		looked++;
		if (st_scan_page_ends(s) || slice_ends(sl, looked)) {
			stand_at(s, r->slot, r->key);
			return;
		}
		range_next(s, r);
		if (!r->live)
			heap[0] = heap[--n];
		if (n)
			sift_down(s, heap, n, 0);
	}
	sl->finished = !kv_failed(kv) && !st_scan_page_ends(s);
}

void
st_scan_slice(struct kv *kv, void *arg)
{
	struct st_scan_slice *sl = arg;
	struct st_scan *s = sl->scan;
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
