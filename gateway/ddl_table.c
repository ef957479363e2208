/* Tables: creating them, with their placement, and the columns that writes to
 * open ones bring along. */
#include "gateway/ddl_int.h"
#include "gateway/worker.h"

#define OPEN_COLUMNS_MAX CL_COLUMNS_MAX

/* ---- placements ---- */

static struct err *
several_copies(struct gw_change *ch)
{
	return err_hint(
	    ERR(ch->arena, ERRCODE_FEATURE_NOT_SUPPORTED,
		"tables with several copies of their own are not supported "
		"yet"),
	    "Leave it out, which gives as many copies as the cluster keeps, or "
	    "ask for replication = 1 or one node.");
}

static const struct cl_object *
member_find(const struct cl_catalog *c, struct str ref)
{
	uint64_t id;

	if (str_u64(ref, &id) && id <= UINT32_MAX)
		return cl_find(c, CL_MEMBER, (uint32_t)id);
	return cl_find_name(c, CL_MEMBER, 0, ref);
}

/* What the table asks for, as a placement without id and slots. */
static struct err *
placement_wanted(struct gw_change *ch, const struct gw_table_def *def,
    struct cl_placement *out)
{
	const struct cl_object *m;
	uint32_t *pin;

	*out = (struct cl_placement){.kind = CL_PLACE_CLUSTER};
	if (def->n_nodes > 1)
		return several_copies(ch);
	if (def->n_nodes == 1) {
		m = member_find(ch->catalog, def->nodes[0]);
		if (!m)
			return ERR(ch->arena, ERRCODE_UNDEFINED_OBJECT,
			    "node \"%.*s\" does not exist",
			    STR_FMT(def->nodes[0]));
		pin = NEW(ch->own, uint32_t);
		*pin = m->id;
		cl_ddl_require(ch->ddl, CL_MEMBER, m->id);
		*out = (struct cl_placement){
		    .kind = CL_PLACE_PINS, .n_pins = 1, .pins = pin};
		return NULL;
	}
	if (def->replication)
		*out = (struct cl_placement){.kind = CL_PLACE_REPLICATION,
		    .replication = def->replication};
	if (def->replication > 1)
		return several_copies(ch);
	return NULL;
}

static bool
placement_same(const struct cl_placement *x, const struct cl_placement *y)
{
	return x->kind == y->kind && x->replication == y->replication &&
	       x->n_pins == y->n_pins &&
	       (!x->n_pins ||
		   memcmp(x->pins, y->pins, x->n_pins * sizeof *x->pins) == 0);
}

/* Tables with equal placement share groups. The first one hands out the
 * slots. */
static struct err *
placement_take(
    struct gw_change *ch, const struct gw_table_def *def, uint32_t *id)
{
	struct cl_object o = {.kind = CL_PLACEMENT};
	const struct cl_object *p;
	struct cl_placement want;
	size_t at = 0;

	TRY(placement_wanted(ch, def, &want));
	while ((p = cl_each(ch->catalog, CL_PLACEMENT, &at))) {
		if (p->id != CL_PLACEMENT_CATALOG &&
		    placement_same(&p->u.placement, &want))
			break;
	}
	if (p && p->u.placement.n_slots) {
		*id = p->id;
		return NULL;
	}
	o.u.placement = p ? p->u.placement : want;
	o.id = p ? p->id : cl_ddl_placement_id(ch->ddl);
	o.u.placement.id = *id = o.id;
	cl_placement_assign(ch->own, ch->catalog, &o.u.placement);
	if (p)
		cl_ddl_replace(ch->ddl, &o);
	else
		cl_ddl_create(ch->ddl, &o);
	return NULL;
}

struct err *
gw_place_default(struct gw_change *ch)
{
	const struct gw_table_def def = {.n_nodes = 0};
	uint32_t id;

	TRY(placement_take(ch, &def, &id));
	ASSERT(id == CL_PLACEMENT_DEFAULT);
	return NULL;
}

/* ---- CREATE TABLE ---- */

struct table_create {
	const struct gw_table_def *def;
	bool created;
};

static struct err *
table_name_free(struct gw_change *ch, struct table_create *c, bool *is_free)
{
	const struct gw_table_def *def = c->def;

	*is_free = !cl_find_relation(ch->catalog, def->schema, def->name);
	if (*is_free || def->if_not_exists)
		return NULL;
	return ERR(ch->arena, ERRCODE_DUPLICATE_TABLE,
	    "relation \"%.*s\" already exists", STR_FMT(def->name));
}

static const struct cl_column hidden_columns[] = {
    {.id = 1,
	.name = {"__block", 7},
	.type = EX_INT8,
	.typmod = -1,
	.flags = CL_COL_NOT_NULL | CL_COL_HIDDEN},
    {.id = 2,
	.name = {"__row", 5},
	.type = EX_INT4,
	.typmod = -1,
	.flags = CL_COL_NOT_NULL | CL_COL_HIDDEN}};
static const uint32_t hidden_key[] = {1, 2};

