/* FROM: relations and joins. */
#include "sql/bind_int.h"

static struct err *bind_item(struct sql_bind *b, struct sql_scope *s,
    const struct sql_from *f, struct sql_join_node **out);

struct sql_rel *
sql_rel_table(struct sql_bind *b, const struct cl_table *t, const char *alias)
{
	struct sql_rel *r = NEW(b->arena, struct sql_rel);
	const struct cl_object *schema =
	    cl_find(b->env->catalog, CL_SCHEMA, t->schema);

	r->kind = SQL_REL_TABLE;
	r->table = t;
	r->aliased = alias != NULL;
	r->name = alias ? alias : arena_cstr(b->arena, t->name);
	if (!alias && schema)
		r->schema = arena_cstr(b->arena, schema->u.schema.name);
	r->cols = NEW_N(b->arena, struct sql_rel_col, t->n_columns + 1);
	for (uint32_t i = 0; i < t->n_columns; i++) {
		const struct cl_column *c = &t->columns[i];

		if (!sql_column_visible(c))
			continue;
		r->cols[r->n_cols++] = (struct sql_rel_col){
		    .name = arena_cstr(b->arena, c->name),
		    .type = c->type == EX_UNKNOWN ? EX_TEXT : c->type,
		    .typmod = c->typmod,
		    .id = c->id,
		    /* What nobody wrote compares with anything, too. */
		    .mixed = c->flags & CL_COL_MIXED || c->type == EX_UNKNOWN,
		};
	}
	return r;
}

struct err *
sql_rel_add(
    struct sql_bind *b, struct sql_query *q, struct sql_rel *r, int position)
{
	struct sql_rel **more;

	for (uint32_t i = 0; i < q->n_rels; i++)
		if (strcmp(q->rels[i]->name, r->name) == 0)
			return ERR(b->arena, ERRCODE_DUPLICATE_ALIAS,
			    "table name \"%s\" specified more than once",
			    r->name);
	if (q->n_rels == SQL_RELS_MAX)
		return err_at(ERR(b->arena, ERRCODE_PROGRAM_LIMIT_EXCEEDED,
				  "too many tables in one query (limit %d)",
				  SQL_RELS_MAX),
		    position);
	more = NEW_N(b->arena, struct sql_rel *, q->n_rels + 1);
	if (q->n_rels)
		memcpy(more, q->rels, q->n_rels * sizeof *more);
	more[q->n_rels++] = r;
	q->rels = more;
	return NULL;
}

/* FROM t AS a (x, y). */
static struct err *
alias_columns(struct sql_bind *b, struct sql_rel *r, const char *const *columns,
    uint32_t n)
{
	if (n > r->n_cols)
		return ERR(b->arena, ERRCODE_INVALID_COLUMN_REFERENCE,
		    "table \"%s\" has %u columns available but %u columns "
		    "specified",
		    r->name, r->n_cols, n);
	for (uint32_t i = 0; i < n; i++)
		r->cols[i].name = columns[i];
	return NULL;
}

static struct err *
add_rel(struct sql_bind *b, struct sql_scope *s, const struct sql_from *f,
    struct sql_rel *r, struct sql_join_node **out)
{
	TRY(alias_columns(
	    b, r, (const char *const *)f->alias.columns, f->alias.n_columns));
	TRY(sql_rel_add(b, s->query, r, f->position));
	*out = NEW(b->arena, struct sql_join_node);
	(*out)->kind = SQL_FROM_REL;
	(*out)->rel = r;
	return NULL;
}

/* ---- subqueries and WITH ---- */

static struct sql_rel *
rel_of_query(struct sql_bind *b, struct sql_query *q, const char *name)
{
	struct sql_rel *r = NEW(b->arena, struct sql_rel);

	r->kind = SQL_REL_QUERY;
	r->query = q;
	r->name = name;
	r->aliased = true;
	r->cols = NEW_N(b->arena, struct sql_rel_col, q->n_visible + 1);
	r->n_cols = q->n_visible;
	for (uint32_t i = 0; i < q->n_visible; i++)
		r->cols[i] = (struct sql_rel_col){
		    .name = q->outs[i].name,
		    .type = q->outs[i].expr->type,
		    .typmod = q->outs[i].expr->typmod,
		    .id = i,
		};
	return r;
}

