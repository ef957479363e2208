#include "regress/sim/tunnel.h"

#include "base/buf.h"
#include "base/net.h"

/* Two fibers serve a tunnel: one moves bytes out of the process, one into it.
 * The one that ends last closes the inner stream. */

#define TUNNEL_MAGIC 0x54554e4eu
#define HEADER       16u
#define CHUNK        (32u << 10)
#define POLL_US      2000u
/* Arrived and not yet taken above which the connection is not read. */
#define IN_HIGH (256u << 10)

struct tunnel {
	uint32_t magic;
	struct world *world;
	struct arena *arena;
	struct net_conn *net; /* NULL once closed */
	bool open;
	struct stream *inner;
	struct fiber *sender; /* NULL once ended */
	bool receiver;
	struct buf in;
	bool paused;
	struct cond changed;
};

struct listener {
	struct world *world;
	void (*accept_ev)(void *owner, struct stream *s);
	void *owner;
};

static void
part(struct tunnel *t)
{
	if (t->sender || t->receiver)
		return;
	stream_close(t->inner);
	if (t->net)
		net_close(t->world, t->net);
	t->magic = 0;
	arena_free(t->arena);
}

/* ---- out of the process ---- */

static void
send_chunk(struct tunnel *t, struct str data)
{
	struct arena *a = arena_new(t->arena, "chunk");
	struct buf b;

	buf_init(&b, a);
	buf_le32(&b, (uint32_t)(HEADER + data.len));
	for (unsigned i = 4; i < HEADER; i += 4)
		buf_le32(&b, 0);
	buf_str(&b, data);
	net_send(t->world, t->net, buf_view(&b));
	arena_free(a);
}

static void
sender_fiber(void *arg)
{
	struct tunnel *t = TAKE(struct tunnel, arg, TUNNEL_MAGIC);
	struct str data;

	while (t->net &&
	       stream_peek(t->inner, 1, WORLD_FOREVER, &data) == STREAM_OK) {
		if (!t->net)
			break;
		if (net_backlog(t->world, t->net) > 0) {
			/* The kernel of this process has no more room. */
			(void)fiber_sleep(
			    t->world, world_mono_us(t->world) + POLL_US);
			continue;
		}
		if (data.len > CHUNK)
			data.len = CHUNK;
		send_chunk(t, data);
		stream_consume(t->inner, data.len);
	}
	/* The process closed its end. */
	if (t->net) {
		net_close(t->world, t->net);
		t->net = NULL;
	}
	t->sender = NULL;
	cond_broadcast(&t->changed);
	part(t);
}

/* ---- into the process ---- */

static void
receive_some(struct tunnel *t)
{
	struct arena *a = arena_new(t->arena, "received");
	struct str data = arena_str(a, buf_view(&t->in));

	t->in.len = 0;
	stream_write(t->inner, data);
	arena_free(a);
	if (t->paused && t->net) {
		t->paused = false;
		net_pause(t->world, t->net, false);
	}
	(void)stream_flush(t->inner, WORLD_FOREVER);
}

static void
receiver_fiber(void *arg)
{
	struct tunnel *t = TAKE(struct tunnel, arg, TUNNEL_MAGIC);

	for (;;) {
		if (t->in.len > 0 && t->sender)
			receive_some(t);
		else if (t->net && t->sender)
			(void)cond_wait(&t->changed, WORLD_FOREVER);
		else
			break;
	}
	if (t->sender)
		fiber_cancel(t->sender);
	t->receiver = false;
	part(t);
}

static void
opened_ev(void *owner)
{
	TAKE(struct tunnel, owner, TUNNEL_MAGIC)->open = true;
}

static void
frame_ev(void *owner, struct str frame)
{
	struct tunnel *t = TAKE(struct tunnel, owner, TUNNEL_MAGIC);

	buf_str(&t->in, str_skip(frame, HEADER));
	if (t->in.len > IN_HIGH && !t->paused) {
		t->paused = true;
		net_pause(t->world, t->net, true);
	}
	cond_broadcast(&t->changed);
}

static void
closed_ev(void *owner, const char *why)
{
	struct tunnel *t = TAKE(struct tunnel, owner, TUNNEL_MAGIC);

	(void)why;
	t->net = NULL;
	cond_broadcast(&t->changed);
}

static const struct net_events events = {
    .opened = opened_ev, .frame = frame_ev, .closed = closed_ev};

/* ---- both ends ---- */

static struct tunnel *
tunnel_new(struct world *w, struct stream **outer)
{
	struct arena *a = arena_new(w->arena, "tunnel");
	struct tunnel *t = NEW(a, struct tunnel);

	t->magic = TUNNEL_MAGIC;
	t->world = w;
	t->arena = a;
	t->receiver = true;
	buf_init(&t->in, a);
	cond_init(&t->changed, w);
	stream_pair(w, &t->inner, outer);
	return t;
}

static void
start(struct tunnel *t)
{
	t->sender = fiber_spawn(
	    t->world, "tunnel out", FIBER_STACK_NODE, sender_fiber, t);
	fiber_spawn(t->world, "tunnel in", FIBER_STACK_NODE, receiver_fiber, t);
}

static void
accept_ev(void *owner, struct net_conn *c)
{
	struct listener *l = owner;
	struct stream *outer;
	struct tunnel *t = tunnel_new(l->world, &outer);

	t->net = c;
	t->open = true;
	net_adopt(l->world, c, &events, t);
	start(t);
	l->accept_ev(l->owner, outer);
}

struct err *
sim_tunnel_listen(struct world *w, struct arena *a, const char *addr,
    void (*fn)(void *owner, struct stream *s), void *owner)
{
	struct listener *l = NEW(w->arena, struct listener);
	struct net_listener *n;

	l->world = w;
	l->accept_ev = fn;
	l->owner = owner;
	return net_listen(w, a, addr, accept_ev, l, &n);
}

struct stream *
sim_tunnel_connect(struct world *w, const char *addr)
{
	struct arena *a = arena_new(w->arena, "connect");
	struct stream *outer;
	struct tunnel *t = tunnel_new(w, &outer);
	struct err *e = net_connect(w, a, addr, &events, t, &t->net);

	ASSERT(!e);
	arena_free(a);
	start(t);
	return outer;
}
