#include "base/map.h"

#include <stdlib.h>

#include "base/buf.h"
#include "regress/lib/cu.h"

static char one[] = "1", two[] = "2", three[] = "3";

static const char *
listed(struct arena *a, const struct map *m)
{
	struct buf b;
	struct str key;
	void *value;
	size_t at = 0;

	buf_init(&b, a);
	while (map_next(m, &at, &key, &value))
		buf_printf(&b, "%.*s=%s ", STR_FMT(key), (char *)value);
	return buf_cstr(&b);
}

static void
iteration_is_in_order_of_insertion(void)
{
	struct arena *a = arena_new(NULL, "t");
	struct map *m = map_new(a);
	char key[] = "zebra";

	CHECK(map_get(m, STR("x")) == NULL);
	CHECK(map_del(m, STR("x")) == NULL);
	map_put(m, STR("zebra"), one);
	map_put(m, STR("ape"), two);
	map_put(m, STR(""), three);
	/* The key was copied, and replacing keeps its place. */
	map_put(m, str_c(key), two);
	key[0] = 'x';
	CHECK_STR(listed(a, m), "zebra=2 ape=2 =3 ");
	CHECK(map_count(m) == 3);
	CHECK(map_get(m, STR("")) == three);
	CHECK(map_del(m, STR("ape")) == two);
	CHECK(map_get(m, STR("ape")) == NULL);
	CHECK_STR(listed(a, m), "zebra=2 =3 ");
	map_put(m, STR("ape"), one);
	CHECK_STR(listed(a, m), "zebra=2 =3 ape=1 ");
	arena_free(a);
}

enum { KEYS = 500 };

struct model {
	void *value[KEYS];
	size_t since[KEYS]; /* when it was inserted */
	size_t count;
};

static bool
agrees(const struct map *m, const struct model *x)
{
	size_t at = 0, n = 0, before = 0;
	struct str key;
	void *value;

	while (map_next(m, &at, &key, &value)) {
		uint32_t k;

		memcpy(&k, key.p, sizeof k);
		if (key.len != sizeof k || k >= KEYS || x->value[k] != value ||
		    x->since[k] < before)
			return false;
		before = x->since[k];
		n++;
	}
	return n == x->count && n == map_count(m);
}

static void
random_changes_agree_with_a_model(void)
{
	struct arena *a = arena_new(NULL, "t");
	static struct model x;
	struct map *m = map_new(a);

	memset(&x, 0, sizeof x);
	srand((unsigned)cu_seed());
	for (size_t i = 1; i < 40000; i++) {
		uint32_t k = (uint32_t)(rand() % KEYS);

		MUST(map_get(m, MAP_KEY(&k)) == x.value[k]);
		if (rand() % 100 < (i / 5000 % 2 ? 70 : 30)) {
			MUST(map_del(m, MAP_KEY(&k)) == x.value[k]);
			x.count -= x.value[k] != NULL;
			x.value[k] = NULL;
		} else {
			x.count += x.value[k] == NULL;
			if (!x.value[k])
				x.since[k] = i;
			x.value[k] = rand() % 2 ? one : two;
			map_put(m, MAP_KEY(&k), x.value[k]);
		}
		if (i % 1000 == 0)
			MUST(agrees(m, &x));
	}
	arena_free(a);
}

static void
churn_has_bounded_memory(void)
{
	struct arena *a = arena_new(NULL, "t");
	struct map *m = map_new(a);
	size_t bytes = 0;

	for (uint64_t i = 0; i < 200000; i++) {
		uint64_t old = i - 50;

		map_put(m, MAP_KEY(&i), one);
		if (i >= 50)
			CHECK(map_del(m, MAP_KEY(&old)) == one);
		if (i == 1000)
			bytes = arena_bytes(a);
	}
	CHECK(map_count(m) == 50);
	CHECK(arena_bytes(a) == bytes);
	arena_free(a);
}

CU_MAIN("map",
    {"iteration_is_in_order_of_insertion", iteration_is_in_order_of_insertion},
    {"random_changes_agree_with_a_model", random_changes_agree_with_a_model},
    {"churn_has_bounded_memory", churn_has_bounded_memory})
