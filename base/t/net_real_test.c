#include "base/net.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fiber.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/world_real.h"
#include "regress/lib/cu.h"

/* Ports of this process, so that test runs side by side do not meet. */
static int port;
static char tcp_addr[64], name_addr[64];

static struct world *w;
static struct arena *scratch;

/* One end: what happened to it. */
struct end {
	struct net_conn *conn;
	bool opened;
	int frames;
	size_t bytes;
	uint32_t last;
	bool in_order;
	int drained;
	char why[64];
	bool echo;
	bool close_at_first;
	int stop_after; /* frames, or closed when negative */
};

static struct end client, server;
static struct net_listener *listener;

static void
end_opened(void *arg)
{
	((struct end *)arg)->opened = true;
}

static void
end_frame(void *arg, struct str frame)
{
	struct end *e = arg;
	struct cur c = cur_of(frame);
	uint32_t seq;

	CHECK(cur_le32(&c) == frame.len);
	seq = cur_le32(&c);
	e->in_order &= e->frames == 0 || seq == e->last + 1;
	e->last = seq;
	e->frames++;
	e->bytes += frame.len;
	if (e->echo)
		net_send(w, e->conn, frame);
	if (e->close_at_first) {
		net_close(w, e->conn);
		CHECK(frame.p[frame.len - 1] == 'x');
	}
	if (e->stop_after == e->frames)
		world_real_stop(w);
}

static void
end_closed(void *arg, const char *why)
{
	struct end *e = arg;

	snprintf(e->why, sizeof e->why, "%s", why);
	e->conn = NULL;
	if (e->stop_after < 0)
		world_real_stop(w);
}

static void
end_drained(void *arg)
{
	((struct end *)arg)->drained++;
}

static const struct net_events events = {
    .opened = end_opened,
    .frame = end_frame,
    .closed = end_closed,
    .drained = end_drained,
};

static void
accept_ev(void *owner, struct net_conn *c)
{
	struct end *e = owner;

	e->conn = c;
	net_adopt(w, c, &events, e);
}

static void
timeout_ev(void *arg)
{
	(void)arg;
	CU_FAIL("took too long");
	world_real_stop(w);
}

static void
run(void)
{
	struct timer limit = {0};

	timer_set(w, &limit, world_mono_us(w) + 10000000, timeout_ev, NULL);
	world_real_run(w);
	timer_clear(w, &limit);
}

static void
begin(void)
{
	port = 10000 + (int)getpid() % 10000 * 2;
	snprintf(tcp_addr, sizeof tcp_addr, "127.0.0.1:%d", port);
	snprintf(name_addr, sizeof name_addr, "localhost:%d", port + 1);
	w = world_real_new("test", NULL);
	scratch = arena_new(NULL, "test");
	client = server = (struct end){.in_order = true};
	log_set_level(LOG_ERROR);
}

static void
end(void)
{
	world_real_free(w);
	arena_free(scratch);
}

static void
join_at(const char *addr)
{
	struct err *e =
	    net_listen(w, scratch, addr, accept_ev, &server, &listener);

	MUST(e == NULL);
	e = net_connect(w, scratch, addr, &events, &client, &client.conn);
	MUST(e == NULL);
	CHECK(!client.opened);
}

static void
send_frame(struct end *e, uint32_t seq, size_t len)
{
	struct buf b;

	buf_init(&b, scratch);
	buf_le32(&b, (uint32_t)len);
	buf_le32(&b, seq);
	memset(buf_reserve(&b, len - 8), 'x', len - 8);
	b.len = len;
	net_send(w, e->conn, buf_view(&b));
	arena_reset(scratch);
}

static void
frames_arrive_whole_and_in_order(void)
{
	begin();
	join_at(tcp_addr);
	server.stop_after = 1000;
	for (uint32_t i = 0; i < 1000; i++)
		send_frame(&client, i, NET_FRAME_MIN + i * 7);
	run();
	CHECK(client.opened);
	CHECK(server.frames == 1000);
	CHECK(server.in_order);
	CHECK(metric_total(M_NET_FRAMES_IN) >= 1000);
	end();
}

static void
the_largest_frame_passes(void)
{
	begin();
	join_at(tcp_addr);
	server.echo = true;
	client.stop_after = 2;
	send_frame(&client, 0, NET_FRAME_MAX);
	send_frame(&client, 1, NET_FRAME_MIN);
	run();
	CHECK(client.frames == 2);
	CHECK(client.bytes == NET_FRAME_MAX + NET_FRAME_MIN);
	end();
}

static void
unix_sockets_and_names_work(void)
{
	char path[64];

	begin();
	snprintf(
	    path, sizeof path, "unix:/tmp/skaidb-net-test-%d", (int)getpid());
	join_at(path);
	server.echo = true;
	client.stop_after = 1;
	send_frame(&client, 0, 64);
	run();
	CHECK(client.frames == 1);
	end();
	CHECK(access(path + 5, F_OK) != 0);

	begin();
	join_at(name_addr);
	server.echo = true;
	client.stop_after = 1;
	send_frame(&client, 0, 64);
	run();
	CHECK(client.frames == 1);
	end();
}

