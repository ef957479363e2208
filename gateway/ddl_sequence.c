/* Sequences: making and changing them, and what goes with them. */
#include "gateway/ddl_int.h"

/* ---- names ---- */

/* table_column_seq, the longer part cut until it fits, never inside a
 * character. */
static struct str
object_name(
    struct arena *a, struct str table, struct str column, const char *label)
{
	size_t most = GW_NAME_MAX - strlen(label) - 2;

	while (table.len + column.len > most) {
		struct str *cut = table.len > column.len ? &table : &column;

		do
			cut->len--;
		while (cut->len && ((uint8_t)cut->p[cut->len] & 0xc0) == 0x80);
	}
	return str_c(arena_printf(
	    a, "%.*s_%.*s_%s", STR_FMT(table), STR_FMT(column), label));
}

struct str
gw_relation_name(struct gw_change *ch, uint32_t schema, struct str table,
    struct str column, const char *label, const struct map *taken)
{
	const char *numbered = label;
	struct str name;

	for (unsigned i = 1;; i++) {
		name = object_name(ch->own, table, column, numbered);
		if (!cl_find_relation(ch->catalog, schema, name) &&
		    !(taken && map_get(taken, name)))
			return name;
		numbered = arena_printf(ch->own, "%s%u", label, i);
	}
}

static struct err *
name_taken(struct gw_change *ch, struct str name)
{
	return ERR(ch->arena, ERRCODE_DUPLICATE_TABLE,
	    "relation \"%.*s\" already exists", STR_FMT(name));
}

/* ---- CREATE ---- */

/* The column that owns it must be there, and stay for as long as this takes. */
static struct err *
require_owner(struct gw_change *ch, uint32_t table, uint32_t column)
{
	const struct cl_table *t = cl_catalog_table(ch->catalog, table);

	if (!table)
		return NULL;
	if (!t || !cl_table_column_id(t, column))
		return ERR(ch->arena, ERRCODE_UNDEFINED_TABLE,
		    "the table was dropped while the statement ran");
	cl_ddl_require(ch->ddl, CL_TABLE, table);
	return NULL;
}

struct create {
	const struct gw_sequence_def *def;
	bool created;
};

static struct err *
decide_create(struct gw_change *ch, void *arg)
{
	struct create *c = arg;
	const struct cl_sequence *q = c->def->q;
	struct cl_object o = {.kind = CL_SEQUENCE};

	c->created = false;
	if (!cl_find(ch->catalog, CL_SCHEMA, q->schema))
		return ERR(ch->arena, ERRCODE_INVALID_SCHEMA_NAME,
		    "the schema was dropped");
	if (cl_find_relation(ch->catalog, q->schema, q->name)) {
		ch->nothing = c->def->if_not_exists;
		return ch->nothing ? NULL : name_taken(ch, q->name);
	}
	cl_ddl_require(ch->ddl, CL_SCHEMA, q->schema);
	TRY(require_owner(ch, q->table, q->column));
	TRY(gw_place_default(ch));
	o.u.sequence = *q;
	o.u.sequence.id = o.id = cl_ddl_ids(ch->ddl, 1);
	cl_ddl_create(ch->ddl, &o);
	c->created = true;
	return NULL;
}

struct err *
gw_ddl_create_sequence(struct gw_stmt *s, struct arena *a,
    const struct gw_sequence_def *def, bool *created)
{
	struct create c = {.def = def};
	struct err *e = gw_change_run(s, a, decide_create, &c);

	*created = c.created && !e;
	return e;
}

/* ---- ALTER ---- */

static struct err *
rename_to(struct gw_change *ch, struct cl_sequence *q, struct str name)
{
	if (!name.len || str_eq(name, q->name))
		return NULL;
	if (cl_find_relation(ch->catalog, q->schema, name))
		return name_taken(ch, name);
	q->name = name;
	return NULL;
}

static struct err *
decide_alter(struct gw_change *ch, void *arg)
{
	const struct gw_sequence_change *c = arg;
	const struct cl_object *old = cl_find(ch->catalog, CL_SEQUENCE, c->id);
	struct cl_object o;

	if (!old)
		return ERR(ch->arena, ERRCODE_UNDEFINED_TABLE,
		    "the sequence was dropped while the statement ran");
	o = *old;
	TRY(rename_to(ch, &o.u.sequence, c->rename));
	if (c->options) {
		TRY(gw_seq_options_apply(
		    ch->arena, c->options, false, &o.u.sequence));
		if (c->options->owned != GW_OWNED_KEEP) {
			TRY(require_owner(ch, c->table, c->column));
			o.u.sequence.table = c->table;
			o.u.sequence.column = c->column;
		}
	}
	cl_ddl_replace(ch->ddl, &o);
	return NULL;
}

struct err *
gw_ddl_alter_sequence(
    struct gw_stmt *s, struct arena *a, const struct gw_sequence_change *change)
{
	struct gw_sequence_change c = *change;

	return gw_change_run(s, a, decide_alter, &c);
}

/* ---- DROP: of sequences, and of what has some ---- */

/* One drop: the sequences that go, and what hangs on them. */
struct going {
	struct gw_change *ch;
	const struct gw_drop *d;
	const struct cl_sequence **seqs;
	uint32_t n;
	struct buf lines; /* what depends on them, a line each */
	uint32_t n_lines;
};

static bool
among(const struct gw_drop *d, uint32_t id)
{
	for (uint32_t i = 0; i < d->n; i++)
		if (d->ids[i] == id)
			return true;
	return false;
}

static bool
table_goes(const struct gw_drop *d, const struct cl_table *t)
{
	return d->kind == CL_TABLE      ? among(d, t->id)
	       : d->kind == CL_SCHEMA   ? among(d, t->schema)
	       : d->kind == CL_DATABASE ? among(d, t->database)
					: false;
}

