#include "gateway/access.h"

struct err *
gw_may_use(const struct gw_stmt *s, struct arena *a, const struct cl_table *t)
{
	if (!s->as_role || t->owner == s->as_role)
		return NULL;
	return ERR(a, ERRCODE_INSUFFICIENT_PRIVILEGE,
	    "permission denied for table %.*s", STR_FMT(t->name));
}

struct err *
gw_may_draw(
    const struct gw_stmt *s, struct arena *a, const struct cl_sequence *q)
{
	if (!s->as_role || q->owner == s->as_role)
		return NULL;
	return ERR(a, ERRCODE_INSUFFICIENT_PRIVILEGE,
	    "permission denied for sequence %.*s", STR_FMT(q->name));
}

struct err *
gw_must_own(const struct gw_stmt *s, struct arena *a, uint32_t owner,
    const char *what, struct str name)
{
	if (!s->as_role || owner == s->as_role)
		return NULL;
	return ERR(a, ERRCODE_INSUFFICIENT_PRIVILEGE,
	    "must be owner of %s %.*s", what, STR_FMT(name));
}

struct err *
gw_may_create(const struct gw_stmt *s, struct arena *a, uint32_t database,
    struct str schema)
{
	const struct cl_object *o = cl_find(s->catalog, CL_DATABASE, database);

	if (!s->as_role || (o && o->u.database.owner == s->as_role))
		return NULL;
	if (schema.len)
		return ERR(a, ERRCODE_INSUFFICIENT_PRIVILEGE,
		    "permission denied for schema %.*s", STR_FMT(schema));
	return ERR(a, ERRCODE_INSUFFICIENT_PRIVILEGE,
	    "permission denied for database %.*s",
	    STR_FMT(o ? o->u.database.name : STR_NONE));
}

struct err *
gw_may_create_database(const struct gw_stmt *s, struct arena *a)
{
	const struct cl_object *o = cl_find(s->catalog, CL_ROLE, s->as_role);

	if (!s->as_role || (o && o->u.role.createdb))
		return NULL;
	return ERR(a, ERRCODE_INSUFFICIENT_PRIVILEGE,
	    "permission denied to create database");
}
