#include "regress/sim/net_sim.h"

#include "base/net.h"
#include "base/stream.h"
#include "regress/lib/cu.h"
#include "regress/sim/world_sim.h"

/* A server that answers each frame with itself, and a client that sends
 * numbered ones, each sent when the answer of the one before has come. */

#define FRAME 32u

struct peer {
	struct sim_host *host;
	struct world *world;
	struct net_conn *conn;
	bool server, opened, closed;
	const char *why;
	uint32_t sent, got;
	uint32_t bad; /* frames out of order */
	uint32_t accepts;
	uint64_t mono_at_boot;
};

static struct str
numbered(uint8_t *b, uint32_t n)
{
	memset(b, 0, FRAME);
	b[0] = FRAME;
	memcpy(b + 16, &n, sizeof n);
	return str_of(b, FRAME);
}

/* A connection at the server. */
struct served {
	struct peer *server;
	struct net_conn *conn;
	uint32_t got;
};

static void
send_next(struct peer *p)
{
	uint8_t b[FRAME];

	net_send(p->world, p->conn, numbered(b, p->sent++));
}

static void
opened_ev(void *owner)
{
	struct peer *p = owner;

	p->opened = true;
	send_next(p);
}

static uint32_t
number_of(struct str frame)
{
	uint32_t n;

	memcpy(&n, frame.p + 16, sizeof n);
	return n;
}

static void
answer_ev(void *owner, struct str frame)
{
	struct peer *p = owner;

	p->bad += number_of(frame) != p->got;
	p->got++;
	send_next(p);
}

static void
closed_ev(void *owner, const char *why)
{
	struct peer *p = owner;

	p->closed = true;
	p->why = why;
	p->conn = NULL;
}

static const struct net_events client_events = {
    .opened = opened_ev, .frame = answer_ev, .closed = closed_ev};

static void
request_ev(void *owner, struct str frame)
{
	struct served *s = owner;

	s->server->bad += number_of(frame) != s->got;
	s->got++;
	s->server->got++;
	net_send(s->server->world, s->conn, frame);
}

static void
left_ev(void *owner, const char *why)
{
	struct served *s = owner;

	(void)why;
	s->server->closed = true;
	if (s->server->conn == s->conn)
		s->server->conn = NULL;
}

static const struct net_events server_events = {
    .frame = request_ev, .closed = left_ev};

static void
accept_ev(void *owner, struct net_conn *c)
{
	struct peer *p = owner;
	struct served *s = NEW(p->world->arena, struct served);

	p->accepts++;
	p->conn = c;
	s->server = p;
	s->conn = c;
	net_adopt(p->world, c, &server_events, s);
}

static void
boot(void *arg, struct world *w)
{
	struct peer *p = arg;
	struct net_listener *l;

	p->world = w;
	p->got = p->sent = 0;
	p->mono_at_boot = world_mono_us(w);
	if (p->server) {
		CHECK(!net_listen(w, w->arena, "server:1", accept_ev, p, &l));
	} else {
		CHECK(!net_connect(
		    w, w->arena, "server:1", &client_events, p, &p->conn));
	}
}

struct pair {
	struct sim *sim;
	struct peer server, client;
};

static void
pair_start(struct pair *p, uint64_t seed)
{
	*p = (struct pair){.sim = sim_new(seed), .server = {.server = true}};
	p->server.host = sim_host_new(
	    p->sim, &(struct sim_host_opts){
			.name = "server", .boot = boot, .arg = &p->server});
	p->client.host = sim_host_new(
	    p->sim, &(struct sim_host_opts){
			.name = "client", .boot = boot, .arg = &p->client});
}

static void
pair_run(struct pair *p, uint64_t ms)
{
	sim_run(p->sim, sim_now(p->sim) + ms * 1000, NULL);
}

static void
frames_arrive_in_order(void)
{
	struct pair p;

	pair_start(&p, 1);
	sim_boot(p.server.host);
	sim_boot(p.client.host);
	pair_run(&p, 1000);
	CHECK(p.client.opened);
	CHECK(p.client.got > 100);
	CHECK(p.server.got >= p.client.got);
	CHECK(p.client.bad == 0 && p.server.bad == 0);
	sim_free(p.sim);
}

