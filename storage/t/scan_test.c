/* Pages over the slots of a table: order, bounds, filters, limits, resuming. */
#include <stdio.h>
#include <stdlib.h>

#include "expr/func.h"
#include "regress/lib/cu.h"
#include "storage/t/node_rig.h"

#define SLOTS 16
#define ROWS  2500 /* more than two slices */

static struct node_rig nr;
static const struct cl_table *table;
static int64_t ids[ROWS + 10];

static void
fill(struct rig *r)
{
	char v[32];

	(void)r;
	nr_node(&nr);
	table = nr_table(&nr, "t");
	for (int i = 0; i < ROWS; i++) {
		snprintf(v, sizeof v, "value %d", i);
		NR_DO(&nr, .table = table, .id = i, .v = v, .n = i % 10);
	}
	/* Tombstones among them. */
	for (int i = 0; i < 10; i++) {
		NR_DO(&nr, .table = table, .id = ROWS + i, .v = "gone");
		NR_DO(&nr, .table = table, .id = ROWS + i);
	}
}

static void (*body)(void);

static void
run_body(struct rig *r)
{
	(void)r;
	body();
}

static void
on_filled(void (*fn)(void))
{
	body = fn;
	nr_start(&nr, RIG_MEM, SLOTS);
	rig_run(&nr.r, fill);
	rig_run(&nr.r, run_body);
	nr_stop(&nr);
}

static struct nr_scan
scan_of(uint8_t flags)
{
	return (struct nr_scan){
	    .table = table, .flags = flags, .ids = ids, .max = ROWS + 10};
}

static void
all_rows(void)
{
	struct nr_scan s = scan_of(0);
	static bool seen[ROWS];

	memset(seen, 0, sizeof seen);
	CHECK(nr_scan(&nr, &s) == ROWS);
	for (int i = 0; i < ROWS; i++) {
		MUST(ids[i] >= 0 && ids[i] < ROWS);
		CHECK(!seen[ids[i]]);
		seen[ids[i]] = true;
	}
	/* Small pages see the same. */
	s.bytes = 1;
	memset(seen, 0, sizeof seen);
	CHECK(nr_scan(&nr, &s) == ROWS);
	CHECK(s.pages > 20);
	for (int i = 0; i < ROWS; i++)
		seen[ids[i]] = true;
	for (int i = 0; i < ROWS; i++)
		CHECK(seen[i]);
}

static void
a_scan_sees_every_live_row_once(void)
{
	on_filled(all_rows);
}

static void
ordered(void)
{
	struct nr_scan s = scan_of(CL_SCAN_ORDERED);

	for (int pass = 0; pass < 2; pass++) {
		CHECK(nr_scan(&nr, &s) == ROWS);
		for (int i = 0; i < ROWS; i++)
			CHECK(ids[i] == i);
		s.bytes = 1024;
	}
	s = scan_of(CL_SCAN_ORDERED | CL_SCAN_REVERSE);
	for (int pass = 0; pass < 2; pass++) {
		CHECK(nr_scan(&nr, &s) == ROWS);
		for (int i = 0; i < ROWS; i++)
			CHECK(ids[i] == ROWS - 1 - i);
		s.bytes = 1024;
	}
	s = scan_of(CL_SCAN_REVERSE);
	CHECK(nr_scan(&nr, &s) == ROWS);
}

static void
an_ordered_scan_merges_the_slots(void)
{
	on_filled(ordered);
}

static struct str
bound(int64_t id)
{
	struct val v = val_int(EX_INT8, id);
	struct buf b;

	buf_init(&b, nr.r.arena);
	ex_table_key_prefix(&b, table, &v, 1);
	return buf_view(&b);
}

static void
ranges(void)
{
	struct nr_scan s = scan_of(CL_SCAN_ORDERED);

	s.start = bound(100);
	s.end = bound(200);
	CHECK(nr_scan(&nr, &s) == 100);
	CHECK(ids[0] == 100 && ids[99] == 199);
	s.flags |= CL_SCAN_REVERSE;
	CHECK(nr_scan(&nr, &s) == 100);
	CHECK(ids[0] == 199 && ids[99] == 100);
	s.flags = 0;
	CHECK(nr_scan(&nr, &s) == 100);
	s.start = bound(200);
	s.end = bound(100);
	CHECK(nr_scan(&nr, &s) == 0);
	s = scan_of(CL_SCAN_ORDERED);
	s.limit = 7;
	s.bytes = 64;
	CHECK(nr_scan(&nr, &s) == 7);
	CHECK(ids[6] == 6);
	s.flags = CL_SCAN_COUNT;
	s.limit = 0;
	CHECK(nr_scan(&nr, &s) == 0);
	CHECK(s.count == ROWS);
}

