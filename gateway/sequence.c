#include "gateway/sequence.h"

#include "base/fiber.h"
#include "base/map.h"
#include "base/metrics.h"
#include "base/mutate.h"
#include "expr/table.h"
#include "gateway/source.h"
#include "gateway/worker.h"

#define SEQUENCES_MAGIC 0x73657173u
/* How long one try of a draw goes on; then it is made anew. */
#define TRY_US 5000000u
/* Sequences remembered between draws, so that each keeps its operation ids. */
#define KEPT_MAX 256u

/* One statement that waits for values. Lies on its fiber's stack; whoever gives
 * up takes himself off the list. */
struct waiter {
	struct list link;
	struct cond wake;
	struct arena *arena; /* of the error */
	uint64_t want;
	struct gw_draw out;
	bool granted; /* once what is being proposed is applied */
	bool done;
	struct err *err;
};

struct seq {
	struct gw_sequences *all;
	struct list link; /* in all->idle */
	struct arena *arena;
	uint32_t id;
	struct gw_ops ops;
	struct list waiting; /* struct waiter */
	struct list taken;   /* those of the proposal under way */
	uint32_t n_waiting;  /* both */
	struct fiber *fiber; /* draws; NULL: idle */
	struct err *why;     /* what the last try met, in `arena` */
	struct arena *why_arena;
};

struct gw_sequences {
	uint32_t magic;
	struct gw_worker *worker;
	struct map *map;  /* id -> struct seq */
	struct list idle; /* longest first */
	uint32_t n;
	bool stopping;
};

/* ---- deciding ---- */

/* How often the increment fits between v and the limit. */
static uint64_t
steps_left(const struct cl_sequence *q, int64_t v)
{
	if (q->increment > 0)
		return v >= q->max ? 0
				   : ((uint64_t)q->max - (uint64_t)v) /
					 (uint64_t)q->increment;
	return v <= q->min ? 0
			   : ((uint64_t)v - (uint64_t)q->min) /
				 (0 - (uint64_t)q->increment);
}

static int64_t
step(const struct cl_sequence *q, int64_t v, uint64_t n)
{
	return (int64_t)((uint64_t)v + n * (uint64_t)q->increment);
}

bool
gw_sequence_take(const struct cl_sequence *q, struct gw_seq_value *v,
    uint64_t want, struct gw_draw *out)
{
	int64_t first = v->last;
	uint64_t left;

	ASSERT(want > 0);
	if (v->called) {
		if (steps_left(q, v->last))
			first = step(q, v->last, 1);
		else if (q->cycle)
			first = q->increment > 0 ? q->min : q->max;
		else
			return false;
	}
	left = steps_left(q, first);
	*out = (struct gw_draw){first,
	    step(q, first, want - 1 < left ? want - 1 : left), q->increment};
	v->last = out->last;
	v->called = true;
	return true;
}

static struct err *
limit_error(struct arena *a, const struct cl_sequence *q)
{
	return ERR(a, ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED,
	    "nextval: reached %s value of sequence \"%.*s\" (%lld)",
	    q->increment > 0 ? "maximum" : "minimum", STR_FMT(q->name),
	    (long long)(q->increment > 0 ? q->max : q->min));
}

/* ---- the row ---- */

static const struct cl_column row_columns[] = {
    {.id = 1, .type = EX_INT8, .typmod = -1, .flags = CL_COL_NOT_NULL},
    {.id = 2, .type = EX_INT8, .typmod = -1},
    {.id = 3, .type = EX_BOOL, .typmod = -1}};
static const uint32_t row_key[] = {1};
static const uint32_t row_values[] = {2, 3};

/* The row, as one of a table that only it is in. */
struct row {
	struct cl_table table;
	struct str key;
	bool found;
	cl_stamp stamp;
	struct gw_seq_value value;
};

