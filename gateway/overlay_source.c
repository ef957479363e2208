#include "gateway/overlay_source.h"

#include "gateway/access.h"
#include "gateway/source_int.h"
#include "gateway/worker.h"

struct overlay_source {
	struct gw_source src;     /* first: what serves any source serves it */
	struct sql_source *below; /* the cluster's */
	struct gw_overlay *overlay;
	struct gw_overlay_view view; /* when the statement began */
	struct gw_overlay_rules rules;
	const struct sql_env *env;
	struct gw_pinned *pinned; /* of tables met so far */
};

static struct overlay_source *
overlay_of(struct sql_source *s)
{
	return CONTAINER(gw_source_of(s), struct overlay_source, src);
}

/* ---- the partition ---- */

/* NULL in a transaction without one. */
static struct err *
pinned_of(struct overlay_source *os, struct arena *a, const struct cl_table *t,
    const struct gw_pinned **out)
{
	struct gw_pinned *p = os->pinned;
	struct err *e;

	*out = NULL;
	if (!os->rules.pins)
		return NULL;
	while (p && p->t != t)
		p = p->next;
	if (!p) {
		e = gw_pins_table(
		    os->rules.pins, os->src.arena, os->env, t, &p);
		if (e)
			return err_copy(a, e);
		p->next = os->pinned;
		os->pinned = p;
	}
	*out = p;
	return NULL;
}

static struct err *
overlay_reach(
    struct sql_source *s, struct arena *a, const struct sql_bounds *what)
{
	struct overlay_source *os = overlay_of(s);
	const struct gw_pinned *p;

	TRY(pinned_of(os, a, what->table, &p));
	return p ? gw_pins_reach(os->rules.pins, a, p, what) : NULL;
}

/* ---- rows ---- */

static bool
is_deleted(const struct gw_change *c)
{
	return c->value.len == 0;
}

/* The row that a change leaves behind, if any and if it passes the filter. */
static struct err *
change_row(struct overlay_source *os, struct arena *a,
    const struct sql_scan_req *what, const struct gw_change *c,
    struct sql_row *row, bool *found)
{
	struct gw_row_in in = {what, c->key, c->value, what->filter};

	TRY(gw_source_row(&os->src, a, &in, row, found));
	row->stamp = c->seq;
	return NULL;
}

/* ---- by key ---- */

struct getting {
	struct overlay_source *os;
	struct arena *arena;
	const struct sql_scan_req *what;
	struct str *keys; /* what the overlay does not have */
	size_t *at;
	size_t n;
	struct sql_row *rows;
	bool *found;
};

static struct err *
get_below(const struct getting *g)
{
	struct sql_source *below = g->os->below;
	struct sql_row *rows = NEW_N(g->arena, struct sql_row, g->n + 1);
	bool *found = NEW_N(g->arena, bool, g->n + 1);

	if (!g->n)
		return NULL;
	TRY(below->ops->get(
	    below, g->arena, g->what, g->keys, g->n, rows, found));
	for (size_t i = 0; i < g->n; i++) {
		g->rows[g->at[i]] = rows[i];
		g->found[g->at[i]] = found[i];
	}
	return NULL;
}

static struct err *
overlay_get(struct sql_source *s, struct arena *a,
    const struct sql_scan_req *what, const struct str *keys, size_t n,
    struct sql_row *rows, bool *found)
{
	struct overlay_source *os = overlay_of(s);
	struct gw_overlay_view view =
	    what->fresh ? gw_overlay_now(os->overlay) : os->view;
	struct getting g = {.os = os,
	    .arena = a,
	    .what = what,
	    .keys = NEW_N(a, struct str, n + 1),
	    .at = NEW_N(a, size_t, n + 1),
	    .rows = rows,
	    .found = found};
	const struct gw_pinned *p;

	TRY(gw_may_use(os->src.stmt, a, what->table));
	TRY(pinned_of(os, a, what->table, &p));
	for (size_t i = 0; i < n; i++) {
		const struct gw_change *c =
		    gw_overlay_find(view, what->table->id, keys[i]);

		found[i] = false;
		if (p && !str_has_prefix(keys[i], p->prefix))
			continue;
		if (c) {
			TRY(change_row(os, a, what, c, &rows[i], &found[i]));
			continue;
		}
		g.keys[g.n] = keys[i];
		g.at[g.n++] = i;
	}
	return get_below(&g);
}

/* ---- scans ---- */

/* Rows of the cluster that the overlay has not touched, merged with those that
 * it has. */
