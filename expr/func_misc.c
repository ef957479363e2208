/* Small things that belong nowhere else. */
#include "expr/func_int.h"

static struct err *
count_nulls(const struct val *args, uint32_t n, bool null, struct val *out)
{
	int64_t count = 0;

	for (uint32_t i = 0; i < n; i++)
		count += args[i].null == null;
	ex_set_int(out, count);
	return NULL;
}

BODY(num_nulls)
{
	UNUSED(ctx);
	return count_nulls(args, n, true, out);
}

BODY(num_nonnulls)
{
	UNUSED(ctx);
	return count_nulls(args, n, false, out);
}

static const struct ex_func funcs[] = {
    FN_VARIADIC(438, "num_nulls", num_nulls, EX_IMMUTABLE, EX_INT4, EX_ANY),
    FN_VARIADIC(
	440, "num_nonnulls", num_nonnulls, EX_IMMUTABLE, EX_INT4, EX_ANY),
};
EX_FUNCS(ex_funcs_misc);
