/* UPDATE and DELETE. */
#include "sql/bind_int.h"

static struct err *
bind_target(struct sql_bind *b, const struct sql_name *name, const char *alias,
    uint32_t n_from, struct sql_change **out)
{
	struct sql_change *ch = NEW(b->arena, struct sql_change);

	TRY(sql_find_target(b->arena, b->env, name, &ch->table));
	if (n_from)
		return sql_unsupported_at(b->arena, name->position,
		    "data changes with other tables (FROM, USING)");
	TRY(sql_query_of_table(b, ch->table, alias, &ch->query));
	*out = ch;
	return NULL;
}

static struct err *
bind_where(
    struct sql_ectx *c, const struct sql_expr *where, struct sql_query *q)
{
	c->clause = "WHERE";
	if (!where)
		return NULL;
	TRY(sql_bind_expr(c, where, &q->where));
	return sql_coerce_bool(c->b, q->where, "WHERE", &q->where);
}

struct err *
sql_bind_update(
    struct sql_bind *b, const struct sql_update *s, struct sql_change **out)
{
	struct sql_scope scope = {0};
	struct sql_ectx c = {.b = b, .scope = &scope, .clause = "UPDATE"};

	if (s->current_of)
		return sql_unsupported_at(
		    b->arena, s->table.position, "WHERE CURRENT OF clauses");
	TRY(sql_with_open(b, s->with));
	TRY(bind_target(b, &s->table, s->alias, s->n_from, out));
	scope.query = (*out)->query;
	TRY(sql_bind_set(&c, *out, &s->set));
	TRY(bind_where(&c, s->where, (*out)->query));
	return sql_bind_returning(b, *out, s->alias, &s->returning);
}

static bool
mark_column(const struct expr *e, void *arg)
{
	bool *used = arg;

	if (e->node == EX_COLUMN)
		used[e->u.col] = true;
	return false;
}

/* DELETE reads no more than WHERE and RETURNING look at. */
static void
narrow(struct sql_bind *b, struct sql_change *ch)
{
	struct sql_rel *r = ch->query->rels[0];
	bool *used = NEW_N(b->arena, bool, ch->query->width + 1);
	uint32_t n = 0;

	if (ch->query->where)
		sql_expr_any(ch->query->where, mark_column, used);
	for (uint32_t i = 0; i < ch->n_returning; i++)
		sql_expr_any(ch->returning[i].expr, mark_column, used);
	for (uint32_t i = 0; i < r->n_used; i++)
		if (used[r->cols[r->used[i]].pos - 1])
			r->used[n++] = r->used[i];
	r->n_used = n;
}

struct err *
sql_bind_delete(
    struct sql_bind *b, const struct sql_delete *s, struct sql_change **out)
{
	struct sql_scope scope = {0};
	struct sql_ectx c = {.b = b, .scope = &scope, .clause = "WHERE"};

	if (s->current_of)
		return sql_unsupported_at(
		    b->arena, s->table.position, "WHERE CURRENT OF clauses");
	TRY(sql_with_open(b, s->with));
	TRY(bind_target(b, &s->table, s->alias, s->n_from, out));
	scope.query = (*out)->query;
	TRY(bind_where(&c, s->where, (*out)->query));
	TRY(sql_bind_returning(b, *out, s->alias, &s->returning));
	narrow(b, *out);
	return NULL;
}
