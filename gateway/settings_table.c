#include "gateway/settings_int.h"

#include <strings.h>

#include "base/buf.h"
#include "base/conf.h"
#include "expr/datetime.h"

static struct err *
invalid(struct arena *a, const struct setting *d, const char *text)
{
	return ERR(a, ERRCODE_INVALID_PARAMETER_VALUE,
	    "invalid value for parameter \"%s\": \"%s\"", d->name, text);
}

static bool
parse_bool(const char *text, bool *out)
{
	static const struct {
		const char *word;
		size_t least; /* shortest unique prefix */
		bool value;
	} words[] = {{"true", 1, true}, {"false", 1, false}, {"yes", 1, true},
	    {"no", 1, false}, {"on", 2, true}, {"off", 2, false},
	    {"1", 1, true}, {"0", 1, false}};
	size_t n = strlen(text);

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (n >= words[i].least && n <= strlen(words[i].word) &&
		    strncasecmp(text, words[i].word, n) == 0) {
			*out = words[i].value;
			return true;
		}
	return false;
}

static struct err *
check_int(struct arena *a, const struct setting *d, const char *text,
    const char **out)
{
	int64_t v;

	if (!str_i64(str_c(text), &v))
		return invalid(a, d, text);
	if (v < d->min || v > d->max)
		return ERR(a, ERRCODE_INVALID_PARAMETER_VALUE,
		    "%lld is outside the valid range for parameter \"%s\" "
		    "(%lld .. %lld)",
		    (long long)v, d->name, (long long)d->min,
		    (long long)d->max);
	*out = arena_printf(a, "%lld", (long long)v);
	return NULL;
}

int64_t
gw_setting_ms(const char *text)
{
	int64_t us = 0;

	if (!conf_parse_duration(str_c(text), 1000, &us))
		return 0;
	return us / 1000;
}

/* The largest unit that divides it, as PostgreSQL's SHOW has it. */
static const char *
show_ms(struct arena *a, int64_t ms)
{
	static const struct {
		int64_t each;
		const char *unit;
	} units[] = {
	    {86400000, "d"}, {3600000, "h"}, {60000, "min"}, {1000, "s"}};

	for (size_t i = 0; ms && i < sizeof units / sizeof *units; i++)
		if (ms % units[i].each == 0)
			return arena_printf(a, "%lld%s",
			    (long long)(ms / units[i].each), units[i].unit);
	return arena_printf(a, ms ? "%lldms" : "%lld", (long long)ms);
}

static struct err *
check_ms(struct arena *a, const struct setting *d, const char *text,
    const char **out)
{
	int64_t us;

	if (!conf_parse_duration(str_c(text), 1000, &us))
		return err_hint(invalid(a, d, text),
		    "Valid units for this parameter are \"us\", \"ms\", "
		    "\"s\", \"min\", \"h\", and \"d\".");
	if (us < 0 || us / 1000 > INT32_MAX)
		return ERR(a, ERRCODE_INVALID_PARAMETER_VALUE,
		    "%lld ms is outside the valid range for parameter \"%s\" "
		    "(0 .. 2147483647)",
		    (long long)(us / 1000), d->name);
	*out = show_ms(a, us / 1000);
	return NULL;
}

static struct err *
check_kb(struct arena *a, const struct setting *d, const char *text,
    const char **out)
{
	int64_t v;

	if (str_i64(str_c(text), &v))
		v *= 1024;
	else if (!conf_parse_bytes(str_c(text), &v))
		return invalid(a, d, text);
	if (v % (1 << 30) == 0 && v)
		*out = arena_printf(a, "%lldGB", (long long)(v >> 30));
	else if (v % (1 << 20) == 0 && v)
		*out = arena_printf(a, "%lldMB", (long long)(v >> 20));
	else
		*out = arena_printf(a, "%lldkB", (long long)(v >> 10));
	return NULL;
}

/* "a,b" as "a, b", for people. */
static const char *
spaced(struct arena *a, const char *choices)
{
	struct buf b;

	buf_init(&b, a);
	for (const char *p = choices; *p; p++) {
		buf_u8(&b, (uint8_t)*p);
		if (*p == ',')
			buf_u8(&b, ' ');
	}
	return buf_cstr(&b);
}

