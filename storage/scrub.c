#include "storage/scrub.h"

#include <inttypes.h>
#include <xxhash.h>

#include "base/log.h"
#include "base/metrics.h"
#include "cluster/row.h"
#include "storage/apply.h"
#include "storage/books.h"
#include "storage/catalog.h"
#include "storage/elect.h"
#include "storage/fill.h"
#include "storage/link.h"
#include "storage/peer.h"
#include "storage/replicate.h"
#include "storage/resync.h"
#include "storage/slice.h"

#define REACH_US     1000000u
#define CALL_US      4000000u
#define DEEP_US      20000000u
#define POLL_US      200000u
#define ATTEMPTS     5
#define PAUSE_MIN_US 10000u
#define INDEXES_MAX  64u /* mended in one go, of one group */

/* ---- deciding ---- */

uint32_t
st_scrub_judge(struct st_opinion *o, size_t n)
{
	size_t best = n, most = 0;
	uint32_t odd = 0;

	for (size_t i = 0; i < n; i++) {
		size_t same = 0;

		for (size_t j = 0; j < n; j++)
			same += !o[j].wrong && o[j].sum == o[i].sum;
		if (o[i].wrong || same <= most)
			continue;
		most = same;
		best = i;
	}
	for (size_t i = 0; i < n; i++) {
		o[i].odd = best < n && (o[i].wrong || o[i].sum != o[best].sum);
		odd += o[i].odd;
	}
	return odd;
}

/* ---- one copy ---- */

struct digest_job {
	struct arena *arena; /* a root */
	struct st_gid gid;
	const struct cl_catalog *catalog;
	uint64_t applied;
	struct cl_table_digest *list;
	uint32_t n;
	bool incomplete;
};

static bool
read_count(struct kv *kv, struct arena *a, uint32_t table, uint16_t slot,
    struct st_count *out)
{
	struct buf key;
	struct str v;

	*out = (struct st_count){0, 0, 0};
	buf_init(&key, a);
	st_key_count(&key, table, slot);
	return kv_get(kv, KV_META, buf_view(&key), &v) && st_count_get(v, out);
}

/* Is the copy incomplete, by what is on disk at this instant? Its digests are
 * of some rows then. */
static bool
has_pass(struct kv *kv, struct arena *a, struct st_gid gid)
{
	struct buf key;
	struct str v;

	buf_init(&key, a);
	st_key_pass(&key, gid);
	return kv_get(kv, KV_META, buf_view(&key), &v);
}

static void
digest_job(struct kv *kv, void *arg)
{
	struct digest_job *j = arg;
	struct st_group_record r = {.applied = 0};
	struct st_count c;
	struct buf key;
	struct str v;
	uint32_t table;
	size_t at = 0;

	j->n = 0;
	j->incomplete = has_pass(kv, j->arena, j->gid);
	buf_init(&key, j->arena);
	st_key_group(&key, j->gid);
	if (kv_get(kv, KV_META, buf_view(&key), &v))
		st_group_record_get(v, &r);
	j->applied = r.applied;
	while (j->n < CL_OBJECTS_MAX &&
	       st_slice_each(j->catalog, j->gid, &at, &table)) {
		if (!read_count(kv, j->arena, table, j->gid.slot, &c))
			continue;
		j->list[j->n++] =
		    (struct cl_table_digest){table, (uint64_t)c.rows, c.digest};
	}
}

/* Reads all rows, and compares with what is kept of them. */
struct recount_job {
	struct arena *arena; /* a root */
	struct st_gid gid;
	const struct cl_catalog *catalog;
	uint64_t rows;
	bool wrong;
	bool incomplete;
	uint32_t indexes[INDEXES_MAX]; /* that are not those of the rows */
	uint32_t n_indexes;
};

static void
compare(struct kv *kv, struct recount_job *j, uint32_t table,
    const struct st_count *real)
{
	struct st_count kept;

	read_count(kv, j->arena, table, j->gid.slot, &kept);
	j->wrong |= kept.rows != real->rows || kept.bytes != real->bytes ||
		    kept.digest != real->digest;
}

