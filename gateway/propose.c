#include "gateway/propose.h"

#include "base/metrics.h"
#include "base/mutate.h"
#include "gateway/route.h"
#include "gateway/worker.h"

/* How long a send may stay unanswered before the next one; doubles. */
#define ANSWER_US 2000000u
/* After a cancel, how long sends that left are followed up. */
#define CANCEL_GRACE_US 2000000u

/* One gw_propose_run. */
struct run {
	struct gw_stmt *stmt;
	struct arena *arena;
	struct world *world;
	struct cond wake;
	uint64_t limit_us; /* the statement's deadline, or sooner */
	uint64_t begun_us;
	bool cancelled;
};

static bool
ended(const struct gw_proposal *p)
{
	return p->doing >= GW_END_APPLIED;
}

/* ---- what happened ---- */

/* A table that the proposal names by version has another one by now. */
static bool
proposal_stale(const struct run *r, const struct gw_proposal *p)
{
	const struct cl_catalog *now = gw_catalog_now(r->stmt->worker->catalog);

	for (uint32_t i = 0; i < p->msg.n_conds; i++) {
		const struct cl_cond *c = &p->msg.conds[i];
		const struct cl_table *t;
		struct cur key = cur_of(c->key);

		if (c->kind != CL_COND_SCHEMA)
			continue;
		t = cl_catalog_table(now, cur_be32(&key));
		if (!t || t->version != c->arg)
			return true;
	}
	return false;
}

static void
event_refused(struct run *r, struct gw_proposal *p, struct gw_event *ev)
{
	metric_inc(M_GW_REFUSED);
	ev->kind = GW_EVENT_REFUSED;
	ev->reason = p->answer->reason;
	ev->stale = proposal_stale(r, p);
	p->why = gw_refusal_text(ev->reason);
	p->sqlstate = NULL;
	if (ev->reason == CL_REFUSE_FULL)
		p->sqlstate = ERRCODE_DISK_FULL;
	if (ev->reason == CL_REFUSE_DROPPED)
		p->sqlstate = ERRCODE_UNDEFINED_TABLE;
}

static void
event_failed(struct run *r, struct gw_proposal *p, struct gw_event *ev)
{
	const struct cl_fail *f = p->call.failure;

	ev->kind = GW_EVENT_FAIL;
	ev->proposed = f->proposed;
	p->why = p->call.why;
	p->sqlstate = f->sqlstate.len == 5 ? arena_cstr(r->arena, f->sqlstate)
					   : ERRCODE_INTERNAL_ERROR;
	p->fail_hint = f->hint.len ? arena_cstr(r->arena, f->hint) : NULL;
}

static struct gw_event
event_of_call(struct run *r, struct gw_proposal *p)
{
	struct gw_event ev = {.kind = GW_EVENT_LOST};

	p->sqlstate = p->fail_hint = NULL;
	if (p->call.why)
		p->why = p->call.why;
	if (p->call.result == GW_NOT_SENT) {
		ev.kind = GW_EVENT_NOT_SENT;
	} else if (p->call.result == GW_FAILED) {
		event_failed(r, p, &ev);
	} else if (p->call.result == GW_OK &&
		   p->call.reply_kind == CL_MSG_PROPOSED) {
		p->answer = p->call.reply;
		if (p->answer->outcome == CL_APPLIED)
			ev.kind = GW_EVENT_APPLIED;
		else if (p->answer->outcome == CL_FALSE)
			ev.kind = GW_EVENT_FALSE;
		else if (p->answer->outcome == CL_REFUSED)
			event_refused(r, p, &ev);
		else
			p->why = "answered with an unknown outcome";
	} else if (p->call.result == GW_OK) {
		p->why = "answered with a message of another kind";
	}
	return ev;
}

/* ---- acting ---- */