/* Columns and key, the hidden ones first where there is no key. */
static void
table_columns(
    struct gw_change *ch, const struct gw_table_def *def, struct cl_table *t)
{
	uint32_t hidden = def->n_pkey ? 0 : 2;
	struct cl_column *cols =
	    NEW_N(ch->own, struct cl_column, def->n_columns + hidden);

	for (uint32_t i = 0; i < hidden; i++)
		cols[i] = hidden_columns[i];
	for (uint32_t i = 0; i < def->n_columns; i++) {
		cols[hidden + i] = def->columns[i];
		cols[hidden + i].id = hidden + i + 1;
	}
	t->columns = cols;
	t->n_columns = def->n_columns + hidden;
	t->next_column = t->n_columns + 1;
	t->pkey = hidden ? hidden_key : def->pkey;
	t->n_pkey = hidden ? 2 : def->n_pkey;
	t->n_distribute = hidden ? 0 : def->n_distribute;
}

/* Sequences of columns, whose ids follow the table's. */
static struct err *
table_sequences(
    struct gw_change *ch, const struct gw_table_def *def, struct cl_table *t)
{
	/* table_columns has just made them. */
	struct cl_column *cols =
	    arena_dup(ch->own, t->columns, t->n_columns * sizeof *cols);
	uint32_t hidden = t->n_columns - def->n_columns;
	struct map *taken = map_new(ch->own);

	t->columns = cols;
	map_put(taken, t->name, t);
	for (uint32_t i = 0; i < def->n_sequences; i++) {
		const struct gw_column_sequence *s = &def->sequences[i];
		struct cl_column *col = &cols[hidden + s->column];
		struct cl_object o = {
		    .kind = CL_SEQUENCE, .id = t->id + GW_TABLE_IDS + i};

		if (!i)
			TRY(gw_place_default(ch));
		o.u.sequence = s->def;
		o.u.sequence.id = o.id;
		o.u.sequence.schema = t->schema;
		o.u.sequence.owner = t->owner;
		o.u.sequence.table = t->id;
		o.u.sequence.column = col->id;
		o.u.sequence.name = gw_relation_name(
		    ch, t->schema, t->name, col->name, "seq", taken);
		map_put(taken, o.u.sequence.name, col);
		col->default_sql = str_c(sql_default_sequence(ch->own, o.id));
		cl_ddl_create(ch->ddl, &o);
	}
	return NULL;
}

static struct err *
table_make(struct gw_change *ch, const struct gw_table_def *def,
    const struct cl_schema *schema)
{
	struct cl_object o = {.kind = CL_TABLE};
	struct cl_table *t = &o.u.table;

	if (def->n_columns + 2 > CL_COLUMNS_MAX)
		return ERR(ch->arena, ERRCODE_TOO_MANY_COLUMNS,
		    "tables can have at most %d columns", CL_COLUMNS_MAX - 2);
	if (def->n_pkey > CL_KEY_COLUMNS_MAX)
		return ERR(ch->arena, ERRCODE_TOO_MANY_COLUMNS,
		    "cannot use more than %d columns in a primary key",
		    CL_KEY_COLUMNS_MAX);
	cl_ddl_require(ch->ddl, CL_SCHEMA, def->schema);
	for (uint32_t i = 0; i < def->n_uses; i++) {
		if (!cl_catalog_sequence(ch->catalog, def->uses[i]))
			return ERR(ch->arena, ERRCODE_UNDEFINED_TABLE,
			    "a sequence that a default draws from was dropped");
		cl_ddl_require(ch->ddl, CL_SEQUENCE, def->uses[i]);
	}
	TRY(placement_take(ch, def, &t->placement));
	t->id = o.id = cl_ddl_ids(ch->ddl, GW_TABLE_IDS + def->n_sequences);
	t->database = schema->database;
	t->schema = def->schema;
	t->owner = def->owner;
	t->name = def->name;
	t->open = def->open;
	t->version = 1;
	table_columns(ch, def, t);
	TRY(table_sequences(ch, def, t));
	t->pkey_name = def->pkey_name;
	if (!t->pkey_name.len && def->n_pkey)
		t->pkey_name = str_c(arena_printf(ch->own, "%.*s_pkey",
		    def->name.len > 58 ? 58 : (int)def->name.len, def->name.p));
	cl_ddl_create(ch->ddl, &o);
	return NULL;
}

static struct err *
decide_create_table(struct gw_change *ch, void *arg)
{
	struct table_create *c = arg;
	const struct cl_object *schema =
	    cl_find(ch->catalog, CL_SCHEMA, c->def->schema);
	bool is_free;

	c->created = false;
	if (!schema)
		return ERR(ch->arena, ERRCODE_INVALID_SCHEMA_NAME,
		    "the schema was dropped");
	TRY(table_name_free(ch, c, &is_free));
	ch->nothing = !is_free;
	if (ch->nothing)
		return NULL;
	TRY(table_make(ch, c->def, &schema->u.schema));
	c->created = true;
	return NULL;
}

/* Slots are handed out with a placement's first table, over the members of that
 * moment: when these were too few, its tables have fewer copies than asked
 * for. */
