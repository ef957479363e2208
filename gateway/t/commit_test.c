#include <stdio.h>

#include "base/mutate.h"
#include "base/world_real.h"
#include "expr/table.h"
#include "gateway/commit.h"
#include "gateway/overlay_source.h"
#include "gateway/t/bench_world.h"
#include "regress/lib/cu.h"

/* A transaction over one row, or over those of one group. */
struct txn {
	struct bench *b;
	const struct cl_table *t;
	struct gw_overlay *o;
	struct gw_overlay_rules rules;
	struct sql_env env;
	int64_t ids[4]; /* of one group */
	bool open;
};

static void
txn_begin(struct txn *x)
{
	x->o = gw_overlay_new(x->b->arena, 7);
}

static uint16_t
slot_of(const struct txn *x, int64_t id)
{
	return ex_table_slot(x->t, FAKE_SLOTS, bench_key(x->b, x->t, id));
}

static void
txn_new(struct txn *x, struct bench *b)
{
	int n = 1;

	*x = (struct txn){.b = b, .t = bench_table(b)};
	x->env.catalog = b->stmt.catalog;
	x->env.ex = &ex_env_default;
	for (int64_t id = 1; n < 4; id++)
		if (slot_of(x, id) == slot_of(x, 0))
			x->ids[n++] = id;
	txn_begin(x);
}

/* With the stamp that is read now. */
static enum sql_write_result
txn_write(struct txn *x, enum sql_write_kind kind, int64_t id, const char *v)
{
	static const uint32_t columns[] = {1, 2};
	struct bench *b = x->b;
	struct arena *own = arena_new(b->arena, "statement");
	struct sql_source *src =
	    gw_overlay_source_new(own, &b->stmt, x->o, &x->rules, &x->env);
	struct sql_scan_req what = {
	    .table = x->t, .columns = columns, .n_columns = 2};
	struct val vals[2] = {val_int(EX_INT8, id), val_str(EX_TEXT, str_c(v))};
	struct sql_write w = {.kind = kind,
	    .table = x->t,
	    .key = bench_key(b, x->t, id),
	    .vals = vals};
	struct sql_row row = {0};
	bool found;

	CHECK(!src->ops->get(src, b->arena, &what, &w.key, 1, &row, &found));
	w.stamp = row.stamp;
	CHECK(!src->ops->write(src, b->arena, &w, 1));
	arena_free(own);
	return w.result;
}

static struct err *
txn_commit(struct txn *x)
{
	struct bench *b = x->b;
	struct gw_commit c;
	struct err *e =
	    gw_commit_parts(&b->stmt, b->arena, gw_overlay_now(x->o), &c);

	x->open = true;
	if (!e)
		e = gw_commit_run(&b->stmt, b->arena, &x->env, &c, &x->open);
	gw_overlay_unref(x->o);
	x->o = NULL;
	return e;
}

static int
proposed(const struct bench *b)
{
	return b->store.nodes[0]->n_proposed;
}

/* Three rows in one group. */
static void
write_three(struct txn *x)
{
	for (int i = 0; i < 3; i++)
		CHECK(txn_write(x, SQL_INSERT, x->ids[i], "mine") ==
		      SQL_WRITE_DONE);
}

/* ---- parts ---- */

static void
one_body(struct bench *b)
{
	struct txn x;
	int before;

	txn_new(&x, b);
	write_three(&x);
	before = proposed(b);
	CHECK(fake_count(&b->store, x.t->id) == 0);
	CHECK(!txn_commit(&x));
	CHECK(proposed(b) == before + 1);
	CHECK(fake_count(&b->store, x.t->id) == 3);
	/* And one without writes sends nothing. */
	txn_begin(&x);
	CHECK(!txn_commit(&x));
	CHECK(proposed(b) == before + 1);
}

static void
a_write_set_of_one_group_is_one_proposal(void)
{
	bench_run(1, NULL, one_body);
}

static void
parts_body(struct bench *b)
{
	struct txn x;
	struct gw_commit c;
	size_t rows = 0;

	txn_new(&x, b);
	for (int64_t id = 0; id < 40; id++)
		CHECK(txn_write(&x, id % 2 ? SQL_INSERT : SQL_UPSERT, id,
			  "v") == SQL_WRITE_DONE);
	CHECK(!gw_commit_parts(&b->stmt, b->arena, gw_overlay_now(x.o), &c));
	CHECK(c.n > 1 && c.n <= FAKE_SLOTS);
	for (size_t i = 0; i < c.n; i++) {
		const struct gw_commit_part *p = &c.parts[i];
		uint32_t asked = 0;

		rows += p->msg.n_writes;
		CHECK(p->n_schemas == 1 && p->msg.conds[0].arg == 1);
		for (uint32_t k = 0; k < p->msg.n_writes; k++) {
			uint32_t table;
			uint16_t slot;
			struct str pk;

			CHECK(cl_key_split(
			    p->msg.writes[k].key, &table, &slot, &pk));
			CHECK(table == x.t->id && slot == p->msg.slot);
			CHECK(slot == ex_table_slot(x.t, FAKE_SLOTS, pk));
		}
		for (uint32_t k = 1; k < p->msg.n_conds; k++) {
			CHECK(p->msg.conds[k].kind == CL_COND_ABSENT);
			CHECK(p->asked[asked++]->cond == GW_IF_ABSENT);
		}
	}
	CHECK(rows == 40);
	CHECK(!txn_commit(&x) && !x.open);
	CHECK(fake_count(&b->store, x.t->id) == 40);
}

