#include "gateway/access.h"
#include "gateway/source_int.h"

#include "base/fiber.h"
#include "base/metrics.h"
#include "cluster/row.h"
#include "expr/table.h"
#include "gateway/propose.h"
#include "gateway/route.h"
#include "gateway/worker.h"

struct gw_source *
gw_source_of(struct sql_source *s)
{
	return TAKE(struct gw_source, CONTAINER(s, struct gw_source, base),
	    GW_SOURCE_MAGIC);
}

struct err *
gw_source_failure(struct arena *a, const struct cl_fail *f)
{
	const char *state = f->sqlstate.len == 5 ? arena_cstr(a, f->sqlstate)
						 : ERRCODE_INTERNAL_ERROR;
	struct err *e = ERR(a, state, "%.*s", STR_FMT(f->message));

	if (f->detail.len)
		e = err_detail(e, "%.*s", STR_FMT(f->detail));
	return f->hint.len ? err_hint(e, "%.*s", STR_FMT(f->hint)) : e;
}

static struct err *
stale_error(struct gw_source *src, struct arena *a)
{
	src->stmt->stale = true;
	return err_hint(ERR(a, ERRCODE_SERIALIZATION_FAILURE,
			    "the table was changed while the statement ran"),
	    "Run the statement again.");
}

struct err *
gw_source_fresh(
    struct gw_source *src, struct arena *a, const struct cl_table *t)
{
	const struct cl_object *now = cl_find(
	    gw_catalog_now(src->stmt->worker->catalog), CL_TABLE, t->id);
	const struct cl_object *then =
	    cl_find(src->stmt->catalog, CL_TABLE, t->id);

	if (now && then && now->version == then->version)
		return NULL;
	return stale_error(src, a);
}

/* An open table's column has taken a value of another type since the statement
 * was planned: the catalog that says so exists, and is worth a short wait. */
#define NEWS_US 1000000u
static struct err *
row_types(struct gw_source *src, struct arena *a,
    const struct sql_scan_req *what, const struct val *vals)
{
	struct gw_worker *w = src->stmt->worker;

	for (uint32_t i = 0; what->table->open && i < what->n_columns; i++) {
		const struct cl_column *c =
		    cl_table_column_id(what->table, what->columns[i]);

		if (vals[i].null || vals[i].type == c->type ||
		    c->flags & CL_COL_MIXED)
			continue;
		gw_catalog_refresh(w->catalog);
		(void)gw_catalog_wait(w->catalog,
		    cl_catalog_version(src->stmt->catalog) + 1,
		    world_mono_us(w->world) + NEWS_US);
		return stale_error(src, a);
	}
	return NULL;
}

struct err *
gw_source_row(struct gw_source *src, struct arena *a,
    const struct gw_row_in *in, struct sql_row *out, bool *found)
{
	const struct sql_scan_req *what = in->what;
	struct cl_row_head head;
	struct ex_ctx ctx = {.arena = a, .env = &ex_env_default};

	*found = false;
	if (!in->value.len)
		return NULL;
	if (!cl_row_head(in->value, &head))
		return ERR(a, ERRCODE_DATA_CORRUPTED,
		    "a node sent a row of an unknown format");
	if (head.flags & CL_ROW_TOMBSTONE)
		return NULL;
	out->key = in->key;
	out->stamp = head.stamp;
	out->vals = NEW_N(a, struct val, what->n_columns + 1);
	TRY(ex_table_read(a, what->table, in->key, in->value, what->columns,
	    what->n_columns, out->vals));
	TRY(row_types(src, a, what, out->vals));
	*found = true;
	if (!in->filter)
		return NULL;
	ctx.row = out->vals;
	ctx.n_row = what->n_columns;
	return ex_test(&ctx, in->filter, found);
}

/* ---- reads by key ---- */

/* One READ to one node. */
struct batch {
	struct gw_peer *peer;
	struct cl_read msg;
	size_t *keys; /* whose keys the points are */
	struct gw_call call;
};