static bool
sequence_goes(struct going *g, const struct cl_sequence *q)
{
	const struct cl_object *schema;

	switch (g->d->kind) {
	case CL_SEQUENCE:
		return among(g->d, q->id);
	case CL_TABLE:
		return among(g->d, q->table);
	case CL_SCHEMA:
		return among(g->d, q->schema);
	case CL_DATABASE:
		schema = cl_find(g->ch->catalog, CL_SCHEMA, q->schema);
		return schema && among(g->d, schema->u.schema.database);
	default:
		return false;
	}
}

/* A column's identity is no sequence of its own. */
static struct err *
check_identity(struct going *g, const struct cl_sequence *q)
{
	const struct cl_table *t = cl_catalog_table(g->ch->catalog, q->table);
	const struct cl_column *c = t ? cl_table_column_id(t, q->column) : NULL;

	if (g->d->kind != CL_SEQUENCE || !q->identity || !c)
		return NULL;
	return err_hint(
	    ERR(g->ch->arena, ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST,
		"cannot drop sequence %.*s because column %.*s of table %.*s "
		"requires it",
		STR_FMT(q->name), STR_FMT(c->name), STR_FMT(t->name)),
	    "You can drop column %.*s of table %.*s instead.", STR_FMT(c->name),
	    STR_FMT(t->name));
}

static struct err *
collect(struct going *g)
{
	const struct cl_object *o;
	uint32_t cap = 0;
	size_t at = 0;

	while (cl_each(g->ch->catalog, CL_SEQUENCE, &at))
		cap++;
	g->seqs = NEW_N(g->ch->own, const struct cl_sequence *, cap + 1);
	at = 0;
	while ((o = cl_each(g->ch->catalog, CL_SEQUENCE, &at))) {
		if (!sequence_goes(g, &o->u.sequence))
			continue;
		TRY(check_identity(g, &o->u.sequence));
		g->seqs[g->n++] = &o->u.sequence;
	}
	return NULL;
}

static const struct cl_sequence *
needed(const struct going *g, const struct cl_column *c)
{
	for (uint32_t i = 0; c->default_sql.len && i < g->n; i++)
		if (sql_default_needs(c->default_sql, g->seqs[i]->id))
			return g->seqs[i];
	return NULL;
}

static void
add_line(struct going *g, const struct cl_table *t, const struct cl_column *c,
    const struct cl_sequence *q)
{
	buf_str(&g->lines, g->n_lines++ ? STR("\n") : STR(""));
	buf_printf(&g->lines, "%sdefault value for column %.*s of table %.*s",
	    g->d->cascade ? "drop cascades to " : "", STR_FMT(c->name),
	    STR_FMT(t->name));
	if (!g->d->cascade)
		buf_printf(
		    &g->lines, " depends on sequence %.*s", STR_FMT(q->name));
}

/* Takes the defaults away that draw from what goes. */
static void
free_table(struct going *g, const struct cl_object *o)
{
	struct cl_object copy = *o;
	const struct cl_table *t = &o->u.table;
	struct cl_column *cols =
	    arena_dup(g->ch->own, t->columns, t->n_columns * sizeof *cols);
	bool changed = false;

	for (uint32_t i = 0; i < t->n_columns; i++) {
		const struct cl_sequence *q = needed(g, &cols[i]);

		if (!q)
			continue;
		add_line(g, t, &cols[i], q);
		cols[i].default_sql = STR_NONE;
		changed = true;
	}
	copy.u.table.columns = cols;
	if (changed)
		cl_ddl_replace(g->ch->ddl, &copy);
}

static struct err *
in_use(struct going *g)
{
	const struct gw_drop *d = g->d;
	struct arena *a = g->ch->arena;
	struct err *e;

	if (d->n == 1)
		e = ERR(a, ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST,
		    "cannot drop %s %.*s because other objects depend on it",
		    cl_kind_name(d->kind), STR_FMT(d->names[0]));
	else
		e = ERR(a, ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST,
		    "cannot drop desired object(s) because other objects "
		    "depend on them");
	err_detail(e, "%s", buf_cstr(&g->lines));
	return err_hint(
	    e, "Use DROP ... CASCADE to drop the dependent objects too.");
}

static void
notice_cascade(struct going *g)
{
	struct err *e;

	if (!g->n_lines || !g->d->notice)
		return;
	if (g->n_lines == 1)
		e = ERR(g->ch->arena, ERRCODE_SUCCESSFUL_COMPLETION, "%s",
		    buf_cstr(&g->lines));
	else
		e = err_detail(
		    ERR(g->ch->arena, ERRCODE_SUCCESSFUL_COMPLETION,
			"drop cascades to %u other objects", g->n_lines),
		    "%s", buf_cstr(&g->lines));
	e->severity = ERR_NOTICE;
	*g->d->notice = e;
}

struct err *
gw_drop_sequences(struct gw_change *ch, const struct gw_drop *d)
{
	struct going g = {.ch = ch, .d = d};
	const struct cl_object *o;
	size_t at = 0;

	if (d->notice)
		*d->notice = NULL;
	TRY(collect(&g));
	buf_init(&g.lines, ch->own);
	while (g.n && (o = cl_each(ch->catalog, CL_TABLE, &at)))
		if (!table_goes(d, &o->u.table))
			free_table(&g, o);
	if (g.n_lines && !d->cascade)
		return in_use(&g);
	notice_cascade(&g);
	for (uint32_t i = 0; d->kind != CL_SEQUENCE && i < g.n; i++)
		cl_ddl_drop(ch->ddl, CL_SEQUENCE, g.seqs[i]->id);
	return NULL;
}
