/* CREATE TABLE: from the tree to a table of the catalog. */
#include "gateway/access.h"
#include "gateway/ddl.h"
#include "gateway/session_int.h"

struct making {
	struct gw_session *s;
	struct gw_portal *p;
	struct arena *a;
	const struct sql_create_table *ct;
	struct gw_table_def *t;
	struct cl_column *columns;
	const struct sql_constraint *key; /* PRIMARY KEY, once found */
	bool key_of_column;
	uint32_t key_column;
	struct gw_column_sequence *sequences; /* at most one per column */
	uint32_t *uses, n_uses;
};

static struct err *
unsupported(struct making *m, const char *what, int position)
{
	return err_at(ERR(m->a, ERRCODE_FEATURE_NOT_SUPPORTED,
			  "%s is not supported yet", what),
	    position);
}

/* What the grammar takes and this release does not. */
static struct err *
refuse_features(struct making *m)
{
	const struct sql_create_table *ct = m->ct;
	const struct {
		bool there;
		const char *name;
	} features[] = {
	    {ct->temporary, "CREATE TEMPORARY TABLE"},
	    {ct->like, "CREATE TABLE ... LIKE"},
	    {ct->inherits, "table inheritance"},
	    {ct->partition_by, "PARTITION BY"},
	    {ct->partition_of, "PARTITION OF"},
	    {ct->of_type, "CREATE TABLE OF"},
	    {ct->on_commit, "ON COMMIT"},
	};

	for (size_t i = 0; i < sizeof features / sizeof *features; i++)
		if (features[i].there)
			return unsupported(
			    m, features[i].name, ct->table.position);
	return NULL;
}

/* ---- columns ---- */

static uint32_t
find_column(const struct making *m, const char *name)
{
	for (uint32_t i = 0; i < m->t->n_columns; i++)
		if (str_eq(m->columns[i].name, str_c(name)))
			return i;
	return UINT32_MAX;
}

static struct err *
set_key(struct making *m, const struct sql_constraint *c, uint32_t column)
{
	if (m->key)
		return err_at(ERR(m->a, ERRCODE_INVALID_TABLE_DEFINITION,
				  "multiple primary keys for table \"%s\" are "
				  "not allowed",
				  m->ct->table.name),
		    c->position);
	m->key = c;
	m->key_of_column = column != UINT32_MAX;
	m->key_column = column;
	return NULL;
}

/* Nothing is drawn to see whether a default is sound. */
static struct err *
any_value(void *arg, struct arena *a, struct ex_sequence *s)
{
	(void)arg;
	(void)a;
	s->value = 1;
	return NULL;
}

static struct err *
note_uses(struct making *m, const struct sql_pinned *pinned)
{
	uint32_t *more = NEW_N(m->a, uint32_t, m->n_uses + pinned->n + 1);

	for (uint32_t i = 0; i < m->n_uses; i++)
		more[i] = m->uses[i];
	m->uses = more;
	for (uint32_t i = 0; i < pinned->n; i++) {
		const struct cl_table *t =
		    cl_catalog_table(m->p->env.catalog, pinned->ids[i]);

		if (cl_catalog_sequence(m->p->env.catalog, pinned->ids[i]))
			m->uses[m->n_uses++] = pinned->ids[i];
		else if (t)
			return ERR(m->a, ERRCODE_WRONG_OBJECT_TYPE,
			    "\"%.*s\" is not a sequence", STR_FMT(t->name));
	}
	return NULL;
}

static struct err *
set_default(
    struct making *m, struct cl_column *col, const struct sql_constraint *c)
{
	struct ex_env ex = *m->p->env.ex;
	struct sql_env env = m->p->env;
	struct sql_pinned pinned;
	struct val v;

	TRY(sql_pin_sequences(m->a, &env, c->expr, &pinned));
	/* Refuses now what would fail at the first INSERT: unknown names and
	 * types, columns, subqueries. */
	ex.sequence = any_value;
	env.ex = &ex;
	TRY(sql_eval_alone(
	    m->a, &env, pinned.expr, col->type, col->typmod, &v));
	TRY(note_uses(m, &pinned));
	col->default_sql = str_c(sql_deparse(m->a, pinned.expr));
	return NULL;
}

/* ---- serial and identity ---- */

static struct err *
twice(struct making *m, const struct cl_column *col, const char *what,
    int position)
{
	return err_at(ERR(m->a, ERRCODE_SYNTAX_ERROR,
			  "%s specified for column \"%.*s\" of table \"%s\"",
			  what, STR_FMT(col->name), m->ct->table.name),
	    position);
}

