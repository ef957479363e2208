/* Votes and leases: pure functions. */
#include "storage/raft.h"

#include "regress/lib/cu.h"

static struct st_ballot
ballot(uint64_t round, uint32_t member)
{
	return (struct st_ballot){round, member, 1};
}

static struct st_place
place(uint64_t round, uint32_t member, uint64_t index)
{
	return (struct st_place){ballot(round, member), index};
}

static void
a_log_covers_what_is_not_newer(void)
{
	/* The ballot of the last entry counts first, then the length. */
	CHECK(st_log_covers(place(3, 1, 5), place(3, 1, 5)));
	CHECK(st_log_covers(place(3, 1, 6), place(3, 1, 5)));
	CHECK(!st_log_covers(place(3, 1, 5), place(3, 1, 6)));
	CHECK(st_log_covers(place(4, 1, 1), place(3, 1, 9)));
	CHECK(!st_log_covers(place(3, 1, 9), place(3, 2, 1)));
	CHECK(st_log_covers(place(1, 1, 1), (struct st_place){.index = 0}));
}

static const struct st_voter voter = {
    .promise = {5, 2, 1}, .log = {{4, 1, 1}, 10}};

static bool
votes(struct st_ballot b, struct st_place log)
{
	return st_vote_ok(&voter, &(struct st_vote_asked){b, log});
}

static void
a_vote_goes_to_a_higher_ballot_with_as_good_a_log(void)
{
	CHECK(votes(ballot(6, 1), place(4, 1, 10)));
	CHECK(votes(ballot(5, 3), place(4, 1, 10)));
	CHECK(votes(ballot(6, 1), place(5, 2, 1)));
	/* The ballot promised, or a lower one. */
	CHECK(!votes(ballot(5, 2), place(9, 1, 99)));
	CHECK(!votes(ballot(5, 1), place(9, 1, 99)));
	/* A log that lacks what this one has. */
	CHECK(!votes(ballot(6, 1), place(4, 1, 9)));
	CHECK(!votes(ballot(6, 1), place(3, 9, 99)));
}

static void
nobody_gets_a_vote_from_one_that_pauses_or_is_bound(void)
{
	struct st_voter v = voter;
	struct st_vote_asked ask = {ballot(9, 1), place(9, 1, 99)};

	CHECK(st_vote_ok(&v, &ask));
	v.pausing = true;
	CHECK(!st_vote_ok(&v, &ask));
	v.pausing = false;
	v.granting = true;
	CHECK(!st_vote_ok(&v, &ask));
}

static void
a_lease_is_a_majority_of_grants_that_count(void)
{
	/* Each: none, from before the acknowledgement, over, good. */
	static const struct st_grant kinds[] = {
	    {0, 0, 10}, {10, 900, 10}, {20, 100, 10}, {20, 900, 10}};

	CHECK(st_lease_holds(NULL, 0, 500));
	for (int code = 0; code < 256; code++)
		for (size_t n = 1; n <= 4; n++) {
			struct st_grant g[4];
			size_t good = 1;
			int c = code;

			for (size_t i = 0; i < n; i++, c /= 4) {
				g[i] = kinds[c % 4];
				good += c % 4 == 3;
			}
			CHECK(st_lease_holds(g, n, 500) == (good * 2 > n + 1));
		}
	/* Nobody that has not acknowledged counts, however new the grant. */
	CHECK(!st_lease_holds(
	    (struct st_grant[]){{400, 900, 0}, {400, 900, 0}}, 2, 500));
	/* It ends at the instant that it names. */
	CHECK(!st_lease_holds((struct st_grant[]){{20, 500, 10}}, 1, 500));
	CHECK(st_lease_holds((struct st_grant[]){{20, 501, 10}}, 1, 500));
}

static void
the_holder_counts_less_than_was_granted(void)
{
	CHECK(st_lease_span(600000) == 540000);
	CHECK(st_lease_span(0) == 0);
}

CU_MAIN("raft",
    {"a_log_covers_what_is_not_newer", a_log_covers_what_is_not_newer},
    {"a_vote_goes_to_a_higher_ballot_with_as_good_a_log",
	a_vote_goes_to_a_higher_ballot_with_as_good_a_log},
    {"nobody_gets_a_vote_from_one_that_pauses_or_is_bound",
	nobody_gets_a_vote_from_one_that_pauses_or_is_bound},
    {"a_lease_is_a_majority_of_grants_that_count",
	a_lease_is_a_majority_of_grants_that_count},
    {"the_holder_counts_less_than_was_granted",
	the_holder_counts_less_than_was_granted})
