#include "gateway/catalog.h"

#include "base/log.h"
#include "base/metrics.h"

#define CATALOG_MAGIC 0x63617467u
/* How long a node holds a poll without news. */
#define POLL_US (10u * 1000000u)
/* The same when frames show that there is news. */
#define POLL_NEWS_US 300000u
/* Beyond that, an answer is late. */
#define POLL_GRACE_US (3u * 1000000u)
/* Between polls after a failure, and after a refresh. */
#define RETRY_US   200000u
#define REFRESH_US 100000u

struct gw_catalog {
	uint32_t magic;
	struct world *world;
	struct gw_peers *peers;
	struct gw_leaders *leaders;
	struct cl_catalog *now;
	struct str *seeds;
	size_t n_seeds;
	struct cond changed; /* a new snapshot, or refresh or stop was asked */
	uint64_t wanted;     /* highest version seen on a frame */
	bool refresh;
	bool stop;
	size_t turn; /* whose turn it is among those who can be asked */
	uint64_t heard_us;
	bool heard;
	struct gw_peer *source;
};

/* One fetch: the pages of one version. */
struct fetch {
	struct arena *arena;
	uint64_t version;
	bool full;
	const struct cl_object **objects;
	size_t n, cap;
};

struct cl_catalog *
gw_catalog_now(const struct gw_catalog *c)
{
	return c->now;
}

uint64_t
gw_catalog_version(const struct gw_catalog *c)
{
	return cl_catalog_version(c->now);
}

/* Somebody showed a version that we do not have. */
static bool
catalog_behind(const struct gw_catalog *c)
{
	return c->wanted > gw_catalog_version(c);
}

static bool
catalog_route(const struct gw_catalog *c, struct gw_route *out)
{
	return gw_route_slot(c->now, CL_PLACEMENT_CATALOG, 0, out);
}

uint32_t
gw_catalog_leader(const struct gw_catalog *c)
{
	struct gw_route to;

	return catalog_route(c, &to) ? gw_leaders_find(c->leaders, &to) : 0;
}

/* ---- whom to ask ---- */

/* The place of a member in the order: the leader, the group's others in their
 * order, the other members. */
static size_t
source_rank(const struct gw_route *to, uint32_t leader, uint32_t member)
{
	size_t i = 0;

	if (member == leader)
		return 0;
	while (i < to->n && to->members[i] != member)
		i++;
	return i < to->n ? 1 : 2;
}

/* The n-th of: the leader, the group's other members, the other nodes, the
 * seeds. */
static struct gw_peer *
source_at(struct gw_catalog *c, size_t n)
{
	uint32_t leader = gw_catalog_leader(c);
	const struct cl_object *o;
	struct gw_route to = {.n = 0};

	(void)catalog_route(c, &to);
	for (size_t rank = 0; rank < 3; rank++) {
		size_t at = 0;

		while ((o = cl_each(c->now, CL_MEMBER, &at))) {
			if (source_rank(&to, leader, o->id) == rank && n-- == 0)
				return gw_peers_member(c->peers, c->now, o->id);
		}
	}
	if (n < c->n_seeds)
		return gw_peers_at(c->peers, c->seeds[n], 0);
	return NULL;
}

/* From the one whose turn it is on, the first that is not known to be away;
 * when all are, that one. */
static struct gw_peer *
source_next(struct gw_catalog *c)
{
	struct gw_peer *p = source_at(c, c->turn), *first;
	size_t turn;

	if (!p) {
		c->turn = 0;
		p = source_at(c, 0);
	}
	first = p;
	for (turn = c->turn; p && gw_peer_lost(p, CL_MSG_CATALOG_GET);)
		p = source_at(c, ++turn);
	if (!p)
		return first;
	c->turn = turn;
	return p;
}

/* ---- fetching ---- */

