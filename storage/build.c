#include "storage/build.h"

#include "base/log.h"
#include "cluster/ddl.h"
#include "storage/catalog.h"
#include "storage/clock.h"
#include "storage/elect.h"
#include "storage/fill.h"
#include "storage/link.h"
#include "storage/peer.h"
#include "storage/propose.h"

#define CALL_US 8000000u
#define WAIT_US 1000000u /* for a slot to be filled in, per question */
/* Between two rounds in which nothing was heard, or while another node leads
 * the catalog. */
#define PAUSE_US 500000u

/* ---- at the leader of slots ---- */

struct serving {
	struct st_node *node;
	struct arena *arena;
	const struct cl_index_build *m;
	const struct cl_index *def;
	const struct cl_table *table;
	struct st_refusal *who; /* by slot asked for */
	struct cl_index_built *out;
};

/* The group is to know the version of the table that brought the index. All are
 * appended before any is waited for. */
static void
append_schemas(struct serving *s)
{
	struct st_pending **all =
	    NEW_N(s->arena, struct st_pending *, s->m->n_slots + 1);
	const struct st_entry e = {.kind = ST_ENTRY_SCHEMA,
	    .table = s->table->id,
	    .version = s->table->version};

	for (uint32_t i = 0; i < s->m->n_slots; i++) {
		struct st_group *g = st_group_find(
		    s->node, s->table->placement, s->m->slots[i].slot);

		if (!s->who[i].why && g->state == ST_GROUP_LEADING &&
		    st_group_schema(g, e.table) < s->def->version)
			all[i] = st_propose_begin(g, &e);
	}
	for (uint32_t i = 0; i < s->m->n_slots; i++)
		if (all[i])
			st_pending_wait(all[i]);
}

/* What the records of this member say; true when there is nothing to wait for.
 */
static bool
look(struct serving *s)
{
	const struct cl_placement *p =
	    cl_catalog_placement(s->node->catalog.snap, s->table->placement);
	struct arena *a = arena_new(s->arena, "look");
	enum st_index_state *states =
	    NEW_N(a, enum st_index_state, p->n_slots + 1);
	bool done = true;

	st_fill_states(s->node, s->arena, s->def->id, states, p->n_slots,
	    &s->out->failure);
	for (uint32_t i = 0; i < s->m->n_slots; i++) {
		struct cl_index_slot *o = &s->out->slots[i];
		const struct st_group *g = st_group_find(
		    s->node, s->table->placement, s->m->slots[i].slot);

		*o = (struct cl_index_slot){.slot = s->m->slots[i].slot,
		    .state = CL_INDEX_SLOT_BUILDING};
		if (s->who[i].why || g->state != ST_GROUP_LEADING) {
			o->state = CL_INDEX_SLOT_ELSEWHERE;
			o->leader = s->who[i].leader;
		} else if (states[o->slot] == ST_INDEX_FAILED) {
			o->state = CL_INDEX_SLOT_FAILED;
		} else if (states[o->slot] == ST_INDEX_WHOLE &&
			   st_group_applied_schema(g, s->table->id) >=
			       s->def->version) {
			o->state = CL_INDEX_SLOT_BUILT;
		} else {
			done = false;
		}
	}
	if (s->out->failure.len > CL_TEXT_MAX)
		s->out->failure.len = CL_TEXT_MAX;
	arena_free(a);
	return done;
}

/* Are the slots those of the table's placement? */
static bool
find(struct serving *s, uint64_t catalog, uint64_t deadline_us)
{
	const struct cl_catalog *c;
	const struct cl_placement *p;

	st_catalog_wait(s->node, catalog, deadline_us);
	c = st_catalog_pin(s->node, s->arena);
	s->def = cl_catalog_index(c, s->m->index);
	s->table = s->def ? cl_catalog_table(c, s->def->table) : NULL;
	p = s->table ? cl_catalog_placement(c, s->table->placement) : NULL;
	for (uint32_t i = 0; p && i < s->m->n_slots; i++)
		if (s->m->slots[i].slot >= p->n_slots)
			return false;
	return p != NULL;
}

void
st_build_serve(struct st_node *n, struct arena *a,
    const struct cl_index_build *m, uint64_t catalog, uint64_t deadline_us,
    struct cl_index_built *out)
{
	struct serving s = {.node = n, .arena = a, .m = m, .out = out};
	struct st_gid *gids = NEW_N(a, struct st_gid, m->n_slots + 1);
	uint64_t until = world_mono_us(n->world) +
			 (m->wait_us < WAIT_US ? m->wait_us : WAIT_US);

