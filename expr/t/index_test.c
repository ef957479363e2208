#include "expr/index.h"

#include "cluster/msg.h"
#include "expr/t/calc.h"
#include "expr/table.h"
#include "regress/lib/cu.h"

#define COL(i, n, ty, fl)                                                      \
	{                                                                      \
		.id = (i), .name = {"" n, sizeof(n) - 1}, .type = (ty),        \
		.typmod = -1, .flags = (fl)                                    \
	}

static const struct cl_column cols[] = {
    COL(1, "id", EX_INT8, CL_COL_NOT_NULL),
    COL(2, "gone", EX_TEXT, CL_COL_DROPPED),
    COL(3, "name", EX_TEXT, 0),
    COL(4, "n", EX_NUMERIC, 0),
};
static const uint32_t one_key[] = {1};
static const struct cl_table table = {.id = 20000,
    .name = {"t", 1},
    .n_columns = 4,
    .columns = cols,
    .n_pkey = 1,
    .pkey = one_key};

static const struct cl_column open_cols[] = {
    COL(1, "id", EX_INT8, 0),
    COL(2, "v", EX_TEXT, CL_COL_SEEN | CL_COL_MIXED),
};
static const struct cl_table open_table = {.id = 20002,
    .name = {"o", 1},
    .open = true,
    .n_columns = 2,
    .columns = open_cols,
    .n_pkey = 1,
    .pkey = one_key};

static const struct cl_index_column on_name[] = {
    {.column = 3, .type = EX_TEXT}};
static const struct cl_index_column on_n_down_name[] = {
    {.column = 4, .type = EX_NUMERIC, .desc = true, .nulls_first = true},
    {.column = 3, .type = EX_TEXT, .nulls_first = true}};
static const struct cl_index_column on_v[] = {{.column = 2, .type = EX_TEXT}};

static struct cl_index
index_of(
    const struct cl_table *t, const struct cl_index_column *columns, uint32_t n)
{
	return (struct cl_index){.id = 20100,
	    .table = t->id,
	    .name = {"t_idx", 5},
	    .state = CL_INDEX_PUBLIC,
	    .n_columns = n,
	    .columns = columns};
}

static struct val
text(const char *s)
{
	return val_str(EX_TEXT, str_c(s));
}

static struct val
num(struct arena *a, const char *s)
{
	struct val v;

	MUST(!ex_in(a, &ex_env_default, EX_NUMERIC, -1, str_c(s), &v));
	return v;
}

static struct str
pk_of(struct arena *a, const struct cl_table *t, struct val id)
{
	struct buf b;

	buf_init(&b, a);
	MUST(!ex_table_key(a, t, &id, &b));
	return buf_view(&b);
}

static struct ex_index *
opened(struct arena *a, const struct cl_table *t, const struct cl_index *index)
{
	struct ex_index *x;

	MUST(!ex_index_open(a, t, index, &x));
	return x;
}

static const char *
hex(struct arena *a, struct str s)
{
	struct buf b;

	buf_init(&b, a);
	for (size_t i = 0; i < s.len; i++)
		buf_printf(&b, "%02x", (uint8_t)s.p[i]);
	return buf_cstr(&b);
}

/* The key by both ways, which must agree; "-" when the row is left out. */
static const char *
key_hex(struct arena *a, const struct cl_table *t, const struct cl_index *index,
    const struct val *vals)
{
	struct ex_index *x = opened(a, t, index);
	struct str pk = pk_of(a, t, vals[0]);
	struct buf row, mine, theirs;
	bool in, in_too;

	buf_init(&row, a);
	buf_init(&mine, a);
	buf_init(&theirs, a);
	MUST(!ex_table_row(a, t, vals, 54000, &row));
	MUST(!ex_index_key(a, x, vals, pk, &mine, &in));
	MUST(!ex_index_row_key(a, x, pk, buf_view(&row), &theirs, &in_too));
	CHECK(in == in_too);
	CHECK(str_eq(buf_view(&mine), buf_view(&theirs)));
	CHECK(in || mine.len == 0);
	if (in) {
		struct str back;

		CHECK(ex_index_pk(a, t, index, buf_view(&mine), &back));
		CHECK(str_eq(back, pk));
	}
	return in ? hex(a, buf_view(&mine)) : "-";
}

