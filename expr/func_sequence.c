/* Functions of sequences.  What a sequence is, the environment knows: each call
 * goes there, and may wait. */
#include "expr/func_int.h"

static struct err *
call(const struct ex_ctx *ctx, struct ex_sequence *s, struct val *out)
{
	const struct ex_env *env = ctx->env ? ctx->env : &ex_env_default;

	if (!env->sequence)
		return ERR(ctx->arena, ERRCODE_FEATURE_NOT_SUPPORTED,
		    "sequences are not available here");
	TRY(env->sequence(env->arg, ctx->arena, s));
	ex_set_int(out, s->value);
	return NULL;
}

BODY(nextval)
{
	struct ex_sequence s = {EX_NEXTVAL, (uint32_t)args[0].u.i, 0, false};

	UNUSED(n);
	return call(ctx, &s, out);
}

/* The only argument that is no constant, else NULL. */
static const struct expr *
only_argument(const struct expr *e)
{
	const struct expr *only = NULL;

	if (e->node != EX_TYPMOD &&
	    (e->node != EX_CALL || e->u.func->volatility == EX_VOLATILE))
		return NULL;
	for (uint32_t i = 0; i < e->n_args; i++) {
		if (e->args[i]->node == EX_CONST)
			continue;
		if (only)
			return NULL;
		only = e->args[i];
	}
	return only;
}

uint32_t
ex_draws(const struct expr *e)
{
	const struct expr *in;

	while ((in = only_argument(e)))
		e = in;
	if (e->node != EX_CALL || e->u.func->fn != nextval ||
	    e->args[0]->node != EX_CONST || e->args[0]->u.con.null)
		return 0;
	return (uint32_t)e->args[0]->u.con.u.i;
}

BODY(currval)
{
	struct ex_sequence s = {EX_CURRVAL, (uint32_t)args[0].u.i, 0, false};

	UNUSED(n);
	return call(ctx, &s, out);
}

BODY(lastval)
{
	struct ex_sequence s = {EX_LASTVAL, 0, 0, false};

	UNUSED(args);
	UNUSED(n);
	return call(ctx, &s, out);
}

BODY(setval)
{
	struct ex_sequence s = {EX_SETVAL, (uint32_t)args[0].u.i, args[1].u.i,
	    n < 3 || args[2].u.b};

	return call(ctx, &s, out);
}

BODY(serial_sequence)
{
	const struct ex_env *env = ctx->env ? ctx->env : &ex_env_default;
	struct str name;

	UNUSED(n);
	if (!env->serial)
		return ERR(ctx->arena, ERRCODE_FEATURE_NOT_SUPPORTED,
		    "pg_get_serial_sequence() is not available here");
	TRY(env->serial(env->arg, ctx->arena, args[0].u.s, args[1].u.s, &name));
	if (name.len)
		ex_set_str(out, name);
	return NULL;
}

BODY(text_regclass)
{
	UNUSED(n);
	return ex_in(ctx->arena, ctx->env ? ctx->env : &ex_env_default,
	    EX_REGCLASS, -1, args[0].u.s, out);
}

static const struct ex_func funcs[] = {
    FN_VOLATILE(1574, "nextval", nextval, EX_INT8, EX_REGCLASS),
    FN_VOLATILE(1575, "currval", currval, EX_INT8, EX_REGCLASS),
    FN_VOLATILE(1576, "setval", setval, EX_INT8, EX_REGCLASS, EX_INT8),
    FN_VOLATILE(1765, "setval", setval, EX_INT8, EX_REGCLASS, EX_INT8, EX_BOOL),
    FN_VOLATILE(2559, "lastval", lastval, EX_INT8),
    FN_STABLE(1665, "pg_get_serial_sequence", serial_sequence, EX_TEXT, EX_TEXT,
	EX_TEXT),
    FN_STABLE(1079, "regclass", text_regclass, EX_REGCLASS, EX_TEXT),
    FN_STABLE(1000109, "regclass", text_regclass, EX_REGCLASS, EX_VARCHAR),
};
EX_FUNCS(ex_funcs_sequence);
