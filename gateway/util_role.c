/* CREATE ROLE, CREATE USER, ALTER ROLE. */
#include "gateway/ddl.h"
#include "gateway/session_int.h"
#include "wire/scram.h"

static struct err *
set_password(struct gw_session *s, struct arena *a, struct cl_role *role,
    const struct sql_option *o)
{
	uint8_t salt[WIRE_SCRAM_SALT];
	const char *text, *verifier;

	role->verifier = STR_NONE;
	if (o->kind == SQL_OPT_NONE) /* PASSWORD NULL */
		return NULL;
	TRY(sql_option_text(a, o, &text));
	if (!*text) {
		struct err *e = ERR(a, ERRCODE_WARNING,
		    "empty string is not a valid password, clearing "
		    "password");

		e->severity = ERR_NOTICE;
		gw_session_notice(s, e);
		return NULL;
	}
	if (wire_scram_is_verifier(str_c(text))) {
		role->verifier = str_c(text);
		return NULL;
	}
	world_random(s->world, salt, sizeof salt);
	verifier = wire_scram_verifier(a, str_c(text), salt);
	if (!verifier)
		return ERR(a, ERRCODE_INVALID_PARAMETER_VALUE,
		    "the password cannot be used");
	role->verifier = str_c(verifier);
	return NULL;
}

static struct err *
set_option(struct gw_session *s, struct arena *a, struct cl_role *role,
    const struct sql_option *o)
{
	const struct {
		const char *name;
		bool *field;
	} flags[] = {{"superuser", &role->superuser},
	    {"createdb", &role->createdb}, {"createrole", &role->createrole},
	    {"canlogin", &role->login}};

	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
		if (strcmp(o->name, flags[i].name) == 0) {
			*flags[i].field = o->integer != 0;
			return NULL;
		}
	if (strcmp(o->name, "password") == 0)
		return set_password(s, a, role, o);
	/* Said for completeness, and true as it stands. */
	if (strcmp(o->name, "inherit") == 0 ||
	    (strcmp(o->name, "connectionlimit") == 0 && o->integer == -1) ||
	    ((strcmp(o->name, "isreplication") == 0 ||
		 strcmp(o->name, "bypassrls") == 0) &&
		!o->integer))
		return NULL;
	return err_at(ERR(a, ERRCODE_FEATURE_NOT_SUPPORTED,
			  "role option \"%s\" is not supported yet", o->name),
	    o->position);
}

static struct err *
may_manage(struct gw_session *s, struct gw_portal *p,
    const struct cl_role *target, bool only_password)
{
	const struct cl_object *me = cl_find(p->env.catalog, CL_ROLE, s->role);
	bool createrole = me && me->u.role.createrole;

	if (s->superuser)
		return NULL;
	if (target && target->id == s->role && only_password)
		return NULL;
	if (createrole && !(target && target->superuser))
		return NULL;
	return ERR(p->arena, ERRCODE_INSUFFICIENT_PRIVILEGE,
	    target ? "permission denied" : "permission denied to create role");
}

static bool
only_password(const struct sql_role *r)
{
	for (uint32_t i = 0; i < r->options.n; i++)
		if (strcmp(r->options.items[i].name, "password") != 0)
			return false;
	return true;
}

static struct err *
no_new_superuser(
    struct gw_session *s, struct gw_portal *p, const struct cl_role *role)
{
	if (!role->superuser || s->superuser)
		return NULL;
	return ERR(p->arena, ERRCODE_INSUFFICIENT_PRIVILEGE,
	    "must be superuser to create or alter superusers");
}

static struct err *
create(struct gw_session *s, struct gw_portal *p, const struct sql_role *r)
{
	struct cl_role role = {
	    .name = str_c(r->name), .login = r->word == SQL_ROLE_USER};

	if (r->special || strncmp(r->name, "pg_", 3) == 0 ||
	    strcmp(r->name, "public") == 0 || strcmp(r->name, "none") == 0)
		return ERR(p->arena, ERRCODE_RESERVED_NAME,
		    "role name \"%s\" is reserved", r->name);
	TRY(may_manage(s, p, NULL, false));
	for (uint32_t i = 0; i < r->options.n; i++)
		TRY(set_option(s, p->arena, &role, &r->options.items[i]));
	TRY(no_new_superuser(s, p, &role));
	return gw_ddl_create_role(&p->stmt, p->arena, &role);
}

static enum gw_flag
flag(bool before, bool after)
{
	if (before == after)
		return GW_KEEP;
	return after ? GW_SET : GW_CLEAR;
}

/* What the statement changes, so that two that change different things both
 * hold. */
static struct gw_role_change
difference(
    const struct cl_role *before, const struct cl_role *after, bool password)
{
	return (struct gw_role_change){.id = before->id,
	    .superuser = flag(before->superuser, after->superuser),
	    .login = flag(before->login, after->login),
	    .createdb = flag(before->createdb, after->createdb),
	    .createrole = flag(before->createrole, after->createrole),
	    .set_verifier = password,
	    .verifier = after->verifier};
}

static struct err *
alter(struct gw_session *s, struct gw_portal *p, const struct sql_role *r)
{
	struct str name = r->special ? s->user : str_c(r->name);
	const struct cl_object *o =
	    cl_find_name(p->env.catalog, CL_ROLE, 0, name);
	struct gw_role_change change;
	struct cl_role role;

	if (!o)
		return ERR(p->arena, ERRCODE_UNDEFINED_OBJECT,
		    "role \"%.*s\" does not exist", STR_FMT(name));
	TRY(may_manage(s, p, &o->u.role, only_password(r)));
	role = o->u.role;
	for (uint32_t i = 0; i < r->options.n; i++)
		TRY(set_option(s, p->arena, &role, &r->options.items[i]));
	if (!o->u.role.superuser)
		TRY(no_new_superuser(s, p, &role));
	change = difference(&o->u.role, &role,
	    sql_option_find(&r->options, "password") != NULL);
	return gw_ddl_alter_role(&p->stmt, p->arena, &change);
}

struct err *
gw_util_role(struct gw_session *s, struct gw_portal *p)
{
	const struct sql_role *r = &p->st->stmt->u.role;

	if (p->st->stmt->kind == SQL_STMT_CREATE_ROLE)
		return create(s, p, r);
	return alter(s, p, r);
}
