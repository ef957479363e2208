/* A catalog change: the conditions and writes of one proposal to the catalog
 * group, built against one snapshot.  Whatever the builder looked at is a
 * condition, so of two concurrent changes that touch one name or one object the
 * first wins and the second is told so (CL_FALSE), re-reads and decides again.
 *
 *   d = cl_ddl_new(a, catalog);
 *   cl_ddl_require(d, CL_SCHEMA, schema);
 *   t.id = cl_ddl_ids(d, 1);
 *   cl_ddl_create(d, &object);
 *   TRY(cl_ddl_propose(d, &propose));
 *
 * The first condition and the last write of a key count, so an object may be
 * created and replaced in one change. */
#ifndef CLUSTER_DDL_H
#define CLUSTER_DDL_H

#include "cluster/catalog.h"
#include "cluster/msg.h"

struct cl_ddl;

/* The builder holds a reference to the snapshot for as long as the arena lives.
 */
struct cl_ddl *cl_ddl_new(struct arena *a, struct cl_catalog *c);
/* The first of n new ids in a row: of databases, schemas, tables, roles; of
 * members; of placements. n 0 only touches the counter: what moves a thing into
 * a container does this (see cl_ddl_drop). 0 when used up, which
 * cl_ddl_propose reports. */
uint32_t cl_ddl_ids(struct cl_ddl *d, uint32_t n);
uint32_t cl_ddl_member_id(struct cl_ddl *d);
uint32_t cl_ddl_placement_id(struct cl_ddl *d);
/* A new object, under its name if it has one (cl_object_name): neither may
 * exist. Its `stamp`, `version` are not looked at. Copied at once. */
void cl_ddl_create(struct cl_ddl *d, const struct cl_object *o);
/* Replaces an object of the snapshot, or made in this change, if it is still
 * the one the snapshot holds; the name may be another (rename). */
void cl_ddl_replace(struct cl_ddl *d, const struct cl_object *o);
/* Removes an object of the snapshot and its name. Dropping what contains, owns
 * or serves others (database, schema, role, sequence) also requires that no id
 * was taken since the snapshot: what was made in it meanwhile took one. */
void cl_ddl_drop(struct cl_ddl *d, enum cl_kind kind, uint32_t id);
/* The object must still be the one the snapshot holds. */
void cl_ddl_require(struct cl_ddl *d, enum cl_kind kind, uint32_t id);
/* Fills group, conditions and writes (they live in the builder's arena) and
 * leaves the rest. 54000: ids used up, or an object beyond CL_VALUE_MAX. */
struct err *cl_ddl_propose(struct cl_ddl *d, struct cl_propose *p)
    __attribute__((warn_unused_result));

/* The first rows of a new cluster. */
struct cl_bootstrap {
	uint8_t cluster[16]; /* its id, random */
	uint32_t slots;
	uint32_t replication;
	uint32_t incarnation; /* of member 1 */
	struct str alias, addr, zone;
	struct str user; /* empty, or a superuser with a database of its name */
};
/* Counter, cluster, member 1, the catalog's placement (on member 1) and the
 * default one (slots not handed out), role postgres, database postgres with
 * schema public, and the user's. All keys must be absent; row stamps are 0. */
void cl_catalog_bootstrap(
    struct arena *a, const struct cl_bootstrap *how, struct cl_propose *p);

#endif
