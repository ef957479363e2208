/* Session parameters: SET, RESET, SHOW, set_config, the startup packet, and
 * the ParameterStatus messages that follow a change.
 *
 * One table lists them (settings_table.c): a new parameter is a new line.
 * Values are kept as the text that SHOW gives; what other code needs often is
 * derived into struct gw_derived when a value changes. */
#ifndef GATEWAY_SETTINGS_H
#define GATEWAY_SETTINGS_H

#include "base/err.h"
#include "expr/type.h"
#include "sql/ast.h"

struct gw_settings;

/* What statements need at hand. */
struct gw_derived {
	struct ex_env ex; /* styles and zone; times are the statement's */
	uint64_t statement_timeout_us; /* 0 = none */
	uint64_t idle_in_txn_timeout_us;
	enum err_severity min_messages; /* least that the client wants */
	bool default_read_only;
	bool read_only; /* of the present transaction */
	const char *search_path;
	const char *consistency; /* "one", "quorum", "all" */
	bool trace;
	const char *validate_writes; /* "off", "plain", "on" */
	size_t transaction_bytes;    /* transaction_size_limit */
};

/* Facts that some read-only parameters show. */
struct gw_settings_facts {
	struct str role;
	bool superuser;
};

/* Lives in `a`, the session's arena. */
struct gw_settings *gw_settings_new(
    struct arena *a, const struct gw_settings_facts *facts);
const struct gw_derived *gw_settings_derived(const struct gw_settings *s);

enum gw_set_scope {
	GW_SET_DEFAULT, /* of the session: what RESET goes back to */
	GW_SET_SESSION,
	GW_SET_LOCAL /* until the transaction ends */
};

/* value NULL = the default. The error lives in `a`: 42704 unknown, 22023 bad
 * value, 55P02 not changeable. */
struct err *gw_setting_set(struct gw_settings *s, struct arena *a,
    const char *name, const char *value, enum gw_set_scope scope);
/* As SHOW: NULL when there is no such parameter. Valid until the next change.
 */
const char *gw_setting_get(const struct gw_settings *s, const char *name);
void gw_settings_reset_all(struct gw_settings *s);
/* Every parameter in alphabetical order; false past the end. */
bool gw_setting_at(const struct gw_settings *s, size_t i, const char **name,
    const char **value, const char **help);
/* The name as it is spelt in the table ("DateStyle"), or NULL. */
const char *gw_setting_name(const struct gw_settings *s, const char *name);

/* A transaction begins: LOCAL values and, when it fails, all changes of it go
 * back at its end. */
void gw_settings_txn_begin(struct gw_settings *s);
void gw_settings_txn_end(struct gw_settings *s, bool committed);

/* Calls send for each parameter that clients are told of and whose value is
 * not the one last told. */
void gw_settings_report(struct gw_settings *s,
    void (*send)(void *arg, const char *name, const char *value), void *arg);

/* The values of SET name = a, b as one text, by the parameter's own rule
 * (lists are joined and quoted, SET TIME ZONE INTERVAL is folded). */
struct err *gw_setting_text(struct arena *a, const char *name,
    const struct sql_exprs *args, const char **out);

#endif
