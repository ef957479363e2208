#include "storage/source.h"

#include "base/metrics.h"
#include "cluster/key.h"
#include "storage/apply.h"
#include "storage/catalog.h"
#include "storage/elect.h"
#include "storage/lease.h"
#include "storage/link.h"
#include "storage/replicate.h"
#include "storage/slice.h"

#define WAIT_US  2000000u
#define REACH_US 1000000u
#define PAGE_MAX (1u << 20)
#define KEEP_US  30000000u

struct piece {
	struct str key, value;
};

/* What an engine job reads, of one instant. */
struct read {
	struct arena *arena; /* a root */
	struct st_gid gid;
	struct st_group_record record;
	bool there; /* the record */
	struct piece *pieces;
	size_t n, cap;
	size_t bytes;
	/* A page of rows. */
	const struct cl_catalog *catalog;
	struct str after;
	uint32_t max;
	bool more, unknown;
};

/* A state that did not fit into one frame, kept until it is fetched. */
struct source {
	struct list link; /* node.sources */
	struct st_scratch *scratch;
	uint32_t member;
	uint64_t used_us;
	struct read read;
};

static void
add_piece(struct read *r, struct str key, struct str value)
{
	if (r->n == r->cap) {
		size_t cap = r->cap ? r->cap * 2 : 64;

		r->pieces = arena_grow(r->arena, r->pieces,
		    r->cap * sizeof *r->pieces, cap * sizeof *r->pieces);
		r->cap = cap;
	}
	r->pieces[r->n++] = (struct piece){
	    arena_str(r->arena, key), arena_str(r->arena, value)};
	r->bytes += key.len + value.len + 8;
}

static void
read_record(struct kv *kv, struct read *r)
{
	struct buf key;
	struct str v;

	r->n = 0;
	r->bytes = 0;
	r->more = r->unknown = false;
	buf_init(&key, r->arena);
	st_key_group(&key, r->gid);
	r->there = kv_get(kv, KV_META, buf_view(&key), &v) &&
		   st_group_record_get(v, &r->record);
}

/* Records of one letter; their keys go without the group. */
static void
read_letter(struct kv *kv, struct read *r, char letter)
{
	struct kv_cur *c = kv_open(kv, KV_META);
	struct buf prefix, key;
	struct str k, v;
	bool more;

	buf_init(&prefix, r->arena);
	buf_u8(&prefix, (uint8_t)letter);
	st_gid_put(&prefix, r->gid);
	more = kv_seek(c, buf_view(&prefix), &k, &v);
	while (more && str_has_prefix(k, buf_view(&prefix))) {
		buf_init(&key, r->arena);
		buf_u8(&key, (uint8_t)letter);
		buf_str(&key, str_skip(k, prefix.len));
		add_piece(r, buf_view(&key), v);
		more = kv_next(c, &k, &v);
	}
	kv_close(c);
}

static void
state_job(struct kv *kv, void *arg)
{
	struct read *r = arg;

	read_record(kv, r);
	/* In the order of their keys, by which pages go on. */
	for (const char *letter = "DESVY"; *letter; letter++)
		read_letter(kv, r, *letter);
}

static void
rows_job(struct kv *kv, void *arg)
{
	struct read *r = arg;
	struct st_slice s;
	struct str k, v;

	read_record(kv, r);
	st_slice_open(&s, kv, r->arena, r->catalog, r->gid);
	r->more = st_slice_seek(&s, r->after, &k, &v);
	while (r->more && r->n < CL_PAGE_ROWS_MAX &&
	       (!r->n || r->bytes + k.len + v.len < r->max)) {
		add_piece(r, k, v);
		r->more = st_slice_next(&s, &k, &v);
	}
	r->unknown = s.unknown;
	st_slice_close(&s);
}

/* ---- answers ---- */

static void
put_record(const struct read *r, struct cl_resync_page *out)
{
	out->index = r->record.applied;
	out->round = r->record.ballot.round;
	out->member = r->record.ballot.member;
	out->incarnation = r->record.ballot.incarnation;
	out->stamp = r->record.stamp;
	out->floor = r->record.floor;
	out->catalog = r->record.catalog_version;
}

