/* Byte streams to SQL clients and HTTP peers, for fibers: reads and writes look
 * blocking, with deadline and cancel.  The real stream is a socket; the
 * simulator and unit tests use a pair in memory. */
#ifndef BASE_STREAM_H
#define BASE_STREAM_H

#include "base/fiber.h"

struct stream;
struct stream_listener;

enum stream_status {
	STREAM_OK,
	STREAM_EOF, /* the peer closed, at a read boundary or not */
	STREAM_ERROR,
	STREAM_DEADLINE,
	STREAM_CANCEL
};

/* Waits until at least `need` bytes are buffered (need <= STREAM_BUFFER_MAX);
 * then *data is all that is buffered, valid until the next call. Consumes
 * nothing. */
#define STREAM_BUFFER_MAX (1u << 20)
enum stream_status stream_peek(
    struct stream *s, size_t need, uint64_t deadline_us, struct str *data);
void stream_consume(struct stream *s, size_t n);
/* Bytes buffered now, without waiting. */
size_t stream_buffered(const struct stream *s);
/* Exactly n bytes of any size into p. */
enum stream_status stream_read(
    struct stream *s, void *p, size_t n, uint64_t deadline_us);
/* Queues the bytes (copied). */
void stream_write(struct stream *s, struct str data);
/* Starts sending what is queued and waits while more than the high mark (256
 * KiB) is unsent: the client's back-pressure. */
enum stream_status stream_flush(struct stream *s, uint64_t deadline_us);
/* Sends what is queued, then closes; the handle dies. */
void stream_close(struct stream *s);
const char *stream_peer(const struct stream *s);
bool stream_peer_is_local(const struct stream *s); /* loopback or unix */

/* Real: accepts on host:port or unix:/path. accept_ev runs on the loop and
 * usually spawns a fiber. */
struct err *stream_listen(struct world *w, struct arena *a, const char *addr,
    void (*accept_ev)(void *owner, struct stream *s), void *owner,
    struct stream_listener **out);
/* The same, for a program that hands connections to other threads: accept_fd
 * owns the descriptor, which stream_of_fd takes on the thread that serves it.
 */
struct err *stream_listen_fd(struct world *w, struct arena *a, const char *addr,
    void (*accept_fd)(void *owner, int fd), void *owner,
    struct stream_listener **out);
void stream_unlisten(struct stream_listener *l);
/* Real: takes over a connected socket (a worker thread's share). */
struct stream *stream_of_fd(struct world *w, int fd);
/* Two ends of one in-memory stream; either world. */
void stream_pair(struct world *w, struct stream **a, struct stream **b);

#endif