/* Tables of which there is no row, but a count. */
static void
compare_empty(struct kv *kv, struct recount_job *j, uint32_t from, uint32_t to)
{
	const struct st_count none = {0, 0, 0};
	uint32_t table;
	size_t at = 0;

	while (st_slice_each(j->catalog, j->gid, &at, &table))
		if (table > from && table < to)
			compare(kv, j, table, &none);
}

/* Indexes are this copy's own: what is wrong with one is no difference. */
static void
look_at_indexes(struct kv *kv, struct recount_job *j)
{
	const struct cl_index *def;
	uint32_t table;
	size_t at = 0;

	while (st_slice_each(j->catalog, j->gid, &at, &table)) {
		size_t i = 0;

		while ((def = cl_index_each(j->catalog, table, &i)) != NULL)
			if (j->n_indexes < INDEXES_MAX &&
			    !st_index_right(
				kv, j->arena, j->catalog, def, j->gid.slot))
				j->indexes[j->n_indexes++] = def->id;
	}
}

static void
recount_job(struct kv *kv, void *arg)
{
	struct recount_job *j = arg;
	struct st_count n = {0, 0, 0};
	uint32_t table = 0;
	struct st_slice s;
	struct str k, v;
	bool more;

	j->rows = 0;
	j->wrong = false;
	j->n_indexes = 0;
	j->incomplete = has_pass(kv, j->arena, j->gid);
	if (j->incomplete)
		return;
	look_at_indexes(kv, j);
	st_slice_open(&s, kv, j->arena, j->catalog, j->gid);
	more = st_slice_seek(&s, STR_NONE, &k, &v);
	while (more) {
		struct cl_row_head h;

		if (s.table != table) {
			if (table)
				compare(kv, j, table, &n);
			compare_empty(kv, j, table, s.table);
			table = s.table;
			n = (struct st_count){0, 0, 0};
		}
		j->rows++;
		if (!cl_row_head(v, &h)) {
			j->wrong = true;
		} else {
			n.digest += st_row_digest(k, h.flags, h.stamp);
			if (!(h.flags & CL_ROW_TOMBSTONE)) {
				n.rows++;
				n.bytes += (int64_t)(k.len + v.len);
			}
		}
		more = st_slice_next(&s, &k, &v);
	}
	if (table)
		compare(kv, j, table, &n);
	if (!s.unknown)
		compare_empty(kv, j, table, UINT32_MAX);
	st_slice_close(&s);
}

/* Entries are made anew from the rows, by this member alone. */
static void
mend_indexes(struct st_group *g, const struct recount_job *j)
{
	for (uint32_t i = 0; i < j->n_indexes; i++) {
		LOG(g->node->world, LOG_ERROR, "scrub", "index",
		    "placement=%u slot=%u index=%u: entries are not those of "
		    "the rows",
		    g->gid.placement, g->gid.slot, j->indexes[i]);
		metric_inc(M_NODE_INDEX_MENDED);
		st_fill_again(g, j->indexes[i]);
	}
}

static enum cl_refusal
recount(struct st_group *g, bool *wrong)
{
	struct st_scratch *s = st_scratch_new(g->node, "recount");
	struct recount_job j = {.arena = s->arena,
	    .gid = g->gid,
	    .catalog = st_catalog_pin(g->node, s->arena)};

	engine_run(
	    g->node->engine, ENGINE_LANE_ANY, ENGINE_READ, recount_job, &j);
	mend_indexes(g, &j);
	st_scratch_free(s);
	metric_add(M_NODE_SCRUB_ROWS, j.rows);
	*wrong = j.wrong;
	return j.incomplete ? CL_REFUSE_LEADER : CL_REFUSE_NONE;
}

/* Lets the copy come to that index, and stop there for the moment. */
static bool
stop_at(struct st_group *g, uint64_t index)
{
	uint64_t until = world_mono_us(g->node->world) + REACH_US;

	if (g->stop_at || g->applied > index)
		return false;
	g->stop_at = index;
	while (g->applied < index)
		if (cond_wait(&g->changed, until) != WAKE_EVENT)
			break;
	g->stop_at = 0;
	if (g->applied == index)
		return true;
	st_group_committed(g);
	return false;
}

static enum cl_refusal
digests_at(
    struct st_group *g, struct arena *a, uint64_t index, struct cl_digests *out)
{
	struct st_scratch *s;
	struct digest_job j;

