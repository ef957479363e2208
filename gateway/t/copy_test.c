/* How long COPY and long results may take: a session over a fake node, in
 * virtual time. */
#include <stdio.h>

#include "base/buf.h"
#include "base/stream.h"
#include "gateway/session.h"
#include "gateway/t/fake_node.h"
#include "gateway/worker.h"
#include "regress/lib/cu.h"
#include "regress/sim/world_sim.h"

#define SECOND 1000000ull
/* Of virtual time: no test needs it all. */
#define PATIENCE_US (1000 * SECOND)

struct rig {
	struct sim *sim;
	struct world *world;
	struct arena *arena;
	struct fake_store store;
	struct gw_conf conf;
	struct gw_worker *worker;
	struct stream *stream; /* the client's end */
	void (*body)(struct rig *r);
	bool over;

	/* What the client heard since its last query. */
	char sqlstate[6];
	char tag[32];
	uint32_t rows;
};

/* ---- the client ---- */

static void
say(struct rig *r, char type, struct str body)
{
	struct arena *a = arena_new(r->arena, "message");
	struct buf b;

	buf_init(&b, a);
	if (type)
		buf_u8(&b, (uint8_t)type);
	buf_be32(&b, (uint32_t)body.len + 4);
	buf_str(&b, body);
	stream_write(r->stream, buf_view(&b));
	(void)stream_flush(r->stream, WORLD_FOREVER);
	arena_free(a);
}

static void
note_error(struct rig *r, struct cur body)
{
	for (char field; (field = (char)cur_u8(&body)) && cur_ok(&body);) {
		struct str text = cur_cstr(&body);

		if (field == 'C' && text.len == 5)
			memcpy(r->sqlstate, text.p, 5);
	}
}

static void
note_tag(struct rig *r, struct str tag)
{
	snprintf(r->tag, sizeof r->tag, "%.*s", STR_FMT(tag));
}

/* Reads up to a message of that type, or to the next ReadyForQuery. */
static bool
hear(struct rig *r, char wanted)
{
	for (;;) {
		struct arena *a = arena_new(r->arena, "message");
		struct str data;
		struct cur body;
		uint32_t len;
		char type;

		MUST(stream_peek(r->stream, 5, WORLD_FOREVER, &data) ==
		     STREAM_OK);
		body = cur_of(data);
		type = (char)cur_u8(&body);
		len = cur_be32(&body) - 4;
		stream_consume(r->stream, 5);
		data.p = arena_alloc_raw(a, len + 1);
		data.len = len;
		MUST(stream_read(r->stream, (void *)(uintptr_t)data.p, len,
			 WORLD_FOREVER) == STREAM_OK);
		body = cur_of(data);
		if (type == 'E')
			note_error(r, body);
		if (type == 'C')
			note_tag(r, cur_cstr(&body));
		r->rows += type == 'D';
		arena_free(a);
		if (type == wanted || type == 'Z')
			return type == wanted;
	}
}

static void
ask(struct rig *r, const char *sql)
{
	memset(r->sqlstate, 0, sizeof r->sqlstate);
	r->tag[0] = 0;
	r->rows = 0;
	say(r, 'Q', str_of(sql, strlen(sql) + 1));
}

static void
run(struct rig *r, const char *sql)
{
	ask(r, sql);
	hear(r, 'Z');
	CHECK_STR(r->sqlstate, "");
}

static void
greet(struct rig *r)
{
	static const char hello[] = "\0\3\0\0user\0postgres\0";

	say(r, 0, str_of(hello, sizeof hello));
	MUST(hear(r, 'Z'));
	run(r, "create table t (id bigint primary key, v text)");
}

static void
pass(struct rig *r, uint64_t us)
{
	fiber_sleep(r->world, world_mono_us(r->world) + us);
}

static uint64_t
now(struct rig *r)
{
	return world_mono_us(r->world);
}

/* Rows of about a kilobyte; 64 are more than a batch. */
static void
send_rows(struct rig *r, int from, int n)
{
	struct arena *a = arena_new(r->arena, "rows");
	struct buf b;

	buf_init(&b, a);
	for (int i = from; i < from + n; i++)
		buf_printf(&b, "%d\t%01000d\n", i, i);
	say(r, 'd', buf_view(&b));
	arena_free(a);
}

