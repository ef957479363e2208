#include "sql/t/parse_case.h"

static void
create_table_has_all_its_clauses(void)
{
	const struct sql_create_table *t = one(
	    "create unlogged table if not exists s.t (a int primary key, b "
	    "varchar(3) collate \"C\" default 'x' not null unique check (b "
	    "<> ''), c int references u (x) on delete cascade deferrable "
	    "initially deferred, d int generated always as identity, e int "
	    "generated always as (a + 1) stored, constraint k primary key "
	    "(a, b) include (c), unique (c), check (a > 0), foreign key (a, "
	    "b) references v match full on update set null) with "
	    "(replication = 3, distribute_by = a, x = 'y', z = 1.5, w, toast.q "
	    "= true)",
	    SQL_STMT_CREATE_TABLE)
					       ->u.create_table;
	const struct sql_constraints *cs;

	CHECK(t->unlogged && t->if_not_exists && !t->open);
	CHECK_STR(t->table.schema, "s");
	CHECK(t->n_columns == 5);
	CHECK(t->columns[0].constraints.items[0].kind == SQL_CON_PRIMARY_KEY);
	cs = &t->columns[1].constraints;
	CHECK_STR(t->columns[1].collation->name, "C");
	CHECK(cs->n == 4 && cs->items[0].kind == SQL_CON_DEFAULT);
	CHECK_STR(cs->items[0].expr->u.text, "x");
	CHECK(cs->items[1].kind == SQL_CON_NOT_NULL);
	CHECK(cs->items[3].kind == SQL_CON_CHECK && cs->items[3].expr);
	cs = &t->columns[2].constraints;
	CHECK(cs->n == 1 && cs->items[0].deferrable && cs->items[0].deferred);
	CHECK(cs->items[0].on_delete == SQL_FK_CASCADE);
	CHECK(t->columns[3].constraints.items[0].kind == SQL_CON_IDENTITY);
	CHECK(t->columns[3].constraints.items[0].always);
	CHECK(t->columns[4].constraints.items[0].kind == SQL_CON_GENERATED);
	cs = &t->constraints;
	CHECK(cs->n == 4 && cs->items[0].n_columns == 2);
	CHECK_STR(cs->items[0].name, "k");
	CHECK(cs->items[0].n_including == 1);
	CHECK(cs->items[3].match == SQL_FK_FULL);
	CHECK(cs->items[3].on_update == SQL_FK_SET_NULL);
}

static void
sequences_have_their_options(void)
{
	const struct sql_sequence *q = &one(
	    "create sequence if not exists a.s as smallint increment by -2 "
	    "minvalue -9999999999999999999 no maxvalue start with 5 cache 3 "
	    "cycle owned by t.c",
	    SQL_STMT_CREATE_SEQUENCE)
					    ->u.sequence;
	const struct sql_options *o = &q->options;

	CHECK(q->if_exists && !q->temporary && o->n == 8);
	CHECK_STR(q->name.schema, "a");
	CHECK_STR(sql_option_find(o, "as")->text, "int2");
	CHECK(sql_option_find(o, "increment")->integer == -2);
	CHECK_STR(sql_option_find(o, "minvalue")->text, "-9999999999999999999");
	CHECK(sql_option_find(o, "maxvalue")->kind == SQL_OPT_NONE);
	CHECK(sql_option_find(o, "start")->integer == 5);
	CHECK(sql_option_find(o, "cache")->integer == 3);
	CHECK(sql_option_find(o, "cycle")->integer == 1);
	CHECK(sql_option_find(o, "owned_by")->list.n == 2);
	q = &one("alter sequence if exists s restart no cycle",
	    SQL_STMT_ALTER_SEQUENCE)
		 ->u.sequence;
	CHECK(q->if_exists && q->options.n == 2);
	CHECK(sql_option_find(&q->options, "restart")->kind == SQL_OPT_NONE);
	CHECK(sql_option_find(&q->options, "cycle")->integer == 0);
	CHECK(one("create temp sequence s", SQL_STMT_CREATE_SEQUENCE)
		  ->u.sequence.temporary);
}

