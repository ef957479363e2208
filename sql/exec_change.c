/* What INSERT, UPDATE and DELETE share: whole rows, their checks and errors,
 * and the rows kept for RETURNING. */
#include "expr/index.h"
#include "expr/table.h"
#include "sql/exec_int.h"

/* PostgreSQL shows no more of a value in "Failing row contains". */
#define SHOWN_MAX 64

struct err *
sql_lost_race(struct arena *a)
{
	return err_hint(ERR(a, ERRCODE_SERIALIZATION_FAILURE,
			    "could not serialize access due to concurrent "
			    "update"),
	    "Others kept changing the row. The statement may be retried.");
}

/* ---- errors with the row in them ---- */

static void
name_table(struct err *e, const struct sql_env *env, const struct cl_table *t)
{
	const struct cl_object *s = cl_find(env->catalog, CL_SCHEMA, t->schema);

	if (s)
		e->schema = arena_cstr(e->arena, s->u.schema.name);
	e->table = arena_cstr(e->arena, t->name);
}

static void
show_value(struct buf *b, const struct sql_env *env, struct val v)
{
	size_t from = b->len, cut;

	if (v.null) {
		buf_str(b, STR("null"));
		return;
	}
	ex_out(b, env->ex, v);
	cut = from + SHOWN_MAX;
	if (b->len <= cut)
		return;
	/* Not in the middle of a character. */
	while (cut > from && (b->p[cut] & 0xc0) == 0x80)
		cut--;
	b->len = cut;
	buf_str(b, STR("..."));
}

static struct err *
not_null_error(struct sql_exec *x, const struct cl_table *t, uint32_t col,
    const struct val *vals)
{
	struct arena *a = x->arena;
	struct err *e = ERR(a, ERRCODE_NOT_NULL_VIOLATION,
	    "null value in column \"%.*s\" of relation \"%.*s\" violates "
	    "not-null constraint",
	    STR_FMT(t->columns[col].name), STR_FMT(t->name));
	bool first = true;
	struct buf b;

	buf_init(&b, a);
	for (uint32_t i = 0; i < t->n_columns; i++) {
		if (!sql_column_visible(&t->columns[i]))
			continue;
		buf_str(&b, first ? STR("") : STR(", "));
		show_value(&b, x->env, vals[i]);
		first = false;
	}
	err_detail(e, "Failing row contains (%s).", buf_cstr(&b));
	name_table(e, x->env, t);
	e->column = arena_cstr(a, t->columns[col].name);
	return e;
}

static bool
in_key(const struct cl_table *t, uint32_t id)
{
	for (uint32_t i = 0; i < t->n_pkey; i++)
		if (t->pkey[i] == id)
			return true;
	return false;
}

struct err *
sql_check_not_null(
    struct sql_exec *x, const struct cl_table *t, const struct val *vals)
{
	for (uint32_t i = 0; i < t->n_columns; i++) {
		const struct cl_column *c = &t->columns[i];

		if (!vals[i].null || !sql_column_visible(c))
			continue;
		if (c->flags & CL_COL_NOT_NULL || in_key(t, c->id))
			return not_null_error(x, t, i, vals);
	}
	return NULL;
}

static uint32_t
column_index(const struct cl_table *t, uint32_t id)
{
	for (uint32_t i = 0; i < t->n_columns; i++)
		if (t->columns[i].id == id)
			return i;
	UNREACHABLE();
}

struct err *
sql_duplicate_error(struct arena *a, const struct sql_env *env,
    const struct cl_table *t, const struct val *vals)
{
	struct err *e = ERR(a, ERRCODE_UNIQUE_VIOLATION,
	    "duplicate key value violates unique constraint \"%.*s\"",
	    STR_FMT(t->pkey_name));
	struct buf names, values;

	buf_init(&names, a);
	buf_init(&values, a);
	for (uint32_t i = 0; i < t->n_pkey; i++) {
		uint32_t col = column_index(t, t->pkey[i]);

		buf_str(&names, i ? STR(", ") : STR(""));
		buf_str(&names, t->columns[col].name);
		buf_str(&values, i ? STR(", ") : STR(""));
		ex_out(&values, env->ex, vals[col]);
	}
	err_detail(e, "Key (%s)=(%s) already exists.", buf_cstr(&names),
	    buf_cstr(&values));
	name_table(e, env, t);
	e->constraint = arena_cstr(a, t->pkey_name);
	return e;
}

/* ---- whole rows ---- */

struct err *
sql_row_key(struct sql_exec *x, const struct cl_table *t,
    const struct val *vals, struct arena *a, struct str *out)
{
	struct val pk[CL_KEY_COLUMNS_MAX];
	struct err *e;
	struct buf b;

	ASSERT(t->n_pkey <= CL_KEY_COLUMNS_MAX);
	for (uint32_t i = 0; i < t->n_pkey; i++)
		pk[i] = vals[column_index(t, t->pkey[i])];
	buf_init(&b, a);
	e = ex_table_key(x->arena, t, pk, &b);
	*out = buf_view(&b);
	return e;
}

/* What a get of whole rows asks for: visible columns, and where each of them
 * goes in a row by table column. */
