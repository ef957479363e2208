#include <stdio.h>

#include "base/world_real.h"
#include "expr/func.h"
#include "expr/table.h"
#include "gateway/commit.h"
#include "gateway/overlay_source.h"
#include "gateway/source.h"
#include "gateway/t/bench_world.h"
#include "regress/lib/cu.h"

static uint64_t seed;

/* In 0..n-1. */
static uint32_t
below(uint32_t n)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % n;
}

/* ---- the tree ---- */

#define KEYS  300u
#define MARKS 8u

struct model {
	char value[KEYS]; /* 0: not there */
	bool idle[KEYS];
};

static struct str
tree_key(char buf[8], uint32_t k)
{
	return str_of(buf, (size_t)snprintf(buf, 8, "k%05u", k));
}

static void
tree_put(struct gw_overlay *o, struct model *m, uint32_t k)
{
	struct gw_change c = {.table = gw_overlay_table(o, 16384)};
	char key[8], value[2] = {(char)('a' + below(26)), 0};

	c.key = tree_key(key, k);
	c.idle = below(5) == 0;
	if (!c.idle)
		c.value = str_of(value, 1);
	m->value[k] = value[0];
	m->idle[k] = c.idle;
	CHECK(!gw_overlay_put(o, &c));
}

static bool
tree_has(const struct model *m, uint32_t k)
{
	return m->value[k] && !m->idle[k];
}

/* Forwards, backwards, by key and by number. */
static void
tree_check(
    struct gw_overlay_view v, const struct model *m, uint32_t from, uint32_t to)
{
	const struct gw_change *up, *down;
	uint32_t all = 0;
	char a[8], b[8];

	up = gw_overlay_from(v, 16384, tree_key(a, from), false);
	for (uint32_t k = from; k < to; k++) {
		const struct gw_change *c =
		    gw_overlay_find(v, 16384, tree_key(a, k));

		all += m->value[k] != 0;
		CHECK((c != NULL) == tree_has(m, k));
		if (!c)
			continue;
		CHECK(c == up && c->value.p[0] == m->value[k]);
		up = gw_overlay_from(v, 16384, c->key, true);
	}
	CHECK(gw_overlay_count(v, 16384, tree_key(a, from), tree_key(b, to)) ==
	      all);
	down = gw_overlay_below(
	    v, 16384, to == KEYS && below(2) ? STR_NONE : tree_key(a, to));
	for (uint32_t k = to; k-- > from;) {
		if (!tree_has(m, k))
			continue;
		CHECK(down && str_eq(down->key, tree_key(a, k)));
		down = gw_overlay_below(v, 16384, down->key);
	}
}

struct marks {
	struct gw_overlay_mark at[MARKS];
	struct model was[MARKS];
	uint32_t n;
};

static void
tree_step(struct gw_overlay *o, struct model *m, struct marks *s)
{
	uint32_t what = below(20), k;

	if (what == 0 && s->n < MARKS) {
		s->was[s->n] = *m;
		s->at[s->n++] = gw_overlay_mark(o);
	} else if (what == 1 && s->n) {
		k = below(s->n);
		gw_overlay_cut(o, s->at[k]);
		*m = s->was[k];
		s->n = k;
	} else {
		tree_put(o, m, below(KEYS));
	}
}

static void
tree_body(struct bench *b)
{
	struct gw_overlay *o = gw_overlay_new(b->arena, seed);
	const struct cl_table *t = bench_table(b);
	struct model *m = NEW(b->arena, struct model);
	struct marks *s = NEW(b->arena, struct marks);
	struct gw_overlay_view held;
	struct model was;

	CHECK(t->id == 16384);
	gw_overlay_add_table(o, t, gw_catalog_now(b->worker->catalog));
	for (int i = 0; i < 4000; i++) {
		uint32_t from = below(KEYS), n = below(KEYS - from) + 1;

		if (i % 500 == 0) {
			if (!s->n)
				gw_overlay_tidy(o);
			held = gw_overlay_now(o);
			was = *m;
		}
		tree_step(o, m, s);
		if (i % 40)
			continue;
		tree_check(gw_overlay_now(o), m, from, from + n);
		tree_check(held, &was, from, from + n);
	}
	gw_overlay_unref(o);
}