static void
fetch_add(struct fetch *f, const struct cl_object *o)
{
	if (f->n == f->cap) {
		size_t cap = f->cap ? 2 * f->cap : 64;

		f->objects = arena_grow(f->arena, f->objects,
		    f->cap * sizeof *f->objects, cap * sizeof *f->objects);
		f->cap = cap;
	}
	f->objects[f->n++] = o;
}

static struct err *
fetch_object(struct fetch *f, const struct cl_object_change *change)
{
	struct cl_object *o = NEW(f->arena, struct cl_object);

	TRY(cl_change_object(f->arena, change, o));
	fetch_add(f, o);
	return NULL;
}

/* Takes one page in. A page of another version than the ones before starts
 * the fetch anew with it. */
static struct err *
fetch_page(struct fetch *f, const struct cl_catalog_page *page)
{
	if (page->version != f->version) {
		f->n = 0;
		f->version = page->version;
		f->full = page->full;
	}
	for (uint32_t i = 0; i < page->n_objects; i++)
		TRY(fetch_object(f, &page->objects[i]));
	return NULL;
}

/* Waits for the answer to a poll; NULL when there is none, or something else
 * is to be done first. */
static const struct cl_catalog_page *
poll_wait(struct gw_catalog *c, struct gw_call *call, uint64_t deadline_us)
{
	while (call->state != GW_CALL_DONE) {
		enum wake w = cond_wait(&c->changed, deadline_us);

		if (call->state == GW_CALL_DONE)
			break;
		if (w != WAKE_EVENT || c->stop || c->refresh) {
			gw_call_abandon(call, "poll given up");
			break;
		}
	}
	if (call->result != GW_OK || call->reply_kind != CL_MSG_CATALOG)
		return NULL;
	return call->reply;
}

static struct err *
fetch_run(struct gw_catalog *c, struct gw_peer *p, struct fetch *f, bool *ok)
{
	struct cl_catalog_get get = {.since = gw_catalog_version(c),
	    .wait_us = catalog_behind(c) ? POLL_NEWS_US : POLL_US};
	const struct cl_catalog_page *page;

	*ok = false;
	for (;;) {
		struct gw_call call = {.arena = f->arena, .wake = &c->changed};

		gw_call_begin(p, &call, CL_MSG_CATALOG_GET, &get);
		page = poll_wait(c, &call,
		    world_mono_us(c->world) + get.wait_us + POLL_GRACE_US);
		if (!page)
			return NULL;
		TRY(fetch_page(f, page));
		if (!page->more)
			break;
		if (!page->n_objects)
			return NULL;
		get.version = page->version;
		get.wait_us = 0;
		get.after_kind = page->objects[page->n_objects - 1].kind;
		get.after_id = page->objects[page->n_objects - 1].id;
	}
	*ok = true;
	return NULL;
}

static void
catalog_install(struct gw_catalog *c, const struct fetch *f)
{
	struct cl_catalog *empty = NULL;
	struct cl_catalog *next;

	/* A node that is behind says an older version: nothing new. */
	if (f->version <= gw_catalog_version(c))
		return;
	if (f->full)
		empty = cl_catalog_new();
	next = cl_catalog_apply(
	    empty ? empty : c->now, f->version, f->objects, f->n);
	if (empty)
		cl_catalog_unref(empty);
	cl_catalog_unref(c->now);
	c->now = next;
	gw_peers_set_catalog(c->peers, f->version);
	metric_peak(M_GW_CATALOG_VERSION, f->version);
	LOG(c->world, LOG_TRACE, "catalog", "installed",
	    "version=%llu objects=%zu full=%d", (unsigned long long)f->version,
	    f->n, f->full);
	gw_leaders_trim(c->leaders, c->now);
	cond_broadcast(&c->changed);
}

