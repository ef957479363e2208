#include "cluster/ddl.h"

#include <stdio.h>

#include "base/map.h"
#include "cluster/row.h"
#include "cluster/t/vec.h"

/* A catalog group in small: rows by key, each proposal judged as the group's
 * leader would. */
struct group {
	struct arena *arena;
	struct map *rows; /* key -> struct str */
	struct cl_catalog *catalog;
	cl_stamp stamp;
};

static bool
live(const struct group *g, struct str key, cl_stamp *stamp)
{
	struct str *row = map_get(g->rows, key);
	struct cl_row_head h;

	*stamp = 0;
	if (!row)
		return false;
	MUST(cl_row_head(*row, &h));
	*stamp = h.stamp;
	return true;
}

static bool
holds(const struct group *g, const struct cl_cond *c)
{
	cl_stamp s;
	bool is = live(g, c->key, &s);

	switch (c->kind) {
	case CL_COND_ABSENT:
		return !is;
	case CL_COND_STAMP:
		return is && s == c->arg;
	default:
		return false;
	}
}

static void
apply_writes(struct group *g, const struct cl_propose *prop)
{
	for (uint32_t i = 0; i < prop->n_writes; i++) {
		const struct cl_write *w = &prop->writes[i];
		struct str *row = NEW(g->arena, struct str);
		void *p;

		if (w->kind == CL_WRITE_DELETE) {
			CHECK(map_del(g->rows, w->key) != NULL);
			continue;
		}
		p = arena_dup(g->arena, w->value.p, w->value.len);
		cl_row_set_stamp(p, g->stamp);
		*row = str_of(p, w->value.len);
		map_put(g->rows, w->key, row);
	}
}

/* The snapshot anew from all rows. */
static void
reload(struct group *g)
{
	struct cl_object *o =
	    NEW_N(g->arena, struct cl_object, map_count(g->rows) + 1);
	const struct cl_object **v =
	    NEW_N(g->arena, const struct cl_object *, map_count(g->rows) + 1);
	struct cl_catalog *none = cl_catalog_new();
	size_t n = 0, at = 0;
	struct str key;
	void *row;

	while (map_next(g->rows, &at, &key, &row)) {
		enum cl_kind kind;
		uint32_t id;

		if (!cl_object_key_read(key, &kind, &id))
			continue;
		MUST(!cl_object_row_read(
		    g->arena, key, *(struct str *)row, &o[n]));
		o[n].version = g->stamp;
		v[n] = &o[n];
		n++;
	}
	cl_catalog_unref(g->catalog);
	g->catalog = cl_catalog_apply(none, g->stamp, v, n);
	cl_catalog_unref(none);
}

static bool
propose(struct group *g, const struct cl_propose *p)
{
	CHECK(p->placement == CL_PLACEMENT_CATALOG && p->slot == 0);
	CHECK(p->epoch == 1);
	for (uint32_t i = 0; i < p->n_conds; i++)
		if (!holds(g, &p->conds[i]))
			return false;
	g->stamp++;
	apply_writes(g, p);
	reload(g);
	return true;
}

static bool
commit(struct group *g, struct cl_ddl *d)
{
	struct cl_propose p;

	memset(&p, 0, sizeof p);
	MUST(!cl_ddl_propose(d, &p));
	return propose(g, &p);
}

static struct group
new_cluster(const char *user)
{
	struct arena *a = vec_arena();
	struct group g = {a, map_new(a), NULL, 100};
	struct cl_bootstrap how = {{1, 2, 3}, 256, 3, 7, STR("skai1"),
	    STR("127.0.0.1:7000"), STR("z1"), str_c(user)};
	struct cl_propose p;

	memset(&p, 0, sizeof p);
	cl_catalog_bootstrap(a, &how, &p);
	for (uint32_t i = 0; i < p.n_conds; i++)
		CHECK(p.conds[i].kind == CL_COND_ABSENT);
	CHECK(p.n_conds == p.n_writes);
	CHECK(propose(&g, &p));
	return g;
}

static struct cl_ddl *
ddl(struct group *g)
{
	return cl_ddl_new(g->arena, g->catalog);
}

static struct cl_object
table(uint32_t id, const char *name)
{
	struct cl_object o = {.kind = CL_TABLE, .id = id};

	o.u.table = (struct cl_table){.id = id,
	    .database = CL_DB_POSTGRES,
	    .schema = CL_SCHEMA_PUBLIC,
	    .owner = CL_ROLE_POSTGRES,
	    .name = str_c(name),
	    .next_column = 1};
	return o;
}

