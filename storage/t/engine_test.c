/* The contract of base/engine.h, on every engine there is. */
#include <sched.h>

#include "regress/lib/cu.h"
#include "storage/t/rig.h"

#define MANY   300
#define YIELDS 1000

static const enum rig_kind kinds[] = {RIG_MEM, RIG_WT, RIG_WT_INLINE};

static void
on_each(void (*fn)(struct rig *r))
{
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		struct rig r;

		rig_start(&r, kinds[i]);
		rig_open(&r);
		rig_run(&r, fn);
		rig_stop(&r);
	}
}

static enum engine_result
write_with(struct rig *r, uint64_t lane, void (*run)(struct kv *kv, void *arg),
    void *arg)
{
	return engine_run(r->engine, lane, ENGINE_WRITE, run, arg);
}

static enum engine_result
read_with(struct rig *r, void (*run)(struct kv *kv, void *arg), void *arg)
{
	return engine_run(r->engine, ENGINE_LANE_ANY, ENGINE_READ, run, arg);
}

/* ---- get, put, delete ---- */

struct one {
	struct str key, val;
	bool found;
	char copy[64];
};

static void
put_one(struct kv *kv, void *arg)
{
	const struct one *o = arg;

	kv_put(kv, KV_ROWS, o->key, o->val);
}

static void
del_one(struct kv *kv, void *arg)
{
	const struct one *o = arg;

	kv_del(kv, KV_ROWS, o->key);
}

static void
get_one(struct kv *kv, void *arg)
{
	struct one *o = arg;
	struct str v;

	o->found = kv_get(kv, KV_ROWS, o->key, &v);
	if (!o->found)
		return;
	memcpy(o->copy, v.p, v.len);
	o->copy[v.len] = 0;
}

static const char *
value_of(struct rig *r, struct str key)
{
	static struct one o;

	o = (struct one){.key = key};
	read_with(r, get_one, &o);
	return o.found ? o.copy : NULL;
}

static void
what_is_put_is_found(struct rig *r)
{
	struct one o = {STR("k"), STR("v1"), false, ""};

	CHECK(value_of(r, STR("k")) == NULL);
	CHECK(write_with(r, 1, put_one, &o) == ENGINE_OK);
	CHECK_STR(value_of(r, STR("k")), "v1");
	o.val = STR("v2");
	write_with(r, 1, put_one, &o);
	CHECK_STR(value_of(r, STR("k")), "v2");
	write_with(r, 1, del_one, &o);
	CHECK(value_of(r, STR("k")) == NULL);
	/* Deleting what is not there is fine. */
	CHECK(write_with(r, 1, del_one, &o) == ENGINE_OK);
}

static void
put_get_delete(void)
{
	on_each(what_is_put_is_found);
}

/* ---- a value survives a put ---- */

static void
get_then_put(struct kv *kv, void *arg)
{
	struct one *o = arg;
	struct str v;

	o->found = kv_get(kv, KV_ROWS, STR("k"), &v);
	kv_put(kv, KV_ROWS, STR("k"), STR("other"));
	kv_put(kv, KV_ROWS, STR("j"), STR("more"));
	if (o->found) {
		memcpy(o->copy, v.p, v.len);
		o->copy[v.len] = 0;
	}
}

static void
value_stays(struct rig *r)
{
	struct one o = {STR("k"), STR("first"), false, ""};

	write_with(r, 1, put_one, &o);
	write_with(r, 1, get_then_put, &o);
	CHECK_STR(o.copy, "first");
	CHECK_STR(value_of(r, STR("k")), "other");
}

static void
a_value_read_survives_a_write(void)
{
	on_each(value_stays);
}

/* ---- abort ---- */

static void
put_and_abort(struct kv *kv, void *arg)
{
	kv_put(kv, KV_ROWS, STR("a"), STR("x"));
	kv_put(kv, KV_META, STR("a"), STR("x"));
	kv_del(kv, KV_ROWS, STR("k"));
	kv_abort(kv);
	(void)arg;
}

static void
abort_drops_all(struct rig *r)
{
	struct one o = {STR("k"), STR("v"), false, ""};

	write_with(r, 1, put_one, &o);
	CHECK(write_with(r, 1, put_and_abort, NULL) == ENGINE_ABORT);
	CHECK(value_of(r, STR("a")) == NULL);
	CHECK_STR(value_of(r, STR("k")), "v");
}

