/* Rows of virtual tables. */
#include "sql/exec_int.h"

struct sql_virtual_rows {
	struct arena *arena;
	const struct sql_virtual *table;
	struct val **rows;
	size_t n, cap;
};

struct val *
sql_virtual_add(struct sql_virtual_rows *r)
{
	const struct sql_virtual *t = r->table;
	struct val *row = NEW_N(r->arena, struct val, t->n_columns);

	if (r->n == r->cap) {
		size_t cap = r->cap ? r->cap * 2 : 64;

		r->rows = arena_grow(r->arena, r->rows,
		    r->cap * sizeof *r->rows, cap * sizeof *r->rows);
		r->cap = cap;
	}
	for (uint32_t i = 0; i < t->n_columns; i++)
		row[i] = val_null(t->columns[i].type);
	return r->rows[r->n++] = row;
}

struct virtual_scan {
	struct sql_node node;
	const struct sql_rel *rel;
	struct val *flat;
	struct sql_virtual_rows rows;
	size_t at;
	bool filled;
};

static struct err *
virtual_next(struct sql_node *n, struct val **row)
{
	struct virtual_scan *s = (struct virtual_scan *)(void *)n;
	const struct val *vals;

	*row = NULL;
	TRY(sql_tick(n->x));
	if (!s->filled) {
		TRY(s->rel->virtual->fill(n->x->src, n->x->work, &s->rows));
		TRY(sql_work_check(n->x));
		s->filled = true;
	}
	if (s->at == s->rows.n)
		return NULL;
	vals = s->rows.rows[s->at++];
	for (uint32_t i = 0; i < s->rel->n_used; i++) {
		uint32_t col = s->rel->used[i];

		s->flat[s->rel->cols[col].pos - 1] = vals[col];
	}
	*row = s->flat;
	return NULL;
}

struct err *
sql_virtual_node(struct sql_exec *x, const struct sql_rel *r, struct val *flat,
    struct sql_node **out)
{
	const char *title =
	    arena_printf(x->arena, "Virtual Scan on %s", r->virtual->name);
	struct virtual_scan *s;

	if (strcmp(r->name, r->virtual->name) != 0)
		title = arena_printf(x->arena, "%s %s", title, r->name);
	s = sql_node_new(x, sizeof *s, title, virtual_next);
	s->rel = r;
	s->flat = flat;
	s->rows.arena = x->work;
	s->rows.table = r->virtual;
	*out = &s->node;
	return NULL;
}
