#include "gateway/peer_int.h"

#include "base/metrics.h"

void
gw_peer_conf_defaults(struct gw_peer_conf *c)
{
	*c = (struct gw_peer_conf){
	    .greet_us = 1500000,
	    /* A hung leader's requests move on soon after its lease. */
	    .ping_us = 500000,
	    .silence_us = 1500000,
	    .backoff_min_us = 50000,
	    .backoff_max_us = 1000000,
	    .inflight_max = 1024,
	    .waiting_max = 65536,
	    .backlog_max = 8u << 20,
	};
}

struct gw_peers *
gw_peers_new(struct world *w, const struct gw_peer_conf *conf)
{
	struct arena *a = arena_new(w->arena, "peers");
	struct gw_peers *ps = NEW(a, struct gw_peers);

	ASSERT(conf->silence_us > conf->ping_us && conf->inflight_max > 0);
	ps->world = w;
	ps->arena = a;
	ps->in = arena_new(a, "frame in");
	ps->out = arena_new(a, "frame out");
	ps->conf = *conf;
	ps->conf.key = arena_str(a, conf->key);
	ps->by_addr = map_new(a);
	ps->id = (uint32_t)world_random_below(w, UINT32_MAX) + 1;
	return ps;
}

void
gw_peers_close(struct gw_peers *ps)
{
	size_t at = 0;
	struct str addr;
	void *v;

	while (map_next(ps->by_addr, &at, &addr, &v))
		for (struct gw_peer *p = v; p; p = p->next)
			for (int i = 0; i < GW_LANES; i++)
				gw_link_close(&p->links[i]);
}

/* A seed address is that of whoever is its newest member. Who must be one
 * member takes over the connections of a seed, unless another answered there.
 */
static struct gw_peer *
find_peer(struct gw_peer *first, uint32_t member)
{
	struct gw_peer *best = NULL;

	for (struct gw_peer *p = first; p; p = p->next) {
		if (member ? p->expect == member
			   : !best || p->expect > best->expect)
			best = p;
		else if (member && !best && !p->expect &&
			 (!p->member || p->member == member))
			best = p;
	}
	return best;
}

struct gw_peer *
gw_peers_at(struct gw_peers *ps, struct str addr, uint32_t member)
{
	struct gw_peer *first = map_get(ps->by_addr, addr);
	struct gw_peer *p = find_peer(first, member);

	if (!p) {
		p = NEW(ps->arena, struct gw_peer);
		p->all = ps;
		p->addr = arena_cstr(ps->arena, addr);
		p->next = first;
		for (int i = 0; i < GW_LANES; i++)
			gw_link_init(&p->links[i], p);
		map_put(ps->by_addr, addr, p);
	}
	if (member)
		p->expect = member;
	return p;
}

struct gw_peer *
gw_peers_member(
    struct gw_peers *ps, const struct cl_catalog *c, uint32_t member)
{
	const struct cl_object *o = cl_find(c, CL_MEMBER, member);

	return o ? gw_peers_at(ps, o->u.member.addr, member) : NULL;
}

struct gw_clock *
gw_peers_clock(struct gw_peers *ps)
{
	return &ps->clock;
}

void
gw_peers_set_catalog(struct gw_peers *ps, uint64_t version)
{
	ASSERT(version >= ps->catalog);
	ps->catalog = version;
}

void
gw_peers_on_catalog(
    struct gw_peers *ps, void (*fn)(void *arg, uint64_t version), void *arg)
{
	ps->on_catalog = fn;
	ps->on_catalog_arg = arg;
}

const char *
gw_peer_addr(const struct gw_peer *p)
{
	return p->addr;
}

uint32_t
gw_peer_member(const struct gw_peer *p)
{
	return p->member;
}

const char *
gw_peer_state(const struct gw_peer *p)
{
	switch (p->links[GW_LANE_SHORT].state) {
	case GW_LINK_IDLE:
		return "idle";
	case GW_LINK_UP:
		return "up";
	case GW_LINK_BACKOFF:
		return "backoff";
	case GW_LINK_CONNECTING:
	case GW_LINK_GREETING:
	case GW_LINK_PROVING:
	case GW_LINK_PROBING:
	case GW_LINK_STATES:
		break;
	}
	return "connecting";
}

const char *
gw_peer_why(const struct gw_peer *p)
{
	const char *why = p->links[GW_LANE_SHORT].why;

	return *why ? why : NULL;
}

/* ---- calls ---- */

/* What may be long, or wait long at the node, goes by the bulk link. */
static enum gw_lane
lane_of(uint16_t kind)
{
	switch (kind) {
	case CL_MSG_SCAN:
	case CL_MSG_SCAN_MORE:
	case CL_MSG_SCAN_INDEX:
	case CL_MSG_CATALOG_GET:
	case CL_MSG_COUNTS_GET:
		return GW_LANE_BULK;
	default:
		return GW_LANE_SHORT;
	}
}

bool
gw_peer_lost(struct gw_peer *p, uint16_t kind)
{
	struct gw_link *l = &p->links[lane_of(kind)];

	if (l->state == GW_LINK_UP || !l->failures)
		return false;
	gw_link_want(l);
	return true;
}

static struct list *
call_bucket(struct gw_link *l, uint64_t request)
{
	return &l->sent[request % GW_LINK_BUCKETS];
}

