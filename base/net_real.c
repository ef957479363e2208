#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/real_int.h"

/*      CONNECTING ------> OPEN
 *           |               |
 *           +----> DEAD <---+
 *
 * Dying closes the socket at once; the struct and its buffers go at a later
 * step of the loop, so that callbacks on the way here still find them, and a
 * frame stays readable in the call that closes its connection. */

#define CONN_MAGIC       0x434f4e4eu
#define NET_LIST_MAGIC   0x4e4c5354u
#define CONNECT_LIMIT_US 5000000u
/* Frames handed over before other sockets get their turn. */
#define FRAMES_PER_TURN 256

enum conn_state { CONN_CONNECTING, CONN_OPEN, CONN_DEAD };

struct net_conn {
	uint32_t magic;
	enum conn_state state;
	struct world *world;
	struct arena *arena;
	const struct net_events *ev;
	void *owner;
	const char *peer;
	struct sock sock;
	struct buf early; /* sent while connecting */
	bool paused;
	bool over;         /* the backlog was above the high mark */
	bool flush_posted; /* sends of one turn go out together */
	bool more_posted;
	/* connecting */
	struct lookup *lookup;
	struct addrs found;
	int next_addr;
	int fd; /* being connected, or -1 */
	struct event *connect_ev;
	struct timer limit;
	const char *why;
};

struct net_listener {
	uint32_t magic;
	struct world *world;
	struct arena *arena;
	struct listener *listener;
	void (*accept_ev)(void *owner, struct net_conn *c);
	void *owner;
};

/* ---- death ---- */

static void
stop_connecting(struct net_conn *c)
{
	if (c->lookup)
		addr_lookup_forget(c->lookup);
	c->lookup = NULL;
	if (c->connect_ev)
		event_free(c->connect_ev);
	c->connect_ev = NULL;
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	timer_clear(c->world, &c->limit);
}

static void
release(void *arg)
{
	struct net_conn *c = arg;

	stop_connecting(c);
	sock_close(&c->sock);
}

static void
reap(void *arg)
{
	struct net_conn *c = TAKE(struct net_conn, arg, CONN_MAGIC);

	ASSERT(c->state == CONN_DEAD);
	c->magic = 0;
	arena_free(c->arena);
}

static void
die(struct net_conn *c)
{
	ASSERT(c->state != CONN_DEAD);
	if (c->state == CONN_OPEN)
		sock_stop(&c->sock);
	else
		stop_connecting(c);
	c->state = CONN_DEAD;
	world_post(c->world, reap, c);
}

static void
lost(struct net_conn *c, const char *why)
{
	const struct net_events *ev = c->ev;

	die(c);
	if (ev)
		ev->closed(c->owner, why);
}

void
real_net_close(struct net_conn *c)
{
	ASSERT(c->magic == CONN_MAGIC);
	/* What was sent just before still gets its one chance. */
	if (c->state == CONN_OPEN)
		(void)sock_flush(&c->sock);
	die(c);
}

/* ---- frames in ---- */

/* The length of the next frame; 0 when there are not yet 4 bytes of it. */
static size_t
next_frame(struct net_conn *c)
{
	uint8_t head[4];

	if (evbuffer_copyout(c->sock.in, head, sizeof head) < 4)
		return 0;
	return (size_t)head[0] | (size_t)head[1] << 8 | (size_t)head[2] << 16 |
	       (size_t)head[3] << 24;
}

static void more_ev(void *arg);

static void
hand_over(struct net_conn *c, size_t len)
{
	const char *p = (char *)evbuffer_pullup(c->sock.in, (ev_ssize_t)len);

	ASSERT(p);
	metric_inc(M_NET_FRAMES_IN);
	metric_add(M_NET_BYTES_IN, len);
	c->ev->frame(c->owner, str_of(p, len));
	if (c->state == CONN_OPEN)
		evbuffer_drain(c->sock.in, len);
}

/* False when the connection died. */
static bool
take_frames(struct net_conn *c, int max)
{
	while (c->state == CONN_OPEN && !c->paused && c->ev) {
		size_t len = next_frame(c);

		if (len == 0 && evbuffer_get_length(c->sock.in) < 4)
			break;
		if (len < NET_FRAME_MIN || len > NET_FRAME_MAX) {
			metric_inc(M_NET_REFUSED);
			LOG(c->world, LOG_WARN, "net", "frame-refused",
			    "peer=%s length=%zu", c->peer, len);
			lost(c, "malformed frame");
			return false;
		}
		if (evbuffer_get_length(c->sock.in) < len)
			break;
		if (max-- == 0) {
			if (!c->more_posted)
				world_post(c->world, more_ev, c);
			c->more_posted = true;
			break;
		}
		hand_over(c, len);
	}
	return c->state == CONN_OPEN;
}

