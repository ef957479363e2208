#include "storage/peer.h"

#include "base/log.h"
#include "cluster/handshake.h"
#include "storage/clock.h"
#include "storage/conn.h"
#include "storage/life.h"
#include "storage/link.h"

#define PEER_MAGIC 0x53545052u

/*   CONNECTING -> GREETING -> PROVING -> OPEN
 *        |            |          |        |
 *        +------------+----------+--------+--> CLOSED */
enum peer_state {
	PEER_CLOSED,
	PEER_CONNECTING,
	PEER_GREETING,
	PEER_PROVING,
	PEER_OPEN
};

struct call {
	struct list link; /* peer.calls */
	uint64_t request;
	struct arena *arena;
	struct cond done;
	bool answered;
	struct err *err;
	struct st_reply_msg *out;
};

struct peer {
	uint32_t magic;
	enum peer_state state;
	struct st_node *node;
	struct list link; /* node.peers */
	char *addr;
	bool urgent;     /* for heartbeats and votes */
	uint32_t member; /* at the other end, and its process */
	uint32_t incarnation;
	uint8_t life[ST_LIFE];
	struct net_conn *net;
	struct cond changed;
	uint64_t heard_us; /* when the last frame came */
	struct list calls;
	uint8_t own_nonce[CL_NONCE];
	uint8_t nonce[CL_NONCE];
	char why_text[256]; /* it closed */
	char why_code[6];
};

static void
fail_calls(struct peer *p)
{
	struct list *at;

	while ((at = list_pop(&p->calls))) {
		struct call *c = LIST_ENTRY(at, struct call, link);

		c->err = ERR(c->arena, ERRCODE_CONNECTION_FAILURE,
		    "connection to node %s ended: %s", p->addr, p->why_text);
		c->answered = true;
		cond_broadcast(&c->done);
	}
}

static void
ended(struct peer *p, const char *why)
{
	size_t len = strlen(why);

	if (len >= sizeof p->why_text)
		len = sizeof p->why_text - 1;
	memcpy(p->why_text, why, len);
	p->why_text[len] = 0;
	memcpy(p->why_code, ERRCODE_CONNECTION_FAILURE, 6);
	p->net = NULL;
	p->state = PEER_CLOSED;
	fail_calls(p);
	cond_broadcast(&p->changed);
}

static void
drop(struct peer *p, const char *why)
{
	if (p->net)
		net_close(p->node->world, p->net);
	ended(p, why);
}

static void
send(struct peer *p, struct arena *a, uint64_t request, enum cl_msg_kind kind,
    const void *msg)
{
	net_send(p->node->world, p->net,
	    st_frame(p->node, a, request, 0, kind, msg));
}

static void
opened_ev(void *owner)
{
	struct peer *p = TAKE(struct peer, owner, PEER_MAGIC);
	struct st_node *n = p->node;
	struct arena *a = arena_new(n->arena, "hello");
	struct cl_hello h = {
	    .role = n->id.known ? CL_PEER_MEMBER : CL_PEER_JOINER,
	    .id = n->id.member,
	    .incarnation = n->id.incarnation,
	    .format_min = CL_FORMAT,
	    .format_max = CL_FORMAT,
	    .level = CL_FEATURE_LEVEL};

	if (n->id.known)
		h.life = str_of(n->life, ST_LIFE);
	if (n->id.known)
		h.cluster = str_of(n->id.cluster, sizeof n->id.cluster);
	world_random(n->world, p->own_nonce, CL_NONCE);
	h.nonce = str_of(p->own_nonce, CL_NONCE);
	p->state = PEER_GREETING;
	send(p, a, 0, CL_MSG_HELLO, &h);
	arena_free(a);
}

static struct err *
err_of_fail(struct arena *a, const struct cl_fail *f)
{
	struct err *e = ERR(a, "XX000", "%.*s", STR_FMT(f->message));

	if (f->sqlstate.len == 5)
		memcpy(e->sqlstate, f->sqlstate.p, 5);
	if (f->detail.len)
		err_detail(e, "%.*s", STR_FMT(f->detail));
	if (f->hint.len)
		err_hint(e, "%.*s", STR_FMT(f->hint));
	return e;
}

