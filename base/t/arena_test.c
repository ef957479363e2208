#include "base/arena.h"

#include <stdlib.h>

#include "base/err.h"
#include "regress/lib/cu.h"

static void
pieces_are_zeroed_and_aligned(void)
{
	struct arena *a = arena_new(NULL, "t");

	for (size_t n = 0; n < 3000; n += 7) {
		unsigned char *p = arena_alloc(a, n);

		CHECK((uintptr_t)p % 16 == 0);
		for (size_t i = 0; i < n; i++)
			MUST(p[i] == 0);
		memset(p, 0xff, n);
	}
	arena_free(a);
}

static void
pieces_do_not_overlap(void)
{
	enum { N = 4000 };
	struct arena *a = arena_new(NULL, "t");
	static struct {
		unsigned char *p;
		size_t n;
	} v[N];

	srand((unsigned)cu_seed());
	for (int i = 0; i < N; i++) {
		v[i].n = (size_t)(rand() % (i % 100 ? 200 : 100000));
		v[i].p = arena_alloc_raw(a, v[i].n);
		memset(v[i].p, i & 0xff, v[i].n);
	}
	for (int i = 0; i < N; i++)
		for (size_t k = 0; k < v[i].n; k++)
			MUST(v[i].p[k] == (i & 0xff));
	arena_free(a);
}

/* Pieces that grow in turns, over the border between chunks and blocks. */
static void
growing_keeps_the_bytes(void)
{
	struct arena *a = arena_new(NULL, "t");
	uint32_t *p[3] = {NULL, NULL, NULL};
	size_t n[3] = {0, 0, 0};

	for (uint32_t round = 1; round < 3000; round++) {
		int i = round % 5 < 3 ? 0 : round % 2 + 1;
		size_t more = round % 97 + 1;

		p[i] = arena_grow(a, p[i], n[i] * 4, (n[i] + more) * 4);
		for (size_t k = 0; k < more; k++)
			p[i][n[i] + k] = (uint32_t)(n[i] + k) * 3 + (uint32_t)i;
		n[i] += more;
	}
	for (int i = 0; i < 3; i++)
		for (size_t k = 0; k < n[i]; k++)
			MUST(p[i][k] == (uint32_t)k * 3 + (uint32_t)i);
	arena_free(a);
}

static void
a_growing_buffer_leaves_little_behind(void)
{
	struct arena *a = arena_new(NULL, "t");
	size_t n = 64;
	char *p = arena_alloc_raw(a, n);

	for (; n < 16u << 20; n *= 2)
		p = arena_grow(a, p, n, n * 2);
	CHECK(p != NULL);
	CHECK(arena_bytes(a) < n + (256u << 10));
	arena_free(a);
}

static struct arena *noted;
static char notes[16];

static void
note_ev(void *arg)
{
	strncat(notes, arg, 1);
	/* A cleanup may use the arena. */
	arena_alloc(noted, 100);
}

static void
cleanups_run_in_reverse_children_first(void)
{
	static char one[] = "1", two[] = "2", kid[] = "k";
	struct arena *child;

	noted = arena_new(NULL, "t");
	notes[0] = 0;
	child = arena_new(noted, "child");
	arena_cleanup(noted, note_ev, one);
	arena_cleanup(child, note_ev, kid);
	arena_cleanup(noted, note_ev, two);
	arena_reset(noted);
	CHECK_STR(notes, "k21");
	arena_free(noted);
	CHECK_STR(notes, "k21");
}

static void
bytes_are_told_to_every_ancestor(void)
{
	struct arena *top = arena_new(NULL, "top");
	struct arena *mid = arena_new(top, "mid");
	struct arena *low = arena_new(mid, "low");
	size_t empty = arena_bytes(top);

	CHECK(empty > 0);
	arena_alloc(low, 1u << 20);
	CHECK(arena_bytes(low) >= 1u << 20);
	CHECK(arena_bytes(top) >= empty + (1u << 20));
	CHECK(arena_bytes(top) > arena_bytes(mid));
	arena_reset(mid); /* frees low */
	CHECK(arena_bytes(top) < empty);
	arena_free(mid);
	CHECK(arena_bytes(top) < empty);
	arena_free(top);
}

static void
siblings_can_be_freed_in_any_order(void)
{
	struct arena *top = arena_new(NULL, "top");
	struct arena *kid[20];
	size_t before = arena_bytes(top);

	for (int i = 0; i < 20; i++)
		kid[i] = arena_new(top, "kid");
	for (int i = 0; i < 20; i++)
		arena_free(kid[i * 7 % 20]);
	CHECK(arena_bytes(top) == before);
	arena_free(top);
}

static void
a_limit_is_an_error_that_names_the_arena(void)
{
	struct arena *top = arena_new(NULL, "connection");
	struct arena *low = arena_new(top, "statement");
	struct err *e;

	arena_limit(top, 100000);
	CHECK(arena_check(low) == NULL);
	arena_alloc(low, 50000);
	CHECK(arena_check(low) == NULL);
	arena_alloc(low, 60000);
	e = arena_check(low);
	MUST(e != NULL);
	CHECK(err_is(e, ERRCODE_OUT_OF_MEMORY));
	CHECK_STR(e->message, "memory limit of connection exceeded");
	CHECK(arena_check(top) != NULL);
	arena_free(low);
	CHECK(arena_check(top) == NULL);
	arena_free(top);
}

static void
texts_are_copied(void)
{
	struct arena *a = arena_new(NULL, "t");
	char big[1000];
	struct str s;

	memset(big, 'y', sizeof big - 1);
	big[sizeof big - 1] = 0;
	CHECK_STR(arena_printf(a, "%d-%s", 42, "x"), "42-x");
	CHECK(strlen(arena_printf(a, "%s%s", big, big)) == 1998);
	CHECK_STR(arena_strdup(a, "abc"), "abc");
	CHECK_STR(arena_cstr(a, str_of("abcdef", 3)), "abc");
	CHECK_STR(arena_cstr(a, STR_NONE), "");
	s = arena_str(a, STR("abc"));
	CHECK(str_eq(s, STR("abc")));
	arena_free(a);
}

static void
reset_leaves_a_usable_arena(void)
{
	struct arena *a = arena_new(NULL, "t");
	size_t empty = arena_bytes(a);

	for (int i = 0; i < 100; i++) {
		arena_new(a, "child");
		arena_alloc(a, 5000);
		arena_alloc(a, 50000);
		arena_reset(a);
		CHECK(arena_bytes(a) == empty);
	}
	arena_free(a);
	arena_free(NULL);
}

CU_MAIN("arena",
    {"pieces_are_zeroed_and_aligned", pieces_are_zeroed_and_aligned},
    {"pieces_do_not_overlap", pieces_do_not_overlap},
    {"growing_keeps_the_bytes", growing_keeps_the_bytes},
    {"a_growing_buffer_leaves_little_behind",
	a_growing_buffer_leaves_little_behind},
    {"cleanups_run_in_reverse_children_first",
	cleanups_run_in_reverse_children_first},
    {"bytes_are_told_to_every_ancestor", bytes_are_told_to_every_ancestor},
    {"siblings_can_be_freed_in_any_order", siblings_can_be_freed_in_any_order},
    {"a_limit_is_an_error_that_names_the_arena",
	a_limit_is_an_error_that_names_the_arena},
    {"texts_are_copied", texts_are_copied},
    {"reset_leaves_a_usable_arena", reset_leaves_a_usable_arena})
