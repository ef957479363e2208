#include "gateway/sequence.h"

#include "expr/type.h"
#include "gateway/ddl.h"
#include "gateway/t/bench_world.h"
#include "regress/lib/cu.h"

#define MANY 40

static const struct cl_sequence plain = {.schema = CL_SCHEMA_PUBLIC,
    .owner = CL_ROLE_POSTGRES,
    .name = {"s", 1},
    .type = EX_INT8,
    .increment = 1,
    .min = 1,
    .max = INT64_MAX,
    .start = 1,
    .cache = 1,
    .first = 1};

/* ---- taking values ---- */

static void
values_follow_the_rules_at_every_limit(void)
{
	static const struct {
		int64_t increment, min, max;
		bool cycle;
		struct gw_seq_value from;
		uint64_t want;
		bool ok;
		int64_t first, last;
	} cases[] = {
	    {1, 1, 9, false, {1, false}, 1, true, 1, 1},
	    {1, 1, 9, false, {1, true}, 1, true, 2, 2},
	    {1, 1, 9, false, {7, true}, 5, true, 8, 9},
	    {1, 1, 9, false, {9, true}, 1, false, 0, 0},
	    {1, 1, 9, true, {9, true}, 3, true, 1, 3},
	    {5, 1, 9, false, {4, true}, 9, true, 9, 9},
	    {5, 1, 9, false, {5, true}, 1, false, 0, 0},
	    {5, 1, 9, true, {5, true}, 9, true, 1, 6},
	    {-1, -9, -1, false, {-1, false}, 3, true, -1, -3},
	    {-4, -9, -1, false, {-1, true}, 9, true, -5, -9},
	    {-4, -9, -1, false, {-6, true}, 1, false, 0, 0},
	    {-4, -9, -1, true, {-6, true}, 2, true, -1, -5},
	    {1, 1, INT64_MAX, false, {INT64_MAX - 1, true}, UINT64_MAX, true,
		INT64_MAX, INT64_MAX},
	    {1, 1, INT64_MAX, false, {INT64_MAX, true}, 1, false, 0, 0},
	    {INT64_MAX, INT64_MIN, INT64_MAX, false, {INT64_MIN, false}, 9,
		true, INT64_MIN, INT64_MAX - 1},
	    {INT64_MIN, INT64_MIN, INT64_MAX, false, {INT64_MAX, false}, 9,
		true, INT64_MAX, -1},
	    {-1, INT64_MIN, -1, false, {INT64_MIN, true}, 1, false, 0, 0},
	    /* The limit was lowered since. */
	    {1, 1, 5, false, {8, true}, 1, false, 0, 0},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct cl_sequence q = plain;
		struct gw_seq_value v = cases[i].from;
		struct gw_draw d;

		q.increment = cases[i].increment;
		q.min = cases[i].min;
		q.max = cases[i].max;
		q.cycle = cases[i].cycle;
		CHECK(
		    gw_sequence_take(&q, &v, cases[i].want, &d) == cases[i].ok);
		if (!cases[i].ok) {
			CHECK(v.last == cases[i].from.last);
			continue;
		}
		CHECK(d.first == cases[i].first && d.last == cases[i].last);
		CHECK(v.called && v.last == d.last);
	}
}

/* ---- drawing ---- */

static uint32_t
make(struct bench *b, const struct cl_sequence *q)
{
	struct gw_sequence_def def = {q, false};
	const struct cl_object *o;
	bool created;

	bench_stmt(b, 5000000);
	CHECK(!gw_ddl_create_sequence(&b->stmt, b->arena, &def, &created));
	CHECK(created);
	bench_stmt(b, 5000000);
	o = cl_find_name(
	    b->stmt.catalog, CL_SEQUENCE, CL_SCHEMA_PUBLIC, q->name);
	MUST(o != NULL);
	return o->id;
}

static int64_t
draw(struct bench *b, uint32_t id)
{
	struct gw_draw d;
	struct err *e = gw_sequence_draw(&b->stmt, b->arena, id, 1, &d);

	CHECK(!e && d.first == d.last);
	return e ? -1 : d.first;
}

struct drawer {
	struct bench *b;
	uint32_t id;
	struct gw_stmt stmt;
	struct gw_ops ops;
	struct gw_draw out;
	struct err *err;
	bool done;
	struct cond *wake;
	struct fiber *fiber;
};

