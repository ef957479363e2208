#include "storage/t/node_rig.h"

#include <stdio.h>

#include "cluster/row.h"
#include "regress/lib/cu.h"
#include "storage/catalog.h"

#define PATIENCE_US 60000000u

struct node_rig *
nr_of(struct rig *r)
{
	return CONTAINER(r, struct node_rig, r);
}

static void
ready_ev(void *arg)
{
	((struct node_rig *)arg)->ready = true;
}

static void
stopped_ev(void *arg)
{
	((struct node_rig *)arg)->stopped = true;
}

static void
failed_ev(void *arg, const struct err *e)
{
	struct node_rig *nr = arg;

	nr->failed = true;
	snprintf(nr->why, sizeof nr->why, "%s", e->message);
}

void
nr_start(struct node_rig *nr, enum rig_kind kind, uint32_t slots)
{
	static const uint8_t key[32] = "a key for tests";

	*nr = (struct node_rig){.ready = false};
	rig_start(&nr->r, kind);
	st_conf_defaults(&nr->conf);
	nr->conf.dir = kind == RIG_MEM ? "mem" : nr->r.dir;
	nr->conf.listen =
	    arena_printf(nr->r.arena, "unix:%s/sock", nr->conf.dir);
	nr->conf.key = str_of(key, sizeof key);
	nr->conf.init_if_empty = true;
	nr->conf.slots = slots;
	nr->conf.cache_bytes = nr->r.conf.cache_bytes;
	nr->conf.log_file_bytes = nr->r.conf.log_file_bytes;
	nr->conf.checkpoint_log_bytes = nr->r.conf.checkpoint_log_bytes;
	nr->conf.disk_reserve = nr->r.conf.disk_reserve;
	nr->conf.engine_threads = nr->r.conf.threads;
	memset(nr->session, 7, sizeof nr->session);
}

void
nr_stop(struct node_rig *nr)
{
	rig_stop(&nr->r);
}

void
nr_node(struct node_rig *nr)
{
	struct world *w = nr->r.world;
	uint64_t until = world_mono_us(w) + PATIENCE_US;
	struct err *e;

	nr->ready = nr->failed = nr->stopped = false;
	nr->events = (struct st_events){ready_ev, failed_ev, stopped_ev, nr};
	e = st_node_start(w, nr->r.arena, &nr->conf, &nr->events, &nr->node);
	if (e) {
		nr->failed = true;
		snprintf(nr->why, sizeof nr->why, "%s", e->message);
		return;
	}
	while (!nr->ready && !nr->failed && world_mono_us(w) < until)
		rig_sleep(&nr->r, 1000);
	MUST(nr->ready || nr->failed);
}

void
nr_node_stop(struct node_rig *nr)
{
	uint64_t until = world_mono_us(nr->r.world) + PATIENCE_US;

	st_node_stop(nr->node);
	while (!nr->stopped && world_mono_us(nr->r.world) < until)
		rig_sleep(&nr->r, 1000);
	MUST(nr->stopped);
}

/* ---- tables ---- */

static void
propose_ddl(struct node_rig *nr, struct cl_ddl *d)
{
	struct cl_propose p = {.placement = 0};
	struct cl_proposed out;
	struct err *e = cl_ddl_propose(d, &p);

	MUST(e == NULL);
	st_propose_own(nr->node, nr->r.arena, &p);
	e = st_propose(nr->node, nr->r.arena, &p, 0, &out);
	if (e)
		fprintf(stderr, "%s\n", e->message);
	MUST(e == NULL);
	MUST(out.outcome == CL_APPLIED);
	MUST(cl_catalog_version(nr->node->catalog.snap) == out.index);
}

static void
hand_out_slots(struct node_rig *nr, struct cl_ddl *d)
{
	struct cl_catalog *c = nr->node->catalog.snap;
	const struct cl_object *o =
	    cl_find(c, CL_PLACEMENT, CL_PLACEMENT_DEFAULT);
	struct cl_object p = *o;

	if (o->u.placement.n_slots)
		return;
	cl_placement_assign(nr->r.arena, c, &p.u.placement);
	cl_ddl_replace(d, &p);
}

const struct cl_table *
nr_table(struct node_rig *nr, const char *name)
{
	static const uint32_t pkey[] = {1};
	struct cl_column columns[3] = {
	    {.id = 1,
		.name = STR("id"),
		.type = EX_INT8,
		.typmod = -1,
		.flags = CL_COL_NOT_NULL},
	    {.id = 2, .name = STR("v"), .type = EX_TEXT, .typmod = -1},
	    {.id = 3, .name = STR("n"), .type = EX_INT8, .typmod = -1},
	};
	struct cl_ddl *d = cl_ddl_new(nr->r.arena, nr->node->catalog.snap);
	struct cl_object o = {.kind = CL_TABLE};
	uint32_t id = cl_ddl_ids(d, 1);

	o.id = id;
	o.u.table = (struct cl_table){.id = id,
	    .database = CL_DB_POSTGRES,
	    .schema = CL_SCHEMA_PUBLIC,
	    .owner = CL_ROLE_POSTGRES,
	    .name = str_c(name),
	    .version = 1,
	    .placement = CL_PLACEMENT_DEFAULT,
	    .pkey_name = STR("t_pkey"),
	    .n_columns = 3,
	    .columns = columns,
	    .n_pkey = 1,
	    .pkey = pkey,
	    .next_column = 4};
	cl_ddl_create(d, &o);
	hand_out_slots(nr, d);
	propose_ddl(nr, d);
	return cl_catalog_table(st_catalog_pin(nr->node, nr->r.arena), id);
}