static void
update_reading(struct net_conn *c)
{
	sock_reading(&c->sock, !c->paused && !c->more_posted && c->ev);
}

static void
more_ev(void *arg)
{
	struct net_conn *c = TAKE(struct net_conn, arg, CONN_MAGIC);

	c->more_posted = false;
	if (take_frames(c, FRAMES_PER_TURN))
		update_reading(c);
}

static void
readable(void *arg)
{
	struct net_conn *c = TAKE(struct net_conn, arg, CONN_MAGIC);
	enum sock_result r = sock_fill(&c->sock);

	if (!take_frames(c, r == SOCK_OK ? FRAMES_PER_TURN : INT32_MAX))
		return;
	if (r == SOCK_EOF)
		lost(c, "closed by peer");
	else if (r == SOCK_ERROR)
		lost(c, strerror(c->sock.error));
	else
		update_reading(c);
}

void
real_net_pause(struct net_conn *c, bool paused)
{
	ASSERT(c->magic == CONN_MAGIC && c->state != CONN_DEAD);
	if (c->paused == paused)
		return;
	c->paused = paused;
	if (c->state != CONN_OPEN)
		return;
	/* Frames may be waiting in the buffer. */
	if (!paused && !c->more_posted) {
		c->more_posted = true;
		world_post(c->world, more_ev, c);
	}
	update_reading(c);
}

/* ---- frames out ---- */

size_t
real_net_backlog(const struct net_conn *c)
{
	ASSERT(c->magic == CONN_MAGIC);
	if (c->state == CONN_CONNECTING)
		return c->early.len;
	return c->state == CONN_OPEN ? sock_unsent(&c->sock) : 0;
}

static void
flush(struct net_conn *c)
{
	if (sock_flush(&c->sock) == SOCK_ERROR) {
		lost(c, strerror(c->sock.error));
		return;
	}
	if (c->over && sock_unsent(&c->sock) < NET_BACKLOG_HIGH / 2) {
		c->over = false;
		if (c->ev && c->ev->drained)
			c->ev->drained(c->owner);
	}
}

static void
writable(void *arg)
{
	flush(TAKE(struct net_conn, arg, CONN_MAGIC));
}

static void
flush_ev(void *arg)
{
	struct net_conn *c = TAKE(struct net_conn, arg, CONN_MAGIC);

	c->flush_posted = false;
	if (c->state == CONN_OPEN)
		flush(c);
}

static void
post_flush(struct net_conn *c)
{
	if (c->flush_posted)
		return;
	c->flush_posted = true;
	world_post(c->world, flush_ev, c);
}

void
real_net_send(struct net_conn *c, struct str frame)
{
	ASSERT(c->magic == CONN_MAGIC && c->state != CONN_DEAD);
	metric_inc(M_NET_FRAMES_OUT);
	metric_add(M_NET_BYTES_OUT, frame.len);
	if (c->state == CONN_CONNECTING) {
		buf_str(&c->early, frame);
	} else {
		ASSERT(evbuffer_add(c->sock.out, frame.p, frame.len) == 0);
		post_flush(c);
	}
	if (real_net_backlog(c) > NET_BACKLOG_HIGH)
		c->over = true;
}

/* ---- birth ---- */

static struct net_conn *
conn_new(struct world *w)
{
	struct arena *a = arena_new(w->arena, "connection");
	struct net_conn *c = NEW(a, struct net_conn);

	c->magic = CONN_MAGIC;
	c->world = w;
	c->arena = a;
	c->fd = -1;
	c->peer = "";
	buf_init(&c->early, a);
	arena_cleanup(a, release, c);
	return c;
}

static void
take_socket(struct net_conn *c, int fd)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof ss;

	c->state = CONN_OPEN;
	c->sock.readable = readable;
	c->sock.writable = writable;
	c->sock.arg = c;
	sock_open(&c->sock, c->world, fd);
	if (getpeername(fd, (struct sockaddr *)&ss, &len) == 0 && !*c->peer)
		c->peer = addr_text(c->arena, (struct sockaddr *)&ss, len);
}

static void
accepted(void *arg, int fd)
{
	struct net_listener *l = TAKE(struct net_listener, arg, NET_LIST_MAGIC);
	struct net_conn *c = conn_new(l->world);

	take_socket(c, fd);
	l->accept_ev(l->owner, c);
	/* Nobody wanted it. */
	if (c->state == CONN_OPEN && !c->ev)
		die(c);
}

