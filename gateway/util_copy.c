/* COPY table FROM STDIN, COPY table or (query) TO STDOUT. */
#include "gateway/copy_options.h"
#include "gateway/session_int.h"

/* PostgreSQL gives COPY's table no position. */
static struct err *
find_table(struct gw_portal *p, const struct sql_copy *copy,
    const struct cl_table **out)
{
	struct err *e = sql_find_table(p->arena, &p->env, &copy->table, out);

	if (e)
		e->position = 0;
	return e;
}

/* ---- from the client ---- */

struct copy_from {
	struct gw_session *s;
	struct gw_portal *p;
	const struct sql_copy *copy;
	const struct cl_table *table;
	struct wire_copy_opts opts;
	uint32_t *ids;
	const struct cl_column **cols;
	uint32_t n;
	struct wire_copy_in *in;
	struct sql_inserter *ins;
	struct arena *line;
	bool header_checked;
};

static struct err *
at_line(struct copy_from *c, struct err *e)
{
	return err_context(e, "COPY %.*s, line %llu", STR_FMT(c->table->name),
	    (unsigned long long)wire_copy_in_line(c->in));
}

static struct err *
check_header(struct copy_from *c, const struct wire_copy_field *f, uint32_t n)
{
	if (n != c->n)
		return ERR(c->line, ERRCODE_BAD_COPY_FILE_FORMAT,
		    "wrong number of fields in header line: got %u, expected "
		    "%u",
		    n, c->n);
	for (uint32_t i = 0; i < n; i++)
		if (!str_eq(f[i].bytes, c->cols[i]->name))
			return ERR(c->line, ERRCODE_BAD_COPY_FILE_FORMAT,
			    "column name mismatch in header line field %u: "
			    "got \"%.*s\", expected \"%.*s\"",
			    i + 1, STR_FMT(f[i].bytes),
			    STR_FMT(c->cols[i]->name));
	return NULL;
}

static struct err *
field_value(struct copy_from *c, uint32_t i, const struct wire_copy_field *f,
    struct val *out)
{
	const struct cl_column *col = c->cols[i];
	size_t bad;

	*out = val_null(col->type);
	if (f->null)
		return NULL;
	if (!str_utf8(f->bytes, &bad))
		return ERR(c->line, ERRCODE_CHARACTER_NOT_IN_REPERTOIRE,
		    "invalid byte sequence for encoding \"UTF8\": 0x%02x",
		    (uint8_t)f->bytes.p[bad]);
	/* The length is checked on insertion: input would cut silently. */
	return ex_in(c->line, &c->p->ex, col->type, -1, f->bytes, out);
}

static struct err *
insert_line(struct copy_from *c, const struct wire_copy_field *f, uint32_t n)
{
	struct val *vals = NEW_N(c->line, struct val, c->n + 1);

	if (n > c->n)
		return ERR(c->line, ERRCODE_BAD_COPY_FILE_FORMAT,
		    "extra data after last expected column");
	if (n < c->n)
		return ERR(c->line, ERRCODE_BAD_COPY_FILE_FORMAT,
		    "missing data for column \"%.*s\"",
		    STR_FMT(c->cols[n]->name));
	for (uint32_t i = 0; i < c->n; i++)
		TRY(field_value(c, i, &f[i], &vals[i]));
	return sql_insert_row(c->ins, vals);
}

/* All whole lines that have come. */
static struct err *
drain_lines(struct copy_from *c)
{
	for (;;) {
		struct wire_copy_field *f;
		uint32_t n;
		bool have;
		struct err *e;

		arena_reset(c->line);
		e = wire_copy_in_next(c->in, c->line, &f, &n, &have);
		if (e)
			return err_copy(c->p->arena, e);
		if (!have)
			return NULL;
		/* A table without columns takes empty lines. */
		if (!c->n && n == 1 && !f[0].bytes.len)
			n = 0;
		if (c->opts.header_match && !c->header_checked) {
			c->header_checked = true;
			e = check_header(c, f, n);
		} else {
			e = insert_line(c, f, n);
		}
		if (e)
			return at_line(c, err_copy(c->p->arena, e));
	}
}

static struct err *
copy_fail(struct copy_from *c, struct str body)
{
	struct str why;

	TRY(wire_copy_fail_read(c->p->arena, body, &why));
	return ERR(c->p->arena, ERRCODE_QUERY_CANCELED,
	    "COPY from stdin failed: %.*s", STR_FMT(why));
}