static void
warn_few_copies(
    struct gw_stmt *s, struct arena *a, const struct gw_table_def *def)
{
	const struct cl_catalog *now = gw_catalog_now(s->worker->catalog);
	const struct cl_object *o =
	    cl_find_name(now, CL_TABLE, def->schema, def->name);
	const struct cl_placement *p =
	    o ? cl_catalog_placement(now, o->u.table.placement) : NULL;
	uint32_t wanted = cl_catalog_cluster(now)->replication;
	struct err *e;

	if (!p || p->kind != CL_PLACE_CLUSTER || !p->n_slots ||
	    p->slots[0].n >= wanted || !s->ops->notice)
		return;
	e = err_detail(
	    ERR(a, ERRCODE_WARNING,
		"table \"%.*s\" has copies on %u nodes instead of %u",
		STR_FMT(def->name), p->slots[0].n, wanted),
	    "The cluster had no more members when its first table was made.");
	e->severity = ERR_WARNING;
	s->ops->notice(s->ops->notice_arg, e);
}

struct err *
gw_ddl_create_table(struct gw_stmt *s, struct arena *a,
    const struct gw_table_def *def, bool *created)
{
	struct table_create c = {.def = def};
	struct err *e = gw_change_run(s, a, decide_create_table, &c);

	*created = c.created && !e;
	if (*created)
		warn_few_copies(s, a, def);
	return e;
}

/* ---- columns of open tables ---- */

struct registration {
	const struct sql_new_column *columns;
	uint32_t n;
};

/* A table as it will be, its columns copied so that they can change. */
struct growing {
	struct cl_object object;
	struct cl_column *columns;
	bool changed;
};

static struct cl_column *
growing_find(struct growing *g, const char *name)
{
	for (uint32_t i = 0; i < g->object.u.table.n_columns; i++) {
		struct cl_column *c = &g->columns[i];

		if (!(c->flags & (CL_COL_HIDDEN | CL_COL_DROPPED)) &&
		    str_eq(c->name, str_c(name)))
			return c;
	}
	return NULL;
}

/* The column is seen with this type, too. */
static void
column_seen(struct growing *g, struct cl_column *c, uint32_t type)
{
	if (c->flags & CL_COL_MIXED || c->type == type)
		return;
	g->changed = true;
	if (!c->type || c->type == EX_UNKNOWN) {
		c->type = type;
		return;
	}
	c->flags |= CL_COL_MIXED;
	c->type = EX_TEXT;
	c->typmod = -1;
}

static struct err *
column_add(
    struct gw_change *ch, struct growing *g, const struct sql_new_column *col)
{
	struct cl_table *t = &g->object.u.table;
	struct cl_column *c = growing_find(g, col->name);

	if (c) {
		column_seen(g, c, col->type);
		return NULL;
	}
	if (t->next_column > OPEN_COLUMNS_MAX)
		return err_hint(
		    ERR(ch->arena, ERRCODE_TOO_MANY_COLUMNS,
			"table \"%.*s\" cannot have more than %d columns",
			STR_FMT(t->name), OPEN_COLUMNS_MAX),
		    "Keep what varies in a jsonb column.");
	g->columns[t->n_columns++] = (struct cl_column){.id = t->next_column++,
	    .name = str_c(col->name),
	    .type = col->type,
	    .typmod = -1,
	    .flags = CL_COL_SEEN};
	g->changed = true;
	return NULL;
}

/* All the statement's columns of one table. */
static struct err *
register_table(struct gw_change *ch, const struct registration *r, uint32_t id)
{
	const struct cl_object *o = cl_find(ch->catalog, CL_TABLE, id);
	struct growing g = {.changed = false};

	if (!o)
		return ERR(ch->arena, ERRCODE_UNDEFINED_TABLE,
		    "the table was dropped while the statement ran");
	g.object = *o;
	g.columns = NEW_N(
	    ch->own, struct cl_column, (size_t)o->u.table.n_columns + r->n);
	memcpy(g.columns, o->u.table.columns,
	    o->u.table.n_columns * sizeof *g.columns);
	g.object.u.table.columns = g.columns;
	for (uint32_t i = 0; i < r->n; i++) {
		if (r->columns[i].table->id == id)
			TRY(column_add(ch, &g, &r->columns[i]));
	}
	if (!g.changed)
		return NULL;
	cl_ddl_replace(ch->ddl, &g.object);
	ch->nothing = false;
	return NULL;
}

static struct err *
decide_register(struct gw_change *ch, void *arg)
{
	const struct registration *r = arg;

	ch->nothing = true;
	for (uint32_t i = 0; i < r->n; i++) {
		bool before = false;

		for (uint32_t k = 0; k < i; k++)
			before |=
			    r->columns[k].table->id == r->columns[i].table->id;
		if (!before)
			TRY(register_table(ch, r, r->columns[i].table->id));
	}
	return NULL;
}

struct err *
gw_ddl_register(struct gw_stmt *s, struct arena *a,
    const struct sql_new_column *columns, uint32_t n)
{
	struct registration r = {columns, n};

	return gw_change_run(s, a, decide_register, &r);
}
