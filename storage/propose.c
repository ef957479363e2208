#include "storage/propose.h"

#include "base/log.h"
#include "base/metrics.h"
#include "base/mutate.h"
#include "cluster/row.h"
#include "storage/catalog.h"
#include "storage/clock.h"
#include "storage/elect.h"
#include "storage/lease.h"
#include "storage/link.h"
#include "storage/propose_int.h"
#include "storage/settle.h"

/* Rows of an answer, so that it fits a frame whatever they are. */
#define ROWS_BYTES   (NET_FRAME_MAX - CL_VALUE_MAX - (64u << 10))
#define OWN_DEADLINE 10000u /* ms */
/* A repeated send without keys has no lock to wait for. */
#define REPEAT_WAIT_US 1000u

void
st_prop_refuse(struct st_prop *p, enum cl_refusal why)
{
	p->out->outcome = CL_REFUSED;
	p->out->reason = (uint8_t)why;
	if (p->group && !p->out->leader &&
	    p->group->leader != p->node->id.member)
		p->out->leader = p->group->leader;
	metric_inc(M_NODE_REFUSED);
}

static void
answer(struct st_prop *p, const struct st_result *r)
{
	p->out->outcome = r->outcome;
	p->out->stamp = r->stamp;
	p->out->index = r->index;
}

/* ---- is the message well-formed? ---- */

static struct err *
malformed(struct arena *a, const char *what)
{
	return ERR(
	    a, ERRCODE_PROTOCOL_VIOLATION, "malformed proposal: %s", what);
}

static struct err *
check_key(struct arena *a, const struct cl_propose *m, struct str key)
{
	uint32_t table;
	uint16_t slot;
	struct str rest;

	if (!cl_key_split(key, &table, &slot, &rest))
		return malformed(a, "a key is too short");
	if (slot != m->slot)
		return malformed(a, "a key is of another slot");
	return NULL;
}

static struct err *
check_write(
    struct arena *a, const struct cl_propose *m, const struct cl_write *w)
{
	struct cl_row_head h;

	TRY(check_key(a, m, w->key));
	switch (w->kind) {
	case CL_WRITE_PUT:
		if (!cl_row_head(w->value, &h) || h.flags)
			return malformed(a, "a value is no row");
		return NULL;
	case CL_WRITE_DELETE:
		if (w->value.len)
			return malformed(a, "a delete has a value");
		return NULL;
	default:
		return malformed(a, "unknown kind of write");
	}
}

/* Its entry travels to other members in one frame. */
static struct err *
check_size(struct arena *a, const struct cl_propose *m)
{
	size_t bytes = 64;

	for (uint32_t i = 0; i < m->n_writes; i++)
		bytes += m->writes[i].key.len + m->writes[i].value.len + 16;
	return bytes <= CL_ENTRY_MAX
		   ? NULL
		   : ERR(a, ERRCODE_PROGRAM_LIMIT_EXCEEDED,
			 "a proposal of %zu bytes is too large", bytes);
}

struct err *
st_prop_message(struct arena *a, const struct cl_propose *m)
{
	if (m->session.len != 16 || !m->send)
		return malformed(a, "no operation id");
	for (uint32_t i = 0; i < m->n_conds; i++) {
		const struct cl_cond *c = &m->conds[i];

		if (c->kind < CL_COND_ABSENT || c->kind > CL_COND_SCHEMA)
			return malformed(a, "unknown kind of condition");
		if (c->kind == CL_COND_SCHEMA && c->key.len != 4)
			return malformed(a, "a table id has four bytes");
		if (c->kind != CL_COND_SCHEMA)
			TRY(check_key(a, m, c->key));
	}
	for (uint32_t i = 0; i < m->n_writes; i++)
		TRY(check_write(a, m, &m->writes[i]));
	return check_size(a, m);
}

/* A catalog row that does not decode would be there for ever. */
static struct err *
check_objects(struct arena *a, const struct cl_propose *m)
{
	for (uint32_t i = 0; i < m->n_writes; i++) {
		const struct cl_write *w = &m->writes[i];
		struct cl_object o;
		enum cl_kind kind;
		uint32_t id, table;
		uint16_t slot;
		struct str rest;

		cl_key_split(w->key, &table, &slot, &rest);
		if (table != CL_TABLE_OBJECTS)
			continue;
		if (!cl_object_key_read(w->key, &kind, &id))
			return malformed(a, "a catalog key");
		if (w->kind == CL_WRITE_PUT)
			TRY(cl_object_row_read(a, w->key, w->value, &o));
	}
	return NULL;
}

/* ---- may it be proposed here and now? ---- */

