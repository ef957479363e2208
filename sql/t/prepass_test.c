#include "sql/lex.h"
#include "sql/t/parse_case.h"

/* ---- the lexer ---- */

static void
tokens_end_where_postgres_ends_them(void)
{
	static const struct {
		const char *text;
		enum sql_token_kind kind;
		size_t len;
	} cases[] = {
	    {"abc$1 x", SQL_TOK_WORD, 5},
	    {"é_1 ", SQL_TOK_WORD, 4},
	    {"\"a\"\"b\"c", SQL_TOK_QUOTED, 6},
	    {"u&\"a\"", SQL_TOK_QUOTED, 5},
	    {"'it''s'x", SQL_TOK_STRING, 7},
	    {"'a\\'b", SQL_TOK_STRING, 4},
	    {"e'a\\'b'c", SQL_TOK_LITERAL, 7},
	    {"E'\\\\'c", SQL_TOK_LITERAL, 5},
	    {"U&'a'", SQL_TOK_LITERAL, 5},
	    {"n'a'", SQL_TOK_LITERAL, 4},
	    {"$$a'$b$$c", SQL_TOK_LITERAL, 8},
	    {"$t$ $$ $t$x", SQL_TOK_LITERAL, 10},
	    {"$12a", SQL_TOK_PARAM, 3},
	    {"$ ", SQL_TOK_CHAR, 1},
	    {"1.5e-3x", SQL_TOK_NUMBER, 6},
	    {"1..2", SQL_TOK_NUMBER, 1},
	    {".5", SQL_TOK_NUMBER, 2},
	    {"1e", SQL_TOK_NUMBER, 1},
	    {"[1", SQL_TOK_CHAR, 1},
	    {"-1", SQL_TOK_CHAR, 1},
	    {"", SQL_TOK_END, 0},
	    {"'abc", SQL_TOK_BROKEN, 4},
	    {"\"abc", SQL_TOK_BROKEN, 4},
	    {"$x$abc$x", SQL_TOK_BROKEN, 8},
	    {"e'abc\\", SQL_TOK_BROKEN, 6},
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct sql_lexer x = {str_c(cases[i].text), 0};
		struct sql_token t = sql_lex_next(&x);

		CHECK(t.kind == cases[i].kind);
		CHECK(t.end - t.start == cases[i].len);
	}
}

static void
comments_and_blanks_are_no_tokens(void)
{
	struct sql_lexer x = {
	    STR(" \t-- 'x\n/* a /* b */ ' */ c--d\r /**/;/* "), 0};
	struct sql_token t = sql_lex_next(&x);

	CHECK(sql_token_is_word(x.text, t, "C"));
	t = sql_lex_next(&x);
	CHECK(sql_token_is_char(x.text, t, ';'));
	CHECK(sql_lex_next(&x).kind == SQL_TOK_BROKEN);
	CHECK(sql_lex_next(&x).kind == SQL_TOK_END);
}

static void
names_fold_and_are_cut(void)
{
	struct str long_name = STR("ABCDEFGHIJABCDEFGHIJABCDEFGHIJABCDEFGHIJABC"
				   "DEFGHIJABCDEFGHIJabé");
	struct sql_lexer x = {long_name, 0};
	char *name;

	fresh();
	name = sql_token_name(arena, x.text, sql_lex_next(&x));
	CHECK(strlen(name) == 62 && name[0] == 'a');
	CHECK_STR(name + 60, "ab");
	x = (struct sql_lexer){STR("\"A\"\"B\""), 0};
	CHECK_STR(sql_token_name(arena, x.text, sql_lex_next(&x)), "A\"B");
	x = (struct sql_lexer){STR("'a''b'"), 0};
	CHECK_STR(sql_token_string(arena, x.text, sql_lex_next(&x)), "a'b");
}

/* ---- lists in options ---- */

static void
lists_are_lifted_out_of_options(void)
{
	const struct sql_create_table *t =
	    one("create table t (id int, s text default 'with (x = [1])') with "
		"(nodes = ['é', 'b', 3], replication = 2, distribute_by = "
		"(tenant_id, \"R\"), none = [ /* x */ ])",
		SQL_STMT_CREATE_TABLE)
		->u.create_table;
	const struct sql_option *o = sql_option_find(&t->options, "nodes");

	CHECK(t->options.n == 4);
	CHECK(o->kind == SQL_OPT_LIST && o->list.n == 3);
	CHECK_STR(o->list.items[0]->u.text, "é");
	CHECK(o->list.items[1]->position == 78);
	CHECK(o->position == 64);
	CHECK(sql_option_find(&t->options, "replication")->integer == 2);
	o = sql_option_find(&t->options, "distribute_by");
	CHECK(o->kind == SQL_OPT_LIST && o->list.n == 2);
	CHECK_STR(o->list.items[1]->u.column.parts[0], "R");
	o = sql_option_find(&t->options, "none");
	CHECK(o->kind == SQL_OPT_LIST && o->list.n == 0);
}

