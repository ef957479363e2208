#include "regress/sim/bank.h"

#include <inttypes.h>

#include "expr/table.h"
#include "gateway/catalog.h"
#include "gateway/source.h"
#include "gateway/transact.h"
#include "gateway/worker.h"

#define TIMEOUT_US 15000000u
#define POLL_US    2000u
#define PARTS_MAX  6u
#define CONDS_MAX  12u
#define COLUMNS    8u

/* One transfer in a process of a gateway. */
struct job {
	struct bank_transfer *t;
	struct fleet_gateway *gateway;
	uint32_t client;
	bool begun, done;

	/* While it runs. */
	struct gw_worker *worker;
	struct arena *arena;
	struct gw_stmt stmt;
	struct sql_source *source;
	struct gw_transact_part parts[PARTS_MAX];
	uint32_t n_parts;
	uint64_t last[2]; /* who wrote the two accounts before */
};

/* Operation ids go on from one transfer of a client to its next. */
struct sessions {
	struct gw_ops *ops[RUN_CLIENTS_MAX][SIM_GATEWAYS_MAX];
	uint32_t boots[RUN_CLIENTS_MAX][SIM_GATEWAYS_MAX];
};

static struct sessions *
sessions_of(struct run *r)
{
	if (!r->sessions)
		r->sessions = NEW(sim_arena(r->sim), struct sessions);
	return r->sessions;
}

/* ---- rows ---- */

static const struct cl_table *
table_of(const struct job *j, const char *name)
{
	const struct cl_object *o =
	    cl_find_relation(j->stmt.catalog, CL_SCHEMA_PUBLIC, str_c(name));

	return o && o->kind == CL_TABLE ? &o->u.table : NULL;
}

static struct err *
no_table(struct job *j)
{
	return ERR(j->arena, ERRCODE_CANNOT_CONNECT_NOW, "no such table yet");
}

static struct err *
key_of(struct job *j, const struct cl_table *t, uint64_t id, struct buf *out)
{
	struct val v = val_int(EX_INT8, (int64_t)id);

	buf_init(out, j->arena);
	return ex_table_key(j->arena, t, &v, out);
}

static struct err *
read_row(struct job *j, const struct cl_table *t, struct str key,
    struct sql_row *row, bool *found)
{
	uint32_t ids[COLUMNS];
	struct sql_scan_req what = {
	    .table = t, .columns = ids, .n_columns = t->n_columns};

	for (uint32_t i = 0; i < t->n_columns && i < COLUMNS; i++)
		ids[i] = t->columns[i].id;
	return j->source->ops->get(
	    j->source, j->arena, &what, &key, 1, row, found);
}

/* ---- parts ---- */

static struct gw_transact_part *
part_for(struct job *j, const struct gw_route *to)
{
	struct gw_transact_part *p;

	for (uint32_t i = 0; i < j->n_parts; i++)
		if (j->parts[i].placement == to->placement &&
		    j->parts[i].slot == to->slot)
			return &j->parts[i];
	ASSERT(j->n_parts < PARTS_MAX);
	p = &j->parts[j->n_parts++];
	*p = (struct gw_transact_part){
	    .placement = to->placement, .slot = to->slot};
	p->conds = NEW_N(j->arena, struct cl_cond, CONDS_MAX);
	p->writes = NEW_N(j->arena, struct cl_write, CONDS_MAX);
	return p;
}

static void
add_schema(struct job *j, struct gw_transact_part *p, const struct cl_table *t)
{
	struct buf b;

	buf_init(&b, j->arena);
	buf_be32(&b, t->id);
	p->conds[p->n_conds++] =
	    (struct cl_cond){CL_COND_SCHEMA, buf_view(&b), t->version};
}

struct change {
	const struct cl_table *table;
	struct str key;
	struct cl_cond cond;
	const struct val *vals; /* NULL: only looked at */
};

