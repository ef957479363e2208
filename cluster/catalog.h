/* The catalog: what gateways and nodes must agree on, as versioned objects.
 *
 * The catalog group stores it as ordinary rows of two system tables, in slot 0
 * of placement CL_PLACEMENT_CATALOG, changed by ordinary proposals:
 *
 *   CL_TABLE_OBJECTS  key (kind, id)            -> the object's encoding
 *   CL_TABLE_NAMES    key (kind, parent, name)  -> id
 *
 * so a DDL is one entry of puts, deletes and conditions, and of two concurrent
 * ones on a name or an object one wins (DESIGN 7).  The catalog's version is
 * the index of the entry that last changed it.  Ids are never reused: the
 * object {CL_COUNTER, 0} holds the next one and is written, with a stamp
 * condition, by every DDL that takes ids.
 *
 * A struct cl_catalog is an immutable snapshot; whoever holds one refs it. */
#ifndef CLUSTER_CATALOG_H
#define CLUSTER_CATALOG_H

#include "base/buf.h"
#include "base/err.h"
#include "cluster/stamp.h"
#include "cluster/token.h"

/* Fixed ids; PostgreSQL's own where it has one. Objects made later count from
 * CL_ID_FIRST. */
#define CL_TABLE_OBJECTS     1u
#define CL_TABLE_NAMES       2u
#define CL_DB_POSTGRES       5u
#define CL_ROLE_POSTGRES     10u
#define CL_SCHEMA_PUBLIC     2200u /* of the first database */
#define CL_ID_FIRST          16384u
#define CL_PLACEMENT_CATALOG 0u
#define CL_PLACEMENT_DEFAULT 1u

enum cl_kind { /* numbers are on disk */
	CL_COUNTER = 1,
	CL_CLUSTER = 2, /* id 0 */
	CL_MEMBER = 3,
	CL_PLACEMENT = 4,
	CL_ROLE = 5,
	CL_DATABASE = 6,
	CL_SCHEMA = 7,
	CL_TABLE = 8,
	CL_INDEX = 9,
	CL_KIND_MAX = 31
};

struct cl_counter {
	uint32_t next_id;
	uint32_t next_member;
	uint32_t next_placement;
};

struct cl_cluster {
	uint8_t id[16];
	uint32_t slots;
	uint32_t replication;
	uint32_t level; /* feature level */
};

struct cl_member {
	uint32_t id;
	uint32_t incarnation;
	struct str alias;
	struct str addr; /* what gateways and nodes connect to */
	struct str zone;
	uint32_t level;
};

enum cl_placement_kind {
	CL_PLACE_CLUSTER = 1,     /* the cluster's default replication */
	CL_PLACE_REPLICATION = 2, /* n copies on the ring */
	CL_PLACE_PINS = 3
};

struct cl_slot_map {
	uint32_t epoch;
	uint8_t n;
	uint32_t members[CL_COPIES_MAX]; /* preference to lead first */
};

struct cl_placement {
	uint32_t id;
	enum cl_placement_kind kind;
	uint32_t replication;
	uint32_t n_pins;
	const uint32_t *pins; /* sorted member ids */
	uint32_t n_slots;     /* 0: no table yet, slots not handed out */
	const struct cl_slot_map *slots;
};

struct cl_role {
	uint32_t id;
	struct str name;
	bool superuser, login, createdb, createrole;
	struct str verifier; /* SCRAM-SHA-256$... ; empty: no password */
};

struct cl_database {
	uint32_t id;
	uint32_t owner;
	struct str name;
};

struct cl_schema {
	uint32_t id;
	uint32_t database;
	struct str name;
};

#define CL_COL_NOT_NULL (1u << 0)
#define CL_COL_HIDDEN   (1u << 1) /* the key of a table without one */
#define CL_COL_DROPPED  (1u << 2)
#define CL_COL_SEEN     (1u << 3) /* open table: registered by a write */
#define CL_COL_MIXED    (1u << 4) /* open table: seen with several types */
#define CL_COL_FLAGS    31u       /* all of them */

struct cl_column {
	uint32_t id; /* attnum, from 1, never reused in the table */
	struct str name;
	uint32_t type; /* PostgreSQL type OID; text for CL_COL_MIXED */
	int32_t typmod;
	uint32_t flags;
	struct str default_sql; /* empty: none */
};

#define CL_COLUMNS_MAX     1600
#define CL_KEY_COLUMNS_MAX 32

struct cl_table {
	uint32_t id;
	uint32_t database; /* of its schema, for convenience */
	uint32_t schema;
	uint32_t owner;
	struct str name;
	bool open;
	uint32_t version; /* schema version: raised by ALTER, not by
			   * registering columns */
	uint32_t placement;
	struct str pkey_name; /* constraint name, "t_pkey" */
	uint32_t n_columns;
	const struct cl_column *columns; /* by id */
	uint32_t n_pkey;
	const uint32_t *pkey;  /* column ids */
	uint32_t n_distribute; /* leading pkey columns; 0 = all */
	uint32_t next_column;
	bool witness;
};