static void
alter_table_and_alter_cluster_take_them_too(void)
{
	const struct sql_alter_table *t = &one(
	    "alter table t set (nodes = ['c'], x = 1), alter a drop default",
	    SQL_STMT_ALTER_TABLE)
					       ->u.alter_table;
	const struct sql_alter_cluster *c;

	CHECK(t->n_cmds == 2 && t->cmds[0].options.n == 2);
	CHECK(t->cmds[0].options.items[0].list.n == 1);
	c = &one("alter cluster set (replication = 3, nodes = ['a'])",
	    SQL_STMT_ALTER_CLUSTER)
		 ->u.alter_cluster;
	CHECK(c->action == SQL_CLUSTER_SET && c->options.n == 2);
	CHECK(c->options.items[0].integer == 3);
	CHECK(c->options.items[0].position == 20);
}

static void
errors_in_lists_are_exact(void)
{
	check_refused("create table é (a int) with (x = ['a' 1])", "42601", 39,
	    "syntax error at or near \"1\"");
	check_refused("create table t (a int) with (x = ['a',])", "42601", 39,
	    "syntax error at or near \"]\"");
	check_refused("create table t (a int) with (x = ())", "42601", 35,
	    "syntax error at or near \")\"");
	check_refused("create table t (a int) with (x = ['é'], y = )", "42601",
	    45, "syntax error at or near \")\"");
	check_refused("create table t (a int) with (x = ['a'", "42601", 34,
	    "syntax error at or near \"[\"");
	check_refused("create table t (a int) with (x = [1 from u])", "42601",
	    34, "syntax error at or near \"[\"");
	check_refused("create table t (a int) with (x = [1 as b])", "42601", 34,
	    "syntax error at or near \"[\"");
	check_refused("create table t (a int) with (x = [$70000])", "42P02", 35,
	    "there is no parameter $70000");
	check_refused("select * from t where a = [1]", "42601", 27,
	    "syntax error at or near \"[\"");
}

static void
more_lists_than_the_limit_are_refused(void)
{
	struct arena *texts = arena_new(NULL, "text");
	struct buf b;

	buf_init(&b, texts);
	buf_str(&b, STR("create table t (a int) with (x = [1]"));
	for (int i = 0; i < 200000; i++)
		buf_str(&b, STR(",x=[]"));
	buf_str(&b, STR(")"));
	check_refused(
	    buf_cstr(&b), "42601", 34, "syntax error at or near \"[\"");
	arena_free(texts);
}

/* ---- transactions and indexes ---- */

static void
begin_atomic_has_pins(void)
{
	const struct sql_stmt *s =
	    one("begin atomic partition (é = $2, \"B\" = -4, c = 'x'::date) "
		"isolation level serializable",
		SQL_STMT_TRANSACTION);
	const struct sql_transaction *t = &s->u.txn;

	CHECK(t->atomic && t->n_pins == 3 && s->n_params == 2);
	CHECK(t->modes.isolation == SQL_SERIALIZABLE);
	CHECK_STR(t->pins[0].column, "é");
	CHECK(t->pins[0].value->u.param == 2);
	CHECK_STR(t->pins[1].column, "B");
	CHECK(t->pins[1].position == 33 && t->pins[1].value->u.integer == -4);
	CHECK(t->pins[2].value->kind == SQL_E_CAST);
	t = &one("BEGIN /* x */ ATOMIC", SQL_STMT_TRANSACTION)->u.txn;
	CHECK(t->atomic && !t->n_pins && t->kind == SQL_TXN_BEGIN);
	CHECK(one("begin atomic read only", SQL_STMT_TRANSACTION)
		  ->u.txn.modes.access == SQL_READ_ONLY);
}

static void
errors_in_pins_are_exact(void)
{
	static const char pins[] =
	    "PARTITION must be a list of column = constant";

	check_refused("begin atomic partition", "42601", 23,
	    "syntax error at end of input");
	check_refused("begin atomic partition ;", "42601", 24,
	    "syntax error at or near \";\"");
	check_refused("begin atomic partition x", "42601", 24,
	    "syntax error at or near \"x\"");
	check_refused("begin atomic partition (a = 1", "42601", 30,
	    "syntax error at end of input");
	check_refused(
	    "begin atomic partition (é = 'é', b + 1)", "42601", 34, pins);
	check_refused("begin atomic partition (a = b)", "42601", 29, pins);
	check_refused("begin atomic partition (a.b = 1)", "42601", 25, pins);
	check_refused("begin atomic partition (a > 1)", "42601", 25, pins);
	check_refused("begin atomic partition (é = 'é') foo", "42601", 34,
	    "syntax error at or near \"foo\"");
	check_refused(
	    "begin atomic foo", "42601", 14, "syntax error at or near \"foo\"");
	check_refused("begin partition (a = 1)", "42601", 7,
	    "syntax error at or near \"partition\"");
}

