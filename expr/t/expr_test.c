/* Trees: evaluation, folding, equality, coercion. */
#include "expr/expr.h"

#include "expr/cast_int.h"
#include "expr/t/calc.h"
#include "regress/lib/cu.h"

static struct ex_ctx
ctx_of(void)
{
	return (struct ex_ctx){.arena = calc_arena(), .env = &ex_env_default};
}

static struct expr *
node(enum ex_node kind, uint32_t type, const char *const *args)
{
	struct expr **list = NEW_N(calc_arena(), struct expr *, CALC_ARGS_MAX);
	uint32_t n = 0;

	for (; args[n]; n++)
		list[n] = calc_arg(args[n]);
	return ex_op(calc_arena(), kind, type, list, n);
}
#define NODE(kind, type, ...)                                                  \
	node((kind), (type), (const char *const[]){__VA_ARGS__, NULL})

static const char *
value(struct expr *e)
{
	struct ex_ctx ctx = ctx_of();
	struct val v;
	struct buf b;
	struct err *err = ex_eval(&ctx, e, &v);

	if (err)
		return arena_printf(
		    calc_arena(), "!%s %s", err->sqlstate, err->message);
	if (v.null)
		return "NULL";
	buf_init(&b, calc_arena());
	ex_out(&b, &ex_env_default, v);
	return buf_cstr(&b);
}

static struct expr *
call1(const char *name, struct expr *x)
{
	struct expr **args = NEW_N(calc_arena(), struct expr *, 1), *out;

	args[0] = x;
	MUST(!calc_bind(name, args, 1, &out));
	return out;
}

static struct expr *
call2(const char *name, struct expr *x, struct expr *y)
{
	struct expr **args = NEW_N(calc_arena(), struct expr *, 2), *out;

	args[0] = x;
	args[1] = y;
	MUST(!calc_bind(name, args, 2, &out));
	return out;
}

static void
logic_has_three_values(void)
{
	static const char *const bools[] = {"bool:t", "bool:f", "bool:NULL"};
	static const char *const and[3][3] = {
	    {"t", "f", "NULL"}, {"f", "f", "f"}, {"NULL", "f", "NULL"}};
	static const char *const or [3][3] = {
	    {"t", "t", "t"}, {"t", "f", "NULL"}, {"t", "NULL", "NULL"}};

	for (int i = 0; i < 3; i++)
		for (int k = 0; k < 3; k++) {
			CHECK_STR(
			    value(NODE(EX_AND, EX_BOOL, bools[i], bools[k])),
			    and[i][k]);
			CHECK_STR(
			    value(NODE(EX_OR, EX_BOOL, bools[i], bools[k])),
			    or [i][k]);
		}
	CHECK_STR(value(NODE(EX_NOT, EX_BOOL, "bool:t")), "f");
	CHECK_STR(value(NODE(EX_NOT, EX_BOOL, "bool:NULL")), "NULL");
	CHECK_STR(value(NODE(EX_IS_TRUE, EX_BOOL, "bool:NULL")), "f");
	CHECK_STR(value(NODE(EX_IS_NOT_TRUE, EX_BOOL, "bool:NULL")), "t");
	CHECK_STR(value(NODE(EX_IS_FALSE, EX_BOOL, "bool:f")), "t");
	CHECK_STR(value(NODE(EX_IS_NOT_FALSE, EX_BOOL, "bool:f")), "f");
	CHECK_STR(value(NODE(EX_IS_NULL, EX_BOOL, "int4:NULL")), "t");
	CHECK_STR(value(NODE(EX_IS_NOT_NULL, EX_BOOL, "int4:1")), "t");
	calc_fini();
}

static struct expr *
failing(void)
{
	return call2("/", calc_arg("int4:1"), calc_arg("int4:0"));
}

