/* Local indexes of one node: entries are always those of its rows, a scan by an
 * index finds what a scan finds, and building survives whatever happens. */
#include "storage/index.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mutate.h"
#include "cluster/row.h"
#include "expr/func.h"
#include "regress/lib/cu.h"
#include "storage/catalog.h"
#include "storage/fill.h"
#include "storage/scrub.h"
#include "storage/t/node_rig.h"

#define SLOTS 4
#define IDS   400

static struct node_rig nr;
static const struct cl_table *table;
static int64_t ids[IDS + 10];

/* ---- records ---- */

static void
an_entry_is_what_it_was(void)
{
	struct arena *a = arena_new(NULL, "entry");
	struct buf b;
	size_t columns;

	buf_init(&b, a);
	st_index_value_put(&b, 300);
	CHECK(str_eq(buf_view(&b), STR("\1\254\2")));
	CHECK(!st_index_value_get(STR("short"), buf_view(&b), &columns));
	CHECK(st_index_value_get(
		  STR("\0\0\100\0\0\1abcd"), STR("\1\3"), &columns) &&
	      columns == 3);
	CHECK(!st_index_value_get(
	    STR("\0\0\100\0\0\1abcd"), STR("\1\5"), &columns));
	CHECK(!st_index_value_get(
	    STR("\0\0\100\0\0\1abcd"), STR("\2\3"), &columns));
	buf_init(&b, a);
	st_key_index(&b, 16385, 3);
	CHECK(str_eq(buf_view(&b), STR("X\0\0\100\1\0\3")));
	arena_free(a);
}

static void
a_record_is_what_it_was(void)
{
	static const uint8_t golden[] = {1, 4, 2, 'u', 'p', 3, 'w', 'h', 'y'};
	const struct st_index_record r = {
	    .state = ST_INDEX_FAILED, .upto = STR("up"), .text = STR("why")};
	struct arena *a = arena_new(NULL, "record");
	struct st_index_record out;
	struct buf b;

	buf_init(&b, a);
	st_index_record_put(&b, &r);
	CHECK(str_eq(buf_view(&b), str_of(golden, sizeof golden)));
	CHECK(st_index_record_get(buf_view(&b), &out));
	CHECK(out.state == ST_INDEX_FAILED && str_eq(out.upto, r.upto) &&
	      str_eq(out.text, r.text));
	for (size_t n = 0; n < b.len; n++)
		CHECK(!st_index_record_get(str_of(b.p, n), &out));
	CHECK(!st_index_record_get(STR("\2\1\0\0"), &out));
	CHECK(!st_index_record_get(STR("\1\0\0\0"), &out));
	CHECK(!st_index_record_get(STR("\1\5\0\0"), &out));
	arena_free(a);
}

/* ---- are entries those of the rows? ---- */

struct audit {
	struct arena *arena;
	const struct cl_catalog *catalog;
	uint32_t table, index;
	uint32_t rows, entries, missing, wrong;
};

static void
audit_row(struct kv *kv, struct audit *x, struct ex_index *keys, struct str k,
    struct str v)
{
	struct cl_row_head h;
	struct str value, rest;
	struct buf b;
	size_t columns, found;
	uint16_t slot;
	uint32_t id;
	bool has;

	if (!cl_row_head(v, &h) || (h.flags & CL_ROW_TOMBSTONE))
		return;
	cl_key_split(k, &id, &slot, &rest);
	buf_init(&b, x->arena);
	cl_key_prefix(&b, x->index, slot);
	if (ex_index_row_key(x->arena, keys, rest, v, &b, &has) || !has)
		return;
	columns = b.len - CL_KEY_PREFIX - rest.len;
	x->rows++;
	if (!kv_get(kv, KV_INDEX, buf_view(&b), &value))
		x->missing++;
	else if (!st_index_value_get(buf_view(&b), value, &found) ||
		 found != columns)
		x->wrong++;
}

