#include "regress/sim/history.h"

#include "regress/lib/cu.h"
#include "regress/sim/rng.h"

#define CHECK_OPS(...)                                                         \
	reg_check((struct reg_op[]){__VA_ARGS__},                              \
	    sizeof((struct reg_op[]){__VA_ARGS__}) / sizeof(struct reg_op))

#define READ(s, e, v)                                                          \
	{                                                                      \
		.kind = REG_READ, .start = (s), .end = (e), .seen = (v)        \
	}
#define WRITE(k, s, e, v, ok)                                                  \
	{                                                                      \
		.kind = (k), .start = (s), .end = (e), .value = (v),           \
		.changed = (ok)                                                \
	}
#define MAYBE(k, s, v)                                                         \
	{                                                                      \
		.kind = (k), .start = (s), .value = (v), .unknown = true       \
	}

static void
order_in_time_is_kept(void)
{
	CHECK(CHECK_OPS(WRITE(REG_INSERT, 1, 2, 7, true), READ(3, 4, 7)) ==
	      REG_FINE);
	CHECK(CHECK_OPS(WRITE(REG_INSERT, 1, 2, 7, true), READ(3, 4, 0)) ==
	      REG_WRONG);
	/* While they overlap both are possible. */
	CHECK(CHECK_OPS(WRITE(REG_INSERT, 1, 4, 7, true), READ(2, 3, 0)) ==
	      REG_FINE);
	CHECK(CHECK_OPS(WRITE(REG_INSERT, 1, 4, 7, true), READ(2, 3, 7)) ==
	      REG_FINE);
}

static void
acknowledged_write_is_never_lost(void)
{
	CHECK(
	    CHECK_OPS(WRITE(REG_INSERT, 1, 2, 7, true),
		WRITE(REG_UPDATE, 3, 4, 8, true), READ(5, 6, 7)) == REG_WRONG);
	CHECK(
	    CHECK_OPS(WRITE(REG_UPSERT, 1, 2, 7, true),
		WRITE(REG_DELETE, 3, 4, 0, true), READ(5, 6, 7)) == REG_WRONG);
}

static void
unknown_write_may_come_late_or_never(void)
{
	CHECK(CHECK_OPS(MAYBE(REG_INSERT, 1, 7), READ(2, 3, 0)) == REG_FINE);
	CHECK(CHECK_OPS(MAYBE(REG_INSERT, 1, 7), READ(2, 3, 0),
		  READ(9, 10, 7)) == REG_FINE);
	/* But it happens once, and does not unhappen. */
	CHECK(CHECK_OPS(MAYBE(REG_INSERT, 1, 7), READ(2, 3, 7),
		  READ(9, 10, 0)) == REG_WRONG);
	CHECK(
	    CHECK_OPS(MAYBE(REG_UPSERT, 1, 7), READ(2, 3, 7),
		WRITE(REG_UPSERT, 4, 5, 8, true), READ(6, 7, 7)) == REG_WRONG);
}

static void
one_of_racing_inserts_wins(void)
{
	CHECK(CHECK_OPS(WRITE(REG_INSERT, 1, 9, 7, true),
		  WRITE(REG_INSERT, 1, 9, 8, false),
		  READ(10, 11, 7)) == REG_FINE);
	CHECK(CHECK_OPS(WRITE(REG_INSERT, 1, 9, 7, true),
		  WRITE(REG_INSERT, 1, 9, 8, true)) == REG_WRONG);
	/* Nobody won, and yet it was there. */
	CHECK(CHECK_OPS(WRITE(REG_INSERT, 1, 9, 8, false)) == REG_WRONG);
	CHECK(CHECK_OPS(MAYBE(REG_INSERT, 1, 7),
		  WRITE(REG_INSERT, 1, 9, 8, false)) == REG_FINE);
}

static void
reads_do_not_go_back(void)
{
	CHECK(CHECK_OPS(WRITE(REG_INSERT, 1, 2, 7, true),
		  WRITE(REG_UPDATE, 3, 20, 8, true), READ(4, 5, 8),
		  READ(6, 7, 7)) == REG_WRONG);
	CHECK(CHECK_OPS(WRITE(REG_INSERT, 1, 2, 7, true),
		  WRITE(REG_UPDATE, 3, 20, 8, true), READ(4, 6, 8),
		  READ(5, 7, 7)) == REG_FINE);
}

