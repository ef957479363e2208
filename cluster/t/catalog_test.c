#include "cluster/catalog.h"

#include <stdio.h>

#include "cluster/t/vec.h"

static struct cl_object
database(uint32_t id, const char *name, uint64_t version)
{
	struct cl_object o = {
	    .kind = CL_DATABASE, .id = id, .version = version};

	o.u.database = (struct cl_database){id, 10, str_c(name)};
	return o;
}

static struct cl_object
deleted(enum cl_kind kind, uint32_t id, uint64_t version)
{
	return (struct cl_object){
	    .kind = kind, .id = id, .version = version, .deleted = true};
}

/* Applies one object and lets go of the base. */
static struct cl_catalog *
then(struct cl_catalog *base, struct cl_object o)
{
	const struct cl_object *v[] = {&o};
	struct cl_catalog *c = cl_catalog_apply(base, o.version, v, 1);

	cl_catalog_unref(base);
	return c;
}

static void
an_empty_catalog_has_nothing(void)
{
	struct cl_catalog *c = cl_catalog_new();
	size_t at = 0;

	CHECK(cl_catalog_version(c) == 0 && cl_catalog_count(c) == 0);
	CHECK(!cl_find(c, CL_TABLE, 1) && !cl_catalog_cluster(c));
	CHECK(!cl_find_name(c, CL_DATABASE, 0, STR("x")));
	CHECK(!cl_each(c, CL_TABLE, &at));
	CHECK(!cl_each(c, CL_TABLE, &at));
	CHECK(cl_catalog_changes(c, 0, NULL, 0) == 0);
	cl_catalog_unref(c);
	cl_catalog_unref(NULL);
}

static void
objects_are_found_by_id_and_name(void)
{
	struct cl_catalog *c = cl_catalog_new();
	const struct cl_object *o;
	size_t at = 0;

	c = then(c, database(30, "c", 1));
	c = then(c, database(10, "a", 2));
	c = then(c, database(20, "b", 3));
	CHECK(cl_catalog_version(c) == 3);
	o = cl_find(c, CL_DATABASE, 20);
	MUST(o != NULL);
	CHECK(str_eq(o->u.database.name, STR("b")) && o->version == 3);
	CHECK(cl_find_name(c, CL_DATABASE, 0, STR("b")) == o);
	CHECK(!cl_find_name(c, CL_DATABASE, 1, STR("b")));
	CHECK(!cl_find_name(c, CL_ROLE, 0, STR("b")));
	CHECK(!cl_find(c, CL_ROLE, 20) && !cl_find(c, CL_DATABASE, 21));
	for (uint32_t id = 10; id <= 30; id += 10) {
		o = cl_each(c, CL_DATABASE, &at);
		CHECK(o && o->id == id);
	}
	CHECK(!cl_each(c, CL_DATABASE, &at) && !cl_each(c, CL_DATABASE, &at));
	cl_catalog_unref(c);
}

static void
a_rename_leaves_no_old_name(void)
{
	struct cl_catalog *c = then(cl_catalog_new(), database(1, "old", 1));
	const struct cl_object *o;

	c = then(c, database(1, "new", 2));
	CHECK(!cl_find_name(c, CL_DATABASE, 0, STR("old")));
	o = cl_find_name(c, CL_DATABASE, 0, STR("new"));
	CHECK(o && o->id == 1);
	/* Another takes the old name at once. */
	c = then(c, database(2, "old", 3));
	o = cl_find_name(c, CL_DATABASE, 0, STR("old"));
	CHECK(o && o->id == 2);
	cl_catalog_unref(c);
}

static void
snapshots_do_not_change_when_the_catalog_does(void)
{
	struct cl_catalog *a = then(cl_catalog_new(), database(1, "x", 1));
	struct cl_catalog *held = cl_catalog_ref(a), *b;
	const struct cl_object *o = cl_find(held, CL_DATABASE, 1);

	b = then(a, database(1, "y", 2));
	b = then(b, deleted(CL_DATABASE, 1, 3));
	CHECK(!cl_find(b, CL_DATABASE, 1));
	CHECK(cl_find(held, CL_DATABASE, 1) == o);
	CHECK(str_eq(o->u.database.name, STR("x")));
	CHECK(cl_find_name(held, CL_DATABASE, 0, STR("x")) == o);
	cl_catalog_unref(b);
	CHECK(str_eq(o->u.database.name, STR("x")));
	cl_catalog_unref(held);
}

