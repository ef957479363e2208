#include "expr/table.h"

#include "cluster/msg.h"
#include "cluster/row.h"

static const struct cl_column *
pkey_column(const struct cl_table *t, uint32_t i)
{
	const struct cl_column *c = cl_table_column_id(t, t->pkey[i]);

	ASSERT(c != NULL);
	return c;
}

/* Open tables tag their keys, so that 1 and 1.0 are two; the hidden key of a
 * table without one has fixed types. */
static bool
is_tagged(const struct cl_table *t, const struct cl_column *c)
{
	return t->open && !(c->flags & CL_COL_HIDDEN);
}

static void
put_key_column(
    struct buf *out, const struct cl_table *t, uint32_t i, struct val v)
{
	const struct cl_column *c = pkey_column(t, i);
	enum cl_tag tag = CL_TAG_NONE;

	if (is_tagged(t, c) && !v.null) {
		const struct ex_type *type = ex_type(v.type);

		ASSERT(type != NULL);
		tag = type->tag;
	}
	ex_key_put(out, tag, CL_KEY_ASC, v);
}

static struct err *
key_null_error(
    struct arena *a, const struct cl_table *t, const struct cl_column *c)
{
	struct err *e = ERR(a, ERRCODE_NOT_NULL_VIOLATION,
	    "null value in column \"%.*s\" of relation \"%.*s\" violates "
	    "not-null constraint",
	    STR_FMT(c->name), STR_FMT(t->name));

	e->table = arena_cstr(a, t->name);
	e->column = arena_cstr(a, c->name);
	return e;
}

struct err *
ex_table_key(struct arena *a, const struct cl_table *t, const struct val *pk,
    struct buf *out)
{
	size_t before = out->len;

	for (uint32_t i = 0; i < t->n_pkey; i++) {
		if (pk[i].null)
			return key_null_error(a, t, pkey_column(t, i));
		put_key_column(out, t, i, pk[i]);
	}
	if (out->len - before > CL_KEY_MAX) {
		struct err *e = ERR(a, ERRCODE_PROGRAM_LIMIT_EXCEEDED,
		    "primary key of %zu bytes exceeds the maximum of %u bytes "
		    "of table \"%.*s\"",
		    out->len - before, CL_KEY_MAX, STR_FMT(t->name));

		e->table = arena_cstr(a, t->name);
		return e;
	}
	return NULL;
}

void
ex_table_key_prefix(
    struct buf *out, const struct cl_table *t, const struct val *pk, uint32_t n)
{
	ASSERT(n <= t->n_pkey);
	for (uint32_t i = 0; i < n; i++)
		put_key_column(out, t, i, pk[i]);
}

/* Steps over (or reads) one key column. */
static bool
get_key_column(struct cur *c, struct arena *a, const struct cl_table *t,
    uint32_t i, struct val *v)
{
	const struct cl_column *col = pkey_column(t, i);
	uint32_t type = is_tagged(t, col) ? 0 : col->type;

	if (!ex_key_get(c, CL_KEY_ASC, a, type, v))
		return false;
	/* The key knows only the family: any integer reads as int8. */
	if (type && !v->null)
		v->type = type;
	return true;
}

struct str
ex_table_placement_key(const struct cl_table *t, struct str pk)
{
	uint32_t n = t->n_distribute;
	struct cur c = cur_of(pk);
	struct arena *scratch;
	bool ok = true;

	/* A hidden key is (block, row): a block's rows stay together. */
	if (t->n_pkey > 0 && pkey_column(t, 0)->flags & CL_COL_HIDDEN)
		n = 1;
	if (n == 0 || n >= t->n_pkey)
		return pk;
	scratch = arena_new(NULL, "placement key");
	for (uint32_t i = 0; ok && i < n; i++) {
		struct val v;

		ok = get_key_column(&c, scratch, t, i, &v);
	}
	arena_free(scratch);
	/* Malformed bytes belong nowhere; any slot is as good as another. */
	return ok ? str_of(pk.p, pk.len - c.left) : pk;
}