static struct err *
bind_subquery(struct sql_bind *b, struct sql_scope *s, const struct sql_from *f,
    struct sql_join_node **out)
{
	struct sql_query *q;

	if (f->lateral)
		return sql_unsupported_at(
		    b->arena, f->position, "LATERAL subqueries");
	TRY(sql_bind_select(b, s->outer, f->u.subquery, &q));
	return add_rel(b, s, f,
	    rel_of_query(b, q, f->alias.name ? f->alias.name : "?subquery?"),
	    out);
}

/* A name that WITH defines stands for its query, bound anew at each use and
 * seeing only the names defined before it. */
static struct err *
bind_cte(struct sql_bind *b, struct sql_scope *s, const struct sql_from *f,
    const struct sql_ctes *in, uint32_t i, struct sql_join_node **out)
{
	const struct sql_cte *cte = &in->items[i];
	struct sql_ctes before = {in->up, in->items, i};
	const struct sql_ctes *saved = b->ctes;
	struct sql_query *q;
	struct sql_rel *r;
	struct err *e;

	if (cte->query->kind != SQL_STMT_SELECT)
		return sql_unsupported_at(b->arena, cte->position,
		    "data-modifying statements in WITH");
	b->ctes = &before;
	e = sql_bind_select(b, NULL, cte->query->u.select, &q);
	b->ctes = saved;
	TRY(e);
	r = rel_of_query(b, q, f->alias.name ? f->alias.name : cte->name);
	TRY(alias_columns(
	    b, r, (const char *const *)cte->columns, cte->n_columns));
	return add_rel(b, s, f, r, out);
}

struct err *
sql_with_open(struct sql_bind *b, const struct sql_with *with)
{
	struct sql_ctes *c;

	if (!with)
		return NULL;
	if (with->recursive)
		return sql_unsupported_at(b->arena, with->items[0].position,
		    "recursive WITH queries");
	c = NEW(b->arena, struct sql_ctes);
	*c = (struct sql_ctes){b->ctes, with->items, with->n};
	b->ctes = c;
	return NULL;
}

static struct sql_rel *
rel_virtual(struct sql_bind *b, const struct sql_virtual *v, const char *alias)
{
	struct sql_rel *r = NEW(b->arena, struct sql_rel);

	r->kind = SQL_REL_VIRTUAL;
	r->virtual = v;
	r->aliased = alias != NULL;
	r->name = alias ? alias : v->name;
	r->schema = alias ? NULL : v->schema;
	r->n_cols = v->n_columns;
	r->cols = NEW_N(b->arena, struct sql_rel_col, v->n_columns + 1);
	for (uint32_t i = 0; i < v->n_columns; i++)
		r->cols[i] = (struct sql_rel_col){.name = v->columns[i].name,
		    .type = v->columns[i].type,
		    .typmod = -1,
		    .id = i};
	return r;
}

static struct err *
bind_table(struct sql_bind *b, struct sql_scope *s, const struct sql_from *f,
    struct sql_join_node **out)
{
	const struct sql_name *name = &f->u.table.name;
	const struct sql_virtual *v = sql_find_virtual(b->env, name);
	const struct cl_table *t;

	if (v && !name->catalog)
		return add_rel(b, s, f, rel_virtual(b, v, f->alias.name), out);
	if (!name->schema && !name->catalog)
		for (const struct sql_ctes *c = b->ctes; c; c = c->up)
			for (uint32_t i = c->n; i-- > 0;)
				if (strcmp(c->items[i].name, name->name) == 0)
					return bind_cte(b, s, f, c, i, out);
	TRY(sql_find_table(b->arena, b->env, name, &t));
	return add_rel(b, s, f, sql_rel_table(b, t, f->alias.name), out);
}

/* ---- generate_series ---- */