struct sql_scan {
	struct overlay_source *os;
	struct arena *arena;
	const struct sql_scan_req *what;
	struct sql_scan_req req; /* what the cluster is asked for */
	struct sql_scan *below;  /* NULL: it is not asked */
	bool through;            /* the overlay has nothing here */
	bool below_done;
	struct arena *held_arena; /* of the row that waits for its turn */
	struct sql_row held;
	bool has_held;
	const struct gw_change *next; /* the overlay's next row */
	struct str prefix; /* of the pinned partition, where the range may be
			    * more */
	uint64_t emitted;
};

static bool
in_range(const struct sql_scan *sc, struct str key)
{
	const struct sql_scan_req *what = sc->what;

	return str_cmp(key, what->start) >= 0 &&
	       (!what->end.len || str_cmp(key, what->end) < 0);
}

/* The next change after `c` (NULL: the first) that leaves a row. */
static const struct gw_change *
change_after(const struct sql_scan *sc, const struct gw_change *c)
{
	const struct sql_scan_req *what = sc->what;
	uint32_t t = what->table->id;
	struct gw_overlay_view v = sc->os->view;

	do {
		if (what->reverse)
			c = gw_overlay_below(v, t, c ? c->key : what->end);
		else
			c = gw_overlay_from(
			    v, t, c ? c->key : what->start, c != NULL);
		if (c && !in_range(sc, c->key))
			c = NULL;
	} while (c && is_deleted(c));
	return c;
}

/* Each key that the overlay has may hide a row that the cluster gives. */
static uint64_t
below_limit(uint64_t limit, size_t hidden)
{
	uint64_t more;

	if (!limit || __builtin_add_overflow(limit, hidden, &more))
		return 0;
	return more;
}

static struct err *
scan_begin(struct sql_scan *sc, struct arena *a)
{
	struct overlay_source *os = sc->os;
	const struct sql_scan_req *what = sc->what;
	size_t mine =
	    gw_overlay_count(os->view, what->table->id, what->start, what->end);

	sc->through = mine == 0;
	sc->req = *what;
	if (!sc->through) {
		sc->req.limit = below_limit(what->limit, mine);
		sc->req.count_only = false;
		sc->next = change_after(sc, NULL);
		sc->held_arena = arena_new(sc->arena, "row");
	}
	return os->below->ops->scan_open(os->below, a, &sc->req, &sc->below);
}

/* By a secondary index: its keys do not say whose partition a row is of, nor
 * where the rows that were written here would stand. */
static struct err *
index_begin(struct sql_scan *sc, struct arena *a, const struct gw_pinned *p)
{
	struct overlay_source *os = sc->os;
	uint32_t t = sc->what->table->id;

	if (gw_overlay_count(os->view, t, STR_NONE, STR_NONE))
		return ERR(a, ERRCODE_FEATURE_NOT_SUPPORTED,
		    "reading by an index of a table that the transaction has "
		    "written to is not supported yet");
	sc->req = *sc->what;
	sc->through = p == NULL;
	if (p) {
		sc->prefix = p->prefix;
		sc->req.limit = 0;
		sc->held_arena = arena_new(sc->arena, "row");
	}
	return os->below->ops->scan_open(os->below, a, &sc->req, &sc->below);
}

static void
overlay_scan_close(struct sql_scan *sc)
{
	if (sc->below)
		sc->os->below->ops->scan_close(sc->below);
	arena_free(sc->arena);
}

static struct err *
overlay_scan_open(struct sql_source *s, struct arena *a,
    const struct sql_scan_req *what, struct sql_scan **out)
{
	struct overlay_source *os = overlay_of(s);
	struct arena *own = arena_new(a, "overlay scan");
	struct sql_scan *sc = NEW(own, struct sql_scan);
	const struct gw_pinned *p;
	struct err *e;

	*out = NULL;
	sc->os = os;
	sc->arena = own;
	sc->what = what;
	e = pinned_of(os, a, what->table, &p);
	/* Equal values of another type: see pin.h. */
	if (!e && what->index)
		e = index_begin(sc, a, p);
	else if (!e && p && !str_has_prefix(what->start, p->prefix))
		sc->through = sc->below_done = true;
	else if (!e)
		e = scan_begin(sc, a);
	if (e) {
		overlay_scan_close(sc);
		return e;
	}
	*out = sc;
	return NULL;
}

static struct err *
below_next(
    struct sql_scan *sc, struct arena *a, struct sql_row *row, bool *more)
{
	const struct sql_source_ops *ops = sc->os->below->ops;

	*more = false;
	if (sc->below_done)
		return NULL;
	TRY(ops->scan_next(sc->below, a, row, more));
	sc->below_done = !*more;
	return NULL;
}

