/* SHOW TABLES, INDEXES, DATABASES, CLUSTER; DESCRIBE. Columns are only ever
 * appended: scripts rely on their order. */
#include "gateway/counts.h"
#include "gateway/facts.h"
#include "gateway/session_int.h"
#include "sql/virtual.h"

#define T(name)                                                                \
	{                                                                      \
		name, EX_TEXT, -1, 0, 0                                        \
	}
#define I(name)                                                                \
	{                                                                      \
		name, EX_INT8, -1, 0, 0                                        \
	}
#define F(name)                                                                \
	{                                                                      \
		name, EX_FLOAT8, -1, 0, 0                                      \
	}
#define B(name)                                                                \
	{                                                                      \
		name, EX_BOOL, -1, 0, 0                                        \
	}

static const struct sql_column_out tables_columns[] = {T("name"), T("schema"),
    T("primary_key"), I("replication"), T("nodes"), T("distribute_by"),
    I("copies"), I("rows"), I("bytes"), B("transition")};
static const struct sql_column_out indexes_columns[] = {T("name"), T("table"),
    T("schema"), T("columns"), B("unique"), B("primary"), T("state"),
    T("predicate"), T("failure")};
static const struct sql_column_out databases_columns[] = {
    T("name"), T("owner")};
static const struct sql_column_out cluster_columns[] = {I("id"), T("alias"),
    T("address"), T("zone"), I("level"), T("state"), I("groups"), I("leading"),
    I("lag_entries"), F("lag_seconds"), I("rows"), I("bytes"),
    I("last_heard_ms"), I("moves")};
static const struct sql_column_out describe_columns[] = {
    T("column"), T("type"), B("nullable"), T("default"), T("key")};

#undef T
#undef I
#undef F
#undef B

#define LEN(a) (uint32_t)(sizeof(a) / sizeof *(a))

const struct sql_column_out *
gw_list_columns(const struct sql_stmt *stmt, uint32_t *n)
{
	if (stmt->kind == SQL_STMT_DESCRIBE) {
		*n = LEN(describe_columns);
		return describe_columns;
	}
	switch (stmt->u.show_list) {
	case SQL_SHOW_TABLES:
		*n = LEN(tables_columns);
		return tables_columns;
	case SQL_SHOW_INDEXES:
		*n = LEN(indexes_columns);
		return indexes_columns;
	case SQL_SHOW_CLUSTER:
		*n = LEN(cluster_columns);
		return cluster_columns;
	case SQL_SHOW_DATABASES:
		*n = LEN(databases_columns);
		return databases_columns;
	}
	UNREACHABLE();
}

static struct val
text(struct gw_portal *p, struct str s)
{
	return val_str(EX_TEXT, arena_str(p->arena, s));
}

static struct val
number(uint64_t n)
{
	return val_int(EX_INT8, (int64_t)n);
}

/* Names of the first n key columns, comma-separated; NULL for a hidden key. */
static struct val
key_names(struct gw_portal *p, const struct cl_table *t, uint32_t n)
{
	struct buf b;

	if (!n || (cl_table_column_id(t, t->pkey[0])->flags & CL_COL_HIDDEN))
		return val_null(EX_TEXT);
	buf_init(&b, p->arena);
	for (uint32_t i = 0; i < n; i++) {
		buf_str(&b, i ? STR(", ") : STR(""));
		buf_str(&b, cl_table_column_id(t, t->pkey[i])->name);
	}
	return val_str(EX_TEXT, buf_view(&b));
}

/* ---- tables ---- */

static struct val
pin_names(struct gw_portal *p, const struct cl_placement *pl)
{
	struct buf b;

	if (pl->kind != CL_PLACE_PINS)
		return val_null(EX_TEXT);
	buf_init(&b, p->arena);
	for (uint32_t i = 0; i < pl->n_pins; i++) {
		const struct cl_object *m =
		    cl_find(p->env.catalog, CL_MEMBER, pl->pins[i]);

		buf_str(&b, i ? STR(", ") : STR(""));
		if (m)
			buf_str(&b, m->u.member.alias);
		else
			buf_printf(&b, "%u", pl->pins[i]);
	}
	return val_str(EX_TEXT, buf_view(&b));
}

static uint64_t
replication_of(struct gw_portal *p, const struct cl_placement *pl)
{
	const struct cl_cluster *c = cl_catalog_cluster(p->env.catalog);

	switch (pl->kind) {
	case CL_PLACE_REPLICATION:
		return pl->replication;
	case CL_PLACE_PINS:
		return pl->n_pins;
	case CL_PLACE_CLUSTER:
		break;
	}
	return c ? c->replication : 1;
}