static struct err *
row_of(struct arena *a, const struct cl_sequence *q, struct row *r)
{
	struct val id = val_int(EX_INT8, q->id);
	struct buf key;

	*r = (struct row){.table = {.id = q->id,
			      .name = q->name,
			      .placement = CL_PLACEMENT_DEFAULT,
			      .n_columns = 3,
			      .columns = row_columns,
			      .n_pkey = 1,
			      .pkey = row_key,
			      .next_column = 4},
	    .value = {q->first, false}};
	buf_init(&key, a);
	TRY(ex_table_key(a, &r->table, &id, &key));
	r->key = buf_view(&key);
	return NULL;
}

static struct err *
row_read(struct gw_stmt *s, struct arena *a, struct row *r)
{
	struct gw_stmt own = *s;
	struct sql_source *src = gw_source_new(a, &own);
	struct sql_scan_req req = {
	    .table = &r->table, .columns = row_values, .n_columns = 2};
	struct sql_row row = {0};

	own.as_role = 0;
	TRY(src->ops->get(src, a, &req, &r->key, 1, &row, &r->found));
	if (!r->found)
		return NULL;
	r->stamp = row.stamp;
	r->value = (struct gw_seq_value){row.vals[0].u.i, row.vals[1].u.b};
	return NULL;
}

/* *done false when the row is not as it was read; `blind`: whatever it is. */
static struct err *
row_write(
    struct gw_stmt *s, struct arena *a, struct row *r, bool blind, bool *done)
{
	struct gw_stmt own = *s;
	struct sql_source *src = gw_source_new(a, &own);
	struct val vals[3] = {val_int(EX_INT8, r->table.id),
	    val_int(EX_INT8, r->value.last), val_bool(r->value.called)};
	struct sql_write w = {.kind = r->found ? SQL_UPDATE : SQL_INSERT,
	    .table = &r->table,
	    .key = r->key,
	    .vals = vals,
	    .stamp = r->stamp};

	*done = false;
	if (blind || mutate("draw_unconditioned"))
		w.kind = SQL_UPSERT;
	own.as_role = 0;
	TRY(src->ops->write(src, a, &w, 1));
	*done = w.result == SQL_WRITE_DONE;
	return NULL;
}

static struct err *
gone(struct arena *a)
{
	return ERR(a, ERRCODE_UNDEFINED_TABLE,
	    "the sequence was dropped while the statement ran");
}

/* By the newest definition; its name, in messages, is a copy. */
static struct err *
row_now(struct gw_stmt *s, struct arena *a, uint32_t id, struct row *r)
{
	const struct cl_sequence *now =
	    cl_catalog_sequence(gw_catalog_now(s->worker->catalog), id);
	struct cl_sequence copy;

	if (!now)
		return gone(a);
	copy = *now;
	copy.name = arena_str(a, now->name);
	return row_of(a, &copy, r);
}

struct err *
gw_sequence_get(
    struct gw_stmt *s, struct arena *a, uint32_t id, struct gw_seq_value *out)
{
	struct row r;

	*out = (struct gw_seq_value){0, false};
	TRY(row_now(s, a, id, &r));
	TRY(row_read(s, a, &r));
	*out = r.value;
	return NULL;
}

struct err *
gw_sequence_set(
    struct gw_stmt *s, struct arena *a, uint32_t id, struct gw_seq_value to)
{
	struct row r;
	bool done;

	TRY(row_now(s, a, id, &r));
	r.value = to;
	TRY(row_write(s, a, &r, true, &done));
	ASSERT(done);
	return NULL;
}

/* ---- one try ---- */

static void
waiter_end(struct waiter *w, const struct err *e)
{
	list_del(&w->link);
	w->done = true;
	w->err = e ? err_copy(w->arena, e) : NULL;
	cond_signal(&w->wake);
}

static void
end_taken(struct seq *q, const struct err *e)
{
	LIST_FOREACH_SAFE(n, &q->taken)
	waiter_end(LIST_ENTRY(n, struct waiter, link), e);
}