static void
options_keep_their_kinds(void)
{
	const struct sql_options *o = &one(
	    "create table t () with (a = 3, b = -4, c = word, d = 'str', e "
	    "= 1.5, f, g = true, toast.h = 1)",
	    SQL_STMT_CREATE_TABLE)
					   ->u.create_table->options;
	bool b;
	int64_t i;
	const char *s;

	CHECK(o->n == 8);
	CHECK(sql_option_find(o, "a")->integer == 3);
	CHECK(sql_option_find(o, "b")->integer == -4);
	CHECK(sql_option_find(o, "c")->kind == SQL_OPT_IDENT);
	CHECK(sql_option_find(o, "d")->kind == SQL_OPT_STRING);
	CHECK(sql_option_find(o, "e")->kind == SQL_OPT_NUMBER);
	CHECK(sql_option_find(o, "f")->kind == SQL_OPT_NONE);
	CHECK(sql_option_find(o, "d")->position == 50);
	CHECK(sql_option_find(o, "h") == NULL);
	CHECK_STR(o->items[7].space, "toast");
	CHECK(!sql_option_bool(arena, sql_option_find(o, "f"), &b) && b);
	CHECK(!sql_option_bool(arena, sql_option_find(o, "g"), &b) && b);
	CHECK(err_is(
	    sql_option_bool(arena, sql_option_find(o, "a"), &b), "42601"));
	CHECK(!sql_option_int(arena, sql_option_find(o, "b"), &i) && i == -4);
	CHECK(err_is(
	    sql_option_int(arena, sql_option_find(o, "c"), &i), "42601"));
	CHECK(!sql_option_text(arena, sql_option_find(o, "a"), &s));
	CHECK_STR(s, "3");
	CHECK(err_is(
	    sql_option_text(arena, sql_option_find(o, "f"), &s), "42601"));
}

static void
tables_without_columns_are_open(void)
{
	CHECK(one("create table t (primary key (id))", SQL_STMT_CREATE_TABLE)
		  ->u.create_table->open);
	CHECK(one("create table t ()", SQL_STMT_CREATE_TABLE)
		  ->u.create_table->open);
	CHECK(!one("create table t (like u)", SQL_STMT_CREATE_TABLE)
		   ->u.create_table->open);
	CHECK(one("create temp table t (a int)", SQL_STMT_CREATE_TABLE)
		  ->u.create_table->temporary);
	CHECK(one("create table t (a int) partition by hash (a)",
	    SQL_STMT_CREATE_TABLE)
		  ->u.create_table->partition_by);
	CHECK(one("create table t () inherits (u)", SQL_STMT_CREATE_TABLE)
		  ->u.create_table->inherits);
	CHECK(
	    one("create table t partition of u default", SQL_STMT_CREATE_TABLE)
		->u.create_table->partition_of);
}

static void
alter_table_knows_its_forms(void)
{
	static const struct {
		const char *cmd;
		enum sql_alter_kind kind;
		const char *name;
	} cases[] = {
	    {"add column if not exists b int default 1", SQL_ALTER_ADD_COLUMN,
		"b"},
	    {"drop column if exists b cascade", SQL_ALTER_DROP_COLUMN, "b"},
	    {"alter b type text using b::text", SQL_ALTER_COLUMN_TYPE, "b"},
	    {"alter b set default 1", SQL_ALTER_SET_DEFAULT, "b"},
	    {"alter b drop default", SQL_ALTER_DROP_DEFAULT, "b"},
	    {"alter b set not null", SQL_ALTER_SET_NOT_NULL, "b"},
	    {"alter b drop not null", SQL_ALTER_DROP_NOT_NULL, "b"},
	    {"add constraint c unique (b)", SQL_ALTER_ADD_CONSTRAINT, NULL},
	    {"drop constraint c", SQL_ALTER_DROP_CONSTRAINT, "c"},
	    {"validate constraint c", SQL_ALTER_VALIDATE, "c"},
	    {"set (replication = 2)", SQL_ALTER_SET_OPTIONS, NULL},
	    {"reset (replication)", SQL_ALTER_RESET_OPTIONS, NULL},
	    {"owner to r", SQL_ALTER_OWNER, "r"},
	    {"enable row level security", SQL_ALTER_OTHER,
		"ENABLE ROW LEVEL SECURITY"},
	    {"alter b set statistics 5", SQL_ALTER_OTHER, "SET STATISTICS"},
	    {"set tablespace x", SQL_ALTER_OTHER, "SET TABLESPACE"},
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		char sql[100];
		const struct sql_alter_table *t;

		snprintf(sql, sizeof sql, "alter table if exists t %s",
		    cases[i].cmd);
		t = &one(sql, SQL_STMT_ALTER_TABLE)->u.alter_table;
		CHECK(t->if_exists && t->n_cmds == 1);
		CHECK(t->cmds[0].kind == cases[i].kind);
		CHECK(!t->cmds[0].name == !cases[i].name);
		if (t->cmds[0].name && cases[i].name)
			CHECK_STR(t->cmds[0].name, cases[i].name);
	}
}