struct get {
	struct gw_source *src;
	struct arena *arena; /* of the results */
	const struct sql_scan_req *what;
	const struct str *keys;
	size_t n;
	struct sql_row *rows;
	bool *found;

	bool *done;
	size_t left;
	struct cond wake;
	struct batch **batches;
	size_t n_batches, cap_batches;
	const char *why; /* the last thing that went wrong */
};

static struct batch *
get_batch(struct get *g, struct arena *a, struct gw_peer *peer)
{
	uint32_t max = g->src->stmt->worker->conf->read_points;
	struct batch *b;

	for (size_t i = g->n_batches; i-- > 0;) {
		b = g->batches[i];
		if (b->peer == peer && b->msg.n_points < max)
			return b;
	}
	if (g->n_batches == g->cap_batches) {
		size_t cap = g->cap_batches ? 2 * g->cap_batches : 8;

		g->batches = arena_grow(a, g->batches,
		    g->cap_batches * sizeof(struct batch *),
		    cap * sizeof(struct batch *));
		g->cap_batches = cap;
	}
	b = NEW(a, struct batch);
	if (max > g->left)
		max = (uint32_t)g->left;
	b->peer = peer;
	b->msg.points = NEW_N(a, struct cl_point, max);
	b->keys = NEW_N(a, size_t, max);
	g->batches[g->n_batches++] = b;
	return b;
}

/* Puts key i into the batch of the node that serves it. */
static void
get_route(struct get *g, struct arena *a, size_t i)
{
	struct gw_worker *w = g->src->stmt->worker;
	const struct cl_catalog *now = gw_catalog_now(w->catalog);
	struct gw_peer *peer = NULL;
	struct gw_route to;
	struct batch *b;
	struct buf key;

	if (gw_route_row(now, g->what->table, g->keys[i], &to))
		peer = gw_peers_member(w->peers, now, to.leader);
	if (!peer) {
		g->why = "the catalog knows no node for the slot";
		return;
	}
	b = get_batch(g, a, peer);
	buf_init(&key, a);
	ex_table_row_key(&key, g->what->table, to.slot, g->keys[i]);
	b->keys[b->msg.n_points] = i;
	b->msg.points[b->msg.n_points++] =
	    (struct cl_point){to.placement, to.slot, to.epoch, buf_view(&key)};
}

/* A node may answer only the first points, when rows are large. */
static struct err *
get_take(struct get *g, const struct batch *b, const struct cl_rows *in)
{
	if (in->n_rows > b->msg.n_points)
		return ERR(g->arena, ERRCODE_PROTOCOL_VIOLATION,
		    "a node sent more rows than were asked for");
	for (uint32_t r = 0; r < in->n_rows; r++) {
		size_t i = b->keys[r];
		struct gw_row_in row = {
		    g->what, g->keys[i], in->rows[r].value, g->what->filter};

		TRY(gw_source_row(
		    g->src, g->arena, &row, &g->rows[i], &g->found[i]));
		g->done[i] = true;
		g->left--;
	}
	return NULL;
}

static struct err *
get_answer(struct get *g, struct batch *b)
{
	struct gw_stmt *stmt = g->src->stmt;
	const struct cl_rows *in;

	if (gw_call_wait(&b->call, stmt->deadline_us) == GW_FAILED)
		return gw_source_failure(g->arena, b->call.failure);
	in = b->call.reply;
	if (b->call.result != GW_OK) {
		/* A slow answer at the deadline is a statement timeout. */
		if (world_mono_us(stmt->worker->world) < stmt->deadline_us)
			g->why = b->call.why;
	} else if (b->call.reply_kind != CL_MSG_ROWS) {
		g->why = "a node answered with a message of another kind";
	} else if (in->reason == CL_REFUSE_DROPPED) {
		stmt->stale = true;
		return ERR(g->arena, ERRCODE_UNDEFINED_TABLE,
		    "the table was dropped while the statement ran");
	} else if (in->reason) {
		metric_inc(M_GW_REFUSED);
		g->why = gw_refusal_text(in->reason);
	} else {
		return get_take(g, b, in);
	}
	return NULL;
}

