/* The table of session parameters and what a row of it says. */
#ifndef GATEWAY_SETTINGS_INT_H
#define GATEWAY_SETTINGS_INT_H

#include "gateway/settings.h"

enum setting_kind {
	SETTING_BOOL,
	SETTING_INT,  /* min..max */
	SETTING_MS,   /* a duration; shown as PostgreSQL does: 30s, 0 */
	SETTING_KB,   /* a size */
	SETTING_ENUM, /* one of `choices`, separated by blanks */
	SETTING_TEXT
};

#define SETTING_REPORT   1u /* ParameterStatus */
#define SETTING_READONLY 2u
#define SETTING_LIST     4u /* SET x = a, b joins with commas */

struct setting {
	const char *name;
	enum setting_kind kind;
	const char *dflt;
	unsigned flags;
	int64_t min, max;
	const char *choices;
	/* Checks and rewrites the text to its canonical form; NULL: by kind. */
	struct err *(*check)(struct arena *a, const struct setting *d,
	    const char *text, const char *old, const char **out);
	const char *help;
};

extern const struct setting gw_setting_table[];
extern const size_t gw_setting_count;

/* By kind; also what special checks fall back on. */
struct err *gw_setting_check(struct arena *a, const struct setting *d,
    const char *text, const char *old, const char **out);
/* Milliseconds of a canonical SETTING_MS text. */
int64_t gw_setting_ms(const char *text);
void gw_datestyle_parse(
    const char *text, enum ex_datestyle *style, enum ex_dateorder *order);

#endif
