#include "gateway/server.h"

#include "base/http.h"
#include "base/log.h"
#include "base/stream.h"
#include "base/world_real.h"
#include "expr/datetime.h"
#include "expr/regex.h"
#include "sql/parse.h"

#define SERVER_MAGIC  0x73727672u
#define LISTENERS_MAX 16
/* Between cancelling what runs and ending without it. */
#define CANCEL_GRACE_US 3000000u

/* RUNNING -> DRAINING -> CANCELLING -> ENDING -> STOPPED, where the middle two
 * are passed over when nothing is left to wait for. */
enum server_state {
	SERVER_RUNNING,
	SERVER_DRAINING,
	SERVER_CANCELLING,
	SERVER_ENDING,
	SERVER_STOPPED
};

/* One worker thread, as the main thread sees it. */
struct seat {
	struct gw_server *server;
	struct world *world;
	struct gw_worker *worker; /* belongs to the thread once it runs */
	void *thread;
	bool drained; /* main thread's */
};

struct gw_server {
	uint32_t magic;
	struct world *world;
	struct gw_server_conf conf;
	struct gw_worker *control;
	struct gw_probe *probe;
	struct seat *seats;
	uint32_t next; /* whose turn it is */
	struct stream_listener *listeners[LISTENERS_MAX];
	uint32_t n_listeners;
	enum server_state state;
	struct timer timer;
	void (*stopped)(void *arg);
	void *stopped_arg;
};

void
gw_server_conf_read(const struct conf *c, struct gw_server_conf *out)
{
	*out = (struct gw_server_conf){
	    .listen = conf_text(c, "listen"),
	    .http = conf_text(c, "http_listen"),
	    .threads = (uint32_t)conf_int(c, "threads"),
	    .drain_us = (uint64_t)conf_int(c, "drain"),
	    .settings = c,
	};
	gw_conf_defaults(&out->worker);
	out->worker.sessions_max =
	    (uint32_t)conf_int(c, "connections_max") / out->threads + 1;
	out->worker.session_memory = (size_t)conf_int(c, "session_memory_max");
	out->worker.insert_batch = (size_t)conf_int(c, "insert_batch");
	out->worker.row_size_max = (size_t)conf_int(c, "row_size_max");
	out->worker.trust_local = conf_bool(c, "trust_local");
	out->worker.statement_timeout_us =
	    (uint64_t)conf_int(c, "storage.statement_timeout_secs") * 1000000;
}

/* ---- what crosses threads: each in a root arena that its receiver frees ----
 */

struct handed {
	struct arena *arena;
	struct seat *seat;
	int fd;
};

static void
handed_ev(void *arg)
{
	struct handed *h = arg;
	struct seat *seat = h->seat;
	int fd = h->fd;

	arena_free(h->arena);
	gw_worker_serve(seat->worker, stream_of_fd(seat->world, fd));
}

static void
accepted_ev(void *owner, int fd)
{
	struct gw_server *s = TAKE(struct gw_server, owner, SERVER_MAGIC);
	struct arena *a = arena_new(NULL, "handed over");
	struct handed *h = NEW(a, struct handed);

	*h = (struct handed){a, &s->seats[s->next], fd};
	s->next = (s->next + 1) % s->conf.threads;
	world_real_call(h->seat->world, handed_ev, h);
}

struct cancel_note {
	struct arena *arena;
	struct seat *seat;
	uint32_t pid, secret;
};

static void
cancel_ev(void *arg)
{
	struct cancel_note *n = arg;
	struct cancel_note copy = *n;

	arena_free(n->arena);
	gw_cancel_here(copy.seat->worker, copy.pid, copy.secret);
}

/* On the thread of w. */
static void
forward_cancel(struct gw_worker *w, uint32_t pid, uint32_t secret)
{
	struct seat *from = w->forward_arg;
	struct seat *to = &from->server->seats[pid % w->count];
	struct arena *a = arena_new(NULL, "cancel request");
	struct cancel_note *n = NEW(a, struct cancel_note);

	*n = (struct cancel_note){a, to, pid, secret};
	world_real_call(to->world, cancel_ev, n);
}

/* ---- stopping ---- */

static void server_timer_ev(void *arg);

static void
seat_drain_ev(void *arg)
{
	struct seat *seat = arg;

	gw_worker_drain(seat->worker);
}

static void
seat_cancel_ev(void *arg)
{
	struct seat *seat = arg;

	gw_worker_cancel_all(seat->worker);
}

static void
seat_end_ev(void *arg)
{
	struct seat *seat = arg;

	gw_worker_stop(seat->worker);
	world_real_stop(seat->world);
}

static void
seats_call(struct gw_server *s, void (*fn)(void *arg))
{
	for (uint32_t i = 0; i < s->conf.threads; i++)
		world_real_call(s->seats[i].world, fn, &s->seats[i]);
}

static void
server_end(struct gw_server *s)
{
	s->state = SERVER_ENDING;
	timer_clear(s->world, &s->timer);
	seats_call(s, seat_end_ev);
	for (uint32_t i = 0; i < s->conf.threads; i++) {
		world_real_join(s->seats[i].thread);
		world_real_free(s->seats[i].world);
	}
	gw_probe_stop(s->probe);
	gw_worker_stop(s->control);
	s->state = SERVER_STOPPED;
	LOG(s->world, LOG_INFO, "server", "stopped", "threads=%u",
	    s->conf.threads);
	if (s->stopped)
		s->stopped(s->stopped_arg);
}

