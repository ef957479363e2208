/* Indexes: making them, which takes until every member has filled its own in,
 * and changing their names. */
#include "gateway/ddl_int.h"
#include "gateway/worker.h"

/* ---- names ---- */

/* The columns' names in one, as long as a name may be. */
static struct str
columns_name(struct arena *a, const struct str *parts, uint32_t n)
{
	struct buf b;

	buf_init(&b, a);
	for (uint32_t i = 0; i < n && b.len < GW_NAME_MAX; i++) {
		buf_str(&b, i ? STR("_") : STR(""));
		buf_str(&b, parts[i]);
	}
	return buf_view(&b);
}

/* A primary key has a name, too, though no object of its own. */
static bool
is_key_name(const struct cl_catalog *c, uint32_t schema, struct str name)
{
	const struct cl_object *o;
	size_t at = 0;

	while ((o = cl_each(c, CL_TABLE, &at)))
		if (o->u.table.schema == schema &&
		    str_eq(o->u.table.pkey_name, name))
			return true;
	return false;
}

static bool
is_taken(struct gw_change *ch, uint32_t schema, struct str name)
{
	return cl_find_relation(ch->catalog, schema, name) ||
	       is_key_name(ch->catalog, schema, name);
}

static struct err *
name_taken(struct gw_change *ch, struct str name)
{
	return ERR(ch->arena, ERRCODE_DUPLICATE_TABLE,
	    "relation \"%.*s\" already exists", STR_FMT(name));
}

/* ---- CREATE ---- */

struct create {
	const struct gw_index_def *def;
	uint32_t id; /* of the index that was made; 0: none */
};

/* From its new version on, writers of the table know the index. */
static void
make(struct gw_change *ch, const struct cl_object *table,
    const struct gw_index_def *def, struct create *c)
{
	struct cl_object t = *table, o = {.kind = CL_INDEX};

	t.u.table.version++;
	cl_ddl_replace(ch->ddl, &t);
	o.u.index = *def->index;
	o.u.index.id = o.id = c->id = cl_ddl_ids(ch->ddl, 1);
	o.u.index.schema = t.u.table.schema;
	o.u.index.state = CL_INDEX_BUILDING;
	o.u.index.version = t.u.table.version;
	o.u.index.name = def->name;
	if (!def->name.len)
		o.u.index.name = gw_relation_name(ch, t.u.table.schema,
		    t.u.table.name,
		    columns_name(ch->own, def->parts, def->index->n_columns),
		    "idx", NULL);
	cl_ddl_create(ch->ddl, &o);
}

static struct err *
decide_create(struct gw_change *ch, void *arg)
{
	struct create *c = arg;
	const struct gw_index_def *def = c->def;
	const struct cl_object *t =
	    cl_find(ch->catalog, CL_TABLE, def->index->table);

	c->id = 0;
	if (!t)
		return ERR(ch->arena, ERRCODE_UNDEFINED_TABLE,
		    "the table was dropped while the statement ran");
	if (def->name.len && is_taken(ch, t->u.table.schema, def->name)) {
		ch->nothing = def->if_not_exists;
		return ch->nothing ? NULL : name_taken(ch, def->name);
	}
	make(ch, t, def, c);
	return NULL;
}

/* ---- waiting until it is built ---- */

/* "22012 division by zero": what a member met in a row. */
static struct err *
failure_error(struct arena *a, const struct cl_index *x)
{
	struct str text = x->failure;
	bool coded = text.len > 6 && text.p[5] == ' ';
	char state[6] = ERRCODE_DATA_EXCEPTION;

	for (size_t i = 0; coded && i < 5; i++)
		coded = (text.p[i] >= '0' && text.p[i] <= '9') ||
			(text.p[i] >= 'A' && text.p[i] <= 'Z');
	if (coded) {
		memcpy(state, text.p, 5);
		text = str_skip(text, 6);
	}
	return ERR(a, arena_strdup(a, state), "%.*s", STR_FMT(text));
}