static struct err *
check_enum(struct arena *a, const struct setting *d, const char *text,
    const char **out)
{
	const char *p = d->choices;
	size_t n = strlen(text);

	while (*p) {
		size_t len = strcspn(p, ",");

		if (len == n && strncasecmp(p, text, n) == 0) {
			*out = arena_cstr(a, str_of(p, len));
			return NULL;
		}
		p += len + (p[len] == ',');
	}
	return err_hint(invalid(a, d, text), "Available values: %s.",
	    spaced(a, d->choices));
}

struct err *
gw_setting_check(struct arena *a, const struct setting *d, const char *text,
    const char *old, const char **out)
{
	bool b;

	(void)old;
	switch (d->kind) {
	case SETTING_BOOL:
		if (!parse_bool(text, &b))
			return ERR(a, ERRCODE_INVALID_PARAMETER_VALUE,
			    "parameter \"%s\" requires a Boolean value",
			    d->name);
		*out = b ? "on" : "off";
		return NULL;
	case SETTING_INT:
		return check_int(a, d, text, out);
	case SETTING_MS:
		return check_ms(a, d, text, out);
	case SETTING_KB:
		return check_kb(a, d, text, out);
	case SETTING_ENUM:
		return check_enum(a, d, text, out);
	case SETTING_TEXT:
		*out = arena_strdup(a, text);
		return NULL;
	}
	UNREACHABLE();
}

static const char *const styles[] = {"ISO", "SQL", "German", "Postgres"};
static const char *const orders[] = {"MDY", "DMY", "YMD"};

void
gw_datestyle_parse(
    const char *text, enum ex_datestyle *style, enum ex_dateorder *order)
{
	for (int i = 0; i < 4; i++)
		if (strncmp(text, styles[i], strlen(styles[i])) == 0)
			*style = (enum ex_datestyle)i;
	for (int i = 0; i < 3; i++)
		if (strstr(text, orders[i]))
			*order = (enum ex_dateorder)i;
}

/* One word of a DateStyle; false when it is none. */
static bool
datestyle_word(struct str w, int *style, int *order, bool *ordered)
{
	static const struct {
		const char *word;
		int order;
	} aliases[] = {
	    {"US", 0}, {"NonEuropean", 0}, {"European", 1}, {"Euro", 1}};

	for (int i = 0; i < 4; i++)
		if (str_ieq(w, str_c(styles[i]))) {
			*style = i;
			/* German dates begin with the day. */
			if (i == EX_GERMAN && !*ordered)
				*order = EX_DMY;
			return true;
		}
	for (int i = 0; i < 3; i++)
		if (str_ieq(w, str_c(orders[i]))) {
			*order = i;
			*ordered = true;
			return true;
		}
	for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
		if (str_ieq(w, str_c(aliases[i].word))) {
			*order = aliases[i].order;
			*ordered = true;
			return true;
		}
	return false;
}

static struct err *
check_datestyle(struct arena *a, const struct setting *d, const char *text,
    const char *old, const char **out)
{
	enum ex_datestyle s = EX_ISO;
	enum ex_dateorder o = EX_MDY;
	int style, order;
	bool ordered = false;
	const char *p = text;

	gw_datestyle_parse(old, &s, &o);
	style = s;
	order = o;
	while (*p) {
		size_t n;

		p += strspn(p, " ,");
		n = strcspn(p, " ,");
		if (n &&
		    !datestyle_word(str_of(p, n), &style, &order, &ordered))
			return err_detail(invalid(a, d, text),
			    "Unrecognized key word: \"%.*s\".", (int)n, p);
		p += n;
	}
	*out = arena_printf(a, "%s, %s", styles[style], orders[order]);
	return NULL;
}

static struct err *
check_timezone(struct arena *a, const struct setting *d, const char *text,
    const char *old, const char **out)
{
	struct dt_zone zone;
	struct str name;

	(void)old;
	if (dt_zone_canonical(a, str_c(text), &name)) {
		*out = arena_cstr(a, name);
		return NULL;
	}
	if (dt_zone_set(a, str_c(text), &zone))
		return invalid(a, d, text);
	*out = arena_strdup(a, text);
	return NULL;
}

/* Only UTF8 is spoken; its spellings are many. */
static struct err *
check_encoding(struct arena *a, const struct setting *d, const char *text,
    const char *old, const char **out)
{
	char plain[16];
	size_t n = 0;

	(void)old;
	for (const char *p = text; *p && n + 1 < sizeof plain; p++)
		if (*p != '-' && *p != '_' && *p != '\'' && *p != '"')
			plain[n++] = *p;
	plain[n] = 0;
	if (strcasecmp(plain, "utf8") == 0 ||
	    strcasecmp(plain, "unicode") == 0) {
		*out = "UTF8";
		return NULL;
	}
	return err_hint(
	    invalid(a, d, text), "Only the client encoding UTF8 is supported.");
}

