/* Nodes that talk to each other over sockets, in the real world: joining,
 * following the catalog, requests in frames, and what is refused. */
#include <stdio.h>

#include "base/metrics.h"
#include "cluster/handshake.h"
#include "cluster/row.h"
#include "regress/lib/cu.h"
#include "storage/conn.h"
#include "storage/elect.h"
#include "storage/entry.h"
#include "storage/follow.h"
#include "storage/group.h"
#include "storage/link.h"
#include "storage/peer.h"
#include "storage/t/node_rig.h"

#define SLOTS 8

static struct node_rig nr;

/* A second node in the same world, with a directory of its own. */
struct second {
	struct st_conf conf;
	struct st_node *node;
	bool ready, stopped, failed;
	char why[256];
	uint8_t key[32];
};

static void
ready_ev(void *arg)
{
	((struct second *)arg)->ready = true;
}

static void
stopped_ev(void *arg)
{
	((struct second *)arg)->stopped = true;
}

static void
failed_ev(void *arg, const struct err *e)
{
	struct second *s = arg;

	s->failed = true;
	snprintf(s->why, sizeof s->why, "%s", e->message);
}

static void
start_second(struct second *s, const char *name, bool right_key)
{
	struct st_events ev = {ready_ev, failed_ev, stopped_ev, s};
	struct err *e;

	*s = (struct second){.conf = nr.conf};
	s->conf.dir = arena_printf(nr.r.arena, "%s/%s", nr.r.dir, name);
	s->conf.listen =
	    arena_printf(nr.r.arena, "unix:%s/%s.sock", nr.r.dir, name);
	s->conf.init_if_empty = false;
	s->conf.join = nr.conf.listen;
	s->conf.alias = name;
	if (!right_key)
		s->conf.key = str_of(s->key, sizeof s->key);
	e = st_node_start(nr.r.world, nr.r.arena, &s->conf, &ev, &s->node);
	MUST(e == NULL);
	for (int i = 0; i < 5000 && !s->ready && !s->failed; i++)
		rig_sleep(&nr.r, 1000);
}

static void
stop_second(struct second *s)
{
	st_node_stop(s->node);
	for (int i = 0; i < 5000 && !s->stopped; i++)
		rig_sleep(&nr.r, 1000);
	CHECK(s->stopped);
}

static uint64_t
soon(void)
{
	return world_mono_us(nr.r.world) + 5000000;
}

static void
on_cluster(void (*fn)(struct rig *r))
{
	nr_start(&nr, RIG_WT, SLOTS);
	rig_run(&nr.r, fn);
	nr_stop(&nr);
}

static void
joining(struct rig *r)
{
	struct second a, b;
	const struct cl_object *o;

	nr_node(&nr);
	start_second(&a, "second", true);
	CHECK(a.ready);
	CHECK(st_node_member(a.node) == 2);
	o = cl_find(a.node->catalog.snap, CL_MEMBER, 2);
	MUST(o != NULL);
	CHECK(str_eq(o->u.member.alias, STR("second")));
	/* A change at the leader reaches the follower. */
	nr_table(&nr, "t");
	for (int i = 0; i < 2000 && st_node_catalog_version(a.node) <
					st_node_catalog_version(nr.node);
	     i++)
		rig_sleep(r, 1000);
	CHECK(st_node_catalog_version(a.node) ==
	      st_node_catalog_version(nr.node));
	/* The alias is taken, whatever the way to the leader. */
	start_second(&b, "second2", true);
	CHECK(b.ready && st_node_member(b.node) == 3);
	stop_second(&b);
	stop_second(&a);
	/* It comes back as who it was. */
	{
		struct second again;

		start_second(&again, "second", true);
		CHECK(again.ready && st_node_member(again.node) == 2);
		stop_second(&again);
	}
	nr_node_stop(&nr);
}

static void
a_node_joins_and_follows_the_catalog(void)
{
	on_cluster(joining);
}

static void
wrong_key(struct rig *r)
{
	struct second a;

	(void)r;
	nr_node(&nr);
	start_second(&a, "second", false);
	CHECK(!a.ready);
	stop_second(&a);
	nr_node_stop(&nr);
}

static void
a_node_without_the_key_does_not_join(void)
{
	on_cluster(wrong_key);
}

/* ---- requests in frames, from the other node ---- */

