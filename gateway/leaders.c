#include "gateway/leaders.h"

#include "base/map.h"
#include "base/metrics.h"

/* A lease and an election take less than PACE_ROUNDS pauses of number
 * PACE_STEP (32 to 64 ms). */
#define PACE_STEP   5u
#define PACE_ROUNDS 40u

struct entry {
	uint32_t epoch;
	uint32_t member; /* 0: not known */
};

struct placed {
	struct arena *arena;
	uint32_t n;
	struct entry *slots;
};

struct gw_leaders {
	struct arena *arena;
	struct map *placements; /* id -> struct placed */
};

struct gw_leaders *
gw_leaders_new(struct arena *a)
{
	struct gw_leaders *l = NEW(a, struct gw_leaders);

	l->arena = a;
	l->placements = map_new(a);
	return l;
}

static bool
is_member(const struct gw_route *r, uint32_t member)
{
	for (uint32_t i = 0; i < r->n; i++) {
		if (r->members[i] == member)
			return true;
	}
	return false;
}

static struct entry *
entry_of(const struct gw_leaders *l, const struct gw_route *r)
{
	struct placed *p = map_get(l->placements, MAP_KEY(&r->placement));

	return p && r->slot < p->n ? &p->slots[r->slot] : NULL;
}

static struct entry *
entry_make(struct gw_leaders *l, const struct gw_route *r)
{
	struct entry *e = entry_of(l, r);
	struct placed *p;
	struct arena *a;

	if (e)
		return e;
	ASSERT(r->slot < r->n_slots);
	p = map_get(l->placements, MAP_KEY(&r->placement));
	if (p)
		arena_free(p->arena);
	a = arena_new(l->arena, "leaders");
	p = NEW(a, struct placed);
	*p = (struct placed){a, r->n_slots, NEW_N(a, struct entry, r->n_slots)};
	map_put(l->placements, MAP_KEY(&r->placement), p);
	return &p->slots[r->slot];
}

uint32_t
gw_leaders_find(const struct gw_leaders *l, const struct gw_route *r)
{
	const struct entry *e = entry_of(l, r);

	if (e && e->epoch == r->epoch && is_member(r, e->member))
		return e->member;
	return r->leader;
}

bool
gw_leaders_learn(
    struct gw_leaders *l, const struct gw_route *r, uint32_t member)
{
	bool news = gw_leaders_find(l, r) != member;
	struct entry *e;

	/* What the catalog says anyway takes no memory. */
	if (!news || !is_member(r, member))
		return false;
	e = entry_make(l, r);
	*e = (struct entry){r->epoch, member};
	metric_inc(M_GW_LEADER_MOVES);
	return true;
}

void
gw_leaders_trim(struct gw_leaders *l, const struct cl_catalog *c)
{
	struct str key;
	size_t at = 0;
	void *v;

	while (map_next(l->placements, &at, &key, &v)) {
		struct placed *p = v;
		uint32_t id;

		memcpy(&id, key.p, sizeof id);
		if (cl_catalog_placement(c, id))
			continue;
		map_del(l->placements, key);
		arena_free(p->arena);
		at = 0;
	}
}

/* ---- one request's way ---- */

static uint32_t
place_of(const struct gw_route *r, uint32_t member)
{
	uint32_t i = 0;

	while (i < r->n && r->members[i] != member)
		i++;
	return i;
}

static uint64_t
bit_of(const struct gw_route *r, uint32_t member)
{
	uint32_t i = place_of(r, member);

	return i < r->n && i < 64 ? UINT64_C(1) << i : 0;
}

/* The member after this one, in the group's order. */
static uint32_t
after(const struct gw_route *r, uint32_t member)
{
	return r->members[(place_of(r, member) + 1) % r->n];
}

uint32_t
gw_aim_at(
    struct gw_aim *aim, const struct gw_leaders *l, const struct gw_route *r)
{
	ASSERT(r->n > 0);
	if (aim->epoch != r->epoch) {
		aim->epoch = r->epoch;
		aim->tried = 0;
		aim->next = aim->hint = 0;
	}
	if (aim->next && is_member(r, aim->next))
		aim->asked = aim->next;
	else if (aim->any)
		aim->asked = r->members[aim->spread % r->n];
	else
		aim->asked = gw_leaders_find(l, r);
	return aim->asked;
}

static void
round_over(struct gw_aim *aim)
{
	aim->rounds++;
	aim->tried = 0;
	/* Somebody may lead by now though it did not when it was asked. */
	aim->next = aim->hint;
	aim->hint = 0;
}

/* To the next member that was not asked in this round. */
static bool
aim_on(struct gw_aim *aim, const struct gw_route *r)
{
	uint32_t m = aim->asked;

	for (uint32_t i = 0; i < r->n && i < 64; i++) {
		m = after(r, m);
		if (aim->tried & bit_of(r, m))
			continue;
		aim->next = m;
		return true;
	}
	round_over(aim);
	return false;
}

/* Others need not try it first. */
static void
drop(struct gw_aim *aim, struct gw_leaders *l, const struct gw_route *r)
{
	if (!aim->any && gw_leaders_find(l, r) == aim->asked)
		gw_leaders_learn(l, r, after(r, aim->asked));
}

bool
gw_aim_refused(struct gw_aim *aim, struct gw_leaders *l,
    const struct gw_route *r, uint32_t hint)
{
	aim->tried |= bit_of(r, aim->asked);
	if (!hint || !is_member(r, hint))
		drop(aim, l, r);
	/* It leads, but does not serve yet, or no longer: others know. */
	if (!hint || !is_member(r, hint) || hint == aim->asked)
		return aim_on(aim, r);
	aim->hint = hint;
	if (aim->tried & bit_of(r, hint))
		return aim_on(aim, r);
	metric_inc(M_GW_HOPS);
	gw_leaders_learn(l, r, hint);
	aim->next = hint;
	return true;
}

bool
gw_aim_missed(struct gw_aim *aim, struct gw_leaders *l,
    const struct gw_route *r, bool gone)
{
	aim->tried |= bit_of(r, aim->asked);
	if (gone)
		drop(aim, l, r);
	return aim_on(aim, r);
}

void
gw_aim_wait(struct gw_aim *aim)
{
	aim->hint = aim->asked;
	round_over(aim);
}

void
gw_aim_served(
    struct gw_aim *aim, struct gw_leaders *l, const struct gw_route *r)
{
	if (!aim->any)
		gw_leaders_learn(l, r, aim->asked);
	aim->rounds = 0;
	aim->tried = 0;
	aim->next = aim->asked;
	aim->hint = 0;
}

unsigned
gw_aim_pace(const struct gw_aim *aim)
{
	if (aim->rounds <= PACE_STEP)
		return aim->rounds;
	if (aim->rounds <= PACE_ROUNDS)
		return PACE_STEP;
	return aim->rounds - PACE_ROUNDS + PACE_STEP;
}
