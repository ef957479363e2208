/* Statements from tree to cursor: binding, result columns, running. */
#include "sql/exec_int.h"

/* ---- prepare ---- */

static struct err *
bind_plan(struct sql_bind *b, const struct sql_stmt *s, struct sql_plan *p)
{
	p->kind = s->kind;
	switch (s->kind) {
	case SQL_STMT_SELECT:
		return sql_bind_select(b, NULL, s->u.select, &p->query);
	case SQL_STMT_INSERT:
		return sql_bind_insert(b, s->u.insert, &p->change);
	case SQL_STMT_UPDATE:
		return sql_bind_update(b, s->u.update, &p->change);
	case SQL_STMT_DELETE:
		return sql_bind_delete(b, s->u.del, &p->change);
	default:
		UNREACHABLE();
	}
}

static bool
is_query(const struct sql_stmt *s)
{
	return s->kind <= SQL_STMT_DELETE;
}

static struct err *
explain_format(struct arena *a, const struct sql_option *o)
{
	const char *format;

	TRY(sql_option_text(a, o, &format));
	if (str_ieq(str_c(format), STR("text")))
		return NULL;
	if (str_ieq(str_c(format), STR("json")) ||
	    str_ieq(str_c(format), STR("xml")) ||
	    str_ieq(str_c(format), STR("yaml")))
		return sql_unsupported_at(
		    a, o->position, "formats of EXPLAIN other than text");
	return err_at(ERR(a, ERRCODE_INVALID_PARAMETER_VALUE,
			  "unrecognized value for EXPLAIN option \"format\": "
			  "\"%s\"",
			  format),
	    o->position);
}

static struct err *
explain_options(
    struct arena *a, const struct sql_options *o, struct sql_plan *p)
{
	static const char *const known[] = {"analyze", "verbose", "costs",
	    "buffers", "settings", "generic_plan", "timing", "summary", "wal",
	    NULL};

	p->costs = true;
	for (uint32_t i = 0; i < o->n; i++) {
		const struct sql_option *x = &o->items[i];
		int k = 0;
		bool on;

		if (strcmp(x->name, "format") == 0) {
			TRY(explain_format(a, x));
			continue;
		}
		while (known[k] && strcmp(known[k], x->name) != 0)
			k++;
		if (!known[k])
			return err_at(
			    ERR(a, ERRCODE_SYNTAX_ERROR,
				"unrecognized EXPLAIN option \"%s\"", x->name),
			    x->position);
		TRY(sql_option_bool(a, x, &on));
		if (k == 0)
			p->analyze = on;
		else if (k == 1)
			p->verbose = on;
		else if (k == 2)
			p->costs = on;
	}
	return NULL;
}

static struct sql_column_out
text_column(const char *name)
{
	return (struct sql_column_out){
	    .name = name, .type = EX_TEXT, .typmod = -1};
}

static void
set_columns(struct arena *a, struct sql_prepared *p, const struct sql_out *outs,
    uint32_t n)
{
	p->n_columns = n;
	p->columns = NEW_N(a, struct sql_column_out, n + 1);
	for (uint32_t i = 0; i < n; i++)
		p->columns[i] = (struct sql_column_out){
		    .name = outs[i].name,
		    .type = outs[i].expr->type,
		    .typmod = outs[i].expr->typmod,
		    .table = outs[i].table,
		    .attnum = outs[i].attnum,
		};
}

static void
describe_plan(struct arena *a, struct sql_prepared *p)
{
	const struct sql_plan *plan = p->plan;

	p->writes = plan->change != NULL && (!plan->explain || plan->analyze);
	p->returns_rows =
	    plan->explain || plan->query || plan->change->n_returning > 0;
	if (plan->explain) {
		p->n_columns = 1;
		p->columns = NEW(a, struct sql_column_out);
		p->columns[0] = text_column("QUERY PLAN");
	} else if (plan->query) {
		set_columns(a, p, plan->query->outs, plan->query->n_visible);
	} else {
		set_columns(
		    a, p, plan->change->returning, plan->change->n_returning);
	}
}

static void
init_params(struct sql_bind *b, uint32_t n_stmt, const uint32_t *given,
    uint32_t n_given)
{
	b->n_params = n_stmt > n_given ? n_stmt : n_given;
	b->params = NEW_N(b->arena, struct sql_param, b->n_params + 1);
	for (uint32_t i = 0; i < n_given; i++)
		b->params[i].type = given[i] == EX_UNKNOWN ? 0 : given[i];
}

