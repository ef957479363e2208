#include "sql/t/fixture.h"

#include "expr/table.h"
#include "regress/lib/cu.h"

/* ---- the catalog ---- */

static void
apply(struct fixture *f, const struct cl_object *o)
{
	struct cl_catalog *old = f->catalog;

	f->catalog = cl_catalog_apply(old, ++f->version, &o, 1);
	cl_catalog_unref(old);
	f->env.catalog = f->catalog;
}

void
fixture_init(struct fixture *f)
{
	struct cl_object o = {.kind = CL_DATABASE, .id = CL_DB_POSTGRES};

	memset(f, 0, sizeof *f);
	f->arena = arena_new(NULL, "fixture");
	f->catalog = cl_catalog_new();
	f->next_id = CL_ID_FIRST;
	memsource_init(&f->mem, f->arena);
	f->ex = ex_env_default;
	f->ex.now_us = f->ex.statement_us = INT64_C(725846400000000);
	f->path[0] = CL_SCHEMA_PUBLIC;
	f->env = (struct sql_env){.database = CL_DB_POSTGRES,
	    .path = f->path,
	    .n_path = 1,
	    .ex = &f->ex,
	    .row_max = 54000};
	o.version = 1;
	o.u.database = (struct cl_database){
	    .id = o.id, .owner = CL_ROLE_POSTGRES, .name = STR("postgres")};
	apply(f, &o);
	o = (struct cl_object){
	    .kind = CL_SCHEMA, .id = CL_SCHEMA_PUBLIC, .version = 2};
	o.u.schema = (struct cl_schema){
	    .id = o.id, .database = CL_DB_POSTGRES, .name = STR("public")};
	apply(f, &o);
}

void
fixture_fini(struct fixture *f)
{
	cl_catalog_unref(f->catalog);
	arena_free(f->arena);
}

static void
add_key(struct cl_table *t, const struct cl_column *cols, const char *name,
    uint32_t *key)
{
	for (uint32_t i = 0; i < t->n_columns; i++)
		if (str_eq(cols[i].name, str_c(name)))
			key[t->n_pkey++] = cols[i].id;
}

static void
column_constraints(struct fixture *f, const struct sql_column_def *d,
    struct cl_column *c, bool *key)
{
	for (uint32_t i = 0; i < d->constraints.n; i++) {
		const struct sql_constraint *k = &d->constraints.items[i];

		if (k->kind == SQL_CON_NOT_NULL ||
		    k->kind == SQL_CON_PRIMARY_KEY)
			c->flags |= CL_COL_NOT_NULL;
		if (k->kind == SQL_CON_PRIMARY_KEY)
			*key = true;
		if (k->kind == SQL_CON_DEFAULT)
			c->default_sql = str_c(sql_deparse(f->arena, k->expr));
	}
}

static struct err *
declared_columns(struct fixture *f, const struct sql_create_table *s,
    struct cl_table *t, struct cl_column *cols, uint32_t *pkey)
{
	for (uint32_t i = 0; i < s->n_columns; i++) {
		const struct sql_column_def *d = &s->columns[i];
		struct cl_column *c = &cols[t->n_columns++];
		bool key = false;

		c->id = i + 1;
		c->name = str_c(d->name);
		TRY(sql_type_resolve(f->arena, d->type, &c->type, &c->typmod));
		column_constraints(f, d, c, &key);
		if (key)
			pkey[t->n_pkey++] = c->id;
	}
	return NULL;
}

static void
hidden_columns(struct cl_table *t, struct cl_column *cols, uint32_t *pkey)
{
	static const char *const names[] = {"__block", "__row"};

	for (uint32_t i = 0; i < 2; i++) {
		cols[t->n_columns] = (struct cl_column){.id = t->n_columns + 1,
		    .name = str_c(names[i]),
		    .type = i ? EX_INT4 : EX_INT8,
		    .typmod = -1,
		    .flags = CL_COL_HIDDEN | CL_COL_NOT_NULL};
		pkey[t->n_pkey++] = cols[t->n_columns++].id;
	}
}

static void
key_columns(const struct sql_constraint *k, struct cl_table *t,
    struct cl_column *cols, uint32_t *pkey)
{
	if (k->kind != SQL_CON_PRIMARY_KEY)
		return;
	for (uint32_t i = 0; i < k->n_columns; i++) {
		if (t->open) {
			cols[t->n_columns] =
			    (struct cl_column){.id = t->n_columns + 1,
				.name = str_c(k->columns[i]),
				.type = EX_UNKNOWN,
				.typmod = -1};
			t->n_columns++;
		}
		add_key(t, cols, k->columns[i], pkey);
	}
	for (uint32_t i = 0; i < t->n_pkey; i++)
		cols[pkey[i] - 1].flags |= CL_COL_NOT_NULL;
}

