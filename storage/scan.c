/* Scans: pages over the slots asked for, in the order of primary keys or of an
 * index.  Nothing is kept between pages but what the resume key says. */
#include <inttypes.h>

#include "base/log.h"
#include "base/metrics.h"
#include "cluster/key.h"
#include "storage/catalog.h"
#include "storage/fill.h"
#include "storage/read.h"
#include "storage/scan_int.h"
#include "storage/settle.h"

#define PAGE_BYTES_DEFAULT (256u << 10)
#define PAGE_BYTES_MIN     1024u
#define PAGE_BYTES_MAX     (768u << 10) /* and one row: still one frame */
#define SLICE_ROWS         1000u
#define SLICE_US           10000u
/* A page that finds nothing ends after this, so that its sender can look up. */
#define PAGE_ROWS     200000u
#define PAGE_US       200000u
#define RESUME_FORMAT 1
/* How long a request waits for an index that is being filled in here. */
#define INDEX_US 1000000u

static struct err *
malformed(struct arena *a, const char *what)
{
	return ERR(a, ERRCODE_PROTOCOL_VIOLATION, "malformed scan: %s", what);
}

static struct err *
read_resume(struct st_scan *s, struct str resume)
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
write_resume(struct st_scan *s, struct cl_page *out)
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
note_column(struct st_scan *s, const struct expr *e)
{
	struct st_scan_wanted *w = &s->wanted;

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
note_columns(struct st_scan *s, const struct expr *root)
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
read_columns(struct st_scan *s, enum cl_refusal *why)
{
	struct st_scan_wanted *w = &s->wanted;

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
read_message(struct st_scan *s, enum cl_refusal *why)
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
find_table(struct st_scan *s, uint64_t catalog, uint64_t deadline_us)
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

/* The index as this node knows it. Which state it is in there is not asked: its
 * record is. */
static enum cl_refusal
find_index(struct st_scan *s, uint32_t id)
{
	const struct cl_catalog *c = st_catalog_pin(s->node, s->arena);

	s->index = cl_catalog_index(c, id);
	return s->index && s->index->state != CL_INDEX_FAILED &&
		       s->index->table == s->m->table && s->table
		   ? CL_REFUSE_NONE
		   : CL_REFUSE_CATALOG;
}

/* What was dropped meanwhile is being swept, and a page without that would be
 * an answer. */
static enum cl_refusal
find_again(const struct st_scan *s)
{
	const struct cl_catalog *now = s->node->catalog.snap;
	const struct cl_index *index;

	if (s->table && !cl_catalog_table(now, s->m->table))
		return CL_REFUSE_DROPPED;
	if (!s->index)
		return CL_REFUSE_NONE;
	index = cl_catalog_index(now, s->index->id);
	return index && index->state != CL_INDEX_FAILED ? CL_REFUSE_NONE
							: CL_REFUSE_CATALOG;
}

/* Slices until the page is full, the scan at its end, or time is up. */
static void
run_slices(struct st_scan *s, bool *finished)
{
	struct st_node *n = s->node;
	struct st_scan_slice sl = {
	    .scan = s, .arena = arena_new(s->job, "slice")};
	uint64_t from = world_mono_us(n->world);

	do {
		sl.before = *s;
		sl.until_us = world_mono_us(n->world) + SLICE_US;
		sl.rows_max = SLICE_ROWS;
		engine_run(n->engine, ENGINE_LANE_ANY, ENGINE_READ,
		    st_scan_slice, &sl);
	} while (!sl.finished && !st_scan_page_ends(s) &&
		 s->scanned < PAGE_ROWS &&
		 world_mono_us(n->world) - from < PAGE_US);
	*finished = sl.finished || s->end;
}

static struct err *
give_page(struct st_scan *s, bool finished, struct cl_page *out)
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

/* The page; waits a little for an index that is being filled in. */
static void
run_page(struct st_scan *s, uint64_t deadline_us, bool *finished)
{
	struct world *w = s->node->world;
	uint64_t until = world_mono_us(w) + INDEX_US;
	struct st_scan first = *s;

	if (deadline_us < until)
		until = deadline_us;
	do {
		*s = first;
		run_slices(s, finished);
		metric_add(M_NODE_ROWS_SCANNED, s->scanned);
	} while (s->unready && st_fill_wait(s->node, until));
	if (s->astray)
		LOG(s->node->world, LOG_ERROR, "index", "astray",
		    "index=%u table=%u entries=%" PRIu64, s->index->id,
		    s->m->table, s->astray);
}

static struct err *
scan_page(struct st_scan *s, struct st_serving *on, struct cl_page *out)
{
	struct st_scratch *scratch = st_scratch_new(s->node, "scan");
	struct err *e = NULL;
	bool finished = false;

	s->job = scratch->arena;
	s->row = arena_new(s->job, "row");
	run_page(s, on->deadline_us, &finished);
	if (!st_serving_end(on))
		out->reason = (uint8_t)on->why;
	else if (s->unready)
		out->reason = CL_REFUSE_INDEX;
	if (find_again(s))
		out->reason = (uint8_t)find_again(s);
	if (!out->reason)
		e = give_page(s, finished, out);
	st_scratch_free(scratch);
	return e;
}

/* Until no prepared write is in the range, in any of the slots; by an index: in
 * all of the table there, since a row's place in it may be a new one. */
static bool
wait_for_prepared(struct st_scan *s, struct st_serving *on, bool all)
{
	struct st_key_range *r;

	if (!st_settle_needed(on))
		return true;
	r = NEW_N(s->arena, struct st_key_range, on->n);
	for (uint32_t i = 0; i < s->m->n_slots; i++) {
		struct buf from, to;

		buf_init(&from, s->arena);
		cl_key_prefix(&from, s->m->table, s->m->slots[i].slot);
		buf_init(&to, s->arena);
		buf_str(&to, buf_view(&from));
		if (!all) {
			buf_str(&from, s->m->start);
			buf_str(&to, s->m->end);
		}
		r[i].from = buf_view(&from);
		r[i].to = !all && s->m->end.len
			      ? buf_view(&to)
			      : cl_key_after_prefix(s->arena, buf_view(&to));
	}
	return st_settle_ranges(on, r);
}

/* index 0: by primary key. */
static struct err *
scan(const struct st_scan_ask *ask, uint32_t index, struct cl_page *out)
{
	struct st_node *n = ask->node;
	struct arena *a = ask->arena;
	const struct cl_scan *m = ask->m;
	struct st_scan *s = NEW(a, struct st_scan);
	struct st_gid *gids = NEW_N(a, struct st_gid, m->n_slots + 1);
	struct st_serving on = {.node = n,
	    .arena = a,
	    .consistency = m->consistency,
	    .gids = gids,
	    .n = m->n_slots,
	    .deadline_us = ask->deadline_us};
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
	TRY(read_resume(s, ask->resume));
	if (!m->n_slots) {
		out->done = 1;
		return NULL;
	}
	if (!st_serving_begin(&on, ask->catalog) ||
	    !wait_for_prepared(s, &on, index != 0)) {
		out->reason = (uint8_t)on.why;
		out->elsewhere = on.elsewhere;
		out->n_elsewhere = on.n_elsewhere;
		return NULL;
	}
	why = find_table(s, ask->catalog, ask->deadline_us);
	if (!why && index)
		why = find_index(s, index);
	if (!why)
		TRY(read_message(s, &why));
	if (why) {
		out->reason = (uint8_t)why;
		metric_inc(M_NODE_REFUSED);
		return NULL;
	}
	return scan_page(s, &on, out);
}

struct err *
st_scan(const struct st_scan_ask *ask, struct cl_page *out)
{
	return scan(ask, 0, out);
}

struct err *
st_scan_index(
    const struct st_scan_ask *ask, uint32_t index, struct cl_page *out)
{
	if (!index)
		return malformed(ask->arena, "no index");
	return scan(ask, index, out);
}
