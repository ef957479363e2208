/* A bank whose accounts lie in several groups: money moves by transactions
 * (bank.h), and in the end every transfer was done in all its groups or in
 * none, as its client was told.
 *
 * Each row of an account names the transfer that wrote it, and each entry of
 * the ledger the two transfers before it: so the order of all transfers of an
 * account is known in the end, and every read can be held against it. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/map.h"
#include "regress/sim/bank.h"
#include "regress/sim/scenarios.h"
#include "storage/group.h"
#include "storage/txns.h"

#define SECOND   1000000ull
#define BALANCE  1000
#define CLAIM_US (SECOND / 2)
#define REST_US  (90 * SECOND)

/* A read of an account, or a transfer, at its place in the account's order. */
struct seen {
	uint32_t account;
	uint64_t id; /* who wrote what was read */
	uint64_t start, end;
	uint64_t place;
	bool wrote; /* not read: a transfer that was acknowledged */
};

/* What the ledger says of a transfer. */
struct entry {
	uint64_t id;
	uint32_t from, to;
	int64_t amount;
	uint64_t before[2];
	uint64_t claim;
};

struct bank {
	uint64_t next_id;
	struct map *transfers; /* by id */
	struct bank_transfer **all;
	size_t n_all, cap_all;
	struct seen *seen;
	size_t n_seen, cap_seen;
};

static struct bank *
bank_of(struct run *r)
{
	struct bank *b = r->state;

	if (b)
		return b;
	r->state = b = NEW(sim_arena(r->sim), struct bank);
	b->transfers = map_new(sim_arena(r->sim));
	return b;
}

static void *
grown(struct run *r, void *p, size_t n, size_t *cap, size_t size)
{
	size_t old = *cap;

	if (n < old)
		return p;
	*cap = old ? 2 * old : 1024;
	return arena_grow(sim_arena(r->sim), p, old * size, *cap * size);
}

static void
note_seen(struct run *r, const struct seen *x)
{
	struct bank *b = bank_of(r);

	b->seen = grown(r, b->seen, b->n_seen, &b->cap_seen, sizeof *b->seen);
	b->seen[b->n_seen++] = *x;
}

/* ---- setup ---- */

static void
setup(struct client *c)
{
	struct sim_pg_result r;

	(void)bank_of(c->run);
	if (!client_insist(c, &r,
		"CREATE TABLE IF NOT EXISTS l (id bigint PRIMARY KEY, "
		"f bigint, t bigint, n bigint, pf bigint, pt bigint, "
		"c bigint)") ||
	    !client_insist(c, &r,
		"CREATE TABLE IF NOT EXISTS u (k bigint PRIMARY KEY, "
		"id bigint)"))
		return;
	for (uint32_t t = 0; t < BANK_ACCOUNTS; t += BANK_KEYS)
		if (!client_insist(c, &r,
			"CREATE TABLE IF NOT EXISTS %s (k bigint PRIMARY KEY, "
			"v bigint, w bigint, x bigint)",
			bank_table(t)))
			return;
	for (uint32_t i = 0; i < BANK_ACCOUNTS; i++)
		if (!client_insist(c, &r,
			"INSERT INTO %s (k, v, w, x) VALUES (%u, %d, 0, 0) "
			"ON CONFLICT (k) DO UPDATE SET v = %d",
			bank_table(i), i % BANK_KEYS, BALANCE, BALANCE))
			return;
}

/* ---- work ---- */

static void
work_transfer(struct client *c)
{
	struct bank *b = bank_of(c->run);
	struct bank_transfer *t =
	    NEW(sim_arena(c->run->sim), struct bank_transfer);
	struct run *r = c->run;

	t->id = ++b->next_id;
	t->from = (uint32_t)rng_below(&c->rng, BANK_ACCOUNTS);
	t->to =
	    (t->from + 1 + (uint32_t)rng_below(&c->rng, BANK_ACCOUNTS - 1)) %
	    BANK_ACCOUNTS;
	t->amount = (int64_t)rng_between(&c->rng, 1, 100);
	if (rng_below(&c->rng, 3) == 0)
		t->claim = run_now(r) / CLAIM_US + 1;
	t->parent = BANK_NONE;
	if (rng_below(&c->rng, 4) == 0)
		t->parent = (uint32_t)rng_below(&c->rng, BANK_ACCOUNTS);
	if (t->parent == t->from || t->parent == t->to)
		t->parent = BANK_NONE;
	map_put(b->transfers, MAP_KEY(&t->id), t);
	b->all = grown(
	    r, b->all, b->n_all, &b->cap_all, sizeof(struct bank_transfer *));
	b->all[b->n_all++] = t;
	(void)bank_do(c, t);
	r->acked += t->outcome == BANK_APPLIED;
	r->unknown += t->outcome == BANK_UNKNOWN;
	r->refused += t->outcome > BANK_APPLIED;
}