/* The table's rows must belong to this group. */
static enum cl_refusal
check_table(const struct st_prop *p, uint32_t table)
{
	const struct cl_catalog *c = p->node->catalog.snap;
	const struct cl_object *counter;
	uint32_t placement;

	if (p->m->placement == CL_PLACEMENT_CATALOG)
		return table == CL_TABLE_OBJECTS || table == CL_TABLE_NAMES
			   ? CL_REFUSE_NONE
			   : CL_REFUSE_CATALOG;
	if (cl_catalog_rows_of(c, table, &placement))
		return placement == p->m->placement ? CL_REFUSE_NONE
						    : CL_REFUSE_CATALOG;
	counter = cl_find(c, CL_COUNTER, 0);
	return counter && table < counter->u.counter.next_id
		   ? CL_REFUSE_DROPPED
		   : CL_REFUSE_CATALOG;
}

enum cl_refusal
st_prop_tables(const struct st_prop *p)
{
	const struct cl_propose *m = p->m;
	uint32_t table, last = 0;
	uint16_t slot;
	struct str rest;

	for (uint32_t i = 0; i < m->n_conds + m->n_writes; i++) {
		struct str key = i < m->n_conds ? m->conds[i].key
						: m->writes[i - m->n_conds].key;
		enum cl_refusal why;

		if (i < m->n_conds && m->conds[i].kind == CL_COND_SCHEMA)
			continue;
		cl_key_split(key, &table, &slot, &rest);
		if (table == last)
			continue;
		why = check_table(p, table);
		if (why)
			return why;
		last = table;
	}
	return CL_REFUSE_NONE;
}

static uint32_t
schema_table(const struct cl_cond *c)
{
	struct cur k = cur_of(c->key);

	return cur_be32(&k);
}

/* Schema conditions against the catalog: an older version is stale for good, a
 * newer one is one that this node has not seen yet. */
static enum cl_refusal
check_schemas(const struct st_prop *p)
{
	for (uint32_t i = 0; i < p->m->n_conds; i++) {
		const struct cl_cond *c = &p->m->conds[i];
		const struct cl_table *t;

		if (c->kind != CL_COND_SCHEMA)
			continue;
		t = cl_catalog_table(p->node->catalog.snap, schema_table(c));
		if (!t)
			return CL_REFUSE_DROPPED;
		if (c->arg != t->version ||
		    c->arg < st_group_schema(p->group, t->id))
			return CL_REFUSE_CATALOG;
	}
	return CL_REFUSE_NONE;
}

/* An operation's deadline is fixed at its first send and bounded, so that no
 * copy can turn up when its result is forgotten. */
enum cl_refusal
st_prop_deadline(const struct st_prop *p, cl_stamp now)
{
	cl_stamp most =
	    now + CL_STAMP_OF_MS(p->node->conf.retry_window_us / 2000);

	if (p->m->deadline > most && !mutate("deadline_uncapped"))
		return CL_REFUSE_DEADLINE;
	return p->m->deadline < now ? CL_REFUSE_DEADLINE : CL_REFUSE_NONE;
}

/* Everything that may have changed while the proposal waited; asked at arrival
 * and again right before the append. */
enum cl_refusal
st_prop_now(const struct st_prop *p)
{
	enum cl_refusal why;

	if (p->node->state > ST_NODE_SERVING)
		return CL_REFUSE_STOPPING;
	if (!st_group_leads(p->group, &p->ballot))
		return CL_REFUSE_LEADER;
	if (!engine_writable(p->node->engine))
		return CL_REFUSE_FULL;
	why = st_prop_tables(p);
	return why ? why : check_schemas(p);
}

/* ---- locks ---- */

static void
granted_ev(struct st_lock_req *req)
{
	struct st_prop *p = req->owner;

	cond_signal(&p->granted);
}

/* Who waits behind a prepared part sees to it that it ends. */
static enum st_locked
wait_granted(struct st_prop *p)
{
	struct st_node *n = p->node;

	metric_inc(M_NODE_LOCK_WAITS);
	while (p->locks.n_blocked) {
		uint64_t look = world_mono_us(n->world) + ST_SETTLE_PAUSE_US;
		bool last = look >= p->deadline_us;
		enum wake w =
		    cond_wait(&p->granted, last ? p->deadline_us : look);

		if (w == WAKE_CANCEL || (w == WAKE_DEADLINE && last))
			break;
		if (w == WAKE_DEADLINE)
			st_settle_old(p->group);
	}
	return p->locks.n_blocked ? ST_LOCKS_WAITS : ST_LOCKS_GRANTED;
}

