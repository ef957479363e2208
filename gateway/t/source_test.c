#include <stdio.h>

#include "base/mutate.h"
#include "base/world_real.h"
#include "expr/func.h"
#include "expr/table.h"
#include "gateway/t/bench_world.h"
#include "regress/lib/cu.h"

static struct sql_scan_req
scan_of(const struct cl_table *t)
{
	static const uint32_t columns[] = {1, 2};

	return (struct sql_scan_req){
	    .table = t, .columns = columns, .n_columns = 2, .ordered = true};
}

/* Ids in the order they come; -1 at the end. *e is the error. */
static int64_t *
scan_ids(struct bench *b, const struct sql_scan_req *req, struct err **e)
{
	struct sql_source *src = gw_source_new(b->arena, &b->stmt);
	int64_t *ids = NEW_N(b->arena, int64_t, 5000);
	struct sql_scan *sc;
	struct sql_row row;
	bool more = true;
	size_t n = 0;

	*e = src->ops->scan_open(src, b->arena, req, &sc);
	if (*e)
		return ids;
	while (!*e && more) {
		*e = src->ops->scan_next(sc, b->arena, &row, &more);
		if (!*e && more)
			ids[n++] = row.vals[0].u.i;
	}
	src->ops->scan_close(sc);
	ids[n] = -1;
	return ids;
}

static size_t
count_ids(const int64_t *ids)
{
	size_t n = 0;

	while (ids[n] != -1)
		n++;
	return n;
}

static bool
rising(const int64_t *ids, int64_t from, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		if (ids[i] != from + i)
			return false;
	}
	return ids[n] == -1;
}

static void
small_pages(struct bench *b)
{
	for (uint32_t i = 0; i < b->store.n_nodes; i++)
		b->store.nodes[i]->page_rows = 7;
}

/* ---- writing and reading by key ---- */

static void
written_rows_are_read_by_key_body(struct bench *b)
{
	const struct cl_table *t = bench_table(b);
	struct sql_scan_req req = scan_of(t);
	struct sql_source *src = gw_source_new(b->arena, &b->stmt);
	struct sql_row *rows = NEW_N(b->arena, struct sql_row, 120);
	struct str *keys = NEW_N(b->arena, struct str, 120);
	bool *found = NEW_N(b->arena, bool, 120);
	struct err *e = bench_insert(b, t, 0, 100);

	CHECK(!e);
	CHECK(fake_count(&b->store, t->id) == 100);
	for (int64_t i = 0; i < 120; i++)
		keys[i] = bench_key(b, t, 119 - i);
	CHECK(!src->ops->get(src, b->arena, &req, keys, 120, rows, found));
	for (int64_t i = 0; i < 120; i++) {
		CHECK(found[i] == (119 - i < 100));
		if (found[i])
			CHECK(rows[i].vals[0].u.i == 119 - i &&
			      rows[i].stamp > 0 && rows[i].vals[1].u.s.len > 4);
	}
}

static void
written_rows_are_read_by_key(void)
{
	bench_run(3, NULL, written_rows_are_read_by_key_body);
}

static void
short_answers(struct bench *b)
{
	for (uint32_t i = 0; i < b->store.n_nodes; i++)
		b->store.nodes[i]->read_rows = 3;
	b->conf.read_points = 10;
}

static void
a_node_may_answer_a_read_in_parts(void)
{
	bench_run(2, short_answers, written_rows_are_read_by_key_body);
}

static void
one_warning_body(struct bench *b)
{
	const struct cl_table *t = bench_table(b);

	CHECK(!bench_insert(b, t, 0, 1));
	CHECK(b->warnings == 0);
	CHECK(!bench_insert(b, t, 100, 50));
	CHECK(!bench_insert(b, t, 200, 50));
	CHECK(b->warnings == 1);
	CHECK(b->warning && b->warning->severity == ERR_WARNING);
}

static void
rows_in_several_groups_warn_once_per_session(void)
{
	bench_run(2, NULL, one_warning_body);
}

