/* Inside time zones: abbreviations. */
#ifndef EXPR_ZONE_INT_H
#define EXPR_ZONE_INT_H

#include "expr/datetime.h"

struct dt_abbrev {
	char name[8]; /* lower case */
	int16_t minutes;
	bool dst;
};
extern const struct dt_abbrev dt_abbrevs[];
extern const size_t dt_abbrevs_n;

/* NULL when there is none; any case. */
const struct dt_abbrev *dt_abbrev_find(struct str name);
/* IANA names and POSIX forms only. */
bool dt_zone_named(struct str name, struct dt_zone *out);

#endif