static void
remote(struct rig *r)
{
	struct second s;
	const struct cl_table *t;
	struct cl_propose p = {.placement = 1, .epoch = 1};
	struct cl_write w = {.kind = CL_WRITE_PUT};
	struct cl_point point = {.placement = 1, .epoch = 1};
	struct cl_read read = {.points = &point, .n_points = 1};
	struct cl_counts_get counts = {0};
	struct cl_status_get status = {0};
	struct cl_ping ping = {42};
	struct st_reply_msg reply;
	struct str addr = str_c(nr.conf.listen);
	struct arena *a = r->arena;
	struct cl_row_head h;

	nr_node(&nr);
	start_second(&s, "second", true);
	MUST(s.ready);
	/* All slots of this table went to both members; those of the first
	 * are asked for here. */
	t = nr_table(&nr, "t");
	for (int64_t id = 0;; id++) {
		const struct cl_placement *pl;

		w.key = nr_key(&nr, t, id, &p.slot);
		pl = cl_catalog_placement(nr.node->catalog.snap, 1);
		if (pl->slots[p.slot].members[0] != 1)
			continue;
		w.value = nr_row(&nr, t, id, "remote", id);
		break;
	}
	st_propose_own(s.node, a, &p);
	p.writes = &w;
	p.n_writes = 1;
	CHECK(
	    !st_peer_call(s.node, a, addr, CL_MSG_PROPOSE, &p, soon(), &reply));
	CHECK(reply.kind == CL_MSG_PROPOSED &&
	      ((struct cl_proposed *)reply.msg)->outcome == CL_APPLIED);
	point.slot = p.slot;
	point.key = w.key;
	CHECK(
	    !st_peer_call(s.node, a, addr, CL_MSG_READ, &read, soon(), &reply));
	MUST(reply.kind == CL_MSG_ROWS);
	MUST(((struct cl_rows *)reply.msg)->n_rows == 1);
	CHECK(cl_row_head(((struct cl_rows *)reply.msg)->rows[0].value, &h));
	CHECK(!st_peer_call(
	    s.node, a, addr, CL_MSG_COUNTS_GET, &counts, soon(), &reply));
	CHECK(reply.kind == CL_MSG_COUNTS);
	CHECK(!st_peer_call(
	    s.node, a, addr, CL_MSG_STATUS_GET, &status, soon(), &reply));
	CHECK(reply.kind == CL_MSG_STATUS);
	CHECK(
	    !st_peer_call(s.node, a, addr, CL_MSG_PING, &ping, soon(), &reply));
	CHECK(reply.kind == CL_MSG_PONG);
	/* The same group at the wrong node is refused. */
	{
		struct cl_proposed out;

		st_propose_own(s.node, a, &p);
		CHECK(!st_propose(s.node, a, &p, 0, &out));
		CHECK(out.outcome == CL_REFUSED);
	}
	stop_second(&s);
	nr_node_stop(&nr);
}

static void
requests_in_frames_are_served(void)
{
	on_cluster(remote);
}

/* ---- what members tell of themselves ---- */

static const struct cl_member_info *
member_info(struct second *s)
{
	struct cl_member_get get = {0};
	struct st_reply_msg reply;

	MUST(!st_peer_call(s->node, nr.r.arena, str_c(nr.conf.listen),
	    CL_MSG_MEMBER_GET, &get, soon(), &reply));
	MUST(reply.kind == CL_MSG_MEMBER_INFO);
	return reply.msg;
}

static const struct cl_groups *
led_groups(struct second *s, uint32_t placement, uint16_t slot)
{
	struct cl_groups_get get = {placement, slot};
	struct st_reply_msg reply;

	MUST(!st_peer_call(s->node, nr.r.arena, str_c(nr.conf.listen),
	    CL_MSG_GROUPS_GET, &get, soon(), &reply));
	MUST(reply.kind == CL_MSG_GROUPS);
	return reply.msg;
}

/* Both hold the catalog, and nothing is under way: each can stop for itself. */
static void
settle(struct second *s)
{
	const struct cl_placement *p;

	for (int i = 0; i < 10000; i++) {
		p = cl_catalog_placement(nr.node->catalog.snap, 0);
		if (p->slots[0].n == 2 && st_groups_idle(nr.node) &&
		    !member_info(s)->others[0].lag)
			break;
		rig_sleep(&nr.r, 1000);
	}
	CHECK(p->slots[0].n == 2);
	CHECK(st_groups_idle(nr.node));
	CHECK(!member_info(s)->others[0].lag);
	CHECK(!member_info(s)->others[0].lag_us);
}

