#include "gateway/transact.h"

#include "base/metrics.h"
#include "gateway/worker.h"

/* After a cancel, how long sends that left are followed up. */
#define CANCEL_GRACE_US 2000000u

/* One gw_transact_run. */
struct run {
	struct gw_stmt *stmt;
	struct arena *arena;
	struct world *world;
	struct gw_transact *c;
	struct cl_commit msg;
	struct cond wake;
	uint64_t limit_us; /* the statement's deadline, or sooner */
	bool cancelled;

	struct gw_op op;
	struct gw_aim aim; /* at which member of the first part's group */
	struct gw_peer *peer;
	struct gw_call *call; /* of the last send */
	uint64_t until_us; /* end of the pause, or of waiting for the answer */
	const char *why;   /* the last thing that went wrong */
	const char *sqlstate, *fail_hint;
};

/* ---- the message ---- */

static void
make_message(struct arena *a, const struct gw_transact *c, struct cl_commit *m)
{
	m->parts = NEW_N(a, struct cl_part_head, c->n_parts);
	m->n_parts = c->n_parts;
	for (uint32_t i = 0; i < c->n_parts; i++) {
		m->n_conds += c->parts[i].n_conds;
		m->n_writes += c->parts[i].n_writes;
	}
	m->conds = NEW_N(a, struct cl_cond, m->n_conds + 1);
	m->writes = NEW_N(a, struct cl_write, m->n_writes + 1);
	m->n_conds = m->n_writes = 0;
	for (uint32_t i = 0; i < c->n_parts; i++) {
		const struct gw_transact_part *p = &c->parts[i];

		m->parts[i] = (struct cl_part_head){
		    p->placement, p->slot, 0, p->n_conds, p->n_writes};
		for (uint32_t k = 0; k < p->n_conds; k++)
			m->conds[m->n_conds++] = p->conds[k];
		for (uint32_t k = 0; k < p->n_writes; k++)
			m->writes[m->n_writes++] = p->writes[k];
	}
}

static size_t
size_of(const struct cl_commit *m)
{
	return cl_msg_size(CL_MSG_COMMIT, m) + 64; /* its ids come later */
}

bool
gw_transact_fits(struct arena *a, const struct gw_transact *c)
{
	struct cl_commit m = {.n_parts = 0};

	make_message(a, c, &m);
	return m.n_parts <= CL_PARTS_MAX && m.n_conds <= CL_CONDS_MAX &&
	       m.n_writes <= CL_WRITES_MAX && size_of(&m) <= CL_BODY_MAX;
}

/* 54000, and nothing was sent. */
static bool
is_too_large(struct run *r)
{
	size_t bytes = size_of(&r->msg);

	if (bytes <= CL_BODY_MAX)
		return false;
	r->c->outcome = GW_END_FAILED;
	r->c->err = ERR(r->arena, ERRCODE_PROGRAM_LIMIT_EXCEEDED,
	    "a transaction over several slots of %zu bytes is too large",
	    bytes);
	return true;
}

/* Epochs follow the slot map; false: the catalog has no such group. */
static bool
set_epochs(struct run *r)
{
	const struct cl_catalog *now = gw_catalog_now(r->stmt->worker->catalog);
	struct gw_route to;

	for (uint32_t i = 0; i < r->msg.n_parts; i++) {
		struct cl_part_head *h = &r->msg.parts[i];

		if (!gw_route_slot(now, h->placement, h->slot, &to))
			return false;
		h->epoch = to.epoch;
	}
	return true;
}

static bool
route(const struct run *r, struct gw_route *out)
{
	return gw_route_slot(gw_catalog_now(r->stmt->worker->catalog),
	    r->msg.parts[0].placement, r->msg.parts[0].slot, out);
}

/* Deadline and age are fixed at the first send: every send states the same. */
static void
set_ids(struct run *r)
{
	struct gw_ops *ops = r->stmt->ops;
	struct gw_clock *clock = gw_peers_clock(r->stmt->worker->peers);
	uint64_t now = world_mono_us(r->world);
	uint64_t left = r->limit_us > now ? r->limit_us - now : 0;

	r->msg.session = str_of(ops->session, sizeof ops->session);
	r->msg.sequence = ++ops->sequence;
	r->msg.deadline = gw_clock_deadline(clock, now, left);
	/* Of the same age as another, each would give way to the other. */
	r->msg.age = r->c->age ? r->c->age
			       : gw_clock_now(clock, now) +
				     world_random_below(r->world, 1u << 16);
}

/* ---- sending ---- */

/* Not sent after all: why says what is missing. */
static void
call_none(struct gw_call *c, const char *why)
{
	c->kind = CL_MSG_COMMIT;
	c->state = GW_CALL_DONE;
	c->result = GW_NOT_SENT;
	c->why = why;
}

static const char *
peer_why(const struct run *r)
{
	const char *why = gw_peer_why(r->peer);

	return why ? arena_strdup(r->arena, why) : "cannot be reached";
}

