#include "gateway/peer_int.h"

#include <stdio.h>

#include "base/log.h"
#include "base/metrics.h"

static const struct net_events link_events;

bool
gw_link_may(enum gw_link_state from, enum gw_link_state to)
{
#define B(s) (1u << (s))
	static const unsigned next[GW_LINK_STATES] = {
	    [GW_LINK_IDLE] = B(GW_LINK_CONNECTING) | B(GW_LINK_BACKOFF),
	    [GW_LINK_CONNECTING] =
		B(GW_LINK_GREETING) | B(GW_LINK_BACKOFF) | B(GW_LINK_IDLE),
	    [GW_LINK_GREETING] =
		B(GW_LINK_PROVING) | B(GW_LINK_BACKOFF) | B(GW_LINK_IDLE),
	    [GW_LINK_PROVING] = B(GW_LINK_PROBING) | B(GW_LINK_UP) |
				B(GW_LINK_BACKOFF) | B(GW_LINK_IDLE),
	    [GW_LINK_PROBING] =
		B(GW_LINK_UP) | B(GW_LINK_BACKOFF) | B(GW_LINK_IDLE),
	    [GW_LINK_UP] = B(GW_LINK_BACKOFF) | B(GW_LINK_IDLE),
	    [GW_LINK_BACKOFF] = B(GW_LINK_IDLE),
	};

	ASSERT(from < GW_LINK_STATES && to < GW_LINK_STATES);
	return next[from] & B(to);
#undef B
}

uint64_t
gw_backoff_us(const struct gw_peer_conf *c, unsigned failures, unsigned jitter)
{
	uint64_t step = c->backoff_min_us;

	ASSERT(jitter < 1000);
	for (unsigned i = 1; i < failures && step < c->backoff_max_us; i++)
		step *= 2;
	if (step > c->backoff_max_us)
		step = c->backoff_max_us;
	return step / 2 + step / 2 * jitter / 1000;
}

static void
link_move(struct gw_link *l, enum gw_link_state to)
{
	ASSERT(gw_link_may(l->state, to));
	if (to == GW_LINK_UP)
		metric_move(M_GW_LINKS_UP, 1);
	if (l->state == GW_LINK_UP)
		metric_move(M_GW_LINKS_UP, -1);
	l->state = to;
	ASSERT((to == GW_LINK_IDLE || to == GW_LINK_BACKOFF) == !l->conn);
}

void
gw_link_init(struct gw_link *l, struct gw_peer *p)
{
	l->magic = GW_LINK_MAGIC;
	l->peer = p;
	l->state = GW_LINK_IDLE;
	for (unsigned i = 0; i < GW_LINK_BUCKETS; i++)
		list_init(&l->sent[i]);
	list_init(&l->waiting);
}

/* ---- timers ---- */

static void link_timer_ev(void *arg);

static void
link_timer_in(struct gw_link *l, uint64_t us)
{
	struct world *w = l->peer->all->world;

	timer_set(w, &l->timer, world_mono_us(w) + us, link_timer_ev, l);
}

void
gw_link_watch(struct gw_link *l)
{
	ASSERT(l->state == GW_LINK_UP);
	l->heard_us = world_mono_us(l->peer->all->world);
	link_timer_in(l, l->peer->all->conf.ping_us);
}

static void
link_ping(struct gw_link *l)
{
	struct cl_ping ping = {world_mono_us(l->peer->all->world)};

	l->ping_request = ++l->next_request;
	gw_link_send(l, CL_MSG_PING, l->ping_request, &ping);
}

/* Requests wait and nothing was heard for a while: ask; then give up. */
static void
link_check_silence(struct gw_link *l)
{
	const struct gw_peer_conf *c = &l->peer->all->conf;
	uint64_t now = world_mono_us(l->peer->all->world);
	uint64_t silent = now - l->heard_us;

	if (!l->inflight)
		return;
	if (silent >= c->silence_us) {
		metric_inc(M_GW_LINKS_SILENT);
		gw_link_break(l, "accepts requests but does not answer");
		return;
	}
	if (silent >= c->ping_us && !l->ping_request)
		link_ping(l);
	link_timer_in(l, silent >= c->ping_us ? c->silence_us - silent
					      : c->ping_us - silent);
}

static void
link_timer_ev(void *arg)
{
	struct gw_link *l = TAKE(struct gw_link, arg, GW_LINK_MAGIC);

	if (l->state == GW_LINK_UP)
		link_check_silence(l);
	else if (l->state == GW_LINK_BACKOFF)
		link_move(l, GW_LINK_IDLE);
	else if (l->state != GW_LINK_IDLE)
		gw_link_break(l, "does not answer");
}

