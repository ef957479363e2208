#include "gateway/ddl_int.h"

#include "base/fiber.h"
#include "gateway/t/bench_world.h"
#include "regress/lib/cu.h"

static const struct cl_catalog *
now(struct bench *b)
{
	return gw_catalog_now(b->worker->catalog);
}

static const struct cl_table *
table_named(struct bench *b, struct str name)
{
	const struct cl_object *o =
	    cl_find_name(now(b), CL_TABLE, CL_SCHEMA_PUBLIC, name);

	return o ? &o->u.table : NULL;
}

static struct err *
create(struct bench *b, struct gw_table_def *def, struct str name)
{
	bool created;

	def->schema = CL_SCHEMA_PUBLIC;
	def->owner = CL_ROLE_POSTGRES;
	def->name = name;
	bench_stmt(b, 3000000);
	return gw_ddl_create_table(&b->stmt, b->arena, def, &created);
}

static struct err *
drop(struct bench *b, enum cl_kind kind, uint32_t id, bool cascade)
{
	struct str name = STR("x");
	struct gw_drop d = {.kind = kind,
	    .ids = &id,
	    .names = &name,
	    .n = 1,
	    .cascade = cascade};

	bench_stmt(b, 3000000);
	return gw_ddl_drop(&b->stmt, b->arena, &d);
}

/* ---- tables ---- */

static void
table_body(struct bench *b)
{
	const struct cl_table *t = bench_table(b);
	const struct cl_placement *p;
	struct gw_table_def def = {.if_not_exists = false};
	struct err *e;
	bool created = true;

	CHECK(t->version == 1 && t->next_column == 3);
	CHECK(str_eq(t->pkey_name, STR("t_pkey")));
	CHECK(t->placement == CL_PLACEMENT_DEFAULT);
	p = cl_catalog_placement(now(b), t->placement);
	CHECK(p && p->n_slots == 8);
	for (uint32_t i = 0; p && i < p->n_slots; i++)
		CHECK(p->slots[i].n == 1 && p->slots[i].epoch == 1);
	e = create(b, &def, STR("t"));
	CHECK(e && err_is(e, ERRCODE_DUPLICATE_TABLE));
	def.if_not_exists = true;
	CHECK(!gw_ddl_create_table(&b->stmt, b->arena, &def, &created));
	CHECK(!created);
	CHECK(!drop(b, CL_TABLE, t->id, false));
	CHECK(!table_named(b, STR("t")));
	e = drop(b, CL_TABLE, t->id, false);
	CHECK(e && err_is(e, ERRCODE_UNDEFINED_TABLE));
}

static void
a_table_is_there_when_its_statement_ends(void)
{
	bench_run(3, NULL, table_body);
}

static void
keyless_body(struct bench *b)
{
	static const struct cl_column columns[] = {
	    {.id = 1, .name = {"v", 1}, .type = EX_TEXT, .typmod = -1}};
	struct gw_table_def def = {.columns = columns, .n_columns = 1};
	const struct cl_table *t;

	CHECK(!create(b, &def, STR("keyless")));
	t = table_named(b, STR("keyless"));
	CHECK(t && t->n_columns == 3 && t->n_pkey == 2);
	CHECK(t && t->columns[0].flags & CL_COL_HIDDEN);
	CHECK(
	    t && t->columns[2].id == 3 && str_eq(t->columns[2].name, STR("v")));
}

static void
a_table_without_a_key_gets_a_hidden_one(void)
{
	bench_run(1, NULL, keyless_body);
}

static void
placements_body(struct bench *b)
{
	struct str node = STR("skai2"), nobody = STR("skai9");
	struct gw_table_def def = {.replication = 1};
	const struct cl_placement *p;
	const struct cl_table *x, *y, *z;
	struct err *e;

	CHECK(!create(b, &def, STR("x")));
	CHECK(!create(b, &def, STR("y")));
	def = (struct gw_table_def){.nodes = &node, .n_nodes = 1};
	CHECK(!create(b, &def, STR("z")));
	x = table_named(b, STR("x"));
	y = table_named(b, STR("y"));
	z = table_named(b, STR("z"));
	if (!x || !y || !z) {
		CHECK(false);
		return;
	}
	CHECK(x->placement == y->placement);
	CHECK(x->placement != z->placement);
	CHECK(x->placement != CL_PLACEMENT_DEFAULT);
	p = cl_catalog_placement(now(b), z->placement);
	for (uint32_t i = 0; i < p->n_slots; i++)
		CHECK(p->slots[i].members[0] == 2 && p->slots[i].n == 1);
	def.nodes = &nobody;
	e = create(b, &def, STR("w"));
	CHECK(e && err_is(e, ERRCODE_UNDEFINED_OBJECT));
	def = (struct gw_table_def){.replication = 3};
	e = create(b, &def, STR("w"));
	CHECK(e && err_is(e, ERRCODE_FEATURE_NOT_SUPPORTED));
}