	memset(out, 0, sizeof *out);
	out->slots = NEW_N(a, struct cl_index_slot, m->n_slots + 1);
	out->n_slots = m->n_slots;
	for (uint32_t i = 0; i < m->n_slots; i++)
		out->slots[i].slot = m->slots[i].slot;
	if (!find(&s, catalog, deadline_us))
		return;
	for (uint32_t i = 0; i < m->n_slots; i++)
		gids[i] = (struct st_gid){
		    s.table->placement, m->slots[i].slot, m->slots[i].epoch};
	s.who = NEW_N(a, struct st_refusal, m->n_slots + 1);
	st_groups_lead(n, gids, m->n_slots, catalog, deadline_us, s.who);
	append_schemas(&s);
	while (
	    !look(&s) && n->state == ST_NODE_SERVING && st_fill_wait(n, until))
		continue;
}

/* ---- at the leader of the catalog ---- */

/* A slot, and which of its members to ask. */
struct part {
	uint32_t member;
	uint32_t next; /* of its members, if that one does not lead */
	bool built;
};

struct build {
	struct st_node *node;
	struct arena *arena;
	const struct cl_catalog *catalog;
	uint32_t index;
	const struct cl_placement *placement;
	struct part *parts; /* by slot */
	struct str failure; /* a row has no key */
	uint32_t left, heard;
};

static bool
leads_catalog(struct st_node *n)
{
	const struct st_group *g = st_group_find(n, CL_PLACEMENT_CATALOG, 0);

	return n->state == ST_NODE_SERVING && g && g->state == ST_GROUP_LEADING;
}

static void
ask_another(struct build *b, uint32_t slot, uint32_t hint)
{
	const struct cl_slot_map *m = &b->placement->slots[slot];
	struct part *p = &b->parts[slot];

	p->member =
	    hint && hint != p->member ? hint : m->members[p->next++ % m->n];
}

static void
take_slot(struct build *b, const struct cl_index_slot *s, struct str failure)
{
	struct part *p = &b->parts[s->slot];

	switch (s->state) {
	case CL_INDEX_SLOT_BUILT:
		b->left -= !p->built;
		p->built = true;
		b->heard++;
		break;
	case CL_INDEX_SLOT_FAILED:
		b->failure =
		    failure.len ? failure : STR("22000 a row has no key");
		break;
	case CL_INDEX_SLOT_BUILDING:
		b->heard++;
		break;
	default:
		ask_another(b, s->slot, s->leader);
		break;
	}
}

static const struct cl_index_built *
ask(struct build *b, struct arena *a, uint32_t member,
    const struct cl_index_build *m)
{
	struct st_node *n = b->node;
	uint64_t until = world_mono_us(n->world) + CALL_US;
	struct st_reply_msg reply;

	if (member == n->id.member) {
		struct cl_index_built *out = NEW(a, struct cl_index_built);

		st_build_serve(
		    n, a, m, cl_catalog_version(b->catalog), until, out);
		return out;
	}
	if (!st_link_alive(n, member) ||
	    st_member_call(
		n, a, member, CL_MSG_INDEX_BUILD, m, until, &reply) ||
	    reply.kind != CL_MSG_INDEX_BUILT)
		return NULL;
	return reply.msg;
}

/* Asks one member about all slots that it may lead. */
static void
ask_member(struct build *b, uint32_t member, uint64_t wait_us)
{
	struct arena *a = arena_new(b->arena, "ask");
	struct cl_index_build m = {.index = b->index, .wait_us = wait_us};
	const struct cl_index_built *out;

	m.slots = NEW_N(a, struct cl_slot_ref, b->placement->n_slots);
	for (uint32_t i = 0; i < b->placement->n_slots; i++)
		if (!b->parts[i].built && b->parts[i].member == member)
			m.slots[m.n_slots++] = (struct cl_slot_ref){
			    (uint16_t)i, b->placement->slots[i].epoch};
	out = m.n_slots ? ask(b, a, member, &m) : NULL;
	for (uint32_t i = 0; i < m.n_slots; i++) {
		struct cl_index_slot gone = {.slot = m.slots[i].slot};

		/* An answer is in the order of the question. */
		if (out && out->n_slots == m.n_slots &&
		    out->slots[i].slot == m.slots[i].slot)
			take_slot(b, &out->slots[i],
			    arena_str(b->arena, out->failure));
		else
			take_slot(b, &gone, STR_NONE);
	}
	arena_free(a);
}

