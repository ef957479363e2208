/* Defaults that name sequences.  In the catalog they name them by id, as
 * '16390'::regclass, so that a sequence may be renamed or hidden by another of
 * its name; what is shown has the names in it. */
#include <ctype.h>

#include "sql/bind_int.h"

/* ---- from names to ids ---- */

struct pin {
	struct arena *arena;
	const struct sql_env *env;
	struct sql_pinned *out;
	uint32_t cap;
	/* Places of expressions to look at. */
	struct sql_expr ***slots;
	uint32_t n, slots_cap;
};

static bool
takes_relation(const struct sql_expr *e)
{
	static const char *const names[] = {"nextval", "currval", "setval"};

	if (e->kind != SQL_E_CALL || !e->n_args)
		return false;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(e->u.call->name.name, names[i]) == 0)
			return true;
	return false;
}

/* 's' or 's'::regclass: the string, else NULL. */
static const struct sql_expr *
constant_name(const struct sql_expr *e)
{
	if (e->kind == SQL_E_CAST && !e->u.type->dims &&
	    strcmp(e->u.type->name.name, "regclass") == 0)
		e = e->args[0];
	return e->kind == SQL_E_STRING ? e : NULL;
}

static struct sql_expr *
id_expr(struct arena *a, uint32_t id, int position)
{
	struct sql_expr *text = NEW(a, struct sql_expr);
	struct sql_expr *cast = NEW(a, struct sql_expr);
	struct sql_typename *type = NEW(a, struct sql_typename);

	text->kind = SQL_E_STRING;
	text->position = position;
	text->u.text = arena_printf(a, "%u", id);
	type->name.name = "regclass";
	cast->kind = SQL_E_CAST;
	cast->position = position;
	cast->u.type = type;
	cast->n_args = 1;
	cast->args = NEW(a, struct sql_expr *);
	cast->args[0] = text;
	return cast;
}

static struct err *
pin_call(struct pin *p, struct sql_expr *e)
{
	const struct ex_env *ex = p->env->ex;
	const struct sql_expr *name = constant_name(e->args[0]);
	struct err *r;
	struct val v;

	if (!name || !ex->relation_id)
		return NULL;
	r = ex_in(p->arena, ex, EX_REGCLASS, -1, str_c(name->u.text), &v);
	if (r)
		return err_at(r, name->position);
	p->out->ids = sql_more(
	    p->arena, p->out->ids, p->out->n, &p->cap, sizeof *p->out->ids);
	p->out->ids[p->out->n++] = (uint32_t)v.u.i;
	e->args[0] = id_expr(p->arena, (uint32_t)v.u.i, name->position);
	return NULL;
}

static void
look_at(struct pin *p, struct sql_expr **slot)
{
	p->slots =
	    sql_more(p->arena, p->slots, p->n, &p->slots_cap, sizeof *p->slots);
	p->slots[p->n++] = slot;
}

struct err *
sql_pin_sequences(struct arena *a, const struct sql_env *env,
    const struct sql_expr *e, struct sql_pinned *out)
{
	struct pin p = {.arena = a, .env = env, .out = out};

	*out = (struct sql_pinned){.expr = arena_dup(a, e, sizeof *e)};
	look_at(&p, &out->expr);
	while (p.n) {
		struct sql_expr **slot = p.slots[--p.n];
		struct sql_expr *x = arena_dup(a, *slot, sizeof **slot);

		*slot = x;
		if (!x->n_args)
			continue;
		x->args = arena_dup(a, x->args, x->n_args * sizeof *x->args);
		if (takes_relation(x))
			TRY(pin_call(&p, x));
		for (uint32_t i = 0; i < x->n_args; i++)
			look_at(&p, &x->args[i]);
	}
	return NULL;
}

/* ---- from ids to names ---- */

/* The next '123'::regclass in text from *at on: its id, *at behind it, *from
 * where it starts; 0 when there is none. */
static uint32_t
next_id(struct str text, size_t *at, size_t *from)
{
	static const struct str tail = {"'::regclass", 11};

	for (size_t i = *at; i < text.len; i++) {
		size_t k = i + 1;
		uint64_t id;

		if (text.p[i] != '\'')
			continue;
		while (k < text.len && isdigit((unsigned char)text.p[k]))
			k++;
		if (!str_has_prefix(str_skip(text, k), tail) ||
		    !str_u64(str_of(text.p + i + 1, k - i - 1), &id) || !id ||
		    id > UINT32_MAX)
			continue;
		*from = i;
		*at = k + tail.len;
		return (uint32_t)id;
	}
	return 0;
}

char *
sql_default_sequence(struct arena *a, uint32_t id)
{
	return arena_printf(a, "nextval('%u'::regclass)", id);
}

bool
sql_default_needs(struct str text, uint32_t id)
{
	size_t at = 0, from;
	uint32_t found;

	while ((found = next_id(text, &at, &from)))
		if (found == id)
			return true;
	return false;
}

struct str
sql_default_shown(struct arena *a, const struct sql_env *env, struct str text)
{
	const struct ex_env *ex = env->ex;
	size_t at = 0, from, last = 0;
	uint32_t id;
	struct buf b;

	buf_init(&b, a);
	while ((id = next_id(text, &at, &from))) {
		struct str name = ex->relation_name
				      ? ex->relation_name(ex->arg, a, id)
				      : STR_NONE;

		if (!name.len)
			continue;
		buf_put(&b, text.p + last, from - last);
		buf_u8(&b, '\'');
		for (size_t i = 0; i < name.len; i++) {
			if (name.p[i] == '\'')
				buf_u8(&b, '\'');
			buf_u8(&b, (uint8_t)name.p[i]);
		}
		buf_str(&b, STR("'::regclass"));
		last = at;
	}
	buf_str(&b, str_skip(text, last));
	return buf_view(&b);
}