static void
only_what_is_needed_is_evaluated(void)
{
	struct expr *bad = call2("=", failing(), calc_arg("int4:1"));
	struct expr *args[4];

	args[0] = calc_arg("bool:f");
	args[1] = bad;
	CHECK_STR(value(ex_op(calc_arena(), EX_AND, EX_BOOL, args, 2)), "f");
	CHECK_STR(value(ex_op(calc_arena(), EX_OR, EX_BOOL, args, 2)),
	    "!22012 division by zero");
	args[0] = calc_arg("bool:f");
	args[1] = failing();
	args[2] = calc_arg("int4:7");
	CHECK_STR(value(ex_op(calc_arena(), EX_CASE, EX_INT4, args, 3)), "7");
	args[0] = calc_arg("int4:3");
	CHECK_STR(
	    value(ex_op(calc_arena(), EX_COALESCE, EX_INT4, args, 2)), "3");
	/* A strict function's arguments are all evaluated, as PostgreSQL does
	 * it. */
	CHECK_STR(value(call2("+", calc_arg("int4:NULL"), failing())),
	    "!22012 division by zero");
	calc_fini();
}

static void
case_takes_the_first_true_branch(void)
{
	CHECK_STR(value(NODE(EX_CASE, EX_INT4, "bool:NULL", "int4:1", "bool:t",
		      "int4:2", "int4:3")),
	    "2");
	CHECK_STR(value(NODE(EX_CASE, EX_INT4, "bool:f", "int4:1", "bool:f",
		      "int4:2", "int4:3")),
	    "3");
	CHECK_STR(value(NODE(EX_CASE, EX_INT4, "bool:f", "int4:1")), "NULL");
	CHECK_STR(value(NODE(EX_CASE, EX_INT4, "bool:t", "int4:1")), "1");
	CHECK_STR(value(NODE(EX_CASE, EX_INT4, "int4:5")), "5");
	calc_fini();
}

static void
in_is_null_when_unsure(void)
{
	CHECK_STR(
	    value(NODE(EX_IN, EX_BOOL, "int4:1", "int4:2", "int4:1")), "t");
	CHECK_STR(value(NODE(EX_IN, EX_BOOL, "int4:1", "int4:2", "int4:NULL")),
	    "NULL");
	CHECK_STR(
	    value(NODE(EX_IN, EX_BOOL, "int4:1", "int4:NULL", "int4:1")), "t");
	CHECK_STR(value(NODE(EX_IN, EX_BOOL, "int4:1", "int4:2")), "f");
	CHECK_STR(value(NODE(EX_IN, EX_BOOL, "int4:NULL", "int4:2")), "NULL");
	CHECK_STR(value(NODE(EX_IN, EX_BOOL, "json:1", "json:1")),
	    "!42883 could not identify an equality operator for type json");
	calc_fini();
}

static void
distinct_and_extremes_know_null(void)
{
	CHECK_STR(
	    value(NODE(EX_DISTINCT, EX_BOOL, "int4:NULL", "int4:NULL")), "f");
	CHECK_STR(
	    value(NODE(EX_DISTINCT, EX_BOOL, "int4:1", "int4:NULL")), "t");
	CHECK_STR(
	    value(NODE(EX_NOT_DISTINCT, EX_BOOL, "int4:1", "int4:1")), "t");
	CHECK_STR(value(NODE(EX_NULLIF, EX_INT4, "int4:1", "int4:1")), "NULL");
	CHECK_STR(value(NODE(EX_NULLIF, EX_INT4, "int4:1", "int4:2")), "1");
	CHECK_STR(
	    value(NODE(EX_NULLIF, EX_INT4, "int4:NULL", "int4:2")), "NULL");
	CHECK_STR(value(NODE(EX_GREATEST, EX_INT4, "int4:1", "int4:NULL",
		      "int4:3", "int4:2")),
	    "3");
	CHECK_STR(
	    value(NODE(EX_LEAST, EX_INT4, "int4:NULL", "int4:3", "int4:2")),
	    "2");
	CHECK_STR(value(NODE(EX_LEAST, EX_INT4, "int4:NULL")), "NULL");
	calc_fini();
}

/* ---- depth ---- */

static struct expr *
nested(int depth)
{
	struct expr *e = calc_arg("int4:0");

	for (int i = 1; i < depth; i++)
		e = i % 2 ? call2("+", e, calc_arg("int4:1"))
			  : call2("+", calc_arg("int4:1"), e);
	return e;
}