static bool
catalog_poll(struct gw_catalog *c)
{
	struct arena *a = arena_new(c->world->arena, "catalog fetch");
	struct fetch f = {.arena = a};
	struct err *e = NULL;
	bool ok = false;

	c->source = source_next(c);
	if (c->source)
		e = fetch_run(c, c->source, &f, &ok);
	if (e)
		LOG(c->world, LOG_ERROR, "catalog", "unreadable",
		    "addr=%s why=\"%s\"", gw_peer_addr(c->source), e->message);
	ok = ok && !e;
	if (ok) {
		c->heard = true;
		c->heard_us = world_mono_us(c->world);
		catalog_install(c, &f);
	}
	arena_free(a);
	return ok;
}

static void
catalog_pause(struct gw_catalog *c, uint64_t us)
{
	uint64_t jitter = world_random_below(c->world, us / 2 + 1);
	uint64_t until = world_mono_us(c->world) + us / 2 + jitter;

	while (!c->stop && cond_wait(&c->changed, until) == WAKE_EVENT)
		;
}

static void
catalog_fiber(void *arg)
{
	struct gw_catalog *c = TAKE(struct gw_catalog, arg, CATALOG_MAGIC);

	while (!c->stop) {
		uint64_t before = gw_catalog_version(c);
		bool ok;

		c->refresh = false;
		ok = catalog_poll(c);
		/* Who failed, or had nothing though a frame showed more,
		 * loses its turn; after anybody else the leader has it. */
		if (!ok ||
		    (gw_catalog_version(c) == before && c->wanted > before))
			c->turn++;
		else
			c->turn = 0;
		if (!ok)
			catalog_pause(c, c->refresh ? REFRESH_US : RETRY_US);
	}
}

/* ---- outside ---- */

static void
catalog_seen(void *arg, uint64_t version)
{
	struct gw_catalog *c = TAKE(struct gw_catalog, arg, CATALOG_MAGIC);

	if (version > c->wanted)
		c->wanted = version;
}

static void
seeds_read(struct gw_catalog *c, const char *seeds)
{
	struct arena *a = c->world->arena;
	size_t max = strlen(seeds) / 2 + 1;

	c->seeds = NEW_N(a, struct str, max);
	while (*seeds) {
		size_t skip = strspn(seeds, ", \t");
		size_t len = strcspn(seeds + skip, ", \t");

		if (len)
			c->seeds[c->n_seeds++] =
			    arena_str(a, str_of(seeds + skip, len));
		seeds += skip + len;
	}
	ASSERT(c->n_seeds > 0);
}

/* Snapshots are not of the world's arena: they end with it, too. */
static void
catalog_cleanup(void *arg)
{
	struct gw_catalog *c = arg;

	cl_catalog_unref(c->now);
	c->now = NULL;
}

struct gw_catalog *
gw_catalog_start(struct world *w, struct gw_peers *peers,
    struct gw_leaders *leaders, const char *seeds)
{
	struct gw_catalog *c = NEW(w->arena, struct gw_catalog);

	c->magic = CATALOG_MAGIC;
	c->world = w;
	c->peers = peers;
	c->leaders = leaders;
	c->now = cl_catalog_new();
	arena_cleanup(w->arena, catalog_cleanup, c);
	cond_init(&c->changed, w);
	seeds_read(c, seeds);
	/* Gateways started together begin with different seeds. */
	c->turn = (size_t)world_random_below(w, c->n_seeds);
	gw_peers_on_catalog(peers, catalog_seen, c);
	(void)fiber_spawn(w, "catalog", FIBER_STACK_GATEWAY, catalog_fiber, c);
	return c;
}

void
gw_catalog_stop(struct gw_catalog *c)
{
	c->stop = true;
	cond_broadcast(&c->changed);
}

bool
gw_catalog_wait(struct gw_catalog *c, uint64_t version, uint64_t deadline_us)
{
	while (gw_catalog_version(c) < version && !c->stop) {
		if (cond_wait(&c->changed, deadline_us) != WAKE_EVENT)
			break;
	}
	return gw_catalog_version(c) >= version;
}

/* ---- how new it is ---- */

