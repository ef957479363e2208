/* Statements and what PostgreSQL answers to them, from the .cases files beside
 * this one (see README.md), and what the source is asked for meanwhile. */
#include <stdio.h>

#include "regress/lib/cu.h"
#include "sql/t/fixture.h"

#define CASE_LINE_MAX 2048

struct reader {
	FILE *file;
	char line[CASE_LINE_MAX];
	bool more;
	int number;
};

static void
next_line(struct reader *r)
{
	size_t n;

	r->more = fgets(r->line, sizeof r->line, r->file) != NULL;
	r->number++;
	n = r->more ? strlen(r->line) : 0;
	if (n > 0 && r->line[n - 1] == '\n')
		r->line[n - 1] = 0;
}

/* One case: comment lines, statement lines up to one that ends in ";", answer
 * lines up to an empty one. */
static bool
next_case(struct reader *r, struct buf *sql, struct buf *answer)
{
	sql->len = answer->len = 0;
	while (r->more && (!r->line[0] || !strncmp(r->line, "--", 2)))
		next_line(r);
	for (bool end = false; r->more && !end; next_line(r)) {
		size_t n = strlen(r->line);

		buf_printf(sql, "%s%s", sql->len ? "\n" : "", r->line);
		end = n > 0 && r->line[n - 1] == ';';
	}
	for (; r->more && r->line[0]; next_line(r))
		buf_printf(answer, "%s\n", r->line);
	return sql->len > 0;
}

static void
run_cases(const char *name)
{
	struct arena *a = arena_new(NULL, "cases");
	struct reader r = {0};
	struct fixture f;
	struct buf sql, answer;

	r.file = fopen(arena_printf(a, "%s/%s.cases", SQL_CASES, name), "r");
	MUST(r.file != NULL);
	fixture_init(&f);
	buf_init(&sql, a);
	buf_init(&answer, a);
	next_line(&r);
	for (;;) {
		int line = r.number;
		const char *got;

		if (!next_case(&r, &sql, &answer))
			break;
		got = fixture_run(&f, buf_cstr(&sql));
		if (strcmp(got, buf_cstr(&answer)) != 0)
			printf("\n%s.cases:%d: %s\nexpected:\n%sgot:\n%s", name,
			    line, buf_cstr(&sql), buf_cstr(&answer), got);
		CHECK_STR(got, buf_cstr(&answer));
	}
	fclose(r.file);
	fixture_fini(&f);
	arena_free(a);
}

static void
select_answers_as_postgresql(void)
{
	run_cases("select");
}

static void
expressions_answer_as_postgresql(void)
{
	run_cases("expr");
}

static void
errors_are_those_of_postgresql(void)
{
	run_cases("errors");
}

static void
groups_answer_as_postgresql(void)
{
	run_cases("group");
}

static void
changes_answer_as_postgresql(void)
{
	run_cases("change");
}

static void
joins_and_subqueries_answer_as_postgresql(void)
{
	run_cases("join");
}

/* ---- races ---- */

static void
other_adds_ten(struct memsource *m, void *arg)
{
	struct fixture *f = arg;

	(void)m;
	CHECK_STR(fixture_run(f, "UPDATE c SET n = n + 10 WHERE id = 1"),
	    "UPDATE 1\n");
}

static void
other_deletes(struct memsource *m, void *arg)
{
	struct fixture *f = arg;

	(void)m;
	CHECK_STR(fixture_run(f, "DELETE FROM c WHERE id = 1"), "DELETE 1\n");
}

static void
other_inserts(struct memsource *m, void *arg)
{
	struct fixture *f = arg;

	(void)m;
	CHECK_STR(
	    fixture_run(f, "INSERT INTO c VALUES (5, 50)"), "INSERT 0 1\n");
}

static void
counter(struct fixture *f)
{
	fixture_init(f);
	fixture_run(f, "CREATE TABLE c (id int PRIMARY KEY, n int)");
	fixture_run(f, "INSERT INTO c VALUES (1, 1), (2, 2)");
	f->mem.before_arg = f;
}

