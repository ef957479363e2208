/* SET, RESET, SHOW. */
#include "gateway/session_int.h"

static void
warn_local(struct gw_session *s, struct gw_portal *p)
{
	struct err *e = ERR(p->arena, ERRCODE_NO_ACTIVE_SQL_TRANSACTION,
	    "SET LOCAL can only be used in transaction blocks");

	e->severity = ERR_WARNING;
	gw_session_notice(s, e);
}

/* Outside a block a LOCAL value would end with its own statement. */
static struct err *
assign(struct gw_session *s, struct gw_portal *p, const char *name,
    const char *value, bool local)
{
	if (local && s->txn == GW_TXN_IDLE) {
		warn_local(s, p);
		return NULL;
	}
	TRY(gw_setting_set(s->settings, p->arena, name, value,
	    local ? GW_SET_LOCAL : GW_SET_SESSION));
	if (strcmp(name, "search_path") == 0)
		s->path_version++;
	return NULL;
}

/* The session's user cannot be changed; going back to it is nothing. */
static bool
is_identity(const struct sql_set *set)
{
	bool who = strcmp(set->name, "session_authorization") == 0 ||
		   strcmp(set->name, "role") == 0;

	return who &&
	       (set->kind == SQL_SET_DEFAULT || set->kind == SQL_SET_RESET ||
		   (set->args.n == 1 &&
		       set->args.items[0]->kind == SQL_E_STRING &&
		       strcmp(set->args.items[0]->u.text, "none") == 0));
}

struct err *
gw_util_set(struct gw_session *s, struct gw_portal *p)
{
	const struct sql_set *set = &p->st->stmt->u.set;
	const char *text;

	switch (set->kind) {
	case SQL_SET_TRANSACTION:
	case SQL_SET_SESSION_TRANSACTION:
		return gw_txn_set(s, p);
	case SQL_SET_SNAPSHOT:
		return ERR(p->arena, ERRCODE_FEATURE_NOT_SUPPORTED,
		    "SET TRANSACTION SNAPSHOT is not supported");
	case SQL_SET_RESET_ALL:
		gw_settings_reset_all(s->settings);
		s->path_version++;
		return NULL;
	case SQL_SET_CURRENT:
		return ERR(p->arena, ERRCODE_FEATURE_NOT_SUPPORTED,
		    "SET ... FROM CURRENT is not supported here");
	case SQL_SET_VALUE:
	case SQL_SET_DEFAULT:
	case SQL_SET_RESET:
		break;
	}
	if (is_identity(set))
		return NULL;
	if (set->kind != SQL_SET_VALUE)
		return assign(s, p, set->name, NULL, set->is_local);
	TRY(gw_setting_text(p->arena, set->name, &set->args, &text));
	return assign(s, p, set->name, text, set->is_local);
}

static struct val
text(struct gw_rows *r, const char *t)
{
	return val_str(EX_TEXT, str_c(arena_strdup(r->arena, t)));
}

static void
show_all(struct gw_session *s, struct gw_portal *p)
{
	const char *name, *value, *help;

	p->rows = gw_rows_new(p->arena, 3);
	for (size_t i = 0; gw_setting_at(s->settings, i, &name, &value, &help);
	     i++) {
		struct val *v = gw_rows_add(p->rows);

		v[0] = text(p->rows, name);
		v[1] = text(p->rows, value);
		v[2] = text(p->rows, help);
	}
}

/* Outside a block, a statement's own transaction starts with the defaults. */
static const char *
in_effect(const struct gw_session *s, struct arena *a, const char *name)
{
	static const char *const modes[] = {"transaction_isolation",
	    "transaction_read_only", "transaction_deferrable"};

	for (size_t i = 0;
	     s->txn == GW_TXN_IDLE && i < sizeof modes / sizeof *modes; i++)
		if (strcmp(name, modes[i]) == 0)
			return arena_printf(a, "default_%s", name);
	return name;
}

struct err *
gw_util_show(struct gw_session *s, struct gw_portal *p)
{
	const char *name = p->st->stmt->u.show.name, *value;

	if (strcmp(name, "all") == 0) {
		show_all(s, p);
		return NULL;
	}
	value = gw_setting_get(s->settings, in_effect(s, p->arena, name));
	if (!value)
		return ERR(p->arena, ERRCODE_UNDEFINED_OBJECT,
		    "unrecognized configuration parameter \"%s\"", name);
	p->rows = gw_rows_new(p->arena, 1);
	*gw_rows_add(p->rows) = text(p->rows, value);
	return NULL;
}
