#include "gateway/pin.h"

#include "expr/table.h"
#include "gateway/route.h"

/* Keys of equal values that are looked at in open tables: every combination of
 * the columns' encodings. */
#define EQUAL_MAX 256u

/* ---- BEGIN ---- */

static struct err *
read_pin(struct arena *a, const struct sql_env *env, const struct sql_pin *in,
    struct gw_pin *out)
{
	const struct sql_expr *e = in->value;

	while (e->kind == SQL_E_CAST)
		e = e->args[0];
	if (e->kind == SQL_E_PARAM)
		return err_at(ERR(a, ERRCODE_FEATURE_NOT_SUPPORTED,
				  "parameters in PARTITION are not supported"),
		    in->position);
	out->column = str_c(arena_strdup(a, in->column));
	TRY(sql_eval_literal(a, env, in->value, &out->value));
	if (out->value.null)
		return err_at(ERR(a, ERRCODE_NULL_VALUE_NOT_ALLOWED,
				  "a column of PARTITION cannot be null"),
		    in->position);
	out->value = val_copy(a, out->value);
	return NULL;
}

static const struct gw_pin *
find_pin(const struct gw_pin *items, uint32_t n, struct str column)
{
	for (uint32_t i = 0; i < n; i++)
		if (str_eq(items[i].column, column))
			return &items[i];
	return NULL;
}

struct err *
gw_pins_new(struct arena *a, const struct sql_env *env,
    const struct sql_transaction *t, struct gw_pins **out)
{
	struct gw_pins *pins = NEW(a, struct gw_pins);
	struct gw_pin *items = NEW_N(a, struct gw_pin, t->n_pins + 1);
	struct buf text;

	*out = NULL;
	buf_init(&text, a);
	for (uint32_t i = 0; i < t->n_pins; i++) {
		const struct sql_pin *in = &t->pins[i];

		if (find_pin(items, i, str_c(in->column)))
			return err_at(
			    ERR(a, ERRCODE_DUPLICATE_COLUMN,
				"column \"%s\" specified more than once",
				in->column),
			    in->position);
		TRY(read_pin(a, env, in, &items[i]));
		buf_printf(&text, "%s%s = %s", i ? ", " : "", in->column,
		    sql_deparse(a, in->value));
	}
	pins->n = t->n_pins;
	pins->items = items;
	pins->text = arena_cstr(a, buf_view(&text));
	*out = pins;
	return NULL;
}

/* ---- errors ---- */

static struct err *
refused(const struct gw_pins *pins, const struct cl_table *t, struct err *e)
{
	e->table = arena_cstr(e->arena, t->name);
	return err_detail(
	    e, "The transaction is pinned to PARTITION (%s).", pins->text);
}

static struct err *
not_so_distributed(
    const struct gw_pins *pins, struct arena *a, const struct cl_table *t)
{
	return err_hint(refused(pins, t,
			    ERR(a, ERRCODE_INVALID_TRANSACTION_STATE,
				"table \"%.*s\" is not distributed by the "
				"columns of the transaction's partition",
				STR_FMT(t->name))),
	    "BEGIN ATOMIC without PARTITION takes rows of any table.");
}

/* ---- a table's part of the partition ---- */

struct making {
	struct arena *arena;
	const struct cl_table *t;
	uint32_t n;
	struct sql_key_value *cols;
};

/* Combination i of the columns' values; 0 is that of the literals themselves.
 */
static struct str
combination(const struct making *m, uint32_t i)
{
	struct val pk[CL_KEY_COLUMNS_MAX];
	struct buf b;

	for (uint32_t c = 0; c < m->n; c++) {
		pk[c] = m->cols[c].vals[i % m->cols[c].n];
		i /= m->cols[c].n;
	}
	buf_init(&b, m->arena);
	ex_table_key_prefix(&b, m->t, pk, m->n);
	return buf_view(&b);
}

static struct gw_pinned *
make(const struct making *m)
{
	struct gw_pinned *p = NEW(m->arena, struct gw_pinned);
	struct str *equal;
	uint32_t n = 1;

	for (uint32_t c = 0; c < m->n && n <= EQUAL_MAX; c++)
		n *= m->cols[c].n;
	if (n > EQUAL_MAX)
		n = 1;
	equal = NEW_N(m->arena, struct str, n);
	for (uint32_t i = 0; i < n; i++)
		equal[i] = combination(m, i);
	p->t = m->t;
	p->prefix = equal[0];
	p->equal = equal;
	p->n_equal = n;
	return p;
}

struct err *
gw_pins_table(const struct gw_pins *pins, struct arena *a,
    const struct sql_env *env, const struct cl_table *t, struct gw_pinned **out)
{
	struct making m = {.arena = a, .t = t, .n = gw_route_columns(t)};

	*out = NULL;
	if (!m.n || m.n != pins->n)
		return not_so_distributed(pins, a, t);
	m.cols = NEW_N(a, struct sql_key_value, m.n);
	for (uint32_t i = 0; i < m.n; i++) {
		const struct cl_column *c = cl_table_column_id(t, t->pkey[i]);
		const struct gw_pin *pin =
		    find_pin(pins->items, pins->n, c->name);

		if (!pin)
			return not_so_distributed(pins, a, t);
		m.cols[i].column = c;
		m.cols[i].given = pin->value;
		TRY(sql_key_values(a, env, t, &m.cols[i]));
		if (!m.cols[i].n)
			return refused(pins, t,
			    ERR(a, ERRCODE_INVALID_TRANSACTION_STATE,
				"no value of column \"%.*s\" of table "
				"\"%.*s\" equals that of the transaction's "
				"partition",
				STR_FMT(c->name), STR_FMT(t->name)));
	}
	*out = make(&m);
	return NULL;
}

/* ---- proofs ---- */

/* Which of the partition's prefixes the key has; NULL: none. */
static const struct str *
prefix_of(const struct gw_pinned *p, struct str key)
{
	for (uint32_t i = 0; i < p->n_equal; i++)
		if (str_has_prefix(key, p->equal[i]))
			return &p->equal[i];
	return NULL;
}

static bool
has_range(struct arena *a, const struct gw_pinned *p, struct sql_range r)
{
	const struct str *prefix = prefix_of(p, r.start);
	struct str after;

	if (!prefix)
		return false;
	after = cl_key_after_prefix(a, *prefix);
	return !after.len || (r.end.len && str_cmp(r.end, after) <= 0);
}

struct err *
gw_pins_reach(const struct gw_pins *pins, struct arena *a,
    const struct gw_pinned *p, const struct sql_bounds *what)
{
	bool within = true;

	for (uint32_t i = 0; i < what->n_keys && within; i++)
		within = prefix_of(p, what->keys[i]) != NULL;
	for (uint32_t i = 0; i < what->n_ranges && within; i++)
		within = has_range(a, p, what->ranges[i]);
	if (within)
		return NULL;
	return err_hint(refused(pins, p->t,
			    ERR(a, ERRCODE_INVALID_TRANSACTION_STATE,
				"the statement may reach rows of table "
				"\"%.*s\" outside the transaction's partition",
				STR_FMT(p->t->name))),
	    "Say in WHERE, for each such table, what the partition's columns "
	    "are equal to.");
}

struct err *
gw_pins_row(const struct gw_pins *pins, struct arena *a,
    const struct gw_pinned *p, struct str key)
{
	if (str_has_prefix(key, p->prefix))
		return NULL;
	return refused(pins, p->t,
	    ERR(a, ERRCODE_INVALID_TRANSACTION_STATE,
		"a row of table \"%.*s\" is outside the transaction's "
		"partition",
		STR_FMT(p->t->name)));
}
