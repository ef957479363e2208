/* Which key to reach a table's rows by: the primary key or an index.
 *
 * There are no statistics: the access that pins most leading columns wins, then
 * one with a range; an index that leaves rows out goes before one that does
 * not, and the primary key, which needs no second look-up, before an index. */
#include "sql/plan_int.h"

static void
set_column(struct sql_key *k, struct sql_key_col *c, uint32_t id)
{
	c->col = cl_table_column_id(k->t, id);
	ASSERT(c->col != NULL);
	c->type = c->col->type;
	c->nullable = !(c->col->flags & CL_COL_NOT_NULL) || k->t->open;
}

/* The primary key's columns from place `at`; they are never NULL. */
static void
set_pkey(struct sql_key *k, uint32_t at)
{
	for (uint32_t i = 0; i < k->t->n_pkey; i++) {
		set_column(k, &k->cols[at + i], k->t->pkey[i]);
		k->cols[at + i].nullable = false;
	}
}

static struct sql_key *
key_new(struct sql_exec *x, const struct sql_rel *r,
    const struct cl_index *index, uint32_t n)
{
	struct sql_key *k = NEW(x->arena, struct sql_key);
	uint32_t n_pkey = r->table->n_pkey;

	k->x = x;
	k->rel = r;
	k->t = r->table;
	k->index = index;
	k->n = n;
	k->n_all = index ? n + n_pkey : n;
	k->cols = NEW_N(x->arena, struct sql_key_col, k->n_all + 1);
	return k;
}

static struct sql_key *
key_of_table(struct sql_exec *x, const struct sql_rel *r)
{
	struct sql_key *k = key_new(x, r, NULL, r->table->n_pkey);

	ASSERT(k->n <= CL_KEY_COLUMNS_MAX);
	set_pkey(k, 0);
	return k;
}

/* ---- expressions of an index ---- */

struct placing {
	const struct sql_key *k;
	bool missing; /* the query does not refer to a column of it */
};

static struct err *
place_column(struct expr *e, void *arg, struct expr **out)
{
	struct placing *p = arg;
	const struct sql_key *k = p->k;
	uint32_t id;

	*out = NULL;
	if (e->node != EX_COLUMN)
		return NULL;
	*out = e;
	id = e->u.col < k->index->n_inputs ? k->index->inputs[e->u.col] : 0;
	for (uint32_t i = 0; i < k->rel->n_cols; i++)
		if (k->rel->cols[i].id == id && k->rel->cols[i].pos) {
			*out = arena_dup(k->x->arena, e, sizeof *e);
			(*out)->u.col = k->rel->cols[i].pos - 1;
			return NULL;
		}
	p->missing = true;
	return NULL;
}

/* A tree of the index over the base row; NULL when the query cannot have it in
 * its conditions, or this build cannot read it. */
static struct expr *
placed(const struct sql_key *k, struct str tree)
{
	struct placing p = {.k = k};
	struct sql_rewrite how = {.before = place_column, .arg = &p};
	struct expr *e;

	if (ex_decode(k->x->arena, tree, &e) ||
	    sql_expr_rewrite(k->x->arena, e, &how, &e) || p.missing)
		return NULL;
	return e;
}

/* ---- partial indexes ---- */

/* A condition that says just what the predicate says is noted. */
static bool
is_implied(struct sql_key *k, const struct expr *want, struct sql_conj *conjs,
    uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (ex_equal(conjs[i].e, want)) {
			k->implied[k->n_implied++] = &conjs[i];
			return true;
		}
	return sql_implied(k->x, want, conjs, n);
}

static bool
has_rows_wanted(struct sql_key *k, struct sql_conj *conjs, uint32_t n)
{
	struct expr *where;

	if (!k->index->where.len)
		return true;
	where = placed(k, k->index->where);
	if (!where)
		return false;
	if (where->node != EX_AND) {
		k->implied = NEW_N(k->x->arena, struct sql_conj *, 1);
		return is_implied(k, where, conjs, n);
	}
	k->implied = NEW_N(k->x->arena, struct sql_conj *, where->n_args);
	for (uint32_t i = 0; i < where->n_args; i++)
		if (!is_implied(k, where->args[i], conjs, n))
			return false;
	return true;
}

