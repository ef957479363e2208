/* REPAIR CLUSTER: the copies of all groups are compared, and those that differ
 * made anew.  Members compare the groups that they lead; what nobody led is
 * given to the first member of its group that is there, which makes it lead. */
#include "gateway/session_int.h"
#include "gateway/worker.h"

#define I(name)                                                                \
	{                                                                      \
		name, EX_INT8, -1, 0, 0                                        \
	}
static const struct sql_column_out columns[] = {I("groups_checked"),
    I("groups_skipped"), I("differences"), I("rows_moved"), I("bytes_moved")};
#undef I
#define N_COLUMNS (uint32_t)(sizeof columns / sizeof *columns)

const struct sql_column_out *
gw_repair_columns(uint32_t *n)
{
	*n = N_COLUMNS;
	return columns;
}

struct group {
	struct cl_group_at at;
	const struct cl_slot_map *map;
	bool checked;
};

struct asked {
	uint32_t member;
	struct gw_peer *peer;
	struct gw_call call;
	struct cl_repair msg;
	bool alive;
};

struct repair {
	struct arena *arena;
	struct gw_stmt *stmt;
	struct cond wake;
	struct group *groups;
	uint32_t n_groups, n_checked;
	struct asked *members;
	uint32_t n_members;
	uint64_t different, rows, bytes;
};

static void
list_groups(struct repair *r)
{
	const struct cl_catalog *c = r->stmt->catalog;
	const struct cl_object *o;
	uint32_t n = 0;
	size_t at = 0;

	while ((o = cl_each(c, CL_PLACEMENT, &at)))
		n += o->u.placement.n_slots;
	r->groups = NEW_N(r->arena, struct group, n + 1);
	at = 0;
	while ((o = cl_each(c, CL_PLACEMENT, &at))) {
		const struct cl_placement *p = &o->u.placement;

		for (uint32_t i = 0; i < p->n_slots; i++)
			r->groups[r->n_groups++] = (struct group){
			    {p->id, (uint16_t)i, p->slots[i].epoch, 0},
			    &p->slots[i], false};
	}
}

static void
list_members(struct repair *r)
{
	const struct cl_catalog *c = r->stmt->catalog;
	const struct cl_object *o;
	uint32_t n = 0;
	size_t at = 0;

	while (cl_each(c, CL_MEMBER, &at))
		n++;
	r->members = NEW_N(r->arena, struct asked, n + 1);
	at = 0;
	while ((o = cl_each(c, CL_MEMBER, &at))) {
		struct asked *m = &r->members[r->n_members++];

		m->member = o->id;
		m->peer = gw_peers_member(r->stmt->worker->peers, c, o->id);
	}
}

/* Groups are listed by placement and slot. */
static void
note_checked(struct repair *r, const struct cl_group_at *at)
{
	for (uint32_t i = 0; i < r->n_groups; i++) {
		struct group *g = &r->groups[i];

		if (g->at.placement != at->placement ||
		    g->at.slot != at->slot || g->at.epoch != at->epoch)
			continue;
		r->n_checked += !g->checked;
		g->checked = true;
		return;
	}
}

static void
take_answer(struct repair *r, struct asked *m)
{
	const struct cl_repaired *out;

	bool ok = gw_call_wait(&m->call, r->stmt->deadline_us) == GW_OK &&
		  m->call.reply_kind == CL_MSG_REPAIRED;

	m->alive = ok;
	if (!ok)
		return;
	out = m->call.reply;
	r->different += out->different;
	r->rows += out->rows;
	r->bytes += out->bytes;
	for (uint32_t i = 0; i < out->n_groups; i++)
		note_checked(r, &out->groups[i]);
}

/* All that have something to do, side by side. */
static void
ask(struct repair *r, bool all)
{
	for (uint32_t i = 0; i < r->n_members; i++) {
		struct asked *m = &r->members[i];

		m->call = (struct gw_call){.arena = r->arena, .wake = &r->wake};
		if (m->peer && (all || m->msg.n_groups))
			gw_call_begin(
			    m->peer, &m->call, CL_MSG_REPAIR, &m->msg);
	}
	for (uint32_t i = 0; i < r->n_members; i++) {
		struct asked *m = &r->members[i];

		if (m->peer && (all || m->msg.n_groups))
			take_answer(r, m);
	}
}

/* The group's k-th member of those that are there. */
static struct asked *
alive(struct repair *r, const struct cl_slot_map *map, uint32_t k)
{
	for (uint32_t j = 0; j < map->n; j++)
		for (uint32_t i = 0; i < r->n_members; i++)
			if (r->members[i].member == map->members[j] &&
			    r->members[i].alive && k-- == 0)
				return &r->members[i];
	return NULL;
}

/* Groups that nobody has checked: false when there is nobody left to ask. One
 * whose log is behind cannot lead, so that the next one is asked after it. */
static bool
hand_out(struct repair *r, uint32_t k)
{
	bool any = false;

	for (uint32_t i = 0; i < r->n_members; i++)
		r->members[i].msg.n_groups = 0;
	for (uint32_t i = 0; i < r->n_groups; i++) {
		const struct group *g = &r->groups[i];
		struct asked *m = g->checked ? NULL : alive(r, g->map, k);

		if (!m || m->msg.n_groups == CL_OBJECTS_MAX)
			continue;
		if (!m->msg.groups)
			m->msg.groups = NEW_N(r->arena, struct cl_group_at,
			    r->n_groups < CL_OBJECTS_MAX ? r->n_groups
							 : CL_OBJECTS_MAX);
		m->msg.groups[m->msg.n_groups++] = g->at;
		any = true;
	}
	return any;
}

static bool
out_of_time(const struct repair *r)
{
	return world_mono_us(r->stmt->worker->world) >= r->stmt->deadline_us ||
	       gw_stmt_cancelled(r->stmt);
}

/* At the gateway's own limit the row tells how far it came. */
static struct err *
ended_by_client(struct repair *r)
{
	if (gw_stmt_cancelled(r->stmt) ||
	    world_mono_us(r->stmt->worker->world) >= r->stmt->end_us)
		return gw_stmt_check(r->stmt, r->arena);
	return NULL;
}

struct err *
gw_util_repair(struct gw_session *s, struct gw_portal *p)
{
	struct repair r = {.arena = p->arena, .stmt = &p->stmt};
	struct val *v;

	if (!s->superuser)
		return ERR(p->arena, ERRCODE_INSUFFICIENT_PRIVILEGE,
		    "permission denied to repair the cluster");
	if (s->txn != GW_TXN_IDLE)
		return ERR(p->arena, ERRCODE_ACTIVE_SQL_TRANSACTION,
		    "REPAIR CLUSTER cannot run inside a transaction block");
	cond_init(&r.wake, p->stmt.worker->world);
	list_groups(&r);
	list_members(&r);
	ask(&r, true);
	for (uint32_t k = 0; !out_of_time(&r) && k < CL_COPIES_MAX; k++) {
		if (!hand_out(&r, k))
			break;
		ask(&r, false);
	}
	TRY(ended_by_client(&r));
	p->rows = gw_rows_new(p->arena, N_COLUMNS);
	v = gw_rows_add(p->rows);
	v[0] = val_int(EX_INT8, r.n_checked);
	v[1] = val_int(EX_INT8, r.n_groups - r.n_checked);
	v[2] = val_int(EX_INT8, (int64_t)r.different);
	v[3] = val_int(EX_INT8, (int64_t)r.rows);
	v[4] = val_int(EX_INT8, (int64_t)r.bytes);
	return NULL;
}
