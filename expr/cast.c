/* Casts: the matrix, conversions through text, and coercion of trees. */
#include "expr/cast_int.h"

#include "expr/expr_int.h"
#include "expr/resolve_int.h"

struct cast {
	uint32_t from, to;
	enum ex_coercion least;
	uint32_t func;
};
#define CAST(from, to, least, func) {from, to, least, func},
static const struct cast casts[] = {
#include "expr/cast.def"
};
#undef CAST
#define N_CASTS (sizeof casts / sizeof *casts)

static const struct cast *
find_cast(uint32_t from, uint32_t to)
{
	for (size_t i = 0; i < N_CASTS; i++)
		if (casts[i].from == from && casts[i].to == to)
			return &casts[i];
	return NULL;
}

static bool
is_string(uint32_t type)
{
	const struct ex_type *t = ex_type(type);

	return t && t->category == 'S';
}

/* Types whose text form depends on the session. */
static bool
text_depends(uint32_t type)
{
	switch (type) {
	case EX_BYTEA:
	case EX_FLOAT4:
	case EX_FLOAT8:
	case EX_DATE:
	case EX_TIME:
	case EX_TIMESTAMP:
	case EX_TIMESTAMPTZ:
	case EX_INTERVAL:
	case EX_REGCLASS:
		return true;
	default:
		return false;
	}
}

/* Conversions that have no function of their own go through the text form. */
static bool
find_io(
    uint32_t from, uint32_t to, enum ex_coercion c, const struct ex_func **func)
{
	uint32_t id;

	if (!ex_type(from) || !ex_type(to))
		return false;
	if (c >= EX_ASSIGNMENT && is_string(to))
		id = (text_depends(from) ? EX_FN_OUT_STABLE : EX_FN_OUT) + to;
	else if (c == EX_EXPLICIT && is_string(from))
		id = EX_FN_IN + to;
	else if (c >= EX_ASSIGNMENT && ((from == EX_JSON && to == EX_JSONB) ||
					   (from == EX_JSONB && to == EX_JSON)))
		id = EX_FN_IN + to;
	else
		return false;
	*func = ex_func(id);
	return *func != NULL;
}

bool
ex_find_cast(
    uint32_t from, uint32_t to, enum ex_coercion c, const struct ex_func **func)
{
	const struct cast *k;

	*func = NULL;
	if (from == to)
		return true;
	k = find_cast(from, to);
	if (!k)
		return find_io(from, to, c, func);
	if (c < k->least)
		return false;
	if (k->func) {
		*func = ex_func(k->func);
		ASSERT(*func && (*func)->ret == to);
	}
	return true;
}

/* ---- coercion of trees ---- */

struct coercion {
	struct arena *arena;
	const struct ex_env *env;
	uint32_t type;
	int32_t typmod;
	enum ex_coercion how;
};

static struct err *
cannot(const struct coercion *k, const struct expr *e)
{
	return err_at(
	    ERR(k->arena, ERRCODE_CANNOT_COERCE, "cannot cast type %s to %s",
		ex_type_format(k->arena, e->type, -1),
		ex_type_format(k->arena, k->type, -1)),
	    e->position);
}

static struct expr *
retyped(const struct coercion *k, const struct expr *e)
{
	struct expr *r = NEW(k->arena, struct expr);

	*r = *e;
	r->type = k->type;
	r->typmod = -1;
	if (r->node == EX_CONST)
		r->u.con.type = k->type;
	return r;
}

/* An untyped literal is read by its type's input function. */
static struct err *
coerce_unknown(const struct coercion *k, struct expr *e, struct expr **out)
{
	struct err *err;
	struct val v;

	/* Fields that an interval literal leaves out depend on its typmod. */
	if (e->node == EX_PARAM || e->u.con.null) {
		*out = retyped(k, e);
		return NULL;
	}
	err = ex_in(k->arena, k->env, k->type,
	    k->type == EX_INTERVAL ? k->typmod : -1, e->u.con.u.s, &v);
	if (err)
		return err_at(err, e->position);
	*out = ex_const(k->arena, v);
	(*out)->position = e->position;
	return NULL;
}