static void
taken_keys_body(struct bench *b)
{
	const struct cl_table *t = bench_table(b);
	struct sql_source *src = gw_source_new(b->arena, &b->stmt);
	struct sql_write *w = NEW_N(b->arena, struct sql_write, 41);
	struct val vals[2];

	CHECK(!bench_insert(b, t, 10, 5));
	vals[0] = val_int(EX_INT8, 0);
	vals[1] = val_str(EX_TEXT, STR("x"));
	for (int64_t i = 0; i < 41; i++) {
		struct val *own = arena_dup(b->arena, vals, sizeof vals);

		/* The last one repeats the first. */
		own[0].u.i = i % 40;
		w[i] = (struct sql_write){.kind = SQL_INSERT,
		    .table = t,
		    .key = bench_key(b, t, i % 40),
		    .vals = own};
	}
	CHECK(!src->ops->write(src, b->arena, w, 41));
	for (int64_t i = 0; i < 40; i++)
		CHECK(w[i].result ==
		      (i >= 10 && i < 15 ? SQL_WRITE_EXISTS : SQL_WRITE_DONE));
	CHECK(w[40].result == SQL_WRITE_EXISTS);
	CHECK(fake_count(&b->store, t->id) == 40);
}

static void
each_row_of_an_insert_has_its_own_result(void)
{
	bench_run(3, NULL, taken_keys_body);
}

static void
changed_rows_body(struct bench *b)
{
	const struct cl_table *t = bench_table(b);
	struct sql_scan_req req = scan_of(t);
	struct sql_source *src = gw_source_new(b->arena, &b->stmt);
	struct str key = bench_key(b, t, 7);
	struct sql_row row;
	bool found;
	struct sql_write w = {.kind = SQL_UPDATE, .table = t, .key = key};

	CHECK(!bench_insert(b, t, 7, 1));
	CHECK(!src->ops->get(src, b->arena, &req, &key, 1, &row, &found));
	CHECK(found);
	w.vals = row.vals;
	w.stamp = row.stamp;
	CHECK(!src->ops->write(src, b->arena, &w, 1));
	CHECK(w.result == SQL_WRITE_DONE);
	CHECK(!src->ops->write(src, b->arena, &w, 1));
	CHECK(w.result == SQL_WRITE_CHANGED);
	w.kind = SQL_DELETE;
	CHECK(!src->ops->write(src, b->arena, &w, 1));
	CHECK(w.result == SQL_WRITE_CHANGED);
	CHECK(!src->ops->get(src, b->arena, &req, &key, 1, &row, &found));
	CHECK(found);
	w.stamp = row.stamp;
	CHECK(!src->ops->write(src, b->arena, &w, 1));
	CHECK(w.result == SQL_WRITE_DONE);
	CHECK(fake_count(&b->store, t->id) == 0);
}

static void
an_update_of_a_changed_row_is_not_done(void)
{
	bench_run(1, NULL, changed_rows_body);
}

/* ---- answers that get lost ---- */

static void
cut_body(struct bench *b)
{
	const struct cl_table *t = bench_table(b);

	b->store.nodes[0]->cut_answers = 2;
	CHECK(!bench_insert(b, t, 0, 30));
	CHECK(b->store.nodes[0]->cut_answers == 0);
	CHECK(fake_count(&b->store, t->id) == 30);
	CHECK(b->stmt.applied == 30);
}

static void
an_insert_whose_answer_was_lost_is_done_once(void)
{
	bench_run(1, NULL, cut_body);
}

/* In a build with mutations: the repeated send finds its own row in the way. */
static void
new_op_body(struct bench *b)
{
	const struct cl_table *t = bench_table(b);
	struct sql_source *src = gw_source_new(b->arena, &b->stmt);
	struct val vals[2] = {val_int(EX_INT8, 1), val_str(EX_TEXT, STR("x"))};
	struct sql_write w = {.kind = SQL_INSERT,
	    .table = t,
	    .key = bench_key(b, t, 1),
	    .vals = vals};

	mutate_set("resend_as_new_op");
	b->store.nodes[0]->cut_answers = 1;
	CHECK(!src->ops->write(src, b->arena, &w, 1));
	CHECK(w.result ==
	      (mutate("resend_as_new_op") ? SQL_WRITE_EXISTS : SQL_WRITE_DONE));
	mutate_set(NULL);
}

