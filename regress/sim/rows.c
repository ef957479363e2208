#include "regress/sim/rows.h"

#define SECOND 1000000ull

void
rows_make_table(struct client *c)
{
	struct sim_pg_result r;

	(void)client_insist(
	    c, &r, "CREATE TABLE t (k bigint PRIMARY KEY, v bigint)");
}

uint64_t
rows_key(struct client *c, uint64_t period_us, uint64_t keys)
{
	return run_now(c->run) / period_us * keys + rng_below(&c->rng, keys);
}

void
rows_do(struct client *c, enum reg_kind kind, uint64_t key)
{
	client_do(
	    c, &(struct client_op){.table = "t", .kind = kind, .key = key});
}

void
rows_check(struct client *c, uint64_t period_us, uint64_t keys)
{
	uint64_t n = (run_now(c->run) / period_us + 1) * keys;
	const char *why;

	client_read_back(c, "t", n);
	/* What is late must not come after the last word. */
	client_sleep(c, 5 * SECOND);
	client_read_back(c, "t", n);
	why = history_check(&c->run->history);
	if (why)
		run_fail(c->run, "%s", why);
}
