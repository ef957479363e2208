/* The program skaidb-gateway.  Exit status: 0 after a stop, 1 when it could not
 * start, 2 for wrong settings. */
#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "base/world_real.h"
#include "gateway/program.h"
#include "gateway/server.h"

#define PROGRAM "skaidb-gateway"

static const struct conf_item items[] = {
    {"seeds", CONF_TEXT, "127.0.0.1:7433", 0, 0, "ADDRS",
	"Addresses of nodes to learn the cluster from, separated by commas."},
    {"cluster.key_file", CONF_TEXT, "cluster.key", 0, 0, "FILE",
	"File with the cluster key, as the first node made it."},
    GW_SERVER_ITEMS,
    {NULL, CONF_TEXT, NULL, 0, 0, NULL, NULL},
};

struct program {
	struct world *world;
	struct gw_server *server;
};

static void
stopped_ev(void *arg)
{
	struct program *p = arg;

	world_real_stop(p->world);
}

static void
signal_ev(void *arg, int sig)
{
	struct program *p = arg;

	LOG(p->world, LOG_INFO, "main", "signal", "number=%d", sig);
	gw_server_stop(p->server, stopped_ev, p);
}

static struct err *
start(struct program *p, struct arena *a, const struct conf *c)
{
	struct gw_server_conf sc;

	TRY(gw_program_log_level(a, c));
	gw_server_conf_read(c, &sc);
	sc.worker.seeds = conf_text(c, "seeds");
	if (!*sc.worker.seeds)
		return ERR(a, ERRCODE_CONFIG_FILE_ERROR, "no seeds are named");
	TRY(gw_program_key(
	    a, conf_text(c, "cluster.key_file"), &sc.worker.peer.key));
	p->world = world_real_new("gateway", NULL);
	TRY(gw_server_start(p->world, a, &sc, &p->server));
	TRY(gw_program_pid(a, c));
	world_real_on_signal(p->world, signal_ev, p);
	return NULL;
}

static int
run(struct arena *a, const struct conf *c)
{
	struct program p = {NULL, NULL};
	struct err *e = start(&p, a, c);

	if (e) {
		gw_program_error(PROGRAM, e);
		return 1;
	}
	world_real_run(p.world);
	gw_program_pid_remove(c);
	return 0;
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
