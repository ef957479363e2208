/* Names of types and tables. */
#include "sql/bind_int.h"

struct err *
sql_type_resolve(struct arena *a, const struct sql_typename *t, uint32_t *type,
    int32_t *typmod)
{
	const struct sql_name *n = &t->name;
	const struct ex_type *ty = NULL;
	struct err *e;

	*type = 0;
	*typmod = -1;
	if (t->of_column)
		return sql_unsupported_at(
		    a, n->position, "types by reference to a column (%TYPE)");
	if (t->setof)
		return sql_unsupported_at(a, n->position, "sets as types");
	if (!n->schema || strcmp(n->schema, "pg_catalog") == 0)
		ty = ex_type_by_name(str_c(n->name));
	if (!ty)
		return err_at(ERR(a, ERRCODE_UNDEFINED_OBJECT,
				  "type \"%s%s%s\" does not exist",
				  n->schema ? n->schema : "",
				  n->schema ? "." : "", n->name),
		    n->position);
	if (t->dims)
		return sql_unsupported_at(a, n->position, "arrays");
	*type = ty->oid;
	if (t->n_mods == 0)
		return NULL;
	e = ex_typmod_in(a, ty, t->mods, t->n_mods, typmod);
	return e ? err_at(e, n->position) : NULL;
}

static struct err *
no_table(struct arena *a, const struct sql_name *n)
{
	return err_at(
	    ERR(a, ERRCODE_UNDEFINED_TABLE,
		"relation \"%s%s%s\" does not exist",
		n->schema ? n->schema : "", n->schema ? "." : "", n->name),
	    n->position);
}

static const struct cl_table *
table_in(const struct cl_catalog *c, uint32_t schema, const char *name)
{
	const struct cl_object *o =
	    cl_find_name(c, CL_TABLE, schema, str_c(name));

	return o ? &o->u.table : NULL;
}

/* a.b: schema a of this database, or else database a. */
static const struct cl_table *
qualified(const struct sql_env *env, const struct sql_name *n)
{
	const struct cl_catalog *c = env->catalog;
	const struct cl_object *o =
	    cl_find_name(c, CL_SCHEMA, env->database, str_c(n->schema));

	if (o)
		return table_in(c, o->id, n->name);
	o = cl_find_name(c, CL_DATABASE, 0, str_c(n->schema));
	if (o)
		o = cl_find_name(c, CL_SCHEMA, o->id, STR("public"));
	return o ? table_in(c, o->id, n->name) : NULL;
}

static struct err *
other_database(struct arena *a, const struct sql_name *n)
{
	return err_at(ERR(a, ERRCODE_FEATURE_NOT_SUPPORTED,
			  "cross-database references are not implemented: "
			  "\"%s.%s.%s\"",
			  n->catalog, n->schema, n->name),
	    n->position);
}

struct err *
sql_find_table(struct arena *a, const struct sql_env *env,
    const struct sql_name *n, const struct cl_table **out)
{
	const struct cl_catalog *c = env->catalog;

	*out = NULL;
	if (n->catalog) {
		const struct cl_object *db =
		    cl_find(c, CL_DATABASE, env->database);

		if (!db || !str_eq(db->u.database.name, str_c(n->catalog)))
			return other_database(a, n);
	}
	if (n->schema) {
		*out = qualified(env, n);
	} else {
		for (uint32_t i = 0; i < env->n_path && !*out; i++)
			*out = table_in(c, env->path[i], n->name);
	}
	return *out ? NULL : no_table(a, n);
}
