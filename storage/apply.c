#include "storage/apply.h"

#include "base/log.h"
#include "base/metrics.h"
#include "base/mutate.h"
#include "cluster/row.h"
#include "storage/books.h"
#include "storage/catalog.h"
#include "storage/fill.h"
#include "storage/pass.h"
#include "storage/txns.h"

#define RECORD_FORMAT 2
#define BATCH_BYTES   (1u << 20)
#define BATCH_ENTRIES 512u
#define FULL_PAUSE_US 100000u
/* What is no more than this is a light job: a row or two, as most are. */
#define LIGHT_WRITES 4u
#define LIGHT_BYTES  8192u

void
st_group_record_put(struct buf *b, const struct st_group_record *r)
{
	buf_u8(b, RECORD_FORMAT);
	st_ballot_put(b, &r->ballot);
	buf_le64(b, r->applied);
	buf_le64(b, r->stamp);
	buf_le64(b, r->floor);
	buf_le64(b, r->catalog_version);
}

bool
st_group_record_get(struct str bytes, struct st_group_record *r)
{
	struct cur c = cur_of(bytes);

	memset(r, 0, sizeof *r);
	if (cur_u8(&c) != RECORD_FORMAT)
		return false;
	r->ballot = st_ballot_get(&c);
	r->applied = cur_le64(&c);
	r->stamp = cur_le64(&c);
	r->floor = cur_le64(&c);
	r->catalog_version = cur_le64(&c);
	return cur_done(&c);
}

/* ---- the job: runs on an engine thread, over what was prepared ---- */

struct job {
	struct arena *arena; /* a root: the job's while it runs */
	struct st_gid gid;
	const struct cl_catalog *catalog; /* pinned; says which indexes */
	const struct st_entry **entries;
	uint32_t n_entries;
	struct st_meta_op *ops; /* sessions, schemas, transactions */
	uint32_t n_ops, cap_ops;
	struct str record_key, record;
	bool with_rows, with_record;
	bool incomplete; /* the copy: some rows are not to be changed */
	size_t bytes;    /* of the entries, and the rows they change */
	uint32_t n_changes;
	uint64_t dropped; /* tombstones; filled by the job */
};

static void
apply_writes(
    struct st_books *b, const struct st_pass *p, const struct st_entry *e)
{
	if (e->op.outcome != CL_APPLIED)
		return;
	for (uint32_t i = 0; i < e->n_writes && !kv_failed(b->kv); i++) {
		const struct cl_write *w = &e->writes[i];

		if (p && !st_pass_takes(p, w->key, e->index))
			continue;
		if (w->kind == CL_WRITE_DELETE)
			st_books_delete(b, w->key, e->stamp);
		else
			st_books_put(b, w->key, w->value);
	}
}

static void
apply_forget(struct job *j, struct st_books *b, const struct st_pass *p,
    const struct st_entry *e)
{
	for (uint32_t i = 0; i < e->n_forget && !kv_failed(b->kv); i++) {
		const struct st_forget *f = &e->forget[i];
		struct cl_row_head h;
		struct str row;
		struct buf k;

		if (p && !st_pass_takes(p, f->key, e->index))
			continue;
		buf_init(&k, j->arena);
		st_key_tombstone(&k, j->gid, f->stamp, f->key);
		kv_del(b->kv, KV_META, buf_view(&k));
		if (!kv_get(b->kv, KV_ROWS, f->key, &row) ||
		    !cl_row_head(row, &h) || h.stamp != f->stamp ||
		    !(h.flags & CL_ROW_TOMBSTONE))
			continue;
		st_books_drop(b, f->key);
		j->dropped++;
	}
}

/* How far this copy's resync has come, as of the jobs before this one; NULL:
 * the copy is complete. */
static const struct st_pass *
read_pass(struct kv *kv, struct job *j)
{
	struct st_pass *p;
	struct buf key;
	struct str v;

	if (!j->incomplete)
		return NULL;
	buf_init(&key, j->arena);
	st_key_pass(&key, j->gid);
	if (!kv_get(kv, KV_META, buf_view(&key), &v))
		return NULL;
	p = NEW(j->arena, struct st_pass);
	/* It was read before, when the group was loaded. */
	return st_pass_get(arena_str(j->arena, v), p) ? p : NULL;
}