static void
every_row_goes_to_its_group(void)
{
	bench_run(2, NULL, parts_body);
}

static void
large_body(struct bench *b)
{
	struct txn x;
	char *big = arena_alloc(b->arena, 1000000);
	int before;
	struct err *e;

	memset(big, 'x', 999999);
	txn_new(&x, b);
	for (int i = 0; i < 4; i++)
		txn_write(&x, SQL_UPSERT, x.ids[i], big);
	CHECK(!txn_commit(&x));
	CHECK(fake_count(&b->store, x.t->id) == 4);
	txn_begin(&x);
	for (int64_t id = 0, n = 0; n < 6; id++)
		if (slot_of(&x, id) == slot_of(&x, 0)) {
			txn_write(&x, SQL_UPSERT, id, big);
			n++;
		}
	before = proposed(b);
	e = txn_commit(&x);
	CHECK(err_is(e, ERRCODE_PROGRAM_LIMIT_EXCEEDED) && x.open);
	CHECK(proposed(b) == before);
}

static void
more_than_an_entry_is_refused_before_it_is_sent(void)
{
	bench_run(1, NULL, large_body);
}

/* ---- outcomes ---- */

static void
lost_body(struct bench *b)
{
	struct txn x;

	txn_new(&x, b);
	write_three(&x);
	b->store.nodes[0]->cut_answers = 2;
	CHECK(!txn_commit(&x));
	CHECK(b->store.nodes[0]->cut_answers == 0);
	CHECK(fake_count(&b->store, x.t->id) == 3);
}

static void
a_lost_answer_is_asked_for_again(void)
{
	bench_run(1, NULL, lost_body);
}

static void
unknown_body(struct bench *b)
{
	struct txn x;
	struct err *e;

	txn_new(&x, b);
	write_three(&x);
	bench_stmt(b, 300000);
	b->store.nodes[0]->lose_answers = 1000;
	e = txn_commit(&x);
	CHECK(err_is(e, ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN));
	CHECK(e && e->hint && !strstr(e->hint, "Nothing was applied"));
	CHECK(!x.open);
}

static void
no_answer_is_unknown(void)
{
	bench_run(1, NULL, unknown_body);
}

/* The statement's own time is what the gateway allows, not statement_timeout:
 * that one is a cancel. */
static void
refused_body(struct bench *b)
{
	struct txn x;
	struct err *e;

	txn_new(&x, b);
	write_three(&x);
	b->conf.statement_timeout_us = 200000;
	bench_stmt(b, 0);
	b->store.nodes[0]->reason = CL_REFUSE_BUSY;
	b->store.nodes[0]->refuse = 1000000;
	e = txn_commit(&x);
	CHECK(err_is(e, ERRCODE_SERIALIZATION_FAILURE));
	CHECK(e && e->detail && e->hint &&
	      strstr(e->hint, "Nothing was applied"));
	CHECK(fake_count(&b->store, x.t->id) == 0);
}

static void
refused_until_the_deadline_is_a_retry(void)
{
	bench_run(1, NULL, refused_body);
}

static void
full_body(struct bench *b)
{
	struct txn x;
	struct err *e;

	txn_new(&x, b);
	write_three(&x);
	b->store.nodes[0]->reason = CL_REFUSE_DROPPED;
	b->store.nodes[0]->refuse = 1000000;
	e = txn_commit(&x);
	CHECK(err_is(e, ERRCODE_UNDEFINED_TABLE));
	CHECK(e && e->hint && strstr(e->hint, "Nothing was applied"));
}

static void
what_a_retry_does_not_mend_keeps_its_name(void)
{
	bench_run(1, NULL, full_body);
}

/* Another session's INSERT comes between this one's and its COMMIT. */
static struct err *
overtaken(struct txn *x)
{
	write_three(x);
	CHECK(!bench_insert(x->b, x->t, x->ids[1], 1));
	return txn_commit(x);
}

static void
taken_body(struct bench *b)
{
	struct txn x;
	struct err *e;

	txn_new(&x, b);
	e = overtaken(&x);
	CHECK(err_is(e, ERRCODE_UNIQUE_VIOLATION) && !x.open);
	MUST(e && e->detail && e->constraint && e->table);
	CHECK_STR(e->constraint, "t_pkey");
	CHECK_STR(
	    e->detail, arena_printf(b->arena, "Key (id)=(%d) already exists.",
			   (int)x.ids[1]));
	CHECK(fake_count(&b->store, x.t->id) == 1);
}

static void
a_taken_key_is_named(void)
{
	bench_run(1, NULL, taken_body);
}