/* Everybody who waits has a part in what is proposed next. */
static void
take_waiting(struct seq *q)
{
	struct list *n;

	while ((n = list_pop(&q->waiting)))
		list_push(&q->taken, n);
}

/* Shares out, in the order of coming; who meets the limit is told. False:
 * nobody gets anything. */
static bool
share_out(struct seq *q, struct arena *a, const struct cl_sequence *def,
    struct gw_seq_value *v)
{
	bool any = false;

	LIST_FOREACH_SAFE(n, &q->taken)
	{
		struct waiter *w = LIST_ENTRY(n, struct waiter, link);

		w->granted = gw_sequence_take(def, v, w->want, &w->out);
		if (!w->granted)
			waiter_end(w, limit_error(a, def));
		any = any || w->granted;
	}
	return any;
}

/* *again when somebody else moved it in between. */
static struct err *
draw_try(struct seq *q, struct gw_stmt *s, struct arena *a, bool *again)
{
	const struct cl_sequence *def = cl_catalog_sequence(s->catalog, q->id);
	struct row r;
	bool done;

	*again = false;
	if (!def)
		return gone(a);
	TRY(row_of(a, def, &r));
	TRY(row_read(s, a, &r));
	take_waiting(q);
	if (!share_out(q, a, def, &r.value))
		return NULL;
	metric_inc(M_GW_DRAWS);
	TRY(row_write(s, a, &r, false, &done));
	*again = !done;
	if (done)
		end_taken(q, NULL);
	return NULL;
}

/* Errors that another try may be without; for an unknown outcome it is even
 * right: whatever became of the values, nobody got them. */
static bool
is_passing(const struct err *e)
{
	return err_is(e, ERRCODE_STATEMENT_COMPLETION_UNKNOWN) ||
	       err_is(e, ERRCODE_CANNOT_CONNECT_NOW) ||
	       err_is(e, ERRCODE_QUERY_CANCELED) ||
	       err_is(e, ERRCODE_SERIALIZATION_FAILURE);
}

static void
note_why(struct seq *q, const struct err *e)
{
	arena_reset(q->why_arena);
	q->why = e ? err_copy(q->why_arena, e) : NULL;
}

/* ---- the fiber that draws ---- */

static void
unref_ev(void *arg)
{
	cl_catalog_unref(arg);
}

/* One try with a statement of its own; *tries in a row without success. */
static void
draw_once(struct seq *q, unsigned *tries)
{
	struct gw_worker *w = q->all->worker;
	struct arena *a = arena_new(q->arena, "draw");
	struct cl_catalog *held = cl_catalog_ref(gw_catalog_now(w->catalog));
	struct gw_stmt s = {.row_max = w->conf->row_size_max};
	bool again = false;
	struct err *e;

	arena_cleanup(a, unref_ev, held);
	gw_stmt_begin(&s, w, &q->ops, held, TRY_US);
	e = draw_try(q, &s, a, &again);
	note_why(q, e);
	*tries = e || again ? *tries + 1 : 0;
	if (e && !is_passing(e)) {
		take_waiting(q);
		end_taken(q, e);
	} else if (*tries && !q->all->stopping) {
		(void)fiber_sleep(w->world, gw_stmt_retry_at(&s, *tries));
	}
	arena_free(a);
}

/* Not one that somebody was just served from and still has to wake up for. */
static void
forget_idle(struct gw_sequences *all)
{
	LIST_FOREACH_SAFE(n, &all->idle)
	{
		struct seq *q = LIST_ENTRY(n, struct seq, link);

		if (all->n <= KEPT_MAX)
			return;
		if (q->n_waiting)
			continue;
		list_del(&q->link);
		map_del(all->map, MAP_KEY(&q->id));
		all->n--;
		arena_free(q->arena);
	}
}

