/* Expressions as they come from the network: decoded, evaluated over a row,
 * folded, and encoded again. What is accepted has one form. */
#include "base/err.h"
#include "expr/expr.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define COLUMNS 8

/* A row of the types that the expression asks for: other types are refused,
 * which would end most runs early. */
static void
fill(const struct expr *e, struct val *row)
{
	if (e->node == EX_COLUMN && e->u.col < COLUMNS && row[e->u.col].null)
		row[e->u.col].type = e->type;
	for (uint32_t i = 0; i < e->n_args; i++)
		fill(e->args[i], row);
}

static void
give_values(struct arena *a, struct val *row)
{
	for (int i = 0; i < COLUMNS; i++) {
		struct val v;

		/* Text that most types can read. */
		if (i % 3 && ex_type(row[i].type) &&
		    !ex_in(a, &ex_env_default, row[i].type, -1,
			i % 2 ? STR("1") : STR("2024-02-29"), &v))
			row[i] = v;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *a = arena_new(NULL, "fuzz");
	struct str bytes = str_of(data, size);
	struct val row[COLUMNS], v;
	struct expr *e, *again;
	struct ex_ctx ctx = {
	    .arena = a, .env = &ex_env_default, .row = row, .n_row = COLUMNS};
	struct buf b;

	if (size > 1u << 16 || ex_decode(a, bytes, &e)) {
		arena_free(a);
		return 0;
	}
	ASSERT(ex_can_travel(e));
	buf_init(&b, a);
	ex_encode(&b, e);
	ASSERT(str_eq(buf_view(&b), bytes));
	ASSERT(!ex_decode(a, buf_view(&b), &again) && ex_equal(e, again));
	for (int i = 0; i < COLUMNS; i++)
		row[i] = val_null(EX_INT4);
	fill(e, row);
	give_values(a, row);
	if (!ex_eval(&ctx, e, &v) && !v.null) {
		ASSERT(ex_type(v.type));
		buf_init(&b, a);
		ex_out(&b, &ex_env_default, v);
	}
	(void)ex_fold(&ctx, e);
	arena_free(a);
	return 0;
}
