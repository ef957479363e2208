/* Secondary indexes: which one is chosen, what it is asked for, and that rows
 * are those that a scan of the table finds. */
#include "regress/lib/cu.h"
#include "sql/t/fixture.h"

static uint64_t state;

static uint32_t
below(uint32_t n)
{
	uint64_t z = state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return (uint32_t)((z ^ (z >> 31)) % n);
}

static void
setup(struct fixture *f)
{
	fixture_init(f);
	fixture_run(f, "CREATE TABLE t (id int PRIMARY KEY, a int, b text, "
		       "c numeric NOT NULL, d timestamp, ok bool)");
	fixture_run(f,
	    "INSERT INTO t SELECT g, CASE WHEN g % 7 = 0 THEN NULL ELSE g % 50 "
	    "END, CASE WHEN g % 5 = 0 THEN NULL ELSE 'S' || g % 20 END, "
	    "g % 30 / 2.0, timestamp '2024-01-01' + g % 100 * interval '1 "
	    "hour', g % 3 = 0 FROM generate_series(1, 1000) g");
	memsource_count_reset(&f->mem);
}

static const char *
run(struct fixture *f, const char *sql)
{
	memsource_count_reset(&f->mem);
	return fixture_run(f, sql);
}

static bool
plan_has(struct fixture *f, const char *sql, const char *text)
{
	const char *plan =
	    fixture_run(f, arena_printf(f->arena, "EXPLAIN %s", sql));

	if (strstr(plan, text))
		return true;
	printf("%s\n%s", sql, plan);
	return false;
}

/* ---- choice ---- */

static void
equal_columns_are_ranges_of_the_index(void)
{
	struct fixture f;

	setup(&f);
	fixture_run(&f, "CREATE INDEX i ON t (a, b)");
	CHECK_STR(run(&f, "SELECT count(id) FROM t WHERE a = 3 AND b = 'S3'"),
	    "|8\nSELECT 1\n");
	CHECK(f.mem.rows_scanned == 8 && f.mem.last_index);
	CHECK(!f.mem.last_filtered);
	run(&f, "SELECT id FROM t WHERE a IN (3, 4)");
	CHECK(f.mem.scans == 2 && f.mem.rows_scanned == 34);
	run(&f, "SELECT id FROM t WHERE a = 3 AND b > 'S2'");
	CHECK(f.mem.rows_scanned == 8);
	run(&f, "SELECT id FROM t WHERE a = 3 AND d IS NULL");
	CHECK(f.mem.rows_scanned == 17 && f.mem.last_filtered);
	run(&f, "SELECT id FROM t WHERE b = 'S3'");
	CHECK(f.mem.rows_scanned == 1000 && !f.mem.last_index);
	CHECK(plan_has(&f, "SELECT id FROM t WHERE a = 3 AND b = 'S3'",
	    "Index Scan using i on t"));
	CHECK(plan_has(&f, "SELECT id FROM t WHERE a = 3 AND b = 'S3' AND ok",
	    "Index Cond: ((a = 3) AND (b = 'S3'::text))"));
	CHECK(plan_has(&f, "SELECT id FROM t WHERE a = 3 AND b = 'S3' AND ok",
	    "Filter: ok"));
	fixture_fini(&f);
}

static void
null_is_found_where_it_stands_and_compares_with_nothing(void)
{
	static const char *const orders[] = {
	    "", "DESC", "NULLS FIRST", "DESC NULLS LAST"};

	for (size_t i = 0; i < 4; i++) {
		struct fixture f;

		setup(&f);
		fixture_run(&f, arena_printf(f.arena,
				    "CREATE INDEX i ON t (a %s)", orders[i]));
		CHECK_STR(run(&f, "SELECT count(*) FROM t WHERE a IS NULL"),
		    "|142\nSELECT 1\n");
		CHECK(f.mem.rows_scanned == 142);
		run(&f, "SELECT id FROM t WHERE a < 3");
		CHECK(f.mem.rows_scanned == 53);
		run(&f, "SELECT id FROM t WHERE a >= 47.5");
		CHECK(f.mem.rows_scanned == 34);
		run(&f, "SELECT id FROM t WHERE a > 3 AND a <= 5");
		CHECK(f.mem.rows_scanned == 34);
		CHECK(f.mem.last_index && !f.mem.last_filtered);
		fixture_fini(&f);
	}
}