static void
equal_placements_are_shared(void)
{
	bench_run(3, NULL, placements_body);
}

/* ---- races ---- */

struct racer {
	struct bench *bench;
	struct gw_ops ops;
	struct gw_stmt stmt;
	struct arena *arena;
	struct str name;
	struct err *err;
	bool done;
	struct cond *over;
};

static void
racer_fiber(void *arg)
{
	struct racer *r = arg;
	struct gw_table_def def = {.schema = CL_SCHEMA_PUBLIC,
	    .owner = CL_ROLE_POSTGRES,
	    .name = r->name};
	bool created;

	gw_ops_init(&r->ops, r->bench->worker);
	gw_stmt_begin(&r->stmt, r->bench->worker, &r->ops, NULL, 5000000);
	r->err = gw_ddl_create_table(&r->stmt, r->arena, &def, &created);
	r->done = true;
	cond_broadcast(r->over);
}

static void
race_body(struct bench *b)
{
	struct racer racers[6];
	struct cond over;
	int won = 0, lost = 0, made = 0;

	cond_init(&over, b->world);
	for (int i = 0; i < 6; i++) {
		racers[i] = (struct racer){.bench = b,
		    .arena = arena_new(b->arena, "racer"),
		    .name = i < 3 ? STR("same")
				  : str_c(arena_printf(b->arena, "t%d", i)),
		    .over = &over};
		(void)fiber_spawn(b->world, "racer", FIBER_STACK_GATEWAY,
		    racer_fiber, &racers[i]);
	}
	for (int i = 0; i < 6; i++) {
		while (!racers[i].done)
			(void)cond_wait(&over, WORLD_FOREVER);
		if (i < 3 && !racers[i].err)
			won++;
		if (i < 3 && racers[i].err &&
		    err_is(racers[i].err, ERRCODE_DUPLICATE_TABLE))
			lost++;
		if (i >= 3 && !racers[i].err)
			made++;
	}
	CHECK(won == 1 && lost == 2);
	CHECK(made == 3);
}

static void
of_racing_changes_one_wins_and_the_others_decide_anew(void)
{
	bench_run(2, NULL, race_body);
}

static void
lost_answer_body(struct bench *b)
{
	struct gw_table_def def = {.n_columns = 0};

	b->store.nodes[0]->cut_answers = 1;
	CHECK(!create(b, &def, STR("once")));
	CHECK(table_named(b, STR("once")) != NULL);
}

static void
a_change_whose_answer_was_lost_is_no_duplicate(void)
{
	bench_run(2, NULL, lost_answer_body);
}

/* ---- open tables ---- */

static uint32_t
column_type(struct bench *b, const char *name, uint32_t *flags)
{
	const struct cl_table *t = table_named(b, STR("open"));
	const struct cl_column *c = t ? cl_table_column(t, str_c(name)) : NULL;

	*flags = c ? c->flags : 0;
	return c ? c->type : 0;
}