/* Asks for everything still missing, once. */
static struct err *
get_round(struct get *g, struct arena *a)
{
	struct err *e = NULL;

	g->batches = NULL;
	g->n_batches = g->cap_batches = 0;
	for (size_t i = 0; i < g->n; i++) {
		if (!g->done[i])
			get_route(g, a, i);
	}
	for (size_t i = 0; i < g->n_batches; i++) {
		struct batch *b = g->batches[i];

		/* Values point into the reply. */
		b->call.arena = g->arena;
		b->call.wake = &g->wake;
		gw_call_begin(b->peer, &b->call, CL_MSG_READ, &b->msg);
	}
	/* All of them, also after an error: they lie in the round's arena. */
	for (size_t i = 0; i < g->n_batches; i++) {
		struct batch *b = g->batches[i];

		if (e)
			gw_call_abandon(&b->call, NULL);
		else
			e = get_answer(g, b);
	}
	return e;
}

/* Before the next round: NULL when it may begin. */
static struct err *
get_pause(struct get *g, bool progress, unsigned *tries)
{
	struct gw_stmt *stmt = g->src->stmt;

	*tries = progress ? 0 : *tries + 1;
	if (progress || gw_stmt_backoff(stmt, *tries))
		return gw_stmt_check(stmt, g->arena);
	if (g->why)
		return gw_stmt_unreached(stmt, g->arena, g->why);
	return gw_stmt_check(stmt, g->arena);
}

static struct err *
source_get(struct sql_source *s, struct arena *a,
    const struct sql_scan_req *what, const struct str *keys, size_t n,
    struct sql_row *rows, bool *found)
{
	struct gw_source *src = gw_source_of(s);
	struct get g = {src, a, what, keys, n, rows, found, .left = n};
	struct err *e = NULL;

	memset(found, 0, n * sizeof *found);
	TRY(gw_may_use(src->stmt, a, what->table));
	g.done = NEW_N(a, bool, n + 1);
	cond_init(&g.wake, src->stmt->worker->world);
	for (unsigned tries = 0; g.left && !e;) {
		struct arena *round = arena_new(a, "read");
		size_t before = g.left;

		e = get_round(&g, round);
		arena_free(round);
		if (!e && g.left)
			e = get_pause(&g, g.left < before, &tries);
	}
	return e;
}

/* ---- the rest ---- */

static void
source_hidden_key(struct sql_source *s, const struct cl_table *t,
    uint64_t *block, uint32_t *counter)
{
	struct gw_source *src = gw_source_of(s);
	struct gw_ops *ops = src->stmt->ops;

	(void)t;
	if (ops->block_used >= GW_HIDDEN_BLOCK) {
		ops->block = world_random_u64(src->stmt->worker->world);
		ops->block_used = 0;
	}
	*block = ops->block;
	*counter = ops->block_used++;
}

static struct err *
source_check(struct sql_source *s, struct arena *a)
{
	return gw_stmt_breathe(gw_source_of(s)->stmt, a);
}

static const struct sql_source_ops source_ops = {
    .get = source_get,
    .scan_open = gw_scan_open,
    .scan_next = gw_scan_next,
    .scan_close = gw_scan_close,
    .scan_count = gw_scan_count,
    .write = gw_source_write,
    .hidden_key = source_hidden_key,
    .check = source_check,
};

struct sql_source *
gw_source_new(struct arena *a, struct gw_stmt *s)
{
	struct gw_source *src = NEW(a, struct gw_source);

	src->base.ops = &source_ops;
	src->magic = GW_SOURCE_MAGIC;
	src->arena = a;
	src->stmt = s;
	return &src->base;
}