static void
objects_are_renamed_and_dropped(void)
{
	const struct sql_rename *r =
	    &one("alter table s.t rename a to b", SQL_STMT_RENAME)->u.rename;
	const struct sql_drop *d;

	CHECK(r->object == SQL_OBJ_COLUMN);
	CHECK_STR(r->part, "a");
	CHECK_STR(r->name.schema, "s");
	r = &one("alter table t rename constraint a to b", SQL_STMT_RENAME)
		 ->u.rename;
	CHECK(r->object == SQL_OBJ_CONSTRAINT);
	r = &one("alter role x rename to y", SQL_STMT_RENAME)->u.rename;
	CHECK(r->object == SQL_OBJ_ROLE);
	CHECK_STR(r->name.name, "x");
	r = &one("alter index if exists i rename to j", SQL_STMT_RENAME)
		 ->u.rename;
	CHECK(r->object == SQL_OBJ_INDEX && r->if_exists);
	d = &one("drop table if exists a, s.b, c.d.e cascade", SQL_STMT_DROP)
		 ->u.drop;
	CHECK(d->object == SQL_OBJ_TABLE && d->names.n == 3);
	CHECK(d->if_exists && d->cascade);
	CHECK_STR(d->names.items[2].catalog, "c");
	d = &one("drop user a, b", SQL_STMT_DROP)->u.drop;
	CHECK(d->object == SQL_OBJ_ROLE && d->names.n == 2);
	CHECK(d->names.items[1].position == 14);
	d = &one("drop database x with (force)", SQL_STMT_DROP)->u.drop;
	CHECK(d->object == SQL_OBJ_DATABASE && d->force);
	d = &one("drop function f(int)", SQL_STMT_DROP)->u.drop;
	CHECK(d->object == SQL_OBJ_FUNCTION);
	CHECK_STR(d->names.items[0].name, "f");
	d = &one("drop cast (int as text)", SQL_STMT_DROP)->u.drop;
	CHECK(d->object == SQL_OBJ_OTHER);
	CHECK_STR(d->other, "CAST");
}

