#include "storage/node_int.h"

#include <inttypes.h>

#include "base/log.h"
#include "cluster/token.h"
#include "storage/build.h"
#include "storage/catalog.h"
#include "storage/clock.h"
#include "storage/config.h"
#include "storage/conn.h"
#include "storage/elect.h"
#include "storage/fill.h"
#include "storage/identity.h"
#include "storage/join.h"
#include "storage/lease.h"
#include "storage/life.h"
#include "storage/link.h"
#include "storage/log.h"
#include "storage/peer.h"
#include "storage/resync.h"
#include "storage/scrub.h"
#include "storage/sweep.h"

#define STOP_CHECK_US   20000u
#define VOTERS_CHECK_US 200000u

/*   STARTING ---> SERVING ---> DRAINING ---> STOPPED
 *      |  |                       ^
 *      |  +-----------------------+
 *      +--> FAILED ---------------+   (when told to stop)
 *
 * The start fiber waits in STARTING for the engine, for peers and for the
 * catalog; the drain fiber waits in DRAINING for requests to end. */
void
st_node_move(struct st_node *n, enum st_node_state to)
{
	static const bool allowed[5][5] = {
	    [ST_NODE_STARTING] = {[ST_NODE_SERVING] = true,
		[ST_NODE_DRAINING] = true,
		[ST_NODE_FAILED] = true},
	    [ST_NODE_SERVING] = {[ST_NODE_DRAINING] = true},
	    [ST_NODE_DRAINING] = {[ST_NODE_STOPPED] = true},
	    [ST_NODE_FAILED] = {[ST_NODE_DRAINING] = true},
	};

	ASSERT(allowed[n->state][to]);
	LOG(n->world, LOG_INFO, "node", "state", "from=%d to=%d member=%u",
	    (int)n->state, (int)to, n->id.member);
	n->state = to;
	cond_broadcast(&n->wakeup);
}

/* ---- shared helpers ---- */

struct st_scratch *
st_scratch_new(struct st_node *n, const char *name)
{
	struct arena *a = arena_new(NULL, name);
	struct st_scratch *s = NEW(a, struct st_scratch);

	s->arena = a;
	list_push(&n->scratches, &s->link);
	return s;
}

void
st_scratch_free(struct st_scratch *s)
{
	list_del(&s->link);
	arena_free(s->arena);
}

static void
free_scratches_ev(void *arg)
{
	struct st_node *n = arg;

	while (!list_empty(&n->scratches))
		st_scratch_free(
		    LIST_ENTRY(n->scratches.next, struct st_scratch, link));
}

cl_stamp
st_now(const struct st_node *n)
{
	cl_stamp wall = CL_STAMP_OF_MS(st_wall_ms(n));

	return wall > n->clock.c.last ? wall : n->clock.c.last;
}

uint64_t
st_mono_of(const struct st_node *n, cl_stamp deadline)
{
	uint64_t now = world_mono_us(n->world);
	uint64_t ms = CL_STAMP_MS(deadline), now_ms = CL_STAMP_MS(st_now(n));
	uint64_t most = n->conf.retry_window_us;

	if (ms <= now_ms)
		return now;
	return (ms - now_ms) >= most / 1000 ? now + most
					    : now + (ms - now_ms) * 1000;
}

void
st_background(struct st_node *n, const char *name, void (*fn)(void *n))
{
	n->n_fibers++;
	fiber_spawn(n->world, name, FIBER_STACK_NODE, fn, n);
}

void
st_background_end(struct st_node *n)
{
	ASSERT(n->n_fibers > 0);
	if (--n->n_fibers == 0)
		cond_broadcast(&n->idle);
}

/* ---- starting ---- */

static struct err *
check_conf(struct arena *a, const struct st_conf *c)
{
	if (c->key.len < ST_KEY_MIN)
		return ERR(a, ERRCODE_CONFIG_FILE_ERROR,
		    "the cluster key is shorter than %u bytes", ST_KEY_MIN);
	if (!c->slots || (c->slots & (c->slots - 1)) || c->slots > CL_SLOTS_MAX)
		return ERR(a, ERRCODE_CONFIG_FILE_ERROR,
		    "slots must be a power of two up to %d", CL_SLOTS_MAX);
	if (!c->replication || c->replication > CL_COPIES_MAX)
		return ERR(a, ERRCODE_CONFIG_FILE_ERROR,
		    "replication must be between 1 and %d", CL_COPIES_MAX);
	if (!c->dir[0] || !c->listen[0])
		return ERR(a, ERRCODE_CONFIG_FILE_ERROR,
		    "a data directory and an address to listen on are needed");
	return NULL;
}

/* Who this node is: as it was, newly formed, or newly joined. */
static struct err *
become(struct st_node *n, struct arena *a)
{
	const struct st_conf *c = &n->conf;

	if (n->id.known) {
		if (c->init && !c->init_if_empty)
			return err_hint(
			    ERR(a, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
				"data directory \"%s\" belongs to a cluster "
				"already",
				c->dir),
			    "Start without --init.");
		n->id.incarnation++;
		return st_identity_save(n, a);
	}
	if (c->init || c->init_if_empty)
		return st_form(n, a);
	if (c->join[0])
		return st_join(n, a);
	return err_hint(ERR(a, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
			    "data directory \"%s\" is empty", c->dir),
	    "Form a cluster with --init, or join one with --join.");
}