static void
a_repeated_send_under_a_new_id_is_noticed(void)
{
	bench_run(1, NULL, new_op_body);
}

static void
lost_false_body(struct bench *b)
{
	const struct cl_table *t = bench_table(b);
	struct err *e;

	CHECK(!bench_insert(b, t, 0, 20));
	b->store.nodes[0]->cut_answers = 4;
	e = bench_insert(b, t, 10, 20);
	CHECK(!e);
	CHECK(fake_count(&b->store, t->id) == 30);
}

static void
a_kept_false_result_is_decided_row_by_row(void)
{
	bench_run(1, NULL, lost_false_body);
}

static void
deaf_body(struct bench *b)
{
	const struct cl_table *t = bench_table(b);
	struct err *e;

	CHECK(!bench_insert(b, t, 0, 1));
	b->store.nodes[0]->deaf = true;
	bench_stmt(b, 300000);
	e = bench_insert(b, t, 1, 1);
	CHECK(e != NULL && err_is(e, ERRCODE_STATEMENT_COMPLETION_UNKNOWN));
	/* Late, with the node answering again, it is plain what happened. */
	b->store.nodes[0]->deaf = false;
}

static void
a_write_without_an_answer_is_unknown(void)
{
	bench_run(1, NULL, deaf_body);
}

static void
refused_body(struct bench *b)
{
	const struct cl_table *t = bench_table(b);
	struct err *e;

	b->store.nodes[0]->reason = CL_REFUSE_LEADER;
	b->store.nodes[0]->refuse = 3;
	CHECK(!bench_insert(b, t, 0, 1));
	CHECK(fake_count(&b->store, t->id) == 1);
	b->store.nodes[0]->refuse = 1000000;
	bench_stmt(b, 200000);
	e = bench_insert(b, t, 1, 1);
	CHECK(e != NULL && err_is(e, ERRCODE_QUERY_CANCELED));
	CHECK(e && e->detail != NULL);
	CHECK(fake_count(&b->store, t->id) == 1);
}

static void
refusals_are_tried_again_until_the_deadline(void)
{
	bench_run(1, NULL, refused_body);
}

static void
same_deadline_body(struct bench *b)
{
	const struct cl_table *t = bench_table(b);
	uint64_t first;

	b->store.nodes[0]->reason = CL_REFUSE_BUSY;
	b->store.nodes[0]->refuse = 1;
	CHECK(!bench_insert(b, t, 0, 1));
	first = b->store.nodes[0]->last_deadline;
	CHECK(b->store.nodes[0]->last_send == 2);
	CHECK(CL_STAMP_MS(first) > CL_STAMP_MS(b->store.stamp));
	CHECK(CL_STAMP_MS(first) < CL_STAMP_MS(b->store.stamp) + 10000);
}

static void
a_repeated_send_has_the_next_number_and_a_deadline_ahead(void)
{
	bench_run(1, NULL, same_deadline_body);
}

/* ---- scans ---- */

static void
ordered_body(struct bench *b)
{
	const struct cl_table *t = bench_table(b);
	struct sql_scan_req req = scan_of(t);
	struct err *e;
	int64_t *ids;

	CHECK(!bench_insert(b, t, 0, 300));
	CHECK(rising(scan_ids(b, &req, &e), 0, 300));
	CHECK(!e);
	req.start = bench_key(b, t, 50);
	req.end = bench_key(b, t, 60);
	CHECK(rising(scan_ids(b, &req, &e), 50, 10));
	req.reverse = true;
	ids = scan_ids(b, &req, &e);
	CHECK(!e && ids[0] == 59 && ids[9] == 50 && ids[10] == -1);
	req.reverse = false;
	req.limit = 3;
	CHECK(rising(scan_ids(b, &req, &e), 50, 3));
	req = scan_of(t);
	req.ordered = false;
	CHECK(count_ids(scan_ids(b, &req, &e)) == 300 && !e);
}