static void
register_body(struct bench *b)
{
	struct gw_table_def def = {.open = true};
	struct sql_new_column cols[2] = {
	    {.name = "a", .type = EX_INT8}, {.name = "b", .type = EX_TEXT}};
	const struct cl_table *t;
	uint64_t version;
	uint32_t flags;

	CHECK(!create(b, &def, STR("open")));
	cols[0].table = cols[1].table = table_named(b, STR("open"));
	CHECK(!gw_ddl_register(&b->stmt, b->arena, cols, 2));
	CHECK(column_type(b, "a", &flags) == EX_INT8);
	CHECK(flags == CL_COL_SEEN);
	CHECK(column_type(b, "b", &flags) == EX_TEXT);
	t = table_named(b, STR("open"));
	MUST(t != NULL);
	CHECK(t->version == 1);
	version = cl_catalog_version(now(b));
	CHECK(!gw_ddl_register(&b->stmt, b->arena, cols, 2));
	CHECK(cl_catalog_version(now(b)) == version);
	cols[0].type = EX_NUMERIC;
	CHECK(!gw_ddl_register(&b->stmt, b->arena, cols, 2));
	CHECK(column_type(b, "a", &flags) == EX_TEXT);
	CHECK(flags == (CL_COL_SEEN | CL_COL_MIXED));
	cols[0].type = EX_INT8;
	version = cl_catalog_version(now(b));
	CHECK(!gw_ddl_register(&b->stmt, b->arena, cols, 2));
	CHECK(cl_catalog_version(now(b)) == version);
}

static void
registering_columns_is_additive_and_idempotent(void)
{
	bench_run(1, NULL, register_body);
}

/* ---- databases, schemas, roles ---- */

static uint32_t
id_of(struct bench *b, enum cl_kind kind, uint32_t parent, struct str name)
{
	const struct cl_object *o = cl_find_name(now(b), kind, parent, name);

	return o ? o->id : 0;
}

static void
container_body(struct bench *b)
{
	struct gw_schema_def schema = {.name = STR("s")};
	uint32_t db, s;
	struct gw_table_def def = {.n_columns = 0};
	struct err *e;
	bool created;

	CHECK(!gw_ddl_create_database(
	    &b->stmt, b->arena, STR("db"), CL_ROLE_POSTGRES));
	e = gw_ddl_create_database(
	    &b->stmt, b->arena, STR("db"), CL_ROLE_POSTGRES);
	CHECK(e && err_is(e, ERRCODE_DUPLICATE_DATABASE));
	db = id_of(b, CL_DATABASE, 0, STR("db"));
	CHECK(id_of(b, CL_SCHEMA, db, STR("public")) != 0);
	schema.database = db;
	CHECK(!gw_ddl_create_schema(&b->stmt, b->arena, &schema, &created));
	CHECK(created);
	s = id_of(b, CL_SCHEMA, db, STR("s"));
	def.schema = s;
	def.name = STR("inner");
	def.owner = CL_ROLE_POSTGRES;
	CHECK(!gw_ddl_create_table(&b->stmt, b->arena, &def, &created));
	e = drop(b, CL_SCHEMA, s, false);
	CHECK(e && err_is(e, ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST));
	CHECK(!drop(b, CL_SCHEMA, s, true));
	CHECK(!id_of(b, CL_TABLE, s, STR("inner")));
	CHECK(!drop(b, CL_DATABASE, db, false));
	CHECK(!id_of(b, CL_DATABASE, 0, STR("db")));
	CHECK(!id_of(b, CL_SCHEMA, db, STR("public")));
	schema.name = STR("pg_mine");
	schema.database = CL_DB_POSTGRES;
	e = gw_ddl_create_schema(&b->stmt, b->arena, &schema, &created);
	CHECK(e && err_is(e, ERRCODE_RESERVED_NAME));
}

static void
containers_go_with_what_is_in_them_or_not_at_all(void)
{
	bench_run(1, NULL, container_body);
}

static void
role_body(struct bench *b)
{
	struct cl_role role = {.name = STR("ann"), .login = true};
	struct gw_role_change change = {.superuser = GW_SET,
	    .login = GW_CLEAR,
	    .set_verifier = true,
	    .verifier = STR("SCRAM")};
	const struct cl_object *o;
	struct err *e;

	CHECK(!gw_ddl_create_role(&b->stmt, b->arena, &role));
	e = gw_ddl_create_role(&b->stmt, b->arena, &role);
	CHECK(e && err_is(e, ERRCODE_DUPLICATE_OBJECT));
	change.id = id_of(b, CL_ROLE, 0, STR("ann"));
	CHECK(!gw_ddl_alter_role(&b->stmt, b->arena, &change));
	o = cl_find(now(b), CL_ROLE, change.id);
	CHECK(o && o->u.role.superuser && !o->u.role.login &&
	      str_eq(o->u.role.verifier, STR("SCRAM")));
	e = drop(b, CL_ROLE, CL_ROLE_POSTGRES, false);
	CHECK(e && err_is(e, ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST));
	CHECK(!drop(b, CL_ROLE, change.id, false));
}

