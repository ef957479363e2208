#include "expr/table.h"

#include "cluster/msg.h"
#include "cluster/row.h"
#include "regress/lib/cu.h"

#define COL(i, n, ty, fl)                                                      \
	{                                                                      \
		.id = (i), .name = {"" n, sizeof(n) - 1}, .type = (ty),        \
		.typmod = -1, .flags = (fl)                                    \
	}

static const struct cl_column two_cols[] = {
    COL(1, "tenant", EX_INT4, CL_COL_NOT_NULL),
    COL(2, "id", EX_TEXT, CL_COL_NOT_NULL),
    COL(3, "n", EX_NUMERIC, 0),
    COL(5, "b", EX_BOOL, 0),
};
static const uint32_t two_key[] = {1, 2};
static const struct cl_table two = {.id = 20000,
    .name = {"two", 3},
    .n_columns = 4,
    .columns = two_cols,
    .n_pkey = 2,
    .pkey = two_key,
    .n_distribute = 1};

static const struct cl_column hidden_cols[] = {
    COL(1, "__block", EX_INT8, CL_COL_NOT_NULL | CL_COL_HIDDEN),
    COL(2, "__row", EX_INT4, CL_COL_NOT_NULL | CL_COL_HIDDEN),
    COL(3, "v", EX_TEXT, 0),
};
static const struct cl_table hidden = {.id = 20001,
    .name = {"hidden", 6},
    .n_columns = 3,
    .columns = hidden_cols,
    .n_pkey = 2,
    .pkey = two_key};

static const struct cl_column open_cols[] = {
    COL(1, "id", EX_INT8, 0),
    COL(2, "v", EX_TEXT, CL_COL_SEEN | CL_COL_MIXED),
};
static const uint32_t one_key[] = {1};
static const struct cl_table open_table = {.id = 20002,
    .name = {"o", 1},
    .open = true,
    .n_columns = 2,
    .columns = open_cols,
    .n_pkey = 1,
    .pkey = one_key};

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
key_of(struct arena *a, const struct cl_table *t, const struct val *pk)
{
	struct buf b;

	buf_init(&b, a);
	MUST(!ex_table_key(a, t, pk, &b));
	return buf_view(&b);
}

static void
a_row_reads_back_what_was_written(void)
{
	struct arena *a = arena_new(NULL, "test");
	struct val in[4] = {
	    val_int(EX_INT4, -7), text("k"), num(a, "1.50"), val_bool(true)};
	static const uint32_t all[] = {1, 2, 3, 5}, some[] = {5, 1, 5},
			      twice[] = {5, 3, 5};
	struct str key = key_of(a, &two, in);
	struct val out[4];
	struct buf row, t;

	buf_init(&row, a);
	MUST(!ex_table_row(a, &two, in, 54000, &row));
	MUST(!ex_table_read(a, &two, key, buf_view(&row), all, 4, out));
	CHECK(out[0].type == EX_INT4 && out[0].u.i == -7);
	CHECK(out[1].type == EX_TEXT && str_eq(out[1].u.s, STR("k")));
	buf_init(&t, a);
	ex_out(&t, &ex_env_default, out[2]);
	CHECK_STR(buf_cstr(&t), "1.50");
	CHECK(out[3].type == EX_BOOL && out[3].u.b);
	MUST(!ex_table_read(a, &two, key, buf_view(&row), some, 3, out));
	CHECK(out[0].u.b && out[1].u.i == -7 && out[2].u.b);
	MUST(!ex_table_read(a, &two, key, buf_view(&row), twice, 3, out));
	CHECK(!out[0].null && out[0].u.b && !out[1].null && out[2].u.b);
	arena_free(a);
}

