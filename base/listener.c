#include <errno.h>
#include <event2/listener.h>
#include <event2/util.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "base/real_int.h"

#define LISTENER_MAGIC 0x4c495354u
#define BACKLOG        1024
/* After an accept failed, most likely for want of descriptors. */
#define PAUSE_US 100000u

struct listener {
	uint32_t magic;
	struct world *world;
	struct arena *arena;
	struct evconnlistener *ev;
	struct timer resume;
	const char *path; /* of a unix socket: removed at the end */
	void (*accept_ev)(void *arg, int fd);
	void *arg;
};

static void
accepted_ev(struct evconnlistener *ev, evutil_socket_t fd, struct sockaddr *sa,
    int len, void *arg)
{
	struct listener *l = TAKE(struct listener, arg, LISTENER_MAGIC);

	(void)ev, (void)sa, (void)len;
	l->accept_ev(l->arg, (int)fd);
}

static void
resume_ev(void *arg)
{
	struct listener *l = TAKE(struct listener, arg, LISTENER_MAGIC);

	evconnlistener_enable(l->ev);
}

static void
error_ev(struct evconnlistener *ev, void *arg)
{
	struct listener *l = TAKE(struct listener, arg, LISTENER_MAGIC);
	int error = errno;

	LOG(l->world, LOG_WARN, "net", "accept-failed", "why=\"%s\"",
	    strerror(error));
	evconnlistener_disable(ev);
	timer_set(l->world, &l->resume, world_mono_us(l->world) + PAUSE_US,
	    resume_ev, l);
}

static void
release(void *arg)
{
	struct listener *l = arg;

	if (l->magic != LISTENER_MAGIC)
		return;
	l->magic = 0;
	timer_clear(l->world, &l->resume);
	evconnlistener_free(l->ev);
	if (l->path)
		unlink(l->path);
}

/* A socket file that nobody answers on is left over from a crash. */
static void
remove_stale(const struct sockaddr_un *un)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return;
	if (connect(fd, (const struct sockaddr *)un, sizeof *un) != 0 &&
	    errno == ECONNREFUSED)
		unlink(un->sun_path);
	close(fd);
}

static struct err *
bind_failed(struct arena *a, const char *addr, int error)
{
	if (error == EADDRINUSE)
		return err_hint(ERR(a, ERRCODE_OBJECT_IN_USE,
				    "could not listen on \"%s\": "
				    "address already in use",
				    addr),
		    "Another server runs there; stop it or choose another "
		    "port.");
	return ERR(a, ERRCODE_SYSTEM_ERROR, "could not listen on \"%s\": %s",
	    addr, strerror(error));
}

struct err *
listener_open(struct world *w, struct arena *a, const char *addr,
    void (*accept_ev)(void *arg, int fd), void *arg, struct listener **out)
{
	struct arena *own;
	struct listener *l;
	struct addrs at;

	*out = NULL;
	TRY(addr_resolve(a, addr, &at));
	if (at.v[0].ss.ss_family == AF_UNIX)
		remove_stale((struct sockaddr_un *)(void *)&at.v[0].ss);
	own = arena_new(w->arena, "listener");
	l = NEW(own, struct listener);
	l->world = w;
	l->arena = own;
	l->accept_ev = accept_ev;
	l->arg = arg;
	l->ev = evconnlistener_new_bind(world_real_base(w), accepted_ev, l,
	    LEV_OPT_REUSEABLE | LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC,
	    BACKLOG, (struct sockaddr *)&at.v[0].ss, (int)at.v[0].len);
	if (!l->ev) {
		struct err *e = bind_failed(a, addr, errno);

		arena_free(own);
		return e;
	}
	l->magic = LISTENER_MAGIC;
	evconnlistener_set_error_cb(l->ev, error_ev);
	if (at.v[0].ss.ss_family == AF_UNIX)
		l->path = arena_strdup(own, addr + strlen("unix:"));
	arena_cleanup(own, release, l);
	*out = l;
	return NULL;
}

static void
reap(void *arg)
{
	arena_free(arg);
}

void
listener_close(struct listener *l)
{
	ASSERT(l->magic == LISTENER_MAGIC);
	release(l);
	/* It may be closed from its own accept_ev. */
	world_post(l->world, reap, l->arena);
}