static void
global_indexes_are_flagged(void)
{
	const struct sql_create_index *i =
	    one("create unique global index concurrently i on t (a) with (x = "
		"[1])",
		SQL_STMT_CREATE_INDEX)
		->u.create_index;

	CHECK(i->global && i->unique && i->concurrently && i->options.n == 1);
	CHECK(one("create global index on t (a)", SQL_STMT_CREATE_INDEX)
		  ->u.create_index->global);
	i = one("create index i on t (a) with (global = true)",
	    SQL_STMT_CREATE_INDEX)
		->u.create_index;
	CHECK(i->global && !i->options.n);
	check_refused("create global index i on", "42601", 25,
	    "syntax error at end of input");
	check_refused("create global unique index i on t (a)", "42601", 15,
	    "syntax error at or near \"unique\"");
}

/* ---- statements all our own ---- */

static void
clusters_are_altered(void)
{
	const struct sql_alter_cluster *c = &one(
	    "alter cluster add node 'a''b' ('h:1')", SQL_STMT_ALTER_CLUSTER)
						 ->u.alter_cluster;
	const struct sql_alter_node *n;

	CHECK(c->action == SQL_CLUSTER_ADD_NODE);
	CHECK_STR(c->ref, "a'b");
	CHECK_STR(c->address, "h:1");
	CHECK(c->address_position == 32);
	c = &one("alter cluster add node 'h:1'", SQL_STMT_ALTER_CLUSTER)
		 ->u.alter_cluster;
	CHECK(!c->ref && c->address);
	c = &one("alter cluster add node ('h:1');", SQL_STMT_ALTER_CLUSTER)
		 ->u.alter_cluster;
	CHECK(!c->ref && c->address);
	c = &one("alter cluster remove node '3'", SQL_STMT_ALTER_CLUSTER)
		 ->u.alter_cluster;
	CHECK(c->action == SQL_CLUSTER_REMOVE_NODE);
	c = &one("alter cluster set feature level 2", SQL_STMT_ALTER_CLUSTER)
		 ->u.alter_cluster;
	CHECK(c->action == SQL_CLUSTER_FEATURE_LEVEL && c->level == 2);
	n = &one("alter node 'é' set name 'b'", SQL_STMT_ALTER_NODE)
		 ->u.alter_node;
	CHECK_STR(n->ref, "é");
	CHECK_STR(n->alias, "b");
	CHECK(n->alias_position == 25);
}

static void
small_statements(void)
{
	const struct sql_stmt *s;

	CHECK_STR(one("use Foo", SQL_STMT_USE)->u.use, "foo");
	CHECK_STR(one("use \"Foo\";", SQL_STMT_USE)->u.use, "Foo");
	CHECK_STR(
	    one("describe s.t", SQL_STMT_DESCRIBE)->u.describe.schema, "s");
	CHECK(
	    one("describe s.t", SQL_STMT_DESCRIBE)->u.describe.position == 10);
	one("repair cluster", SQL_STMT_REPAIR_CLUSTER);
	CHECK(!one("reclaim", SQL_STMT_RECLAIM)->u.reclaim.name);
	CHECK_STR(
	    one("reclaim table t", SQL_STMT_RECLAIM)->u.reclaim.name, "t");
	CHECK(one("show tables", SQL_STMT_SHOW_LIST)->u.show_list ==
	      SQL_SHOW_TABLES);
	CHECK(one("show databases", SQL_STMT_SHOW_LIST)->u.show_list ==
	      SQL_SHOW_DATABASES);
	s = one("set consistency ALL", SQL_STMT_SET);
	CHECK_STR(s->u.set.name, "skaidb.consistency");
	CHECK_STR(s->u.set.args.items[0]->u.text, "all");
	s = one("set local consistency to 'one'", SQL_STMT_SET);
	CHECK(s->u.set.is_local);
	CHECK_STR(s->u.set.name, "skaidb.consistency");
	CHECK_STR(one("show consistency", SQL_STMT_SHOW)->u.show.name,
	    "skaidb.consistency");
	s = one("create search index on t (a)", SQL_STMT_UNSUPPORTED);
	CHECK_STR(s->u.unsupported.error->message,
	    "search indexes are not supported");
}

