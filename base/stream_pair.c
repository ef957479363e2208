#include <event2/buffer.h>

#include "base/stream_int.h"

struct half {
	struct stream s;
	struct half *other; /* NULL once that end was closed */
};

static struct half *
half_of(struct stream *s)
{
	return CONTAINER(s, struct half, s);
}

/* Moves what fits from one end to the other. */
static void
move(struct half *from, struct half *to)
{
	size_t left = evbuffer_get_length(from->s.out);
	size_t room = 0;

	if (stream_room(&to->s))
		room = to->s.want - evbuffer_get_length(to->s.in);
	if (left > room)
		left = room;
	if (left == 0)
		return;
	evbuffer_remove_buffer(from->s.out, to->s.in, left);
	cond_broadcast(&to->s.readable);
	cond_broadcast(&from->s.writable);
}

static void
pair_refill(struct stream *s)
{
	struct half *h = half_of(s);

	if (h->other)
		move(h->other, h);
}

static void
pair_push(struct stream *s)
{
	struct half *h = half_of(s);

	if (h->other)
		move(h, h->other);
	else if (evbuffer_get_length(s->out) > 0)
		stream_gone(s, true);
}

static void
release(void *arg)
{
	struct half *h = arg;

	if (h->other)
		h->other->other = NULL;
	h->other = NULL;
	evbuffer_free(h->s.in);
	evbuffer_free(h->s.out);
	h->s.magic = 0;
}

static void
reap(void *arg)
{
	arena_free(arg);
}

static void
pair_close(struct stream *s)
{
	struct half *h = half_of(s), *to = h->other;

	if (to) {
		/* What is queued still arrives, beyond any mark. */
		evbuffer_add_buffer(to->s.in, s->out);
		to->other = NULL;
		h->other = NULL;
		/* What waits there to be sent has nobody to read it. */
		stream_gone(&to->s, evbuffer_get_length(to->s.out) > 0);
	}
	world_post(s->world, reap, s->arena);
}

static const struct stream_ops pair_ops = {
    .refill = pair_refill,
    .push = pair_push,
    .close = pair_close,
};

static struct half *
half_new(struct world *w)
{
	struct arena *a = arena_new(w->arena, "stream");
	struct half *h = NEW(a, struct half);

	stream_init(&h->s, w, a, &pair_ops);
	h->s.in = evbuffer_new();
	h->s.out = evbuffer_new();
	ASSERT(h->s.in && h->s.out);
	h->s.peer = "pair";
	h->s.local = true;
	arena_cleanup(a, release, h);
	return h;
}

void
stream_pair(struct world *w, struct stream **a, struct stream **b)
{
	struct half *x = half_new(w), *y = half_new(w);

	x->other = y;
	y->other = x;
	*a = &x->s;
	*b = &y->s;
}
