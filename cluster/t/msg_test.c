#include "cluster/msg.h"

#include "cluster/t/vec.h"

#define ID16 STR("0123456789abcdef")

/* One sample of each message, in the order of the table. */
static struct cl_cond conds[] = {{CL_COND_ABSENT, {"k", 1}, 0},
    {CL_COND_STAMP, {"kk", 2}, 0x0102030405060708}};
static struct cl_write writes[] = {{CL_WRITE_PUT, {"k", 1}, {"vvv", 3}},
    {CL_WRITE_DELETE, {"kk", 2}, {NULL, 0}}};
static struct cl_row rows[] = {{{"k", 1}, {"v", 1}}, {{"kk", 2}, {NULL, 0}}};
static struct cl_point points[] = {{1, 2, 3, {"k", 1}}};
static struct cl_slot_ref slots[] = {{0x0102, 3}, {4, 0x05060708}};
static struct cl_column_ref columns[] = {{1}, {7}};
static struct cl_table_count tables[] = {{16384, 5, 6}};
static struct cl_object_change objects[] = {
    {8, 16384, 5, 6, 0, {"o", 1}}, {8, 16385, 7, 8, 1, {NULL, 0}}};
static struct cl_promise promises[] = {{1, 2, 3, 4}};
static struct cl_group_at elsewhere[] = {{1, 2, 3, 4}, {1, 5, 6, 0}};
static struct cl_append_head heads[] = {
    {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 1, 2}};
static struct cl_append_entry entries[] = {{{"ee", 2}}, {{NULL, 0}}};
static struct cl_append_ack acks[] = {{CL_APPEND_GAP, 1, 2, 3, 4, 5, 6}};
static struct cl_group_index indexes[] = {{1, 2, 3, 5, 4}};
static struct cl_group_ballot ballots[] = {{1, 2, 3, 4, 5, 6}};
static struct cl_member_seen seen[] = {{2, 3, 4, 5, 6, 7}};
static struct cl_group_info group_infos[] = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}};
static struct cl_table_digest digest_list[] = {{16384, 5, 0x0102030405060708}};

static const struct cl_hello hello = {.cluster = {"0123456789abcdef", 16},
    .role = CL_PEER_GATEWAY,
    .id = 2,
    .incarnation = 3,
    .format_min = 1,
    .format_max = 4,
    .level = 5,
    .nonce = {"n", 1},
    .life = {"l", 1}};
static const struct cl_welcome welcome = {.cluster = {"0123456789abcdef", 16},
    .id = 2,
    .incarnation = 3,
    .format = 1,
    .level = 5,
    .nonce = {"n", 1},
    .proof = {"p", 1},
    .life = {"l", 1}};
static const struct cl_prove prove = {.proof = {"p", 1}};
static const struct cl_ready ready = {.catalog = 258};
static const struct cl_fail fail = {.sqlstate = {"57P03", 5},
    .message = {"m", 1},
    .detail = {"d", 1},
    .hint = {"h", 1},
    .proposed = 1};
static const struct cl_ping ping = {.sent = 1};
static const struct cl_pong pong = {.sent = 2};
static const struct cl_join join = {.token = {"0123456789abcdef", 16},
    .alias = {"a", 1},
    .addr = {"h:1", 3},
    .zone = {"z", 1},
    .level = 1,
    .incarnation = 2};
static const struct cl_joined joined = {
    .cluster = {"0123456789abcdef", 16}, .member = 2};
static const struct cl_catalog_get catalog_get = {.since = 1,
    .version = 2,
    .after_kind = 8,
    .after_id = 3,
    .wait_us = 1000000};
static const struct cl_catalog_page catalog_page = {
    .version = 9, .full = 1, .more = 0, .objects = objects, .n_objects = 2};
static const struct cl_propose propose = {.placement = 1,
    .slot = 2,
    .epoch = 3,
    .session = {"0123456789abcdef", 16},
    .sequence = 4,
    .send = 1,
    .deadline = 5,
    .answered = 6,
    .conds = conds,
    .n_conds = 2,
    .writes = writes,
    .n_writes = 2};