static void
a_scan_merges_nodes_by_key(void)
{
	bench_run(3, small_pages, ordered_body);
}

static void
one_page_scans_work_too(void)
{
	bench_run(2, NULL, ordered_body);
}

static void
counting_body(struct bench *b)
{
	const struct cl_table *t = bench_table(b);
	struct sql_source *src = gw_source_new(b->arena, &b->stmt);
	struct sql_scan_req req = scan_of(t);
	uint64_t n = 0;

	CHECK(!bench_insert(b, t, 0, 200));
	CHECK(!src->ops->scan_count(src, b->arena, &req, &n));
	CHECK(n == 200);
	b->store.nodes[1]->reason = CL_REFUSE_LEADER;
	b->store.nodes[1]->refuse = 5;
	CHECK(!src->ops->scan_count(src, b->arena, &req, &n));
	CHECK(n == 200);
}

static void
nodes_count_and_the_gateway_sums(void)
{
	bench_run(3, small_pages, counting_body);
}

/* id < bound */
static struct expr *
less_than(struct bench *b, int64_t bound)
{
	struct expr **args = NEW_N(b->arena, struct expr *, 2);
	const struct ex_func *f = NULL;

	args[0] = ex_column(b->arena, 0, EX_INT8, -1);
	args[1] = ex_const(b->arena, val_int(EX_INT8, bound));
	CHECK(!ex_find_op(b->arena, STR("<"), EX_INT8, EX_INT8, &f));
	return ex_call(b->arena, f, args, 2);
}

static void
filter_body(struct bench *b)
{
	const struct cl_table *t = bench_table(b);
	struct sql_source *src = gw_source_new(b->arena, &b->stmt);
	struct sql_scan_req req = scan_of(t);
	struct err *e;
	uint64_t n = 0;

	CHECK(!bench_insert(b, t, 0, 200));
	req.filter = less_than(b, 40);
	CHECK(rising(scan_ids(b, &req, &e), 0, 40));
	for (uint32_t i = 0; i < b->store.n_nodes; i++)
		b->store.nodes[i]->fail_filters = 100;
	CHECK(rising(scan_ids(b, &req, &e), 0, 40));
	req.limit = 5;
	CHECK(rising(scan_ids(b, &req, &e), 0, 5));
	req.limit = 0;
	CHECK(!src->ops->scan_count(src, b->arena, &req, &n));
	CHECK(n == 40);
}

static void
a_filter_that_a_node_does_not_know_runs_here(void)
{
	bench_run(2, small_pages, filter_body);
}

/* Moves all slots of the default placement to one member, as a move would. */
static void
move_slots(struct bench *b, uint32_t to)
{
	const struct cl_object *old =
	    cl_find(b->store.catalog, CL_PLACEMENT, CL_PLACEMENT_DEFAULT);
	struct cl_object o = *old;
	struct cl_slot_map *slots = arena_dup(b->arena, o.u.placement.slots,
	    o.u.placement.n_slots * sizeof *slots);
	struct cl_ddl *d = cl_ddl_new(b->arena, b->store.catalog);
	struct cl_propose p = {.placement = 0};

	for (uint32_t i = 0; i < o.u.placement.n_slots; i++) {
		slots[i].epoch++;
		slots[i].n = 1;
		slots[i].members[0] = to;
	}
	o.u.placement.slots = slots;
	cl_ddl_replace(d, &o);
	CHECK(!cl_ddl_propose(d, &p));
	fake_catalog(&b->store, &p);
}

static size_t
scan_with_trouble(struct bench *b, const struct sql_scan_req *req, int64_t *sum)
{
	struct sql_source *src = gw_source_new(b->arena, &b->stmt);
	struct sql_scan *sc;
	struct sql_row row;
	bool more = true;
	size_t n = 0;

	*sum = 0;
	CHECK(!src->ops->scan_open(src, b->arena, req, &sc));
	while (more) {
		struct err *e = src->ops->scan_next(sc, b->arena, &row, &more);

		CHECK(!e);
		if (e)
			printf("%s (%s)\n", e->message, e->detail);
		if (e || !more)
			break;
		*sum += row.vals[0].u.i;
		if (n++ == 20)
			move_slots(b, 2);
		if (n == 60)
			fake_node_break(b->store.nodes[1]);
	}
	src->ops->scan_close(sc);
	return n;
}

