#include "base/conf.h"

#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/conf_int.h"

#define CONF_MAGIC 0x434f4e46u
/* The parser's own limit, 200 with the NUL, silently cuts longer lines. */
#define LINE_LEN_MAX 198

static const struct conf_item *
find_item(const struct conf *c, struct str name)
{
	for (const struct conf_item *i = c->items; i->name; i++)
		if (str_eq(str_c(i->name), name))
			return i;
	return NULL;
}

static const struct value *
value_of(const struct conf *c, const char *name, unsigned kinds)
{
	const struct conf_item *i = find_item(c, str_c(name));

	ASSERT(c->magic == CONF_MAGIC && i && (kinds >> i->kind & 1));
	return &c->values[i - c->items];
}

/* ---- one value ---- */

static bool
parse_bool(const char *text, int64_t *out)
{
	static const char *const words[][2] = {
	    {"off", "on"}, {"false", "true"}, {"no", "yes"}, {"0", "1"}};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		for (int v = 0; v < 2; v++)
			if (strcasecmp(text, words[i][v]) == 0) {
				*out = v;
				return true;
			}
	return false;
}

static bool
parse_value(const struct conf_item *item, const char *text, int64_t *out)
{
	*out = 0;
	switch (item->kind) {
	case CONF_TEXT:
		return true;
	case CONF_BOOL:
		return parse_bool(text, out);
	case CONF_INT:
		return str_i64(str_c(text), out);
	case CONF_BYTES:
		return conf_parse_bytes(str_c(text), out);
	case CONF_DURATION:
		return conf_parse_duration(str_c(text), CONF_PLAIN_US, out);
	}
	UNREACHABLE();
}

/* What the value must look like, for messages and the manual. */
static const char *
expected(const struct conf_item *item)
{
	switch (item->kind) {
	case CONF_TEXT:
		return "text";
	case CONF_BOOL:
		return "on or off";
	case CONF_INT:
		return "a whole number";
	case CONF_BYTES:
		return "a size such as 64MB";
	case CONF_DURATION:
		return "a duration such as 500ms, 30s or 10min";
	}
	UNREACHABLE();
}

static struct err *
conf_set(struct conf *c, const struct conf_item *item, const char *text,
    const char *source)
{
	struct value *v = &c->values[item - c->items];
	int64_t n;

	if (!parse_value(item, text, &n))
		return ERR(c->arena, ERRCODE_CONFIG_FILE_ERROR,
		    "%s: invalid value \"%s\" for %s: expected %s", source,
		    text, item->name, expected(item));
	if ((item->min || item->max) && item->kind != CONF_TEXT &&
	    (n < item->min || n > item->max))
		return ERR(c->arena, ERRCODE_CONFIG_FILE_ERROR,
		    "%s: value \"%s\" of %s is outside %lld .. %lld", source,
		    text, item->name, (long long)item->min,
		    (long long)item->max);
	v->text = arena_strdup(c->arena, text);
	v->number = n;
	v->source = arena_strdup(c->arena, source);
	return NULL;
}

/* ---- the file ---- */

struct file {
	struct conf *conf;
	FILE *f;
	const char *path;
	int line;
	bool too_long;
	bool *seen;
	struct err *err; /* the first */
};

/* inih asks for lines; counting them here tells where an item stands. */
static char *
read_line(char *to, int max, void *arg)
{
	struct file *file = arg;
	char line[LINE_LEN_MAX + 2];

	if (file->err || !fgets(line, sizeof line, file->f))
		return NULL;
	file->line++;
	if (!strchr(line, '\n') && !feof(file->f)) {
		file->too_long = true;
		return NULL;
	}
	ASSERT((size_t)max > strlen(line));
	memcpy(to, line, strlen(line) + 1);
	return to;
}

