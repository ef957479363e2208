/* What copies are compared by, and how far a resync has come. */
#include "storage/pass.h"

#include <stdlib.h>

#include "base/mutate.h"
#include "cluster/row.h"
#include "regress/lib/cu.h"
#include "storage/apply.h"
#include "storage/books.h"
#include "storage/scrub.h"
#include "storage/t/rig.h"

static const struct st_gid gid = {1, 2, 3};

/* ---- records ---- */

static void
a_pass_is_what_it_was(void)
{
	static const uint8_t golden[] = {1, 6, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0,
	    8, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 2, 1, 'b', 0, 2, 'c', 'd', 9};
	struct arena *a = arena_new(NULL, "pass");
	struct st_pass p = {.ballot = {6, 7, 8},
	    .begun = 5,
	    .n = 2,
	    .ranges = {{STR("b"), 0}, {STR("cd"), 9}}};
	struct st_pass out;
	struct buf b;

	buf_init(&b, a);
	st_pass_put(&b, &p);
	CHECK(str_eq(buf_view(&b), str_of(golden, sizeof golden)));
	CHECK(st_pass_get(buf_view(&b), &out));
	CHECK(out.begun == 5 && out.ballot.incarnation == 8 && out.n == 2 &&
	      out.ranges[1].index == 9);
	CHECK(str_eq(st_pass_end(&out), STR("cd")));
	for (size_t n = 0; n < b.len; n++)
		CHECK(!st_pass_get(str_of(b.p, n), &out));
	buf_init(&b, a);
	st_key_pass(&b, gid);
	CHECK(str_eq(buf_view(&b), STR("R\0\0\0\1\0\2\0\0\0\3")));
	arena_free(a);
}

static void
a_count_is_what_it_was(void)
{
	static const uint8_t golden[] = {1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0,
	    0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0};
	struct arena *a = arena_new(NULL, "count");
	struct st_count c = {1, 2, 3}, out;
	struct buf b;

	buf_init(&b, a);
	st_count_put(&b, &c);
	CHECK(str_eq(buf_view(&b), str_of(golden, sizeof golden)));
	CHECK(st_count_get(buf_view(&b), &out));
	CHECK(out.rows == 1 && out.bytes == 2 && out.digest == 3);
	CHECK(!st_count_get(str_of(golden, sizeof golden - 1), &out));
	CHECK(st_row_digest(STR("key"), 0, 7) == 0x113b6eeeb296f771u);
	CHECK(st_row_digest(STR("key"), CL_ROW_TOMBSTONE, 7) ==
	      0xe344c9c62df79071u);
	arena_free(a);
}

/* ---- which entries change what ---- */

static void
an_entry_changes_only_what_no_page_has(void)
{
	struct st_pass p = {.begun = 10};

	CHECK(!st_pass_takes(&p, STR("a"), 11)); /* still to come */
	CHECK(st_pass_add(&p, STR("b"), 12, 10));
	CHECK(!st_pass_takes(&p, STR("a"), 12)); /* the page has it */
	CHECK(st_pass_takes(&p, STR("a"), 13));
	CHECK(st_pass_takes(&p, STR("b"), 13));
	CHECK(!st_pass_takes(&p, STR("ba"), 13));
	CHECK(st_pass_add(&p, STR("d"), 15, 11));
	CHECK(st_pass_takes(&p, STR("b"), 13) &&
	      !st_pass_takes(&p, STR("c"), 15));
	CHECK(st_pass_index(&p) == 15);
	/* All that is applied is one range. */
	CHECK(st_pass_add(&p, ST_PASS_END, 20, 15));
	CHECK(p.n == 2 && p.ranges[0].index == 0);
	CHECK(str_eq(p.ranges[0].upto, STR("d")));
	CHECK(st_pass_takes(&p, STR("c"), 16) &&
	      !st_pass_takes(&p, STR("x"), 20));
	CHECK(str_cmp(ST_PASS_END, STR("\377\377\377\376\377\377")) > 0);
}