static void
work_read(struct client *c)
{
	uint32_t account = (uint32_t)rng_below(&c->rng, BANK_ACCOUNTS);
	struct sim_pg_result r;
	struct seen x = {.account = account};

	if (!client_query(c, &r, &x.start, "SELECT w FROM %s WHERE k = %u",
		bank_table(account), account % BANK_KEYS))
		return;
	client_expect_fair(c, &r);
	if (r.status != SIM_PG_OK)
		return;
	x.end = sim_now(c->run->sim);
	if (r.n_rows != 1 || !str_number(sim_pg_value(&r, 0, 0), &x.id))
		run_fail(c->run, "account %u is not there", account);
	else
		note_seen(c->run, &x);
}

static void
work_scan(struct client *c)
{
	uint32_t first = rng_below(&c->rng, 2) ? BANK_KEYS : 0;
	struct sim_pg_result r;
	uint64_t start, key;

	if (!client_query(
		c, &r, &start, "SELECT k, w FROM %s", bank_table(first)))
		return;
	client_expect_fair(c, &r);
	if (r.status != SIM_PG_OK)
		return;
	if (r.n_rows != BANK_KEYS)
		run_fail(c->run, "a scan of accounts gave %u rows", r.n_rows);
	for (uint32_t i = 0; i < r.n_rows; i++) {
		struct seen x = {.start = start, .end = sim_now(c->run->sim)};

		if (!str_number(sim_pg_value(&r, i, 0), &key) ||
		    !str_number(sim_pg_value(&r, i, 1), &x.id))
			continue;
		x.account = first + (uint32_t)key;
		note_seen(c->run, &x);
	}
}

/* A proposal of one group, in the way of transfers and they in its. */
static void
work_touch(struct client *c)
{
	uint32_t account = (uint32_t)rng_below(&c->rng, BANK_ACCOUNTS);
	struct sim_pg_result r;
	uint64_t started;

	if (client_query(c, &r, &started, "UPDATE %s SET x = %u WHERE k = %u",
		bank_table(account), (unsigned)rng_below(&c->rng, 1000),
		account % BANK_KEYS))
		client_expect_fair(c, &r);
}

static void
work(struct client *c)
{
	switch (rng_below(&c->rng, 10)) {
	case 0:
		work_touch(c);
		break;
	case 1:
	case 2:
		work_read(c);
		break;
	case 3:
		work_scan(c);
		break;
	default:
		work_transfer(c);
		break;
	}
}

/* ---- the ledger ---- */

struct audit {
	struct client *c;
	struct entry *entries;
	uint32_t n;
	struct map *by_id;
	struct map *next[BANK_ACCOUNTS]; /* id before -> entry */
	struct map *place[BANK_ACCOUNTS];
	uint64_t *places; /* memory of them */
};

static bool
number(const struct sim_pg_result *r, uint32_t row, uint32_t col, uint64_t *out)
{
	return str_number(sim_pg_value(r, row, col), out);
}

/* The first entry that has that one before it. */
static void
link_entry(struct audit *a, uint32_t account, uint64_t before, struct entry *e)
{
	if (map_get(a->next[account], MAP_KEY(&before)))
		run_fail(a->c->run,
		    "two transfers follow %" PRIu64 " at account %u, one is "
		    "%" PRIu64,
		    before, account, e->id);
	map_put(a->next[account], MAP_KEY(&before), e);
}