static void
proposal_ids(struct run *r, struct gw_proposal *p)
{
	struct gw_ops *ops = r->stmt->ops;
	struct gw_worker *w = r->stmt->worker;
	uint64_t now = world_mono_us(r->world);
	uint64_t left = r->limit_us > now ? r->limit_us - now : 0;

	p->msg.session = str_of(ops->session, sizeof ops->session);
	p->msg.sequence = ++ops->sequence;
	/* Fixed at the first send: every send states the same. */
	p->msg.deadline =
	    gw_clock_deadline(gw_peers_clock(w->peers), now, left);
}

static void
proposal_send(struct run *r, struct gw_proposal *p)
{
	struct gw_worker *w = r->stmt->worker;
	const struct cl_catalog *now = gw_catalog_now(w->catalog);
	uint64_t wait = ANSWER_US << (p->op.sends < 3 ? p->op.sends : 3);
	struct gw_peer *peer = NULL;
	struct gw_route to;

	if (gw_route_slot(now, p->msg.placement, p->msg.slot, &to)) {
		p->msg.epoch = to.epoch;
		p->leader = to.leader;
		peer = gw_peers_member(w->peers, now, to.leader);
	}
	gw_op_sent(&p->op);
	p->msg.send = p->op.sends;
	if (p->op.sends == 1 && !p->msg.sequence)
		proposal_ids(r, p);
	if (p->op.sends > 1)
		metric_inc(M_GW_RESENDS);
	if (p->op.sends > 1 && mutate("resend_as_new_op")) {
		p->msg.sequence = ++r->stmt->ops->sequence;
		p->msg.send = 1;
	}
	p->call = (struct gw_call){.arena = r->arena, .wake = &r->wake};
	p->until_us = world_mono_us(r->world) + wait;
	if (peer) {
		gw_call_begin(peer, &p->call, CL_MSG_PROPOSE, &p->msg);
		return;
	}
	p->call.state = GW_CALL_DONE;
	p->call.result = GW_NOT_SENT;
	p->call.why = "the catalog knows no node for the slot";
}

static void
proposal_do(struct run *r, struct gw_proposal *p, enum gw_action act)
{
	p->doing = act;
	if (act == GW_DO_SEND) {
		proposal_send(r, p);
	} else if (act == GW_DO_PAUSE) {
		gw_catalog_refresh(r->stmt->worker->catalog);
		p->until_us = gw_stmt_retry_at(r->stmt, p->op.tries);
	}
}

/* What to do about a proposal that pauses: false when that is to wait on. */
static bool
pause_event(struct run *r, struct gw_proposal *p, struct gw_event *ev)
{
	uint64_t now = world_mono_us(r->world);

	if (now >= r->limit_us)
		ev->kind = GW_EVENT_DEADLINE;
	else if (r->cancelled && p->op.refused == p->op.sends)
		ev->kind = GW_EVENT_CANCEL;
	else if (now >= p->until_us)
		ev->kind = GW_EVENT_START;
	else
		return false;
	return true;
}

/* Takes a proposal as far as it goes without waiting. */
static void
proposal_advance(struct run *r, struct gw_proposal *p)
{
	while (!ended(p)) {
		struct gw_event ev = {.kind = GW_EVENT_START};

		if (p->doing == GW_DO_SEND) {
			uint64_t now = world_mono_us(r->world);

			if (now >= p->until_us || now >= r->limit_us)
				gw_call_abandon(
				    &p->call, "did not answer in time");
			/* What has not left need not be followed up. */
			if (r->cancelled && p->call.state == GW_CALL_WAITING)
				gw_call_abandon(&p->call, "cancelled");
			if (p->call.state != GW_CALL_DONE)
				return;
			ev = event_of_call(r, p);
		} else if (!pause_event(r, p, &ev)) {
			return;
		}
		proposal_do(r, p, gw_propose_step(&p->op, &ev));
	}
}

/* ---- ends ---- */

