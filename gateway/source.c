#include "gateway/access.h"
#include "gateway/source_int.h"

#include "base/fiber.h"
#include "base/metrics.h"
#include "cluster/row.h"
#include "expr/table.h"
#include "gateway/propose.h"
#include "gateway/trace.h"
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

struct err *
gw_source_stale(struct gw_source *src, struct arena *a)
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
	return gw_source_stale(src, a);
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
		return gw_source_stale(src, a);
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

bool
gw_source_elsewhere(enum cl_refusal reason)
{
	return reason == CL_REFUSE_LEADER || reason == CL_REFUSE_EPOCH ||
	       reason == CL_REFUSE_STOPPING;
}

bool
gw_source_hint(const struct cl_group_at *list, uint32_t n,
    const struct gw_route *group, uint32_t *leader)
{
	*leader = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (list[i].placement != group->placement ||
		    list[i].slot != group->slot)
			continue;
		if (list[i].epoch == group->epoch)
			*leader = list[i].leader;
		return true;
	}
	return false;
}

/* ---- reads by key ---- */

/* One READ to one node. */
struct batch {
	struct gw_peer *peer;
	uint32_t member;
	struct cl_read msg;
	size_t *keys; /* whose keys the points are */
	struct gw_call call;
	uint64_t sent_us;
	uint64_t wait_us; /* then others are asked; 0: there are none */
};

/* How far a key is. */
struct want {
	struct gw_aim aim;
	bool done;
	bool paused; /* not in the next round */
};

struct get {
	struct gw_source *src;
	struct arena *arena; /* of the results */
	const struct sql_scan_req *what;
	const struct str *keys;
	size_t n;
	struct sql_row *rows;
	bool *found;

	struct want *wants;
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
	b->msg.consistency = (uint8_t)g->src->stmt->consistency;
	b->msg.points = NEW_N(a, struct cl_point, max);
	b->keys = NEW_N(a, size_t, max);
	g->batches[g->n_batches++] = b;
	return b;
}

static void
get_why(struct get *g, uint32_t member, const char *why)
{
	if (why)
		g->why = gw_stmt_at_node(g->arena, member, why);
}

/* The member whose turn it is for key i, passing over those that are known to
 * be away; NULL, and the key pauses, when none is left. */
static struct gw_peer *
get_aim(struct get *g, size_t i, const struct gw_route *to)
{
	struct gw_worker *w = g->src->stmt->worker;
	const struct cl_catalog *now = gw_catalog_now(w->catalog);
	struct want *want = &g->wants[i];

	do {
		uint32_t member = gw_aim_at(&want->aim, w->leaders, to);
		struct gw_peer *peer = gw_peers_member(w->peers, now, member);

		if (peer && !(to->n > 1 && gw_peer_lost(peer, CL_MSG_READ)))
			return peer;
		get_why(g, member,
		    peer ? gw_peer_why(peer) : "is not in the catalog");
	} while (gw_aim_missed(&want->aim, w->leaders, to, true));
	want->paused = true;
	return NULL;
}

static void
batch_wait(const struct get *g, struct batch *b, const struct gw_aim *aim)
{
	uint64_t us = g->src->stmt->worker->conf->answer_us
		      << (aim->rounds < 3 ? aim->rounds : 3);

	if (us > b->wait_us)
		b->wait_us = us;
}

/* Puts key i into the batch of the node that serves it. */
static void
get_route(struct get *g, struct arena *a, size_t i)
{
	struct gw_peer *peer;
	struct gw_route to;
	struct batch *b;
	struct buf key;

	if (!gw_route_row(gw_catalog_now(g->src->stmt->worker->catalog),
		g->what->table, g->keys[i], &to)) {
		g->why = "The catalog knows no node for the slot.";
		g->wants[i].aim.rounds++;
		g->wants[i].paused = true;
		return;
	}
	peer = get_aim(g, i, &to);
	if (!peer)
		return;
	b = get_batch(g, a, peer);
	b->member = g->wants[i].aim.asked;
	if (to.n > 1)
		batch_wait(g, b, &g->wants[i].aim);
	buf_init(&key, a);
	ex_table_row_key(&key, g->what->table, to.slot, g->keys[i]);
	b->keys[b->msg.n_points] = i;
	b->msg.points[b->msg.n_points++] =
	    (struct cl_point){to.placement, to.slot, to.epoch, buf_view(&key)};
}