static struct err *
check_strings(struct arena *a, const struct setting *d, const char *text,
    const char *old, const char **out)
{
	TRY(gw_setting_check(a, d, text, old, out));
	if (strcmp(*out, "on") != 0)
		return ERR(a, ERRCODE_FEATURE_NOT_SUPPORTED,
		    "parameter \"%s\" can only be on", d->name);
	return NULL;
}

#define BOOL(n, v, h)                                                          \
	{                                                                      \
		n, SETTING_BOOL, v, 0, 0, 0, NULL, NULL, h                     \
	}
#define TEXT(n, v, f, h)                                                       \
	{                                                                      \
		n, SETTING_TEXT, v, f, 0, 0, NULL, NULL, h                     \
	}
#define INT(n, v, lo, hi, h)                                                   \
	{                                                                      \
		n, SETTING_INT, v, 0, lo, hi, NULL, NULL, h                    \
	}
#define MS(n, v, h)                                                            \
	{                                                                      \
		n, SETTING_MS, v, 0, 0, 0, NULL, NULL, h                       \
	}
#define KB(n, v, h)                                                            \
	{                                                                      \
		n, SETTING_KB, v, 0, 0, 0, NULL, NULL, h                       \
	}
#define ENUM(n, v, f, c, h)                                                    \
	{                                                                      \
		n, SETTING_ENUM, v, f, 0, 0, c, NULL, h                        \
	}
#define ISOLATION "serializable,repeatable read,read committed,read uncommitted"
#define MESSAGES  "debug5,debug4,debug3,debug2,debug1,log,notice,warning,error"

