/* What COPY's options say. */
#ifndef GATEWAY_COPY_OPTIONS_H
#define GATEWAY_COPY_OPTIONS_H

#include "sql/sql.h"
#include "wire/copy.h"

/* Reads the options of a COPY over columns with these names (flags by position
 * live in `a`). PostgreSQL's checks and messages; binary is 0A000. */
struct err *gw_copy_options(struct arena *a, const struct sql_copy *copy,
    const char *const *columns, uint32_t n_columns, struct wire_copy_opts *out);

#endif