struct cl_object {
	enum cl_kind kind;
	uint32_t id;
	uint64_t version; /* catalog version that wrote it */
	cl_stamp stamp;   /* of its row: for conditions */
	bool deleted;
	union {
		struct cl_counter counter;
		struct cl_cluster cluster;
		struct cl_member member;
		struct cl_placement placement;
		struct cl_role role;
		struct cl_database database;
		struct cl_schema schema;
		struct cl_table table;
	} u;
};

/* Encoding of the object alone (format byte first; golden vectors). Unknown
 * kinds and formats are refused with a clear message. */
void cl_object_encode(struct buf *b, const struct cl_object *o);
/* Fills o (version, stamp untouched); pieces live in `a`. */
struct err *cl_object_decode(struct arena *a, enum cl_kind kind, uint32_t id,
    struct str bytes, struct cl_object *o);
/* Row keys, complete with table id and slot 0. */
void cl_object_key(struct buf *b, enum cl_kind kind, uint32_t id);
void cl_name_key(
    struct buf *b, enum cl_kind kind, uint32_t parent, struct str name);
bool cl_object_key_read(struct str key, enum cl_kind *kind, uint32_t *id);
/* Row values: column 1 = the encoding, or the id for a name. */
void cl_object_row(struct buf *b, const struct cl_object *o);
void cl_name_row(struct buf *b, uint32_t id);
struct err *cl_object_row_read(
    struct arena *a, struct str key, struct str value, struct cl_object *o);

/* What a CATALOG message carries (msg.h): the body is the encoding, empty for a
 * deleted object; views into `a`, and into the change's body. */
struct cl_object_change;
void cl_change_of(struct arena *a, const struct cl_object *o,
    struct cl_object_change *change);
struct err *cl_change_object(struct arena *a,
    const struct cl_object_change *change, struct cl_object *o);
/* The name an object is found by, and its parent (0: cluster-wide). False for
 * kinds without names, for deleted objects and for an empty name. */
bool cl_object_name(
    const struct cl_object *o, uint32_t *parent, struct str *name);
const char *cl_kind_name(enum cl_kind kind); /* "table"; NULL if unknown */

/* ---- snapshots ---- */
struct cl_catalog;

/* An empty one, version 0. Snapshots are roots of their own memory. */
struct cl_catalog *cl_catalog_new(void);
struct cl_catalog *cl_catalog_ref(struct cl_catalog *c);
void cl_catalog_unref(struct cl_catalog *c);
uint64_t cl_catalog_version(const struct cl_catalog *c);
/* Deletions up to this version may be forgotten: who has an older snapshot
 * needs a whole one instead of cl_catalog_changes.  A snapshot made from an
 * empty one knows of no deletion before itself. */
uint64_t cl_catalog_floor(const struct cl_catalog *c);
/* Objects held, remembered deleted ones included. */
size_t cl_catalog_count(const struct cl_catalog *c);
/* A new snapshot: `base` with these objects replaced (deleted ones removed).
 * Objects are copied; unchanged ones are shared. */
struct cl_catalog *cl_catalog_apply(const struct cl_catalog *base,
    uint64_t version, const struct cl_object *const *objects, size_t n);
/* Objects with version > since, in order (kind, id), deleted ones included
 * while they are remembered; stops after max. Returns how many. */
size_t cl_catalog_changes(const struct cl_catalog *c, uint64_t since,
    const struct cl_object **out, size_t max);

const struct cl_object *cl_find(
    const struct cl_catalog *c, enum cl_kind kind, uint32_t id);
/* By name within a parent (0 for cluster-wide kinds: role, database, member
 * (alias); database for schema; schema for table). */
const struct cl_object *cl_find_name(const struct cl_catalog *c,
    enum cl_kind kind, uint32_t parent, struct str name);
/* All of a kind, by id; *at from 0. */
const struct cl_object *cl_each(
    const struct cl_catalog *c, enum cl_kind kind, size_t *at);

const struct cl_cluster *cl_catalog_cluster(const struct cl_catalog *c);
const struct cl_table *cl_catalog_table(
    const struct cl_catalog *c, uint32_t id);
const struct cl_placement *cl_catalog_placement(
    const struct cl_catalog *c, uint32_t id);
const struct cl_column *cl_table_column(const struct cl_table *t,
    struct str name); /* NULL: none, dropped or hidden */
const struct cl_column *cl_table_column_id(
    const struct cl_table *t, uint32_t id);

/* Hands the slots of a placement to members by ring or pins: fills n_slots and
 * slots, all epoch 1. */
void cl_placement_assign(
    struct arena *a, const struct cl_catalog *c, struct cl_placement *p);

#endif
