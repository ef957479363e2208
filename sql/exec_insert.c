/* INSERT: rows are collected and written in batches; conflicts are settled row
 * by row after each. */
#include "base/map.h"
#include "expr/table.h"
#include "sql/exec_int.h"

void
sql_batch_init(
    struct sql_batch *b, struct sql_exec *x, const struct sql_change *ch)
{
	*b = (struct sql_batch){.x = x, .ch = ch, .table = ch->table};
	b->arena = arena_new(x->arena, "batch");
	/* DO UPDATE may touch a row once per statement, so its keys are kept;
	 * for the others the source knows what earlier batches wrote. */
	b->keys_arena = ch->conflict == SQL_DO_UPDATE ? x->work : b->arena;
	b->keys = map_new(b->keys_arena);
	b->bytes_max =
	    x->env->batch_bytes ? x->env->batch_bytes : SQL_INSERT_BYTES;
	if (ch->where)
		b->where = sql_fold(x, ch->where);
	b->set = NEW_N(x->arena, struct expr *, ch->n_set + 1);
	for (uint32_t i = 0; i < ch->n_set; i++)
		b->set[i] = sql_fold(x, ch->set[i].expr);
	sql_returning_init(&b->returning, x, ch);
}

/* ---- DO UPDATE ---- */

struct upsert {
	struct sql_batch *b;
	struct sql_write *w; /* of the row proposed */
	struct val *base;    /* the row there, then the one proposed */
	struct val *next;    /* the row to be */
	cl_stamp stamp;
};

/* The row to be; *wanted false when WHERE says no. */
static struct err *
upsert_row(struct upsert *u, bool *wanted)
{
	struct sql_exec *x = u->b->x;
	const struct sql_change *ch = u->b->ch;
	uint32_t n = ch->table->n_columns;
	struct ex_ctx ctx = sql_ctx(x, u->b->arena, u->base, 2 * n);
	struct str key;

	*wanted = true;
	if (u->b->where)
		TRY(ex_test(&ctx, u->b->where, wanted));
	if (!*wanted)
		return NULL;
	memcpy(u->next, u->base, n * sizeof *u->next);
	for (uint32_t i = 0; i < ch->n_set; i++)
		TRY(ex_eval(&ctx, u->b->set[i], &u->next[ch->set[i].index]));
	TRY(sql_check_not_null(x, ch->table, u->next));
	if (ch->key_set) {
		TRY(sql_row_key(x, ch->table, u->next, u->b->arena, &key));
		if (!str_eq(key, u->w->key))
			return sql_unsupported_at(x->arena, 0,
			    "changes of the primary key in ON CONFLICT DO "
			    "UPDATE");
	}
	return sql_check_indexes(
	    x, &u->b->indexes, ch->table, u->next, u->w->key);
}

/* One attempt: *again when somebody else was in between. */
static struct err *
upsert_try(struct upsert *u, bool *again)
{
	struct sql_batch *b = u->b;
	struct sql_exec *x = b->x;
	struct sql_write w = *u->w;
	bool found, wanted;

	*again = false;
	TRY(sql_get_whole(
	    x, b->table, w.key, b->arena, u->base, &w.stamp, &found));
	if (found) {
		TRY(upsert_row(u, &wanted));
		if (!wanted)
			return NULL;
		w.kind = SQL_UPDATE;
		w.vals = u->next;
	}
	TRY(x->src->ops->write(x->src, b->arena, &w, 1));
	if (w.result != SQL_WRITE_DONE) {
		*again = true;
		return NULL;
	}
	b->done++;
	return sql_keep_returning(
	    x, &b->returning, b->table->n_columns, b->arena, w.vals);
}

static struct err *
upsert(struct sql_batch *b, struct sql_write *w)
{
	uint32_t n = b->table->n_columns;
	struct upsert u = {.b = b, .w = w};
	bool again = true;

	u.base = NEW_N(b->arena, struct val, 2 * n + 1);
	u.next = NEW_N(b->arena, struct val, n + 1);
	memcpy(u.base + n, w->vals, n * sizeof *u.base);
	for (int i = 0; again; i++) {
		if (i == SQL_RETRY_MAX)
			return sql_lost_race(b->x->arena);
		TRY(upsert_try(&u, &again));
	}
	return NULL;
}

/* ---- batches ---- */