static void
apply_rows(struct kv *kv, struct job *j)
{
	const struct st_pass *p = read_pass(kv, j);
	struct st_books b;

	st_books_open(&b, kv, j->arena, j->catalog, j->gid);
	for (uint32_t i = 0; i < j->n_entries; i++) {
		const struct st_entry *e = j->entries[i];

		if (e->kind == ST_ENTRY_PROPOSAL)
			apply_writes(&b, p, e);
		else if (e->kind == ST_ENTRY_FORGET)
			apply_forget(j, &b, p, e);
	}
	st_books_close(&b);
}

static void
apply_job(struct kv *kv, void *arg)
{
	struct job *j = arg;

	j->dropped = 0;
	if (j->with_rows)
		apply_rows(kv, j);
	if (!j->with_record)
		return;
	for (uint32_t i = 0; i < j->n_ops; i++)
		if (j->ops[i].del)
			kv_del(kv, KV_META, j->ops[i].key);
		else
			kv_put(kv, KV_META, j->ops[i].key, j->ops[i].value);
	kv_put(kv, KV_META, j->record_key, j->record);
}

/* ---- preparing it, on the loop ---- */

static struct st_meta_op *
add_op(struct job *j)
{
	if (j->n_ops == j->cap_ops) {
		uint32_t cap = j->cap_ops ? j->cap_ops * 2 : 8;

		j->ops = arena_grow(j->arena, j->ops,
		    j->cap_ops * sizeof *j->ops, cap * sizeof *j->ops);
		j->cap_ops = cap;
	}
	j->ops[j->n_ops] = (struct st_meta_op){.del = false};
	return &j->ops[j->n_ops++];
}

static void
collect_sessions(struct st_group *g, struct job *j)
{
	uint8_t session[16];
	struct buf record, key;
	bool gone;

	buf_init(&record, j->arena);
	while (st_results_take(g->results, session, &gone, &record)) {
		struct st_meta_op *op = add_op(j);

		buf_init(&key, j->arena);
		st_key_session(&key, g->gid, session);
		op->key = buf_view(&key);
		op->value = buf_view(&record);
		op->del = gone;
		buf_init(&record, j->arena);
	}
}

static void
collect_schema(struct st_group *g, struct job *j, const struct st_entry *e)
{
	struct st_meta_op *op = add_op(j);
	struct buf key, value;

	buf_init(&key, j->arena);
	st_key_schema(&key, g->gid, e->table);
	buf_init(&value, j->arena);
	buf_le32(&value, e->version);
	op->key = buf_view(&key);
	op->value = buf_view(&value);
}

static bool
changes_catalog(const struct st_group *g, const struct st_entry *e)
{
	uint32_t table;
	uint16_t slot;
	struct str rest;

	if (g->gid.placement != CL_PLACEMENT_CATALOG ||
	    e->kind != ST_ENTRY_PROPOSAL || e->op.outcome != CL_APPLIED)
		return false;
	for (uint32_t i = 0; i < e->n_writes; i++)
		if (cl_key_split(e->writes[i].key, &table, &slot, &rest) &&
		    table == CL_TABLE_OBJECTS)
			return true;
	return false;
}

/* What the engine is to do for an entry of a transaction: what a proposal with
 * the same writes would be; nothing of the entry itself. */
static const struct st_entry *
writes_of(struct job *j, const struct st_entry *e, const struct st_effect *f)
{
	struct st_entry *w = NEW(j->arena, struct st_entry);

	w->kind = f->n_writes ? ST_ENTRY_PROPOSAL : ST_ENTRY_EMPTY;
	w->index = e->index;
	w->stamp = e->stamp;
	w->op.outcome = CL_APPLIED;
	w->writes = f->writes;
	w->n_writes = f->n_writes;
	for (uint32_t i = 0; i < f->n_writes; i++)
		j->bytes += f->writes[i].key.len + f->writes[i].value.len;
	j->n_changes += f->n_writes + f->n_ops;
	return w;
}

/* Only in groups that have seen a transaction over several. Returns the entry
 * for the engine; *results is the one for the results. */
static const struct st_entry *
take_txn(struct st_group *g, struct job *j, const struct st_entry *e,
    const struct st_entry **results)
{
	struct st_effect f;
	struct st_entry *bare;

	st_txns_take(st_group_txns(g), j->arena, g->gid, e, &f);
	for (uint32_t i = 0; i < f.n_ops; i++)
		*add_op(j) = f.ops[i];
	if (!st_entry_of_txn(e->kind))
		return e;
	if (e->with_op && !f.counts) {
		bare = NEW(j->arena, struct st_entry);
		*bare = *e;
		bare->with_op = false;
		*results = bare;
	}
	return writes_of(j, e, &f);
}

