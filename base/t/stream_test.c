#include "base/stream.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/world_real.h"
#include "regress/lib/cu.h"

/* Every claim is checked on the pair and on sockets. */
enum sort { PAIR, SOCKET };

static struct world *w;
static struct stream *a, *b;
static int running;
static uint64_t until_us;

static void
begin(enum sort sort)
{
	int fd[2];

	w = world_real_new("stream", NULL);
	running = 0;
	until_us = world_mono_us(w) + 10000000;
	if (sort == PAIR) {
		stream_pair(w, &a, &b);
		return;
	}
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == 0);
	a = stream_of_fd(w, fd[0]);
	b = stream_of_fd(w, fd[1]);
}

static void
end(void)
{
	world_real_free(w);
}

struct job {
	void (*fn)(void);
};

static void
job_main(void *arg)
{
	((struct job *)arg)->fn();
	if (--running == 0)
		world_real_stop(w);
}

static void
run2(void (*x)(void), void (*y)(void))
{
	struct job jx = {x}, jy = {y};

	running = 2;
	fiber_spawn(w, "x", FIBER_STACK_GATEWAY, job_main, &jx);
	fiber_spawn(w, "y", FIBER_STACK_GATEWAY, job_main, &jy);
	world_real_run(w);
}

static void
idle(void)
{
}

/* ---- small messages ---- */

static void
asks(void)
{
	struct str data;

	for (int i = 0; i < 100; i++) {
		stream_write(a, STR("ping"));
		MUST(stream_flush(a, until_us) == STREAM_OK);
		MUST(stream_peek(a, 4, until_us, &data) == STREAM_OK);
		CHECK(str_eq(data, STR("pong")));
		stream_consume(a, 4);
	}
	stream_close(a);
}

static void
answers(void)
{
	struct str data;
	char got[4];

	for (int i = 0; i < 100; i++) {
		MUST(stream_peek(b, 1, until_us, &data) == STREAM_OK);
		CHECK(data.p[0] == 'p' && stream_buffered(b) == data.len);
		MUST(stream_read(b, got, 4, until_us) == STREAM_OK);
		CHECK(memcmp(got, "ping", 4) == 0);
		stream_write(b, STR("pong"));
		MUST(stream_flush(b, until_us) == STREAM_OK);
	}
	CHECK(stream_peek(b, 1, until_us, &data) == STREAM_EOF);
	CHECK(data.len == 0);
	stream_close(b);
}

static void
both_sides_talk(void)
{
	for (int i = PAIR; i <= SOCKET; i++) {
		begin((enum sort)i);
		run2(asks, answers);
		end();
	}
}

/* ---- big ones ---- */

#define BIG (20u << 20)

static char *big;

static void
sends_big(void)
{
	size_t at = 0;

	while (at < BIG) {
		size_t n = BIG - at < 100000 ? BIG - at : 100000;

		stream_write(a, str_of(big + at, n));
		MUST(stream_flush(a, until_us) == STREAM_OK);
		at += n;
	}
	stream_close(a);
}

static void
reads_big(void)
{
	struct str data;
	char *got = malloc(BIG);

	/* As much as may be peeked, then more than that, then the rest. */
	MUST(stream_peek(b, STREAM_BUFFER_MAX, until_us, &data) == STREAM_OK);
	CHECK(data.len >= STREAM_BUFFER_MAX);
	CHECK(memcmp(data.p, big, data.len) == 0);
	MUST(stream_read(b, got, BIG - 1, until_us) == STREAM_OK);
	CHECK(memcmp(got, big, BIG - 1) == 0);
	MUST(stream_read(b, got, 1, until_us) == STREAM_OK);
	CHECK(got[0] == big[BIG - 1]);
	CHECK(stream_read(b, got, 1, until_us) == STREAM_EOF);
	stream_close(b);
	free(got);
}

static void
big_messages_pass(void)
{
	big = malloc(BIG);
	for (size_t i = 0; i < BIG; i++)
		big[i] = (char)(i * 2654435761u >> 13);
	for (int i = PAIR; i <= SOCKET; i++) {
		begin((enum sort)i);
		run2(sends_big, reads_big);
		end();
	}
	free(big);
}

/* ---- back-pressure ---- */

static int ticks;

static void
stalls(void)
{
	static char block[65536];
	enum stream_status r = STREAM_OK;
	uint64_t soon_us = world_mono_us(w) + 100000;
	size_t sent = 0;

	while (r == STREAM_OK && sent < (64u << 20)) {
		stream_write(a, str_of(block, sizeof block));
		r = stream_flush(a, soon_us);
		sent += sizeof block;
	}
	CHECK(r == STREAM_DEADLINE);
	CHECK(sent < (4u << 20));
}

static void
goes_on(void)
{
	for (ticks = 0; ticks < 20; ticks++)
		fiber_sleep(w, world_mono_us(w) + 1000);
}

static void
a_stalled_reader_stops_only_its_writer(void)
{
	for (int i = PAIR; i <= SOCKET; i++) {
		begin((enum sort)i);
		run2(stalls, goes_on);
		CHECK(ticks == 20);
		end();
	}
}

/* ---- ends ---- */

