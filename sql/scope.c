/* Names of columns and relations. */
#include "sql/bind_int.h"

void *
sql_more(struct arena *a, void *p, uint32_t n, uint32_t *cap, size_t size)
{
	uint32_t want = *cap ? *cap * 2 : 8;

	if (n < *cap)
		return p;
	p = arena_grow(a, p, *cap * size, want * size);
	memset((char *)p + *cap * size, 0, (want - *cap) * size);
	*cap = want;
	return p;
}

bool
sql_column_visible(const struct cl_column *c)
{
	return !(c->flags & (CL_COL_HIDDEN | CL_COL_DROPPED));
}

bool
sql_can_sort(uint32_t type)
{
	const struct ex_type *t = ex_type(type);

	return type == EX_UNKNOWN || (t && t->cmp);
}

struct err *
sql_unsupported_at(struct arena *a, int position, const char *features)
{
	return err_at(ERR(a, ERRCODE_FEATURE_NOT_SUPPORTED,
			  "%s are not supported", features),
	    position);
}

/* The position of column `col` of r in the base row. */
static uint32_t
rel_use(
    struct sql_bind *b, struct sql_query *q, struct sql_rel *r, uint32_t col)
{
	struct sql_rel_col *c = &r->cols[col];

	if (c->pos)
		return c->pos - 1;
	r->used = sql_more(
	    b->arena, r->used, r->n_used, &r->used_cap, sizeof *r->used);
	r->used[r->n_used++] = col;
	c->pos = ++q->width;
	return c->pos - 1;
}

struct expr *
sql_rel_expr(struct sql_bind *b, struct sql_query *q, struct sql_rel *r,
    uint32_t col, int position)
{
	struct expr *e = ex_column(b->arena, rel_use(b, q, r, col),
	    r->cols[col].type, r->cols[col].typmod);

	e->position = position;
	return e;
}

bool
sql_query_column(const struct sql_query *q, uint32_t pos,
    const struct sql_rel **rel, const struct sql_rel_col **col)
{
	for (uint32_t i = 0; i < q->n_rels; i++)
		for (uint32_t k = 0; k < q->rels[i]->n_cols; k++)
			if (q->rels[i]->cols[k].pos == pos + 1) {
				*rel = q->rels[i];
				*col = &q->rels[i]->cols[k];
				return true;
			}
	return false;
}

static uint32_t
rel_find(const struct sql_rel *r, const char *name)
{
	for (uint32_t i = 0; i < r->n_cols; i++)
		if (strcmp(r->cols[i].name, name) == 0)
			return i;
	return UINT32_MAX;
}

/* What an open table says of a column it never saw: a NULL that takes its type
 * from what it meets. */
static struct expr *
unseen(struct arena *a, int position)
{
	struct expr *e = ex_const(a, val_null(EX_UNKNOWN));

	e->position = position;
	return e;
}

static struct err *
ambiguous(struct arena *a, const char *name, int position)
{
	return err_at(ERR(a, ERRCODE_AMBIGUOUS_COLUMN,
			  "column reference \"%s\" is ambiguous", name),
	    position);
}

/* An unqualified name in one scope; *out NULL when it is not there. */
static struct err *
find_bare(struct sql_ectx *c, const struct sql_scope *s, const char *name,
    int position, struct expr **out)
{
	struct sql_query *q = s->query;
	bool open = false;

	*out = NULL;
	for (uint32_t i = 0; i < s->n_merged; i++)
		if (strcmp(s->merged[i].name, name) == 0) {
			if (*out)
				return ambiguous(c->b->arena, name, position);
			*out = s->merged[i].expr;
		}
	for (uint32_t i = s->first; i < q->n_rels; i++) {
		struct sql_rel *r = q->rels[i];
		uint32_t col = rel_find(r, name);

		if (r->table && r->table->open && r->kind == SQL_REL_TABLE)
			open = true;
		if (col == UINT32_MAX || r->cols[col].merged ||
		    r->kind == SQL_REL_EXCLUDED)
			continue;
		if (*out)
			return ambiguous(c->b->arena, name, position);
		*out = sql_rel_expr(c->b, q, r, col, position);
	}
	if (!*out && open)
		*out = unseen(c->b->arena, position);
	return NULL;
}

bool
sql_scope_has(const struct sql_scope *s, const char *name)
{
	for (uint32_t i = 0; i < s->n_merged; i++)
		if (strcmp(s->merged[i].name, name) == 0)
			return true;
	for (uint32_t i = 0; i < s->query->n_rels; i++)
		if (rel_find(s->query->rels[i], name) != UINT32_MAX)
			return true;
	return false;
}

static bool
rel_is(const struct sql_rel *r, const char *schema, const char *name)
{
	if (strcmp(r->name, name) != 0)
		return false;
	return !schema || (r->schema && strcmp(r->schema, schema) == 0);
}

