#include "storage/conn.h"

#include <inttypes.h>

#include "base/log.h"
#include "base/metrics.h"
#include "cluster/handshake.h"
#include "storage/clock.h"
#include "storage/life.h"

#define CONN_MAGIC   0x5354434eu
#define HELLO_MAX_US 10000000u /* from accept to the end of the handshake */
/* Unsent answers above which no more requests are read. */
#define BACKLOG_MAX (16u << 20)

enum conn_state { CONN_GREETED, CONN_WELCOMED, CONN_OPEN, CONN_CLOSED };

/* Why a connection is not read from; it is read when none holds. */
#define PAUSE_REQUESTS 1u
#define PAUSE_BACKLOG  2u
#define PAUSE_STOPPING 4u

struct st_conn {
	uint32_t magic;
	enum conn_state state;
	struct st_node *node;
	struct net_conn *net; /* NULL once closed */
	struct arena *arena;
	struct list link; /* node.conns */
	const char *peer;
	uint8_t role;
	uint32_t id;
	uint32_t incarnation; /* of a member */
	uint8_t life[ST_LIFE];
	uint8_t caller_nonce[CL_NONCE];
	uint8_t own_nonce[CL_NONCE];
	uint32_t n_requests;
	unsigned paused;
	struct timer timer;
};

static void
move(struct st_conn *c, enum conn_state to)
{
	static const bool allowed[4][4] = {
	    [CONN_GREETED] = {[CONN_WELCOMED] = true, [CONN_CLOSED] = true},
	    [CONN_WELCOMED] = {[CONN_OPEN] = true, [CONN_CLOSED] = true},
	    [CONN_OPEN] = {[CONN_CLOSED] = true},
	};

	ASSERT(allowed[c->state][to]);
	c->state = to;
}

static void
pause_for(struct st_conn *c, unsigned reason, bool on)
{
	unsigned was = c->paused;

	c->paused = on ? was | reason : was & ~reason;
	if (c->net && !was != !c->paused)
		net_pause(c->node->world, c->net, c->paused != 0);
}

static void
free_if_over(struct st_conn *c)
{
	if (c->state != CONN_CLOSED || c->n_requests)
		return;
	list_del(&c->link);
	c->magic = 0;
	arena_free(c->arena);
}

/* The network side is gone or not wanted any more. */
static void
end(struct st_conn *c)
{
	struct st_node *n = c->node;

	if (c->state == CONN_CLOSED)
		return;
	move(c, CONN_CLOSED);
	timer_clear(n->world, &c->timer);
	c->net = NULL;
	n->n_conns--;
	metric_set(M_NODE_CONNECTIONS, n->n_conns);
	free_if_over(c);
}

static void
drop(struct st_conn *c)
{
	struct net_conn *net = c->net;

	if (!net)
		return;
	net_close(c->node->world, net);
	end(c);
}

static void
give_up(struct st_conn *c, const char *why)
{
	LOG(c->node->world, LOG_WARN, "conn", "closed", "peer=%s why=\"%s\"",
	    c->peer, why);
	drop(c);
}

/* ---- frames out ---- */

struct str
st_frame(struct st_node *n, struct arena *a, uint64_t request, uint8_t flags,
    enum cl_msg_kind kind, const void *msg)
{
	struct cl_frame f = {.kind = (uint16_t)kind,
	    .flags = flags,
	    .request = request,
	    .catalog = cl_catalog_version(n->catalog.snap),
	    .slots = n->catalog.slots_version,
	    .stamp = st_now(n)};
	struct buf b;

	buf_init(&b, a);
	buf_reserve(
	    &b, CL_FRAME_HEADER + CL_FRAME_TRAILER + cl_msg_size(kind, msg));
	cl_frame_begin(&b, &f);
	cl_msg_encode(&b, kind, msg);
	cl_frame_end(&b);
	return buf_view(&b);
}