/* The peer of the member whose turn it is; false: nobody. */
static bool
take_aim(struct run *r, bool *others)
{
	struct gw_worker *w = r->stmt->worker;
	struct gw_route to;

	*others = false;
	r->peer = NULL;
	if (!set_epochs(r) || !route(r, &to))
		return false;
	r->peer = gw_peers_member(w->peers, gw_catalog_now(w->catalog),
	    gw_aim_at(&r->aim, w->leaders, &to));
	*others = to.n > 1;
	return r->peer != NULL;
}

static void
send_one(struct run *r)
{
	uint64_t wait = r->stmt->worker->conf->answer_us
			<< (r->op.sends < 3 ? r->op.sends : 3);
	bool others, there = take_aim(r, &others);

	gw_op_sent(&r->op);
	r->msg.send = r->op.sends;
	if (r->op.sends == 1 && !r->msg.sequence)
		set_ids(r);
	if (r->op.sends > 1)
		metric_inc(M_GW_RESENDS);
	r->call = NEW(r->arena, struct gw_call);
	*r->call = (struct gw_call){.arena = r->arena, .wake = &r->wake};
	r->until_us = world_mono_us(r->world) + wait;
	if (!there)
		call_none(r->call, "the catalog knows no node for the slot");
	else if (others && gw_peer_lost(r->peer, CL_MSG_COMMIT))
		call_none(r->call, peer_why(r));
	else
		gw_call_begin(r->peer, r->call, CL_MSG_COMMIT, &r->msg);
}

/* ---- what happened ---- */