static struct err *
create_table(struct fixture *f, const struct sql_create_table *s)
{
	struct cl_object o = {.kind = CL_TABLE, .id = f->next_id++};
	struct cl_table *t = &o.u.table;
	struct cl_column *cols =
	    NEW_N(f->arena, struct cl_column, s->n_columns + 34);
	uint32_t *pkey = NEW_N(f->arena, uint32_t, CL_KEY_COLUMNS_MAX);

	*t = (struct cl_table){.id = o.id,
	    .database = CL_DB_POSTGRES,
	    .schema = CL_SCHEMA_PUBLIC,
	    .owner = CL_ROLE_POSTGRES,
	    .name = str_c(s->table.name),
	    .open = s->open,
	    .placement = CL_PLACEMENT_DEFAULT,
	    .columns = cols,
	    .pkey = pkey};
	TRY(declared_columns(f, s, t, cols, pkey));
	for (uint32_t i = 0; i < s->constraints.n; i++)
		key_columns(&s->constraints.items[i], t, cols, pkey);
	t->pkey_name =
	    str_c(arena_printf(f->arena, "%.*s_pkey", STR_FMT(t->name)));
	if (t->n_pkey == 0)
		hidden_columns(t, cols, pkey);
	t->next_column = t->n_columns + 1;
	o.version = f->version + 1;
	apply(f, &o);
	return NULL;
}

/* Ready at once. */
static struct err *
create_index(struct fixture *f, const struct sql_create_index *s)
{
	struct cl_object o = {.kind = CL_INDEX, .id = f->next_id++};
	struct cl_index *x = &o.u.index;
	const struct cl_table *t;
	struct str *names;

	TRY(sql_find_table(f->arena, &f->env, &s->table, &t));
	TRY(sql_bind_index(f->arena, &f->env, t, s, x, &names));
	x->id = o.id;
	x->name = str_c(s->name ? s->name
				: arena_printf(f->arena, "%.*s_%.*s_idx",
				      STR_FMT(t->name), STR_FMT(names[0])));
	x->state = CL_INDEX_PUBLIC;
	o.version = f->version + 1;
	apply(f, &o);
	return NULL;
}

static struct err *
create(struct fixture *f, const struct sql_stmt *s, struct buf *b)
{
	/* The trees are kept: the catalog points into them. */
	struct sql_stmt *keep;
	size_t n;

	TRY(sql_parse(f->arena, s->text, &keep, &n));
	if (s->kind == SQL_STMT_CREATE_TABLE)
		TRY(create_table(f, keep[0].u.create_table));
	else
		TRY(create_index(f, keep[0].u.create_index));
	buf_printf(b, "%s\n", sql_tag(s));
	return NULL;
}

/* What the gateway does with the columns that an open table does not know. */
static void
register_columns(struct fixture *f, const struct sql_prepared *p)
{
	/* What was prepared points into the catalog of then. */
	struct cl_catalog *then = cl_catalog_ref(f->catalog);

	for (uint32_t i = 0; i < p->n_new; i++) {
		const struct sql_new_column *nc = &p->new_columns[i];
		struct cl_object o =
		    *cl_find(f->catalog, CL_TABLE, nc->table->id);
		struct cl_table *t = &o.u.table;
		struct cl_column *cols =
		    NEW_N(f->arena, struct cl_column, t->n_columns + 1);
		uint32_t k = 0;

		memcpy(cols, t->columns, t->n_columns * sizeof *cols);
		while (
		    k < t->n_columns && !str_eq(cols[k].name, str_c(nc->name)))
			k++;
		if (k == t->n_columns) {
			cols[k] = (struct cl_column){.id = t->next_column++,
			    .name = str_c(nc->name),
			    .type = nc->type,
			    .typmod = -1};
			t->n_columns++;
		} else if (cols[k].flags & CL_COL_SEEN) {
			cols[k].type = EX_TEXT;
			cols[k].flags |= CL_COL_MIXED;
		} else {
			cols[k].type = nc->type;
		}
		cols[k].flags |= CL_COL_SEEN;
		t->columns = cols;
		o.version = f->version + 1;
		apply(f, &o);
	}
	cl_catalog_unref(then);
}

uint32_t
fixture_table(struct fixture *f, const char *name)
{
	const struct cl_object *o =
	    cl_find_name(f->catalog, CL_TABLE, CL_SCHEMA_PUBLIC, str_c(name));

	MUST(o != NULL);
	return o->id;
}

/* ---- running ---- */

static void
put_err(struct buf *b, const struct err *e)
{
	buf_printf(b, "ERROR %s %d %s\n", e->sqlstate, e->position, e->message);
	if (e->detail)
		buf_printf(b, "DETAIL %s\n", e->detail);
	if (e->hint)
		buf_printf(b, "HINT %s\n", e->hint);
}