	if (!stop_at(g, index))
		return CL_REFUSE_BUSY;
	/* No wait since it stopped there: nothing goes on before this. */
	st_group_hold(g);
	s = st_scratch_new(g->node, "digests");
	j = (struct digest_job){.arena = s->arena,
	    .gid = g->gid,
	    .catalog = st_catalog_pin(g->node, s->arena)};
	j.list = NEW_N(s->arena, struct cl_table_digest, CL_OBJECTS_MAX);
	engine_run(
	    g->node->engine, ENGINE_LANE_ANY, ENGINE_READ, digest_job, &j);
	st_group_release(g);
	out->tables = arena_dup(a, j.list, (j.n + 1) * sizeof *j.list);
	out->n_tables = j.n;
	st_scratch_free(s);
	return j.applied == index && !j.incomplete ? CL_REFUSE_NONE
						   : CL_REFUSE_BUSY;
}

static void
digests_of(struct st_group *g, struct arena *a, const struct cl_digest_get *m,
    struct cl_digests *out)
{
	enum cl_refusal why = CL_REFUSE_NONE;
	bool wrong = false;

	if (m->deep && st_group_complete(g))
		why = recount(g, &wrong);
	if (!why && m->index && st_group_complete(g))
		why = digests_at(g, a, m->index, out);
	/* It must not be one that is being made anew. */
	if (!st_group_complete(g))
		why = CL_REFUSE_LEADER;
	out->reason = (uint8_t)why;
	out->wrong = wrong;
	out->index = why || !m->index ? g->applied : m->index;
	if (wrong)
		LOG(g->node->world, LOG_ERROR, "scrub", "recount",
		    "placement=%u slot=%u: rows are not what was counted",
		    g->gid.placement, g->gid.slot);
}

struct err *
st_digest_serve(struct st_node *n, struct arena *a,
    const struct cl_digest_get *m, uint64_t catalog, struct cl_digests *out)
{
	struct st_gid gid = {m->placement, m->slot, m->epoch};
	uint64_t until = world_mono_us(n->world) + REACH_US;
	enum cl_refusal why;
	struct st_group *g = NULL;

	memset(out, 0, sizeof *out);
	if (st_catalog_wait(n, catalog, until))
		g = st_group_open(n, gid, catalog, until, &why);
	else
		why = CL_REFUSE_CATALOG;
	if (g)
		digests_of(g, a, m, out);
	else
		out->reason = (uint8_t)why;
	return NULL;
}

void
st_resync_ask_serve(struct st_node *n, const struct cl_resync_ask *m)
{
	struct st_gid gid = {m->placement, m->slot, m->epoch};
	uint64_t until = world_mono_us(n->world) + REACH_US;
	enum cl_refusal why;
	struct st_group *g = st_group_open(n, gid, 0, until, &why);

	if (g)
		st_resync_damaged(g);
}

/* ---- all copies of a group ---- */

struct scrub;

struct asker {
	struct scrub *scrub;
	uint32_t member;
	struct cl_digest_get msg;
	struct cl_digests out;
	bool answered;
	bool wrong;
	uint64_t catalog; /* at the one who answered */
};

struct scrub {
	struct st_node *node;
	struct st_group *group;
	struct arena *arena;
	struct st_ballot ballot;
	struct asker askers[CL_COPIES_MAX]; /* the first is the leader */
	uint32_t n, running;
	struct cond ended;
};

static void
ask_member(struct scrub *s, struct asker *k)
{
	struct st_node *n = s->node;
	struct st_reply_msg reply;
	struct err *e;

	/* One that hangs is not waited for, group by group. */
	k->answered = false;
	if (!st_link_alive(n, k->member))
		return;
	e = st_member_call(n, s->arena, k->member, CL_MSG_DIGEST_GET, &k->msg,
	    world_mono_us(n->world) + (k->msg.deep ? DEEP_US : CALL_US),
	    &reply);
	k->answered = !e && reply.kind == CL_MSG_DIGESTS;
	if (k->answered) {
		k->out = *(const struct cl_digests *)reply.msg;
		k->catalog = reply.catalog;
	}
}

