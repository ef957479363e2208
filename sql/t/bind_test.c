/* Types of parameters and of results. */
#include <stdio.h>

#include "regress/lib/cu.h"
#include "sql/t/fixture.h"

struct claim {
	const char *sql;
	const char *want;
};

static void
setup(struct fixture *f)
{
	fixture_init(f);
	fixture_run(f, "CREATE TABLE t (id int PRIMARY KEY, b bigint, s text, "
		       "v varchar(10), d date, n numeric(8,2), f boolean, j "
		       "jsonb)");
}

static void
check(const struct claim *c,
    const char *(*what)(struct fixture *f, const char *sql))
{
	struct fixture f;

	setup(&f);
	for (; c->sql; c++) {
		const char *got = what(&f, c->sql);

		CHECK_STR(got, c->want);
		if (strcmp(got, c->want) != 0)
			printf("\n%s\n  want %s\n  got  %s\n", c->sql, c->want,
			    got);
	}
	fixture_fini(&f);
}

static void
parameters_take_their_types_from_context(void)
{
	static const struct claim claims[] = {
	    {"SELECT $1", "text"},
	    {"SELECT $1::int", "int4"},
	    {"SELECT $1 + 1", "int4"},
	    {"SELECT $1 || 'x'", "text"},
	    {"SELECT * FROM t WHERE id = $1", "int4"},
	    {"SELECT * FROM t WHERE $1 = b", "int8"},
	    {"SELECT * FROM t WHERE s = $1 AND d > $2", "text,date"},
	    {"SELECT * FROM t WHERE v = $1", "text"},
	    {"SELECT * FROM t WHERE id IN ($1, $2)", "int4,int4"},
	    {"SELECT * FROM t WHERE id BETWEEN $1 AND $2", "int4,int4"},
	    {"SELECT * FROM t WHERE s LIKE $1", "text"},
	    {"SELECT * FROM t WHERE f = $1 OR $2", "bool,bool"},
	    {"SELECT * FROM t LIMIT $1 OFFSET $2", "int8,int8"},
	    {"SELECT upper($1), abs($2::numeric)", "text,numeric"},
	    {"SELECT CASE WHEN $1 THEN $2 ELSE 1 END", "bool,int4"},
	    {"SELECT COALESCE($1, n) FROM t", "numeric"},
	    {"INSERT INTO t (id, s, d, j) VALUES ($1, $2, $3, $4)",
		"int4,text,date,jsonb"},
	    {"INSERT INTO t (v, n) SELECT $1, $2", "varchar,numeric"},
	    {"UPDATE t SET b = $1, f = $2 WHERE id = $3", "int8,bool,int4"},
	    {"UPDATE t SET b = b + $1", "int8"},
	    {"DELETE FROM t WHERE id = $1 RETURNING $2", "int4,text"},
	    {"SELECT $2, $1::int", "int4,text"},
	    {"SELECT 1 UNION ALL SELECT $1", "int4"},
	    {"SELECT $1 = $2", "text,text"},
	    {NULL, NULL},
	};

	check(claims, fixture_params);
}

static void
parameters_without_one_type_are_refused(void)
{
	static const struct claim claims[] = {
	    {"SELECT $1 IS NULL",
		"ERROR 42P18 0 could not determine data type of parameter "
		"$1\n"},
	    {"SELECT $2::int",
		"ERROR 42P18 0 could not determine data type of parameter "
		"$1\n"},
	    {"INSERT INTO t (id, s) VALUES ($1, $1)",
		"ERROR 42P08 35 inconsistent types deduced for parameter $1\n"
		"DETAIL integer versus text\n"},
	    {"SELECT $1::int, $1::date",
		"ERROR 42846 19 cannot cast type integer to date\n"},
	    {NULL, NULL},
	};

	check(claims, fixture_params);
}