static void
indexes_databases_and_roles(void)
{
	const struct sql_create_index *i = one(
	    "create unique index concurrently if not exists i on t using "
	    "hash (a desc nulls last, lower(b) collate \"C\" ops) include (c) "
	    "where d",
	    SQL_STMT_CREATE_INDEX)
					       ->u.create_index;
	const struct sql_role *r;
	const struct sql_alter_set *as;

	CHECK(i->unique && i->concurrently && i->if_not_exists && i->where);
	CHECK(!i->global && i->n_columns == 2 && i->n_including == 1);
	CHECK_STR(i->method, "hash");
	CHECK(i->columns[0].desc && i->columns[0].nulls == SQL_NULLS_LAST);
	CHECK(i->columns[1].expr->kind == SQL_E_CALL);
	CHECK_STR(i->columns[1].opclass->name, "ops");
	r = &one(
	    "create user x password 'y' superuser nologin connection limit "
	    "3 in role a, b",
	    SQL_STMT_CREATE_ROLE)
		 ->u.role;
	CHECK(r->word == SQL_ROLE_USER && r->options.n == 5);
	CHECK_STR(sql_option_find(&r->options, "password")->text, "y");
	CHECK(sql_option_find(&r->options, "canlogin")->integer == 0);
	CHECK(sql_option_find(&r->options, "addroleto")->list.n == 2);
	r = &one("alter role current_user login", SQL_STMT_ALTER_ROLE)->u.role;
	CHECK(r->special);
	as = &one(
	    "alter role all in database d set x = 1", SQL_STMT_ALTER_ROLE_SET)
		  ->u.alter_set;
	CHECK(!as->role);
	CHECK_STR(as->database, "d");
	CHECK_STR(as->set.name, "x");
	CHECK(one("create database d owner x", SQL_STMT_CREATE_DATABASE)
		  ->u.create_database.options.n == 1);
	CHECK_STR(one("create schema if not exists s authorization r",
		      SQL_STMT_CREATE_SCHEMA)
		      ->u.create_schema.owner,
	    "r");
	CHECK_STR(one("comment on column s.t.c is 'x'", SQL_STMT_COMMENT)
		      ->u.comment.part,
	    "c");
	CHECK(one("truncate a, b restart identity cascade", SQL_STMT_TRUNCATE)
		  ->u.truncate.restart);
}

static void
settings(void)
{
	const struct sql_set *s =
	    &one("set local search_path to a, \"B\"", SQL_STMT_SET)->u.set;

	CHECK(s->is_local && s->args.n == 2);
	CHECK_STR(s->args.items[1]->u.text, "B");
	s = &one("set time zone interval '+01:00' hour to minute", SQL_STMT_SET)
		 ->u.set;
	CHECK_STR(s->name, "timezone");
	CHECK(s->args.items[0]->kind == SQL_E_CAST);
	CHECK(one("set x to default", SQL_STMT_SET)->u.set.kind ==
	      SQL_SET_DEFAULT);
	CHECK(one("reset all", SQL_STMT_SET)->u.set.kind == SQL_SET_RESET_ALL);
	s = &one("set transaction isolation level repeatable read, read only, "
		 "not deferrable",
	    SQL_STMT_SET)
		 ->u.set;
	CHECK(s->kind == SQL_SET_TRANSACTION);
	CHECK(s->modes.isolation == SQL_REPEATABLE_READ);
	CHECK(s->modes.access == SQL_READ_ONLY && s->modes.not_deferrable);
	s = &one("set session characteristics as transaction read write",
	    SQL_STMT_SET)
		 ->u.set;
	CHECK(s->kind == SQL_SET_SESSION_TRANSACTION);
	CHECK(s->modes.access == SQL_READ_WRITE);
	CHECK_STR(
	    one("show time zone", SQL_STMT_SHOW)->u.show.name, "timezone");
	CHECK_STR(one("show all", SQL_STMT_SHOW)->u.show.name, "all");
	CHECK_STR(one("set session authorization x", SQL_STMT_SET)->u.set.name,
	    "session_authorization");
}

static void
transactions(void)
{
	const struct sql_transaction *t =
	    &one("start transaction isolation level serializable read only",
		SQL_STMT_TRANSACTION)
		 ->u.txn;

	CHECK(t->kind == SQL_TXN_START && !t->atomic);
	CHECK(t->modes.isolation == SQL_SERIALIZABLE);
	CHECK(one("commit and chain", SQL_STMT_TRANSACTION)->u.txn.chain);
	CHECK_STR(
	    one("rollback to savepoint x", SQL_STMT_TRANSACTION)->u.txn.name,
	    "x");
	CHECK_STR(
	    one("prepare transaction 'g'", SQL_STMT_TRANSACTION)->u.txn.gid,
	    "g");
	CHECK(
	    one("abort", SQL_STMT_TRANSACTION)->u.txn.kind == SQL_TXN_ROLLBACK);
	CHECK(one("end", SQL_STMT_TRANSACTION)->u.txn.kind == SQL_TXN_COMMIT);
}