static struct err *
file_item(struct file *file, struct str name, const char *value)
{
	struct conf *c = file->conf;
	const struct conf_item *item = find_item(c, name);
	const char *source =
	    arena_printf(c->arena, "%s:%d", file->path, file->line);

	if (!item)
		return ERR(c->arena, ERRCODE_CONFIG_FILE_ERROR,
		    "%s: unknown setting %.*s", source, STR_FMT(name));
	if (file->seen[item - c->items])
		return ERR(c->arena, ERRCODE_CONFIG_FILE_ERROR,
		    "%s: setting %s is given twice", source, item->name);
	file->seen[item - c->items] = true;
	return conf_set(c, item, value, source);
}

static int
item_ev(void *arg, const char *section, const char *name, const char *value)
{
	struct file *file = arg;
	const char *full =
	    *section ? arena_printf(file->conf->arena, "%s.%s", section, name)
		     : name;

	if (!file->err)
		file->err = file_item(file, str_c(full), value ? value : "");
	return file->err == NULL;
}

static struct err *
parse_file(struct file *file)
{
	int r = ini_parse_stream(read_line, file, item_ev, file);

	if (file->err)
		return file->err;
	if (file->too_long)
		return ERR(file->conf->arena, ERRCODE_CONFIG_FILE_ERROR,
		    "%s:%d: line longer than %d characters", file->path,
		    file->line, LINE_LEN_MAX);
	if (r != 0 || ferror(file->f))
		return ERR(file->conf->arena, ERRCODE_CONFIG_FILE_ERROR,
		    "%s:%d: expected [section] or name = value", file->path,
		    r > 0 ? r : file->line);
	return NULL;
}

static struct err *
load_file(struct conf *c, const char *path)
{
	struct file file = {.conf = c, .path = path};
	struct err *e;

	file.f = fopen(path, "r");
	if (!file.f)
		return ERR(c->arena, ERRCODE_CONFIG_FILE_ERROR,
		    "could not open %s: %s", path, strerror(errno));
	file.seen = NEW_N(c->arena, bool, c->count);
	e = parse_file(&file);
	fclose(file.f);
	return e;
}

/* ---- flags and environment ---- */

const char *
conf_flag(struct arena *a, const char *name)
{
	char *flag = arena_printf(a, "--%s", name);

	for (char *p = flag; *p; p++)
		if (*p == '.' || *p == '_')
			*p = '-';
	return flag;
}

const char *
conf_env(struct arena *a, const char *name)
{
	char *env = arena_printf(a, "SKAIDB_%s", name);

	for (char *p = env; *p; p++) {
		if (*p == '.' || *p == '-')
			*p = '_';
		else if (*p >= 'a' && *p <= 'z')
			*p = (char)(*p - 'a' + 'A');
	}
	return env;
}

static struct err *
load_env(struct conf *c)
{
	for (const struct conf_item *i = c->items; i->name; i++) {
		const char *name = conf_env(c->arena, i->name);
		const char *value = getenv(name);

		if (value)
			TRY(conf_set(c, i, value, name));
	}
	return NULL;
}

static bool
take_action(struct conf *c, const char *flag)
{
	static const char *const flags[] = {
	    [CONF_HELP] = "--help",
	    [CONF_VERSION] = "--version",
	    [CONF_PRINT] = "--print-config",
	    [CONF_MANUAL] = "--print-manual",
	};

	for (int i = CONF_HELP; i <= CONF_MANUAL; i++)
		if (strcmp(flag, flags[i]) == 0) {
			c->action = (enum conf_action)i;
			return true;
		}
	return false;
}

struct flag {
	const char *text;  /* as given */
	struct str name;   /* with the dashes, without the value */
	const char *value; /* after "=", or NULL */
};