void
nr_drop_table(struct node_rig *nr, uint32_t id)
{
	struct cl_ddl *d = cl_ddl_new(nr->r.arena, nr->node->catalog.snap);

	cl_ddl_drop(d, CL_TABLE, id);
	propose_ddl(nr, d);
}

uint32_t
nr_index(struct node_rig *nr, struct cl_index *x)
{
	struct cl_ddl *d = cl_ddl_new(nr->r.arena, nr->node->catalog.snap);
	struct cl_object t =
	    *cl_find(nr->node->catalog.snap, CL_TABLE, x->table);
	struct cl_object o = {.kind = CL_INDEX};

	if (!x->version)
		x->version = ++t.u.table.version;
	cl_ddl_replace(d, &t);
	o.id = x->id = cl_ddl_ids(d, 1);
	x->schema = t.u.table.schema;
	x->state = CL_INDEX_BUILDING;
	o.u.index = *x;
	cl_ddl_create(d, &o);
	propose_ddl(nr, d);
	return x->id;
}

enum cl_index_state
nr_index_built(struct node_rig *nr, uint32_t id)
{
	uint64_t until = world_mono_us(nr->r.world) + PATIENCE_US;
	const struct cl_index *x;

	for (;;) {
		x = cl_catalog_index(nr->node->catalog.snap, id);
		MUST(x != NULL);
		if (x->state != CL_INDEX_BUILDING ||
		    world_mono_us(nr->r.world) >= until)
			return x->state;
		rig_sleep(&nr->r, 1000);
	}
}

void
nr_drop_index(struct node_rig *nr, uint32_t id)
{
	struct cl_ddl *d = cl_ddl_new(nr->r.arena, nr->node->catalog.snap);

	cl_ddl_drop(d, CL_INDEX, id);
	propose_ddl(nr, d);
}

/* ---- rows ---- */

struct str
nr_key(
    struct node_rig *nr, const struct cl_table *t, int64_t id, uint16_t *slot)
{
	struct val pk = val_int(EX_INT8, id);
	struct buf b, whole;
	struct err *e;

	buf_init(&b, nr->r.arena);
	e = ex_table_key(nr->r.arena, t, &pk, &b);
	MUST(e == NULL);
	*slot = ex_table_slot(t, nr->conf.slots, buf_view(&b));
	buf_init(&whole, nr->r.arena);
	ex_table_row_key(&whole, t, *slot, buf_view(&b));
	return buf_view(&whole);
}

struct str
nr_row(struct node_rig *nr, const struct cl_table *t, int64_t id, const char *v,
    int64_t n)
{
	struct val vals[3] = {val_int(EX_INT8, id), val_str(EX_TEXT, str_c(v)),
	    val_int(EX_INT8, n)};
	struct buf b;
	struct err *e;

	buf_init(&b, nr->r.arena);
	e = ex_table_row(nr->r.arena, t, vals, 1u << 20, &b);
	MUST(e == NULL);
	return buf_view(&b);
}

uint8_t
nr_do(struct node_rig *nr, const struct nr_op *op, struct cl_proposed *out)
{
	struct cl_proposed own;
	struct cl_cond cond = {.kind = op->cond, .arg = op->arg};
	struct cl_write write = {.kind = CL_WRITE_DELETE};
	struct cl_propose m = {.placement = CL_PLACEMENT_DEFAULT,
	    .epoch = op->epoch ? op->epoch : 1,
	    .session = str_of(nr->session, sizeof nr->session),
	    .sequence = op->sequence ? op->sequence : ++nr->sequence,
	    .send = op->send ? op->send : 1,
	    .answered = op->answered,
	    .conds = &cond,
	    .n_conds = op->cond != 0,
	    .writes = &write,
	    .n_writes = !op->no_write};
	int64_t ms = op->deadline_ms ? op->deadline_ms : 10000;
	struct err *e;

	write.key = cond.key = nr_key(nr, op->table, op->id, &m.slot);
	if (op->cond == CL_COND_SCHEMA) {
		struct buf b;

		buf_init(&b, nr->r.arena);
		buf_be32(&b, op->table->id);
		cond.key = buf_view(&b);
	}
	if (op->v) {
		write.kind = CL_WRITE_PUT;
		write.value = nr_row(nr, op->table, op->id, op->v, op->n);
	}
	m.deadline = st_now(nr->node) + (uint64_t)ms * 65536;
	e = st_propose(nr->node, nr->r.arena, &m, 0, out ? out : &own);
	if (e)
		fprintf(stderr, "%s\n", e->message);
	MUST(e == NULL);
	return out ? out->outcome : own.outcome;
}