/* On v, newest first: "row 9" comes before "row 89". */
static const struct cl_index *
index_on_v(struct bench *b, const struct cl_table *t)
{
	static const struct cl_index_column v = {
	    .column = 2, .type = EX_TEXT, .desc = true, .nulls_first = true};
	struct cl_ddl *d = cl_ddl_new(b->arena, b->store.catalog);
	struct cl_propose p = {.placement = 0};
	struct cl_object o = {.kind = CL_INDEX, .id = cl_ddl_ids(d, 1)};

	o.u.index = (struct cl_index){.id = o.id,
	    .schema = t->schema,
	    .table = t->id,
	    .name = STR("t_v"),
	    .state = CL_INDEX_PUBLIC,
	    .version = t->version,
	    .n_columns = 1,
	    .columns = &v};
	cl_ddl_create(d, &o);
	CHECK(!cl_ddl_propose(d, &p));
	fake_catalog(&b->store, &p);
	gw_catalog_refresh(b->worker->catalog);
	CHECK(gw_catalog_wait(b->worker->catalog,
	    cl_catalog_version(b->store.catalog),
	    world_mono_us(b->world) + 5000000));
	bench_stmt(b, 5000000);
	return cl_catalog_index(b->stmt.catalog, o.id);
}

static bool
in_order_of_v(const int64_t *ids, size_t n, bool reverse)
{
	for (size_t i = 1; i < n; i++) {
		char x[16], y[16];
		int r;

		snprintf(x, sizeof x, "row %d", (int)ids[i - 1]);
		snprintf(y, sizeof y, "row %d", (int)ids[i]);
		r = strcmp(x, y);
		if (reverse ? r >= 0 : r <= 0)
			return false;
	}
	return ids[n] == -1;
}

static struct str
v_bound(struct bench *b, const char *v)
{
	struct buf key;

	buf_init(&key, b->arena);
	ex_key_put(&key, CL_TAG_NONE, CL_KEY_DESC, val_str(EX_TEXT, str_c(v)));
	return buf_view(&key);
}

static void
by_index_body(struct bench *b)
{
	const struct cl_table *t = bench_table(b);
	struct sql_source *src;
	struct sql_scan_req req;
	struct sql_scan *sc;
	struct sql_row row;
	struct err *e;
	uint64_t n;
	bool more;

	CHECK(!bench_insert(b, t, 0, 200));
	bench_stmt(b, 5000000);
	req = scan_of(t);
	req.index = index_on_v(b, t);
	CHECK(in_order_of_v(scan_ids(b, &req, &e), 200, false) && !e);
	req.reverse = true;
	CHECK(in_order_of_v(scan_ids(b, &req, &e), 200, true) && !e);
	req.limit = 5;
	CHECK(in_order_of_v(scan_ids(b, &req, &e), 5, true) && !e);
	req.limit = 0;
	req.reverse = false;
	/* "row 19", "row 189" ... "row 180", "row 18". */
	req.start = v_bound(b, "row 19");
	req.end = v_bound(b, "row 17999");
	CHECK(in_order_of_v(scan_ids(b, &req, &e), 12, false) && !e);
	src = gw_source_new(b->arena, &b->stmt);
	CHECK(!src->ops->scan_count(src, b->arena, &req, &n) && n == 12);
	/* What comes with a row is its primary key, and no more. */
	CHECK(!src->ops->scan_open(src, b->arena, &req, &sc));
	CHECK(!src->ops->scan_next(sc, b->arena, &row, &more) && more);
	CHECK(str_eq(row.key, bench_key(b, t, row.vals[0].u.i)));
	src->ops->scan_close(sc);
}