/* Whether a row of the cluster's is not to be seen. */
static bool
hidden(const struct sql_scan *sc, struct str key)
{
	return !str_has_prefix(key, sc->prefix) ||
	       gw_overlay_find(sc->os->view, sc->what->table->id, key);
}

/* The cluster's next row that is to be seen. */
static struct err *
untouched(struct sql_scan *sc, struct arena *a, struct sql_row *row, bool *more)
{
	do {
		TRY(below_next(sc, a, row, more));
	} while (*more && hidden(sc, row->key));
	return NULL;
}

static struct err *
own_next(struct sql_scan *sc, struct arena *a, struct sql_row *row, bool *more)
{
	*more = false;
	while (sc->next && !*more) {
		TRY(change_row(sc->os, a, sc->what, sc->next, row, more));
		sc->next = change_after(sc, sc->next);
	}
	return NULL;
}

/* In any order: the cluster's first. */
static struct err *
append_next(
    struct sql_scan *sc, struct arena *a, struct sql_row *row, bool *more)
{
	TRY(untouched(sc, a, row, more));
	return *more ? NULL : own_next(sc, a, row, more);
}

static void
give_held(struct sql_scan *sc, struct arena *a, struct sql_row *row)
{
	uint32_t n = sc->what->n_columns;

	row->key = arena_str(a, sc->held.key);
	row->stamp = sc->held.stamp;
	row->vals = NEW_N(a, struct val, n + 1);
	for (uint32_t i = 0; i < n; i++)
		row->vals[i] = val_copy(a, sc->held.vals[i]);
	sc->has_held = false;
}

/* By key. A change that the filter then rejects only costs its turn. */
static struct err *
merge_next(
    struct sql_scan *sc, struct arena *a, struct sql_row *row, bool *more)
{
	for (;;) {
		const struct gw_change *c = sc->next;
		int r;

		if (!sc->has_held) {
			arena_reset(sc->held_arena);
			TRY(untouched(
			    sc, sc->held_arena, &sc->held, &sc->has_held));
		}
		*more = sc->has_held;
		if (!c && !sc->has_held)
			return NULL;
		r = !c ? -1 : !sc->has_held ? 1 : str_cmp(sc->held.key, c->key);
		if (c && sc->has_held && sc->what->reverse)
			r = -r;
		if (r < 0) {
			give_held(sc, a, row);
			return NULL;
		}
		sc->next = change_after(sc, c);
		TRY(change_row(sc->os, a, sc->what, c, row, more));
		if (*more)
			return NULL;
	}
}

static struct err *
overlay_scan_next(
    struct sql_scan *sc, struct arena *a, struct sql_row *row, bool *more)
{
	uint64_t limit = sc->what->limit;
	struct err *e;

	if (sc->through)
		return below_next(sc, a, row, more);
	*more = false;
	if (limit && sc->emitted >= limit)
		return NULL;
	if (sc->what->ordered && (sc->next || sc->has_held))
		e = merge_next(sc, a, row, more);
	else
		e = append_next(sc, a, row, more);
	if (e)
		return err_copy(a, e);
	sc->emitted += *more;
	return NULL;
}

/* ---- counting ---- */

static struct err *
count_rows(struct sql_scan *sc, struct arena *a, uint64_t *count)
{
	struct arena *row_arena = arena_new(a, "row");
	struct err *e = NULL;

	for (;;) {
		struct sql_row row;
		bool more;

		arena_reset(row_arena);
		TRY_TO(out, e, overlay_scan_next(sc, row_arena, &row, &more));
		if (!more)
			break;
		++*count;
		TRY_TO(out, e, gw_stmt_breathe(sc->os->src.stmt, a));
	}
out:
	if (e)
		e = err_copy(a, e);
	arena_free(row_arena);
	return e;
}

/* Nodes may count when there is nothing to leave out, or to add. */
static bool
nodes_count(const struct overlay_source *os, const struct sql_scan_req *what,
    const struct gw_pinned *p)
{
	uint32_t t = what->table->id;

	if (what->index)
		return !p && !gw_overlay_count(os->view, t, STR_NONE, STR_NONE);
	return !gw_overlay_count(os->view, t, what->start, what->end) &&
	       (!p || str_has_prefix(what->start, p->prefix));
}

/* Otherwise rows come here, and are counted here. */
static struct err *
overlay_scan_count(struct sql_source *s, struct arena *a,
    const struct sql_scan_req *what, uint64_t *count)
{
	struct overlay_source *os = overlay_of(s);
	struct sql_scan_req req = *what;
	const struct gw_pinned *p;
	struct sql_scan *sc;
	struct err *e;

	*count = 0;
	TRY(pinned_of(os, a, what->table, &p));
	if (nodes_count(os, what, p))
		return os->below->ops->scan_count(os->below, a, what, count);
	req.count_only = req.ordered = req.reverse = false;
	TRY(overlay_scan_open(s, a, &req, &sc));
	e = count_rows(sc, a, count);
	overlay_scan_close(sc);
	return e;
}