static void
put_row(struct fixture *f, struct buf *b, const struct val *vals, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		buf_u8(b, '|');
		if (vals[i].null)
			buf_str(b, STR("NULL"));
		else
			ex_out(b, &f->ex, vals[i]);
	}
	buf_u8(b, '\n');
}

static struct err *
input_params(struct fixture *f, struct arena *a, const struct sql_prepared *p,
    const char *const *params, uint32_t n, struct val **out)
{
	*out = NEW_N(a, struct val, n + 1);
	for (uint32_t i = 0; i < n && i < p->n_params; i++) {
		(*out)[i] = val_null(p->params[i]);
		if (params[i])
			TRY(ex_in(a, &f->ex, p->params[i], -1, str_c(params[i]),
			    &(*out)[i]));
	}
	return NULL;
}

static struct err *
drain(struct fixture *f, struct sql_cursor *c, const struct sql_prepared *p,
    struct buf *b)
{
	struct arena *row = arena_new(f->arena, "row");
	struct val *vals;
	struct err *e;

	for (;;) {
		e = sql_next(c, row, &vals);
		if (e || !vals)
			break;
		put_row(f, b, vals, p->n_columns);
		arena_reset(row);
	}
	arena_free(row);
	return e;
}

static struct err *
run_query(struct fixture *f, struct arena *a, const struct sql_stmt *s,
    const char *const *params, uint32_t n, struct buf *b)
{
	struct sql_prepared *p;
	struct sql_cursor *c;
	struct val *vals;
	struct err *e;

	TRY(sql_prepare(a, &f->env, s, NULL, 0, &p));
	/* A literal whose column got a type by this may be of another: once
	 * more is enough, since the column then has several. */
	for (int i = 0; p->n_new && i < 3; i++) {
		register_columns(f, p);
		TRY(sql_prepare(a, &f->env, s, NULL, 0, &p));
	}
	if (p->n_new)
		return ERR(a, ERRCODE_INTERNAL_ERROR, "new columns again");
	if (p->utility)
		return ERR(a, ERRCODE_FEATURE_NOT_SUPPORTED, "utility");
	TRY(input_params(f, a, p, params, n, &vals));
	TRY(sql_open(a, &f->env, p, vals, n, &f->mem.source, &c));
	e = drain(f, c, p, b);
	if (!e)
		buf_printf(
		    b, "%s %llu\n", p->tag, (unsigned long long)sql_rows(c));
	sql_close(c);
	return e;
}

const char *
fixture_run_with(
    struct fixture *f, const char *sql, const char *const *params, uint32_t n)
{
	struct arena *a = arena_new(f->arena, "run");
	struct sql_stmt *stmts;
	struct buf b;
	size_t n_stmts;
	struct err *e = sql_parse(a, str_c(sql), &stmts, &n_stmts);
	const char *text;

	buf_init(&b, a);
	for (size_t i = 0; !e && i < n_stmts; i++) {
		if (stmts[i].kind == SQL_STMT_CREATE_TABLE ||
		    stmts[i].kind == SQL_STMT_CREATE_INDEX)
			e = create(f, &stmts[i], &b);
		else
			e = run_query(f, a, &stmts[i], params, n, &b);
	}
	if (e)
		put_err(&b, e);
	text = arena_strdup(f->arena, buf_cstr(&b));
	arena_free(a);
	return text;
}

const char *
fixture_run(struct fixture *f, const char *sql)
{
	return fixture_run_with(f, sql, NULL, 0);
}

/* ---- descriptions ---- */

static const char *
describe(struct fixture *f, const char *sql, bool params)
{
	struct arena *a = f->arena;
	struct sql_stmt *stmts;
	struct sql_prepared *p;
	struct buf b;
	size_t n;
	struct err *e = sql_parse(a, str_c(sql), &stmts, &n);

	buf_init(&b, a);
	if (!e)
		e = sql_prepare(a, &f->env, &stmts[0], NULL, 0, &p);
	if (e) {
		put_err(&b, e);
		return buf_cstr(&b);
	}
	for (uint32_t i = 0; params && i < p->n_params; i++)
		buf_printf(
		    &b, "%s%s", i ? "," : "", ex_type(p->params[i])->name);
	for (uint32_t i = 0; !params && i < p->n_columns; i++)
		buf_printf(&b, "%s%s:%s", i ? "," : "", p->columns[i].name,
		    ex_type(p->columns[i].type)->name);
	return buf_cstr(&b);
}

const char *
fixture_params(struct fixture *f, const char *sql)
{
	return describe(f, sql, true);
}

const char *
fixture_columns(struct fixture *f, const char *sql)
{
	return describe(f, sql, false);
}
