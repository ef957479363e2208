#include "sql/t/memsource.h"

#include <stdlib.h>

#include "expr/index.h"
#include "expr/table.h"

struct sql_scan {
	struct memsource *m;
	struct sql_scan_req req;
	struct mem_table *table;
	struct str last; /* key returned last, for changes under the scan */
	bool begun;
	struct arena *arena;
};

static struct memsource *
mem_of(struct sql_source *s)
{
	return CONTAINER(s, struct memsource, source);
}

static struct mem_table *
table_of(struct memsource *m, uint32_t id)
{
	struct mem_table *more;

	for (size_t i = 0; i < m->n_tables; i++)
		if (m->tables[i].id == id)
			return &m->tables[i];
	more = NEW_N(m->arena, struct mem_table, m->n_tables + 1);
	if (m->n_tables)
		memcpy(more, m->tables, m->n_tables * sizeof *more);
	m->tables = more;
	more[m->n_tables].id = id;
	return &more[m->n_tables++];
}

size_t
memsource_rows(struct memsource *m, uint32_t table)
{
	return table_of(m, table)->n;
}

/* The first of n rows at or above the key. */
static size_t
bound(const struct mem_row *rows, size_t n, struct str key)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (str_cmp(rows[mid].key, key) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static size_t
lower_bound(const struct mem_table *t, struct str key)
{
	return bound(t->rows, t->n, key);
}

static struct mem_row *
find(const struct mem_table *t, struct str key)
{
	size_t i = lower_bound(t, key);

	return i < t->n && str_eq(t->rows[i].key, key) ? &t->rows[i] : NULL;
}

/* ---- indexes ---- */

static int
by_key(const void *x, const void *y)
{
	return str_cmp(
	    ((const struct mem_row *)x)->key, ((const struct mem_row *)y)->key);
}

static void
fill_index(struct mem_index *ix, const struct sql_scan_req *what,
    const struct mem_table *t)
{
	struct arena *a = ix->arena;
	struct ex_index *x;

	arena_reset(a);
	ix->changes = t->changes;
	ix->rows = NEW_N(a, struct mem_row, t->n + 1);
	ix->n = 0;
	if (ex_index_open(a, what->table, what->index, &x))
		UNREACHABLE();
	for (size_t i = 0; i < t->n; i++) {
		struct buf key;
		bool in;

		buf_init(&key, a);
		if (ex_index_row_key(
			a, x, t->rows[i].key, t->rows[i].value, &key, &in))
			UNREACHABLE(); /* its writer was to refuse it */
		if (in)
			ix->rows[ix->n++] =
			    (struct mem_row){.key = buf_view(&key),
				.value = arena_str(a, t->rows[i].key)};
	}
	qsort(ix->rows, ix->n, sizeof *ix->rows, by_key);
}

static struct mem_index *
index_of(
    struct memsource *m, const struct sql_scan_req *what, struct mem_table *t)
{
	struct mem_index *ix = t->indexes;

	while (ix && ix->id != what->index->id)
		ix = ix->next;
	if (!ix) {
		ix = NEW(m->arena, struct mem_index);
		ix->id = what->index->id;
		ix->arena = arena_new(m->arena, "index");
		ix->changes = UINT64_MAX;
		ix->next = t->indexes;
		t->indexes = ix;
	}
	if (ix->changes != t->changes)
		fill_index(ix, what, t);
	return ix;
}

/* ---- reading ---- */

static struct err *
read_row(struct arena *a, const struct sql_scan_req *what,
    const struct mem_row *r, struct sql_row *row)
{
	/* Copies, so that a row kept too long shows. */
	row->key = arena_str(a, r->key);
	row->stamp = r->stamp;
	row->vals = NEW_N(a, struct val, what->n_columns + 1);
	return ex_table_read(a, what->table, row->key, arena_str(a, r->value),
	    what->columns, what->n_columns, row->vals);
}

static struct err *
mem_get(struct sql_source *s, struct arena *a, const struct sql_scan_req *what,
    const struct str *keys, size_t n, struct sql_row *rows, bool *found)
{
	struct memsource *m = mem_of(s);
	struct mem_table *t = table_of(m, what->table->id);

	m->keys_got += n;
	for (size_t i = 0; i < n; i++) {
		const struct mem_row *r = find(t, keys[i]);

		found[i] = r != NULL;
		if (r)
			TRY(read_row(a, what, r, &rows[i]));
	}
	return NULL;
}

static struct err *
mem_scan_open(struct sql_source *s, struct arena *a,
    const struct sql_scan_req *what, struct sql_scan **out)
{
	struct memsource *m = mem_of(s);
	struct sql_scan *sc = NEW(a, struct sql_scan);

	m->scans++;
	m->last_ordered = what->ordered;
	m->last_filtered = what->filter != NULL;
	m->last_limit = what->limit;
	m->last_index = what->index ? what->index->id : 0;
	sc->m = m;
	sc->req = *what;
	sc->arena = a;
	*out = sc;
	return NULL;
}

/* The row after (or before) the one returned last, within the bounds. */
static const struct mem_row *
advance(struct sql_scan *sc, const struct mem_row *rows, size_t n)
{
	const struct sql_scan_req *q = &sc->req;
	size_t i;

	if (q->reverse) {
		i = sc->begun    ? bound(rows, n, sc->last)
		    : q->end.len ? bound(rows, n, q->end)
				 : n;
		if (i == 0 || str_cmp(rows[i - 1].key, q->start) < 0)
			return NULL;
		return &rows[i - 1];
	}
	i = bound(rows, n, sc->begun ? sc->last : q->start);
	if (sc->begun && i < n && str_eq(rows[i].key, sc->last))
		i++;
	if (i == n || (q->end.len && str_cmp(rows[i].key, q->end) >= 0))
		return NULL;
	return &rows[i];
}

/* By the index, if there is one; NULL at the end. */
static const struct mem_row *
next_row(struct sql_scan *sc)
{
	struct mem_table *t = table_of(sc->m, sc->req.table->id);
	const struct mem_index *ix =
	    sc->req.index ? index_of(sc->m, &sc->req, t) : NULL;
	const struct mem_row *r =
	    ix ? advance(sc, ix->rows, ix->n) : advance(sc, t->rows, t->n);

	if (!r)
		return NULL;
	sc->last = arena_str(sc->arena, r->key);
	sc->begun = true;
	sc->m->rows_scanned++;
	return ix ? find(t, r->value) : r;
}

static struct err *
mem_scan_next(
    struct sql_scan *sc, struct arena *a, struct sql_row *row, bool *more)
{
	*more = false;
	for (;;) {
		const struct mem_row *r = next_row(sc);
		struct ex_ctx ctx = {.arena = a, .env = &ex_env_default};
		bool pass = true;

		if (!r)
			return NULL;
		TRY(read_row(a, &sc->req, r, row));
		ctx.row = row->vals;
		ctx.n_row = sc->req.n_columns;
		if (sc->req.filter)
			TRY(ex_test(&ctx, sc->req.filter, &pass));
		*more = pass;
		if (pass)
			return NULL;
	}
}

static void
mem_scan_close(struct sql_scan *sc)
{
	(void)sc;
}

static struct err *
mem_scan_count(struct sql_source *s, struct arena *a,
    const struct sql_scan_req *what, uint64_t *count)
{
	struct sql_scan *sc;
	struct sql_row row;
	bool more = true;

	mem_of(s)->counts++;
	TRY(mem_scan_open(s, a, what, &sc));
	mem_of(s)->scans--;
	for (*count = 0; more; *count += more)
		TRY(mem_scan_next(sc, a, &row, &more));
	return NULL;
}

static void
insert_at(
    struct memsource *m, struct mem_table *t, size_t i, const struct mem_row *r)
{
	if (t->n == t->cap) {
		size_t cap = t->cap ? 2 * t->cap : 16;

		t->rows = arena_grow(m->arena, t->rows,
		    t->cap * sizeof *t->rows, cap * sizeof *t->rows);
		t->cap = cap;
	}
	memmove(&t->rows[i + 1], &t->rows[i], (t->n - i) * sizeof *t->rows);
	t->rows[i] = *r;
	t->n++;
}

static struct err *
put(struct memsource *m, struct arena *a, struct mem_table *t,
    const struct sql_write *w)
{
	struct mem_row *old = find(t, w->key), r;
	struct buf value;

	buf_init(&value, m->arena);
	TRY(ex_table_row(a, w->table, w->vals, SIZE_MAX, &value));
	r.key = arena_str(m->arena, w->key);
	r.value = buf_view(&value);
	r.stamp = ++m->stamp;
	if (old)
		*old = r;
	else
		insert_at(m, t, lower_bound(t, r.key), &r);
	return NULL;
}

static struct err *
write_one(struct memsource *m, struct arena *a, struct sql_write *w)
{
	struct mem_table *t = table_of(m, w->table->id);
	struct mem_row *old = find(t, w->key);

	t->changes++;
	w->result = SQL_WRITE_DONE;
	if (w->kind == SQL_INSERT && old) {
		w->result = SQL_WRITE_EXISTS;
		return NULL;
	}
	if (w->kind == SQL_UPDATE || w->kind == SQL_DELETE) {
		if (!old || old->stamp != w->stamp) {
			w->result = SQL_WRITE_CHANGED;
			return NULL;
		}
	}
	if (w->kind != SQL_DELETE)
		return put(m, a, t, w);
	t->n--;
	memmove(old, old + 1, (size_t)(&t->rows[t->n] - old) * sizeof *old);
	return NULL;
}

static struct err *
mem_write(struct sql_source *s, struct arena *a, struct sql_write *w, size_t n)
{
	struct memsource *m = mem_of(s);
	void (*hook)(struct memsource *, void *) = m->before_write;

	m->before_write = NULL;
	if (hook)
		hook(m, m->before_arg);
	m->writes += n;
	for (size_t i = 0; i < n; i++)
		TRY(write_one(m, a, &w[i]));
	return NULL;
}

static void
mem_hidden_key(struct sql_source *s, const struct cl_table *t, uint64_t *block,
    uint32_t *counter)
{
	struct memsource *m = mem_of(s);

	(void)t;
	*block = 7;
	*counter = (uint32_t)m->block++;
}

static struct err *
mem_check(struct sql_source *s, struct arena *a)
{
	(void)a;
	return mem_of(s)->fail_check;
}

static struct err *
mem_reach(struct sql_source *s, struct arena *a, const struct sql_bounds *what)
{
	struct memsource *m = mem_of(s);

	m->told++;
	m->told_keys += what->n_keys;
	m->told_ranges += what->n_ranges;
	for (uint32_t i = 0; i < what->n_ranges; i++)
		m->told_all += what->ranges[i].start.len == 0;
	return m->refuse ? ERR(a, ERRCODE_INVALID_TRANSACTION_STATE, "refused")
			 : NULL;
}

static const struct sql_source_ops mem_ops = {
    .get = mem_get,
    .scan_open = mem_scan_open,
    .scan_next = mem_scan_next,
    .scan_close = mem_scan_close,
    .scan_count = mem_scan_count,
    .write = mem_write,
    .hidden_key = mem_hidden_key,
    .reach = mem_reach,
    .check = mem_check,
};

void
memsource_init(struct memsource *m, struct arena *a)
{
	memset(m, 0, sizeof *m);
	m->source.ops = &mem_ops;
	m->arena = a;
}

void
memsource_count_reset(struct memsource *m)
{
	m->keys_got = m->scans = m->rows_scanned = m->counts = m->writes = 0;
	m->told = m->told_keys = m->told_ranges = m->told_all = 0;
	m->last_ordered = m->last_filtered = false;
	m->last_limit = 0;
	m->last_index = 0;
}
