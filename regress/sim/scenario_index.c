/* Indexes are made and dropped while rows change, leaders change and copies are
 * left behind: a scan by an index finds rows that nobody touches, each once and
 * in order, whenever it is asked, and in the end what a scan of the table
 * finds.  That entries are those of the rows, on every disk, is checked where
 * copies are compared (replicas.c).
 *
 * What asks for a scan by an index, and makes one, runs in a gateway: an
 * errand, which dies with its process. */
#include <inttypes.h>

#include "cluster/ddl.h"
#include "gateway/propose.h"
#include "gateway/source.h"
#include "gateway/worker.h"
#include "regress/sim/rows.h"
#include "regress/sim/scenarios.h"
#include "regress/sim/sim_int.h"

#define SECOND   1000000ull
#define STEP_US  (2 * SECOND)
#define KEYS     24
#define ROWS     600u
#define STILL    3u      /* every third row is never touched: n = k */
#define MOVING   100000u /* n of the others, at least */
#define PATIENCE (20 * SECOND)
#define TIMEOUT  (10 * SECOND)

/* ---- errands ---- */

enum errand_kind { ERRAND_CREATE, ERRAND_DROP, ERRAND_STILL, ERRAND_ALL };

/* Lives in the simulation's arena, since both ends may die. */
struct errand {
	struct fleet_gateway *gateway;
	enum errand_kind kind;
	bool done;
	bool ok;           /* the statement succeeded */
	bool none;         /* there is no such index, or it is not public */
	uint64_t n, wrong; /* rows; out of order, twice or not theirs */
	char why[160];
};

static const struct cl_table *
table_u(const struct cl_catalog *c)
{
	const struct cl_object *o =
	    cl_find_name(c, CL_TABLE, CL_SCHEMA_PUBLIC, STR("u"));

	return o ? &o->u.table : NULL;
}

static const struct cl_index *
index_of_u(const struct cl_catalog *c)
{
	const struct cl_table *t = table_u(c);
	size_t at = 0;

	return t ? cl_index_each(c, t->id, &at) : NULL;
}

/* On n of u, and the table's next version says so. */
static void
create_index(struct cl_ddl *d, const struct cl_table *u)
{
	static const struct cl_index_column n = {.column = 2, .type = EX_INT8};
	struct cl_object t = {.kind = CL_TABLE, .id = u->id};
	struct cl_object o = {.kind = CL_INDEX};

	t.u.table = *u;
	t.u.table.version++;
	o.id = cl_ddl_ids(d, 1);
	o.u.index = (struct cl_index){.id = o.id,
	    .schema = u->schema,
	    .table = u->id,
	    .name = STR("u_n"),
	    .state = CL_INDEX_BUILDING,
	    .version = t.u.table.version,
	    .n_columns = 1,
	    .columns = &n};
	cl_ddl_replace(d, &t);
	cl_ddl_create(d, &o);
}

static void
change_catalog(struct errand *x, struct gw_stmt *s, struct arena *a)
{
	struct cl_catalog *c = gw_catalog_now(s->worker->catalog);
	const struct cl_index *now = index_of_u(c);
	const struct cl_table *u = table_u(c);
	struct cl_ddl *d = cl_ddl_new(a, c);
	struct gw_proposal p = {.err = NULL};

	x->none = x->kind == ERRAND_DROP ? !now : now != NULL;
	if (!u || x->none)
		return;
	if (now)
		cl_ddl_drop(d, CL_INDEX, now->id);
	else
		create_index(d, u);
	if (cl_ddl_propose(d, &p.msg))
		return;
	gw_propose_run(s, a, &p, 1);
	x->ok = p.outcome == GW_END_APPLIED;
}

/* Rows come by n, then by k. */
static void
take_row(struct errand *x, const struct sql_row *row, int64_t *last)
{
	int64_t k = row->vals[0].u.i, n = row->vals[1].u.i;
	bool still = k % STILL == 0;

	if (still ? n != k : n < MOVING)
		x->wrong++;
	if (x->n && (n < last[0] || (n == last[0] && k <= last[1])))
		x->wrong++;
	last[0] = n;
	last[1] = k;
	x->n++;
}

