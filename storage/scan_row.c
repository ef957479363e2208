#include "storage/scan_int.h"

#include "cluster/key.h"
#include "cluster/msg.h"
#include "cluster/row.h"
#include "expr/table.h"

static bool
is_wanted(const struct st_scan_wanted *w, uint32_t id)
{
	return id <= CL_COLUMNS_MAX && (w->bits[id / 64] >> (id % 64) & 1);
}

static struct str
project(struct st_scan *s, struct str value)
{
	struct cl_row_cur it;
	struct cl_row_col col;
	struct buf b;

	if (!(s->m->flags & CL_SCAN_SOME) || !cl_row_open(value, &it))
		return arena_str(s->job, value);
	buf_init(&b, s->job);
	buf_put(&b, value.p, CL_ROW_HEADER);
	while (cl_row_next(&it, &col))
		if (is_wanted(&s->wanted, col.id))
			cl_row_col(&b, col.id, col.tag, col.v);
	return buf_view(&b);
}

static int64_t
mono_clock(void *arg)
{
	struct st_node *n = arg;

	return (int64_t)world_mono_us(n->world);
}

static struct err *
passes(struct st_scan *s, struct str pk, struct str value, bool *yes)
{
	struct val *vals;
	struct ex_ctx ctx = {.arena = s->row};
	struct ex_env env;

	*yes = true;
	if (!s->filter)
		return NULL;
	env = ex_env_default;
	env.mono_us = mono_clock;
	env.arg = s->node;
	ctx.env = &env;
	vals = NEW_N(s->row, struct val, s->wanted.n + 1);
	TRY(ex_table_read(
	    s->row, s->table, pk, value, s->wanted.ids, s->wanted.n, vals));
	for (uint32_t i = 0; i < s->wanted.n; i++)
		if (s->wanted.types[i] && !vals[i].null &&
		    vals[i].type != s->wanted.types[i]) {
			s->mismatch = true;
			*yes = false;
			return NULL;
		}
	ctx.row = vals;
	ctx.n_row = s->wanted.n;
	return ex_test(&ctx, s->filter, yes);
}

/* The key of a row that was found by an index is its key there, and behind that
 * how long the primary key at its end is. */
static struct str
key_out(struct st_scan *s, struct str key, size_t pk_len)
{
	struct buf b;

	if (!s->index)
		return arena_str(s->job, key);
	buf_init(&b, s->job);
	buf_str(&b, key);
	buf_be16(&b, (uint16_t)pk_len);
	return buf_view(&b);
}

static void
add_row(struct st_scan *s, struct str key, size_t pk_len, struct str value)
{
	struct cl_row *r;

	if (s->n_rows == s->cap_rows) {
		uint32_t cap = s->cap_rows ? s->cap_rows * 2 : 64;

		s->rows = arena_grow(s->job, s->rows,
		    s->cap_rows * sizeof *s->rows, cap * sizeof *s->rows);
		s->cap_rows = cap;
	}
	r = &s->rows[s->n_rows++];
	r->key = key_out(s, key, pk_len);
	r->value = project(s, value);
	s->bytes += r->key.len + r->value.len + 8;
}

static struct err *
malformed(struct st_scan *s, const char *what)
{
	return ERR(s->job, ERRCODE_DATA_CORRUPTED,
	    "%s of table %u is malformed", what, s->m->table);
}

/* `key` is the row's own, or that of the entry by which it was found; `pk` is
 * its primary key. */
static void
take_row(struct st_scan *s, struct str key, struct str pk, struct str value)
{
	struct cl_row_head h;
	bool yes = false;

	if (!cl_row_head(value, &h)) {
		s->err = malformed(s, "a row");
		return;
	}
	if (h.flags & CL_ROW_TOMBSTONE) {
		s->astray += s->index != NULL;
		return;
	}
	if (s->filter) {
		s->err = passes(s, pk, value, &yes);
		if (s->err)
			s->err = err_copy(s->job, s->err);
		if (!yes || s->err)
			return;
	}
	s->at.returned++;
	if (s->m->flags & CL_SCAN_COUNT)
		s->count++;
	else
		add_row(s, key, pk.len, value);
	if (s->m->limit && s->at.returned >= s->m->limit)
		s->end = true;
	if (s->bytes >= s->bytes_max || s->n_rows >= CL_PAGE_ROWS_MAX)
		s->full = true;
}

/* The row of an entry, as of the same moment. */
static void
take_entry(struct st_scan *s, struct kv *kv, struct str key, struct str value)
{
	uint32_t index;
	uint16_t slot;
	struct str rest, row;
	struct buf b;
	size_t columns;

	if (!cl_key_split(key, &index, &slot, &rest) ||
	    !st_index_value_get(key, value, &columns)) {
		s->err = malformed(s, "an index entry");
		return;
	}
	buf_init(&b, s->row);
	cl_key_prefix(&b, s->m->table, slot);
	buf_str(&b, str_skip(rest, columns));
	if (kv_get(kv, KV_ROWS, buf_view(&b), &row))
		take_row(s, key, str_skip(buf_view(&b), CL_KEY_PREFIX), row);
	else
		s->astray += !kv_failed(kv);
}

void
st_scan_take(struct st_scan *s, struct kv *kv, struct str key, struct str value)
{
	s->scanned++;
	if (s->filter || s->index)
		arena_reset(s->row);
	if (s->index)
		take_entry(s, kv, key, value);
	else
		take_row(s, key, str_skip(key, CL_KEY_PREFIX), value);
}
