/* CREATE, ALTER and RENAME of sequences. */
#include "gateway/access.h"
#include "gateway/ddl.h"
#include "gateway/sequence.h"
#include "gateway/session_int.h"

static void
notice(struct gw_session *s, struct gw_portal *p, const char *sqlstate,
    const char *text)
{
	struct err *e = ERR(p->arena, sqlstate, "%s", text);

	e->severity = ERR_NOTICE;
	gw_session_notice(s, e);
}

/* ---- OWNED BY ---- */

static const struct cl_object *
schema_of(const struct gw_portal *p, uint32_t id)
{
	return cl_find(p->env.catalog, CL_SCHEMA, id);
}

/* The column that is going to own q. */
static struct err *
find_owner(struct gw_portal *p, const struct gw_seq_options *o,
    const struct cl_sequence *q, struct gw_sequence_change *out)
{
	struct arena *a = p->arena;
	const struct cl_object *rel;
	const struct cl_table *t;
	const struct cl_column *c;

	out->table = out->column = 0;
	if (o->owned != GW_OWNED_BY)
		return NULL;
	TRY(sql_find_relation(a, &p->env, &o->table, &rel));
	if (rel->kind != CL_TABLE)
		return err_detail(
		    ERR(a, ERRCODE_WRONG_OBJECT_TYPE,
			"sequence cannot be owned by relation \"%s\"",
			o->table.name),
		    "This operation is not supported for %s.",
		    rel->kind == CL_INDEX ? "indexes" : "sequences");
	t = &rel->u.table;
	if (t->owner != q->owner)
		return ERR(a, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
		    "sequence must have same owner as table it is linked to");
	if (t->schema != q->schema)
		return ERR(a, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
		    "sequence must be in same schema as table it is linked to");
	c = cl_table_column(t, str_c(o->column));
	if (!c)
		return ERR(a, ERRCODE_UNDEFINED_COLUMN,
		    "column \"%s\" of relation \"%.*s\" does not exist",
		    o->column, STR_FMT(t->name));
	out->table = t->id;
	out->column = c->id;
	return NULL;
}

/* ---- CREATE ---- */

static struct err *
choose_schema(struct gw_session *s, struct gw_portal *p, struct cl_sequence *q)
{
	const struct sql_name *n = &p->st->stmt->u.sequence.name;
	const struct cl_object *o = NULL;

	if (n->schema) {
		o = cl_find_name(
		    p->env.catalog, CL_SCHEMA, s->database, str_c(n->schema));
		if (!o)
			return ERR(p->arena, ERRCODE_INVALID_SCHEMA_NAME,
			    "schema \"%s\" does not exist", n->schema);
	} else if (p->env.n_path) {
		o = schema_of(p, p->env.path[0]);
	}
	if (!o)
		return ERR(p->arena, ERRCODE_INVALID_SCHEMA_NAME,
		    "no schema has been selected to create in");
	q->schema = o->id;
	return gw_may_create(&p->stmt, p->arena, s->database, o->u.schema.name);
}

static struct err *
create(struct gw_session *s, struct gw_portal *p)
{
	const struct sql_sequence *cs = &p->st->stmt->u.sequence;
	struct cl_sequence q = {
	    .owner = s->role, .name = str_c(cs->name.name), .type = EX_INT8};
	struct gw_sequence_def def = {&q, cs->if_exists};
	struct gw_sequence_change owner;
	struct gw_seq_options o;
	bool created = false;

	if (cs->temporary)
		return err_at(ERR(p->arena, ERRCODE_FEATURE_NOT_SUPPORTED,
				  "CREATE TEMPORARY SEQUENCE is not supported "
				  "yet"),
		    cs->name.position);
	TRY(choose_schema(s, p, &q));
	if (!cs->if_exists ||
	    !cl_find_relation(p->env.catalog, q.schema, q.name)) {
		TRY(gw_seq_options_read(p->arena, &cs->options, false, &o));
		TRY(gw_seq_options_apply(p->arena, &o, true, &q));
		TRY(gw_seq_options_restart(p->arena, &o, &q, &q.first));
		TRY(find_owner(p, &o, &q, &owner));
		q.table = owner.table;
		q.column = owner.column;
		TRY(gw_ddl_create_sequence(&p->stmt, p->arena, &def, &created));
	}
	if (!created)
		notice(s, p, ERRCODE_DUPLICATE_TABLE,
		    arena_printf(p->arena,
			"relation \"%s\" already exists, skipping",
			cs->name.name));
	return NULL;
}

/* ---- ALTER ---- */