static void
begin_copy(struct rig *r)
{
	ask(r, "copy t from stdin");
	MUST(hear(r, 'G'));
}

static void
end_copy(struct rig *r)
{
	say(r, 'c', STR_NONE);
	hear(r, 'Z');
}

static size_t
rows_there(struct rig *r)
{
	const struct cl_object *o = cl_find_name(
	    r->store.catalog, CL_TABLE, CL_SCHEMA_PUBLIC, STR("t"));

	return fake_count(&r->store, o->id);
}

/* ---- the rig ---- */

static void
client_fiber(void *arg)
{
	struct rig *r = arg;

	MUST(gw_catalog_wait(r->worker->catalog, 1, now(r) + 5 * SECOND));
	greet(r);
	r->body(r);
	r->over = true;
}

static void
boot(void *arg, struct world *w)
{
	struct rig *r = arg;
	struct fake_shape shape = {"", 1, 1};
	struct stream *server;

	r->world = w;
	r->arena = arena_new(w->arena, "test");
	/* The host is named as its node's address begins. */
	fake_store_init(&r->store, w, &shape);
	gw_conf_defaults(&r->conf);
	r->conf.seeds = r->store.nodes[0]->addr;
	r->conf.peer.key = r->store.secret;
	r->conf.insert_batch = 64u << 10;
	r->worker = gw_worker_new(w, &r->conf, 0, 1);
	stream_pair(w, &r->stream, &server);
	gw_worker_serve(r->worker, server);
	fiber_spawn(w, "client", FIBER_STACK_GATEWAY, client_fiber, r);
}

static void
gone(void *arg)
{
	struct rig *r = arg;

	cl_catalog_unref(r->store.catalog);
}

static void
in_rig(void (*body)(struct rig *r))
{
	struct rig r = {.sim = sim_new(1), .body = body};

	sim_boot(sim_host_new(
	    r.sim, &(struct sim_host_opts){
		       .name = "unix", .boot = boot, .gone = gone, .arg = &r}));
	sim_run(r.sim, PATIENCE_US, &r.over);
	CHECK(r.over);
	sim_free(r.sim);
}

/* ---- COPY FROM ---- */

static void
slow_client_body(struct rig *r)
{
	begin_copy(r);
	for (int i = 0; i < 5; i++) {
		pass(r, 40 * SECOND);
		send_rows(r, 100 * i, 100);
	}
	end_copy(r);
	CHECK_STR(r->tag, "COPY 500");
	CHECK_STR(r->sqlstate, "");
}

static void
a_client_may_send_as_slowly_as_it_likes(void)
{
	in_rig(slow_client_body);
}

/* Once a lost answer was made up for, the next one gets lost. */
static void
lossy_fiber(void *arg)
{
	struct rig *r = arg;
	struct fake_node *n = r->store.nodes[0];
	int resent = -1;

	for (; !r->over; pass(r, 1000)) {
		if (n->n_resent == resent)
			continue;
		resent = n->n_resent;
		n->lose_answers = 1;
	}
}

static void
long_copy_body(struct rig *r)
{
	uint64_t begun = now(r);

	fiber_spawn(r->world, "lossy", FIBER_STACK_GATEWAY, lossy_fiber, r);
	begin_copy(r);
	send_rows(r, 0, 2000); /* in one message */
	end_copy(r);
	CHECK_STR(r->tag, "COPY 2000");
	CHECK_STR(r->sqlstate, "");
	CHECK(now(r) - begun > r->conf.statement_timeout_us);
}

static void
a_copy_may_last_as_long_as_it_gets_ahead(void)
{
	in_rig(long_copy_body);
}

static void
silent_node_body(struct rig *r)
{
	uint64_t begun;

	begin_copy(r);
	send_rows(r, 0, 100);
	pass(r, 20 * SECOND);
	r->store.nodes[0]->deaf = true;
	begun = now(r);
	send_rows(r, 100, 100);
	end_copy(r);
	CHECK(r->sqlstate[0] != 0);
	CHECK(now(r) - begun >= r->conf.statement_timeout_us);
	CHECK(now(r) - begun < r->conf.statement_timeout_us + SECOND);
}

static void
a_batch_has_all_the_time_that_the_gateway_allows(void)
{
	in_rig(silent_node_body);
}

