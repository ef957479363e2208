#include "gateway/trace.h"

#include "base/buf.h"
#include "base/world.h"
#include "gateway/propose.h"

struct gw_trace {
	struct arena *arena; /* of the lines */
	struct world *world;
	const char *lines[GW_TRACE_MAX];
	uint32_t n;
	uint64_t more;
};

struct gw_trace *
gw_trace_new(struct arena *a, struct world *w)
{
	struct gw_trace *t = NEW(a, struct gw_trace);

	t->arena = arena_new(a, "trace");
	t->world = w;
	return t;
}

static const char *
kind_text(uint16_t kind)
{
	switch (kind) {
	case CL_MSG_PROPOSE:
		return "propose to";
	case CL_MSG_READ:
		return "read from";
	case CL_MSG_SCAN:
		return "scan at";
	case CL_MSG_SCAN_MORE:
		return "more of scan at";
	case CL_MSG_SCAN_INDEX:
		return "scan by index at";
	default:
		return "request to";
	}
}

static void
put_where(struct buf *b, const struct gw_span *s)
{
	if (s->node)
		buf_printf(b, "node %u", s->node);
	else
		buf_printf(b, "no node");
	if (s->n_slots != 1)
		buf_printf(b, " %u slots", s->n_slots);
	else if (s->placement == CL_PLACEMENT_CATALOG)
		buf_printf(b, " catalog");
	else
		buf_printf(b, " slot %u", s->slot);
	if (s->placement != CL_PLACEMENT_CATALOG &&
	    s->placement != CL_PLACEMENT_DEFAULT)
		buf_printf(b, " of placement %u", s->placement);
}

static void
put_refused(struct buf *b, uint8_t reason, uint32_t leader)
{
	buf_printf(
	    b, "refused, it %s", gw_refusal_text((enum cl_refusal)reason));
	if (leader)
		buf_printf(b, " (node %u leads)", leader);
}

static void
put_proposed(struct buf *b, const struct cl_proposed *m)
{
	switch ((enum cl_outcome)m->outcome) {
	case CL_APPLIED:
		buf_printf(b, "applied");
		break;
	case CL_FALSE:
		buf_printf(b, "condition false");
		break;
	case CL_REFUSED:
		put_refused(b, m->reason, m->leader);
		break;
	case CL_UNKNOWN:
		buf_printf(b, "unknown, it lost the group");
		break;
	default:
		buf_printf(b, "answered with an unknown outcome");
	}
}

static void
put_rows(struct buf *b, uint32_t n)
{
	buf_printf(b, n == 1 ? "%u row" : "%u rows", n);
}

static uint32_t
one_leader(const struct cl_group_at *at, uint32_t n)
{
	return n == 1 ? at[0].leader : 0;
}

static void
put_answer(struct buf *b, const struct gw_call *c)
{
	const struct cl_rows *rows = c->reply;
	const struct cl_page *page = c->reply;

	switch (c->reply_kind) {
	case CL_MSG_PROPOSED:
		put_proposed(b, c->reply);
		break;
	case CL_MSG_ROWS:
		if (rows->reason)
			put_refused(b, rows->reason,
			    one_leader(rows->elsewhere, rows->n_elsewhere));
		else
			put_rows(b, rows->n_rows);
		break;
	case CL_MSG_PAGE:
		if (page->reason)
			put_refused(b, page->reason,
			    one_leader(page->elsewhere, page->n_elsewhere));
		else if (page->count)
			buf_printf(
			    b, "%llu counted", (unsigned long long)page->count);
		else
			put_rows(b, page->n_rows);
		break;
	default:
		buf_printf(b, "answered with a message of another kind");
	}
}

static void
put_outcome(struct buf *b, const struct gw_call *c)
{
	const char *why = c->why ? c->why : "given up";

	switch (c->result) {
	case GW_OK:
		put_answer(b, c);
		break;
	case GW_NOT_SENT:
		buf_printf(b, "not sent, %s", why);
		break;
	case GW_UNKNOWN:
		buf_printf(b, "no answer, %s", why);
		break;
	case GW_FAILED:
		buf_printf(b, "failed, %s", why);
		break;
	}
}

void
gw_trace_add(struct gw_trace *t, const struct gw_span *span)
{
	struct buf b;
	uint64_t us;

	if (!t)
		return;
	ASSERT(span->call->state == GW_CALL_DONE);
	if (t->n == GW_TRACE_MAX) {
		t->more++;
		return;
	}
	us = world_mono_us(t->world) - span->begun_us;
	buf_init(&b, t->arena);
	buf_printf(&b, "trace: %s ", kind_text(span->call->kind));
	put_where(&b, span);
	buf_printf(&b, ": ");
	put_outcome(&b, span->call);
	buf_printf(&b, " in %llu.%llu ms", (unsigned long long)(us / 1000),
	    (unsigned long long)(us % 1000 / 100));
	t->lines[t->n++] = buf_cstr(&b);
}

static struct err *
notice(struct arena *a, const char *text)
{
	struct err *e = ERR(a, ERRCODE_SUCCESSFUL_COMPLETION, "%s", text);

	e->severity = ERR_NOTICE;
	return e;
}

void
gw_trace_tell(
    struct gw_trace *t, void (*say)(void *arg, struct err *e), void *arg)
{
	if (!t)
		return;
	for (uint32_t i = 0; i < t->n; i++)
		say(arg, notice(t->arena, t->lines[i]));
	if (t->more)
		say(arg, notice(t->arena,
			     arena_printf(t->arena, "trace: ... and %llu more",
				 (unsigned long long)t->more)));
	arena_reset(t->arena);
	t->n = 0;
	t->more = 0;
}