static struct err *
proposal_failed(struct run *r, struct gw_proposal *p)
{
	struct err *e;

	if (r->cancelled || !p->sqlstate)
		return gw_stmt_unreached(r->stmt, r->arena,
		    arena_printf(r->arena, "Node %u: %s.", p->leader, p->why));
	e = ERR(r->arena, p->sqlstate, "node %u: %s", p->leader, p->why);
	return p->fail_hint ? err_hint(e, "%s", p->fail_hint) : e;
}

static struct err *
proposal_stale_error(struct run *r, struct gw_proposal *p)
{
	r->stmt->stale = true;
	if (p->sqlstate)
		return ERR(r->arena, p->sqlstate,
		    "the table was dropped while the statement ran");
	return err_hint(ERR(r->arena, ERRCODE_SERIALIZATION_FAILURE,
			    "the table was changed while the statement ran"),
	    "Run the statement again.");
}

static struct err *
proposal_lost(struct run *r, struct gw_proposal *p)
{
	metric_inc(M_GW_OUTCOMES_UNKNOWN);
	return err_hint(
	    err_detail(ERR(r->arena, ERRCODE_STATEMENT_COMPLETION_UNKNOWN,
			   "the outcome of the statement is unknown"),
		"A write was sent to node %u: %s.", p->leader,
		p->why ? p->why : "did not answer in time"),
	    "It may have been applied: look before running it again.");
}

static void
proposal_end(struct run *r, struct gw_proposal *p)
{
	p->outcome = p->doing;
	switch (p->outcome) {
	case GW_END_FAILED:
		p->err = proposal_failed(r, p);
		break;
	case GW_END_STALE:
		p->err = proposal_stale_error(r, p);
		break;
	case GW_END_LOST:
		p->err = proposal_lost(r, p);
		break;
	case GW_END_APPLIED:
	case GW_END_FALSE:
	case GW_DO_SEND:
	case GW_DO_PAUSE:
		break;
	}
	metric_time(M_GW_PROPOSE_TIME, world_mono_us(r->world) - r->begun_us);
}

/* Advances all; false when all have ended, else *next is when to look again
 * unless woken before. */
static bool
run_turn(struct run *r, struct gw_proposal *ps, size_t n, uint64_t *next)
{
	bool more = false;

	*next = r->limit_us;
	for (size_t i = 0; i < n; i++) {
		struct gw_proposal *p = &ps[i];

		if (p->outcome >= GW_END_APPLIED)
			continue;
		proposal_advance(r, p);
		if (ended(p)) {
			proposal_end(r, p);
			continue;
		}
		more = true;
		if (p->until_us < *next)
			*next = p->until_us;
	}
	return more;
}

void
gw_propose_run(
    struct gw_stmt *s, struct arena *a, struct gw_proposal *ps, size_t n)
{
	struct world *w = s->worker->world;
	struct run r = {.stmt = s,
	    .arena = a,
	    .world = w,
	    .limit_us = s->deadline_us,
	    .begun_us = world_mono_us(w)};
	uint64_t answered = s->ops->sequence + 1;
	uint64_t next;

	ASSERT(s->deadline_us != WORLD_FOREVER);
	cond_init(&r.wake, w);
	r.cancelled = gw_stmt_cancelled(s);
	for (size_t i = 0; i < n; i++) {
		ps[i].msg.sequence = 0;
		ps[i].msg.answered = answered;
		ps[i].op = (struct gw_op){0};
		ps[i].doing = ps[i].outcome = GW_DO_PAUSE;
		ps[i].until_us = 0;
		ps[i].why = "was not reached";
	}
	while (run_turn(&r, ps, n, &next)) {
		if (cond_wait(&r.wake, next) != WAKE_CANCEL)
			continue;
		/* Deaf from here on, or the wait would never wait. */
		fiber_uncancel(fiber_self());
		r.cancelled = true;
		if (w->ops->mono_us(w) + CANCEL_GRACE_US < r.limit_us)
			r.limit_us = w->ops->mono_us(w) + CANCEL_GRACE_US;
	}
	if (r.cancelled)
		fiber_cancel(fiber_self());
}