static void
ask_fiber(void *arg)
{
	struct asker *k = arg;
	struct scrub *s = k->scrub;

	memset(&k->out, 0, sizeof k->out);
	if (k->member == s->node->id.member) {
		digests_of(s->group, s->arena, &k->msg, &k->out);
		k->catalog = cl_catalog_version(s->node->catalog.snap);
		k->answered = true;
	} else {
		ask_member(s, k);
	}
	k->wrong |= k->answered && k->out.wrong;
	s->running--;
	cond_signal(&s->ended);
	st_background_end(s->node);
}

/* All at once: those that have come to the index wait there for nobody. False:
 * one is away, or not what is wanted. */
static bool
ask_all(struct scrub *s, uint64_t index, bool deep)
{
	struct st_group *g = s->group;
	bool ok = true;

	for (uint32_t i = 0; i < s->n; i++) {
		struct asker *k = &s->askers[i];

		k->msg = (struct cl_digest_get){.placement = g->gid.placement,
		    .slot = g->gid.slot,
		    .epoch = g->gid.epoch,
		    .index = index,
		    .deep = deep};
		k->answered = false;
		s->running++;
		s->node->n_fibers++;
		fiber_spawn(
		    s->node->world, "digest", FIBER_STACK_NODE, ask_fiber, k);
	}
	while (s->running)
		cond_wait_hard(&s->ended);
	if (!st_group_leads(g, &s->ballot))
		return false;
	for (uint32_t i = 0; i < s->n; i++) {
		const struct asker *k = &s->askers[i];

		ok &= k->answered && !k->out.reason &&
		      (!index || k->out.index == index);
		if (k->answered)
			st_replicate_lags(g, k->member, k->out.index);
	}
	return ok;
}

/* Which index all of them can be asked about: what the leader has applied, or,
 * when entries come so fast that they pass it, one that they will come to. */
static bool
align(struct scrub *s)
{
	const struct st_group *g = s->group;
	uint64_t last = g->last;

	for (int i = 0; i < ATTEMPTS; i++) {
		uint64_t moved = g->last - last;

		if (!st_group_leads(g, &s->ballot) || !g->applied)
			return false;
		last = g->last;
		if (ask_all(
			s, moved ? last + moved / 4 + 1 : g->applied, false))
			return true;
		fiber_sleep(
		    s->node->world, world_mono_us(s->node->world) + POLL_US);
	}
	return false;
}

/* Dropped tables are swept when each node comes to it: only those count that
 * were there before and are there after. */
static uint64_t
sum_of(const struct cl_digests *d, const struct cl_catalog *before,
    const struct cl_catalog *after, struct st_gid gid)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < d->n_tables; i++) {
		const struct cl_table_digest *t = &d->tables[i];
		uint64_t x[3] = {t->table, t->rows, t->digest};

		if ((t->rows || t->digest) &&
		    st_slice_has(before, gid, t->table) &&
		    st_slice_has(after, gid, t->table))
			sum += XXH3_64bits(x, sizeof x);
	}
	return sum;
}

enum scrubbed { SCRUB_SKIPPED, SCRUB_EQUAL, SCRUB_DIFFERENT };

static void
tell_odd(struct scrub *s, uint32_t member)
{
	const struct st_group *g = s->group;
	struct cl_resync_ask m = {g->gid.placement, g->gid.slot, g->gid.epoch};
	struct st_node *n = s->node;
	struct st_reply_msg reply;

	LOG(n->world, LOG_ERROR, "scrub", "different",
	    "placement=%u slot=%u member=%u", g->gid.placement, g->gid.slot,
	    member);
	metric_inc(M_NODE_SCRUB_DIFFERENCES);
	if (member == n->id.member)
		st_resync_damaged(s->group);
	else
		/* If it does not hear this, the next scrub says it again. */
		(void)st_member_call(n, s->arena, member, CL_MSG_RESYNC_ASK, &m,
		    world_mono_us(n->world) + CALL_US, &reply);
}