/* ---- going down ---- */

/* The connection is gone, or about to go. */
static void
link_down(struct gw_link *l, enum gw_link_state to, const char *why)
{
	struct world *w = l->peer->all->world;
	struct net_conn *conn = l->conn;

	/* Copied first: `why` may be a text of the connection. */
	(void)snprintf(l->why, sizeof l->why, "%s", why);
	l->conn = NULL;
	l->ping_request = 0;
	timer_clear(w, &l->timer);
	link_move(l, to);
	if (conn)
		net_close(w, conn);
	gw_call_end_all(l, l->why);
}

void
gw_link_break(struct gw_link *l, const char *why)
{
	struct gw_peers *all = l->peer->all;
	uint64_t pause;

	l->failures++;
	link_down(l, GW_LINK_BACKOFF, why);
	pause = gw_backoff_us(&all->conf, l->failures,
	    (unsigned)world_random_below(all->world, 1000));
	link_timer_in(l, pause);
	metric_inc(M_GW_LINKS_BROKEN);
	LOG(all->world, l->failures > 1 ? LOG_TRACE : LOG_WARN, "peer",
	    "broken", "addr=%s member=%u failures=%u pause_ms=%u why=\"%s\"",
	    l->peer->addr, l->peer->member, l->failures,
	    (unsigned)(pause / 1000), l->why);
}

void
gw_link_close(struct gw_link *l)
{
	if (l->state == GW_LINK_IDLE)
		return;
	link_down(l, GW_LINK_IDLE, "the gateway is stopping");
}

/* ---- coming up ---- */

void
gw_link_want(struct gw_link *l)
{
	struct gw_peers *all = l->peer->all;
	struct err *e;

	if (l->state != GW_LINK_IDLE)
		return;
	arena_reset(all->in);
	e = net_connect(
	    all->world, all->in, l->peer->addr, &link_events, l, &l->conn);
	if (e) {
		l->conn = NULL;
		gw_link_break(l, e->message);
		return;
	}
	link_move(l, GW_LINK_CONNECTING);
	link_timer_in(l, all->conf.greet_us);
}

void
gw_link_send(
    struct gw_link *l, uint16_t kind, uint64_t request, const void *msg)
{
	struct gw_peers *all = l->peer->all;
	uint64_t now = world_mono_us(all->world);
	struct cl_frame f = {.kind = kind,
	    .request = request,
	    .catalog = all->catalog,
	    .slots = all->catalog,
	    .stamp = gw_clock_now(&all->clock, now)};
	struct buf b;

	arena_reset(all->out);
	buf_init(&b, all->out);
	cl_frame_begin(&b, &f);
	cl_msg_encode(&b, kind, msg);
	cl_frame_end(&b);
	net_send(all->world, l->conn, buf_view(&b));
}

static void
link_opened_ev(void *owner)
{
	struct gw_link *l = TAKE(struct gw_link, owner, GW_LINK_MAGIC);
	struct gw_peers *all = l->peer->all;
	struct cl_hello h = {.role = CL_PEER_GATEWAY,
	    .id = all->id,
	    .incarnation = 1,
	    .format_min = CL_FORMAT,
	    .format_max = CL_FORMAT,
	    .level = CL_FEATURE_LEVEL};

	if (all->cluster_known)
		h.cluster = str_of(all->cluster, sizeof all->cluster);
	world_random(all->world, l->nonce, sizeof l->nonce);
	h.nonce = str_of(l->nonce, sizeof l->nonce);
	link_move(l, GW_LINK_GREETING);
	link_timer_in(l, all->conf.greet_us);
	gw_link_send(l, CL_MSG_HELLO, ++l->next_request, &h);
}

/* NULL, or why this welcome is not accepted. */
static const char *
welcome_refused(struct gw_link *l, const struct cl_welcome *m)
{
	struct gw_peers *all = l->peer->all;

	if (m->format != CL_FORMAT)
		return "speaks another frame format";
	if (m->nonce.len != CL_NONCE)
		return "sent a malformed welcome";
	if (!cl_proof_ok(all->conf.key, 's', l->nonce,
		(const uint8_t *)m->nonce.p, m->proof))
		return "does not know the cluster key";
	if (m->cluster.len != sizeof all->cluster)
		return "does not belong to a cluster yet";
	if (all->cluster_known &&
	    memcmp(all->cluster, m->cluster.p, sizeof all->cluster) != 0)
		return "belongs to another cluster";
	if (l->peer->expect && m->id != l->peer->expect)
		return "is another member than the catalog says";
	return NULL;
}