static bool
status_has(const char *piece)
{
	struct buf b;

	buf_init(&b, nr.r.arena);
	st_node_status(nr.node, &b);
	return strstr(buf_cstr(&b), piece) != NULL;
}

/* Rows whose groups the first node leads. */
static void
write_here(const struct cl_table *t, int n)
{
	for (int64_t id = 0; n > 0; id++) {
		const struct cl_placement *pl =
		    cl_catalog_placement(nr.node->catalog.snap, t->placement);
		uint16_t slot;

		nr_key(&nr, t, id, &slot);
		if (pl->slots[slot].members[0] != 1)
			continue;
		CHECK(NR_DO(&nr, .table = t, .id = id, .v = "x") == CL_APPLIED);
		n--;
	}
}

static void
facts(struct rig *r)
{
	struct second s;
	const struct cl_table *t;
	const struct cl_member_info *m;
	const struct cl_groups *g;

	nr.conf.replication = 2;
	nr_node(&nr);
	start_second(&s, "second", true);
	MUST(s.ready);
	t = nr_table(&nr, "t");
	write_here(t, 10);
	m = member_info(&s);
	MUST(m->n_others == 1);
	CHECK(m->serving && m->rows >= 10 && m->bytes > 0);
	/* Both have all slots; the catalog is the first one's. */
	CHECK(m->held == SLOTS + 1 && m->leading >= 2);
	CHECK(m->incomplete == 0 && m->others[0].member == 2);
	CHECK(m->others[0].follows >= 1 && m->others[0].heard_us < 5000000);
	settle(&s);
	g = led_groups(&s, 0, 0);
	CHECK(g->n_groups == member_info(&s)->leading && !g->more);
	/* From a slot on: all but the catalog's. */
	CHECK(led_groups(&s, t->placement, 0)->n_groups == g->n_groups - 1);
	for (uint32_t i = 0; i < g->n_groups; i++) {
		CHECK(g->groups[i].commit == g->groups[i].last);
		CHECK(g->groups[i].commit == g->groups[i].least);
		CHECK(!g->groups[i].incomplete && !g->groups[i].lag_us);
	}
	CHECK(status_has("\"alive\":true"));
	stop_second(&s);
	for (int i = 0; i < 5000 && !status_has("\"alive\":false"); i++)
		rig_sleep(r, 1000);
	CHECK(status_has("\"alive\":false"));
	nr_node_stop(&nr);
}

static void
members_tell_of_each_other_and_of_groups(void)
{
	on_cluster(facts);
}

/* The other copy is gone, and the leader still takes it for alive: others may
 * have elected another meanwhile, for all that it knows. */
static void
alone(struct rig *r)
{
	struct nr_op op = {.v = "y", .cond = CL_COND_ABSENT};
	const struct cl_placement *pl;
	struct cl_proposed out;
	struct second s;
	uint16_t slot;

	(void)r;
	nr.conf.replication = 2;
	nr.conf.leader_lease_us = 0;
	nr_node(&nr);
	start_second(&s, "second", true);
	MUST(s.ready);
	op.table = nr_table(&nr, "t");
	pl = cl_catalog_placement(nr.node->catalog.snap, op.table->placement);
	do
		nr_key(&nr, op.table, ++op.id, &slot);
	while (pl->slots[slot].members[0] != 1);
	CHECK(nr_do(&nr, &op, NULL) == CL_APPLIED);
	/* Both hold it: it is as true as can be. */
	CHECK(nr_do(&nr, &op, NULL) == CL_FALSE);
	stop_second(&s);
	op.deadline_ms = 300;
	nr_do(&nr, &op, &out);
	CHECK(out.outcome == CL_REFUSED && out.reason == CL_REFUSE_LEADER);
	nr_node_stop(&nr);
}

static void
a_leader_says_false_only_while_a_majority_follows(void)
{
	on_cluster(alone);
}

/* The founder dropped the beginning of the catalog's log while it was alone:
 * the newcomer says so to whatever it is sent. */