static enum scrubbed
judge(struct scrub *s, const struct cl_catalog *before, uint32_t *different)
{
	struct st_node *n = s->node;
	struct st_opinion o[CL_COPIES_MAX];
	const struct cl_catalog *after;

	for (uint32_t i = 0; i < s->n; i++)
		if (!st_catalog_wait(n, s->askers[i].catalog,
			world_mono_us(n->world) + REACH_US))
			return SCRUB_SKIPPED;
	after = st_catalog_pin(n, s->arena);
	for (uint32_t i = 0; i < s->n; i++)
		o[i] = (struct st_opinion){.sum = sum_of(&s->askers[i].out,
					       before, after, s->group->gid),
		    .wrong = s->askers[i].wrong};
	*different = st_scrub_judge(o, s->n);
	/* Of all copies none is right: there is nothing to mend it from. */
	for (uint32_t i = 0; i < s->n; i++)
		if (o[i].wrong && !o[i].odd) {
			metric_inc(M_NODE_SCRUB_DIFFERENCES);
			++*different;
		}
	/* The leader last: it steps down, for it is to be made anew, too. */
	for (uint32_t i = s->n; i-- > 0;)
		if (o[i].odd)
			tell_odd(s, s->askers[i].member);
	return *different ? SCRUB_DIFFERENT : SCRUB_EQUAL;
}

static void
open_scrub(struct scrub *s, struct st_group *g, struct arena *a)
{
	uint32_t self = g->node->id.member;

	memset(s, 0, sizeof *s);
	s->node = g->node;
	s->group = g;
	s->arena = a;
	s->ballot = g->ballot;
	cond_init(&s->ended, g->node->world);
	s->askers[s->n++].member = self;
	for (uint32_t i = 0; i < g->n_members; i++)
		if (g->members[i] != self)
			s->askers[s->n++].member = g->members[i];
	for (uint32_t i = 0; i < s->n; i++)
		s->askers[i].scrub = s;
}

static enum scrubbed
scrub_group(struct st_group *g, struct arena *a, bool deep, uint32_t *different)
{
	struct scrub *s = NEW(a, struct scrub);
	const struct cl_catalog *before = st_catalog_pin(g->node, a);
	enum scrubbed r = SCRUB_SKIPPED;

	*different = 0;
	if (g->state != ST_GROUP_LEADING)
		return r;
	open_scrub(s, g, a);
	/* Rows against digests first: each copy by itself, at any index. */
	if ((!deep || ask_all(s, 0, true)) && align(s))
		r = judge(s, before, different);
	metric_inc(r ? M_NODE_SCRUBS : M_NODE_SCRUBS_SKIPPED);
	return r;
}

/* ---- the timer ---- */

static bool
pause_until(struct st_node *n, uint64_t until)
{
	while (n->state == ST_NODE_SERVING && world_mono_us(n->world) < until)
		cond_wait(&n->wakeup, until);
	return n->state == ST_NODE_SERVING;
}

/* Groups may be added while one is scrubbed. */
static struct st_group **
all_groups(struct st_node *n, struct arena *a, size_t *count)
{
	struct st_group **all =
	    NEW_N(a, struct st_group *, map_count(n->groups) + 1);
	size_t at = 0;
	void *v;

	*count = 0;
	while (map_next(n->groups, &at, NULL, &v))
		all[(*count)++] = TAKE(struct st_group, v, ST_GROUP_MAGIC);
	return all;
}

/* Each group that is led here once per interval, spread over it. */
static void
scrub_fiber(void *arg)
{
	struct st_node *n = TAKE(struct st_node, arg, ST_NODE_MAGIC);
	uint64_t interval = n->conf.scrub_interval_us;
	uint64_t next =
	    world_mono_us(n->world) + world_random_below(n->world, interval);

	while (pause_until(n, next)) {
		struct arena *a = arena_new(n->arena, "scrub");
		size_t count;
		struct st_group **all = all_groups(n, a, &count);
		uint64_t step = interval / (count + 1);

		for (size_t i = 0; i < count; i++) {
			struct arena *one = arena_new(a, "scrub group");
			uint32_t different;

			if (all[i]->state == ST_GROUP_LEADING)
				scrub_group(all[i], one, false, &different);
			arena_free(one);
			next += step > PAUSE_MIN_US ? step : PAUSE_MIN_US;
			if (!pause_until(n, next))
				break;
		}
		next += step;
		arena_free(a);
	}
	st_background_end(n);
}

