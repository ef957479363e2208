#include "gateway/http.h"

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>

#include "base/log.h"
#include "base/metrics.h"
#include "base/world_real.h"
#include "gateway/server.h"

#define BODY_MAX    4096
#define HEADERS_MAX 16384
#define IDLE_SECS   30

static void
answer(struct evhttp_request *req, int code, const char *type, struct str body)
{
	struct evbuffer *out = evhttp_request_get_output_buffer(req);
	struct evkeyvalq *headers = evhttp_request_get_output_headers(req);

	(void)evhttp_add_header(headers, "Content-Type", type);
	(void)evhttp_add_header(headers, "Cache-Control", "no-store");
	(void)evbuffer_add(out, body.p, body.len);
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
	if (gw_server_ready(arg))
		answer(
		    req, HTTP_OK, "text/plain; charset=utf-8", STR("ready\n"));
	else
		answer(req, HTTP_SERVUNAVAIL, "text/plain; charset=utf-8",
		    STR("not ready\n"));
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
	gw_status_json(arg, &b);
	buf_u8(&b, '\n');
	answer(req, HTTP_OK, "application/json", buf_view(&b));
	arena_free(a);
}

/* "host:port" or "[v6]:port". */
static bool
split_addr(struct arena *a, const char *addr, const char **host, uint16_t *port)
{
	const char *colon = strrchr(addr, ':');
	struct str h;
	uint64_t v;

	if (!colon || !str_u64(str_c(colon + 1), &v) || v > UINT16_MAX)
		return false;
	h = str_of(addr, (size_t)(colon - addr));
	if (h.len > 2 && h.p[0] == '[' && h.p[h.len - 1] == ']')
		h = str_of(h.p + 1, h.len - 2);
	*host = arena_cstr(a, h);
	*port = (uint16_t)v;
	return true;
}

struct err *
gw_http_start(
    struct world *w, struct arena *a, const char *addr, struct gw_server *s)
{
	struct evhttp *http;
	const char *host;
	uint16_t port;

	if (!split_addr(a, addr, &host, &port))
		return ERR(a, ERRCODE_CONFIG_FILE_ERROR,
		    "\"%s\" is no address to serve HTTP on", addr);
	http = evhttp_new(world_real_base(w));
	ASSERT(http);
	evhttp_set_max_body_size(http, BODY_MAX);
	evhttp_set_max_headers_size(http, HEADERS_MAX);
	evhttp_set_timeout(http, IDLE_SECS);
	evhttp_set_allowed_methods(http, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD);
	evhttp_set_cb(http, "/healthz", healthz_ev, s);
	evhttp_set_cb(http, "/readyz", readyz_ev, s);
	evhttp_set_cb(http, "/metrics", metrics_ev, s);
	evhttp_set_cb(http, "/status", status_ev, s);
	if (evhttp_bind_socket(http, host, port) != 0) {
		evhttp_free(http);
		return ERR(a, ERRCODE_OBJECT_IN_USE,
		    "could not serve HTTP on %s", addr);
	}
	LOG(w, LOG_INFO, "http", "listen", "addr=%s", addr);
	return NULL;
}
