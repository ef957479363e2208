/* Scripts against leases and votes: again and again the leader of the only slot
 * is parted from the others in one of the ways that some rule is for, with
 * times about those of leases. One gateway still reaches it and is read from in
 * a tight loop; the other reaches the other members, where rows are inserted as
 * soon as somebody leads them. A read misses no row that was acknowledged
 * before it began, and at the end all of them are there.
 *
 * Words of the scripts: A leads at first, B and C follow. */
#include <inttypes.h>

#include "cluster/msg.h"
#include "regress/sim/net_sim.h"
#include "regress/sim/scenarios.h"
#include "storage/node.h"

#define SECOND 1000000ull
#define MS     1000ull
#define LEASE  (600 * MS)
#define NODES  3u
#define G1     NODES       /* is read from */
#define G2     (NODES + 1) /* inserts */
#define HOSTS  (NODES + 2)
#define NOBODY NODES

#define WRITERS      3u
#define READERS      4u
#define READ_US      (60 * MS)  /* what a reader waits for */
#define WRITE_US     (300 * MS) /* and a writer */
#define CALM_US      (700 * MS)
#define CALM_LIMIT   (8 * SECOND)
#define FORGOTTEN_US (1700 * MS) /* a gateway gives a silent node up before */
/* Two entries of half that size fill a frame, so that the next one travels in
 * another. */
#define LARGE (1200u << 10)

/* What passes from one host to another. */
enum pass {
	PASS,
	PASS_BEATS, /* nothing of Raft but heartbeats */
	PASS_LARGE, /* entries only if they are large */
	PASS_NOTHING
};

struct stale;
typedef void election_fn(struct stale *s, uint32_t winner);
typedef void frame_fn(
    struct stale *s, uint32_t from, uint32_t to, const struct cl_frame *f);

struct stale {
	struct run *run;
	struct fleet *fleet;
	struct arena *scratch;
	uint8_t pass[HOSTS][HOSTS];
	bool begun;
	bool hot; /* something may be stale now */

	/* Who leads, as far as anybody was elected. */
	uint32_t leader;
	uint64_t round, member;
	uint64_t elections;

	uint64_t next_key, last_acked;
	uint64_t *acked; /* keys */
	size_t n_acked, cap_acked;
	uint64_t reads;

	/* The present script's. */
	uint32_t a, b, c;
	election_fn *on_election;
	frame_fn *on_frame;
	uint64_t request; /* of the vote that is looked at */
	bool done;
};

/* ---- who reaches whom ---- */

static struct sim_host *
host_at(const struct stale *s, uint32_t i)
{
	return i < NODES ? s->fleet->nodes[i].host
			 : s->fleet->gateways[i - NODES].host;
}

static uint32_t
place_of(const struct stale *s, const struct sim_host *h)
{
	uint32_t i = 0;

	while (i < HOSTS && host_at(s, i) != h)
		i++;
	return i;
}

static void
part(struct stale *s, uint32_t x, uint32_t y, enum pass how)
{
	s->pass[x][y] = s->pass[y][x] = (uint8_t)how;
}

static void
part_from_nodes(struct stale *s, uint32_t x, enum pass how)
{
	for (uint32_t i = 0; i < NODES; i++)
		if (i != x)
			part(s, x, i, how);
}

static void
join_all(struct stale *s)
{
	memset(s->pass, PASS, sizeof s->pass);
	s->on_election = NULL;
	s->on_frame = NULL;
	s->hot = false;
	for (uint32_t i = 0; i < NODES; i++) {
		sim_clock_drift(host_at(s, i), 0);
		s->fleet->nodes[i].disk.slow = 1;
	}
}

static uint16_t
kind_of(struct str frame)
{
	struct cur c = cur_of(frame);

	(void)cur_le32(&c);
	return cur_le16(&c);
}

