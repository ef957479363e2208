#include "sql/t/parse_case.h"

/* ---- errors ---- */

static void
errors_are_postgres_own(void)
{
	static const struct {
		const char *sql;
		const char *sqlstate;
		int position;
		const char *message;
		const char *hint;
	} cases[] = {
#define E(...) {__VA_ARGS__},
#include "sql/t/syntax_errors.def"
#undef E
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct err *e;

		check_refused(cases[i].sql, cases[i].sqlstate,
		    cases[i].position, cases[i].message);
		e = refused(str_c(cases[i].sql));
		CHECK(!e->hint == !cases[i].hint);
		if (e->hint && cases[i].hint)
			CHECK_STR(e->hint, cases[i].hint);
	}
}

static void
text_that_is_no_utf8_is_22021(void)
{
	struct err *e = refused(STR("select '\xff'"));

	CHECK(err_is(e, "22021"));
	CHECK_STR(
	    e->message, "invalid byte sequence for encoding \"UTF8\": 0xff");
	e = refused(STR("select '\xe6\x97'"));
	CHECK(err_is(e, "22021"));
	CHECK(err_is(refused(STR("\x80")), "22021"));
}

static void
a_nul_byte_is_22021(void)
{
	struct err *e = refused(STR("select 1\0; drop table t"));

	CHECK(err_is(e, "22021"));
	CHECK_STR(
	    e->message, "invalid byte sequence for encoding \"UTF8\": 0x00");
}

static void
parameters_out_of_range_do_not_exist(void)
{
	check_refused("select $0", "42P02", 8, "there is no parameter $0");
	check_refused(
	    "select 1, $65536", "42P02", 11, "there is no parameter $65536");
	CHECK(parsed("select $65535", 1)->n_params == 65535);
	CHECK(parsed("select $3 + $1", 1)->n_params == 3);
	CHECK(parsed("select 1", 1)->n_params == 0);
}

/* ---- size and depth ---- */

static struct arena *texts; /* of the last long text */

static struct buf
long_text(void)
{
	struct buf b;

	arena_free(texts);
	texts = arena_new(NULL, "text");
	buf_init(&b, texts);
	return b;
}

static char *
repeated(const char *before, const char *part, size_t n, const char *after)
{
	struct buf b = long_text();

	buf_str(&b, str_c(before));
	for (size_t i = 0; i < n; i++)
		buf_str(&b, str_c(part));
	buf_str(&b, str_c(after));
	return buf_cstr(&b);
}

static void
too_deep(const char *before, const char *part, size_t n, const char *after)
{
	char *sql = repeated(before, part, n, after);
	struct err *e = refused(str_c(sql));

	CHECK_STR(e->sqlstate, "54001");
	CHECK_STR(e->message, "stack depth limit exceeded");
}

static void
expressions_10000_deep_are_54001(void)
{
	too_deep("select 1", "+1", 10000, "");
	too_deep("select ", "(", 10000, "1");
	too_deep("select ", "not ", 10000, "true");
	too_deep("select ", "f(", 10000, "1");
	too_deep("select 1", "::int", 10000, "");
	too_deep("select (a)", "[1]", 10000, "");
	too_deep("select ", "case when 1 then ", 10000, "");
	too_deep("select 1", " union select 1", 10000, "");
	too_deep("select * from t", " cross join t", 10000, "");
}

static void
expressions_1900_deep_are_fine(void)
{
	char *sql = repeated("select 1", "+1", 1900, "");

	parsed(sql, 1);
	/* AND is as wide as you like: it is one node. */
	sql = repeated("select 1 where a", " and a", 50000, "");
	CHECK(parsed(sql, 1)->u.select->where->n_args == 50001);
}

static void
a_megabyte_and_10000_parameters_parse(void)
{
	char *sql =
	    repeated("insert into t values (1)", ",(1,'abc')", 100000, "");
	struct buf b;

	CHECK(one(sql, SQL_STMT_INSERT)->u.insert->source->n_values == 100001);
	b = long_text();
	buf_str(&b, STR("select $1"));
	for (int i = 2; i <= 10000; i++)
		buf_printf(&b, ", $%d", i);
	CHECK(parsed(buf_cstr(&b), 1)->n_params == 10000);
}

