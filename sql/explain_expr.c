/* Bound expressions as text, the way EXPLAIN shows them. */
#include "sql/exec_int.h"

/* Deeper parts are shown as "...". */
#define SHOWN_DEPTH 60

struct shown {
	struct arena *arena;
	const struct sql_query *q;
	bool grouped;
	int depth;
};

static void show(struct buf *b, struct shown *s, const struct expr *e);

static void
list(struct buf *b, struct shown *s, const struct expr *e, uint32_t from,
    const char *between)
{
	for (uint32_t i = from; i < e->n_args; i++) {
		if (i > from)
			buf_str(b, str_c(between));
		show(b, s, e->args[i]);
	}
}

static void
show_const(struct buf *b, struct shown *s, struct val v)
{
	const char *type = ex_type_format(s->arena, v.type, -1);
	struct buf text;

	if (v.null) {
		buf_printf(b, "NULL::%s", type);
		return;
	}
	buf_init(&text, s->arena);
	ex_out(&text, &ex_env_default, v);
	switch (v.type) {
	case EX_BOOL:
		buf_str(b, v.u.b ? STR("true") : STR("false"));
		return;
	case EX_INT4:
		buf_str(b, buf_view(&text));
		return;
	default:
		break;
	}
	buf_u8(b, '\'');
	for (size_t i = 0; i < text.len; i++) {
		if (text.p[i] == '\'')
			buf_u8(b, '\'');
		buf_u8(b, text.p[i]);
	}
	buf_printf(b, "'::%s", type);
}

static void
show_base_column(struct buf *b, struct shown *s, uint32_t pos)
{
	const struct sql_rel *r;
	const struct sql_rel_col *col;

	if (!s->q || !sql_query_column(s->q, pos, &r, &col)) {
		if (s->q && s->q->kind != SQL_SELECT_PLAIN &&
		    pos < s->q->n_outs)
			buf_str(b, str_c(s->q->outs[pos].name));
		else
			buf_printf(b, "column%u", pos + 1);
		return;
	}
	if (s->q->n_rels > 1)
		buf_printf(b, "%s.", r->name);
	buf_str(b, str_c(col->name));
}

static void
show_agg(struct buf *b, struct shown *s, const struct sql_agg_call *c)
{
	struct expr args = {.n_args = c->n_args, .args = c->args};
	bool grouped = s->grouped;

	s->grouped = false;
	buf_printf(b, "%s(%s", c->agg->name, c->distinct ? "DISTINCT " : "");
	if (c->agg->kind == EX_AGG_COUNT_STAR)
		buf_u8(b, '*');
	list(b, s, &args, 0, ", ");
	buf_u8(b, ')');
	if (c->filter) {
		buf_str(b, STR(" FILTER (WHERE "));
		show(b, s, c->filter);
		buf_u8(b, ')');
	}
	s->grouped = grouped;
}

static void
show_column(struct buf *b, struct shown *s, const struct expr *e)
{
	const struct sql_query *q = s->q;
	uint32_t i = e->u.col;

	if (!s->grouped || !q || i >= q->n_aggs + q->n_groups) {
		show_base_column(b, s, i);
	} else if (i < q->n_aggs) {
		show_agg(b, s, &q->aggs[i]);
	} else {
		s->grouped = false;
		show(b, s, q->groups[i - q->n_aggs]);
		s->grouped = true;
	}
}

static void
show_cast(struct buf *b, struct shown *s, const struct expr *e)
{
	buf_u8(b, '(');
	show(b, s, e->args[0]);
	buf_printf(b, ")::%s", ex_type_format(s->arena, e->type, e->typmod));
}

static const char *
prefix_name(const struct ex_func *f)
{
	const struct ex_op *op;

	for (size_t i = 0; (op = ex_op_at(i)) != NULL; i++)
		if (op->func == f->id && !op->left)
			return op->name;
	return NULL;
}

static void
show_call(struct buf *b, struct shown *s, const struct expr *e)
{
	const char *op = e->n_args == 2   ? sql_op_name(e->u.func)
			 : e->n_args == 1 ? prefix_name(e->u.func)
					  : NULL;
	const struct ex_func *cast;

	if (op) {
		buf_u8(b, '(');
		if (e->n_args == 2) {
			show(b, s, e->args[0]);
			buf_u8(b, ' ');
		}
		buf_printf(b, "%s ", op);
		show(b, s, e->args[e->n_args - 1]);
		buf_u8(b, ')');
		return;
	}
	if (e->n_args > 0 &&
	    ex_find_cast(e->args[0]->type, e->type, EX_EXPLICIT, &cast) &&
	    cast == e->u.func) {
		show_cast(b, s, e);
		return;
	}
	buf_printf(b, "%s(", e->u.func->name);
	list(b, s, e, 0, ", ");
	buf_u8(b, ')');
}

