#include "gateway/peer.h"

#include "base/metrics.h"
#include "gateway/clock.h"
#include "gateway/facts.h"
#include "gateway/peer_int.h"
#include "gateway/t/bench_world.h"
#include "regress/lib/cu.h"

#define SECOND 1000000u

static struct gw_peer *
peer_of(struct bench *b, uint32_t member)
{
	return gw_peers_member(
	    b->worker->peers, gw_catalog_now(b->worker->catalog), member);
}

/* A read of nothing: the shortest question. */
static enum gw_result
ask_peer(struct bench *b, struct gw_peer *p, uint64_t wait_us, const char **why)
{
	struct cl_read m = {.n_points = 0};
	struct gw_call_opts o = {.kind = CL_MSG_READ,
	    .msg = &m,
	    .expect = CL_MSG_ROWS,
	    .deadline_us = world_mono_us(b->world) + wait_us,
	    .arena = b->arena};
	void *reply;

	return gw_call(p, &o, &reply, why);
}

static enum gw_result
ask(struct bench *b, uint32_t member, uint64_t wait_us, const char **why)
{
	return ask_peer(b, peer_of(b, member), wait_us, why);
}

static void
impatient(struct bench *b)
{
	b->conf.peer.greet_us = 100000;
	b->conf.peer.ping_us = 30000;
	b->conf.peer.silence_us = 100000;
	b->conf.peer.backoff_min_us = 40000;
	b->conf.peer.backoff_max_us = 80000;
}

static void
sleep_us(struct bench *b, uint64_t us)
{
	(void)fiber_sleep(b->world, world_mono_us(b->world) + us);
}

/* ---- pure ---- */

static void
back_off_doubles_up_to_its_maximum_with_jitter(void)
{
	struct gw_peer_conf c;
	uint64_t last = 0;

	gw_peer_conf_defaults(&c);
	for (unsigned f = 1; f < 40; f++) {
		uint64_t lo = gw_backoff_us(&c, f, 0);
		uint64_t hi = gw_backoff_us(&c, f, 999);

		CHECK(lo >= last / 2 && lo < hi);
		CHECK(hi <= c.backoff_max_us);
		CHECK(lo >= c.backoff_min_us / 2);
		last = hi;
	}
	CHECK(last > c.backoff_max_us * 9 / 10);
}

static void
a_link_comes_up_only_through_the_handshake(void)
{
	for (int from = 0; from < GW_LINK_STATES; from++)
		CHECK(gw_link_may(from, GW_LINK_UP) ==
		      (from == GW_LINK_PROVING || from == GW_LINK_PROBING));
	for (int to = 0; to < GW_LINK_STATES; to++)
		CHECK(gw_link_may(GW_LINK_BACKOFF, to) == (to == GW_LINK_IDLE));
}

static void
cluster_time_never_goes_back(void)
{
	struct gw_clock c = {0};
	cl_stamp s = CL_STAMP_OF_MS(1000000);

	CHECK(gw_clock_now(&c, 5) == 0);
	gw_clock_observe(&c, s, 1000);
	CHECK(gw_clock_now(&c, 1000) == s);
	CHECK(gw_clock_now(&c, 2001000) == s + CL_STAMP_OF_MS(2000));
	gw_clock_observe(&c, s + CL_STAMP_OF_MS(500), 2001000);
	CHECK(gw_clock_now(&c, 2001000) == s + CL_STAMP_OF_MS(2000));
	gw_clock_observe(&c, s + CL_STAMP_OF_MS(9000), 2001000);
	CHECK(gw_clock_now(&c, 2001000) == s + CL_STAMP_OF_MS(9000));
	CHECK(gw_clock_now(&c, 0) == s + CL_STAMP_OF_MS(9000));
	CHECK(gw_clock_deadline(&c, 2001000, UINT64_MAX) ==
	      s + CL_STAMP_OF_MS(9000 + GW_DEADLINE_MAX_US / 1000));
}