/* The group of the batch's k-th key by now. */
static bool
batch_group(
    const struct get *g, const struct batch *b, uint32_t k, struct gw_route *to)
{
	return gw_route_slot(gw_catalog_now(g->src->stmt->worker->catalog),
	    b->msg.points[k].placement, b->msg.points[k].slot, to);
}

/* A node may answer only the first points, when rows are large. */
static struct err *
get_take(struct get *g, const struct batch *b, const struct cl_rows *in)
{
	struct gw_leaders *l = g->src->stmt->worker->leaders;

	if (in->n_rows > b->msg.n_points)
		return ERR(g->arena, ERRCODE_PROTOCOL_VIOLATION,
		    "a node sent more rows than were asked for");
	for (uint32_t r = 0; r < in->n_rows; r++) {
		size_t i = b->keys[r];
		struct gw_route to;
		struct gw_row_in row = {
		    g->what, g->keys[i], in->rows[r].value, g->what->filter};

		TRY(gw_source_row(
		    g->src, g->arena, &row, &g->rows[i], &g->found[i]));
		if (batch_group(g, b, r, &to))
			gw_aim_served(&g->wants[i].aim, l, &to);
		g->wants[i].done = true;
		g->left--;
	}
	return NULL;
}

/* The refusal says that the batch's k-th group is led elsewhere. */
static bool
batch_listed(const struct get *g, const struct batch *b, uint32_t k)
{
	const struct cl_rows *in = b->call.reply;
	struct gw_route to;
	uint32_t hint;

	return b->call.result == GW_OK && batch_group(g, b, k, &to) &&
	       gw_source_hint(in->elsewhere, in->n_elsewhere, &to, &hint);
}

/* The node did not serve the k-th key: where that one goes next. `listed`: its
 * refusal names groups of this batch. */
static void
get_missed(struct get *g, const struct batch *b, uint32_t k, bool listed)
{
	struct gw_leaders *l = g->src->stmt->worker->leaders;
	const struct cl_rows *in = b->call.reply;
	struct want *want = &g->wants[b->keys[k]];
	struct gw_route to;
	uint32_t hint;

	want->paused = true;
	if (!batch_group(g, b, k, &to))
		want->aim.rounds++;
	else if (b->call.result != GW_OK)
		want->paused = !gw_aim_missed(
		    &want->aim, l, &to, gw_peer_lost(b->peer, CL_MSG_READ));
	else if (!gw_source_elsewhere((enum cl_refusal)in->reason))
		gw_aim_wait(&want->aim);
	else if (gw_source_hint(in->elsewhere, in->n_elsewhere, &to, &hint) ||
		 !listed)
		want->paused = !gw_aim_refused(&want->aim, l, &to, hint);
	else
		/* Others in the request are led elsewhere, this one is not. */
		want->paused = false;
}

static void
get_missed_all(struct get *g, const struct batch *b)
{
	bool listed = false;

	for (uint32_t k = 0; k < b->msg.n_points && !listed; k++)
		listed = batch_listed(g, b, k);
	for (uint32_t k = 0; k < b->msg.n_points; k++)
		get_missed(g, b, k, listed);
}

static void
get_trace(const struct get *g, const struct batch *b)
{
	uint16_t slot = b->msg.points[0].slot;
	struct gw_span span = {.call = &b->call,
	    .begun_us = b->sent_us,
	    .node = b->member,
	    .placement = g->what->table->placement,
	    .slot = slot,
	    .n_slots = 1};

	if (!g->src->stmt->trace)
		return;
	for (uint32_t i = 1; i < b->msg.n_points; i++)
		span.n_slots +=
		    b->msg.points[i].slot != b->msg.points[i - 1].slot;
	gw_trace_add(g->src->stmt->trace, &span);
}

static uint64_t
batch_deadline(const struct get *g, const struct batch *b)
{
	uint64_t deadline = g->src->stmt->deadline_us;

	return b->wait_us && b->sent_us + b->wait_us < deadline
		   ? b->sent_us + b->wait_us
		   : deadline;
}