static void
audit_job(struct kv *kv, void *arg)
{
	struct audit *x = arg;
	const struct cl_index *def = cl_catalog_index(x->catalog, x->index);
	struct kv_cur *c;
	struct ex_index *keys = NULL;
	struct str k, v;
	struct buf from;
	bool more;

	x->rows = x->entries = x->missing = x->wrong = 0;
	buf_init(&from, x->arena);
	buf_be32(&from, x->index);
	c = kv_open(kv, KV_INDEX);
	for (more = kv_seek(c, buf_view(&from), &k, &v);
	     more && str_has_prefix(k, buf_view(&from));
	     more = kv_next(c, &k, &v))
		x->entries++;
	kv_close(c);
	if (!def)
		return;
	MUST(!ex_index_open(
	    x->arena, cl_catalog_table(x->catalog, x->table), def, &keys));
	from.len = 0;
	buf_be32(&from, x->table);
	c = kv_open(kv, KV_ROWS);
	for (more = kv_seek(c, buf_view(&from), &k, &v);
	     more && str_has_prefix(k, buf_view(&from));
	     more = kv_next(c, &k, &v))
		audit_row(kv, x, keys, k, v);
	kv_close(c);
}

static struct audit
audit(uint32_t index)
{
	struct audit x = {.arena = arena_new(NULL, "audit"),
	    .catalog = nr.node->catalog.snap,
	    .table = table->id,
	    .index = index};

	engine_run(
	    nr.node->engine, ENGINE_LANE_ANY, ENGINE_READ, audit_job, &x);
	arena_free(x.arena);
	return x;
}

/* Every row has its entry, and every entry its row. */
static void
check_index(uint32_t index)
{
	struct audit x = audit(index);

	CHECK(x.missing == 0);
	CHECK(x.wrong == 0);
	CHECK(x.rows == x.entries);
}

/* ---- tables and indexes ---- */

static void (*body)(void);

static void
first(struct rig *r)
{
	(void)r;
	nr_node(&nr);
	MUST(nr.ready);
	table = nr_table(&nr, "t");
	body();
}

static void
on_node(void (*fn)(void))
{
	body = fn;
	nr_start(&nr, RIG_MEM, SLOTS);
	rig_run(&nr.r, first);
	nr_stop(&nr);
}

static void
again(struct rig *r)
{
	(void)r;
	nr_node(&nr);
	MUST(nr.ready);
	body();
}

static void
put(int64_t id, const char *v, int64_t n)
{
	CHECK(
	    NR_DO(&nr, .table = table, .id = id, .v = v, .n = n) == CL_APPLIED);
}

static void
del(int64_t id)
{
	CHECK(NR_DO(&nr, .table = table, .id = id) == CL_APPLIED);
}

static void
put_some(int from, int to)
{
	for (int i = from; i < to; i++)
		put(i, "some text", (i * 7) % 50);
}

/* On n, then id as in every index. */
static struct cl_index
on_n(bool desc)
{
	static struct cl_index_column up = {.column = 3, .type = EX_INT8};
	static struct cl_index_column down = {
	    .column = 3, .type = EX_INT8, .desc = true, .nulls_first = true};

	return (struct cl_index){.table = table->id,
	    .name = desc ? STR("t_n_desc") : STR("t_n"),
	    .n_columns = 1,
	    .columns = desc ? &down : &up};
}

static struct nr_scan
by(uint32_t index, uint8_t flags)
{
	return (struct nr_scan){.table = table,
	    .index = index,
	    .flags = flags,
	    .ids = ids,
	    .max = IDS + 10};
}

static int64_t
n_of(int64_t id)
{
	return (id * 7) % 50;
}

/* ---- scans ---- */

static void
check_order(uint32_t count, bool reverse)
{
	for (uint32_t i = 1; i < count; i++) {
		int64_t a = n_of(ids[i - 1]), b = n_of(ids[i]);
		bool up = a < b || (a == b && ids[i - 1] < ids[i]);

		CHECK(reverse ? !up : up);
	}
}

static struct str
bound(int64_t n)
{
	struct buf b;

	buf_init(&b, nr.r.arena);
	ex_key_put(&b, CL_TAG_NONE, CL_KEY_ASC, val_int(EX_INT8, n));
	return buf_view(&b);
}

