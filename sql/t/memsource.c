#include "sql/t/memsource.h"

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

/* The first row at or above the key. */
static size_t
lower_bound(const struct mem_table *t, struct str key)
{
	size_t lo = 0, hi = t->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (str_cmp(t->rows[mid].key, key) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static struct mem_row *
find(const struct mem_table *t, struct str key)
{
	size_t i = lower_bound(t, key);

	return i < t->n && str_eq(t->rows[i].key, key) ? &t->rows[i] : NULL;
}

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
	sc->m = m;
	sc->req = *what;
	sc->arena = a;
	*out = sc;
	return NULL;
}

/* The row after (or before) the one returned last, within the bounds. */
static const struct mem_row *
advance(struct sql_scan *sc, const struct mem_table *t)
{
	const struct sql_scan_req *q = &sc->req;
	size_t i;

	if (q->reverse) {
		i = sc->begun    ? lower_bound(t, sc->last)
		    : q->end.len ? lower_bound(t, q->end)
				 : t->n;
		if (i == 0 || str_cmp(t->rows[i - 1].key, q->start) < 0)
			return NULL;
		return &t->rows[i - 1];
	}
	i = lower_bound(t, sc->begun ? sc->last : q->start);
	if (sc->begun && i < t->n && str_eq(t->rows[i].key, sc->last))
		i++;
	if (i == t->n || (q->end.len && str_cmp(t->rows[i].key, q->end) >= 0))
		return NULL;
	return &t->rows[i];
}

static struct err *
mem_scan_next(
    struct sql_scan *sc, struct arena *a, struct sql_row *row, bool *more)
{
	const struct mem_table *t = table_of(sc->m, sc->req.table->id);

	*more = false;
	for (;;) {
		const struct mem_row *r = advance(sc, t);
		struct ex_ctx ctx = {.arena = a, .env = &ex_env_default};
		bool pass = true;

		if (!r)
			return NULL;
		sc->last = arena_str(sc->arena, r->key);
		sc->begun = true;
		sc->m->rows_scanned++;
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
}