static struct err *
get_answer(struct get *g, struct batch *b)
{
	struct gw_stmt *stmt = g->src->stmt;
	enum gw_result r = gw_call_wait(&b->call, batch_deadline(g, b));
	const struct cl_rows *in = b->call.reply;

	get_trace(g, b);
	if (r == GW_FAILED)
		return gw_source_failure(g->arena, b->call.failure);
	if (r == GW_OK && b->call.reply_kind != CL_MSG_ROWS) {
		get_why(g, b->member, "answered with another kind");
		b->call.result = GW_UNKNOWN;
	} else if (r != GW_OK) {
		/* A slow answer at the deadline is a statement timeout. */
		if (world_mono_us(stmt->worker->world) < stmt->deadline_us)
			get_why(g, b->member, b->call.why);
	} else if (in->reason == CL_REFUSE_DROPPED) {
		stmt->stale = true;
		return ERR(g->arena, ERRCODE_UNDEFINED_TABLE,
		    "the table was dropped while the statement ran");
	} else if (in->reason) {
		metric_inc(M_GW_REFUSED);
		get_why(
		    g, b->member, gw_refusal_text((enum cl_refusal)in->reason));
	} else if (in->n_rows) {
		return get_take(g, b, in);
	} else {
		get_why(g, b->member, "sent none of the rows");
	}
	get_missed_all(g, b);
	return NULL;
}

/* Asks for everything still missing that does not pause, once. */
static struct err *
get_round(struct get *g, struct arena *a)
{
	struct world *w = g->src->stmt->worker->world;
	struct err *e = NULL;

	g->batches = NULL;
	g->n_batches = g->cap_batches = 0;
	for (size_t i = 0; i < g->n; i++) {
		if (!g->wants[i].done && !g->wants[i].paused)
			get_route(g, a, i);
	}
	for (size_t i = 0; i < g->n_batches; i++) {
		struct batch *b = g->batches[i];

		/* Values point into the reply. */
		b->call.arena = g->arena;
		b->call.wake = &g->wake;
		b->sent_us = world_mono_us(w);
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

/* Before the next round: NULL when it may begin. At once, as long as there is a
 * key that another node may serve. */
static struct err *
get_pause(struct get *g)
{
	struct gw_stmt *stmt = g->src->stmt;
	unsigned pace = 1;

	for (size_t i = 0; i < g->n; i++) {
		const struct want *want = &g->wants[i];

		if (want->done)
			continue;
		if (!want->paused)
			return gw_stmt_check(stmt, g->arena);
		if (gw_aim_pace(&want->aim) > pace)
			pace = gw_aim_pace(&want->aim);
	}
	for (size_t i = 0; i < g->n; i++)
		g->wants[i].paused = false;
	if (gw_stmt_backoff(stmt, pace) &&
	    world_mono_us(stmt->worker->world) < stmt->deadline_us)
		return gw_stmt_check(stmt, g->arena);
	if (g->why)
		return gw_stmt_unreached(stmt, g->arena, g->why);
	return gw_stmt_check(stmt, g->arena);
}

static void
get_begin(struct get *g)
{
	struct gw_stmt *stmt = g->src->stmt;
	struct world *w = stmt->worker->world;
	bool any = stmt->consistency == CL_ONE;
	uint32_t spread = any ? (uint32_t)world_random_below(w, 1u << 16) : 0;

	memset(g->found, 0, g->n * sizeof *g->found);
	g->wants = NEW_N(g->arena, struct want, g->n + 1);
	for (size_t i = 0; any && i < g->n; i++)
		g->wants[i].aim = (struct gw_aim){.any = any, .spread = spread};
	cond_init(&g->wake, w);
}

static struct err *
source_get(struct sql_source *s, struct arena *a,
    const struct sql_scan_req *what, const struct str *keys, size_t n,
    struct sql_row *rows, bool *found)
{
	struct gw_source *src = gw_source_of(s);
	struct get g = {src, a, what, keys, n, rows, found, .left = n};
	struct err *e = NULL;

	TRY(gw_may_use(src->stmt, a, what->table));
	get_begin(&g);
	while (g.left && !e) {
		struct arena *round = arena_new(a, "read");

		e = get_round(&g, round);
		arena_free(round);
		if (!e && g.left)
			e = get_pause(&g);
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
