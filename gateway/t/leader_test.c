/* Groups of several members: leaders that change, die, hang and point at each
 * other, under writes, reads, scans and catalog changes. */
#include "base/metrics.h"
#include "gateway/ddl.h"
#include "gateway/t/bench_world.h"
#include "regress/lib/cu.h"

#define MS 1000u

static uint64_t
now_us(struct bench *b)
{
	return world_mono_us(b->world);
}

static void
hurried(struct bench *b)
{
	b->conf.peer.greet_us = 100 * MS;
	b->conf.peer.ping_us = 30 * MS;
	b->conf.peer.silence_us = 100 * MS;
	b->conf.peer.backoff_min_us = 20 * MS;
	b->conf.peer.backoff_max_us = 40 * MS;
}

static int
refused(struct bench *b)
{
	int n = 0;

	for (uint32_t i = 0; i < b->store.n_nodes; i++)
		n += b->store.nodes[i]->n_refused;
	return n;
}

static void
all_led_by(struct bench *b, uint32_t member)
{
	for (int i = 0; i < FAKE_SLOTS; i++)
		b->store.led_by[i] = member;
}

/* The ids of a whole scan, summed; the number of rows in *n. */
static struct err *
scan_sum(struct bench *b, const struct cl_table *t, size_t *n, int64_t *sum)
{
	static const uint32_t columns[] = {1};
	struct sql_scan_req req = {
	    .table = t, .columns = columns, .n_columns = 1, .ordered = true};
	struct sql_source *src = gw_source_new(b->arena, &b->stmt);
	struct sql_scan *sc;
	struct sql_row row;
	bool more = true;
	struct err *e;

	*n = 0;
	*sum = 0;
	TRY(src->ops->scan_open(src, b->arena, &req, &sc));
	do {
		e = src->ops->scan_next(sc, b->arena, &row, &more);
		if (!e && more) {
			++*n;
			*sum += row.vals[0].u.i;
		}
	} while (!e && more);
	src->ops->scan_close(sc);
	return e;
}

static struct err *
read_keys(struct bench *b, const struct cl_table *t, int64_t n, size_t *found)
{
	static const uint32_t columns[] = {1};
	struct sql_scan_req req = {
	    .table = t, .columns = columns, .n_columns = 1};
	struct sql_source *src = gw_source_new(b->arena, &b->stmt);
	struct sql_row *rows = NEW_N(b->arena, struct sql_row, (size_t)n);
	struct str *keys = NEW_N(b->arena, struct str, (size_t)n);
	bool *is = NEW_N(b->arena, bool, (size_t)n);

	*found = 0;
	for (int64_t i = 0; i < n; i++)
		keys[i] = bench_key(b, t, i);
	TRY(src->ops->get(src, b->arena, &req, keys, (size_t)n, rows, is));
	for (int64_t i = 0; i < n; i++)
		*found += is[i];
	return NULL;
}

/* ---- hints ---- */

static void
hint_body(struct bench *b)
{
	const struct cl_table *t = bench_table(b);
	uint64_t hops = metric_total(M_GW_HOPS);
	size_t found;
	int before;

	all_led_by(b, 2);
	CHECK(!bench_insert(b, t, 0, 60));
	CHECK(refused(b) > 0);
	CHECK(metric_total(M_GW_HOPS) - hops == (uint64_t)refused(b));
	/* Each group's new leader is known now. */
	before = refused(b);
	bench_stmt(b, 1000 * MS);
	CHECK(!bench_insert(b, t, 60, 60));
	CHECK(!read_keys(b, t, 120, &found) && found == 120);
	CHECK(refused(b) == before);
	CHECK(b->store.nodes[1]->n_read == 1 && !b->store.nodes[0]->n_read);
	/* A read learns, too, and keeps to itself what is not led elsewhere. */
	b->store.led_by[3] = b->store.led_by[4] = 3;
	CHECK(!read_keys(b, t, 120, &found) && found == 120);
	CHECK(b->store.nodes[1]->n_read == 3 && b->store.nodes[2]->n_read == 1);
}

