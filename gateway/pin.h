/* The partition of BEGIN ATOMIC PARTITION (column = literal, ...), and what of
 * a table lies in it. */
#ifndef GATEWAY_PIN_H
#define GATEWAY_PIN_H

#include "sql/sql.h"

struct gw_pin {
	struct str column;
	struct val value; /* EX_UNKNOWN: a string without a type */
};
struct gw_pins {
	uint32_t n;
	const struct gw_pin *items;
	const char *text; /* tenant_id = 't1', ... */
};

/* In `a`, with copies of all that it needs. 22004 for NULL, 42701 for a column
 * named twice, 0A000 for parameters. */
struct err *gw_pins_new(struct arena *a, const struct sql_env *env,
    const struct sql_transaction *t, struct gw_pins **out);

/* A table's rows in the partition: those whose key begins with `prefix`. In an
 * open table a condition also looks for equal values that are stored with
 * another type; their rows are in other partitions, and are not seen. */
struct gw_pinned {
	const struct cl_table *t;
	struct str prefix;
	uint32_t n_equal;
	const struct str *equal;
	struct gw_pinned *next;
};

/* 25000 when the table is not distributed by the pinned columns, or cannot have
 * such values. */
struct err *gw_pins_table(const struct gw_pins *pins, struct arena *a,
    const struct sql_env *env, const struct cl_table *t,
    struct gw_pinned **out);
/* 25000 unless all of it lies in the partition. */
struct err *gw_pins_reach(const struct gw_pins *pins, struct arena *a,
    const struct gw_pinned *p, const struct sql_bounds *what);
/* 25000 for a row that does not. */
struct err *gw_pins_row(const struct gw_pins *pins, struct arena *a,
    const struct gw_pinned *p, struct str key);

#endif
