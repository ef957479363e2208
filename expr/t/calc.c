#include "expr/t/calc.h"

#include <ctype.h>
#include <stdio.h>

static struct arena *arena;
static char last_type[64];

struct arena *
calc_arena(void)
{
	if (!arena)
		arena = arena_new(NULL, "calc");
	return arena;
}

void
calc_fini(void)
{
	arena_free(arena);
	arena = NULL;
}

struct expr *
calc_arg(const char *arg)
{
	const char *colon = strchr(arg, ':');
	struct str name = str_of(arg, (size_t)(colon - arg));
	const struct ex_type *t = ex_type_by_name(name);
	uint32_t type = t ? t->oid : EX_UNKNOWN;
	struct val v = val_null(type);
	struct err *err = NULL;

	ASSERT(t || str_eq(name, STR("unknown")));
	if (strcmp(colon + 1, "NULL") != 0) {
		if (type == EX_UNKNOWN)
			v = val_str(EX_UNKNOWN, str_c(colon + 1));
		else
			err = ex_in(calc_arena(), &ex_env_default, type, -1,
			    str_c(colon + 1), &v);
	}
	if (err)
		fprintf(stderr, "%s: %s\n", arg, err->message);
	ASSERT(!err);
	return ex_const(calc_arena(), v);
}

static struct err *
bind_cast(const char *to, struct expr *e, struct expr **out)
{
	const struct ex_type *t = ex_type_by_name(str_c(to));

	ASSERT(t);
	return ex_coerce(
	    calc_arena(), &ex_env_default, e, t->oid, -1, EX_EXPLICIT, out);
}

struct err *
calc_bind(const char *name, struct expr **args, uint32_t n, struct expr **out)
{
	uint32_t types[CALC_ARGS_MAX];
	const struct ex_func *f;
	struct arena *a = calc_arena();
	uint32_t type;

	if (strncmp(name, "cast:", 5) == 0)
		return bind_cast(name + 5, args[0], out);
	if (n == 1 && ex_func_is_cast(str_c(name), args[0]->type, &type))
		return bind_cast(name, args[0], out);
	for (uint32_t i = 0; i < n; i++)
		types[i] = args[i]->type;
	if (isalpha((unsigned char)name[0]))
		TRY(ex_find_func(a, str_c(name), types, n, &f));
	else
		TRY(ex_find_op(
		    a, str_c(name), n == 2 ? types[0] : 0, types[n - 1], &f));
	for (uint32_t i = 0; i < n; i++)
		TRY(ex_coerce(a, &ex_env_default, args[i], ex_func_arg(f, i),
		    -1, EX_IMPLICIT, &args[i]));
	*out = ex_call(a, f, args, n);
	return NULL;
}

static struct err *
run(const char *name, const char *const *texts, struct val *out)
{
	struct ex_env env = ex_env_default;
	struct ex_ctx ctx = {.arena = calc_arena(), .env = &env};
	struct expr **args = NEW_N(calc_arena(), struct expr *, CALC_ARGS_MAX);
	struct expr *e;
	uint32_t n = 0;

	for (; texts[n]; n++)
		args[n] = calc_arg(texts[n]);
	TRY(calc_bind(name, args, n, &e));
	return ex_eval(&ctx, e, out);
}

const char *
calc_v(const char *name, const char *const *args)
{
	struct err *err;
	struct val v;
	struct buf b;

	last_type[0] = '\0';
	err = run(name, args, &v);
	if (err)
		return arena_printf(
		    calc_arena(), "!%s %s", err->sqlstate, err->message);
	snprintf(last_type, sizeof last_type, "%s",
	    ex_type(v.type) ? ex_type(v.type)->name : "");
	if (v.null)
		return "NULL";
	buf_init(&b, calc_arena());
	ex_out(&b, &ex_env_default, v);
	return buf_cstr(&b);
}

const char *
calc_type(void)
{
	return last_type;
}