static void
the_access_that_pins_most_wins(void)
{
	struct fixture f;

	setup(&f);
	fixture_run(&f, "CREATE INDEX ia ON t (a)");
	fixture_run(&f, "CREATE INDEX ib ON t (b, a)");
	CHECK(plan_has(&f, "SELECT * FROM t WHERE a = 1 AND b = 'S1'",
	    "Scan using ib on t"));
	CHECK(plan_has(
	    &f, "SELECT * FROM t WHERE a = 1 AND b > ''", "using ia on t"));
	CHECK(plan_has(
	    &f, "SELECT * FROM t WHERE a = 1 AND id = 5", "using t_pkey on t"));
	CHECK(plan_has(
	    &f, "SELECT * FROM t WHERE a = 1 AND id > 5", "using ia on t"));
	CHECK(plan_has(
	    &f, "SELECT * FROM t WHERE a > 1 AND id > 5", "using t_pkey on t"));
	CHECK(plan_has(&f, "SELECT * FROM t WHERE a + 1 > 1", "Seq Scan on t"));
	CHECK(plan_has(&f, "SELECT * FROM t x WHERE x.a = 1",
	    "Index Scan using ia on t x"));
	fixture_fini(&f);
}

static void
an_expression_is_recognised(void)
{
	struct fixture f;

	setup(&f);
	fixture_run(&f, "CREATE INDEX il ON t (lower(b))");
	fixture_run(&f, "CREATE INDEX ie ON t ((a + 1), (c * 2))");
	CHECK_STR(run(&f, "SELECT count(id) FROM t WHERE lower(b) = 's3'"),
	    "|50\nSELECT 1\n");
	CHECK(f.mem.rows_scanned == 50 && f.mem.last_index);
	run(&f, "SELECT id FROM t WHERE a + 1 = 4 AND c * 2 < 5");
	CHECK(f.mem.rows_scanned == 0 || f.mem.last_index);
	CHECK(plan_has(&f, "SELECT id FROM t WHERE a + 1 = 4 AND c * 2 < 5",
	    "using ie on t"));
	CHECK(plan_has(
	    &f, "SELECT id FROM t WHERE upper(b) = 'X'", "Seq Scan on t"));
	/* Without the columns of the expressions. */
	CHECK(plan_has(&f, "SELECT id FROM t WHERE ok", "Seq Scan on t"));
	fixture_fini(&f);
}

static void
a_partial_index_answers_what_implies_it(void)
{
	struct fixture f;

	setup(&f);
	fixture_run(&f, "CREATE INDEX ip ON t (a) WHERE ok AND b IS NOT NULL");
	CHECK(plan_has(&f, "SELECT id FROM t WHERE a = 1 AND ok AND b = 'S1'",
	    "using ip on t"));
	CHECK(plan_has(&f, "SELECT id FROM t WHERE a = 1 AND ok AND b > 'S1'",
	    "Filter: (b > 'S1'::text)"));
	CHECK(plan_has(&f,
	    "SELECT id FROM t WHERE ok AND b IN ('S1', 'S2') AND d IS NULL",
	    "using ip on t"));
	CHECK(plan_has(
	    &f, "SELECT id FROM t WHERE a = 1 AND ok", "Seq Scan on t"));
	CHECK(plan_has(
	    &f, "SELECT id FROM t WHERE a = 1 AND b = 'S1'", "Seq Scan on t"));
	CHECK(plan_has(&f,
	    "SELECT id FROM t WHERE a = 1 AND (ok OR b = 'S1') AND b > ''",
	    "Seq Scan on t"));
	fixture_fini(&f);
}

static void
an_index_of_a_wider_range_answers_a_narrower_one(void)
{
	static const struct {
		const char *predicate, *where;
		bool by_index;
	} cases[] = {
	    {"a > 5", "a > 7", true},
	    {"a > 5", "a > 5", true},
	    {"a > 5", "a >= 5", false},
	    {"a >= 5", "a > 5", true},
	    {"a > 5", "a >= 6", true},
	    {"a > 5", "a < 7", false},
	    {"a <= 5", "a < 5", true},
	    {"a < 5", "a <= 5", false},
	    {"a > 5", "a = 6", true},
	    {"a > 5", "a = 5", false},
	    {"a <> 5", "a = 6", true},
	    {"a <> 5", "a > 6", false},
	    {"b IN ('S1', 'S2')", "b = 'S2'", true},
	    {"b IN ('S1', 'S2')", "b = 'S3'", false},
	    {"lower(b) = 's1' AND a > 1", "b = 'S1' AND a = 2", true},
	    {"a = 5", "a > 4", false},
	    {"a > 5 OR c > 3", "a = 6 AND c < 9", true},
	    {"a > 5 OR b = 'x'", "a = 4", false},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct fixture f;

		setup(&f);
		fixture_run(&f,
		    arena_printf(f.arena, "CREATE INDEX i ON t (d) WHERE %s",
			cases[i].predicate));
		CHECK(plan_has(&f,
		    arena_printf(
			f.arena, "SELECT id FROM t WHERE %s", cases[i].where),
		    cases[i].by_index ? "using i on t" : "Seq Scan on t"));
		fixture_fini(&f);
	}
}