static void
a_hint_is_followed_at_once_and_remembered(void)
{
	bench_copies(3, 3, NULL, hint_body);
}

/* An insert that cannot succeed within that time; what nodes count is its own.
 * One that has a send out when time is up ends with 40003, as it must: on a
 * busy machine that happens, but not each time. */
static struct err *
insert_in_vain(
    struct bench *b, const struct cl_table *t, int64_t id, uint64_t us)
{
	struct err *e;
	int n = 0;

	do {
		for (uint32_t i = 0; i < b->store.n_nodes; i++)
			b->store.nodes[i]->n_proposed = 0;
		bench_stmt(b, us);
		e = bench_insert(b, t, id, 1);
	} while (
	    e && err_is(e, ERRCODE_STATEMENT_COMPLETION_UNKNOWN) && ++n < 5);
	return e;
}

static void
circle_body(struct bench *b)
{
	const struct cl_table *t = bench_table(b);
	struct fake_node **n = b->store.nodes;
	struct err *e;

	n[0]->points_at = 2;
	n[1]->points_at = n[2]->points_at = 1;
	e = insert_in_vain(b, t, 0, 200 * MS);
	CHECK(e && err_is(e, ERRCODE_QUERY_CANCELED) && e->detail);
	/* Pauses of 4, 8, 16, 32, then 64 ms at most and half that at least. */
	CHECK(n[0]->n_proposed >= 4);
	CHECK(n[0]->n_proposed <= 12);
	CHECK(n[1]->n_proposed + n[2]->n_proposed <= 24);
	n[0]->points_at = n[1]->points_at = n[2]->points_at = 0;
	bench_stmt(b, 1000 * MS);
	CHECK(!bench_insert(b, t, 0, 1));
}

static void
two_that_point_at_each_other_are_not_asked_in_circles(void)
{
	bench_copies(3, 3, NULL, circle_body);
}

/* ---- dead leaders ---- */

struct later {
	struct bench *bench;
	struct timer timer;
	uint32_t gone;
};

static void
elect_ev(void *arg)
{
	struct later *l = arg;

	fake_elect(&l->bench->store, l->gone);
}

/* As a lease and an election would have it. */
static void
elect_in(struct bench *b, struct later *l, uint32_t gone, uint64_t us)
{
	*l = (struct later){.bench = b, .gone = gone};
	timer_set(b->world, &l->timer, now_us(b) + us, elect_ev, l);
}

static void
dead_body(struct bench *b)
{
	const struct cl_table *t = bench_table(b);
	struct later l;
	uint64_t t0;
	size_t found;

	CHECK(!bench_insert(b, t, 0, 60));
	fake_node_stop(b->store.nodes[0]);
	elect_in(b, &l, 1, 150 * MS);
	t0 = now_us(b);
	CHECK(!bench_insert(b, t, 60, 60));
	/* Its slots waited for the election, and not much longer. */
	CHECK(now_us(b) - t0 >= 140 * MS && now_us(b) - t0 < 400 * MS);
	CHECK(fake_count(&b->store, t->id) == 120);
	/* Now nothing is lost by it. */
	t0 = now_us(b);
	CHECK(!bench_insert(b, t, 120, 60));
	CHECK(!read_keys(b, t, 180, &found) && found == 180);
	CHECK(now_us(b) - t0 < 100 * MS);
	/* It is used again when it is back and leads. */
	fake_node_start(b->store.nodes[0]);
	all_led_by(b, 1);
	bench_stmt(b, 2000 * MS);
	CHECK(!bench_insert(b, t, 180, 60));
	CHECK(fake_count(&b->store, t->id) == 240);
}

static void
a_dead_leaders_slots_are_served_by_the_next_member(void)
{
	bench_copies(3, 3, hurried, dead_body);
}

static void
silent_nodes(struct bench *b)
{
	hurried(b);
	for (uint32_t i = 0; i < b->store.n_nodes; i++)
		b->store.nodes[i]->silent = true;
}

