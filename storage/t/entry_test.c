/* Log entries: golden vectors, round trips, damaged bytes. */
#include "storage/entry.h"

#include <stdio.h>

#include "cluster/row.h"
#include "regress/lib/cu.h"

static struct arena *arena;

static void
hex(const struct buf *b, char *out)
{
	for (size_t i = 0; i < b->len; i++)
		sprintf(out + 2 * i, "%02x", b->p[i]);
	out[2 * b->len] = 0;
}

static struct st_entry
base(enum st_entry_kind kind)
{
	return (struct st_entry){.kind = kind,
	    .ballot = {0x0102030405060708u, 3, 4},
	    .index = 9,
	    .stamp = 0x1122334455667788u};
}

static struct st_entry
proposal(struct cl_write *w, uint8_t *row)
{
	struct st_entry e = base(ST_ENTRY_PROPOSAL);

	memset(row, 0, CL_ROW_HEADER);
	row[0] = CL_ROW_FORMAT;
	w[0] = (struct cl_write){
	    CL_WRITE_PUT, STR("key"), str_of(row, CL_ROW_HEADER)};
	w[1] = (struct cl_write){CL_WRITE_DELETE, STR("k2"), STR_NONE};
	memset(e.op.session, 0xaa, 16);
	e.op.sequence = 300;
	e.op.answered = 7;
	e.op.outcome = CL_APPLIED;
	e.writes = w;
	e.n_writes = 2;
	return e;
}

static void
check_golden(const struct st_entry *e, const char *want)
{
	static char text[1024];
	struct buf b;

	buf_init(&b, arena);
	st_entry_encode(&b, e);
	hex(&b, text);
	CHECK_STR(text, want);
}

static const struct st_txn txn = {{1, 2, 3}, 0x0102030405060708u, 4};

static struct st_entry
prepare(struct cl_write *w, uint8_t *row)
{
	static const struct str shared[] = {{"s1", 2}, {"s2", 2}};
	struct st_entry e = proposal(w, row);

	e.kind = ST_ENTRY_PREPARE;
	e.txn = txn;
	e.part = 2;
	e.age = 5;
	e.coordinator = (struct st_ballot){6, 7, 8};
	e.decides = (struct st_gid){9, 10, 11};
	e.deadline = 12;
	e.shared = shared;
	e.n_shared = 2;
	return e;
}

static struct st_entry
decide(struct cl_write *w, uint8_t *row)
{
	static const struct st_gid gids[] = {{1, 5, 3}, {2, 6, 4}};
	struct st_entry e = proposal(w, row);

	e.kind = ST_ENTRY_DECIDE;
	e.txn = txn;
	e.outcome = CL_COMMIT;
	e.deadline = 12;
	e.with_op = true;
	e.participants = gids;
	e.n_participants = 2;
	return e;
}

#define HEAD                                                                   \
	"080706050403020103000000040000000900000000000000"                     \
	"8877665544332211"

static void
encodings_are_what_they_were(void)
{
	struct st_forget f = {STR("kk"), 0x0807060504030201u};
	struct cl_write w[2];
	uint8_t row[CL_ROW_HEADER];
	struct st_entry e;

	arena = arena_new(NULL, "entry");
	e = base(ST_ENTRY_EMPTY);
	check_golden(&e, "0101" HEAD);
	e = base(ST_ENTRY_SCHEMA);
	e.table = 16384;
	e.version = 2;
	check_golden(&e, "0103" HEAD "0040000002000000");
	e = base(ST_ENTRY_FORGET);
	e.floor = 5;
	e.forget = &f;
	e.n_forget = 1;
	check_golden(&e, "0104" HEAD "0500000000000000"
			 "01"
			 "026b6b"
			 "0102030405060708");
	e = proposal(w, row);
	/* The row's stamp is the entry's. */
	check_golden(&e, "0102" HEAD "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
			 "ac02"
			 "07"
			 "01"
			 "02"
			 "01"
			 "036b6579"
			 "0a"
			 "0100"
			 "8877665544332211"
			 "02"
			 "026b32"
			 "00");
	arena_free(arena);
}

#define TXN                                                                    \
	"000000010002000000030102030405060708"                                 \
	"00000004"
#define PUTS                                                                   \
	"02"                                                                   \
	"01"                                                                   \
	"036b6579"                                                             \
	"0a"                                                                   \
	"0100"                                                                 \
	"8877665544332211"                                                     \
	"02"                                                                   \
	"026b32"                                                               \
	"00"