static void
nulls_and_key_columns_take_no_room_in_the_row(void)
{
	struct arena *a = arena_new(NULL, "test");
	struct val in[4] = {val_int(EX_INT4, 1), text("k"),
	    val_null(EX_NUMERIC), val_null(EX_BOOL)};
	static const uint32_t all[] = {3, 5};
	struct val out[2];
	struct buf row;

	buf_init(&row, a);
	MUST(!ex_table_row(a, &two, in, 54000, &row));
	CHECK(row.len == CL_ROW_HEADER);
	MUST(!ex_table_read(
	    a, &two, key_of(a, &two, in), buf_view(&row), all, 2, out));
	CHECK(out[0].null && out[0].type == EX_NUMERIC);
	CHECK(out[1].null && out[1].type == EX_BOOL);
	arena_free(a);
}

static void
a_null_key_is_refused_and_names_the_column(void)
{
	struct arena *a = arena_new(NULL, "test");
	struct val pk[2] = {val_int(EX_INT4, 1), val_null(EX_TEXT)};
	struct buf b;
	struct err *e;

	buf_init(&b, a);
	e = ex_table_key(a, &two, pk, &b);
	MUST(e != NULL);
	CHECK(err_is(e, ERRCODE_NOT_NULL_VIOLATION));
	CHECK_STR(e->message, "null value in column \"id\" of relation "
			      "\"two\" violates not-null constraint");
	CHECK_STR(e->column, "id");
	arena_free(a);
}

static void
a_key_above_the_limit_is_refused(void)
{
	struct arena *a = arena_new(NULL, "test");
	char *big = arena_alloc(a, CL_KEY_MAX + 1);
	struct val pk[2] = {val_int(EX_INT4, 1)};
	struct buf b;
	struct err *e;

	memset(big, 'x', CL_KEY_MAX);
	pk[1] = text(big);
	buf_init(&b, a);
	e = ex_table_key(a, &two, pk, &b);
	MUST(e != NULL);
	CHECK(err_is(e, ERRCODE_PROGRAM_LIMIT_EXCEEDED));
	arena_free(a);
}

static void
a_row_above_the_limit_names_column_and_limit(void)
{
	struct arena *a = arena_new(NULL, "test");
	struct val in[3] = {val_int(EX_INT8, 1), val_int(EX_INT4, 1)};
	char *big = arena_alloc(a, 101);
	struct buf row;
	struct err *e;

	memset(big, 'x', 100);
	in[2] = text(big);
	buf_init(&row, a);
	e = ex_table_row(a, &hidden, in, 100, &row);
	MUST(e != NULL);
	CHECK(err_is(e, ERRCODE_PROGRAM_LIMIT_EXCEEDED));
	CHECK_STR(e->column, "v");
	CHECK(strstr(e->message, "maximum size 100") != NULL);
	row.len = 0;
	CHECK(!ex_table_row(a, &hidden, in, 200, &row));
	arena_free(a);
}

static void
the_placement_key_is_the_distribute_by_prefix(void)
{
	struct arena *a = arena_new(NULL, "test");
	struct val x[2] = {val_int(EX_INT4, 9), text("a")};
	struct val y[2] = {val_int(EX_INT4, 9), text("zz")};
	struct val z[2] = {val_int(EX_INT4, 8), text("a")};
	struct str kx = key_of(a, &two, x), ky = key_of(a, &two, y);
	struct str kz = key_of(a, &two, z), p;
	struct buf prefix;

	p = ex_table_placement_key(&two, kx);
	CHECK(str_eq(p, ex_table_placement_key(&two, ky)));
	CHECK(!str_eq(p, ex_table_placement_key(&two, kz)));
	CHECK(ex_table_slot(&two, 256, kx) == ex_table_slot(&two, 256, ky));
	buf_init(&prefix, a);
	ex_table_key_prefix(&prefix, &two, x, 1);
	CHECK(str_eq(p, buf_view(&prefix)));
	arena_free(a);
}

static void
the_placement_key_of_a_hidden_key_is_its_block(void)
{
	struct arena *a = arena_new(NULL, "test");
	struct val x[2] = {val_int(EX_INT8, 77), val_int(EX_INT4, 1)};
	struct val y[2] = {val_int(EX_INT8, 77), val_int(EX_INT4, 2)};
	struct str kx = key_of(a, &hidden, x), ky = key_of(a, &hidden, y);

	CHECK(!str_eq(kx, ky));
	CHECK(str_eq(ex_table_placement_key(&hidden, kx),
	    ex_table_placement_key(&hidden, ky)));
	arena_free(a);
}