static void
newcomer(struct rig *r)
{
	uint64_t frames = metric_total(M_NODE_APPENDS);
	uint64_t beats = metric_total(M_NODE_BEATS);
	struct second s;

	nr_node(&nr);
	nr_table(&nr, "t");
	nr_table(&nr, "u");
	start_second(&s, "second", true);
	MUST(s.ready);
	/* Beats go both ways. */
	for (int i = 0; i < 5000 && metric_total(M_NODE_BEATS) < beats + 20;
	     i++)
		rig_sleep(r, 1000);
	CHECK(metric_total(M_NODE_APPENDS) - frames < 200);
	settle(&s);
	stop_second(&s);
	nr_node_stop(&nr);
}

static void
a_newcomer_is_not_sent_the_same_entry_over_and_over(void)
{
	on_cluster(newcomer);
}

/* ---- what a leader says of its commit index ---- */

/* Both members' group, that nobody has led yet, as the second one, which is
 * gone, would lead it: two entries of its term. */
static struct cl_append
entries_of(
    struct arena *a, const struct cl_group_index *c, uint32_t incarnation)
{
	struct cl_append m = {.n_groups = 1, .n_entries = 2};

	m.groups = NEW(a, struct cl_append_head);
	*m.groups = (struct cl_append_head){.placement = c->placement,
	    .slot = c->slot,
	    .epoch = c->epoch,
	    .round = c->round,
	    .member = 2,
	    .incarnation = incarnation,
	    .count = 2};
	m.entries = NEW_N(a, struct cl_append_entry, 2);
	for (uint32_t i = 0; i < 2; i++) {
		struct st_entry e = {.kind = ST_ENTRY_EMPTY,
		    .ballot = {c->round, 2, incarnation},
		    .index = i + 1,
		    .stamp = i + 1};
		struct buf b;

		buf_init(&b, a);
		st_entry_encode(&b, &e);
		m.entries[i].bytes = buf_view(&b);
	}
	return m;
}

static uint64_t
committed_after_beat(struct cl_group_index *c, uint32_t incarnation)
{
	struct cl_beat m = {
	    .incarnation = incarnation, .commits = c, .n_commits = 1};
	struct cl_beaten out;

	MUST(!st_beat_serve(nr.node, nr.r.arena, 2, &m, &out));
	MUST(out.n_applied == 1);
	return st_group_find(nr.node, c->placement, c->slot)->committed;
}

static uint64_t
applied_soon(const struct cl_group_index *c)
{
	const struct st_group *g =
	    st_group_find(nr.node, c->placement, c->slot);

	for (int i = 0; i < 5000 && g->applied < g->committed; i++)
		rig_sleep(&nr.r, 1000);
	return g->applied;
}

/* The second member led in round 10, lost the lead, and is elected again in
 * round 12 with another entry at the same index: this member, which has the one
 * of round 10, hears of the commit before it is sent anything. */
static void
elected_again(struct rig *r)
{
	struct second s;
	struct cl_group_index c = {.epoch = 1, .round = 10, .index = 2};
	struct cl_appended out;
	struct cl_append m;
	uint32_t incarnation;

	nr.conf.replication = 2;
	nr_node(&nr);
	start_second(&s, "second", true);
	MUST(s.ready);
	c.placement = nr_table(&nr, "t")->placement;
	settle(&s);
	incarnation = s.node->id.incarnation;
	stop_second(&s);
	m = entries_of(r->arena, &c, incarnation);
	MUST(!st_append_serve(
	    nr.node, r->arena, 2, &m, st_node_catalog_version(nr.node), &out));
	CHECK(out.acks[0].result == CL_APPEND_OK && out.acks[0].last == 2);
	c.round = 12;
	CHECK(committed_after_beat(&c, incarnation) == 0);
	c.round = 10;
	CHECK(committed_after_beat(&c, incarnation) == 2);
	CHECK(applied_soon(&c) == 2);
	/* And an append of a term before that, however late, changes
	 * nothing. */
	c.round = 9;
	m = entries_of(r->arena, &c, incarnation);
	MUST(!st_append_serve(
	    nr.node, r->arena, 2, &m, st_node_catalog_version(nr.node), &out));
	CHECK(out.acks[0].result == CL_APPEND_BALLOT);
	CHECK(out.acks[0].round == 10 && out.acks[0].applied == 2);
	nr_node_stop(&nr);
}

static void
a_commit_index_counts_in_its_own_ballot_only(void)
{
	on_cluster(elected_again);
}

/* A third member stands with a log that is too short, and tells that the
 * second one has promised it its vote. */