static void
table_row(struct gw_portal *p, const struct cl_table *t,
    const struct gw_table_count *counts, uint32_t n)
{
	const struct cl_placement *pl =
	    cl_catalog_placement(p->env.catalog, t->placement);
	const struct cl_object *schema =
	    cl_find(p->env.catalog, CL_SCHEMA, t->schema);
	struct val *v = gw_rows_add(p->rows);

	v[0] = text(p, t->name);
	v[1] = text(p, schema ? schema->u.schema.name : STR_NONE);
	v[2] = key_names(p, t, t->n_pkey);
	v[3] = number(replication_of(p, pl));
	v[4] = pin_names(p, pl);
	v[5] = key_names(p, t, t->n_distribute);
	v[6] = number(pl->n_slots ? pl->slots[0].n : 0);
	v[7] = v[8] = number(0);
	for (uint32_t i = 0; i < n; i++)
		if (counts[i].table == t->id) {
			v[7] = number(counts[i].rows);
			v[8] = number(counts[i].bytes);
		}
	v[9] = val_bool(false);
}

static struct err *
list_tables(struct gw_session *s, struct gw_portal *p)
{
	struct gw_table_count *counts;
	uint32_t n, missing;
	const struct cl_object *o;
	size_t at = 0;

	TRY(gw_counts(&p->stmt, p->arena, &counts, &n, &missing));
	if (missing) {
		struct err *e = ERR(p->arena, ERRCODE_WARNING,
		    "rows and bytes lack %u nodes that do not answer", missing);

		e->severity = ERR_WARNING;
		gw_session_notice(s, e);
	}
	while ((o = cl_each(p->env.catalog, CL_TABLE, &at)))
		if (o->u.table.database == s->database)
			table_row(p, &o->u.table, counts, n);
	return NULL;
}

static struct val *
index_row(struct gw_portal *p, const struct cl_table *t, struct str name)
{
	const struct cl_object *schema =
	    cl_find(p->env.catalog, CL_SCHEMA, t->schema);
	struct val *v = gw_rows_add(p->rows);

	v[0] = text(p, name);
	v[1] = text(p, t->name);
	v[2] = text(p, schema ? schema->u.schema.name : STR_NONE);
	v[4] = v[5] = val_bool(false);
	v[6] = text(p, STR("public"));
	v[7] = v[8] = val_null(EX_TEXT);
	return v;
}

static void
primary_row(struct gw_portal *p, const struct cl_table *t)
{
	struct val names = key_names(p, t, t->n_pkey), *v;

	if (names.null)
		return;
	v = index_row(p, t, t->pkey_name);
	v[3] = names;
	v[4] = v[5] = val_bool(true);
}

static void
secondary_row(
    struct gw_portal *p, const struct cl_table *t, const struct cl_index *x)
{
	struct val *v = index_row(p, t, x->name);

	v[3] = text(p, sql_index_columns(p->arena, t, x));
	if (x->state == CL_INDEX_BUILDING)
		v[6] = text(p, STR("building"));
	if (x->state == CL_INDEX_FAILED)
		v[6] = text(p, STR("failed"));
	if (x->where_sql.len)
		v[7] = text(p, x->where_sql);
	if (x->failure.len)
		v[8] = text(p, x->failure);
}

static void
list_indexes(struct gw_session *s, struct gw_portal *p)
{
	const struct cl_object *o;
	size_t at = 0;

	while ((o = cl_each(p->env.catalog, CL_TABLE, &at))) {
		const struct cl_table *t = &o->u.table;
		const struct cl_index *x;
		size_t k = 0;

		if (t->database != s->database)
			continue;
		primary_row(p, t);
		while ((x = cl_index_each(p->env.catalog, t->id, &k)))
			secondary_row(p, t, x);
	}
}

static void
list_databases(struct gw_portal *p)
{
	const struct cl_object *o;
	size_t at = 0;

	while ((o = cl_each(p->env.catalog, CL_DATABASE, &at))) {
		const struct cl_object *role =
		    cl_find(p->env.catalog, CL_ROLE, o->u.database.owner);
		struct val *v = gw_rows_add(p->rows);

		v[0] = text(p, o->u.database.name);
		v[1] = role ? text(p, role->u.role.name) : val_null(EX_TEXT);
	}
}

static bool
has_copy(const struct cl_slot_map *g, uint32_t member)
{
	for (unsigned i = 0; i < g->n; i++) {
		if (g->members[i] == member)
			return true;
	}
	return false;
}

/* Groups of which a member has a copy, over all placements. */
static uint64_t
groups_held(const struct cl_catalog *c, uint32_t member)
{
	const struct cl_object *o;
	size_t at = 0;
	uint64_t n = 0;

	while ((o = cl_each(c, CL_PLACEMENT, &at)))
		for (uint32_t i = 0; i < o->u.placement.n_slots; i++)
			n += has_copy(&o->u.placement.slots[i], member);
	return n;
}

static const struct cl_member_info *
info_of(const struct gw_member_info *infos, uint32_t n, uint32_t member)
{
	for (uint32_t i = 0; i < n; i++) {
		if (infos[i].member == member)
			return infos[i].info;
	}
	return NULL;
}