/* lower(name), over inputs[0]. */
static struct expr *
lower_of_input(void)
{
	struct expr **args = NEW_N(calc_arena(), struct expr *, 1);
	struct expr *e = NULL;

	args[0] = ex_column(calc_arena(), 0, EX_TEXT, -1);
	MUST(!calc_bind("lower", args, 1, &e));
	return e;
}

static struct str
encoded(struct arena *a, const struct expr *e)
{
	struct buf b;

	MUST(ex_can_travel(e));
	buf_init(&b, a);
	ex_encode(&b, e);
	return buf_view(&b);
}

static const uint32_t input_name[] = {3}, input_n[] = {4};

static void
a_key_is_the_columns_and_then_the_primary_key(void)
{
	struct arena *a = arena_new(NULL, "test");
	struct cl_index by_name = index_of(&table, on_name, 1);
	struct cl_index by_n = index_of(&table, on_n_down_name, 2);
	struct val vals[4] = {
	    val_int(EX_INT8, 7), val_null(EX_TEXT), text("ab"), num(a, "1.50")};

	CHECK_STR(key_hex(a, &table, &by_name, vals), "4061620001408107");
	CHECK_STR(
	    key_hex(a, &table, &by_n, vals), "5fbf7efeefff4061620001408107");
	vals[2] = val_null(EX_TEXT);
	vals[3] = val_null(EX_NUMERIC);
	CHECK_STR(key_hex(a, &table, &by_name, vals), "f0408107");
	CHECK_STR(key_hex(a, &table, &by_n, vals), "1010408107");
	arena_free(a);
}

static void
an_open_table_keeps_the_types_of_values_apart(void)
{
	struct arena *a = arena_new(NULL, "test");
	struct cl_index by_v = index_of(&open_table, on_v, 1);
	struct val vals[2] = {val_int(EX_INT8, 7), val_int(EX_INT8, 1)};

	CHECK_STR(key_hex(a, &open_table, &by_v, vals), "428101428107");
	vals[1] = num(a, "1.0");
	CHECK_STR(key_hex(a, &open_table, &by_v, vals), "454081010b00428107");
	vals[1] = text("1");
	CHECK_STR(key_hex(a, &open_table, &by_v, vals), "46310001428107");
	vals[1] = val_null(EX_TEXT);
	CHECK_STR(key_hex(a, &open_table, &by_v, vals), "f0428107");
	arena_free(a);
}

static void
an_expression_is_computed_and_a_predicate_tested(void)
{
	struct arena *a = arena_new(NULL, "test");
	struct cl_index_column lower = {.type = EX_TEXT,
	    .expr_sql = {"lower(name)", 11},
	    .expr = encoded(a, lower_of_input())};
	struct cl_index index = index_of(&table, &lower, 1);
	struct val vals[4] = {val_int(EX_INT8, 7), val_null(EX_TEXT),
	    text("AB"), val_null(EX_NUMERIC)};
	struct expr *name = ex_column(a, 0, EX_TEXT, -1);

	index.n_inputs = 1;
	index.inputs = input_name;
	CHECK_STR(key_hex(a, &table, &index, vals), "4061620001408107");
	index.where_sql = STR("name IS NULL");
	index.where = encoded(a, ex_op(a, EX_IS_NULL, EX_BOOL, &name, 1));
	CHECK_STR(key_hex(a, &table, &index, vals), "-");
	vals[2] = val_null(EX_TEXT);
	CHECK_STR(key_hex(a, &table, &index, vals), "f0408107");
	arena_free(a);
}

/* 1 / n, which fails for zero. */
static void
what_an_expression_refuses_is_refused(void)
{
	struct arena *a = arena_new(NULL, "test");
	struct expr *args[] = {
	    ex_const(a, num(a, "1")), ex_column(a, 0, EX_NUMERIC, -1)};
	struct cl_index_column inverse = {
	    .type = EX_NUMERIC, .expr_sql = {"1 / n", 5}};
	struct cl_index index = index_of(&table, &inverse, 1);
	struct val vals[4] = {val_int(EX_INT8, 7), val_null(EX_TEXT),
	    val_null(EX_TEXT), num(a, "0")};
	struct expr *e = NULL;
	struct err *err;
	struct buf out;
	bool in;

	MUST(!calc_bind("/", args, 2, &e));
	inverse.expr = encoded(a, e);
	index.n_inputs = 1;
	index.inputs = input_n;
	buf_init(&out, a);
	err = ex_index_key(a, opened(a, &table, &index), vals,
	    pk_of(a, &table, vals[0]), &out, &in);
	MUST(err != NULL);
	CHECK(err_is(err, ERRCODE_DIVISION_BY_ZERO));
	arena_free(a);
}