static void
an_update_that_lost_a_race_is_computed_again(void)
{
	struct fixture f;

	counter(&f);
	f.mem.before_write = other_adds_ten;
	CHECK_STR(fixture_run(&f, "UPDATE c SET n = n + 1 WHERE id = 1 "
				  "RETURNING n"),
	    "|12\nUPDATE 1\n");
	fixture_fini(&f);
}

static void
an_update_whose_row_no_longer_matches_leaves_it(void)
{
	struct fixture f;

	counter(&f);
	f.mem.before_write = other_adds_ten;
	CHECK_STR(
	    fixture_run(&f, "UPDATE c SET n = 0 WHERE n < 5"), "UPDATE 1\n");
	CHECK_STR(fixture_run(&f, "SELECT * FROM c ORDER BY id"),
	    "|1|11\n|2|0\nSELECT 2\n");
	fixture_fini(&f);
}

static void
a_change_whose_row_is_gone_changes_nothing(void)
{
	struct fixture f;

	counter(&f);
	f.mem.before_write = other_deletes;
	CHECK_STR(fixture_run(&f, "UPDATE c SET n = 7"), "UPDATE 1\n");
	fixture_run(&f, "INSERT INTO c VALUES (1, 1)");
	f.mem.before_write = other_deletes;
	CHECK_STR(fixture_run(&f, "DELETE FROM c"), "DELETE 1\n");
	fixture_fini(&f);
}

static void
an_upsert_that_lost_a_race_updates(void)
{
	struct fixture f;

	counter(&f);
	f.mem.before_write = other_inserts;
	CHECK_STR(fixture_run(&f,
		      "INSERT INTO c VALUES (5, 1) ON CONFLICT (id) DO UPDATE "
		      "SET n = c.n + excluded.n RETURNING *"),
	    "|5|51\nINSERT 0 1\n");
	fixture_run(&f, "DELETE FROM c WHERE id = 5");
	f.mem.before_write = other_inserts;
	CHECK_STR(fixture_run(&f, "INSERT INTO c VALUES (5, 1) ON CONFLICT "
				  "DO NOTHING"),
	    "INSERT 0 0\n");
	fixture_fini(&f);
}

/* ---- memory and limits ---- */

static void
a_sort_beyond_the_memory_limit_is_refused(void)
{
	struct fixture f;
	const char *got;

	fixture_init(&f);
	f.env.memory_max = 1u << 20;
	got = fixture_run(&f, "SELECT x FROM generate_series(1, 100000) AS x "
			      "ORDER BY -x");
	CHECK(strncmp(got, "ERROR 53200", 11) == 0);
	CHECK(strstr(got, "HINT") != NULL);
	got = fixture_run(&f, "SELECT x FROM generate_series(1, 100000) AS x "
			      "ORDER BY -x LIMIT 2");
	CHECK_STR(got, "|100000\n|99999\nSELECT 2\n");
	got = fixture_run(&f, "SELECT count(*) FROM (SELECT x, count(*) FROM "
			      "generate_series(1, 100000) AS x GROUP BY x) q");
	CHECK(strncmp(got, "ERROR 53200", 11) == 0);
	fixture_fini(&f);
}

static void
streaming_takes_no_memory_per_row(void)
{
	struct fixture f;

	fixture_init(&f);
	arena_limit(f.arena, 8u << 20);
	CHECK_STR(fixture_run(&f,
		      "SELECT sum(length(y)), count(*) FROM (SELECT x::text || "
		      "'abc' AS y FROM generate_series(1, 300000) AS x WHERE "
		      "x % 3 = 0) q WHERE y LIKE '%9abc'"),
	    "|86293|10000\nSELECT 1\n");
	CHECK(arena_check(f.arena) == NULL);
	fixture_fini(&f);
}