static struct err *
settle(struct sql_batch *b, struct sql_write *w)
{
	if (w->result == SQL_WRITE_DONE) {
		b->done++;
		return sql_keep_returning(b->x, &b->returning,
		    b->table->n_columns, b->arena, w->vals);
	}
	switch (b->ch->conflict) {
	case SQL_DO_NOTHING:
		return NULL;
	case SQL_DO_UPDATE:
		return upsert(b, w);
	default:
		return sql_duplicate_error(
		    b->x->arena, b->x->env, b->table, w->vals);
	}
}

static struct err *
write_batch(struct sql_batch *b)
{
	struct sql_exec *x = b->x;
	uint32_t n = b->n;

	b->n = 0;
	if (n == 0)
		return NULL;
	TRY(x->src->ops->write(x->src, b->arena, b->writes, n));
	for (uint32_t i = 0; i < n; i++)
		TRY(settle(b, &b->writes[i]));
	arena_reset(b->arena);
	if (b->keys_arena == b->arena)
		b->keys = map_new(b->arena);
	return NULL;
}

static void
fill_hidden(struct sql_batch *b, struct val *vals)
{
	const struct cl_table *t = b->table;
	uint64_t block = 0;
	uint32_t counter = 0;

	if (t->n_pkey != 2)
		return;
	for (uint32_t i = 0; i < t->n_columns; i++) {
		if (!(t->columns[i].flags & CL_COL_HIDDEN))
			continue;
		if (t->columns[i].id == t->pkey[0]) {
			b->x->src->ops->hidden_key(
			    b->x->src, t, &block, &counter);
			vals[i] = val_int(EX_INT8, (int64_t)block);
		} else if (t->columns[i].id == t->pkey[1]) {
			vals[i] = val_int(EX_INT4, (int32_t)counter);
		}
	}
}

/* A key met before in what this statement still has to write. */
static struct err *
repeated(struct sql_batch *b, const struct val *vals)
{
	struct err *e;

	switch (b->ch->conflict) {
	case SQL_DO_NOTHING:
		return NULL;
	case SQL_DO_UPDATE:
		e = ERR(b->x->arena, ERRCODE_CARDINALITY_VIOLATION,
		    "ON CONFLICT DO UPDATE command cannot affect row a second "
		    "time");
		return err_hint(e,
		    "Ensure that no rows proposed for insertion within the "
		    "same command have duplicate constrained values.");
	default:
		return sql_duplicate_error(
		    b->x->arena, b->x->env, b->table, vals);
	}
}

static struct err *
add_row(struct sql_batch *b, const struct val *given)
{
	uint32_t n = b->table->n_columns;
	struct val *vals = sql_row_copy(b->arena, given, n);
	size_t bytes;
	struct str key;

	fill_hidden(b, vals);
	TRY(sql_check_not_null(b->x, b->table, vals));
	TRY(sql_check_size(b->x, b->table, vals, b->arena, &bytes));
	TRY(sql_row_key(b->x, b->table, vals, b->arena, &key));
	if (map_get(b->keys, key))
		return repeated(b, vals);
	TRY(sql_check_indexes(b->x, &b->indexes, b->table, vals, key));
	map_put(b->keys, key, b);
	if (b->keys_arena == b->x->work)
		TRY(sql_work_check(b->x));
	b->writes =
	    sql_more(b->x->arena, b->writes, b->n, &b->cap, sizeof *b->writes);
	b->writes[b->n++] = (struct sql_write){.kind = SQL_INSERT,
	    .table = b->table,
	    .key = key,
	    .vals = vals,
	    .upsert = b->ch->conflict == SQL_DO_UPDATE,
	    .distinct = true};
	b->n_all++;
	if (b->n == SQL_INSERT_BATCH || arena_bytes(b->arena) >= b->bytes_max)
		return write_batch(b);
	return NULL;
}

/* ---- values of sequences ---- */

static bool
is_volatile(const struct expr *e, void *arg)
{
	(void)arg;
	return e->node == EX_CALL && e->u.func->volatility == EX_VOLATILE;
}

/* All volatile ones wait if one does: a row's keep their order. */
void
sql_batch_defaults(struct sql_batch *b, struct expr **defaults)
{
	uint32_t n = b->table->n_columns, draws = 0;

	for (uint32_t i = 0; i < n; i++)
		draws += defaults[i] && ex_draws(defaults[i]);
	if (!draws)
		return;
	b->late = NEW_N(b->x->arena, struct expr *, n);
	b->late_arena = arena_new(b->x->arena, "waiting rows");
	for (uint32_t i = 0; i < n; i++) {
		if (!defaults[i] ||
		    !sql_expr_any(defaults[i], is_volatile, NULL))
			continue;
		b->late[i] = defaults[i];
		defaults[i] = NULL;
	}
}