static const struct cl_proposed proposed = {.outcome = CL_FALSE,
    .reason = 0,
    .leader = 7,
    .stamp = 1,
    .index = 2,
    .failed = 3,
    .rows = rows,
    .n_rows = 2};
static const struct cl_read read_msg = {
    .consistency = CL_ALL, .points = points, .n_points = 1};
static const struct cl_rows rows_msg = {.reason = CL_REFUSE_LEADER,
    .elsewhere = elsewhere,
    .n_elsewhere = 2,
    .rows = rows,
    .n_rows = 2};
static const struct cl_scan scan = {.consistency = CL_ONE,
    .placement = 1,
    .slots = slots,
    .n_slots = 2,
    .table = 16384,
    .start = {"a", 1},
    .end = {"b", 1},
    .flags = CL_SCAN_ORDERED | CL_SCAN_SOME,
    .filter = {"f", 1},
    .columns = columns,
    .n_columns = 2,
    .limit = 10,
    .bytes = 65536};
static const struct cl_page page = {.reason = 0,
    .elsewhere = elsewhere,
    .n_elsewhere = 1,
    .done = 1,
    .resume = {"r", 1},
    .count = 2,
    .scanned = 3,
    .rows = rows,
    .n_rows = 2};
static const struct cl_scan_more scan_more = {
    .resume = {"r", 1}, .scan = {"s", 1}};
static const struct cl_scan_index scan_index = {
    .index = 16385, .resume = {"r", 1}, .scan = {"s", 1}};
static const struct cl_counts_get counts_get = {.table = 16384};
static const struct cl_counts counts = {.tables = tables, .n_tables = 1};
static const struct cl_status_get status_get = {.unused = 0};
static const struct cl_status status = {.json = {"{}", 2}};
static const struct cl_vote vote = {.placement = 1,
    .slot = 2,
    .epoch = 3,
    .round = 4,
    .member = 5,
    .incarnation = 6,
    .last = 7,
    .last_round = 8,
    .last_member = 9,
    .last_incarnation = 10,
    .promises = promises,
    .n_promises = 1};
static const struct cl_voted voted = {
    .granted = 1, .round = 2, .member = 3, .incarnation = 4};
static const struct cl_append append = {
    .groups = heads, .n_groups = 1, .entries = entries, .n_entries = 2};
static const struct cl_appended appended = {.acks = acks, .n_acks = 1};
static const struct cl_beat beat = {.incarnation = 1,
    .sent = 2,
    .deaf_us = 9,
    .lost_of = 8,
    .lost_seen = 3,
    .commits = indexes,
    .n_commits = 1};
static const struct cl_beaten beaten = {.sent = 1,
    .incarnation = 2,
    .granted = 1,
    .lost_number = 3,
    .lost = ballots,
    .n_lost = 1,
    .applied = indexes,
    .n_applied = 1};
static const struct cl_resync_get resync_get = {.placement = 1,
    .slot = 2,
    .epoch = 3,
    .what = CL_RESYNC_ROWS,
    .applied = 4,
    .after = {"a", 1},
    .bytes = 65536,
    .index = 5,
    .round = 6,
    .incarnation = 7};
static const struct cl_resync_page resync_page = {.reason = CL_REFUSE_NONE,
    .leader = 1,
    .index = 2,
    .round = 3,
    .member = 4,
    .incarnation = 5,
    .stamp = 6,
    .floor = 7,
    .catalog = 8,
    .done = 1,
    .upto = {"u", 1},
    .rows = rows,
    .n_rows = 2};
static const struct cl_digest_get digest_get = {
    .placement = 1, .slot = 2, .epoch = 3, .index = 4, .deep = 1};
static const struct cl_digests digests = {
    .reason = 0, .index = 1, .wrong = 1, .tables = digest_list, .n_tables = 1};