static void
depth_is_limited_with_an_error(void)
{
	struct ex_ctx ctx = ctx_of();

	CHECK_STR(value(nested(EX_DEPTH_BIND_MAX)), "1999");
	CHECK_STR(value(nested(EX_DEPTH_BIND_MAX + 2)),
	    "!54001 stack depth limit exceeded");
	CHECK_STR(value(ex_fold(&ctx, nested(EX_DEPTH_BIND_MAX))), "1999");
	CHECK(ex_fold(&ctx, nested(100000))->node == EX_CALL);
	CHECK(ex_can_travel(nested(EX_DEPTH_MAX)));
	CHECK(!ex_can_travel(nested(EX_DEPTH_MAX + 1)));
	calc_fini();
}

static void
wide_calls_are_evaluated(void)
{
	struct expr **args = NEW_N(calc_arena(), struct expr *, 2000);
	uint32_t text = EX_TEXT;
	const struct ex_func *f;

	MUST(!ex_find_func(calc_arena(), STR("concat"), &text, 1, &f));
	for (int i = 0; i < 2000; i++)
		args[i] = i % 2 ? call1("lower", calc_arg("text:X"))
				: calc_arg("text:y");
	CHECK(strlen(value(ex_call(calc_arena(), f, args, 2000))) == 2000);
	calc_fini();
}

/* ---- rows and parameters ---- */

static void
columns_and_parameters_are_checked(void)
{
	struct ex_ctx ctx = ctx_of();
	struct val row[1] = {val_int(EX_INT4, 41)}, v;
	struct expr *col = ex_column(calc_arena(), 0, EX_INT4, -1);
	bool yes;

	ctx.row = row;
	ctx.n_row = 1;
	MUST(!ex_eval(&ctx, call2("+", col, calc_arg("int4:1")), &v));
	CHECK(v.u.i == 42);
	MUST(!ex_test(&ctx, call2("=", col, calc_arg("int4:41")), &yes));
	CHECK(yes);
	MUST(!ex_test(&ctx, calc_arg("bool:NULL"), &yes));
	CHECK(!yes);
	CHECK(err_is(ex_eval(&ctx, ex_column(calc_arena(), 1, EX_INT4, -1), &v),
	    ERRCODE_INTERNAL_ERROR));
	CHECK(err_is(ex_eval(&ctx, ex_column(calc_arena(), 0, EX_TEXT, -1), &v),
	    ERRCODE_INTERNAL_ERROR));
	calc_fini();
}

/* ---- folding ---- */

static struct expr *
param(uint32_t i, uint32_t type)
{
	struct expr *e = ex_column(calc_arena(), 0, type, -1);

	e->node = EX_PARAM;
	e->u.param = i;
	return e;
}

static void
folding_leaves_the_original_alone(void)
{
	struct ex_ctx ctx = ctx_of();
	struct val p = val_int(EX_INT4, 5);
	struct expr *col = ex_column(calc_arena(), 0, EX_INT4, -1);
	struct expr *sum = call2("+", param(1, EX_INT4), calc_arg("int4:1"));
	struct expr *e = call2("=", col, sum), *folded;

	ctx.params = &p;
	ctx.n_params = 1;
	folded = ex_fold(&ctx, e);
	CHECK(folded != e && e->args[1] == sum);
	CHECK(folded->args[0] == col);
	CHECK(folded->args[1]->node == EX_CONST);
	CHECK(folded->args[1]->u.con.u.i == 6);
	CHECK(ex_can_travel(folded) && !ex_can_travel(e));
	p.u.i = 8;
	CHECK(ex_fold(&ctx, e)->args[1]->u.con.u.i == 9);
	calc_fini();
}

