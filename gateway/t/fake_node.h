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
};

struct fake_conn;
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

	/* What was asked for. */
	int n_greeted, n_proposed, n_resent, n_read, n_scans, n_pages;
	uint32_t last_send;
	uint64_t last_deadline;
};

/* A cluster of n nodes with 8 slots, formed as a real one is. `dir` is where
 * their sockets are. */
void fake_store_init(
    struct fake_store *s, struct world *w, const char *dir, uint32_t n);
/* Breaks all connections of a node; it goes on listening. */
void fake_node_break(struct fake_node *n);
/* The store's row, or NULL. */
const struct fake_row *fake_find(const struct fake_store *s, struct str key);
/* Rows of a table. */
size_t fake_count(const struct fake_store *s, uint32_t table);
/* Another catalog, as after somebody else's change. */
void fake_catalog(struct fake_store *s, const struct cl_propose *p);

#endif