static void
deep_expressions_are_refused_or_run(void)
{
	struct fixture f;
	struct buf b;
	const char *got;

	fixture_init(&f);
	buf_init(&b, f.arena);
	buf_str(&b, STR("SELECT 1"));
	for (int i = 0; i < 900; i++)
		buf_str(&b, STR("+1"));
	CHECK_STR(fixture_run(&f, buf_cstr(&b)), "|901\nSELECT 1\n");
	for (int i = 0; i < 9100; i++)
		buf_str(&b, STR("+1"));
	got = fixture_run(&f, buf_cstr(&b));
	CHECK(strncmp(got, "ERROR 54001", 11) == 0);
	fixture_fini(&f);
}

static const char *
chain(struct fixture *f, const char *before, const char *link, int n,
    const char *after)
{
	struct buf b;

	buf_init(&b, f->arena);
	buf_str(&b, str_c(before));
	for (int i = 0; i < n; i++)
		buf_str(&b, str_c(link));
	buf_str(&b, str_c(after));
	return fixture_run(f, buf_cstr(&b));
}

static void
deep(void)
{
	struct fixture f;

	fixture_init(&f);
	fixture_run(&f, "CREATE TABLE t (id int PRIMARY KEY, n int)");
	fixture_run(&f, "INSERT INTO t VALUES (1, 1)");
	CHECK(!strcmp(chain(&f, "SELECT id FROM t WHERE n", "+n", 1900, ">5"),
		  "|1\nSELECT 1\n") &&
	      !strcmp(chain(&f, "SELECT n", "+n", 1900,
			  " FROM t GROUP BY id ORDER BY 1"),
		  "|1901\nSELECT 1\n") &&
	      !strcmp(chain(&f, "UPDATE t SET n = n", "+n", 1900, ""),
		  "UPDATE 1\n") &&
	      !strcmp(
		  chain(&f, "SELECT 1", " UNION ALL SELECT 1", 30, " LIMIT 1"),
		  "|1\nSELECT 1\n"));
	fixture_fini(&f);
}

static void
deep_statements_take_a_small_stack(void)
{
	cu_on_small_stack(deep);
}

static void
a_cancel_ends_a_long_statement(void)
{
	struct fixture f;
	const char *got;

	fixture_init(&f);
	f.mem.fail_check = ERR(f.arena, ERRCODE_QUERY_CANCELED,
	    "canceling statement due to user request");
	got = fixture_run(&f, "SELECT count(*) FROM generate_series(1, "
			      "1000000000)");
	CHECK_STR(got, "ERROR 57014 0 canceling statement due to user "
		       "request\n");
	fixture_fini(&f);
}

static void
a_row_above_the_limit_names_its_largest_column(void)
{
	struct fixture f;
	const char *got;

	fixture_init(&f);
	fixture_run(&f, "CREATE TABLE t (id int PRIMARY KEY, a text, b text)");
	got = fixture_run(
	    &f, "INSERT INTO t VALUES (1, 'x', repeat('y', 60000))");
	CHECK(strncmp(got, "ERROR 54000", 11) == 0);
	CHECK(strstr(got, "\"b\"") != NULL);
	CHECK(strstr(got, "54000") != NULL);
	fixture_fini(&f);
}

/* ---- open tables ---- */

static void
open_tables_take_columns_as_they_come(void)
{
	struct fixture f;

	fixture_init(&f);
	fixture_run(&f, "CREATE TABLE o (PRIMARY KEY (id))");
	CHECK_STR(fixture_run(&f, "SELECT id FROM o WHERE id = 1 AND n > 5"),
	    "SELECT 0\n");
	CHECK_STR(fixture_run(&f, "INSERT INTO o (id, name) VALUES (1, 'x')"),
	    "INSERT 0 1\n");
	CHECK_STR(fixture_run(&f, "INSERT INTO o (id, age) VALUES (2, 30)"),
	    "INSERT 0 1\n");
	CHECK_STR(fixture_columns(&f, "SELECT * FROM o"),
	    "id:int8,name:text,age:int8");
	CHECK_STR(fixture_run(&f, "SELECT id, name, age, other FROM o "
				  "ORDER BY id"),
	    "|1|x|NULL|NULL\n|2|NULL|30|NULL\nSELECT 2\n");
	CHECK_STR(fixture_run(&f, "UPDATE o SET city = 'Rome' WHERE id = 2 "
				  "RETURNING id, city"),
	    "|2|Rome\nUPDATE 1\n");
	CHECK_STR(fixture_run(&f, "INSERT INTO o (id, age) VALUES (3, 'old')"),
	    "INSERT 0 1\n");
	CHECK_STR(fixture_columns(&f, "SELECT age FROM o"), "age:text");
	CHECK_STR(fixture_run(&f, "SELECT age FROM o ORDER BY age"),
	    "|30\n|old\n|NULL\nSELECT 3\n");
	fixture_fini(&f);
}

