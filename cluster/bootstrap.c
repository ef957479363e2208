/* The catalog of a new cluster. */
#include "cluster/ddl.h"

static void
create_cluster(struct cl_ddl *d, const struct cl_bootstrap *how)
{
	struct cl_object o = {.kind = CL_CLUSTER};
	struct cl_object m = {.kind = CL_MEMBER, .id = 1};

	memcpy(o.u.cluster.id, how->cluster, sizeof how->cluster);
	o.u.cluster.slots = how->slots;
	o.u.cluster.replication = how->replication;
	o.u.cluster.level = CL_FEATURE_LEVEL;
	cl_ddl_create(d, &o);
	m.u.member = (struct cl_member){.id = 1,
	    .incarnation = how->incarnation,
	    .alias = how->alias,
	    .addr = how->addr,
	    .zone = how->zone,
	    .level = CL_FEATURE_LEVEL};
	cl_ddl_create(d, &m);
}

static void
create_placements(struct cl_ddl *d)
{
	static const uint32_t first_member = 1;
	static const struct cl_slot_map slot = {1, 1, {1}};
	struct cl_object catalog = {
	    .kind = CL_PLACEMENT, .id = CL_PLACEMENT_CATALOG};
	struct cl_object deflt = {
	    .kind = CL_PLACEMENT, .id = CL_PLACEMENT_DEFAULT};

	catalog.u.placement = (struct cl_placement){.id = CL_PLACEMENT_CATALOG,
	    .kind = CL_PLACE_PINS,
	    .n_pins = 1,
	    .pins = &first_member,
	    .n_slots = 1,
	    .slots = &slot};
	cl_ddl_create(d, &catalog);
	deflt.u.placement = (struct cl_placement){
	    .id = CL_PLACEMENT_DEFAULT, .kind = CL_PLACE_CLUSTER};
	cl_ddl_create(d, &deflt);
}

static void
create_role(struct cl_ddl *d, uint32_t id, struct str name)
{
	struct cl_object o = {.kind = CL_ROLE, .id = id};

	o.u.role = (struct cl_role){.id = id,
	    .name = name,
	    .superuser = true,
	    .login = true,
	    .createdb = true,
	    .createrole = true};
	cl_ddl_create(d, &o);
}

static void
create_database(struct cl_ddl *d, const struct cl_database *db, uint32_t public)
{
	struct cl_object o = {.kind = CL_DATABASE, .id = db->id};
	struct cl_object s = {.kind = CL_SCHEMA, .id = public};

	o.u.database = *db;
	cl_ddl_create(d, &o);
	s.u.schema = (struct cl_schema){public, db->id, STR("public")};
	cl_ddl_create(d, &s);
}

void
cl_catalog_bootstrap(
    struct arena *a, const struct cl_bootstrap *how, struct cl_propose *p)
{
	struct cl_catalog *none = cl_catalog_new();
	struct cl_ddl *d = cl_ddl_new(a, none);
	struct cl_object counter = {.kind = CL_COUNTER};
	uint32_t next = CL_ID_FIRST;
	struct err *e;

	create_cluster(d, how);
	create_placements(d);
	create_role(d, CL_ROLE_POSTGRES, STR("postgres"));
	create_database(d,
	    &(struct cl_database){
		CL_DB_POSTGRES, CL_ROLE_POSTGRES, STR("postgres")},
	    CL_SCHEMA_PUBLIC);
	if (how->user.len && !str_eq(how->user, STR("postgres"))) {
		create_role(d, next, how->user);
		create_database(d,
		    &(struct cl_database){next + 1, next, how->user}, next + 2);
		next += 3;
	}
	counter.u.counter =
	    (struct cl_counter){next, 2, CL_PLACEMENT_DEFAULT + 1};
	cl_ddl_create(d, &counter);
	e = cl_ddl_propose(d, p);
	ASSERT(!e);
	cl_catalog_unref(none);
}