static void
an_aborted_job_changes_nothing(void)
{
	on_each(abort_drops_all);
}

/* ---- cursors ---- */

static struct str
number_key(char *to, int i)
{
	to[0] = (char)('0' + i / 100);
	to[1] = (char)('0' + i / 10 % 10);
	to[2] = (char)('0' + i % 10);
	return str_of(to, 3);
}

static void
put_even(struct kv *kv, void *arg)
{
	char key[3];

	(void)arg;
	for (int i = 0; i < MANY; i += 2)
		kv_put(kv, KV_INDEX, number_key(key, i), STR("v"));
}

struct walk {
	int forward, backward;
	bool lower, upper, ends, before_first;
};

static void
walk_job(struct kv *kv, void *arg)
{
	struct walk *w = arg;
	struct kv_cur *c = kv_open(kv, KV_INDEX);
	struct str k, v;
	char key[3];
	bool more;

	w->forward = w->backward = 0;
	for (more = kv_seek(c, STR_NONE, &k, &v); more;
	     more = kv_next(c, &k, &v))
		w->forward++;
	number_key(key, MANY - 1);
	more = kv_seek_before(c, STR("zzz"), &k, &v);
	while (more) {
		char copy[3];

		memcpy(copy, k.p, 3);
		w->backward++;
		more = kv_seek_before(c, str_of(copy, 3), &k, &v);
	}
	w->lower =
	    kv_seek(c, number_key(key, 101), &k, &v) && str_eq(k, STR("102"));
	w->upper = kv_seek_before(c, number_key(key, 101), &k, &v) &&
		   str_eq(k, STR("100"));
	w->upper &= kv_seek_before(c, number_key(key, 100), &k, &v) &&
		    str_eq(k, STR("098"));
	w->ends = !kv_seek(c, STR("zzz"), &k, &v);
	w->before_first = kv_seek_before(c, STR("000"), &k, &v);
	kv_close(c);
}

static void
cursors_keep_order(struct rig *r)
{
	struct walk w;

	write_with(r, 1, put_even, NULL);
	read_with(r, walk_job, &w);
	CHECK(w.forward == MANY / 2);
	CHECK(w.backward == MANY / 2);
	CHECK(w.lower && w.upper && w.ends && !w.before_first);
}

static void
cursors_walk_in_key_order(void)
{
	on_each(cursors_keep_order);
}

static void
delete_while_walking(struct kv *kv, void *arg)
{
	struct kv_cur *c = kv_open(kv, KV_INDEX);
	struct str k, v;
	bool more = kv_seek(c, STR("000"), &k, &v);
	int *n = arg;

	for (*n = 0; more; more = kv_next(c, &k, &v)) {
		char copy[3];

		memcpy(copy, k.p, 3);
		if ((*n)++ % 3 == 0)
			kv_del(kv, KV_INDEX, str_of(copy, 3));
	}
}

static void
own_deletes(struct rig *r)
{
	struct walk w;
	int n;

	write_with(r, 1, put_even, NULL);
	write_with(r, 1, delete_while_walking, &n);
	CHECK(n == MANY / 2);
	read_with(r, walk_job, &w);
	CHECK(w.forward == MANY / 2 - (MANY / 2 + 2) / 3);
}

static void
a_cursor_passes_what_its_job_deletes(void)
{
	on_each(own_deletes);
}

static void
delete_range(struct kv *kv, void *arg)
{
	(void)arg;
	kv_del_range(kv, KV_INDEX, STR("050"), STR("150"));
	kv_del_range(kv, KV_INDEX, STR("2991"), STR("2999")); /* empty */
	kv_del_range(kv, KV_INDEX, STR("200"), STR("100"));   /* no range */
}

static void
range_is_half_open(struct rig *r)
{
	struct walk w;

	write_with(r, 1, put_even, NULL);
	write_with(r, 1, delete_range, NULL);
	read_with(r, walk_job, &w);
	CHECK(w.forward == MANY / 2 - 50);
	CHECK(!w.upper);
}

static void
a_range_is_deleted_without_its_end(void)
{
	on_each(range_is_half_open);
}

static void
open_many(struct kv *kv, void *arg)
{
	int *found = arg;
	struct str k, v;

	*found = 0;
	for (int i = 0; i < KV_CURSORS_MAX; i++)
		*found += kv_seek(kv_open(kv, KV_INDEX), STR("000"), &k, &v);
}

