/* CREATE DATABASE and SCHEMA; DROP of tables, indexes, sequences, schemas,
 * databases and roles. */
#include "gateway/access.h"
#include "gateway/ddl.h"
#include "gateway/session_int.h"

static struct err *
create_database(struct gw_session *s, struct gw_portal *p)
{
	const struct sql_create_database *cd = &p->st->stmt->u.create_database;

	if (s->txn != GW_TXN_IDLE)
		return ERR(p->arena, ERRCODE_ACTIVE_SQL_TRANSACTION,
		    "CREATE DATABASE cannot run inside a transaction block");
	for (uint32_t i = 0; i < cd->options.n; i++) {
		const struct sql_option *o = &cd->options.items[i];
		const char *text = "";

		if (strcmp(o->name, "encoding") != 0)
			continue;
		TRY(sql_option_text(p->arena, o, &text));
		if (!str_ieq(str_c(text), STR("utf8")) &&
		    !str_ieq(str_c(text), STR("utf-8")) &&
		    !str_ieq(str_c(text), STR("default")))
			return err_at(
			    ERR(p->arena, ERRCODE_FEATURE_NOT_SUPPORTED,
				"encoding \"%s\" is not supported: databases "
				"are UTF8",
				text),
			    o->position);
	}
	TRY(gw_may_create_database(&p->stmt, p->arena));
	return gw_ddl_create_database(
	    &p->stmt, p->arena, str_c(cd->name), s->role);
}

static void
notice(struct gw_session *s, struct gw_portal *p, const char *sqlstate,
    const char *text)
{
	struct err *e = ERR(p->arena, sqlstate, "%s", text);

	e->severity = ERR_NOTICE;
	gw_session_notice(s, e);
}

static struct err *
create_schema(struct gw_session *s, struct gw_portal *p)
{
	const struct sql_create_schema *cs = &p->st->stmt->u.create_schema;
	const char *name = cs->name ? cs->name : cs->owner;
	struct gw_schema_def def = {
	    .database = s->database, .if_not_exists = cs->if_not_exists};
	bool created;

	if (cs->n_elements)
		return ERR(p->arena, ERRCODE_FEATURE_NOT_SUPPORTED,
		    "CREATE SCHEMA with elements is not supported yet");
	if (strcmp(name, "skaidb") == 0 || strncmp(name, "pg_", 3) == 0)
		return err_detail(ERR(p->arena, ERRCODE_RESERVED_NAME,
				      "unacceptable schema name \"%s\"", name),
		    "The schema \"skaidb\" and the prefix \"pg_\" are "
		    "reserved for system schemas.");
	TRY(gw_may_create(&p->stmt, p->arena, s->database, STR_NONE));
	def.name = str_c(name);
	TRY(gw_ddl_create_schema(&p->stmt, p->arena, &def, &created));
	if (!created)
		notice(s, p, ERRCODE_DUPLICATE_SCHEMA,
		    arena_printf(p->arena,
			"schema \"%s\" already exists, skipping", name));
	return NULL;
}

/* ---- DROP ---- */

struct dropping {
	struct gw_session *s;
	struct gw_portal *p;
	const struct sql_drop *d;
};

static const struct kind_words {
	enum cl_kind kind;
	const char *article, *name;
} kind_words[] = {
    {CL_TABLE, "a", "TABLE"},
    {CL_SEQUENCE, "a", "SEQUENCE"},
    {CL_INDEX, "an", "INDEX"},
};

static const struct kind_words *
words_of(enum cl_kind kind)
{
	const struct kind_words *w = kind_words;

	while (w->kind != kind)
		w++;
	return w;
}

/* A table, a sequence or an index, each to be dropped as what it is. */
static struct err *
look_up_relation(struct dropping *x, const struct sql_name *n,
    enum cl_kind kind, uint32_t *id)
{
	struct arena *a = x->p->arena;
	const struct cl_object *o;
	struct err *e = sql_find_relation(a, &x->p->env, n, &o);