/* *out NULL: not there, which was said and is fine. */
static struct err *
find_mine(struct gw_session *s, struct gw_portal *p, const struct sql_name *n,
    bool if_exists, const struct cl_sequence **out)
{
	const struct cl_object *o;
	struct err *e = sql_find_relation(p->arena, &p->env, n, &o);

	*out = NULL;
	if (e && if_exists && err_is(e, ERRCODE_UNDEFINED_TABLE)) {
		notice(s, p, ERRCODE_SUCCESSFUL_COMPLETION,
		    arena_printf(p->arena, "%s, skipping", e->message));
		return NULL;
	}
	if (e) {
		e->position = 0;
		return e;
	}
	if (o->kind != CL_SEQUENCE)
		return ERR(p->arena, ERRCODE_WRONG_OBJECT_TYPE,
		    "\"%s\" is not a sequence", n->name);
	*out = &o->u.sequence;
	return gw_must_own(&p->stmt, p->arena, o->u.sequence.owner, "sequence",
	    o->u.sequence.name);
}

/* An identity belongs to its column for good. */
static struct err *
check_identity(struct gw_portal *p, const struct gw_seq_options *o,
    const struct cl_sequence *q)
{
	const struct cl_table *t = cl_catalog_table(p->env.catalog, q->table);

	if (o->owned == GW_OWNED_KEEP || !q->identity || !t)
		return NULL;
	return err_detail(ERR(p->arena, ERRCODE_FEATURE_NOT_SUPPORTED,
			      "cannot change ownership of identity sequence"),
	    "Sequence \"%.*s\" is linked to table \"%.*s\".", STR_FMT(q->name),
	    STR_FMT(t->name));
}

/* Where it stands must lie within the new limits; *restart where it is put. */
static struct err *
check_value(struct gw_portal *p, const struct gw_seq_options *o,
    const struct cl_sequence *old, int64_t *restart)
{
	struct cl_sequence q = *old;
	struct gw_seq_value now = {0, false};

	TRY(gw_seq_options_apply(p->arena, o, false, &q));
	if (!o->restart)
		TRY(gw_sequence_get(&p->stmt, p->arena, old->id, &now));
	*restart = now.last;
	return gw_seq_options_restart(p->arena, o, &q, restart);
}

static bool
only_restart(const struct sql_options *o)
{
	return o->n == 1 && strcmp(o->items[0].name, "restart") == 0;
}

static struct err *
alter(struct gw_session *s, struct gw_portal *p)
{
	const struct sql_sequence *as = &p->st->stmt->u.sequence;
	struct gw_sequence_change c = {.id = 0};
	const struct cl_sequence *q;
	struct gw_seq_options o;
	int64_t restart = 0;

	TRY(find_mine(s, p, &as->name, as->if_exists, &q));
	if (!q)
		return NULL;
	TRY(gw_seq_options_read(p->arena, &as->options, false, &o));
	TRY(check_value(p, &o, q, &restart));
	TRY(check_identity(p, &o, q));
	TRY(find_owner(p, &o, q, &c));
	c.id = q->id;
	c.options = &o;
	if (!only_restart(&as->options))
		TRY(gw_ddl_alter_sequence(&p->stmt, p->arena, &c));
	gw_session_sequence_forget(s, c.id);
	if (!o.restart)
		return NULL;
	return gw_sequence_set(
	    &p->stmt, p->arena, c.id, (struct gw_seq_value){restart, false});
}

struct err *
gw_util_rename(struct gw_session *s, struct gw_portal *p)
{
	const struct sql_rename *r = &p->st->stmt->u.rename;
	struct gw_sequence_change c = {.rename = str_c(r->to)};
	const struct cl_sequence *q;

	if (r->object == SQL_OBJ_INDEX)
		return gw_util_rename_index(s, p);
	if (r->object != SQL_OBJ_SEQUENCE)
		return ERR(p->arena, ERRCODE_FEATURE_NOT_SUPPORTED,
		    "%s is not supported yet", sql_tag(p->st->stmt));
	TRY(find_mine(s, p, &r->name, r->if_exists, &q));
	if (!q)
		return NULL;
	if (str_eq(q->name, c.rename))
		return ERR(p->arena, ERRCODE_DUPLICATE_TABLE,
		    "relation \"%s\" already exists", r->to);
	c.id = q->id;
	return gw_ddl_alter_sequence(&p->stmt, p->arena, &c);
}

struct err *
gw_util_sequence(struct gw_session *s, struct gw_portal *p)
{
	return p->st->stmt->kind == SQL_STMT_CREATE_SEQUENCE ? create(s, p)
							     : alter(s, p);
}