static void
the_next_member_is_found_without_hints(void)
{
	bench_copies(3, 3, silent_nodes, dead_body);
}

static void
hung_body(struct bench *b)
{
	const struct cl_table *t = bench_table(b);
	struct fake_node *n = b->store.nodes[0];
	struct later l;
	uint64_t t0;

	CHECK(!bench_insert(b, t, 0, 60));
	n->deaf = true;
	elect_in(b, &l, 1, 50 * MS);
	t0 = now_us(b);
	/* What is under way there moves on when it has been silent too long,
	 * long before a send's own time is over. */
	CHECK(!bench_insert(b, t, 60, 60));
	CHECK(now_us(b) - t0 >= 90 * MS && now_us(b) - t0 < 600 * MS);
	CHECK(fake_count(&b->store, t->id) == 120);
	n->deaf = false;
}

static void
a_hung_leaders_requests_move_on(void)
{
	bench_copies(3, 3, hurried, hung_body);
}

/* What is sent to a broken link before that is noticed has left. */
static void
links_down(struct bench *b, uint32_t up_to)
{
	const struct cl_catalog *now = gw_catalog_now(b->worker->catalog);

	for (uint32_t m = 1; m <= up_to; m++) {
		struct gw_peer *p = gw_peers_member(b->worker->peers, now, m);

		while (strcmp(gw_peer_state(p), "up") == 0)
			(void)fiber_sleep(b->world, now_us(b) + MS);
	}
}

static void
gone_body(struct bench *b)
{
	const struct cl_table *t = bench_table(b);
	size_t found;
	int64_t sum;
	struct err *e;

	CHECK(!bench_insert(b, t, 0, 1));
	/* No majority: whoever is left refuses. */
	fake_node_stop(b->store.nodes[0]);
	fake_node_stop(b->store.nodes[1]);
	all_led_by(b, 1);
	links_down(b, 2);
	e = insert_in_vain(b, t, 1, 300 * MS);
	CHECK(e && err_is(e, ERRCODE_QUERY_CANCELED) && e->detail);
	bench_stmt(b, 300 * MS);
	e = read_keys(b, t, 1, &found);
	CHECK(e && err_is(e, ERRCODE_QUERY_CANCELED) && e->detail);
	bench_stmt(b, 300 * MS);
	e = scan_sum(b, t, &found, &sum);
	CHECK(e && err_is(e, ERRCODE_QUERY_CANCELED) && e->detail);
	/* It says that it leads, and serves nothing. */
	all_led_by(b, 3);
	b->store.nodes[2]->points_at = 3;
	b->store.nodes[2]->refuse = 1000000;
	b->store.nodes[2]->reason = CL_REFUSE_LEADER;
	bench_stmt(b, 300 * MS);
	e = scan_sum(b, t, &found, &sum);
	CHECK(e && err_is(e, ERRCODE_QUERY_CANCELED) && e->detail);
}

static void
without_a_majority_a_write_surely_failed(void)
{
	bench_copies(3, 3, hurried, gone_body);
}

/* ---- outcomes that are not known ---- */

static void
unknown_body(struct bench *b)
{
	const struct cl_table *t = bench_table(b);
	struct fake_node **n = b->store.nodes;
	uint64_t first;
	uint32_t send;

	all_led_by(b, 1);
	n[0]->unknown = 1;
	CHECK(!bench_insert(b, t, 0, 1));
	/* Asked for at the new leader, as the same operation. */
	send = n[0]->last_send;
	first = n[0]->last_deadline;
	CHECK((n[1]->last_send == send + 1) != (n[2]->last_send == send + 1));
	CHECK(n[1]->last_deadline == first || n[2]->last_deadline == first);
	CHECK(fake_count(&b->store, t->id) == 1 && b->stmt.applied == 1);
}

static void
an_unknown_write_is_asked_for_at_the_new_leader(void)
{
	bench_copies(3, 3, NULL, unknown_body);
}