/* How long one member is waited for when there are others. */
#define CONFIRM_US 500000u
/* Between rounds that found no leader. */
#define CONFIRM_PAUSE_US 30000u

/* One read of the catalog's group. The leader answers it only while it leads,
 * and the answer's frame says its version: see catalog_seen. *again: another
 * member, or after a pause, may answer. */
static bool
confirm_ask(struct gw_catalog *c, struct arena *a, struct gw_aim *aim,
    uint64_t deadline_us, bool *at_once)
{
	struct gw_route to;
	struct cl_point point = {.placement = CL_PLACEMENT_CATALOG};
	struct cl_read read = {.points = &point, .n_points = 1};
	struct gw_call_opts o = {.kind = CL_MSG_READ,
	    .msg = &read,
	    .expect = CL_MSG_ROWS,
	    .deadline_us = deadline_us,
	    .arena = a};
	struct gw_peer *p;
	enum gw_result r = GW_NOT_SENT;
	const struct cl_rows *rows;
	const char *why;
	struct buf key;
	void *reply = NULL;

	*at_once = false;
	if (!catalog_route(c, &to))
		return false;
	p = gw_peers_member(c->peers, c->now, gw_aim_at(aim, c->leaders, &to));
	buf_init(&key, a);
	cl_object_key(&key, CL_COUNTER, 0);
	point.key = buf_view(&key);
	point.epoch = to.epoch;
	if (to.n > 1 && world_mono_us(c->world) + CONFIRM_US < deadline_us)
		o.deadline_us = world_mono_us(c->world) + CONFIRM_US;
	if (p && !(to.n > 1 && gw_peer_lost(p, CL_MSG_READ)))
		r = gw_call(p, &o, &reply, &why);
	rows = reply;
	if (!catalog_route(c, &to))
		return false;
	if (r == GW_OK && !rows->reason) {
		gw_aim_served(aim, c->leaders, &to);
		return true;
	}
	if (r == GW_OK)
		*at_once = gw_aim_refused(aim, c->leaders, &to,
		    rows->n_elsewhere == 1 ? rows->elsewhere[0].leader : 0);
	else
		*at_once = gw_aim_missed(
		    aim, c->leaders, &to, p && gw_peer_lost(p, CL_MSG_READ));
	return false;
}

static bool
confirm_run(struct gw_catalog *c, struct arena *a, uint64_t deadline_us)
{
	struct gw_aim aim = {.any = false};

	while (!c->stop) {
		uint64_t now = world_mono_us(c->world);
		bool at_once;

		if (now >= deadline_us)
			return false;
		if (confirm_ask(c, a, &aim, deadline_us, &at_once))
			return true;
		now = world_mono_us(c->world);
		if (!at_once && fiber_sleep(c->world, now + CONFIRM_PAUSE_US) !=
				    WAKE_DEADLINE)
			return false;
		if (fiber_cancelled(fiber_self()))
			return false;
	}
	return false;
}

bool
gw_catalog_confirm(struct gw_catalog *c, uint64_t deadline_us)
{
	struct arena *a = arena_new(c->world->arena, "catalog confirm");
	bool ok = confirm_run(c, a, deadline_us);

	arena_free(a);
	/* Who is being polled may be the one that is gone. */
	if (ok)
		gw_catalog_refresh(c);
	return ok && gw_catalog_wait(c, c->wanted, deadline_us);
}

void
gw_catalog_refresh(struct gw_catalog *c)
{
	/* A poll under way brings news by itself, unless who was asked lags. */
	if (!catalog_behind(c))
		return;
	c->refresh = true;
	cond_broadcast(&c->changed);
}

uint64_t
gw_catalog_age_us(const struct gw_catalog *c)
{
	return c->heard ? world_mono_us(c->world) - c->heard_us : UINT64_MAX;
}

const struct gw_peer *
gw_catalog_source(const struct gw_catalog *c)
{
	return c->source;
}
