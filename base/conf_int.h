/* Inside of the settings: conf.c reads them, conf_show.c prints them. */
#ifndef BASE_CONF_INT_H
#define BASE_CONF_INT_H

#include "base/conf.h"

/* A duration without a unit in a file, flag or variable is in seconds. */
#define CONF_PLAIN_US 1000000

struct value {
	const char *text;
	int64_t number;
	const char *source; /* "default", a variable, a flag, file:line */
};

struct conf {
	uint32_t magic;
	struct arena *arena;
	const char *program;
	const struct conf_item *items;
	size_t count;
	struct value *values;
	const char *path; /* of the file, or NULL */
	enum conf_action action;
};

/* "storage.cache" as --storage-cache and as SKAIDB_STORAGE_CACHE. */
const char *conf_flag(struct arena *a, const char *name);
const char *conf_env(struct arena *a, const char *name);

#endif