static void
encodings_of_transactions_are_what_they_were(void)
{
	struct st_txn both[] = {txn, txn};
	struct cl_write w[2];
	uint8_t row[CL_ROW_HEADER];
	struct st_entry e;

	arena = arena_new(NULL, "entry");
	both[1].member = 5;
	e = prepare(w, row);
	check_golden(&e, "0105" HEAD TXN "02"
			 "0500000000000000"
			 "06000000000000000700000008000000"
			 "00000009000a0000000b"
			 "0c00000000000000"
			 "02"
			 "027331"
			 "027332" PUTS);
	e = decide(w, row);
	check_golden(&e, "0106" HEAD TXN "01"
			 "0c00000000000000"
			 "01"
			 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
			 "ac02"
			 "07"
			 "01"
			 "02"
			 "00000001000500000003"
			 "00000002000600000004" PUTS);
	e = base(ST_ENTRY_DECIDE);
	e.txn = txn;
	e.outcome = CL_ABORT;
	e.deadline = 12;
	check_golden(&e, "0106" HEAD TXN "02"
			 "0c00000000000000"
			 "000000");
	e = base(ST_ENTRY_RESOLVE);
	e.txn = txn;
	e.outcome = CL_COMMIT;
	e.deadline = 12;
	check_golden(&e, "0107" HEAD TXN "01"
			 "0c00000000000000");
	e = base(ST_ENTRY_SETTLED);
	e.txns = both;
	e.n_txns = 2;
	check_golden(&e, "0108" HEAD "02" TXN
			 "00000001000200000003010203040506070800000005");
	arena_free(arena);
}

static void
check_damaged(const struct st_entry *e)
{
	struct st_entry out;
	struct buf b;

	buf_init(&b, arena);
	st_entry_encode(&b, e);
	CHECK(st_entry_decode(arena, buf_view(&b), &out) == NULL);
	CHECK(st_txn_eq(&out.txn, &e->txn) && out.deadline == e->deadline);
	CHECK(out.n_writes == e->n_writes && out.part == e->part);
	CHECK(out.n_shared == e->n_shared && out.with_op == e->with_op);
	CHECK(out.n_participants == e->n_participants);
	for (size_t n = 0; n < b.len; n++)
		CHECK(st_entry_decode(arena, str_of(b.p, n), &out) != NULL);
	buf_u8(&b, 0);
	CHECK(st_entry_decode(arena, buf_view(&b), &out) != NULL);
}

static void
entries_of_transactions_come_back_or_are_errors(void)
{
	struct cl_write w[2];
	uint8_t row[CL_ROW_HEADER];
	struct st_entry e;

	arena = arena_new(NULL, "entry");
	e = prepare(w, row);
	check_damaged(&e);
	e = decide(w, row);
	check_damaged(&e);
	e = base(ST_ENTRY_RESOLVE);
	e.txn = txn;
	e.outcome = CL_ABORT;
	check_damaged(&e);
	arena_free(arena);
}

static void
what_is_encoded_is_decoded(void)
{
	struct cl_write w[2];
	uint8_t row[CL_ROW_HEADER];
	struct st_entry e, out;
	struct cl_row_head h;
	struct buf b;

	arena = arena_new(NULL, "entry");
	e = proposal(w, row);
	buf_init(&b, arena);
	st_entry_encode(&b, &e);
	CHECK(st_entry_decode(arena, buf_view(&b), &out) == NULL);
	CHECK(out.kind == e.kind && out.index == 9 && out.stamp == e.stamp);
	CHECK(st_ballot_cmp(&out.ballot, &e.ballot) == 0);
	CHECK(out.op.sequence == 300 && out.op.answered == 7);
	CHECK(out.n_writes == 2 && str_eq(out.writes[1].key, STR("k2")));
	CHECK(cl_row_head(out.writes[0].value, &h) && h.stamp == e.stamp);
	arena_free(arena);
}

static void
damaged_bytes_are_errors(void)
{
	struct cl_write w[2];
	uint8_t row[CL_ROW_HEADER];
	struct st_entry e, out;
	struct buf b;

	arena = arena_new(NULL, "entry");
	e = proposal(w, row);
	buf_init(&b, arena);
	st_entry_encode(&b, &e);
	/* Each prefix, and one byte too many. */
	for (size_t n = 0; n < b.len; n++)
		CHECK(st_entry_decode(arena, str_of(b.p, n), &out) != NULL);
	buf_u8(&b, 0);
	CHECK(st_entry_decode(arena, buf_view(&b), &out) != NULL);
	b.len--;
	b.p[0] = 2;
	CHECK(err_is(st_entry_decode(arena, buf_view(&b), &out),
	    ERRCODE_FEATURE_NOT_SUPPORTED));
	b.p[0] = 1;
	b.p[1] = 99;
	CHECK(err_is(st_entry_decode(arena, buf_view(&b), &out),
	    ERRCODE_FEATURE_NOT_SUPPORTED));
	arena_free(arena);
}

static void
ballots_are_compared_as_a_whole(void)
{
	struct st_ballot a = {5, 2, 1}, b = a;

	CHECK(st_ballot_cmp(&a, &b) == 0);
	b.incarnation = 2;
	CHECK(st_ballot_cmp(&a, &b) < 0);
	a.member = 3;
	CHECK(st_ballot_cmp(&a, &b) > 0);
	b.round = 6;
	CHECK(st_ballot_cmp(&a, &b) < 0);
}

CU_MAIN("entry", {"encodings_are_what_they_were", encodings_are_what_they_were},
    {"encodings_of_transactions_are_what_they_were",
	encodings_of_transactions_are_what_they_were},
    {"entries_of_transactions_come_back_or_are_errors",
	entries_of_transactions_come_back_or_are_errors},
    {"what_is_encoded_is_decoded", what_is_encoded_is_decoded},
    {"damaged_bytes_are_errors", damaged_bytes_are_errors},
    {"ballots_are_compared_as_a_whole", ballots_are_compared_as_a_whole})