static void
check_entry(struct audit *a, struct entry *e)
{
	const struct bank_transfer *t =
	    map_get(bank_of(a->c->run)->transfers, MAP_KEY(&e->id));

	if (!t || t->from != e->from || t->to != e->to ||
	    t->amount != e->amount || t->claim != e->claim) {
		run_fail(a->c->run, "the ledger has a strange entry %" PRIu64,
		    e->id);
		return;
	}
	if (t->outcome == BANK_FALSE || t->outcome == BANK_REFUSED)
		run_fail(a->c->run,
		    "transfer %" PRIu64 " was done, but its client was told "
		    "that it %s",
		    e->id,
		    t->outcome == BANK_FALSE ? "was false" : "was refused");
	map_put(a->by_id, MAP_KEY(&e->id), e);
	link_entry(a, e->from, e->before[0], e);
	link_entry(a, e->to, e->before[1], e);
}

static bool
read_ledger(struct audit *a)
{
	struct client *c = a->c;
	struct sim_pg_result r;
	uint64_t v[7];

	if (!client_insist(c, &r, "SELECT id, f, t, n, pf, pt, c FROM l"))
		return false;
	a->entries = NEW_N(c->arena, struct entry, r.n_rows + 1);
	for (uint32_t i = 0; i < r.n_rows; i++) {
		struct entry *e = &a->entries[a->n++];

		for (uint32_t k = 0; k < 7; k++)
			if (!number(&r, i, k, &v[k]))
				return false;
		*e = (struct entry){v[0], (uint32_t)v[1], (uint32_t)v[2],
		    (int64_t)v[3], {v[4], v[5]}, v[6]};
		if (e->from < BANK_ACCOUNTS && e->to < BANK_ACCOUNTS)
			check_entry(a, e);
	}
	return true;
}

static void
check_answers(struct audit *a)
{
	const struct bank *b = bank_of(a->c->run);

	for (size_t i = 0; i < b->n_all; i++) {
		const struct bank_transfer *t = b->all[i];

		if (t->outcome == BANK_APPLIED &&
		    !map_get(a->by_id, MAP_KEY(&t->id)))
			run_fail(a->c->run,
			    "transfer %" PRIu64 " was acknowledged and is not "
			    "in the ledger",
			    t->id);
	}
}

/* Who claimed what is in the ledger, and the other way round. */
static bool
check_claims(struct audit *a)
{
	struct client *c = a->c;
	struct map *claimed = map_new(c->arena);
	struct sim_pg_result r;
	uint64_t key, id;

	if (!client_insist(c, &r, "SELECT k, id FROM u"))
		return false;
	for (uint32_t i = 0; i < r.n_rows; i++) {
		struct entry *e;

		if (!number(&r, i, 0, &key) || !number(&r, i, 1, &id))
			return false;
		e = map_get(a->by_id, MAP_KEY(&id));
		if (!e || e->claim != key)
			run_fail(c->run,
			    "key %" PRIu64 " is claimed by transfer %" PRIu64
			    ", which the ledger does not have",
			    key, id);
		else
			map_put(claimed, MAP_KEY(&key), e);
	}
	for (uint32_t i = 0; i < a->n; i++) {
		const struct entry *e = &a->entries[i];

		if (e->claim && map_get(claimed, MAP_KEY(&e->claim)) != e)
			run_fail(c->run,
			    "transfer %" PRIu64 " has no claim on %" PRIu64,
			    e->id, e->claim);
	}
	return true;
}

/* Walks an account's transfers in their order; returns what it should hold. */
static int64_t
walk(struct audit *a, uint32_t account, uint64_t *last)
{
	int64_t balance = BALANCE;
	uint64_t *place = NEW(a->c->arena, uint64_t);
	struct entry *e;

	*last = 0;
	map_put(a->place[account], MAP_KEY(last), place);
	while ((e = map_get(a->next[account], MAP_KEY(last)))) {
		uint64_t before = *place;

		balance += e->to == account ? e->amount : -e->amount;
		*last = e->id;
		if (map_get(a->place[account], MAP_KEY(last)))
			break; /* a circle: its balance will not fit */
		place = NEW(a->c->arena, uint64_t);
		*place = before + 1;
		map_put(a->place[account], MAP_KEY(last), place);
	}
	if (map_count(a->place[account]) != map_count(a->next[account]) + 1)
		run_fail(a->c->run,
		    "the transfers of account %u are no chain: %zu of %zu "
		    "follow each other",
		    account, map_count(a->place[account]) - 1,
		    map_count(a->next[account]));
	return balance;
}

