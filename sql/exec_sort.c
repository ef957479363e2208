/* ORDER BY, DISTINCT, LIMIT. */
#include <stdlib.h>

#include "base/map.h"
#include "sql/exec_int.h"

/* Above this a sort keeps everything instead of the best N. */
#define TOP_MAX 100000u

struct item {
	struct val *vals;
	uint64_t seq; /* order of arrival breaks ties */
};

struct sort {
	struct sql_node node;
	const struct sql_query *query;
	uint64_t top;        /* 0: all */
	struct arena *arena; /* of the rows kept */
	size_t compact_at;
	struct item *items;
	uint32_t n, cap, at;
	uint64_t seq;
	bool built;
};

static int
compare_vals(
    const struct sql_sort_key *k, const struct val *x, const struct val *y)
{
	int c;

	if (x->null || y->null) {
		if (x->null && y->null)
			return 0;
		return x->null == k->nulls_first ? -1 : 1;
	}
	c = ex_type(x->type)->cmp(*x, *y);
	return k->desc ? -c : c;
}

static int
compare_rows(
    const struct sql_query *q, const struct val *x, const struct val *y)
{
	for (uint32_t i = 0; i < q->n_sort; i++) {
		uint32_t out = q->sort[i].out;
		int c = compare_vals(&q->sort[i], &x[out], &y[out]);

		if (c)
			return c;
	}
	return 0;
}

static int
compare(const void *px, const void *py, void *arg)
{
	const struct item *x = px, *y = py;
	int c = compare_rows(arg, x->vals, y->vals);

	return c ? c : (x->seq < y->seq ? -1 : x->seq > y->seq);
}

static int
compare_items(const struct sort *s, const struct item *x, const struct item *y)
{
	return compare(x, y, (void *)(uintptr_t)s->query);
}

/* ---- the best N, as a heap with the worst on top ---- */

static void
swap(struct sort *s, uint32_t i, uint32_t k)
{
	struct item t = s->items[i];

	s->items[i] = s->items[k];
	s->items[k] = t;
}

static void
sift_up(struct sort *s, uint32_t i)
{
	while (i > 0 &&
	       compare_items(s, &s->items[(i - 1) / 2], &s->items[i]) < 0) {
		swap(s, i, (i - 1) / 2);
		i = (i - 1) / 2;
	}
}

static void
sift_down(struct sort *s)
{
	uint32_t i = 0;

	for (;;) {
		uint32_t worst = i;

		for (uint32_t k = 2 * i + 1; k <= 2 * i + 2 && k < s->n; k++)
			if (compare_items(s, &s->items[worst], &s->items[k]) <
			    0)
				worst = k;
		if (worst == i)
			return;
		swap(s, i, worst);
		i = worst;
	}
}

/* Rows that fell out of the heap leave garbage; the living move when it
 * outweighs them. */
static void
compact(struct sort *s)
{
	struct arena *fresh;

	if (arena_bytes(s->arena) < s->compact_at)
		return;
	fresh = arena_new(s->node.x->work, "sort");
	for (uint32_t i = 0; i < s->n; i++)
		s->items[i].vals =
		    sql_row_copy(fresh, s->items[i].vals, s->query->n_outs);
	arena_free(s->arena);
	s->arena = fresh;
	s->compact_at = 2 * arena_bytes(fresh) + (64u << 10);
}

static void
add_top(struct sort *s, struct val *row)
{
	struct item x = {row, s->seq++};

	if (s->n == s->top) {
		if (compare_items(s, &x, &s->items[0]) >= 0)
			return;
		x.vals = sql_row_copy(s->arena, row, s->query->n_outs);
		s->items[0] = x;
		sift_down(s);
		compact(s);
		return;
	}
	x.vals = sql_row_copy(s->arena, row, s->query->n_outs);
	s->items = sql_more(
	    s->node.x->work, s->items, s->n, &s->cap, sizeof *s->items);
	s->items[s->n++] = x;
	sift_up(s, s->n - 1);
}

static void
add_all(struct sort *s, struct val *row)
{
	s->items = sql_more(
	    s->node.x->work, s->items, s->n, &s->cap, sizeof *s->items);
	s->items[s->n++] = (struct item){
	    sql_row_copy(s->arena, row, s->query->n_outs), s->seq++};
}