static const struct cl_resync_ask resync_ask = {
    .placement = 1, .slot = 2, .epoch = 3};
static const struct cl_repair repair = {.groups = elsewhere, .n_groups = 1};
static const struct cl_repaired repaired = {
    .different = 3, .rows = 4, .bytes = 5, .groups = elsewhere, .n_groups = 1};
static const struct cl_member_get member_get = {.unused = 0};
static const struct cl_member_info member_info = {.serving = 1,
    .level = 2,
    .held = 3,
    .leading = 4,
    .incomplete = 5,
    .rows = 6,
    .bytes = 7,
    .others = seen,
    .n_others = 1};
static const struct cl_groups_get groups_get = {.placement = 1, .slot = 2};
static const struct cl_groups groups_msg = {.more = 1,
    .next_placement = 2,
    .next_slot = 3,
    .groups = group_infos,
    .n_groups = 1};

static struct cl_index_slot index_slots[] = {
    {.slot = 1, .state = CL_INDEX_SLOT_BUILT},
    {.slot = 2, .state = CL_INDEX_SLOT_ELSEWHERE, .leader = 3}};
static const struct cl_index_build index_build = {
    .index = 16385, .wait_us = 2, .slots = slots, .n_slots = 2};
static const struct cl_index_built index_built = {
    .slots = index_slots, .n_slots = 2, .failure = {"why", 3}};
static struct cl_part_head part_heads[] = {{1, 2, 3, 2, 2}};
static const struct cl_commit commit_msg = {.session = {"0123456789abcdef", 16},
    .sequence = 4,
    .send = 1,
    .deadline = 5,
    .answered = 6,
    .age = 7,
    .parts = part_heads,
    .n_parts = 1,
    .conds = conds,
    .n_conds = 2,
    .writes = writes,
    .n_writes = 2};
static const struct cl_prepare prepare_msg = {.placement = 1,
    .slot = 2,
    .epoch = 3,
    .txn_placement = 4,
    .txn_slot = 5,
    .txn_epoch = 6,
    .txn_stamp = 7,
    .txn_member = 8,
    .part = 9,
    .age = 10,
    .round = 11,
    .member = 12,
    .incarnation = 13,
    .deadline = 14,
    .conds = conds,
    .n_conds = 2,
    .writes = writes,
    .n_writes = 2};
static const struct cl_resolve resolve_msg = {.placement = 1,
    .slot = 2,
    .epoch = 3,
    .txn_placement = 4,
    .txn_slot = 5,
    .txn_epoch = 6,
    .txn_stamp = 7,
    .txn_member = 8,
    .outcome = CL_COMMIT,
    .deadline = 14};
static const struct cl_resolved resolved_msg = {
    .reason = CL_REFUSE_LEADER, .leader = 3};
static const struct cl_outcome_get outcome_get_msg = {.txn_placement = 4,
    .txn_slot = 5,
    .txn_epoch = 6,
    .txn_stamp = 7,
    .txn_member = 8,
    .round = 11,
    .member = 12,
    .incarnation = 13,
    .deadline = 14};
static const struct cl_told told_msg = {.leader = 3, .outcome = CL_ABORT};