static void
stand_as_third(const struct cl_group_index *c)
{
	struct cl_promise promise = {.by = 2, .round = 50, .member = 3};
	struct cl_vote m = {.placement = c->placement,
	    .slot = c->slot,
	    .epoch = c->epoch,
	    .round = 50,
	    .member = 3,
	    .promises = &promise,
	    .n_promises = 1};
	struct cl_voted out;

	MUST(!st_vote_serve(nr.node, nr.r.arena, 3, &m, &out));
	CHECK(!out.granted);
}

/* This member has the longest log, and is the only one who can lead: it must
 * not wait for the one that led before, alive as that is. */
static void
deposed(struct rig *r)
{
	struct second s;
	struct cl_group_index c = {.epoch = 1, .round = 10};
	struct cl_appended out;
	struct cl_append m;
	struct st_group *g;

	nr.conf.replication = 2;
	nr_node(&nr);
	start_second(&s, "second", true);
	MUST(s.ready);
	c.placement = nr_table(&nr, "t")->placement;
	m = entries_of(r->arena, &c, s.node->id.incarnation);
	MUST(!st_append_serve(
	    nr.node, r->arena, 2, &m, st_node_catalog_version(nr.node), &out));
	CHECK(out.acks[0].result == CL_APPEND_OK);
	g = st_group_find(nr.node, c.placement, c.slot);
	CHECK(g->leader == 2);
	stand_as_third(&c);
	CHECK(g->leader == 0);
	settle(&s);
	stop_second(&s);
	nr_node_stop(&nr);
}

static void
a_leader_that_voted_for_another_is_not_waited_for(void)
{
	on_cluster(deposed);
}

/* ---- callers that misbehave ---- */

struct caller {
	struct net_conn *net;
	bool opened, closed;
	uint16_t kind; /* of the last frame */
	char text[128];
	uint8_t nonce[32], node_nonce[32];
};

static void
caller_opened(void *owner)
{
	((struct caller *)owner)->opened = true;
}

static void
caller_frame(void *owner, struct str bytes)
{
	struct caller *c = owner;
	struct arena *a = arena_new(NULL, "caller");
	struct cl_frame f;
	void *msg;

	if (!cl_frame_read(a, bytes, &f)) {
		c->kind = f.kind;
		if (!cl_msg_decode(a, f.kind, f.body, &msg)) {
			if (f.kind == CL_MSG_FAIL)
				snprintf(c->text, sizeof c->text, "%.*s",
				    STR_FMT(((struct cl_fail *)msg)->message));
			if (f.kind == CL_MSG_WELCOME)
				memcpy(c->node_nonce,
				    ((struct cl_welcome *)msg)->nonce.p, 32);
		}
	}
	arena_free(a);
}

static void
caller_closed(void *owner, const char *why)
{
	struct caller *c = owner;

	(void)why;
	c->closed = true;
	c->net = NULL;
}

static const struct net_events caller_events = {
    .opened = caller_opened, .frame = caller_frame, .closed = caller_closed};

static void
call_in(struct caller *c)
{
	struct err *e;

	*c = (struct caller){.kind = 0};
	e = net_connect(
	    nr.r.world, nr.r.arena, nr.conf.listen, &caller_events, c, &c->net);
	MUST(e == NULL);
	for (int i = 0; i < 1000 && !c->opened; i++)
		rig_sleep(&nr.r, 1000);
	MUST(c->opened);
}

static void
send_msg(struct caller *c, enum cl_msg_kind kind, const void *msg)
{
	if (!c->net)
		return;
	c->kind = 0;
	net_send(
	    nr.r.world, c->net, st_frame(nr.node, nr.r.arena, 1, 0, kind, msg));
	for (int i = 0; i < 300 && !c->closed && !c->kind; i++)
		rig_sleep(&nr.r, 1000);
	rig_sleep(&nr.r, 5000);
}

static struct cl_hello
hello_of(struct caller *c)
{
	return (struct cl_hello){.role = CL_PEER_GATEWAY,
	    .id = 1,
	    .format_min = CL_FORMAT,
	    .format_max = CL_FORMAT,
	    .level = 1,
	    .nonce = str_of(c->nonce, 32)};
}

static void
handshake(struct caller *c)
{
	struct cl_hello h = hello_of(c);
	uint8_t proof[32];
	struct cl_prove p = {str_of(proof, 32)};

	call_in(c);
	send_msg(c, CL_MSG_HELLO, &h);
	CHECK(c->kind == CL_MSG_WELCOME);
	cl_proof(nr.conf.key, 'c', c->nonce, c->node_nonce, proof);
	send_msg(c, CL_MSG_PROVE, &p);
	CHECK(c->kind == CL_MSG_READY);
}