/* The sequence that the column gets with the table. */
static struct err *
add_sequence(
    struct making *m, uint32_t i, const struct gw_seq_options *o, bool identity)
{
	struct gw_column_sequence *s = &m->sequences[m->t->n_sequences++];
	struct cl_column *col = &m->columns[i];

	*s = (struct gw_column_sequence){
	    .column = i, .def = {.type = col->type, .identity = identity}};
	col->flags |= CL_COL_NOT_NULL;
	TRY(gw_seq_options_apply(m->a, o, true, &s->def));
	return gw_seq_options_restart(m->a, o, &s->def, &s->def.first);
}

static bool
has_sequence(const struct making *m, uint32_t i)
{
	return m->t->n_sequences &&
	       m->sequences[m->t->n_sequences - 1].column == i;
}

static struct err *
set_identity(struct making *m, uint32_t i, const struct sql_constraint *c)
{
	struct cl_column *col = &m->columns[i];
	struct gw_seq_options o;

	if (col->flags & (CL_COL_ALWAYS | CL_COL_IDENTITY))
		return err_at(ERR(m->a, ERRCODE_SYNTAX_ERROR,
				  "multiple identity specifications for column "
				  "\"%.*s\" of table \"%s\"",
				  STR_FMT(col->name), m->ct->table.name),
		    c->position);
	if (col->default_sql.len || has_sequence(m, i))
		return twice(m, col, "both default and identity",
		    has_sequence(m, i) ? 0 : c->position);
	if (col->type != EX_INT2 && col->type != EX_INT4 &&
	    col->type != EX_INT8)
		return ERR(m->a, ERRCODE_INVALID_PARAMETER_VALUE,
		    "identity column type must be smallint, integer, or "
		    "bigint");
	TRY(gw_seq_options_read(m->a, &c->options, true, &o));
	col->flags |= c->always ? CL_COL_ALWAYS : CL_COL_IDENTITY;
	return add_sequence(m, i, &o, true);
}

/* serial and its like: the integer type behind, or NULL. */
static const struct ex_type *
serial_type(const struct sql_typename *t)
{
	static const struct {
		const char *name;
		uint32_t type;
	} names[] = {
	    {"serial", EX_INT4},
	    {"serial4", EX_INT4},
	    {"bigserial", EX_INT8},
	    {"serial8", EX_INT8},
	    {"smallserial", EX_INT2},
	    {"serial2", EX_INT2},
	};

	if (t->name.schema)
		return NULL;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(t->name.name, names[i].name) == 0)
			return ex_type(names[i].type);
	return NULL;
}

/* The column's type; a serial one gets its sequence. */
static struct err *
column_type(struct making *m, uint32_t i, const struct sql_typename *t)
{
	const struct gw_seq_options none = {.type = 0};
	struct cl_column *col = &m->columns[i];
	const struct ex_type *serial = serial_type(t);

	if (!serial)
		return sql_type_resolve(m->a, t, &col->type, &col->typmod);
	if (t->dims)
		return err_at(ERR(m->a, ERRCODE_FEATURE_NOT_SUPPORTED,
				  "array of serial is not implemented"),
		    t->name.position);
	col->type = serial->oid;
	col->typmod = -1;
	return add_sequence(m, i, &none, false);
}

static struct err *
column_constraint(
    struct making *m, uint32_t i, const struct sql_constraint *c, bool *null)
{
	struct cl_column *col = &m->columns[i];

	switch (c->kind) {
	case SQL_CON_NULL:
		*null = true;
		return NULL;
	case SQL_CON_NOT_NULL:
		col->flags |= CL_COL_NOT_NULL;
		return NULL;
	case SQL_CON_DEFAULT:
		if (col->flags & (CL_COL_ALWAYS | CL_COL_IDENTITY))
			return twice(
			    m, col, "both default and identity", c->position);
		if (col->default_sql.len || has_sequence(m, i))
			return twice(m, col, "multiple default values",
			    has_sequence(m, i) ? 0 : c->position);
		return set_default(m, col, c);
	case SQL_CON_PRIMARY_KEY:
		return set_key(m, c, i);
	case SQL_CON_UNIQUE:
		return unsupported(m, "UNIQUE", c->position);
	case SQL_CON_CHECK:
		return unsupported(m, "CHECK", c->position);
	case SQL_CON_FOREIGN_KEY:
		return unsupported(m, "FOREIGN KEY", c->position);
	case SQL_CON_IDENTITY:
		return set_identity(m, i, c);
	case SQL_CON_GENERATED:
		return unsupported(m, "GENERATED", c->position);
	case SQL_CON_EXCLUDE:
		return unsupported(m, "EXCLUDE", c->position);
	}
	UNREACHABLE();
}