static const struct sample {
	enum cl_msg_kind kind;
	const void *msg;
	const char *hex;

} samples[] = {
    {CL_MSG_HELLO, &hello,
	"1030313233343536373839616263646566 02 02000000 "
	"03000000 01 04 05000000 016e 016c"},
    {CL_MSG_WELCOME, &welcome,
	"1030313233343536373839616263646566 02000000 03000000 "
	"01 05000000 016e 0170 016c"},
    {CL_MSG_PROVE, &prove, "0170"},
    {CL_MSG_READY, &ready, "0201000000000000"},
    {CL_MSG_FAIL, &fail, "053537503033 016d 0164 0168 01"},
    {CL_MSG_PING, &ping, "0100000000000000"},
    {CL_MSG_PONG, &pong, "0200000000000000"},
    {CL_MSG_JOIN, &join,
	"1030313233343536373839616263646566 0161 03683a31 017a "
	"01000000 02000000"},
    {CL_MSG_JOINED, &joined, "1030313233343536373839616263646566 02000000"},
    {CL_MSG_CATALOG_GET, &catalog_get,
	"0100000000000000 0200000000000000 08 03000000 "
	"40420f0000000000"},
    {CL_MSG_CATALOG, &catalog_page,
	"0900000000000000 01 00 02 "
	"08 00400000 0500000000000000 0600000000000000 00 016f "
	"08 01400000 0700000000000000 0800000000000000 01 00"},
    {CL_MSG_PROPOSE, &propose,
	"01000000 0200 03000000 "
	"1030313233343536373839616263646566 0400000000000000 "
	"01000000 0500000000000000 0600000000000000 02 "
	"01 016b 0000000000000000 "
	"03 026b6b 0807060504030201 02 "
	"01 016b 03767676 "
	"02 026b6b 00"},
    {CL_MSG_PROPOSED, &proposed,
	"02 00 07000000 0100000000000000 0200000000000000 03000000 02 "
	"016b 0176 "
	"026b6b 00"},
    {CL_MSG_READ, &read_msg,
	"02 01 "
	"01000000 0200 03000000 016b"},
    {CL_MSG_ROWS, &rows_msg,
	"02 02 "
	"01000000 0200 03000000 04000000 "
	"01000000 0500 06000000 00000000 02 "
	"016b 0176 "
	"026b6b 00"},
    {CL_MSG_SCAN, &scan,
	"01 01000000 02 "
	"0201 03000000 "
	"0400 08070605 00400000 0161 0162 09 0166 02 "
	"01000000 "
	"07000000 0a00000000000000 00000100"},
    {CL_MSG_PAGE, &page,
	"00 01 "
	"01000000 0200 03000000 04000000 "
	"01 0172 0200000000000000 0300000000000000 02 "
	"016b 0176 "
	"026b6b 00"},
    {CL_MSG_SCAN_MORE, &scan_more, "0172 0173"},
    {CL_MSG_SCAN_INDEX, &scan_index, "01400000 0172 0173"},
    {CL_MSG_COUNTS_GET, &counts_get, "00400000"},
    {CL_MSG_COUNTS, &counts,
	"01 "
	"00400000 0500000000000000 0600000000000000"},
    {CL_MSG_STATUS_GET, &status_get, "00"},
    {CL_MSG_STATUS, &status, "027b7d"},
    {CL_MSG_VOTE, &vote,
	"01000000 0200 03000000 0400000000000000 05000000 06000000 "
	"0700000000000000 0800000000000000 09000000 0a000000 "
	"01 01000000 0200000000000000 03000000 04000000"},
    {CL_MSG_VOTED, &voted, "01 0200000000000000 03000000 04000000"},
    {CL_MSG_APPEND, &append,
	"01 "
	"01000000 0200 03000000 0400000000000000 05000000 06000000 "
	"0700000000000000 0800000000000000 09000000 0a000000 "
	"0b00000000000000 0c00000000000000 "
	"0d00000000000000 0e00000000000000 01 02000000 "
	"02 026565 00"},
    {CL_MSG_APPENDED, &appended,
	"01 "
	"02 0100000000000000 02000000 03000000 "
	"0400000000000000 0500000000000000 0600000000000000"},
    {CL_MSG_BEAT, &beat,
	"01000000 0200000000000000 0900000000000000 "
	"08000000 0300000000000000 01 01000000 0200 03000000 "
	"0500000000000000 0400000000000000"},
    {CL_MSG_BEATEN, &beaten,
	"0100000000000000 02000000 01 0300000000000000 01 "
	"01000000 0200 03000000 0400000000000000 05000000 06000000 "
	"01 01000000 0200 03000000 0500000000000000 0400000000000000"},
    {CL_MSG_RESYNC_GET, &resync_get,
	"01000000 0200 03000000 02 0400000000000000 0161 00000100 "
	"0500000000000000 0600000000000000 07000000"},
    {CL_MSG_RESYNC_PAGE, &resync_page,
	"00 01000000 "
	"0200000000000000 0300000000000000 04000000 05000000 "
	"0600000000000000 0700000000000000 0800000000000000 "
	"01 0175 02 "
	"016b 0176 "
	"026b6b 00"},
    {CL_MSG_DIGEST_GET, &digest_get,
	"01000000 0200 03000000 0400000000000000 01"},
    {CL_MSG_DIGESTS, &digests,
	"00 0100000000000000 01 01 "
	"00400000 0500000000000000 0807060504030201"},
    {CL_MSG_RESYNC_ASK, &resync_ask, "01000000 0200 03000000"},
    {CL_MSG_REPAIR, &repair, "01 01000000 0200 03000000 04000000"},
    {CL_MSG_REPAIRED, &repaired,
	"03000000 0400000000000000 0500000000000000 "
	"01 01000000 0200 03000000 04000000"},
    {CL_MSG_MEMBER_GET, &member_get, "00"},
    {CL_MSG_MEMBER_INFO, &member_info,
	"01 02000000 03000000 04000000 05000000 "
	"0600000000000000 0700000000000000 01 "
	"02000000 0300000000000000 04000000 05000000 "
	"0600000000000000 0700000000000000"},
    {CL_MSG_GROUPS_GET, &groups_get, "01000000 0200"},
    {CL_MSG_GROUPS, &groups_msg,
	"01 02000000 0300 01 "
	"01000000 0200 03000000 0400000000000000 0500000000000000 "
	"0600000000000000 0700000000000000 0800000000000000 "
	"0900000000000000 0a000000"},
    {CL_MSG_INDEX_BUILD, &index_build,
	"01400000 0200000000000000 02 "
	"0201 03000000 "
	"0400 08070605"},
    {CL_MSG_INDEX_BUILT, &index_built,
	"02 "
	"0100 02 00000000 "
	"0200 00 03000000 "
	"03776879"},
    {CL_MSG_COMMIT, &commit_msg,
	"1030313233343536373839616263646566 0400000000000000 01000000 "
	"0500000000000000 0600000000000000 0700000000000000 "
	"01 01000000 0200 03000000 02000000 02000000 02 "
	"01 016b 0000000000000000 "
	"03 026b6b 0807060504030201 02 "
	"01 016b 03767676 "
	"02 026b6b 00"},
    {CL_MSG_PREPARE, &prepare_msg,
	"01000000 0200 03000000 "
	"04000000 0500 06000000 0700000000000000 08000000 "
	"09000000 0a00000000000000 0b00000000000000 0c000000 0d000000 "
	"0e00000000000000 02 "
	"01 016b 0000000000000000 "
	"03 026b6b 0807060504030201 02 "
	"01 016b 03767676 "
	"02 026b6b 00"},
    {CL_MSG_RESOLVE, &resolve_msg,
	"01000000 0200 03000000 "
	"04000000 0500 06000000 0700000000000000 08000000 "
	"01 0e00000000000000"},
    {CL_MSG_RESOLVED, &resolved_msg, "02 03000000"},
    {CL_MSG_OUTCOME_GET, &outcome_get_msg,
	"04000000 0500 06000000 0700000000000000 08000000 "
	"0b00000000000000 0c000000 0d000000 0e00000000000000"},
    {CL_MSG_OUTCOME, &told_msg, "00 03000000 02"},
};