/* The item of a flag; *negated for --no-x of a switch. */
static const struct conf_item *
flag_item(struct conf *c, const struct flag *f, bool *negated)
{
	for (const struct conf_item *i = c->items; i->name; i++) {
		const char *plain = conf_flag(c->arena, i->name);

		*negated = false;
		if (str_eq(f->name, str_c(plain)))
			return i;
		*negated = true;
		if (i->kind == CONF_BOOL &&
		    str_eq(f->name,
			str_c(arena_printf(c->arena, "--no-%s", plain + 2))))
			return i;
	}
	return NULL;
}

/* `next` is the argument after the flag, or NULL; *used tells if it was its
 * value. */
static struct err *
load_flag(struct conf *c, const struct flag *f, const char *next, bool *used)
{
	const char *value = f->value;
	const struct conf_item *item;
	bool negated;

	*used = false;
	item = flag_item(c, f, &negated);
	if (!item && !str_eq(f->name, STR("--config")))
		return err_hint(ERR(c->arena, ERRCODE_CONFIG_FILE_ERROR,
				    "unknown option %s", f->text),
		    "Try --help.");
	if (item && negated && value)
		return ERR(c->arena, ERRCODE_CONFIG_FILE_ERROR,
		    "option %.*s takes no value", STR_FMT(f->name));
	if (item && item->kind == CONF_BOOL && !value)
		value = negated ? "off" : "on";
	if (!value) {
		value = next;
		*used = true;
	}
	if (!value)
		return ERR(c->arena, ERRCODE_CONFIG_FILE_ERROR,
		    "option %s needs a value", f->text);
	if (!item) {
		c->path = value;
		return NULL;
	}
	return conf_set(c, item, value, arena_cstr(c->arena, f->name));
}

static struct err *
load_flags(struct conf *c, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		size_t n = strcspn(argv[i], "=");
		struct flag f = {.text = argv[i], .name = {argv[i], n}};
		bool used = false;

		if (take_action(c, argv[i]))
			continue;
		if (strncmp(argv[i], "--", 2) != 0)
			return err_hint(
			    ERR(c->arena, ERRCODE_CONFIG_FILE_ERROR,
				"unexpected argument \"%s\"", argv[i]),
			    "Try --help.");
		if (argv[i][n] == '=')
			f.value = argv[i] + n + 1;
		TRY(load_flag(c, &f, i + 1 < argc ? argv[i + 1] : NULL, &used));
		i += used;
	}
	return NULL;
}

struct err *
conf_load(struct arena *a, const char *program, const struct conf_item *items,
    int argc, char **argv, struct conf **out)
{
	struct conf *c = NEW(a, struct conf);

	*out = NULL;
	c->magic = CONF_MAGIC;
	c->arena = a;
	c->program = program;
	c->items = items;
	while (items[c->count].name)
		c->count++;
	c->values = NEW_N(a, struct value, c->count);
	for (size_t i = 0; i < c->count; i++)
		TRY(conf_set(c, &items[i], items[i].dflt ? items[i].dflt : "",
		    "default"));
	/* Flags say which file; then each source overrides the one before, so
	 * flags are read again at the end. */
	c->path = getenv("SKAIDB_CONFIG");
	TRY(load_flags(c, argc, argv));
	if (c->action == CONF_HELP || c->action == CONF_VERSION ||
	    c->action == CONF_MANUAL)
		c->path = NULL; /* help must not depend on what is broken */
	if (c->path)
		TRY(load_file(c, c->path));
	TRY(load_env(c));
	TRY(load_flags(c, argc, argv));
	*out = c;
	return NULL;
}

enum conf_action
conf_action(const struct conf *c)
{
	return c->action;
}

const char *
conf_text(const struct conf *c, const char *name)
{
	return value_of(c, name, 1u << CONF_TEXT)->text;
}

int64_t
conf_int(const struct conf *c, const char *name)
{
	return value_of(
	    c, name, 1u << CONF_INT | 1u << CONF_BYTES | 1u << CONF_DURATION)
	    ->number;
}

bool
conf_bool(const struct conf *c, const char *name)
{
	return value_of(c, name, 1u << CONF_BOOL)->number != 0;
}
