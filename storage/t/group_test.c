/* What decides in a group: pure functions. */
#include "storage/group.h"

#include "regress/lib/cu.h"
#include "storage/apply.h"
#include "storage/life.h"

/* Counted the slow way: how many reached it? */
static void
the_majority_index_is_what_most_have(void)
{
	for (int code = 0; code < 4 * 4 * 4 * 4 * 4; code++)
		for (size_t n = 1; n <= 5; n++) {
			uint64_t match[5], want = 0;
			int c = code;

			for (size_t i = 0; i < n; i++, c /= 4)
				match[i] = (uint64_t)(c % 4);
			for (uint64_t v = 0; v < 4; v++) {
				size_t have = 0;

				for (size_t i = 0; i < n; i++)
					have += match[i] >= v;
				if (have * 2 > n)
					want = v;
			}
			CHECK(st_majority_index(match, n) == want);
		}
}

static void
only_an_entry_of_the_own_term_commits(void)
{
	CHECK(st_commit_index(3, 7, 8) == 3);
	CHECK(st_commit_index(3, 8, 8) == 8);
	CHECK(st_commit_index(9, 8, 8) == 9);
}

static void
a_group_record_is_what_it_was(void)
{
	static const uint8_t golden[] = {2, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0,
	    3, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0,
	    0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0};
	struct arena *a = arena_new(NULL, "group");
	struct st_group_record r = {{1, 2, 3}, 4, 5, 6, 7}, out;
	struct buf b;

	buf_init(&b, a);
	st_group_record_put(&b, &r);
	CHECK(str_eq(buf_view(&b), str_of(golden, sizeof golden)));
	CHECK(st_group_record_get(buf_view(&b), &out));
	CHECK(out.applied == 4 && out.stamp == 5 && out.floor == 6 &&
	      out.catalog_version == 7);
	for (size_t n = 0; n < b.len; n++)
		CHECK(!st_group_record_get(str_of(b.p, n), &out));
	arena_free(a);
}

static void
a_record_of_a_life_is_what_it_was(void)
{
	struct arena *a = arena_new(NULL, "life");
	uint8_t life[ST_LIFE];
	uint32_t incarnation;
	struct buf b;

	buf_init(&b, a);
	st_life_put(&b, 258, STR("0123456789abcdef"));
	CHECK(str_eq(buf_view(&b), STR("\1\2\1\0\0"
				       "0123456789abcdef")));
	CHECK(st_life_get(buf_view(&b), &incarnation, life));
	CHECK(incarnation == 258 && memcmp(life, "0123456789abcdef", 16) == 0);
	for (size_t n = 0; n < b.len; n++)
		CHECK(!st_life_get(str_of(b.p, n), &incarnation, life));
	arena_free(a);
}

static void
keys_of_a_group_are_what_they_were(void)
{
	struct st_gid g = {1, 2, 3}, out;
	struct arena *a = arena_new(NULL, "group");
	struct buf b;
	struct cur c;

	buf_init(&b, a);
	st_key_log(&b, g, 0x0102);
	CHECK(str_eq(buf_view(&b), STR("\0\0\0\1\0\2\0\0\0\3"
				       "\0\0\0\0\0\0\1\2")));
	c = cur_of(buf_view(&b));
	CHECK(st_gid_get(&c, &out) && st_gid_eq(out, g));
	buf_init(&b, a);
	st_key_tombstone(&b, g, 5, STR("k"));
	CHECK(str_eq(buf_view(&b), STR("T\0\0\0\1\0\2\0\0\0\3"
				       "\0\0\0\0\0\0\0\5k")));
	buf_init(&b, a);
	st_key_count(&b, 16384, 9);
	CHECK(str_eq(buf_view(&b), STR("C\0\0\x40\0\0\x09")));
	CHECK(st_group_lane(g) != st_group_lane((struct st_gid){1, 3, 3}));
	CHECK(st_group_lane((struct st_gid){0, 0, 1}) != ENGINE_LANE_ANY);
	arena_free(a);
}

CU_MAIN("group",
    {"the_majority_index_is_what_most_have",
	the_majority_index_is_what_most_have},
    {"only_an_entry_of_the_own_term_commits",
	only_an_entry_of_the_own_term_commits},
    {"a_group_record_is_what_it_was", a_group_record_is_what_it_was},
    {"a_record_of_a_life_is_what_it_was", a_record_of_a_life_is_what_it_was},
    {"keys_of_a_group_are_what_they_were", keys_of_a_group_are_what_they_were})
