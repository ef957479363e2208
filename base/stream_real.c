#include <event2/buffer.h>
#include <sys/socket.h>

#include "base/real_int.h"
#include "base/stream_int.h"

#define STREAM_LIST_MAGIC 0x534c5354u
/* How long a closed stream may take to send the rest and to hear the peer
 * close: closing at once would reset a connection with unread input, and the
 * last message, why we close, would be lost with it. */
#define LINGER_US 2000000u

struct real_stream {
	struct stream s;
	struct sock sock;
	bool closing;
	bool said_end; /* our end of file is sent */
	struct timer linger;
};

struct stream_listener {
	uint32_t magic;
	struct world *world;
	struct arena *arena;
	struct listener *listener;
	void (*accept_ev)(void *owner, struct stream *s);
	void (*accept_fd)(void *owner, int fd);
	void *owner;
};

static struct real_stream *
real_of(struct stream *s)
{
	return CONTAINER(s, struct real_stream, s);
}

static void
release(void *arg)
{
	struct real_stream *r = arg;

	timer_clear(r->s.world, &r->linger);
	sock_close(&r->sock);
	r->s.magic = 0;
}

static void
reap(void *arg)
{
	arena_free(arg);
}

static void
die(struct real_stream *r)
{
	timer_clear(r->s.world, &r->linger);
	sock_stop(&r->sock);
	world_post(r->s.world, reap, r->s.arena);
}

/* Closing, in as many calls as it takes. */
static void
close_step(struct real_stream *r)
{
	if (!r->s.failed && sock_unsent(&r->sock) > 0)
		return;
	if (r->s.failed || r->s.eof) {
		die(r);
		return;
	}
	if (!r->said_end) {
		r->said_end = true;
		shutdown(r->sock.fd, SHUT_WR);
	}
	sock_reading(&r->sock, true);
}

static void
linger_ev(void *arg)
{
	die(arg);
}

/* ---- the socket's callbacks ---- */

static void
readable(void *arg)
{
	struct stream *s = TAKE(struct stream, arg, STREAM_MAGIC);
	struct real_stream *r = real_of(s);
	enum sock_result got = sock_fill(&r->sock);

	if (got != SOCK_OK) {
		sock_reading(&r->sock, false);
		stream_gone(s, got == SOCK_ERROR);
	}
	if (r->closing) {
		evbuffer_drain(s->in, evbuffer_get_length(s->in));
		close_step(r);
		return;
	}
	if (!stream_room(s))
		sock_reading(&r->sock, false);
	cond_broadcast(&s->readable);
}

static void
push(struct stream *s)
{
	struct real_stream *r = real_of(s);

	if (sock_flush(&r->sock) == SOCK_ERROR) {
		sock_reading(&r->sock, false);
		stream_gone(s, true);
	}
}

static void
writable(void *arg)
{
	struct stream *s = TAKE(struct stream, arg, STREAM_MAGIC);

	push(s);
	if (real_of(s)->closing)
		close_step(real_of(s));
	else
		cond_broadcast(&s->writable);
}

static void
refill(struct stream *s)
{
	if (!s->eof && stream_room(s))
		sock_reading(&real_of(s)->sock, true);
}

static void
real_close(struct stream *s)
{
	struct real_stream *r = real_of(s);

	ASSERT(!r->closing);
	r->closing = true;
	sock_reading(&r->sock, false);
	if (!s->failed)
		push(s);
	timer_set(s->world, &r->linger, world_mono_us(s->world) + LINGER_US,
	    linger_ev, r);
	close_step(r);
}

static const struct stream_ops real_ops = {
    .refill = refill,
    .push = push,
    .close = real_close,
};

/* ---- birth ---- */

struct stream *
stream_of_fd(struct world *w, int fd)
{
	struct arena *a = arena_new(w->arena, "stream");
	struct real_stream *r = NEW(a, struct real_stream);
	struct sockaddr_storage ss;
	socklen_t len = sizeof ss;

	stream_init(&r->s, w, a, &real_ops);
	r->sock.readable = readable;
	r->sock.writable = writable;
	r->sock.arg = &r->s;
	sock_open(&r->sock, w, fd);
	r->s.in = r->sock.in;
	r->s.out = r->sock.out;
	if (getpeername(fd, (struct sockaddr *)&ss, &len) == 0) {
		r->s.peer = addr_text(a, (struct sockaddr *)&ss, len);
		r->s.local = addr_is_local((struct sockaddr *)&ss);
	}
	arena_cleanup(a, release, r);
	sock_reading(&r->sock, true);
	return &r->s;
}

static void
accepted(void *arg, int fd)
{
	struct stream_listener *l =
	    TAKE(struct stream_listener, arg, STREAM_LIST_MAGIC);

	if (l->accept_fd)
		l->accept_fd(l->owner, fd);
	else
		l->accept_ev(l->owner, stream_of_fd(l->world, fd));
}

static struct err *
listen_on(struct world *w, struct arena *a, const char *addr,
    const struct stream_listener *how, struct stream_listener **out)
{
	struct arena *own = arena_new(w->arena, "stream listener");
	struct stream_listener *l = NEW(own, struct stream_listener);
	struct err *e;

	*out = NULL;
	*l = *how;
	l->magic = STREAM_LIST_MAGIC;
	l->world = w;
	l->arena = own;
	e = listener_open(w, a, addr, accepted, l, &l->listener);
	if (e)
		arena_free(own);
	else
		*out = l;
	return e;
}

struct err *
stream_listen(struct world *w, struct arena *a, const char *addr,
    void (*accept_ev)(void *owner, struct stream *s), void *owner,
    struct stream_listener **out)
{
	struct stream_listener how = {.accept_ev = accept_ev, .owner = owner};

	ASSERT(accept_ev);
	return listen_on(w, a, addr, &how, out);
}

struct err *
stream_listen_fd(struct world *w, struct arena *a, const char *addr,
    void (*accept_fd)(void *owner, int fd), void *owner,
    struct stream_listener **out)
{
	struct stream_listener how = {.accept_fd = accept_fd, .owner = owner};

	ASSERT(accept_fd);
	return listen_on(w, a, addr, &how, out);
}

void
stream_unlisten(struct stream_listener *l)
{
	ASSERT(l->magic == STREAM_LIST_MAGIC);
	listener_close(l->listener);
	l->magic = 0;
	world_post(l->world, reap, l->arena);
}
