/* Who leads, and one request's way through a group. */
#include "gateway/leaders.h"

#include "regress/lib/cu.h"

static const uint32_t members[] = {3, 1, 2};

static struct gw_route
group(uint16_t slot, uint32_t epoch)
{
	return (struct gw_route){.placement = 7,
	    .slot = slot,
	    .epoch = epoch,
	    .leader = members[0],
	    .members = members,
	    .n = 3,
	    .n_slots = 4};
}

static void
the_first_member_leads_until_another_is_heard_of(void)
{
	struct arena *a = arena_new(NULL, "test");
	struct gw_leaders *l = gw_leaders_new(a);
	struct gw_route r = group(2, 1), other = group(3, 1);

	CHECK(gw_leaders_find(l, &r) == 3);
	CHECK(!gw_leaders_learn(l, &r, 3));
	CHECK(gw_leaders_learn(l, &r, 2));
	CHECK(!gw_leaders_learn(l, &r, 2));
	CHECK(gw_leaders_find(l, &r) == 2);
	CHECK(gw_leaders_find(l, &other) == 3);
	CHECK(gw_leaders_learn(l, &r, 3));
	CHECK(gw_leaders_find(l, &r) == 3);
	arena_free(a);
}

static void
what_was_heard_is_of_one_epoch(void)
{
	struct arena *a = arena_new(NULL, "test");
	struct gw_leaders *l = gw_leaders_new(a);
	struct gw_route old = group(0, 1), new = group(0, 2);

	CHECK(gw_leaders_learn(l, &old, 1));
	CHECK(gw_leaders_find(l, &new) == 3);
	CHECK(gw_leaders_learn(l, &new, 2));
	CHECK(gw_leaders_find(l, &old) == 3);
	arena_free(a);
}

static void
strangers_do_not_lead(void)
{
	struct arena *a = arena_new(NULL, "test");
	struct gw_leaders *l = gw_leaders_new(a);
	struct gw_route r = group(0, 1), small = r;
	static const uint32_t left[] = {3, 2};

	CHECK(!gw_leaders_learn(l, &r, 9));
	CHECK(gw_leaders_find(l, &r) == 3);
	CHECK(gw_leaders_learn(l, &r, 1));
	small.members = left;
	small.n = 2;
	CHECK(gw_leaders_find(l, &small) == 3);
	arena_free(a);
}

static void
placements_that_are_gone_are_forgotten(void)
{
	struct arena *a = arena_new(NULL, "test");
	struct gw_leaders *l = gw_leaders_new(a);
	struct cl_catalog *none = cl_catalog_new();
	struct gw_route r = group(0, 1);
	size_t before = 0;

	for (uint32_t i = 1; i < 200; i++) {
		r.placement = i;
		CHECK(gw_leaders_learn(l, &r, 1));
		if (i == 20)
			before = arena_bytes(a);
		gw_leaders_trim(l, none);
		CHECK(gw_leaders_find(l, &r) == 3);
	}
	CHECK(arena_bytes(a) < before + 100000);
	cl_catalog_unref(none);
	arena_free(a);
}

/* ---- the way ---- */

struct way {
	struct arena *arena;
	struct gw_leaders *l;
	struct gw_route r;
	struct gw_aim aim;
};

static void
way_begin(struct way *w)
{
	*w = (struct way){.arena = arena_new(NULL, "test"), .r = group(0, 1)};
	w->l = gw_leaders_new(w->arena);
}

static uint32_t
at(struct way *w)
{
	uint32_t m = gw_aim_at(&w->aim, w->l, &w->r);

	CHECK(gw_aim_at(&w->aim, w->l, &w->r) == m);
	return m;
}

static void
a_hint_is_followed_at_once_and_kept(void)
{
	struct way w;

	way_begin(&w);
	CHECK(at(&w) == 3);
	CHECK(gw_aim_refused(&w.aim, w.l, &w.r, 2));
	CHECK(at(&w) == 2);
	gw_aim_served(&w.aim, w.l, &w.r);
	CHECK(gw_leaders_find(w.l, &w.r) == 2 && w.aim.rounds == 0);
	w.aim = (struct gw_aim){.any = false};
	CHECK(at(&w) == 2);
	arena_free(w.arena);
}

static void
without_a_hint_the_next_member_is_asked_each_once_a_round(void)
{
	struct way w;

	way_begin(&w);
	CHECK(at(&w) == 3);
	CHECK(gw_aim_missed(&w.aim, w.l, &w.r, true));
	/* Others need not try it. */
	CHECK(gw_leaders_find(w.l, &w.r) == 1);
	CHECK(at(&w) == 1);
	CHECK(gw_aim_refused(&w.aim, w.l, &w.r, 0));
	CHECK(at(&w) == 2);
	CHECK(!gw_aim_refused(&w.aim, w.l, &w.r, 0));
	CHECK(w.aim.rounds == 1);
	arena_free(w.arena);
}

static void
a_hint_to_who_is_away_leads_on_to_the_others(void)
{
	struct way w;

	way_begin(&w);
	CHECK(at(&w) == 3);
	CHECK(gw_aim_missed(&w.aim, w.l, &w.r, true));
	CHECK(at(&w) == 1);
	CHECK(gw_aim_refused(&w.aim, w.l, &w.r, 3));
	CHECK(at(&w) == 2);
	CHECK(!gw_aim_refused(&w.aim, w.l, &w.r, 3));
	/* The next round begins with who they say leads. */
	CHECK(at(&w) == 3);
	arena_free(w.arena);
}