static void
a_key_above_the_limit_names_the_index(void)
{
	struct arena *a = arena_new(NULL, "test");
	struct cl_index index = index_of(&table, on_name, 1);
	size_t most = EX_INDEX_KEY_MAX - 3 - 3;
	char *big = arena_alloc(a, most + 2);
	struct val vals[4] = {val_int(EX_INT8, 7), val_null(EX_TEXT),
	    val_null(EX_TEXT), val_null(EX_NUMERIC)};
	struct ex_index *x = opened(a, &table, &index);
	struct err *e;
	struct buf out;
	bool in;

	memset(big, 'x', most + 1);
	vals[2] = val_str(EX_TEXT, str_of(big, most));
	buf_init(&out, a);
	CHECK(!ex_index_key(a, x, vals, pk_of(a, &table, vals[0]), &out, &in));
	CHECK(out.len == EX_INDEX_KEY_MAX);
	vals[2] = val_str(EX_TEXT, str_of(big, most + 1));
	e = ex_index_key(a, x, vals, pk_of(a, &table, vals[0]), &out, &in);
	MUST(e != NULL);
	CHECK(err_is(e, ERRCODE_PROGRAM_LIMIT_EXCEEDED));
	CHECK_STR(e->message,
	    "index row size 8129 exceeds maximum 8128 for index \"t_idx\"");
	arena_free(a);
}

static void
a_value_without_order_is_refused_in_an_open_table(void)
{
	struct arena *a = arena_new(NULL, "test");
	struct cl_index index = index_of(&open_table, on_v, 1);
	struct val vals[2] = {val_int(EX_INT8, 7), val_str(EX_JSON, STR("{}"))};
	struct err *e;
	struct buf out;
	bool in;

	buf_init(&out, a);
	e = ex_index_key(a, opened(a, &open_table, &index), vals,
	    pk_of(a, &open_table, vals[0]), &out, &in);
	MUST(e != NULL);
	CHECK(err_is(e, ERRCODE_FEATURE_NOT_SUPPORTED));
	arena_free(a);
}

static void
what_does_not_fit_the_table_is_corrupt(void)
{
	struct arena *a = arena_new(NULL, "test");
	struct cl_index_column nine = {.column = 9, .type = EX_TEXT};
	struct cl_index_column lower = {.type = EX_TEXT,
	    .expr_sql = {"lower(name)", 11},
	    .expr = encoded(a, lower_of_input())};
	struct cl_index missing = index_of(&table, &nine, 1);
	struct cl_index no_input = index_of(&table, &lower, 1);
	struct cl_index other = index_of(&open_table, on_v, 1);
	const struct cl_index *all[] = {&missing, &no_input, &other};
	struct ex_index *x;

	for (size_t i = 0; i < 3; i++) {
		struct err *e = ex_index_open(a, &table, all[i], &x);

		MUST(e != NULL);
		CHECK(err_is(e, ERRCODE_DATA_CORRUPTED) && !x);
	}
	arena_free(a);
	calc_fini();
}

CU_MAIN("index",
    {"a_key_is_the_columns_and_then_the_primary_key",
	a_key_is_the_columns_and_then_the_primary_key},
    {"an_open_table_keeps_the_types_of_values_apart",
	an_open_table_keeps_the_types_of_values_apart},
    {"an_expression_is_computed_and_a_predicate_tested",
	an_expression_is_computed_and_a_predicate_tested},
    {"what_an_expression_refuses_is_refused",
	what_an_expression_refuses_is_refused},
    {"a_key_above_the_limit_names_the_index",
	a_key_above_the_limit_names_the_index},
    {"a_value_without_order_is_refused_in_an_open_table",
	a_value_without_order_is_refused_in_an_open_table},
    {"what_does_not_fit_the_table_is_corrupt",
	what_does_not_fit_the_table_is_corrupt})