/* The next message of the copy; *done at its end. */
static struct err *
copy_message(struct copy_from *c, bool *done)
{
	struct gw_session *s = c->s;
	struct arena *a = c->p->arena;
	uint8_t type;
	struct str body;
	struct err *e;

	/* How long the client takes is its own affair. */
	switch (gw_session_read(s, c->p->stmt.end_us, &type, &body, &e)) {
	case GW_READ_OK:
		gw_stmt_progress(&c->p->stmt);
		break;
	case GW_READ_GONE:
		return ERR(a, ERRCODE_CONNECTION_FAILURE,
		    "unexpected EOF on client connection with an open "
		    "transaction");
	case GW_READ_IDLE:
		return ERR(a, ERRCODE_QUERY_CANCELED,
		    "canceling statement due to statement timeout");
	case GW_READ_STOP:
		return ERR(a, ERRCODE_QUERY_CANCELED,
		    "canceling statement due to user request");
	}
	if (e) {
		/* The stream is out of step: nothing more can be read. */
		s->broken = true;
		return err_copy(a, e);
	}
	switch (type) {
	case WIRE_COPY_DATA:
		wire_copy_in_feed(c->in, body);
		return drain_lines(c);
	case WIRE_COPY_DONE:
		wire_copy_in_end(c->in);
		*done = true;
		return drain_lines(c);
	case WIRE_COPY_FAIL:
		return copy_fail(c, body);
	case WIRE_FLUSH:
	case WIRE_SYNC:
		/* Allowed inside a copy, and without meaning there. */
		return NULL;
	default:
		s->broken = true;
		return ERR(a, ERRCODE_PROTOCOL_VIOLATION,
		    "unexpected message type 0x%02X during COPY from stdin",
		    type);
	}
}

static struct err *
copy_columns(struct copy_from *c)
{
	const char **names;

	TRY(sql_copy_columns(c->p->arena, c->table, c->copy, &c->ids, &c->n));
	names = NEW_N(c->p->arena, const char *, c->n + 1);
	c->cols = NEW_N(c->p->arena, const struct cl_column *, c->n + 1);
	for (uint32_t i = 0; i < c->n; i++) {
		c->cols[i] = cl_table_column_id(c->table, c->ids[i]);
		names[i] = arena_cstr(c->p->arena, c->cols[i]->name);
	}
	return gw_copy_options(c->p->arena, c->copy, names, c->n, &c->opts);
}

static struct err *
copy_from(
    struct gw_session *s, struct gw_portal *p, const struct sql_copy *copy)
{
	struct copy_from c = {.s = s, .p = p, .copy = copy};
	struct arena *a = p->arena;
	bool done = false;
	uint64_t rows;

	TRY(find_table(p, copy, &c.table));
	if (copy->where)
		return ERR(a, ERRCODE_FEATURE_NOT_SUPPORTED,
		    "COPY FROM ... WHERE is not supported yet");
	TRY(copy_columns(&c));
	gw_txn_warn(s);
	c.in = wire_copy_in_new(a, &c.opts, c.n);
	c.line = arena_new(a, "copy line");
	p->source = gw_txn_source(s, p);
	TRY(sql_insert_begin(
	    a, &p->env, c.table, c.ids, c.n, p->source, &c.ins));
	wire_copy_in(&s->out, 0, c.n);
	gw_session_flush(s);
	while (!done)
		TRY(copy_message(&c, &done));
	TRY(sql_insert_end(c.ins, &rows));
	if (rows)
		gw_txn_wrote(s);
	p->tag = arena_printf(a, "COPY %llu", (unsigned long long)rows);
	return NULL;
}

/* ---- to the client ---- */

static void
put_line(struct gw_session *s, const struct wire_copy_opts *o,
    const struct wire_copy_field *f, uint32_t n)
{
	size_t at = wire_begin(&s->out, 'd');

	wire_copy_out_line(&s->out, o, f, n);
	wire_end(&s->out, at);
}

static void
put_header(
    struct gw_session *s, struct gw_portal *in, const struct wire_copy_opts *o)
{
	uint32_t n = in->plan->n_columns;
	struct wire_copy_field *f =
	    NEW_N(in->arena, struct wire_copy_field, n + 1);

	for (uint32_t i = 0; i < n; i++)
		f[i].bytes = str_c(in->plan->columns[i].name);
	put_line(s, o, f, n);
}