/* Tells each sequence how many values are going to be asked for. */
static struct err *
reserve(struct sql_batch *b, uint32_t column)
{
	const struct ex_env *env = b->x->env->ex;
	uint32_t id = ex_draws(b->late[column]);
	struct ex_sequence s = {.op = EX_RESERVE, .id = id};

	if (!id || !env->sequence)
		return NULL;

	for (uint32_t i = 0; i < b->table->n_columns; i++) {
		if (!b->late[i] || ex_draws(b->late[i]) != id)
			continue;
		if (i < column)
			return NULL; /* told with that one */
		s.value += b->n_waiting;
	}
	return env->sequence(env->arg, b->x->arena, &s);
}

/* Rows keep their order, and so do the values they get. */
static struct err *
add_waiting(struct sql_batch *b)
{
	struct ex_ctx ctx = sql_ctx(b->x, b->late_arena, NULL, 0);
	uint32_t n = b->n_waiting;

	for (uint32_t i = 0; n && i < b->table->n_columns; i++)
		if (b->late[i])
			TRY(reserve(b, i));
	for (uint32_t r = 0; r < n; r++) {
		struct val *vals = b->waiting[r];

		for (uint32_t i = 0; i < b->table->n_columns; i++)
			if (b->late[i])
				TRY(ex_eval(&ctx, b->late[i], &vals[i]));
		TRY(add_row(b, vals));
	}
	b->n_waiting = 0;
	if (n)
		arena_reset(b->late_arena);
	return NULL;
}

/* A row that will be refused is so while its line of a COPY is known. */
static bool
will_fail(const struct sql_batch *b, const struct val *vals)
{
	for (uint32_t i = 0; i < b->table->n_columns; i++)
		if (vals[i].null && !b->late[i] &&
		    sql_column_visible(&b->table->columns[i]) &&
		    b->table->columns[i].flags & CL_COL_NOT_NULL)
			return true;
	return false;
}

static struct err *
wait_row(struct sql_batch *b, const struct val *vals)
{
	uint32_t n = b->table->n_columns;
	size_t bytes;

	TRY(sql_check_size(b->x, b->table, vals, b->late_arena, &bytes));
	b->waiting = sql_more(b->x->arena, b->waiting, b->n_waiting,
	    &b->waiting_cap, sizeof *b->waiting);
	b->waiting[b->n_waiting++] = sql_row_copy(b->late_arena, vals, n);
	if (b->n_waiting < SQL_INSERT_BATCH &&
	    arena_bytes(b->late_arena) < b->bytes_max && !will_fail(b, vals))
		return NULL;
	return add_waiting(b);
}

struct err *
sql_batch_add(struct sql_batch *b, const struct val *vals)
{
	return b->late ? wait_row(b, vals) : add_row(b, vals);
}

struct err *
sql_batch_flush(struct sql_batch *b)
{
	if (b->late)
		TRY(add_waiting(b));
	return write_batch(b);
}

/* ---- the node ---- */

struct insert {
	struct sql_node node;
	const struct sql_change *ch;
	struct sql_batch batch;
	struct expr **defaults; /* of columns that the source does not give */
	struct expr **values;
	/* It reads the table it writes to: all rows come before the first is
	 * written, or it would meet its own. */
	bool spools;
	struct sql_kept spool;
	bool done;
};

static struct err *
insert_row(struct insert *in, const struct val *src)
{
	const struct sql_change *ch = in->ch;
	struct sql_exec *x = in->node.x;
	uint32_t n = ch->table->n_columns;
	struct ex_ctx ctx;
	struct val *vals;

	arena_reset(in->node.scratch);
	ctx = sql_ctx(x, in->node.scratch, src, ch->n_targets);
	vals = NEW_N(in->node.scratch, struct val, n + 1);
	for (uint32_t i = 0; i < n; i++) {
		vals[i] = val_null(ch->table->columns[i].type);
		if (in->defaults[i])
			TRY(ex_eval(&ctx, in->defaults[i], &vals[i]));
	}
	for (uint32_t i = 0; i < ch->n_targets; i++) {
		uint32_t to = ch->targets[i];

		if (to == UINT32_MAX)
			continue;
		vals[to] = src[i];
		if (in->values)
			TRY(ex_eval(&ctx, in->values[i], &vals[to]));
	}
	return sql_batch_add(&in->batch, vals);
}

