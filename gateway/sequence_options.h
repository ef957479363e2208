/* The options of CREATE and ALTER SEQUENCE, and of identity columns. */
#ifndef GATEWAY_SEQUENCE_OPTIONS_H
#define GATEWAY_SEQUENCE_OPTIONS_H

#include "cluster/catalog.h"
#include "sql/sql.h"

enum gw_limit_how { GW_LIMIT_KEEP, GW_LIMIT_NONE, GW_LIMIT_SET };
enum gw_owned_how { GW_OWNED_KEEP, GW_OWNED_NONE, GW_OWNED_BY };

struct gw_seq_options {
	uint32_t type; /* 0: not said */
	enum gw_limit_how min_how, max_how;
	int64_t min, max;
	bool has_increment, has_start, has_cache, has_cycle;
	int64_t increment, start, cache;
	bool cycle;
	bool restart; /* RESTART [WITH] */
	bool has_restart_value;
	int64_t restart_value;
	enum gw_owned_how owned;
	struct sql_name table; /* OWNED BY table.column */
	const char *column;
};

/* 42601 for an option given twice; 22023, 22003, 22P02 for bad values. */
struct err *gw_seq_options_read(struct arena *a, const struct sql_options *in,
    bool identity, struct gw_seq_options *out);
/* Changes the definition by them; `is_new`: what is not said gets its default,
 * and `type` is the one meant already. 22023 when they do not fit. */
struct err *gw_seq_options_apply(struct arena *a,
    const struct gw_seq_options *o, bool is_new, struct cl_sequence *q);
/* Where RESTART puts it; checks that it, or `now` without RESTART, is within
 * the limits. */
struct err *gw_seq_options_restart(struct arena *a,
    const struct gw_seq_options *o, const struct cl_sequence *q, int64_t *now);

#endif