enum st_locked
st_prop_lock(struct st_prop *p)
{
	const struct cl_propose *m = p->m;
	struct st_lock_want *wants =
	    NEW_N(p->arena, struct st_lock_want, m->n_conds + m->n_writes + 1);
	enum st_locked got;
	uint32_t n = 0;

	for (uint32_t i = 0; i < m->n_conds; i++)
		if (m->conds[i].kind != CL_COND_SCHEMA)
			wants[n++].key = m->conds[i].key;
	for (uint32_t i = 0; i < m->n_writes; i++) {
		wants[n].exclusive = true;
		wants[n++].key = m->writes[i].key;
	}
	st_lock_req_init(&p->locks, wants, n);
	p->locks.granted = granted_ev;
	p->locks.owner = p;
	p->locks.age = p->age;
	if (p->age)
		got = st_locks_acquire_aged(&p->group->locks, &p->locks);
	else
		got = st_locks_acquire(&p->group->locks, &p->locks)
			  ? ST_LOCKS_GRANTED
			  : ST_LOCKS_WAITS;
	return got == ST_LOCKS_WAITS ? wait_granted(p) : got;
}

/* ---- conditions ---- */

struct cond_read {
	struct arena *arena; /* a root */
	const struct cl_propose *m;
	bool *holds;
	struct str *rows; /* of the false ones */
	uint32_t n_false, first_false;
};

static bool
holds(const struct cl_cond *c, bool live, cl_stamp stamp)
{
	switch (c->kind) {
	case CL_COND_ABSENT:
		return !live;
	case CL_COND_PRESENT:
		return live;
	case CL_COND_STAMP:
		return live && stamp == c->arg;
	default:
		return true; /* schema: checked elsewhere */
	}
}

/* Runs on an engine thread. */
static void
cond_job(struct kv *kv, void *arg)
{
	struct cond_read *r = arg;

	r->n_false = 0;
	for (uint32_t i = 0; i < r->m->n_conds && !kv_failed(kv); i++) {
		const struct cl_cond *c = &r->m->conds[i];
		struct cl_row_head h = {0};
		struct str row;
		bool live;

		r->rows[i] = STR_NONE;
		r->holds[i] = true;
		if (c->kind == CL_COND_SCHEMA)
			continue;
		live = kv_get(kv, KV_ROWS, c->key, &row) &&
		       cl_row_head(row, &h) && !(h.flags & CL_ROW_TOMBSTONE);
		r->holds[i] = holds(c, live, h.stamp);
		if (r->holds[i])
			continue;
		if (!r->n_false++)
			r->first_false = i;
		if (live)
			r->rows[i] = arena_str(r->arena, row);
	}
}

static void
give_rows(struct st_prop *p, const struct cond_read *r)
{
	size_t bytes = 0;

	p->out->failed = r->first_false;
	p->out->rows = NEW_N(p->arena, struct cl_row, r->n_false);
	for (uint32_t i = 0; i < p->m->n_conds; i++) {
		if (r->holds[i])
			continue;
		bytes += p->m->conds[i].key.len + r->rows[i].len + 16;
		if (p->out->n_rows && bytes > ROWS_BYTES)
			return;
		p->out->rows[p->out->n_rows++] = (struct cl_row){
		    p->m->conds[i].key, arena_str(p->arena, r->rows[i])};
	}
}

/* True when all hold; else the answer has the rows. */
bool
st_prop_conditions(struct st_prop *p)
{
	struct st_scratch *s;
	struct cond_read r;
	uint32_t n_keys = 0;

	for (uint32_t i = 0; i < p->m->n_conds; i++)
		n_keys += p->m->conds[i].kind != CL_COND_SCHEMA;
	if (!n_keys)
		return true;
	s = st_scratch_new(p->node, "conditions");
	r = (struct cond_read){.arena = s->arena, .m = p->m};
	r.holds = NEW_N(s->arena, bool, p->m->n_conds);
	r.rows = NEW_N(s->arena, struct str, p->m->n_conds);
	engine_run(p->node->engine, ENGINE_LANE_ANY, ENGINE_READ, cond_job, &r);
	if (r.n_false)
		give_rows(p, &r);
	st_scratch_free(s);
	return r.n_false == 0;
}

/* ---- the entry ---- */

