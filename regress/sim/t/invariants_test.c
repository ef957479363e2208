#include "regress/sim/invariants.h"

#include "regress/lib/cu.h"
#include "storage/entry.h"

/* Three members of one group, told of by hand. */
struct rig {
	struct arena *arena;
	struct invariants *v;
	uint32_t failures;
	const char *last;
	uint32_t boot[8];
};

static const struct st_gid gid = {3, 1, 1};

static void
fail_ev(void *arg, const char *text)
{
	struct rig *r = arg;

	r->failures++;
	r->last = text;
}

static void
rig_init(struct rig *r)
{
	*r = (struct rig){.arena = arena_new(NULL, "test")};
	r->v = invariants_new(r->arena, fail_ev, r);
}

static void
rig_free(struct rig *r)
{
	arena_free(r->arena);
}

static struct st_ballot
ballot(uint64_t round, uint32_t member)
{
	return (struct st_ballot){round, member, 1};
}

static void
elect(struct rig *r, uint64_t round, uint32_t member, uint64_t last)
{
	struct inv_event e = {.member = member,
	    .boot = r->boot[member],
	    .gid = gid,
	    .ballot = ballot(round, member),
	    .index = last};

	invariants_elected(r->v, &e);
}

/* Member `by` applies what the leader `member` of `round` appended. */
struct what {
	uint32_t by;
	uint64_t round;
	uint32_t member;
	uint64_t index;
	cl_stamp stamp;
	uint64_t sequence; /* 0: an empty entry */
};

static void
apply(struct rig *r, const struct what *w)
{
	struct st_entry x = {.kind = ST_ENTRY_EMPTY,
	    .ballot = ballot(w->round, w->member),
	    .index = w->index,
	    .stamp = w->stamp};
	struct inv_event e = {.member = w->by,
	    .boot = r->boot[w->by],
	    .gid = gid,
	    .ballot = x.ballot,
	    .index = w->index};
	struct buf b;

	if (w->sequence) {
		x.kind = ST_ENTRY_PROPOSAL;
		x.op.session[0] = 7;
		x.op.sequence = w->sequence;
		x.op.outcome = CL_APPLIED;
	}
	buf_init(&b, r->arena);
	st_entry_encode(&b, &x);
	e.entry = buf_view(&b);
	invariants_applied(r->v, &e);
}

#define APPLY(r, ...) apply(r, &(struct what){__VA_ARGS__})

static void
normal_life_is_fine(void)
{
	struct inv_counts n;
	struct rig r;

	rig_init(&r);
	elect(&r, 1, 1, 0);
	APPLY(&r, 1, 1, 1, 1, 10, 0);
	APPLY(&r, 1, 1, 1, 2, 20, 5);
	APPLY(&r, 2, 1, 1, 1, 10, 0);
	/* Member 2 takes over with all that was applied. */
	elect(&r, 2, 2, 2);
	APPLY(&r, 2, 1, 1, 2, 20, 5);
	APPLY(&r, 2, 2, 2, 3, 30, 0);
	APPLY(&r, 1, 2, 2, 3, 30, 0);
	/* A crash takes back what was not flushed. */
	r.boot[1]++;
	APPLY(&r, 1, 1, 1, 2, 20, 5);
	APPLY(&r, 1, 2, 2, 3, 30, 0);
	/* It dies when it has applied the next one, before it says so. */
	r.boot[1]++;
	APPLY(&r, 1, 2, 2, 5, 50, 0);
	APPLY(&r, 2, 2, 2, 4, 40, 0);
	/* Member 3 was away and is resynced. */
	invariants_reset(
	    r.v, &(struct inv_event){.member = 3, .gid = gid, .index = 2});
	APPLY(&r, 3, 2, 2, 3, 30, 0);
	/* So is it from one that dies before it says how far it came. */
	invariants_reset(r.v,
	    &(struct inv_event){
		.member = 3, .gid = gid, .ballot = ballot(2, 2), .index = 6});
	APPLY(&r, 1, 2, 2, 6, 60, 0);
	CHECK(r.failures == 0);
	invariants_counts(r.v, &n);
	CHECK(n.groups == 1 && n.elections == 2 && n.entries == 6 &&
	      n.resyncs == 2);
	rig_free(&r);
}

static void
leader_without_what_was_applied_is_found(void)
{
	struct rig r;

	rig_init(&r);
	elect(&r, 1, 1, 0);
	APPLY(&r, 1, 1, 1, 1, 10, 0);
	APPLY(&r, 1, 1, 1, 2, 20, 0);
	elect(&r, 2, 2, 1);
	CHECK(r.failures == 1);
	rig_free(&r);
}

/* The answers to a candidate may be so late that another, above it, was elected
 * and has applied more; it can do nothing. */
static void
leader_elected_too_late_needs_only_its_past(void)
{
	struct rig r;

	rig_init(&r);
	elect(&r, 1, 1, 0);
	APPLY(&r, 1, 1, 1, 1, 10, 0);
	elect(&r, 3, 3, 1);
	APPLY(&r, 3, 1, 1, 1, 10, 0);
	APPLY(&r, 3, 3, 3, 2, 20, 0);
	elect(&r, 2, 2, 1);
	CHECK(r.failures == 0);
	elect(&r, 2, 1, 0);
	CHECK(r.failures == 1);
	elect(&r, 4, 2, 1);
	CHECK(r.failures == 2);
	rig_free(&r);
}

static void
two_leaders_of_a_ballot_are_found(void)
{
	struct rig r;

	rig_init(&r);
	elect(&r, 1, 1, 0);
	elect(&r, 1, 1, 0);
	CHECK(r.failures > 0);
	rig_free(&r);
}