static void
roles_are_made_changed_and_dropped(void)
{
	bench_run(1, NULL, role_body);
}

/* ---- indexes ---- */

/* Plays the members: an index that is being built becomes public, or fails. */
struct members {
	struct bench *b;
	struct arena *arena;
	struct gw_ops ops;
	struct gw_stmt stmt;
	const char *failure; /* NULL: none */
	uint32_t n;          /* so many indexes */
	bool done;
};

static struct err *
decide_state(struct gw_change *ch, void *arg)
{
	struct members *m = arg;
	const struct cl_object *o;
	struct cl_object next;
	size_t at = 0;

	ch->nothing = true;
	while ((o = cl_each(ch->catalog, CL_INDEX, &at))) {
		if (o->u.index.state != CL_INDEX_BUILDING)
			continue;
		next = *o;
		next.u.index.state =
		    m->failure ? CL_INDEX_FAILED : CL_INDEX_PUBLIC;
		if (m->failure)
			next.u.index.failure = str_c(m->failure);
		cl_ddl_replace(ch->ddl, &next);
		ch->nothing = false;
	}
	return NULL;
}

static bool
is_building(struct bench *b)
{
	const struct cl_object *o;
	size_t at = 0;

	while ((o = cl_each(now(b), CL_INDEX, &at)))
		if (o->u.index.state == CL_INDEX_BUILDING)
			return true;
	return false;
}

static void
members_fiber(void *arg)
{
	struct members *m = arg;
	struct gw_catalog *c = m->b->worker->catalog;

	for (uint32_t i = 0; i < m->n; i++) {
		while (!is_building(m->b))
			(void)gw_catalog_wait(c, gw_catalog_version(c) + 1,
			    world_mono_us(m->b->world) + 1000000);
		m->stmt = (struct gw_stmt){.row_max = 54000};
		gw_stmt_begin(
		    &m->stmt, m->b->worker, &m->ops, now(m->b), 3000000);
		CHECK(!gw_change_run(&m->stmt, m->arena, decide_state, m));
	}
	m->done = true;
}

static void
members_start(
    struct members *m, struct bench *b, const char *failure, uint32_t n)
{
	*m = (struct members){
	    .b = b, .arena = b->arena, .failure = failure, .n = n};
	gw_ops_init(&m->ops, b->worker);
	(void)fiber_spawn(
	    b->world, "members", FIBER_STACK_GATEWAY, members_fiber, m);
}

static void
members_end(struct members *m)
{
	while (!m->done)
		fiber_yield(m->b->world);
}

static struct err *
create_index(
    struct bench *b, const struct cl_table *t, const char *name, bool *created)
{
	static const struct cl_index_column column = {
	    .column = 2, .type = EX_TEXT};
	static const struct str part = {"v", 1};
	struct cl_index index = {.table = t->id,
	    .schema = t->schema,
	    .n_columns = 1,
	    .columns = &column};
	struct gw_index_def def = {
	    .index = &index, .name = str_c(name), .parts = &part};

	return gw_ddl_create_index(&b->stmt, b->arena, &def, created);
}

static const struct cl_index *
index_named(struct bench *b, const char *name)
{
	const struct cl_object *o =
	    cl_find_name(now(b), CL_INDEX, CL_SCHEMA_PUBLIC, str_c(name));

	return o && o->kind == CL_INDEX ? &o->u.index : NULL;
}

static void
named_body(struct bench *b)
{
	const struct cl_table *t = bench_table(b);
	const struct cl_index *x;
	struct members m;
	bool created;

	members_start(&m, b, NULL, 2);
	bench_stmt(b, 3000000);
	CHECK(!create_index(b, t, "", &created));
	CHECK(!create_index(b, t, "", &created) && created);
	members_end(&m);
	x = index_named(b, "t_v_idx");
	CHECK(x && x->state == CL_INDEX_PUBLIC && x->version == t->version + 1);
	x = index_named(b, "t_v_idx1");
	CHECK(x && x->version == t->version + 2);
	t = cl_catalog_table(now(b), t->id);
	CHECK(t && x && t->version == x->version);
}