/* The founder, when there is no catalog yet: not one whose copy of it is being
 * made anew. */
static bool
has_to_found(struct st_node *n)
{
	const struct st_group *g = st_group_find(n, CL_PLACEMENT_CATALOG, 0);

	return n->id.founder && !cl_catalog_version(n->catalog.snap) &&
	       !(g && g->incomplete);
}

/* What was decided while it was down comes before it serves. */
static struct err *
first_catalog(struct st_node *n, struct arena *a)
{
	enum cl_refusal why;

	st_catalog_held(n);
	if (n->catalog.holds &&
	    !st_group_open(n, st_catalog_gid, 0, WORLD_FOREVER, &why))
		return ERR(a, ERRCODE_DATA_CORRUPTED,
		    "this node's copy of the catalog cannot be read");
	if (has_to_found(n))
		TRY(st_catalog_found(n, a));
	st_follow_start(n);
	while (!n->catalog.followed && n->state == ST_NODE_STARTING &&
	       !n->outdated)
		cond_wait(&n->catalog.changed, WORLD_FOREVER);
	if (n->outdated)
		return err_hint(
		    ERR(a, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
			"another member refuses this one: %s", n->outdated),
		    "Put its newest directory back, or let it join as a new "
		    "member with an empty one.");
	return NULL;
}

static struct err *
start(struct st_node *n, struct arena *a)
{
	world_random(n->world, n->life, sizeof n->life);
	TRY(st_identity_load(n, a));
	st_lives_load(n);
	TRY(become(n, a));
	n->introduced = true;
	st_clock_start(n);
	st_log_start(n);
	st_lease_open(n);
	st_links_start(n);
	return first_catalog(n, a);
}

/* The catalog gets more voters as members join; one at a time. */
static void
voters_fiber(void *arg)
{
	struct st_node *n = TAKE(struct st_node, arg, ST_NODE_MAGIC);

	while (n->state <= ST_NODE_SERVING) {
		st_config_grow(n);
		cond_wait(&n->catalog.changed,
		    world_mono_us(n->world) + VOTERS_CHECK_US);
	}
	st_background_end(n);
}

static void
refresh_fiber(void *arg)
{
	struct st_node *n = TAKE(struct st_node, arg, ST_NODE_MAGIC);
	struct arena *a = arena_new(n->arena, "refresh");
	struct err *e = st_member_refresh(n, a);

	if (e)
		LOG(n->world, LOG_WARN, "node", "refresh_failed", "why=\"%s\"",
		    e->message);
	arena_free(a);
	st_background_end(n);
}

static void
fail(struct st_node *n, const struct err *e)
{
	n->failure = err_copy(n->arena, e);
	LOG(n->world, LOG_ERROR, "node", "start_failed", "why=\"%s\"",
	    e->message);
	if (n->state != ST_NODE_STARTING)
		return; /* told to stop meanwhile */
	st_node_move(n, ST_NODE_FAILED);
	if (n->events.failed)
		n->events.failed(n->events.arg, n->failure);
}

static void
start_fiber(void *arg)
{
	struct st_node *n = TAKE(struct st_node, arg, ST_NODE_MAGIC);
	struct arena *a = arena_new(n->arena, "start");
	struct err *e = start(n, a);

	if (e)
		fail(n, e);
	if (n->state == ST_NODE_STARTING) {
		st_node_move(n, ST_NODE_SERVING);
		st_sweep_start(n);
		st_resync_start(n);
		st_scrub_start(n);
		st_fill_start(n);
		st_build_start(n);
		st_background(n, "refresh", refresh_fiber);
		st_background(n, "voters", voters_fiber);
		LOG(n->world, LOG_INFO, "node", "serving",
		    "member=%u catalog=%" PRIu64, n->id.member,
		    cl_catalog_version(n->catalog.snap));
		if (n->events.ready)
			n->events.ready(n->events.arg);
	}
	arena_free(a);
	st_background_end(n);
}

static void
init_node(struct st_node *n)
{
	struct world *w = n->world;

	list_init(&n->scratches);
	list_init(&n->listeners);
	list_init(&n->conns);
	list_init(&n->peers);
	list_init(&n->links);
	list_init(&n->resyncs);
	list_init(&n->sources);
	list_init(&n->log.queue);
	list_init(&n->log.applied);
	list_init(&n->log.trims);
	cond_init(&n->log.more, w);
	cond_init(&n->clock.want, w);
	cond_init(&n->clock.flushed, w);
	cond_init(&n->idle, w);
	cond_init(&n->wakeup, w);
	n->groups = map_new(n->arena);
	arena_cleanup(n->arena, free_scratches_ev, n);
	st_catalog_init(n);
	st_fill_init(n);
}

struct listener {
	struct list link;
	struct net_listener *net;
};