static void
unchanged_objects_are_shared(void)
{
	struct cl_catalog *a = then(cl_catalog_new(), database(1, "x", 1));
	struct cl_catalog *held = cl_catalog_ref(a);
	struct cl_catalog *b = then(a, database(2, "y", 2));

	CHECK(cl_find(held, CL_DATABASE, 1) == cl_find(b, CL_DATABASE, 1));
	cl_catalog_unref(held);
	CHECK(str_eq(cl_find(b, CL_DATABASE, 1)->u.database.name, STR("x")));
	cl_catalog_unref(b);
}

static void
the_last_of_a_kind_and_id_counts(void)
{
	struct cl_object x = database(1, "a", 5), y = database(1, "b", 5);
	struct cl_object z = database(1, "c", 5);
	const struct cl_object *v[] = {&x, &y, &z};
	struct cl_catalog *none = cl_catalog_new();
	struct cl_catalog *c = cl_catalog_apply(none, 5, v, 3);

	CHECK(cl_catalog_count(c) == 1);
	CHECK(cl_find_name(c, CL_DATABASE, 0, STR("c")) != NULL);
	CHECK(!cl_find_name(c, CL_DATABASE, 0, STR("a")));
	cl_catalog_unref(c);
	cl_catalog_unref(none);
}

static void
changes_name_what_is_newer_deletions_included(void)
{
	struct cl_catalog *c = cl_catalog_new();
	const struct cl_object *out[8];

	c = then(c, database(1, "a", 1));
	c = then(c, database(2, "b", 2));
	c = then(c, deleted(CL_DATABASE, 1, 3));
	c = then(c, database(3, "c", 4));
	CHECK(cl_catalog_changes(c, 4, out, 8) == 0);
	CHECK(cl_catalog_changes(c, 2, out, 8) == 2);
	CHECK(out[0]->id == 1 && out[0]->deleted && out[1]->id == 3);
	CHECK(cl_catalog_changes(c, 1, out, 8) == 3);
	CHECK(cl_catalog_changes(c, 1, out, 2) == 2);
	CHECK(out[1]->id == 2);
	CHECK(cl_catalog_floor(c) == 1);
	cl_catalog_unref(c);
}

static void
forgotten_deletions_raise_the_floor(void)
{
	struct cl_catalog *c = then(cl_catalog_new(), database(1, "a", 1));
	static const struct cl_object *out[4096];
	size_t n;

	for (uint32_t i = 2; i < 3000; i++) {
		c = then(c, database(i, "x", i * 2));
		c = then(c, deleted(CL_DATABASE, i, i * 2 + 1));
	}
	CHECK(cl_catalog_count(c) <= 1025);
	CHECK(cl_catalog_floor(c) > 1);
	/* From the floor on nothing is missing. */
	n = cl_catalog_changes(c, cl_catalog_floor(c), out, 4096);
	CHECK(n == (cl_catalog_version(c) - cl_catalog_floor(c)) / 2);
	CHECK(n >= 512);
	CHECK(cl_find(c, CL_DATABASE, 1) != NULL);
	cl_catalog_unref(c);
}

/* Against a plain array, with many snapshots alive at once. */
#define IDS  40
#define HELD 16

struct model {
	char name[IDS][8];
};

static void
check_model(const struct cl_catalog *c, const struct model *m)
{
	size_t at = 0;

	for (uint32_t i = 0; i < IDS; i++) {
		const struct cl_object *o = cl_find(c, CL_DATABASE, i), *n;

		MUST((o != NULL) == (m->name[i][0] != 0));
		if (!o)
			continue;
		MUST(str_eq(o->u.database.name, str_c(m->name[i])));
		n = cl_find_name(c, CL_DATABASE, 0, o->u.database.name);
		MUST(n == o);
		MUST(cl_each(c, CL_DATABASE, &at) == o);
	}
	MUST(!cl_each(c, CL_DATABASE, &at));
}