static void
an_index_gives_order(void)
{
	struct fixture f;

	setup(&f);
	fixture_run(&f, "CREATE INDEX i ON t (a DESC, c)");
	CHECK_STR(run(&f, "SELECT id, a FROM t ORDER BY a DESC, c, id LIMIT 2"),
	    "|210|NULL\n|420|NULL\nSELECT 2\n");
	CHECK(f.mem.rows_scanned == 2 && f.mem.last_index &&
	      f.mem.last_limit == 2 && f.mem.last_ordered);
	CHECK(plan_has(&f, "SELECT id FROM t ORDER BY a, c DESC LIMIT 1",
	    "Index Scan Backward using i on t"));
	CHECK(plan_has(&f, "SELECT id FROM t WHERE a = 1 ORDER BY c DESC",
	    "Index Scan Backward using i on t"));
	CHECK(plan_has(
	    &f, "SELECT id FROM t ORDER BY a, c LIMIT 1", "Seq Scan on t"));
	CHECK(plan_has(&f, "SELECT id FROM t ORDER BY a NULLS FIRST LIMIT 1",
	    "Seq Scan on t"));
	CHECK(plan_has(&f, "SELECT id FROM t ORDER BY a", "Seq Scan on t"));
	CHECK(plan_has(&f, "SELECT id FROM t WHERE ok ORDER BY a LIMIT 1",
	    "Seq Scan on t"));
	fixture_run(&f, "CREATE INDEX j ON t (b)");
	fixture_run(&f, "CREATE INDEX k ON t (b, d)");
	CHECK(plan_has(&f, "SELECT id FROM t WHERE b = 'S1' ORDER BY d LIMIT 1",
	    "using k on t"));
	fixture_fini(&f);
}

/* ---- writing ---- */

static void
a_row_without_a_key_is_refused(void)
{
	struct fixture f;

	setup(&f);
	fixture_run(&f, "CREATE INDEX i ON t ((100 / a))");
	CHECK_STR(run(&f, "INSERT INTO t VALUES (2000, 0, 'x', 1)"),
	    "ERROR 22012 0 division by zero\n");
	CHECK(f.mem.writes == 0);
	CHECK_STR(run(&f, "UPDATE t SET a = 0 WHERE id = 3"),
	    "ERROR 22012 0 division by zero\n");
	CHECK_STR(run(&f, "INSERT INTO t VALUES (3, 1, 'x', 1) ON CONFLICT "
			  "(id) DO UPDATE SET a = 0"),
	    "ERROR 22012 0 division by zero\n");
	fixture_run(&f, "CREATE INDEX j ON t (b)");
	CHECK_STR(run(&f, "UPDATE t SET b = repeat('x', 9000) WHERE id = 3"),
	    "ERROR 54000 0 index row size 9006 exceeds maximum 8128 for index "
	    "\"j\"\nHINT Consider an index of an MD5 hash of the value.\n");
	CHECK(f.mem.writes == 0);
	fixture_fini(&f);
}

