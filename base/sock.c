#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/real_int.h"

#define SOCK_MAGIC    0x534f434bu
#define READ_SIZE_MIN 4096u
#define READ_SIZE_MAX 65536u

static void
readable_ev(evutil_socket_t fd, short what, void *arg)
{
	struct sock *s = TAKE(struct sock, arg, SOCK_MAGIC);

	(void)fd, (void)what;
	s->readable(s->arg);
}

static void
writable_ev(evutil_socket_t fd, short what, void *arg)
{
	struct sock *s = TAKE(struct sock, arg, SOCK_MAGIC);

	(void)fd, (void)what;
	s->writing = false;
	s->writable(s->arg);
}

/* TCP_NODELAY, keepalive; nothing for unix sockets. */
static void
tune(int fd)
{
	static const struct {
		int level, name, value;
	} options[] = {
	    {IPPROTO_TCP, TCP_NODELAY, 1},
	    {SOL_SOCKET, SO_KEEPALIVE, 1},
	    {IPPROTO_TCP, TCP_KEEPIDLE, 10},
	    {IPPROTO_TCP, TCP_KEEPINTVL, 5},
	    {IPPROTO_TCP, TCP_KEEPCNT, 4},
	};

	/* A unix socket refuses some of them, which does not matter. */
	for (size_t i = 0; i < sizeof options / sizeof *options; i++)
		(void)setsockopt(fd, options[i].level, options[i].name,
		    &options[i].value, sizeof options[i].value);
}

void
sock_open(struct sock *s, struct world *w, int fd)
{
	struct event_base *base = world_real_base(w);

	ASSERT(s->magic == 0 && s->readable && s->writable);
	s->magic = SOCK_MAGIC;
	s->fd = fd;
	s->read_size = READ_SIZE_MIN;
	s->rd = event_new(base, fd, EV_READ | EV_PERSIST, readable_ev, s);
	s->wr = event_new(base, fd, EV_WRITE, writable_ev, s);
	s->in = evbuffer_new();
	s->out = evbuffer_new();
	ASSERT(s->rd && s->wr && s->in && s->out);
	evutil_make_socket_nonblocking(fd);
	tune(fd);
}

void
sock_stop(struct sock *s)
{
	if (s->fd < 0)
		return;
	event_free(s->rd);
	event_free(s->wr);
	close(s->fd);
	s->fd = -1;
	s->reading = s->writing = false;
}

void
sock_close(struct sock *s)
{
	if (s->magic != SOCK_MAGIC)
		return;
	sock_stop(s);
	evbuffer_free(s->in);
	evbuffer_free(s->out);
	s->magic = 0;
}

void
sock_reading(struct sock *s, bool on)
{
	if (s->reading == on)
		return;
	s->reading = on;
	if (on)
		ASSERT(event_add(s->rd, NULL) == 0);
	else
		event_del(s->rd);
}

static enum sock_result
failed(struct sock *s, int error)
{
	if (error == EAGAIN || error == EINTR)
		return SOCK_OK;
	s->error = error;
	return SOCK_ERROR;
}

enum sock_result
sock_fill(struct sock *s)
{
	struct evbuffer_iovec v[2];
	ssize_t got;
	size_t left;
	int n;

	n = evbuffer_reserve_space(s->in, (ev_ssize_t)s->read_size, v, 2);
	ASSERT(n > 0);
	got = readv(s->fd, v, n);
	if (got <= 0) {
		v[0].iov_len = 0;
		evbuffer_commit_space(s->in, v, 1);
		return got == 0 ? SOCK_EOF : failed(s, errno);
	}
	if ((size_t)got >= s->read_size && s->read_size < READ_SIZE_MAX)
		s->read_size *= 2;
	else if ((size_t)got < s->read_size / 4 && s->read_size > READ_SIZE_MIN)
		s->read_size /= 2;
	left = (size_t)got;
	for (int i = 0; i < n; i++) {
		if (v[i].iov_len > left)
			v[i].iov_len = left;
		left -= v[i].iov_len;
	}
	ASSERT(left == 0 && evbuffer_commit_space(s->in, v, n) == 0);
	return SOCK_OK;
}

enum sock_result
sock_flush(struct sock *s)
{
	if (s->writing)
		return SOCK_OK;
	while (evbuffer_get_length(s->out) > 0) {
		int n = evbuffer_write(s->out, s->fd);

		if (n > 0)
			continue;
		if (failed(s, errno) == SOCK_ERROR)
			return SOCK_ERROR;
		s->writing = true;
		ASSERT(event_add(s->wr, NULL) == 0);
		break;
	}
	return SOCK_OK;
}

size_t
sock_unsent(const struct sock *s)
{
	return evbuffer_get_length(s->out);
}