static struct err *
add_column(struct making *m, const struct sql_column_def *d)
{
	uint32_t i = m->t->n_columns;
	struct cl_column *col = &m->columns[i];
	bool null = false, serial;

	if (find_column(m, d->name) != UINT32_MAX)
		return ERR(m->a, ERRCODE_DUPLICATE_COLUMN,
		    "column \"%s\" specified more than once", d->name);
	if (d->collation && strcmp(d->collation->name, "C") != 0 &&
	    strcmp(d->collation->name, "POSIX") != 0 &&
	    strcmp(d->collation->name, "default") != 0)
		return unsupported(m, "COLLATE", d->collation->position);
	col->id = i + 1;
	col->name = str_c(d->name);
	TRY(column_type(m, i, d->type));
	if (ex_type(col->type)->tag == CL_TAG_NONE)
		return err_at(ERR(m->a, ERRCODE_INVALID_TABLE_DEFINITION,
				  "column \"%s\" has pseudo-type %s", d->name,
				  ex_type(col->type)->name),
		    d->type->name.position);
	m->t->n_columns++;
	serial = col->flags & CL_COL_NOT_NULL;
	for (uint32_t k = 0; k < d->constraints.n; k++) {
		const struct sql_constraint *c = &d->constraints.items[k];

		TRY(column_constraint(m, i, c, &null));
		if (null && (col->flags & CL_COL_NOT_NULL))
			return err_at(
			    ERR(m->a, ERRCODE_SYNTAX_ERROR,
				"conflicting NULL/NOT NULL declarations for "
				"column \"%s\" of table \"%s\"",
				d->name, m->ct->table.name),
			    serial ? 0 : c->position);
	}
	return NULL;
}

/* ---- the key ---- */

static struct err *
key_column(struct making *m, const char *name, uint32_t *out)
{
	uint32_t i = find_column(m, name);
	struct cl_column *col;

	if (i == UINT32_MAX && m->t->open) {
		i = m->t->n_columns++;
		/* The type is that of the first value written. */
		m->columns[i] = (struct cl_column){.id = i + 1,
		    .name = str_c(name),
		    .type = EX_UNKNOWN,
		    .typmod = -1};
	}
	if (i == UINT32_MAX)
		return err_at(
		    ERR(m->a, ERRCODE_UNDEFINED_COLUMN,
			"column \"%s\" named in key does not exist", name),
		    m->key->position);
	col = &m->columns[i];
	if (col->type != EX_UNKNOWN && !ex_type(col->type)->key_enc)
		return err_hint(
		    ERR(m->a, ERRCODE_UNDEFINED_OBJECT,
			"data type %s has no default operator class for "
			"access method \"btree\"",
			ex_type_format(m->a, col->type, -1)),
		    "You must specify an operator class for the index or "
		    "define a default operator class for the data type.");
	col->flags |= CL_COL_NOT_NULL;
	*out = col->id;
	return NULL;
}

static struct err *
make_key(struct making *m)
{
	uint32_t *pkey, n;

	if (!m->key && m->t->open)
		return ERR(m->a, ERRCODE_INVALID_TABLE_DEFINITION,
		    "an open table needs a PRIMARY KEY");
	if (!m->key)
		return NULL;
	n = m->key_of_column ? 1 : m->key->n_columns;
	if (n > CL_KEY_COLUMNS_MAX)
		return ERR(m->a, ERRCODE_TOO_MANY_COLUMNS,
		    "cannot use more than %d columns in an index",
		    CL_KEY_COLUMNS_MAX);
	if (m->key->n_including)
		return unsupported(m, "INCLUDE", m->key->position);
	if (m->key->deferrable)
		return unsupported(m, "DEFERRABLE", m->key->position);
	pkey = NEW_N(m->a, uint32_t, n);
	for (uint32_t i = 0; i < n; i++) {
		TRY(key_column(m,
		    m->key_of_column
			? arena_cstr(m->a, m->columns[m->key_column].name)
			: m->key->columns[i],
		    &pkey[i]));
		for (uint32_t k = 0; k < i; k++)
			if (pkey[k] == pkey[i])
				return err_at(
				    ERR(m->a, ERRCODE_DUPLICATE_COLUMN,
					"column \"%s\" appears twice in "
					"primary key constraint",
					m->key->columns[i]),
				    m->key->position);
	}
	m->t->pkey = pkey;
	m->t->n_pkey = n;
	m->t->pkey_name = str_c(m->key->name);
	return NULL;
}