/* It stays, as it would without a client that waits. */
static struct err *
unfinished(
    struct arena *a, struct err *e, const struct cl_index *x, bool failed)
{
	if (failed)
		err_detail(e, "Index \"%.*s\" is invalid.", STR_FMT(x->name));
	else
		err_detail(e, "Index \"%.*s\" is still being built.",
		    STR_FMT(x->name));
	return err_hint(e, "DROP INDEX %s removes it.", arena_cstr(a, x->name));
}

/* A row has no key in it: it goes, and the statement fails for that. */
static struct err *
give_up(struct gw_stmt *s, struct arena *a, const struct cl_index *x)
{
	uint32_t id = x->id;
	struct str name = arena_str(a, x->name);
	struct cl_index gone = {.name = name};
	struct err *e = failure_error(a, x);
	struct gw_drop d = {.kind = CL_INDEX,
	    .ids = &id,
	    .names = &name,
	    .n = 1,
	    .if_exists = true};

	gw_stmt_progress(s);
	return gw_ddl_drop(s, a, &d) ? unfinished(a, e, &gone, true) : e;
}

#define SLICE_US 500000u

/* The members are at work for as long as the catalog is heard of: that they
 * have nothing to show yet does not end the statement. */
static void
wait_news(struct gw_stmt *s, uint64_t version)
{
	struct gw_catalog *c = s->worker->catalog;
	uint64_t until = world_mono_us(s->worker->world) + SLICE_US;

	if (until > s->deadline_us)
		until = s->deadline_us;
	(void)gw_catalog_wait(c, version + 1, until);
	if (gw_catalog_age_us(c) < s->worker->conf->statement_timeout_us)
		gw_stmt_progress(s);
}

static struct err *
wait_built(struct gw_stmt *s, struct arena *a, uint32_t id)
{
	struct gw_catalog *c = s->worker->catalog;

	for (;;) {
		uint64_t version = gw_catalog_version(c);
		const struct cl_index *x =
		    cl_catalog_index(gw_catalog_now(c), id);
		struct err *e;

		if (x && x->state == CL_INDEX_PUBLIC)
			return NULL;
		if (x && x->state == CL_INDEX_FAILED)
			return give_up(s, a, x);
		/* The first wait may end before its own change is seen. */
		e = gw_stmt_check(s, a);
		if (e)
			return x ? unfinished(a, e, x, false) : e;
		if (!x && gw_catalog_confirm(c, s->deadline_us) &&
		    !cl_catalog_index(gw_catalog_now(c), id))
			return ERR(a, ERRCODE_UNDEFINED_OBJECT,
			    "the index was dropped while it was being built");
		wait_news(s, version);
	}
}

struct err *
gw_ddl_create_index(struct gw_stmt *s, struct arena *a,
    const struct gw_index_def *def, bool *created)
{
	struct create c = {.def = def};

	*created = false;
	TRY(gw_change_run(s, a, decide_create, &c));
	if (!c.id)
		return NULL;
	*created = true;
	return wait_built(s, a, c.id);
}

/* ---- RENAME, DROP ---- */

struct rename {
	uint32_t id;
	struct str name;
};

static struct err *
decide_rename(struct gw_change *ch, void *arg)
{
	const struct rename *r = arg;
	const struct cl_object *old = cl_find(ch->catalog, CL_INDEX, r->id);
	struct cl_object o;

	if (!old)
		return ERR(ch->arena, ERRCODE_UNDEFINED_TABLE,
		    "the index was dropped while the statement ran");
	if (is_taken(ch, old->u.index.schema, r->name))
		return name_taken(ch, r->name);
	o = *old;
	o.u.index.name = r->name;
	cl_ddl_replace(ch->ddl, &o);
	return NULL;
}

struct err *
gw_ddl_rename_index(
    struct gw_stmt *s, struct arena *a, uint32_t id, struct str name)
{
	struct rename r = {id, name};

	return gw_change_run(s, a, decide_rename, &r);
}

void
gw_drop_indexes(struct gw_change *ch, uint32_t table)
{
	const struct cl_index *x;
	size_t at = 0;

	while ((x = cl_index_each(ch->catalog, table, &at)))
		cl_ddl_drop(ch->ddl, CL_INDEX, x->id);
}