/* What the group will be once the entry is applied. Only the apply fiber
 * changes these, and nobody reads them as applied before g->applied moves. */
static void
take_entry(struct st_group *g, struct job *j, const struct st_entry *e,
    struct st_group_record *r)
{
	const struct st_entry *results = e, *writes = e;

	ASSERT(e->index == r->applied + 1);
	ASSERT(e->stamp > r->stamp || mutate("stamp_below_group"));
	r->applied = e->index;
	r->ballot = e->ballot;
	r->stamp = e->stamp;
	if (e->kind == ST_ENTRY_FORGET && e->floor > r->floor)
		r->floor = e->floor;
	if (changes_catalog(g, e))
		r->catalog_version = e->index;
	if (e->kind == ST_ENTRY_SCHEMA)
		collect_schema(g, j, e);
	if (g->txns || st_entry_of_txn(e->kind))
		writes = take_txn(g, j, e, &results);
	if (!mutate("result_not_kept"))
		st_results_apply(g->results, results);
	j->entries[j->n_entries++] = writes;
}

static void
prepare(
    struct st_group *g, struct job *j, uint64_t upto, struct st_group_record *r)
{
	struct buf key, record;

	j->gid = g->gid;
	j->incomplete = g->incomplete;
	j->entries = NEW_N(j->arena, const struct st_entry *, BATCH_ENTRIES);
	for (uint64_t i = g->applied + 1; i <= upto; i++) {
		const struct st_pending *p = st_group_pending(g, i);

		if (j->n_entries == BATCH_ENTRIES ||
		    (j->bytes && j->bytes + p->bytes.len > BATCH_BYTES))
			break;
		j->bytes += p->bytes.len;
		if (!st_entry_of_txn(p->entry.kind))
			j->n_changes += p->entry.n_writes + p->entry.n_forget;
		take_entry(g, j, &p->entry, r);
	}
	ASSERT(j->n_entries > 0);
	collect_sessions(g, j);
	buf_init(&key, j->arena);
	st_key_group(&key, g->gid);
	j->record_key = buf_view(&key);
	buf_init(&record, j->arena);
	st_group_record_put(&record, r);
	j->record = buf_view(&record);
}

static enum engine_result
submit(struct st_node *n, struct job *j)
{
	uint64_t lane = st_group_lane(j->gid);

	if (j->n_changes <= LIGHT_WRITES && j->bytes <= LIGHT_BYTES)
		return engine_run_light(n->engine, lane, apply_job, j);
	return engine_run(n->engine, lane, ENGINE_WRITE, apply_job, j);
}

static bool
run(struct st_group *g, struct job *j, bool rows, bool record)
{
	struct st_node *n = g->node;

	j->with_rows = rows;
	j->with_record = record;
	for (;;) {
		/* The newest each time: jobs that were handed in meanwhile know
		 * no more than this one (index.h). */
		j->catalog = st_catalog_pin(n, j->arena);
		if (submit(n, j) != ENGINE_FULL)
			return true;
		if (n->state >= ST_NODE_STOPPED)
			return false;
		fiber_sleep(n->world, world_mono_us(n->world) + FULL_PAUSE_US);
	}
}

/* A fill-in may have waited for it. */
static void
take_schema(struct st_group *g, const struct st_entry *e)
{
	st_group_set_schema(g, e->table, e->version);
	st_fill_wake(g->node);
}

uint64_t
st_apply(struct st_group *g, uint64_t upto)
{
	struct st_scratch *s = st_scratch_new(g->node, "apply");
	struct job j = {.arena = s->arena};
	struct st_group_record r = {.ballot = g->applied_ballot,
	    .applied = g->applied,
	    .stamp = g->applied_stamp,
	    .floor = g->floor,
	    .catalog_version = g->catalog_version};
	bool ok;

	ASSERT(upto > g->applied);
	prepare(g, &j, upto, &r);
	if (mutate("apply_index_apart"))
		ok = run(g, &j, true, false) && run(g, &j, false, true);
	else
		ok = run(g, &j, true, true);
	if (ok) {
		for (uint32_t i = 0; i < j.n_entries; i++)
			if (j.entries[i]->kind == ST_ENTRY_SCHEMA)
				take_schema(g, j.entries[i]);
		g->applied_stamp = r.stamp;
		g->floor = r.floor;
		g->catalog_version = r.catalog_version;
		metric_add(M_NODE_APPLIED, j.n_entries);
		metric_add(M_NODE_TOMBSTONES_DROPPED, j.dropped);
	}
	st_scratch_free(s);
	return ok ? r.applied : g->applied;
}
