#include <strings.h>

#include "base/conf.h"

struct unit {
	const char *name;
	int64_t factor;
};

static const struct unit byte_units[] = {
    {"B", 1},
    {"kB", INT64_C(1) << 10},
    {"MB", INT64_C(1) << 20},
    {"GB", INT64_C(1) << 30},
    {"TB", INT64_C(1) << 40},
    {NULL, 0},
};

static const struct unit time_units[] = {
    {"us", 1},
    {"ms", 1000},
    {"s", 1000000},
    {"min", INT64_C(60) * 1000000},
    {"h", INT64_C(3600) * 1000000},
    {"d", INT64_C(86400) * 1000000},
    {NULL, 0},
};

static struct str
trim(struct str s)
{
	while (s.len > 0 && (s.p[0] == ' ' || s.p[0] == '\t'))
		s = str_skip(s, 1);
	while (s.len > 0 && (s.p[s.len - 1] == ' ' || s.p[s.len - 1] == '\t'))
		s.len--;
	return s;
}

/* A whole number, then perhaps blanks, then perhaps a unit. */
static bool
parse_with(struct str s, const struct unit *units, int64_t plain, int64_t *out)
{
	size_t digits = 0;
	int64_t n, factor = 0;
	struct str unit;

	*out = 0;
	s = trim(s);
	if (s.len > 0 && s.p[0] == '-')
		digits++;
	while (digits < s.len && s.p[digits] >= '0' && s.p[digits] <= '9')
		digits++;
	unit = trim(str_skip(s, digits));
	if (!str_i64(str_of(s.p, digits), &n))
		return false;
	if (unit.len == 0)
		factor = plain;
	for (const struct unit *u = units; u->name && unit.len > 0; u++)
		if (str_ieq(unit, str_c(u->name)))
			factor = u->factor;
	return factor && !__builtin_mul_overflow(n, factor, out);
}

bool
conf_parse_bytes(struct str s, int64_t *out)
{
	return parse_with(s, byte_units, 1, out);
}

bool
conf_parse_duration(struct str s, int64_t unit_us, int64_t *out_us)
{
	return parse_with(s, time_units, unit_us, out_us);
}