static void
text_above_the_limit_is_54000(void)
{
	char *text = repeated("", " ", SQL_TEXT_MAX + 1, "");

	CHECK(err_is(refused(str_c(text)), "54000"));
}

static void
an_arena_at_its_limit_is_53200(void)
{
	char *sql = repeated("select 1", ",1", 200000, "");
	struct arena *a = arena_new(NULL, "small");
	struct sql_stmt *s;
	struct err *e;
	size_t n;

	arena_limit(a, 4 << 20);
	e = sql_parse(a, str_c(sql), &s, &n);
	CHECK(e && err_is(e, "53200"));
	arena_free(a);
}

/* ---- positions and texts ---- */

static void
positions_count_characters(void)
{
	const struct sql_expr *e = target("select 'é日', b + c");
	const struct sql_select *q;

	CHECK(e->position == 8);
	q = one("select 'é日', b + c", SQL_STMT_SELECT)->u.select;
	CHECK(q->targets.items[1].expr->position == 16);
	CHECK(sql_expr_position(q->targets.items[1].expr) == 14);
	CHECK(q->targets.items[1].expr->args[1]->position == 18);
}

static void
statements_know_their_text(void)
{
	struct sql_stmt *s =
	    parsed(" /* é */ select 1 ;; -- x\n select 'é' ; begin", 3);

	CHECK(str_eq(s[0].text, STR("select 1")));
	CHECK(s[0].position == 10);
	CHECK(str_eq(s[1].text, STR("select 'é'")));
	CHECK(s[1].position == 28);
	CHECK(str_eq(s[2].text, STR("begin")));
	CHECK(s[2].position == 41);
}

static void
nothing_is_no_statement(void)
{
	parsed("", 0);
	parsed(" ;; ", 0);
	parsed("-- x", 0);
	parsed("/* x */ ;", 0);
}

/* ---- expressions ---- */

static void
constants_have_their_types(void)
{
	CHECK(target("select 2147483648")->u.integer == 2147483648);
	CHECK(target("select -9223372036854775808")->u.integer == INT64_MIN);
	CHECK(target("select 9223372036854775808")->kind == SQL_E_NUMERIC);
	CHECK_STR(target("select 9223372036854775808")->u.text,
	    "9223372036854775808");
	CHECK_STR(target("select -1.50")->u.text, "-1.50");
	CHECK_STR(target("select e'\\x41\\n'")->u.text, "A\n");
	CHECK_STR(target("select x'1F'")->u.text, "x1F");
	CHECK(target("select null")->kind == SQL_E_NULL);
	CHECK(target("select true")->u.boolean);
}

static void
operators_keep_their_names(void)
{
	const struct sql_expr *e = target("select a like 'x'");

	CHECK(e->kind == SQL_E_OP && e->n_args == 2);
	CHECK_STR(e->u.op.name, "~~");
	CHECK_STR(target("select a not ilike 'x'")->u.op.name, "!~~*");
	e = target("select - a");
	CHECK(e->kind == SQL_E_OP && e->n_args == 1);
	e = target("select 1 operator(pg_catalog.+) 2");
	CHECK_STR(e->u.op.schema, "pg_catalog");
	e = target("select a not in (1, 2, 3)");
	CHECK(e->kind == SQL_E_IN && e->n_args == 4 && e->u.negated);
	e = target("select a between 1 and 2");
	CHECK(e->kind == SQL_E_BETWEEN && e->n_args == 3 && !e->u.negated);
	e = target("select a = any (b)");
	CHECK(e->kind == SQL_E_ANY);
	e = target("select a <> all (select b from t)");
	CHECK(e->kind == SQL_E_ALL_SUBQUERY);
	CHECK_STR(e->u.query.op.name, "<>");
	e = target("select a not in (select b from t)");
	CHECK(e->kind == SQL_E_NOT && e->args[0]->kind == SQL_E_IN_SUBQUERY);
	e = target("select a is not distinct from b");
	CHECK(e->kind == SQL_E_DISTINCT && e->u.negated);
	CHECK(target("select a is not unknown")->u.is == SQL_IS_NOT_UNKNOWN);
}

