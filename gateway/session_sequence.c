/* Sequences as one session sees them: names, and the values it was given. */
#include "expr/func.h"
#include "gateway/access.h"
#include "gateway/sequence.h"
#include "gateway/session_int.h"

/* What a session remembers of a sequence.  Values last + increment, ... cached
 * are its own and not used yet. */
struct seq_state {
	uint32_t id;
	bool valid; /* currval() is defined */
	int64_t last, cached, increment;
	/* How many values the statement `stmt` is still going to ask for. */
	uint64_t stmt;
	uint64_t reserved;
};

/* ---- names ---- */

static struct err *
no_relation(struct arena *a, uint32_t id)
{
	return ERR(a, ERRCODE_UNDEFINED_TABLE,
	    "could not open relation with OID %u", id);
}

static struct err *
find(struct gw_session *s, struct arena *a, struct str text, uint32_t *id)
{
	const struct cl_object *o;
	struct sql_name name;
	struct sql_env env;
	struct ex_env ex;
	uint32_t path[16];

	TRY(sql_name_read(a, text, &name));
	gw_session_env(s, gw_catalog_now(s->w->catalog), &ex, path, &env);
	if (name.schema && !name.catalog &&
	    !cl_find_name(
		env.catalog, CL_SCHEMA, s->database, str_c(name.schema)) &&
	    !cl_find_name(env.catalog, CL_DATABASE, 0, str_c(name.schema)))
		return ERR(a, ERRCODE_INVALID_SCHEMA_NAME,
		    "schema \"%s\" does not exist", name.schema);
	TRY(sql_find_relation(a, &env, &name, &o));
	*id = o->id;
	return NULL;
}

struct err *
gw_session_relation_id(
    void *arg, struct arena *a, struct str text, uint32_t *id)
{
	struct gw_session *s = TAKE(struct gw_session, arg, GW_SESSION_MAGIC);
	uint64_t version = gw_catalog_version(s->w->catalog);
	struct err *e = find(s, a, text, id);

	if (!e)
		return NULL;
	TRY(gw_session_missing(s, a, e, version));
	return find(s, a, text, id);
}

static void
relation_of(const struct cl_object *o, uint32_t *schema, struct str *name)
{
	(void)cl_object_name(o, schema, name);
}

static const struct cl_object *
relation_by_id(const struct cl_catalog *c, uint32_t id)
{
	const struct cl_object *o = cl_find(c, CL_TABLE, id);

	if (!o)
		o = cl_find(c, CL_SEQUENCE, id);
	return o ? o : cl_find(c, CL_INDEX, id);
}

static struct str
qualified(struct arena *a, struct str schema, struct str name)
{
	struct buf b;

	buf_init(&b, a);
	if (schema.len) {
		ex_put_ident(&b, schema);
		buf_u8(&b, '.');
	}
	ex_put_ident(&b, name);
	return buf_view(&b);
}

struct str
gw_session_relation_name(void *arg, struct arena *a, uint32_t id)
{
	struct gw_session *s = TAKE(struct gw_session, arg, GW_SESSION_MAGIC);
	const struct cl_catalog *c = gw_catalog_now(s->w->catalog);
	const struct cl_object *o = relation_by_id(c, id), *schema,
			       *seen = NULL;
	struct sql_env env;
	struct ex_env ex;
	uint32_t path[16], in;
	struct str name;

	if (!o)
		return STR_NONE;
	relation_of(o, &in, &name);
	gw_session_env(s, c, &ex, path, &env);
	for (uint32_t i = 0; i < env.n_path && !seen; i++)
		seen = cl_find_relation(c, path[i], name);
	schema = seen == o ? NULL : cl_find(c, CL_SCHEMA, in);
	return qualified(a, schema ? schema->u.schema.name : STR_NONE, name);
}

struct err *
gw_session_serial(void *arg, struct arena *a, struct str table,
    struct str column, struct str *name)
{
	struct gw_session *s = TAKE(struct gw_session, arg, GW_SESSION_MAGIC);
	const struct cl_object *o, *schema;
	const struct cl_catalog *c;
	const struct cl_column *col;
	uint32_t id;
	size_t at = 0;

	*name = STR_NONE;
	TRY(gw_session_relation_id(s, a, table, &id));
	c = gw_catalog_now(s->w->catalog);
	o = relation_by_id(c, id);
	col = o && o->kind == CL_TABLE ? cl_table_column(&o->u.table, column)
				       : NULL;
	if (!col)
		return ERR(a, ERRCODE_UNDEFINED_COLUMN,
		    "column \"%.*s\" of relation \"%.*s\" does not exist",
		    STR_FMT(column), STR_FMT(table));
	while ((o = cl_each(c, CL_SEQUENCE, &at))) {
		const struct cl_sequence *q = &o->u.sequence;

		if (q->table != id || q->column != col->id)
			continue;
		schema = cl_find(c, CL_SCHEMA, q->schema);
		*name = qualified(
		    a, schema ? schema->u.schema.name : STR_NONE, q->name);
		return NULL;
	}
	return NULL;
}

/* ---- what a session remembers ---- */

static struct seq_state *
state_of(struct gw_session *s, uint32_t id)
{
	struct seq_state *st = map_get(s->sequences, MAP_KEY(&id));

	if (!st) {
		st = NEW(s->arena, struct seq_state);
		st->id = id;
		map_put(s->sequences, MAP_KEY(&id), st);
	}
	return st;
}

void
gw_session_sequence_forget(struct gw_session *s, uint32_t id)
{
	struct seq_state *st = map_get(s->sequences, MAP_KEY(&id));

	if (st)
		st->cached = st->last;
}

