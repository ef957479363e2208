/* A treap with nodes that are never changed once somebody may hold them: a put
 * copies the way from the root to its key.  Nodes made since the last mark or
 * view are nobody else's yet and are changed in place, so a statement of many
 * rows copies a node once at most. */
#include "gateway/overlay.h"

/* What a write takes in a proposal besides its keys and value. */
#define CHANGE_BYTES 64u
/* Below this much memory nothing is tidied. */
#define TIDY_MIN (1u << 20)

struct gw_overlay_node {
	struct gw_overlay_node *left, *right;
	const struct gw_change *change;
	size_t n;      /* nodes below, itself included */
	uint64_t turn; /* in which it was made */
	uint32_t priority;
};

struct gw_overlay {
	struct arena *arena;
	struct arena *pool; /* nodes and changes */
	uint32_t refs;
	struct gw_overlay_table *tables;
	struct gw_overlay_node *root;
	size_t bytes;
	uint64_t turn; /* raised whenever somebody keeps the root */
	uint64_t seq;
	uint64_t random;
};

struct gw_overlay *
gw_overlay_new(struct arena *parent, uint64_t seed)
{
	struct arena *a = arena_new(parent, "transaction");
	struct gw_overlay *o = NEW(a, struct gw_overlay);

	o->arena = a;
	o->pool = arena_new(a, "write set");
	o->refs = 1;
	o->random = seed | 1;
	return o;
}

void
gw_overlay_ref(struct gw_overlay *o)
{
	o->refs++;
}

void
gw_overlay_unref(struct gw_overlay *o)
{
	if (!o)
		return;
	ASSERT(o->refs > 0);
	if (--o->refs == 0)
		arena_free(o->arena);
}

struct arena *
gw_overlay_arena(struct gw_overlay *o)
{
	return o->arena;
}

/* ---- tables ---- */

const struct gw_overlay_table *
gw_overlay_table(const struct gw_overlay *o, uint32_t id)
{
	const struct gw_overlay_table *t = o->tables;

	while (t && t->t->id != id)
		t = t->next;
	return t;
}

static void
unref_ev(void *arg)
{
	cl_catalog_unref(arg);
}

const struct gw_overlay_table *
gw_overlay_add_table(
    struct gw_overlay *o, const struct cl_table *t, struct cl_catalog *held)
{
	struct gw_overlay_table *mine = NEW(o->arena, struct gw_overlay_table);

	mine->t = t;
	mine->held = cl_catalog_ref(held);
	arena_cleanup(o->arena, unref_ev, held);
	mine->next = o->tables;
	o->tables = mine;
	return mine;
}

/* ---- the tree ---- */

static int
compare(uint32_t table, struct str key, const struct gw_change *c)
{
	uint32_t other = c->table->t->id;

	if (table != other)
		return table < other ? -1 : 1;
	return str_cmp(key, c->key);
}

static size_t
count_of(const struct gw_overlay_node *n)
{
	return n ? n->n : 0;
}

static void
recount(struct gw_overlay_node *n)
{
	n->n = count_of(n->left) + 1 + count_of(n->right);
}

/* xorshift: nobody outside can choose keys by it. */
static uint32_t
priority(struct gw_overlay *o)
{
	o->random ^= o->random << 13;
	o->random ^= o->random >> 7;
	o->random ^= o->random << 17;
	return (uint32_t)(o->random >> 16);
}

static struct gw_overlay_node *
node_new(struct gw_overlay *o, const struct gw_change *c)
{
	struct gw_overlay_node *n = NEW(o->pool, struct gw_overlay_node);

	n->change = c;
	n->n = 1;
	n->turn = o->turn;
	n->priority = priority(o);
	return n;
}

/* n, or a copy that may be changed. */
static struct gw_overlay_node *
node_own(struct gw_overlay *o, struct gw_overlay_node *n)
{
	if (n->turn == o->turn)
		return n;
	n = arena_dup(o->pool, n, sizeof *n);
	n->turn = o->turn;
	return n;
}

/* The child, which is the caller's own, comes up if its priority says so. */
static struct gw_overlay_node *
lift_left(struct gw_overlay_node *n)
{
	struct gw_overlay_node *up = n->left;

	if (up->priority <= n->priority) {
		recount(n);
		return n;
	}
	n->left = up->right;
	up->right = n;
	recount(n);
	recount(up);
	return up;
}

static struct gw_overlay_node *
lift_right(struct gw_overlay_node *n)
{
	struct gw_overlay_node *up = n->right;

	if (up->priority <= n->priority) {
		recount(n);
		return n;
	}
	n->right = up->left;
	up->left = n;
	recount(n);
	recount(up);
	return up;
}

/* As deep as the tree: some 60 levels for a million keys. */
static struct gw_overlay_node *
node_put(
    struct gw_overlay *o, struct gw_overlay_node *n, const struct gw_change *c)
{
	int r;

	if (!n)
		return node_new(o, c);
	r = compare(c->table->t->id, c->key, n->change);
	n = node_own(o, n);
	if (r == 0) {
		n->change = c;
		return n;
	}
	if (r < 0) {
		n->left = node_put(o, n->left, c);
		return lift_left(n);
	}
	n->right = node_put(o, n->right, c);
	return lift_right(n);
}

static const struct gw_overlay_node *
node_find(const struct gw_overlay_node *n, uint32_t table, struct str key)
{
	while (n) {
		int r = compare(table, key, n->change);

		if (r == 0)
			return n;
		n = r < 0 ? n->left : n->right;
	}
	return NULL;
}

/* ---- putting ---- */

