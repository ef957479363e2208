/* Transactions over several groups at one node: what the coordinator answers,
 * what participants take and refuse, who waits, and what a crash leaves. */
#include "storage/coordinate.h"

#include <stdio.h>

#include "regress/lib/cu.h"
#include "storage/decide.h"
#include "storage/prepare.h"
#include "storage/reach.h"
#include "storage/settle.h"
#include "storage/t/node_rig.h"
#include "storage/txns.h"

#define SLOTS  8
#define MS     1000u
#define SECOND (1000u * MS)

static struct node_rig nr;

static void
on_node(void (*fn)(struct rig *r))
{
	nr_start(&nr, RIG_MEM, SLOTS);
	rig_run(&nr.r, fn);
	nr_stop(&nr);
}

/* ---- messages ---- */

struct row {
	int64_t id;
	const char *v; /* NULL: only a condition */
	uint8_t cond;
	uint64_t arg;
};

/* One part for each row: their slots differ. */
static struct cl_commit
commit_of(const struct cl_table *t, const struct row *rows, uint32_t n)
{
	struct arena *a = nr.r.arena;
	struct cl_commit m = {.session = str_of(nr.session, 16),
	    .sequence = ++nr.sequence,
	    .send = 1,
	    .deadline = st_now(nr.node) + CL_STAMP_OF_MS(10000)};

	m.age = st_now(nr.node) + nr.sequence;
	m.parts = NEW_N(a, struct cl_part_head, n);
	m.conds = NEW_N(a, struct cl_cond, n);
	m.writes = NEW_N(a, struct cl_write, n);
	m.n_parts = n;
	for (uint32_t i = 0; i < n; i++) {
		struct cl_part_head *h = &m.parts[i];
		struct str key = nr_key(&nr, t, rows[i].id, &h->slot);

		h->placement = CL_PLACEMENT_DEFAULT;
		h->epoch = 1;
		if (rows[i].cond) {
			m.conds[m.n_conds++] =
			    (struct cl_cond){rows[i].cond, key, rows[i].arg};
			h->conds = 1;
		}
		if (rows[i].v) {
			m.writes[m.n_writes++] = (struct cl_write){CL_WRITE_PUT,
			    key, nr_row(&nr, t, rows[i].id, rows[i].v, 1)};
			h->writes = 1;
		}
	}
	return m;
}

static uint8_t
commit(const struct cl_commit *m, struct cl_proposed *out)
{
	struct err *e = st_commit(nr.node, nr.r.arena, m, 0, out);

	if (e)
		fprintf(stderr, "%s\n", e->message);
	MUST(e == NULL);
	return out->outcome;
}

/* Ids of `n` rows whose slots differ. */
static void
pick_ids(const struct cl_table *t, int64_t *ids, uint32_t n)
{
	uint16_t slots[SLOTS];
	uint32_t have = 0;

	for (int64_t id = 1; have < n; id++) {
		uint32_t i = 0;
		uint16_t slot;

		nr_key(&nr, t, id, &slot);
		while (i < have && slots[i] != slot)
			i++;
		if (i < have)
			continue;
		slots[have] = slot;
		ids[have++] = id;
	}
}

static struct st_group *
group_of(const struct cl_table *t, int64_t id)
{
	uint16_t slot;

	nr_key(&nr, t, id, &slot);
	return st_group_find(nr.node, CL_PLACEMENT_DEFAULT, slot);
}

/* What a coordinator in the group of the second row, at a ballot that is no
 * more, would send for the first row. */
static struct cl_prepare
prepare_of(const struct cl_table *t, const int64_t *ids, const char *v)
{
	struct cl_prepare m = {.placement = CL_PLACEMENT_DEFAULT,
	    .epoch = 1,
	    .txn_placement = CL_PLACEMENT_DEFAULT,
	    .txn_epoch = 1,
	    .txn_stamp = st_now(nr.node),
	    .txn_member = 77,
	    .part = 1,
	    .age = st_now(nr.node),
	    .round = 1,
	    .member = 77,
	    .incarnation = 1,
	    .deadline = st_now(nr.node) + CL_STAMP_OF_MS(2000)};
	struct cl_write *w = NEW(nr.r.arena, struct cl_write);

	nr_key(&nr, t, ids[1], &m.txn_slot);
	w->kind = CL_WRITE_PUT;
	w->key = nr_key(&nr, t, ids[0], &m.slot);
	w->value = nr_row(&nr, t, ids[0], v, 1);
	m.writes = w;
	m.n_writes = 1;
	return m;
}

