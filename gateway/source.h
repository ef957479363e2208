/* The table source (sql/source.h) over the cluster, for one statement. */
#ifndef GATEWAY_SOURCE_H
#define GATEWAY_SOURCE_H

#include "gateway/stmt.h"
#include "sql/source.h"

/* In `a`; both it and the statement outlive the source and its scans. */
struct sql_source *gw_source_new(struct arena *a, struct gw_stmt *s);

#endif