/* ---- writes ---- */

/* One call's worth. */
struct writing {
	struct overlay_source *os;
	struct arena *arena;
	struct sql_write *w;
	size_t n;
	bool *taken; /* inserts whose key the cluster has */
};

static const struct gw_change *
change_now(const struct writing *wr, const struct sql_write *w)
{
	return gw_overlay_get(wr->os->overlay, w->table->id, w->key);
}

/* A random key of 64 bits is not looked for: COMMIT does that. */
static bool
is_hidden_key(const struct cl_table *t)
{
	return cl_table_column_id(t, t->pkey[0])->flags & CL_COL_HIDDEN;
}

/* Which inserts of w[from..to) find their key taken in the cluster. */
static struct err *
look_below(struct writing *wr, size_t from, size_t to)
{
	struct sql_source *below = wr->os->below;
	struct sql_scan_req what = {.table = wr->w[from].table};
	struct str *keys = NEW_N(wr->arena, struct str, to - from);
	size_t *at = NEW_N(wr->arena, size_t, to - from);
	struct sql_row *rows = NEW_N(wr->arena, struct sql_row, to - from);
	bool *found = NEW_N(wr->arena, bool, to - from);
	size_t n = 0;

	if (is_hidden_key(what.table))
		return NULL;
	for (size_t i = from; i < to; i++) {
		if (wr->w[i].kind != SQL_INSERT || change_now(wr, &wr->w[i]))
			continue;
		keys[n] = wr->w[i].key;
		at[n++] = i;
	}
	if (!n)
		return NULL;
	TRY(below->ops->get(below, wr->arena, &what, keys, n, rows, found));
	for (size_t i = 0; i < n; i++)
		wr->taken[at[i]] = found[i];
	return NULL;
}

static struct err *
look_all(struct writing *wr)
{
	size_t from = 0;

	for (size_t i = 1; i <= wr->n; i++) {
		if (i < wr->n && wr->w[i].table == wr->w[from].table)
			continue;
		TRY(look_below(wr, from, i));
		from = i;
	}
	return NULL;
}

static bool
has_changes(struct gw_overlay *o, uint32_t table)
{
	return gw_overlay_count(gw_overlay_now(o), table, STR_NONE, STR_NONE) >
	       0;
}

/* The transaction's entry of the table, with a catalog that stays. */
static struct err *
table_of(struct writing *wr, const struct cl_table *t,
    const struct gw_overlay_table **out)
{
	struct gw_stmt *stmt = wr->os->src.stmt;
	struct cl_catalog *now = gw_catalog_now(stmt->worker->catalog);
	const struct cl_table *newest = cl_catalog_table(now, t->id);

	*out = gw_overlay_table(wr->os->overlay, t->id);
	if (*out && (*out)->t->version != t->version &&
	    !has_changes(wr->os->overlay, t->id))
		*out = NULL; /* what it wrote was cut */
	if (*out && (*out)->t->version != t->version)
		return err_hint(
		    ERR(wr->arena, ERRCODE_SERIALIZATION_FAILURE,
			"table \"%.*s\" was changed since the transaction "
			"wrote to it",
			STR_FMT(t->name)),
		    "Roll back, and run the transaction again.");
	if (*out)
		return NULL;
	if (!newest || newest->version != t->version)
		return gw_source_fresh(&wr->os->src, wr->arena, t);
	*out = gw_overlay_add_table(wr->os->overlay, newest, now);
	return NULL;
}

/* What w makes of a key that the transaction has not touched. False: nothing,
 * since the key is taken. */
static bool
first_change(
    const struct writing *wr, const struct sql_write *w, struct gw_change *c)
{
	switch (w->kind) {
	case SQL_INSERT:
		/* An upsert is an update that found nothing: the last writer
		 * wins. */
		if (!w->upsert || wr->os->rules.validate)
			c->cond = GW_IF_ABSENT;
		return !wr->taken[w - wr->w];
	case SQL_UPDATE:
	case SQL_DELETE:
		if (wr->os->rules.validate) {
			c->cond = GW_IF_STAMP;
			c->stamp = w->stamp;
		}
		return true;
	case SQL_UPSERT:
		return true;
	}
	UNREACHABLE();
}

