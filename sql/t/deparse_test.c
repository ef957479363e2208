#include "sql/t/parse_case.h"

/* What the text of the i-th target of `sql` is, and that it parses to the same
 * tree again. */
static void
check_round(const char *sql, const char *want)
{
	const struct sql_expr *e = target(sql);
	char *text = sql_deparse(arena, e);
	char *again_sql = arena_printf(arena, "select %s", text);
	struct sql_stmt *s;
	struct err *err;
	size_t n;

	if (strcmp(text, want) != 0)
		fprintf(stderr, "%s:\n  %s\n", sql, text);
	CHECK_STR(text, want);
	err = sql_parse(arena, str_c(again_sql), &s, &n);
	if (err)
		fprintf(stderr, "%s: %s\n", text, err->message);
	MUST(!err && n == 1 && s->kind == SQL_STMT_SELECT);
	if (!sql_expr_equal(e, s->u.select->targets.items[0].expr))
		fprintf(stderr, "%s: another tree\n", text);
	CHECK(sql_expr_equal(e, s->u.select->targets.items[0].expr));
}

static const char *const rounds[][2] = {
    {"1+2*3", "(1 + (2 * 3))"},
    {"(1+2)*3", "((1 + 2) * 3)"},
    {"-5", "-5"},
    {"-a", "(- a)"},
    {"- -5 - -5", "(5 - -5)"},
    {"- (5::int)", "(- 5::integer)"},
    {"(-5)::text", "(-5)::text"},
    {"-9223372036854775808", "-9223372036854775808"},
    {"1.50", "1.50"},
    {"(-1.5) collate x", "((-1.5) COLLATE x)"},
    {"99999999999999999999", "99999999999999999999"},
    {"'it''s \\n'", "'it''s \\n'"},
    {"e'a\\nb'", "'a\nb'"},
    {"b'101'", "b'101'"},
    {"x'1F'", "x'1F'"},
    {"null", "NULL"},
    {"true", "true"},
    {"$3", "$3"},
    {"a", "a"},
    {"\"A\".\"select\".b1", "\"A\".\"select\".b1"},
    {"\"a\"\"b\"", "\"a\"\"b\""},
    {"é", "\"é\""},
    {"t.*", "t.*"},
    {"a and b and not c or d", "((a AND b AND (NOT c)) OR d)"},
    {"a and (b and c)", "(a AND (b AND c))"},
    {"a is null", "(a IS NULL)"},
    {"(a and b) is not true", "((a AND b) IS NOT TRUE)"},
    {"a is not distinct from b", "(a IS NOT DISTINCT FROM b)"},
    {"a between 1 and 2 + 3", "(a BETWEEN 1 AND (2 + 3))"},
    {"a not between symmetric b and c", "(a NOT BETWEEN SYMMETRIC b AND c)"},
    {"a in (1, 2)", "(a IN (1, 2))"},
    {"a not in (1)", "(a NOT IN (1))"},
    {"(a, b) in ((1, 2))", "(ROW(a, b) IN (ROW(1, 2)))"},
    {"row()", "ROW()"},
    {"row(1)", "ROW(1)"},
    {"a like 'x%'", "(a ~~ 'x%')"},
    {"a not ilike 'x' escape '!'", "(a !~~* pg_catalog.like_escape('x', '!'))"},
    {"a similar to 'x'", "(a ~ pg_catalog.similar_to_escape('x'))"},
    {"1 operator(s.+) 2", "(1 OPERATOR(s.+) 2)"},
    {"@ a", "(@ a)"},
    {"a = any (b)", "(a = ANY (b))"},
    {"a <> all ('{1}'::int[])", "(a <> ALL ('{1}'::integer[]))"},
    {"case when a then b end", "CASE WHEN a THEN b END"},
    {"case a when 1 then 2 else 3 end::text",
	"CASE a WHEN 1 THEN 2 ELSE 3 END::text"},
    {"coalesce(a, greatest(1, 2), least(3), nullif(1, 2))",
	"COALESCE(a, GREATEST(1, 2), LEAST(3), NULLIF(1, 2))"},
    {"array[1, 2]", "ARRAY[1, 2]"},
    {"array[[1], [2]]", "ARRAY[ARRAY[1], ARRAY[2]]"},
    {"(a).b", "(a).b"},
    {"(a.b).*", "(a.b).*"},
    {"a[1]", "(a)[1]"},
    {"a[1:2][:3]", "((a)[1:2])[:3]"},
    {"f(1, 'x')", "f(1, 'x')"},
    {"s.\"F\"()", "s.\"F\"()"},
    {"count(*)", "count(*)"},
    {"count(distinct a) filter (where b > 1)",
	"count(DISTINCT a) FILTER (WHERE (b > 1))"},
    {"f(a order by b desc, c nulls first)",
	"f(a ORDER BY b DESC, c NULLS FIRST)"},
    {"f(a, variadic b)", "f(a, VARIADIC b)"},
    {"substring('abc', 1)", "\"substring\"('abc', 1)"},
    {"substring('abc' from 1)", "pg_catalog.\"substring\"('abc', 1)"},
    {"trim(both 'x' from a)", "pg_catalog.btrim(a, 'x')"},
    {"extract(year from a)", "pg_catalog.\"extract\"('year', a)"},
    {"a at time zone 'utc'", "pg_catalog.timezone('utc', a)"},
    {"left(a, 1)", "\"left\"(a, 1)"},
    {"cast(a as numeric(10, 2))", "a::numeric(10, 2)"},
    {"a::varchar", "a::character varying"},
    {"a::char", "a::character(1)"},
    {"a::\"char\"", "a::\"char\""},
    {"a::bpchar", "a::bpchar"},
    {"a::char(3)[]", "a::character(3)[]"},
    {"a::timestamp(3)", "a::timestamp(3) without time zone"},
    {"a::timestamptz", "a::timestamptz"},
    {"a::time with time zone", "a::time with time zone"},
    {"a::bit varying(3)", "a::bit varying(3)"},
    {"a::bit", "a::bit(1)"},
    {"bit 'x'", "'x'::pg_catalog.\"bit\""},
    {"a::float(3)", "a::real"},
    {"a::s.t", "a::s.t"},
    {"interval '1' hour to second(3)", "'1'::interval hour to second(3)"},
    {"interval(3) '1'", "'1'::interval(3)"},
    {"a::interval", "a::interval"},
    {"a::interval year to month", "a::interval year to month"},
    {"a collate \"C\"", "(a COLLATE \"C\")"},
    {"a collate \"C\" || b::text", "((a COLLATE \"C\") || b::text)"},
    {"current_timestamp(3)", "CURRENT_TIMESTAMP(3)"},
    {"current_date", "CURRENT_DATE"},
    {"user", "USER"},
};

