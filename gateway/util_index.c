/* CREATE INDEX, and ALTER INDEX ... RENAME. */
#include "gateway/access.h"
#include "gateway/ddl.h"
#include "gateway/session_int.h"

static struct err *
unsupported(struct gw_portal *p, const char *what)
{
	return err_at(ERR(p->arena, ERRCODE_FEATURE_NOT_SUPPORTED,
			  "%s is not supported yet", what),
	    p->st->stmt->u.create_index->table.position);
}

static void
notice(struct gw_session *s, struct gw_portal *p, const char *sqlstate,
    const char *text)
{
	struct err *e = ERR(p->arena, sqlstate, "%s", text);

	e->severity = ERR_NOTICE;
	gw_session_notice(s, e);
}

/* ---- CREATE ---- */

static struct err *
check_method(struct gw_portal *p, const char *method)
{
	static const char *const others[] = {
	    "hash", "gin", "gist", "spgist", "brin"};

	if (!method || strcmp(method, "btree") == 0)
		return NULL;
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (strcmp(method, others[i]) == 0)
			return unsupported(
			    p, arena_printf(
				   p->arena, "access method \"%s\"", method));
	return ERR(p->arena, ERRCODE_UNDEFINED_OBJECT,
	    "access method \"%s\" does not exist", method);
}

/* What the grammar takes and this release does not. */
static struct err *
refuse_features(struct gw_portal *p, const struct sql_create_index *ci)
{
	const struct {
		bool there;
		const char *name;
	} features[] = {
	    {ci->unique, "CREATE UNIQUE INDEX"},
	    {ci->global, "CREATE GLOBAL INDEX"},
	    {ci->n_including > 0, "INCLUDE"},
	    {ci->tablespace, "TABLESPACE"},
	};

	for (size_t i = 0; i < sizeof features / sizeof *features; i++)
		if (features[i].there)
			return unsupported(p, features[i].name);
	return check_method(p, ci->method);
}

/* Tools steer pages that are not there. */
static struct err *
read_options(struct gw_portal *p, const struct sql_options *o)
{
	for (uint32_t i = 0; i < o->n; i++)
		if (strcmp(o->items[i].name, "fillfactor") != 0 &&
		    strcmp(o->items[i].name, "deduplicate_items") != 0)
			return ERR(p->arena, ERRCODE_INVALID_PARAMETER_VALUE,
			    "unrecognized parameter \"%s\"", o->items[i].name);
	return NULL;
}

static struct err *
find_table(
    struct gw_portal *p, const struct sql_name *n, const struct cl_table **out)
{
	const struct cl_object *o;
	struct err *e = sql_find_relation(p->arena, &p->env, n, &o);

	*out = NULL;
	if (e) {
		e->position = 0;
		return e;
	}
	if (o->kind != CL_TABLE)
		return err_detail(
		    ERR(p->arena, ERRCODE_WRONG_OBJECT_TYPE,
			"cannot create index on relation \"%s\"", n->name),
		    "This operation is not supported for %s.",
		    o->kind == CL_INDEX ? "indexes" : "sequences");
	*out = &o->u.table;
	return gw_must_own(
	    &p->stmt, p->arena, (*out)->owner, "table", (*out)->name);
}

struct err *
gw_util_index(struct gw_session *s, struct gw_portal *p)
{
	const struct sql_create_index *ci = p->st->stmt->u.create_index;
	struct cl_index index = {.id = 0};
	struct gw_index_def def = {
	    .index = &index, .if_not_exists = ci->if_not_exists};
	const struct cl_table *t;
	struct str *parts;
	bool created;

	if (ci->concurrently && s->txn != GW_TXN_IDLE)
		return ERR(p->arena, ERRCODE_ACTIVE_SQL_TRANSACTION,
		    "CREATE INDEX CONCURRENTLY cannot run inside a transaction "
		    "block");
	TRY(find_table(p, &ci->table, &t));
	TRY(refuse_features(p, ci));
	TRY(read_options(p, &ci->options));
	TRY(sql_bind_index(p->arena, &p->env, t, ci, &index, &parts));
	def.parts = parts;
	def.name = ci->name ? str_c(ci->name) : STR_NONE;
	TRY(gw_ddl_create_index(&p->stmt, p->arena, &def, &created));
	if (!created)
		notice(s, p, ERRCODE_DUPLICATE_TABLE,
		    arena_printf(p->arena,
			"relation \"%s\" already exists, skipping", ci->name));
	return NULL;
}

/* ---- RENAME ---- */

struct err *
gw_util_rename_index(struct gw_session *s, struct gw_portal *p)
{
	const struct sql_rename *r = &p->st->stmt->u.rename;
	const struct cl_object *o;
	const struct cl_table *t;
	struct err *e = sql_find_relation(p->arena, &p->env, &r->name, &o);

	if (e && r->if_exists && err_is(e, ERRCODE_UNDEFINED_TABLE)) {
		notice(s, p, ERRCODE_SUCCESSFUL_COMPLETION,
		    arena_printf(p->arena, "%s, skipping", e->message));
		return NULL;
	}
	if (e) {
		e->position = 0;
		return e;
	}
	if (o->kind != CL_INDEX)
		return ERR(p->arena, ERRCODE_WRONG_OBJECT_TYPE,
		    "\"%s\" is not an index", r->name.name);
	t = cl_catalog_table(p->env.catalog, o->u.index.table);
	TRY(gw_must_own(
	    &p->stmt, p->arena, t ? t->owner : 0, "index", o->u.index.name));
	return gw_ddl_rename_index(&p->stmt, p->arena, o->id, str_c(r->to));
}
