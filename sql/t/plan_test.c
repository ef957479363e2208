/* How rows are reached, seen by EXPLAIN and by what the source is asked for. */
#include "regress/lib/cu.h"
#include "sql/t/fixture.h"

static void
setup(struct fixture *f)
{
	fixture_init(f);
	fixture_run(f, "CREATE TABLE t (id int PRIMARY KEY, n int, s text)");
	fixture_run(f, "INSERT INTO t SELECT g, g % 10, 's' || g FROM "
		       "generate_series(1, 1000) g");
	fixture_run(f, "CREATE TABLE k (a int, b int, c text, v int, PRIMARY "
		       "KEY (a, b, c))");
	fixture_run(f, "INSERT INTO k SELECT a, b, 'c', a * b FROM "
		       "generate_series(1, 10) a, generate_series(1, 10) b");
	memsource_count_reset(&f->mem);
}

static const char *
run(struct fixture *f, const char *sql)
{
	memsource_count_reset(&f->mem);
	return fixture_run(f, sql);
}

static void
a_pinned_key_is_a_point_read(void)
{
	struct fixture f;

	setup(&f);
	CHECK_STR(run(&f, "SELECT n FROM t WHERE id = 7"), "|7\nSELECT 1\n");
	CHECK(f.mem.keys_got == 1 && f.mem.scans == 0);
	run(&f, "SELECT n FROM t WHERE 7 = id AND n > 3");
	CHECK(f.mem.keys_got == 1 && f.mem.scans == 0);
	run(&f, "SELECT n FROM t WHERE id = 7::bigint");
	CHECK(f.mem.keys_got == 1 && f.mem.scans == 0);
	run(&f, "SELECT n FROM t WHERE id = 3.0 + 4");
	CHECK(f.mem.keys_got == 1 && f.mem.scans == 0);
	run(&f, "SELECT v FROM k WHERE c = 'c' AND b = 2 AND a = 1");
	CHECK(f.mem.keys_got == 1 && f.mem.scans == 0);
	fixture_fini(&f);
}

static void
a_parameter_pins_a_key(void)
{
	static const char *const five[] = {"5"};
	struct fixture f;

	setup(&f);
	CHECK_STR(
	    fixture_run_with(&f, "SELECT n FROM t WHERE id = $1", five, 1),
	    "|5\nSELECT 1\n");
	CHECK(f.mem.keys_got == 1 && f.mem.scans == 0);
	fixture_fini(&f);
}

static void
a_list_of_keys_is_read_in_batches(void)
{
	struct fixture f;

	setup(&f);
	run(&f, "SELECT n FROM t WHERE id IN (1, 2, 3, 2, 5000)");
	CHECK(f.mem.keys_got == 4 && f.mem.scans == 0);
	run(&f, "SELECT v FROM k WHERE a IN (1, 2) AND b IN (3, 4) AND c = "
		"'c'");
	CHECK(f.mem.keys_got == 4 && f.mem.scans == 0);
	CHECK_STR(run(&f, "SELECT id FROM t WHERE id IN (SELECT v FROM k "
			  "WHERE a = 10 AND b > 8) ORDER BY id"),
	    "|90\n|100\nSELECT 2\n");
	CHECK(f.mem.keys_got == 2 && f.mem.scans == 1);
	fixture_fini(&f);
}

static void
what_no_key_can_equal_is_not_looked_for(void)
{
	struct fixture f;

	setup(&f);
	CHECK_STR(run(&f, "SELECT n FROM t WHERE id = 5.5"), "SELECT 0\n");
	CHECK_STR(
	    run(&f, "SELECT n FROM t WHERE id = 5000000000"), "SELECT 0\n");
	CHECK_STR(run(&f, "SELECT n FROM t WHERE id = NULL"), "SELECT 0\n");
	CHECK_STR(
	    run(&f, "SELECT n FROM t WHERE n = 1 AND false"), "SELECT 0\n");
	CHECK(f.mem.keys_got == 0 && f.mem.scans == 0);
	fixture_fini(&f);
}

static void
a_range_of_keys_bounds_the_scan(void)
{
	struct fixture f;

	setup(&f);
	CHECK_STR(run(&f, "SELECT count(n) FROM t WHERE id > 10 AND id <= 20"),
	    "|10\nSELECT 1\n");
	CHECK(f.mem.rows_scanned == 10);
	run(&f, "SELECT count(n) FROM t WHERE id BETWEEN 5 AND 9.5");
	CHECK(f.mem.rows_scanned == 5);
	run(&f, "SELECT v FROM k WHERE a = 3");
	CHECK(f.mem.rows_scanned == 10);
	run(&f, "SELECT v FROM k WHERE a = 3 AND b >= 9");
	CHECK(f.mem.rows_scanned == 2);
	run(&f, "SELECT v FROM k WHERE a IN (3, 4) AND b < 3");
	CHECK(f.mem.rows_scanned == 4 && f.mem.scans == 2);
	run(&f, "SELECT v FROM k WHERE b = 3");
	CHECK(f.mem.rows_scanned == 100);
	fixture_fini(&f);
}