static bool
passes(enum pass how, struct str frame)
{
	switch (how) {
	case PASS:
		return true;
	case PASS_NOTHING:
		return false;
	case PASS_LARGE:
		return kind_of(frame) != CL_MSG_APPEND || frame.len >= LARGE;
	case PASS_BEATS:
		switch (kind_of(frame)) {
		case CL_MSG_VOTE:
		case CL_MSG_VOTED:
		case CL_MSG_APPEND:
		case CL_MSG_APPENDED:
			return false;
		default:
			return true;
		}
	}
	UNREACHABLE();
}

static bool
gate_ev(void *arg, struct sim_host *from, struct sim_host *to, struct str frame)
{
	const struct stale *s = arg;
	uint32_t x = place_of(s, from), y = place_of(s, to);

	if (x == HOSTS || y == HOSTS || s->run->phase != RUN_WORK)
		return true;
	return passes((enum pass)s->pass[x][y], frame);
}

/* ---- what is watched ---- */

static void
elected_ev(void *arg, uint32_t node, const struct st_observed *o)
{
	struct stale *s = arg;

	if (o->placement == 0 || s->run->phase != RUN_WORK)
		return;
	s->elections++;
	if (o->round > s->round ||
	    (o->round == s->round && o->ballot_member > s->member)) {
		s->leader = node;
		s->round = o->round;
		s->member = o->ballot_member;
	}
	if (s->on_election)
		s->on_election(s, node);
}

static void
tap_ev(void *arg, struct sim_host *from, struct sim_host *to, struct str bytes)
{
	struct stale *s = arg;
	uint32_t x = place_of(s, from), y = place_of(s, to);
	struct cl_frame f;

	if (!s->on_frame || x >= NODES || y >= NODES)
		return;
	arena_reset(s->scratch);
	if (!cl_frame_read(s->scratch, bytes, &f))
		s->on_frame(s, x, y, &f);
}

static struct stale *
stale_of(struct run *r)
{
	struct arena *a = sim_arena(r->sim);
	struct stale *s = r->state;

	if (s)
		return s;
	s = NEW(a, struct stale);
	s->run = r;
	s->fleet = r->fleet;
	s->scratch = arena_new(a, "stale");
	s->leader = NOBODY;
	r->state = s;
	r->fleet->elected = elected_ev;
	r->fleet->elected_arg = s;
	sim_net_gate(r->sim, gate_ev, s);
	return s;
}

/* ---- rows ---- */

static void
note_acked(struct stale *s, uint64_t key)
{
	if (s->n_acked == s->cap_acked) {
		size_t cap = s->cap_acked ? 2 * s->cap_acked : 1024;

		s->acked = arena_grow(sim_arena(s->run->sim), s->acked,
		    s->cap_acked * sizeof *s->acked, cap * sizeof *s->acked);
		s->cap_acked = cap;
	}
	s->acked[s->n_acked++] = key;
	s->last_acked = key;
}

static void
insert(struct client *c, const char *pad)
{
	struct stale *s = stale_of(c->run);
	uint64_t started, key;
	struct sim_pg_result r;

	if (!client_connect(c))
		return;
	key = ++s->next_key;
	if (!client_query(c, &r, &started,
		"INSERT INTO t (k, pad) VALUES (%" PRIu64 ", '%s')", key, pad))
		return;
	client_expect_fair(c, &r);
	if (r.status == SIM_PG_OK)
		note_acked(s, key);
}

static void
look(struct client *c)
{
	struct stale *s = stale_of(c->run);
	uint64_t started, key;
	struct sim_pg_result r;

	if (!client_connect(c))
		return;
	key = s->last_acked;
	if (!key || !client_query(c, &r, &started,
			"SELECT k FROM t WHERE k = %" PRIu64, key))
		return;
	client_expect_fair(c, &r);
	if (r.status != SIM_PG_OK)
		return;
	s->reads++;
	if (r.n_rows != 1)
		run_fail(c->run,
		    "a read misses row %" PRIu64
		    ", which was acknowledged before",
		    key);
}

/* ---- steps of the scripts ---- */