static void
different_entries_at_an_index_are_found(void)
{
	struct rig r;

	rig_init(&r);
	elect(&r, 1, 1, 0);
	elect(&r, 2, 2, 0);
	APPLY(&r, 1, 1, 1, 1, 10, 0);
	APPLY(&r, 2, 2, 2, 1, 11, 0);
	CHECK(r.failures == 1);
	rig_free(&r);
}

static void
gap_or_repetition_is_found(void)
{
	struct rig r;

	rig_init(&r);
	elect(&r, 1, 1, 0);
	APPLY(&r, 1, 1, 1, 1, 10, 0);
	APPLY(&r, 1, 1, 1, 1, 10, 0);
	CHECK(r.failures == 1);
	APPLY(&r, 2, 1, 1, 2, 20, 0);
	CHECK(r.failures == 2);
	invariants_reset(
	    r.v, &(struct inv_event){.member = 3, .gid = gid, .index = 9});
	CHECK(r.failures == 3);
	/* To what never was committed. */
	invariants_reset(r.v,
	    &(struct inv_event){
		.member = 3, .gid = gid, .ballot = ballot(1, 1), .index = 10});
	elect(&r, 2, 2, 10);
	APPLY(&r, 3, 2, 2, 10, 100, 0);
	CHECK(r.failures > 3);
	rig_free(&r);
}

static void
what_falls_along_a_log_is_found(void)
{
	struct rig r;

	rig_init(&r);
	elect(&r, 1, 1, 0);
	elect(&r, 2, 2, 0);
	APPLY(&r, 1, 2, 2, 1, 10, 0);
	APPLY(&r, 1, 1, 1, 2, 20, 0); /* the ballot */
	CHECK(r.failures == 1);
	APPLY(&r, 1, 2, 2, 3, 15, 0); /* the stamp */
	CHECK(r.failures == 2);
	APPLY(&r, 1, 9, 1, 4, 40, 0); /* a ballot of nobody */
	CHECK(r.failures == 3);
	rig_free(&r);
}

static void
operation_twice_in_a_log_is_found(void)
{
	struct rig r;

	rig_init(&r);
	elect(&r, 1, 1, 0);
	APPLY(&r, 1, 1, 1, 1, 10, 5);
	APPLY(&r, 1, 1, 1, 2, 20, 6);
	CHECK(r.failures == 0);
	APPLY(&r, 1, 1, 1, 3, 30, 5);
	CHECK(r.failures == 1);
	rig_free(&r);
}

/* An entry of a transaction that member 1 appended and applied. */
static void
apply_txn(struct rig *r, const struct st_entry *of, uint64_t index)
{
	struct st_entry x = *of;
	struct inv_event e = {.member = 1, .gid = gid, .index = index};
	struct buf b;

	x.txn = (struct st_txn){gid, 5, 1};
	x.index = index;
	x.stamp = index * 10;
	x.ballot = e.ballot = ballot(1, 1);
	buf_init(&b, r->arena);
	st_entry_encode(&b, &x);
	e.entry = buf_view(&b);
	invariants_applied(r->v, &e);
}

#define TXN(r, n, k, ...)                                                      \
	apply_txn(r, &(struct st_entry){.kind = ST_ENTRY_##k, __VA_ARGS__}, n)

static void
transaction_that_is_resolved_otherwise_is_found(void)
{
	struct rig r;

	rig_init(&r);
	elect(&r, 1, 1, 0);
	TXN(&r, 1, PREPARE, .coordinator = ballot(1, 1));
	TXN(&r, 2, DECIDE, .outcome = CL_COMMIT);
	TXN(&r, 3, RESOLVE, .outcome = CL_COMMIT);
	/* Only the first decision is one. */
	TXN(&r, 4, DECIDE, .outcome = CL_ABORT);
	CHECK(r.failures == 0);
	TXN(&r, 5, RESOLVE, .outcome = CL_ABORT);
	CHECK(r.failures == 1);
	rig_free(&r);
	/* Without any decision. */
	rig_init(&r);
	elect(&r, 1, 1, 0);
	TXN(&r, 1, RESOLVE, .outcome = CL_ABORT);
	CHECK(r.failures == 1);
	rig_free(&r);
}

static void
transaction_committed_in_another_ballot_is_found(void)
{
	struct rig r;

	rig_init(&r);
	elect(&r, 1, 1, 0);
	TXN(&r, 1, PREPARE, .coordinator = ballot(1, 2));
	TXN(&r, 2, DECIDE, .outcome = CL_COMMIT);
	CHECK(r.failures == 1);
	rig_free(&r);
}

CU_MAIN("invariants", {"normal_life_is_fine", normal_life_is_fine},
    {"leader_without_what_was_applied_is_found",
	leader_without_what_was_applied_is_found},
    {"leader_elected_too_late_needs_only_its_past",
	leader_elected_too_late_needs_only_its_past},
    {"two_leaders_of_a_ballot_are_found", two_leaders_of_a_ballot_are_found},
    {"different_entries_at_an_index_are_found",
	different_entries_at_an_index_are_found},
    {"gap_or_repetition_is_found", gap_or_repetition_is_found},
    {"what_falls_along_a_log_is_found", what_falls_along_a_log_is_found},
    {"operation_twice_in_a_log_is_found", operation_twice_in_a_log_is_found},
    {"transaction_that_is_resolved_otherwise_is_found",
	transaction_that_is_resolved_otherwise_is_found},
    {"transaction_committed_in_another_ballot_is_found",
	transaction_committed_in_another_ballot_is_found})