/* Pieces behind a key, as many as fit; they are in order. */
static void
put_pieces(const struct read *r, struct arena *a, struct str after,
    uint32_t max, struct cl_resync_page *out)
{
	size_t bytes = 0, i = 0;

	while (i < r->n && after.len && str_cmp(r->pieces[i].key, after) <= 0)
		i++;
	out->rows = NEW_N(a, struct cl_row, r->n - i + 1);
	for (; i < r->n; i++) {
		const struct piece *p = &r->pieces[i];

		bytes += p->key.len + p->value.len + 8;
		if (out->n_rows &&
		    (bytes > max || out->n_rows == CL_PAGE_ROWS_MAX))
			return;
		out->rows[out->n_rows++] = (struct cl_row){
		    arena_str(a, p->key), arena_str(a, p->value)};
	}
	out->done = 1;
}

static void
refuse(struct cl_resync_page *out, enum cl_refusal why, uint32_t leader)
{
	memset(out, 0, sizeof *out);
	out->reason = (uint8_t)why;
	out->leader = leader;
}

/* ---- states that take several frames ---- */

static void
source_free(struct source *s)
{
	list_del(&s->link);
	st_scratch_free(s->scratch);
}

static struct source *
find(struct st_node *n, struct st_gid gid, uint32_t member)
{
	LIST_FOREACH(at, &n->sources)
	{
		struct source *s = LIST_ENTRY(at, struct source, link);

		if (s->member == member && st_gid_eq(s->read.gid, gid))
			return s;
	}
	return NULL;
}

void
st_source_sweep(struct st_node *n)
{
	uint64_t now = world_mono_us(n->world);

	LIST_FOREACH_SAFE(at, &n->sources)
	{
		struct source *s = LIST_ENTRY(at, struct source, link);

		if (now - s->used_us > KEEP_US)
			source_free(s);
	}
}

static void
serve_more(struct st_node *n, struct arena *a, uint32_t from, struct st_gid gid,
    const struct cl_resync_get *m, struct cl_resync_page *out)
{
	struct source *s = find(n, gid, from);

	if (!s || s->read.record.applied != m->index) {
		refuse(out, CL_REFUSE_BUSY, 0);
		return;
	}
	s->used_us = world_mono_us(n->world);
	put_record(&s->read, out);
	put_pieces(&s->read, a, m->after, m->bytes, out);
	if (out->done)
		source_free(s);
}

/* ---- one request ---- */

struct giving {
	struct st_node *node;
	struct arena *arena;
	uint32_t from;
	const struct cl_resync_get *m;
	struct st_group *group;
	struct st_ballot ballot;
	bool leading;
	uint64_t until_us;
	struct cl_resync_page *out;
};

/* Who asks for pages does not lead, be the promise given here to that member or
 * not. */
static void
take_release(struct st_group *g, uint32_t from, const struct cl_resync_get *m)
{
	struct st_ballot b = {m->round, from, m->incarnation};

	if (g->leader == from)
		g->leader = 0;
	if (m->round && st_ballot_cmp(&g->promise, &b) == 0)
		st_group_released(g);
}

/* A leader gives, be it one that cannot serve yet because too few copies are
 * complete: what it has applied is the group's. */
static bool
begin(struct giving *x, uint64_t catalog)
{
	const struct cl_resync_get *m = x->m;
	struct st_gid gid = {m->placement, m->slot, m->epoch};
	struct st_refusal who = {CL_REFUSE_LEADER, 0};
	enum cl_refusal why;
	struct st_group *g;

	g = st_group_open(x->node, gid, catalog, x->until_us, &why);
	if (!g) {
		refuse(x->out, why, 0);
		return false;
	}
	take_release(g, x->from, m);
	if (!st_group_is_leader(g))
		st_group_lead(x->node, gid, catalog, x->until_us, &who);
	if (!st_group_is_leader(g) || !st_group_complete(g) ||
	    x->node->state > ST_NODE_SERVING) {
		refuse(x->out, CL_REFUSE_LEADER,
		    who.leader != x->from ? who.leader : 0);
		return false;
	}
	x->group = g;
	x->ballot = g->ballot;
	x->leading = g->state == ST_GROUP_LEADING;
	return true;
}

static bool
still_leads(const struct giving *x)
{
	return st_group_is_leader(x->group) &&
	       st_ballot_cmp(&x->group->ballot, &x->ballot) == 0;
}