static void
equality_on_open_keys_means_what_it_means_in_sql(void)
{
	struct fixture f;

	fixture_init(&f);
	fixture_run(&f, "CREATE TABLE o (PRIMARY KEY (id))");
	CHECK_STR(fixture_run(&f,
		      "INSERT INTO o (id, v) VALUES (1, 'int'), (2, 'two')"),
	    "INSERT 0 2\n");
	CHECK_STR(fixture_run(&f, "SELECT v FROM o WHERE id = 1.0"),
	    "|int\nSELECT 1\n");
	CHECK_STR(
	    fixture_run(&f, "INSERT INTO o (id, v) VALUES (1.0, 'numeric')"),
	    "INSERT 0 1\n");
	memsource_count_reset(&f.mem);
	CHECK_STR(fixture_run(&f, "SELECT v FROM o WHERE id = 1 ORDER BY v"),
	    "|int\n|numeric\nSELECT 2\n");
	CHECK(f.mem.scans == 0);
	fixture_fini(&f);
}

/* ---- COPY ---- */

static void
the_inserter_fills_in_defaults_and_checks(void)
{
	struct fixture f;
	struct sql_inserter *in;
	const struct cl_table *t;
	uint32_t ids[1] = {1};
	struct val v = val_int(EX_INT4, 7);
	struct err *e;
	uint64_t rows;

	fixture_init(&f);
	fixture_run(&f, "CREATE TABLE t (id int PRIMARY KEY, d text NOT NULL "
			"DEFAULT 'dflt')");
	t = cl_catalog_table(f.catalog, fixture_table(&f, "t"));
	MUST(!sql_insert_begin(f.arena, &f.env, t, ids, 1, &f.mem.source, &in));
	CHECK(!sql_insert_row(in, &v));
	v = val_null(EX_INT4);
	e = sql_insert_row(in, &v);
	CHECK(e && err_is(e, ERRCODE_NOT_NULL_VIOLATION));
	CHECK(!sql_insert_end(in, &rows));
	CHECK(rows == 1);
	CHECK_STR(fixture_run(&f, "SELECT * FROM t"), "|7|dflt\nSELECT 1\n");
	fixture_fini(&f);
}

/* ---- virtual tables ---- */

static const struct sql_virtual_column planet_columns[] = {
    {"name", EX_TEXT}, {"moons", EX_INT8}};

static struct err *
fill_planets(
    struct sql_source *s, struct arena *a, struct sql_virtual_rows *out)
{
	static const struct {
		const char *name;
		int64_t moons;
	} planets[] = {
	    {"mars", 2}, {"earth", 1}, {"venus", 0}, {"planet x", -1}};

	(void)s;
	for (size_t i = 0; i < sizeof planets / sizeof *planets; i++) {
		struct val *v = sql_virtual_add(out);

		v[0] = val_str(EX_TEXT, arena_str(a, str_c(planets[i].name)));
		if (planets[i].moons >= 0)
			v[1] = val_int(EX_INT8, planets[i].moons);
	}
	return NULL;
}