static struct err *
series_args(struct sql_bind *b, struct sql_rel *r, struct expr **args,
    uint32_t n, int position)
{
	uint32_t type = EX_INT4;

	for (uint32_t i = 0; i < n; i++) {
		if (args[i]->type == EX_INT8)
			type = EX_INT8;
		else if (args[i]->type != EX_INT4 && args[i]->type != EX_INT2 &&
			 args[i]->type != EX_UNKNOWN)
			return sql_unsupported_at(b->arena, position,
			    "generate_series() of other types than integer "
			    "and bigint");
	}
	for (uint32_t i = 0; i < n; i++)
		TRY(sql_coerce(
		    b, args[i], type, -1, EX_IMPLICIT, &r->series[i]));
	r->cols[0].type = type;
	return NULL;
}

static struct err *
bind_series(struct sql_bind *b, struct sql_scope *s, const struct sql_from *f,
    struct sql_join_node **out)
{
	const struct sql_expr *call = f->u.function.call;
	struct sql_ectx c = {.b = b,
	    .clause = "functions in FROM",
	    .no_columns = "references to other tables in functions in FROM "
			  "are not supported",
	    .no_columns_state = ERRCODE_FEATURE_NOT_SUPPORTED};
	struct sql_rel *r = NEW(b->arena, struct sql_rel);
	struct expr *args[3];

	if (f->u.function.ordinality)
		return sql_unsupported_at(
		    b->arena, f->position, "WITH ORDINALITY clauses");
	if (call->kind != SQL_E_CALL ||
	    strcmp(call->u.call->name.name, "generate_series") != 0 ||
	    call->n_args < 2 || call->n_args > 3)
		return sql_unsupported_at(b->arena, call->position,
		    "functions in FROM other than generate_series()");
	r->kind = SQL_REL_SERIES;
	r->name = f->alias.name ? f->alias.name : "generate_series";
	r->aliased = true;
	r->n_cols = 1;
	r->cols = NEW(b->arena, struct sql_rel_col);
	r->cols[0].name = r->name;
	r->cols[0].typmod = -1;
	for (uint32_t i = 0; i < call->n_args; i++)
		TRY(sql_bind_expr(&c, call->args[i], &args[i]));
	TRY(series_args(b, r, args, call->n_args, call->position));
	return add_rel(b, s, f, r, out);
}

/* ---- joins ---- */

/* The column of that name among rels from..to, visible without qualification;
 * 42702 when there are two, 42703 when there is none. */
static struct err *
using_column(struct sql_bind *b, struct sql_scope *s, uint32_t from,
    uint32_t to, const char *name, const char *side, struct expr **out)
{
	struct sql_query *q = s->query;

	*out = NULL;
	if (from == s->first)
		for (uint32_t i = 0; i < s->n_merged; i++)
			if (strcmp(s->merged[i].name, name) == 0)
				*out = s->merged[i].expr;
	for (uint32_t i = from; i < to; i++)
		for (uint32_t k = 0; k < q->rels[i]->n_cols; k++) {
			struct sql_rel_col *col = &q->rels[i]->cols[k];

			if (strcmp(col->name, name) != 0 || col->merged)
				continue;
			if (*out)
				return ERR(b->arena, ERRCODE_AMBIGUOUS_COLUMN,
				    "common column name \"%s\" appears more "
				    "than once in %s table",
				    name, side);
			*out = sql_rel_expr(b, q, q->rels[i], k, 0);
			col->merged = true;
		}
	if (!*out)
		return ERR(b->arena, ERRCODE_UNDEFINED_COLUMN,
		    "column \"%s\" specified in USING clause does not exist in "
		    "%s table",
		    name, side);
	return NULL;
}

static void
merge_column(
    struct sql_bind *b, struct sql_scope *s, const char *name, struct expr *e)
{
	struct sql_merged *more;

	for (uint32_t i = 0; i < s->n_merged; i++)
		if (strcmp(s->merged[i].name, name) == 0) {
			s->merged[i].expr = e;
			return;
		}
	more = NEW_N(b->arena, struct sql_merged, s->n_merged + 1);
	if (s->n_merged)
		memcpy(more, s->merged, s->n_merged * sizeof *more);
	more[s->n_merged++] = (struct sql_merged){name, e};
	s->merged = more;
}

