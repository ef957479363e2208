#include "gateway/stmt.h"

#include "base/fiber.h"
#include "gateway/worker.h"

/* Pauses between tries of something refused: doubling, with jitter. */
#define RETRY_MIN_US 4000u
#define RETRY_MAX_US 500000u
/* How long a statement computes before others have a turn. */
#define TURN_US 2000u

void
gw_ops_init(struct gw_ops *ops, struct gw_worker *w)
{
	*ops = (struct gw_ops){0};
	world_random(w->world, ops->session, sizeof ops->session);
	ops->block_used = GW_HIDDEN_BLOCK;
}

void
gw_stmt_begin(struct gw_stmt *s, struct gw_worker *w, struct gw_ops *ops,
    const struct cl_catalog *catalog, uint64_t timeout_us)
{
	uint64_t now = world_mono_us(w->world);

	s->worker = w;
	s->ops = ops;
	s->catalog = catalog;
	s->end_us = timeout_us ? now + timeout_us : WORLD_FOREVER;
	gw_stmt_progress(s);
	s->yield_us = now + TURN_US;
	s->consistency = CL_QUORUM;
	s->trace = NULL;
	s->stale = false;
	s->applied = 0;
	/* A block belongs to one statement, so that its rows meet. */
	ops->block_used = GW_HIDDEN_BLOCK;
}

void
gw_stmt_progress(struct gw_stmt *s)
{
	const struct gw_worker *w = s->worker;

	ASSERT(w->conf->statement_timeout_us > 0);
	s->deadline_us =
	    world_mono_us(w->world) + w->conf->statement_timeout_us;
	if (s->deadline_us > s->end_us)
		s->deadline_us = s->end_us;
}

bool
gw_stmt_cancelled(const struct gw_stmt *s)
{
	const struct fiber *self = fiber_self();

	return (s->cancel && *s->cancel) || (self && fiber_cancelled(self));
}

static struct err *
cancelled_error(struct arena *a)
{
	return ERR(a, ERRCODE_QUERY_CANCELED,
	    "canceling statement due to user request");
}

/* statement_timeout, or what the gateway allows. */
static struct err *
late_error(const struct gw_stmt *s, struct arena *a)
{
	uint64_t us = s->worker->conf->statement_timeout_us;

	if (world_mono_us(s->worker->world) >= s->end_us)
		return ERR(a, ERRCODE_QUERY_CANCELED,
		    "canceling statement due to statement timeout");
	return ERR(a, ERRCODE_QUERY_CANCELED,
	    "canceling statement: it did not get ahead for %u seconds",
	    (unsigned)(us / 1000000));
}

struct err *
gw_stmt_check(struct gw_stmt *s, struct arena *a)
{
	if (gw_stmt_cancelled(s))
		return cancelled_error(a);
	if (world_mono_us(s->worker->world) >= s->deadline_us)
		return late_error(s, a);
	return NULL;
}

struct err *
gw_stmt_breathe(struct gw_stmt *s, struct arena *a)
{
	struct world *w = s->worker->world;

	if (world_mono_us(w) >= s->yield_us) {
		fiber_yield(w);
		s->yield_us = world_mono_us(w) + TURN_US;
	}
	return gw_stmt_check(s, a);
}

struct err *
gw_stmt_unreached(struct gw_stmt *s, struct arena *a, const char *why)
{
	if (gw_stmt_cancelled(s))
		return cancelled_error(a);
	if (world_mono_us(s->worker->world) >= s->end_us)
		return err_detail(late_error(s, a), "%s", why);
	return err_hint(err_detail(ERR(a, ERRCODE_CANNOT_CONNECT_NOW,
				       "the data could not be reached in time"),
			    "%s", why),
	    "Nothing was changed by this part of the statement; try again.");
}

const char *
gw_stmt_at_node(struct arena *a, uint32_t member, const char *why)
{
	return member ? arena_printf(a, "Node %u: %s.", member, why)
		      : arena_strdup(a, why);
}

uint64_t
gw_stmt_retry_at(struct gw_stmt *s, unsigned n)
{
	struct world *w = s->worker->world;
	uint64_t step = RETRY_MIN_US;

	for (unsigned i = 1; i < n && step < RETRY_MAX_US; i++)
		step *= 2;
	if (step > RETRY_MAX_US)
		step = RETRY_MAX_US;
	return world_mono_us(w) + step / 2 +
	       world_random_below(w, step / 2 + 1);
}

bool
gw_stmt_backoff(struct gw_stmt *s, unsigned n)
{
	struct world *w = s->worker->world;
	uint64_t at = gw_stmt_retry_at(s, n);

	if (world_mono_us(w) >= s->deadline_us)
		return false;
	gw_catalog_refresh(s->worker->catalog);
	if (at > s->deadline_us)
		at = s->deadline_us;
	return fiber_sleep(w, at) == WAKE_DEADLINE;
}