static void
virtual_tables_are_read_like_others(void)
{
	static const struct sql_virtual planets = {
	    "sky", "planets", planet_columns, 2, fill_planets};
	static const struct sql_virtual *const all[] = {&planets};
	static const struct {
		const char *sql, *want;
	} claims[] = {
	    {"SELECT * FROM sky.planets ORDER BY moons LIMIT 2",
		"|venus|0\n|earth|1\nSELECT 2\n"},
	    {"SELECT count(*), sum(moons) FROM sky.planets WHERE moons > 0",
		"|2|3\nSELECT 1\n"},
	    {"SELECT p.name FROM sky.planets p WHERE p.moons IS NULL",
		"|planet x\nSELECT 1\n"},
	    {"SELECT sky.planets.name, t.id FROM t JOIN sky.planets "
	     "ON moons = id",
		"|earth|1\nSELECT 1\n"},
	    {"SELECT id FROM t WHERE id IN (SELECT moons FROM sky.planets)",
		"|1\nSELECT 1\n"},
	    {"SELECT * FROM planets",
		"ERROR 42P01 15 relation \"planets\" does not exist\n"},
	    {"SELECT mass FROM sky.planets",
		"ERROR 42703 8 column \"mass\" does not exist\n"},
	    {"INSERT INTO sky.planets (name) VALUES ('pluto')",
		"ERROR 42809 13 \"sky.planets\" is a system view and can only "
		"be read by queries\n"},
	    {"UPDATE sky.planets SET moons = 1",
		"ERROR 42809 8 \"sky.planets\" is a system view and can only "
		"be read by queries\n"},
	    {"DELETE FROM sky.planets",
		"ERROR 42809 13 \"sky.planets\" is a system view and can only "
		"be read by queries\n"},
	    {"INSERT INTO t SELECT moons + 5 FROM sky.planets WHERE moons = 2",
		"INSERT 0 1\n"},
	};
	struct fixture f;

	fixture_init(&f);
	f.env.virtuals = all;
	f.env.n_virtuals = 1;
	fixture_run(&f, "CREATE TABLE t (id bigint PRIMARY KEY); "
			"INSERT INTO t VALUES (1), (7777)");
	for (size_t i = 0; i < sizeof claims / sizeof *claims; i++)
		CHECK_STR(fixture_run(&f, claims[i].sql), claims[i].want);
	CHECK(strstr(fixture_run(&f, "EXPLAIN SELECT name FROM sky.planets x "
				     "WHERE moons > 1"),
		  "Virtual Scan on planets x") != NULL);
	fixture_fini(&f);
}

CU_MAIN("exec", {"select_answers_as_postgresql", select_answers_as_postgresql},
    {"expressions_answer_as_postgresql", expressions_answer_as_postgresql},
    {"errors_are_those_of_postgresql", errors_are_those_of_postgresql},
    {"groups_answer_as_postgresql", groups_answer_as_postgresql},
    {"changes_answer_as_postgresql", changes_answer_as_postgresql},
    {"joins_and_subqueries_answer_as_postgresql",
	joins_and_subqueries_answer_as_postgresql},
    {"an_update_that_lost_a_race_is_computed_again",
	an_update_that_lost_a_race_is_computed_again},
    {"an_update_whose_row_no_longer_matches_leaves_it",
	an_update_whose_row_no_longer_matches_leaves_it},
    {"a_change_whose_row_is_gone_changes_nothing",
	a_change_whose_row_is_gone_changes_nothing},
    {"an_upsert_that_lost_a_race_updates", an_upsert_that_lost_a_race_updates},
    {"a_sort_beyond_the_memory_limit_is_refused",
	a_sort_beyond_the_memory_limit_is_refused},
    {"streaming_takes_no_memory_per_row", streaming_takes_no_memory_per_row},
    {"deep_expressions_are_refused_or_run",
	deep_expressions_are_refused_or_run},
    {"deep_statements_take_a_small_stack", deep_statements_take_a_small_stack},
    {"a_cancel_ends_a_long_statement", a_cancel_ends_a_long_statement},
    {"a_row_above_the_limit_names_its_largest_column",
	a_row_above_the_limit_names_its_largest_column},
    {"open_tables_take_columns_as_they_come",
	open_tables_take_columns_as_they_come},
    {"equality_on_open_keys_means_what_it_means_in_sql",
	equality_on_open_keys_means_what_it_means_in_sql},
    {"the_inserter_fills_in_defaults_and_checks",
	the_inserter_fills_in_defaults_and_checks},
    {"virtual_tables_are_read_like_others",
	virtual_tables_are_read_like_others})