/* The schema versions that the group has not heard of come first. No wait. */
bool
st_prop_schemas(struct st_prop *p, cl_stamp *stamp)
{
	for (uint32_t i = 0; i < p->m->n_conds; i++) {
		const struct cl_cond *c = &p->m->conds[i];
		struct st_entry e = {.kind = ST_ENTRY_SCHEMA, .stamp = *stamp};
		enum cl_clock_state why;

		if (c->kind != CL_COND_SCHEMA ||
		    st_group_schema(p->group, schema_table(c)) >= c->arg)
			continue;
		e.table = schema_table(c);
		e.version = (uint32_t)c->arg;
		/* It stands even if the proposal is refused after all. */
		st_pending_unref(st_group_append(p->group, &e));
		*stamp = st_clock_next(p->node, p->group->last_stamp, &why);
		if (!*stamp)
			return false;
	}
	return true;
}

static struct st_pending *
append(struct st_prop *p, cl_stamp stamp, bool applied)
{
	struct st_entry e = {.kind = ST_ENTRY_PROPOSAL, .stamp = stamp};
	struct st_pending *pending;

	memcpy(e.op.session, p->m->session.p, sizeof e.op.session);
	e.op.sequence = p->m->sequence;
	e.op.answered = p->m->answered;
	e.op.outcome = applied ? CL_APPLIED : CL_FALSE;
	if (applied) {
		e.writes = p->m->writes;
		e.n_writes = p->m->n_writes;
	}
	pending = st_group_append(p->group, &e);
	if (!mutate("result_not_kept"))
		st_results_begin(p->group->results, &e.op, pending->entry.index,
		    pending->entry.stamp);
	return pending;
}

/* A stamp for the append, or a refusal; *stamp 0 and none = it waited, and the
 * caller looks at everything again. */
enum cl_refusal
st_prop_stamp(struct st_prop *p, cl_stamp *stamp)
{
	enum cl_clock_state why;

	*stamp = st_clock_next(p->node, p->group->last_stamp, &why);
	if (*stamp && mutate("deadline_unchecked"))
		return CL_REFUSE_NONE;
	if (*stamp)
		return st_prop_deadline(p, *stamp);
	if (why == CL_CLOCK_SKEW)
		return CL_REFUSE_CLOCK;
	st_clock_wait(p->node);
	return CL_REFUSE_NONE;
}

/* An earlier send's result, looked up under the locks: true when it decides. */
bool
st_prop_result(struct st_prop *p, bool *again)
{
	struct st_result r;

	*again = false;
	if (mutate("result_not_kept"))
		return false;
	switch (st_results_find(p->group->results,
	    (const uint8_t *)p->m->session.p, p->m->sequence, &r)) {
	case ST_RESULT_NONE:
		return false;
	case ST_RESULT_PENDING:
		*again = true;
		return false;
	case ST_RESULT_KEPT:
		metric_inc(M_NODE_REPEATED);
		answer(p, &r);
		return true;
	case ST_RESULT_ANSWERED:
		st_prop_refuse(p, CL_REFUSE_ANSWERED);
		return true;
	case ST_RESULT_CROWDED:
		st_prop_refuse(p, CL_REFUSE_BUSY);
		return true;
	}
	UNREACHABLE();
}

/* Under the locks, conditions known: looks at everything that a wait may have
 * changed, then appends, with no wait in between. */
static void
decide(struct st_prop *p, bool applied)
{
	struct st_pending *pending;
	cl_stamp stamp = 0;
	uint64_t index;

	for (;;) {
		enum cl_refusal why = st_prop_now(p);
		bool again;

		if (!why && st_prop_result(p, &again))
			return;
		if (!why && again) {
			fiber_sleep(p->node->world,
			    world_mono_us(p->node->world) + REPEAT_WAIT_US);
			continue;
		}
		if (!why)
			why = st_prop_stamp(p, &stamp);
		if (why) {
			st_prop_refuse(p, why);
			return;
		}
		if (stamp && st_prop_schemas(p, &stamp) &&
		    (stamp <= p->m->deadline || mutate("deadline_unchecked")))
			break;
	}
	pending = append(p, stamp, applied);
	stamp = pending->entry.stamp;
	index = pending->entry.index;
	p->out->outcome = applied ? CL_APPLIED : CL_FALSE;
	p->out->stamp = stamp;
	p->out->index = index;
	if (st_pending_wait(pending) == ST_APPLIED)
		return;
	/* Another leads now, and its log says whether this happened. */
	p->out->outcome = CL_UNKNOWN;
	p->out->leader = p->group->leader;
	metric_inc(M_NODE_UNKNOWN);
}

/* Its locks are held. A false answer to a first send changes nothing, so it
 * needs no entry, only that this member still leads; an earlier copy of a
 * repeated one might still come, and must find that it was decided. */