static void
too_many_pages_ahead_have_to_wait(void)
{
	struct st_pass p = {.begun = 1};
	char keys[ST_RANGES_MAX + 1][8];

	for (uint32_t i = 0; i <= ST_RANGES_MAX; i++) {
		snprintf(keys[i], sizeof keys[i], "k%03u", i);
		CHECK(st_pass_add(&p, str_c(keys[i]), 10 + i, 1) ==
		      (i < ST_RANGES_MAX));
	}
	CHECK(st_pass_add(&p, STR("l"), 100, 12));
	CHECK(st_pass_end(&p).len == 1);
}

/* ---- who is odd ---- */

#define O(s, w)                                                                \
	{                                                                      \
		.sum = (s), .wrong = (w)                                       \
	}

static void
the_minority_is_odd(void)
{
	struct st_opinion same[] = {O(1, 0), O(1, 0), O(1, 0)};
	struct st_opinion one[] = {O(1, 0), O(2, 0), O(1, 0)};
	struct st_opinion leader[] = {O(1, 0), O(2, 0), O(2, 0)};
	struct st_opinion two[] = {O(1, 0), O(2, 0)};
	struct st_opinion wrong[] = {O(1, 1), O(1, 0), O(1, 0)};
	struct st_opinion both[] = {O(1, 1), O(2, 0)};
	struct st_opinion all[] = {O(1, 1), O(2, 1)};
	struct st_opinion three[] = {O(1, 0), O(2, 0), O(3, 0)};

	CHECK(st_scrub_judge(same, 3) == 0);
	CHECK(st_scrub_judge(one, 3) == 1 && one[1].odd);
	CHECK(st_scrub_judge(leader, 3) == 1 && leader[0].odd);
	CHECK(st_scrub_judge(two, 2) == 1 && two[1].odd);
	CHECK(st_scrub_judge(wrong, 3) == 1 && wrong[0].odd);
	CHECK(st_scrub_judge(both, 2) == 1 && both[0].odd);
	CHECK(st_scrub_judge(all, 2) == 0);
	CHECK(st_scrub_judge(three, 3) == 2 && !three[0].odd);
}

/* ---- books ---- */

#define KEYS 40
#define OPS  25

struct model {
	cl_stamp stamp;
	size_t value; /* bytes; 0: a tombstone */
};

struct op {
	int kind; /* 0: put, 1: delete, 2: drop */
	unsigned key;
	size_t value;
	cl_stamp stamp;
};

struct batch {
	struct arena *arena;
	const struct cl_catalog *catalog;
	struct op ops[OPS];
	struct st_count counts[2]; /* of two tables, as kept */
	uint64_t tombstones;
};

static struct str
key_of(struct arena *a, unsigned i)
{
	struct buf b;

	buf_init(&b, a);
	cl_key_prefix(&b, 16384 + i % 2, gid.slot);
	buf_be32(&b, i);
	return buf_view(&b);
}

static struct str
row_of(struct arena *a, size_t value, cl_stamp stamp)
{
	struct buf b;

	buf_init(&b, a);
	cl_row_begin(&b, 0);
	cl_row_col(&b, 1, CL_TAG_TEXT, str_of(arena_alloc(a, value), value));
	cl_row_set_stamp(b.p, stamp);
	return buf_view(&b);
}

static void
write_job(struct kv *kv, void *arg)
{
	struct batch *x = arg;
	struct st_books b;

	st_books_open(&b, kv, x->arena, x->catalog, gid);
	for (int i = 0; i < OPS; i++) {
		const struct op *o = &x->ops[i];
		struct str key = key_of(x->arena, o->key);

		if (o->kind == 0)
			st_books_put(
			    &b, key, row_of(x->arena, o->value, o->stamp));
		else if (o->kind == 1)
			st_books_delete(&b, key, o->stamp);
		else
			st_books_drop(&b, key);
	}
	st_books_close(&b);
}