/* What only the member itself knows is NULL when it does not answer; so is what
 * nobody knows. */
static void
member_row(struct gw_portal *p, const struct cl_member *m,
    const struct cl_member_info *info, const struct cl_member_seen *seen)
{
	struct val none = val_null(EX_INT8);
	struct val *v = gw_rows_add(p->rows);
	bool known = info || seen->follows;

	v[0] = number(m->id);
	v[1] = text(p, m->alias);
	v[2] = text(p, m->addr);
	v[3] = m->zone.len ? text(p, m->zone) : val_null(EX_TEXT);
	v[4] = number(m->level);
	v[5] = text(p, !info            ? STR("down")
		       : !info->serving ? STR("joining")
					: STR("up"));
	v[6] = number(groups_held(p->env.catalog, m->id));
	v[7] = info ? number(info->leading) : none;
	v[8] = known ? number(seen->lag) : none;
	v[9] = known
		   ? val_double(EX_FLOAT8, (double)(seen->lag_us / 1000) / 1e3)
		   : val_null(EX_FLOAT8);
	v[10] = info ? number(info->rows) : none;
	v[11] = info ? number(info->bytes) : none;
	v[12] =
	    seen->heard_us == UINT64_MAX ? none : number(seen->heard_us / 1000);
	v[13] = number(0);
}

static struct err *
list_cluster(struct gw_session *s, struct gw_portal *p)
{
	struct gw_member_info *infos;
	const struct cl_object *o;
	uint32_t n;
	size_t at = 0;

	gw_facts_infos(s->w, p->arena, gw_facts_deadline(&p->stmt), &infos, &n);
	TRY(gw_stmt_check(&p->stmt, p->arena));
	while ((o = cl_each(p->env.catalog, CL_MEMBER, &at))) {
		struct cl_member_seen seen;

		gw_facts_seen(infos, n, o->id, &seen);
		member_row(p, &o->u.member, info_of(infos, n, o->id), &seen);
	}
	return NULL;
}

static struct val
default_text(struct gw_portal *p, const struct cl_column *c)
{
	if (c->flags & CL_COL_ALWAYS)
		return text(p, STR("generated always as identity"));
	if (c->flags & CL_COL_IDENTITY)
		return text(p, STR("generated by default as identity"));
	if (!c->default_sql.len)
		return val_null(EX_TEXT);
	return val_str(
	    EX_TEXT, sql_default_shown(p->arena, &p->env, c->default_sql));
}

static struct err *
describe_virtual(struct gw_portal *p, const struct sql_virtual *t)
{
	for (uint32_t i = 0; i < t->n_columns; i++) {
		struct val *v = gw_rows_add(p->rows);

		v[0] = text(p, str_c(t->columns[i].name));
		v[1] = text(
		    p, str_c(ex_type_format(p->arena, t->columns[i].type, -1)));
		v[2] = val_bool(true);
		v[3] = v[4] = val_null(EX_TEXT);
	}
	return NULL;
}

static struct err *
describe(struct gw_portal *p)
{
	const struct sql_virtual *system =
	    sql_find_virtual(&p->env, &p->st->stmt->u.describe);
	const struct cl_table *t;

	if (system)
		return describe_virtual(p, system);
	TRY(sql_find_table(p->arena, &p->env, &p->st->stmt->u.describe, &t));
	for (uint32_t i = 0; i < t->n_columns; i++) {
		const struct cl_column *c = &t->columns[i];
		struct val *v;

		if (c->flags & (CL_COL_HIDDEN | CL_COL_DROPPED))
			continue;
		v = gw_rows_add(p->rows);
		v[0] = text(p, c->name);
		v[1] = text(p,
		    str_c(ex_type_format(p->arena,
			c->type == EX_UNKNOWN ? EX_TEXT : c->type, c->typmod)));
		v[2] = val_bool(!(c->flags & CL_COL_NOT_NULL));
		v[3] = default_text(p, c);
		v[4] = val_null(EX_TEXT);
		for (uint32_t k = 0; k < t->n_pkey; k++)
			if (t->pkey[k] == c->id)
				v[4] = text(p, STR("primary"));
	}
	return NULL;
}

struct err *
gw_util_list(struct gw_session *s, struct gw_portal *p)
{
	const struct sql_stmt *stmt = p->st->stmt;
	uint32_t n;

	gw_list_columns(stmt, &n);
	p->rows = gw_rows_new(p->arena, n);
	if (stmt->kind == SQL_STMT_DESCRIBE)
		return describe(p);
	switch (stmt->u.show_list) {
	case SQL_SHOW_TABLES:
		return list_tables(s, p);
	case SQL_SHOW_INDEXES:
		list_indexes(s, p);
		return NULL;
	case SQL_SHOW_CLUSTER:
		return list_cluster(s, p);
	case SQL_SHOW_DATABASES:
		list_databases(p);
		return NULL;
	}
	UNREACHABLE();
}
