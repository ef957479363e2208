#include "gateway/propose.h"

#include "base/metrics.h"
#include "base/mutate.h"
#include "gateway/trace.h"
#include "gateway/worker.h"

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

/* ---- whom to ask ---- */

static bool
proposal_route(
    const struct run *r, const struct gw_proposal *p, struct gw_route *out)
{
	return gw_route_slot(gw_catalog_now(r->stmt->worker->catalog),
	    p->msg.placement, p->msg.slot, out);
}

static enum cl_msg_kind
kind_of(const struct gw_proposal *p)
{
	return p->commit ? CL_MSG_COMMIT : CL_MSG_PROPOSE;
}

/* Epochs follow the slot map; false: the catalog has no such group. */
static bool
proposal_epochs(const struct run *r, struct gw_proposal *p)
{
	const struct cl_catalog *now = gw_catalog_now(r->stmt->worker->catalog);
	struct gw_route to;

	for (uint32_t i = 0; p->commit && i < p->commit->n_parts; i++) {
		struct cl_part_head *h = &p->commit->parts[i];

		if (!gw_route_slot(now, h->placement, h->slot, &to))
			return false;
		h->epoch = to.epoch;
	}
	return true;
}

/* An answer of a member that does not lead. */
static bool
is_elsewhere(const struct cl_proposed *m)
{
	return m->outcome == CL_UNKNOWN ||
	       (m->outcome == CL_REFUSED &&
		   (m->reason == CL_REFUSE_LEADER ||
		       m->reason == CL_REFUSE_EPOCH ||
		       m->reason == CL_REFUSE_STOPPING));
}

/* What the end of a send says about where to go; true: at once. */
static bool
proposal_turn(const struct run *r, struct gw_proposal *p)
{
	struct gw_leaders *l = r->stmt->worker->leaders;
	const struct gw_call *c = p->call;
	struct gw_route to;

	if (!p->peer || c->result == GW_FAILED || !proposal_route(r, p, &to)) {
		gw_aim_wait(&p->aim);
		return false;
	}
	if (c->result != GW_OK)
		return gw_aim_missed(
		    &p->aim, l, &to, gw_peer_lost(p->peer, kind_of(p)));
	if (c->reply_kind == CL_MSG_PROPOSED && is_elsewhere(c->reply))
		return gw_aim_refused(&p->aim, l, &to,
		    ((const struct cl_proposed *)c->reply)->leader);
	gw_aim_wait(&p->aim);
	return false;
}

static void
proposal_served(const struct run *r, struct gw_proposal *p)
{
	struct gw_route to;

	if (proposal_route(r, p, &to))
		gw_aim_served(&p->aim, r->stmt->worker->leaders, &to);
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
	const struct cl_fail *f = p->call->failure;

	ev->kind = GW_EVENT_FAIL;
	ev->proposed = f->proposed;
	p->why = p->call->why;
	p->sqlstate = f->sqlstate.len == 5 ? arena_cstr(r->arena, f->sqlstate)
					   : ERRCODE_INTERNAL_ERROR;
	p->fail_hint = f->hint.len ? arena_cstr(r->arena, f->hint) : NULL;
}

static void
event_proposed(struct run *r, struct gw_proposal *p, struct gw_event *ev)
{
	p->answer = p->call->reply;
	switch ((enum cl_outcome)p->answer->outcome) {
	case CL_APPLIED:
		ev->kind = GW_EVENT_APPLIED;
		proposal_served(r, p);
		break;
	case CL_FALSE:
		ev->kind = GW_EVENT_FALSE;
		proposal_served(r, p);
		break;
	case CL_REFUSED:
		event_refused(r, p, ev);
		break;
	case CL_UNKNOWN:
		ev->kind = GW_EVENT_UNKNOWN;
		p->why = p->commit ? "lost the group while the transaction was "
				     "under way"
				   : "lost the group while the write was "
				     "under way";
		break;
	default:
		p->why = "answered with an unknown outcome";
	}
}

static void
proposal_trace(const struct run *r, const struct gw_proposal *p)
{
	struct gw_span span = {.call = p->call,
	    .begun_us = p->sent_us,
	    .node = p->aim.asked,
	    .placement = p->msg.placement,
	    .slot = p->msg.slot,
	    .n_slots = 1};

	gw_trace_add(r->stmt->trace, &span);
}

static struct gw_event
event_of_call(struct run *r, struct gw_proposal *p)
{
	struct gw_event ev = {.kind = GW_EVENT_LOST};

	if (!p->commit)
		proposal_trace(r, p);
	p->sqlstate = p->fail_hint = NULL;
	if (p->call->why)
		p->why = p->call->why;
	if (p->call->result == GW_NOT_SENT)
		ev.kind = GW_EVENT_NOT_SENT;
	else if (p->call->result == GW_FAILED)
		event_failed(r, p, &ev);
	else if (p->call->result == GW_OK &&
		 p->call->reply_kind == CL_MSG_PROPOSED)
		event_proposed(r, p, &ev);
	else if (p->call->result == GW_OK)
		p->why = "answered with a message of another kind";
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
	/* Of the same age as another, each would give way to the other. */
	if (p->commit && !p->commit->age)
		p->commit->age = gw_clock_now(gw_peers_clock(w->peers), now) +
				 world_random_below(r->world, 1u << 16);
}

/* What is sent, with the present send's number. */
static const void *
proposal_message(struct gw_proposal *p)
{
	if (!p->commit)
		return &p->msg;
	p->commit->session = p->msg.session;
	p->commit->sequence = p->msg.sequence;
	p->commit->send = p->msg.send;
	p->commit->deadline = p->msg.deadline;
	p->commit->answered = p->msg.answered;
	return p->commit;
}

