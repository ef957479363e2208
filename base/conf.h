/* Settings: one table per program says name, kind, default, bounds and help;
 * from it come the INI parser, the flags, the environment, --help,
 * --print-config and the manual's option list.
 * Precedence: flag > environment (SKAIDB_NAME) > file > default. */
#ifndef BASE_CONF_H
#define BASE_CONF_H

#include "base/buf.h"
#include "base/err.h"

enum conf_kind {
	CONF_TEXT,
	CONF_INT,
	CONF_BOOL,
	CONF_BYTES,   /* "64MB" */
	CONF_DURATION /* microseconds; "500ms", "30s", "10min"; plain numbers
		       * are seconds */
};

struct conf_item {
	const char *name; /* "listen", or "storage.cache": [section] key; as a
			   * flag --storage-cache */
	enum conf_kind kind;
	const char *dflt; /* NULL = "" (TEXT only) */
	int64_t min, max; /* for INT, BYTES, DURATION; both 0 = any */
	const char *arg;  /* what --help calls the value */
	const char *help; /* one sentence */
};

struct conf;

/* items ends with a NULL name and must outlive the conf. Reads argv, the
 * environment and, if --config FILE is given, the file. Unknown names and bad
 * values are errors that name the source. --help, --version, --print-config
 * and --print-manual are left to the caller: see conf_action. */
struct err *conf_load(struct arena *a, const char *program,
    const struct conf_item *items, int argc, char **argv, struct conf **out);
enum conf_action { CONF_RUN, CONF_HELP, CONF_VERSION, CONF_PRINT, CONF_MANUAL };
enum conf_action conf_action(const struct conf *c);
/* What the action asked for, on standard output. */
void conf_show(const struct conf *c, enum conf_action action);

/* The name must be in the table with the right kind. */
const char *conf_text(const struct conf *c, const char *name);
int64_t conf_int(const struct conf *c, const char *name);
bool conf_bool(const struct conf *c, const char *name);

/* "64MB" (1024-based: B, kB, MB, GB, TB); "500ms", "30s", "10min", "24h",
 * plain = `unit` microseconds. Shared with SET of session parameters. */
/* Units in any case; blanks around are fine; false on overflow. */
bool conf_parse_bytes(struct str s, int64_t *out);
bool conf_parse_duration(struct str s, int64_t unit_us, int64_t *out_us);

#endif
