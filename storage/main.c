/* The program skaidb-storage.  Exit status also ENGINE_WT_EXIT, when the engine
 * failed. */
#include "base/http.h"
#include "base/program.h"
#include "base/world_real.h"
#include "storage/datadir.h"
#include "storage/engine_wt.h"
#include "storage/node.h"

struct storage {
	struct program program;
	struct st_node *node;
};

static void
failed_ev(void *arg, const struct err *e)
{
	struct storage *s = arg;

	program_error(&s->program, e);
	s->program.status = 1;
	world_real_stop(s->program.world);
}

static void
stopped_ev(void *arg)
{
	struct storage *s = arg;

	world_real_stop(s->program.world);
}

static bool
page_ready(void *arg)
{
	return st_node_ready(arg);
}

static void
page_status(void *arg, struct buf *out)
{
	st_node_status(arg, out);
}

static struct err *
load_key(
    struct world *w, struct arena *a, const struct conf *c, struct st_conf *sc)
{
	const char *path = conf_text(c, "cluster.key_file");
	uint8_t random[32];

	if (!path[0])
		path = arena_printf(a, "%s/cluster.key", sc->dir);
	if (sc->init)
		TRY(st_datadir_make(a, sc->dir));
	world_random(w, random, sizeof random);
	return st_keyfile_load(a, path, sc->init, random, &sc->key);
}

static struct err *
start(struct program *p, struct arena *a, const struct conf *c)
{
	struct storage *s = (void *)p;
	const char *http = conf_text(c, "http_listen");
	struct st_events ev = {
	    .failed = failed_ev, .stopped = stopped_ev, .arg = s};
	struct http_pages pages = {page_ready, page_status, NULL};
	struct st_conf sc;

	st_conf_read(c, &sc);
	p->world = world_real_new("storage", engine_wt_open);
	TRY(load_key(p->world, a, c, &sc));
	TRY(st_node_start(p->world, a, &sc, &ev, &s->node));
	pages.arg = s->node;
	return *http ? http_serve(p->world, a, http, &pages) : NULL;
}

static void
stop(struct program *p)
{
	struct storage *s = (void *)p;

	st_node_stop(s->node);
}

int
main(int argc, char **argv)
{
	struct storage s = {.program = {.name = "skaidb-storage",
				.items = st_conf_items,
				.start = start,
				.stop = stop}};

	program_main(&s.program, argc, argv);
}