static void
open_tables_keep_types_and_show_mixed_columns_as_text(void)
{
	struct arena *a = arena_new(NULL, "test");
	struct val one[2] = {val_int(EX_INT8, 1), val_int(EX_INT8, 42)};
	struct val dec[2] = {num(a, "1"), val_bool(true)};
	struct str k1 = key_of(a, &open_table, one);
	struct str k2 = key_of(a, &open_table, dec);
	static const uint32_t all[] = {1, 2};
	struct val out[2];
	struct buf row;

	CHECK(!str_eq(k1, k2));
	buf_init(&row, a);
	MUST(!ex_table_row(a, &open_table, one, 54000, &row));
	MUST(!ex_table_read(a, &open_table, k1, buf_view(&row), all, 2, out));
	CHECK(out[0].type == EX_INT8 && out[0].u.i == 1);
	CHECK(out[1].type == EX_TEXT && str_eq(out[1].u.s, STR("42")));
	row.len = 0;
	MUST(!ex_table_row(a, &open_table, dec, 54000, &row));
	MUST(!ex_table_read(a, &open_table, k2, buf_view(&row), all, 2, out));
	CHECK(out[0].type == EX_INT8 && out[0].u.i == 1);
	CHECK(out[1].type == EX_TEXT && !out[1].null);
	arena_free(a);
}

static void
malformed_bytes_are_reported_as_corruption(void)
{
	struct arena *a = arena_new(NULL, "test");
	static const uint32_t all[] = {1, 2, 3, 5};
	struct val in[4] = {
	    val_int(EX_INT4, 1), text("k"), num(a, "2"), val_bool(true)};
	struct str key = key_of(a, &two, in);
	struct val out[4];
	struct err *e;
	struct buf row;

	buf_init(&row, a);
	MUST(!ex_table_row(a, &two, in, 54000, &row));
	e = ex_table_read(
	    a, &two, key, str_of(row.p, row.len - 1), all, 4, out);
	CHECK(e && err_is(e, ERRCODE_DATA_CORRUPTED));
	e = ex_table_read(
	    a, &two, str_of(key.p, 2), buf_view(&row), all, 4, out);
	CHECK(e && err_is(e, ERRCODE_DATA_CORRUPTED));
	arena_free(a);
}

static void
the_row_key_splits_into_its_parts(void)
{
	struct arena *a = arena_new(NULL, "test");
	struct str rest;
	struct buf b;
	uint32_t table;
	uint16_t slot;

	buf_init(&b, a);
	ex_table_row_key(&b, &two, 17, STR("key"));
	MUST(cl_key_split(buf_view(&b), &table, &slot, &rest));
	CHECK(table == two.id && slot == 17 && str_eq(rest, STR("key")));
	arena_free(a);
}

CU_MAIN("table",
    {"a_row_reads_back_what_was_written", a_row_reads_back_what_was_written},
    {"nulls_and_key_columns_take_no_room_in_the_row",
	nulls_and_key_columns_take_no_room_in_the_row},
    {"a_null_key_is_refused_and_names_the_column",
	a_null_key_is_refused_and_names_the_column},
    {"a_key_above_the_limit_is_refused", a_key_above_the_limit_is_refused},
    {"a_row_above_the_limit_names_column_and_limit",
	a_row_above_the_limit_names_column_and_limit},
    {"the_placement_key_is_the_distribute_by_prefix",
	the_placement_key_is_the_distribute_by_prefix},
    {"the_placement_key_of_a_hidden_key_is_its_block",
	the_placement_key_of_a_hidden_key_is_its_block},
    {"open_tables_keep_types_and_show_mixed_columns_as_text",
	open_tables_keep_types_and_show_mixed_columns_as_text},
    {"malformed_bytes_are_reported_as_corruption",
	malformed_bytes_are_reported_as_corruption},
    {"the_row_key_splits_into_its_parts", the_row_key_splits_into_its_parts})
