#include "gateway/sequence_options.h"

/* ---- reading ---- */

static struct err *
read_number(struct arena *a, const struct sql_option *o, int64_t *out)
{
	const char *text;
	struct val v;

	if (o->kind == SQL_OPT_INT) {
		*out = o->integer;
		return NULL;
	}
	TRY(sql_option_text(a, o, &text));
	TRY(ex_in(a, &ex_env_default, EX_INT8, -1, str_c(text), &v));
	*out = v.u.i;
	return NULL;
}

static struct err *
read_limit(struct arena *a, const struct sql_option *o, enum gw_limit_how *how,
    int64_t *out)
{
	*how = o->kind == SQL_OPT_NONE ? GW_LIMIT_NONE : GW_LIMIT_SET;
	return *how == GW_LIMIT_SET ? read_number(a, o, out) : NULL;
}

static struct err *
read_type(
    struct arena *a, const struct sql_option *o, bool identity, uint32_t *out)
{
	const struct ex_type *t = ex_type_by_name(str_c(o->text));

	if (!t)
		return err_at(ERR(a, ERRCODE_UNDEFINED_OBJECT,
				  "type \"%s\" does not exist", o->text),
		    o->position);
	if (t->oid != EX_INT2 && t->oid != EX_INT4 && t->oid != EX_INT8)
		return ERR(a, ERRCODE_INVALID_PARAMETER_VALUE,
		    "%s type must be smallint, integer, or bigint",
		    identity ? "identity column" : "sequence");
	*out = t->oid;
	return NULL;
}

static struct err *
read_owner(
    struct arena *a, const struct sql_option *o, struct gw_seq_options *out)
{
	const char *parts[4];
	uint32_t n = o->list.n;

	for (uint32_t i = 0; i < n && i < 4; i++)
		parts[i] = sql_option_word(o->list.items[i]);
	if (n == 1 && strcmp(parts[0], "none") == 0) {
		out->owned = GW_OWNED_NONE;
		return NULL;
	}
	if (n < 2)
		return err_hint(
		    ERR(a, ERRCODE_SYNTAX_ERROR, "invalid OWNED BY option"),
		    "Specify OWNED BY table.column or OWNED BY NONE.");
	if (n > 4)
		return ERR(a, ERRCODE_SYNTAX_ERROR,
		    "improper relation name (too many dotted names)");
	out->owned = GW_OWNED_BY;
	out->column = parts[n - 1];
	out->table.name = parts[n - 2];
	out->table.schema = n > 2 ? parts[n - 3] : NULL;
	out->table.catalog = n > 3 ? parts[0] : NULL;
	return NULL;
}

static struct err *
read_restart(
    struct arena *a, const struct sql_option *o, struct gw_seq_options *out)
{
	out->restart = true;
	out->has_restart_value = o->kind != SQL_OPT_NONE;
	return out->has_restart_value ? read_number(a, o, &out->restart_value)
				      : NULL;
}

static struct err *
read_flag(struct arena *a, const struct sql_option *o, bool *has, bool *out)
{
	*has = true;
	return sql_option_bool(a, o, out);
}

static struct err *
read_value(struct arena *a, const struct sql_option *o, bool *has, int64_t *out)
{
	*has = true;
	return read_number(a, o, out);
}

static struct err *
read_one(struct arena *a, const struct sql_option *o, bool identity,
    struct gw_seq_options *out)
{
	if (strcmp(o->name, "as") == 0)
		return read_type(a, o, identity, &out->type);
	if (strcmp(o->name, "increment") == 0)
		return read_value(a, o, &out->has_increment, &out->increment);
	if (strcmp(o->name, "start") == 0)
		return read_value(a, o, &out->has_start, &out->start);
	if (strcmp(o->name, "restart") == 0)
		return read_restart(a, o, out);
	if (strcmp(o->name, "maxvalue") == 0)
		return read_limit(a, o, &out->max_how, &out->max);
	if (strcmp(o->name, "minvalue") == 0)
		return read_limit(a, o, &out->min_how, &out->min);
	if (strcmp(o->name, "cache") == 0)
		return read_value(a, o, &out->has_cache, &out->cache);
	if (strcmp(o->name, "cycle") == 0)
		return read_flag(a, o, &out->has_cycle, &out->cycle);
	if (strcmp(o->name, "owned_by") == 0)
		return read_owner(a, o, out);
	return err_at(
	    ERR(a, ERRCODE_FEATURE_NOT_SUPPORTED,
		"option \"%s\" of a sequence is not supported yet", o->name),
	    o->position);
}

