#include "base/http.h"

#include <event2/buffer.h>
#include <event2/http.h>
#include <stdio.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "base/world_real.h"
#include "regress/lib/cu.h"

static struct world *w;
static struct arena *scratch;
static bool is_ready;
static uint16_t port;
static char addr[64];

static bool
ready(void *arg)
{
	return *(bool *)arg;
}

static void
status(void *arg, struct buf *out)
{
	(void)arg;
	buf_str(out, STR("{}"));
}

static struct err *
serve(const char *at)
{
	struct http_pages pages = {ready, status, &is_ready};

	return http_serve(w, scratch, at, &pages);
}

static void
begin(void)
{
	log_set_level(LOG_ERROR);
	w = world_real_new("http", NULL);
	scratch = arena_new(NULL, "scratch");
	/* Of this process, so that runs side by side do not meet. */
	port = (uint16_t)(20000 + getpid() % 20000);
	(void)snprintf(addr, sizeof addr, "127.0.0.1:%u", port);
}

static void
end(void)
{
	arena_free(scratch);
	world_real_free(w);
}

struct answer {
	int code;
	char type[64];
	char body[256];
};

static void
answered_ev(struct evhttp_request *req, void *arg)
{
	struct answer *a = arg;

	if (req) {
		struct evbuffer *in = evhttp_request_get_input_buffer(req);
		const char *type = evhttp_find_header(
		    evhttp_request_get_input_headers(req), "Content-Type");
		int n = evbuffer_remove(in, a->body, sizeof a->body - 1);

		a->code = evhttp_request_get_response_code(req);
		(void)snprintf(a->type, sizeof a->type, "%s", type ? type : "");
		a->body[n > 0 ? n : 0] = 0;
	}
	world_real_stop(w);
}

static struct answer
ask(enum evhttp_cmd_type how, const char *page)
{
	struct evhttp_connection *c = evhttp_connection_base_new(
	    world_real_base(w), NULL, "127.0.0.1", port);
	struct answer a = {0, "", ""};
	struct evhttp_request *req = evhttp_request_new(answered_ev, &a);

	(void)evhttp_add_header(
	    evhttp_request_get_output_headers(req), "Host", "localhost");
	MUST(evhttp_make_request(c, req, how, page) == 0);
	world_real_run(w);
	evhttp_connection_free(c);
	return a;
}

static void
each_page_says_how_the_program_is(void)
{
	struct answer a;

	begin();
	MUST(!serve(addr));
	is_ready = false;
	a = ask(EVHTTP_REQ_GET, "/healthz");
	CHECK(a.code == 200);
	CHECK_STR(a.body, "ok\n");
	CHECK(ask(EVHTTP_REQ_GET, "/readyz").code == 503);
	is_ready = true;
	CHECK(ask(EVHTTP_REQ_GET, "/readyz").code == 200);
	a = ask(EVHTTP_REQ_GET, "/status");
	CHECK_STR(a.type, "application/json");
	CHECK_STR(a.body, "{}\n");
	a = ask(EVHTTP_REQ_GET, "/metrics");
	CHECK(a.code == 200);
	CHECK(strncmp(a.body, "# HELP ", 7) == 0);
	end();
}

static void
nothing_else_is_served(void)
{
	begin();
	MUST(!serve(addr));
	CHECK(ask(EVHTTP_REQ_GET, "/other").code == 404);
	CHECK(ask(EVHTTP_REQ_DELETE, "/status").code == 501);
	CHECK(ask(EVHTTP_REQ_HEAD, "/status").code == 200);
	end();
}

static void
a_bad_or_taken_address_is_refused(void)
{
	static const char *const bad[] = {
	    "", "localhost", ":80", "localhost:", "[::1]:x", "h:0", "h:65536"};
	struct err *e;

	begin();
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		e = serve(bad[i]);
		CHECK(e && strcmp(e->sqlstate, ERRCODE_CONFIG_FILE_ERROR) == 0);
	}
	MUST(!serve(addr));
	e = serve(addr);
	CHECK(e && strcmp(e->sqlstate, ERRCODE_OBJECT_IN_USE) == 0);
	end();
}

CU_MAIN("http",
    {"each_page_says_how_the_program_is", each_page_says_how_the_program_is},
    {"nothing_else_is_served", nothing_else_is_served},
    {"a_bad_or_taken_address_is_refused", a_bad_or_taken_address_is_refused})
