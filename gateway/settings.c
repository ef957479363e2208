#include "gateway/settings_int.h"

#include <strings.h>

#include "base/buf.h"
#include "base/conf.h"
#include "base/map.h"

/* A text that is written over in place while it fits, so that a session that
 * sets the same parameter a million times does not grow. */
struct slot_text {
	char *p;
	size_t cap;
};

struct value {
	struct slot_text now;
	struct slot_text reset;    /* what RESET goes back to */
	struct slot_text before;   /* at the start of the transaction */
	struct slot_text reported; /* last told to the client */
	bool changed_in_txn;
	bool local;
};

struct gw_settings {
	struct arena *arena;
	struct value *values; /* by place in gw_setting_table */
	struct map *custom;   /* "a.b" -> char *, lower case names */
	bool in_txn;
	struct gw_derived derived;
};

static void
put(struct gw_settings *s, struct slot_text *t, const char *text)
{
	size_t n = strlen(text) + 1;

	if (n > t->cap) {
		t->cap = n < 32 ? 32 : n * 2;
		t->p = arena_alloc(s->arena, t->cap);
	}
	memmove(t->p, text, n);
}

static size_t
find(const char *name)
{
	for (size_t i = 0; i < gw_setting_count; i++)
		if (strcasecmp(gw_setting_table[i].name, name) == 0)
			return i;
	return SIZE_MAX;
}

static const char *
now(const struct gw_settings *s, const char *name)
{
	size_t i = find(name);

	ASSERT(i != SIZE_MAX);
	return s->values[i].now.p;
}

static bool
on(const struct gw_settings *s, const char *name)
{
	return strcmp(now(s, name), "on") == 0;
}

static enum err_severity
min_messages(const char *text)
{
	if (strcmp(text, "error") == 0)
		return ERR_ERROR;
	return strcmp(text, "warning") == 0 ? ERR_WARNING : ERR_NOTICE;
}

static enum ex_intervalstyle
intervalstyle(const char *text)
{
	if (strcmp(text, "postgres_verbose") == 0)
		return EX_IV_VERBOSE;
	if (strcmp(text, "sql_standard") == 0)
		return EX_IV_SQL;
	return strcmp(text, "iso_8601") == 0 ? EX_IV_ISO : EX_IV_POSTGRES;
}

static void
derive(struct gw_settings *s)
{
	struct gw_derived *d = &s->derived;
	int64_t digits = 1, limit = 0;

	d->ex = ex_env_default;
	gw_datestyle_parse(
	    now(s, "DateStyle"), &d->ex.datestyle, &d->ex.dateorder);
	d->ex.intervalstyle = intervalstyle(now(s, "IntervalStyle"));
	d->ex.timezone = now(s, "TimeZone");
	str_i64(str_c(now(s, "extra_float_digits")), &digits);
	d->ex.extra_float_digits = (int)digits;
	d->ex.bytea_escape = strcmp(now(s, "bytea_output"), "escape") == 0;
	d->statement_timeout_us =
	    (uint64_t)gw_setting_ms(now(s, "statement_timeout")) * 1000;
	d->idle_in_txn_timeout_us =
	    (uint64_t)gw_setting_ms(
		now(s, "idle_in_transaction_session_timeout")) *
	    1000;
	d->min_messages = min_messages(now(s, "client_min_messages"));
	d->default_read_only = on(s, "default_transaction_read_only");
	d->read_only = on(s, "transaction_read_only");
	d->search_path = now(s, "search_path");
	d->consistency = now(s, "skaidb.consistency");
	d->trace = on(s, "skaidb.trace");
	d->validate_writes = now(s, "skaidb.validate_writes");
	(void)conf_parse_bytes(str_c(now(s, "transaction_size_limit")), &limit);
	d->transaction_bytes = (size_t)limit;
}

struct gw_settings *
gw_settings_new(struct arena *a, const struct gw_settings_facts *facts)
{
	struct gw_settings *s = NEW(a, struct gw_settings);
	const char *role = arena_cstr(a, facts->role);

	s->arena = a;
	s->custom = map_new(a);
	s->values = NEW_N(a, struct value, gw_setting_count);
	for (size_t i = 0; i < gw_setting_count; i++) {
		const struct setting *d = &gw_setting_table[i];
		const char *v = d->dflt;

		if (strcmp(d->name, "session_authorization") == 0)
			v = role;
		else if (strcmp(d->name, "is_superuser") == 0)
			v = facts->superuser ? "on" : "off";
		put(s, &s->values[i].now, v);
		put(s, &s->values[i].reset, v);
	}
	derive(s);
	return s;
}