static void
bad_callers(struct rig *r)
{
	struct caller c;
	struct cl_hello h;
	struct cl_ping ping = {1};
	struct cl_ready ready = {1};
	uint8_t junk[200];
	struct cl_prove p = {str_of(junk, 32)};

	nr_node(&nr);
	memset(junk, 0xaa, sizeof junk);
	/* No handshake. */
	call_in(&c);
	send_msg(&c, CL_MSG_PING, &ping);
	CHECK(c.closed);
	/* Another cluster. */
	call_in(&c);
	h = hello_of(&c);
	h.cluster = STR("0123456789abcdef");
	send_msg(&c, CL_MSG_HELLO, &h);
	CHECK(c.closed);
	CHECK_STR(c.text, "this node belongs to another cluster");
	/* Another format. */
	call_in(&c);
	h = hello_of(&c);
	h.format_min = h.format_max = 9;
	send_msg(&c, CL_MSG_HELLO, &h);
	CHECK(c.closed && strstr(c.text, "format"));
	/* A wrong proof. */
	call_in(&c);
	h = hello_of(&c);
	send_msg(&c, CL_MSG_HELLO, &h);
	send_msg(&c, CL_MSG_PROVE, &p);
	CHECK(c.closed && strstr(c.text, "key"));
	/* After a right one: a frame that is damaged, one that is no request.
	 */
	handshake(&c);
	junk[0] = 200;
	junk[1] = junk[2] = junk[3] = 0;
	net_send(r->world, c.net, str_of(junk, sizeof junk));
	for (int i = 0; i < 300 && !c.closed; i++)
		rig_sleep(r, 1000);
	CHECK(c.closed);
	handshake(&c);
	send_msg(&c, CL_MSG_READY, &ready);
	CHECK(c.closed);
	/* The node serves on. */
	handshake(&c);
	send_msg(&c, CL_MSG_PING, &ping);
	CHECK(c.kind == CL_MSG_PONG && !c.closed);
	net_close(r->world, c.net);
	nr_node_stop(&nr);
}

static void
who_misbehaves_loses_only_its_connection(void)
{
	on_cluster(bad_callers);
}

/* ---- directories ---- */

static void
second_start(struct rig *r)
{
	struct st_conf conf;
	struct st_node *node;
	struct err *e;

	nr_node(&nr);
	/* One directory, two nodes. */
	conf = nr.conf;
	conf.listen = arena_printf(r->arena, "unix:%s/other.sock", r->dir);
	e = st_node_start(r->world, r->arena, &conf, NULL, &node);
	CHECK(e && err_is(e, ERRCODE_OBJECT_IN_USE));
	nr_node_stop(&nr);
	/* Forming again what is formed. */
	nr.conf.init = true;
	nr.conf.init_if_empty = false;
	nr_node(&nr);
	CHECK(nr.failed && strstr(nr.why, "belongs to a cluster already"));
	/* A failed start is stopped like a good one. */
	nr_node_stop(&nr);
}

static void
a_directory_has_one_node_and_one_cluster(void)
{
	on_cluster(second_start);
}

CU_MAIN("cluster",
    {"a_node_joins_and_follows_the_catalog",
	a_node_joins_and_follows_the_catalog},
    {"a_node_without_the_key_does_not_join",
	a_node_without_the_key_does_not_join},
    {"requests_in_frames_are_served", requests_in_frames_are_served},
    {"members_tell_of_each_other_and_of_groups",
	members_tell_of_each_other_and_of_groups},
    {"a_leader_says_false_only_while_a_majority_follows",
	a_leader_says_false_only_while_a_majority_follows},
    {"a_newcomer_is_not_sent_the_same_entry_over_and_over",
	a_newcomer_is_not_sent_the_same_entry_over_and_over},
    {"a_commit_index_counts_in_its_own_ballot_only",
	a_commit_index_counts_in_its_own_ballot_only},
    {"a_leader_that_voted_for_another_is_not_waited_for",
	a_leader_that_voted_for_another_is_not_waited_for},
    {"who_misbehaves_loses_only_its_connection",
	who_misbehaves_loses_only_its_connection},
    {"a_directory_has_one_node_and_one_cluster",
	a_directory_has_one_node_and_one_cluster})