static void
drawer_fiber(void *arg)
{
	struct drawer *d = arg;

	d->err = gw_sequence_draw(&d->stmt, d->b->arena, d->id, 1, &d->out);
	d->done = true;
	cond_signal(d->wake);
}

static struct drawer *
draw_apart(struct bench *b, uint32_t id, struct cond *wake)
{
	struct drawer *d = NEW(b->arena, struct drawer);

	*d = (struct drawer){.b = b, .id = id, .wake = wake};
	gw_ops_init(&d->ops, b->worker);
	gw_stmt_begin(&d->stmt, b->worker, &d->ops, b->stmt.catalog, 5000000);
	d->fiber = fiber_spawn(
	    b->world, "drawer", FIBER_STACK_GATEWAY, drawer_fiber, d);
	return d;
}

static void
wait_all(struct drawer **ds, int n, struct cond *wake)
{
	for (int i = 0; i < n; i++)
		while (!ds[i]->done)
			(void)cond_wait(wake, WORLD_FOREVER);
}

static int
proposals(const struct bench *b)
{
	int n = 0;

	for (uint32_t i = 0; i < b->store.n_nodes; i++)
		n += b->store.nodes[i]->n_proposed;
	return n;
}

static void
share_body(struct bench *b)
{
	uint32_t id = make(b, &plain);
	struct drawer *ds[MANY];
	struct cond wake;
	int before = proposals(b);
	bool seen[MANY + 1] = {false};

	cond_init(&wake, b->world);
	for (int i = 0; i < MANY; i++)
		ds[i] = draw_apart(b, id, &wake);
	wait_all(ds, MANY, &wake);
	for (int i = 0; i < MANY; i++) {
		int64_t v = ds[i]->out.first;

		CHECK(!ds[i]->err);
		MUST(v >= 1 && v <= MANY && !seen[v]);
		seen[v] = true;
	}
	CHECK(proposals(b) - before <= 3);
	CHECK(fake_count(&b->store, id) == 1);
}

static void
draws_of_one_worker_share_a_proposal(void)
{
	bench_run(2, NULL, share_body);
}

static void
lost_body(struct bench *b)
{
	uint32_t id = make(b, &plain);
	int64_t last = draw(b, id);

	for (int i = 0; i < 4; i++) {
		int64_t v;

		for (uint32_t k = 0; k < b->store.n_nodes; k++)
			b->store.nodes[k]->cut_answers = i % 2 + 1;
		v = draw(b, id);
		CHECK(v > last);
		last = v;
		for (uint32_t k = 0; k < b->store.n_nodes; k++)
			b->store.nodes[k]->cut_answers = 0;
	}
}

static void
a_lost_answer_gives_no_value_twice(void)
{
	bench_run(2, NULL, lost_body);
}

static void
others_body(struct bench *b)
{
	uint32_t id = make(b, &plain);
	struct gw_seq_value to = {100, true}, now;

	CHECK(draw(b, id) == 1);
	CHECK(!gw_sequence_get(&b->stmt, b->arena, id, &now));
	CHECK(now.last == 1 && now.called);
	CHECK(!gw_sequence_set(&b->stmt, b->arena, id, to));
	CHECK(draw(b, id) == 101);
	to.called = false;
	CHECK(!gw_sequence_set(&b->stmt, b->arena, id, to));
	CHECK(draw(b, id) == 100);
}

static void
what_others_set_is_where_it_goes_on(void)
{
	bench_run(1, NULL, others_body);
}

static void
limit_body(struct bench *b)
{
	struct cl_sequence q = plain;
	struct drawer *ds[6];
	struct cond wake;
	uint32_t id;
	int ok = 0;

	q.max = 4;
	id = make(b, &q);
	cond_init(&wake, b->world);
	for (int i = 0; i < 6; i++)
		ds[i] = draw_apart(b, id, &wake);
	wait_all(ds, 6, &wake);
	for (int i = 0; i < 6; i++) {
		ok += !ds[i]->err;
		if (ds[i]->err)
			CHECK(err_is(ds[i]->err,
			    ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED));
	}
	CHECK(ok == 4);
}

