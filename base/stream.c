#include "base/stream.h"

#include <event2/buffer.h>

#include "base/stream_int.h"

/* Unsent bytes above which a flush waits, and how far it waits. */
#define WRITE_HIGH (256u << 10)
#define WRITE_LOW  (WRITE_HIGH / 2)

void
stream_init(struct stream *s, struct world *w, struct arena *a,
    const struct stream_ops *ops)
{
	s->magic = STREAM_MAGIC;
	s->ops = ops;
	s->world = w;
	s->arena = a;
	s->want = STREAM_READ_AHEAD;
	s->peer = "";
	cond_init(&s->readable, w);
	cond_init(&s->writable, w);
}

void
stream_gone(struct stream *s, bool failed)
{
	s->eof = true;
	s->failed |= failed;
	cond_broadcast(&s->readable);
	if (failed)
		cond_broadcast(&s->writable);
}

bool
stream_room(const struct stream *s)
{
	return evbuffer_get_length(s->in) < s->want;
}

static enum stream_status
status_of(enum wake w)
{
	switch (w) {
	case WAKE_EVENT:
		return STREAM_OK;
	case WAKE_DEADLINE:
		return STREAM_DEADLINE;
	case WAKE_CANCEL:
		return STREAM_CANCEL;
	}
	UNREACHABLE();
}

/* Waits for at least `need` bytes in the buffer. */
static enum stream_status
fill(struct stream *s, size_t need, uint64_t deadline_us)
{
	enum stream_status r = STREAM_OK;

	ASSERT(s->magic == STREAM_MAGIC);
	s->want = need > STREAM_READ_AHEAD ? need : STREAM_READ_AHEAD;
	while (evbuffer_get_length(s->in) < need && r == STREAM_OK) {
		s->ops->refill(s);
		if (evbuffer_get_length(s->in) >= need)
			break;
		if (s->eof)
			return s->failed ? STREAM_ERROR : STREAM_EOF;
		r = status_of(cond_wait(&s->readable, deadline_us));
	}
	return r;
}

enum stream_status
stream_peek(
    struct stream *s, size_t need, uint64_t deadline_us, struct str *data)
{
	enum stream_status r;

	*data = STR_NONE;
	ASSERT(need <= STREAM_BUFFER_MAX);
	r = fill(s, need, deadline_us);
	if (r == STREAM_OK)
		*data = str_of(
		    evbuffer_pullup(s->in, -1), evbuffer_get_length(s->in));
	return r;
}

void
stream_consume(struct stream *s, size_t n)
{
	ASSERT(n <= evbuffer_get_length(s->in));
	evbuffer_drain(s->in, n);
	s->ops->refill(s);
}

size_t
stream_buffered(const struct stream *s)
{
	return evbuffer_get_length(s->in);
}

enum stream_status
stream_read(struct stream *s, void *p, size_t n, uint64_t deadline_us)
{
	char *to = p;

	while (n > 0) {
		enum stream_status r = fill(s, 1, deadline_us);
		int got;

		if (r != STREAM_OK)
			return r;
		got = evbuffer_remove(s->in, to, n);
		ASSERT(got > 0);
		to += got;
		n -= (size_t)got;
		s->ops->refill(s);
	}
	return STREAM_OK;
}

void
stream_write(struct stream *s, struct str data)
{
	ASSERT(s->magic == STREAM_MAGIC);
	/* Nobody will send it. */
	if (s->failed || data.len == 0)
		return;
	ASSERT(evbuffer_add(s->out, data.p, data.len) == 0);
}

enum stream_status
stream_flush(struct stream *s, uint64_t deadline_us)
{
	enum stream_status r = STREAM_OK;

	ASSERT(s->magic == STREAM_MAGIC);
	if (!s->failed)
		s->ops->push(s);
	if (!s->failed && evbuffer_get_length(s->out) > WRITE_HIGH)
		while (!s->failed && r == STREAM_OK &&
		       evbuffer_get_length(s->out) > WRITE_LOW)
			r = status_of(cond_wait(&s->writable, deadline_us));
	return s->failed ? STREAM_ERROR : r;
}

void
stream_close(struct stream *s)
{
	ASSERT(s->magic == STREAM_MAGIC);
	ASSERT(list_empty(&s->readable.waiters));
	ASSERT(list_empty(&s->writable.waiters));
	s->ops->close(s);
}

const char *
stream_peer(const struct stream *s)
{
	return s->peer;
}

bool
stream_peer_is_local(const struct stream *s)
{
	return s->local;
}
