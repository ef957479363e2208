/* Inside of the real world: addresses, sockets, listeners.  Everything belongs
 * to the loop's thread, except where said. */
#ifndef BASE_REAL_INT_H
#define BASE_REAL_INT_H

#include <sys/socket.h>

#include "base/net.h"
#include "base/world_real.h"

#define REAL_WORLD_MAGIC 0x5245414cu

struct event;
struct evbuffer;

/* ---- addresses (addr.c) ---- */

#define ADDRS_MAX 8

struct addr {
	struct sockaddr_storage ss;
	socklen_t len;
};

struct addrs {
	int n;
	struct addr v[ADDRS_MAX];
};

/* "unix:/path", "1.2.3.4:5" or "[::1]:5". */
bool addr_parse(const char *text, struct addr *out);
/* Also names, by asking the resolver, which may block: for start-up. */
struct err *addr_resolve(struct arena *a, const char *text, struct addrs *out);
/* "host:port" or "[host]:port" into its parts; NULL, or why not. */
#define ADDR_HOST_MAX 256
const char *addr_split(
    const char *text, char host[ADDR_HOST_MAX], const char **port);
/* As text, in `a`. */
const char *addr_text(
    struct arena *a, const struct sockaddr *sa, socklen_t len);
bool addr_is_local(const struct sockaddr *sa);

/* Asks the resolver on a thread of its own; done runs later on the loop, with
 * why NULL when found has at least one. */
struct lookup;
struct lookup *addr_lookup(struct world *w, const char *text,
    void (*done)(void *arg, const struct addrs *found, const char *why),
    void *arg);
/* done will not be called. */
void addr_lookup_forget(struct lookup *l);
/* Of one world. The arena outlives the world's, whose cleanups may still
 * forget a lookup. */
struct lookups {
	struct list running;
	struct arena *arena;
};
struct lookups *real_lookups(struct world *w);
/* Waits for their threads, when the world ends. */
void addr_lookups_join(struct lookups *all);

/* ---- sockets (sock.c) ---- */

/* A connected socket with a buffer each way.  Plain events and evbuffers: the
 * bufferevents of libevent 2.1 read at most 4 KiB a time, with two system
 * calls, and write only from the loop. */
struct sock {
	uint32_t magic;
	int fd;
	int error; /* errno of the first failure */
	struct event *rd;
	struct event *wr;
	struct evbuffer *in;
	struct evbuffer *out;
	size_t read_size; /* adapts to what arrives */
	bool reading;
	bool writing; /* waiting to be writable */
	/* Called from the loop; each may close the sock. */
	void (*readable)(void *arg);
	void (*writable)(void *arg);
	void *arg;
};

enum sock_result { SOCK_OK, SOCK_EOF, SOCK_ERROR };

/* Takes the descriptor over; not reading yet. The callbacks and arg are set by
 * the caller before. */
void sock_open(struct sock *s, struct world *w, int fd);
/* Closes the descriptor; what is buffered stays readable. */
void sock_stop(struct sock *s);
/* Everything. Idempotent; zeroed counts as closed. */
void sock_close(struct sock *s);
void sock_reading(struct sock *s, bool on);
/* One read of what is there. */
enum sock_result sock_fill(struct sock *s);
/* Writes what the system takes; asks for `writable` if not all. */
enum sock_result sock_flush(struct sock *s);
size_t sock_unsent(const struct sock *s);

/* ---- listeners (listener.c) ---- */

struct listener;
/* accept_ev gets a non-blocking descriptor, which it owns. */
struct err *listener_open(struct world *w, struct arena *a, const char *addr,
    void (*accept_ev)(void *arg, int fd), void *arg, struct listener **out);
void listener_close(struct listener *l);

/* ---- frames (net_real.c) ---- */

struct err *real_net_connect(struct world *w, struct arena *a, const char *addr,
    const struct net_events *ev, void *owner, struct net_conn **out);
struct err *real_net_listen(struct world *w, struct arena *a, const char *addr,
    void (*accept_ev)(void *owner, struct net_conn *c), void *owner,
    struct net_listener **out);
void real_net_unlisten(struct net_listener *l);
void real_net_adopt(
    struct net_conn *c, const struct net_events *ev, void *owner);
void real_net_send(struct net_conn *c, struct str frame);
size_t real_net_backlog(const struct net_conn *c);
void real_net_pause(struct net_conn *c, bool paused);
void real_net_close(struct net_conn *c);
const char *real_net_peer(const struct net_conn *c);

#endif