static void
who_meets_the_limit_is_told_alone(void)
{
	bench_run(1, NULL, limit_body);
}

static void
few_may_wait(struct bench *b)
{
	b->conf.draws_max = 3;
}

static void
bounded_body(struct bench *b)
{
	uint32_t id = make(b, &plain);
	struct drawer *ds[6];
	struct cond wake;
	int refused = 0;

	cond_init(&wake, b->world);
	for (int i = 0; i < 6; i++)
		ds[i] = draw_apart(b, id, &wake);
	wait_all(ds, 6, &wake);
	for (int i = 0; i < 6; i++)
		refused +=
		    ds[i]->err &&
		    err_is(ds[i]->err, ERRCODE_CONFIGURATION_LIMIT_EXCEEDED);
	CHECK(refused == 3);
}

static void
only_so_many_wait_for_one_sequence(void)
{
	bench_run(1, few_may_wait, bounded_body);
}

static void
cancel_body(struct bench *b)
{
	uint32_t id = make(b, &plain);
	struct drawer *ds[3];
	struct cond wake;

	cond_init(&wake, b->world);
	for (int i = 0; i < 3; i++)
		ds[i] = draw_apart(b, id, &wake);
	fiber_yield(b->world);
	fiber_cancel(ds[1]->fiber);
	wait_all(ds, 3, &wake);
	CHECK(!ds[0]->err && !ds[2]->err);
	CHECK(ds[1]->err && err_is(ds[1]->err, ERRCODE_QUERY_CANCELED));
	CHECK(ds[0]->out.first != ds[2]->out.first);
	CHECK(draw(b, id) > 2);
}

static void
who_gives_up_leaves_the_others_alone(void)
{
	bench_run(1, NULL, cancel_body);
}

static void
gone_body(struct bench *b)
{
	uint32_t id = make(b, &plain);
	struct str name = STR("s");
	struct gw_drop d = {
	    .kind = CL_SEQUENCE, .ids = &id, .names = &name, .n = 1};
	struct gw_draw out;
	struct err *e;

	CHECK(draw(b, id) == 1);
	CHECK(!gw_ddl_drop(&b->stmt, b->arena, &d));
	bench_stmt(b, 5000000);
	e = gw_sequence_draw(&b->stmt, b->arena, id, 1, &out);
	CHECK(e && err_is(e, ERRCODE_UNDEFINED_TABLE));
	/* A new one of the name starts anew. */
	id = make(b, &plain);
	CHECK(draw(b, id) == 1);
}

static void
a_dropped_sequence_gives_nothing(void)
{
	bench_run(1, NULL, gone_body);
}

/* ---- names ---- */

static void
names_body(struct bench *b)
{
	struct cl_sequence q = plain;
	struct gw_sequence_def def = {&q, false};
	bool created;
	struct err *e;

	(void)bench_table(b);
	q.name = STR("t");
	e = gw_ddl_create_sequence(&b->stmt, b->arena, &def, &created);
	CHECK(e && err_is(e, ERRCODE_DUPLICATE_TABLE) && !created);
	def.if_not_exists = true;
	bench_stmt(b, 5000000);
	e = gw_ddl_create_sequence(&b->stmt, b->arena, &def, &created);
	CHECK(!e && !created);
}

static void
a_table_and_a_sequence_share_no_name(void)
{
	bench_run(1, NULL, names_body);
}

CU_MAIN("gateway/sequence",
    {"values_follow_the_rules_at_every_limit",
	values_follow_the_rules_at_every_limit},
    {"draws_of_one_worker_share_a_proposal",
	draws_of_one_worker_share_a_proposal},
    {"a_lost_answer_gives_no_value_twice", a_lost_answer_gives_no_value_twice},
    {"what_others_set_is_where_it_goes_on",
	what_others_set_is_where_it_goes_on},
    {"who_meets_the_limit_is_told_alone", who_meets_the_limit_is_told_alone},
    {"only_so_many_wait_for_one_sequence", only_so_many_wait_for_one_sequence},
    {"who_gives_up_leaves_the_others_alone",
	who_gives_up_leaves_the_others_alone},
    {"a_dropped_sequence_gives_nothing", a_dropped_sequence_gives_nothing},
    {"a_table_and_a_sequence_share_no_name",
	a_table_and_a_sequence_share_no_name})