static void
run_locked(struct st_prop *p)
{
	bool applied, again;

	if (st_prop_result(p, &again))
		return;
	applied = mutate("conditions_unlocked") || st_prop_conditions(p);
	if (!applied)
		metric_inc(M_NODE_FALSE);
	if (applied || (p->m->send > 1 && !mutate("false_unrecorded"))) {
		decide(p, applied);
		if (p->out->outcome != CL_FALSE)
			p->out->n_rows = 0;
		return;
	}
	if (mutate("false_unconfirmed")
		? st_group_leads(p->group, &p->ballot)
		: st_group_confirm(p->group, &p->ballot, p->deadline_us))
		p->out->outcome = CL_FALSE;
	else
		st_prop_refuse(p, CL_REFUSE_LEADER);
	p->out->n_rows = p->out->outcome == CL_FALSE ? p->out->n_rows : 0;
}

static void
run(struct st_prop *p)
{
	enum cl_refusal why = st_prop_now(p);
	bool again;

	/* What was done stays done, even if it could not be done any more. */
	if ((why == CL_REFUSE_DROPPED || why == CL_REFUSE_CATALOG) &&
	    p->m->send > 1 && st_prop_result(p, &again))
		return;
	if (!why)
		why = st_prop_deadline(p, st_now(p->node));
	if (!why && p->group->n_proposals >= ST_PROPOSALS_MAX)
		why = CL_REFUSE_BUSY;
	if (why) {
		st_prop_refuse(p, why);
		return;
	}
	if (st_prop_result(p, &again))
		return;
	p->group->n_proposals++;
	if (mutate("conditions_unlocked") && !st_prop_conditions(p))
		p->out->outcome = CL_FALSE;
	else if (st_prop_lock(p) == ST_LOCKS_GRANTED)
		run_locked(p);
	else
		st_prop_refuse(p, CL_REFUSE_DEADLINE);
	st_locks_release(&p->group->locks, &p->locks);
	p->group->n_proposals--;
}

struct err *
st_propose(struct st_node *n, struct arena *a, const struct cl_propose *m,
    uint64_t catalog, struct cl_proposed *out)
{
	struct st_prop p = {.node = n,
	    .arena = a,
	    .m = m,
	    .out = out,
	    .deadline_us = st_mono_of(n, m->deadline)};
	struct st_gid gid = {m->placement, m->slot, m->epoch};
	uint64_t from = world_mono_us(n->world);
	struct st_refusal why;

	memset(out, 0, sizeof *out);
	TRY(st_prop_message(a, m));
	if (m->placement == CL_PLACEMENT_CATALOG)
		TRY(check_objects(a, m));
	cond_init(&p.granted, n->world);
	why.why = st_prop_deadline(&p, st_now(n));
	if (why.why) {
		st_prop_refuse(&p, why.why);
		return NULL;
	}
	p.group = st_group_lead(n, gid, catalog, p.deadline_us, &why);
	if (!p.group) {
		out->leader = why.leader;
		st_prop_refuse(&p, why.why);
		return NULL;
	}
	/* A table that the sender knows may be news here. */
	if (st_prop_tables(&p) == CL_REFUSE_CATALOG)
		st_catalog_wait(n, catalog, p.deadline_us);
	p.ballot = p.group->ballot;
	run(&p);
	metric_time(M_NODE_PROPOSE_TIME, world_mono_us(n->world) - from);
	return NULL;
}

void
st_propose_own(struct st_node *n, struct arena *a, struct cl_propose *m)
{
	/* A new operation has a session of its own: nothing to answer for. */
	uint8_t *id = arena_alloc(a, 16);

	world_random(n->world, id, 16);
	m->session = str_of(id, 16);
	m->sequence = 1;
	m->send = 1;
	m->answered = 0;
	m->deadline = st_now(n) + CL_STAMP_OF_MS(OWN_DEADLINE);
}

struct st_pending *
st_propose_begin(struct st_group *g, const struct st_entry *entry)
{
	struct st_ballot ballot = g->ballot;
	struct st_entry e = *entry;
	enum cl_clock_state why;

	for (;;) {
		if (!st_group_leads(g, &ballot) ||
		    g->node->state > ST_NODE_SERVING)
			return NULL;
		e.stamp = st_clock_next(g->node, g->last_stamp, &why);
		if (e.stamp)
			return st_group_append(g, &e);
		if (why == CL_CLOCK_SKEW)
			return NULL;
		st_clock_wait(g->node);
	}
}

bool
st_propose_entry(struct st_group *g, const struct st_entry *entry)
{
	struct st_pending *p = st_propose_begin(g, entry);

	return p && st_pending_wait(p) == ST_APPLIED;
}
