/* Expressions that stand alone, and rows that come without a statement. */
#include "sql/exec_int.h"

struct err *
sql_eval_alone(struct arena *a, const struct sql_env *env,
    const struct sql_expr *e, uint32_t type, int32_t typmod, struct val *out)
{
	struct sql_bind b = {.arena = a, .env = env};
	struct sql_ectx c = {.b = &b,
	    .clause = "DEFAULT expressions",
	    .no_columns = "cannot use column reference in DEFAULT expression",
	    .no_columns_state = ERRCODE_FEATURE_NOT_SUPPORTED};
	struct ex_ctx ctx = {.arena = a, .env = env->ex};
	struct expr *x;

	*out = val_null(type);
	TRY(sql_bind_expr(&c, e, &x));
	if (b.n_subs)
		return err_at(ERR(a, ERRCODE_FEATURE_NOT_SUPPORTED,
				  "cannot use subquery in DEFAULT expression"),
		    e->position);
	TRY(sql_coerce(&b, x, type, typmod, EX_ASSIGNMENT, &x));
	return ex_eval(&ctx, x, out);
}

struct err *
sql_eval_literal(struct arena *a, const struct sql_env *env,
    const struct sql_expr *e, struct val *out)
{
	struct sql_bind b = {.arena = a, .env = env};
	struct sql_ectx c = {.b = &b, .clause = "PARTITION"};
	struct ex_ctx ctx = {.arena = a, .env = env->ex};
	struct expr *x;

	*out = val_null(EX_UNKNOWN);
	TRY(sql_bind_expr(&c, e, &x));
	return ex_eval(&ctx, x, out);
}

/* ---- COPY ---- */

static struct err *
copy_column(struct arena *a, const struct cl_table *t,
    const struct sql_column_name *name, const uint32_t *ids, uint32_t n,
    uint32_t *id)
{
	const struct cl_column *c = cl_table_column(t, str_c(name->name));

	if (!c)
		return err_at(
		    ERR(a, ERRCODE_UNDEFINED_COLUMN,
			"column \"%s\" of relation \"%.*s\" does not exist",
			name->name, STR_FMT(t->name)),
		    name->position);
	for (uint32_t i = 0; i < n; i++)
		if (ids[i] == c->id)
			return err_at(
			    ERR(a, ERRCODE_DUPLICATE_COLUMN,
				"column \"%s\" specified more than once",
				name->name),
			    name->position);
	*id = c->id;
	return NULL;
}

struct err *
sql_copy_columns(struct arena *a, const struct cl_table *t,
    const struct sql_copy *copy, uint32_t **ids, uint32_t *n)
{
	*n = 0;
	*ids = NEW_N(a, uint32_t,
	    (copy->n_columns ? copy->n_columns : t->n_columns) + 1);
	for (uint32_t i = 0; i < copy->n_columns; i++) {
		TRY(copy_column(
		    a, t, &copy->columns[i], *ids, *n, &(*ids)[*n]));
		(*n)++;
	}
	for (uint32_t i = 0; copy->n_columns == 0 && i < t->n_columns; i++)
		if (sql_column_visible(&t->columns[i]))
			(*ids)[(*n)++] = t->columns[i].id;
	return NULL;
}

struct sql_inserter {
	struct arena *arena;
	struct sql_exec *exec;
	struct sql_plan plan;
	struct sql_change change;
	struct sql_batch batch;
	uint32_t n;
	uint32_t *at; /* where each value goes */
	struct arena *scratch;
	struct val *row;
};

static struct err *
inserter_defaults(struct sql_inserter *in, const struct sql_env *env)
{
	struct sql_bind b = {.arena = in->arena, .env = env};
	const struct cl_table *t = in->change.table;

	in->change.defaults = NEW_N(in->arena, struct expr *, t->n_columns + 1);
	for (uint32_t i = 0; i < t->n_columns; i++)
		if (sql_column_visible(&t->columns[i]))
			TRY(sql_bind_default(
			    &b, t, i, &in->change.defaults[i]));
	for (uint32_t i = 0; i < in->n; i++)
		in->change.defaults[in->at[i]] = NULL;
	return NULL;
}

struct err *
sql_insert_begin(struct arena *a, const struct sql_env *env,
    const struct cl_table *t, const uint32_t *ids, uint32_t n,
    struct sql_source *src, struct sql_inserter **out)
{
	struct sql_inserter *in = NEW(a, struct sql_inserter);

	*out = NULL;
	if (src && src->ops->reach)
		TRY(src->ops->reach(src, a, &(struct sql_bounds){.table = t}));
	in->arena = a;
	in->n = n;
	in->at = NEW_N(a, uint32_t, n + 1);
	in->change.table = t;
	for (uint32_t i = 0; i < n; i++) {
		const struct cl_column *c = cl_table_column_id(t, ids[i]);

		ASSERT(c != NULL);
		in->at[i] = (uint32_t)(c - t->columns);
	}
	TRY(inserter_defaults(in, env));
	in->plan.kind = SQL_STMT_INSERT;
	in->plan.change = &in->change;
	TRY(sql_exec_new(a, env, &in->plan, NULL, src, &in->exec));
	in->scratch = arena_new(in->exec->arena, "row");
	in->row = NEW_N(a, struct val, t->n_columns + 1);
	sql_batch_init(&in->batch, in->exec, &in->change);
	sql_batch_defaults(&in->batch, in->change.defaults);
	*out = in;
	return NULL;
}

/* As assignment: a value of the column's type, within its length. */
static struct err *
fit_column(struct sql_inserter *in, const struct cl_column *c, struct val *v)
{
	const struct ex_type *t = ex_type(v->type);

	if (v->null || in->change.table->open || c->typmod < 0 || !t ||
	    !t->apply_typmod)
		return NULL;
	return t->apply_typmod(in->scratch, *v, c->typmod, false, v);
}

struct err *
sql_insert_row(struct sql_inserter *in, const struct val *vals)
{
	const struct cl_table *t = in->change.table;
	struct ex_ctx ctx = sql_ctx(in->exec, in->scratch, NULL, 0);

	arena_reset(in->scratch);
	for (uint32_t i = 0; i < t->n_columns; i++) {
		in->row[i] = val_null(t->columns[i].type);
		if (in->change.defaults[i])
			TRY(ex_eval(&ctx, in->change.defaults[i], &in->row[i]));
	}
	for (uint32_t i = 0; i < in->n; i++) {
		in->row[in->at[i]] = vals[i];
		TRY(fit_column(
		    in, &t->columns[in->at[i]], &in->row[in->at[i]]));
	}
	return sql_batch_add(&in->batch, in->row);
}

struct err *
sql_insert_end(struct sql_inserter *in, uint64_t *rows)
{
	struct err *e = sql_batch_flush(&in->batch);

	*rows = in->batch.done;
	if (e)
		e = err_copy(in->arena, e);
	sql_exec_close(in->exec);
	return e;
}
