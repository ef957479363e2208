/* What a group knows of transactions: what each entry does, in whatever order
 * they come, and what is kept and forgotten. */
#include "storage/txns.h"

#include "base/mutate.h"
#include "cluster/row.h"
#include "regress/lib/cu.h"

#define RETENTION 1000u

static struct arena *arena;
static struct st_locks locks;
static struct st_txns *txns;
static uint64_t applied; /* index */
static cl_stamp stamp;

static const struct st_gid here = {1, 7, 1};
static const struct st_gid others[] = {{1, 8, 1}, {1, 9, 1}};
static const struct st_txn t1 = {{1, 7, 1}, 5, 2};

static void
begin(void)
{
	arena = arena_new(NULL, "transactions");
	st_locks_init(&locks, arena);
	txns = st_txns_new(arena, &locks, RETENTION);
	applied = 0;
	stamp = 10;
}

static void
end(void)
{
	st_txns_abandon(txns);
	CHECK(locks.n_reqs == 0);
	st_txns_free(txns);
	arena_free(arena);
}

static struct st_entry
prepare(uint32_t part)
{
	static uint8_t row[CL_ROW_HEADER];
	static struct cl_write w[2];
	static const struct str shared[] = {{"s", 1}};

	memset(row, 0, sizeof row);
	row[0] = CL_ROW_FORMAT;
	w[0] =
	    (struct cl_write){CL_WRITE_PUT, STR("p"), str_of(row, sizeof row)};
	w[1] = (struct cl_write){CL_WRITE_DELETE, STR("q"), STR_NONE};
	return (struct st_entry){.kind = ST_ENTRY_PREPARE,
	    .txn = t1,
	    .part = part,
	    .age = 3,
	    .deadline = 100,
	    .decides = t1.gid,
	    .shared = shared,
	    .n_shared = 1,
	    .writes = w,
	    .n_writes = 2};
}

static struct st_entry
decide(uint8_t outcome)
{
	return (struct st_entry){.kind = ST_ENTRY_DECIDE,
	    .txn = t1,
	    .outcome = outcome,
	    .deadline = 100,
	    .participants = others,
	    .n_participants = outcome == CL_COMMIT ? 2 : 0};
}

static struct st_entry
resolve(uint8_t outcome)
{
	return (struct st_entry){.kind = ST_ENTRY_RESOLVE,
	    .txn = t1,
	    .outcome = outcome,
	    .deadline = 100};
}

static struct st_effect
take(struct st_entry e)
{
	struct st_effect f;

	e.index = applied + 1;
	e.stamp = stamp++;
	st_txns_take(txns, arena, here, &e, &f);
	st_txns_applied(txns, ++applied);
	return f;
}

static void
append(struct st_entry e, uint64_t index)
{
	e.index = index;
	e.stamp = stamp + index;
	st_txns_begin(txns, &e);
}

static void
a_commit_writes_the_prepared_rows(void)
{
	struct cl_row_head h;
	struct st_effect f;

	begin();
	f = take(prepare(1));
	CHECK(f.n_writes == 0 && f.n_ops == 1 && f.ops[0].key.p[0] == 'Y');
	CHECK(st_txns_part(txns, &t1, 1) != NULL);
	CHECK(st_txns_in_range(txns, STR("p"), STR("pp")) != NULL);
	CHECK(st_txns_in_range(txns, STR("q"), STR_NONE) != NULL);
	CHECK(st_txns_in_range(txns, STR("r"), STR_NONE) == NULL);
	f = take(resolve(CL_COMMIT));
	MUST(f.n_writes == 2);
	CHECK(cl_row_head(f.writes[0].value, &h) && h.stamp == stamp - 1);
	CHECK(f.writes[1].kind == CL_WRITE_DELETE);
	CHECK(f.n_ops == 2 && f.ops[0].del && f.ops[0].key.p[0] == 'Y');
	CHECK(f.ops[1].key.p[0] == 'E');
	CHECK(st_txns_part(txns, &t1, 1) == NULL);
	end();
}

static void
an_abort_writes_nothing(void)
{
	struct st_effect f;

	begin();
	(void)take(prepare(1));
	f = take(resolve(CL_ABORT));
	CHECK(f.n_writes == 0 && f.n_ops == 2 && f.ops[0].del);
	end();
}

/* A late one of a transaction that is over, also of one never seen here. */
static void
a_resolved_transaction_is_not_prepared_again(void)
{
	struct st_effect f;

	begin();
	(void)take(resolve(CL_ABORT));
	f = take(prepare(1));
	CHECK(f.n_ops == 0 && st_txns_part(txns, &t1, 1) == NULL);
	end();
}

static void
a_part_is_prepared_once(void)
{
	struct st_effect f;

	begin();
	(void)take(prepare(1));
	f = take(prepare(1));
	CHECK(f.n_ops == 0);
	f = take(prepare(2));
	CHECK(f.n_ops == 1);
	f = take(resolve(CL_COMMIT));
	CHECK(f.n_writes == 4 && f.n_ops == 3);
	end();
}

static void
the_first_decision_counts(void)
{
	struct st_effect f;

	begin();
	f = take(decide(CL_ABORT));
	CHECK(f.counts && f.n_ops == 1);
	f = take(decide(CL_COMMIT));
	CHECK(!f.counts && f.n_ops == 0);
	CHECK(st_txns_find(txns, &t1)->decision->outcome == CL_ABORT);
	end();
}

