/* What a session knows about itself and its surroundings: clocks, random
 * numbers, names. */
#include "expr/func_int.h"

static const struct ex_env *
env_of(const struct ex_ctx *ctx)
{
	return ctx->env ? ctx->env : &ex_env_default;
}

static struct err *
not_here(const struct ex_ctx *ctx, const char *what)
{
	return ERR(ctx->arena, ERRCODE_FEATURE_NOT_SUPPORTED,
	    "%s is not available here", what);
}

BODY(version)
{
	UNUSED(args);
	UNUSED(n);
	ex_set_str(out, env_of(ctx)->version);
	return NULL;
}

BODY(current_user)
{
	UNUSED(args);
	UNUSED(n);
	ex_set_str(out, env_of(ctx)->user);
	return NULL;
}

BODY(session_user)
{
	UNUSED(args);
	UNUSED(n);
	ex_set_str(out, env_of(ctx)->session_user);
	return NULL;
}

BODY(current_database)
{
	UNUSED(args);
	UNUSED(n);
	ex_set_str(out, env_of(ctx)->database);
	return NULL;
}

BODY(current_schema)
{
	UNUSED(args);
	UNUSED(n);
	if (env_of(ctx)->schema.len)
		ex_set_str(out, env_of(ctx)->schema);
	return NULL;
}

BODY(backend_pid)
{
	UNUSED(args);
	UNUSED(n);
	ex_set_int(out, env_of(ctx)->backend_pid);
	return NULL;
}

BODY(type_of)
{
	UNUSED(n);
	ex_set_str(out, str_c(ex_type_format(ctx->arena, args[0].type, -1)));
	return NULL;
}

BODY(format_type)
{
	UNUSED(n);
	if (args[0].null)
		return NULL;
	if (!ex_type((uint32_t)args[0].u.i))
		ex_set_str(out, STR("???"));
	else
		ex_set_str(
		    out, str_c(ex_type_format(ctx->arena, (uint32_t)args[0].u.i,
			     args[1].null ? -1 : (int32_t)args[1].u.i)));
	return NULL;
}

BODY(encoding_name)
{
	UNUSED(ctx);
	UNUSED(n);
	/* The numbers that clients meet: SQL_ASCII and UTF8. */
	ex_set_str(out, args[0].u.i == 6   ? STR("UTF8")
			: args[0].u.i == 0 ? STR("SQL_ASCII")
					   : STR(""));
	return NULL;
}

/* ---- clocks ---- */

BODY(transaction_time)
{
	UNUSED(args);
	UNUSED(n);
	ex_set_int(out, env_of(ctx)->now_us);
	return NULL;
}

BODY(statement_time)
{
	UNUSED(args);
	UNUSED(n);
	ex_set_int(out, env_of(ctx)->statement_us);
	return NULL;
}

BODY(clock_time)
{
	const struct ex_env *env = env_of(ctx);

	UNUSED(args);
	UNUSED(n);
	if (!env->clock_us)
		return not_here(ctx, "clock_timestamp()");
	ex_set_int(out, env->clock_us(env->arg));
	return NULL;
}

BODY(sleep_seconds)
{
	const struct ex_env *env = env_of(ctx);

	UNUSED(n);
	if (!env->sleep)
		return not_here(ctx, "pg_sleep()");
	TRY(env->sleep(env->arg, args[0].u.d));
	ex_set_str(out, STR(""));
	return NULL;
}

/* ---- random numbers ---- */

BODY(random_double)
{
	const struct ex_env *env = env_of(ctx);
	uint64_t r = 0;

	UNUSED(args);
	UNUSED(n);
	if (!env->random)
		return not_here(ctx, "random()");
	env->random(env->arg, &r, sizeof r);
	ex_set_double(out, (double)(r >> 11) * 0x1p-53);
	return NULL;
}

BODY(random_uuid)
{
	const struct ex_env *env = env_of(ctx);
	uint8_t *p = arena_alloc(ctx->arena, 16);

	UNUSED(args);
	UNUSED(n);
	if (!env->random)
		return not_here(ctx, "gen_random_uuid()");
	env->random(env->arg, p, 16);
	p[6] = (uint8_t)((p[6] & 0x0f) | 0x40); /* version 4 */
	p[8] = (uint8_t)((p[8] & 0x3f) | 0x80);
	ex_set_str(out, str_of(p, 16));
	return NULL;
}

BODY(placement_of)
{
	const struct ex_env *env = env_of(ctx);
	struct ex_placement p = {.key = args + 1, .n = n - 1};

	if (!env->placement)
		return not_here(ctx, "skaidb.placement_of()");
	for (uint32_t i = 0; i < n; i++)
		if (args[i].null)
			return NULL;
	p.table = args[0].u.s;
	TRY(env->placement(env->arg, ctx->arena, &p));
	ex_set_str(out, p.json);
	return NULL;
}

#define FN_TYPE_OF(id, name, vol)                                              \
	FN_NULLS(id, name, type_of, vol, EX_TEXT, EX_ANY)

static const struct ex_func funcs[] = {
    FN_STABLE(89, "version", version, EX_TEXT),
    FN_STABLE(745, "current_user", current_user, EX_NAME),
    FN_STABLE(746, "session_user", session_user, EX_NAME),
    FN_STABLE(1000200, "current_role", current_user, EX_NAME),
    FN_STABLE(1000201, "user", current_user, EX_NAME),
    FN_STABLE(861, "current_database", current_database, EX_NAME),
    FN_STABLE(1000202, "current_catalog", current_database, EX_NAME),
    FN_STABLE(1402, "current_schema", current_schema, EX_NAME),
    FN_STABLE(2026, "pg_backend_pid", backend_pid, EX_INT4),
    FN_TYPE_OF(1619, "pg_typeof", EX_STABLE),
    FN_NULLS(
	1081, "format_type", format_type, EX_STABLE, EX_TEXT, EX_OID, EX_INT4),
    FN_STABLE(1597, "pg_encoding_to_char", encoding_name, EX_NAME, EX_INT4),
    FN_STABLE(1299, "now", transaction_time, EX_TIMESTAMPTZ),
    FN_STABLE(2647, "transaction_timestamp", transaction_time, EX_TIMESTAMPTZ),
    FN_STABLE(2648, "statement_timestamp", statement_time, EX_TIMESTAMPTZ),
    FN_VOLATILE(2649, "clock_timestamp", clock_time, EX_TIMESTAMPTZ),
    FN_VOLATILE(2626, "pg_sleep", sleep_seconds, EX_VOID, EX_FLOAT8),
    FN_VOLATILE(1598, "random", random_double, EX_FLOAT8),
    FN_VARIADIC(1000400, "skaidb.placement_of", placement_of, EX_STABLE,
	EX_JSON, EX_TEXT, EX_ANY),
    FN_VOLATILE(3432, "gen_random_uuid", random_uuid, EX_UUID),
};
EX_FUNCS(ex_funcs_system);
