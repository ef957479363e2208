/* Expression trees as SQL text: every operator with its parentheses, every name
 * quoted where it must be, so that the text parses to the same tree.
 *
 * Written without recursion, since trees may be deeper than a fiber's stack:
 * what is still to be written is a list of pieces, newest first. */
#include <stdio.h>

#include "base/buf.h"

#include "sql/parse.h"
#include "sql/pgparse.h"
#include "sql/sql.h"

struct piece {
	const struct sql_expr *expr; /* or: */
	const char *text;
	bool tight; /* something binds closely to it: (-5)::text */
};

struct deparse {
	struct arena *scratch;
	struct buf out;
	struct piece *pieces;
	size_t n;
	size_t cap;
};

static void
push(struct deparse *d, struct piece p)
{
	if (d->n == d->cap) {
		size_t cap = d->cap ? d->cap * 2 : 64;

		d->pieces = arena_grow(d->scratch, d->pieces,
		    d->cap * sizeof *d->pieces, cap * sizeof *d->pieces);
		d->cap = cap;
	}
	d->pieces[d->n++] = p;
}

static void
text(struct deparse *d, const char *s)
{
	push(d, (struct piece){.text = s});
}

static void
expr(struct deparse *d, const struct sql_expr *e)
{
	push(d, (struct piece){.expr = e});
}

static void
tight(struct deparse *d, const struct sql_expr *e)
{
	push(d, (struct piece){.expr = e, .tight = true});
}

static void
exprs(struct deparse *d, struct sql_expr *const *e, uint32_t n,
    const char *between)
{
	for (uint32_t i = 0; i < n; i++) {
		if (i)
			text(d, between);
		expr(d, e[i]);
	}
}

/* ---- names, constants, types: text at once ---- */

