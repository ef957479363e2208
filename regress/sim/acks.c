#include "regress/sim/acks.h"

#include "cluster/msg.h"
#include "storage/pass.h"

#define WATCHED_MAX 256

/* A group in a frame of entries that went to a member whose copy was incomplete
 * then, by its disk. */
struct watched {
	const struct fleet_node *to;
	const struct sim_host *from;
	uint64_t request;
	uint32_t at; /* in the frame */
	struct st_gid gid;
	uint64_t begun; /* the pass */
};

struct acks {
	struct run *run;
	struct arena *arena;
	struct watched watched[WATCHED_MAX];
	uint32_t n; /* in all; the last ones are there */
};

static const struct fleet_node *
node_of(const struct acks *k, const struct sim_host *h)
{
	const struct fleet *f = k->run->fleet;

	for (uint32_t i = 0; i < f->conf.nodes; i++)
		if (f->nodes[i].host == h)
			return &f->nodes[i];
	return NULL;
}

/* ---- what the disk says ---- */

struct look {
	struct str key;
	struct st_pass pass;
	bool any, found;
};

static bool
pass_ev(void *arg, struct str key, struct str val)
{
	struct look *l = arg;

	l->any = key.len > 0 && key.p[0] == 'R';
	l->found =
	    l->key.len > 0 && str_eq(key, l->key) && st_pass_get(val, &l->pass);
	return false;
}

static bool
is_any_incomplete(const struct fleet_node *n)
{
	struct look l = {.key = STR_NONE};

	engine_mem_each(n->disk.disk, KV_META, STR("R"), pass_ev, &l);
	return l.any;
}

static bool
is_incomplete(struct acks *k, const struct fleet_node *n, struct st_gid gid,
    uint64_t *begun)
{
	struct look l = {.any = false};
	struct buf b;

	buf_init(&b, k->arena);
	st_key_pass(&b, gid);
	l.key = buf_view(&b);
	engine_mem_each(n->disk.disk, KV_META, l.key, pass_ev, &l);
	*begun = l.pass.begun;
	return l.found;
}

/* ---- frames ---- */

/* Numbers begin again with each connection: of two frames with the same one,
 * the answer is to the later. */
static void
forget(struct acks *k, const struct fleet_node *to, const struct sim_host *from,
    uint64_t request)
{
	for (uint32_t i = 0; i < WATCHED_MAX; i++) {
		struct watched *w = &k->watched[i];

		if (w->to == to && w->from == from && w->request == request)
			w->to = NULL;
	}
}

static void
note_append(struct acks *k, const struct fleet_node *to,
    const struct sim_host *from, uint64_t request, const struct cl_append *m)
{
	forget(k, to, from, request);
	for (uint32_t i = 0; i < m->n_groups; i++) {
		const struct cl_append_head *h = &m->groups[i];
		struct watched w = {.to = to,
		    .from = from,
		    .request = request,
		    .at = i,
		    .gid = {h->placement, h->slot, h->epoch}};

		if (is_incomplete(k, to, w.gid, &w.begun))
			k->watched[k->n++ % WATCHED_MAX] = w;
	}
}

static void
check_acks(struct acks *k, const struct fleet_node *who,
    const struct sim_host *leader, uint64_t request,
    const struct cl_appended *m)
{
	for (uint32_t i = 0; i < WATCHED_MAX; i++) {
		struct watched *w = &k->watched[i];
		uint64_t begun;

		if (w->to != who || w->from != leader ||
		    w->request != request || w->at >= m->n_acks)
			continue;
		w->to = NULL;
		if (m->acks[w->at].result == CL_APPEND_OK &&
		    is_incomplete(k, who, w->gid, &begun) && begun == w->begun)
			run_fail(k->run,
			    "%s acknowledges entries of slot %u of placement "
			    "%u, and its copy is incomplete",
			    sim_host_name(who->host), w->gid.slot,
			    w->gid.placement);
	}
}

static void
tap_ev(void *arg, struct sim_host *from, struct sim_host *to, struct str bytes)
{
	struct acks *k = arg;
	const struct fleet_node *a = node_of(k, from), *b = node_of(k, to);
	struct cl_frame f;
	void *m;

	if (!a || !b || (!is_any_incomplete(a) && !is_any_incomplete(b)))
		return;
	arena_reset(k->arena);
	if (cl_frame_read(k->arena, bytes, &f) ||
	    (f.kind != CL_MSG_APPEND && f.kind != CL_MSG_APPENDED) ||
	    cl_msg_decode(k->arena, f.kind, f.body, &m))
		return;
	if (f.kind == CL_MSG_APPEND)
		note_append(k, b, from, f.request, m);
	else
		check_acks(k, a, to, f.request, m);
}

void
acks_watch(struct run *r)
{
	struct acks *k = NEW(sim_arena(r->sim), struct acks);

	k->run = r;
	k->arena = arena_new(sim_arena(r->sim), "acks");
	sim_net_tap(r->sim, tap_ev, k);
}