static void
types_come_with_modifiers(void)
{
	const struct sql_typename *t =
	    target("select a::numeric(10, 2)[]")->u.type;

	CHECK_STR(t->name.schema, "pg_catalog");
	CHECK_STR(t->name.name, "numeric");
	CHECK(t->n_mods == 2 && t->mods[0] == 10 && t->mods[1] == 2);
	CHECK(t->dims == 1);
	t = target("select a::char")->u.type;
	CHECK_STR(t->name.name, "bpchar");
	CHECK(t->n_mods == 1 && t->mods[0] == 1);
	t = target("select a::s.mine")->u.type;
	CHECK_STR(t->name.schema, "s");
	t = target("select interval '1' hour to minute")->u.type;
	CHECK(t->n_mods == 1 && t->mods[0] == ((1 << 10) | (1 << 11)));
}

static void
calls_keep_everything_inside(void)
{
	const struct sql_expr *e = target("select s.f(distinct a, b "
					  "order by c desc nulls last) filter "
					  "(where d)");
	const struct sql_call *c = e->u.call;

	CHECK(e->kind == SQL_E_CALL && e->n_args == 2);
	CHECK_STR(c->name.schema, "s");
	CHECK(c->distinct && !c->variadic && !c->star && c->filter);
	CHECK(c->order.n == 1 && c->order.items[0].desc);
	CHECK(c->order.items[0].nulls == SQL_NULLS_LAST);
	CHECK(target("select count(*)")->u.call->star);
	CHECK(target("select f(a, variadic b)")->u.call->variadic);
	e = target("select (a).b[1].c[2:3].*");
	CHECK(e->kind == SQL_E_FIELD && !e->u.text);
	CHECK(e->args[0]->kind == SQL_E_SLICE);
	CHECK(e->args[0]->args[0]->kind == SQL_E_FIELD);
	e = target("select case a when 1 then 2 else 3 end");
	CHECK(e->n_args == 4 && e->u.cases.operand && e->u.cases.other);
	e = target("select current_timestamp(3)");
	CHECK(e->u.value_func.func == SQL_CURRENT_TIMESTAMP);
	CHECK(e->u.value_func.precision == 3);
	CHECK(target("select current_date")->u.value_func.precision == -1);
}

/* ---- queries and changes ---- */

static void
select_has_all_its_clauses(void)
{
	const struct sql_select *q =
	    one("with recursive w (x) as (select 1), v as (delete from t "
		"returning *) select distinct on (a, b) a as q, t.* from only "
		"s.t as u (c, d), lateral (select 1) z, f(1) with ordinality g "
		"left join h using (i, j) where a group by a having b "
		"order by a desc, b nulls first limit 3 offset 4 for update of "
		"t skip locked",
		SQL_STMT_SELECT)
		->u.select;

	CHECK(q->with && q->with->recursive && q->with->n == 2);
	CHECK(q->with->items[0].n_columns == 1);
	CHECK(q->with->items[1].query->kind == SQL_STMT_DELETE);
	CHECK(!q->distinct && q->distinct_on.n == 2);
	CHECK(q->targets.n == 2);
	CHECK_STR(q->targets.items[0].alias, "q");
	CHECK(q->targets.items[1].expr->u.column.star);
	CHECK(q->n_from == 3);
	CHECK(q->from[0]->u.table.only && q->from[0]->alias.n_columns == 2);
	CHECK(q->from[1]->kind == SQL_FROM_SUBQUERY && q->from[1]->lateral);
	CHECK(q->from[2]->kind == SQL_FROM_JOIN);
	CHECK(q->where && q->having && q->group.n == 1);
	CHECK(q->order.n == 2 && q->order.items[0].desc);
	CHECK(q->order.items[1].nulls == SQL_NULLS_FIRST);
	CHECK(q->limit->u.integer == 3 && q->offset->u.integer == 4);
	CHECK(q->n_locking == 1 && q->locking[0].of.n == 1);
	CHECK(q->locking[0].wait == SQL_LOCK_SKIP);
}