const struct gw_derived *
gw_settings_derived(const struct gw_settings *s)
{
	return &s->derived;
}

static void
change(struct gw_settings *s, size_t i, const char *text, bool local)
{
	struct value *v = &s->values[i];

	if (s->in_txn && !v->changed_in_txn) {
		put(s, &v->before, v->now.p);
		v->changed_in_txn = true;
	}
	v->local = local;
	put(s, &v->now, text);
}

/* Names with a dot that the table lacks are free for applications to use. */
static struct err *
set_custom(
    struct gw_settings *s, struct arena *a, const char *name, const char *value)
{
	struct str key;
	char *lower = arena_strdup(a, name);

	if (!strchr(name, '.'))
		return ERR(a, ERRCODE_UNDEFINED_OBJECT,
		    "unrecognized configuration parameter \"%s\"", name);
	if (strncasecmp(name, "skaidb.", 7) == 0)
		return ERR(a, ERRCODE_UNDEFINED_OBJECT,
		    "unrecognized configuration parameter \"%s\"", name);
	for (char *p = lower; *p; p++)
		if (*p >= 'A' && *p <= 'Z')
			*p = (char)(*p + 32);
	key = str_c(lower);
	if (map_count(s->custom) >= 1000 && !map_get(s->custom, key))
		return ERR(a, ERRCODE_CONFIGURATION_LIMIT_EXCEEDED,
		    "too many custom parameters in one session");
	map_put(s->custom, key, arena_strdup(s->arena, value ? value : ""));
	return NULL;
}

struct err *
gw_setting_set(struct gw_settings *s, struct arena *a, const char *name,
    const char *value, enum gw_set_scope scope)
{
	size_t i = find(name);
	const struct setting *d;
	const char *text;

	if (i == SIZE_MAX)
		return set_custom(s, a, name, value);
	d = &gw_setting_table[i];
	if (d->flags & SETTING_READONLY)
		return ERR(a, ERRCODE_CANT_CHANGE_RUNTIME_PARAM,
		    "parameter \"%s\" cannot be changed", d->name);
	if (value)
		TRY((d->check ? d->check : gw_setting_check)(
		    a, d, value, s->values[i].now.p, &text));
	else
		text = s->values[i].reset.p;
	change(s, i, text, scope == GW_SET_LOCAL);
	if (scope == GW_SET_DEFAULT)
		put(s, &s->values[i].reset, text);
	derive(s);
	return NULL;
}

const char *
gw_setting_get(const struct gw_settings *s, const char *name)
{
	size_t i = find(name);
	struct arena *a;
	const char *v;
	char *lower;

	if (i != SIZE_MAX)
		return s->values[i].now.p;
	a = arena_new(NULL, "setting name");
	lower = arena_strdup(a, name);
	for (char *p = lower; *p; p++)
		if (*p >= 'A' && *p <= 'Z')
			*p = (char)(*p + 32);
	v = map_get(s->custom, str_c(lower));
	arena_free(a);
	return v;
}

const char *
gw_setting_name(const struct gw_settings *s, const char *name)
{
	size_t i = find(name);

	(void)s;
	return i == SIZE_MAX ? NULL : gw_setting_table[i].name;
}

bool
gw_setting_at(const struct gw_settings *s, size_t i, const char **name,
    const char **value, const char **help)
{
	if (i >= gw_setting_count)
		return false;
	*name = gw_setting_table[i].name;
	*value = s->values[i].now.p;
	*help = gw_setting_table[i].help;
	return true;
}

void
gw_settings_reset_all(struct gw_settings *s)
{
	for (size_t i = 0; i < gw_setting_count; i++) {
		const struct setting *d = &gw_setting_table[i];

		/* A running transaction keeps its own properties. */
		if (!(d->flags & SETTING_READONLY) &&
		    strncmp(d->name, "transaction_", 12) != 0)
			change(s, i, s->values[i].reset.p, false);
	}
	derive(s);
}