static void
never_known_body(struct bench *b)
{
	const struct cl_table *t = bench_table(b);
	struct fake_node **n = b->store.nodes;
	struct err *e;

	all_led_by(b, 1);
	n[0]->unknown = 1;
	n[1]->points_at = n[2]->points_at = 1;
	n[1]->refuse = n[2]->refuse = 1000;
	n[1]->reason = n[2]->reason = CL_REFUSE_LEADER;
	bench_stmt(b, 200 * MS);
	e = bench_insert(b, t, 0, 1);
	CHECK(e && err_is(e, ERRCODE_STATEMENT_COMPLETION_UNKNOWN));
	CHECK(e && e->detail != NULL);
}

static void
a_write_that_nobody_can_tell_of_is_unknown(void)
{
	bench_copies(3, 3, NULL, never_known_body);
}

/* ---- only the last send counts ---- */

struct judge {
	struct bench *bench;
	bool done;
};

static void
wait_held(struct bench *b, uint32_t node)
{
	uint64_t until = now_us(b) + 3000 * MS;

	while (!b->store.nodes[node]->n_held && now_us(b) < until)
		(void)fiber_sleep(b->world, now_us(b) + 2 * MS);
	CHECK(b->store.nodes[node]->n_held == 1);
}

/* The first leader sits on the write until another leads and has it, too; then
 * it says that the key was taken, which by then it was: by that very write. */
static void
judge_fiber(void *arg)
{
	struct judge *j = arg;
	struct bench *b = j->bench;

	wait_held(b, 0);
	all_led_by(b, 2);
	wait_held(b, 1);
	fake_release(b->store.nodes[0], CL_FALSE);
	(void)fiber_sleep(b->world, now_us(b) + 20 * MS);
	fake_release(b->store.nodes[1], CL_APPLIED);
	j->done = true;
}

static void
last_body(struct bench *b)
{
	const struct cl_table *t = bench_table(b);
	struct sql_source *src = gw_source_new(b->arena, &b->stmt);
	struct val vals[2] = {val_int(EX_INT8, 1), val_str(EX_TEXT, STR("x"))};
	struct sql_write w = {.kind = SQL_INSERT,
	    .table = t,
	    .key = bench_key(b, t, 1),
	    .vals = vals};
	struct judge j = {.bench = b};

	all_led_by(b, 1);
	b->store.nodes[0]->hold = b->store.nodes[1]->hold = 1;
	(void)fiber_spawn(
	    b->world, "judge", FIBER_STACK_GATEWAY, judge_fiber, &j);
	CHECK(!src->ops->write(src, b->arena, &w, 1));
	CHECK(w.result == SQL_WRITE_DONE);
	while (!j.done)
		(void)fiber_sleep(b->world, now_us(b) + 2 * MS);
	CHECK(fake_count(&b->store, t->id) == 1);
}

static void
short_answers(struct bench *b)
{
	b->conf.answer_us = 60 * MS;
}

static void
only_the_last_sends_answer_counts(void)
{
	bench_copies(3, 3, short_answers, last_body);
}

/* ---- scans ---- */

static void
small_pages(struct bench *b)
{
	hurried(b);
	for (uint32_t i = 0; i < b->store.n_nodes; i++)
		b->store.nodes[i]->page_rows = 7;
}

enum trouble { TROUBLE_MOVED, TROUBLE_DEAD };

static size_t
scan_through(struct bench *b, const struct sql_scan_req *req,
    enum trouble trouble, int64_t *sum)
{
	struct sql_source *src = gw_source_new(b->arena, &b->stmt);
	struct sql_scan *sc;
	struct sql_row row;
	bool more = true;
	size_t n = 0;

	*sum = 0;
	CHECK(!src->ops->scan_open(src, b->arena, req, &sc));
	while (more) {
		struct err *e = src->ops->scan_next(sc, b->arena, &row, &more);

		CHECK(!e);
		if (e || !more)
			break;
		*sum += row.vals[0].u.i;
		if (n++ != 20)
			continue;
		if (trouble == TROUBLE_DEAD)
			fake_node_stop(b->store.nodes[0]);
		fake_elect(&b->store, 1);
	}
	src->ops->scan_close(sc);
	return n;
}