/* ---- with nodes ---- */

static void
answers_body(struct bench *b)
{
	const char *why;

	CHECK(ask(b, 1, SECOND, &why) == GW_OK);
	CHECK(ask(b, 2, SECOND, &why) == GW_OK);
	CHECK(gw_peer_member(peer_of(b, 2)) == 2);
	CHECK_STR(gw_peer_state(peer_of(b, 2)), "up");
}

static void
members_are_reached_by_their_catalog_address(void)
{
	bench_run(2, NULL, answers_body);
}

static void
wrong_key_body(struct bench *b)
{
	const char *why = NULL;

	b->store.nodes[1]->wrong_key = true;
	CHECK(ask(b, 2, SECOND, &why) == GW_NOT_SENT);
	CHECK(why && strstr(why, "cluster key"));
	CHECK(b->store.nodes[1]->n_greeted == 0);
	CHECK(gw_peer_why(peer_of(b, 2)) != NULL);
}

static void
a_node_without_the_cluster_key_gets_no_request(void)
{
	bench_run(2, NULL, wrong_key_body);
}

static void
wrong_member_body(struct bench *b)
{
	const char *why = NULL;

	b->store.nodes[1]->member = 7;
	CHECK(ask(b, 2, SECOND, &why) == GW_NOT_SENT);
	CHECK(why && strstr(why, "another member"));
}

static void
another_member_at_the_address_gets_no_request(void)
{
	bench_run(2, NULL, wrong_member_body);
}

/* One that lost its disk is still in the catalog, with the address of the one
 * that came after it: asking for it disturbs nobody. */
static void
same_address_body(struct bench *b)
{
	struct gw_peers *ps = b->worker->peers;
	const char *why = NULL;
	struct str addr;

	CHECK(ask(b, 2, SECOND, &why) == GW_OK);
	addr = str_c(gw_peer_addr(peer_of(b, 2)));
	for (int i = 0; i < 3; i++) {
		struct gw_peer *lost = gw_peers_at(ps, addr, 1);

		CHECK(ask_peer(b, lost, SECOND, &why) == GW_NOT_SENT);
		CHECK(why && strstr(why, "another member"));
		CHECK_STR(gw_peer_state(peer_of(b, 2)), "up");
		CHECK(ask(b, 2, SECOND, &why) == GW_OK);
	}
	CHECK(gw_peers_at(ps, addr, 0) == peer_of(b, 2));
}

static void
of_two_members_at_an_address_the_other_is_not_disturbed(void)
{
	bench_run(2, NULL, same_address_body);
}

static void
silent_body(struct bench *b)
{
	struct fake_node *n = b->store.nodes[1];
	const char *why = NULL;
	uint64_t t0;

	CHECK(ask(b, 2, SECOND, &why) == GW_OK);
	n->deaf = true;
	/* The first one learns it the slow way: it was sent. */
	t0 = world_mono_us(b->world);
	CHECK(ask(b, 2, 5 * SECOND, &why) == GW_UNKNOWN);
	CHECK(why && strstr(why, "does not answer"));
	CHECK(world_mono_us(b->world) - t0 < SECOND);
	/* Open: at once, and surely not sent. */
	t0 = world_mono_us(b->world);
	CHECK(ask(b, 2, 5 * SECOND, &why) == GW_NOT_SENT);
	CHECK(world_mono_us(b->world) - t0 < 20000);
	CHECK_STR(gw_peer_state(peer_of(b, 2)), "backoff");
	/* Half open: it greets, but nothing is sent to it. */
	sleep_us(b, 100000);
	CHECK(ask(b, 2, 5 * SECOND, &why) == GW_NOT_SENT);
	n->deaf = false;
	sleep_us(b, 100000);
	CHECK(ask(b, 2, 5 * SECOND, &why) == GW_OK);
	CHECK_STR(gw_peer_state(peer_of(b, 2)), "up");
}