/* ---- options ---- */

static struct err *
option_error(struct making *m, const struct sql_option *o, const char *text)
{
	return err_at(ERR(m->a, ERRCODE_INVALID_PARAMETER_VALUE, "%s", text),
	    o->position);
}

/* The names of a list option: (a, b), ['a', 'b'], or 'a,b'. */
static struct err *
option_names(struct making *m, const struct sql_option *o, const char ***out,
    uint32_t *n)
{
	char *text, *save = NULL;

	*n = 0;
	if (o->kind == SQL_OPT_LIST) {
		*out = NEW_N(m->a, const char *, o->list.n + 1);
		for (; *n < o->list.n; ++*n) {
			(*out)[*n] = sql_option_word(o->list.items[*n]);
			if (!(*out)[*n])
				return option_error(m, o,
				    arena_printf(m->a,
					"option \"%s\" takes a list of names",
					o->name));
		}
	} else {
		const char *whole;

		TRY(sql_option_text(m->a, o, &whole));
		text = arena_strdup(m->a, whole);
		*out = NEW_N(m->a, const char *, strlen(text) + 1);
		for (char *w = strtok_r(text, ", ", &save); w;
		     w = strtok_r(NULL, ", ", &save))
			(*out)[(*n)++] = w;
	}
	if (!*n)
		return option_error(m, o,
		    arena_printf(
			m->a, "option \"%s\" must not be empty", o->name));
	return NULL;
}

static struct err *
read_distribute(struct making *m, const struct sql_option *o)
{
	const char **names;
	uint32_t n;

	TRY(option_names(m, o, &names, &n));
	if (!m->key)
		return option_error(m, o, "distribute_by needs a PRIMARY KEY");
	if (n > m->t->n_pkey)
		n = m->t->n_pkey + 1;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t col = find_column(m, names[i]);

		if (i >= m->t->n_pkey || col == UINT32_MAX ||
		    m->columns[col].id != m->t->pkey[i])
			return err_hint(
			    option_error(m, o,
				"distribute_by must be a leading prefix of "
				"the primary key"),
			    "Name the first columns of the primary key, in "
			    "its order.");
	}
	m->t->n_distribute = n == m->t->n_pkey ? 0 : n;
	return NULL;
}

static struct err *
read_replication(struct making *m, const struct sql_option *o)
{
	int64_t n;

	TRY(sql_option_int(m->a, o, &n));
	if (n < 1 || n > UINT32_MAX)
		return option_error(m, o, "replication must be at least 1");
	m->t->replication = (uint32_t)n;
	return NULL;
}

static struct err *
read_nodes(struct making *m, const struct sql_option *o)
{
	const char **names;
	struct str *nodes;
	uint32_t n;

	TRY(option_names(m, o, &names, &n));
	if (n > CL_COPIES_MAX)
		return option_error(m, o, "too many nodes");
	nodes = NEW_N(m->a, struct str, n);
	for (uint32_t i = 0; i < n; i++) {
		nodes[i] = str_c(names[i]);
		for (uint32_t k = 0; k < i; k++)
			if (str_eq(nodes[k], nodes[i]))
				return option_error(
				    m, o, "a node is named twice");
	}
	m->t->nodes = nodes;
	m->t->n_nodes = n;
	return NULL;
}

static struct err *
read_option(struct making *m, const struct sql_option *o)
{
	bool placed = m->t->replication || m->t->n_nodes, witness;
	int64_t ignored;

	if (o->space)
		return option_error(m, o,
		    arena_printf(m->a,
			"unrecognized parameter namespace \"%s\"", o->space));
	if (strcmp(o->name, "distribute_by") == 0)
		return read_distribute(m, o);
	if (strcmp(o->name, "witness") == 0)
		/* There are no witnesses to leave a table out of. */
		return sql_option_bool(m->a, o, &witness);
	/* Steers a heap that is not there; tools set it. */
	if (strcmp(o->name, "fillfactor") == 0)
		return sql_option_int(m->a, o, &ignored);
	if (strcmp(o->name, "replication") != 0 &&
	    strcmp(o->name, "nodes") != 0)
		return option_error(m, o,
		    arena_printf(
			m->a, "unrecognized parameter \"%s\"", o->name));
	if (placed)
		return option_error(
		    m, o, "replication and nodes exclude each other");
	return strcmp(o->name, "nodes") == 0 ? read_nodes(m, o)
					     : read_replication(m, o);
}