/* Until then, or until the script is done, or WORK is over. */
static bool
wait_for(struct client *c, const bool *what, uint64_t us)
{
	struct sim *s = c->run->sim;
	uint64_t until = sim_now(s) + us;

	while (
	    !(what && *what) && sim_now(s) < until && c->run->phase == RUN_WORK)
		client_sleep(c, MS);
	return what && *what;
}

/* True once so many more rows are acknowledged. */
static bool
wait_acked(struct client *c, size_t more, uint64_t us)
{
	const struct stale *s = stale_of(c->run);
	uint64_t until = sim_now(c->run->sim) + us;
	size_t want = s->n_acked + more;

	while (s->n_acked < want && sim_now(c->run->sim) < until &&
	       c->run->phase == RUN_WORK)
		client_sleep(c, MS);
	return s->n_acked >= want;
}

static uint64_t
about(struct client *c, uint64_t from_ms, uint64_t to_ms)
{
	return rng_between(&c->rng, from_ms * MS, to_ms * MS);
}

/* All reach all, and both gateways are served. */
static bool
calm(struct client *c)
{
	struct stale *s = stale_of(c->run);
	uint64_t until = sim_now(c->run->sim) + CALM_LIMIT, reads;

	join_all(s);
	wait_for(c, NULL, CALM_US);
	reads = s->reads + 5;
	if (!wait_acked(c, 3, CALM_LIMIT))
		return false;
	while (s->reads < reads && sim_now(c->run->sim) < until)
		client_sleep(c, MS);
	return s->leader != NOBODY && s->reads >= reads &&
	       c->run->phase == RUN_WORK;
}

/* A is the leader, B and C are the others, in any order; the gateway that
 * inserts gives A up, and nobody else notices. */
static void
cast_roles(struct client *c)
{
	struct stale *s = stale_of(c->run);
	uint32_t turn = (uint32_t)rng_below(&c->rng, 2);

	s->a = s->leader;
	s->b = (s->a + 1 + turn) % NODES;
	s->c = (s->a + 2 - turn) % NODES;
	s->done = false;
	part(s, G2, s->a, PASS_NOTHING);
	wait_for(c, NULL, FORGOTTEN_US);
	part(s, G1, s->b, PASS_NOTHING);
	part(s, G1, s->c, PASS_NOTHING);
	s->hot = true;
}

/* ---- the scripts ---- */

/* A hears nothing until another leads, and then heartbeats' answers again: it
 * must take note of what they list. */
static void
revive(struct client *c)
{
	struct stale *s = stale_of(c->run);

	part_from_nodes(s, s->a, PASS_NOTHING);
	if (!wait_acked(c, 1, 1300 * MS))
		return;
	wait_for(c, NULL, about(c, 0, 100));
	part(s, s->a, s->c, PASS_BEATS);
	wait_for(c, NULL, 500 * MS);
}

/* A grant of C to A, on its way: nothing reaches C any more. */
static void
granted_last(
    struct stale *s, uint32_t from, uint32_t to, const struct cl_frame *f)
{
	if (f->kind != CL_MSG_BEATEN || from != s->c || to != s->a)
		return;
	s->on_frame = NULL;
	s->pass[s->a][s->c] = PASS_NOTHING;
	s->done = true;
}

/* An answer to a heartbeat comes late: the lease has gone on meanwhile. */
static void
late_answer(struct client *c)
{
	struct stale *s = stale_of(c->run);

	part(s, s->a, s->b, PASS_NOTHING);
	s->pass[s->c][s->a] = PASS_NOTHING;
	s->on_frame = granted_last;
	if (!wait_for(c, &s->done, 300 * MS))
		return;
	wait_for(c, NULL, about(c, 200, 470));
	s->pass[s->c][s->a] = PASS_BEATS;
	wait_for(c, NULL, LEASE + 100 * MS);
}

static void
part_a_now(struct stale *s, uint32_t winner)
{
	if (winner == s->a)
		return;
	s->on_election = NULL;
	part_from_nodes(s, s->a, PASS_NOTHING);
	s->done = true;
}

