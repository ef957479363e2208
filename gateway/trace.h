/* What a statement asked of which node, when its session wants to see it
 * (skaidb.trace): one line per request, said when the statement ends. */
#ifndef GATEWAY_TRACE_H
#define GATEWAY_TRACE_H

#include "gateway/peer.h"

struct gw_trace;

/* Spans kept of one statement; the others are only counted. */
#define GW_TRACE_MAX 100u

/* One request, when its end is known. Nothing happens with trace NULL. */
struct gw_span {
	const struct gw_call *call;
	uint64_t begun_us;
	uint32_t node;      /* 0: none was known */
	uint32_t placement; /* of one group, */
	uint32_t slot;
	uint32_t n_slots; /* or of so many, when not 1 */
};

struct gw_trace *gw_trace_new(struct arena *a, struct world *w);
void gw_trace_add(struct gw_trace *t, const struct gw_span *span);
/* Calls say for each line, then forgets them. */
void gw_trace_tell(
    struct gw_trace *t, void (*say)(void *arg, struct err *e), void *arg);

#endif
