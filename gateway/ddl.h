/* Catalog changes.  Each is decided against the newest catalog, proposed as one
 * entry with everything it looked at as conditions (cluster/ddl.h), decided
 * anew when another change came first, and done only once this worker's own
 * catalog shows it.  All wait, in the session's fiber, within the statement's
 * deadline; errors live in `a`. */
#ifndef GATEWAY_DDL_H
#define GATEWAY_DDL_H

#include "gateway/sequence_options.h"
#include "gateway/stmt.h"
#include "sql/sql.h"

/* A table's id is followed by those of what belongs to it: row type, array
 * type, and primary key (its index and its constraint). */
#define GW_TABLE_IDS 4u

/* A sequence made with a table, for one of its columns: serial or identity. Its
 * name, when empty, is made of theirs; the column draws from it by default. */
struct gw_column_sequence {
	uint32_t column; /* position */
	struct cl_sequence def;
};

struct gw_table_def {
	uint32_t schema;
	uint32_t owner; /* role */
	struct str name;
	bool open;
	bool if_not_exists;
	/* Ids are 1, 2, ... by position. Without a primary key (n_pkey 0) the
	 * two hidden columns are added in front. */
	const struct cl_column *columns;
	uint32_t n_columns;
	const uint32_t *pkey; /* column ids, in key order */
	uint32_t n_pkey;
	const struct gw_column_sequence *sequences;
	uint32_t n_sequences;
	const uint32_t *uses; /* sequences that defaults draw from */
	uint32_t n_uses;
	struct str pkey_name;  /* empty: NAME_pkey */
	uint32_t n_distribute; /* leading key columns; 0 = all */
	/* Placement: at most one of the two. */
	uint32_t replication;    /* 0: the cluster's; 1 */
	const struct str *nodes; /* aliases or member ids */
	uint32_t n_nodes;
};
/* 42P07 when the name is taken (*created false with if_not_exists), 3F000 when
 * the schema is gone, 42704 for an unknown node, 0A000 for several copies of
 * its own. */
struct err *gw_ddl_create_table(struct gw_stmt *s, struct arena *a,
    const struct gw_table_def *def, bool *created);

/* Drops objects of one kind, all or none. One that is gone by now is an error,
 * or left out with if_exists. A schema, role or sequence that others depend on
 * is 2BP01; with cascade a schema goes with its tables, and columns lose a
 * default that draws from a sequence that goes. A database goes with all that
 * is in it, a table with its indexes and the sequences it owns. */
struct gw_drop {
	enum cl_kind kind; /* CL_TABLE, CL_INDEX, CL_SEQUENCE, CL_SCHEMA,
			    * CL_DATABASE, CL_ROLE */
	const uint32_t *ids;
	const struct str *names; /* for messages, one per id */
	uint32_t n;
	bool if_exists;
	bool cascade;
	struct err **notice; /* what went by cascade; may be NULL */
};
struct err *gw_ddl_drop(
    struct gw_stmt *s, struct arena *a, const struct gw_drop *drop);

/* The id in `q` is not looked at. 42P07 when the name is taken (*created false
 * with if_not_exists), 3F000 when the schema is gone. */
struct gw_sequence_def {
	const struct cl_sequence *q;
	bool if_not_exists;
};
struct err *gw_ddl_create_sequence(struct gw_stmt *s, struct arena *a,
    const struct gw_sequence_def *def, bool *created);
struct gw_sequence_change {
	uint32_t id;
	const struct gw_seq_options *options; /* NULL: they stay */
	uint32_t table, column;               /* of OWNED BY */
	struct str rename;                    /* empty: keep the name */
};
/* 42P01 when it is gone, 42P07 for the new name, 22023 when the options do not
 * fit. */
struct err *gw_ddl_alter_sequence(struct gw_stmt *s, struct arena *a,
    const struct gw_sequence_change *change);

/* schema, table, columns, inputs and predicate of `index` are looked at. */
struct gw_index_def {
	const struct cl_index *index;
	struct str name;         /* empty: to be chosen, ... */
	const struct str *parts; /* ... of these, one per column */
	bool if_not_exists;
};
/* Ends once every member has filled it in. 42P07 when the name is taken
 * (*created false with if_not_exists), 42P01 when the table is gone; what a row
 * without a key fails with, and then the index is gone. 57014: it stays, and is
 * still being built. */
struct err *gw_ddl_create_index(struct gw_stmt *s, struct arena *a,
    const struct gw_index_def *def, bool *created);
/* 42P01 when it is gone, 42P07 for the new name. */
struct err *gw_ddl_rename_index(
    struct gw_stmt *s, struct arena *a, uint32_t id, struct str name);

/* Open tables: the columns of a statement that is about to write. A column seen
 * with another type becomes a mixed one. Nothing happens for what the catalog
 * already has. 54011 above the limit. */
struct err *gw_ddl_register(struct gw_stmt *s, struct arena *a,
    const struct sql_new_column *columns, uint32_t n);

/* With schema public. 42P04. */
struct err *gw_ddl_create_database(
    struct gw_stmt *s, struct arena *a, struct str name, uint32_t owner);
/* 42P06 (*created false with if_not_exists), 42939 for pg_*. */
struct gw_schema_def {
	uint32_t database;
	struct str name;
	bool if_not_exists;
};
struct err *gw_ddl_create_schema(struct gw_stmt *s, struct arena *a,
    const struct gw_schema_def *def, bool *created);

/* The id in `role` is not looked at. 42710, 42939 for pg_*. */
struct err *gw_ddl_create_role(
    struct gw_stmt *s, struct arena *a, const struct cl_role *role);
enum gw_flag { GW_KEEP, GW_SET, GW_CLEAR };
struct gw_role_change {
	uint32_t id;
	enum gw_flag superuser, login, createdb, createrole;
	bool set_verifier;
	struct str verifier; /* empty: no password */
	struct str rename;   /* empty: keep the name */
};
struct err *gw_ddl_alter_role(
    struct gw_stmt *s, struct arena *a, const struct gw_role_change *change);

#endif
