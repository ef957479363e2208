/* skaidb.placement_of(): where a row lies, or would. */
#include "expr/table.h"
#include "gateway/route.h"
#include "gateway/session_int.h"

static struct err *
find_table(struct gw_session *s, struct arena *a, struct str name,
    const struct cl_table **out)
{
	uint32_t id;

	TRY(gw_session_relation_id(s, a, name, &id));
	*out = cl_catalog_table(gw_catalog_now(s->w->catalog), id);
	if (!*out)
		return ERR(a, ERRCODE_WRONG_OBJECT_TYPE,
		    "\"%.*s\" is not a table", STR_FMT(name));
	if (!gw_route_columns(*out))
		return ERR(a, ERRCODE_WRONG_OBJECT_TYPE,
		    "table \"%.*s\" has no primary key", STR_FMT(name));
	return NULL;
}

/* A text may stand for a value of the column's type, as a literal does. */
static struct val
given(const struct cl_table *t, struct val v)
{
	if (v.type == EX_TEXT && !t->open)
		v.type = EX_UNKNOWN;
	return v;
}

static struct err *
placing_key(struct arena *a, const struct sql_env *env,
    const struct cl_table *t, const struct ex_placement *p, struct buf *out)
{
	uint32_t n = gw_route_columns(t);
	struct val pk[CL_KEY_COLUMNS_MAX];

	if (p->n < n || p->n > t->n_pkey)
		return ERR(a, ERRCODE_INVALID_PARAMETER_VALUE,
		    "a row of table \"%.*s\" is placed by the first %u of the "
		    "%u columns of its key, %u values were given",
		    STR_FMT(t->name), n, t->n_pkey, p->n);
	for (uint32_t i = 0; i < n; i++) {
		const struct cl_column *c = cl_table_column_id(t, t->pkey[i]);
		struct sql_key_value kv = {
		    .column = c, .given = given(t, p->key[i])};

		TRY(sql_key_values(a, env, t, &kv));
		if (!kv.n)
			return ERR(a, ERRCODE_INVALID_PARAMETER_VALUE,
			    "no value of column \"%.*s\" equals what was "
			    "given",
			    STR_FMT(c->name));
		pk[i] = kv.vals[0];
	}
	ex_table_key_prefix(out, t, pk, n);
	return NULL;
}

static struct str
route_json(struct arena *a, const struct gw_route *to)
{
	struct buf b;

	buf_init(&b, a);
	buf_printf(&b, "{\"placement\": %u, \"slot\": %u, \"epoch\": %u, ",
	    to->placement, to->slot, to->epoch);
	buf_printf(&b, "\"members\": [");
	for (uint32_t i = 0; i < to->n; i++)
		buf_printf(&b, "%s%u", i ? ", " : "", to->members[i]);
	buf_printf(&b, "]}");
	return buf_view(&b);
}

struct err *
gw_session_placement(void *arg, struct arena *a, struct ex_placement *p)
{
	struct gw_session *s = TAKE(struct gw_session, arg, GW_SESSION_MAGIC);
	const struct cl_catalog *now;
	const struct cl_table *t;
	struct gw_route to;
	struct sql_env env;
	struct ex_env ex;
	uint32_t path[16];
	struct buf key;

	TRY(find_table(s, a, p->table, &t));
	now = gw_catalog_now(s->w->catalog);
	gw_session_env(s, now, &ex, path, &env);
	buf_init(&key, a);
	TRY(placing_key(a, &env, t, p, &key));
	if (!gw_route_row(now, t, buf_view(&key), &to))
		return ERR(a, ERRCODE_CANNOT_CONNECT_NOW,
		    "the catalog knows no group for the row");
	p->json = route_json(a, &to);
	return NULL;
}
