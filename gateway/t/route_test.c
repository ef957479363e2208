#include "gateway/route.h"

#include "cluster/ddl.h"
#include "regress/lib/cu.h"

/* A catalog of one member, 4 slots, the default placement handed out. */
static struct cl_catalog *
catalog_new(struct arena *a)
{
	struct cl_catalog *none = cl_catalog_new(), *c;
	struct cl_object member = {.kind = CL_MEMBER, .id = 9, .version = 1};
	struct cl_object cluster = {.kind = CL_CLUSTER, .version = 1};
	struct cl_object p = {.kind = CL_PLACEMENT, .id = 5, .version = 1};
	const struct cl_object *all[] = {&cluster, &member, &p};

	cluster.u.cluster.slots = 4;
	cluster.u.cluster.replication = 1;
	member.u.member = (struct cl_member){
	    .id = 9, .alias = STR("nine"), .addr = STR("127.0.0.1:1")};
	c = cl_catalog_apply(none, 1, all, 2);
	p.u.placement =
	    (struct cl_placement){.id = 5, .kind = CL_PLACE_CLUSTER};
	cl_placement_assign(a, c, &p.u.placement);
	cl_catalog_unref(none);
	none = c;
	c = cl_catalog_apply(none, 2, all, 3);
	cl_catalog_unref(none);
	return c;
}

static void
a_slot_is_led_by_the_first_member_of_its_group(void)
{
	struct arena *a = arena_new(NULL, "test");
	struct cl_catalog *c = catalog_new(a);
	struct gw_route r;

	for (uint16_t slot = 0; slot < 4; slot++) {
		CHECK(gw_route_slot(c, 5, slot, &r));
		CHECK(r.placement == 5 && r.slot == slot);
		CHECK(r.leader == 9 && r.epoch == 1);
	}
	cl_catalog_unref(c);
	arena_free(a);
}

static void
what_the_catalog_does_not_know_has_no_route(void)
{
	struct arena *a = arena_new(NULL, "test");
	struct cl_catalog *c = catalog_new(a);
	struct cl_table t = {.id = 1, .placement = 6};
	struct gw_route r;

	CHECK(!gw_route_slot(c, 5, 4, &r));
	CHECK(!gw_route_slot(c, 6, 0, &r));
	CHECK(!gw_route_row(c, &t, STR("x"), &r));
	cl_catalog_unref(c);
	c = cl_catalog_new();
	CHECK(!gw_route_row(c, &t, STR("x"), &r));
	cl_catalog_unref(c);
	arena_free(a);
}

CU_MAIN("route",
    {"a_slot_is_led_by_the_first_member_of_its_group",
	a_slot_is_led_by_the_first_member_of_its_group},
    {"what_the_catalog_does_not_know_has_no_route",
	what_the_catalog_does_not_know_has_no_route})