static void
draw_fiber(void *arg)
{
	struct seq *q = arg;
	struct gw_sequences *all =
	    TAKE(struct gw_sequences, q->all, SEQUENCES_MAGIC);
	unsigned tries = 0;

	while (!all->stopping &&
	       (!list_empty(&q->waiting) || !list_empty(&q->taken)))
		draw_once(q, &tries);
	q->fiber = NULL;
	if (all->stopping) {
		take_waiting(q);
		end_taken(q, ERR(q->arena, ERRCODE_ADMIN_SHUTDOWN,
				 "the gateway is shutting down"));
		return;
	}
	list_push(&all->idle, &q->link);
	forget_idle(all);
}

static struct seq *
seq_of(struct gw_sequences *all, uint32_t id)
{
	struct seq *q = map_get(all->map, MAP_KEY(&id));
	struct arena *a;

	if (q)
		return q;
	a = arena_new(all->worker->world->arena, "sequence");
	q = NEW(a, struct seq);
	q->all = all;
	q->arena = a;
	q->why_arena = arena_new(a, "why");
	q->id = id;
	gw_ops_init(&q->ops, all->worker);
	list_init(&q->waiting);
	list_init(&q->taken);
	list_push(&all->idle, &q->link);
	map_put(all->map, MAP_KEY(&q->id), q);
	all->n++;
	return q;
}

static void
start_drawing(struct seq *q)
{
	if (q->fiber)
		return;
	list_del(&q->link);
	q->fiber = fiber_spawn(q->all->worker->world, "sequence",
	    FIBER_STACK_GATEWAY, draw_fiber, q);
}

/* ---- waiting for it ---- */

/* The statement is over before it got values. */
static struct err *
gave_up(struct seq *q, struct waiter *w, struct gw_stmt *s, struct arena *a)
{
	const char *why = NULL;

	if (q->why)
		why = arena_strdup(
		    a, q->why->detail ? q->why->detail : q->why->message);
	list_del(&w->link);
	if (why && !gw_stmt_cancelled(s))
		return gw_stmt_unreached(s, a, why);
	return gw_stmt_check(s, a);
}

struct err *
gw_sequence_draw(struct gw_stmt *s, struct arena *a, uint32_t id, uint64_t want,
    struct gw_draw *out)
{
	struct gw_sequences *all = s->worker->sequences;
	struct seq *q = seq_of(all, id);
	struct waiter w = {.arena = a, .want = want};
	enum wake wake = WAKE_EVENT;

	*out = (struct gw_draw){0, 0, 0};
	TRY(gw_stmt_check(s, a));
	if (all->stopping)
		return ERR(
		    a, ERRCODE_ADMIN_SHUTDOWN, "the gateway is shutting down");
	if (q->n_waiting >= s->worker->conf->draws_max)
		return ERR(a, ERRCODE_CONFIGURATION_LIMIT_EXCEEDED,
		    "too many statements wait for values of one sequence");
	cond_init(&w.wake, s->worker->world);
	list_push(&q->waiting, &w.link);
	q->n_waiting++;
	start_drawing(q);
	while (!w.done && wake == WAKE_EVENT)
		wake = cond_wait(&w.wake, s->deadline_us);
	q->n_waiting--;
	if (!w.done)
		return gave_up(q, &w, s, a);
	*out = w.out;
	return w.err;
}

/* ---- all of them ---- */

struct gw_sequences *
gw_sequences_new(struct gw_worker *w)
{
	struct gw_sequences *all = NEW(w->world->arena, struct gw_sequences);

	all->magic = SEQUENCES_MAGIC;
	all->worker = w;
	all->map = map_new(w->world->arena);
	list_init(&all->idle);
	return all;
}

void
gw_sequences_stop(struct gw_sequences *all)
{
	struct str key;
	size_t at = 0;
	void *v;

	all->stopping = true;
	while (map_next(all->map, &at, &key, &v)) {
		struct seq *q = v;

		if (q->fiber)
			fiber_cancel(q->fiber);
	}
}