static struct err *
on_welcome(struct peer *p, struct arena *a, const struct cl_welcome *w)
{
	struct st_node *n = p->node;
	uint8_t proof[CL_PROOF];
	struct cl_prove prove;

	if (w->nonce.len != CL_NONCE || w->format != CL_FORMAT)
		return ERR(a, ERRCODE_PROTOCOL_VIOLATION, "malformed WELCOME");
	memcpy(p->nonce, w->nonce.p, CL_NONCE);
	TRY(st_life_check(n, a, w->id, w->incarnation, w->life));
	p->member = w->id;
	p->incarnation = w->incarnation;
	memcpy(p->life, w->life.p, ST_LIFE);
	if (!cl_proof_ok(n->conf.key, 's', p->own_nonce, p->nonce, w->proof))
		return ERR(a, ERRCODE_INVALID_AUTHORIZATION_SPECIFICATION,
		    "it does not know the cluster key");
	cl_proof(n->conf.key, 'c', p->own_nonce, p->nonce, proof);
	prove.proof = str_of(proof, CL_PROOF);
	p->state = PEER_PROVING;
	send(p, a, 0, CL_MSG_PROVE, &prove);
	return NULL;
}

static struct err *
handshake(struct peer *p, struct arena *a, const struct cl_frame *f)
{
	void *msg;

	TRY(cl_msg_decode(a, f->kind, f->body, &msg));
	if (f->kind == CL_MSG_FAIL) {
		struct err *e = err_of_fail(a, msg);

		if (err_is(e, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE))
			st_life_refused(p->node, e->message);
		return e;
	}
	if (p->state == PEER_GREETING && f->kind == CL_MSG_WELCOME)
		return on_welcome(p, a, msg);
	if (p->state == PEER_PROVING && f->kind == CL_MSG_READY) {
		st_life_met(p->node, p->member, p->incarnation,
		    str_of(p->life, ST_LIFE));
		p->state = PEER_OPEN;
		cond_broadcast(&p->changed);
		return NULL;
	}
	return ERR(a, ERRCODE_PROTOCOL_VIOLATION,
	    "frame of kind %u in the handshake", f->kind);
}

static void
on_answer(struct peer *p, const struct cl_frame *f)
{
	LIST_FOREACH(at, &p->calls)
	{
		struct call *c = LIST_ENTRY(at, struct call, link);

		if (c->request != f->request)
			continue;
		list_del(&c->link);
		c->out->kind = f->kind;
		c->out->catalog = f->catalog;
		c->out->incarnation = p->incarnation;
		c->err = cl_msg_decode(c->arena, f->kind,
		    arena_str(c->arena, f->body), &c->out->msg);
		if (!c->err && f->kind == CL_MSG_FAIL)
			c->err = err_of_fail(c->arena, c->out->msg);
		c->answered = true;
		cond_broadcast(&c->done);
		return;
	}
	/* Its caller gave up: late answers are dropped. */
}

static void
frame_ev(void *owner, struct str bytes)
{
	struct peer *p = TAKE(struct peer, owner, PEER_MAGIC);
	struct arena *a = arena_new(p->node->arena, "frame");
	struct cl_frame f;
	struct err *e = cl_frame_read(a, bytes, &f);

	p->heard_us = world_mono_us(p->node->world);
	if (!e)
		st_clock_observe(p->node, f.stamp);
	if (!e && p->state != PEER_OPEN)
		e = handshake(p, a, &f);
	else if (!e)
		on_answer(p, &f);
	if (e) {
		LOG(p->node->world, LOG_WARN, "peer", "refused",
		    "addr=%s why=\"%s\"", p->addr, e->message);
		drop(p, e->message);
		/* A refusal in the handshake tells more than a lost
		 * connection. */
		memcpy(p->why_code, e->sqlstate, 6);
	}
	arena_free(a);
}

static void
closed_ev(void *owner, const char *why)
{
	ended(TAKE(struct peer, owner, PEER_MAGIC), why ? why : "closed");
}

static const struct net_events events = {
    .opened = opened_ev,
    .frame = frame_ev,
    .closed = closed_ev,
};