static struct err *
join_using(struct sql_bind *b, struct sql_scope *s, const struct sql_from *f,
    uint32_t middle, struct expr **on)
{
	uint32_t n = f->u.join.n_using;
	struct expr **parts = NEW_N(b->arena, struct expr *, n);
	struct sql_ectx c = {.b = b, .scope = s, .clause = "JOIN/USING"};
	struct sql_expr at = {.position = f->position};

	for (uint32_t i = 0; i < n; i++) {
		const char *name = f->u.join.using_columns[i];
		struct expr *pair[2];

		TRY(using_column(
		    b, s, s->first, middle, name, "left", &pair[0]));
		TRY(using_column(
		    b, s, middle, s->query->n_rels, name, "right", &pair[1]));
		TRY(sql_bind_op(&c, &at, "=", pair, 2, &parts[i]));
		merge_column(b, s, name,
		    f->u.join.join == SQL_JOIN_RIGHT ? pair[1] : pair[0]);
	}
	*on = n == 1 ? parts[0] : ex_op(b->arena, EX_AND, EX_BOOL, parts, n);
	return NULL;
}

static struct err *
join_on(struct sql_bind *b, struct sql_scope *s, const struct sql_from *f,
    struct expr **on)
{
	struct sql_ectx c = {.b = b, .scope = s, .clause = "JOIN conditions"};

	TRY(sql_bind_expr(&c, f->u.join.on, on));
	return sql_coerce_bool(b, *on, "JOIN/ON", on);
}

static struct err *
bind_join(struct sql_bind *b, struct sql_scope *s, const struct sql_from *f,
    struct sql_join_node **out)
{
	struct sql_join_node *n = NEW(b->arena, struct sql_join_node), *swap;
	uint32_t first = s->first, start = s->query->n_rels, middle;

	if (f->u.join.join == SQL_JOIN_FULL)
		return sql_unsupported_at(b->arena, f->position, "FULL joins");
	if (f->u.join.natural)
		return sql_unsupported_at(
		    b->arena, f->position, "NATURAL joins");
	if (f->alias.name || f->u.join.using_alias)
		return sql_unsupported_at(
		    b->arena, f->position, "aliases of joins");
	n->kind =
	    f->u.join.join == SQL_JOIN_INNER ? SQL_FROM_INNER : SQL_FROM_LEFT;
	TRY(bind_item(b, s, f->u.join.left, &n->left));
	middle = s->query->n_rels;
	TRY(bind_item(b, s, f->u.join.right, &n->right));
	s->first = start;
	if (f->u.join.n_using)
		TRY(join_using(b, s, f, middle, &n->on));
	else if (f->u.join.on)
		TRY(join_on(b, s, f, &n->on));
	s->first = first;
	if (f->u.join.join == SQL_JOIN_RIGHT) {
		swap = n->left;
		n->left = n->right;
		n->right = swap;
	}
	*out = n;
	return NULL;
}

static struct err *
bind_item(struct sql_bind *b, struct sql_scope *s, const struct sql_from *f,
    struct sql_join_node **out)
{
	struct err *e;

	if (b->query_depth >= 4 * SQL_QUERY_DEPTH_MAX)
		return err_at(ERR(b->arena, ERRCODE_STATEMENT_TOO_COMPLEX,
				  "joins are nested too deep"),
		    f->position);
	b->query_depth++;
	switch (f->kind) {
	case SQL_FROM_TABLE:
		e = bind_table(b, s, f, out);
		break;
	case SQL_FROM_SUBQUERY:
		e = bind_subquery(b, s, f, out);
		break;
	case SQL_FROM_FUNCTION:
		e = bind_series(b, s, f, out);
		break;
	default:
		e = bind_join(b, s, f, out);
		break;
	}
	b->query_depth--;
	return e;
}

struct err *
sql_bind_from(struct sql_bind *b, struct sql_scope *s,
    struct sql_from *const *from, uint32_t n)
{
	struct sql_query *q = s->query;

	for (uint32_t i = 0; i < n; i++) {
		struct sql_join_node *item, *j;

		TRY(bind_item(b, s, from[i], &item));
		if (!q->from) {
			q->from = item;
			continue;
		}
		j = NEW(b->arena, struct sql_join_node);
		j->kind = SQL_FROM_INNER;
		j->left = q->from;
		j->right = item;
		q->from = j;
	}
	return NULL;
}
