#include "expr/cast_int.h"
#include "expr/func_int.h"
#include "expr/resolve_int.h"

static const struct ex_funcs *const areas[] = {
    &ex_funcs_int,
    &ex_funcs_float,
    &ex_funcs_numeric,
    &ex_funcs_compare,
    &ex_funcs_text,
    &ex_funcs_match,
    &ex_funcs_format,
    &ex_funcs_bytea,
    &ex_funcs_datetime,
    &ex_funcs_extract,
    &ex_funcs_tochar_num,
    &ex_funcs_tochar_time,
    &ex_funcs_totime,
    &ex_funcs_json,
    &ex_funcs_json_make,
    &ex_funcs_cast,
    &ex_funcs_misc,
    &ex_funcs_system,
    &ex_funcs_sequence,
};
#define N_AREAS (sizeof areas / sizeof *areas)

/* Hash chains over the tables: written once before main, then only read. */
#define FUNCS_MAX 2048
#define BUCKETS   1024u

static const struct ex_func *all[FUNCS_MAX];
static uint16_t n_all;
static uint16_t by_id[BUCKETS], by_name[BUCKETS]; /* index + 1; 0 ends */
static uint16_t next_id[FUNCS_MAX], next_name[FUNCS_MAX];

static uint32_t
hash_id(uint32_t id)
{
	return (id * 2654435761u) >> 22;
}

static uint32_t
hash_name(struct str s)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < s.len; i++)
		h = (h ^ (uint8_t)s.p[i]) * 16777619u;
	return (h ^ h >> 16) & (BUCKETS - 1);
}

static void
index_one(const struct ex_func *f)
{
	uint32_t hi = hash_id(f->id), hn = hash_name(str_c(f->name));

	ASSERT(n_all < FUNCS_MAX - 1);
	ASSERT(!ex_func(f->id));
	ASSERT(f->n_args <= EX_ARGS_MAX && f->n_opt <= f->n_args);
	all[n_all++] = f;
	next_id[n_all - 1] = by_id[hi];
	by_id[hi] = n_all;
	next_name[n_all - 1] = by_name[hn];
	by_name[hn] = n_all;
}

__attribute__((constructor)) static void
index_all(void)
{
	for (size_t i = 0; i < N_AREAS; i++)
		for (size_t j = 0; j < areas[i]->n; j++)
			index_one(&areas[i]->p[j]);
}

const struct ex_func *
ex_func(uint32_t id)
{
	for (uint32_t i = by_id[hash_id(id)]; i; i = next_id[i - 1])
		if (all[i - 1]->id == id)
			return all[i - 1];
	return NULL;
}

const struct ex_func *
ex_func_at(size_t n)
{
	return n < n_all ? all[n] : NULL;
}

uint32_t
ex_func_arg(const struct ex_func *f, uint32_t i)
{
	if (i < f->n_args)
		return f->args[i];
	ASSERT(f->variadic && f->n_args > 0);
	return f->args[f->n_args - 1];
}

static bool
takes(const struct ex_func *f, uint32_t n)
{
	if (f->variadic)
		return n >= f->n_args;
	return n <= f->n_args && n >= (uint32_t)(f->n_args - f->n_opt);
}

/* The functions of this name that take n arguments. */
static void
candidates(struct str name, uint32_t n, struct ex_candidates *c)
{
	uint32_t i = by_name[hash_name(name)];

	for (; i; i = next_name[i - 1]) {
		const struct ex_func *f = all[i - 1];
		uint32_t *types;

		if (!str_eq(str_c(f->name), name) || !takes(f, n))
			continue;
		types = ex_candidate_add(c, f);
		for (uint32_t k = 0; k < n; k++)
			types[k] = ex_func_arg(f, k);
	}
}

static const char *
signature(struct arena *a, struct str name, const uint32_t *types, uint32_t n)
{
	struct buf b;

	buf_init(&b, a);
	buf_str(&b, name);
	buf_u8(&b, '(');
	for (uint32_t i = 0; i < n; i++)
		buf_printf(
		    &b, "%s%s", i ? ", " : "", ex_type_format(a, types[i], -1));
	buf_u8(&b, ')');
	return buf_cstr(&b);
}

struct err *
ex_func_missing(
    struct arena *a, struct str name, const uint32_t *types, uint32_t n)
{
	return err_hint(
	    ERR(a, ERRCODE_UNDEFINED_FUNCTION, "function %s does not exist",
		signature(a, name, types, n)),
	    "No function matches the given name and argument types. You might "
	    "need to add explicit type casts.");
}

struct err *
ex_func_ambiguous(
    struct arena *a, struct str name, const uint32_t *types, uint32_t n)
{
	return err_hint(
	    ERR(a, ERRCODE_AMBIGUOUS_FUNCTION, "function %s is not unique",
		signature(a, name, types, n)),
	    "Could not choose a best candidate function. You might need to "
	    "add explicit type casts.");
}

struct err *
ex_find_func(struct arena *a, struct str name, const uint32_t *types,
    uint32_t n, const struct ex_func **out)
{
	struct ex_candidates c;

	*out = NULL;
	if (n > EX_CALL_ARGS_MAX)
		return ERR(a, ERRCODE_TOO_MANY_ARGUMENTS,
		    "cannot pass more than %d arguments to a function",
		    EX_CALL_ARGS_MAX);
	ex_candidates_init(&c, a, n);
	candidates(name, n, &c);
	switch (ex_resolve(&c, types)) {
	case EX_RESOLVED:
		*out = c.best;
		return NULL;
	case EX_AMBIGUOUS:
		return ex_func_ambiguous(a, name, types, n);
	case EX_NO_MATCH:
		break;
	}
	return ex_func_missing(a, name, types, n);
}

bool
ex_func_is_cast(struct str name, uint32_t arg, uint32_t *type)
{
	const struct ex_type *t = ex_type_by_name(name);
	const struct ex_func *f;

	*type = 0;
	/* Only pg_type's own names work as functions: int4(x), not integer(x).
	 */
	if (!t || !str_eq(name, str_c(t->name)))
		return false;
	/* A cast by a function is a call of that function. */
	if (arg != EX_UNKNOWN && (!ex_find_cast(arg, t->oid, EX_EXPLICIT, &f) ||
				     (f && f->id < EX_FN_OUT)))
		return false;
	*type = t->oid;
	return true;
}

struct err *
ex_work_check(const struct ex_ctx *ctx, struct ex_work *w, const char *what)
{
	int64_t now;

	if (!ctx->env || !ctx->env->mono_us)
		return NULL;
	now = ctx->env->mono_us(ctx->env->arg);
	if (!w->begun) {
		w->begun = true;
		w->since_us = now;
	}
	if (now - w->since_us < EX_WORK_MAX_US)
		return NULL;
	return ERR(ctx->arena, ERRCODE_STATEMENT_TOO_COMPLEX,
	    "%s failed: it takes too many steps", what);
}