#define N_SAMPLES (sizeof samples / sizeof *samples)

static struct buf
encoded(const struct sample *s)
{
	struct buf b;

	buf_init(&b, vec_arena());
	cl_msg_encode(&b, s->kind, s->msg);
	return b;
}

static void
messages_have_their_vectors(void)
{
	for (size_t i = 0; i < N_SAMPLES; i++) {
		struct buf b = encoded(&samples[i]);

		GOLDEN(&b, samples[i].hex);
	}
}

static void
the_table_has_no_message_without_a_sample(void)
{
	size_t known = 0;

	for (unsigned kind = 0; kind <= UINT16_MAX; kind++)
		known += cl_msg_name((uint16_t)kind) != NULL;
	CHECK(known == N_SAMPLES);
	CHECK_STR(cl_msg_name(CL_MSG_PROPOSE), "PROPOSE");
	CHECK(cl_msg_name(999) == NULL);
}

static void
messages_come_back(void)
{
	for (size_t i = 0; i < N_SAMPLES; i++) {
		struct buf b = encoded(&samples[i]), again;
		void *msg;

		MUST(!cl_msg_decode(
		    b.arena, (uint16_t)samples[i].kind, buf_view(&b), &msg));
		buf_init(&again, b.arena);
		cl_msg_encode(&again, samples[i].kind, msg);
		CHECK(str_eq(buf_view(&again), buf_view(&b)));
	}
}