static void
counts_of_update_and_delete_matter(void)
{
	CHECK(CHECK_OPS(WRITE(REG_INSERT, 1, 2, 7, true),
		  WRITE(REG_UPDATE, 3, 4, 8, false)) == REG_WRONG);
	CHECK(CHECK_OPS(WRITE(REG_DELETE, 3, 4, 0, true)) == REG_WRONG);
	CHECK(CHECK_OPS(WRITE(REG_DELETE, 3, 4, 0, false)) == REG_FINE);
}

/* A real register, operations of random length around their instants. */
static size_t
random_history(struct rng *r, struct reg_op *ops, size_t n)
{
	uint64_t row = 0;

	for (size_t i = 0; i < n; i++) {
		struct reg_op *op = &ops[i];
		uint64_t at = 1000 + 100 * i;

		*op = (struct reg_op){.kind = (enum reg_kind)rng_below(r, 5),
		    .value = i + 1,
		    .start = at - rng_below(r, 300),
		    .end = at + rng_below(r, 300),
		    .seen = row};
		op->unknown = op->kind != REG_READ && rng_below(r, 12) == 0;
		op->changed =
		    op->kind == REG_UPSERT || (op->kind == REG_INSERT) == !row;
		if (op->unknown && rng_below(r, 2))
			continue;
		if (op->changed && op->kind != REG_READ)
			row = op->kind == REG_DELETE ? 0 : op->value;
	}
	return n;
}

static void
every_real_history_is_accepted(void)
{
	struct rng r = rng_of(cu_seed(), 1);
	struct reg_op ops[90];

	for (int i = 0; i < 200; i++)
		CHECK(reg_check(ops, random_history(&r, ops, 90)) == REG_FINE);
}

static void
most_false_reads_are_found(void)
{
	struct rng r = rng_of(cu_seed(), 2);
	struct reg_op ops[60];
	int found = 0, tried = 0;

	for (int i = 0; i < 200; i++) {
		size_t n = random_history(&r, ops, 60), at = rng_below(&r, n);

		if (ops[at].kind != REG_READ)
			continue;
		tried++;
		ops[at].seen = 1000000; /* nobody wrote that */
		found += reg_check(ops, n) == REG_WRONG;
	}
	CHECK(tried > 10 && found == tried);
}

static void
history_names_the_wrong_key(void)
{
	struct arena *a = arena_new(NULL, "test");
	struct history h;
	const char *why;

	history_init(&h, a);
	history_add(&h,
	    &(struct reg_op){.kind = REG_READ, .key = 5, .start = 1, .end = 2});
	CHECK(!history_check(&h));
	history_add(&h,
	    &(struct reg_op){
		.kind = REG_READ, .key = 9, .start = 1, .end = 2, .seen = 3});
	why = history_check(&h);
	CHECK(why && strstr(why, "key 9"));
	arena_free(a);
}

static void
stale_read_sees_what_was_written(void)
{
	struct reg_op ops[] = {WRITE(REG_INSERT, 1, 2, 7, true),
	    WRITE(REG_UPDATE, 3, 4, 8, true), READ(5, 6, 7)};

	CHECK(reg_check(ops, 3) == REG_WRONG);
	ops[2].stale = true;
	CHECK(reg_check(ops, 3) == REG_FINE);
	ops[2].seen = 0;
	CHECK(reg_check(ops, 3) == REG_FINE);
	ops[2].seen = 9; /* nobody wrote that */
	CHECK(reg_check(ops, 3) == REG_WRONG);
	/* Nor what is written only after it ended. */
	ops[2] = (struct reg_op)READ(1, 2, 8);
	ops[2].stale = true;
	CHECK(reg_check(ops, 3) == REG_WRONG);
}

CU_MAIN("history", {"order_in_time_is_kept", order_in_time_is_kept},
    {"acknowledged_write_is_never_lost", acknowledged_write_is_never_lost},
    {"unknown_write_may_come_late_or_never",
	unknown_write_may_come_late_or_never},
    {"one_of_racing_inserts_wins", one_of_racing_inserts_wins},
    {"reads_do_not_go_back", reads_do_not_go_back},
    {"counts_of_update_and_delete_matter", counts_of_update_and_delete_matter},
    {"every_real_history_is_accepted", every_real_history_is_accepted},
    {"most_false_reads_are_found", most_false_reads_are_found},
    {"history_names_the_wrong_key", history_names_the_wrong_key},
    {"stale_read_sees_what_was_written", stale_read_sees_what_was_written})
