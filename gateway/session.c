#include "gateway/session_int.h"

#include "gateway/trace.h"

static struct gw_session *
session_new(struct gw_worker *w, struct stream *stream)
{
	struct world *world = w->world;
	struct arena *a = arena_new(world->arena, "session");
	struct gw_session *s = NEW(a, struct gw_session);

	s->magic = GW_SESSION_MAGIC;
	s->w = w;
	s->world = world;
	s->stream = stream;
	s->fiber = fiber_self();
	s->arena = a;
	arena_limit(a, gw_worker_session_memory(w));
	s->msg_arena = arena_new(a, "message");
	s->out_arena = arena_new(a, "output");
	buf_init(&s->out, s->out_arena);
	s->txn = GW_TXN_IDLE;
	s->statements = map_new(a);
	s->portals = map_new(a);
	s->sequences = map_new(a);
	list_init(&s->savepoints);
	list_init(&s->free_savepoints);
	gw_ops_init(&s->ops, w);
	s->ops.notice = gw_session_notice;
	s->ops.notice_arg = s;
	return s;
}

static void
goodbye(struct gw_session *s, const char *sqlstate, const char *message)
{
	struct err *e = ERR(s->msg_arena, sqlstate, "%s", message);

	e->severity = ERR_FATAL;
	gw_session_error(s, e);
	gw_session_flush(s);
}

/* The wait for the next message ends the session after
 * idle_in_transaction_session_timeout inside a transaction. */
static uint64_t
idle_deadline(const struct gw_session *s)
{
	uint64_t us = gw_settings_derived(s->settings)->idle_in_txn_timeout_us;

	if (s->txn == GW_TXN_IDLE || !us)
		return WORLD_FOREVER;
	return world_mono_us(s->world) + us;
}

static void
dispatch(struct gw_session *s, uint8_t type, struct str body)
{
	switch (type) {
	case WIRE_QUERY:
		/* A simple query inside a failed batch is part of it. */
		if (!s->skip_to_sync)
			gw_session_query(s, body);
		break;
	case WIRE_COPY_DATA:
	case WIRE_COPY_DONE:
	case WIRE_COPY_FAIL:
		/* Left over from a COPY that failed: the client had not heard
		 * of it yet. */
		break;
	default:
		gw_session_extended(s, type, body);
	}
}

/* What a statement writes it must have read exactly. */
static enum cl_consistency
consistency_of(const struct gw_derived *d, const struct gw_portal *p)
{
	const struct sql_prepared *pr = p->plan->prepared;

	if (strcmp(d->consistency, "all") == 0)
		return CL_ALL;
	if (strcmp(d->consistency, "one") == 0 && !pr->writes)
		return CL_ONE;
	return CL_QUORUM;
}

void
gw_session_begin(struct gw_session *s, struct gw_portal *p)
{
	const struct gw_derived *d = gw_settings_derived(s->settings);

	if (!s->running)
		gw_cancel_busy(s->cancel, true);
	s->running = true;
	s->statements_run++;
	gw_stmt_begin(
	    &p->stmt, s->w, &s->ops, p->plan->catalog, d->statement_timeout_us);
	p->stmt.cancel = NULL; /* a cancel is the fiber's */
	p->stmt.as_role = s->superuser ? 0 : s->role;
	p->stmt.row_max = s->w->conf->row_size_max;
	p->stmt.consistency = consistency_of(d, p);
	if (d->trace && !s->trace)
		s->trace = gw_trace_new(s->arena, s->world);
	p->stmt.trace = d->trace ? s->trace : NULL;
	s->stmt = &p->stmt;
}

void
gw_session_end(struct gw_session *s)
{
	if (!s->running)
		return;
	s->running = false;
	s->stmt = NULL;
	gw_trace_tell(s->trace, gw_session_notice, s);
	gw_cancel_busy(s->cancel, false);
	/* A cancel that came too late is for nobody. */
	fiber_uncancel(s->fiber);
}

static void
stopped(struct gw_session *s)
{
	goodbye(s, ERRCODE_ADMIN_SHUTDOWN,
	    "terminating connection due to administrator command");
}

/* One message; false ends the session. */
static bool
turn(struct gw_session *s)
{
	uint8_t type;
	struct str body;
	struct err *e;

	switch (gw_session_read(s, idle_deadline(s), &type, &body, &e)) {
	case GW_READ_OK:
		break;
	case GW_READ_GONE:
		return false;
	case GW_READ_IDLE:
		goodbye(s, ERRCODE_IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
		    "terminating connection due to idle-in-transaction "
		    "timeout");
		return false;
	case GW_READ_STOP:
		if (!gw_worker_stopping(s->w)) {
			/* A cancel that came between statements. */
			fiber_uncancel(s->fiber);
			return true;
		}
		stopped(s);
		return false;
	}
	if (e) {
		goodbye(s, e->sqlstate, e->message);
		return false;
	}
	if (type == WIRE_TERMINATE)
		return false;
	dispatch(s, type, body);
	if (gw_worker_stopping(s->w) && !s->skip_to_sync &&
	    s->txn == GW_TXN_IDLE &&
	    (type == WIRE_QUERY || type == WIRE_SYNC)) {
		stopped(s);
		return false;
	}
	/* Pipelined messages are answered together. */
	if (type == WIRE_FLUSH || s->out.len >= GW_OUT_CHUNK)
		gw_session_flush(s);
	return !s->broken;
}

static void
session_close(struct gw_session *s)
{
	gw_session_drop_portals(s, NULL, true);
	if (s->cancel)
		gw_cancel_remove(s->w, s->cancel);
	stream_close(s->stream);
	gw_worker_left(s->w);
	s->magic = 0;
	arena_free(s->arena);
}

struct start {
	struct gw_worker *w;
	struct stream *stream;
	struct arena *arena;
};

static void
session_fiber(void *arg)
{
	struct start *st = arg;
	struct gw_session *s = session_new(st->w, st->stream);

	arena_free(st->arena);
	if (gw_session_startup(s))
		while (turn(s))
			;
	session_close(s);
}

void
gw_session_serve(struct gw_worker *w, struct stream *stream)
{
	struct world *world = gw_worker_world(w);
	struct arena *a = arena_new(world->arena, "session start");
	struct start *st = NEW(a, struct start);

	*st = (struct start){w, stream, a};
	(void)fiber_spawn(
	    world, "session", FIBER_STACK_GATEWAY, session_fiber, st);
}