/* Whichever group it lies in; and nothing of the others is there. */
static void
taken_far_body(struct bench *b)
{
	struct txn x;
	struct err *e;

	txn_new(&x, b);
	for (int64_t id = 0; id < 40; id++)
		txn_write(&x, id % 2 ? SQL_INSERT : SQL_UPSERT, id, "v");
	CHECK(!bench_insert(b, x.t, 21, 1));
	e = txn_commit(&x);
	CHECK(err_is(e, ERRCODE_UNIQUE_VIOLATION) && !x.open);
	CHECK(e && e->detail && strstr(e->detail, "(id)=(21)"));
	CHECK(fake_count(&b->store, x.t->id) == 1);
}

static void
a_taken_key_of_one_of_several_groups_is_named(void)
{
	bench_run(1, NULL, taken_far_body);
}

/* The answer that names the key was lost: what is kept of it does not. */
static void
kept_body(struct bench *b)
{
	struct txn x;
	struct err *e;

	txn_new(&x, b);
	write_three(&x);
	CHECK(!bench_insert(b, x.t, x.ids[1], 1));
	b->store.nodes[0]->cut_answers = 1;
	e = txn_commit(&x);
	CHECK(err_is(e, ERRCODE_UNIQUE_VIOLATION));
	MUST(e && e->detail);
	CHECK_STR(
	    e->detail, arena_printf(b->arena, "Key (id)=(%d) already exists.",
			   (int)x.ids[1]));
}

static void
a_taken_key_is_named_when_the_answer_was_lost(void)
{
	bench_run(1, NULL, kept_body);
}

/* In a build with mutations: the row of another is overwritten. */
static void
forgotten_body(struct bench *b)
{
	struct txn x;
	struct err *e;

	mutate_set("insert_condition_forgotten");
	txn_new(&x, b);
	e = overtaken(&x);
	CHECK((e == NULL) == mutate("insert_condition_forgotten"));
	mutate_set(NULL);
}

static void
an_insert_without_its_condition_is_noticed(void)
{
	bench_run(1, NULL, forgotten_body);
}

static struct err *
updated_by_two(struct bench *b, bool validate)
{
	struct txn x, other;

	txn_new(&x, b);
	CHECK(!bench_insert(b, x.t, x.ids[0], 1));
	x.rules.validate = validate;
	CHECK(txn_write(&x, SQL_UPDATE, x.ids[0], "first") == SQL_WRITE_DONE);
	other = x;
	txn_begin(&other);
	CHECK(txn_write(&other, SQL_UPDATE, x.ids[0], "second") ==
	      SQL_WRITE_DONE);
	CHECK(!txn_commit(&other));
	return txn_commit(&x);
}

static void
last_body(struct bench *b)
{
	CHECK(!updated_by_two(b, false));
}

static void
the_last_writer_wins(void)
{
	bench_run(1, NULL, last_body);
}

static void
validated_body(struct bench *b)
{
	struct err *e = updated_by_two(b, true);

	CHECK(err_is(e, ERRCODE_SERIALIZATION_FAILURE));
	CHECK(e && e->hint && strstr(e->hint, "Nothing was applied"));
}

static void
a_validated_write_does_not_win_over_what_it_has_not_seen(void)
{
	bench_run(1, NULL, validated_body);
}

static void
elected_body(struct bench *b)
{
	struct txn x;

	txn_new(&x, b);
	write_three(&x);
	for (uint32_t i = 0; i < b->store.n_nodes; i++)
		b->store.nodes[i]->unknown = 1;
	CHECK(!txn_commit(&x));
	CHECK(fake_count(&b->store, x.t->id) == 3);
}

static void
a_leader_that_lost_its_group_is_asked_through_the_next(void)
{
	bench_copies(3, 3, NULL, elected_body);
}

CU_MAIN("commit",
    {"a_write_set_of_one_group_is_one_proposal",
	a_write_set_of_one_group_is_one_proposal},
    {"every_row_goes_to_its_group", every_row_goes_to_its_group},
    {"more_than_an_entry_is_refused_before_it_is_sent",
	more_than_an_entry_is_refused_before_it_is_sent},
    {"a_lost_answer_is_asked_for_again", a_lost_answer_is_asked_for_again},
    {"no_answer_is_unknown", no_answer_is_unknown},
    {"refused_until_the_deadline_is_a_retry",
	refused_until_the_deadline_is_a_retry},
    {"what_a_retry_does_not_mend_keeps_its_name",
	what_a_retry_does_not_mend_keeps_its_name},
    {"a_taken_key_is_named", a_taken_key_is_named},
    {"a_taken_key_of_one_of_several_groups_is_named",
	a_taken_key_of_one_of_several_groups_is_named},
    {"a_taken_key_is_named_when_the_answer_was_lost",
	a_taken_key_is_named_when_the_answer_was_lost},
    {"an_insert_without_its_condition_is_noticed",
	an_insert_without_its_condition_is_noticed},
    {"the_last_writer_wins", the_last_writer_wins},
    {"a_validated_write_does_not_win_over_what_it_has_not_seen",
	a_validated_write_does_not_win_over_what_it_has_not_seen},
    {"a_leader_that_lost_its_group_is_asked_through_the_next",
	a_leader_that_lost_its_group_is_asked_through_the_next})