static uint8_t
prepare(const struct cl_prepare *m, struct cl_proposed *out)
{
	struct err *e = st_prepare_serve(nr.node, nr.r.arena, m, 0, out);

	MUST(e == NULL);
	return out->outcome;
}

static void
resolve(const struct cl_prepare *p, uint8_t outcome)
{
	struct cl_resolve m = {.placement = p->placement,
	    .slot = p->slot,
	    .epoch = p->epoch,
	    .txn_placement = p->txn_placement,
	    .txn_slot = p->txn_slot,
	    .txn_epoch = p->txn_epoch,
	    .txn_stamp = p->txn_stamp,
	    .txn_member = p->txn_member,
	    .outcome = outcome,
	    .deadline = p->deadline};
	struct cl_resolved out;

	st_resolve_serve(nr.node, &m, 0, &out);
	CHECK(out.reason == 0);
}

/* ---- commits ---- */

static void
all_or_nothing(struct rig *r)
{
	struct cl_proposed out, again;
	const struct cl_table *t;
	struct cl_commit m;
	int64_t ids[3];

	(void)r;
	nr_node(&nr);
	t = nr_table(&nr, "t");
	pick_ids(t, ids, 3);
	m = commit_of(t,
	    (struct row[]){{ids[0], "a", CL_COND_ABSENT, 0},
		{ids[1], "b", CL_COND_ABSENT, 0}, {ids[2], "c", 0, 0}},
	    3);
	CHECK(commit(&m, &out) == CL_APPLIED);
	for (int i = 0; i < 3; i++)
		CHECK_STR(nr_get(&nr, t, ids[i]),
		    ((const char *[]){"a", "b", "c"})[i]);
	/* Sent again: the same answer, once done. */
	m.send = 2;
	CHECK(commit(&m, &again) == CL_APPLIED && again.stamp == out.stamp);
	/* A false condition at a participant, then at the coordinator. */
	for (int i = 0; i < 2; i++) {
		struct row rows[2] = {{ids[0], "x", 0, 0}, {ids[1], "y", 0, 0}};

		rows[i].cond = CL_COND_ABSENT;
		m = commit_of(t, rows, 2);
		CHECK(commit(&m, &out) == CL_FALSE);
		CHECK(out.failed == 0 && out.n_rows == 1);
		m.send = 2;
		CHECK(commit(&m, &out) == CL_FALSE);
		CHECK_STR(nr_get(&nr, t, ids[0]), "a");
		CHECK_STR(nr_get(&nr, t, ids[1]), "b");
	}
	nr_node_stop(&nr);
}

static void
a_commit_is_all_or_nothing(void)
{
	on_node(all_or_nothing);
}

static void
strange(struct rig *r)
{
	struct cl_proposed out;
	const struct cl_table *t;
	struct cl_commit m;
	int64_t ids[2];

	nr_node(&nr);
	t = nr_table(&nr, "t");
	pick_ids(t, ids, 2);
	m = commit_of(
	    t, (struct row[]){{ids[0], "a", 0, 0}, {ids[1], "b", 0, 0}}, 2);
	m.parts[1].slot = m.parts[0].slot;
	CHECK(st_commit(nr.node, r->arena, &m, 0, &out) != NULL);
	m = commit_of(
	    t, (struct row[]){{ids[0], "a", 0, 0}, {ids[1], "b", 0, 0}}, 2);
	m.parts[1].writes = 2;
	CHECK(st_commit(nr.node, r->arena, &m, 0, &out) != NULL);
	m.parts[1].writes = 0;
	CHECK(st_commit(nr.node, r->arena, &m, 0, &out) != NULL);
	m.n_parts = 0;
	CHECK(st_commit(nr.node, r->arena, &m, 0, &out) != NULL);
	nr_node_stop(&nr);
}

static void
a_message_whose_parts_do_not_fit_is_malformed(void)
{
	on_node(strange);
}

/* ---- participants ---- */

static void
late_parts(struct rig *r)
{
	struct cl_proposed out;
	const struct cl_table *t;
	struct cl_prepare m;
	int64_t ids[2];

	nr_node(&nr);
	t = nr_table(&nr, "t");
	pick_ids(t, ids, 2);
	m = prepare_of(t, ids, "late");
	resolve(&m, CL_ABORT);
	CHECK(prepare(&m, &out) == CL_REFUSED);
	/* After its deadline the id is forgotten, and it is too late anyway. */
	m = prepare_of(t, ids, "late");
	rig_sleep(r, 3 * SECOND);
	CHECK(prepare(&m, &out) == CL_REFUSED);
	CHECK(out.reason == CL_REFUSE_DEADLINE);
	CHECK(nr_get(&nr, t, ids[0]) == NULL);
	/* Twice is once. */
	m = prepare_of(t, ids, "once");
	CHECK(prepare(&m, &out) == CL_APPLIED);
	CHECK(prepare(&m, &out) == CL_APPLIED);
	resolve(&m, CL_COMMIT);
	resolve(&m, CL_COMMIT);
	CHECK_STR(nr_get(&nr, t, ids[0]), "once");
	nr_node_stop(&nr);
}