static void
fields_come_back_where_they_were(void)
{
	struct buf b = encoded(&samples[11]);
	const struct cl_propose *p;
	void *msg;

	MUST(samples[11].kind == CL_MSG_PROPOSE);
	MUST(!cl_msg_decode(b.arena, CL_MSG_PROPOSE, buf_view(&b), &msg));
	p = msg;
	CHECK(p->placement == 1 && p->slot == 2 && p->epoch == 3);
	CHECK(str_eq(p->session, ID16) && p->sequence == 4 && p->send == 1);
	CHECK(p->deadline == 5 && p->answered == 6);
	MUST(p->n_conds == 2 && p->n_writes == 2);
	CHECK(p->conds[1].kind == CL_COND_STAMP);
	CHECK(p->conds[1].arg == 0x0102030405060708);
	CHECK(str_eq(p->writes[0].value, STR("vvv")));
	CHECK(p->writes[1].kind == CL_WRITE_DELETE && !p->writes[1].value.len);
}

static void
size_is_what_encode_writes(void)
{
	for (size_t i = 0; i < N_SAMPLES; i++) {
		struct buf b = encoded(&samples[i]);

		CHECK(cl_msg_size(samples[i].kind, samples[i].msg) == b.len);
	}
	for (size_t n = 0; n <= CL_VALUE_MAX; n = n * 2 + 1) {
		struct arena *a = vec_arena();
		struct cl_status s = {str_of(arena_alloc(a, n + 1), n)};
		struct buf b;

		buf_init(&b, a);
		cl_msg_encode(&b, CL_MSG_STATUS, &s);
		CHECK(cl_msg_size(CL_MSG_STATUS, &s) == b.len);
	}
}

static void
messages_print_on_one_line(void)
{
	struct buf b;

	for (size_t i = 0; i < N_SAMPLES; i++) {
		buf_init(&b, vec_arena());
		cl_msg_print(&b, (uint16_t)samples[i].kind, samples[i].msg);
		CHECK(!memchr(b.p, '\n', b.len));
		CHECK(str_has_prefix(buf_view(&b),
		    str_c(cl_msg_name((uint16_t)samples[i].kind))));
	}
	buf_init(&b, vec_arena());
	cl_msg_print(&b, CL_MSG_ROWS, &rows_msg);
	CHECK_STR(buf_cstr(&b), "ROWS reason=2 "
				"elsewhere=2[{placement=1 slot=2 epoch=3 "
				"leader=4} {placement=1 slot=5 epoch=6 "
				"leader=0}] rows=2[{key=\"k\" value=\"v\"} "
				"{key=\"kk\" value=\"\"}]");
}

static void
a_long_field_prints_its_head(void)
{
	struct cl_status s = {.json = {NULL, 0}};
	struct arena *a = vec_arena();
	struct buf b;

	s.json = str_of(arena_alloc(a, 100), 100);
	buf_init(&b, a);
	cl_msg_print(&b, CL_MSG_STATUS, &s);
	CHECK(str_has_prefix(buf_view(&b), STR("STATUS json=\"\\x00\\x00")));
	CHECK(b.len == 13 + 48 * 4 + 1 + 5);
}