static void
many_cursors(struct rig *r)
{
	int found;

	write_with(r, 1, put_even, NULL);
	for (int i = 0; i < 2; i++) {
		read_with(r, open_many, &found);
		CHECK(found == KV_CURSORS_MAX);
	}
}

static void
cursors_left_open_are_closed_with_the_job(void)
{
	on_each(many_cursors);
}

/* ---- order, completion ---- */

struct counted {
	struct engine_job job;
	struct rig *rig;
	int number;
	bool slow; /* lets other threads begin before it does */
	bool ran;
};

static int done_count, done_in_order;

static void
append_number(struct kv *kv, void *arg)
{
	struct counted *c = arg;
	struct str v;
	int n = 0;

	for (int i = 0; c->slow && i < YIELDS; i++)
		sched_yield();
	if (kv_get(kv, KV_META, STR("n"), &v))
		memcpy(&n, v.p, sizeof n);
	/* Each sees what the one before it wrote. */
	c->ran = n == c->number;
	n++;
	kv_put(kv, KV_META, STR("n"), str_of(&n, sizeof n));
}

static void
counted_done(void *arg, enum engine_result result)
{
	const struct counted *c = arg;

	CHECK(result == ENGINE_OK);
	CHECK(c->ran);
	done_in_order += c->number == done_count;
	done_count++;
}

static void
lane_in_order(struct rig *r)
{
	struct counted *all = NEW_N(r->arena, struct counted, MANY);

	done_count = done_in_order = 0;
	for (int i = 0; i < MANY; i++) {
		all[i] = (struct counted){.number = i, .rig = r};
		all[i].job = (struct engine_job){.lane = 7,
		    .kind = ENGINE_WRITE,
		    .run = append_number,
		    .done = counted_done,
		    .arg = &all[i]};
		engine_submit(r->engine, &all[i].job);
		/* Never inside submit. */
		CHECK(done_count == 0 && !all[i].ran);
	}
	while (done_count < MANY)
		rig_sleep(r, 1000);
	CHECK(done_in_order == MANY);
}

static void
nothing(void *arg)
{
	(void)arg;
}

/* Light ones may run elsewhere, but neither they nor those after them overtake
 * their lane, whatever a flush asked for before has set going. */
static void
light_in_order(struct rig *r)
{
	struct counted *all = NEW_N(r->arena, struct counted, MANY);

	done_count = done_in_order = 0;
	for (int i = 0; i < MANY; i++) {
		if (i % 5 == 0)
			engine_flush(r->engine, nothing, NULL);
		all[i] = (struct counted){
		    .number = i, .rig = r, .slow = i % 13 == 0};
		all[i].job = (struct engine_job){.lane = 7,
		    .kind = ENGINE_WRITE,
		    .light = i % 13 != 1,
		    .run = append_number,
		    .done = counted_done,
		    .arg = &all[i]};
		engine_submit(r->engine, &all[i].job);
		CHECK(!all[i].ran);
		/* Bursts of one to twenty, upon an engine with nothing to do
		 * or not. */
		if (i % 20 != i / 20 % 20)
			continue;
		rig_sleep(r, 50);
		while (i / 20 % 2 && done_count <= i)
			rig_sleep(r, 200);
	}
	while (done_count < MANY)
		rig_sleep(r, 1000);
	engine_sync(r->engine);
	CHECK(done_in_order == MANY);
}

static void
light_jobs_do_not_overtake_their_lane(void)
{
	on_each(light_in_order);
}

static void
jobs_of_a_lane_run_and_complete_in_order(void)
{
	on_each(lane_in_order);
}

static int racers;

static void
bump_shared(struct kv *kv, void *arg)
{
	struct str v;
	uint64_t n = 0;

	(void)arg;
	if (kv_get(kv, KV_META, STR("shared"), &v))
		memcpy(&n, v.p, sizeof n);
	n++;
	kv_put(kv, KV_META, STR("shared"), str_of(&n, sizeof n));
}

static void
racer(void *arg)
{
	struct rig *r = arg;
	uint64_t lane = (uint64_t)racers + 100;

	for (int i = 0; i < 50; i++)
		CHECK((lane % 2 ? engine_run_light(
				      r->engine, lane, bump_shared, NULL)
				: write_with(r, lane, bump_shared, NULL)) ==
		      ENGINE_OK);
	racers--;
}