static bool
check_balances(struct audit *a, uint32_t first)
{
	struct client *c = a->c;
	struct sim_pg_result r;
	uint64_t key, id, last;
	int64_t want, have;

	if (!client_insist(c, &r, "SELECT k, v, w FROM %s", bank_table(first)))
		return false;
	if (r.n_rows != BANK_KEYS)
		run_fail(c->run, "table %s has %u rows", bank_table(first),
		    r.n_rows);
	for (uint32_t i = 0; i < r.n_rows; i++) {
		struct str v = sim_pg_value(&r, i, 1);

		if (!number(&r, i, 0, &key) || !number(&r, i, 2, &id) ||
		    key >= BANK_KEYS)
			return false;
		have = strtoll(arena_cstr(c->arena, v), NULL, 10);
		want = walk(a, first + (uint32_t)key, &last);
		if (have != want || id != last)
			run_fail(c->run,
			    "account %u holds %" PRId64 " by transfer "
			    "%" PRIu64 ", and the ledger says %" PRId64
			    " by %" PRIu64,
			    first + (unsigned)key, have, id, want, last);
	}
	return true;
}

/* ---- reads ---- */

static int
by_end(const void *x, const void *y)
{
	const struct seen *a = x, *b = y;

	return a->end < b->end ? -1 : a->end > b->end;
}

/* What ended before another began is not behind it. */
static void
check_order(struct run *r, struct seen *s, size_t n)
{
	uint64_t *most = NEW_N(sim_arena(r->sim), uint64_t, n + 1);

	if (n)
		qsort(s, n, sizeof *s, by_end);
	for (size_t i = 0; i < n; i++) {
		most[i + 1] = s[i].place > most[i] ? s[i].place : most[i];
	}
	for (size_t i = 0; i < n; i++) {
		size_t lo = 0, hi = n;

		while (lo < hi) {
			size_t mid = (lo + hi) / 2;

			if (s[mid].end < s[i].start)
				lo = mid + 1;
			else
				hi = mid;
		}
		if (s[i].place >= most[lo])
			continue;
		run_fail(r,
		    "account %u: %s from %.6f to %.6f is of place %" PRIu64
		    ", and %" PRIu64 " was known before",
		    s[i].account, s[i].wrote ? "a transfer" : "a read",
		    (double)s[i].start / 1e6, (double)s[i].end / 1e6,
		    s[i].place, most[lo]);
		return;
	}
}

/* All that was seen of an account, and who wrote it, at their places. */
static void
check_reads(struct audit *a, uint32_t account)
{
	struct run *r = a->c->run;
	struct bank *b = bank_of(r);
	struct seen *s =
	    NEW_N(sim_arena(r->sim), struct seen, b->n_seen + b->n_all + 1);
	size_t n = 0;

	for (size_t i = 0; i < b->n_seen; i++) {
		const struct seen *x = &b->seen[i];
		const uint64_t *place =
		    map_get(a->place[account], MAP_KEY(&x->id));
		const struct bank_transfer *t =
		    map_get(b->transfers, MAP_KEY(&x->id));

		if (x->account != account)
			continue;
		if (!place || (t && t->start > x->end)) {
			run_fail(r,
			    "account %u: transfer %" PRIu64 " was read, which "
			    "%s",
			    account, x->id,
			    place ? "began later" : "was never done");
			return;
		}
		s[n] = *x;
		s[n++].place = *place;
	}
	for (size_t i = 0; i < b->n_all; i++) {
		const struct bank_transfer *t = b->all[i];
		const uint64_t *place =
		    map_get(a->place[account], MAP_KEY(&t->id));

		if (t->outcome == BANK_APPLIED && place)
			s[n++] = (struct seen){.account = account,
			    .id = t->id,
			    .start = t->start,
			    .end = t->end,
			    .place = *place,
			    .wrote = true};
	}
	check_order(r, s, n);
}

/* ---- nothing is left ---- */

