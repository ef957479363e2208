/* The decisions about a proposal, against all short histories.  The model knows
 * what really happened to each send; the step function must never say what may
 * be untrue. */
#include "gateway/propose.h"

#include "base/mutate.h"
#include "regress/lib/cu.h"

/* What became of an operation so far, in truth. */
struct truth {
	bool may_apply; /* a send of unknown fate is out */
	bool may_have;  /* it may have been applied */
	int depth;
};

static int n_ends[GW_END_LOST + 1];

static const struct gw_event events[] = {
    {.kind = GW_EVENT_NOT_SENT},
    {.kind = GW_EVENT_LOST},
    {.kind = GW_EVENT_UNKNOWN},
    {.kind = GW_EVENT_APPLIED},
    {.kind = GW_EVENT_FALSE},
    {.kind = GW_EVENT_REFUSED, .reason = CL_REFUSE_EPOCH},
    {.kind = GW_EVENT_REFUSED, .reason = CL_REFUSE_LEADER},
    {.kind = GW_EVENT_REFUSED, .reason = CL_REFUSE_CATALOG},
    {.kind = GW_EVENT_REFUSED, .reason = CL_REFUSE_CATALOG, .stale = true},
    {.kind = GW_EVENT_REFUSED, .reason = CL_REFUSE_DEADLINE},
    {.kind = GW_EVENT_REFUSED, .reason = CL_REFUSE_FULL},
    {.kind = GW_EVENT_REFUSED, .reason = CL_REFUSE_BUSY},
    {.kind = GW_EVENT_REFUSED, .reason = CL_REFUSE_ANSWERED},
    {.kind = GW_EVENT_REFUSED, .reason = CL_REFUSE_DROPPED},
    {.kind = GW_EVENT_FAIL, .proposed = true},
    {.kind = GW_EVENT_FAIL, .proposed = false},
};
static const struct gw_event pause_events[] = {
    {.kind = GW_EVENT_START},
    {.kind = GW_EVENT_DEADLINE},
    {.kind = GW_EVENT_CANCEL},
};

static bool
leaves_doubt(const struct gw_event *ev)
{
	return ev->kind == GW_EVENT_LOST || ev->kind == GW_EVENT_UNKNOWN ||
	       (ev->kind == GW_EVENT_FAIL && ev->proposed);
}

static void walk(struct gw_op op, struct truth t, enum gw_action act);

static void
check_end(const struct truth *t, const struct gw_event *ev, enum gw_action act)
{
	n_ends[act]++;
	if (act == GW_END_FAILED || act == GW_END_STALE)
		CHECK(!t->may_have);
	if (act == GW_END_APPLIED)
		CHECK(ev->kind == GW_EVENT_APPLIED);
	if (act == GW_END_FALSE)
		CHECK(ev->kind == GW_EVENT_FALSE);
	/* Not knowing is said only when there is something not known. */
	if (act == GW_END_LOST)
		CHECK(t->may_have);
}

static void
feed(struct gw_op op, struct truth t, const struct gw_event *ev)
{
	enum gw_action act;

	t.may_have |= leaves_doubt(ev);
	act = gw_propose_step(&op, ev);
	CHECK(op.refused <= op.sends);
	if (act >= GW_END_APPLIED)
		check_end(&t, ev, act);
	else
		walk(op, t, act);
}

static void
walk(struct gw_op op, struct truth t, enum gw_action act)
{
	if (++t.depth > 9)
		return;
	if (act == GW_DO_SEND) {
		gw_op_sent(&op);
		for (size_t i = 0; i < sizeof events / sizeof *events; i++)
			feed(op, t, &events[i]);
		return;
	}
	for (size_t i = 0; i < sizeof pause_events / sizeof *pause_events; i++)
		feed(op, t, &pause_events[i]);
}

static void
no_history_is_answered_by_what_may_be_untrue(void)
{
	struct gw_op op = {0};
	struct truth t = {0};

	memset(n_ends, 0, sizeof n_ends);
	walk(op, t, GW_DO_PAUSE);
	for (int i = GW_END_APPLIED; i <= GW_END_LOST; i++)
		CHECK(n_ends[i] > 0);
}