void
st_scrub_start(struct st_node *n)
{
	if (n->conf.scrub_interval_us)
		st_background(n, "scrub", scrub_fiber);
}

/* ---- REPAIR CLUSTER ---- */

/* A group in which copies were found to differ. */
struct mend {
	struct st_group *group;
	uint32_t members[CL_COPIES_MAX];
	uint32_t n;
};

static bool
is_complete(struct st_node *n, struct arena *a, struct st_group *g, uint32_t m)
{
	struct cl_digest_get get = {.placement = g->gid.placement,
	    .slot = g->gid.slot,
	    .epoch = g->gid.epoch};
	struct st_reply_msg reply;
	struct err *e;

	if (m == n->id.member)
		return st_group_complete(g);
	e = st_member_call(n, a, m, CL_MSG_DIGEST_GET, &get,
	    world_mono_us(n->world) + CALL_US, &reply);
	return !e && reply.kind == CL_MSG_DIGESTS &&
	       !((const struct cl_digests *)reply.msg)->reason;
}

static void
wait_mended(struct st_node *n, struct mend *m, uint64_t deadline_us)
{
	for (uint32_t i = 0; i < m->n; i++) {
		bool done = false;

		while (!done && n->state == ST_NODE_SERVING &&
		       world_mono_us(n->world) < deadline_us) {
			struct arena *a = arena_new(n->arena, "mended");

			done = is_complete(n, a, m->group, m->members[i]);
			arena_free(a);
			if (!done)
				fiber_sleep(n->world,
				    world_mono_us(n->world) + POLL_US);
		}
	}
}

struct repair {
	struct st_node *node;
	struct arena *arena;
	struct mend *mends;
	uint32_t n_mends;
	struct cl_repaired *out;
};

static void
repair_group(struct repair *r, struct st_group *g)
{
	struct arena *a = arena_new(r->arena, "repair group");
	struct st_resync was = g->resync;
	uint32_t different;
	enum scrubbed s = scrub_group(g, a, true, &different);
	struct mend *m;

	arena_free(a);
	if (s != SCRUB_SKIPPED)
		r->out->groups[r->out->n_groups++] =
		    (struct cl_group_at){g->gid.placement, g->gid.slot,
			g->gid.epoch, g->node->id.member};
	if (!different)
		return;
	r->out->different += different;
	r->out->rows -= was.rows;
	r->out->bytes -= was.bytes;
	m = &r->mends[r->n_mends++];
	m->group = g;
	m->n = g->n_members;
	memcpy(m->members, g->members, m->n * sizeof *m->members);
}

static struct st_group *
group_to_repair(struct st_node *n, const struct cl_group_at *at,
    uint64_t catalog, uint64_t deadline_us)
{
	struct st_gid gid = {at->placement, at->slot, at->epoch};
	struct st_refusal why;

	return st_group_lead(n, gid, catalog, deadline_us, &why);
}

struct err *
st_repair_serve(struct st_node *n, struct arena *a, const struct cl_repair *m,
    uint64_t catalog, uint64_t deadline_us, struct cl_repaired *out)
{
	struct repair r = {.node = n, .arena = a, .out = out};
	size_t count = m->n_groups;
	struct st_group **all = NULL;

	memset(out, 0, sizeof *out);
	if (!count)
		all = all_groups(n, a, &count);
	if (count > CL_OBJECTS_MAX)
		count = CL_OBJECTS_MAX;
	out->groups = NEW_N(a, struct cl_group_at, count + 1);
	r.mends = NEW_N(a, struct mend, count + 1);
	for (size_t i = 0; i < count; i++) {
		struct st_group *g = all ? all[i]
					 : group_to_repair(n, &m->groups[i],
					       catalog, deadline_us);

		if (n->state != ST_NODE_SERVING ||
		    world_mono_us(n->world) >= deadline_us)
			break;
		if (g && g->state == ST_GROUP_LEADING)
			repair_group(&r, g);
	}
	for (uint32_t i = 0; i < r.n_mends; i++) {
		struct st_group *g = r.mends[i].group;

		wait_mended(n, &r.mends[i], deadline_us);
		out->rows += g->resync.rows;
		out->bytes += g->resync.bytes;
	}
	return NULL;
}