static void
ordered(void)
{
	struct cl_index x = on_n(false);
	struct nr_scan s;
	uint32_t index;

	put_some(0, IDS);
	del(5);
	index = nr_index(&nr, &x);
	CHECK(nr_index_built(&nr, index) == CL_INDEX_PUBLIC);
	check_index(index);
	s = by(index, CL_SCAN_ORDERED);
	for (int pass = 0; pass < 2; pass++) {
		CHECK(nr_scan(&nr, &s) == IDS - 1 && !s.reason);
		check_order(IDS - 1, false);
		s.flags |= CL_SCAN_REVERSE;
		CHECK(nr_scan(&nr, &s) == IDS - 1);
		check_order(IDS - 1, true);
		s.flags = CL_SCAN_ORDERED;
		s.bytes = 1; /* small pages see the same */
	}
	CHECK(s.pages > 3);
	s = by(index, 0);
	CHECK(nr_scan(&nr, &s) == IDS - 1);
	s.start = bound(10);
	s.end = bound(12);
	CHECK(nr_scan(&nr, &s) == IDS / 50 * 2);
	for (int i = 0; i < IDS / 50 * 2; i++)
		CHECK(n_of(ids[i]) == 10 || n_of(ids[i]) == 11);
	s.flags = CL_SCAN_COUNT;
	CHECK(nr_scan(&nr, &s) == 0 && s.count == IDS / 50 * 2);
	s = by(index, CL_SCAN_ORDERED);
	s.limit = 3;
	CHECK(nr_scan(&nr, &s) == 3 && n_of(ids[2]) == 0);
}

static void
a_scan_by_an_index_is_in_its_order(void)
{
	on_node(ordered);
}

static struct str
encoded(struct expr *e)
{
	struct buf b;

	buf_init(&b, nr.r.arena);
	ex_encode(&b, e);
	return buf_view(&b);
}

static struct expr *
op(const char *name, uint32_t col, uint32_t type, struct val v)
{
	struct arena *a = nr.r.arena;
	const struct ex_func *f;
	struct expr **args = NEW_N(a, struct expr *, 2);
	struct err *e = ex_find_op(a, str_c(name), type, v.type, &f);

	MUST(e == NULL);
	args[0] = ex_column(a, col, type, -1);
	args[1] = ex_const(a, v);
	return ex_call(a, f, args, 2);
}

/* Where n < 10, on n * -1. */
static void
partial(void)
{
	static const uint32_t inputs[] = {3};
	struct cl_index_column column = {
	    .type = EX_INT8, .expr_sql = STR("n * -1")};
	struct cl_index x = {.table = table->id,
	    .name = STR("t_part"),
	    .where_sql = STR("n < 10"),
	    .n_columns = 1,
	    .columns = &column,
	    .n_inputs = 1,
	    .inputs = inputs};
	struct nr_scan s;
	uint32_t index;

	column.expr = encoded(op("*", 0, EX_INT8, val_int(EX_INT8, -1)));
	x.where = encoded(op("<", 0, EX_INT8, val_int(EX_INT8, 10)));
	put_some(0, 100);
	index = nr_index(&nr, &x);
	put_some(100, 200);
	CHECK(nr_index_built(&nr, index) == CL_INDEX_PUBLIC);
	check_index(index);
	s = by(index, CL_SCAN_ORDERED);
	CHECK(nr_scan(&nr, &s) == 40);
	CHECK(n_of(ids[0]) == 9 && n_of(ids[39]) == 0);
	/* In, out, and to another place. */
	put(7, "v", 3);
	put(0, "v", 70);
	put(50, "v", 4);
	check_index(index);
	CHECK(nr_scan(&nr, &s) == 39 + (n_of(7) >= 10));
}

static void
an_index_may_be_partial_and_of_expressions(void)
{
	on_node(partial);
}

/* ---- keeping ---- */

static void
random_changes(uint32_t *index, int n)
{
	for (int i = 0; i < n; i++) {
		int64_t id = rand() % IDS;

		if (rand() % 4 == 0)
			del(id);
		else
			put(id, rand() % 2 ? "v" : "another", rand() % 20);
	}
	for (; *index; index++)
		check_index(*index);
}

static void
kept(void)
{
	struct cl_index x = on_n(false), y = on_n(true);
	uint32_t all[3] = {0};

	srand(3);
	random_changes(all, 100);
	all[0] = nr_index(&nr, &x);
	random_changes(all + 2, 50);
	CHECK(nr_index_built(&nr, all[0]) == CL_INDEX_PUBLIC);
	random_changes(all, 200);
	all[1] = nr_index(&nr, &y);
	CHECK(nr_index_built(&nr, all[1]) == CL_INDEX_PUBLIC);
	random_changes(all, 200);
	/* Tombstones go, and the entries stay. */
	rig_sleep(&nr.r, 200000000);
	random_changes(all, 10);
}