struct number {
	uint64_t n;
};

static void
read_shared(struct kv *kv, void *arg)
{
	struct number *n = arg;
	struct str v;

	n->n = 0;
	if (kv_get(kv, KV_META, STR("shared"), &v))
		memcpy(&n->n, v.p, sizeof n->n);
}

/* Lanes run side by side and meet on one key: a conflict runs one of them
 * again, and nothing is lost. */
static void
lanes_conflict(struct rig *r)
{
	struct number n;

	racers = 0;
	for (int i = 0; i < 8; i++) {
		racers++;
		fiber_spawn(r->world, "racer", FIBER_STACK_NODE, racer, r);
	}
	while (racers)
		rig_sleep(r, 1000);
	read_with(r, read_shared, &n);
	CHECK(n.n == 400);
}

static void
conflicting_lanes_lose_no_update(void)
{
	on_each(lanes_conflict);
}

/* ---- durability ---- */

static void
write_some(struct rig *r)
{
	struct one o = {STR("flushed"), STR("yes"), false, ""};

	write_with(r, 1, put_one, &o);
	engine_sync(r->engine);
	engine_sync(r->engine);
	for (int i = 0; i < 20; i++) {
		char key[3];

		o.key = number_key(key, i);
		write_with(r, (uint64_t)i + 1, put_one, &o);
	}
}

/* A prefix of what was not flushed: all before the first missing one. */
static void
find_prefix(struct rig *r)
{
	bool missing = false;

	CHECK_STR(value_of(r, STR("flushed")), "yes");
	for (int i = 0; i < 20; i++) {
		char key[3];
		bool there = value_of(r, number_key(key, i)) != NULL;

		CHECK(!(missing && there));
		missing |= !there;
	}
}

static void
a_crash_keeps_a_prefix_that_has_all_flushed(void)
{
	for (uint64_t seed = 1; seed < 40; seed++) {
		struct rig r;

		rig_start(&r, RIG_MEM);
		rig_open(&r);
		rig_run(&r, write_some);
		CHECK(engine_mem_unflushed(r.disk) == 20);
		rig_crash(&r, seed);
		CHECK(engine_mem_unflushed(r.disk) == 0);
		rig_open(&r);
		rig_run(&r, find_prefix);
		rig_stop(&r);
	}
}

static void
a_closed_engine_has_everything_when_opened_again(void)
{
	struct rig r;

	rig_start(&r, RIG_WT);
	rig_open(&r);
	rig_run(&r, write_some);
	rig_close(&r);
	rig_open(&r);
	rig_run(&r, find_prefix);
	rig_stop(&r);
}

static void
write_durable(struct rig *r)
{
	struct one o = {STR("d"), STR("yes"), false, ""};

	CHECK(engine_run_durable(r->engine, 9, put_one, &o) == ENGINE_OK);
	CHECK_STR(value_of(r, STR("d")), "yes");
	o.key = STR("k");
	write_with(r, 1, put_one, &o);
}

static void
find_durable(struct rig *r)
{
	CHECK_STR(value_of(r, STR("d")), "yes");
}

static void
a_durable_job_is_on_disk_when_it_completes(void)
{
	on_each(write_durable);
	for (uint64_t seed = 1; seed < 20; seed++) {
		struct rig r;

		rig_start(&r, RIG_MEM);
		rig_open(&r);
		rig_run(&r, write_durable);
		CHECK(engine_mem_unflushed(r.disk) == 1);
		rig_crash(&r, seed);
		rig_open(&r);
		rig_run(&r, find_durable);
		rig_stop(&r);
	}
}

static void
undo_everything(struct rig *r)
{
	struct one o = {STR("k"), STR("v"), false, ""};
	uint64_t before;

	write_with(r, 1, put_even, NULL);
	write_with(r, 1, put_one, &o);
	engine_sync(r->engine);
	before = engine_mem_digest(r->disk);
	o.val = STR("w");
	write_with(r, 1, put_one, &o);
	write_with(r, 1, del_one, &o);
	write_with(r, 1, put_one, &o);
	write_with(r, 1, delete_range, NULL);
	write_with(r, 1, put_even, NULL);
	CHECK(engine_mem_digest(r->disk) != before);
	r->random = before;
}