static struct err *
build(struct sort *s)
{
	struct sql_node *n = &s->node;
	struct val *row;

	s->built = true;
	s->arena = arena_new(n->x->work, "sort");
	s->compact_at = 64u << 10;
	for (;;) {
		TRY(sql_pull(n->left, &row));
		if (!row)
			break;
		if (s->top)
			add_top(s, row);
		else
			add_all(s, row);
		TRY(sql_work_check(n->x));
		TRY(sql_tick(n->x));
	}
	if (s->n)
		qsort_r(s->items, s->n, sizeof *s->items, compare,
		    (void *)(uintptr_t)s->query);
	return NULL;
}

static struct err *
sort_next(struct sql_node *n, struct val **row)
{
	struct sort *s = (struct sort *)(void *)n;

	*row = NULL;
	if (!s->built)
		TRY(build(s));
	if (s->at < s->n)
		*row = s->items[s->at++].vals;
	return NULL;
}

static void
explain(struct sort *s)
{
	struct sql_exec *x = s->node.x;
	const struct sql_query *q = s->query;
	struct buf b;

	if (!x->plan->explain)
		return;
	buf_init(&b, x->arena);
	for (uint32_t i = 0; i < q->n_sort; i++) {
		const struct sql_sort_key *k = &q->sort[i];

		buf_printf(&b, "%s%s%s%s", i ? ", " : "",
		    sql_expr_text(
			x->arena, q, q->outs[k->out].expr, q->grouped),
		    k->desc ? " DESC" : "",
		    k->nulls_first == k->desc ? ""
		    : k->nulls_first          ? " NULLS FIRST"
					      : " NULLS LAST");
	}
	sql_node_prop(&s->node, "Sort Key", buf_cstr(&b));
}

struct sql_node *
sql_sort_node(struct sql_exec *x, const struct sql_query *q,
    struct sql_node *child, uint64_t top)
{
	struct sort *s = sql_node_new(x, sizeof *s, "Sort", sort_next);

	s->query = q;
	s->top = top <= TOP_MAX ? top : 0;
	s->node.left = child;
	explain(s);
	return &s->node;
}

/* ---- DISTINCT ---- */

struct distinct {
	struct sql_node node;
	struct map *seen;
	uint32_t n;
};

static struct err *
distinct_next(struct sql_node *n, struct val **row)
{
	struct distinct *d = (struct distinct *)(void *)n;

	if (!d->seen)
		d->seen = map_new(n->x->work);
	for (;;) {
		struct buf key;

		TRY(sql_pull(n->left, row));
		if (!*row)
			return NULL;
		arena_reset(n->scratch);
		buf_init(&key, n->scratch);
		sql_hash_key(&key, *row, d->n);
		if (map_get(d->seen, buf_view(&key)))
			continue;
		map_put(d->seen, buf_view(&key), d);
		return sql_work_check(n->x);
	}
}

struct sql_node *
sql_distinct_node(
    struct sql_exec *x, const struct sql_query *q, struct sql_node *child)
{
	struct distinct *d =
	    sql_node_new(x, sizeof *d, "HashAggregate", distinct_next);

	d->n = q->n_visible;
	d->node.left = child;
	return &d->node;
}

/* ---- LIMIT ---- */

struct limit {
	struct sql_node node;
	uint64_t skip, left;
};

static struct err *
limit_next(struct sql_node *n, struct val **row)
{
	struct limit *l = (struct limit *)(void *)n;

	*row = NULL;
	if (l->left == 0)
		return NULL;
	for (; l->skip > 0; l->skip--) {
		TRY(sql_pull(n->left, row));
		if (!*row)
			return NULL;
	}
	l->left--;
	return sql_pull(n->left, row);
}

struct sql_node *
sql_limit_node(
    struct sql_exec *x, struct sql_node *child, uint64_t skip, uint64_t count)
{
	struct limit *l = sql_node_new(x, sizeof *l, "Limit", limit_next);

	l->skip = skip;
	l->left = count;
	l->node.left = child;
	return &l->node;
}