static struct str
cut(const char *s, size_t max)
{
	struct str v = str_c(s);

	if (v.len > max)
		v.len = max;
	return v;
}

/* A FAIL message from an error. */
static void
fail_of(const struct err *e, struct cl_fail *f)
{
	*f = (struct cl_fail){.sqlstate = cut(e->sqlstate, 5),
	    .message = cut(e->message, CL_TEXT_MAX),
	    .detail = cut(e->detail, CL_TEXT_MAX),
	    .hint = cut(e->hint, CL_TEXT_MAX)};
}

static void
send_fail(struct st_conn *c, uint64_t request, const struct err *e)
{
	struct arena *a = arena_new(c->arena, "failure");
	struct cl_fail f;

	fail_of(e, &f);
	if (c->net)
		net_send(c->node->world, c->net,
		    st_frame(
			c->node, a, request, CL_FLAG_REPLY, CL_MSG_FAIL, &f));
	arena_free(a);
}

void
st_reply(struct st_request *r, enum cl_msg_kind kind, const void *msg)
{
	struct st_conn *c = r->conn;
	struct str frame;

	if (!c->net) {
		metric_inc(M_NODE_DROPPED);
		return;
	}
	frame = st_frame(
	    r->node, r->arena, r->frame.request, CL_FLAG_REPLY, kind, msg);
	ASSERT(frame.len <= NET_FRAME_MAX);
	net_send(r->node->world, c->net, frame);
	if (net_backlog(r->node->world, c->net) > BACKLOG_MAX)
		pause_for(c, PAUSE_BACKLOG, true);
}

void
st_reply_err(struct st_request *r, const struct err *e)
{
	struct cl_fail f;

	metric_inc(M_NODE_FAILED);
	fail_of(e, &f);
	st_reply(r, CL_MSG_FAIL, &f);
}

/* ---- the handshake ---- */

static struct err *
check_hello(struct st_conn *c, struct arena *a, const struct cl_hello *h)
{
	const struct st_node *n = c->node;

	if (h->format_min > CL_FORMAT || h->format_max < CL_FORMAT)
		return err_hint(
		    ERR(a, ERRCODE_FEATURE_NOT_SUPPORTED,
			"this node speaks frame format %u, the "
			"caller formats %u to %u",
			(unsigned)CL_FORMAT, (unsigned)h->format_min,
			(unsigned)h->format_max),
		    "Upgrade the older of the two.");
	if (h->role < CL_PEER_MEMBER || h->role > CL_PEER_JOINER ||
	    h->nonce.len != CL_NONCE)
		return ERR(a, ERRCODE_PROTOCOL_VIOLATION, "malformed HELLO");
	/* With the incarnation of the process before, it would be taken for a
	 * copy of that one's directory. */
	if (!n->introduced || n->state > ST_NODE_SERVING)
		return ERR(a, ERRCODE_CANNOT_CONNECT_NOW, "%s",
		    n->introduced ? "this node is shutting down"
		    : n->id.known ? "this node is starting"
				  : "this node is not yet part of a cluster");
	if (h->cluster.len &&
	    !str_eq(h->cluster, str_of(n->id.cluster, sizeof n->id.cluster)))
		return err_hint(
		    ERR(a, ERRCODE_INVALID_AUTHORIZATION_SPECIFICATION,
			"this node belongs to another cluster"),
		    "Check the address, and the data directory of the "
		    "caller.");
	return NULL;
}