static void
start_end_limit_and_count_are_obeyed(void)
{
	on_filled(ranges);
}

/* n = 3, n being the second of the listed columns. */
static struct str
filter(uint32_t type, uint32_t col)
{
	struct arena *a = nr.r.arena;
	const struct ex_func *eq;
	struct expr *args[2];
	uint32_t types[2] = {type, type};
	struct buf b;
	struct err *e = ex_find_op(a, STR("="), types[0], types[1], &eq);

	MUST(e == NULL);
	args[0] = ex_column(a, col, type, -1);
	args[1] =
	    ex_const(a, type == EX_INT8 ? val_int(EX_INT8, 3)
					: val_str(EX_TEXT, STR("value 77")));
	buf_init(&b, a);
	ex_encode(&b, ex_call(a, eq, args, 2));
	return buf_view(&b);
}

static void
filters(void)
{
	static const uint32_t columns[] = {2, 3};
	struct nr_scan s = scan_of(CL_SCAN_ORDERED | CL_SCAN_SOME);
	size_t whole;

	s.columns = columns;
	s.n_columns = 2;
	nr_scan(&nr, &s);
	whole = s.value_bytes;
	s.filter = filter(EX_INT8, 1);
	CHECK(nr_scan(&nr, &s) == ROWS / 10);
	for (int i = 0; i < ROWS / 10; i++)
		CHECK(ids[i] == i * 10 + 3);
	s.flags |= CL_SCAN_COUNT;
	CHECK(nr_scan(&nr, &s) == 0 && s.count == ROWS / 10);
	s.flags = CL_SCAN_ORDERED;
	s.filter = filter(EX_TEXT, 0);
	CHECK(nr_scan(&nr, &s) == 1 && ids[0] == 77);
	/* Only what is wanted comes back. */
	s = scan_of(CL_SCAN_SOME);
	s.columns = columns + 1;
	s.n_columns = 1;
	CHECK(nr_scan(&nr, &s) == ROWS);
	CHECK(s.value_bytes < whole);
	/* A filter that takes a column for what it is not is not evaluated. */
	s = scan_of(0);
	s.columns = columns;
	s.n_columns = 2;
	s.filter = filter(EX_INT8, 0);
	nr_scan(&nr, &s);
	CHECK(s.reason == CL_REFUSE_CATALOG);
	s.filter = filter(EX_INT8, 9);
	nr_scan(&nr, &s);
	CHECK_STR(s.sqlstate, ERRCODE_PROTOCOL_VIOLATION);
	s.sqlstate[0] = 0;
	s.filter = STR("garbage");
	nr_scan(&nr, &s);
	CHECK(s.sqlstate[0] != 0);
}

static void
a_filter_is_evaluated_where_the_rows_are(void)
{
	on_filled(filters);
}

static uint64_t
slow(void *arg, enum engine_mem_step step, uint64_t lane)
{
	(void)arg;
	(void)lane;
	return step == ENGINE_MEM_RUN ? 150000 : 10;
}

static bool
every_other(void *arg)
{
	static int n;

	(void)arg;
	return n++ & 1;
}

static void
conflicts_in_slices(void)
{
	struct nr_scan s = scan_of(CL_SCAN_ORDERED);

	CHECK(nr_scan(&nr, &s) == ROWS);
	for (int i = 0; i < ROWS; i++)
		CHECK(ids[i] == i);
	/* Slow slices: time is up before the page is full. */
	CHECK(!nr.r.hooks.delay_us || s.pages > 1);
}

static void
a_slice_that_runs_again_gives_its_rows_once(void)
{
	body = conflicts_in_slices;
	nr_start(&nr, RIG_MEM, SLOTS);
	nr.r.hooks.conflict = every_other;
	rig_run(&nr.r, fill);
	rig_run(&nr.r, run_body);
	nr_stop(&nr);
	nr_start(&nr, RIG_MEM, SLOTS);
	nr.conf.tombstone_age_us = 86400000000u;
	nr.conf.sweep_interval_us = 3600000000u;
	nr.r.hooks.delay_us = slow;
	rig_run(&nr.r, fill);
	rig_run(&nr.r, run_body);
	nr_stop(&nr);
}

CU_MAIN("scan",
    {"a_scan_sees_every_live_row_once", a_scan_sees_every_live_row_once},
    {"an_ordered_scan_merges_the_slots", an_ordered_scan_merges_the_slots},
    {"start_end_limit_and_count_are_obeyed",
	start_end_limit_and_count_are_obeyed},
    {"a_filter_is_evaluated_where_the_rows_are",
	a_filter_is_evaluated_where_the_rows_are},
    {"a_slice_that_runs_again_gives_its_rows_once",
	a_slice_that_runs_again_gives_its_rows_once})