struct err *
gw_seq_options_read(struct arena *a, const struct sql_options *in,
    bool identity, struct gw_seq_options *out)
{
	*out = (struct gw_seq_options){.type = 0};
	for (uint32_t i = 0; i < in->n; i++)
		for (uint32_t k = 0; k < i; k++)
			if (strcmp(in->items[k].name, in->items[i].name) == 0)
				return err_at(
				    ERR(a, ERRCODE_SYNTAX_ERROR,
					"conflicting or redundant options"),
				    in->items[i].position);
	for (uint32_t i = 0; i < in->n; i++)
		TRY(read_one(a, &in->items[i], identity, out));
	return NULL;
}

/* ---- applying ---- */

static const struct bounds {
	uint32_t type;
	int64_t min, max;
} bounds[] = {
    {EX_INT2, INT16_MIN, INT16_MAX},
    {EX_INT4, INT32_MIN, INT32_MAX},
    {EX_INT8, INT64_MIN, INT64_MAX},
};

static const struct bounds *
bounds_of(uint32_t type)
{
	for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++)
		if (bounds[i].type == type)
			return &bounds[i];
	UNREACHABLE();
}

static struct err *
invalid(struct arena *a, const char *text)
{
	return ERR(a, ERRCODE_INVALID_PARAMETER_VALUE, "%s", text);
}

/* A limit that was the type's own becomes that of the new type. */
static struct err *
apply_limits(struct arena *a, const struct gw_seq_options *o, bool is_new,
    struct cl_sequence *q, uint32_t old_type)
{
	const struct bounds *b = bounds_of(q->type), *was = bounds_of(old_type);
	bool retyped = !is_new && o->type;
	bool reset_max = retyped && q->max == was->max;
	bool reset_min = retyped && q->min == was->min;
	bool up = q->increment > 0;

	if (o->max_how == GW_LIMIT_SET)
		q->max = o->max;
	else if (is_new || o->max_how == GW_LIMIT_NONE || reset_max)
		q->max = up || reset_max ? b->max : -1;
	if (q->max < b->min || q->max > b->max)
		return invalid(
		    a, arena_printf(a,
			   "MAXVALUE (%lld) is out of range for sequence data "
			   "type %s",
			   (long long)q->max, ex_type_format(a, q->type, -1)));
	if (o->min_how == GW_LIMIT_SET)
		q->min = o->min;
	else if (is_new || o->min_how == GW_LIMIT_NONE || reset_min)
		q->min = !up || reset_min ? b->min : 1;
	if (q->min < b->min || q->min > b->max)
		return invalid(
		    a, arena_printf(a,
			   "MINVALUE (%lld) is out of range for sequence data "
			   "type %s",
			   (long long)q->min, ex_type_format(a, q->type, -1)));
	if (q->min >= q->max)
		return invalid(
		    a, arena_printf(a,
			   "MINVALUE (%lld) must be less than MAXVALUE (%lld)",
			   (long long)q->min, (long long)q->max));
	return NULL;
}

/* START or RESTART within the limits. */
static struct err *
check_within(
    struct arena *a, const char *what, int64_t v, const struct cl_sequence *q)
{
	if (v < q->min)
		return invalid(a,
		    arena_printf(a,
			"%s value (%lld) cannot be less than MINVALUE (%lld)",
			what, (long long)v, (long long)q->min));
	if (v > q->max)
		return invalid(
		    a, arena_printf(a,
			   "%s value (%lld) cannot be greater than MAXVALUE "
			   "(%lld)",
			   what, (long long)v, (long long)q->max));
	return NULL;
}

struct err *
gw_seq_options_apply(struct arena *a, const struct gw_seq_options *o,
    bool is_new, struct cl_sequence *q)
{
	uint32_t old_type = q->type;

	if (o->type)
		q->type = o->type;
	if (o->has_increment)
		q->increment = o->increment;
	else if (is_new)
		q->increment = 1;
	if (!q->increment)
		return invalid(a, "INCREMENT must not be zero");
	if (o->has_cycle)
		q->cycle = o->cycle;
	TRY(apply_limits(a, o, is_new, q, old_type));
	if (o->has_start)
		q->start = o->start;
	else if (is_new)
		q->start = q->increment > 0 ? q->min : q->max;
	TRY(check_within(a, "START", q->start, q));
	if (o->has_cache)
		q->cache = o->cache;
	else if (is_new)
		q->cache = 1;
	if (q->cache < 1)
		return invalid(
		    a, arena_printf(a, "CACHE (%lld) must be greater than zero",
			   (long long)q->cache));
	if (is_new)
		q->first = q->start;
	return NULL;
}

struct err *
gw_seq_options_restart(struct arena *a, const struct gw_seq_options *o,
    const struct cl_sequence *q, int64_t *now)
{
	if (o->restart)
		*now = o->has_restart_value ? o->restart_value : q->start;
	return check_within(a, "RESTART", *now, q);
}
