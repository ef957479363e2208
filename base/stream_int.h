/* Inside of streams: stream.c is what both kinds share, stream_real.c sockets,
 * stream_pair.c memory. */
#ifndef BASE_STREAM_INT_H
#define BASE_STREAM_INT_H

#include "base/stream.h"

#define STREAM_MAGIC 0x5354524du
/* Buffered ahead of who reads, unless a peek needs more. */
#define STREAM_READ_AHEAD 65536u

struct evbuffer;

struct stream_ops {
	/* There is room in `in` (up to `want`), or `want` rose. */
	void (*refill)(struct stream *s);
	/* Sends what it can of `out`. */
	void (*push)(struct stream *s);
	void (*close)(struct stream *s);
};

struct stream {
	uint32_t magic;
	const struct stream_ops *ops;
	struct world *world;
	struct arena *arena;
	struct evbuffer *in;
	struct evbuffer *out;
	size_t want; /* high mark of `in` */
	struct cond readable;
	struct cond writable;
	const char *peer;
	bool local;
	bool eof;
	bool failed;
};

/* Fills in what both kinds need; `in` and `out` are the caller's. */
void stream_init(struct stream *s, struct world *w, struct arena *a,
    const struct stream_ops *ops);
/* The peer is gone, by its end of file or by an error. */
void stream_gone(struct stream *s, bool failed);
bool stream_room(const struct stream *s);

#endif
