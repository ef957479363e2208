#include "gateway/ddl_int.h"

#include "base/fiber.h"
#include "gateway/propose.h"
#include "gateway/worker.h"

/* How long a change that came first is waited for. */
#define NEWS_US 2000000u
#define PAUSES  4 /* before tries that follow a lost race */

/* One try; *again when another change came first. */
static struct err *
change_propose(struct gw_change *ch, bool *again)
{
	struct gw_proposal p = {.msg = {.placement = 0}};
	struct gw_catalog *catalog = ch->stmt->worker->catalog;
	struct err *e;

	*again = false;
	e = cl_ddl_propose(ch->ddl, &p.msg);
	if (e)
		return err_copy(ch->arena, e);
	gw_propose_run(ch->stmt, ch->own, &p, 1);
	if (p.err)
		return err_copy(ch->arena, p.err);
	if (p.outcome == GW_END_FALSE) {
		*again = true;
		return NULL;
	}
	ASSERT(p.outcome == GW_END_APPLIED);
	/* The next statement of this session sees it. A deadline that passes
	 * meanwhile does not undo it. */
	(void)gw_catalog_wait(catalog, p.answer->index, ch->stmt->deadline_us);
	return NULL;
}

/* *unasked: the catalog's group was not asked, so that the answer is as old as
 * the snapshot. */
static struct err *
change_try(struct gw_change *ch,
    struct err *(*decide)(struct gw_change *ch, void *arg), void *arg,
    bool *again, bool *unasked)
{
	*again = false;
	*unasked = true;
	ch->ddl = cl_ddl_new(ch->own, ch->catalog);
	ch->nothing = false;
	TRY(decide(ch, arg));
	*unasked = ch->nothing;
	return ch->nothing ? NULL : change_propose(ch, again);
}

static void
unref_cleanup(void *arg)
{
	cl_catalog_unref(arg);
}

struct err *
gw_change_run(struct gw_stmt *s, struct arena *a,
    struct err *(*decide)(struct gw_change *ch, void *arg), void *arg)
{
	struct gw_catalog *catalog = s->worker->catalog;
	struct world *w = s->worker->world;
	bool confirmed = false;

	for (unsigned tries = 1;; tries++) {
		struct gw_change ch = {.stmt = s, .arena = a};
		struct cl_catalog *held =
		    cl_catalog_ref(gw_catalog_now(catalog));
		uint64_t version = cl_catalog_version(held);
		uint64_t until = world_mono_us(w) + NEWS_US;
		struct err *e;
		bool again, unasked;

		ch.own = arena_new(a, "catalog change");
		ch.catalog = held;
		arena_cleanup(ch.own, unref_cleanup, held);
		e = change_try(&ch, decide, arg, &again, &unasked);
		arena_free(ch.own);
		if (unasked && !confirmed) {
			/* Another gateway may have made or dropped it. */
			confirmed = true;
			if (gw_catalog_confirm(catalog, until < s->deadline_us
							    ? until
							    : s->deadline_us) &&
			    gw_catalog_version(catalog) > version)
				continue;
		}
		if (e || !again)
			return e;
		TRY(gw_stmt_check(s, a));
		/* What came first is in a newer catalog. Who has lost often
		 * goes on without a pause then: pauses that grow would let
		 * those win who have just come. */
		if (tries <= PAUSES)
			(void)gw_stmt_backoff(s, tries);
		else
			gw_catalog_refresh(catalog);
		(void)gw_catalog_wait(catalog, version + 1,
		    until < s->deadline_us ? until : s->deadline_us);
		TRY(gw_stmt_check(s, a));
	}
}

/* ---- dropping ---- */

static struct err *
drop_missing(struct gw_change *ch, const struct gw_drop *d, uint32_t i)
{
	struct str name = d->names[i];

	switch (d->kind) {
	case CL_TABLE:
		return ERR(ch->arena, ERRCODE_UNDEFINED_TABLE,
		    "table \"%.*s\" does not exist", STR_FMT(name));
	case CL_SEQUENCE:
		return ERR(ch->arena, ERRCODE_UNDEFINED_TABLE,
		    "sequence \"%.*s\" does not exist", STR_FMT(name));
	case CL_SCHEMA:
		return ERR(ch->arena, ERRCODE_INVALID_SCHEMA_NAME,
		    "schema \"%.*s\" does not exist", STR_FMT(name));
	case CL_DATABASE:
		return ERR(ch->arena, ERRCODE_INVALID_CATALOG_NAME,
		    "database \"%.*s\" does not exist", STR_FMT(name));
	default:
		return ERR(ch->arena, ERRCODE_UNDEFINED_OBJECT,
		    "%s \"%.*s\" does not exist", cl_kind_name(d->kind),
		    STR_FMT(name));
	}
}

static struct err *
schema_in_use(
    struct gw_change *ch, struct str schema, const char *what, struct str name)
{
	return err_hint(
	    err_detail(ERR(ch->arena, ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST,
			   "cannot drop schema %.*s because other objects "
			   "depend on it",
			   STR_FMT(schema)),
		"%s %.*s.%.*s depends on schema %.*s", what, STR_FMT(schema),
		STR_FMT(name), STR_FMT(schema)),
	    "Use DROP ... CASCADE to drop the dependent objects too.");
}