static void
a_silent_node_opens_the_breaker_until_it_answers_a_ping(void)
{
	bench_run(2, impatient, silent_body);
}

static void
broken_body(struct bench *b)
{
	struct fake_node *n = b->store.nodes[1];
	struct cl_read m = {.n_points = 0};
	struct cond wake;
	struct gw_call calls[3] = {{.arena = NULL}};
	const char *why;

	CHECK(ask(b, 2, SECOND, &why) == GW_OK);
	n->deaf = true;
	cond_init(&wake, b->world);
	for (int i = 0; i < 3; i++) {
		calls[i].arena = b->arena;
		calls[i].wake = &wake;
		gw_call_begin(peer_of(b, 2), &calls[i], CL_MSG_READ, &m);
	}
	fake_node_break(n);
	for (int i = 0; i < 3; i++)
		CHECK(gw_call_wait(&calls[i],
			  world_mono_us(b->world) + SECOND) == GW_UNKNOWN);
	n->deaf = false;
	n->n_read = 0;
	sleep_us(b, 100000);
	CHECK(ask(b, 2, SECOND, &why) == GW_OK);
	/* Nothing was replayed. */
	CHECK(n->n_read == 1);
}

static void
a_broken_link_replays_nothing(void)
{
	bench_run(2, impatient, broken_body);
}

static void
few_in_flight(struct bench *b)
{
	b->conf.peer.inflight_max = 2;
	b->conf.peer.waiting_max = 3;
}

static void
limit_body(struct bench *b)
{
	struct fake_node *n = b->store.nodes[1];
	struct cl_read m = {.n_points = 0};
	struct cond wake;
	struct gw_call calls[6] = {{.arena = NULL}};
	const char *why;

	CHECK(ask(b, 2, SECOND, &why) == GW_OK);
	n->deaf = true;
	cond_init(&wake, b->world);
	for (int i = 0; i < 6; i++) {
		calls[i].arena = b->arena;
		calls[i].wake = &wake;
		gw_call_begin(peer_of(b, 2), &calls[i], CL_MSG_READ, &m);
	}
	CHECK(calls[1].state == GW_CALL_SENT);
	CHECK(calls[2].state == GW_CALL_WAITING);
	CHECK(calls[4].state == GW_CALL_WAITING);
	CHECK(calls[5].state == GW_CALL_DONE);
	CHECK(calls[5].result == GW_NOT_SENT);
	/* Giving one up that was not sent is no doubt; one that was, is. */
	gw_call_abandon(&calls[2], "over");
	CHECK(calls[2].result == GW_NOT_SENT);
	gw_call_abandon(&calls[0], "over");
	CHECK(calls[0].result == GW_UNKNOWN);
	for (int i = 0; i < 6; i++)
		gw_call_abandon(&calls[i], NULL);
}

static void
requests_beyond_the_limit_wait_unsent(void)
{
	bench_run(2, few_in_flight, limit_body);
}

static void
late_body(struct bench *b)
{
	struct fake_node *n = b->store.nodes[0];
	uint64_t before = metric_total(M_GW_CALLS_LATE);
	struct cl_status_get get = {0};
	struct gw_call_opts o = {.kind = CL_MSG_STATUS_GET,
	    .msg = &get,
	    .expect = CL_MSG_ROWS,
	    .deadline_us = world_mono_us(b->world),
	    .arena = b->arena};
	struct gw_member_fact *facts;
	const char *why;
	uint32_t count;
	void *reply;

	CHECK(ask(b, 1, SECOND, &why) == GW_OK);
	/* Given up before the answer comes. */
	CHECK(gw_call(peer_of(b, 1), &o, &reply, &why) == GW_UNKNOWN);
	CHECK(!reply);
	sleep_us(b, 20000);
	CHECK(metric_total(M_GW_CALLS_LATE) == before + 1);
	/* An answer of another kind tells nothing. */
	o.deadline_us = world_mono_us(b->world) + SECOND;
	CHECK(gw_call(peer_of(b, 1), &o, &reply, &why) == GW_UNKNOWN);
	n->deaf = true;
	gw_facts_members(b->worker, b->arena, world_mono_us(b->world) + 50000,
	    &facts, &count);
	CHECK(count == 2 && facts[0].member == 1 && facts[1].member == 2);
	CHECK(!facts[0].up && facts[0].why && facts[1].up);
	CHECK(str_has_prefix(facts[1].json, STR("{")));
	n->deaf = false;
}