/* B has lost A and campaigns; C, which has not, must refuse it. */
static void
hearsay(struct client *c)
{
	struct stale *s = stale_of(c->run);

	part(s, s->a, s->b, PASS_NOTHING);
	s->on_election = part_a_now;
	if (wait_for(c, &s->done, LEASE + about(c, 500, 1200)))
		wait_for(c, NULL, LEASE);
}

/* B has lost A, and then C: it must not stand before its grant has ended. */
static void
stand(struct client *c)
{
	struct stale *s = stale_of(c->run);

	part(s, s->a, s->b, PASS_NOTHING);
	wait_for(c, NULL, about(c, 150, 700));
	part(s, s->a, s->c, PASS_NOTHING);
	wait_for(c, NULL, LEASE + 500 * MS);
}

struct death {
	struct fleet_node *node;
	bool power;
	uint64_t down_us;
};

static void
die_ev(void *arg)
{
	struct death *d = arg;

	fleet_crash_node(d->node, d->power, d->down_us);
}

/* At once, but not in the middle of a turn. */
static void
crash(struct stale *s, uint32_t node, bool power, uint64_t down_us)
{
	struct sim *sim = s->run->sim;
	struct death *d = NEW(sim_arena(sim), struct death);

	*d = (struct death){&s->fleet->nodes[node], power, down_us};
	sim_at(sim, sim_now(sim), die_ev, d);
}

/* C has granted, dies and comes back: it must not vote at once. */
static void
forget_grant(struct client *c)
{
	struct stale *s = stale_of(c->run);

	part(s, s->a, s->b, PASS_NOTHING);
	wait_for(c, NULL, LEASE + about(c, 0, 200));
	part(s, s->a, s->c, PASS_NOTHING);
	crash(s, s->c, rng_below(&c->rng, 2), about(c, 5, 60));
	wait_for(c, NULL, LEASE + 300 * MS);
}

/* The same, and it arrives. */
static void
granted_last_apart(
    struct stale *s, uint32_t from, uint32_t to, const struct cl_frame *f)
{
	granted_last(s, from, to, f);
	if (s->done)
		s->pass[s->c][s->a] = PASS_BEATS;
}

/* Clocks run apart as far as they may: A's is slow, the others' are fast. */
static void
drift(struct client *c)
{
	struct stale *s = stale_of(c->run);

	sim_clock_drift(host_at(s, s->a), -50000);
	sim_clock_drift(host_at(s, s->b), 50000);
	sim_clock_drift(host_at(s, s->c), 50000);
	wait_for(c, NULL, about(c, 700, 900));
	part(s, s->a, s->b, PASS_NOTHING);
	s->on_frame = granted_last_apart;
	wait_for(c, &s->done, 300 * MS);
	wait_for(c, NULL, 50 * MS);
	part(s, s->a, s->c, PASS_NOTHING);
	wait_for(c, NULL, LEASE + 100 * MS);
}

/* A stands still for about a lease, and wakes among those who have elected
 * another. */
static void
nap(struct client *c)
{
	struct stale *s = stale_of(c->run);

	sim_pause(host_at(s, s->a), sim_now(c->run->sim) + about(c, 500, 900));
	if (rng_below(&c->rng, 2))
		part_from_nodes(s, s->a, PASS_NOTHING);
	wait_for(c, NULL, LEASE + 500 * MS);
}

static void
note_winner(struct stale *s, uint32_t winner)
{
	(void)winner;
	s->on_election = NULL;
	s->done = true;
}

/* C led before A does, and has never heard of A's ballot: what it grants is not
 * A's to count, and it may vote for B, or stand. */