static struct str
read_row(struct node_rig *nr, const struct cl_table *t, int64_t id)
{
	struct cl_point p = {.placement = CL_PLACEMENT_DEFAULT, .epoch = 1};
	struct cl_read m = {.points = &p, .n_points = 1};
	struct cl_rows out;
	struct err *e;

	p.key = nr_key(nr, t, id, &p.slot);
	e = st_read(nr->node, nr->r.arena, &m, 0,
	    world_mono_us(nr->r.world) + 5000000, &out);
	MUST(e == NULL);
	MUST(out.reason == 0 && out.n_rows == 1);
	CHECK(str_eq(out.rows[0].key, p.key));
	return out.rows[0].value;
}

const char *
nr_get(struct node_rig *nr, const struct cl_table *t, int64_t id)
{
	static const uint32_t ids[] = {2};
	struct str row = read_row(nr, t, id);
	struct val v;
	struct err *e;
	uint16_t slot;

	if (!row.len)
		return NULL;
	e = ex_table_read(nr->r.arena, t,
	    str_skip(nr_key(nr, t, id, &slot), CL_KEY_PREFIX), row, ids, 1, &v);
	MUST(e == NULL);
	return arena_cstr(nr->r.arena, v.u.s);
}

cl_stamp
nr_stamp(struct node_rig *nr, const struct cl_table *t, int64_t id)
{
	struct cl_row_head h = {0};
	struct str row = read_row(nr, t, id);

	if (row.len)
		MUST(cl_row_head(row, &h));
	return h.stamp;
}

static struct str
pk_of(const struct nr_scan *s, struct str key)
{
	struct cur c = cur_of(str_skip(key, key.len - 2));
	size_t len;

	if (!s->index)
		return str_skip(key, CL_KEY_PREFIX);
	len = cur_be16(&c);
	MUST(len + 2 + CL_KEY_PREFIX <= key.len);
	return str_of(key.p + key.len - 2 - len, len);
}

static void
take_page(struct node_rig *nr, struct nr_scan *s, const struct cl_page *p,
    uint32_t *rows)
{
	static const uint32_t ids[] = {1};

	s->pages++;
	s->count += p->count;
	for (uint32_t i = 0; i < p->n_rows; i++) {
		struct val v;
		struct err *e = ex_table_read(nr->r.arena, s->table,
		    pk_of(s, p->rows[i].key), p->rows[i].value, ids, 1, &v);

		MUST(e == NULL);
		if (*rows < s->max)
			s->ids[*rows] = v.u.i;
		s->value_bytes += p->rows[i].value.len;
		(*rows)++;
	}
}

uint32_t
nr_scan(struct node_rig *nr, struct nr_scan *s)
{
	struct cl_slot_ref *slots =
	    NEW_N(nr->r.arena, struct cl_slot_ref, nr->conf.slots);
	struct cl_column_ref *columns =
	    NEW_N(nr->r.arena, struct cl_column_ref, s->n_columns + 1);
	struct cl_scan m = {.placement = CL_PLACEMENT_DEFAULT,
	    .slots = slots,
	    .n_slots = nr->conf.slots,
	    .table = s->table->id,
	    .start = s->start,
	    .end = s->end,
	    .flags = s->flags,
	    .filter = s->filter,
	    .columns = columns,
	    .n_columns = s->n_columns,
	    .limit = s->limit,
	    .bytes = s->bytes};
	struct str resume = STR_NONE;
	uint32_t rows = 0;

	for (uint32_t i = 0; i < nr->conf.slots; i++)
		slots[i] = (struct cl_slot_ref){(uint16_t)i, 1};
	for (uint32_t i = 0; i < s->n_columns; i++)
		columns[i].id = s->columns[i];
	s->pages = 0;
	s->count = 0;
	s->value_bytes = 0;
	for (;;) {
		struct cl_page p;
		struct st_scan_ask ask = {.node = nr->node,
		    .arena = nr->r.arena,
		    .m = &m,
		    .resume = resume,
		    .deadline_us = world_mono_us(nr->r.world) + 5000000};
		struct err *e = s->index ? st_scan_index(&ask, s->index, &p)
					 : st_scan(&ask, &p);

		if (e) {
			memcpy(s->sqlstate, e->sqlstate, 6);
			return rows;
		}
		s->reason = p.reason;
		if (p.reason)
			return rows;
		take_page(nr, s, &p, &rows);
		if (p.done)
			return rows;
		MUST(p.resume.len > 0);
		resume = p.resume;
	}
}

bool
nr_counts(struct node_rig *nr, uint32_t table, uint64_t *rows, uint64_t *bytes)
{
	struct cl_counts out;
	struct err *e = st_counts(nr->node, nr->r.arena, table, &out);

	MUST(e == NULL);
	*rows = *bytes = 0;
	if (!out.n_tables)
		return false;
	*rows = out.tables[0].rows;
	*bytes = out.tables[0].bytes;
	return true;
}