static void
late_answers_are_counted_and_dropped(void)
{
	bench_run(2, NULL, late_body);
}

static void
catalog_body(struct bench *b)
{
	uint64_t version = gw_catalog_version(b->worker->catalog);
	struct cl_ddl *d = cl_ddl_new(b->arena, b->store.catalog);
	struct cl_object o = {.kind = CL_SCHEMA};
	struct cl_propose p = {.placement = 0};

	CHECK(gw_catalog_leader(b->worker->catalog) == 1);
	o.id = cl_ddl_ids(d, 1);
	o.u.schema = (struct cl_schema){o.id, CL_DB_POSTGRES, STR("news")};
	cl_ddl_create(d, &o);
	CHECK(!cl_ddl_propose(d, &p));
	fake_catalog(&b->store, &p);
	CHECK(gw_catalog_wait(
	    b->worker->catalog, version + 1, world_mono_us(b->world) + SECOND));
	CHECK(cl_find_name(gw_catalog_now(b->worker->catalog), CL_SCHEMA,
		  CL_DB_POSTGRES, STR("news")) != NULL);
	CHECK(gw_worker_ready(b->worker));
	/* Its source falls silent: another member is asked. */
	b->store.nodes[0]->deaf = true;
	fake_node_break(b->store.nodes[0]);
	d = cl_ddl_new(b->arena, b->store.catalog);
	cl_ddl_drop(d, CL_SCHEMA, o.id);
	CHECK(!cl_ddl_propose(d, &p));
	fake_catalog(&b->store, &p);
	CHECK(gw_catalog_wait(b->worker->catalog, version + 2,
	    world_mono_us(b->world) + 5 * SECOND));
	CHECK(cl_find(gw_catalog_now(b->worker->catalog), CL_SCHEMA, o.id) ==
	      NULL);
}

static void
the_catalog_is_followed_from_whoever_answers(void)
{
	bench_run(3, impatient, catalog_body);
}

CU_MAIN("peer",
    {"back_off_doubles_up_to_its_maximum_with_jitter",
	back_off_doubles_up_to_its_maximum_with_jitter},
    {"a_link_comes_up_only_through_the_handshake",
	a_link_comes_up_only_through_the_handshake},
    {"cluster_time_never_goes_back", cluster_time_never_goes_back},
    {"members_are_reached_by_their_catalog_address",
	members_are_reached_by_their_catalog_address},
    {"a_node_without_the_cluster_key_gets_no_request",
	a_node_without_the_cluster_key_gets_no_request},
    {"another_member_at_the_address_gets_no_request",
	another_member_at_the_address_gets_no_request},
    {"of_two_members_at_an_address_the_other_is_not_disturbed",
	of_two_members_at_an_address_the_other_is_not_disturbed},
    {"a_silent_node_opens_the_breaker_until_it_answers_a_ping",
	a_silent_node_opens_the_breaker_until_it_answers_a_ping},
    {"a_broken_link_replays_nothing", a_broken_link_replays_nothing},
    {"requests_beyond_the_limit_wait_unsent",
	requests_beyond_the_limit_wait_unsent},
    {"late_answers_are_counted_and_dropped",
	late_answers_are_counted_and_dropped},
    {"the_catalog_is_followed_from_whoever_answers",
	the_catalog_is_followed_from_whoever_answers})
