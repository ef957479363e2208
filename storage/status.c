/* What a node says about itself, as JSON. Fields are only ever added. */
#include <inttypes.h>

#include <jansson.h>

#include "base/fiber.h"
#include "base/metrics.h"
#include "storage/facts.h"
#include "storage/group.h"
#include "storage/join.h"
#include "storage/link.h"
#include "storage/node_int.h"

#define TABLES_SHOWN 1000u

static const char *const states[] = {
    "starting", "serving", "draining", "stopped", "failed"};

static json_t *
text(struct str s)
{
	/* Always with a length: names are no C strings. */
	json_t *j = json_stringn(s.p ? s.p : "", s.len);

	/* A name of bytes that are no text is shown as none. */
	return j ? j : json_stringn("", 0);
}

static json_t *
hex(const uint8_t *p, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	char out[64];

	ASSERT(2 * n <= sizeof out);
	for (size_t i = 0; i < n; i++) {
		out[2 * i] = digits[p[i] >> 4];
		out[2 * i + 1] = digits[p[i] & 15];
	}
	return json_stringn(out, 2 * n);
}

/* Of the others: is it heard of, and what does it lack of what this node
 * leads? */
static void
add_seen(struct st_node *n, json_t *j, const struct cl_member_seen *m)
{
	bool heard = m->heard_us != UINT64_MAX;

	json_object_set_new(
	    j, "alive", json_boolean(st_link_alive(n, m->member)));
	json_object_set_new(j, "heard_ms",
	    heard ? json_integer((json_int_t)(m->heard_us / 1000))
		  : json_null());
	json_object_set_new(j, "follows", json_integer(m->follows));
	json_object_set_new(j, "incomplete", json_integer(m->incomplete));
	json_object_set_new(j, "lag_entries", json_integer((json_int_t)m->lag));
	json_object_set_new(
	    j, "lag_ms", json_integer((json_int_t)(m->lag_us / 1000)));
}

static json_t *
members(struct st_node *n, struct arena *a)
{
	json_t *list = json_array();
	struct cl_member_seen *seen;
	const struct cl_object *o;
	uint32_t n_seen;
	size_t at = 0;

	st_facts_others(n, a, &seen, &n_seen);

	while ((o = cl_each(n->catalog.snap, CL_MEMBER, &at))) {
		const struct cl_member *m = &o->u.member;
		json_t *j = json_object();

		json_object_set_new(j, "id", json_integer(m->id));
		json_object_set_new(j, "alias", text(m->alias));
		json_object_set_new(j, "address", text(m->addr));
		json_object_set_new(j, "zone", text(m->zone));
		json_object_set_new(j, "level", json_integer(m->level));
		for (uint32_t i = 0; i < n_seen; i++)
			if (seen[i].member == m->id)
				add_seen(n, j, &seen[i]);
		json_array_append_new(list, j);
	}
	return list;
}

static json_t *
groups(const struct st_node *n)
{
	json_t *j = json_object();
	uint64_t entries = 0, proposals = 0;
	size_t at = 0;
	void *v;

	while (map_next(n->groups, &at, NULL, &v)) {
		const struct st_group *g =
		    TAKE(struct st_group, v, ST_GROUP_MAGIC);

		if (g->state != ST_GROUP_LEADING)
			continue;
		entries += g->last - g->trimmed;
		proposals += g->n_proposals;
	}
	json_object_set_new(
	    j, "known", json_integer((json_int_t)map_count(n->groups)));
	json_object_set_new(j, "leading", json_integer(n->n_leading));
	json_object_set_new(
	    j, "log_entries", json_integer((json_int_t)entries));
	json_object_set_new(
	    j, "proposals", json_integer((json_int_t)proposals));
	json_object_set_new(j, "incomplete", json_integer(n->n_incomplete));
	json_object_set_new(j, "held", json_integer(st_facts_held(n)));
	return j;
}

/* Since the process started: several nodes in one add up. */
static json_t *
replication(void)
{
	static const struct {
		const char *name;
		enum metric metric;
	} shown[] = {
	    {"entries", M_NODE_ENTRIES},
	    {"flushes", M_NODE_FLUSHES},
	    {"frames", M_NODE_APPENDS},
	    {"entries_in_frames", M_NODE_APPENDED_ENTRIES},
	    {"elections", M_NODE_ELECTIONS},
	    {"step_downs", M_NODE_STEP_DOWNS},
	    {"confirms", M_NODE_CONFIRMS},
	    {"heartbeats", M_NODE_BEATS},
	    {"heartbeats_unanswered", M_NODE_BEATS_LOST},
	};
	json_t *j = json_object();

	for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
		json_object_set_new(j, shown[i].name,
		    json_integer((json_int_t)metric_total(shown[i].metric)));
	return j;
}

static json_t *
tables(const struct st_node *n)
{
	json_t *list = json_array();
	const struct cl_object *o;
	size_t at = 0;

	while (json_array_size(list) < TABLES_SHOWN &&
	       (o = cl_each(n->catalog.snap, CL_TABLE, &at))) {
		const struct cl_table *t = &o->u.table;
		json_t *j = json_object();

		json_object_set_new(j, "id", json_integer(t->id));
		json_object_set_new(j, "database", json_integer(t->database));
		json_object_set_new(j, "name", text(t->name));
		json_object_set_new(j, "placement", json_integer(t->placement));
		json_array_append_new(list, j);
	}
	return list;
}

static json_t *
cluster(const struct st_node *n)
{
	const struct cl_cluster *c = cl_catalog_cluster(n->catalog.snap);
	json_t *j = json_object();

	json_object_set_new(j, "id", hex(n->id.cluster, sizeof n->id.cluster));
	json_object_set_new(j, "slots", json_integer(c ? c->slots : 0));
	json_object_set_new(
	    j, "replication", json_integer(c ? c->replication : 0));
	json_object_set_new(j, "level", json_integer(c ? c->level : 0));
	return j;
}

void
st_node_status(struct st_node *n, struct buf *out)
{
	json_t *j = json_object();
	size_t len;

	json_object_set_new(j, "program", text(STR("skaidb-storage")));
	json_object_set_new(j, "version", text(str_c(PACKAGE_VERSION)));
	json_object_set_new(j, "state", text(str_c(states[n->state])));
	json_object_set_new(j, "member", json_integer(st_node_member(n)));
	json_object_set_new(j, "incarnation", json_integer(n->id.incarnation));
	json_object_set_new(j, "address", text(st_own_addr(n)));
	json_object_set_new(j, "cluster", cluster(n));
	json_object_set_new(j, "catalog",
	    json_integer((json_int_t)cl_catalog_version(n->catalog.snap)));
	json_object_set_new(j, "members", members(n, out->arena));
	json_object_set_new(j, "tables", tables(n));
	json_object_set_new(j, "transitions", json_array());
	json_object_set_new(j, "groups", groups(n));
	json_object_set_new(j, "replication", replication());
	json_object_set_new(j, "connections", json_integer(n->n_conns));
	json_object_set_new(
	    j, "requests", json_integer((json_int_t)n->n_requests));
	json_object_set_new(j, "writable",
	    json_boolean(
		n->state <= ST_NODE_SERVING && engine_writable(n->engine)));
	len = json_dumpb(j, NULL, 0, JSON_COMPACT);
	buf_reserve(out, len + 1);
	out->len += json_dumpb(j, (char *)out->p + out->len, len, JSON_COMPACT);
	json_decref(j);
}