static void
a_send_that_did_not_leave_gives_its_number_back(void)
{
	struct gw_op op = {0};
	struct gw_event start = {.kind = GW_EVENT_START};
	struct gw_event not_sent = {.kind = GW_EVENT_NOT_SENT};
	struct gw_event lost = {.kind = GW_EVENT_LOST};

	CHECK(gw_propose_step(&op, &start) == GW_DO_SEND);
	gw_op_sent(&op);
	CHECK(op.sends == 1);
	CHECK(gw_propose_step(&op, &not_sent) == GW_DO_PAUSE);
	CHECK(op.sends == 0);
	gw_op_sent(&op);
	CHECK(gw_propose_step(&op, &lost) == GW_DO_PAUSE);
	gw_op_sent(&op);
	CHECK(op.sends == 2);
}

static void
one_lost_send_makes_the_deadline_unknown_whatever_came_after(void)
{
	struct gw_op op = {0};
	struct gw_event lost = {.kind = GW_EVENT_LOST};
	struct gw_event refused = {
	    .kind = GW_EVENT_REFUSED, .reason = CL_REFUSE_LEADER};
	struct gw_event late = {.kind = GW_EVENT_DEADLINE};

	gw_op_sent(&op);
	CHECK(gw_propose_step(&op, &lost) == GW_DO_PAUSE);
	for (int i = 0; i < 5; i++) {
		gw_op_sent(&op);
		CHECK(gw_propose_step(&op, &refused) == GW_DO_PAUSE);
	}
	CHECK(gw_propose_step(&op, &late) == GW_END_LOST);
}

static void
refused_sends_alone_are_a_failure(void)
{
	struct gw_op op = {0};
	struct gw_event refused = {
	    .kind = GW_EVENT_REFUSED, .reason = CL_REFUSE_LEADER};
	struct gw_event late = {.kind = GW_EVENT_DEADLINE};

	for (int i = 0; i < 5; i++) {
		gw_op_sent(&op);
		CHECK(gw_propose_step(&op, &refused) == GW_DO_PAUSE);
	}
	CHECK(gw_propose_step(&op, &late) == GW_END_FAILED);
}

/* Nobody can apply it any more; an earlier send may have been before that. */
static void
a_dropped_table_ends_it_at_once(void)
{
	struct gw_op op = {.sends = 1};
	struct gw_event lost = {.kind = GW_EVENT_LOST};
	struct gw_event dropped = {
	    .kind = GW_EVENT_REFUSED, .reason = CL_REFUSE_DROPPED};

	CHECK(gw_propose_step(&op, &dropped) == GW_END_STALE);
	op = (struct gw_op){.sends = 1};
	CHECK(gw_propose_step(&op, &lost) == GW_DO_PAUSE);
	gw_op_sent(&op);
	CHECK(gw_propose_step(&op, &dropped) == GW_END_LOST);
}

/* Shows that the first test would notice, in a build with mutations. */
static void
taking_refused_for_failed_is_noticed(void)
{
	struct gw_op op = {.sends = 1};
	struct gw_event late = {.kind = GW_EVENT_DEADLINE};

	CHECK(gw_propose_step(&op, &late) == GW_END_LOST);
	mutate_set("refused_is_failed");
	CHECK(gw_propose_step(&op, &late) ==
	      (mutate("refused_is_failed") ? GW_END_FAILED : GW_END_LOST));
	mutate_set(NULL);
}

CU_MAIN("propose_step",
    {"no_history_is_answered_by_what_may_be_untrue",
	no_history_is_answered_by_what_may_be_untrue},
    {"a_send_that_did_not_leave_gives_its_number_back",
	a_send_that_did_not_leave_gives_its_number_back},
    {"one_lost_send_makes_the_deadline_unknown_whatever_came_after",
	one_lost_send_makes_the_deadline_unknown_whatever_came_after},
    {"refused_sends_alone_are_a_failure", refused_sends_alone_are_a_failure},
    {"a_dropped_table_ends_it_at_once", a_dropped_table_ends_it_at_once},
    {"taking_refused_for_failed_is_noticed",
	taking_refused_for_failed_is_noticed})