static struct err *
put_rows(struct gw_session *s, struct gw_portal *in,
    const struct wire_copy_opts *o, uint64_t *count)
{
	struct arena *row = arena_new(in->arena, "copy row");
	uint32_t n = in->plan->n_columns;

	for (*count = 0;; ++*count) {
		struct wire_copy_field *f;
		struct val *vals;

		arena_reset(row);
		TRY(gw_portal_next(in, row, &vals));
		if (!vals)
			return NULL;
		f = NEW_N(row, struct wire_copy_field, n + 1);
		for (uint32_t i = 0; i < n; i++) {
			struct buf b;

			f[i].null = vals[i].null;
			if (vals[i].null)
				continue;
			buf_init(&b, row);
			ex_out(&b, &in->ex, vals[i]);
			f[i].bytes = buf_view(&b);
		}
		put_line(s, o, f, n);
		TRY(gw_session_push(s, row));
	}
}

/* COPY t (a, b) TO is SELECT a, b FROM t. */
static struct sql_select *
select_of(struct arena *a, const struct sql_copy *copy,
    const struct cl_table *t, const uint32_t *ids, uint32_t n)
{
	struct sql_select *q = NEW(a, struct sql_select);
	struct sql_from *f = NEW(a, struct sql_from);

	f->kind = SQL_FROM_TABLE;
	f->u.table.name = copy->table;
	q->kind = SQL_SELECT_PLAIN;
	q->from = NEW(a, struct sql_from *);
	q->from[0] = f;
	q->n_from = 1;
	q->targets.items = NEW_N(a, struct sql_target, n + 1);
	q->targets.n = n;
	for (uint32_t i = 0; i < n; i++) {
		struct sql_expr *e = NEW(a, struct sql_expr);

		e->kind = SQL_E_COLUMN;
		e->u.column.parts = NEW(a, const char *);
		e->u.column.parts[0] =
		    arena_cstr(a, cl_table_column_id(t, ids[i])->name);
		e->u.column.n = 1;
		q->targets.items[i].expr = e;
	}
	return q;
}

static struct err *
query_of(
    struct gw_portal *p, const struct sql_copy *copy, struct gw_statement *st)
{
	const struct cl_table *t;
	struct sql_stmt *q;
	uint32_t *ids, n;

	if (copy->query) {
		st->stmt = copy->query;
		return NULL;
	}
	TRY(find_table(p, copy, &t));
	TRY(sql_copy_columns(p->arena, t, copy, &ids, &n));
	q = NEW(st->arena, struct sql_stmt);
	q->kind = SQL_STMT_SELECT;
	q->text = p->st->stmt->text;
	q->u.select = select_of(st->arena, copy, t, ids, n);
	st->stmt = q;
	return NULL;
}

static struct err *
copy_out(struct gw_session *s, struct gw_portal *p, const struct sql_copy *copy,
    struct gw_portal *in)
{
	struct wire_copy_opts o;
	const char **names;
	uint64_t count;
	uint32_t n;

	TRY(gw_portal_open(s, in));
	n = in->plan->n_columns;
	names = NEW_N(p->arena, const char *, n + 1);
	for (uint32_t i = 0; i < n; i++)
		names[i] = in->plan->columns[i].name;
	TRY(gw_copy_options(p->arena, copy, names, n, &o));
	wire_copy_out(&s->out, 0, n);
	if (o.header)
		put_header(s, in, &o);
	TRY(put_rows(s, in, &o, &count));
	wire_copy_done(&s->out);
	p->tag = arena_printf(p->arena, "COPY %llu", (unsigned long long)count);
	return NULL;
}

static struct err *
copy_to(struct gw_session *s, struct gw_portal *p, const struct sql_copy *copy)
{
	struct gw_statement *st = gw_statement_new(s);
	struct gw_portal *in = NULL;
	struct err *e = query_of(p, copy, st);

	if (!e)
		e = gw_statement_plan(s, st, p->arena);
	if (!e && !st->plan->columns)
		e = ERR(p->arena, ERRCODE_FEATURE_NOT_SUPPORTED,
		    "COPY query must have a RETURNING clause");
	if (!e) {
		in = gw_portal_new(s, st);
		e = copy_out(s, p, copy, in);
	}
	if (e)
		e = err_copy(p->arena, e);
	gw_portal_free(in);
	gw_statement_unref(st);
	return e;
}

struct err *
gw_util_copy(struct gw_session *s, struct gw_portal *p)
{
	const struct sql_copy *copy = &p->st->stmt->u.copy;

	if (copy->file || copy->is_program)
		return err_hint(
		    ERR(p->arena, ERRCODE_FEATURE_NOT_SUPPORTED,
			"COPY to or from a file of the server is not "
			"supported"),
		    "Use COPY FROM STDIN or COPY TO STDOUT; psql's \\copy "
		    "does.");
	return copy->from ? copy_from(s, p, copy) : copy_to(s, p, copy);
}