static struct err *
on_hello(struct st_conn *c, struct arena *a, const struct cl_frame *f)
{
	struct st_node *n = c->node;
	uint8_t proof[CL_PROOF];
	struct cl_welcome w;
	struct cl_hello *h;
	void *msg;

	TRY(cl_msg_decode(a, f->kind, f->body, &msg));
	h = msg;
	TRY(check_hello(c, a, h));
	c->role = h->role;
	c->id = h->id;
	if (c->role == CL_PEER_MEMBER) {
		TRY(st_life_check(n, a, h->id, h->incarnation, h->life));
		c->incarnation = h->incarnation;
		memcpy(c->life, h->life.p, ST_LIFE);
	}
	memcpy(c->caller_nonce, h->nonce.p, CL_NONCE);
	world_random(n->world, c->own_nonce, CL_NONCE);
	cl_proof(n->conf.key, 's', c->caller_nonce, c->own_nonce, proof);
	w = (struct cl_welcome){
	    .cluster = str_of(n->id.cluster, sizeof n->id.cluster),
	    .id = n->id.member,
	    .incarnation = n->id.incarnation,
	    .format = CL_FORMAT,
	    .level = CL_FEATURE_LEVEL,
	    .nonce = str_of(c->own_nonce, CL_NONCE),
	    .proof = str_of(proof, CL_PROOF),
	    .life = str_of(n->life, ST_LIFE)};
	move(c, CONN_WELCOMED);
	net_send(n->world, c->net,
	    st_frame(n, a, f->request, CL_FLAG_REPLY, CL_MSG_WELCOME, &w));
	return NULL;
}

static struct err *
on_prove(struct st_conn *c, struct arena *a, const struct cl_frame *f)
{
	struct st_node *n = c->node;
	struct cl_ready ready = {cl_catalog_version(n->catalog.snap)};
	struct cl_prove *p;
	void *msg;

	TRY(cl_msg_decode(a, f->kind, f->body, &msg));
	p = msg;
	if (!cl_proof_ok(
		n->conf.key, 'c', c->caller_nonce, c->own_nonce, p->proof))
		return err_hint(
		    ERR(a, ERRCODE_INVALID_AUTHORIZATION_SPECIFICATION,
			"the caller does not know the cluster key"),
		    "All programs of a cluster need the same "
		    "cluster.key_file.");
	move(c, CONN_OPEN);
	if (c->role == CL_PEER_MEMBER)
		st_life_met(n, c->id, c->incarnation, str_of(c->life, ST_LIFE));
	timer_clear(n->world, &c->timer);
	net_send(n->world, c->net,
	    st_frame(n, a, f->request, CL_FLAG_REPLY, CL_MSG_READY, &ready));
	LOG(n->world, LOG_TRACE, "conn", "open", "peer=%s role=%u id=%u",
	    c->peer, c->role, c->id);
	return NULL;
}

static void
handshake(struct st_conn *c, const struct cl_frame *f)
{
	struct arena *a = arena_new(c->arena, "handshake");
	struct err *e;

	if (c->state == CONN_GREETED && f->kind == CL_MSG_HELLO)
		e = on_hello(c, a, f);
	else if (c->state == CONN_WELCOMED && f->kind == CL_MSG_PROVE)
		e = on_prove(c, a, f);
	else
		e = ERR(a, ERRCODE_PROTOCOL_VIOLATION,
		    "frame of kind %u before the handshake is over", f->kind);
	if (!e) {
		arena_free(a);
		return;
	}
	send_fail(c, f->request, e);
	LOG(c->node->world, LOG_WARN, "conn", "refused", "peer=%s why=\"%s\"",
	    c->peer, e->message);
	arena_free(a);
	drop(c);
}

/* ---- requests ---- */

static void
request_fiber(void *arg)
{
	struct st_request *r = arg;
	struct st_conn *c = r->conn;
	struct st_node *n = r->node;

	st_serve(r);
	arena_free(r->arena);
	ASSERT(c->magic == CONN_MAGIC && c->n_requests > 0);
	c->n_requests--;
	if (c->n_requests < n->conf.requests_max / 2 + 1)
		pause_for(c, PAUSE_REQUESTS, false);
	free_if_over(c);
	if (--n->n_requests == 0)
		cond_broadcast(&n->idle);
}