static void
errors_in_our_own_are_exact(void)
{
	check_refused("use", "42601", 4, "syntax error at end of input");
	check_refused("use ;", "42601", 5, "syntax error at or near \";\"");
	check_refused("use 'x'", "42601", 5, "syntax error at or near \"'x'\"");
	check_refused("use é x", "42601", 7, "syntax error at or near \"x\"");
	check_refused("use \"\"", "42601", 5,
	    "zero-length delimited identifier at or near \"\"\"\"");
	check_refused(
	    "repair table", "42601", 8, "syntax error at or near \"table\"");
	check_refused("alter cluster frob", "42601", 15,
	    "syntax error at or near \"frob\"");
	check_refused("alter cluster add node 'a' (b)", "42601", 29,
	    "syntax error at or near \"b\"");
	check_refused("alter node 'a' set name", "42601", 24,
	    "syntax error at end of input");
	check_refused("alter cluster set feature level x", "42601", 33,
	    "syntax error at or near \"x\"");
	check_refused("describe a.b.c.d", "42601", 10,
	    "improper qualified name (too many dotted names)");
	check_refused("describe", "42601", 9, "syntax error at end of input");
	check_refused("use 'abc", "42601", 5,
	    "unterminated quoted string at or near \"'abc\"");
}

/* ---- several statements ---- */

static void
ours_and_plain_ones_mix(void)
{
	struct sql_stmt *s =
	    parsed("select 'é;', $1 ;; use é; begin atomic; "
		   "insert into t values ('(') -- x\n; reclaim",
		5);

	CHECK(s[0].kind == SQL_STMT_SELECT && s[0].n_params == 1);
	CHECK(str_eq(s[0].text, STR("select 'é;', $1")));
	CHECK(s[1].kind == SQL_STMT_USE && s[1].position == 20);
	CHECK(str_eq(s[1].text, STR("use é")));
	CHECK(s[2].u.txn.atomic && s[2].n_params == 0);
	CHECK(str_eq(s[2].text, STR("begin atomic")));
	CHECK(s[3].kind == SQL_STMT_INSERT && s[3].position == 41);
	CHECK(s[3].u.insert->table.position == 53);
	CHECK(s[4].kind == SQL_STMT_RECLAIM);
}

static void
errors_among_several_are_the_first(void)
{
	check_refused("select 'é', 1 +; use x", "42601", 16,
	    "syntax error at or near \";\"");
	check_refused("use é; select 'é', 1 +; use", "42601", 23,
	    "syntax error at or near \";\"");
	check_refused(
	    "use é; selec 1", "42601", 8, "syntax error at or near \"selec\"");
	check_refused("use é; select 'abc", "42601", 15,
	    "unterminated quoted string at or near \"'abc\"");
	check_refused("use x; /* é */ select E'\\u1'", "22025", 25,
	    "invalid Unicode escape");
	check_refused(
	    "use x y; selec", "42601", 7, "syntax error at or near \"y\"");
	check_refused("select 1; frobnicate", "42601", 11,
	    "syntax error at or near \"frobnicate\"");
	check_refused("create function f() returns int begin atomic select 1; "
		      "end; use x",
	    "42601", 61, "syntax error at or near \"use\"");
}

static void
many_statements_take_linear_time(void)
{
	struct arena *texts = arena_new(NULL, "text");
	struct buf b;

	buf_init(&b, texts);
	for (int i = 0; i < 20000; i++)
		buf_str(&b, STR("select 'é' ;"));
	buf_str(&b, STR("use x"));
	CHECK(parsed(buf_cstr(&b), 20001)[20000].position == 20000 * 12 + 1);
	arena_free(texts);
}

CU_MAIN("prepass",
    {"tokens_end_where_postgres_ends_them",
	tokens_end_where_postgres_ends_them},
    {"comments_and_blanks_are_no_tokens", comments_and_blanks_are_no_tokens},
    {"names_fold_and_are_cut", names_fold_and_are_cut},
    {"lists_are_lifted_out_of_options", lists_are_lifted_out_of_options},
    {"alter_table_and_alter_cluster_take_them_too",
	alter_table_and_alter_cluster_take_them_too},
    {"errors_in_lists_are_exact", errors_in_lists_are_exact},
    {"more_lists_than_the_limit_are_refused",
	more_lists_than_the_limit_are_refused},
    {"begin_atomic_has_pins", begin_atomic_has_pins},
    {"errors_in_pins_are_exact", errors_in_pins_are_exact},
    {"global_indexes_are_flagged", global_indexes_are_flagged},
    {"clusters_are_altered", clusters_are_altered},
    {"small_statements", small_statements},
    {"errors_in_our_own_are_exact", errors_in_our_own_are_exact},
    {"ours_and_plain_ones_mix", ours_and_plain_ones_mix},
    {"errors_among_several_are_the_first", errors_among_several_are_the_first},
    {"many_statements_take_linear_time", many_statements_take_linear_time})