static void
copy_has_its_options(void)
{
	const struct sql_copy *c = &one(
	    "copy s.t (a, b) from stdin with (format csv, header, delimiter "
	    "';', force_not_null (a, b), force_quote *) where a > 1",
	    SQL_STMT_COPY)
					->u.copy;

	CHECK(c->from && !c->file && c->n_columns == 2 && c->where);
	CHECK_STR(c->table.schema, "s");
	CHECK(c->options.n == 5);
	CHECK(sql_option_find(&c->options, "force_not_null")->list.n == 2);
	CHECK(
	    sql_option_find(&c->options, "force_quote")->kind == SQL_OPT_STAR);
	c = &one("copy (select 1) to stdout csv header", SQL_STMT_COPY)->u.copy;
	CHECK(!c->from && c->query->kind == SQL_STMT_SELECT && !c->table.name);
	CHECK_STR(sql_option_find(&c->options, "format")->text, "csv");
	CHECK(one("copy t to program 'x'", SQL_STMT_COPY)->u.copy.is_program);
}

static void
cursors_and_prepared_statements(void)
{
	const struct sql_fetch *f =
	    &one("move backward all in c", SQL_STMT_FETCH)->u.fetch;
	const struct sql_declare *d;
	const struct sql_prepare_stmt *p;

	CHECK(f->move && f->dir == SQL_FETCH_BACKWARD);
	CHECK(f->count == SQL_FETCH_ALL);
	f = &one("fetch absolute -3 from c", SQL_STMT_FETCH)->u.fetch;
	CHECK(f->dir == SQL_FETCH_ABSOLUTE && f->count == -3 && !f->move);
	d = &one("declare c binary scroll cursor with hold for select 1",
	    SQL_STMT_DECLARE)
		 ->u.declare;
	CHECK(d->binary && d->scroll && d->hold && d->query);
	p = &one("prepare p (int, text) as insert into t values ($1, $2)",
	    SQL_STMT_PREPARE)
		 ->u.prepare;
	CHECK(p->n_types == 2 && p->stmt->kind == SQL_STMT_INSERT);
	CHECK(
	    one("execute p (1, 'x')", SQL_STMT_EXECUTE)->u.execute.args.n == 2);
	CHECK(!one("deallocate all", SQL_STMT_DEALLOCATE)->u.deallocate.name);
	CHECK(!one("close all", SQL_STMT_CLOSE)->u.close.cursor);
	CHECK(one("explain (analyze, format json) select 1", SQL_STMT_EXPLAIN)
		  ->u.explain.options.n == 2);
	CHECK(one("lock table a, b in share mode nowait", SQL_STMT_LOCK)
		  ->u.lock.mode == 5);
	CHECK(one("vacuum (full) a", SQL_STMT_VACUUM)->u.vacuum.tables.n == 1);
	CHECK(one("analyze", SQL_STMT_VACUUM)->u.vacuum.analyze_only);
	CHECK_STR(one("notify c, 'x'", SQL_STMT_NOTIFY)->u.notify.payload, "x");
	CHECK(!one("unlisten *", SQL_STMT_UNLISTEN)->u.notify.channel);
	CHECK(one("discard temp", SQL_STMT_DISCARD)->u.discard ==
	      SQL_DISCARD_TEMP);
}

