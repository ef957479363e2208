/* UPDATE and DELETE: rows are read, changed, and written under the condition
 * that they still have the stamp that was read.  Where one has not, it is read
 * and judged again, as READ COMMITTED does. */
#include "expr/table.h"
#include "sql/exec_int.h"

struct victim {
	struct str key;
	cl_stamp stamp;
	struct val *old;  /* by table column */
	struct val *next; /* UPDATE */
	struct str next_key;
	bool moves; /* to another key: an insert, then a delete */
	bool gone;  /* nothing to do any more, or done */
	int tries;  /* that somebody else was faster */
};

struct update {
	struct sql_node node;
	const struct sql_change *ch;
	const struct cl_table *table;
	bool is_delete;
	struct expr *where;
	struct expr **set;
	struct arena *arena; /* of the batch */
	struct victim *rows;
	uint32_t n, cap;
	size_t bytes;
	uint64_t done;
	struct sql_returning returning;
	struct sql_indexes indexes;
	/* A row that it changes might be met again further on: all are read
	 * before the first is written. */
	bool reads_first;
	bool ran;
};

/* ---- one row ---- */

/* The row to be, and its key. */
static struct err *
set_row(struct update *u, struct victim *v)
{
	struct sql_exec *x = u->node.x;
	const struct sql_change *ch = u->ch;
	uint32_t n = u->table->n_columns;
	struct ex_ctx ctx = sql_ctx(x, u->arena, v->old, n);
	size_t size;

	if (u->is_delete)
		return NULL;
	v->next = arena_dup(u->arena, v->old, n * sizeof *v->next);
	for (uint32_t i = 0; i < ch->n_set; i++)
		TRY(ex_eval(&ctx, u->set[i], &v->next[ch->set[i].index]));
	TRY(sql_check_not_null(x, u->table, v->next));
	TRY(sql_check_size(x, u->table, v->next, u->arena, &size));
	v->next_key = v->key;
	if (ch->key_set)
		TRY(sql_row_key(x, u->table, v->next, u->arena, &v->next_key));
	v->moves = !str_eq(v->next_key, v->key);
	return sql_check_indexes(
	    x, &u->indexes, u->table, v->next, v->next_key);
}

static struct sql_write
write_of(const struct update *u, const struct victim *v)
{
	return (struct sql_write){
	    .kind = u->is_delete || v->moves ? SQL_DELETE : SQL_UPDATE,
	    .table = u->table,
	    .key = v->key,
	    .vals = u->is_delete || v->moves ? NULL : v->next,
	    .stamp = v->stamp,
	};
}

/* The row was changed by somebody else since it was read: what it is now. */
static struct err *
read_again(struct update *u, struct victim *v)
{
	struct sql_exec *x = u->node.x;
	struct ex_ctx ctx;
	bool match = true;

	TRY(sql_get_whole(
	    x, u->table, v->key, u->arena, v->old, &v->stamp, &match));
	if (match && u->where) {
		ctx = sql_ctx(x, u->arena, v->old, u->table->n_columns);
		TRY(ex_test(&ctx, u->where, &match));
	}
	v->gone = !match;
	return match ? set_row(u, v) : NULL;
}

static struct err *move(struct update *u, struct victim *v);

static struct err *
change_again(struct update *u, struct victim *v)
{
	struct sql_exec *x = u->node.x;

	while (v->tries++ < SQL_RETRY_MAX) {
		struct sql_write w;

		TRY(read_again(u, v));
		if (v->gone)
			return NULL;
		if (v->moves)
			return move(u, v);
		w = write_of(u, v);
		TRY(x->src->ops->write(x->src, u->arena, &w, 1));
		if (w.result == SQL_WRITE_DONE)
			return NULL;
	}
	return sql_lost_race(x->arena);
}

/* ---- moves ---- */

/* Takes back the row that was inserted for one that then could not be
 * deleted. */
static struct err *
undo_insert(struct update *u, const struct victim *v)
{
	struct sql_exec *x = u->node.x;
	struct val *vals = NEW_N(u->arena, struct val, u->table->n_columns + 1);
	struct sql_write w = {
	    .kind = SQL_DELETE, .table = u->table, .key = v->next_key};
	bool found;

	TRY(sql_get_whole(
	    x, u->table, w.key, u->arena, vals, &w.stamp, &found));
	return found ? x->src->ops->write(x->src, u->arena, &w, 1) : NULL;
}

/* A row with a new key is inserted first and deleted after: whatever happens in
 * between, it is there at least once. */