static struct err *
listen_all(struct st_node *n, struct arena *a)
{
	char *list = arena_strdup(n->arena, n->conf.listen), *save = NULL;

	for (char *s = strtok_r(list, ", ", &save); s;
	     s = strtok_r(NULL, ", ", &save)) {
		struct listener *l = NEW(n->arena, struct listener);

		TRY(net_listen(n->world, a, s, st_conn_accept_ev, n, &l->net));
		list_push(&n->listeners, &l->link);
		LOG(n->world, LOG_INFO, "node", "listen", "addr=%s", s);
	}
	return NULL;
}

static void
unlisten_all(struct st_node *n)
{
	struct list *at;

	while ((at = list_pop(&n->listeners)))
		net_unlisten(
		    n->world, LIST_ENTRY(at, struct listener, link)->net);
}

struct err *
st_node_start(struct world *w, struct arena *a, const struct st_conf *conf,
    const struct st_events *ev, struct st_node **out)
{
	struct arena *arena = arena_new(w->arena, "node");
	struct st_node *n = NEW(arena, struct st_node);
	struct engine_config ec = {.dir = conf->dir,
	    .cache_bytes = conf->cache_bytes,
	    .log_file_bytes = conf->log_file_bytes,
	    .checkpoint_log_bytes = conf->checkpoint_log_bytes,
	    .disk_reserve = conf->disk_reserve,
	    .threads = conf->engine_threads,
	    .inline_reads = conf->inline_reads,
	    .inline_writes = conf->inline_writes};
	struct err *e;

	*out = NULL;
	n->magic = ST_NODE_MAGIC;
	n->world = w;
	n->arena = arena;
	n->conf = *conf;
	if (ev)
		n->events = *ev;
	init_node(n);
	TRY_TO(failed, e, check_conf(a, conf));
	TRY_TO(failed, e, engine_open(w, a, &ec, &n->engine));
	e = listen_all(n, a);
	if (e) {
		unlisten_all(n);
		engine_close(n->engine);
		goto failed;
	}
	st_background(n, "start", start_fiber);
	*out = n;
	return NULL;
failed:
	arena_free(arena);
	return e;
}

/* ---- stopping ---- */

static bool
is_quiet(const struct st_node *n)
{
	return n->n_requests == 0 && st_groups_idle(n);
}

/* Requests end by themselves: each meets a check of the state after its next
 * wait. What still hangs after drain_us waits for something that may never
 * come, and is left behind as a crash would leave it. */
static bool
wait_quiet(struct st_node *n)
{
	uint64_t until = world_mono_us(n->world) + n->conf.drain_us;

	while (!is_quiet(n) && world_mono_us(n->world) < until) {
		cond_broadcast(&n->catalog.changed);
		cond_broadcast(&n->clock.flushed);
		cond_wait(&n->idle, world_mono_us(n->world) + STOP_CHECK_US);
	}
	return is_quiet(n);
}

static bool
wait_fibers(struct st_node *n)
{
	uint64_t until = world_mono_us(n->world) + n->conf.drain_us;

	while (n->n_fibers && world_mono_us(n->world) < until) {
		st_log_wake(n);
		st_links_wake(n);
		st_fill_wake(n);
		cond_broadcast(&n->clock.want);
		cond_broadcast(&n->clock.flushed);
		cond_broadcast(&n->catalog.changed);
		cond_broadcast(&n->wakeup);
		cond_wait(&n->idle, world_mono_us(n->world) + STOP_CHECK_US);
	}
	return n->n_fibers == 0;
}

static void
drain_fiber(void *arg)
{
	struct st_node *n = TAKE(struct st_node, arg, ST_NODE_MAGIC);
	bool quiet;

	unlisten_all(n);
	st_conns_pause(n);
	cond_broadcast(&n->catalog.changed);
	quiet = wait_quiet(n);
	st_groups_close(n);
	st_links_leave(n);
	st_conns_close(n);
	st_peers_close(n);
	st_node_move(n, ST_NODE_STOPPED);
	if (wait_fibers(n) && quiet) {
		st_clock_stop(n);
		engine_sync(n->engine);
		engine_close(n->engine);
	} else {
		LOG(n->world, LOG_WARN, "node", "not_drained",
		    "requests=%zu fibers=%zu", n->n_requests, n->n_fibers);
	}
	LOG(n->world, LOG_INFO, "node", "stopped", "member=%u", n->id.member);
	if (n->events.stopped)
		n->events.stopped(n->events.arg);
}

void
st_node_stop(struct st_node *n)
{
	if (n->state == ST_NODE_DRAINING || n->state == ST_NODE_STOPPED)
		return;
	st_node_move(n, ST_NODE_DRAINING);
	fiber_spawn(n->world, "drain", FIBER_STACK_NODE, drain_fiber, n);
}

/* ---- what others ask ---- */

bool
st_node_ready(const struct st_node *n)
{
	return n->state == ST_NODE_SERVING;
}

uint32_t
st_node_member(const struct st_node *n)
{
	return n->id.known ? n->id.member : 0;
}

uint64_t
st_node_catalog_version(const struct st_node *n)
{
	return cl_catalog_version(n->catalog.snap);
}
