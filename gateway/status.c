#include "gateway/server.h"

#include <jansson.h>
#include <stdlib.h>

#include "base/metrics.h"

static json_t *
text(struct str s)
{
	json_t *j = json_stringn(s.len ? s.p : "", s.len);

	return j ? j : json_null();
}

static void
hex(char *out, const uint8_t *p, size_t n)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		out[2 * i] = digits[p[i] >> 4];
		out[2 * i + 1] = digits[p[i] & 15];
	}
	out[2 * n] = '\0';
}

static json_t *
member_json(const struct gw_server *s, const struct cl_object *o)
{
	const struct gw_member_fact *f =
	    gw_probe_member(gw_server_probe(s), o->id);
	json_t *m = json_object();
	json_t *own = NULL;

	json_object_set_new(m, "id", json_integer(o->id));
	json_object_set_new(m, "alias", text(o->u.member.alias));
	json_object_set_new(m, "addr", text(o->u.member.addr));
	json_object_set_new(m, "zone", text(o->u.member.zone));
	json_object_set_new(m, "state",
	    json_string(!f      ? "unknown"
			: f->up ? "up"
				: "unreachable"));
	if (f && f->why)
		json_object_set_new(m, "why", text(str_c(f->why)));
	if (f && f->json.len)
		own = json_loadb(f->json.p, f->json.len, 0, NULL);
	if (own)
		json_object_set_new(m, "node", own);
	return m;
}

static json_t *
members_json(const struct gw_server *s, const struct cl_catalog *c)
{
	json_t *list = json_array();
	const struct cl_object *o;
	size_t at = 0;

	while ((o = cl_each(c, CL_MEMBER, &at)))
		json_array_append_new(list, member_json(s, o));
	return list;
}

static struct str
name_of(const struct cl_catalog *c, enum cl_kind kind, uint32_t id)
{
	const struct cl_object *o = cl_find(c, kind, id);

	if (!o)
		return STR_NONE;
	return kind == CL_DATABASE ? o->u.database.name : o->u.schema.name;
}

static json_t *
tables_json(const struct cl_catalog *c)
{
	json_t *list = json_array();
	const struct cl_object *o;
	size_t at = 0;

	while ((o = cl_each(c, CL_TABLE, &at))) {
		json_t *t = json_object();

		json_object_set_new(t, "id", json_integer(o->id));
		json_object_set_new(t, "database",
		    text(name_of(c, CL_DATABASE, o->u.table.database)));
		json_object_set_new(t, "schema",
		    text(name_of(c, CL_SCHEMA, o->u.table.schema)));
		json_object_set_new(t, "name", text(o->u.table.name));
		json_object_set_new(
		    t, "placement", json_integer(o->u.table.placement));
		json_object_set_new(t, "open", json_boolean(o->u.table.open));
		json_array_append_new(list, t);
	}
	return list;
}

static json_t *
catalog_json(const struct gw_worker *w)
{
	const struct gw_peer *p = gw_catalog_source(w->catalog);
	uint64_t age = gw_catalog_age_us(w->catalog);
	json_t *j = json_object();

	json_object_set_new(j, "version",
	    json_integer((json_int_t)gw_catalog_version(w->catalog)));
	json_object_set_new(j, "age_ms",
	    age == UINT64_MAX ? json_null()
			      : json_integer((json_int_t)(age / 1000)));
	json_object_set_new(
	    j, "source", p ? text(str_c(gw_peer_addr(p))) : json_null());
	return j;
}

static json_t *
status_json(const struct gw_server *s)
{
	const struct gw_worker *w = gw_server_control(s);
	const struct cl_catalog *c = gw_catalog_now(w->catalog);
	const struct cl_cluster *cluster = cl_catalog_cluster(c);
	json_t *j = json_object();
	char id[33] = "";

	if (cluster)
		hex(id, cluster->id, sizeof cluster->id);
	json_object_set_new(j, "version", json_string(PACKAGE_VERSION));
	json_object_set_new(j, "role", json_string("gateway"));
	json_object_set_new(j, "ready", json_boolean(gw_server_ready(s)));
	json_object_set_new(j, "cluster", json_string(id));
	json_object_set_new(j, "catalog", catalog_json(w));
	json_object_set_new(j, "sessions",
	    json_integer((json_int_t)metric_total(M_GW_SESSIONS)));
	json_object_set_new(j, "members", members_json(s, c));
	json_object_set_new(j, "tables", tables_json(c));
	/* Placements under change: none until they can. */
	json_object_set_new(j, "transitions", json_array());
	return j;
}

void
gw_server_status(const struct gw_server *s, struct buf *out)
{
	json_t *j = status_json(s);
	char *t = json_dumps(j, JSON_INDENT(2) | JSON_PRESERVE_ORDER);

	json_decref(j);
	if (t)
		buf_str(out, str_c(t));
	free(t);
}