void
gw_session_sequences_discard(struct gw_session *s)
{
	struct str key;
	size_t at = 0;
	void *v;

	while (map_next(s->sequences, &at, &key, &v)) {
		struct seq_state *st = v;

		*st = (struct seq_state){.id = st->id};
	}
	s->last_sequence = 0;
}

/* ---- the functions ---- */

static struct err *
check_writable(struct gw_session *s, struct arena *a, const char *function)
{
	const struct gw_derived *d = gw_settings_derived(s->settings);
	bool read_only =
	    s->txn == GW_TXN_IDLE ? d->default_read_only : d->read_only;

	if (!read_only)
		return NULL;
	return ERR(a, ERRCODE_READ_ONLY_SQL_TRANSACTION,
	    "cannot execute %s() in a read-only transaction", function);
}

/* The definition as it is now; what another gateway has just made is asked
 * for. */
static struct err *
definition(struct gw_session *s, struct arena *a, uint32_t id,
    const struct cl_object **out)
{
	struct gw_catalog *c = s->w->catalog;
	const struct cl_object *o = relation_by_id(gw_catalog_now(c), id);
	uint64_t version = gw_catalog_version(c);

	if (!o) {
		TRY(gw_session_missing(s, a, no_relation(a, id), version));
		o = relation_by_id(gw_catalog_now(c), id);
	}
	if (!o)
		return no_relation(a, id);
	if (o->kind != CL_SEQUENCE)
		return ERR(a, ERRCODE_WRONG_OBJECT_TYPE,
		    "\"%.*s\" is not a sequence", STR_FMT(o->u.table.name));
	*out = o;
	return gw_may_draw(s->stmt, a, &o->u.sequence);
}

/* How many to draw: what the statement is known to want, by whole caches. */
static uint64_t
wanted(struct gw_session *s, const struct seq_state *st,
    const struct cl_sequence *q)
{
	uint64_t cache = (uint64_t)q->cache;
	uint64_t reserved = st->stmt == s->statements_run ? st->reserved : 0;

	if (reserved <= cache)
		return cache;
	return (reserved + cache - 1) / cache * cache;
}

static struct err *
nextval(struct gw_session *s, struct arena *a, struct ex_sequence *call)
{
	const struct cl_object *o;
	struct seq_state *st;
	struct gw_draw draw;

	TRY(check_writable(s, a, "nextval"));
	TRY(definition(s, a, call->id, &o));
	st = state_of(s, call->id);
	if (st->last != st->cached) {
		st->last =
		    (int64_t)((uint64_t)st->last + (uint64_t)st->increment);
	} else {
		TRY(gw_sequence_draw(s->stmt, a, call->id,
		    wanted(s, st, &o->u.sequence), &draw));
		st->last = draw.first;
		st->cached = draw.last;
		st->increment = draw.increment;
	}
	st->valid = true;
	st->reserved -= st->reserved > 0;
	s->last_sequence = call->id;
	call->value = st->last;
	return NULL;
}

static struct err *
currval(struct gw_session *s, struct arena *a, struct ex_sequence *call)
{
	const struct cl_object *o;
	const struct seq_state *st;

	TRY(definition(s, a, call->id, &o));
	st = map_get(s->sequences, MAP_KEY(&call->id));
	if (!st || !st->valid)
		return ERR(a, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
		    "currval of sequence \"%.*s\" is not yet defined in this "
		    "session",
		    STR_FMT(o->u.sequence.name));
	call->value = st->last;
	return NULL;
}

static struct err *
lastval(struct gw_session *s, struct arena *a, struct ex_sequence *call)
{
	const struct cl_object *o;

	call->id = s->last_sequence;
	if (!call->id ||
	    !cl_catalog_sequence(gw_catalog_now(s->w->catalog), call->id))
		return ERR(a, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
		    "lastval is not yet defined in this session");
	TRY(definition(s, a, call->id, &o));
	call->value = state_of(s, call->id)->last;
	return NULL;
}

static struct err *
setval(struct gw_session *s, struct arena *a, struct ex_sequence *call)
{
	const struct cl_object *o;
	const struct cl_sequence *q;
	struct seq_state *st;

	TRY(check_writable(s, a, "setval"));
	TRY(definition(s, a, call->id, &o));
	q = &o->u.sequence;
	if (call->value < q->min || call->value > q->max)
		return ERR(a, ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
		    "setval: value %lld is out of bounds for sequence "
		    "\"%.*s\" (%lld..%lld)",
		    (long long)call->value, STR_FMT(q->name), (long long)q->min,
		    (long long)q->max);
	TRY(gw_sequence_set(s->stmt, a, call->id,
	    (struct gw_seq_value){call->value, call->is_called}));
	st = state_of(s, call->id);
	if (call->is_called) {
		st->last = call->value;
		st->valid = true;
	}
	st->cached = st->last;
	return NULL;
}

static void
reserve(struct gw_session *s, const struct ex_sequence *call)
{
	struct seq_state *st = state_of(s, call->id);

	st->stmt = s->statements_run;
	st->reserved = (uint64_t)call->value;
}

struct err *
gw_session_sequence(void *arg, struct arena *a, struct ex_sequence *call)
{
	struct gw_session *s = TAKE(struct gw_session, arg, GW_SESSION_MAGIC);

	if (!s->stmt)
		return ERR(a, ERRCODE_FEATURE_NOT_SUPPORTED,
		    "sequences are not available here");
	switch (call->op) {
	case EX_NEXTVAL:
		return nextval(s, a, call);
	case EX_CURRVAL:
		return currval(s, a, call);
	case EX_LASTVAL:
		return lastval(s, a, call);
	case EX_SETVAL:
		return setval(s, a, call);
	case EX_RESERVE:
		reserve(s, call);
		return NULL;
	}
	UNREACHABLE();
}