static void
a_resolved_id_is_kept_up_to_the_deadline(void)
{
	struct st_effect f;

	begin();
	(void)take(resolve(CL_ABORT));
	CHECK(st_txns_next_forget(txns) == 101);
	stamp = 100;
	(void)take((struct st_entry){.kind = ST_ENTRY_EMPTY});
	CHECK(st_txns_find(txns, &t1) != NULL);
	f = take((struct st_entry){.kind = ST_ENTRY_EMPTY});
	CHECK(f.n_ops == 1 && f.ops[0].del && f.ops[0].key.p[0] == 'E');
	CHECK(st_txns_find(txns, &t1) == NULL);
	end();
}

static void
a_commit_is_kept_until_everybody_knows(void)
{
	struct st_entry settled = {
	    .kind = ST_ENTRY_SETTLED, .txns = &t1, .n_txns = 1};
	struct st_effect f;
	struct st_txn id;

	begin();
	(void)take(decide(CL_COMMIT));
	stamp += 2 * RETENTION;
	(void)take((struct st_entry){.kind = ST_ENTRY_EMPTY});
	MUST(st_txns_find(txns, &t1) != NULL);
	CHECK(st_txns_unsettled(txns, NULL, &id) != NULL);
	CHECK(st_txn_eq(&id, &t1));
	/* The entry that says so is old enough itself. */
	f = take(settled);
	CHECK(f.n_ops == 2 && f.ops[1].del && f.ops[1].key.p[0] == 'D');
	CHECK(st_txns_find(txns, &t1) == NULL);
	end();
}

static void
locks_are_held_while_one_leads(void)
{
	struct st_lock_want want[1] = {{.key = STR("q"), .exclusive = true}};
	struct st_lock_req r = {0};

	begin();
	(void)take(prepare(1));
	CHECK(st_locks_prepared(&locks, STR("q")) == NULL);
	st_txns_lock(txns);
	CHECK(st_locks_prepared(&locks, STR("q")) != NULL);
	CHECK(st_locks_prepared(&locks, STR("s")) == NULL);
	st_lock_req_init(&r, want, 1);
	CHECK(!st_locks_acquire(&locks, &r));
	st_locks_release(&locks, &r);
	st_txns_abandon(txns);
	CHECK(locks.n_reqs == 0);
	CHECK(st_txns_part(txns, &t1, 1) != NULL);
	end();
}

static void
what_was_only_appended_is_forgotten(void)
{
	begin();
	append(prepare(1), 1);
	append(decide(CL_COMMIT), 2);
	append(resolve(CL_COMMIT), 3);
	CHECK(st_txns_part(txns, &t1, 1) != NULL);
	CHECK(st_txns_find(txns, &t1)->resolved == 3);
	CHECK(!st_txns_is_applied(txns, 2));
	st_txns_abandon(txns);
	CHECK(st_txns_find(txns, &t1) == NULL);
	end();
}

/* What an entry brings while it was known before is the same. */
static void
appended_entries_do_the_same_when_applied(void)
{
	struct st_effect f;

	begin();
	append(prepare(1), 1);
	append(resolve(CL_COMMIT), 2);
	f = take(prepare(1));
	CHECK(f.n_ops == 1 && f.ops[0].key.p[0] == 'Y');
	f = take(resolve(CL_COMMIT));
	CHECK(f.n_writes == 2 && f.n_ops == 2);
	end();
}

static void
records_make_the_same_state(void)
{
	struct st_txns *first;
	struct st_effect f[3];

	begin();
	f[0] = take(prepare(1));
	f[1] = take(decide(CL_COMMIT));
	f[2] = take(resolve(CL_COMMIT));
	first = txns;
	txns = st_txns_new(arena, &locks, RETENTION);
	for (int i = 0; i < 3; i++)
		for (uint32_t k = 0; k < f[i].n_ops; k++) {
			struct st_meta_op *op = &f[i].ops[k];
			struct buf key;

			if (op->del)
				continue;
			buf_init(&key, arena);
			buf_u8(&key, (uint8_t)op->key.p[0]);
			buf_str(&key, str_skip(op->key, 1 + ST_GID_LEN));
			CHECK(st_txns_owns(buf_view(&key)));
			CHECK(!st_txns_load(
			    arena, txns, buf_view(&key), op->value));
		}
	st_txns_loaded(txns, applied);
	/* All that was ever written: the part's record came first. */
	CHECK(st_txns_part(txns, &t1, 1) != NULL);
	CHECK(st_txns_find(txns, &t1)->decision->n_participants == 2);
	CHECK(st_txns_find(txns, &t1)->resolved == 3);
	CHECK(st_txns_load(arena, txns, STR("Dx"), STR("")) != NULL);
	st_txns_free(first);
	end();
}

CU_MAIN("txns",
    {"a_commit_writes_the_prepared_rows", a_commit_writes_the_prepared_rows},
    {"an_abort_writes_nothing", an_abort_writes_nothing},
    {"a_resolved_transaction_is_not_prepared_again",
	a_resolved_transaction_is_not_prepared_again},
    {"a_part_is_prepared_once", a_part_is_prepared_once},
    {"the_first_decision_counts", the_first_decision_counts},
    {"a_resolved_id_is_kept_up_to_the_deadline",
	a_resolved_id_is_kept_up_to_the_deadline},
    {"a_commit_is_kept_until_everybody_knows",
	a_commit_is_kept_until_everybody_knows},
    {"locks_are_held_while_one_leads", locks_are_held_while_one_leads},
    {"what_was_only_appended_is_forgotten",
	what_was_only_appended_is_forgotten},
    {"appended_entries_do_the_same_when_applied",
	appended_entries_do_the_same_when_applied},
    {"records_make_the_same_state", records_make_the_same_state})