static void
folding_keeps_what_fails_and_what_is_volatile(void)
{
	struct ex_env env = ex_env_default;
	struct ex_ctx ctx = ctx_of();
	const struct ex_func *f;
	struct expr *e = failing();

	env.now_us = 1000000;
	ctx.env = &env;
	CHECK(ex_fold(&ctx, e) == e);
	MUST(!ex_find_func(calc_arena(), STR("random"), NULL, 0, &f));
	e = ex_call(calc_arena(), f, NULL, 0);
	CHECK(ex_fold(&ctx, e) == e);
	MUST(!ex_find_func(calc_arena(), STR("now"), NULL, 0, &f));
	e = ex_call(calc_arena(), f, NULL, 0);
	CHECK(!ex_can_travel(e));
	e = ex_fold(&ctx, e);
	CHECK(e->node == EX_CONST && e->u.con.u.i == 1000000);
	calc_fini();
}

static void
folding_simplifies_conditions(void)
{
	struct ex_ctx ctx = ctx_of();
	struct expr *col = ex_column(calc_arena(), 0, EX_BOOL, -1);
	struct expr *args[2] = {calc_arg("bool:t"), col};

	CHECK(ex_fold(&ctx, ex_op(calc_arena(), EX_AND, EX_BOOL, args, 2)) ==
	      col);
	CHECK(
	    ex_fold(&ctx, ex_op(calc_arena(), EX_OR, EX_BOOL, args, 2))->node ==
	    EX_CONST);
	args[0] = calc_arg("bool:NULL");
	CHECK(ex_fold(&ctx, ex_op(calc_arena(), EX_AND, EX_BOOL, args, 2))
		  ->n_args == 2);
	calc_fini();
}

/* ---- equality, coercion ---- */

static void
equality_is_of_form_not_of_value(void)
{
	CHECK(ex_equal(failing(), failing()));
	CHECK(!ex_equal(calc_arg("numeric:1.0"), calc_arg("numeric:1.00")));
	CHECK(ex_equal(calc_arg("text:a"), calc_arg("text:a")));
	CHECK(!ex_equal(calc_arg("text:a"), calc_arg("varchar:a")));
	CHECK(ex_equal(calc_arg("interval:1 day"), calc_arg("interval:1 day")));
	CHECK(
	    !ex_equal(calc_arg("interval:1 day"), calc_arg("interval:24:00")));
	CHECK(!ex_equal(calc_arg("int4:NULL"), calc_arg("int4:0")));
	calc_fini();
}

static struct err *
coerce(const char *arg, uint32_t type, int32_t typmod, enum ex_coercion c,
    struct expr **out)
{
	struct expr *e = calc_arg(arg);

	e->position = 7;
	return ex_coerce(
	    calc_arena(), &ex_env_default, e, type, typmod, c, out);
}

static void
coercion_depends_on_its_context(void)
{
	struct expr *e;
	struct err *err;

	MUST(!coerce("int4:1", EX_INT8, -1, EX_IMPLICIT, &e));
	CHECK(coerce("int8:1", EX_INT4, -1, EX_IMPLICIT, &e) != NULL);
	MUST(!coerce("int8:1", EX_INT4, -1, EX_ASSIGNMENT, &e));
	CHECK(coerce("int4:1", EX_BOOL, -1, EX_ASSIGNMENT, &e) != NULL);
	MUST(!coerce("int4:1", EX_BOOL, -1, EX_EXPLICIT, &e));
	CHECK(coerce("int4:1", EX_TEXT, -1, EX_IMPLICIT, &e) != NULL);
	MUST(!coerce("int4:1", EX_TEXT, -1, EX_ASSIGNMENT, &e));
	CHECK(coerce("text:1", EX_INT4, -1, EX_ASSIGNMENT, &e) != NULL);
	err = coerce("unknown:x", EX_INT4, -1, EX_IMPLICIT, &e);
	MUST(err != NULL);
	CHECK_STR(err->sqlstate, ERRCODE_INVALID_TEXT_REPRESENTATION);
	CHECK(err->position == 7);
	err = coerce("date:2020-01-01", EX_INT4, -1, EX_EXPLICIT, &e);
	MUST(err != NULL);
	CHECK_STR(err->message, "cannot cast type date to integer");
	CHECK_STR(err->sqlstate, ERRCODE_CANNOT_COERCE);
	calc_fini();
}