static struct err *
scan(struct errand *x, struct gw_stmt *s, struct arena *a,
    const struct sql_scan_req *req)
{
	struct sql_source *src = gw_source_new(a, s);
	struct sql_scan *sc;
	int64_t last[2] = {0, 0};
	bool more = true;

	TRY(src->ops->scan_open(src, a, req, &sc));
	while (more) {
		struct sql_row row;
		struct err *e = src->ops->scan_next(sc, a, &row, &more);

		if (e) {
			src->ops->scan_close(sc);
			return e;
		}
		if (more)
			take_row(x, &row, last);
	}
	src->ops->scan_close(sc);
	x->ok = true;
	return NULL;
}

static void
scan_index(struct errand *x, struct gw_stmt *s, struct arena *a)
{
	static const uint32_t columns[] = {1, 2};
	const struct cl_index *index = index_of_u(s->catalog);
	struct sql_scan_req req = {.table = table_u(s->catalog),
	    .index = index,
	    .columns = columns,
	    .n_columns = 2,
	    .ordered = true};
	struct buf end;
	struct err *e;

	x->none = !index || index->state != CL_INDEX_PUBLIC;
	if (x->none)
		return;
	buf_init(&end, a);
	ex_key_put(&end, CL_TAG_NONE, CL_KEY_ASC, val_int(EX_INT8, MOVING));
	if (x->kind == ERRAND_STILL)
		req.end = buf_view(&end);
	e = scan(x, s, a, &req);
	if (e)
		snprintf(x->why, sizeof x->why, "%s (%s)", e->message,
		    e->detail ? e->detail : "");
}

static void
unref_ev(void *arg)
{
	cl_catalog_unref(arg);
}

static void
errand_fiber(void *arg)
{
	struct errand *x = arg;
	struct gw_worker *w = x->gateway->worker;
	struct arena *a = arena_new(w->world->arena, "errand");
	struct cl_catalog *c = cl_catalog_ref(gw_catalog_now(w->catalog));
	struct gw_stmt s = {.row_max = 1u << 20};
	struct gw_ops ops;

	arena_cleanup(a, unref_ev, c);
	gw_ops_init(&ops, w);
	gw_stmt_begin(&s, w, &ops, c, TIMEOUT);
	if (x->kind <= ERRAND_DROP)
		change_catalog(x, &s, a);
	else
		scan_index(x, &s, a);
	x->done = true;
	arena_free(a);
}

static void
errand_ev(void *arg)
{
	struct errand *x = arg;
	struct sim_host *h = x->gateway->host;

	if (!sim_host_up(h) || !x->gateway->worker)
		return;
	sim_enter(h);
	fiber_spawn(
	    sim_host_world(h), "errand", FIBER_STACK_GATEWAY, errand_fiber, x);
	sim_leave(h);
}

/* At some gateway; not done when that died, or took too long. */
static struct errand *
run_errand(struct client *c, enum errand_kind kind)
{
	struct fleet *f = c->run->fleet;
	struct errand *x = NEW(sim_arena(c->run->sim), struct errand);
	uint64_t until = sim_now(c->run->sim) + PATIENCE;
	uint32_t boots;

	x->kind = kind;
	x->gateway = &f->gateways[rng_below(&c->rng, f->conf.gateways)];
	boots = sim_host_boots(x->gateway->host);
	sim_at(c->run->sim, sim_now(c->run->sim), errand_ev, x);
	while (!x->done && sim_now(c->run->sim) < until &&
	       sim_host_boots(x->gateway->host) == boots)
		client_sleep(c, SECOND / 20);
	sim_trace(c->run->sim, "run",
	    "errand %d: done=%d ok=%d none=%d n=%" PRIu64 " wrong=%" PRIu64
	    " %s",
	    (int)kind, x->done, x->ok, x->none, x->n, x->wrong, x->why);
	return x;
}

/* ---- work ---- */

static uint64_t
n_still(void)
{
	return (ROWS + STILL - 1) / STILL;
}