static void
set_operations_and_values_nest(void)
{
	const struct sql_select *q =
	    one("select 1 union all values (2), (default) order by 1 limit all",
		SQL_STMT_SELECT)
		->u.select;

	CHECK(q->kind == SQL_SELECT_UNION && q->all && q->order.n == 1);
	CHECK(!q->limit);
	CHECK(q->left->kind == SQL_SELECT_PLAIN);
	CHECK(q->right->kind == SQL_SELECT_VALUES && q->right->n_values == 2);
	CHECK(q->right->values[1].items[0]->kind == SQL_E_DEFAULT);
	q = one("table t", SQL_STMT_SELECT)->u.select;
	CHECK(q->targets.items[0].expr->u.column.star);
}

static void
insert_has_all_its_clauses(void)
{
	const struct sql_insert *i = one(
	    "insert into s.t as u (a, b) values (1, default), ($1, 2) on "
	    "conflict (a) where c do update set (b, c) = (excluded.b, 1), d "
	    "= default where x returning a, b as q",
	    SQL_STMT_INSERT)
					 ->u.insert;

	CHECK_STR(i->table.schema, "s");
	CHECK_STR(i->alias, "u");
	CHECK(i->n_columns == 2 && i->columns[1].position == 26);
	CHECK(i->source->n_values == 2);
	CHECK(i->conflict.action == SQL_CONFLICT_UPDATE);
	CHECK(i->conflict.n_target == 1 && i->conflict.target_where);
	CHECK(i->conflict.set.n == 3);
	CHECK_STR(i->conflict.set.items[1].column, "c");
	CHECK(i->conflict.set.items[1].expr->u.integer == 1);
	CHECK(i->conflict.where && i->returning.n == 2);
	i = one("insert into t default values", SQL_STMT_INSERT)->u.insert;
	CHECK(!i->source && !i->n_columns);
	i = one("insert into t select 1 on conflict on constraint k do nothing",
	    SQL_STMT_INSERT)
		->u.insert;
	CHECK_STR(i->conflict.constraint, "k");
	CHECK(i->conflict.action == SQL_CONFLICT_NOTHING);
}

static void
update_and_delete_have_theirs(void)
{
	const struct sql_update *u =
	    one("update only t x set a = a + 1, b = default from u where c "
		"returning *",
		SQL_STMT_UPDATE)
		->u.update;
	const struct sql_delete *d;

	CHECK(u->only && u->set.n == 2 && u->n_from == 1 && u->where);
	CHECK_STR(u->alias, "x");
	CHECK(u->returning.n == 1);
	u = one("update t set a = 1 where current of c", SQL_STMT_UPDATE)
		->u.update;
	CHECK_STR(u->current_of, "c");
	CHECK(!u->where);
	d = one("delete from t using u where c returning 1", SQL_STMT_DELETE)
		->u.del;
	CHECK(d->n_from == 1 && d->where && d->returning.n == 1);
	check_refused("update t set (a, b) = (1, 2, 3)", "42601", 23,
	    "number of columns does not match number of values");
}

CU_MAIN("parse", {"errors_are_postgres_own", errors_are_postgres_own},
    {"text_that_is_no_utf8_is_22021", text_that_is_no_utf8_is_22021},
    {"a_nul_byte_is_22021", a_nul_byte_is_22021},
    {"parameters_out_of_range_do_not_exist",
	parameters_out_of_range_do_not_exist},
    {"expressions_10000_deep_are_54001", expressions_10000_deep_are_54001},
    {"expressions_1900_deep_are_fine", expressions_1900_deep_are_fine},
    {"a_megabyte_and_10000_parameters_parse",
	a_megabyte_and_10000_parameters_parse},
    {"text_above_the_limit_is_54000", text_above_the_limit_is_54000},
    {"an_arena_at_its_limit_is_53200", an_arena_at_its_limit_is_53200},
    {"positions_count_characters", positions_count_characters},
    {"statements_know_their_text", statements_know_their_text},
    {"nothing_is_no_statement", nothing_is_no_statement},
    {"constants_have_their_types", constants_have_their_types},
    {"operators_keep_their_names", operators_keep_their_names},
    {"types_come_with_modifiers", types_come_with_modifiers},
    {"calls_keep_everything_inside", calls_keep_everything_inside},
    {"select_has_all_its_clauses", select_has_all_its_clauses},
    {"set_operations_and_values_nest", set_operations_and_values_nest},
    {"insert_has_all_its_clauses", insert_has_all_its_clauses},
    {"update_and_delete_have_theirs", update_and_delete_have_theirs})
