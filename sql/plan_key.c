/* From what is known of a key's columns to bytes: all columns of a primary key
 * pinned by = or IN are points; a pinned prefix, with or without a range on the
 * next column, is one or more ranges. */
#include <stdlib.h>

#include "expr/index.h"
#include "expr/table.h"
#include "sql/plan_int.h"

/* How many leading columns are pinned, and in how many combinations. */
static uint32_t
pinned(const struct sql_key *k, uint64_t max, uint64_t *count)
{
	uint32_t n = 0;

	*count = 1;
	while (n < k->n && k->cols[n].has_eq && *count * k->cols[n].n_eq <= max)
		*count *= k->cols[n++].n_eq;
	return n;
}

static bool
is_points(const struct sql_key *k)
{
	uint64_t count;

	return !k->index && k->n > 0 &&
	       pinned(k, SQL_POINTS_MAX, &count) == k->n;
}

uint32_t
sql_key_rank(const struct sql_key *k)
{
	const struct sql_key_col *next;
	uint64_t count;
	uint32_t n;

	if (k->empty || is_points(k))
		return UINT32_MAX;
	n = pinned(k, SQL_RANGES_MAX, &count);
	next = n < k->n ? &k->cols[n] : NULL;
	return 4 * n + (next && (next->has_lo || next->has_hi) ? 2 : 0) +
	       (k->index && k->index->where.len ? 1 : 0);
}

uint32_t
sql_key_pinned(const struct sql_key *k)
{
	uint64_t count;
	uint32_t n = pinned(k, SQL_RANGES_MAX, &count);

	return count == 1 ? n : 0;
}

static int
by_bytes(const void *x, const void *y)
{
	return str_cmp(*(const struct str *)x, *(const struct str *)y);
}

/* Appends the i-th column of the key. */
static void
put_column(
    const struct sql_key *k, struct buf *b, uint32_t i, const struct val *v)
{
	if (k->index)
		ex_index_put(b, k->t, k->index, i, *v);
	else
		ex_key_put(b, CL_TAG_NONE, CL_KEY_ASC, *v);
}

/* Combination i of the values of the first n columns, encoded. */
static struct str
combination(struct sql_key *k, uint32_t n, uint64_t i)
{
	struct val vals[CL_KEY_COLUMNS_MAX];
	struct buf b;

	for (uint32_t c = n; c-- > 0;) {
		vals[c] = k->cols[c].eq[i % k->cols[c].n_eq];
		i /= k->cols[c].n_eq;
	}
	buf_init(&b, k->x->arena);
	if (!k->index)
		ex_table_key_prefix(&b, k->t, vals, n);
	for (uint32_t c = 0; k->index && c < n; c++)
		put_column(k, &b, c, &vals[c]);
	return buf_view(&b);
}

/* All combinations, in key order, each once. */
static struct str *
combinations(struct sql_key *k, uint32_t n, uint64_t count, uint32_t *n_out)
{
	struct str *keys = NEW_N(k->x->arena, struct str, count + 1);
	uint32_t kept = 0;

	for (uint64_t i = 0; i < count; i++)
		keys[i] = combination(k, n, i);
	if (count)
		qsort(keys, count, sizeof *keys, by_bytes);
	for (uint64_t i = 0; i < count; i++)
		if (kept == 0 || !str_eq(keys[kept - 1], keys[i]))
			keys[kept++] = keys[i];
	*n_out = kept;
	return keys;
}

/* `prefix`, then v for column i; `after`: above all keys that begin so. */
static struct str
with_column(
    struct sql_key *k, struct str prefix, uint32_t i, struct val v, bool after)
{
	struct buf b;

	buf_init(&b, k->x->arena);
	buf_str(&b, prefix);
	put_column(k, &b, i, &v);
	return after ? cl_key_after_prefix(k->x->arena, buf_view(&b))
		     : buf_view(&b);
}

/* A comparison is never true of NULL, wherever NULLs stand. */
static void
without_nulls(
    struct sql_key *k, struct str prefix, uint32_t i, struct sql_range *r)
{
	struct val null = val_null(k->cols[i].type);

	if (!k->cols[i].nullable)
		return;
	if (k->cols[i].order.nulls_first)
		r->start = with_column(k, prefix, i, null, true);
	else
		r->end = with_column(k, prefix, i, null, false);
}

static struct sql_range
range_of(struct sql_key *k, struct str prefix, uint32_t i)
{
	struct sql_range r = {prefix,
	    prefix.len ? cl_key_after_prefix(k->x->arena, prefix) : STR_NONE};
	const struct sql_key_col *c = i < k->n ? &k->cols[i] : NULL;

	if (!c || (!c->has_lo && !c->has_hi))
		return r;
	without_nulls(k, prefix, i, &r);
	/* What is below in SQL's order is behind in a descending key. */
	if (c->has_lo && !c->order.desc)
		r.start = with_column(k, prefix, i, c->lo, !c->lo_incl);
	if (c->has_hi && !c->order.desc)
		r.end = with_column(k, prefix, i, c->hi, c->hi_incl);
	if (c->has_hi && c->order.desc)
		r.start = with_column(k, prefix, i, c->hi, !c->hi_incl);
	if (c->has_lo && c->order.desc)
		r.end = with_column(k, prefix, i, c->lo, c->lo_incl);
	return r;
}

static void
take(struct sql_reach *out, struct sql_conj *conj, bool loose)
{
	if (!conj || conj->taken)
		return;
	conj->taken = !loose;
	out->index_cond[out->n_index_cond++] = conj->e;
}

static void
take_pinned(struct sql_key *k, uint32_t n, struct sql_reach *out)
{
	for (uint32_t i = 0; i < n; i++)
		take(out, k->cols[i].eq_conj, k->cols[i].eq_loose);
}

static void
make_ranges(
    struct sql_key *k, uint32_t n, uint64_t count, struct sql_reach *out)
{
	struct str *prefixes = combinations(k, n, count, &out->n_ranges);
	uint32_t kept = 0;

	out->n_pinned = sql_key_pinned(k);
	out->ranges = NEW_N(k->x->arena, struct sql_range, out->n_ranges + 1);
	for (uint32_t i = 0; i < out->n_ranges; i++) {
		struct sql_range r = range_of(k, prefixes[i], n);

		if (r.end.len == 0 || str_cmp(r.start, r.end) < 0)
			out->ranges[kept++] = r;
	}
	out->n_ranges = kept;
	take_pinned(k, n, out);
	if (n < k->n) {
		take(out, k->cols[n].lo_conj, false);
		take(out, k->cols[n].hi_conj, false);
	}
	for (uint32_t i = 0; i < k->n_implied; i++)
		k->implied[i]->taken = true;
}

void
sql_key_reach(struct sql_key *k, struct sql_reach *out)
{
	uint64_t count;
	uint32_t n;

	out->key = k;
	out->index = k->index;
	if (k->empty) {
		out->empty = true;
		return;
	}
	if (is_points(k)) {
		pinned(k, SQL_POINTS_MAX, &count);
		out->points = true;
		out->n_pinned = k->n;
		out->keys = combinations(k, k->n, count, &out->n_keys);
		take_pinned(k, k->n, out);
		return;
	}
	n = pinned(k, SQL_RANGES_MAX, &count);
	make_ranges(k, n, count, out);
}
