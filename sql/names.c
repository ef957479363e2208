/* Names of types and tables. */
#include "sql/bind_int.h"

#include <ctype.h>

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

static const struct cl_object *
relation_in(const struct cl_catalog *c, uint32_t schema, const char *name)
{
	return cl_find_relation(c, schema, str_c(name));
}

/* a.b: schema a of this database, or else database a. */
static const struct cl_object *
qualified(const struct sql_env *env, const struct sql_name *n)
{
	const struct cl_catalog *c = env->catalog;
	const struct cl_object *o =
	    cl_find_name(c, CL_SCHEMA, env->database, str_c(n->schema));

	if (o)
		return relation_in(c, o->id, n->name);
	o = cl_find_name(c, CL_DATABASE, 0, str_c(n->schema));
	if (o)
		o = cl_find_name(c, CL_SCHEMA, o->id, STR("public"));
	return o ? relation_in(c, o->id, n->name) : NULL;
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

const struct sql_virtual *
sql_find_virtual(const struct sql_env *env, const struct sql_name *n)
{
	for (uint32_t i = 0; n->schema && i < env->n_virtuals; i++) {
		const struct sql_virtual *v = env->virtuals[i];

		if (strcmp(v->schema, n->schema) == 0 &&
		    strcmp(v->name, n->name) == 0)
			return v;
	}
	return NULL;
}

struct err *
sql_find_relation(struct arena *a, const struct sql_env *env,
    const struct sql_name *n, const struct cl_object **out)
{
	const struct cl_catalog *c = env->catalog;

	*out = NULL;
	if (n->catalog) {
		const struct cl_object *db =
		    cl_find(c, CL_DATABASE, env->database);

		if (!db || !str_eq(db->u.database.name, str_c(n->catalog)))
			return other_database(a, n);
	}
	if (sql_find_virtual(env, n))
		return err_at(ERR(a, ERRCODE_WRONG_OBJECT_TYPE,
				  "\"%s.%s\" is a system view and can only be "
				  "read by queries",
				  n->schema, n->name),
		    n->position);
	if (n->schema) {
		*out = qualified(env, n);
	} else {
		for (uint32_t i = 0; i < env->n_path && !*out; i++)
			*out = relation_in(c, env->path[i], n->name);
	}
	return *out ? NULL : no_table(a, n);
}

static struct err *
is_index(struct arena *a, const struct sql_name *n)
{
	return err_at(
	    ERR(a, ERRCODE_WRONG_OBJECT_TYPE, "\"%s\" is an index", n->name),
	    n->position);
}

struct err *
sql_find_table(struct arena *a, const struct sql_env *env,
    const struct sql_name *n, const struct cl_table **out)
{
	const struct cl_object *o;

	*out = NULL;
	TRY(sql_find_relation(a, env, n, &o));
	if (o->kind == CL_INDEX)
		return is_index(a, n);
	if (o->kind == CL_SEQUENCE)
		return err_at(
		    err_hint(ERR(a, ERRCODE_FEATURE_NOT_SUPPORTED,
				 "\"%s\" is a sequence, which cannot be "
				 "read as a table yet",
				 n->name),
			"Use nextval(), currval() or lastval()."),
		    n->position);
	*out = &o->u.table;
	return NULL;
}

struct err *
sql_find_target(struct arena *a, const struct sql_env *env,
    const struct sql_name *n, const struct cl_table **out)
{
	const struct cl_object *o;

	*out = NULL;
	TRY(sql_find_relation(a, env, n, &o));
	if (o->kind == CL_INDEX)
		return is_index(a, n);
	if (o->kind == CL_SEQUENCE)
		return ERR(a, ERRCODE_WRONG_OBJECT_TYPE,
		    "cannot change sequence \"%s\"", n->name);
	*out = &o->u.table;
	return NULL;
}

/* ---- names in text ---- */

static struct err *
bad_name(struct arena *a)
{
	return ERR(a, ERRCODE_INVALID_NAME, "invalid name syntax");
}

/* One part of it: folded unless quoted. */
static struct err *
name_part(struct arena *a, struct str *in, const char **out)
{
	struct buf b;
	size_t i = 0;

	buf_init(&b, a);
	if (in->len && in->p[0] == '"') {
		for (i = 1;; i++) {
			if (i >= in->len)
				return bad_name(a);
			if (in->p[i] == '"' &&
			    (i + 1 == in->len || in->p[++i] != '"'))
				break;
			buf_u8(&b, (uint8_t)in->p[i]);
		}
		i += i < in->len && in->p[i] == '"';
	}
	for (; in->p[0] != '"' && i < in->len && in->p[i] != '.' &&
	       !isspace((unsigned char)in->p[i]);
	     i++)
		buf_u8(&b, (uint8_t)(in->p[i] >= 'A' && in->p[i] <= 'Z'
					 ? in->p[i] - 'A' + 'a'
					 : in->p[i]));
	if (!b.len)
		return bad_name(a);
	*in = str_skip(*in, i);
	*out = buf_cstr(&b);
	return NULL;
}

static void
skip_space(struct str *in)
{
	while (in->len && isspace((unsigned char)in->p[0]))
		*in = str_skip(*in, 1);
}

struct err *
sql_name_read(struct arena *a, struct str text, struct sql_name *out)
{
	const char *parts[3];
	uint32_t n = 0;

	*out = (struct sql_name){0};
	for (;;) {
		skip_space(&text);
		if (n == 3 || !text.len)
			return bad_name(a);
		TRY(name_part(a, &text, &parts[n++]));
		skip_space(&text);
		if (!text.len)
			break;
		if (text.p[0] != '.')
			return bad_name(a);
		text = str_skip(text, 1);
	}
	out->name = parts[n - 1];
	out->schema = n > 1 ? parts[n - 2] : NULL;
	out->catalog = n > 2 ? parts[0] : NULL;
	return NULL;
}
