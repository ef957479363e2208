#include "storage/read.h"

#include "base/metrics.h"
#include "cluster/row.h"
#include "storage/books.h"
#include "storage/settle.h"

#define ROWS_BYTES (NET_FRAME_MAX - CL_VALUE_MAX - (64u << 10))

struct read_job {
	struct arena *arena; /* a root */
	const struct cl_point *points;
	uint32_t n;
	struct cl_row *rows;
	uint32_t n_rows;
};

/* Runs on an engine thread. */
static void
read_job(struct kv *kv, void *arg)
{
	struct read_job *j = arg;
	size_t bytes = 0;

	j->n_rows = 0;
	while (j->n_rows < j->n && !kv_failed(kv)) {
		struct str key = j->points[j->n_rows].key, row;
		struct cl_row_head h;
		bool live = kv_get(kv, KV_ROWS, key, &row) &&
			    cl_row_head(row, &h) &&
			    !(h.flags & CL_ROW_TOMBSTONE);

		bytes += key.len + 8 + (live ? row.len : 0);
		if (j->n_rows && bytes > ROWS_BYTES)
			break;
		j->rows[j->n_rows++] = (struct cl_row){
		    key, live ? arena_str(j->arena, row) : STR_NONE};
	}
}

static struct err *
check_points(struct arena *a, const struct cl_read *m, struct st_gid *gids)
{
	if (m->consistency > CL_ALL)
		return ERR(a, ERRCODE_PROTOCOL_VIOLATION,
		    "malformed read: unknown consistency");
	for (uint32_t i = 0; i < m->n_points; i++) {
		const struct cl_point *p = &m->points[i];
		uint32_t table;
		uint16_t slot;
		struct str rest;

		if (!cl_key_split(p->key, &table, &slot, &rest) ||
		    slot != p->slot)
			return ERR(a, ERRCODE_PROTOCOL_VIOLATION,
			    "malformed read: a key is of another slot");
		gids[i] = (struct st_gid){p->placement, p->slot, p->epoch};
	}
	return NULL;
}

static void
copy_rows(struct arena *a, const struct read_job *j, struct cl_rows *out)
{
	out->rows = NEW_N(a, struct cl_row, j->n_rows);
	out->n_rows = j->n_rows;
	for (uint32_t i = 0; i < j->n_rows; i++)
		out->rows[i] = (struct cl_row){
		    j->rows[i].key, arena_str(a, j->rows[i].value)};
}

/* A table that the catalog had and has no more: its rows are being swept. Ids
 * are never reused, so one below the counter that is missing was dropped. */
static bool
any_dropped(struct st_node *n, const struct cl_read *m)
{
	const struct cl_object *o = cl_find(n->catalog.snap, CL_COUNTER, 0);

	for (uint32_t i = 0; o && i < m->n_points; i++) {
		uint32_t table, placement;
		uint16_t slot;
		struct str rest;

		if (m->points[i].placement != CL_PLACEMENT_CATALOG &&
		    cl_key_split(m->points[i].key, &table, &slot, &rest) &&
		    table < o->u.counter.next_id &&
		    !cl_catalog_rows_of(n->catalog.snap, table, &placement))
			return true;
	}
	return false;
}

struct err *
st_read(struct st_node *n, struct arena *a, const struct cl_read *m,
    uint64_t catalog, uint64_t deadline_us, struct cl_rows *out)
{
	struct st_gid *gids = NEW_N(a, struct st_gid, m->n_points + 1);
	struct st_serving on = {.node = n,
	    .arena = a,
	    .consistency = m->consistency,
	    .gids = gids,
	    .n = m->n_points,
	    .deadline_us = deadline_us};
	struct st_scratch *s;
	struct read_job j;

	memset(out, 0, sizeof *out);
	TRY(check_points(a, m, gids));
	/* What is committed and not yet written is waited for before the
	 * read. */
	if (!st_serving_begin(&on, catalog) ||
	    !st_settle_points(&on, m->points, m->n_points)) {
		out->reason = (uint8_t)on.why;
		out->elsewhere = on.elsewhere;
		out->n_elsewhere = on.n_elsewhere;
		return NULL;
	}
	s = st_scratch_new(n, "read");
	j = (struct read_job){
	    .arena = s->arena, .points = m->points, .n = m->n_points};
	j.rows = NEW_N(s->arena, struct cl_row, m->n_points + 1);
	engine_run(n->engine, ENGINE_LANE_ANY, ENGINE_READ, read_job, &j);
	if (!st_serving_end(&on))
		out->reason = (uint8_t)on.why;
	else if (any_dropped(n, m))
		out->reason = CL_REFUSE_DROPPED;
	else
		copy_rows(a, &j, out);
	metric_add(M_NODE_ROWS_READ, j.n_rows);
	st_scratch_free(s);
	return NULL;
}

/* ---- counters ---- */

struct counts_job {
	uint32_t table; /* 0 = all */
	struct cl_table_count *list;
	uint32_t n;
};

static void
add_count(struct counts_job *j, uint32_t table, const struct st_count *c)
{
	if (!j->n || j->list[j->n - 1].table != table) {
		if (j->n == CL_OBJECTS_MAX)
			return;
		j->list[j->n++] = (struct cl_table_count){.table = table};
	}
	/* A counter never counts below nothing. */
	j->list[j->n - 1].rows += c->rows > 0 ? (uint64_t)c->rows : 0;
	j->list[j->n - 1].bytes += c->bytes > 0 ? (uint64_t)c->bytes : 0;
}

static void
counts_job(struct kv *kv, void *arg)
{
	struct counts_job *j = arg;
	struct kv_cur *c = kv_open(kv, KV_META);
	uint8_t from[5] = {'C', (uint8_t)(j->table >> 24),
	    (uint8_t)(j->table >> 16), (uint8_t)(j->table >> 8),
	    (uint8_t)j->table};
	struct str k, v;
	bool more = kv_seek(c, str_of(from, sizeof from), &k, &v);

	j->n = 0;
	while (more && k.len == 7 && k.p[0] == 'C') {
		struct cur at = cur_of(str_skip(k, 1));
		uint32_t table = cur_be32(&at);
		struct st_count count;

		if (j->table && table != j->table)
			break;
		if (st_count_get(v, &count))
			add_count(j, table, &count);
		more = kv_next(c, &k, &v);
	}
	kv_close(c);
}

struct err *
st_counts(
    struct st_node *n, struct arena *a, uint32_t table, struct cl_counts *out)
{
	struct counts_job j = {.table = table};

	j.list = NEW_N(a, struct cl_table_count, CL_OBJECTS_MAX);
	engine_run(n->engine, ENGINE_LANE_ANY, ENGINE_READ, counts_job, &j);
	out->tables = j.list;
	out->n_tables = j.n;
	return NULL;
}