/* In alphabetical order, case aside. */
const struct setting gw_setting_table[] = {
    TEXT("application_name", "", SETTING_REPORT,
	"Sets the application name to be reported in statistics and logs."),
    BOOL("array_nulls", "on", "Enable input of NULL elements in arrays."),
    ENUM("backslash_quote", "safe_encoding", 0,
	"safe_encoding,on,off,true,false,yes,no,1,0",
	"Sets whether \"\\'\" is allowed in string literals."),
    ENUM("bytea_output", "hex", 0, "escape,hex",
	"Sets the output format for bytea."),
    BOOL("check_function_bodies", "on",
	"Check routine bodies during CREATE FUNCTION and CREATE PROCEDURE."),
    {"client_encoding", SETTING_TEXT, "UTF8", SETTING_REPORT, 0, 0, NULL,
	check_encoding, "Sets the client's character set encoding."},
    ENUM("client_min_messages", "notice", 0, MESSAGES,
	"Sets the message levels that are sent to the client."),
    {"DateStyle", SETTING_TEXT, "ISO, MDY", SETTING_REPORT | SETTING_LIST, 0, 0,
	NULL, check_datestyle,
	"Sets the display format for date and time values."},
    TEXT("default_table_access_method", "heap", 0,
	"Sets the default table access method for new tables."),
    TEXT("default_tablespace", "", 0,
	"Sets the default tablespace to create tables and indexes in."),
    BOOL("default_transaction_deferrable", "off",
	"Sets the default deferrable status of new transactions."),
    ENUM("default_transaction_isolation", "read committed", 0, ISOLATION,
	"Sets the transaction isolation level of each new transaction."),
    {"default_transaction_read_only", SETTING_BOOL, "off", SETTING_REPORT, 0, 0,
	NULL, NULL, "Sets the default read-only status of new transactions."},
    BOOL("escape_string_warning", "on",
	"Warn about backslash escapes in ordinary string literals."),
    INT("extra_float_digits", "1", -15, 3,
	"Sets the number of digits displayed for floating-point values."),
    MS("idle_in_transaction_session_timeout", "0",
	"Sets the maximum allowed idle time between queries, when in a "
	"transaction."),
    {"in_hot_standby", SETTING_BOOL, "off", SETTING_REPORT | SETTING_READONLY,
	0, 0, NULL, NULL, "Shows whether hot standby is currently active."},
    {"integer_datetimes", SETTING_BOOL, "on", SETTING_REPORT | SETTING_READONLY,
	0, 0, NULL, NULL, "Shows whether datetimes are integer based."},
    ENUM("IntervalStyle", "postgres", SETTING_REPORT,
	"postgres,postgres_verbose,sql_standard,iso_8601",
	"Sets the display format for interval values."),
    {"is_superuser", SETTING_BOOL, "off", SETTING_REPORT | SETTING_READONLY, 0,
	0, NULL, NULL, "Shows whether the current user is a superuser."},
    TEXT("lc_collate", "C", SETTING_READONLY,
	"Shows the collation order locale."),
    TEXT("lc_ctype", "C", SETTING_READONLY,
	"Shows the character classification and case conversion locale."),
    TEXT("lc_messages", "C", 0,
	"Sets the language in which messages are displayed."),
    TEXT("lc_monetary", "C", 0,
	"Sets the locale for formatting monetary amounts."),
    TEXT("lc_numeric", "C", 0, "Sets the locale for formatting numbers."),
    TEXT("lc_time", "C", 0,
	"Sets the locale for formatting date and time values."),
    MS("lock_timeout", "0",
	"Sets the maximum allowed duration of any wait for a lock."),
    KB("maintenance_work_mem", "64MB",
	"Sets the maximum memory to be used for maintenance operations."),
    {"max_identifier_length", SETTING_INT, "63", SETTING_READONLY, 0, 63, NULL,
	NULL, "Shows the maximum identifier length."},
    {"max_index_keys", SETTING_INT, "32", SETTING_READONLY, 0, 32, NULL, NULL,
	"Shows the maximum number of index keys."},
    ENUM("password_encryption", "scram-sha-256", 0, "scram-sha-256",
	"Chooses the algorithm for encrypting passwords."),
    BOOL("quote_all_identifiers", "off",
	"When generating SQL fragments, quote all identifiers."),
    TEXT("role", "none", SETTING_READONLY, "Sets the current role."),
    BOOL("row_security", "on", "Enable row security."),
    TEXT("search_path", "\"$user\", public", SETTING_LIST,
	"Sets the schema search order for names that are not "
	"schema-qualified."),
    TEXT("server_encoding", "UTF8", SETTING_REPORT | SETTING_READONLY,
	"Shows the server (database) character set encoding."),
    TEXT("server_version", "15.4", SETTING_REPORT | SETTING_READONLY,
	"Shows the server version."),
    {"server_version_num", SETTING_INT, "150004", SETTING_READONLY, 0,
	INT32_MAX, NULL, NULL, "Shows the server version as an integer."},
    TEXT("session_authorization", "", SETTING_REPORT | SETTING_READONLY,
	"Sets the session user name."),
    ENUM("skaidb.consistency", "quorum", 0, "one,quorum,all",
	"Sets how many copies a read takes into account."),
    BOOL("skaidb.trace", "off",
	"Shows each request to a node as a notice after the statement."),
    ENUM("skaidb.validate_writes", "plain", 0, "off,plain,on",
	"Sets in which transactions COMMIT fails when a row that it changes "
	"was changed by others."),
    {"standard_conforming_strings", SETTING_BOOL, "on", SETTING_REPORT, 0, 0,
	NULL, check_strings,
	"Causes '...' strings to treat backslashes literally."},
    MS("statement_timeout", "0",
	"Sets the maximum allowed duration of any statement."),
    BOOL("synchronize_seqscans", "on", "Enable synchronized sequential scans."),
    {"TimeZone", SETTING_TEXT, "UTC", SETTING_REPORT, 0, 0, NULL,
	check_timezone,
	"Sets the time zone for displaying and interpreting time stamps."},
    BOOL("transaction_deferrable", "off",
	"Whether to defer a read-only serializable transaction."),
    ENUM("transaction_isolation", "read committed", 0, ISOLATION,
	"Sets the current transaction's isolation level."),
    BOOL("transaction_read_only", "off",
	"Sets the current transaction's read-only status."),
    KB("transaction_size_limit", "8MB",
	"Sets the most that a transaction's writes may take until COMMIT."),
    KB("work_mem", "4MB",
	"Sets the maximum memory to be used for query workspaces."),
    ENUM("xmloption", "content", 0, "content,document",
	"Sets whether XML data is to be considered a document or a content "
	"fragment."),
};

const size_t gw_setting_count =
    sizeof gw_setting_table / sizeof *gw_setting_table;
