/* Joins: the right side is kept in memory, hashed by the columns that must be
 * equal when there are any; the left side streams. */
#include "base/map.h"
#include "sql/exec_int.h"

struct kept {
	struct kept *next; /* with the same key */
	struct val *vals;  /* of the right columns */
};

struct chain {
	struct kept *first, *last;
};

struct join {
	struct sql_node node;
	struct sql_join_spec spec;
	struct map *hash; /* key bytes -> struct chain */
	struct chain all; /* without keys */
	bool built;
	bool have_left, matched;
	struct kept *at;
	struct val *keys;
	struct buf key;
};

static struct err *
key_bytes(struct join *j, struct expr *const *es, bool *null)
{
	struct ex_ctx ctx =
	    sql_ctx(j->node.x, j->node.scratch, j->spec.flat, j->spec.width);

	*null = false;
	TRY(sql_eval_all(&ctx, es, j->spec.n_keys, j->keys));
	for (uint32_t i = 0; i < j->spec.n_keys; i++)
		*null = *null || j->keys[i].null;
	j->key.len = 0;
	sql_hash_key(&j->key, j->keys, j->spec.n_keys);
	return NULL;
}

static struct chain *
chain_of(struct join *j)
{
	struct chain *c;

	if (!j->hash)
		return &j->all;
	c = map_get(j->hash, buf_view(&j->key));
	if (!c) {
		c = NEW(j->node.x->work, struct chain);
		map_put(j->hash, buf_view(&j->key), c);
	}
	return c;
}

static void
keep(struct join *j, struct chain *c)
{
	struct arena *a = j->node.x->work;
	struct kept *k = NEW(a, struct kept);

	k->vals = NEW_N(a, struct val, j->spec.n_right_cols + 1);
	for (uint32_t i = 0; i < j->spec.n_right_cols; i++)
		k->vals[i] = val_copy(a, j->spec.flat[j->spec.right_cols[i]]);
	if (c->last)
		c->last->next = k;
	else
		c->first = k;
	c->last = k;
}

static struct err *
build(struct join *j)
{
	struct sql_node *n = &j->node;
	struct val *row;
	bool null = false;

	j->built = true;
	if (j->spec.n_keys)
		j->hash = map_new(n->x->work);
	for (;;) {
		arena_reset(n->scratch);
		TRY(sql_pull(n->right, &row));
		if (!row)
			return NULL;
		if (j->hash)
			TRY(key_bytes(j, j->spec.right_keys, &null));
		/* A NULL equals nothing. */
		if (!null)
			keep(j, chain_of(j));
		TRY(sql_work_check(n->x));
	}
}

static struct err *
left_next(struct join *j, bool *more)
{
	struct val *row;
	bool null = false;

	TRY(sql_pull(j->node.left, &row));
	*more = row != NULL;
	if (!row)
		return NULL;
	arena_reset(j->node.scratch);
	j->have_left = true;
	j->matched = false;
	j->at = j->all.first;
	if (j->hash) {
		const struct chain *c;

		TRY(key_bytes(j, j->spec.left_keys, &null));
		c = null ? NULL : map_get(j->hash, buf_view(&j->key));
		j->at = c ? c->first : NULL;
	}
	return NULL;
}

static void
fill_right(struct join *j, const struct val *vals)
{
	for (uint32_t i = 0; i < j->spec.n_right_cols; i++) {
		struct val *to = &j->spec.flat[j->spec.right_cols[i]];

		*to = vals ? vals[i] : val_null(to->type);
	}
}

/* The next match of the present left row; *found false: no more. */
static struct err *
match(struct join *j, bool *found)
{
	struct ex_ctx ctx =
	    sql_ctx(j->node.x, j->node.scratch, j->spec.flat, j->spec.width);

	*found = false;
	while (j->at && !*found) {
		fill_right(j, j->at->vals);
		j->at = j->at->next;
		*found = true;
		arena_reset(j->node.scratch);
		if (j->spec.cond)
			TRY(ex_test(&ctx, j->spec.cond, found));
		TRY(sql_tick(j->node.x));
	}
	return NULL;
}

static struct err *
join_next(struct sql_node *n, struct val **row)
{
	struct join *j = (struct join *)(void *)n;
	bool found, more;

	*row = NULL;
	if (!j->built)
		TRY(build(j));
	for (;;) {
		if (!j->have_left) {
			TRY(left_next(j, &more));
			if (!more)
				return NULL;
		}
		TRY(match(j, &found));
		if (!found) {
			j->have_left = false;
			if (j->matched || !j->spec.left_join)
				continue;
			fill_right(j, NULL);
		}
		j->matched = true;
		*row = j->spec.flat;
		return NULL;
	}
}

static const char *
keys_text(struct sql_exec *x, const struct sql_query *q,
    const struct sql_join_spec *s)
{
	struct buf b;

	buf_init(&b, x->arena);
	for (uint32_t i = 0; i < s->n_keys; i++)
		buf_printf(&b, "%s(%s = %s)", i ? " AND " : "",
		    sql_expr_text(x->arena, q, s->left_keys[i], false),
		    sql_expr_text(x->arena, q, s->right_keys[i], false));
	return s->n_keys > 1 ? arena_printf(x->arena, "(%s)", buf_cstr(&b))
			     : buf_cstr(&b);
}

struct sql_node *
sql_joined_node(struct sql_exec *x, const struct sql_query *q,
    struct sql_node *left, struct sql_node *right,
    const struct sql_join_spec *spec)
{
	struct join *j = sql_node_new(x, sizeof *j, NULL, join_next);

	j->node.title =
	    spec->n_keys
		? (spec->left_join ? "Hash Left Join" : "Hash Join")
		: (spec->left_join ? "Nested Loop Left Join" : "Nested Loop");
	j->node.left = left;
	j->node.right = right;
	j->spec = *spec;
	j->keys = NEW_N(x->arena, struct val, spec->n_keys + 1);
	buf_init(&j->key, x->arena);
	if (x->plan->explain && spec->n_keys)
		sql_node_prop(&j->node, "Hash Cond", keys_text(x, q, spec));
	if (x->plan->explain && spec->cond)
		sql_node_prop(&j->node, "Join Filter",
		    sql_expr_text(x->arena, q, spec->cond, false));
	return &j->node;
}