static struct err *
spool_all(struct insert *in)
{
	struct sql_exec *x = in->node.x;
	struct sql_kept *k = &in->spool;
	struct val *row;

	for (;;) {
		TRY(sql_pull(in->node.left, &row));
		if (!row)
			return NULL;
		k->rows =
		    sql_more(x->work, k->rows, k->n, &k->cap, sizeof *k->rows);
		k->rows[k->n++] = sql_row_copy(x->work, row, in->ch->n_targets);
		TRY(sql_work_check(x));
	}
}

static struct err *
next_source(struct insert *in, struct val **row)
{
	struct sql_kept *k = &in->spool;

	if (!in->spools)
		return sql_pull(in->node.left, row);
	*row = k->at < k->n ? k->rows[k->at++] : NULL;
	return NULL;
}

static struct err *
insert_all(struct insert *in)
{
	struct val *row;

	if (in->spools)
		TRY(spool_all(in));
	for (;;) {
		TRY(next_source(in, &row));
		if (!row)
			return sql_batch_flush(&in->batch);
		TRY(insert_row(in, row));
		TRY(sql_tick(in->node.x));
	}
}

static bool
reads_table(const struct sql_query *q, const struct cl_table *t)
{
	if (!q)
		return false;
	for (uint32_t i = 0; i < q->n_rels; i++) {
		const struct sql_rel *r = q->rels[i];

		if (r->table ? r->table->id == t->id
			     : r->query && reads_table(r->query, t))
			return true;
	}
	return reads_table(q->left, t) || reads_table(q->right, t);
}

static struct err *
insert_next(struct sql_node *n, struct val **row)
{
	struct insert *in = (struct insert *)(void *)n;
	struct sql_kept *k = &in->batch.returning.kept;

	*row = NULL;
	if (!in->done) {
		in->done = true;
		TRY(insert_all(in));
	}
	if (k->at < k->n)
		*row = k->rows[k->at++];
	return NULL;
}

static void
fold_insert(struct insert *in)
{
	const struct sql_change *ch = in->ch;
	struct sql_exec *x = in->node.x;

	in->defaults = NEW_N(x->arena, struct expr *, ch->table->n_columns + 1);
	for (uint32_t i = 0; i < ch->table->n_columns; i++)
		if (ch->defaults[i])
			in->defaults[i] = sql_fold(x, ch->defaults[i]);
	for (uint32_t i = 0; i < ch->n_targets; i++)
		if (ch->targets[i] != UINT32_MAX)
			in->defaults[ch->targets[i]] = NULL;
	sql_batch_defaults(&in->batch, in->defaults);
	if (!ch->values)
		return;
	in->values = NEW_N(x->arena, struct expr *, ch->n_targets + 1);
	for (uint32_t i = 0; i < ch->n_targets; i++)
		in->values[i] = sql_fold(x, ch->values[i]);
}

struct err *
sql_insert_node(
    struct sql_exec *x, const struct sql_change *ch, struct sql_node **out)
{
	struct insert *in = sql_node_new(x, sizeof *in,
	    arena_printf(x->arena, "Insert on %.*s", STR_FMT(ch->table->name)),
	    insert_next);

	in->ch = ch;
	in->spools = reads_table(ch->query, ch->table);
	in->node.changed = &in->batch.done;
	sql_batch_init(&in->batch, x, ch);
	fold_insert(in);
	if (x->plan->explain && ch->conflict != SQL_DO_ERROR)
		sql_node_prop(&in->node, "Conflict Resolution",
		    ch->conflict == SQL_DO_UPDATE ? "UPDATE" : "NOTHING");
	*out = &in->node;
	if (x->src && x->src->ops->reach)
		TRY(x->src->ops->reach(x->src, x->arena,
		    &(struct sql_bounds){.table = ch->table}));
	/* Plain VALUES have no outputs of their own: see bind_insert.c. */
	if (ch->query->kind == SQL_SELECT_VALUES && !ch->query->outs) {
		in->node.left = sql_values_node(x, ch->query);
		return NULL;
	}
	return sql_plan_query(x, ch->query, &in->node.left);
}