static void
lengths_are_cut_by_casts_and_refused_by_assignment(void)
{
	struct expr *e;

	MUST(!coerce("text:abcdef", EX_VARCHAR, 4 + 3, EX_EXPLICIT, &e));
	CHECK_STR(value(e), "abc");
	MUST(!coerce("text:abcdef", EX_VARCHAR, 4 + 3, EX_ASSIGNMENT, &e));
	CHECK_STR(
	    value(e), "!22001 value too long for type character varying(3)");
	MUST(!coerce(
	    "unknown:1.255", EX_NUMERIC, (5 << 16 | 2) + 4, EX_ASSIGNMENT, &e));
	CHECK_STR(value(e), "1.26");
	CHECK(e->typmod == (5 << 16 | 2) + 4);
	calc_fini();
}

static void
common_types_are_those_of_union(void)
{
	uint32_t a[] = {EX_INT4, EX_UNKNOWN, EX_NUMERIC}, t;
	uint32_t b[] = {EX_UNKNOWN, EX_UNKNOWN}, c[] = {EX_INT4, EX_TEXT};
	uint32_t d[] = {EX_FLOAT8, EX_NUMERIC}, f[] = {EX_VARCHAR, EX_TEXT};
	struct err *err;

	MUST(!ex_common_type(calc_arena(), a, 3, "CASE", &t));
	CHECK(t == EX_NUMERIC);
	MUST(!ex_common_type(calc_arena(), b, 2, "CASE", &t));
	CHECK(t == EX_TEXT);
	MUST(!ex_common_type(calc_arena(), d, 2, "CASE", &t));
	CHECK(t == EX_FLOAT8);
	MUST(!ex_common_type(calc_arena(), f, 2, "CASE", &t));
	CHECK(t == EX_TEXT || t == EX_VARCHAR);
	err = ex_common_type(calc_arena(), c, 2, "UNION", &t);
	MUST(err != NULL);
	CHECK_STR(
	    err->message, "UNION types integer and text cannot be matched");
	CHECK_STR(err->sqlstate, ERRCODE_DATATYPE_MISMATCH);
	calc_fini();
}

static void
messages_carry_hints(void)
{
	uint32_t types[2] = {EX_INT4, EX_BOOL};
	const struct ex_func *f;
	struct err *err;

	err = ex_find_op(calc_arena(), STR("+"), EX_INT4, EX_BOOL, &f);
	MUST(err != NULL);
	CHECK_STR(err->message, "operator does not exist: integer + boolean");
	CHECK_STR(err->hint,
	    "No operator matches the given name and argument types. You might "
	    "need to add explicit type casts.");
	err = ex_find_func(calc_arena(), STR("foo"), types, 2, &f);
	MUST(err != NULL);
	CHECK_STR(
	    err->message, "function foo(integer, boolean) does not exist");
	CHECK_STR(err->hint,
	    "No function matches the given name and argument types. You might "
	    "need to add explicit type casts.");
	calc_fini();
}

CU_MAIN("expr", {"logic_has_three_values", logic_has_three_values},
    {"only_what_is_needed_is_evaluated", only_what_is_needed_is_evaluated},
    {"case_takes_the_first_true_branch", case_takes_the_first_true_branch},
    {"in_is_null_when_unsure", in_is_null_when_unsure},
    {"distinct_and_extremes_know_null", distinct_and_extremes_know_null},
    {"depth_is_limited_with_an_error", depth_is_limited_with_an_error},
    {"wide_calls_are_evaluated", wide_calls_are_evaluated},
    {"columns_and_parameters_are_checked", columns_and_parameters_are_checked},
    {"folding_leaves_the_original_alone", folding_leaves_the_original_alone},
    {"folding_keeps_what_fails_and_what_is_volatile",
	folding_keeps_what_fails_and_what_is_volatile},
    {"folding_simplifies_conditions", folding_simplifies_conditions},
    {"equality_is_of_form_not_of_value", equality_is_of_form_not_of_value},
    {"coercion_depends_on_its_context", coercion_depends_on_its_context},
    {"lengths_are_cut_by_casts_and_refused_by_assignment",
	lengths_are_cut_by_casts_and_refused_by_assignment},
    {"common_types_are_those_of_union", common_types_are_those_of_union},
    {"messages_carry_hints", messages_carry_hints})