static struct err *
add_change(struct job *j, const struct change *x)
{
	struct gw_transact_part *p;
	struct gw_route to;
	struct buf key, value;

	if (!gw_route_row(
		gw_catalog_now(j->worker->catalog), x->table, x->key, &to))
		return no_table(j);
	p = part_for(j, &to);
	add_schema(j, p, x->table);
	buf_init(&key, j->arena);
	ex_table_row_key(&key, x->table, to.slot, x->key);
	p->conds[p->n_conds] = x->cond;
	p->conds[p->n_conds++].key = buf_view(&key);
	if (!x->vals)
		return NULL;
	buf_init(&value, j->arena);
	TRY(ex_table_row(j->arena, x->table, x->vals, j->stmt.row_max, &value));
	p->writes[p->n_writes++] =
	    (struct cl_write){CL_WRITE_PUT, buf_view(&key), buf_view(&value)};
	return NULL;
}

/* The account as it is, moved by an amount, if it is still as it was read. */
static struct err *
add_account(struct job *j, uint32_t account, int64_t amount, uint64_t *last)
{
	const struct cl_table *t = table_of(j, bank_table(account));
	struct sql_row row;
	struct buf key;
	bool found;

	if (!t || t->n_columns != 4)
		return no_table(j);
	TRY(key_of(j, t, account % BANK_KEYS, &key));
	TRY(read_row(j, t, buf_view(&key), &row, &found));
	if (!found)
		return ERR(j->arena, ERRCODE_DATA_CORRUPTED,
		    "account %u is not there", account);
	*last = (uint64_t)row.vals[2].u.i;
	row.vals[1].u.i += amount;
	row.vals[2].u.i = (int64_t)j->t->id;
	return add_change(
	    j, &(struct change){.table = t,
		   .key = buf_view(&key),
		   .cond = {.kind = CL_COND_STAMP, .arg = row.stamp},
		   .vals = row.vals});
}

static struct err *
add_insert(struct job *j, const char *name, const int64_t *vals, uint32_t n)
{
	const struct cl_table *t = table_of(j, name);
	struct val *row = NEW_N(j->arena, struct val, n);
	struct buf key;

	if (!t || t->n_columns != n)
		return no_table(j);
	for (uint32_t i = 0; i < n; i++)
		row[i] = val_int(EX_INT8, vals[i]);
	TRY(key_of(j, t, (uint64_t)vals[0], &key));
	return add_change(j, &(struct change){.table = t,
				 .key = buf_view(&key),
				 .cond = {.kind = CL_COND_ABSENT},
				 .vals = row});
}

static struct err *
add_parent(struct job *j, uint32_t account)
{
	const struct cl_table *t = table_of(j, bank_table(account));
	struct buf key;

	if (!t)
		return no_table(j);
	TRY(key_of(j, t, account % BANK_KEYS, &key));
	return add_change(j, &(struct change){.table = t,
				 .key = buf_view(&key),
				 .cond = {.kind = CL_COND_PRESENT}});
}

/* ---- the transfer ---- */

static struct err *
gather(struct job *j)
{
	const struct bank_transfer *t = j->t;
	int64_t entry[7], claim[2];

	TRY(add_account(j, t->from, -t->amount, &j->last[0]));
	TRY(add_account(j, t->to, t->amount, &j->last[1]));
	entry[0] = (int64_t)t->id;
	entry[1] = t->from;
	entry[2] = t->to;
	entry[3] = t->amount;
	entry[4] = (int64_t)j->last[0];
	entry[5] = (int64_t)j->last[1];
	entry[6] = (int64_t)t->claim;
	TRY(add_insert(j, "l", entry, 7));
	if (t->parent != BANK_NONE)
		TRY(add_parent(j, t->parent));
	claim[0] = (int64_t)t->claim;
	claim[1] = (int64_t)t->id;
	return t->claim ? add_insert(j, "u", claim, 2) : NULL;
}