static void
no_row_is_changed_twice(void)
{
	struct fixture f;

	setup(&f);
	fixture_run(&f, "CREATE TABLE u (id int PRIMARY KEY, n int)");
	fixture_run(&f, "CREATE INDEX i ON u (n)");
	fixture_run(
	    &f, "INSERT INTO u SELECT g, g FROM generate_series(1, 5000) g");
	CHECK_STR(
	    run(&f, "UPDATE u SET n = n + 1 WHERE n > 0"), "UPDATE 5000\n");
	CHECK(f.mem.last_index);
	CHECK_STR(run(&f, "SELECT sum(n) FROM u"), "|12507500\nSELECT 1\n");
	CHECK_STR(run(&f, "DELETE FROM u WHERE n <= 4001"), "DELETE 4000\n");
	CHECK(f.mem.last_index);
	/* One row a batch. */
	f.env.batch_bytes = 1;
	CHECK_STR(run(&f, "INSERT INTO u SELECT id + 1000, n + 1000 FROM u "
			  "WHERE n > 4001"),
	    "INSERT 0 1000\n");
	CHECK_STR(run(&f, "SELECT count(*) FROM u"), "|2000\nSELECT 1\n");
	fixture_fini(&f);
}

/* ---- refusals ---- */

static void
what_cannot_be_an_index_is_said_as_postgresql_says_it(void)
{
	static const struct {
		const char *sql, *error;
	} cases[] = {
	    {"CREATE INDEX ON t (x)",
		"ERROR 42703 0 column \"x\" does not exist\n"},
	    {"CREATE INDEX ON t ((x + 1))",
		"ERROR 42703 21 column \"x\" does not exist\n"},
	    {"CREATE INDEX ON t ((a + random()))",
		"ERROR 42P17 0 functions in index expression must be marked "
		"IMMUTABLE\n"},
	    {"CREATE INDEX ON t (a) WHERE d < now()",
		"ERROR 42P17 0 functions in index predicate must be marked "
		"IMMUTABLE\n"},
	    {"CREATE INDEX ON t (a) WHERE a",
		"ERROR 42804 29 argument of WHERE must be type boolean, not "
		"type integer\n"},
	    {"CREATE INDEX ON t (sum(a))",
		"ERROR 42803 20 aggregate functions are not allowed in index "
		"expressions\n"},
	    {"CREATE INDEX ON t (('{}'::json))",
		"ERROR 42704 0 data type json has no default operator class "
		"for access method \"btree\"\nHINT You must specify an "
		"operator class for the index or define a default operator "
		"class for the data type.\n"},
	    {"CREATE INDEX ON t (((SELECT 1)))", NULL},
	    {"CREATE INDEX ON t (a text_ops)", NULL},
	    {"CREATE INDEX ON t (b COLLATE \"en_US\")", NULL},
	    {"SELECT * FROM t_a_idx",
		"ERROR 42809 15 \"t_a_idx\" is an index\n"},
	};
	struct fixture f;

	setup(&f);
	fixture_run(&f, "CREATE INDEX ON t (a)");
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *got = fixture_run(&f, cases[i].sql);

		if (cases[i].error) {
			CHECK_STR(got, cases[i].error);
		} else {
			CHECK(strncmp(got, "ERROR 0A000", 11) == 0);
		}
	}
	fixture_fini(&f);
}

/* ---- the same rows ---- */

static const char *
pick(const char *const *items, uint32_t n)
{
	return items[below(n)];
}
#define PICK(items) pick(items, sizeof(items) / sizeof *(items))

static const char *const conditions[] = {"a = %u", "a < %u", "a >= %u",
    "a > %u.5", "a IN (%u, 3, NULL)", "a IS NULL", "a IS NOT NULL", "b = 'S%u'",
    "b < 'S%u'", "b >= 'S%u'", "b IS NULL", "c = %u", "c <= %u.25", "c > %u",
    "lower(b) = 's%u'", "a + 1 > %u",
    "d >= timestamp '2024-01-01' + %u * interval '1 hour'",
    "d = timestamp '2024-01-01' + %u * interval '1 hour'", "ok", "NOT ok",
    "ok IS TRUE", "id > %u", "id = %u", "(a = %u OR b IS NULL)", "a = NULL"};
static const char *const sorts[] = {"", " ORDER BY a, id", " ORDER BY a DESC",
    " ORDER BY a DESC, c DESC, id DESC", " ORDER BY b, a, id LIMIT 5",
    " ORDER BY b DESC NULLS LAST, id LIMIT 7", " ORDER BY c DESC, id LIMIT 3",
    " ORDER BY a NULLS FIRST, b NULLS FIRST, id LIMIT 9",
    " ORDER BY id DESC LIMIT 4"};
static const char *const columns[] = {"a", "a DESC", "a NULLS FIRST",
    "a DESC NULLS LAST", "b", "b DESC", "b DESC NULLS LAST", "c", "c DESC", "d",
    "ok", "(lower(b))", "((a + 1))", "((a + 1)) DESC", "id"};