static void
a_state_stays_what_it_was(void)
{
	seed = cu_seed();
	bench_run(1, NULL, tree_body);
}

static void
large_body(struct bench *b)
{
	struct gw_overlay *o = gw_overlay_new(b->arena, 1);
	const struct cl_table *t = bench_table(b);
	struct gw_change c = {.value = STR("v")};
	size_t bytes = 0;

	c.table =
	    gw_overlay_add_table(o, t, gw_catalog_now(b->worker->catalog));
	for (int i = 0; i < 100000; i++) {
		char key[16];

		c.key =
		    str_of(key, (size_t)snprintf(key, sizeof key, "%08d", i));
		CHECK(!gw_overlay_put(o, &c));
		/* As statements of 100 rows; and the memory of what nobody
		 * holds comes back. */
		if (i % 100 == 0) {
			gw_overlay_tidy(o);
			gw_overlay_mark(o);
		}
	}
	bytes = arena_bytes(gw_overlay_arena(o));
	CHECK(gw_overlay_count(gw_overlay_now(o), t->id, STR_NONE, STR_NONE) ==
	      100000);
	CHECK(bytes < 8 * (gw_overlay_bytes(o) + 100000u * 256));
	gw_overlay_unref(o);
}

static void
a_hundred_thousand_keys_fit_a_session(void)
{
	bench_run(1, NULL, large_body);
}

/* ---- the source against a model ---- */

#define IDS 60

/* What a key is in the cluster, and in the transaction: 0 is no row. */
struct rows {
	int base[IDS];
	int mine[IDS];
	bool touched[IDS];
};

struct play {
	struct bench *b;
	struct arena *arena; /* of sources: they hold the overlay */
	const struct cl_table *t;
	struct gw_overlay *o;
	struct gw_overlay_rules rules;
	struct sql_env env;
	struct rows rows;
};

static void
play_init(struct play *p, struct bench *b)
{
	*p = (struct play){.b = b,
	    .arena = arena_new(b->arena, "sources"),
	    .t = bench_table(b),
	    .o = gw_overlay_new(b->arena, 1)};
}

static void
play_end(struct play *p)
{
	arena_free(p->arena);
	gw_overlay_unref(p->o);
}

static int
visible(const struct rows *r, int64_t id)
{
	return r->touched[id] ? r->mine[id] : r->base[id];
}

static struct sql_source *
source_of(struct play *p)
{
	bench_stmt(p->b, 5000000);
	return gw_overlay_source_new(
	    p->arena, &p->b->stmt, p->o, &p->rules, &p->env);
}

static struct sql_scan_req
all_of(const struct play *p)
{
	static const uint32_t columns[] = {1, 2};

	return (struct sql_scan_req){
	    .table = p->t, .columns = columns, .n_columns = 2};
}

static struct val *
row_of(struct play *p, int64_t id, int v)
{
	struct val *vals = NEW_N(p->b->arena, struct val, 2);

	vals[0] = val_int(EX_INT8, id);
	vals[1] = val_str(EX_TEXT, str_c(arena_printf(p->b->arena, "v%d", v)));
	return vals;
}

static bool
says(const struct sql_row *row, int64_t id, int v)
{
	char text[16];

	snprintf(text, sizeof text, "v%d", v);
	return row->vals[0].u.i == id && str_eq(row->vals[1].u.s, str_c(text));
}