/* ---- all of it ---- */

static struct err *
table_constraint(struct making *m, const struct sql_constraint *c)
{
	static const char *const names[] = {
	    [SQL_CON_CHECK] = "CHECK",
	    [SQL_CON_UNIQUE] = "UNIQUE",
	    [SQL_CON_FOREIGN_KEY] = "FOREIGN KEY",
	    [SQL_CON_EXCLUDE] = "EXCLUDE",
	};

	if (c->kind == SQL_CON_PRIMARY_KEY)
		return set_key(m, c, UINT32_MAX);
	return unsupported(m, names[c->kind], c->position);
}

static struct err *
choose_schema(struct making *m)
{
	const struct sql_name *n = &m->ct->table;
	const struct cl_object *o;

	if (n->schema) {
		o = cl_find_name(m->p->env.catalog, CL_SCHEMA, m->s->database,
		    str_c(n->schema));
		if (!o)
			return err_at(
			    ERR(m->a, ERRCODE_INVALID_SCHEMA_NAME,
				"schema \"%s\" does not exist", n->schema),
			    n->position);
		m->t->schema = o->id;
		return NULL;
	}
	if (!m->p->env.n_path)
		return err_at(ERR(m->a, ERRCODE_INVALID_SCHEMA_NAME,
				  "no schema has been selected to create in"),
		    n->position);
	m->t->schema = m->p->env.path[0];
	return NULL;
}

static struct err *
may_create(struct making *m)
{
	const struct cl_object *o =
	    cl_find(m->p->env.catalog, CL_SCHEMA, m->t->schema);

	return gw_may_create(&m->p->stmt, m->a, m->s->database,
	    o ? o->u.schema.name : STR("public"));
}

static struct err *
describe(struct making *m)
{
	const struct sql_create_table *ct = m->ct;
	uint32_t room = ct->n_columns + 2;

	for (uint32_t i = 0; i < ct->constraints.n; i++)
		room += ct->constraints.items[i].n_columns;
	if (ct->n_columns > CL_COLUMNS_MAX)
		return ERR(m->a, ERRCODE_TOO_MANY_COLUMNS,
		    "tables can have at most %d columns", CL_COLUMNS_MAX);
	m->columns = NEW_N(m->a, struct cl_column, room);
	m->t->columns = m->columns;
	m->sequences = NEW_N(m->a, struct gw_column_sequence, room);
	m->t->sequences = m->sequences;
	m->t->name = str_c(ct->table.name);
	m->t->open = ct->open;
	m->t->owner = m->s->role;
	m->t->if_not_exists = ct->if_not_exists;
	TRY(choose_schema(m));
	for (uint32_t i = 0; i < ct->n_columns; i++)
		TRY(add_column(m, &ct->columns[i]));
	for (uint32_t i = 0; i < ct->constraints.n; i++)
		TRY(table_constraint(m, &ct->constraints.items[i]));
	m->t->uses = m->uses;
	m->t->n_uses = m->n_uses;
	TRY(make_key(m));
	for (uint32_t i = 0; i < ct->options.n; i++)
		TRY(read_option(m, &ct->options.items[i]));
	return NULL;
}

static void
notice_exists(struct gw_session *s, struct gw_portal *p, const char *name)
{
	struct err *e = ERR(p->arena, ERRCODE_DUPLICATE_TABLE,
	    "relation \"%s\" already exists, skipping", name);

	e->severity = ERR_NOTICE;
	gw_session_notice(s, e);
}

struct err *
gw_util_table(struct gw_session *s, struct gw_portal *p)
{
	const struct sql_create_table *ct = p->st->stmt->u.create_table;
	struct making m = {.s = s, .p = p, .a = p->arena, .ct = ct};
	bool created = false;

	m.t = NEW(m.a, struct gw_table_def);
	TRY(refuse_features(&m));
	TRY(choose_schema(&m));
	TRY(may_create(&m));
	if (!ct->if_not_exists || !cl_find_relation(p->env.catalog, m.t->schema,
				      str_c(ct->table.name))) {
		TRY(describe(&m));
		TRY(gw_ddl_create_table(&p->stmt, m.a, m.t, &created));
	}
	if (!created)
		notice_exists(s, p, ct->table.name);
	return NULL;
}
