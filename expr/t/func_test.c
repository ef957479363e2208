/* Hundreds of calls whose results a PostgreSQL 15 gave (func_cases.def: CASE
 * lines of name, result, result type, arguments). */
#include "expr/t/calc.h"

#include <stdio.h>

#include "regress/lib/cu.h"

struct row {
	const char *name, *result, *type;
	const char *args[CALC_ARGS_MAX + 1];
};
#define CASE(name, result, type, ...) {name, result, type, {__VA_ARGS__}},
static const struct row rows[] = {
#include "expr/t/func_cases.def"
};
#undef CASE

static void
results_are_those_of_postgresql(void)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct row *r = &rows[i];
		const char *got = calc_v(r->name, r->args);
		bool ok = strcmp(got, r->result) == 0 &&
			  (got[0] == '!' || strcmp(calc_type(), r->type) == 0);

		if (!ok)
			fprintf(stderr,
			    "%s(%s, %s, %s): %s (%s), expected %s (%s)\n",
			    r->name, r->args[0] ? r->args[0] : "",
			    r->args[0] && r->args[1] ? r->args[1] : "",
			    r->args[0] && r->args[1] && r->args[2] ? r->args[2]
								   : "",
			    got, calc_type(), r->result, r->type);
		CHECK(ok);
		calc_fini();
	}
}

static void
every_operator_has_its_function(void)
{
	const struct ex_op *o;

	for (size_t i = 0; (o = ex_op_at(i)); i++) {
		const struct ex_func *f = ex_func(o->func);

		if (!f)
			fprintf(stderr, "no function of %u %s %u\n", o->left,
			    o->name, o->right);
		MUST(f != NULL);
		CHECK(f->n_args == (o->left ? 2 : 1));
		CHECK(f->args[f->n_args - 1] == o->right);
		CHECK(!o->left || f->args[0] == o->left);
	}
}

static void
every_function_is_of_known_types(void)
{
	const struct ex_func *f;

	for (size_t i = 0; (f = ex_func_at(i)); i++) {
		CHECK(ex_type(f->ret) || f->ret == EX_VOID);
		CHECK(f->fn != NULL);
		for (uint32_t k = 0; k < f->n_args; k++)
			CHECK(f->args[k] == EX_ANY || ex_type(f->args[k]));
	}
}

/* As if a client sent them: no crash whatever the arguments. */
static void
extreme_arguments_are_survived(void)
{
	static const char *const extremes[][2] = {{"int2", "-32768"},
	    {"int4", "-2147483648"}, {"int4", "2147483647"},
	    {"int8", "-9223372036854775808"}, {"float4", "NaN"},
	    {"float8", "-Infinity"}, {"float8", "1e308"}, {"numeric", "NaN"},
	    {"numeric", "-99999999999999999999.999"}, {"text", ""},
	    {"text", "%_\\[(*+?{"}, {"text", "\xc3\xa9"}, {"bool", "t"},
	    {"date", "-infinity"}, {"date", "4714-11-24 BC"},
	    {"timestamp", "infinity"}, {"timestamp", "294276-12-31"},
	    {"timestamptz", "294276-12-31 00:00+00"},
	    {"interval", "-178000000 years"}, {"time", "24:00"},
	    {"jsonb", "[{\"a\":[1,null]},\"x\"]"}, {"json", "{}"},
	    {"bytea", ""}, {"name", "x"}, {"oid", "4294967295"},
	    {"uuid", "00000000-0000-0000-0000-000000000000"}};
	const struct ex_func *f;

	for (size_t i = 0; (f = ex_func_at(i)); i++) {
		for (unsigned round = 0; round < 6; round++) {
			struct ex_ctx ctx = {
			    .arena = calc_arena(), .env = &ex_env_default};
			struct expr *args[EX_ARGS_MAX];
			struct val out;
			unsigned k = 0;

			for (; k < f->n_args; k++) {
				size_t at = (round * 7 + k * 3) % 26;

				for (size_t t = 0;
				     t < 26 && f->args[k] != EX_ANY &&
				     f->args[k] !=
					 ex_type_by_name(str_c(extremes[at][0]))
					     ->oid;
				     t++)
					at = (at + 1) % 26;
				args[k] = calc_arg(arena_printf(calc_arena(),
				    "%s:%s", extremes[at][0], extremes[at][1]));
				if (f->args[k] != EX_ANY &&
				    args[k]->type != f->args[k])
					break;
			}
			if (k == f->n_args)
				(void)!ex_eval(&ctx,
				    ex_call(calc_arena(), f, args, k), &out);
			calc_fini();
		}
	}
	CHECK(f == NULL);
}

static int64_t
quick_clock(void *arg)
{
	int64_t *now = arg;

	return *now += 10000;
}

static const char *
text_of(const char *part, unsigned times)
{
	struct buf b;

	buf_init(&b, calc_arena());
	buf_str(&b, STR("text:"));
	while (times-- > 0)
		buf_str(&b, str_c(part));
	buf_u8(&b, '\0');
	return buf_view(&b).p;
}

/* Each would run for minutes or longer. */
static void
calls_that_take_very_long_are_ended(void)
{
	static const struct {
		const char *name, *text, *by, *third;
		unsigned text_times, by_times;
	} cases[] = {{"~", "a", "a*a*[^a]", NULL, 30000, 1},
	    {"~", "a", "(a|b)*[^a]", NULL, 100000, 1},
	    {"regexp_count", "ab", "a(?=.*c)?", NULL, 100000, 1},
	    {"~~", "ab", "%abababababababababababababababababababababababc%",
		NULL, 400000, 1},
	    {"translate", "\xc3\xa9", "\xc3\xaa", "x", 300000, 300000},
	    {"btrim", "\xc3\xa9", "b\xc3\xa9", NULL, 300000, 1},
	    {"translate", "a", "b", "x", 900000, 900000}};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		int64_t now = 0;
		struct ex_env env = ex_env_default;
		struct ex_ctx ctx = {.arena = calc_arena(), .env = &env};
		struct expr *args[3], *call;
		struct err *e;
		struct val out;
		uint32_t n = cases[i].third ? 3 : 2;

		env.mono_us = quick_clock;
		env.arg = &now;
		args[0] = calc_arg(text_of(cases[i].text, cases[i].text_times));
		args[1] = calc_arg(text_of(cases[i].by, cases[i].by_times));
		args[2] = calc_arg(text_of(n > 2 ? cases[i].third : "", 1));
		MUST(!calc_bind(cases[i].name, args, n, &call));
		e = ex_eval(&ctx, call, &out);
		/* The last two are as long and quick. */
		CHECK((e != NULL) == (i < 5));
		CHECK(!e ||
		      strcmp(e->sqlstate, ERRCODE_STATEMENT_TOO_COMPLEX) == 0);
		calc_fini();
	}
}

CU_MAIN("func",
    {"results_are_those_of_postgresql", results_are_those_of_postgresql},
    {"every_operator_has_its_function", every_operator_has_its_function},
    {"every_function_is_of_known_types", every_function_is_of_known_types},
    {"extreme_arguments_are_survived", extreme_arguments_are_survived},
    {"calls_that_take_very_long_are_ended",
	calls_that_take_very_long_are_ended})
