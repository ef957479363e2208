/* A write set of several groups, sent to nodes that lose answers, refuse, and
 * lead or not. */
#include "gateway/transact.h"

#include "expr/table.h"
#include "gateway/t/bench_world.h"
#include "regress/lib/cu.h"

#define MS    1000u
#define PARTS 3

static void
hurried(struct bench *b)
{
	b->conf.answer_us = 50 * MS;
	b->conf.peer.backoff_min_us = 20 * MS;
	b->conf.peer.backoff_max_us = 40 * MS;
}

/* Inserts `id` and others whose slots differ from its. */
static struct gw_transact
commit_of(struct bench *b, const struct cl_table *t, int64_t id)
{
	struct gw_transact_part *parts =
	    NEW_N(b->arena, struct gw_transact_part, PARTS);
	struct gw_transact c = {.parts = parts};

	for (; c.n_parts < PARTS; id++) {
		struct gw_transact_part *p = &parts[c.n_parts];
		struct val vals[2] = {
		    val_int(EX_INT8, id), val_str(EX_TEXT, STR("row"))};
		struct str pk = bench_key(b, t, id);
		struct gw_route to;
		struct buf key, value;
		bool taken = false;

		MUST(gw_route_row(b->stmt.catalog, t, pk, &to));
		for (uint32_t i = 0; i < c.n_parts; i++)
			taken |= parts[i].slot == to.slot;
		if (taken)
			continue;
		buf_init(&key, b->arena);
		buf_init(&value, b->arena);
		ex_table_row_key(&key, t, to.slot, pk);
		MUST(!ex_table_row(b->arena, t, vals, 1u << 20, &value));
		p->placement = to.placement;
		p->slot = to.slot;
		p->conds = NEW(b->arena, struct cl_cond);
		p->conds[p->n_conds++] =
		    (struct cl_cond){CL_COND_ABSENT, buf_view(&key), 0};
		p->writes = NEW(b->arena, struct cl_write);
		p->writes[p->n_writes++] = (struct cl_write){
		    CL_WRITE_PUT, buf_view(&key), buf_view(&value)};
		c.n_parts++;
	}
	return c;
}

static size_t
rows_of(const struct bench *b, const struct cl_table *t)
{
	size_t n = 0;

	for (size_t i = 0; i < b->store.n_rows; i++) {
		uint32_t table;
		uint16_t slot;
		struct str rest;

		n += cl_key_split(b->store.rows[i].key, &table, &slot, &rest) &&
		     table == t->id;
	}
	return n;
}

static void
plain_body(struct bench *b)
{
	const struct cl_table *t = bench_table(b);
	struct gw_transact c = commit_of(b, t, 0);
	uint64_t sequence = b->ops.sequence;

	gw_transact_run(&b->stmt, b->arena, &c);
	CHECK(c.outcome == GW_END_APPLIED && !c.err);
	CHECK(rows_of(b, t) == PARTS && b->ops.sequence == sequence + 1);
	CHECK(b->store.nodes[0]->last_age > 0);
	/* The same keys again. */
	c = commit_of(b, t, 0);
	gw_transact_run(&b->stmt, b->arena, &c);
	CHECK(c.outcome == GW_END_FALSE);
	CHECK(c.answer && c.answer->n_rows == PARTS);
	CHECK(rows_of(b, t) == PARTS);
}

static void
it_is_applied_or_false(void)
{
	bench_run(1, hurried, plain_body);
}

static void
lost_body(struct bench *b)
{
	const struct cl_table *t = bench_table(b);
	struct gw_transact c = commit_of(b, t, 0);
	struct fake_node *n = b->store.nodes[0];

	n->lose_answers = 2;
	gw_transact_run(&b->stmt, b->arena, &c);
	CHECK(c.outcome == GW_END_APPLIED);
	CHECK(n->last_send == 3 && rows_of(b, t) == PARTS);
	n->cut_answers = 1;
	c = commit_of(b, t, 100);
	gw_transact_run(&b->stmt, b->arena, &c);
	CHECK(c.outcome == GW_END_APPLIED);
	CHECK(n->last_send == 2 && rows_of(b, t) == 2 * PARTS);
}

static void
a_lost_answer_is_asked_for_again(void)
{
	bench_run(1, hurried, lost_body);
}