static void
entries_are_always_those_of_the_rows(void)
{
	on_node(kept);
}

static void
first_half(void)
{
	struct cl_index x = on_n(false);

	put_some(0, IDS);
	nr_index(&nr, &x);
	/* Some slots are done, some half. */
	rig_sleep(&nr.r, (uint64_t)(rand() % 30) * 100);
	for (int i = 0; i < 5; i++)
		NR_DO(&nr, .table = table, .id = rand() % IDS, .v = "new",
		    .n = 99);
}

static void
second_half(void)
{
	const struct cl_index *x;
	size_t at = 0;
	uint32_t n = 0;
	struct nr_scan s;

	x = cl_index_each(nr.node->catalog.snap, table->id, &at);
	if (!x)
		return; /* lost, and never acknowledged */
	CHECK(nr_index_built(&nr, x->id) == CL_INDEX_PUBLIC);
	check_index(x->id);
	s = by(0, CL_SCAN_COUNT);
	nr_scan(&nr, &s);
	n = (uint32_t)s.count;
	s = by(x->id, CL_SCAN_COUNT);
	nr_scan(&nr, &s);
	CHECK(s.count == n);
}

static void
building_goes_on_after_a_crash(void)
{
	for (unsigned seed = 1; seed <= 12; seed++) {
		srand(seed);
		body = first_half;
		nr_start(&nr, RIG_MEM, SLOTS);
		rig_run(&nr.r, first);
		rig_crash(&nr.r, seed);
		body = second_half;
		rig_run(&nr.r, again);
		nr_stop(&nr);
	}
}

/* ---- rows without a key ---- */

static void
too_long(void)
{
	static struct cl_index_column v = {.column = 2, .type = EX_TEXT};
	struct cl_index x = {.table = table->id,
	    .name = STR("t_v"),
	    .n_columns = 1,
	    .columns = &v};
	char *text = arena_alloc(nr.r.arena, 9001);
	const struct cl_index *now;
	struct nr_scan s;
	uint32_t index;

	memset(text, 'x', 9000);
	text[9000] = 0;
	put_some(0, 50);
	put(50, text, 1);
	index = nr_index(&nr, &x);
	CHECK(nr_index_built(&nr, index) == CL_INDEX_FAILED);
	now = cl_catalog_index(nr.node->catalog.snap, index);
	CHECK(str_has_prefix(
	    now->failure, STR("54000 index row size 9006 exceeds maximum")));
	s = by(index, 0);
	nr_scan(&nr, &s);
	CHECK(s.reason == CL_REFUSE_CATALOG);
	/* Rows go on being written, and the entries go. */
	put_some(60, 70);
	rig_sleep(&nr.r, 200000000);
	CHECK(audit(index).entries == 0);
	/* One that comes when the index is in use stops that, in its slot. */
	del(50);
	x.name = STR("t_v2");
	index = nr_index(&nr, &x);
	CHECK(nr_index_built(&nr, index) == CL_INDEX_PUBLIC);
	put(51, text, 1);
	s = by(index, 0);
	nr_scan(&nr, &s);
	CHECK_STR(s.sqlstate, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE);
}

static void
a_row_without_a_key_fails_the_index(void)
{
	on_node(too_long);
}

/* ---- dropping ---- */

static void
dropped(void)
{
	struct cl_index x = on_n(false);
	enum st_index_state states[SLOTS];
	struct nr_scan s;
	struct str text;
	uint32_t index, second;

	put_some(0, 100);
	index = nr_index(&nr, &x);
	CHECK(nr_index_built(&nr, index) == CL_INDEX_PUBLIC);
	nr_drop_index(&nr, index);
	s = by(index, 0);
	nr_scan(&nr, &s);
	CHECK(s.reason == CL_REFUSE_CATALOG);
	second = nr_index(&nr, &x);
	rig_sleep(&nr.r, 200000000);
	CHECK(audit(index).entries == 0);
	st_fill_states(nr.node, nr.r.arena, index, states, SLOTS, &text);
	for (int i = 0; i < SLOTS; i++)
		CHECK(states[i] == ST_INDEX_NONE);
	CHECK(audit(second).entries == 100);
	check_index(second);
	/* And with the table. */
	nr_drop_index(&nr, second);
	nr_drop_table(&nr, table->id);
	rig_sleep(&nr.r, 200000000);
	CHECK(audit(second).entries == 0);
}

