#include "storage/raft.h"

#include "base/err.h"
#include "base/mutate.h"

/* Clocks of two machines run apart by no more than one part in this. */
#define DRIFT_PART 10u

bool
st_log_covers(struct st_place a, struct st_place b)
{
	int c = st_ballot_cmp(&a.ballot, &b.ballot);

	return c > 0 || (c == 0 && a.index >= b.index);
}

uint64_t
st_majority_index(const uint64_t *match, size_t n)
{
	uint64_t sorted[CL_COPIES_MAX];

	ASSERT(n > 0 && n <= CL_COPIES_MAX);
	for (size_t i = 0; i < n; i++) {
		size_t at = i;

		for (; at > 0 && sorted[at - 1] < match[i]; at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = match[i];
	}
	return sorted[n / 2];
}

uint64_t
st_commit_index(uint64_t committed, uint64_t majority, uint64_t term_start)
{
	if (mutate("commit_any_term"))
		term_start = 0;
	return majority >= term_start && majority > committed ? majority
							      : committed;
}

bool
st_vote_ok(const struct st_voter *v, const struct st_vote_asked *ask)
{
	if (st_ballot_cmp(&ask->ballot, &v->promise) <= 0)
		return false;
	if (v->pausing || v->granting)
		return false;
	return st_log_covers(ask->log, v->log) ||
	       mutate("election_unrestricted");
}

bool
st_lease_holds(const struct st_grant *grants, size_t n, uint64_t now)
{
	size_t held = 1;

	for (size_t i = 0; i < n; i++) {
		const struct st_grant *g = &grants[i];

		if (!g->sent || now >= g->until)
			continue;
		if ((g->acked && g->sent > g->acked) ||
		    mutate("lease_any_ballot"))
			held++;
	}
	return held * 2 > n + 1;
}

uint64_t
st_lease_span(uint64_t lease)
{
	return mutate("lease_no_margin") ? lease : lease - lease / DRIFT_PART;
}
