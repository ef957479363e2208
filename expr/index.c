#include "expr/index.h"

#include "cluster/msg.h"
#include "expr/table.h"

_Static_assert(EX_INDEX_KEY_MAX + 64 <= CL_KEY_MAX, "a key travels");

/* What the index looks at, by `ids`: first the inputs of its trees, in the
 * order in which they count them, then its plain columns. */
struct ex_index {
	const struct cl_table *table;
	const struct cl_index *index;
	uint32_t n_ids;
	uint32_t *ids;
	uint32_t *places;    /* of each id, in table->columns */
	struct expr **trees; /* by column of the index; NULL: the next plain */
	struct expr *where;  /* NULL: all rows */
};

static struct err *
malformed(struct arena *a, const struct cl_index *index)
{
	return ERR(a, ERRCODE_DATA_CORRUPTED,
	    "definition of index \"%.*s\" is malformed", STR_FMT(index->name));
}

static struct err *
add_id(struct arena *a, struct ex_index *x, uint32_t id)
{
	const struct cl_column *c = cl_table_column_id(x->table, id);

	if (!c)
		return malformed(a, x->index);
	x->places[x->n_ids] = (uint32_t)(c - x->table->columns);
	x->ids[x->n_ids++] = id;
	return NULL;
}

/* Columns that a tree looks at are among the inputs. */
static bool
inputs_suffice(const struct expr *e, uint32_t n_inputs)
{
	if (e->node == EX_COLUMN && e->u.col >= n_inputs)
		return false;
	for (uint32_t i = 0; i < e->n_args; i++)
		if (!inputs_suffice(e->args[i], n_inputs))
			return false;
	return true;
}

static struct err *
decode_tree(struct arena *a, const struct cl_index *index, struct str tree,
    uint32_t type, struct expr **out)
{
	TRY(ex_decode(a, tree, out));
	if ((*out)->type != type || !inputs_suffice(*out, index->n_inputs))
		return malformed(a, index);
	return NULL;
}

static struct err *
decode_trees(struct arena *a, struct ex_index *x)
{
	const struct cl_index *index = x->index;

	for (uint32_t i = 0; i < index->n_columns; i++) {
		const struct cl_index_column *c = &index->columns[i];
		const struct ex_type *type = ex_type(c->type);

		if (!x->table->open && (!type || !type->key_enc))
			return malformed(a, index);
		if (c->expr.len)
			TRY(decode_tree(
			    a, index, c->expr, c->type, &x->trees[i]));
	}
	if (index->where.len)
		TRY(decode_tree(a, index, index->where, EX_BOOL, &x->where));
	return NULL;
}

struct err *
ex_index_open(struct arena *a, const struct cl_table *t,
    const struct cl_index *index, struct ex_index **out)
{
	struct ex_index *x = NEW(a, struct ex_index);
	uint32_t n = index->n_inputs + index->n_columns;

	*out = NULL;
	x->table = t;
	x->index = index;
	x->ids = NEW_N(a, uint32_t, n);
	x->places = NEW_N(a, uint32_t, n);
	x->trees = NEW_N(a, struct expr *, index->n_columns);
	if (index->table != t->id)
		return malformed(a, index);
	for (uint32_t i = 0; i < index->n_inputs; i++)
		TRY(add_id(a, x, index->inputs[i]));
	for (uint32_t i = 0; i < index->n_columns; i++)
		if (index->columns[i].column)
			TRY(add_id(a, x, index->columns[i].column));
	TRY(decode_trees(a, x));
	*out = x;
	return NULL;
}

static struct cl_key_order
order_of(const struct cl_index_column *c)
{
	return (struct cl_key_order){c->desc, c->nulls_first};
}

void
ex_index_put(struct buf *out, const struct cl_table *t,
    const struct cl_index *index, uint32_t i, struct val v)
{
	enum cl_tag tag = CL_TAG_NONE;

	ASSERT(i < index->n_columns);
	if (t->open && !v.null)
		tag = ex_type(v.type)->tag;
	ex_key_put(out, tag, order_of(&index->columns[i]), v);
}