uint16_t
ex_table_slot(const struct cl_table *t, uint32_t slots, struct str pk)
{
	return cl_slot(cl_token(ex_table_placement_key(t, pk)), slots);
}

void
ex_table_row_key(
    struct buf *out, const struct cl_table *t, uint16_t slot, struct str pk)
{
	cl_key_prefix(out, t->id, slot);
	buf_str(out, pk);
}

/* Whether the key alone gives the value back. */
static bool
is_key_exact(const struct cl_table *t, const struct cl_column *c, uint32_t type)
{
	for (uint32_t i = 0; i < t->n_pkey; i++)
		if (t->pkey[i] == c->id)
			return ex_type(type)->key_exact;
	return false;
}

static struct err *
row_size_error(struct arena *a, const struct cl_table *t,
    const struct cl_column *largest, size_t size, size_t row_max)
{
	struct err *e = ERR(a, ERRCODE_PROGRAM_LIMIT_EXCEEDED,
	    "row is too big: size %zu, maximum size %zu", size, row_max);

	err_detail(e, "The largest value is that of column \"%.*s\".",
	    STR_FMT(largest->name));
	err_hint(e, "The limit is row_size_max.");
	e->table = arena_cstr(a, t->name);
	e->column = arena_cstr(a, largest->name);
	return e;
}

struct err *
ex_table_row(struct arena *a, const struct cl_table *t, const struct val *vals,
    size_t row_max, struct buf *out)
{
	const struct cl_column *largest = NULL;
	size_t before = out->len, most = 0;
	struct buf body;

	buf_init(&body, a);
	cl_row_begin(out, 0);
	for (uint32_t i = 0; i < t->n_columns; i++) {
		const struct cl_column *c = &t->columns[i];
		const struct ex_type *type;

		if (vals[i].null || is_key_exact(t, c, vals[i].type))
			continue;
		type = ex_type(vals[i].type);
		body.len = 0;
		type->row_enc(&body, vals[i]);
		cl_row_col(out, c->id, type->tag, buf_view(&body));
		if (!largest || body.len > most) {
			largest = c;
			most = body.len;
		}
	}
	if (largest && out->len - before > row_max)
		return row_size_error(
		    a, t, largest, out->len - before, row_max);
	return NULL;
}

static struct err *
malformed(struct arena *a, const struct cl_table *t)
{
	struct err *e = ERR(a, ERRCODE_DATA_CORRUPTED,
	    "malformed row in table \"%.*s\"", STR_FMT(t->name));

	e->table = arena_cstr(a, t->name);
	return e;
}

/* The value as the column promises it.  A column seen with several types is
 * text.  Another type in a column said to have one means that the catalog is
 * behind what writers know; a value that has no form in the column's type is
 * refused rather than shown as something else. */
static struct err *
present(struct arena *a, const struct cl_table *t, const struct cl_column *c,
    struct val *v)
{
	/* A key column that nobody had written has no type of its own yet. */
	uint32_t type = c->flags & CL_COL_MIXED || c->type == EX_UNKNOWN
			    ? EX_TEXT
			    : c->type;
	struct val stored = *v;
	struct err *e;
	struct buf b;

	if (v->null || v->type == type) {
		v->type = type;
		return NULL;
	}
	buf_init(&b, a);
	ex_out(&b, &ex_env_default, stored);
	if (!ex_in(a, &ex_env_default, type, -1, buf_view(&b), v))
		return NULL;
	e = ERR(a, ERRCODE_SERIALIZATION_FAILURE,
	    "column \"%.*s\" holds a value of type %s, which is newer than "
	    "what is known of the table",
	    STR_FMT(c->name), ex_type(stored.type)->sql_name);
	e->table = arena_cstr(a, t->name);
	e->column = arena_cstr(a, c->name);
	return err_hint(e, "Retry the statement.");
}

/* The next position at or (cyclically) after `hint` that wants `id`; n when
 * none does.  Both sides usually rise, so this is one step. */
