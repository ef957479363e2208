#include "regress/sim/history.h"

#include <inttypes.h>
#include <stdlib.h>
#include <xxhash.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"

/* Depth first over the orders that are possible in time, never twice through
 * the same (set of operations done, value): Wing and Gong's search with Lowe's
 * memory. */

#define STEPS_MAX 1000000u

struct search {
	const struct reg_op *ops; /* by start */
	size_t n;
	size_t left; /* known outcomes not yet placed */
	uint8_t *done;
	struct map *seen;
	uint64_t steps;
};

/* The row after the operation; false when that cannot be what was told. */
static bool
step(const struct reg_op *op, uint64_t before, uint64_t *after)
{
	bool can;

	*after = before;
	switch (op->kind) {
	case REG_READ:
		return op->seen == before;
	case REG_INSERT:
		can = before == 0;
		break;
	case REG_UPDATE:
	case REG_DELETE:
		can = before != 0;
		break;
	case REG_UPSERT:
		can = true;
		break;
	default:
		return false;
	}
	if (!op->unknown && op->changed != can)
		return false;
	if (can)
		*after = op->kind == REG_DELETE ? 0 : op->value;
	return true;
}

/* True when this point was not reached before. */
static bool
is_new(struct search *s, uint64_t value)
{
	uint64_t k[2] = {XXH3_64bits_withSeed(s->done, s->n, 1),
	    XXH3_64bits_withSeed(s->done, s->n, value * 2 + 3)};

	if (map_get(s->seen, MAP_KEY(&k)))
		return false;
	map_put(s->seen, MAP_KEY(&k), s);
	return true;
}

/* The first end of what is not placed yet: nothing that starts later can be
 * next. */
static uint64_t
horizon(const struct search *s, size_t from)
{
	uint64_t first = UINT64_MAX;

	for (size_t i = from; i < s->n; i++) {
		if (s->ops[i].start > first)
			break;
		if (!s->done[i] && !s->ops[i].unknown && s->ops[i].end < first)
			first = s->ops[i].end;
	}
	return first;
}

static enum reg_verdict explore(struct search *s, size_t from, uint64_t value);

/* Those with known outcomes first: mostly that is the answer. */
static enum reg_verdict
try_each(struct search *s, size_t from, uint64_t value, bool unknown)
{
	uint64_t limit = horizon(s, from);

	for (size_t i = from; i < s->n && s->ops[i].start <= limit; i++) {
		enum reg_verdict v;
		uint64_t after;

		if (s->done[i] || s->ops[i].unknown != unknown ||
		    !step(&s->ops[i], value, &after))
			continue;
		if (unknown && after == value)
			continue; /* as if it never happened */
		s->done[i] = 1;
		s->left -= !unknown;
		v = explore(s, from, after);
		s->done[i] = 0;
		s->left += !unknown;
		if (v != REG_WRONG)
			return v;
	}
	return REG_WRONG;
}

/* Did anybody write what it saw, or may have? */
static bool
stale_is_fine(const struct reg_op *read, const struct reg_op *ops, size_t n)
{
	if (read->seen == 0)
		return true;
	for (size_t i = 0; i < n; i++)
		if (ops[i].kind != REG_READ && ops[i].kind != REG_DELETE &&
		    ops[i].value == read->seen && ops[i].start <= read->end &&
		    (ops[i].unknown || ops[i].changed))
			return true;
	return false;
}

static enum reg_verdict
explore(struct search *s, size_t from, uint64_t value)
{
	enum reg_verdict v;

	if (s->left == 0)
		return REG_FINE;
	if (s->steps++ > STEPS_MAX)
		return REG_UNDECIDED;
	if (!is_new(s, value))
		return REG_WRONG;
	while (from < s->n && s->done[from])
		from++;
	v = try_each(s, from, value, false);
	return v == REG_WRONG ? try_each(s, from, value, true) : v;
}

static int
by_start(const void *a, const void *b)
{
	const struct reg_op *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

enum reg_verdict
reg_check(const struct reg_op *ops, size_t n)
{
	struct arena *a = arena_new(NULL, "check");
	struct search s = {.seen = map_new(a)};
	struct reg_op *sorted = NEW_N(a, struct reg_op, n + 1);
	bool fine = true;
	enum reg_verdict v;

	for (size_t i = 0; i < n; i++) {
		if (ops[i].stale)
			fine &= stale_is_fine(&ops[i], ops, n);
		else
			sorted[s.n++] = ops[i];
	}
	qsort(sorted, s.n, sizeof *sorted, by_start);
	s.ops = sorted;
	s.done = arena_alloc(a, s.n + 1);
	for (size_t i = 0; i < s.n; i++)
		s.left += !sorted[i].unknown;
	v = fine ? explore(&s, 0, 0) : REG_WRONG;
	arena_free(a);
	return v;
}

/* ---- histories ---- */

void
history_init(struct history *h, struct arena *a)
{
	*h = (struct history){.arena = a};
}

void
history_add(struct history *h, const struct reg_op *op)
{
	if (h->n == h->cap) {
		size_t cap = h->cap ? h->cap * 2 : 1024;

		h->ops = arena_grow(h->arena, h->ops, h->cap * sizeof *h->ops,
		    cap * sizeof *h->ops);
		h->cap = cap;
	}
	h->ops[h->n++] = *op;
}

static int
by_key(const void *a, const void *b)
{
	const struct reg_op *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return by_start(a, b);
}

static void
print_op(struct buf *b, const struct reg_op *op)
{
	static const char *const names[] = {
	    "read", "insert", "update", "delete", "upsert"};

	buf_printf(b, "  %12.6f ", (double)op->start / 1e6);
	if (op->unknown)
		buf_printf(b, "%12s ", "?");
	else
		buf_printf(b, "%12.6f ", (double)op->end / 1e6);
	buf_printf(b, "client-%u %s%s", op->client, op->stale ? "stale " : "",
	    names[op->kind]);
	if (op->kind == REG_READ)
		buf_printf(b, " = %" PRIu64, op->seen);
	else if (op->kind != REG_DELETE)
		buf_printf(b, " %" PRIu64, op->value);
	if (op->kind != REG_READ && !op->unknown)
		buf_printf(b, " %s", op->changed ? "ok" : "no");
	buf_printf(b, "\n");
}

/* The shortest beginning, by the ends of its operations, that is wrong already
 * would be nicer; a key has few operations, so all are shown. */
static const char *
complain(struct history *h, const struct reg_op *ops, size_t n, bool undecided)
{
	struct buf b;

	buf_init(&b, h->arena);
	buf_printf(&b, "key %" PRIu64 ": %s\n", ops[0].key,
	    undecided ? "too many operations to decide"
		      : "no order explains what clients were told");
	for (size_t i = 0; i < n; i++)
		print_op(&b, &ops[i]);
	return buf_cstr(&b);
}

const char *
history_check(struct history *h)
{
	size_t from = 0;

	if (h->n > 0)
		qsort(h->ops, h->n, sizeof *h->ops, by_key);
	while (from < h->n) {
		size_t to = from;
		enum reg_verdict v;

		while (to < h->n && h->ops[to].key == h->ops[from].key)
			to++;
		v = reg_check(h->ops + from, to - from);
		if (v != REG_FINE)
			return complain(
			    h, h->ops + from, to - from, v == REG_UNDECIDED);
		from = to;
	}
	return NULL;
}