void
real_net_adopt(struct net_conn *c, const struct net_events *ev, void *owner)
{
	ASSERT(c->magic == CONN_MAGIC && c->state == CONN_OPEN && !c->ev);
	c->ev = ev;
	c->owner = owner;
	update_reading(c);
}

struct err *
real_net_listen(struct world *w, struct arena *a, const char *addr,
    void (*accept_ev)(void *owner, struct net_conn *c), void *owner,
    struct net_listener **out)
{
	struct arena *own = arena_new(w->arena, "net listener");
	struct net_listener *l = NEW(own, struct net_listener);
	struct err *e;

	l->magic = NET_LIST_MAGIC;
	l->world = w;
	l->arena = own;
	l->accept_ev = accept_ev;
	l->owner = owner;
	e = listener_open(w, a, addr, accepted, l, &l->listener);
	if (e) {
		arena_free(own);
		return e;
	}
	*out = l;
	return NULL;
}

static void
reap_listener(void *arg)
{
	arena_free(arg);
}

void
real_net_unlisten(struct net_listener *l)
{
	ASSERT(l->magic == NET_LIST_MAGIC);
	listener_close(l->listener);
	l->magic = 0;
	world_post(l->world, reap_listener, l->arena);
}

/* ---- connecting ---- */

static void try_next(struct net_conn *c);

static void
opened(struct net_conn *c)
{
	int fd = c->fd;

	c->fd = -1;
	stop_connecting(c);
	take_socket(c, fd);
	if (c->early.len > 0) {
		evbuffer_add(c->sock.out, c->early.p, c->early.len);
		post_flush(c);
	}
	update_reading(c);
	c->ev->opened(c->owner);
}

static void
connect_ev(evutil_socket_t fd, short what, void *arg)
{
	struct net_conn *c = TAKE(struct net_conn, arg, CONN_MAGIC);
	socklen_t len = sizeof(int);
	int error = 0;

	(void)what;
	if (getsockopt((int)fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0)
		error = errno;
	if (error == 0) {
		opened(c);
		return;
	}
	c->why = strerror(error);
	try_next(c);
}

static void
limit_ev(void *arg)
{
	struct net_conn *c = TAKE(struct net_conn, arg, CONN_MAGIC);

	lost(c, "connect timed out");
}

/* False with c->why when this address failed at once. */
static bool
start_connect(struct net_conn *c, const struct addr *to)
{
	c->fd = socket(
	    to->ss.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (c->fd >= 0 &&
	    (connect(c->fd, (const struct sockaddr *)&to->ss, to->len) == 0 ||
		errno == EINPROGRESS)) {
		c->connect_ev = event_new(
		    world_real_base(c->world), c->fd, EV_WRITE, connect_ev, c);
		ASSERT(c->connect_ev && event_add(c->connect_ev, NULL) == 0);
		return true;
	}
	c->why = strerror(errno);
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	return false;
}

static void
try_next(struct net_conn *c)
{
	if (c->connect_ev)
		event_free(c->connect_ev);
	c->connect_ev = NULL;
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	while (c->next_addr < c->found.n)
		if (start_connect(c, &c->found.v[c->next_addr++]))
			return;
	lost(c, c->why ? c->why : "no address");
}

static void
try_first_ev(void *arg)
{
	struct net_conn *c = TAKE(struct net_conn, arg, CONN_MAGIC);

	if (c->state == CONN_CONNECTING)
		try_next(c);
}

static void
looked_up(void *arg, const struct addrs *found, const char *why)
{
	struct net_conn *c = TAKE(struct net_conn, arg, CONN_MAGIC);

	c->lookup = NULL;
	c->found = *found;
	c->why = why;
	try_next(c);
}

struct err *
real_net_connect(struct world *w, struct arena *a, const char *addr,
    const struct net_events *ev, void *owner, struct net_conn **out)
{
	struct net_conn *c = conn_new(w);

	(void)a; /* what can go wrong is told later, by closed */
	c->state = CONN_CONNECTING;
	c->ev = ev;
	c->owner = owner;
	c->peer = arena_strdup(c->arena, addr);
	if (addr_parse(addr, &c->found.v[0])) {
		c->found.n = 1;
		world_post(w, try_first_ev, c);
	} else {
		c->lookup = addr_lookup(w, addr, looked_up, c);
	}
	timer_set(
	    w, &c->limit, world_mono_us(w) + CONNECT_LIMIT_US, limit_ev, c);
	*out = c;
	return NULL;
}

const char *
real_net_peer(const struct net_conn *c)
{
	ASSERT(c->magic == CONN_MAGIC);
	return c->peer;
}
