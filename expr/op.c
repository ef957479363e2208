#include "expr/func.h"
#include "expr/resolve_int.h"

#define OP(name, left, right, func) {name, left, right, func},
static const struct ex_op ops[] = {
#include "expr/op.def"
};
#undef OP
#define N_OPS (sizeof ops / sizeof *ops)

/* First of each name: the table is ordered by name but for a few at its end,
 * so chains by the name's first byte keep lookups short. */
static uint16_t first_op[256], next_op[N_OPS];

__attribute__((constructor)) static void
index_ops(void)
{
	for (size_t i = N_OPS; i-- > 0;) {
		uint8_t c = (uint8_t)ops[i].name[0];

		next_op[i] = first_op[c];
		first_op[c] = (uint16_t)(i + 1);
	}
}

const struct ex_op *
ex_op_at(size_t n)
{
	return n < N_OPS ? &ops[n] : NULL;
}

static uint32_t
first_of(struct str op)
{
	return op.len ? first_op[(uint8_t)op.p[0]] : 0;
}

static struct err *
no_operator(struct arena *a, struct str op, uint32_t left, uint32_t right)
{
	const char *r = ex_type_format(a, right, -1);

	if (!left)
		return err_hint(
		    ERR(a, ERRCODE_UNDEFINED_FUNCTION,
			"operator does not exist: %.*s %s", STR_FMT(op), r),
		    "No operator matches the given name and argument type. "
		    "You might need to add an explicit type cast.");
	return err_hint(ERR(a, ERRCODE_UNDEFINED_FUNCTION,
			    "operator does not exist: %s %.*s %s",
			    ex_type_format(a, left, -1), STR_FMT(op), r),
	    "No operator matches the given name and argument types. You might "
	    "need to add explicit type casts.");
}

static struct err *
not_unique(struct arena *a, struct str op, uint32_t left, uint32_t right)
{
	const char *l = left ? ex_type_format(a, left, -1) : "";

	return err_hint(
	    ERR(a, ERRCODE_AMBIGUOUS_FUNCTION,
		"operator is not unique: %s%s%.*s %s", l, left ? " " : "",
		STR_FMT(op), ex_type_format(a, right, -1)),
	    "Could not choose a best candidate operator. You might need to "
	    "add explicit type casts.");
}

/* The operator of exactly these types. */
static const struct ex_func *
exact_op(struct str op, uint32_t left, uint32_t right)
{
	for (uint32_t i = first_of(op); i; i = next_op[i - 1]) {
		const struct ex_op *o = &ops[i - 1];

		if (o->left == left && o->right == right &&
		    str_eq(str_c(o->name), op))
			return ex_func(o->func);
	}
	return NULL;
}

static enum ex_resolution
best_op(struct arena *a, struct str op, uint32_t left, uint32_t right,
    const struct ex_func **out)
{
	uint32_t types[2] = {left ? left : right, right};
	struct ex_candidates c;
	enum ex_resolution r;

	ex_candidates_init(&c, a, left ? 2 : 1);
	for (uint32_t i = first_of(op); i; i = next_op[i - 1]) {
		const struct ex_op *o = &ops[i - 1];
		uint32_t *t;

		if (!o->left != !left || !str_eq(str_c(o->name), op))
			continue;
		t = ex_candidate_add(&c, ex_func(o->func));
		t[0] = left ? o->left : o->right;
		t[1] = o->right;
	}
	r = ex_resolve(&c, types);
	if (r == EX_RESOLVED)
		*out = c.best;
	return r;
}

struct err *
ex_find_op(struct arena *a, struct str op, uint32_t left, uint32_t right,
    const struct ex_func **out)
{
	uint32_t l = left, r = right;

	if (str_eq(op, STR("!=")))
		op = STR("<>");
	/* An unknown literal beside a known type is of that type, if such an
	 * operator exists. */
	if (left == EX_UNKNOWN && right != EX_UNKNOWN)
		l = right;
	else if (right == EX_UNKNOWN && left && left != EX_UNKNOWN)
		r = left;
	*out = exact_op(op, l, r);
	if (*out)
		return NULL;
	switch (best_op(a, op, left, right, out)) {
	case EX_RESOLVED:
		ASSERT(*out);
		return NULL;
	case EX_AMBIGUOUS:
		return not_unique(a, op, left, right);
	case EX_NO_MATCH:
		break;
	}
	return no_operator(a, op, left, right);
}