/* A table that it names by version has another one by now. */
static bool
is_stale(const struct run *r)
{
	const struct cl_catalog *now = gw_catalog_now(r->stmt->worker->catalog);

	for (uint32_t i = 0; i < r->msg.n_conds; i++) {
		const struct cl_cond *c = &r->msg.conds[i];
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
event_answer(struct run *r, struct gw_event *ev)
{
	const struct cl_proposed *m = r->call->reply;

	r->c->answer = m;
	switch ((enum cl_outcome)m->outcome) {
	case CL_APPLIED:
		ev->kind = GW_EVENT_APPLIED;
		break;
	case CL_FALSE:
		ev->kind = GW_EVENT_FALSE;
		break;
	case CL_REFUSED:
		metric_inc(M_GW_REFUSED);
		ev->kind = GW_EVENT_REFUSED;
		ev->reason = (enum cl_refusal)m->reason;
		ev->stale = is_stale(r);
		r->why = gw_refusal_text(ev->reason);
		if (ev->reason == CL_REFUSE_FULL)
			r->sqlstate = ERRCODE_DISK_FULL;
		if (ev->reason == CL_REFUSE_DROPPED)
			r->sqlstate = ERRCODE_UNDEFINED_TABLE;
		break;
	case CL_UNKNOWN:
		ev->kind = GW_EVENT_UNKNOWN;
		r->why = "lost the group while the transaction was under way";
		break;
	default:
		r->why = "answered with an unknown outcome";
	}
}

static struct gw_event
event_of_call(struct run *r)
{
	struct gw_event ev = {.kind = GW_EVENT_LOST};
	const struct cl_fail *f = r->call->failure;

	r->sqlstate = r->fail_hint = NULL;
	if (r->call->why)
		r->why = r->call->why;
	if (r->call->result == GW_NOT_SENT) {
		ev.kind = GW_EVENT_NOT_SENT;
	} else if (r->call->result == GW_FAILED) {
		ev.kind = GW_EVENT_FAIL;
		ev.proposed = f->proposed;
		r->sqlstate = f->sqlstate.len == 5
				  ? arena_cstr(r->arena, f->sqlstate)
				  : ERRCODE_INTERNAL_ERROR;
		r->fail_hint =
		    f->hint.len ? arena_cstr(r->arena, f->hint) : NULL;
	} else if (r->call->result == GW_OK &&
		   r->call->reply_kind == CL_MSG_PROPOSED) {
		event_answer(r, &ev);
	} else if (r->call->result == GW_OK) {
		r->why = "answered with a message of another kind";
	}
	return ev;
}

/* What the end of a send says about where to go; true: at once. */
static bool
turn(struct run *r)
{
	struct gw_leaders *l = r->stmt->worker->leaders;
	const struct gw_call *c = r->call;
	const struct cl_proposed *m = c ? c->reply : NULL;
	struct gw_route to;

	if (!r->peer || !c || c->result == GW_FAILED || !route(r, &to)) {
		gw_aim_wait(&r->aim);
		return false;
	}
	if (c->result != GW_OK)
		return gw_aim_missed(
		    &r->aim, l, &to, gw_peer_lost(r->peer, CL_MSG_COMMIT));
	if (c->reply_kind == CL_MSG_PROPOSED &&
	    (m->outcome == CL_UNKNOWN ||
		(m->outcome == CL_REFUSED &&
		    (m->reason == CL_REFUSE_LEADER ||
			m->reason == CL_REFUSE_EPOCH ||
			m->reason == CL_REFUSE_STOPPING))))
		return gw_aim_refused(&r->aim, l, &to, m->leader);
	gw_aim_wait(&r->aim);
	return false;
}

/* ---- waiting ---- */

static void
wait_until(struct run *r, uint64_t until)
{
	struct world *w = r->world;

	if (cond_wait(&r->wake, until) != WAKE_CANCEL)
		return;
	/* Deaf from here on, or the wait would never wait. */
	fiber_uncancel(fiber_self());
	r->cancelled = true;
	if (world_mono_us(w) + CANCEL_GRACE_US < r->limit_us)
		r->limit_us = world_mono_us(w) + CANCEL_GRACE_US;
}

/* Nobody listens to a send that stays without an answer: once there is another,
 * only that one's answer counts. */
static struct gw_event
wait_answer(struct run *r)
{
	while (r->call->state != GW_CALL_DONE) {
		uint64_t now = world_mono_us(r->world);

		if (now >= r->until_us || now >= r->limit_us)
			gw_call_abandon(r->call, "did not answer in time");
		else if (r->cancelled && r->call->state == GW_CALL_WAITING)
			gw_call_abandon(r->call, "cancelled");
		else
			wait_until(r, r->until_us < r->limit_us ? r->until_us
								: r->limit_us);
	}
	return event_of_call(r);
}

static struct gw_event
wait_pause(struct run *r)
{
	struct gw_event ev = {.kind = GW_EVENT_START};

	gw_catalog_refresh(r->stmt->worker->catalog);
	r->until_us = world_mono_us(r->world);
	if (!turn(r))
		r->until_us = gw_stmt_retry_at(r->stmt, gw_aim_pace(&r->aim));
	for (;;) {
		uint64_t now = world_mono_us(r->world);

		if (now >= r->limit_us)
			ev.kind = GW_EVENT_DEADLINE;
		else if (r->cancelled && r->op.refused == r->op.sends)
			ev.kind = GW_EVENT_CANCEL;
		else if (now < r->until_us) {
			wait_until(r, r->until_us < r->limit_us ? r->until_us
								: r->limit_us);
			continue;
		}
		return ev;
	}
}

/* ---- ends ---- */

static struct err *
failed(struct run *r)
{
	struct err *e;

	if (r->cancelled || !r->sqlstate)
		return gw_stmt_unreached(r->stmt, r->arena,
		    gw_stmt_at_node(r->arena, r->aim.asked, r->why));
	e = ERR(r->arena, r->sqlstate, "node %u: %s", r->aim.asked, r->why);
	return r->fail_hint ? err_hint(e, "%s", r->fail_hint) : e;
}

static struct err *
stale(struct run *r)
{
	r->stmt->stale = true;
	if (r->sqlstate)
		return ERR(r->arena, r->sqlstate,
		    "the table was dropped while the statement ran");
	return err_hint(ERR(r->arena, ERRCODE_SERIALIZATION_FAILURE,
			    "the table was changed while the statement ran"),
	    "Run the statement again.");
}

static struct err *
lost(struct run *r)
{
	const char *state = r->c->unknown_sqlstate
				? r->c->unknown_sqlstate
				: ERRCODE_STATEMENT_COMPLETION_UNKNOWN;

	metric_inc(M_GW_OUTCOMES_UNKNOWN);
	return err_hint(
	    err_detail(ERR(r->arena, state,
			   "the outcome of the transaction is unknown"),
		"It was sent and not answered; the last one asked, node %u, "
		"%s.",
		r->aim.asked, r->why ? r->why : "did not answer in time"),
	    "It may have been applied: look before running it again.");
}

static void
conclude(struct run *r, enum gw_action act)
{
	struct gw_transact *c = r->c;
	struct gw_route to;

	c->outcome = act;
	if (act == GW_END_FAILED)
		c->err = failed(r);
	else if (act == GW_END_STALE)
		c->err = stale(r);
	else if (act == GW_END_LOST)
		c->err = lost(r);
	else if (route(r, &to))
		gw_aim_served(&r->aim, r->stmt->worker->leaders, &to);
}

void
gw_transact_run(struct gw_stmt *s, struct arena *a, struct gw_transact *c)
{
	struct world *w = s->worker->world;
	struct run r = {.stmt = s,
	    .arena = a,
	    .world = w,
	    .c = c,
	    .limit_us = s->deadline_us,
	    .why = "was not reached"};
	struct gw_event ev = {.kind = GW_EVENT_START};
	uint64_t begun = world_mono_us(w);
	enum gw_action act;

	ASSERT(s->deadline_us != WORLD_FOREVER && c->n_parts);
	cond_init(&r.wake, w);
	r.cancelled = gw_stmt_cancelled(s);
	r.msg.answered = s->ops->sequence + 1;
	c->answer = NULL;
	c->err = NULL;
	make_message(r.arena, r.c, &r.msg);
	if (is_too_large(&r))
		return;
	while ((act = gw_propose_step(&r.op, &ev)) < GW_END_APPLIED) {
		if (act == GW_DO_SEND) {
			send_one(&r);
			ev = wait_answer(&r);
		} else {
			ev = wait_pause(&r);
		}
	}
	conclude(&r, act);
	if (r.cancelled)
		fiber_cancel(fiber_self());
	metric_time(M_GW_PROPOSE_TIME, world_mono_us(w) - begun);
}