static void
whole_row_req(struct arena *a, const struct cl_table *t,
    struct sql_scan_req *req, const uint32_t **at)
{
	uint32_t *ids = NEW_N(a, uint32_t, t->n_columns + 1);
	uint32_t *pos = NEW_N(a, uint32_t, t->n_columns + 1);

	*req = (struct sql_scan_req){.table = t, .columns = ids, .fresh = true};
	for (uint32_t i = 0; i < t->n_columns; i++)
		if (sql_column_visible(&t->columns[i])) {
			ids[req->n_columns] = t->columns[i].id;
			pos[req->n_columns++] = i;
		}
	*at = pos;
}

struct err *
sql_get_whole(struct sql_exec *x, const struct cl_table *t, struct str key,
    struct arena *a, struct val *vals, cl_stamp *stamp, bool *found)
{
	struct sql_scan_req req;
	struct sql_row row = {0};
	const uint32_t *at;

	*found = false;
	whole_row_req(a, t, &req, &at);
	TRY(x->src->ops->get(x->src, a, &req, &key, 1, &row, found));
	for (uint32_t i = 0; i < t->n_columns; i++)
		vals[i] = val_null(t->columns[i].type);
	for (uint32_t i = 0; *found && i < req.n_columns; i++)
		vals[at[i]] = row.vals[i];
	*stamp = row.stamp;
	return NULL;
}

/* Roughly what the row takes. */
static size_t
size_of(const struct val *vals, uint32_t n)
{
	size_t bytes = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct ex_type *t = ex_type(vals[i].type);

		bytes += 16;
		if (!vals[i].null && t && t->len < 0)
			bytes += vals[i].u.s.len;
	}
	return bytes;
}

/* Only a row that might be too big is encoded to see. */
struct err *
sql_check_size(struct sql_exec *x, const struct cl_table *t,
    const struct val *vals, struct arena *scratch, size_t *estimate)
{
	size_t max = x->env->row_max;
	struct buf row;

	*estimate = size_of(vals, t->n_columns);
	if (!max || *estimate <= max / 2)
		return NULL;
	buf_init(&row, scratch);
	return ex_table_row(x->arena, t, vals, max, &row);
}

/* ---- indexes ---- */

static struct err *
open_indexes(
    struct sql_exec *x, struct sql_indexes *ix, const struct cl_table *t)
{
	const struct cl_catalog *c = x->env->catalog;
	const struct cl_index *index;
	uint32_t n = 0;
	size_t at = 0;

	ix->open = true;
	while (cl_index_each(c, t->id, &at))
		n++;
	if (!n)
		return NULL;
	ix->items = NEW_N(x->arena, struct ex_index *, n);
	ix->scratch = arena_new(x->arena, "index keys");
	at = 0;
	/* One that is to be dropped holds nobody up any more. */
	while ((index = cl_index_each(c, t->id, &at)))
		if (index->state != CL_INDEX_FAILED)
			TRY(ex_index_open(
			    x->arena, t, index, &ix->items[ix->n++]));
	return NULL;
}

struct err *
sql_check_indexes(struct sql_exec *x, struct sql_indexes *ix,
    const struct cl_table *t, const struct val *vals, struct str key)
{
	if (!ix->open)
		TRY(open_indexes(x, ix, t));
	for (uint32_t i = 0; i < ix->n; i++) {
		struct buf out;
		bool in;

		arena_reset(ix->scratch);
		buf_init(&out, ix->scratch);
		TRY(ex_index_key(
		    ix->scratch, ix->items[i], vals, key, &out, &in));
	}
	return NULL;
}

static bool
is_set(const struct sql_change *ch, uint32_t id)
{
	for (uint32_t i = 0; i < ch->n_set; i++)
		if (ch->table->columns[ch->set[i].index].id == id)
			return true;
	return false;
}

bool
sql_index_is_set(const struct cl_index *index, const struct sql_change *ch)
{
	for (uint32_t i = 0; i < index->n_columns; i++)
		if (is_set(ch, index->columns[i].column))
			return true;
	for (uint32_t i = 0; i < index->n_inputs; i++)
		if (is_set(ch, index->inputs[i]))
			return true;
	return false;
}

/* ---- RETURNING ---- */

void
sql_returning_init(
    struct sql_returning *r, struct sql_exec *x, const struct sql_change *ch)
{
	*r = (struct sql_returning){.n = ch->n_returning};
	r->es = NEW_N(x->arena, struct expr *, r->n + 1);
	for (uint32_t i = 0; i < r->n; i++)
		r->es[i] = sql_fold(x, ch->returning[i].expr);
}

struct err *
sql_keep_returning(struct sql_exec *x, struct sql_returning *r, uint32_t width,
    struct arena *scratch, const struct val *row)
{
	struct ex_ctx ctx = sql_ctx(x, scratch, row, width);
	struct sql_kept *kept = &r->kept;
	struct val *vals;

	if (r->n == 0)
		return NULL;
	vals = NEW_N(scratch, struct val, r->n);
	TRY(sql_eval_all(&ctx, r->es, r->n, vals));
	kept->rows = sql_more(
	    x->work, kept->rows, kept->n, &kept->cap, sizeof *kept->rows);
	kept->rows[kept->n++] = sql_row_copy(x->work, vals, r->n);
	return sql_work_check(x);
}