static struct err *
check_given(struct arena *a, const uint32_t *given, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (given[i] && given[i] != EX_UNKNOWN && !ex_type(given[i]))
			return ERR(a, ERRCODE_FEATURE_NOT_SUPPORTED,
			    "parameter $%u has type OID %u, which is not "
			    "supported",
			    i + 1, given[i]);
	return NULL;
}

static struct err *
prepare_query(
    struct sql_bind *b, const struct sql_stmt *inner, struct sql_prepared *p)
{
	TRY(bind_plan(b, inner, p->plan));
	TRY(sql_params_settle(b));
	p->n_params = b->n_params;
	p->params = NEW_N(b->arena, uint32_t, b->n_params + 1);
	for (uint32_t i = 0; i < b->n_params; i++)
		p->params[i] = b->params[i].type;
	p->plan->n_params = b->n_params;
	p->plan->n_subs = b->n_subs;
	p->plan->subs = b->subs;
	p->n_new = b->n_new;
	p->new_columns = b->new_columns;
	describe_plan(b->arena, p);
	return NULL;
}

/* ---- utilities ---- */

static void
utility_columns(struct arena *a, struct sql_prepared *p,
    const struct sql_column_out *columns, uint32_t n)
{
	p->columns = arena_dup(a, columns, n * sizeof *columns);
	p->n_columns = n;
	p->returns_rows = true;
}

#define TEXT(n)                                                                \
	{                                                                      \
		.name = (n), .type = EX_TEXT, .typmod = -1                     \
	}
#define TYPED(n, t)                                                            \
	{                                                                      \
		.name = (n), .type = (t), .typmod = -1                         \
	}
#define COUNT(array) (uint32_t)(sizeof(array) / sizeof *(array))

static const struct sql_column_out show_all[] = {
    TEXT("name"), TEXT("setting"), TEXT("description")};
static const struct sql_column_out show_tables[] = {TEXT("name"),
    TEXT("schema"), TEXT("primary_key"), TYPED("replication", EX_INT4),
    TEXT("nodes"), TEXT("distribute_by"), TEXT("copies"),
    TYPED("rows", EX_INT8), TYPED("bytes", EX_INT8),
    TYPED("transition", EX_BOOL)};
static const struct sql_column_out show_indexes[] = {
    TEXT("name"), TEXT("table"), TEXT("columns"), TYPED("unique", EX_BOOL)};
static const struct sql_column_out show_cluster[] = {TYPED("id", EX_INT4),
    TEXT("alias"), TEXT("address"), TEXT("zone"), TEXT("state"),
    TYPED("level", EX_INT4)};
static const struct sql_column_out show_databases[] = {
    TEXT("name"), TEXT("owner")};
static const struct sql_column_out describe[] = {TEXT("column"), TEXT("type"),
    TYPED("nullable", EX_BOOL), TEXT("default"), TEXT("key")};

static void
list_columns(struct arena *a, enum sql_show_list list, struct sql_prepared *p)
{
	switch (list) {
	case SQL_SHOW_TABLES:
		utility_columns(a, p, show_tables, COUNT(show_tables));
		break;
	case SQL_SHOW_INDEXES:
		utility_columns(a, p, show_indexes, COUNT(show_indexes));
		break;
	case SQL_SHOW_CLUSTER:
		utility_columns(a, p, show_cluster, COUNT(show_cluster));
		break;
	case SQL_SHOW_DATABASES:
		utility_columns(a, p, show_databases, COUNT(show_databases));
		break;
	}
}

static void
describe_utility(
    struct arena *a, const struct sql_stmt *s, struct sql_prepared *p)
{
	struct sql_column_out one;

	switch (s->kind) {
	case SQL_STMT_SHOW:
		if (strcmp(s->u.show.name, "all") == 0) {
			utility_columns(a, p, show_all, COUNT(show_all));
			break;
		}
		one = text_column(s->u.show.name);
		utility_columns(a, p, &one, 1);
		break;
	case SQL_STMT_SHOW_LIST:
		list_columns(a, s->u.show_list, p);
		break;
	case SQL_STMT_DESCRIBE:
		utility_columns(a, p, describe, COUNT(describe));
		break;
	default:
		break;
	}
}

static struct err *
prepare_utility(struct arena *a, const struct sql_stmt *s,
    const uint32_t *given, uint32_t n_given, struct sql_prepared *p)
{
	uint32_t n = s->n_params > n_given ? s->n_params : n_given;

	if (s->kind == SQL_STMT_UNSUPPORTED)
		return err_copy(a, s->u.unsupported.error);
	p->utility = true;
	p->n_params = n;
	p->params = NEW_N(a, uint32_t, n + 1);
	for (uint32_t i = 0; i < n; i++)
		p->params[i] = i < n_given && given[i] ? given[i] : EX_TEXT;
	describe_utility(a, s, p);
	return NULL;
}