static struct err *
find_rel(struct arena *a, const struct sql_scope *s, const char *schema,
    const char *name, int position, struct sql_rel **out)
{
	*out = NULL;
	for (uint32_t i = s->first; i < s->query->n_rels; i++) {
		if (!rel_is(s->query->rels[i], schema, name))
			continue;
		if (*out)
			return err_at(
			    ERR(a, ERRCODE_DUPLICATE_ALIAS,
				"table reference \"%s\" is ambiguous", name),
			    position);
		*out = s->query->rels[i];
	}
	return NULL;
}

static struct err *
missing_rel(struct sql_ectx *c, const char *name, int position)
{
	const struct sql_scope *s = c->scope;
	struct arena *a = c->b->arena;

	for (uint32_t i = 0; s && i < s->query->n_rels; i++) {
		const struct sql_rel *r = s->query->rels[i];
		struct err *e;

		if (!r->aliased || !r->table ||
		    !str_eq(r->table->name, str_c(name)))
			continue;
		e = ERR(a, ERRCODE_UNDEFINED_TABLE,
		    "invalid reference to FROM-clause entry for table \"%s\"",
		    name);
		err_hint(e,
		    "Perhaps you meant to reference the table alias \"%s\".",
		    r->name);
		return err_at(e, position);
	}
	return err_at(ERR(a, ERRCODE_UNDEFINED_TABLE,
			  "missing FROM-clause entry for table \"%s\"", name),
	    position);
}

static struct err *
correlated(struct sql_ectx *c, int position)
{
	return sql_unsupported_at(c->b->arena, position,
	    "references of a subquery to the query around it");
}

/* ---- "perhaps you meant" ---- */

#define NAME_NEAR_MAX 64

/* Levenshtein distance, as far as it stays below `most`. */
static uint32_t
distance(const char *x, const char *y, uint32_t most)
{
	uint32_t row[NAME_NEAR_MAX + 1];
	uint32_t nx = (uint32_t)strlen(x), ny = (uint32_t)strlen(y);

	if (nx > NAME_NEAR_MAX || ny > NAME_NEAR_MAX)
		return most;
	for (uint32_t k = 0; k <= ny; k++)
		row[k] = k;
	for (uint32_t i = 1; i <= nx; i++) {
		uint32_t diag = row[0];

		row[0] = i;
		for (uint32_t k = 1; k <= ny; k++) {
			uint32_t d = diag + (x[i - 1] != y[k - 1]);

			diag = row[k];
			if (row[k] + 1 < d)
				d = row[k] + 1;
			if (row[k - 1] + 1 < d)
				d = row[k - 1] + 1;
			row[k] = d;
		}
	}
	return row[ny] < most ? row[ny] : most;
}

/* PostgreSQL's rule: at most 3 edits and at most half of the name; one hint
 * when the best is unique, another when two are as good. */
static void
hint_near(struct err *e, const struct sql_scope *s, const char *qual,
    const char *name)
{
	const struct sql_rel *rel[2] = {NULL, NULL};
	const char *col[2] = {NULL, NULL};
	uint32_t best = 4, n = 0, len = (uint32_t)strlen(name);

	for (uint32_t i = 0; s && i < s->query->n_rels; i++) {
		const struct sql_rel *r = s->query->rels[i];
		uint32_t far = qual ? distance(qual, r->name, 4) : 0;

		for (uint32_t k = 0; k < r->n_cols; k++) {
			uint32_t d = distance(name, r->cols[k].name, 4);

			if (d > len / 2 || d + far > 3 || d + far > best)
				continue;
			if (d + far < best)
				n = 0;
			best = d + far;
			if (n < 2) {
				rel[n] = r;
				col[n] = r->cols[k].name;
			}
			n++;
		}
	}
	if (n == 1)
		err_hint(e,
		    "Perhaps you meant to reference the column \"%s.%s\".",
		    rel[0]->name, col[0]);
	else if (n == 2)
		err_hint(e,
		    "Perhaps you meant to reference the column \"%s.%s\" or "
		    "the column \"%s.%s\".",
		    rel[0]->name, col[0], rel[1]->name, col[1]);
}

/* A column of that name that cannot be seen from here: PostgreSQL says so. */
static struct err *
no_column(struct sql_ectx *c, const char *rel, const char *name, int position)
{
	struct arena *a = c->b->arena;
	struct err *e = rel ? ERR(a, ERRCODE_UNDEFINED_COLUMN,
				  "column %s.%s does not exist", rel, name)
			    : ERR(a, ERRCODE_UNDEFINED_COLUMN,
				  "column \"%s\" does not exist", name);

	hint_near(e, c->scope, rel, name);
	return err_at(e, position);
}

static struct err *
bare_column(
    struct sql_ectx *c, const char *name, int position, struct expr **out)
{
	struct sql_rel *r = NULL;

