#include "gateway/propose.h"

#include "base/mutate.h"

/* No send can have been proposed. */
static bool
op_nothing_out(const struct gw_op *op)
{
	ASSERT(op->refused <= op->sends);
	if (mutate("refused_is_failed"))
		return true;
	return op->refused == op->sends;
}

void
gw_op_sent(struct gw_op *op)
{
	op->sends++;
}

/* An end for which nothing may be out: otherwise the next send, which finds
 * the earlier one's result, has to tell. */
static enum gw_action
step_end(struct gw_op *op, enum gw_action end)
{
	return op_nothing_out(op) ? end : GW_DO_PAUSE;
}

static enum gw_action
step_refused(struct gw_op *op, const struct gw_event *ev)
{
	op->refused++;
	switch (ev->reason) {
	case CL_REFUSE_DEADLINE:
		/* Refused by every later send too. */
		return op_nothing_out(op) ? GW_END_FAILED : GW_END_LOST;
	case CL_REFUSE_ANSWERED:
	case CL_REFUSE_FULL:
		return step_end(op, GW_END_FAILED);
	case CL_REFUSE_DROPPED:
		/* By every later send too. */
		return op_nothing_out(op) ? GW_END_STALE : GW_END_LOST;
	case CL_REFUSE_CATALOG:
		if (ev->stale)
			return step_end(op, GW_END_STALE);
		break;
	case CL_REFUSE_NONE:
	case CL_REFUSE_EPOCH:
	case CL_REFUSE_LEADER:
	case CL_REFUSE_CLOCK:
	case CL_REFUSE_BUSY:
	case CL_REFUSE_STOPPING:
	case CL_REFUSE_INDEX: /* of scans */
		break;
	}
	return GW_DO_PAUSE;
}

static enum gw_action
step_fail(struct gw_op *op, bool proposed)
{
	if (proposed)
		return GW_DO_PAUSE;
	op->refused++;
	return step_end(op, GW_END_FAILED);
}

enum gw_action
gw_propose_step(struct gw_op *op, const struct gw_event *ev)
{
	switch (ev->kind) {
	case GW_EVENT_START:
		return GW_DO_SEND;
	case GW_EVENT_NOT_SENT:
		ASSERT(op->sends > op->refused);
		op->sends--;
		return GW_DO_PAUSE;
	case GW_EVENT_LOST:
	case GW_EVENT_UNKNOWN:
		return GW_DO_PAUSE;
	case GW_EVENT_APPLIED:
		return GW_END_APPLIED;
	case GW_EVENT_FALSE:
		/* Of the last send, since answers to earlier ones are not
		 * listened to: an entry, if there were earlier ones. */
		return GW_END_FALSE;
	case GW_EVENT_REFUSED:
		return step_refused(op, ev);
	case GW_EVENT_FAIL:
		return step_fail(op, ev->proposed);
	case GW_EVENT_DEADLINE:
	case GW_EVENT_CANCEL:
		return op_nothing_out(op) ? GW_END_FAILED : GW_END_LOST;
	}
	UNREACHABLE();
}

const char *
gw_refusal_text(enum cl_refusal r)
{
	switch (r) {
	case CL_REFUSE_NONE:
		return "refused without a reason";
	case CL_REFUSE_EPOCH:
		return "does not serve this slot, or serves another epoch of "
		       "it";
	case CL_REFUSE_LEADER:
		return "does not lead this slot, or not yet";
	case CL_REFUSE_CATALOG:
		return "has a newer catalog";
	case CL_REFUSE_DEADLINE:
		return "got the request too late";
	case CL_REFUSE_CLOCK:
		return "has a clock that differs too much";
	case CL_REFUSE_FULL:
		return "is out of disk space";
	case CL_REFUSE_BUSY:
		return "is overloaded";
	case CL_REFUSE_STOPPING:
		return "is stopping";
	case CL_REFUSE_ANSWERED:
		return "was told that this operation is over";
	case CL_REFUSE_DROPPED:
		return "no longer has this table";
	case CL_REFUSE_INDEX:
		return "has not filled in the index yet";
	}
	return "refused for a reason unknown to this version";
}