/* CREATE TABLE; the id it got. */
static struct cl_ddl *
create_table(struct group *g, const char *name, uint32_t *id)
{
	struct cl_ddl *d = ddl(g);
	struct cl_object o;

	cl_ddl_require(d, CL_SCHEMA, CL_SCHEMA_PUBLIC);
	*id = cl_ddl_ids(d, 1);
	o = table(*id, name);
	cl_ddl_create(d, &o);
	return d;
}

static uint32_t
find_table(const struct group *g, const char *name)
{
	const struct cl_object *o =
	    cl_find_name(g->catalog, CL_TABLE, CL_SCHEMA_PUBLIC, str_c(name));

	return o ? o->id : 0;
}

static void
name_row_agrees(const struct group *g, enum cl_kind kind, uint32_t parent,
    const char *name, bool there)
{
	struct buf b;
	cl_stamp s;

	buf_init(&b, g->arena);
	cl_name_key(&b, kind, parent, str_c(name));
	CHECK(live(g, buf_view(&b), &s) == there);
}

static void
a_new_cluster_has_its_first_objects(void)
{
	struct group g = new_cluster("");
	const struct cl_catalog *c = g.catalog;
	const struct cl_object *o;

	CHECK(cl_catalog_count(c) == 8);
	MUST(cl_catalog_cluster(c) != NULL);
	CHECK(cl_catalog_cluster(c)->slots == 256);
	CHECK(cl_catalog_cluster(c)->replication == 3);
	CHECK(cl_catalog_cluster(c)->level == CL_FEATURE_LEVEL);
	CHECK(cl_catalog_cluster(c)->id[2] == 3);
	o = cl_find_name(c, CL_MEMBER, 0, STR("skai1"));
	MUST(o != NULL);
	CHECK(o->id == 1 && o->u.member.incarnation == 7);
	CHECK(str_eq(o->u.member.addr, STR("127.0.0.1:7000")));
	CHECK(str_eq(o->u.member.zone, STR("z1")));
	MUST(cl_catalog_placement(c, CL_PLACEMENT_CATALOG) != NULL);
	CHECK(cl_catalog_placement(c, CL_PLACEMENT_CATALOG)->n_slots == 1);
	MUST(cl_catalog_placement(c, CL_PLACEMENT_DEFAULT) != NULL);
	CHECK(cl_catalog_placement(c, CL_PLACEMENT_DEFAULT)->n_slots == 0);
	o = cl_find_name(c, CL_ROLE, 0, STR("postgres"));
	MUST(o != NULL);
	CHECK(o->id == CL_ROLE_POSTGRES && o->u.role.superuser);
	CHECK(o->u.role.login && !o->u.role.verifier.len);
	o = cl_find_name(c, CL_DATABASE, 0, STR("postgres"));
	CHECK(o && o->id == CL_DB_POSTGRES);
	o = cl_find_name(c, CL_SCHEMA, CL_DB_POSTGRES, STR("public"));
	CHECK(o && o->id == CL_SCHEMA_PUBLIC);
	o = cl_find(c, CL_COUNTER, 0);
	MUST(o != NULL);
	CHECK(o->u.counter.next_id == CL_ID_FIRST);
	CHECK(o->u.counter.next_member == 2);
	CHECK(o->u.counter.next_placement == 2);
	cl_catalog_unref(g.catalog);
}

static void
a_new_cluster_may_have_a_users_role_and_database(void)
{
	struct group g = new_cluster("ann");
	const struct cl_object *role, *db, *schema;

	role = cl_find_name(g.catalog, CL_ROLE, 0, STR("ann"));
	db = cl_find_name(g.catalog, CL_DATABASE, 0, STR("ann"));
	MUST(role && db);
	CHECK(role->u.role.superuser && role->u.role.login);
	CHECK(db->u.database.owner == role->id);
	schema = cl_find_name(g.catalog, CL_SCHEMA, db->id, STR("public"));
	MUST(schema != NULL);
	CHECK(cl_find(g.catalog, CL_COUNTER, 0)->u.counter.next_id ==
	      CL_ID_FIRST + 3);
	CHECK(schema->id == CL_ID_FIRST + 2);
	cl_catalog_unref(g.catalog);
	g = new_cluster("postgres");
	CHECK(cl_catalog_count(g.catalog) == 8);
	cl_catalog_unref(g.catalog);
}

static void
of_two_creates_of_one_name_one_wins(void)
{
	struct group g = new_cluster("");
	uint32_t a, b;
	struct cl_ddl *x = create_table(&g, "t", &a);
	struct cl_ddl *y = create_table(&g, "t", &b);

	CHECK(a == CL_ID_FIRST && b == a);
	CHECK(commit(&g, x));
	CHECK(!commit(&g, y));
	CHECK(find_table(&g, "t") == a);
	cl_catalog_unref(g.catalog);
}