static void
strangers(struct client *c)
{
	struct stale *s = stale_of(c->run);
	uint32_t old = s->a;

	/* The roles are others' here. */
	s->a = s->c;
	s->c = old;
	s->hot = false;
	join_all(s);
	part(s, G1, s->b, PASS_NOTHING);
	part(s, G1, s->c, PASS_NOTHING);
	part(s, G2, s->a, PASS_NOTHING);
	wait_for(c, NULL, FORGOTTEN_US);
	part(s, G2, s->c, PASS_NOTHING);
	part_from_nodes(s, s->c, PASS_NOTHING);
	s->on_election = note_winner;
	if (!wait_for(c, &s->done, 1200 * MS) || s->leader != s->a)
		return;
	wait_for(c, NULL, about(c, 50, 150));
	s->hot = true;
	part(s, s->a, s->c, PASS_BEATS);
	part(s, s->a, s->b, PASS_NOTHING);
	part(s, s->b, s->c, PASS);
	part(s, G2, s->c, PASS);
	wait_for(c, NULL, LEASE + 700 * MS);
}

/* Who votes for the group loses power as its answer leaves. */
static void
forget_vote(
    struct stale *s, uint32_t from, uint32_t to, const struct cl_frame *f)
{
	void *msg;

	if (from == s->a || to == s->a)
		return;
	if (cl_msg_decode(s->scratch, f->kind, f->body, &msg))
		return;
	if (f->kind == CL_MSG_VOTE &&
	    ((const struct cl_vote *)msg)->placement != 0) {
		s->request = f->request;
		s->b = from;
		s->c = to;
	}
	if (f->kind != CL_MSG_VOTED || f->request != s->request ||
	    from != s->c || to != s->b ||
	    !((const struct cl_voted *)msg)->granted)
		return;
	s->on_frame = NULL;
	s->pass[s->b][s->c] = PASS_NOTHING;
	s->done = true;
	crash(s, s->c, true, 20 * MS);
}

/* C votes for B and forgets it; A, which has heard nothing, goes on with C. */
static void
two_leaders(struct client *c)
{
	struct stale *s = stale_of(c->run);

	s->hot = false;
	join_all(s);
	part(s, G1, s->a, PASS_NOTHING);
	wait_for(c, NULL, FORGOTTEN_US);
	s->request = 0;
	s->on_frame = forget_vote;
	part_from_nodes(s, s->a, PASS_NOTHING);
	s->hot = true;
	if (!wait_for(c, &s->done, LEASE + 600 * MS))
		return;
	wait_for(c, NULL, 15 * MS);
	part_from_nodes(s, s->b, PASS_NOTHING);
	part(s, G2, s->b, PASS_NOTHING);
	part(s, s->a, s->c, PASS);
	(void)wait_acked(c, 2, 1500 * MS);
	join_all(s);
	wait_for(c, NULL, 500 * MS);
}

/* ---- Raft's figure 8 ---- */

static void
part_winner_now(struct stale *s, uint32_t winner)
{
	s->on_election = NULL;
	part_from_nodes(s, winner, PASS_NOTHING);
	s->b = winner;
	s->c = NODES - s->a - winner;
	s->done = true;
}

/* A large entry has left: what comes after it stays. */
static void
large_only(
    struct stale *s, uint32_t from, uint32_t to, const struct cl_frame *f)
{
	if (f->kind != CL_MSG_APPEND || f->body.len < LARGE || from != s->a ||
	    to != s->c)
		return;
	s->on_frame = NULL;
	s->pass[from][to] = PASS_LARGE;
	s->done = true;
}

/* A appends what nobody else gets. B is elected by C, and its first entry is
 * nobody else's either. A leads again and gives C the old entry, but none of
 * its own term; B leads again. */
