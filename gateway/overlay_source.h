/* The table source (sql/source.h) of a statement in a transaction that keeps
 * its writes: reads show the cluster's rows with the transaction's own writes
 * laid over them, and writes go nowhere but into the overlay. */
#ifndef GATEWAY_OVERLAY_SOURCE_H
#define GATEWAY_OVERLAY_SOURCE_H

#include "gateway/overlay.h"
#include "gateway/pin.h"
#include "gateway/stmt.h"

/* As the transaction has it when the statement begins. */
struct gw_overlay_rules {
	const struct gw_pins *pins; /* NULL: rows of any partition */
	bool validate; /* UPDATE and DELETE: COMMIT asks for the stamp read */
	size_t bytes_max; /* transaction_size_limit; 0: none */
};

/* In `a`; it holds a reference to the overlay, and reads the state in which it
 * is now: what the statement itself writes is not seen by its reads. `env` and
 * `s` outlive it. */
struct sql_source *gw_overlay_source_new(struct arena *a, struct gw_stmt *s,
    struct gw_overlay *o, const struct gw_overlay_rules *rules,
    const struct sql_env *env);

#endif