static const char *
all_rows(struct client *c)
{
	struct buf b;

	buf_init(&b, c->arena);
	buf_printf(&b, "INSERT INTO u (k, n) VALUES ");
	for (unsigned k = 0; k < ROWS; k++)
		buf_printf(&b, "%s(%u, %u)", k ? ", " : "", k,
		    k % STILL ? MOVING + k : k);
	buf_printf(&b, " ON CONFLICT (k) DO UPDATE SET n = excluded.n");
	return buf_cstr(&b);
}

static void
setup(struct client *c)
{
	struct sim_pg_result r;

	if (client_insist(
		c, &r, "CREATE TABLE u (k bigint PRIMARY KEY, n bigint)"))
		(void)client_insist(c, &r, "%s", all_rows(c));
}

static void
look(struct client *c)
{
	const struct errand *x = run_errand(c, ERRAND_STILL);

	if (x->ok && (x->n != n_still() || x->wrong))
		run_fail(c->run,
		    "a scan by the index gave %" PRIu64 " rows of %" PRIu64
		    " that nobody touches, %" PRIu64 " of them wrong",
		    x->n, n_still(), x->wrong);
}

/* Makes an index when there is none; now and then drops it. */
static void
make(struct client *c)
{
	client_sleep(c, rng_below(&c->rng, 3 * SECOND));
	if (c->run->phase != RUN_WORK)
		return;
	(void)run_errand(
	    c, rng_below(&c->rng, 5) ? ERRAND_CREATE : ERRAND_DROP);
}

/* A row that moves: to elsewhere, away, or back. */
static void
move(struct client *c)
{
	uint64_t k = rng_below(&c->rng, ROWS / STILL) * STILL + 1 +
		     rng_below(&c->rng, STILL - 1);
	uint64_t n = MOVING + rng_below(&c->rng, 50), started;
	struct sim_pg_result r;
	const char *sql;

	switch (rng_below(&c->rng, 6)) {
	case 0:
		sql = arena_printf(
		    c->arena, "DELETE FROM u WHERE k = %" PRIu64, k);
		break;
	case 1:
		sql = arena_printf(c->arena,
		    "INSERT INTO u (k, n) VALUES (%" PRIu64 ", %" PRIu64 ") "
		    "ON CONFLICT (k) DO UPDATE SET n = excluded.n",
		    k, n);
		break;
	default:
		sql = arena_printf(c->arena,
		    "UPDATE u SET n = %" PRIu64 " WHERE k = %" PRIu64, n, k);
		break;
	}
	if (client_query(c, &r, &started, "%s", sql))
		client_expect_fair(c, &r);
}

static void
work(struct client *c)
{
	if (c->index == 1)
		make(c);
	else if (c->index == 2 || c->index == 3)
		look(c);
	else
		move(c);
}

/* ---- checks ---- */

/* Until an errand succeeds. */
static const struct errand *
insist(struct client *c, enum errand_kind kind)
{
	uint64_t until = run_now(c->run) + 120 * SECOND;
	const struct errand *x;

	do {
		x = run_errand(c, kind);
		if (x->ok)
			return x;
		if (x->none)
			(void)run_errand(c, ERRAND_CREATE);
		client_sleep(c, SECOND);
	} while (run_now(c->run) < until);
	run_fail(c->run, "no index is built and read: %s", x->why);
	return NULL;
}

static void
check(struct client *c)
{
	const struct errand *x = insist(c, ERRAND_ALL);
	struct sim_pg_result r;
	uint64_t n;

	if (!x || !client_insist(c, &r, "SELECT count(*) FROM u"))
		return;
	if (!str_number(sim_pg_value(&r, 0, 0), &n) || n != x->n || x->wrong)
		run_fail(c->run,
		    "the table has %" PRIu64 " rows, a scan by its index "
		    "gives %" PRIu64 ", %" PRIu64 " of them wrong",
		    n, x->n, x->wrong);
	look(c);
}

const struct scenario scenario_index = {
    .name = "index",
    .claim = "an index has what its table has, whenever it is read",
    .clients = 8,
    .faults = CHAOS_TAKEOVER | CHAOS_NODE_KILL,
    .faults_not = CHAOS_APART | CHAOS_HOUR,
    .think_us = 15000,
    .log_retention = 4096,
    .resync_rate = 200000,
    .setup = setup,
    .work = work,
    .check = check,
};