/* What w makes of a change that is there already: what the cluster's row must
 * be stays as it was. False: nothing, as in first_change. */
static bool
next_change(
    const struct sql_write *w, const struct gw_change *old, struct gw_change *c)
{
	c->cond = old->cond;
	c->stamp = old->stamp;
	switch (w->kind) {
	case SQL_INSERT:
		return is_deleted(old);
	case SQL_UPDATE:
	case SQL_DELETE:
		if (is_deleted(old) || old->seq != w->stamp)
			return false;
		c->idle = w->kind == SQL_DELETE && old->cond == GW_IF_ABSENT;
		return true;
	case SQL_UPSERT:
		return true;
	}
	UNREACHABLE();
}

static struct err *
write_one(struct writing *wr, struct sql_write *w)
{
	struct overlay_source *os = wr->os;
	const struct gw_change *old = change_now(wr, w);
	struct gw_change c = {.key = w->key};
	bool fits = old ? next_change(w, old, &c) : first_change(wr, w, &c);

	w->result = SQL_WRITE_DONE;
	if (!fits) {
		w->result = w->kind == SQL_INSERT ? SQL_WRITE_EXISTS
						  : SQL_WRITE_CHANGED;
		return NULL;
	}
	TRY(table_of(wr, w->table, &c.table));
	TRY(gw_source_encode(&os->src, wr->arena, w, &c.value));
	TRY(gw_overlay_put(os->overlay, &c));
	if (!os->rules.bytes_max ||
	    gw_overlay_bytes(os->overlay) <= os->rules.bytes_max)
		return NULL;
	return err_hint(
	    ERR(wr->arena, ERRCODE_PROGRAM_LIMIT_EXCEEDED,
		"the transaction's writes exceed transaction_size_limit"),
	    "The statement was not done; the transaction has what it had "
	    "before.");
}

/* All rows are looked at before the first one is kept. */
static struct err *
write_check(struct writing *wr)
{
	const struct gw_overlay_rules *rules = &wr->os->rules;

	TRY(gw_stmt_check(wr->os->src.stmt, wr->arena));
	for (size_t i = 0; i < wr->n; i++) {
		const struct sql_write *w = &wr->w[i];
		const struct gw_pinned *p;

		TRY(gw_may_use(wr->os->src.stmt, wr->arena, w->table));
		TRY(pinned_of(wr->os, wr->arena, w->table, &p));
		if (p)
			TRY(gw_pins_row(rules->pins, wr->arena, p, w->key));
	}
	return look_all(wr);
}

static struct err *
overlay_write(
    struct sql_source *s, struct arena *a, struct sql_write *w, size_t n)
{
	struct overlay_source *os = overlay_of(s);
	struct arena *own = arena_new(a, "writing");
	struct writing wr = {.os = os, .arena = own, .w = w, .n = n};
	struct err *e;

	wr.taken = NEW_N(own, bool, n + 1);
	e = write_check(&wr);
	for (size_t i = 0; i < n && !e; i++)
		e = write_one(&wr, &w[i]);
	if (e)
		e = err_copy(a, e);
	arena_free(own);
	return e;
}

/* ---- the rest ---- */

static void
overlay_hidden_key(struct sql_source *s, const struct cl_table *t,
    uint64_t *block, uint32_t *counter)
{
	struct sql_source *below = overlay_of(s)->below;

	below->ops->hidden_key(below, t, block, counter);
}

static struct err *
overlay_check(struct sql_source *s, struct arena *a)
{
	struct sql_source *below = overlay_of(s)->below;

	return below->ops->check(below, a);
}

static const struct sql_source_ops overlay_ops = {
    .get = overlay_get,
    .scan_open = overlay_scan_open,
    .scan_next = overlay_scan_next,
    .scan_close = overlay_scan_close,
    .scan_count = overlay_scan_count,
    .write = overlay_write,
    .hidden_key = overlay_hidden_key,
    .reach = overlay_reach,
    .check = overlay_check,
};

static void
unref_ev(void *arg)
{
	gw_overlay_unref(arg);
}

struct sql_source *
gw_overlay_source_new(struct arena *a, struct gw_stmt *s, struct gw_overlay *o,
    const struct gw_overlay_rules *rules, const struct sql_env *env)
{
	struct overlay_source *os = NEW(a, struct overlay_source);

	os->below = gw_source_new(a, s);
	os->src = *gw_source_of(os->below);
	os->src.base.ops = &overlay_ops;
	os->overlay = o;
	os->view = gw_overlay_now(o);
	os->rules = *rules;
	os->env = env;
	gw_overlay_ref(o);
	arena_cleanup(a, unref_ev, o);
	return &os->src.base;
}