	if (e && err_is(e, ERRCODE_WRONG_OBJECT_TYPE))
		return e;
	if (e)
		return ERR(a,
		    kind == CL_INDEX ? ERRCODE_UNDEFINED_OBJECT
				     : ERRCODE_UNDEFINED_TABLE,
		    "%s \"%s\" does not exist", cl_kind_name(kind), n->name);
	if (o->kind != kind)
		return err_hint(
		    ERR(a, ERRCODE_WRONG_OBJECT_TYPE, "\"%s\" is not %s %s",
			n->name, words_of(kind)->article, cl_kind_name(kind)),
		    "Use DROP %s to remove %s %s.", words_of(o->kind)->name,
		    words_of(o->kind)->article, cl_kind_name(o->kind));
	*id = o->id;
	return NULL;
}

/* One name: the object, or NULL with the error that says it is not there. */
static struct err *
look_up(struct dropping *x, const struct sql_name *n, enum cl_kind *kind,
    uint32_t *id)
{
	struct arena *a = x->p->arena;
	const struct cl_catalog *c = x->p->env.catalog;
	const struct cl_object *o = NULL;
	struct err *e = NULL;
	struct str name = str_c(n->name);

	*id = 0;
	switch (x->d->object) {
	case SQL_OBJ_TABLE:
	case SQL_OBJ_SEQUENCE:
	case SQL_OBJ_INDEX:
		*kind = x->d->object == SQL_OBJ_TABLE      ? CL_TABLE
			: x->d->object == SQL_OBJ_SEQUENCE ? CL_SEQUENCE
							   : CL_INDEX;
		return look_up_relation(x, n, *kind, id);
	case SQL_OBJ_SCHEMA:
		*kind = CL_SCHEMA;
		o = cl_find_name(c, CL_SCHEMA, x->s->database, name);
		e = ERR(a, ERRCODE_INVALID_SCHEMA_NAME,
		    "schema \"%s\" does not exist", n->name);
		break;
	case SQL_OBJ_DATABASE:
		*kind = CL_DATABASE;
		o = cl_find_name(c, CL_DATABASE, 0, name);
		e = ERR(a, ERRCODE_INVALID_CATALOG_NAME,
		    "database \"%s\" does not exist", n->name);
		break;
	case SQL_OBJ_ROLE:
		*kind = CL_ROLE;
		o = cl_find_name(c, CL_ROLE, 0, name);
		e = ERR(a, ERRCODE_UNDEFINED_OBJECT,
		    "role \"%s\" does not exist", n->name);
		break;
	default:
		return ERR(a, ERRCODE_FEATURE_NOT_SUPPORTED,
		    "%s is not supported yet", sql_tag(x->p->st->stmt));
	}
	*id = o ? o->id : 0;
	return o ? NULL : e;
}

/* A schema is its database's owner's. */
static struct err *
must_own(struct dropping *x, enum cl_kind kind, uint32_t id)
{
	const struct gw_stmt *s = &x->p->stmt;
	const struct cl_object *o = cl_find(x->p->env.catalog, kind, id);
	const struct cl_object *db;
	const struct cl_table *t;

	switch (o ? kind : CL_KIND_MAX) {
	case CL_TABLE:
		return gw_must_own(
		    s, x->p->arena, o->u.table.owner, "table", o->u.table.name);
	case CL_INDEX:
		t = cl_catalog_table(x->p->env.catalog, o->u.index.table);
		return gw_must_own(
		    s, x->p->arena, t ? t->owner : 0, "index", o->u.index.name);
	case CL_SEQUENCE:
		return gw_must_own(s, x->p->arena, o->u.sequence.owner,
		    "sequence", o->u.sequence.name);
	case CL_SCHEMA:
		db = cl_find(
		    x->p->env.catalog, CL_DATABASE, o->u.schema.database);
		return gw_must_own(s, x->p->arena,
		    db ? db->u.database.owner : 0, "schema", o->u.schema.name);
	case CL_DATABASE:
		return gw_must_own(s, x->p->arena, o->u.database.owner,
		    "database", o->u.database.name);
	default:
		return NULL;
	}
}