static void
look_job(struct kv *kv, void *arg)
{
	struct batch *x = arg;
	struct kv_cur *c = kv_open(kv, KV_META);
	struct str k, v;
	bool more;

	for (uint32_t t = 0; t < 2; t++) {
		struct buf key;

		x->counts[t] = (struct st_count){0, 0, 0};
		buf_init(&key, x->arena);
		st_key_count(&key, 16384 + t, gid.slot);
		if (kv_get(kv, KV_META, buf_view(&key), &v))
			CHECK(st_count_get(v, &x->counts[t]));
	}
	x->tombstones = 0;
	for (more = kv_seek(c, STR("T"), &k, &v); more && k.p[0] == 'T';
	     more = kv_next(c, &k, &v))
		x->tombstones++;
	kv_close(c);
}

static void
recount(struct arena *a, const struct model *m, struct st_count *out,
    uint64_t *tombstones)
{
	*tombstones = 0;
	out[0] = out[1] = (struct st_count){0, 0, 0};
	for (unsigned i = 0; i < KEYS; i++) {
		struct st_count *c = &out[i % 2];
		struct str key = key_of(a, i);

		if (!m[i].stamp)
			continue;
		c->digest += st_row_digest(key,
		    (uint8_t)(m[i].value ? 0 : CL_ROW_TOMBSTONE), m[i].stamp);
		*tombstones += !m[i].value;
		if (!m[i].value)
			continue;
		c->rows++;
		c->bytes +=
		    (int64_t)(key.len + row_of(a, m[i].value, m[i].stamp).len);
	}
}

static void
draw(struct batch *x, struct model *m, cl_stamp *stamp)
{
	for (int i = 0; i < OPS; i++) {
		struct op *o = &x->ops[i];

		o->kind = rand() % 3;
		o->key = (unsigned)rand() % KEYS;
		o->value = o->kind ? 0 : 1 + (size_t)rand() % 50;
		o->stamp = ++*stamp;
		m[o->key] =
		    (struct model){o->kind == 2 ? 0 : o->stamp, o->value};
	}
}

static void
books_body(struct rig *r)
{
	struct cl_catalog *none = cl_catalog_new();
	struct model m[KEYS] = {{0, 0}};
	cl_stamp stamp = 100;

	for (int round = 0; round < 40; round++) {
		struct arena *a = arena_new(NULL, "books");
		struct batch x = {.arena = a, .catalog = none};
		struct st_count want[2];
		uint64_t tombstones;

		draw(&x, m, &stamp);
		MUST(engine_run(r->engine, 1, ENGINE_WRITE, write_job, &x) ==
		     ENGINE_OK);
		engine_run(r->engine, 1, ENGINE_READ, look_job, &x);
		recount(a, m, want, &tombstones);
		CHECK(memcmp(want, x.counts, sizeof want) == 0);
		CHECK(tombstones == x.tombstones);
		arena_free(a);
	}
	cl_catalog_unref(none);
}

static void
counters_and_digests_are_those_of_the_rows(void)
{
	struct rig r;

	srand(7);
	rig_start(&r, RIG_MEM);
	rig_open(&r);
	rig_run(&r, books_body);
	rig_stop(&r);
}

CU_MAIN("resync", {"a_pass_is_what_it_was", a_pass_is_what_it_was},
    {"a_count_is_what_it_was", a_count_is_what_it_was},
    {"an_entry_changes_only_what_no_page_has",
	an_entry_changes_only_what_no_page_has},
    {"too_many_pages_ahead_have_to_wait", too_many_pages_ahead_have_to_wait},
    {"the_minority_is_odd", the_minority_is_odd},
    {"counters_and_digests_are_those_of_the_rows",
	counters_and_digests_are_those_of_the_rows})
