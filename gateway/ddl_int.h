/* The loop that every catalog change runs in, and what the changes share. */
#ifndef GATEWAY_DDL_INT_H
#define GATEWAY_DDL_INT_H

#include "cluster/ddl.h"
#include "gateway/ddl.h"

/* One try: the newest catalog, and the builder against it. */
struct gw_change {
	struct gw_stmt *stmt;
	struct arena *arena; /* of the error and the result */
	struct arena *own;   /* of this try */
	struct cl_catalog *catalog;
	struct cl_ddl *ddl;
	bool nothing; /* there is nothing to change */
};

struct err *gw_change_run(struct gw_stmt *s, struct arena *a,
    struct err *(*decide)(struct gw_change *ch, void *arg), void *arg);

#endif