static uint32_t
wanted(const uint32_t *ids, uint32_t n, uint32_t hint, uint32_t id)
{
	for (uint32_t k = 0; k < n; k++) {
		uint32_t at = hint + k < n ? hint + k : hint + k - n;

		if (ids[at] == id)
			return at;
	}
	return n;
}

/* Who reads a row: which columns, where to, and whether as the table promises
 * them or as they were stored. */
struct reading {
	struct arena *a;
	const struct cl_table *t;
	const uint32_t *ids;
	uint32_t n;
	struct val *vals;
	bool stored;
};

static struct err *
read_key(const struct reading *r, struct str pk)
{
	const struct cl_table *t = r->t;
	struct cur c = cur_of(pk);
	uint32_t last = 0;

	/* Nothing behind the last key column that is asked for is read. */
	for (uint32_t i = 0; i < t->n_pkey; i++)
		if (wanted(r->ids, r->n, 0, t->pkey[i]) < r->n)
			last = i + 1;
	for (uint32_t i = 0; i < last; i++) {
		const struct cl_column *col = pkey_column(t, i);
		struct val v;

		if (!get_key_column(&c, r->a, t, i, &v))
			return malformed(r->a, t);
		if (wanted(r->ids, r->n, 0, col->id) == r->n)
			continue;
		if (!r->stored)
			TRY(present(r->a, t, col, &v));
		for (uint32_t k = 0; k < r->n; k++)
			if (r->ids[k] == col->id)
				r->vals[k] = v;
	}
	return NULL;
}

static struct err *
read_column(
    const struct reading *r, const struct cl_row_col *rc, struct val *out)
{
	const struct cl_column *col = cl_table_column_id(r->t, rc->id);
	const struct ex_type *type = ex_type(col->type);

	if (!type || type->tag != rc->tag)
		type = ex_type(ex_type_of_tag(rc->tag));
	/* Decoders fill in the value alone. */
	*out = (struct val){0};
	if (!type)
		return malformed(r->a, r->t);
	*out = (struct val){.type = type->oid};
	if (!type->row_dec(r->a, rc->v, out))
		return malformed(r->a, r->t);
	return r->stored ? NULL : present(r->a, r->t, col, out);
}

static struct err *
read_value(const struct reading *r, struct str value)
{
	struct cl_row_cur it;
	struct cl_row_col rc;
	uint32_t hint = 0;

	if (!cl_row_open(value, &it))
		return malformed(r->a, r->t);
	while (cl_row_next(&it, &rc)) {
		uint32_t at = wanted(r->ids, r->n, hint, rc.id);

		if (at == r->n)
			continue;
		TRY(read_column(r, &rc, &r->vals[at]));
		/* Asked for twice; `at` may be the later of the two. */
		for (uint32_t k = 0; k < r->n; k++)
			if (k != at && r->ids[k] == rc.id)
				r->vals[k] = r->vals[at];
		hint = at;
	}
	return cl_row_ok(&it) ? NULL : malformed(r->a, r->t);
}

static struct err *
read_row(const struct reading *r, struct str pk, struct str value)
{
	for (uint32_t i = 0; i < r->n; i++) {
		const struct cl_column *c = cl_table_column_id(r->t, r->ids[i]);

		ASSERT(c != NULL);
		r->vals[i] = val_null(c->type);
	}
	if (r->n == 0)
		return NULL;
	TRY(read_key(r, pk));
	/* Values that the key cannot reproduce are in the row as well, and
	 * win. */
	return read_value(r, value);
}

struct err *
ex_table_read(struct arena *a, const struct cl_table *t, struct str pk,
    struct str value, const uint32_t *ids, uint32_t n, struct val *vals)
{
	struct reading r = {a, t, ids, n, vals, false};

	return read_row(&r, pk, value);
}

struct err *
ex_table_read_stored(struct arena *a, const struct cl_table *t, struct str pk,
    struct str value, const uint32_t *ids, uint32_t n, struct val *vals)
{
	struct reading r = {a, t, ids, n, vals, true};

	return read_row(&r, pk, value);
}