static void
figure8(struct client *c)
{
	struct stale *s = stale_of(c->run);
	char *pad = arena_alloc(c->arena, LARGE / 2 + 1);

	memset(pad, 'x', LARGE / 2);
	pad[LARGE / 2] = 0;
	part_from_nodes(s, s->a, PASS_NOTHING);
	s->hot = false;
	s->on_election = part_winner_now;
	c->by_gateway = G1 - NODES + 1;
	c->patience_us = 100 * MS;
	insert(c, pad);
	insert(c, pad);
	if (!wait_for(c, &s->done, LEASE + 800 * MS) || s->b == s->a)
		return;
	wait_for(c, NULL, about(c, 20, 60));
	s->done = false;
	/* So that its stamps may have to wait. */
	s->fleet->nodes[s->a].disk.slow = (uint32_t)rng_between(&c->rng, 1, 20);
	s->on_frame = large_only;
	part(s, s->a, s->c, PASS);
	part(s, G1, s->c, PASS);
	part(s, G2, s->b, PASS_NOTHING);
	if (!wait_for(c, &s->done, LEASE + 1500 * MS))
		return;
	wait_for(c, NULL, about(c, 30, 150));
	part_from_nodes(s, s->a, PASS_NOTHING);
	part(s, s->b, s->c, PASS);
	part(s, G2, s->b, PASS);
	(void)wait_acked(c, 2, LEASE + 1500 * MS);
}

/* ---- the scenario ---- */

static void (*const scripts[])(struct client *c) = {revive, late_answer,
    hearsay, stand, forget_grant, drift, nap, strangers, two_leaders, figure8};

static void
begin(struct run *r)
{
	struct sim_net_conf n;

	sim_net_conf_get(r->sim, &n);
	n.latency_us = 200 + n.latency_us % 500;
	sim_net_conf(r->sim, &n);
	sim_net_tap(r->sim, tap_ev, stale_of(r));
	stale_of(r)->begun = true;
}

static void
play(struct client *c)
{
	size_t i = rng_below(&c->rng, sizeof scripts / sizeof *scripts);

	if (!stale_of(c->run)->begun)
		begin(c->run);
	if (!calm(c))
		return;
	cast_roles(c);
	sim_trace(c->run->sim, "stale", "script %zu, A is node-%u", i,
	    stale_of(c->run)->a + 1);
	scripts[i](c);
	join_all(stale_of(c->run));
}

static void
setup(struct client *c)
{
	struct sim_pg_result r;

	(void)stale_of(c->run);
	(void)client_insist(
	    c, &r, "CREATE TABLE t (k bigint PRIMARY KEY, pad text)");
}

static void
work(struct client *c)
{
	const struct stale *s = stale_of(c->run);

	if (c->index == 1) {
		play(c);
		return;
	}
	if (!s->hot)
		client_sleep(c, 20 * MS);
	if (c->index <= 1 + WRITERS) {
		c->by_gateway = G2 - NODES + 1;
		c->patience_us = WRITE_US;
		insert(c, "");
	} else {
		c->by_gateway = G1 - NODES + 1;
		c->patience_us = READ_US;
		look(c);
	}
}

static void
check(struct client *c)
{
	const struct stale *s = stale_of(c->run);
	bool *there = NEW_N(c->arena, bool, s->next_key + 1);
	struct sim_pg_result r;
	uint64_t key;

	if (!client_insist(c, &r, "SELECT k FROM t"))
		return;
	for (uint32_t i = 0; i < r.n_rows; i++)
		if (str_number(sim_pg_value(&r, i, 0), &key) &&
		    key <= s->next_key)
			there[key] = true;
	for (size_t i = 0; i < s->n_acked; i++)
		if (!there[s->acked[i]])
			run_fail(c->run,
			    "row %" PRIu64 " was acknowledged and is lost",
			    s->acked[i]);
}

static void
shape(struct fleet_conf *f)
{
	f->nodes = f->replication = NODES;
	f->gateways = HOSTS - NODES;
	f->slots = 1;
	f->leader_lease_us = LEASE;
	f->beat_us = 100 * MS;
	f->log_retention = 64u << 20;
}

const struct scenario scenario_stale = {
    .name = "stale",
    .claim = "no read misses what was acknowledged before it",
    .clients = 1 + WRITERS + READERS,
    .faults_not = CHAOS_ALL,
    .think_us = 2 * MS,
    .replication = NODES,
    .shape = shape,
    .setup = setup,
    .work = work,
    .check = check,
};