static void
what_is_dropped_goes(void)
{
	on_node(dropped);
}

/* ---- waiting ---- */

static bool slow;

static uint64_t
slow_fill(void *arg, enum engine_mem_step step, uint64_t lane)
{
	(void)arg;
	return slow && step == ENGINE_MEM_RUN && lane && lane < ST_LANE_META
		   ? 1500000
		   : 10;
}

static void
unready(void)
{
	struct cl_index x = on_n(false);
	struct nr_scan s;
	uint32_t index;

	put_some(0, 40);
	slow = true;
	index = nr_index(&nr, &x);
	s = by(index, CL_SCAN_COUNT);
	nr_scan(&nr, &s);
	CHECK(s.reason == CL_REFUSE_INDEX && s.count == 0);
	for (int i = 0; i < 30 && s.reason; i++)
		nr_scan(&nr, &s);
	CHECK(!s.reason && s.count == 40);
	slow = false;
}

static void
an_index_that_is_not_filled_in_is_not_read(void)
{
	body = unready;
	nr_start(&nr, RIG_MEM, SLOTS);
	nr.r.hooks.delay_us = slow_fill;
	rig_run(&nr.r, first);
	nr_stop(&nr);
}

/* ---- mending ---- */

struct spoil {
	struct arena *arena;
	uint32_t index;
};

/* One entry goes, another comes that no row has. */
static void
spoil_job(struct kv *kv, void *arg)
{
	struct spoil *x = arg;
	struct kv_cur *c = kv_open(kv, KV_INDEX);
	struct buf from;
	struct str k, v, key;

	buf_init(&from, x->arena);
	buf_be32(&from, x->index);
	MUST(kv_seek(c, buf_view(&from), &k, &v));
	key = arena_str(x->arena, k);
	v = arena_str(x->arena, v);
	kv_close(c);
	kv_del(kv, KV_INDEX, key);
	from.len = 0;
	buf_str(&from, key);
	buf_u8(&from, 1);
	kv_put(kv, KV_INDEX, buf_view(&from), v);
}

static void
mended(void)
{
	struct cl_index x = on_n(false);
	struct spoil s = {.arena = nr.r.arena};
	struct cl_repair m = {.n_groups = 0};
	struct cl_repaired out;
	struct nr_scan scan;

	put_some(0, 100);
	s.index = nr_index(&nr, &x);
	CHECK(nr_index_built(&nr, s.index) == CL_INDEX_PUBLIC);
	MUST(engine_run(nr.node->engine, ENGINE_LANE_ANY, ENGINE_WRITE,
		 spoil_job, &s) == ENGINE_OK);
	CHECK(audit(s.index).missing == 1);
	CHECK(!st_repair_serve(nr.node, nr.r.arena, &m, 0,
	    world_mono_us(nr.r.world) + 5000000, &out));
	/* Copies do not differ for it. */
	CHECK(out.different == 0 && out.n_groups > 0);
	scan = by(s.index, CL_SCAN_COUNT);
	do
		nr_scan(&nr, &scan);
	while (scan.reason == CL_REFUSE_INDEX);
	CHECK(scan.count == 100);
	check_index(s.index);
}

static void
a_repair_makes_entries_those_of_the_rows(void)
{
	on_node(mended);
}

/* The schema version first, in each group, then the rows. */
static void
fenced(void)
{
	struct cl_index x = on_n(false);
	enum st_index_state states[SLOTS];
	struct str text;
	uint32_t index;

	put_some(0, 40);
	slow = true;
	index = nr_index(&nr, &x);
	rig_sleep(&nr.r, 2200000);
	st_fill_states(nr.node, nr.r.arena, index, states, SLOTS, &text);
	for (int i = 0; i < SLOTS; i++)
		CHECK(states[i] == ST_INDEX_NONE);
	CHECK(nr_index_built(&nr, index) == CL_INDEX_PUBLIC);
	check_index(index);
	slow = false;
}