static enum sql_write_result
write_row(struct play *p, struct sql_source *src, enum sql_write_kind kind,
    int64_t id)
{
	struct sql_scan_req what = all_of(p);
	struct sql_write w = {
	    .kind = kind, .table = p->t, .key = bench_key(p->b, p->t, id)};
	struct sql_row row = {0};
	bool found;
	int v = 1 + (int)below(1000);

	what.fresh = true;
	CHECK(!src->ops->get(src, p->b->arena, &what, &w.key, 1, &row, &found));
	w.stamp = row.stamp;
	w.vals = row_of(p, id, v);
	CHECK(!src->ops->write(src, p->b->arena, &w, 1));
	if (w.result == SQL_WRITE_DONE && src->ops->reach) {
		p->rows.touched[id] = true;
		p->rows.mine[id] = kind == SQL_DELETE ? 0 : v;
	} else if (w.result == SQL_WRITE_DONE) {
		p->rows.base[id] = kind == SQL_DELETE ? 0 : v;
	}
	return w.result;
}

static void
own_write(struct play *p)
{
	int64_t id = below(IDS);
	bool there = visible(&p->rows, id) != 0;
	struct sql_source *src = source_of(p);

	switch (below(4)) {
	case 0:
		CHECK(write_row(p, src, SQL_INSERT, id) ==
		      (there ? SQL_WRITE_EXISTS : SQL_WRITE_DONE));
		break;
	case 1:
		if (there)
			CHECK(write_row(p, src, SQL_UPDATE, id) ==
			      SQL_WRITE_DONE);
		break;
	case 2:
		if (!there)
			break;
		CHECK(write_row(p, src, SQL_DELETE, id) == SQL_WRITE_DONE);
		/* Its own insert leaves no trace. */
		if (!gw_overlay_get(p->o, p->t->id, bench_key(p->b, p->t, id)))
			p->rows.touched[id] = false;
		break;
	default:
		CHECK(write_row(p, src, SQL_UPSERT, id) == SQL_WRITE_DONE);
	}
}

static void
other_write(struct play *p)
{
	struct sql_source *src;
	int64_t id = below(IDS);
	bool gone = p->rows.base[id] && below(2);

	bench_stmt(p->b, 5000000);
	src = gw_source_new(p->b->arena, &p->b->stmt);
	CHECK(write_row(p, src, gone ? SQL_DELETE : SQL_UPSERT, id) ==
	      SQL_WRITE_DONE);
}

static struct expr *
less_than(struct bench *b, int64_t bound)
{
	struct expr **args = NEW_N(b->arena, struct expr *, 2);
	const struct ex_func *f = NULL;

	args[0] = ex_column(b->arena, 0, EX_INT8, -1);
	args[1] = ex_const(b->arena, val_int(EX_INT8, bound));
	CHECK(!ex_find_op(b->arena, STR("<"), EX_INT8, EX_INT8, &f));
	return ex_call(b->arena, f, args, 2);
}

/* A scan as it may be asked for, and what of the model is in it. */
struct wish {
	struct sql_scan_req req;
	int64_t from, to; /* ids */
};

static struct wish
any_wish(struct play *p)
{
	struct wish w = {.req = all_of(p), .to = IDS};
	int64_t bound;

	if (below(2)) {
		w.from = below(IDS);
		w.req.start = bench_key(p->b, p->t, w.from);
	}
	if (below(2)) {
		w.to = w.from + below((uint32_t)(IDS - w.from)) + 1;
		w.req.end = bench_key(p->b, p->t, w.to);
	}
	if (below(2)) {
		bound = below(IDS);
		w.req.filter = less_than(p->b, bound);
		if (bound < w.to)
			w.to = bound;
	}
	w.req.ordered = below(3) > 0;
	w.req.reverse = w.req.ordered && below(2);
	if (below(2))
		w.req.limit = 1 + below(10);
	return w;
}

static int
visible_in(const struct rows *r, const struct wish *w)
{
	int n = 0;

	for (int64_t id = w->from; id < w->to; id++)
		n += visible(r, id) != 0;
	return n;
}