static struct err *
transfer(struct job *j)
{
	struct gw_transact c = {0};

	TRY(gather(j));
	c.parts = j->parts;
	c.n_parts = j->n_parts;
	gw_transact_run(&j->stmt, j->arena, &c);
	switch (c.outcome) {
	case GW_END_APPLIED:
		j->t->outcome = BANK_APPLIED;
		return NULL;
	case GW_END_FALSE:
		j->t->outcome = BANK_FALSE;
		return NULL;
	case GW_END_LOST:
		j->t->outcome = BANK_UNKNOWN;
		return c.err;
	default:
		return c.err;
	}
}

static void
unref_ev(void *arg)
{
	cl_catalog_unref(arg);
}

static struct gw_ops *
ops_of(struct job *j, struct sessions *s)
{
	struct gw_ops **ops = &s->ops[j->client][j->gateway->index];
	uint32_t *boots = &s->boots[j->client][j->gateway->index];

	if (*ops && *boots == sim_host_boots(j->gateway->host))
		return *ops;
	*boots = sim_host_boots(j->gateway->host);
	*ops = NEW(j->worker->world->arena, struct gw_ops);
	gw_ops_init(*ops, j->worker);
	return *ops;
}

struct start {
	struct job *job;
	struct sessions *sessions;
};

static void
job_fiber(void *arg)
{
	struct start *s = arg;
	struct job *j = s->job;
	struct gw_worker *w = j->worker = j->gateway->worker;
	struct cl_catalog *held = cl_catalog_ref(gw_catalog_now(w->catalog));
	struct err *e;

	j->begun = true;
	j->t->outcome = BANK_REFUSED;
	j->arena = arena_new(w->world->arena, "transfer");
	arena_cleanup(j->arena, unref_ev, held);
	j->stmt.row_max = w->conf->row_size_max;
	gw_stmt_begin(&j->stmt, w, ops_of(j, s->sessions), held, TIMEOUT_US);
	j->source = gw_source_new(j->arena, &j->stmt);
	e = transfer(j);
	if (e) {
		memcpy(j->t->sqlstate, e->sqlstate, 5);
		j->t->why =
		    arena_strdup(sim_arena(j->gateway->fleet->sim), e->message);
	}
	arena_free(j->arena);
	j->done = true;
}

static bool
is_over(const struct job *j, uint32_t boots)
{
	return j->done || !sim_host_up(j->gateway->host) ||
	       sim_host_boots(j->gateway->host) != boots;
}

bool
bank_do(struct client *c, struct bank_transfer *t)
{
	static const char *const names[] = {
	    "unknown", "applied", "false", "refused"};
	struct fleet *f = c->run->fleet;
	struct arena *a = sim_arena(c->run->sim);
	struct job *j = NEW(a, struct job);
	struct start *s = NEW(a, struct start);
	uint32_t boots;

	j->t = t;
	j->client = c->index;
	j->gateway = &f->gateways[rng_below(&c->rng, f->conf.gateways)];
	*s = (struct start){j, sessions_of(c->run)};
	boots = sim_host_boots(j->gateway->host);
	c->doing = "a transfer";
	t->start = sim_now(c->run->sim);
	if (sim_host_up(j->gateway->host))
		sim_spawn(j->gateway->host, "transfer", job_fiber, s);
	while (!is_over(j, boots))
		client_sleep(c, POLL_US);
	c->doing = NULL;
	t->end = sim_now(c->run->sim);
	/* A process that died took the answer with it. */
	if (!j->done && j->begun)
		t->outcome = BANK_UNKNOWN;
	if (!j->begun)
		t->outcome = BANK_REFUSED;
	sim_trace(c->run->sim, sim_host_name(c->host),
	    "transfer %" PRIu64 " of %u to %u by gateway-%u: %s %s %s", t->id,
	    t->from, t->to, j->gateway->index + 1, names[t->outcome],
	    t->sqlstate, t->why ? t->why : "");
	sim_note(c->run->sim, t->sqlstate, str_c(names[t->outcome]));
	return j->begun;
}