static void
nobody_listens_is_refused(void)
{
	struct pair p;

	pair_start(&p, 2);
	sim_boot(p.client.host);
	pair_run(&p, 1000);
	CHECK(p.client.closed);
	CHECK_STR(p.client.why, "connection refused");
	sim_free(p.sim);
}

static void
killed_server_closes_soon(void)
{
	struct pair p;

	pair_start(&p, 3);
	sim_boot(p.server.host);
	sim_boot(p.client.host);
	pair_run(&p, 100);
	sim_kill(p.server.host);
	CHECK(!sim_host_up(p.server.host));
	pair_run(&p, 200);
	CHECK(p.client.closed);
	sim_free(p.sim);
}

static void
power_loss_is_silent_until_it_is_back(void)
{
	struct pair p;

	pair_start(&p, 4);
	sim_boot(p.server.host);
	sim_boot(p.client.host);
	pair_run(&p, 100);
	sim_power_off(p.server.host);
	pair_run(&p, 2000);
	CHECK(!p.client.closed);
	sim_boot(p.server.host);
	pair_run(&p, 2000);
	CHECK(p.client.closed);
	sim_free(p.sim);
}

static void
partition_stalls_then_heals(void)
{
	struct pair p;
	uint32_t got;

	pair_start(&p, 5);
	sim_boot(p.server.host);
	sim_boot(p.client.host);
	pair_run(&p, 100);
	sim_net_block(p.server.host, p.client.host, true);
	pair_run(&p, 10);
	got = p.client.got;
	pair_run(&p, 2000);
	CHECK(p.client.got == got);
	CHECK(!p.client.closed);
	sim_net_heal(p.sim);
	pair_run(&p, 4000);
	CHECK(p.client.got > got);
	CHECK(p.client.bad == 0);
	sim_free(p.sim);
}

static bool
before_ten(
    void *arg, struct sim_host *from, struct sim_host *to, struct str frame)
{
	const struct peer *server = arg;

	(void)from;
	return to != server->host || number_of(frame) < 10;
}

static void
gate_holds_frames_until_it_opens(void)
{
	struct pair p;

	pair_start(&p, 3);
	sim_boot(p.server.host);
	sim_boot(p.client.host);
	sim_net_gate(p.sim, before_ten, &p.server);
	pair_run(&p, 4000);
	CHECK(p.server.got == 10 && p.client.got == 10);
	CHECK(!p.client.closed);
	sim_net_gate(p.sim, NULL, NULL);
	pair_run(&p, 1000);
	CHECK(p.client.got > 10);
	CHECK(p.client.bad == 0 && p.server.bad == 0);
	sim_free(p.sim);
}

static void
long_partition_ends_both_sides(void)
{
	struct pair p;

	pair_start(&p, 6);
	sim_boot(p.server.host);
	sim_boot(p.client.host);
	pair_run(&p, 100);
	sim_net_block(p.client.host, p.server.host, true);
	pair_run(&p, 200000);
	CHECK(p.client.closed && p.server.closed);
	sim_free(p.sim);
}

static void
reset_after_arrival_loses_the_answer(void)
{
	struct sim_net_conf c = {.latency_us = 1000, .reset_ppm = 1000000};
	struct pair p;

	pair_start(&p, 7);
	sim_net_conf(p.sim, &c);
	sim_boot(p.server.host);
	sim_boot(p.client.host);
	pair_run(&p, 1000);
	CHECK(p.server.got == 1);
	CHECK(p.client.closed && p.server.closed);
	sim_free(p.sim);
}

static void
half_open_connect_reaches_only_the_server(void)
{
	struct sim_net_conf c = {.latency_us = 1000, .half_open_ppm = 1000000};
	struct pair p;

	pair_start(&p, 8);
	sim_net_conf(p.sim, &c);
	sim_boot(p.server.host);
	sim_boot(p.client.host);
	pair_run(&p, 100000);
	CHECK(p.server.accepts == 1);
	CHECK(!p.client.opened && p.client.closed);
	CHECK(p.server.closed && p.server.got == 0);
	sim_free(p.sim);
}

