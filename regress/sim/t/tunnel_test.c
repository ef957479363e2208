#include "regress/sim/tunnel.h"

#include "regress/lib/cu.h"
#include "regress/sim/net_sim.h"
#include "regress/sim/world_sim.h"

#define CHUNK 2048u
#define TOTAL (CHUNK * 512u)

struct end {
	struct sim_host *host;
	struct world *world;
	struct stream *stream;
	bool server;
	size_t got;
	bool bad;
	enum stream_status last;
	bool over;
	bool sent;    /* nothing more is being sent */
	bool hang_up; /* the client, once it has sent all */
};

static void
pattern(uint8_t *p, size_t from)
{
	for (size_t i = 0; i < CHUNK; i++)
		p[i] = (uint8_t)((from + i) * 131 >> 3);
}

/* Answers every byte with itself. */
static void
echo_fiber(void *arg)
{
	struct end *e = arg;
	struct str data;

	while ((e->last = stream_peek(e->stream, 1, WORLD_FOREVER, &data)) ==
	       STREAM_OK) {
		e->got += data.len;
		stream_write(e->stream, data);
		stream_consume(e->stream, data.len);
		(void)stream_flush(e->stream, WORLD_FOREVER);
	}
	stream_close(e->stream);
	e->over = true;
}

static void
accept_ev(void *owner, struct stream *s)
{
	struct end *e = owner;

	e->stream = s;
	fiber_spawn(e->world, "echo", FIBER_STACK_NODE, echo_fiber, e);
}

static void
send_fiber(void *arg)
{
	struct end *e = arg;
	uint8_t b[CHUNK];

	for (size_t at = 0; at < TOTAL; at += CHUNK) {
		pattern(b, at);
		stream_write(e->stream, str_of(b, CHUNK));
		if (stream_flush(e->stream, WORLD_FOREVER) != STREAM_OK)
			break;
	}
	e->sent = true;
}

static void
read_fiber(void *arg)
{
	struct end *e = arg;
	uint8_t b[CHUNK], want[CHUNK];

	while ((e->last = stream_read(e->stream, b, CHUNK, WORLD_FOREVER)) ==
	       STREAM_OK) {
		pattern(want, e->got);
		e->bad |= memcmp(b, want, CHUNK) != 0;
		e->got += CHUNK;
		if (e->got == TOTAL && e->hang_up)
			break;
	}
	while (!e->sent)
		(void)fiber_sleep(e->world, world_mono_us(e->world) + 1000);
	e->over = true;
	stream_close(e->stream);
}

static void
boot(void *arg, struct world *w)
{
	struct end *e = arg;

	e->world = w;
	if (e->server) {
		CHECK(
		    !sim_tunnel_listen(w, w->arena, "server:1", accept_ev, e));
		return;
	}
	e->stream = sim_tunnel_connect(w, "server:1");
	fiber_spawn(w, "send", FIBER_STACK_NODE, send_fiber, e);
	fiber_spawn(w, "read", FIBER_STACK_NODE, read_fiber, e);
}

struct rig {
	struct sim *sim;
	struct end server, client;
};

static void
rig_start(struct rig *r, bool hang_up)
{
	*r = (struct rig){.sim = sim_new(cu_seed()),
	    .server = {.server = true},
	    .client = {.hang_up = hang_up}};
	r->server.host = sim_host_new(
	    r->sim, &(struct sim_host_opts){
			.name = "server", .boot = boot, .arg = &r->server});
	r->client.host = sim_host_new(
	    r->sim, &(struct sim_host_opts){
			.name = "client", .boot = boot, .arg = &r->client});
}

static void
rig_run(struct rig *r, uint64_t ms)
{
	sim_run(r->sim, sim_now(r->sim) + ms * 1000, NULL);
}

static void
every_byte_arrives_in_order(void)
{
	struct rig r;

	rig_start(&r, true);
	sim_boot(r.server.host);
	sim_boot(r.client.host);
	rig_run(&r, 60000);
	CHECK(r.server.got == TOTAL);
	CHECK(r.client.got == TOTAL && !r.client.bad);
	/* The client hung up. */
	CHECK(r.client.over && r.server.over);
	CHECK(r.server.last == STREAM_EOF);
	sim_free(r.sim);
}

static void
stream_ends_with_the_server(void)
{
	struct rig r;

	rig_start(&r, false);
	sim_boot(r.server.host);
	sim_boot(r.client.host);
	rig_run(&r, 60000);
	CHECK(!r.client.over);
	sim_kill(r.server.host);
	rig_run(&r, 1000);
	CHECK(r.client.over && r.client.last != STREAM_OK);
	CHECK(!r.client.bad);
	sim_free(r.sim);
}

static void
nobody_there_is_an_end(void)
{
	struct rig r;

	rig_start(&r, false);
	sim_boot(r.client.host);
	rig_run(&r, 1000);
	CHECK(r.client.over && r.client.got == 0);
	sim_free(r.sim);
}

CU_MAIN("tunnel", {"every_byte_arrives_in_order", every_byte_arrives_in_order},
    {"stream_ends_with_the_server", stream_ends_with_the_server},
    {"nobody_there_is_an_end", nobody_there_is_an_end})
