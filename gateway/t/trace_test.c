/* skaidb.trace: a line for each request to a node. */
#include "gateway/trace.h"

#include "gateway/t/bench_world.h"
#include "regress/lib/cu.h"

#define LINES_MAX 200

struct said {
	char *lines[LINES_MAX];
	size_t n;
	struct arena *arena;
};

static void
say(void *arg, struct err *e)
{
	struct said *s = arg;

	CHECK(e->severity == ERR_NOTICE);
	CHECK(err_is(e, ERRCODE_SUCCESSFUL_COMPLETION));
	CHECK(str_has_prefix(str_c(e->message), STR("trace: ")));
	if (s->n < LINES_MAX)
		s->lines[s->n++] = arena_strdup(s->arena, e->message);
}

/* Is there a line with both texts in it? */
static bool
has(const struct said *s, const char *x, const char *y)
{
	for (size_t i = 0; i < s->n; i++) {
		if (strstr(s->lines[i], x) && strstr(s->lines[i], y))
			return true;
	}
	return false;
}

static struct err *
scan_all(struct bench *b, const struct cl_table *t)
{
	static const uint32_t columns[] = {1};
	struct sql_scan_req req = {
	    .table = t, .columns = columns, .n_columns = 1};
	struct sql_source *src = gw_source_new(b->arena, &b->stmt);
	struct sql_scan *sc;
	struct sql_row row;
	bool more = true;
	struct err *e = NULL;

	TRY(src->ops->scan_open(src, b->arena, &req, &sc));
	while (!e && more)
		e = src->ops->scan_next(sc, b->arena, &row, &more);
	src->ops->scan_close(sc);
	return e;
}

static struct err *
read_one(struct bench *b, const struct cl_table *t, int64_t id)
{
	static const uint32_t columns[] = {1};
	struct sql_scan_req req = {
	    .table = t, .columns = columns, .n_columns = 1};
	struct sql_source *src = gw_source_new(b->arena, &b->stmt);
	struct str key = bench_key(b, t, id);
	struct sql_row row;
	bool found;

	return src->ops->get(src, b->arena, &req, &key, 1, &row, &found);
}

static void
legs_body(struct bench *b)
{
	struct said said = {.arena = b->arena};
	struct gw_trace *trace;
	const struct cl_table *t;

	trace = gw_trace_new(b->arena, b->world);
	b->stmt.trace = trace;
	t = bench_table(b);
	gw_trace_tell(trace, say, &said);
	CHECK(said.n == 1);
	CHECK(
	    has(&said, "trace: propose to node 1 catalog: applied in ", " ms"));
	said.n = 0;
	for (int i = 0; i < FAKE_SLOTS; i++)
		b->store.led_by[i] = 2;
	b->stmt.trace = trace;
	CHECK(!bench_insert(b, t, 0, 40));
	gw_trace_tell(trace, say, &said);
	CHECK(has(&said, "trace: propose to node 1 slot ",
	    ": refused, it does not lead this slot, or not yet "
	    "(node 2 leads) in "));
	CHECK(has(&said, "trace: propose to node 2 slot ", ": applied in "));
	said.n = 0;
	CHECK(!read_one(b, t, 7));
	CHECK(!scan_all(b, t));
	gw_trace_tell(trace, say, &said);
	CHECK(said.n == 2);
	CHECK(has(&said, "trace: read from node 2 slot ", ": 1 row in "));
	CHECK(has(&said, "trace: scan at node 2 8 slots: 40 rows in ", "."));
	/* Told once. */
	gw_trace_tell(trace, say, &said);
	CHECK(said.n == 2);
	said.n = 0;
	CHECK(!bench_insert(b, t, 7, 1));
	b->stmt.trace = NULL;
	CHECK(!bench_insert(b, t, 50, 1));
	gw_trace_tell(trace, say, &said);
	CHECK(said.n == 1 && has(&said, ": condition false in ", ""));
}

static void
each_request_has_a_line(void)
{
	bench_copies(3, 3, NULL, legs_body);
}

static void
many_body(struct bench *b)
{
	struct said said = {.arena = b->arena};
	struct gw_trace *trace = gw_trace_new(b->arena, b->world);
	const struct cl_table *t = bench_table(b);

	b->stmt.trace = trace;
	for (int64_t i = 0; i < 150; i++)
		CHECK(!read_one(b, t, i));
	gw_trace_tell(trace, say, &said);
	CHECK(said.n == GW_TRACE_MAX + 1);
	CHECK_STR(said.lines[GW_TRACE_MAX], "trace: ... and 50 more");
	said.n = 0;
	CHECK(!read_one(b, t, 1));
	gw_trace_tell(trace, say, &said);
	CHECK(said.n == 1);
	gw_trace_tell(NULL, say, &said);
	CHECK(said.n == 1);
}

static void
a_statement_shows_a_hundred_and_counts_the_rest(void)
{
	bench_run(1, NULL, many_body);
}

CU_MAIN("trace", {"each_request_has_a_line", each_request_has_a_line},
    {"a_statement_shows_a_hundred_and_counts_the_rest",
	a_statement_shows_a_hundred_and_counts_the_rest})