static void
paused_process_goes_on_where_it_was(void)
{
	struct pair p;
	uint32_t got;

	pair_start(&p, 9);
	sim_boot(p.server.host);
	sim_boot(p.client.host);
	pair_run(&p, 100);
	sim_pause(p.server.host, sim_now(p.sim) + 3000000);
	got = p.server.got;
	pair_run(&p, 2900);
	CHECK(p.server.got == got);
	pair_run(&p, 1000);
	CHECK(p.server.got > got);
	CHECK(p.client.bad == 0);
	sim_free(p.sim);
}

static void
kill_from_inside_takes_effect_on_the_way_out(void *arg)
{
	struct peer *p = arg;

	sim_kill(p->host);
	/* Still here, but dumb. */
	CHECK(sim_host_up(p->host));
	send_next(p);
}

static void
kill_from_inside_sends_nothing_more(void)
{
	struct pair p;
	uint32_t got;

	pair_start(&p, 10);
	sim_boot(p.server.host);
	sim_boot(p.client.host);
	pair_run(&p, 100);
	world_post(p.server.world, kill_from_inside_takes_effect_on_the_way_out,
	    &p.server);
	got = p.client.got;
	pair_run(&p, 1000);
	CHECK(!sim_host_up(p.server.host));
	CHECK(p.client.closed);
	CHECK(p.client.got <= got + 2);
	sim_free(p.sim);
}

static void
clocks_drift_and_jump(void)
{
	struct pair p;
	uint64_t mono, wall;

	pair_start(&p, 11);
	sim_boot(p.server.host);
	sim_boot(p.client.host);
	mono = world_mono_us(p.server.world);
	wall = world_wall_us(p.server.world);
	sim_clock_drift(p.server.host, 500);
	sim_clock_skew(p.server.host, -3600000000);
	CHECK(world_mono_us(p.server.world) == mono);
	CHECK(world_wall_us(p.server.world) < wall);
	pair_run(&p, 1000000);
	CHECK(world_mono_us(p.server.world) - mono == 1000500000u);
	CHECK(
	    world_wall_us(p.server.world) + 3600000000u - wall == 1000000000u);
	sim_free(p.sim);
}

static uint64_t
faulty_run(uint64_t seed, uint64_t *frames)
{
	struct sim_net_conf c = {.latency_us = 2000,
	    .latency_min_us = 100,
	    .slow_ppm = 10000,
	    .reset_ppm = 2000,
	    .lost_ppm = 2000,
	    .stall_ppm = 5000,
	    .stall_us = 100000};
	struct sim_net_counts n;
	struct pair p;
	uint64_t hash;

	pair_start(&p, seed);
	sim_net_conf(p.sim, &c);
	sim_boot(p.server.host);
	for (int i = 0; i < 20; i++) {
		sim_boot(p.client.host);
		pair_run(&p, 5000);
		sim_kill(p.client.host);
	}
	sim_net_counts(p.sim, &n);
	*frames = n.frames;
	CHECK(p.client.bad == 0);
	hash = sim_hash(p.sim);
	sim_free(p.sim);
	return hash;
}

static void
one_seed_is_one_run(void)
{
	uint64_t frames[3];

	CHECK(faulty_run(42, &frames[0]) == faulty_run(42, &frames[1]));
	CHECK(frames[0] == frames[1]);
	CHECK(faulty_run(42, &frames[0]) != faulty_run(43, &frames[2]));
}

CU_MAIN("net_sim", {"frames_arrive_in_order", frames_arrive_in_order},
    {"nobody_listens_is_refused", nobody_listens_is_refused},
    {"killed_server_closes_soon", killed_server_closes_soon},
    {"power_loss_is_silent_until_it_is_back",
	power_loss_is_silent_until_it_is_back},
    {"partition_stalls_then_heals", partition_stalls_then_heals},
    {"gate_holds_frames_until_it_opens", gate_holds_frames_until_it_opens},
    {"long_partition_ends_both_sides", long_partition_ends_both_sides},
    {"reset_after_arrival_loses_the_answer",
	reset_after_arrival_loses_the_answer},
    {"half_open_connect_reaches_only_the_server",
	half_open_connect_reaches_only_the_server},
    {"paused_process_goes_on_where_it_was",
	paused_process_goes_on_where_it_was},
    {"kill_from_inside_sends_nothing_more",
	kill_from_inside_sends_nothing_more},
    {"clocks_drift_and_jump", clocks_drift_and_jump},
    {"one_seed_is_one_run", one_seed_is_one_run})