static void
start_request(struct st_conn *c, const struct cl_frame *f)
{
	struct st_node *n = c->node;
	struct arena *a = arena_new(c->arena, "request");
	struct st_request *r = NEW(a, struct st_request);

	r->conn = c;
	r->node = n;
	r->arena = a;
	r->frame = *f;
	r->frame.body = arena_str(a, f->body);
	r->deadline_us = world_mono_us(n->world) + n->conf.statement_timeout_us;
	c->n_requests++;
	n->n_requests++;
	metric_inc(M_NODE_REQUESTS);
	if (c->n_requests >= n->conf.requests_max)
		pause_for(c, PAUSE_REQUESTS, true);
	fiber_spawn(n->world, "request", FIBER_STACK_NODE, request_fiber, r);
}

static void
frame_ev(void *owner, struct str bytes)
{
	struct st_conn *c = TAKE(struct st_conn, owner, CONN_MAGIC);
	struct arena *a = arena_new(c->arena, "frame");
	struct cl_frame f;
	struct err *e = cl_frame_read(a, bytes, &f);

	if (e) {
		metric_inc(M_NET_REFUSED);
		send_fail(c, 0, e);
		give_up(c, e->message);
		return; /* the arena goes with the connection */
	}
	arena_free(a);
	st_clock_observe(c->node, f.stamp);
	if (c->state != CONN_OPEN)
		handshake(c, &f);
	else if (f.flags & CL_FLAG_REPLY)
		give_up(c, "an answer to nothing");
	else
		start_request(c, &f);
}

static void
closed_ev(void *owner, const char *why)
{
	struct st_conn *c = TAKE(struct st_conn, owner, CONN_MAGIC);

	LOG(c->node->world, LOG_TRACE, "conn", "gone", "peer=%s why=\"%s\"",
	    c->peer, why ? why : "");
	end(c);
}

static void
drained_ev(void *owner)
{
	struct st_conn *c = TAKE(struct st_conn, owner, CONN_MAGIC);

	pause_for(c, PAUSE_BACKLOG, false);
}

static void
silent_ev(void *arg)
{
	give_up(TAKE(struct st_conn, arg, CONN_MAGIC), "no handshake in time");
}

static const struct net_events events = {
    .frame = frame_ev,
    .closed = closed_ev,
    .drained = drained_ev,
};

void
st_conn_accept_ev(void *owner, struct net_conn *net)
{
	struct st_node *n = TAKE(struct st_node, owner, ST_NODE_MAGIC);
	struct arena *a = arena_new(n->arena, "connection");
	struct st_conn *c = NEW(a, struct st_conn);

	c->magic = CONN_MAGIC;
	c->state = CONN_GREETED;
	c->node = n;
	c->net = net;
	c->arena = a;
	c->peer = arena_strdup(a, net_peer(n->world, net));
	list_push(&n->conns, &c->link);
	n->n_conns++;
	metric_set(M_NODE_CONNECTIONS, n->n_conns);
	net_adopt(n->world, net, &events, c);
	if (n->n_conns > n->conf.connections_max) {
		give_up(c, "too many connections");
		return;
	}
	timer_set(n->world, &c->timer, world_mono_us(n->world) + HELLO_MAX_US,
	    silent_ev, c);
}

uint32_t
st_request_member(const struct st_request *r)
{
	return r->conn->role == CL_PEER_MEMBER ? r->conn->id : 0;
}

void
st_conn_malformed(struct st_request *r, const char *why)
{
	metric_inc(M_NET_REFUSED);
	if (r->conn->net)
		give_up(r->conn, why);
}

void
st_conns_pause(struct st_node *n)
{
	LIST_FOREACH(at, &n->conns)
	pause_for(LIST_ENTRY(at, struct st_conn, link), PAUSE_STOPPING, true);
}

void
st_conns_close(struct st_node *n)
{
	LIST_FOREACH_SAFE(at, &n->conns)
	drop(LIST_ENTRY(at, struct st_conn, link));
}