static void
a_failed_connect_is_told_later(void)
{
	begin();
	client.stop_after = -1;
	MUST(!net_connect(
	    w, scratch, "127.0.0.1:1", &events, &client, &client.conn));
	CHECK_STR(client.why, "");
	run();
	CHECK_STR(client.why, "Connection refused");
	CHECK(!client.opened);
	end();

	begin();
	client.stop_after = -1;
	MUST(!net_connect(
	    w, scratch, "no port here", &events, &client, &client.conn));
	run();
	CHECK_STR(client.why, "expected host:port");
	end();
}

static void
a_port_in_use_is_a_clear_error(void)
{
	struct net_listener *second = (struct net_listener *)&second;
	struct err *e;

	begin();
	join_at(tcp_addr);
	e = net_listen(w, scratch, tcp_addr, accept_ev, &server, &second);
	MUST(e != NULL);
	CHECK(second == NULL);
	CHECK(err_is(e, ERRCODE_OBJECT_IN_USE));
	CHECK_STR(e->message,
	    arena_printf(scratch,
		"could not listen on \"%s\": address already in use",
		tcp_addr));
	CHECK(e->hint != NULL);
	end();
}

static int
raw_connect(void)
{
	struct sockaddr_in in = {
	    .sin_family = AF_INET,
	    .sin_port = htons((uint16_t)port),
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	MUST(connect(fd, (struct sockaddr *)&in, sizeof in) == 0);
	return fd;
}

static void
refuses(const void *bytes, size_t n, const char *why)
{
	uint64_t before = metric_total(M_NET_REFUSED);
	int fd;

	begin();
	MUST(!net_listen(w, scratch, tcp_addr, accept_ev, &server, &listener));
	fd = raw_connect();
	MUST(write(fd, bytes, n) == (ssize_t)n);
	shutdown(fd, SHUT_WR);
	server.stop_after = -1;
	run();
	CHECK_STR(server.why, why);
	CHECK(server.frames == 0);
	CHECK((metric_total(M_NET_REFUSED) > before) ==
	      (strcmp(why, "malformed frame") == 0));
	close(fd);
	end();
}

static void
a_malformed_length_closes_the_connection(void)
{
	refuses("\0\0\0\0", 4, "malformed frame");
	refuses("\x0f\0\0\0", 4, "malformed frame");
	refuses("\xff\xff\xff\xff", 4, "malformed frame");
	refuses("GET / HTTP/1.1\r\n", 16, "malformed frame");
}

static void
half_a_frame_is_not_handed_over(void)
{
	refuses("\x10", 1, "closed by peer");
	refuses("\x10\0\0\0abcdefg", 11, "closed by peer");
}

static void
closing_inside_a_frame_is_safe(void)
{
	begin();
	join_at(tcp_addr);
	server.close_at_first = true;
	client.stop_after = -1;
	for (uint32_t i = 0; i < 10; i++)
		send_frame(&client, i, 100);
	run();
	CHECK(server.frames == 1);
	CHECK(client.why[0] != 0);
	end();
}

static void
resume_ev(void *arg)
{
	struct end *e = arg;

	CHECK(e->frames == 0);
	net_pause(w, e->conn, false);
}

static void
pause_accept_ev(void *owner, struct net_conn *c)
{
	accept_ev(owner, c);
	net_pause(w, c, true);
}

static void
backlog_drains_when_the_peer_reads_again(void)
{
	struct timer t = {0};
	size_t n = 0;

	begin();
	MUST(!net_listen(
	    w, scratch, tcp_addr, pause_accept_ev, &server, &listener));
	MUST(
	    !net_connect(w, scratch, tcp_addr, &events, &client, &client.conn));
	while (net_backlog(w, client.conn) <= 3 * NET_BACKLOG_HIGH)
		send_frame(&client, (uint32_t)n++, 1u << 20);
	server.stop_after = (int)n;
	timer_set(w, &t, world_mono_us(w) + 200000, resume_ev, &server);
	run();
	CHECK(server.frames == (int)n);
	CHECK(server.in_order);
	CHECK(client.drained == 1);
	end();
}

static void
unsent_connections_die_with_their_world(void)
{
	begin();
	join_at(name_addr);
	send_frame(&client, 0, 4000);
	end(); /* never ran */
}

CU_MAIN("net_real",
    {"frames_arrive_whole_and_in_order", frames_arrive_whole_and_in_order},
    {"the_largest_frame_passes", the_largest_frame_passes},
    {"unix_sockets_and_names_work", unix_sockets_and_names_work},
    {"a_failed_connect_is_told_later", a_failed_connect_is_told_later},
    {"a_port_in_use_is_a_clear_error", a_port_in_use_is_a_clear_error},
    {"a_malformed_length_closes_the_connection",
	a_malformed_length_closes_the_connection},
    {"half_a_frame_is_not_handed_over", half_a_frame_is_not_handed_over},
    {"closing_inside_a_frame_is_safe", closing_inside_a_frame_is_safe},
    {"backlog_drains_when_the_peer_reads_again",
	backlog_drains_when_the_peer_reads_again},
    {"unsent_connections_die_with_their_world",
	unsent_connections_die_with_their_world})