bool
ex_index_pk(struct arena *scratch, const struct cl_table *t,
    const struct cl_index *index, struct str key, struct str *pk)
{
	struct cur c = cur_of(key);

	*pk = STR_NONE;
	for (uint32_t i = 0; i < index->n_columns; i++) {
		const struct cl_index_column *col = &index->columns[i];
		struct val v;

		if (!ex_key_get(&c, order_of(col), scratch,
			t->open ? 0 : col->type, &v))
			return false;
	}
	*pk = str_of(key.p + (key.len - c.left), c.left);
	return true;
}

/* An open table takes values of any type, an index only ordered ones. */
static struct err *
no_order(struct arena *a, const struct ex_index *x, const struct ex_type *type)
{
	struct err *e = ERR(a, ERRCODE_FEATURE_NOT_SUPPORTED,
	    "a value of type %s has no order and cannot be in index \"%.*s\"",
	    type->sql_name, STR_FMT(x->index->name));

	e->table = arena_cstr(a, x->table->name);
	return e;
}

static struct err *
too_long(struct arena *a, const struct ex_index *x, size_t size)
{
	struct err *e = ERR(a, ERRCODE_PROGRAM_LIMIT_EXCEEDED,
	    "index row size %zu exceeds maximum %u for index \"%.*s\"", size,
	    EX_INDEX_KEY_MAX, STR_FMT(x->index->name));

	e->table = arena_cstr(a, x->table->name);
	return err_hint(e, "Consider an index of an MD5 hash of the value.");
}

static struct err *
put_columns(struct arena *a, const struct ex_index *x, const struct ex_ctx *ctx,
    struct buf *out)
{
	uint32_t plain = x->index->n_inputs;

	for (uint32_t i = 0; i < x->index->n_columns; i++) {
		struct val v;

		if (x->trees[i])
			TRY(ex_eval(ctx, x->trees[i], &v));
		else
			v = ctx->row[plain++];
		if (!v.null && !ex_type(v.type)->key_enc)
			return no_order(a, x, ex_type(v.type));
		ex_index_put(out, x->table, x->index, i, v);
	}
	return NULL;
}

/* From the values of x->ids. */
static struct err *
put_key(struct arena *a, const struct ex_index *x, const struct val *vals,
    struct str pk, struct buf *out, bool *in)
{
	struct ex_ctx ctx = {
	    .arena = a, .env = &ex_env_default, .row = vals, .n_row = x->n_ids};
	size_t before = out->len, size;

	if (x->where)
		TRY(ex_test(&ctx, x->where, in));
	else
		*in = true;
	if (!*in)
		return NULL;
	TRY(put_columns(a, x, &ctx, out));
	buf_str(out, pk);
	size = out->len - before;
	return size > EX_INDEX_KEY_MAX ? too_long(a, x, size) : NULL;
}

struct err *
ex_index_key(struct arena *a, const struct ex_index *x, const struct val *vals,
    struct str pk, struct buf *out, bool *in)
{
	struct val *mine = NEW_N(a, struct val, x->n_ids);

	*in = false;
	for (uint32_t i = 0; i < x->n_ids; i++)
		mine[i] = vals[x->places[i]];
	return put_key(a, x, mine, pk, out, in);
}

struct err *
ex_index_row_key(struct arena *a, const struct ex_index *x, struct str pk,
    struct str row, struct buf *out, bool *in)
{
	struct val *vals = NEW_N(a, struct val, x->n_ids);

	*in = false;
	if (x->table->open)
		TRY(ex_table_read_stored(
		    a, x->table, pk, row, x->ids, x->n_ids, vals));
	else
		TRY(ex_table_read(
		    a, x->table, pk, row, x->ids, x->n_ids, vals));
	return put_key(a, x, vals, pk, out, in);
}