static size_t
change_bytes(const struct gw_change *c)
{
	/* The key stands in the condition and in the write. */
	return c->idle ? 0 : 2 * c->key.len + c->value.len + CHANGE_BYTES;
}

struct err *
gw_overlay_put(struct gw_overlay *o, const struct gw_change *c)
{
	const struct gw_overlay_node *old =
	    node_find(o->root, c->table->t->id, c->key);
	struct gw_change *mine = arena_dup(o->pool, c, sizeof *c);

	ASSERT(!(c->idle && c->value.len));
	mine->key = old ? old->change->key : arena_str(o->pool, c->key);
	mine->value = arena_str(o->pool, c->value);
	mine->seq = ++o->seq;
	o->bytes += change_bytes(mine);
	if (old)
		o->bytes -= change_bytes(old->change);
	o->root = node_put(o, o->root, mine);
	return arena_check(o->pool);
}

const struct gw_change *
gw_overlay_get(const struct gw_overlay *o, uint32_t table, struct str key)
{
	return gw_overlay_find((struct gw_overlay_view){o->root}, table, key);
}

size_t
gw_overlay_bytes(const struct gw_overlay *o)
{
	return o->bytes;
}

/* ---- states ---- */

struct gw_overlay_view
gw_overlay_now(struct gw_overlay *o)
{
	o->turn++;
	return (struct gw_overlay_view){o->root};
}

struct gw_overlay_mark
gw_overlay_mark(struct gw_overlay *o)
{
	return (struct gw_overlay_mark){gw_overlay_now(o), o->bytes};
}

void
gw_overlay_cut(struct gw_overlay *o, struct gw_overlay_mark m)
{
	/* The tree is the overlay's own; views only keep others from
	 * changing it. */
	o->root = (struct gw_overlay_node *)(uintptr_t)m.view.root;
	o->bytes = m.bytes;
	o->turn++;
}

static struct gw_overlay_node *
node_copy(struct arena *a, const struct gw_overlay_node *n)
{
	struct gw_overlay_node *copy;
	struct gw_change *c;

	if (!n)
		return NULL;
	copy = arena_dup(a, n, sizeof *n);
	c = arena_dup(a, n->change, sizeof *c);
	c->key = arena_str(a, c->key);
	c->value = arena_str(a, c->value);
	copy->change = c;
	copy->left = node_copy(a, n->left);
	copy->right = node_copy(a, n->right);
	return copy;
}

void
gw_overlay_tidy(struct gw_overlay *o)
{
	size_t used = arena_bytes(o->pool);
	struct arena *old = o->pool;

	/* What lives takes its bytes, and a node and a change per key. */
	if (o->refs > 1 || used < TIDY_MIN ||
	    used < 4 * (o->bytes + count_of(o->root) * 256))
		return;
	o->pool = arena_new(o->arena, "write set");
	o->root = node_copy(o->pool, o->root);
	arena_free(old);
}

/* ---- reading ---- */

const struct gw_change *
gw_overlay_find(struct gw_overlay_view v, uint32_t table, struct str key)
{
	const struct gw_overlay_node *n = node_find(v.root, table, key);

	return n && !n->change->idle ? n->change : NULL;
}

static const struct gw_change *
from(
    const struct gw_overlay_node *n, uint32_t table, struct str key, bool above)
{
	const struct gw_change *best = NULL;

	while (n) {
		int r = compare(table, key, n->change);

		if (r < 0 || (r == 0 && !above)) {
			best = n->change;
			n = n->left;
		} else {
			n = n->right;
		}
	}
	return best && best->table->t->id == table ? best : NULL;
}

const struct gw_change *
gw_overlay_from(
    struct gw_overlay_view v, uint32_t table, struct str key, bool above)
{
	const struct gw_change *c = from(v.root, table, key, above);

	while (c && c->idle)
		c = from(v.root, table, c->key, true);
	return c;
}

/* The last one of the table below the key; an empty one is above all. */
static const struct gw_change *
below(const struct gw_overlay_node *n, uint32_t table, struct str to)
{
	const struct gw_change *best = NULL;

	while (n) {
		uint32_t other = n->change->table->t->id;
		bool under = other == table && !to.len
				 ? true
				 : compare(table, to, n->change) > 0;

		if (under)
			best = n->change;
		n = under ? n->right : n->left;
	}
	return best && best->table->t->id == table ? best : NULL;
}

const struct gw_change *
gw_overlay_below(struct gw_overlay_view v, uint32_t table, struct str to)
{
	const struct gw_change *c = below(v.root, table, to);

	while (c && c->idle)
		c = below(v.root, table, c->key);
	return c;
}

/* How many stand before the key. */
static size_t
rank(const struct gw_overlay_node *n, uint32_t table, struct str key)
{
	size_t before = 0;

	while (n) {
		if (compare(table, key, n->change) <= 0) {
			n = n->left;
			continue;
		}
		before += count_of(n->left) + 1;
		n = n->right;
	}
	return before;
}

size_t
gw_overlay_count(
    struct gw_overlay_view v, uint32_t table, struct str start, struct str end)
{
	size_t lo = rank(v.root, table, start);
	size_t hi = end.len ? rank(v.root, table, end)
			    : rank(v.root, table + 1, STR_NONE);

	return hi > lo ? hi - lo : 0;
}

static void
each(const struct gw_overlay_node *n,
    void (*fn)(void *arg, const struct gw_change *c), void *arg)
{
	if (!n)
		return;
	each(n->left, fn, arg);
	if (!n->change->idle)
		fn(arg, n->change);
	each(n->right, fn, arg);
}

void
gw_overlay_each(struct gw_overlay_view v,
    void (*fn)(void *arg, const struct gw_change *c), void *arg)
{
	each(v.root, fn, arg);
}