static void
random_change(struct model *m, struct cl_object *o, uint64_t version)
{
	uint32_t id = (uint32_t)vec_below(IDS);

	if (m->name[id][0] && vec_below(3) == 0) {
		m->name[id][0] = 0;
		*o = deleted(CL_DATABASE, id, version);
		return;
	}
	snprintf(m->name[id], sizeof m->name[id], "%c%u",
	    (int)('a' + vec_below(20)), (unsigned)id);
	*o = database(id, arena_strdup(vec_arena(), m->name[id]), version);
}

static void
random_changes_agree_with_a_model(void)
{
	static struct model models[HELD];
	struct cl_catalog *held[HELD];

	memset(models, 0, sizeof models);
	for (size_t i = 0; i < HELD; i++)
		held[i] = cl_catalog_new();
	for (uint64_t version = 1; version < 3000; version++) {
		size_t from = (size_t)vec_below(HELD);
		size_t to = (size_t)vec_below(HELD);
		struct model m = models[from];
		struct cl_object o;
		const struct cl_object *v[] = {&o};
		struct cl_catalog *c;

		random_change(&m, &o, version);
		c = cl_catalog_apply(held[from], version, v, 1);
		check_model(c, &m);
		cl_catalog_unref(held[to]);
		held[to] = c;
		models[to] = m;
	}
	for (size_t i = 0; i < HELD; i++) {
		check_model(held[i], &models[i]);
		cl_catalog_unref(held[i]);
	}
}

static struct cl_object
sequence(uint32_t id, const char *name, uint64_t version)
{
	struct cl_object o = {
	    .kind = CL_SEQUENCE, .id = id, .version = version};

	o.u.sequence = (struct cl_sequence){.id = id,
	    .schema = 7,
	    .name = str_c(name),
	    .increment = 1,
	    .min = 1,
	    .max = 2,
	    .start = 1,
	    .cache = 1};
	return o;
}

static struct cl_object
table(uint32_t id, const char *name, uint64_t version)
{
	struct cl_object o = {.kind = CL_TABLE, .id = id, .version = version};

	o.u.table = (struct cl_table){.id = id,
	    .schema = 7,
	    .name = str_c(name),
	    .placement = 5,
	    .next_column = 1};
	return o;
}

static struct cl_object
an_index(uint32_t id, uint32_t of, const char *name, uint64_t version)
{
	static const struct cl_index_column by = {.column = 1};
	struct cl_object o = {.kind = CL_INDEX, .id = id, .version = version};

	o.u.index = (struct cl_index){.id = id,
	    .schema = 7,
	    .table = of,
	    .name = str_c(name),
	    .state = CL_INDEX_PUBLIC,
	    .n_columns = 1,
	    .columns = &by};
	return o;
}

static void
indexes_are_found_by_table_and_by_name(void)
{
	struct cl_catalog *c = then(cl_catalog_new(), table(20, "b", 1));
	const struct cl_index *x;
	const struct cl_object *o;
	uint32_t id = 20, placement;
	size_t at = 0;

	c = then(c, an_index(30, 20, "i", 2));
	c = then(c, an_index(31, 21, "j", 3));
	c = then(c, an_index(32, 20, "k", 4));
	c = then(c, an_index(33, 20, "l", 5));
	c = then(c, deleted(CL_INDEX, 32, 6));
	x = cl_index_each(c, 20, &at);
	CHECK(x && x->id == 30);
	x = cl_index_each(c, 20, &at);
	CHECK(x && x->id == 33);
	CHECK(!cl_index_each(c, 20, &at));
	at = 0;
	CHECK(!cl_index_each(c, 22, &at));
	/* In the space of tables' names; no rows are theirs. */
	o = cl_find_relation(c, 7, STR("i"));
	CHECK(
	    o && o->kind == CL_INDEX && cl_catalog_index(c, 30) == &o->u.index);
	CHECK(!cl_find_name(c, CL_TABLE, 7, STR("i")));
	CHECK(!cl_find_relation(c, 7, STR("k")) && !cl_catalog_index(c, 32));
	CHECK(!cl_catalog_rows_of(c, 30, &placement));
	CHECK(!cl_catalog_rows_next(c, &id, &placement));
	cl_catalog_unref(c);
}