static void
put_ident(struct buf *b, const char *s)
{
	bool plain = (s[0] >= 'a' && s[0] <= 'z') || s[0] == '_';

	for (const char *p = s; *p && plain; p++)
		plain = (*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9') ||
			*p == '_';
	if (plain && !sql_pg_needs_quotes(s)) {
		buf_str(b, str_c(s));
		return;
	}
	buf_u8(b, '"');
	for (; *s; s++) {
		if (*s == '"')
			buf_u8(b, '"');
		buf_u8(b, (uint8_t)*s);
	}
	buf_u8(b, '"');
}

static void
put_name(struct buf *b, const struct sql_name *n)
{
	if (n->catalog) {
		put_ident(b, n->catalog);
		buf_u8(b, '.');
	}
	if (n->schema) {
		put_ident(b, n->schema);
		buf_u8(b, '.');
	}
	put_ident(b, n->name);
}

static void
put_string(struct buf *b, const char *s)
{
	buf_u8(b, '\'');
	for (; *s; s++) {
		if (*s == '\'')
			buf_u8(b, '\'');
		buf_u8(b, (uint8_t)*s);
	}
	buf_u8(b, '\'');
}

static const struct {
	const char *name;
	const char *words;
	const char *after; /* the modifiers */
} type_words[] = {
    {"bool", "boolean", ""},
    {"int2", "smallint", ""},
    {"int4", "integer", ""},
    {"int8", "bigint", ""},
    {"float4", "real", ""},
    {"float8", "double precision", ""},
    {"numeric", "numeric", ""},
    {"varchar", "character varying", ""},
    {"bit", "bit", ""},
    {"varbit", "bit varying", ""},
    {"time", "time", " without time zone"},
    {"timetz", "time", " with time zone"},
    {"timestamp", "timestamp", " without time zone"},
    {"timestamptz", "timestamp", " with time zone"},
};

static void
put_mods(struct buf *b, const int32_t *mods, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		buf_printf(b, "%s%d", i ? ", " : "(", mods[i]);
	if (n)
		buf_u8(b, ')');
}

/* Bits of an interval's mask, as PostgreSQL numbers its fields. */
#define YEAR   (1 << 2)
#define MONTH  (1 << 1)
#define DAY    (1 << 3)
#define HOUR   (1 << 10)
#define MINUTE (1 << 11)
#define SECOND (1 << 12)

static const struct {
	int32_t mask;
	const char *words;
} interval_words[] = {
    {YEAR, " year"},
    {MONTH, " month"},
    {DAY, " day"},
    {HOUR, " hour"},
    {MINUTE, " minute"},
    {SECOND, " second"},
    {YEAR | MONTH, " year to month"},
    {DAY | HOUR, " day to hour"},
    {DAY | HOUR | MINUTE, " day to minute"},
    {DAY | HOUR | MINUTE | SECOND, " day to second"},
    {HOUR | MINUTE, " hour to minute"},
    {HOUR | MINUTE | SECOND, " hour to second"},
    {MINUTE | SECOND, " minute to second"},
};

static void
put_interval(struct buf *b, const struct sql_typename *t)
{
	buf_str(b, STR("interval"));
	for (size_t i = 0;
	     t->n_mods && i < sizeof interval_words / sizeof interval_words[0];
	     i++)
		if (interval_words[i].mask == t->mods[0])
			buf_str(b, str_c(interval_words[i].words));
	if (t->n_mods > 1)
		put_mods(b, t->mods + 1, t->n_mods - 1);
}

static void
put_base_type(struct buf *b, const struct sql_typename *t)
{
	const struct sql_name *n = &t->name;
	bool builtin =
	    n->schema && !n->catalog && strcmp(n->schema, "pg_catalog") == 0;

	if (builtin && strcmp(n->name, "interval") == 0) {
		put_interval(b, t);
		return;
	}
	if (builtin && strcmp(n->name, "bpchar") == 0 && t->n_mods) {
		buf_str(b, STR("character"));
		put_mods(b, t->mods, t->n_mods);
		return;
	}
	/* The word alone means bit(1), but where a literal follows it. */
	if (builtin && strcmp(n->name, "bit") == 0 && !t->n_mods)
		builtin = false;
	for (size_t i = 0;
	     builtin && i < sizeof type_words / sizeof type_words[0]; i++) {
		if (strcmp(n->name, type_words[i].name) != 0)
			continue;
		buf_str(b, str_c(type_words[i].words));
		put_mods(b, t->mods, t->n_mods);
		buf_str(b, str_c(type_words[i].after));
		return;
	}
	put_name(b, n);
	put_mods(b, t->mods, t->n_mods);
}

static void
put_type(struct buf *b, const struct sql_typename *t)
{
	if (t->setof)
		buf_str(b, STR("SETOF "));
	put_base_type(b, t);
	if (t->of_column)
		buf_str(b, STR("%TYPE"));
	for (uint32_t i = 0; i < t->dims; i++)
		buf_str(b, STR("[]"));
}

static void
put_value_func(struct buf *b, const struct sql_expr *e)
{
	static const char *const words[] = {
	    [SQL_CURRENT_DATE] = "CURRENT_DATE",
	    [SQL_CURRENT_TIME] = "CURRENT_TIME",
	    [SQL_CURRENT_TIMESTAMP] = "CURRENT_TIMESTAMP",
	    [SQL_LOCALTIME] = "LOCALTIME",
	    [SQL_LOCALTIMESTAMP] = "LOCALTIMESTAMP",
	    [SQL_CURRENT_ROLE] = "CURRENT_ROLE",
	    [SQL_CURRENT_USER] = "CURRENT_USER",
	    [SQL_USER] = "USER",
	    [SQL_SESSION_USER] = "SESSION_USER",
	    [SQL_CURRENT_CATALOG] = "CURRENT_CATALOG",
	    [SQL_CURRENT_SCHEMA] = "CURRENT_SCHEMA",
	};

	buf_str(b, str_c(words[e->u.value_func.func]));
	if (e->u.value_func.precision >= 0)
		buf_printf(b, "(%d)", e->u.value_func.precision);
}

static void
put_column(struct buf *b, const struct sql_expr *e)
{
	for (uint32_t i = 0; i < e->u.column.n; i++) {
		if (i)
			buf_u8(b, '.');
		put_ident(b, e->u.column.parts[i]);
	}
	if (e->u.column.star)
		buf_str(b, e->u.column.n ? STR(".*") : STR("*"));
}

/* A negative constant is one token to the parser only where nothing binds more
 * closely than its sign. */
static void
put_number(struct buf *b, const char *digits, bool is_tight)
{
	bool parens = is_tight && digits[0] == '-';

	buf_printf(b, parens ? "(%s)" : "%s", digits);
}

/* False when e has something inside. */
static bool
put_leaf(struct buf *b, const struct sql_expr *e, bool is_tight)
{
	char digits[24];

	switch (e->kind) {
	case SQL_E_NULL:
		buf_str(b, STR("NULL"));
		return true;
	case SQL_E_BOOL:
		buf_str(b, e->u.boolean ? STR("true") : STR("false"));
		return true;
	case SQL_E_INT:
		snprintf(
		    digits, sizeof digits, "%lld", (long long)e->u.integer);
		put_number(b, digits, is_tight);
		return true;
	case SQL_E_NUMERIC:
		put_number(b, e->u.text, is_tight);
		return true;
	case SQL_E_STRING:
		put_string(b, e->u.text);
		return true;
	case SQL_E_BITS:
		buf_printf(b, "%c'%s'", e->u.text[0], e->u.text + 1);
		return true;
	case SQL_E_PARAM:
		buf_printf(b, "$%u", e->u.param);
		return true;
	case SQL_E_COLUMN:
		put_column(b, e);
		return true;
	case SQL_E_DEFAULT:
		buf_str(b, STR("DEFAULT"));
		return true;
	case SQL_E_VALUE_FUNC:
		put_value_func(b, e);
		return true;
	default:
		return false;
	}
}

/* ---- nodes: pieces in the order of the text ---- */

static const char *
made(struct deparse *d, void (*put)(struct buf *b, const void *arg),
    const void *arg)
{
	struct buf b;

	buf_init(&b, d->scratch);
	put(&b, arg);
	return buf_cstr(&b);
}

static void
put_name_of(struct buf *b, const void *arg)
{
	put_name(b, arg);
}

static void
put_ident_of(struct buf *b, const void *arg)
{
	put_ident(b, arg);
}

static void
put_type_of(struct buf *b, const void *arg)
{
	put_type(b, arg);
}

static void
put_op_of(struct buf *b, const void *arg)
{
	const struct sql_op *op = arg;

	if (!op->schema) {
		buf_str(b, str_c(op->name));
		return;
	}
	buf_str(b, STR("OPERATOR("));
	put_ident(b, op->schema);
	buf_printf(b, ".%s)", op->name);
}

static void
op(struct deparse *d, const struct sql_expr *e)
{
	text(d, "(");
	if (e->n_args > 1) {
		expr(d, e->args[0]);
		text(d, " ");
	}
	text(d, made(d, put_op_of, &e->u.op));
	text(d, " ");
	expr(d, e->args[e->n_args - 1]);
	text(d, ")");
}

static void
any_all(struct deparse *d, const struct sql_expr *e)
{
	text(d, "(");
	expr(d, e->args[0]);
	text(d, " ");
	text(d, made(d, put_op_of, &e->u.op));
	text(d, e->kind == SQL_E_ANY ? " ANY (" : " ALL (");
	expr(d, e->args[1]);
	text(d, "))");
}

static void
is(struct deparse *d, const struct sql_expr *e)
{
	static const char *const tests[] = {
	    [SQL_IS_NULL] = " IS NULL)",
	    [SQL_IS_NOT_NULL] = " IS NOT NULL)",
	    [SQL_IS_TRUE] = " IS TRUE)",
	    [SQL_IS_NOT_TRUE] = " IS NOT TRUE)",
	    [SQL_IS_FALSE] = " IS FALSE)",
	    [SQL_IS_NOT_FALSE] = " IS NOT FALSE)",
	    [SQL_IS_UNKNOWN] = " IS UNKNOWN)",
	    [SQL_IS_NOT_UNKNOWN] = " IS NOT UNKNOWN)",
	};

	text(d, "(");
	expr(d, e->args[0]);
	text(d, tests[e->u.is]);
}

static void
between(struct deparse *d, const struct sql_expr *e)
{
	text(d, "(");
	expr(d, e->args[0]);
	text(d, e->u.negated ? " NOT BETWEEN " : " BETWEEN ");
	if (e->kind == SQL_E_BETWEEN_SYMMETRIC)
		text(d, "SYMMETRIC ");
	expr(d, e->args[1]);
	text(d, " AND ");
	expr(d, e->args[2]);
	text(d, ")");
}

static void
in(struct deparse *d, const struct sql_expr *e)
{
	text(d, "(");
	expr(d, e->args[0]);
	text(d, e->u.negated ? " NOT IN (" : " IN (");
	exprs(d, e->args + 1, e->n_args - 1, ", ");
	text(d, "))");
}

static void
cases(struct deparse *d, const struct sql_expr *e)
{
	uint32_t i = 0;

	text(d, "CASE");
	if (e->u.cases.operand) {
		text(d, " ");
		expr(d, e->args[i++]);
	}
	while (i + 1 < e->n_args) {
		text(d, " WHEN ");
		expr(d, e->args[i++]);
		text(d, " THEN ");
		expr(d, e->args[i++]);
	}
	if (e->u.cases.other) {
		text(d, " ELSE ");
		expr(d, e->args[i]);
	}
	text(d, " END");
}

static void
call(struct deparse *d, const struct sql_expr *e)
{
	const struct sql_call *c = e->u.call;

	text(d, made(d, put_name_of, &c->name));
	text(d, c->star ? "(*" : c->distinct ? "(DISTINCT " : "(");
	for (uint32_t i = 0; i < e->n_args; i++) {
		text(d, i ? ", " : "");
		if (c->variadic && i + 1 == e->n_args)
			text(d, "VARIADIC ");
		expr(d, e->args[i]);
	}
	for (uint32_t i = 0; i < c->order.n; i++) {
		const struct sql_order *o = &c->order.items[i];

		text(d, i ? ", " : " ORDER BY ");
		expr(d, o->expr);
		text(d, o->desc ? " DESC" : "");
		text(d, o->nulls == SQL_NULLS_FIRST  ? " NULLS FIRST"
			: o->nulls == SQL_NULLS_LAST ? " NULLS LAST"
						     : "");
	}
	text(d, ")");
	if (c->filter) {
		text(d, " FILTER (WHERE ");
		expr(d, c->filter);
		text(d, ")");
	}
}

/* (x).f, (x)[1], (x)[1:2] */
static void
part(struct deparse *d, const struct sql_expr *e)
{
	text(d, "(");
	expr(d, e->args[0]);
	if (e->kind == SQL_E_FIELD) {
		text(d, ").");
		text(d, e->u.text ? made(d, put_ident_of, e->u.text) : "*");
		return;
	}
	text(d, ")[");
	for (uint32_t i = 1; i < e->n_args; i++) {
		text(d, i > 1 ? ":" : "");
		if (e->kind == SQL_E_INDEX || e->args[i]->kind != SQL_E_NULL)
			expr(d, e->args[i]);
	}
	text(d, "]");
}

/* Queries are shown as that and no more: they stand in no DEFAULT or CHECK,
 * whose text must parse again. */
static void
query(struct deparse *d, const struct sql_expr *e)
{
	text(d, e->n_args ? "(" : "");
	exprs(d, e->args, e->n_args, "");
	if (e->kind == SQL_E_IN_SUBQUERY)
		text(d, " IN ");
	if (e->u.query.op.name) {
		text(d, " ");
		text(d, made(d, put_op_of, &e->u.query.op));
	}
	text(d, e->kind == SQL_E_ANY_SUBQUERY     ? " ANY "
		: e->kind == SQL_E_ALL_SUBQUERY   ? " ALL "
		: e->kind == SQL_E_EXISTS         ? "EXISTS "
		: e->kind == SQL_E_ARRAY_SUBQUERY ? "ARRAY"
						  : "");
	text(d, e->n_args ? "(SELECT ...))" : "(SELECT ...)");
}

/* Kinds whose arguments stand in one row. */
static const struct row {
	const char *open; /* NULL: not one of them */
	const char *between;
	const char *close;
} rows[] = {
    [SQL_E_AND] = {"(", " AND ", ")"},
    [SQL_E_OR] = {"(", " OR ", ")"},
    [SQL_E_NOT] = {"(NOT ", "", ")"},
    [SQL_E_COALESCE] = {"COALESCE(", ", ", ")"},
    [SQL_E_GREATEST] = {"GREATEST(", ", ", ")"},
    [SQL_E_LEAST] = {"LEAST(", ", ", ")"},
    [SQL_E_NULLIF] = {"NULLIF(", ", ", ")"},
    [SQL_E_ROW] = {"ROW(", ", ", ")"},
    [SQL_E_ARRAY] = {"ARRAY[", ", ", "]"},
};

static bool
row(struct deparse *d, const struct sql_expr *e)
{
	size_t kind = (size_t)e->kind;

	if (kind >= sizeof rows / sizeof rows[0] || !rows[kind].open)
		return false;
	text(d, rows[kind].open);
	exprs(d, e->args, e->n_args, rows[kind].between);
	text(d, rows[kind].close);
	return true;
}

static void
distinct(struct deparse *d, const struct sql_expr *e)
{
	text(d, "(");
	expr(d, e->args[0]);
	text(d, e->u.negated ? " IS NOT DISTINCT FROM " : " IS DISTINCT FROM ");
	expr(d, e->args[1]);
	text(d, ")");
}

static void
cast(struct deparse *d, const struct sql_expr *e)
{
	tight(d, e->args[0]);
	text(d, "::");
	text(d, made(d, put_type_of, e->u.type));
}

static void
collate(struct deparse *d, const struct sql_expr *e)
{
	text(d, "(");
	tight(d, e->args[0]);
	text(d, " COLLATE ");
	text(d, made(d, put_name_of, e->u.collation));
	text(d, ")");
}

static void
node(struct deparse *d, const struct sql_expr *e)
{
	static void (*const nodes[])(
	    struct deparse *, const struct sql_expr *) = {
	    [SQL_E_OP] = op,
	    [SQL_E_IS] = is,
	    [SQL_E_DISTINCT] = distinct,
	    [SQL_E_BETWEEN] = between,
	    [SQL_E_BETWEEN_SYMMETRIC] = between,
	    [SQL_E_IN] = in,
	    [SQL_E_CASE] = cases,
	    [SQL_E_CALL] = call,
	    [SQL_E_CAST] = cast,
	    [SQL_E_COLLATE] = collate,
	    [SQL_E_FIELD] = part,
	    [SQL_E_INDEX] = part,
	    [SQL_E_SLICE] = part,
	    [SQL_E_ANY] = any_all,
	    [SQL_E_ALL] = any_all,
	    [SQL_E_SUBQUERY] = query,
	    [SQL_E_ARRAY_SUBQUERY] = query,
	    [SQL_E_EXISTS] = query,
	    [SQL_E_IN_SUBQUERY] = query,
	    [SQL_E_ANY_SUBQUERY] = query,
	    [SQL_E_ALL_SUBQUERY] = query,
	};

	if (row(d, e))
		return;
	ASSERT(nodes[e->kind]);
	nodes[e->kind](d, e);
}

/* Pieces come off the end: turn round those just added. */
static void
reverse(struct deparse *d, size_t from)
{
	for (size_t i = from, j = d->n; i + 1 < j; i++) {
		struct piece p = d->pieces[--j];

		d->pieces[j] = d->pieces[i];
		d->pieces[i] = p;
	}
}

char *
sql_deparse(struct arena *a, const struct sql_expr *e)
{
	struct deparse d = {.scratch = arena_new(a, "deparse")};
	char *out;

	buf_init(&d.out, d.scratch);
	expr(&d, e);
	while (d.n) {
		struct piece p = d.pieces[--d.n];
		size_t from = d.n;

		if (!p.expr) {
			buf_str(&d.out, str_c(p.text));
		} else if (!put_leaf(&d.out, p.expr, p.tight)) {
			node(&d, p.expr);
			reverse(&d, from);
		}
	}
	out = arena_strdup(a, buf_cstr(&d.out));
	arena_free(d.scratch);
	return out;
}