static struct expr *
wrap(const struct coercion *k, struct expr *e, const struct ex_func *f)
{
	struct expr **args = NEW_N(k->arena, struct expr *, 1);
	struct expr *r;

	args[0] = e;
	if (f) {
		r = ex_call(k->arena, f, args, 1);
	} else {
		r = ex_op(k->arena, EX_TYPMOD, k->type, args, 1);
		r->u.explicit_cast = k->how == EX_EXPLICIT;
	}
	r->position = e->position;
	return r;
}

static struct err *
coerce_type(const struct coercion *k, struct expr *e, struct expr **out)
{
	const struct ex_func *f;
	struct coercion text = *k;

	if (e->type == k->type || k->type == EX_UNKNOWN) {
		*out = e;
		return NULL;
	}
	if (e->type == EX_UNKNOWN) {
		if (e->node == EX_CONST || e->node == EX_PARAM)
			return coerce_unknown(k, e, out);
		text.type = EX_TEXT;
		e = wrap(&text, e, NULL);
		if (k->type == EX_TEXT) {
			*out = e;
			return NULL;
		}
		if (!ex_find_cast(EX_TEXT, k->type, EX_EXPLICIT, &f))
			return cannot(k, e);
	} else if (!ex_find_cast(e->type, k->type, k->how, &f)) {
		return cannot(k, e);
	}
	if (!f && e->node == EX_CONST)
		*out = retyped(k, e);
	else
		*out = wrap(k, e, f);
	return NULL;
}

struct err *
ex_coerce(struct arena *a, const struct ex_env *env, struct expr *e,
    uint32_t type, int32_t typmod, enum ex_coercion c, struct expr **out)
{
	struct coercion k = {a, env, type, typmod, c};
	const struct ex_type *t;

	*out = NULL;
	if (type == EX_ANY) {
		if (e->type != EX_UNKNOWN) {
			*out = e;
			return NULL;
		}
		k.type = type = EX_TEXT;
	}
	TRY(coerce_type(&k, e, out));
	t = ex_type(type);
	if (typmod < 0 || (*out)->typmod == typmod || !t || !t->apply_typmod)
		return NULL;
	*out = wrap(&k, *out, NULL);
	(*out)->typmod = typmod;
	return NULL;
}

static struct err *
unmatched(struct arena *a, const char *context, uint32_t x, uint32_t y)
{
	return ERR(a, ERRCODE_DATATYPE_MISMATCH,
	    "%s types %s and %s cannot be matched", context,
	    ex_type_format(a, x, -1), ex_type_format(a, y, -1));
}

static char
category(uint32_t type)
{
	const struct ex_type *t = ex_type(type);

	return t ? t->category : 'X';
}

struct err *
ex_common_type(struct arena *a, const uint32_t *types, uint32_t n,
    const char *context, uint32_t *out)
{
	uint32_t best = EX_UNKNOWN;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t t = types[i];
		const struct ex_type *b = ex_type(best);

		if (t == EX_UNKNOWN || t == best)
			continue;
		if (best == EX_UNKNOWN)
			best = t;
		else if (category(t) != category(best))
			return unmatched(a, context, best, t);
		else if (!(b && b->preferred) &&
			 ex_can_coerce(best, t, EX_IMPLICIT) &&
			 !ex_can_coerce(t, best, EX_IMPLICIT))
			best = t;
	}
	for (uint32_t i = 0; i < n; i++)
		if (!ex_can_coerce(types[i], best, EX_IMPLICIT))
			return ERR(a, ERRCODE_CANNOT_COERCE,
			    "%s could not convert type %s to %s", context,
			    ex_type_format(a, types[i], -1),
			    ex_type_format(a, best, -1));
	*out = best == EX_UNKNOWN ? EX_TEXT : best;
	return NULL;
}
