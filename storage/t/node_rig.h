/* A node in a rig, with tables and short ways to write and read them. All of it
 * is called in the rig's fiber. */
#ifndef STORAGE_T_NODE_RIG_H
#define STORAGE_T_NODE_RIG_H

#include "cluster/ddl.h"
#include "expr/table.h"
#include "storage/node_int.h"
#include "storage/propose.h"
#include "storage/read.h"
#include "storage/t/rig.h"

struct node_rig {
	struct rig r;
	struct st_conf conf;
	struct st_node *node;
	struct st_events events;
	bool ready, stopped, failed;
	char why[256];
	uint64_t sequence;
	uint8_t session[16];
};

/* Starts the rig, and a configuration that forms a cluster of `slots`. */
void nr_start(struct node_rig *nr, enum rig_kind kind, uint32_t slots);
void nr_stop(struct node_rig *nr);
struct node_rig *nr_of(struct rig *r);
/* Starts the node and waits until it serves (or failed). */
void nr_node(struct node_rig *nr);
/* Drains it and waits. */
void nr_node_stop(struct node_rig *nr);

/* A table t<id> (id bigint PRIMARY KEY, v text, n bigint). */
const struct cl_table *nr_table(struct node_rig *nr, const char *name);
void nr_drop_table(struct node_rig *nr, uint32_t id);
/* A new index of x->table, with a new version of it unless one is given; its
 * id. */
uint32_t nr_index(struct node_rig *nr, struct cl_index *x);
/* Waits until it is built; what it is then. */
enum cl_index_state nr_index_built(struct node_rig *nr, uint32_t id);
void nr_drop_index(struct node_rig *nr, uint32_t id);

/* Keys and rows of such a table. */
struct str nr_key(
    struct node_rig *nr, const struct cl_table *t, int64_t id, uint16_t *slot);
struct str nr_row(struct node_rig *nr, const struct cl_table *t, int64_t id,
    const char *v, int64_t n);

/* An operation on one key with at most one condition; fresh operation id, first
 * send. The result is the outcome, with all of it in *out if given. */
struct nr_op {
	const struct cl_table *table;
	int64_t id;
	const char *v; /* NULL: delete, unless no_write */
	int64_t n;
	bool no_write;
	uint8_t cond; /* enum cl_cond_kind; 0 = none */
	uint64_t arg;
	uint64_t sequence; /* 0 = next */
	uint32_t send;     /* 0 = 1 */
	uint64_t answered;
	int64_t deadline_ms; /* from now; 0 = 10 s */
	uint32_t epoch;      /* 0 = 1 */
};
uint8_t nr_do(
    struct node_rig *nr, const struct nr_op *op, struct cl_proposed *out);
#define NR_DO(nr, ...) nr_do((nr), &(struct nr_op){__VA_ARGS__}, NULL)

/* The value of column v, NULL when there is no row. */
const char *nr_get(struct node_rig *nr, const struct cl_table *t, int64_t id);
cl_stamp nr_stamp(struct node_rig *nr, const struct cl_table *t, int64_t id);
/* A scan over all slots; returns rows over all pages, ids in `ids` (room for
 * max). */
struct nr_scan {
	const struct cl_table *table;
	uint32_t index; /* 0: by primary key */
	uint8_t flags;
	struct str filter, start, end;
	uint64_t limit;
	uint32_t bytes;
	const uint32_t *columns;
	uint32_t n_columns;
	/* Out. */
	int64_t *ids;
	uint32_t max;
	uint32_t pages;
	uint64_t count;
	uint8_t reason;
	char sqlstate[6];
	size_t value_bytes;
};
uint32_t nr_scan(struct node_rig *nr, struct nr_scan *s);

/* Live rows and bytes by the counters. */
bool nr_counts(
    struct node_rig *nr, uint32_t table, uint64_t *rows, uint64_t *bytes);

#endif