struct err *
sql_prepare(struct arena *a, const struct sql_env *env,
    const struct sql_stmt *stmt, const uint32_t *given, uint32_t n_given,
    struct sql_prepared **out)
{
	struct sql_bind b = {.arena = a, .env = env};
	struct sql_prepared *p = NEW(a, struct sql_prepared);
	const struct sql_stmt *inner = stmt;

	*out = p;
	p->stmt = stmt;
	p->tag = sql_tag(stmt);
	p->catalog = cl_catalog_version(env->catalog);
	if (stmt->n_params > SQL_PARAMS_MAX || n_given > SQL_PARAMS_MAX)
		return ERR(a, ERRCODE_PROGRAM_LIMIT_EXCEEDED,
		    "number of parameters must be between 0 and %u",
		    SQL_PARAMS_MAX);
	TRY(check_given(a, given, n_given));
	if (stmt->kind == SQL_STMT_EXPLAIN)
		inner = stmt->u.explain.stmt;
	if (inner->kind == SQL_STMT_UNSUPPORTED || !is_query(inner)) {
		if (inner != stmt && inner->kind != SQL_STMT_UNSUPPORTED)
			return sql_unsupported_at(a, stmt->position,
			    "EXPLAIN statements of utilities");
		return prepare_utility(a, inner, given, n_given, p);
	}
	p->plan = NEW(a, struct sql_plan);
	if (inner != stmt) {
		p->plan->explain = true;
		TRY(explain_options(a, &stmt->u.explain.options, p->plan));
	}
	init_params(&b, env->no_params ? 0 : stmt->n_params, given, n_given);
	return prepare_query(&b, inner, p);
}

/* ---- cursors ---- */

struct sql_cursor {
	struct arena *arena;
	struct sql_exec *exec;
	struct sql_node *root;
	const struct sql_prepared *prepared;
	uint64_t rows;
	struct err *failed;
	bool done;
};

struct err *
sql_plan_root(struct sql_exec *x, struct sql_node **out)
{
	const struct sql_plan *p = x->plan;

	switch (p->kind) {
	case SQL_STMT_SELECT:
		return sql_plan_query(x, p->query, out);
	case SQL_STMT_INSERT:
		return sql_insert_node(x, p->change, out);
	case SQL_STMT_UPDATE:
		return sql_update_node(x, p->change, false, out);
	case SQL_STMT_DELETE:
		return sql_update_node(x, p->change, true, out);
	default:
		UNREACHABLE();
	}
}

static struct err *
start(struct sql_exec *x, struct sql_node **out)
{
	x->explain = x->plan->explain && !x->plan->analyze;
	TRY(sql_run_subs(x));
	if (x->plan->explain)
		return sql_explain_node(x, out);
	return sql_plan_root(x, out);
}

struct err *
sql_open(struct arena *a, const struct sql_env *env,
    const struct sql_prepared *p, const struct val *params, uint32_t n,
    struct sql_source *src, struct sql_cursor **out)
{
	struct sql_cursor *c = NEW(a, struct sql_cursor);
	struct err *e;

	*out = NULL;
	ASSERT(p->plan && !p->n_new);
	if (n != p->n_params)
		return ERR(a, ERRCODE_PROTOCOL_VIOLATION,
		    "bind message supplies %u parameters, but prepared "
		    "statement requires %u",
		    n, p->n_params);
	c->arena = a;
	c->prepared = p;
	TRY(sql_exec_new(a, env, p->plan, params, src, &c->exec));
	e = start(c->exec, &c->root);
	if (e) {
		e = err_copy(a, e);
		sql_exec_close(c->exec);
		return e;
	}
	*out = c;
	return NULL;
}

struct err *
sql_next(struct sql_cursor *c, struct arena *row, struct val **vals)
{
	struct err *e;

	(void)row;
	*vals = NULL;
	if (c->failed)
		return c->failed;
	if (c->done)
		return NULL;
	e = sql_pull(c->root, vals);
	if (e) {
		c->failed = err_copy(c->arena, e);
		return c->failed;
	}
	c->done = *vals == NULL;
	c->rows += *vals != NULL;
	return NULL;
}

uint64_t
sql_rows(const struct sql_cursor *c)
{
	return c->root->changed ? *c->root->changed : c->rows;
}

void
sql_close(struct sql_cursor *c)
{
	if (!c || !c->exec)
		return;
	sql_exec_close(c->exec);
	c->exec = NULL;
}