static void
late_and_repeated_parts_do_nothing(void)
{
	on_node(late_parts);
}

static uint64_t
slow_flush(void *arg, enum engine_mem_step step, uint64_t lane)
{
	(void)arg;
	(void)lane;
	return step == ENGINE_MEM_FLUSH ? 50 * MS : 0;
}

struct preparer {
	struct cl_prepare m;
	struct cl_proposed out;
	bool done;
};

static void
preparer_fiber(void *arg)
{
	struct preparer *p = arg;

	(void)prepare(&p->m, &p->out);
	p->done = true;
}

static void
writer_fiber(void *arg)
{
	struct preparer *p = arg;

	nr_do(&nr,
	    &(struct nr_op){
		.table = cl_catalog_table(nr.node->catalog.snap, p->m.part),
		.id = (int64_t)p->m.age,
		.v = "first"},
	    &p->out);
	p->done = true;
}

/* By the stamps its deadline passes while it waits for a lock. */
static void
queued(struct rig *r)
{
	struct preparer a = {0}, b = {0};
	const struct cl_table *t;
	int64_t ids[2];

	nr_node(&nr);
	t = nr_table(&nr, "t");
	pick_ids(t, ids, 2);
	NR_DO(&nr, .table = t, .id = ids[0], .v = "none");
	a.m.part = t->id;
	a.m.age = (uint64_t)ids[0];
	b.m = prepare_of(t, ids, "second");
	nr.r.hooks.delay_us = slow_flush;
	fiber_spawn(r->world, "first", FIBER_STACK_GATEWAY, writer_fiber, &a);
	fiber_spawn(
	    r->world, "second", FIBER_STACK_GATEWAY, preparer_fiber, &b);
	rig_sleep(r, 10 * MS);
	CHECK(!a.done && !b.done);
	r->wall_offset_us += 4 * SECOND;
	while (!a.done || !b.done)
		rig_sleep(r, MS);
	CHECK(a.out.outcome == CL_APPLIED);
	CHECK(b.out.outcome == CL_REFUSED);
	CHECK(b.out.reason == CL_REFUSE_DEADLINE);
	nr_node_stop(&nr);
}

static void
a_part_is_not_appended_after_its_deadline(void)
{
	nr_start(&nr, RIG_MEM, SLOTS);
	nr.r.hooks.delay_us = slow_flush;
	rig_run(&nr.r, queued);
	nr_stop(&nr);
}

/* ---- who waits ---- */

struct reader {
	const struct cl_table *table;
	int64_t id;
	const char *v;
	bool done;
};

static void
reader_fiber(void *arg)
{
	struct reader *x = arg;

	x->v = nr_get(&nr, x->table, x->id);
	x->done = true;
}

/* Its coordinator is gone: who reads asks, and the group that decides gives it
 * up by an entry. */
static void
asking(struct rig *r)
{
	struct cl_proposed out;
	const struct cl_table *t;
	struct reader x = {0};
	struct cl_prepare m;
	const struct st_tx *tx;
	struct st_txn txn;
	int64_t ids[2];

	nr_node(&nr);
	x.table = t = nr_table(&nr, "t");
	pick_ids(t, ids, 2);
	x.id = ids[0];
	NR_DO(&nr, .table = t, .id = ids[0], .v = "old");
	m = prepare_of(t, ids, "new");
	CHECK(prepare(&m, &out) == CL_APPLIED);
	fiber_spawn(r->world, "reader", FIBER_STACK_GATEWAY, reader_fiber, &x);
	rig_sleep(r, 10 * MS);
	CHECK(!x.done);
	rig_sleep(r, SECOND);
	MUST(x.done);
	CHECK_STR(x.v, "old");
	txn = ST_MSG_TXN(&m);
	tx = st_txns_find(group_of(t, ids[1])->txns, &txn);
	MUST(tx != NULL && tx->decision != NULL);
	CHECK(tx->decision->outcome == CL_ABORT);
	/* What comes now is too late. */
	CHECK(prepare(&m, &out) == CL_REFUSED);
	nr_node_stop(&nr);
}