static void
a_slot_is_filled_in_once_its_writers_know(void)
{
	body = fenced;
	nr_start(&nr, RIG_MEM, SLOTS);
	nr.r.hooks.delay_us = slow_fill;
	rig_run(&nr.r, first);
	nr_stop(&nr);
}

static int putting;

static void
put_later_fiber(void *arg)
{
	if (arg)
		rig_sleep(&nr.r, 1000000);
	put(40, "v", 7);
	putting--;
}

/* A row is being applied, by a catalog without the index, when that comes. */
static void
under_way(void)
{
	struct cl_index x = on_n(false);
	uint32_t index;

	put_some(0, 40);
	for (int i = 0; i < 40; i++) /* all groups know the table */
		NR_DO(&nr, .table = table, .id = i, .v = "v", .n = 1,
		    .cond = CL_COND_SCHEMA, .arg = 1);
	x.version = 1;
	slow = true;
	putting = 1;
	/* The catalog's own entry takes as long: the row comes meanwhile. */
	fiber_spawn(
	    nr.r.world, "put", FIBER_STACK_NODE, put_later_fiber, &index);
	index = nr_index(&nr, &x);
	while (putting)
		rig_sleep(&nr.r, 100000);
	CHECK(nr_index_built(&nr, index) == CL_INDEX_PUBLIC);
	check_index(index);
	slow = false;
}

static void
a_row_under_way_is_in_the_index(void)
{
	body = under_way;
	nr_start(&nr, RIG_MEM, SLOTS);
	nr.r.hooks.delay_us = slow_fill;
	rig_run(&nr.r, first);
	nr_stop(&nr);
}

/* As after a start: what an earlier process knew of indexes is not known yet.
 */
static void
behind(void)
{
	put_some(0, 40);
	putting = 1;
	nr.node->catalog.followed = false;
	fiber_spawn(nr.r.world, "put", FIBER_STACK_NODE, put_later_fiber, NULL);
	rig_sleep(&nr.r, 1000);
	CHECK(putting == 1);
	/* It asks, and what waited is applied. */
	rig_sleep(&nr.r, 2000000);
	CHECK(nr.node->catalog.followed && putting == 0);
	CHECK(nr_get(&nr, table, 40) != NULL);
}

static void
nothing_is_applied_before_the_catalog_is_known(void)
{
	on_node(behind);
}

/* ---- the other engine ---- */

static void
last(struct rig *r)
{
	(void)r;
	nr_node_stop(&nr);
}

static void
on_disk(void (*fn)(void), enum rig_kind kind)
{
	body = fn;
	nr_start(&nr, kind, SLOTS);
	rig_run(&nr.r, first);
	rig_run(&nr.r, last);
	nr_stop(&nr);
}

static void
both_engines_keep_indexes(void)
{
	on_disk(ordered, RIG_WT);
	on_disk(partial, RIG_WT_INLINE);
	on_disk(mended, RIG_WT);
}

CU_MAIN("index", {"an_entry_is_what_it_was", an_entry_is_what_it_was},
    {"a_record_is_what_it_was", a_record_is_what_it_was},
    {"a_scan_by_an_index_is_in_its_order", a_scan_by_an_index_is_in_its_order},
    {"an_index_may_be_partial_and_of_expressions",
	an_index_may_be_partial_and_of_expressions},
    {"entries_are_always_those_of_the_rows",
	entries_are_always_those_of_the_rows},
    {"building_goes_on_after_a_crash", building_goes_on_after_a_crash},
    {"a_row_without_a_key_fails_the_index",
	a_row_without_a_key_fails_the_index},
    {"what_is_dropped_goes", what_is_dropped_goes},
    {"an_index_that_is_not_filled_in_is_not_read",
	an_index_that_is_not_filled_in_is_not_read},
    {"a_repair_makes_entries_those_of_the_rows",
	a_repair_makes_entries_those_of_the_rows},
    {"a_row_under_way_is_in_the_index", a_row_under_way_is_in_the_index},
    {"nothing_is_applied_before_the_catalog_is_known",
	nothing_is_applied_before_the_catalog_is_known},
    {"both_engines_keep_indexes", both_engines_keep_indexes},
    {"a_slot_is_filled_in_once_its_writers_know",
	a_slot_is_filled_in_once_its_writers_know})
