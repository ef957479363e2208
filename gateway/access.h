/* Who may do what: a superuser everything; everybody else what they own, since
 * there is no GRANT yet. Errors are 42501 in PostgreSQL's words. */
#ifndef GATEWAY_ACCESS_H
#define GATEWAY_ACCESS_H

#include "gateway/stmt.h"

/* Rows of the table, read or written. */
struct err *gw_may_use(
    const struct gw_stmt *s, struct arena *a, const struct cl_table *t);
/* Values of the sequence. */
struct err *gw_may_draw(
    const struct gw_stmt *s, struct arena *a, const struct cl_sequence *q);
/* DROP and ALTER. `what` is "table", "schema" or "database". */
struct err *gw_must_own(const struct gw_stmt *s, struct arena *a,
    uint32_t owner, const char *what, struct str name);
/* Making things in a database is its owner's: schemas (schema empty), or
 * tables in one of its schemas. */
struct err *gw_may_create(const struct gw_stmt *s, struct arena *a,
    uint32_t database, struct str schema);
struct err *gw_may_create_database(const struct gw_stmt *s, struct arena *a);

#endif