static struct err *
move(struct update *u, struct victim *v)
{
	struct sql_exec *x = u->node.x;

	while (v->moves && !v->gone) {
		struct sql_write w = {.kind = SQL_INSERT,
		    .table = u->table,
		    .key = v->next_key,
		    .vals = v->next};

		if (v->tries++ == SQL_RETRY_MAX)
			return sql_lost_race(x->arena);
		TRY(x->src->ops->write(x->src, u->arena, &w, 1));
		if (w.result != SQL_WRITE_DONE)
			return sql_duplicate_error(
			    x->arena, x->env, u->table, v->next);
		w = write_of(u, v);
		TRY(x->src->ops->write(x->src, u->arena, &w, 1));
		if (w.result == SQL_WRITE_DONE)
			return NULL;
		TRY(undo_insert(u, v));
		TRY(read_again(u, v));
	}
	/* Another's change was such that it keeps its key after all. */
	return v->gone ? NULL : change_again(u, v);
}

/* ---- batches ---- */

static struct err *
write_batch(struct update *u)
{
	struct sql_exec *x = u->node.x;
	struct sql_write *w = NEW_N(u->arena, struct sql_write, u->n + 1);
	uint32_t n = 0;

	for (uint32_t i = 0; i < u->n; i++) {
		TRY(set_row(u, &u->rows[i]));
		if (!u->rows[i].moves)
			w[n++] = write_of(u, &u->rows[i]);
	}
	if (n)
		TRY(x->src->ops->write(x->src, u->arena, w, n));
	n = 0;
	for (uint32_t i = 0; i < u->n; i++) {
		struct victim *v = &u->rows[i];

		if (v->moves)
			TRY(move(u, v));
		else if (w[n++].result != SQL_WRITE_DONE)
			TRY(change_again(u, v));
		if (v->gone)
			continue;
		u->done++;
		TRY(sql_keep_returning(x, &u->returning, u->table->n_columns,
		    u->arena, u->is_delete ? v->old : v->next));
	}
	return NULL;
}

static struct err *
flush(struct update *u)
{
	if (u->n)
		TRY(write_batch(u));
	u->n = 0;
	u->bytes = 0;
	u->rows = NULL;
	u->cap = 0;
	arena_reset(u->arena);
	return NULL;
}

static struct err *
add(struct update *u, const struct val *row)
{
	const struct sql_row *at = sql_scan_row(u->node.left);
	struct victim *v;

	u->rows = sql_more(u->arena, u->rows, u->n, &u->cap, sizeof *u->rows);
	v = &u->rows[u->n++];
	*v = (struct victim){.key = arena_str(u->arena, at->key),
	    .stamp = at->stamp,
	    .old = sql_row_copy(u->arena, row, u->table->n_columns)};
	if (u->reads_first)
		return sql_work_check(u->node.x);
	if (u->n == SQL_WRITE_BATCH || arena_bytes(u->arena) > SQL_WRITE_BYTES)
		return flush(u);
	return NULL;
}

/* ---- the node ---- */

static struct err *
run(struct update *u)
{
	struct val *row;

	for (;;) {
		TRY(sql_pull(u->node.left, &row));
		if (!row)
			return flush(u);
		TRY(add(u, row));
	}
}

static struct err *
update_next(struct sql_node *n, struct val **row)
{
	struct update *u = (struct update *)(void *)n;

	*row = NULL;
	if (!u->ran) {
		u->ran = true;
		TRY(run(u));
	}
	if (u->returning.kept.at < u->returning.kept.n)
		*row = u->returning.kept.rows[u->returning.kept.at++];
	return NULL;
}

/* NULLs of the columns' types: what the scan does not fill in. */
static struct val *
null_row(struct sql_exec *x, const struct cl_table *t)
{
	struct val *row = NEW_N(x->arena, struct val, t->n_columns + 1);

	for (uint32_t i = 0; i < t->n_columns; i++)
		row[i] = val_null(t->columns[i].type);
	return row;
}

struct err *
sql_update_node(struct sql_exec *x, const struct sql_change *ch, bool is_delete,
    struct sql_node **out)
{
	struct update *u = sql_node_new(x, sizeof *u,
	    arena_printf(x->arena, "%s on %.*s",
		is_delete ? "Delete" : "Update", STR_FMT(ch->table->name)),
	    update_next);
	struct sql_conjs conjs = {0};
	const struct cl_index *index;

	u->ch = ch;
	u->table = ch->table;
	u->is_delete = is_delete;
	u->node.changed = &u->done;
	if (ch->query->where) {
		u->where = sql_fold(x, ch->query->where);
		sql_split_and(x, ch->query, u->where, &conjs);
	}
	sql_returning_init(&u->returning, x, ch);
	u->set = NEW_N(x->arena, struct expr *, ch->n_set + 1);
	for (uint32_t i = 0; i < ch->n_set; i++)
		u->set[i] = sql_fold(x, ch->set[i].expr);
	*out = &u->node;
	TRY(sql_scan_node(x, ch->query, ch->query->rels[0], &conjs,
	    null_row(x, ch->table), &u->node.left));
	index = sql_scan_index(u->node.left);
	u->reads_first = ch->key_set || (index && sql_index_is_set(index, ch));
	u->arena = arena_new(u->reads_first ? x->work : x->arena, "batch");
	return NULL;
}