static void
refused_body(struct bench *b)
{
	const struct cl_table *t = bench_table(b);
	struct gw_transact c;
	struct fake_node *n = b->store.nodes[0];

	bench_stmt(b, 300 * MS);
	n->refuse = 1000;
	n->reason = CL_REFUSE_BUSY;
	c = commit_of(b, t, 0);
	gw_transact_run(&b->stmt, b->arena, &c);
	CHECK(c.outcome == GW_END_FAILED && c.err != NULL);
	CHECK(rows_of(b, t) == 0);
	/* A while later it is taken. */
	bench_stmt(b, 2000 * MS);
	n->refuse = 2;
	c = commit_of(b, t, 0);
	gw_transact_run(&b->stmt, b->arena, &c);
	CHECK(c.outcome == GW_END_APPLIED);
}

static void
refused_to_the_end_is_failed(void)
{
	bench_run(1, hurried, refused_body);
}

static void
unknown_body(struct bench *b)
{
	const struct cl_table *t = bench_table(b);
	struct gw_transact c;

	bench_stmt(b, 300 * MS);
	b->store.nodes[0]->lose_answers = 1000;
	c = commit_of(b, t, 0);
	gw_transact_run(&b->stmt, b->arena, &c);
	CHECK(c.outcome == GW_END_LOST);
	CHECK(err_is(c.err, ERRCODE_STATEMENT_COMPLETION_UNKNOWN));
	bench_stmt(b, 300 * MS);
	c = commit_of(b, t, 100);
	c.unknown_sqlstate = ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN;
	gw_transact_run(&b->stmt, b->arena, &c);
	CHECK(err_is(c.err, ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN));
}

static void
taken_and_never_answered_is_unknown(void)
{
	bench_run(1, hurried, unknown_body);
}

static void
leader_body(struct bench *b)
{
	const struct cl_table *t = bench_table(b);
	struct gw_transact c = commit_of(b, t, 0);

	for (int i = 0; i < FAKE_SLOTS; i++)
		b->store.led_by[i] = 2;
	gw_transact_run(&b->stmt, b->arena, &c);
	CHECK(c.outcome == GW_END_APPLIED);
	CHECK(b->store.nodes[1]->n_proposed >= 1);
	/* It loses the group while the transaction is under way. */
	b->store.nodes[1]->unknown = 1;
	c = commit_of(b, t, 100);
	gw_transact_run(&b->stmt, b->arena, &c);
	CHECK(c.outcome == GW_END_APPLIED && rows_of(b, t) == 2 * PARTS);
}

static void
the_leader_is_found(void)
{
	bench_copies(3, 3, hurried, leader_body);
}

static void
large_body(struct bench *b)
{
	const struct cl_table *t = bench_table(b);
	struct gw_transact c = commit_of(b, t, 0);
	struct gw_transact_part part = c.parts[0], *p = &part;
	int before = b->store.nodes[0]->n_proposed;

	p->writes = NEW_N(b->arena, struct cl_write, 2);
	p->n_writes = 2;
	for (int i = 0; i < 2; i++)
		p->writes[i] = (struct cl_write){CL_WRITE_PUT, p->conds[0].key,
		    str_of(arena_alloc(b->arena, CL_VALUE_MAX), CL_VALUE_MAX)};
	c.parts = p;
	c.n_parts = 1;
	gw_transact_run(&b->stmt, b->arena, &c);
	CHECK(c.outcome == GW_END_FAILED);
	CHECK(err_is(c.err, ERRCODE_PROGRAM_LIMIT_EXCEEDED));
	CHECK(b->store.nodes[0]->n_proposed == before);
}

static void
what_does_not_fit_a_frame_is_not_sent(void)
{
	bench_run(1, hurried, large_body);
}

CU_MAIN("commit", {"it_is_applied_or_false", it_is_applied_or_false},
    {"a_lost_answer_is_asked_for_again", a_lost_answer_is_asked_for_again},
    {"refused_to_the_end_is_failed", refused_to_the_end_is_failed},
    {"taken_and_never_answered_is_unknown",
	taken_and_never_answered_is_unknown},
    {"the_leader_is_found", the_leader_is_found},
    {"what_does_not_fit_a_frame_is_not_sent",
	what_does_not_fit_a_frame_is_not_sent})