static void
show_case(struct buf *b, struct shown *s, const struct expr *e)
{
	buf_str(b, STR("CASE"));
	for (uint32_t i = 0; i + 1 < e->n_args; i += 2) {
		buf_str(b, STR(" WHEN "));
		show(b, s, e->args[i]);
		buf_str(b, STR(" THEN "));
		show(b, s, e->args[i + 1]);
	}
	if (e->n_args % 2) {
		buf_str(b, STR(" ELSE "));
		show(b, s, e->args[e->n_args - 1]);
	}
	buf_str(b, STR(" END"));
}

/* (a <between> b <between> ...)<after> */
static void
show_parts(struct buf *b, struct shown *s, const struct expr *e,
    const char *between, const char *after)
{
	buf_u8(b, '(');
	list(b, s, e, 0, between);
	buf_printf(b, "%s)", after);
}

static void
show_named(
    struct buf *b, struct shown *s, const struct expr *e, const char *name)
{
	buf_str(b, str_c(name));
	show_parts(b, s, e, ", ", "");
}

static void
show_in(struct buf *b, struct shown *s, const struct expr *e)
{
	buf_u8(b, '(');
	show(b, s, e->args[0]);
	buf_str(b, STR(" IN ("));
	list(b, s, e, 1, ", ");
	buf_str(b, STR("))"));
}

static void
show_test(struct buf *b, struct shown *s, const struct expr *e)
{
	switch (e->node) {
	case EX_IS_NULL:
		show_parts(b, s, e, "", " IS NULL");
		break;
	case EX_IS_NOT_NULL:
		show_parts(b, s, e, "", " IS NOT NULL");
		break;
	case EX_IS_TRUE:
		show_parts(b, s, e, "", " IS TRUE");
		break;
	case EX_IS_NOT_TRUE:
		show_parts(b, s, e, "", " IS NOT TRUE");
		break;
	case EX_IS_FALSE:
		show_parts(b, s, e, "", " IS FALSE");
		break;
	case EX_IS_NOT_FALSE:
		show_parts(b, s, e, "", " IS NOT FALSE");
		break;
	case EX_DISTINCT:
		show_parts(b, s, e, " IS DISTINCT FROM ", "");
		break;
	default:
		show_parts(b, s, e, " IS NOT DISTINCT FROM ", "");
		break;
	}
}

static void
show_node(struct buf *b, struct shown *s, const struct expr *e)
{
	switch (e->node) {
	case EX_CONST:
		show_const(b, s, e->u.con);
		break;
	case EX_COLUMN:
		show_column(b, s, e);
		break;
	case EX_PARAM:
		buf_printf(b, "$%u", e->u.param);
		break;
	case EX_CALL:
		show_call(b, s, e);
		break;
	case EX_AND:
		show_parts(b, s, e, " AND ", "");
		break;
	case EX_OR:
		show_parts(b, s, e, " OR ", "");
		break;
	case EX_NOT:
		buf_str(b, STR("(NOT "));
		list(b, s, e, 0, "");
		buf_u8(b, ')');
		break;
	case EX_CASE:
		show_case(b, s, e);
		break;
	case EX_COALESCE:
		show_named(b, s, e, "COALESCE");
		break;
	case EX_NULLIF:
		show_named(b, s, e, "NULLIF");
		break;
	case EX_GREATEST:
		show_named(b, s, e, "GREATEST");
		break;
	case EX_LEAST:
		show_named(b, s, e, "LEAST");
		break;
	case EX_IN:
		show_in(b, s, e);
		break;
	case EX_TYPMOD:
		show_cast(b, s, e);
		break;
	default:
		show_test(b, s, e);
		break;
	}
}

static void
show(struct buf *b, struct shown *s, const struct expr *e)
{
	if (s->depth >= SHOWN_DEPTH) {
		buf_str(b, STR("..."));
		return;
	}
	s->depth++;
	show_node(b, s, e);
	s->depth--;
}

const char *
sql_expr_text(struct arena *a, const struct sql_query *q, const struct expr *e,
    bool grouped)
{
	struct shown s = {a, q, grouped, 0};
	struct buf b;

	buf_init(&b, a);
	show(&b, &s, e);
	return buf_cstr(&b);
}