static void
tables_and_sequences_share_their_names(void)
{
	struct cl_catalog *c = then(cl_catalog_new(), table(20, "b", 1));
	const struct cl_object *o;

	c = then(c, sequence(30, "a", 2));
	c = then(c, sequence(31, "c", 3));
	o = cl_find_relation(c, 7, STR("a"));
	CHECK(o && o->kind == CL_SEQUENCE && o->id == 30);
	o = cl_find_relation(c, 7, STR("b"));
	CHECK(o && o->kind == CL_TABLE && o->id == 20);
	CHECK(!cl_find_relation(c, 7, STR("d")));
	CHECK(!cl_find_relation(c, 8, STR("a")));
	/* By kind, only what is of it. */
	CHECK(!cl_find_name(c, CL_TABLE, 7, STR("a")));
	CHECK(!cl_find_name(c, CL_SEQUENCE, 7, STR("b")));
	o = cl_find_name(c, CL_SEQUENCE, 7, STR("c"));
	CHECK(o && o->id == 31);
	cl_catalog_unref(c);
}

static void
rows_are_of_tables_and_sequences(void)
{
	struct cl_catalog *c = then(cl_catalog_new(), table(20, "b", 1));
	uint32_t placement = 0;

	c = then(c, sequence(30, "a", 2));
	c = then(c, database(40, "a", 3));
	CHECK(cl_catalog_rows_of(c, 20, &placement) && placement == 5);
	CHECK(cl_catalog_rows_of(c, 30, &placement) &&
	      placement == CL_PLACEMENT_DEFAULT);
	CHECK(!cl_catalog_rows_of(c, 40, &placement));
	c = then(c, table(35, "c", 3));
	for (uint32_t i = 0, id = 0; i < 3; i++) {
		static const uint32_t ids[] = {20, 30, 35};

		CHECK(cl_catalog_rows_next(c, &id, &placement));
		CHECK(id == ids[i] && (placement == 5) == (i != 1));
		CHECK(i < 2 || !cl_catalog_rows_next(c, &id, &placement));
	}
	c = then(c, deleted(CL_SEQUENCE, 30, 4));
	CHECK(!cl_catalog_rows_of(c, 30, &placement));
	cl_catalog_unref(c);
}

static void
dropped_and_hidden_columns_have_no_name(void)
{
	static const struct cl_column columns[] = {
	    {1, {"k", 1}, 20, -1, CL_COL_HIDDEN, {NULL, 0}},
	    {2, {"a", 1}, 23, -1, CL_COL_DROPPED, {NULL, 0}},
	    {3, {"a", 1}, 25, -1, 0, {NULL, 0}}};
	struct cl_table t = {.columns = columns, .n_columns = 3};

	CHECK(!cl_table_column(&t, STR("k")));
	CHECK(cl_table_column(&t, STR("a")) == &columns[2]);
	CHECK(cl_table_column_id(&t, 1) == &columns[0]);
	CHECK(cl_table_column_id(&t, 2) == &columns[1]);
	CHECK(!cl_table_column_id(&t, 4));
}

CU_MAIN("catalog",
    {"an_empty_catalog_has_nothing", an_empty_catalog_has_nothing},
    {"objects_are_found_by_id_and_name", objects_are_found_by_id_and_name},
    {"a_rename_leaves_no_old_name", a_rename_leaves_no_old_name},
    {"snapshots_do_not_change_when_the_catalog_does",
	snapshots_do_not_change_when_the_catalog_does},
    {"unchanged_objects_are_shared", unchanged_objects_are_shared},
    {"the_last_of_a_kind_and_id_counts", the_last_of_a_kind_and_id_counts},
    {"changes_name_what_is_newer_deletions_included",
	changes_name_what_is_newer_deletions_included},
    {"forgotten_deletions_raise_the_floor",
	forgotten_deletions_raise_the_floor},
    {"random_changes_agree_with_a_model", random_changes_agree_with_a_model},
    {"indexes_are_found_by_table_and_by_name",
	indexes_are_found_by_table_and_by_name},
    {"tables_and_sequences_share_their_names",
	tables_and_sequences_share_their_names},
    {"rows_are_of_tables_and_sequences", rows_are_of_tables_and_sequences},
    {"dropped_and_hidden_columns_have_no_name",
	dropped_and_hidden_columns_have_no_name})
