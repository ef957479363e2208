/* A node for tests of the gateway: it speaks the node protocol through the
 * world's net, keeps rows in memory, and misbehaves when told to.  Several of
 * them share one store, so that each may lead some of the slots. */
#ifndef GATEWAY_T_FAKE_NODE_H
#define GATEWAY_T_FAKE_NODE_H

#include "base/fiber.h"
#include "base/map.h"
#include "cluster/ddl.h"
#include "cluster/msg.h"

#define FAKE_NODES_MAX 4
#define FAKE_SLOTS     8

struct fake_row {
	struct str key, value;
};

/* What all nodes of a fake cluster share. */
struct fake_store {
	struct world *world;
	struct arena *arena;
	struct str secret;
	struct cl_catalog *catalog;
	uint64_t index; /* of the last entry */
	cl_stamp stamp;
	struct fake_row *rows; /* by key */
	size_t n_rows, cap_rows;
	struct map *results; /* operation id -> struct cl_proposed */
	struct fake_node *nodes[FAKE_NODES_MAX];
	uint32_t n_nodes;
	/* Who leads the slots of the default placement, and the catalog; 0: the
	 * first member. */
	uint32_t led_by[FAKE_SLOTS];
	uint32_t catalog_led_by;
};

struct fake_conn;
struct fake_held;
struct fake_node {
	struct fake_store *store;
	uint32_t member;
	const char *addr;
	struct net_listener *listener;
	struct list conns;

	/* Faults: counts go down to 0. */
	bool deaf;        /* reads frames, answers nothing, greets */
	int lose_answers; /* proposals: carried out, not answered */
	int cut_answers;  /* the same, and the connection is closed */
	int refuse;       /* requests refused with `reason` */
	enum cl_refusal reason;
	int fail_filters;   /* scans with a filter: 0A000 */
	uint32_t page_rows; /* of a page, 0: no limit */
	uint32_t read_rows; /* of the answer to READ, 0: no limit */
	bool wrong_key;     /* proves itself with another key */
	bool silent;        /* refusals do not say who leads */
	uint32_t points_at; /* says that this one leads everything */
	int unknown;        /* proposals: carried out, answered CL_UNKNOWN,
			     * and others are elected */
	int hold;           /* proposals: kept, until fake_release */
	struct fake_held *held;

	/* What was asked for. */
	int n_greeted, n_proposed, n_resent, n_read, n_scans, n_pages;
	int n_refused, n_held;
	uint32_t last_send;
	uint64_t last_deadline;
	uint64_t last_age; /* of a COMMIT */
};

/* A cluster of n nodes with FAKE_SLOTS slots in so many copies, formed as a
 * real one is. `dir` is where their sockets are. */
struct fake_shape {
	const char *dir;
	uint32_t nodes, copies;
};
void fake_store_init(
    struct fake_store *s, struct world *w, const struct fake_shape *shape);
/* All nodes are members of the catalog's group. */
void fake_catalog_members(struct fake_store *s);
/* Everything that this member led, or would, is led by the next one of each
 * group that is not stopped. */
void fake_elect(struct fake_store *s, uint32_t gone);
/* Breaks all connections of a node; it goes on listening. */
void fake_node_break(struct fake_node *n);
/* As killed: connections are refused. And started again. */
void fake_node_stop(struct fake_node *n);
void fake_node_start(struct fake_node *n);
/* Answers what is held: as false without doing it, or after doing it. */
void fake_release(struct fake_node *n, enum cl_outcome outcome);
/* The store's row, or NULL. */
const struct fake_row *fake_find(const struct fake_store *s, struct str key);
/* Rows of a table. */
size_t fake_count(const struct fake_store *s, uint32_t table);
/* Another catalog, as after somebody else's change. */
void fake_catalog(struct fake_store *s, const struct cl_propose *p);

#endif