static void
the_primary_key_gives_order_for_nothing(void)
{
	struct fixture f;
	const char *got;

	setup(&f);
	CHECK_STR(run(&f, "SELECT id FROM t ORDER BY id LIMIT 3"),
	    "|1\n|2\n|3\nSELECT 3\n");
	CHECK(f.mem.rows_scanned == 3);
	CHECK(f.mem.last_ordered && f.mem.last_limit == 3);
	CHECK_STR(run(&f, "SELECT id FROM t ORDER BY id DESC LIMIT 2 OFFSET "
			  "1"),
	    "|999\n|998\nSELECT 2\n");
	CHECK(f.mem.rows_scanned == 3 && f.mem.last_limit == 3);
	CHECK_STR(run(&f, "SELECT b FROM k WHERE a = 2 ORDER BY b DESC LIMIT "
			  "1"),
	    "|10\nSELECT 1\n");
	CHECK(f.mem.rows_scanned == 1);
	got = fixture_run(&f, "EXPLAIN SELECT * FROM k ORDER BY a, b DESC");
	CHECK(strstr(got, "Sort") != NULL);
	got = fixture_run(&f, "EXPLAIN SELECT * FROM k ORDER BY a DESC, b "
			      "DESC, c DESC, v");
	CHECK(strstr(got, "Sort") == NULL);
	fixture_fini(&f);
}

static void
conditions_go_to_the_source_and_limits_follow(void)
{
	struct fixture f;

	setup(&f);
	run(&f, "SELECT id FROM t WHERE n = 3 LIMIT 2");
	CHECK(f.mem.last_filtered && f.mem.last_limit == 2);
	/* random() stays here, so the source may not stop early. */
	run(&f, "SELECT id FROM t WHERE random() < 2 LIMIT 2");
	CHECK(!f.mem.last_filtered && f.mem.last_limit == 0);
	run(&f, "SELECT id FROM t ORDER BY n LIMIT 2");
	CHECK(f.mem.last_limit == 0);
	run(&f, "SELECT DISTINCT n FROM t LIMIT 2");
	CHECK(f.mem.last_limit == 0);
	fixture_fini(&f);
}

static void
counting_rows_reads_none(void)
{
	struct fixture f;

	setup(&f);
	CHECK_STR(run(&f, "SELECT count(*) FROM t"), "|1000\nSELECT 1\n");
	CHECK(f.mem.counts == 1 && f.mem.scans == 0);
	CHECK_STR(run(&f, "SELECT count(*) FROM t WHERE n = 3 AND id > 500"),
	    "|50\nSELECT 1\n");
	CHECK(f.mem.counts == 1 && f.mem.scans == 0);
	run(&f, "SELECT count(*), max(id) FROM t");
	CHECK(f.mem.counts == 0 && f.mem.scans == 1);
	fixture_fini(&f);
}

static void
explain_names_nodes_as_postgresql_does(void)
{
	struct fixture f;

	setup(&f);
	CHECK_STR(fixture_run(&f, "EXPLAIN (COSTS OFF) SELECT * FROM t WHERE "
				  "n > 1 AND id = 5"),
	    "|Index Scan using t_pkey on t\n"
	    "|  Index Cond: (id = 5)\n"
	    "|  Filter: (n > 1)\n"
	    "EXPLAIN 3\n");
	CHECK_STR(fixture_run(&f, "EXPLAIN SELECT n, count(*) FROM t WHERE s "
				  "LIKE 'x%' GROUP BY n ORDER BY n LIMIT 5"),
	    "|Limit\n"
	    "|  ->  Sort\n"
	    "|        Sort Key: n\n"
	    "|        ->  HashAggregate\n"
	    "|              Group Key: n\n"
	    "|              ->  Seq Scan on t\n"
	    "|                    Filter: (s ~~ 'x%'::text)\n"
	    "EXPLAIN 7\n");
	CHECK_STR(fixture_run(&f, "EXPLAIN SELECT 1"), "|Result\nEXPLAIN 1\n");
	CHECK_STR(fixture_run(&f, "EXPLAIN DELETE FROM t WHERE id > 5"),
	    "|Delete on t\n"
	    "|  ->  Index Scan using t_pkey on t\n"
	    "|        Index Cond: (id > 5)\n"
	    "EXPLAIN 3\n");
	CHECK(memsource_rows(&f.mem, fixture_table(&f, "t")) == 1000);
	CHECK_STR(fixture_run(&f, "EXPLAIN ANALYZE DELETE FROM t WHERE id > "
				  "995"),
	    "|Delete on t (actual rows=0)\n"
	    "|  ->  Index Scan using t_pkey on t (actual rows=5)\n"
	    "|        Index Cond: (id > 995)\n"
	    "EXPLAIN 3\n");
	CHECK(memsource_rows(&f.mem, fixture_table(&f, "t")) == 995);
	fixture_fini(&f);
}