static void
moved_scan_body(struct bench *b)
{
	static const uint32_t columns[] = {1};
	const struct cl_table *t = bench_table(b);
	struct sql_scan_req req = {
	    .table = t, .columns = columns, .n_columns = 1, .ordered = true};
	struct sql_source *src = gw_source_new(b->arena, &b->stmt);
	uint64_t count;
	int64_t sum;

	CHECK(!bench_insert(b, t, 0, 300));
	CHECK(scan_through(b, &req, TROUBLE_MOVED, &sum) == 300);
	CHECK(sum == 44850);
	all_led_by(b, 1);
	req.ordered = false;
	CHECK(scan_through(b, &req, TROUBLE_MOVED, &sum) == 300);
	CHECK(sum == 44850);
	all_led_by(b, 1);
	CHECK(!src->ops->scan_count(src, b->arena, &req, &count));
	CHECK(count == 300);
	CHECK(b->store.nodes[0]->n_refused > 0);
}

static void
a_scan_follows_a_leader_that_moves_in_the_middle(void)
{
	bench_copies(3, 3, small_pages, moved_scan_body);
}

static void
dead_scan_body(struct bench *b)
{
	static const uint32_t columns[] = {1};
	const struct cl_table *t = bench_table(b);
	struct sql_scan_req req = {
	    .table = t, .columns = columns, .n_columns = 1, .ordered = true};
	struct sql_source *src = gw_source_new(b->arena, &b->stmt);
	uint64_t count, t0 = now_us(b);
	int64_t sum;

	CHECK(!bench_insert(b, t, 0, 300));
	CHECK(scan_through(b, &req, TROUBLE_DEAD, &sum) == 300);
	CHECK(sum == 44850);
	fake_node_start(b->store.nodes[0]);
	all_led_by(b, 1);
	req.ordered = false;
	CHECK(scan_through(b, &req, TROUBLE_DEAD, &sum) == 300);
	CHECK(sum == 44850);
	CHECK(!src->ops->scan_count(src, b->arena, &req, &count));
	CHECK(count == 300);
	CHECK(now_us(b) - t0 < 2000 * MS);
}

static void
a_dead_nodes_part_of_a_scan_goes_to_the_others(void)
{
	bench_copies(3, 3, small_pages, dead_scan_body);
}

/* ---- consistency ---- */

static void
one_body(struct bench *b)
{
	const struct cl_table *t = bench_table(b);
	struct fake_node **n = b->store.nodes;
	size_t found, rows;
	int64_t sum;

	CHECK(!bench_insert(b, t, 0, 60));
	for (int i = 0; i < 60; i++) {
		b->stmt.consistency = CL_ONE;
		CHECK(!read_keys(b, t, 1, &found) && found == 1);
	}
	/* Spread over all members; nobody was asked for more than a read. */
	CHECK(n[0]->n_read && n[1]->n_read && n[2]->n_read);
	CHECK(refused(b) == 0);
	/* Without any leader. */
	all_led_by(b, 1);
	fake_node_stop(n[0]);
	for (int i = 0; i < 10; i++) {
		bench_stmt(b, 1000 * MS);
		b->stmt.consistency = CL_ONE;
		CHECK(!read_keys(b, t, 60, &found) && found == 60);
		CHECK(!scan_sum(b, t, &rows, &sum));
		CHECK(rows == 60 && sum == 1770);
	}
	bench_stmt(b, 200 * MS);
	b->stmt.consistency = CL_ALL;
	CHECK(read_keys(b, t, 60, &found) != NULL);
}

static void
consistency_one_is_served_by_any_member(void)
{
	bench_copies(3, 3, hurried, one_body);
}

/* ---- the catalog ---- */

static struct err *
create(struct bench *b, struct str name)
{
	struct gw_table_def def = {.schema = CL_SCHEMA_PUBLIC,
	    .owner = CL_ROLE_POSTGRES,
	    .name = name};
	bool created;

	bench_stmt(b, 3000 * MS);
	return gw_ddl_create_table(&b->stmt, b->arena, &def, &created);
}