static void
ids_are_never_given_twice(void)
{
	struct group g = new_cluster("");
	uint32_t a, b, c;
	struct cl_ddl *x = create_table(&g, "x", &a);
	struct cl_ddl *y = create_table(&g, "y", &b);

	CHECK(commit(&g, x));
	/* Another name, but the id of x. */
	CHECK(!commit(&g, y));
	y = create_table(&g, "y", &b);
	CHECK(cl_ddl_ids(y, 5) == b + 1);
	CHECK(cl_ddl_member_id(y) == 2 && cl_ddl_member_id(y) == 3);
	CHECK(cl_ddl_placement_id(y) == 2);
	CHECK(commit(&g, y));
	CHECK(b == a + 1);
	(void)create_table(&g, "z", &c);
	CHECK(c == b + 6);
	CHECK(cl_find(g.catalog, CL_COUNTER, 0)->u.counter.next_member == 4);
	cl_catalog_unref(g.catalog);
}

static void
a_replace_loses_against_an_earlier_one(void)
{
	struct group g = new_cluster("");
	struct cl_ddl *x, *y;
	struct cl_object o;
	uint32_t id;

	CHECK(commit(&g, create_table(&g, "t", &id)));
	x = ddl(&g);
	y = ddl(&g);
	o = table(id, "t");
	o.u.table.version = 1;
	cl_ddl_replace(x, &o);
	o.u.table.version = 2;
	cl_ddl_replace(y, &o);
	CHECK(commit(&g, x));
	CHECK(!commit(&g, y));
	CHECK(cl_catalog_table(g.catalog, id)->version == 1);
	cl_catalog_unref(g.catalog);
}

static void
a_rename_moves_the_name(void)
{
	struct group g = new_cluster("");
	struct cl_ddl *d;
	struct cl_object o;
	uint32_t id, other;

	CHECK(commit(&g, create_table(&g, "t", &id)));
	CHECK(commit(&g, create_table(&g, "taken", &other)));
	d = ddl(&g);
	o = table(id, "taken");
	cl_ddl_replace(d, &o);
	CHECK(!commit(&g, d));
	d = ddl(&g);
	o = table(id, "u");
	cl_ddl_replace(d, &o);
	CHECK(commit(&g, d));
	CHECK(find_table(&g, "u") == id && !find_table(&g, "t"));
	name_row_agrees(&g, CL_TABLE, CL_SCHEMA_PUBLIC, "t", false);
	name_row_agrees(&g, CL_TABLE, CL_SCHEMA_PUBLIC, "u", true);
	CHECK(commit(&g, create_table(&g, "t", &other)));
	cl_catalog_unref(g.catalog);
}

/* Swapping two names in one change. */
static void
a_name_freed_in_a_change_can_be_taken_in_it(void)
{
	struct group g = new_cluster("");
	struct cl_ddl *d;
	struct cl_object o;
	uint32_t a, b;

	CHECK(commit(&g, create_table(&g, "a", &a)));
	CHECK(commit(&g, create_table(&g, "b", &b)));
	d = ddl(&g);
	o = table(a, "tmp");
	cl_ddl_replace(d, &o);
	o = table(b, "a");
	cl_ddl_replace(d, &o);
	o = table(a, "b");
	cl_ddl_replace(d, &o);
	CHECK(commit(&g, d));
	CHECK(find_table(&g, "a") == b && find_table(&g, "b") == a);
	name_row_agrees(&g, CL_TABLE, CL_SCHEMA_PUBLIC, "a", true);
	name_row_agrees(&g, CL_TABLE, CL_SCHEMA_PUBLIC, "b", true);
	name_row_agrees(&g, CL_TABLE, CL_SCHEMA_PUBLIC, "tmp", false);
	cl_catalog_unref(g.catalog);
}

static void
a_drop_removes_object_and_name(void)
{
	struct group g = new_cluster("");
	struct cl_ddl *d;
	uint32_t id;

	CHECK(commit(&g, create_table(&g, "t", &id)));
	d = ddl(&g);
	cl_ddl_drop(d, CL_TABLE, id);
	CHECK(commit(&g, d));
	CHECK(!find_table(&g, "t") && !cl_catalog_table(g.catalog, id));
	name_row_agrees(&g, CL_TABLE, CL_SCHEMA_PUBLIC, "t", false);
	/* Its successor has another id. */
	CHECK(commit(&g, create_table(&g, "t", &id)));
	CHECK(id == CL_ID_FIRST + 1);
	cl_catalog_unref(g.catalog);
}

static void
a_create_in_a_dropped_schema_loses(void)
{
	struct group g = new_cluster("");
	struct cl_ddl *d = ddl(&g), *late;
	uint32_t id;

	late = create_table(&g, "t", &id);
	cl_ddl_drop(d, CL_SCHEMA, CL_SCHEMA_PUBLIC);
	CHECK(commit(&g, d));
	CHECK(!commit(&g, late));
	cl_catalog_unref(g.catalog);
}

