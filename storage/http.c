#include "storage/http.h"

#include <stdlib.h>

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>

#include "base/log.h"
#include "base/metrics.h"
#include "base/world_real.h"

#define BODY_MAX    4096
#define HEADERS_MAX 16384

static void
answer(struct evhttp_request *req, int code, const char *type, struct str body)
{
	struct evbuffer *out = evhttp_request_get_output_buffer(req);

	evhttp_add_header(
	    evhttp_request_get_output_headers(req), "Content-Type", type);
	evbuffer_add(out, body.p, body.len);
	evhttp_send_reply(req, code, NULL, NULL);
}

static void
healthz_ev(struct evhttp_request *req, void *arg)
{
	(void)arg;
	answer(req, HTTP_OK, "text/plain; charset=utf-8", STR("ok\n"));
}

static void
readyz_ev(struct evhttp_request *req, void *arg)
{
	const struct st_node *n = arg;
	bool ready = st_node_ready(n);

	answer(req, ready ? HTTP_OK : HTTP_SERVUNAVAIL,
	    "text/plain; charset=utf-8",
	    ready ? STR("ready\n") : STR("not ready\n"));
}

static void
metrics_ev(struct evhttp_request *req, void *arg)
{
	struct arena *a = arena_new(NULL, "http");
	struct buf b;

	(void)arg;
	buf_init(&b, a);
	metrics_print(&b);
	answer(req, HTTP_OK, "text/plain; version=0.0.4; charset=utf-8",
	    buf_view(&b));
	arena_free(a);
}

static void
status_ev(struct evhttp_request *req, void *arg)
{
	struct arena *a = arena_new(NULL, "http");
	struct buf b;

	buf_init(&b, a);
	st_node_status(arg, &b);
	buf_u8(&b, '\n');
	answer(req, HTTP_OK, "application/json", buf_view(&b));
	arena_free(a);
}

static bool
split_addr(struct arena *a, const char *addr, char **host, uint16_t *port)
{
	const char *colon = strrchr(addr, ':');
	uint64_t v;

	if (!colon || !str_u64(str_c(colon + 1), &v) || v > UINT16_MAX)
		return false;
	*port = (uint16_t)v;
	if (addr[0] == '[' && colon > addr + 1 && colon[-1] == ']')
		*host =
		    arena_cstr(a, str_of(addr + 1, (size_t)(colon - addr) - 2));
	else
		*host = arena_cstr(a, str_of(addr, (size_t)(colon - addr)));
	return true;
}

struct err *
st_http_start(
    struct world *w, struct arena *a, const char *addr, struct st_node *n)
{
	struct evhttp *http;
	uint16_t port;
	char *host;

	if (!split_addr(a, addr, &host, &port))
		return ERR(a, ERRCODE_CONFIG_FILE_ERROR,
		    "\"%s\" is no address to serve HTTP on", addr);
	http = evhttp_new(world_real_base(w));
	ASSERT(http);
	evhttp_set_max_body_size(http, BODY_MAX);
	evhttp_set_max_headers_size(http, HEADERS_MAX);
	evhttp_set_timeout(http, 30);
	evhttp_set_allowed_methods(http, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD);
	evhttp_set_cb(http, "/healthz", healthz_ev, n);
	evhttp_set_cb(http, "/readyz", readyz_ev, n);
	evhttp_set_cb(http, "/metrics", metrics_ev, n);
	evhttp_set_cb(http, "/status", status_ev, n);
	if (evhttp_bind_socket(http, host, port) != 0) {
		evhttp_free(http);
		return ERR(a, ERRCODE_OBJECT_IN_USE,
		    "could not serve HTTP on %s", addr);
	}
	LOG(w, LOG_INFO, "http", "listen", "addr=%s", addr);
	return NULL;
}
