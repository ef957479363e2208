/* The program skaidb: a node and a gateway in one process, joined by a unix
 * socket in the data directory that speaks the normal node protocol.  The main
 * thread has the gateway's listeners, signals and HTTP; the node has a thread
 * of its own, as has each worker.  A stop drains the gateway, then the node.
 *
 * Exit status: 0 after a stop, 1 when it could not start, 2 for wrong
 * settings, ENGINE_WT_EXIT when the engine failed. */
#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "base/world_real.h"
#include "gateway/program.h"
#include "gateway/server.h"
#include "storage/datadir.h"
#include "storage/engine_wt.h"
#include "storage/node.h"

#define PROGRAM "skaidb"

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

struct program {
	struct world *world; /* main thread */
	struct gw_server *server;
	struct world *node_world;
	void *node_thread;
	struct st_node *node; /* its thread's, once that runs */
	int status;           /* of the process */
};

/* ---- the node's end, as the main thread learns of it ---- */

static void
node_over_ev(void *arg)
{
	struct program *p = arg;

	world_real_join(p->node_thread);
	world_real_free(p->node_world);
	world_real_stop(p->world);
}

static void
node_failed_here_ev(void *arg)
{
	struct program *p = arg;

	p->status = 1;
	world_real_stop(p->world);
}

/* On the node's thread. */
static void
node_failed_ev(void *arg, const struct err *e)
{
	struct program *p = arg;

	gw_program_error(PROGRAM, e);
	world_real_call(p->world, node_failed_here_ev, p);
}

static void
node_stopped_ev(void *arg)
{
	struct program *p = arg;

	world_real_stop(p->node_world);
	world_real_call(p->world, node_over_ev, p);
}

static void
node_stop_ev(void *arg)
{
	struct program *p = arg;

	st_node_stop(p->node);
}

static void
gateway_stopped_ev(void *arg)
{
	struct program *p = arg;

	world_real_call(p->node_world, node_stop_ev, p);
}

static void
signal_ev(void *arg, int sig)
{
	struct program *p = arg;

	LOG(p->world, LOG_INFO, "main", "signal", "number=%d", sig);
	gw_server_stop(p->server, gateway_stopped_ev, p);
}

/* ---- starting ---- */

static void
node_thread(void *arg)
{
	struct program *p = arg;

	world_real_run(p->node_world);
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
start_node(struct program *p, struct arena *a, const struct st_conf *sc)
{
	struct st_events ev = {
	    .failed = node_failed_ev, .stopped = node_stopped_ev, .arg = p};

	p->node_world = world_real_new("node", engine_wt_open);
	TRY(st_node_start(p->node_world, a, sc, &ev, &p->node));
	world_real_thread("node", node_thread, p, &p->node_thread);
	return NULL;
}

static struct err *
start(struct program *p, struct arena *a, const struct conf *c)
{
	const char *dir = conf_text(c, "dir");
	const char *socket = arena_printf(a, "unix:%s/node.sock", dir);
	struct gw_server_conf gc;
	struct st_conf sc;
	uint8_t random[32];

	TRY(gw_program_log_level(a, c));
	p->world = world_real_new("skaidb", NULL);
	node_conf(c, a, socket, &sc);
	world_random(p->world, random, sizeof random);
	TRY(st_datadir_make(a, dir));
	TRY(st_keyfile_load(
	    a, arena_printf(a, "%s/cluster.key", dir), true, random, &sc.key));
	gw_server_conf_read(c, &gc);
	gc.worker.seeds = socket;
	gc.worker.peer.key = sc.key;
	TRY(start_node(p, a, &sc));
	TRY(gw_server_start(p->world, a, &gc, &p->server));
	TRY(gw_program_pid(a, c));
	world_real_on_signal(p->world, signal_ev, p);
	return NULL;
}

static int
run(struct arena *a, const struct conf *c)
{
	struct program p = {.status = 0};
	struct err *e = start(&p, a, c);

	if (e) {
		gw_program_error(PROGRAM, e);
		return 1;
	}
	world_real_run(p.world);
	gw_program_pid_remove(c);
	return p.status;
}

int
main(int argc, char **argv)
{
	struct arena *a = arena_new(NULL, "main");
	struct conf *c;
	struct err *e = conf_load(a, PROGRAM, items, argc, argv, &c);
	int status = 0;

	if (e) {
		gw_program_error(PROGRAM, e);
		status = 2;
	} else if (conf_action(c) != CONF_RUN) {
		conf_show(c, conf_action(c));
	} else {
		status = run(a, c);
	}
	/* After a failed start threads may still run. */
	(void)fflush(NULL);
	_exit(status);
}
