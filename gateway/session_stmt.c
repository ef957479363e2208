/* Prepared statements: parsed once, bound again whenever the catalog moved. */
#include "gateway/session_int.h"
#include "gateway/virtual.h"

/* How long news of the catalog are waited for before an error is told: longer
 * than it takes to leave a node that hangs. */
#define NEWS_US 3000000u

struct gw_statement *
gw_statement_new(struct gw_session *s)
{
	struct arena *a = arena_new(s->arena, "statement");
	struct gw_statement *st = NEW(a, struct gw_statement);

	st->arena = a;
	st->refs = 1;
	return st;
}

void
gw_statement_unref(struct gw_statement *st)
{
	if (!st || --st->refs)
		return;
	gw_plan_unref(st->plan);
	arena_free(st->arena);
}

struct gw_plan *
gw_plan_ref(struct gw_plan *p)
{
	if (p)
		p->refs++;
	return p;
}

void
gw_plan_unref(struct gw_plan *p)
{
	if (!p || --p->refs)
		return;
	cl_catalog_unref(p->catalog);
	arena_free(p->arena);
}

/* Schema ids of search_path in this database; "$user" and unknown names fall
 * away, as in PostgreSQL. */
static uint32_t
resolve_path(struct gw_session *s, const struct cl_catalog *c, uint32_t *path)
{
	const char *p = gw_settings_derived(s->settings)->search_path;
	uint32_t n = 0;

	while (*p && n < 16) {
		const struct cl_object *o;
		struct str name;
		size_t len;

		p += strspn(p, " ,");
		if (*p == '"') {
			len = strcspn(++p, "\"");
			name = str_of(p, len);
			p += len + (p[len] == '"');
		} else {
			len = strcspn(p, " ,");
			name = str_of(p, len);
			p += len;
		}
		if (str_eq(name, STR("$user")))
			name = s->user;
		o = name.len ? cl_find_name(c, CL_SCHEMA, s->database, name)
			     : NULL;
		if (o)
			path[n++] = o->id;
	}
	return n;
}

static int64_t
wall_clock(void *arg)
{
	struct gw_session *s = TAKE(struct gw_session, arg, GW_SESSION_MAGIC);

	/* From 1970 to 2000. */
	return (int64_t)world_wall_us(s->world) - INT64_C(946684800000000);
}

static int64_t
mono_clock(void *arg)
{
	struct gw_session *s = TAKE(struct gw_session, arg, GW_SESSION_MAGIC);

	return (int64_t)world_mono_us(s->world);
}

static void
random_bytes(void *arg, void *p, size_t n)
{
	struct gw_session *s = TAKE(struct gw_session, arg, GW_SESSION_MAGIC);

	world_random(s->world, p, n);
}

/* pg_sleep(): until then, or until the statement's own end. */
static struct err *
sleep_for(void *arg, double seconds)
{
	struct gw_session *s = TAKE(struct gw_session, arg, GW_SESSION_MAGIC);
	uint64_t until = world_mono_us(s->world);

	if (!s->stmt)
		return ERR(s->msg_arena, ERRCODE_FEATURE_NOT_SUPPORTED,
		    "pg_sleep() is not available here");
	/* A statement ends long before a billion seconds. */
	if (seconds > 0)
		until += (uint64_t)((seconds < 1e9 ? seconds : 1e9) * 1e6);
	if (until > s->stmt->deadline_us)
		until = s->stmt->deadline_us;
	fiber_sleep(s->world, until);
	return gw_stmt_check(s->stmt, s->msg_arena);
}

/* What is gathered is also sent: it must not be all that a session may have. */
static size_t
batch_bytes(const struct gw_conf *c)
{
	size_t max = c->session_memory / 8;

	return c->insert_batch < max ? c->insert_batch : max;
}

void
gw_session_env(struct gw_session *s, const struct cl_catalog *c,
    struct ex_env *ex, uint32_t path[16], struct sql_env *env)
{
	const struct cl_object *schema;

	*ex = gw_settings_derived(s->settings)->ex;
	ex->statement_us = wall_clock(s);
	ex->now_us = s->txn == GW_TXN_IDLE ? ex->statement_us : s->txn_start_us;
	ex->clock_us = wall_clock;
	ex->mono_us = mono_clock;
	ex->random = random_bytes;
	ex->sleep = sleep_for;
	ex->sequence = gw_session_sequence;
	ex->relation_id = gw_session_relation_id;
	ex->relation_name = gw_session_relation_name;
	ex->serial = gw_session_serial;
	ex->placement = gw_session_placement;
	ex->arg = s;
	ex->user = ex->session_user = s->user;
	ex->database = s->database_name;
	ex->backend_pid = s->pid;
	ex->version =
	    STR("PostgreSQL 15.4 (skaidb " PACKAGE_VERSION "), compatible");
	memset(env, 0, sizeof *env);
	env->catalog = c;
	env->database = s->database;
	env->path = path;
	env->n_path = resolve_path(s, c, path);
	schema = env->n_path ? cl_find(c, CL_SCHEMA, path[0]) : NULL;
	ex->schema = schema ? schema->u.schema.name : STR_NONE;
	env->virtuals = gw_virtuals;
	env->n_virtuals = gw_n_virtuals;
	env->ex = ex;
	env->row_max = s->w->conf->row_size_max;
	env->batch_bytes = batch_bytes(s->w->conf);
	env->notice = gw_session_notice;
	env->notice_arg = s;
}