/* Tables of a schema; refused unless they may go too, as its sequences are,
 * which go later. */
static struct err *
drop_tables_of(struct gw_change *ch, uint32_t schema, bool cascade)
{
	const struct cl_object *o, *s = cl_find(ch->catalog, CL_SCHEMA, schema);
	size_t at = 0;

	while ((o = cl_each(ch->catalog, CL_TABLE, &at))) {
		if (o->u.table.schema != schema)
			continue;
		if (!cascade)
			return schema_in_use(
			    ch, s->u.schema.name, "table", o->u.table.name);
		gw_drop_indexes(ch, o->id);
		cl_ddl_drop(ch->ddl, CL_TABLE, o->id);
	}
	at = 0;
	while (!cascade && (o = cl_each(ch->catalog, CL_SEQUENCE, &at)))
		if (o->u.sequence.schema == schema)
			return schema_in_use(ch, s->u.schema.name, "sequence",
			    o->u.sequence.name);
	return NULL;
}

static struct err *
drop_schemas_of(struct gw_change *ch, uint32_t database)
{
	const struct cl_object *o;
	size_t at = 0;

	while ((o = cl_each(ch->catalog, CL_SCHEMA, &at))) {
		if (o->u.schema.database != database)
			continue;
		TRY(drop_tables_of(ch, o->id, true));
		cl_ddl_drop(ch->ddl, CL_SCHEMA, o->id);
	}
	return NULL;
}

/* What the role owns, by name, or NULL. */
static const char *
owned_by(struct gw_change *ch, uint32_t role)
{
	const struct cl_object *o;
	size_t at = 0;

	while ((o = cl_each(ch->catalog, CL_DATABASE, &at))) {
		if (o->u.database.owner == role)
			return arena_printf(ch->arena, "owner of database %.*s",
			    STR_FMT(o->u.database.name));
	}
	at = 0;
	while ((o = cl_each(ch->catalog, CL_TABLE, &at))) {
		if (o->u.table.owner == role)
			return arena_printf(ch->arena, "owner of table %.*s",
			    STR_FMT(o->u.table.name));
	}
	at = 0;
	while ((o = cl_each(ch->catalog, CL_SEQUENCE, &at))) {
		if (o->u.sequence.owner == role)
			return arena_printf(ch->arena, "owner of sequence %.*s",
			    STR_FMT(o->u.sequence.name));
	}
	return NULL;
}

static struct err *
drop_one(struct gw_change *ch, const struct gw_drop *d, uint32_t i)
{
	const char *owns;

	if (d->kind == CL_SCHEMA)
		TRY(drop_tables_of(ch, d->ids[i], d->cascade));
	if (d->kind == CL_DATABASE)
		TRY(drop_schemas_of(ch, d->ids[i]));
	if (d->kind == CL_TABLE)
		gw_drop_indexes(ch, d->ids[i]);
	if (d->kind == CL_ROLE) {
		owns = owned_by(ch, d->ids[i]);
		if (owns)
			return err_detail(
			    ERR(ch->arena,
				ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST,
				"role \"%.*s\" cannot be dropped because some "
				"objects depend on it",
				STR_FMT(d->names[i])),
			    "%s", owns);
	}
	cl_ddl_drop(ch->ddl, d->kind, d->ids[i]);
	return NULL;
}

/* Is it named twice in this statement? */
static bool
drop_again(const struct gw_drop *d, uint32_t i)
{
	for (uint32_t k = 0; k < i; k++) {
		if (d->ids[k] == d->ids[i])
			return true;
	}
	return false;
}

static struct err *
decide_drop(struct gw_change *ch, void *arg)
{
	const struct gw_drop *d = arg;

	ch->nothing = true;
	for (uint32_t i = 0; i < d->n; i++) {
		if (drop_again(d, i))
			continue;
		if (cl_find(ch->catalog, d->kind, d->ids[i])) {
			TRY(drop_one(ch, d, i));
			ch->nothing = false;
		} else if (!d->if_exists) {
			return drop_missing(ch, d, i);
		}
	}
	return ch->nothing ? NULL : gw_drop_sequences(ch, d);
}

struct err *
gw_ddl_drop(struct gw_stmt *s, struct arena *a, const struct gw_drop *drop)
{
	struct gw_drop d = *drop;

	return gw_change_run(s, a, decide_drop, &d);
}

/* ---- databases and schemas ---- */

struct database_def {
	struct str name;
	uint32_t owner;
};

static struct err *
decide_database(struct gw_change *ch, void *arg)
{
	const struct database_def *def = arg;
	struct cl_object db = {.kind = CL_DATABASE};
	struct cl_object schema = {.kind = CL_SCHEMA};

	if (cl_find_name(ch->catalog, CL_DATABASE, 0, def->name))
		return ERR(ch->arena, ERRCODE_DUPLICATE_DATABASE,
		    "database \"%.*s\" already exists", STR_FMT(def->name));
	db.id = cl_ddl_ids(ch->ddl, 2);
	db.u.database = (struct cl_database){db.id, def->owner, def->name};
	schema.id = db.id + 1;
	schema.u.schema = (struct cl_schema){schema.id, db.id, STR("public")};
	cl_ddl_create(ch->ddl, &db);
	cl_ddl_create(ch->ddl, &schema);
	return NULL;
}