/* Not sent after all: why says what is missing. */
static void
call_none(struct gw_call *c, enum cl_msg_kind kind, const char *why)
{
	c->kind = kind;
	c->state = GW_CALL_DONE;
	c->result = GW_NOT_SENT;
	c->why = why;
}

static const char *
peer_why(const struct run *r, const struct gw_peer *peer)
{
	const char *why = gw_peer_why(peer);

	return why ? arena_strdup(r->arena, why) : "cannot be reached";
}

/* The peer of the member whose turn it is. */
static void
proposal_aim(struct run *r, struct gw_proposal *p, bool *others)
{
	struct gw_worker *w = r->stmt->worker;
	const struct cl_catalog *now = gw_catalog_now(w->catalog);
	struct gw_route to;

	*others = false;
	p->peer = NULL;
	if (!proposal_route(r, p, &to) || !proposal_epochs(r, p))
		return;
	p->msg.epoch = to.epoch;
	p->peer =
	    gw_peers_member(w->peers, now, gw_aim_at(&p->aim, w->leaders, &to));
	*others = to.n > 1;
}

static void
proposal_number(struct run *r, struct gw_proposal *p)
{
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
}

static void
proposal_send(struct run *r, struct gw_proposal *p)
{
	uint64_t wait = r->stmt->worker->conf->answer_us
			<< (p->op.sends < 3 ? p->op.sends : 3);
	bool others;

	proposal_aim(r, p, &others);
	proposal_number(r, p);
	p->call = NEW(r->arena, struct gw_call);
	*p->call = (struct gw_call){.arena = r->arena, .wake = &r->wake};
	p->sent_us = world_mono_us(r->world);
	p->until_us = p->sent_us + wait;
	if (!p->peer)
		call_none(p->call, kind_of(p),
		    "the catalog knows no node for the slot");
	else if (others && gw_peer_lost(p->peer, kind_of(p)))
		call_none(p->call, kind_of(p), peer_why(r, p->peer));
	else
		gw_call_begin(
		    p->peer, p->call, kind_of(p), proposal_message(p));
}

static void
proposal_do(struct run *r, struct gw_proposal *p, enum gw_action act)
{
	p->doing = act;
	if (act == GW_DO_SEND) {
		proposal_send(r, p);
	} else if (act == GW_DO_PAUSE) {
		gw_catalog_refresh(r->stmt->worker->catalog);
		p->until_us = world_mono_us(r->world);
		if (!proposal_turn(r, p))
			p->until_us =
			    gw_stmt_retry_at(r->stmt, gw_aim_pace(&p->aim));
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

/* The send stays without an answer. Nobody listens to it any more: once there
 * is another, only that one's answer counts. */
static void
proposal_give_up(struct gw_proposal *p)
{
	if (mutate("any_send_answers") && !p->earlier &&
	    p->call->state == GW_CALL_SENT) {
		p->earlier = p->call;
		p->call = NULL;
		return;
	}
	gw_call_abandon(p->call, "did not answer in time");
}

/* In a build with mutations: the answer to an earlier send is taken for that
 * to the last one. */
static void
proposal_listen_back(struct run *r, struct gw_proposal *p)
{
	struct gw_call *c = mutate("any_send_answers") ? p->earlier : NULL;

	if (!c)
		return;
	if (!p->call) {
		p->call = NEW(r->arena, struct gw_call);
		*p->call =
		    (struct gw_call){.arena = r->arena, .wake = &r->wake};
		call_none(p->call, kind_of(p), "did not answer in time");
		p->call->result = GW_UNKNOWN;
	} else if (c->state == GW_CALL_DONE && c->result == GW_OK) {
		gw_call_abandon(p->call, NULL);
		p->call = c;
		p->earlier = NULL;
	}
}

/* The send is over, or what has been waited for it is enough. */
static bool
send_over(struct run *r, struct gw_proposal *p)
{
	uint64_t now = world_mono_us(r->world);

	if (now >= p->until_us || now >= r->limit_us)
		proposal_give_up(p);
	proposal_listen_back(r, p);
	/* What has not left need not be followed up. */
	if (r->cancelled && p->call->state == GW_CALL_WAITING)
		gw_call_abandon(p->call, "cancelled");
	return p->call->state == GW_CALL_DONE;
}

/* Takes a proposal as far as it goes without waiting. */
static void
proposal_advance(struct run *r, struct gw_proposal *p)
{
	while (!ended(p)) {
		struct gw_event ev = {.kind = GW_EVENT_START};

		if (p->doing == GW_DO_SEND) {
			if (!send_over(r, p))
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
		    gw_stmt_at_node(r->arena, p->aim.asked, p->why));
	e = ERR(r->arena, p->sqlstate, "node %u: %s", p->aim.asked, p->why);
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
	const char *state = p->unknown_sqlstate
				? p->unknown_sqlstate
				: ERRCODE_STATEMENT_COMPLETION_UNKNOWN;

	metric_inc(M_GW_OUTCOMES_UNKNOWN);
	return err_hint(
	    err_detail(ERR(r->arena, state, "the outcome of the %s is unknown",
			   p->commit ? "transaction" : "statement"),
		"%s was sent and not answered; the last one asked, node "
		"%u, %s.",
		p->commit ? "It" : "A write", p->aim.asked,
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
	if (p->earlier)
		gw_call_abandon(p->earlier, NULL);
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
		ps[i].aim = (struct gw_aim){0};
		ps[i].earlier = NULL;
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