static void
call_end(struct gw_call *c, enum gw_result r, const char *why)
{
	ASSERT(c->state != GW_CALL_DONE);
	if (c->state == GW_CALL_WAITING)
		c->on->n_waiting--;
	if (c->state == GW_CALL_SENT)
		c->on->inflight--;
	list_del(&c->link);
	c->state = GW_CALL_DONE;
	c->result = r;
	c->why = why ? arena_strdup(c->arena, why) : NULL;
	if (r == GW_UNKNOWN)
		metric_inc(M_GW_CALLS_UNKNOWN);
	if (r == GW_NOT_SENT)
		metric_inc(M_GW_CALLS_NOT_SENT);
	cond_broadcast(c->wake);
}

void
gw_call_end_all(struct gw_link *l, const char *why)
{
	struct list *n;

	for (unsigned i = 0; i < GW_LINK_BUCKETS; i++) {
		while (!list_empty(&l->sent[i])) {
			n = l->sent[i].next;
			call_end(LIST_ENTRY(n, struct gw_call, link),
			    GW_UNKNOWN, why);
		}
	}
	while (!list_empty(&l->waiting)) {
		n = l->waiting.next;
		call_end(LIST_ENTRY(n, struct gw_call, link), GW_NOT_SENT, why);
	}
	ASSERT(l->inflight == 0 && l->n_waiting == 0);
}

static void
call_send(struct gw_link *l, struct gw_call *c)
{
	ASSERT(l->state == GW_LINK_UP && c->state == GW_CALL_WAITING);
	list_del(&c->link);
	l->n_waiting--;
	c->state = GW_CALL_SENT;
	c->request = ++l->next_request;
	list_push(call_bucket(l, c->request), &c->link);
	if (l->inflight++ == 0)
		gw_link_watch(l);
	metric_inc(M_GW_CALLS);
	gw_link_send(l, c->kind, c->request, c->msg);
}

void
gw_link_pump(struct gw_link *l)
{
	const struct gw_peers *all = l->peer->all;

	while (l->state == GW_LINK_UP && !list_empty(&l->waiting) &&
	       l->inflight < all->conf.inflight_max &&
	       net_backlog(all->world, l->conn) < all->conf.backlog_max)
		call_send(l, LIST_ENTRY(l->waiting.next, struct gw_call, link));
}

void
gw_call_begin(
    struct gw_peer *p, struct gw_call *c, uint16_t kind, const void *msg)
{
	struct gw_link *l = &p->links[lane_of(kind)];

	ASSERT(c->state == GW_CALL_NEW || c->state == GW_CALL_DONE);
	ASSERT(c->arena && c->wake);
	c->on = l;
	c->kind = kind;
	c->msg = msg;
	c->reply = NULL;
	c->failure = NULL;
	c->state = GW_CALL_NEW;
	if (l->state == GW_LINK_BACKOFF) {
		call_end(c, GW_NOT_SENT, l->why);
		return;
	}
	if (l->n_waiting >= p->all->conf.waiting_max) {
		call_end(c, GW_NOT_SENT, "too many requests wait for it");
		return;
	}
	c->state = GW_CALL_WAITING;
	list_push(&l->waiting, &c->link);
	l->n_waiting++;
	if (l->state == GW_LINK_UP)
		gw_link_pump(l);
	else
		gw_link_want(l);
}

static struct gw_call *
call_find(struct gw_link *l, uint64_t request)
{
	struct list *head = call_bucket(l, request);

	LIST_FOREACH(n, head)
	{
		struct gw_call *c = LIST_ENTRY(n, struct gw_call, link);

		if (c->request == request)
			return c;
	}
	return NULL;
}

void
gw_call_answer(struct gw_link *l, const struct cl_frame *f)
{
	struct gw_call *c = call_find(l, f->request);
	struct err *e;

	if (!c || !(f->flags & CL_FLAG_REPLY)) {
		metric_inc(M_GW_CALLS_LATE);
		return;
	}
	/* The frame lives in this turn only, the reply as long as its call. */
	e = cl_msg_decode(
	    c->arena, f->kind, arena_str(c->arena, f->body), &c->reply);
	if (e) {
		metric_inc(M_NET_REFUSED);
		gw_link_break(l, e->message);
		return;
	}
	c->reply_kind = f->kind;
	if (f->kind == CL_MSG_FAIL) {
		c->failure = c->reply;
		call_end(
		    c, GW_FAILED, arena_cstr(c->arena, c->failure->message));
	} else {
		call_end(c, GW_OK, NULL);
	}
	gw_link_pump(l);
}

void
gw_call_abandon(struct gw_call *c, const char *why)
{
	if (c->state == GW_CALL_WAITING)
		call_end(c, GW_NOT_SENT, why);
	else if (c->state == GW_CALL_SENT)
		call_end(c, GW_UNKNOWN, why);
}

enum gw_result
gw_call_wait(struct gw_call *c, uint64_t deadline_us)
{
	while (c->state != GW_CALL_DONE) {
		enum wake w = cond_wait(c->wake, deadline_us);

		if (c->state == GW_CALL_DONE)
			break;
		if (w == WAKE_DEADLINE)
			gw_call_abandon(c, "did not answer in time");
		else if (w == WAKE_CANCEL)
			gw_call_abandon(c, "the statement was cancelled");
	}
	return c->result;
}

enum gw_result
gw_call(struct gw_peer *p, const struct gw_call_opts *o, void **reply,
    const char **why)
{
	struct cond wake;
	struct gw_call c = {.arena = o->arena, .wake = &wake};
	enum gw_result r;

	*reply = NULL;
	*why = NULL;
	cond_init(&wake, p->all->world);
	gw_call_begin(p, &c, o->kind, o->msg);
	r = gw_call_wait(&c, o->deadline_us);
	*why = c.why;
	if (r == GW_OK && c.reply_kind != o->expect) {
		*why = "answered with a message of another kind";
		return GW_UNKNOWN;
	}
	*reply = c.reply;
	return r;
}