	*out = NULL;
	if (c->scope)
		TRY(find_bare(c, c->scope, name, position, out));
	if (*out)
		return NULL;
	for (const struct sql_scope *s = c->scope ? c->scope->outer : NULL; s;
	     s = s->outer)
		if (sql_scope_has(s, name))
			return correlated(c, position);
	if (c->scope)
		TRY(find_rel(c->b->arena, c->scope, NULL, name, position, &r));
	if (r)
		return sql_unsupported_at(
		    c->b->arena, position, "whole-row references");
	return no_column(c, NULL, name, position);
}

static struct err *
rel_column(struct sql_ectx *c, const char *schema, const char *rel,
    const struct sql_expr *e, struct expr **out)
{
	const char *name = e->u.column.parts[e->u.column.n - 1];
	struct sql_rel *r = NULL;
	uint32_t col;

	if (c->scope)
		TRY(find_rel(
		    c->b->arena, c->scope, schema, rel, e->position, &r));
	if (!r) {
		for (const struct sql_scope *s = c->scope ? c->scope->outer
							  : NULL;
		     s; s = s->outer) {
			TRY(find_rel(
			    c->b->arena, s, schema, rel, e->position, &r));
			if (r)
				return correlated(c, e->position);
		}
		return missing_rel(c, rel, e->position);
	}
	col = rel_find(r, name);
	if (col == UINT32_MAX) {
		if (r->table && r->table->open) {
			*out = unseen(c->b->arena, e->position);
			return NULL;
		}
		return no_column(c, rel, name, e->position);
	}
	*out = sql_rel_expr(c->b, c->scope->query, r, col, e->position);
	return NULL;
}

struct err *
sql_scope_column(
    struct sql_ectx *c, const struct sql_expr *e, struct expr **out)
{
	uint32_t n = e->u.column.n;
	const char *const *p = (const char *const *)e->u.column.parts;

	*out = NULL;
	if (c->no_columns)
		return err_at(
		    ERR(c->b->arena, c->no_columns_state, "%s", c->no_columns),
		    e->position);
	switch (n) {
	case 1:
		return bare_column(c, p[0], e->position, out);
	case 2:
		return rel_column(c, NULL, p[0], e, out);
	case 3:
		return rel_column(c, p[0], p[1], e, out);
	case 4:
		return rel_column(c, p[1], p[2], e, out);
	default:
		return err_at(
		    ERR(c->b->arena, ERRCODE_SYNTAX_ERROR,
			"improper qualified name (too many dotted names): "
			"%s.%s.%s.%s%s%s",
			p[0], p[1], p[2], p[3], n > 4 ? "." : "",
			n > 4 ? p[4] : ""),
		    e->position);
	}
}

/* ---- stars ---- */

static void
out_add(struct sql_bind *b, struct sql_out **outs, uint32_t *n, uint32_t *cap,
    const struct sql_out *o)
{
	*outs = sql_more(b->arena, *outs, *n, cap, sizeof **outs);
	(*outs)[(*n)++] = *o;
}

static void
star_rel(struct sql_ectx *c, struct sql_rel *r, bool bare, int position,
    struct sql_out **outs, uint32_t *n, uint32_t *cap)
{
	for (uint32_t i = 0; i < r->n_cols; i++) {
		struct sql_out o = {
		    .name = r->cols[i].name, .position = position};

		if (bare && r->cols[i].merged)
			continue;
		o.expr = sql_rel_expr(c->b, c->scope->query, r, i, position);
		if (r->kind == SQL_REL_TABLE) {
			o.table = r->table->id;
			o.attnum = (int16_t)r->cols[i].id;
		}
		out_add(c->b, outs, n, cap, &o);
	}
}

struct err *
sql_scope_star(struct sql_ectx *c, const struct sql_expr *e,
    struct sql_out **outs, uint32_t *n, uint32_t *cap)
{
	uint32_t parts = e->u.column.n;
	struct sql_rel *r = NULL;

	if (parts == 0) {
		struct sql_query *q = c->scope->query;

		if (q->n_rels == 0)
			return err_at(
			    ERR(c->b->arena, ERRCODE_SYNTAX_ERROR,
				"SELECT * with no tables specified is not "
				"valid"),
			    e->position);
		for (uint32_t i = 0; i < c->scope->n_merged; i++)
			out_add(c->b, outs, n, cap,
			    &(struct sql_out){.name = c->scope->merged[i].name,
				.expr = c->scope->merged[i].expr,
				.position = e->position});
		for (uint32_t i = 0; i < q->n_rels; i++)
			if (q->rels[i]->kind != SQL_REL_EXCLUDED)
				star_rel(c, q->rels[i], true, e->position, outs,
				    n, cap);
		return NULL;
	}
	TRY(find_rel(c->b->arena, c->scope,
	    parts > 1 ? e->u.column.parts[parts - 2] : NULL,
	    e->u.column.parts[parts - 1], e->position, &r));
	if (!r)
		return missing_rel(
		    c, e->u.column.parts[parts - 1], e->position);
	star_rel(c, r, false, e->position, outs, n, cap);
	return NULL;
}