struct rest {
	uint64_t parts, open;
};

static bool
rest_ev(void *arg, struct str key, struct str val)
{
	struct rest *r = arg;

	/* A decision: format, index, stamp, outcome, deadline, settled. */
	if (key.p[0] == 'D' && val.len > 26)
		r->open += val.p[17] == CL_COMMIT && val.p[26] == 0;
	r->parts += key.p[0] == 'Y';
	return key.p[0] <= 'Y';
}

static uint64_t
locks_of(const struct st_node *n)
{
	uint64_t locks = 0;
	size_t at = 0;
	void *v;

	while (n && map_next(n->groups, &at, NULL, &v)) {
		const struct st_group *g = v;

		if (g->arena)
			locks += g->locks.n_reqs;
	}
	return locks;
}

/* Parts and open decisions on any disk, locks of any process; "" = none. */
static const char *
what_is_left(struct client *c)
{
	const struct fleet *f = c->run->fleet;
	struct rest r = {0};
	uint64_t locks = 0;

	for (uint32_t i = 0; i < f->conf.nodes; i++) {
		engine_mem_each(
		    f->nodes[i].disk.disk, KV_META, STR("D"), rest_ev, &r);
		locks += locks_of(f->nodes[i].node);
	}
	if (!r.parts && !r.open && !locks)
		return "";
	return arena_printf(c->arena,
	    "%" PRIu64 " prepared parts, %" PRIu64 " open decisions, %" PRIu64
	    " locks",
	    r.parts, r.open, locks);
}

static void
check_rest(struct client *c)
{
	uint64_t until = sim_now(c->run->sim) + REST_US;
	const char *left = what_is_left(c);

	while (*left && sim_now(c->run->sim) < until) {
		client_sleep(c, SECOND / 4);
		left = what_is_left(c);
	}
	if (*left)
		run_fail(c->run, "transactions are left lying: %s", left);
}

static bool
audit(struct client *c)
{
	struct audit *a;

	arena_reset(c->arena);
	a = NEW(c->arena, struct audit);
	a->c = c;
	a->by_id = map_new(c->arena);
	for (uint32_t i = 0; i < BANK_ACCOUNTS; i++) {
		a->next[i] = map_new(c->arena);
		a->place[i] = map_new(c->arena);
	}
	if (!read_ledger(a) || !check_claims(a) || !check_balances(a, 0) ||
	    !check_balances(a, BANK_KEYS))
		return false;
	check_answers(a);
	for (uint32_t i = 0; i < BANK_ACCOUNTS; i++)
		check_reads(a, i);
	return true;
}

static void
check(struct client *c)
{
	if (!audit(c))
		return;
	check_rest(c);
	/* What is late must not come after the last word. */
	client_sleep(c, 5 * SECOND);
	(void)audit(c);
}

/* Several groups in most seeds; decisions are given up, and forgotten, early in
 * some. */
static void
shape(struct fleet_conf *f)
{
	f->transactions = true;
	f->slots = f->slots < 4 ? f->slots * 4 : f->slots;
	if (f->sweep_interval_us % 3)
		f->txn_abort_after_us = 2 * SECOND + f->sweep_interval_us;
	if (f->sweep_interval_us % 2)
		f->txn_retention_us = 3 * SECOND;
}

const struct scenario scenario_bank = {
    .name = "bank",
    .claim = "a transfer is done in all its groups or in none",
    .clients = 6,
    .faults_not = CHAOS_APART,
    .think_us = 30000,
    .shape = shape,
    .setup = setup,
    .work = work,
    .check = check,
};

/* Who coordinates, prepares, asks or answers is struck between any two steps.
 */
const struct scenario scenario_bank_takeover = {
    .name = "bank_takeover",
    .claim = "transfers are whole whoever leads, and whoever goes",
    .clients = 6,
    .faults = CHAOS_TAKEOVER | CHAOS_LEASE_PAUSE | CHAOS_NODE_KILL |
	      CHAOS_PARTITION | CHAOS_ONE_WAY,
    .faults_not = CHAOS_APART,
    .think_us = 20000,
    .replication = 3,
    .shape = shape,
    .setup = setup,
    .work = work,
    .check = check,
};
