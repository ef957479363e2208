/* The program skaidb-storage.  Exit status: 0 after a stop, 1 when it could not
 * start, 2 for wrong settings, ENGINE_WT_EXIT when the engine failed. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/conf.h"
#include "base/log.h"
#include "base/world_real.h"
#include "storage/datadir.h"
#include "storage/engine_wt.h"
#include "storage/http.h"
#include "storage/node.h"

struct program {
	struct world *world;
	struct st_node *node;
	int status;
};

static void
print_err(const struct err *e)
{
	fprintf(stderr, "skaidb-storage: %s\n", e->message);
	if (e->detail)
		fprintf(stderr, "DETAIL: %s\n", e->detail);
	if (e->hint)
		fprintf(stderr, "HINT: %s\n", e->hint);
}

static void
signal_ev(void *arg, int sig)
{
	struct program *p = arg;

	LOG(p->world, LOG_INFO, "main", "signal", "number=%d", sig);
	st_node_stop(p->node);
}

static void
failed_ev(void *arg, const struct err *e)
{
	struct program *p = arg;

	print_err(e);
	p->status = 1;
	world_real_stop(p->world);
}

static void
stopped_ev(void *arg)
{
	struct program *p = arg;

	world_real_stop(p->world);
}

static struct err *
write_pid(struct arena *a, const char *path)
{
	FILE *f;

	if (!path[0])
		return NULL;
	f = fopen(path, "w");
	if (!f || fprintf(f, "%ld\n", (long)getpid()) < 0 || fclose(f) != 0)
		return ERR(a, ERRCODE_IO_ERROR,
		    "could not write pid file \"%s\"", path);
	return NULL;
}

static struct err *
load_key(struct program *p, struct arena *a, const struct conf *c,
    struct st_conf *sc)
{
	const char *path = conf_text(c, "cluster.key_file");
	uint8_t random[32];

	if (!path[0])
		path = arena_printf(a, "%s/cluster.key", sc->dir);
	if (sc->init)
		TRY(st_datadir_make(a, sc->dir));
	world_random(p->world, random, sizeof random);
	return st_keyfile_load(a, path, sc->init, random, &sc->key);
}

static struct err *
start(struct program *p, struct arena *a, const struct conf *c)
{
	const char *http = conf_text(c, "http_listen");
	struct st_events ev = {
	    .failed = failed_ev, .stopped = stopped_ev, .arg = p};
	struct st_conf sc;

	st_conf_read(c, &sc);
	TRY(load_key(p, a, c, &sc));
	TRY(st_node_start(p->world, a, &sc, &ev, &p->node));
	if (http[0])
		TRY(st_http_start(p->world, a, http, p->node));
	TRY(write_pid(a, conf_text(c, "pid_file")));
	world_real_on_signal(p->world, signal_ev, p);
	return NULL;
}

static int
run(struct arena *a, const struct conf *c)
{
	struct program p = {.status = 0};
	enum log_level level;
	struct err *e;

	if (!log_level_parse(conf_text(c, "log_level"), &level)) {
		fprintf(stderr, "skaidb-storage: unknown log_level \"%s\"\n",
		    conf_text(c, "log_level"));
		return 2;
	}
	log_set_level(level);
	p.world = world_real_new("storage", engine_wt_open);
	e = start(&p, a, c);
	if (e) {
		print_err(e);
		return 1;
	}
	world_real_run(p.world);
	if (conf_text(c, "pid_file")[0])
		unlink(conf_text(c, "pid_file"));
	return p.status;
}

int
main(int argc, char **argv)
{
	struct arena *a = arena_new(NULL, "main");
	struct conf *c;
	struct err *e =
	    conf_load(a, "skaidb-storage", st_conf_items, argc, argv, &c);
	int status = 0;

	if (e) {
		print_err(e);
		status = 2;
	} else if (conf_action(c) != CONF_RUN) {
		conf_show(c, conf_action(c));
	} else {
		status = run(a, c);
	}
	/* After a failed start engine threads may still hold pieces of it. */
	fflush(NULL);
	_exit(status);
}