static void
what_is_not_modelled_is_refused_by_name(void)
{
	static const struct {
		const char *sql;
		const char *message;
		int position;
	} cases[] = {
	    {"merge into t using s on true when matched then do nothing",
		"MERGE is not supported", 0},
	    {"create view v as select 1", "CREATE VIEW is not supported", 0},
	    {"create table t as select 1", "CREATE TABLE AS is not supported",
		0},
	    {"create materialized view v as select 1",
		"CREATE MATERIALIZED VIEW is not supported", 0},
	    {"create aggregate a (int) (sfunc = f, stype = int)",
		"CREATE AGGREGATE is not supported", 0},
	    {"create function f() returns int language sql begin atomic select "
	     "1; end",
		"CREATE FUNCTION is not supported", 0},
	    {"do $$ x $$", "DO is not supported", 0},
	    {"grant select on t to x", "GRANT is not supported", 0},
	    {"revoke select on t from x", "REVOKE is not supported", 0},
	    {"select 1 into t", "SELECT INTO is not supported", 15},
	    {"select 'é', rank() over (order by a) from t",
		"window functions are not supported", 25},
	    {"select 1 group by cube (a)", "grouping sets are not supported",
		19},
	    {"select * from t tablesample system (1)",
		"TABLESAMPLE is not supported", 29},
	    {"select f(a => 1)", "named arguments are not supported", 10},
	    {"select xmlparse(document 'x')",
		"functions of type xml are not supported", 8},
	    {"update t set a[1] = 2",
		"assignments to parts of a column are not supported", 14},
	    {"alter foreign table t add column a int",
		"ALTER FOREIGN TABLE is not supported", 0},
	    {"create type t as (a int)", "CREATE TYPE is not supported", 0},
	    {"reindex table t", "REINDEX is not supported", 0},
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const struct sql_unsupported *u =
		    &one(cases[i].sql, SQL_STMT_UNSUPPORTED)->u.unsupported;

		CHECK(err_is(u->error, "0A000"));
		CHECK_STR(u->error->message, cases[i].message);
		CHECK(u->error->position == cases[i].position);
		CHECK(strstr(u->error->message, u->feature) != NULL);
	}
}

static void
a_refused_statement_does_not_stop_the_others(void)
{
	struct sql_stmt *s = parsed("select 1; create view v as select 2; "
				    "select $3",
	    3);

	CHECK(s[0].kind == SQL_STMT_SELECT);
	CHECK(s[1].kind == SQL_STMT_UNSUPPORTED);
	CHECK(s[2].kind == SQL_STMT_SELECT && s[2].n_params == 3);
}

static void
tags_are_postgres_own(void)
{
	static const char *const cases[][2] = {
	    {"insert into t values (1)", "INSERT 0"},
	    {"values (1)", "SELECT"},
	    {"create user x", "CREATE ROLE"},
	    {"drop user x", "DROP ROLE"},
	    {"alter table t rename a to b", "ALTER TABLE"},
	    {"alter index t rename to b", "ALTER INDEX"},
	    {"drop table t", "DROP TABLE"},
	    {"truncate t", "TRUNCATE TABLE"},
	    {"start transaction", "START TRANSACTION"},
	    {"begin", "BEGIN"},
	    {"end", "COMMIT"},
	    {"rollback to x", "ROLLBACK"},
	    {"release x", "RELEASE"},
	    {"reset x", "RESET"},
	    {"set x = 1", "SET"},
	    {"deallocate all", "DEALLOCATE ALL"},
	    {"close all", "CLOSE CURSOR ALL"},
	    {"close x", "CLOSE CURSOR"},
	    {"declare c cursor for select 1", "DECLARE CURSOR"},
	    {"discard all", "DISCARD ALL"},
	    {"lock t", "LOCK TABLE"},
	    {"analyze", "ANALYZE"},
	    {"show tables", "SHOW"},
	    {"use x", "USE"},
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		CHECK_STR(sql_tag(parsed(cases[i][0], 1)), cases[i][1]);
}

static void
the_self_test_passes(void)
{
	fresh();
	CHECK(sql_parser_selftest(arena) == NULL);
}

CU_MAIN("utility",
    {"create_table_has_all_its_clauses", create_table_has_all_its_clauses},
    {"sequences_have_their_options", sequences_have_their_options},
    {"options_keep_their_kinds", options_keep_their_kinds},
    {"tables_without_columns_are_open", tables_without_columns_are_open},
    {"alter_table_knows_its_forms", alter_table_knows_its_forms},
    {"objects_are_renamed_and_dropped", objects_are_renamed_and_dropped},
    {"indexes_databases_and_roles", indexes_databases_and_roles},
    {"settings", settings}, {"transactions", transactions},
    {"copy_has_its_options", copy_has_its_options},
    {"cursors_and_prepared_statements", cursors_and_prepared_statements},
    {"what_is_not_modelled_is_refused_by_name",
	what_is_not_modelled_is_refused_by_name},
    {"a_refused_statement_does_not_stop_the_others",
	a_refused_statement_does_not_stop_the_others},
    {"tags_are_postgres_own", tags_are_postgres_own},
    {"the_self_test_passes", the_self_test_passes})