static void
server_timer_ev(void *arg)
{
	struct gw_server *s = TAKE(struct gw_server, arg, SERVER_MAGIC);

	if (s->state == SERVER_CANCELLING) {
		server_end(s);
		return;
	}
	ASSERT(s->state == SERVER_DRAINING);
	s->state = SERVER_CANCELLING;
	LOG(s->world, LOG_WARN, "server", "cancelling", "after_ms=%u",
	    (unsigned)(s->conf.drain_us / 1000));
	seats_call(s, seat_cancel_ev);
	timer_set(s->world, &s->timer,
	    world_mono_us(s->world) + CANCEL_GRACE_US, server_timer_ev, s);
}

/* On the main thread: a worker has no session left. */
static void
seat_drained_ev(void *arg)
{
	struct seat *seat = arg;
	struct gw_server *s = seat->server;

	seat->drained = true;
	if (s->state != SERVER_DRAINING && s->state != SERVER_CANCELLING)
		return;
	for (uint32_t i = 0; i < s->conf.threads; i++) {
		if (!s->seats[i].drained)
			return;
	}
	server_end(s);
}

/* On the worker's thread. */
static void
worker_drained(struct gw_worker *w)
{
	struct seat *seat = w->forward_arg;

	world_real_call(seat->server->world, seat_drained_ev, seat);
}

void
gw_server_stop(struct gw_server *s, void (*stopped)(void *arg), void *arg)
{
	if (s->state != SERVER_RUNNING)
		return;
	s->state = SERVER_DRAINING;
	s->stopped = stopped;
	s->stopped_arg = arg;
	s->control->stopping = true;
	for (uint32_t i = 0; i < s->n_listeners; i++)
		stream_unlisten(s->listeners[i]);
	s->n_listeners = 0;
	LOG(s->world, LOG_INFO, "server", "draining", "threads=%u",
	    s->conf.threads);
	seats_call(s, seat_drain_ev);
	timer_set(s->world, &s->timer,
	    world_mono_us(s->world) + s->conf.drain_us, server_timer_ev, s);
}

/* ---- starting ---- */

static void
seat_thread(void *arg)
{
	struct seat *seat = arg;

	world_real_run(seat->world);
	/* What expr keeps per thread. */
	ex_regex_fini();
	dt_zones_fini();
}

static void
seat_start(struct gw_server *s, uint32_t i)
{
	struct seat *seat = &s->seats[i];
	const char *name = arena_printf(s->world->arena, "worker-%u", i + 1);

	seat->server = s;
	seat->world = world_real_new(name, NULL);
	seat->worker =
	    gw_worker_new(seat->world, &s->conf.worker, i, s->conf.threads);
	seat->worker->forward_cancel = forward_cancel;
	seat->worker->forward_arg = seat;
	seat->worker->drained = worker_drained;
	seat->worker->settings = s->conf.settings;
	world_real_thread(name, seat_thread, seat, &seat->thread);
}

static struct err *
server_listen(struct gw_server *s, struct arena *a)
{
	const char *at = s->conf.listen;

	while (*at) {
		size_t skip = strspn(at, ", ");
		size_t len = strcspn(at + skip, ", ");
		const char *addr = arena_cstr(a, str_of(at + skip, len));

		at += skip + len;
		if (!len)
			continue;
		if (s->n_listeners == LISTENERS_MAX)
			return ERR(a, ERRCODE_CONFIG_FILE_ERROR,
			    "more than %d addresses to listen on",
			    LISTENERS_MAX);
		TRY(stream_listen_fd(s->world, a, addr, accepted_ev, s,
		    &s->listeners[s->n_listeners]));
		s->n_listeners++;
		LOG(s->world, LOG_INFO, "server", "listen", "addr=%s", addr);
	}
	if (!s->n_listeners)
		return ERR(
		    a, ERRCODE_CONFIG_FILE_ERROR, "no address to listen on");
	return NULL;
}

static bool
page_ready(void *arg)
{
	return gw_server_ready(arg);
}

static void
page_status(void *arg, struct buf *out)
{
	gw_server_status(arg, out);
}

struct err *
gw_server_start(struct world *w, struct arena *a,
    const struct gw_server_conf *conf, struct gw_server **out)
{
	struct gw_server *s = NEW(w->arena, struct gw_server);
	struct http_pages pages = {page_ready, page_status, s};

	ASSERT(conf->threads > 0);
	*out = s;
	TRY(sql_parser_selftest(a));
	s->magic = SERVER_MAGIC;
	s->world = w;
	s->conf = *conf;
	s->control = gw_worker_new(w, &s->conf.worker, 0, 1);
	s->control->settings = conf->settings;
	s->probe = gw_probe_start(s->control);
	s->seats = NEW_N(w->arena, struct seat, conf->threads);
	/* A taken port is found before there are threads to end. */
	TRY(server_listen(s, a));
	if (*conf->http)
		TRY(http_serve(w, a, conf->http, &pages));
	for (uint32_t i = 0; i < conf->threads; i++)
		seat_start(s, i);
	return NULL;
}

struct gw_worker *
gw_server_control(const struct gw_server *s)
{
	return s->control;
}

const struct gw_probe *
gw_server_probe(const struct gw_server *s)
{
	return s->probe;
}

bool
gw_server_ready(const struct gw_server *s)
{
	return s->state == SERVER_RUNNING && gw_worker_ready(s->control);
}
