/* Runs a test's body in a fiber of a real world, with fake nodes and a worker
 * that follows their catalog. */
#ifndef GATEWAY_T_BENCH_WORLD_H
#define GATEWAY_T_BENCH_WORLD_H

#include "gateway/source.h"
#include "gateway/t/fake_node.h"
#include "gateway/worker.h"

struct bench {
	struct world *world;
	struct arena *arena;
	struct fake_store store;
	struct gw_conf conf;
	struct gw_worker *worker;
	struct gw_ops ops;
	struct gw_stmt stmt;
	int warnings;
	struct err *warning;
};

/* `tune` may be NULL; it runs before the worker starts. */
void bench_run(uint32_t nodes, void (*tune)(struct bench *b),
    void (*body)(struct bench *b));
/* The same with several copies of each row. */
void bench_copies(uint32_t nodes, uint32_t copies,
    void (*tune)(struct bench *b), void (*body)(struct bench *b));
/* A new statement with this deadline, against the newest catalog. */
void bench_stmt(struct bench *b, uint64_t timeout_us);
/* Creates table t (id bigint primary key, v text), and returns it as the newest
 * catalog has it. */
const struct cl_table *bench_table(struct bench *b);
struct str bench_key(struct bench *b, const struct cl_table *t, int64_t id);
/* Writes n rows, from id `from` on. */
struct err *bench_insert(
    struct bench *b, const struct cl_table *t, int64_t from, int64_t n);

#endif