static void
text_parses_to_the_same_tree(void)
{
	for (size_t i = 0; i < sizeof rounds / sizeof rounds[0]; i++) {
		char sql[200];

		snprintf(sql, sizeof sql, "select %s", rounds[i][0]);
		check_round(sql, rounds[i][1]);
	}
}

static void
equality_sees_every_difference(void)
{
	static const char *const cases[] = {"a", "b", "a.b", "t.*", "1", "1.0",
	    "'1'", "b'1'", "true", "false", "null", "$1", "$2", "a + 1",
	    "a - 1", "1 + a", "- a", "a operator(s.+) 1", "a and b", "a or b",
	    "a and b and c", "not a", "a is null", "a is not null", "a is true",
	    "a is distinct from 1", "a is not distinct from 1",
	    "a between 1 and 2", "a not between 1 and 2",
	    "a between symmetric 1 and 2", "a in (1)", "a in (1, 2)",
	    "a not in (1)", "case when a then b end",
	    "case when a then b else b end", "case a when a then b end",
	    "coalesce(a, b)", "greatest(a, b)", "least(a, b)", "nullif(a, b)",
	    "row(a, b)", "array[a, b]", "f(a, b)", "f(a)", "g(a)", "s.f(a)",
	    "f(distinct a)", "f(variadic a)", "f(a order by b)",
	    "f(a order by b desc)", "f(a order by b nulls first)",
	    "f(a order by c)", "f(a) filter (where b)", "f(a) filter (where c)",
	    "f(*)", "f()", "a::int", "a::bigint", "a::int[]", "a::numeric(1)",
	    "a::numeric(2)", "a::numeric(1, 1)", "a collate x", "a collate y",
	    "(a).b", "(a).c", "(a).*", "a[1]", "a[1:1]", "a = any (b)",
	    "a = all (b)", "a < any (b)", "current_date", "current_time",
	    "current_time(1)", "current_time(2)"};
	enum { N = sizeof cases / sizeof cases[0] };
	const struct sql_expr *es[N];

	fresh();
	for (size_t i = 0; i < N; i++) {
		struct sql_stmt *s;
		size_t n;
		char *sql = arena_printf(arena, "select %s", cases[i]);

		MUST(!sql_parse(arena, str_c(sql), &s, &n));
		es[i] = s->u.select->targets.items[0].expr;
	}
	for (size_t i = 0; i < N; i++)
		for (size_t j = 0; j < N; j++)
			if (sql_expr_equal(es[i], es[j]) != (i == j)) {
				fprintf(stderr, "%s, %s\n", cases[i], cases[j]);
				CHECK(false);
			}
	CHECK(sql_expr_equal(NULL, NULL) && !sql_expr_equal(es[0], NULL));
}

