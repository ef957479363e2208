#include "base/http.h"

#include <stdlib.h>

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>

#include "base/log.h"
#include "base/metrics.h"
#include "base/real_int.h"

#define BODY_MAX    4096
#define HEADERS_MAX 16384
#define IDLE_SECS   30
#define TEXT        "text/plain; charset=utf-8"

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
	answer(req, HTTP_OK, TEXT, STR("ok\n"));
}

static void
readyz_ev(struct evhttp_request *req, void *arg)
{
	const struct http_pages *pages = arg;

	if (pages->ready(pages->arg))
		answer(req, HTTP_OK, TEXT, STR("ready\n"));
	else
		answer(req, HTTP_SERVUNAVAIL, TEXT, STR("not ready\n"));
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
	const struct http_pages *pages = arg;
	struct arena *a = arena_new(NULL, "http");
	struct buf b;

	buf_init(&b, a);
	pages->status(pages->arg, &b);
	buf_u8(&b, '\n');
	answer(req, HTTP_OK, "application/json", buf_view(&b));
	arena_free(a);
}

static void
server_free(void *arg)
{
	evhttp_free(arg);
}

static struct evhttp *
server_new(struct world *w, const struct http_pages *pages)
{
	struct http_pages *own = NEW(w->arena, struct http_pages);
	struct evhttp *http = evhttp_new(world_real_base(w));

	ASSERT(http);
	*own = *pages;
	evhttp_set_max_body_size(http, BODY_MAX);
	evhttp_set_max_headers_size(http, HEADERS_MAX);
	evhttp_set_timeout(http, IDLE_SECS);
	evhttp_set_allowed_methods(http, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD);
	evhttp_set_cb(http, "/healthz", healthz_ev, own);
	evhttp_set_cb(http, "/readyz", readyz_ev, own);
	evhttp_set_cb(http, "/metrics", metrics_ev, own);
	evhttp_set_cb(http, "/status", status_ev, own);
	return http;
}

struct err *
http_serve(struct world *w, struct arena *a, const char *addr,
    const struct http_pages *pages)
{
	char host[ADDR_HOST_MAX];
	struct evhttp *http;
	const char *port, *why;

	ASSERT(pages->ready);
	ASSERT(pages->status);
	why = addr_split(addr, host, &port);
	if (why)
		return ERR(a, ERRCODE_CONFIG_FILE_ERROR,
		    "\"%s\" is no address to serve HTTP on: %s", addr, why);
	http = server_new(w, pages);
	if (evhttp_bind_socket(http, host, (uint16_t)strtoul(port, NULL, 10)) !=
	    0) {
		evhttp_free(http);
		return ERR(a, ERRCODE_OBJECT_IN_USE,
		    "could not serve HTTP on %s", addr);
	}
	arena_cleanup(w->arena, server_free, http);
	LOG(w, LOG_INFO, "http", "listen", "addr=%s", addr);
	return NULL;
}