static void
a_scan_by_an_index_merges_by_its_keys(void)
{
	bench_run(3, small_pages, by_index_body);
}

static void
index_trouble_body(struct bench *b)
{
	const struct cl_table *t = bench_table(b);
	struct sql_scan_req req = scan_of(t);
	int64_t sum;

	CHECK(!bench_insert(b, t, 0, 200));
	bench_stmt(b, 5000000);
	req.index = index_on_v(b, t);
	CHECK(scan_with_trouble(b, &req, &sum) == 200 && sum == 19900);
	bench_stmt(b, 5000000);
	move_slots(b, 1);
	req.ordered = false;
	CHECK(scan_with_trouble(b, &req, &sum) == 200 && sum == 19900);
	/* It is being filled in: asked again after a pause. */
	bench_stmt(b, 5000000);
	b->store.nodes[1]->reason = CL_REFUSE_INDEX;
	b->store.nodes[1]->refuse = 3;
	CHECK(scan_with_trouble(b, &req, &sum) == 200 && sum == 19900);
	CHECK(b->store.nodes[1]->refuse == 0);
}

static void
a_scan_by_an_index_survives_trouble(void)
{
	bench_run(3, small_pages, index_trouble_body);
}

static void
index_gone_body(struct bench *b)
{
	const struct cl_table *t = bench_table(b);
	struct sql_scan_req req = scan_of(t);
	struct cl_propose p = {.placement = 0};
	struct cl_ddl *d;
	struct err *e;

	CHECK(!bench_insert(b, t, 0, 20));
	bench_stmt(b, 5000000);
	req.index = index_on_v(b, t);
	d = cl_ddl_new(b->arena, b->store.catalog);
	cl_ddl_drop(d, CL_INDEX, req.index->id);
	CHECK(!cl_ddl_propose(d, &p));
	fake_catalog(&b->store, &p);
	(void)scan_ids(b, &req, &e);
	CHECK(e && err_is(e, ERRCODE_SERIALIZATION_FAILURE));
	CHECK(b->stmt.stale);
}

static void
a_dropped_index_makes_the_statement_stale(void)
{
	bench_run(2, NULL, index_gone_body);
}

static void
trouble_body(struct bench *b)
{
	const struct cl_table *t = bench_table(b);
	struct sql_scan_req req = scan_of(t);
	int64_t sum;

	CHECK(!bench_insert(b, t, 0, 200));
	CHECK(scan_with_trouble(b, &req, &sum) == 200 && sum == 19900);
	bench_stmt(b, 5000000);
	move_slots(b, 1);
	req.ordered = false;
	CHECK(scan_with_trouble(b, &req, &sum) == 200 && sum == 19900);
}

static void
a_scan_survives_moved_slots_and_broken_links(void)
{
	bench_run(3, small_pages, trouble_body);
}

static void
moved_write_body(struct bench *b)
{
	const struct cl_table *t = bench_table(b);

	CHECK(!bench_insert(b, t, 0, 20));
	move_slots(b, 3);
	CHECK(!bench_insert(b, t, 20, 20));
	CHECK(fake_count(&b->store, t->id) == 40);
}

static void
writes_follow_the_slot_map(void)
{
	bench_run(3, NULL, moved_write_body);
}

/* ---- the rest ---- */

static void
slow_body(struct bench *b)
{
	const struct cl_table *t = bench_table(b);
	struct sql_scan_req req = scan_of(t);
	struct err *e;

	CHECK(!bench_insert(b, t, 0, 20));
	b->store.nodes[0]->deaf = true;
	bench_stmt(b, 200000);
	(void)scan_ids(b, &req, &e);
	CHECK(e && err_is(e, ERRCODE_QUERY_CANCELED));
}

static void
a_scan_without_an_answer_times_out(void)
{
	bench_run(1, NULL, slow_body);
}

static void
cancel_ev(void *arg)
{
	fiber_cancel(arg);
}