static void
columns_are_named_as_postgres_names_them(void)
{
	static const char *const cases[][2] = {
	    {"1", "?column?"},
	    {"true", "?column?"},
	    {"1 + 1", "?column?"},
	    {"a", "a"},
	    {"t.a", "a"},
	    {"(t).a", "a"},
	    {"a[1]", "a"},
	    {"a::text", "a"},
	    {"1::int", "int4"},
	    {"'1'::int[]", "int4"},
	    {"1::int::text", "text"},
	    {"(1 + 1)::bigint", "int8"},
	    {"upper('x')::text", "upper"},
	    {"pg_catalog.lower('x')", "lower"},
	    {"count(*)", "count"},
	    {"coalesce(a)", "coalesce"},
	    {"nullif(a, b)", "nullif"},
	    {"greatest(a)", "greatest"},
	    {"least(a)", "least"},
	    {"case when a then b end", "case"},
	    {"case when a then b else c end", "c"},
	    {"case when a then b else 1 end::text", "text"},
	    {"case when a then b else 1::text end", "case"},
	    {"row(1)", "row"},
	    {"array[1]", "array"},
	    {"array(select 1)", "array"},
	    {"exists (select 1)", "exists"},
	    {"(select 1)", "?column?"},
	    {"(select a from t)", "a"},
	    {"(select 1 as b)::text", "b"},
	    {"(select 1)::text", "?column?"},
	    {"(values (1))", "column1"},
	    {"(select 1 as q union select 2)", "q"},
	    {"current_date", "current_date"},
	    {"current_user", "current_user"},
	    {"a at time zone 'utc'", "timezone"},
	    {"extract(year from a)", "extract"},
	    {"trim(a)", "btrim"},
	    {"a collate \"C\"", "a"},
	    {"interval '1'", "interval"},
	    {"not a", "?column?"},
	    {"a like 'x'", "?column?"},
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		char sql[100];

		snprintf(sql, sizeof sql, "select %s", cases[i][0]);
		CHECK_STR(sql_figure_colname(target(sql)), cases[i][1]);
	}
}

static void
deep(void)
{
	struct arena *a = arena_new(NULL, "deep");
	struct sql_stmt *s;
	struct buf b;
	size_t n;
	bool same = false;

	buf_init(&b, a);
	buf_str(&b, STR("select a"));
	for (int i = 0; i < 1900; i++)
		buf_str(&b, STR("+f(1)"));
	if (!sql_parse(a, str_c(buf_cstr(&b)), &s, &n)) {
		const struct sql_expr *e = s->u.select->targets.items[0].expr;
		struct sql_stmt *again;
		char *text = sql_deparse(a, e);

		text = arena_printf(a, "select %s", text);
		same =
		    !sql_parse(a, str_c(text), &again, &n) &&
		    sql_expr_equal(e, again->u.select->targets.items[0].expr) &&
		    sql_expr_position(e) == 8;
	}
	CHECK(same);
	arena_free(a);
}

static void
deep_trees_take_a_small_stack(void)
{
	cu_on_small_stack(deep);
}

static void
queries_are_shown_as_that(void)
{
	CHECK_STR(sql_deparse(arena, target("select exists (select 1)")),
	    "EXISTS (SELECT ...)");
	CHECK_STR(sql_deparse(arena, target("select a in (select 1)")),
	    "(a IN (SELECT ...))");
	CHECK_STR(sql_deparse(arena, target("select a < any (select 1)")),
	    "(a < ANY (SELECT ...))");
	CHECK_STR(
	    sql_deparse(arena, target("select (select 1)")), "(SELECT ...)");
}

CU_MAIN("deparse",
    {"text_parses_to_the_same_tree", text_parses_to_the_same_tree},
    {"equality_sees_every_difference", equality_sees_every_difference},
    {"columns_are_named_as_postgres_names_them",
	columns_are_named_as_postgres_names_them},
    {"deep_trees_take_a_small_stack", deep_trees_take_a_small_stack},
    {"queries_are_shown_as_that", queries_are_shown_as_that})