static void
a_drop_of_a_schema_loses_against_a_create_in_it(void)
{
	struct group g = new_cluster("");
	struct cl_ddl *d = ddl(&g);
	uint32_t id;

	cl_ddl_drop(d, CL_SCHEMA, CL_SCHEMA_PUBLIC);
	CHECK(commit(&g, create_table(&g, "t", &id)));
	CHECK(!commit(&g, d));
	CHECK(find_table(&g, "t") == id);
	cl_catalog_unref(g.catalog);
}

static void
an_object_made_in_a_change_can_be_replaced_in_it(void)
{
	struct group g = new_cluster("");
	uint32_t id;
	struct cl_ddl *d = create_table(&g, "t", &id);
	struct cl_object o = table(id, "t2");
	struct cl_propose p;

	o.u.table.version = 9;
	cl_ddl_replace(d, &o);
	memset(&p, 0, sizeof p);
	MUST(!cl_ddl_propose(d, &p));
	/* Counter, table, its name: nothing is said of the first name. */
	CHECK(p.n_writes == 3);
	for (uint32_t i = 0; i < p.n_writes; i++)
		CHECK(p.writes[i].kind == CL_WRITE_PUT);
	CHECK(propose(&g, &p));
	CHECK(find_table(&g, "t2") == id && !find_table(&g, "t"));
	CHECK(cl_catalog_table(g.catalog, id)->version == 9);
	cl_catalog_unref(g.catalog);
}

static void
an_object_made_and_dropped_in_a_change_leaves_nothing(void)
{
	struct group g = new_cluster("");
	uint32_t id;
	struct cl_ddl *d = create_table(&g, "t", &id);
	struct cl_propose p;

	memset(&p, 0, sizeof p);
	cl_ddl_drop(d, CL_TABLE, id);
	MUST(!cl_ddl_propose(d, &p));
	CHECK(p.n_writes == 1); /* the counter */
	CHECK(propose(&g, &p));
	cl_catalog_unref(g.catalog);
}

static void
used_up_ids_are_an_error(void)
{
	struct group g = new_cluster("");
	struct cl_ddl *d = ddl(&g);
	struct cl_propose p;
	struct err *e;

	CHECK(cl_ddl_ids(d, UINT32_MAX) == 0);
	e = cl_ddl_propose(d, &p);
	MUST(e != NULL);
	CHECK(err_is(e, ERRCODE_PROGRAM_LIMIT_EXCEEDED));
	CHECK_STR(e->message, "the cluster has no object ids left");
	cl_catalog_unref(g.catalog);
}

static void
touching_the_counter_conflicts_with_whoever_takes_ids(void)
{
	struct group g = new_cluster("");
	struct cl_ddl *d = ddl(&g);
	uint32_t id;

	CHECK(cl_ddl_ids(d, 0) == CL_ID_FIRST);
	CHECK(commit(&g, create_table(&g, "t", &id)));
	CHECK(!commit(&g, d));
	cl_catalog_unref(g.catalog);
}

CU_MAIN("ddl",
    {"a_new_cluster_has_its_first_objects",
	a_new_cluster_has_its_first_objects},
    {"a_new_cluster_may_have_a_users_role_and_database",
	a_new_cluster_may_have_a_users_role_and_database},
    {"of_two_creates_of_one_name_one_wins",
	of_two_creates_of_one_name_one_wins},
    {"ids_are_never_given_twice", ids_are_never_given_twice},
    {"a_replace_loses_against_an_earlier_one",
	a_replace_loses_against_an_earlier_one},
    {"a_rename_moves_the_name", a_rename_moves_the_name},
    {"a_name_freed_in_a_change_can_be_taken_in_it",
	a_name_freed_in_a_change_can_be_taken_in_it},
    {"a_drop_removes_object_and_name", a_drop_removes_object_and_name},
    {"a_create_in_a_dropped_schema_loses", a_create_in_a_dropped_schema_loses},
    {"a_drop_of_a_schema_loses_against_a_create_in_it",
	a_drop_of_a_schema_loses_against_a_create_in_it},
    {"an_object_made_in_a_change_can_be_replaced_in_it",
	an_object_made_in_a_change_can_be_replaced_in_it},
    {"an_object_made_and_dropped_in_a_change_leaves_nothing",
	an_object_made_and_dropped_in_a_change_leaves_nothing},
    {"used_up_ids_are_an_error", used_up_ids_are_an_error},
    {"touching_the_counter_conflicts_with_whoever_takes_ids",
	touching_the_counter_conflicts_with_whoever_takes_ids})