static void
cancel_body(struct bench *b)
{
	const struct cl_table *t = bench_table(b);
	struct sql_scan_req req = scan_of(t);
	struct timer timer = {0};
	struct err *e;

	CHECK(!bench_insert(b, t, 0, 20));
	b->store.nodes[0]->deaf = true;
	timer_set(b->world, &timer, world_mono_us(b->world) + 50000, cancel_ev,
	    fiber_self());
	(void)scan_ids(b, &req, &e);
	CHECK(e && err_is(e, ERRCODE_QUERY_CANCELED));
	CHECK(fiber_cancelled(fiber_self()));
	fiber_uncancel(fiber_self());
}

static void
a_cancel_ends_a_waiting_scan(void)
{
	bench_run(1, NULL, cancel_body);
}

static void
hidden_body(struct bench *b)
{
	const struct cl_table *t = bench_table(b);
	struct sql_source *src = gw_source_new(b->arena, &b->stmt);
	uint64_t first, block;
	uint32_t counter;

	src->ops->hidden_key(src, t, &first, &counter);
	CHECK(counter == 0);
	for (uint32_t i = 1; i < GW_HIDDEN_BLOCK; i++) {
		src->ops->hidden_key(src, t, &block, &counter);
		CHECK(block == first && counter == i);
	}
	src->ops->hidden_key(src, t, &block, &counter);
	CHECK(block != first && counter == 0);
	first = block;
	bench_stmt(b, 1000000);
	src->ops->hidden_key(src, t, &block, &counter);
	CHECK(block != first && counter == 0);
}

static void
a_thousand_rows_of_a_statement_share_a_block(void)
{
	bench_run(1, NULL, hidden_body);
}

CU_MAIN("source",
    {"written_rows_are_read_by_key", written_rows_are_read_by_key},
    {"a_node_may_answer_a_read_in_parts", a_node_may_answer_a_read_in_parts},
    {"rows_in_several_groups_warn_once_per_session",
	rows_in_several_groups_warn_once_per_session},
    {"each_row_of_an_insert_has_its_own_result",
	each_row_of_an_insert_has_its_own_result},
    {"an_update_of_a_changed_row_is_not_done",
	an_update_of_a_changed_row_is_not_done},
    {"an_insert_whose_answer_was_lost_is_done_once",
	an_insert_whose_answer_was_lost_is_done_once},
    {"a_repeated_send_under_a_new_id_is_noticed",
	a_repeated_send_under_a_new_id_is_noticed},
    {"a_kept_false_result_is_decided_row_by_row",
	a_kept_false_result_is_decided_row_by_row},
    {"a_write_without_an_answer_is_unknown",
	a_write_without_an_answer_is_unknown},
    {"refusals_are_tried_again_until_the_deadline",
	refusals_are_tried_again_until_the_deadline},
    {"a_repeated_send_has_the_next_number_and_a_deadline_ahead",
	a_repeated_send_has_the_next_number_and_a_deadline_ahead},
    {"a_scan_merges_nodes_by_key", a_scan_merges_nodes_by_key},
    {"one_page_scans_work_too", one_page_scans_work_too},
    {"nodes_count_and_the_gateway_sums", nodes_count_and_the_gateway_sums},
    {"a_filter_that_a_node_does_not_know_runs_here",
	a_filter_that_a_node_does_not_know_runs_here},
    {"a_scan_by_an_index_merges_by_its_keys",
	a_scan_by_an_index_merges_by_its_keys},
    {"a_scan_by_an_index_survives_trouble",
	a_scan_by_an_index_survives_trouble},
    {"a_dropped_index_makes_the_statement_stale",
	a_dropped_index_makes_the_statement_stale},
    {"a_scan_survives_moved_slots_and_broken_links",
	a_scan_survives_moved_slots_and_broken_links},
    {"writes_follow_the_slot_map", writes_follow_the_slot_map},
    {"a_scan_without_an_answer_times_out", a_scan_without_an_answer_times_out},
    {"a_cancel_ends_a_waiting_scan", a_cancel_ends_a_waiting_scan},
    {"a_thousand_rows_of_a_statement_share_a_block",
	a_thousand_rows_of_a_statement_share_a_block})