static bool
has_table(struct bench *b, struct str name)
{
	return cl_find_name(gw_catalog_now(b->worker->catalog), CL_TABLE,
		   CL_SCHEMA_PUBLIC, name) != NULL;
}

static void
catalog_body(struct bench *b)
{
	struct gw_catalog *c = b->worker->catalog;
	uint64_t t0;

	fake_catalog_members(&b->store);
	CHECK(!create(b, STR("a")));
	/* A hint. */
	b->store.catalog_led_by = 2;
	CHECK(gw_catalog_confirm(c, now_us(b) + 1000 * MS));
	CHECK(gw_catalog_leader(c) == 2);
	CHECK(!create(b, STR("b")));
	/* The leader dies while it is polled. */
	fake_node_stop(b->store.nodes[1]);
	b->store.catalog_led_by = 3;
	t0 = now_us(b);
	CHECK(!create(b, STR("c")));
	CHECK(has_table(b, STR("c")) && now_us(b) - t0 < 1500 * MS);
	CHECK(gw_catalog_leader(c) == 3);
	CHECK(gw_catalog_confirm(c, now_us(b) + 1000 * MS));
	/* Nobody leads: nothing is confirmed. */
	fake_node_stop(b->store.nodes[2]);
	CHECK(!gw_catalog_confirm(c, now_us(b) + 200 * MS));
	fake_node_start(b->store.nodes[1]);
	b->store.catalog_led_by = 2;
	CHECK(!create(b, STR("d")));
	CHECK(has_table(b, STR("d")));
}

static void
catalog_changes_go_to_whoever_leads_the_catalog(void)
{
	bench_copies(3, 3, hurried, catalog_body);
}

static void
copies_body(struct bench *b)
{
	const struct cl_table *t = bench_table(b);
	const struct cl_placement *p = cl_catalog_placement(
	    gw_catalog_now(b->worker->catalog), t->placement);

	for (uint32_t i = 0; i < p->n_slots; i++)
		CHECK(p->slots[i].n == 2);
	CHECK(b->warnings == 1);
	CHECK(
	    b->warning && strstr(b->warning->message, "2 nodes instead of 3"));
}

static void
too_few_members_for_the_copies_is_a_warning(void)
{
	bench_copies(2, 3, NULL, copies_body);
}

CU_MAIN("leader",
    {"a_hint_is_followed_at_once_and_remembered",
	a_hint_is_followed_at_once_and_remembered},
    {"two_that_point_at_each_other_are_not_asked_in_circles",
	two_that_point_at_each_other_are_not_asked_in_circles},
    {"a_dead_leaders_slots_are_served_by_the_next_member",
	a_dead_leaders_slots_are_served_by_the_next_member},
    {"the_next_member_is_found_without_hints",
	the_next_member_is_found_without_hints},
    {"a_hung_leaders_requests_move_on", a_hung_leaders_requests_move_on},
    {"without_a_majority_a_write_surely_failed",
	without_a_majority_a_write_surely_failed},
    {"an_unknown_write_is_asked_for_at_the_new_leader",
	an_unknown_write_is_asked_for_at_the_new_leader},
    {"a_write_that_nobody_can_tell_of_is_unknown",
	a_write_that_nobody_can_tell_of_is_unknown},
    {"only_the_last_sends_answer_counts", only_the_last_sends_answer_counts},
    {"a_scan_follows_a_leader_that_moves_in_the_middle",
	a_scan_follows_a_leader_that_moves_in_the_middle},
    {"a_dead_nodes_part_of_a_scan_goes_to_the_others",
	a_dead_nodes_part_of_a_scan_goes_to_the_others},
    {"consistency_one_is_served_by_any_member",
	consistency_one_is_served_by_any_member},
    {"catalog_changes_go_to_whoever_leads_the_catalog",
	catalog_changes_go_to_whoever_leads_the_catalog},
    {"too_few_members_for_the_copies_is_a_warning",
	too_few_members_for_the_copies_is_a_warning})