static void
two_that_point_at_each_other_end_a_round(void)
{
	struct way w;
	int asked = 0;

	way_begin(&w);
	do {
		asked++;
	} while (gw_aim_refused(&w.aim, w.l, &w.r, at(&w) == 3 ? 1 : 3));
	CHECK(asked == 3);
	arena_free(w.arena);
}

static void
a_leader_that_does_not_serve_yet_stays_the_leader_for_others(void)
{
	struct way w;

	way_begin(&w);
	CHECK(at(&w) == 3);
	CHECK(gw_aim_refused(&w.aim, w.l, &w.r, 3));
	CHECK(gw_leaders_find(w.l, &w.r) == 3);
	CHECK(at(&w) == 1);
	CHECK(gw_aim_refused(&w.aim, w.l, &w.r, 3));
	CHECK(at(&w) == 2);
	CHECK(!gw_aim_refused(&w.aim, w.l, &w.r, 3));
	CHECK(at(&w) == 3);
	arena_free(w.arena);
}

static void
one_that_did_not_answer_once_stays_the_leader_for_others(void)
{
	struct way w;

	way_begin(&w);
	CHECK(at(&w) == 3);
	CHECK(gw_aim_missed(&w.aim, w.l, &w.r, false));
	CHECK(at(&w) == 1);
	CHECK(gw_leaders_find(w.l, &w.r) == 3);
	gw_aim_wait(&w.aim);
	CHECK(at(&w) == 1);
	arena_free(w.arena);
}

static void
any_member_will_do_where_any_may_answer(void)
{
	struct way w;
	unsigned seen = 0;

	way_begin(&w);
	for (uint32_t i = 0; i < 6; i++) {
		w.aim = (struct gw_aim){.any = true, .spread = i};
		seen |= 1u << at(&w);
		CHECK(gw_aim_missed(&w.aim, w.l, &w.r, true));
		CHECK(at(&w) != members[i % 3]);
		gw_aim_served(&w.aim, w.l, &w.r);
		CHECK(gw_leaders_find(w.l, &w.r) == 3);
	}
	CHECK(seen == (1u << 1 | 1u << 2 | 1u << 3));
	arena_free(w.arena);
}

/* All short histories: between two pauses nobody is asked twice, and each round
 * without a hint asks everybody. */
static void
walk(const struct way *from, unsigned asked, int depth)
{
	static const uint32_t hints[] = {0, 1, 2, 3, 9};

	for (int i = 0; depth && i < 8; i++) {
		struct way w = *from;
		uint32_t m = at(&w);
		unsigned now = asked | 1u << m;
		bool again;

		CHECK(!(asked & 1u << m));
		if (i < 5)
			again = gw_aim_refused(&w.aim, w.l, &w.r, hints[i]);
		else if (i < 7)
			again = gw_aim_missed(&w.aim, w.l, &w.r, i == 5);
		else
			again = (gw_aim_wait(&w.aim), false);
		if (!again && i < 7)
			CHECK(now == 14);
		walk(&w, again ? now : 0, depth - 1);
	}
}

static void
no_history_asks_a_member_twice_between_two_pauses(void)
{
	struct way w;

	way_begin(&w);
	walk(&w, 0, 6);
	arena_free(w.arena);
}

static void
an_electing_group_is_asked_often_but_not_for_ever(void)
{
	struct gw_aim aim = {.rounds = 0};
	unsigned last = 0;

	for (; aim.rounds < 100; aim.rounds++) {
		unsigned p = gw_aim_pace(&aim);

		CHECK(p >= last && p <= aim.rounds);
		if (aim.rounds < 20)
			CHECK(p <= 5);
		last = p;
	}
	CHECK(last > 10);
}

CU_MAIN("leaders",
    {"the_first_member_leads_until_another_is_heard_of",
	the_first_member_leads_until_another_is_heard_of},
    {"what_was_heard_is_of_one_epoch", what_was_heard_is_of_one_epoch},
    {"strangers_do_not_lead", strangers_do_not_lead},
    {"placements_that_are_gone_are_forgotten",
	placements_that_are_gone_are_forgotten},
    {"a_hint_is_followed_at_once_and_kept",
	a_hint_is_followed_at_once_and_kept},
    {"without_a_hint_the_next_member_is_asked_each_once_a_round",
	without_a_hint_the_next_member_is_asked_each_once_a_round},
    {"a_hint_to_who_is_away_leads_on_to_the_others",
	a_hint_to_who_is_away_leads_on_to_the_others},
    {"two_that_point_at_each_other_end_a_round",
	two_that_point_at_each_other_end_a_round},
    {"a_leader_that_does_not_serve_yet_stays_the_leader_for_others",
	a_leader_that_does_not_serve_yet_stays_the_leader_for_others},
    {"one_that_did_not_answer_once_stays_the_leader_for_others",
	one_that_did_not_answer_once_stays_the_leader_for_others},
    {"any_member_will_do_where_any_may_answer",
	any_member_will_do_where_any_may_answer},
    {"no_history_asks_a_member_twice_between_two_pauses",
	no_history_asks_a_member_twice_between_two_pauses},
    {"an_electing_group_is_asked_often_but_not_for_ever",
	an_electing_group_is_asked_often_but_not_for_ever})