/* One question to each member that may lead a slot that is left. */
static void
ask_round(struct build *b, uint64_t wait_us)
{
	const struct cl_object *o;
	size_t at = 0;

	b->heard = 0;
	while ((o = cl_each(b->catalog, CL_MEMBER, &at)) && !b->failure.len &&
	       leads_catalog(b->node))
		ask_member(b, o->id, wait_us);
}

/* What the index has become. If somebody changed it meanwhile nothing is done:
 * the next round sees that. */
static bool
propose_end(struct build *b)
{
	struct st_node *n = b->node;
	struct cl_ddl *d = cl_ddl_new(b->arena, st_catalog_pin(n, b->arena));
	const struct cl_object *now =
	    cl_find(n->catalog.snap, CL_INDEX, b->index);
	struct cl_propose m = {.placement = CL_PLACEMENT_CATALOG, .epoch = 1};
	struct cl_proposed out = {.outcome = 0};
	struct cl_object o;
	struct err *e;

	if (!now || now->u.index.state != CL_INDEX_BUILDING)
		return true;
	o = *now;
	o.u.index.state = b->failure.len ? CL_INDEX_FAILED : CL_INDEX_PUBLIC;
	o.u.index.failure = b->failure;
	cl_ddl_replace(d, &o);
	e = cl_ddl_propose(d, &m);
	if (!e) {
		st_propose_own(n, b->arena, &m);
		e = st_propose(n, b->arena, &m, 0, &out);
	}
	if (e)
		LOG(n->world, LOG_WARN, "index", "not_ended",
		    "index=%u why=\"%s\"", b->index, e->message);
	else if (out.outcome == CL_APPLIED)
		LOG(n->world, LOG_INFO, "index",
		    b->failure.len ? "failed" : "public", "index=%u", b->index);
	return !e && out.outcome == CL_APPLIED;
}

static void
pause_build(struct st_node *n)
{
	cond_wait(&n->wakeup, world_mono_us(n->world) + PAUSE_US);
}

/* Until it is built, has failed, or is not what it was when this began; false
 * when that is still to be done. */
static bool
build_index(struct build *b)
{
	uint64_t wait_us = 0; /* the first time all are set going */

	while (b->left && !b->failure.len && leads_catalog(b->node)) {
		const struct cl_index *def =
		    cl_catalog_index(b->node->catalog.snap, b->index);

		if (!def || def->state != CL_INDEX_BUILDING)
			return true;
		ask_round(b, wait_us);
		wait_us = WAIT_US;
		if (b->left && !b->heard && !b->failure.len)
			pause_build(b->node);
	}
	return leads_catalog(b->node) && propose_end(b);
}

static bool
build_one(struct st_node *n, const struct cl_index *def)
{
	struct arena *a = arena_new(n->arena, "build");
	struct build b = {.node = n,
	    .arena = a,
	    .catalog = st_catalog_pin(n, a),
	    .index = def->id};
	const struct cl_table *t = cl_catalog_table(b.catalog, def->table);
	bool ended = false;

	b.placement = t ? cl_catalog_placement(b.catalog, t->placement) : NULL;
	if (b.placement && b.placement->n_slots) {
		b.left = b.placement->n_slots;
		b.parts = NEW_N(a, struct part, b.left);
		for (uint32_t i = 0; i < b.placement->n_slots; i++)
			ask_another(&b, i, 0);
		ended = build_index(&b);
	}
	arena_free(a);
	return ended;
}

static const struct cl_index *
next_building(const struct cl_catalog *c, uint32_t after)
{
	const struct cl_object *o;
	size_t at = 0;

	while ((o = cl_each(c, CL_INDEX, &at)))
		if (o->id > after && o->u.index.state == CL_INDEX_BUILDING)
			return &o->u.index;
	return NULL;
}

/* Without an index to build it waits for news of the catalog alone. */
static void
builder(void *arg)
{
	struct st_node *n = TAKE(struct st_node, arg, ST_NODE_MAGIC);
	const struct cl_index *def;
	uint32_t last = 0;

	while (n->state <= ST_NODE_SERVING) {
		if (!next_building(n->catalog.snap, 0)) {
			cond_wait(&n->catalog.changed, WORLD_FOREVER);
			continue;
		}
		def = next_building(n->catalog.snap, last);
		last = def ? def->id : 0;
		if (!def || !leads_catalog(n) || !build_one(n, def))
			pause_build(n);
	}
	st_background_end(n);
}

void
st_build_start(struct st_node *n)
{
	st_background(n, "build", builder);
}