static void
columns_are_named_and_typed_as_postgresql_does(void)
{
	static const struct claim claims[] = {
	    {"SELECT 1, 'a', NULL, 1.5, 5000000000",
		"?column?:int4,?column?:text,?column?:text,?column?:numeric,"
		"?column?:int8"},
	    {"SELECT id, v AS w, t.n, s || 'x' FROM t",
		"id:int4,w:varchar,n:numeric,?column?:text"},
	    {"SELECT upper(s), count(*), sum(id), avg(b), max(d) FROM t GROUP "
	     "BY s",
		"upper:text,count:int8,sum:int8,avg:numeric,max:date"},
	    {"SELECT id::bigint, CASE WHEN f THEN 1 END, COALESCE(s, 'x') "
	     "FROM t",
		"id:int8,case:int4,coalesce:text"},
	    {"SELECT sum(b), sum(n), sum(1.0::float8) FROM t",
		"sum:numeric,sum:numeric,sum:float8"},
	    {"SELECT * FROM (SELECT id, b AS c FROM t) q", "id:int4,c:int8"},
	    {"VALUES (1, 'x')", "column1:int4,column2:text"},
	    {"INSERT INTO t (id) VALUES (1) RETURNING id, d", "id:int4,d:date"},
	    {"DELETE FROM t", ""},
	    {"EXPLAIN SELECT 1", "QUERY PLAN:text"},
	    {NULL, NULL},
	};

	check(claims, fixture_columns);
}

static void
new_columns_of_open_tables_are_told(void)
{
	struct fixture f;
	struct sql_stmt *s;
	struct sql_prepared *p;
	size_t n;

	setup(&f);
	fixture_run(&f, "CREATE TABLE o (PRIMARY KEY (id))");
	MUST(!sql_parse(f.arena,
	    STR("INSERT INTO o (id, a, b, c) VALUES (1, 'x', NULL, 2), (2, 'y',"
		" NULL, true)"),
	    &s, &n));
	MUST(!sql_prepare(f.arena, &f.env, s, NULL, 0, &p));
	MUST(p->n_new == 4);
	CHECK_STR(p->new_columns[0].name, "id");
	CHECK(p->new_columns[0].type == EX_INT8);
	CHECK_STR(p->new_columns[1].name, "a");
	CHECK(p->new_columns[1].type == EX_TEXT);
	CHECK_STR(p->new_columns[2].name, "c");
	CHECK(p->new_columns[2].type == EX_INT8);
	CHECK_STR(p->new_columns[3].name, "c");
	CHECK(p->new_columns[3].type == EX_BOOL);
	fixture_fini(&f);
}

static void
a_prepared_statement_tells_what_it_does(void)
{
	struct fixture f;
	struct sql_stmt *s;
	struct sql_prepared *p;
	size_t n;

	setup(&f);
	MUST(!sql_parse(f.arena,
	    STR("SELECT b FROM t; UPDATE t SET b = 1; EXPLAIN DELETE FROM t; "
		"BEGIN"),
	    &s, &n));
	MUST(n == 4);
	MUST(!sql_prepare(f.arena, &f.env, &s[0], NULL, 0, &p));
	CHECK(!p->utility && !p->writes && p->returns_rows);
	CHECK(p->columns[0].attnum == 2 &&
	      p->columns[0].table == fixture_table(&f, "t"));
	MUST(!sql_prepare(f.arena, &f.env, &s[1], NULL, 0, &p));
	CHECK(p->writes && !p->returns_rows);
	MUST(!sql_prepare(f.arena, &f.env, &s[2], NULL, 0, &p));
	CHECK(!p->writes && p->returns_rows);
	MUST(!sql_prepare(f.arena, &f.env, &s[3], NULL, 0, &p));
	CHECK(p->utility);
	fixture_fini(&f);
}

static void
a_default_is_evaluated_alone(void)
{
	struct fixture f;
	struct sql_stmt *s;
	struct val v;
	struct err *e;
	size_t n;

	setup(&f);
	MUST(!sql_parse(f.arena, STR("SELECT 1 + 2, x"), &s, &n));
	MUST(!sql_eval_alone(f.arena, &f.env,
	    s->u.select->targets.items[0].expr, EX_INT8, -1, &v));
	CHECK(v.type == EX_INT8 && v.u.i == 3);
	e = sql_eval_alone(f.arena, &f.env, s->u.select->targets.items[1].expr,
	    EX_INT8, -1, &v);
	CHECK(e && err_is(e, ERRCODE_FEATURE_NOT_SUPPORTED));
	fixture_fini(&f);
}

CU_MAIN("bind",
    {"parameters_take_their_types_from_context",
	parameters_take_their_types_from_context},
    {"parameters_without_one_type_are_refused",
	parameters_without_one_type_are_refused},
    {"columns_are_named_and_typed_as_postgresql_does",
	columns_are_named_and_typed_as_postgresql_does},
    {"new_columns_of_open_tables_are_told",
	new_columns_of_open_tables_are_told},
    {"a_prepared_statement_tells_what_it_does",
	a_prepared_statement_tells_what_it_does},
    {"a_default_is_evaluated_alone", a_default_is_evaluated_alone})
