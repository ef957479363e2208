#include "base/err.h"

#include "regress/lib/cu.h"

static struct err *
refuse(struct arena *a, bool really)
{
	if (!really)
		return NULL;
	return err_at(err_hint(ERR(a, ERRCODE_UNDEFINED_TABLE,
				   "table \"%s\" does not exist", "t"),
			  "Create it."),
	    7);
}

static struct err *
tries(struct arena *a, bool really, int *got)
{
	*got = 0;
	TRY(refuse(a, really));
	*got = 1;
	return NULL;
}

static struct err *
tries_to(struct arena *a, bool really, int *cleaned)
{
	struct err *e;

	TRY_TO(out, e, refuse(a, really));
out:
	++*cleaned;
	return e;
}

static void
try_returns_the_error(void)
{
	struct arena *a = arena_new(NULL, "t");
	int got, cleaned = 0;
	struct err *e;

	CHECK(tries(a, false, &got) == NULL);
	CHECK(got == 1);
	e = tries(a, true, &got);
	MUST(e != NULL);
	CHECK(got == 0);
	CHECK_STR(e->message, "table \"t\" does not exist");
	CHECK_STR(e->sqlstate, "42P01");
	CHECK_STR(e->hint, "Create it.");
	CHECK(e->detail == NULL && e->line > 0);
	CHECK(tries_to(a, true, &cleaned) != NULL);
	CHECK(tries_to(a, false, &cleaned) == NULL);
	CHECK(cleaned == 2);
	arena_free(a);
}

static void
the_innermost_position_wins(void)
{
	struct arena *a = arena_new(NULL, "t");
	struct err *e = refuse(a, true);

	CHECK(e->position == 7);
	CHECK(err_at(e, 9)->position == 7);
	arena_free(a);
}

static void
a_copy_outlives_the_original(void)
{
	struct arena *a = arena_new(NULL, "a"), *b = arena_new(NULL, "b");
	struct err *e = refuse(a, true), *c;

	e->cause = ERR(a, ERRCODE_IO_ERROR, "disk %d", 3);
	e->table = arena_strdup(a, "t");
	err_detail(e, "%s", "more");
	c = err_copy(b, e);
	arena_free(a);
	CHECK(err_is(c, ERRCODE_UNDEFINED_TABLE));
	CHECK_STR(c->message, "table \"t\" does not exist");
	CHECK_STR(c->detail, "more");
	CHECK_STR(c->table, "t");
	CHECK_STR(c->cause->message, "disk 3");
	CHECK(c->cause->arena == b);
	CHECK(err_copy(b, NULL) == NULL);
	CHECK(!err_is(NULL, ERRCODE_IO_ERROR));
	arena_free(b);
}

CU_MAIN("err", {"try_returns_the_error", try_returns_the_error},
    {"the_innermost_position_wins", the_innermost_position_wins},
    {"a_copy_outlives_the_original", a_copy_outlives_the_original})