static struct peer *
find_or_make(struct st_node *n, struct str addr, bool urgent)
{
	struct peer *p;

	LIST_FOREACH(at, &n->peers)
	{
		p = LIST_ENTRY(at, struct peer, link);
		if (p->urgent == urgent && str_eq(str_c(p->addr), addr))
			return p;
	}
	p = NEW(n->arena, struct peer);
	p->magic = PEER_MAGIC;
	p->node = n;
	p->addr = arena_cstr(n->arena, addr);
	p->urgent = urgent;
	cond_init(&p->changed, n->world);
	list_init(&p->calls);
	list_push(&n->peers, &p->link);
	return p;
}

static struct err *
connect_peer(struct peer *p, struct arena *a, uint64_t deadline_us)
{
	struct st_node *n = p->node;

	if (p->state == PEER_CLOSED) {
		TRY(net_connect(n->world, a, p->addr, &events, p, &p->net));
		p->state = PEER_CONNECTING;
	}
	while (p->state != PEER_OPEN) {
		if (p->state == PEER_CLOSED)
			return ERR(a, p->why_code,
			    "could not connect to node %s: %s", p->addr,
			    p->why_text);
		if (cond_wait(&p->changed, deadline_us) == WAKE_EVENT)
			continue;
		drop(p, "no handshake in time");
		return ERR(a, ERRCODE_CONNECTION_FAILURE,
		    "could not connect to node %s in time", p->addr);
	}
	return NULL;
}

/* `member`: who must answer there; 0: anybody. */
static struct err *
call_at(struct st_node *n, struct arena *a, struct str addr, uint32_t member,
    enum cl_msg_kind kind, const void *msg, uint64_t deadline_us,
    struct st_reply_msg *out)
{
	struct peer *p =
	    find_or_make(n, addr, kind == CL_MSG_BEAT || kind == CL_MSG_VOTE);
	struct call c = {.arena = a, .out = out};
	uint64_t sent_us;

	memset(out, 0, sizeof *out);
	TRY(connect_peer(p, a, deadline_us));
	/* A member that lost its disk may be there again as another one: what
	 * it says must not count for who it was. */
	if (member && p->member != member)
		return ERR(a, ERRCODE_CONNECTION_FAILURE,
		    "at %s is member %u, not %u", p->addr, p->member, member);
	sent_us = world_mono_us(n->world);
	cond_init(&c.done, n->world);
	c.request = ++n->next_request;
	list_push(&p->calls, &c.link);
	send(p, a, c.request, kind, msg);
	while (!c.answered) {
		if (cond_wait(&c.done, deadline_us) == WAKE_EVENT)
			continue;
		if (c.answered)
			break;
		list_del(&c.link);
		/* Nothing at all came: the other end may have forgotten this
		 * connection without our being told.  The next call makes
		 * another. */
		if (p->state == PEER_OPEN && p->heard_us < sent_us)
			drop(p, "silent");
		return ERR(a, ERRCODE_QUERY_CANCELED,
		    "node %s did not answer in time", p->addr);
	}
	return c.err;
}

struct err *
st_peer_call(struct st_node *n, struct arena *a, struct str addr,
    enum cl_msg_kind kind, const void *msg, uint64_t deadline_us,
    struct st_reply_msg *out)
{
	return call_at(n, a, addr, 0, kind, msg, deadline_us, out);
}

/* The catalog says it; a node that has none yet, and may need this member to
 * get one, goes where the member was met. */
static struct str
member_addr(const struct st_node *n, uint32_t member)
{
	struct str addr = st_link_addr(n, member);

	if (addr.len)
		return addr;
	LIST_FOREACH(at, &n->peers)
	{
		const struct peer *p = LIST_ENTRY(at, struct peer, link);

		if (p->member == member)
			return str_c(p->addr);
	}
	return STR("");
}

struct err *
st_member_call(struct st_node *n, struct arena *a, uint32_t member,
    enum cl_msg_kind kind, const void *msg, uint64_t deadline_us,
    struct st_reply_msg *out)
{
	struct str addr = member_addr(n, member);

	memset(out, 0, sizeof *out);
	if (!addr.len)
		return ERR(a, ERRCODE_CONNECTION_FAILURE,
		    "the address of member %u is not known", member);
	return call_at(n, a, addr, member, kind, msg, deadline_us, out);
}

void
st_peers_close(struct st_node *n)
{
	LIST_FOREACH(at, &n->peers)
	{
		struct peer *p = LIST_ENTRY(at, struct peer, link);

		if (p->state != PEER_CLOSED)
			drop(p, "this node closes its connections");
	}
}