/* NULL: the index cannot answer the query, or not all of it. */
static struct sql_key *
key_of_index(struct sql_exec *x, const struct sql_rel *r,
    const struct cl_index *index, struct sql_conj *conjs, uint32_t n)
{
	struct sql_key *k;

	if (index->state != CL_INDEX_PUBLIC)
		return NULL;
	k = key_new(x, r, index, index->n_columns);
	if (!has_rows_wanted(k, conjs, n))
		return NULL;
	for (uint32_t i = 0; i < k->n; i++) {
		const struct cl_index_column *c = &index->columns[i];

		if (c->column)
			set_column(k, &k->cols[i], c->column);
		else
			k->cols[i] =
			    (struct sql_key_col){.tree = placed(k, c->expr),
				.type = c->type,
				.nullable = true};
		k->cols[i].order.desc = c->desc;
		k->cols[i].order.nulls_first = c->nulls_first;
	}
	set_pkey(k, k->n);
	return k;
}

/* ---- order ---- */

static bool
is_pinned(const struct sql_key *k, uint32_t n_pinned, const struct expr *e)
{
	for (uint32_t i = 0; i < n_pinned; i++)
		if (sql_key_is(k, &k->cols[i], e))
			return true;
	return false;
}

bool
sql_key_order(const struct sql_key *k, uint32_t n_pinned,
    const struct sql_query *q, bool *reverse)
{
	uint32_t at = n_pinned;

	*reverse = false;
	if (k->t->open)
		return false; /* keys of several types */
	for (uint32_t i = 0; i < q->n_sort && at < k->n_all; i++) {
		const struct sql_sort_key *s = &q->sort[i];
		const struct expr *e = q->outs[s->out].expr;
		const struct sql_key_col *c = &k->cols[at];
		bool back = s->desc != c->order.desc;

		if (is_pinned(k, n_pinned, e))
			continue; /* one value */
		if (!sql_key_is(k, c, e) || (at > n_pinned && back != *reverse))
			return false;
		if (c->nullable &&
		    s->nulls_first != (c->order.nulls_first != back))
			return false;
		*reverse = back;
		at++;
	}
	return true;
}

/* ---- choice ---- */

/* Whether q, a query of this table alone, gets its rows sorted by the key. */
static bool
is_sorted_by(const struct sql_key *k, const struct sql_query *q)
{
	bool reverse;

	return q->n_sort && q->n_rels == 1 && !q->grouped &&
	       sql_key_order(k, sql_key_pinned(k), q, &reverse);
}

/* Whether k beats `best`. The wanted order decides between equals; alone it is
 * worth reading all rows by an index only when most of them are not read. */
static bool
is_better(const struct sql_key *k, const struct sql_key *best,
    const struct sql_query *q, uint32_t n_conjs)
{
	uint32_t mine = sql_key_rank(k), other = sql_key_rank(best);

	if (mine != other || mine == UINT32_MAX)
		return mine > other;
	if ((!best->index && !q->limit) || (mine == 0 && n_conjs > 0))
		return false;
	return is_sorted_by(k, q) && !is_sorted_by(best, q);
}

struct err *
sql_plan_access(struct sql_exec *x, const struct sql_query *q,
    const struct sql_rel *r, struct sql_conj *conjs, uint32_t n,
    struct sql_reach *out)
{
	struct sql_key *best = key_of_table(x, r), *k;
	const struct cl_index *index;
	size_t at = 0;

	memset(out, 0, sizeof *out);
	out->index_cond = NEW_N(x->arena, struct expr *, n + 1);
	for (uint32_t i = 0; i < n; i++)
		sql_key_note(best, &conjs[i]);
	while (!x->env->no_indexes &&
	       (index = cl_index_each(x->env->catalog, r->table->id, &at))) {
		k = key_of_index(x, r, index, conjs, n);
		if (!k)
			continue;
		for (uint32_t i = 0; i < n; i++)
			sql_key_note(k, &conjs[i]);
		if (is_better(k, best, q, n))
			best = k;
	}
	sql_key_reach(best, out);
	return NULL;
}

struct err *
sql_tell_reach(struct sql_exec *x, const struct sql_rel *r,
    const struct sql_conj *conjs, uint32_t n)
{
	struct sql_bounds what = {.table = r->table};
	struct sql_reach reach = {.key = NULL};
	struct sql_conj *own;
	struct sql_key *k;

	if (!x->src || !x->src->ops->reach)
		return NULL;
	/* Conditions get marked, and these are the access's. */
	own = arena_dup(x->arena, conjs, (n + 1) * sizeof *own);
	reach.index_cond = NEW_N(x->arena, struct expr *, n + 1);
	k = key_of_table(x, r);
	for (uint32_t i = 0; i < n; i++)
		sql_key_note(k, &own[i]);
	sql_key_reach(k, &reach);
	if (!reach.empty && reach.points) {
		what.keys = reach.keys;
		what.n_keys = reach.n_keys;
	} else if (!reach.empty) {
		what.ranges = reach.ranges;
		what.n_ranges = reach.n_ranges;
	}
	return x->src->ops->reach(x->src, x->arena, &what);
}
