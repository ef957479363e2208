/* The program skaidb-gateway. */
#include <errno.h>
#include <stdio.h>

#include "base/program.h"
#include "base/world_real.h"
#include "cluster/handshake.h"
#include "gateway/server.h"

#define KEY_FILE_MAX 4096

static const struct conf_item items[] = {
    {"seeds", CONF_TEXT, "127.0.0.1:7433", 0, 0, "ADDRS",
	"Addresses of nodes to learn the cluster from, separated by commas."},
    {"cluster.key_file", CONF_TEXT, "cluster.key", 0, 0, "FILE",
	"File with the cluster key, as the first node made it."},
    GW_SERVER_ITEMS,
    {NULL, CONF_TEXT, NULL, 0, 0, NULL, NULL},
};

struct gateway {
	struct program program;
	struct gw_server *server;
};

static struct err *
key_load(struct arena *a, const char *path, struct str *key)
{
	char text[KEY_FILE_MAX];
	FILE *f = *path ? fopen(path, "re") : NULL;
	size_t n;

	if (!f)
		return err_hint(
		    ERR(a, ERRCODE_CONFIG_FILE_ERROR,
			"could not read the cluster key file \"%s\": %s", path,
			*path ? strerror(errno) : "none is named"),
		    "Copy the file that the first node made, and name it "
		    "with --cluster-key-file.");
	n = fread(text, 1, sizeof text, f);
	(void)fclose(f);
	return cl_cluster_key_parse(a, path, str_of(text, n), key);
}

static struct err *
start(struct program *p, struct arena *a, const struct conf *c)
{
	struct gateway *g = (void *)p;
	struct gw_server_conf sc;

	gw_server_conf_read(c, &sc);
	sc.worker.seeds = conf_text(c, "seeds");
	if (!*sc.worker.seeds)
		return ERR(a, ERRCODE_CONFIG_FILE_ERROR, "no seeds are named");
	TRY(key_load(a, conf_text(c, "cluster.key_file"), &sc.worker.peer.key));
	p->world = world_real_new("gateway", NULL);
	return gw_server_start(p->world, a, &sc, &g->server);
}

static void
stopped_ev(void *arg)
{
	struct gateway *g = arg;

	world_real_stop(g->program.world);
}

static void
stop(struct program *p)
{
	struct gateway *g = (void *)p;

	gw_server_stop(g->server, stopped_ev, g);
}

int
main(int argc, char **argv)
{
	struct gateway g = {.program = {.name = "skaidb-gateway",
				.items = items,
				.start = start,
				.stop = stop}};

	program_main(&g.program, argc, argv);
}