static void
link_welcome(struct gw_link *l, const struct cl_welcome *m)
{
	struct gw_peers *all = l->peer->all;
	const char *refused = welcome_refused(l, m);
	uint8_t mine[CL_PROOF];
	struct cl_prove prove;

	if (refused) {
		LOG(all->world, LOG_WARN, "peer", "refused",
		    "addr=%s member=%u why=\"%s\"", l->peer->addr, m->id,
		    refused);
		gw_link_break(l, refused);
		return;
	}
	memcpy(all->cluster, m->cluster.p, sizeof all->cluster);
	all->cluster_known = true;
	l->peer->member = m->id;
	cl_proof(
	    all->conf.key, 'c', l->nonce, (const uint8_t *)m->nonce.p, mine);
	prove.proof = str_of(mine, sizeof mine);
	link_move(l, GW_LINK_PROVING);
	link_timer_in(l, all->conf.greet_us);
	gw_link_send(l, CL_MSG_PROVE, ++l->next_request, &prove);
}

static void
link_up(struct gw_link *l)
{
	struct gw_peers *all = l->peer->all;

	link_move(l, GW_LINK_UP);
	timer_clear(all->world, &l->timer);
	l->failures = 0;
	l->why[0] = '\0';
	LOG(all->world, LOG_INFO, "peer", "up", "addr=%s member=%u",
	    l->peer->addr, l->peer->member);
	gw_link_pump(l);
}

static void
link_ready(struct gw_link *l)
{
	if (!l->failures) {
		link_up(l);
		return;
	}
	link_move(l, GW_LINK_PROBING);
	link_timer_in(l, l->peer->all->conf.greet_us);
	link_ping(l);
}

/* A frame of the handshake; anything but the one awaited breaks the link. */
static void
link_greet_frame(struct gw_link *l, const struct cl_frame *f)
{
	struct gw_peers *all = l->peer->all;
	void *m = NULL;
	struct err *e = cl_msg_decode(all->in, f->kind, f->body, &m);

	if (e) {
		gw_link_break(l, e->message);
		return;
	}
	if (f->kind == CL_MSG_FAIL) {
		const struct cl_fail *fail = m;

		gw_link_break(l, arena_cstr(all->in, fail->message));
	} else if (l->state == GW_LINK_GREETING && f->kind == CL_MSG_WELCOME) {
		link_welcome(l, m);
	} else if (l->state == GW_LINK_PROVING && f->kind == CL_MSG_READY) {
		link_ready(l);
	} else {
		gw_link_break(l, "broke the rules of the handshake");
	}
}

static void
link_pong(struct gw_link *l, const struct cl_frame *f)
{
	if (f->request != l->ping_request)
		return;
	l->ping_request = 0;
	if (l->state == GW_LINK_PROBING)
		link_up(l);
}

/* What every frame of a peer that proved itself tells. */
static void
link_note(struct gw_link *l, const struct cl_frame *f)
{
	struct gw_peers *all = l->peer->all;

	l->heard_us = world_mono_us(all->world);
	gw_clock_observe(&all->clock, f->stamp, l->heard_us);
	if (all->on_catalog)
		all->on_catalog(all->on_catalog_arg, f->catalog);
}

static void
link_frame_ev(void *owner, struct str frame)
{
	struct gw_link *l = TAKE(struct gw_link, owner, GW_LINK_MAGIC);
	struct gw_peers *all = l->peer->all;
	struct cl_frame f;
	struct err *e;

	arena_reset(all->in);
	e = cl_frame_read(all->in, frame, &f);
	if (e) {
		metric_inc(M_NET_REFUSED);
		gw_link_break(l, e->message);
		return;
	}
	if (l->state == GW_LINK_GREETING) {
		link_greet_frame(l, &f);
		return;
	}
	link_note(l, &f);
	/* A PONG may also be the answer to somebody's request. */
	if (f.kind == CL_MSG_PONG &&
	    (l->state != GW_LINK_UP || f.request == l->ping_request))
		link_pong(l, &f);
	else if (l->state == GW_LINK_UP)
		gw_call_answer(l, &f);
	else
		link_greet_frame(l, &f);
}

static void
link_closed_ev(void *owner, const char *why)
{
	struct gw_link *l = TAKE(struct gw_link, owner, GW_LINK_MAGIC);

	l->conn = NULL;
	gw_link_break(l, why);
}

static void
link_drained_ev(void *owner)
{
	gw_link_pump(TAKE(struct gw_link, owner, GW_LINK_MAGIC));
}

static const struct net_events link_events = {
    .opened = link_opened_ev,
    .frame = link_frame_ev,
    .closed = link_closed_ev,
    .drained = link_drained_ev,
};