/* The learner has applied, or has in its log, entries up to `applied`: no page
 * may be older. */
static bool
reach(struct giving *x)
{
	struct st_group *g = x->group;
	uint64_t until = world_mono_us(x->node->world) + REACH_US;

	while (still_leads(x) && g->applied < x->m->applied &&
	       g->applied < g->last)
		if (cond_wait(&g->changed, until) != WAKE_EVENT)
			return false;
	return still_leads(x);
}

/* After the read: was this member the leader all the time? */
static bool
end(struct giving *x)
{
	if (!still_leads(x))
		return false;
	if (!x->leading)
		return true;
	return st_group_confirm(x->group, &x->ballot, x->until_us);
}

static void
give_state(struct giving *x)
{
	struct st_scratch *s = st_scratch_new(x->node, "state");
	struct source *old = find(x->node, x->group->gid, x->from), *keep;
	uint32_t max = x->m->bytes < PAGE_MAX ? x->m->bytes : PAGE_MAX;
	struct read *r;

	if (old)
		source_free(old);
	keep = NEW(s->arena, struct source);
	keep->scratch = s;
	keep->member = x->from;
	keep->used_us = world_mono_us(x->node->world);
	r = &keep->read;
	r->arena = s->arena;
	r->gid = x->group->gid;
	engine_run(x->node->engine, ENGINE_LANE_ANY, ENGINE_READ, state_job, r);
	if (!r->there || !end(x)) {
		refuse(x->out, CL_REFUSE_LEADER, 0);
		st_scratch_free(s);
		return;
	}
	put_record(r, x->out);
	put_pieces(r, x->arena, STR_NONE, max, x->out);
	st_replicate_resync(x->group, x->from, r->record.applied);
	if (x->out->done || find(x->node, x->group->gid, x->from))
		st_scratch_free(s);
	else
		list_push(&x->node->sources, &keep->link);
}

static void
give_rows(struct giving *x)
{
	struct st_scratch *s = st_scratch_new(x->node, "page");
	struct st_group *g = x->group;
	struct read r = {.arena = s->arena,
	    .gid = g->gid,
	    .catalog = st_catalog_pin(x->node, x->arena),
	    .after = x->m->after,
	    .max = x->m->bytes < PAGE_MAX ? x->m->bytes : PAGE_MAX};

	engine_run(x->node->engine, ENGINE_LANE_ANY, ENGINE_READ, rows_job, &r);
	if (!r.there || !end(x)) {
		refuse(x->out, CL_REFUSE_LEADER, 0);
	} else if (r.unknown) {
		refuse(x->out, CL_REFUSE_CATALOG, 0);
	} else {
		put_record(&r, x->out);
		put_pieces(&r, x->arena, STR_NONE, UINT32_MAX, x->out);
		ASSERT(x->out->done);
		x->out->done = !r.more;
		if (r.more)
			x->out->upto = x->out->rows[x->out->n_rows - 1].key;
		g->resync.rows += r.n;
		g->resync.bytes += r.bytes;
		metric_add(M_NODE_RESYNC_ROWS_SENT, r.n);
	}
	st_scratch_free(s);
}

struct err *
st_source_serve(struct st_node *n, struct arena *a, uint32_t from,
    const struct cl_resync_get *m, uint64_t catalog, struct cl_resync_page *out)
{
	struct giving x = {.node = n,
	    .arena = a,
	    .from = from,
	    .m = m,
	    .until_us = world_mono_us(n->world) + WAIT_US,
	    .out = out};

	memset(out, 0, sizeof *out);
	if (m->what != CL_RESYNC_STATE && m->what != CL_RESYNC_ROWS)
		return ERR(a, ERRCODE_PROTOCOL_VIOLATION,
		    "malformed resync: part %u", m->what);
	st_source_sweep(n);
	if (m->what == CL_RESYNC_STATE && m->index) {
		serve_more(n, a, from,
		    (struct st_gid){m->placement, m->slot, m->epoch}, m, out);
		return NULL;
	}
	if (!begin(&x, catalog))
		return NULL;
	if (!reach(&x))
		refuse(out, CL_REFUSE_BUSY, 0);
	else if (m->what == CL_RESYNC_STATE)
		give_state(&x);
	else
		give_rows(&x);
	return NULL;
}
