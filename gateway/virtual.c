#include "gateway/virtual.h"

#include "gateway/facts.h"
#include "gateway/source_int.h"

#define LEN(a) (uint32_t)(sizeof(a) / sizeof *(a))

/* Only ever appended. */
enum {
	PLACEMENT,
	SLOT,
	EPOCH,
	LEADER,
	MEMBERS,
	ROUND,
	LAST_INDEX,
	COMMIT_INDEX,
	APPLIED_INDEX,
	LAG,
	INCOMPLETE,
	AGE_MS,
	GROUPS_COLUMNS
};

static const struct sql_virtual_column groups_columns[GROUPS_COLUMNS] = {
    [PLACEMENT] = {"placement", EX_INT8},
    [SLOT] = {"slot", EX_INT8},
    [EPOCH] = {"epoch", EX_INT8},
    [LEADER] = {"leader", EX_INT8},
    [MEMBERS] = {"members", EX_TEXT},
    [ROUND] = {"round", EX_INT8},
    [LAST_INDEX] = {"last_index", EX_INT8},
    [COMMIT_INDEX] = {"commit_index", EX_INT8},
    [APPLIED_INDEX] = {"applied_index", EX_INT8},
    [LAG] = {"lag", EX_INT8},
    [INCOMPLETE] = {"incomplete", EX_INT8},
    [AGE_MS] = {"age_ms", EX_INT8},
};

static struct val
number(uint64_t n)
{
	return val_int(EX_INT8, (int64_t)n);
}

static struct val
members_text(struct arena *a, const struct cl_slot_map *g)
{
	struct buf b;

	buf_init(&b, a);
	for (unsigned i = 0; i < g->n; i++)
		buf_printf(&b, "%s%u", i ? "," : "", g->members[i]);
	return val_str(EX_TEXT, buf_view(&b));
}

/* What the leader says; of two that say so, the one with the higher ballot is,
 * and the other does not know yet. */
static void
led_by(struct val *v, const struct gw_group_fact *f)
{
	const struct cl_group_info *g = &f->info;

	v[LEADER] = number(f->leader);
	v[ROUND] = number(g->round);
	v[LAST_INDEX] = number(g->last);
	v[COMMIT_INDEX] = number(g->commit);
	v[APPLIED_INDEX] = number(g->applied);
	v[LAG] = number(g->commit - g->least);
	v[INCOMPLETE] = number(g->incomplete);
	v[AGE_MS] = number(g->lag_us / 1000);
}

static struct err *
fill_groups(struct sql_source *s, struct arena *a, struct sql_virtual_rows *out)
{
	struct gw_stmt *stmt = gw_source_of(s)->stmt;
	struct gw_group_facts facts;
	const struct cl_object *o;
	size_t at = 0;

	gw_facts_groups(stmt->worker, a, gw_facts_deadline(stmt), &facts);
	TRY(gw_stmt_check(stmt, a));
	while ((o = cl_each(stmt->catalog, CL_PLACEMENT, &at)))
		for (uint32_t i = 0; i < o->u.placement.n_slots; i++) {
			const struct cl_slot_map *g = &o->u.placement.slots[i];
			const struct gw_group_fact *f =
			    gw_facts_group(&facts, o->id, (uint16_t)i);
			struct val *v = sql_virtual_add(out);

			v[PLACEMENT] = number(o->id);
			v[SLOT] = number(i);
			v[EPOCH] = number(g->epoch);
			v[MEMBERS] = members_text(a, g);
			if (f && f->info.epoch == g->epoch)
				led_by(v, f);
		}
	return NULL;
}

static const struct sql_virtual groups = {
    "skaidb", "groups", groups_columns, GROUPS_COLUMNS, fill_groups};

const struct sql_virtual *const gw_virtuals[] = {&groups};
const uint32_t gw_n_virtuals = LEN(gw_virtuals);