static void
deadline_and_cancel(void)
{
	struct str data;

	CHECK(stream_peek(a, 1, world_mono_us(w) + 5000, &data) ==
	      STREAM_DEADLINE);
	fiber_cancel(fiber_self());
	CHECK(stream_peek(a, 1, until_us, &data) == STREAM_CANCEL);
}

static void
a_read_ends_by_deadline_or_cancel(void)
{
	for (int i = PAIR; i <= SOCKET; i++) {
		begin((enum sort)i);
		run2(deadline_and_cancel, idle);
		end();
	}
}

static void
leaves(void)
{
	fiber_sleep(w, world_mono_us(w) + 5000);
	stream_close(b);
}

static void
writes_to_nobody(void)
{
	enum stream_status r = STREAM_OK;

	fiber_sleep(w, world_mono_us(w) + 20000);
	for (int i = 0; i < 10 && r == STREAM_OK; i++) {
		stream_write(a, STR("hello?"));
		r = stream_flush(a, until_us);
	}
	CHECK(r == STREAM_ERROR);
	CHECK(stream_flush(a, until_us) == STREAM_ERROR);
	stream_close(a);
}

static int raw_fd;

static void
leaves_raw(void)
{
	close(raw_fd);
}

static void
writing_to_a_closed_peer_is_an_error(void)
{
	int fd[2];

	begin(PAIR);
	run2(writes_to_nobody, leaves);
	end();
	/* A stream of ours would linger, so this end is a bare socket. */
	begin(PAIR);
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == 0);
	a = stream_of_fd(w, fd[0]);
	raw_fd = fd[1];
	run2(writes_to_nobody, leaves_raw);
	end();
}

static void
says_goodbye(void)
{
	fiber_sleep(w, world_mono_us(w) + 5000);
	stream_write(b, STR("FATAL: no"));
	stream_close(b); /* though much is unread */
}

static void
hears_goodbye(void)
{
	char got[9];

	stream_write(a, STR("a startup message that nobody reads"));
	MUST(stream_flush(a, until_us) == STREAM_OK);
	CHECK(stream_read(a, got, 9, until_us) == STREAM_OK);
	CHECK(memcmp(got, "FATAL: no", 9) == 0);
	CHECK(stream_read(a, got, 1, until_us) == STREAM_EOF);
	stream_close(a);
}

static void
last_words_arrive(void)
{
	for (int i = PAIR; i <= SOCKET; i++) {
		begin((enum sort)i);
		run2(hears_goodbye, says_goodbye);
		end();
	}
}

/* ---- listening ---- */

static struct stream_listener *listener;
static int port;

static void
serve(void *arg)
{
	struct stream *s = arg;
	char got[2];

	CHECK(stream_peer_is_local(s));
	CHECK(strncmp(stream_peer(s), "127.0.0.1:", 10) == 0);
	CHECK(stream_read(s, got, 2, until_us) == STREAM_OK);
	stream_close(s);
	stream_unlisten(listener);
	if (--running == 0)
		world_real_stop(w);
}

static void
accept_ev(void *owner, struct stream *s)
{
	(void)owner;
	fiber_spawn(w, "serve", FIBER_STACK_GATEWAY, serve, s);
}

static void
accept_fd(void *owner, int fd)
{
	accept_ev(owner, stream_of_fd(w, fd));
}

static void *client_thread;

static void
client_main(void *arg)
{
	struct sockaddr_in in = {
	    .sin_family = AF_INET,
	    .sin_port = htons((uint16_t)port),
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	char c;

	(void)arg;
	if (connect(fd, (struct sockaddr *)&in, sizeof in) != 0 ||
	    write(fd, "hi", 2) != 2 || read(fd, &c, 1) != 0)
		abort();
	close(fd);
}

static void
listen_with(bool fds)
{
	struct arena *scratch = arena_new(NULL, "test");
	struct stream_listener *second;
	struct err *e;
	char addr[64];

	/* A port of this process, so that runs side by side do not meet. */
	port = 30001 + (int)getpid() % 2000;
	snprintf(addr, sizeof addr, "127.0.0.1:%d", port);
	w = world_real_new("stream", NULL);
	until_us = world_mono_us(w) + 10000000;
	running = 1;
	e = fds ? stream_listen_fd(w, scratch, addr, accept_fd, NULL, &listener)
		: stream_listen(w, scratch, addr, accept_ev, NULL, &listener);
	MUST(e == NULL);
	e = stream_listen(w, scratch, addr, accept_ev, NULL, &second);
	CHECK(err_is(e, ERRCODE_OBJECT_IN_USE));
	world_real_thread("client", client_main, NULL, &client_thread);
	world_real_run(w);
	world_real_join(client_thread);
	world_real_free(w);
	arena_free(scratch);
}

static void
clients_are_accepted(void)
{
	listen_with(false);
	listen_with(true);
}

CU_MAIN("stream", {"both_sides_talk", both_sides_talk},
    {"big_messages_pass", big_messages_pass},
    {"a_stalled_reader_stops_only_its_writer",
	a_stalled_reader_stops_only_its_writer},
    {"a_read_ends_by_deadline_or_cancel", a_read_ends_by_deadline_or_cancel},
    {"writing_to_a_closed_peer_is_an_error",
	writing_to_a_closed_peer_is_an_error},
    {"last_words_arrive", last_words_arrive},
    {"clients_are_accepted", clients_are_accepted})