void
gw_settings_txn_begin(struct gw_settings *s)
{
	s->in_txn = true;
}

void
gw_settings_txn_end(struct gw_settings *s, bool committed)
{
	s->in_txn = false;
	for (size_t i = 0; i < gw_setting_count; i++) {
		struct value *v = &s->values[i];

		if (v->changed_in_txn && (!committed || v->local))
			put(s, &v->now, v->before.p);
		v->changed_in_txn = v->local = false;
	}
	derive(s);
}

void
gw_settings_report(struct gw_settings *s,
    void (*send)(void *arg, const char *name, const char *value), void *arg)
{
	for (size_t i = 0; i < gw_setting_count; i++) {
		struct value *v = &s->values[i];

		if (!(gw_setting_table[i].flags & SETTING_REPORT))
			continue;
		if (v->reported.p && strcmp(v->reported.p, v->now.p) == 0)
			continue;
		send(arg, gw_setting_table[i].name, v->now.p);
		put(s, &v->reported, v->now.p);
	}
}

/* One value of SET as text. */
static struct err *
arg_text(struct arena *a, const struct sql_expr *e, const char **out)
{
	switch (e->kind) {
	case SQL_E_STRING:
	case SQL_E_NUMERIC:
		*out = e->u.text;
		return NULL;
	case SQL_E_INT:
		*out = arena_printf(a, "%lld", (long long)e->u.integer);
		return NULL;
	case SQL_E_BOOL:
		*out = e->u.boolean ? "true" : "false";
		return NULL;
	case SQL_E_CAST: { /* SET TIME ZONE INTERVAL '...' */
		struct val v;
		struct buf b;
		int64_t minutes;

		TRY(ex_in(a, &ex_env_default, EX_INTERVAL, -1,
		    str_c(e->args[0]->u.text), &v));
		if (v.u.iv.days || v.u.iv.months)
			return ERR(a, ERRCODE_INVALID_PARAMETER_VALUE,
			    "interval time zone must not include months or "
			    "days");
		minutes = v.u.iv.us / 60000000;
		buf_init(&b, a);
		buf_printf(&b, "%c%02d:%02d", minutes < 0 ? '-' : '+',
		    (int)(minutes < 0 ? -minutes : minutes) / 60,
		    (int)(minutes < 0 ? -minutes : minutes) % 60);
		*out = buf_cstr(&b);
		return NULL;
	}
	default:
		return ERR(a, ERRCODE_SYNTAX_ERROR,
		    "a parameter takes constants only");
	}
}

/* In a list, a name that is no plain identifier keeps its quotes. */
static void
put_list_item(struct buf *b, const char *text)
{
	bool plain = *text && !(*text >= '0' && *text <= '9');

	for (const char *p = text; *p && plain; p++)
		plain = (*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9') ||
			*p == '_';
	if (plain) {
		buf_str(b, str_c(text));
		return;
	}
	buf_u8(b, '"');
	for (const char *p = text; *p; p++) {
		if (*p == '"')
			buf_u8(b, '"');
		buf_u8(b, (uint8_t)*p);
	}
	buf_u8(b, '"');
}

struct err *
gw_setting_text(struct arena *a, const char *name, const struct sql_exprs *args,
    const char **out)
{
	size_t i = find(name);
	const struct setting *d = i == SIZE_MAX ? NULL : &gw_setting_table[i];
	bool list = d && (d->flags & SETTING_LIST);
	struct buf b;

	ASSERT(args->n > 0);
	if (args->n > 1 && !list)
		return ERR(a, ERRCODE_INVALID_PARAMETER_VALUE,
		    "SET %s takes only one argument", name);
	if (!list || strcmp(d->name, "search_path") != 0)
		if (args->n == 1)
			return arg_text(a, args->items[0], out);
	buf_init(&b, a);
	for (uint32_t k = 0; k < args->n; k++) {
		const char *text;

		TRY(arg_text(a, args->items[k], &text));
		buf_str(&b, k ? STR(", ") : STR(""));
		if (strcmp(d->name, "search_path") == 0)
			put_list_item(&b, text);
		else
			buf_str(&b, str_c(text));
	}
	*out = buf_cstr(&b);
	return NULL;
}