static void
index_body(struct bench *b)
{
	const struct cl_table *t;
	const struct cl_index *x;
	struct err *e;
	bool created;

	named_body(b);
	t = table_named(b, STR("t"));
	x = index_named(b, "t_v_idx1");
	if (!t || !x) {
		CHECK(false);
		return;
	}
	bench_stmt(b, 3000000);
	e = create_index(b, t, "t_v_idx", &created);
	CHECK(e && err_is(e, ERRCODE_DUPLICATE_TABLE) && !created);
	e = create_index(b, t, "t_pkey", &created);
	CHECK(e && err_is(e, ERRCODE_DUPLICATE_TABLE));
	e = gw_ddl_rename_index(&b->stmt, b->arena, x->id, STR("t"));
	CHECK(e && err_is(e, ERRCODE_DUPLICATE_TABLE));
	CHECK(!gw_ddl_rename_index(&b->stmt, b->arena, x->id, STR("other")));
	CHECK(index_named(b, "other") && !index_named(b, "t_v_idx1"));
	CHECK(!drop(b, CL_INDEX, x->id, false));
	CHECK(!index_named(b, "other"));
	CHECK(!drop(b, CL_TABLE, t->id, false));
	CHECK(!index_named(b, "t_v_idx"));
}

static void
an_index_is_public_when_its_statement_ends(void)
{
	bench_run(3, NULL, index_body);
}

static void
failing_body(struct bench *b)
{
	const struct cl_table *t = bench_table(b);
	struct members m;
	struct err *e;
	bool created;

	members_start(&m, b, "22012 division by zero", 1);
	bench_stmt(b, 3000000);
	e = create_index(b, t, "i", &created);
	members_end(&m);
	CHECK(e && err_is(e, ERRCODE_DIVISION_BY_ZERO) &&
	      strcmp(e->message, "division by zero") == 0);
	CHECK(!index_named(b, "i"));
	members_start(&m, b, "a row has no key", 1);
	e = create_index(b, t, "i", &created);
	members_end(&m);
	CHECK(e && err_is(e, ERRCODE_DATA_EXCEPTION) &&
	      strcmp(e->message, "a row has no key") == 0);
	CHECK(!index_named(b, "i"));
}

static void
an_index_that_cannot_be_built_goes_with_its_statement(void)
{
	bench_run(1, NULL, failing_body);
}

static void
unfinished_body(struct bench *b)
{
	const struct cl_table *t = bench_table(b);
	const struct cl_index *x;
	struct err *e;
	bool created;

	bench_stmt(b, 300000);
	e = create_index(b, t, "i", &created);
	CHECK(e && err_is(e, ERRCODE_QUERY_CANCELED) && e->detail && e->hint);
	CHECK(e && e->detail &&
	      strcmp(e->detail, "Index \"i\" is still being built.") == 0);
	x = index_named(b, "i");
	CHECK(x && x->state == CL_INDEX_BUILDING);
}

static void
an_index_that_takes_too_long_stays(void)
{
	bench_run(1, NULL, unfinished_body);
}

CU_MAIN("ddl",
    {"a_table_is_there_when_its_statement_ends",
	a_table_is_there_when_its_statement_ends},
    {"a_table_without_a_key_gets_a_hidden_one",
	a_table_without_a_key_gets_a_hidden_one},
    {"equal_placements_are_shared", equal_placements_are_shared},
    {"of_racing_changes_one_wins_and_the_others_decide_anew",
	of_racing_changes_one_wins_and_the_others_decide_anew},
    {"a_change_whose_answer_was_lost_is_no_duplicate",
	a_change_whose_answer_was_lost_is_no_duplicate},
    {"registering_columns_is_additive_and_idempotent",
	registering_columns_is_additive_and_idempotent},
    {"containers_go_with_what_is_in_them_or_not_at_all",
	containers_go_with_what_is_in_them_or_not_at_all},
    {"roles_are_made_changed_and_dropped", roles_are_made_changed_and_dropped},
    {"an_index_is_public_when_its_statement_ends",
	an_index_is_public_when_its_statement_ends},
    {"an_index_that_cannot_be_built_goes_with_its_statement",
	an_index_that_cannot_be_built_goes_with_its_statement},
    {"an_index_that_takes_too_long_stays", an_index_that_takes_too_long_stays})
