#include "gateway/t/bench_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/world_real.h"
#include "expr/table.h"
#include "gateway/ddl.h"
#include "regress/lib/cu.h"

struct run {
	struct bench bench;
	void (*body)(struct bench *b);
};

static void
note_warning(void *arg, struct err *e)
{
	struct bench *b = arg;

	b->warnings++;
	b->warning = err_copy(b->arena, e);
}

static void
run_fiber(void *arg)
{
	struct run *r = arg;
	struct bench *b = &r->bench;

	CHECK(gw_catalog_wait(
	    b->worker->catalog, 1, world_mono_us(b->world) + 5000000));
	gw_ops_init(&b->ops, b->worker);
	b->ops.notice = note_warning;
	b->ops.notice_arg = b;
	bench_stmt(b, 5000000);
	r->body(b);
	gw_worker_stop(b->worker);
	world_real_stop(b->world);
}

void
bench_run(uint32_t nodes, void (*tune)(struct bench *b),
    void (*body)(struct bench *b))
{
	bench_copies(nodes, 1, tune, body);
}

void
bench_copies(uint32_t nodes, uint32_t copies, void (*tune)(struct bench *b),
    void (*body)(struct bench *b))
{
	struct run r = {.body = body};
	struct bench *b = &r.bench;
	char dir[] = "/tmp/skaidb-gw-XXXXXX";
	struct fake_shape shape = {dir, nodes, copies};

	MUST(mkdtemp(dir) != NULL);
	b->world = world_real_new("test", NULL);
	b->arena = arena_new(b->world->arena, "bench");
	fake_store_init(&b->store, b->world, &shape);
	gw_conf_defaults(&b->conf);
	b->conf.seeds = b->store.nodes[0]->addr;
	b->conf.peer.key = b->store.secret;
	if (tune)
		tune(b);
	b->worker = gw_worker_new(b->world, &b->conf, 0, 1);
	fiber_spawn(b->world, "test", FIBER_STACK_GATEWAY, run_fiber, &r);
	world_real_run(b->world);
	for (uint32_t i = 0; i < b->store.n_nodes; i++) {
		if (b->store.nodes[i]->listener)
			net_unlisten(b->world, b->store.nodes[i]->listener);
	}
	cl_catalog_unref(b->store.catalog);
	world_real_free(b->world);
	(void)rmdir(dir);
}

static void
unref_ev(void *arg)
{
	cl_catalog_unref(arg);
}

void
bench_stmt(struct bench *b, uint64_t timeout_us)
{
	struct cl_catalog *held =
	    cl_catalog_ref(gw_catalog_now(b->worker->catalog));

	/* As long as the test: what it found in it stays good. */
	arena_cleanup(b->arena, unref_ev, held);
	b->stmt = (struct gw_stmt){.row_max = b->conf.row_size_max};
	gw_stmt_begin(&b->stmt, b->worker, &b->ops, held, timeout_us);
}

const struct cl_table *
bench_table(struct bench *b)
{
	static const struct cl_column columns[] = {
	    {.id = 1,
		.name = {"id", 2},
		.type = EX_INT8,
		.typmod = -1,
		.flags = CL_COL_NOT_NULL},
	    {.id = 2, .name = {"v", 1}, .type = EX_TEXT, .typmod = -1}};
	static const uint32_t pkey[] = {1};
	struct gw_table_def def = {.schema = CL_SCHEMA_PUBLIC,
	    .owner = CL_ROLE_POSTGRES,
	    .name = STR("t"),
	    .columns = columns,
	    .n_columns = 2,
	    .pkey = pkey,
	    .n_pkey = 1};
	const struct cl_object *o;
	bool created;
	struct err *e;

	e = gw_ddl_create_table(&b->stmt, b->arena, &def, &created);
	CHECK(!e && created);
	bench_stmt(b, 5000000);
	o = cl_find_name(b->stmt.catalog, CL_TABLE, CL_SCHEMA_PUBLIC, STR("t"));
	if (!o)
		abort();
	return &o->u.table;
}

struct str
bench_key(struct bench *b, const struct cl_table *t, int64_t id)
{
	struct val v = val_int(EX_INT8, id);
	struct buf key;

	buf_init(&key, b->arena);
	CHECK(!ex_table_key(b->arena, t, &v, &key));
	return buf_view(&key);
}

struct err *
bench_insert(struct bench *b, const struct cl_table *t, int64_t from, int64_t n)
{
	struct sql_source *src = gw_source_new(b->arena, &b->stmt);
	struct sql_write *w = NEW_N(b->arena, struct sql_write, (size_t)n);

	for (int64_t i = 0; i < n; i++) {
		struct val *vals = NEW_N(b->arena, struct val, 2);

		vals[0] = val_int(EX_INT8, from + i);
		vals[1] = val_str(EX_TEXT,
		    str_c(arena_printf(b->arena, "row %d", (int)(from + i))));
		w[i] = (struct sql_write){.kind = SQL_INSERT,
		    .table = t,
		    .key = bench_key(b, t, from + i),
		    .vals = vals};
	}
	return src->ops->write(src, b->arena, w, (size_t)n);
}