static void
check_scan(struct play *p, struct sql_source *src, const struct rows *rows)
{
	struct wish w = any_wish(p);
	bool seen[IDS] = {false};
	int n = visible_in(rows, &w), got = 0;
	int64_t next = w.req.reverse ? w.to - 1 : w.from;
	struct sql_scan *sc;

	if (w.req.limit && (uint64_t)n > w.req.limit)
		n = (int)w.req.limit;
	CHECK(!src->ops->scan_open(src, p->b->arena, &w.req, &sc));
	for (;;) {
		struct sql_row row;
		bool more;
		int64_t id;

		CHECK(!src->ops->scan_next(sc, p->b->arena, &row, &more));
		if (!more)
			break;
		id = row.vals[0].u.i;
		MUST(id >= w.from && id < w.to && !seen[id]);
		seen[id] = true;
		got++;
		CHECK(visible(rows, id) && says(&row, id, visible(rows, id)));
		if (!w.req.ordered)
			continue;
		/* Nothing visible was passed over. */
		while (next != id) {
			MUST(next >= w.from && next < w.to);
			CHECK(!visible(rows, next));
			next += w.req.reverse ? -1 : 1;
		}
		next += w.req.reverse ? -1 : 1;
	}
	CHECK(got == n);
	src->ops->scan_close(sc);
}

static void
check_count(struct play *p, struct sql_source *src, const struct rows *rows)
{
	struct wish w = any_wish(p);
	uint64_t n;

	w.req.limit = 0;
	w.req.count_only = true;
	CHECK(!src->ops->scan_count(src, p->b->arena, &w.req, &n));
	CHECK(n == (uint64_t)visible_in(rows, &w));
}

static void
check_get(struct play *p, struct sql_source *src, const struct rows *rows)
{
	struct sql_scan_req what = all_of(p);
	struct str keys[IDS];
	struct sql_row got[IDS];
	bool found[IDS];

	for (int64_t id = 0; id < IDS; id++)
		keys[id] = bench_key(p->b, p->t, id);
	CHECK(!src->ops->get(src, p->b->arena, &what, keys, IDS, got, found));
	for (int64_t id = 0; id < IDS; id++) {
		CHECK(found[id] == (visible(rows, id) != 0));
		if (found[id])
			CHECK(says(&got[id], id, visible(rows, id)));
	}
}

static void
check_reads(struct play *p, struct sql_source *src, const struct rows *rows)
{
	for (int i = 0; i < 3; i++)
		check_scan(p, src, rows);
	check_count(p, src, rows);
	check_get(p, src, rows);
}

static void
play_new(struct play *p, struct bench *b)
{
	play_init(p, b);
	for (int64_t id = 0; id < IDS; id++)
		if (below(2))
			other_write(p);
}

/* What was read before the last writes of others is what they overwrite: the
 * parts go out one by one, each a COMMIT of its own, without conditions on
 * what was there. */
static void
commit_all(struct play *p)
{
	struct gw_commit all;
	struct rows *r = &p->rows;

	bench_stmt(p->b, 5000000);
	CHECK(!gw_commit_parts(
	    &p->b->stmt, p->b->arena, gw_overlay_now(p->o), &all));
	for (size_t i = 0; i < all.n; i++) {
		struct gw_commit one = {&all.parts[i], 1};
		bool open;

		CHECK(!gw_commit_run(
		    &p->b->stmt, p->b->arena, &p->env, &one, &open));
	}
	for (int64_t id = 0; id < IDS; id++) {
		r->base[id] = visible(r, id);
		r->touched[id] = false;
	}
}