struct err *
gw_ddl_create_database(
    struct gw_stmt *s, struct arena *a, struct str name, uint32_t owner)
{
	struct database_def def = {name, owner};

	return gw_change_run(s, a, decide_database, &def);
}

/* Names that start with pg_ are the system's. */
static struct err *
check_reserved(struct gw_change *ch, const char *what, struct str name)
{
	if (!str_has_prefix(name, STR("pg_")))
		return NULL;
	return err_detail(
	    ERR(ch->arena, ERRCODE_RESERVED_NAME,
		"%s name \"%.*s\" is reserved", what, STR_FMT(name)),
	    "The prefix \"pg_\" is reserved for the system.");
}

struct schema_create {
	struct gw_schema_def def;
	bool created;
};

static struct err *
decide_schema(struct gw_change *ch, void *arg)
{
	struct schema_create *c = arg;
	struct cl_object o = {.kind = CL_SCHEMA};

	c->created = false;
	TRY(check_reserved(ch, "schema", c->def.name));
	if (!cl_find(ch->catalog, CL_DATABASE, c->def.database))
		return ERR(ch->arena, ERRCODE_INVALID_CATALOG_NAME,
		    "the database was dropped");
	if (cl_find_name(
		ch->catalog, CL_SCHEMA, c->def.database, c->def.name)) {
		ch->nothing = c->def.if_not_exists;
		if (ch->nothing)
			return NULL;
		return ERR(ch->arena, ERRCODE_DUPLICATE_SCHEMA,
		    "schema \"%.*s\" already exists", STR_FMT(c->def.name));
	}
	cl_ddl_require(ch->ddl, CL_DATABASE, c->def.database);
	o.id = cl_ddl_ids(ch->ddl, 1);
	o.u.schema = (struct cl_schema){o.id, c->def.database, c->def.name};
	cl_ddl_create(ch->ddl, &o);
	c->created = true;
	return NULL;
}

struct err *
gw_ddl_create_schema(struct gw_stmt *s, struct arena *a,
    const struct gw_schema_def *def, bool *created)
{
	struct schema_create c = {.def = *def};
	struct err *e = gw_change_run(s, a, decide_schema, &c);

	*created = c.created && !e;
	return e;
}

/* ---- roles ---- */

static struct err *
decide_role(struct gw_change *ch, void *arg)
{
	const struct cl_role *role = arg;
	struct cl_object o = {.kind = CL_ROLE};

	TRY(check_reserved(ch, "role", role->name));
	if (cl_find_name(ch->catalog, CL_ROLE, 0, role->name))
		return ERR(ch->arena, ERRCODE_DUPLICATE_OBJECT,
		    "role \"%.*s\" already exists", STR_FMT(role->name));
	o.u.role = *role;
	o.u.role.id = o.id = cl_ddl_ids(ch->ddl, 1);
	cl_ddl_create(ch->ddl, &o);
	return NULL;
}

struct err *
gw_ddl_create_role(
    struct gw_stmt *s, struct arena *a, const struct cl_role *role)
{
	struct cl_role copy = *role;

	return gw_change_run(s, a, decide_role, &copy);
}

static void
flag_change(bool *flag, enum gw_flag change)
{
	if (change != GW_KEEP)
		*flag = change == GW_SET;
}

static struct err *
decide_alter_role(struct gw_change *ch, void *arg)
{
	const struct gw_role_change *c = arg;
	const struct cl_object *old = cl_find(ch->catalog, CL_ROLE, c->id);
	struct cl_object o;

	if (!old)
		return ERR(ch->arena, ERRCODE_UNDEFINED_OBJECT,
		    "the role was dropped");
	o = *old;
	flag_change(&o.u.role.superuser, c->superuser);
	flag_change(&o.u.role.login, c->login);
	flag_change(&o.u.role.createdb, c->createdb);
	flag_change(&o.u.role.createrole, c->createrole);
	if (c->set_verifier)
		o.u.role.verifier = c->verifier;
	if (c->rename.len && !str_eq(c->rename, old->u.role.name)) {
		TRY(check_reserved(ch, "role", c->rename));
		if (cl_find_name(ch->catalog, CL_ROLE, 0, c->rename))
			return ERR(ch->arena, ERRCODE_DUPLICATE_OBJECT,
			    "role \"%.*s\" already exists", STR_FMT(c->rename));
		o.u.role.name = c->rename;
	}
	cl_ddl_replace(ch->ddl, &o);
	return NULL;
}

struct err *
gw_ddl_alter_role(
    struct gw_stmt *s, struct arena *a, const struct gw_role_change *change)
{
	struct gw_role_change c = *change;

	return gw_change_run(s, a, decide_alter_role, &c);
}