static void
timeout_body(struct rig *r)
{
	uint64_t begun;

	run(r, "set statement_timeout = '70s'");
	begun = now(r);
	begin_copy(r);
	/* Beyond what the gateway allows between two batches. */
	for (int i = 0; i < 10 && now(r) - begun < 70 * SECOND; i++) {
		send_rows(r, 100 * i, 100);
		pass(r, 10 * SECOND);
	}
	hear(r, 'Z');
	CHECK_STR(r->sqlstate, "57014");
	CHECK(now(r) - begun >= 70 * SECOND);
	CHECK(now(r) - begun < 71 * SECOND);
	/* What the client had not heard in time is for nobody. */
	send_rows(r, 2000, 100);
	say(r, 'c', STR_NONE);
	run(r, "select 1");
}

static void
statement_timeout_counts_for_a_whole_copy(void)
{
	in_rig(timeout_body);
}

static void
cancel_body(struct rig *r)
{
	uint64_t begun;

	begin_copy(r);
	r->store.nodes[0]->deaf = true;
	send_rows(r, 0, 100);
	pass(r, 5 * SECOND);
	begun = now(r);
	gw_worker_cancel_all(r->worker);
	hear(r, 'Z');
	/* What left may have been applied. */
	CHECK_STR(r->sqlstate, "40003");
	CHECK(now(r) - begun < 3 * SECOND);
}

static void
a_cancel_ends_a_copy_that_writes(void)
{
	in_rig(cancel_body);
}

static void
first_error_body(struct rig *r)
{
	begin_copy(r);
	send_rows(r, 0, 10);
	end_copy(r);
	begin_copy(r);
	/* A batch with keys that are taken, and a line that is none. */
	send_rows(r, 0, 100);
	say(r, 'd', STR("x\ty\n"));
	end_copy(r);
	CHECK_STR(r->sqlstate, "23505");
	CHECK(rows_there(r) > 10);
	CHECK(rows_there(r) < 100);
}

static void
what_comes_first_in_a_copy_fails_first(void)
{
	in_rig(first_error_body);
}

/* ---- results ---- */

/* More than what gateway and stream hold for a client that does not read. */
static void
fill(struct rig *r)
{
	begin_copy(r);
	send_rows(r, 0, 1000);
	end_copy(r);
	CHECK_STR(r->tag, "COPY 1000");
}

static void
slow_reader_body(struct rig *r)
{
	fill(r);
	ask(r, "select * from t");
	for (int i = 0; i < 10; i++) {
		pass(r, 20 * SECOND);
		while (r->rows < (uint32_t)i * 100)
			MUST(hear(r, 'D'));
	}
	hear(r, 'Z');
	CHECK(r->rows == 1000);
	CHECK_STR(r->sqlstate, "");
	ask(r, "copy t to stdout");
	pass(r, 100 * SECOND);
	hear(r, 'Z');
	CHECK_STR(r->tag, "COPY 1000");
	CHECK_STR(r->sqlstate, "");
}

static void
a_client_may_read_as_slowly_as_it_likes(void)
{
	in_rig(slow_reader_body);
}

static void
reader_timeout_body(struct rig *r)
{
	fill(r);
	run(r, "set statement_timeout = '70s'");
	ask(r, "select * from t");
	pass(r, 100 * SECOND);
	hear(r, 'Z');
	CHECK_STR(r->sqlstate, "57014");
}

static void
statement_timeout_counts_while_a_client_reads(void)
{
	in_rig(reader_timeout_body);
}

CU_MAIN("gateway/copy",
    {"a_client_may_send_as_slowly_as_it_likes",
	a_client_may_send_as_slowly_as_it_likes},
    {"a_copy_may_last_as_long_as_it_gets_ahead",
	a_copy_may_last_as_long_as_it_gets_ahead},
    {"a_batch_has_all_the_time_that_the_gateway_allows",
	a_batch_has_all_the_time_that_the_gateway_allows},
    {"statement_timeout_counts_for_a_whole_copy",
	statement_timeout_counts_for_a_whole_copy},
    {"a_cancel_ends_a_copy_that_writes", a_cancel_ends_a_copy_that_writes},
    {"what_comes_first_in_a_copy_fails_first",
	what_comes_first_in_a_copy_fails_first},
    {"a_client_may_read_as_slowly_as_it_likes",
	a_client_may_read_as_slowly_as_it_likes},
    {"statement_timeout_counts_while_a_client_reads",
	statement_timeout_counts_while_a_client_reads})