static void
reads_body(struct bench *b)
{
	struct play *p = NEW(b->arena, struct play);
	struct rows was;
	struct sql_source *src, *then;
	struct gw_stmt stmt;

	play_new(p, b);
	for (int i = 0; i < 120; i++) {
		struct gw_overlay_mark mark = gw_overlay_mark(p->o);
		struct rows before = p->rows;

		for (uint32_t n = below(6); n--;)
			own_write(p);
		if (below(4) == 0) {
			gw_overlay_cut(p->o, mark);
			p->rows = before;
		}
		if (below(3) == 0)
			other_write(p);
		src = source_of(p);
		check_reads(p, src, &p->rows);
		/* A statement does not see what comes after it. */
		was = p->rows;
		then = src;
		stmt = b->stmt;
		own_write(p);
		b->stmt = stmt;
		check_reads(p, then, &was);
	}
	play_end(p);
}

static void
small(struct bench *b)
{
	for (uint32_t i = 0; i < b->store.n_nodes; i++) {
		b->store.nodes[i]->page_rows = 5;
		b->store.nodes[i]->read_rows = 7;
	}
}

static void
every_read_shows_the_base_with_the_writes(void)
{
	seed = cu_seed();
	bench_run(3, small, reads_body);
}

static void
committed_body(struct bench *b)
{
	struct play *p = NEW(b->arena, struct play);

	play_new(p, b);
	for (int i = 0; i < 20; i++) {
		for (uint32_t n = below(40); n--;)
			own_write(p);
		commit_all(p);
		arena_reset(p->arena);
		gw_overlay_unref(p->o);
		p->o = gw_overlay_new(b->arena, seed);
		check_reads(p, source_of(p), &p->rows);
	}
	play_end(p);
}

static void
what_was_seen_is_what_is_committed(void)
{
	seed = cu_seed();
	bench_run(2, NULL, committed_body);
}

/* ---- rules of writing ---- */

static void
limit_body(struct bench *b)
{
	struct play p;
	struct sql_source *src;
	struct sql_write w = {.kind = SQL_UPSERT};
	struct err *e = NULL;
	int n = 0;

	play_init(&p, b);
	w.table = p.t;
	p.rules.bytes_max = 2000;
	src = source_of(&p);
	for (; !e && n < 100; n++) {
		w.key = bench_key(b, p.t, n);
		w.vals = row_of(&p, n, n);
		e = src->ops->write(src, b->arena, &w, 1);
	}
	CHECK(n > 5 && n < 30);
	CHECK(err_is(e, ERRCODE_PROGRAM_LIMIT_EXCEEDED));
	play_end(&p);
}

static void
the_write_set_has_a_limit(void)
{
	bench_run(1, NULL, limit_body);
}

static void
twice_body(struct bench *b)
{
	struct play p;
	struct sql_source *src;
	struct sql_write w[3];

	play_init(&p, b);
	src = source_of(&p);
	for (int i = 0; i < 3; i++)
		w[i] = (struct sql_write){.kind = SQL_INSERT,
		    .table = p.t,
		    .key = bench_key(b, p.t, i % 2),
		    .vals = row_of(&p, i % 2, i)};
	CHECK(!src->ops->write(src, b->arena, w, 3));
	CHECK(w[0].result == SQL_WRITE_DONE && w[1].result == SQL_WRITE_DONE);
	CHECK(w[2].result == SQL_WRITE_EXISTS);
	/* A stamp that is not the one last told. */
	w[0].kind = SQL_UPDATE;
	w[0].stamp = 99;
	CHECK(!src->ops->write(src, b->arena, w, 1));
	CHECK(w[0].result == SQL_WRITE_CHANGED);
	play_end(&p);
}

static void
each_row_has_its_own_result(void)
{
	bench_run(1, NULL, twice_body);
}

CU_MAIN("overlay", {"a_state_stays_what_it_was", a_state_stays_what_it_was},
    {"a_hundred_thousand_keys_fit_a_session",
	a_hundred_thousand_keys_fit_a_session},
    {"every_read_shows_the_base_with_the_writes",
	every_read_shows_the_base_with_the_writes},
    {"what_was_seen_is_what_is_committed", what_was_seen_is_what_is_committed},
    {"the_write_set_has_a_limit", the_write_set_has_a_limit},
    {"each_row_has_its_own_result", each_row_has_its_own_result})