static struct err *
check_drop(struct dropping *x, enum cl_kind kind, uint32_t id)
{
	struct arena *a = x->p->arena;

	if (kind == CL_DATABASE && x->s->txn != GW_TXN_IDLE)
		return ERR(a, ERRCODE_ACTIVE_SQL_TRANSACTION,
		    "DROP DATABASE cannot run inside a transaction block");
	if (kind == CL_DATABASE && id == x->s->database)
		return ERR(a, ERRCODE_OBJECT_IN_USE,
		    "cannot drop the currently open database");
	if (kind == CL_ROLE && id == x->s->role)
		return ERR(
		    a, ERRCODE_OBJECT_IN_USE, "current user cannot be dropped");
	if (kind == CL_ROLE && !x->s->superuser)
		return ERR(a, ERRCODE_INSUFFICIENT_PRIVILEGE,
		    "permission denied to drop role");
	return NULL;
}

static struct err *
check_concurrently(struct dropping *x)
{
	struct arena *a = x->p->arena;

	if (!x->d->concurrently)
		return NULL;
	if (x->d->names.n > 1)
		return ERR(a, ERRCODE_FEATURE_NOT_SUPPORTED,
		    "DROP INDEX CONCURRENTLY does not support dropping "
		    "multiple objects");
	if (x->d->cascade)
		return ERR(a, ERRCODE_FEATURE_NOT_SUPPORTED,
		    "DROP INDEX CONCURRENTLY does not support CASCADE");
	if (x->s->txn != GW_TXN_IDLE)
		return ERR(a, ERRCODE_ACTIVE_SQL_TRANSACTION,
		    "DROP INDEX CONCURRENTLY cannot run inside a transaction "
		    "block");
	return NULL;
}

/* All names are looked up before anything is dropped, as in PostgreSQL. */
static struct err *
drop(struct gw_session *s, struct gw_portal *p)
{
	struct dropping x = {s, p, &p->st->stmt->u.drop};
	const struct sql_names *names = &x.d->names;
	uint32_t *ids = NEW_N(p->arena, uint32_t, names->n + 1);
	struct str *called = NEW_N(p->arena, struct str, names->n + 1);
	struct err *cascaded = NULL;
	struct gw_drop what = {.kind = CL_TABLE,
	    .ids = ids,
	    .names = called,
	    .if_exists = x.d->if_exists,
	    .cascade = x.d->cascade,
	    .notice = &cascaded};

	TRY(check_concurrently(&x));
	for (uint32_t i = 0; i < names->n; i++) {
		uint32_t id;
		struct err *e = look_up(&x, &names->items[i], &what.kind, &id);

		if (e && (!x.d->if_exists ||
			     err_is(e, ERRCODE_FEATURE_NOT_SUPPORTED) ||
			     err_is(e, ERRCODE_WRONG_OBJECT_TYPE)))
			return e;
		if (e) {
			notice(s, p, ERRCODE_SUCCESSFUL_COMPLETION,
			    arena_printf(p->arena, "%s, skipping", e->message));
			continue;
		}
		TRY(check_drop(&x, what.kind, id));
		TRY(must_own(&x, what.kind, id));
		called[what.n] = str_c(names->items[i].name);
		ids[what.n++] = id;
	}
	if (what.n)
		TRY(gw_ddl_drop(&p->stmt, p->arena, &what));
	if (cascaded)
		gw_session_notice(s, cascaded);
	return NULL;
}

struct err *
gw_util_object(struct gw_session *s, struct gw_portal *p)
{
	switch (p->st->stmt->kind) {
	case SQL_STMT_CREATE_DATABASE:
		return create_database(s, p);
	case SQL_STMT_CREATE_SCHEMA:
		return create_schema(s, p);
	default:
		return drop(s, p);
	}
}
