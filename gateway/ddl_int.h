/* The loop that every catalog change runs in, and what the changes share. */
#ifndef GATEWAY_DDL_INT_H
#define GATEWAY_DDL_INT_H

#include "base/map.h"
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

/* The default placement, with its slots handed out: sequences live there. */
struct err *gw_place_default(struct gw_change *ch);
/* A name for what belongs to a table or column, as PostgreSQL makes it
 * (table_column_label): parts are cut so that it fits, a number makes it unlike
 * every other of the schema. `taken`: names given in this change, or NULL. */
#define GW_NAME_MAX 63
struct str gw_relation_name(struct gw_change *ch, uint32_t schema,
    struct str table, struct str column, const char *label,
    const struct map *taken);
/* The table's indexes go with it. */
void gw_drop_indexes(struct gw_change *ch, uint32_t table);
/* Sequences that go with what is dropped, and defaults that drew from one that
 * goes: 2BP01 unless they may. */
struct err *gw_drop_sequences(struct gw_change *ch, const struct gw_drop *d);

#endif
