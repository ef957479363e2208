/* The program skaidb: a node and a gateway in one process, joined by a unix
 * socket in the data directory that speaks the normal node protocol.  The main
 * thread has the gateway's listeners, signals and HTTP; the node has a thread
 * of its own, as has each worker.  A stop drains the gateway, then the node.
 * Exit status also ENGINE_WT_EXIT, when the engine failed. */
#include "base/program.h"
#include "base/world_real.h"
#include "gateway/server.h"
#include "storage/datadir.h"
#include "storage/engine_wt.h"
#include "storage/node.h"

static const struct conf_item items[] = {
    {"dir", CONF_TEXT, "./data", 0, 0, "DIR",
	"Data directory; made, with a cluster in it, when missing."},
    {"node_listen", CONF_TEXT, "", 0, 0, "ADDR",
	"Address for other gateways and nodes, host:port; empty: none."},
    {"alias", CONF_TEXT, "skai1", 0, 0, "NAME", "Name of the node."},
    {"slots", CONF_INT, "256", 1, 4096, "N",
	"Slots of a cluster being formed: a power of two, fixed for ever."},
    {"bootstrap_user", CONF_TEXT, "", 0, 0, "NAME",
	"Superuser and database made, beside postgres, in a cluster being "
	"formed."},
    GW_SERVER_ITEMS,
    {"storage.cache", CONF_BYTES, "64MB", 16 << 20, 1ll << 42, "SIZE",
	"Memory for the engine's cache."},
    {"storage.disk_reserve", CONF_BYTES, "0", 0, 1ll << 50, "SIZE",
	"Free disk space below which writes are refused; 0: computed."},
    {"storage.threads", CONF_INT, "2", 0, 16, "N", "Engine threads."},
    {NULL, CONF_TEXT, NULL, 0, 0, NULL, NULL},
};

struct skaidb {
	struct program program; /* its world: the gateway's */
	struct gw_server *server;
	struct world *node_world;
	void *node_thread;
	struct st_node *node; /* its thread's, once that runs */
};

/* ---- the node's end, as the main thread learns of it ---- */

static void
node_over_ev(void *arg)
{
	struct skaidb *s = arg;

	world_real_join(s->node_thread);
	world_real_free(s->node_world);
	world_real_stop(s->program.world);
}

static void
node_failed_here_ev(void *arg)
{
	struct skaidb *s = arg;

	s->program.status = 1;
	world_real_stop(s->program.world);
}

/* On the node's thread. */
static void
node_failed_ev(void *arg, const struct err *e)
{
	struct skaidb *s = arg;

	program_error(&s->program, e);
	world_real_call(s->program.world, node_failed_here_ev, s);
}

static void
node_stopped_ev(void *arg)
{
	struct skaidb *s = arg;

	world_real_stop(s->node_world);
	world_real_call(s->program.world, node_over_ev, s);
}

static void
node_stop_ev(void *arg)
{
	struct skaidb *s = arg;

	st_node_stop(s->node);
}

static void
gateway_stopped_ev(void *arg)
{
	struct skaidb *s = arg;

	world_real_call(s->node_world, node_stop_ev, s);
}

static void
stop(struct program *p)
{
	struct skaidb *s = (void *)p;

	gw_server_stop(s->server, gateway_stopped_ev, s);
}

/* ---- starting ---- */

static void
node_thread(void *arg)
{
	struct skaidb *s = arg;

	world_real_run(s->node_world);
}

static void
node_conf(const struct conf *c, struct arena *a, const char *socket,
    struct st_conf *out)
{
	const char *more = conf_text(c, "node_listen");

	st_conf_defaults(out);
	out->dir = conf_text(c, "dir");
	out->listen = *more ? arena_printf(a, "%s,%s", socket, more) : socket;
	out->advertise = *more ? more : socket;
	out->alias = conf_text(c, "alias");
	out->init = out->init_if_empty = true;
	out->slots = (uint32_t)conf_int(c, "slots");
	out->bootstrap_user = conf_text(c, "bootstrap_user");
	out->cache_bytes = (uint64_t)conf_int(c, "storage.cache");
	out->disk_reserve = (uint64_t)conf_int(c, "storage.disk_reserve");
	out->engine_threads = (int)conf_int(c, "storage.threads");
	out->statement_timeout_us =
	    (uint64_t)conf_int(c, "storage.statement_timeout_secs") * 1000000;
}

static struct err *
start_node(struct skaidb *s, struct arena *a, const struct st_conf *sc)
{
	struct st_events ev = {
	    .failed = node_failed_ev, .stopped = node_stopped_ev, .arg = s};

	s->node_world = world_real_new("node", engine_wt_open);
	TRY(st_node_start(s->node_world, a, sc, &ev, &s->node));
	world_real_thread("node", node_thread, s, &s->node_thread);
	return NULL;
}

static struct err *
start(struct program *p, struct arena *a, const struct conf *c)
{
	struct skaidb *s = (void *)p;
	const char *dir = conf_text(c, "dir");
	const char *socket = arena_printf(a, "unix:%s/node.sock", dir);
	struct gw_server_conf gc;
	struct st_conf sc;
	uint8_t random[32];

	p->world = world_real_new("skaidb", NULL);
	node_conf(c, a, socket, &sc);
	world_random(p->world, random, sizeof random);
	TRY(st_datadir_make(a, dir));
	TRY(st_keyfile_load(
	    a, arena_printf(a, "%s/cluster.key", dir), true, random, &sc.key));
	gw_server_conf_read(c, &gc);
	gc.worker.seeds = socket;
	gc.worker.peer.key = sc.key;
	TRY(start_node(s, a, &sc));
	return gw_server_start(p->world, a, &gc, &s->server);
}

int
main(int argc, char **argv)
{
	struct skaidb s = {.program = {.name = "skaidb",
			       .items = items,
			       .start = start,
			       .stop = stop}};

	program_main(&s.program, argc, argv);
}
