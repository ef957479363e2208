#include "storage/reach.h"

#include "storage/catalog.h"
#include "storage/decide.h"
#include "storage/link.h"
#include "storage/peer.h"
#include "storage/prepare.h"

#define CALL_US  3000000u
#define PAUSE_US 30000u

struct reach {
	struct st_node *node;
	struct arena *arena;
	struct st_gid gid;
	enum cl_msg_kind kind;
	const void *msg;
	uint64_t deadline_us;
	uint32_t hint;  /* who leads, as somebody said */
	uint64_t tried; /* in this round, by place in the group */
	struct st_reached *out;
};

/* By the present catalog; 0: it has no such group. */
static uint32_t
members_of(const struct reach *r, uint32_t *members)
{
	const struct cl_placement *p =
	    cl_catalog_placement(r->node->catalog.snap, r->gid.placement);
	const struct cl_slot_map *s;

	if (!p || r->gid.slot >= p->n_slots)
		return 0;
	s = &p->slots[r->gid.slot];
	if (s->epoch != r->gid.epoch)
		return 0;
	for (uint32_t i = 0; i < s->n; i++)
		members[i] = s->members[i];
	return s->n;
}

static uint32_t
known_leader(const struct reach *r)
{
	const struct st_group *g =
	    st_group_find(r->node, r->gid.placement, r->gid.slot);

	return g && st_group_loaded(g) ? g->leader : 0;
}

/* Whom to ask now; 0: all were asked in this round. */
static uint32_t
next_member(struct reach *r, const uint32_t *members, uint32_t n)
{
	uint32_t first = r->hint ? r->hint : known_leader(r);

	r->hint = 0;
	for (uint32_t i = 0; i < n; i++)
		if (members[i] == first && !(r->tried >> i & 1)) {
			r->tried |= 1ull << i;
			return first;
		}
	for (uint32_t i = 0; i < n; i++) {
		bool here = members[i] == r->node->id.member;

		if (r->tried >> i & 1)
			continue;
		r->tried |= 1ull << i;
		if (here || n == 1 || st_link_alive(r->node, members[i]))
			return members[i];
	}
	return 0;
}

static struct err *
ask_here(struct reach *r)
{
	struct st_node *n = r->node;
	uint64_t catalog = cl_catalog_version(n->catalog.snap);
	struct cl_proposed *proposed;
	struct cl_resolved *resolved;

	switch (r->kind) {
	case CL_MSG_PREPARE:
		proposed = NEW(r->arena, struct cl_proposed);
		r->out->kind = CL_MSG_PROPOSED;
		r->out->msg = proposed;
		return st_prepare_serve(n, r->arena, r->msg, catalog, proposed);
	case CL_MSG_RESOLVE:
		resolved = NEW(r->arena, struct cl_resolved);
		r->out->kind = CL_MSG_RESOLVED;
		r->out->msg = resolved;
		st_resolve_serve(n, r->msg, catalog, resolved);
		return NULL;
	default:
		ASSERT(r->kind == CL_MSG_OUTCOME_GET);
		break;
	}
	r->out->kind = CL_MSG_OUTCOME;
	r->out->msg = NEW(r->arena, struct cl_told);
	st_outcome_serve(
	    n, r->msg, catalog, (struct cl_told *)(uintptr_t)r->out->msg);
	return NULL;
}

static struct err *
ask(struct reach *r, uint32_t member)
{
	struct st_node *n = r->node;
	uint64_t until = world_mono_us(n->world) + CALL_US;
	struct st_reply_msg reply;

	*r->out = (struct st_reached){.why = CL_REFUSE_LEADER};
	if (member == n->id.member)
		return ask_here(r);
	TRY(st_member_call(n, r->arena, member, r->kind, r->msg,
	    until < r->deadline_us ? until : r->deadline_us, &reply));
	r->out->kind = reply.kind;
	r->out->msg = reply.msg;
	return NULL;
}

/* Does the answer say that another member is to be asked? */
static bool
is_elsewhere(struct reach *r)
{
	const struct cl_proposed *p = r->out->msg;
	const struct cl_resolved *s = r->out->msg;
	const struct cl_told *o = r->out->msg;
	uint32_t leader;

	switch (r->out->kind) {
	case CL_MSG_PROPOSED:
		r->out->why = p->outcome == CL_REFUSED
				  ? (enum cl_refusal)p->reason
				  : CL_REFUSE_NONE;
		leader = p->leader;
		break;
	case CL_MSG_RESOLVED:
		r->out->why = (enum cl_refusal)s->reason;
		leader = s->leader;
		break;
	case CL_MSG_OUTCOME:
		r->out->why = (enum cl_refusal)o->reason;
		leader = o->leader;
		break;
	default:
		return true;
	}
	r->hint = leader;
	return r->out->why == CL_REFUSE_LEADER ||
	       r->out->why == CL_REFUSE_EPOCH ||
	       r->out->why == CL_REFUSE_STOPPING;
}

bool
st_reach(struct st_node *n, struct arena *a, struct st_gid gid,
    enum cl_msg_kind kind, const void *msg, uint64_t deadline_us,
    struct st_reached *out)
{
	struct reach r = {n, a, gid, kind, msg, deadline_us, .out = out};
	uint32_t members[CL_COPIES_MAX];

	*out = (struct st_reached){.why = CL_REFUSE_LEADER};
	while (n->state <= ST_NODE_SERVING &&
	       world_mono_us(n->world) < deadline_us) {
		uint32_t count = members_of(&r, members), member;

		if (!count) {
			out->why = CL_REFUSE_EPOCH;
			return false;
		}
		member = next_member(&r, members, count);
		if (!member) {
			r.tried = 0;
			if (fiber_sleep(n->world, world_mono_us(n->world) +
						      PAUSE_US) == WAKE_CANCEL)
				break;
			continue;
		}
		if (!ask(&r, member) && !is_elsewhere(&r))
			return true;
	}
	*out = (struct st_reached){.why = CL_REFUSE_LEADER};
	return false;
}