static void
what_a_crash_loses_is_undone_exactly(void)
{
	size_t kept_none = 0;

	for (uint64_t seed = 1; seed < 40; seed++) {
		struct rig r;
		uint64_t before;

		rig_start(&r, RIG_MEM);
		rig_open(&r);
		rig_run(&r, undo_everything);
		before = r.random;
		arena_free(r.fake.arena);
		if (engine_mem_crash(r.disk, seed) == 5) {
			kept_none++;
			CHECK(engine_mem_digest(r.disk) == before);
		}
		arena_free(r.arena);
	}
	CHECK(kept_none > 0);
}

/* ---- faults in memory ---- */

static enum engine_mem_space space;

static enum engine_mem_space
space_hook(void *arg)
{
	(void)arg;
	return space;
}

static void
fill_up(struct rig *r)
{
	struct one o = {STR("k"), STR("v"), false, ""};

	space = ENGINE_MEM_LOW;
	CHECK(!engine_writable(r->engine));
	CHECK(write_with(r, 1, put_one, &o) == ENGINE_OK);
	space = ENGINE_MEM_FULL;
	o.val = STR("w");
	CHECK(write_with(r, 1, put_one, &o) == ENGINE_FULL);
	CHECK_STR(value_of(r, STR("k")), "v");
	space = ENGINE_MEM_ROOM;
	CHECK(engine_writable(r->engine));
	CHECK(write_with(r, 1, put_one, &o) == ENGINE_OK);
	CHECK_STR(value_of(r, STR("k")), "w");
}

static void
a_full_disk_refuses_writes_and_only_those(void)
{
	struct rig r;

	rig_start(&r, RIG_MEM);
	r.hooks.space = space_hook;
	rig_open(&r);
	rig_run(&r, fill_up);
	rig_stop(&r);
}

static bool
always(void *arg)
{
	(void)arg;
	return true;
}

static uint64_t
some_delay(void *arg, enum engine_mem_step step, uint64_t lane)
{
	struct rig *r = arg;

	return (world_random_u64(r->world) + step + lane) % 5000;
}

static void
jobs_run_again_from_their_start(void)
{
	void (*const bodies[])(struct rig *) = {what_is_put_is_found,
	    abort_drops_all, cursors_keep_order, own_deletes, lane_in_order,
	    lanes_conflict};

	for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
		struct rig r;

		rig_start(&r, RIG_MEM);
		r.hooks.arg = &r;
		r.hooks.conflict = always;
		r.hooks.delay_us = some_delay;
		rig_open(&r);
		rig_run(&r, bodies[i]);
		rig_stop(&r);
	}
}

CU_MAIN("engine", {"put_get_delete", put_get_delete},
    {"a_value_read_survives_a_write", a_value_read_survives_a_write},
    {"an_aborted_job_changes_nothing", an_aborted_job_changes_nothing},
    {"cursors_walk_in_key_order", cursors_walk_in_key_order},
    {"a_cursor_passes_what_its_job_deletes",
	a_cursor_passes_what_its_job_deletes},
    {"a_range_is_deleted_without_its_end", a_range_is_deleted_without_its_end},
    {"cursors_left_open_are_closed_with_the_job",
	cursors_left_open_are_closed_with_the_job},
    {"jobs_of_a_lane_run_and_complete_in_order",
	jobs_of_a_lane_run_and_complete_in_order},
    {"light_jobs_do_not_overtake_their_lane",
	light_jobs_do_not_overtake_their_lane},
    {"conflicting_lanes_lose_no_update", conflicting_lanes_lose_no_update},
    {"a_crash_keeps_a_prefix_that_has_all_flushed",
	a_crash_keeps_a_prefix_that_has_all_flushed},
    {"a_closed_engine_has_everything_when_opened_again",
	a_closed_engine_has_everything_when_opened_again},
    {"a_durable_job_is_on_disk_when_it_completes",
	a_durable_job_is_on_disk_when_it_completes},
    {"what_a_crash_loses_is_undone_exactly",
	what_a_crash_loses_is_undone_exactly},
    {"a_full_disk_refuses_writes_and_only_those",
	a_full_disk_refuses_writes_and_only_those},
    {"jobs_run_again_from_their_start", jobs_run_again_from_their_start})