/* What the source was told: mentions of tables, keys, ranges, whole tables. */
static bool
told(struct fixture *f, const char *sql, const size_t want[4])
{
	run(f, sql);
	return f->mem.told == want[0] && f->mem.told_keys == want[1] &&
	       f->mem.told_ranges == want[2] && f->mem.told_all == want[3];
}
#define TOLD(sql, ...) CHECK(told(&f, sql, (const size_t[4]){__VA_ARGS__}))

static void
the_source_is_told_what_a_statement_may_reach(void)
{
	struct fixture f;

	setup(&f);
	TOLD("SELECT v FROM k WHERE a = 1 AND v > 3", 1, 0, 1, 0);
	TOLD("SELECT v FROM k WHERE a > 1", 1, 0, 1, 0);
	TOLD("SELECT v FROM k WHERE b = 1", 1, 0, 1, 1);
	TOLD("SELECT n FROM t", 1, 0, 1, 1);
	TOLD("SELECT count(*) FROM t", 1, 0, 1, 1);
	TOLD("SELECT n FROM t WHERE id IN (1, 2, 5000)", 1, 3, 0, 0);
	TOLD("SELECT n FROM t WHERE false", 1, 0, 0, 0);
	TOLD("SELECT 1 FROM t JOIN k ON t.id = k.b WHERE t.id = 7 AND k.a = 7",
	    2, 1, 1, 0);
	TOLD("SELECT n FROM t WHERE id = 1 UNION ALL SELECT v FROM k", 2, 1, 1,
	    1);
	TOLD("SELECT n FROM t WHERE id IN (SELECT v FROM k WHERE a = 1)", 2, 10,
	    1, 0);
	TOLD("UPDATE t SET n = 1 WHERE id = 3 AND n > 100", 1, 1, 0, 0);
	TOLD("DELETE FROM t WHERE n > 100", 1, 0, 1, 1);
	TOLD("INSERT INTO t SELECT a + 2000 FROM k WHERE a = 1 AND b = 1", 2, 0,
	    1, 0);
	fixture_fini(&f);
}

static void
what_the_source_refuses_is_not_begun(void)
{
	static const char *const texts[] = {"SELECT n FROM t",
	    "SELECT count(*) FROM t WHERE id = 1", "UPDATE t SET n = n + 1",
	    "DELETE FROM t WHERE id = 1", "INSERT INTO t VALUES (5000)",
	    "INSERT INTO t SELECT a + 5000 FROM k"};
	struct fixture f;

	setup(&f);
	f.mem.refuse = true;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		CHECK_STR(run(&f, texts[i]), "ERROR 25000 0 refused\n");
		CHECK(!f.mem.keys_got && !f.mem.scans && !f.mem.counts &&
		      !f.mem.writes);
	}
	fixture_fini(&f);
}

CU_MAIN("plan", {"a_pinned_key_is_a_point_read", a_pinned_key_is_a_point_read},
    {"a_parameter_pins_a_key", a_parameter_pins_a_key},
    {"a_list_of_keys_is_read_in_batches", a_list_of_keys_is_read_in_batches},
    {"what_no_key_can_equal_is_not_looked_for",
	what_no_key_can_equal_is_not_looked_for},
    {"a_range_of_keys_bounds_the_scan", a_range_of_keys_bounds_the_scan},
    {"the_primary_key_gives_order_for_nothing",
	the_primary_key_gives_order_for_nothing},
    {"conditions_go_to_the_source_and_limits_follow",
	conditions_go_to_the_source_and_limits_follow},
    {"counting_rows_reads_none", counting_rows_reads_none},
    {"explain_names_nodes_as_postgresql_does",
	explain_names_nodes_as_postgresql_does},
    {"the_source_is_told_what_a_statement_may_reach",
	the_source_is_told_what_a_statement_may_reach},
    {"what_the_source_refuses_is_not_begun",
	what_the_source_refuses_is_not_begun})