/* A statement bound again must not change what its users were told of it. */
static bool
same_columns(const struct sql_prepared *x, const struct sql_prepared *y)
{
	if (x->n_columns != y->n_columns)
		return false;
	for (uint32_t i = 0; i < x->n_columns; i++)
		if (x->columns[i].type != y->columns[i].type)
			return false;
	return true;
}

static bool
is_current(struct gw_session *s, const struct gw_plan *p)
{
	return p && p->path_version == s->path_version &&
	       cl_catalog_version(p->catalog) ==
		   gw_catalog_version(s->w->catalog);
}

static struct gw_plan *
plan_new(struct gw_session *s)
{
	struct arena *a = arena_new(s->arena, "plan");
	struct gw_plan *p = NEW(a, struct gw_plan);

	p->arena = a;
	p->refs = 1;
	p->catalog = cl_catalog_ref(gw_catalog_now(s->w->catalog));
	p->path_version = s->path_version;
	return p;
}

static struct err *
plan_now(struct gw_session *s, struct gw_statement *st, struct arena *a)
{
	struct gw_plan *p;
	struct ex_env ex;
	uint32_t path[16];
	struct sql_env env;
	struct err *e;

	if (!st->stmt || is_current(s, st->plan))
		return NULL;
	p = plan_new(s);
	gw_session_env(s, p->catalog, &ex, path, &env);
	env.no_params = st->no_params;
	e = sql_prepare(
	    p->arena, &env, st->stmt, st->given, st->n_given, &p->prepared);
	/* Who sent a simple query has not been told of columns yet. */
	if (!e && st->plan && !st->no_params &&
	    !same_columns(st->plan->prepared, p->prepared))
		e = ERR(a, ERRCODE_FEATURE_NOT_SUPPORTED,
		    "cached plan must not change result type");
	if (e) {
		e = err_copy(a, e);
		gw_plan_unref(p);
		return e;
	}
	if (p->prepared->utility)
		p->columns =
		    gw_utility_columns(s, st->stmt, p->arena, &p->n_columns);
	if (!p->columns && p->prepared->returns_rows) {
		p->columns = p->prepared->columns;
		p->n_columns = p->prepared->n_columns;
	}
	gw_plan_unref(st->plan);
	st->plan = p;
	return NULL;
}

/* Says that something does not exist. */
static bool
is_missing(const struct err *e)
{
	return err_is(e, ERRCODE_UNDEFINED_TABLE) ||
	       err_is(e, ERRCODE_UNDEFINED_COLUMN) ||
	       err_is(e, ERRCODE_UNDEFINED_OBJECT) ||
	       err_is(e, ERRCODE_INVALID_SCHEMA_NAME);
}

/* What another gateway has just made is there for everybody: before a statement
 * fails for want of it, the catalog's leader is asked for news. When it does
 * not answer, what is missing may be there all the same: that is said. */
struct err *
gw_session_missing(
    struct gw_session *s, struct arena *a, struct err *e, uint64_t version)
{
	struct gw_catalog *c = s->w->catalog;

	if (!e || !is_missing(e))
		return e;
	if (!gw_catalog_confirm(c, world_mono_us(s->world) + NEWS_US))
		return err_detail(
		    ERR(a, ERRCODE_CANNOT_CONNECT_NOW,
			"the catalog does not answer whether it has what "
			"this gateway does not know"),
		    "By what this gateway knows: %s.", e->message);
	return gw_catalog_version(c) > version ? NULL : e;
}

struct err *
gw_statement_plan(
    struct gw_session *s, struct gw_statement *st, struct arena *a)
{
	uint64_t version = gw_catalog_version(s->w->catalog);
	struct err *e = plan_now(s, st, a);

	if (!e)
		return NULL;
	TRY(gw_session_missing(s, a, e, version));
	return plan_now(s, st, a);
}

void
gw_session_describe_rows(struct gw_session *s, const struct gw_plan *plan,
    const uint16_t *formats, uint32_t n_formats)
{
	const struct sql_column_out *cols = plan ? plan->columns : NULL;
	struct wire_column *out;

	if (!cols) {
		wire_no_data(&s->out);
		return;
	}
	out = NEW_N(s->msg_arena, struct wire_column, plan->n_columns + 1);
	for (uint32_t i = 0; i < plan->n_columns; i++) {
		const struct ex_type *t = ex_type(cols[i].type);

		out[i] = (struct wire_column){.name = str_c(cols[i].name),
		    .table = cols[i].table,
		    .attnum = cols[i].attnum,
		    .type = cols[i].type,
		    .typlen = t ? t->len : -1,
		    .typmod = cols[i].typmod,
		    .format = wire_format_of(formats, n_formats, i)};
	}
	wire_row_description(&s->out, out, plan->n_columns);
}