static const char *const outs[] = {
    "id, a, b, c, d, ok", "id", "b, id", "ok, d", "c", "count(*)"};
static const char *const predicates[] = {"", "", "", " WHERE ok",
    " WHERE a IS NOT NULL", " WHERE NOT ok AND b IS NOT NULL",
    " WHERE b IS NULL", " WHERE a > 10", " WHERE a <= 20 AND c > 3",
    " WHERE b <> 'S3'"};

static void
put_random_index(struct buf *b, const char *name)
{
	uint32_t n = 1 + below(3);

	buf_printf(b, "CREATE INDEX %s ON t (", name);
	for (uint32_t i = 0; i < n; i++)
		buf_printf(b, "%s%s", i ? ", " : "", PICK(columns));
	buf_printf(b, ")%s", PICK(predicates));
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static void
put_random_where(struct buf *b)
{
	uint32_t n = below(4);

	for (uint32_t i = 0; i < n; i++) {
		buf_str(b, i ? STR(" AND ") : STR(" WHERE "));
		buf_printf(b, PICK(conditions), below(60));
	}
}
#pragma GCC diagnostic pop

static int
by_text(const void *x, const void *y)
{
	return str_cmp(*(const struct str *)x, *(const struct str *)y);
}

/* The lines of a result, sorted. */
static const char *
sorted(struct arena *a, const char *text)
{
	struct str *lines = NEW_N(a, struct str, strlen(text) + 1);
	struct buf out;
	size_t n = 0;

	for (const char *p = text; *p; n++) {
		size_t len = strcspn(p, "\n");

		lines[n] = str_of(p, len);
		p += len + (p[len] == '\n');
	}
	qsort(lines, n, sizeof *lines, by_text);
	buf_init(&out, a);
	for (size_t i = 0; i < n; i++)
		buf_printf(&out, "%.*s\n", STR_FMT(lines[i]));
	return buf_cstr(&out);
}

static bool
same(struct fixture *plain, struct fixture *indexed, const char *sql,
    bool in_order)
{
	const char *want = fixture_run(plain, sql);
	const char *got = run(indexed, sql);

	if (!in_order) {
		want = sorted(plain->arena, want);
		got = sorted(plain->arena, got);
	}
	if (strcmp(want, got) == 0)
		return true;
	printf("%s\n%s\nwithout:\n%swith:\n%s", sql,
	    fixture_run(indexed, arena_printf(plain->arena, "EXPLAIN %s", sql)),
	    want, got);
	return false;
}

static void
add_indexes(struct fixture *f)
{
	for (unsigned i = 0; i < 3; i++) {
		struct buf b;
		const char *got;

		buf_init(&b, f->arena);
		put_random_index(
		    &b, arena_printf(f->arena, "i%u_%u", i, below(1u << 30)));
		got = fixture_run(f, buf_cstr(&b));
		if (strncmp(got, "CREATE INDEX", 12) != 0)
			printf("%s\n%s", buf_cstr(&b), got);
		CHECK(strncmp(got, "CREATE INDEX", 12) == 0);
	}
}

static void
any_query_finds_the_same_rows_by_index(void)
{
	uint32_t by_index = 0;

	state = cu_seed();
	for (int round = 0; round < 12; round++) {
		struct fixture plain, indexed;

		setup(&plain);
		setup(&indexed);
		add_indexes(&indexed);
		for (int i = 0; i < 60; i++) {
			const char *sort = PICK(sorts), *out = PICK(outs);
			struct buf b;

			buf_init(&b, plain.arena);
			if (strchr(out, '('))
				sort = "";
			buf_printf(&b, "SELECT %s FROM t", out);
			put_random_where(&b);
			buf_str(&b, str_c(sort));
			if (!same(&plain, &indexed, buf_cstr(&b),
				strstr(sort, "id") != NULL)) {
				CHECK(false);
				break;
			}
			by_index += indexed.mem.last_index != 0;
		}
		fixture_fini(&plain);
		fixture_fini(&indexed);
	}
	CHECK(by_index > 150);
}

/* UPDATE and DELETE change the same rows. */
static void
any_change_hits_the_same_rows_by_index(void)
{
	static const char *const changes[] = {"UPDATE t SET a = a + 1",
	    "UPDATE t SET b = 'S' || id % 30, ok = NOT ok",
	    "UPDATE t SET c = c + 0.5, a = NULL", "DELETE FROM t"};

	state = cu_seed() + 1;
	for (int round = 0; round < 8; round++) {
		struct fixture plain, indexed;

		setup(&plain);
		setup(&indexed);
		add_indexes(&indexed);
		for (int i = 0; i < 12; i++) {
			struct buf b;

			buf_init(&b, plain.arena);
			buf_str(&b, str_c(PICK(changes)));
			put_random_where(&b);
			CHECK(same(&plain, &indexed, buf_cstr(&b), true));
			CHECK(same(&plain, &indexed,
			    "SELECT * FROM t ORDER BY id", true));
		}
		fixture_fini(&plain);
		fixture_fini(&indexed);
	}
}

/* ---- open tables ---- */

static void
open_setup(struct fixture *f)
{
	static const char *const values[] = {"1", "2", "1.0", "1.5", "'1'",
	    "'x'", "true", "NULL", "2::float8", "2::float4", "1.50",
	    "date '2024-01-01'", "'2024-01-01'", "'t'"};

	fixture_init(f);
	fixture_run(f, "CREATE TABLE o (PRIMARY KEY (id))");
	for (unsigned i = 0; i < 60; i++)
		fixture_run(
		    f, arena_printf(f->arena,
			   "INSERT INTO o (id, n, v) VALUES (%u, %u, %s)", i,
			   i % 10, values[i % 14]));
}

static void
an_open_table_is_probed_for_every_form_of_a_value(void)
{
	static const char *const conds[] = {"n = 3", "n = 3.0", "n IN (1, 2)",
	    "n = 3.5", "n IS NULL", "v = '1'", "v = '1.0'", "v = '1.5'",
	    "v = '1.50'", "v = 'x'", "v = 't'", "v = 'true'", "v = '2'",
	    "v = '2024-01-01'", "v IS NULL", "n = 1 AND v = '1'", "v > '1'",
	    "v IN ('x', '1.5')", "n > 3"};
	struct fixture plain, indexed;

	open_setup(&plain);
	open_setup(&indexed);
	fixture_run(&indexed, "CREATE INDEX iv ON o (v)");
	fixture_run(&indexed, "CREATE INDEX n ON o (n DESC)");
	for (size_t i = 0; i < sizeof conds / sizeof *conds; i++) {
		const char *sql = arena_printf(plain.arena,
		    "SELECT id, n, v FROM o WHERE %s ORDER BY id", conds[i]);

		CHECK(same(&plain, &indexed, sql, true));
		CHECK((indexed.mem.last_index != 0 || indexed.mem.scans == 0) ==
		      (strchr(conds[i], '>') == NULL));
	}
	CHECK(strstr(fixture_run(&indexed, "CREATE INDEX ON o (w)"),
		  "HINT A column of an open table") != NULL);
	CHECK(strncmp(fixture_run(&indexed, "CREATE INDEX ON o ((n + 1))"),
		  "ERROR 0A000", 11) == 0);
	fixture_fini(&plain);
	fixture_fini(&indexed);
}

CU_MAIN("index",
    {"equal_columns_are_ranges_of_the_index",
	equal_columns_are_ranges_of_the_index},
    {"null_is_found_where_it_stands_and_compares_with_nothing",
	null_is_found_where_it_stands_and_compares_with_nothing},
    {"the_access_that_pins_most_wins", the_access_that_pins_most_wins},
    {"an_expression_is_recognised", an_expression_is_recognised},
    {"a_partial_index_answers_what_implies_it",
	a_partial_index_answers_what_implies_it},
    {"an_index_of_a_wider_range_answers_a_narrower_one",
	an_index_of_a_wider_range_answers_a_narrower_one},
    {"an_index_gives_order", an_index_gives_order},
    {"a_row_without_a_key_is_refused", a_row_without_a_key_is_refused},
    {"no_row_is_changed_twice", no_row_is_changed_twice},
    {"what_cannot_be_an_index_is_said_as_postgresql_says_it",
	what_cannot_be_an_index_is_said_as_postgresql_says_it},
    {"any_query_finds_the_same_rows_by_index",
	any_query_finds_the_same_rows_by_index},
    {"any_change_hits_the_same_rows_by_index",
	any_change_hits_the_same_rows_by_index},
    {"an_open_table_is_probed_for_every_form_of_a_value",
	an_open_table_is_probed_for_every_form_of_a_value})