static void
a_reader_asks_what_became_of_a_prepared_row(void)
{
	on_node(asking);
}

static void
waiting(struct rig *r)
{
	struct cl_proposed out;
	const struct cl_table *t;
	struct reader x = {0};
	struct cl_prepare m, older, younger;
	int64_t ids[2];

	nr_node(&nr);
	x.table = t = nr_table(&nr, "t");
	pick_ids(t, ids, 2);
	x.id = ids[0];
	m = prepare_of(t, ids, "new");
	CHECK(prepare(&m, &out) == CL_APPLIED);
	/* A younger transaction gives way. */
	younger = prepare_of(t, ids, "younger");
	younger.txn_stamp++;
	younger.age = m.age + 1;
	CHECK(prepare(&younger, &out) == CL_REFUSED);
	CHECK(out.reason == CL_REFUSE_BUSY);
	fiber_spawn(r->world, "reader", FIBER_STACK_GATEWAY, reader_fiber, &x);
	rig_sleep(r, MS);
	CHECK(!x.done);
	resolve(&m, CL_COMMIT);
	rig_sleep(r, 10 * MS);
	CHECK(x.done);
	CHECK_STR(x.v, "new");
	/* Nothing is in the way any more. */
	older = prepare_of(t, ids, "older");
	older.txn_stamp += 2;
	CHECK(prepare(&older, &out) == CL_APPLIED);
	resolve(&older, CL_ABORT);
	CHECK_STR(nr_get(&nr, t, ids[0]), "new");
	nr_node_stop(&nr);
}

static void
a_reader_waits_and_a_younger_transaction_does_not(void)
{
	on_node(waiting);
}

/* ---- after a crash ---- */

static struct cl_prepare left;
static int64_t left_ids[2];

static void
before_crash(struct rig *r)
{
	struct cl_proposed out;
	const struct cl_table *t;

	(void)r;
	nr_node(&nr);
	t = nr_table(&nr, "t");
	pick_ids(t, left_ids, 2);
	left = prepare_of(t, left_ids, "kept");
	CHECK(prepare(&left, &out) == CL_APPLIED);
}

static void
after_crash(struct rig *r)
{
	const struct cl_object *o;
	const struct cl_table *t;
	struct st_group *g;
	struct str key;
	uint16_t slot;

	nr_node(&nr);
	o = cl_find_relation(nr.node->catalog.snap, CL_SCHEMA_PUBLIC, STR("t"));
	MUST(o != NULL);
	t = &o->u.table;
	/* A write elsewhere in the group: it is led, and its locks are there.
	 */
	key = nr_key(&nr, t, left_ids[0], &slot);
	for (int64_t id = left_ids[0] + 1;; id++) {
		uint16_t other;

		nr_key(&nr, t, id, &other);
		if (other != slot)
			continue;
		CHECK(NR_DO(&nr, .table = t, .id = id, .v = "other") ==
		      CL_APPLIED);
		break;
	}
	g = group_of(t, left_ids[0]);
	CHECK(st_locks_prepared(&g->locks, key) != NULL);
	left.placement = CL_PLACEMENT_DEFAULT;
	resolve(&left, CL_COMMIT);
	CHECK_STR(nr_get(&nr, t, left_ids[0]), "kept");
	CHECK(g->locks.n_reqs == 0);
	(void)r;
	nr_node_stop(&nr);
}

static void
prepared_parts_and_their_locks_outlive_a_crash(void)
{
	nr_start(&nr, RIG_MEM, SLOTS);
	rig_run(&nr.r, before_crash);
	rig_crash(&nr.r, 1);
	rig_run(&nr.r, after_crash);
	nr_stop(&nr);
}

CU_MAIN("commit", {"a_commit_is_all_or_nothing", a_commit_is_all_or_nothing},
    {"a_message_whose_parts_do_not_fit_is_malformed",
	a_message_whose_parts_do_not_fit_is_malformed},
    {"late_and_repeated_parts_do_nothing", late_and_repeated_parts_do_nothing},
    {"a_part_is_not_appended_after_its_deadline",
	a_part_is_not_appended_after_its_deadline},
    {"a_reader_asks_what_became_of_a_prepared_row",
	a_reader_asks_what_became_of_a_prepared_row},
    {"a_reader_waits_and_a_younger_transaction_does_not",
	a_reader_waits_and_a_younger_transaction_does_not},
    {"prepared_parts_and_their_locks_outlive_a_crash",
	prepared_parts_and_their_locks_outlive_a_crash})