static struct err *
decode_hex(uint16_t kind, const char *hex)
{
	void *msg;
	struct arena *a = vec_arena();

	return cl_msg_decode(a, kind, vec_unhex(hex), &msg);
}

static void
what_is_malformed_is_named(void)
{
	struct err *e = decode_hex(999, "");

	MUST(e != NULL);
	CHECK(err_is(e, ERRCODE_PROTOCOL_VIOLATION));
	CHECK_STR(e->message, "message of unknown kind 999");
	e = decode_hex(CL_MSG_PING, "01");
	MUST(e != NULL);
	CHECK_STR(e->message, "malformed PING message: field \"sent\"");
	e = decode_hex(CL_MSG_PING, "0100000000000000 00");
	MUST(e != NULL);
	CHECK_STR(e->message, "malformed PING message: 1 bytes too many");
	/* A proof of 33 bytes. */
	e = decode_hex(CL_MSG_PROVE,
	    "21 0000000000000000000000000000000000000000000000000000000000"
	    "00000000");
	MUST(e != NULL);
	CHECK_STR(e->message, "malformed PROVE message: field \"proof\"");
	/* A record's field. */
	e = decode_hex(CL_MSG_ROWS, "00 00 01 05 00");
	MUST(e != NULL);
	CHECK_STR(e->message, "malformed ROWS message: field \"key\"");
}

static void
a_count_allocates_no_more_than_its_bytes_can_hold(void)
{
	struct arena *a = arena_new(NULL, "bounded");
	void *msg;

	/* 65536 rows announced, two bytes of them there. */
	CHECK(cl_msg_decode(a, CL_MSG_ROWS, vec_unhex("00 00 808004 0000"),
		  &msg) != NULL);
	CHECK(msg == NULL);
	/* 65537 are too many even with their bytes. */
	CHECK(cl_msg_decode(a, CL_MSG_ROWS, vec_unhex("00 00 818004"), &msg) !=
	      NULL);
	CHECK(arena_bytes(a) < 16384);
	arena_free(a);
}

static uint16_t hostile_kind;

static void
read_anything(struct str bytes)
{
	struct arena *a = arena_new(NULL, "hostile");
	struct buf b;
	void *msg;

	if (!cl_msg_decode(a, hostile_kind, bytes, &msg)) {
		buf_init(&b, a);
		cl_msg_encode(&b, (enum cl_msg_kind)hostile_kind, msg);
		CHECK(str_eq(buf_view(&b), bytes));
		cl_msg_print(&b, hostile_kind, msg);
	}
	CHECK(arena_bytes(a) < 100000);
	arena_free(a);
}

static void
hostile_messages_are_refused_without_harm(void)
{
	for (size_t i = 0; i < N_SAMPLES; i++) {
		struct buf b = encoded(&samples[i]);

		hostile_kind = (uint16_t)samples[i].kind;
		vec_hostile(buf_view(&b), read_anything);
	}
}

CU_MAIN("msg", {"messages_have_their_vectors", messages_have_their_vectors},
    {"the_table_has_no_message_without_a_sample",
	the_table_has_no_message_without_a_sample},
    {"messages_come_back", messages_come_back},
    {"fields_come_back_where_they_were", fields_come_back_where_they_were},
    {"size_is_what_encode_writes", size_is_what_encode_writes},
    {"messages_print_on_one_line", messages_print_on_one_line},
    {"a_long_field_prints_its_head", a_long_field_prints_its_head},
    {"what_is_malformed_is_named", what_is_malformed_is_named},
    {"a_count_allocates_no_more_than_its_bytes_can_hold",
	a_count_allocates_no_more_than_its_bytes_can_hold},
    {"hostile_messages_are_refused_without_harm",
	hostile_messages_are_refused_without_harm})
